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

/// Says what a file is opened for. Neither a link in its place is followed, nor a pipe waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
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

/// Opens a file; `mode` is that of one that is made.
pub(super) fn open(path: &Path, used: Use, mode: u32) -> io::Result<File> {
    let mut options = platform::careful();
    let may_make = match used {
        Use::Create => {
            options.write(true).create_new(true);
            false
        }
        Use::Append => {
            options.append(true);
            false
        }
        Use::Log => {
            options.read(true).append(true);
            true
        }
        Use::Overwrite => {
            options.write(true);
            true
        }
        Use::Edit => {
            options.read(true).write(true);
            false
        }
        Use::Lock => {
            options.read(true).write(true);
            true
        }
    };
    let (file, is_new) = match platform::with_mode(&mut options, mode).open(path) {
        Err(error) if may_make && error.kind() == io::ErrorKind::NotFound => make(path, &mut options)?,
        opened => (opened?, used == Use::Create),
    };
    match platform::strayed(&file, path) {
        None => Ok(file),
        Some(place) => {
            if is_new {
                // It is where it was just made, and empty.
                let _ = fs::remove_file(place);
            }
            Err(refusal())
        }
    }
}

/// Makes a file, unless somebody else was faster.
fn make(path: &Path, options: &mut fs::OpenOptions) -> io::Result<(File, bool)> {
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok((options.open(path)?, false)),
        made => Ok((made?, true)),
    }
}

/// Gives a file another name in place of what has that name.
pub(super) fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    check(from.as_ref())?;
    check(to.as_ref())?;
    fs::rename(from, to)
}

/// Gives a file one more name.
pub(super) fn hard_link(from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
    check(from.as_ref())?;
    check(to.as_ref())?;
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

fn check(path: &Path) -> io::Result<()> {
    if path.parent().is_some_and(platform::has_link) { Err(refusal()) } else { Ok(()) }
}

fn refusal() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "a link stands in the way to it")
}

#[cfg(test)]
#[path = "straight_tests.rs"]
mod tests;
