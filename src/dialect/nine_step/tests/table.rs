//! The decision table (docs/formats/nine-step.md#decision-table), over what `load` hands to the planner; most of its rows are cases.

use super::{codes, files, finding, load, run, state, step};
use crate::{
    dialect::{Dialect as _, nine_step::NineStep},
    model::{FindingCode, ReviewVerdict, Run, RunStatus, Severity, Status, StepKind},
};

fn at(step: &str, fields: &str) -> Run {
    let last = format!("{{\"phase\": 2, \"step\": {step}, \"agent\": \"someone\", {fields}}}");
    run(&state(&last, "\"total_phases\": 3"))
}

/// Returns the first step that is not done, with its status: what a linear plan turns on.
fn front(run: &Run) -> (String, Status) {
    let open = run.steps.iter().find(|step| !step.status.satisfies());
    open.map_or_else(|| ("none".to_owned(), Status::Completed), |step| (step.id.to_string(), step.status))
}

#[test]
fn a_failure_stands_on_its_step_and_knows_its_way_back() {
    for (number, returns_to) in [
        ("1", None),
        ("2", Some("2:1")),
        ("3", None),
        ("4", Some("2:3")),
        ("5", None),
        ("6", Some("2:5")),
        ("7", None),
        ("8", Some("2:7")),
        ("9", None),
    ] {
        let run = at(number, "\"status\": \"failed\", \"error_message\": \"agent error\"");
        assert_eq!(front(&run), (format!("2:{number}"), Status::Failed));
        let step = step(&run, &format!("2:{number}"));
        assert_eq!(step.returns_to.as_ref().map(|id| id.as_str()), returns_to, "step {number}");
        assert_eq!(step.error.as_deref(), Some("agent error"));
        assert_eq!((step.attempts, step.failures), (1, 1));
    }
}

#[test]
fn a_failure_at_the_gate_is_a_wish_for_changes_or_a_failed_worktree() {
    for (fields, returns_to) in [
        ("\"status\": \"failed\", \"error_message\": \"please split phase 2\"", Some("2:1")),
        ("\"status\": \"needs_revision\"", Some("2:1")),
        ("\"status\": \"failed\", \"verdict\": \"REJECTED\"", Some("2:1")),
        ("\"status\": \"failed\", \"error_message\": \"fatal: '.worktree/quotes' already exists\"", None),
        ("\"status\": \"failed\"", None),
    ] {
        let run = at("2.5", fields);
        assert_eq!(front(&run), ("2:2.5".to_owned(), Status::Failed), "{fields}");
        assert_eq!(step(&run, "2:2.5").returns_to.as_ref().map(|id| id.as_str()), returns_to, "{fields}");
        assert_eq!(step(&run, "2:2.5").review, None, "{fields}");
    }
    let by_user = run(&state("{\"phase\": 1, \"step\": 2.5, \"agent\": \"user\", \"status\": \"failed\"}", ""));
    assert_eq!(step(&by_user, "1:2.5").returns_to, Some(super::step_id("1:1")));
}

#[test]
fn approval_is_asked_for_at_the_step_that_waits() {
    for number in ["2", "2.5", "4", "6", "8", "9"] {
        let run = at(number, "\"status\": \"waiting_approval\"");
        assert_eq!(front(&run), (format!("2:{number}"), Status::WaitingApproval));
    }
}

#[test]
fn an_approval_recorded_after_the_review_opens_the_gate() {
    let last = "{\"phase\": 1, \"step\": 2, \"status\": \"approved\", \"timestamp\": \"2026-03-01T10:00:00Z\"}";
    for (stamp, expected) in [("2026-03-01T11:00:00Z", "1:3"), ("2026-03-01T09:00:00Z", "1:2.5")] {
        let approvals =
            format!("\"approvals\": [{{\"phase\": 1, \"step\": 2.5, \"by\": \"ann\", \"at\": \"{stamp}\"}}]");
        assert_eq!(front(&run(&state(last, &approvals))).0, expected);
    }
}

#[test]
fn without_a_total_one_more_phase_is_planned_and_said() {
    let loaded = load(&state("{\"phase\": 2, \"step\": 9, \"status\": \"completed\"}", ""));
    assert_eq!(codes(&loaded), [FindingCode::TotalMissing]);
    let run = loaded.run.unwrap();
    assert_eq!(front(&run), ("3:1".to_owned(), Status::Pending));
    assert!(run.follow_up.is_none());
    let before = load(&state("{\"phase\": 2, \"step\": 8, \"status\": \"approved\"}", ""));
    assert_eq!(codes(&before), []);
    assert_eq!(before.run.unwrap().steps.len(), 20);
}

