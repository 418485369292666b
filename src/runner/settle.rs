//! What a resume takes as done without running it: the step of an agent that was cut off when its outputs were there, as the plan says.

use camino::Utf8Path;

use super::error::RunError;
use super::files;
use super::ledger::Ledger;
use crate::dialect::script::facts::Facts;
use crate::engine;
use crate::engine::EffectiveStatus;
use crate::model::ChangeKind;
use crate::model::Evidence;
use crate::model::Outcome;
use crate::model::OutputSchema;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepKind;
use crate::workflow::Step;
use crate::workflow::Workflow;

/// Records such steps as completed.
pub(super) fn record_shown_done(
    ledger: &mut Ledger,
    (run, evidence): (&Run, &Evidence),
    workflow: &Workflow,
    folder: &Utf8Path,
) -> Result<(), RunError> {
    let statuses = engine::effective_statuses(run, evidence, &[]);
    let shown = run.steps.iter().zip(statuses).zip(&workflow.steps).filter(|((step, status), defined)| {
        step.status == Status::InProgress
            && step.kind == StepKind::Work
            && *status == EffectiveStatus::Done
            && step.id == defined.id
            && missing_output(folder, defined).is_none()
    });
    for ((step, _), _) in shown {
        let summary = "its outputs were there when the run went on".to_owned();
        let outcome = Outcome { summary: Some(summary), ..Outcome::completed(step.id.clone()) };
        let facts = Facts { digest: step.definition_digest(), ..Facts::default() };
        ledger.record(ChangeKind::Finish(Box::new(outcome)), facts, true)?;
    }
    Ok(())
}

/// Returns why an output of the step is no proof that it is done.
pub(super) fn missing_output(folder: &Utf8Path, step: &Step) -> Option<String> {
    step.outputs.iter().find_map(|output| {
        let path = output.path.under(folder);
        let text = match files::read(&path) {
            Ok(text) if !text.is_empty() => text,
            Ok(_) => return Some(format!("its output {} is empty", output.path)),
            Err(_) => return Some(format!("it did not write its output {}", output.path)),
        };
        let (schema, _) = output.schema.as_ref()?;
        let schema = match schema {
            OutputSchema::Inline(schema) => Ok(schema.clone()),
            OutputSchema::File(file) => files::read(&file.under(folder))
                .and_then(|text| serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))),
        };
        let value = serde_json::from_str(&text).map_err(|error| format!("{} is not JSON: {error}", output.path));
        let found = schema.and_then(|schema| crate::schema::violation(&schema, &value?));
        let why = found.unwrap_or_else(Some)?;
        Some(format!("its output {} does not fit its schema: {why}", output.path))
    })
}
