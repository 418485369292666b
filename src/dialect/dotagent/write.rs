//! Writes a change into both files. `execution.json` comes first and `phase.json` last because it is authoritative
//! (docs/formats/dotagent.md#two-files-one-checkpoint); the store makes them one checkpoint.
//!
//! `interruption_safe` is reset to true if it was left false, and never written as false
//! (docs/formats/dotagent.md#the-interruption-marker).

use serde_json::{Value, json};

use super::{
    execution::Presence,
    output::OutputCheck,
    rules::{Phase, PhaseStatus, TaskStatus},
    start, steps,
    tasks::{self, TaskResult},
    workflow_files::WorkflowFiles,
};
use crate::{
    dialect::{
        EditError,
        edit::FileEditor,
        writer::{Approval, Begun, Resumed, StateWriter, outcome_text, write},
    },
    document::{Node, Syntax},
    model::{Change, ChangeKind, Edit, FileSet, Outcome, RelPath, Status, StepId, Timestamp},
};

/// Computes the edits of one change.
///
/// # Errors
///
/// If a state file is missing or does not parse, an output that would be recorded is missing, or the format cannot express the
/// change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    if let ChangeKind::Start(spec) = &change.kind {
        return start::edit(spec, change.at);
    }
    write(DotagentWriter::open(files, change.at)?, change)
}

/// The target of a step id.
enum DotagentTarget {
    Phase(Phase),
    Designs,
    Gate(Phase),
    /// Index in the list of tasks.
    Work(usize),
    Verification(usize),
    Resolution(usize),
}

struct DotagentWriter<'a> {
    workflow_files: WorkflowFiles<'a>,
    phase: FileEditor,
    /// `None` if the file is missing or unreadable.
    execution: Option<FileEditor>,
    at: String,
    /// The statuses of the tasks after this change.
    task_statuses: Vec<Option<TaskStatus>>,
    /// The completed phases after this change.
    completed: Vec<Phase>,
}

impl<'a> DotagentWriter<'a> {
    fn open(files: &'a FileSet, at: Timestamp) -> Result<Self, EditError> {
        let workflow_files = WorkflowFiles::open(files, &mut Vec::new()).map_err(|finding| {
            let file = files.state.as_str().to_owned();
            match files.files.contains_key(&files.state) {
                true => EditError::Unreadable { file, problem: finding.message },
                false => EditError::Missing { file },
            }
        })?;
        // Timestamps never go backwards, even if the clock does.
        let at = workflow_files
            .state
            .last_updated
            .map_or(at, |last| last.max(at))
            .max(workflow_files.state.started_at.unwrap_or(at));
        let phase = FileEditor::open(files, &workflow_files.layout.phase, Syntax::Json)?;
        let execution = match &workflow_files.execution.presence {
            Presence::Read(_) => Some(FileEditor::open(files, &workflow_files.layout.execution, Syntax::Json)?),
            Presence::Missing | Presence::Unreadable => None,
        };
        let task_statuses =
            workflow_files.execution.tasks.iter().map(|task| task.status.filter(|_| !task.is_leftover)).collect();
        let completed = workflow_files.state.completed.iter().map(|done| done.phase).collect();
        Ok(Self { workflow_files, phase, execution, at: at.to_string(), task_statuses, completed })
    }

    fn target(&self, step: &StepId) -> Result<DotagentTarget, EditError> {
        let id = step.as_str();
        let task = |id: &str| self.workflow_files.execution.tasks.iter().position(|task| task.id == id);
        let gate = Phase::ALL.into_iter().find(|phase| steps::gate_of(*phase) == Some(id));
        let target = match id {
            steps::DESIGNS => Some(DotagentTarget::Designs),
            steps::FINAL => Some(DotagentTarget::Phase(Phase::Architecture)),
            _ if gate.is_some() => gate.map(DotagentTarget::Gate),
            _ => Phase::ALL.into_iter().find(|phase| phase.as_str() == id).map(DotagentTarget::Phase),
        };
        let target = target.or_else(|| task(id).map(DotagentTarget::Work));
        let target = target.or_else(|| task(id.strip_suffix(":verify")?).map(DotagentTarget::Verification));
        let target = target.or_else(|| task(id.strip_suffix(":resolve")?).map(DotagentTarget::Resolution));
        target.ok_or_else(|| EditError::Unsupported(format!("`{id}` is neither a phase nor a task of this run")))
    }

