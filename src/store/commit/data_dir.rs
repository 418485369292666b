//! The folders that Piton makes: the home of the runs of a project, private and hidden from git, and the folder of each run in it.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};

use crate::{
    model::RunFolder,
    store::fs::{
        calls,
        error::StoreError,
        nofollow::{self, OpenMode},
        path::Root,
        platform,
        stage::{self, DATA_DIR},
    },
};

pub(super) const PARTIAL_BACKUP: &str = "backup";
/// The folder of what is set aside.
pub(super) const SET_ASIDE: &str = "set-aside";

/// Creates the folder of a run, durably, in a home that is hidden from git. A folder that goes through a link is refused before anything is
/// made in it. Returns its path without links.
pub(in crate::store) fn create(folder: &RunFolder) -> Result<Utf8PathBuf, StoreError> {
    let home = &folder.home;
    if home.symlink_metadata().is_ok() {
        Root::open(home)?;
    }
    if home.file_name() == Some(DATA_DIR) {
        create_hidden(home)?;
    }
    stage::create_private_dirs(home)?;
    let path = Root::open(home)?.target(&folder.path)?;
    stage::create_private_dirs(&path)?;
    Ok(path)
}

/// Creates a folder of Piton in a project, durably, and hides it from git.
pub(in crate::store) fn create_hidden(home: &Utf8Path) -> Result<(), StoreError> {
    let is_new = home.symlink_metadata().is_err();
    if let Some(parent) = home.parent() {
        stage::make_durable_folders(parent)?;
    }
    match calls::create_dir(home, platform::DATA_DIR_MODE) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(StoreError::io(home, error)),
        Ok(()) | Err(_) => {}
    }
    let ignore = home.join(".gitignore");
    write_gitignore(&ignore).map_err(|source| StoreError::io(&ignore, source))?;
    stage::sync_dirs(home.parent().into_iter().filter(|_| is_new))
}

/// Writes the `.gitignore` of a home. An empty one is the rest of a write that was cut off.
fn write_gitignore(ignore: &Utf8Path) -> io::Result<()> {
    if fs::symlink_metadata(ignore).is_ok_and(|metadata| !metadata.is_file() || metadata.len() > 0) {
        return Ok(());
    }
    let mut file = nofollow::open(ignore.as_std_path(), OpenMode::Log, platform::DATA_FILE_MODE)?;
    io::Write::write_all(&mut file, b"*\n").inspect_err(|_| {
        let _ = nofollow::remove_file(ignore);
    })
}

/// Returns a subfolder of the folder of a run, created if needed. A symlink in its place is refused.
pub(in crate::store) fn subfolder(data_path: &Utf8Path, name: &str) -> Result<Utf8PathBuf, StoreError> {
    let path = data_path.join(name);
    let found = match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match calls::create_dir(&path, platform::DATA_DIR_MODE) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => fs::symlink_metadata(&path),
                made => return made.map(|()| path.clone()).map_err(|source| StoreError::io(&path, source)),
            }
        }
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
