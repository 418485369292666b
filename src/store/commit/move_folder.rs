//! Moves the folder of a run into an archive and back: a session of CCW with all that is in it, as its own program does, and the records of a
//! run of a workflow file.
//!
//! Across file systems, and out of the lower layer of an overlay, a rename is refused: then the folder is copied durably, compared, given its
//! name, and only then removed where it was.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use walkdir::WalkDir;

use super::lock::RunLock;
use crate::{
    model::RelPath,
    store::fs::{
        calls,
        error::StoreError,
        nofollow::{self, OpenMode},
        platform, stage,
    },
};

/// Moves the folder of a run durably to an unused name.
///
/// # Errors
///
/// If a path may not be written, or a system call fails. Nothing is moved then, except after [`StoreError::NotRolledBack`].
pub(crate) fn move_folder(lock: &RunLock, from: &RelPath, to: &RelPath) -> Result<(), StoreError> {
    let real_from = lock.root().target(from)?;
    let real_to = lock.root().target(to)?;
    let Some(parent) = real_to.parent() else { return Ok(()) };
    let mut made: Vec<Utf8PathBuf> =
        parent.ancestors().take_while(|folder| !folder.exists()).map(Utf8Path::to_owned).collect();
    made.reverse();
    let moved = stage::make_durable_folders(parent).and_then(|()| rename(&real_from, &real_to));
    if moved.is_err() {
        stage::remove_empty(&made);
    }
    moved
}

/// Moves a folder into one that exists, durably.
pub(super) fn rename(from: &Utf8Path, to: &Utf8Path) -> Result<(), StoreError> {
    stage::remove_leftovers(std::iter::once(to));
    match calls::rename(from, to) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => return copy_and_remove(from, to),
        Err(source) => return Err(StoreError::io(from, source)),
    }
    stage::sync_dirs([from, to].into_iter().filter_map(Utf8Path::parent)).map_err(|error| {
        let is_back = calls::rename(to, from).is_ok();
        if is_back { error } else { StoreError::NotRolledBack { cause: Box::new(error) } }
    })
}

fn copy_and_remove(from: &Utf8Path, to: &Utf8Path) -> Result<(), StoreError> {
    let partial = stage::temporary_name(to);
    let copied = copy(from, &partial)
        .and_then(|()| calls::rename(&partial, to).map_err(|source| StoreError::io(to, source)))
        .and_then(|()| stage::sync_dirs(to.parent().into_iter()));
    if let Err(error) = copied {
        // A name that may not be durable is taken back with its content: the folder is still where it was.
        for copy in [&partial, to] {
            let _ = calls::remove_dir_all(copy);
        }
        return Err(error);
    }
    let removed = calls::remove_dir_all(from).map_err(|source| StoreError::io(from, source));
    removed
        .and_then(|()| stage::sync_dirs(from.parent().into_iter()))
        .map_err(|error| StoreError::NotRolledBack { cause: Box::new(error) })
}

/// Copies a folder with all that is in it, durably, and compares every file with its copy. Links are copied as links.
fn copy(from: &Utf8Path, to: &Utf8Path) -> Result<(), StoreError> {
    let mut folders: Vec<Utf8PathBuf> = Vec::new();
    for entry in WalkDir::new(from).follow_links(false) {
        let entry = entry.map_err(|error| StoreError::io(from, error.into()))?;
        let Some(path) = Utf8Path::from_path(entry.path()) else {
            return Err(StoreError::UnsafePath { path: from.to_owned(), problem: "a name in it is not UTF-8" });
        };
        let place = path.strip_prefix(from).map_or_else(|_| to.to_owned(), |below| to.join(below));
        let failed = |source| StoreError::io(path, source);
        let kind = entry.file_type();
        if kind.is_dir() {
            calls::create_dir(&place, platform::DATA_DIR_MODE).map_err(failed)?;
            folders.push(place);
        } else if kind.is_symlink() {
            let target = fs::read_link(path).map_err(failed)?;
            calls::symlink(&target, &place).map_err(failed)?;
        } else if kind.is_file() {
            copy_file(path, &place).map_err(failed)?;
        } else {
            return Err(StoreError::UnsafePath { path: path.to_owned(), problem: "it is not a regular file" });
        }
    }
    // Last, so that a folder that may not be written can be filled.
    for folder in &folders {
        let source = folder.strip_prefix(to).map_or_else(|_| from.to_owned(), |below| from.join(below));
        let like = fs::metadata(&source).map(|metadata| platform::attributes(&metadata));
        let opened = nofollow::open(folder.as_std_path(), OpenMode::Read, 0);
        let applied = like.and_then(|like| calls::apply(&opened?, like));
        applied.map_err(|error| StoreError::io(folder, error))?;
    }
    stage::sync_dirs(folders.iter().map(Utf8PathBuf::as_path))
}

fn copy_file(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    let bytes = fs::read(from)?;
    let metadata = fs::metadata(from)?;
    let mut file = calls::create_new(to, platform::DATA_FILE_MODE)?;
    calls::write(&mut file, &bytes)?;
    calls::apply(&file, platform::attributes(&metadata))?;
    if let Ok(modified) = metadata.modified() {
        file.set_modified(modified)?;
    }
    calls::sync_all(&file)?;
    if fs::read(to)? == bytes { Ok(()) } else { Err(io::Error::other("its copy differs")) }
}

#[cfg(test)]
#[path = "move_folder_tests.rs"]
mod tests;
