//! What ended the work on a run, derived from the events of the session that drove it and from its process.
//!
//! A run that another process drives has no cause. An interruption that the state records takes precedence.

use crate::model::{Cause, CauseKind, Evidence, Owner, SessionEvent, SessionLine, Timestamp, clean_line};

/// Errors of the client that mean a limit, not a failure.
const LIMITS: [&str; 2] = ["rate_limit", "billing_error"];
const QUOTE_CHARS: usize = 60;

/// Returns what interrupted the work; `None` if it is unknown or if another process drives the run.
pub(super) fn cause(evidence: &Evidence) -> Option<Cause> {
    let gone_since = match &evidence.owner {
        Owner::None | Owner::Live { .. } => return None,
        Owner::Ours => None,
        Owner::Dead { since, .. } => Some(*since),
    };
    let mut activity = SessionActivity::default();
    evidence.session.iter().for_each(|line| activity.record(line));
    activity.cause(gone_since)
}

/// The events of a session since its last write to the run.
#[derive(Default)]
struct SessionActivity<'a> {
    /// Agents that are still running, oldest first: id, kind, start time.
    agents: Vec<(&'a str, &'a str, Timestamp)>,
    /// The last error, unless work continued after it.
    failure: Option<(Timestamp, &'a str)>,
    prompts_since: usize,
    compacted: Option<Timestamp>,
    ended: Option<(Timestamp, &'a str)>,
    /// When another process resumed the session.
    restarted: Option<Timestamp>,
    /// Number of agents, from the oldest, that had not returned when the turn that waited for them ended.
    unreturned: usize,
}

impl<'a> SessionActivity<'a> {
    fn record(&mut self, line: &'a SessionLine) {
        match &line.event {
            SessionEvent::Start { source, .. } if source == "compact" => {
                self.compacted = Some(line.at);
                self.forget_failure(0);
            }
            SessionEvent::Start { .. } => {
                self.restarted = Some(line.at);
                self.unreturned = self.agents.len();
            }
            SessionEvent::Drives(_) | SessionEvent::Notification => {}
            SessionEvent::Prompt => {
                self.prompts_since += 1;
                self.unreturned = self.agents.len();
                self.forget_failure(1);
            }
            SessionEvent::AgentStart { id, agent, .. } => {
                self.agents.push((id, agent, line.at));
                self.forget_failure(0);
            }
            SessionEvent::AgentStop { id } => {
                if let Some(at) = self.agents.iter().position(|(known, ..)| known == id) {
                    self.agents.remove(at);
                    self.unreturned = self.unreturned.saturating_sub(usize::from(at < self.unreturned));
                }
            }
            SessionEvent::Failure { error } => {
                self.failure = Some((line.at, error));
                self.prompts_since = 0;
            }
            SessionEvent::End { reason } => self.ended = Some((line.at, reason)),
        }
    }

    /// Forgets the last error because work continued. The first prompt after an error may only ask what happened.
    fn forget_failure(&mut self, allowed_prompts: usize) {
        if self.failure.is_some() && (allowed_prompts == 0 || self.prompts_since > allowed_prompts) {
            self.failure = None;
        }
    }

    /// Returns the most specific cause. `gone_since` is set if the driver is gone, with the time it was last seen.
    fn cause(&self, gone_since: Option<Option<Timestamp>>) -> Option<Cause> {
        let found = |kind, at, detail: String| Some(Cause { kind, at, detail });
        if let Some((at, error)) = self.failure {
            let kind = if LIMITS.contains(&error) { CauseKind::Limit } else { CauseKind::Failure };
            let what = if kind == CauseKind::Limit { "a usage limit was reached" } else { "the service failed" };
            return found(kind, Some(at), format!("{what}: {}", clean_line(error, QUOTE_CHARS)));
        }
        let is_over = gone_since.is_some() || self.restarted.is_some() || self.ended.is_some();
        let lost =
            if is_over { self.agents.as_slice() } else { &self.agents[..self.unreturned.min(self.agents.len())] };
        if let Some((_, agent, at)) = lost.last() {
            let agent = clean_line(agent, QUOTE_CHARS);
            let detail = match is_over {
                true => format!("the session ended while the agent {agent} was working"),
                false => format!("the agent {agent} was started and never returned"),
            };
            return found(CauseKind::AgentLost, Some(*at), detail);
        }
        if let Some((at, "clear")) = self.ended {
            return found(CauseKind::ContextLost, Some(at), "the conversation was cleared".to_owned());
        }
        if let Some((at, reason)) = self.ended {
            return found(
                CauseKind::SessionEnded,
                Some(at),
                format!("the session ended: {}", clean_line(reason, QUOTE_CHARS)),
            );
        }
        if let Some(since) = gone_since {
            return found(CauseKind::SessionEnded, since, "the process that drove it is gone".to_owned());
        }
        if let Some(at) = self.restarted {
            return found(CauseKind::SessionEnded, Some(at), "the session was interrupted and resumed".to_owned());
        }
        let at = self.compacted?;
        found(CauseKind::ContextLost, Some(at), "the conversation was compacted while the work was open".to_owned())
    }
}

#[cfg(test)]
#[path = "cause_tests.rs"]
mod tests;
