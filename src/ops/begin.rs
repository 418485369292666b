//! `begin`: hands over the brief of a step, and records that the step starts.

use std::borrow::Cow;

use super::OpError;
use super::change::ChangeRequest;
use super::change::LockedRun;
use super::change::Written;
use super::change::follow;
use super::change::resolve_ids;
use super::context;
use super::plan;
use super::plan::PlanRequest;
use super::project_context::ProjectContext;
use super::project_context::RunLocation;
use super::report::Body;
use super::report::CheckpointReport;
use super::report::Report;
use super::select;
use crate::dialect::StateHome;
use crate::dialect::by_id;
use crate::engine;
use crate::engine::ChangeLimits;
use crate::engine::Planned;
use crate::engine::Rebegin;
use crate::engine::Refusal;
use crate::engine::RefusalKind;
use crate::model::Action;
use crate::model::ChangeKind;
use crate::model::Evidence;
use crate::model::Next;
use crate::model::Run;
use crate::model::RunId;
use crate::model::StepId;
use crate::model::Verdict;

/// Begins a step and answers with its brief within `budget` bytes. Without a step it begins the first one that the plan names.
pub(crate) fn begin(ctx: &ProjectContext, request: ChangeRequest, budget: usize) -> Result<Report, OpError> {
    let location = select::location(ctx)?;
    let locked = LockedRun::open(ctx, &location)?;
    check_not_session(&location)?;
    locked.check_not_driven()?;
    let run = locked.opened.run()?;
    locked.check_revision(run, request.if_revision.as_deref())?;
    let mut evidence = locked.evidence();
    ctx.inspect_workspace(&locked.opened, &mut evidence);
    ctx.read_statements(&locked.opened, &mut evidence);
    // The brief is that of the plan before the step is begun: what is to be done, and why.
    let planned = |evidence: &Evidence, request: &PlanRequest| {
        let options = plan::options(ctx, run, request)?;
        Ok::<Planned, OpError>(plan::evaluate(&locked.opened, run, evidence, &options))
    };
    let mut plain = None;
    let kind = match request.kind {
        ChangeKind::Begin { step, part, agent, attempt } if step.as_str().is_empty() => {
            let first = plain.insert(planned(&evidence, &PlanRequest::default())?);
            ChangeKind::Begin { step: first_of(first, run)?, part, agent, attempt }
        }
        kind => resolve_ids(ctx, &locked.opened, run, kind)?,
    };
    let ChangeKind::Begin { step, part, .. } = &kind else { return Err(not_a_begin()) };
    let (step, is_part) = (step.clone(), part.is_some());
    let limits = ChangeLimits { force: request.force, rebegin: request.rebegin, ..locked.limits() };
    let mut before = Cow::Borrowed(&evidence);
    if request.rebegin != Rebegin::No {
        // The attempt that goes on is ended.
        before.to_mut().presences.retain(|(begun, _), _| *begun != step);
        plain = None;
    }
    let (planned, next) = match is_part {
        true => (None, None),
        false => {
            let plain = plain.map_or_else(|| planned(&before, &PlanRequest::default()), Ok)?;
            match plain.plan.next.iter().find(|next| next.step == step).cloned() {
                Some(next) => (Some(plain), Some(next)),
                None => {
                    let from = vec![step.as_str().to_owned()];
                    let named = planned(&before, &PlanRequest { from, force: true, ..PlanRequest::default() })?;
                    let next = named.plan.next.iter().find(|next| next.step == step).cloned();
                    (Some(named), next)
                }
            }
        }
    };
    let brief = planned.zip(next.as_ref());
    let brief = brief.map(|(planned, next)| context::assemble(&locked.opened, run, &planned, next, budget));
    let mut written = locked.apply(kind, &evidence, limits, next.as_ref())?;
    written.findings.extend(locked.renew_lease(written.change));
    let revision = match written.moves_files() {
        true => follow(ctx, &location, locked, &mut written)?.revision(),
        false => locked.revision_after(&written),
    };
    let finish = format!("piton finish {} --run {}", engine::quoted(step.as_str()), engine::quoted(&written.run));
    let files = written.files();
    let Written { run, change, step, already, message, findings, .. } = written;
    let recorded = already.is_none();
    let body = CheckpointReport {
        run: RunId::new(run),
        change: change.to_owned(),
        step,
        recorded,
        message,
        revision,
        files,
        next: Some(finish),
        brief,
    };
    Ok(Report { findings, ..Report::ok(Body::Checkpoint(Box::new(body))) })
}

/// Returns the first step that the plan lets an agent begin.
fn first_of(planned: &Planned, run: &Run) -> Result<StepId, OpError> {
    let plan = &planned.plan;
    let is_work = |next: &&Next| matches!(next.action, Action::Run | Action::Retry | Action::Return);
    if plan.verdict != Verdict::Blocked
        && let Some(next) = plan.next.iter().find(is_work)
    {
        return Ok(next.step.clone());
    }
    let why = planned.findings.first().filter(|_| plan.verdict == Verdict::Blocked);
    let why = why.map_or_else(|| format!("the plan is {}", plan.verdict.as_str()), |finding| finding.message.clone());
    let kind = match plan.verdict {
        Verdict::Blocked if planned.live_owner => RefusalKind::Conflict,
        Verdict::Blocked | Verdict::Confirm => RefusalKind::Person,
        Verdict::Resume | Verdict::Complete | Verdict::Nothing => RefusalKind::No,
    };
    let plan_command = format!("piton plan {}", engine::quoted(run.id.as_str()));
    let hints = plan.commands.begin.clone().into_iter().chain([plan_command]).collect();
    Err(OpError::Refused(Refusal { kind, message: format!("no step of {} can begin: {why}", run.id), hints }))
}

/// Refuses to begin a step of a session by hand: the runner begins each of its steps itself.
fn check_not_session(location: &RunLocation) -> Result<(), OpError> {
    if by_id(location.candidate.dialect).state_home() != StateHome::Home {
        return Ok(());
    }
    let name = engine::quoted(&location.candidate.name);
    Err(OpError::Refused(Refusal {
        kind: RefusalKind::No,
        message: format!("{} is a session of `piton run`, which begins its steps itself", location.candidate.name),
        hints: vec![
            format!("piton resume {name}"),
            format!("piton finish STEP --run {name}, for one that was done by hand"),
        ],
    }))
}

fn not_a_begin() -> OpError {
    OpError::Usage { message: "the change is not a begin".to_owned(), hints: vec!["piton schema change".to_owned()] }
}
