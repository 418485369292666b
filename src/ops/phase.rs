//! What a person decides about a whole phase: it is left out, or done again.

use super::{
    OpError,
    change::{AnswerRequest, masked, report},
    locked_run::{LockedRun, Written},
    project_context::ProjectContext,
    report::{CheckpointReport, Report},
    run_location::RunLocation,
};
use crate::{
    engine::ChangeLimits,
    model::{ChangeKind, Decision, DecisionKind, Run, Status, Step, StepId, StepKind, Suggested, Verb},
};

/// Returns the phase of a word such as `phase-2`.
pub(super) fn phase_of(word: &str) -> Option<u32> {
    word.strip_prefix("phase-")?.parse().ok()
}

/// Leaves the open steps of a phase out, each with its record. If that is cut off, the same call leaves out the rest.
pub(super) fn skip_phase(
    ctx: &ProjectContext,
    location: &RunLocation,
    phase: u32,
    request: &AnswerRequest,
) -> Result<Report<CheckpointReport>, OpError> {
    let (by, reason) = (&*request.by, request.note.as_deref().unwrap_or_default());
    let mut locked = LockedRun::open(ctx, location)?;
    let run = locked.checked_run(request.if_revision.as_deref())?;
    let open = steps(run, phase, |step| !step.status.satisfies());
    let (first, last) = ends(run, &open, format!("no open step in phase {phase}"))?;
    check_gates(run, &open, request)?;
    let mut written = Written::of(run, "skip", None);
    for step in open {
        let kind = ChangeKind::Skip { step, part: None, by: Some(by.to_owned()), reason: reason.to_owned() };
        let limits = ChangeLimits { with_gates: true, ..locked.limits() };
        written = locked.apply(kind, &locked.evidence(), limits)?;
        locked = locked.after(location, &written)?;
    }
    written.message = format!("phase {phase} is left out: {first} to {last}");
    written.step = Some(StepId::new(&request.step));
    Ok(report(ctx, &locked.opened, written))
}

/// Brings back what was left out of a phase, else has its finished steps done again but for those that must not run twice. If that is cut
/// off, the same call does the rest.
pub(super) fn redo_phase(
    ctx: &ProjectContext,
    location: &RunLocation,
    phase: u32,
    request: &AnswerRequest,
) -> Result<Report<CheckpointReport>, OpError> {
    let mut locked = LockedRun::open(ctx, location)?;
    let run = locked.checked_run(request.if_revision.as_deref())?;
    let left_out = steps(run, phase, |step| step.status == Status::Skipped);
    let again = match left_out.is_empty() {
        true => steps(run, phase, |step| step.status == Status::Completed && step.idempotent),
        false => left_out,
    };
    let (first, last) = ends(run, &again, format!("no step in phase {phase} that was done or left out"))?;
    check_gates(run, &again, request)?;
    let mut written = Written::of(run, "redo", None);
    for step in again {
        let said = (Some(masked(&request.by)), request.note.as_deref().map(masked));
        let decision = Decision::new(Some(step), DecisionKind::Redo, said, locked.clock().now);
        written = locked.decide(locked.opened.run()?, decision)?;
        locked = locked.reload();
    }
    written.message = format!("phase {phase} is done again: {first} to {last}");
    written.step = Some(StepId::new(&request.step));
    Ok(report(ctx, &locked.opened, written))
}

fn steps(run: &Run, phase: u32, is_meant: impl Fn(&Step) -> bool) -> Vec<StepId> {
    let group = format!("Phase {phase}");
    let in_phase = |step: &&Step| step.group.as_deref() == Some(group.as_str()) && is_meant(step);
    run.steps.iter().filter(in_phase).map(|step| step.id.clone()).collect()
}

/// Returns the first and the last of some steps; refuses where there are none, or the format has no phases.
fn ends(run: &Run, steps: &[StepId], none: String) -> Result<(StepId, StepId), OpError> {
    let usage = |message: String| OpError::Usage { message, hints: vec![Suggested::of(Verb::Plan, &run.id).into()] };
    match steps {
        _ if !run.records.details => Err(usage(format!("a person decides about the steps of {} one by one", run.id))),
        [] => Err(usage(format!("{} has {none}", run.id))),
        [first, ..] => Ok((first.clone(), steps.last().unwrap_or(first).clone())),
    }
}

/// Refuses to decide about gates and reviews with the rest of a phase before a person saw which.
fn check_gates(run: &Run, steps: &[StepId], request: &AnswerRequest) -> Result<(), OpError> {
    let is_gate = |step: &&Step| matches!(step.kind, StepKind::Gate | StepKind::Review) && steps.contains(&step.id);
    let gates: Vec<String> = run.steps.iter().filter(is_gate).map(|step| step.id.with_title(&step.title)).collect();
    if gates.is_empty() || request.with_gates {
        return Ok(());
    }
    let message = format!("{} has gates and reviews among these steps: {}", request.step, gates.join(", "));
    let anyway = Suggested::of(Verb::Decide, &request.step).word(&request.answer).run(&run.id);
    let anyway = anyway.maybe("note", request.note.as_ref()).option("by", &request.by).yes();
    let plan = Suggested::of(Verb::Plan, &run.id).into();
    Err(OpError::NotConfirmed { message, hints: vec![plan, format!("with them: `{anyway}`").into()] })
}
