//! The runs of workflow files, for the verbs that no other run has.

use super::{
    OpError,
    opened_run::OpenedRun,
    plan::{self, PlanRequest},
    project_context::ProjectContext,
    run_location::RunLocation,
    select::location,
};
use crate::{
    dialect::piton::Session,
    model::{Fix, No, Owner, Suggested, Verb, Verdict},
    store::Scope,
};

/// Locates the requested run of a workflow file; without a name the one that changed last.
pub(crate) fn workflow_run(ctx: &ProjectContext) -> Result<RunLocation, OpError> {
    if ctx.run.is_some() || ctx.run_path.is_some() {
        let location = location(ctx)?;
        let message = format!("{} is no run of a workflow file", location.candidate.name);
        let is_one = location.own_run().is_some();
        return if is_one { Ok(location) } else { Err(OpError::Usage { message, hints: Vec::new() }) };
    }
    // An id tells the second only.
    let changed_at = |location: &RunLocation| Some(ctx.read(location).ok()?.loaded.run?.stamp);
    let newest = |location: &RunLocation| (changed_at(location), location.candidate.name.clone());
    Ok(workflow_runs(ctx)?.into_iter().max_by_key(newest).expect("there is one"))
}

/// Locates the requested run of a workflow file to merge it; without a name the only one that waits for its merge. `asked` is the call
/// without a run, for the commands that name one of several.
pub(crate) fn run_to_merge(ctx: &ProjectContext, asked: &Suggested) -> Result<RunLocation, OpError> {
    only(ctx, "merge", |opened| {
        let (Some(run), Ok(session)) = (&opened.loaded.run, Session::read(&opened.files)) else { return Ok(None) };
        let planned = plan::planned(ctx, opened, run, &PlanRequest::default())?;
        let has_work = session.header.keeps_work(session.state.run.worktree.as_deref());
        let waits = has_work && planned.plan.verdict == Verdict::Complete && !planned.live_owner;
        // Without a branch that it came from, its work gets one.
        let is_detached = session.header.base_branch.is_none() && !asked.has("branch");
        let merge = asked.clone().word(&run.id).maybe("branch", is_detached.then_some("NAME"));
        Ok(waits.then(|| merge.into()))
    })
}

/// Locates the requested run of a workflow file to discard it; without a name the only one that is there and not running.
pub(crate) fn run_to_discard(ctx: &ProjectContext, asked: &Suggested) -> Result<RunLocation, OpError> {
    only(ctx, "discard", |opened| {
        let is_free = opened.loaded.run.is_some() && !matches!(ctx.evidence(opened, false).owner, Owner::Live { .. });
        Ok(is_free.then(|| asked.clone().word(&opened.candidate.name).into()))
    })
}

/// Locates the requested run of a workflow file; without a name the only one for which there is a command.
fn only(
    ctx: &ProjectContext,
    verb: &str,
    command: impl Fn(&OpenedRun) -> Result<Option<Fix>, OpError>,
) -> Result<RunLocation, OpError> {
    if ctx.run.is_some() || ctx.run_path.is_some() {
        return workflow_run(ctx);
    }
    let (mut runs, mut hints) = (Vec::new(), Vec::new());
    for location in workflow_runs(ctx)? {
        if let Some(command) = command(&ctx.read(&location)?)? {
            runs.push(location);
            hints.push(command);
        }
    }
    match runs.len() {
        1 => Ok(runs.remove(0)),
        0 => {
            let (message, hints) =
                (format!("there is no run to {verb}"), vec![Suggested::new(Verb::List).flag("all").into()]);
            Err(OpError::InTheWay { why: No::Nothing, message, hints })
        }
        count => {
            Err(OpError::TargetAmbiguous { message: format!("there are {count} runs to {verb}; name one"), hints })
        }
    }
}

/// Returns the runs of workflow files of this repository; at least one.
fn workflow_runs(ctx: &ProjectContext) -> Result<Vec<RunLocation>, OpError> {
    let (mut locations, findings) = ctx.locations_in(Scope::Sessions);
    locations.retain(|location| location.own_run().is_some());
    let searched = || ctx.home.root().to_string();
    if locations.is_empty() { Err(OpError::NoRun { searched: searched(), findings }) } else { Ok(locations) }
}
