//! The journals of the runs of other systems, in the home of the project's runs, which all worktrees share: a linked worktree may go away, and
//! what was said in it stays. Also who is behind an attempt that a journal names.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    open::Project,
    sessions,
    trusted::{JournalStanding, RUNS, Trusted},
};
use crate::{
    model::{
        Attempt, Candidate, Content, Entry, FileSet, JournalFile, Presence, ReadProblem, RelPath, Run, RunFolder,
        Status, StepId, Timestamp, Uid, is_journal_folder, journal_folder,
    },
    store::{
        commit::{archive, data_dir, recorded, txn},
        fs::{
            calls,
            error::StoreError,
            nofollow,
            path::Root,
            read, stage,
            unread::{self, exists},
        },
        owner::{caller::Caller, local},
    },
};

/// The file in the folder of a run.
const FILE: &str = "journal.jsonl";
/// The folder of archived runs in a home.
const ARCHIVE: &str = "archive";
/// Bytes of a journal that is read; a longer one blocks its run.
const LIMIT: u64 = 64 << 20;

/// Returns the folder of what is kept of a run: in the home of the project's runs, besides that of a workflow file, which is where its state is.
/// It is where the run was begun: in the project, if that was no repository then or its git folder could not be written, else in the git folder.
pub(crate) fn folder_of(project: &Project, root: &Utf8Path, candidate: &Candidate) -> RunFolder {
    let named = journal_folder(candidate.dialect, &candidate.name);
    let Some(path) = named.and_then(|folder| RelPath::parse(&format!("{RUNS}/{folder}")).ok()) else {
        let path = candidate.state.parent().unwrap_or_else(|| candidate.state.clone());
        return RunFolder { home: root.to_owned(), path };
    };
    let (first, other) = sessions::homes(project);
    let is_there = |home: &Utf8PathBuf| exists(&path.under(home).join(FILE));
    let home = match other {
        Some(other) if is_there(&other) || (!is_there(&first) && !sessions::is_writable(&first)) => other,
        Some(_) | None => first,
    };
    RunFolder { home, path }
}

/// Returns the folder in the home of a project for what belongs to no run.
pub(crate) fn common_folder(project: &Project, name: &str) -> RunFolder {
    let (first, other) = sessions::homes(project);
    let home = other.filter(|_| !sessions::is_writable(&first)).unwrap_or(first);
    RunFolder { home, path: RelPath::parse(name).expect("a constant is a path") }
}

/// Returns the folders of the logs of the client's sessions in a project, the one to write to first: where a sandbox closes the git folder to
/// commands, hooks still write there.
pub(crate) fn sessions_folders(project: &Project) -> Vec<RunFolder> {
    let folder = common_folder(project, "sessions");
    let (first, other) = sessions::homes(project);
    let others = std::iter::once(first).chain(other).filter(|home| *home != folder.home);
    let others: Vec<RunFolder> = others.map(|home| RunFolder { home, path: folder.path.clone() }).collect();
    std::iter::once(folder).chain(others).collect()
}

/// Returns the journal of a run with its content; `None` for a run that has a journal for its state, and for a session of the client.
pub(crate) fn of(project: &Project, candidate: &Candidate) -> Option<JournalFile> {
    in_folder(candidate, &folder_of(project, &project.root, candidate))
}

/// [`of`] for a run whose folder is known.
pub(super) fn in_folder(candidate: &Candidate, folder: &RunFolder) -> Option<JournalFile> {
    journal_folder(candidate.dialect, &candidate.name)?;
    Some(in_home(folder.home.clone(), folder.path.join(FILE).ok()?))
}

fn in_home(home: Utf8PathBuf, path: RelPath) -> JournalFile {
    let content = match unread::root(&home) {
        Some(root) => read::read_entry(&root, &path, LIMIT).content,
        None => Content::Problem(ReadProblem::Missing),
    };
    if let Content::Problem(problem) = &content {
        unread::note(&path.under(&home), problem.clone());
    }
    JournalFile { home, path, content }
}

