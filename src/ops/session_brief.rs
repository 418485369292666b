//! The brief of the caller's own session, for after a compaction.

use super::client_sessions::Asked;
use super::context;
use super::plan;
use super::plan::PlanRequest;
use super::project_context::ProjectContext;
use crate::model::Context;

/// Returns the brief of a session within `budget` bytes; `None` if it has no open task or agent and no plan. It reads ends of files only.
pub(crate) fn session_brief(ctx: &ProjectContext, session: &str, budget: usize) -> Option<Context> {
    let location = ctx.client_locations(Asked::Named(session)).into_iter().next()?;
    let (opened, _) = ctx.glance_at(&location).ok()?;
    let run = opened.run().ok()?;
    let options = plan::options(ctx, run, &PlanRequest::default()).ok()?;
    let evidence = ctx.evidence(&opened, false);
    let planned = plan::evaluate(&opened, run, &evidence, &options);
    let has_plan = planned.plan.native.get("plan").is_some();
    let next = planned.plan.next.first().filter(|_| has_plan || run.steps.len() > 1)?;
    Some(context::assemble(&opened, run, &planned, next, budget))
}
