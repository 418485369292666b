//! The journal of a session: one JSON line per event, chained to the line before it by a digest. Pure.
//!
//! A line is `{"chain":"<64 hex digits>",<rest>}`. Its chain is the SHA-256 of the chain of the line before it (of the bytes of
//! `run.json` for the first), a line end and `{<rest>}`, so that a line that was cut, changed, moved or removed is detected.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    facts::{Facts, RunnerAct},
    state::State,
};
use crate::{
    engine::share::{Act, LastRecords, Said},
    model::{
        About, Change, ChangeKind, Entry, RelPath, StepId, Suggested, Timestamp, Uid, Verb, sha256_hex, sha256_hex_of,
    },
    workflow::Input,
};

pub(crate) const HEADER: &str = "run.json";
pub(crate) const JOURNAL: &str = "journal.jsonl";
pub(crate) const SNAPSHOT: &str = "checkpoint.json";
/// The format that this program writes.
pub(crate) const FORMAT: u32 = 1;
/// The variables that every run has.
pub(crate) const BUILT_IN: [&str; 6] = ["ARG", "ITERATION", "PROJECT_ROOT", "WORKTREE", "workflow.id", "workflow.name"];

/// The content of `run.json`, written once when the session is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Header {
    /// [`FORMAT`].
    pub(crate) format: u32,
    pub(crate) session: String,
    /// The folder of the repository (or plain folder) that the workflow was started in; absolute.
    pub(crate) root: Utf8PathBuf,
    /// That folder, from the top of the repository; left out at the top, and for records that do not move with the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) below: Option<RelPath>,
    pub(crate) workflow: Source,
    pub(crate) created_at: Timestamp,
    /// The folder of the worktrees of its items. Absolute: they stay where they are when the repository is moved.
    #[serde(default)]
    pub(crate) worktrees: Utf8PathBuf,
    /// Absolute; `None` when the session works in `root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<Utf8PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    /// The branch it was started from and is merged into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base_commit: Option<String>,
    /// The commit with the uncommitted changes that the project had, which its worktree begins with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) carried: Option<String>,
    /// What `--args` gave, for `${ARG}`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) args: Vec<String>,
    /// The inputs of the workflow, given or by default.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) inputs: BTreeMap<String, Value>,
    /// It was started for agents, which `piton resume` hands its steps to; else Piton runs it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_attended: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) issues: Vec<String>,
    /// The files that the workflow file includes, by their paths from the root of the workflow file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) included: Vec<RelPath>,
    /// The session of Claude Code that it was made of. Its definition is beside its records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) adopted_from: Option<String>,
}

impl Header {
    /// Returns the header of a run that Piton drives in `root`, with its records in `home` and its worktrees in `worktrees`.
    pub(crate) fn new(
        (home, worktrees): (&Utf8Path, &Utf8Path),
        session: &str,
        root: &Utf8Path,
        workflow: Source,
        created_at: Timestamp,
    ) -> Self {
        Self {
            format: FORMAT,
            session: session.to_owned(),
            below: Self::below(home, root),
            root: root.to_owned(),
            workflow,
            created_at,
            worktrees: worktrees.to_owned(),
            worktree: None,
            branch: None,
            base_branch: None,
            base_commit: None,
            carried: None,
            args: Vec::new(),
            inputs: BTreeMap::new(),
            is_attended: false,
            description: None,
            issues: Vec::new(),
            included: Vec::new(),
            adopted_from: None,
        }
    }

    /// Reads a header that is kept in `home`. A repository that was moved took its runs along: the project is where its runs are.
    ///
    /// # Errors
    ///
    /// When it is not the header of a run.
    pub(crate) fn parse(bytes: &[u8], home: &Utf8Path) -> Result<Self, serde_json::Error> {
        let mut header: Self = serde_json::from_slice(bytes)?;
        if !header.worktrees.is_absolute() {
            header.worktrees = home.join("worktrees");
        }
        if header.adopted_from.is_some() {
            home.clone_into(&mut header.workflow.root);
        }
        if let Some(top) = project_of(home) {
            let root = header.below.as_ref().map_or_else(|| top.to_owned(), |below| below.under(top));
            if header.workflow.root == header.root {
                header.workflow.root.clone_from(&root);
            }
            header.root = root;
        }
        Ok(header)
    }

