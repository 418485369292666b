//! Resolves checked relative paths to files below a root, through any symlinks.
//!
//! A symlink may lead elsewhere below the root. One that leaves the root is refused, and so is every write into a `.git`
//! folder: a planted record or symlink must not reach a git hook.
//!
//! `cap-std` (4.0) was considered for open folders, here and in `held_dir`, and rejected. It opens its root through symlinks
//! (`open_ambient_dir`) and cannot ask for `RESOLVE_NO_SYMLINKS`, which [`Root::target`] and `held_dir` depend on; opening
//! every folder of a path with `open_dir_nofollow` would need one system call per part instead of one per path. It opens
//! folders with `O_PATH`, which cannot be flushed. A symlink that leaves the root is `PermissionDenied`, like a folder that may
//! not be entered, but the two are different findings. It would add ten crates and keep nearly all of this code.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read as _},
    sync::Arc,
};

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use super::{error::StoreError, platform};
use crate::model::{ReadProblem, RelPath};

/// Bytes of a file that a probe reads.
const PROBE_LIMIT: u64 = 4 << 20;

/// A folder that paths resolved by it never leave.
#[derive(Debug)]
pub(in crate::store) struct Root {
    /// Absolute, without symlinks.
    path: Utf8PathBuf,
    #[cfg(target_os = "linux")]
    handle: File,
}

impl Root {
    /// Opens the folder. Roots are resolved when they are found: one whose path has a symlink now was swapped since.
    pub(in crate::store) fn open(path: &Utf8Path) -> Result<Self, StoreError> {
        let failed = |source| StoreError::io(path, source);
        let is_plain = path.is_absolute() && path.components().all(|part| part != Utf8Component::ParentDir);
        let real: Utf8PathBuf = if cfg!(target_os = "linux") && is_plain {
            path.components().collect()
        } else {
            path.canonicalize_utf8().map_err(failed)?
        };
        Ok(Self {
            #[cfg(target_os = "linux")]
            handle: super::held_dir::HeldDir::open(real.as_std_path()).map_err(failed)?.into_handle(),
            path: real,
        })
    }

    pub(in crate::store) fn path(&self) -> &Utf8Path {
        &self.path
    }

    /// Resolves a path for reading: a place below the root, or why it cannot be read.
    pub(in crate::store) fn locate(&self, path: &RelPath) -> Result<Utf8PathBuf, ReadProblem> {
        match self.has_no_symlink(path) {
            Some(true) => return Ok(path.under(&self.path)),
            Some(false) => return Err(ReadProblem::Missing),
            None => {}
        }
        let real = path.under(&self.path).canonicalize_utf8().map_err(|error| problem_of(&error))?;
        if real.starts_with(&self.path) { Ok(real) } else { Err(ReadProblem::LinkLeavesRoot) }
    }

