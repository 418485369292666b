use super::PHASES;
use crate::{
    dialect::{
        Loaded,
        aios::state_testing::{codes, files, steps},
    },
    document::{Syntax, parse},
    model::RunStatus,
};

fn workflow(status: &str, phases: &str, more: &str) -> Loaded {
    let text = format!(
        r#"{{"workflowId":"greenfield","status":"{status}","startedAt":"2026-01-31T10:00:00Z","updatedAt":"2026-01-31T11:00:00Z",
            "currentPhase":1,"phases":{phases},"metadata":{{"delivery_confidence":null}}{more}}}"#
    );
    PHASES.load(&files(".aiox/workflow-state/greenfield.json", &text))
}

const ONE: &str = r#""1":{"agent":"pm","action":"brief","completedAt":"2026-01-31T10:30:00Z"}"#;
const TO_TWO: &str = r#""1":{"completedAt":"2026-01-31T10:30:00Z","handoff":{"to":{"phase":2,"agent":"@architect"}}}"#;

#[test]
fn a_workflow_goes_on_behind_the_last_phase_that_was_written() {
    let failed_two = r#""2":{"completedAt":"2026-01-31T10:40:00Z","result":{"status":"failed","error":"no"}}"#;
    let three = r#""3":{"completedAt":"2026-01-31T10:50:00Z"}"#;
    for (status, phases, more, expected, finding) in [
        ("initialized", "{}".to_owned(), "", vec!["phase-1 pending"], None),
        ("in_progress", format!("{{{TO_TWO}}}"), "", vec!["phase-1 completed", "phase-2 pending"], None),
        ("in_progress", format!("{{{ONE}}}"), "", vec!["phase-1 completed", "phase-2 pending"], Some("total-missing")),
        ("in_progress", format!("{{{ONE},{failed_two}}}"), "", vec!["phase-1 completed", "phase-2 failed"], None),
        (
            "failed",
            format!("{{{ONE}}}"),
            r#","failedPhase":2,"error":"no""#,
            vec!["phase-1 completed", "phase-2 failed"],
            Some("run-failed"),
        ),
        ("completed", format!("{{{ONE}}}"), "", vec!["phase-1 completed"], None),
        // A phase that was passed over is not lost.
        (
            "completed",
            format!("{{{ONE},{three}}}"),
            "",
            vec!["phase-1 completed", "phase-2 pending", "phase-3 completed"],
            Some("state-corrupt"),
        ),
    ] {
        let loaded = workflow(status, &phases, more);
        assert_eq!(steps(&loaded), expected, "{status} {phases}");
        assert_eq!(codes(&loaded).first().copied(), finding, "{status} {phases}");
        let run = loaded.run.unwrap();
        assert_eq!((run.id.as_str(), run.title.as_str()), ("workflow-greenfield", "Workflow greenfield"));
    }
}

#[test]
fn the_hand_over_names_the_next_agent_and_a_failure_says_why() {
    let run = workflow("in_progress", &format!("{{{TO_TWO}}}"), "").run.unwrap();
    assert_eq!(run.steps[1].agent.as_deref(), Some("architect"));
    assert_eq!(run.status, RunStatus::Active);
    let run = workflow("failed", &format!("{{{ONE}}}"), r#","failedPhase":2,"error":"no space""#).run.unwrap();
    assert_eq!(run.steps[1].error.as_deref(), Some("no space"));
    assert_eq!(run.steps[0].title, "Phase 1: brief");
}

#[test]
fn the_newest_stamp_is_the_age_for_the_list_and_for_the_plan() {
    for (failed, newest) in [("10:59:00Z", "11:00:00Z"), ("11:05:00Z", "11:05:00Z")] {
        let text = format!(
            r#"{{"workflowId":"greenfield","status":"failed","startedAt":"2026-01-31T10:00:00Z","failedPhase":1,"phases":{{}},
                "updatedAt":"2026-01-31T11:00:00Z","failedAt":"2026-01-31T{failed}"}}"#
        );
        let files = files(".aiox/workflow-state/greenfield.json", &text);
        let listed = PHASES.identify(&parse(text.as_bytes(), Syntax::Yaml).unwrap(), &files.state).stamp;
        let run = PHASES.load(&files).run.unwrap();
        assert_eq!(run.stamp.unwrap().to_string(), format!("2026-01-31T{newest}"));
        assert_eq!(listed, run.stamp, "{failed}");
        assert_eq!(run.started_at.unwrap().to_string(), "2026-01-31T10:00:00Z");
    }
}

#[test]
fn what_cannot_be_used_is_said_and_nothing_is_made_up_without_bound() {
    for (phases, finding) in
        [("{\"first\":{}}", "field-ignored"), ("[]", "state-wrong-type"), ("null", "state-missing-field")]
    {
        assert_eq!(codes(&workflow("in_progress", phases, "")).first(), Some(&finding), "{phases}");
    }
    let far = workflow("in_progress", r#"{"4000000000":{"completedAt":"2026-01-31T10:30:00Z"}}"#, "");
    assert_eq!(steps(&far).len(), 52);
}
