use super::PAUSED;
use crate::{
    dialect::aios::state_testing::{codes, files, steps},
    model::RunStatus,
};

const STATE: &str = ".aiox/workflow-state/1.2-state.yaml";

#[test]
fn a_cycle_at_rest_goes_on_with_the_next_story() {
    for (text, expected, counted) in [
        (
            "workflow_id: development-cycle\ncurrent_story: /home/x/docs/stories/1.2.story.md\n\
             current_phase: \"6_checkpoint\"\npaused_at: \"2026-01-31T11:30:00Z\"\n\
             epic_progress: { completed_stories: [1.1, 1.2], remaining_stories: [1.3, 1.10] }\n",
            vec!["1.1 completed", "1.2 completed", "1.3 pending", "1.10 pending"],
            0,
        ),
        (
            "workflow: story-development-cycle\ncurrent_story: 1.2\ncurrent_phase: checkpoint\n\
             paused_at: 2026-01-31T11:30:00Z\nepic_id: 1\n\
             epic_progress: { completed_stories: 2, next_story: 1.3, remaining_count: 4 }\n",
            vec!["1.2 completed", "1.3 pending"],
            1,
        ),
        ("current_story: 1.2\npaused_at: 2026-01-31T11:30:00Z\n", vec!["1.2 completed"], 0),
    ] {
        let loaded = PAUSED.load(&files(STATE, text));
        assert_eq!(steps(&loaded), expected, "{text}");
        assert_eq!(codes(&loaded), [""; 0], "{text}");
        let run = loaded.run.unwrap();
        assert_eq!((run.id.as_str(), run.status, run.done_elsewhere), ("dev-1.2", RunStatus::Paused, counted));
        assert_eq!(run.title, "Development Cycle for story 1.2");
        assert_eq!(run.stamp.unwrap().to_string(), "2026-01-31T11:30:00Z");
    }
}

#[test]
fn a_cycle_that_was_given_up_has_its_story_open() {
    let text = "current_story: 1.2\nstatus: aborted\naborted_at: 1769859000000\nabort_reason: scope\n\
                epic_progress: { aborted_at_story: 1.2, remaining_stories: [1.2, 1.3] }\n";
    let loaded = PAUSED.load(&files(STATE, text));
    assert_eq!(steps(&loaded), ["1.2 pending", "1.3 pending"]);
    let run = loaded.run.unwrap();
    assert_eq!(run.status, RunStatus::Aborted);
    assert_eq!(run.stamp.unwrap().to_string(), "2026-01-31T11:30:00Z");
}

#[test]
fn the_newest_stamp_counts() {
    for (text, newest) in [
        ("paused_at: 2026-01-31T11:00:00Z\nstatus: aborted\n", "2026-01-31T11:00:00Z"),
        ("paused_at: 2026-01-31T11:00:00Z\naborted_at: 2026-01-31T11:30:00Z\n", "2026-01-31T11:30:00Z"),
    ] {
        let run = PAUSED.load(&files(STATE, &format!("current_story: 1.2\n{text}"))).run.unwrap();
        assert_eq!((run.status, run.stamp.unwrap().to_string().as_str()), (RunStatus::Aborted, newest), "{text}");
        assert_eq!(run.started_at, None);
    }
}

#[test]
fn what_cannot_be_used_is_said() {
    for (text, finding) in [
        ("paused_at: 2026-01-31\n", "state-missing-field"),
        ("current_story: 1.2\npaused_at: soon\n", "field-ignored"),
        ("current_story: 1.2\npaused_at: 2026-01-31\nepic_progress: { remaining_stories: 1.3 }\n", "field-ignored"),
    ] {
        assert_eq!(codes(&PAUSED.load(&files(STATE, text))), [finding], "{text}");
    }
}
