//! An open folder whose path has no symlink: names in it keep their meaning while it is open, even if another takes the place of a folder above it.
//! Where the system cannot open folders, its path stands for it.

#[cfg(not(unix))]
pub(super) use by_path::HeldDir;
#[cfg(unix)]
pub(super) use opened::HeldDir;

/// What a file is opened for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) appends: bool,
}

#[cfg(unix)]
mod opened {
    use std::{
        ffi::OsStr,
        fs::File,
        io,
        os::{
            fd::{AsFd, BorrowedFd, OwnedFd},
            unix::ffi::OsStrExt as _,
        },
        path::{Component, Path},
    };

    use rustix::{
        fs::{AtFlags, CWD, Dir, Mode, OFlags},
        io::{Errno, retry_on_intr},
    };

    use super::Access;
    use crate::store::fs::platform::{flushed, nofollow_flags};

    /// For names only: needs no permission to read the folder.
    #[cfg(target_os = "linux")]
    pub(super) const NAMES: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    pub(super) const NAMES: OFlags = OFlags::RDONLY;

    #[derive(Debug)]
    pub(in crate::store::fs) struct HeldDir(OwnedFd);

    impl HeldDir {
        /// Opens a folder for the names in it.
        ///
        /// # Errors
        ///
        /// If its path has a symlink, or the folder does not exist.
        pub(in crate::store::fs) fn open(folder: &Path) -> io::Result<Self> {
            open_folder(folder, NAMES).map(Self)
        }

        /// Makes the names in a folder durable.
        pub(in crate::store::fs) fn sync(folder: &Path) -> io::Result<()> {
            flushed(File::from(open_folder(folder, OFlags::RDONLY)?).sync_all())
        }

        /// Opens a file in it, or creates one with the mode `made`, without following a symlink or blocking on a pipe.
        pub(in crate::store::fs) fn open_file(
            &self,
            name: &OsStr,
            access: Access,
            made: Option<u32>,
        ) -> io::Result<File> {
            let mut flags = nofollow_flags()
                | match (access.reads, access.writes) {
                    (true, true) => OFlags::RDWR,
                    (false, true) => OFlags::WRONLY,
                    (_, false) => OFlags::RDONLY,
                };
            flags.set(OFlags::APPEND, access.appends);
            flags.set(OFlags::CREATE | OFlags::EXCL, made.is_some());
            let mode = made.map_or(Mode::empty(), mode_of);
            Ok(retry_on_intr(|| rustix::fs::openat(&self.0, name, flags, mode))?.into())
        }

