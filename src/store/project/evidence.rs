//! The current facts on disk and in git, gathered for `engine`.

use std::{collections::BTreeMap, fs::Metadata};

use camino::{Utf8Path, Utf8PathBuf};

use super::{committed_state, git, half_made, open::Project, repository};
use crate::{
    model::{
        CommitFact, Evidence, EvidenceRecord, EvidenceRequest, FileFact, FileSet, MergeRequest, OutputRecord, Owner,
        ReadProblem, RelPath, Timestamp, Workspace, name_of, sha256_hex,
    },
    store::{
        fs::{
            clock,
            environment::Environment,
            path::{Root, bounded},
            stage::DATA_DIR,
            unread::{self, is_folder},
        },
        owner::{caller::Caller, local, session},
    },
};

/// Bytes of a file that is digested or parsed.
const FILE_LIMIT: u64 = 64 << 20;
/// Resolution of file timestamps in seconds; some file systems store two-second steps.
const TIME_STEP: i64 = 2;

/// Gathers the evidence a run asks for. Starts git at most once: for the committed content of files, for commits other than
/// HEAD, or for uncommitted changes if the workspace is wanted. `records` are the digests that were recorded, oldest first.
pub(crate) fn gather(
    project: &Project,
    files: &FileSet,
    wanted: &EvidenceRequest,
    records: Vec<EvidenceRecord>,
    environment: &Environment,
) -> Evidence {
    let base = wanted.base(&files.root);
    let owner = local::owner(&files.local, files.clock, || Caller::find(environment));
    let owner = local::merge_owners(owner, &wanted.owner_processes, environment);
    let session = match owner {
        Owner::Ours | Owner::Dead { .. } => {
            let run = session::driven_run(&project.root, &files.root, &files.own, &files.state);
            let sessions = super::journals::sessions_folders(project);
            session::events_since_write(&sessions, &files.local, &run)
        }
        Owner::None | Owner::Live { .. } => None,
    };
    let mut evidence = Evidence {
        owner,
        session: session.unwrap_or_default(),
        modified_at: modified_at(files),
        ..Evidence::default()
    };
    let mut latest: Latest<'_> = BTreeMap::new();
    for record in &records {
        latest.extend(record.outputs.iter().map(|output| (&output.path, (output, record.at))));
    }
    if let Some(main) = files.main_root.as_deref().and_then(unread::root) {
        inspect_documents(&main, wanted, &latest, &mut evidence);
    }
    if let Some(root) = unread::root(base) {
        if files.main_root.is_none() {
            inspect_documents(&root, wanted, &latest, &mut evidence);
        }
        for path in wanted.outputs.iter().map(|output| &output.path).chain(latest.keys().copied()) {
            if !evidence.files.contains_key(path) {
                let fact = inspect_file(&root, path, latest.get(path).copied());
                evidence.files.insert(path.clone(), fact);
            }
        }
    }
    if project.git.is_some() {
        let saved = committed_state::StateOnDisk { path: &files.state, bytes: files.bytes(&files.state) };
        evidence.past = wanted.past.as_ref().and_then(|wanted| committed_state::compare(&files.root, wanted, &saved));
        let found = wanted.branches.iter().map(|branch| (branch, repository::branch_exists(&project.root, branch)));
        evidence.branches = found.filter_map(|(branch, exists)| Some((branch.clone(), exists?))).collect();
        if !wanted.branches.is_empty() {
            evidence.checked_out = repository::head_above(base).and_then(|head| head.branch);
        }
        evidence.merged = wanted.merge.as_ref().and_then(|merge| is_merged(&project.root, merge));
        let is_settled = inspect_commits(base, wanted, &mut evidence);
        inspect_workspace(files, wanted, is_settled, &mut evidence);
    } else if wanted.workspace.is_some() {
        let exists = is_folder(&workspace_folder(base, wanted));
        evidence.workspace = Some(Workspace { exists, ..Workspace::default() });
    }
    evidence.records = records;
    evidence
}

