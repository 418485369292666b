//! What differs between operating systems: permission modes, opening without following symlinks, flushing a folder.

use std::{
    fs::{File, Metadata, OpenOptions},
    hash::{BuildHasher as _, Hasher as _, RandomState},
    io::{self, Read as _, Seek as _, SeekFrom},
    path::Path,
};

use camino::Utf8Path;

use crate::model::Uid;

#[cfg(unix)]
use std::os::unix::fs::MetadataExt as _;
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt as _;
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt as _;

/// Permission mode of Piton's own files.
pub(in crate::store) const DATA_FILE_MODE: u32 = 0o600;
/// Permission mode of Piton's own folders.
pub(in crate::store) const DATA_DIR_MODE: u32 = 0o700;
/// Permission mode of new files in the project, before the umask.
pub(in crate::store) const PROJECT_FILE_MODE: u32 = 0o644;
/// Permission mode of new folders in the project, before the umask.
pub(in crate::store) const PROJECT_DIR_MODE: u32 = 0o777;

/// Returns options that do not follow a symlink in the last part of the path and do not block on a pipe.
pub(in crate::store) fn nofollow_options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "other systems have no such flags"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    options.custom_flags(nofollow_flags().bits().cast_signed());
    options
}

#[cfg(unix)]
pub(super) fn nofollow_flags() -> rustix::fs::OFlags {
    use rustix::fs::OFlags;
    OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC
}

/// Reads one of Piton's own files; `None` if it is missing, an error above `limit` bytes.
pub(in crate::store) fn read_data_file(path: &Path, limit: u64) -> io::Result<Option<Vec<u8>>> {
    match read_data_tail(path, limit)? {
        Some((_, size)) if size > limit => {
            Err(io::Error::new(io::ErrorKind::FileTooLarge, "larger than anything Piton writes"))
        }
        found => Ok(found.map(|(bytes, _)| bytes)),
    }
}

/// Reads at most the last `limit` bytes of one of Piton's own files, and returns them with its size; `None` if it is missing.
pub(in crate::store) fn read_data_tail(path: &Path, limit: u64) -> io::Result<Option<(Vec<u8>, u64)>> {
    let mut file = match nofollow_options().read(true).open(path) {
        Ok(file) => file,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let size = metadata.len();
    if size > limit {
        file.seek(SeekFrom::Start(size - limit))?;
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or(0) + 1);
    file.take(limit + 1).read_to_end(&mut bytes)?;
    // It may have grown meanwhile.
    let size = size.max(bytes.len() as u64);
    Ok(Some((bytes, size)))
}

/// An entry of a folder.
#[derive(Debug)]
pub(in crate::store) struct DirEntry {
    pub(in crate::store) name: String,
    /// A folder itself, not a symlink to one.
    pub(in crate::store) is_dir: bool,
}

/// Lists the entries of a folder whose names are UTF-8.
#[cfg(unix)]
pub(in crate::store) fn names(folder: &Utf8Path) -> io::Result<Vec<DirEntry>> {
    use rustix::fs::{FileType, OFlags};
    let folder_only = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let handle = rustix::fs::open(folder.as_std_path(), folder_only, rustix::fs::Mode::empty())?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::new(handle)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if matches!(name, "." | "..") {
            continue;
        }
        let is_dir = match entry.file_type() {
            FileType::Unknown => folder.join(name).symlink_metadata()?.is_dir(),
            kind => kind == FileType::Directory,
        };
        names.push(DirEntry { name: name.to_owned(), is_dir });
    }
    Ok(names)
}

#[cfg(not(unix))]
pub(super) fn names(folder: &Utf8Path) -> io::Result<Vec<DirEntry>> {
    let named = |entry: io::Result<camino::Utf8DirEntry>| {
        let entry = entry?;
        Ok(DirEntry { name: entry.file_name().to_owned(), is_dir: entry.file_type()?.is_dir() })
    };
    folder.read_dir_utf8()?.map(named).collect()
}

