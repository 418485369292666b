use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::json;

use super::BUILT_IN;
use super::to_value;
use crate::model::Change;
use crate::model::Clock;
use crate::model::Content;
use crate::model::FileEntry;
use crate::model::FileSet;
use crate::model::RelPath;
use crate::model::Timestamp;
use crate::workflow;

#[test]
fn built_in_definitions_have_no_mistakes() {
    for one in BUILT_IN {
        let checked = workflow::parse(&RelPath::parse("x.yaml").unwrap(), one.text.as_bytes());
        assert_eq!(checked.findings, Vec::new(), "{}", one.name);
    }
}

#[test]
fn what_a_run_stores_reads_back_as_the_same_workflow() {
    let rich = "phases:\n- id: p\n  title: P\n  steps:\n  - {id: a, title: A, agent: x, parts: [m, {name: n, kind: analysis}], idempotent: false, probe: p}\n  - {id: b, returns_to: a, depends_on: a, outputs: [o.txt, {path: o.json, schema: {type: object}}]}\n- id: q\n  steps: [{id: g, gate: Ann, depends_on: [b], instructions: ask}]\n";
    for text in BUILT_IN.iter().map(|one| one.text).chain([rich]) {
        let file = RelPath::parse("flow.yaml").unwrap();
        let value = to_value(&workflow::parse(&file, text.as_bytes()).workflow.unwrap());
        let again = workflow::parse_tree(&file, &crate::document::Node::of(&value));
        assert_eq!(again.findings, Vec::new());
        assert_eq!(to_value(&again.workflow.unwrap()), value);
    }
}

fn files_of(phase: &Value, execution: &Value) -> FileSet {
    let rel = |path: &str| RelPath::parse(path).unwrap();
    let entry = |value: &Value| FileEntry::new(Content::Bytes(Arc::from(value.to_string().into_bytes())), None);
    let files = [("memory/state/phase.json", phase), ("memory/state/execution.json", execution)];
    FileSet {
        root: "/p".into(),
        name: "x".to_owned(),
        state: rel("memory/state/phase.json"),
        data_dir: rel("memory/state/.piton"),
        files: files.into_iter().map(|(path, value)| (rel(path), entry(value))).collect::<BTreeMap<_, _>>(),
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now: Timestamp::from_unix(0, 0).unwrap(), utc_offset_seconds: 0 },
        config: Arc::default(),
    }
}

#[test]
fn no_value_anywhere_in_the_state_makes_it_panic() {
    let phase = json!({
        "workflow_id": "x", "started_at": "2026-01-30T09:00:00Z", "completed_phases": [{"phase": "a"}],
        "user_checkpoints": [], "definition": {"steps": [{"id": "a", "parts": ["p"]}, {"id": "b", "returns_to": "a"}]},
        "definition_source": {"path": null, "digests": {"a": "0"}}, "resume_count": 1, "run_status": "paused",
    });
    let execution = json!({"tasks": [
        {"id": "a", "status": "verified", "attempts": 1, "parts": [{"name": "p", "status": "running"}]},
        {"id": "b", "status": "failed", "verdict": "NEEDS_REVISION", "conditions": ["c"], "last_error": "e"},
    ]});
    let changes = [
        json!({"at": "2026-01-30T10:00:00Z", "change": "begin", "step": "a", "attempt": 2}),
        json!({"at": "2026-01-30T10:00:00Z", "change": "begin", "step": "a", "part": "p"}),
        json!({"at": "2026-01-30T10:00:00Z", "change": "finish", "step": "b", "verdict": "APPROVED"}),
        json!({"at": "2026-01-30T10:00:00Z", "change": "approve", "step": "b"}),
        json!({"at": "2026-01-30T10:00:00Z", "change": "resume", "steps": [], "interruption": null}),
        json!({"at": "2026-01-30T10:00:00Z", "change": "pause", "reason": null}),
    ]
    .map(|change| serde_json::from_value::<Change>(change).unwrap());
    let odd =
        [json!(null), json!(7), json!("x"), json!([]), json!([[], {}, 1]), json!({}), json!({"id": []}), json!(true)];
    for (at, whole) in [&phase, &execution].into_iter().enumerate() {
        for pointer in pointers(whole) {
            for value in &odd {
                let mut states = [phase.clone(), execution.clone()];
                *states[at].pointer_mut(&pointer).unwrap() = value.clone();
                let files = files_of(&states[0], &states[1]);
                let _ = super::load(&files);
                for change in &changes {
                    for edit in super::edit(&files, change).unwrap_or_default() {
                        assert!(serde_json::from_slice::<Value>(edit.after().unwrap()).is_ok(), "{pointer} {value}");
                    }
                }
            }
        }
    }
}

fn pointers(value: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    };
    let below = children
        .into_iter()
        .flat_map(|(key, value)| pointers(value).into_iter().map(move |pointer| format!("/{key}{pointer}")));
    std::iter::once(String::new()).chain(below).collect()
}
