//! Writes a change into both files, execution.json first and phase.json last. All other bytes are preserved.

use std::collections::BTreeMap;

use serde_json::Value;
use serde_json::json;

use super::super::paths::beside;
use super::definition;
use super::definition::needs;
use super::definition::phases;
use super::start;
use super::state;
use super::state::word;
use crate::dialect::EditError;
use crate::dialect::edit::FileEditor;
use crate::dialect::writer::Approval;
use crate::dialect::writer::Begun;
use crate::dialect::writer::Resumed;
use crate::dialect::writer::StateWriter;
use crate::dialect::writer::write;
use crate::document::Node;
use crate::document::Syntax;
use crate::document::escape;
use crate::model::Change;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::Outcome;
use crate::model::RollBack;
use crate::model::Status;
use crate::model::StepId;
use crate::model::Timestamp;
use crate::workflow::Step;
use crate::workflow::Workflow;

/// Computes the edits of one change.
///
/// # Errors
///
/// If one of the two files is missing or does not parse, or a value has an unexpected type.
pub(in super::super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let execution = beside(&files.state, state::EXECUTION)
        .ok_or_else(|| EditError::Missing { file: state::EXECUTION.to_owned() })?;
    let phase = FileEditor::open(files, &files.state, Syntax::Json)?;
    let execution = FileEditor::open(files, &execution, Syntax::Json)?;
    let unreadable = |findings: &[Finding]| EditError::Unreadable {
        file: files.state.as_str().to_owned(),
        problem: findings.first().map(|finding| finding.message.clone()).unwrap_or_default(),
    };
    let read = state::open(files, &files.state).map_err(|finding| unreadable(&[*finding]))?;
    let current = state::effective_definition(files, &read).map_err(|findings| unreadable(&findings))?;
    let mut writer = Writer::new(phase, execution, current.definition, change.at);
    if current.is_changed {
        writer.adopt_definition()?;
    }
    if let Some(sha256) = current.sha256 {
        writer.phase.set("/definition_source/sha256", &json!(sha256))?;
    }
    writer.step = change.kind.step().map(|step| step.as_str().to_owned());
    write(writer, change)
}

struct Writer {
    definition: Workflow,
    phase: FileEditor,
    execution: FileEditor,
    /// The index of each task in the array.
    places: BTreeMap<String, usize>,
    statuses: BTreeMap<String, Status>,
    at: Timestamp,
    /// The step that the change is about.
    step: Option<String>,
}

impl Writer {
    fn new(phase: FileEditor, execution: FileEditor, definition: Workflow, at: Timestamp) -> Self {
        let tasks = state::tasks(execution.root());
        let places = tasks.iter().map(|(id, (place, _))| ((*id).to_owned(), *place)).collect();
        let status = |task: &Node| task.get("status").and_then(Node::as_str).and_then(state::status);
        let statuses =
            tasks.iter().map(|(id, (_, task))| ((*id).to_owned(), status(task).unwrap_or(Status::Pending))).collect();
        Self { definition, phase, places, statuses, execution, at, step: None }
    }

    fn begin_step(&mut self, id: &str, agent: Option<&str>, attempt: u32, reopens: &[StepId]) -> Result<(), EditError> {
        self.clear_run_status()?;
        let was = self.statuses.get(id).copied();
        let review_errors = self.review_errors(id);
        for reopened in reopens {
            self.reopen(reopened.as_str())?;
        }
        self.set_status(id, Status::InProgress)?;
        self.set(id, "attempts", &json!(attempt))?;
        self.set(id, "started_at", &json!(self.at))?;
        self.set(id, "completed_at", &Value::Null)?;
        self.unset(id, "reopened_at")?;
        if let Some(agent) = agent {
            self.set(id, "agent", &json!(agent))?;
        }
        if !review_errors.is_empty() {
            self.set(id, "last_error", &json!(review_errors))?;
        }
        if matches!(was, Some(Status::Completed | Status::Skipped)) {
            self.reset_parts(id)?;
        }
        Ok(())
    }

    /// Returns the errors of reviews that return to this step, which must outlive the reviews' own records.
    fn review_errors(&self, id: &str) -> String {
        let returning = |step: &&Step| {
            step.reviews.as_ref().is_some_and(|of| of.id.as_str() == id)
                && self.statuses.get(step.id.as_str()) == Some(&Status::Failed)
        };
        let errors = self.definition.steps.iter().filter(returning);
        let errors: Vec<&str> = errors.filter_map(|step| self.get(step.id.as_str(), "last_error")?.as_str()).collect();
        errors.join("\n")
    }

