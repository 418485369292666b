//! Earlier versions of the state files. Each replaced file is kept as one hard link whose name holds all its metadata.
//!
//! `000012-20260131T120000Z-begin-<step>-<files>-<sha256>-<path>`: an entry is complete if it has as many files as its names
//! say; incomplete entries are ignored. A path that does not fit into a name is stored once under `paths/` by its digest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs, io,
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{data_dir, lock::RunLock};
use crate::{
    model::{RelPath, StepId, Timestamp, sha256_hex},
    store::fs::{calls, error::StoreError, path::Root, platform, stage},
};

const FOLDER: &str = "history";
const PATHS: &str = "paths";
const CORRUPT: &str = "corrupt";
/// Bytes of a file name on common file systems.
const NAME_LIMIT: usize = 255;
/// Bytes of the step or change in a name.
const STEP_LIMIT: usize = 60;
/// Bytes of a kept version.
const SIZE_LIMIT: u64 = 64 << 20;
/// Number of unreadable states that are kept, the newest.
const CORRUPT_LIMIT: usize = 20;
/// Prefix of a path field that refers to `paths/`; no escaped path has it.
const BY_DIGEST: &str = "@";

/// An earlier checkpoint: the files as they were before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistoryEntry {
    pub(crate) id: String,
    pub(crate) at: Timestamp,
    /// The kind of the change that replaced these versions.
    pub(crate) change: String,
    pub(crate) step: Option<StepId>,
    pub(crate) files: Vec<HistoryFile>,
    /// Whether every kept version still has its digest. A program that wrote into a file while it was being replaced wrote into the
    /// kept version too, where that is a link.
    pub(crate) is_intact: bool,
}

/// A kept version of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistoryFile {
    pub(crate) path: RelPath,
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

/// A kept version as described by the name of its link.
struct HistoryLink {
    name: String,
    sequence: u64,
    at: Timestamp,
    change: String,
    step: Option<StepId>,
    file_count: usize,
    sha256: String,
    path: String,
}

/// Lists the earlier checkpoints, newest first, without the entry of a change that never took effect.
///
/// # Errors
///
/// If the history exists and cannot be read.
pub(crate) fn list(root: &Utf8Path, data_dir: &RelPath) -> Result<Vec<HistoryEntry>, StoreError> {
    let Some(folder) = existing_folder(root, data_dir)? else { return Ok(Vec::new()) };
    let checked = Root::open(root)?;
    let mut entries = Vec::new();
    for (_, kept) in complete_entries(links(&folder)?).into_iter().rev() {
        let Some(first) = kept.first() else { continue };
        let files: Option<Vec<HistoryFile>> = kept.iter().map(|one| history_file(&folder, one)).collect();
        let Some(files) = files else { continue };
        // A kill between keeping and replacing leaves what is still current.
        if entries.is_empty() && files.iter().all(|file| is_current(&checked, file)) {
            continue;
        }
        let is_intact = kept.iter().all(|one| has_digest(&folder.join(&one.name), &one.sha256));
        let (id, at) = (id(first.sequence), first.at);
        entries.push(HistoryEntry { id, at, change: first.change.clone(), step: first.step.clone(), files, is_intact });
    }
    Ok(entries)
}

fn is_current(root: &Root, kept: &HistoryFile) -> bool {
    let has_size = |real: &Utf8PathBuf| fs::metadata(real).is_ok_and(|metadata| metadata.len() == kept.bytes);
    root.target(&kept.path).ok().filter(has_size).is_some_and(|real| has_digest(&real, &kept.sha256))
}

fn has_digest(file: &Utf8Path, sha256: &str) -> bool {
    let bytes = platform::read_data_file(file.as_std_path(), SIZE_LIMIT);
    bytes.is_ok_and(|bytes| bytes.is_some_and(|bytes| sha256_hex(&bytes) == sha256))
}

fn history_file(folder: &Utf8Path, kept: &HistoryLink) -> Option<HistoryFile> {
    let metadata = fs::symlink_metadata(folder.join(&kept.name)).ok().filter(fs::Metadata::is_file)?;
    Some(HistoryFile { path: path_of(folder, kept)?, sha256: kept.sha256.clone(), bytes: metadata.len() })
}

