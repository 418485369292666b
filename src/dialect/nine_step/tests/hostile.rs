//! Untrusted content of a state file: wrong types, damage, absurd numbers.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{codes, files, files_at, finding, load, path, state, step, step_id};
use crate::{
    dialect::{Dialect as _, EditError, nine_step::NineStep},
    model::{
        ChangeKind, Content, FileEntry, FindingCode, Outcome, ReadProblem, ReviewVerdict, RollBack, Severity,
        StartSpec, Status,
    },
};

#[test]
fn numbers_may_be_strings_and_floats() {
    for text in [
        "{\"feature_name\":\"q\",\"current_phase\":\"2\",\"current_step\":\"2.5\",\"total_phases\":\"3\",\
          \"last_execution\":{\"phase\":2.0,\"step\":2.5,\"status\":\"waiting_approval\"}}",
        "{\"feature_name\":\"q\",\"current_phase\":2.0,\"current_step\":2.50,\"total_phases\":3.0,\
          \"last_execution\":{\"phase\":\"2\",\"step\":\"2.5\",\"status\":\"WAITING APPROVAL\"}}",
    ] {
        let loaded = load(text);
        assert_eq!(codes(&loaded), []);
        let run = loaded.run.unwrap();
        assert_eq!(run.position, Some(step_id("2:2.5")));
        assert_eq!(run.steps.len(), 30);
    }
}

#[test]
fn each_missing_field_is_named_with_its_place() {
    let full: Value =
        serde_json::from_str(&state("{\"phase\": 1, \"step\": 3, \"status\": \"completed\"}", "")).unwrap();
    for field in ["feature_name", "current_phase", "current_step", "last_execution"] {
        let mut value = full.clone();
        value.as_object_mut().unwrap().shift_remove(field);
        let loaded = load(&value.to_string());
        let found = finding(&loaded, FindingCode::StateMissingField);
        assert!(found.message.starts_with(&format!("Missing required field: {field}")), "{}", found.message);
        assert_eq!(found.pointer, Some(format!("/{field}")));
        assert_eq!((found.line, found.severity), (Some(1), Severity::Blocking));
        assert!(loaded.run.is_some(), "{field}");
    }
    let loaded = load("{\"feature_name\": \"q\", \"current_phase\": 1}");
    assert!(loaded.run.is_none());
    assert_eq!(codes(&loaded).iter().filter(|code| **code == FindingCode::StateMissingField).count(), 2);
}

#[test]
fn a_step_that_does_not_exist_is_refused() {
    for number in ["2.4", "3.5", "0", "10", "-1", "\"two\"", "[3]", "true", "1e300"] {
        let text = format!(
            "{{\"feature_name\": \"q\", \"current_phase\": 1, \"current_step\": 3,\n \"last_execution\": {{\"phase\": 1,\n  \"step\": {number}, \"status\": \"completed\"}}}}"
        );
        let loaded = load(&text);
        let found = finding(&loaded, FindingCode::StateWrongType);
        assert_eq!(found.pointer.as_deref(), Some("/last_execution/step"), "{number}");
        assert_eq!(found.line, Some(3), "{number}");
        assert!(
            loaded
                .run
                .unwrap()
                .steps
                .iter()
                .filter(|step| step.id == step_id("1:4"))
                .all(|step| step.status != Status::Completed)
        );
    }
}

#[test]
fn a_phase_beyond_the_total_blocks() {
    let loaded = load(&state("{\"phase\": 5, \"step\": 3, \"status\": \"completed\"}", "\"total_phases\": 3"));
    let found = finding(&loaded, FindingCode::StateWrongType);
    assert_eq!(found.pointer.as_deref(), Some("/last_execution/phase"));
    assert_eq!(found.severity, Severity::Blocking);
    assert_eq!(loaded.run.unwrap().steps.len(), 50);
}

#[test]
fn absurd_totals_stay_bounded() {
    for (phase, total) in [
        ("1", "4000000000"),
        ("3999999999", "4000000000"),
        ("4294967295", "4294967295"),
        ("12345", "null"),
        ("1", "2001"),
    ] {
        let last = format!("{{\"phase\": {phase}, \"step\": 3, \"status\": \"completed\"}}");
        let loaded = load(&state(&last, &format!("\"total_phases\": {total}")));
        assert_eq!(finding(&loaded, FindingCode::StateWrongType).severity, Severity::Blocking, "{phase} of {total}");
        let run = loaded.run.unwrap();
        assert!(run.steps.len() <= 20, "{phase} of {total}");
        assert!(run.step(run.position.as_ref().unwrap()).is_some());
    }
    let loaded = load(&state("{\"phase\": 4294967296, \"step\": 3, \"status\": \"completed\"}", ""));
    assert!(codes(&loaded).contains(&FindingCode::StateWrongType));
}

