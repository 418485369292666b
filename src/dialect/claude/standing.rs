//! What became of the pieces of a session: facts, which the planner turns into actions.

use super::digest::{Agent, Call, Digest, LastKind, Launch, Notification, ToolUse, Transcript, Workflow};
use crate::model::safe_line;

/// Characters of a title.
pub(super) const TITLE_CHARS: usize = 60;

/// What became of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AgentEnd {
    Done,
    /// It says that it is done, and another source says that it is not.
    Disputed,
    /// It did not end. `may_have_acted`: it called a tool with effects, or what it did is not known.
    Cut {
        may_have_acted: bool,
        error: Option<String>,
    },
}

/// What the main session was doing when it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TurnEnd {
    /// The model had answered.
    Waiting,
    /// It can go on where it was.
    Open,
    /// A tool was cut off that may have changed something.
    Unknown(Vec<ToolUse>),
}

impl Digest {
    /// Returns the launch of an agent with what the client said about it.
    pub(super) fn launch_of(&self, id: &str, agent: Option<&Agent>) -> (Option<&Launch>, Option<&Notification>) {
        let by_call = agent.and_then(|agent| self.main.launches.get(agent.tool_use.as_deref()?));
        let by_id = || self.main.launches.values().find(|launch| launch.agent.as_deref() == Some(id));
        (by_call.or_else(by_id), self.main.notifications.get(id))
    }

    /// Returns the ids of all agents of the session itself: those with files, and those that were only launched.
    pub(super) fn agent_ids(&self) -> Vec<String> {
        let launched = self.main.launches.values().filter_map(|launch| launch.agent.clone());
        let mut ids: Vec<String> =
            launched.filter(|id| !self.agents.contains_key(id)).chain(self.agents.keys().cloned()).collect();
        let at = |id: &String| {
            let agent = self.agents.get(id);
            let launched = self.launch_of(id, agent).0.and_then(|launch| launch.at);
            launched.or_else(|| agent?.transcript.as_ref()?.first_at)
        };
        ids.sort_by_key(|id| (at(id), id.clone()));
        ids.dedup();
        ids
    }

    /// Returns what became of an agent of the session itself. Any one of its witnesses is enough to call it done, unless it died of an error.
    pub(super) fn agent_end(&self, id: &str) -> AgentEnd {
        let agent = self.agents.get(id);
        let (launch, notification) = self.launch_of(id, agent);
        let transcript = agent.and_then(|agent| agent.transcript.as_ref());
        if transcript.is_some_and(|transcript| transcript.api_error().is_some()) {
            // The client calls such an agent completed, or finished.
            return cut(transcript);
        }
        let is_returned = launch.is_some_and(|launch| launch.is_done) || agent.is_some_and(|agent| agent.is_finished);
        if is_returned || transcript.is_some_and(Transcript::has_ended) {
            return AgentEnd::Done;
        }
        let completed = notification.filter(|said| said.status == "completed");
        if let Some(completed) = completed {
            // It may have been continued with a message since.
            let is_later = transcript.is_some_and(|transcript| transcript.last_at > completed.at);
            return if is_later { cut(transcript) } else { AgentEnd::Done };
        }
        cut(transcript)
    }

    /// Returns what the main session was doing.
    pub(super) fn turn_end(&self) -> TurnEnd {
        let main = &self.main;
        let Some(last) = &main.last else { return TurnEnd::Waiting };
        let unknown = |calls: &[ToolUse]| -> Vec<ToolUse> {
            let unknown = |call: &&ToolUse| call.has_effects() && !call.is_of_agents() && call.took_effect.is_none();
            calls.iter().filter(unknown).cloned().collect()
        };
        let open_or = |calls: Vec<ToolUse>| if calls.is_empty() { TurnEnd::Open } else { TurnEnd::Unknown(calls) };
        match &last.kind {
            LastKind::Prompt | LastKind::ApiError { .. } => TurnEnd::Open,
            LastKind::Summary if main.last_compaction_is_automatic => TurnEnd::Open,
            LastKind::Summary => TurnEnd::Waiting,
            LastKind::Interrupted => open_or(unknown(&main.rejected)),
            LastKind::Answer { is_over: true } if main.in_flight.is_empty() => TurnEnd::Waiting,
            LastKind::Answer { .. } | LastKind::ToolResult => open_or(unknown(&main.in_flight)),
        }
    }

