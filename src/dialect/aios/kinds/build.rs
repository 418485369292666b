//! The state of an autonomous build (docs/formats/aios-states.md#autonomous-build): subtasks of one story.
//!
//! The state lists the completed subtasks and the current one; later subtasks are only in the plan. The framework writes values
//! that its own JSON Schema rejects, so null is treated as absent.

use serde_json::{Value, json};

use crate::{
    dialect::{
        EditError,
        aios::{
            fields::KindReader as _,
            kind::{Claim, Descriptor, FINISHED_STATUS, StoryName, Unnamed},
            step_list::{ListWriter, Op, StepChange, StepList},
            steps::{follow, note_failures},
        },
    },
    document::{Node, Reader},
    model::{Finding, FindingCode, RelPath, Run, Status, Step, StepId, is_commit_hash, sha256_hex},
};

/// A build that was silent for longer is considered abandoned (docs/formats/aios.md#liveness).
const ABANDONED_SECONDS: i64 = 3_600;

/// Step id of the subtask that follows those the state names.
pub(super) const NEXT: &str = "next";

pub(super) static BUILD: Descriptor = Descriptor {
    workflow_type: "Build",
    prefix: "build",
    version: Some(("/schemaVersion", 1)),
    subject: &["/storyId"],
    unnamed: Unnamed::Folder,
    story: StoryName::Subject(None),
    stamps: &["/lastCheckpoint", "/startedAt", "/abandonedAt"],
    started: Some("/startedAt"),
    claim: Some(Claim { path: None, finished: FINISHED_STATUS }),
    records: STEPS.records(),
    ..Descriptor::of_files(
        "the state of an autonomous build",
        |files| STEPS.load(files),
        |files, change| STEPS.edit(files, change),
    )
};

static STEPS: StepList = StepList {
    workflow: "autonomous-build",
    title: "Build for story {}",
    complete_run,
    what: "a build",
    instead: [
        "finish {step}, or remove it from the plan of the build",
        "finish its subtasks, or remove it from the plan of the build",
    ],
    unrecorded: "the state does not name the next subtask: write its id from the plan of the build into `currentSubtask`, then \
                 run `piton plan`",
    // What a person wants done again is no longer done.
    begin: &[Op::Take(DONE), Op::Key(CURRENT), IN_PROGRESS],
    finish: &[
        Op::Do(count),
        Op::Add(DONE),
        Op::Push("/checkpoints", checkpoint),
        Op::Now("/lastCheckpoint"),
        IN_PROGRESS,
    ],
    fail: &[Op::Push("/failedAttempts", failed_attempt), Op::Take(DONE), Op::Key(CURRENT), IN_PROGRESS],
    pause: &[Op::Word("/status", "paused")],
    abort: &[
        Op::Word("/status", "abandoned"),
        Op::Set("/abandoned", |_, _| Some(json!(true))),
        Op::Now("/abandonedAt"),
        Op::Text("/abandonedReason"),
    ],
    resume: &[
        Op::Set("/abandoned", |it, _| (it.editor.text("/abandoned") == Some("true")).then(|| json!(false))),
        IN_PROGRESS,
    ],
    complete: &[Op::Word("/status", "completed")],
    ..StepList::new(&BUILD, steps)
};

const DONE: &str = "/completedSubtasks";
const CURRENT: &str = "/currentSubtask";
const IN_PROGRESS: Op = Op::Word("/status", "in_progress");

fn complete_run(tree: &Reader<'_>, run: &mut Run) {
    tree.get("storyId").required().id();
    if let Some(open) = run.steps.iter_mut().find(|step| step.status != Status::Completed) {
        // What it builds on: changes to it by others matter.
        open.detail.targets = written(tree);
    }
    run.stamp = run.stamp.or(run.started_at);
    if tree.get("status").text() == Some("in_progress") {
        // A build that was abandoned once is not alive because of that.
        let last = tree.node().at("/lastCheckpoint").and_then(Node::scalar).and_then(|text| tree.files().time(text));
        tree.report_abandoned(last.or(run.started_at), ABANDONED_SECONDS);
    }
    run.workspace.worktree = below_root(tree, "worktree");
    run.workspace.plan_reference = below_root(tree, "plan").map(|path| path.as_str().to_owned());
}

fn steps(tree: &Reader<'_>) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for subtask in tree.get("completedSubtasks").items().into_iter().filter_map(|item| item.id()) {
        if steps.iter().all(|step| step.id.as_str() != subtask) {
            let commit = commit(tree, &subtask);
            add(&mut steps, &subtask, format!("Subtask {subtask}"), Status::Completed).commit = commit;
        }
    }
    let done = steps.len();
    let total = tree.get("metrics").get("totalSubtasks").number().and_then(|total| usize::try_from(total).ok());
    // A subtask stays the current one until the next one starts.
    let current = tree.get("currentSubtask").id();
    match current.filter(|current| steps.iter().all(|step| step.id.as_str() != *current)) {
        Some(current) => {
            let errors = errors(tree, &current);
            let status = if errors.is_empty() { Status::InProgress } else { Status::Failed };
            note_failures(add(&mut steps, &current, format!("Subtask {current}"), status), errors);
        }
        None if total.is_some_and(|total| total > 0 && done >= total) => {}
        None if tree.get("status").text() == Some("completed") => {}
        None => {
            let title = match total.filter(|total| *total > 0) {
                Some(total) => format!("The next subtask of the plan, {done} of {total} done"),
                None => "The next subtask of the plan, if there is one".to_owned(),
            };
            // The state does not name it, so nothing can be recorded about it.
            add(&mut steps, NEXT, title, Status::Pending).recorded = false;
        }
    }
    steps
}

