//! What `sessions` answers, as published under `schemas/`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::model::Progress;
use crate::model::RunId;
use crate::model::Status;
use crate::model::StepId;
use crate::model::Timestamp;

/// Lists sessions (`sessions/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionList {
    /// Newest first.
    pub(crate) sessions: Vec<SessionRow>,
}

/// Is one session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SessionRow {
    pub(crate) id: RunId,
    pub(crate) status: SessionStatus,
    /// The name of its workflow.
    pub(crate) workflow: String,
    pub(crate) progress: Progress,
    /// Where it stands, for people.
    pub(crate) position: String,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) changed_at: Option<Timestamp>,
    pub(crate) age_seconds: Option<i64>,
    /// The folder that it works in; absolute.
    pub(crate) folder: Option<String>,
    pub(crate) branch: Option<String>,
    /// The branch that it is merged into.
    pub(crate) base_branch: Option<String>,
    /// The command that goes on with it; `null` where nothing is left to go on with.
    pub(crate) resume: Option<String>,
}

/// Says where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionStatus {
    /// A living process is at work on it.
    Running,
    /// A step failed.
    Failed,
    /// Whoever ran it is gone, in the middle of a step or between two.
    Interrupted,
    /// Somebody stopped it.
    Paused,
    /// Every step is done, and its work is where it was done.
    Completed,
    /// Every step is done, and its work is merged.
    Merged,
    /// Somebody gave it up.
    GivenUp,
    /// Its files say nothing.
    Unreadable,
}

impl SessionStatus {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Merged => "merged",
            Self::GivenUp => "given up",
            Self::Unreadable => "unreadable",
        }
    }
}

/// Is one session with its steps (`session/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionDetail {
    #[serde(flatten)]
    pub(crate) row: SessionRow,
    /// Absolute.
    pub(crate) workflow_file: Option<String>,
    /// The folder with its records and the logs of its steps; absolute.
    pub(crate) records: String,
    pub(crate) steps: Vec<SessionStep>,
    /// Names of the variables that steps captured.
    pub(crate) variables: Vec<String>,
}

/// Is one step of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionStep {
    pub(crate) id: StepId,
    pub(crate) title: String,
    pub(crate) status: Status,
    pub(crate) attempts: u32,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    /// What the last failure said.
    pub(crate) error: Option<String>,
}

/// Says which sessions were put away (`sessions-clean/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanReport {
    /// Nothing was done yet: this is what would be.
    pub(crate) dry_run: bool,
    pub(crate) cleaned: Vec<Cleaned>,
    pub(crate) kept: Vec<KeptSession>,
}

/// Is a session that is over, and what goes with it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Cleaned {
    pub(crate) id: RunId,
    /// The worktree that git removes, with its branch; absolute.
    pub(crate) worktree: Option<String>,
    pub(crate) branch: Option<String>,
    /// Where its records are kept; absolute.
    pub(crate) records: String,
}

/// Is a session that stays, and why.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct KeptSession {
    pub(crate) id: RunId,
    pub(crate) reason: String,
    /// What to do about that.
    pub(crate) fix: Option<String>,
}

/// Says what a session of Prodigy became (`session-import/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportReport {
    pub(crate) from: String,
    pub(crate) session: RunId,
    pub(crate) progress: Progress,
    /// The folder that it works in; absolute.
    pub(crate) folder: String,
    pub(crate) resume: String,
}
