//! The backup of what a rollback discards: complete, verified file by file, and durable before anything is changed.
//!
//! It is assembled in Piton's folder of the run and renamed to its final name at the end, so a named backup is always complete. The next
//! lock of the run removes an incomplete one.

use std::{collections::BTreeSet, fs, io};

use camino::{Utf8Path, Utf8PathBuf};

use super::{archive, data_dir, lock::RunLock, move_folder};
use crate::{
    model::{RelPath, sha256_hex},
    store::fs::{
        calls,
        error::StoreError,
        path::{Root, bounded},
        platform, stage,
    },
};

/// Number of files in a backup.
const FILES: usize = 10_000;
/// Bytes in a backup.
const BYTES: u64 = 256 << 20;

/// What is copied, and where to.
#[derive(Debug)]
pub(crate) struct Backup {
    /// The folder of the backup, below the root; a counter is added if it exists.
    pub(crate) folder: RelPath,
    /// The files to copy, each with its name in the backup.
    pub(crate) files: Vec<(RelPath, RelPath)>,
}

/// A copied file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) name: RelPath,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

/// What there is to copy, and what is left out because it is not a regular file of the project, or missing.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    pub(crate) files: Vec<(RelPath, RelPath)>,
    pub(crate) bytes: u64,
    pub(crate) left_out: Vec<RelPath>,
    /// True above the limits of a backup: 10,000 files or 256 MiB.
    pub(crate) is_too_much: bool,
    /// Free bytes on the file system; `None` if unknown.
    pub(crate) free: Option<u64>,
}

/// Measures what would be copied. Symlinks are not followed.
pub(crate) fn extent(root: &Utf8Path, wanted: &[(RelPath, RelPath)]) -> Extent {
    let mut extent = Extent { free: platform::free_bytes(root), ..Extent::default() };
    for (path, name) in wanted {
        let metadata = fs::symlink_metadata(path.under(root)).ok().filter(|metadata| metadata.is_file());
        match metadata.filter(|_| is_plain(root, path)) {
            Some(metadata) => {
                extent.bytes = extent.bytes.saturating_add(metadata.len());
                extent.files.push((path.clone(), name.clone()));
            }
            None => extent.left_out.push(path.clone()),
        }
    }
    extent.is_too_much = extent.files.len() > FILES || extent.bytes > BYTES;
    extent
}

/// Tells whether no part of the path is a symlink.
fn is_plain(root: &Utf8Path, path: &RelPath) -> bool {
    let mut way = root.to_owned();
    path.as_str().split('/').all(|part| {
        way.push(part);
        fs::symlink_metadata(&way).is_ok_and(|metadata| !metadata.is_symlink())
    })
}

/// Copies files, adds texts, verifies every copy, makes everything durable, and returns the folder of the backup. `texts`
/// receives the folder and the copied files.
///
/// # Errors
///
/// If a file cannot be read or written, or a copy differs. There is no backup then.
pub(crate) fn keep(
    lock: &RunLock,
    backup: &Backup,
    texts: impl FnOnce(&RelPath, &[Copied]) -> Vec<(RelPath, String)>,
) -> Result<RelPath, StoreError> {
    data_dir::drop_partial_backup(lock.data_path())?;
    let partial = lock.folder(data_dir::PARTIAL_BACKUP)?;
    let filled = fill(lock, backup, &partial, texts);
    let kept = filled.and_then(|folder| give_name(lock, &partial, &folder).map(|()| folder));
    if kept.is_err() {
        // Otherwise the next lock removes it.
        let _ = calls::remove_dir_all(&partial);
    }
    kept
}

fn fill(
    lock: &RunLock,
    backup: &Backup,
    partial: &Utf8Path,
    texts: impl FnOnce(&RelPath, &[Copied]) -> Vec<(RelPath, String)>,
) -> Result<RelPath, StoreError> {
    let mut folders = BTreeSet::from([partial.to_owned()]);
    let mut copied = Vec::new();
    for (path, name) in &backup.files {
        let bytes = read_file(lock.root(), path)?;
        copied.push(put(partial, name, &bytes, &mut folders)?);
    }
    let folder = archive::free_folder(lock, &backup.folder)?;
    for (name, text) in texts(&folder, &copied) {
        put(partial, &name, text.as_bytes(), &mut folders)?;
    }
    check(partial, &copied)?;
    stage::sync_dirs(folders.iter().map(Utf8PathBuf::as_path))?;
    Ok(folder)
}

/// Renames the backup to its final name, and back if that cannot be made durable.
fn give_name(lock: &RunLock, partial: &Utf8Path, folder: &RelPath) -> Result<(), StoreError> {
    let real = lock.root().target(folder)?;
    if let Some(parent) = real.parent() {
        stage::make_durable_folders(parent)?;
    }
    match calls::rename(partial, &real) {
        // The home of the run may be on another file system.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => return move_folder::rename(partial, &real),
        renamed => renamed.map_err(|source| StoreError::io(&real, source))?,
    }
    let synced = stage::sync_dirs(real.parent().into_iter().chain([lock.data_path()]));
    if synced.is_err() {
        // In one step: emptying a named folder could be interrupted and leave an incomplete backup. If the rename fails too,
        // the complete backup stays.
        let _ = calls::rename(&real, partial);
    }
    synced
}

fn read_file(root: &Root, path: &RelPath) -> Result<Vec<u8>, StoreError> {
    let unreadable = |problem| StoreError::Unreadable { path: path.under(root.path()), problem };
    let (file, metadata) = root.open_file(path).map_err(unreadable)?;
    bounded(file, metadata.len(), BYTES).map_err(unreadable)
}

fn put(
    partial: &Utf8Path,
    name: &RelPath,
    bytes: &[u8],
    folders: &mut BTreeSet<Utf8PathBuf>,
) -> Result<Copied, StoreError> {
    let path = name.under(partial);
    for folder in path.ancestors().skip(1).take_while(|folder| *folder != partial) {
        folders.insert(folder.to_owned());
    }
    if let Some(parent) = path.parent() {
        stage::make_folders(parent)?;
    }
    let write = || -> io::Result<()> {
        let mut file = calls::create_new(&path, platform::DATA_FILE_MODE)?;
        calls::write(&mut file, bytes)?;
        calls::sync_all(&file)
    };
    write().map_err(|source| StoreError::io(&path, source))?;
    Ok(Copied { name: name.clone(), bytes: bytes.len() as u64, sha256: sha256_hex(bytes) })
}

/// Verifies every copy by reading it.
fn check(partial: &Utf8Path, copied: &[Copied]) -> Result<(), StoreError> {
    for one in copied {
        let path = one.name.under(partial);
        let bytes =
            platform::read_data_file(path.as_std_path(), BYTES).map_err(|source| StoreError::io(&path, source))?;
        if bytes.is_none_or(|bytes| sha256_hex(&bytes) != one.sha256) {
            return Err(StoreError::io(&path, io::Error::other("the copy differs from its original")));
        }
    }
    Ok(())
}

#[cfg(test)]
#[path = "backup_tests.rs"]
mod tests;
