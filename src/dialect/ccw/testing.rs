//! Helpers that build file sets and listings from literals.

use std::{collections::BTreeMap, sync::Arc};

use camino::Utf8PathBuf;

use crate::{
    dialect::{Dialect as _, Loaded, ccw::Ccw},
    model::{
        Change, ChangeKind, Clock, Config, Content, FileEntry, FileSet, FindingCode, RelPath, Run, RunFolder, Status,
        Step, StepId, Timestamp, testing::outcome_of,
    },
};

pub(super) const DIR: &str = ".workflow/active/WFS-x";
pub(super) const NOW: &str = "2025-09-15T15:45:00Z";

pub(super) fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

pub(super) fn time(text: &str) -> Timestamp {
    Timestamp::parse(text, 0).unwrap()
}

/// Creates a session in `dir` from files named relative to it. Files below `.summaries` have only a name.
pub(super) fn files_in(dir: &str, files: &[(&str, &[u8])]) -> FileSet {
    let mut entries = BTreeMap::new();
    for (name, bytes) in files {
        let is_summary = name.contains("summaries/");
        let content = if is_summary { Content::NameOnly } else { Content::Bytes(Arc::from(*bytes)) };
        entries.insert(path(&format!("{dir}/{name}")), FileEntry::new(content, None));
    }
    FileSet {
        root: Utf8PathBuf::from("/project"),
        name: "WFS-x".to_owned(),
        state: path(dir),
        own: RunFolder { home: "/project/.piton".into(), path: path("runs/own") },
        files: entries,
        journal: None,
        local: crate::model::Local::default(),
        lost: None,
        worktrees: Vec::new(),
        main_root: None,
        clock: Clock { now: time(NOW), utc_offset_seconds: 0 },
        config: Arc::new(Config::default()),
    }
}

pub(super) fn files(files: &[(&str, &str)]) -> FileSet {
    let files: Vec<(&str, &[u8])> = files.iter().map(|(name, text)| (*name, text.as_bytes())).collect();
    files_in(DIR, &files)
}

pub(super) fn load(set: &FileSet) -> Loaded {
    Ccw.load(set)
}

pub(super) fn run(set: &FileSet) -> Run {
    load(set).run.unwrap()
}

/// Loads a session of one task file and returns its step.
pub(super) fn only_step(task: &str) -> Step {
    let mut run = run(&files(&[("workflow-session.json", SESSION), (".task/IMPL-1.json", task)]));
    assert_eq!(run.steps.len(), 1);
    run.steps.remove(0)
}

pub(super) const SESSION: &str = r#"{"session_id":"WFS-x","status":"active"}"#;

pub(super) fn ids(run: &Run) -> Vec<&str> {
    run.steps.iter().map(|step| step.id.as_str()).collect()
}

pub(super) fn codes(loaded: &Loaded) -> Vec<FindingCode> {
    loaded.findings.iter().map(|finding| finding.code).collect()
}

pub(super) fn change(kind: ChangeKind) -> Change {
    Change { at: time(NOW), kind }
}

pub(super) fn begin(id: &str) -> ChangeKind {
    ChangeKind::Begin { step: StepId::new(id), part: None, agent: None, attempt: 0, reopens: Vec::new() }
}

pub(super) fn finish(id: &str, status: Status) -> ChangeKind {
    ChangeKind::Finish(Box::new(outcome_of(id, status)))
}