#[test]
fn optional_fields_of_a_wrong_type_are_ignored_and_named() {
    let more = "\"branch_name\": 5, \"total_phases\": \"many\", \"completed_steps\": {}, \"history\": [1, {\"phase\": 1, \"step\": 2.4}],
        \"related_issues\": {\"a\": 1}, \"updated_at\": \"yesterday\", \"plan_reference\": null, \"run_status\": \"asleep\"";
    let loaded = load(&state("{\"phase\": 1, \"step\": 3, \"status\": \"completed\"}", more));
    let mut pointers: Vec<&str> = loaded.findings.iter().filter_map(|finding| finding.pointer.as_deref()).collect();
    pointers.sort_unstable();
    assert_eq!(
        pointers,
        [
            "/branch_name",
            "/completed_steps",
            "/history/0",
            "/history/1",
            "/related_issues",
            "/run_status",
            "/total_phases",
            "/updated_at"
        ]
    );
    assert!(codes(&loaded).iter().all(|code| *code == FindingCode::FieldIgnored));
}

#[test]
fn issues_are_read_whatever_their_type() {
    for (issues, expected) in [
        ("[12, \"#13\", {\"number\": 14}]", vec!["12", "#13", "14"]),
        ("\"12, 13\"", vec!["12", "13"]),
        ("12", vec!["12"]),
        ("[]", vec![]),
    ] {
        let run = super::run(&state(
            "{\"phase\": 1, \"step\": 3, \"status\": \"completed\"}",
            &format!("\"related_issues\": {issues}"),
        ));
        assert_eq!(run.workspace.issues, expected);
    }
}

#[test]
fn damage_is_reported_with_line_and_column() {
    for (text, line, column) in [
        ("", 1, 1),
        ("{\n  \"feature_name\": \"q\",\n  \"last_execution\": {", 3, 21),
        ("{\n  \"a\": 01\n}", 2, 9),
        ("\u{feff}{\"a\" 1}", 1, 6),
    ] {
        let loaded = load(text);
        assert!(loaded.run.is_none());
        let found = finding(&loaded, FindingCode::StateUnreadable);
        assert_eq!((found.line, found.column), (Some(line), Some(column)), "{text:?}: {}", found.message);
        assert!(found.message.contains("Workflow state file corrupted"));
        assert!(found.fix_text().unwrap().contains("`piton restore feat-quotes`"));
    }
    for text in ["[]", "null", "\"x\"", "5"] {
        assert_eq!(codes(&load(text)), [FindingCode::StateWrongType], "{text}");
    }
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(codes(&load(&deep)), [FindingCode::StateUnreadable]);
    let loaded = NineStep.load(&files_at(super::STATE, b"{\"feature_name\": \"\xff\"}"));
    assert!(finding(&loaded, FindingCode::StateUnreadable).message.contains("not UTF-8"));
}

