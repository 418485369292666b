//! Rollback targets: what a target can mean, and which steps it reopens.

use std::collections::BTreeSet;

use super::{has_progress, is_over, listing_command, with_dependents};
use crate::{
    engine::{
        graph::Graph,
        reconciled::EffectiveStatus,
        refusal::{Refusal, RefusalKind, refuse},
    },
    model::{No, Run, StepId, Suggested, Verb, are, clean_line, is_commit_hash},
};

/// A phase of a run. A run can be rolled back to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phase {
    pub(crate) number: u32,
    pub(crate) name: String,
    /// Positions in `run.steps`.
    pub(crate) steps: Vec<usize>,
}

/// A meaning of a rollback target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetMeaning {
    Last,
    /// The end of a phase, by its place in [`phases`] from 1; 0 is before the first.
    Phase(usize),
    /// Before this step.
    Step(StepId),
    Checkpoint(String),
    Commit(String),
}

impl TargetMeaning {
    /// Returns the unambiguous spelling.
    pub(crate) fn exact(&self, run: &Run) -> String {
        match self {
            Self::Last => "last".to_owned(),
            Self::Phase(0) => "phase:0".to_owned(),
            Self::Phase(place) => match phases(run).get(place - 1) {
                Some(phase) => format!("phase:{}", phase.number),
                None => format!("phase:{place}"),
            },
            Self::Step(id) => format!("step:{id}"),
            Self::Checkpoint(id) => format!("checkpoint:{id}"),
            Self::Commit(sha) => format!("commit:{sha}"),
        }
    }

    /// Returns a description for people.
    pub(crate) fn describe(&self, run: &Run) -> String {
        match self {
            Self::Last => "the last phase, or the last change".to_owned(),
            Self::Phase(0) => "the beginning of the run".to_owned(),
            Self::Phase(place) => {
                let name = phases(run).get(place - 1).map(|phase| clean_line(&phase.name, 80)).unwrap_or_default();
                format!("the end of {name}")
            }
            Self::Step(id) => format!("before step {id}"),
            Self::Checkpoint(id) => format!("checkpoint {id} of the history"),
            Self::Commit(sha) => format!("commit {sha}"),
        }
    }
}

/// Returns the phases of a run: its groups, numbered by the end of their names. None if a step belongs to no such group.
pub(crate) fn phases(run: &Run) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for (at, step) in run.steps.iter().enumerate() {
        let Some((group, number)) = step.group.as_ref().and_then(|group| Some((group, number_of(group)?))) else {
            return Vec::new();
        };
        match phases.last_mut() {
            Some(phase) if phase.name == *group => phase.steps.push(at),
            Some(_) | None => phases.push(Phase { number, name: group.clone(), steps: vec![at] }),
        }
    }
    phases
}

fn number_of(name: &str) -> Option<u32> {
    let digits = name.len() - name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    name[name.len() - digits..].parse().ok()
}

/// Returns what a target means: the first of a phase, a step, a checkpoint and a commit that it names. Whether a commit exists is for git to
/// check.
pub(crate) fn meaning(run: &Run, text: &str, checkpoints: &[String]) -> Option<TargetMeaning> {
    let text = text.trim();
    let step = |text: &str| run.resolve(text).map(|step| TargetMeaning::Step(step.id.clone()));
    match text.split_once(':') {
        Some(("phase", rest)) => phase(run, rest),
        Some(("step", rest)) => step(rest),
        Some(("checkpoint", rest)) => checkpoint(rest, checkpoints),
        Some(("commit", rest)) => commit(rest),
        Some(_) => step(text),
        None if text == "last" => Some(TargetMeaning::Last),
        // A number that names no phase names no step either.
        None => phase(run, text)
            .or_else(|| checkpoint(text, checkpoints))
            .or_else(|| commit(text))
            .or_else(|| step(text).filter(|_| !text.bytes().all(|byte| byte.is_ascii_digit()))),
    }
}

fn phase(run: &Run, text: &str) -> Option<TargetMeaning> {
    if text == "0" {
        return Some(TargetMeaning::Phase(0));
    }
    let number = text.parse::<u32>().ok().filter(|number| number.to_string() == text);
    let is_it = |phase: &Phase| match number {
        Some(number) => phase.number == number,
        None => phase.name.eq_ignore_ascii_case(text),
    };
    phases(run).iter().position(is_it).map(|place| TargetMeaning::Phase(place + 1))
}

