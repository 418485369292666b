//! What planner and transitions both ask of a run: who may start, what lies behind a gate, where a failure goes back to. They
//! agree reasons_for they ask here.

use super::graph::Graph;
use super::reconcile::EffectiveStatus;
use super::reconcile::Reconciled;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepId;
use crate::model::StepKind;

/// Is a run with its graph and the effective_status of every step.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReconciledRun<'a> {
    pub(super) run: &'a Run,
    pub(super) graph: &'a Graph<'a>,
    pub(super) effective_statuses: &'a [EffectiveStatus],
    /// What the effective_statuses go by reasons the state's own word, by position.
    pub(super) reasons: &'a [Vec<String>],
}

/// Says why a person has to decide before a step is tried again (rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Rejected,
    Failed { times: u32 },
}

impl<'a> ReconciledRun<'a> {
    pub(super) fn of(run: &'a Run, graph: &'a Graph<'a>, reconciled: &'a Reconciled) -> Self {
        Self { run, graph, effective_statuses: &reconciled.effective_statuses, reasons: &reconciled.reasons }
    }
}

impl ReconciledRun<'_> {
    pub(super) fn effective_status(&self, at: usize) -> EffectiveStatus {
        self.effective_statuses.get(at).copied().unwrap_or(EffectiveStatus::Open)
    }

    /// Returns what the effective_status of a step goes by: short statements for people.
    pub(super) fn reasons_for(&self, at: usize) -> Vec<String> {
        let is_understood = self.effective_status(at) != EffectiveStatus::Unreadable;
        let said = is_understood.then(|| format!("the state says {}", self.run.steps[at].status));
        said.into_iter().chain(self.reasons.get(at).into_iter().flatten().cloned()).collect()
    }

    /// Returns the first dependency that keeps a step from starting.
    pub(super) fn blocker(&self, at: usize) -> Option<usize> {
        self.graph.depends_on(at).iter().copied().find(|on| self.waits_for(at, *on))
    }

    /// Tells whether a step waits for one that it depends on. One that was begun does not wait for what was cancelled since:
    /// nothing will come of that.
    fn waits_for(&self, at: usize, on: usize) -> bool {
        let was_begun = matches!(self.effective_status(at), EffectiveStatus::Failed | EffectiveStatus::Interrupted);
        let is_met = self.effective_status(on).satisfies()
            || (was_begun && self.effective_status(on) == EffectiveStatus::Cancelled);
        !is_met
    }

    pub(super) fn is_ready(&self, at: usize) -> bool {
        self.run.steps[at].dangling.is_empty() && self.blocker(at).is_none()
    }

    /// Returns everything that a step depends on and that is not done, with what does not exist.
    pub(super) fn unmet(&self, at: usize) -> Vec<StepId> {
        let open = self.graph.depends_on(at).iter().filter(|on| self.waits_for(at, **on));
        let mut unmet: Vec<StepId> = open.map(|on| self.run.steps[*on].id.clone()).collect();
        unmet.extend(self.run.steps[at].dangling.iter().map(StepId::new));
        unmet
    }

    /// Tells whether nobody may step over this: a gate or a review that is not done.
    pub(super) fn is_pending_gate(&self, at: usize) -> bool {
        matches!(self.run.steps[at].kind, StepKind::Gate | StepKind::Review) && !self.effective_status(at).satisfies()
    }

    /// Returns the first gate or review that the step lies behind and that is not done.
    pub(super) fn gate_before(&self, at: usize) -> Option<usize> {
        self.graph.all_dependencies(at).into_iter().find(|on| self.is_pending_gate(*on))
    }

    /// Tells whether the step has passed its gates before: it was begun.
    pub(super) fn passed_its_gates(&self, at: usize) -> bool {
        self.run.steps[at].status == Status::InProgress
            || match self.effective_status(at) {
                EffectiveStatus::Done
                | EffectiveStatus::Interrupted
                | EffectiveStatus::Waiting
                | EffectiveStatus::Conditions => true,
                EffectiveStatus::Skipped
                | EffectiveStatus::Cancelled
                | EffectiveStatus::Open
                | EffectiveStatus::Failed
                | EffectiveStatus::Verify
                | EffectiveStatus::Invalid
                | EffectiveStatus::Blocked
                | EffectiveStatus::Unreadable
                | EffectiveStatus::OpenContainer => false,
            }
    }

    /// Returns where a failed step goes back to; `None` when it is to be tried again in its place.
    pub(super) fn returns_to(&self, at: usize) -> Option<usize> {
        self.target(at).filter(|target| !self.was_finished_since(*target, at))
    }

    /// Tells whether the work that a failed step sent back was finished since: it is looked at again.
    pub(super) fn was_reworked(&self, at: usize) -> bool {
        self.target(at).is_some_and(|target| self.was_finished_since(target, at))
    }

    /// Returns the failed steps that send the run back to this one: by themselves, else by the choice of a caller when it is
    /// done and lies before them (`--to-step`).
    pub(super) fn sent_back(&self, at: usize) -> Vec<usize> {
        let all = 0..self.run.steps.len();
        let direct: Vec<usize> = all.filter(|failed| self.returns_to(*failed) == Some(at)).collect();
        if !direct.is_empty() || self.effective_status(at) != EffectiveStatus::Done {
            return direct;
        }
        let behind = self.graph.all_dependents(at).into_iter();
        behind.filter(|failed| self.returns_to(*failed).is_some()).collect()
    }

    /// Returns the steps whose limits bound an attempt at this one: those that send the run back to it, or itself.
    pub(super) fn limited_by(&self, at: usize) -> Vec<usize> {
        match self.effective_status(at) {
            EffectiveStatus::Done | EffectiveStatus::Open | EffectiveStatus::Blocked => self.sent_back(at),
            // Once the work was taken up again, somebody has decided about the reviews of it.
            EffectiveStatus::Failed | EffectiveStatus::Interrupted => vec![at],
            EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Waiting
            | EffectiveStatus::Conditions
            | EffectiveStatus::Verify
            | EffectiveStatus::Invalid
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => Vec::new(),
        }
    }

    /// Tells whether a person has to decide before the step is tried again.
    pub(super) fn limit(&self, at: usize, attempts: u32) -> Option<Limit> {
        if self.was_reworked(at) {
            // Somebody let the rework through.
            return None;
        }
        let step = &self.run.steps[at];
        let rejected = step.review.as_ref().is_some_and(|review| review.verdict == ReviewVerdict::Rejected);
        if rejected && self.effective_status(at) == EffectiveStatus::Failed {
            Some(Limit::Rejected)
        } else {
            (step.failures >= attempts).then_some(Limit::Failed { times: step.failures })
        }
    }

    /// Tells whether the work of a step can be taken up again.
    pub(super) fn can_be_redone(&self, at: usize) -> bool {
        matches!(self.run.steps[at].kind, StepKind::Work | StepKind::Review)
            && match self.effective_status(at) {
                EffectiveStatus::Done
                | EffectiveStatus::Open
                | EffectiveStatus::Interrupted
                | EffectiveStatus::Failed
                | EffectiveStatus::Waiting
                | EffectiveStatus::Conditions
                | EffectiveStatus::Verify
                | EffectiveStatus::Invalid
                | EffectiveStatus::Blocked => true,
                EffectiveStatus::Skipped
                | EffectiveStatus::Cancelled
                | EffectiveStatus::Unreadable
                | EffectiveStatus::OpenContainer => false,
            }
    }

    fn target(&self, at: usize) -> Option<usize> {
        let target = self.run.steps[at].returns_to.as_ref().and_then(|id| self.graph.position(id))?;
        (target != at && self.effective_status(at) == EffectiveStatus::Failed && self.can_be_redone(target))
            .then_some(target)
    }

    fn was_finished_since(&self, target: usize, failed: usize) -> bool {
        let (target, failed) = ((target, &self.run.steps[target]), &self.run.steps[failed]);
        self.effective_status(target.0) == EffectiveStatus::Done
            && failed.finished_at.is_some_and(|failed| target.1.finished_at > Some(failed))
    }
}
