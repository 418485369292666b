//! The commands that act on the steps of a run.

use crate::model::{
    AgentStatus, DecisionKind, Part, PartKind, ReviewVerdict, RunId, Status, Step, StepId, StepKind, Suggested, Uid,
    Verb, safe_line,
};

/// Returns `piton decide STEP ANSWER --run RUN`.
pub(crate) fn answer(answer: &str, step: &StepId, run: &RunId) -> Suggested {
    Suggested::of(Verb::Decide, step).word(answer).run(run)
}

/// Returns the command that lists what a person can answer about a step.
pub(super) fn answers(step: &StepId, run: &RunId) -> Suggested {
    Suggested::on_step(Verb::Decide, step, run)
}

/// Returns the command that approves a gate: with the first of its answers, where it offers several.
pub(crate) fn approve(gate: &Step, run: &RunId) -> Suggested {
    choose(gate, run, gate.options.first().map_or(APPROVE, |first| &first.word))
}

/// Returns the command that gives an answer at a gate.
pub(super) fn choose(gate: &Step, run: &RunId, word: &str) -> Suggested {
    answer(word, &gate.id, run).by()
}

/// Returns the command of a person's decision about a step. The words in capitals stand for what the person fills in.
pub(crate) fn decide(word: &str, step: &StepId, run: &RunId) -> Suggested {
    answer(word, step, run).by_and_why()
}

/// Returns how a step that a person blocked goes on.
pub(super) fn override_hold(step: &StepId, run: &RunId) -> String {
    format!("once it can go on: `{}`", decide("override", step, run))
}

/// The name of what follows when every step is done and the work is to be merged, in place of a step.
pub(crate) const END: &str = "merge";

const APPROVE: &str = DecisionKind::Approve.as_str();

/// Returns the command that approves what follows when every step is done.
pub(super) fn approve_end(run: &RunId) -> Suggested {
    answer(APPROVE, &StepId::new(END), run).by()
}

/// Returns the command with which a person lets a step be done again.
pub(crate) fn redo(step: &StepId, run: &RunId) -> Suggested {
    decide("redo", step, run)
}

/// Returns the command that records a step as done: with a verdict for reviews, else with a status.
pub(super) fn finish(step: &Step, run: &RunId) -> Suggested {
    let finish = Suggested::on_step(Verb::Finish, &step.id, run);
    let finish = match step.kind {
        StepKind::Review => finish.option("verdict", "VERDICT"),
        StepKind::Work | StepKind::Gate | StepKind::Container => finish.option("status", Status::Completed.as_str()),
    };
    with_verdicts(finish, step)
}

/// Returns the part of a step that must not run twice and was cut off: only that may have taken effect.
pub(super) fn cut_off_part(step: &Step) -> Option<&Part> {
    step.detail.parts.iter().find(|part| !step.idempotent && part.status == Status::InProgress)
}

/// The word of a person that a step that was cut off took effect.
pub(crate) const HAPPENED: &str = "happened";
/// The word of a person that it did not.
pub(crate) const NOT_HAPPENED: &str = "not-happened";

/// Returns the commands with which a person says whether a step that must not run twice took effect: that it did, and that it did not.
pub(super) fn effect(step: &Step, run: &RunId) -> [Suggested; 2] {
    let part = cut_off_part(step).map(|part| &part.name);
    [answer(HAPPENED, &step.id, run).maybe("part", part).by_and_why(), decide(NOT_HAPPENED, &step.id, run)]
}

/// Names the verdicts of a review in a comment, if its format cannot record every one.
fn with_verdicts(finish: Suggested, step: &Step) -> Suggested {
    let is_any = step.kind != StepKind::Review || step.ends.verdicts == ReviewVerdict::ALL;
    if is_any { finish } else { finish.comment(&step.ends.verdicts_in_words()) }
}

/// Characters of a step id in a text for its agent.
const ID_CHARS: usize = 200;

const WITH_CONDITIONS: &str = ReviewVerdict::ApprovedWithConditions.as_str();

/// Returns the command that goes on with an open part of a step.
pub(super) fn next_of_part(step: &Step, part: &Part, run: &RunId) -> Suggested {
    let verb = if part.status == Status::InProgress { Verb::Finish } else { Verb::Begin };
    Suggested::on_step(verb, &step.id, run).option("part", &part.name)
}

/// Names the attempt that a report is about.
fn of_attempt(finish: Suggested, begun: Option<Uid>) -> Suggested {
    finish.maybe("begun", begun.map(|begun| begun.short()))
}

