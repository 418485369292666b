//! The state of an autonomous build (docs/formats/aios-states.md#autonomous-build): subtasks of one story.
//!
//! The state lists the completed subtasks and the current one; later subtasks are only in the plan. The framework writes values
//! that its own JSON Schema rejects, so null is treated as absent.

use super::fields;
use super::fields::KindReader as _;
use super::kind::Kind;
use super::steps::first_open;
use super::steps::follow;
use super::steps::note_failures;
use crate::dialect::Loaded;
use crate::document::Reader;
use crate::model::EvidenceRequest;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;

/// A build that was silent for longer is considered abandoned (docs/formats/aios.md#liveness).
const ABANDONED_SECONDS: i64 = 3_600;

/// Step id of the subtask that follows those the state names.
pub(super) const NEXT: &str = "next";

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    tree.get("storyId").required().id();
    let title = format!("Build for story {}", tree.subject(Kind::Build));
    let mut run = tree.run(Kind::Build, "autonomous-build", title);
    let status = tree.get("status");
    let last = tree.get("lastCheckpoint").time();
    run.steps = steps(&tree);
    let written = written(&tree);
    if let Some(open) = run.steps.iter_mut().find(|step| step.status != Status::Completed) {
        // What it builds on: changes to it by others matter.
        open.detail.targets = written;
    }
    run.started_at = tree.get("startedAt").time();
    run.stamp = last.max(tree.get("abandonedAt").time()).or(run.started_at);
    if status.text() == Some("in_progress") {
        tree.report_abandoned(last.or(run.started_at), ABANDONED_SECONDS);
    }
    run.status = status.run_status(&run.steps);
    run.position = first_open(&run.steps).map(|step| step.id.clone());
    let wanted = workspace(&tree, &mut run);
    Loaded { wanted, ..tree.loaded(run) }
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
    let is_commit = |text: &String| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    of_subtask.find_map(|point| point.get("gitCommit").id().filter(is_commit))
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

/// Fills in the worktree and the plan of the build and returns the evidence to collect.
fn workspace(tree: &Reader<'_>, run: &mut Run) -> EvidenceRequest {
    run.workspace.worktree = below_root(tree, "worktree");
    let plan = below_root(tree, "plan");
    run.workspace.plan_reference = plan.as_ref().map(|path| path.as_str().to_owned());
    EvidenceRequest {
        commits: run.steps.iter().filter_map(|step| step.commit.clone()).collect(),
        documents: plan.into_iter().collect(),
        workspace: run.workspace.worktree.clone().map(Some),
        ..EvidenceRequest::default()
    }
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

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
