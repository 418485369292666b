//! The commands during which the power fails.

use super::{Recording, Shape, Story, explore, most, record, trace::Call};
use crate::support::{Sandbox, Tree, repository, say, takes_all};

/// Copies an example to a place where a flush is free: only the order of the calls counts.
fn example(name: &str) -> Sandbox {
    let sandbox = Sandbox::in_memory();
    Tree::of(&repository().join("examples").join(name)).write_to(&sandbox.root());
    sandbox
}

/// Cuts the power at every point of a command; the state must not be lost.
fn survives(story: &Story) {
    survives_on(story, 8);
}

/// Does so on more than `least` disks.
fn survives_on(story: &Story, least: usize) {
    let Some(recording) = record(story) else { return };
    let found = explore(story, &recording, most(), false);
    say(&format!(
        "power loss: {:28} {:3} moments, {:5} different disks, {:4} looked at, {} problems",
        story.name,
        found.moments,
        found.disks,
        found.looked_at,
        found.problems.len()
    ));
    assert!(found.looked_at > least, "only {} disks", found.looked_at);
    assert!(found.problems.is_empty(), "{}: {} problems\n{}", story.name, found.problems.len(), found.problems[0]);
}

const BEGIN: Story = Story {
    name: "begin (nine-step)",
    project: || example("nine-step"),
    before: &[],
    command: &["begin", "2:3"],
    then: &["begin", "2:3"],
    shape: Shape::Whole,
};

#[test]
fn a_begin_in_one_file() {
    survives(&BEGIN);
}

const FINISH: Story = Story {
    name: "finish (CCW, three files)",
    project: || example("ccw"),
    before: &[],
    command: &["finish", "IMPL-002", "--summary", "tokens"],
    then: &["finish", "IMPL-002", "--summary", "tokens"],
    shape: Shape::Whole,
};

#[test]
fn a_finish_in_three_files() {
    survives(&FINISH);
}

/// The last task is verified and the phase ends (docs/formats/dotagent.md#two-files-one-checkpoint).
fn last_task() -> Sandbox {
    let sandbox = example("dotagent");
    let execution = r#"{"workflow_id":"user-auth","tasks":[{"id":"task-001","title":"Hash passwords","status":"running","attempts":0,
        "started_at":"2026-01-31T10:15:00Z","output":"memory/tasks/task-001/output.json"}]}"#;
    sandbox.file("memory/state/execution.json", execution);
    sandbox
}

#[test]
fn a_finish_in_two_files() {
    survives(&Story {
        name: "finish (dotagent, two files)",
        project: last_task,
        before: &[],
        command: &["finish", "task-001:verify", "--verdict", "APPROVED"],
        then: &["finish", "task-001:verify", "--verdict", "APPROVED"],
        shape: Shape::Whole,
    });
}

/// An epic with the backup that its own system made.
fn with_backup() -> Sandbox {
    let sandbox = example("aios");
    let state = ".aios/epic-7-state.yaml";
    sandbox.file(&format!("{state}.bak"), &sandbox.read(state));
    sandbox
}

#[test]
fn a_begin_with_a_backup() {
    survives(&Story {
        name: "begin (AIOS, YAML and .bak)",
        project: with_backup,
        before: &[],
        command: &["begin", "7.2"],
        then: &["begin", "7.2"],
        shape: Shape::Whole,
    });
}

#[test]
fn a_second_backup() {
    survives(&Story {
        name: "finish (AIOS, over a .bak)",
        project: with_backup,
        before: &[&["begin", "7.2"]],
        command: &["finish", "7.2"],
        then: &["finish", "7.2"],
        shape: Shape::Whole,
    });
}

#[test]
fn a_resume() {
    survives(&Story {
        name: "resume (CCW)",
        project: || example("ccw"),
        before: &[],
        command: &["resume", "--yes"],
        then: &["begin", "IMPL-002"],
        shape: Shape::Whole,
    });
}

const ARCHIVE: Story = Story {
    name: "archive (nine-step)",
    project: || example("nine-step"),
    before: &[],
    command: &["close", "--abort"],
    then: &["start", "nine-step", "--feature", "user-auth", "--archive"],
    shape: Shape::Whole,
};

#[test]
fn an_archive_of_one_file() {
    survives(&ARCHIVE);
}

#[test]
fn an_archive_of_a_folder() {
    survives(&Story {
        name: "archive (CCW, a folder)",
        project: || example("ccw"),
        before: &[],
        command: &["close", "--abort"],
        then: &["close", "WFS-user-auth", "--abort"],
        shape: Shape::Stages,
    });
}

