//! The roll-forward record of a change to several files. Once it is durable, the change is committed.
//!
//! It holds the new contents, so that finishing needs nothing else, and the digests of the old ones, so that it never
//! overwrites what another program wrote meanwhile. A stale record that reappears after a power loss is harmless: it matches no
//! file any more and is dropped.

use std::fs;
use std::io;

use camino::Utf8Path;
use camino::Utf8PathBuf;
use serde::Deserialize;
use serde::Serialize;

use super::calls;
use super::error::StoreError;
use super::lock;
use super::path::Root;
use super::platform;
use super::platform::Attributes;
use super::stage;
use super::stage::Staged;
use crate::model::RelPath;
use crate::model::sha256_hex;

pub(super) const FOLDER: &str = "txn";
const PENDING: &str = "pending";
const MAGIC: &str = "piton-transaction/1";
/// Bytes of a record or of a file that it changes.
const SIZE_LIMIT: u64 = 256 << 20;

/// A change to several files.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) files: Vec<RecordedFile>,
}

/// The change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedFile {
    pub(super) path: RelPath,
    /// Digest of the old content; `None` for a file that must not exist.
    pub(super) before: Option<String>,
    /// The new content; `None` for a file that is removed.
    pub(super) after: Option<Vec<u8>>,
    pub(super) mode: u32,
}

/// The header entry of one file. The contents follow the header without separator.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    path: RelPath,
    before: Option<String>,
    after: Option<String>,
    bytes: usize,
    mode: u32,
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let lines: Vec<Line> = self
            .files
            .iter()
            .map(|file| Line {
                path: file.path.clone(),
                before: file.before.clone(),
                after: file.after.as_deref().map(sha256_hex),
                bytes: file.after.as_ref().map_or(0, Vec::len),
                mode: file.mode,
            })
            .collect();
        let header = serde_json::to_string(&lines).expect("a record is plain data");
        let mut bytes = format!("{MAGIC} {}\n{header}\n", sha256_hex(header.as_bytes())).into_bytes();
        for file in &self.files {
            bytes.extend_from_slice(file.after.as_deref().unwrap_or_default());
        }
        bytes
    }

    /// Parses a record; `None` if it is truncated or not a record.
    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut parts = bytes.splitn(3, |byte| *byte == b'\n');
        let first = std::str::from_utf8(parts.next()?).ok()?;
        let header = parts.next()?;
        let mut rest = parts.next()?;
        if first.strip_prefix(MAGIC)?.trim() != sha256_hex(header) {
            return None;
        }
        let lines: Vec<Line> = serde_json::from_slice(header).ok()?;
        let mut files = Vec::with_capacity(lines.len());
        for line in lines {
            let (content, tail) = rest.split_at_checked(line.bytes)?;
            rest = tail;
            let after = match line.after {
                Some(digest) if sha256_hex(content) == digest => Some(content.to_vec()),
                Some(_) => return None,
                None => None,
            };
            files.push(RecordedFile { path: line.path, before: line.before, after, mode: line.mode & 0o777 });
        }
        rest.is_empty().then_some(Self { files })
    }
}

/// Writes the record under a temporary name; [`publish`] commits it.
pub(super) fn stage(data_path: &Utf8Path, record: &Record) -> Result<Staged, StoreError> {
    let is_new = data_path.join(FOLDER).symlink_metadata().is_err();
    let folder = lock::subfolder(data_path, FOLDER)?;
    if is_new {
        stage::sync_dirs([Some(data_path), data_path.parent()].into_iter().flatten())?;
    }
    stage::write(&folder.join(PENDING), &record.encode(), platform::DATA_FILE_MODE, None)
}

/// Commits a durable record, durably.
pub(super) fn publish(data_path: &Utf8Path, staged: &Staged) -> Result<(), StoreError> {
    let folder = data_path.join(FOLDER);
    let pending = folder.join(PENDING);
    calls::rename(&staged.path, &pending).map_err(|source| StoreError::io(&pending, source))?;
    stage::sync_dirs(std::iter::once(folder.as_path()))
}

/// Returns the folder of a run's records.
pub(super) fn folder(data_path: &Utf8Path) -> Utf8PathBuf {
    data_path.join(FOLDER)
}

