//! The plan of a session in its own words: how it ended, what became of its pieces, and the two ways back with their price.

use serde_json::{Map, Value, json};

use super::{
    digest::{Digest, Life},
    run,
    salvage::{salvage, without_nulls},
    standing::{AgentEnd, TITLE_CHARS},
    steps,
};
use crate::model::{Action, Plan, Run, Step, Suggested, Verb, quoted, safe_line};

/// Bytes of a brief without the parts that depend on the session.
const BRIEF_BASE: usize = 900;
/// Bytes of a brief by default.
const BRIEF_BUDGET: usize = 4_096;
/// Bytes of one token, roughly.
const TOKEN_BYTES: u64 = 4;
/// How many times the tokens of the brief a resume may send before the brief is recommended.
const DEAR: u64 = 10;

/// Returns what does not depend on the plan.
pub(super) fn facts(digest: &Digest, run: &Run) -> Value {
    let main = &digest.main;
    let cause = run.ended.as_ref();
    let cwd = main.last_cwd.as_deref().map(|cwd| match steps::relative(digest, cwd) {
        Some(below) => below.as_str().to_owned(),
        None if cwd == digest.root => ".".to_owned(),
        None => "another folder".to_owned(),
    });
    let plan = main.plan.as_ref().map(|plan| {
        let file = plan.file.rsplit_once("/plans/").map(|(_, name)| format!("plans/{}", safe_line(name, 120)));
        without_nulls(json!({ "approved": true, "edited": plan.is_edited, "file": file, "bytes": plan.bytes }))
    });
    json!({
        "session": without_nulls(json!({
            "id": digest.session, "client": main.version, "cwd": cwd, "branch": main.branch.as_deref().map(|name| safe_line(name, 200)),
            "compactions": main.compactions, "tokens": main.tokens, "adopted_as": digest.adopted_as,
        })),
        "ended": without_nulls(json!({
            "cause": cause.map(|cause| cause.kind), "clean": digest.is_clean(), "at": cause.and_then(|cause| cause.at),
            "detail": cause.map(|cause| cause.detail.as_str()),
        })),
        "details": run.steps.iter().map(|step| (step.id.as_str().to_owned(), detail(digest, step))).collect::<Map<_, _>>(),
        "agents_done": agents_done(digest),
        "workflows": salvage(digest),
        "plan": plan,
        "back": back(digest, run),
    })
}

/// Returns the plan of a session; `facts` is what [`facts`] returned.
pub(super) fn native(facts: &Value, run: &Run, plan: &Plan) -> Value {
    let Value::Object(mut all) = facts.clone() else { return Value::Null };
    let details = all.remove("details").unwrap_or_default();
    let steps = run.steps.iter().map(|step| {
        let mut row = json!({
            "id": step.id, "kind": kind(step), "title": step.title, "standing": standing(step, plan), "since": step.started_at,
        });
        if let (Value::Object(row), Some(Value::Object(more))) = (&mut row, details.get(step.id.as_str())) {
            row.extend(more.clone());
        }
        without_nulls(row)
    });
    let steps: Vec<Value> = steps.collect();
    all.insert("steps".to_owned(), Value::Array(steps));
    without_nulls(Value::Object(all))
}

fn kind(step: &Step) -> &'static str {
    match step.id.as_str() {
        _ if super::is_turn(&step.id) => "turn",
        _ if super::is_task(&step.id) => "task",
        id if id.starts_with("A-") => "agent",
        id if id.contains('/') => "workflow_agent",
        _ => "workflow",
    }
}

/// Returns what became of a step, in a word.
fn standing(step: &Step, plan: &Plan) -> &'static str {
    let next = plan.next.iter().find(|next| next.step == step.id);
    match next.map(|next| next.action) {
        Some(Action::Verify) if !step.idempotent => "outcome_unknown",
        Some(Action::Verify) => "unproved",
        Some(Action::Retry | Action::Return) => "interrupted",
        Some(Action::Run | Action::Exec | Action::Approve | Action::Merge | Action::Archive) => "open",
        None if plan.steps.completed.contains(&step.id) => "done",
        None => "waits",
    }
}