#[test]
fn a_restore() {
    survives(&Story {
        name: "restore (CCW, three files)",
        project: || example("ccw"),
        before: &[&["begin", "IMPL-002"], &["finish", "IMPL-002"]],
        command: &["restore", "--yes"],
        then: &["restore", "--to", "000001", "--yes"],
        shape: Shape::Whole,
    });
}

const ROLLBACK: Story = Story {
    name: "rollback (nine-step)",
    project: || example("nine-step"),
    before: &[&["begin", "2:3"]],
    command: &["rollback", "--to", "1", "--yes"],
    then: &["rollback", "--to", "1", "--yes"],
    shape: Shape::Whole,
};

#[test]
fn a_rollback_with_its_backup() {
    survives(&ROLLBACK);
}

const START: Story = Story {
    name: "start (nine-step)",
    project: Sandbox::in_memory,
    before: &[],
    command: &["start", "nine-step", "--feature", "payments"],
    then: &["start", "nine-step", "--feature", "payments", "--archive"],
    shape: Shape::Whole,
};

#[test]
fn a_start() {
    survives(&START);
}

const WORKFLOW: &str = r#"- id: one
  shell: "true"
- id: two
  shell: "true"
"#;

fn workflow() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    sandbox.file("w.yml", WORKFLOW);
    sandbox
}

const RUN: Story = Story {
    name: "run (two steps)",
    project: workflow,
    before: &[],
    command: &["run", "w.yml", "--no-worktree"],
    then: &["resume", "--yes"],
    shape: Shape::Journal,
};

/// No step is started before its record, and every folder above it, is durable.
#[test]
fn a_session_of_the_runner() {
    survives(&RUN);
}

/// One record is added to the journal of a session whose second step failed.
#[test]
fn a_record_in_a_journal() {
    let story = Story {
        name: "skip (a session)",
        project: || {
            let sandbox = Sandbox::in_memory();
            sandbox.file("w.yml", &WORKFLOW.replace("id: two\n  shell: \"true\"", "id: two\n  shell: exit 1"));
            sandbox.piton(["run", "w.yml", "--no-worktree"]).run().expect_code(7);
            sandbox
        },
        before: &[],
        command: &["decide", "two", "skip", "--note", "not now", "--by", "Ann"],
        then: &["resume", "--yes", "--skip", "two"],
        shape: Shape::Journal,
    };
    survives_on(&story, 4);
}

/// A run of a workflow file for agents, begun and not.
fn with_flow() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    sandbox.file("flow.yaml", "steps:\n  - {id: draft, agent: writer}\n  - {id: ship, agent: shipper}\n");
    sandbox
}

const START_FLOW: &[&str] = &["start", "flow.yaml", "--feature", "demo"];

#[test]
fn a_start_of_a_workflow_file() {
    survives(&Story {
        name: "start (a workflow file)",
        project: with_flow,
        before: &[],
        command: START_FLOW,
        then: &["start", "flow.yaml", "--feature", "demo", "--archive"],
        shape: Shape::Whole,
    });
}

#[test]
fn a_finish_in_a_journal() {
    let story = Story {
        name: "finish (a workflow file)",
        project: with_flow,
        before: &[START_FLOW, &["begin", "draft"]],
        command: &["finish", "draft", "--summary", "done"],
        then: &["finish", "draft", "--summary", "done"],
        shape: Shape::Whole,
    };
    survives_on(&story, 4);
}

#[test]
fn a_restore_in_a_journal() {
    let story = Story {
        name: "restore (a workflow file)",
        project: with_flow,
        before: &[START_FLOW, &["begin", "draft"], &["finish", "draft"]],
        command: &["restore", "--yes"],
        then: &["restore", "--yes"],
        shape: Shape::Whole,
    };
    survives_on(&story, 2);
}

#[test]
fn an_archive_of_a_journal() {
    let story = Story {
        name: "archive (a workflow file)",
        project: with_flow,
        before: &[START_FLOW],
        command: &["close", "--abort"],
        then: &["close", "--abort"],
        shape: Shape::Stages,
    };
    survives_on(&story, 2);
}

/// The flushes of a story that must not be missed.
struct Missed<'a> {
    story: &'a Story,
    recording: &'a Recording,
    turn: usize,
}

impl Missed<'_> {
    /// Removes a recorded flush, or moves a call, and requires that the model reports the loss; of every three the first, unless tests run in
    /// full.
    fn check(&mut self, what: &str, change: &dyn Fn(&mut Vec<Call>)) {
        let mut calls = self.recording.calls.clone();
        change(&mut calls);
        assert!(calls != self.recording.calls, "{}: {what} changes nothing", self.story.name);
        self.turn += 1;
        if self.turn % 3 != 1 && !takes_all() {
            return;
        }
        let found = explore(self.story, &Recording { calls, ..self.recording.clone() }, usize::MAX, true);
        assert!(!found.problems.is_empty(), "{}: no check misses {what} on {} disks", self.story.name, found.looked_at);
    }
}

