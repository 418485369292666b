//! `UserPromptSubmit`: refreshes the heartbeat; answers only after a turn that ended in an API error, and after the end of an
//! agent whose step is still recorded as in progress.

use super::{
    Answer,
    agent::{self, StartedAgent},
    input::Input,
    session::{HookSession, WORD_CHARS},
};
use crate::model::{GivenBrief, SessionEvent, SessionLine, Suggested, Verb, clean_line, safe_line};

/// How the client tells the agent about a background task; no person wrote it.
const NOTIFICATION: &str = "<task-notification>";
/// How many steps are named.
const STEPS_SHOWN: usize = 3;

pub(super) fn submitted(session: &HookSession, input: &Input) -> Option<Answer> {
    let events = session.log.events();
    let is_notification = input.prompt.as_ref().is_some_and(|prompt| prompt.trim_start().starts_with(NOTIFICATION));
    session.note(if is_notification { SessionEvent::Notification } else { SessionEvent::Prompt });
    session.heartbeat(&events);
    let facts = [after_failure(session, &events), still_open(session, &events)].concat();
    (!facts.is_empty()).then(|| Answer { event: "UserPromptSubmit", facts, ..Answer::default() })
}

/// Returns what to check after a turn that ended in an error.
fn after_failure(session: &HookSession, events: &[SessionLine]) -> Vec<String> {
    let Some(error) = failed_last(events) else { return Vec::new() };
    let mut facts = vec![format!(
        "The last turn ended in an API error ({error}), so a step recorded as in progress may be unfinished. \
         `{}` shows where these runs are:",
        Suggested::new(Verb::Plan)
    )];
    facts.extend(session.held(events).iter().map(|held| format!("- {}", clean_line(held.run.state.as_str(), 200))));
    if facts.len() > 1 { facts } else { Vec::new() }
}

/// Returns the error that ended the last turn, if any.
fn failed_last(events: &[SessionLine]) -> Option<String> {
    let is_turn = |line: &&SessionLine| matches!(line.event, SessionEvent::Prompt | SessionEvent::Failure { .. });
    let SessionEvent::Failure { error } = &events.iter().rev().find(is_turn)?.event else { return None };
    Some(clean_line(error, 60))
}

/// Names the steps in progress whose agents ended since the last prompt, each with the command that records its end.
fn still_open(session: &HookSession, events: &[SessionLine]) -> Vec<String> {
    let ended = agent::ended_since_prompt(events);
    if ended.is_empty() {
        return Vec::new();
    }
    let (runs, working) = (session.open_steps(events), agent::briefs_in_use(events));
    let mut facts = Vec::new();
    for (run, open, step) in agent::all(&runs) {
        let is_given = |brief: &GivenBrief| agent::is_given(brief, run, step);
        let is_done_elsewhere = working.iter().any(|brief| is_given(brief));
        let is_about = |ended: &&StartedAgent<'_>| ended.brief.map_or(!is_done_elsewhere, is_given);
        let Some(ended) = ended.iter().rfind(is_about) else { continue };
        facts.push(format!(
            "The agent {} ended, and step {} of {} is still recorded as in progress. If it is over, record how it ended: `{}`",
            safe_line(ended.agent, WORD_CHARS),
            safe_line(step.step.as_str(), WORD_CHARS),
            safe_line(open.run.as_str(), WORD_CHARS),
            step.end
        ));
    }
    facts.truncate(STEPS_SHOWN);
    facts
}
