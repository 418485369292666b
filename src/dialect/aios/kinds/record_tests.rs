use super::RECORD;
use crate::{
    dialect::{
        Loaded,
        aios::state_testing::{codes, files, steps},
    },
    model::RunStatus,
};

fn record(workflow: &str, current: &str, status: &str, done: &str) -> Loaded {
    let text = format!(
        "execution_id: sdc-2026-01-31-001\nworkflow: {workflow}\nstarted_at: 2026-01-31T11:00:00Z\ncurrent_phase: {current}\n\
         current_agent: \"@dev\"\nstatus: {status}\nphases_completed: {done}\ncontext: {{}}\n"
    );
    RECORD.load(&files(".nexos/workflow-state/sdc-state.yaml", &text))
}

#[test]
fn a_record_goes_on_in_the_phase_it_names() {
    for (workflow, current, status, done, expected, finding) in [
        ("sdc", "1", "active", "[]", vec!["in_progress", "pending", "pending", "pending"], None),
        ("sdc", "3", "active", "[1, 2]", vec!["completed", "completed", "in_progress", "pending"], None),
        ("sdc", "3", "active", "[Create, validate]", vec!["completed", "completed", "in_progress", "pending"], None),
        (
            "sdc",
            "2",
            "active",
            "[{ phase: 1, agent: sm }, 2]",
            vec!["completed", "completed", "pending", "pending"],
            None,
        ),
        ("sdc", "4", "completed", "[1, 2, 3, 4]", vec!["completed"; 4], None),
        ("spec-pipeline", "1", "paused", "[]", vec!["in_progress", "pending", "pending", "pending", "pending"], None),
        // The number of phases of another workflow is unknown.
        ("release", "2", "active", "[1]", vec!["completed", "in_progress"], None),
        ("release", "1", "active", "[1]", vec!["completed", "pending"], Some("total-missing")),
        ("release", "1", "completed", "[1]", vec!["completed"], None),
        (
            "sdc",
            "3",
            "completed",
            "[1, 2]",
            vec!["completed", "completed", "in_progress", "pending"],
            Some("state-corrupt"),
        ),
        (
            "sdc",
            "2",
            "active",
            "[1, Lunch]",
            vec!["completed", "in_progress", "pending", "pending"],
            Some("state-corrupt"),
        ),
        ("release", "4000000000", "active", "[1]", vec!["completed", "pending"], Some("field-ignored")),
    ] {
        let loaded = record(workflow, current, status, done);
        let expected: Vec<String> =
            expected.iter().enumerate().map(|(at, status)| format!("phase-{} {status}", at + 1)).collect();
        assert_eq!(steps(&loaded), expected, "{workflow} {current} {done}");
        assert_eq!(codes(&loaded).first().copied(), finding, "{workflow} {current} {done}");
        let run = loaded.run.unwrap();
        assert_eq!((run.id.as_str(), run.workflow.as_str()), ("workflow-sdc-2026-01-31-001", workflow));
    }
}

#[test]
fn the_phase_in_hand_has_the_agent_of_the_record_and_the_others_their_own() {
    let run = record("sdc", "4", "paused", "[1, 2, 3]").run.unwrap();
    let agents: Vec<Option<&str>> = run.steps.iter().map(|step| step.agent.as_deref()).collect();
    assert_eq!(agents, [Some("sm"), Some("po"), Some("dev"), Some("dev")]);
    assert_eq!(run.steps[3].title, "QA");
    assert_eq!(run.status, RunStatus::Paused);
}
