//! No recorded state is lost: an archive is undone by its restore, and after any change the state before it is among the versions.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};

use super::{
    starts::{self, Start},
    walker::{RunSeen, Walker, quoted},
};
use crate::support::{say, takes_all};

/// Moves of one walk: of the sample, and of all of it.
const SAMPLE: usize = 20;
const ALL: usize = 500;
/// Number of the newest versions among which the state before a change has to be.
const NEWEST: usize = 4;
/// Every so many of the versions of a walk are restored once more at its end.
const LOOKED_AT_AGAIN: usize = 7;
/// The projects of the walks.
const WALKED: [&str; 9] = [
    "fresh nine-step",
    "nine-step in a worktree",
    "ccw in git",
    "ccw with subtasks",
    "fresh dotagent",
    "fresh workflow file",
    "aios",
    "qa/2.1/loop-status.json",
    ".aiox/workflow-state/1.1-state.yaml",
];

/// What a run has on disk, and which of its steps are over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Recorded {
    files: BTreeMap<String, Vec<u8>>,
    over: BTreeSet<String>,
}

impl Recorded {
    fn of(walker: &Walker, run: &RunSeen) -> Self {
        let files = run.plan["data"]["run"]["state_files"].as_array().cloned().unwrap_or_default();
        let files = files.iter().filter_map(|path| path.as_str()).filter_map(|path| {
            let bytes = std::fs::read(walker.sandbox.root().join(path)).ok()?;
            Some((path.to_owned(), bytes))
        });
        let over = ["completed", "skipped"].iter().flat_map(|group| run.group(group));
        Self { files: files.collect(), over: over.collect() }
    }

    /// Tells whether nothing of an earlier state is missing. A journal is only ever appended to: its steps count.
    fn has(&self, before: &Self) -> bool {
        let is_journal = |files: &BTreeMap<String, Vec<u8>>| files.keys().any(|path| path.ends_with("journal.jsonl"));
        if is_journal(&before.files) || is_journal(&self.files) {
            return before.over.is_subset(&self.over);
        }
        // A state may have moved into the worktree.
        before
            .files
            .iter()
            .all(|(path, bytes)| self.files.get(path) == Some(bytes) || self.files.values().any(|other| other == bytes))
    }
}

/// A walk through one project, with what its versions were found to have.
struct Walk {
    walker: Walker,
    run: String,
    /// The state that each version restores.
    known: Vec<(String, Recorded)>,
    /// What is on disk was written by another program, and no change of Piton has found it yet.
    is_foreign: bool,
    is_over: bool,
}

impl Walk {
    fn from(start: &Start, seed: u64) -> Self {
        let mut walker = Walker::new(start.make(), seed);
        walker.is_in_process = true;
        for call in start.calls {
            walker.make(call);
        }
        let runs = walker.runs();
        let run = runs.first().unwrap_or_else(|| panic!("{} has no run", start.name)).id.clone();
        Self { walker, run, known: Vec::new(), is_foreign: false, is_over: false }
    }

    fn seen(&self) -> Option<RunSeen> {
        self.walker.runs().into_iter().find(|run| run.id == self.run)
    }

    /// Makes a move, and returns what is wrong with the state after it.
    fn step_on(&mut self) -> Result<(), String> {
        let Some(run) = self.seen() else {
            return Err("the run is gone".to_owned());
        };
        let before = Recorded::of(&self.walker, &run);
        // What another program cut off is no state.
        let is_sound = run.plan["ok"] == true && run.plan["data"]["degraded"] != true;
        let versions = self.versions();
        self.make_move(&run, &versions);
        self.bring_back();
        if self.is_over {
            return Ok(());
        }
        let Some(run) = self.seen() else {
            return Err("the run does not come back".to_owned());
        };
        let now = self.versions();
        let is_kept = |id: &&String| id.parse::<u32>().is_ok() && !now.contains(*id);
        if let Some(gone) = versions.iter().find(is_kept) {
            return Err(format!("version {gone} is gone"));
        }
        let made = self.walker.history.iter().nth_back(1).map_or("", String::as_str);
        let is_damage = made.starts_with("(half of");
        let is_foreign = is_damage || made.starts_with("(an earlier state");
        // Of what only other programs ever wrote there is no record.
        let was_seen = !(is_foreign && self.is_foreign);
        let before = if is_damage { self.recorded(before) } else { before };
        let now_there = Recorded::of(&self.walker, &run);
        self.is_foreign = is_foreign || self.is_foreign && now_there.files == before.files;
        if !is_sound || !was_seen || now_there.has(&before) {
            return Ok(());
        }
        let found = now.iter().take(NEWEST).find(|id| self.restored(id).is_some_and(|state| state.has(&before)));
        let found = found.ok_or("the state before it is in no version")?;
        self.known.push((found.clone(), before));
        Ok(())
    }

