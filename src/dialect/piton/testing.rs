//! Builds sessions from a workflow and what happened in it.

use std::sync::Arc;

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{
    Session,
    facts::{Facts, Outline},
    record::{Event, Header, Source},
    session::start,
    snapshot,
};
use crate::{
    model::{
        About, Change, ChangeKind, Clock, Config, Content, EditKind, FileEntry, FileSet, RelPath, RunFolder, StartSpec,
        Timestamp, sha256_hex,
    },
    workflow,
};

pub(super) const ID: &str = "session-1";
pub(super) const CHECKPOINT: &str = "runs/session-1/checkpoint.json";
/// Three shell steps.
pub(super) const THREE: &str = "commands: [{shell: one}, {shell: two}, {shell: three}]";

pub(super) fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub(super) fn at(second: u32) -> Timestamp {
    Timestamp::parse(&format!("2026-01-01T00:00:{second:02}Z"), 0).unwrap()
}

pub(super) fn begin(step: &str, attempt: u32) -> Value {
    json!({"change": {"change": "begin", "step": step, "attempt": attempt}})
}

pub(super) fn failed(step: &str) -> Value {
    let change = json!({"change": "finish", "step": step, "status": "failed", "error": "exit 1", "failures": 1});
    json!({"change": change, "exit_code": 1, "retryable": false})
}

pub(super) fn stopped() -> Value {
    json!({"change": {"change": "pause", "reason": "SIGINT"}, "signal": "SIGINT"})
}

/// Finishes a step as the workflow defines it, with a variable.
pub(super) fn done(workflow: &str, step: &str) -> Value {
    let workflow = workflow::parse(&path("w.yaml"), workflow.as_bytes()).workflow.unwrap();
    let digest = workflow.steps.iter().find(|known| known.id.as_str() == step).unwrap().digest();
    let change = json!({"change": "finish", "step": step, "attempt": 1});
    json!({"change": change, "digest": digest, "variables": {"out": {"value": format!("from {step}")}}})
}

/// Returns the header of a session in a worktree.
pub(super) fn header() -> Header {
    Header {
        worktree: Some(Utf8PathBuf::from("/home/worktrees/session-1")),
        branch: Some("piton/session-1".to_owned()),
        base_branch: Some("main".to_owned()),
        ..Header::new(
            ("/home".into(), "/home/worktrees".into()),
            ID,
            "/repo".into(),
            Source { root: "/repo".into(), file: path("w.yaml") },
            at(0),
        )
    }
}

/// Holds the files of a session in which this happened after its start. `now` is its current workflow file.
pub(super) fn session(workflow: &str, records: &[Value], now: Option<&str>) -> FileSet {
    let parsed = workflow::parse(&path("w.yaml"), workflow.as_bytes()).workflow.unwrap();
    let header = header();
    let outline = Outline::of(&parsed, sha256_hex(workflow.as_bytes()));
    let begun = start(&header, (About::default(), start_change(&parsed.name)), outline, None).unwrap();
    let mut files = FileSet {
        root: Utf8PathBuf::from("/home"),
        name: ID.to_owned(),
        state: path("runs/session-1/journal.jsonl"),
        own: RunFolder { home: "/home".into(), path: path("runs/session-1") },
        files: std::collections::BTreeMap::new(),
        journal: None,
        local: crate::model::Local::default(),
        lost: None,
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now: at(59), utc_offset_seconds: 0 },
        config: Arc::new(Config::default()),
    };
    for edit in &begun {
        put(&mut files, edit.path.as_str(), edit.after().unwrap());
    }
    if let Some(now) = now {
        put(&mut files, "runs/session-1/workflow", now.as_bytes());
    }
    for (record, second) in records.iter().zip(1..) {
        add(&mut files, record, second);
    }
    files
}

/// Records one more event.
pub(super) fn add(files: &mut FileSet, record: &Value, second: u32) {
    let mut change = record["change"].clone();
    change["at"] = json!(at(second));
    let change: Change = serde_json::from_value(change).unwrap();
    let mut facts = record.clone();
    facts.as_object_mut().unwrap().remove("change");
    let facts: Facts = serde_json::from_value(facts).unwrap();
    let edit = Session::read(files).unwrap().append(Event::Change(change), facts).unwrap();
    let EditKind::Append { before_len, bytes } = edit.kind else { panic!("a record is appended") };
    let before = journal(files);
    assert_eq!(before.len() as u64, before_len);
    put(files, edit.path.as_str(), &[before, bytes].concat());
}

/// Puts a snapshot of the state as it is now beside the journal.
pub(super) fn take_snapshot(files: &mut FileSet) {
    let Session { state, journal_end, .. } = Session::read(files).unwrap();
    put(files, CHECKPOINT, &snapshot::write(ID, &state, &journal_end));
}

pub(super) fn journal(files: &FileSet) -> Vec<u8> {
    files.bytes(&files.state).unwrap().to_vec()
}

pub(super) fn put(files: &mut FileSet, at: &str, bytes: &[u8]) {
    files.files.insert(path(at), FileEntry::new(Content::Bytes(bytes.into()), None));
}

pub(super) fn start_change(name: &str) -> Change {
    Change { at: at(0), kind: ChangeKind::Start(Box::new(StartSpec::new(name, name))) }
}
