//! What a person can say about a step of another program that witnesses disagree about: a patch for each answer, behind one question.

use std::collections::BTreeSet;

use super::opened_run::{OpenedRun, command_word};
use crate::{
    engine,
    model::{
        Action, Answer, AnswerWord, Next, PatchAnswer, PatchedFile, Plan, Question, QuestionOption, ReadProblem, Run,
        Status, Step, StepId, Suggested, Suggestion, Verb, first_names, unified_diff,
    },
};

/// Maximum number of steps with answers.
const STEPS: usize = 20;
/// Number of steps that a question names.
const STEPS_NAMED: usize = 5;

/// Returns the answers about the steps that have to be looked at: first those that witnesses disagree about, then those that were built.
pub(super) fn answers(opened: &OpenedRun, run: &Run, plan: &Plan) -> Vec<PatchAnswer> {
    let looked_at = || plan.next.iter().filter(|next| next.action == Action::Verify);
    let (disputed, built) = (looked_at().filter(|next| !is_built(next)), looked_at().filter(|next| is_built(next)));
    let steps = disputed.chain(built).filter_map(|next| run.step(&next.step)).take(STEPS);
    steps.flat_map(|step| of_step(opened, run, step)).collect()
}

/// Returns the answers that a suggested patch does not give already: it says of what was built that it is done.
pub(super) fn not_in(patch: &[PatchedFile], answers: Vec<PatchAnswer>, plan: &Plan) -> Vec<PatchAnswer> {
    let built: BTreeSet<&StepId> = plan.next.iter().filter(|next| is_built(next)).map(|next| &next.step).collect();
    let is_given = |one: &PatchAnswer| built.contains(&one.step) && patch.iter().any(|file| file.file == one.file.file);
    answers.into_iter().filter(|one| !is_given(one)).collect()
}

/// Tells whether a step has to be looked at because it was built, and nothing contradicts that.
pub(super) fn is_built(next: &Next) -> bool {
    next.rule == engine::BUILT
}

fn of_step(opened: &OpenedRun, run: &Run, step: &Step) -> Vec<PatchAnswer> {
    let found = opened.dialect.comparison().answers(&opened.files, run, step);
    found.into_iter().filter_map(|answer| patch_answer(opened, step, answer)).collect()
}

/// Returns the command that prints the patches of a run.
fn patch_command(opened: &OpenedRun) -> Suggested {
    Suggested::of(Verb::Plan, command_word(&opened.files.root, &opened.candidate)).flag("patch")
}

fn patch_answer(opened: &OpenedRun, step: &Step, answer: Answer) -> Option<PatchAnswer> {
    let Suggestion { file, after, reasons } = answer.suggestion;
    let before = match opened.files.problem(&file) {
        Some(ReadProblem::Missing) => None,
        Some(_) => return None,
        None => Some(std::str::from_utf8(opened.files.bytes(&file)?).ok()?),
    };
    let diff = unified_diff(file.as_str(), before, std::str::from_utf8(&after).ok()?);
    let said = format!("{}={}", step.id, answer.word.as_str());
    let command = patch_command(opened).option("answer", said);
    let file = PatchedFile { file, reasons, diff };
    (!file.diff.is_empty()).then_some(PatchAnswer { step: step.id.clone(), answer: answer.word, command, file })
}

/// Returns the question about the first step that witnesses disagree about, else about what was built: all of it at once, or the first step of it
/// alone. A patch says each answer, but that a step is open which no file calls done: its brief continues it.
pub(super) fn question(opened: &OpenedRun, run: &Run, plan: &Plan) -> Option<Question> {
    let first = |wanted: bool| plan.next.iter().find(|next| next.action == Action::Verify && is_built(next) == wanted);
    let asked = first(false).or_else(|| first(true))?;
    let step = run.step(&asked.step)?;
    let found = of_step(opened, run, step);
    let words: Vec<&str> = found.iter().map(|one| one.answer.as_str()).collect();
    let built = if is_built(asked) { suggested_at_once(opened, run, plan) } else { Vec::new() };
    let (text, alone) = match built.as_slice() {
        [] => (format!("Is {} {}?", asked.step.with_title(&asked.title), words.join(" or ")), String::new()),
        several => (format!("Are {} done?", first_names(several, STEPS_NAMED)), format!("{} alone: ", step.id)),
    };
    let option = |one: &PatchAnswer| {
        let label = format!("{alone}{}: prints the patch that says so", one.answer.in_words());
        QuestionOption::new(one.answer.as_str(), label, one.command.clone()).by_person()
    };
    let mut options: Vec<QuestionOption> = found.iter().map(option).collect();
    if !built.is_empty() {
        let label = "all of them are done: prints the patch that says so";
        options.insert(0, QuestionOption::new("all", label, patch_command(opened)).by_person());
    }
    let is_open = matches!(step.status, Status::Pending | Status::InProgress | Status::Failed);
    if is_open && !found.is_empty() && found.iter().all(|one| one.answer != AnswerWord::Open) {
        let label = format!("{alone}{}: its brief continues it", AnswerWord::Open.in_words());
        let command =
            Suggested::of(Verb::Context, command_word(&opened.files.root, &opened.candidate)).option("step", &step.id);
        options.push(QuestionOption::leave(AnswerWord::Open.as_str(), label, command));
    }
    (options.len() > 1).then_some(Question { step: Some(step.id.clone()), ..Question::of_run(text, options, None) })
}

/// Returns the steps that were built where one patch says of several that they are done; else nothing.
fn suggested_at_once(opened: &OpenedRun, run: &Run, plan: &Plan) -> Vec<String> {
    let built: Vec<StepId> = plan.next.iter().filter(|next| is_built(next)).map(|next| next.step.clone()).collect();
    let suggested = opened.dialect.comparison().suggest(&opened.files, run, &built);
    let facts: usize = suggested.files.iter().map(|file| file.reasons.len()).sum();
    if built.len() > 1 && facts >= built.len() { built.iter().map(ToString::to_string).collect() } else { Vec::new() }
}
