//! What a change does to the bytes: what it names, and nothing else.

use serde_json::{Value, json};

use super::{EARLY, edit, edited, files, files_at, path, state, step, step_id};
use crate::{
    dialect::{Dialect as _, EditError, nine_step::NineStep},
    model::{
        ChangeKind, EditKind, Interruption, InterruptionKind, LinkedWorktree, Outcome, ReviewVerdict, RunStatus,
        StartSpec, Status, testing::outcome_of,
    },
};

fn begin(step: &str, agent: Option<&str>) -> ChangeKind {
    ChangeKind::Begin {
        step: step_id(step),
        part: None,
        agent: agent.map(str::to_owned),
        attempt: 0,
        reopens: Vec::new(),
    }
}

fn finished(outcome: Outcome) -> ChangeKind {
    ChangeKind::Finish(Box::new(outcome))
}

fn value(text: &str) -> Value {
    serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap()
}

#[test]
fn a_file_of_another_style_keeps_every_byte_that_is_not_named() {
    let before = "\u{feff}{\r\n    \"zeta\" : 1.10,\r\n    \"last_execution\": {\r\n        \"status\": \"completed\",\r\n        \"mine\": {\"x\":[1,2]},\r\n        \"step\": \"3\",\r\n        \"phase\": \"2\",\r\n        \"agent\": \"backend-developer\",\r\n        \"timestamp\": \"2026-03-01T10:00:00.123456\"\r\n    },\r\n    \"current_step\": 3.0,\r\n    \"current_phase\": 2,\r\n    \"feature_name\": \"quotes\"\r\n}";
    let after = "\u{feff}{\r\n    \"zeta\" : 1.10,\r\n    \"last_execution\": {\r\n        \"status\": \"in_progress\",\r\n        \"mine\": {\"x\":[1,2]},\r\n        \"step\": 4,\r\n        \"phase\": \"2\",\r\n        \"agent\": \"code-reviewer\",\r\n        \"timestamp\": \"2026-03-02T09:00:00Z\"\r\n    },\r\n    \"current_step\": 4,\r\n    \"current_phase\": 2,\r\n    \"feature_name\": \"quotes\",\r\n    \"history\": [\r\n        {\r\n            \"phase\": \"2\",\r\n            \"step\": \"3\",\r\n            \"agent\": \"backend-developer\",\r\n            \"status\": \"completed\",\r\n            \"timestamp\": \"2026-03-01T10:00:00.123456\",\r\n            \"attempt\": 1\r\n        },\r\n        {\r\n            \"phase\": 2,\r\n            \"step\": 4,\r\n            \"agent\": \"code-reviewer\",\r\n            \"status\": \"in_progress\",\r\n            \"timestamp\": \"2026-03-02T09:00:00Z\",\r\n            \"attempt\": 1\r\n        }\r\n    ],\r\n    \"updated_at\": \"2026-03-02T09:00:00Z\"\r\n}";
    let files = files(before);
    assert_eq!(edited(&files, begin("2:4", None)), after);
}

#[test]
fn a_file_on_one_line_stays_on_one_line() {
    let before = "{\"feature_name\":\"q\",\"current_phase\":1,\"current_step\":1,\"last_execution\":{\"phase\":1,\"step\":1,\"status\":\"pending\"}}";
    let after = "{\"feature_name\":\"q\",\"current_phase\":1,\"current_step\":1,\"last_execution\":{\"phase\":1,\"step\":1,\"status\":\"in_progress\",\"agent\":\"project-planner\",\"timestamp\":\"2026-03-02T09:00:00Z\"},\"history\":[{\"phase\":1,\"step\":1,\"agent\":\"project-planner\",\"status\":\"in_progress\",\"timestamp\":\"2026-03-02T09:00:00Z\",\"attempt\":1}],\"updated_at\":\"2026-03-02T09:00:00Z\"}";
    assert_eq!(edited(&files(before), begin("1:1", None)), after);
}

