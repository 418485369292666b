//! How a session ended, from the end of its transcript (docs/formats/claude.md#how-a-session-ended).

use super::digest::{Digest, LastKind, Life};
use crate::model::{Cause, CauseKind, safe_line};

/// Errors of the client that mean a limit.
const LIMITS: [&str; 2] = ["rate_limit", "billing_error"];
/// Characters of a quoted text.
const QUOTE_CHARS: usize = 160;

impl Digest {
    /// Tells whether the client says that it ended in good order.
    pub(super) fn is_clean(&self) -> bool {
        let marks = self.main.marks;
        if self.life == Life::Dead {
            // The file of an earlier life of the session stays where the client was killed.
            let named = self.process.as_ref().and_then(|process| process.started_at);
            return marks.cost && named.is_some() && named < marks.process_started_at;
        }
        if marks.latch || marks.cost { marks.cost } else { marks.last_prompt }
    }

    /// Returns what ended the session; `open` counts what it left open.
    pub(super) fn cause(&self, open: &OpenWork) -> Cause {
        let at = self.last_at();
        let cause = |kind, detail| Cause { kind, at, detail };
        let last = self.main.last.as_ref().map(|last| &last.kind);
        match last {
            Some(LastKind::Interrupted) => {
                let tool = self.main.rejected.iter().map(|call| call.name.as_str()).find(|name| !name.is_empty());
                let tool = tool.map_or_else(String::new, |tool| format!(" during {}", safe_line(tool, 60)));
                cause(CauseKind::Stopped, format!("stopped by hand (Esc){tool}"))
            }
            Some(LastKind::ApiError { error, text }) => {
                let words = safe_line(text, QUOTE_CHARS);
                if LIMITS.contains(&error.as_str()) {
                    let words = if words.is_empty() { "a usage limit was reached".to_owned() } else { words };
                    return cause(CauseKind::Limit, words);
                }
                let error = if error.is_empty() { "an error".to_owned() } else { safe_line(error, 60) };
                let words = if words.is_empty() { error } else { format!("{error}, {words}") };
                cause(CauseKind::Failure, format!("the service failed: {words}"))
            }
            Some(LastKind::Prompt | LastKind::ToolResult | LastKind::Summary | LastKind::Answer { .. }) | None => {
                let left = open.in_words();
                if self.is_clean() {
                    let left = if left.is_empty() { left } else { format!(", {left}") };
                    return cause(CauseKind::SessionEnded, format!("the session ended{left}"));
                }
                let gone = if self.life == Life::Dead { "; its process is gone" } else { "" };
                let left = if left.is_empty() { left } else { format!(": {left}") };
                cause(CauseKind::Killed, format!("killed: no clean end{gone}{left}"))
            }
        }
    }

    /// Returns the newest time stamp in all of its files.
    pub(super) fn last_at(&self) -> Option<crate::model::Timestamp> {
        let of_workflows = self.workflows.iter().flat_map(|workflow| workflow.agents.values());
        let agents = self.agents.values().chain(of_workflows);
        let of_agents = agents.filter_map(|agent| agent.transcript.as_ref()?.last_at).max();
        self.main.last_at.max(of_agents)
    }
}

/// What a session left open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OpenWork {
    pub(crate) tasks: usize,
    /// Agents that did not end, of the session and of its workflows.
    pub(crate) agents: usize,
    pub(crate) all_agents: usize,
    /// Agents that did not end and may have changed something.
    pub(crate) unknown: usize,
    /// Whether a workflow did not end although all of its agents did.
    pub(crate) workflows: usize,
    pub(crate) has_turn: bool,
}

impl OpenWork {
    pub(crate) const fn is_nothing(&self) -> bool {
        self.tasks == 0 && self.agents == 0 && self.workflows == 0 && !self.has_turn
    }

    /// Returns it in a sentence: `4 of 12 agents did not end, 1 may have acted; 2 tasks open`. Empty if nothing is open.
    pub(crate) fn in_words(&self) -> String {
        let plural = crate::model::plural;
        let mut parts = Vec::new();
        if self.agents > 0 {
            let all = plural(self.all_agents, "agent");
            let unknown = if self.unknown > 0 { format!(", {} may have acted", self.unknown) } else { String::new() };
            parts.push(format!("{} of {all} did not end{unknown}", self.agents));
        }
        if self.workflows > 0 {
            parts.push(format!("{} did not end", plural(self.workflows, "workflow")));
        }
        if self.tasks > 0 {
            parts.push(format!("{} open", plural(self.tasks, "task")));
        }
        parts.join("; ")
    }
}
