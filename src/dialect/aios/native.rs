//! The plan in the format of the `orchestrate-resume` task (docs/formats/aios.md#messages).

use serde_json::{Value, json};

use super::{
    kinds::others,
    messages,
    resume_point::{self, ResumePoint},
};
use crate::model::{Finding, Plan, Run, Severity, StepId};

/// Returns the task's resume plan: last phase, resume phase, remaining phases and messages.
pub(super) fn native(run: &Run, plan: &Plan, findings: &[Finding]) -> Value {
    let last = plan.steps.completed.last().and_then(|id| run.step(id));
    let resume = plan.next.first().map(|next| {
        let group = run.group_of(next);
        json!({
            "step": next.step,
            "name": next.title,
            "label": ResumePoint::of(run, &next.step).map(|point| point.label),
            "wave": group.filter(|_| run.workflow == "epic-execution"),
            "agent": next.agent,
            "inputs": messages::inputs(run, plan),
        })
    });
    let is_next = |id: &StepId| plan.next.first().is_some_and(|next| next.step == *id);
    let steps = &plan.steps;
    let open = [&steps.in_progress, &steps.failed, &steps.pending, &steps.blocked, &steps.invalid];
    let remaining: Vec<&StepId> = run
        .steps
        .iter()
        .map(|step| &step.id)
        .filter(|id| !is_next(id) && open.iter().any(|ids| ids.contains(id)))
        .collect();
    let messages_of = |severity: Severity| -> Vec<&str> {
        findings.iter().filter(|finding| finding.severity == severity).map(|finding| finding.message.as_str()).collect()
    };
    let mut native = json!({
        "messages": messages::summary(run, plan, findings),
        "confirmation": messages::resuming(run, plan, findings),
        "workflow_type": resume_point::workflow_type(run),
        "state_source": run.state_files.first(),
        "state_age": plan.age.band.map(messages::age_words).map(|(age, advice)| json!({ "assessment": age, "recommendation": advice })),
        "last_completed_phase": last.map(|step| json!({
            "step": step.id,
            "name": step.title,
            "agent": step.agent,
            "output": step.proof.outputs,
        })),
        "resume_phase": resume,
        "validation_status": validation(findings),
        "warnings": messages_of(Severity::Warning),
        "conflicts": messages_of(Severity::Blocking),
        "remaining_phases": remaining,
    });
    if resume_point::is_only_read(run) {
        native["next"] = json!(others::command(run.id.as_str()));
    }
    native
}

fn validation(findings: &[Finding]) -> &'static str {
    match findings.iter().map(|finding| finding.severity).min() {
        Some(Severity::Blocking) => "conflicts",
        Some(Severity::Warning) => "warnings",
        Some(Severity::Info) | None => "clean",
    }
}
