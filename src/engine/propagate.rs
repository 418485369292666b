//! Rule 3, second half: what one step's standing means for the steps above and behind it.

use super::graph::Graph;
use super::settle::Settled;
use super::settle::Standing;
use super::settle::count;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepKind;

/// Gives every container the standing of its children, and opens again what was built on a step that is not believed any more
/// (invariant 14).
pub(super) fn propagate(run: &Run, graph: &Graph<'_>, settled: &mut Settled) {
    let reopened = settled.standings.iter().map(|standing| *standing == Standing::Invalid).collect();
    let mut wave = Wave { run, graph, settled, reopened };
    let mut is_open = vec![true; graph.order().len()];
    let mut next = 0;
    while let Some(rank) = (next..is_open.len()).find(|rank| is_open[*rank]) {
        let at = graph.order()[rank];
        is_open[rank] = false;
        next = rank + 1;
        if wave.reaches(at) {
            for dependent in graph.dependents(at).iter().map(|dependent| graph.rank(*dependent)) {
                is_open[dependent] = true;
                // In a circle what is behind may come first; it is looked at once more.
                next = next.min(dependent);
            }
        }
    }
    wave.tell_containers();
    wave.drop_stale_belief();
}

struct Wave<'a> {
    run: &'a Run,
    graph: &'a Graph<'a>,
    settled: &'a mut Settled,
    /// What stands on it has to be done again, by position.
    reopened: Vec<bool>,
}

impl Wave<'_> {
    /// Settles one step by those it depends on; tells whether that opened it again.
    fn reaches(&mut self, at: usize) -> bool {
        let was_open = self.reopened[at];
        let cause = self.graph.depends_on(at).iter().copied().find(|on| self.reopened[*on]);
        let step = &self.run.steps[at];
        if step.kind == StepKind::Container && self.settled.standings[at] != Standing::Held {
            self.settled.standings[at] = self.container(at);
            self.reopened[at] |= cause.is_some();
        } else if let Some(on) = cause
            && self.settled.standings[at] == Standing::Done
        {
            self.reopen(at, on);
        }
        self.reopened[at] && !was_open
    }

    fn reopen(&mut self, at: usize, on: usize) {
        let step = &self.run.steps[at];
        let (id, on) = (&step.id, &self.run.steps[on].id);
        self.reopened[at] = true;
        self.settled.beside[at].push(format!("{on}, which it depends on, is open again"));
        let message = format!("{id} was done on top of {on}, which is open again");
        let finding = Finding::new(FindingCode::StaleDependent, message).on(id);
        // What must not run twice is looked at, not planned again.
        let (standing, fix) = match step.idempotent {
            true => (Standing::Invalid, format!("it is planned again after {on}")),
            false => (
                Standing::Verify,
                format!("it must not run twice: find out whether what it did still holds after {on}"),
            ),
        };
        self.settled.standings[at] = standing;
        self.settled.findings.push(finding.fix(fix));
    }

    /// A container is over when its children are, and as they are; one whose children are unknown is looked at.
    fn container(&self, at: usize) -> Standing {
        let children = self.children(at);
        if children.iter().any(|child| !child.is_over()) {
            return Standing::OpenContainer;
        }
        let step = &self.run.steps[at];
        if children.is_empty() || !step.dangling.is_empty() {
            return match step.status {
                Status::Completed => Standing::Done,
                Status::Skipped => Standing::Skipped,
                Status::Cancelled => Standing::Cancelled,
                // What is missing may still come; only one without any children is a matter of looking.
                Status::Pending | Status::InProgress | Status::Failed | Status::WaitingApproval | Status::Blocked
                    if !children.is_empty() =>
                {
                    Standing::OpenContainer
                }
                Status::Pending | Status::InProgress | Status::Failed | Status::WaitingApproval | Status::Blocked => {
                    Standing::Verify
                }
            };
        }
        if children.contains(&Standing::Cancelled) {
            Standing::Cancelled
        } else if children.iter().all(|child| *child == Standing::Skipped) {
            Standing::Skipped
        } else {
            Standing::Done
        }
    }

    fn children(&self, at: usize) -> Vec<Standing> {
        let children = self.run.steps[at].children.iter().filter_map(|id| self.graph.position(id));
        children.map(|child| self.settled.standings[child]).collect()
    }

    fn tell_containers(&mut self) {
        for (at, step) in self.run.steps.iter().enumerate() {
            if step.kind == StepKind::Container && self.settled.standings[at] != Standing::Held {
                let children = self.children(at);
                let done = children.iter().filter(|child| child.is_over()).count();
                self.settled.beside[at].push(format!("{done} of {} are done", count(children.len(), "child step")));
            }
        }
    }

    /// Takes back "the evidence says done" where the step was opened again: nobody may record it as done for that.
    fn drop_stale_belief(&mut self) {
        let (graph, reopened) = (self.graph, &self.reopened);
        self.settled.findings.retain(|finding| {
            let believes = matches!(finding.code, FindingCode::StatusDrift | FindingCode::CompletedByEvidence);
            let at = finding.step.as_ref().and_then(|id| graph.position(id));
            !(believes && at.is_some_and(|at| reopened[at]))
        });
    }
}