    /// Tells whether the session was stopped by hand, and nothing was asked since.
    pub(super) fn is_stopped(&self) -> bool {
        self.main.last.as_ref().is_some_and(|last| last.kind == LastKind::Interrupted)
    }
}

impl Transcript {
    /// Tells whether its last message is an answer that ends the turn.
    pub(super) fn has_ended(&self) -> bool {
        let ended = LastKind::Answer { is_over: true };
        self.in_flight.is_empty() && self.last.as_ref().is_some_and(|last| last.kind == ended)
    }

    /// Returns the error of the service that it ended with.
    pub(super) fn api_error(&self) -> Option<String> {
        match &self.last.as_ref()?.kind {
            LastKind::ApiError { error, text } => Some(safe_line(&format!("{error}: {text}"), 200)),
            LastKind::Prompt
            | LastKind::ToolResult
            | LastKind::Summary
            | LastKind::Interrupted
            | LastKind::Answer { .. } => None,
        }
    }

    /// Tells whether every call of a tool in it is known.
    fn is_fully_known(&self) -> bool {
        self.is_whole && self.long_lines == 0 && self.broken_lines == 0 && self.first_prompt.is_some()
    }
}

fn cut(transcript: Option<&Transcript>) -> AgentEnd {
    let is_harmless = |transcript: &Transcript| transcript.is_fully_known() && !transcript.has_effects;
    AgentEnd::Cut {
        may_have_acted: !transcript.is_some_and(is_harmless),
        error: transcript.and_then(Transcript::api_error),
    }
}

impl Workflow {
    /// Returns what became of a call: its result counts, never the status of the run.
    pub(super) fn call_end(&self, call: &Call) -> AgentEnd {
        let last = call.agents.last().and_then(|id| self.agents.get(id)).and_then(|agent| agent.transcript.as_ref());
        match &call.result {
            Some(result) if result.is_error || last.is_some_and(|last| last.api_error().is_some()) => {
                AgentEnd::Disputed
            }
            Some(_) => AgentEnd::Done,
            None if last.is_some_and(Transcript::has_ended) => AgentEnd::Disputed,
            // Each attempt may have acted.
            None => {
                let ends =
                    call.agents.iter().map(|id| cut(self.agents.get(id).and_then(|agent| agent.transcript.as_ref())));
                let acted = |end: &AgentEnd| matches!(end, AgentEnd::Cut { may_have_acted: true, .. });
                let may_have_acted = call.agents.is_empty() || ends.into_iter().any(|end| acted(&end));
                AgentEnd::Cut { may_have_acted, error: last.and_then(Transcript::api_error) }
            }
        }
    }

    /// Returns the name of a call: its label, else the first words of its prompt.
    pub(super) fn title_of(&self, call: &Call) -> String {
        let mut agents = call.agents.iter().filter_map(|id| self.agents.get(id));
        let prompt = || agents.find_map(|agent| agent.transcript.as_ref()?.first_prompt.as_ref()).map(first_line);
        let title = self.label_of(call).or_else(prompt).or_else(|| call.agents.last().cloned()).unwrap_or_default();
        safe_line(&title, TITLE_CHARS)
    }

    /// Returns the label that the script of the workflow gave a call.
    pub(super) fn label_of(&self, call: &Call) -> Option<String> {
        let mut agents = call.agents.iter().filter_map(|id| self.agents.get(id));
        call.label.clone().or_else(|| agents.find_map(|agent| agent.title.clone()))
    }
}

fn first_line(prompt: &super::digest::Prompt) -> String {
    prompt.text.lines().next().unwrap_or_default().to_owned()
}
