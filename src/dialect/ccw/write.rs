//! Computes the edits of a change to a session (docs/formats/ccw.md#what-is-written).
//!
//! Order: task file, checklist, session file. After a crash in between, the task file is the newest.

use serde_json::{Value, json};

use super::{
    draft::{Draft, TaskDraft},
    raw,
    rules::{self, StatusWord},
    session_files::SessionFiles,
    todo::{LEFT_OUT, OPEN, TICK},
};
use crate::{
    dialect::{
        EditError,
        edit::FileEditor,
        writer::{Begun, Resumed, StateWriter, write},
    },
    document::Node,
    model::{
        Change, Edit, FileSet, Interruption, InterruptionKind, Outcome, RunStatus, Status, StepId, Timestamp,
        mask_secrets,
    },
};

/// Computes the edits of a change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let session_files = SessionFiles::read(files);
    write(CcwWriter { draft: Draft::new(&session_files), at: change.at }, change)
}

struct CcwWriter<'a> {
    draft: Draft<'a>,
    at: Timestamp,
}

impl CcwWriter<'_> {
    fn finish_step(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let at = self.at.to_string();
        let word = self.word_of(outcome.status);
        let Some(mut task) = self.draft.task(&outcome.step)? else {
            return match outcome.status {
                Status::Completed => Ok(()),
                Status::Pending
                | Status::InProgress
                | Status::Failed
                | Status::WaitingApproval
                | Status::Blocked
                | Status::Skipped
                | Status::Cancelled => Err(checklist_only(&outcome.step, outcome.status)),
            };
        };
        let error = outcome.error.as_deref().map(|error| mask_secrets(error).into_owned());
        let interrupted = raw::first_text(task.value(), &["/execution/interruption_reason"]);
        let note = if outcome.status == Status::Completed { interrupted } else { error.clone() };
        if outcome.status == Status::Failed && outcome.from == Some(Status::Failed) {
            task.enter_history(word, &at, note.as_deref())?;
        } else {
            task.set_status(word, &at, note.as_deref())?;
        }
        // Without an attempt, the result was only verified.
        let recorded = raw::count(task.value().at("/execution/attempts")).unwrap_or(0);
        if outcome.attempt > recorded {
            task.set_execution("attempts", &json!(outcome.attempt))?;
        }
        if outcome.attempt > 0 && task.value().at("/execution/last_attempt").is_none() {
            task.set_execution("last_attempt", &json!(at))?;
        }
        if outcome.status == Status::Completed {
            task.set_execution("completion_time", &json!(at))?;
            for passed in ["interruption_reason", "error", "flow_step"] {
                task.drop_execution(passed)?;
            }
        } else if outcome.status == Status::Failed {
            task.set_execution("interruption_reason", &json!("task_failure"))?;
            match &error {
                Some(error) => task.set_execution("error", &json!(error))?,
                None => task.drop_execution("error")?,
            }
        }
        set_variables(&mut task, outcome)?;
        set_result(&mut task, outcome, error.as_deref())
    }

    fn finish_part(&mut self, outcome: &Outcome, part: &str) -> Result<(), EditError> {
        let word = self.word_of(outcome.status);
        if outcome.status == Status::Completed {
            self.draft.mark_parts(&outcome.step, Some(part), TICK);
        }
        let Some(mut task) = self.draft.task(&outcome.step)? else {
            return Err(checklist_only(&outcome.step, outcome.status));
        };
        if let Some(subtask) = task.subtask(part) {
            task.set(&format!("{subtask}/status"), &json!(word))?;
        } else if outcome.status == Status::Completed {
            task.leave_flow_step(part, "completed_flow_steps")?;
        } else {
            task.enter_flow_step(part)?;
            task.set_execution("interruption_reason", &json!("task_failure"))?;
        }
        if let Some(error) = &outcome.error {
            task.set_execution("error", &json!(mask_secrets(error)))?;
        }
        set_variables(&mut task, outcome)
    }

    /// Sets the status of the session; fails without a readable session file.
    fn session_over(&mut self, word: &str, stamp: &str, more: &[(&str, Value)]) -> Result<(), EditError> {
        let at = json!(self.at.to_string());
        let session = self.draft.session_document()?;
        session.set("/status", &json!(word))?;
        session.set(&format!("/{stamp}"), &at)?;
        more.iter().try_for_each(|(pointer, value)| session.set(pointer, value))
    }

    fn word_of(&self, status: Status) -> &'static str {
        match status {
            Status::InProgress => self.draft.session_files.running,
            Status::Pending
            | Status::Completed
            | Status::Failed
            | Status::WaitingApproval
            | Status::Blocked
            | Status::Skipped
            | Status::Cancelled => status.as_str(),
        }
    }
}