#[test]
fn a_success_is_listed_with_its_commit_and_a_failure_is_not() {
    let before =
        state("{\"phase\": 1, \"step\": 9, \"agent\": \"g\", \"status\": \"in_progress\"}", "\"completed_steps\": []");
    let mut outcome = outcome_of("1:9", Status::Completed);
    outcome.commit = Some("a1b2c3d4".to_owned());
    outcome.attempt = 2;
    let after = value(&edited(&files(&before), finished(outcome)));
    let record = json!({"phase": 1, "step": 9, "agent": "g", "status": "completed",
        "timestamp": "2026-03-02T09:00:00Z", "commit_sha": "a1b2c3d4"});
    assert_eq!(after["completed_steps"], json!([record]));
    assert_eq!(after["last_execution"], record);
    assert_eq!(after["history"][1]["attempt"], json!(2));

    let mut outcome = outcome_of("1:9", Status::Failed);
    outcome.error = Some("hook refused".to_owned());
    let after = value(&edited(&files(&before), finished(outcome)));
    assert_eq!(after["completed_steps"], json!([]));
    assert_eq!(after["last_execution"]["error_message"], json!("hook refused"));
    assert_eq!(after["last_execution"]["status"], json!("failed"));
}

#[test]
fn what_belonged_to_the_last_execution_goes_with_it() {
    let before = state(
        "{\"phase\": 1, \"step\": 4, \"agent\": \"code-reviewer\", \"status\": \"failed\", \"verdict\": \"NEEDS_REVISION\", \
         \"error_message\": \"no validation\", \"note\": \"n\", \"attempts\": 2, \"ours\": true, \"timestamp\": \"2026-03-01T10:00:00Z\"}",
        "",
    );
    let after = edited(&files(&before), begin("1:3", Some("backend-developer")));
    assert_eq!(
        value(&after)["last_execution"],
        json!({"phase": 1, "step": 3, "agent": "backend-developer", "status": "in_progress", "ours": true,
            "timestamp": "2026-03-02T09:00:00Z"})
    );
    let run = super::run(&after);
    assert_eq!((step(&run, "1:4").attempts, step(&run, "1:4").failures), (2, 2));
    assert_eq!(step(&run, "1:4").error.as_deref(), Some("no validation"));
    assert_eq!(step(&run, "1:3").status, Status::InProgress);
}

#[test]
fn three_failed_reviews_are_counted_through_the_returns() {
    let mut text =
        state("{\"phase\": 1, \"step\": 3, \"agent\": \"backend-developer\", \"status\": \"completed\"}", "");
    for _ in 0..3 {
        text = edited(&files(&text), begin("1:4", None));
        let mut outcome = outcome_of("1:4", Status::Failed);
        outcome.verdict = Some(ReviewVerdict::NeedsRevision);
        text = edited(&files(&text), finished(outcome));
        text = edited(&files(&text), begin("1:3", None));
        text = edited(&files(&text), finished(outcome_of("1:3", Status::Completed)));
    }
    let run = super::run(&text);
    assert_eq!((step(&run, "1:4").attempts, step(&run, "1:4").failures), (3, 3));
    assert_eq!((step(&run, "1:3").attempts, step(&run, "1:3").failures), (4, 0));
    assert_eq!(step(&run, "1:3").agent.as_deref(), Some("backend-developer"));
}

#[test]
fn approval_at_the_gate_is_recorded_with_who_and_when() {
    let before = state("{\"phase\": 1, \"step\": 2, \"agent\": \"plan-reviewer\", \"status\": \"approved\"}", "");
    let kind = ChangeKind::Approve {
        step: step_id("1:2.5"),
        by: Some("ann".to_owned()),
        note: Some("go".to_owned()),
        phases: None,
        choice: None,
    };
    let text = edited(&files(&before), kind);
    let after = value(&text);
    assert_eq!(
        after["approvals"],
        json!([{"phase": 1, "step": 2.5, "by": "ann", "at": "2026-03-02T09:00:00Z", "note": "go"}])
    );
    assert_eq!(after["current_step"], json!(2.5));
    let run = super::run(&text);
    assert_eq!(step(&run, "1:2.5").status, Status::Completed);
    assert_eq!(step(&run, "1:3").status, Status::Pending);
}

