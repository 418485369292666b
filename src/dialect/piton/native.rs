//! The plan of a session in the words of Specification 186 (docs/formats/prodigy.md#the-resume-plan), and the brief of a step.

use std::{collections::BTreeMap, fmt::Write as _};

use serde_json::{Map, Value, json};

use super::{
    session::Session,
    state::{ExecutionState, State},
};
use crate::model::{
    Action, Brief, FileSet, Next, Plan, ReadingItem, Run, Step, StepId, Suggested, Verb, clean, clean_line,
    mask_secrets,
};

/// Returns the `ResumePlan` of Specification 186, counted from 0 as there, with the state that it was made from.
/// `state` is what [`state_fields`] returned.
pub(super) fn native(state: &Value, run: &Run, plan: &Plan) -> Value {
    let positions: BTreeMap<&str, usize> =
        run.steps.iter().enumerate().rev().map(|(at, step)| (step.id.as_str(), at)).collect();
    let index = |id: &StepId| positions.get(id.as_str()).copied();
    let first = plan.next.first().filter(|next| next.action != Action::Merge);
    let over = plan.steps.completed.iter().chain(&plan.steps.skipped);
    let mut skipped: Vec<usize> = over.filter_map(index).collect();
    skipped.sort_unstable();
    let variables = first.and_then(|next| run.step(&next.step)).map(|step| step.detail.variables.clone());
    json!({
        "session": run.id,
        "state": state,
        "start_index": first.and_then(|next| index(&next.step)).unwrap_or(run.steps.len()),
        "retry_current": first.is_some_and(|next| next.action == Action::Retry),
        "skip_steps": skipped,
        "variables": masked(Value::Object(variables.unwrap_or_default())),
    })
}

fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(mask_secrets(&clean(&text)).into_owned()),
        Value::Array(items) => items.into_iter().map(masked).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, masked(value))).collect::<Map<_, _>>().into(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

/// Returns the state of a session as Specification 186 writes it (docs/formats/prodigy.md#the-four-states).
pub(super) fn state_fields(state: &State, steps: &[Step]) -> Value {
    let index = |id: &StepId| steps.iter().position(|step| step.id == *id);
    let retry = |step: &StepId| {
        let retry = state.steps.get(step.as_str()).and_then(|step| step.retry);
        retry.map(|retry| json!({"attempts": retry.attempts, "next_at": retry.next_at}))
    };
    match &state.execution {
        ExecutionState::Created => json!("Created"),
        ExecutionState::BeforeStep { step } => json!({"BeforeStep": {"step_index": index(step), "retry": retry(step)}}),
        ExecutionState::Completed { step } => json!({"Completed": {"step_index": index(step)}}),
        ExecutionState::Failed { step, error, retryable } => {
            let error = mask_secrets(&clean_line(error, 400)).into_owned();
            let retry = retry(step);
            json!({"Failed": {"step_index": index(step), "error": error, "retryable": retryable, "retry": retry}})
        }
        ExecutionState::Interrupted { step, in_progress } => {
            json!({"Interrupted": {"step_index": step.as_ref().and_then(index), "in_progress": in_progress}})
        }
    }
}

/// Writes the brief of one step.
pub(super) fn brief(files: &FileSet, run: &Run, next: &Next) -> Brief {
    let Some(step) = run.step(&next.step) else { return Brief::default() };
    let definition = step.definition.clone();
    let session = Session::read(files).ok();
    let header = session.as_ref().map(|session| &session.header);
    let folder = header.map(|header| header.work_folder().as_str().to_owned());
    let workflow = header.map(|header| header.workflow.file.under(&header.workflow.root).into_string());
    let mut prompt = String::new();
    let _ = writeln!(prompt, "Workflow: {}", clean_line(&run.workflow, 200));
    let _ = writeln!(prompt, "Step: {} - {}, attempt {}", step.id, clean_line(&step.title, 200), next.attempt);
    let command = match header {
        Some(header) if header.is_attended => Suggested::on_step(Verb::Exec, &step.id, &run.id),
        Some(_) | None => Suggested::of(Verb::Resume, &run.id),
    };
    let told = format!("It is run by `{command}`; nothing has to be done by hand.");
    let _ = writeln!(prompt, "\n{told}");
    Brief {
        agent_context: json!({
            "session": run.id,
            "workflow": run.workflow,
            "step": step.id,
            "attempt": next.attempt,
            "working_folder": folder,
            "definition": definition,
        }),
        told: vec!["session", "workflow", "step", "attempt"],
        prompt,
        task: told,
        instructions: String::new(),
        reading: vec![ReadingItem { what: "workflow file".to_owned(), path: workflow }],
        notes: Vec::new(),
    }
}
