//! New content on its way: temporary files beside their target, which nobody but the rename ever makes visible.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::thread;

use camino::Utf8Path;
use camino::Utf8PathBuf;

use super::calls;
use super::error::StoreError;
use super::platform;
use super::platform::Attributes;
use super::platform::DirEntry;
use super::process;

/// The name of the folder that holds Piton's own data.
pub(super) const DATA_DIR: &str = ".piton";
const SUFFIX: &str = ".piton-tmp";
/// Leaves room in 255 bytes for the process, the random part and the suffix.
const NAME_LIMIT: usize = 180;
const SYNC_THREADS: usize = 8;

/// Is one complete file under a temporary name.
#[derive(Debug)]
pub(super) struct Staged {
    pub(super) path: Utf8PathBuf,
    file: File,
}

/// Tells whether a name is that of a temporary file of a write that may have been cut off.
pub(super) fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") && name.as_encoded_bytes().ends_with(SUFFIX.as_bytes())
}

fn prefix(target: &Utf8Path) -> String {
    let name = target.file_name().unwrap_or_default();
    let end = (0..=NAME_LIMIT.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    format!(".{}.", &name[..end])
}

/// Tells whether this is what comes after the name of the target, so that `.a.` does not stand for `a.json` as well.
fn is_token(rest: &str) -> bool {
    let parts: Vec<&str> = rest.strip_suffix(SUFFIX).unwrap_or_default().split('.').collect();
    matches!(parts[..], [process, random]
        if process.bytes().all(|byte| byte.is_ascii_digit()) && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns a name beside the target that nobody else uses.
pub(super) fn temporary_name(target: &Utf8Path) -> Utf8PathBuf {
    target.with_file_name(format!("{}{}{SUFFIX}", prefix(target), platform::unique()))
}

/// Writes the content under a temporary name, with the mode and owner of the file it is to replace. Leaves nothing on failure.
pub(super) fn write(
    target: &Utf8Path,
    bytes: &[u8],
    mode: u32,
    like: Option<Attributes>,
) -> Result<Staged, StoreError> {
    let path = temporary_name(target);
    let created = if like.is_some() { platform::DATA_FILE_MODE } else { mode };
    let mut file = calls::create_new(&path, created).map_err(|source| StoreError::io(target, source))?;
    let written = calls::write(&mut file, bytes).and_then(|()| like.map_or(Ok(()), |like| calls::apply(&file, like)));
    match written {
        Ok(()) => Ok(Staged { path, file }),
        Err(source) => {
            let _ = calls::remove_file(&path);
            Err(StoreError::io(target, source))
        }
    }
}

/// Does the same and returns the path when the content is durable.
pub(super) fn write_durably(
    target: &Utf8Path,
    bytes: &[u8],
    mode: u32,
    like: Option<Attributes>,
) -> Result<Utf8PathBuf, StoreError> {
    let staged = write(target, bytes, mode, like)?;
    match sync_files(&[&staged]) {
        Ok(()) => Ok(staged.path),
        Err(error) => {
            let _ = calls::remove_file(&staged.path);
            Err(error)
        }
    }
}

/// Makes the content of all files durable. Several are flushed side by side: the file system does it in one go.
pub(super) fn sync_files(staged: &[&Staged]) -> Result<(), StoreError> {
    let sync = |files: &[&Staged]| {
        let mut files = files.iter();
        files.try_for_each(|one| one.file.sync_all().map_err(|source| StoreError::io(&one.path, source)))
    };
    for one in staged {
        calls::fault_point().map_err(|source| StoreError::io(&one.path, source))?;
    }
    let mut chunks = staged.chunks(staged.len().div_ceil(SYNC_THREADS).max(1));
    // This thread would only wait for the others.
    let own = chunks.next().unwrap_or_default();
    thread::scope(|scope| {
        let threads: Vec<_> = chunks.map(|chunk| scope.spawn(move || sync(chunk))).collect();
        let first = sync(own);
        threads.into_iter().fold(first, |done, thread| done.and(thread.join().unwrap_or_else(|_| Err(lost_thread()))))
    })
}

fn lost_thread() -> StoreError {
    StoreError::io("fsync", io::Error::other("a thread ended early"))
}

/// Makes a folder and those above it that are missing, Piton's own for nobody else. Returns those that have a new name in them, which
/// is not durable yet.
pub(super) fn make_folders(folder: &Utf8Path) -> Result<Vec<Utf8PathBuf>, StoreError> {
    let missing: Vec<&Utf8Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    for private in missing.iter().rev().filter(|folder| folder.components().any(|part| part.as_str() == DATA_DIR)) {
        if let Some(parent) = private.parent() {
            calls::create_dir_all(parent).map_err(|source| StoreError::io(parent, source))?;
        }
        match calls::create_private_dir(private) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(StoreError::io(private, error)),
            Ok(()) | Err(_) => {}
        }
    }
    calls::create_dir_all(folder).map_err(|source| StoreError::io(folder, source))?;
    Ok(missing.iter().filter_map(|folder| folder.parent()).map(Utf8Path::to_owned).collect())
}

/// Does the same and returns when their names are durable: what lies in a folder whose name is lost is lost with it.
pub(super) fn make_durable_folders(folder: &Utf8Path) -> Result<(), StoreError> {
    let changed_dirs = make_folders(folder)?;
    sync_dirs(changed_dirs.iter().map(Utf8PathBuf::as_path))
}

/// Makes names durable, each folder once.
pub(super) fn sync_dirs<'a>(dirs: impl Iterator<Item = &'a Utf8Path>) -> Result<(), StoreError> {
    let dirs: BTreeSet<&Utf8Path> = dirs.collect();
    dirs.into_iter().try_for_each(|dir| calls::sync_dir(dir).map_err(|source| StoreError::io(dir, source)))
}

/// Removes what earlier writes to Piton's own files left when they were cut off. The caller holds the lock.
pub(super) fn remove_data_leftovers(data_path: &Utf8Path) {
    let Ok(names) = platform::names(data_path) else { return };
    for named in names.iter().filter(|named| is_temporary(named.name.as_ref())) {
        let _ = calls::remove_file(&data_path.join(&named.name));
    }
}

/// Removes what earlier writes to these targets left when they were cut off. The caller holds the lock, so none of it is in use.
pub(super) fn remove_leftovers<'a>(targets: impl Iterator<Item = &'a Utf8Path>) {
    let mut wanted: Vec<(&Utf8Path, String)> =
        targets.filter_map(|target| Some((target.parent()?, prefix(target)))).collect();
    wanted.sort_unstable();
    let dirs: BTreeSet<&Utf8Path> = wanted.iter().map(|(dir, _)| *dir).collect();
    for dir in dirs {
        let Ok(names) = platform::names(dir) else { continue };
        for DirEntry { name, .. } in names {
            let is_ours = |(folder, prefix): &(&Utf8Path, String)| {
                *folder == dir && name.strip_prefix(prefix.as_str()).is_some_and(is_token)
            };
            if wanted.iter().any(is_ours) {
                let _ = calls::remove_file(&dir.join(&name));
            }
        }
    }
}

/// Does the same to one target that no lock guards: what belongs to a living process stays.
pub(super) fn remove_orphans(target: &Utf8Path) {
    let Some((folder, Ok(names))) = target.parent().map(|folder| (folder, platform::names(folder))) else { return };
    let prefix = prefix(target);
    let is_orphan = |name: &str| {
        let token = name.strip_prefix(prefix.as_str()).filter(|rest| is_token(rest));
        let pid = token.and_then(|token| token.split('.').next()?.parse().ok());
        pid.is_some_and(process::is_gone)
    };
    for named in names.iter().filter(|named| is_orphan(&named.name)) {
        let _ = calls::remove_file(&folder.join(&named.name));
    }
}
