//! The state of a guided workflow (docs/formats/aios-states.md#guided-workflow): sequential steps that the user is guided
//! through.
//!
//! The framework's `advanceStep` only looks after the current step and may complete a workflow with earlier steps open. Piton
//! continues with the first open step.

use super::fields::Field;
use super::fields::Tree;
use super::kind::Kind;
use super::steps::first_open;
use crate::dialect::Loaded;
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
    let tree = match Tree::read(files) {
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
        report_skipped_step(&tree, at.unwrap_or_default(), &open.id);
    }
    run.steps = steps;
    tree.loaded(run)
}

/// Reports that the state has moved past a step that is still open.
fn report_skipped_step(tree: &Tree<'_>, open: usize, id: &StepId) {
    let current = tree.get("current_step_index").number().and_then(|index| usize::try_from(index).ok());
    if let Some(current) = current.filter(|current| *current > open) {
        let message = format!("the state is at step {current}, but the earlier {id} is open and comes first");
        tree.report(Finding::new(FindingCode::StateCorrupt, message).on(id));
    }
}

fn steps(tree: &Tree<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut last_open = None;
    for (at, entry) in tree.get("steps").required().items().into_iter().enumerate() {
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        if let Some(declared) = entry.get("step_index").number().filter(|declared| *declared != index) {
            let message = format!("the step at position {index} has index {declared}; its position wins");
            tree.report(Finding::new(FindingCode::IdMismatch, message));
        }
        let mut step = step(entry, index);
        step.proof.outputs = artifacts(tree, index);
        let is_open = !matches!(step.status, Status::Completed | Status::Skipped);
        // Completed steps have no dependencies; an open step depends on every earlier one.
        step.depends_on = match &last_open {
            Some(_) if !is_open => Vec::new(),
            Some(before) => vec![StepId::clone(before)],
            None => steps.last().map(|before| before.id.clone()).into_iter().collect(),
        };
        if is_open {
            last_open = Some(step.id.clone());
        }
        steps.push(step);
    }
    steps
}

fn step(entry: Field<'_>, index: u32) -> Step {
    let id = StepId::new(format!("step-{index}"));
    let action = entry.get("action").text().map_or_else(|| format!("Step {index}"), |action| clean_line(action, 200));
    let tail = if entry.get("optional").text() == Some("true") { " (optional)" } else { "" };
    let mut step = Step::new(id.clone(), format!("{action}{tail}"));
    step.status = entry.get("status").status(&id);
    step.agent = entry.get("agent").agent();
    step.group = entry.get("phase").id();
    step.started_at = entry.get("started_at").time();
    step.finished_at = entry.get("completed_at").time();
    step.attempts = u32::from(step.status == Status::InProgress);
    step
}

/// Returns the files that the state lists as created by a step.
fn artifacts(tree: &Tree<'_>, index: u32) -> Vec<RelPath> {
    let made = tree.get("artifacts").items().into_iter().filter(|artifact| {
        artifact.get("status").text() == Some("created") && artifact.get("created_by_step").number() == Some(index)
    });
    made.filter_map(|artifact| RelPath::parse(artifact.get("path").text()?).ok()).collect()
}

#[cfg(test)]
#[path = "guided_tests.rs"]
mod tests;
