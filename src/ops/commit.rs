//! Commits the changes of a run with what was said about them: in its journal, which is its state or lies beside that.

use std::{cell::RefCell, collections::BTreeMap};

use super::{
    OpError,
    journal::{self, ReadJournal},
    opened_run::OpenedRun,
    project_context::ProjectContext,
    versions,
};
use crate::{
    dialect::{
        StateHome,
        piton::{Session, record::JournalEnd},
    },
    engine::{self, share::LastRecords},
    model::{Candidate, ChangedFile, Content, Edit, EditKind, Entry, FileSet, JournalFile, RelPath, Timestamp},
    store::{self, CheckpointMeta, JournalAppend, JournalStanding, RunLock, StoreError, Trusted},
};

/// What this process wrote to the journal of a run that it has locked, beyond what was read.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// The state, where that is the journal.
    own: RefCell<Option<Vec<u8>>>,
    /// The journal beside the state.
    beside: RefCell<Option<GrownJournal>>,
}

/// A journal as it is after some records.
#[derive(Clone, Debug)]
struct GrownJournal {
    file: JournalFile,
    end: JournalEnd,
    standing: LastRecords,
    /// The digest that each state file was recorded with last.
    digests: BTreeMap<RelPath, String>,
}

impl GrownJournal {
    fn of(file: &JournalFile, read: &ReadJournal) -> Self {
        let digests = engine::versions::last_digests(&read.entries).into_iter();
        let digests = digests.map(|(path, digest)| (path.clone(), digest.to_owned())).collect();
        Self { file: file.clone(), end: read.end.clone(), standing: read.standing.clone(), digests }
    }

    /// Returns what other programs wrote to the state files that the edits leave as they are.
    fn found(&self, files: &FileSet, edits: &[Edit]) -> Vec<ChangedFile> {
        let left = self.digests.iter().filter(|(path, _)| edits.iter().all(|edit| edit.path != **path));
        left.filter_map(|(path, last)| ChangedFile::found(path, files.bytes(path)?, last)).collect()
    }

    /// Commits edits and a record as one. Returns the name of the version that they replaced.
    fn commit(
        &mut self,
        trusted: &Trusted,
        lock: &RunLock,
        mut entry: Entry,
        (edits, meta): (&[Edit], &CheckpointMeta),
    ) -> Result<Option<String>, OpError> {
        entry.files.extend(edits.iter().map(|edit| ChangedFile::of(edit, self.digests.get(&edit.path))));
        let is_replaced = entry.files.iter().any(ChangedFile::replaces);
        let digests: Vec<_> = entry.files.iter().map(|file| (file.path.clone(), file.after.clone())).collect();
        let record = self.end.note(&self.standing, entry);
        let (line, end) = self.end.append(&record);
        if self.file.bytes().is_empty() {
            // Entered before it is written: a call that is killed in between leaves an entry of nothing.
            trusted.enter_journal(&self.file.home, &line)?;
        }
        let bytes = [self.file.bytes(), &line].concat();
        store::commit_recorded(lock, edits, meta, &JournalAppend { journal: &self.file, line })?;
        self.file.content = Content::Bytes(bytes.into());
        self.end = end;
        self.standing.take(record.said());
        for (path, after) in digests {
            match after {
                Some(digest) => self.digests.insert(path, digest),
                None => self.digests.remove(&path),
            };
        }
        Ok(is_replaced.then(|| versions::name_of(self.end.seq.try_into().unwrap_or(usize::MAX))))
    }
}

impl Written {
    /// Commits edits with an entry. Returns the name of the version that they replaced, with the edits as they were made.
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
                let mut grown = self.beside.borrow_mut();
                let is_as_read = grown.is_none();
                let grown = grown.get_or_insert_with(|| GrownJournal::of(journal, &opened.journal));
                let found = if is_as_read { grown.found(&opened.files, &edits) } else { Vec::new() };
                let entry = Entry { files: found, ..entry };
                let replaced = grown.commit(&opened.trusted, lock, entry, (&edits, meta))?;
                Ok((replaced, edits))
            }
            (StateHome::Project | StateHome::Client, _) => {
                store::commit(lock, &edits, meta)?;
                Ok((None, edits))
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
        let session = Session::read(&files)
            .map_err(|finding| OpError::Unreadable { message: finding.message.clone(), findings: vec![*finding] })?;
        edits = session.with_entry(edits, entry)?;
        if edits.is_empty() {
            return Ok((None, edits));
        }
        store::commit(lock, &edits, meta)?;
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
        Ok((None, edits))
    }
}

/// Commits the edits that begin a run of another system, with the first record of its journal.
pub(super) fn commit_start(
    ctx: &ProjectContext,
    candidate: &Candidate,
    lock: &RunLock,
    edits: &[Edit],
    at: Timestamp,
) -> Result<(), OpError> {
    let project = &ctx.project;
    let entry = Entry { about: ctx.about(), ..Entry::new("start", None, at) };
    let trusted = &project.trusted;
    let standing = |journal: JournalFile| Ok::<_, StoreError>((store::journals::standing(trusted, &journal)?, journal));
    let mut begun = store::journals::of(project, candidate).map(standing).transpose()?;
    if let Some((JournalStanding::Ours, before)) = &begun
        && journal::read(trusted, before).is_archived()
    {
        // A run that is begun again under the name of an archived one has a journal of its own.
        store::journals::archive(before, at)?;
        begun = store::journals::of(project, candidate).map(standing).transpose()?;
    }
    match begun {
        // Nothing is added to a journal that came with the project: the plan asks about it.
        None | Some((JournalStanding::Foreign, _)) => {
            Ok(store::commit(lock, edits, &CheckpointMeta::new(&entry.change))?)
        }
        Some((_, journal)) => commit_to(trusted, lock, &journal, entry, edits),
    }
}

/// Commits edits with a record in a journal that this process did not open with its run.
pub(super) fn commit_to(
    trusted: &Trusted,
    lock: &RunLock,
    journal: &JournalFile,
    entry: Entry,
    edits: &[Edit],
) -> Result<(), OpError> {
    let meta = CheckpointMeta::new(&entry.change);
    let read = journal::read(trusted, journal);
    let mut journal = GrownJournal::of(journal, &read);
    if let Some(sound) = read.truncated(&journal.file) {
        store::set_tail_aside(lock, (&journal.file.home, &journal.file.path), sound, entry.at)?;
        let sound = usize::try_from(sound).unwrap_or_default();
        journal.file.content = Content::Bytes(journal.file.bytes()[..sound].into());
    }
    journal.commit(trusted, lock, entry, (edits, &meta)).map(drop)
}
