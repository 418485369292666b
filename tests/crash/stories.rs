//! The commands under test, one for every way of writing.

use serde_json::json;

use super::{Command, Shape, Story};
use crate::{
    cli::projects,
    support::{self, Sandbox, Tree},
};

/// Makes a test of each story that calls this function.
macro_rules! each {
    ($check:ident) => {
        crate::crash::stories::each!($check:
            begin, begin_in_a_session, begin_in_git, finish, finish_ccw, skip, approve, pause, resume, archive, archive_ccw, restore, restore_nine_step,
            restore_aios, restore_dotagent, restore_own, repair, rollback, archive_dotagent, archive_own,
            start, start_own, own_workflow, dotagent, aios, run, hook_start, hook_failure,
        );
    };
    ($check:ident: $($story:ident,)*) => {
        $(
            #[test]
            fn $story() {
                $check(super::stories::$story());
            }
        )*
    };
}
pub(super) use each;

/// Puts an example into memory.
fn example(name: &str) -> Sandbox {
    let sandbox = Sandbox::in_memory();
    Tree::of(&support::repository().join("examples").join(name)).write_to(&sandbox.root());
    sandbox
}

fn nine_step() -> Sandbox {
    example("nine-step")
}

fn in_git() -> Sandbox {
    let sandbox = nine_step();
    sandbox.git_init();
    sandbox
}

fn ccw() -> Sandbox {
    example("ccw")
}

/// Hides the state from git on the way.
pub(super) fn begin_in_git() -> Story {
    Story { then: again(), ..Story::of("begin in a repository, nine-step", in_git, Command::new(&["begin", "2:3"])) }
}

pub(super) fn begin() -> Story {
    Story { then: again(), ..Story::of("begin, nine-step", nine_step, Command::new(&["begin", "2:3"])) }
}

/// Takes the lease, and records in the session's log that it drives the run.
pub(super) fn begin_in_a_session() -> Story {
    let begin = Command::of_session(&["begin", "2:3"], None);
    let again = vec![Command::of_session(&["begin", "2:3", "--again"], None)];
    Story { then: again, ..Story::of("begin in a session, nine-step", nine_step, begin) }
}

/// Counts a new attempt, whether or not who began the last one is known to be the caller: the tracer of a call is another process.
fn again() -> Vec<Command> {
    vec![Command::new(&["begin", "2:3", "--again"])]
}

pub(super) fn finish() -> Story {
    Story {
        before: vec![Command::new(&["begin", "2:3"])],
        ..Story::of("finish, nine-step", nine_step, Command::new(&["finish", "2:3", "--summary", "done"]))
    }
}

pub(super) fn finish_ccw() -> Story {
    Story {
        before: vec![Command::new(&["begin", "IMPL-002"])],
        ..Story::of("finish, ccw, three files", ccw, Command::new(&["finish", "IMPL-002", "--summary", "tokens"]))
    }
}

pub(super) fn skip() -> Story {
    Story::of("skip, ccw", ccw, Command::new(&["decide", "IMPL-002", "skip", "--note", "later", "--by", "Ann"]))
}

pub(super) fn approve() -> Story {
    Story::of("approve, custom workflow", waiting, Command::new(&["decide", "look", "approve", "--by", "Ann"]))
}

const FLOW: &str = "name: flow\nsteps:\n  - {id: draft, agent: writer}\n  - {id: look, gate: Ann, depends_on: draft}\n  - {id: ship, agent: shipper, depends_on: look}\n";

fn with_flow() -> Sandbox {
    let sandbox = Sandbox::in_memory();
    sandbox.file("flow.yaml", FLOW);
    sandbox
}

fn started() -> Sandbox {
    let sandbox = with_flow();
    sandbox.piton(["start", "flow.yaml", "--feature", "demo"]).run().expect_code(0);
    sandbox
}

