//! A run that was read: its files, what its dialect makes of them, and what Piton's own log adds.

use std::{mem::take, sync::Arc};

use camino::Utf8Path;

use super::{
    OpError,
    error::permission_fix,
    journal::{self, ReadJournal},
    package::place_files,
    unread::blocks,
};
use crate::{
    dialect::{Dialect, Guest, Loaded, StateHome, by_id},
    engine::{self, VersionFiles},
    model::{
        Attempt, Candidate, Content, Edit, EditKind, EvidenceRecord, FileSet, Finding, FindingClass, FindingCode,
        LostContent, ReadProblem, RelPath, RollBackRecord, Run, RunHeader, RunStatus, Severity, Statement,
        StatementKind, Step, StepId, StepReport, Suggested, Uid, Unread, Verb, definition_digest, sha256_hex_of,
    },
    store::{self, JournalStanding, StoreError, Trusted},
};

/// A loaded run with its files.
#[derive(Debug)]
pub(crate) struct OpenedRun {
    pub(crate) dialect: &'static dyn Dialect,
    pub(crate) candidate: Candidate,
    pub(crate) files: FileSet,
    pub(crate) loaded: Loaded,
    /// What was recorded of the run besides its state.
    pub(super) journal: ReadJournal,
    /// What this user made on this machine, or said yes to.
    pub(super) trusted: Trusted,
}

impl OpenedRun {
    pub(crate) fn new(candidate: Candidate, files: FileSet, trusted: &Trusted) -> Self {
        let journal = files.journal.as_ref().map(|journal| journal::read(trusted, journal));
        Self::with_journal(candidate, files, journal, trusted)
    }

    fn with_journal(candidate: Candidate, mut files: FileSet, journal: Option<ReadJournal>, trusted: &Trusted) -> Self {
        let dialect = by_id(candidate.dialect);
        let is_gone = files.problem(&files.state) == Some(ReadProblem::Missing);
        if let Some(journal) = journal.as_ref().filter(|_| is_gone) {
            let last = engine::versions::last(&journal.entries);
            let has_folder =
                files.state.parent().is_none_or(|folder| store::unread::exists(&folder.under(&files.root)));
            let bytes = last.and_then(|mut last| last.remove(&files.state)).map(Arc::from);
            files.lost = bytes.map(|bytes| LostContent { bytes, has_folder });
        }
        let mut loaded = load(dialect, &candidate, &files);
        place_files(&mut loaded, &files.root);
        let mut journal = match journal {
            Some(journal) => journal,
            None => ReadJournal::not_begun(take(&mut loaded.entries), take(&mut loaded.standing)),
        };
        journal.add_drivers(&files.local);
        loaded.findings.extend(journal.finding.clone());
        if let Some(unread) = &files.journal
            && let Some(problem) = unread.problem()
        {
            loaded.findings.push(blocks(&files.root, &Unread { path: unread.file(), problem: problem.clone() }));
        }
        let trusted = trusted.clone();
        let mut opened = Self { dialect, candidate, files, loaded, journal, trusted };
        opened.add_unrecorded();
        opened
    }

    /// Returns the same run with other files of its state.
    pub(super) fn reread(&self, files: FileSet) -> Self {
        let journal = files.journal.is_some().then(|| self.journal.clone());
        Self::with_journal(self.candidate.clone(), files, journal, &self.trusted)
    }

    /// Adds to the run what only its journal knows: counts, steps in progress, a pause, an abort, or the reason for one.
    fn add_unrecorded(&mut self) {
        let Some(run) = self.loaded.run.as_ref().filter(|_| !self.journal.entries.is_empty()) else { return };
        let statements = self.statements(run);
        let rollbacks = self.rollbacks();
        if let Some(run) = &mut self.loaded.run {
            let naming = engine::add_unrecorded(run, &statements, &rollbacks);
            let is_answered = |finding: &Finding| {
                let step = finding.step.as_ref();
                finding.code == FindingCode::StoryStopped && step.is_some_and(|step| naming.contains(step))
            };
            self.loaded.findings.retain(|finding| !is_answered(finding));
            if run.status == RunStatus::Aborted {
                // The nearest word of its format, for what was decided.
                self.loaded.findings.retain(|finding| finding.code != FindingCode::RunFailed);
            }
        }
    }

