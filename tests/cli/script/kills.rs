//! SIGKILL of the runner at random moments: no recorded step is repeated, and none is skipped.

use std::collections::BTreeMap;
use std::time::Duration;

use camino::Utf8PathBuf;

use super::support::Stage;
use crate::support::read;
use crate::support::takes_all;

const STEPS: usize = 30;
/// How many kills there are; `PITON_FAULTS=all` makes it [`ALL`].
const SOME: usize = 40;
const ALL: usize = 200;
/// The longest time before a kill, in milliseconds: most runners are killed before they finish.
const LONGEST: u64 = 90;

/// A random number generator with a fixed seed.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    /// One step of xorshift64.
    pub(super) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Returns how often each step was begun and came to its end.
fn counts(stage: &Stage) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for line in stage.executions() {
        *counts.entry(line).or_default() += 1;
    }
    counts
}

/// Returns the steps that the journal of a session says are done.
fn done(stage: &Stage, id: &str) -> Vec<String> {
    let journal = read(&stage.folder(id).join("journal.jsonl"));
    let records = journal.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let finished = records.filter(|record| record["change"]["change"] == "finish");
    finished.filter_map(|record| Some(record["change"]["step"].as_str()?.to_owned())).collect()
}

#[test]
fn a_runner_that_is_killed_anywhere_loses_and_repeats_nothing() {
    let wanted = if takes_all("PITON_FAULTS") { ALL } else { SOME };
    let steps = (1..=STEPS).map(|n| format!("- shell: echo begin {n} >> LOG; echo end {n} >> LOG\n"));
    let workflow: String = steps.collect();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut kills = 0;
    let stage = Stage::in_place(&workflow);
    while kills < wanted {
        stage.forget();
        let mut killed = 0;
        let mut finished: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let list = sessions(&stage);
            let arguments: Vec<&str> = match list.first() {
                Some(id) => vec!["resume", id],
                None => vec!["run", "w.yml"],
            };
            let limit = Duration::from_millis(1 + chance.next() % LONGEST);
            let output = stage.piton(arguments).run_within(limit);
            let now = counts(&stage);
            for (step, times) in &finished {
                assert_eq!(now[&format!("begin {step}")], *times, "step {step} was done, and was begun again");
            }
            if let Some(output) = output {
                // The kill before this may have come after the last record.
                let is_over = output.code == 1 && output.stderr.contains("is complete already");
                assert!(output.code == 0 || is_over, "{output}");
                break;
            }
            killed += 1;
            if let Some(id) = sessions(&stage).first() {
                for step in done(&stage, id) {
                    let times = now[&format!("begin {step}")];
                    finished.insert(step, times);
                }
            }
        }
        let now = counts(&stage);
        let begun: usize = (1..=STEPS).map(|n| now[&format!("begin {n}")]).sum();
        assert!((1..=STEPS).all(|n| now.contains_key(&format!("end {n}"))), "{now:?}");
        assert!(begun <= STEPS + killed, "{killed} kills, and {begun} beginnings of {STEPS} steps");
        kills += killed;
    }
}

/// Returns the sessions that there are.
fn sessions(stage: &Stage) -> Vec<String> {
    let Ok(homes) = stage.state().read_dir_utf8() else { return Vec::new() };
    let folders = homes.filter_map(|home| home.ok()?.path().join("runs").read_dir_utf8().ok());
    let entries = folders.flatten().filter_map(|entry| Some(entry.ok()?.path().to_owned()));
    let whole = entries.filter(|folder| folder.join("run.json").exists());
    // A start that was cut off is finished later, beside the session that was begun instead: the one with the longest record comes first.
    let length = |folder: &Utf8PathBuf| std::fs::metadata(folder.join("journal.jsonl")).map_or(0, |file| file.len());
    let mut whole: Vec<Utf8PathBuf> = whole.collect();
    whole.sort_by_key(|folder| std::cmp::Reverse(length(folder)));
    whole.iter().filter_map(|folder| folder.file_name().map(str::to_owned)).collect()
}
