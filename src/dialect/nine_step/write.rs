//! Computes the edits of a change (docs/formats/nine-step.md#what-is-written). Only the affected fields are written; all other
//! bytes are preserved.

mod roll_back;

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{
    layout,
    ledger::{Ledger, unrecorded},
    raw::{self, NineStepEntry, NineStepState, Required},
    read,
    rules::{StatusWord, StepNumber, StepPosition},
    start, workspace,
};
use crate::document::Reader;
pub(super) use roll_back::{rollback_backup, tracker};

use crate::{
    dialect::{
        EditError,
        edit::FileEditor,
        writer::{Approval, Begun, Resumed, StateWriter, write},
    },
    document::{Node, Syntax},
    model::{
        Change, ChangeKind, Content, Edit, EditKind, FileSet, FindingCode, Interruption, Outcome, ReadProblem, RelPath,
        ReviewVerdict, RollBack, Status, StepId, StepKind, Timestamp,
    },
};

/// Keys of `last_execution` about one execution, removed when the next one replaces it.
const OF_ONE_EXECUTION: [&str; 13] = [
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
    "returns_to",
];

/// Counters and texts that other tools record for one step.
const OF_ONE_STEP: [&str; 5] = ["attempt", "attempts", "revision_count", "findings", "error"];

/// The fields imported into the history from an execution recorded by another tool.
const IMPORTED: [&str; 10] =
    ["phase", "step", "agent", "status", "timestamp", "verdict", "error_message", "findings", "error", "commit_sha"];

/// Computes the edits of one change.
///
/// # Errors
///
/// When the state is missing, does not parse, was written by a newer version, or has a value of another type where the change
/// belongs.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    if let ChangeKind::Start(spec) = &change.kind {
        return start::edit(files, spec, change.at);
    }
    let source = open(files)?;
    let state = NineStepState::read(&source, &mut Vec::new());
    let mut writer = NineStepWriter::new(files, source.node(), &state, change)?;
    if let ChangeKind::Repair { branch: Some(branch) } = &change.kind {
        writer.set("/branch_name", &json!(branch))?;
        return writer.into_edits();
    }
    write(writer, change)
}

/// Moves a state and removes its backup, which would become stale.
fn moved(files: &FileSet, to: RelPath, after: Vec<u8>, before: Arc<[u8]>) -> Vec<Edit> {
    let stale = layout::backup_of(&files.state).and_then(|path| match &files.files.get(&path)?.content {
        Content::Bytes(before) => Some(Edit { path, kind: EditKind::Remove { before: Arc::clone(before) } }),
        Content::NameOnly | Content::Problem(_) => None,
    });
    let create = Edit { path: to, kind: EditKind::Create { after } };
    let remove = Edit { path: files.state.clone(), kind: EditKind::Remove { before } };
    [create, remove].into_iter().chain(stale).collect()
}

fn open(files: &FileSet) -> Result<Reader<'_>, EditError> {
    let file = files.state.as_str().to_owned();
    read::open(files, &files.state).map_err(|finding| match files.problem(&files.state) {
        Some(ReadProblem::Missing) => EditError::Missing { file },
        Some(_) | None => {
            let position = finding.line.map(|line| format!("line {line}: ")).unwrap_or_default();
            let problem = if finding.code == FindingCode::StateWrongType {
                "not a JSON object"
            } else {
                finding.message.rsplit("Invalid JSON syntax: ").next().unwrap_or(&finding.message)
            };
            EditError::Unreadable { file, problem: format!("{position}{problem}") }
        }
    })
}

struct NineStepWriter<'a> {
    files: &'a FileSet,
    file: FileEditor,
    /// The file before the change.
    value: &'a Node,
    state: &'a NineStepState,
    ledger: Ledger,
    now: Timestamp,
    at: Value,
    is_imported: bool,
}

impl<'a> NineStepWriter<'a> {
    fn new(files: &'a FileSet, value: &'a Node, state: &'a NineStepState, change: &Change) -> Result<Self, EditError> {
        if let Some(version) = &state.newer {
            let message = format!("{} has version {version}, newer than this piton; it was not changed", files.state);
            return Err(EditError::Unsupported(message));
        }
        let file = FileEditor::open(files, &files.state, Syntax::Json)?;
        let (now, at) = (change.at, json!(change.at));
        let ledger = Ledger::of(state);
        Ok(Self { files, file, value, state, ledger, now, at, is_imported: false })
    }

