//! `context`: what the agent of a step needs to know.

use camino::Utf8Path;

use super::{
    Exit, OpError,
    client_sessions::SessionFilter,
    half_made,
    opened_run::OpenedRun,
    plan::{self, PlanRequest},
    project_context::{ProjectContext, Request},
    report::{Body, Report},
    select,
};
use crate::{
    dialect::StateHome,
    engine::{self, Planned},
    model::{Context, Next, Run, RunStatus, StepId, Suggested, Timestamp, Uid, Verb, Verdict},
};

/// Size limit of a brief in bytes, unless the caller names another.
pub(crate) const BRIEF_BYTES: usize = 4_096;

impl Body for Context {
    const SCHEMA: &'static str = "context/2";
}

/// Assembles the context of a step within `budget` bytes.
pub(crate) fn context(
    ctx: &ProjectContext,
    step: Option<&str>,
    budget: usize,
    native: bool,
) -> Result<Report<Context>, OpError> {
    let opened = match select::select(ctx) {
        Err(error @ OpError::NoRun { .. }) => return own_session(ctx, budget).ok_or(error),
        opened => opened?,
    };
    let run = opened.run()?;
    let planned = plan::planned(ctx, &opened, run, &PlanRequest::default())?;
    let next = match step {
        None if waits(&opened, run, &planned) => {
            let last = run.steps.last().map(|step| step.id.as_str().to_owned()).unwrap_or_default();
            let mut next = next_for(ctx, &opened, run, &planned, &last)?;
            "every step is done: it waited for the next request".clone_into(&mut next.reason);
            Some(next)
        }
        None => planned.plan.next.first().cloned(),
        Some(text) => Some(next_for(ctx, &opened, run, &planned, text)?),
    };
    let Some(mut next) = next else {
        return Err(plan::refusal(&planned, run, &format!("nothing is next in {}", run.id)));
    };
    half_made::look(ctx, &opened, run, &planned, &mut next);
    let context = match native {
        true => assemble_native(&opened, run, &planned, &next, budget),
        false => assemble(&opened, run, &planned, &next, budget),
    };
    Ok(Report { exit: Exit::Ok, body: context, findings: planned.findings })
}

/// Assembles the brief of a step of a run of a workflow file, by the folder of its records.
pub(crate) fn brief_of(records: &Utf8Path, step: &StepId, now: Timestamp) -> Result<Context, OpError> {
    let (run, now) = (Some(records.as_str().to_owned()), Some(now.to_string()));
    let ctx = ProjectContext::open(&Request { run, now, ..Request::default() })?;
    context(&ctx, Some(step.as_str()), BRIEF_BYTES, false).map(|report| report.body)
}

/// Tells whether a session of the client has nothing left to do and may be continued with its brief.
fn waits(opened: &OpenedRun, run: &Run, planned: &Planned) -> bool {
    let has_brief = opened.guest().is_some_and(|guest| guest.has_brief);
    has_brief && run.waits && planned.plan.verdict == Verdict::Complete && !run.steps.is_empty()
}

/// Returns the brief of the caller's own session, for a call without a run after a compaction.
fn own_session(ctx: &ProjectContext, budget: usize) -> Option<Report<Context>> {
    let session = ctx.environment.session.as_ref().filter(|_| ctx.run.is_none() && ctx.run_path.is_none())?;
    session_brief(ctx, session, budget).map(Report::ok)
}

/// Returns the brief of a session of the client within `budget` bytes; `None` if it has no open task or agent and no plan. It reads ends
/// of files only.
pub(crate) fn session_brief(ctx: &ProjectContext, session: &str, budget: usize) -> Option<Context> {
    let (opened, planned) = planned_session(ctx, session)?;
    let run = opened.run().ok()?;
    let has_plan = planned.plan.native.get("plan").is_some();
    let next = planned.plan.next.first().filter(|_| has_plan || run.steps.len() > 1)?;
    Some(assemble(&opened, run, &planned, next, budget))
}

/// Plans a session of the client from the ends of its files.
pub(super) fn planned_session(ctx: &ProjectContext, session: &str) -> Option<(OpenedRun, Planned)> {
    let location = ctx.client_locations(SessionFilter::Named(session)).into_iter().next()?;
    let (opened, _) = ctx.glance_at(&location);
    let run = opened.run().ok()?;
    let options = plan::options(ctx, run, &PlanRequest::default()).ok()?;
    let planned = plan::evaluate(&opened, run, &ctx.evidence(&opened, false), &options);
    Some((opened, planned))
}

/// Assembles the context that says everything once.
pub(crate) fn assemble(opened: &OpenedRun, run: &Run, planned: &Planned, next: &Next, budget: usize) -> Context {
    assemble_begun(opened, run, planned, next, (opened.begun(&next.step, next.attempt), budget))
}

/// [`assemble`] for an attempt that begins now.
pub(super) fn assemble_begun(
    opened: &OpenedRun,
    run: &Run,
    planned: &Planned,
    next: &Next,
    (begun, budget): (Option<Uid>, usize),
) -> Context {
    let brief = opened.dialect.brief(&opened.files, run, &planned.plan, next).lean();
    engine::assemble(run, planned, next, brief, (begun, budget))
}

/// Assembles the context with the fields and the prompt of the run's own system in their form.
pub(crate) fn assemble_native(opened: &OpenedRun, run: &Run, planned: &Planned, next: &Next, budget: usize) -> Context {
    let brief = opened.dialect.brief(&opened.files, run, &planned.plan, next);
    let begun = opened.begun(&next.step, next.attempt);
    engine::assemble(run, planned, next, brief, (begun, budget))
}

/// Returns the plan's entry for a step, else the one of a plan that starts at the step.
fn next_for(
    ctx: &ProjectContext,
    opened: &OpenedRun,
    run: &Run,
    planned: &Planned,
    text: &str,
) -> Result<Next, OpError> {
    let step = plan::resolve(run, text)?;
    if let Some(next) = planned.plan.next.iter().find(|next| next.step == step) {
        return Ok(next.clone());
    }
    if planned.plan.verdict == Verdict::Nothing {
        return Err(plan::refusal(planned, run, &format!("{step} is not next in {}", run.id)));
    }
    let request = PlanRequest { from: vec![step.as_str().to_owned()], force: true, ..PlanRequest::default() };
    let forced = plan::planned(ctx, opened, run, &request)?;
    let mut next = forced.plan.next.into_iter().find(|next| next.step == step);
    let can_redo = opened.dialect.state_home() != StateHome::Client
        && !opened.loaded.is_unattended
        && run.records.redo
        && run.status != RunStatus::Aborted
        && run.step(&step).is_some_and(|step| step.recorded);
    if let Some(next) = next.as_mut().filter(|_| can_redo && planned.plan.steps.completed.contains(&step)) {
        next.reason = format!("it is done; to do it again, first: `{}`", engine::redo_command(&step, &run.id));
    }
    next.ok_or_else(|| {
        let message = format!("{step} is behind a gate that is not approved");
        let hints = vec![Suggested::of(Verb::Plan, &run.id).into()];
        OpError::Refused(engine::Refusal { kind: engine::RefusalKind::Person, message, hints })
    })
}
