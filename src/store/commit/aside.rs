//! Content that is set aside before something takes its place: a state that cannot be read, the end of a record that was cut off.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};

use super::{data_dir::SET_ASIDE, lock::RunLock};
use crate::{
    model::{RelPath, Timestamp, sha256_hex},
    store::fs::{calls, error::StoreError, platform, stage},
};

/// Number of files that are kept, the newest.
const LIMIT: usize = 20;

/// Keeps a copy of content that does not parse, before it is replaced. Returns its path.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn keep(lock: &RunLock, path: &RelPath, at: Timestamp, bytes: &[u8]) -> Result<Utf8PathBuf, StoreError> {
    let file = keep_all(lock, path, at, bytes)?;
    let folder = file.parent().unwrap_or(&file);
    let names = platform::names(folder).map_err(|source| StoreError::io(folder, source))?;
    let mut kept: Vec<String> = names.into_iter().map(|named| named.name).collect();
    kept.sort_unstable();
    for oldest in &kept[..kept.len().saturating_sub(LIMIT)] {
        let _ = calls::remove_file(&folder.join(oldest));
    }
    Ok(file)
}

/// [`keep`] without a limit of what is kept.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn keep_all(lock: &RunLock, path: &RelPath, at: Timestamp, bytes: &[u8]) -> Result<Utf8PathBuf, StoreError> {
    let folder = lock.folder(SET_ASIDE)?;
    let name: String = path.name().chars().take(60).collect();
    let file = folder.join(format!("{}-{}-{name}", at.compact(), &sha256_hex(bytes)[..16]));
    match write_new(&file, bytes) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => return Err(StoreError::io(&file, source)),
        Ok(()) | Err(_) => {}
    }
    // The only copy of what is replaced next, so its name has to be durable too.
    stage::sync_dirs([folder.as_path(), lock.data_path()].into_iter().chain(lock.data_path().parent()))?;
    Ok(file)
}

/// Creates a file and returns when its content is durable, so that a power loss cannot leave an empty copy.
fn write_new(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = calls::create_new(path, platform::DATA_FILE_MODE)?;
    calls::write(&mut file, bytes).and_then(|()| calls::sync_all(&file)).inspect_err(|_| {
        let _ = calls::remove_file(path);
    })
}

#[cfg(test)]
#[path = "aside_tests.rs"]
mod tests;
