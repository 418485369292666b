//! Lists of tasks that only their own system writes and that lost open ones since the last commit, as when the end of a file was cut.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use camino::Utf8Path;

use super::opened_run::OpenedRun;
use crate::{
    engine::quoted,
    model::{Content, FileEntry, Finding, FindingCode, RelPath, Run, Step, StepKind, Suggested, first_names},
    store,
};

/// Number of steps that a finding names.
const NAMED: usize = 5;

/// The committed content of files that have another one now.
pub(super) type Committed = BTreeMap<RelPath, Vec<u8>>;

/// Asks git for the committed states of complete lists, in one process.
pub(super) fn committed<'a>(root: &Utf8Path, complete: impl Iterator<Item = &'a OpenedRun>) -> Committed {
    let content = |opened: &OpenedRun, path: &RelPath| match &opened.files.files.get(path)?.content {
        Content::Bytes(bytes) => Some((path.clone(), Arc::clone(bytes))),
        Content::NameOnly | Content::Problem(_) => None,
    };
    let files = complete.flat_map(|opened| {
        let paths = opened.loaded.run.iter().flat_map(|run| &run.state_files);
        paths.filter_map(|path| content(opened, path)).collect::<Vec<_>>()
    });
    store::git::changed_since_commit(root, files.collect())
}

/// Returns a finding if open steps of the last commit are gone.
pub(super) fn finding(opened: &OpenedRun, run: &Run, committed: &Committed) -> Option<Finding> {
    let mut files = opened.files.clone();
    for (path, bytes) in committed.iter().filter(|(path, _)| run.state_files.contains(path)) {
        files.files.insert(path.clone(), FileEntry::new(Content::Bytes(bytes.as_slice().into()), None));
    }
    // What is left out by a word is still there.
    let is_shorter = |path: &&RelPath| {
        let now = opened.files.bytes(path).map_or(0, <[u8]>::len);
        committed.get(path).is_some_and(|before| before.len() > now)
    };
    let first = run.state_files.iter().find(is_shorter)?;
    let before = opened.dialect.load(&files).run?;
    let known: BTreeSet<&str> = run.steps.iter().flat_map(|step| [step.id.as_str(), step.title.as_str()]).collect();
    let is_lost = |step: &&Step| {
        let is_open = !step.status.is_over() && step.kind != StepKind::Container;
        is_open && !known.contains(step.id.as_str()) && !known.contains(step.title.as_str())
    };
    let lost: Vec<&str> = before.steps.iter().filter(is_lost).map(|step| step.id.as_str()).collect();
    if lost.is_empty() {
        return None;
    }
    let message = format!("open in the last commit and gone without being done: {}", first_names(&lost, NAMED));
    let fix = Suggested::Other(format!("git diff HEAD -- {}", quoted(first.as_str())));
    Some(Finding::new(FindingCode::StepsLost, message).at(first).fix(fix))
}
