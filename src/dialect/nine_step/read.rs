//! Reads a run from the bytes of its state. The plugin's rules become data on the steps; nothing is decided here.

use super::{
    last_step::LastStep,
    layout,
    ledger::Ledger,
    raw::{NineStepEntry, NineStepState, Required},
    rules::{Role, StepNumber, StepPosition},
    steps::StepBuilder,
    workspace,
};
use crate::{
    dialect::Loaded,
    document::{OpenError, Reader, Syntax},
    model::{
        Action, Content, DialectId, EvidenceRequest, FileEntry, FileSet, Finding, FindingCode, Fix, FollowUp,
        Interruption, InterruptionKind, MergeRequest, NineStepConfig, ReadProblem, Records, RelPath, Run, RunStatus,
        Status, Step, StepKind, Suggested, Timestamp, Verb, WorkspaceRecord, clean_line, quoted,
    },
};

/// Opens one file of the set, which has to be a JSON object.
///
/// # Errors
///
/// With the finding that says why the file cannot be read.
pub(super) fn open<'a>(files: &'a FileSet, file: &RelPath) -> Result<Reader<'a>, Box<Finding>> {
    let reader = Reader::open(files, file, Syntax::Json).map_err(|error| match error {
        OpenError::Unread(problem) => {
            let message = format!("State file load failed: {problem}. File: {file}");
            Box::new(Finding::new(FindingCode::StateUnreadable, message).at(file))
        }
        OpenError::Broken(error) => {
            let message =
                format!("Workflow state file corrupted. File: {file}. Error: Invalid JSON syntax: {}", error.message);
            let finding = Finding::new(FindingCode::StateUnreadable, message).at(file);
            Box::new(finding.line(error.place.line, Some(error.place.column)))
        }
    })?;
    if reader.node().is_map() {
        return Ok(reader);
    }
    let message = format!("Workflow state file corrupted. File: {file}. Error: it is not a JSON object");
    Err(Box::new(reader.finding(FindingCode::StateWrongType, "", message)))
}

/// Reads the run. If the state is unreadable, reads its backup and marks the run degraded.
pub(super) fn load(files: &FileSet) -> Loaded {
    let mut findings = Vec::new();
    let problem = match open(files, &files.state) {
        Ok(opened) => return interpret(files, opened, false, findings),
        Err(problem) => *problem,
    };
    let is_missing = files.problem(&files.state) == Some(ReadProblem::Missing);
    if let Some(content) = files.lost.as_ref().filter(|_| is_missing) {
        let mut recorded = files.clone();
        recorded.files.insert(files.state.clone(), FileEntry::new(Content::Bytes(content.bytes.clone()), None));
        if let Ok(opened) = open(&recorded, &files.state) {
            return lost(files, opened, content.has_folder, findings);
        }
    }
    let backup = layout::backup_of(&files.state).and_then(|backup| open(files, &backup).ok());
    let Some(opened) = backup else {
        if is_missing {
            findings.push(problem.fix(Suggested::new(Verb::List).flag("all")));
            return Loaded { findings, ..Loaded::default() };
        }
        let start = Suggested::of(Verb::Start, "nine-step").option("feature", &files.name).flag("archive");
        let fix = format!(
            "restore the last checkpoint: `{}`; or start again: `{start}`; or edit the file by hand",
            restore_command(files),
        );
        findings.push(problem.fix(Fix::offering(fix, [restore_command(files)])));
        return Loaded { findings, ..Loaded::default() };
    };
    let fix = format!("restore it: `{}`; the plan shown here comes from `{}`", restore_command(files), opened.file());
    findings.push(problem.fix(Fix::offering(fix, [restore_command(files)])));
    interpret(files, opened, true, findings)
}

/// Reads a run whose state is gone with its worktree from what was recorded last. A run that was over stays over.
fn lost(files: &FileSet, recorded: Reader<'_>, is_there: bool, findings: Vec<Finding>) -> Loaded {
    let mut loaded = interpret(files, recorded, true, findings);
    let Some(run) = &mut loaded.run else { return loaded };
    let is_over = |step: &Step| step.status.satisfies();
    if matches!(run.status, RunStatus::Completed | RunStatus::Aborted) || run.steps.iter().all(is_over) {
        // After a merge the worktree is removed, and its state with it.
        run.degraded = false;
        run.writable = false;
        if run.status != RunStatus::Aborted {
            run.status = RunStatus::Completed;
        }
        loaded.wanted = EvidenceRequest::default();
        return loaded;
    }
    let folder = run.workspace.worktree.as_ref().map_or(".", RelPath::as_str).to_owned();
    let branch = run.workspace.branch.as_ref().filter(|branch| !branch.starts_with('-'));
    let branch = branch.map_or_else(String::new, |branch| format!(" {}", quoted(branch)));
    let restore = restore_command(files);
    let (message, fix) = match is_there {
        true => (format!("the worktree {folder} is there again, without the state of the run"), restore),
        false => (
            format!(
                "the worktree {folder} is gone, and the state of the run with it; what was recorded of it is shown"
            ),
            Suggested::Other(format!(
                "git worktree prune && git worktree add {}{branch} && {restore}",
                quoted(&folder)
            )),
        ),
    };
    loaded.findings.push(Finding::new(FindingCode::WorktreeGone, message).fix(fix));
    loaded.wanted = EvidenceRequest::default();
    loaded
}

