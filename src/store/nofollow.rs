//! Writing along a path in which no folder is a link. Paths are checked when they are resolved (see `path`); here it is made sure that
//! nobody put a link in the place of one of their folders since.
//!
//! The content of a file is only ever written through a descriptor that is known to lie where the path says. Between a look and a call
//! that only moves names a swap is still possible; it finds no file there that the call could replace.

use std::fs;
use std::fs::File;
use std::io;
use std::path::Path;

use super::platform;
use super::platform::Access;
use super::platform::DirHandle;

/// Says what a file is opened for. Neither a link in its place is followed, nor a pipe waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpenMode {
    /// Writing; it must not be there yet.
    Create,
    /// Adding to what is there.
    Append,
    /// Adding to it and reading it; made where it is missing.
    Log,
    /// Writing over it, without making it shorter; made where it is missing.
    Overwrite,
    /// Reading and writing what is there.
    Edit,
    /// The same; made where it is missing.
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

/// Opens a file; `mode` is that of one that is made.
pub(super) fn open(path: &Path, open_mode: OpenMode, mode: u32) -> io::Result<File> {
    let target =
        OpenTarget { path, dir: path.parent().map(open_dir).transpose()?.flatten(), access: open_mode.access() };
    let may_make = matches!(open_mode, OpenMode::Log | OpenMode::Overwrite | OpenMode::Lock);
    match target.open((open_mode == OpenMode::Create).then_some(mode)) {
        Err(error) if may_make && error.kind() == io::ErrorKind::NotFound => match target.open(Some(mode)) {
            // Somebody else was faster.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => target.open(None),
            made => made,
        },
        opened => opened,
    }
}

/// Is the way to a file: by the folder that is held, or, where the system holds none, by its path.
struct OpenTarget<'a> {
    path: &'a Path,
    dir: Option<DirHandle>,
    access: Access,
}

impl OpenTarget<'_> {
    /// Opens the file, or makes one with a mode.
    fn open(&self, made: Option<u32>) -> io::Result<File> {
        if let (Some(dir), Some(name)) = (&self.dir, self.path.file_name()) {
            return dir.open(name, self.access, made);
        }
        let mut options = platform::careful();
        options.read(self.access.reads).write(true).append(self.access.appends).create_new(made.is_some());
        let file = platform::with_mode(&mut options, made.unwrap_or_default()).open(self.path)?;
        let Some(place) = platform::misplaced(&file, self.path) else { return Ok(file) };
        if made.is_some() {
            // It is where it was just made, and empty.
            let _ = fs::remove_file(place);
        }
        Err(refusal())
    }
}

/// Gives a file another name in place of what has that name.
pub(super) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    check_both(from.as_ref(), to.as_ref())?;
    fs::rename(from, to)
}

/// Gives a file one more name.
pub(super) fn hard_link(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    check_both(from.as_ref(), to.as_ref())?;
    fs::hard_link(from, to)
}

/// Takes a name away from a file.
pub(super) fn remove_file(path: impl AsRef<Path>) -> io::Result<()> {
    check(path.as_ref())?;
    fs::remove_file(path)
}

/// Makes a folder that only its owner may enter.
pub(super) fn create_private_dir(path: &Path) -> io::Result<()> {
    check(path)?;
    platform::create_private_dir(path)
}

/// Looks at a folder that both are in once.
fn check_both(from: &Path, to: &Path) -> io::Result<()> {
    check(to)?;
    if from.parent() == to.parent() { Ok(()) } else { check(from) }
}

fn check(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| open_dir(folder).map(drop))
}

/// Holds a folder that no link leads to.
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
