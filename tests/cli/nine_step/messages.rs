//! The messages of the plugin (docs/formats/nine-step.md#messages) as a person sees them, and the recovery of a damaged state.

use super::{Clock, STATE, piton, project, state};
use crate::support::Sandbox;

const LAST: &str = r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "completed""#;

#[test]
fn nothing_found_says_where_to_look_and_how_to_begin() {
    let sandbox = Sandbox::with_git();
    insta::assert_snapshot!(piton(&sandbox, 3, ["plan", "--format", "text"]), @r"
    code: 3
    ----- stderr -----
    ❌ No interrupted workflow found.
    → searched $ROOT
    → to look elsewhere: `piton --project DIR list`
    → to start one: `piton start nine-step --feature NAME`, or /workflow-exec
    ");
}

#[test]
fn a_corrupted_state_is_named_with_file_line_and_ways_out() {
    let sandbox = project();
    sandbox.file(STATE, "{\n  \"feature_name\": \"quotes\",\n  \"current_phase\": 1,,\n}\n");
    let before = sandbox.tree();
    insta::assert_snapshot!(piton(&sandbox, 4, ["plan", "--format", "text"]), @r"
    code: 4
    ----- stderr -----
    ❌ Workflow state file corrupted. File: .worktree/quotes/.workflow-state.json. Error: Invalid JSON syntax: key must be a string (line 3, column 22)
    → correct the file by hand, or archive it: `piton archive ./.worktree/quotes/.workflow-state.json --yes`; or start again: `piton start nine-step --feature quotes --archive`
    ");
    for verb in ["plan", "context", "resume", "status", "restore", "pause"] {
        assert_eq!(piton(&sandbox, 4, [verb]).at("/error/code"), "unreadable", "{verb}");
    }
    piton(&sandbox, 4, ["begin", "3"]);
    let listed = piton(&sandbox, 0, ["list"]);
    assert!(
        listed.at("/data/runs/0/position").as_str().unwrap().starts_with("unreadable: Workflow state file corrupted.")
    );
    assert_eq!(before.without(".piton").changes(&sandbox.tree().without(".piton")), [] as [&str; 0]);
}

#[test]
fn a_corrupted_state_comes_back_from_the_backup_beside_it() {
    let sandbox = project();
    let good = state(LAST);
    sandbox.file(STATE, "{\"feature_name\": \"quo").file(&format!("{STATE}.backup"), &good);
    let plan = piton(&sandbox, 4, ["plan"]);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert_eq!(plan.at("/data/degraded"), true);
    assert_eq!(plan.at("/data/next/0/step"), "2:4");
    assert!(plan.at("/findings/0/fix").as_str().unwrap().starts_with("restore it: `piton restore quotes`"), "{plan}");
    piton(&sandbox, 4, ["begin", "4"]);
    assert_eq!(sandbox.read(STATE), "{\"feature_name\": \"quo");
    let restored = sandbox.piton(["restore", "quotes"]).folder(".worktree/quotes".into()).run().expect_code(0);
    assert_eq!(restored.at("/data/from"), "backup");
    assert_eq!(sandbox.read(STATE), good);
    let kept = restored.at("/data/kept/0").as_str().unwrap().to_owned();
    assert_eq!(sandbox.read(&kept), "{\"feature_name\": \"quo");
    piton(&sandbox, 0, ["plan"]);
}

#[test]
fn a_corrupted_state_comes_back_from_the_history() {
    let sandbox = project();
    let clock = &mut Clock(0);
    sandbox.file(STATE, &state(LAST));
    clock.piton(&sandbox, 0, ["begin", "4"]);
    let last_good = sandbox.read(STATE);
    clock.piton(&sandbox, 0, ["finish", "4", "--verdict", "approved"]);
    sandbox.file(STATE, "").remove(&format!("{STATE}.backup"));
    let plan = piton(&sandbox, 4, ["plan"]);
    assert_eq!(plan.findings()[..2], ["state-unreadable", "restored-from-history"]);
    assert_eq!(plan.at("/data/next/0/step"), "2:4");
    assert_eq!(sandbox.read(STATE), "");
    let refused = clock.piton(&sandbox, 9, ["restore"]);
    assert!(refused.at("/error/message").as_str().unwrap().ends_with("1 step would be done again: 2:4"), "{refused}");
    clock.piton(&sandbox, 0, ["restore", "--yes"]);
    assert_eq!(sandbox.read(STATE), last_good);
}

#[test]
fn a_corrupted_state_can_be_archived_for_a_new_run() {
    let sandbox = Sandbox::with_git();
    sandbox.file(".plan/quotes.workflow-state.json", "{\"feature_name\": \"quo");
    let error = piton(&sandbox, 4, ["plan"]);
    let hint = error.at("/error/hints/0");
    assert!(hint.as_str().unwrap().contains("`piton start nine-step --feature quotes --archive`"), "{error}");
    piton(&sandbox, 0, ["start", "nine-step", "--feature", "quotes", "--archive"]);
    assert_eq!(piton(&sandbox, 0, ["plan"]).at("/data/next/0/step"), "1:1");
}

#[test]
fn the_plan_reads_as_one_page() {
    let sandbox = project();
    let last =
        r#""phase": 2, "step": 4, "agent": "code-reviewer", "status": "failed", "error_message": "- a.rs: no test""#;
    sandbox.file(STATE, &state(last));
    insta::assert_snapshot!(piton(&sandbox, 0, ["plan", "--format", "text"]), @r"
    code: 0
    ----- stdout -----
    Plan for quotes  nine-step
      Verdict      resume: go on
      Progress     13 of 30 steps
      Phase        2/3
      Last Step    4 (code-reviewer) - failed
      Worktree     .worktree/quotes
      Branch       feature/quotes
      Last change  30 minutes ago (fresh)
      Interrupted  task_failure at 2:4: a.rs: no test

    Completed work
      ✅ Phase 1: 1:1, 1:2, 1:2.5, 1:3, 1:4, 1:5, 1:6, 1:7, 1:8, 1:9
      ✅ Phase 2: 2:1, 2:2, 2:2.5

    Next
      return 2:3 Implementation — one of backend-developer, frontend-developer, attempt 1
          Address code-reviewer feedback
          strategy analyze_and_retry (or skip_task, force_continue)

    → piton begin 2:3 --run quotes
    → piton context quotes --step 2:3
    → piton resume quotes   # continue
    ");
}

#[test]
fn the_native_plan_holds_what_the_plugin_shows() {
    let sandbox = project();
    let last = r#""phase": 2, "step": 4, "agent": "code-reviewer", "status": "failed", "error_message": "no test""#;
    sandbox.file(STATE, &state(last));
    let native = piton(&sandbox, 0, ["plan", "--native"]).at("/data/native");
    let expected = serde_json::json!({
        "resume_plan": {
            "next_phase": 2,
            "next_step": 3,
            "next_agent": null,
            "reason": "Address code-reviewer feedback",
            "agent_candidates": ["backend-developer", "frontend-developer"],
        },
        "feature_name": "quotes",
        "worktree_path": ".worktree/quotes",
        "branch_name": "feature/quotes",
        "plan_reference": null,
        "current_state": {
            "current_phase": 2,
            "total_phases": 3,
            "phase_description": null,
            "last_step": 4,
            "last_agent": "code-reviewer",
            "last_status": "failed",
            "interrupted": "2026-01-31T11:30:00Z",
            "interruption_reason": "no test",
        },
        "completed_work": ["Phase 1: Step 1-9 completed", "Phase 2: Step 1-3 completed"],
        "prompt": "Proceed with resume? [Y/n]",
    });
    assert_eq!(native, expected);
}
