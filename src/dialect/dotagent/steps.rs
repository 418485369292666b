//! Builds steps from phases: required outputs, agents and gates.

use super::{
    output::{self, OutputCheck},
    rules::{Phase, PhaseStatus},
    tasks,
    workflow_files::WorkflowFiles,
};
use crate::{
    document::parse_json,
    model::{Finding, FindingCode, GateEffect, GateOption, RelPath, Status, Step, StepId, StepKind, Suggested, Verb},
};

/// Maximum number of designs to choose from.
const CHOICES: usize = 20;
pub(super) const DESIGNS: &str = "ARCHITECTURE:designs";
pub(super) const FINAL: &str = "ARCHITECTURE:final";

/// Returns the id of the gate of a phase; only two phases need the user's approval (docs/formats/dotagent.md#approvals).
pub(super) const fn gate_of(phase: Phase) -> Option<&'static str> {
    match phase {
        Phase::Requirements => Some("REQUIREMENTS:approval"),
        Phase::Architecture => Some("ARCHITECTURE:approval"),
        Phase::Implementation | Phase::Verification | Phase::Reflection => None,
    }
}

/// Builds the steps of a run.
pub(super) fn build(workflow_files: &WorkflowFiles<'_>, findings: &mut Vec<Finding>) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut requirements = phase_step(workflow_files, Phase::Requirements);
    expect(workflow_files, &mut requirements, Phase::Requirements);
    steps.push(requirements);
    steps.push(gate(workflow_files, Phase::Requirements, Phase::Requirements.as_str()));
    steps.extend(architecture(workflow_files));
    if has_final_design(workflow_files) && !workflow_files.state.has_approved(Phase::Architecture) {
        let message =
            "the final design is there, so the choice between the designs was made; it is not recorded by whom";
        let finding = Finding::new(FindingCode::CompletedByEvidence, message).at(&workflow_files.layout.phase);
        findings.extend(gate_of(Phase::Architecture).map(|gate| finding.on(&StepId::new(gate))));
    }
    steps.extend(implementation(workflow_files, findings));
    let mut verification = phase_step(workflow_files, Phase::Verification);
    verification.depends_on = vec![Phase::Implementation.step_id()];
    expect(workflow_files, &mut verification, Phase::Verification);
    findings.extend(failed_verification(workflow_files, &verification, &steps));
    steps.push(verification);
    let mut reflection = phase_step(workflow_files, Phase::Reflection);
    reflection.depends_on = vec![Phase::Verification.step_id()];
    match workflow_files.recorded_output(Phase::Reflection) {
        Some(path) => reflection.proof.outputs = vec![path],
        None => {
            // The aggregate over all workflows is not a reflection on this one.
            reflection.proof.outputs =
                workflow_files.json_in(&workflow_files.layout.reflections(), &["_aggregate.json"]);
            reflection.proof.outputs_any = true;
        }
    }
    reject(workflow_files, &mut reflection);
    steps.push(reflection);
    steps
}

/// Returns the step of a phase with its status in the state. Membership in `completed_phases` is authoritative
/// (docs/formats/dotagent.md#resume-point).
fn phase_step(workflow_files: &WorkflowFiles<'_>, phase: Phase) -> Step {
    let state = &workflow_files.state;
    let mut step = Step::new(phase.step_id(), phase.title());
    step.group = Some(phase.as_str().to_owned());
    step.agent = Some(phase.agent().to_owned());
    step.file = Some(workflow_files.layout.phase.clone());
    step.status = status_of(workflow_files, phase);
    step.failures = u32::from(step.status == Status::Failed);
    step.attempts = u32::from(matches!(step.status, Status::Completed | Status::InProgress | Status::Failed));
    step.finished_at = state.completed.iter().find(|done| done.phase == phase).and_then(|done| done.at);
    step
}

fn status_of(workflow_files: &WorkflowFiles<'_>, phase: Phase) -> Status {
    let state = &workflow_files.state;
    if state.has_completed(phase) {
        Status::Completed
    } else if state.phase != phase {
        Status::Pending
    } else {
        match state.status {
            PhaseStatus::InProgress => Status::InProgress,
            PhaseStatus::Failed => Status::Failed,
            PhaseStatus::Pending | PhaseStatus::Complete => Status::Pending,
        }
    }
}

