//! Builds steps from tasks: work, verification and resolution of blockers, following the executor's recovery table
//! (docs/formats/dotagent.md#executor-recovery).

use crate::document::Node;

use super::{
    execution::DotagentTask,
    output::{self, OutputCheck, OutputOwner},
    rules::{Phase, TaskStatus},
    workflow_files::WorkflowFiles,
};
use crate::model::{Finding, FindingCode, RelPath, Review, Status, Step, StepId, StepKind, Timestamp, Witness};

/// Builds the steps of all tasks.
pub(super) fn build(workflow_files: &WorkflowFiles<'_>, findings: &mut Vec<Finding>) -> Vec<Step> {
    let mut steps = Vec::new();
    for task in &workflow_files.execution.tasks {
        let result = TaskResult::of(workflow_files, task);
        let mut work = work(workflow_files, task, &result, findings);
        let verification = verification(workflow_files, task, &result, &work, findings);
        if work.status == Status::Blocked {
            let resolution = resolution(workflow_files, task, &result, &work);
            work.ended_unrecorded = result.is_ahead(task);
            work.depends_on.push(resolution.id.clone());
            steps.push(resolution);
        }
        steps.push(work);
        steps.push(verification);
    }
    steps
}

pub(super) fn verify_id(task: &str) -> StepId {
    StepId::new(format!("{task}:verify"))
}

pub(super) fn resolve_id(task: &str) -> StepId {
    StepId::new(format!("{task}:resolve"))
}

/// The output of a task and the status that follows from it and the state.
pub(super) struct TaskResult {
    /// The effective status; for a running task, the one its output reports (scenario 2).
    pub(super) status: Option<TaskStatus>,
    pub(super) output: Node,
    fits: bool,
    rejected: Option<String>,
    modified: Option<Timestamp>,
}

impl TaskResult {
    pub(super) fn of(workflow_files: &WorkflowFiles<'_>, task: &DotagentTask) -> Self {
        let mut result =
            Self { status: task.status, output: Node::null(), fits: false, rejected: None, modified: None };
        if task.is_leftover {
            result.status = Some(TaskStatus::Pending);
        }
        let Some(path) = &task.output else { return result };
        result.modified = workflow_files.files.files.get(path).and_then(|entry| entry.modified);
        match task.owner(&workflow_files.state).check(workflow_files.files, path) {
            OutputCheck::Missing | OutputCheck::Older => {}
            OutputCheck::Rejected(why) => result.rejected = Some(why),
            OutputCheck::Valid(value) => match output::reported_status(&value) {
                Ok(status) => {
                    result.fits = true;
                    result.output = value;
                    if result.status == Some(TaskStatus::Running) {
                        result.status = Some(status);
                    }
                }
                Err(status) => result.rejected = Some(format!("reports the status `{status}`")),
            },
        }
        result
    }

    /// Returns whether the state has the task running while its output says that it ended.
    pub(super) fn is_ahead(&self, task: &DotagentTask) -> bool {
        task.status == Some(TaskStatus::Running) && self.fits && !task.is_leftover
    }

    /// Returns whether there is an output that reports success.
    pub(super) fn is_success(&self) -> bool {
        self.fits && output::reported_status(&self.output) == Ok(TaskStatus::PreComplete)
    }

    pub(super) const fn is_there(&self) -> bool {
        self.fits
    }
}

