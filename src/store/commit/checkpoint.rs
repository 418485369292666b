//! Writes one checkpoint: all edits or none, durable, never over the change of another program.
//!
//! One file costs one flush of the file and one of its folder. Several files are first made durable as a record (see `txn`),
//! which commits the change; if the process is killed after that, the next command finishes it.

use std::{
    collections::BTreeSet,
    fs::{self, File, Metadata},
    io::{self, Read as _},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    append,
    lock::RunLock,
    recorded::{JournalAppend, OpenJournal, staged_name},
    txn::{self, Record, RecordedFile},
};
use crate::{
    model::{Edit, EditKind, RelPath, StepId, sha256_hex},
    store::fs::{
        calls,
        error::StoreError,
        nofollow::{self, OpenMode},
        platform::{self, Attributes},
        stage::{self, Staged},
    },
};

/// What a checkpoint is of.
#[derive(Clone, Debug)]
pub(crate) struct CheckpointMeta {
    /// The kind of the change (`ChangeKind::as_str`).
    pub(crate) change: String,
    pub(crate) step: Option<StepId>,
    /// State files whose old version is also kept as a sibling, with the path of that sibling. List only files whose old bytes
    /// are valid, so that a broken state never replaces a good backup.
    pub(crate) backup: Vec<(RelPath, RelPath)>,
}

impl CheckpointMeta {
    /// Describes a checkpoint of the run as a whole, without sibling copies.
    pub(crate) fn new(change: &str) -> Self {
        Self { change: change.to_owned(), step: None, backup: Vec::new() }
    }
}

/// Commits the edits of one change as one checkpoint.
///
/// # Errors
///
/// If a file is not what its edit was computed from ([`StoreError::Conflict`]), a path may not be written, or a system call
/// fails. The old state is then intact and no temporary file is left, except after [`StoreError::NotRolledBack`].
pub(crate) fn commit(lock: &RunLock, edits: &[Edit], meta: &CheckpointMeta) -> Result<(), StoreError> {
    if let [Edit { path, kind: EditKind::Append { before_len, bytes } }] = edits {
        return append::append(lock, path, *before_len, bytes);
    }
    write(lock, edits, meta, None)
}

/// [`commit`] with a record in the journal of the run: both or neither. Without edits only the record is written.
///
/// # Errors
///
/// As [`commit`], and if the journal cannot be written.
pub(crate) fn commit_recorded(
    lock: &RunLock,
    edits: &[Edit],
    meta: &CheckpointMeta,
    journal: &JournalAppend<'_>,
) -> Result<(), StoreError> {
    let mut open = OpenJournal::open(journal, lock.timeout())?;
    if edits.is_empty() {
        return open.append();
    }
    write(lock, edits, meta, Some(open))
}

fn write(
    lock: &RunLock,
    edits: &[Edit],
    meta: &CheckpointMeta,
    journal: Option<OpenJournal<'_>>,
) -> Result<(), StoreError> {
    let targets = check(lock, edits)?;
    let backups = backups(lock, meta, &targets)?;
    let (record, made, is_armed) = (None, Vec::new(), true);
    let mut writer = CheckpointWriter { lock, meta, targets, backups, record, journal, made, is_armed };
    let result = writer.run();
    // What could not be undone is finished by the next command, out of what is staged.
    writer.is_armed = !matches!(result, Ok(()) | Err(StoreError::NotRolledBack { .. }));
    result
}

/// An edit that is being written.
struct CheckpointTarget<'a> {
    path: &'a RelPath,
    /// The resolved path.
    real: Utf8PathBuf,
    before: Option<&'a [u8]>,
    before_sha256: Option<String>,
    after: Option<&'a [u8]>,
    like: Option<Attributes>,
    mode: u32,
    staged: Option<Staged>,
    /// Says that the record of a journal wants it removed, until that is done.
    marker: Option<Staged>,
}

/// A copy of a file that is about to be replaced.
struct Backup {
    /// Index of the target.
    of: usize,
    /// The resolved path.
    real: Utf8PathBuf,
    staged: Option<Staged>,
}

/// A checkpoint that is being written. Dropping it while armed removes the staged files and the folders that were made for them.
struct CheckpointWriter<'a> {
    lock: &'a RunLock,
    meta: &'a CheckpointMeta,
    targets: Vec<CheckpointTarget<'a>>,
    backups: Vec<Backup>,
    record: Option<Staged>,
    journal: Option<OpenJournal<'a>>,
    /// The folders that are made for new files.
    made: Vec<Utf8PathBuf>,
    is_armed: bool,
}