    fn reopen(&mut self, id: &str) -> Result<(), EditError> {
        self.set_status(id, Status::Pending)?;
        self.set(id, "completed_at", &Value::Null)?;
        self.set(id, "reopened_at", &json!(self.at))?;
        for key in ["verdict", "conditions", "last_error"] {
            self.unset(id, key)?;
        }
        self.reset_parts(id)?;
        self.withdraw_approval(id)
    }

    fn withdraw_approval(&mut self, id: &str) -> Result<(), EditError> {
        let is_of = |entry: &Node| entry.get("phase").and_then(Node::as_str) == Some(id);
        self.remove_entries("/user_checkpoints", is_of)
    }

    fn remove_entries(&mut self, list: &str, is_gone: impl Fn(&Node) -> bool) -> Result<(), EditError> {
        let entries = self.phase.get(list).map(Node::items).unwrap_or_default().iter().enumerate();
        let gone: Vec<usize> = entries.filter(|(_, entry)| is_gone(entry)).map(|(at, _)| at).collect();
        self.phase.remove_elements(list, &gone)
    }

    fn reset_parts(&mut self, id: &str) -> Result<(), EditError> {
        let place = self.place(id)?;
        let count = self.get(id, "parts").map_or(0, |parts| parts.items().len());
        for part in 0..count {
            self.execution.set(&format!("/tasks/{place}/parts/{part}/status"), &json!(word(Status::Pending)))?;
        }
        Ok(())
    }

    fn begin_part(&mut self, id: &str, part: &str, reopens: &[StepId]) -> Result<(), EditError> {
        if self.statuses.get(id) != Some(&Status::InProgress) {
            let attempts = self.get(id, "attempts").and_then(Node::as_u64).unwrap_or_default();
            let attempt = u32::try_from(attempts).unwrap_or(u32::MAX).saturating_add(1);
            self.begin_step(id, None, attempt, reopens)?;
        }
        let pointer = self.part(id, part)?;
        self.execution.set(&format!("{pointer}/status"), &json!(word(Status::InProgress)))
    }

    fn finish_part(&mut self, outcome: &Outcome, part: &str) -> Result<(), EditError> {
        let pointer = self.part(outcome.step.as_str(), part)?;
        self.execution.set(&format!("{pointer}/status"), &json!(word(outcome.status)))?;
        for (name, value) in &outcome.set {
            self.execution.set(&format!("{pointer}/variables/{}", escape(name)), value)?;
        }
        match &outcome.error {
            Some(error) => self.execution.set(&format!("{pointer}/last_error"), &json!(error)),
            None => Ok(()),
        }
    }

    fn finish_step(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        self.clear_run_status()?;
        let id = outcome.step.as_str();
        self.set_status(id, outcome.status)?;
        self.set(id, "attempts", &json!(outcome.attempt))?;
        self.set(id, "completed_at", &json!(self.at))?;
        let error = outcome.error.as_ref().or(outcome.summary.as_ref().filter(|_| outcome.status == Status::Failed));
        let fields = [
            ("agent", outcome.agent.as_ref().map(|agent| json!(agent))),
            ("verdict", outcome.verdict.map(|verdict| json!(verdict))),
            ("conditions", outcome.verdict.map(|_| json!(outcome.conditions))),
            ("summary", outcome.summary.as_ref().map(|summary| json!(summary))),
            ("commit", outcome.commit.as_ref().map(|commit| json!(commit))),
            ("outputs", (!outcome.outputs.is_empty()).then(|| json!(outcome.outputs))),
            ("last_error", error.map(|error| json!(error))),
            ("failures", (outcome.failures > 0).then(|| json!(outcome.failures))),
        ];
        for (key, value) in fields {
            match value {
                Some(value) => self.set(id, key, &value)?,
                None if matches!(key, "verdict" | "conditions" | "last_error" | "failures") => self.unset(id, key)?,
                None => {}
            }
        }
        self.remember_definition(id)
    }

    fn set_run_status(&mut self, status: &str, reason: Option<&str>) -> Result<(), EditError> {
        self.phase.set("/run_status", &json!(status))?;
        self.phase.set("/run_status_at", &json!(self.at))?;
        match reason {
            Some(reason) => self.phase.set("/run_status_reason", &json!(reason)),
            None => self.phase.remove("/run_status_reason"),
        }
    }

    fn clear_run_status(&mut self) -> Result<(), EditError> {
        ["/run_status", "/run_status_at", "/run_status_reason"].iter().try_for_each(|key| self.phase.remove(key))
    }

