//! What is written into the other states: one run of each kind, and the changes it cannot express.

use serde_json::json;

use super::{next, refused, run};
use crate::support::Sandbox;

/// Runs commands, with a plan before each.
fn journey(path: &str, text: &str, commands: &[(&str, &str)]) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(path, text);
    for (then, command) in commands {
        assert_eq!(next(&sandbox), *then, "before {command}: {}", sandbox.read(path));
        run(&sandbox, command);
    }
    sandbox
}

#[test]
fn a_master_orchestration_goes_through_its_epics() {
    let path = ".aiox/master-orchestrator/3.2.json";
    let text = r#"{"workflowId":"master-ade-3.2","storyId":"3.2","status":"in_progress","currentEpic":3,"timestamps":{"startedAt":"2026-01-31T10:00:00.000Z","updatedAt":"2026-01-31T11:30:00.000Z"},"completedEpics":[],"failedEpics":[],"pendingEpics":[3,4,6],"retryCount":{},"epics":{"3":{"status":"pending"},"4":{"status":"pending","errors":[]},"6":{"status":"pending"}}}"#;
    let sandbox = journey(
        path,
        text,
        &[
            ("run epic-3", "begin epic-3"),
            ("run epic-3", "pause"),
            ("retry epic-3", "resume --yes"),
            ("run epic-3", "finish epic-3"),
            ("run epic-4", "begin epic-4"),
            ("run epic-4", "finish epic-4 --status failed --error tests"),
            ("retry epic-4", "begin epic-4"),
            ("retry epic-4", "finish epic-4 --verdict APPROVED"),
            ("run epic-6", "finish epic-6"),
        ],
    );
    let at = "2026-01-31T12:00:00.000Z";
    let state = sandbox.read_json(path);
    assert_eq!((&state["status"], &state["timestamps"]["completedAt"]), (&json!("complete"), &json!(at)));
    assert_eq!(
        (&state["completedEpics"], &state["failedEpics"], &state["pendingEpics"]),
        (&json!([3, 4, 6]), &json!([]), &json!([]))
    );
    let epic = &state["epics"]["4"];
    assert_eq!((&epic["status"], &epic["gateResult"]["verdict"]), (&json!("completed"), &json!("approved")));
    assert_eq!(epic["errors"], json!([{ "message": "tests", "timestamp": at }]));
    assert_eq!(state["retryCount"], json!({ "4": 1 }));
    assert_eq!(next(&sandbox), "complete");
    // It stays on one line.
    assert!(!sandbox.read(path).contains('\n'));
}