    fn below(home: &Utf8Path, root: &Utf8Path) -> Option<RelPath> {
        RelPath::below(root, project_of(home)?)
    }

    /// Returns the header with the defaults of inputs that the file has now and had not when the run began.
    pub(crate) fn with_defaults(&self, inputs: &[Input]) -> Self {
        let mut header = self.clone();
        for input in inputs {
            if let (Some(default), false) = (&input.default, header.inputs.contains_key(&input.name)) {
                header.inputs.insert(input.name.clone(), default.clone());
            }
        }
        header
    }

    /// Returns the folder in which the steps work.
    pub(crate) fn work_folder(&self) -> &Utf8Path {
        self.worktree.as_ref().unwrap_or(&self.root)
    }

    /// Returns the value of an input or of a variable of [`BUILT_IN`]. `folder` is where the steps work.
    pub(crate) fn variable(&self, name: &str, workflow: &str, folder: &Utf8Path) -> Option<Value> {
        if let Some(value) = self.inputs.get(name) {
            return Some(value.clone());
        }
        Some(Value::String(match name {
            "ITERATION" => "1".to_owned(),
            "ARG" => self.args.join(" "),
            "PROJECT_ROOT" => self.root.as_str().to_owned(),
            "WORKTREE" => folder.as_str().to_owned(),
            "workflow.id" => self.session.clone(),
            "workflow.name" => workflow.to_owned(),
            _ => return None,
        }))
    }

    /// Tells whether a finished run has a worktree whose work is neither merged nor on a branch of its own. `end` is what became of it.
    pub(crate) fn keeps_work(&self, end: Option<&str>) -> bool {
        self.worktree.is_some() && matches!(end, None | Some("kept"))
    }

    /// Returns the command that goes on with the run as it is driven.
    pub(crate) fn goes_on(&self) -> Suggested {
        match self.is_attended {
            true => Suggested::new(Verb::Begin).option("run", &self.session),
            false => self.resume(),
        }
    }

    /// Returns the command by which Piton runs the rest. A run that was begun for agents is handed to one without the flag.
    pub(crate) fn resume(&self) -> Suggested {
        Suggested::of(Verb::Resume, &self.session).flags(self.is_attended.then_some("unattended"))
    }

    /// Returns the command with which a person has a run of agents take its workflow file as it is now.
    pub(crate) fn accept_edits(&self) -> Suggested {
        Suggested::of(Verb::Resume, &self.session).flag("accept-edits")
    }

    /// Returns how a run starts anew of which no record is left. One for agents has no restart.
    pub(super) fn anew(&self) -> String {
        let command = |verb| Suggested::of(verb, &self.session);
        match self.is_attended {
            true => format!("to start over, archive it first: `{}`", command(Verb::Close).flag("abort")),
            false => format!("to start over: `{}`", command(Verb::Resume).flag("force").yes()),
        }
    }
}

/// Returns the folder that moves with its records: the top of the repository or project that they are in.
pub(crate) fn project_of(home: &Utf8Path) -> Option<&Utf8Path> {
    // `.piton`, `.git/piton` or `.git/piton/projects/KEY`.
    let is_in_git = |home: &&Utf8Path| home.ends_with(".git/piton");
    if home.file_name() == Some(".piton") {
        return home.parent();
    }
    let of_part = home.parent().filter(|folder| folder.file_name() == Some("projects")).and_then(Utf8Path::parent);
    let home = [Some(home), of_part].into_iter().flatten().find(is_in_git)?;
    home.parent()?.parent()
}

/// The location of a workflow file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    /// Absolute: the root of the session, or the folder of a workflow file that lies outside of it.
    pub(crate) root: Utf8PathBuf,
    pub(crate) file: RelPath,
}

/// One line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    /// From 1, without gaps.
    pub(crate) seq: u64,
    /// Of the first record: the digest of the header, which no record has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<String>,
    #[serde(flatten)]
    pub(crate) about: About,
    #[serde(flatten)]
    pub(crate) event: Event,
    #[serde(flatten)]
    pub(crate) facts: Facts,
}

