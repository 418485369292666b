//! A whole workflow, checkpoint by checkpoint, and the content of the two files after each.

use serde_json::json;

use super::{EXECUTION, PHASE, fresh, implementing, outcome, plan, task_output};
use crate::support::Sandbox;

fn run(sandbox: &Sandbox, words: &[&str]) {
    sandbox.piton(words.iter().copied()).run().expect_code(0);
    let text = sandbox.read(PHASE);
    assert_eq!(text.matches('\n').count(), 1, "compact JSON stays on its line: {text}");
    assert!(!text.contains("\": "), "{text}");
    assert!(!text.contains("\"interruption_safe\":false"), "{text}");
}

#[test]
fn a_phase_that_was_complete_and_failed_is_the_current_one_again() {
    let sandbox = Sandbox::new();
    let s = &sandbox;
    run(s, &["start", "dotagent", "--feature", "user-auth"]);
    s.file("memory/reports/demand.json", r#"{"title":"x"}"#);
    run(s, &["finish", "REQUIREMENTS"]);
    s.piton(["finish", "REQUIREMENTS", "--status", "failed"]).run().expect_code(1);
    run(s, &["redo", "REQUIREMENTS"]);
    run(s, &["begin", "REQUIREMENTS"]);
    run(s, &["finish", "REQUIREMENTS", "--status", "failed"]);
    let state = s.read_json(PHASE);
    assert_eq!((&state["current_phase"], &state["phase_status"]), (&json!("REQUIREMENTS"), &json!("failed")));
    assert_eq!(state["completed_phases"], json!([]));
    assert_eq!(outcome(&plan(s)), "confirm: retry REQUIREMENTS pm");
    let before = s.read(PHASE);
    s.piton(["finish", "REFLECTION", "--status", "failed"]).run().expect_code(9);
    assert_eq!(s.read(PHASE), before);
}

#[test]
fn a_workflow_from_start_to_archive() {
    let sandbox = Sandbox::new();
    let s = &sandbox;
    run(s, &["start", "dotagent", "--feature", "user-auth"]);
    assert_eq!(outcome(&plan(s)), "resume: run REQUIREMENTS pm");
    run(s, &["begin", "REQUIREMENTS", "--agent", "pm"]);
    s.piton(["finish", "REQUIREMENTS"]).run().expect_code(1);
    s.file("memory/reports/demand.json", r#"{"title":"x"}"#);
    run(s, &["finish", "REQUIREMENTS"]);
    let state = s.read_json(PHASE);
    assert_eq!((&state["current_phase"], &state["phase_status"]), (&json!("ARCHITECTURE"), &json!("complete")));
    assert_eq!(state["completed_phases"][0]["output"], "memory/reports/demand.json");
    s.piton(["begin", "ARCHITECTURE:designs"]).run().expect_code(9);
    run(s, &["approve", "REQUIREMENTS"]);
    let begun = s.piton(["begin", "ARCHITECTURE:designs"]).run().expect_code(0);
    assert!(begun.at("/data/brief/instructions").as_str().unwrap().contains(" in memory/reports/designs,"), "{begun}");
    let refused = s.piton(["finish", "ARCHITECTURE:designs"]).run().expect_code(1);
    let message = "no design option of this run in memory/reports/designs, such as memory/reports/designs/option-1.json; nothing was recorded";
    assert_eq!(refused.at("/error/message"), message);
    s.file("memory/reports/designs/a.json", r#"{"title":"a"}"#);
    run(s, &["finish", "ARCHITECTURE:designs"]);
    assert_eq!(outcome(&plan(s)), "blocked: approve ARCHITECTURE:approval");
    s.piton(["begin", "ARCHITECTURE:final"]).run().expect_code(9);
    run(s, &["approve", "ARCHITECTURE"]);
    run(s, &["begin", "ARCHITECTURE:final"]);
    s.file("memory/reports/final_design.json", r#"{"title":"a"}"#);
    run(s, &["finish", "ARCHITECTURE:final"]);
    run(s, &["begin", "IMPLEMENTATION"]);
    s.file(EXECUTION, "{\"tasks\":[{\"id\":\"task-001\",\"status\":\"pending\"}]}\n");
    run(s, &["begin", "001"]);
    assert_eq!(s.read_json(EXECUTION)["tasks"][0]["status"], "running");
    s.piton(["finish", "task-001"]).run().expect_code(1);
    s.file("memory/tasks/task-001/output.json", &task_output("task-001", "pre_complete"));
    run(s, &["finish", "task-001"]);
    run(s, &["begin", "task-001:verify"]);
    assert_eq!(s.read_json(EXECUTION)["tasks"][0]["status"], "verifying");
    run(s, &["finish", "task-001:verify", "--verdict", "APPROVED"]);
    let state = s.read_json(PHASE);
    assert_eq!((&state["current_phase"], &state["phase_status"]), (&json!("VERIFICATION"), &json!("complete")));
    run(s, &["begin", "VERIFICATION"]);
    s.file("memory/reports/verification.json", r#"{"ok":true}"#);
    run(s, &["finish", "VERIFICATION"]);
    run(s, &["begin", "REFLECTION"]);
    s.file("memory/reflections/one.json", r#"{"learned":"much"}"#);
    run(s, &["finish", "REFLECTION"]);
    let state = s.read_json(PHASE);
    assert_eq!((&state["current_phase"], &state["phase_status"]), (&json!("REFLECTION"), &json!("complete")));
    assert_eq!(state["completed_phases"].as_array().expect("a list").len(), 5);
    assert_eq!(s.piton(["validate"]).run().expect_code(0).findings(), Vec::<String>::new());
    // What is left is named by the plan and the status.
    assert_eq!(outcome(&plan(s)), "complete: archive REFLECTION");
    assert_eq!(plan(s).at("/data/commands/begin"), "piton archive user-auth");
    assert_eq!(s.piton(["status"]).run().at("/data/next_command"), "piton archive user-auth");
    s.piton(["archive"]).run().expect_code(0);
    assert!(!s.exists(PHASE));
}

#[test]
fn a_failed_verification_sends_the_task_back_and_counts() {
    let sandbox = implementing(&json!([{ "id": "task-001", "status": "pre_complete", "attempts": 0, "note": "kept" }]));
    fresh(&sandbox, "memory/tasks/task-001/output.json", &task_output("task-001", "pre_complete"));
    sandbox.piton(["begin", "task-001:verify"]).run().expect_code(0);
    sandbox
        .piton(["finish", "task-001:verify", "--verdict", "NEEDS_REVISION", "--error", "no test"])
        .run()
        .expect_code(0);
    let task = sandbox.read_json(EXECUTION)["tasks"][0].clone();
    let expected =
        json!({ "id": "task-001", "status": "failed", "attempts": 1, "note": "kept", "last_error": "no test" });
    assert_eq!(task, expected);
    assert_eq!(outcome(&plan(&sandbox)), "resume: retry task-001 implementer");
    sandbox.piton(["begin", "task-001"]).run().expect_code(0);
    // The output of the first attempt proves nothing about the second.
    assert_eq!(outcome(&plan(&sandbox)), "resume: retry task-001 implementer");
}

#[test]
fn a_blocked_task_goes_through_the_resolver() {
    let sandbox = implementing(&json!([{ "id": "task-001", "status": "blocked" }]));
    fresh(&sandbox, "memory/tasks/task-001/output.json", &task_output("task-001", "blocked"));
    sandbox.piton(["begin", "task-001:resolve"]).run().expect_code(0);
    assert_eq!(outcome(&plan(&sandbox)), "resume: run task-001:resolve contract-resolver");
    sandbox.file("memory/contracts/resolution_task-001.json", r#"{"decision":"widen"}"#);
    sandbox.piton(["finish", "task-001:resolve"]).run().expect_code(0);
    assert_eq!(outcome(&plan(&sandbox)), "resume: run task-001 implementer");
}

#[test]
fn a_phase_that_begins_again_opens_what_came_after_it() {
    let sandbox = super::project(&super::phase("VERIFICATION", "in_progress"));
    sandbox.file(EXECUTION, r#"{"tasks":[]}"#).remove("memory/reports/demand.json");
    sandbox.piton(["begin", "REQUIREMENTS"]).run().expect_code(0);
    let state = sandbox.read_json(PHASE);
    assert_eq!((&state["completed_phases"], &state["user_checkpoints"]), (&json!([]), &json!([])));
    assert_eq!((&state["current_phase"], &state["phase_status"]), (&json!("REQUIREMENTS"), &json!("in_progress")));
}

/// Approvals given in advance let an unattended run go on, each recorded as such; a repository cannot give them.
#[test]
fn gates_are_approved_in_advance_by_the_user_alone() {
    const SETTING: &str = "[gates]\napprove = [\"dotagent/REQUIREMENTS:approval\"]\n";
    let started = || {
        let sandbox = Sandbox::new();
        sandbox.piton(["start", "dotagent", "--feature", "login"]).now("2026-01-31T10:00:00Z").run().expect_code(0);
        fresh(&sandbox, "memory/reports/demand.json", r#"{"x":1}"#);
        sandbox
    };
    // In the project it is a warning.
    let sandbox = started();
    sandbox.file("piton.toml", SETTING);
    sandbox.piton(["finish", "REQUIREMENTS"]).run().expect_code(0);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(outcome(&plan), "blocked: approve REQUIREMENTS:approval");
    assert!(plan.findings().contains(&"setting-ignored".to_owned()), "{plan}");
    // In the user's own file it counts: at `finish`, and at `begin` of a run that waits already.
    let own = sandbox.home().join(".config/piton");
    std::fs::create_dir_all(&own).expect("a folder of the sandbox");
    std::fs::write(own.join("config.toml"), SETTING).expect("a file of the sandbox");
    let begun = sandbox.piton(["begin"]).run().expect_code(0);
    assert_eq!(begun.at("/data/step"), "ARCHITECTURE:designs", "{begun}");
    let sandbox = started();
    let own = sandbox.home().join(".config/piton");
    std::fs::create_dir_all(&own).expect("a folder of the sandbox");
    std::fs::write(own.join("config.toml"), SETTING).expect("a file of the sandbox");
    let finished = sandbox.piton(["finish", "REQUIREMENTS"]).run().expect_code(0);
    let message = finished.at("/data/message").as_str().unwrap().to_owned();
    assert!(message.ends_with("REQUIREMENTS:approval is approved by configuration"), "{message}");
    let checkpoint = sandbox.read_json(PHASE)["user_checkpoints"][0].clone();
    assert_eq!((&checkpoint["phase"], &checkpoint["by"]), (&"REQUIREMENTS".into(), &"configuration".into()));
    let status = sandbox.piton(["status", "-v"]).run().expect_code(0);
    assert_eq!(status.at("/data/decisions/0/note"), "approved by configuration", "{status}");
    // The other gate was not given in advance.
    sandbox.piton(["begin"]).run().expect_code(0);
    fresh(&sandbox, "memory/reports/designs/a.json", r#"{"x":1}"#);
    sandbox.modified("memory/reports/designs/a.json", 1_769_861_000);
    sandbox.piton(["finish", "ARCHITECTURE:designs"]).run().expect_code(0);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(outcome(&plan), "blocked: approve ARCHITECTURE:approval");
}
