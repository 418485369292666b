//! What the client told about one of its sessions, by way of its hooks: who ran it, which agents it started, and how it stopped.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::RelPath;
use super::StepId;
use super::Timestamp;

/// Is one line of the log of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SessionLine {
    pub(crate) at: Timestamp,
    #[serde(flatten)]
    pub(crate) event: SessionEvent,
}

/// Is something that happened in a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum SessionEvent {
    /// The client began or went on; `source` is its own word for why. The process is the client's.
    Start { source: String, pid: u32, process_start: Option<u64> },
    /// The session wrote to this run, which it drives: what was told before is settled.
    Drives(DrivenRun),
    /// A person said something.
    Prompt,
    /// A subagent was started.
    AgentStart { id: String, agent: String },
    /// A subagent ended.
    AgentStop { id: String },
    /// The turn ended in an error of the service; `error` is the client's word for it.
    Failure { error: String },
    /// The conversation is about to be compacted.
    Compact { trigger: String, steps: Vec<StepId> },
    /// The session is over.
    End { reason: String },
}

/// Says where a run lies, relative to the project or to the linked worktree of that name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DrivenRun {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<String>,
    /// Piton's own folder of the run.
    #[serde(rename = "own")]
    pub(crate) data_dir: RelPath,
    pub(crate) state: RelPath,
}

/// Says what cut a run off, as far as the client and the processes tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Cause {
    pub(crate) kind: CauseKind,
    pub(crate) at: Option<Timestamp>,
    /// One sentence.
    pub(crate) detail: String,
}

/// Names what cut a run off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CauseKind {
    /// A subagent was started and never returned.
    AgentLost,
    /// The service failed.
    Failure,
    /// A usage limit was reached.
    Limit,
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
            Self::ContextLost => "context lost",
            Self::SessionEnded => "session ended",
        }
    }
}