/// Returns whether what a journal says counts.
///
/// # Errors
///
/// If that cannot be found out.
pub(crate) fn standing(trusted: &Trusted, journal: &JournalFile) -> Result<JournalStanding, StoreError> {
    trusted.standing(&journal.home, journal.bytes())
}

/// Finishes the change of the last record of a journal that counts, if a killed writer began it and this user may write. Returns whether there was
/// one.
///
/// # Errors
///
/// If a writer holds the journal for too long, or what is left cannot be written.
pub(in crate::store) fn finish(project: &Project, journal: &JournalFile) -> Result<bool, StoreError> {
    match recorded::last_change(journal.bytes()) {
        Some(change) => finish_below(&trees(project), project, journal, &change),
        None => Ok(false),
    }
}

/// Returns the work trees of a project, below which a state can be.
fn trees(project: &Project) -> Vec<Root> {
    std::iter::once(&project.root).chain(project.worktrees()).filter_map(|tree| unread::root(tree)).collect()
}

fn finish_below(trees: &[Root], project: &Project, journal: &JournalFile, change: &Entry) -> Result<bool, StoreError> {
    if !trees.iter().any(|tree| recorded::is_pending(tree, change)) || !standing(&project.trusted, journal)?.is_ours() {
        return Ok(false);
    }
    let finish = || {
        let (_lock, bytes) = recorded::locked(journal, project.lock_timeout)?;
        let folder = journal.file().parent().map(Utf8Path::to_owned).unwrap_or_default();
        // Another process may have finished it, and begun the next.
        let Some(change) = recorded::last_change(&bytes) else { return Ok(true) };
        for tree in trees {
            recorded::pending(tree, &change).map_or(Ok(()), |record| txn::finish(tree, &folder, &record))?;
        }
        Ok::<_, StoreError>(true)
    };
    match finish() {
        Err(error) if error.is_write_refused() => Ok(false),
        finished => finished,
    }
}

