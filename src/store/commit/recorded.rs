//! The journal of a run of another system, as part of a commit: its record is durable before the state files are replaced, and names them.
//! A change that was cut off in between is finished from what it staged beside them; one that is refused takes its record back.

use std::{fs::File, io::Read as _, time::Duration};

use camino::{Utf8Path, Utf8PathBuf};
use serde::Deserialize;

use super::{
    data_dir, lock,
    txn::{Record, RecordedFile},
};
use crate::{
    model::{ChangedFile, Entry, JournalFile, ReadProblem, sha256_hex},
    store::fs::{
        calls, data_file,
        error::StoreError,
        nofollow::OpenMode,
        path::{Root, problem_of},
        platform, stage,
        unread::there,
    },
};

/// Bytes at which a journal is full: far enough from what is read for some more records.
const FULL: u64 = 60 << 20;

/// A record that is appended to a journal.
#[derive(Debug)]
pub(crate) struct JournalAppend<'a> {
    /// The journal as it was read.
    pub(crate) journal: &'a JournalFile,
    /// The line of the record.
    pub(crate) line: Vec<u8>,
}

/// A journal that is open for one record, which nothing else is appended to meanwhile.
pub(super) struct OpenJournal<'a> {
    file: File,
    path: Utf8PathBuf,
    before_len: u64,
    line: &'a [u8],
}

impl<'a> OpenJournal<'a> {
    /// Opens a journal, which is made if it is missing, and locks it.
    ///
    /// # Errors
    ///
    /// When it cannot be written, is full, or is not as it was read.
    pub(super) fn open(append: &'a JournalAppend<'_>, timeout: Duration) -> Result<Self, StoreError> {
        let path = data_dir::create(&append.journal.folder())?.join(append.journal.path.name());
        let failed = |source| StoreError::io(&path, source);
        let file = data_file::open(&path, OpenMode::Log, platform::DATA_FILE_MODE).map_err(failed)?;
        lock::poll(&path, timeout, timeout, || file.try_lock())?;
        let (before_len, found) = (append.journal.bytes().len() as u64, file.metadata().map_err(failed)?.len());
        if found != before_len {
            return Err(StoreError::Conflict { path, what: "was written by another program" });
        }
        if before_len > FULL {
            return Err(StoreError::Full { path });
        }
        Ok(Self { file, path, before_len, line: &append.line })
    }

    /// Appends the record, durably. A partial write is undone.
    pub(super) fn append(&mut self) -> Result<(), StoreError> {
        let written = calls::write(&mut self.file, self.line).and_then(|()| calls::sync_data(&self.file));
        let written = written.map_err(|source| StoreError::io(&self.path, source));
        let written = written.and_then(|()| match self.before_len {
            0 => stage::sync_dirs(self.path.parent().into_iter()),
            _ => Ok(()),
        });
        written.map_err(|cause| match self.take_back() {
            Ok(()) => cause,
            Err(_) => StoreError::NotRolledBack { cause: Box::new(cause) },
        })
    }

    /// Removes the record again.
    pub(super) fn take_back(&self) -> Result<(), StoreError> {
        let taken = calls::set_len(&self.file, self.before_len).and_then(|()| calls::sync_data(&self.file));
        taken.map_err(|source| StoreError::io(&self.path, source))
    }
}

/// Returns the name under which the new content of a file is staged, or that it is removed: it says for which change.
pub(super) fn staged_name(target: &Utf8Path, digest: &str) -> Utf8PathBuf {
    stage::temporary_name_of(target, &digest[..digest.len().min(16)])
}

#[derive(Deserialize)]
struct LastRecord {
    entry: Option<Entry>,
}

/// Returns the last record of a journal, if it changed state files.
pub(in crate::store) fn last_change(journal: &[u8]) -> Option<Entry> {
    let sound = &journal[..=journal.iter().rposition(|byte| *byte == b'\n')?];
    let line = sound.strip_suffix(b"\n")?;
    let line = &line[line.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1)..];
    serde_json::from_slice::<LastRecord>(line).ok()?.entry.filter(|entry| !entry.files.is_empty())
}

/// Waits for the writer of a journal and keeps others out while the result lives. Returns its content too.
///
/// # Errors
///
/// If another process holds it for too long, or it cannot be read.
pub(in crate::store) fn locked(journal: &JournalFile, timeout: Duration) -> Result<(File, Vec<u8>), StoreError> {
    let path = Root::open(&journal.home)?.target(&journal.path)?;
    let failed = |source| StoreError::io(&path, source);
    let mut file = data_file::open(&path, OpenMode::Edit, platform::DATA_FILE_MODE).map_err(failed)?;
    lock::poll(&path, timeout, timeout, || file.try_lock())?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(failed)?;
    Ok((file, bytes))
}

/// Tells whether a change is unfinished below a root.
pub(in crate::store) fn is_pending(root: &Root, change: &Entry) -> bool {
    change.files.iter().any(|file| staged(root, file).is_some())
}

/// Returns what is left to do of a change below a root; `None` if nothing is.
pub(in crate::store) fn pending(root: &Root, change: &Entry) -> Option<Record> {
    let file = |file: &ChangedFile| {
        let staged = staged(root, file)?;
        let mode = there(&staged, staged.symlink_metadata()).map(|found| platform::mode(&found))?;
        let after = match &file.after {
            None => None,
            Some(digest) => {
                let bytes = there(&staged, std::fs::read(&staged))?;
                Some(bytes).filter(|bytes| sha256_hex(bytes) == *digest).map(Some)?
            }
        };
        Some(RecordedFile { path: file.path.clone(), before: file.before.clone(), after, mode })
    };
    let files: Vec<RecordedFile> = change.files.iter().filter_map(file).collect();
    let Entry { change, step, .. } = change.clone();
    (!files.is_empty()).then_some(Record { change, step, folders: Vec::new(), files })
}

/// Returns the staged file of a change, if it is there.
fn staged(root: &Root, file: &ChangedFile) -> Option<Utf8PathBuf> {
    // Most worktrees do not have the folder; to resolve a path that is not there takes many calls.
    let folder = file.path.under(root.path()).parent().map(Utf8Path::to_owned)?;
    if folder.metadata().is_err_and(|error| problem_of(&error) == ReadProblem::Missing) {
        return None;
    }
    let real = root.target(&file.path).ok()?;
    let staged = staged_name(&real, file.after.as_ref().or(file.before.as_ref())?);
    there(&staged, staged.symlink_metadata()).is_some_and(|found| found.is_file()).then_some(staged)
}