/// Returns the command that ends an attempt at a step or its part, with the words that have to be filled in.
pub(crate) fn end(step: &Step, part: Option<&str>, run: &RunId, begun: Option<Uid>) -> Suggested {
    let finish = Suggested::on_step(Verb::Finish, &step.id, run);
    if let Some(part) = part {
        return of_attempt(finish.option("part", part), begun);
    }
    let is_review = step.kind == StepKind::Review;
    let finish = finish.maybe("verdict", is_review.then_some("VERDICT")).option("summary", "TEXT");
    with_verdicts(of_attempt(finish, begun), step)
}

/// Returns the command that ends a step whose agent reported: the report has the words that [`end`] asks for.
pub(crate) fn end_reported(step: &Step, run: &RunId, reported: Option<AgentStatus>, begun: Option<Uid>) -> Suggested {
    let finish = Suggested::on_step(Verb::Finish, &step.id, run);
    let finish = match (reported, step.kind) {
        (None, _) => return end(step, None, run, begun),
        (Some(_), StepKind::Review) => finish.option("verdict", "VERDICT"),
        (Some(AgentStatus::Done), StepKind::Work | StepKind::Gate | StepKind::Container) => finish,
        (Some(AgentStatus::Blocked | AgentStatus::NeedsContext), _) => failed(step, run),
    };
    of_attempt(finish, begun)
}

/// Returns the command that records that a step failed.
pub(crate) fn failed(step: &Step, run: &RunId) -> Suggested {
    Suggested::on_step(Verb::Finish, &step.id, run).option("status", Status::Failed.as_str()).option("error", "TEXT")
}

/// Returns the command that prints the brief of a step.
pub(crate) fn context(step: &StepId, run: &RunId) -> Suggested {
    Suggested::of(Verb::Context, run).option("step", step)
}

/// Returns how the agent of a step ends its last message. The session that started it records the end.
pub(crate) fn agent_contract(step: &Step) -> String {
    let mut lines = vec![
        format!(
            "end your last message with these lines. The session that started you records the end of the step: run neither \
             `{}` nor `{}`.",
            Suggested::new(Verb::Begin),
            Suggested::new(Verb::Finish)
        ),
        format!("STEP: {}", safe_line(step.id.as_str(), ID_CHARS)),
        "STATUS: DONE, BLOCKED or NEEDS_CONTEXT".to_owned(),
        "SUMMARY: what the next agent has to know".to_owned(),
    ];
    lines.extend(match step.kind {
        StepKind::Review => [
            format!("VERDICT: {}", step.ends.verdicts_in_words()),
            "FINDINGS: one per line, each after a dash".to_owned(),
        ],
        StepKind::Work | StepKind::Gate | StepKind::Container => {
            ["FILES: the files that you changed".to_owned(), "TESTS: what you ran, and its result".to_owned()]
        }
    });
    lines.join("\n")
}

/// Returns the command after a part was begun or ended: the next open part, else the end of the step. After an analysis, the work itself
/// is still to do.
pub(crate) fn after_part(step: &Step, run: &RunId) -> Suggested {
    let is_analysis = step.detail.parts.iter().all(|part| part.kind == PartKind::Analysis);
    match step.detail.parts.iter().find(|part| part.is_open()) {
        Some(part) => next_of_part(step, part, run),
        None if is_analysis => context(&step.id, run),
        None => end(step, None, run, None),
    }
}

/// Returns how the result of an attempt is reported, with the words for it. Words in capitals stand for what is filled in.
pub(super) fn report(step: &Step, run: &RunId, begun: Option<Uid>) -> String {
    let finish = Suggested::on_step(Verb::Finish, &step.id, run);
    match step.kind {
        StepKind::Review => format!(
            "`{}` with {}, and `--finding TEXT` for each thing to address",
            of_attempt(finish.option("verdict", "VERDICT").option("summary", "TEXT"), begun),
            step.ends
                .verdicts_in_words()
                .replace(WITH_CONDITIONS, &format!("{WITH_CONDITIONS} (and `--condition TEXT`)"))
        ),
        StepKind::Work | StepKind::Gate | StepKind::Container => {
            let done = of_attempt(finish.option("summary", "TEXT"), begun);
            format!(
                "`{done}` with what the next agent has to know, and `--output FILE` for each file; if it failed, with `--status failed --error \
                 TEXT`"
            )
        }
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