impl StateWriter for CcwWriter<'_> {
    const WHAT: &'static str = "a CCW session";
    const HAS_PARTS: bool = true;

    fn instead(&self, _step: Option<&StepId>) -> String {
        "it has no gates; a task is finished as completed or failed".to_owned()
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let &Begun { step, part, attempt, .. } = begun;
        let at = self.at.to_string();
        let running = self.draft.session_files.running;
        if self.draft.session_files.session.status().0 == RunStatus::Completed {
            self.draft.session_if_readable(|session| session.set("/status", &json!("active")))?;
        }
        if part.is_none() && self.draft.session_files.is_marked_over(step) {
            self.draft.mark(step, OPEN);
        }
        let Some(mut task) = self.draft.task(step)? else { return Ok(()) };
        let was = rules::status_word(task.value());
        if let Some(part) = part
            && let Some(subtask) = task.subtask(part)
        {
            task.set(&format!("{subtask}/status"), &json!(running))?;
        } else if let Some(part) = part {
            task.enter_flow_step(part)?;
        }
        if part.is_some() && was == StatusWord::Known(Status::InProgress) {
            return Ok(());
        }
        let note = raw::first_text(task.value(), &["/execution/interruption_reason"]);
        if let (Some(note), true) = (&note, task.value().get("status").and_then(Node::as_str) == Some(running)) {
            // The interruption of the previous attempt is removed from `execution`, and must not be lost
            // (docs/formats/ccw.md#what-is-written).
            task.enter_history(running, &at, Some(note))?;
        } else {
            task.set_status(running, &at, note.as_deref())?;
        }
        let recorded = raw::count(task.value().at("/execution/attempts"));
        let attempts = if attempt > 0 { attempt } else { recorded.unwrap_or(0).saturating_add(1) };
        task.set_execution("attempts", &json!(attempts))?;
        task.set_execution("last_attempt", &json!(at))?;
        for passed in ["interruption_reason", "error"] {
            task.drop_execution(passed)?;
        }
        if was == StatusWord::Known(Status::Completed) {
            forget_success(&mut task)?;
            // A reopened step goes through all its parts again.
            for done in ["completed_flow_steps", "skipped_flow_steps", "variables"] {
                task.drop_execution(done)?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        if outcome.status == Status::WaitingApproval {
            return self.refuse(format!("record that {} waits for approval", outcome.step), None);
        }
        if let Some(part) = &outcome.part {
            self.finish_part(outcome, part)?;
        } else {
            self.finish_step(outcome)?;
            if outcome.status == Status::Completed {
                self.draft.mark(&outcome.step, TICK);
                self.draft.mark_parts(&outcome.step, None, TICK);
            }
            if outcome.status == Status::Completed && !outcome.amends {
                self.draft.summarise(outcome);
            }
        }
        let at = self.at.to_string();
        self.draft.session_if_readable(|session| {
            enter_execute(session)?;
            session.set("/last_execute_run", &json!(at))
        })
    }

    fn skip(&mut self, step: &StepId, part: Option<&str>, reason: &str) -> Result<(), EditError> {
        let at = self.at.to_string();
        if part.is_some() {
            self.draft.mark_parts(step, part, LEFT_OUT);
        }
        let Some(mut task) = self.draft.task(step)? else {
            self.draft.mark(step, LEFT_OUT);
            return Ok(());
        };
        match part {
            None => {
                task.set_status("skipped", &at, Some(reason))?;
                self.draft.mark(step, LEFT_OUT);
                Ok(())
            }
            Some(part) => match task.subtask(part) {
                Some(subtask) => task.set(&format!("{subtask}/status"), &json!("skipped")),
                None => task.leave_flow_step(part, "skipped_flow_steps"),
            },
        }
    }

    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.session_over("paused", "paused_at", &[("/resumable", json!(true))])
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.session_over("completed", "completed_at", &[])
    }

    fn resume(&mut self, resumed: &Resumed<'_>) -> Result<(), EditError> {
        let &Resumed { steps, interruption, strategy, settled } = resumed;
        let at = self.at.to_string();
        for (step, status) in settled {
            let word = self.word_of(*status);
            if let Some(mut task) = self.draft.task(step)? {
                task.set_status(word, &at, Some("brought up to date from the evidence"))?;
            }
            if *status == Status::Completed {
                self.draft.mark(step, TICK);
            }
        }
        if let Some(strategy) = strategy {
            for step in steps.iter().filter(|step| !settled.iter().any(|(settled, _)| settled == *step)) {
                if let Some(mut task) = self.draft.task(step)? {
                    task.set_execution("recovery_strategy", &json!(strategy))?;
                }
            }
        }
        let (status, _) = self.draft.session_files.session.status();
        let resumes = self.draft.session_files.session.resumes();
        let entry = interruption.map(|interruption| history_entry(interruption, strategy, &at));
        self.draft.session_if_readable(|session| {
            if matches!(status, RunStatus::Paused | RunStatus::Aborted) {
                session.set("/status", &json!("active"))?;
                session.set("/resumed_at", &json!(at))?;
            }
            enter_execute(session)?;
            session.set("/last_execute_run", &json!(at))?;
            session.set("/resume_count", &json!(resumes.saturating_add(1)))?;
            let Some(entry) = &entry else { return Ok(()) };
            match session.get("/interruption_history") {
                Some(other) if !other.is_list() => session.set("/interruption_history", &json!([entry])),
                Some(_) | None => session.push("/interruption_history", entry),
            }
        })
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        Ok(self.draft.into_edits())
    }
}

