//! Where a run stands, computed once: the row, the three lines, the plan, the picture, the page and the status line show parts of it.

use super::{
    lifecycle::running,
    opened_run::OpenedRun,
    report::{Lifecycle, Stage},
};
use crate::{
    engine::Planned,
    model::{
        AgeBand, Cause, Finding, FindingClass, Fix, Next, PERSON_VERBS, Plan, Progress, Question, QuestionOption, Run,
        Severity, Suggested, Timestamp, Verb, Verdict, human_age, plural, safe_line,
    },
};

/// Maximum length of a sentence, in characters.
const SENTENCE_CHARS: usize = 400;

/// Where a run stands.
#[derive(Clone, Debug)]
pub(crate) struct RunView {
    pub(crate) lifecycle: Lifecycle,
    /// Whether the run can go on, and why not, in a sentence.
    pub(crate) headline: String,
    /// What runs or is next, in words.
    pub(crate) position: String,
    /// What cut it off, as far as the client and the processes tell.
    pub(crate) cause: Option<Cause>,
    /// What of it is out of date or in doubt, and since when nothing happened.
    pub(crate) stale: String,
    /// The most useful next command.
    pub(crate) command: Suggested,
    /// What has to be done first, if no command does it.
    pub(crate) advice: Option<String>,
    /// What a person decides. Whether to go on at all is no such question.
    pub(crate) questions: Vec<Question>,
    /// Something stopped in the middle, or was not continued for an hour. False for a run that is paused or over.
    pub(crate) is_cut_off: bool,
}

impl RunView {
    /// Returns where a planned run stands.
    pub(super) fn of(opened: &OpenedRun, run: &Run, planned: &Planned) -> Self {
        let now = opened.files.clock.now;
        let plan = &planned.plan;
        let lifecycle = Lifecycle::of(opened, run, plan);
        let is_over = lifecycle.stage.is_over();
        let (command, advice) = way_on(opened, run, planned, &lifecycle);
        Self {
            headline: headline(planned, &lifecycle),
            position: position(opened, run, planned, &lifecycle, now),
            cause: plan.interruption.as_ref().and_then(|interruption| interruption.cause.clone()),
            stale: stale(planned),
            command,
            advice,
            questions: if is_over { Vec::new() } else { questions(plan) },
            is_cut_off: lifecycle.stage == Stage::Open && plan.is_cut_off() && !planned.live_owner,
            lifecycle,
        }
    }
}

/// Returns what runs or is next: in the words of the run's own system, where it has some.
fn position(opened: &OpenedRun, run: &Run, planned: &Planned, lifecycle: &Lifecycle, now: Timestamp) -> String {
    let plan = &planned.plan;
    if plan.verdict == Verdict::Nothing {
        return "nothing to do".to_owned();
    }
    if let Some(running) = running(run, planned, now) {
        return running;
    }
    let worded = || opened.dialect.wording().position(run, plan);
    let blocked = || {
        let first = planned.findings.first().filter(|_| plan.next.is_empty() && lifecycle.stage != Stage::Finished);
        first.map(|finding| finding.message.clone())
    };
    let next = || {
        let next = plan.next.first()?;
        let group = run.group_of(next).map_or_else(String::new, |group| format!("{group}: "));
        Some(format!("{group}{}", next.in_words()))
    };
    worded().or_else(blocked).or_else(next).unwrap_or_else(|| "nothing left".to_owned())
}

