//! Rule 3, second half: propagates the effective status of steps to their containers and dependents.

use super::{
    graph::Graph,
    reconciled::{EffectiveStatus, Reconciled},
};
use crate::model::{Finding, FindingClass, FindingCode, Run, Status, StepKind, plural};

/// Derives the effective status of every container from its children, and reopens steps that depend on an invalid one
/// (invariant 14).
pub(super) fn propagate(run: &Run, graph: &Graph, reconciled: &mut Reconciled) {
    let is_invalid = |status: &EffectiveStatus| *status == EffectiveStatus::Invalid;
    let reopened: Vec<bool> = reconciled.effective_statuses.iter().map(is_invalid).collect();
    let results_lost = reopened.clone();
    let mut propagation = Propagation { run, graph, reconciled, reopened, results_lost };
    let mut is_open = vec![true; graph.order().len()];
    let mut next = 0;
    while let Some(rank) = (next..is_open.len()).find(|rank| is_open[*rank]) {
        let at = graph.order()[rank];
        is_open[rank] = false;
        next = rank + 1;
        if propagation.update(at) {
            for dependent in graph.dependents(at).iter().map(|dependent| graph.rank(*dependent)) {
                is_open[dependent] = true;
                // In a cycle a dependent may come earlier in the order; visit it again.
                next = next.min(dependent);
            }
        }
    }
    propagation.explain_containers();
    propagation.retract_evidence_findings();
}

/// The state of one propagation.
struct Propagation<'a> {
    run: &'a Run,
    graph: &'a Graph,
    reconciled: &'a mut Reconciled,
    /// Whether dependents of a step have to be redone, by position: it is done again, or stands behind one that is.
    reopened: Vec<bool>,
    /// Whether the result of a step does not count any more, by position.
    results_lost: Vec<bool>,
}

impl Propagation<'_> {
    /// Updates one step from its dependencies; tells whether that reopened it.
    fn update(&mut self, at: usize) -> bool {
        let was_open = self.reopened[at];
        let cause = self.graph.depends_on(at).iter().copied().find(|on| self.reopened[*on]);
        let step = &self.run.steps[at];
        if step.kind == StepKind::Container && self.reconciled.effective_statuses[at] != EffectiveStatus::Unreadable {
            self.reconciled.effective_statuses[at] = self.container_status(at);
            self.results_lost[at] |= cause.is_some();
        } else if let Some(on) = cause
            && self.reconciled.effective_statuses[at] == EffectiveStatus::Done
        {
            self.reopen(at, on);
        } else if self.is_early_verdict(at) {
            self.reconciled.effective_statuses[at] = EffectiveStatus::Interrupted;
        }
        // What a person left out has no result, and what stands behind it was built on the steps before.
        self.reopened[at] |= cause.is_some();
        self.reopened[at] && !was_open
    }

    /// Tells whether only evidence says that a review is done, and the work that it is about is under way.
    fn is_early_verdict(&self, at: usize) -> bool {
        let step = &self.run.steps[at];
        let is_under_way = |on: &usize| {
            matches!(self.reconciled.effective_statuses[*on], EffectiveStatus::Interrupted | EffectiveStatus::Failed)
        };
        step.kind == StepKind::Review
            && step.status == Status::InProgress
            && self.reconciled.effective_statuses[at] == EffectiveStatus::Done
            && self.graph.depends_on(at).iter().any(is_under_way)
    }

    fn reopen(&mut self, at: usize, on: usize) {
        let step = &self.run.steps[at];
        let (id, on) = (&step.id, &self.run.steps[on].id);
        self.results_lost[at] = true;
        self.reconciled.reasons[at].push(format!("{on}, which it depends on, is open again"));
        let message = format!("{id} was done on top of {on}, which is open again");
        let finding = Finding::new(FindingCode::StaleDependent, message).on(id);
        // A step that must not run twice is verified, not planned again.
        let (effective_status, fix) = match step.idempotent {
            true => (EffectiveStatus::Invalid, format!("it is planned again after {on}")),
            false => (
                EffectiveStatus::Verify,
                format!("it must not run twice: find out whether its effect is still valid after {on}"),
            ),
        };
        self.reconciled.effective_statuses[at] = effective_status;
        self.reconciled.findings.push(finding.fix(fix));
    }

    /// Returns the status of a container from its children. Without known children, one that is over keeps its own status, and an
    /// open one has to be verified.
    fn container_status(&self, at: usize) -> EffectiveStatus {
        let children = self.children(at);
        if children.iter().any(|child| !child.is_over()) {
            return EffectiveStatus::OpenContainer;
        }
        let step = &self.run.steps[at];
        if children.is_empty() || !step.dangling.is_empty() {
            return match step.status {
                Status::Completed => EffectiveStatus::Done,
                Status::Skipped => EffectiveStatus::Skipped,
                Status::Cancelled => EffectiveStatus::Cancelled,
                // Missing children may still be added. Without any children, a person has to check.
                Status::Pending | Status::InProgress | Status::Failed | Status::WaitingApproval | Status::Blocked
                    if !children.is_empty() =>
                {
                    EffectiveStatus::OpenContainer
                }
                Status::Pending | Status::InProgress | Status::Failed | Status::WaitingApproval | Status::Blocked => {
                    EffectiveStatus::Verify
                }
            };
        }
        if children.contains(&EffectiveStatus::Cancelled) {
            EffectiveStatus::Cancelled
        } else if children.iter().all(|child| *child == EffectiveStatus::Skipped) {
            EffectiveStatus::Skipped
        } else {
            EffectiveStatus::Done
        }
    }

    fn children(&self, at: usize) -> Vec<EffectiveStatus> {
        let children = self.run.steps[at].children.iter().filter_map(|id| self.graph.position(id));
        children.map(|child| self.reconciled.effective_statuses[child]).collect()
    }

    fn explain_containers(&mut self) {
        for (at, step) in self.run.steps.iter().enumerate() {
            if step.kind == StepKind::Container && self.reconciled.effective_statuses[at] != EffectiveStatus::Unreadable
            {
                let children = self.children(at);
                let done = children.iter().filter(|child| child.is_over()).count();
                self.reconciled.reasons[at]
                    .push(format!("{done} of {} are done", plural(children.len(), "child step")));
            }
        }
    }

    /// Drops findings that the evidence says done for reopened steps, so that they are not recorded as done.
    fn retract_evidence_findings(&mut self) {
        let (graph, results_lost) = (self.graph, &self.results_lost);
        self.reconciled.findings.retain(|finding| {
            let believes = finding.code.is_of(FindingClass::ShownDone);
            let at = finding.step.as_ref().and_then(|id| graph.position(id));
            !(believes && at.is_some_and(|at| results_lost[at]))
        });
    }
}
