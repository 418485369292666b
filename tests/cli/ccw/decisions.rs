//! The decision table (docs/formats/ccw.md#decision-table), and its consequences: kinds, strategies, the analysis of the
//! resume command.

use serde_json::{Value, json};

use super::session::{Session, next, told};

/// One row: status, has a summary, mark in the checklist (`-` none) → the next step and its kind when the
/// dependency is done, and when it is not and never will be.
type Row = (&'static str, bool, char, (&'static str, &'static str), (&'static str, &'static str));

const COMPLETE: (&str, &str) = ("archive", "workflow_complete");
const BLOCK: (&str, &str) = ("", "dependency_block");
const READY: (&str, &str) = ("run", "ready_to_execute");
const LOOK: (&str, &str) = ("verify", "needs_verification");
const CUT_OFF: (&str, &str) = ("retry", "agent_interruption");
const FAILURE: (&str, &str) = ("retry", "task_failure");

#[rustfmt::skip]
const TABLE: &[Row] = &[
    ("pending",     false, '-', READY,    BLOCK),
    ("pending",     false, ' ', READY,    BLOCK),
    ("pending",     false, 'x', LOOK,     LOOK),
    ("pending",     true,  '-', LOOK,     LOOK),
    ("pending",     true,  ' ', LOOK,     LOOK),
    ("pending",     true,  'x', LOOK,     LOOK),
    ("",            false, '-', READY,    BLOCK),
    ("",            false, ' ', READY,    BLOCK),
    ("",            false, 'x', LOOK,     LOOK),
    ("",            true,  ' ', LOOK,     LOOK),
    ("",            true,  'x', LOOK,     LOOK),
    ("in_progress", false, '-', CUT_OFF,  CUT_OFF),
    ("in_progress", false, ' ', CUT_OFF,  CUT_OFF),
    ("in_progress", false, 'x', LOOK,     LOOK),
    ("in_progress", true,  ' ', LOOK,     LOOK),
    ("in_progress", true,  'x', LOOK,     LOOK),
    ("active",      false, ' ', CUT_OFF,  CUT_OFF),
    ("active",      true,  '-', LOOK,     LOOK),
    ("completed",   false, '-', COMPLETE, COMPLETE),
    ("completed",   false, ' ', COMPLETE, COMPLETE),
    ("completed",   false, 'x', COMPLETE, COMPLETE),
    ("completed",   true,  ' ', COMPLETE, COMPLETE),
    ("completed",   true,  'x', COMPLETE, COMPLETE),
    ("failed",      false, ' ', FAILURE,  FAILURE),
    ("failed",      true,  ' ', FAILURE,  FAILURE),
    ("failed",      false, 'x', FAILURE,  FAILURE),
    ("blocked",     false, ' ', READY,    BLOCK),
    ("blocked",     false, 'x', LOOK,     LOOK),
    ("blocked",     true,  ' ', LOOK,     LOOK),
    ("blocked",     true,  'x', LOOK,     LOOK),
    ("skipped",     false, ' ', COMPLETE, COMPLETE),
    ("skipped",     true,  'x', COMPLETE, COMPLETE),
    ("cancelled",   false, ' ', COMPLETE, COMPLETE),
    ("cancelled",   true,  'x', COMPLETE, COMPLETE),
    ("container",   false, ' ', BLOCK,    BLOCK),
    ("half-baked",  false, ' ', BLOCK,    BLOCK),
    ("half-baked",  true,  'x', BLOCK,    BLOCK),
];

#[test]
fn every_row_of_the_decision_table() {
    for (status, has_summary, mark, met, unmet) in TABLE {
        for (dependency, (action, kind)) in [("completed", met), ("cancelled", unmet)] {
            let session = Session::new();
            session.task("IMPL-1", &json!({"status": dependency}));
            let status_field = if status.is_empty() { Value::Null } else { json!(status) };
            session.task("IMPL-2", &json!({"status": status_field, "depends_on": ["IMPL-1"]}));
            session.summaries(&["IMPL-1"]);
            let first = ("IMPL-1", 'x');
            if *mark == '-' {
                session.todo(&[first])
            } else {
                session.todo(&[first, ("IMPL-2", *mark)])
            };
            if *has_summary {
                session.summaries(&["IMPL-2"]);
            }
            let plan = session.plan("--native");
            let row = format!("{status}, summary {has_summary}, [{mark}], dependency {dependency}\n{plan}");
            let expected: &[String] = if action.is_empty() { &[] } else { &[format!("{action} IMPL-2")] };
            assert_eq!(next(&plan), expected, "{row}");
            assert_eq!(plan.at("/data/native/interruption_point/type"), *kind, "{row}");
            let (verdict, code) = match *action {
                "archive" => ("complete", 0),
                "" => ("blocked", 9),
                "verify" => ("confirm", 9),
                // What blocked it is done, or was never said.
                "run" if *status == "blocked" => ("confirm", 9),
                _ => ("resume", 0),
            };
            assert_eq!((plan.at("/data/verdict"), plan.code), (json!(verdict), code), "{row}");
        }
    }
}

#[test]
fn every_kind_has_its_strategy_and_alternatives() {
    for (task, kind, strategy, alternatives) in [
        (
            json!({"status": "in_progress"}),
            "agent_interruption",
            json!("retry_with_enhanced_context"),
            json!(["skip_and_continue", "manual_review"]),
        ),
        (
            json!({"status": "failed", "execution": {"attempts": 1, "error": "no route to host"}}),
            "task_failure",
            json!("analyze_and_retry"),
            json!(["skip_task", "force_continue"]),
        ),
        (json!({"status": "pending"}), "", Value::Null, Value::Null),
    ] {
        let session = Session::new();
        session.task("IMPL-1", &task).todo(&[("IMPL-1", ' ')]);
        let plan = session.plan("--native").expect_code(0);
        assert_eq!(plan.at("/data/interruption/kind").as_str().unwrap_or_default(), kind);
        assert_eq!(plan.at("/data/next/0/strategy"), strategy, "{plan}");
        assert_eq!(plan.at("/data/next/0/alternatives"), alternatives);
        assert_eq!(plan.at("/data/native/interruption_analysis/recovery_strategy"), strategy);
    }
}

#[test]
fn a_dependency_block_is_resolved_and_names_its_chain() {
    let session = Session::new();
    session.tasks(&[
        ("IMPL-1", "cancelled", &[]),
        ("IMPL-2", "pending", &["IMPL-1"]),
        ("IMPL-3", "pending", &["IMPL-2"]),
    ]);
    session.todo(&[("IMPL-1", ' '), ("IMPL-2", ' '), ("IMPL-3", ' ')]);
    let plan = session.plan("--native").expect_code(9);
    assert_eq!(plan.at("/data/interruption/kind"), "dependency_block");
    assert_eq!(
        told(&plan, "dependency-block"),
        ["IMPL-1: nothing can start: 2 open, IMPL-2 waits for IMPL-1; IMPL-1 was cancelled"]
    );
    let analysis = plan.at("/data/native/interruption_analysis");
    assert_eq!(analysis["interruption_type"], "dependency_block");
    assert_eq!(analysis["pending_dependencies"], json!(["IMPL-1", "IMPL-2"]), "{plan}");
    assert_eq!(analysis["recovery_strategy"], "resolve_dependencies");
}

#[test]
fn lost_context_is_rebuilt() {
    let session = Session::new();
    session.file("workflow-session.json", "");
    session.task("IMPL-1", &json!({"status": "pending"})).todo(&[("IMPL-1", ' ')]);
    let plan = session.plan("").expect_code(0);
    assert_eq!(plan.at("/data/next/0/strategy"), "rebuild_full_context");
    assert_eq!(plan.at("/data/next/0/alternatives"), json!(["partial_recovery", "restart_from_checkpoint"]));
}

/// The documented example, value for value.
#[test]
fn the_analysis_is_that_of_the_resume_command() {
    let session = Session::at(".workflow/WFS-user-auth");
    session.task("impl-1.1", &json!({"title": "Design auth schema", "status": "completed"}));
    let execution =
        json!({"attempts": 1, "last_attempt": "2026-01-31T10:30:00Z", "interruption_reason": "agent_timeout"});
    session.task(
        "impl-1.2",
        &json!({
            "title": "Implement JWT authentication", "status": "in_progress",
            "context": {"depends_on": ["impl-1.1"]}, "execution": execution,
        }),
    );
    session.task("impl-1.3", &json!({"status": "pending", "context": {"depends_on": ["impl-1.2"]}}));
    session.task("impl-2.1", &json!({"status": "pending", "context": {"depends_on": ["impl-1.3"]}}));
    session.summaries(&["impl-1.1"]);
    session.todo(&[("impl-1.1", 'x'), ("impl-1.2", ' '), ("impl-1.3", ' '), ("impl-2.1", ' ')]);
    let plan = session.plan("--native").expect_code(0);
    assert_eq!(
        plan.at("/data/native"),
        json!({
            "interruption_analysis": {
                "session_id": "WFS-user-auth",
                "last_active_task": "impl-1.2",
                "interruption_type": "agent_timeout",
                "interruption_time": "2026-01-31T10:30:00Z",
                "affected_tasks": ["impl-1.2", "impl-1.3", "impl-2.1"],
                "pending_dependencies": [],
                "recovery_strategy": "retry_with_enhanced_context",
            },
            "execution_state": {
                "completed_tasks": ["impl-1.1"],
                "failed_tasks": [],
                "in_progress_tasks": ["impl-1.2"],
                "pending_tasks": ["impl-1.3", "impl-2.1"],
                "skipped_tasks": [],
                "blocked_tasks": [],
            },
            "interruption_point": {"task": "impl-1.2", "type": "agent_interruption"},
        })
    );
    assert_eq!(plan.at("/data/next/0/attempt"), 2);
    assert_eq!(plan.at("/data/interruption/reason"), "agent_timeout");
}

#[test]
fn the_third_failure_is_for_a_person() {
    let failed = |attempts: u32| json!({"status": "failed", "execution": {"attempts": attempts}});
    let session = Session::new();
    session.task("IMPL-1", &failed(2)).todo(&[("IMPL-1", ' ')]);
    assert_eq!(session.plan("").expect_code(0).at("/data/verdict"), "resume");
    session.task("IMPL-1", &failed(3));
    let plan = session.plan("").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert!(told(&plan, "attempt-limit")[0].ends_with("IMPL-1 (Title of IMPL-1) failed 3 times"), "{plan}");
    session.call("begin IMPL-1").run().expect_code(9);
    assert_eq!(next(&session.plan("--force").expect_code(9)), ["retry IMPL-1"]);
    assert_eq!(session.plan("--force").at("/data/verdict"), "confirm");
}

/// What is checked before a resume (docs/formats/ccw.md#checks-before-a-resume).
#[test]
fn what_is_missing_or_does_not_match_is_told() {
    let session = Session::new();
    session.sandbox.remove(&session.path("IMPL_PLAN.md"));
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &["IMPL-1"])]);
    session.todo(&[("IMPL-1", ' '), ("IMPL-9", ' ')]);
    let plan = session.plan("");
    assert_eq!(told(&plan, "file-missing"), ["the session has neither IMPL_PLAN.md nor plan.json"]);
    assert_eq!(
        told(&plan, "todo-mismatch"),
        ["IMPL-9 is in the checklist but has no file in .task", "the checklist does not mention IMPL-2"]
    );
    assert_eq!(
        told(&plan, "status-optimistic"),
        ["IMPL-1: IMPL-1 is done according to its state, but not according to TODO_LIST.md"]
    );
    assert_eq!(told(&plan, "summary-missing"), ["IMPL-1: IMPL-1 left no summary for IMPL-2 to read"], "{plan}");
    assert_eq!(told(&plan, "step-held"), ["IMPL-9: IMPL-9 (Title of IMPL-9) is blocked: .task/IMPL-9.json is missing"]);
    assert_eq!(next(&plan), ["run IMPL-2"]);
}

