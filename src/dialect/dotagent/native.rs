//! The plan in the format of the `checkpoint` skill (docs/formats/dotagent.md#messages).

use serde_json::{Value, json};

use super::rules::Phase;
use crate::model::{Finding, FindingCode, Plan, Question, QuestionOption, Run, Status, Step, Suggested, Verb, Verdict};

/// Returns the skill's messages and the resume point.
pub(super) fn native(run: &Run, plan: &Plan) -> Value {
    let is_open = !matches!(plan.verdict, Verdict::Complete | Verdict::Nothing);
    let phase = phase_of(run, plan);
    let completed: Vec<&str> = Phase::ALL.into_iter().map(Phase::as_str).filter(|phase| is_done(run, phase)).collect();
    let mut native = json!({
        "resume_point": is_open.then(|| json!({
            "phase": phase,
            "agents": plan.next.iter().filter_map(|next| next.agent.as_deref()).collect::<Vec<_>>(),
            "actions": plan.next.iter().map(|next| json!({ "step": next.step, "action": next.action })).collect::<Vec<_>>(),
        })),
        "completed_phases": completed,
    });
    let is_redone = |phase: &str| {
        let of_phase = |step: &&Step| step.id.as_str() == phase || step.group.as_deref() == Some(phase);
        run.steps.iter().filter(of_phase).any(|step| plan.steps.invalid.contains(&step.id))
    };
    let completed: Vec<String> = (completed.into_iter())
        .map(|phase| if is_redone(phase) { format!("{phase} (to be redone)") } else { phase.to_owned() })
        .collect();
    say(&mut native, run, plan, phase, &completed);
    native
}

/// Adds the skill's messages: to a plan if the run was cut off, and to a resume (docs/formats/dotagent.md#messages).
pub(super) fn say(native: &mut Value, run: &Run, plan: &Plan, phase: &str, completed: &[String]) {
    if matches!(plan.verdict, Verdict::Complete | Verdict::Nothing) {
        return;
    }
    let id = &run.id;
    let last = run.stamp.map_or_else(|| "unknown".to_owned(), |stamp| stamp.in_seconds());
    let completed = if completed.is_empty() { "none".to_owned() } else { completed.join(", ") };
    let state = [format!("Last activity: {last}"), format!("Completed: {completed}")];
    if plan.is_cut_off() {
        let heads =
            [format!("Detected interrupted workflow: {id}"), format!("Would resume workflow {id} from {phase} phase")];
        native["messages"] = json!(heads.iter().chain(&state).collect::<Vec<_>>());
    }
    let head = format!("Resuming workflow {id} from {phase} phase");
    native["confirmation"] = json!(std::iter::once(&head).chain(&state).collect::<Vec<_>>());
}

/// Returns the skill's question. Where the skill archives a run that is declined, that is an option of its own: no changes nothing.
pub(super) fn question(run: &Run, plan: &Plan, findings: &[Finding]) -> Option<Question> {
    if plan.verdict == Verdict::Complete || findings.iter().any(|finding| finding.code == FindingCode::LiveOwner) {
        return None;
    }
    let _id = crate::model::quoted(run.id.as_str());
    let fresh = |id_of_option: &str| {
        let command = Suggested::of(Verb::Close, &run.id).flag("abort");
        QuestionOption::new(id_of_option, "archive it and start fresh", command).by_person()
    };
    let no = QuestionOption::leave("no", "leave it as it is", Suggested::of(Verb::Status, &run.id));
    if findings.iter().any(|finding| fails_validation(finding.code)) {
        return Some(Question::of_run("State appears corrupted. Start fresh?", vec![fresh("yes"), no], Some("no")));
    }
    let old = findings.iter().find(|finding| finding.code == FindingCode::AgeStale);
    let is_asked = plan.verdict == Verdict::Resume || (plan.verdict == Verdict::Confirm && old.is_some());
    let yes = plan.question().filter(|_| is_asked)?.option("yes")?.clone();
    let resume = format!("Resume workflow from {}?", phase_of(run, plan));
    let (text, default) = match old {
        Some(old) => (format!("⚠️ {}. {resume}", old.message), "no"),
        None => (resume, "yes"),
    };
    Some(Question::of_run(text, vec![yes, no, fresh("fresh")], Some(default)))
}

const fn fails_validation(code: FindingCode) -> bool {
    matches!(
        code,
        FindingCode::StateCorrupt
            | FindingCode::OutputMissing
            | FindingCode::OutputUnparsable
            | FindingCode::OutputOlder
            | FindingCode::OutputRejected
    )
}

fn is_done(run: &Run, phase: &str) -> bool {
    run.steps.iter().any(|step| step.id.as_str() == phase && step.status == Status::Completed)
}

fn phase_of<'a>(run: &'a Run, plan: &Plan) -> &'a str {
    let next = plan.next.first().and_then(|next| run.group_of(next));
    next.or_else(|| run.position.as_ref().map(crate::model::StepId::as_str)).unwrap_or_default()
}
