//! The six situations that real sessions were found in.

use serde_json::json;

use super::session::{Session, next, texts, told};

/// Four of eleven task files stayed behind; checklist and summaries say that everything is done.
#[test]
fn outdated_files_are_listed_to_verify_and_nothing_is_run() {
    let session = Session::new();
    let ids: Vec<String> = (1..=11).map(|number| format!("IMPL-{number:03}")).collect();
    for id in &ids {
        let status = if ["IMPL-007", "IMPL-008", "IMPL-011"].contains(&id.as_str()) { "pending" } else { "completed" };
        let agent = json!({"agent": "@code-developer"});
        session.task(id, &json!({"status": status, "context": {"depends_on": []}, "meta": agent}));
    }
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    session.todo(&all.iter().map(|id| (*id, 'x')).collect::<Vec<_>>()).summaries(&all);
    let before = session.sandbox.tree();
    let plan = session.plan("--native").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "confirm");
    assert_eq!(next(&plan), ["verify IMPL-007", "verify IMPL-008", "verify IMPL-011"]);
    assert_eq!(plan.at("/data/progress"), json!({"done": 11, "total": 11}));
    assert_eq!(
        told(&plan, "status-drift"),
        [
            "IMPL-007: IMPL-007 is pending according to its state, but done according to TODO_LIST.md and summary: it counts as done",
            "IMPL-008: IMPL-008 is pending according to its state, but done according to TODO_LIST.md and summary: it counts as done",
            "IMPL-011: IMPL-011 is pending according to its state, but done according to TODO_LIST.md and summary: it counts as done",
        ]
    );
    let findings = plan.at("/findings");
    assert_eq!(findings[0]["file"], ".workflow/active/WFS-x/TODO_LIST.md");
    assert_eq!(findings[0]["line"], 9);
    assert_eq!(plan.at("/data/question/text"), "No step of WFS-x has to run. Record what the evidence shows?");
    assert_eq!(plan.at("/data/native/interruption_point"), json!({"task": "IMPL-007", "type": "needs_verification"}));
    assert_eq!(before.changes(&session.sandbox.tree()), [""; 0], "a plan reads only");
}

/// Only the checklist says done: one witness is not a proof, and not a reason to repeat the task.
#[test]
fn ticks_alone_are_verified_and_nothing_is_run() {
    let session = Session::new();
    session.tasks(&[
        ("IMPL-1", "pending", &[]),
        ("IMPL-2", "pending", &["IMPL-1"]),
        ("IMPL-3", "pending", &["IMPL-2"]),
    ]);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", 'x'), ("IMPL-3", 'x')]);
    let plan = session.plan("").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "confirm");
    assert_eq!(next(&plan), ["verify IMPL-1", "verify IMPL-2", "verify IMPL-3"]);
    assert_eq!(plan.at("/data/progress"), json!({"done": 0, "total": 3}));
    assert_eq!(
        told(&plan, "status-conflict")[0],
        "IMPL-1: IMPL-1 is pending according to its state, but done according to TODO_LIST.md: a person has to check"
    );
    let fix = plan.at("/findings/0/fix");
    assert_eq!(fix, "check its result, then `piton finish IMPL-1 --run WFS-x --status completed` to record it");
    session.call("begin IMPL-1").run().expect_code(9);
}

#[test]
fn a_session_of_which_all_witnesses_agree_is_complete() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "completed", &["IMPL-1"])]);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", 'x')]).summaries(&["IMPL-1", "IMPL-2"]);
    let plan = session.plan("--native").expect_code(0);
    assert_eq!(plan.at("/data/verdict"), "complete");
    assert_eq!(next(&plan), ["archive IMPL-2"]);
    assert_eq!(plan.at("/data/native/interruption_analysis/interruption_type"), "workflow_complete");
    assert_eq!(plan.findings(), [""; 0]);
    session.call("list").run().expect_code(3);
    session.ok("list --all");
}

