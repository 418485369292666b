//! What disk and git say now, gathered by `store`, judged by `engine`.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::RelPath;
use super::RollBackRecord;
use super::SessionLine;
use super::Step;
use super::StepId;
use super::Timestamp;

/// Is what a dialect wants looked at before its run can be judged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) outputs: Vec<WantedOutput>,
    pub(crate) commits: Vec<String>,
    /// Documents that must be there, relative to the main worktree: the plan, say.
    pub(crate) documents: Vec<RelPath>,
    /// Ask git what these files held when the state was saved.
    pub(crate) past: Option<CommittedStateQuery>,
    /// Branches that the state names.
    pub(crate) branches: Vec<String>,
    /// Ask git for the branch, HEAD and uncommitted changes of this folder (`None`: of the root).
    pub(crate) workspace: Option<Option<RelPath>>,
    /// Whether one of these processes lives.
    pub(crate) owner_processes: Vec<OwnerProcess>,
}

/// Is a process that a file of the system's own names as the one that drives the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OwnerProcess {
    pub(crate) pid: u32,
    /// What it calls itself and by which file it holds the run, for people.
    pub(crate) name: String,
    pub(crate) since: Option<Timestamp>,
}

/// Is what a run wants to compare with the time at which its state was saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommittedStateQuery {
    /// The stamp of the state: the commit that has the state as it is now counts before it.
    pub(crate) since: Timestamp,
    pub(crate) files: Vec<RelPath>,
}

/// Is a file that a step should have left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WantedOutput {
    pub(crate) step: StepId,
    pub(crate) path: RelPath,
    /// What its content has to satisfy.
    pub(crate) schema: Option<OutputSchema>,
}

impl WantedOutput {
    /// Returns what steps must have left, by no schema.
    pub(crate) fn of(steps: &[Step]) -> Vec<Self> {
        let each = |step: &Step, path: &RelPath| Self { step: step.id.clone(), path: path.clone(), schema: None };
        steps.iter().flat_map(|step| step.proof.outputs.iter().map(move |path| each(step, path))).collect()
    }
}

/// Is the JSON Schema that a step declares for an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OutputSchema {
    Inline(serde_json::Value),
    File(RelPath),
}

/// Is what was found.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    pub(crate) files: BTreeMap<RelPath, FileFact>,
    /// What `finish` recorded about outputs, oldest first.
    pub(crate) records: Vec<EvidenceRecord>,
    /// The rollbacks of this run and of others beside it, oldest first.
    pub(crate) rollbacks: Vec<RollBackRecord>,
    pub(crate) commits: BTreeMap<String, CommitFact>,
    pub(crate) workspace: Option<Workspace>,
    /// `None` where nobody asked, or git has no commit from before the state was saved.
    pub(crate) past: Option<CommittedState>,
    /// Whether the branches that the state names exist; those of which nothing could be found out are left out.
    pub(crate) branches: BTreeMap<String, bool>,
    /// What is checked out, where a run names branches; `None` as well with a detached HEAD.
    pub(crate) checked_out: Option<String>,
    pub(crate) owner: Owner,
    /// What the client told, since the last write, about the session that drives the run or drove it last; oldest first.
    pub(crate) session: Vec<SessionLine>,
    /// When the primary state file was committed to git or changed on disk, for runs without a stamp of their own.
    pub(crate) committed_at: Option<Timestamp>,
    pub(crate) modified_at: Option<Timestamp>,
}

/// Is what git held when the state was saved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommittedState {
    /// The commit that was compared with.
    pub(crate) commit: String,
    pub(crate) files: BTreeMap<RelPath, CommittedFile>,
}

/// Is one file as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommittedFile {
    /// `None` when it was not there.
    pub(crate) content: Option<Arc<[u8]>>,
    /// A commit since then changed it.
    pub(crate) is_committed_since: bool,
}

/// Is what is at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FileFact {
    Missing,
    Present {
        bytes: u64,
        modified: Option<Timestamp>,
        /// Computed only where a record wants comparing.
        sha256: Option<String>,
        /// For `.json`: whether it parses.
        parses: Option<bool>,
        /// What the schema that its step declares objects to first, with the JSON pointer.
        violation: Option<String>,
    },
    /// There, but unreadable.
    Unreadable(String),
}

/// Is what git says about a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommitFact {
    /// In the history of HEAD.
    Reachable,
    /// Known, but not in the history of HEAD.
    Elsewhere,
    Unknown,
}

/// Is what git says about the working folder.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Workspace {
    /// False when the folder that the state names is not there.
    pub(crate) exists: bool,
    /// `None` outside of git or with a detached HEAD.
    pub(crate) branch: Option<String>,
    pub(crate) head: Option<String>,
    pub(crate) is_git: bool,
    /// Whether the recorded branch exists; `None` when nobody looked.
    pub(crate) branch_exists: Option<bool>,
    /// How many files have uncommitted changes; `None` when git was not asked.
    pub(crate) dirty: Option<usize>,
}

/// Is what is known of who drives the run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) enum Owner {
    #[default]
    None,
    /// The caller itself, or a process it descends from.
    Ours,
    /// Gone: its process ended, or its machine was restarted.
    Dead { since: Option<Timestamp>, session: Option<String> },
    /// Another process that is alive, or another host whose heartbeat is fresh.
    Live { description: String },
}

/// Is one line of the evidence log: what `finish` saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EvidenceRecord {
    pub(crate) at: Timestamp,
    pub(crate) run: String,
    pub(crate) step: StepId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) outputs: Vec<OutputRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    /// Digest of the step's definition as it was done (rule 10 in docs/planning.md#rules).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<String>,
}

/// Is one output as it was left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct OutputRecord {
    pub(crate) path: RelPath,
    pub(crate) sha256: String,
    pub(crate) bytes: u64,
}