fn checkpoint(text: &str, checkpoints: &[String]) -> Option<TargetMeaning> {
    checkpoints.iter().any(|id| id == text).then(|| TargetMeaning::Checkpoint(text.to_owned()))
}

/// Parses the name of a commit (docs/formats/nine-step.md#rollback).
fn commit(text: &str) -> Option<TargetMeaning> {
    is_commit_hash(text).then(|| TargetMeaning::Commit(text.to_ascii_lowercase()))
}

/// Returns the meaning of `last`: the end of the phase before the latest one that was begun. `None` for a run without phases.
pub(crate) fn last(run: &Run, effective_statuses: &[EffectiveStatus]) -> Option<TargetMeaning> {
    let phases = phases(run);
    let is_begun = |phase: &Phase| phase.steps.iter().any(|at| is_begun(run, effective_statuses, *at));
    phases.iter().rposition(is_begun).map(TargetMeaning::Phase)
}

/// Tells whether a step was begun. A gate that is next waits for a person without having been begun.
fn is_begun(run: &Run, effective_statuses: &[EffectiveStatus], at: usize) -> bool {
    let waits = effective_statuses.get(at) == Some(&EffectiveStatus::Waiting) && run.steps[at].attempts == 0;
    has_progress(run, effective_statuses, at) && !waits
}

/// Returns the steps that a rollback to a phase or step reopens.
///
/// # Errors
///
/// If the run has not reached that point.
pub(crate) fn reopens(
    run: &Run,
    effective_statuses: &[EffectiveStatus],
    meaning: &TargetMeaning,
) -> Result<Vec<StepId>, Refusal> {
    let graph = Graph::of(run);
    let seeds: BTreeSet<usize> = match meaning {
        TargetMeaning::Phase(place) => after_phase(run, effective_statuses, *place)?,
        TargetMeaning::Step(id) => from_step(run, &graph, effective_statuses, id)?,
        // Checkpoints and commits tell themselves which steps were done.
        TargetMeaning::Last | TargetMeaning::Checkpoint(_) | TargetMeaning::Commit(_) => BTreeSet::new(),
    };
    let all = with_dependents(run, &graph, effective_statuses, &seeds);
    Ok(all.into_iter().map(|at| run.steps[at].id.clone()).collect())
}

fn after_phase(run: &Run, effective_statuses: &[EffectiveStatus], place: usize) -> Result<BTreeSet<usize>, Refusal> {
    let phases = phases(run);
    if place == 0 {
        return Ok((0..run.steps.len()).filter(|at| has_progress(run, effective_statuses, *at)).collect());
    }
    let kept = phases.iter().take(place).flat_map(|phase| &phase.steps);
    let open: Vec<&str> =
        kept.filter(|at| !is_over(run, effective_statuses, **at)).map(|at| run.steps[*at].id.as_str()).collect();
    if !open.is_empty() {
        let name = phases.get(place - 1).map(|phase| phase.name.as_str()).unwrap_or_default();
        let shown = open.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        let are = are(open.len());
        let message = format!("the end of {} was not reached: {shown} {are} not done", clean_line(name, 80));
        let hints = vec![listing_command(run), Suggested::of(Verb::Plan, &run.id)];
        return Err(refuse(RefusalKind::No(No::NotYet), message, hints));
    }
    let behind = phases.iter().skip(place).flat_map(|phase| phase.steps.iter().copied());
    Ok(behind.filter(|at| has_progress(run, effective_statuses, *at)).collect())
}

fn from_step(
    run: &Run,
    graph: &Graph,
    effective_statuses: &[EffectiveStatus],
    id: &StepId,
) -> Result<BTreeSet<usize>, Refusal> {
    let at = graph.position(id).filter(|at| has_progress(run, effective_statuses, *at));
    let Some(at) = at else {
        let message = format!("{id} was not begun: there is nothing to roll back");
        let hints = vec![listing_command(run), Suggested::of(Verb::Plan, &run.id)];
        return Err(refuse(RefusalKind::No(No::Nothing), message, hints));
    };
    let behind = graph.all_dependents(at);
    let all = behind.into_iter().filter(|at| has_progress(run, effective_statuses, *at));
    Ok(all.chain([at]).collect())
}
