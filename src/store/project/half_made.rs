//! Files with uncommitted changes that were written since a moment, such as the begin of an attempt that was lost.

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::{DirEntry, WalkDir};

use super::git::top_of;
use crate::{
    model::Timestamp,
    store::fs::{clock, stage::DATA_DIR},
};

/// Maximum number of entries of one new folder that are looked at.
const ENTRIES: usize = 2_000;

/// Returns the files below `folder` among the changed ones that were written at or after `since`, in order. `changed` is what git says:
/// relative to the top of the worktree, new folders with a slash at the end. Other repositories and worktrees are left out.
pub(super) fn written_since(folder: &Utf8Path, changed: &[String], since: Option<Timestamp>) -> Vec<Utf8PathBuf> {
    let top = top_of(folder);
    let mut found: Vec<Utf8PathBuf> = changed
        .iter()
        .flat_map(|name| match name.strip_suffix('/') {
            Some(new) => files_below(&top.join(new)),
            None => vec![top.join(name)],
        })
        .filter(|path| path.starts_with(folder))
        .filter(|path| {
            since.is_none_or(|since| written_at(path).is_some_and(|written| written.seconds_since(since) >= 0))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Returns the files in a folder that is new to git.
fn files_below(folder: &Utf8Path) -> Vec<Utf8PathBuf> {
    let is_ours =
        |entry: &DirEntry| entry.file_name() == DATA_DIR || entry.path().join(".git").symlink_metadata().is_ok();
    let entries = WalkDir::new(folder).into_iter().filter_entry(|entry| !is_ours(entry)).take(ENTRIES);
    let files = entries.filter_map(Result::ok).filter(|entry| !entry.file_type().is_dir());
    files.filter_map(|entry| Utf8PathBuf::from_path_buf(entry.into_path()).ok()).collect()
}

/// Returns when a file was written; for one that is gone, when its folder last changed.
fn written_at(path: &Utf8Path) -> Option<Timestamp> {
    let there = path.ancestors().find_map(|path| path.symlink_metadata().ok())?;
    there.modified().ok().and_then(clock::from_system)
}

#[cfg(test)]
#[path = "half_made_tests.rs"]
mod tests;
