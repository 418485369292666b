//! The steps of a run as nodes of a graph, folded where they are too many to look at.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{ShownStep, StepMark, plural};

/// A node of a graph: a step, or several that are folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// The positions of its steps in the report, at least one.
    pub(super) steps: Vec<usize>,
    pub(super) name: String,
    pub(super) title: String,
    /// The mark of the step, else the one of its steps that needs the most attention.
    pub(super) mark: StepMark,
    pub(super) is_next: bool,
    pub(super) is_again: bool,
    pub(super) group: Option<String>,
}

/// A graph whose edges all lead from an earlier node to a later one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
    /// Without those that other edges imply, in order.
    pub(super) edges: Vec<(usize, usize)>,
    pub(super) is_folded: bool,
}

/// Returns the graph of the steps with at most `limit` nodes: a node per step, else per phase, else per stretch of the order.
pub(super) fn nodes(steps: &[ShownStep], limit: usize) -> Nodes {
    let order = order(steps);
    let of_step = |at: &usize| vec![*at];
    let mut parts: Vec<Vec<usize>> = order.iter().map(of_step).collect();
    let is_folded = parts.len() > limit;
    if is_folded {
        parts = by_group(steps, &order);
        if parts.len() < 2 || parts.len() > limit.min(PHASES) {
            parts = order.chunks(order.len().div_ceil(limit.min(STRETCHES)).max(1)).map(<[usize]>::to_vec).collect();
        }
    }
    let node_of: BTreeMap<usize, usize> =
        parts.iter().enumerate().flat_map(|(node, steps)| steps.iter().map(move |at| (*at, node))).collect();
    let position = positions(steps);
    let mut edges = BTreeSet::new();
    for (at, step) in steps.iter().enumerate() {
        for on in step.depends_on.iter().filter_map(|on| position.get(on.as_str())) {
            // What would lead back is part of a cycle, or of phases that overlap.
            if node_of[on] < node_of[&at] {
                edges.insert((node_of[on], node_of[&at]));
            }
        }
    }
    let edges = without_implied(parts.len(), &edges);
    Nodes { nodes: parts.into_iter().map(|part| node(steps, part, is_folded)).collect(), edges, is_folded }
}

/// Phases that are nodes of a folded graph; of more, stretches are.
const PHASES: usize = 60;
/// Number of stretches that steps without phases are folded to.
const STRETCHES: usize = 40;

fn node(steps: &[ShownStep], part: Vec<usize>, is_folded: bool) -> Node {
    let first = &steps[part[0]];
    let any = |is_it: fn(&ShownStep) -> bool| part.iter().any(|at| is_it(&steps[*at]));
    let (is_next, is_again) = (any(|step| step.is_next), any(|step| step.is_again));
    let group = first.group.clone();
    if !is_folded {
        let title = if first.id.matches(&first.title) { String::new() } else { first.title.clone() };
        let (name, mark) = (first.id.as_str().to_owned(), first.mark);
        return Node { steps: part, name, title, mark, is_next, is_again, group };
    }
    let is_group = group.is_some() && part.iter().all(|at| steps[*at].group == group);
    let last = &steps[part[part.len() - 1]];
    let name = match &group {
        Some(group) if is_group => group.clone(),
        Some(_) | None => format!("{}–{}", first.id, last.id),
    };
    let done = part.iter().filter(|at| steps[**at].mark.is_over()).count();
    let title = format!("{done} of {}", plural(part.len(), "step"));
    let mark = part.iter().map(|at| steps[*at].mark).max_by_key(|mark| attention(*mark)).unwrap_or(StepMark::Open);
    Node { steps: part, name, title, mark, is_next, is_again, group: None }
}

/// Returns how much attention a mark needs, to choose one for several steps.
pub(super) const fn attention(mark: StepMark) -> u8 {
    match mark {
        StepMark::Skipped => 0,
        StepMark::Proved => 1,
        StepMark::Claimed => 2,
        StepMark::Open => 3,
        StepMark::Gate => 4,
        StepMark::Blocked => 5,
        StepMark::Running => 6,
        StepMark::Invalid => 7,
        StepMark::Interrupted => 8,
        StepMark::Verify => 9,
        StepMark::Failed => 10,
        StepMark::Unknown => 11,
    }
}

fn by_group(steps: &[ShownStep], order: &[usize]) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut known: BTreeMap<Option<&str>, usize> = BTreeMap::new();
    for at in order {
        let part = *known.entry(steps[*at].group.as_deref()).or_insert_with(|| {
            parts.push(Vec::new());
            parts.len() - 1
        });
        parts[part].push(*at);
    }
    parts
}

pub(super) fn positions(steps: &[ShownStep]) -> BTreeMap<&str, usize> {
    steps.iter().enumerate().rev().map(|(at, step)| (step.id.as_str(), at)).collect()
}

/// Returns the positions in dependency order, otherwise in the order of the report. Steps on a cycle come last.
pub(super) fn order(steps: &[ShownStep]) -> Vec<usize> {
    let position = positions(steps);
    let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); steps.len()];
    let mut missing = vec![0_usize; steps.len()];
    for (at, step) in steps.iter().enumerate() {
        for on in step.depends_on.iter().filter_map(|on| position.get(on.as_str())) {
            dependents[*on].push(at);
            missing[at] += 1;
        }
    }
    let mut ready: BTreeSet<usize> = (0..steps.len()).filter(|at| missing[*at] == 0).collect();
    let mut order = Vec::with_capacity(steps.len());
    while let Some(at) = ready.pop_first() {
        order.push(at);
        for dependent in &dependents[at] {
            missing[*dependent] -= 1;
            if missing[*dependent] == 0 {
                ready.insert(*dependent);
            }
        }
    }
    order.extend((0..steps.len()).filter(|at| missing[*at] > 0));
    order
}

/// Leaves out the edges between nodes that a longer way connects too.
fn without_implied(count: usize, edges: &BTreeSet<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in edges {
        out[*from].push(*to);
    }
    // All that can be reached from each node; edges lead to later nodes only.
    let mut reached: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
    let mut kept = Vec::new();
    for from in (0..count).rev() {
        let implied: BTreeSet<usize> = out[from].iter().flat_map(|to| reached[*to].iter().copied()).collect();
        kept.extend(out[from].iter().filter(|to| !implied.contains(*to)).map(|to| (from, *to)));
        reached[from] = implied.into_iter().chain(out[from].iter().copied()).collect();
    }
    kept.sort_unstable();
    kept
}

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
