//! The state of an autonomous build (docs/formats/aios-states.md#autonomous-build): subtasks of one story.
//!
//! The state lists the completed subtasks and the current one; later subtasks are only in the plan. The framework writes values
//! that its own JSON Schema rejects, so null is treated as absent.

use serde_json::Value;
use serde_json::json;

use crate::dialect::EditError;
use crate::dialect::Loaded;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::editor::edit;
use crate::dialect::aios::fields;
use crate::dialect::aios::fields::KindReader as _;
use crate::dialect::aios::kind::Claim;
use crate::dialect::aios::kind::Descriptor;
use crate::dialect::aios::kind::FINISHED_STATUS;
use crate::dialect::aios::kind::StoryName;
use crate::dialect::aios::kind::Unnamed;
use crate::dialect::aios::steps::first_open;
use crate::dialect::aios::steps::follow;
use crate::dialect::aios::steps::note_failures;
use crate::dialect::edit::unsupported;
use crate::dialect::writer::Begun;
use crate::dialect::writer::Resumed;
use crate::dialect::writer::StateWriter;
use crate::dialect::writer::outcome_text;
use crate::document::Reader;
use crate::model::Edit;
use crate::model::EvidenceRequest;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Outcome;
use crate::model::Records;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::mask_secrets;
use crate::model::quoted;
use crate::model::sha256_hex;

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
    claim: Some(Claim { path: None, started: "/startedAt", finished: FINISHED_STATUS }),
    records: Records { skip: false, ..Records::ALL },
    ..Descriptor::of_files("the state of an autonomous build", load, |files, change| {
        edit(&BUILD, files, change, |editor, run| Writer { editor, run })
    })
};

/// Reads the run.
fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    tree.get("storyId").required().id();
    let title = format!("Build for story {}", tree.subject(&BUILD));
    let mut run = tree.run(&BUILD, "autonomous-build", title);
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

/// Returns the subtask of a step. The state does not name the next subtask before it starts.
fn named(step: &StepId) -> Result<&str, EditError> {
    match step.as_str() {
        NEXT => unsupported(
            "the state does not name the next subtask: write its id from the plan of the build into `currentSubtask`, then run \
             `piton plan`"
                .to_owned(),
        ),
        subtask => Ok(subtask),
    }
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {}

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

impl StateWriter for Writer {
    const WHAT: &'static str = "a build";

    fn run(&self) -> String {
        quoted(self.run.id.as_str())
    }

    fn instead(&self, step: Option<&StepId>) -> String {
        let step = step.map_or("its subtasks", StepId::as_str);
        format!("finish {step}, or remove it from the plan of the build")
    }

    /// What a person wants done again is no longer done.
    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        self.editor.remove_from_list("/completedSubtasks", named(begun.step)?)?;
        self.editor.set_text("/currentSubtask", named(begun.step)?)?;
        self.editor.set_text("/status", "in_progress")
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let subtask = named(&outcome.step)?;
        let is_done = self.completes(outcome)?;
        let at = self.editor.now();
        if !is_done {
            let error = outcome_text(outcome).unwrap_or_else(|| "it failed".to_owned());
            let entry = json!({ "subtaskId": subtask, "attempt": outcome.attempt, "error": error, "timestamp": at });
            self.editor.push("/failedAttempts", &entry)?;
            self.editor.remove_from_list("/completedSubtasks", subtask)?;
            self.editor.set_text("/currentSubtask", subtask)?;
            return self.editor.set_text("/status", "in_progress");
        }
        let is_new = self.editor.listed("/completedSubtasks", subtask).is_none();
        self.editor.add_to_list("/completedSubtasks", subtask)?;
        let counter = "/metrics/completedSubtasks";
        let counted = self.editor.text(counter).and_then(|count| count.parse::<u64>().ok());
        if let Some(counted) = counted.filter(|_| is_new) {
            self.editor.set_number(counter, counted + 1)?;
        }
        let files: Vec<&str> = outcome.outputs.iter().map(|path| path.as_str()).collect();
        let checkpoint = json!({
            "id": checkpoint_id(subtask, self.editor.at().unix_seconds()),
            "timestamp": at,
            "subtaskId": subtask,
            "status": "completed",
            "gitCommit": outcome.commit,
            "filesModified": files,
            "metrics": { "attempts": outcome.attempt },
        });
        self.editor.push("/checkpoints", &checkpoint)?;
        self.editor.stamp("/lastCheckpoint", None)?;
        if self.editor.text("/currentSubtask") == Some(subtask) {
            self.editor.set("/currentSubtask", &Value::Null)?;
        }
        self.editor.set_text("/status", "in_progress")
    }

    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text("/status", "paused")
    }

    fn abort(&mut self, reason: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text("/status", "abandoned")?;
        self.editor.set("/abandoned", &json!(true))?;
        self.editor.stamp("/abandonedAt", None)?;
        let reason = reason.map(mask_secrets);
        reason.map_or(Ok(()), |reason| self.editor.set_text("/abandonedReason", &reason))
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        if self.editor.text("/abandoned") == Some("true") {
            self.editor.set("/abandoned", &json!(false))?;
        }
        self.editor.set_text("/status", "in_progress")
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text("/status", "completed")
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        Ok(self.editor.into_edits())
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