fn work(
    workflow_files: &WorkflowFiles<'_>,
    task: &DotagentTask,
    result: &TaskResult,
    findings: &mut Vec<Finding>,
) -> Step {
    let limit = workflow_files.files.config.limits.attempts;
    let mut step = Step::new(StepId::new(&task.id), title(task));
    step.short = Some(super::rules::other_spelling(&task.id));
    step.group = Some(Phase::Implementation.as_str().to_owned());
    step.agent = Some(task.text(&["agent", "assigned_to"]).unwrap_or_else(|| "implementer".to_owned()));
    step.file = Some(workflow_files.layout.execution.clone());
    step.definition = task.definition();
    step.started_at = task.started_at.filter(|_| !task.is_leftover);
    step.finished_at = task.completed_at.filter(|_| !task.is_leftover);
    step.proof.outputs = task.output.iter().cloned().collect();
    step.proof.rejected = step.proof.outputs.iter().cloned().zip(result.rejected.clone()).collect();
    let strategy = task.text(&["retry_strategy"]);
    step.detail.requirements = strategy.map(|strategy| format!("Retry strategy: {strategy}")).into_iter().collect();
    depend(workflow_files, task, &mut step);
    let is_ahead = result.is_ahead(task);
    // A retry counts the interrupted attempt; a finished attempt counts itself.
    (step.status, step.attempts, step.failures) = match result.status {
        Some(TaskStatus::Pending) if task.attempts >= limit => (Status::Failed, task.attempts, task.attempts),
        Some(TaskStatus::Pending) => (Status::Pending, task.attempts, task.attempts),
        Some(TaskStatus::Running) => {
            (Status::InProgress, task.attempts.saturating_add(1), task.attempts.saturating_add(1))
        }
        Some(TaskStatus::PreComplete) if is_ahead => {
            (Status::InProgress, task.attempts.saturating_add(1), task.attempts)
        }
        Some(TaskStatus::PreComplete | TaskStatus::Verifying | TaskStatus::Verified) => {
            (Status::Completed, task.attempts.saturating_add(1), task.attempts)
        }
        Some(TaskStatus::Blocked) => (Status::Blocked, task.attempts.saturating_add(1), task.attempts),
        Some(TaskStatus::Failed) => {
            let failures = task.attempts.max(1).saturating_add(u32::from(is_ahead && task.attempts > 0));
            (Status::Failed, failures, failures)
        }
        None => {
            let text = task.value.get("status").map(|status| crate::model::clean_line(&status.to_string(), 40));
            let message = format!("the status {} of {} is not in the vocabulary", text.unwrap_or_default(), step.id);
            findings.push(workflow_files.about(task, FindingCode::StatusUnknown, "/status", message).on(&step.id));
            (Status::Pending, task.attempts, task.attempts)
        }
    };
    if matches!(step.status, Status::Failed | Status::Blocked) {
        step.error = output::failure_text(&result.output)
            .or_else(|| task.text(&["last_error", "failure_reason", "blocked_reason"]))
            .map(|text| crate::model::mask_secrets(&text).into_owned());
    }
    if matches!(step.status, Status::Failed | Status::Blocked)
        || (step.status == Status::Pending && result.fits && !result.is_success())
    {
        // The output reports a failure, so it proves nothing.
        step.proof.outputs.clear();
        step.proof.rejected.clear();
    }
    if is_ahead && result.status != Some(TaskStatus::PreComplete) {
        let says = result.status.map_or("nothing", TaskStatus::as_str);
        let message = format!("{} was running, but its output says {says}: it ended before the interruption", step.id);
        findings.push(workflow_files.about(task, FindingCode::CompletedByEvidence, "", message));
    }
    if workflow_files.state.has_completed(Phase::Implementation) && step.status != Status::Completed {
        step.proof.witnesses.push(witness(workflow_files));
    }
    step
}

fn witness(workflow_files: &WorkflowFiles<'_>) -> Witness {
    let line = workflow_files.source.node().get("completed_phases").map(|list| list.place.line);
    Witness { source: "phase.json".into(), done: true, file: Some(workflow_files.layout.phase.clone()), line }
}

fn title(task: &DotagentTask) -> String {
    task.text(&["title", "name", "description"]).map_or_else(
        || format!("Task {}", crate::model::clean_line(&task.id, 60)),
        |text| crate::model::clean_line(&text, 100),
    )
}

/// Adds dependencies: the architecture and the verification of the tasks it depends on.
fn depend(workflow_files: &WorkflowFiles<'_>, task: &DotagentTask, step: &mut Step) {
    step.depends_on.push(Phase::Architecture.step_id());
    for id in &task.depends_on {
        match workflow_files.execution.position(id) {
            Some(on) => step.depends_on.push(verify_id(&workflow_files.execution.tasks[on].id)),
            None => step.dangling.push(crate::model::clean_line(id, 60)),
        }
    }
}

