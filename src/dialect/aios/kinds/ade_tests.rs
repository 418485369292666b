use super::ADE;
use crate::{
    dialect::{
        Loaded,
        aios::state_testing::{codes, files, steps},
    },
    model::{ReviewVerdict, RunStatus},
};

const STATE: &str = ".aiox/master-orchestrator/3.2.json";

fn orchestration(status: &str, current: &str, epics: &str, more: &str) -> Loaded {
    let text = format!(
        r#"{{"schemaVersion":"1.0","workflowId":"master-ade-3.2","storyId":"3.2","status":"{status}","currentEpic":{current},
            "timestamps":{{"startedAt":"2026-01-31T10:00:00Z","updatedAt":"2026-01-31T11:00:00Z","savedAt":null}},
            "epics":{{{epics}}},"retryCount":{{}}{more}}}"#
    );
    ADE.load(&files(STATE, &text))
}

/// Epics 3, 4, 5 and 6 with these statuses.
fn epics(statuses: [&str; 4]) -> String {
    let epic =
        |(number, status): (&str, &str)| format!(r#""{number}":{{"status":"{status}","attempts":1,"errors":[]}}"#);
    ["3", "4", "5", "6"].into_iter().zip(statuses).map(epic).collect::<Vec<_>>().join(",")
}

#[test]
fn the_epic_that_is_named_goes_on_and_then_the_first_that_is_not_completed() {
    let (done, run, no) = ("completed", "in_progress", "pending");
    for (current, statuses, position, expected, finding) in [
        ("null", [no, no, no, no], Some("epic-3"), vec!["epic-3 pending", "epic-4 pending", "epic-6 pending"], None),
        ("3", [done, no, no, no], Some("epic-4"), vec!["epic-3 completed", "epic-4 pending", "epic-6 pending"], None),
        (
            "4",
            [done, run, no, no],
            Some("epic-4"),
            vec!["epic-3 completed", "epic-4 in_progress", "epic-6 pending"],
            None,
        ),
        (
            "5",
            [done, "failed", run, no],
            Some("epic-5"),
            vec!["epic-3 completed", "epic-4 failed", "epic-5 in_progress", "epic-6 pending"],
            Some("state-corrupt"),
        ),
        (
            "4",
            [no, run, no, no],
            Some("epic-4"),
            vec!["epic-3 pending", "epic-4 in_progress", "epic-6 pending"],
            Some("state-corrupt"),
        ),
        (
            "6",
            [done, done, done, done],
            None,
            vec!["epic-3 completed", "epic-4 completed", "epic-5 completed", "epic-6 completed"],
            None,
        ),
        ("9", [done, no, no, no], Some("epic-4"), vec!["epic-3 completed", "epic-4 pending", "epic-6 pending"], None),
        (
            "4",
            [done, "great", no, no],
            Some("epic-4"),
            vec!["epic-3 completed", "epic-4 pending", "epic-6 pending"],
            Some("status-unknown"),
        ),
    ] {
        let loaded = orchestration("in_progress", current, &epics(statuses), "");
        assert_eq!(steps(&loaded), expected, "{current} {statuses:?}");
        assert_eq!(codes(&loaded), Vec::from_iter(finding), "{current} {statuses:?}");
        let run = loaded.run.unwrap();
        assert_eq!(run.position.as_ref().map(|id| id.as_str()), position, "{current} {statuses:?}");
        assert_eq!((run.id.as_str(), run.title.as_str()), ("ade-3.2", "Master Orchestration for story 3.2"));
    }
}

#[test]
fn what_is_open_waits_for_the_epic_that_is_named() {
    let run =
        orchestration("in_progress", "4", &epics(["pending", "in_progress", "pending", "pending"]), "").run.unwrap();
    let needs: Vec<Vec<&str>> =
        run.steps.iter().map(|step| step.depends_on.iter().map(|id| id.as_str()).collect()).collect();
    assert_eq!(needs, [vec!["epic-4"], vec![], vec!["epic-3"]]);
}

#[test]
fn a_run_is_what_its_status_says() {
    let open = epics(["completed", "pending", "pending", "pending"]);
    let over = epics(["completed", "completed", "pending", "completed"]);
    for (status, epics, expected, finding) in [
        ("initialized", &open, RunStatus::Active, None),
        ("ready", &open, RunStatus::Active, None),
        // Written by the command line, and in no list of its own.
        ("stopped", &open, RunStatus::Paused, None),
        ("blocked", &open, RunStatus::Active, Some("run-failed")),
        ("complete", &over, RunStatus::Completed, None),
        ("complete", &open, RunStatus::Active, Some("state-corrupt")),
        ("great", &open, RunStatus::Active, Some("status-unknown")),
    ] {
        let loaded = orchestration(status, "3", epics, "");
        assert_eq!(codes(&loaded), Vec::from_iter(finding), "{status}");
        assert_eq!(loaded.run.unwrap().status, expected, "{status}");
    }
}

#[test]
fn the_newest_stamp_counts_and_an_old_state_is_said_to_be_one_its_own_resume_refuses() {
    // Now is 12:00 of 31 January; the stamp beside the others is what the command line writes.
    for (stamp, finding) in [
        ("2026-01-30T12:00:01Z", None),
        ("2026-01-30T12:00:00Z", Some("owner-gone")),
        ("2026-01-29T12:00:00Z", Some("owner-gone")),
    ] {
        let text = format!(
            r#"{{"workflowId":"master-ade-x","timestamps":{{"updatedAt":"2026-01-20T12:00:00Z"}},"updatedAt":"{stamp}","epics":{{}}}}"#
        );
        let loaded = ADE.load(&files(".aiox/master-orchestrator/current.json", &text));
        assert_eq!(codes(&loaded), Vec::from_iter(finding), "{stamp}");
        let run = loaded.run.unwrap();
        assert_eq!((run.id.as_str(), run.stamp.unwrap().to_string().as_str()), ("ade-current", stamp));
    }
}

#[test]
fn a_failed_epic_keeps_what_it_said_and_a_gate_its_verdict() {
    let failed = r#""3":{"status":"failed","attempts":2,"errors":[{"message":"one"},{"message":"two"}]}"#;
    let run = orchestration("in_progress", "3", failed, "").run.unwrap();
    assert_eq!((run.steps[0].failures, run.steps[0].error.as_deref()), (2, Some("two")));
    for (verdict, review, finding) in [
        ("approved", Some(ReviewVerdict::Approved), None),
        ("blocked", Some(ReviewVerdict::Rejected), None),
        ("needs_revision", None, Some("conditions-open")),
        ("great", None, Some("verdict-unknown")),
    ] {
        let epic = format!(r#""3":{{"status":"completed","gateResult":{{"verdict":"{verdict}"}}}}"#);
        let loaded = orchestration("in_progress", "3", &epic, "");
        assert_eq!(codes(&loaded), Vec::from_iter(finding), "{verdict}");
        let step = &loaded.run.unwrap().steps[0];
        assert_eq!(step.review.as_ref().map(|review| review.verdict), review, "{verdict}");
    }
}