#[test]
fn later_phases_begin_where_the_configuration_says() {
    let text = state("{\"phase\": 1, \"step\": 9, \"status\": \"completed\"}", "\"total_phases\": 2");
    let mut files = files(&text);
    std::sync::Arc::make_mut(&mut files.config).nine_step.phase_entry_step = 3;
    let run = NineStep.load(&files).run.unwrap();
    assert_eq!(front(&run).0, "2:3");
    assert_eq!(step(&run, "2:3").depends_on, [super::step_id("1:9")]);
    assert_eq!(run.steps.len(), 17);

    let mut files = super::files(&state("{\"phase\": 2, \"step\": 2, \"status\": \"failed\"}", "\"total_phases\": 2"));
    std::sync::Arc::make_mut(&mut files.config).nine_step.phase_entry_step = 3;
    let run = NineStep.load(&files).run.unwrap();
    assert_eq!(front(&run), ("2:2".to_owned(), Status::Failed));
}

#[test]
fn an_unknown_status_is_never_done() {
    for word in ["error", "complete", "skipped", "3"] {
        let loaded = load(&state(&format!("{{\"phase\": 1, \"step\": 3, \"status\": \"{word}\"}}"), ""));
        let found = finding(&loaded, FindingCode::StatusUnknown);
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(found.pointer.as_deref(), Some("/last_execution/status"));
        assert!(found.message.contains("in_progress, completed, failed, waiting_approval"), "{}", found.message);
        assert_eq!(front(&loaded.run.unwrap()), ("1:3".to_owned(), Status::Blocked));
    }
}

#[test]
fn an_unknown_verdict_is_never_approval() {
    let loaded =
        load(&state("{\"phase\": 1, \"step\": 4, \"status\": \"completed\", \"verdict\": \"looks good\"}", ""));
    assert_eq!(codes(&loaded), [FindingCode::VerdictUnknown]);
    assert_eq!(front(&loaded.run.unwrap()), ("1:4".to_owned(), Status::Blocked));
}

#[test]
fn verdicts_and_statuses_are_weighed_against_each_other() {
    let cases: [(&str, Status, Option<ReviewVerdict>, &[FindingCode]); 6] = [
        ("\"status\": \"completed\"", Status::Completed, Some(ReviewVerdict::Approved), &[FindingCode::VerdictMissing]),
        ("\"status\": \"completed\", \"verdict\": \"APPROVED\"", Status::Completed, Some(ReviewVerdict::Approved), &[]),
        (
            "\"status\": \"completed\", \"verdict\": \"NEEDS_REVISION\"",
            Status::Failed,
            Some(ReviewVerdict::NeedsRevision),
            &[FindingCode::VerdictConflict],
        ),
        ("\"status\": \"approved\", \"verdict\": \"REJECTED\"", Status::Failed, Some(ReviewVerdict::Rejected), &[]),
        ("\"status\": \"failed\", \"verdict\": \"APPROVED\"", Status::Failed, None, &[FindingCode::VerdictConflict]),
        ("\"status\": \"failed\"", Status::Failed, None, &[]),
    ];
    for (fields, status, verdict, expected) in cases {
        let loaded = load(&state(&format!("{{\"phase\": 1, \"step\": 4, {fields}}}"), ""));
        assert_eq!(codes(&loaded), expected, "{fields}");
        let run = loaded.run.unwrap();
        let step = step(&run, "1:4");
        assert_eq!((step.status, step.review.as_ref().map(|review| review.verdict)), (status, verdict), "{fields}");
    }
}

#[test]
fn conditions_stay_open_until_they_are_met() {
    let open = |fields: &str| {
        let last = format!("{{\"phase\": 1, \"step\": 2, \"status\": \"approved with minor changes\"{fields}}}");
        let run = run(&state(&last, ""));
        let review = step(&run, "1:2").review.clone().unwrap();
        assert_eq!(review.verdict, ReviewVerdict::ApprovedWithConditions);
        (review.open_conditions, step(&run, "1:2.5").status)
    };
    assert_eq!(open(""), (None, Status::Pending));
    assert_eq!(open(", \"conditions\": [\"add a test\"]"), (Some(vec!["add a test".to_owned()]), Status::Pending));
    assert_eq!(
        open(", \"conditions\": [{\"condition\": \"a\", \"met\": true}, {\"condition\": \"b\"}]"),
        (Some(vec!["b".to_owned()]), Status::Pending)
    );
    assert_eq!(open(", \"conditions\": []"), (Some(Vec::new()), Status::WaitingApproval));
}