fn enter_execute(session: &mut FileEditor) -> Result<(), EditError> {
    match session.get("/current_phase") {
        Some(_) => session.set("/current_phase", &json!("EXECUTE")),
        None => Ok(()),
    }
}

fn checklist_only(step: &StepId, status: Status) -> EditError {
    let id = raw::line(step.as_str());
    EditError::Unsupported(format!("{id} has no task file, and a checklist line cannot record `{status}`"))
}

fn history_entry(interruption: &Interruption, strategy: Option<&str>, at: &str) -> Value {
    let when = interruption.at.map_or_else(|| at.to_owned(), |time| time.to_string());
    json!({
        "timestamp": when,
        "reason": rules::interruption_word(interruption.kind, &interruption.reason),
        "affected_task": interruption.step.as_ref().map(StepId::as_str),
        "recovery_strategy": strategy.or_else(|| default_strategy(interruption.kind)),
    })
}

/// Returns the default strategy for an interruption (docs/formats/ccw.md#interruptions-and-strategies).
fn default_strategy(kind: InterruptionKind) -> Option<&'static str> {
    match kind {
        InterruptionKind::AgentInterruption => Some("retry_with_enhanced_context"),
        InterruptionKind::TaskFailure => Some("analyze_and_retry"),
        InterruptionKind::DependencyBlock => Some("resolve_dependencies"),
        InterruptionKind::ContextLost => Some("rebuild_full_context"),
        InterruptionKind::WaitingApproval
        | InterruptionKind::Paused
        | InterruptionKind::ReadyToExecute
        | InterruptionKind::WorkflowComplete => None,
    }
}

/// A result that says success would speak for an attempt that it is not of.
fn forget_success(task: &mut TaskDraft<'_>) -> Result<(), EditError> {
    if task.value().at("/result/success").and_then(Node::as_bool) == Some(true) {
        task.set_in("result", "success", &json!(false))?;
    }
    Ok(())
}

fn set_variables(task: &mut TaskDraft<'_>, outcome: &Outcome) -> Result<(), EditError> {
    outcome.set.iter().try_for_each(|(name, value)| task.set_variable(name, value))
}

/// Fills in `result` if the format has it (format H), as CCW's agents do.
fn set_result(task: &mut TaskDraft<'_>, outcome: &Outcome, error: Option<&str>) -> Result<(), EditError> {
    let has_result = task.value().get("result").is_some_and(Node::is_map);
    if !has_result
        && (task.value().get("convergence").is_none() || task.value().get("result").is_some_and(|old| !old.is_null()))
    {
        return Ok(());
    }
    let mut fields = vec![("success", json!(outcome.status == Status::Completed))];
    let summary = outcome.summary.as_deref().map(mask_secrets);
    fields.extend(summary.map(|summary| ("summary", json!(summary))));
    fields.extend(outcome.commit.as_deref().map(|commit| ("commit_hash", json!(commit))));
    if !outcome.outputs.is_empty() {
        fields.push(("files_modified", json!(outcome.outputs)));
    }
    match error {
        Some(error) => fields.push(("error", json!(error))),
        None => task.drop("/result/error")?,
    }
    fields.iter().try_for_each(|(key, value)| task.set_in("result", key, value))
}

#[cfg(test)]
#[path = "write_tests.rs"]
mod tests;
