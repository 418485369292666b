//! `SessionStart`: one line for the person about interrupted runs, one about the session of the client that was cut off last, and facts
//! for the agent; after a compaction, the context of the steps in progress and the brief of the session itself.
//!
//! The client hands the facts to the model as words of the system. So they have ids, counts and causes, and no text of the project: that comes
//! with `piton plan`, when it is asked for. A brief is fenced.

use super::{Answer, input::Input, session::HookSession};
use crate::{
    model::{AgeBand, Suggested, Verb, clean_line, human_age, is_plain_word, mask_secrets},
    ops::{self, ListedRun, OpenStep, OpenSteps},
    store::HookMemory,
};

const EVENT: &str = "SessionStart";
/// How many runs are listed for the agent.
const RUNS_SHOWN: usize = 3;
const LINE_CHARS: usize = 160;
/// The length of an id that the agent is told.
const ID_BYTES: usize = 60;
/// How many briefs fit into one answer, which the client truncates.
const BRIEFS_LIMIT: usize = 1;
/// Bytes of the brief of the session itself after a compaction; with the lines around it that is less than 6,000.
const SESSION_BRIEF_BYTES: usize = 5_000;

pub(super) fn begins(session: &HookSession, input: &Input) -> Option<Answer> {
    if input.source == "compact" {
        if session.log.exists() {
            session.begin(&input.source);
        }
        return after_compaction(session);
    }
    let mut answer = interrupted_runs(session, input).unwrap_or_default();
    match input.source.as_str() {
        "startup" | "clear" => add_cut_session(session, &mut answer),
        "resume" => add_what_is_left(session, &mut answer),
        _ => {}
    }
    Some(Answer { event: EVENT, ..answer })
}

/// Returns what is to be said about the runs of the project.
fn interrupted_runs(session: &HookSession, input: &Input) -> Option<Answer> {
    if !session.ctx.project.is_marked() {
        return None;
    }
    // A session resumed by another process says something about the runs it drove: record that before judging them.
    let is_known = session.log.exists();
    if is_known {
        session.begin(&input.source);
    }
    let (runs, found) = ops::waiting(&session.ctx).ok()?;
    if found > 0 && !is_known {
        session.begin(&input.source);
    }
    let (stale, recent): (Vec<_>, Vec<_>) = runs.into_iter().partition(|run| run.age_band == Some(AgeBand::Stale));
    if recent.is_empty() && stale.is_empty() {
        return None;
    }
    Some(Answer { person: for_the_person(&recent), facts: for_the_agent(&recent, stale.len()), ..Answer::default() })
}

/// Adds the session of the client that was cut off last: once per session and cause. Without a memory it is not said, or it would be said
/// each time.
fn add_cut_session(session: &HookSession, answer: &mut Answer) {
    let (Some(notice), Some(memory)) = (ops::session_notice(&session.ctx), HookMemory::of(&session.ctx.environment))
    else {
        return;
    };
    let topic = format!("cut {} {}", notice.session, notice.cause.kind.as_str());
    if memory.count(&topic) > 0 || memory.note(session.ctx.clock.now, &topic).is_err() {
        return;
    }
    let runs = answer.person.take().map_or_else(String::new, |runs| format!("{runs}\n"));
    answer.person = Some(format!("{runs}{}", notice.text));
    answer.facts.push(format!(
        "An earlier session of Claude Code in this project was cut off ({}: {}). Nothing was resumed: when the user asks to continue it, use the \
         skill `workflow-resume`; `{}` shows what is done, open and unknown.",
        notice.session,
        notice.cause.kind.as_str(),
        Suggested::new(Verb::Plan)
    ));
}

/// Adds what the client does not tell a session that is resumed.
fn add_what_is_left(session: &HookSession, answer: &mut Answer) {
    let left = ops::session_left(&session.ctx, &session.id);
    if left.is_empty() {
        return;
    }
    answer.facts.push(format!(
        "When this session ended, this was open; `{}` says what each of it is. What has an unknown outcome is not run again \
         before the user has decided:",
        Suggested::of(Verb::Plan, &session.id)
    ));
    answer.facts.extend(left);
}

/// Returns one line for the person; `None` if all runs are stale, so that abandoned runs are not reported at every start.
fn for_the_person(runs: &[ListedRun]) -> Option<String> {
    let newest = runs.first()?;
    let age = newest.age_seconds.map_or_else(String::new, |seconds| format!(", {} ago", human_age(seconds)));
    let cause = newest.cause.as_ref().map_or_else(String::new, |cause| format!(", {}", cause.kind.as_str()));
    let what = format!("{} at {}{age}{cause}", shown(newest.id.as_str()), shown(&newest.position));
    Some(match runs.len() {
        1 => format!("Piton: an interrupted run: {what}. /workflow-resume continues it."),
        count => {
            format!("Piton: {count} interrupted runs, the newest: {what}. /workflow-resume continues one of them.")
        }
    })
}