    /// Records how many phases the plan has.
    fn set_phases(&mut self, phases: Option<u32>) -> Result<(), EditError> {
        let Some(phases) = phases else { return Ok(()) };
        let begun = self.state.last.get().and_then(NineStepEntry::position).map_or(1, |position| position.phase);
        if phases < begun {
            return Err(EditError::Unsupported(format!("phase {begun} was begun, so there are not only {phases}")));
        }
        self.set("/total_phases", &json!(phases))
    }

    /// Adds a commit or conditions to the record of a step that is done.
    fn amend(&mut self, position: StepPosition, outcome: &Outcome) -> Result<(), EditError> {
        let is_last = self.state.last.get().and_then(NineStepEntry::position) == Some(position);
        if !outcome.conditions.is_empty() {
            if !is_last {
                let message = format!("the run has gone on from {}; its verdict is recorded", outcome.step);
                return Err(EditError::Unsupported(message));
            }
            self.set("/last_execution/verdict", &json!(outcome.verdict))?;
            self.set("/last_execution/conditions", &json!(outcome.conditions))?;
        }
        if let Some(to) = &outcome.to_step {
            if !is_last {
                let message = format!("the run has gone on from {}", outcome.step);
                return Err(EditError::Unsupported(message));
            }
            self.set("/last_execution/returns_to", &super::write::position(to)?.step.to_value())?;
        }
        let Some(commit) = &outcome.commit else { return Ok(()) };
        if is_last {
            self.set("/last_execution/commit_sha", &json!(commit))?;
        }
        let listed = self.value.get("completed_steps").map(Node::items).unwrap_or_default();
        let is_it = |entry: &Node| position_of(entry) == Some(position);
        match listed.iter().rposition(is_it) {
            Some(at) => self.set(&format!("/completed_steps/{at}/commit_sha"), &json!(commit)),
            None => Ok(()),
        }
    }

    fn complete_approved(
        &mut self,
        position: StepPosition,
        by: &str,
        verdict: Option<ReviewVerdict>,
    ) -> Result<(), EditError> {
        let agent = match position.step.kind() {
            StepKind::Gate => Some(by.to_owned()),
            StepKind::Work | StepKind::Review | StepKind::Container => self.usual_agent(position),
        };
        let mut entry = self.entry(position, agent, "completed");
        if position.step.kind() == StepKind::Review {
            let verdict = verdict.filter(|verdict| verdict.approves()).unwrap_or(ReviewVerdict::Approved);
            entry.insert("verdict".to_owned(), json!(verdict));
        }
        self.replace_last(position, &entry)?;
        if entry.get("verdict") == Some(&json!(ReviewVerdict::ApprovedWithConditions)) {
            self.set("/last_execution/conditions", &json!([]))?;
        }
        self.add_completed(entry.clone())?;
        self.push("/history", Value::Object(entry))
    }

    fn set_run_status(&mut self, status: &str, stamp: &str, reason: Option<&str>) -> Result<(), EditError> {
        self.set("/run_status", &json!(status))?;
        let at = self.at.clone();
        self.set(&format!("/{stamp}"), &at)?;
        match reason {
            Some(reason) => self.set("/run_status_reason", &json!(reason)),
            None => self.remove("/run_status_reason"),
        }
    }

    /// Clears a pause, abort or completion: the run continues.
    fn clear_run_status(&mut self) -> Result<(), EditError> {
        let keys = ["run_status", "paused_at", "aborted_at", "completed_at", "run_status_reason"];
        let mut recorded = keys.iter().filter(|_| self.state.run_status.is_some());
        recorded.try_for_each(|key| self.file.remove(&format!("/{key}")))
    }

