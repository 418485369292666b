//! Runs for tests.

use crate::model::DialectId;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::RunHeader;
use crate::model::RunId;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::WorkspaceRecord;

/// Builds a run of pending steps, each given with what it depends on.
pub(crate) fn run_of(steps: &[(&str, &[&str])]) -> Run {
    let steps = steps.iter().map(|(id, depends_on)| {
        let mut step = Step::new(StepId::new(*id), format!("Title of {id}"));
        step.depends_on = depends_on.iter().map(|id| StepId::new(*id)).collect();
        step
    });
    Run {
        id: RunId::new("R"),
        dialect: DialectId::Ccw,
        title: "A run".to_owned(),
        workflow: "test".to_owned(),
        status: RunStatus::Active,
        state_files: vec![RelPath::parse("state.json").unwrap()],
        steps: steps.collect(),
        position: None,
        done_elsewhere: 0,
        goal: None,
        started_at: None,
        stamp: None,
        workspace: WorkspaceRecord::default(),
        after: None,
        interruption: None,
        resumes: 0,
        writable: true,
        degraded: false,
    }
}

/// Builds the header of a run for a plan.
pub(crate) fn header_of(run: &Run) -> RunHeader {
    RunHeader {
        id: run.id.clone(),
        dialect: run.dialect,
        title: run.title.clone(),
        workflow: run.workflow.clone(),
        root: "/project".to_owned(),
        state_files: run.state_files.clone(),
        branch: None,
        base_branch: None,
        worktree: None,
        plan_reference: None,
        resumes: run.resumes,
        revision: "r".to_owned(),
    }
}

/// Gives each step the status that stands at its place.
pub(crate) fn with_statuses(mut run: Run, statuses: &[Status]) -> Run {
    for (step, status) in run.steps.iter_mut().zip(statuses) {
        step.status = *status;
    }
    run
}
