//! Every kind of saved state beside epics, QA loops and development cycles: what it is called and where it continues.

use serde_json::Value;

use crate::support::Sandbox;

/// A state, and what its plan says: run, title, exit code, action, step, agent.
struct Case {
    path: &'static str,
    text: &'static str,
    run: (&'static str, &'static str),
    code: i32,
    next: (&'static str, &'static str, Option<&'static str>),
}

const GUIDED: Case = Case {
    path: ".aiox/greenfield-20260131-abc123-state.yaml",
    text: "state_version: \"2.0\"\nworkflow_name: Greenfield\ninstance_id: greenfield-20260131-abc123\nupdated_at: \"2026-01-31T11:30:00Z\"\n\
           status: active\ncurrent_step_index: 1\nsteps:\n  - { step_index: 0, agent: \"@analyst\", action: Write the brief, status: completed }\n  \
           - { step_index: 1, agent: \"@pm\", action: Write the PRD, status: in_progress }\n  \
           - { step_index: 2, agent: \"@architect\", action: Draw, status: pending, optional: true }\n",
    run: ("workflow-greenfield-20260131-abc123", "Workflow Greenfield"),
    code: 0,
    next: ("retry", "step-1", Some("pm")),
};

const PAUSED: Case = Case {
    path: ".nexos/workflow-state/1-state.yaml",
    text: "workflow: story-development-cycle\ncurrent_story: docs/stories/1.2.story.md\ncurrent_phase: checkpoint\n\
           paused_at: 2026-01-31T11:30:00Z\nepic_id: 1\nepic_progress:\n  completed_stories: 2\n  next_story: 1.10\n  remaining_count: 3\n",
    run: ("dev-1.2", "Development Cycle for story 1.2"),
    code: 0,
    next: ("run", "1.10", Some("dev")),
};

const ENGINE: Case = Case {
    path: ".aiox/release-engine-state.yaml",
    text: "engine_state:\n  mode: engine\n  workflow_name: Release\n  instance_id: release\n  status: active\n  updated_at: \"2026-01-31T11:30:00Z\"\n  \
           current_step_index: 1\n  action_steps_completed: 1\n  action_steps_total: 3\n  step_results:\n    brief: { status: completed }\n",
    run: ("workflow-release", "Workflow Release"),
    code: 0,
    next: ("run", "next-1", None),
};

const ADE: Case = Case {
    path: ".aiox/master-orchestrator/3.2.json",
    text: r#"{"workflowId":"master-ade-3.2","storyId":"3.2","status":"in_progress","currentEpic":4,
              "timestamps":{"startedAt":"2026-01-31T10:00:00Z","updatedAt":"2026-01-31T11:30:00Z"},
              "epics":{"3":{"status":"completed"},"4":{"status":"in_progress","attempts":1},"5":{"status":"pending"},"6":{"status":"pending"}}}"#,
    run: ("ade-3.2", "Master Orchestration for story 3.2"),
    code: 0,
    next: ("retry", "epic-4", Some("dev")),
};

const PHASES: Case = Case {
    path: ".aiox/workflow-state/brownfield.json",
    text: r#"{"workflowId":"brownfield","status":"in_progress","startedAt":"2026-01-31T10:00:00Z","updatedAt":"2026-01-31T11:30:00Z",
              "currentPhase":1,"phases":{"1":{"agent":"architect","completedAt":"2026-01-31T11:30:00Z",
              "handoff":{"to":{"phase":2,"agent":"pm"}}}},"metadata":{"delivery_confidence":null}}"#,
    run: ("workflow-brownfield", "Workflow brownfield"),
    code: 0,
    next: ("run", "phase-2", Some("pm")),
};

const BOB: Case = Case {
    path: "docs/stories/.session-state.yaml",
    text: "session_state:\n  version: \"1.2\"\n  last_updated: \"2026-01-31T11:45:00Z\"\n  epic: { id: 12, title: Login, total_stories: 2 }\n  \
           progress: { current_story: 12.1, stories_done: [], stories_pending: [12.1, 12.2] }\n  \
           workflow: { current_phase: quality_gate, attempt_count: 1, phase_results: {} }\n  last_action: { type: PHASE_CHANGE }\n",
    run: ("bob-12", "Bob Session for Epic 12: Login"),
    code: 0,
    next: ("retry", "12.1:quality_gate", None),
};

