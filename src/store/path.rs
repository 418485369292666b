//! From checked relative paths to files below a root, whatever links lie in between.
//!
//! A link may lead to another place below the root. One that leaves it is refused, and so is every way into a `.git` folder
//! for writing: a planted record or link must not reach a hook.
//!
//! `cap-std` (4.0) was considered for the folders that are held open, here and in `nofollow`, and not taken. It opens its root
//! along links (`open_ambient_dir`) and has no way to ask for `RESOLVE_NO_SYMLINKS`, on which [`Root::target`] and all of `nofollow`
//! rest; opening every folder of a path with `open_dir_nofollow` would replace one call of the system by one for each part. It holds
//! folders with `O_PATH`, which cannot be flushed. A link that leaves the root is `PermissionDenied` like a folder that may not be
//! entered, and the two are different findings. It would bring ten crates and leave nearly all of this code.

use std::fs;
use std::fs::File;
use std::fs::Metadata;
use std::io;

#[cfg(target_os = "linux")]
use camino::Utf8Component;
use camino::Utf8Path;
use camino::Utf8PathBuf;

use super::error::StoreError;
use super::platform;
use crate::model::ReadProblem;
use crate::model::RelPath;

/// Is a folder that nothing leaves.
#[derive(Debug)]
pub(super) struct Root {
    /// Absolute, without links.
    path: Utf8PathBuf,
    #[cfg(target_os = "linux")]
    handle: Option<File>,
}

impl Root {
    pub(super) fn open(path: &Utf8Path) -> Result<Self, StoreError> {
        #[cfg(target_os = "linux")]
        if let Some(opened) = Self::open_nofollow(path)? {
            return Ok(opened);
        }
        let real = path.canonicalize_utf8().map_err(|source| StoreError::io(path, source))?;
        Ok(Self {
            #[cfg(target_os = "linux")]
            handle: File::open(&real).ok(),
            path: real,
        })
    }

    /// Lets the kernel say that there is no link on the way, instead of asking about every part of it.
    #[cfg(target_os = "linux")]
    fn open_nofollow(path: &Utf8Path) -> Result<Option<Self>, StoreError> {
        if !path.is_absolute() || path.components().any(|part| part == Utf8Component::ParentDir) {
            return Ok(None);
        }
        match platform::open_dir_nofollow(path.as_std_path()) {
            Ok(Some(held)) => Ok(Some(Self { path: path.components().collect(), handle: Some(held.into_handle()) })),
            Err(source) if source.kind() == io::ErrorKind::NotFound => Err(StoreError::io(path, source)),
            Ok(None) | Err(_) => Ok(None),
        }
    }

    pub(super) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Returns where a path really leads, for reading: a place below the root, or the reason against it.
    pub(super) fn locate(&self, path: &RelPath) -> Result<Utf8PathBuf, ReadProblem> {
        match self.has_no_symlink(path) {
            Some(true) => return Ok(path.under(&self.path)),
            Some(false) => return Err(ReadProblem::Missing),
            None => {}
        }
        let real = path.under(&self.path).canonicalize_utf8().map_err(|error| problem_of(&error))?;
        if real.starts_with(&self.path) { Ok(real) } else { Err(ReadProblem::LinkLeavesRoot) }
    }

    /// Returns where a path really leads, for writing. It need not exist; its missing folders neither.
    pub(super) fn target(&self, path: &RelPath) -> Result<Utf8PathBuf, StoreError> {
        let full = path.under(&self.path);
        let target = if self.has_no_symlink(path) == Some(true) { full.clone() } else { self.target_of(&full)? };
        let below = target.strip_prefix(&self.path).unwrap_or(&target);
        if below.components().any(|part| part.as_str().eq_ignore_ascii_case(".git")) {
            let problem = "nothing is ever written into a `.git` folder";
            return Err(StoreError::UnsafePath { path: full, problem });
        }
        Ok(target)
    }

    fn target_of(&self, full: &Utf8Path) -> Result<Utf8PathBuf, StoreError> {
        let refuse = |problem| StoreError::UnsafePath { path: full.to_owned(), problem };
        let mut existing = full;
        let real = loop {
            match existing.canonicalize_utf8() {
                Ok(real) => break real,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match fs::symlink_metadata(existing) {
                        Ok(found) if found.is_symlink() => {
                            return Err(refuse("it goes through a link that leads nowhere"));
                        }
                        // Somebody made it meanwhile: the first writers of a run make its folder at the same time.
                        Ok(_) => {}
                        Err(_) => existing = existing.parent().ok_or_else(|| refuse("its root is gone"))?,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(refuse("it goes through a name that is not UTF-8"));
                }
                Err(error) => return Err(StoreError::io(full, error)),
            }
        };
        if !real.starts_with(&self.path) {
            return Err(refuse("it is or goes through a link that leaves the project"));
        }
        let missing = full.strip_prefix(existing).map_err(|_| refuse("it leaves the project"))?;
        Ok(if missing.as_str().is_empty() { real } else { real.join(missing) })
    }

