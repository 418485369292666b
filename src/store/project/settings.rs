//! Settings files of the client, changed only with a person's consent: read and replaced as a whole, through a symlink if there
//! is one.

use std::{fs, io};

use camino::Utf8Path;

use super::trusted::resolve_links;
use crate::{
    model::ReadProblem,
    store::fs::{calls, error::StoreError, platform, stage},
};

/// Bytes of a settings file.
const LIMIT: u64 = 4 << 20;

/// Reads a settings file; `None` if it does not exist.
///
/// # Errors
///
/// If it cannot be read, is not a regular file, or is larger than 4 MiB.
pub(crate) fn read(path: &Utf8Path) -> Result<Option<Vec<u8>>, StoreError> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(StoreError::io(path, source)),
    };
    if !metadata.is_file() || metadata.len() > LIMIT {
        let problem = ReadProblem::TooLarge { bytes: metadata.len(), limit: LIMIT };
        return Err(StoreError::Unreadable { path: path.to_owned(), problem });
    }
    fs::read(path).map(Some).map_err(|source| StoreError::io(path, source))
}

/// Replaces a settings file durably if it is still `before`; creates the file and its folder if needed.
///
/// # Errors
///
/// If it changed meanwhile, or cannot be written. The file is then unchanged.
pub(crate) fn replace(path: &Utf8Path, before: Option<&[u8]>, after: &[u8]) -> Result<(), StoreError> {
    if read(path)?.as_deref() != before {
        let changed = io::Error::new(io::ErrorKind::WouldBlock, "it changed meanwhile; nothing was written");
        return Err(StoreError::io(path, changed));
    }
    // A symlink stays; its target is replaced.
    let target = resolve_links(path);
    if let Some(parent) = target.parent() {
        stage::make_durable_folders(parent)?;
    }
    let like = fs::metadata(&target).ok().map(|metadata| platform::attributes(&metadata));
    let staged = stage::write_durably(&target, after, platform::PROJECT_FILE_MODE, like)?;
    calls::rename(&staged, &target).map_err(|source| {
        let _ = calls::remove_file(&staged);
        StoreError::io(&target, source)
    })?;
    stage::sync_dirs(target.parent().into_iter())
}
