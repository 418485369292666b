//! The question of a plan, with the answers that only this system has.

use super::rules::{StepNumber, StepPosition};
use crate::model::{
    Action, Finding, FindingCode, Next, Plan, Question, QuestionOption, Run, Status, Suggested, Verb, Verdict,
};

/// Returns the question with the answers that only this system has: after the last allowed failure the phase can be put off, and failing
/// tests can return to another step, because their words do not say for certain whether the code has to change or the tests were not run
/// (docs/formats/nine-step.md#where-a-failure-goes-back-to).
pub(super) fn question(run: &Run, plan: &Plan, findings: &[Finding]) -> Option<Question> {
    if let Some(limit) = findings.iter().find(|finding| finding.code == FindingCode::AttemptLimit) {
        return without_phase(run, plan.question().cloned()?, limit);
    }
    let mut question =
        plan.question().cloned().filter(|_| matches!(plan.verdict, Verdict::Resume | Verdict::Confirm))?;
    let option = other_way(run, plan.next.first()?)?;
    question.options.insert(1.min(question.options.len()), option);
    Some(question)
}

/// Puts the question about a step that failed too often in the words of the plugin (docs/formats/nine-step.md#messages), and adds its third
/// answer: the phase is put off.
fn without_phase(run: &Run, mut question: Question, limit: &Finding) -> Option<Question> {
    let at = StepPosition::parse(limit.step.as_ref()?.as_str())?;
    if question.text.starts_with(limit.message.as_str()) {
        let failures = run.step(limit.step.as_ref()?)?.failures;
        question.text = format!("⚠️ Same Step failed {failures}+ times. {}", question.text);
    }
    let before_abort = question.options.iter().position(|option| option.id == "abort")?;
    let label = format!("leave out what is open in phase {}, its gate and reviews too", at.phase);
    let phase = Suggested::of(Verb::Decide, format!("phase-{}", at.phase));
    let command = phase.word("skip").run(&run.id).by_and_why().yes();
    question.options.insert(before_abort, QuestionOption::new("skip-phase", label, command).by_person());
    Some(question)
}

fn other_way(run: &Run, next: &Next) -> Option<QuestionOption> {
    let to = StepPosition::parse(next.step.as_str())?;
    let tests = StepPosition::new(to.phase, StepNumber::Testing).id();
    let has_failed = run.step(&tests).is_some_and(|step| step.status == Status::Failed);
    let (label, step) = match (next.action, to.step) {
        _ if !has_failed => return None,
        (Action::Retry, StepNumber::Testing) => {
            ("the code has to change: go back to the implementation", StepNumber::Implementation)
        }
        (Action::Return, StepNumber::Implementation) => ("the tests were not run: run them again", StepNumber::Testing),
        (_, _) => return None,
    };
    let step = StepPosition::new(to.phase, step).id();
    let failed = Suggested::on_step(Verb::Finish, &tests, &run.id).option("status", "failed");
    let command = failed.option("to-step", step);
    Some(QuestionOption::new("other", label, command))
}
