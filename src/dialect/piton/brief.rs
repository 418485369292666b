//! The hand-over of a step to an agent or a person.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{after_agent, definition::changed_outline, facts::uses_of, outputs, record::Header, session::Session};
use crate::{
    model::{
        Brief, FileSet, Next, OutputSchema, ReadingItem, RelPath, Run, Step, StepKind, clean, clean_line, mask_secrets,
    },
    workflow::variables::RenderError,
};

/// Builds the hand-over for one step.
pub(super) fn brief(files: &FileSet, run: &Run, next: &Next) -> Brief {
    let Some(step) = run.step(&next.step) else { return Brief::default() };
    let definition = &step.definition;
    let session = Session::read(files).ok();
    let filled = session.as_ref().map(|session| filled_in(session, step)).transpose();
    let (filled, unset) = match filled {
        Ok(told) => (told, None),
        Err(error) => (None, Some(error.message)),
    };
    let given = session.as_ref().map_or_else(|| as_written(step).to_owned(), |session| session.given(as_written(step)));
    let around = |fill: &dyn Fn(&Session, &str) -> Result<String, RenderError>| {
        session.as_ref().and_then(|session| after_agent::surroundings(step, |text| fill(session, text)).ok())
    };
    let lines = |told: String, around: Option<Vec<String>>| {
        let lines = std::iter::once(told).filter(|told| !told.is_empty()).chain(around.into_iter().flatten());
        mask_secrets(&clean(&lines.collect::<Vec<_>>().join("\n"))).into_owned()
    };
    // What other steps left is no instruction, so that a text with such values is among what is not trusted.
    let asked = lines(given.clone(), around(&|session, text| Ok(session.given(text))));
    let instructions = lines(filled.unwrap_or(given), around(&Session::filled));
    let gate = definition.get("gate").and_then(Value::as_str).map(|text| clean_line(text, 400));
    let declared = session.as_ref().map(|session| outputs::declared(session, &step.id, definition));
    let outputs: Value = declared.unwrap_or_default().iter().map(output).collect();
    // A definition that is kept with the records says nothing that the run does not, and one that changed since says something else.
    let is_read =
        |session: &Session| session.header.adopted_from.is_none() && changed_outline(files, session).is_none();
    let reading = session.filter(is_read);
    let reading = reading.map(|session| workflow_file(&session.header));
    Brief {
        agent_context: json!({
            "run": run.id,
            "workflow": run.workflow,
            "feature": run.title,
            "step": step.id,
            "agent": next.agent,
            "attempt": next.attempt,
            "depends_on": step.depends_on,
            "outputs": &outputs,
            "instructions": instructions,
            "approver": gate,
        }),
        told: told(&outputs),
        prompt: prompt(run, step, next, &instructions),
        task: with_wanted(&asked, step),
        instructions: if asked == instructions { String::new() } else { instructions },
        reading: reading.into_iter().chain(used(definition)).collect::<Vec<ReadingItem>>(),
        notes: gate.into_iter().chain(unset).collect(),
    }
}

/// Returns what a step is told, with the values of its variables.
///
/// # Errors
///
/// If one has no value.
pub(crate) fn filled_in(session: &Session, step: &Step) -> Result<String, RenderError> {
    session.filled(as_written(step))
}

fn as_written(step: &Step) -> &str {
    step.definition.get("instructions").and_then(Value::as_str).unwrap_or_default()
}

/// Returns the workflow file, by its path from the folder of the work where it lies below.
fn workflow_file(header: &Header) -> ReadingItem {
    let source = &header.workflow;
    let path = match source.root == header.root {
        true => source.file.as_str().to_owned(),
        false => source.file.under(&source.root).into_string(),
    };
    ReadingItem { what: "workflow definition".to_owned(), path: Some(path) }
}

/// Returns the files that a step reads.
fn used(definition: &Value) -> impl Iterator<Item = ReadingItem> {
    let item =
        |path: RelPath| ReadingItem { what: "used by the step".to_owned(), path: Some(path.as_str().to_owned()) };
    uses_of(definition).into_iter().map(item)
}

fn output((path, schema): &(RelPath, Option<OutputSchema>)) -> Value {
    match schema {
        None => json!(path),
        Some(OutputSchema::File(file)) => json!({"path": path, "schema": file}),
        Some(OutputSchema::Inline(schema)) => json!({"path": path, "schema": schema}),
    }
}

/// Returns the fields that the context says elsewhere. Outputs are named in the instructions; a schema is only here.
fn told(outputs: &Value) -> Vec<&'static str> {
    let mut told =
        vec!["run", "workflow", "feature", "step", "agent", "attempt", "depends_on", "instructions", "approver"];
    if outputs.as_array().is_none_or(|outputs| outputs.iter().all(Value::is_string)) {
        told.push("outputs");
    }
    told
}

/// Adds what the step has to leave to its instructions.
fn with_wanted(instructions: &str, step: &Step) -> String {
    wanted(&step.definition, &step.proof.outputs)
        .fold(instructions.to_owned(), |text, more| format!("{}\n{more}", text.trim_end()).trim_start().to_owned())
}

/// Returns the sentences that say what a step has to do and to leave besides its instructions: `outputs` are the files that prove it.
pub(crate) fn wanted(definition: &Value, outputs: &[RelPath]) -> impl Iterator<Item = String> {
    let reviewed = definition.get("reviews").and_then(Value::as_str);
    let review = reviewed.map(|step| format!("Review the work of {}.", clean_line(step, 200)));
    let outputs: Vec<&str> = outputs.iter().map(RelPath::as_str).collect();
    let files = format!("Write {}: the step counts as done only with it.", outputs.join(", "));
    let commit = "Commit the work: the step counts as done only with a new commit.".to_owned();
    let result = definition.get("result").map(|schema| {
        let form = match schema {
            Value::String(file) => format!("the JSON Schema in {file}"),
            schema => format!("this JSON Schema: {schema}"),
        };
        format!("End with the result as JSON, in a block ```json before the report. It has to satisfy {form}")
    });
    let files = (!outputs.is_empty()).then_some(files);
    let commit = definition.get("commit_required").map(|_| commit);
    [review, files, commit, result].into_iter().flatten()
}

fn prompt(run: &Run, step: &Step, next: &Next, instructions: &str) -> String {
    let mut text = String::new();
    let title = clean_line(&step.title, 200);
    let _ = writeln!(text, "Workflow: {} ({})", clean_line(&run.title, 200), clean_line(&run.workflow, 200));
    let _ = writeln!(text, "Step: {} - {title}, attempt {}", step.id, next.attempt);
    if !instructions.is_empty() {
        let _ = writeln!(text, "\nInstructions of the workflow file:\n{}", instructions.trim_end());
    }
    if !step.proof.outputs.is_empty() {
        let _ = writeln!(text, "\nWrite these files; the step only counts as done with them:");
        for output in &step.proof.outputs {
            let _ = writeln!(text, "- {output}");
        }
    }
    match step.kind {
        StepKind::Review => {
            text.push_str("\nEnd with a verdict: APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION or REJECTED.\n")
        }
        StepKind::Gate => text.push_str("\nAsk the person and record the answer; do not continue without it.\n"),
        StepKind::Work | StepKind::Container => {}
    }
    text
}
