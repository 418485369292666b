//! Moves the state of a run into an archive, and back. Only the oldest archives are deleted, of systems that limit their number.

use camino::Utf8PathBuf;

use super::{
    OpError,
    archived::{self, ArchivedRun, Kept},
    commit,
    journal::{self, ARCHIVED},
    lifecycle::gone,
    locked_run::LockedRun,
    opened_run::{OpenedRun, located_message, run_word},
    project_context::ProjectContext,
    proposal::RestoreReport,
    run_location::RunLocation,
    select::Selected,
};
use crate::{
    dialect::{Archival, EditError, Moved, Register, StateHome, by_id},
    engine::{self, Admitted, Refusal, RefusalKind},
    model::{
        Candidate, ChangeKind, Content, DecisionKind, Edit, EditKind, Entry, FindingCode, JournalFile, LostContent, No,
        ReadProblem, RelPath, Statement, Suggested, Verb,
    },
    store::{self, CheckpointMeta, RunLock, StoreError},
};

/// The change that brings an archived run back.
const BACK: &str = "restore";

/// Refuses a run in a newer format, of which it is not known what belongs to it.
pub(super) fn check_not_newer(opened: &OpenedRun) -> Result<(), OpError> {
    let newer = opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::FormatNewer);
    newer.map_or(Ok(()), |newer| {
        let (message, hints) = (located_message(newer), newer.fix.iter().cloned().collect());
        Err(OpError::Refused(Refusal { kind: RefusalKind::Newer, message, hints }))
    })
}

/// Options of an archive.
#[derive(Clone, Debug, Default)]
pub(crate) struct ArchiveRequest {
    /// The [`ChangeKind::Abort`] that it carries out: the state is archived as it is.
    pub(crate) abort: Option<ChangeKind>,
    pub(crate) if_revision: Option<String>,
}

/// Moves the state into the archive of its system, if it has one, else into that of Piton. Returns the folder that it is in; absolute.
pub(crate) fn archive_run(
    ctx: &ProjectContext,
    location: &RunLocation,
    request: ArchiveRequest,
) -> Result<Utf8PathBuf, OpError> {
    let locked = LockedRun::open(ctx, location)?;
    locked.check_not_driven()?;
    let opened = &locked.opened;
    check_not_newer(opened)?;
    if let Some(run) = &opened.loaded.run {
        opened.check_revision(run, request.if_revision.as_deref())?;
    }
    let said = request.abort.map_or(Ok(None), |abort| said_of(&locked, abort))?;
    let record = || Entry { said: said.clone().into_iter().collect(), ..locked.entry(ARCHIVED, None) };
    let Some(archival) = opened.dialect.archives().archive(&opened.files, opened.loaded.run.as_ref(), ctx.clock.now)?
    else {
        return locked.archive_in_journal(record());
    };
    match archival.moved {
        Moved::Folder(from) if from == archival.to => Ok(archival.to.under(&location.root)),
        Moved::Folder(from) => {
            let to = store::archive::free_folder(locked.lock(), &archival.to)?;
            let archives = opened.dialect.archives();
            let entered = archival.register.map(|register| {
                let with = |list: &Content| archives.add_to_register(&register, list, &to);
                RegisterEntry::open(ctx, &locked, &register, with)
            });
            let entered = entered.transpose()?;
            // The process may end after any of these; the next `close` does the rest. A refusal takes back what was written.
            locked.commit_something(record(), archival.edits.clone())?;
            let entry = entered.as_ref();
            let written = entry.map_or(Ok(()), |entry| entry.commit(&entry.edit));
            let moved = written.and_then(|()| Ok(store::move_folder(locked.lock(), &from, &to)?));
            match moved {
                Ok(()) => Ok(to.under(&location.root)),
                // The copy in the archive is complete.
                Err(error @ OpError::Store(StoreError::NotRolledBack { .. })) => Err(error),
                Err(error) => {
                    // The entries of other runs stay: only what is as it was written is taken back.
                    let _ = entry.map_or(Ok(()), |entry| entry.commit(&inverse(&entry.edit)));
                    let again = said.iter().filter_map(|said| said.taken_back(locked.clock().now));
                    let again = Entry { said: again.collect(), ..locked.entry(ARCHIVED, None) };
                    let _ = locked.commit_something(again, inverse(&archival.edits));
                    Err(error)
                }
            }
        }
        Moved::Files(files) => {
            let to = store::archive::free_folder(locked.lock(), &archival.to)?;
            locked.move_files(record(), &files, &to)?;
            store::archive::prune(locked.lock(), &to, ctx.project.config.limits.archives)?;
            Ok(to.under(&location.root))
        }
    }
}