const BUILD: Case = Case {
    path: "plan/build-state.json",
    text: r#"{"storyId":"2.1","status":"in_progress","startedAt":"2026-01-31T11:00:00Z","lastCheckpoint":"2026-01-31T11:30:00Z",
              "currentSubtask":"1.2","completedSubtasks":["1.1"],"failedAttempts":[],"worktree":null,"checkpoints":[],"abandoned":false}"#,
    run: ("build-2.1", "Build for story 2.1"),
    code: 0,
    next: ("retry", "1.2", Some("dev")),
};

const RECORD: Case = Case {
    path: ".nexos/workflow-state/sdc-state.yaml",
    text: "execution_id: sdc-2026-01-31-001\nworkflow: sdc\nstarted_at: 2026-01-31T10:00:00Z\nupdated_at: 2026-01-31T11:30:00Z\n\
           current_phase: 3\ncurrent_agent: \"@dev\"\nstatus: active\nphases_completed: [1, 2]\n",
    run: ("workflow-sdc-2026-01-31-001", "Orchestration sdc-2026-01-31-001"),
    code: 0,
    next: ("retry", "phase-3", Some("dev")),
};

/// It counts waves, and names neither a plan nor stories.
const PIPELINE: Case = Case {
    path: ".aiox/workflow-state/7-pipeline.json",
    text: r#"{"epicId":"7","status":"active","updated_at":"2026-01-31T11:30:00Z","total_waves":2,"last_completed_wave":1}"#,
    run: ("epic-7", "Epic Execution for Epic 7"),
    code: 9,
    next: ("run", "gate-2", None),
};

/// Returns the path and the text of a state of each kind.
pub(crate) fn states() -> impl Iterator<Item = (&'static str, &'static str)> {
    CASES.iter().map(|case| (case.path, case.text))
}

const CASES: [&Case; 9] = [&GUIDED, &PAUSED, &ENGINE, &ADE, &PHASES, &BOB, &BUILD, &RECORD, &PIPELINE];

#[test]
fn every_kind_continues_where_its_state_says() {
    for case in CASES {
        let sandbox = Sandbox::new();
        sandbox.file(case.path, case.text);
        let before = sandbox.tree();
        let plan = sandbox.piton(["plan", "--native"]).run().expect_code(case.code);
        assert_eq!(plan.at("/data/run/id"), case.run.0, "{plan}");
        assert_eq!(plan.at("/data/run/title"), case.run.1, "{plan}");
        assert_eq!(plan.at("/data/next/0/action"), case.next.0, "{plan}");
        assert_eq!(plan.at("/data/next/0/step"), case.next.1, "{plan}");
        assert_eq!(plan.at("/data/next/0/agent"), case.next.2.map_or(Value::Null, Value::from), "{plan}");
        assert_eq!(plan.at("/data/next/1"), Value::Null, "{plan}");
        assert_eq!(plan.at("/data/native/state_source"), case.path);
        assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
        let list = sandbox.piton(["list"]).run().expect_code(0);
        assert_eq!(list.at("/data/runs/0/id"), case.run.0);
        let context = sandbox.piton(["context", "--native"]).run().expect_code(0);
        assert!(context.stdout.contains(case.path), "{context}");
    }
}

#[test]
fn a_kind_is_known_by_its_content_under_the_name_of_any_other() {
    let names = [
        ".aiox/x-state.yaml",
        ".aiox/x-engine-state.yaml",
        ".aiox/workflow-state/x-state.yaml",
        ".nexos/workflow-state/x-state.yaml",
        ".aiox/workflow-state/x.json",
        ".aiox/master-orchestrator/x.json",
        ".aios/anything.yml",
    ];
    for case in CASES.into_iter().filter(|case| case.run.0 != "epic-7") {
        for name in names {
            let sandbox = Sandbox::new();
            sandbox.file(name, case.text);
            let list = sandbox.piton(["list"]).run().expect_code(0);
            assert_eq!(list.at("/data/runs/0/id"), case.run.0, "{name}: {list}");
            assert_eq!(list.findings(), [""; 0], "{name}: {list}");
        }
    }
}