    /// Adopts a changed workflow file. Digests of completed steps are kept, so that the change is detected.
    fn adopt_definition(&mut self) -> Result<(), EditError> {
        let value = definition::to_value(&self.definition);
        self.phase.set("/definition", &value)?;
        for step in self.definition.steps.clone() {
            if !self.places.contains_key(step.id.as_str()) {
                let place = self.execution.get("/tasks").map_or(0, |tasks| tasks.items().len());
                self.execution.push("/tasks", &start::task(&step))?;
                self.places.insert(step.id.as_str().to_owned(), place);
                self.statuses.insert(step.id.as_str().to_owned(), Status::Pending);
            }
            self.set(step.id.as_str(), "depends_on", &json!(needs(&step)))?;
            if self.statuses.get(step.id.as_str()) != Some(&Status::Completed) {
                self.remember_definition(step.id.as_str())?;
            }
        }
        Ok(())
    }

    fn remember_definition(&mut self, id: &str) -> Result<(), EditError> {
        let Some(digest) = definition::step(&self.definition, id).map(definition::digest) else { return Ok(()) };
        self.phase.set(&format!("/definition_source/digests/{}", escape(id)), &json!(digest))
    }

    fn phase_status(&self, steps: &[&Step]) -> &'static str {
        let has = |status: Status| steps.iter().any(|step| self.statuses.get(step.id.as_str()) == Some(&status));
        if has(Status::InProgress) || has(Status::WaitingApproval) {
            "in_progress"
        } else if has(Status::Failed) {
            "failed"
        } else if has(Status::Completed) || has(Status::Skipped) {
            "in_progress"
        } else {
            "pending"
        }
    }

    fn set_status(&mut self, id: &str, status: Status) -> Result<(), EditError> {
        self.set(id, "status", &json!(word(status)))?;
        self.statuses.insert(id.to_owned(), status);
        Ok(())
    }

    fn place(&self, id: &str) -> Result<usize, EditError> {
        let missing = || EditError::Unsupported(format!("{} has no task `{id}`", self.execution.path()));
        self.places.get(id).copied().ok_or_else(missing)
    }

    fn part(&self, id: &str, part: &str) -> Result<String, EditError> {
        let place = self.place(id)?;
        let parts = self.get(id, "parts").map(Node::items).unwrap_or_default();
        let at = parts.iter().position(|other| other.get("name").and_then(Node::as_str) == Some(part));
        let missing = || EditError::Unsupported(format!("{} has no part `{part}` of `{id}`", self.execution.path()));
        at.map(|at| format!("/tasks/{place}/parts/{at}")).ok_or_else(missing)
    }

    fn get(&self, id: &str, key: &str) -> Option<&Node> {
        self.execution.get(&format!("/tasks/{}/{key}", self.places.get(id)?))
    }

    fn set(&mut self, id: &str, key: &str, value: &Value) -> Result<(), EditError> {
        let place = self.place(id)?;
        self.execution.set(&format!("/tasks/{place}/{key}"), value)
    }

    fn unset(&mut self, id: &str, key: &str) -> Result<(), EditError> {
        self.places.get(id).map_or(Ok(()), |place| self.execution.remove(&format!("/tasks/{place}/{key}")))
    }
}

