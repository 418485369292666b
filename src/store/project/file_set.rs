//! Reads the files of a run. Problems of a file become values; only problems of the store are errors.
//!
//! Readers never see half of a change to several files. If the run was ever written by Piton, reading takes the shared lock and
//! first finishes an interrupted change. If this user may not finish it, the pending contents are returned instead.

use std::{
    collections::BTreeMap,
    fs::{self, DirEntry, FileType},
    io,
    sync::Arc,
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{journals, open::Project};
use crate::{
    model::{
        Candidate, Clock, Content, Edit, EditKind, FileEntry, FileSet, JournalFile, LinkedWorktree, ReadProblem,
        ReadSpec, RelPath, RunFolder, Timestamp, Unread,
    },
    store::{
        commit::{
            lock::{self, RunLock},
            recorded,
            txn::{self, Record},
        },
        fs::{
            error::StoreError,
            path::{Root, problem_of},
            read::{FILE_LIMIT, read_entry},
            stage, unread,
        },
        owner::local,
    },
};

/// Bytes of all files of a run.
const SET_LIMIT: u64 = 256 << 20;
/// Number of files of a run.
const FILES_LIMIT: usize = 20_000;

/// Reads the files of a run as one consistent whole.
///
/// # Errors
///
/// If a writer holds the run for too long, or the root cannot be read.
pub(crate) fn file_set(
    project: &Project,
    root: &Utf8Path,
    candidate: &Candidate,
    clock: Clock,
) -> Result<FileSet, StoreError> {
    let checked = Root::open(root)?;
    let own = journals::folder_of(project, root, candidate);
    let mut journal = journals::in_folder(candidate, &own);
    if let Some(begun) = &journal
        && journals::finish(project, begun)?
    {
        journal = journals::in_folder(candidate, &own);
    }
    let has_writers = || unread::run_folder(&own).is_some_and(|data_path| lock::has_lock_file(&data_path));
    let read = || {
        if has_writers() {
            return read_locked(project, &checked, candidate, &own);
        }
        let files = read_all(&checked, &candidate.reads, None);
        // The first writer may have started while we read.
        if has_writers() { read_locked(project, &checked, candidate, &own) } else { Ok((files, journal)) }
    };
    set_of(project, (root, &own), candidate, clock, read)
}

/// Locks a run, and finishes what a killed writer began of it.
///
/// # Errors
///
/// As [`RunLock::acquire`].
pub(crate) fn lock_recorded(project: &Project, root: &Utf8Path, candidate: &Candidate) -> Result<RunLock, StoreError> {
    let own = journals::folder_of(project, root, candidate);
    let lock = RunLock::acquire(root, &own, project.lock_timeout)?;
    if let Some(journal) = journals::in_folder(candidate, &own) {
        journals::finish(project, &journal)?;
    }
    Ok(lock)
}

/// Finishes an interrupted change to a run. Returns true if there was one, because files may then have appeared, moved or gone
/// since they were listed. Does nothing if this user may not write, or another process holds the run.
pub(crate) fn finish_pending(project: &Project, root: &Utf8Path, own: &RunFolder) -> bool {
    // Most have none; to resolve a path takes many calls.
    txn::is_pending(&own.absolute())
        && unread::run_folder(own).is_some_and(|data_path| txn::is_pending(&data_path))
        && RunLock::acquire(root, own, project.lock_timeout).is_ok()
}

/// Reads the files of a run whose lock the caller holds.
pub(crate) fn file_set_locked(
    project: &Project,
    lock: &RunLock,
    root: &Utf8Path,
    candidate: &Candidate,
    clock: Clock,
) -> FileSet {
    let own = journals::folder_of(project, root, candidate);
    let read = || {
        let journal = journals::in_folder(candidate, &own);
        Ok((read_all(lock.root(), &candidate.reads, None), journal))
    };
    set_of(project, (root, &own), candidate, clock, read).expect("only taking a lock can fail")
}

/// Returns the files that are read, with the problem of each path that could not be looked at.
fn set_of(
    project: &Project,
    (root, own): (&Utf8Path, &RunFolder),
    candidate: &Candidate,
    clock: Clock,
    read: impl FnOnce() -> Result<(BTreeMap<RelPath, FileEntry>, Option<JournalFile>), StoreError>,
) -> Result<FileSet, StoreError> {
    let (read, unread) = unread::watched(|| Ok::<_, StoreError>((read()?, linked(project, root))));
    let ((mut files, journal), worktrees) = read?;
    for Unread { path, problem } in unread {
        if let Some(below) = RelPath::below(&path, root) {
            files.entry(below).or_insert_with(|| FileEntry::new(Content::Problem(problem), None));
        }
    }
    let is_linked = root != project.root && project.worktrees().iter().any(|worktree| worktree == root);
    Ok(FileSet {
        root: root.to_owned(),
        name: candidate.name.clone(),
        state: candidate.state.clone(),
        own: own.clone(),
        files,
        journal,
        local: local::read(own),
        lost: None,
        worktrees,
        main_root: is_linked.then(|| project.root.clone()),
        clock,
        config: Arc::clone(&project.config),
    })
}

/// Lists the linked worktrees, besides the one that begins at `root`.
fn linked(project: &Project, root: &Utf8Path) -> Vec<LinkedWorktree> {
    let others = project.worktree_branches().iter().filter(|(folder, _)| folder != root);
    let linked = |(folder, branch): &(Utf8PathBuf, Option<String>)| LinkedWorktree {
        path: RelPath::below(folder, root),
        folder: folder.clone(),
        branch: branch.clone(),
    };
    others.map(linked).collect()
}

fn read_locked(
    project: &Project,
    root: &Root,
    candidate: &Candidate,
    own: &RunFolder,
) -> Result<(BTreeMap<RelPath, FileEntry>, Option<JournalFile>), StoreError> {
    let Some(data_path) = unread::run_folder(own) else {
        return Ok((read_all(root, &candidate.reads, None), journals::in_folder(candidate, own)));
    };
    if txn::is_pending(&data_path) {
        // Taking the lock finishes it. If that is refused, the record is applied to the files below.
        match RunLock::acquire(root.path(), own, project.lock_timeout) {
            Ok(_) => {}
            Err(error) if error.is_write_refused() => {}
            Err(error) => return Err(error),
        }
    }
    let _shared = lock::lock_shared(&data_path, project.lock_timeout)?;
    let journal = journals::in_folder(candidate, own);
    let change = journal.as_ref().and_then(|journal| recorded::last_change(journal.bytes()));
    let recorded = change.and_then(|change| recorded::pending(root, &change));
    let pending = match recorded {
        Some(record) => txn::not_foreign(root, record),
        None if txn::is_pending(&data_path) => txn::pending(root, &data_path),
        None => None,
    };
    Ok((read_all(root, &candidate.reads, pending.as_ref()), journal))
}

fn read_all(root: &Root, reads: &[ReadSpec], pending: Option<&Record>) -> BTreeMap<RelPath, FileEntry> {
    let mut set = Reading { root, files: BTreeMap::new(), left: SET_LIMIT };
    for read in reads {
        match read {
            ReadSpec::File(path) => set.read(path),
            ReadSpec::Contents { dir, suffix } => {
                for path in set.names(dir, suffix) {
                    set.read(&path);
                }
            }
            ReadSpec::Tree { dir, suffix } => {
                for folder in set.folders(dir) {
                    set.read_some(&folder, suffix);
                }
            }
            ReadSpec::Names { dir } => {
                for path in set.names(dir, "") {
                    set.files.entry(path).or_insert(FileEntry::new(Content::NameOnly, None));
                }
            }
            ReadSpec::Elsewhere { root, file, shown } => set.read_elsewhere(root, file, shown),
        }
    }
    for file in pending.iter().flat_map(|record| &record.files) {
        let modified = set.files.get(&file.path).and_then(|entry| entry.modified);
        lay_over(&mut set.files, reads, &file.path, file.after.as_deref().map(|bytes| (bytes, modified)));
    }
    set.files
}

/// Applies edits to a file set: the result is what would be read after committing them.
pub(crate) fn lay_edits_over(files: &mut FileSet, reads: &[ReadSpec], edits: &[Edit]) {
    let modified = Some(files.clock.now);
    for edit in edits {
        let grown = match &edit.kind {
            // The first record makes the file.
            EditKind::Append { bytes, .. } => Some([files.bytes(&edit.path).unwrap_or_default(), bytes].concat()),
            EditKind::Create { .. } | EditKind::Replace { .. } | EditKind::Remove { .. } => None,
        };
        let after = grown.as_deref().or_else(|| edit.after());
        lay_over(&mut files.files, reads, &edit.path, after.map(|bytes| (bytes, modified)));
    }
}

/// Replaces the content of a file in the set, or removes it.
fn lay_over(
    files: &mut BTreeMap<RelPath, FileEntry>,
    reads: &[ReadSpec],
    path: &RelPath,
    after: Option<(&[u8], Option<Timestamp>)>,
) {
    let has_content = reads.iter().filter_map(|read| is_wanted(read, path)).max();
    match (after, has_content) {
        (None, _) => {
            files.remove(path);
        }
        (Some((bytes, modified)), Some(true)) => {
            files.insert(path.clone(), FileEntry::new(Content::Bytes(bytes.into()), modified));
        }
        (Some(_), Some(false)) => {
            files.entry(path.clone()).or_insert(FileEntry::new(Content::NameOnly, None));
        }
        (Some(_), None) => {}
    }
}

/// Tells whether a spec includes a path, and if so, whether with its content.
fn is_wanted(read: &ReadSpec, path: &RelPath) -> Option<bool> {
    match read {
        ReadSpec::File(wanted) => (wanted == path).then_some(true),
        ReadSpec::Contents { dir, suffix } => {
            (path.parent().as_ref() == Some(dir) && path.name().ends_with(suffix)).then_some(true)
        }
        ReadSpec::Tree { dir, suffix } => {
            let above = path.parent().and_then(|parent| parent.parent());
            (above.as_ref() == Some(dir)).then(|| path.name().ends_with(suffix))
        }
        ReadSpec::Names { dir } => (path.parent().as_ref() == Some(dir)).then_some(false),
        ReadSpec::Elsewhere { .. } => None,
    }
}

/// A file set that is being read.
struct Reading<'a> {
    root: &'a Root,
    files: BTreeMap<RelPath, FileEntry>,
    /// Bytes that may still be read.
    left: u64,
}

