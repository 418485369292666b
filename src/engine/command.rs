//! Exact command lines. Ids come from untrusted files and end up in commands that agents run, so each one is quoted as one shell
//! word and can never become an option of `piton`.

use crate::model::{
    AgentStatus, DecisionKind, Part, PartKind, ReviewVerdict, RunId, Status, Step, StepId, StepKind, Uid, quoted,
    safe_line,
};

/// Returns ` --NAME VALUE`, or ` --NAME=VALUE` if the value starts with a dash.
pub(crate) fn option(name: &str, value: &str) -> String {
    let tie = if value.starts_with('-') { '=' } else { ' ' };
    format!(" --{name}{tie}{}", quoted(value))
}

/// Returns `piton VERB STEP --run RUN` followed by `tail`.
pub(super) fn on_step(verb: &str, step: &StepId, run: &RunId, tail: &str) -> String {
    with_argument(verb, step.as_str(), &format!("{}{tail}", option("run", run.as_str())))
}

/// Returns `piton decide STEP ANSWER --run RUN` followed by `tail`.
pub(crate) fn answer(answer: &str, step: &StepId, run: &RunId, tail: &str) -> String {
    let tail = format!("{}{tail}", option("run", run.as_str()));
    if [step.as_str(), answer].iter().any(|argument| argument.starts_with('-')) {
        format!("piton decide{tail} -- {} {}", quoted(step.as_str()), quoted(answer))
    } else {
        format!("piton decide {} {}{tail}", quoted(step.as_str()), quoted(answer))
    }
}

/// Returns the command that approves a gate: with the first of its answers, where it offers several.
pub(crate) fn approve(gate: &Step, run: &RunId) -> String {
    choose(gate, run, gate.options.first().map_or(APPROVE, |first| &first.word))
}

/// Returns the command that gives an answer at a gate.
pub(super) fn choose(gate: &Step, run: &RunId, word: &str) -> String {
    answer(word, &gate.id, run, " --by NAME")
}

/// Returns the command of a person's decision about a step. The words in capitals stand for what the person fills in.
pub(crate) fn decide(word: &str, step: &StepId, run: &RunId) -> String {
    answer(word, step, run, " --by NAME --note WHY")
}

/// Returns how a step that a person blocked goes on.
pub(super) fn override_hold(step: &StepId, run: &RunId) -> String {
    format!("once it can go on: `{}`", decide("override", step, run))
}

/// The name of what follows when every step is done and the work is to be merged, in place of a step.
pub(crate) const END: &str = "merge";

const APPROVE: &str = DecisionKind::Approve.as_str();

/// Returns the command that approves what follows when every step is done.
pub(super) fn approve_end(run: &RunId) -> String {
    answer(APPROVE, &StepId::new(END), run, " --by NAME")
}

/// Returns the command with which a person lets a step be done again.
pub(crate) fn redo(step: &StepId, run: &RunId) -> String {
    decide("redo", step, run)
}

/// Returns `piton VERB RUN` followed by `tail`.
pub(super) fn on_run(verb: &str, run: &RunId, tail: &str) -> String {
    with_argument(verb, run.as_str(), tail)
}

/// Returns the command that records a step as done: with a verdict for reviews, else with a status.
pub(super) fn finish(step: &Step, run: &RunId) -> String {
    let tail = match step.kind {
        StepKind::Review => " --verdict VERDICT",
        StepKind::Work | StepKind::Gate | StepKind::Container => " --status completed",
    };
    with_verdicts(on_step("finish", &step.id, run, tail), step)
}

/// Returns the part of a step that must not run twice and was cut off: only that may have taken effect.
pub(super) fn cut_off_part(step: &Step) -> Option<&Part> {
    step.detail.parts.iter().find(|part| !step.idempotent && part.status == Status::InProgress)
}

/// Returns the commands with which a person says whether a step that must not run twice took effect: that it did, and that it did not.
pub(super) fn effect(step: &Step, run: &RunId) -> [String; 2] {
    let part = cut_off_part(step).map(|part| option("part", &part.name)).unwrap_or_default();
    [answer("accept", &step.id, run, &format!("{part} --by NAME --note WHY")), redo(&step.id, run)]
}

/// Names the verdicts of a review in a comment, if its format cannot record every one.
fn with_verdicts(finish: String, step: &Step) -> String {
    let is_any = step.kind != StepKind::Review || step.ends.verdicts == ReviewVerdict::ALL;
    if is_any { finish } else { format!("{finish}   # {}", step.ends.verdicts_in_words()) }
}