    /// Refuses to end the design of options without one: the state has no other sign that they are there.
    fn check_designs(&self) -> Result<(), EditError> {
        let WorkflowFiles { files, layout, .. } = &self.workflow_files;
        let paths = self.workflow_files.json_in(&layout.designs(), &[]);
        let last = self.workflow_files.usual_output(Phase::Architecture);
        let owner = self.workflow_files.owner();
        if paths.iter().chain(&last).any(|path| matches!(owner.check(files, path), OutputCheck::Valid(_))) {
            return Ok(());
        }
        let why = paths.iter().map(|path| match owner.check(files, path) {
            OutputCheck::Older => format!("{path} is older than this run"),
            OutputCheck::Rejected(why) => format!("{path} {why}"),
            OutputCheck::Missing | OutputCheck::Valid(_) => format!("{path} is missing"),
        });
        let why: Vec<String> = why.collect();
        let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join("; ")) };
        let missing = format!("no design option of this run in {0}, such as {0}/option-1.json", layout.designs());
        Err(EditError::Unsupported(format!("{missing}{why}; nothing was recorded")))
    }

    /// Records that a phase failed. The state has the status of one phase only, so a completed phase becomes the current one
    /// again.
    fn fail_phase(&mut self, phase: Phase, step: &StepId) -> Result<(), EditError> {
        if self.completed.contains(&phase) {
            self.enter_phase(phase, false)?;
        } else if phase != self.workflow_files.state.phase {
            let current = self.workflow_files.state.phase.as_str();
            return Err(EditError::Unsupported(format!("{step} cannot have failed: the run is at {current}")));
        }
        self.phase_status(PhaseStatus::Failed)?;
        Ok(())
    }

    /// Returns the output of a phase: the file that the caller names, else the usual one, which must exist.
    fn output_of(&self, phase: Phase, outcome: &Outcome) -> Result<Option<RelPath>, EditError> {
        if let Some(output) = outcome.outputs.first() {
            return Ok(Some(output.clone()));
        }
        if phase == Phase::Reflection {
            let newest = self
                .workflow_files
                .json_in(&self.workflow_files.layout.reflections(), &["_aggregate.json"])
                .into_iter();
            let fitting = newest.filter(|path| {
                matches!(self.workflow_files.owner().check(self.workflow_files.files, path), OutputCheck::Valid(_))
            });
            let modified = |path: &RelPath| self.workflow_files.files.files.get(path).and_then(|entry| entry.modified);
            return fitting.max_by_key(modified).map(Some).ok_or_else(|| {
                EditError::Unsupported(
                    "memory/reflections has no reflection of this run; nothing was recorded".to_owned(),
                )
            });
        }
        let Some(path) = self.workflow_files.usual_output(phase) else { return Ok(None) };
        let problem = match self.workflow_files.owner().check(self.workflow_files.files, &path) {
            OutputCheck::Valid(_) => return Ok(Some(path)),
            OutputCheck::Missing => "is missing".to_owned(),
            OutputCheck::Older => "is older than this run".to_owned(),
            OutputCheck::Rejected(why) => why,
        };
        Err(EditError::Unsupported(format!("the output {path} of {} {problem}; nothing was recorded", phase.as_str())))
    }

    fn finish_work(&mut self, at: usize, outcome: &Outcome) -> Result<(), EditError> {
        if outcome.status == Status::Failed {
            return self.fail(at, outcome);
        }
        let result = TaskResult::of(&self.workflow_files, &self.workflow_files.execution.tasks[at]);
        let task = &self.workflow_files.execution.tasks[at];
        if let Some(output) = outcome.outputs.first().filter(|path| task.output.as_ref() != Some(path)) {
            let field =
                ["output", "output_path", "output_file"].into_iter().find(|field| task.value.get(field).is_some());
            let name = json!(self.workflow_files.layout.name_of(output));
            self.set_task(at, field.unwrap_or("output"), &name)?;
            self.set_task_status(at, TaskStatus::PreComplete)?;
        } else if result.is_there() {
            self.apply_reported_status(at)?;
        } else {
            let path = task.output.as_ref().map_or("its output", RelPath::as_str);
            let message = format!("{path} of {} is not a result of this attempt; nothing was recorded", task.id);
            return Err(EditError::Unsupported(message));
        }
        let ended = json!(self.at);
        self.set_task(at, "completed_at", &ended)?;
        self.drop_task(at, "last_error")
    }

    /// Applies the status that a task's output reports (scenario 2).
    fn apply_reported_status(&mut self, at: usize) -> Result<(), EditError> {
        let result = TaskResult::of(&self.workflow_files, &self.workflow_files.execution.tasks[at]);
        let status = super::output::reported_status(&result.output).unwrap_or(TaskStatus::PreComplete);
        self.set_task_status(at, status)?;
        if status == TaskStatus::Failed {
            let attempts = self.workflow_files.execution.tasks[at].attempts.saturating_add(1);
            self.set_task(at, "attempts", &json!(attempts))?;
        }
        Ok(())
    }

    fn fail(&mut self, at: usize, outcome: &Outcome) -> Result<(), EditError> {
        let attempts = self.workflow_files.execution.tasks[at].attempts.saturating_add(1);
        self.set_task_status(at, TaskStatus::Failed)?;
        self.set_task(at, "attempts", &json!(attempts))?;
        if let Some(error) = outcome_text(outcome) {
            self.set_task(at, "last_error", &json!(error))?;
        }
        Ok(())
    }

    fn mark_verified(&mut self, at: usize) -> Result<(), EditError> {
        self.set_task_status(at, TaskStatus::Verified)?;
        let ended = json!(self.at);
        self.set_task(at, "completed_at", &ended)?;
        self.close_implementation()
    }

    /// Completes the phase once the last task is verified.
    fn close_implementation(&mut self) -> Result<(), EditError> {
        let is_reached =
            self.completed.contains(&Phase::Architecture) || self.workflow_files.state.phase >= Phase::Implementation;
        let all = !self.task_statuses.is_empty()
            && self.task_statuses.iter().all(|status| *status == Some(TaskStatus::Verified));
        if all && is_reached && !self.completed.contains(&Phase::Implementation) {
            let output = self.workflow_files.layout.execution.clone();
            self.complete_phase(Phase::Implementation, Some(output))?;
        }
        Ok(())
    }

    fn recover_tasks(&mut self, next: &[StepId], settled: &[(StepId, Status)]) -> Result<(), EditError> {
        for at in 0..self.workflow_files.execution.tasks.len() {
            let task = &self.workflow_files.execution.tasks[at];
            let id = task.id.clone();
            let result = TaskResult::of(&self.workflow_files, task);
            let is_verified = settled.iter().any(|(step, _)| *step == tasks::verify_id(&id));
            let is_next = next.iter().any(|step| step.as_str() == id);
            if is_verified {
                self.mark_verified(at)?;
            } else if result.is_ahead(task) {
                self.apply_reported_status(at)?;
            } else if task.status == Some(TaskStatus::Running) && is_next {
                let attempts = task.attempts.saturating_add(1);
                self.set_task_status(at, TaskStatus::Pending)?;
                self.set_task(at, "attempts", &json!(attempts))?;
            }
        }
        Ok(())
    }

    /// Returns the file that proves that a phase is done, if any.
    fn proof_of(&self, phase: Phase) -> Option<RelPath> {
        match phase {
            Phase::Implementation => self.execution.is_some().then(|| self.workflow_files.layout.execution.clone()),
            Phase::Reflection => {
                let mut found = self
                    .workflow_files
                    .json_in(&self.workflow_files.layout.reflections(), &["_aggregate.json"])
                    .into_iter();
                found.rfind(|path| {
                    matches!(self.workflow_files.owner().check(self.workflow_files.files, path), OutputCheck::Valid(_))
                })
            }
            Phase::Requirements | Phase::Architecture | Phase::Verification => {
                let path = self.workflow_files.usual_output(phase)?;
                matches!(self.workflow_files.owner().check(self.workflow_files.files, &path), OutputCheck::Valid(_))
                    .then_some(path)
            }
        }
    }

    /// Starts a phase: earlier phases are completed, later ones reopened. If `restarts` is set and the phase was complete, its
    /// approval is removed too.
    fn enter_phase(&mut self, phase: Phase, restarts: bool) -> Result<(), EditError> {
        self.catch_up(phase)?;
        let was_complete = self.completed.contains(&phase);
        if self.completed.iter().any(|done| *done >= phase) {
            self.keep_entries("completed_phases", |entry| entry < phase)?;
            self.completed.retain(|done| *done < phase);
            self.keep_entries("user_checkpoints", |entry| {
                entry < phase || (entry == phase && !(restarts && was_complete))
            })?;
        }
        self.phase.set("/current_phase", &json!(phase.as_str()))?;
        self.phase_status(PhaseStatus::InProgress)
    }

    /// Records earlier phases, which the planner found done.
    fn catch_up(&mut self, phase: Phase) -> Result<(), EditError> {
        for earlier in Phase::ALL.into_iter().take_while(|earlier| *earlier < phase) {
            if !self.completed.contains(&earlier) {
                let output = self.proof_of(earlier);
                self.record(earlier, output)?;
            }
        }
        Ok(())
    }

    /// Completes a phase and moves on to the next (docs/formats/dotagent.md#phase-completion).
    fn complete_phase(&mut self, phase: Phase, output: Option<RelPath>) -> Result<(), EditError> {
        self.catch_up(phase)?;
        self.record(phase, output)?;
        self.phase.set("/current_phase", &json!(phase.next().unwrap_or(phase).as_str()))?;
        self.phase_status(PhaseStatus::Complete)
    }

    fn record(&mut self, phase: Phase, output: Option<RelPath>) -> Result<(), EditError> {
        let mut entry = json!({ "phase": phase.as_str(), "completed_at": self.at });
        if let Some(output) = output {
            entry["output"] = json!(self.workflow_files.layout.name_of(&output));
        }
        let known = self.workflow_files.state.completed.iter().find(|done| done.phase == phase);
        match known.filter(|_| self.completed.contains(&phase)) {
            Some(done) => {
                let pointer = done.pointer.clone();
                self.phase.set(&pointer, &entry)
            }
            None => {
                self.completed.push(phase);
                self.phase.push("/completed_phases", &entry)
            }
        }
    }

    /// Removes the entries of a list whose phase `keep` rejects.
    fn keep_entries(&mut self, list: &str, keep: impl Fn(Phase) -> bool) -> Result<(), EditError> {
        let entries = self.phase.get(&format!("/{list}")).map(Node::items).unwrap_or_default();
        let of = |entry: &Node| Phase::parse(entry.as_str().or_else(|| entry.get("phase")?.as_str())?);
        let gone = entries.iter().enumerate().filter(|(_, entry)| !of(entry).is_none_or(&keep));
        let gone: Vec<usize> = gone.map(|(at, _)| at).collect();
        self.phase.remove_elements(&format!("/{list}"), &gone)
    }

    fn phase_status(&mut self, status: PhaseStatus) -> Result<(), EditError> {
        self.phase.set("/phase_status", &json!(status.as_str()))
    }

    fn set_task_status(&mut self, at: usize, status: TaskStatus) -> Result<(), EditError> {
        self.task_statuses[at] = Some(status);
        self.set_task(at, "status", &json!(status.as_str()))
    }

    fn set_task(&mut self, at: usize, field: &str, value: &Value) -> Result<(), EditError> {
        let pointer = format!("{}/{field}", self.workflow_files.execution.tasks[at].pointer);
        self.execution()?.set(&pointer, value)
    }

    fn drop_task(&mut self, at: usize, field: &str) -> Result<(), EditError> {
        let pointer = format!("{}/{field}", self.workflow_files.execution.tasks[at].pointer);
        self.execution()?.remove(&pointer)
    }

    fn execution(&mut self) -> Result<&mut FileEditor, EditError> {
        let file = self.workflow_files.layout.execution.as_str();
        match (&mut self.execution, &self.workflow_files.execution.presence) {
            (Some(execution), _) => Ok(execution),
            (None, Presence::Unreadable) => {
                Err(EditError::Unreadable { file: file.to_owned(), problem: "correct it first".to_owned() })
            }
            (None, Presence::Missing | Presence::Read(_)) => Err(EditError::Missing { file: file.to_owned() }),
        }
    }
}

