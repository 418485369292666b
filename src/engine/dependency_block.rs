//! Rule 6, where work is left and none of it can start: what it waits for, and what would free it.

use std::collections::BTreeSet;

use super::{
    choose::{Chooser, NAMED_IDS, chain_of, list},
    command,
    reconciled::EffectiveStatus,
};
use crate::model::{Finding, FindingCode, StepId, StepKind, Suggested, Verb};

impl Chooser<'_> {
    /// Rule 6: work is left, but none of it can start. Names the chain from the first waiting step down to the root.
    pub(super) fn dependency_block(&self) -> Option<Finding> {
        let open = || {
            self.reconciled.graph.order().iter().copied().filter(|at| !self.reconciled.effective_status(*at).is_over())
        };
        let first = open().find(|at| self.reconciled.blocker(*at).is_some()).or_else(|| open().next())?;
        let (chain, in_circle) = self.chain_below(first);
        let root = chain[chain.len() - 1];
        let step = &self.reconciled.run.steps[root];
        let path = if chain.len() > 1 { format!(", {}", self.waits_for(&chain)) } else { String::new() };
        let (left, cause) = (open().count(), self.cause(root, in_circle));
        let freed = self.freed_by_few();
        let message = format!("nothing can start: {left} open{path}; {} {cause}{freed}", step.id);
        let fix = match self.reconciled.effective_status(root) {
            EffectiveStatus::Unreadable => self.reconciled.replace_word(root).unwrap_or_else(|| {
                format!("correct it; `{}` says where", Suggested::of(Verb::Validate, &self.reconciled.run.id))
            }),
            EffectiveStatus::Done
            | EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Open
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Failed
            | EffectiveStatus::Waiting
            | EffectiveStatus::Conditions
            | EffectiveStatus::Verify
            | EffectiveStatus::Invalid
            | EffectiveStatus::Blocked
            | EffectiveStatus::OpenContainer => {
                let run = self.reconciled.run;
                let resolve = match self.reconciled.hold(root) {
                    Some(_) => command::override_hold(&step.id, &run.id),
                    None => format!("resolve {}", step.id),
                };
                match self.reconciled.skip_refusal(root) {
                    None => {
                        let skip = command::decide("skip", &step.id, &run.id);
                        format!("{resolve}, or `{skip}`")
                    }
                    Some(_) => resolve,
                }
            }
        };
        let finding = Finding::new(FindingCode::DependencyBlock, message).on(&step.id).fix(fix);
        Some(match &step.file {
            Some(file) => finding.at(file),
            None => finding,
        })
    }

    /// Says which steps have to end, at the least, so that all others can start. Empty if that is the one step at
    /// the end of every chain.
    fn freed_by_few(&self) -> String {
        let run = self.reconciled.run;
        let is_work = |at: &usize| run.steps[*at].kind != StepKind::Container;
        let mut closed: BTreeSet<usize> = BTreeSet::new();
        let mut few: Vec<usize> = Vec::new();
        let order = self.reconciled.graph.order().iter().copied();
        let mut open: Vec<usize> = order.filter(|at| !self.reconciled.effective_status(*at).is_over()).collect();
        let work: Vec<usize> = open.iter().copied().filter(is_work).collect();
        while !open.is_empty() {
            let before = open.len();
            open.retain(|at| {
                if self.reconciled.blockers(*at).any(|on| !closed.contains(&on)) {
                    return true;
                }
                // Nothing else holds it, so it is held by itself.
                if self.reconciled.blocker(*at).is_none() || !self.is_free_but_for_others(*at) {
                    few.push(*at);
                }
                closed.insert(*at);
                false
            });
            if open.len() == before {
                // What is left is on or behind a cycle, and one step of that has to end first.
                let cut = self.on_cycle(open[0], &closed);
                few.push(cut);
                closed.insert(cut);
                open.retain(|at| *at != cut);
            }
            if few.len() > NAMED_IDS {
                return String::new();
            }
        }
        few.retain(is_work);
        let rest = work.iter().filter(|at| !few.contains(at)).count();
        if rest == 0 || few.len() < 2 {
            return String::new();
        }
        let ids: Vec<StepId> = few.iter().map(|at| run.steps[*at].id.clone()).collect();
        let others = if rest == 1 { "the other one".to_owned() } else { format!("the other {rest}") };
        format!(". Once {} are done or skipped, {others} can go on", list(&ids))
    }

    /// Tells whether only other steps hold a step back.
    fn is_free_but_for_others(&self, at: usize) -> bool {
        self.reconciled.run.steps[at].dangling.is_empty()
            && self.reconciled.hold(at).is_none()
            && self.reconciled.effective_status(at) != EffectiveStatus::Unreadable
    }

    /// Follows the dependencies that are not closed from a step to one that is on a cycle.
    fn on_cycle(&self, from: usize, closed: &BTreeSet<usize>) -> usize {
        let (mut at, mut seen) = (from, BTreeSet::new());
        while seen.insert(at) {
            let Some(next) = self.reconciled.blockers(at).find(|on| !closed.contains(on)) else { return at };
            at = next;
        }
        at
    }

    /// Follows the first unmet dependency of each step down to the root, starting with the step itself; tells whether the chain is a
    /// cycle.
    fn chain_below(&self, at: usize) -> (Vec<usize>, bool) {
        let mut chain = vec![at];
        let mut seen = BTreeSet::from([at]);
        while let Some(next) = self.reconciled.blocker(chain[chain.len() - 1]) {
            chain.push(next);
            if !seen.insert(next) {
                return (chain, true);
            }
        }
        (chain, false)
    }

    /// Describes what a step waits for, down to the root.
    pub(super) fn still_waits(&self, at: usize, unmet: &[StepId]) -> String {
        let (chain, _) = self.chain_below(at);
        let tail = if chain.len() > 2 { format!(" ({})", self.waits_for(&chain)) } else { String::new() };
        format!("{} still waits for {}{tail}", self.reconciled.run.steps[at].id, list(unmet))
    }

    fn waits_for(&self, chain: &[usize]) -> String {
        let ids: Vec<&str> = chain.iter().map(|at| self.reconciled.run.steps[*at].id.as_str()).collect();
        chain_of(&ids, " waits for ")
    }

    fn cause(&self, root: usize, in_circle: bool) -> String {
        let step = &self.reconciled.run.steps[root];
        if in_circle {
            "is part of a cycle".to_owned()
        } else if self.reconciled.effective_status(root) == EffectiveStatus::Unreadable {
            "cannot be understood".to_owned()
        } else if self.reconciled.effective_status(root) == EffectiveStatus::Cancelled {
            // Another program may put a step off and take it up again.
            if step.guest.is_some() { "is put off" } else { "was cancelled" }.to_owned()
        } else if step.dangling.is_empty() {
            self.reconciled.hold(root).map_or_else(|| "is blocked".to_owned(), |reason| format!("is blocked: {reason}"))
        } else {
            format!("waits for {}, which does not exist", step.dangling.join(", "))
        }
    }
}
