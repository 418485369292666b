//! Writes the state of a master orchestration (docs/formats/aios-states.md#master-orchestration). Nothing is ever reset.

use serde_json::Value;
use serde_json::json;

use super::completes;
use super::outcome_text;
use super::unsupported;
use super::unsupported_rollback;
use crate::dialect::EditError;
use crate::dialect::aios::ade;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::edit::object;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Outcome;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepId;
use crate::model::quoted;

const LISTS: [&str; 3] = ["/completedEpics", "/failedEpics", "/pendingEpics"];

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let editor = StateEditor::open(files, change.at, "/timestamps/updatedAt")?;
    let Some(run) = ade::load(files).run else {
        return unsupported(format!("{} is not the state of a master orchestration", files.state));
    };
    let mut writer = Writer { editor, run };
    match &change.kind {
        ChangeKind::Begin { step, attempt, .. } => writer.begin(step, *attempt)?,
        ChangeKind::Finish(outcome) => writer.finish(outcome)?,
        ChangeKind::Skip { step, .. } => {
            let number = number(step)?.to_owned();
            writer.editor.set_text(&format!("/epics/{number}/status"), "skipped")?;
            writer.move_to_list(&number, None)?;
            writer.complete_if_done(&number)?;
        }
        // The framework's CLI writes this status although it is not in its documented list.
        ChangeKind::Pause { .. } => writer.status("stopped")?,
        ChangeKind::Resume { .. } => writer.status("in_progress")?,
        ChangeKind::Complete { .. } => writer.complete()?,
        ChangeKind::Approve { step, .. } => return unsupported(format!("{step} is not a gate")),
        ChangeKind::Abort { .. } => {
            return unsupported(format!(
                "a master orchestration cannot be aborted, only stopped: `piton pause {}`",
                quoted(writer.run.id.as_str())
            ));
        }
        ChangeKind::RollBack(_) => return unsupported_rollback(files),
        ChangeKind::Repair(_) | ChangeKind::Start(_) => {
            return unsupported("a master orchestration is started by its own command".to_owned());
        }
    }
    for stamp in ["/timestamps/updatedAt", "/timestamps/savedAt", "/updatedAt"] {
        writer.editor.touch(stamp)?;
    }
    Ok(writer.editor.into_edits())
}

fn number(step: &StepId) -> Result<&str, EditError> {
    match step.as_str().strip_prefix("epic-") {
        Some(number) => Ok(number),
        None => unsupported(format!("`{step}` is not an epic of this orchestration")),
    }
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    fn begin(&mut self, step: &StepId, attempt: u32) -> Result<(), EditError> {
        let number = number(step)?;
        let epic = format!("/epics/{number}");
        self.editor.set_text(&format!("{epic}/status"), "in_progress")?;
        self.editor.stamp(&format!("{epic}/startedAt"), None)?;
        if self.editor.text(&format!("{epic}/completedAt")).is_some() {
            self.editor.set(&format!("{epic}/completedAt"), &Value::Null)?;
        }
        self.editor.set_number(&format!("{epic}/attempts"), attempt.into())?;
        match number.parse() {
            Ok(number) => self.editor.set_number("/currentEpic", number)?,
            Err(_) => self.editor.set_text("/currentEpic", number)?,
        }
        self.status("in_progress")
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let number = number(&outcome.step)?;
        let epic = format!("/epics/{number}");
        if let Some(verdict) = outcome.verdict {
            let word = match verdict {
                ReviewVerdict::Approved => "approved",
                ReviewVerdict::ApprovedWithConditions | ReviewVerdict::NeedsRevision => "needs_revision",
                ReviewVerdict::Rejected => "blocked",
            };
            self.editor.set_text(&format!("{epic}/gateResult/verdict"), word)?;
        }
        if completes(outcome, "a master orchestration")? {
            self.editor.set_text(&format!("{epic}/status"), "completed")?;
            self.editor.stamp(&format!("{epic}/completedAt"), None)?;
            self.move_to_list(number, Some(LISTS[0]))?;
            return self.complete_if_done(number);
        }
        self.editor.set_text(&format!("{epic}/status"), "failed")?;
        let error = object([
            ("message", Some(json!(outcome_text(outcome).unwrap_or_else(|| "it failed".to_owned())))),
            ("timestamp", Some(self.editor.now())),
        ]);
        self.editor.push(&format!("{epic}/errors"), &error)?;
        self.editor.set_number(&format!("/retryCount/{number}"), outcome.failures.into())?;
        self.move_to_list(number, Some(LISTS[1]))?;
        self.status("in_progress")
    }

    /// Moves an epic to one of the lists and removes it from the others.
    fn move_to_list(&mut self, number: &str, to: Option<&str>) -> Result<(), EditError> {
        let there: Vec<&str> = LISTS.into_iter().filter(|list| self.editor.has(list)).collect();
        for list in there {
            if to == Some(list) {
                self.editor.add_to_list(list, number)?
            } else {
                self.editor.remove_from_list(list, number)?
            }
        }
        Ok(())
    }

    /// Completes the orchestration if all of its epics are over.
    fn complete_if_done(&mut self, number: &str) -> Result<(), EditError> {
        let is_over = |status: Status| matches!(status, Status::Completed | Status::Skipped);
        let of = |step: &StepId| step.as_str().strip_prefix("epic-") == Some(number);
        if self.run.steps.iter().all(|step| of(&step.id) || is_over(step.status)) {
            self.complete()
        } else {
            self.status("in_progress")
        }
    }

    fn complete(&mut self) -> Result<(), EditError> {
        self.status("complete")?;
        self.editor.stamp("/timestamps/completedAt", None)
    }

    fn status(&mut self, word: &str) -> Result<(), EditError> {
        self.editor.set_text("/status", word)
    }
}
