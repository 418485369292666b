//! Who waits for whom.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::model::Run;
use crate::model::StepId;

/// Is the dependency graph of a run, by positions in `run.steps`.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    run: &'a Run,
    index: BTreeMap<&'a str, usize>,
    depends_on: Vec<Vec<usize>>,
    dependents: Vec<Vec<usize>>,
    /// Positions in dependency order, natural order of the ids on ties; what is on a cycle comes last.
    order: Vec<usize>,
    has_cycle: bool,
}

impl<'a> Graph<'a> {
    pub(crate) fn of(run: &'a Run) -> Self {
        let mut index = BTreeMap::new();
        for (at, step) in run.steps.iter().enumerate() {
            index.entry(step.id.as_str()).or_insert(at);
        }
        let mut depends_on = vec![Vec::new(); run.steps.len()];
        let mut dependents = vec![Vec::new(); run.steps.len()];
        for (at, step) in run.steps.iter().enumerate() {
            // A container waits for its children as a dependent waits for what it depends on.
            for id in step.depends_on.iter().chain(&step.children) {
                if let Some(&on) = index.get(id.as_str())
                    && !depends_on[at].contains(&on)
                {
                    depends_on[at].push(on);
                    dependents[on].push(at);
                }
            }
        }
        let mut graph = Self { run, index, depends_on, dependents, order: Vec::new(), has_cycle: false };
        graph.sort();
        graph
    }

    /// Sorts so that every dependency comes first; what remains is on, or behind, a cycle.
    fn sort(&mut self) {
        let mut by_id: Vec<usize> = (0..self.run.steps.len()).collect();
        by_id.sort_by(|a, b| self.run.steps[*a].id.cmp(&self.run.steps[*b].id));
        let mut rank = vec![0; by_id.len()];
        for (position, at) in by_id.iter().enumerate() {
            rank[*at] = position;
        }
        let mut missing: Vec<usize> = self.depends_on.iter().map(Vec::len).collect();
        let mut ready: BTreeSet<(usize, usize)> =
            (0..missing.len()).filter(|at| missing[*at] == 0).map(|at| (rank[at], at)).collect();
        while let Some((_, at)) = ready.pop_first() {
            self.order.push(at);
            for &dependent in &self.dependents[at] {
                missing[dependent] -= 1;
                if missing[dependent] == 0 {
                    ready.insert((rank[dependent], dependent));
                }
            }
        }
        if self.order.len() < by_id.len() {
            self.has_cycle = true;
            self.order.extend(by_id.into_iter().filter(|at| missing[*at] > 0));
        }
    }

    fn walk_cycle(&self, missing: &[usize]) -> Option<Vec<usize>> {
        let mut at = (0..missing.len()).find(|at| missing[*at] > 0)?;
        let mut path: Vec<usize> = Vec::new();
        loop {
            if let Some(start) = path.iter().position(|seen| *seen == at) {
                let mut cycle = path.split_off(start);
                cycle.push(at);
                return Some(cycle);
            }
            path.push(at);
            at = self.depends_on[at].iter().copied().find(|on| missing[*on] > 0)?;
        }
    }

    pub(crate) fn position(&self, id: &StepId) -> Option<usize> {
        self.index.get(id.as_str()).copied()
    }

    pub(crate) fn order(&self) -> &[usize] {
        &self.order
    }

    pub(crate) fn depends_on(&self, at: usize) -> &[usize] {
        &self.depends_on[at]
    }

    /// Returns the ids of a circle of dependencies among the steps that still wait, the first one again at the end. A step
    /// that is over opens the circles it was in.
    pub(crate) fn cycle_among(&self, waits: impl Fn(usize) -> bool) -> Option<Vec<&'a StepId>> {
        self.has_cycle.then_some(())?;
        let count = |at: usize| self.depends_on[at].iter().filter(|on| waits(**on)).count();
        let mut missing: Vec<usize> =
            (0..self.depends_on.len()).map(|at| if waits(at) { count(at) } else { 0 }).collect();
        let mut ready: Vec<usize> = (0..missing.len()).filter(|at| waits(*at) && missing[*at] == 0).collect();
        while let Some(at) = ready.pop() {
            for &dependent in self.dependents[at].iter().filter(|dependent| waits(**dependent)) {
                missing[dependent] -= 1;
                if missing[dependent] == 0 {
                    ready.push(dependent);
                }
            }
        }
        let cycle = self.walk_cycle(&missing)?;
        Some(cycle.into_iter().map(|at| &self.run.steps[at].id).collect())
    }

    /// Returns everything that waits for a step, directly or not, in dependency order and without the step itself.
    pub(crate) fn waiting_for(&self, at: usize) -> Vec<usize> {
        self.reach(at, &self.dependents)
    }

    /// Returns everything a step waits for, directly or not, in dependency order and without the step itself.
    pub(crate) fn needed_by(&self, at: usize) -> Vec<usize> {
        self.reach(at, &self.depends_on)
    }

    fn reach(&self, from: usize, edges: &[Vec<usize>]) -> Vec<usize> {
        let mut seen = vec![false; edges.len()];
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            for &next in &edges[at] {
                if !seen[next] {
                    seen[next] = true;
                    open.push(next);
                }
            }
        }
        seen[from] = false;
        self.order.iter().copied().filter(|at| seen[*at]).collect()
    }
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
