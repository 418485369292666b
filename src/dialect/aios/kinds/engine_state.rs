//! The state of a workflow engine (docs/formats/aios-states.md#workflow-engine).
//!
//! The state names the steps that ran and only counts the others, which are defined in the workflow file.

use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::editor::edit;
use crate::dialect::aios::fields;
use crate::dialect::aios::fields::KindReader as _;
use crate::dialect::aios::kind::Descriptor;
use crate::dialect::aios::kind::Unnamed;
use crate::dialect::aios::steps::first_open;
use crate::dialect::aios::steps::follow;
use crate::dialect::writer::Resumed;
use crate::dialect::writer::StateWriter;
use crate::document::Field;
use crate::document::Reader;
use crate::model::Edit;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Records;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::quoted;

pub(super) static ENGINE: Descriptor = Descriptor {
    subject: &["/engine_state/instance_id"],
    unnamed: Unnamed::Stem("-engine-state.yaml"),
    stamps: &["/engine_state/updated_at"],
    records: Records { abort: true, ..Records::RESUME },
    is_written: false,
    ..Descriptor::of_state("the state of a workflow engine", run, |files, change| {
        edit(&ENGINE, files, change, |editor, run| Writer { editor, run })
    })
};

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let engine = tree.get("engine_state");
    let workflow = engine.either(["workflow_name", "workflow_id"]).id();
    let workflow = workflow.unwrap_or_else(|| tree.subject(&ENGINE));
    let mut run = tree.run(&ENGINE, "engine-workflow", format!("Workflow {workflow}"));
    run.steps = steps(engine);
    run.started_at = engine.get("started_at").time();
    run.stamp = engine.get("updated_at").time();
    run.status = engine.get("status").run_status(&run.steps);
    run.position = first_open(&run.steps).map(|step| step.id.clone());
    run
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

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    fn status(&mut self, word: &str) -> Result<(), EditError> {
        self.editor.set_text("/engine_state/status", word)
    }
}

/// Writes only the status: steps are recorded by the engine itself, because the state does not name future steps.
impl StateWriter for Writer {
    const WHAT: &'static str = "a workflow engine";

    fn run(&self) -> String {
        quoted(self.run.id.as_str())
    }

    fn instead(&self, step: Option<&StepId>) -> String {
        match step {
            Some(step) => format!(
                "the state does not name future steps, so only the engine can record {step}; resume it with its own command, then \
                 run `piton plan {}`",
                self.run()
            ),
            None => "it stays active, and its own command resumes it".to_owned(),
        }
    }

    fn abort(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.status("aborted")
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.status("active")
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.status("completed")
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(ENGINE.stamps)
    }
}

#[cfg(test)]
#[path = "engine_state_tests.rs"]
mod tests;