    /// Tells whether a path is there, and leads there through no link; `None` where only a closer look can tell.
    #[cfg(target_os = "linux")]
    fn has_no_symlink(&self, path: &RelPath) -> Option<bool> {
        use rustix::fs::Mode;
        use rustix::fs::OFlags;
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match rustix::fs::openat2(self.handle.as_ref()?, path.as_str(), flags, Mode::empty(), how) {
            Ok(_) => Some(true),
            Err(Errno::NOENT) => Some(false),
            Err(_) => None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn has_no_symlink(&self, _path: &RelPath) -> Option<bool> {
        None
    }

    /// Opens a regular file below the root. Never hangs and never leaves the root, not even when links change meanwhile.
    pub(super) fn open_file(&self, path: &RelPath) -> Result<(File, Metadata), ReadProblem> {
        let file = match self.open_beneath(path.as_str(), false) {
            Lookup::Opened(file) => file,
            Lookup::Failed(error) => return Err(problem_of(&error)),
            Lookup::ThroughLink => {
                // Why, and where an absolute link leads to that stays below the root; that place is opened through no link at all.
                let real = self.locate(path)?;
                let below = real.strip_prefix(&self.path).map_err(|_| ReadProblem::LinkLeavesRoot)?;
                match self.open_beneath(below.as_str(), true) {
                    Lookup::Opened(file) => file,
                    Lookup::Failed(error) => return Err(problem_of(&error)),
                    Lookup::ThroughLink | Lookup::Unsupported => return Err(ReadProblem::LinkLeavesRoot),
                }
            }
            Lookup::Unsupported => {
                let real = self.locate(path)?;
                let mut options = platform::careful();
                options.read(true).open(&real).map_err(|error| problem_of(&error))?
            }
        };
        let metadata = file.metadata().map_err(|error| problem_of(&error))?;
        if metadata.is_dir() {
            Err(ReadProblem::Directory)
        } else if metadata.is_file() {
            Ok((file, metadata))
        } else {
            Err(ReadProblem::NotRegular)
        }
    }

    /// Lets the kernel check the way, in one call.
    #[cfg(target_os = "linux")]
    fn open_beneath(&self, path: &str, no_symlinks: bool) -> Lookup {
        use rustix::fs::Mode;
        use rustix::fs::OFlags;
        use rustix::fs::ResolveFlags;
        use rustix::io::Errno;
        let flags = OFlags::RDONLY | (platform::careful_flags() - OFlags::NOFOLLOW);
        let symlinks = if no_symlinks { ResolveFlags::NO_SYMLINKS } else { ResolveFlags::empty() };
        let Some(handle) = self.handle.as_ref() else { return Lookup::Unsupported };
        match rustix::fs::openat2(handle, path, flags, Mode::empty(), ResolveFlags::BENEATH | symlinks) {
            Ok(file) => Lookup::Opened(File::from(file)),
            Err(Errno::XDEV | Errno::LOOP | Errno::AGAIN) => Lookup::ThroughLink,
            // An older kernel, or one that is told to refuse what it does not know.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Lookup::Unsupported,
            Err(errno) => Lookup::Failed(errno.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_beneath(&self, _path: &str, _no_symlinks: bool) -> Lookup {
        Lookup::Unsupported
    }
}

/// Is what the kernel says of a way below a root.
enum Lookup {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems cannot tell"))]
    Opened(File),
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems cannot tell"))]
    Failed(io::Error),
    /// It goes through a link that is absolute, or that leaves the root.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems cannot tell"))]
    ThroughLink,
    Unsupported,
}

/// Says in the words of the model why a file could not be opened or read.
pub(super) fn problem_of(error: &io::Error) -> ReadProblem {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadProblem::Missing,
        io::ErrorKind::PermissionDenied => ReadProblem::Permission,
        io::ErrorKind::IsADirectory => ReadProblem::Directory,
        io::ErrorKind::InvalidData => ReadProblem::Other("its path has a name that is not UTF-8".to_owned()),
        // Opening a socket, or a device without a driver.
        _ if matches!(error.raw_os_error(), Some(6 | 19)) => ReadProblem::NotRegular,
        _ => ReadProblem::Other(error.to_string()),
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
