//! What a rollback discards: the steps it reopens, their approvals, the time spent on them.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::{has_progress, target::phases};
use crate::{
    engine::{graph::Graph, reconciled::EffectiveStatus},
    model::{EvidenceRecord, Run, Status, Step, StepId, StepKind, Timestamp},
};

/// What a rollback discards.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Impact {
    /// Steps to reopen, in run order.
    pub(crate) reopened: Vec<StepId>,
    /// The same steps by phase; empty for a run without phases.
    pub(crate) phases: Vec<PhaseImpact>,
    /// Approved gates among them, which have to be approved again.
    pub(crate) approvals: Vec<StepId>,
    /// When the first of them began.
    pub(crate) since: Option<Timestamp>,
    /// Seconds from then until the last of them began or ended.
    pub(crate) lost_seconds: Option<i64>,
    /// The commit of the steps that stay done; `null` if none is recorded.
    pub(crate) base: Option<String>,
    /// A step that stays done and whose result is a commit that is not recorded: its commit and later ones cannot be told apart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unrecorded: Option<StepId>,
}

/// What a rollback discards of one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PhaseImpact {
    pub(crate) phase: String,
    pub(crate) reopened: Vec<StepId>,
    /// How many of them were done.
    pub(crate) done: usize,
    /// The commit that closed the phase.
    pub(crate) commit: Option<String>,
}

/// Returns what reopening these steps discards.
pub(crate) fn impact(run: &Run, records: &[EvidenceRecord], reopened: &[StepId]) -> Impact {
    let reopens: BTreeSet<&StepId> = reopened.iter().collect();
    let steps: Vec<&Step> = run.steps.iter().filter(|step| reopens.contains(&step.id)).collect();
    let records: Vec<&EvidenceRecord> = records.iter().filter(|record| record.run == run.id.as_str()).collect();
    let recorded = records.iter().filter(|record| reopens.contains(&record.step)).map(|record| record.at);
    let moments = steps.iter().flat_map(|step| [step.started_at, step.finished_at]).flatten().chain(recorded);
    let (since, until) = moments.fold((None, None), |(first, last): (Option<Timestamp>, _), moment| {
        (Some(first.map_or(moment, |first| first.min(moment))), last.max(Some(moment)))
    });
    let is_approval = |step: &&&Step| step.kind == StepKind::Gate && step.status == Status::Completed;
    Impact {
        reopened: steps.iter().map(|step| step.id.clone()).collect(),
        phases: phases(run).iter().filter_map(|phase| of_phase(run, &reopens, &phase.name, &phase.steps)).collect(),
        approvals: steps.iter().filter(is_approval).map(|step| step.id.clone()).collect(),
        since,
        lost_seconds: since.zip(until).map(|(since, until)| until.seconds_since(since)),
        base: base(run, &records, &reopens),
        unrecorded: unrecorded(run, &records, &reopens),
    }
}

fn of_phase(run: &Run, reopens: &BTreeSet<&StepId>, name: &str, steps: &[usize]) -> Option<PhaseImpact> {
    let steps = steps.iter().map(|at| &run.steps[*at]).filter(|step| reopens.contains(&step.id));
    let steps: Vec<&Step> = steps.collect();
    (!steps.is_empty()).then(|| PhaseImpact {
        phase: name.to_owned(),
        reopened: steps.iter().map(|step| step.id.clone()).collect(),
        done: steps.iter().filter(|step| step.status == Status::Completed).count(),
        commit: steps.iter().rev().find_map(|step| step.commit.clone()),
    })
}

/// Returns the newest commit known to contain the work of the steps that stay, and nothing of the others: the one recorded in the
/// state, else HEAD when the last of them was finished.
fn base(run: &Run, records: &[&EvidenceRecord], reopens: &BTreeSet<&StepId>) -> Option<String> {
    let first_lost = records.iter().position(|record| reopens.contains(&record.step)).unwrap_or(records.len());
    let seen = records[..first_lost].iter().rev().find_map(|record| Some((record.at, record.head.clone()?)));
    let first_open = run.steps.iter().position(|step| reopens.contains(&step.id)).unwrap_or(run.steps.len());
    let kept = run.steps[..first_open].iter().rev();
    let mut kept = kept.filter_map(|step| Some((step.finished_at, step.commit.clone()?)));
    match (kept.next(), seen) {
        (Some((closed_at, _)), Some((seen_at, head))) if closed_at.is_some_and(|closed_at| closed_at < seen_at) => {
            Some(head)
        }
        (Some((_, commit)), _) => Some(commit),
        (None, seen) => seen.map(|(_, head)| head),
    }
}

/// Returns the step that stays done and whose own commit may be among the later ones: it has no recorded commit, and HEAD was not seen
/// to move between its end and the first step that opens again.
fn unrecorded(run: &Run, records: &[&EvidenceRecord], reopens: &BTreeSet<&StepId>) -> Option<StepId> {
    let first_open = run.steps.iter().position(|step| reopens.contains(&step.id))?;
    let mut kept = run.steps[..first_open].iter().rev();
    let closing = kept.find(|step| step.proof.is_commit && step.status == Status::Completed)?;
    if closing.commit.is_some() {
        return None;
    }
    let first_lost = records.iter().position(|record| reopens.contains(&record.step)).unwrap_or(records.len());
    let last = records[..first_lost].iter().rev().find_map(|record| record.head.as_ref());
    let ended = records.iter().rev().find(|record| record.step == closing.id).and_then(|record| record.head.as_ref());
    (last.is_none() || ended.is_none() || last == ended).then(|| closing.id.clone())
}

/// Returns the steps that a rollback to a commit reopens. `history` has the full names of the commit and its ancestors.
///
/// A step stays done if its commit is in `history`, or if a step that depends on it stays. If no commits are recorded, a step stays
/// if HEAD was in `history` when it was finished.
pub(crate) fn reopened_at_commit(
    run: &Run,
    effective_statuses: &[EffectiveStatus],
    records: &[EvidenceRecord],
    history: &BTreeSet<String>,
) -> Vec<StepId> {
    let graph = Graph::of(run);
    let is_there = |sha: &String| {
        let sha = sha.to_ascii_lowercase();
        history.range(sha.clone()..).next().is_some_and(|full| full.starts_with(&sha))
    };
    let positions = || (0..run.steps.len()).filter(|at| has_progress(run, effective_statuses, *at));
    let by_commit: Vec<usize> = positions().filter(|at| run.steps[*at].commit.as_ref().is_some_and(is_there)).collect();
    let mut kept: BTreeSet<usize> = BTreeSet::new();
    if positions().any(|at| run.steps[at].commit.is_some()) {
        let until = by_commit.iter().filter_map(|at| run.steps[*at].finished_at).max();
        kept.extend(positions().filter(|at| {
            let step = &run.steps[*at];
            step.commit.is_none() && until.is_some() && step.finished_at.is_some() && step.finished_at <= until
        }));
        kept.extend(by_commit);
    } else {
        let last = |at: usize| records.iter().rev().find(|record| record.step == run.steps[at].id);
        kept.extend(positions().filter(|at| last(*at).and_then(|record| record.head.as_ref()).is_some_and(is_there)));
    }
    let needed: Vec<usize> = kept.iter().flat_map(|at| graph.all_dependencies(*at)).collect();
    kept.extend(needed);
    positions().filter(|at| !kept.contains(at)).map(|at| run.steps[at].id.clone()).collect()
}