fn drop_sync(calls: &mut Vec<Call>, of: &str) {
    calls.retain(|call| !matches!(call, Call::Sync { path } if path.as_str().contains(of)));
}

/// Moves the first call chosen by one test before the first chosen by another.
fn hurry(calls: &mut Vec<Call>, early: impl Fn(&Call) -> bool, before: impl Fn(&Call) -> bool) {
    let from = calls.iter().position(early).expect("a call to hurry");
    let to = calls.iter().position(before).expect("a call to overtake");
    assert!(to < from, "it is early already");
    let call = calls.remove(from);
    calls.insert(to, call);
}

fn renames_to(call: &Call, name: &str) -> bool {
    matches!(call, Call::Rename { to, .. } if to.ends_with(name))
}

fn syncs(call: &Call, name: &str) -> bool {
    matches!(call, Call::Sync { path } if path.as_str().ends_with(name))
}

#[test]
fn a_missing_flush_of_one_file_is_seen() {
    let Some(recording) = record(&BEGIN) else { return };
    let mut missed = Missed { story: &BEGIN, recording: &recording, turn: 0 };
    missed.check("the flush of the new content", &|calls| drop_sync(calls, ".piton-tmp"));
    missed.check("the flush of its name", &|calls| calls.retain(|call| !syncs(call, "/user-auth")));
}

#[test]
fn a_missing_flush_of_several_files_is_seen() {
    let Some(recording) = record(&FINISH) else { return };
    let mut missed = Missed { story: &FINISH, recording: &recording, turn: 0 };
    missed.check("the flush of the record", &|calls| drop_sync(calls, "journal.jsonl"));
    missed.check("the flush of its name", &|calls| calls.retain(|call| !syncs(call, "/ccw.WFS-user-auth")));
    missed.check("the flush of the folder that it is in", &|calls| calls.retain(|call| !syncs(call, "/.piton")));
    missed.check("the flush of a content", &|calls| drop_sync(calls, ".TODO_LIST.md."));
    missed.check("the flush of the names", &|calls| calls.retain(|call| !syncs(call, "/.task")));
    missed.check("the order of record and files", &|calls| {
        hurry(calls, |call| renames_to(call, "TODO_LIST.md"), |call| syncs(call, "journal.jsonl"));
    });
    missed.check("the order of the names and the record", &|calls| {
        hurry(calls, |call| syncs(call, "journal.jsonl"), |call| syncs(call, "/.task"));
    });
}

#[test]
fn a_missing_flush_of_a_backup_is_seen() {
    let Some(recording) = record(&ROLLBACK) else { return };
    let mut missed = Missed { story: &ROLLBACK, recording: &recording, turn: 0 };
    missed.check("the flush of a copy", &|calls| drop_sync(calls, "BACKUP_INFO.md"));
    missed.check("the flush of the names in it", &|calls| calls.retain(|call| !syncs(call, "user-auth/backup")));
    missed.check("the flush of its name", &|calls| {
        calls.retain(|call| !syncs(call, ".workflow-backups/user-auth") && !syncs(call, "/nine-step.user-auth"));
    });
}

#[test]
fn a_missing_flush_of_a_removal_is_seen() {
    let Some(recording) = record(&ARCHIVE) else { return };
    let mut missed = Missed { story: &ARCHIVE, recording: &recording, turn: 0 };
    let removes = |call: &Call, name: &str| matches!(call, Call::Remove { path } if path.as_str().ends_with(name));
    missed.check("the flush between a file and its marker", &|calls| {
        let file = calls.iter().position(|call| removes(call, "/.workflow-state.json")).expect("a removal");
        assert!(syncs(&calls[file + 1], "/user-auth") && removes(&calls[file + 2], ".piton-tmp"));
        calls.remove(file + 1);
    });
}

#[test]
fn a_missing_flush_of_a_new_folder_is_seen() {
    let Some(recording) = record(&START) else { return };
    let mut missed = Missed { story: &START, recording: &recording, turn: 0 };
    missed.check("the flush of the name of the folder", &|calls| {
        calls.retain(|call| !syncs(call, "/project"));
    });
}

#[test]
fn a_record_that_is_acted_on_too_early_is_seen() {
    let Some(recording) = record(&RUN) else { return };
    let mut missed = Missed { story: &RUN, recording: &recording, turn: 0 };
    missed.check("the flush of the journal", &|calls| drop_sync(calls, "journal.jsonl"));
    missed.check("the flush of the name of the session", &|calls| calls.retain(|call| !syncs(call, "/runs")));
}
