//! The dependencies between steps.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, BinaryHeap},
};

use crate::model::{Run, StepId};

/// Bits of a word.
const WORD: usize = u64::BITS as usize;

/// The dependency graph of a run, by positions in `run.steps`.
#[derive(Debug)]
pub(crate) struct Graph {
    /// By id. If an id is used twice, the first step counts.
    positions: BTreeMap<String, usize>,
    depends_on: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
    /// Positions in dependency order. Ties are broken by `Step::plan_order`, then by the natural order of ids. Steps on or behind a
    /// cycle come last.
    order: Vec<usize>,
    /// The inverse of `order`.
    rank: Vec<usize>,
    /// Length of the part of `order` that is in dependency order.
    sorted: usize,
}

impl Graph {
    pub(crate) fn of(run: &Run) -> Self {
        // In reverse, so that the first step of an id wins.
        let positions: BTreeMap<String, usize> =
            run.steps.iter().enumerate().rev().map(|(at, step)| (step.id.as_str().to_owned(), at)).collect();
        let (mut depends_on, mut dependents) = (vec![Vec::new(); run.steps.len()], vec![Vec::new(); run.steps.len()]);
        for (at, step) in run.steps.iter().enumerate() {
            // A container depends on its children.
            let named = step.depends_on.iter().chain(&step.children);
            let mut named: Vec<usize> = named.filter_map(|id| positions.get(id.as_str()).copied()).collect();
            let mut known = BTreeSet::new();
            named.retain(|on| known.insert(*on));
            for on in &named {
                dependents[*on].push(at);
            }
            depends_on[at] = named;
        }
        let mut graph = Self {
            positions,
            depends_on,
            dependents,
            order: Vec::with_capacity(run.steps.len()),
            rank: Vec::new(),
            sorted: 0,
        };
        graph.sort(run);
        graph
    }

    /// Sorts topologically. The remaining steps are on or behind a cycle.
    fn sort(&mut self, run: &Run) {
        let mut by_id: Vec<usize> = (0..run.steps.len()).collect();
        by_id.sort_by_key(|at| (run.steps[*at].plan_order, &run.steps[*at].id));
        let natural = inverse(&by_id);
        let mut missing: Vec<usize> = (0..by_id.len()).map(|at| self.depends_on[at].len()).collect();
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..missing.len()).filter(|at| missing[*at] == 0).map(|at| Reverse(natural[at])).collect();
        while let Some(Reverse(first)) = ready.pop() {
            let at = by_id[first];
            self.order.push(at);
            for &dependent in &self.dependents[at] {
                missing[dependent] -= 1;
                if missing[dependent] == 0 {
                    ready.push(Reverse(natural[dependent]));
                }
            }
        }
        self.sorted = self.order.len();
        self.order.extend(by_id.into_iter().filter(|at| missing[*at] > 0));
        self.rank = inverse(&self.order);
    }

    pub(crate) fn position(&self, id: &StepId) -> Option<usize> {
        self.positions.get(id.as_str()).copied()
    }

    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    /// Returns the index of a position in [`Graph::order`].
    pub(crate) fn rank(&self, at: usize) -> usize {
        self.rank[at]
    }

    pub(crate) fn depends_on(&self, at: usize) -> &[usize] {
        &self.depends_on[at]
    }

    pub(crate) fn dependents(&self, at: usize) -> &[usize] {
        &self.dependents[at]
    }

    /// Returns a dependency cycle among the steps for which `counts` holds, with the first one repeated at the end.
    pub(crate) fn cycle(&self, counts: impl Fn(usize) -> bool) -> Option<Vec<usize>> {
        let mut missing = vec![0_usize; self.order.len()];
        let rest: Vec<usize> = self.order[self.sorted..].iter().copied().filter(|at| counts(*at)).collect();
        let mut inside = vec![false; self.order.len()];
        for &at in &rest {
            inside[at] = true;
        }
        for &at in &rest {
            missing[at] = self.depends_on[at].iter().filter(|on| inside[**on]).count();
        }
        let mut ready: Vec<usize> = rest.iter().copied().filter(|at| missing[*at] == 0).collect();
        while let Some(at) = ready.pop() {
            inside[at] = false;
            for &dependent in self.dependents[at].iter().filter(|dependent| inside[**dependent]) {
                missing[dependent] -= 1;
                if missing[dependent] == 0 {
                    ready.push(dependent);
                }
            }
        }
        self.find_cycle(inside.iter().position(|inside| *inside)?, &inside)
    }

    /// Follows dependencies within a set in which every step has one, until a step repeats.
    fn find_cycle(&self, start: usize, inside: &[bool]) -> Option<Vec<usize>> {
        let mut met_at = vec![usize::MAX; inside.len()];
        let (mut path, mut at) = (Vec::new(), start);
        while met_at[at] == usize::MAX {
            met_at[at] = path.len();
            path.push(at);
            at = self.depends_on[at].iter().copied().find(|on| inside[*on])?;
        }
        let mut cycle = path.split_off(met_at[at]);
        cycle.push(at);
        Some(cycle)
    }

    /// Returns all direct and indirect dependents of a step, in dependency order.
    pub(crate) fn all_dependents(&self, at: usize) -> Vec<usize> {
        self.reachable(at, &self.dependents)
    }

    /// Returns all direct and indirect dependencies of a step, in dependency order.
    pub(crate) fn all_dependencies(&self, at: usize) -> Vec<usize> {
        self.reachable(at, &self.depends_on)
    }

    /// Called for many steps of one plan, and for each step of a run: a bit per step of the run is all that a step without neighbours costs.
    fn reachable(&self, from: usize, edges: &[Vec<usize>]) -> Vec<usize> {
        let mut seen = vec![0_u64; self.order.len().div_ceil(WORD)];
        let mut see = |at: usize| {
            let (place, bit) = (self.rank[at] / WORD, 1 << (self.rank[at] % WORD));
            let is_new = seen[place] & bit == 0;
            seen[place] |= bit;
            is_new
        };
        see(from);
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            open.extend(edges[at].iter().copied().filter(|next| see(*next)));
        }
        let mut found = Vec::new();
        for (place, mut word) in seen.into_iter().enumerate() {
            while word != 0 {
                found.push(self.order[place * WORD + word.trailing_zeros() as usize]);
                word &= word - 1;
            }
        }
        found.retain(|at| *at != from);
        found
    }
}

fn inverse(permutation: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; permutation.len()];
    for (place, at) in permutation.iter().enumerate() {
        inverse[*at] = place;
    }
    inverse
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
