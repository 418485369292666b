//! Locks of a project: a living process blocks, a dead one and an old lock do not.

use std::process::{Child, Command, Stdio};

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
    let (alive, dead) = (other.0.id(), 4_194_305);
    for (pid, created, code, finding) in [
        (alive, "2026-01-31T11:59:00Z", 6, "live-owner"),
        (alive, "2026-01-31T11:55:00Z", 6, "live-owner"),
        (alive, "2026-01-31T11:54:59Z", 0, "owner-gone"),
        (dead, "2026-01-31T11:59:00Z", 0, "owner-gone"),
        (dead, "2026-01-31T11:00:00Z", 0, "owner-gone"),
        // The caller, or its parent process, does not block itself.
        (std::process::id(), "2026-01-31T11:59:00Z", 0, ""),
    ] {
        let sandbox = sandbox();
        sandbox.file(LOCK, &lock(pid, created));
        let before = sandbox.tree();
        let plan = sandbox.piton(["plan"]).run().expect_code(code);
        let expected: Vec<&str> = [finding].into_iter().filter(|finding| !finding.is_empty()).collect();
        assert_eq!(plan.findings(), expected, "{pid} {created}: {plan}");
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
fn an_implied_run_waits_for_a_living_orchestrator_too() {
    let other = Other::new();
    let sandbox = Sandbox::new();
    sandbox.file("docs/stories/1.1.story.md", "# Story 1.1: x\n\n**Status:** InProgress\n\n## Tasks\n- [ ] a\n");
    sandbox.file(LOCK, &lock(other.0.id(), "2026-01-31T11:59:00Z"));
    let plan = sandbox.piton(["plan"]).run().expect_code(6);
    assert_eq!(plan.at("/data/run/id"), "sdc-1.1", "{plan}");
}

#[test]
fn the_lock_of_another_project_below_the_root_does_not_block() {
    let other = Other::new();
    let sandbox = sandbox();
    sandbox.file(&format!("packages/a/{LOCK}"), &lock(other.0.id(), "2026-01-31T11:59:00Z"));
    sandbox.piton(["plan"]).run().expect_code(0);
}

#[test]
fn an_empty_or_broken_lock_is_reported() {
    for text in ["", "{\"pid\": null}", "pid: [\n"] {
        let sandbox = sandbox();
        sandbox.file(LOCK, text);
        let plan = sandbox.piton(["plan"]).run().expect_code(0);
        assert_eq!(plan.findings(), ["owner-gone"], "{text}: {plan}");
    }
}
