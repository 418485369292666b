//! A kill at any moment, and any failing system call: the state is the old one or the new one, and work continues at once.

mod faults;
mod kills;
mod reads;
mod shim;
mod stories;
mod worktrees;

use std::collections::BTreeSet;

use camino::Utf8Path;
use serde_json::Value;

use crate::{
    cli::projects,
    support::{self, Call, Output, Program, Sandbox, Tree, say, takes_all},
};

/// A command to be interrupted at every call, in a project where it has work to do.
struct Story {
    /// Its name in the table.
    name: &'static str,
    /// Makes the project.
    project: fn() -> Sandbox,
    /// Happens before.
    before: Vec<Command>,
    cut: Command,
    /// The commands to call next; the first one with work to do counts.
    then: Vec<Command>,
    shape: Shape,
}

impl Story {
    /// Returns the story of a command that writes one checkpoint in a new project, and is called again afterwards.
    fn of(name: &'static str, project: fn() -> Sandbox, cut: Command) -> Self {
        Self { name, project, before: Vec::new(), cut, then: vec![cut], shape: Shape::Whole }
    }
}

/// What a command leaves when it is cut off.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// The state before, or the state after.
    Whole,
    /// One complete checkpoint after the other; the next command writes the missing ones.
    InTurn,
    /// The state before: it writes only logs.
    Notes,
}

/// A call of piton.
#[derive(Clone, Copy)]
struct Command {
    words: &'static [&'static str],
    /// The session of the client that calls.
    session: Option<&'static str>,
    /// The standard input, with `ROOT` for the project.
    input: Option<&'static str>,
}

impl Command {
    const fn new(words: &'static [&'static str]) -> Self {
        Self { words, session: None, input: None }
    }

    const fn of_session(words: &'static [&'static str], input: Option<&'static str>) -> Self {
        Self { words, session: Some("s1"), input }
    }

    fn on(self, sandbox: &Sandbox) -> Program<'_> {
        let mut program = sandbox.piton(self.words.iter().copied());
        if let Some(session) = self.session {
            program = program.session(session);
        }
        if let Some(input) = self.input {
            program = program.stdin(input.replace("ROOT", sandbox.root().as_str()));
        }
        program
    }
}

/// A run as other processes see it at one moment, and the result of the next command.
struct Snapshot {
    /// The files of the state, without Piton's own records.
    state: Tree,
    /// Copies of an earlier state beside it.
    backups: Tree,
    /// The backups of rollbacks.
    kept: Tree,
    /// How many records the journals beside the state have.
    said: usize,
    plan: (i32, Value),
    validate: i32,
    /// What `history` lists, without numbers; the code of `rollback`; and the state after `restore`.
    past: (Value, i32),
    restored: Tree,
    /// The exit code of the next command, and the state after it.
    then: (i32, Tree),
}

/// A story in a sandbox that can be reset.
struct Scene {
    story: Story,
    sandbox: Sandbox,
    beginning: Tree,
    before: Snapshot,
    after: Snapshot,
}

impl Scene {
    /// Prepares the project, and runs the story twice: without the command, and with all of it.
    fn new(story: Story) -> Self {
        let sandbox = (story.project)();
        for command in &story.before {
            command.on(&sandbox).run().expect_code(0);
        }
        let beginning = sandbox.everything();
        let before = see(&story, &sandbox);
        sandbox.put_back(&beginning);
        story.cut.on(&sandbox).run().expect_code(0);
        let after = see(&story, &sandbox);
        sandbox.put_back(&beginning);
        let scene = Self { story, sandbox, beginning, before, after };
        let is_changed = !scene.before.state.changes(&scene.after.state).is_empty();
        assert_eq!(is_changed, scene.story.shape != Shape::Notes, "{}: what it changes", scene.story.name);
        scene
    }

    fn set_back(&self) -> &Self {
        self.sandbox.put_back(&self.beginning);
        self
    }

    /// Checks that every reader sees the state before or the state after, that the next command works from there, and that no temporary
    /// files remain.
    fn check(&self) -> Result<(), String> {
        let seen = see(&self.story, &self.sandbox);
        let sides = [&self.before, &self.after];
        match self.story.shape {
            Shape::Whole => self.check_snapshot(&seen, &sides)?,
            Shape::Notes => self.check_snapshot(&seen, &sides[..1])?,
            Shape::InTurn => {
                let ends = sides.map(|side| side.then.1.changes(&seen.then.1));
                let is_known = sides.iter().any(|side| side.then.0 == seen.then.0);
                ensure(is_known, || format!("the next command: {}", seen.then.0))?;
                ensure(ends.iter().any(Vec::is_empty), || format!("after the next command: {ends:?}"))?;
            }
        }
        let left = leftovers(&self.sandbox);
        ensure(left.is_empty(), || format!("leftover: {left:?}"))
    }

