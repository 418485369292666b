//! `UserPromptSubmit`: refreshes the heartbeat; answers only after a turn that ended in an API error.

use super::Answer;
use super::session::Session;
use crate::model::SessionEvent;
use crate::model::SessionLine;
use crate::model::clean_line;

pub(super) fn submitted(session: &Session) -> Option<Answer> {
    let events = session.log.events();
    session.note(SessionEvent::Prompt);
    session.heartbeat(&events);
    let error = failed_last(&events)?;
    let runs: Vec<String> =
        (session.held(&events).iter()).map(|(_, run)| format!("- {}", clean_line(run.state.as_str(), 200))).collect();
    if runs.is_empty() {
        return None;
    }
    let mut facts = vec![format!(
        "The last turn ended in an API error ({error}), so a step recorded as in progress may be unfinished. \
         `piton plan` shows where these runs are:"
    )];
    facts.extend(runs);
    Some(Answer { event: "UserPromptSubmit", facts, ..Answer::default() })
}

/// Returns the error that ended the last turn, if any.
fn failed_last(events: &[SessionLine]) -> Option<String> {
    let turns = events.iter().rev().find(|line| match line.event {
        SessionEvent::Prompt | SessionEvent::Failure { .. } => true,
        SessionEvent::Start { .. }
        | SessionEvent::Drives(_)
        | SessionEvent::AgentStart { .. }
        | SessionEvent::AgentStop { .. }
        | SessionEvent::End { .. } => false,
    });
    match &turns?.event {
        SessionEvent::Failure { error } => Some(clean_line(error, 60)),
        SessionEvent::Prompt
        | SessionEvent::Start { .. }
        | SessionEvent::Drives(_)
        | SessionEvent::AgentStart { .. }
        | SessionEvent::AgentStop { .. }
        | SessionEvent::End { .. } => None,
    }
}
