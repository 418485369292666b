use serde_json::{Value, json};

use crate::{
    dialect::{
        Dialect as _, EditError,
        ccw::{
            Ccw,
            testing::{
                DIR, NOW, SESSION, applied, begin, change, edit, files, files_in, finish, path, run, step, texts, time,
            },
        },
    },
    model::{
        ChangeKind, FileSet, Interruption, InterruptionKind, Outcome, RunStatus, Status, StepId, testing::outcome_of,
    },
};

const SUMMARY: &str = ".summaries/IMPL-1-summary.md";

fn names(edits: &[(String, String)]) -> Vec<&str> {
    edits.iter().map(|(name, _)| name.as_str()).collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn beginning_touches_the_task_file_alone_and_nothing_else_in_it() {
    let task = "{\r\n    \"id\": \"IMPL-1\",\r\n    \"沉淀位置\": [1.50, \"x\"],\r\n    \"status\": \"pending\"\r\n}";
    let set = files(&[
        ("workflow-session.json", SESSION),
        ("TODO_LIST.md", "- [ ] IMPL-1: a\n"),
        (".task/IMPL-1.json", task),
    ]);
    let edits = texts(&edit(&set, begin("IMPL-1")));
    let expected = "{\r\n    \"id\": \"IMPL-1\",\r\n    \"沉淀位置\": [1.50, \"x\"],\r\n    \"status\": \"in_progress\",\r\n    \
        \"status_history\": [\r\n        {\r\n            \"from\": \"pending\",\r\n            \"to\": \"in_progress\",\r\n            \
        \"changed_at\": \"2025-09-15T15:45:00Z\"\r\n        }\r\n    ],\r\n    \"execution\": {\r\n        \"attempts\": 1,\r\n        \
        \"last_attempt\": \"2025-09-15T15:45:00Z\"\r\n    }\r\n}";
    assert_eq!(edits, [(".task/IMPL-1.json".to_owned(), expected.to_owned())]);
}

#[test]
fn finishing_writes_task_then_checklist_then_session() {
    let set = files(&[
        ("workflow-session.json", r#"{"session_id":"WFS-x","current_phase":"IMPLEMENT"}"#),
        ("TODO_LIST.md", "- [ ] **IMPL-10**: b\r\n- [ ] **IMPL-1**: a"),
        (
            ".task/IMPL-1.json",
            r#"{"id":"IMPL-1","status":"in_progress","execution":{"attempts":1,"last_attempt":"2025-09-15T14:30:00Z","interruption_reason":"agent_timeout"}}"#,
        ),
    ]);
    let mut done = outcome_of("IMPL-1", Status::Completed);
    done.attempt = 2;
    let after = edit(&set, ChangeKind::Finish(Box::new(done)));
    let edits = texts(&after);
    assert_eq!(names(&edits), [".task/IMPL-1.json", SUMMARY, "TODO_LIST.md", "workflow-session.json"]);
    let task = parsed(&edits[0].1);
    assert_eq!(
        task["execution"],
        json!({"attempts": 2, "last_attempt": "2025-09-15T14:30:00Z", "completion_time": NOW})
    );
    assert_eq!(task["status_history"][0]["note"], "agent_timeout");
    assert_eq!(edits[2].1, "- [ ] **IMPL-10**: b\r\n- [x] **IMPL-1**: a");
    assert_eq!(edits[3].1, format!(r#"{{"session_id":"WFS-x","current_phase":"EXECUTE","last_execute_run":"{NOW}"}}"#));
    let reloaded = run(&applied(&set, &after));
    assert_eq!(step(&reloaded, "IMPL-1").status, Status::Completed);
    assert_eq!(reloaded.interruption, None);
}

#[test]
fn a_task_that_completes_gets_its_summary_once() {
    const TASK: (&str, &str) = (".task/IMPL-1.json", r#"{"id":"IMPL-1","title":"Sign in","status":"in_progress"}"#);
    let mut done = outcome_of("IMPL-1", Status::Completed);
    done.summary = Some("Tokens are signed.\nKey: ghp_0123456789abcdef \u{1b}[31m".to_owned());
    done.commit = Some("abc1234".to_owned());
    done.outputs = vec![path("src/auth.rs")];
    let written = |more: &[(&str, &str)], outcome: &Outcome| {
        let set = files(&[&[("workflow-session.json", SESSION), TASK], more].concat());
        texts(&edit(&set, ChangeKind::Finish(Box::new(outcome.clone()))))
    };
    let summary = |edits: &[(String, String)]| {
        edits.iter().find(|(name, _)| name.contains("summaries/")).map(|(name, text)| (name.clone(), text.clone()))
    };
    let text = "# Task: IMPL-1 Sign in\n\n## Implementation Summary\n\nTokens are signed.\nKey: [masked] [31m\n\n\
        ### Files Modified\n\n- `src/auth.rs`\n\n### Commit\n\nabc1234\n\n## Status: ✅ Complete\n";
    assert_eq!(summary(&written(&[], &done)), Some((SUMMARY.to_owned(), text.to_owned())));
    let other = written(&[("summaries/IMPL-2.md", "")], &done);
    assert_eq!(summary(&other).unwrap().0, "summaries/IMPL-1-summary.md", "where the others are");
    for exists in ["summaries/IMPL-1.md", ".summaries/impl-01-review.md"] {
        assert_eq!(summary(&written(&[(exists, "")], &done)), None, "{exists}");
    }
    let late = Outcome { amends: true, ..done.clone() };
    assert_eq!(summary(&written(&[], &late)), None, "a correction completes nothing");
    assert_eq!(summary(&written(&[], &outcome_of("IMPL-1", Status::Failed))), None);
}

#[test]
fn beginning_a_done_task_takes_back_what_says_that_it_is_done() {
    let set = files(&[
        ("TODO_LIST.md", "- [x] **IMPL-1**: a\n- [x] **IMPL-2**: b\n"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"completed","result":{"success":true}}"#),
    ]);
    let edits = texts(&edit(&set, begin("IMPL-1")));
    assert_eq!(names(&edits), [".task/IMPL-1.json", "TODO_LIST.md"]);
    assert_eq!(parsed(&edits[0].1)["result"]["success"], false);
    assert_eq!(edits[1].1, "- [ ] **IMPL-1**: a\n- [x] **IMPL-2**: b\n");
}

#[test]
fn a_failure_leaves_the_box_and_says_why() {
    let set = files(&[
        ("workflow-session.json", SESSION),
        ("TODO_LIST.md", "- [ ] **IMPL-1**: a\n"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"in_progress","convergence":{}}"#),
    ]);
    let mut failed = outcome_of("IMPL-1", Status::Failed);
    failed.error = Some("tests fail with ghp_0123456789abcdef".to_owned());
    failed.attempt = 1;
    let edits = edit(&set, ChangeKind::Finish(Box::new(failed)));
    assert_eq!(names(&texts(&edits)), [".task/IMPL-1.json", "workflow-session.json"]);
    let reloaded = run(&applied(&set, &edits));
    let step = step(&reloaded, "IMPL-1");
    assert_eq!((step.status, step.attempts, step.failures), (Status::Failed, 1, 1));
    assert_eq!(step.error.as_deref(), Some("tests fail with [masked]"));
    assert!(parsed(&texts(&edits)[0].1)["result"]["success"] == json!(false));
}

#[test]
fn failures_add_up_over_several_attempts() {
    let mut set = files(&[(".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"failed","execution":{"attempts":2}}"#)]);
    assert_eq!(run(&set).steps[0].failures, 2);
    set = applied(&set, &edit(&set, begin("IMPL-1")));
    assert_eq!((run(&set).steps[0].attempts, run(&set).steps[0].failures), (3, 2));
    set = applied(&set, &edit(&set, finish("IMPL-1", Status::Failed)));
    assert_eq!((run(&set).steps[0].attempts, run(&set).steps[0].failures), (3, 3));
    set = applied(&set, &edit(&set, begin("IMPL-1")));
    set = applied(&set, &edit(&set, finish("IMPL-1", Status::Completed)));
    assert_eq!((run(&set).steps[0].attempts, run(&set).steps[0].failures), (4, 0));
}

#[test]
fn the_running_word_is_that_of_the_session() {
    for (other, word) in [("active", "active"), ("in_progress", "in_progress"), ("completed", "in_progress")] {
        let other = format!(r#"{{"id":"IMPL-2","status":"{other}"}}"#);
        let set =
            files(&[(".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"pending"}"#), (".task/IMPL-2.json", &other)]);
        assert_eq!(parsed(&texts(&edit(&set, begin("IMPL-1")))[0].1)["status"], word);
    }
}

#[test]
fn parts_are_recorded_one_by_one() {
    let task = r#"{"id":"IMPL-1","status":"in_progress","pre_analysis":[{"step":"a","output_to":"v"},{"step":"b"}],"subtasks":[{"id":"S-1","status":"pending"}],"execution":{"flow_step":"b"}}"#;
    let mut set = files(&[("workflow-session.json", SESSION), (".task/IMPL-1.json", task)]);
    let statuses = |set: &FileSet| run(set).steps[0].detail.parts.iter().map(|part| part.status).collect::<Vec<_>>();
    assert_eq!(statuses(&set), [Status::Completed, Status::InProgress, Status::Pending]);
    let mut done = outcome_of("IMPL-1", Status::Completed);
    done.part = Some("b".to_owned());
    done.set.insert("v".to_owned(), json!({"n": 1}));
    set = applied(&set, &edit(&set, ChangeKind::Finish(Box::new(done))));
    assert_eq!(statuses(&set), [Status::Completed, Status::Completed, Status::Pending]);
    assert_eq!(run(&set).steps[0].detail.parts[0].output, Some(("v".to_owned(), Some(json!({"n": 1})))));
    assert_eq!(run(&set).steps[0].status, Status::InProgress);
    let begin = ChangeKind::Begin {
        step: StepId::new("IMPL-1"),
        part: Some("S-1".to_owned()),
        agent: None,
        attempt: 0,
        reopens: Vec::new(),
    };
    set = applied(&set, &edit(&set, begin));
    assert_eq!(statuses(&set)[2], Status::InProgress);
    let skip = ChangeKind::Skip {
        step: StepId::new("IMPL-1"),
        part: Some("a".to_owned()),
        by: None,
        reason: "known".to_owned(),
    };
    set = applied(&set, &edit(&set, skip));
    assert_eq!(statuses(&set)[0], Status::Skipped);
}

#[test]
fn the_first_part_begins_its_step() {
    let set = files(&[(
        ".task/IMPL-1.json",
        r#"{"id":"IMPL-1","status":"pending","pre_analysis":[{"step":"a"},{"step":"b"}]}"#,
    )]);
    let begin = ChangeKind::Begin {
        step: StepId::new("IMPL-1"),
        part: Some("b".to_owned()),
        agent: None,
        attempt: 1,
        reopens: Vec::new(),
    };
    let step = run(&applied(&set, &edit(&set, begin))).steps.remove(0);
    assert_eq!((step.status, step.attempts), (Status::InProgress, 1));
    let statuses: Vec<Status> = step.detail.parts.iter().map(|part| part.status).collect();
    assert_eq!(statuses, [Status::Pending, Status::InProgress]);
}

#[test]
fn resuming_keeps_the_books() {
    let set = files(&[
        ("workflow-session.json", r#"{"session_id":"WFS-x","status":"paused","resume_count":1}"#),
        ("TODO_LIST.md", "- [ ] **IMPL-1**: a\n- [ ] **IMPL-2**: b\n"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"in_progress"}"#),
        (".task/IMPL-2.json", r#"{"id":"IMPL-2","status":"in_progress"}"#),
    ]);
    let resume = ChangeKind::Resume {
        steps: vec![StepId::new("IMPL-2")],
        interruption: Some(Interruption {
            kind: InterruptionKind::AgentInterruption,
            step: Some(StepId::new("IMPL-2")),
            at: Some(time("2025-09-15T14:30:00Z")),
            reason: "agent_timeout".to_owned(),
        }),
        strategy: Some("retry_with_enhanced_context".to_owned()),
        settled: vec![(StepId::new("IMPL-1"), Status::Completed)],
    };
    let after = edit(&set, resume);
    let edits = texts(&after);
    assert_eq!(names(&edits), [".task/IMPL-1.json", ".task/IMPL-2.json", "TODO_LIST.md", "workflow-session.json"]);
    assert_eq!(
        parsed(&edits[1].1),
        json!({"id": "IMPL-2", "status": "in_progress", "execution": {"recovery_strategy": "retry_with_enhanced_context"}})
    );
    assert_eq!(edits[2].1, "- [x] **IMPL-1**: a\n- [ ] **IMPL-2**: b\n");
    let expected = json!({
        "session_id": "WFS-x", "status": "active", "resume_count": 2, "resumed_at": NOW, "last_execute_run": NOW,
        "interruption_history": [{"timestamp": "2025-09-15T14:30:00Z", "reason": "agent_timeout", "affected_task": "IMPL-2",
            "recovery_strategy": "retry_with_enhanced_context"}]
    });
    assert_eq!(parsed(&edits[3].1), expected);
    let reloaded = run(&applied(&set, &after));
    assert_eq!((reloaded.status, reloaded.resumes, reloaded.interruption), (RunStatus::Active, 2, None));
    assert_eq!(reloaded.steps[0].status, Status::Completed);
}

#[test]
fn the_session_can_be_paused_given_up_and_completed() {
    let set = files(&[("workflow-session.json", "{\n  \"session_id\": \"WFS-x\",\n  \"status\": \"active\"\n}")]);
    for (kind, status, field) in [
        (ChangeKind::Pause { reason: None }, RunStatus::Paused, "\"resumable\": true"),
        (ChangeKind::Abort { by: None, reason: None }, RunStatus::Aborted, "cancelled_at"),
        (ChangeKind::Complete { note: None }, RunStatus::Completed, "completed_at"),
    ] {
        let edits = edit(&set, kind);
        assert!(texts(&edits)[0].1.contains(field));
        assert_eq!(run(&applied(&set, &edits)).status, status);
    }
}

#[test]
fn a_skipped_task_says_who_wanted_it() {
    let set = files(&[(".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"failed","status_history":[]}"#)]);
    let skip = ChangeKind::Skip { step: StepId::new("impl-1"), part: None, by: None, reason: "not needed".to_owned() };
    let edits = edit(&set, skip);
    let task = parsed(&texts(&edits)[0].1);
    assert_eq!(
        task["status_history"],
        json!([{"from": "failed", "to": "skipped", "changed_at": NOW, "note": "not needed"}])
    );
    assert_eq!(run(&applied(&set, &edits)).steps[0].status, Status::Skipped);
}

#[test]
fn a_broken_session_file_does_not_keep_a_result_from_being_recorded() {
    let broken = "{\"total\": 9,166}";
    let set = files(&[
        ("workflow-session.json", broken),
        ("TODO_LIST.md", "- [ ] **IMPL-1**: a\n"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"in_progress"}"#),
    ]);
    let edits = texts(&edit(&set, finish("IMPL-1", Status::Completed)));
    assert_eq!(names(&edits), [".task/IMPL-1.json", SUMMARY, "TODO_LIST.md"]);
    let error = Ccw.edit(&set, &change(ChangeKind::Pause { reason: None })).unwrap_err();
    assert!(matches!(error, EditError::Unreadable { .. }), "{error}");
}

#[test]
fn what_cannot_be_written_is_refused() {
    let set = files(&[("TODO_LIST.md", "- [ ] **IMPL-9**: no file\n"), (".task/IMPL-1.json", "{\"id\": \"IMPL-1\", ")]);
    let refuse = |kind: ChangeKind| Ccw.edit(&set, &change(kind)).unwrap_err();
    assert!(matches!(refuse(begin("IMPL-1")), EditError::Unreadable { .. }));
    assert!(matches!(refuse(begin("../IMPL-1")), EditError::Missing { .. }));
    assert!(matches!(refuse(finish("IMPL-9", Status::Failed)), EditError::Unsupported(_)));
    assert!(matches!(refuse(ChangeKind::Pause { reason: None }), EditError::Missing { .. }));
    assert!(matches!(refuse(finish("IMPL-9", Status::WaitingApproval)), EditError::Unsupported(_)));
    let approve = ChangeKind::Approve { step: StepId::new("IMPL-9"), by: None, note: None, phases: None, choice: None };
    assert!(matches!(refuse(approve), EditError::Unsupported(_)));
}

#[test]
fn a_task_of_the_checklist_is_ticked() {
    for (id, before, after) in [
        ("IMPL-9", "- [ ] **IMPL-9**: no file\n", "- [x] **IMPL-9**: no file\n"),
        // No line names an id.
        ("TODO-2", "- [ ] one thing\n- [~] another\n", "- [ ] one thing\n- [x] another\n"),
        ("IMPL-9.json", "- [ ] **IMPL-9.json**: not its file\n", "- [x] **IMPL-9.json**: not its file\n"),
        // The last line is its status, and the entry before it is not.
        ("IMPL-9", "- [ ] **IMPL-9**: it\n- [ ] IMPL-9 again\n", "- [ ] **IMPL-9**: it\n- [x] IMPL-9 again\n"),
    ] {
        let set = files(&[("TODO_LIST.md", before)]);
        assert!(edit(&set, begin(id)).is_empty());
        let edits = edit(&set, finish(id, Status::Completed));
        assert_eq!(texts(&edits)[0].1, after);
        assert_eq!(step(&run(&applied(&set, &edits)), id).status, Status::Completed, "{before}");
    }
}

#[test]
fn tasks_inside_the_session_file_are_changed_there() {
    let session =
        r#"{"session_id":"WFS-x","tasks":[{"id":"A-1","status":"completed"},{"id":"A-2","status":"pending"}]}"#;
    let set = files(&[("workflow-session.json", session)]);
    let edits = edit(&set, finish("A-2", Status::Completed));
    assert_eq!(edits.len(), 1);
    let reloaded = run(&applied(&set, &edits));
    assert_eq!(step(&reloaded, "A-2").status, Status::Completed);
}

#[test]
fn a_byte_order_mark_and_a_missing_line_end_stay() {
    let task = b"\xef\xbb\xbf{\n\t\"id\":\"IMPL-1\",\n\t\"status\":\"pending\",\n\t\"status_history\":[],\n\t\"execution\":{\"attempts\":4}\n}";
    let set = files_in(DIR, &[(".task/IMPL-1.json", task)]);
    let edits =
        edit(&set, ChangeKind::Skip { step: StepId::new("IMPL-1"), part: None, by: None, reason: "r".to_owned() });
    let after = edits[0].after().unwrap();
    assert!(
        after.starts_with(b"\xef\xbb\xbf{\n\t\"id\":\"IMPL-1\",\n\t\"status\":\"skipped\",\n\t\"status_history\":[")
    );
    assert!(after.ends_with(b"\n\t\"execution\":{\"attempts\":4}\n}"));
}

#[test]
fn doing_it_twice_changes_nothing_more() {
    let set = files(&[
        ("TODO_LIST.md", "- [x] **IMPL-1**: a\n"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"in_progress"}"#),
    ]);
    let once = applied(&set, &edit(&set, finish("IMPL-1", Status::Completed)));
    assert!(edit(&once, finish("IMPL-1", Status::Completed)).is_empty());
}