#[test]
fn conditions_of_a_review_left_behind_hold_nothing_up() {
    let completed = "\"completed_steps\": [{\"phase\": 1, \"step\": 4, \"status\": \"approved_with_conditions\"}]";
    let run = run(&state("{\"phase\": 1, \"step\": 6, \"status\": \"in_progress\"}", completed));
    assert_eq!(step(&run, "1:4").review.as_ref().unwrap().open_conditions, Some(Vec::new()));
}

#[test]
fn every_step_has_the_agent_and_kind_of_the_plugin() {
    let run = run(&state("{\"phase\": 1, \"step\": 1, \"status\": \"pending\"}", ""));
    let seen: Vec<(&str, &str, StepKind)> = run
        .steps
        .iter()
        .map(|step| (step.short.as_deref().unwrap(), step.agent.as_deref().unwrap_or("-"), step.kind))
        .collect();
    assert_eq!(
        seen,
        [
            ("1", "project-planner", StepKind::Work),
            ("2", "plan-reviewer", StepKind::Review),
            ("2.5", "user", StepKind::Gate),
            ("3", "-", StepKind::Work),
            ("4", "code-reviewer", StepKind::Review),
            ("5", "documentation-manager", StepKind::Work),
            ("6", "documentation-reviewer", StepKind::Review),
            ("7", "feature-tester", StepKind::Work),
            ("8", "test-reviewer", StepKind::Review),
            ("9", "git-worktree-manager", StepKind::Work),
        ]
    );
    assert_eq!(step(&run, "1:1").status, Status::Pending);
    assert_eq!(step(&run, "1:1").attempts, 0);
    assert_eq!(step(&run, "1:1").group.as_deref(), Some("Phase 1"));
    assert_eq!(run.resolve("2.5").unwrap().id.as_str(), "1:2.5");
}

#[test]
fn agents_can_have_other_names() {
    let mut files = files(&state("{\"phase\": 1, \"step\": 1, \"status\": \"pending\"}", ""));
    let agents = &mut std::sync::Arc::make_mut(&mut files.config).nine_step.agents;
    for (role, name) in [("planner", "architect"), ("doc_manager", "scribe"), ("backend_developer", "rustacean")] {
        agents.insert(role.to_owned(), name.to_owned());
    }
    let run = NineStep.load(&files).run.unwrap();
    assert_eq!(step(&run, "1:1").agent.as_deref(), Some("architect"));
    assert_eq!(step(&run, "1:5").agent.as_deref(), Some("scribe"));
    assert_eq!(step(&run, "1:3").agent_candidates, ["rustacean", "frontend-developer"]);
}

