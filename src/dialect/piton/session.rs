//! A session as read from its files: the header, the state after all records, and the end of the journal.

use super::{
    facts::{Facts, Outline},
    paths,
    record::{self, Event, FORMAT, Header, JournalEnd, Record, Remainder},
    snapshot::{self, Snapshot},
    state::State,
};
use crate::{
    dialect::EditError,
    engine::share::LastRecords,
    model::{
        About, Change, Content, Edit, EditKind, Entry, FileSet, Finding, FindingCode, ReadProblem, RelPath, Suggested,
        Uid, Verb, clean_line,
    },
};

/// A session as it was read.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    /// The file of the journal.
    pub(crate) journal_file: RelPath,
    pub(crate) header: Header,
    /// The end of its sound records.
    pub(crate) journal_end: JournalEnd,
    /// What follows them.
    pub(crate) remainder: Remainder,
    /// The state after all records, or that of a newer snapshot.
    pub(crate) state: State,
    /// Why the snapshot cannot be used.
    pub(crate) snapshot_problem: Option<String>,
    /// What was said and seen with the records.
    pub(crate) entries: Vec<Entry>,
}

impl Session {
    /// Reads a session from its files.
    ///
    /// # Errors
    ///
    /// When the header or the journal cannot be read.
    pub(crate) fn read(files: &FileSet) -> Result<Self, Box<Finding>> {
        let Parts { header, header_bytes, journal, snapshot } = Parts::of(files)?;
        let (mut snapshot, snapshot_problem) = match snapshot.map(|bytes| Snapshot::read(&header.session, bytes)) {
            None => (None, None),
            Some(Ok(snapshot)) => (Some(snapshot), None),
            Some(Err(problem)) => (None, Some(problem)),
        };
        // The records that it covers are not parsed again.
        let covering = snapshot.take_if(|snapshot| snapshot.covers(journal));
        let mut state = covering.map_or_else(State::default, |snapshot| snapshot.state);
        let (known, mut entries) = (state.seq, Vec::new());
        let (journal_end, remainder) = record::replay(header_bytes, journal, known, |record| {
            if record.seq > known {
                state.apply(&record);
            }
            let about = record.about;
            entries.extend(record.facts.entry.map(|entry| entry.of_record(about, state.standing.is_late(record.seq))));
        });
        let state = State::newest(state, snapshot.map(|snapshot| snapshot.state));
        // A snapshot is written after the records that it covers.
        let remainder = match (remainder, state.seq.saturating_sub(journal_end.seq)) {
            (Remainder::Nothing, records) if records > 0 => Remainder::Lost { records },
            (Remainder::Nothing, _) if state.seq == 0 => Remainder::Absent,
            (remainder, _) => remainder,
        };
        let journal_file = files.state.clone();
        Ok(Self { journal_file, header, journal_end, remainder, state, snapshot_problem, entries })
    }

    /// Returns the changes by which a journal that lost its last records continues from the checkpoint, and that counts the records that are
    /// there; `None` if it lost none.
    pub(super) fn mended(&self, files: &FileSet) -> Option<[Edit; 2]> {
        if !matches!(self.remainder, Remainder::Lost { .. }) {
            return None;
        }
        let snapshot = paths::snapshot(&paths::folder_of(&files.state)?)?;
        let (bytes, end) = self.journal_end.append(&self.base());
        let state = State { seq: end.seq, ..self.state.clone() };
        let after = snapshot::write(&self.header.session, &state, &end);
        let kind = match files.bytes(&self.journal_file) {
            Some(_) => EditKind::Append { before_len: self.journal_end.length, bytes },
            None => EditKind::Create { after: bytes },
        };
        let journal = Edit { path: self.journal_file.clone(), kind };
        let kind = match files.files.get(&snapshot).map(|entry| &entry.content) {
            Some(Content::Bytes(before)) => EditKind::Replace { before: before.clone(), after },
            Some(Content::NameOnly | Content::Problem(_)) | None => EditKind::Create { after },
        };
        Some([journal, Edit { path: snapshot, kind }])
    }

    /// Returns the edits with an entry in the last record that they append; a record of its own if they append none. They get the name that
    /// the entry has.
    ///
    /// # Errors
    ///
    /// As [`Session::append`].
    pub(crate) fn with_entry(&self, edits: Vec<Edit>, entry: Entry) -> Result<Vec<Edit>, EditError> {
        let mut edits = edits;
        let about = entry.about;
        let entry = Some(entry).filter(Entry::says_something);
        if entry.is_some() && edits.iter().all(|edit| edit.path != self.journal_file) {
            let facts = Facts { entry: entry.clone().map(Box::new), ..Facts::default() };
            edits.push(self.append(Event::Note(()), facts)?);
        }
        for edit in edits.iter_mut().filter(|edit| edit.path == self.journal_file) {
            if let EditKind::Append { bytes, .. } = &mut edit.kind {
                *bytes = self.journal_end.with_entry(bytes, about, entry.clone());
            }
        }
        Ok(edits)
    }

    /// Returns the record of the whole state.
    fn base(&self) -> Record {
        let state = Box::new(self.state.clone());
        // The same loss is mended by the same record.
        let about = About::new(Uid::of([self.journal_end.chain.as_str(), "base"]), None);
        self.journal_end.next(&self.state.standing, about, Event::Base(state), Facts::default())
    }