impl StateWriter for Writer {
    const WHAT: &'static str = "a custom workflow";
    const HAS_PARTS: bool = true;

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let (step, reopens) = (begun.step.as_str(), begun.reopens);
        match begun.part {
            None => self.begin_step(step, begun.agent, begun.attempt, reopens),
            Some(part) => self.begin_part(step, part, reopens),
        }
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        match &outcome.part {
            None => self.finish_step(outcome),
            Some(part) => self.finish_part(outcome, part),
        }
    }

    fn approve(&mut self, approval: &Approval<'_>) -> Result<(), EditError> {
        let id = approval.step.as_str();
        self.clear_run_status()?;
        self.set_status(id, Status::Completed)?;
        self.set(id, "completed_at", &json!(self.at))?;
        for key in ["verdict", "conditions", "last_error", "failures"] {
            self.unset(id, key)?;
        }
        let mut record = json!({"phase": id, "approved_at": self.at});
        if let Some(by) = approval.by {
            record["by"] = json!(by);
        }
        if let Some(note) = approval.note {
            record["note"] = json!(note);
        }
        self.phase.push("/user_checkpoints", &record)?;
        self.remember_definition(id)
    }

    fn skip(&mut self, step: &StepId, part: Option<&str>, reason: &str) -> Result<(), EditError> {
        let step = step.as_str();
        let Some(part) = part else {
            self.set_status(step, Status::Skipped)?;
            return self.set(step, "reason", &json!(reason));
        };
        let pointer = self.part(step, part)?;
        self.execution.set(&format!("{pointer}/status"), &json!(word(Status::Skipped)))?;
        self.execution.set(&format!("{pointer}/reason"), &json!(reason))
    }

    fn pause(&mut self, reason: Option<&str>) -> Result<(), EditError> {
        self.set_run_status("paused", reason)
    }

    fn abort(&mut self, reason: Option<&str>) -> Result<(), EditError> {
        self.set_run_status("aborted", reason)
    }

    fn complete(&mut self, note: Option<&str>) -> Result<(), EditError> {
        self.set_run_status("completed", note)
    }

    fn resume(&mut self, resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.clear_run_status()?;
        let count = self.phase.get("/resume_count").and_then(Node::as_u64).unwrap_or_default();
        self.phase.set("/resume_count", &json!(count.saturating_add(1)))?;
        if let Some(interruption) = resumed.interruption {
            let mut record = json!({"at": self.at, "kind": interruption.kind, "reason": interruption.reason});
            if let Some(step) = &interruption.step {
                record["step"] = json!(step);
            }
            if let Some(at) = interruption.at {
                record["interrupted_at"] = json!(at);
            }
            if let Some(strategy) = resumed.strategy {
                record["strategy"] = json!(strategy);
            }
            self.phase.push("/interruption_history", &record)?;
        }
        for (step, status) in resumed.settled {
            self.set_status(step.as_str(), *status)?;
            self.set(step.as_str(), "completed_at", &json!(self.at))?;
            self.remember_definition(step.as_str())?;
        }
        Ok(())
    }

    /// Reopens steps: their records are cleared, and their outputs belong to an earlier attempt.
    fn roll_back(&mut self, back: &RollBack) -> Result<(), EditError> {
        self.clear_run_status()?;
        for step in &back.reopened {
            self.reopen(step.as_str())?;
            self.unset(step.as_str(), "failures")?;
        }
        Ok(())
    }

    /// Updates the summary in phase.json and returns both edits.
    fn into_edits(mut self) -> Result<Vec<Edit>, EditError> {
        let over = |step: &&Step| {
            matches!(self.statuses.get(step.id.as_str()), Some(Status::Completed | Status::Skipped | Status::Cancelled))
        };
        let phases = phases(&self.definition);
        let done: Vec<(String, Value)> = phases
            .iter()
            .filter(|(_, steps)| steps.iter().all(over))
            .map(|(phase, steps)| {
                (phase.clone(), json!(steps.iter().flat_map(|step| &step.outputs).next().map(|output| &output.path)))
            })
            .collect();
        let is_done = |phase: &str| done.iter().any(|(other, _)| other == phase);
        let of_step = |id: &String| phases.iter().find(|(_, steps)| steps.iter().any(|step| step.id.as_str() == id));
        let busy = self.step.as_ref().and_then(of_step).filter(|(phase, _)| !is_done(phase));
        let current = self.phase.get("/current_phase").and_then(Node::as_str);
        let current = current.and_then(|name| phases.iter().find(|(phase, _)| phase == name && !is_done(phase)));
        let at = busy.or(current).or_else(|| phases.iter().find(|(phase, _)| !is_done(phase)));
        let (current, status) = match at {
            None => (phases.last().map(|(phase, _)| phase.clone()), "complete"),
            Some((phase, steps)) => (Some(phase.clone()), self.phase_status(steps)),
        };
        let name = |entry: &Node| entry.get("phase").and_then(Node::as_str).map(str::to_owned);
        let recorded = self.phase.get("/completed_phases").map(Node::items).unwrap_or_default();
        let recorded: Vec<Option<String>> = recorded.iter().map(name).collect();
        self.remove_entries("/completed_phases", |entry| !name(entry).is_some_and(|name| is_done(&name)))?;
        if self.phase.get("/completed_phases").is_none() {
            self.phase.set("/completed_phases", &json!([]))?;
        }
        for (phase, output) in done {
            if !recorded.contains(&Some(phase.clone())) {
                let mut entry = json!({"phase": phase, "completed_at": self.at});
                if !output.is_null() {
                    entry["output"] = output;
                }
                self.phase.push("/completed_phases", &entry)?;
            }
        }
        self.phase.set("/current_phase", &json!(current))?;
        self.phase.set("/phase_status", &json!(status))?;
        self.phase.set("/last_updated", &json!(self.at))?;
        self.phase.set("/interruption_safe", &json!(true))?;
        Ok(vec![self.execution.into_edit(), self.phase.into_edit()])
    }
}
