//! The state of a workflow engine (docs/formats/aios-states.md#workflow-engine).
//!
//! The state names the steps that ran and only counts the others, which are defined in the workflow file.

use crate::{
    dialect::{
        EditError,
        aios::{
            editor::{StateEditor, edit},
            fields::{self, KindReader as _},
            kind::{Descriptor, Unnamed},
            steps::{first_open, follow},
        },
        writer::{Resumed, StateWriter},
    },
    document::{Field, Reader},
    model::{Edit, Finding, FindingCode, Records, Run, RunId, Status, Step, StepId, Suggested, Verb, quoted},
};

pub(super) static ENGINE: Descriptor = Descriptor {
    subject: &["/engine_state/instance_id"],
    unnamed: Unnamed::Stem("-engine-state.yaml"),
    stamps: &["/engine_state/updated_at"],
    started: Some("/engine_state/started_at"),
    records: Records::RESUME,
    is_written: false,
    ..Descriptor::of_state("the state of a workflow engine", run, |files, change| {
        edit(&ENGINE, files, change, |editor, run| EngineWriter { editor, run })
    })
};

const STATUS: &str = "/engine_state/status";

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let engine = tree.get("engine_state");
    let workflow = engine.either(["workflow_name", "workflow_id"]).id();
    let title = format!("Workflow {}", workflow.unwrap_or_else(|| tree.subject(&ENGINE)));
    let mut run = tree.run(&ENGINE, "engine-workflow", title);
    run.steps = steps(engine);
    run.status = tree.at(STATUS).run_status(&run.steps);
    run.position = first_open(&run.steps).map(|step| step.id.clone());
    run
}

/// Writes only the status: steps are recorded by the engine itself, because the state does not name future steps.
struct EngineWriter {
    editor: StateEditor,
    run: Run,
}

impl StateWriter for EngineWriter {
    const WHAT: &'static str = "a workflow engine";

    fn run(&self) -> RunId {
        self.run.id.clone()
    }

    fn instead(&self, step: Option<&StepId>) -> String {
        match step {
            Some(step) => format!(
                "the state does not name future steps, so only the engine can record {}; resume it with its own command, then run \
                 `{}`",
                quoted(step.as_str()),
                Suggested::of(Verb::Plan, self.run())
            ),
            None => "it stays active, and its own command resumes it".to_owned(),
        }
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.editor.set_text(STATUS, "active")
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text(STATUS, "completed")
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(ENGINE.stamps)
    }
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