/// Reads the state as it was before a checkpoint: for each file, the first version kept by this checkpoint or a later one.
///
/// # Errors
///
/// If there is no such checkpoint, or a kept version was changed since.
pub(crate) fn read(root: &Utf8Path, data_dir: &RelPath, id: &str) -> Result<Vec<(RelPath, Vec<u8>)>, StoreError> {
    let missing =
        |path: &Utf8Path| StoreError::HistoryMissing { path: path.to_owned(), id: id.chars().take(80).collect() };
    let Some(folder) = existing_folder(root, data_dir)? else { return Err(missing(&data_dir.under(root))) };
    let wanted = id.parse::<u64>().map_err(|_| missing(&folder))?;
    let mut since = complete_entries(links(&folder)?).split_off(&wanted);
    if !since.contains_key(&wanted) {
        return Err(missing(&folder));
    }
    let mut seen = BTreeSet::new();
    let mut kept: Vec<HistoryLink> = since.values_mut().flat_map(std::mem::take).collect();
    kept.retain(|one| seen.insert(one.path.clone()));
    let mut files = Vec::new();
    for one in &kept {
        let file = folder.join(&one.name);
        let bytes =
            platform::read_data_file(file.as_std_path(), SIZE_LIMIT).map_err(|source| StoreError::io(&file, source))?;
        let bytes = bytes.ok_or_else(|| missing(&folder))?;
        if sha256_hex(&bytes) != one.sha256 {
            return Err(StoreError::HistoryCorrupt { path: file });
        }
        files.push((path_of(&folder, one).ok_or_else(|| missing(&folder))?, bytes));
    }
    Ok(files)
}

/// Keeps a copy of content that does not parse, before it is replaced. Returns its path.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn keep_corrupt(
    lock: &RunLock,
    path: &RelPath,
    at: Timestamp,
    bytes: &[u8],
) -> Result<Utf8PathBuf, StoreError> {
    let parent = lock.folder(FOLDER)?;
    let folder = data_dir::subfolder(&parent, CORRUPT)?;
    let name: String = path.name().chars().take(60).collect();
    let file = folder.join(format!("{}-{}-{name}", at.compact(), &sha256_hex(bytes)[..16]));
    match write_new(&file, bytes) {
        Err(source) if source.kind() != io::ErrorKind::AlreadyExists => return Err(StoreError::io(&file, source)),
        Ok(()) | Err(_) => {}
    }
    // The only copy of what is replaced next, so its name has to be durable too.
    stage::sync_dirs(
        [folder.as_path(), parent.as_path(), lock.data_path()].into_iter().chain(lock.data_path().parent()),
    )?;
    let mut kept = file_names(&folder)?;
    kept.sort_unstable();
    for oldest in &kept[..kept.len().saturating_sub(CORRUPT_LIMIT)] {
        let _ = calls::remove_file(&folder.join(oldest));
    }
    Ok(file)
}

/// A version that is about to be replaced.
pub(super) struct ReplacedFile<'a> {
    pub(super) path: &'a RelPath,
    pub(super) real: &'a Utf8Path,
    pub(super) bytes: &'a [u8],
    pub(super) sha256: &'a str,
    /// Whether a link is as good as a copy: the file has no other hard link.
    pub(super) may_link: bool,
}

/// What the names of the kept versions say about the change.
pub(super) struct HistoryLabel<'a> {
    pub(super) at: Timestamp,
    pub(super) change: &'a str,
    pub(super) step: Option<&'a StepId>,
}

/// The history while a checkpoint is written. Only sequence numbers are parsed up front, so a long history costs little.
pub(super) struct HistoryWriter {
    folder: Utf8PathBuf,
    names: BTreeMap<u64, Vec<String>>,
    sequence: u64,
}

