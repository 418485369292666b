//! The roll-forward record of a change to several files. Once it is durable, the change is committed.
//!
//! It holds the new contents, so that finishing needs nothing else, and the digests of the old ones, so that it never
//! overwrites what another program wrote meanwhile: such a file is left, the others are finished, and a note says so until that file
//! changes again. A stale record that reappears after a power loss is harmless: it matches no old file any more.

use std::{fs, io};

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use super::data_dir;
use crate::{
    model::{RelPath, StepId, sha256_hex},
    store::fs::{
        calls,
        error::StoreError,
        path::Root,
        platform::{self, Attributes},
        stage::{self, Staged},
        unread::{self, there},
    },
};

pub(in crate::store) const FOLDER: &str = "txn";
const PENDING: &str = "pending";
/// The note about a change that could not be finished in all of its files.
const CUT_OFF: &str = "cut-off";
const MAGIC: &str = "piton-transaction/2";
/// Bytes of a record or of a file that it changes.
const SIZE_LIMIT: u64 = 256 << 20;
/// Bytes of a note.
const NOTE_LIMIT: u64 = 1 << 20;

/// A change to several files.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::store) struct Record {
    /// The kind of the change.
    pub(in crate::store) change: String,
    pub(in crate::store) step: Option<StepId>,
    /// The folders that are made for it, each after the one that it is in.
    pub(in crate::store) folders: Vec<RelPath>,
    pub(in crate::store) files: Vec<RecordedFile>,
}

/// The change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::store) struct RecordedFile {
    pub(in crate::store) path: RelPath,
    /// Digest of the old content; `None` for a file that must not exist.
    pub(in crate::store) before: Option<String>,
    /// The new content; `None` for a file that is removed.
    pub(in crate::store) after: Option<Vec<u8>>,
    pub(in crate::store) mode: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    change: String,
    step: Option<StepId>,
    folders: Vec<RelPath>,
    files: Vec<TxnLine>,
}

/// The header entry of one file. The contents follow the header without separator.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct TxnLine {
    path: RelPath,
    before: Option<String>,
    after: Option<String>,
    bytes: usize,
    mode: u32,
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let files: Vec<TxnLine> = self
            .files
            .iter()
            .map(|file| TxnLine {
                path: file.path.clone(),
                before: file.before.clone(),
                after: file.after.as_deref().map(sha256_hex),
                bytes: file.after.as_ref().map_or(0, Vec::len),
                mode: file.mode,
            })
            .collect();
        let (change, step, folders) = (self.change.clone(), self.step.clone(), self.folders.clone());
        let header = Header { change, step, folders, files };
        let header = serde_json::to_string(&header).expect("a record is plain data");
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
        let mut header: Header = serde_json::from_slice(header).ok()?;
        let mut files = Vec::with_capacity(header.files.len());
        for line in std::mem::take(&mut header.files) {
            let (content, tail) = rest.split_at_checked(line.bytes)?;
            rest = tail;
            let after = match line.after {
                Some(digest) if sha256_hex(content) == digest => Some(content.to_vec()),
                Some(_) => return None,
                None => None,
            };
            files.push(RecordedFile { path: line.path, before: line.before, after, mode: line.mode & 0o777 });
        }
        let Header { change, step, folders, .. } = header;
        rest.is_empty().then_some(Self { change, step, folders, files })
    }
}

/// Writes the record under a temporary name; [`publish`] commits it.
pub(super) fn stage(data_path: &Utf8Path, record: &Record) -> Result<Staged, StoreError> {
    let is_new = data_path.join(FOLDER).symlink_metadata().is_err();
    let folder = data_dir::subfolder(data_path, FOLDER)?;
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
pub(in crate::store) fn is_pending(data_path: &Utf8Path) -> bool {
    let path = data_path.join(FOLDER).join(PENDING);
    there(&path, path.symlink_metadata()).is_some()
}

/// Reads the pending record, for callers that may not finish it, without the files that another program changed. `None` if it is missing
/// or changes nothing.
pub(in crate::store) fn pending(root: &Root, data_path: &Utf8Path) -> Option<Record> {
    not_foreign(root, read(root, &data_path.join(FOLDER).join(PENDING)).ok()??)
}

/// Returns a record without the files that another program changed; `None` if it changes nothing then.
pub(in crate::store) fn not_foreign(root: &Root, mut record: Record) -> Option<Record> {
    let mut progress = progress(root, &record)?.into_iter();
    record.files.retain(|_| !matches!(progress.next(), Some(FileProgress::Foreign(_))));
    (!record.files.is_empty()).then_some(record)
}

/// A change that was cut off and could not be finished in all of its files, because another program changed them meanwhile.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CutOffChange {
    /// The kind of the change.
    pub(crate) change: String,
    pub(crate) step: Option<StepId>,
    pub(crate) left: Vec<LeftFile>,
}

/// A file that was left as another program made it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LeftFile {
    pub(crate) path: RelPath,
    /// The digest of what was found there; `None` if it was gone.
    found: Option<String>,
    /// The content that it would have got, as a file below the folder of the run; `None` if the change removes it.
    pub(crate) kept: Option<String>,
}

/// Returns the change that was cut off and is noted in `data_path`, Piton's folder of the run, as long as a file that it left is as it was left.
pub(crate) fn cut_off_change(root: &Utf8Path, data_path: &Utf8Path) -> Option<CutOffChange> {
    let path = data_path.join(FOLDER).join(CUT_OFF);
    there(&path, fs::symlink_metadata(&path))?;
    left_over(&unread::root(root)?, data_path)
}