/// Returns at most five lines: what is interrupted, the newest runs, and how many more there are.
fn for_the_agent(runs: &[ListedRun], stale: usize) -> Vec<String> {
    let mut facts = Vec::new();
    let list = Suggested::new(Verb::List);
    if !runs.is_empty() {
        facts.push(format!(
            "Piton keeps checkpoints of multi-step runs in this project. These are interrupted. Nothing was resumed: when the user \
             asks to continue one, use the skill `workflow-resume`; `{}` shows where it continues and why.",
            Suggested::new(Verb::Plan)
        ));
    }
    for (number, run) in (1..).zip(runs).take(RUNS_SHOWN) {
        let age = run.age_seconds.map_or_else(|| "unknown".to_owned(), |seconds| format!("{} ago", human_age(seconds)));
        let cause =
            run.cause.as_ref().map_or_else(String::new, |cause| format!("; cut off by: {}", cause.kind.as_str()));
        facts.push(format!(
            "- {} ({}): {} of {} steps done; last change {age}{cause}; verdict {}",
            plain_id(run.id.as_str()).unwrap_or_else(|| format!("run {number}, whose id is in `{list}`")),
            run.dialect,
            run.progress.done,
            run.progress.total,
            run.verdict.as_str()
        ));
    }
    let more = runs.len().saturating_sub(RUNS_SHOWN);
    let untouched = "untouched for more than a week";
    match (more, stale) {
        (0, 0) => {}
        (0, stale) => facts.push(format!("Runs in this project {untouched}: {stale} (`{list}`).")),
        (more, 0) => facts.push(format!("- and {more} more (`{list}`)")),
        (more, stale) => facts.push(format!("- and {more} more, and {stale} {untouched} (`{list}`)")),
    }
    facts
}

/// Returns the briefs of the steps in progress as they were when the steps were begun, then the brief of the session itself.
fn after_compaction(session: &HookSession) -> Option<Answer> {
    let mut answer = open_runs(session).unwrap_or_default();
    if let Some(brief) = ops::session_brief(&session.ctx, &session.id, SESSION_BRIEF_BYTES) {
        answer.facts.push(
            "The conversation was compacted. This is what the files of the client say about this session: its tasks, agents and plan."
                .to_owned(),
        );
        answer.contexts.push(brief);
    }
    Some(Answer { event: EVENT, ..answer })
}

/// Returns the briefs of the steps in progress of the runs that the session drives.
fn open_runs(session: &HookSession) -> Option<Answer> {
    let open = session.open_steps(&session.log.events());
    if open.is_empty() {
        return None;
    }
    let (mut facts, mut contexts) = (Vec::new(), Vec::new());
    facts.push(format!(
        "The conversation was compacted while a run recorded by piton was open. Trust the state files, not the summary; \
         `{}` has the full picture.",
        Suggested::new(Verb::Plan)
    ));
    for (number, (_, run)) in (1..).zip(&open) {
        if run.steps.is_empty() {
            let about = match plain_id(run.run.as_str()) {
                Some(id) => {
                    format!("This session drives {id}; no step is in progress: `{}`.", Suggested::of(Verb::Plan, &id))
                }
                None => format!("This session drives run {number} of {}; no step is in progress.", open.len()),
            };
            facts.push(about);
        }
        for step in &run.steps {
            match run.brief(step).filter(|_| contexts.len() < BRIEFS_LIMIT) {
                Some(brief) => contexts.push(brief),
                None => facts.push(in_progress(run, step)),
            }
        }
    }
    Some(Answer { facts, contexts, ..Answer::default() })
}

/// Returns one line about a step in progress whose brief is left out.
fn in_progress(run: &OpenSteps, step: &OpenStep) -> String {
    match (plain_id(step.step.as_str()), plain_id(run.run.as_str())) {
        (Some(id), Some(of)) => {
            format!("{id} of {of} is in progress too (attempt {}); its brief: `{}`.", step.attempt, step.context)
        }
        (_, _) => {
            let plan = Suggested::new(Verb::Plan);
            format!("One more step is in progress (attempt {}): `{plan}`.", step.attempt)
        }
    }
}

/// Returns an id that cannot be read as a sentence.
fn plain_id(id: &str) -> Option<String> {
    (id.len() <= ID_BYTES && is_plain_word(id)).then(|| id.to_owned())
}

/// Returns untrusted text as one short line.
fn shown(text: &str) -> String {
    clean_line(&mask_secrets(text), LINE_CHARS)
}