impl Reading<'_> {
    fn read(&mut self, path: &RelPath) {
        if self.files.get(path).is_none_or(|entry| entry.content == Content::NameOnly) {
            let entry = read_entry(self.root, path, FILE_LIMIT.min(self.left));
            self.add(path.clone(), entry);
        }
    }

    fn read_elsewhere(&mut self, root: &Utf8Path, file: &RelPath, shown: &RelPath) {
        // If the root is gone, so is the file.
        if let Some(root) = unread::root(root) {
            let entry = read_entry(&root, file, FILE_LIMIT.min(self.left));
            self.add(shown.clone(), entry);
        }
    }

    /// Adds what was read; a missing file is left out.
    fn add(&mut self, path: RelPath, entry: FileEntry) {
        match &entry.content {
            Content::Problem(ReadProblem::Missing) => return,
            Content::Problem(problem) => unread::note(&path.under(self.root.path()), problem.clone()),
            Content::Bytes(bytes) => self.left = self.left.saturating_sub(bytes.len() as u64),
            Content::NameOnly => {}
        }
        self.files.insert(path, entry);
    }

    /// Reads the files of a folder whose names end in `suffix`, and lists the names of the others.
    fn read_some(&mut self, dir: &RelPath, suffix: &str) {
        for path in self.names(dir, "") {
            if self.files.len() >= FILES_LIMIT {
                unread::note(&dir.under(self.root.path()), too_many());
                return;
            }
            if path.name().ends_with(suffix) {
                self.read(&path);
            } else {
                let entry = FileEntry::new(Content::NameOnly, None);
                self.files.entry(path).or_insert(entry);
            }
        }
    }

    /// Returns the folders directly in a folder; symlinks are not followed.
    fn folders(&mut self, dir: &RelPath) -> Vec<RelPath> {
        let entries = self.entries(dir).into_iter().filter(|(_, kind)| kind.is_dir());
        let mut folders: Vec<RelPath> = entries.filter_map(|(name, _)| dir.join(&name).ok()).collect();
        folders.sort_unstable();
        folders
    }

    /// Returns the files directly in a folder.
    fn names(&mut self, dir: &RelPath, suffix: &str) -> Vec<RelPath> {
        let is_wanted = |name: &str| name.ends_with(suffix) && !stage::is_temporary(name.as_ref());
        let entries = self.entries(dir).into_iter().filter(|(name, kind)| !kind.is_dir() && is_wanted(name));
        let mut paths: Vec<RelPath> = entries.filter_map(|(name, _)| dir.join(&name).ok()).collect();
        paths.sort_unstable();
        paths
    }

    /// Lists a folder.
    fn entries(&self, dir: &RelPath) -> Vec<(String, FileType)> {
        list(self.root, dir).unwrap_or_else(|problem| {
            unread::note(&dir.under(self.root.path()), problem);
            Vec::new()
        })
    }
}

fn too_many() -> ReadProblem {
    ReadProblem::Other(format!("there are more than the {FILES_LIMIT} files that are read"))
}

/// Lists the entries of a folder whose names are UTF-8.
fn list(root: &Root, dir: &RelPath) -> Result<Vec<(String, FileType)>, ReadProblem> {
    let named = |entry: io::Result<DirEntry>| {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { return Ok(None) };
        match entry.file_type() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            kind => Ok(Some((name, kind?))),
        }
    };
    let entries = fs::read_dir(root.locate(dir)?).map_err(|error| problem_of(&error))?;
    let mut listed = Vec::new();
    for entry in entries.filter_map(|entry| named(entry).transpose()) {
        listed.push(entry.map_err(|error| problem_of(&error))?);
        if listed.len() > FILES_LIMIT {
            return Err(too_many());
        }
    }
    Ok(listed)
}

#[cfg(test)]
#[path = "file_set_tests.rs"]
mod tests;