/// Makes a run that waits for a person.
fn waiting() -> Sandbox {
    let sandbox = with_flow();
    for words in [&["start", "flow.yaml", "--feature", "demo"][..], &["begin", "draft"], &["finish", "draft"]] {
        sandbox.piton(words.iter().copied()).run().expect_code(0);
    }
    sandbox
}

pub(super) fn pause() -> Story {
    Story {
        before: vec![Command::new(&["begin", "2:3"])],
        then: again(),
        ..Story::of("pause, nine-step", nine_step, Command::new(&["pause"]))
    }
}

pub(super) fn resume() -> Story {
    Story {
        then: vec![Command::new(&["begin", "IMPL-002"])],
        ..Story::of("resume, ccw", ccw, Command::new(&["resume", "--yes"]))
    }
}

pub(super) fn archive() -> Story {
    Story {
        then: vec![Command::new(&["start", "nine-step", "--feature", "user-auth", "--archive"])],
        ..Story::of("archive, nine-step", nine_step, Command::new(&["close", "--abort"]))
    }
}

/// The session, the list of archived sessions and the location of the folder change in order.
pub(super) fn archive_ccw() -> Story {
    Story {
        shape: Shape::InTurn,
        ..Story::of("archive, ccw, with its list", ccw, Command::new(&["close", "WFS-user-auth", "--abort"]))
    }
}

pub(super) fn restore() -> Story {
    Story {
        before: vec![Command::new(&["begin", "IMPL-002"]), Command::new(&["finish", "IMPL-002"])],
        then: vec![Command::new(&["restore", "--to", "000001", "--yes"])],
        ..Story::of("restore, ccw", ccw, Command::new(&["restore", "--yes"]))
    }
}

/// S-1: what was restored, and what was not, is told apart afterwards.
pub(super) fn restore_nine_step() -> Story {
    restored("restore, nine-step", nine_step, &[&["begin", "2:3"], &["finish", "2:3"]])
}

pub(super) fn restore_aios() -> Story {
    restored("restore, aios", || example("aios"), &[&["begin", "7.2"], &["finish", "7.2"]])
}

pub(super) fn restore_dotagent() -> Story {
    restored("restore, dotagent", || example("dotagent"), &[&["begin", "task-001:verify"]])
}

pub(super) fn restore_own() -> Story {
    restored("restore, custom workflow", started, &[&["begin", "draft"], &["finish", "draft"]])
}