/// Removes the record. This need not be durable: see the module documentation.
pub(super) fn drop_record(data_path: &Utf8Path) -> Result<(), StoreError> {
    let pending = data_path.join(FOLDER).join(PENDING);
    match calls::remove_file(&pending) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(StoreError::io(&pending, source)),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Tells whether a change is unfinished.
pub(super) fn is_pending(data_path: &Utf8Path) -> bool {
    data_path.join(FOLDER).join(PENDING).symlink_metadata().is_ok()
}

/// Reads the pending record, for callers that may not finish it. `None` if it is missing or does not match the files.
pub(super) fn pending(root: &Root, data_path: &Utf8Path) -> Option<Record> {
    let record = read(root, &data_path.join(FOLDER).join(PENDING)).ok()??;
    progress(root, &record).map(|_| record)
}

/// Reads a record. `Ok(None)` if it is missing, truncated, or came with the repository; one of another user is an error.
fn read(root: &Root, path: &Utf8Path) -> Result<Option<Record>, StoreError> {
    let Ok(metadata) = fs::symlink_metadata(path) else { return Ok(None) };
    // A repository can ship a record, but not one that only its owner may read.
    if !metadata.is_file() || !platform::is_private(&metadata) {
        return Ok(None);
    }
    // The owner of the project could have written its files without a record; records of other users are not trusted.
    let is_of_owner = || fs::metadata(root.path()).is_ok_and(|top| platform::owner(&top) == platform::owner(&metadata));
    if !platform::is_ours(&metadata) && !is_of_owner() {
        let problem =
            "it is a change that another user began; they finish it with any call of piton, or it is removed by hand";
        return Err(StoreError::UnsafePath { path: path.to_owned(), problem });
    }
    let bytes =
        platform::read_data_file(path.as_std_path(), SIZE_LIMIT).map_err(|source| StoreError::io(path, source))?;
    Ok(bytes.as_deref().and_then(Record::decode))
}

/// Whether a file has its old or its new content, with its resolved path.
enum FileProgress {
    Old(Utf8PathBuf),
    New(Utf8PathBuf),
}

/// Returns the progress of each file; `None` if one is neither old nor new, or is where nothing may be written.
fn progress(root: &Root, record: &Record) -> Option<Vec<FileProgress>> {
    let state = |file: &RecordedFile| {
        let real = root.target(&file.path).ok()?;
        let now = platform::read_data_file(real.as_std_path(), SIZE_LIMIT).ok()?.map(|bytes| sha256_hex(&bytes));
        if now == file.after.as_deref().map(sha256_hex) {
            Some(FileProgress::New(real))
        } else {
            (now == file.before).then_some(FileProgress::Old(real))
        }
    };
    record.files.iter().map(state).collect()
}

/// Finishes a change that was interrupted after its commit, or removes the leftovers of an uncommitted one. The caller holds
/// the lock.
pub(super) fn recover(root: &Root, data_path: &Utf8Path) -> Result<(), StoreError> {
    let Ok(entries) = data_path.join(FOLDER).read_dir_utf8() else { return Ok(()) };
    let folder = lock::subfolder(data_path, FOLDER)?;
    for entry in entries.filter_map(Result::ok).filter(|entry| stage::is_temporary(entry.file_name().as_ref())) {
        if let Some(record) = read(root, entry.path())? {
            remove_temporaries(root, &record);
        }
        calls::remove_file(entry.path()).map_err(|source| StoreError::io(entry.path(), source))?;
    }
    if !is_pending(data_path) {
        return Ok(());
    }
    if let Some(record) = read(root, &folder.join(PENDING))? {
        remove_temporaries(root, &record);
        if let Some(progress) = progress(root, &record) {
            roll_forward(&record, &progress)?;
        }
    }
    drop_record(data_path)
}

fn remove_temporaries(root: &Root, record: &Record) {
    let targets: Vec<Utf8PathBuf> = record.files.iter().filter_map(|file| root.target(&file.path).ok()).collect();
    stage::remove_leftovers(targets.iter().map(Utf8PathBuf::as_path));
}

fn roll_forward(record: &Record, progress: &[FileProgress]) -> Result<(), StoreError> {
    let mut reached = Vec::new();
    for (file, state) in record.files.iter().zip(progress) {
        let (real, is_old) = match state {
            FileProgress::Old(real) => (real, true),
            FileProgress::New(real) => (real, false),
        };
        reached.push(real.as_path());
        match &file.after {
            Some(bytes) if is_old => replace_file(real, bytes, file.mode)?,
            None if is_old => calls::remove_file(real).map_err(|source| StoreError::io(real, source))?,
            Some(_) | None => {}
        }
    }
    let dirs = reached.iter().filter_map(|real| real.parent()).filter(|dir| dir.is_dir());
    stage::sync_dirs(dirs)
}

/// Replaces one file. The content is durable, the name not yet.
pub(super) fn replace_file(real: &Utf8Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
    replace_file_as(real, bytes, mode, fs::metadata(real).ok().map(|metadata| platform::attributes(&metadata)))
}

/// [`replace_file`] with the given attributes.
pub(super) fn replace_file_as(
    real: &Utf8Path,
    bytes: &[u8],
    mode: u32,
    like: Option<Attributes>,
) -> Result<(), StoreError> {
    if let Some(parent) = real.parent() {
        stage::make_durable_folders(parent)?;
    }
    let staged = stage::write_durably(real, bytes, mode, like)?;
    calls::rename(&staged, real).map_err(|source| {
        let _ = calls::remove_file(&staged);
        StoreError::io(real, source)
    })
}

#[cfg(test)]
#[path = "txn_tests.rs"]
mod tests;
