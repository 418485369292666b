//! Every row of the decision table (docs/formats/nine-step.md#decision-table): the plan for each status at each step.

use serde_json::{Value, json};

use super::{STATE, state, with_fields};
use crate::support::Sandbox;

/// One row: the members of `last_execution`, and the planned action.
struct Row {
    last: &'static str,
    verdict: &'static str,
    next: &'static str,
    agent: Value,
    reason: &'static str,
}

fn row(last: &'static str, verdict: &'static str, next: &'static str, agent: &str, reason: &'static str) -> Row {
    let agent = if agent.is_empty() { Value::Null } else { agent.into() };
    Row { last, verdict, next, agent, reason }
}

/// Plans a state in a project without git, which has its own tests.
fn plan(sandbox: &Sandbox, text: &str) -> (Value, i32) {
    sandbox.file(STATE, text);
    let output = sandbox.piton(["plan", "--native"]).run();
    (output.json(), output.code)
}

#[track_caller]
fn check(sandbox: &Sandbox, text: &str, row: &Row) {
    let (document, code) = plan(sandbox, text);
    let data = &document["data"];
    let next = data["next"].get(0).cloned().unwrap_or_default();
    let shown = format!("{}\n{document:#}", row.last);
    let (step, action) = row.next.split_once(' ').expect("it is well formed");
    let (phase, number) = step.split_once(':').expect("it is well formed");
    let expected = match row.verdict {
        "resume" | "complete" => 0,
        _ => 9,
    };
    assert_eq!(data["verdict"], row.verdict, "{shown}");
    assert_eq!(code, expected, "{shown}");
    assert_eq!(next["step"], step, "{shown}");
    assert_eq!(next["action"], action, "{shown}");
    assert_eq!(next["agent"], row.agent, "{shown}");
    assert_eq!(next.get("agent_candidates").is_some(), row.agent.is_null(), "{shown}");
    let native = &data["native"]["resume_plan"];
    assert_eq!(native["next_phase"], json!(phase.parse::<u32>().expect("it is well formed")), "{shown}");
    let number: Value =
        if number == "2.5" { json!(2.5) } else { json!(number.parse::<u32>().expect("it is well formed")) };
    assert_eq!(native["next_step"], number, "{shown}");
    assert!(native.as_object().expect("it is well formed").contains_key("next_agent"), "{shown}");
    assert_eq!(native["next_agent"], row.agent, "{shown}");
    if row.agent.is_null() {
        assert_eq!(native["agent_candidates"], json!(["backend-developer", "frontend-developer"]), "{shown}");
    }
    assert_eq!(native["reason"], row.reason, "{shown}");
}

