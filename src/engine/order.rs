//! Rules 3 to 7 again and again: the order in which the steps of a run come next, if each one ends well.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    choose::{Choice, Chooser, Chosen},
    reconciled::{EffectiveStatus, ReconciledRun},
};
use crate::model::{Action, StepId, StepKind};

/// A step that comes next once those before it have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StepDue {
    /// Position in `run.steps`.
    pub(crate) at: usize,
    pub(crate) action: Action,
    /// Whether it was done before, or may have been: a person, or a change before it, has it done again.
    pub(crate) is_repeated: bool,
}

/// Returns the order. What the planner chooses counts as done for the steps behind it. What was done on top of a step that is due is done
/// again, and so is work that a review sent back with all that builds on it.
pub(super) fn in_order(chooser: Chooser<'_>) -> Vec<StepDue> {
    let Chooser { reconciled, options } = chooser;
    let mut statuses = reconciled.effective_statuses.to_vec();
    let reviews = chooser.unresolved_reviews();
    let returns = if options.from.is_empty() { chooser.returned() } else { BTreeMap::new() };
    let mut again: BTreeSet<usize> = returns.values().flatten().copied().collect();
    again.extend(returns.keys().flat_map(|target| reconciled.graph.all_dependents(*target)));
    again.retain(|at| !matches!(statuses[*at], EffectiveStatus::Skipped | EffectiveStatus::Cancelled));
    // Whether what builds on a step is open once that step began.
    let mut reopens = vec![false; statuses.len()];
    let mut due = Vec::new();
    for &at in reconciled.graph.order() {
        reopens[at] = reconciled.graph.depends_on(at).iter().any(|on| reopens[*on]);
        let is_reopened = reopens[at]
            && options.from.is_empty()
            && statuses[at] == EffectiveStatus::Done
            && reconciled.run.steps[at].recorded;
        let chooser = Chooser { reconciled: ReconciledRun { effective_statuses: &statuses, ..reconciled }, options };
        let id = &reconciled.run.steps[at].id;
        let choice = if let Some(causes) = returns.get(&at) {
            Some(chooser.return_to(at, causes))
        } else if is_reopened || again.contains(&at) {
            Some(Choice::new(at, action_of(&reconciled, at), "4.return", String::new()))
        } else if options.from.is_empty() {
            chooser.choice(at, &reviews)
        } else if options.from.contains(id) {
            let mut chosen = Chosen::default();
            chooser.choose_named("--from", "7.from", at, &mut chosen);
            chosen.choices.pop().or_else(|| asked_again(&reconciled, at, &due))
        } else {
            None
        };
        let status = statuses[at];
        if let Some(mut choice) = choice {
            if choice.is_work() && must_ask(&reconciled, at, status) {
                choice.action = Action::Verify;
            }
            let is_repeated = status.is_over() || matches!(status, EffectiveStatus::Invalid | EffectiveStatus::Verify);
            due.push(StepDue { at, action: choice.action, is_repeated });
            reopens[at] |= choice.action != Action::Verify;
            statuses[at] = EffectiveStatus::Done;
        }
    }
    due
}

/// Tells whether a person is asked before a step is done again: it must not run twice, and it took effect, or may have.
fn must_ask(reconciled: &ReconciledRun<'_>, at: usize, status: EffectiveStatus) -> bool {
    status.may_have_acted() && !reconciled.run.steps[at].idempotent && reconciled.compared.decisions.redo(at).is_none()
}

/// Returns how a step is done again that builds on work that a review sent back.
fn action_of(reconciled: &ReconciledRun<'_>, at: usize) -> Action {
    match reconciled.run.steps[at].kind {
        StepKind::Gate => Action::Approve,
        StepKind::Work | StepKind::Review | StepKind::Container => Action::Retry,
    }
}

/// Returns the choice of a gate that was answered, if work that it stands behind is repeated.
fn asked_again(reconciled: &ReconciledRun<'_>, at: usize, due: &[StepDue]) -> Option<Choice> {
    let steps = &reconciled.run.steps;
    let is_due = |need: &StepId| due.iter().any(|due| steps[due.at].id == *need);
    let is_behind = steps[at].kind == StepKind::Gate && steps[at].depends_on.iter().any(is_due);
    is_behind.then(|| Choice::new(at, Action::Approve, "7.from", "work before it is repeated".to_owned()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{
        engine::{
            Admitted, ChangeLimits, LiveRun,
            property_tests::orderly,
            testing::{at, line_of, options, path, planned},
        },
        model::{Action, Change, ChangeKind, Evidence, Proof, Run, Status, StepId, StepKind},
    };

    /// Steps of work in a chain, as those of a workflow file. One behind an open step is done where the step was added later.
    fn chains() -> impl Strategy<Value = Run> {
        orderly().prop_map(|mut run| {
            let mut before: Option<StepId> = None;
            for step in &mut run.steps {
                (step.kind, step.review, step.returns_to, step.proof) = (StepKind::Work, None, None, Proof::default());
                step.children.clear();
                step.depends_on = before.replace(step.id.clone()).into_iter().collect();
                if matches!(step.status, Status::Cancelled | Status::WaitingApproval | Status::Blocked) {
                    step.status = Status::Pending;
                }
                if step.status == Status::Completed && step.failures == 3 {
                    step.done_definition = Some("edited since".to_owned());
                }
            }
            run
        })
    }

    #[test]
    fn the_order_says_which_steps_are_done_again() {
        let mut run = line_of(&[("A", Status::Completed), ("B", Status::Failed), ("C", Status::Pending)]);
        run.steps[0].proof.outputs = vec![path("gone")];
        let order = LiveRun::new(run, Evidence::default()).order(&options());
        let order: Vec<(usize, bool)> = order.iter().map(|due| (due.at, due.is_repeated)).collect();
        assert_eq!(order, [(0, true), (1, false), (2, false)]);
    }

    proptest! {
        /// The order is what a caller gets that asks the planner again after each step.
        #[test]
        fn the_order_is_the_plan_asked_again_and_again(run in chains()) {
            let order = LiveRun::new(run.clone(), Evidence::default()).order(&options());
            let mut live = LiveRun::new(run, Evidence::default());
            let mut seen = Vec::new();
            while seen.len() <= order.len() {
                let planned = planned(live.run(), &Evidence::default(), &options());
                let Some(next) = planned.plan.next.first() else { break };
                let place = live.run().steps.iter().position(|step| step.id == next.step).unwrap();
                seen.push((place, next.action));
                let mut reopened = Vec::new();
                if next.action != Action::Verify {
                    let kind = ChangeKind::Begin { step: next.step.clone(), part: None, agent: None, attempt: 0, reopens: Vec::new() };
                    let admitted = live.admit(Change { at: at(0), kind }, ChangeLimits::of(u32::MAX)).unwrap();
                    if let Admitted::Change { change: Change { kind: ChangeKind::Begin { reopens, .. }, .. }, .. } = admitted {
                        reopened = reopens;
                    }
                }
                live.update(place, |step| (step.status, step.done_definition) = (Status::Completed, None));
                for id in reopened {
                    let place = live.run().steps.iter().position(|step| step.id == id).unwrap();
                    live.update(place, |step| step.status = Status::Pending);
                }
            }
            let places: Vec<usize> = order.iter().map(|due| due.at).collect();
            prop_assert_eq!(seen.iter().map(|(place, _)| *place).collect::<Vec<_>>(), places);
            let first = order.first().map(|due| (due.at, due.action));
            prop_assert_eq!(seen.first().copied(), first);
        }
    }
}
