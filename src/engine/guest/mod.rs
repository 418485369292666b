//! Rule 3 for runs that are only read: compares the claim of each step with files, commits and the other witnesses, and decides whether it
//! is done, runs, is resumed, or has to be looked at (docs/planning.md#runs-of-other-programs).
//!
//! Evidence alone never completes such a step, because that could not be recorded. Nothing that a witness calls done is run without a look.

mod history;
mod reports;
#[cfg(test)]
mod reports_tests;
mod standing;
#[cfg(test)]
mod standing_tests;
#[cfg(test)]
mod tests;
mod unticked;
#[cfg(test)]
mod unticked_tests;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    choose::Choice,
    graph::Graph,
    reconciled::{EffectiveStatus, Reconciled},
};
use crate::model::{Evidence, Finding, FindingCode, GuestEvidence, LogReach, Run, Step, StepId, first_names, plural};
use history::History;
pub(super) use reports::statements;
use standing::{Comparison, Judgement};
use unticked::Unticked;

/// Number of ids that a finding names.
const NAMED: usize = 5;

/// Adds the effective status of every step of a run that is only read, with reasons and findings. Returns false for all other runs.
/// `unknown` are the steps whose status is not in the vocabulary, `closed` those whose file cannot be read.
pub(super) fn compare(
    run: &Run,
    graph: &Graph,
    evidence: &Evidence,
    unknown: &BTreeSet<&str>,
    closed: &BTreeSet<&str>,
    reconciled: &mut Reconciled,
) -> bool {
    if run.steps.iter().all(|step| step.guest.is_none()) {
        return false;
    }
    let history = History::of(run, &evidence.guest);
    let mut named = Contradictions::default();
    let mut unproved = 0;
    let unticked = Unticked::of(run, history.as_ref(), &evidence.guest);
    for (at, step) in run.steps.iter().enumerate() {
        let comparison = Comparison { run, graph, at, history: history.as_ref(), evidence: &evidence.guest };
        let judged = if closed.contains(step.id.as_str()) {
            Judgement::look("its file cannot be read")
        } else if unknown.contains(step.id.as_str()) {
            Judgement::look("its status is not in the vocabulary")
        } else {
            unticked.judge(at, comparison.judge())
        };
        for (code, kind) in &judged.contradictions {
            named.add(*code, kind, &step.id);
        }
        if judged.status == EffectiveStatus::Done && comparison.is_unproved() {
            unproved += 1;
        }
        if judged.is_built {
            reconciled.built.insert(at);
        }
        reconciled.effective_statuses.push(judged.status);
        reconciled.reasons.push(judged.reasons);
    }
    leave_pieces_alone(run, graph, reconciled);
    reconciled.findings.extend(named.into_findings());
    reconciled.findings.extend(unticked.finding());
    reconciled.findings.extend(unseen(&evidence.guest));
    if unproved > 0 {
        let message = format!("{} done as claimed: nothing here can prove it", plural(unproved, "step"));
        reconciled.findings.push(Finding::new(FindingCode::DoneUnproved, message));
    }
    true
}

/// Names what the run's own system would continue with, where the plan begins with another step. A step stands for its pieces.
pub(super) fn own_choice(run: &Run, choices: &[Choice]) -> Option<Finding> {
    let own = run.own_choice.as_ref()?;
    let steps: BTreeMap<&StepId, &Step> = run.steps.iter().map(|step| (&step.id, step)).collect();
    let parent = |id: &&StepId| steps.get(*id)?.guest.as_ref()?.parent.as_ref();
    let first = choices.first()?;
    let work = choices.iter().find(|choice| choice.is_work());
    // No id is a piece of itself, but a list may say so.
    let is_own = |choice: &Choice| {
        let chain = std::iter::successors(Some(&run.steps[choice.at].id), parent).take(run.steps.len());
        chain.into_iter().any(|id| *id == own.step)
    };
    if first.is_named() || is_own(first) || work.is_some_and(is_own) {
        return None;
    }
    let ours = &run.steps[work.unwrap_or(first).at].id;
    let message = format!("`{}` would choose {}; the plan begins with {ours}", own.command, own.step);
    Some(Finding::new(FindingCode::NextDiffers, message))
}

/// Leaves the open pieces of a step alone that has to be looked at: what the person finds out is about them too.
fn leave_pieces_alone(run: &Run, graph: &Graph, reconciled: &mut Reconciled) {
    for (at, step) in run.steps.iter().enumerate() {
        let parent = step.guest.as_ref().and_then(|proof| graph.position(proof.parent.as_ref()?));
        let Some(parent) = parent.filter(|parent| *parent != at) else { continue };
        // A piece that is left alone has pieces of its own.
        let is_looked_at =
            matches!(reconciled.effective_statuses[parent], EffectiveStatus::Verify | EffectiveStatus::Unreadable);
        if is_looked_at && !reconciled.effective_statuses[at].is_over() {
            reconciled.effective_statuses[at] = EffectiveStatus::Unreadable;
        }
    }
}

/// Contradictions by kind, each with the steps that have it.
#[derive(Default)]
struct Contradictions(BTreeMap<(FindingCode, String), Vec<StepId>>);

impl Contradictions {
    fn add(&mut self, code: FindingCode, kind: &str, step: &StepId) {
        self.0.entry((code, kind.to_owned())).or_default().push(step.clone());
    }

    /// Returns one finding for each kind.
    fn into_findings(self) -> impl Iterator<Item = Finding> {
        self.0.into_iter().map(|((code, kind), steps)| {
            let steps: Vec<&str> = steps.iter().map(StepId::as_str).collect();
            Finding::new(code, format!("{kind}: {}", first_names(&steps, NAMED)))
        })
    }
}

/// Returns what could not be looked at.
fn unseen(evidence: &GuestEvidence) -> Option<Finding> {
    if !evidence.was_asked {
        return None;
    }
    let message = match evidence.log.as_deref().map(|log| log.reach) {
        None => "git does not answer for this project: only files were compared, and they prove less than commits",
        Some(LogReach::Shallow) => "the clone is shallow: older commits were not compared",
        Some(LogReach::Whole | LogReach::CutOff) => return None,
    };
    Some(Finding::new(FindingCode::HistoryUnseen, message))
}
