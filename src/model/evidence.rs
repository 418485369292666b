//! The current facts about disk, git and processes. `store` gathers them, `engine` evaluates them.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Finding, GuestEvidence, GuestRequest, Presence, RelPath, RollBackRecord, SessionLine, Statement, StatementKind,
    Step, StepId, StepReport, Timestamp,
};

/// The evidence that a dialect needs before its run can be planned.
#[derive(Clone, Debug, Default)]
pub(crate) struct EvidenceRequest {
    pub(crate) outputs: Vec<OutputRequest>,
    pub(crate) commits: Vec<String>,
    /// Documents that must exist, such as the plan, relative to the main worktree.
    pub(crate) documents: Vec<RelPath>,
    /// Files to read from git as they were when the state was saved.
    pub(crate) past: Option<CommittedStateQuery>,
    /// Branches named in the state, to check for existence.
    pub(crate) branches: Vec<String>,
    /// The folder to ask git about: branch, HEAD and uncommitted changes. `Some(None)` is the root, `None` asks nothing.
    pub(crate) workspace: Option<Option<RelPath>>,
    /// That folder if it is a linked worktree outside of the root.
    pub(crate) outside: Option<Utf8PathBuf>,
    /// The folder that the outputs are in, if the work is not where the state is; absolute.
    pub(crate) base: Option<Utf8PathBuf>,
    /// The branch of finished work and the one that it is merged into, to check whether it was.
    pub(crate) merge: Option<MergeRequest>,
    /// Processes that may drive the run, to check whether one is alive.
    pub(crate) owner_processes: Vec<OwnerProcess>,
    /// What a run that Piton only reads needs; `None` for all others.
    pub(crate) guest: Option<GuestRequest>,
}

impl EvidenceRequest {
    /// Returns the folder that the outputs are in, for a state in `root`.
    pub(crate) fn base<'a>(&'a self, root: &'a Utf8Path) -> &'a Utf8Path {
        self.base.as_deref().unwrap_or(root)
    }
}

/// A branch of finished work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MergeRequest {
    pub(crate) branch: String,
    /// The branch that it is merged into; `None` for the main branch.
    pub(crate) base: Option<String>,
    /// Whether the branch is known to have commits of its own.
    pub(crate) has_commits: bool,
}

/// A process that a file of the run's own system names as its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnerProcess {
    pub(crate) pid: u32,
    /// Its start time in clock ticks since boot, if the file names it: then only that process counts.
    pub(crate) start: Option<u64>,
    /// The session of the client that it runs: only if that is the caller's own, the process is the caller's.
    pub(crate) session: Option<String>,
    /// Its name and the file that names it, for display.
    pub(crate) name: String,
    pub(crate) since: Option<Timestamp>,
}

/// A request for file contents as of the time at which the state was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommittedStateQuery {
    /// The time stamp of the state. A commit that contains the current state takes precedence.
    pub(crate) since: Timestamp,
    pub(crate) files: Vec<RelPath>,
}

/// An output file that a step should have produced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutputRequest {
    pub(crate) step: StepId,
    pub(crate) path: RelPath,
    /// The schema that its content must satisfy.
    pub(crate) schema: Option<OutputSchema>,
}

impl OutputRequest {
    /// Returns the declared outputs of all steps, without schemas.
    pub(crate) fn of(steps: &[Step]) -> Vec<Self> {
        let each = |step: &Step, path: &RelPath| Self { step: step.id.clone(), path: path.clone(), schema: None };
        steps.iter().flat_map(|step| step.proof.outputs.iter().map(move |path| each(step, path))).collect()
    }
}

/// The JSON Schema that a step declares for an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutputSchema {
    Inline(serde_json::Value),
    File(RelPath),
}