    fn record_interruption(&mut self, interruption: &Interruption, strategy: Option<&str>) -> Result<(), EditError> {
        self.import()?;
        let position = interruption.step.as_ref().and_then(|step| StepPosition::parse(step.as_str()));
        let mut record = Map::new();
        record.insert("at".to_owned(), self.at.clone());
        record.insert("kind".to_owned(), json!(interruption.kind));
        if let Some(position) = position {
            record.insert("phase".to_owned(), json!(position.phase));
            record.insert("step".to_owned(), position.step.to_value());
            let mut entry = self.entry(position, None, "interrupted");
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

    /// Creates an execution record with the plugin's fields (docs/formats/nine-step.md#fields-of-the-state).
    fn entry(&self, position: StepPosition, agent: Option<String>, status: &str) -> Map<String, Value> {
        let mut entry = Map::new();
        entry.insert("phase".to_owned(), json!(position.phase));
        entry.insert("step".to_owned(), position.step.to_value());
        if let Some(agent) = agent {
            entry.insert("agent".to_owned(), json!(agent));
        }
        entry.insert("status".to_owned(), json!(status));
        entry.insert("timestamp".to_owned(), self.at.clone());
        entry
    }

    /// Returns the agent of a step if the caller does not name one.
    fn usual_agent(&self, position: StepPosition) -> Option<String> {
        let recorded = self.ledger.get(position).and_then(|record| record.agent.clone());
        recorded.or_else(|| match position.step.role() {
            Some(role) => Some(role.name(&self.files.config.nine_step)),
            None => self.ledger.developer.clone(),
        })
    }

    /// Copies an execution recorded by another tool into the history before it is replaced, so that its failure still counts.
    fn import(&mut self) -> Result<(), EditError> {
        if std::mem::replace(&mut self.is_imported, true) {
            return Ok(());
        }
        let Some(position) = unrecorded(self.state).and_then(NineStepEntry::position) else { return Ok(()) };
        let Some(recorded) = self.value.get("last_execution").filter(|last| last.is_map()) else {
            return Ok(());
        };
        let mut entry = Map::new();
        for key in IMPORTED {
            if let Some(value) = recorded.get(key) {
                entry.insert(key.to_owned(), value.to_json());
            }
        }
        if let Some(record) = self.ledger.get(position) {
            entry.insert("attempt".to_owned(), json!(record.attempts.max(1)));
            if record.failures > 1 {
                entry.insert("revision_count".to_owned(), json!(record.failures));
            }
        }
        self.push("/history", Value::Object(entry))
    }

    /// Replaces the last execution. Unknown fields are preserved.
    fn replace_last(&mut self, position: StepPosition, entry: &Map<String, Value>) -> Result<(), EditError> {
        let is_same_step = self.state.last.get().and_then(NineStepEntry::position) == Some(position);
        match self.state.last {
            Required::Missing => self.set("/last_execution", &Value::Object(entry.clone()))?,
            Required::Wrong => {
                return Err(EditError::Unsupported("`last_execution` is not an object; correct it first".to_owned()));
            }
            Required::Is(_) => {
                let stale = OF_ONE_EXECUTION.iter().chain(OF_ONE_STEP.iter().filter(|_| !is_same_step));
                for key in stale.filter(|key| !entry.contains_key(**key)) {
                    self.remove(&format!("/last_execution/{key}"))?;
                }
                for (key, value) in entry {
                    self.set(&format!("/last_execution/{key}"), value)?;
                }
            }
        }
        self.drop_future_approvals(position)?;
        self.set("/current_phase", &json!(position.phase))?;
        self.set("/current_step", &position.step.to_value())
    }

    /// Removes approvals of the coming gate that have a future time: they were given to an earlier version of the work, and would
    /// count for this one.
    fn drop_future_approvals(&mut self, position: StepPosition) -> Result<(), EditError> {
        let gate = StepPosition::new(position.phase, StepNumber::Approval);
        let is_early = |entry: &&NineStepEntry| entry.position() == Some(gate) && entry.timestamp > Some(self.now);
        let approvals = self.state.approvals.iter().filter(|_| position <= gate);
        let early: Vec<String> = approvals.filter(is_early).map(NineStepEntry::pointer).collect();
        early.iter().rev().try_for_each(|pointer| self.remove(pointer))
    }

    /// Sets a value, unless the file has an equal one in another spelling.
    fn set(&mut self, pointer: &str, value: &Value) -> Result<(), EditError> {
        let new = Node::of(value);
        if self.file.get(pointer).is_some_and(|old| is_same_position(pointer, old, &new)) {
            return Ok(());
        }
        self.file.set(pointer, value)
    }

    fn push(&mut self, pointer: &str, value: Value) -> Result<(), EditError> {
        self.file.push(pointer, &value)
    }

    /// Adds a success to `completed_steps`. A value of another type is left alone: it is not read, the history records the same,
    /// and refusing would lose the result.
    fn add_completed(&mut self, entry: Map<String, Value>) -> Result<(), EditError> {
        let listed = self.value.get("completed_steps");
        if listed.is_some_and(|listed| !listed.is_list() && !listed.is_null()) {
            return Ok(());
        }
        self.push("/completed_steps", Value::Object(entry))
    }

    fn remove(&mut self, pointer: &str) -> Result<(), EditError> {
        self.file.remove(pointer)
    }
}

impl StateWriter for NineStepWriter<'_> {
    const WHAT: &'static str = "a nine-step run";

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let position = position(begun.step)?;
        let counted = self.ledger.get(position).map_or(0, |record| record.attempts).saturating_add(1);
        let attempt = if begun.attempt > 0 { begun.attempt } else { counted };
        let agent = begun.agent.map(str::to_owned).or_else(|| self.usual_agent(position));
        let mut entry = self.entry(position, agent, "in_progress");
        self.clear_run_status()?;
        self.import()?;
        self.replace_last(position, &entry)?;
        entry.insert("attempt".to_owned(), json!(attempt));
        self.push("/history", Value::Object(entry))
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let to_step = outcome.to_step.as_ref().map(position).transpose()?;
        let position = position(&outcome.step)?;
        self.set_phases(outcome.phases)?;
        if let Some(plan) = &outcome.document {
            self.set("/plan_reference", &json!(plan))?;
        }
        let status = match outcome.status {
            Status::Completed | Status::Failed | Status::WaitingApproval => outcome.status,
            Status::Pending | Status::InProgress | Status::Blocked | Status::Skipped | Status::Cancelled => {
                return Err(EditError::Unsupported(format!(
                    "a nine-step step ends as completed, failed or waiting_approval, not as {}",
                    outcome.status
                )));
            }
        };
        let agent = outcome.agent.clone().or_else(|| self.usual_agent(position));
        let mut entry = self.entry(position, agent, status.as_str());
        put(&mut entry, "verdict", outcome.verdict.map(|verdict| json!(verdict)));
        put(&mut entry, "commit_sha", outcome.commit.as_ref().map(|commit| json!(commit)));
        let success = entry.clone();
        put(&mut entry, "returns_to", to_step.map(|to| to.step.to_value()));
        put(&mut entry, "conditions", (!outcome.conditions.is_empty()).then(|| json!(outcome.conditions)));
        put(&mut entry, "error_message", outcome.error.as_ref().map(|error| json!(error)));
        put(&mut entry, "summary", outcome.summary.as_ref().map(|summary| json!(summary)));
        self.import()?;
        if outcome.amends {
            return self.amend(position, outcome);
        }
        self.replace_last(position, &entry)?;
        if status == Status::Completed {
            self.add_completed(success)?;
        }
        if outcome.attempt > 0 {
            entry.insert("attempt".to_owned(), json!(outcome.attempt));
        }
        self.push("/history", Value::Object(entry))
    }