#[test]
fn approval_where_it_is_waited_for_completes_the_step() {
    let before =
        state("{\"phase\": 1, \"step\": 4, \"agent\": \"code-reviewer\", \"status\": \"waiting_approval\"}", "");
    let text = edited(
        &files(&before),
        ChangeKind::Approve { step: step_id("1:4"), by: None, note: None, phases: None, choice: None },
    );
    let run = super::run(&text);
    assert_eq!(step(&run, "1:4").status, Status::Completed);
    assert_eq!(step(&run, "1:4").review.as_ref().unwrap().verdict, ReviewVerdict::Approved);
    assert_eq!(value(&text)["last_execution"]["agent"], json!("code-reviewer"));
}

#[test]
fn a_decision_that_the_state_records_lifts_a_rejection() {
    let before = state(
        "{\"phase\": 1, \"step\": 4, \"status\": \"failed\", \"verdict\": \"REJECTED\", \"timestamp\": \"2026-03-01T10:00:00Z\", \
         \"decision\": {\"by\": \"Ana\", \"at\": \"2026-03-01T11:00:00Z\"}}",
        "\"attempts\": 3",
    );
    let run = super::run(&before);
    let step = step(&run, "1:4");
    assert_eq!((step.status, step.failures), (Status::Failed, 0));
    assert_eq!(step.review.as_ref().unwrap().verdict, ReviewVerdict::NeedsRevision);
    assert_eq!(step.returns_to, Some(step_id("1:3")));
    let after = value(&edited(&files(&before), begin("1:3", None)));
    assert_eq!(after["last_execution"].get("decision"), None);
}

#[test]
fn approving_open_conditions_says_that_they_are_met() {
    let before = state(
        "{\"phase\": 1, \"step\": 4, \"status\": \"approved_with_conditions\", \"conditions\": [\"add a test\"]}",
        "",
    );
    let text = edited(
        &files(&before),
        ChangeKind::Approve { step: step_id("1:4"), by: None, note: None, phases: None, choice: None },
    );
    let run = super::run(&text);
    assert_eq!(step(&run, "1:4").review.as_ref().unwrap().open_conditions, Some(Vec::new()));
}

#[test]
fn a_skip_is_kept_with_its_reason_until_the_step_runs_after_all() {
    let before =
        state("{\"phase\": 1, \"step\": 5, \"status\": \"failed\", \"timestamp\": \"2026-03-02T09:00:00Z\"}", "");
    let skip = ChangeKind::Skip { step: step_id("1:5"), part: None, by: None, reason: "no docs".to_owned() };
    let text = edited(&files(&before), skip);
    assert_eq!(
        value(&text)["skipped_steps"],
        json!([{"phase": 1, "step": 5, "reason": "no docs", "at": "2026-03-02T09:00:00Z"}])
    );
    assert_eq!(value(&text)["last_execution"]["status"], json!("failed"));
    assert_eq!(step(&super::run(&text), "1:5").status, Status::Skipped);
    let again = edited(&files(&text), begin("1:5", None));
    assert_eq!(step(&super::run(&again), "1:5").status, Status::InProgress);
    let past = edited(&files(&text), begin("1:6", None));
    assert_eq!(step(&super::run(&past), "1:5").status, Status::Skipped);
}

#[test]
fn what_came_of_a_step_at_a_later_time_than_now_does_not_undo_what_is_recorded_after_it() {
    let skip = || ChangeKind::Skip { step: step_id("1:5"), part: None, by: None, reason: "not needed".to_owned() };
    for (status, failures) in [("failed", 1), ("in_progress", 0), ("pending", 0), ("completed", 0)] {
        // The clock of the change says 09:00.
        let last =
            format!("{{\"phase\": 1, \"step\": 5, \"status\": \"{status}\", \"timestamp\": \"2026-03-02T11:00:00Z\"}}");
        let after = super::run(&edited(&files(&state(&last, "")), skip()));
        let skipped = step(&after, "1:5");
        assert_eq!((skipped.status, skipped.failures), (Status::Skipped, failures), "{status}");
    }
}

