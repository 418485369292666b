//! Commits the changes of a run with what was said about them: in its journal, which is its state or lies beside that.

use std::cell::RefCell;

use super::{OpError, journal, opened_run::OpenedRun};
use crate::{
    dialect::{StateHome, piton::Session},
    model::{Candidate, ChangedFile, Content, Edit, EditKind, Entry, JournalFile, sha256_hex},
    store::{self, CheckpointMeta, JournalAppend, LogStanding, Project, RunLock, StoreError, Trusted},
};

/// What this process wrote to the journal of a run that it has locked, beyond what was read.
#[derive(Debug, Default)]
pub(super) struct Written(RefCell<Option<Vec<u8>>>);

impl Written {
    /// Commits edits with an entry, and returns the history id of what they replaced, with the edits as they were made.
    pub(super) fn commit(
        &self,
        opened: &OpenedRun,
        lock: &RunLock,
        entry: Entry,
        (edits, meta): (Vec<Edit>, &CheckpointMeta),
    ) -> Result<(Option<String>, Vec<Edit>), OpError> {
        match (opened.dialect.state_home(), &opened.files.journal) {
            (StateHome::Home, _) => self.commit_own(opened, lock, entry, (edits, meta)),
            (StateHome::Project, Some(journal)) => self.commit_beside(opened, lock, entry, (edits, meta), journal),
            (StateHome::Project | StateHome::Client, _) => {
                let replaced = store::commit(lock, &edits, meta)?.replaced;
                Ok((replaced, edits))
            }
        }
    }

    /// Commits a change of a run whose state is the journal.
    fn commit_own(
        &self,
        opened: &OpenedRun,
        lock: &RunLock,
        entry: Entry,
        (mut edits, meta): (Vec<Edit>, &CheckpointMeta),
    ) -> Result<(Option<String>, Vec<Edit>), OpError> {
        let says = !entry.said.is_empty() || !entry.left.is_empty() || entry.back.is_some() || !entry.note.is_null();
        if !says && edits.is_empty() {
            return Ok((None, edits));
        }
        if says {
            let mut files = opened.files.clone();
            if let (Some(bytes), Some(state)) = (&*self.0.borrow(), files.files.get_mut(&files.state)) {
                state.content = Content::Bytes(bytes.as_slice().into());
            }
            let session = Session::read(&files).map_err(|finding| OpError::Unreadable {
                message: finding.message.clone(),
                findings: vec![*finding],
            })?;
            edits = session.with_entry(edits, entry)?;
            let grown = edits.iter().find_map(|edit| match &edit.kind {
                EditKind::Append { bytes, .. } if edit.path == files.state => Some(bytes),
                EditKind::Append { .. }
                | EditKind::Create { .. }
                | EditKind::Replace { .. }
                | EditKind::Remove { .. } => None,
            });
            let before = files.bytes(&files.state).unwrap_or_default();
            let after = grown.map(|grown| [before, grown].concat());
            let replaced = store::commit(lock, &edits, meta)?.replaced;
            *self.0.borrow_mut() = after;
            return Ok((replaced, edits));
        }
        let replaced = store::commit(lock, &edits, meta)?.replaced;
        Ok((replaced, edits))
    }

    /// Commits a change of a run with a journal beside its state.
    fn commit_beside(
        &self,
        opened: &OpenedRun,
        lock: &RunLock,
        entry: Entry,
        (edits, meta): (Vec<Edit>, &CheckpointMeta),
        journal: &JournalFile,
    ) -> Result<(Option<String>, Vec<Edit>), OpError> {
        let mut journal = journal.clone();
        if let Some(bytes) = &*self.0.borrow() {
            journal.content = Content::Bytes(bytes.as_slice().into());
        }
        let (replaced, after) = commit_with(&opened.trusted, lock, &journal, entry, (&edits, meta))?;
        *self.0.borrow_mut() = Some(after);
        Ok((replaced, edits))
    }
}

/// Commits the edits that begin a run of another system, with the first record of its journal.
pub(super) fn commit_start(
    project: &Project,
    candidate: &Candidate,
    lock: &RunLock,
    (edits, meta): (&[Edit], &CheckpointMeta),
    session: Option<String>,
) -> Result<(), OpError> {
    let entry = Entry { session, ..Entry::new("start", None, meta.at) };
    let trusted = &project.trusted;
    let journal = store::journals::of(project, candidate);
    match journal
        .map(|journal| Ok::<_, StoreError>((store::journals::standing(trusted, &journal)?, journal)))
        .transpose()?
    {
        // Nothing is added to a journal that came with the project: the plan asks about it.
        None | Some((LogStanding::Foreign, _)) => Ok(store::commit(lock, edits, meta).map(drop)?),
        Some((_, journal)) => commit_with(trusted, lock, &journal, entry, (edits, meta)).map(drop),
    }
}

/// Commits edits and a record as one. Returns the history id of what was replaced, and the journal after it.
fn commit_with(
    trusted: &Trusted,
    lock: &RunLock,
    journal: &JournalFile,
    mut entry: Entry,
    (edits, meta): (&[Edit], &CheckpointMeta),
) -> Result<(Option<String>, Vec<u8>), OpError> {
    entry.files = edits.iter().map(changed).collect();
    let (end, _) = journal::end_of(journal);
    let line = end.note(entry).0;
    let after = [journal.bytes(), &line].concat();
    if journal.bytes().is_empty() {
        // Entered before it is written: a call that is killed in between leaves an entry of nothing.
        trusted.enter_log(&journal.file(), &line)?;
    }
    let replaced = store::commit_recorded(lock, edits, meta, &JournalAppend { journal, line })?.replaced;
    Ok((replaced, after))
}

/// Returns the digests of what an edit replaces.
fn changed(edit: &Edit) -> ChangedFile {
    let (before, after): (Option<&[u8]>, Option<&[u8]>) = match &edit.kind {
        EditKind::Create { after } => (None, Some(after)),
        EditKind::Replace { before, after } => (Some(before), Some(after)),
        EditKind::Remove { before } => (Some(before), None),
        EditKind::Append { .. } => (None, None),
    };
    ChangedFile { path: edit.path.clone(), before: before.map(sha256_hex), after: after.map(sha256_hex) }
}