/// Reports a verification that leads to the reflection, as the skill says, although its verdict does not approve.
fn failed_verification(workflow_files: &WorkflowFiles<'_>, verification: &Step, before: &[Step]) -> Option<Finding> {
    let state = &workflow_files.state;
    if state.phase < Phase::Verification || state.has_completed(Phase::Reflection) {
        return None;
    }
    let path = verification.proof.outputs.first()?;
    let output = parse_json(workflow_files.files.bytes(path)?).ok()?;
    let verdict = output::verdict(&output).ok().filter(|verdict| !verdict.approves())?;
    let message = format!("the verification says {}, and the reflection comes next all the same", verdict.as_str());
    let finding = Finding::new(FindingCode::VerdictConflict, message).at(path).on(&verification.id);
    // Of several tasks a person says which one.
    let work = Phase::Implementation.step_id();
    let is_work = before.iter().any(|step| step.id == work && step.kind == StepKind::Work);
    let task = if is_work { work.as_str() } else { "TASK" };
    let redo = Suggested::of(Verb::Decide, task).word("redo").option("run", state.name()).by_and_why();
    Some(finding.fix(format!("to go back: `{redo}`")))
}

/// Sets the output that proves a phase: the one the state names, else the usual one.
fn expect(workflow_files: &WorkflowFiles<'_>, step: &mut Step, phase: Phase) {
    step.proof.outputs =
        workflow_files.recorded_output(phase).or_else(|| workflow_files.usual_output(phase)).into_iter().collect();
    reject(workflow_files, step);
}

/// Marks outputs that are not results of this run.
pub(super) fn reject(workflow_files: &WorkflowFiles<'_>, step: &mut Step) {
    for path in &step.proof.outputs {
        if let OutputCheck::Rejected(why) = workflow_files.owner().check(workflow_files.files, path) {
            step.proof.rejected.push((path.clone(), why));
        }
    }
}

/// Returns the gate of a phase, which depends on a step. A later phase that has started implies that the gate was passed.
fn gate(workflow_files: &WorkflowFiles<'_>, phase: Phase, after: &str) -> Step {
    let state = &workflow_files.state;
    let title = match phase {
        Phase::Architecture => "Choice between the design options",
        Phase::Requirements | Phase::Implementation | Phase::Verification | Phase::Reflection => {
            "Approval of the requirements"
        }
    };
    let mut gate = Step::new(StepId::new(gate_of(phase).unwrap_or_default()), title);
    gate.kind = StepKind::Gate;
    gate.group = Some(phase.as_str().to_owned());
    gate.file = Some(workflow_files.layout.phase.clone());
    gate.depends_on = vec![StepId::new(after)];
    let next = phase.next().unwrap_or(phase);
    let has_begun = matches!(state.status, PhaseStatus::InProgress | PhaseStatus::Failed);
    let is_behind = match phase {
        // The design is chosen before the end of its phase.
        Phase::Architecture => state.has_completed(phase) || state.phase > phase || has_final_design(workflow_files),
        Phase::Requirements | Phase::Implementation | Phase::Verification | Phase::Reflection => {
            state.has_completed(next) || state.phase > next || (state.phase == next && has_begun)
        }
    };
    if is_behind || state.has_approved(phase) {
        gate.status = Status::Completed;
        gate.finished_at = state.approvals.iter().find(|entry| entry.phase == phase).and_then(|entry| entry.at);
    }
    gate
}

