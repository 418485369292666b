//! Reads `phase.json` leniently (docs/formats/dotagent.md#the-phase-file).

use super::rules::{Phase, PhaseStatus};
use crate::{
    document::{Kind, Node, OpenError, Reader, Syntax},
    model::{FileSet, Finding, FindingCode, ReadProblem, RelPath, Severity, Timestamp, clean_line},
};

/// Returns the finding about a state file that is missing.
pub(super) fn missing(file: &RelPath) -> Finding {
    let message = format!("{file} is missing, but the rest of the run is there");
    Finding::new(FindingCode::StateMissing, message).at(file)
}

/// Opens a file that must contain an object.
pub(super) fn open<'a>(files: &'a FileSet, file: &RelPath) -> Result<Reader<'a>, Box<Finding>> {
    let unreadable = |message: String| Finding::new(FindingCode::StateUnreadable, message).at(file);
    let reader = Reader::open(files, file, Syntax::Json).map_err(|error| match error {
        OpenError::Unread(ReadProblem::Missing) => Box::new(missing(file)),
        OpenError::Unread(problem) => Box::new(unreadable(format!("{file} cannot be read: {problem}"))),
        OpenError::Broken(error) => {
            let finding = unreadable(format!("{file} is not JSON: {}", error.message));
            Box::new(finding.line(error.place.line, Some(error.place.column)))
        }
    })?;
    if !reader.node().is_map() {
        return Err(Box::new(unreadable(format!("{file} is not a JSON object")).line(1, Some(1))));
    }
    Ok(reader)
}

/// The contents of `phase.json`.
#[derive(Debug)]
pub(super) struct DotagentState {
    /// As written; it is checked before it is used in a path.
    pub(super) id: Option<String>,
    pub(super) started_at: Option<Timestamp>,
    pub(super) last_updated: Option<Timestamp>,
    pub(super) phase: Phase,
    pub(super) status: PhaseStatus,
    pub(super) completed: Vec<Completed>,
    pub(super) approvals: Vec<Approval>,
    /// `None` if missing, which counts as true.
    pub(super) is_safe: Option<bool>,
}

/// One entry of `completed_phases`.
#[derive(Debug)]
pub(super) struct Completed {
    pub(super) phase: Phase,
    pub(super) at: Option<Timestamp>,
    pub(super) output: Option<String>,
    pub(super) pointer: String,
}

/// One entry of `user_checkpoints`.
#[derive(Debug)]
pub(super) struct Approval {
    pub(super) phase: Phase,
    pub(super) at: Option<Timestamp>,
    pub(super) pointer: String,
}

impl DotagentState {
    pub(super) fn read(source: &Reader<'_>, files: &FileSet, findings: &mut Vec<Finding>) -> Self {
        let value = source.node();
        let id = value.get("workflow_id").and_then(Node::as_str).map(str::to_owned);
        if id.as_ref().is_none_or(|id| id.trim().is_empty()) {
            let message = "`workflow_id` is missing or not text, so outputs cannot be matched to this run";
            findings.push(source.finding(FindingCode::StateMissingField, "/workflow_id", message));
        }
        let mut reader = StateReader { source, files, findings };
        let completed = reader.completed();
        let approvals = reader.approvals();
        let is_safe = match value.get("interruption_safe") {
            None => None,
            Some(value) if value.is_null() || value.as_bool().is_some() => value.as_bool(),
            Some(_) => {
                reader.report(
                    FindingCode::FieldIgnored,
                    "/interruption_safe",
                    "`interruption_safe` is neither true nor false",
                );
                None
            }
        };
        Self {
            id,
            started_at: reader.stamp("/started_at"),
            last_updated: reader.stamp("/last_updated"),
            phase: reader.phase(&completed),
            status: reader.status(),
            completed,
            approvals,
            is_safe,
        }
    }

    pub(super) fn has_completed(&self, phase: Phase) -> bool {
        self.completed.iter().any(|done| done.phase == phase)
    }

    /// Returns whether the user approved a phase in this run; older approvals belong to earlier runs.
    pub(super) fn has_approved(&self, phase: Phase) -> bool {
        self.approvals
            .iter()
            .any(|approval| approval.phase == phase && approval.at.is_none_or(|at| Some(at) >= self.started_at))
    }

    /// Returns the id for display and for matching names on the command line.
    pub(super) fn name(&self) -> String {
        let name = self.id.as_deref().map(|id| clean_line(id, 100)).unwrap_or_default();
        if name.is_empty() { "dotagent".to_owned() } else { name }
    }
}

/// How far ahead of the local clock a stamp may be (docs/formats/dotagent.md#validation).
pub(super) const SKEW_SECONDS: i64 = 300;
/// The easternmost zone is 14 hours ahead of UTC.
const EAST_SECONDS: i64 = 14 * 3_600;
/// Seconds since 1970 stay below this until the year 5138; milliseconds are above it since 1973.
const MILLISECONDS: i64 = 100_000_000_000;

fn from_number(number: i64) -> Option<Timestamp> {
    Timestamp::from_unix(if number >= MILLISECONDS { number / 1000 } else { number }, 0)
}

struct StateReader<'a> {
    source: &'a Reader<'a>,
    files: &'a FileSet,
    findings: &'a mut Vec<Finding>,
}

