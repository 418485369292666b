//! SIGKILL of the runner at random moments: no recorded step is repeated, and none is skipped.

use std::{collections::BTreeMap, time::Duration};

use camino::Utf8PathBuf;

use super::support::Stage;
use crate::support::{read, takes_all};

const STEPS: usize = 30;
/// How many kills there are; `PITON_TESTS=all` makes it [`ALL`].
const SOME: usize = 10;
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

    /// Returns a time until a kill, in milliseconds up to `longest`. After many kills of one run it grows, or a busy machine would come to no end.
    pub(super) fn limit(&mut self, longest: u64, killed: usize) -> Duration {
        Duration::from_millis(1 + self.next() % longest.max(2 * killed as u64))
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
    let wanted = if takes_all() { ALL } else { SOME };
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
            let limit = chance.limit(LONGEST, killed);
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
pub(super) fn sessions(stage: &Stage) -> Vec<String> {
    let Ok(runs) = stage.home().join("runs").read_dir_utf8() else { return Vec::new() };
    let entries = runs.filter_map(|entry| Some(entry.ok()?.path().to_owned()));
    let whole = entries.filter(|folder| folder.join("run.json").exists());
    // A start that was cut off is finished later, beside the session that was begun instead: the one with the longest record comes first.
    let length = |folder: &Utf8PathBuf| std::fs::metadata(folder.join("journal.jsonl")).map_or(0, |file| file.len());
    let mut whole: Vec<Utf8PathBuf> = whole.collect();
    whole.sort_by_key(|folder| std::cmp::Reverse(length(folder)));
    whole.iter().filter_map(|folder| folder.file_name().map(str::to_owned)).collect()
}

const PARALLEL: &str = "
name: p
steps:
- {id: a, depends_on: [], shell: 'echo begin a >> LOG; echo end a >> LOG'}
- {id: b, depends_on: [], shell: 'echo begin b >> LOG; echo end b >> LOG'}
- {id: c, depends_on: [], shell: 'echo begin c >> LOG; echo end c >> LOG'}
- id: each
  depends_on: [a, b]
  foreach: {items: [p, q, r], parallel: 2, worktree: each}
  shell: 'echo begin each ${item} >> LOG; echo x > ${item}.txt; git add -A; git diff --cached --quiet || git commit -qm \"item ${item}\"; echo end each ${item} >> LOG'
- id: shared
  depends_on: []
  foreach: {items: [s, t, u], parallel: 3}
  steps:
  - {id: make, shell: 'echo begin make ${item} >> LOG; echo made-of-${item}'}
  - {id: use, shell: 'echo begin shared ${item} >> LOG; test ${make.output} = made-of-${item} && echo end shared ${item} >> LOG'}
- id: last
  depends_on: [each, shared, c]
  shell: 'echo begin last >> LOG; cat p.txt q.txt r.txt && echo end last >> LOG'
";

/// Returns the steps, items, steps of items and merges that the journal of a session says are done.
fn done_in_parallel(stage: &Stage, id: &str) -> Vec<String> {
    let journal = read(&stage.folder(id).join("journal.jsonl"));
    let records = journal.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let named = records.filter_map(|record| {
        if let Some(item) = record["runner"]["act"]["item_step"]["item"].as_str() {
            return Some(format!("make {item}"));
        }
        if record["change"]["change"] != "finish" {
            return None;
        }
        let step = record["change"]["step"].as_str()?.to_owned();
        Some(record["change"]["part"].as_str().map_or(step.clone(), |part| format!("{step} {part}")))
    });
    named.collect()
}

/// With `--jobs`, parallel items, and a worktree for each of them.
#[test]
fn a_runner_of_parallel_work_that_is_killed_anywhere_repeats_nothing_that_is_done() {
    let wanted = if takes_all() { 60 } else { 6 };
    let mut chance = Chance(0x2545_f491_4f6c_dd1d);
    let mut kills = 0;
    while kills < wanted {
        let stage = Stage::new(PARALLEL);
        stage.sandbox.commit("the workflow");
        let mut killed = 0;
        let mut finished: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            let list = sessions(&stage);
            let arguments: Vec<&str> = match list.first() {
                Some(id) => vec!["resume", id, "--jobs", "3"],
                None => vec!["run", "w.yml", "--jobs", "3"],
            };
            let limit = chance.limit(700, killed);
            let output = stage.piton(arguments).run_within(limit);
            let now = counts(&stage);
            for (what, times) in &finished {
                assert_eq!(now[&format!("begin {what}")], *times, "{what} was done, and was begun again");
            }
            if let Some(output) = output {
                let is_over = output.code == 1 && output.stderr.contains("is complete already");
                assert!(output.code == 0 || is_over, "{output}");
                break;
            }
            (kills, killed) = (kills + 1, killed + 1);
            let Some(id) = sessions(&stage).into_iter().next() else { continue };
            for what in done_in_parallel(&stage, &id) {
                if let Some(times) = now.get(&format!("begin {what}")) {
                    finished.insert(what, *times);
                }
            }
        }
        let now = counts(&stage);
        for what in ["a", "b", "c", "each p", "each q", "each r", "shared s", "shared t", "shared u", "last"] {
            assert!(now.contains_key(&format!("end {what}")), "{what}: {now:?}");
        }
        let id = sessions(&stage).remove(0);
        let branch = format!("piton/{id}");
        let log = stage.sandbox.git(["log", "--format=%s", &branch]);
        for item in ["p", "q", "r"] {
            assert!(stage.worktree(&id).join(format!("{item}.txt")).exists(), "{log}");
            assert_eq!(log.lines().filter(|line| *line == format!("item {item}")).count(), 1, "{log}");
        }
        let done = done_in_parallel(&stage, &id);
        for item in ["p", "q", "r"] {
            let merge = format!("each merge of {item}");
            assert_eq!(done.iter().filter(|one| **one == merge).count(), 1, "{done:?}");
        }
    }
}
