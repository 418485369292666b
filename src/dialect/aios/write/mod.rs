//! Writes changes into states, in the vocabulary of the state's own runner (docs/formats/aios.md#writing).
//!
//! There is one module per kind. A change that the format cannot express is refused with a hint. Stories and artifacts are never
//! written.

mod ade;
mod bob;
mod build;
mod dev_cycle;
mod engine_state;
mod epic;
mod guided;
mod paused;
mod phases;
mod qa_loop;
mod record;

use super::kind;
use super::kind::Kind;
use super::layout;
use super::story_cycle;
use crate::dialect::EditError;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Outcome;
use crate::model::Status;
use crate::model::mask_secrets;
use crate::model::quoted;

/// Computes the edits of one change.
///
/// # Errors
///
/// If the format cannot express the change, or the file cannot be edited safely.
pub(super) fn edit(kind: Kind, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    refuse_part(&change.kind)?;
    match kind {
        Kind::Epic | Kind::Pipeline => epic::edit(kind, files, change),
        Kind::QaLoop => qa_loop::edit(files, change),
        Kind::Guided => guided::edit(files, change),
        Kind::DevCycle => dev_cycle::edit(files, change),
        Kind::Paused => paused::edit(files, change),
        Kind::StoryCycle | Kind::Spec => implied(kind, files, change),
        Kind::Engine => engine_state::edit(files, change),
        Kind::Ade => ade::edit(files, change),
        Kind::Phases => phases::edit(files, change),
        Kind::Build => build::edit(files, change),
        Kind::Record => record::edit(files, change),
        Kind::Bob => bob::edit(files, change),
    }
}

/// Handles runs without a saved state: a resume writes nothing, other changes are refused.
fn implied(kind: Kind, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
    if matches!(change.kind, ChangeKind::Resume { .. }) {
        return Ok(Vec::new());
    }
    let path = &files.state;
    let instead = if kind == Kind::StoryCycle {
        let run = story_cycle::load(files).run.map(|run| run.id.as_str().to_owned()).unwrap_or_default();
        format!(
            "stories are never written. Show the edit that updates the story with `piton plan --patch {}`; apply it, then \
             run `piton plan`",
            quoted(&run)
        )
    } else {
        "its artifacts are the record. Write the artifact of the step, then run `piton plan`".to_owned()
    };
    Err(EditError::Unsupported(format!("{path} is {}, so this run has no saved state: {instead}", kind.what())))
}

fn refuse_part(kind: &ChangeKind) -> Result<(), EditError> {
    let part = match kind {
        ChangeKind::Begin { part, .. } | ChangeKind::Skip { part, .. } => part.as_deref(),
        ChangeKind::Finish(outcome) => outcome.part.as_deref(),
        ChangeKind::Approve { .. }
        | ChangeKind::Pause { .. }
        | ChangeKind::Abort { .. }
        | ChangeKind::Resume { .. }
        | ChangeKind::Complete { .. }
        | ChangeKind::Repair(_)
        | ChangeKind::RollBack(_)
        | ChangeKind::Start(_) => None,
    };
    match part {
        Some(part) => unsupported(format!("AIOS steps have no parts; `{part}` is unknown")),
        None => Ok(()),
    }
}

/// Refuses a change that the format cannot express.
fn unsupported<T>(message: String) -> Result<T, EditError> {
    Err(EditError::Unsupported(message))
}

/// Refuses a rollback in a format that cannot reopen steps.
fn unsupported_rollback<T>(files: &FileSet) -> Result<T, EditError> {
    let run = quoted(&format!("./{}", files.state));
    unsupported(format!(
        "{} cannot reopen steps. Restore an earlier checkpoint instead: `piton history {run}`, then \
         `piton rollback {run} --to CHECKPOINT`",
        files.state
    ))
}

/// Returns the error or summary of an outcome, with secrets masked.
fn outcome_text(outcome: &Outcome) -> Option<String> {
    outcome.error.as_deref().or(outcome.summary.as_deref()).map(|text| mask_secrets(text).into_owned())
}

/// Returns whether the outcome is a success; refuses anything but success and failure.
fn completes(outcome: &Outcome, what: &str) -> Result<bool, EditError> {
    match outcome.status {
        Status::Completed => Ok(true),
        Status::Failed => Ok(false),
        Status::Pending
        | Status::InProgress
        | Status::WaitingApproval
        | Status::Blocked
        | Status::Skipped
        | Status::Cancelled => {
            unsupported(format!("{} of {what} ends as completed or failed, not as {}", outcome.step, outcome.status))
        }
    }
}

/// Refuses to archive runs without a saved state: stories and artifacts belong to the project.
pub(super) fn check_archivable(files: &FileSet) -> Result<(), EditError> {
    match Kind::of(files) {
        Ok(kind @ (Kind::StoryCycle | Kind::Spec)) => Err(EditError::Unsupported(format!(
            "{} is {}, so there is no saved state to archive; close it in the story itself",
            files.state,
            kind.what()
        ))),
        // A document in an unknown place with the keys of a state may be a plan; moving it would lose it.
        Ok(_) if layout::split(files.state.as_str()).is_none() => Err(EditError::Unsupported(format!(
            "{} lies outside of the folders in which AIOS keeps its states; it was not moved",
            files.state
        ))),
        Ok(Kind::Pipeline) if !has_status_of_a_run(files) => Err(EditError::Unsupported(format!(
            "{} has a status that no epic has, so it may be a plan; it was not moved",
            files.state
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn has_status_of_a_run(files: &FileSet) -> bool {
    let node = files.bytes(&files.state).and_then(|bytes| kind::parse(bytes).ok());
    // A broken file in the folder of the states is no plan.
    node.is_none_or(|node| kind::has_status_of_a_run(&node))
}