#[test]
fn attempts_and_failures_are_counted_from_the_history() {
    let history = "\"history\": [
        {\"phase\": 1, \"step\": 3, \"status\": \"in_progress\"}, {\"phase\": 1, \"step\": 3, \"status\": \"completed\"},
        {\"phase\": 1, \"step\": 4, \"status\": \"in_progress\"}, {\"phase\": 1, \"step\": 4, \"status\": \"failed\"},
        {\"phase\": 1, \"step\": 3, \"status\": \"in_progress\"}, {\"phase\": 1, \"step\": 3, \"status\": \"interrupted\"},
        {\"phase\": 1, \"step\": 3, \"status\": \"in_progress\"}, {\"phase\": 1, \"step\": 3, \"status\": \"completed\"},
        {\"phase\": 1, \"step\": 4, \"status\": \"needs_revision\"}]";
    let last = "{\"phase\": 1, \"step\": 4, \"status\": \"needs_revision\"}";
    let counts = |history: &str, id: &str| {
        let run = run(&state(last, history));
        (step(&run, id).attempts, step(&run, id).failures)
    };
    assert_eq!(counts(history, "1:3"), (3, 0));
    assert_eq!(counts(history, "1:4"), (2, 2));
    let decided = history.replace(
        "\"status\": \"needs_revision\"}]",
        "\"status\": \"needs_revision\"}, {\"phase\": 1, \"step\": 4, \"status\": \"decided\"}]",
    );
    assert_eq!(counts(&decided, "1:4"), (2, 0));
    let approved = history.replace(
        "\"status\": \"failed\"}",
        "\"status\": \"failed\"}, {\"phase\": 1, \"step\": 4, \"status\": \"approved\"}",
    );
    assert_eq!(counts(&approved, "1:4"), (3, 1));
}

#[test]
fn stated_attempts_count_where_there_is_no_history() {
    for more in ["\"attempts\": 3", "\"attempts\": {\"1:4\": 3}", "\"attempts\": {\"4\": \"3\"}"] {
        let run = run(&state("{\"phase\": 1, \"step\": 4, \"status\": \"failed\"}", more));
        assert_eq!((step(&run, "1:4").attempts, step(&run, "1:4").failures), (3, 3), "{more}");
    }
    let run = run(&state("{\"phase\": 1, \"step\": 4, \"status\": \"failed\", \"revision_count\": 3}", ""));
    assert_eq!(step(&run, "1:4").failures, 3);
}

#[test]
fn last_execution_counts_where_the_state_contradicts_itself() {
    let text = "{\"feature_name\": \"q\", \"current_phase\": 3, \"current_step\": 7, \"total_phases\": 3,
        \"last_execution\": {\"phase\": 1, \"step\": 4, \"status\": \"in_progress\", \"timestamp\": \"2026-03-01T10:00:00Z\"},
        \"completed_steps\": [{\"phase\": 2, \"step\": 5, \"status\": \"completed\", \"timestamp\": \"2026-03-01T11:00:00Z\"}]}";
    let loaded = load(text);
    assert_eq!(codes(&loaded), [FindingCode::StatusConflict, FindingCode::StatusConflict]);
    assert_eq!(loaded.findings[1].pointer.as_deref(), Some("/completed_steps/0"));
    assert_eq!(loaded.findings[1].line, Some(3));
    assert_eq!(front(&loaded.run.unwrap()), ("1:4".to_owned(), Status::InProgress));
}

#[test]
fn a_current_phase_that_the_plugin_never_updates_is_no_conflict() {
    let text = "{\"feature_name\": \"q\", \"current_phase\": 1, \"current_step\": 4,
        \"last_execution\": {\"phase\": 2, \"step\": 4, \"status\": \"in_progress\"}}";
    assert_eq!(codes(&load(text)), [FindingCode::SessionStatusStale]);
}

#[test]
fn a_run_can_rest_be_given_up_and_be_over() {
    for (word, status) in [
        ("paused", RunStatus::Paused),
        ("aborted", RunStatus::Aborted),
        ("completed", RunStatus::Completed),
        ("active", RunStatus::Active),
    ] {
        let more = format!(
            "\"run_status\": \"{word}\", \"paused_at\": \"2026-03-01T10:00:00Z\", \"run_status_reason\": \"lunch\""
        );
        let run = run(&state("{\"phase\": 1, \"step\": 4, \"status\": \"in_progress\"}", &more));
        assert_eq!(run.status, status);
        assert_eq!(run.interruption.map(|i| i.reason), (word == "paused").then(|| "lunch".to_owned()));
    }
}

#[test]
fn skipped_steps_are_read_back() {
    let more = "\"skipped_steps\": [{\"phase\": 1, \"step\": 5, \"reason\": \"none needed\", \"at\": \"2026-03-01T10:00:00Z\"}]";
    let run = run(&state("{\"phase\": 1, \"step\": 4, \"status\": \"approved\"}", more));
    assert_eq!(step(&run, "1:5").status, Status::Skipped);
    assert_eq!(front(&run).0, "1:6");
}

#[test]
fn closed_phases_count_as_done_and_name_their_commits() {
    let more = "\"total_phases\": 2, \"completed_steps\": [
        {\"phase\": 1, \"step\": 9, \"status\": \"completed\", \"commit_sha\": \"a1b2c3d4\"},
        {\"phase\": 1, \"step\": 8, \"status\": \"completed\", \"commit_sha\": \"--upload-pack=x\"}]";
    let loaded = load(&state("{\"phase\": 2, \"step\": 3, \"status\": \"in_progress\"}", more));
    assert_eq!(loaded.wanted.commits, ["a1b2c3d4"]);
    assert_eq!(loaded.wanted.workspace, Some(Some(super::path(".worktree/feat-quotes"))));
    let run = loaded.run.unwrap();
    assert!(run.steps[..13].iter().all(|step| step.status == Status::Completed));
    assert_eq!(step(&run, "1:9").commit.as_deref(), Some("a1b2c3d4"));
}
