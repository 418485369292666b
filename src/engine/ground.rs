//! What planner and transitions both ask of a run: who may start, what lies behind a gate, where a failure goes back to. They
//! agree because they ask here.

use super::graph::Graph;
use super::settle::Standing;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::StepId;
use crate::model::StepKind;

/// Is a run with its graph and the standing of every step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    pub(super) run: &'a Run,
    pub(super) graph: &'a Graph<'a>,
    pub(super) standings: &'a [Standing],
}

/// Says why a person has to decide before a step is tried again (rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Rejected,
    Failed { times: u32 },
}

impl Ground<'_> {
    pub(super) fn standing(&self, at: usize) -> Standing {
        self.standings.get(at).copied().unwrap_or(Standing::Open)
    }

    /// Returns the first dependency that keeps a step from starting.
    pub(super) fn blocker(&self, at: usize) -> Option<usize> {
        self.graph.depends_on(at).iter().copied().find(|on| !self.standing(*on).satisfies())
    }

    pub(super) fn is_ready(&self, at: usize) -> bool {
        self.run.steps[at].dangling.is_empty() && self.blocker(at).is_none()
    }

    /// Returns everything that a step depends on and that is not done, with what does not exist.
    pub(super) fn unmet(&self, at: usize) -> Vec<StepId> {
        let open = self.graph.depends_on(at).iter().filter(|on| !self.standing(**on).satisfies());
        let mut unmet: Vec<StepId> = open.map(|on| self.run.steps[*on].id.clone()).collect();
        unmet.extend(self.run.steps[at].dangling.iter().map(StepId::new));
        unmet
    }

    /// Tells whether nobody may step over this: a gate or a review that is not done.
    pub(super) fn is_shut(&self, at: usize) -> bool {
        matches!(self.run.steps[at].kind, StepKind::Gate | StepKind::Review) && !self.standing(at).satisfies()
    }

    /// Returns the first gate or review that the step lies behind and that is not done.
    pub(super) fn gate_before(&self, at: usize) -> Option<usize> {
        self.graph.needed_by(at).into_iter().find(|on| self.is_shut(*on))
    }

    /// Returns where a failed step goes back to; `None` when it is to be tried again in its place.
    pub(super) fn returns_to(&self, at: usize) -> Option<usize> {
        self.target(at).filter(|target| !self.was_finished_since(*target, at))
    }

    /// Tells whether the work that a failed step sent back was finished since: it is looked at again.
    pub(super) fn was_reworked(&self, at: usize) -> bool {
        self.target(at).is_some_and(|target| self.was_finished_since(target, at))
    }

    /// Tells whether a person has to decide before the step is tried again.
    pub(super) fn limit(&self, at: usize, attempts: u32) -> Option<Limit> {
        if self.was_reworked(at) {
            // Somebody let the rework through.
            return None;
        }
        let step = &self.run.steps[at];
        let rejected = step.review.as_ref().is_some_and(|review| review.verdict == ReviewVerdict::Rejected);
        if rejected && self.standing(at) == Standing::Failed {
            Some(Limit::Rejected)
        } else {
            (step.failures >= attempts).then_some(Limit::Failed { times: step.failures })
        }
    }

    /// Tells whether the work of a step can be taken up again.
    pub(super) fn can_be_redone(&self, at: usize) -> bool {
        matches!(self.run.steps[at].kind, StepKind::Work | StepKind::Review)
            && match self.standing(at) {
                Standing::Done
                | Standing::Open
                | Standing::Interrupted
                | Standing::Failed
                | Standing::Waiting
                | Standing::Conditions
                | Standing::Verify
                | Standing::Invalid
                | Standing::Blocked => true,
                Standing::Skipped | Standing::Cancelled | Standing::Held | Standing::OpenContainer => false,
            }
    }

    fn target(&self, at: usize) -> Option<usize> {
        let target = self.run.steps[at].returns_to.as_ref().and_then(|id| self.graph.position(id))?;
        (target != at && self.standing(at) == Standing::Failed && self.can_be_redone(target)).then_some(target)
    }

    fn was_finished_since(&self, target: usize, failed: usize) -> bool {
        let (target, failed) = ((target, &self.run.steps[target]), &self.run.steps[failed]);
        self.standing(target.0) == Standing::Done
            && failed.finished_at.is_some_and(|failed| target.1.finished_at > Some(failed))
    }
}