fn check_all(rows: &[Row]) {
    let sandbox = Sandbox::new();
    for row in rows {
        check(&sandbox, &state(row.last), row);
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn a_failure_goes_back_from_a_review_and_is_retried_elsewhere() {
    check_all(&[
        row(
            r#""phase": 2, "step": 1, "agent": "project-planner", "status": "failed""#,
            "resume",
            "2:1 retry",
            "project-planner",
            "2:1 failed; retry with the error of the last attempt",
        ),
        row(
            r#""phase": 2, "step": 2, "agent": "plan-reviewer", "status": "failed""#,
            "resume",
            "2:1 return",
            "project-planner",
            "Address plan-reviewer feedback",
        ),
        row(
            r#""phase": 2, "step": 2.5, "agent": "user", "status": "failed", "error_message": "split it""#,
            "resume",
            "2:1 return",
            "project-planner",
            "Address user feedback",
        ),
        row(
            r#""phase": 2, "step": 2.5, "agent": "git-worktree-manager", "status": "failed", "error_message": "fatal: '.worktree/quotes' already exists""#,
            "resume",
            "2:2.5 retry",
            "git-worktree-manager",
            "2:2.5 failed; retry with the error of the last attempt",
        ),
        row(
            r#""phase": 2, "step": 3, "agent": "frontend-developer", "status": "failed""#,
            "resume",
            "2:3 retry",
            "frontend-developer",
            "2:3 failed; retry with the error of the last attempt",
        ),
        row(
            r#""phase": 2, "step": 4, "agent": "code-reviewer", "status": "failed""#,
            "resume",
            "2:3 return",
            "",
            "Address code-reviewer feedback",
        ),
        row(
            r#""phase": 2, "step": 5, "agent": "documentation-manager", "status": "failed""#,
            "resume",
            "2:5 retry",
            "documentation-manager",
            "2:5 failed; retry with the error of the last attempt",
        ),
        row(
            r#""phase": 2, "step": 6, "agent": "documentation-reviewer", "status": "failed""#,
            "resume",
            "2:5 return",
            "documentation-manager",
            "Address documentation-reviewer feedback",
        ),
        row(
            r#""phase": 2, "step": 7, "agent": "feature-tester", "status": "failed", "error_message": "agent timed out""#,
            "resume",
            "2:7 retry",
            "feature-tester",
            "2:7 failed; retry with the error of the last attempt",
        ),
        row(
            r#""phase": 2, "step": 7, "agent": "feature-tester", "status": "failed", "error_message": "3 tests failed""#,
            "resume",
            "2:3 return",
            "",
            "Address feature-tester feedback",
        ),
        row(
            r#""phase": 2, "step": 8, "agent": "test-reviewer", "status": "failed""#,
            "resume",
            "2:7 return",
            "feature-tester",
            "Address test-reviewer feedback",
        ),
        row(
            r#""phase": 2, "step": 9, "agent": "git-worktree-manager", "status": "failed""#,
            "resume",
            "2:9 retry",
            "git-worktree-manager",
            "2:9 failed; retry with the error of the last attempt",
        ),
    ]);
}

#[test]
fn a_failure_of_the_test_review_can_be_sent_to_the_code() {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 8, "status": "failed""#));
    let output = sandbox.piton(["plan", "--native", "--to-step", "3"]).run().expect_code(0);
    assert_eq!(output.at("/data/next/0/step"), "2:3");
    assert_eq!(output.at("/data/next/0/action"), "return");
    assert_eq!(output.at("/data/native/resume_plan/next_step"), 3);
}

#[test]
fn a_rejection_waits_for_a_person_and_says_what_would_come_next() {
    let reason = |reviewer: &str| -> &'static str { format!("Address {reviewer} feedback").leak() };
    for (step, next, agent, reviewer) in [
        ("2", "2:1 return", "project-planner", "plan-reviewer"),
        ("4", "2:3 return", "", "code-reviewer"),
        ("6", "2:5 return", "documentation-manager", "documentation-reviewer"),
        ("8", "2:7 return", "feature-tester", "test-reviewer"),
    ] {
        let sandbox = Sandbox::new();
        for words in [r#""failed", "verdict": "REJECTED""#, r#""rejected""#, r#""❌ Rejected""#] {
            let last = format!(r#""phase": 2, "step": {step}, "status": {words}"#).leak();
            check(&sandbox, &state(last), &row(last, "blocked", next, agent, reason(reviewer)));
            let output = sandbox.piton(["plan"]).run();
            assert_eq!(output.findings()[0], "rejected");
            assert_eq!(output.at("/data/question/options/0/id"), "redo");
        }
    }
}

#[test]
fn approval_is_asked_for_again_where_it_was_waited_for() {
    check_all(&[
        row(
            r#""phase": 2, "step": 2.5, "status": "waiting_approval""#,
            "blocked",
            "2:2.5 approve",
            "user",
            "User approval required",
        ),
        row(
            r#""phase": 2, "step": 4, "status": "waiting_approval""#,
            "blocked",
            "2:4 approve",
            "code-reviewer",
            "User approval required",
        ),
        row(
            r#""phase": 2, "step": 6, "status": "waiting_approval""#,
            "blocked",
            "2:6 approve",
            "documentation-reviewer",
            "User approval required",
        ),
        row(
            r#""phase": 2, "step": 8, "status": "Waiting Approval""#,
            "blocked",
            "2:8 approve",
            "test-reviewer",
            "User approval required",
        ),
        row(
            r#""phase": 3, "step": 9, "status": "waiting_approval""#,
            "blocked",
            "3:9 approve",
            "git-worktree-manager",
            "User approval required",
        ),
    ]);
}

#[test]
fn success_leads_to_the_next_step_of_the_list() {
    for word in ["completed", "approved", "APPROVED", "✅ Approved"] {
        let sandbox = Sandbox::new();
        for (step, verdict, next, agent, reason) in [
            ("1", "resume", "2:2 run", "plan-reviewer", "2:1 is done"),
            ("2", "blocked", "2:2.5 approve", "user", "User approval required"),
            ("2.5", "resume", "2:3 run", "", "2:2.5 is done"),
            ("3", "resume", "2:4 run", "code-reviewer", "2:3 is done"),
            ("4", "resume", "2:5 run", "documentation-manager", "2:4 is done"),
            ("5", "resume", "2:6 run", "documentation-reviewer", "2:5 is done"),
            ("6", "resume", "2:7 run", "feature-tester", "2:6 is done"),
            ("7", "resume", "2:8 run", "test-reviewer", "2:7 is done"),
            ("8", "resume", "2:9 run", "git-worktree-manager", "2:8 is done"),
            ("9", "resume", "3:1 run", "project-planner", "Phase 2 completed; phase 3 begins at step 1"),
        ] {
            let last = format!(r#""phase": 2, "step": {step}, "status": "{word}""#).leak();
            check(&sandbox, &state(last), &row(last, verdict, next, agent, reason));
        }
    }
}

#[test]
fn what_was_in_progress_is_retried_and_a_gate_is_put_again() {
    let sandbox = Sandbox::new();
    for (step, agent) in [
        ("1", "project-planner"),
        ("2", "plan-reviewer"),
        ("3", "backend-developer"),
        ("4", "code-reviewer"),
        ("5", "documentation-manager"),
        ("6", "documentation-reviewer"),
        ("7", "feature-tester"),
        ("8", "test-reviewer"),
        ("9", "git-worktree-manager"),
    ] {
        let last = format!(r#""phase": 2, "step": {step}, "agent": "{agent}", "status": "in_progress""#).leak();
        let next = format!("2:{step} retry").leak();
        let reason = format!("2:{step} was started but never finished").leak();
        check(&sandbox, &state(last), &row(last, "resume", next, agent, reason));
    }
    let last = r#""phase": 2, "step": 2.5, "status": "in_progress""#;
    check(&sandbox, &state(last), &row(last, "blocked", "2:2.5 approve", "user", "User approval required"));
}

#[test]
fn every_reviewers_wording_is_understood() {
    let sandbox = Sandbox::new();
    for (word, next) in [
        ("Testing Valid", "2:9 run"),
        ("NEEDS_REVISION", "2:7 return"),
        ("Needs Revision", "2:7 return"),
        ("Incomplete", "2:7 return"),
        ("⚠️ Testing Incomplete", "2:7 return"),
    ] {
        let last = format!(r#""phase": 2, "step": 8, "status": "{word}""#);
        let (document, code) = plan(&sandbox, &state(&last));
        let found = &document["data"]["next"][0];
        assert_eq!(
            format!(
                "{} {}",
                found["step"].as_str().expect("it is a text"),
                found["action"].as_str().expect("it is a text")
            ),
            next,
            "{word}"
        );
        assert_eq!(code, 0, "{word}");
    }
    for word in ["Invalid", "Testing Invalid", "REJECTED"] {
        let (document, code) = plan(&sandbox, &state(&format!(r#""phase": 2, "step": 8, "status": "{word}""#)));
        assert_eq!((&document["findings"][0]["code"], code), (&json!("rejected"), 9), "{word}");
    }
}

#[test]
fn an_approval_with_open_conditions_stays_on_its_step() {
    let sandbox = Sandbox::new();
    for word in [
        "APPROVED_WITH_CONDITIONS",
        "Approved with Minor Changes",
        "Approved with Minor Corrections",
        "Approved with Minor Issues",
        "Approved with Changes",
        "Valid with Caveats",
    ] {
        let last = format!(r#""phase": 2, "step": 4, "status": "{word}", "conditions": ["rename the flag"]"#);
        let (document, code) = plan(&sandbox, &state(&last));
        let next = &document["data"]["next"][0];
        assert_eq!((&next["step"], &next["action"], code), (&json!("2:4"), &json!("verify"), 9), "{word}");
        assert_eq!(document["data"]["verdict"], "confirm", "{word}");
        assert_eq!(document["findings"][0]["code"], "conditions-open", "{word}");
        assert!(
            document["findings"][0]["message"].as_str().expect("it is a text").contains("rename the flag"),
            "{word}"
        );
        let met = format!(r#""phase": 2, "step": 4, "status": "{word}", "conditions": []"#);
        let (document, code) = plan(&sandbox, &state(&met));
        assert_eq!((&document["data"]["next"][0]["step"], code), (&json!("2:5"), 0), "{word}");
    }
}

#[test]
fn the_last_phase_leads_to_the_merge_gate() {
    let sandbox = Sandbox::new();
    let (document, code) = plan(&sandbox, &state(r#""phase": 3, "step": 9, "status": "completed""#));
    let data = &document["data"];
    assert_eq!((&data["verdict"], code), (&json!("complete"), 0));
    assert_eq!(data["next"][0]["action"], "merge");
    assert_eq!(data["next"][0]["agent"], "git-worktree-manager");
    assert_eq!(data["progress"], json!({"done": 30, "total": 30}));
    assert_eq!(data["question"]["default"], "no");
    assert_eq!(data["native"]["resume_plan"]["next_phase"], Value::Null);
    assert_eq!(data["native"]["resume_plan"]["next_step"], Value::Null);
    assert_eq!(data["native"]["resume_plan"]["next_agent"], "git-worktree-manager");
    assert_eq!(data["native"]["prompt"], "Merge now? [y/N]");
}

#[test]
fn an_unknown_number_of_phases_is_a_warning_and_the_next_phase_is_planned() {
    let sandbox = Sandbox::new();
    let (document, code) = plan(&sandbox, &with_fields(r#""phase": 2, "step": 9, "status": "completed""#, ""));
    assert_eq!(document["data"]["next"][0]["step"], "3:1");
    assert_eq!(document["findings"][0]["code"], "total-missing");
    assert_eq!(document["findings"][0]["severity"], "warning");
    assert_eq!((&document["data"]["verdict"], code), (&json!("confirm"), 9));
}

#[test]
fn later_phases_can_begin_at_step_3() {
    let sandbox = Sandbox::new();
    sandbox.file("piton.toml", "[nine-step]\nphase_entry_step = 3\n");
    let last = r#""phase": 2, "step": 9, "status": "completed""#;
    let expected = row(last, "resume", "3:3 run", "", "Phase 2 completed; phase 3 begins at step 3");
    check(&sandbox, &state(last), &expected);
    let developed = r#""total_phases": 3, "completed_steps": [{"phase": 1, "step": 3, "agent": "frontend-developer", "status": "completed"}]"#;
    let expected = row(last, "resume", "3:3 run", "frontend-developer", "Phase 2 completed; phase 3 begins at step 3");
    check(&sandbox, &with_fields(last, developed), &expected);
}

#[test]
fn step_3_is_done_by_the_developer_of_this_phase_else_of_any() {
    let sandbox = Sandbox::new();
    let last = r#""phase": 2, "step": 4, "agent": "code-reviewer", "status": "failed""#;
    let other = r#"{"phase": 1, "step": 3, "agent": "frontend-developer", "status": "completed"}"#;
    let this = r#"{"phase": 2, "step": 3, "agent": "backend-developer", "status": "completed"}"#;
    for (entries, agent) in
        [(format!("{this}, {other}"), "backend-developer"), (other.to_owned(), "frontend-developer")]
    {
        let more = format!(r#""total_phases": 3, "completed_steps": [{entries}]"#);
        let expected = row(last, "resume", "2:3 return", agent, "Address code-reviewer feedback");
        check(&sandbox, &with_fields(last, &more), &expected);
    }
}

#[test]
fn a_status_outside_of_the_vocabulary_is_named_and_nothing_is_taken_as_done() {
    let sandbox = Sandbox::new();
    for word in ["error", "success", "", "skipped", "interrupted"] {
        let (document, code) = plan(&sandbox, &state(&format!(r#""phase": 2, "step": 4, "status": "{word}""#)));
        assert_eq!((&document["data"]["verdict"], code), (&json!("blocked"), 9), "{word}");
        assert_eq!(document["data"]["next"], json!([]), "{word}");
        let unknown =
            document["findings"].as_array().expect("it is a list").iter().find(|one| one["code"] == "status-unknown");
        let unknown = unknown.unwrap_or_else(|| panic!("{word}: {document:#}"));
        assert!(
            unknown["message"]
                .as_str()
                .expect("it is a text")
                .contains("in_progress, completed, failed, waiting_approval")
        );
        assert_eq!((&unknown["line"], &unknown["pointer"]), (&json!(5), &json!("/last_execution/status")));
    }
}
