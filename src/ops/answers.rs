//! What a person can say about a step of another program that witnesses disagree about: a patch for each answer, behind one question.

use super::opened_run::OpenedRun;
use super::opened_run::command_word;
use crate::engine;
use crate::model::Action;
use crate::model::Answer;
use crate::model::PatchAnswer;
use crate::model::PatchedFile;
use crate::model::Plan;
use crate::model::Question;
use crate::model::QuestionOption;
use crate::model::ReadProblem;
use crate::model::Run;
use crate::model::Step;
use crate::model::Suggestion;
use crate::model::unified_diff;

/// Maximum number of steps with answers.
const STEPS: usize = 20;

/// Returns the answers about the steps that have to be looked at because witnesses disagree.
pub(super) fn answers(opened: &OpenedRun, run: &Run, plan: &Plan) -> Vec<PatchAnswer> {
    let disputed = plan.next.iter().filter(|next| next.action == Action::Verify && next.rule != engine::BUILT);
    let steps = disputed.filter_map(|next| run.step(&next.step)).take(STEPS);
    let of_step = |step: &Step| {
        let found = opened.dialect.comparison().answers(&opened.files, run, step);
        let answers = found.into_iter().filter_map(|answer| patch_answer(opened, step, answer));
        answers.collect::<Vec<PatchAnswer>>()
    };
    steps.flat_map(of_step).collect()
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
    let command = format!(
        "piton plan {} --patch --answer {}",
        command_word(&opened.files.root, &opened.candidate),
        engine::quoted(&said)
    );
    let file = PatchedFile { file, reasons, diff };
    (!file.diff.is_empty()).then_some(PatchAnswer { step: step.id.clone(), answer: answer.word, command, file })
}

/// Returns the question about the first step that witnesses disagree about, where a patch says each answer.
pub(super) fn question(opened: &OpenedRun, run: &Run, plan: &Plan) -> Option<Question> {
    let disputed = plan.next.iter().find(|next| next.action == Action::Verify && next.rule != engine::BUILT)?;
    let step = run.step(&disputed.step)?;
    let found = opened.dialect.comparison().answers(&opened.files, run, step).into_iter();
    let found: Vec<PatchAnswer> = found.filter_map(|answer| patch_answer(opened, step, answer)).collect();
    let words: Vec<&str> = found.iter().map(|one| one.answer.as_str()).collect();
    let text = format!("Is {} {}?", disputed.step.with_title(&disputed.title), words.join(" or "));
    let option = |one: &PatchAnswer| {
        let label = format!("{}: prints the patch that says so", one.answer.in_words());
        QuestionOption::new(one.answer.as_str(), label, one.command.clone()).by_person()
    };
    let options: Vec<QuestionOption> = found.iter().map(option).collect();
    (options.len() > 1).then_some(Question { text, options, default: None })
}