/// The event that a line records.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Event {
    /// An admitted transition.
    Change(Change),
    /// Something that the runner does besides the steps.
    Runner(RunnerAct),
    /// The whole state at this point, from which a damaged journal continues.
    Base(Box<State>),
    /// A step of the merge, which is no step of the run.
    Merge(MergeRecord),
    /// No transition: only the entry in its facts.
    Note(()),
}

/// What happened to a step of the merge.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MergeRecord {
    pub(crate) at: Timestamp,
    pub(crate) step: StepId,
    /// Of its definition, once it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) done: Option<String>,
}

impl Record {
    /// Returns what it says about itself.
    pub(crate) fn said(&self) -> Said<'_> {
        let Facts { entry, reopens, amends, restores, .. } = &self.facts;
        let said = |act, step, reopens| Said { seq: self.seq, about: self.about, act, step, reopens };
        match (&self.event, entry) {
            (Event::Base(_), _) if *restores => said(Act::MoveAll, None, &[]),
            (Event::Note(()), Some(entry)) => {
                // Those of a state of its own are facts about it.
                let reopens = if reopens.is_empty() { &entry.reopens } else { reopens };
                said(Act::of(&entry.change, entry.part.is_some(), entry.amends()), entry.step.as_ref(), reopens)
            }
            (Event::Change(Change { kind, .. }), entry) => {
                // Only the entry tells an acceptance from another end.
                let name = entry.as_ref().map_or(kind.as_str(), |entry| &entry.change);
                said(Act::of(name, kind.part().is_some(), *amends), kind.step(), reopens)
            }
            (Event::Runner(act), _) => said(Act::Inside, act.act.step(), &[]),
            // The steps of the merge are none of the run.
            (Event::Base(_) | Event::Merge(_) | Event::Note(()), _) => said(Act::Say, None, &[]),
        }
    }

    /// Says at which record its step stands, unless it says that itself.
    fn place(&mut self, standing: &LastRecords) {
        let Said { act, step, .. } = self.said();
        let Some(stand) = step.and_then(|step| standing.of(step)) else { return };
        self.about.takes = act == Act::Begin && stand.is_begun;
        self.about.on = self.about.on.or(Some(stand.at));
    }
}

impl State {
    /// Returns the state after all records.
    pub(crate) fn from_records(records: &[Record]) -> Self {
        let mut state = Self::default();
        for record in records {
            state.apply(record);
        }
        state
    }

    /// Applies one more record, if it counts.
    pub(crate) fn apply(&mut self, record: &Record) {
        if self.standing.take(record.said()) {
            self.happened(record);
        }
        self.seq = record.seq;
    }

    fn happened(&mut self, record: &Record) {
        match &record.event {
            Event::Base(state) => {
                let standing = std::mem::take(&mut self.standing);
                self.clone_from(state);
                if record.facts.restores {
                    self.standing = standing;
                }
            }
            Event::Note(()) => {
                self.define(&record.facts);
                let at = record.facts.entry.as_ref().map(|entry| entry.at);
                record.facts.reopens.iter().for_each(|step| self.moved(step, at));
            }
            Event::Merge(merge) => {
                self.run.changed_at = Some(merge.at);
                self.run
                    .merge
                    .get_or_insert_default()
                    .extend(merge.done.as_ref().map(|digest| (merge.step.as_str().to_owned(), digest.clone())));
                self.facts(&record.facts);
            }
            Event::Runner(act) => self.runner_did(act, &record.facts),
            Event::Change(change) => {
                // A start clears the definition; every other change is about the new one.
                let clears = matches!(change.kind, ChangeKind::Start(_));
                if !clears {
                    self.define(&record.facts);
                }
                self.change(change, &record.facts);
                if clears {
                    self.define(&record.facts);
                }
                self.facts(&record.facts);
            }
        }
    }
}

/// The end of a journal, which the next record is chained to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalEnd {
    /// Number of the last record; 0 for none.
    pub(crate) seq: u64,
    pub(crate) chain: String,
    /// Bytes up to the end of the last sound line.
    pub(crate) length: u64,
    /// The digest of the header that the first record names, of an empty journal whose run has one.
    pub(crate) header: Option<String>,
}

