//! Appends to a journal: one write and one flush. Earlier records are never changed, so no history of them is kept.

use std::fs::File;
use std::io;
use std::io::Read as _;
use std::io::Seek as _;
use std::io::SeekFrom;

use camino::Utf8Path;
use camino::Utf8PathBuf;

use super::history;
use super::lock::RunLock;
use crate::model::RelPath;
use crate::model::Timestamp;
use crate::store::fs::calls;
use crate::store::fs::data_file;
use crate::store::fs::error::StoreError;
use crate::store::fs::nofollow::OpenMode;
use crate::store::fs::platform;

/// Appends `bytes` to a file of `before_len` bytes. A partial write is undone.
pub(super) fn append(lock: &RunLock, path: &RelPath, before_len: u64, bytes: &[u8]) -> Result<(), StoreError> {
    let real = lock.root().target(path)?;
    let mut file = open(&real)?;
    let found = file.metadata().map_err(|source| StoreError::io(&real, source))?;
    if found.len() != before_len {
        return Err(StoreError::Conflict { path: real, what: "was written by another program" });
    }
    calls::write(&mut file, bytes).and_then(|()| calls::sync_data(&file)).map_err(|source| {
        let cause = StoreError::io(&real, source);
        match calls::set_len(&file, before_len).and_then(|()| calls::sync_data(&file)) {
            Ok(()) => cause,
            Err(_) => StoreError::NotRolledBack { cause: Box::new(cause) },
        }
    })
}

/// Truncates a journal after its last intact record. The incomplete rest is kept with the corrupt states; returns its path.
///
/// # Errors
///
/// If the journal cannot be read or truncated, or the rest cannot be kept.
pub(crate) fn set_tail_aside(
    lock: &RunLock,
    path: &RelPath,
    sound_len: u64,
    at: Timestamp,
) -> Result<Utf8PathBuf, StoreError> {
    let real = lock.root().target(path)?;
    let failed = |source| StoreError::io(&real, source);
    let mut file = data_file::open(&real, OpenMode::Edit, platform::DATA_FILE_MODE).map_err(failed)?;
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(sound_len)).and_then(|_| file.read_to_end(&mut tail)).map_err(failed)?;
    let kept = history::keep_corrupt(lock, path, at, &tail)?;
    file.set_len(sound_len).and_then(|()| file.sync_all()).map_err(failed)?;
    Ok(kept)
}

fn open(real: &Utf8Path) -> Result<File, StoreError> {
    data_file::open(real, OpenMode::Append, platform::DATA_FILE_MODE).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::Conflict { path: real.to_owned(), what: "was removed" },
        _ => StoreError::io(real, source),
    })
}
