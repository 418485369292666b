//! The report of `rollback`.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    engine::rollback::{GitPlan, Impact, Obstacle},
    model::{AffectedCommit, RelPath, Suggested, Timestamp},
    ops::report::Body,
};

/// A proposed or written rollback (`rollback/1`).
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct RollbackReport {
    pub(crate) run: String,
    /// Possible targets; empty if one was given.
    pub(crate) targets: Vec<RollbackTarget>,
    /// The given target in its unambiguous form.
    pub(crate) to: Option<String>,
    /// Description of the target, for people.
    pub(crate) what: Option<String>,
    pub(crate) impact: Impact,
    /// Commits of the reopened steps, newest first.
    pub(crate) commits: Vec<AffectedCommit>,
    /// Files that those commits changed.
    pub(crate) files: Vec<String>,
    /// `null` outside of git.
    pub(crate) git: Option<GitPlan>,
    /// Commands for the issue tracker, to be run by hand.
    pub(crate) tracker: Vec<String>,
    /// What has to be resolved before anything is written.
    pub(crate) obstacles: Vec<Obstacle>,
    /// The revision of the state, for `--if-revision`.
    pub(crate) revision: String,
    /// False if not confirmed: nothing was written.
    pub(crate) written: bool,
    /// The folder of the backup, made or proposed.
    pub(crate) backup: Option<RelPath>,
    /// Files that are not in the backup: symlinks, missing files, or more than its limits allow.
    pub(crate) left_out: Vec<RelPath>,
    /// Digest of the backup.
    pub(crate) digest: Option<String>,
    /// State files that were written.
    pub(crate) state_files: Vec<RelPath>,
    /// The command that undoes the rollback.
    pub(crate) undo: Option<Suggested>,
    /// The most useful next command.
    pub(crate) next: Option<Suggested>,
}

impl Body for RollbackReport {
    const SCHEMA: &'static str = "rollback/1";

    fn written(&self) -> Option<String> {
        self.written.then(|| format!("{} is rolled back", self.run))
    }
}

impl RollbackReport {
    /// Returns the question about a proposal, and the revision that a yes is about; `None` if there is nothing to confirm.
    pub(crate) fn prompt(&self) -> Option<(String, String)> {
        let what = self.what.as_ref().filter(|_| !self.written && self.obstacles.is_empty())?;
        Some((format!("Roll {} back to {what}? [y/N]", self.run), self.revision.clone()))
    }

    /// Tells whether the commits shown may belong to a step that stays done.
    pub(crate) fn has_commits_in_doubt(&self) -> bool {
        self.impact.unrecorded.is_some() && !self.commits.is_empty()
    }
}

/// A point that a run can go back to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RollbackTarget {
    /// What `--to` takes.
    pub(crate) to: String,
    pub(crate) what: String,
    pub(crate) at: Option<Timestamp>,
    pub(crate) command: Suggested,
}
