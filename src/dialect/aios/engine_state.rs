//! The state of a workflow engine (docs/formats/aios-states.md#workflow-engine).
//!
//! The state names the steps that ran and only counts the others, which are defined in the workflow file.

use super::fields;
use super::fields::KindReader as _;
use super::kind::Kind;
use super::steps::first_open;
use super::steps::follow;
use crate::dialect::Loaded;
use crate::document::Field;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    let engine = tree.get("engine_state");
    let workflow = engine.either(["workflow_name", "workflow_id"]).id();
    let workflow = workflow.unwrap_or_else(|| tree.subject(Kind::Engine));
    let mut run = tree.run(Kind::Engine, "engine-workflow", format!("Workflow {workflow}"));
    run.steps = steps(engine);
    run.started_at = engine.get("started_at").time();
    run.stamp = engine.get("updated_at").time();
    run.status = engine.get("status").run_status(&run.steps);
    run.position = first_open(&run.steps).map(|step| step.id.clone());
    tree.loaded(run)
}

/// Returns the steps that have results, in order, and the step after them.
fn steps(engine: Field<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (id, result) in engine.get("step_results").members() {
        let step = follow(&mut steps, StepId::new(id), format!("Step {id}"), Status::Pending);
        step.status = fields::status(result.get("status"), &step.id);
        if step.status == Status::Failed {
            step.failures = result.get("retries").number().unwrap_or(0).saturating_add(1);
            step.attempts = step.failures;
            step.error = result.get("error").text().map(str::to_owned);
        }
    }
    let done = engine.get("action_steps_completed").number();
    let total = engine.get("action_steps_total").number();
    match (done, total) {
        (Some(done), Some(total)) if done >= total => {}
        // A failed step is retried, so no step follows it.
        _ if steps.iter().any(|step| matches!(step.status, Status::Failed | Status::InProgress)) => {}
        (_, total) => {
            let next = engine.get("current_step_index").required().number().unwrap_or(0);
            let of = total.map_or_else(String::new, |total| format!(", {} of {total} done", done.unwrap_or(0)));
            let title = format!("Step {next} of the workflow file{of}");
            follow(&mut steps, StepId::new(format!("next-{next}")), title, Status::Pending);
            if total.is_none() {
                let message = "`action_steps_total` is missing, so it is unknown whether there is a next step";
                engine.report(Finding::new(FindingCode::TotalMissing, message));
            }
        }
    }
    steps
}

#[cfg(test)]
#[path = "engine_state_tests.rs"]
mod tests;
