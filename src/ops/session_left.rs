//! What a session of the client left open that the client does not tell it when it is resumed.

use serde_json::Value;

use super::{context::planned_session, project_context::ProjectContext};
use crate::model::safe_line;

/// Number of lines.
const LINES: usize = 12;
const TITLE_CHARS: usize = 60;
const FILES_SHOWN: usize = 8;

/// Returns a line for each task in progress, agent that was cut off and workflow that did not end.
pub(crate) fn session_left(ctx: &ProjectContext, session: &str) -> Vec<String> {
    let Some((_, planned)) = planned_session(ctx, session) else { return Vec::new() };
    let native = &planned.plan.native;
    let list = |key: &str| native.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let steps = list("steps");
    let workflows = list("workflows");
    let lines = steps.iter().filter_map(of_step).chain(workflows.iter().filter_map(of_workflow));
    lines.take(LINES).collect()
}

fn of_step(step: &Value) -> Option<String> {
    let text = |key: &str| step.get(key).and_then(Value::as_str).unwrap_or_default();
    let title = safe_line(text("title"), TITLE_CHARS);
    let files = step.get("files").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let files: Vec<String> = files.take(FILES_SHOWN).map(|file| safe_line(file, 200)).collect();
    let wrote = if files.is_empty() { String::new() } else { format!("; it wrote {}", files.join(", ")) };
    match (text("kind"), text("standing")) {
        ("task", "interrupted") => Some(format!("- {} is still in progress: {title}{wrote}", text("id"))),
        ("agent", "outcome_unknown") => {
            Some(format!("- the agent {title} was cut off, and its outcome is unknown{wrote}"))
        }
        ("agent", "interrupted") => Some(format!("- the agent {title} was cut off and changed nothing")),
        _ => None,
    }
}

fn of_workflow(workflow: &Value) -> Option<String> {
    let text = |key: &str| workflow.get(key).and_then(Value::as_str);
    Some(format!("- the workflow {} did not end: {}", safe_line(text("name")?, TITLE_CHARS), text("advice")?))
}
