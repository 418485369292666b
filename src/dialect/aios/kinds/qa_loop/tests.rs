use super::QA_LOOP;
use crate::{
    dialect::{
        Loaded,
        aios::state_testing::{codes, files, steps},
    },
    model::{ReviewVerdict, RunStatus, StepKind},
};

const STATE: &str = "qa/2.1/loop-status.json";
const REVIEWING: &str = r#"{"iteration":1,"reviewedAt":null,"verdict":null,"fixedAt":null}"#;
const REJECTED: &str = r#"{"iteration":1,"reviewedAt":"2026-01-31T11:10:00Z","verdict":"REJECT","fixedAt":null}"#;
const FIXED: &str =
    r#"{"iteration":1,"reviewedAt":"2026-01-31T11:10:00Z","verdict":"REJECT","fixedAt":"2026-01-31T11:20:00Z"}"#;
const APPROVED: &str = r#"{"iteration":1,"reviewedAt":"2026-01-31T11:10:00Z","verdict":"APPROVE","fixedAt":null}"#;
const BLOCKED: &str = r#"{"iteration":1,"reviewedAt":"2026-01-31T11:10:00Z","verdict":"BLOCKED","fixedAt":null}"#;

fn qa(status: &str, current: u32, max: u32, history: &[&str]) -> Loaded {
    let text = format!(
        r#"{{"storyId":"2.1","currentIteration":{current},"maxIterations":{max},"status":"{status}",
            "startedAt":"2026-01-31T11:00:00Z","updatedAt":"2026-01-31T11:30:00Z","history":[{}]}}"#,
        history.join(",")
    );
    QA_LOOP.load(&files(STATE, &text))
}

#[test]
fn the_history_says_what_comes_next_and_no_iteration_is_used_up() {
    for (status, current, history, expected) in [
        ("pending", 0, None, vec!["review-1 pending"]),
        ("pending", 1, None, vec!["review-1 pending"]),
        ("in_progress", 0, None, vec!["review-1 pending"]),
        ("in_progress", 1, None, vec!["review-1 in_progress"]),
        ("in_progress", 1, Some(REVIEWING), vec!["review-1 in_progress"]),
        ("in_progress", 1, Some(REJECTED), vec!["review-1 completed", "fix-1 pending", "review-2 pending"]),
        ("in_progress", 1, Some(FIXED), vec!["review-1 completed", "fix-1 completed", "review-2 pending"]),
        ("in_progress", 2, Some(FIXED), vec!["review-1 completed", "fix-1 completed", "review-2 in_progress"]),
        ("in_progress", 1, Some(APPROVED), vec!["review-1 in_progress"]),
        ("in_progress", 1, Some(BLOCKED), vec!["review-1 failed"]),
        ("completed", 1, Some(APPROVED), vec!["review-1 completed"]),
        ("stopped", 0, None, vec!["review-1 pending"]),
        ("stopped", 1, Some(REVIEWING), vec!["review-1 in_progress"]),
        ("stopped", 1, Some(REJECTED), vec!["review-1 completed", "fix-1 pending", "review-2 pending"]),
        ("stopped", 1, Some(FIXED), vec!["review-1 completed", "fix-1 completed", "review-2 pending"]),
        ("stopped", 2, Some(FIXED), vec!["review-1 completed", "fix-1 completed", "review-2 pending"]),
        ("escalated", 1, Some(FIXED), vec!["review-1 completed", "fix-1 completed", "escalation pending"]),
        ("escalated", 1, Some(REJECTED), vec!["review-1 completed", "escalation pending"]),
        ("escalated", 1, Some(BLOCKED), vec!["review-1 failed", "escalation pending"]),
    ] {
        let loaded = qa(status, current, 5, history.as_slice());
        assert_eq!(steps(&loaded), expected, "{status} {current} {history:?}");
        assert_eq!(codes(&loaded), [""; 0], "{status} {current} {history:?}");
    }
}

#[test]
fn the_last_iteration_ends_with_a_person() {
    for (max, history, expected) in [
        (1, REJECTED, vec!["review-1 completed", "fix-1 pending", "escalation pending"]),
        (1, FIXED, vec!["review-1 completed", "fix-1 completed", "escalation pending"]),
        (2, FIXED, vec!["review-1 completed", "fix-1 completed", "review-2 pending"]),
    ] {
        let loaded = qa("in_progress", 1, max, &[history]);
        assert_eq!(steps(&loaded), expected, "{max} {history}");
        let run = loaded.run.unwrap();
        let gates: Vec<_> = run.steps.iter().filter(|step| step.kind == StepKind::Gate).collect();
        assert_eq!(gates.len(), usize::from(max == 1));
        assert!(gates.iter().all(|gate| gate.title == "Decide how to continue the story: 1 of 1 reviews were used"));
    }
}

