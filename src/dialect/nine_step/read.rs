//! Reads a run from the bytes of its state. The plugin's rules become data on the steps; nothing is decided here.

use std::sync::Arc;

use serde_json::Value;

use super::last_step::LastStep;
use super::ledger::Ledger;
use super::raw::Entry;
use super::raw::Field;
use super::raw::SCHEMA_VERSION;
use super::raw::Source;
use super::raw::State;
use super::rules::Role;
use super::rules::StepNumber;
use super::rules::StepPosition;
use super::steps::StepBuilder;
use super::workspace;
use crate::dialect::Loaded;
use crate::dialect::json::parse_value;
use crate::model::Action;
use crate::model::Content;
use crate::model::DialectId;
use crate::model::EvidenceRequest;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::FollowUp;
use crate::model::Interruption;
use crate::model::InterruptionKind;
use crate::model::NineStepConfig;
use crate::model::ReadProblem;
use crate::model::Records;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::RunId;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepKind;
use crate::model::Timestamp;
use crate::model::clean_line;
use crate::model::quoted;

/// The suffix of the single backup that the plugin keeps (docs/formats/nine-step.md#backup-of-the-state).
pub(super) const BACKUP: &str = ".backup";

/// A file that parses as a JSON object.
pub(super) struct ParsedFile<'a> {
    pub(super) file: RelPath,
    pub(super) bytes: &'a Arc<[u8]>,
    pub(super) value: Value,
}

/// Opens one file of the set.
///
/// # Errors
///
/// With the finding that says why the file cannot be read.
pub(super) fn open<'a>(files: &'a FileSet, file: &RelPath) -> Result<ParsedFile<'a>, Box<Finding>> {
    let unreadable = |message: String| Finding::new(FindingCode::StateUnreadable, message).at(file);
    let load_failed = |problem: &ReadProblem| unreadable(format!("State file load failed: {problem}. File: {file}"));
    let bytes = match files.files.get(file).map(|entry| &entry.content) {
        Some(Content::Bytes(bytes)) => bytes,
        Some(Content::Problem(problem)) => return Err(Box::new(load_failed(problem))),
        None | Some(Content::NameOnly) => return Err(Box::new(load_failed(&ReadProblem::Missing))),
    };
    let value = parse_value(bytes).map_err(|error| {
        let message =
            format!("Workflow state file corrupted. File: {file}. Error: Invalid JSON syntax: {}", error.message);
        Box::new(unreadable(message).line(error.line, Some(error.column)))
    })?;
    if value.is_object() {
        return Ok(ParsedFile { file: file.clone(), bytes, value });
    }
    let message = format!("Workflow state file corrupted. File: {file}. Error: it is not a JSON object");
    let finding = Finding::new(FindingCode::StateWrongType, message).at(file).pointer("");
    Err(Box::new(finding.line(1, Some(1))))
}

/// Returns the path of the backup beside a state file.
pub(super) fn backup_of(state: &RelPath) -> Option<RelPath> {
    RelPath::parse(&format!("{state}{BACKUP}")).ok()
}

/// Reads the run. If the state is unreadable, reads its backup and marks the run degraded.
pub(super) fn load(files: &FileSet) -> Loaded {
    let mut findings = Vec::new();
    let problem = match open(files, &files.state) {
        Ok(opened) => return interpret(files, opened, false, findings),
        Err(problem) => *problem,
    };
    let backup = backup_of(&files.state).and_then(|backup| open(files, &backup).ok());
    let Some(opened) = backup else {
        let fix = format!(
            "restore the last checkpoint: `{}`; or start again: `piton start nine-step --feature {} --archive`; or edit the \
             file by hand",
            restore_command(files),
            quoted(&files.name),
        );
        findings.push(problem.fix(fix));
        return Loaded { findings, ..Loaded::default() };
    };
    let fix = format!("restore it: `{}`; the plan shown here comes from `{}`", restore_command(files), opened.file);
    findings.push(problem.fix(fix));
    interpret(files, opened, true, findings)
}

fn restore_command(files: &FileSet) -> String {
    format!("piton restore {}", quoted(&files.name))
}

