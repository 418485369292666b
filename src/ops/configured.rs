//! Approvals that the user gave in advance, in their own configuration (`gates.approve`). Each is recorded as what it is when the run
//! reaches its gate, so that an unattended run goes on.

use super::{
    OpError,
    locked_run::LockedRun,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    run_location::RunLocation,
};
use crate::model::{Action, ChangeKind, Next, Run, StepId};

/// Who approved, in the record.
const BY: &str = "configuration";
const NOTE: &str = "approved by configuration";
/// Maximum number of gates in a row.
const GATES: usize = 20;

/// Approves the gates that a run waits at and that the user approved in advance.
pub(super) fn approve(ctx: &ProjectContext, location: &RunLocation) -> Result<(), OpError> {
    if ctx.project.config.gates.approve.is_empty() {
        return Ok(());
    }
    approve_locked(LockedRun::open(ctx, location)?).map(drop)
}

/// [`approve`] under the lock. Returns the run as it is then, and the gates.
pub(super) fn approve_locked(mut locked: LockedRun<'_>) -> Result<(LockedRun<'_>, Vec<StepId>), OpError> {
    let mut approved = Vec::new();
    if locked.ctx().project.config.gates.approve.is_empty() || locked.check_not_driven().is_err() {
        return Ok((locked, approved));
    }
    while approved.len() < GATES
        && let Some(gate) = next_gate(&locked)?
    {
        let (step, by, note) = (gate.clone(), Some(BY.to_owned()), Some(NOTE.to_owned()));
        let kind = ChangeKind::Approve { step, by, note, phases: None, choice: None };
        match locked.apply(kind, &locked.evidence(), locked.limits()) {
            Ok(_) => {}
            // What a person has to look at is not approved in advance.
            Err(OpError::Refused(_)) => break,
            Err(error) => return Err(error),
        }
        locked = locked.reload();
        approved.push(gate);
    }
    Ok((locked, approved))
}

/// Returns the gate that is next, if it was approved in advance and nothing blocks the run.
fn next_gate(locked: &LockedRun<'_>) -> Result<Option<StepId>, OpError> {
    let Some(run) = &locked.opened.loaded.run else { return Ok(None) };
    let options = plan::options(locked.ctx(), run, &PlanRequest::default())?;
    let planned = plan::evaluate(&locked.opened, run, &locked.evidence(), &options);
    let in_advance = &locked.ctx().project.config.gates.approve;
    let is_approved = |run: &Run, next: &Next| {
        next.action == Action::Approve && in_advance.contains(&format!("{}/{}", run.workflow, next.step))
    };
    let gate = planned.plan.next.iter().find(|next| is_approved(run, next)).map(|next| next.step.clone());
    Ok(gate.filter(|gate| planned.refusal_of(gate).is_none()))
}