/// Resolves every path and compares every file with what its edit was computed from.
fn check<'a>(lock: &RunLock, edits: &'a [Edit]) -> Result<Vec<CheckpointTarget<'a>>, StoreError> {
    let mut reals = BTreeSet::new();
    let mut targets = Vec::with_capacity(edits.len());
    for edit in edits {
        let real = lock.root().target(&edit.path)?;
        if !reals.insert(real.clone()) {
            return Err(StoreError::UnsafePath { path: real, problem: "one change edits it twice" });
        }
        let found = found_at(&real)?;
        let before: Option<&[u8]> = match &edit.kind {
            EditKind::Create { .. } => None,
            EditKind::Replace { before, .. } | EditKind::Remove { before } => Some(before),
            EditKind::Append { .. } => {
                return Err(StoreError::UnsafePath {
                    path: real,
                    problem: "a journal grows alone, with no other edit",
                });
            }
        };
        let like = found.as_ref().map(|(_, metadata)| platform::attributes(metadata));
        let conflict = match (before, found) {
            (None, None) => None,
            (None, Some(_)) => Some("was created by another program"),
            (Some(_), None) => Some("was removed"),
            (Some(before), Some((_, metadata))) if metadata.len() != before.len() as u64 => Some("was changed"),
            (Some(before), Some((mut file, _))) => {
                let mut now = Vec::with_capacity(before.len() + 1);
                file.read_to_end(&mut now).map_err(|source| StoreError::io(&real, source))?;
                (now != before).then_some("was changed")
            }
        };
        if let Some(what) = conflict {
            return Err(StoreError::Conflict { path: real, what });
        }
        let is_own = real.starts_with(lock.data_path());
        targets.push(CheckpointTarget {
            path: &edit.path,
            real,
            before,
            before_sha256: before.map(sha256_hex),
            after: edit.after(),
            like,
            mode: if is_own { platform::DATA_FILE_MODE } else { platform::PROJECT_FILE_MODE },
            staged: None,
            marker: None,
        });
    }
    Ok(targets)
}

