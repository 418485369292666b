use proptest::prelude::*;
use serde_json::json;

use crate::{
    dialect::{
        Dialect as _,
        ccw::{
            Ccw,
            testing::{DIR, SESSION, begin, change, codes, files, files_in, finish, load, only_step, run, time},
        },
    },
    model::{FindingCode, RunStatus, Status},
};

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
