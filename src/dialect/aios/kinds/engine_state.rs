//! The state of a workflow engine (docs/formats/aios-states.md#workflow-engine).
//!
//! The state names the steps that ran and only counts the others, which are defined in the workflow file.

use crate::{
    dialect::aios::{
        fields,
        kind::{Descriptor, Unnamed},
        step_list::{Op, StepList},
        steps::follow,
    },
    document::Field,
    model::{Finding, FindingCode, Status, Step, StepId},
};

pub(super) static ENGINE: Descriptor = Descriptor {
    subject: &["/engine_state/instance_id"],
    unnamed: Unnamed::Stem("-engine-state.yaml"),
    stamps: &["/engine_state/updated_at"],
    started: Some("/engine_state/started_at"),
    records: STEPS.records(),
    is_written: false,
    ..Descriptor::of_files(
        "the state of a workflow engine",
        |files| STEPS.load(files),
        |files, change| STEPS.edit(files, change),
    )
};

/// Writes only the status: steps are recorded by the engine itself, because the state does not name future steps.
static STEPS: StepList = StepList {
    workflow: "engine-workflow",
    status: "/engine_state/status",
    complete_run: |tree, run| {
        if let Some(workflow) = tree.get("engine_state").either(["workflow_name", "workflow_id"]).id() {
            run.title = format!("Workflow {workflow}");
        }
    },
    what: "a workflow engine",
    instead: [
        "the state does not name future steps, so only the engine can record {step}; resume it with its own command, then run \
         `piton plan {run}`",
        "it stays active, and its own command resumes it",
    ],
    abort: &[Op::Word("/engine_state/status", "aborted")],
    resume: &[Op::Word("/engine_state/status", "active")],
    complete: &[Op::Word("/engine_state/status", "completed")],
    touched: &["/engine_state/updated_at"],
    ..StepList::new(&ENGINE, |tree| steps(tree.get("engine_state")))
};

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
