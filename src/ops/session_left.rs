//! What a session of the client left open that the client does not tell it when it is resumed.

use serde_json::Value;

use super::{context::planned_session, project_context::ProjectContext};
use crate::model::plural;

/// Number of lines.
const LINES: usize = 12;

/// Returns a line for each task in progress, agent that was cut off and workflow that did not end: ids and counts, no text of the session.
pub(crate) fn session_left(ctx: &ProjectContext, session: &str) -> Vec<String> {
    let Some((_, planned)) = planned_session(ctx, session) else { return Vec::new() };
    let native = &planned.plan.native;
    let list = |key: &str| native.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let steps = list("steps");
    let workflows = list("workflows");
    let lines = steps.iter().filter_map(of_step).chain((1..).zip(&workflows).filter_map(of_workflow));
    lines.take(LINES).collect()
}

fn of_step(step: &Value) -> Option<String> {
    let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
    let files = step.get("files").and_then(Value::as_array).map_or(0, Vec::len);
    let wrote = if files == 0 { String::new() } else { format!("; it wrote {}", plural(files, "file")) };
    let id = text("id");
    match (text("kind"), text("standing")) {
        ("task", "interrupted") => Some(format!("- task {id} is still in progress{wrote}")),
        ("agent", "outcome_unknown") => Some(format!("- agent {id} was cut off, and its outcome is unknown{wrote}")),
        ("agent", "interrupted") => Some(format!("- agent {id} was cut off and changed nothing")),
        _ => None,
    }
}

fn of_workflow((number, workflow): (usize, &Value)) -> Option<String> {
    Some(format!("- workflow W{number} did not end: {}", workflow.get("advice").and_then(Value::as_str)?))
}
