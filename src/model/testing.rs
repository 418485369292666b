//! Values for the tests of every room: a plan, a step of it, the end of a step.

use super::Action;
use super::Age;
use super::Commands;
use super::Next;
use super::Outcome;
use super::Plan;
use super::Progress;
use super::RedoCost;
use super::Run;
use super::RunHeader;
use super::Status;
use super::StepGroups;
use super::StepId;
use super::Verdict;

/// Builds the header of a run for a plan.
pub(crate) fn header_of(run: &Run) -> RunHeader {
    RunHeader {
        id: run.id.clone(),
        dialect: run.dialect,
        title: run.title.clone(),
        workflow: run.workflow.clone(),
        root: "/project".to_owned(),
        state_files: run.state_files.clone(),
        branch: run.workspace.branch.clone(),
        base_branch: run.workspace.base_branch.clone(),
        worktree: run.workspace.worktree.as_ref().map(ToString::to_string),
        plan_reference: run.workspace.plan_reference.clone(),
        resumes: run.resumes,
        revision: "r".to_owned(),
    }
}

/// Builds a plan for a run in which nothing is next.
pub(crate) fn plan_of(run: &Run, verdict: Verdict) -> Plan {
    Plan {
        run: header_of(run),
        verdict,
        mode: super::Mode::default(),
        next: Vec::new(),
        steps: StepGroups::default(),
        interruption: None,
        age: Age { seconds: None, band: None, source: "unknown".to_owned() },
        progress: Progress::default(),
        question: None,
        commands: Commands::default(),
        reports: Vec::new(),
        decisions: Vec::new(),
        degraded: false,
        patch: None,
        native: serde_json::Value::Null,
    }
}

/// Builds a first attempt at a step.
pub(crate) fn next_of(id: &str, action: Action) -> Next {
    Next {
        step: StepId::new(id),
        title: id.to_owned(),
        action,
        agent: None,
        agent_candidates: Vec::new(),
        attempt: 1,
        reason: String::new(),
        rule: String::new(),
        evidence: Vec::new(),
        strategy: None,
        alternatives: Vec::new(),
        parts: Vec::new(),
        cost: RedoCost::default(),
    }
}

/// Builds the end of a step, with nothing said beside the status.
pub(crate) fn outcome_of(id: &str, status: Status) -> Outcome {
    Outcome { status, ..Outcome::completed(StepId::new(id)) }
}