    /// Undoes an archive, if that was the last move.
    fn bring_back(&mut self) {
        let Some(answer) = self.walker.last.take().filter(|last| last.code == 0) else { return };
        if !answer.call.starts_with("piton close ") {
            return;
        }
        let archived: Value = serde_json::from_str(&answer.stdout).unwrap_or_default();
        match archived["data"]["restore"].as_str() {
            Some(restore) => drop(self.walker.make(restore)),
            None => self.is_over = true,
        }
    }

    fn make_move(&mut self, run: &RunSeen, versions: &[String]) {
        let path = quoted(&run.id);
        match self.walker.dice.below(100) {
            0..10 if !versions.is_empty() => {
                let version = &versions[self.walker.dice.below(versions.len())];
                self.walker.make(&format!("piton restore {path} --to {version} --yes"));
            }
            10..16 => {
                let (_, targets) = self.walker.json(&format!("piton rollback {path}"));
                let targets = targets["data"]["targets"].as_array().cloned().unwrap_or_default();
                if let Some(target) = targets.get(self.walker.dice.below(targets.len().max(1))) {
                    let to = quoted(target["to"].as_str().unwrap_or_default());
                    self.walker.make(&format!("piton rollback {path} --to {to} --yes --force"));
                }
            }
            16..20 => {
                let earlier = self.known_bytes();
                self.walker.put_back(&earlier);
            }
            20..24 => drop(self.walker.make(&format!("piton resume {path} --force --yes"))),
            24..27 => drop(self.walker.make(&format!("piton close {path} --abort"))),
            _ => self.walker.step_on(),
        }
    }

    /// Returns the files of an earlier state, for a program that puts them back.
    fn known_bytes(&self) -> BTreeMap<String, Vec<u8>> {
        self.known.last().map(|(_, state)| state.files.clone()).unwrap_or_default()
    }

    /// Returns of a state the files that changes of the run replaced or wrote.
    fn recorded(&self, state: Recorded) -> Recorded {
        let (_, history) = self.walker.json(&format!("piton history {}", quoted(&self.run)));
        let versions = history["data"]["checkpoints"].as_array().cloned().unwrap_or_default();
        let files = versions.iter().filter_map(|version| version["files"].as_array()).flatten();
        let known: BTreeSet<&str> = files.filter_map(Value::as_str).collect();
        let is_known = |path: &str| known.contains(path) || path.ends_with("journal.jsonl");
        let Recorded { files, over } = state;
        Recorded { files: files.into_iter().filter(|(path, _)| is_known(path)).collect(), over }
    }

    /// Returns the names of the versions, newest first.
    fn versions(&self) -> Vec<String> {
        let (_, history) = self.walker.json(&format!("piton history {}", quoted(&self.run)));
        let versions = history["data"]["checkpoints"].as_array().cloned().unwrap_or_default();
        versions.iter().filter_map(|version| version["id"].as_str().map(str::to_owned)).collect()
    }

    /// Returns the state that a version restores, in a copy; `None` if it is refused.
    fn restored(&self, version: &str) -> Option<Recorded> {
        let mut copy = self.walker.copy();
        let (code, answer) = self.walker.json(&format!("piton restore {} --to {version} --yes", quoted(&self.run)));
        let is_there = |message: &str| message.contains("the state is already as it was at");
        let is_restored = code == 0 || answer["error"]["message"].as_str().is_some_and(is_there);
        let state = self.seen().filter(|_| is_restored).map(|run| Recorded::of(&self.walker, &run));
        copy.restore();
        state
    }

    /// Tells which of the versions that had a state does not have it any more.
    fn lost_version(&self) -> Option<String> {
        let again = self.known.iter().filter(|(id, _)| id.parse::<u32>().is_ok());
        let mut again = again.step_by(if takes_all() { LOOKED_AT_AGAIN } else { 1 });
        let lost = again.find(|(id, state)| !self.restored(id).is_some_and(|restored| restored.has(state)));
        lost.map(|(id, _)| format!("version {id} does not restore what it had"))
    }
}