#[test]
fn an_aborted_or_finished_run_is_not_resumed_automatically() {
    for (case, from, to) in [
        (&GUIDED, "status: active", "status: aborted"),
        (&ENGINE, "status: active", "status: aborted"),
        (&BOB, "PHASE_CHANGE", "ABORT"),
        (&RECORD, "status: active", "status: aborted"),
        (&PAUSED, "paused_at: 2026-01-31T11:30:00Z", "status: aborted\naborted_at: 2026-01-31T11:30:00Z"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(case.path, &case.text.replace(from, to));
        let plan = sandbox.piton(["plan"]).run().expect_code(9);
        assert!(plan.findings().contains(&"run-aborted".to_owned()), "{}: {plan}", case.path);
        sandbox.piton(["list"]).run().expect_code(3);
    }
}

#[test]
fn a_state_that_only_counts_waves_is_planned_and_no_command_records_in_it() {
    let sandbox = Sandbox::new();
    sandbox.file(PIPELINE.path, PIPELINE.text);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(
        (plan.at("/data/commands/begin"), plan.at("/data/commands/resume")),
        (Value::Null, Value::Null),
        "{plan}"
    );
    let context = sandbox.piton(["context"]).run().expect_code(0);
    let report = format!("the agent that does it updates {}, which Piton only reads", PIPELINE.path);
    assert_eq!(context.at("/data/report"), report);
    assert!(context.stdout.contains("last_completed_wave"), "the way to record it: {context}");
    sandbox.piton(["resume", "--yes"]).run().expect_code(1);
    sandbox.piton(["resume"]).run().expect_code(1);
    assert_eq!(plan.at("/data/question"), Value::Null, "no answer would be recorded: {plan}");
    assert_eq!(sandbox.read(PIPELINE.path), PIPELINE.text);
}

#[test]
fn a_phase_of_a_record_that_is_done_again_is_no_longer_completed() {
    for completed in ["[1, 2]", "[{ phase: 1 }, { phase: 2 }]"] {
        let sandbox = Sandbox::new();
        sandbox.file(RECORD.path, &RECORD.text.replace("[1, 2]", completed));
        sandbox.piton(["redo", "phase-2", "--by", "Ada", "--note", "again"]).run().expect_code(0);
        sandbox.piton(["begin", "phase-2"]).run().expect_code(0);
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.at("/data/steps/in_progress/0"), "phase-2", "{plan}");
        assert_eq!(plan.at("/data/steps/completed/1"), Value::Null, "{plan}");
    }
}

#[test]
fn a_report_offers_only_what_the_format_can_record() {
    for (case, step, offered) in [
        (&GUIDED, "step-1", false),
        (&PAUSED, "1.10", false),
        (&RECORD, "phase-3", false),
        (&ADE, "epic-4", true),
        (&PHASES, "phase-2", true),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(case.path, case.text);
        let report = sandbox.piton(["context"]).run().expect_code(0).at("/data/report");
        let report = report.as_str().unwrap();
        assert!(report.contains(&format!("piton finish {step} --run")), "{report}");
        assert_eq!(report.contains("--status failed"), offered, "{report}");
    }
}

#[test]
fn a_phase_is_in_progress_in_the_log_of_piton() {
    let sandbox = Sandbox::new();
    sandbox.file(PHASES.path, PHASES.text);
    let call = |command: &str| sandbox.piton(command.split(' ')).env("PITON_SESSION", "one").run();
    call("begin phase-2").expect_code(0);
    assert_eq!(call("plan").at("/data/steps/in_progress/0"), "phase-2");
    assert_eq!(call("begin phase-2").expect_code(0).at("/data/recorded"), false);
    call("finish phase-2 --status failed --error timeout").expect_code(0);
    assert_eq!(call("plan").at("/data/steps/failed/0"), "phase-2");
    // A phase that a person wants done again is no longer over.
    call("redo phase-1 --by Ada --note again").expect_code(0);
    call("begin phase-1").expect_code(0);
    assert_eq!(call("plan").at("/data/steps/in_progress/0"), "phase-1");
}

#[test]
fn a_push_that_was_cut_off_is_for_a_person() {
    let sandbox = Sandbox::new();
    sandbox.file(BOB.path, &BOB.text.replace("current_phase: quality_gate", "current_phase: push"));
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert!(plan.findings().contains(&"outcome-unknown".to_owned()), "{plan}");
}

