//! What is known of the outputs of a run that goes on: those of steps that were done before, and those of one that was cut off.

use camino::Utf8Path;
use serde_json::Value;

use super::{
    console::{Console, Event},
    error::RunError,
    files,
    ledger::Ledger,
    resume::ResumeOptions,
};
use crate::{
    dialect::{
        Loaded,
        piton::{facts::Facts, record::Header, unmet::unmet},
    },
    engine::EffectiveStatus,
    model::{
        ChangeKind, Evidence, FileFact, FileSet, Outcome, OutputSchema, RelPath, Status, StepId, StepKind, sha256_hex,
    },
    store::{self, Environment, Project},
    workflow::{Step, Workflow},
};

/// Gathers what the plan knows of the outputs of a run that goes on; nothing if no step declares any.
pub(super) fn evidence(
    project: &Project,
    files: &FileSet,
    Loaded { wanted, entries, .. }: &Loaded,
    environment: &Environment,
) -> Evidence {
    if wanted.outputs.is_empty() {
        return Evidence::default();
    }
    let records = entries.iter().flat_map(|entry| &entry.left).cloned().collect();
    let Evidence { mut files, records, .. } = store::gather(project, files, wanted, records, environment);
    let folder = wanted.base.as_deref().unwrap_or(&project.root);
    for output in &wanted.outputs {
        if let (Some(schema), Some(FileFact::Present { violation, .. })) = (&output.schema, files.get_mut(&output.path))
        {
            *violation = files::read(&output.path.under(folder))
                .ok()
                .and_then(|text| text_misfit(folder, (&output.path, &text), schema));
        }
    }
    Evidence { files, records, ..Evidence::default() }
}

/// Records the steps that the plan shows as over before the runner did anything.
pub(super) fn record_shown(
    ledger: &mut Ledger,
    (header, workflow): (&Header, &Workflow),
    asked: &ResumeOptions,
    console: &dyn Console,
) -> Result<(), RunError> {
    record_shown_done(ledger)?;
    if asked.is_new || asked.gives_up { Ok(()) } else { record_unmet(ledger, (header, workflow), console) }
}

/// Records the steps of agents that were cut off when their outputs were there, as the plan says.
fn record_shown_done(ledger: &mut Ledger) -> Result<(), RunError> {
    let shown = ledger.run().steps.iter().enumerate().filter(|(at, step)| {
        step.status == Status::InProgress
            && step.kind == StepKind::Work
            && ledger.effective_status(*at) == Some(EffectiveStatus::Done)
    });
    let shown: Vec<_> = shown.map(|(_, step)| (step.id.clone(), step.definition_digest())).collect();
    for (step, digest) in shown {
        let summary = "its outputs were there when the run went on".to_owned();
        let outcome = Outcome { summary: Some(summary), ..Outcome::completed(step) };
        ledger.record(ChangeKind::Finish(Box::new(outcome)), Facts { digest, ..Facts::default() }, true)?;
    }
    Ok(())
}

/// Records the steps that their conditions leave out by now: a step after them can be run alone.
fn record_unmet(
    ledger: &mut Ledger,
    (header, workflow): (&Header, &Workflow),
    console: &dyn Console,
) -> Result<(), RunError> {
    let needs = |step: &Step| step.needs.iter().map(|need| need.id.clone()).collect::<Vec<_>>();
    let needs: Vec<Vec<StepId>> = workflow.steps.iter().map(needs).collect();
    let steps = &ledger.run().steps;
    let (total, unmet) = (steps.len(), unmet((steps, &needs), header, ledger.state()));
    for (at, why) in unmet {
        let id = ledger.run().steps[at].id.clone();
        ledger.leave_out(id.clone(), why, false)?;
        console.tell(&Event::Skipped { number: at + 1, total, step: id.as_str(), why });
    }
    Ok(())
}

/// Returns why an output of the step is no proof that it is done. `outputs` are its files.
pub(super) fn missing_output(folder: &Utf8Path, step: &Step, outputs: &[RelPath]) -> Option<String> {
    step.outputs.iter().zip(outputs).find_map(|(output, file)| {
        let text = match files::read(&file.under(folder)) {
            Ok(text) if !text.is_empty() => text,
            Ok(_) => return Some(format!("its output {file} is empty")),
            Err(_) => return Some(format!("it did not write its output {file}")),
        };
        let (schema, _) = output.schema.as_ref()?;
        let why = text_misfit(folder, (file, &text), schema)?;
        Some(format!("its output {file} does not fit its schema: {why}"))
    })
}

/// Tells whether a review sent back the work of a step.
pub(super) fn is_sent_back(step: &Step, workflow: &Workflow, ledger: &Ledger) -> bool {
    let is_refused = |review: &&Step| {
        let state = ledger.step(&review.id);
        let is_of_step = review.reviews.as_ref().is_some_and(|of| of.id == step.id);
        is_of_step && state.is_some_and(|state| state.status == Status::Failed && state.verdict.is_some())
    };
    workflow.steps.iter().any(|review| is_refused(&review))
}

/// Says that outputs are as they were sent back; `None` if any of them was changed.
pub(super) fn untouched(folder: &Utf8Path, outputs: &[RelPath], sent_back: &[Option<String>]) -> Option<String> {
    let is_same = !sent_back.is_empty() && digests(folder, outputs) == sent_back;
    let first = outputs.first().filter(|_| is_same)?;
    Some(format!("{first} is unchanged since the attempt that was sent back"))
}

/// Returns the digest of each file, for one that cannot be read nothing.
pub(super) fn digests(folder: &Utf8Path, files: &[RelPath]) -> Vec<Option<String>> {
    let digest = |path: &RelPath| files::read(&path.under(folder)).ok().map(|text| sha256_hex(text.as_bytes()));
    files.iter().map(digest).collect()
}

/// Returns why the text of an output does not fit a schema.
fn text_misfit(folder: &Utf8Path, (path, text): (&RelPath, &str), schema: &OutputSchema) -> Option<String> {
    match serde_json::from_str(text) {
        Ok(value) => misfit(folder, &value, schema),
        Err(error) => Some(format!("{path} is not JSON: {error}")),
    }
}

/// Returns why a value does not fit a schema, which may be a file in the folder.
pub(super) fn misfit(folder: &Utf8Path, value: &Value, schema: &OutputSchema) -> Option<String> {
    let schema = match schema {
        OutputSchema::Inline(schema) => Ok(schema.clone()),
        OutputSchema::File(file) => files::read(&file.under(folder))
            .and_then(|text| serde_json::from_str(&text).map_err(|error| format!("{file}: {error}"))),
    };
    schema.and_then(|schema| crate::schema::violation(&schema, value)).unwrap_or_else(Some)
}
