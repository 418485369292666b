use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use serde_json::json;

use super::BUILT_IN;
use super::check;
use crate::model::Change;
use crate::model::Clock;
use crate::model::Content;
use crate::model::FileEntry;
use crate::model::FileSet;
use crate::model::RelPath;
use crate::model::Timestamp;

#[test]
fn built_in_definitions_have_no_mistakes() {
    for one in BUILT_IN {
        let checked = check(&RelPath::parse("x.yaml").unwrap(), one.text.as_bytes());
        assert_eq!(checked.findings, Vec::new(), "{}", one.name);
    }
}

fn mistakes(text: &str) -> Vec<String> {
    let checked = check(&RelPath::parse("flow.yaml").unwrap(), text.as_bytes());
    let place = |finding: &crate::model::Finding| (finding.line.unwrap(), finding.column.unwrap());
    checked
        .findings
        .iter()
        .map(|finding| format!("{}:{} {}", place(finding).0, place(finding).1, finding.message))
        .collect()
}

#[test]
fn every_mistake_is_told_with_line_and_column() {
    for (text, expected) in [
        ("steps:\n- id: a\n  agnet: x\n", "3:3 a step has no key `agnet`; did you mean `agent`?"),
        ("steps:\n- id: a\n  dependson: x\n", "3:3 a step has no key `dependson`; did you mean `depends_on`?"),
        ("steps:\n- id: a\nstep: x\n", "3:1 a workflow has no key `step`; did you mean `steps`?"),
        (
            "steps:\n- id: a\nversion: 2\n",
            "3:1 a workflow has no key `version`; its keys are name, description, steps, phases",
        ),
        ("steps:\n- id: a\n- id: a\n", "3:7 the id `a` is already used by the step on line 2"),
        ("steps:\n- title: A\n", "2:3 a step needs an `id`"),
        (
            "steps:\n- id: ../x\n",
            "2:7 `../x` is not an id: letters, digits, `-`, `_`, `.` and `:`, not beginning with `-` or `.`, at most 100 bytes",
        ),
        ("steps:\n- id: a\n  depends_on: [b]\n", "3:16 `a` depends on `b`, which is not a step"),
        ("steps:\n- id: a\n  returns_to: b\n", "3:15 `a` returns to `b`, which is not a step"),
        (
            "steps:\n- id: a\n  depends_on: c\n- id: b\n  depends_on: a\n- id: c\n  depends_on: [b]\n",
            "5:15 steps depend on each other in a cycle: a -> c -> b -> a",
        ),
        ("steps:\n- id: a\n  depends_on: a\n", "3:15 steps depend on each other in a cycle: a -> a"),
        ("steps:\n- id: a\n  returns_to: b\n- id: b\n", "3:15 `a` returns to `b`, which it does not depend on"),
        (
            "steps:\n- id: a\n- id: g\n  gate: true\n  agent: pm\n",
            "5:10 the gate `g` must be approved by a person, and `pm` is an agent",
        ),
        (
            "steps:\n- id: a\n  agent: pm\n- id: g\n  gate: pm\n",
            "5:9 the gate `g` must be approved by a person, and `pm` is the agent of `a`",
        ),
        ("steps:\n- id: g\n  gate: ''\n", "3:9 this gate does not say who approves it"),
        ("steps:\n- id: g\n  gate: yes\n  depends_on: g\n", "4:15 steps depend on each other in a cycle: g -> g"),
        ("steps:\n- id: a\n  outputs: ../x\n", "3:12 the output cannot be used: `../x` leaves its folder with `..`"),
        (
            "steps:\n- id: a\n  outputs: [ok.txt, /etc/passwd]\n",
            "3:21 the output cannot be used: `/etc/passwd` is absolute; a path below the project is needed",
        ),
        (
            "steps:\n- id: a\n  outputs: memory/state/phase.json\n",
            "3:12 the output `memory/state/phase.json` is in a state folder",
        ),
        (
            "steps:\n- id: a\n  outputs:\n  - path: a.md\n    schema: {type: object}\n",
            "5:13 a schema is checked against JSON, and `a.md` does not end in .json",
        ),
        ("steps:\n- id: a\n  outputs: x\n- id: b\n  outputs: x\n", "5:12 `x` is already the output of `a`"),
        ("steps:\n- id: a\n  idempotent: no\n", "3:15 `idempotent` of a step is true or false, not text"),
        ("steps:\n- id: a\n  parts: [x, x]\n", "3:14 the part `x` already exists"),
        ("steps: []\n", "1:8 `steps` is an empty list"),
        ("name: x\n", "1:1 a workflow needs steps"),
        ("steps:\n- id: a\nphases:\n- id: p\n", "3:1 a workflow has `steps` or `phases`, not both"),
        ("phases:\n- id: p\n  steps: [{id: a}]\n- id: p\n  steps: [{id: b}]\n", "4:7 the phase `p` already exists"),
        ("steps:\n- id: a\n  id: b\n", "3:3 duplicate mapping key: id"),
        ("- a\n", "1:1 a workflow is a mapping with the keys name, description, steps, phases, not a list"),
    ] {
        assert_eq!(mistakes(text), [expected], "{text}");
    }
}