/// C44: where nothing can start, the fewest tasks that free the others are named.
#[test]
fn a_dependency_block_names_the_fewest_tasks_that_free_the_rest() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "blocked", "blocked_reason": "waiting for the vendor"}));
    session.task("IMPL-2", &json!({"depends_on": ["IMPL-1", "IMPL-9"]}));
    session.tasks(&[("IMPL-3", "pending", &["IMPL-2"]), ("IMPL-4", "pending", &["IMPL-5"])]);
    session.tasks(&[("IMPL-5", "pending", &["IMPL-4"]), ("IMPL-6", "pending", &["IMPL-1", "IMPL-5"])]);
    let block = told(&session.plan("").expect_code(9), "dependency-block").concat();
    let few = ". Once IMPL-1, IMPL-2, IMPL-4 are done or skipped, the other 3 can go on";
    assert!(block.ends_with(few), "{block}");
    session.ok("skip IMPL-1 --reason vendor");
    session.ok("skip IMPL-2 --reason vendor");
    session.ok("skip IMPL-4 --reason vendor");
    assert_eq!(next(&session.plan("")), ["run IMPL-3", "run IMPL-5"]);
}

/// N-D33: a failure that is recorded without a begin is one of an attempt of its own.
#[test]
fn failures_without_a_begin_reach_the_limit() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]);
    for (error, attempt) in [("e1", 1), ("e2", 2), ("e3", 3)] {
        session.ok(&format!("finish IMPL-1 --status failed --error {error}"));
        session.ok(&format!("finish IMPL-1 --status failed --error {error}"));
        assert_eq!(session.json(".task/IMPL-1.json")["execution"]["attempts"], attempt, "{error}");
    }
    let plan = session.plan("").expect_code(9);
    let limit = "IMPL-1: IMPL-1 (Title of IMPL-1) failed 3 times (attempt 1: e1; attempt 2: e2; attempt 3: e3)";
    assert_eq!(told(&plan, "attempt-limit"), [limit]);
    assert_eq!(plan.at("/data/next/0/attempt"), 4);

    // In a file without a history every attempt was a failure.
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "failed", "execution": {"attempts": 1, "error": "e1"}}));
    session.ok("finish IMPL-1 --status failed --error e2");
    assert_eq!(session.plan("").expect_code(0).at("/data/next/0/attempt"), 3);
    session.ok("finish IMPL-1 --status failed --error e3");
    assert_eq!(told(&session.plan("").expect_code(9), "attempt-limit").len(), 1);
}

/// Another attempt that a person allowed and that was cut off is no failure: they are not asked again before it fails.
#[test]
fn an_attempt_that_was_cut_off_does_not_use_up_a_redo() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]);
    for error in ["e1", "e2", "e3"] {
        session.ok(&format!("finish IMPL-1 --status failed --error {error}"));
    }
    session.plan("").expect_code(9);
    session.ok("redo IMPL-1 --by Ana --note fixed");
    session.call("begin").env("PITON_SESSION", "first").run().expect_code(0);
    let plan = session.call("plan").env("PITON_SESSION", "second").run().expect_code(0);
    assert_eq!((next(&plan), told(&plan, "attempt-limit").len()), (vec!["retry IMPL-1".to_owned()], 0), "{plan}");
    assert_ne!(plan.at("/data/interruption/reason"), json!("e3"), "it failed before, and was cut off now: {plan}");
    session.call("begin").env("PITON_SESSION", "second").run().expect_code(0);
    session.call("finish IMPL-1 --status failed --error e4").env("PITON_SESSION", "second").run().expect_code(0);
    assert_eq!(told(&session.plan("").expect_code(9), "attempt-limit").len(), 1);
}
