//! Events of Claude Code: JSON in, an entry in the session's log and a short answer out. Never fails the client.
//!
//! A hook runs while the user works, so anything unexpected ends in silence: no project, no run, a broken state, an unknown
//! event. A hook never writes a state file: it logs the event, keeps the report of an agent, refreshes the leases of the session
//! and releases them when a turn fails or the session ends.
//!
//! - `input`: the fields of an event.
//! - `session`: a client's session in a project, and its log (kept by `store::session`, one per session at the top of the
//!   project). From the log, `engine::cause` determines what cut a run off.
//! - `start`: what a new session is told, and the context after a compaction.
//! - `agent`: the brief that a subagent is given, and the report that it ends with.
//! - `child`: the client as the agent of a step that `piton run` carries out.
//! - `prompt`: the heartbeat, and reminders: of a failed turn, and of an agent that ended although its step did not.
//! - `permission`: what the client need not ask the person about.
//! - `statusline`: the line for the client's status line.

mod agent;
mod child;
mod input;
mod permission;
mod prompt;
mod session;
mod start;
mod statusline;

use crate::{model::Context, ops::Request, store};
use input::Input;
use session::HookSession;

pub(crate) use permission::{CalledVerb, ReadCall};
pub(crate) use statusline::line as status_line;

/// The answer of a hook. Nothing is printed if it is empty.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    /// The client's name for the event.
    pub(crate) event: &'static str,
    /// One line for the person.
    pub(crate) person: Option<String>,
    /// Facts for the agent.
    pub(crate) facts: Vec<String>,
    /// The contexts of the steps that were in progress.
    pub(crate) contexts: Vec<Context>,
    /// The client need not ask the person.
    pub(crate) allows: bool,
}

impl Answer {
    pub(crate) const fn is_empty(&self) -> bool {
        !self.allows && self.person.is_none() && self.facts.is_empty() && self.contexts.is_empty()
    }
}

/// Returns the session id and the folder of an event.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn session_and_folder(text: &str) -> Option<(String, String)> {
    Input::parse(text).map(|input| (input.session_id, input.cwd))
}

/// Handles an event. `text` is what the client wrote to the standard input, `read` reads a call that it asks about.
pub(crate) fn handle(event: &str, text: &str, request: &Request, read: ReadCall) -> Answer {
    answer(event, text, request, read).unwrap_or_default()
}

fn answer(event: &str, text: &str, request: &Request, read: ReadCall) -> Option<Answer> {
    let input = Input::parse(text)?;
    if let Some(brief) = store::brief_of_step() {
        return child::answer(event, &input, &brief);
    }
    match event {
        "session-start" => start::begins(&HookSession::open_anywhere(&input, request)?, &input),
        "prompt" => prompt::submitted(&HookSession::known(&input, request)?, &input),
        "subagent-start" => agent::starts(&HookSession::known(&input, request)?, &input),
        "subagent-stop" => agent::stops(&HookSession::known(&input, request)?, &input),
        "permission-request" => permission::asked(&HookSession::known(&input, request)?, &input, read),
        "stop-failure" => HookSession::known(&input, request)?.fails(&input),
        "session-end" => HookSession::known(&input, request)?.ends(&input),
        _ => None,
    }
}
