//! From a change to the bytes (docs/formats/nine-step.md#what-is-written). Only what the change names is touched; everything else
//! keeps its spelling.

mod roll_back;

use std::sync::Arc;

use serde_json::Map;
use serde_json::Value;
use serde_json::json;

use super::ledger::Ledger;
use super::ledger::unrecorded;
use super::raw;
use super::raw::Entry;
use super::raw::Field;
use super::raw::Source;
use super::raw::State;
use super::read;
use super::read::Opened;
use super::rebuild;
use super::rules::Place;
use super::rules::StepNumber;
use super::rules::Word;
use super::rules::approves;
use super::start;
use super::workspace;
pub(super) use roll_back::rollback_backup;
pub(super) use roll_back::tracker;

use crate::dialect::EditError;
use crate::dialect::edits_of;
use crate::dialect::json::Document;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Content;
use crate::model::Edit;
use crate::model::EditKind;
use crate::model::FileSet;
use crate::model::FindingCode;
use crate::model::Interruption;
use crate::model::Outcome;
use crate::model::ReadProblem;
use crate::model::RelPath;
use crate::model::ReviewVerdict;
use crate::model::Status;
use crate::model::StepId;
use crate::model::StepKind;
use crate::model::Timestamp;

/// Keys of `last_execution` that speak of one execution and go when the next one takes its place.
const OF_ONE_EXECUTION: [&str; 12] = [
    "phase",
    "step",
    "agent",
    "status",
    "timestamp",
    "verdict",
    "conditions",
    "error_message",
    "summary",
    "commit_sha",
    "note",
    "decision",
];

/// Counters and texts of other writers that belong to one step.
const OF_ONE_STEP: [&str; 5] = ["attempt", "attempts", "revision_count", "findings", "error"];

/// What of an execution of another writer goes into the history.
const IMPORTED: [&str; 10] =
    ["phase", "step", "agent", "status", "timestamp", "verdict", "error_message", "findings", "error", "commit_sha"];

/// Computes the edits of one change.
///
/// # Errors
///
/// When the state is missing, does not parse, was written by a newer version, or has a field where the change cannot be written.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    if let ChangeKind::Start(spec) = &change.kind {
        return start::edit(files, spec, change.at);
    }
    if let ChangeKind::Repair(traces) = &change.kind {
        return Ok(edits_of(files, rebuild::reconstruct(files, traces, change.at)?));
    }
    let Opened { file, bytes, value } = open(files)?;
    let state = State::read(&Source { files, file: &file, bytes, value: &value }, &mut Vec::new());
    let mut writer = Writer::new(files, (bytes, &value), &state, change)?;
    writer.apply(&change.kind)?;
    writer.set("/updated_at", &json!(change.at))?;
    let destination = destination(files, writer.state);
    if let Some(worktree) = &destination {
        writer.set("/worktree_path", &json!(worktree))?;
    }
    let (before, after) = (Arc::clone(bytes), writer.document.into_bytes());
    Ok(match destination.map(|worktree| worktree.join(&files.config.nine_step.state_file)) {
        Some(Ok(path)) => moved(files, path, after, before),
        Some(Err(_)) | None => vec![Edit { path: files.state.clone(), kind: EditKind::Replace { before, after } }],
    })
}

/// Moves a state. Its backup would stay behind as a copy that nobody brings up to date: it goes.
fn moved(files: &FileSet, to: RelPath, after: Vec<u8>, before: Arc<[u8]>) -> Vec<Edit> {
    let stale = read::backup_of(&files.state).and_then(|path| match &files.files.get(&path)?.content {
        Content::Bytes(before) => Some(Edit { path, kind: EditKind::Remove { before: Arc::clone(before) } }),
        Content::NameOnly | Content::Problem(_) => None,
    });
    let create = Edit { path: to, kind: EditKind::Create { after } };
    let remove = Edit { path: files.state.clone(), kind: EditKind::Remove { before } };
    [create, remove].into_iter().chain(stale).collect()
}

fn open(files: &FileSet) -> Result<Opened<'_>, EditError> {
    let file = files.state.as_str().to_owned();
    read::open(files, &files.state).map_err(|finding| match files.problem(&files.state) {
        Some(ReadProblem::Missing) => EditError::Missing { file },
        Some(_) | None => {
            let place = finding.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            let problem = if finding.code == FindingCode::StateWrongType {
                "no JSON object"
            } else {
                finding.message.rsplit("Invalid JSON syntax: ").next().unwrap_or(&finding.message)
            };
            EditError::Unreadable { file, problem: format!("{place}{problem}") }
        }
    })
}