impl StateReader<'_> {
    fn report(&mut self, code: FindingCode, pointer: &str, message: impl Into<String>) {
        self.findings.push(self.source.finding(code, pointer, message));
    }

    fn stamp(&mut self, pointer: &str) -> Option<Timestamp> {
        let name = &pointer[1..];
        let found = self.source.node().at(pointer);
        let stamp = found.and_then(|value| self.time(name, value));
        if stamp.is_none() {
            let what = match found {
                None => "is missing".to_owned(),
                Some(value) => format!("is {}, which is no time stamp", clean_line(&value.to_string(), 40)),
            };
            let message = format!("`{name}` {what}; the commit or the file's own time is used instead");
            // Without the start nothing says which outputs are older than the run: a person looks.
            let is_start = name == "started_at";
            let code = if is_start { FindingCode::StateWrongType } else { FindingCode::FieldIgnored };
            let finding = self.source.finding(code, pointer, message);
            let fix = "write it as 2026-01-31T12:00:00Z";
            self.findings.push(Finding { severity: Severity::Warning, ..finding.fix(fix) });
        }
        stamp
    }

    /// Reads a stamp: a date, or seconds or milliseconds since 1970. One without a zone that lies ahead was written in the local time of
    /// a place further east.
    fn time(&mut self, name: &str, value: &Node) -> Option<Timestamp> {
        let text = match &value.kind {
            Kind::Number(text) | Kind::Text(text) => text,
            Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => return None,
        };
        if let Ok(number) = text.parse() {
            return from_number(number);
        }
        let stamp = self.files.time(text)?;
        let has_zone = Timestamp::parse(text, 0).ok()? == Timestamp::parse(text, 3_600).ok()?;
        let ahead = stamp.seconds_since(self.files.clock.now);
        if has_zone || !(SKEW_SECONDS..=EAST_SECONDS).contains(&ahead) {
            return Some(stamp);
        }
        let message = format!("`{name}` has no zone and lies ahead: it is taken as the local time of another place");
        self.report(FindingCode::FieldIgnored, &format!("/{name}"), message);
        Some(self.files.clock.now)
    }

    /// Returns the current phase; if unknown, the first that is not completed.
    fn phase(&mut self, completed: &[Completed]) -> Phase {
        let found = self.source.node().get("current_phase");
        if let Some(phase) = found.and_then(Node::as_str).and_then(Phase::parse) {
            return phase;
        }
        let first = Phase::ALL.into_iter().find(|phase| !completed.iter().any(|done| done.phase == *phase));
        let phase = first.unwrap_or(Phase::Reflection);
        let what = if found.is_none() { "is missing" } else { "names no phase" };
        let message = format!("`current_phase` {what}; taken as {}, the first that is not completed", phase.as_str());
        self.report(FindingCode::StateCorrupt, "/current_phase", message);
        phase
    }

    fn status(&mut self) -> PhaseStatus {
        let found = self.source.node().get("phase_status");
        if let Some(status) = found.and_then(Node::as_str).and_then(PhaseStatus::parse) {
            return status;
        }
        let what = if found.is_none() { "is missing" } else { "is not in the vocabulary" };
        let message = format!("`phase_status` {what} (pending, in_progress, complete, failed); never read as complete");
        self.report(FindingCode::StateCorrupt, "/phase_status", message);
        PhaseStatus::Pending
    }

    fn completed(&mut self) -> Vec<Completed> {
        let mut completed = Vec::new();
        for (pointer, phase, entry) in self.entries("completed_phases") {
            let at = entry.get("completed_at").and_then(Node::as_str).and_then(|text| self.files.time(text));
            let output = entry.get("output").and_then(Node::as_str).map(str::to_owned);
            completed.push(Completed { phase, at, output: output.filter(|text| !text.is_empty()), pointer });
        }
        completed
    }

    fn approvals(&mut self) -> Vec<Approval> {
        let mut approvals = Vec::new();
        for (pointer, phase, entry) in self.entries("user_checkpoints") {
            let at = entry.get("approved_at").and_then(Node::as_str).and_then(|text| self.files.time(text));
            approvals.push(Approval { phase, at, pointer });
        }
        approvals
    }

    /// Returns the entries of a list that name a phase, as objects or plain names.
    fn entries(&mut self, list: &str) -> Vec<(String, Phase, Node)> {
        let source = self.source;
        let found = source.node().get(list).filter(|found| !found.is_null());
        if found.is_some_and(|found| !found.is_list()) {
            self.report(FindingCode::StateCorrupt, &format!("/{list}"), format!("`{list}` is not a list"));
        }
        let items = found.map(Node::items).unwrap_or_default();
        let mut entries = Vec::new();
        for (at, item) in items.iter().take(100).enumerate() {
            let pointer = format!("/{list}/{at}");
            let name = item.as_str().or_else(|| item.get("phase")?.as_str());
            match name.and_then(Phase::parse) {
                Some(phase) => entries.push((pointer, phase, item.clone())),
                None => {
                    self.report(FindingCode::StateCorrupt, &pointer, format!("an entry of `{list}` names no phase"))
                }
            }
        }
        entries
    }
}