/// Returns the record of an abort, once it is admitted; `None` for a run that was aborted before.
fn said_of(locked: &LockedRun<'_>, abort: ChangeKind) -> Result<Option<Statement>, OpError> {
    let opened = &locked.opened;
    let change = locked.stamped(abort);
    let ChangeKind::Abort { by, reason } = change.kind.clone() else { return Ok(None) };
    let is_new = match &opened.loaded.run {
        Some(run) => {
            let admitted = engine::admit(
                run,
                (&locked.evidence(), &opened.loaded.findings),
                change.clone(),
                locked.limits(),
                None,
            );
            matches!(admitted.map_err(OpError::Refused)?, Admitted::Change { .. })
        }
        None => true,
    };
    // What is said with it counts. The folder of the records of a workflow file is archived as it is.
    let is_own = opened.dialect.state_home() == StateHome::Home;
    if reason.is_none() && (!is_new || is_own && by.is_none()) {
        return Ok(None);
    }
    let run = opened.loaded.run.as_ref().map_or(opened.candidate.name.as_str(), |run| run.id.as_str());
    Ok(Some(Statement::about_run((run, opened.candidate.dialect), DecisionKind::Abort, (by, reason), change.at)))
}

/// Brings an archived run back where it was; `None` for a run that is not archived, and for one whose path is to be used once more and is gone then.
pub(super) fn bring_back(
    ctx: &ProjectContext,
    selected: &Selected,
    is_named_again: bool,
) -> Result<Option<RestoreReport>, OpError> {
    let back = |name: &str, from, files| RestoreReport { from, files, written: true, ..RestoreReport::new(name) };
    match selected {
        Selected::There(location) => {
            if !by_id(location.candidate.dialect).archives().is_among(&location.candidate.state) {
                return Ok(None);
            }
            let folder = folder_back(ctx, location)?;
            Ok(folder.map(|folder| back(&location.candidate.name, location.candidate.state.to_string(), vec![folder])))
        }
        Selected::Archived(_) if is_named_again => Ok(None),
        Selected::Archived(run) => {
            match run.as_it_lies() {
                Some(location) => folder_back(ctx, &location).map(drop),
                None => files_back(ctx, run),
            }?;
            Ok(Some(back(&run.name, archived::shown(ctx, &run.folder), run.originals())))
        }
    }
}

/// Moves the folder of a run back that is archived as one. Returns where it is then.
fn folder_back(ctx: &ProjectContext, location: &RunLocation) -> Result<Option<RelPath>, OpError> {
    let locked = LockedRun::open(ctx, location)?;
    let opened = &locked.opened;
    let archival = opened.dialect.archives().bring_back(&opened.files);
    let Some(Archival { moved: Moved::Folder(from), to, edits, register }) = archival else { return Ok(None) };
    locked.check_not_driven()?;
    let entries = &opened.journal.entries;
    let archived = entries.iter().rposition(|entry| entry.change == ARCHIVED);
    let record = archived.map(|at| &entries[at]);
    let was_in = |entry: &Entry| {
        let mut folders = entry.files.iter().filter_map(|file| file.path.parent());
        folders.find(|folder| folder.name() == from.name() && *folder != from)
    };
    let to = record.and_then(was_in).unwrap_or(to);
    if store::unread::exists(&to.under(&location.root)) {
        let candidate = Candidate { state: to.clone(), ..location.candidate.clone() };
        let again = archived::restore_command(ctx, &from.under(&location.root));
        return Err(in_the_way(to.as_str(), &run_word(&candidate), again));
    }
    let moved = |path: &RelPath| match path.as_str().strip_prefix(from.as_str())?.trim_start_matches('/') {
        "" => Some(to.clone()),
        below => to.join(below).ok(),
    };
    let mut edits: Vec<Edit> =
        edits.into_iter().filter_map(|edit| Some(Edit { path: moved(&edit.path)?, ..edit })).collect();
    let removed = record.map_or(&[][..], |entry| &entry.files).iter().filter(|file| file.after.is_none());
    let before = archived.and_then(|at| engine::versions::before(entries, at + 1)).unwrap_or_default();
    let again = removed.filter(|file| !store::unread::exists(&file.path.under(&location.root)));
    edits.extend(again.filter_map(|file| {
        let after = before.get(&file.path)?.clone();
        Some(Edit { path: file.path.clone(), kind: EditKind::Create { after } })
    }));
    // The process may end after any of these: the next `restore` does the rest, and a stamp that is left in a session says nothing there.
    locked.commit_something(brought_back(locked.entry(BACK, None), record), Vec::new())?;
    if let Some(register) = register {
        let without = |list: &Content| opened.dialect.archives().remove_from_register(&register, list, &from);
        RegisterEntry::open(ctx, &locked, &register, without)?.commit_all()?;
    }
    store::move_folder(locked.lock(), &from, &to)?;
    let state = moved(&location.candidate.state);
    drop(locked);
    let open = ctx.locations().0.into_iter().chain(ctx.ended_runs().ended);
    let mut open = open.filter(|there| there.root == location.root && Some(&there.candidate.state) == state.as_ref());
    if let Some(there) = open.next().filter(|_| !edits.is_empty()) {
        LockedRun::open(ctx, &there)?.commit_as(BACK, edits)?;
    }
    Ok(Some(to))
}