#[test]
fn a_backup_shows_the_plan_and_does_not_unblock_it() {
    let mut files = files("{\"feature_name\": ");
    let good = state("{\"phase\": 1, \"step\": 3, \"status\": \"completed\"}", "");
    let backup = path(&format!("{}.backup", super::STATE));
    let content = Content::Bytes(std::sync::Arc::from(good.as_bytes()));
    files.files.insert(backup, FileEntry::new(content, None));
    let loaded = NineStep.load(&files);
    assert_eq!(codes(&loaded), [FindingCode::StateUnreadable]);
    assert_eq!(loaded.findings[0].severity, Severity::Blocking);
    assert!(loaded.findings[0].fix_text().unwrap().contains("piton restore"));
    let run = loaded.run.unwrap();
    assert!(run.degraded);
    assert_eq!(run.position, Some(step_id("1:3")));
    let begin = ChangeKind::Begin { step: step_id("1:4"), part: None, agent: None, attempt: 1, reopens: Vec::new() };
    let error = NineStep.edit(&files, &super::change(begin)).unwrap_err();
    assert!(matches!(error, EditError::Unreadable { .. }), "{error}");
    assert!(error.to_string().contains("line 1"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let mut files = files("{}");
    for problem in [ReadProblem::Permission, ReadProblem::Directory, ReadProblem::LinkLeavesRoot] {
        let entry = FileEntry::new(Content::Problem(problem.clone()), None);
        files.files.insert(files.state.clone(), entry);
        let loaded = NineStep.load(&files);
        assert_eq!(codes(&loaded), [FindingCode::StateUnreadable]);
        assert!(loaded.findings[0].message.contains(&problem.to_string()));
    }
    files.files.clear();
    assert!(NineStep.load(&files).findings[0].message.contains("does not exist"));
    let error = NineStep.edit(&files, &super::change(ChangeKind::Pause { reason: None })).unwrap_err();
    assert!(matches!(error, EditError::Missing { .. }));
}

#[test]
fn a_newer_format_is_read_and_not_written() {
    for more in [
        "\"schema_version\": 2",
        "\"schema_version\": \"2.1\"",
        "\"format\": {\"major\": 9}",
        "\"format\": \"nine-step/2\"",
    ] {
        let text = state("{\"phase\": 1, \"step\": 3, \"status\": \"completed\"}", more);
        let loaded = load(&text);
        assert_eq!(codes(&loaded), [FindingCode::FormatNewer], "{more}");
        assert!(!loaded.run.unwrap().writable);
        let error = NineStep.edit(&files(&text), &super::change(ChangeKind::Pause { reason: None })).unwrap_err();
        assert!(matches!(error, EditError::Unsupported(_)), "{error}");
    }
    let same = load(&state("{\"phase\": 1, \"step\": 3, \"status\": \"completed\"}", "\"schema_version\": \"1.0\""));
    assert!(same.run.unwrap().writable);
}

#[test]
fn a_feature_that_leaves_its_folder_is_refused() {
    for feature in [
        "../x",
        "a/b",
        "..",
        ".",
        "",
        "/etc/passwd",
        "a b",
        "x\0y",
        "-x",
        ".hidden",
        "a..b",
        "x.lock",
        "a\\b",
        &"x".repeat(300),
    ] {
        let start = ChangeKind::Start(Box::new(StartSpec::new("nine-step", feature)));
        let result = NineStep.edit(&files("{}"), &super::change(start));
        assert!(matches!(result, Err(EditError::Unsupported(_))), "{feature:?}");
    }
    let text = "{\"feature_name\": \"../../etc\", \"current_phase\": 1, \"current_step\": 3, \"plan_reference\": \"../../../etc/passwd\",
        \"last_execution\": {\"phase\": 1, \"step\": 3, \"status\": \"completed\"}}";
    let loaded = load(text);
    assert_eq!(codes(&loaded), [FindingCode::FieldIgnored]);
    assert!(loaded.wanted.documents.is_empty());
}

/// Makes values that look like a state now and then.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0_u32..12).prop_map(Value::from),
        Just(json!(2.5)),
        "[a-z_ 0-9.:]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "completed",
            "failed",
            "in_progress",
            "waiting_approval",
            "approved",
            "REJECTED",
            "skipped",
            "2.5",
            "2026-01-01T00:00:00",
        ])
        .prop_map(Value::from),
    ];
    let key = prop_oneof![
        4 => prop::sample::select(vec![
            "feature_name", "current_phase", "current_step", "last_execution", "phase", "step", "status", "verdict", "agent",
            "timestamp", "completed_steps", "history", "approvals", "skipped_steps", "total_phases", "conditions", "phases",
            "attempts", "related_issues", "run_status", "worktree_path", "plan_reference", "error_message", "decision",
        ])
        .prop_map(str::to_owned),
        1 => "[a-z/~\"]{0,4}",
    ];
    leaf.prop_recursive(4, 48, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..12)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

fn any_change() -> impl Strategy<Value = ChangeKind> {
    let id = (1_u32..3, prop::sample::select(vec!["1", "2", "2.5", "3", "4", "7", "9"]))
        .prop_map(|(phase, step)| step_id(&format!("{phase}:{step}")));
    prop_oneof![
        id.clone().prop_map(|step| ChangeKind::Begin {
            step,
            part: None,
            agent: None,
            attempt: 0,
            reopens: Vec::new()
        }),
        id.clone().prop_map(|step| ChangeKind::Approve {
            step,
            by: None,
            note: Some("ok".to_owned()),
            phases: None,
            choice: None
        }),
        id.clone().prop_map(|step| ChangeKind::Skip { step, part: None, by: None, reason: "not needed".to_owned() }),
        (1_u32..3, 0_usize..10).prop_map(|(phase, step)| ChangeKind::RollBack(Box::new(back_to(phase, step)))),
        Just(ChangeKind::Pause { reason: Some("lunch".to_owned()) }),
        Just(ChangeKind::Resume { steps: Vec::new(), interruption: None, strategy: None, settled: Vec::new() }),
        (id, prop::sample::select(vec![Status::Completed, Status::Failed, Status::WaitingApproval]), any::<bool>())
            .prop_map(|(step, status, rejected)| ChangeKind::Finish(Box::new(outcome(step, status, rejected)))),
    ]
}