fn add<'a>(steps: &'a mut Vec<Step>, id: &str, title: String, status: Status) -> &'a mut Step {
    let step = follow(steps, StepId::new(id), title, status);
    step.agent = Some("dev".to_owned());
    step
}

/// Returns the commit that the last checkpoint of a subtask names.
fn commit(tree: &Reader<'_>, subtask: &str) -> Option<String> {
    let checkpoints = tree.get("checkpoints").items().into_iter();
    let mut of_subtask = checkpoints.rev().filter(|point| point.get("subtaskId").id().as_deref() == Some(subtask));
    of_subtask.find_map(|point| point.get("gitCommit").id().filter(|text| is_commit_hash(text)))
}

/// Returns the files that the checkpoints of the build changed.
fn written(tree: &Reader<'_>) -> Vec<String> {
    let points = tree.get("checkpoints").items().into_iter();
    let mut files: Vec<String> = points
        .flat_map(|point| point.get("filesModified").items())
        .filter_map(|file| file.text().map(|file| file.replace('\\', "/")))
        .collect();
    files.sort_unstable();
    files.dedup();
    files
}

/// Returns the errors of the failed attempts at a subtask, oldest first.
fn errors(tree: &Reader<'_>, subtask: &str) -> Vec<String> {
    let attempts = tree.get("failedAttempts").items().into_iter();
    let attempts = attempts.filter(|attempt| attempt.get("subtaskId").id().as_deref() == Some(subtask));
    attempts.map(|attempt| attempt.get("error").text().unwrap_or("it failed").to_owned()).collect()
}

/// Reads a path. A path outside the project is reported and ignored; it usually comes from another machine
/// (docs/formats/aios.md#paths-of-another-machine).
fn below_root(tree: &Reader<'_>, key: &'static str) -> Option<RelPath> {
    let text = tree.get(key).id()?;
    let root = tree.files().root.as_str();
    let below = text.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&text);
    let path = RelPath::parse(below);
    if path.is_err() {
        let message = format!("`{key}` is `{text}`, which is not a path in this project; it was ignored");
        tree.report(Finding::new(FindingCode::FieldIgnored, message));
    }
    path.ok()
}

/// Counts a subtask that was not completed before. It is no longer the current one.
fn count(writer: &mut ListWriter, change: &StepChange<'_>) -> Result<(), EditError> {
    let (editor, counter) = (&mut writer.editor, "/metrics/completedSubtasks");
    let is_new = editor.listed(DONE, change.key).is_none();
    let counted = editor.text(counter).and_then(|count| count.parse::<u64>().ok());
    if let Some(counted) = counted.filter(|_| is_new) {
        editor.set_number(counter, counted + 1)?;
    }
    if editor.text(CURRENT) == Some(change.key) { editor.set(CURRENT, &Value::Null) } else { Ok(()) }
}

fn failed_attempt(writer: &ListWriter, change: &StepChange<'_>) -> Value {
    let (error, at) = (change.error(), writer.editor.now());
    json!({ "subtaskId": change.key, "attempt": change.attempt, "error": error, "timestamp": at })
}

fn checkpoint(writer: &ListWriter, change: &StepChange<'_>) -> Value {
    let outputs = change.outcome.iter().flat_map(|outcome| &outcome.outputs);
    let files: Vec<&str> = outputs.map(|path| path.as_str()).collect();
    json!({
        "id": checkpoint_id(change.key, writer.editor.at().unix_seconds()),
        "timestamp": writer.editor.now(),
        "subtaskId": change.key,
        "status": "completed",
        "gitCommit": change.outcome.and_then(|outcome| outcome.commit.as_deref()),
        "filesModified": files,
        "metrics": { "attempts": change.attempt },
    })
}

/// Creates an id like the framework: `cp-`, the time in base 36, and eight hex digits for uniqueness.
fn checkpoint_id(subtask: &str, seconds: i64) -> String {
    let mut rest = u64::try_from(seconds).unwrap_or(0).saturating_mul(1000);
    let mut digits = Vec::new();
    while rest > 0 || digits.is_empty() {
        digits.push(char::from_digit((rest % 36) as u32, 36).unwrap_or('0'));
        rest /= 36;
    }
    let time: String = digits.iter().rev().collect();
    format!("cp-{time}-{}", &sha256_hex(format!("{subtask}@{seconds}").as_bytes())[..8])
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