fn interpret(files: &FileSet, opened: ParsedFile<'_>, degraded: bool, mut findings: Vec<Finding>) -> Loaded {
    let source = Source { files, file: &opened.file, bytes: opened.bytes, value: &opened.value };
    let state = State::read(&source, &mut findings);
    if let Some(version) = state.newer {
        let message = format!("the state has version {version}; this piton writes version {SCHEMA_VERSION}");
        let pointer = if opened.value.get("schema_version").is_some() { "/schema_version" } else { "/format" };
        findings.push(source.finding(FindingCode::FormatNewer, pointer, message).fix("update piton"));
    }
    require(&state, &source, &mut findings);
    let ledger = Ledger::of(&state);
    let last_step = LastStep::read(&state, &source, &mut findings);
    let status = run_status(&state, &source, &mut findings);
    let Some(last_step) = last_step else { return Loaded { run: None, findings, ..Loaded::default() } };
    let mut layout =
        StepBuilder::new(&state, &ledger, &last_step, status, &files.config.nine_step).build(&source, &mut findings);
    let workspace = workspace::find(&state, &last_step, &source, &mut findings);
    let (config, feature) = (&files.config.nine_step, state.feature.get().cloned());
    let name = feature.unwrap_or_else(|| clean_line(&files.name, 200));
    let wanted = EvidenceRequest {
        outputs: Vec::new(),
        commits: commits(&layout.steps),
        documents: workspace.plan.clone().into_iter().collect(),
        workspace: workspace.is_checked.then(|| workspace.record.worktree.clone()),
        ..EvidenceRequest::default()
    };
    for gate in layout.steps.iter_mut().filter(|step| step.kind == StepKind::Gate) {
        gate.proof.approves = workspace.plan.clone().into_iter().collect();
    }
    let run = Run {
        id: RunId::new(name.clone()),
        dialect: DialectId::NineStep,
        title: name,
        workflow: "nine-step".to_owned(),
        status,
        state_files: vec![files.state.clone()],
        steps: layout.steps,
        position: Some(last_step.at.id()),
        done_elsewhere: layout.done_elsewhere,
        goal: state.phase_description.clone().or_else(|| state.description.clone()),
        started_at: state.started_at.or_else(|| first_stamp(&state)),
        stamp: state.last.get().and_then(|last| last.timestamp).max(state.updated_at),
        workspace: workspace.record,
        follow_up: state.total_phases.map(|_| merge(config)),
        records: Records::ALL,
        stops_unrecorded: false,
        interruption: paused(&state, status),
        mode: None,
        interrupted_at: state.interrupted_at,
        resumes: state.resumes,
        writable: state.newer.is_none(),
        degraded,
    };
    Loaded { run: Some(run), findings, wanted, ..Loaded::default() }
}

fn first_stamp(state: &State) -> Option<Timestamp> {
    state.history.iter().chain(&state.completed).filter_map(|entry| entry.timestamp).min()
}

/// Reports every required field that is missing or unusable (docs/formats/nine-step.md#fields-of-the-state).
fn require(state: &State, source: &Source<'_>, findings: &mut Vec<Finding>) {
    let mut check = |pointer: &str, problem: Option<&str>| {
        let name = pointer.trim_start_matches('/').replace('/', ".");
        let finding = match problem {
            None => source.finding(
                FindingCode::StateMissingField,
                pointer,
                format!("Missing required field: {name} (in `{}`)", source.file),
            ),
            Some(wanted) => source.finding(FindingCode::StateWrongType, pointer, format!("`{name}` must be {wanted}")),
        };
        findings.push(finding.fix(format!("set `{name}`, or `{}`", restore_command(source.files))));
    };
    const PHASE: &str = "a whole number from 1";
    const STEP: &str = "one of the steps 1, 2, 2.5, 3, 4, 5, 6, 7, 8, 9";
    problem(&state.feature, "a text", "/feature_name", &mut check);
    problem(&state.current_phase, PHASE, "/current_phase", &mut check);
    problem(&state.current_step, STEP, "/current_step", &mut check);
    problem(&state.last, "an object", "/last_execution", &mut check);
    if let Field::Is(last) = &state.last {
        problem(&last.phase, PHASE, "/last_execution/phase", &mut check);
        problem(&last.step, STEP, "/last_execution/step", &mut check);
        problem(&last.status, "a text", "/last_execution/status", &mut check);
    }
}

fn problem<T>(field: &Field<T>, wanted: &str, pointer: &str, check: &mut impl FnMut(&str, Option<&str>)) {
    match field {
        Field::Is(_) => {}
        Field::Missing => check(pointer, None),
        Field::Wrong => check(pointer, Some(wanted)),
    }
}

fn run_status(state: &State, source: &Source<'_>, findings: &mut Vec<Finding>) -> RunStatus {
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

fn paused(state: &State, status: RunStatus) -> Option<Interruption> {
    (status == RunStatus::Paused).then(|| Interruption {
        kind: InterruptionKind::Paused,
        step: state.last.get().and_then(Entry::position).map(StepPosition::id),
        at: state.paused_at,
        reason: state.run_status_reason.clone().unwrap_or_else(|| Interruption::PAUSED.to_owned()),
    })
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
        reason: "every phase is complete: ask the user for the pre-merge approval, then merge with --no-ff, clean up \
                 (plan, services, worktree, branch) and close the issues"
            .to_owned(),
    }
}