/// Opens one of the ten steps of a phase again.
fn back_to(phase: u32, step: usize) -> RollBack {
    let steps = ["1", "2", "2.5", "3", "4", "5", "6", "7", "8", "9"];
    let before = match step.checked_sub(1) {
        Some(before) => Some((phase, before)),
        None => phase.checked_sub(1).filter(|phase| *phase > 0).map(|phase| (phase, 9)),
    };
    RollBack {
        to: "somewhere".to_owned(),
        reopened: vec![step_id(&format!("{phase}:{}", steps[step]))],
        keeps: before.map(|(phase, step)| step_id(&format!("{phase}:{}", steps[step]))),
        from: Some(step_id("2:9")),
        ..RollBack::default()
    }
}

fn outcome(step: crate::model::StepId, status: Status, rejected: bool) -> Outcome {
    Outcome {
        status,
        agent: Some("agent".to_owned()),
        verdict: (rejected && status == Status::Failed).then_some(ReviewVerdict::Rejected),
        error: (status == Status::Failed).then(|| "it broke".to_owned()),
        attempt: 1,
        ..Outcome::completed(step)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_in_a_file_makes_load_panic(value in any_json(), kind in any_change()) {
        let files = files(&value.to_string());
        let loaded = NineStep.load(&files);
        if let Some(run) = &loaded.run {
            prop_assert!(run.position.as_ref().is_some_and(|id| run.step(id).is_some()));
        }
        let _ = NineStep.edit(&files, &super::change(kind));
    }

    #[test]
    fn bytes_never_make_load_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = NineStep.load(&files_at(super::STATE, &bytes));
    }

    #[test]
    fn what_is_written_is_read_back(kind in any_change(), junk in any_json()) {
        let mut value: Value = serde_json::from_str(&state(
            "{\"phase\": 2, \"step\": 3, \"agent\": \"x\", \"status\": \"failed\", \"timestamp\": \"2026-03-01T10:00:00Z\", \"other\": [1.10]}",
            "\"total_phases\": 3",
        )).unwrap();
        value["custom"] = junk;
        let text = serde_json::to_string_pretty(&value).unwrap();
        let files = files(&text);
        let after = super::edited(&files, kind.clone());
        let loaded = NineStep.load(&super::files(&after));
        let blocking: Vec<_> = loaded.findings.iter().filter(|finding| finding.severity == Severity::Blocking).collect();
        prop_assert!(blocking.is_empty(), "{:?}", blocking);
        let written: Value = serde_json::from_str(&after).unwrap();
        prop_assert_eq!(&written["custom"], &value["custom"]);
        prop_assert_eq!(&written["last_execution"]["other"], &json!([1.10]));
        let run = loaded.run.unwrap();
        match &kind {
            ChangeKind::Begin { step: id, .. } => {
                let status = step(&run, id.as_str()).status;
                let expected = if id.as_str().ends_with("2.5") { Status::WaitingApproval } else { Status::InProgress };
                prop_assert_eq!(status, expected);
                prop_assert_eq!(run.position.as_ref(), Some(id));
            }
            ChangeKind::Finish(outcome) => {
                let step = step(&run, outcome.step.as_str());
                prop_assert_eq!(step.status, outcome.status);
                prop_assert_eq!(&run.position, &Some(outcome.step.clone()));
            }
            ChangeKind::Skip { step: id, .. } => prop_assert_eq!(step(&run, id.as_str()).status, Status::Skipped),
            ChangeKind::Approve { step: id, .. } if id.as_str().ends_with("2.5") => {
                prop_assert_eq!(step(&run, id.as_str()).status, Status::Completed);
            }
            ChangeKind::RollBack(back) => {
                prop_assert_eq!(&run.position, &Some(back.keeps.clone().unwrap_or_else(|| step_id("1:1"))));
                let first = step(&run, back.reopened[0].as_str());
                let is_gate = first.kind == crate::model::StepKind::Gate;
                prop_assert_eq!(first.status, if is_gate { Status::WaitingApproval } else { Status::Pending });
            }
            ChangeKind::Pause { .. } => prop_assert_eq!(run.status, crate::model::RunStatus::Paused),
            ChangeKind::Resume { .. } => prop_assert_eq!(run.resumes, 1),
            ChangeKind::Approve { .. }
            | ChangeKind::Abort { .. }
            | ChangeKind::Complete { .. }
            | ChangeKind::Repair { .. }
            | ChangeKind::Start(_) => {}
        }
    }
}