fn restored(name: &'static str, project: fn() -> Sandbox, before: &[&'static [&'static str]]) -> Story {
    Story {
        before: before.iter().map(|words| Command::new(words)).collect(),
        then: vec![Command::new(&["restore", "--to", "000001", "--yes"])],
        ..Story::of(name, project, Command::new(&["restore", "--yes"]))
    }
}

/// S-9: the folder of the archive goes with a refusal, and after a kill with the next command that writes.
pub(super) fn archive_dotagent() -> Story {
    Story::of("archive, dotagent", || example("dotagent"), Command::new(&["close", "--abort"]))
}

pub(super) fn archive_own() -> Story {
    Story::of("archive, custom workflow", started, Command::new(&["close", "--abort"]))
}

pub(super) fn repair() -> Story {
    Story::of("restore of a broken state, nine-step", truncated, Command::new(&["restore", "--yes"]))
}

/// The backup comes first; the same command works afterwards.
pub(super) fn rollback() -> Story {
    let cut = Command::new(&["rollback", "--to", "1", "--yes"]);
    Story { before: vec![Command::new(&["begin", "2:3"])], ..Story::of("rollback, nine-step", nine_step, cut) }
}

/// Asks git what is lost, and hides the backup from git.
pub(super) fn rollback_in_git() -> Story {
    Story { name: "rollback in a repository, nine-step", project: with_work, ..rollback() }
}

/// Makes a run on its own branch, with a commit of phase 2.
fn with_work() -> Sandbox {
    let sandbox = in_git();
    sandbox.git(["switch", "--quiet", "--create", "feature/user-auth"]);
    sandbox.file("session.rs", "// sessions\n").commit("phase 2");
    sandbox
}

/// Makes a run whose state another tool truncated.
fn truncated() -> Sandbox {
    let sandbox = nine_step();
    sandbox.piton(["begin", "2:3"]).run().expect_code(0);
    let text = sandbox.read(projects::NINE_STEP);
    sandbox.file(projects::NINE_STEP, &text[..text.len() / 2]);
    sandbox
}

pub(super) fn start() -> Story {
    Story::of("start, nine-step", Sandbox::in_memory, Command::new(&["start", "nine-step", "--feature", "user-auth"]))
}

pub(super) fn start_own() -> Story {
    Story::of("start, custom workflow", with_flow, Command::new(&["start", "flow.yaml", "--feature", "demo"]))
}

pub(super) fn own_workflow() -> Story {
    Story {
        before: vec![Command::new(&["begin", "draft"])],
        ..Story::of("finish, custom workflow", started, Command::new(&["finish", "draft", "--summary", "done"]))
    }
}

/// The last task is verified and the phase ends: both files change (docs/formats/dotagent.md#two-files-one-checkpoint).
pub(super) fn dotagent() -> Story {
    Story::of(
        "finish, dotagent, two files",
        || {
            let sandbox = example("dotagent");
            let tasks = json!([{
                "id": "task-001", "title": "Hash passwords", "status": "running", "attempts": 0,
                "started_at": "2026-01-31T10:15:00Z", "output": "memory/tasks/task-001/output.json",
            }]);
            let execution = json!({ "workflow_id": "user-auth", "tasks": tasks });
            sandbox.file("memory/state/execution.json", &execution.to_string());
            sandbox
        },
        Command::new(&["finish", "task-001:verify", "--verdict", "APPROVED"]),
    )
}

pub(super) fn aios() -> Story {
    Story {
        before: vec![Command::new(&["begin", "7.2"])],
        ..Story::of("finish, aios, with its copy", || example("aios"), Command::new(&["finish", "7.2"]))
    }
}

/// Two steps of the runner, with one output file each; the next call resumes the session, or makes one.
pub(super) fn run() -> Story {
    Story {
        then: vec![Command::new(&["resume", "--yes"]), Command::new(&["run", "w.yml", "--no-worktree"])],
        shape: Shape::InTurn,
        ..Story::of(
            "run, two steps",
            || {
                let sandbox = Sandbox::in_memory();
                sandbox.file(
                "w.yml",
                "name: two\ncommands:\n  - {id: a, write_file: {path: a.txt, content: one}}\n  - {id: b, shell: 'echo two > b.txt'}\n",
            );
                sandbox
            },
            Command::new(&["run", "w.yml", "--no-worktree"]),
        )
    }
}

const STARTUP: &str = r#"{"session_id":"s1","cwd":"ROOT","source":"startup"}"#;

pub(super) fn hook_start() -> Story {
    Story {
        then: vec![Command::of_session(&["begin", "2:3"], None)],
        shape: Shape::Notes,
        ..Story::of("hook session-start", nine_step, Command::of_session(&["hook", "session-start"], Some(STARTUP)))
    }
}

/// Releases the lease and records why.
pub(super) fn hook_failure() -> Story {
    Story {
        before: vec![
            Command::of_session(&["hook", "session-start"], Some(STARTUP)),
            Command::of_session(&["begin", "2:3"], None),
        ],
        then: vec![Command::of_session(&["begin", "2:3"], None)],
        shape: Shape::Notes,
        ..Story::of(
            "hook stop-failure",
            nine_step,
            Command::of_session(
                &["hook", "stop-failure"],
                Some(r#"{"session_id":"s1","cwd":"ROOT","error":"rate_limit"}"#),
            ),
        )
    }
}
