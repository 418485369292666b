//! Commits the changes of a run with what was said about them: in its journal, which is its state or lies beside that.

use std::cell::RefCell;

use super::{OpError, journal, opened_run::OpenedRun};
use crate::{
    dialect::{
        StateHome,
        piton::{Session, record::JournalEnd},
    },
    model::{Candidate, ChangedFile, Content, Edit, EditKind, Entry, JournalFile, sha256_hex},
    store::{self, CheckpointMeta, JournalAppend, JournalStanding, Project, RunLock, StoreError, Trusted},
};

/// What this process wrote to the journal of a run that it has locked, beyond what was read.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The state, where that is the journal.
    own: RefCell<Option<Vec<u8>>>,
    /// The journal beside the state.
    beside: RefCell<Option<GrownJournal>>,
}

/// A journal with the records that were appended to it.
#[derive(Debug)]
struct GrownJournal {
    bytes: Vec<u8>,
    end: JournalEnd,
}

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
            (StateHome::Project, Some(journal)) => {
                let (mut journal, mut end) = (journal.clone(), opened.journal_end.clone());
                if let Some(grown) = &*self.beside.borrow() {
                    journal.content = Content::Bytes(grown.bytes.as_slice().into());
                    end.clone_from(&grown.end);
                }
                let (replaced, grown) = commit_with(&opened.trusted, lock, (&journal, &end), entry, (&edits, meta))?;
                *self.beside.borrow_mut() = Some(grown);
                Ok((replaced, edits))
            }
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
        let mut files = opened.files.clone();
        if let (Some(bytes), Some(state)) = (&*self.own.borrow(), files.files.get_mut(&files.state)) {
            state.content = Content::Bytes(bytes.as_slice().into());
        }
        if entry.says_something() {
            let session = Session::read(&files).map_err(|finding| OpError::Unreadable {
                message: finding.message.clone(),
                findings: vec![*finding],
            })?;
            edits = session.with_entry(edits, entry)?;
        }
        if edits.is_empty() {
            return Ok((None, edits));
        }
        let replaced = store::commit(lock, &edits, meta)?.replaced;
        let appended = edits.iter().find_map(|edit| match &edit.kind {
            EditKind::Append { bytes, .. } if edit.path == files.state => Some(bytes),
            EditKind::Append { .. } | EditKind::Create { .. } | EditKind::Replace { .. } | EditKind::Remove { .. } => {
                None
            }
        });
        if let Some(appended) = appended {
            let before = files.bytes(&files.state).unwrap_or_default();
            *self.own.borrow_mut() = Some([before, appended].concat());
        }
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
    let standing = |journal: JournalFile| Ok::<_, StoreError>((store::journals::standing(trusted, &journal)?, journal));
    match store::journals::of(project, candidate).map(standing).transpose()? {
        // Nothing is added to a journal that came with the project: the plan asks about it.
        None | Some((JournalStanding::Foreign, _)) => Ok(store::commit(lock, edits, meta).map(drop)?),
        Some((_, journal)) => {
            let end = journal::read(trusted, &journal).end;
            commit_with(trusted, lock, (&journal, &end), entry, (edits, meta)).map(drop)
        }
    }
}

/// Commits edits and a record as one. Returns the history id of what was replaced, and the journal after it.
fn commit_with(
    trusted: &Trusted,
    lock: &RunLock,
    (journal, end): (&JournalFile, &JournalEnd),
    mut entry: Entry,
    (edits, meta): (&[Edit], &CheckpointMeta),
) -> Result<(Option<String>, GrownJournal), OpError> {
    entry.files = edits.iter().map(changed).collect();
    let (line, end) = end.note(entry);
    let grown = GrownJournal { bytes: [journal.bytes(), &line].concat(), end };
    if journal.bytes().is_empty() {
        // Entered before it is written: a call that is killed in between leaves an entry of nothing.
        trusted.enter_journal(&journal.file(), &line)?;
    }
    let replaced = store::commit_recorded(lock, edits, meta, &JournalAppend { journal, line })?.replaced;
    Ok((replaced, grown))
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
