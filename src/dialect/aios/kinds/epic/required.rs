//! What the plan and the state of an epic say about its merges and its last gate, for the agent that does them and the person who is asked
//! about them (docs/formats/aios.md#execution-plan).

use super::{EpicFiles, state::Wave};
use crate::{
    dialect::aios::execution::PlannedWave,
    model::{Status, Step},
};

/// Returns the wave of the plan.
pub(super) fn planned_wave<'a>(epic: &'a EpicFiles<'_>, wave: &Wave) -> Option<&'a PlannedWave> {
    epic.plan.as_ref()?.waves.iter().find(|planned| planned.number == wave.number)
}

/// Returns the branches of a merge in their order, what the plan says about conflicts, and the tag of the wave.
pub(super) fn of_merge(epic: &EpicFiles<'_>, wave: &Wave, stories: &[Step]) -> Vec<String> {
    let planned = planned_wave(epic, wave);
    let order = planned.map(|planned| planned.merge_order.as_slice()).unwrap_or_default();
    let risk = planned.and_then(|planned| planned.merge_risk.as_ref()).map(|risk| format!("Conflict risk: {risk}"));
    let notes = planned.map(|planned| planned.merge_notes.clone()).unwrap_or_default();
    let tag = wave.tag.as_ref().or_else(|| planned?.tag.as_ref());
    branches(epic, wave, stories, order)
        .into_iter()
        .chain(risk)
        .chain(notes)
        .chain(tag.map(|tag| tagged(tag)))
        .collect()
}

/// Returns what the final gate looks at, and the tag of the epic.
pub(super) fn of_final_gate(epic: &EpicFiles<'_>) -> Vec<String> {
    let Some(plan) = &epic.plan else { return Vec::new() };
    plan.final_focus.iter().cloned().chain(plan.final_tag.as_ref().map(|tag| tagged(tag))).collect()
}

fn tagged(tag: &str) -> String {
    format!("Tag: {tag}")
}

/// Returns the branches of the stories that were not left out: first those of the order, which names stories or branches, then the others.
fn branches(epic: &EpicFiles<'_>, wave: &Wave, stories: &[Step], order: &[String]) -> Vec<String> {
    let branch_of = |id: &str| {
        let recorded = wave.stories.iter().find(|story| story.id == id).and_then(|story| story.branch.as_deref());
        recorded.or_else(|| epic.plan.as_ref()?.story(id)?.branch.as_deref())
    };
    let all: Vec<(&Step, Option<&str>)> = stories.iter().map(|step| (step, branch_of(step.id.as_str()))).collect();
    let is_merged = |(step, _): &(&Step, Option<&str>)| step.status != Status::Skipped;
    let is_meant =
        |written: &str, (step, branch): &(&Step, Option<&str>)| step.id.as_str() == written || *branch == Some(written);
    let in_words = |(step, branch): &(&Step, Option<&str>)| match branch {
        Some(branch) => format!("{branch} ({})", step.id),
        None => format!("that of {}, which is not recorded", step.id),
    };
    let ordered = order.iter().filter_map(|written| match all.iter().find(|story| is_meant(written, story)) {
        Some(story) => is_merged(story).then(|| in_words(story)),
        None => Some(written.clone()),
    });
    let ordered: Vec<String> = ordered.collect();
    let others = all.iter().filter(|story| is_merged(story) && !order.iter().any(|written| is_meant(written, story)));
    let others = others.filter(|(_, branch)| branch.is_some() || !ordered.is_empty());
    let others: Vec<String> = others.map(in_words).collect();
    let list =
        |what: &str, branches: &[String]| (!branches.is_empty()).then(|| format!("{what}: {}", branches.join(", ")));
    let other = if ordered.is_empty() { "Branches" } else { "Branches that the order does not name" };
    list("Branches, in this order", &ordered).into_iter().chain(list(other, &others)).collect()
}
