//! Appends to a journal: one write and one flush. Earlier records are never changed.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{aside, lock::RunLock};
use crate::{
    model::{RelPath, Timestamp},
    store::fs::{calls, data_file, error::StoreError, nofollow::OpenMode, path::Root, platform},
};

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

/// Truncates a journal below a root after its last intact record. The incomplete rest is set aside; returns its path.
///
/// # Errors
///
/// If the journal cannot be read or truncated, or the rest cannot be kept.
pub(crate) fn set_tail_aside(
    lock: &RunLock,
    (root, path): (&Utf8Path, &RelPath),
    sound_len: u64,
    at: Timestamp,
) -> Result<Utf8PathBuf, StoreError> {
    let real = Root::open(root)?.target(path)?;
    let failed = |source| StoreError::io(&real, source);
    let mut file = data_file::open(&real, OpenMode::Edit, platform::DATA_FILE_MODE).map_err(failed)?;
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(sound_len)).and_then(|_| file.read_to_end(&mut tail)).map_err(failed)?;
    let kept = aside::keep(lock, path, at, &tail)?;
    file.set_len(sound_len).and_then(|()| platform::flushed(file.sync_all())).map_err(failed)?;
    Ok(kept)
}

fn open(real: &Utf8Path) -> Result<File, StoreError> {
    data_file::open(real, OpenMode::Append, platform::DATA_FILE_MODE).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::Conflict { path: real.to_owned(), what: "was removed" },
        _ => StoreError::io(real, source),
    })
}