/// CCW's archive marks everything completed, done or not: an open task in it is still open.
#[test]
fn the_open_task_of_an_archived_session_is_next_and_the_drift_of_the_others_is_listed() {
    let session = Session::at(".workflow/archives/WFS-all");
    for id in ["IMPL-001", "IMPL-002", "IMPL-003", "IMPL-004", "IMPL-005", "IMPL-006"] {
        session.task(id, &json!({"status": "pending"}));
    }
    let done = ["IMPL-002", "IMPL-003", "IMPL-004", "IMPL-005", "IMPL-006"];
    let marks: Vec<(&str, char)> = [("IMPL-001", ' ')].into_iter().chain(done.map(|id| (id, 'x'))).collect();
    session.todo(&marks).summaries(&done);
    let plan = session.plan("").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "confirm");
    assert_eq!(next(&plan), ["run IMPL-001"]);
    assert_eq!(plan.at("/data/progress"), json!({"done": 5, "total": 6}));
    assert_eq!(told(&plan, "status-drift").len(), 5);
    assert_eq!(
        told(&plan, "session-archived"),
        ["the session is archived; CCW marks all tasks completed when it archives a session"]
    );
}

/// A thousands separator is what an agent wrote in a real session file.
#[test]
fn a_broken_session_file_is_reported_by_line_and_column_and_the_tasks_are_planned() {
    let session = Session::new();
    session.file(
        "workflow-session.json",
        "{\n  \"session_id\": \"WFS-x\",\n  \"metrics\": {\n    \"lines_added\": 9,166\n  }\n}\n",
    );
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &["IMPL-1"])]);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", ' ')]).summaries(&["IMPL-1"]);
    let plan = session.plan("");
    assert_eq!(next(&plan), ["run IMPL-2"], "{plan}");
    assert_eq!(plan.at("/data/degraded"), true);
    let findings = plan.at("/findings");
    let broken = findings.as_array().unwrap().iter().find(|finding| finding["code"] == "session-unreadable").unwrap();
    assert_eq!((&broken["line"], &broken["column"]), (&json!(4), &json!(22)), "{broken}");
    assert_eq!(broken["file"], ".workflow/active/WFS-x/workflow-session.json");
    assert_eq!(plan.code, 0, "the tasks say all there is to know\n{plan}");
    let text = session.call("--format text plan").run();
    assert!(text.stdout.contains("workflow-session.json:4:22"), "{text}");
}

#[test]
fn a_session_is_complete_by_its_tasks_not_by_its_own_status() {
    let session = Session::new();
    session
        .file("workflow-session.json", r#"{"session_id": "WFS-x", "status": "planning", "created_at": "2026-01-30"}"#);
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "completed", &[])]);
    session.file("TODO_LIST.md", "**Status**: Planning Complete\n- [x] **IMPL-1**: a\n- [x] **IMPL-2**: b\n");
    session.summaries(&["IMPL-1", "IMPL-2"]);
    let plan = session.plan("--native").expect_code(0);
    assert_eq!(plan.at("/data/verdict"), "complete");
    assert_eq!(told(&plan, "session-status-stale"), ["the session status is planning although tasks have begun"]);
    assert_eq!(texts(&plan, "/data/native/execution_state/completed_tasks"), ["IMPL-1", "IMPL-2"]);
}

/// C19: the plan document is compared with the task files.
#[test]
fn tasks_that_only_the_plan_document_names_are_told() {
    let session = Session::new();
    session
        .tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &[])])
        .todo(&[("IMPL-1", 'x'), ("IMPL-2", ' ')]);
    session.summaries(&["IMPL-1"]).file("IMPL_PLAN.md", "# Plan\n\n1. IMPL-1 models\n2. IMPL-3 screens (REQ-9)\n");
    let plan = session.plan("").expect_code(0);
    let expected =
        ["IMPL_PLAN.md names tasks without a file in .task: IMPL-3", "IMPL_PLAN.md does not name these tasks: IMPL-2"];
    assert_eq!(told(&plan, "plan-mismatch"), expected);
}
