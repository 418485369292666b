//! The state of a guided workflow (docs/formats/aios-states.md#guided-workflow): sequential steps that the user is guided
//! through.
//!
//! The framework's `advanceStep` only looks after the current step and may complete a workflow with earlier steps open. Piton
//! continues with the first open step that has to be done: an optional or conditional one that work went past counts as skipped.

use std::collections::BTreeSet;

use super::fields;
use super::fields::KindReader as _;
use super::kind::Kind;
use super::steps::first_open;
use crate::dialect::Loaded;
use crate::document::Field;
use crate::document::Reader;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::clean_line;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    let steps = steps(&tree);
    let instance = tree.get("instance_id").required().id();
    let name = tree.root().either(["workflow_name", "workflow_id"]).id().or(instance);
    let name = name.unwrap_or_else(|| tree.subject(Kind::Guided));
    let mut run = tree.run(Kind::Guided, "guided-workflow", format!("Workflow {name}"));
    run.started_at = tree.get("started_at").time();
    run.stamp = tree.get("updated_at").time();
    run.status = tree.get("status").run_status(&steps);
    let mut steps = steps;
    if run.status == RunStatus::Completed {
        // Changes to artifacts after completion do not reopen steps.
        steps.iter_mut().for_each(|step| step.proof.outputs.clear());
    }
    if let Some(open) = first_open(&steps) {
        run.position = Some(open.id.clone());
        let at = steps.iter().position(|step| step.id == open.id);
        report_skipped_step(&tree, &steps, at.unwrap_or_default());
    }
    run.steps = steps;
    tree.loaded(run)
}

/// Reports that the state has moved past a step that is still open.
fn report_skipped_step(tree: &Reader<'_>, steps: &[Step], open: usize) {
    let id = &steps[open].id;
    if let Some(current) = current(tree, steps).filter(|current| *current > open) {
        let message = format!("the state is at {}, but the earlier {id} is open and comes first", steps[current].id);
        tree.report(Finding::new(FindingCode::StateCorrupt, message).on(id));
    }
}

/// Returns the place of the step that the state names as the current one.
fn current(tree: &Reader<'_>, steps: &[Step]) -> Option<usize> {
    let named = tree.get("current_step_id").id().and_then(|id| steps.iter().position(|step| step.id.as_str() == id));
    let numbered = || {
        let index = tree.get("current_step_index").number()?;
        let entries = tree.get("steps").items();
        let declared = |entry: &Field<'_>| entry.get("index").is_there();
        if !entries.iter().any(declared) {
            return usize::try_from(index).ok().filter(|at| *at < steps.len());
        }
        entries.iter().position(|entry| entry.get("index").number() == Some(index))
    };
    named.or_else(numbered)
}

fn steps(tree: &Reader<'_>) -> Vec<Step> {
    let entries = tree.get("steps").required().items();
    let mut known: BTreeSet<StepId> = BTreeSet::new();
    let mut steps: Vec<Step> = Vec::new();
    for (at, entry) in entries.iter().copied().enumerate() {
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        if let Some(declared) = entry.get("step_index").number().filter(|declared| *declared != index) {
            let message = format!("the step at position {index} has index {declared}; its position wins");
            tree.report(Finding::new(FindingCode::IdMismatch, message));
        }
        let id = id_of(entry, index, &mut known);
        let mut step = step(entry, id);
        step.proof.outputs = artifacts(tree, entry, index);
        steps.push(step);
    }
    pass_over(tree, &entries, &mut steps);
    let mut last_open: Option<StepId> = None;
    for at in 0..steps.len() {
        let is_open = !matches!(steps[at].status, Status::Completed | Status::Skipped);
        // Completed steps have no dependencies; an open step depends on every earlier one.
        steps[at].depends_on = match &last_open {
            Some(_) if !is_open => Vec::new(),
            Some(before) => vec![before.clone()],
            None => at.checked_sub(1).map(|before| steps[before].id.clone()).into_iter().collect(),
        };
        if is_open {
            last_open = Some(steps[at].id.clone());
        }
    }
    steps
}

/// Returns the id that the file gives to a step: its `id`, else its number.
fn id_of(entry: Field<'_>, position: u32, known: &mut BTreeSet<StepId>) -> StepId {
    let number = || StepId::new(format!("step-{}", entry.get("index").number().unwrap_or(position)));
    let named = entry.get("id").id().map_or_else(number, StepId::new);
    // Two steps of one id are told apart by their place.
    let id = if known.contains(&named) { StepId::new(format!("step-{position}")) } else { named };
    known.insert(id.clone());
    id
}

/// Skips the optional and the conditional steps that the work went past.
fn pass_over(tree: &Reader<'_>, entries: &[Field<'_>], steps: &mut [Step]) {
    let is_begun = |step: &Step| matches!(step.status, Status::Completed | Status::InProgress);
    let last_begun = steps.iter().rposition(is_begun).unwrap_or_default();
    let is_completed = matches!(tree.get("status").text(), Some("completed" | "complete"));
    let reached = if is_completed { steps.len() } else { current(tree, steps).unwrap_or_default().max(last_begun) };
    for (step, entry) in steps.iter_mut().zip(entries).take(reached) {
        let is_optional = entry.get("optional").text() == Some("true");
        let condition = entry.get("condition").id();
        if step.status != Status::Pending || !(is_optional || condition.is_some()) {
            continue;
        }
        step.status = Status::Skipped;
        let why =
            condition.map_or_else(|| "it is optional".to_owned(), |condition| format!("it depends on `{condition}`"));
        let message = format!("{} is pending and the work went past it: it counts as skipped, because {why}", step.id);
        entry.report(Finding::new(FindingCode::DependencySkipped, message).on(&step.id));
    }
}

fn step(entry: Field<'_>, id: StepId) -> Step {
    let action = ["action", "step", "name", "title", "type"].iter().find_map(|key| {
        let field = entry.get(key);
        if field.is_there() { field.text().map(|text| clean_line(text, 200)) } else { None }
    });
    let action = action.unwrap_or_else(|| format!("Step {id}"));
    let tail = if entry.get("optional").text() == Some("true") { " (optional)" } else { "" };
    let mut step = Step::new(id.clone(), format!("{action}{tail}"));
    step.status = fields::status(entry.get("status"), &id);
    step.agent = fields::agent(entry.get("agent"));
    step.group = entry.get("phase").id();
    step.started_at = entry.get("started_at").time();
    step.finished_at = entry.get("completed_at").time();
    step.attempts = u32::from(step.status == Status::InProgress);
    step
}

/// Returns the files that the state lists as created by a step.
fn artifacts(tree: &Reader<'_>, step: Field<'_>, position: u32) -> Vec<RelPath> {
    let names = [step.get("id").id(), step.get("index").id().or_else(|| Some(position.to_string()))];
    let made = tree.get("artifacts").items().into_iter().filter(|artifact| {
        let maker = artifact.get("created_by_step").id();
        artifact.get("status").text() == Some("created") && maker.is_some() && names.contains(&maker)
    });
    made.filter_map(|artifact| RelPath::parse(artifact.get("path").text()?).ok()).collect()
}

#[cfg(test)]
#[path = "guided_tests.rs"]
mod tests;
