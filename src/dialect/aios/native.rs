//! The plan in the words of the `orchestrate-resume` task (dotagent-and-aios.md 2.10).

use serde_json::Value;
use serde_json::json;

use crate::model::AgeBand;
use crate::model::Plan;
use crate::model::Run;
use crate::model::Status;
use crate::model::StepId;
use crate::model::Verdict;

/// Returns the resume plan of the task: where the run was, where it goes on, what is left.
pub(super) fn native(run: &Run, plan: &Plan) -> Value {
    let last = run.steps.iter().rev().find(|step| step.status == Status::Completed);
    let resume = plan.next.first().map(|next| {
        let step = run.step(&next.step);
        json!({
            "step": next.step,
            "name": next.title,
            "wave": step.and_then(|step| step.group.as_deref()),
            "agent": next.agent,
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
    json!({
        "workflow_type": run.workflow,
        "state_source": run.state_files.first(),
        "state_age": plan.age.band.map(AgeBand::as_str),
        "last_completed_phase": last.map(|step| json!({ "step": step.id, "name": step.title, "agent": step.agent })),
        "resume_phase": resume,
        "validation_status": validation(plan.verdict),
        "remaining_phases": remaining,
    })
}

const fn validation(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Resume | Verdict::Complete | Verdict::Nothing => "clean",
        Verdict::Confirm => "warnings",
        Verdict::Blocked => "conflicts",
    }
}