    /// Resolves a path for writing. Neither the file nor its folders need to exist.
    pub(in crate::store) fn target(&self, path: &RelPath) -> Result<Utf8PathBuf, StoreError> {
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
                        // Another process created it meanwhile: the first writers of a run create its folder at the same time.
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

    /// Tells whether a path exists and has no symlink; `None` if the kernel cannot tell in one call.
    #[cfg(target_os = "linux")]
    fn has_no_symlink(&self, path: &RelPath) -> Option<bool> {
        use rustix::{
            fs::{Mode, OFlags, ResolveFlags},
            io::Errno,
        };
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match rustix::fs::openat2(&self.handle, path.as_str(), flags, Mode::empty(), how) {
            Ok(_) => Some(true),
            Err(Errno::NOENT) => Some(false),
            Err(_) => None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn has_no_symlink(&self, _path: &RelPath) -> Option<bool> {
        None
    }

    /// Returns the content of a file that is not too large for a first look.
    pub(in crate::store) fn read_for_probe(&self, path: &RelPath) -> Result<Arc<[u8]>, ReadProblem> {
        let (file, metadata) = self.open_file(path)?;
        bounded(file, metadata.len(), PROBE_LIMIT).map(Into::into)
    }

    /// Opens a regular file below the root. Never blocks and never leaves the root, even if symlinks change meanwhile.
    pub(in crate::store) fn open_file(&self, path: &RelPath) -> Result<(File, Metadata), ReadProblem> {
        let file = match self.open_beneath(path.as_str(), false) {
            Lookup::Opened(file) => file,
            // On a file system without devices, opening one is denied.
            Lookup::Failed(_) if platform::is_device(&path.under(&self.path)) => return Err(ReadProblem::NotRegular),
            Lookup::Failed(error) => return Err(problem_of(&error)),
            Lookup::ThroughLink => {
                // Finds out why, or where an absolute symlink leads that stays below the root. That place is opened without
                // following any symlink.
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
                let mut options = platform::nofollow_options();
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

    /// Opens a regular file whose path has no symlink.
    pub(in crate::store) fn open_plain(&self, path: &RelPath) -> Result<(File, Metadata), ReadProblem> {
        let file = match self.open_beneath(path.as_str(), true) {
            Lookup::Opened(file) => file,
            Lookup::Failed(error) => return Err(problem_of(&error)),
            Lookup::ThroughLink => return Err(ReadProblem::LinkLeavesRoot),
            Lookup::Unsupported if self.is_plain(path) => {
                let mut options = platform::nofollow_options();
                options.read(true).open(path.under(&self.path)).map_err(|error| problem_of(&error))?
            }
            Lookup::Unsupported => return Err(self.locate(path).err().unwrap_or(ReadProblem::LinkLeavesRoot)),
        };
        let metadata = file.metadata().map_err(|error| problem_of(&error))?;
        if metadata.is_file() { Ok((file, metadata)) } else { Err(ReadProblem::NotRegular) }
    }

    /// Tells whether a path exists and has no symlink.
    pub(in crate::store) fn is_plain(&self, path: &RelPath) -> bool {
        let full = path.under(&self.path);
        self.has_no_symlink(path).unwrap_or_else(|| full.canonicalize_utf8().is_ok_and(|real| real == full))
    }

    /// Lets the kernel check the path, in one call.
    #[cfg(target_os = "linux")]
    fn open_beneath(&self, path: &str, no_symlinks: bool) -> Lookup {
        use rustix::{
            fs::{Mode, OFlags, ResolveFlags},
            io::Errno,
        };
        let flags = OFlags::RDONLY | (platform::nofollow_flags() - OFlags::NOFOLLOW);
        let symlinks = if no_symlinks { ResolveFlags::NO_SYMLINKS } else { ResolveFlags::empty() };
        match rustix::fs::openat2(&self.handle, path, flags, Mode::empty(), ResolveFlags::BENEATH | symlinks) {
            Ok(file) => Lookup::Opened(File::from(file)),
            Err(Errno::XDEV | Errno::LOOP | Errno::AGAIN) => Lookup::ThroughLink,
            // An older kernel, or a sandbox that refuses unknown calls.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Lookup::Unsupported,
            Err(errno) => Lookup::Failed(errno.into()),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn open_beneath(&self, _path: &str, _no_symlinks: bool) -> Lookup {
        Lookup::Unsupported
    }
}

/// The kernel's answer to opening a path below a root.
enum Lookup {
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems cannot tell"))]
    Opened(File),
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems cannot tell"))]
    Failed(io::Error),
    /// It goes through a symlink that is absolute or leaves the root.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "other systems cannot tell"))]
    ThroughLink,
    Unsupported,
}

/// Reads an open file to its end, but not more than `limit` bytes.
pub(in crate::store) fn bounded(file: File, size: u64, limit: u64) -> Result<Vec<u8>, ReadProblem> {
    if size > limit {
        return Err(ReadProblem::TooLarge { bytes: size, limit });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| problem_of(&error))?;
    match bytes.len() as u64 {
        length if length > limit => Err(ReadProblem::TooLarge { bytes: length, limit }),
        length if length < size => Err(ReadProblem::Other("it was cut while it was read".to_owned())),
        _ => Ok(bytes),
    }
}

/// Converts an I/O error to the problem the model knows.
pub(in crate::store) fn problem_of(error: &io::Error) -> ReadProblem {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ReadProblem::Missing,
        io::ErrorKind::PermissionDenied => ReadProblem::Permission,
        io::ErrorKind::IsADirectory => ReadProblem::Directory,
        io::ErrorKind::InvalidData => ReadProblem::Other("its path has a name that is not UTF-8".to_owned()),
        // ENXIO and ENODEV: a socket, or a device without a driver.
        _ if matches!(error.raw_os_error(), Some(6 | 19)) => ReadProblem::NotRegular,
        _ => ReadProblem::Other(error.to_string()),
    }
}

#[cfg(test)]
#[path = "path_tests.rs"]
mod tests;
