//! Writes the record of a nexos orchestration (docs/formats/aios-states.md#orchestration-record). Only the status `active` is
//! documented.

use serde_json::json;

use super::completes;
use super::unsupported;
use super::unsupported_rollback;
use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::record;
use crate::document::Kind as Value;
use crate::document::Node;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::StepId;

/// Computes the edits of one change.
///
/// # Errors
///
/// If the state does not parse or cannot express the change.
pub(super) fn edit(files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    let mut editor = StateEditor::open(files, change.at, "/updated_at")?;
    let Some(run) = record::load(files).run else {
        return unsupported(format!("{} is not the record of an orchestration", files.state));
    };
    match &change.kind {
        ChangeKind::Begin { step, agent, .. } => {
            let number = number(step)?;
            // What a person wants done again is no longer completed.
            if let Some(at) = completed(&editor, number) {
                editor.remove(&format!("/phases_completed/{at}"))?;
            }
            editor.set_number("/current_phase", number)?;
            let agent = agent.clone().or_else(|| run.step(step)?.agent.clone());
            if let Some(agent) = agent.filter(|_| editor.has("/current_agent")) {
                let mark =
                    if editor.text("/current_agent").is_some_and(|agent| agent.starts_with('@')) { "@" } else { "" };
                editor.set_text("/current_agent", &format!("{mark}{}", agent.trim_start_matches('@')))?;
            }
            editor.set_text("/status", "active")?;
        }
        ChangeKind::Finish(outcome) => {
            let (step, number) = (&outcome.step, number(&outcome.step)?);
            if !completes(outcome, "an orchestration")? {
                return unsupported(format!(
                    "the record of an orchestration cannot record a failed phase: {step} stays the current one; begin it again"
                ));
            }
            let has_records = editor.items("/phases_completed").iter().any(|item| matches!(item.kind, Value::Map(_)));
            if has_records {
                editor.push("/phases_completed", &json!({ "phase": number }))?;
            } else {
                editor.add_to_list("/phases_completed", &number.to_string())?;
            }
        }
        ChangeKind::Resume { .. } => editor.set_text("/status", "active")?,
        ChangeKind::Complete { .. } => editor.set_text("/status", "completed")?,
        ChangeKind::Skip { .. } | ChangeKind::Approve { .. } | ChangeKind::Pause { .. } | ChangeKind::Abort { .. } => {
            return unsupported(format!(
                "{} only records completed phases: finish the phase, or edit the file, then run `piton plan`",
                files.state
            ));
        }
        ChangeKind::RollBack(_) => return unsupported_rollback(files),
        ChangeKind::Repair(_) | ChangeKind::Start(_) => {
            return unsupported("an orchestration is started by its own command".to_owned());
        }
    }
    editor.touch("/updated_at")?;
    Ok(editor.into_edits())
}

/// Returns the place of a phase among the completed ones, which are numbers or objects.
fn completed(editor: &StateEditor, number: u64) -> Option<usize> {
    let phase = |item: &Node| item.get("phase").unwrap_or(item).scalar().and_then(|text| text.parse().ok());
    editor.items("/phases_completed").iter().position(|item| phase(item) == Some(number))
}

fn number(step: &StepId) -> Result<u64, EditError> {
    match step.as_str().strip_prefix("phase-").and_then(|number| number.parse().ok()) {
        Some(number) => Ok(number),
        None => unsupported(format!("`{step}` is not a phase of this orchestration")),
    }
}