fn left_over(root: &Root, data_path: &Utf8Path) -> Option<CutOffChange> {
    let path = data_path.join(FOLDER).join(CUT_OFF);
    let metadata = there(&path, fs::symlink_metadata(&path))?;
    if !metadata.is_file() || !platform::is_private(&metadata) {
        return None;
    }
    let bytes = unread::data_file(&path, NOTE_LIMIT)?;
    let mut change: CutOffChange = serde_json::from_slice(&bytes).ok()?;
    change.left.retain(|file| root.target(&file.path).is_ok_and(|real| digest(&real) == file.found));
    (!change.left.is_empty()).then_some(change)
}

/// Reads a record. `Ok(None)` if it is missing, truncated, or came with the repository; one of another user is an error.
fn read(root: &Root, path: &Utf8Path) -> Result<Option<Record>, StoreError> {
    let Some(metadata) = there(path, fs::symlink_metadata(path)) else { return Ok(None) };
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

/// Whether a file has its old or its new content, or another program's, with its resolved path.
enum FileProgress {
    Old(Utf8PathBuf),
    New(Utf8PathBuf),
    Foreign(Option<String>),
}

/// Returns the progress of each file; `None` if one is where nothing may be written.
fn progress(root: &Root, record: &Record) -> Option<Vec<FileProgress>> {
    let state = |file: &RecordedFile| {
        let real = root.target(&file.path).ok()?;
        let now = digest(&real);
        Some(if now == file.after.as_deref().map(sha256_hex) {
            FileProgress::New(real)
        } else if now == file.before {
            FileProgress::Old(real)
        } else {
            FileProgress::Foreign(now)
        })
    };
    record.files.iter().map(state).collect()
}

/// Returns the digest of a file; `None` if it does not exist or cannot be read.
fn digest(real: &Utf8Path) -> Option<String> {
    let bytes = platform::read_data_file(real.as_std_path(), SIZE_LIMIT).ok()?;
    bytes.map(|bytes| sha256_hex(&bytes))
}

/// Finishes a change that was interrupted after its commit, or removes the leftovers of an uncommitted one. The caller holds
/// the lock.
pub(super) fn recover(root: &Root, data_path: &Utf8Path) -> Result<(), StoreError> {
    let Ok(entries) = data_path.join(FOLDER).read_dir_utf8() else { return Ok(()) };
    let folder = data_dir::subfolder(data_path, FOLDER)?;
    for entry in entries.filter_map(Result::ok).filter(|entry| stage::is_temporary(entry.file_name().as_ref())) {
        if let Some(record) = read(root, entry.path())? {
            remove_temporaries(root, &record);
            let made: Vec<Utf8PathBuf> = record.folders.iter().filter_map(|folder| root.target(folder).ok()).collect();
            stage::remove_empty(&made);
        }
        calls::remove_file(entry.path()).map_err(|source| StoreError::io(entry.path(), source))?;
    }
    let note = folder.join(CUT_OFF);
    if note.symlink_metadata().is_ok() && left_over(root, data_path).is_none() {
        calls::remove_file(&note).map_err(|source| StoreError::io(&note, source))?;
    }
    if !is_pending(data_path) {
        return Ok(());
    }
    if let Some(record) = read(root, &folder.join(PENDING))? {
        finish(root, data_path, &record)?;
    }
    drop_record(data_path)
}

/// Finishes a change, and removes what it staged. What another program came before is kept, with a note.
pub(in crate::store) fn finish(root: &Root, data_path: &Utf8Path, record: &Record) -> Result<(), StoreError> {
    if let Some(progress) = progress(root, record) {
        roll_forward(record, &progress)?;
        if progress.iter().any(|state| matches!(state, FileProgress::Foreign(_))) {
            set_aside(data_path, record, &progress)?;
        }
    }
    remove_temporaries(root, record);
    Ok(())
}

/// Keeps what could not be written, with a note for readers, and drops the record.
fn set_aside(data_path: &Utf8Path, record: &Record, progress: &[FileProgress]) -> Result<(), StoreError> {
    let folder = data_dir::subfolder(data_path, data_dir::SET_ASIDE)?;
    let mut left = Vec::new();
    for (file, state) in record.files.iter().zip(progress) {
        let FileProgress::Foreign(found) = state else { continue };
        let mut kept = None;
        if let Some(after) = &file.after {
            let short: String = file.path.name().chars().take(60).collect();
            let name = format!("change-{}-{short}", &sha256_hex(after)[..16]);
            replace_file_as(&folder.join(&name), after, platform::DATA_FILE_MODE, None)?;
            kept = Some(format!("{}/{name}", data_dir::SET_ASIDE));
        }
        left.push(LeftFile { path: file.path.clone(), found: found.clone(), kept });
    }
    let note = CutOffChange { change: record.change.clone(), step: record.step.clone(), left };
    let bytes = serde_json::to_vec(&note).expect("a note is plain data");
    let folder = data_dir::subfolder(data_path, FOLDER)?;
    replace_file_as(&folder.join(CUT_OFF), &bytes, platform::DATA_FILE_MODE, None)
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
            FileProgress::Foreign(_) => continue,
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
fn replace_file(real: &Utf8Path, bytes: &[u8], mode: u32) -> Result<(), StoreError> {
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
