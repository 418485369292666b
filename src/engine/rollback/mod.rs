//! Rolling a run back to an earlier point. Nothing here runs a command.
//!
//! - `target`: what a target such as `last` or `phase:2` can mean, and which steps it reopens.
//! - `impact`: what the rollback discards: steps, approvals, time.
//! - `method`: the git commands that discard the work, and what stands in the way.
//! - `left`: the commits of the steps given up that are still on the branch.

mod impact;
mod left;
mod method;
mod target;

pub(crate) use impact::{Impact, impact, reopened_at_commit};
pub(crate) use left::given_up;
pub(super) use left::{commits_left, left_in_words};
pub(crate) use method::{
    GitPlan, Method, Obstacle, command_to, git_plan, is_old_merge, listing_command, obstacles, record_commit,
};
pub(crate) use target::{TargetMeaning, last, meaning, phases, reopens};

use std::collections::BTreeSet;

use super::{
    graph::Graph,
    reconciled::{EffectiveStatus, ReconciledRun},
    refusal::{Refusal, RefusalKind, refuse},
};
use crate::model::{No, RollBack, Run, RunStatus, Status, StepId, StepKind, Suggested, Verb};

/// Tells whether a step was begun, according to its status or the evidence.
fn has_progress(run: &Run, effective_statuses: &[EffectiveStatus], at: usize) -> bool {
    let step = &run.steps[at];
    let looks_open =
        matches!(effective_statuses.get(at), None | Some(EffectiveStatus::Open | EffectiveStatus::OpenContainer));
    step.status != Status::Pending || step.is_reported || (step.kind != StepKind::Container && !looks_open)
}

/// Tells whether a step is over, according to its status or the evidence.
fn is_over(run: &Run, effective_statuses: &[EffectiveStatus], at: usize) -> bool {
    let by_state = run.steps[at].status.is_over();
    by_state || effective_statuses.get(at).is_some_and(|effective_status| effective_status.is_over())
}

/// Returns these steps with all begun dependents, in run order.
fn with_dependents(
    run: &Run,
    graph: &Graph,
    effective_statuses: &[EffectiveStatus],
    seeds: &BTreeSet<usize>,
) -> Vec<usize> {
    let mut all = seeds.clone();
    for at in seeds {
        let behind = graph.all_dependents(*at).into_iter();
        all.extend(behind.filter(|behind| has_progress(run, effective_statuses, *behind)));
    }
    all.into_iter().collect()
}

/// Refuses to roll back a run that is archived or in a newer format.
pub(crate) fn check_writable(run: &Run) -> Result<(), Refusal> {
    if run.status == RunStatus::Archived {
        let message = format!("run {} is archived; an archive is read, never written", run.id);
        let state = run.state_files.first().map_or_else(|| run.id.to_string(), |file| format!("./{file}"));
        return Err(refuse(RefusalKind::No(No::Already), message, [Suggested::of(Verb::Restore, state)]));
    }
    if !run.writable {
        let message = format!("run {} was written by a newer version of its format; it is read, never written", run.id);
        return Err(Refusal { kind: RefusalKind::Newer, message, hints: vec!["update piton, then try again".into()] });
    }
    Ok(())
}

/// Admits a rollback and completes it: dependents of a reopened step are reopened too.
pub(super) fn admitted(reconciled: &ReconciledRun<'_>, back: RollBack) -> Result<RollBack, Refusal> {
    let run = reconciled.run;
    check_writable(run)?;
    let mut seeds = BTreeSet::new();
    for id in &back.reopened {
        match reconciled.graph.position(id) {
            Some(at) => seeds.insert(at),
            None => {
                let message = format!("run {} has no step {id}", run.id);
                return Err(refuse(RefusalKind::NotFound, message, [Suggested::of(Verb::Plan, &run.id)]));
            }
        };
    }
    let reopened = with_dependents(run, reconciled.graph, reconciled.effective_statuses, &seeds);
    let Some(first) = reopened.first().copied() else {
        let message = format!("no step of run {} was done since {}: there is nothing to roll back", run.id, back.to);
        return Err(refuse(RefusalKind::No(No::Nothing), message, [Suggested::of(Verb::Rollback, &run.id)]));
    };
    let unreadable = |at: &&usize| {
        reconciled.effective_status(**at) == EffectiveStatus::Unreadable && !reconciled.has_unknown_word(**at)
    };
    if let Some(at) = reopened.iter().find(unreadable) {
        let message = format!("the state of {} cannot be interpreted; the step is left alone", run.steps[*at].id);
        return Err(refuse(RefusalKind::Person, message, [Suggested::of(Verb::Validate, &run.id)]));
    }
    let ids = |ats: Vec<usize>| -> Vec<StepId> { ats.into_iter().map(|at| run.steps[at].id.clone()).collect() };
    Ok(RollBack {
        keeps: first.checked_sub(1).map(|before| run.steps[before].id.clone()),
        from: run.position.clone().or_else(|| reopened.last().map(|last| run.steps[*last].id.clone())),
        reopened: ids(reopened),
        ..back
    })
}

#[cfg(test)]
mod admission_tests;
#[cfg(test)]
mod tests;