    /// Returns what continues the run if it belongs to another program.
    pub(crate) fn guest(&self) -> Option<Guest> {
        self.dialect.guest(&self.files.root, &self.candidate)
    }

    /// Returns a digest of the definition of a step; `None` if the workflow fixes it.
    pub(super) fn definition_digest(&self, step: &Step) -> Option<String> {
        step.definition_digest().or_else(|| definition_digest(&self.dialect.comparison().definition(&self.files, step)))
    }

    /// Returns the run, or an error that says why it could not be loaded.
    pub(crate) fn run(&self) -> Result<&Run, OpError> {
        self.loaded.run.as_ref().ok_or_else(|| {
            let why = self.loaded.findings.iter().min_by_key(|finding| finding.severity);
            let message =
                why.map_or_else(|| format!("{}: nothing could be read", self.candidate.state), located_message);
            OpError::Unreadable { message, findings: self.loaded.findings.clone() }
        })
    }

    /// Returns the folder that the work is in: the root of the state, unless the state is kept elsewhere.
    pub(crate) fn base(&self) -> &Utf8Path {
        self.loaded.wanted.base(&self.files.root)
    }

    /// Returns a path for people: relative to the folder of the work, if it is below it.
    pub(super) fn shown_path(&self, path: &Utf8Path) -> String {
        path.strip_prefix(self.base()).unwrap_or(path).as_str().to_owned()
    }

    /// Returns a short digest that changes with every change of the state files.
    pub(crate) fn revision(&self) -> String {
        let pieces = self
            .state_files()
            .iter()
            .flat_map(|path| [path.as_str().as_bytes(), &[0], self.files.bytes(path).unwrap_or_default(), &[0]]);
        let mut digest = sha256_hex_of(pieces);
        digest.truncate(16);
        digest
    }

    fn state_files(&self) -> &[RelPath] {
        self.loaded.run.as_ref().map(|run| run.state_files.as_slice()).unwrap_or_default()
    }

    pub(crate) fn header(&self, run: &Run, revision: String) -> RunHeader {
        RunHeader::of(run, self.base().as_str().to_owned(), revision)
    }
}

impl OpenedRun {
    pub(crate) fn check_revision(&self, run: &Run, expected: Option<&str>) -> Result<(), OpError> {
        // The revision is a digest of every state file, so it is only computed on request.
        let Some(expected) = expected else { return Ok(()) };
        let found = self.revision();
        if found == expected {
            return Ok(());
        }
        Err(OpError::Moved { expected: expected.to_owned(), found, run: run.id.as_str().to_owned() })
    }

    /// Returns the edit that gives a file this content; its current content does not matter.
    pub(crate) fn edit_to_content(&self, path: &RelPath, after: Vec<u8>) -> Edit {
        let kind = match self.files.files.get(path).map(|entry| &entry.content) {
            Some(Content::Bytes(before)) => EditKind::Replace { before: before.clone(), after },
            Some(Content::NameOnly | Content::Problem(_)) | None => EditKind::Create { after },
        };
        Edit { path: path.clone(), kind }
    }

    /// Refuses if a file exists but cannot be read.
    pub(crate) fn check_readable(&self, path: &RelPath) -> Result<(), OpError> {
        match self.files.files.get(path).map(|entry| &entry.content) {
            Some(Content::Problem(problem)) => Err(OpError::Store(StoreError::Unreadable {
                path: path.under(&self.files.root),
                problem: problem.clone(),
            })),
            Some(Content::Bytes(_) | Content::NameOnly) | None => Ok(()),
        }
    }
}

impl OpenedRun {
    /// Returns what was said about the run, oldest first.
    pub(super) fn statements(&self, run: &Run) -> Vec<Statement> {
        let said = self.journal.counted().flat_map(|entry| &entry.said);
        said.filter(|statement| statement.run == run.id.as_str()).cloned().collect()
    }

