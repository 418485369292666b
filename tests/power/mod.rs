//! A power loss at any moment: the recorded calls of a command are replayed on a disk that keeps only what was flushed, and for
//! everything that such a disk may hold, the state is the old one or the new one, and work continues.

mod disk;
mod disk_tests;
mod stories;
mod trace;

use std::{collections::BTreeMap, rc::Rc};

use camino::{Utf8Path, Utf8PathBuf};

use self::{
    disk::{Disk, Picture, Shown},
    trace::Call,
};
use crate::{
    cli::projects::{NINE_STEP_BACKUPS, document, is_kept},
    support::{Dice, Sandbox, Strace, Tree, takes_all, versions::versions},
};

/// How many combinations of unflushed writes are tried at each moment, at most.
const MIXTURES: usize = 24;
/// How many different disks of one command are checked; `PITON_TESTS=all` checks every one.
const DISKS: usize = 10;

/// A command during which the power fails, with its context.
struct Story {
    name: &'static str,
    project: fn() -> Sandbox,
    /// Happens before.
    before: &'static [&'static [&'static str]],
    command: &'static [&'static str],
    /// Works afterwards with either state.
    then: &'static [&'static str],
    shape: Shape,
}

/// What a command may leave when it is cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// The old state or the new one.
    Whole,
    /// It works in stages, and the next command completes them.
    Stages,
    /// It appends to the journal of a session, and acts on its records.
    Journal,
}

/// The disk operations of one command.
#[derive(Clone)]
struct Recording {
    sandbox: Rc<Sandbox>,
    /// As it was before.
    disk: Disk,
    calls: Vec<Call>,
}

/// A disk after a power loss.
struct Case {
    picture: Picture,
    /// How many calls had completed, at most.
    after: usize,
    /// The command had reported success, or had started a process.
    is_said: bool,
    /// The journal at that time.
    journal: Vec<u8>,
}

/// The result of testing a command.
struct Findings {
    moments: usize,
    disks: usize,
    looked_at: usize,
    problems: Vec<String>,
}

/// Runs the command and records its disk operations; `None` without strace.
fn record(story: &Story) -> Option<Recording> {
    let strace = Strace::find()?;
    let sandbox = (story.project)();
    for words in story.before {
        sandbox.piton(words.iter().copied()).run().expect_code(0);
    }
    let disk = Disk::of(&sandbox.root());
    let program = sandbox.piton(story.command.iter().copied());
    let everything = ["-y", "-xx", "-s", "16777216", "-e", "signal=none"];
    let (output, text) = strace.follow(program, trace::CALLS, &everything);
    output.expect_code(0);
    let calls = trace::parse(&text, &sandbox.root());
    assert!(calls.contains(&Call::Said), "{}: nothing says when it counts", story.name);
    Some(Recording { sandbox: Rc::new(sandbox), disk, calls })
}

/// Cuts the power after every call and checks the result, the extremes first. Stops at `most` disks or, if that is
/// enough, at the first problem.
fn explore(story: &Story, recording: &Recording, most: usize, is_one_enough: bool) -> Findings {
    let mut dice = Dice::new(7);
    let (cases, new) = cases(recording, &mut dice);
    let old = recording.disk.now();
    let mut findings =
        Findings { moments: recording.calls.len() + 1, disks: cases.len(), looked_at: 0, problems: Vec::new() };
    for case in cases.into_iter().take(most) {
        findings.looked_at += 1;
        if let Err(problem) = look(story, &recording.sandbox, &case, [&old, &new]) {
            let line = |call: &Call| format!("{call:?}").chars().take(200).collect();
            let done: Vec<String> = recording.calls[..case.after].iter().map(line).collect();
            findings.problems.push(format!("{problem}\nafter {} calls:\n{}", case.after, done.join("\n")));
            if is_one_enough {
                break;
            }
        }
    }
    findings
}

