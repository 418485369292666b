//! Which steps a step names: one that is skipped by its condition takes those along that name it. Pure.

use std::collections::BTreeMap;

use super::{
    Command, Step, StepReference,
    names::{self, end_variable},
};
use crate::model::StepId;

/// Adds to what steps say that they depend on: the work that they review, the step whose output they use, and the steps whose results they
/// read without a default. A step whose own condition asks how another one ended runs by that condition.
pub(super) fn name(steps: &mut [Step]) {
    for step in steps.iter_mut() {
        if let Command::Foreach(foreach) = &mut step.command {
            name(&mut foreach.steps);
        }
    }
    if steps.iter().all(|step| step.when.is_none()) {
        return;
    }
    let left = left_by(steps);
    let found: Vec<Vec<StepReference>> = steps.iter().map(|step| named(step, steps, &left)).collect();
    for (step, needs) in steps.iter_mut().zip(found) {
        step.needs = needs;
    }
}

/// Returns the steps by the names under which their results are read.
fn left_by(steps: &[Step]) -> BTreeMap<String, &StepId> {
    let mut left = BTreeMap::new();
    for step in steps {
        let mut set = Vec::new();
        names::set_by(step, &mut set);
        let own = [format!("{}.", step.id), format!("step.{}.", step.id)];
        set.retain(|name| own.iter().any(|own| name.starts_with(own)));
        left.extend(set.into_iter().map(|name| (name, &step.id)));
    }
    left
}

fn named(step: &Step, steps: &[Step], left: &BTreeMap<String, &StepId>) -> Vec<StepReference> {
    let reference = |id: &StepId| StepReference { id: id.clone(), place: step.place };
    let read = step.reads().into_iter().filter(|read| read.fallback.is_none()).filter_map(|read| {
        let path = read.path.as_str();
        let ends = std::iter::once(path.len()).chain(path.rmatch_indices('.').map(|(at, _)| at));
        ends.map(|end| &path[..end]).find_map(|name| left.get(name).copied())
    });
    let used = step.uses.iter().filter_map(|used| {
        let leaves_it = |other: &&Step| {
            other.outputs.iter().any(|output| {
                let path = output.path.to_string();
                path == used.as_str() || path.strip_prefix(used.as_str()).is_some_and(|rest| rest.starts_with('/'))
            })
        };
        let mut leaving = steps.iter().filter(leaves_it);
        // Where several steps leave it, one of them may be enough.
        leaving.next().filter(|_| leaving.next().is_none()).map(|other| &other.id)
    });
    let all = step.needs.iter().chain(&step.reviews).cloned();
    let all = all.chain(read.chain(used).chain(step.continued()).map(reference));
    let asked = step.when.as_ref().map(|when| when.condition.references()).unwrap_or_default();
    let asks_of = |id: &StepId| asked.iter().any(|read| read.path == end_variable(id));
    let mut needs: Vec<StepReference> = Vec::new();
    for need in all.filter(|need| need.id != step.id && !asks_of(&need.id)) {
        if needs.iter().all(|known| known.id != need.id) {
            needs.push(need);
        }
    }
    needs
}
