//! Events of Claude Code: JSON in, a note in the log of the session and a few words out. Never fails the client.
//!
//! A hook runs beside somebody's work, so whatever is unexpected ends in silence: no project, no run, a broken state, an event
//! that is not known. It never writes a state file; it only notes what happened, and gives a lease back.

mod input;
mod prompt;
mod session;
mod start;
mod statusline;

use crate::model::Context;
use crate::ops::Request;
use input::Input;
use session::Session;

pub(crate) use statusline::line as status_line;

/// Is what a hook has to say. Empty, nothing is printed.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The client's name of the event.
    pub(crate) event: &'static str,
    /// One line for the person.
    pub(crate) person: Option<String>,
    /// Facts for the agent.
    pub(crate) facts: Vec<String>,
    /// What the agent had before it on the steps it was at.
    pub(crate) contexts: Vec<Context>,
}

impl Answer {
    pub(crate) const fn is_empty(&self) -> bool {
        self.person.is_none() && self.facts.is_empty() && self.contexts.is_empty()
    }
}

/// Returns the session and the folder of an event.
#[cfg(any(test, fuzzing))]
pub(crate) fn said_by(text: &str) -> Option<(String, String)> {
    Input::parse(text).map(|input| (input.session_id, input.cwd))
}

/// Takes an event in. `text` is what the client wrote to the standard input.
pub(crate) fn hear(event: &str, text: &str, request: &Request) -> Answer {
    heard(event, text, request).unwrap_or_default()
}

fn heard(event: &str, text: &str, request: &Request) -> Option<Answer> {
    let input = Input::parse(text)?;
    match event {
        "session-start" => start::begins(&Session::open(&input, request)?, &input),
        "prompt" => prompt::submitted(&Session::known(&input, request)?),
        "subagent-start" => Session::known(&input, request)?.agent_starts(&input),
        "subagent-stop" => Session::known(&input, request)?.agent_stops(&input),
        "stop-failure" => Session::known(&input, request)?.fails(&input),
        "pre-compact" => Session::known(&input, request)?.is_compacted(&input),
        "session-end" => Session::known(&input, request)?.ends(&input),
        _ => None,
    }
}