/// Lists every different disk that a power loss may leave, and returns the one without losses.
fn cases(recording: &Recording, dice: &mut Dice) -> (Vec<Case>, Picture) {
    let mut disk = recording.disk.clone();
    let mut seen: BTreeMap<Picture, (usize, Case)> = BTreeMap::new();
    let (mut is_said, mut journal) = (false, Vec::new());
    for after in 0..=recording.calls.len() {
        if let Some(call) = after.checked_sub(1).map(|last| &recording.calls[last]) {
            disk.apply(call);
            if *call == Call::Said {
                is_said = true;
                journal = journal_of(&disk.now());
            }
        }
        for (rank, picture) in disk.after_power_loss(MIXTURES, dice) {
            let case = || Case { picture: picture.clone(), after, is_said, journal: journal.clone() };
            let known = seen.entry(picture.clone()).or_insert_with(|| (rank, case()));
            // The same disk at a later time: more was reported.
            *known = (known.0.min(rank), case());
        }
    }
    let mut ranked: Vec<(usize, usize, Case)> =
        seen.into_values().map(|(rank, case)| (rank, dice.below(usize::MAX), case)).collect();
    ranked.sort_unstable_by_key(|(rank, turn, _)| (*rank, *turn));
    let mut met: BTreeMap<Picture, usize> = BTreeMap::new();
    let mut rounds: Vec<(usize, Case)> = Vec::new();
    for (_, _, case) in ranked {
        let round = met.entry(what_counts(&case.picture)).or_default();
        rounds.push((*round, case));
        *round += 1;
    }
    // First one of each kind.
    rounds.sort_by_key(|(round, _)| *round);
    (rounds.into_iter().map(|(_, case)| case).collect(), disk.now())
}

/// Removes files that no state depends on.
fn what_counts(picture: &Picture) -> Picture {
    let is_aside = |path: &Utf8PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.ends_with(".piton-tmp") || matches!(name, "lock" | ".gitignore" | "local.json")
    };
    Picture(
        picture
            .0
            .iter()
            .filter(|(path, _)| !is_aside(path))
            .map(|(path, shown)| (path.clone(), shown.clone()))
            .collect(),
    )
}

/// Returns the journals of all sessions.
fn journals(picture: &Picture) -> impl Iterator<Item = &[u8]> {
    let journals = picture.0.iter().filter(|(path, _)| path.ends_with("journal.jsonl"));
    journals.filter_map(|(_, shown)| match shown {
        Shown::File { bytes, .. } => Some(bytes.as_slice()),
        Shown::Folder { .. } | Shown::Link(_) => None,
    })
}

/// Returns the journal of the only session, empty where there is none.
fn journal_of(picture: &Picture) -> Vec<u8> {
    journals(picture).next().unwrap_or_default().to_vec()
}

fn is_complete(journal: &[u8]) -> bool {
    String::from_utf8_lossy(journal).contains(r#""change":"complete""#)
}

/// Writes the disk to the sandbox and runs piton on it.
fn look(story: &Story, sandbox: &Sandbox, case: &Case, states: [&Picture; 2]) -> Result<(), String> {
    let root = sandbox.root();
    case.picture.write_to(&root);
    let call = |words: &[&str]| sandbox.piton(words.iter().copied()).run();
    let plan = call(&["plan"]);
    if ![0, 3, 9].contains(&plan.code) {
        return Err(format!("the plan says\n{plan}"));
    }
    document(&plan);
    let valid = call(&["validate"]);
    if ![0, 3].contains(&valid.code) {
        return Err(format!("the validation says\n{valid}"));
    }
    check_state(story, case, states, &Disk::of(&root).now())?;
    let next = call(story.then);
    let again = match story.shape {
        Shape::Whole if [0, 1].contains(&next.code) => None,
        // A command with stages may be complete: then the run is archived.
        Shape::Stages if [0, 1, 3].contains(&next.code) => None,
        Shape::Journal if [0, 1].contains(&next.code) => None,
        // It never began.
        Shape::Journal if next.code == 3 => Some(call(story.command)),
        Shape::Whole | Shape::Stages | Shape::Journal => Some(next.clone()),
    };
    if let Some(again) = again.filter(|again| again.code != 0) {
        return Err(format!("the next command says\n{again}"));
    }
    let now = Disk::of(&root).now();
    let left = match story.shape {
        Shape::Whole => Vec::new(),
        Shape::Stages => differences(states[1], &now),
        Shape::Journal if journals(&now).any(is_complete) => Vec::new(),
        Shape::Journal => journals(&now).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect(),
    };
    if !left.is_empty() {
        return Err(format!("is not brought to its end by the next command: {left:?}\n{next}"));
    }
    check_history(&root);
    Ok(())
}

/// Checks that the command may leave this state.
fn check_state(story: &Story, case: &Case, [old, new]: [&Picture; 2], now: &Picture) -> Result<(), String> {
    if story.shape == Shape::Journal {
        let (all, now) = (journal_of(new), journal_of(now));
        if !now.starts_with(&case.journal) {
            let [was, is] = [&case.journal, &now].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            return Err(format!("records were acted on and are lost: of\n{was}\nthere is\n{is}"));
        }
        let sound = now
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| all.split_inclusive(|byte| *byte == b'\n').any(|one| one == *line));
        let sound: Vec<u8> = sound.flatten().copied().collect();
        return if all.starts_with(&sound) { Ok(()) } else { Err("records are out of order".to_owned()) };
    }
    let [is_old, is_new] = [old, new].map(|state| differences(state, now).is_empty());
    let is_kept = kept(now) == kept(new);
    if !is_kept && (!is_old || kept(now) != kept(old)) {
        return Err(format!(
            "is without the whole of what a rollback gave up, or with a part of it: {:?}",
            kept(now).keys()
        ));
    }
    let is_between = story.shape == Shape::Stages && !case.is_said;
    if is_new || is_between || (is_old && !case.is_said) {
        return Ok(());
    }
    Err(format!("is neither:\n{:?}\n{:?}", differences(old, now), differences(new, now)))
}

