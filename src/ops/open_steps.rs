//! The steps that the caller's session has in progress, with their briefs, for the events of the client. Writes nothing and starts no
//! process.

use super::OpError;
use super::begin::workspace_evidence;
use super::context;
use super::plan;
use super::plan::PlanRequest;
use super::project_context::OpenedRun;
use super::project_context::ProjectContext;
use super::select;
use crate::engine;
use crate::engine::Planned;
use crate::model::Context;
use crate::model::Next;
use crate::model::RunId;
use crate::model::StepId;

/// Size limit of a brief in bytes, unless the caller names another.
pub(crate) const BRIEF_BYTES: usize = 4_096;

/// A run with the steps that the caller has in progress.
#[derive(Debug)]
pub(crate) struct OpenSteps {
    pub(crate) run: RunId,
    /// In the order of the run.
    pub(crate) steps: Vec<OpenStep>,
    opened: OpenedRun,
    planned: Option<Planned>,
}

/// A step that the caller has in progress.
#[derive(Debug)]
pub(crate) struct OpenStep {
    pub(crate) step: StepId,
    pub(crate) attempt: u32,
}

/// Returns the steps of the requested run that the caller has in progress.
pub(crate) fn open_steps(ctx: &ProjectContext) -> Result<OpenSteps, OpError> {
    let location = select::location(ctx)?;
    let opened = ctx.read(&location)?;
    let run = opened.run()?;
    let evidence = workspace_evidence(ctx, &opened);
    let own = engine::own_attempts(run, &evidence);
    let steps: Vec<OpenStep> =
        own.into_iter().map(|attempt| OpenStep { step: attempt.step, attempt: attempt.attempt }).collect();
    let planned = match steps.is_empty() {
        true => None,
        false => {
            let options = plan::options(ctx, run, &PlanRequest::default())?;
            Some(plan::evaluate(&opened, run, &evidence, &options))
        }
    };
    Ok(OpenSteps { run: run.id.clone(), steps, opened, planned })
}

impl OpenSteps {
    /// Returns the brief of an open step as `begin` answered it; `None` if the plan no longer has the step.
    pub(crate) fn brief(&self, open: &OpenStep) -> Option<Context> {
        let planned = self.planned.as_ref()?;
        let next: &Next = planned.plan.next.iter().find(|next| next.step == open.step)?;
        Some(context::assemble(&self.opened, self.opened.run().ok()?, planned, next, BRIEF_BYTES))
    }
}
