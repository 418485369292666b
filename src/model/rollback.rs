//! Rolling a run back to an earlier point: the request, and what git says about the work since.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RelPath, StepId, Timestamp};

/// A request to reopen steps that were begun or done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RollBack {
    /// `last`, a phase, a step, a checkpoint or a commit.
    pub(crate) to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// In run order. Set by `engine::rollback`, which replaces what a caller writes here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) reopened: Vec<StepId>,
    /// The last step that stays done, if any. Set by `engine::transition`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keeps: Option<StepId>,
    /// The current step before the rollback. Set by `engine::transition`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<StepId>,
}

/// A line of the rollback log. Earlier evidence for these steps no longer counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RollBackRecord {
    pub(crate) at: Timestamp,
    pub(crate) run: String,
    /// The target of the rollback, in its canonical spelling.
    pub(crate) to: String,
    pub(crate) reopened: Vec<StepId>,
    /// The commits of these steps, newest first, where git commands that take them back were printed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) commits: Vec<GivenUpCommit>,
}

/// A commit whose work a rollback gave up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct GivenUpCommit {
    pub(crate) sha: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_merge: bool,
}

impl From<&AffectedCommit> for GivenUpCommit {
    fn from(commit: &AffectedCommit) -> Self {
        Self { sha: commit.sha.clone(), is_merge: commit.is_merge }
    }
}

/// What git says about the work that a rollback discards.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct GitImpact {
    /// The working folder of the run, as used in commands.
    pub(crate) folder: String,
    /// The main worktree, as used in commands.
    pub(crate) main_folder: String,
    /// The branch that is checked out; `None` with a detached HEAD.
    pub(crate) branch: Option<String>,
    /// Whether the branch of the run exists.
    pub(crate) has_branch: bool,
    /// The main branch; `None` if it is unknown.
    pub(crate) main: Option<String>,
    /// The commit to go back to; `None` if it is unknown.
    pub(crate) base: Option<String>,
    /// The commits to discard, newest first.
    pub(crate) commits: Vec<AffectedCommit>,
    /// When they were merged into the main branch; `None` if they were not.
    pub(crate) merged_at: Option<Timestamp>,
    pub(crate) is_merged: bool,
    /// Remote branches that contain them.
    pub(crate) pushed: Vec<String>,
    /// Files with uncommitted changes, except state files; `None` if git does not answer.
    pub(crate) dirty: Option<Vec<String>>,
}

/// A commit that a rollback discards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct AffectedCommit {
    pub(crate) sha: String,
    /// Untrusted text.
    pub(crate) subject: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) is_merge: bool,
    /// Relative to the working folder.
    pub(crate) files: Vec<RelPath>,
}
