//! Reviews and fixes of one story: what the history says comes next.

use serde_json::Value;

use crate::support::Sandbox;

const STATE: &str = "qa/2.1/loop-status.json";

fn state(status: &str, current: u32, max: u32, entry: &str) -> String {
    format!(
        "{{\"storyId\": \"2.1\", \"currentIteration\": {current}, \"maxIterations\": {max}, \"status\": \"{status}\",\n \
         \"startedAt\": \"2026-01-31T11:00:00Z\", \"updatedAt\": \"2026-01-31T11:30:00Z\", \"history\": [{entry}]}}\n"
    )
}

fn entry(reviewed: bool, verdict: &str, fixed: bool) -> String {
    let stamp = |is_there: bool| if is_there { "\"2026-01-31T11:10:00Z\"" } else { "null" };
    let verdict = if reviewed { format!("\"{verdict}\"") } else { "null".to_owned() };
    format!(
        "{{\"iteration\": 1, \"reviewedAt\": {}, \"verdict\": {verdict}, \"fixedAt\": {}}}",
        stamp(reviewed),
        stamp(fixed)
    )
}

#[test]
fn a_loop_continues_with_the_missing_review_or_fix() {
    for (status, entry, expected) in [
        ("pending", String::new(), ("review-1", "run", "qa")),
        ("in_progress", entry(false, "", false), ("review-1", "retry", "qa")),
        ("in_progress", entry(true, "REJECT", false), ("fix-1", "run", "dev")),
        ("in_progress", entry(true, "REJECT", true), ("review-2", "run", "qa")),
        ("stopped", entry(true, "REJECT", false), ("fix-1", "run", "dev")),
        ("in_progress", entry(true, "APPROVE", false), ("review-1", "verify", "qa")),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(STATE, &state(status, 1, 5, &entry));
        let before = sandbox.tree();
        let (step, action, agent) = expected;
        // An approval missing in the loop is checked and recorded by a person.
        let code = if action == "verify" { 9 } else { 0 };
        let plan = sandbox.piton(["plan"]).run().expect_code(code);
        assert_eq!(plan.at("/data/run/id"), "qa-2.1");
        assert_eq!(plan.at("/data/next/0/step"), step, "{status} {entry}");
        assert_eq!(plan.at("/data/next/0/action"), action, "{status} {entry}");
        assert_eq!(plan.at("/data/next/0/agent"), agent, "{status} {entry}");
        assert_eq!(plan.at("/data/next/1"), Value::Null, "{status} {entry}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
    }
}

#[test]
fn an_approval_that_the_story_has_heard_of_is_only_recorded() {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &state("in_progress", 1, 5, &entry(true, "APPROVE", false)));
    sandbox.file("docs/stories/2.1.story.md", "# Story 2.1: Login\n\n**Status:** Done\n");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!((plan.at("/data/verdict"), plan.at("/data/next/0/action")), ("confirm".into(), "verify".into()));
    sandbox.piton(["finish", "review-1", "--run", "qa-2.1", "--verdict", "APPROVED"]).run().expect_code(0);
    assert_eq!(sandbox.piton(["plan", "qa-2.1"]).run().expect_code(0).at("/data/verdict"), "complete");
}

#[test]
fn a_person_decides_where_reviews_are_used_up_blocked_or_escalated() {
    for (status, max, entry, step) in [
        ("in_progress", 1, entry(true, "REJECT", true), "escalation"),
        ("escalated", 5, entry(true, "REJECT", true), "escalation"),
        ("in_progress", 5, entry(true, "BLOCKED", false), "review-1"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(STATE, &state(status, 1, max, &entry));
        let plan = sandbox.piton(["plan"]).run().expect_code(9);
        assert_eq!(plan.at("/data/verdict"), "blocked", "{status} {entry}");
        assert_eq!(plan.at("/data/interruption/step"), step, "{status} {entry}");
    }
}

#[test]
fn a_silent_loop_is_reported_and_continues() {
    let sandbox = Sandbox::new();
    let text = state("in_progress", 1, 5, &entry(true, "REJECT", false));
    sandbox.file(STATE, &text.replace("11:30", "10:30"));
    sandbox.file("docs/stories/2.1.story.md", "# Story 2.1: One\n\n**Status:** InProgress\n");
    let plan = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!(plan.findings(), ["owner-gone"]);
    assert_eq!(plan.at("/data/next/0/step"), "fix-1");
}

#[test]
fn a_loop_of_nexos_is_found_in_every_location() {
    let entry = "  - { iteration: 1, date: 2026-01-31T11:10:00Z, verdict: REJECT, findings_count: { high: 1 } }\n";
    let text = format!("story_id: 2.10\ncurrent_iteration: 1\nmax_iterations: 5\nhistory:\n{entry}");
    for path in [
        "qa/loop-status.yaml",
        "qa/2.10/loop-status.yml",
        "docs/qa/2.10/loop-status.yaml",
        "packages/a/qa/loop-status.yaml",
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(path, &text);
        let plan = sandbox.piton(["plan", "--steps"]).run();
        assert_eq!(plan.at("/data/run/id"), "qa-2.10", "{path}: {plan}");
        assert_eq!(plan.at("/data/next/0/step"), "fix-1", "{path}: {plan}");
        assert_eq!(plan.at("/data/run/state_files/0"), path, "{plan}");
    }
}

#[test]
fn no_iteration_is_used_up_by_going_on() {
    // The loop counts an iteration before its review runs; what the history has counts (docs/formats/aios.md#qa-loop).
    for (current, history, expected) in [
        (0, String::new(), "review-1"),
        (1, String::new(), "review-1"),
        (3, entry(true, "REJECT", true), "review-3"),
        (1, entry(true, "REJECT", true), "review-2"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(STATE, &state("stopped", current, 5, &history));
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.at("/data/next/0/step"), expected, "{current} {history}: {plan}");
        assert_eq!(plan.at("/data/next/1"), Value::Null, "{current} {history}: {plan}");
    }
}
