//! Writes the state of a workflow engine (docs/formats/aios-states.md#workflow-engine): only its status. Steps are recorded by
//! the engine itself, because the state does not name future steps.

use super::unsupported;
use super::unsupported_rollback;
use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let mut editor = StateEditor::open(files, change.at, "/engine_state/updated_at")?;
    let word = match &change.kind {
        ChangeKind::Resume { .. } => "active",
        ChangeKind::Abort { .. } => "aborted",
        ChangeKind::Complete { .. } => "completed",
        ChangeKind::Begin { step, .. } | ChangeKind::Approve { step, .. } | ChangeKind::Skip { step, .. } => {
            return engine_writes(files, step.as_str());
        }
        ChangeKind::Finish(outcome) => return engine_writes(files, outcome.step.as_str()),
        ChangeKind::Pause { .. } => {
            return unsupported(
                "a workflow engine cannot be paused: it stays active, and its own command resumes it".to_owned(),
            );
        }
        ChangeKind::RollBack(_) => return unsupported_rollback(files),
        ChangeKind::Repair(_) | ChangeKind::Start(_) => {
            return unsupported("a workflow engine is started by its own command".to_owned());
        }
    };
    editor.set_text("/engine_state/status", word)?;
    editor.touch("/engine_state/updated_at")?;
    Ok(editor.into_edits())
}

fn engine_writes<T>(files: &FileSet, step: &str) -> Result<T, EditError> {
    unsupported(format!(
        "{} does not name future steps, so only the engine can record {step}: resume it with its own command, then run \
         `piton plan`",
        files.state
    ))
}
