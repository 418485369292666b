//! The plan in the format of the resume command, which calls it analysis (docs/formats/ccw.md#interruptions-and-strategies).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rules;
use crate::model::{Action, Plan, Run, Status, StepId, Verdict};

/// Returns `interruption_analysis`, `execution_state` and `interruption_point`.
pub(super) fn native(run: &Run, plan: &Plan) -> Value {
    let task = last_active_task(plan);
    let kind = interruption_type(run, plan);
    let affected = match &plan.interruption {
        Some(report) if !report.affected.is_empty() => report.affected.clone(),
        Some(_) | None => task.iter().cloned().collect(),
    };
    // A completion that is recorded but not believed is work to do.
    let mut pending = plan.steps.pending.clone();
    pending.extend(plan.steps.invalid.iter().filter(|id| !plan.steps.pending.contains(id)).cloned());
    pending.sort();
    json!({
        "interruption_analysis": {
            "session_id": run.id,
            "last_active_task": task,
            "interruption_type": kind,
            "interruption_time": plan.interruption.as_ref().and_then(|report| report.at),
            "affected_tasks": affected,
            "pending_dependencies": pending_dependencies(run, plan, task.as_ref()),
            "recovery_strategy": recovery_strategy(plan),
        },
        "execution_state": {
            "completed_tasks": plan.steps.completed,
            "failed_tasks": plan.steps.failed,
            "in_progress_tasks": plan.steps.in_progress,
            "pending_tasks": pending,
            "skipped_tasks": plan.steps.skipped,
            "blocked_tasks": plan.steps.blocked,
        },
        "interruption_point": { "task": task, "type": point_type(plan) },
    })
}

fn last_active_task(plan: &Plan) -> Option<StepId> {
    if plan.verdict == Verdict::Complete {
        return None;
    }
    let interrupted = plan.interruption.as_ref().and_then(|report| report.step.clone());
    interrupted.or_else(|| plan.next.first().map(|next| next.step.clone()))
}

/// Returns the strategy for the next step; if none can start, the one for that.
fn recovery_strategy(plan: &Plan) -> Option<&'static str> {
    let blocked = plan.interruption.as_ref().filter(|_| plan.next.is_empty()).and_then(|report| report.strategy);
    plan.next.iter().find_map(|next| next.strategy).or(blocked).map(|strategy| strategy.as_str())
}

/// Returns the recorded interruption (`agent_timeout`) if the state has one for the same task, else the planner's.
fn interruption_type(run: &Run, plan: &Plan) -> String {
    let recorded = run.interruption.as_ref().filter(|recorded| {
        let planned = plan.interruption.as_ref().and_then(|report| report.step.as_ref());
        planned.is_none() || recorded.step.is_none() || recorded.step.as_ref() == planned
    });
    match (recorded, &plan.interruption) {
        (Some(recorded), Some(_)) => rules::interruption_word(recorded.kind, &recorded.reason),
        (_, Some(report)) => rules::interruption_word(report.kind, &report.reason),
        (_, None) => point_type(plan),
    }
}

/// Returns the type of an `InterruptionPoint`, including the two that the resume command lacks
/// (docs/formats/ccw.md#decision-table).
pub(super) fn point_type(plan: &Plan) -> String {
    let first = plan.next.first().map(|next| next.action);
    let word = match (plan.verdict, first, &plan.interruption) {
        (Verdict::Complete, _, _) => "workflow_complete",
        (_, Some(Action::Verify), _) => "needs_verification",
        (_, _, Some(report)) => report.kind.as_str(),
        (_, Some(Action::Approve | Action::Return | Action::Retry | Action::Run | Action::Exec), None) => {
            "ready_to_execute"
        }
        (_, Some(Action::Merge | Action::Archive), None) => "workflow_complete",
        (Verdict::Resume | Verdict::Confirm | Verdict::Blocked, None, None) => "dependency_block",
        (Verdict::Nothing, None, None) => "workflow_complete",
    };
    word.to_owned()
}

/// Returns the pending dependencies of the task or, if nothing can start, of all tasks.
fn pending_dependencies(run: &Run, plan: &Plan, task: Option<&StepId>) -> Vec<String> {
    let given_up: BTreeSet<&str> =
        run.steps.iter().filter(|step| step.status == Status::Cancelled).map(|step| step.id.as_str()).collect();
    let skipped = plan.steps.skipped.iter().map(StepId::as_str).filter(|id| !given_up.contains(id));
    let done: BTreeSet<&str> = plan.steps.completed.iter().map(StepId::as_str).chain(skipped).collect();
    let is_done = |id: &StepId| done.contains(id.as_str());
    let waits = |id: &StepId| match task {
        Some(task) if !plan.next.is_empty() => id == task,
        Some(_) | None => !is_done(id),
    };
    if plan.verdict == Verdict::Complete {
        return Vec::new();
    }
    let mut found: Vec<String> = Vec::new();
    let mut known: BTreeSet<&str> = BTreeSet::new();
    for step in run.steps.iter().filter(|step| waits(&step.id)) {
        let open = step.depends_on.iter().filter(|id| !is_done(id)).map(StepId::as_str);
        for id in open.chain(step.dangling.iter().map(String::as_str)) {
            if known.insert(id) {
                found.push(id.to_owned());
            }
        }
    }
    found
}