/// Returns the steps for designs, the user's choice and the final design. On resume the user is asked again, never the architects
/// (docs/formats/dotagent.md#contradictions-and-decisions).
fn architecture(workflow_files: &WorkflowFiles<'_>) -> Vec<Step> {
    let phase = Phase::Architecture;
    let status = status_of(workflow_files, phase);
    let mut container = phase_step(workflow_files, phase);
    container.kind = StepKind::Container;
    container.agent = None;
    let mut designs = phase_step(workflow_files, phase);
    designs.id = StepId::new(DESIGNS);
    designs.title = "Design options".to_owned();
    designs.agent = Some("architect".to_owned());
    let gate_before = gate_of(Phase::Requirements).map(StepId::new);
    designs.depends_on = std::iter::once(Phase::Requirements.step_id()).chain(gate_before).collect();
    let usual = workflow_files.usual_output(phase);
    if status != Status::Completed {
        designs.proof.outputs = workflow_files.json_in(&workflow_files.layout.designs(), &[]);
        // A final design implies that there were designs.
        designs.proof.outputs.extend(usual.clone().filter(|path| workflow_files.files.files.contains_key(path)));
        designs.proof.outputs_any = true;
        reject(workflow_files, &mut designs);
    }
    let mut gate = gate(workflow_files, phase, DESIGNS);
    gate.options = choices(workflow_files);
    let mut last = phase_step(workflow_files, phase);
    last.id = StepId::new(FINAL);
    last.title = "Final design".to_owned();
    last.depends_on = vec![designs.id.clone(), gate.id.clone()];
    expect(workflow_files, &mut last, phase);
    let found = usual.map(|path| workflow_files.owner().check(workflow_files.files, &path));
    let is_begun = found.is_some_and(|found| matches!(found, OutputCheck::Valid(_) | OutputCheck::Rejected(_)));
    let is_reached = gate.status == Status::Completed && has_fitting_design(workflow_files, &designs.proof.outputs);
    // The phase is in progress from its first design, so it does not say whether this step was begun.
    last.begins_unrecorded = true;
    match status {
        Status::InProgress if !is_begun => {
            last.status = Status::Pending;
            last.attempts = 0;
        }
        Status::Failed if is_reached => designs.status = Status::InProgress,
        Status::Failed => last.status = Status::Pending,
        Status::Pending
        | Status::InProgress
        | Status::Completed
        | Status::WaitingApproval
        | Status::Blocked
        | Status::Skipped
        | Status::Cancelled => {}
    }
    container.children = vec![designs.id.clone(), gate.id.clone(), last.id.clone()];
    vec![container, designs, gate, last]
}

/// Returns the answers of the choice between the designs: the designs of this run, by the names of their files.
fn choices(workflow_files: &WorkflowFiles<'_>) -> Vec<GateOption> {
    let owner = workflow_files.owner();
    let designs = workflow_files.json_in(&workflow_files.layout.designs(), &[]).into_iter();
    let of_run = designs.filter(|path| matches!(owner.check(workflow_files.files, path), OutputCheck::Valid(_)));
    let word = |path: RelPath| path.name().trim_end_matches(".json").to_owned();
    of_run.map(|path| GateOption { word: word(path), effect: GateEffect::Continue }).take(CHOICES).collect()
}

/// Tells whether the final design of this run is there: then the choice was made, even if nothing records by whom.
fn has_final_design(workflow_files: &WorkflowFiles<'_>) -> bool {
    let path = workflow_files.usual_output(Phase::Architecture);
    workflow_files.state.phase == Phase::Architecture
        && path.is_some_and(|path| has_fitting_design(workflow_files, std::slice::from_ref(&path)))
}

fn has_fitting_design(workflow_files: &WorkflowFiles<'_>, outputs: &[RelPath]) -> bool {
    outputs.iter().any(|path| matches!(workflow_files.owner().check(workflow_files.files, path), OutputCheck::Valid(_)))
}

fn implementation(workflow_files: &WorkflowFiles<'_>, findings: &mut Vec<Finding>) -> Vec<Step> {
    let phase = Phase::Implementation;
    let mut step = phase_step(workflow_files, phase);
    step.depends_on = vec![Phase::Architecture.step_id()];
    if workflow_files.execution.tasks.is_empty() {
        step.proof.outputs = workflow_files.recorded_output(phase).into_iter().collect();
        return vec![step];
    }
    if let Some(path) = workflow_files.recorded_output(phase)
        && let OutputCheck::Missing = workflow_files.owner().check(workflow_files.files, &path)
    {
        let message = format!("the output {path} of {} is missing", phase.as_str());
        findings.push(Finding::new(FindingCode::OutputMissing, message).at(&path).on(&step.id));
    }
    step.kind = StepKind::Container;
    step.agent = None;
    let children = tasks::build(workflow_files, findings);
    step.children = children.iter().map(|child| child.id.clone()).collect();
    std::iter::once(step).chain(children).collect()
}