    fn check_snapshot(&self, seen: &Snapshot, sides: &[&Snapshot]) -> Result<(), String> {
        let differs: Vec<_> = sides.iter().map(|side| side.state.changes(&seen.state)).collect();
        let side = differs.iter().position(Vec::is_empty).map(|at| sides[at]);
        let side = side.ok_or_else(|| format!("a mixture: {differs:?}"))?;
        let is_copy = [&self.before, &self.after].iter().any(|side| side.backups == seen.backups);
        ensure(is_copy, || "the copy beside the state is neither of the two".to_owned())?;
        // A record is complete before the state changes.
        let is_before = differs[0].is_empty();
        let is_kept = seen.kept == self.after.kept || (is_before && seen.kept == self.before.kept);
        ensure(is_kept, || format!("what a rollback keeps: {:?}", self.after.kept.changes(&seen.kept)))?;
        // Both or neither: what was said is recorded with the change, and not without it.
        let is_said = seen.said == side.said || sides.len() == 1 && seen.said == self.after.said;
        ensure(is_said, || format!("{} records and not {}", seen.said, side.said))?;
        ensure(seen.plan == side.plan, || format!("plan: {:?} and not {:?}", seen.plan, side.plan))?;
        ensure(seen.past == side.past, || format!("history, rollback: {:?} and not {:?}", seen.past, side.past))?;
        let restored = side.restored.changes(&seen.restored);
        ensure(restored.is_empty(), || format!("after restore: {restored:?}"))?;
        ensure(seen.validate == side.validate, || format!("validate: {} and not {}", seen.validate, side.validate))?;
        let codes = (seen.then.0, side.then.0);
        ensure(codes.0 == codes.1, || format!("the next command: {} and not {}", codes.0, codes.1))?;
        // What a hook notes changes no state, but it may change what the next command does.
        let ends = if sides.len() == 1 { vec![side, &self.after] } else { vec![side] };
        let ends: Vec<_> = ends.iter().map(|side| side.then.1.changes(&seen.then.1)).collect();
        ensure(ends.iter().any(Vec::is_empty), || format!("after the next command: {ends:?}"))
    }

    /// Fails the test with all problems, or prints how much was tried.
    fn conclude(&self, what: &str, tried: usize, problems: &[String]) {
        let name = self.story.name;
        assert!(problems.is_empty(), "{name}: {} of {tried} {what}\n{}", problems.len(), problems.join("\n"));
        say(&format!("{what:<13} {name:<40} {tried:>4}, all clean"));
    }
}

/// Tells whether a story is left to `.ci/prove`: of those that are killed and refused everywhere, the gate kills one half and refuses the
/// other.
fn is_left_out(story: &Story, half: usize) -> bool {
    let is_left_out = story.name.len() % 2 != half && !takes_all();
    if is_left_out {
        say(&format!("{:<54} left out (PITON_TESTS=all)", story.name));
    }
    is_left_out
}

/// Returns the calls that are tried, with their places: all with `PITON_TESTS=all`, else every third of the first of each name and every
/// sixth. Which third, the turn says: other stories try the others.
fn sample(calls: Vec<Call>, turn: usize) -> Vec<(usize, Call)> {
    let mut names = BTreeSet::new();
    let mut is_taken = |(at, call): &(usize, Call)| names.insert(call.name.clone()) || at % 6 == 0;
    let calls = calls.into_iter().enumerate();
    if takes_all() {
        return calls.collect();
    }
    support::sample(3, turn, calls.filter(|call| is_taken(call)))
}

fn ensure(holds: bool, problem: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(problem()) }
}