fn restore_command(files: &FileSet) -> Suggested {
    Suggested::of(Verb::Restore, &files.name)
}

fn interpret(files: &FileSet, source: Reader<'_>, degraded: bool, mut findings: Vec<Finding>) -> Loaded {
    let state = NineStepState::read(&source, &mut findings);
    require(&state, &source, &mut findings);
    let ledger = Ledger::of(&state);
    let last_step = LastStep::read(&state, &source, &mut findings);
    let status = run_status(&state, &source, &mut findings);
    let Some(last_step) = last_step else { return Loaded { run: None, findings, ..Loaded::default() } };
    let name = state.feature.get().cloned().unwrap_or_else(|| clean_line(&files.name, 200));
    let mut layout = StepBuilder::new(&state, &ledger, &last_step, (&name, status), &files.config.nine_step)
        .build(&source, &mut findings);
    let is_over = |step: &Step| step.status.satisfies();
    let is_all_over = layout.steps.iter().all(is_over) && status != RunStatus::Completed;
    let gate = layout.steps.iter().find(|step| step.kind == StepKind::Gate);
    let is_ended = matches!(status, RunStatus::Aborted | RunStatus::Completed);
    let has_open_work = !is_ended && gate.is_some_and(is_over) && !layout.steps.iter().all(is_over);
    let workspace = workspace::find(&state, has_open_work, &source, &mut findings);
    let config = &files.config.nine_step;
    let wanted = EvidenceRequest {
        outputs: Vec::new(),
        commits: commits(&layout.steps),
        documents: workspace.plan.clone().into_iter().collect(),
        merge: is_all_over.then(|| merge_request(&layout.steps, &workspace.record)).flatten(),
        workspace: workspace.is_checked.then(|| workspace.record.worktree.clone()),
        outside: workspace.record.outside.clone(),
        ..EvidenceRequest::default()
    };
    let planning = StepPosition::new(1, StepNumber::Plan).id();
    for step in layout.steps.iter_mut().filter(|step| step.kind == StepKind::Gate || step.id == planning) {
        step.proof.documents = workspace.plan.clone().into_iter().collect();
    }
    let run = Run {
        status,
        steps: layout.steps,
        position: Some(last_step.at.id()),
        done_elsewhere: layout.done_elsewhere,
        goal: state.phase_description.clone().or_else(|| state.description.clone()),
        started_at: state.started_at.or_else(|| first_stamp(&state)),
        stamp: state.last.get().and_then(|last| last.timestamp).max(state.updated_at),
        follow_up: state.total_phases.map(|_| merge(config)),
        workspace: WorkspaceRecord { clean_up: clean_up(&name, &workspace.record), ..workspace.record },
        records: Records { details: true, ..Records::ALL },
        interruption: paused(&state, status),
        interrupted_at: state.interrupted_at,
        resumes: state.resumes,
        writable: state.newer.is_none(),
        degraded,
        ..Run::new(name.clone(), DialectId::NineStep, name, "nine-step", vec![files.state.clone()])
    };
    Loaded { run: Some(run), findings, wanted, ..Loaded::default() }
}

fn first_stamp(state: &NineStepState) -> Option<Timestamp> {
    state.history.iter().chain(&state.completed).filter_map(|entry| entry.timestamp).min()
}