        pub(in crate::store::fs) fn rename(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<()> {
            Ok(rustix::fs::renameat(&self.0, name, &to.0, new_name)?)
        }

        pub(in crate::store::fs) fn create_dir(&self, name: &OsStr, mode: u32) -> io::Result<()> {
            Ok(rustix::fs::mkdirat(&self.0, name, mode_of(mode))?)
        }

        pub(in crate::store::fs) fn symlink(&self, target: &Path, name: &OsStr) -> io::Result<()> {
            Ok(rustix::fs::symlinkat(target, &self.0, name)?)
        }

        pub(in crate::store::fs) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::empty())?)
        }

        /// Removes an empty folder.
        pub(in crate::store::fs) fn remove_dir(&self, name: &OsStr) -> io::Result<()> {
            Ok(rustix::fs::unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
        }

        /// Removes a folder and its content.
        pub(in crate::store::fs) fn remove_dir_all(&self, name: &OsStr) -> io::Result<()> {
            Ok(remove_all(self.0.as_fd(), name)?)
        }

        #[cfg(target_os = "linux")]
        pub(in crate::store::fs) fn into_handle(self) -> File {
            self.0.into()
        }
    }

    fn mode_of(mode: u32) -> Mode {
        #[cfg_attr(
            target_os = "linux",
            expect(clippy::useless_conversion, reason = "other systems have a smaller type")
        )]
        Mode::from_raw_mode(mode.try_into().unwrap_or(0o600))
    }

    fn remove_all(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
        let folder = rustix::fs::openat(parent, name, OFlags::DIRECTORY | nofollow_flags(), Mode::empty())?;
        for entry in Dir::read_from(&folder)? {
            let entry = entry?;
            let inner = OsStr::from_bytes(entry.file_name().to_bytes());
            if inner == "." || inner == ".." {
                continue;
            }
            match rustix::fs::unlinkat(&folder, inner, AtFlags::empty()) {
                // EPERM says so on systems without EISDIR for this call.
                Err(Errno::ISDIR | Errno::PERM) => remove_all(folder.as_fd(), inner)?,
                removed => removed?,
            }
        }
        rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)
    }

    fn open_folder(folder: &Path, purpose: OFlags) -> io::Result<OwnedFd> {
        let flags = purpose | OFlags::DIRECTORY | OFlags::CLOEXEC;
        open_in_one_call(folder, flags).unwrap_or_else(|| open_each(folder, flags)).map_err(|errno| match errno {
            Errno::LOOP => io::Error::new(io::ErrorKind::InvalidInput, "the path goes through a symbolic link"),
            errno => errno.into(),
        })
    }

    /// Returns `None` on an older kernel, or in a sandbox that refuses unknown calls.
    #[cfg(target_os = "linux")]
    pub(super) fn open_in_one_call(folder: &Path, flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
        use rustix::fs::ResolveFlags;
        match rustix::fs::openat2(CWD, folder, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => None,
            opened => Some(opened),
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn open_in_one_call(_folder: &Path, _flags: OFlags) -> Option<Result<OwnedFd, Errno>> {
        None
    }

    /// Opens the folders of a path one in the other.
    pub(super) fn open_each(folder: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let way = OFlags::DIRECTORY | OFlags::CLOEXEC | NAMES;
        let parts: Vec<&OsStr> = folder.components().map(Component::as_os_str).collect();
        let (last, above) = parts.split_last().ok_or(Errno::NOENT)?;
        let mut held: Option<OwnedFd> = None;
        for (name, flags) in above.iter().map(|name| (name, way)).chain([(last, flags)]) {
            let parent = held.as_ref().map_or(CWD, AsFd::as_fd);
            let opened = rustix::fs::openat(parent, *name, flags | OFlags::NOFOLLOW, Mode::empty());
            held = Some(opened.map_err(|errno| match errno {
                Errno::NOTDIR if rustix::fs::readlinkat(parent, *name, Vec::new()).is_ok() => Errno::LOOP,
                errno => errno,
            })?);
        }
        held.ok_or(Errno::NOENT)
    }
}

#[cfg(not(unix))]
mod by_path {
    use std::{
        ffi::OsStr,
        fs::{self, File},
        io,
        path::{Path, PathBuf},
    };

    use super::Access;

    #[derive(Debug)]
    pub(in crate::store::fs) struct HeldDir(PathBuf);

    impl HeldDir {
        pub(in crate::store::fs) fn open(folder: &Path) -> io::Result<Self> {
            fs::metadata(folder).map(|_| Self(folder.to_owned()))
        }

        pub(in crate::store::fs) fn sync(_folder: &Path) -> io::Result<()> {
            Ok(())
        }

        pub(in crate::store::fs) fn open_file(
            &self,
            name: &OsStr,
            access: Access,
            made: Option<u32>,
        ) -> io::Result<File> {
            let mut options = fs::OpenOptions::new();
            options.read(access.reads).write(access.writes).append(access.appends).create_new(made.is_some());
            options.open(self.0.join(name))
        }

        pub(in crate::store::fs) fn rename(&self, name: &OsStr, to: &Self, new_name: &OsStr) -> io::Result<()> {
            fs::rename(self.0.join(name), to.0.join(new_name))
        }

        pub(in crate::store::fs) fn create_dir(&self, name: &OsStr, _mode: u32) -> io::Result<()> {
            fs::create_dir(self.0.join(name))
        }

        pub(in crate::store::fs) fn symlink(&self, _target: &Path, _name: &OsStr) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(in crate::store::fs) fn remove_file(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_file(self.0.join(name))
        }

        pub(in crate::store::fs) fn remove_dir(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_dir(self.0.join(name))
        }

        pub(in crate::store::fs) fn remove_dir_all(&self, name: &OsStr) -> io::Result<()> {
            fs::remove_dir_all(self.0.join(name))
        }
    }
}

#[cfg(test)]
#[path = "held_dir_tests.rs"]
mod tests;
