//! The fields used of the JSON that the client writes to a hook's standard input (hooks reference of Claude Code, 2.1.197).

use serde::Deserialize;
use serde_json::Value;

/// The fields of all events together; unknown ones are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Input {
    pub(super) session_id: String,
    pub(super) cwd: String,
    /// Of `SessionStart`: startup, resume, clear, compact or fork.
    pub(super) source: String,
    /// Of `SubagentStart` and `SubagentStop`.
    pub(super) agent_id: String,
    pub(super) agent_type: String,
    /// Of `PermissionRequest`.
    pub(super) tool_name: String,
    pub(super) tool_input: Value,
    pub(super) permission_mode: String,
    /// Of `SubagentStop`: the last words of the agent.
    pub(super) last_assistant_message: Option<String>,
    /// Of `UserPromptSubmit`.
    pub(super) prompt: Option<String>,
    /// Of `StopFailure`: `rate_limit`, `server_error`, ...
    pub(super) error: String,
    /// Of `SessionEnd`: clear, logout, ...
    pub(super) reason: String,
}

impl Input {
    /// Parses an event; `None` unless it names a session and a folder.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let input: Self = serde_json::from_str(text).ok()?;
        (!input.session_id.is_empty() && !input.cwd.is_empty()).then_some(input)
    }
}
