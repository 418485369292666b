//! Writes along paths without symlinks. `path` checks a path when it is resolved; this module makes sure that none of its
//! folders has become a symlink since.
//!
//! Content is only written through a descriptor that is known to be at the expected path. Calls that only move names (rename,
//! link, remove) check first, and a folder can still be swapped between the check and the call. They can then affect a name
//! elsewhere, but never overwrite the content of a file.

use std::{
    fs::{self, File},
    io,
    path::Path,
};

use super::platform::{self, Access, DirHandle};

/// What a file is opened for. No mode follows a symlink or blocks on a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store) enum OpenMode {
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
            reads: matches!(self, Self::Log | Self::Edit | Self::Lock),
            appends: matches!(self, Self::Append | Self::Log),
        }
    }
}

/// Opens a file; `mode` is the permission mode of a created one.
pub(in crate::store) fn open(path: &Path, open_mode: OpenMode, mode: u32) -> io::Result<File> {
    let target =
        OpenTarget { path, dir: path.parent().map(open_dir).transpose()?.flatten(), access: open_mode.access() };
    let may_make = matches!(open_mode, OpenMode::Log | OpenMode::Overwrite | OpenMode::Lock);
    match target.open((open_mode == OpenMode::Create).then_some(mode)) {
        Err(error) if may_make && error.kind() == io::ErrorKind::NotFound => match target.open(Some(mode)) {
            // Another process created it first.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => target.open(None),
            made => made,
        },
        opened => opened,
    }
}

/// A file to open: by name in its open folder, or by path where the system cannot open folders this way.
struct OpenTarget<'a> {
    path: &'a Path,
    dir: Option<DirHandle>,
    access: Access,
}

impl OpenTarget<'_> {
    /// Opens the file, or creates it with the mode `made`.
    fn open(&self, made: Option<u32>) -> io::Result<File> {
        if let (Some(dir), Some(name)) = (&self.dir, self.path.file_name()) {
            return dir.open(name, self.access, made);
        }
        let mut options = platform::nofollow_options();
        options.read(self.access.reads).write(true).append(self.access.appends).create_new(made.is_some());
        let file = platform::with_mode(&mut options, made.unwrap_or_default()).open(self.path)?;
        let Some(place) = platform::misplaced(&file, self.path) else { return Ok(file) };
        if made.is_some() {
            // It was just created there and is empty.
            let _ = fs::remove_file(place);
        }
        Err(refusal())
    }
}

/// Renames a file, replacing the target.
pub(in crate::store) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    check_both(from.as_ref(), to.as_ref())?;
    fs::rename(from, to)
}

/// Removes a file.
pub(in crate::store) fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    check(path.as_ref())?;
    fs::remove_file(path)
}

/// Creates a folder that only its owner may enter.
pub(in crate::store) fn create_private_dir(path: &Path) -> io::Result<()> {
    check(path)?;
    platform::create_private_dir(path)
}

/// Checks the folders of both paths; a shared folder once.
fn check_both(from: &Path, to: &Path) -> io::Result<()> {
    check(to)?;
    if from.parent() == to.parent() { Ok(()) } else { check(from) }
}

fn check(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| open_dir(folder).map(drop))
}

/// Opens a folder whose path has no symlink.
fn open_dir(folder: &Path) -> io::Result<Option<DirHandle>> {
    platform::open_dir_nofollow(folder)
        .map_err(|error| if error.kind() == io::ErrorKind::NotFound { error } else { refusal() })
}

fn refusal() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "the path goes through a symbolic link")
}

#[cfg(test)]
#[path = "nofollow_tests.rs"]
mod tests;