fn verification(
    workflow_files: &WorkflowFiles<'_>,
    task: &DotagentTask,
    result: &TaskResult,
    work: &Step,
    findings: &mut Vec<Finding>,
) -> Step {
    let mut step = Step::new(verify_id(&task.id), format!("Verification of {}", work.title));
    step.kind = StepKind::Review;
    step.group.clone_from(&work.group);
    step.agent = Some("verifier".to_owned());
    step.file.clone_from(&work.file);
    step.depends_on = vec![work.id.clone()];
    step.returns_to = Some(work.id.clone());
    let is_waited_for = matches!(result.status, Some(TaskStatus::PreComplete | TaskStatus::Verifying));
    step.status = match result.status {
        Some(TaskStatus::Verified) => Status::Completed,
        Some(TaskStatus::Verifying) => Status::InProgress,
        _ => Status::Pending,
    };
    step.attempts = u32::from(step.status != Status::Pending);
    if !is_waited_for {
        if workflow_files.state.has_completed(Phase::Implementation) && step.status != Status::Completed {
            step.proof.witnesses.push(witness(workflow_files));
        }
        // The state of a task that was sent back says only that it failed.
        let judged = judged(workflow_files, task, result).filter(|_| result.status == Some(TaskStatus::Failed));
        let says_no = judged.is_some_and(|(_, value)| output::verdict(&value).is_ok_and(|verdict| !verdict.approves()));
        step.error = work.error.clone().filter(|_| says_no);
        return step;
    }
    let Some((path, value)) = judged(workflow_files, task, result) else { return step };
    match output::verdict(&value) {
        Ok(verdict) if verdict.approves() => {
            step.status = Status::InProgress;
            step.review = Some(Review { verdict, open_conditions: None });
            step.attempts = 1;
            step.proof.outputs = vec![path];
        }
        Ok(verdict) => {
            step.status = Status::Failed;
            step.review = Some(Review { verdict, open_conditions: None });
            step.failures = task.attempts.saturating_add(1);
            step.attempts = 1;
            step.error = output::failure_text(&value);
        }
        Err(word) => {
            let message = format!("the verifier of {} says `{word}`, which is not a verdict", work.id);
            findings.push(Finding::new(FindingCode::VerdictUnknown, message).at(&path).on(&step.id));
        }
    }
    step
}

/// Returns what the verifier wrote about the current output of a task, not about an earlier one.
fn judged(workflow_files: &WorkflowFiles<'_>, task: &DotagentTask, result: &TaskResult) -> Option<(RelPath, Node)> {
    let path = workflow_files.layout.of_task(workflow_files.files, &task.id, "verification.json")?;
    // Both are files, so their times need no tolerance.
    let owner = task.owner(&workflow_files.state);
    let run_start = owner.run_start.max(result.modified);
    let owner = OutputOwner { run_start, attempt_start: task.started_at, ..owner };
    match owner.check(workflow_files.files, &path) {
        OutputCheck::Valid(value) => Some((path, value)),
        OutputCheck::Missing | OutputCheck::Older | OutputCheck::Rejected(_) => None,
    }
}

/// Returns the step in which the contract resolver resolves a blocker; its answer is next to the contracts.
fn resolution(workflow_files: &WorkflowFiles<'_>, task: &DotagentTask, result: &TaskResult, work: &Step) -> Step {
    let mut step = Step::new(resolve_id(&task.id), format!("Resolution of the blocker of {}", work.id));
    step.group.clone_from(&work.group);
    step.agent = Some("contract-resolver".to_owned());
    step.file.clone_from(&work.file);
    step.depends_on.clone_from(&work.depends_on);
    step.error.clone_from(&work.error);
    if task.value.get("resolver_started_at").is_some() {
        step.status = Status::InProgress;
        step.attempts = 1;
    }
    let path: Option<RelPath> = workflow_files.layout.resolution(workflow_files.files, &task.id);
    let owner = OutputOwner { attempt_start: result.modified, ..task.owner(&workflow_files.state) };
    if let Some(path) = path.filter(|path| matches!(owner.check(workflow_files.files, path), OutputCheck::Valid(_))) {
        step.status = Status::InProgress;
        step.attempts = 1;
        step.proof.outputs = vec![path];
    }
    step
}