impl StateWriter for DotagentWriter<'_> {
    const WHAT: &'static str = "a dotagent workflow";

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let step = begun.step;
        match self.target(step)? {
            DotagentTarget::Phase(phase) => self.enter_phase(phase, step.as_str() != steps::FINAL)?,
            DotagentTarget::Designs => self.enter_phase(Phase::Architecture, true)?,
            DotagentTarget::Gate(_) => return Err(EditError::Unsupported(format!("{step} is approved, not begun"))),
            DotagentTarget::Work(at) => {
                self.enter_phase(Phase::Implementation, false)?;
                self.set_task_status(at, TaskStatus::Running)?;
                let started = json!(self.at);
                self.set_task(at, "attempts", &json!(begun.attempt.saturating_sub(1)))?;
                self.set_task(at, "started_at", &started)?;
                self.drop_task(at, "completed_at")?;
            }
            DotagentTarget::Verification(at) => {
                self.enter_phase(Phase::Implementation, false)?;
                self.set_task_status(at, TaskStatus::Verifying)?;
            }
            DotagentTarget::Resolution(at) => {
                self.enter_phase(Phase::Implementation, false)?;
                let started = json!(self.at);
                self.set_task(at, "resolver_started_at", &started)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let is_done = self.completes(outcome)?;
        match self.target(&outcome.step)? {
            DotagentTarget::Phase(phase) if !is_done => self.fail_phase(phase, &outcome.step)?,
            DotagentTarget::Designs if !is_done => self.fail_phase(Phase::Architecture, &outcome.step)?,
            DotagentTarget::Phase(phase) => {
                let output = self.output_of(phase, outcome)?;
                self.complete_phase(phase, output)?;
            }
            DotagentTarget::Designs => {
                self.check_designs()?;
                self.phase_status(PhaseStatus::InProgress)?;
            }
            DotagentTarget::Gate(_) => {
                return Err(EditError::Unsupported(format!("{} is approved, not finished", outcome.step)));
            }
            DotagentTarget::Work(at) => self.finish_work(at, outcome)?,
            DotagentTarget::Verification(at) if is_done => self.mark_verified(at)?,
            DotagentTarget::Verification(at) => self.fail(at, outcome)?,
            DotagentTarget::Resolution(at) => {
                self.drop_task(at, "resolver_started_at")?;
                if is_done {
                    self.set_task_status(at, TaskStatus::Pending)?;
                }
            }
        }
        Ok(())
    }

    fn approve(&mut self, approval: &Approval<'_>) -> Result<(), EditError> {
        match self.target(approval.step)? {
            DotagentTarget::Gate(phase) => {
                let mut entry = json!({ "phase": phase.as_str(), "approved_at": self.at });
                for (key, value) in [("by", approval.by), ("note", approval.note)] {
                    if let Some(value) = value {
                        entry[key] = json!(value);
                    }
                }
                self.phase.push("/user_checkpoints", &entry)
            }
            // The user overrides the verifier.
            DotagentTarget::Verification(at) => self.mark_verified(at),
            DotagentTarget::Phase(_)
            | DotagentTarget::Designs
            | DotagentTarget::Work(_)
            | DotagentTarget::Resolution(_) => {
                Err(EditError::Unsupported(format!("{} is neither a gate nor a verification", approval.step)))
            }
        }
    }

    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.phase_status(PhaseStatus::Pending)
    }

    /// Updates the state with the plan's results: records finished steps and counts orphaned attempts.
    fn resume(&mut self, resumed: &Resumed<'_>) -> Result<(), EditError> {
        let &Resumed { steps: next, settled, .. } = resumed;
        self.recover_tasks(next, settled)?;
        let is_settled = |id: &str| settled.iter().any(|(step, _)| step.as_str() == id);
        for phase in Phase::ALL {
            let id = if phase == Phase::Architecture { steps::FINAL } else { phase.as_str() };
            let is_next = Phase::ALL
                .into_iter()
                .take_while(|earlier| *earlier < phase)
                .all(|earlier| self.completed.contains(&earlier));
            let is_chosen = phase != Phase::Architecture || self.workflow_files.state.has_approved(phase);
            if is_settled(id) && is_next && is_chosen && !self.completed.contains(&phase) {
                let output = self.proof_of(phase);
                self.complete_phase(phase, output)?;
            }
        }
        self.close_implementation()?;
        if self.workflow_files.state.status == PhaseStatus::Failed
            && self.completed.len() == self.workflow_files.state.completed.len()
        {
            self.phase_status(PhaseStatus::InProgress)?;
        }
        Ok(())
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.complete_phase(Phase::Reflection, None)
    }

    fn into_edits(mut self) -> Result<Vec<Edit>, EditError> {
        self.phase.set("/last_updated", &json!(self.at))?;
        if self.workflow_files.state.is_safe == Some(false) {
            self.phase.set("/interruption_safe", &Value::Bool(true))?;
        }
        let execution = self.execution.map(FileEditor::into_edit);
        Ok(execution.into_iter().chain([self.phase.into_edit()]).collect())
    }
}