#[test]
fn a_build_checks_its_subtasks_in() {
    let path = "plan/build-state.json";
    let text = "{\n  \"storyId\": \"2.1\",\n  \"status\": \"in_progress\",\n  \"startedAt\": \"2026-01-31T11:00:00.000Z\",\n  \"lastCheckpoint\": null,\n  \
                \"currentSubtask\": \"1.10\",\n  \"completedSubtasks\": [\"1.1\"],\n  \"failedAttempts\": [],\n  \"checkpoints\": [],\n  \"abandoned\": false\n}\n";
    let sandbox = journey(
        path,
        text,
        &[
            ("retry 1.10", "begin 1.10"),
            ("retry 1.10", "finish 1.10 --status failed --error red"),
            ("retry 1.10", "abort --reason late"),
        ],
    );
    let state = sandbox.read_json(path);
    assert_eq!((&state["status"], &state["abandonedReason"]), (&json!("abandoned"), &json!("late")));
    assert_eq!(state["failedAttempts"][0]["error"], "red");
    run(&sandbox, "resume build-2.1 --yes");
    run(&sandbox, "finish 1.10");
    let state = sandbox.read_json(path);
    assert_eq!((&state["status"], &state["abandoned"]), (&json!("in_progress"), &json!(false)));
    assert_eq!((&state["completedSubtasks"], &state["currentSubtask"]), (&json!(["1.1", "1.10"]), &json!(null)));
    let checkpoint = &state["checkpoints"][0];
    assert_eq!((&checkpoint["subtaskId"], &checkpoint["status"]), (&json!("1.10"), &json!("completed")));
    let id = checkpoint["id"].as_str().unwrap();
    let parts: Vec<&str> = id.split('-').collect();
    assert!(parts.len() == 3 && parts[0] == "cp" && u64::from_str_radix(parts[1], 36) == Ok(1_769_860_800_000), "{id}");
    assert!(parts[2].len() == 8 && parts[2].bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
    assert_eq!(next(&sandbox), "run next");
    assert!(refused(&sandbox, "begin next").contains("currentSubtask"));
    // A step that turns out to have failed is no longer done.
    run(&sandbox, "redo 1.1");
    run(&sandbox, "begin 1.1");
    run(&sandbox, "finish 1.1 --status failed --error late");
    assert_eq!(sandbox.read_json(path)["completedSubtasks"], json!(["1.10"]));
    assert_eq!(next(&sandbox), "retry 1.1");
}

#[test]
fn phases_are_written_when_they_are_over() {
    let path = ".aiox/workflow-state/brown.json";
    let text = r#"{"workflowId": "brown", "status": "initialized", "startedAt": "2026-01-31T10:00:00Z", "updatedAt": "2026-01-31T11:30:00Z", "currentPhase": 0, "phases": {}, "metadata": {"delivery_confidence": null}}"#;
    let sandbox = journey(
        path,
        text,
        &[
            ("run phase-1", "begin phase-1"),
            ("run phase-1", "finish phase-1 --agent @architect"),
            ("run phase-2", "finish phase-2 --status failed --error timeout"),
            ("retry phase-2", "begin phase-2"),
            ("retry phase-2", "finish phase-2"),
            ("run phase-3", "complete --force"),
        ],
    );
    let at = "2026-01-31T12:00:00Z";
    let state = sandbox.read_json(path);
    let done = json!({ "agent": "architect", "result": { "status": "completed" }, "completedAt": at });
    assert_eq!(state["phases"]["1"], done);
    assert_eq!(
        (&state["currentPhase"], &state["status"], &state["updatedAt"]),
        (&json!(2), &json!("completed"), &json!(at))
    );
    assert!(refused(&sandbox, "pause --run workflow-brown").contains("workflow-brown"));
}

#[test]
fn a_record_of_nexos_says_which_phases_are_over() {
    let path = ".nexos/workflow-state/sdc-state.yaml";
    let text = "# nexos\nexecution_id: sdc-2026-01-31-001\nworkflow: sdc\nupdated_at: 2026-01-31T11:30:00Z\ncurrent_phase: 2 # of four\n\
                current_agent: \"@po\"\nstatus: active\nphases_completed: [1]\n";
    let sandbox = journey(
        path,
        text,
        &[("retry phase-2", "finish phase-2"), ("run phase-3", "begin phase-3"), ("run phase-3", "finish phase-3")],
    );
    let expected = text
        .replace("11:30", "12:00")
        .replace("current_phase: 2", "current_phase: 3")
        .replace("\"@po\"", "\"@dev\"")
        .replace("[1]", "[1, 2, 3]");
    assert_eq!(sandbox.read(path), expected);
    assert!(refused(&sandbox, "pause").contains("only records completed phases"));
    assert!(refused(&sandbox, "finish phase-4 --status failed --error x").contains("cannot record a failed phase"));
}

#[test]
fn a_session_of_bob_goes_through_the_phases_of_its_stories() {
    let path = "docs/stories/.session-state.yaml";
    let text = "session_state:\n  version: \"1.2\"\n  last_updated: \"2026-01-31T11:45:00Z\"\n  epic: { id: 12, title: Login, total_stories: 2 }\n  \
                progress:\n    current_story: 12.1\n    stories_done: []\n    stories_pending: [12.1, 12.2]\n  workflow:\n    \
                current_phase: quality_gate\n    attempt_count: 0\n    phase_results: {}\n  last_action:\n    type: PHASE_CHANGE # the last one\n    \
                timestamp: \"2026-01-31T11:45:00Z\"\n";
    let sandbox = journey(
        path,
        text,
        &[
            ("retry 12.1:quality_gate", "finish 12.1:quality_gate"),
            ("run 12.1:push", "begin 12.1:push"),
            ("run 12.1:push", "finish 12.1:push"),
            ("run 12.1:checkpoint", "pause"),
            ("run 12.1:checkpoint", "resume --yes"),
            ("run 12.1:checkpoint", "finish 12.1:checkpoint --status waiting_approval"),
            ("approve 12.1:checkpoint", "approve 12.1:checkpoint"),
            ("run 12.2:validation", "begin 12.2:validation"),
            ("run 12.2:validation", "finish 12.2:validation --status failed --error unclear"),
            ("retry 12.2:validation", "begin 12.2:validation"),
        ],
    );
    let at = "\"2026-01-31T12:00:00Z\"";
    let expected = text
        .replace("\"2026-01-31T11:45:00Z\"", at)
        .replace("current_story: 12.1", "current_story: \"12.2\"")
        .replace("stories_done: []", "stories_done:\n      - \"12.1\"")
        .replace("[12.1, 12.2]", "[12.2]")
        .replace("quality_gate", "validation")
        .replace("attempt_count: 0", "attempt_count: 1");
    assert_eq!(sandbox.read(path), format!("{expected}    story: \"12.2\"\n    phase: validation\n"));
}

#[test]
fn of_a_workflow_engine_only_the_overall_status_is_written() {
    let path = ".aiox/release-engine-state.yaml";
    let text = "engine_state:\n  mode: engine\n  workflow_name: Release\n  instance_id: release\n  status: active # on\n  updated_at: '2026-01-31T11:30:00Z'\n  \
                current_step_index: 1\n  action_steps_completed: 1\n  action_steps_total: 3\n  step_results:\n    brief: { status: completed }\n";
    let sandbox = journey(path, text, &[("run next-1", "resume --yes")]);
    assert!(refused(&sandbox, "begin next-1").contains("only the engine can record next-1"));
    run(&sandbox, "abort");
    assert_eq!(sandbox.read(path), text.replace("active # on", "aborted # on").replace("11:30", "12:00"));
}

#[test]
fn a_cycle_at_rest_writes_a_story_as_its_siblings_are_written_and_names_the_run_it_has_become() {
    let path = ".nexos/workflow-state/epic-1-state.yaml";
    let text = "workflow: story-development-cycle\ncurrent_story: docs/stories/1.1.story.md\npaused_at: \
                \"2026-01-31T11:30:00Z\"\nepic_progress:\n  completed_stories: [\"1.1\"]\n  next_story: \
                docs/stories/1.2.story.md\n  remaining_count: 1\n";
    let sandbox = Sandbox::new();
    sandbox.file(path, text);
    run(&sandbox, "begin 1.2 --run dev-1.1");
    let finished = run(&sandbox, "finish 1.2 --run dev-1.1");
    assert_eq!(finished.at("/data/next"), "piton archive dev-1.2");
    let written = sandbox.read(path);
    assert!(written.contains("completed_stories: [\"1.1\", \"1.2\"]"), "{written}");
    run(&sandbox, "plan dev-1.2");
}