    /// Returns the attempts that go on: nothing moved their step since they were begun.
    pub(super) fn open_attempts(&self) -> impl Iterator<Item = &Attempt> {
        let begun = self.journal.counted().flat_map(|entry| &entry.said).filter_map(Statement::attempt);
        begun.filter(|attempt| self.journal.standing.goes_on(attempt))
    }

    /// Returns the record that began an attempt at a step which goes on.
    pub(super) fn begun(&self, step: &StepId, attempt: u32) -> Option<Uid> {
        Some(self.open_attempts().find(|open| open.step == *step && open.attempt == attempt)?.about.id)
    }

    /// Returns the reports that came when their step had moved, oldest first.
    pub(super) fn late(&self, run: &Run) -> Vec<StepReport> {
        let said = self.journal.entries.iter().filter(|entry| entry.is_late).flat_map(|entry| &entry.said);
        let reports = said.filter(|statement| statement.run == run.id.as_str()).filter_map(|said| match &said.kind {
            StatementKind::Report(report) => Some(StepReport { late: true, ..report.clone() }),
            StatementKind::Begun(_) | StatementKind::Decision(_) => None,
        });
        reports.collect()
    }

    /// Returns the digests of what finished steps left, oldest first.
    pub(super) fn records(&self) -> Vec<EvidenceRecord> {
        self.journal.counted().flat_map(|entry| &entry.left).cloned().collect()
    }

    /// Returns the state as the journal beside it recorded it last, if it is another now, or gone; `None` of one that was archived.
    pub(super) fn last_recorded(&self) -> Option<VersionFiles> {
        self.files.journal.as_ref()?;
        let is_state = |path: &RelPath| path.starts_with(&self.files.state);
        let last = engine::versions::last(&self.journal.entries).filter(|last| last.keys().any(is_state))?;
        let is_there = |(path, content): (&RelPath, &Vec<u8>)| self.files.bytes(path) == Some(content.as_slice());
        (!last.iter().all(is_there)).then_some(last)
    }

    /// Returns where the run went back, oldest first.
    pub(super) fn rollbacks(&self) -> Vec<RollBackRecord> {
        self.journal.counted().filter_map(|entry| entry.back.clone()).collect()
    }

    /// Returns the commits of steps that the run gave up and has not done again.
    pub(super) fn given_up(&self) -> Vec<String> {
        let (Some(run), rollbacks) = (&self.loaded.run, self.rollbacks()) else { return Vec::new() };
        let commits = engine::rollback::given_up(run, &rollbacks).flat_map(|back| &back.commits);
        commits.map(|commit| commit.sha.clone()).collect()
    }

    /// Refuses to record anything where what is said of the run could not be kept, or would not count afterwards.
    pub(super) fn check_journal(&self) -> Result<(), OpError> {
        let Some(journal) = &self.files.journal else { return Ok(()) };
        if let Some(problem) = journal.problem() {
            return Err(StoreError::Unreadable { path: journal.file(), problem: problem.clone() }.into());
        }
        match store::journals::standing(&self.trusted, journal)? {
            JournalStanding::Foreign => Err(StoreError::NotTrusted { path: journal.file() }.into()),
            JournalStanding::Ours | JournalStanding::Silent => Ok(self.trusted.check_home()?),
        }
    }

    /// Returns the length of the sound records of the journal beside the state, if a write to it was cut off.
    pub(super) fn truncated_journal(&self) -> Option<u64> {
        self.journal.truncated(self.files.journal.as_ref()?)
    }
}

