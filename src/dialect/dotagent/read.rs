//! Reads a run from the files.

use serde_json::Value;

use super::checks;
use super::execution::Execution;
use super::execution::Presence;
use super::layout::Layout;
use super::rules::Phase;
use super::rules::PhaseStatus;
use super::state::JsonFile;
use super::state::State;
use super::steps;
use crate::dialect::Loaded;
use crate::model::Action;
use crate::model::DialectId;
use crate::model::EvidenceRequest;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::FollowUp;
use crate::model::OutputRequest;
use crate::model::Records;
use crate::model::Run;
use crate::model::RunId;
use crate::model::RunStatus;
use crate::model::Step;
use crate::model::WorkspaceRecord;

/// Both state files, parsed.
pub(super) struct WorkflowFiles<'a> {
    pub(super) files: &'a FileSet,
    pub(super) layout: Layout,
    pub(super) source: JsonFile,
    pub(super) state: State,
    pub(super) execution: Execution,
}

impl<'a> WorkflowFiles<'a> {
    /// Reads both state files; the finding says why that is impossible.
    pub(super) fn open(files: &'a FileSet, findings: &mut Vec<Finding>) -> Result<Self, Box<Finding>> {
        let layout = Layout::of(&files.state).ok_or_else(|| {
            Finding::new(FindingCode::StateUnreadable, "the state is not a `memory/state/phase.json`").at(&files.state)
        })?;
        let source = JsonFile::open(files, &layout.phase)?;
        let state = State::read(&source, files, findings);
        let execution = Execution::read(files, &layout, &state, findings);
        Ok(Self { files, layout, source, state, execution })
    }

    /// Returns a finding about a task, with its position in the file if it has one.
    pub(super) fn about(
        &self,
        task: &super::execution::Task,
        code: FindingCode,
        field: &str,
        message: impl Into<String>,
    ) -> Finding {
        match &self.execution.presence {
            Presence::Read(source) => source.finding(code, &format!("{}{field}", task.pointer), message),
            Presence::Missing | Presence::Unreadable => Finding::new(code, message).at(&self.layout.execution),
        }
    }
}

/// Reads a run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let mut findings = Vec::new();
    let workflow_files = match WorkflowFiles::open(files, &mut findings) {
        Ok(workflow_files) => workflow_files,
        Err(finding) if finding.code == FindingCode::StateMissing => {
            return Loaded { findings: vec![*finding], ..Loaded::default() };
        }
        Err(finding) => {
            let path = files.state.as_str();
            let fix = format!(
                "State appears corrupted. `piton restore ./{path}` restores an earlier checkpoint; \
                 `piton archive ./{path} --yes` archives it to start fresh"
            );
            return Loaded { run: None, findings: vec![finding.fix(fix)], ..Loaded::default() };
        }
    };
    let steps = steps::build(&workflow_files, &mut findings);
    checks::check(&workflow_files, &mut findings);
    let wanted = EvidenceRequest { outputs: OutputRequest::of(&steps), ..EvidenceRequest::default() };
    Loaded { run: Some(run(&workflow_files, steps)), findings, wanted, ..Loaded::default() }
}

fn run(workflow_files: &WorkflowFiles<'_>, steps: Vec<Step>) -> Run {
    let state = &workflow_files.state;
    let is_over = state.has_completed(Phase::Reflection) && state.status == PhaseStatus::Complete;
    let mut state_files = vec![workflow_files.layout.phase.clone()];
    if workflow_files.execution.is_read() {
        state_files.push(workflow_files.layout.execution.clone());
    }
    Run {
        id: RunId::new(state.name()),
        dialect: DialectId::Dotagent,
        title: state.name(),
        workflow: DialectId::Dotagent.as_str().to_owned(),
        status: if is_over { RunStatus::Completed } else { RunStatus::Active },
        state_files,
        steps,
        position: Some(steps::id_of(state.phase)),
        done_elsewhere: 0,
        goal: workflow_files.source.value.get("description").and_then(Value::as_str).map(str::to_owned),
        started_at: state.started_at,
        // During IMPLEMENTATION the tasks are usually newer (docs/formats/dotagent.md#two-files-one-checkpoint).
        stamp: state.last_updated.max(workflow_files.execution.stamp),
        workspace: WorkspaceRecord::default(),
        follow_up: Some(FollowUp {
            action: Action::Archive,
            title: "Archive the state".to_owned(),
            agent: None,
            reason: "all five phases are done; the state goes to memory/state/.archive".to_owned(),
        }),
        interruption: None,
        records: Records { skip: false, ..Records::ALL },
        stops_unrecorded: !is_over,
        mode: None,
        interrupted_at: None,
        resumes: 0,
        writable: true,
        degraded: matches!(workflow_files.execution.presence, Presence::Unreadable) || is_rebuilt(workflow_files),
    }
}

/// Returns whether tasks were rebuilt because their file is missing.
pub(super) fn is_rebuilt(workflow_files: &WorkflowFiles<'_>) -> bool {
    matches!(workflow_files.execution.presence, Presence::Missing) && !workflow_files.execution.tasks.is_empty()
}