/// The readable part of a journal.
#[cfg(any(test, feature = "fuzzing"))]
#[derive(Clone, Debug)]
pub(crate) struct Journal {
    pub(crate) records: Vec<Record>,
    pub(crate) journal_end: JournalEnd,
    pub(crate) remainder: Remainder,
}

/// What follows the last sound record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Remainder {
    Nothing,
    /// An incomplete last line: a write that was cut off. It is set aside, and nothing is lost.
    Truncated {
        bytes: u64,
    },
    /// A line that is not what was written, and everything after it.
    Broken {
        line: u32,
        reason: String,
    },
    /// A record of a newer version.
    Newer {
        line: u32,
    },
    /// The journal is gone, or ends before the last record that the snapshot covers.
    Lost {
        records: u64,
    },
    /// There is not one record, and no snapshot.
    Absent,
}

impl JournalEnd {
    /// Returns the end of an empty journal. `header`: the header of its run; empty for a run without one.
    pub(crate) fn of(header: &[u8]) -> Self {
        let header = (!header.is_empty()).then(|| sha256_hex(header));
        Self { seq: 0, chain: sha256_hex(b""), length: 0, header }
    }

    /// Returns the next record, which has an entry alone.
    pub(crate) fn note(&self, standing: &LastRecords, entry: Entry) -> Record {
        self.next(standing, entry.about, Event::Note(()), Facts { entry: Some(Box::new(entry)), ..Facts::default() })
    }

    /// Returns the next record of a run whose steps stand there.
    pub(crate) fn next(&self, standing: &LastRecords, about: About, event: Event, facts: Facts) -> Record {
        let mut record = Record { seq: self.seq.saturating_add(1), header: self.header.clone(), about, event, facts };
        record.place(standing);
        record
    }

    /// Returns lines that follow this end, those without a name up to the record `about`, and the last with an entry.
    pub(crate) fn with_entry(&self, lines: &[u8], about: About, entry: Option<Entry>) -> Vec<u8> {
        let (mut end, mut records) = (self.clone(), Vec::new());
        follow(&mut end, lines, 0, |record| records.push(record));
        let count = records.len();
        for (record, behind) in records.iter_mut().zip((0..count).rev()) {
            if record.about.id == Uid::default() {
                let named = about.before(behind);
                record.about = About { on: named.on.or(record.about.on), takes: record.about.takes, ..named };
            }
        }
        if let Some(last) = records.last_mut() {
            last.facts.entry = entry.map(Box::new);
        }
        let (mut end, mut bytes) = (self.clone(), Vec::new());
        for record in records {
            let (line, after) = end.append(&record);
            bytes.extend(line);
            end = after;
        }
        bytes
    }

    /// Returns the line of the next record, and the new end of the journal.
    pub(crate) fn append(&self, record: &Record) -> (Vec<u8>, Self) {
        let body = serde_json::to_string(record).expect("a record is JSON");
        let chain = chain_digest(&self.chain, &body[1..]);
        let line = format!("{{\"chain\":\"{chain}\",{}\n", &body[1..]).into_bytes();
        let after = self.followed_by(&line, record.seq, chain);
        (line, after)
    }

    fn followed_by(&self, line: &[u8], seq: u64, chain: String) -> Self {
        Self { seq, chain, length: self.length + line.len() as u64, header: None }
    }
}

/// Chains records, each the text of one without its chain and its header, as if they had been written.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn chain(header: &[u8], records: &[u8]) -> Vec<u8> {
    let JournalEnd { chain: mut before, mut header, .. } = JournalEnd::of(header);
    let mut lines = Vec::new();
    for record in records.split_inclusive(|byte| *byte == b'\n') {
        let text = std::str::from_utf8(record).ok().and_then(|text| text.strip_suffix('\n'));
        match text.filter(|text| text.starts_with("{\"seq\"")) {
            Some(body) => {
                let header = header.take().map(|header| format!(",\"header\":\"{header}\""));
                let rest = match body[1..].split_once(',').zip(header) {
                    Some(((seq, rest), header)) => format!("{seq}{header},{rest}"),
                    None => body[1..].to_owned(),
                };
                before = chain_digest(&before, &rest);
                lines.extend(format!("{{\"chain\":\"{before}\",{rest}\n").into_bytes());
            }
            None => lines.extend(record),
        }
    }
    lines
}