/// Returns the device and the number of a file: another file, such as a copy, has others.
#[cfg(unix)]
pub(in crate::store) fn identity(metadata: &Metadata) -> String {
    format!("{}:{}", metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
pub(in crate::store) fn identity(_metadata: &Metadata) -> String {
    String::new()
}

/// Returns a name that nothing has yet.
pub(crate) fn new_uid() -> Uid {
    let number = u128::from(random()) << 64 | u128::from(random());
    Uid::new(number.to_be_bytes())
}

/// Returns a random number.
fn random() -> u64 {
    // Each hasher has a random key of its own.
    RandomState::new().build_hasher().finish()
}

/// Takes the answer to a flush. A file system that cannot flush at all says so with `EINVAL` (fsync(2)): it has nothing to make durable.
pub(crate) fn flushed(answer: io::Result<()>) -> io::Result<()> {
    match answer {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        answer => answer,
    }
}

/// What a replacement takes over from the file it replaces.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Attributes {
    pub(super) mode: Option<u32>,
    owner: Option<(u32, u32)>,
}

#[cfg(unix)]
pub(in crate::store) fn attributes(metadata: &Metadata) -> Attributes {
    Attributes {
        // Set-uid and set-gid bits were granted to the old content.
        mode: Some(metadata.mode() & 0o777),
        owner: Some((metadata.uid(), metadata.gid())),
    }
}

#[cfg(not(unix))]
pub(super) fn attributes(_metadata: &Metadata) -> Attributes {
    Attributes { mode: None, owner: None }
}

/// Applies mode and, if this user may, owner to a file.
#[cfg(unix)]
pub(super) fn apply(file: &File, attributes: Attributes) -> io::Result<()> {
    let now = file.metadata()?;
    if let Some((uid, gid)) = attributes.owner
        && (now.uid(), now.gid()) != (uid, gid)
    {
        let _ = rustix::fs::fchown(file, Some(rustix::fs::Uid::from_raw(uid)), Some(rustix::fs::Gid::from_raw(gid)));
    }
    match attributes.mode {
        Some(mode) if now.mode() & 0o7777 != mode => file.set_permissions(std::fs::Permissions::from_mode(mode)),
        Some(_) | None => Ok(()),
    }
}

#[cfg(not(unix))]
pub(super) fn apply(_file: &File, _attributes: Attributes) -> io::Result<()> {
    Ok(())
}

/// The user id of the system's administrator.
pub(in crate::store) const ROOT: u32 = 0;

/// Returns the user id of the owner.
#[cfg(unix)]
pub(in crate::store) fn owner(metadata: &Metadata) -> u32 {
    metadata.uid()
}

#[cfg(not(unix))]
pub(super) fn owner(_metadata: &Metadata) -> u32 {
    0
}

/// Tells whether a file has more than one hard link.
#[cfg(unix)]
pub(super) fn has_other_names(metadata: &Metadata) -> bool {
    metadata.nlink() > 1
}

#[cfg(not(unix))]
pub(super) fn has_other_names(_metadata: &Metadata) -> bool {
    false
}

/// Tells whether a file or folder belongs to the user of this process.
#[cfg(unix)]
pub(in crate::store) fn is_ours(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw()
}

#[cfg(not(unix))]
pub(super) fn is_ours(_metadata: &Metadata) -> bool {
    true
}

/// Tells whether a path is that of a device. The sandbox of Claude Code puts one in place of each file that may not be made.
#[cfg(unix)]
pub(in crate::store) fn is_device(path: &Utf8Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    path.symlink_metadata().is_ok_and(|found| found.file_type().is_char_device() || found.file_type().is_block_device())
}

#[cfg(not(unix))]
pub(in crate::store) fn is_device(_path: &Utf8Path) -> bool {
    false
}

/// Tells whether only the owner may access the file, as with all of Piton's own files.
#[cfg(unix)]
pub(in crate::store) fn is_private(metadata: &Metadata) -> bool {
    mode(metadata) & 0o077 == 0
}

/// Returns the permission bits of a file.
#[cfg(unix)]
pub(in crate::store) fn mode(metadata: &Metadata) -> u32 {
    metadata.mode() & 0o777
}

#[cfg(not(unix))]
pub(in crate::store) fn mode(_metadata: &Metadata) -> u32 {
    DATA_FILE_MODE
}

#[cfg(not(unix))]
pub(super) fn is_private(_metadata: &Metadata) -> bool {
    true
}

/// Tells whether an open file was deleted.
#[cfg(unix)]
pub(in crate::store) fn is_unlinked(file: &File) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
}

#[cfg(not(unix))]
pub(super) fn is_unlinked(_file: &File) -> bool {
    false
}

/// Returns what denies this user access to a path: the first folder that may not be entered, the path itself, or, if it does
/// not exist, the folder it would be created in. `None` if access is allowed.
#[cfg(unix)]
pub(crate) fn denied(path: &Utf8Path) -> Option<camino::Utf8PathBuf> {
    use rustix::fs::Access;
    let may = |path: &Utf8Path, access| {
        !matches!(
            rustix::fs::access(path.as_std_path(), access),
            Err(rustix::io::Errno::ACCESS | rustix::io::Errno::ROFS)
        )
    };
    let mut way: Vec<&Utf8Path> = path.ancestors().collect();
    way.reverse();
    let exists = |path: &Utf8Path| path.symlink_metadata().is_ok();
    let closed = way.iter().find(|step| step.is_dir() && !may(step, Access::EXEC_OK));
    let last = || way.iter().rev().find(|step| exists(step));
    let denied = closed.or_else(|| last().filter(|last| !may(last, Access::READ_OK | Access::WRITE_OK)));
    let parent = || path.parent().filter(|parent| exists(parent) && !may(parent, Access::WRITE_OK));
    denied.copied().or_else(parent).map(Utf8Path::to_owned)
}

#[cfg(not(unix))]
pub(crate) fn denied(_path: &Utf8Path) -> Option<camino::Utf8PathBuf> {
    None
}

/// Tells whether this user may make files in a folder that is there, also where it may make none above it.
#[cfg(unix)]
pub(in crate::store) fn is_open(folder: &Utf8Path) -> bool {
    use rustix::fs::Access;
    rustix::fs::access(folder.as_std_path(), Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
pub(in crate::store) fn is_open(_folder: &Utf8Path) -> bool {
    true
}

/// Returns how many bytes are free for this user on the file system of a path; `None` if unknown.
#[cfg(unix)]
pub(in crate::store) fn free_bytes(path: &Utf8Path) -> Option<u64> {
    let room = rustix::fs::statvfs(path.as_std_path()).ok()?;
    Some(room.f_bavail.saturating_mul(room.f_frsize))
}

#[cfg(not(unix))]
pub(super) fn free_bytes(_path: &Utf8Path) -> Option<u64> {
    None
}

/// Returns a token that is unique across processes and calls.
pub(super) fn unique() -> String {
    format!("{}.{:016x}", std::process::id(), random())
}
