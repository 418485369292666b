//! What `rollback` answers.

use schemars::JsonSchema;
use serde::Serialize;

use crate::engine::rollback::GitPlan;
use crate::engine::rollback::Impact;
use crate::engine::rollback::Obstacle;
use crate::model::AffectedCommit;
use crate::model::RelPath;
use crate::model::Timestamp;

/// Is what going back to a point means, and what was done about it (`rollback/1`).
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RollbackReport {
    pub(crate) run: String,
    /// Where a run can go back to; empty once one was named.
    pub(crate) targets: Vec<RollbackTarget>,
    /// The target that was named, spelled so that it means nothing else.
    pub(crate) to: Option<String>,
    /// What that is, for people.
    pub(crate) what: Option<String>,
    pub(crate) impact: Impact,
    /// Commits that belong to the steps that open again, newest first.
    pub(crate) commits: Vec<AffectedCommit>,
    /// Files that those commits touched.
    pub(crate) files: Vec<String>,
    /// `null` outside of git.
    pub(crate) git: Option<GitPlan>,
    /// Commands for the tracker of issues, to be run by hand.
    pub(crate) tracker: Vec<String>,
    /// What has to be put right before anything is written.
    pub(crate) obstacles: Vec<Obstacle>,
    /// The state as it was looked at, for `--if-revision`.
    pub(crate) revision: String,
    /// False while nobody agreed: then nothing was written.
    pub(crate) written: bool,
    /// Where a copy of what is given up lies, or would.
    pub(crate) backup: Option<RelPath>,
    /// Files of it that could not be copied: links, files that are gone, more than a backup holds.
    pub(crate) left_out: Vec<RelPath>,
    /// Changes with every byte of the backup.
    pub(crate) digest: Option<String>,
    /// State files that were written.
    pub(crate) state_files: Vec<RelPath>,
    /// The command that takes it back.
    pub(crate) undo: Option<String>,
    /// The most useful next command.
    pub(crate) next: Option<String>,
}

/// Is a point that a run can go back to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RollbackTarget {
    /// What `--to` takes.
    pub(crate) to: String,
    pub(crate) what: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) command: String,
}
