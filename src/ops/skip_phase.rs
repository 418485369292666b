//! `skip --phase`: leaves out the open steps of a phase.

use super::{
    OpError,
    change::report,
    locked_run::{LockedRun, Written},
    project_context::ProjectContext,
    report::{CheckpointReport, Report},
    select,
};
use crate::{
    engine::{self, ChangeLimits},
    model::{ChangeKind, Step, StepId, StepKind},
};

/// Leaves the open steps of a phase out, each with its record. If that is cut off, the same call leaves out the rest.
pub(crate) fn skip_phase(
    ctx: &ProjectContext,
    phase: u32,
    (by, reason): (&str, &str),
    agrees: bool,
) -> Result<Report<CheckpointReport>, OpError> {
    let location = select::location(ctx)?;
    let mut locked = LockedRun::open(ctx, &location)?;
    let run = locked.checked_run(None)?;
    let usage = |message: String, hint: String| OpError::Usage { message, hints: vec![hint] };
    let plan = format!("piton plan {}", engine::quoted(run.id.as_str()));
    if !run.records.details {
        return Err(usage(format!("the steps of {} are left out one by one", run.id), plan));
    }
    let group = format!("Phase {phase}");
    let in_phase = |step: &&Step| step.group.as_deref() == Some(group.as_str());
    let is_open = |step: &&Step| !step.status.satisfies();
    let open: Vec<StepId> = run.steps.iter().filter(in_phase).filter(is_open).map(|step| step.id.clone()).collect();
    let Some(last) = open.last().cloned() else {
        return Err(usage(format!("{} has no open step in phase {phase}", run.id), plan));
    };
    let is_gate = |step: &&Step| matches!(step.kind, StepKind::Gate | StepKind::Review) && open.contains(&step.id);
    let gates: Vec<String> = run.steps.iter().filter(is_gate).map(|step| step.id.with_title(&step.title)).collect();
    if !gates.is_empty() && !agrees {
        let message = format!("phase {phase} has gates and reviews that are open: {}", gates.join(", "));
        let (run, by, reason) = (engine::quoted(run.id.as_str()), engine::quoted(by), engine::quoted(reason));
        let anyway = format!("piton skip --phase {phase} --run {run} --reason {reason} --by {by} --yes");
        return Err(OpError::NotConfirmed { message, hints: vec![plan, format!("to leave them out too: `{anyway}`")] });
    }
    let mut written = Written::of(run, "skip", None);
    for step in open.iter().cloned() {
        let kind = ChangeKind::Skip { step, part: None, by: Some(by.to_owned()), reason: reason.to_owned() };
        let limits = ChangeLimits { with_gates: true, ..locked.limits() };
        written = locked.apply(kind, &locked.evidence(), limits)?;
        locked = locked.after(&location, &written)?;
    }
    let first = open.first().map_or_else(|| last.as_str().to_owned(), |first| first.as_str().to_owned());
    written.message = format!("phase {phase} is left out: {first} to {last}");
    Ok(report(ctx, &locked.opened, written))
}