impl HistoryWriter {
    pub(super) fn open(lock: &RunLock) -> Result<Self, StoreError> {
        let folder = lock.folder(FOLDER)?;
        let mut names: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for name in file_names(&folder)? {
            if let Some([sequence, ..]) = split_name(&name)
                && let Ok(sequence) = sequence.parse()
            {
                names.entry(sequence).or_default().push(name);
            }
        }
        let sequence = names.keys().next_back().map_or(1, |last| last.saturating_add(1));
        Ok(Self { folder, names, sequence })
    }

    pub(super) fn id(&self) -> String {
        id(self.sequence)
    }

    /// Keeps the versions under the next number. The entry of a checkpoint that never took effect is replaced.
    pub(super) fn keep(&mut self, label: &HistoryLabel<'_>, replaced: &[ReplacedFile<'_>]) -> Result<(), StoreError> {
        let folder = &self.folder;
        let stale = self.names.last_entry().filter(|newest| {
            // The backup beside the state may have the same bytes, so the path has to match too.
            let is_current = |one: &HistoryLink| {
                let same = |now: &&ReplacedFile<'_>| now.sha256 == one.sha256;
                replaced.iter().filter(same).any(|now| path_of(folder, one).as_ref() == Some(now.path))
            };
            newest.get().iter().all(|name| parse(name.clone()).is_some_and(|one| is_current(&one)))
        });
        let mut is_linked_already = false;
        if let Some(stale) = stale {
            is_linked_already = true;
            for name in stale.remove() {
                let _ = calls::remove_file(&self.folder.join(name));
            }
        }
        for one in replaced {
            let name = self.name(label, replaced.len(), one)?;
            let file = self.folder.join(name);
            let linked = (one.may_link || is_linked_already) && calls::hard_link(one.real, &file).is_ok();
            if !linked {
                write_new(&file, one.bytes).map_err(|source| StoreError::io(&file, source))?;
            }
        }
        Ok(())
    }

    /// Removes the entry being written, of a change that is refused.
    pub(super) fn discard(&self) {
        let Ok(kept) = links(&self.folder) else { return };
        for one in kept.iter().filter(|one| one.sequence == self.sequence) {
            let _ = calls::remove_file(&self.folder.join(&one.name));
        }
    }

    /// Removes all but the newest entries, counting the one being written. Files whose names do not parse stay.
    pub(super) fn prune(mut self, limit: usize, has_new: bool) {
        let keep = limit.saturating_sub(usize::from(has_new));
        while self.names.len() > keep {
            let Some((_, oldest)) = self.names.pop_first() else { return };
            for kept in oldest.into_iter().filter_map(parse) {
                let _ = calls::remove_file(&self.folder.join(kept.name));
            }
        }
    }

    fn name(&self, label: &HistoryLabel<'_>, file_count: usize, one: &ReplacedFile<'_>) -> Result<String, StoreError> {
        let step = label.step.map(|step| escape(step.as_str(), STEP_LIMIT)).unwrap_or_default();
        let change = escape(label.change, STEP_LIMIT);
        let head = format!("{:06}-{}-{change}-{step}-{file_count}-{}-", self.sequence, label.at.compact(), one.sha256);
        let path = escape(one.path.as_str(), usize::MAX);
        if head.len() + path.len() <= NAME_LIMIT {
            return Ok(head + &path);
        }
        let digest = sha256_hex(one.path.as_str().as_bytes())[..16].to_owned();
        let file = data_dir::subfolder(&self.folder, PATHS)?.join(&digest);
        if platform::read_data_file(file.as_std_path(), 8 << 10).ok().flatten().as_deref()
            != Some(one.path.as_str().as_bytes())
        {
            let _ = calls::remove_file(&file);
            write_new(&file, one.path.as_str().as_bytes()).map_err(|source| StoreError::io(&file, source))?;
        }
        Ok(format!("{head}{BY_DIGEST}{digest}"))
    }
}

fn id(sequence: u64) -> String {
    format!("{sequence:06}")
}

/// Creates a file and returns when its content is durable, so that a power loss cannot leave an empty copy.
fn write_new(path: &Utf8Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = calls::create_new(path, platform::DATA_FILE_MODE)?;
    calls::write(&mut file, bytes).and_then(|()| calls::sync_all(&file)).inspect_err(|_| {
        let _ = calls::remove_file(path);
    })
}