/// Returns the journals of a project in the folders that are wanted.
pub(crate) fn all(project: &Project, is_wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = JournalFile> {
    let (first, other) = sessions::homes(project);
    [Some(first), other].into_iter().flatten().flat_map(move |home| {
        let names = unread::names(&home.join(RUNS)).unwrap_or_default().into_iter();
        // Those of workflow files, in the same place, have a journal for their state.
        let runs = names.filter(|entry| entry.is_dir && is_journal_folder(&entry.name) && is_wanted(&entry.name));
        let path = |run: &str| RelPath::parse(&format!("{RUNS}/{run}/{FILE}")).ok();
        runs.filter_map(|run| path(&run.name)).map(|path| in_home(home.clone(), path)).collect::<Vec<_>>()
    })
}

/// Returns the journals of archived runs.
pub(crate) fn archived(project: &Project) -> Vec<JournalFile> {
    let (first, other) = sessions::homes(project);
    let homes = [Some(first), other].into_iter().flatten();
    let found = homes.flat_map(|home| {
        let names = unread::names(&home.join(ARCHIVE)).unwrap_or_default().into_iter();
        let is_one = |name: &str| is_journal_folder(name) && archive::parts_of(name).is_some();
        let path = |name: &str| RelPath::parse(&format!("{ARCHIVE}/{name}/{FILE}")).ok();
        let runs = names.filter(|entry| entry.is_dir && is_one(&entry.name)).filter_map(|entry| path(&entry.name));
        runs.map(|path| in_home(home.clone(), path)).collect::<Vec<_>>()
    });
    found.collect()
}

/// Moves a journal into the archive. The folder of its run stays, with its lock. Returns the journal where it is then.
///
/// # Errors
///
/// When it cannot be moved.
pub(crate) fn archive(journal: &JournalFile, at: Timestamp) -> Result<JournalFile, StoreError> {
    let wanted = format!("{ARCHIVE}/{}_{}", journal.folder().path.name(), at.compact());
    let names = std::iter::once(wanted.clone()).chain((2..).map(|counter| format!("{wanted}-{counter}")));
    let mut free = names.filter_map(|name| RelPath::parse(&name).ok());
    let to = free.find(|to| !exists(&to.under(&journal.home))).expect("a number is free");
    moved(journal, to)
}

/// Moves an archived journal back. Returns it where it is then; `None` if the run was begun again.
///
/// # Errors
///
/// When it cannot be moved.
pub(crate) fn bring_back(journal: &JournalFile) -> Result<Option<JournalFile>, StoreError> {
    let folder = journal.folder();
    let run = archive::series_of(folder.path.name());
    let back = run.and_then(|run| RelPath::parse(&format!("{RUNS}/{run}")).ok());
    let is_free = |back: &RelPath| !exists(&back.under(&journal.home).join(FILE));
    let Some(back) = back.filter(is_free) else { return Ok(None) };
    let back = moved(journal, back)?;
    // Another file in it stays.
    let _ = calls::remove_dir(&folder.absolute());
    Ok(Some(back))
}

fn moved(journal: &JournalFile, to: RelPath) -> Result<JournalFile, StoreError> {
    let to = RunFolder { home: journal.home.clone(), path: to };
    let (real_from, real_to) = (journal.file(), data_dir::create(&to)?.join(FILE));
    calls::rename(&real_from, &real_to).map_err(|source| StoreError::io(&real_from, source))?;
    stage::sync_dirs([&real_from, &real_to].into_iter().filter_map(|path| path.parent()))?;
    let path = to.path.join(FILE).unwrap_or(to.path);
    Ok(JournalFile { home: to.home, path, content: journal.content.clone() })
}

/// Finishes the changes of all journals of a project: a run that was about to begin is found nowhere else. Returns how many there were.
pub(crate) fn finish_all(project: &Project) -> usize {
    let trees = OnceCell::new();
    let is_finished = |journal: &JournalFile| {
        let change = recorded::last_change(journal.bytes())?;
        finish_below(trees.get_or_init(|| self::trees(project)), project, journal, &change).ok()
    };
    all(project, |_| true).filter(|journal| is_finished(journal) == Some(true)).count()
}

/// Sets a journal aside that came with the project, and returns its new path; another one can then be begun.
///
/// # Errors
///
/// When it cannot be renamed.
pub(crate) fn set_aside(journal: &Utf8Path) -> Result<Utf8PathBuf, StoreError> {
    let names = (1..).map(|number| journal.with_file_name(format!("journal.refused-{number}.jsonl")));
    let aside = names.into_iter().find(|name| name.symlink_metadata().is_err()).expect("a number is free");
    nofollow::rename(journal, &aside).map_err(|source| StoreError::io(journal, source))?;
    Ok(aside)
}

/// Returns for each attempt that goes on, by step and number, whether its driver is still there. `caller`: with the name that its records have.
pub(crate) fn presences<'a>(
    files: &FileSet,
    run: &Run,
    attempts: impl Iterator<Item = &'a Attempt>,
    caller: impl FnOnce() -> (Caller, Option<Uid>),
) -> BTreeMap<(StepId, u32), Presence> {
    let in_progress = run.steps.iter().filter(|step| step.status == Status::InProgress);
    let in_progress: BTreeSet<&StepId> = in_progress.map(|step| &step.id).collect();
    let attempts: Vec<&Attempt> = attempts.filter(|attempt| in_progress.contains(&attempt.step)).collect();
    if attempts.is_empty() {
        return BTreeMap::new();
    }
    let (caller, name) = caller();
    let presence = |attempt: &Attempt| {
        let presence = local::presence(&files.local, attempt.about.driver, (&caller, name), files.clock);
        ((attempt.step.clone(), attempt.attempt), presence)
    };
    attempts.into_iter().map(presence).collect()
}

#[cfg(test)]
#[path = "journals_tests.rs"]
mod tests;