/// The evidence for one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) files: BTreeMap<RelPath, FileFact>,
    /// Records that `finish` wrote about outputs, oldest first.
    pub(crate) records: Vec<EvidenceRecord>,
    /// What was said about the run, oldest first.
    pub(crate) statements: Vec<Statement>,
    /// The reports that came when their step had moved, oldest first.
    pub(crate) late: Vec<StepReport>,
    /// The findings, by [`Finding::subject`], that a person saw and let this driver go on with, less than a day ago.
    pub(crate) agreed: BTreeSet<String>,
    /// Whether the driver of each attempt, by step and number, is still there.
    pub(crate) presences: BTreeMap<(StepId, u32), Presence>,
    /// Digests of the current definitions of recorded steps, for dialects that leave them out of the run.
    pub(crate) definitions: BTreeMap<StepId, String>,
    /// Rollbacks of this run and of runs in the same log, oldest first.
    pub(crate) rollbacks: Vec<RollBackRecord>,
    pub(crate) commits: BTreeMap<String, CommitFact>,
    pub(crate) workspace: Option<Workspace>,
    /// `None` if it was not requested, or if git has no commit from before the state was saved.
    pub(crate) past: Option<CommittedState>,
    /// Whether each branch named in the state exists. Unknown ones are missing.
    pub(crate) branches: BTreeMap<String, bool>,
    /// Whether finished work is merged; `None` if that is unknown or was not asked.
    pub(crate) merged: Option<bool>,
    /// The branch that is checked out, if the run names branches; `None` with a detached HEAD.
    pub(crate) checked_out: Option<String>,
    pub(crate) owner: Owner,
    /// Client events since the last write, of the session that drives the run or drove it last; oldest first.
    pub(crate) session: Vec<SessionLine>,
    /// The commit time of the primary state file, for runs without a time stamp in their state.
    pub(crate) committed_at: Option<Timestamp>,
    /// The modification time of the primary state file, for the same purpose.
    pub(crate) modified_at: Option<Timestamp>,
    /// For a run that Piton only reads.
    pub(crate) guest: GuestEvidence,
    /// What was found out while it was gathered: what could not be looked at, and what a list lost.
    pub(crate) findings: Vec<Finding>,
}

/// File contents in git when the state was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommittedState {
    /// The commit that was read.
    pub(crate) commit: String,
    pub(crate) files: BTreeMap<RelPath, CommittedFile>,
}

/// A file at that commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommittedFile {
    /// `None` if it did not exist.
    pub(crate) content: Option<Arc<[u8]>>,
    /// Whether a later commit changed it.
    pub(crate) is_committed_since: bool,
}

/// What is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileFact {
    Missing,
    Present {
        bytes: u64,
        modified: Option<Timestamp>,
        /// Computed only if there is a record to compare with. Lower-case hexadecimal.
        sha256: Option<String>,
        /// Whether a `.json` file parses; `None` for other files.
        parses: Option<bool>,
        /// The first violation of the schema that its step declares, with the JSON pointer.
        violation: Option<String>,
    },
    /// It exists but cannot be read, for this reason.
    Unreadable(String),
}

/// Where git finds a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitFact {
    /// In the history of HEAD.
    Reachable,
    /// In the history of HEAD, with a later commit that reverts it.
    Reverted,
    /// Known, but not in the history of HEAD.
    Elsewhere,
    Unknown,
}

impl CommitFact {
    /// Returns why the branch does not have the work of a commit, in words; `None` if it has.
    pub(crate) const fn lost(self) -> Option<&'static str> {
        match self {
            Self::Reachable => None,
            Self::Reverted => Some("was reverted since"),
            Self::Elsewhere => Some("exists, but not in the history of this branch"),
            Self::Unknown => Some("is not known to git"),
        }
    }
}

/// What git says about the working folder.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Workspace {
    /// Whether the folder that the state names exists.
    pub(crate) exists: bool,
    /// `None` outside git or with a detached HEAD.
    pub(crate) branch: Option<String>,
    pub(crate) head: Option<String>,
    pub(crate) is_git: bool,
    /// Whether the recorded branch exists; `None` if it was not checked.
    pub(crate) branch_exists: Option<bool>,
    /// Files with uncommitted changes, relative to the top of the worktree, and new folders with a slash at the end; `None` if git was not
    /// asked.
    pub(crate) uncommitted: Option<Vec<String>>,
}

/// The owner of a run, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum Owner {
    #[default]
    None,
    /// The caller itself, or a process it descends from.
    Ours,
    /// The process ended, or the machine was restarted.
    Dead { since: Option<Timestamp>, session: Option<String> },
    /// Another process that is alive, or another host with a fresh heartbeat.
    Live { description: String },
}

/// A line of the evidence log: what `finish` saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EvidenceRecord {
    pub(crate) at: Timestamp,
    pub(crate) run: String,
    pub(crate) step: StepId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) outputs: Vec<OutputRecord>,
    /// Digest of the definition that the step was done by (rule 10 in docs/planning.md#rules).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<String>,
}

/// An output when its step finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OutputRecord {
    pub(crate) path: RelPath,
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}

impl Evidence {
    /// Returns the files that steps of a run reported and of which no digest is recorded.
    pub(crate) fn unrecorded_files(&self, run: &str) -> Vec<RelPath> {
        let recorded: BTreeSet<&str> = self.records.iter().map(|record| record.step.as_str()).collect();
        let reports = self.statements.iter().filter(|statement| statement.run == run);
        let reports = reports.filter_map(|statement| match &statement.kind {
            StatementKind::Report(report) if !recorded.contains(report.step.as_str()) => Some(report),
            StatementKind::Report(_) | StatementKind::Begun(_) | StatementKind::Decision(_) => None,
        });
        reports.flat_map(|report| report.files.iter().cloned()).collect()
    }
}