/// Returns the worktree that a state from before it moves into (docs/formats/nine-step.md#state-before-the-worktree).
fn destination(files: &FileSet, state: &State) -> Option<RelPath> {
    let feature = state.feature.get().filter(|_| workspace::is_early(files))?;
    workspace::linked_worktree(feature, files)
}

struct Writer<'a> {
    files: &'a FileSet,
    document: Document,
    /// The file as it was.
    value: &'a Value,
    state: &'a State,
    ledger: Ledger,
    now: Timestamp,
    at: Value,
    is_imported: bool,
}

impl<'a> Writer<'a> {
    fn new(
        files: &'a FileSet,
        (bytes, value): (&[u8], &'a Value),
        state: &'a State,
        change: &Change,
    ) -> Result<Self, EditError> {
        if let Some(version) = state.newer {
            let message = format!("{} has version {version}, newer than this piton; it is left as it is", files.state);
            return Err(EditError::Unsupported(message));
        }
        let document = Document::parse(bytes).map_err(|error| EditError::Unreadable {
            file: files.state.as_str().to_owned(),
            problem: format!("line {}: {}", error.line, error.message),
        })?;
        let (now, at) = (change.at, json!(change.at));
        let ledger = Ledger::of(state);
        Ok(Self { files, document, value, state, ledger, now, at, is_imported: false })
    }

    fn apply(&mut self, kind: &ChangeKind) -> Result<(), EditError> {
        match kind {
            ChangeKind::Begin { step, part, agent, attempt } => {
                refuse_part(part.as_deref())?;
                self.begin(place(step)?, agent.clone(), *attempt)
            }
            ChangeKind::Finish(outcome) => {
                refuse_part(outcome.part.as_deref())?;
                self.finish(outcome)
            }
            ChangeKind::Approve { step, by, note } => self.approve(place(step)?, by.as_deref(), note.as_deref()),
            ChangeKind::Skip { step, part, reason } => {
                refuse_part(part.as_deref())?;
                self.skip(place(step)?, reason)
            }
            ChangeKind::Pause { reason } => self.rest("paused", "paused_at", reason.as_deref()),
            ChangeKind::Abort { reason } => self.rest("aborted", "aborted_at", reason.as_deref()),
            ChangeKind::Complete { note } => self.rest("completed", "completed_at", note.as_deref()),
            ChangeKind::Resume { interruption, strategy, settled, .. } => {
                self.resume(interruption.as_ref(), strategy.as_deref(), settled)
            }
            ChangeKind::RollBack(back) => self.roll_back(back),
            ChangeKind::Repair(_) | ChangeKind::Start(_) => {
                Err(EditError::Unsupported("the run has begun already".to_owned()))
            }
        }
    }

    fn begin(&mut self, place: Place, agent: Option<String>, attempt: u32) -> Result<(), EditError> {
        let counted = self.ledger.get(place).map_or(0, |tally| tally.attempts).saturating_add(1);
        let attempt = if attempt > 0 { attempt } else { counted };
        let agent = agent.or_else(|| self.usual_agent(place));
        let mut entry = self.entry(place, agent, "in_progress");
        self.go_on();
        self.import()?;
        self.replace_last(place, &entry)?;
        entry.insert("attempt".to_owned(), json!(attempt));
        self.push("/history", Value::Object(entry))
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let place = place(&outcome.step)?;
        let status = match outcome.status {
            Status::Completed | Status::Failed | Status::WaitingApproval => outcome.status,
            Status::Pending | Status::InProgress | Status::Blocked | Status::Skipped | Status::Cancelled => {
                return Err(EditError::Unsupported(format!(
                    "a nine-step step ends as completed, failed or waiting_approval, not as {}",
                    outcome.status
                )));
            }
        };
        let agent = outcome.agent.clone().or_else(|| self.usual_agent(place));
        let mut entry = self.entry(place, agent, status.as_str());
        put(&mut entry, "verdict", outcome.verdict.map(|verdict| json!(verdict)));
        put(&mut entry, "commit_sha", outcome.commit.as_ref().map(|commit| json!(commit)));
        let success = entry.clone();
        put(&mut entry, "conditions", (!outcome.conditions.is_empty()).then(|| json!(outcome.conditions)));
        put(&mut entry, "error_message", outcome.error.as_ref().map(|error| json!(error)));
        put(&mut entry, "summary", outcome.summary.as_ref().map(|summary| json!(summary)));
        self.import()?;
        self.replace_last(place, &entry)?;
        if status == Status::Completed {
            self.list_success(success)?;
        }
        if outcome.attempt > 0 {
            entry.insert("attempt".to_owned(), json!(outcome.attempt));
        }
        self.push("/history", Value::Object(entry))
    }

    /// Records that a person let the run through. At a gate, or where approval is waited for, the step is completed by it; at a
    /// failure it answers whether the run may go back and try again (docs/formats/nine-step.md#decision-table).
    fn approve(&mut self, place: Place, by: Option<&str>, note: Option<&str>) -> Result<(), EditError> {
        let by = by.unwrap_or("user");
        let mut approval = Map::new();
        approval.insert("phase".to_owned(), json!(place.phase));
        approval.insert("step".to_owned(), place.step.to_value());
        approval.insert("by".to_owned(), json!(by));
        approval.insert("at".to_owned(), self.at.clone());
        if let Some(note) = note {
            approval.insert("note".to_owned(), json!(note));
        }
        self.import()?;
        let last = self.state.last.get().filter(|last| last.place() == Some(place)).cloned();
        let word = last.as_ref().and_then(|last| Word::parse(last.status.get()?));
        let verdict = last.as_ref().and_then(|last| ReviewVerdict::parse(last.verdict.get()?));
        let is_passed = match word {
            Some(Word::Completed) => verdict.is_none_or(approves),
            Some(Word::Verdict(verdict)) => approves(verdict),
            Some(
                Word::Pending
                | Word::InProgress
                | Word::Failed
                | Word::WaitingApproval
                | Word::Skipped
                | Word::Interrupted
                | Word::Decided
                | Word::RolledBack,
            )
            | None => false,
        };
        if place.step.kind() == StepKind::Gate || word == Some(Word::WaitingApproval) {
            self.let_through(place, by, verdict)?;
        } else if is_passed {
            self.set("/last_execution/conditions", &json!([]))?;
        } else {
            self.decide(place, last.is_some(), &approval)?;
        }
        self.push("/approvals", Value::Object(approval))
    }

    fn let_through(&mut self, place: Place, by: &str, verdict: Option<ReviewVerdict>) -> Result<(), EditError> {
        let agent = match place.step.kind() {
            StepKind::Gate => Some(by.to_owned()),
            StepKind::Work | StepKind::Review | StepKind::Container => self.usual_agent(place),
        };
        let mut entry = self.entry(place, agent, "completed");
        if place.step.kind() == StepKind::Review {
            let verdict = verdict.filter(|verdict| approves(*verdict)).unwrap_or(ReviewVerdict::Approved);
            entry.insert("verdict".to_owned(), json!(verdict));
        }
        self.replace_last(place, &entry)?;
        if entry.get("verdict") == Some(&json!(ReviewVerdict::ApprovedWithConditions)) {
            self.set("/last_execution/conditions", &json!([]))?;
        }
        self.list_success(entry.clone())?;
        self.push("/history", Value::Object(entry))
    }

    fn decide(&mut self, place: Place, is_last: bool, approval: &Map<String, Value>) -> Result<(), EditError> {
        if is_last {
            let mut decision = approval.clone();
            decision.shift_remove("phase");
            decision.shift_remove("step");
            self.set("/last_execution/decision", &Value::Object(decision))?;
        }
        let by = approval.get("by").and_then(Value::as_str).map(str::to_owned);
        let entry = self.entry(place, by, "decided");
        self.push("/history", Value::Object(entry))
    }

    fn skip(&mut self, place: Place, reason: &str) -> Result<(), EditError> {
        self.import()?;
        let mut entry = self.entry(place, None, "skipped");
        entry.insert("reason".to_owned(), json!(reason));
        self.push("/history", Value::Object(entry))?;
        let record = json!({
            "phase": place.phase,
            "step": place.step.to_value(),
            "reason": reason,
            "at": self.at,
        });
        self.push("/skipped_steps", record)
    }

    fn rest(&mut self, status: &str, stamp: &str, reason: Option<&str>) -> Result<(), EditError> {
        self.set("/run_status", &json!(status))?;
        let at = self.at.clone();
        self.set(&format!("/{stamp}"), &at)?;
        match reason {
            Some(reason) => self.set("/run_status_reason", &json!(reason)),
            None => {
                self.remove("/run_status_reason");
                Ok(())
            }
        }
    }

    /// Takes back a pause or the like: the run goes on.
    fn go_on(&mut self) {
        for key in ["run_status", "paused_at", "aborted_at", "completed_at", "run_status_reason"] {
            if self.state.run_status.is_some() {
                self.remove(&format!("/{key}"));
            }
        }
    }

    fn resume(
        &mut self,
        interruption: Option<&Interruption>,
        strategy: Option<&str>,
        settled: &[(StepId, Status)],
    ) -> Result<(), EditError> {
        self.go_on();
        self.set("/resume_count", &json!(self.state.resumes.saturating_add(1)))?;
        if let Some(interruption) = interruption {
            self.interrupted(interruption, strategy)?;
        }
        let at = self.state.last.get().and_then(Entry::place);
        let is_done = |(step, status): &&(StepId, Status)| {
            *status == Status::Completed && Place::parse(step.as_str()).is_some_and(|place| at == Some(place))
        };
        if let (Some(place), Some(_)) = (at, settled.iter().find(is_done)) {
            self.import()?;
            let agent = self.usual_agent(place);
            let entry = self.entry(place, agent, "completed");
            self.replace_last(place, &entry)?;
            self.list_success(entry.clone())?;
            self.push("/history", Value::Object(entry))?;
        }
        Ok(())
    }

    fn interrupted(&mut self, interruption: &Interruption, strategy: Option<&str>) -> Result<(), EditError> {
        self.import()?;
        let place = interruption.step.as_ref().and_then(|step| Place::parse(step.as_str()));
        let mut record = Map::new();
        record.insert("at".to_owned(), self.at.clone());
        record.insert("kind".to_owned(), json!(interruption.kind));
        if let Some(place) = place {
            record.insert("phase".to_owned(), json!(place.phase));
            record.insert("step".to_owned(), place.step.to_value());
            let mut entry = self.entry(place, None, "interrupted");
            entry.insert("reason".to_owned(), json!(interruption.reason));
            self.push("/history", Value::Object(entry))?;
        }
        if let Some(at) = interruption.at {
            record.insert("interrupted_at".to_owned(), json!(at));
        }
        record.insert("reason".to_owned(), json!(interruption.reason));
        if let Some(strategy) = strategy {
            record.insert("strategy".to_owned(), json!(strategy));
        }
        self.push("/interruption_history", Value::Object(record))
    }

    /// Makes a record of an execution with the fields of the plugin's own (docs/formats/nine-step.md#fields-of-the-state).
    fn entry(&self, place: Place, agent: Option<String>, status: &str) -> Map<String, Value> {
        let mut entry = Map::new();
        entry.insert("phase".to_owned(), json!(place.phase));
        entry.insert("step".to_owned(), place.step.to_value());
        if let Some(agent) = agent {
            entry.insert("agent".to_owned(), json!(agent));
        }
        entry.insert("status".to_owned(), json!(status));
        entry.insert("timestamp".to_owned(), self.at.clone());
        entry
    }

    /// Returns who does the step when the caller names nobody.
    fn usual_agent(&self, place: Place) -> Option<String> {
        let recorded = self.ledger.get(place).and_then(|tally| tally.agent.clone());
        recorded.or_else(|| match place.step.role() {
            Some(role) => Some(role.name(&self.files.config.nine_step)),
            None => self.ledger.developer.clone(),
        })
    }

    /// Takes an execution that another tool wrote into the history before it is replaced: its failure still counts.
    fn import(&mut self) -> Result<(), EditError> {
        if std::mem::replace(&mut self.is_imported, true) {
            return Ok(());
        }
        let Some(place) = unrecorded(self.state).and_then(Entry::place) else { return Ok(()) };
        let Some(recorded) = self.value.get("last_execution").filter(|last| last.is_object()) else {
            return Ok(());
        };
        let mut entry = Map::new();
        for key in IMPORTED {
            if let Some(value) = recorded.get(key) {
                entry.insert(key.to_owned(), value.clone());
            }
        }
        if let Some(tally) = self.ledger.get(place) {
            entry.insert("attempt".to_owned(), json!(tally.attempts.max(1)));
            if tally.failures > 1 {
                entry.insert("revision_count".to_owned(), json!(tally.failures));
            }
        }
        self.push("/history", Value::Object(entry))
    }

    /// Puts a new execution in the place of the last one. Unknown fields stay, as they are.
    fn replace_last(&mut self, place: Place, entry: &Map<String, Value>) -> Result<(), EditError> {
        let is_same_step = self.state.last.get().and_then(Entry::place) == Some(place);
        match self.state.last {
            Field::Missing => self.set("/last_execution", &Value::Object(entry.clone()))?,
            Field::Wrong => {
                return Err(EditError::Unsupported("`last_execution` is no object; correct it first".to_owned()));
            }
            Field::Is(_) => {
                let stale = OF_ONE_EXECUTION.iter().chain(OF_ONE_STEP.iter().filter(|_| !is_same_step));
                for key in stale.filter(|key| !entry.contains_key(**key)) {
                    self.remove(&format!("/last_execution/{key}"));
                }
                for (key, value) in entry {
                    self.set(&format!("/last_execution/{key}"), value)?;
                }
            }
        }
        self.forget_approvals(place);
        self.set("/current_phase", &json!(place.phase))?;
        self.set("/current_step", &place.step.to_value())
    }

    /// Takes out approvals of the gate ahead with a time that is still to come: they were given to what was there before, and
    /// would count for what is recorded now.
    fn forget_approvals(&mut self, place: Place) {
        let gate = Place::new(place.phase, StepNumber::Approval);
        let is_early = |entry: &&Entry| entry.place() == Some(gate) && entry.timestamp > Some(self.now);
        let approvals = self.state.approvals.iter().filter(|_| place <= gate);
        let early: Vec<String> = approvals.filter(is_early).map(Entry::pointer).collect();
        for pointer in early.into_iter().rev() {
            self.remove(&pointer);
        }
    }

    /// Sets a value, unless the file says the same already in its own spelling.
    fn set(&mut self, pointer: &str, value: &Value) -> Result<(), EditError> {
        let old = self.value.pointer(pointer);
        if (self.document.has(pointer) && old.is_some_and(|old| is_same_value(pointer, old, value)))
            || self.document.set(pointer, value)
        {
            return Ok(());
        }
        Err(in_the_way(pointer))
    }

    fn push(&mut self, pointer: &str, value: Value) -> Result<(), EditError> {
        let is_null = self.value.get(&pointer[1..]).is_some_and(Value::is_null) && self.document.has(pointer);
        let is_first = is_null && !self.document.has(&format!("{pointer}/0"));
        let done =
            if is_first { self.document.set(pointer, &json!([value])) } else { self.document.push(pointer, &value) };
        if done { Ok(()) } else { Err(in_the_way(pointer)) }
    }

    /// Lists a success in `completed_steps`. Where that is no list it is left alone: nothing of it is read, the history tells
    /// the same, and a result that cannot be recorded would be lost.
    fn list_success(&mut self, entry: Map<String, Value>) -> Result<(), EditError> {
        let listed = self.value.get("completed_steps");
        if listed.is_some_and(|listed| !listed.is_array() && !listed.is_null()) {
            return Ok(());
        }
        self.push("/completed_steps", Value::Object(entry))
    }

    fn remove(&mut self, pointer: &str) {
        self.document.remove(pointer);
    }
}

fn is_same_value(pointer: &str, old: &Value, new: &Value) -> bool {
    match pointer {
        "/current_step" | "/last_execution/step" => {
            StepNumber::read(old).is_some_and(|step| Some(step) == StepNumber::read(new))
        }
        "/current_phase" | "/last_execution/phase" => {
            raw::phase(old).is_some_and(|phase| Some(phase) == raw::phase(new))
        }
        _ => old == new,
    }
}

fn put(entry: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        entry.insert(key.to_owned(), value);
    }
}

fn in_the_way(pointer: &str) -> EditError {
    let name = pointer.trim_start_matches('/').replace('/', ".");
    EditError::Unsupported(format!("`{name}` cannot be written: a value of another type is in the way"))
}

fn place(step: &StepId) -> Result<Place, EditError> {
    Place::parse(step.as_str()).ok_or_else(|| {
        EditError::Unsupported(format!("`{step}` is no step of a nine-step workflow (PHASE:STEP, as 2:2.5)"))
    })
}

fn refuse_part(part: Option<&str>) -> Result<(), EditError> {
    match part {
        Some(part) => Err(EditError::Unsupported(format!("nine-step steps have no parts; `{part}` is none"))),
        None => Ok(()),
    }
}