#[test]
fn an_approval_with_a_later_time_than_now_does_not_open_the_gate_again() {
    let approvals = "\"approvals\": [{\"phase\": 1, \"step\": 2.5, \"at\": \"2026-03-01T08:00:00Z\"}, \
         {\"phase\": 1, \"step\": 2.5, \"at\": \"2026-03-02T11:00:00Z\"}, \
         {\"phase\": 2, \"step\": 2.5, \"at\": \"2026-03-02T11:00:00Z\"}]";
    let last = |step: &str| format!("{{\"phase\": 1, \"step\": {step}, \"status\": \"in_progress\"}}");
    let approved = Outcome { verdict: Some(ReviewVerdict::Approved), ..outcome_of("1:2", Status::Completed) };
    let after = edited(&files(&state(&last("2"), approvals)), finished(approved));
    assert_eq!(step(&super::run(&after), "1:2.5").status, Status::WaitingApproval);
    assert_eq!(value(&after)["approvals"].as_array().unwrap().len(), 2);
    let behind = edited(&files(&state(&last("3"), approvals)), finished(outcome_of("1:3", Status::Completed)));
    assert_eq!(value(&behind)["approvals"].as_array().unwrap().len(), 3);
}

#[test]
fn words_of_the_history_are_not_taken_into_it_from_elsewhere() {
    let done = "{\"phase\": 1, \"step\": 3, \"status\": \"completed\", \"timestamp\": \"2026-03-02T08:00:00Z\", \"commit_sha\": \"0123abc\"}";
    for word in ["skipped", "rolled_back", "interrupted", "decided"] {
        let last =
            format!("{{\"phase\": 1, \"step\": 1, \"status\": \"{word}\", \"timestamp\": \"2026-03-02T08:30:00Z\"}}");
        let before = state(&last, &format!("\"history\": [{done}]"));
        let after = edited(&files(&before), begin("1:4", None));
        assert_eq!(value(&after)["history"].as_array().unwrap().len(), 2, "{word}");
        assert_eq!(step(&super::run(&after), "1:3").commit.as_deref(), Some("0123abc"), "{word}");
    }
}

#[test]
fn a_run_rests_and_goes_on() {
    let before = state("{\"phase\": 1, \"step\": 5, \"status\": \"in_progress\"}", "");
    let paused = edited(&files(&before), ChangeKind::Pause { reason: Some("lunch".to_owned()) });
    assert_eq!(super::run(&paused).status, RunStatus::Paused);
    assert_eq!(value(&paused)["paused_at"], json!("2026-03-02T09:00:00Z"));
    let resume = ChangeKind::Resume {
        steps: vec![step_id("1:5")],
        interruption: Some(Interruption {
            kind: InterruptionKind::AgentInterruption,
            step: Some(step_id("1:5")),
            at: None,
            reason: "nothing says it ended".to_owned(),
        }),
        strategy: Some("retry_with_enhanced_context".to_owned()),
        settled: Vec::new(),
    };
    let resumed = edited(&files(&paused), resume);
    let after = value(&resumed);
    for key in ["run_status", "paused_at", "run_status_reason"] {
        assert_eq!(after.get(key), None, "{key}");
    }
    assert_eq!(after["resume_count"], json!(1));
    assert_eq!(after["interruption_history"][0]["kind"], json!("agent_interruption"));
    assert_eq!(after["last_execution"]["status"], json!("in_progress"));
    let run = super::run(&resumed);
    assert_eq!((run.status, run.resumes, step(&run, "1:5").attempts), (RunStatus::Active, 1, 1));
    let again = super::run(&edited(&files(&resumed), begin("1:5", None)));
    assert_eq!(step(&again, "1:5").attempts, 2);

    let done = edited(&files(&before), ChangeKind::Complete { note: None });
    assert_eq!(super::run(&done).status, RunStatus::Completed);
}

#[test]
fn what_is_in_the_way_is_named_and_nothing_is_written() {
    for more in ["\"history\": {}", "\"history\": \"none\""] {
        let before = state("{\"phase\": 1, \"step\": 5, \"status\": \"in_progress\"}", more);
        let error = NineStep.edit(&files(&before), &super::change(begin("1:5", None))).unwrap_err();
        assert!(error.to_string().contains("`history` cannot be written"), "{error}");
    }
    let before = state("{\"phase\": 1, \"step\": 5, \"status\": \"in_progress\"}", "\"history\": null");
    assert_eq!(value(&edited(&files(&before), begin("1:5", None)))["history"].as_array().unwrap().len(), 2);
    let broken = "{\"feature_name\": \"q\", \"current_phase\": 1, \"current_step\": 1, \"last_execution\": \"x\"}";
    assert!(NineStep.edit(&files(broken), &super::change(begin("1:5", None))).is_err());
    for id in ["5", "1:2.4", "0:1", "x"] {
        let result = NineStep.edit(&files(&before), &super::change(begin(id, None)));
        assert!(matches!(result, Err(EditError::Unsupported(_))), "{id}");
    }
}