/// Reads a journal up to the first unsound line.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read(header: &[u8], bytes: &[u8]) -> Journal {
    let mut records = Vec::new();
    let (journal_end, remainder) = replay(header, bytes, 0, |record| records.push(record));
    Journal { records, journal_end, remainder }
}

/// Returns the chain in the line of a record, counted from 1.
pub(crate) fn chain_of(journal: &[u8], seq: u64) -> Option<&str> {
    let before = usize::try_from(seq.checked_sub(1)?).ok()?;
    let line = journal.split(|byte| *byte == b'\n').nth(before)?;
    Some(std::str::from_utf8(line).ok()?.strip_prefix("{\"chain\":\"")?.split_once("\",")?.0)
}

/// Checks the chain of a journal up to the first unsound line, and hands over the records after the first `known` ones; of those only what
/// has an entry. Returns the end of the sound records, and what follows.
pub(crate) fn replay(header: &[u8], bytes: &[u8], known: u64, take: impl FnMut(Record)) -> (JournalEnd, Remainder) {
    let mut journal_end = JournalEnd::of(header);
    let remainder = follow(&mut journal_end, bytes, known, take);
    (journal_end, remainder)
}

/// Moves the end of a journal behind the sound lines that follow it. Returns what follows those.
fn follow(journal_end: &mut JournalEnd, mut bytes: &[u8], known: u64, mut take: impl FnMut(Record)) -> Remainder {
    while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
        // Every line has one record, numbered without gaps.
        let number = u32::try_from(journal_end.seq.saturating_add(1)).unwrap_or(u32::MAX);
        match line(journal_end, &bytes[..end], known) {
            Ok((record, chain)) => {
                *journal_end = journal_end.followed_by(&bytes[..=end], journal_end.seq + 1, chain);
                record.into_iter().for_each(&mut take);
            }
            Err(LineError::Broken(reason)) => {
                return Remainder::Broken { line: number, reason: reason.to_owned() };
            }
            Err(LineError::Newer) => return Remainder::Newer { line: number },
        }
        bytes = &bytes[end + 1..];
    }
    if bytes.is_empty() { Remainder::Nothing } else { Remainder::Truncated { bytes: bytes.len() as u64 } }
}

enum LineError {
    Broken(&'static str),
    /// It is what was written, in a form that this version does not know.
    Newer,
}

/// Returns a line that continues the chain: its chain, and its record unless that is known.
fn line(before: &JournalEnd, bytes: &[u8], known: u64) -> Result<(Option<Record>, String), LineError> {
    let text = std::str::from_utf8(bytes).map_err(|_| LineError::Broken("it is not text"))?;
    let (chain, rest) = text
        .strip_prefix("{\"chain\":\"")
        .and_then(|rest| rest.split_once("\","))
        .ok_or(LineError::Broken("it does not begin with a digest"))?;
    if chain_digest(&before.chain, rest) != chain {
        return Err(LineError::Broken("its digest does not match its content"));
    }
    // In a string the quotes would be escaped.
    if before.header.as_ref().is_some_and(|header| !rest.contains(&format!("\"header\":\"{header}\""))) {
        return Err(LineError::Broken("it is about another `run.json`"));
    }
    // In a string the quotes would be escaped.
    if before.seq < known && !rest.contains("\"entry\":{") {
        return Ok((None, chain.to_owned()));
    }
    let record = serde_json::from_str::<Record>(text).map_err(|_| LineError::Newer)?;
    if Some(record.seq) == before.seq.checked_add(1) {
        Ok((Some(record), chain.to_owned()))
    } else {
        Err(LineError::Broken("its number does not follow the one before"))
    }
}

/// Returns the chain of a line, from that of the line before it and what follows its own.
fn chain_digest(before: &str, rest: &str) -> String {
    sha256_hex_of([before.as_bytes(), b"\n{", rest.as_bytes()])
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
