use proptest::prelude::*;
use serde_json::json;

use crate::{
    dialect::{
        Dialect as _,
        ccw::{
            Ccw,
            testing::{
                DIR, SESSION, begin, change, codes, files, files_in, finish, ids, load, only_step, run, step, time,
            },
        },
    },
    model::{FindingCode, InterruptionKind, RunStatus, Status, StepId, StepKind},
};

/// As format D shows it, with its ids in small letters.
const SEED_TASK: &str = r#"{
  "id": "impl-1.2", "title": "Implement JWT authentication", "status": "in_progress",
  "meta": {"type": "feature", "agent": "code-developer"},
  "context": {"requirements": ["JWT"], "focus_paths": ["src/auth"], "acceptance": ["works"], "depends_on": ["impl-1.1"]},
  "flow_control": {"pre_analysis": [{"step": "analyze_patterns", "action": "Look", "command": "rg auth"}],
    "target_files": ["src/auth/login.ts:handle:75-120"]},
  "execution": {"attempts": 1, "last_attempt": "2025-09-15T14:30:00Z", "interruption_reason": "agent_timeout"}
}"#;

#[test]
fn a_session_of_format_d_is_read() {
    let set = files_in(
        ".workflow/WFS-user-auth",
        &[
            ("workflow-session.json", br#"{"session_id":"WFS-user-auth","project":"User auth","status":"active"}"#),
            (".task/impl-1.1.json", br#"{"id":"impl-1.1","title":"Schema","status":"completed"}"#),
            (".task/impl-1.2.json", SEED_TASK.as_bytes()),
            (".summaries/IMPL-1.1-summary.md", b""),
            (".summaries/impl-1.2-failure-analysis.md", b""),
        ],
    );
    let run = run(&set);
    assert_eq!((run.id.as_str(), run.title.as_str(), run.status), ("WFS-user-auth", "User auth", RunStatus::Active));
    assert_eq!(ids(&run), ["impl-1.1", "impl-1.2"]);
    let step = step(&run, "impl-1.2");
    assert_eq!((step.status, step.attempts, step.agent.as_deref()), (Status::InProgress, 1, Some("code-developer")));
    assert_eq!(step.depends_on, [StepId::new("impl-1.1")]);
    assert_eq!(
        (step.detail.focus.as_slice(), step.detail.targets[0].as_str()),
        (&["src/auth".to_owned()][..], "src/auth/login.ts:handle:75-120")
    );
    assert_eq!(step.detail.parts[0].commands, ["rg auth"]);
    assert!(step.proof.summaries.is_empty());
    assert_eq!(run.steps[0].proof.summaries[0].name(), "IMPL-1.1-summary.md");
    let interruption = run.interruption.as_ref().unwrap();
    assert_eq!(
        (interruption.kind, interruption.reason.as_str()),
        (InterruptionKind::AgentInterruption, "agent_timeout")
    );
    assert_eq!(interruption.at, Some(time("2025-09-15T14:30:00Z")));
    assert_eq!(run.position, Some(StepId::new("impl-1.2")));
    assert_eq!(run.stamp, Some(time("2025-09-15T14:30:00Z")));
}

#[test]
fn the_other_formats_are_read() {
    let a = only_step(
        r#"{"id":"IMPL-1","status":"active","type":"docs","agent":"@x","dependencies":{"upstream":["impl-9"]},
            "execution":{"attempts":2,"current_attempt":{"completed_checkpoints":["one"]}}}"#,
    );
    assert_eq!((a.status, a.attempts, a.agent.as_deref()), (Status::InProgress, 2, Some("x")));
    assert_eq!(a.dangling, ["impl-9"]);
    let c =
        only_step(r#"{"id":"IMPL-1","status":"pending","paths":"a;b","relations":{"parent":null,"dependencies":[]}}"#);
    assert_eq!(c.detail.focus, ["a", "b"]);
    let e = only_step(
        r#"{"id":"IMPL-1","title":"t","status":"pending","meta":{"type":"test-fix","execution_group":null},
            "flow_control":{"pre_analysis":[{"step":"s","commands":["a","b"],"output_to":"o"}],
            "implementation_approach":[{"step":1,"title":"w","depends_on":[]}]}}"#,
    );
    assert_eq!((e.agent.as_deref(), e.detail.parts.len()), (Some("test-fix-agent"), 2));
    let h = only_step(
        r#"{"id":"IMPL-1","title":"t","description":"d","depends_on":[],"convergence":{"criteria":["c"]},"status":"completed",
            "status_history":[{"from":null,"to":"pending","changed_at":"2026-03-29T10:05:00+08:00"},
              {"from":"pending","to":"in_progress","changed_at":"2026-03-29T10:16:45.1234567Z"},
              {"status":"completed","at":"2026-03-29","note":"n"}],
            "result":{"success":true,"commit_hash":"8ab598a"}}"#,
    );
    assert_eq!((h.status, h.attempts, h.detail.acceptance.as_slice()), (Status::Completed, 1, &["c".to_owned()][..]));
    assert_eq!(h.started_at, Some(time("2026-03-29T10:16:45.1234567Z")));
    assert_eq!(h.finished_at, Some(time("2026-03-29T00:00:00Z")));
    assert_eq!(h.commit.as_deref(), Some("8ab598a"));
}