/// Makes the files of a run again that are in an archive of its system, or in its journal, which is moved back first if it was moved away.
fn files_back(ctx: &ProjectContext, archived: &ArchivedRun) -> Result<(), OpError> {
    let candidate = archived::candidate(ctx, archived);
    let mut edits = Vec::new();
    for (original, content) in archived.contents() {
        if store::read_file(&archived.root, &original) != Content::Problem(ReadProblem::Missing) {
            return Err(in_the_way(
                original.as_str(),
                &run_word(&candidate),
                archived::restore_command(ctx, &archived.folder),
            ));
        }
        let (path, kind) = match content {
            Content::Bytes(bytes) => (original, EditKind::Create { after: bytes.to_vec() }),
            Content::NameOnly => continue,
            Content::Problem(problem) => {
                let path = archived.folder.join(original.name());
                return Err(StoreError::Unreadable { path, problem }.into());
            }
        };
        edits.push(Edit { path, kind });
    }
    let own = store::journals::folder_of(&ctx.project, &archived.root, &candidate);
    let lock = || RunLock::acquire(&archived.root, &own, ctx.project.lock_timeout);
    match &archived.kept {
        Kept::Journal { journal, .. } => {
            check_folder(ctx, archived, &candidate)?;
            let lock = lock()?;
            let journal = journal_back(ctx, archived, &candidate, journal)?;
            commit_back(ctx, &lock, &journal, &edits)
        }
        Kept::Files { files, .. } => {
            let removed = files.iter().zip(&edits).filter_map(|((path, _), edit)| {
                Some(Edit { path: path.clone(), kind: EditKind::Remove { before: edit.after()?.into() } })
            });
            let removed: Vec<Edit> = removed.collect();
            edits.extend(removed);
            let lock = lock()?;
            match store::journals::of(&ctx.project, &candidate) {
                Some(journal) if store::journals::standing(&ctx.project.trusted, &journal)?.is_ours() => {
                    commit_back(ctx, &lock, &journal, &edits)?;
                }
                Some(_) | None => store::commit(&lock, &edits, &CheckpointMeta::new(BACK))?,
            }
            let folder = RelPath::below(&archived.folder, &archived.root);
            Ok(folder.map_or(Ok(()), |folder| store::archive::remove_empty(&lock, &folder))?)
        }
    }
}

/// Returns the journal of an archived run where it was. That of a run of the same name is moved away if that one is archived too.
fn journal_back(
    ctx: &ProjectContext,
    archived: &ArchivedRun,
    candidate: &Candidate,
    journal: &JournalFile,
) -> Result<JournalFile, OpError> {
    let there = store::journals::of(&ctx.project, candidate);
    if let Some(there) = &there {
        if there.file() == journal.file() {
            return Ok(journal.clone());
        }
        if journal::read(&ctx.project.trusted, there).is_archived() {
            store::journals::archive(there, ctx.clock.now)?;
        }
    }
    let back = store::journals::bring_back(journal)?;
    back.ok_or_else(|| {
        let what = format!("a run {}", archived.name);
        in_the_way(&what, &archived.name, archived::restore_command(ctx, &archived.folder))
    })
}

