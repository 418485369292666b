//! What of a cut workflow can be used: its results, and what really has to run (docs/formats/claude.md#workflows).

use serde_json::{Value, json};

use super::{
    digest::{Digest, Workflow},
    run::{in_launch_order, is_reported_complete, workflow_name},
    standing::AgentEnd,
};
use crate::model::{plural, safe_line, safe_text};

/// Characters of a prompt that is named.
const PROMPT_CHARS: usize = 200;

/// Returns the workflows of a session that did not end, as data for a script. Those that ended are left out.
pub(super) fn salvage(digest: &Digest) -> Vec<Value> {
    let numbered = (1_usize..).zip(in_launch_order(digest));
    numbered
        .filter(|(_, workflow)| is_cut(digest, workflow))
        .map(|(number, workflow)| one(digest, number, workflow))
        .collect()
}

fn is_cut(digest: &Digest, workflow: &Workflow) -> bool {
    let is_done = |call| workflow.call_end(call) == AgentEnd::Done;
    !workflow.calls.iter().all(is_done) || !is_reported_complete(digest, workflow)
}

fn one(digest: &Digest, number: usize, workflow: &Workflow) -> Value {
    let mut agents = Vec::new();
    let mut again = Vec::new();
    let mut repeats = Vec::new();
    let mut has_gap = false;
    for (place, call) in (1_usize..).zip(&workflow.calls) {
        let end = workflow.call_end(call);
        let step = format!("W{number}/{place}");
        let (state, runs) = match &end {
            AgentEnd::Done => ("result", false),
            AgentEnd::Disputed => ("check", true),
            AgentEnd::Cut { may_have_acted: false, .. } => ("started", true),
            AgentEnd::Cut { may_have_acted: true, .. } => ("unknown", true),
        };
        has_gap |= end != AgentEnd::Done;
        // The client's own resume repeats every agent that started after the first unfinished one.
        if has_gap {
            repeats.push(step.clone());
        }
        if runs {
            again.push(step.clone());
        }
        let prompt =
            call.agents.iter().filter_map(|id| workflow.agents.get(id)?.transcript.as_ref()?.first_prompt.as_ref());
        let prompt = prompt.map(|prompt| safe_line(&prompt.text, PROMPT_CHARS)).next();
        let result = call.result.as_ref().map(|result| {
            json!({ "file": workflow.path, "line": result.line, "bytes": result.bytes, "head": safe_text(&result.head) })
        });
        agents.push(without_nulls(json!({
            "step": step,
            "agent_id": call.agents.last(),
            "title": workflow.title_of(call),
            "phase": call.phase.as_deref().map(|phase| safe_line(phase, 60)),
            "state": state,
            "result": result,
            "prompt": prompt.filter(|_| runs),
        })));
    }
    let script = workflow.script.as_deref();
    without_nulls(json!({
        "run": workflow.id,
        "name": workflow_name(digest, workflow),
        "script": script,
        "agents": agents,
        "run_again": again,
        "repeated_by_resume": repeats,
        "advice": advice(workflow.calls.len(), again.len(), repeats.len()),
    }))
}

/// Returns what to do with a cut workflow, in a sentence.
fn advice(all: usize, again: usize, repeats: usize) -> String {
    let with = all - again;
    let more = repeats.saturating_sub(again);
    let price = match more {
        0 => String::new(),
        more => format!("; the client's own relaunch also repeats {}", plural(more, "finished agent")),
    };
    match (with, again) {
        (_, 0) => format!(
            "all {} have results: use them, or relaunch the workflow for what comes after them",
            plural(all, "agent")
        ),
        (0, _) => format!("none of {} has a result: relaunch the workflow", plural(all, "agent")),
        (_, _) => format!(
            "{with} of {} have results: use them, and run {} with its prompt; relaunch only if the results are useless{price}",
            plural(all, "agent"),
            if again == 1 { "the other one".to_owned() } else { format!("each of the other {again}") },
        ),
    }
}

/// Removes members that are null.
pub(super) fn without_nulls(mut value: Value) -> Value {
    if let Value::Object(members) = &mut value {
        members.retain(|_, member| !member.is_null());
    }
    value
}