    /// Returns the edit that records an event. A newer state of the snapshot is recorded first.
    ///
    /// # Errors
    ///
    /// When the last sound record is not the end of the file; the remainder has to be set aside first.
    pub(crate) fn append(&self, event: Event, facts: Facts) -> Result<Edit, EditError> {
        let journal_end = &self.journal_end;
        let problem = match &self.remainder {
            Remainder::Nothing => None,
            Remainder::Truncated { bytes } => Some(format!("its last {bytes} bytes are an incomplete record")),
            Remainder::Broken { line, reason } => Some(format!("line {line}: {reason}")),
            Remainder::Newer { line } => Some(format!("line {line} was written by a newer version")),
            Remainder::Lost { records } => Some(format!(
                "its last {records} records are gone; `{}` goes on",
                Suggested::of(Verb::Resume, &self.header.session).yes()
            )),
            Remainder::Absent => Some(format!("it is gone; {}", self.header.anew())),
        };
        if let Some(problem) = problem {
            return Err(EditError::Unreadable { file: self.journal_file.as_str().to_owned(), problem });
        }
        let (mut bytes, end_before) = match self.state.seq > journal_end.seq {
            true => journal_end.append(&self.base()),
            false => (Vec::new(), journal_end.clone()),
        };
        let record = end_before.next(&self.state.standing, About::default(), event, facts);
        let (line, _) = end_before.append(&record);
        bytes.extend(line);
        let kind = EditKind::Append { before_len: journal_end.length, bytes };
        Ok(Edit { path: self.journal_file.clone(), kind })
    }
}

/// Returns every sound record of a session.
///
/// # Errors
///
/// As [`Session::read`].
pub(super) fn records(files: &FileSet) -> Result<Vec<Record>, Box<Finding>> {
    let Parts { header_bytes, journal, .. } = Parts::of(files)?;
    let mut records = Vec::new();
    record::replay(header_bytes, journal, 0, |record| records.push(record));
    Ok(records)
}

/// The contents of the files of a session.
struct Parts<'a> {
    header: Header,
    header_bytes: &'a [u8],
    journal: &'a [u8],
    snapshot: Option<&'a [u8]>,
}

impl<'a> Parts<'a> {
    fn of(files: &'a FileSet) -> Result<Self, Box<Finding>> {
        let folder = paths::folder_of(&files.state);
        let paths = folder.as_ref().and_then(|folder| Some((paths::header(folder)?, paths::snapshot(folder)?)));
        let Some((header_file, snapshot_file)) = paths else {
            return Err(unreadable(&files.state, "is not in a session folder"));
        };
        let header_bytes = bytes(files, &header_file)?;
        let header = header(&header_file, header_bytes, files)?;
        let journal = match bytes(files, &files.state) {
            Ok(journal) => journal,
            // A kill between the two files of a new session: nothing was done yet.
            Err(_) if files.problem(&files.state) == Some(ReadProblem::Missing) => &[],
            Err(finding) => return Err(finding),
        };
        let snapshot = files.bytes(&snapshot_file);
        Ok(Self { header, header_bytes, journal, snapshot })
    }
}

/// Returns the edits that create a session: its header and its journal with the first record.
pub(crate) fn start(
    header: &Header,
    (about, change): (About, Change),
    definition: Outline,
    head: Option<String>,
) -> Option<Vec<Edit>> {
    let folder = paths::folder(&header.session)?;
    let header_bytes = serde_json::to_vec_pretty(header).expect("a header is JSON");
    let facts = Facts { definition: Some(definition), head, ..Facts::default() };
    let end = JournalEnd::of(&header_bytes);
    let (line, _) = end.append(&end.next(&LastRecords::default(), about, Event::Change(change), facts));
    let create = |path, after| Edit { path, kind: EditKind::Create { after } };
    Some(vec![create(paths::header(&folder)?, header_bytes), create(paths::journal(&folder)?, line)])
}

/// Returns the edits of [`start`], with a second record that has the whole state of what was begun elsewhere.
pub(super) fn start_from(
    header: &Header,
    (about, change): (About, Change),
    state: State,
    entry: Option<Entry>,
) -> Option<Vec<Edit>> {
    let mut edits = start(header, (about.before(1), change), state.workflow.clone(), None)?;
    let begun = edits.first().and_then(Edit::after).map(<[u8]>::to_vec).unwrap_or_default();
    if let Some(Edit { kind: EditKind::Create { after }, .. }) = edits.last_mut() {
        let (journal_end, _) = record::replay(&begun, after, 0, drop);
        let facts = Facts { entry: entry.map(Box::new), ..Facts::default() };
        let base = journal_end.next(&LastRecords::default(), about, Event::Base(Box::new(state)), facts);
        after.extend(journal_end.append(&base).0);
    }
    Some(edits)
}

fn header(path: &RelPath, bytes: &[u8], files: &FileSet) -> Result<Header, Box<Finding>> {
    let header = Header::parse(bytes, &files.root).map_err(|error| {
        let message = clean_line(&format!("is not a session header: {error}"), 200);
        let line = u32::try_from(error.line()).unwrap_or(u32::MAX);
        let finding = unreadable(path, &message);
        Box::new(finding.line(line, u32::try_from(error.column()).ok()))
    })?;
    if files.name != header.session {
        return Err(unreadable(path, "belongs to another session"));
    }
    Ok(header)
}

impl Header {
    /// Tells whether this version may write to the session.
    pub(crate) const fn is_writable(&self) -> bool {
        self.format <= FORMAT
    }
}

fn bytes<'a>(files: &'a FileSet, path: &RelPath) -> Result<&'a [u8], Box<Finding>> {
    files.bytes(path).ok_or_else(|| {
        let problem = files.problem(path).map_or_else(String::new, |problem| problem.to_string());
        unreadable(path, &format!("cannot be read: {problem}"))
    })
}

fn unreadable(path: &RelPath, what: &str) -> Box<Finding> {
    Box::new(Finding::new(FindingCode::StateUnreadable, format!("{path} {what}")).at(path))
}