/// Reports every required field that is missing or unusable (docs/formats/nine-step.md#fields-of-the-state).
fn require(state: &NineStepState, source: &Reader<'_>, findings: &mut Vec<Finding>) {
    let mut check = |pointer: &str, problem: Option<&str>| {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        let finding = match problem {
            None => source.finding(
                FindingCode::StateMissingField,
                pointer,
                format!("Missing required field: {name} (in `{}`)", source.file()),
            ),
            Some(wanted) => source.finding(FindingCode::StateWrongType, pointer, format!("`{name}` must be {wanted}")),
        };
        let fix = format!("set `{name}`, or `{}`", restore_command(source.files()));
        findings.push(finding.fix(Fix::offering(fix, [restore_command(source.files())])));
    };
    const PHASE: &str = "a whole number from 1";
    const STEP: &str = "one of the steps 1, 2, 2.5, 3, 4, 5, 6, 7, 8, 9";
    problem(&state.feature, "a text", "/feature_name", &mut check);
    problem(&state.current_phase, PHASE, "/current_phase", &mut check);
    problem(&state.current_step, STEP, "/current_step", &mut check);
    problem(&state.last, "an object", "/last_execution", &mut check);
    if let Required::Is(last) = &state.last {
        problem(&last.phase, PHASE, "/last_execution/phase", &mut check);
        problem(&last.step, STEP, "/last_execution/step", &mut check);
        problem(&last.status, "a text", "/last_execution/status", &mut check);
    }
}

fn problem<T>(field: &Required<T>, wanted: &str, pointer: &str, check: &mut impl FnMut(&str, Option<&str>)) {
    match field {
        Required::Is(_) => {}
        Required::Missing => check(pointer, None),
        Required::Wrong => check(pointer, Some(wanted)),
    }
}

fn run_status(state: &NineStepState, source: &Reader<'_>, findings: &mut Vec<Finding>) -> RunStatus {
    let word = state.run_status.as_deref().map(str::to_lowercase);
    match word.as_deref() {
        None | Some("active" | "in_progress" | "running") => RunStatus::Active,
        Some("paused") => RunStatus::Paused,
        Some("completed") => RunStatus::Completed,
        Some("aborted") => RunStatus::Aborted,
        Some(other) => {
            let message = format!(
                "`run_status` is ignored: `{}` is not active, paused, aborted or completed",
                clean_line(other, 60)
            );
            findings.push(source.finding(FindingCode::FieldIgnored, "/run_status", message));
            RunStatus::Active
        }
    }
}

fn paused(state: &NineStepState, status: RunStatus) -> Option<Interruption> {
    (status == RunStatus::Paused).then(|| Interruption {
        kind: InterruptionKind::Paused,
        step: state.last.get().and_then(NineStepEntry::position).map(StepPosition::id),
        at: state.paused_at,
        reason: state.run_status_reason.clone().unwrap_or_else(|| Interruption::PAUSED.to_owned()),
    })
}

/// Returns the question to git whether the work of a finished run is merged.
fn merge_request(steps: &[Step], workspace: &WorkspaceRecord) -> Option<MergeRequest> {
    let has_commits = steps.iter().any(|step| step.commit.is_some());
    Some(MergeRequest { branch: workspace.branch.clone()?, base: workspace.base_branch.clone(), has_commits })
}

/// Returns the recorded commits of finished phases.
fn commits(steps: &[Step]) -> Vec<String> {
    let closing = StepNumber::Commit.as_str();
    let closed = steps
        .iter()
        .filter(|step| step.short.as_deref() == Some(closing))
        .filter(|step| step.status == Status::Completed);
    closed.filter_map(|step| step.commit.clone()).collect()
}

/// Returns the action after the last phase (docs/formats/nine-step.md#steps-and-agents).
fn merge(config: &NineStepConfig) -> FollowUp {
    FollowUp {
        action: Action::Merge,
        title: "Pre-merge approval and merge".to_owned(),
        agent: Some(Role::GitManager.name(config)),
        reason: "every phase is complete: ask the user for the pre-merge approval".to_owned(),
        merge: None,
    }
}

/// Returns the plugin's clean-up after the merge: services, worktree, branch, plan and issues.
fn clean_up(run: &str, workspace: &WorkspaceRecord) -> Vec<String> {
    // Git removes no worktree that the state still lies in.
    let archive = Suggested::of(Verb::Close, run);
    let place = workspace.place().map(|place| format!("`{archive} && git worktree remove {}`", quoted(place)));
    let branch = workspace.branch.as_ref().filter(|branch| !branch.starts_with('-'));
    let branch = branch.map(|branch| format!("`git branch -d {}`", quoted(branch)));
    let plan = workspace.plan_reference.as_ref().map(|plan| format!("remove {}", clean_line(plan, 200)));
    let issues = workspace.issues.iter().map(|issue| format!("`gh issue close {}`", quoted(issue)));
    place
        .into_iter()
        .chain(branch)
        .chain(plan)
        .chain(["stop the services that it started".to_owned()])
        .chain(issues)
        .collect()
}
