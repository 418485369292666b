//! Imports a session of Prodigy: finished steps stay done, a failed or interrupted one comes next.

use serde_json::Value;

use super::super::{
    facts::{Captured, Outline},
    record::Header,
    session::start_from,
    state::{ExecutionState, RunState, State, StepState},
};
use super::read::ProdigySession;
use crate::{
    dialect::EditError,
    model::{About, Change, Edit, FileSet, Status, StepId, Timestamp},
    workflow::Workflow,
};

/// An imported session.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) edits: Vec<Edit>,
    pub(crate) done: usize,
    pub(crate) total: usize,
}

/// Returns the edits that create the imported session. `change` is its start; `header` has its working folder.
///
/// # Errors
///
/// When the workflow cannot be read, or has fewer steps than were done.
pub(crate) fn import(files: &FileSet, header: &Header, begun: (About, Change)) -> Result<Import, EditError> {
    let missing = |what: &str| EditError::Unsupported(format!("{} cannot be imported: {what}", files.name));
    let prodigy = ProdigySession::of(files).map_err(|finding| missing(&finding.message))?;
    let Some((workflow, sha256)) = &prodigy.workflow else {
        let why = prodigy.findings.first().map_or("its workflow cannot be read", |finding| finding.message.as_str());
        return Err(missing(why));
    };
    let last = prodigy.checkpoint.done.keys().next_back();
    if last.is_some_and(|last| *last >= workflow.steps.len()) {
        return Err(missing("more steps were done than its workflow has now"));
    }
    let at = begun.1.at;
    let outline = Outline::of(workflow, sha256.clone());
    let state = State { workflow: outline, ..state(&prodigy, workflow, at) };
    let Some(edits) = start_from(header, begun, state, None) else {
        return Err(missing("the new session has no usable id"));
    };
    Ok(Import { edits, done: prodigy.checkpoint.done.len(), total: workflow.steps.len() })
}

fn state(prodigy: &ProdigySession, workflow: &Workflow, at: Timestamp) -> State {
    let mut state = State {
        run: RunState { started_at: Some(at), changed_at: prodigy.checkpoint.at.or(Some(at)), ..RunState::default() },
        ..State::default()
    };
    for (position, step) in workflow.steps.iter().enumerate() {
        let status = prodigy.status(position);
        let done = prodigy.checkpoint.done.get(&position);
        let failed = prodigy.checkpoint.failed.as_ref().filter(|(failed, _)| *failed == position);
        if status == Status::Pending {
            continue;
        }
        let errors: Vec<String> = failed.iter().map(|(_, error)| error.clone()).collect();
        state.steps.insert(
            step.id.as_str().to_owned(),
            Box::new(StepState {
                status,
                attempts: 1,
                failures: u32::from(failed.is_some()),
                errors,
                finished_at: done.and_then(|done| done.at),
                // Its hash is not of the definition (docs/formats/prodigy.md#what-of-it-is-not-believed), so finished steps count as
                // done in their current definition.
                digest: done.map(|_| step.digest()),
                retryable: failed.map(|_| false),
                ..StepState::default()
            }),
        );
    }
    let variables = prodigy.variables().into_iter();
    state.variables = variables.map(|(name, value): (String, Value)| (name, Captured::Inline { value })).collect();
    state.execution = execution_state(prodigy, |position| workflow.steps.get(position).map(|step| step.id.clone()));
    state
}

fn execution_state(prodigy: &ProdigySession, id: impl Fn(usize) -> Option<StepId>) -> ExecutionState {
    let checkpoint = &prodigy.checkpoint;
    if let Some((failed, error)) = &checkpoint.failed
        && let Some(step) = id(*failed)
    {
        return ExecutionState::Failed { step, error: error.clone(), retryable: false };
    }
    match prodigy.open().and_then(&id) {
        Some(step) => ExecutionState::Interrupted { step: Some(step), in_progress: true },
        None => checkpoint
            .done
            .keys()
            .next_back()
            .and_then(|at| id(*at))
            .map_or(ExecutionState::Created, |step| ExecutionState::Completed { step }),
    }
}
