//! What each step of a workflow depends on: the steps it names, else the one before it; and what its group adds to it. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::{Step, StepReference, When, canonical, condition::Condition};
use crate::{document::definition::Problems, model::StepId};

/// A step as it is listed in the file.
pub(super) struct Listed {
    pub(super) step: Step,
    /// It says itself what it depends on.
    pub(super) is_ordered: bool,
    /// It begins when the steps of an included file do.
    pub(super) is_entry: bool,
    /// What the group of the step depends on, where the group says so.
    pub(super) group_needs: Option<Vec<StepReference>>,
}

/// Resolves the dependencies of all steps: a group stands for its last steps, a step without `depends_on` depends on what is listed
/// before it, and a review depends on the step that it reviews.
pub(super) fn resolve(listed: Vec<Listed>, problems: &mut Problems<'_>) -> Vec<Step> {
    group_ids(&listed, problems);
    let mut steps: Vec<Step> = Vec::new();
    for Listed { mut step, is_ordered, is_entry, group_needs } in listed {
        // What the group names counts for all of its steps that are not ordered by themselves.
        if !is_entry && !is_ordered {
            step.needs.extend(group_needs.clone().unwrap_or_default());
        }
        if is_entry {
            let outside = steps.iter().rposition(|other| other.group != step.group).map_or(0, |last| last + 1);
            let before =
                || before(&steps[..outside], &step).map(|id| StepReference { id, place: step.place }).collect();
            step.depends_on = group_needs.unwrap_or_else(before);
        } else if !is_ordered {
            let is_first = step.group.is_some() && steps.last().is_none_or(|last| last.group != step.group);
            step.depends_on = match group_needs.filter(|_| is_first) {
                Some(needs) => needs,
                None => before(&steps, &step).map(|id| StepReference { id, place: step.place }).collect(),
            };
        }
        steps.push(step);
    }
    resolve_groups(&mut steps);
    resolve_reviews(&mut steps);
    steps
}

/// Adds the steps that run when all others are done, one after the other.
pub(super) fn at_the_end(steps: &mut Vec<Step>, last: Vec<Step>) {
    let needed: BTreeSet<&StepId> = steps.iter().flat_map(|step| step.depends_on.iter().map(|need| &need.id)).collect();
    let ends = steps.iter().map(|step| &step.id).filter(|id| !needed.contains(id));
    let mut needs: Vec<StepId> = ends.cloned().collect();
    for mut step in last {
        step.depends_on = needs.into_iter().map(|id| StepReference { id, place: step.place }).collect();
        needs = vec![step.id.clone()];
        steps.push(step);
    }
}

/// Reports groups that share an id with another group or a step.
fn group_ids(listed: &[Listed], problems: &mut Problems<'_>) {
    let ids: BTreeSet<&str> = listed.iter().map(|one| one.step.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    for chunk in listed.chunk_by(|a, b| a.step.group == b.step.group) {
        let Some(group) = &chunk[0].step.group else { continue };
        if ids.contains(group.id.as_str()) || !seen.insert(&group.id) {
            let message = format!("the id `{}` is taken by another step or group", group.id);
            problems.add(group.place, message, "give each group an id of its own");
        }
    }
}

/// Returns what a step that does not say so depends on: the step before it, or the last steps of the group before it.
fn before<'a>(steps: &'a [Step], step: &Step) -> impl Iterator<Item = StepId> + use<'a> {
    let group = steps.last().and_then(|last| last.group.as_ref()).filter(|group| step.group.as_ref() != Some(group));
    let ids = match group {
        Some(group) => last_of(steps, &group.id),
        None => steps.last().map(|last| last.id.clone()).into_iter().collect(),
    };
    ids.into_iter()
}

/// Returns the steps of a group that no other step of it depends on.
fn last_of(steps: &[Step], group: &str) -> Vec<StepId> {
    let is_member = |step: &&Step| step.group.as_ref().is_some_and(|of| of.id == group);
    let needed: BTreeSet<&StepId> =
        steps.iter().filter(is_member).flat_map(|step| step.depends_on.iter().map(|need| &need.id)).collect();
    steps.iter().filter(is_member).map(|step| &step.id).filter(|id| !needed.contains(id)).cloned().collect()
}

/// Replaces references to groups.
fn resolve_groups(steps: &mut [Step]) {
    let groups: BTreeSet<String> = steps.iter().filter_map(|step| Some(step.group.as_ref()?.id.clone())).collect();
    let ends: BTreeMap<String, Vec<StepId>> = groups.into_iter().map(|id| (id.clone(), last_of(steps, &id))).collect();
    if ends.is_empty() {
        return;
    }
    for step in steps {
        for references in [&mut step.depends_on, &mut step.needs] {
            let mut needs: Vec<StepReference> = Vec::new();
            for need in std::mem::take(references) {
                let ids = ends.get(need.id.as_str()).map_or_else(|| vec![need.id.clone()], Clone::clone);
                for id in ids {
                    if needs.iter().all(|other| other.id != id) {
                        needs.push(StepReference { id, place: need.place });
                    }
                }
            }
            *references = needs;
        }
    }
}

fn resolve_reviews(steps: &mut [Step]) {
    for at in 0..steps.len() {
        let Some(reviewed) = steps[at].reviews.clone() else { continue };
        let is_known = steps.iter().any(|step| step.id == reviewed.id) && steps[at].id != reviewed.id;
        if is_known && !ancestors(steps, at).contains(&reviewed.id) {
            steps[at].depends_on.push(reviewed);
        }
    }
}

/// Returns everything that a step depends on, directly or not.
pub(super) fn ancestors(steps: &[Step], at: usize) -> BTreeSet<StepId> {
    let index: BTreeMap<&StepId, &Step> = steps.iter().map(|step| (&step.id, step)).collect();
    let mut found = BTreeSet::new();
    let mut open = vec![&steps[at]];
    while let Some(step) = open.pop() {
        for need in &step.depends_on {
            if found.insert(need.id.clone())
                && let Some(step) = index.get(&need.id)
            {
                open.push(step);
            }
        }
    }
    found
}

/// Gives the steps of a group its condition.
pub(super) fn conditioned(all: &mut [Listed], when: Option<&When>) {
    for Listed { step, .. } in all.iter_mut() {
        step.when = joined(when.cloned(), step.when.take());
        step.canonical = canonical::of(step);
    }
}

/// Returns the condition of a step in a group: that of the group, and its own.
fn joined(of_group: Option<When>, own: Option<When>) -> Option<When> {
    match (of_group, own) {
        (Some(of_group), Some(own)) => Some(When {
            condition: Condition::And(Box::new(of_group.condition), Box::new(own.condition)),
            place: own.place,
            group_place: Some(of_group.place),
        }),
        (of_group, own) => of_group.or(own),
    }
}