#[test]
fn failures_are_counted_in_every_way_they_are_recorded() {
    for (fields, attempts, failures) in [
        (r#""status":"failed""#, 0, 1),
        (r#""status":"failed","execution":{"attempts":3}"#, 3, 3),
        (
            r#""status":"failed","execution":{"attempts":3},"status_history":[{"from":"in_progress","to":"failed"}]"#,
            3,
            1,
        ),
        (
            r#""status":"in_progress","execution":{"attempts":3},"status_history":[{"from":"failed","to":"in_progress"}]"#,
            3,
            2,
        ),
        (r#""status":"pending","execution":{"attempts":"2"}"#, 2, 0),
        (
            r#""status":"failed","status_history":[{"to":"failed"},{"to":"completed"},{"to":"in_progress"},{"to":"failed"}]"#,
            1,
            1,
        ),
    ] {
        let step = only_step(&format!(r#"{{"id":"IMPL-1",{fields}}}"#));
        assert_eq!((step.attempts, step.failures), (attempts, failures), "{fields}");
    }
    let step = only_step(r#"{"id":"IMPL-1","status":"failed","result":{"error":"boom key=AKIAIOSFODNN7EXAMPLE"}}"#);
    assert_eq!(step.error.as_deref(), Some("boom key=[masked]"));
    assert_eq!(
        only_step(r#"{"id":"IMPL-1","status":"failed","result":"it broke"}"#).error.as_deref(),
        Some("it broke")
    );
    assert_eq!(only_step(r#"{"id":"IMPL-1","status":"completed","result":"fine"}"#).error, None);
}

#[test]
fn witnesses_say_what_checklist_and_summaries_say() {
    let set = files(&[
        ("workflow-session.json", SESSION),
        ("TODO_LIST.md", "- [x] **IMPL-1**: a\n- [ ] **IMPL-10**: b\n"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"pending"}"#),
        (".task/IMPL-1.1.json", r#"{"id":"IMPL-1.1"}"#),
        (".task/IMPL-10.json", r#"{"id":"IMPL-10","status":"completed"}"#),
        (".summaries/IMPL-1.1-summary.md", ""),
        ("summaries/impl-10.md", ""),
        (".summaries/IMPL-1-failure-analysis.md", ""),
    ]);
    let loaded = load(&set);
    let run = loaded.run.as_ref().unwrap();
    let said = |id: &str| {
        let step = step(run, id);
        assert_eq!(step.proof.witnesses_needed, 2);
        step.proof.witnesses.iter().map(|witness| (&*witness.source, witness.done, witness.line)).collect::<Vec<_>>()
    };
    let (todo, summary) = ("TODO_LIST.md", "summary");
    assert_eq!(said("IMPL-1"), [(todo, true, Some(1)), (summary, false, None)]);
    assert_eq!(said("IMPL-1.1"), [(summary, true, None)]);
    assert_eq!(said("IMPL-10"), [(todo, false, Some(2)), (summary, true, None)]);
    let found = codes(&loaded);
    assert!(found.contains(&FindingCode::StatusMissing));
    assert!(found.contains(&FindingCode::TodoMismatch));
}

#[test]
fn containers_have_children() {
    let set = files(&[
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"container"}"#),
        (".task/IMPL-1.1.json", r#"{"id":"IMPL-1.1","status":"completed"}"#),
        (".task/IMPL-1.2.json", r#"{"id":"IMPL-1.2","status":"pending","context":{"parent":"IMPL-1"}}"#),
        (".task/IMPL-2.json", r#"{"id":"IMPL-2","status":"pending","subtasks":["impl-2.1","IMPL-2.2"]}"#),
        (".task/IMPL-2.1.json", r#"{"id":"IMPL-2.1","status":"pending"}"#),
        (".task/IMPL-3.json", r#"{"id":"IMPL-3","status":"pending"}"#),
        (".task/IMPL-3.1.json", r#"{"id":"IMPL-3.1","status":"pending","context":{"parent":"IMPL-2.1"}}"#),
        (".task/IMPL-4.json", r#"{"id":"IMPL-4","status":"container"}"#),
        (
            ".task/IMPL-5.json",
            r#"{"id":"IMPL-5","status":"container","subtasks":[{"id":"IMPL-5.1","status":"completed"},{"id":"IMPL-5.2"}]}"#,
        ),
        (".task/IMPL-6.json", r#"{"id":"IMPL-6","status":"pending","subtasks":["IMPL-6"]}"#),
    ]);
    let loaded = load(&set);
    let run = loaded.run.as_ref().unwrap();
    let children = |id: &str| step(run, id).children.iter().map(StepId::as_str).collect::<Vec<_>>();
    assert_eq!(children("IMPL-1"), ["IMPL-1.1", "IMPL-1.2"]);
    assert_eq!(children("IMPL-2"), ["IMPL-2.1"]);
    assert_eq!(step(run, "IMPL-2").dangling, ["IMPL-2.2"]);
    assert_eq!(step(run, "IMPL-1.1").group.as_deref(), Some("IMPL-1"));
    for (id, kind, status) in [
        ("IMPL-1", StepKind::Container, Status::Pending),
        ("IMPL-3", StepKind::Work, Status::Pending),
        ("IMPL-4", StepKind::Work, Status::Blocked),
        ("IMPL-5", StepKind::Work, Status::InProgress),
        ("IMPL-6", StepKind::Work, Status::Pending),
    ] {
        assert_eq!((step(run, id).kind, step(run, id).status), (kind, status), "{id}");
    }
    assert_eq!(step(run, "IMPL-5").detail.parts.len(), 2);
}

#[test]
fn dependencies_are_resolved_to_the_ids_on_disk() {
    let set = files(&[
        (".task/IMPL-001.json", r#"{"id":"IMPL-001","status":"completed","subtasks":[{"id":"ST-9"}]}"#),
        (
            ".task/IMPL-002.json",
            r#"{"id":"IMPL-002","status":"pending","depends_on":["impl-1","IMPL-001 (base)","ST-9","IMPL-9"]}"#,
        ),
        (".task/IMPL-003.json", r#"{"id":"IMPL-003","status":"pending","dependencies":["react","IMPL-2"]}"#),
    ]);
    let loaded = load(&set);
    let run = loaded.run.as_ref().unwrap();
    assert_eq!(step(run, "IMPL-002").depends_on, [StepId::new("IMPL-001")]);
    assert_eq!(step(run, "IMPL-002").dangling, ["IMPL-9"]);
    assert_eq!(step(run, "IMPL-003").depends_on, [StepId::new("IMPL-002")]);
    assert!(step(run, "IMPL-003").dangling.is_empty());
    assert!(codes(&loaded).contains(&FindingCode::FieldIgnored));
}

#[test]
fn a_session_without_task_files_lives_from_its_checklist() {
    let todo = "▸ **IMPL-1**: Group\n- [x] **IMPL-1.1**: First → x\n- [ ] **IMPL-1.2**: Second\n- [ ] all tests pass\n";
    let run1 = run(&files(&[("workflow-session.json", SESSION), ("TODO_LIST.md", todo)]));
    assert_eq!(ids(&run1), ["IMPL-1.1", "IMPL-1.2"]);
    assert_eq!((run1.steps[0].status, run1.steps[0].title.as_str()), (Status::Completed, "First"));
    assert_eq!(run1.steps[1].status, Status::Pending);
    let plain = run(&files(&[("TODO_LIST.md", "- [ ] = pending\n- [x] one thing\n  - [ ] detail\n- [ ] another\n")]));
    assert_eq!(ids(&plain), ["TODO-1", "TODO-2"]);
    assert_eq!(plain.steps[0].status, Status::Completed);
}

#[test]
fn open_work_without_a_file_does_not_vanish() {
    let set = files(&[
        (
            "TODO_LIST.md",
            "- [x] **IMPL-1**: a\n- [ ] **IMPL-7**: left\n- [ ] **IMPL-2**: group\n- [ ] **IMPL-2.1**: c\n",
        ),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"completed"}"#),
        (".task/IMPL-2.1.json", r#"{"id":"IMPL-2.1","status":"pending"}"#),
    ]);
    let loaded = load(&set);
    assert_eq!(ids(loaded.run.as_ref().unwrap()), ["IMPL-1", "IMPL-2.1", "IMPL-7"]);
    assert!(codes(&loaded).contains(&FindingCode::TodoMismatch));
}

#[test]
fn a_broken_session_file_leaves_the_tasks() {
    let set = files(&[
        ("workflow-session.json", "{\n  \"total\": 9,166\n}"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"pending"}"#),
    ]);
    let loaded = load(&set);
    let run = loaded.run.as_ref().unwrap();
    assert_eq!((run.id.as_str(), run.degraded, run.steps.len()), ("WFS-x", true, 1));
    let finding = loaded.findings.iter().find(|finding| finding.code == FindingCode::SessionUnreadable).unwrap();
    assert_eq!((finding.line, finding.column), (Some(2), Some(14)));
}

#[test]
fn unknown_words_are_never_read_as_done() {
    let set = files(&[
        ("workflow-session.json", r#"{"session_id":"WFS-x","status":"finished?"}"#),
        ("TODO_LIST.md", "- [x] **IMPL-1**: a\n"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"nearly done"}"#),
        (".summaries/IMPL-1-summary.md", ""),
    ]);
    let loaded = load(&set);
    let run = loaded.run.as_ref().unwrap();
    assert_eq!((run.status, run.steps[0].status), (RunStatus::Active, Status::Blocked));
    assert!(run.steps[0].proof.witnesses.is_empty());
    assert!(codes(&loaded).contains(&FindingCode::StatusUnknown));
    assert!(codes(&loaded).contains(&FindingCode::SessionStatusStale));
}

#[test]
fn the_sessions_own_status_is_read_and_doubted() {
    for (status, expected) in [
        ("planning", RunStatus::Active),
        ("Implementing", RunStatus::Active),
        ("FAILED", RunStatus::Active),
        ("paused", RunStatus::Paused),
        ("completed", RunStatus::Completed),
        ("archived", RunStatus::Archived),
        ("cancelled", RunStatus::Aborted),
    ] {
        let session = json!({"session_id": "WFS-x", "status": status}).to_string();
        let loaded =
            load(&files(&[("workflow-session.json", &session), (".task/IMPL-1.json", r#"{"status":"pending"}"#)]));
        assert_eq!(loaded.run.as_ref().unwrap().status, expected, "{status}");
        let is_stale = codes(&loaded).contains(&FindingCode::SessionStatusStale);
        assert_eq!(is_stale, expected == RunStatus::Completed, "{status}");
    }
    let archived = load(&files_in(".workflow/archives/WFS-x", &[("workflow-session.json", SESSION.as_bytes())]));
    assert_eq!(archived.run.as_ref().unwrap().status, RunStatus::Active);
    assert!(codes(&archived).contains(&FindingCode::SessionArchived));
}

#[test]
fn what_the_session_is_for_is_found_wherever_it_stands() {
    for (session, goal) in [
        (json!({"project": "a", "description": "b"}), Some("a")),
        (json!({"description": "b"}), Some("b")),
        (json!({"goal": {"description": "c"}}), Some("c")),
        (json!({"project": "", "task_description": {"goal": "d"}}), Some("d")),
        (json!({"topic": ["x"]}), None),
    ] {
        let run = run(&files(&[("workflow-session.json", &session.to_string())]));
        assert_eq!(run.goal.as_deref(), goal, "{session}");
    }
}

#[test]
fn an_old_interruption_is_not_the_present_one() {
    let session = |resumed: &str| {
        json!({"session_id": "WFS-x", "last_execute_run": resumed, "interruption_history": [
            {"timestamp": "2025-09-15T14:30:00Z", "reason": "agent_timeout", "affected_task": "impl-1"}]})
        .to_string()
    };
    let task = (".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"in_progress"}"#);
    let past = run(&files(&[("workflow-session.json", &session("2025-09-15T15:45:00Z")), task]));
    assert_eq!(past.interruption, None);
    let present = run(&files(&[("workflow-session.json", &session("2025-09-15T13:00:00Z")), task]));
    assert_eq!(present.interruption.unwrap().step, Some(StepId::new("IMPL-1")));
}

#[test]
fn wrong_types_everywhere_do_no_harm() {
    for value in ["null", "7", "true", "\"x\"", "[]", "{}", "[[{}]]", "{\"id\":{}}"] {
        let task = [
            "id",
            "title",
            "status",
            "meta",
            "context",
            "flow_control",
            "execution",
            "status_history",
            "subtasks",
            "result",
            "depends_on",
            "dependencies",
            "relations",
            "convergence",
            "implementation",
            "pre_analysis",
            "files",
            "paths",
        ];
        let fields: Vec<String> = task.iter().map(|key| format!("\"{key}\":{value}")).collect();
        let keys = [
            "session_id",
            "project",
            "status",
            "created_at",
            "progress",
            "interruption_history",
            "resume_count",
            "tasks",
            "worktree",
        ];
        let session: Vec<String> = keys.iter().map(|key| format!("\"{key}\":{value}")).collect();
        let set = files(&[
            ("workflow-session.json", &format!("{{{}}}", session.join(","))),
            (".task/IMPL-1.json", &format!("{{{}}}", fields.join(","))),
        ]);
        let run = run(&set);
        assert_eq!(run.steps.len(), 1, "{value}");
        let id = run.steps[0].id.as_str();
        for kind in [begin(id), finish(id, Status::Completed), finish(id, Status::Failed)] {
            assert!(Ccw.edit(&set, &change(kind)).is_ok(), "{value}");
        }
    }
}

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        any::<i64>().prop_map(serde_json::Value::from),
        "[a-zA-Z0-9./ -]{0,12}|IMPL-[0-9](\\.[0-9])?|completed|in_progress|container|\\PC{0,6}"
            .prop_map(serde_json::Value::from),
    ];
    let key = "id|task_id|status|title|context|depends_on|dependencies|subtasks|flow_control|pre_analysis|step|execution|status_history|to|from|parent|meta|type|tasks|[a-z]{1,4}";
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(serde_json::Value::from),
            proptest::collection::vec((key, inner), 0..7)
                .prop_map(|fields| fields.into_iter().collect::<serde_json::Value>()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn loading_and_editing_never_panic(
        session in any_json(),
        tasks in proptest::collection::vec(any_json(), 1..4),
        todo in "(\\PC{0,8}|- \\[[ x~]\\] \\*{0,2}IMPL-[0-9](\\.[0-9])?\\*{0,2}:? ?\\PC{0,6}\r?\n|#{1,3} IMPL-[0-9]\n|```\n){0,8}",
        cut in 0_usize..40,
    ) {
        let texts: Vec<String> = tasks.iter().map(ToString::to_string).collect();
        let names: Vec<String> = (1..=texts.len()).map(|number| format!(".task/IMPL-{number}.json")).collect();
        let session = session.to_string();
        let mut all: Vec<(&str, &[u8])> = names.iter().map(String::as_str).zip(texts.iter().map(String::as_bytes)).collect();
        all[0].1 = &all[0].1[..all[0].1.len().saturating_sub(cut)];
        all.push(("workflow-session.json", session.as_bytes()));
        all.push(("TODO_LIST.md", todo.as_bytes()));
        let set = files_in(DIR, &all);
        let run = load(&set).run.unwrap();
        for step in &run.steps {
            for kind in [begin(step.id.as_str()), finish(step.id.as_str(), Status::Completed)] {
                for edit in Ccw.edit(&set, &change(kind)).unwrap_or_default() {
                    if edit.path.name().ends_with(".json") {
                        prop_assert!(serde_json::from_slice::<serde_json::Value>(edit.after().unwrap()).is_ok());
                    }
                }
            }
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let set = files_in(DIR, &[("workflow-session.json", &bytes), ("TODO_LIST.md", &bytes), (".task/IMPL-1.json", &bytes)]);
        prop_assert!(load(&set).run.is_some());
    }
}
