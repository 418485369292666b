//! What a person sees first of a run that Piton drives.

use super::{
    OpError,
    plan::{self, PlanReport, PlanRequest},
    plan_document::PlanDetail,
    project_context::ProjectContext,
    report::Report,
    run_location::RunLocation,
};
use crate::{
    engine::Refusal,
    model::{AgreedFindings, FindingCode},
};

/// What the runner asks about itself, each with the flag or the decision that answers it.
const ASKED_BY_RUNNER: &[FindingCode] = &[
    FindingCode::ConditionsOpen,
    FindingCode::DefinitionChanged,
    FindingCode::DefinitionUnreadable,
    FindingCode::FormatNewer,
    FindingCode::JournalDamaged,
    FindingCode::JournalMissing,
    FindingCode::LimitReached,
    FindingCode::StaleDependent,
    FindingCode::StateCorrupt,
    FindingCode::StateLeftover,
];

/// Returns why a step may not run yet, or without one why the run may not go on before a person saw something, with the plan that asks.
/// What cannot be read, and what blocks the run as a whole, the runner says.
pub(crate) fn held(
    ctx: &ProjectContext,
    location: &RunLocation,
    step: Option<&str>,
) -> Result<Option<(Refusal, Report<PlanReport>)>, OpError> {
    let opened = ctx.read(location)?;
    let Ok(run) = opened.run() else { return Ok(None) };
    let agreed = if step.is_none() { AgreedFindings::Of(ASKED_BY_RUNNER) } else { AgreedFindings::None };
    let planned = plan::planned(ctx, &opened, run, &PlanRequest { agreed, ..PlanRequest::default() })?;
    let about = match step {
        Some(text) => run.resolve(text).map(|step| &step.id),
        None => planned.to_confirm.as_ref().and_then(|_| planned.plan.next.first()).map(|next| &next.step),
    };
    let refusal = about.and_then(|step| planned.refusal_to_begin(step, ctx.clock.now));
    Ok(refusal.map(|refusal| (refusal, plan::report(opened, planned, PlanDetail::default()))))
}
