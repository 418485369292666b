//! Reads the committed content of files at the time a state was saved: one process, first parents only, no further back than
//! necessary.

use camino::Utf8Path;

use super::git::{self, Objects};
use crate::model::{CommittedFile, CommittedState, CommittedStateQuery, RelPath, Timestamp};

/// Number of commits that are searched for the state.
const COMMITS: usize = 2_000;
/// Number of files that are compared.
const FILES: usize = 500;

/// A state file on disk.
pub(super) struct StateOnDisk<'a> {
    pub(super) path: &'a RelPath,
    pub(super) bytes: Option<&'a [u8]>,
}

/// Compares with the commit that introduced the current state, else with the last one before its timestamp.
pub(super) fn compare(
    root: &Utf8Path,
    wanted: &CommittedStateQuery,
    saved: &StateOnDisk<'_>,
) -> Option<CommittedState> {
    if wanted.files.is_empty() {
        return None;
    }
    let (wanted, path, bytes) = (wanted.clone(), saved.path.clone(), saved.bytes.map(<[u8]>::to_vec));
    git::with_objects(root, move |objects| {
        let head = objects.commit("HEAD")??.sha;
        let base = base(objects, wanted.since, &path, bytes.as_deref())?;
        let mut past = CommittedState { commit: base.clone(), ..CommittedState::default() };
        for path in wanted.files.into_iter().take(FILES) {
            let content = objects.file(&base, &path)?;
            let is_committed_since = head != base && objects.file(&head, &path)? != content;
            past.files.insert(path, CommittedFile { content: content.map(Into::into), is_committed_since });
        }
        Some(past)
    })
}

fn base(objects: &mut Objects, since: Timestamp, path: &RelPath, bytes: Option<&[u8]>) -> Option<String> {
    let mut name = "HEAD".to_owned();
    let mut with_state: Option<String> = None;
    for _ in 0..COMMITS {
        // The history of a shallow clone ends early.
        let Some(commit) = objects.commit(&name)? else { return with_state };
        let has_state = bytes.is_some() && objects.file(&commit.sha, path)?.as_deref() == bytes;
        match (has_state, &with_state) {
            // Further back the state was different.
            (false, Some(_)) => return with_state,
            (false, None) if commit.time <= since.unix_seconds() => return Some(commit.sha),
            (false, None) => {}
            (true, _) => with_state = Some(commit.sha),
        }
        match commit.parents.into_iter().next() {
            Some(parent) => name = parent,
            None => return with_state,
        }
    }
    with_state
}

#[cfg(test)]
#[path = "committed_state_tests.rs"]
mod tests;
