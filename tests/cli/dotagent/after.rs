//! What reaches a later step, and where the agent of a phase writes.

use serde_json::json;

use super::{EXECUTION, fresh, implementing, phase, plan, project, task_output};
use crate::support::Sandbox;

/// A failure is not handed on once the step was done again, also without words.
#[test]
fn a_failure_does_not_outlive_the_work_that_followed_it() {
    let sandbox = implementing(&serde_json::json!([{ "id": "task-001", "status": "pending", "attempts": 0 }]));
    sandbox.piton(["begin", "task-001"]).run().expect_code(0);
    sandbox.piton(["finish", "task-001", "--status", "failed", "--error", "tests are red"]).run().expect_code(0);
    let again = sandbox.piton(["begin", "task-001"]).run().expect_code(0).to_string();
    assert!(again.contains("tests are red"), "{again}");
    fresh(&sandbox, "memory/tasks/task-001/output.json", &task_output("task-001", "pre_complete"));
    sandbox.modified("memory/tasks/task-001/output.json", 1_769_861_000);
    sandbox.piton(["finish", "task-001"]).run().expect_code(0);
    let review = sandbox.piton(["begin", "task-001:verify"]).run().expect_code(0).to_string();
    assert!(!review.contains("tests are red"), "{review}");
}

/// The executor is told where its tasks go.
#[test]
fn the_executor_is_told_where_its_tasks_go() {
    let sandbox = project(&phase("IMPLEMENTATION", "pending"));
    let begun = sandbox.piton(["begin", "IMPLEMENTATION"]).run().expect_code(0).to_string();
    assert!(begun.contains(&format!("Write the tasks of the design into {EXECUTION}")), "{begun}");
}

/// A verdict on disk is not recorded while the work that it is about is being redone.
#[test]
fn a_verdict_waits_for_the_rework() {
    let sandbox = implementing(&json!([{ "id": "task-001", "status": "pending", "attempts": 0 }]));
    let s = &sandbox;
    let run = |command: &str| s.piton(command.split(' ')).run();
    run("begin task-001").expect_code(0);
    s.file("memory/tasks/task-001/output.json", &task_output("task-001", "pre_complete"));
    run("finish task-001").expect_code(0);
    run("begin task-001:verify").expect_code(0);
    s.file("memory/tasks/task-001/verification.json", r#"{"task_id":"task-001","verdict":"fail"}"#);
    run("finish task-001:verify --verdict NEEDS_REVISION --finding empty").expect_code(0);
    let sent_back = run("begin task-001").expect_code(0);
    assert!(sent_back.to_string().contains("it was sent back by task-001:verify"), "{sent_back}");
    // The same output is no rework, even if a verifier says so.
    s.file("memory/tasks/task-001/output.json", &task_output("task-001", "pre_complete"));
    run("finish task-001").expect_code(1);
    s.file("memory/tasks/task-001/verification.json", r#"{"task_id":"task-001","verdict":"pass"}"#);
    let refused = run("finish task-001:verify --verdict APPROVED").expect_code(1);
    assert!(refused.to_string().contains("still waits for task-001"), "{refused}");
    assert!(!s.read(EXECUTION).contains("verified"), "{}", s.read(EXECUTION));
}

/// VERIFICATION with a verdict that does not approve leads to the reflection, as the skill says, but not without a word.
#[test]
fn a_failed_verification_is_named_before_the_reflection() {
    let mut phase = phase("VERIFICATION", "in_progress");
    let entry = json!({ "phase": "IMPLEMENTATION", "completed_at": "2026-01-31T11:20:00Z" });
    let done = phase["completed_phases"].as_array_mut().expect("a list");
    if !done.iter().any(|done| done["phase"] == "IMPLEMENTATION") {
        done.push(entry);
    }
    let sandbox = project(&phase);
    sandbox.file(EXECUTION, r#"{"tasks":[]}"#);
    for (verdict, is_named) in [("pass", false), ("fail", true)] {
        fresh(&sandbox, "memory/reports/verification.json", &format!("{{\"verdict\":\"{verdict}\"}}"));
        let plan = plan(&sandbox);
        assert_eq!(plan.at("/data/next/0/step"), "REFLECTION", "{plan}");
        assert_eq!((plan.code == 9, plan.findings().contains(&"verdict-conflict".to_owned())), (is_named, is_named));
    }
    let back = "redo IMPLEMENTATION --run user-auth --by Ana --note again";
    assert!(plan(&sandbox).to_string().contains("piton redo IMPLEMENTATION --run user-auth --by NAME --note WHY"));
    sandbox.piton(back.split(' ')).run().expect_code(0);
    assert_eq!(plan(&sandbox).at("/data/next/0/step"), "IMPLEMENTATION");
}

/// The description of a run is what its agents work for.
#[test]
fn the_description_reaches_the_agents() {
    let sandbox = Sandbox::new();
    let start = ["start", "dotagent", "--feature", "login", "--description", "Log in by e-mail"];
    sandbox.piton(start).run().expect_code(0);
    let begun = sandbox.piton(["begin", "REQUIREMENTS"]).run().expect_code(0);
    assert_eq!(begun.at("/data/brief/goal"), "Log in by e-mail", "{begun}");
}

/// A phase that is made of steps names the one that can be begun.
#[test]
fn a_phase_of_steps_names_its_next_one() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    let refused = sandbox.piton(["begin", "ARCHITECTURE"]).run().expect_code(1);
    assert_eq!(refused.at("/error/hints/0"), "piton begin ARCHITECTURE:designs --run user-auth", "{refused}");
    sandbox.piton(["begin", "ARCHITECTURE:designs", "--run", "user-auth"]).run().expect_code(0);
}

/// A-D13: at the attempt limit, work that does not depend on the step is named and can be begun.
#[test]
fn what_does_not_depend_on_a_stuck_task_goes_on() {
    let sandbox = implementing(&json!([
        { "id": "task-001", "status": "failed", "attempts": 3 },
        { "id": "task-002", "status": "pending", "attempts": 0 },
    ]));
    let plan = plan(&sandbox).expect_code(9);
    let fix = plan.at("/findings/0/fix").as_str().unwrap_or_default().to_owned();
    let begin = "begin task-002 --run user-auth";
    assert!(fix.ends_with(&format!("; what does not depend on it goes on: `piton {begin}`")), "{plan}");
    sandbox.piton(begin.split(' ')).run().expect_code(0);
}

/// What is archived while complete offers to begin again; bringing it back is said apart.
#[test]
fn an_archive_says_what_its_commands_do() {
    let sandbox = implementing(&json!([]));
    let archived = sandbox.piton(["--format", "text", "archive", "--yes"]).run().expect_code(0).stdout;
    assert!(archived.contains("→ piton start dotagent --feature user-auth   # begin it again\n"), "{archived}");
    assert!(archived.contains("   # bring it back\n"), "{archived}");
}
