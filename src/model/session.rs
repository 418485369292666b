//! Events of a client session, as its hooks reported them: its process, the agents it started, and how it ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RelPath, StepId, Timestamp};

/// A line of a session log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionLine {
    pub(crate) at: Timestamp,
    #[serde(flatten)]
    pub(crate) event: SessionEvent,
}

/// An event of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum SessionEvent {
    /// The client started or continued the session; `source` is the client's reason. The process is the client's.
    Start { source: String, pid: u32, process_start: Option<u64> },
    /// The session wrote to this run, which it drives. Earlier events no longer matter.
    Drives(DrivenRun),
    /// A person entered a prompt.
    Prompt,
    /// The client told the agent that a background task ended.
    Notification,
    /// A subagent was started; `brief` names the step whose brief it was given.
    AgentStart {
        id: String,
        agent: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        brief: Option<GivenBrief>,
    },
    /// A subagent ended.
    AgentStop { id: String },
    /// The turn ended in an API error; `error` is the client's name for it.
    Failure { error: String },
    /// The session is over.
    End { reason: String },
}

/// The step whose brief an agent was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GivenBrief {
    pub(crate) run: DrivenRun,
    pub(crate) step: StepId,
    pub(crate) attempt: u32,
}

/// The location of a run, relative to the project, or to the folder of that name: a linked worktree, or the home of the runs of
/// workflow files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DrivenRun {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<String>,
    /// The folder for Piton's own data about the run.
    #[serde(rename = "own")]
    pub(crate) folder: RelPath,
    pub(crate) state: RelPath,
}

/// What interrupted a run, as far as client events and processes show.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Cause {
    pub(crate) kind: CauseKind,
    pub(crate) at: Option<Timestamp>,
    /// One sentence.
    pub(crate) detail: String,
}

/// The kind of cause of an interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CauseKind {
    /// A subagent was started but never returned.
    AgentLost,
    /// The API failed.
    Failure,
    /// A usage limit was reached.
    Limit,
    /// A person stopped it.
    Stopped,
    /// The process ended without saying so.
    Killed,
    /// The conversation was compacted or cleared while the step was open.
    ContextLost,
    /// The session ended, or its process is gone.
    SessionEnded,
}

impl CauseKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::AgentLost => "agent lost",
            Self::Failure => "failure",
            Self::Limit => "limit",
            Self::Stopped => "stopped",
            Self::Killed => "killed",
            Self::ContextLost => "context lost",
            Self::SessionEnded => "session ended",
        }
    }
}
