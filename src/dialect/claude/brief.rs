//! The brief of a session for a fresh one: goal, plan, decisions, what is done, open and unknown, and the files it touched.

use serde_json::{Value, json};

use super::{
    digest::Digest,
    run,
    salvage::{salvage, without_nulls},
    steps,
};
use crate::model::{Action, Brief, Next, Plan, Run, Status, Step, safe_line, safe_text, value_in_words};

/// Number of rows of each list.
const ROWS: usize = 30;
/// Number of files that are named.
const FILES: usize = 40;

/// Writes the brief. What a small budget leaves out stands last in its fields.
pub(super) fn write(digest: &Digest, run: &Run, plan: &Plan, next: &Next) -> Brief {
    let step = run.step(&next.step);
    let context = context(digest, run, plan);
    Brief {
        task: task(next).to_owned(),
        prompt: prompt(run, &context),
        agent_context: context,
        told: Vec::new(),
        instructions: step.map(|step| instructions(digest, step, next)).unwrap_or_default(),
        reading: Vec::new(),
        notes: Vec::new(),
    }
}

/// Returns what is asked for the next step.
fn task(next: &Next) -> &'static str {
    match next.action {
        Action::Verify => "Do not run it again before a person has decided. Find out what it did.",
        Action::Retry if next.step.as_str() == run::TURN => "The session was cut off here; do what is left of it.",
        Action::Retry
        | Action::Run
        | Action::Exec
        | Action::Return
        | Action::Approve
        | Action::Merge
        | Action::Archive => "",
    }
}

/// Returns what the session says about the next step.
fn instructions(digest: &Digest, step: &Step, next: &Next) -> String {
    let mut parts = Vec::new();
    if let (Action::Verify, Some(places)) = (next.action, &step.probe) {
        parts.push(format!("Where to look: {places}."));
    }
    if !step.detail.agents.is_empty() {
        parts.push(format!("Agents were launched for it: {}.", step.detail.agents.join(", ")));
    }
    if let Some(error) = &step.error {
        parts.push(format!("Its last error: {error}."));
    }
    let agent =
        digest.agents.values().find(|agent| step.file.as_ref().is_some_and(|file| *file.as_str() == agent.path));
    if let (Action::Retry, Some(agent)) = (next.action, agent) {
        let said = agent.transcript.as_ref().and_then(|transcript| transcript.last_answer.as_ref());
        parts.extend(
            said.map(|said| format!("What it said last: {}", steps::without_home(digest, &safe_text(&said.text)))),
        );
        parts.push(format!("All that it did is in {}, below the folder of Claude Code.", agent.path));
    }
    parts.join(" ")
}

fn context(digest: &Digest, run: &Run, plan: &Plan) -> Value {
    let row = |step: &&Step| {
        let title = format!("{} {}", step.id, step.title);
        let files: Vec<&str> = match step.proof.traces.as_slice() {
            [] => step.detail.targets.iter().map(String::as_str).collect(),
            traces => traces.iter().map(|path| path.as_str()).collect(),
        };
        if files.is_empty() { title } else { format!("{title} ({})", files.join(", ")) }
    };
    let is_unknown = |step: &&Step| step.status != Status::Completed && !step.idempotent;
    let done = run.steps.iter().filter(|step| plan.steps.completed.contains(&step.id));
    let open = run.steps.iter().filter(|step| step.status != Status::Completed && step.idempotent);
    let unknown = run.steps.iter().filter(is_unknown).take(ROWS);
    let unknown = unknown.map(|step| json!({ "step": row(&step), "look_at": step.probe }));
    let main = &digest.main;
    let agents = native_agents(digest);
    let all_files = main
        .files
        .iter()
        .chain(digest.agents.values().flat_map(|agent| agent.transcript.iter().flat_map(|it| &it.files)));
    let (files, outside) = steps::in_project(digest, all_files.map(|file| file.path.as_str()));
    let files: Vec<&str> = files.iter().rev().take(FILES).map(|path| path.as_str()).collect();
    without_nulls(json!({
        "ended": run.ended.as_ref().map(|cause| cause.detail.as_str()),
        "unknown": unknown.collect::<Vec<_>>(),
        "open": open.take(ROWS).map(|step| row(&step)).collect::<Vec<_>>(),
        "workflows": salvage(digest),
        "plan": main.plan.as_ref().map(|plan| safe_text(&plan.text)),
        "done": done.map(|step| row(&step)).chain(agents).take(ROWS).collect::<Vec<_>>(),
        "decisions": main.answers.iter().map(|answer| safe_line(answer, 300)).collect::<Vec<_>>(),
        "files": files,
        "files_elsewhere": (outside > 0).then_some(outside),
        "last_request": main.last_prompt.as_ref().filter(|last| Some(&last.text) != run.goal.as_ref()).map(|last| safe_line(&last.text, 600)),
    }))
}

/// Returns the agents of the foreground that ended: they are parts of turns, not steps.
fn native_agents(digest: &Digest) -> Vec<String> {
    let launches = digest.main.launches.values().filter(|launch| launch.is_done && !launch.is_background);
    launches.map(|launch| format!("agent {}", safe_line(&launch.title, 60))).collect()
}

/// Returns the brief as text that a model can follow.
fn prompt(run: &Run, context: &Value) -> String {
    let mut text = format!("# {}\n", safe_line(&run.title, 60));
    if let Some(goal) = &run.goal {
        text.push_str(&format!("\nGoal: {}\n", safe_text(goal)));
    }
    for (name, value) in context.as_object().into_iter().flatten() {
        let lines: Vec<String> = match value {
            Value::Array(items) => items.iter().map(value_in_words).collect(),
            other => vec![value_in_words(other)],
        };
        if !lines.is_empty() {
            text.push_str(&format!("\n## {name}\n{}\n", lines.join("\n")));
        }
    }
    text
}