/// Characters of a step id in a text for its agent.
const ID_CHARS: usize = 200;

const WITH_CONDITIONS: &str = ReviewVerdict::ApprovedWithConditions.as_str();

/// Returns the command that goes on with an open part of a step.
pub(super) fn next_of_part(step: &Step, part: &Part, run: &RunId) -> String {
    let verb = if part.status == Status::InProgress { "finish" } else { "begin" };
    on_step(verb, &step.id, run, &option("part", &part.name))
}

/// Returns the option that names the attempt that a report is about.
fn of_attempt(begun: Option<Uid>) -> String {
    begun.map(|begun| option("begun", &begun.short())).unwrap_or_default()
}

/// Returns the command that ends an attempt at a step or its part, with the words that have to be filled in.
pub(crate) fn end(step: &Step, part: Option<&str>, run: &RunId, begun: Option<Uid>) -> String {
    let tail = match (part, step.kind) {
        (Some(part), _) => option("part", part),
        (None, StepKind::Review) => " --verdict VERDICT --summary TEXT".to_owned(),
        (None, StepKind::Work | StepKind::Gate | StepKind::Container) => " --summary TEXT".to_owned(),
    };
    let finish = on_step("finish", &step.id, run, &format!("{tail}{}", of_attempt(begun)));
    if part.is_none() { with_verdicts(finish, step) } else { finish }
}

/// Returns the command that ends a step whose agent reported: the report has the words that [`end`] asks for.
pub(crate) fn end_reported(step: &Step, run: &RunId, reported: Option<AgentStatus>, begun: Option<Uid>) -> String {
    let of_attempt = of_attempt(begun);
    match (reported, step.kind) {
        (None, _) => end(step, None, run, begun),
        (Some(_), StepKind::Review) => on_step("finish", &step.id, run, &format!(" --verdict VERDICT{of_attempt}")),
        (Some(AgentStatus::Done), StepKind::Work | StepKind::Gate | StepKind::Container) => {
            on_step("finish", &step.id, run, &of_attempt)
        }
        (Some(AgentStatus::Blocked | AgentStatus::NeedsContext), _) => format!("{}{of_attempt}", failed(step, run)),
    }
}

/// Returns the command that records that a step failed.
pub(crate) fn failed(step: &Step, run: &RunId) -> String {
    on_step("finish", &step.id, run, " --status failed --error TEXT")
}

/// Returns the command that prints the brief of a step.
pub(crate) fn context(step: &StepId, run: &RunId) -> String {
    on_run("context", run, &option("step", step.as_str()))
}

/// Returns how the agent of a step ends its last message. The session that started it records the end.
pub(crate) fn agent_contract(step: &Step) -> String {
    let mut lines = vec![
        "end your last message with these lines. The session that started you records the end of the step: run neither \
         `piton begin` nor `piton finish`."
            .to_owned(),
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
pub(crate) fn after_part(step: &Step, run: &RunId) -> String {
    let is_analysis = step.detail.parts.iter().all(|part| part.kind == PartKind::Analysis);
    match step.detail.parts.iter().find(|part| part.is_open()) {
        Some(part) => next_of_part(step, part, run),
        None if is_analysis => context(&step.id, run),
        None => end(step, None, run, None),
    }
}

/// Returns how the result of an attempt is reported, with the words for it. Words in capitals stand for what is filled in.
pub(super) fn report(step: &Step, run: &RunId, begun: Option<Uid>) -> String {
    let of_attempt = of_attempt(begun);
    let finish = |tail: &str| on_step("finish", &step.id, run, &format!("{tail}{of_attempt}"));
    match step.kind {
        StepKind::Review => format!(
            "`{}` with {}, and `--finding TEXT` for each thing to address",
            finish(" --verdict VERDICT --summary TEXT"),
            step.ends
                .verdicts_in_words()
                .replace(WITH_CONDITIONS, &format!("{WITH_CONDITIONS} (and `--condition TEXT`)"))
        ),
        StepKind::Work | StepKind::Gate | StepKind::Container => {
            let done = finish(" --summary TEXT");
            format!(
                "`{done}` with what the next agent has to know, and `--output FILE` for each file; if it failed, with `--status failed --error \
                 TEXT`"
            )
        }
    }
}

fn with_argument(verb: &str, argument: &str, tail: &str) -> String {
    if argument.starts_with('-') {
        format!("piton {verb}{tail} -- {}", quoted(argument))
    } else {
        format!("piton {verb} {}{tail}", quoted(argument))
    }
}

#[cfg(test)]
#[path = "command_tests.rs"]
mod tests;
