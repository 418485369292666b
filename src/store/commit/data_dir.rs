//! The data folder of a run, or of the reports of a project: created private, hidden from git.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};

use crate::store::fs::{
    calls,
    error::StoreError,
    nofollow::{self, OpenMode},
    platform, stage,
};

pub(super) const PARTIAL_BACKUP: &str = "backup";
/// The folder of what is set aside.
pub(super) const SET_ASIDE: &str = "set-aside";

/// Creates the data folder if it is missing, and hides it from git.
pub(in crate::store) fn create_data_dir(data_path: &Utf8Path) -> Result<(), StoreError> {
    if let Some(parent) = data_path.parent() {
        stage::make_durable_folders(parent)?;
    }
    match nofollow::create_private_dir(data_path.as_std_path()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(StoreError::io(data_path, error)),
        Ok(()) | Err(_) => {}
    }
    // Before the lock file, so that a locked folder always has it.
    let ignore = data_path.join(".gitignore");
    write_gitignore(&ignore).map_err(|source| StoreError::io(&ignore, source))
}

/// Writes the `.gitignore` of the data folder. An empty one is the rest of a write that was cut off.
fn write_gitignore(ignore: &Utf8Path) -> io::Result<()> {
    if fs::symlink_metadata(ignore).is_ok_and(|metadata| !metadata.is_file() || metadata.len() > 0) {
        return Ok(());
    }
    let mut file = nofollow::open(ignore.as_std_path(), OpenMode::Log, platform::DATA_FILE_MODE)?;
    io::Write::write_all(&mut file, b"*\n").inspect_err(|_| {
        let _ = nofollow::remove_file(ignore);
    })
}

/// Returns a subfolder of the data folder, created if needed. A symlink in its place is refused.
pub(in crate::store) fn subfolder(data_path: &Utf8Path, name: &str) -> Result<Utf8PathBuf, StoreError> {
    let path = data_path.join(name);
    let found = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match calls::create_private_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::symlink_metadata(&path),
            made => return made.map(|()| path.clone()).map_err(|source| StoreError::io(&path, source)),
        },
        found => found,
    };
    match found {
        Ok(metadata) if metadata.is_dir() => Ok(path),
        Ok(_) => Err(StoreError::UnsafePath { path, problem: "Piton keeps a folder here, but found a link or a file" }),
        Err(source) => Err(StoreError::io(&path, source)),
    }
}

/// Removes an incomplete backup. The caller holds the lock.
pub(super) fn drop_partial_backup(data_path: &Utf8Path) -> Result<(), StoreError> {
    let partial = data_path.join(PARTIAL_BACKUP);
    match fs::symlink_metadata(&partial) {
        Ok(metadata) if metadata.is_dir() => {
            calls::remove_dir_all(&partial).map_err(|source| StoreError::io(&partial, source))
        }
        Ok(_) => calls::remove_file(&partial).map_err(|source| StoreError::io(&partial, source)),
        Err(_) => Ok(()),
    }
}