/// Returns whether a run can go on, and why not, as a sentence.
fn headline(planned: &Planned, lifecycle: &Lifecycle) -> String {
    let plan = &planned.plan;
    let Progress { done, total, .. } = plan.progress;
    let never = || plan.progress.never_passed();
    let next = plan.next.first().map_or_else(|| "nothing is next".to_owned(), Next::in_words);
    let more = match plan.next.len() {
        0 | 1 => String::new(),
        count => format!(", and {} at the same time", plural(count - 1, "step")),
    };
    let asks = planned.findings.iter().find(|finding| {
        finding.severity != Severity::Info
            && (finding.code.needs_confirmation() || finding.code.is_of(FindingClass::NeedsPerson))
    });
    match lifecycle.stage {
        Stage::Aborted | Stage::Archived => {
            return format!("This run is {}. {done} of {total} steps are done{}.", lifecycle.describe(), never());
        }
        Stage::Finished => return format!("Every step is done: {done} of {total}{}.", never()),
        Stage::Open | Stage::Paused => {}
    }
    let paused = if lifecycle.stage == Stage::Paused { "This run is paused. " } else { "" };
    let sentence = match plan.verdict {
        Verdict::Resume => format!("It can go on: {next}{more}."),
        Verdict::Confirm => {
            let why = asks.map_or_else(|| next.clone(), |finding| finding.message.clone());
            format!("Look at this first: {}.", why.trim_end_matches('.'))
        }
        Verdict::Blocked if planned.live_owner => "It is in progress: another process drives it.".to_owned(),
        Verdict::Blocked => match worst(planned).filter(|finding| finding.severity == Severity::Blocking) {
            Some(finding) => format!("Blocked: {}.", finding.message.trim_end_matches('.')),
            None => format!("It waits for you: {next}."),
        },
        Verdict::Complete => format!("Every step is done; what follows: {next}."),
        Verdict::Nothing => "There is nothing to resume.".to_owned(),
    };
    safe_line(&format!("{paused}{sentence}"), SENTENCE_CHARS)
}

/// Returns the finding that matters most; `None` if there are only notes.
fn worst(planned: &Planned) -> Option<&Finding> {
    planned.findings.iter().find(|finding| finding.severity != Severity::Info)
}

/// Returns what is out of date or in doubt, with the age of the state.
fn stale(planned: &Planned) -> String {
    let age = &planned.plan.age;
    let what = match (worst(planned), age.band) {
        (Some(finding), _) => finding.message.as_str(),
        (None, Some(AgeBand::Stale)) => "the state itself",
        (None, _) => "nothing",
    };
    match age.seconds {
        Some(seconds) => format!("{what} (last change {} ago)", human_age(seconds)),
        None => what.to_owned(),
    }
}

/// Returns the most useful next command, and what has to be done first where no command does it.
fn way_on(opened: &OpenedRun, run: &Run, planned: &Planned, lifecycle: &Lifecycle) -> (Suggested, Option<String>) {
    let plan = &planned.plan;
    let goes_on = || plan.commands.resume.clone().or_else(|| plan.commands.begin.clone());
    let (command, advice) = match plan.verdict {
        _ if lifecycle.stage.is_over() => (lifecycle.command(opened, run, plan, opened.files.clock.now), None),
        Verdict::Blocked => match worst(planned).and_then(|finding| finding.fix.as_ref()) {
            // What a person decides is a question of the plan.
            Some(fix) if !plan.questions.is_empty() && decides(fix) => (None, None),
            Some(Fix::Command(command)) => (Some(command.clone()), None),
            Some(advice @ Fix::Advice { .. }) => (goes_on(), Some(advice.to_string())),
            None => (None, None),
        },
        Verdict::Resume | Verdict::Confirm | Verdict::Complete | Verdict::Nothing => (goes_on(), None),
    };
    (command.unwrap_or_else(|| Suggested::of(Verb::Plan, &run.id)), advice)
}

/// Tells whether a fix is more than one command that can be typed as it is, or one that decides.
fn decides(fix: &Fix) -> bool {
    let verb = |command: &Suggested| command.verb().is_some_and(|verb| PERSON_VERBS.contains(&verb.as_str()));
    fix.command().is_none_or(verb)
}

/// Returns the questions of a plan, unless it only asks whether to go on.
fn questions(plan: &Plan) -> Vec<Question> {
    let goes_on = |option: &QuestionOption| {
        option.changes_nothing || !option.person && plan.commands.resume.is_some() && option.id == "yes"
    };
    let asks = |question: &&Question| plan.verdict != Verdict::Resume || !question.options.iter().all(goes_on);
    plan.questions.iter().filter(asks).cloned().collect()
}