    /// Records an approval. It completes a gate or a step that waits for approval, or closes the conditions of a review.
    fn approve(&mut self, approval: &Approval<'_>) -> Result<(), EditError> {
        self.set_phases(approval.phases)?;
        let position = position(approval.step)?;
        let by = approval.by.unwrap_or("user");
        let mut record = Map::new();
        record.insert("phase".to_owned(), json!(position.phase));
        record.insert("step".to_owned(), position.step.to_value());
        record.insert("by".to_owned(), json!(by));
        record.insert("at".to_owned(), self.at.clone());
        if let Some(note) = approval.note {
            record.insert("note".to_owned(), json!(note));
        }
        self.import()?;
        let last = self.state.last.get().filter(|last| last.position() == Some(position)).cloned();
        let word = last.as_ref().and_then(|last| StatusWord::parse(last.status.get()?));
        let verdict = last.as_ref().and_then(|last| ReviewVerdict::parse(last.verdict.get()?));
        // Here the status counts before the verdict beside it.
        let is_passed = word.is_some_and(|word| word.passes(word.verdict().or(verdict)));
        let is_past = self.state.last.get().and_then(NineStepEntry::position).is_some_and(|last| last > position);
        if position.step.kind() == StepKind::Gate && is_past {
            // The run stays where it is: the approval of the plan is recorded late, or given again.
            let entry = self.entry(position, Some(by.to_owned()), "completed");
            self.add_completed(entry.clone())?;
            self.push("/history", Value::Object(entry))?;
        } else if position.step.kind() == StepKind::Gate || word == Some(StatusWord::WaitingApproval) {
            self.complete_approved(position, by, verdict)?;
        } else if is_passed {
            self.set("/last_execution/conditions", &json!([]))?;
        }
        self.push("/approvals", Value::Object(record))
    }