fn existing_folder(root: &Utf8Path, data_dir: &RelPath) -> Result<Option<Utf8PathBuf>, StoreError> {
    let folder = Root::open(root)?.target(data_dir)?.join(FOLDER);
    match fs::symlink_metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => Ok(Some(folder)),
        Ok(_) => Err(StoreError::UnsafePath {
            path: folder,
            problem: "Piton keeps a folder here, but found a link or a file",
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::io(&folder, source)),
    }
}

fn file_names(folder: &Utf8Path) -> Result<Vec<String>, StoreError> {
    let names = platform::names(folder).map_err(|source| StoreError::io(folder, source))?;
    Ok(names.into_iter().map(|named| named.name).collect())
}

fn links(folder: &Utf8Path) -> Result<Vec<HistoryLink>, StoreError> {
    Ok(file_names(folder)?.into_iter().filter_map(parse).collect())
}

fn complete_entries(names: Vec<HistoryLink>) -> BTreeMap<u64, Vec<HistoryLink>> {
    let mut entries: BTreeMap<u64, Vec<HistoryLink>> = BTreeMap::new();
    for one in names {
        entries.entry(one.sequence).or_default().push(one);
    }
    entries.retain(|_, kept| kept.iter().all(|one| one.file_count == kept.len()));
    for kept in entries.values_mut() {
        kept.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }
    entries
}

/// Splits the name of a link into its fields; `None` for other names.
fn split_name(name: &str) -> Option<[&str; 7]> {
    let mut rest = name.splitn(7, '-');
    let fields: [&str; 7] = std::array::from_fn(|_| rest.next().unwrap_or_default());
    let [.., sha256, path] = fields;
    let is_digest = sha256.len() == 64 && sha256.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_digest && !path.is_empty()).then_some(fields)
}

fn parse(name: String) -> Option<HistoryLink> {
    let [sequence, at, change, step, file_count, sha256, path] = split_name(&name)?;
    Some(HistoryLink {
        sequence: sequence.parse().ok()?,
        at: parse_compact(at)?,
        change: unescape(change)?,
        step: Some(unescape(step)?).filter(|step| !step.is_empty()).map(StepId::new),
        file_count: file_count.parse().ok()?,
        sha256: sha256.to_owned(),
        path: path.to_owned(),
        name,
    })
}

/// Parses the output of `Timestamp::compact`.
fn parse_compact(text: &str) -> Option<Timestamp> {
    if text.len() != 16 || !text.is_ascii() {
        return None;
    }
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let parts = [date.get(..4)?, date.get(4..6)?, date.get(6..8)?, time.get(..2)?, time.get(2..4)?, time.get(4..6)?];
    let [year, month, day, hour, minute, second] = parts;
    Timestamp::parse(&format!("{year}-{month}-{day}T{hour}:{minute}:{second}Z"), 0).ok()
}

fn path_of(folder: &Utf8Path, kept: &HistoryLink) -> Option<RelPath> {
    let Some(digest) = kept.path.strip_prefix(BY_DIGEST) else { return RelPath::parse(&unescape(&kept.path)?).ok() };
    if !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = platform::read_data_file(folder.join(PATHS).join(digest).as_std_path(), 8 << 10).ok()??;
    let is_it = sha256_hex(&bytes).starts_with(digest);
    is_it.then(|| RelPath::parse(std::str::from_utf8(&bytes).ok()?).ok()).flatten()
}

/// Percent-encodes everything but ASCII letters, digits, `.` and `_`. Stops before the result exceeds `limit` bytes.
fn escape(text: &str, limit: usize) -> String {
    let mut escaped = String::new();
    for c in text.chars() {
        let mut piece = String::new();
        if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
            piece.push(c);
        } else {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                let _ = write!(piece, "%{byte:02X}");
            }
        }
        if escaped.len() + piece.len() > limit {
            break;
        }
        escaped.push_str(&piece);
    }
    escaped
}

fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        if *first == b'%' {
            let (digits, tail) = tail.split_at_checked(2)?;
            bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            rest = tail;
        } else {
            bytes.push(*first);
            rest = tail;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;