/// Reads a run, with what discovery found out about it.
fn load(dialect: &dyn Dialect, candidate: &Candidate, files: &FileSet) -> Loaded {
    let mut loaded = dialect.load(files);
    // What cannot be read is not missing, nor is what lies below a folder that cannot be listed: that blocks instead.
    let is_unread = |path: &RelPath| files.problem(path).is_some_and(|problem| problem != ReadProblem::Missing);
    let hides = |folder: &Finding, path: &RelPath| {
        folder.code == FindingCode::FolderClosed && folder.file.as_ref().is_some_and(|folder| path.starts_with(folder))
    };
    let is_hidden = |path: &RelPath| is_unread(path) || candidate.findings.iter().any(|folder| hides(folder, path));
    let (hidden, shown): (Vec<_>, Vec<_>) = loaded
        .findings
        .into_iter()
        .partition(|finding| finding.code.is_of(FindingClass::Missing) && finding.file.as_ref().is_some_and(is_hidden));
    loaded.findings = shown;
    let unnamed = unread_files(files, &loaded.findings);
    let is_new = |finding: &&Finding| {
        let is_about = |other: &Finding| other.file.is_some() && other.file == finding.file;
        let is_said = finding.code == FindingCode::FolderClosed && unnamed.iter().any(is_about);
        !is_said && !loaded.findings.contains(finding)
    };
    let blocking = |finding: &Finding| {
        let hides_one = hidden.iter().filter_map(|missing| missing.file.as_ref()).any(|path| hides(finding, path));
        let severity = if hides_one { Severity::Blocking } else { finding.severity };
        Finding { severity, ..finding.clone() }
    };
    let news: Vec<Finding> = candidate.findings.iter().filter(is_new).map(blocking).collect();
    loaded.findings.extend(unnamed);
    loaded.findings.extend(news);
    for finding in &mut loaded.findings {
        // Restoring or correcting a file does not help without permission to read it.
        let is_closed = |path: &&RelPath| files.problem(path) == Some(ReadProblem::Permission);
        if let Some(path) = finding.file.as_ref().filter(is_closed) {
            finding.fix = Some(permission_fix(&path.under(&files.root)).into());
        }
        if matches!(finding.code, FindingCode::StateUnreadable | FindingCode::StateMissing) && finding.fix.is_none() {
            finding.fix = Some(Suggested::of(Verb::Restore, run_word(candidate)).into());
        }
    }
    loaded
}

/// Returns what blocks a run: the files and folders of its set that could not be read and that no finding names.
fn unread_files(files: &FileSet, findings: &[Finding]) -> Vec<Finding> {
    let unread = files.files.iter().filter_map(|(path, entry)| match &entry.content {
        Content::Problem(problem) => Some((path, problem)),
        Content::Bytes(_) | Content::NameOnly => None,
    });
    let unread = unread.filter(|(path, _)| findings.iter().all(|finding| finding.file.as_ref() != Some(path)));
    let unread = unread.map(|(path, problem)| Unread { path: path.under(&files.root), problem: problem.clone() });
    unread.map(|unread| blocks(&files.root, &unread)).collect()
}

/// Returns the argument that names the run in a command, even if its id is unreadable.
pub(super) fn run_word(candidate: &Candidate) -> String {
    let is_missing = candidate.findings.iter().any(|finding| finding.code == FindingCode::StateMissing);
    match by_id(candidate.dialect).state_home() {
        StateHome::Project if !is_missing => format!("./{}", candidate.state),
        // The records of a session are in no project, and a file that is gone has no path.
        StateHome::Project | StateHome::Home | StateHome::Client => candidate.name.clone(),
    }
}

/// Returns how a printed command names a run: by its id, or by its whole path where the id is found nowhere.
pub(super) fn command_word(root: &Utf8Path, candidate: &Candidate) -> String {
    match by_id(candidate.dialect).discovery().is_named_by_path(candidate) {
        true => candidate.state.under(root).to_string(),
        false => candidate.name.clone(),
    }
}

/// Returns the message of a finding with its file, line and column.
pub(crate) fn located_message(finding: &Finding) -> String {
    let message = match &finding.file {
        Some(file) if !finding.message.contains(file.as_str()) => format!("{file}: {}", finding.message),
        Some(_) | None => finding.message.clone(),
    };
    match (finding.line, finding.column) {
        (Some(line), Some(column)) => format!("{message} (line {line}, column {column})"),
        (Some(line), None) => format!("{message} (line {line})"),
        (None, _) => message,
    }
}