/// Returns what only the files of the session say about a step.
fn detail(digest: &Digest, step: &Step) -> Value {
    let files: Vec<&str> = match step.proof.traces.as_slice() {
        [] => step.detail.targets.iter().map(String::as_str).collect(),
        traces => traces.iter().map(|path| path.as_str()).collect(),
    };
    let files = (!files.is_empty()).then_some(files);
    let ids = digest.agent_ids();
    let id = ids.iter().find(|id| run::agent_step_id(id, &ids) == step.id);
    let transcript = id.and_then(|id| digest.agents.get(id)?.transcript.as_ref());
    without_nulls(json!({
        "agent_id": id,
        "files": files,
        "last_tool": transcript.and_then(|transcript| transcript.last_effect.as_ref()).map(|call| safe_line(&call.name, 60)),
        "agents": (!step.detail.agents.is_empty()).then_some(&step.detail.agents),
        "error": step.error,
        "look_at": step.probe,
        "transcript": step.file.as_ref().filter(|_| id.is_some() || step.id.as_str().contains('/')),
        "tokens": (step.tokens > 0).then_some(step.tokens),
    }))
}

fn agents_done(digest: &Digest) -> Vec<Value> {
    let done = digest.agent_ids().into_iter().filter(|id| digest.agent_end(id) == AgentEnd::Done);
    let row = |id: String| {
        let agent = digest.agents.get(&id);
        let (launch, _) = digest.launch_of(&id, agent);
        let title = launch.map(|launch| launch.title.as_str()).or_else(|| agent?.title.as_deref()).unwrap_or(&id);
        let transcript = agent.and_then(|agent| agent.transcript.as_ref());
        without_nulls(json!({
            "agent_id": id, "title": safe_line(title, TITLE_CHARS), "tokens": transcript.map(|transcript| transcript.tokens),
            "result": agent.map(|agent| agent.path.as_str()),
        }))
    };
    done.map(row).collect()
}

/// Returns the ways back, the recommended one first.
pub(super) fn back(digest: &Digest, run: &Run) -> Value {
    let main = &digest.main;
    if digest.life == Life::Alive {
        return json!([]);
    }
    let bytes = brief_bytes(digest);
    let brief = json!({
        "way": "brief", "command": Suggested::of(Verb::Context, &run.id),
        "tokens": bytes as u64 / TOKEN_BYTES, "bytes": bytes, "estimate": true,
    });
    let resume = json!({
        "way": "resume", "command": resume_command(digest), "tokens": main.tokens_again, "bytes": main.live_bytes.min(main.bytes),
    });
    let is_too_long = main.api_error().is_some_and(|error| error.to_lowercase().contains("too long"));
    let has_agent_to_continue = digest.agent_ids().iter().any(|id| digest.agent_end(id) != AgentEnd::Done);
    let is_dear = main.tokens_again > DEAR * (bytes as u64 / TOKEN_BYTES) && !has_agent_to_continue;
    if is_too_long || main.compactions > 1 || is_dear { json!([brief, resume]) } else { json!([resume, brief]) }
}

/// Returns the client's own command that continues a session.
pub(super) fn resume_command(digest: &Digest) -> String {
    let resume = format!("claude --resume {}", quoted(&digest.session));
    match &digest.cd {
        Some(folder) => format!("cd {folder} && {resume}"),
        None => resume,
    }
}

/// Returns the size of the brief, roughly.
fn brief_bytes(digest: &Digest) -> usize {
    let goal = digest.main.first_prompt.as_ref().map_or(0, |prompt| prompt.text.len().min(400));
    let plan = digest.main.plan.as_ref().map_or(0, |plan| plan.text.len());
    let rows = digest.task_files.len()
        + digest.agents.len()
        + digest.workflows.iter().map(|one| one.calls.len()).sum::<usize>();
    (BRIEF_BASE + goal + plan + rows * 90 + digest.main.files.len() * 40).min(BRIEF_BUDGET)
}