#[test]
fn of_two_states_of_one_run_the_newer_counts_and_the_other_is_named() {
    let sandbox = Sandbox::new();
    let state = |iteration: u32, minute: u32| {
        format!(
            "{{\"storyId\":\"2.1\",\"currentIteration\":{iteration},\"maxIterations\":5,\"status\":\"in_progress\",\
             \"updatedAt\":\"2026-01-31T11:{minute}:00Z\",\"history\":[]}}"
        )
    };
    sandbox.file("qa/loop-status.json", &state(3, 40)).file("qa/2.1/loop-status.json", &state(2, 30));
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!(list.at("/data/runs/0/state"), "qa/loop-status.json");
    assert_eq!(list.at("/data/runs/1"), Value::Null);
    assert_eq!(list.findings(), ["state-superseded"]);
    assert_eq!(list.at("/findings/0/file"), "qa/2.1/loop-status.json");
    // In YAML the epic counts, for any timestamp.
    let sandbox = Sandbox::new();
    sandbox.file("docs/stories/7.1.story.md", "# Story 7.1: x\n\n**Status:** Draft\n");
    let yaml = "epic_state:\n  epicId: 7\n  status: active\n  updated_at: \"2026-01-31T08:00:00Z\"\n  waves:\n    1: { status: pending, stories: { 7.1: { status: pending } } }\n";
    let json = r#"{"epicId":"7","updated_at":"2026-01-31T11:00:00Z","waves":{"1":{"status":"completed","stories":{"7.1":{"status":"completed"}}}}}"#;
    sandbox.file(".aiox/epic-7-state.yaml", yaml).file(".aiox/workflow-state/7-pipeline.json", json);
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!(list.at("/data/runs/0/state"), ".aiox/epic-7-state.yaml");
    assert_eq!(list.findings(), ["state-superseded"]);
}

#[test]
fn a_state_of_a_newer_version_is_read_and_never_written() {
    let ade = ADE.text.replacen('{', "{\"schemaVersion\": \"2.0\", ", 1);
    let guided = GUIDED.text.replace("\"2.0\"", "\"3.0\"");
    let bob = BOB.text.replace("\"1.2\"", "\"2.0\"");
    for (case, text) in [(&ADE, ade), (&GUIDED, guided), (&BOB, bob)] {
        let sandbox = Sandbox::new();
        sandbox.file(case.path, &text);
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.at("/data/next/0/step"), case.next.1, "{plan}");
        assert!(plan.findings().iter().any(|finding| finding.contains("format-newer")), "{plan}");
        sandbox.piton(["begin", case.next.1]).run().expect_code(5);
        assert_eq!(sandbox.read(case.path), text);
    }
}

#[test]
fn a_changed_artifact_does_not_reopen_a_finished_workflow() {
    let sandbox = Sandbox::new();
    let artifacts = "artifacts:\n  - { name: brief, created_by_step: 0, path: docs/brief.md, status: created }\n";
    let over =
        GUIDED.text.replace("active", "completed").replace("in_progress", "completed").replace("pending", "skipped");
    sandbox.file(GUIDED.path, &format!("{over}{artifacts}"));
    sandbox.piton(["list"]).run().expect_code(3);
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).at("/data/verdict"), "complete");
}

#[test]
fn attempts_are_failures_where_an_orchestration_counts_no_retries() {
    for (retries, is_over_the_limit) in [("{}", true), (r#"{"4":1}"#, false), (r#"{"4":3}"#, true)] {
        let sandbox = Sandbox::new();
        let state = r#"{"workflowId":"master-ade-3.2","storyId":"3.2","status":"in_progress","currentEpic":4,"timestamps":{"updatedAt":"2026-01-31T11:30:00Z"},"retryCount":RETRIES,"epics":{"3":{"status":"completed"},"4":{"status":"failed","attempts":3,"errors":[]},"6":{"status":"pending"}}}"#;
        sandbox.file(".aiox/master-orchestrator/3.2.json", &state.replace("RETRIES", retries));
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.findings().contains(&"attempt-limit".to_owned()), is_over_the_limit, "{retries}: {plan}");
    }
}