#[test]
fn all_mistakes_of_a_file_are_told_at_once_in_order() {
    let text = "name: x\nsteps:\n- id: a\n  agnet: x\n  depends_on: zz\n- id: a\n  outputs: ../y\n- {}\n";
    let lines: Vec<String> = mistakes(text).iter().map(|line| line.split(' ').next().unwrap().to_owned()).collect();
    assert_eq!(lines, ["4:3", "5:15", "6:7", "7:12", "8:3"]);
}

#[test]
fn json_is_a_workflow_too() {
    let text = "{\n  \"steps\": [\n    {\"id\": \"a\", \"titel\": \"A\"},\n    {\"id\": 1.10}\n  ]\n}\n";
    assert_eq!(mistakes(text), ["3:17 a step has no key `titel`; did you mean `title`?"]);
}

#[test]
fn without_any_depends_on_the_order_of_the_file_counts() {
    for (text, expected) in [
        ("steps: [{id: 1.9}, {id: 1.10}, {id: c}]", vec![("1.9", vec![]), ("1.10", vec!["1.9"]), ("c", vec!["1.10"])]),
        ("steps: [{id: a}, {id: b, depends_on: []}, {id: c}]", vec![("a", vec![]), ("b", vec![]), ("c", vec![])]),
        ("phases: [{id: p, steps: [{id: a}]}, {id: q, steps: [{id: b}]}]", vec![("a", vec![]), ("b", vec!["a"])]),
    ] {
        let parsed = super::parse::file(&RelPath::parse("flow.yaml").unwrap(), text.as_bytes());
        assert_eq!(parsed.findings, Vec::new(), "{text}");
        let order: Vec<(&str, Vec<&str>)> = parsed
            .definition
            .steps
            .iter()
            .map(|step| (step.id(), step.needs().iter().map(|need| need.text.as_str()).collect()))
            .collect();
        assert_eq!(order, expected, "{text}");
    }
}

#[test]
fn what_a_run_stores_reads_back_as_the_same_workflow() {
    let rich = "phases:\n- id: p\n  title: P\n  steps:\n  - {id: a, title: A, agent: x, parts: [m, {name: n, kind: analysis}], idempotent: false, probe: p}\n  - {id: b, returns_to: a, depends_on: a, outputs: [o.txt, {path: o.json, schema: {type: object}}]}\n- id: q\n  steps: [{id: g, gate: Ann, depends_on: [b], instructions: ask}]\n";
    for text in BUILT_IN.iter().map(|one| one.text).chain([rich]) {
        let file = RelPath::parse("flow.yaml").unwrap();
        let value = check(&file, text.as_bytes()).definition.unwrap();
        let again = super::parse::tree(&file, &crate::document::Node::of(&value));
        assert_eq!(again.findings, Vec::new());
        assert_eq!(again.definition.to_value(), value);
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
