//! Moves the state of a run into an archive, and back where its system keeps it as a run. Only the oldest archives are deleted, of systems that limit their
//! number.

use camino::Utf8PathBuf;

use super::{
    OpError,
    journal::ARCHIVED,
    locked_run::LockedRun,
    opened_run::{OpenedRun, located_message},
    project_context::ProjectContext,
    run_location::RunLocation,
};
use crate::{
    dialect::{Archival, EditError, Moved, Register, StateHome, by_id},
    engine::{self, Admitted, Refusal, RefusalKind},
    model::{
        ChangeKind, Content, DecisionKind, Edit, EditKind, Entry, FindingCode, Fix, No, RelPath, Statement, Suggested,
        Verb,
    },
    store::{self, CheckpointMeta, RunLock, StoreError},
};

/// Refuses a run in a newer format, of which it is not known what belongs to it.
pub(super) fn check_not_newer(opened: &OpenedRun) -> Result<(), OpError> {
    let newer = opened.loaded.findings.iter().find(|finding| finding.code == FindingCode::FormatNewer);
    newer.map_or(Ok(()), |newer| {
        let (message, hints) = (located_message(newer), newer.fix.iter().map(Fix::to_string).collect());
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
    let mut change = locked.stamped(abort);
    let has_words = matches!(&change.kind, ChangeKind::Abort { reason: Some(_), .. });
    let is_own = opened.dialect.state_home() == StateHome::Home;
    let again = change.clone();
    if let Some(run) = &opened.loaded.run {
        let admitted = engine::admit(run, &locked.evidence(), &opened.loaded.findings, change, locked.limits());
        match admitted.map_err(OpError::Refused)? {
            Admitted::Change { change: admitted, .. } => change = admitted,
            // What is said with it counts.
            Admitted::Already(_) if has_words => change = again,
            Admitted::Already(_) => return Ok(None),
        }
    }
    // The folder of its records is archived as it is.
    if is_own && !has_words {
        return Ok(None);
    }
    let ChangeKind::Abort { by, reason } = change.kind else { return Ok(None) };
    let run = opened.loaded.run.as_ref().map_or(opened.candidate.name.as_str(), |run| run.id.as_str());
    Ok(Some(Statement::about_run((run, opened.candidate.dialect), DecisionKind::Abort, (by, reason), change.at)))
}

/// Moves a run back that its system keeps as a run among its archives. Returns the folder that it is in; `None` for every other run.
pub(super) fn bring_back(ctx: &ProjectContext, location: &RunLocation) -> Result<Option<RelPath>, OpError> {
    if !by_id(location.candidate.dialect).archives().is_among(&location.candidate.state) {
        return Ok(None);
    }
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
        folders.find(|folder| folder.name() == from.name())
    };
    let to = record.and_then(was_in).unwrap_or(to);
    if store::unread::exists(&to.under(&location.root)) {
        let message = format!("{to} is there already; nothing was restored");
        let hints = vec![Suggested::of(Verb::Close, format!("./{to}")).flag("abort").into()];
        return Err(OpError::InTheWay { why: No::Already, message, hints });
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
    let said = record.into_iter().flat_map(|entry| &entry.said);
    let said = said.filter_map(|said| said.taken_back(locked.clock().now)).collect();
    // The process may end after any of these: the next `restore` does the rest, and a stamp that is left in a session says nothing there.
    locked.commit_something(Entry { said, ..locked.entry("restore", None) }, Vec::new())?;
    if let Some(register) = register {
        let without = |list: &Content| opened.dialect.archives().remove_from_register(&register, list, &from);
        RegisterEntry::open(ctx, &locked, &register, without)?.commit_all()?;
    }
    store::move_folder(locked.lock(), &from, &to)?;
    let state = moved(&location.candidate.state);
    drop(locked);
    let open = ctx.locations().0.into_iter().chain(ctx.ended_runs().ended);
    let there =
        open.into_iter().find(|there| there.root == location.root && Some(&there.candidate.state) == state.as_ref());
    if let Some(there) = there {
        LockedRun::open(ctx, &there)?.commit_as("restore", edits)?;
    }
    Ok(Some(to))
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
