//! The plan in the format of `/workflow-resume` (docs/formats/nine-step.md#plan-in-the-words-of-the-plugin).

use serde_json::{Value, json};

use super::rules::{StepNumber, StepPosition};
use crate::model::{Action, Next, Plan, Run, Status, Step, Timestamp, Verdict, clean, mask_secrets};

/// Returns `resume_plan` as the plugin's rollback writes it, with the other data that `/workflow-resume` shows
/// (docs/formats/nine-step.md#plan-in-the-words-of-the-plugin).
pub(super) fn plan(run: &Run, plan: &Plan) -> Value {
    let position = run.position.as_ref().and_then(|id| run.step(id));
    json!({
        "resume_plan": resume_plan(run, plan.next.first()),
        "feature_name": run.title,
        "worktree_path": plan.run.worktree,
        "branch_name": plan.run.branch,
        "plan_reference": run.workspace.plan_reference,
        "current_state": {
            "current_phase": position.and_then(position_of).map(|place| place.phase),
            "total_phases": total_phases(run),
            "phase_description": run.goal,
            "last_step": position.and_then(position_of).map(|place| place.step.to_value()),
            "last_agent": position.and_then(|step| step.agent.clone()),
            "last_status": position.map(|step| step.status.as_str()),
            "interrupted": run.stamp.map(Timestamp::in_seconds),
            "interruption_reason": position.and_then(|step| step.error.as_deref()).map(|error| mask_secrets(&clean(error)).into_owned()),
        },
        "completed_work": completed_work(run),
        "prompt": prompt(plan),
    })
}

fn resume_plan(run: &Run, next: Option<&Next>) -> Value {
    let Some(next) = next else { return Value::Null };
    let place = match next.action {
        Action::Merge | Action::Archive => None,
        Action::Verify | Action::Approve | Action::Return | Action::Retry | Action::Run | Action::Exec => {
            StepPosition::parse(next.step.as_str())
        }
    };
    let mut resume = json!({
        "next_phase": place.map(|place| place.phase),
        "next_step": place.map(|place| place.step.to_value()),
        "next_agent": next.agent,
        "reason": reason(run, next, place),
    });
    if !next.agent_candidates.is_empty() {
        resume["agent_candidates"] = json!(next.agent_candidates);
    }
    resume
}

/// Returns the reason in the plugin's wording if it has one, else the planner's.
fn reason(run: &Run, next: &Next, place: Option<StepPosition>) -> String {
    let Some(place) = place else { return next.reason.clone() };
    let position = run.position.as_ref().and_then(|id| run.step(id));
    let last = position.and_then(position_of);
    match (next.action, position, last) {
        (Action::Return, Some(step), Some(_)) => match &step.agent {
            Some(agent) => format!("Address {agent} feedback"),
            None => next.reason.clone(),
        },
        (Action::Approve, _, _) if place.step == StepNumber::Approval => "User approval required".to_owned(),
        (Action::Run | Action::Exec, _, Some(last)) if last.phase < place.phase => {
            format!("Phase {} completed; phase {} begins at step {}", last.phase, place.phase, place.step)
        }
        (
            Action::Verify
            | Action::Approve
            | Action::Return
            | Action::Retry
            | Action::Run
            | Action::Exec
            | Action::Merge
            | Action::Archive,
            _,
            _,
        ) => next.reason.clone(),
    }
}

/// Returns where a run stopped and what is next: `Step 4 failed, next: return 2:3 (Implementation)`. `None` for a run that did not stop at a
/// failure, or does that step again.
pub(super) fn stopped(run: &Run, plan: &Plan) -> Option<String> {
    let step = run.position.as_ref().and_then(|id| run.step(id))?;
    let (place, next) = (position_of(step)?, plan.next.first()?);
    if step.status != Status::Failed || next.step == step.id || matches!(next.action, Action::Merge | Action::Archive) {
        return None;
    }
    let next = format!("{} {}", next.action.as_str(), next.step.with_title(&next.title));
    Some(format!("Phase {}: Step {} {}, next: {next}", place.phase, place.step, step.status))
}

fn position_of(step: &Step) -> Option<StepPosition> {
    StepPosition::parse(step.id.as_str())
}

/// Returns the number of phases if the state records it: only then is something planned after the last phase.
fn total_phases(run: &Run) -> Option<u32> {
    run.follow_up.as_ref().and_then(|_| run.steps.last()).and_then(position_of).map(|place| place.phase)
}

/// Groups the completed work by phase: `Phase 1: Step 1-9 completed (commit: a1b2c3d)`
/// (docs/formats/nine-step.md#plan-in-the-words-of-the-plugin).
fn completed_work(run: &Run) -> Vec<String> {
    let mut lines = Vec::new();
    for phase in run.steps.chunk_by(|a, b| a.group == b.group) {
        let done: Vec<StepPosition> =
            phase.iter().filter(|step| step.status == Status::Completed).filter_map(position_of).collect();
        let (Some(first), Some(last)) = (done.first(), done.last()) else { continue };
        let range = if first == last { first.step.to_string() } else { format!("{}-{}", first.step, last.step) };
        let commit = phase.iter().filter_map(|step| step.commit.as_deref()).next_back();
        let commit = commit.map(|sha| format!(" (commit: {})", sha.get(..7).unwrap_or(sha))).unwrap_or_default();
        lines.push(format!("Phase {}: Step {range} completed{commit}", first.phase));
    }
    lines
}

/// Returns the question with its default answer: yes to resume, no to continue despite problems
/// (docs/formats/nine-step.md#messages).
fn prompt(plan: &Plan) -> &'static str {
    match plan.verdict {
        Verdict::Resume => "Proceed with resume? [Y/n]",
        Verdict::Confirm | Verdict::Blocked => "Continue anyway? [y/N]",
        Verdict::Complete => "Merge now? [y/N]",
        Verdict::Nothing => "",
    }
}