/// The last record of each output, with its time.
type Latest<'a> = BTreeMap<&'a RelPath, (&'a OutputRecord, Timestamp)>;

fn inspect_documents(root: &Root, wanted: &EvidenceRequest, latest: &Latest<'_>, evidence: &mut Evidence) {
    for path in &wanted.documents {
        let record = latest.get(path).copied();
        evidence.files.entry(path.clone()).or_insert_with(|| inspect_file(root, path, record));
    }
}

fn workspace_folder(root: &Utf8Path, wanted: &EvidenceRequest) -> Utf8PathBuf {
    let below = wanted.workspace.as_ref().and_then(Option::as_ref);
    let below = || below.map_or_else(|| root.to_owned(), |folder| folder.under(root));
    wanted.outside.clone().unwrap_or_else(below)
}

/// Checks commits in the working folder, because a linked worktree has its own HEAD. Returns false if git was started.
pub(crate) fn inspect_commits(root: &Utf8Path, wanted: &EvidenceRequest, evidence: &mut Evidence) -> bool {
    if wanted.commits.is_empty() {
        return true;
    }
    let folder = Some(workspace_folder(root, wanted)).filter(|folder| is_folder(folder));
    let folder = folder.as_deref().unwrap_or(root);
    let head = repository::head_above(folder).and_then(|head| head.sha);
    let (at_head, others): (Vec<&String>, Vec<&String>) =
        wanted.commits.iter().partition(|sha| head.as_deref().is_some_and(|head| git::names(sha, head)));
    evidence.commits.extend(at_head.into_iter().map(|sha| (sha.clone(), CommitFact::Reachable)));
    if others.is_empty() {
        return true;
    }
    evidence.commits.extend(git::commits(folder, &others));
    false
}

fn inspect_workspace(files: &FileSet, wanted: &EvidenceRequest, may_start_git: bool, evidence: &mut Evidence) {
    evidence.workspace = workspace(files, wanted);
    if let Some(found) = evidence.workspace.as_mut().filter(|found| may_start_git && found.is_git) {
        found.uncommitted = uncommitted(files, wanted);
    }
}

/// Asks git for the files with uncommitted changes in the working folder of a run; `None` if it does not answer.
fn uncommitted(files: &FileSet, wanted: &EvidenceRequest) -> Option<Vec<String>> {
    let mut changes = git::changes(&workspace_folder(wanted.base(&files.root), wanted))?;
    changes.retain(|path| !is_own(path, files.state.name()));
    Some(changes)
}

/// Returns the files in the working folder of a run that have uncommitted changes and were written at or after `since`, absolute; `None` if
/// git does not answer. `known` is what it answered in this call.
pub(crate) fn uncommitted_since(
    files: &FileSet,
    wanted: &EvidenceRequest,
    known: Option<&Vec<String>>,
    since: Option<Timestamp>,
) -> Option<(Utf8PathBuf, Vec<Utf8PathBuf>)> {
    let folder = workspace_folder(wanted.base(&files.root), wanted);
    let names = known.map_or_else(|| uncommitted(files, wanted), |known| Some(known.clone()))?;
    let found = half_made::written_since(&folder, &names, since);
    Some((folder, found))
}

/// Tells whether the branch of finished work is in the history of the one that it is merged into.
fn is_merged(root: &Utf8Path, merge: &MergeRequest) -> Option<bool> {
    let exists = |branch: &str| repository::branch_exists(root, branch) == Some(true);
    let base = merge.base.as_deref().into_iter().chain(["main", "master"]).find(|branch| exists(branch))?;
    if !exists(&merge.branch) || merge.branch == base {
        return None;
    }
    Some(merge.has_commits && git::is_ancestor(root, &merge.branch, base))
}

/// Tells whether a changed path is of Piton, or the state or its backup: neither is work.
fn is_own(path: &str, state: &str) -> bool {
    let name = name_of(path);
    path.split('/').any(|part| part == DATA_DIR)
        || name.strip_prefix(state).is_some_and(|rest| ["", ".backup"].contains(&rest))
}

/// Inspects the working folder if the run asks for it, without starting git: uncommitted changes are not counted.
pub(crate) fn workspace(files: &FileSet, wanted: &EvidenceRequest) -> Option<Workspace> {
    wanted.workspace.as_ref()?;
    let top = workspace_folder(wanted.base(&files.root), wanted);
    let exists = is_folder(&top);
    let head = if exists { repository::head_above(&top) } else { None };
    let is_git = head.is_some();
    let head = head.unwrap_or_default();
    Some(Workspace { exists, branch: head.branch, head: head.sha, is_git, branch_exists: None, uncommitted: None })
}

/// Returns when the state was last modified on disk: its file, or the newest file if the state is a folder.
fn modified_at(files: &FileSet) -> Option<Timestamp> {
    let state = files.files.get(&files.state).and_then(|entry| entry.modified);
    state.or_else(|| files.files.values().filter_map(|entry| entry.modified).max())
}

fn inspect_file(root: &Root, path: &RelPath, record: Option<(&OutputRecord, Timestamp)>) -> FileFact {
    let (file, metadata) = match root.open_file(path) {
        Ok(opened) => opened,
        Err(ReadProblem::Missing) => return FileFact::Missing,
        Err(ReadProblem::Directory) => {
            return FileFact::Present { bytes: 0, modified: None, sha256: None, parses: None, violation: None };
        }
        Err(problem) => return unreadable(root, path, problem),
    };
    let bytes = metadata.len();
    let modified = modified(&metadata);
    let is_json = path.as_str().ends_with(".json");
    let wants_digest = record.is_some_and(|(record, at)| may_have_changed(record, at, bytes, modified));
    let content = if (is_json || wants_digest) && bytes <= FILE_LIMIT {
        match bounded(file, bytes, FILE_LIMIT) {
            Ok(content) => Some(content),
            Err(problem) => return unreadable(root, path, problem),
        }
    } else {
        None
    };
    FileFact::Present {
        bytes,
        modified,
        sha256: content.as_deref().filter(|_| wants_digest).map(sha256_hex),
        parses: content.as_deref().filter(|_| is_json).map(is_json_text),
        violation: None,
    }
}

fn unreadable(root: &Root, path: &RelPath, problem: ReadProblem) -> FileFact {
    let fact = FileFact::Unreadable(problem.to_string());
    unread::note_failure(&path.under(root.path()), problem);
    fact
}

/// Tells whether a file may differ from its record. One of the same size that was last written well before it was recorded is
/// unchanged.
fn may_have_changed(record: &OutputRecord, recorded_at: Timestamp, bytes: u64, modified: Option<Timestamp>) -> bool {
    record.bytes != bytes || modified.is_none_or(|modified| recorded_at.seconds_since(modified) <= TIME_STEP)
}

fn modified(metadata: &Metadata) -> Option<Timestamp> {
    metadata.modified().ok().and_then(clock::from_system)
}

fn is_json_text(bytes: &[u8]) -> bool {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

/// Inspects files that are not in the evidence yet.
pub(crate) fn inspect_files(root: &Utf8Path, paths: &[RelPath], evidence: &mut Evidence) {
    let Some(root) = unread::root(root) else { return };
    for path in paths {
        evidence.files.entry(path.clone()).or_insert_with(|| inspect_file(&root, path, None));
    }
}

/// Describes the current outputs for a record. Missing ones and folders are left out.
pub(crate) fn describe(root: &Utf8Path, outputs: &[RelPath]) -> Vec<OutputRecord> {
    let Some(root) = unread::root(root) else { return Vec::new() };
    let describe = |path: &RelPath| {
        let (file, metadata) = root.open_file(path).ok()?;
        let content = bounded(file, metadata.len(), FILE_LIMIT).ok()?;
        Some(OutputRecord { path: path.clone(), sha256: sha256_hex(&content), bytes: content.len() as u64 })
    };
    outputs.iter().filter_map(describe).collect()
}

#[cfg(test)]
#[path = "evidence_tests.rs"]
mod tests;