/// Checks that each earlier version in a journal has the content that its record says.
fn check_history(root: &Utf8Path) {
    let runs = root.join(".piton/runs").read_dir_utf8().into_iter().flatten();
    for run in runs.filter_map(Result::ok) {
        versions(&run.path().join("journal.jsonl"));
    }
}

/// Returns the backups of rollbacks.
fn kept(picture: &Picture) -> BTreeMap<&Utf8Path, &[u8]> {
    let files = picture.0.iter().filter_map(|(path, shown)| match shown {
        Shown::File { bytes, .. } => Some((path.as_path(), bytes.as_slice())),
        Shown::Folder { .. } | Shown::Link(_) => None,
    });
    files.filter(|(path, _)| is_kept(path)).collect()
}

fn is_unfinished(path: &Utf8PathBuf) -> bool {
    path.as_str().ends_with(".piton-tmp") || path.ends_with("txn/pending")
}

/// Leaves out the unfinished record at the end of a journal, which every reader passes over and the next writer sets aside.
fn whole_records<'a>(path: &Utf8Path, bytes: &'a [u8]) -> &'a [u8] {
    let is_journal = path.file_name() == Some("journal.jsonl");
    let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    if is_journal { &bytes[..end] } else { bytes }
}

/// Lists the changed files of the state; Piton's logs do not belong to it, its backups do.
fn differences(wanted: &Picture, now: &Picture) -> Vec<String> {
    let state = |picture: &Picture| -> BTreeMap<Utf8PathBuf, Vec<u8>> {
        let files = picture.0.iter().filter_map(|(path, shown)| match shown {
            Shown::File { bytes, .. } if path.file_name() == Some("journal.jsonl") => {
                Some((path.clone(), Tree::without_names(whole_records(path, bytes))))
            }
            Shown::File { bytes, .. } => Some((path.clone(), bytes.clone())),
            Shown::Folder { .. } | Shown::Link(_) => None,
        });
        let is_record = |path: &Utf8Path| {
            let is_of_run = path.parent().and_then(Utf8Path::parent).is_some_and(|runs| runs.ends_with(".piton/runs"));
            is_of_run && matches!(path.file_name(), Some("run.json" | "journal.jsonl" | "checkpoint.json"))
        };
        let is_own = |path: &Utf8Path| path.components().any(|part| part.as_str() == ".piton") && !is_record(path);
        let counts = |path: &Utf8PathBuf| {
            (!is_own(path) || path.as_str().contains(".piton/archive/"))
                && !is_unfinished(path)
                && !is_backup(path)
                && !path.starts_with(NINE_STEP_BACKUPS)
        };
        // A journal without a record says nothing.
        let says = |path: &Utf8PathBuf, bytes: &[u8]| !(path.ends_with("journal.jsonl") && bytes.is_empty());
        files.filter(|(path, bytes)| counts(path) && says(path, bytes)).collect()
    };
    let (wanted, now) = (state(wanted), state(now));
    let paths = wanted.keys().chain(now.keys());
    let different = paths.filter(|path| wanted.get(*path) != now.get(*path));
    different
        .map(|path| format!("{path}: {}", String::from_utf8_lossy(now.get(path).map_or(b"gone", |it| it))))
        .collect()
}

fn is_backup(path: &Utf8PathBuf) -> bool {
    matches!(path.extension(), Some("bak" | "backup"))
}

/// Returns how many disks of one command are checked.
fn most() -> usize {
    if takes_all() { usize::MAX } else { DISKS }
}
