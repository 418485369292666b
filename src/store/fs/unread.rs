//! The answer to "is it there?", and the failures to find out.
//!
//! Something is not there if the system says so: ENOENT or ENOTDIR. After every other failure that is unknown, so it is noted here, and the
//! caller of [`watched`] makes findings of the notes: what cannot be read is unknown, never empty.

use std::{cell::RefCell, io};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    error::StoreError,
    path::{Root, problem_of},
    platform::{self, DirEntry},
};
use crate::model::{ReadProblem, RelPath, RunFolder, Unread};

thread_local! {
    static NOTED: RefCell<Vec<Unread>> = const { RefCell::new(Vec::new()) };
}

/// Returns what was found. `None` if it is not there, or if that cannot be found out, which is noted.
pub(in crate::store) fn there<T>(path: &Utf8Path, found: io::Result<T>) -> Option<T> {
    found.map_err(|error| note(path, problem_of(&error))).ok()
}

/// Tells whether a path leads to something.
pub(crate) fn exists(path: &Utf8Path) -> bool {
    there(path, path.metadata()).is_some()
}

/// Tells whether a path leads to a folder.
pub(crate) fn is_folder(path: &Utf8Path) -> bool {
    there(path, path.metadata()).is_some_and(|found| found.is_dir())
}

/// Notes why a path could not be looked at.
pub(in crate::store) fn note(path: &Utf8Path, problem: ReadProblem) {
    if problem != ReadProblem::Missing {
        NOTED.with_borrow_mut(|noted| noted.push(Unread { path: path.to_owned(), problem }));
    }
}

/// Notes why an output could not be looked at. A link, a device or a file that is too large is known not to be a result.
pub(in crate::store) fn note_failure(path: &Utf8Path, problem: ReadProblem) {
    if matches!(problem, ReadProblem::Permission | ReadProblem::Other(_)) {
        note(path, problem);
    }
}

/// Opens a root, if it is there.
pub(in crate::store) fn root(path: &Utf8Path) -> Option<Root> {
    known(path, Root::open(path))
}

/// Returns what the store found out about a path; `None` if it could not, which is noted unless nothing is there.
pub(in crate::store) fn known<T>(path: &Utf8Path, found: Result<T, StoreError>) -> Option<T> {
    let problem = |error: StoreError| match error {
        StoreError::Io { cause, .. } | StoreError::Permission { cause, .. } => problem_of(&cause),
        other => ReadProblem::Other(other.to_string()),
    };
    found.map_err(|error| note(path, problem(error))).ok()
}

/// Returns where the folder of a run really is, if it is there.
pub(in crate::store) fn run_folder(folder: &RunFolder) -> Option<Utf8PathBuf> {
    data_path(&folder.home, &folder.path)
}

/// Returns where a folder of Piton below a root really is, if it is there.
pub(in crate::store) fn data_path(top: &Utf8Path, data_dir: &RelPath) -> Option<Utf8PathBuf> {
    root(top)?.locate(data_dir).map_err(|problem| note(&data_dir.under(top), problem)).ok()
}

/// Returns the content of one of Piton's own files, if it is there and has no more than `limit` bytes.
pub(in crate::store) fn data_file(path: &Utf8Path, limit: u64) -> Option<Vec<u8>> {
    there(path, platform::read_data_file(path.as_std_path(), limit)).flatten()
}

/// Returns the entries of a folder, if it is there.
pub(in crate::store) fn names(folder: &Utf8Path) -> Option<Vec<DirEntry>> {
    there(folder, platform::names(folder))
}

/// Forgets what was noted in an earlier call.
pub(crate) fn forget() {
    NOTED.take();
}

/// Returns what could not be looked at in this call.
pub(crate) fn noted() -> Vec<Unread> {
    NOTED.with_borrow(Clone::clone)
}

/// Does something, and returns with its result what could not be looked at meanwhile.
pub(crate) fn watched<T>(work: impl FnOnce() -> T) -> (T, Vec<Unread>) {
    let before = NOTED.with_borrow(Vec::len);
    let result = work();
    (result, NOTED.with_borrow(|noted| noted[before..].to_vec()))
}
