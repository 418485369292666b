//! A run that goes back to an earlier point: what is wanted, and what git says about the work since.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::RelPath;
use super::StepId;
use super::Timestamp;

/// Opens steps again that were begun or done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RollBack {
    /// `last`, a phase, a step, a checkpoint or a commit.
    pub(crate) to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// In the order of the run. Found by `engine::rollback`; what a caller writes here is replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) reopened: Vec<StepId>,
    /// The step before the first of them, which stays done. Filled in by `engine::transition`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keeps: Option<StepId>,
    /// Where the run stood. Filled in by `engine::transition`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<StepId>,
}

/// Is one line of the log of rollbacks: what was done of these steps before it proves nothing about them any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RollBackRecord {
    pub(crate) at: Timestamp,
    pub(crate) run: String,
    /// What the run was rolled back to, spelled the same every time.
    pub(crate) to: String,
    pub(crate) reopened: Vec<StepId>,
}

/// Is what git says about the work that a rollback gives up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitImpact {
    /// The working folder of the run, as a command names it.
    pub(crate) folder: String,
    /// The main worktree, as a command names it.
    pub(crate) main_folder: String,
    /// What is checked out; `None` with a detached HEAD.
    pub(crate) branch: Option<String>,
    /// The branch that the work goes to; `None` where nobody can tell.
    pub(crate) main: Option<String>,
    /// The commit that the work goes back to; `None` where nothing says so.
    pub(crate) base: Option<String>,
    /// Newest first.
    pub(crate) commits: Vec<AffectedCommit>,
    /// When they came to the main branch; `None` when they are not on it.
    pub(crate) merged_at: Option<Timestamp>,
    pub(crate) is_merged: bool,
    /// Remote branches that have them.
    pub(crate) pushed: Vec<String>,
    /// Files with uncommitted changes, state files left out; `None` where git does not say.
    pub(crate) dirty: Option<Vec<String>>,
}

/// Is one commit that a rollback gives up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AffectedCommit {
    pub(crate) sha: String,
    /// A stranger's text.
    pub(crate) subject: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) is_merge: bool,
    /// Relative to the working folder.
    pub(crate) files: Vec<RelPath>,
}