#[test]
fn verdicts_stay_with_their_reviews() {
    for (history, expected) in
        [(APPROVED, Some(ReviewVerdict::Approved)), (BLOCKED, Some(ReviewVerdict::Rejected)), (REJECTED, None)]
    {
        let run = qa("in_progress", 1, 5, &[history]).run.unwrap();
        assert_eq!(run.steps[0].review.as_ref().map(|review| review.verdict), expected, "{history}");
    }
}

#[test]
fn a_loop_has_the_status_that_its_history_bears_out() {
    for (status, history, expected, finding) in [
        ("completed", APPROVED, RunStatus::Completed, None),
        ("completed", REJECTED, RunStatus::Active, Some("state-corrupt")),
        ("stopped", REJECTED, RunStatus::Paused, None),
        ("escalated", REJECTED, RunStatus::Active, None),
        ("waiting", REJECTED, RunStatus::Active, Some("status-unknown")),
    ] {
        let loaded = qa(status, 1, 5, &[history]);
        assert_eq!(loaded.run.as_ref().unwrap().status, expected, "{status} {history}");
        assert_eq!(codes(&loaded), Vec::from_iter(finding), "{status} {history}");
    }
}

#[test]
fn nexos_writes_the_same_in_its_own_way() {
    let text = "story_id: 1.10\ncurrent_iteration: 1\nmax_iterations: 3\nhistory:\n  - iteration: 1\n    \
                date: 2026-01-30\n    verdict: REJECT\n    quality_score: 60\n";
    let loaded = QA_LOOP.load(&files("docs/qa/1.10/loop-status.yaml", text));
    assert_eq!(steps(&loaded), ["review-1 completed", "fix-1 pending", "review-2 pending"]);
    assert_eq!(codes(&loaded), [""; 0]);
    let run = loaded.run.unwrap();
    assert_eq!((run.id.as_str(), run.title.as_str()), ("qa-1.10", "QA Loop for story 1.10"));
    assert_eq!(run.stamp.unwrap().to_string(), "2026-01-30T00:00:00Z");
    // Its history says nothing about fixes: an earlier iteration is over, which is no finding.
    let later = text.replace("current_iteration: 1", "current_iteration: 2");
    let loaded = QA_LOOP.load(&files("docs/qa/1.10/loop-status.yaml", &later));
    assert_eq!(steps(&loaded), ["review-1 completed", "fix-1 completed", "review-2 pending"]);
    assert_eq!(codes(&loaded), [""; 0]);
}

#[test]
fn what_cannot_be_used_is_said_and_the_rest_is_read() {
    for (from, to, expected, finding) in [
        ("\"history\":[", "\"history\":[7,", "review-1 completed", "field-ignored"),
        ("\"maxIterations\":5", "\"maxIterations\":\"many\"", "review-1 completed", "field-ignored"),
        ("\"storyId\":\"2.1\"", "\"storyId\":[\"2.1\"]", "review-1 completed", "field-ignored"),
        ("\"storyId\":\"2.1\"", "\"storyId\":\"9.9\"", "review-1 completed", "id-mismatch"),
        ("11:30:00Z", "soon", "review-1 completed", "field-ignored"),
        ("11:30:00Z", "10:30:00Z", "review-1 completed", "owner-gone"),
        ("\"currentIteration\":1", "\"currentIteration\":0", "review-1 completed", "state-corrupt"),
        ("\"REJECT\"", "\"MAYBE\"", "review-1 pending", "verdict-unknown"),
        ("\"2026-01-31T11:10:00Z\"", "null", "review-1 in_progress", "state-corrupt"),
    ] {
        let text = format!(
            "{{\"storyId\":\"2.1\",\"currentIteration\":1,\"maxIterations\":5,\"status\":\"in_progress\",\
             \"updatedAt\":\"2026-01-31T11:30:00Z\",\"history\":[{REJECTED}]}}"
        );
        assert!(text.contains(from), "{from}");
        let loaded = QA_LOOP.load(&files(STATE, &text.replacen(from, to, 1)));
        assert_eq!(steps(&loaded)[0], expected, "{to}");
        assert_eq!(codes(&loaded), [finding], "{to}");
    }
}

#[test]
fn a_loop_that_does_not_parse_is_no_run() {
    let loaded = QA_LOOP.load(&files(STATE, "{\"storyId\": "));
    assert!(loaded.run.is_none());
    assert_eq!(codes(&loaded), ["state-unreadable"]);
}

#[test]
fn enormous_counts_make_no_enormous_plan() {
    let loaded = qa("in_progress", u32::MAX, u32::MAX, &[FIXED]);
    assert_eq!(steps(&loaded), ["review-1 completed", "fix-1 completed", "review-4294967295 in_progress"]);
}