/// Walks from one start and returns how many states were looked for.
fn walk(start: &Start, seed: u64, moves: usize) -> Result<usize, String> {
    let mut walk = Walk::from(start, seed);
    let told = |walk: &Walk, what: String| {
        format!("{what}\n  in: {}, seed {seed}\n  {}", start.name, walk.walker.history.join("\n  "))
    };
    for _ in 0..moves {
        walk.step_on().map_err(|what| told(&walk, what))?;
        if walk.is_over {
            return Ok(walk.known.len());
        }
    }
    walk.lost_version().map_or(Ok(walk.known.len()), |what| Err(told(&walk, what)))
}

#[test]
fn a_random_walk_of_changes_restores_and_rollbacks_loses_no_recorded_state() {
    let starts: Vec<Start> = starts::all().into_iter().filter(|start| WALKED.contains(&&*start.name)).collect();
    assert_eq!(starts.len(), WALKED.len());
    let moves = if takes_all() { ALL } else { SAMPLE };
    let (turn, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some((at, start)) = next_of(&starts, &turn) {
                    let result = walk(start, 40 + at as u64, moves);
                    results.lock().expect("no walk failed").push(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("no walk failed");
    let (replaced, lost): (Vec<_>, Vec<_>) = results.into_iter().partition(Result::is_ok);
    let replaced: usize = replaced.into_iter().flatten().sum();
    say(&format!("walk: {replaced} states that a move replaced are among the versions"));
    let lost: Vec<String> = lost.into_iter().filter_map(Result::err).collect();
    assert!(lost.is_empty(), "{}", lost.join("\n"));
    assert!(replaced >= starts.len(), "only {replaced} states were replaced");
}

fn next_of<'a>(starts: &'a [Start], turn: &AtomicUsize) -> Option<(usize, &'a Start)> {
    let at = turn.fetch_add(1, Ordering::Relaxed);
    starts.get(at).map(|start| (at, start))
}

/// Returns what a run looks like to those who continue it.
fn seen(walker: &Walker, run: &RunSeen) -> Value {
    let data = &run.plan["data"];
    let next = data["next"].as_array().cloned().unwrap_or_default();
    let next: Vec<Value> = next.iter().map(|next| json!([next["action"], next["step"], next["attempt"]])).collect();
    let codes = run.plan["findings"].as_array().cloned().unwrap_or_default();
    let codes: Vec<Value> = codes.iter().map(|finding| finding["code"].clone()).collect();
    let files: Vec<String> = Recorded::of(walker, run).files.into_keys().collect();
    json!({"id": run.id, "verdict": data["verdict"], "next": next, "steps": data["steps"], "findings": codes, "files": files})
}

/// Archives a run and restores it, and returns what is not as it was.
fn difference(walker: &mut Walker, id: &str) -> Result<(), String> {
    let name = quoted(id);
    // An example is not begun by this user.
    walker.make(&format!("piton trust {name}"));
    let found = |walker: &Walker| {
        let run = walker.runs().into_iter().find(|run| run.id == id).ok_or(format!("{id} is not listed"))?;
        let (_, plan) = walker.json(&format!("piton plan {name} --steps"));
        Ok::<RunSeen, String>(RunSeen { plan, ..run })
    };
    let run = found(walker)?;
    let before = seen(walker, &run);
    let (code, archived) = walker.json(&format!("piton close {name} --abort"));
    assert_eq!(code, 0, "{id}: {archived}");
    // What only a story says has no state of its own, and of a run with a worktree that is left.
    if archived["data"]["to"].is_null() {
        return Ok(());
    }
    let restore = archived["data"]["restore"].as_str().ok_or(format!("{id} has no way back: {archived}"))?;
    if run.plan["data"]["run"]["dialect"] != "ccw" && !Recorded::of(walker, &run).files.is_empty() {
        return Err(format!("{id} is still there"));
    }
    let (code, restored) = walker.json(restore);
    if code != 0 {
        return Err(format!("{restore}: {restored}"));
    }
    let after = seen(walker, &found(walker)?);
    if after == before { Ok(()) } else { Err(format!("{id} was {before}\n  and is {after}")) }
}

#[test]
fn what_was_archived_comes_back_as_it_was() {
    let mut wrong = Vec::new();
    for start in starts::all() {
        let mut walker = Walker::new(start.make(), 1);
        walker.is_in_process = true;
        for call in start.calls {
            walker.make(call);
        }
        let runs = walker.runs();
        assert!(!runs.is_empty(), "{} has no run", start.name);
        let differences = runs.iter().filter_map(|run| difference(&mut walker, &run.id).err());
        wrong.extend(differences.map(|what| format!("{}: {what}", start.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