/// Reads the run as other processes would, and then runs the next command.
fn see(story: &Story, sandbox: &Sandbox) -> Snapshot {
    // Reading completes or drops an unfinished change.
    let plan = sandbox.piton(["plan"]).run();
    let document = projects::document(&plan);
    let steps: Vec<&Value> =
        document["data"]["next"].as_array().into_iter().flatten().map(|next| &next["step"]).collect();
    let answer = serde_json::json!([document["data"]["verdict"], steps]);
    let validate = sandbox.piton(["validate"]).run().code;
    let (state, backups, kept) =
        (state_of(sandbox), sandbox.tree().only(is_backup), sandbox.tree().without_folders().only(projects::is_kept));
    let said = said(sandbox);
    let past = (past(sandbox), sandbox.piton(["rollback"]).run().code);
    let everything = sandbox.everything();
    sandbox.piton(["restore", "--yes"]).run();
    let restored = state_of(sandbox);
    sandbox.put_back(&everything);
    let mut then = (3, state.clone());
    for command in &story.then {
        let output = command.on(sandbox).run();
        then = (output.code, state_of(sandbox));
        if output.code != 3 {
            break;
        }
    }
    Snapshot { state, backups, kept, said, plan: (plan.code, answer), validate, past, restored, then }
}

/// Returns how many whole records there are in the journals of the runs of other systems.
fn said(sandbox: &Sandbox) -> usize {
    let is_journal =
        |path: &Utf8Path| path.ends_with("journal.jsonl") && path.parent().is_some_and(|run| !run.ends_with(RUN));
    let journals = sandbox.everything().only(is_journal).paths();
    let read = |path: &String| std::fs::read_to_string(sandbox.top().join(path)).expect("a journal");
    journals.iter().map(|path| read(path).matches('\n').count()).sum()
}

/// Lists the changes in the history. A number may be used twice, by a change that was cut off and by the next one.
fn past(sandbox: &Sandbox) -> Value {
    let document = projects::document(&sandbox.piton(["history"]).run());
    let rows = document["data"]["checkpoints"].as_array().into_iter().flatten();
    rows.map(|row| serde_json::json!([row["replaced_by"], row["step"], row["files"]])).collect()
}

/// The records of a run of a workflow file, and the names of the files that are its state.
const RUN: &str = ".piton/runs/demo";
const RECORDS: [&str; 3] = ["run.json", "journal.jsonl", "checkpoint.json"];

/// Lists the state: all files of the project except temporary ones, copies and Piton's own; archived files and the records of a run are
/// state too.
fn state_of(sandbox: &Sandbox) -> Tree {
    sandbox.tree().without_folders().only(|path| {
        let own = path.as_str().rsplit_once(".piton/").map(|(_, own)| own);
        let is_record = path.strip_prefix(RUN).is_ok_and(|name| RECORDS.contains(&name.as_str()));
        let is_own = own.is_some_and(|own| !own.starts_with("archive/")) && !is_record;
        let is_note = is_own || path.starts_with(projects::NINE_STEP_BACKUPS);
        !is_note && !path.starts_with(".git") && !path.as_str().ends_with(".piton-tmp") && !is_backup(path)
    })
}

fn is_backup(path: &Utf8Path) -> bool {
    let is_kept = path.starts_with(projects::NINE_STEP_BACKUPS) || path.as_str().contains("piton/");
    matches!(path.extension(), Some("backup" | "bak")) && !is_kept
}

/// Lists leftovers of an interrupted command, which the next one must remove. The folder of a session that never began is not
/// read: it is never used again.
fn leftovers(sandbox: &Sandbox) -> Vec<String> {
    let has_begun = |path: &Utf8Path| {
        let session = path.ancestors().find(|folder| folder.parent().is_some_and(|above| above.ends_with("runs")));
        session.is_none_or(|session| sandbox.top().join(session).join("run.json").exists())
    };
    let is_leftover = |path: &Utf8Path| match path.file_name() {
        Some(".gitignore") => {
            has_begun(path) && sandbox.top().join(path).metadata().is_ok_and(|metadata| metadata.len() == 0)
        }
        Some("backup") if path.as_str().contains("piton/runs/") => true,
        Some(_) if is_of_archive(path) => {
            sandbox.top().join(path).read_dir().is_ok_and(|mut names| names.next().is_none())
        }
        Some(name) => has_begun(path) && (name.ends_with(".piton-tmp") || path.ends_with("txn/pending")),
        None => false,
    };
    sandbox.everything().only(is_leftover).paths()
}

/// Tells whether a path is a folder of archives, or of one.
fn is_of_archive(path: &Utf8Path) -> bool {
    let is_archive = |path: &Utf8Path| path.ends_with(".archive") || path.ends_with(".piton/archive");
    is_archive(path) || path.parent().is_some_and(is_archive)
}

/// Tells whether the program itself ended: neither a signal nor a panic.
fn is_answer(output: &Output) -> bool {
    (0..70).contains(&output.code) && !output.stderr.contains("panicked")
}
