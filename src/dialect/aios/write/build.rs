//! Writes the state of an autonomous build (docs/formats/aios-states.md#autonomous-build).

use serde_json::Value;
use serde_json::json;

use super::completes;
use super::outcome_text;
use super::unsupported;
use super::unsupported_rollback;
use crate::dialect::EditError;
use crate::dialect::aios::build;
use crate::dialect::aios::editor::StateEditor;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Outcome;
use crate::model::StepId;
use crate::model::mask_secrets;
use crate::model::sha256_hex;

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let mut writer = Writer { editor: StateEditor::open(files, change.at, "/lastCheckpoint")? };
    match &change.kind {
        ChangeKind::Begin { step, .. } => {
            // What a person wants done again is no longer done.
            writer.editor.remove_from_list("/completedSubtasks", named(step)?)?;
            writer.editor.set_text("/currentSubtask", named(step)?)?;
            writer.status("in_progress")?;
        }
        ChangeKind::Finish(outcome) => writer.finish(outcome, change.at.unix_seconds())?,
        ChangeKind::Skip { step, .. } | ChangeKind::Approve { step, .. } => {
            return unsupported(format!(
                "a build cannot record this: finish {step}, or remove it from the plan of the build"
            ));
        }
        ChangeKind::Pause { .. } => writer.status("paused")?,
        ChangeKind::Abort { reason, .. } => writer.abandon(reason.as_deref())?,
        ChangeKind::Resume { .. } => writer.resume()?,
        ChangeKind::Complete { .. } => writer.status("completed")?,
        ChangeKind::RollBack(_) => return unsupported_rollback(files),
        ChangeKind::Repair(_) | ChangeKind::Start(_) => {
            return unsupported("a build is started by its own runner".to_owned());
        }
    }
    if build::load(files).run.is_none() {
        return unsupported(format!("{} is not the state of a build", files.state));
    }
    Ok(writer.editor.into_edits())
}

/// Returns the subtask of a step. The state does not name the next subtask before it starts.
fn named(step: &StepId) -> Result<&str, EditError> {
    match step.as_str() {
        build::NEXT => unsupported(
            "the state does not name the next subtask: write its id from the plan of the build into `currentSubtask`, then run \
             `piton plan`"
                .to_owned(),
        ),
        subtask => Ok(subtask),
    }
}

struct Writer {
    editor: StateEditor,
}

impl Writer {
    fn finish(&mut self, outcome: &Outcome, seconds: i64) -> Result<(), EditError> {
        let subtask = named(&outcome.step)?;
        let is_done = completes(outcome, "a build")?;
        let at = self.editor.now();
        if !is_done {
            let error = outcome_text(outcome).unwrap_or_else(|| "it failed".to_owned());
            let entry = json!({ "subtaskId": subtask, "attempt": outcome.attempt, "error": error, "timestamp": at });
            self.editor.push("/failedAttempts", &entry)?;
            self.editor.remove_from_list("/completedSubtasks", subtask)?;
            self.editor.set_text("/currentSubtask", subtask)?;
            return self.status("in_progress");
        }
        let is_new = self.editor.listed("/completedSubtasks", subtask).is_none();
        self.editor.add_to_list("/completedSubtasks", subtask)?;
        let counter = "/metrics/completedSubtasks";
        let counted = self.editor.text(counter).and_then(|count| count.parse::<u64>().ok());
        if let Some(counted) = counted.filter(|_| is_new) {
            self.editor.set_number(counter, counted + 1)?;
        }
        let files: Vec<&str> = outcome.outputs.iter().map(|path| path.as_str()).collect();
        let checkpoint = json!({
            "id": checkpoint_id(subtask, seconds),
            "timestamp": at,
            "subtaskId": subtask,
            "status": "completed",
            "gitCommit": outcome.commit,
            "filesModified": files,
            "metrics": { "attempts": outcome.attempt },
        });
        self.editor.push("/checkpoints", &checkpoint)?;
        self.editor.stamp("/lastCheckpoint", None)?;
        if self.editor.text("/currentSubtask") == Some(subtask) {
            self.editor.set("/currentSubtask", &Value::Null)?;
        }
        self.status("in_progress")
    }

    fn abandon(&mut self, reason: Option<&str>) -> Result<(), EditError> {
        self.status("abandoned")?;
        self.editor.set("/abandoned", &json!(true))?;
        self.editor.stamp("/abandonedAt", None)?;
        let reason = reason.map(mask_secrets);
        reason.map_or(Ok(()), |reason| self.editor.set_text("/abandonedReason", &reason))
    }

    fn resume(&mut self) -> Result<(), EditError> {
        if self.editor.text("/abandoned") == Some("true") {
            self.editor.set("/abandoned", &json!(false))?;
        }
        self.status("in_progress")
    }

    fn status(&mut self, word: &str) -> Result<(), EditError> {
        self.editor.set_text("/status", word)
    }
}

/// Creates an id like the framework: `cp-`, the time in base 36, and eight hex digits for uniqueness.
fn checkpoint_id(subtask: &str, seconds: i64) -> String {
    let mut rest = u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
    let mut digits = Vec::new();
    while rest > 0 || digits.is_empty() {
        digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
        rest /= 36;
    }
    let time: String = digits.iter().rev().collect();
    format!("cp-{time}-{}", &sha256_hex(format!("{subtask}@{seconds}").as_bytes())[..8])
}
