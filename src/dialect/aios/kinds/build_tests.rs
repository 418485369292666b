use super::BUILD;
use crate::{
    dialect::{
        Loaded,
        aios::state_testing::{codes, files, steps},
    },
    model::RunStatus,
};

fn build(status: &str, current: &str, failed: &str) -> Loaded {
    let text = format!(
        r#"{{"storyId":"2.1","status":"{status}","startedAt":"2026-01-31T11:00:00Z","lastCheckpoint":"2026-01-31T11:30:00Z",
            "currentSubtask":{current},"completedSubtasks":["1.1","1.2"],"failedAttempts":[{failed}],"worktree":null,
            "checkpoints":[],"abandoned":false,"abandonedAt":null,"config":{{}},"schemaVersion":"1.0.0"}}"#
    );
    BUILD.load(&files("plan/build-state.json", &text))
}

#[test]
fn a_build_goes_on_with_the_subtask_in_hand() {
    let (done, no) = (["1.1 completed", "1.2 completed"], r#"{"subtaskId":"2.1","attempt":1,"error":"no"}"#);
    for (status, current, failed, last, expected, finding) in [
        ("in_progress", "\"2.1\"", "", Some("2.1 in_progress"), RunStatus::Active, None),
        ("in_progress", "\"2.1\"", no, Some("2.1 failed"), RunStatus::Active, None),
        ("in_progress", "\"1.2\"", "", Some("next pending"), RunStatus::Active, None),
        ("in_progress", "null", "", Some("next pending"), RunStatus::Active, None),
        ("paused", "\"2.1\"", "", Some("2.1 in_progress"), RunStatus::Paused, None),
        ("abandoned", "\"2.1\"", "", Some("2.1 in_progress"), RunStatus::Paused, None),
        ("failed", "\"2.1\"", no, Some("2.1 failed"), RunStatus::Active, Some("run-failed")),
        ("completed", "null", "", None, RunStatus::Completed, None),
        ("great", "null", "", Some("next pending"), RunStatus::Active, Some("status-unknown")),
        ("in_progress", "[2]", "", Some("next pending"), RunStatus::Active, Some("field-ignored")),
    ] {
        let loaded = build(status, current, failed);
        let expected_steps: Vec<&str> = done.into_iter().chain(last).collect();
        assert_eq!(steps(&loaded), expected_steps, "{status} {current}");
        assert_eq!(codes(&loaded), Vec::from_iter(finding), "{status} {current}");
        let run = loaded.run.unwrap();
        assert_eq!((run.id.as_str(), run.status), ("build-2.1", expected), "{status} {current}");
    }
}

#[test]
fn failures_are_counted_for_their_own_subtask() {
    let attempts =
        r#"{"subtaskId":"1.2","error":"old"},{"subtaskId":"2.1","error":"one"},{"subtaskId":"2.1","error":7}"#;
    let run = build("in_progress", "\"2.1\"", attempts).run.unwrap();
    let step = run.steps.last().unwrap();
    assert_eq!((step.failures, step.error.as_deref()), (2, Some("7")));
    assert_eq!(step.past_errors, ["one", "7"]);
}

fn paths(worktree: &str, plan: &str, total: u32) -> Loaded {
    let text = format!(
        r#"{{"storyId":"2.1","status":"paused","completedSubtasks":["1.1"],"worktree":"{worktree}","plan":"{plan}",
            "checkpoints":[{{"subtaskId":"1.1","gitCommit":"deadbee"}},{{"subtaskId":"1.1","gitCommit":"no commit"}}],
            "metrics":{{"totalSubtasks":{total}}}}}"#
    );
    BUILD.load(&files("plan/build-state.json", &text))
}

#[test]
fn where_a_build_works_and_what_it_was_made_from_is_looked_at() {
    let loaded = paths("/project/.aiox/worktrees/2.1", "plan/implementation.yaml", 0);
    assert_eq!(codes(&loaded), [""; 0]);
    assert_eq!(loaded.wanted.workspace.unwrap().unwrap().as_str(), ".aiox/worktrees/2.1");
    assert_eq!(loaded.wanted.documents[0].as_str(), "plan/implementation.yaml");
    assert_eq!(loaded.wanted.commits, ["deadbee"]);
    let run = loaded.run.unwrap();
    assert_eq!(run.workspace.plan_reference.as_deref(), Some("plan/implementation.yaml"));
    // Another machine's.
    let loaded = paths("/Users/x/worktrees/2.1", "../plan.yaml", 0);
    assert_eq!(codes(&loaded), ["field-ignored"; 2]);
    assert_eq!(loaded.wanted.workspace, None);
}

#[test]
fn how_many_subtasks_there_are_says_whether_another_comes() {
    for (total, expected) in [
        (0, vec!["1.1 completed", "next pending"]),
        (1, vec!["1.1 completed"]),
        (2, vec!["1.1 completed", "next pending"]),
    ] {
        let loaded = paths("", "", total);
        assert_eq!(steps(&loaded), expected, "{total}");
    }
    let title = paths("", "", 3).run.unwrap().steps[1].title.clone();
    assert_eq!(title, "The next subtask of the plan, 1 of 3 done");
}

#[test]
fn a_build_that_said_nothing_for_an_hour_is_abandoned() {
    for (last, finding) in [("11:00:00Z", None), ("10:59:59Z", Some("owner-gone"))] {
        let text = format!(
            r#"{{"storyId":"2.1","status":"in_progress","lastCheckpoint":"2026-01-31T{last}","currentSubtask":"1.1","checkpoints":[]}}"#
        );
        assert_eq!(codes(&BUILD.load(&files("plan/build-state.json", &text))), Vec::from_iter(finding), "{last}");
    }
    // That it was abandoned in between is newer, and no sign of its runner.
    let text = r#"{"storyId":"2.1","status":"in_progress","lastCheckpoint":"2026-01-31T10:00:00Z","currentSubtask":"1.1",
        "checkpoints":[],"abandoned":false,"abandonedAt":"2026-01-31T11:50:00Z"}"#;
    let loaded = BUILD.load(&files("plan/build-state.json", text));
    assert_eq!(codes(&loaded), ["owner-gone"]);
    assert_eq!(loaded.run.unwrap().stamp.unwrap().to_string(), "2026-01-31T11:50:00Z");
}