/// Commits the files of a run that is back, with the record of that in its journal.
fn commit_back(ctx: &ProjectContext, lock: &RunLock, journal: &JournalFile, edits: &[Edit]) -> Result<(), OpError> {
    let entry = Entry { session: ctx.environment.session.clone(), ..Entry::new(BACK, None, ctx.clock.now) };
    let read = journal::read(&ctx.project.trusted, journal);
    let entry = brought_back(entry, read.entries.last().filter(|_| read.is_archived()));
    commit::commit_to(&ctx.project.trusted, lock, journal, entry, edits)
}

/// Adds to the record of a run that is brought back that an abort which archived it is taken back.
fn brought_back(entry: Entry, archived: Option<&Entry>) -> Entry {
    let said = archived.into_iter().flat_map(|entry| &entry.said);
    Entry { said: said.filter_map(|said| said.taken_back(entry.at)).collect(), ..entry }
}

/// Refuses if the worktree that held the state is gone, with how to make it again.
fn check_folder(ctx: &ProjectContext, archived: &ArchivedRun, candidate: &Candidate) -> Result<(), OpError> {
    let folder = candidate.state.parent();
    if folder.is_none_or(|folder| store::unread::exists(&folder.under(&archived.root))) {
        return Ok(());
    }
    let mut files = store::file_set(&ctx.project, &archived.root, candidate, ctx.clock)?;
    let state = archived.contents().into_iter().find(|(path, _)| *path == candidate.state);
    let lost = state.and_then(|(_, content)| match content {
        Content::Bytes(bytes) => Some(LostContent { bytes, has_folder: false }),
        Content::NameOnly | Content::Problem(_) => None,
    });
    (files.lost, files.journal) = (lost, None);
    let opened = OpenedRun::new(candidate.clone(), files, &ctx.project.trusted);
    gone(&opened).map_or(Ok(()), |refusal| Err(OpError::Refused(refusal)))
}

/// Returns the refusal to bring a run back where another one is, with the command that ends that.
fn in_the_way(what: &str, other: &str, again: Suggested) -> OpError {
    let hints = [Suggested::of(Verb::Close, other).flag("abort"), again].map(Into::into).into();
    OpError::InTheWay { why: No::Already, message: format!("{what} is there already; nothing was restored"), hints }
}

/// A change of a system's register of archives. The register is shared by several runs, so it has its own lock and history:
/// restoring one run never removes the entries of others.
struct RegisterEntry {
    lock: RunLock,
    edit: Vec<Edit>,
}

impl RegisterEntry {
    /// Locks and reads the register, so that an unusable one is detected before anything is written.
    fn open(
        ctx: &ProjectContext,
        locked: &LockedRun<'_>,
        register: &Register,
        edit: impl FnOnce(&Content) -> Result<Option<Edit>, EditError>,
    ) -> Result<Self, OpError> {
        let root = &locked.opened.files.root;
        let own = store::journals::common_folder(&ctx.project, "register");
        let lock = RunLock::acquire(root, &own, ctx.project.lock_timeout)?;
        let edit = edit(&store::read_file(root, &register.file))?;
        Ok(Self { lock, edit: edit.into_iter().collect() })
    }

    fn commit_all(&self) -> Result<(), OpError> {
        self.commit(&self.edit)
    }

    fn commit(&self, edits: &[Edit]) -> Result<(), OpError> {
        if !edits.is_empty() {
            store::commit(&self.lock, edits, &CheckpointMeta::new("archive"))?;
        }
        Ok(())
    }
}

/// Returns the edits that take edits back.
fn inverse(edits: &[Edit]) -> Vec<Edit> {
    let inverse = |edit: &Edit| {
        let kind = match &edit.kind {
            EditKind::Create { after } => EditKind::Remove { before: after.as_slice().into() },
            EditKind::Replace { before, after } => {
                EditKind::Replace { before: after.as_slice().into(), after: before.to_vec() }
            }
            EditKind::Remove { before } => EditKind::Create { after: before.to_vec() },
            EditKind::Append { .. } => return None,
        };
        Some(Edit { path: edit.path.clone(), kind })
    };
    edits.iter().filter_map(inverse).collect()
}
