//! The only way to change names and files: along paths without symlinks. `path` checks a path when it is resolved; a folder of it may have
//! become a symlink since. So each call opens the folder without following one, and uses the name in it.

use std::{ffi::OsStr, fs::File, io, path::Path};

use super::held_dir::{Access, HeldDir};

/// What a file is opened for. No mode follows a symlink or blocks on a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum OpenMode {
    /// Read an existing file.
    Read,
    /// Write a new file; fails if it exists.
    Create,
    /// Append to an existing file.
    Append,
    /// Append and read; created if missing.
    Log,
    /// Overwrite without truncating; created if missing.
    Overwrite,
    /// Read and write an existing file.
    Edit,
    /// Read and write; created if missing.
    Lock,
}

impl OpenMode {
    fn access(self) -> Access {
        Access {
            reads: matches!(self, Self::Read | Self::Log | Self::Edit | Self::Lock),
            writes: self != Self::Read,
            appends: matches!(self, Self::Append | Self::Log),
        }
    }
}

/// Opens a file; `mode` is the permission mode of a created one.
pub(in crate::store) fn open(path: &Path, open_mode: OpenMode, mode: u32) -> io::Result<File> {
    let (dir, name) = place(path)?;
    let open = |made| dir.open_file(name, open_mode.access(), made);
    let may_make = matches!(open_mode, OpenMode::Log | OpenMode::Overwrite | OpenMode::Lock);
    match open((open_mode == OpenMode::Create).then_some(mode)) {
        Err(error) if may_make && error.kind() == io::ErrorKind::NotFound => match open(Some(mode)) {
            // Another process created it first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => open(None),
            made => made,
        },
        opened => opened,
    }
}

/// Renames a file or folder, replacing the target.
pub(in crate::store) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    let (to_dir, to_name) = place(to.as_ref())?;
    if from.as_ref().parent() == to.as_ref().parent() {
        return to_dir.rename(from.as_ref().file_name().unwrap_or_default(), &to_dir, to_name);
    }
    let (from_dir, from_name) = place(from.as_ref())?;
    from_dir.rename(from_name, &to_dir, to_name)
}

/// Removes a file.
pub(in crate::store) fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    let (dir, name) = place(path.as_ref())?;
    dir.remove_file(name)
}

/// Creates a folder with a permission mode.
pub(super) fn create_dir(path: &Path, mode: u32) -> io::Result<()> {
    let (dir, name) = place(path)?;
    dir.create_dir(name, mode)
}

pub(super) fn symlink(target: &Path, path: &Path) -> io::Result<()> {
    let (dir, name) = place(path)?;
    dir.symlink(target, name)
}

/// Removes an empty folder.
pub(super) fn remove_dir(path: &Path) -> io::Result<()> {
    let (dir, name) = place(path)?;
    dir.remove_dir(name)
}

/// Removes a folder and its content.
pub(super) fn remove_dir_all(path: &Path) -> io::Result<()> {
    let (dir, name) = place(path)?;
    dir.remove_dir_all(name)
}

/// Makes the names in a folder durable.
pub(super) fn sync_dir(path: &Path) -> io::Result<()> {
    HeldDir::sync(path)
}

/// Opens the folder that a path names something in.
fn place(path: &Path) -> io::Result<(HeldDir, &OsStr)> {
    let place = path.parent().zip(path.file_name());
    let (folder, name) = place.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names nothing"))?;
    Ok((HeldDir::open(folder)?, name))
}

#[cfg(test)]
#[path = "nofollow_tests.rs"]
mod tests;