/// Opens a file that an edit is of; `None` if it is missing.
fn found_at(real: &Utf8Path) -> Result<Option<(File, Metadata)>, StoreError> {
    let failed = |source| StoreError::io(real, source);
    match nofollow::open(real.as_std_path(), OpenMode::Read, 0) {
        Ok(file) => match file.metadata().map_err(failed)? {
            metadata if metadata.is_file() => Ok(Some((file, metadata))),
            _ => Err(StoreError::UnsafePath { path: real.to_owned(), problem: "it is not a regular file" }),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(failed(source)),
    }
}

/// Resolves the backups of the files that are about to be replaced.
fn backups(lock: &RunLock, meta: &CheckpointMeta, targets: &[CheckpointTarget<'_>]) -> Result<Vec<Backup>, StoreError> {
    let mut backups = Vec::new();
    for (state, backup) in &meta.backup {
        if let Some(of) = targets.iter().position(|target| target.path == state && target.before.is_some()) {
            backups.push(Backup { of, real: lock.root().target(backup)?, staged: None });
        }
    }
    Ok(backups)
}

impl CheckpointWriter<'_> {
    fn run(&mut self) -> Result<(), StoreError> {
        let backups = self.backups.iter().map(|backup| backup.real.as_path());
        stage::remove_leftovers(self.targets.iter().map(|target| target.real.as_path()).chain(backups));
        let new_dirs = self.stage()?;
        stage::sync_files(&self.staged().collect::<Vec<_>>())?;
        if self.journal.is_some() {
            // The record names what is staged.
            self.sync_names(&new_dirs)?;
        }
        if let Some(journal) = &mut self.journal {
            journal.append()?;
        }
        // A checkpoint that may not be durable is undone: after a failed flush, a second one proves nothing.
        if let Err(error) = self.apply(&new_dirs).and_then(|()| self.sync_names(&new_dirs)) {
            return Err(self.roll_back(error));
        }
        if self.record.is_some() {
            // If it stays, everything is done already, and the next command drops it.
            let _ = txn::drop_record(self.lock.data_path());
        }
        Ok(())
    }

    /// Returns the missing folders of new files, each after the one that it is in.
    fn missing_folders(&self) -> Vec<Utf8PathBuf> {
        let parents = self.targets.iter().filter(|target| target.before.is_none()).filter_map(|t| t.real.parent());
        let missing = parents.flat_map(|parent| parent.ancestors().take_while(|folder| !folder.exists()));
        missing.map(Utf8Path::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Writes all new contents under temporary names; the record first, because it lists the others and the folders that are made for them.
    /// Returns the folders with new names in them.
    fn stage(&mut self) -> Result<Vec<Utf8PathBuf>, StoreError> {
        let missing = self.missing_folders();
        if self.targets.len() > 1 && self.journal.is_none() {
            let files = self.targets.iter().map(|target| RecordedFile {
                path: target.path.clone(),
                before: target.before_sha256.clone(),
                after: target.after.map(<[u8]>::to_vec),
                mode: target.mode,
            });
            let below =
                |folder: &Utf8PathBuf| RelPath::parse(folder.strip_prefix(self.lock.root().path()).ok()?.as_str()).ok();
            let folders = missing.iter().filter_map(below).collect();
            let (change, step) = (self.meta.change.clone(), self.meta.step.clone());
            let record = Record { change, step, folders, files: files.collect() };
            self.record = Some(txn::stage(self.lock.data_path(), &record)?);
        }
        self.made = missing;
        let mut changed_dirs = Vec::new();
        for folder in &self.made {
            changed_dirs.extend(stage::make_folders(folder)?);
        }
        let is_recorded = self.journal.is_some();
        for target in &mut self.targets {
            let real = &target.real;
            match target.after {
                Some(after) if is_recorded => {
                    let name = staged_name(real, &sha256_hex(after));
                    target.staged = Some(stage::write_as(name, real, after, target.mode, target.like)?);
                }
                Some(after) => target.staged = Some(stage::write(real, after, target.mode, target.like)?),
                None if is_recorded => {
                    let name = staged_name(real, target.before_sha256.as_deref().unwrap_or_default());
                    target.marker = Some(stage::write_as(name, real, &[], platform::DATA_FILE_MODE, None)?);
                }
                None => {}
            }
        }
        for backup in &mut self.backups {
            let target = &self.targets[backup.of];
            if let Some(before) = target.before {
                backup.staged = Some(stage::write(&backup.real, before, target.mode, target.like)?);
            }
        }
        Ok(changed_dirs)
    }

    /// Returns the files under temporary names.
    fn staged(&self) -> impl Iterator<Item = &Staged> {
        let targets = self.targets.iter().flat_map(|target| [target.staged.as_ref(), target.marker.as_ref()]);
        targets.flatten().chain(self.backups.iter().filter_map(|backup| backup.staged.as_ref())).chain(&self.record)
    }

    /// Applies the change: the record first, then the files.
    fn apply(&mut self, new_dirs: &[Utf8PathBuf]) -> Result<(), StoreError> {
        if let Some(record) = &self.record {
            txn::publish(self.lock.data_path(), record)?;
        }
        for backup in &mut self.backups {
            if let Some(staged) = &backup.staged {
                calls::rename(&staged.path, &backup.real).map_err(|source| StoreError::io(&backup.real, source))?;
                backup.staged = None;
            }
        }
        let (put, gone): (Vec<usize>, Vec<usize>) =
            (0..self.targets.len()).partition(|at| self.targets[*at].after.is_some());
        self.replace_targets(&put)?;
        if gone.is_empty() {
            return Ok(());
        }
        // Moved files are durable at their new place before they are removed from the old one.
        self.sync_names(new_dirs)?;
        self.replace_targets(&gone)?;
        if self.journal.is_some() {
            // A file that comes back without its marker would stay.
            self.sync_names(new_dirs)?;
        }
        self.remove_markers()
    }

    /// Replaces or removes some of the targets. Stops at the first failure; `roll_back` undoes the ones before it.
    fn replace_targets(&mut self, places: &[usize]) -> Result<(), StoreError> {
        for at in places {
            let target = &mut self.targets[*at];
            match &target.staged {
                Some(staged) => calls::rename(&staged.path, &target.real),
                None => calls::remove_file(&target.real),
            }
            .map_err(|source| StoreError::io(&target.real, source))?;
            target.staged = None;
        }
        Ok(())
    }

    fn remove_markers(&self) -> Result<(), StoreError> {
        let mut markers = self.targets.iter().filter_map(|target| target.marker.as_ref());
        markers.try_for_each(|marker| {
            calls::remove_file(&marker.path).map_err(|source| StoreError::io(&marker.path, source))
        })
    }

    fn sync_names(&self, new_dirs: &[Utf8PathBuf]) -> Result<(), StoreError> {
        let parents = self.targets.iter().filter_map(|target| target.real.parent());
        stage::sync_dirs(parents.chain(new_dirs.iter().map(Utf8PathBuf::as_path)))
    }

    /// Restores the targets that were already replaced, after a system call failed. If that fails too, the record stays and the
    /// next command finishes the change.
    fn roll_back(&self, error: StoreError) -> StoreError {
        let taken_back = || self.journal.as_ref().map_or(Ok(()), OpenJournal::take_back);
        match self.restore_targets().and_then(|()| taken_back()) {
            Ok(()) => error,
            Err(_) => StoreError::NotRolledBack { cause: Box::new(error) },
        }
    }

    fn restore_targets(&self) -> Result<(), StoreError> {
        for target in &self.targets {
            match target.before {
                Some(before) if !is_at(&target.real, before) => {
                    txn::replace_file_as(&target.real, before, target.mode, target.like)?;
                }
                None if target.staged.is_none() => {
                    calls::remove_file(&target.real).map_err(|source| StoreError::io(&target.real, source))?;
                }
                Some(_) | None => {}
            }
        }
        // This flush may be what failed before; the names are restored anyway.
        let _ = stage::sync_dirs(self.targets.iter().filter_map(|target| target.real.parent()));
        if self.record.is_some() {
            txn::drop_record(self.lock.data_path())?;
            let _ = stage::sync_dirs(std::iter::once(txn::folder(self.lock.data_path()).as_path()));
        }
        Ok(())
    }
}

fn is_at(real: &Utf8Path, bytes: &[u8]) -> bool {
    fs::read(real).is_ok_and(|now| now == bytes)
}

impl Drop for CheckpointWriter<'_> {
    fn drop(&mut self) {
        if self.is_armed {
            for staged in self.staged() {
                let _ = calls::remove_file(&staged.path);
            }
            stage::remove_empty(&self.made);
        }
    }
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