fn start() -> ChangeKind {
    ChangeKind::Start(Box::new(StartSpec {
        description: Some("Live quotes".to_owned()),
        phases: Some(3),
        issues: vec!["#12".to_owned(), "PROJ-1".to_owned()],
        base_branch: Some("main".to_owned()),
        ..StartSpec::new("nine-step", "quotes")
    }))
}

#[test]
fn a_new_run_begins_with_its_first_step_beside_the_plan() {
    let edits = edit(&files("{}"), start());
    assert_eq!(edits.len(), 1);
    assert_eq!(edits[0].path, path(EARLY));
    let EditKind::Create { after } = &edits[0].kind else { panic!("{edits:?}") };
    let text = String::from_utf8(after.clone()).unwrap();
    let head = "{\n  \"schema_version\": 1,\n  \"feature_name\": \"quotes\",\n  \"description\": \"Live quotes\",\n  \"branch_name\": \"feature/quotes\",\n  \"base_branch\": \"main\",\n  \"plan_reference\": \".plan/quotes_plan.md\",\n  \"total_phases\": 3,\n  \"related_issues\": [\n    12,\n    \"PROJ-1\"\n  ],\n";
    assert!(text.starts_with(head), "{text}");
    assert!(text.ends_with("}\n"));
    let loaded = NineStep.load(&files_at(EARLY, text.as_bytes()));
    assert_eq!(loaded.findings, []);
    assert_eq!((loaded.wanted.documents, loaded.wanted.workspace), (vec![path(".plan/quotes_plan.md")], None));
    let run = loaded.run.unwrap();
    assert_eq!((step(&run, "1:1").status, step(&run, "1:1").attempts), (Status::Pending, 0));
    assert_eq!((run.steps.len(), run.goal.as_deref()), (30, Some("Live quotes")));
    let begun = files_at(EARLY, edited(&files_at(EARLY, text.as_bytes()), begin("1:1", None)).as_bytes());
    assert_eq!(step(&NineStep.load(&begun).run.unwrap(), "1:1").attempts, 1);
}

#[test]
fn in_a_linked_worktree_a_new_run_lies_at_its_root() {
    let mut files = files("{}");
    files.main_root = Some("/main".into());
    assert_eq!(edit(&files, start())[0].path, path(".workflow-state.json"));
}

#[test]
fn the_state_moves_into_the_worktree_once_there_is_one() {
    let before = state("{\"phase\": 1, \"step\": 2.5, \"status\": \"completed\"}", "");
    for (worktrees, expected) in [
        (vec![".worktree/quotes", "elsewhere/feat-quotes"], Some(".worktree/quotes")),
        (vec![".worktree/feat-quotes"], Some(".worktree/feat-quotes")),
        (vec![".worktree/feat-real-time-quotes", ".worktree/other"], None),
        (vec![".worktree/feat-quotes", ".worktree/fix-quotes"], None),
    ] {
        let mut files = files_at(EARLY, before.as_bytes());
        let linked = |name| LinkedWorktree { folder: files.root.join(name), path: Some(path(name)), branch: None };
        files.worktrees = worktrees.into_iter().map(linked).collect();
        let edits = edit(&files, begin("1:3", Some("backend-developer")));
        let Some(expected) = expected else {
            assert_eq!(edits.len(), 1);
            continue;
        };
        assert_eq!(edits[0].path, path(&format!("{expected}/.workflow-state.json")));
        let EditKind::Create { after } = &edits[0].kind else { panic!("{edits:?}") };
        assert_eq!(value(std::str::from_utf8(after).unwrap())["worktree_path"], json!(expected));
        assert_eq!(edits[1].path, path(EARLY));
        assert!(matches!(&edits[1].kind, EditKind::Remove { before: old } if **old == *before.as_bytes()));
    }
}
