//! New content under temporary names beside the target, made visible only by the final rename.

use std::{collections::BTreeSet, ffi::OsStr, fs::File, io, thread};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    calls,
    error::StoreError,
    platform::{self, Attributes, DirEntry},
};

/// The name of the folder that holds Piton's own data.
pub(crate) const DATA_DIR: &str = ".piton";
const SUFFIX: &str = ".piton-tmp";
/// Bytes of the target's name in a temporary name: leaves room in 255 bytes for process id, random part and suffix.
const NAME_LIMIT: usize = 180;
/// Number of threads that flush files.
const SYNC_THREADS: usize = 8;

/// A complete file under a temporary name.
#[derive(Debug)]
pub(in crate::store) struct Staged {
    pub(in crate::store) path: Utf8PathBuf,
    file: File,
}

/// Tells whether a name is that of a temporary file, possibly of a write that was cut off.
pub(in crate::store) fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".") && name.as_encoded_bytes().ends_with(SUFFIX.as_bytes())
}

fn prefix(target: &Utf8Path) -> String {
    let name = target.file_name().unwrap_or_default();
    let end = (0..=NAME_LIMIT.min(name.len())).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
    format!(".{}.", &name[..end])
}

/// Tells whether `rest` is exactly the process, random part and suffix, so that `.a.` does not match `a.json` as well.
fn is_token(rest: &str) -> bool {
    let parts: Vec<&str> = rest.strip_suffix(SUFFIX).unwrap_or_default().split('.').collect();
    matches!(parts[..], [process, random]
        if process.bytes().all(|byte| byte.is_ascii_digit()) && random.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Returns an unused name beside the target.
pub(in crate::store) fn temporary_name(target: &Utf8Path) -> Utf8PathBuf {
    target.with_file_name(format!("{}{}{SUFFIX}", prefix(target), platform::unique()))
}

/// Returns the name beside the target that a token of hexadecimal digits stands for, of no process.
pub(in crate::store) fn temporary_name_of(target: &Utf8Path, token: &str) -> Utf8PathBuf {
    target.with_file_name(format!("{}0.{token}{SUFFIX}", prefix(target)))
}

/// Writes the content under a temporary name, with the mode and owner of the file it replaces. Leaves nothing on failure.
pub(in crate::store) fn write(
    target: &Utf8Path,
    bytes: &[u8],
    mode: u32,
    like: Option<Attributes>,
) -> Result<Staged, StoreError> {
    write_as(temporary_name(target), target, bytes, mode, like)
}

/// [`write()`] under a given name.
pub(in crate::store) fn write_as(
    path: Utf8PathBuf,
    target: &Utf8Path,
    bytes: &[u8],
    mode: u32,
    like: Option<Attributes>,
) -> Result<Staged, StoreError> {
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

/// [`write()`] that returns the path when the content is durable.
pub(in crate::store) fn write_durably(
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

/// Makes the content of all files durable. Files are flushed in parallel, which file systems combine.
pub(in crate::store) fn sync_files(staged: &[&Staged]) -> Result<(), StoreError> {
    let sync = |files: &[&Staged]| {
        let mut files = files.iter();
        files.try_for_each(|one| {
            platform::flushed(one.file.sync_all()).map_err(|source| StoreError::io(&one.path, source))
        })
    };
    for one in staged {
        calls::fault_point().map_err(|source| StoreError::io(&one.path, source))?;
    }
    let mut chunks = staged.chunks(staged.len().div_ceil(SYNC_THREADS).max(1));
    // This thread takes a share instead of only waiting for the others.
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

/// Creates a folder and its missing parents; data folders are private. Returns the folders with new names in them, which are
/// not durable yet.
pub(in crate::store) fn make_folders(folder: &Utf8Path) -> Result<Vec<Utf8PathBuf>, StoreError> {
    make_missing(folder, |made| match made.components().any(|part| part.as_str() == DATA_DIR) {
        true => platform::DATA_DIR_MODE,
        false => platform::PROJECT_DIR_MODE,
    })
}

/// [`make_folders`] that returns when the names are durable: a folder whose name is lost takes its content with it.
pub(in crate::store) fn make_durable_folders(folder: &Utf8Path) -> Result<(), StoreError> {
    let changed_dirs = make_folders(folder)?;
    sync_dirs(changed_dirs.iter().map(Utf8PathBuf::as_path))
}

/// Creates a folder and its missing parents durably, private to this user.
///
/// # Errors
///
/// When it cannot be made.
pub(crate) fn create_private_dirs(folder: &Utf8Path) -> Result<(), StoreError> {
    let changed_dirs = make_missing(folder, |_| platform::DATA_DIR_MODE)?;
    sync_dirs(changed_dirs.iter().map(Utf8PathBuf::as_path))
}

fn make_missing(folder: &Utf8Path, mode: impl Fn(&Utf8Path) -> u32) -> Result<Vec<Utf8PathBuf>, StoreError> {
    let missing: Vec<&Utf8Path> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    for made in missing.iter().rev() {
        match calls::create_dir(made, mode(made)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(StoreError::io(made, error)),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(missing.iter().filter_map(|folder| folder.parent()).map(Utf8Path::to_owned).collect())
}

/// Removes folders that were made for files that were not written, the inner ones first. Those with files in them stay.
pub(in crate::store) fn remove_empty(folders: &[Utf8PathBuf]) {
    for folder in folders.iter().rev() {
        let _ = calls::remove_dir(folder);
    }
}

/// Flushes the names in folders, each folder once.
pub(in crate::store) fn sync_dirs<'a>(dirs: impl Iterator<Item = &'a Utf8Path>) -> Result<(), StoreError> {
    let dirs: BTreeSet<&Utf8Path> = dirs.collect();
    dirs.into_iter().try_for_each(|dir| calls::sync_dir(dir).map_err(|source| StoreError::io(dir, source)))
}

/// Removes leftovers of interrupted writes to Piton's own files. The caller holds the lock.
pub(in crate::store) fn remove_data_leftovers(data_path: &Utf8Path) {
    let Ok(names) = platform::names(data_path) else { return };
    for named in names.iter().filter(|named| is_temporary(named.name.as_ref())) {
        let _ = calls::remove_file(&data_path.join(&named.name));
    }
}

/// Removes leftovers of interrupted writes to these targets, and to the backups beside them, whose names go on after theirs. The caller holds
/// the lock, so none of them is in use.
pub(in crate::store) fn remove_leftovers<'a>(targets: impl Iterator<Item = &'a Utf8Path>) {
    let mut wanted: Vec<(&Utf8Path, String)> =
        targets.filter_map(|target| Some((target.parent()?, prefix(target)))).collect();
    wanted.sort_unstable();
    let dirs: BTreeSet<&Utf8Path> = wanted.iter().map(|(dir, _)| *dir).collect();
    for dir in dirs {
        let Ok(names) = platform::names(dir) else { continue };
        for DirEntry { name, is_dir } in names {
            let is_ours = |(folder, prefix): &(&Utf8Path, String)| {
                let rest = name.strip_prefix(prefix.as_str()).filter(|_| *folder == dir);
                let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase());
                let after_word =
                    |rest: &str| rest.split_once('.').is_some_and(|(word, rest)| is_word(word) && is_token(rest));
                rest.is_some_and(|rest| is_token(rest) || after_word(rest))
            };
            if wanted.iter().any(is_ours) {
                let path = dir.join(&name);
                let _ = if is_dir { calls::remove_dir_all(&path) } else { calls::remove_file(&path) };
            }
        }
    }
}
