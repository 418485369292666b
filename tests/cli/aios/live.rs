//! What needs a living process or a terminal: locks of a project, and what a person is asked.

use std::process::{Child, Command, Stdio};

use super::epic;
use crate::support::Sandbox;

const STATE: &str = ".aiox/workflow-state/1.1-state.yaml";
const LOCK: &str = ".aiox/locks/bob-orchestration.lock";

/// A process unrelated to the caller; it ends with the test.
struct Other(Child);

impl Other {
    fn new() -> Self {
        let cat = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        Self(cat.expect("a process that waits for its input"))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        drop(self.0.wait());
    }
}

fn lock(pid: u32, created: &str) -> String {
    format!(
        "pid: {pid}\nowner: bob-orchestrator\ncreated_at: '{created}'\nttl_seconds: 300\nresource: bob-orchestration\n"
    )
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(
        STATE,
        "workflowId: development-cycle\ncurrentPhase: 1_validation\ncurrentStory: docs/stories/1.1.story.md\n\
         lastUpdated: 2026-01-31T11:30:00Z\nphaseResults: { 1_validation: { status: completed } }\n",
    );
    sandbox.file("docs/stories/1.1.story.md", "# Story 1.1: x\n\n**Status:** Ready\n");
    sandbox
}

#[test]
fn a_lock_blocks_while_its_time_and_its_process_last() {
    let other = Other::new();
    for (pid, created, code, findings) in [
        (other.0.id(), "2026-01-31T11:59:00Z", 6, &["live-owner"][..]),
        (other.0.id(), "2026-01-31T11:55:00Z", 6, &["live-owner"]),
        (other.0.id(), "2026-01-31T11:54:59Z", 0, &["owner-gone"]),
        // The caller, or its parent process, does not block itself.
        (std::process::id(), "2026-01-31T11:59:00Z", 0, &[]),
    ] {
        let sandbox = sandbox();
        sandbox.file(LOCK, &lock(pid, created));
        let before = sandbox.tree();
        let plan = sandbox.piton(["plan", "--exit-code"]).run().expect_code(code);
        assert_eq!(plan.findings(), findings, "{pid} {created}: {plan}");
        if code == 6 {
            assert_eq!(plan.at("/data/verdict"), "blocked", "{plan}");
            assert_eq!(plan.at("/data/commands/begin"), serde_json::Value::Null, "{plan}");
            let message = plan.at("/findings/0/message").as_str().unwrap().to_owned();
            assert!(message.contains("bob-orchestrator") && message.contains(LOCK), "{message}");
        }
        assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
        if code == 6 {
            sandbox.piton(["begin", "2_development"]).run().expect_code(6);
        }
    }
}

#[test]
fn a_living_owner_blocks_plan_and_resume_in_every_mode() {
    let other = Other::new();
    for mode in ["autopilot", "interactive", "preflight"] {
        let sandbox = sandbox();
        sandbox.file(LOCK, &lock(other.0.id(), "2026-01-31T11:59:00Z"));
        let before = sandbox.tree();
        let plan = sandbox.piton(["plan", "--mode", mode, "--exit-code"]).run().expect_code(6);
        assert_eq!(plan.at("/data/questions"), serde_json::Value::Null, "{mode}: {plan}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "a plan only reads");
        let state = sandbox.read(STATE);
        sandbox.piton(["resume", "--mode", mode]).stdin("").run().expect_code(6);
        assert_eq!(sandbox.read(STATE), state, "{mode}");
    }
}

#[test]
fn an_implied_run_waits_for_a_living_orchestrator_too() {
    let other = Other::new();
    let sandbox = Sandbox::new();
    sandbox.file("docs/stories/1.1.story.md", "# Story 1.1: x\n\n**Status:** InProgress\n\n## Tasks\n- [ ] a\n");
    sandbox.file(LOCK, &lock(other.0.id(), "2026-01-31T11:59:00Z"));
    let plan = sandbox.piton(["plan", "--exit-code"]).run().expect_code(6);
    assert_eq!(plan.at("/data/run/id"), "sdc-1.1", "{plan}");
}

#[test]
fn the_lock_of_another_project_below_the_root_does_not_block() {
    let other = Other::new();
    let sandbox = sandbox();
    sandbox.file(&format!("packages/a/{LOCK}"), &lock(other.0.id(), "2026-01-31T11:59:00Z"));
    sandbox.piton(["plan"]).run().expect_code(0);
}

/// A-D31, at a terminal.
#[test]
fn a_person_who_restarts_reads_how() {
    let sandbox = epic();
    let Some(output) = sandbox.piton(["--format", "text", "resume"]).on_terminal("2\n") else { return };
    let output = output.expect_code(0);
    assert!(output.stderr.contains("(1-3, Enter: 1)"), "{output}");
    assert!(output.stdout.contains("To begin again, start it anew with `orchestrate`."), "{output}");
    assert!(output.stdout.contains("+**Status:** Ready"), "{output}");
}

/// A-D15: the options of a state that cannot be resumed are asked under the numbers that the message gives them.
#[test]
fn the_options_of_a_conflict_have_one_numbering() {
    let sandbox = epic();
    sandbox.file("docs/stories/5.2.story.md", "# Story 5.2: T\n\n**Status:** Done\n\n## Tasks\n\n- [ ] one\n");
    for typed in ["2\n", "4\n", "\n", "n\n"] {
        let before = sandbox.tree();
        let Some(output) = sandbox.piton(["--format", "text", "resume"]).on_terminal(typed) else { return };
        let output = output.expect_code(9);
        assert!(output.stderr.contains("1. start from scratch") && output.stderr.contains("3. clean up"), "{output}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{typed:?}");
    }
    let output = sandbox.piton(["--format", "text", "resume"]).on_terminal("3\n").expect("there was one");
    assert!(output.expect_code(0).stdout.contains("epic-5: the run is aborted; archived in"));
}
