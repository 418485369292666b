mod discovery;
mod edits;
mod handover;
mod hostile;
mod table;

use std::{collections::BTreeMap, sync::Arc};

use camino::Utf8PathBuf;

use super::NineStep;
use crate::{
    dialect::{Dialect as _, Loaded},
    model::{
        Change, ChangeKind, Clock, Config, Content, Edit, EditKind, FileEntry, FileSet, Finding, FindingCode, RelPath,
        Run, RunFolder, Step, StepId, Timestamp,
    },
};

const STATE: &str = ".worktree/feat-quotes/.workflow-state.json";
const EARLY: &str = ".plan/quotes.workflow-state.json";

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn time(text: &str) -> Timestamp {
    Timestamp::parse(text, 0).unwrap()
}

fn change(kind: ChangeKind) -> Change {
    Change { at: time("2026-03-02T09:00:00Z"), kind }
}

fn step_id(text: &str) -> StepId {
    StepId::new(text)
}

/// A file set with one state file at a path below `/project`.
fn files_at(at: &str, state: &[u8]) -> FileSet {
    let state_path = path(at);
    let content = Content::Bytes(Arc::from(state));
    FileSet {
        root: Utf8PathBuf::from("/project"),
        name: "feat-quotes".to_owned(),
        own: RunFolder { home: "/project/.piton".into(), path: path("runs/own") },
        files: BTreeMap::from([(state_path.clone(), FileEntry::new(content, None))]),
        state: state_path,
        journal: None,
        local: crate::model::Local::default(),
        lost: None,
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now: time("2026-03-02T09:30:00Z"), utc_offset_seconds: 0 },
        config: Arc::new(Config::default()),
    }
}

fn files(state: &str) -> FileSet {
    files_at(STATE, state.as_bytes())
}

/// Fills the required fields around a `last_execution`.
fn state(last: &str, more: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(last).unwrap();
    let (phase, step) = (value["phase"].clone(), value["step"].clone());
    let comma = if more.is_empty() { "" } else { ", " };
    format!(
        "{{\"feature_name\": \"quotes\", \"current_phase\": {phase}, \"current_step\": {step}, \
         \"last_execution\": {last}{comma}{more}}}"
    )
}

fn load(state: &str) -> Loaded {
    NineStep.load(&files(state))
}

fn run(state: &str) -> Run {
    load(state).run.expect("a run")
}

fn step<'a>(run: &'a Run, id: &str) -> &'a Step {
    run.step(&step_id(id)).unwrap_or_else(|| panic!("no step {id}"))
}

fn codes(loaded: &Loaded) -> Vec<FindingCode> {
    loaded.findings.iter().map(|finding| finding.code).collect()
}

fn finding(loaded: &Loaded, code: FindingCode) -> &Finding {
    let found = loaded.findings.iter().find(|finding| finding.code == code);
    found.unwrap_or_else(|| panic!("no {code} in {:?}", loaded.findings))
}

/// Computes the edits of a change.
fn edit(files: &FileSet, kind: ChangeKind) -> Vec<Edit> {
    let change = change(kind);
    NineStep.edit(files, &change).unwrap()
}

/// Applies the one edit of a change and returns the text of the state afterwards.
fn edited(files: &FileSet, kind: ChangeKind) -> String {
    let edits = edit(files, kind);
    assert_eq!(edits.len(), 1, "{edits:?}");
    assert_eq!(edits[0].path, files.state);
    assert!(matches!(edits[0].kind, EditKind::Replace { .. }));
    String::from_utf8(edits[0].after().unwrap().to_vec()).unwrap()
}
