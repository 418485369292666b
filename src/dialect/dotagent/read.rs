//! Reads a run from the files.

use super::{
    checks,
    execution::Presence,
    rules::{Phase, PhaseStatus},
    steps,
    workflow_files::{WorkflowFiles, has_lost_its_tasks},
};
use crate::{
    dialect::Loaded,
    document::Node,
    model::{
        Action, DialectId, EvidenceRequest, FileSet, FindingCode, Fix, FollowUp, OutputRequest, Records, Run,
        RunStatus, Step, Suggested, Verb,
    },
};

/// Reads a run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let mut findings = Vec::new();
    let workflow_files = match WorkflowFiles::open(files, &mut findings) {
        Ok(workflow_files) => workflow_files,
        Err(finding) if finding.code == FindingCode::StateMissing => {
            return Loaded { findings: vec![*finding], ..Loaded::default() };
        }
        Err(finding) => {
            let command = |verb| Suggested::of(verb, format!("./{}", files.state));
            let (restore, close) = (command(Verb::Restore), command(Verb::Close).flag("abort"));
            let fix = format!(
                "State appears corrupted. `{restore}` restores an earlier checkpoint; `{close}` archives it to start fresh"
            );
            let fix = Fix::offering(fix, [restore, close]);
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
        status: if is_over { RunStatus::Completed } else { RunStatus::Active },
        steps,
        position: Some(state.phase.step_id()),
        goal: workflow_files.source.node().get("description").and_then(Node::as_str).map(str::to_owned),
        started_at: state.started_at,
        // During IMPLEMENTATION the tasks are usually newer (docs/formats/dotagent.md#two-files-one-checkpoint).
        stamp: state.last_updated.max(workflow_files.execution.stamp),
        follow_up: Some(FollowUp {
            action: Action::Archive,
            title: "Archive the state".to_owned(),
            agent: None,
            reason: "all five phases are done; the state goes to memory/state/.archive".to_owned(),
            merge: None,
        }),
        records: Records { skip: false, ..Records::ALL },
        stops_unrecorded: !is_over,
        degraded: matches!(workflow_files.execution.presence, Presence::Unreadable)
            || has_lost_its_tasks(workflow_files),
        ..Run::new(state.name(), DialectId::Dotagent, state.name(), DialectId::Dotagent.as_str(), state_files)
    }
}
