//! Both state files of a run, parsed, with the outputs that they name. Shared by readers and writers.

use super::{
    execution::{DotagentTask, Execution, Presence},
    layout::Layout,
    output::OutputOwner,
    rules::Phase,
    state::{self, DotagentState},
};
use crate::{
    document::Reader,
    model::{FileSet, Finding, FindingCode, RelPath},
};

/// Both state files, parsed.
pub(super) struct WorkflowFiles<'a> {
    pub(super) files: &'a FileSet,
    pub(super) layout: Layout,
    pub(super) source: Reader<'a>,
    pub(super) state: DotagentState,
    pub(super) execution: Execution<'a>,
}

impl<'a> WorkflowFiles<'a> {
    /// Reads both state files; the finding says why that is impossible.
    pub(super) fn open(files: &'a FileSet, findings: &mut Vec<Finding>) -> Result<Self, Box<Finding>> {
        let layout = Layout::of(&files.state).ok_or_else(|| {
            Finding::new(FindingCode::StateUnreadable, "the state is not a `memory/state/phase.json`").at(&files.state)
        })?;
        let source = state::open(files, &layout.phase)?;
        let state = DotagentState::read(&source, files, findings);
        let execution = Execution::read(files, &layout, &state, findings);
        Ok(Self { files, layout, source, state, execution })
    }

    /// Returns a finding about a task, with its position in the file if it has one.
    pub(super) fn about(
        &self,
        task: &DotagentTask,
        code: FindingCode,
        field: &str,
        message: impl Into<String>,
    ) -> Finding {
        match &self.execution.presence {
            Presence::Read(source) => source.finding(code, &format!("{}{field}", task.pointer), message),
            Presence::Missing | Presence::Unreadable => Finding::new(code, message).at(&self.layout.execution),
        }
    }

    /// Returns the owner that the outputs of phases must name.
    pub(super) fn owner(&self) -> OutputOwner<'_> {
        OutputOwner {
            workflow: self.state.id.as_deref(),
            task: None,
            run_start: self.state.started_at,
            attempt_start: None,
        }
    }

    /// Returns the output that the state names for a completed phase.
    pub(super) fn recorded_output(&self, phase: Phase) -> Option<RelPath> {
        let done = self.state.completed.iter().find(|done| done.phase == phase)?;
        self.layout.at(done.output.as_ref()?)
    }

    pub(super) fn usual_output(&self, phase: Phase) -> Option<RelPath> {
        self.layout.at(phase.output()?)
    }

    pub(super) fn json_in(&self, dir: &RelPath, except: &[&str]) -> Vec<RelPath> {
        let found = self.files.in_dir(dir).map(|(path, _)| path);
        found.filter(|path| path.as_str().ends_with(".json") && !except.contains(&path.name())).cloned().collect()
    }
}

/// Returns whether the file of the tasks is missing although tasks have outputs.
pub(super) fn has_lost_its_tasks(workflow_files: &WorkflowFiles<'_>) -> bool {
    let folder = workflow_files.layout.tasks();
    let is_output = |path: &RelPath| path.starts_with(&folder) && path.name() == "output.json";
    matches!(workflow_files.execution.presence, Presence::Missing) && workflow_files.files.files.keys().any(is_output)
}
