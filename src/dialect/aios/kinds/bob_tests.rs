use super::{BOB, PHASES};
use crate::{
    dialect::{
        Loaded,
        aios::state_testing::{codes, files, steps},
    },
    model::RunStatus,
};

const STATE: &str = "docs/stories/.session-state.yaml";

/// A session in story 12.2 of three, 12.1 being done.
fn session(phase: &str, results: &str, action: &str) -> Loaded {
    let text = format!(
        "session_state:\n  version: \"1.2\"\n  last_updated: \"2026-01-31T11:45:00Z\"\n  epic: {{ id: 12, title: Login, \
         total_stories: 3 }}\n  progress:\n    current_story: 12.2\n    stories_done: [12.1]\n    stories_pending: [12.2, 12.3]\n  \
         workflow:\n    current_phase: {phase}\n    attempt_count: 1\n    phase_results: {results}\n  last_action: {{ type: {action}, \
         story: 12.2 }}\n"
    );
    BOB.load(&files(STATE, &text))
}

/// The phases of story 12.2 with these statuses, between the other two stories.
fn expected(statuses: [&str; 6]) -> Vec<String> {
    let names = ["validation", "development", "self_healing", "quality_gate", "push", "checkpoint"];
    let phases = names.iter().zip(statuses).map(|(name, status)| format!("12.2:{name} {status}"));
    ["12.1 completed".to_owned()].into_iter().chain(phases).chain(["12.3 pending".to_owned()]).collect()
}

#[test]
fn a_session_goes_on_in_the_phase_of_its_story() {
    let (no, run, done, failed, ask) = ("pending", "in_progress", "completed", "failed", "waiting_approval");
    for (phase, results, action, statuses) in [
        ("null", "{}", "STORY_STARTED", [no, no, no, no, no, no]),
        ("validation", "{}", "PHASE_CHANGE", [run, no, no, no, no, no]),
        ("validation", "{ validation: { status: completed } }", "PHASE_CHANGE", [done, no, no, no, no, no]),
        ("self_healing", "{ development: { status: skipped } }", "PHASE_CHANGE", [done, "skipped", run, no, no, no]),
        ("development", "{}", "ERROR_OCCURRED", [done, failed, no, no, no, no]),
        ("push", "{}", "PHASE_CHANGE", [done, done, done, done, run, no]),
        ("checkpoint", "{}", "CHECKPOINT_REACHED", [done, done, done, done, done, ask]),
        ("checkpoint", "{}", "REVIEW", [done, done, done, done, done, ask]),
    ] {
        let loaded = session(phase, results, action);
        assert_eq!(steps(&loaded), expected(statuses), "{phase} {results} {action}");
        assert_eq!(codes(&loaded), [""; 0], "{phase} {results} {action}");
        let run = loaded.run.unwrap();
        assert_eq!((run.id.as_str(), run.title.as_str()), ("bob-12", "Bob Session for Epic 12: Login"));
        let push = run.steps.iter().find(|step| step.id.as_str() == "12.2:push").unwrap();
        assert!(!push.idempotent);
    }
}

#[test]
fn a_story_that_ended_is_over_though_the_lists_lag_and_the_next_is_laid_out() {
    let next = PHASES.map(|(_, name, ..)| format!("12.3:{name} pending"));
    let expected: Vec<String> =
        ["12.1 completed".to_owned(), "12.2 completed".to_owned()].into_iter().chain(next).collect();
    for (phase, action) in [("checkpoint", "GO"), ("checkpoint", "STORY_COMPLETED"), ("null", "STORY_COMPLETED")] {
        let loaded = session(phase, "{}", action);
        assert_eq!(steps(&loaded), expected, "{phase} {action}");
    }
    // A decision at no checkpoint ends nothing.
    assert_eq!(steps(&session("development", "{}", "GO")).len(), 8);
}

#[test]
fn results_of_a_later_phase_are_of_an_earlier_lap() {
    let results = "{ validation: { status: completed }, push: { status: completed } }";
    let loaded = session("validation", results, "PHASE_CHANGE");
    assert_eq!(codes(&loaded), ["state-corrupt"]);
    assert!(loaded.findings[0].message.contains("results of push"), "{}", loaded.findings[0].message);
}

#[test]
fn a_session_rests_where_it_says_and_has_crashed_after_half_an_hour() {
    for (action, expected) in
        [("PAUSE", RunStatus::Paused), ("ABORT", RunStatus::Aborted), ("PHASE_CHANGE", RunStatus::Active)]
    {
        assert_eq!(session("development", "{}", action).run.unwrap().status, expected, "{action}");
    }
    for (stamp, action, finding) in [
        ("2026-01-31T11:30:00Z", "PHASE_CHANGE", None),
        ("2026-01-31T11:29:59Z", "PHASE_CHANGE", Some("owner-gone")),
        ("2026-01-31T11:29:59Z", "PAUSE", None),
        ("2026-01-31T11:29:59Z", "STORY_COMPLETED", None),
        ("2026-01-31T11:29:59Z", "ABORT", None),
    ] {
        let text = format!(
            "session_state:\n  last_updated: \"{stamp}\"\n  epic: {{ id: 1 }}\n  progress: {{ current_story: 1.1 }}\n  \
             last_action: {{ type: {action} }}\n"
        );
        assert_eq!(codes(&BOB.load(&files(STATE, &text))), Vec::from_iter(finding), "{stamp} {action}");
    }
}

#[test]
fn what_the_session_does_not_name_is_said() {
    for (text, finding) in [
        ("session_state:\n  epic: { id: 1, total_stories: 4 }\n  progress: { stories_done: [1.1] }\n", "state-corrupt"),
        (
            "session_state:\n  workflow: { current_phase: lunch }\n  progress: { current_story: 1.1 }\n",
            "status-unknown",
        ),
        ("session_state:\n  progress: { stories_done: 3 }\n", "field-ignored"),
    ] {
        assert_eq!(codes(&BOB.load(&files(STATE, text))), [finding], "{text}");
    }
    // A total of zero divides nothing.
    assert_eq!(codes(&BOB.load(&files(STATE, "session_state:\n  epic: { id: 1, total_stories: 0 }\n"))), [""; 0]);
}