    fn skip(&mut self, step: &StepId, _part: Option<&str>, reason: &str) -> Result<(), EditError> {
        let position = position(step)?;
        self.import()?;
        let mut entry = self.entry(position, None, "skipped");
        entry.insert("reason".to_owned(), json!(reason));
        self.push("/history", Value::Object(entry))?;
        let record = json!({
            "phase": position.phase,
            "step": position.step.to_value(),
            "reason": reason,
            "at": self.at,
        });
        self.push("/skipped_steps", record)
    }

    fn pause(&mut self, reason: Option<&str>) -> Result<(), EditError> {
        self.set_run_status("paused", "paused_at", reason)
    }

    fn complete(&mut self, note: Option<&str>) -> Result<(), EditError> {
        self.set_run_status("completed", "completed_at", note)
    }

    fn resume(&mut self, resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.clear_run_status()?;
        self.set("/resume_count", &json!(self.state.resumes.saturating_add(1)))?;
        if let Some(interruption) = resumed.interruption {
            self.record_interruption(interruption, resumed.strategy)?;
        }
        let at = self.state.last.get().and_then(NineStepEntry::position);
        let is_done = |(step, status): &&(StepId, Status)| {
            *status == Status::Completed
                && StepPosition::parse(step.as_str()).is_some_and(|position| at == Some(position))
        };
        if let (Some(position), Some(_)) = (at, resumed.settled.iter().find(is_done)) {
            self.import()?;
            let agent = self.usual_agent(position);
            let entry = self.entry(position, agent, "completed");
            self.replace_last(position, &entry)?;
            self.add_completed(entry.clone())?;
            self.push("/history", Value::Object(entry))?;
        }
        Ok(())
    }

    fn roll_back(&mut self, back: &RollBack) -> Result<(), EditError> {
        self.reopen_from(back)
    }

    fn into_edits(mut self) -> Result<Vec<Edit>, EditError> {
        self.set("/updated_at", &json!(self.now))?;
        let destination = workspace::destination(self.state, self.files);
        if let Some(worktree) = &destination {
            self.set("/worktree_path", &json!(worktree))?;
        }
        let edit = self.file.into_edit();
        let path = destination.map(|worktree| worktree.join(&self.files.config.nine_step.state_file));
        Ok(match (path, edit.kind) {
            (Some(Ok(path)), EditKind::Replace { before, after }) => moved(self.files, path, after, before),
            (_, kind) => vec![Edit { path: edit.path, kind }],
        })
    }
}

/// Tells whether two values are the same phase or step, however they are spelled.
fn is_same_position(pointer: &str, old: &Node, new: &Node) -> bool {
    match pointer {
        "/current_step" | "/last_execution/step" => {
            StepNumber::read(old).is_some_and(|step| Some(step) == StepNumber::read(new))
        }
        "/current_phase" | "/last_execution/phase" => {
            raw::phase(old).is_some_and(|phase| Some(phase) == raw::phase(new))
        }
        _ => false,
    }
}

fn position_of(entry: &Node) -> Option<StepPosition> {
    Some(StepPosition::new(raw::phase(entry.get("phase")?)?, StepNumber::read(entry.get("step")?)?))
}

fn put(entry: &mut Map<String, Value>, key: &str, value: Option<Value>) {
    if let Some(value) = value {
        entry.insert(key.to_owned(), value);
    }
}

fn position(step: &StepId) -> Result<StepPosition, EditError> {
    StepPosition::parse(step.as_str())
        .ok_or_else(|| EditError::Unsupported(format!("`{step}` is not a nine-step step (PHASE:STEP, such as 2:2.5)")))
}
