//! The reports of `sessions`, as published under `schemas/`.

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    model::{ClaudeWork, Progress, ReportedStatus, RunId, Status, StepId, Timestamp, clean_line, mask_secrets, plural},
    ops::report::Body,
};

/// A list of sessions (`sessions/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionList {
    /// Newest first.
    pub(crate) sessions: Vec<SessionRow>,
}

impl SessionList {
    pub(super) fn newest_first(mut sessions: Vec<SessionRow>) -> Self {
        sessions.sort_by(|a, b| b.changed_at.cmp(&a.changed_at).then_with(|| b.id.cmp(&a.id)));
        Self { sessions }
    }
}

impl Body for SessionList {
    const SCHEMA: &'static str = "sessions/1";
}

/// A session.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SessionRow {
    pub(crate) id: RunId,
    pub(crate) status: SessionStatus,
    /// Name of its workflow.
    pub(crate) workflow: String,
    pub(crate) progress: Progress,
    /// Current position, for people.
    pub(crate) position: String,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) changed_at: Option<Timestamp>,
    pub(crate) age_seconds: Option<i64>,
    /// The project that it belongs to, in a list of all projects; absolute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<String>,
    /// The folder that it works in; absolute.
    pub(crate) folder: Option<String>,
    pub(crate) branch: Option<String>,
    /// The branch that it is merged into when done.
    pub(crate) base_branch: Option<String>,
    /// The command that resumes it; `null` if there is nothing to resume.
    pub(crate) resume: Option<String>,
    /// The command that decides what becomes of its work: `merge` for a finished one, `drop` for an aborted one. Left out if nothing is to
    /// be decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<String>,
}

impl SessionRow {
    /// Returns the row of a session that cannot be read.
    pub(super) fn unreadable(id: &str, why: String) -> Self {
        Self {
            id: RunId::new(id),
            status: SessionStatus::Unreadable,
            workflow: String::new(),
            progress: Progress::default(),
            position: why,
            started_at: None,
            changed_at: None,
            age_seconds: None,
            project: None,
            folder: None,
            branch: None,
            base_branch: None,
            resume: None,
            next: None,
        }
    }
}

/// The status of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum SessionStatus {
    /// A living process is running it.
    Running,
    /// A step failed.
    Failed,
    /// Its process ended in a step or between two.
    Interrupted,
    /// It was paused.
    Paused,
    /// A person decides about a step: a gate, or a review that refused.
    Waiting,
    /// Every step is done, and the steps of its merge were begun.
    Merging,
    /// Every step is done, and its work is not merged.
    Completed,
    /// Every step is done, and its work is merged.
    Merged,
    /// It was aborted.
    GivenUp,
    /// Its files cannot be read.
    Unreadable,
}

impl SessionStatus {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Merging => "merging",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::Paused => "paused",
            Self::Waiting => "waiting",
            Self::Completed => "completed",
            Self::Merged => "merged",
            Self::GivenUp => "given up",
            Self::Unreadable => "unreadable",
        }
    }
}

/// A session with its steps (`session/1`).
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
    /// What all its calls of `claude` did and cost. Left out if there was none.
    #[serde(skip_serializing_if = "ClaudeWork::is_empty")]
    pub(crate) claude: ClaudeWork,
}

impl Body for SessionDetail {
    const SCHEMA: &'static str = "session/1";
}

/// A step of a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionStep {
    pub(crate) id: StepId,
    pub(crate) title: String,
    pub(crate) status: ReportedStatus,
    pub(crate) attempts: u32,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    /// How long its last attempt took. Left out if it did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<i64>,
    /// Message of the last failure.
    pub(crate) error: Option<String>,
    /// What its calls of `claude` did and cost, over all attempts. Left out if there was none.
    #[serde(skip_serializing_if = "ClaudeWork::is_empty")]
    pub(crate) claude: ClaudeWork,
    /// The items of a `foreach` that has begun. Left out of other steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) items: Vec<SessionItem>,
}

/// An item of a `foreach`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SessionItem {
    /// `build[linux]`: the step and the item.
    pub(crate) id: String,
    pub(crate) status: Status,
    /// The worktree that it has, not merged or with uncommitted files; absolute. Left out if it has no such worktree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<String>,
    /// Why it failed. Left out if it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
}

/// The result of a clean-up of sessions (`sessions-clean/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CleanReport {
    /// True if nothing was done, only reported.
    pub(crate) dry_run: bool,
    pub(crate) cleaned: Vec<Cleaned>,
    pub(crate) kept: Vec<KeptSession>,
}

impl Body for CleanReport {
    const SCHEMA: &'static str = "sessions-clean/1";

    fn written(&self) -> Option<String> {
        (!self.dry_run).then(|| "the sessions are put away".to_owned())
    }
}

/// A dropped session (`session-drop/1`).
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DropReport {
    /// True if nothing was done, only reported.
    pub(crate) dry_run: bool,
    #[serde(flatten)]
    pub(crate) dropped: Cleaned,
    /// How far it was, for people.
    pub(crate) progress: String,
    /// Number of files with uncommitted changes that are lost.
    pub(crate) uncommitted: usize,
    /// The first of them. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) uncommitted_files: Vec<String>,
    /// Number of commits that are on no other branch and are lost.
    pub(crate) commits: usize,
    /// The newest of them, each with its subject. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) unmerged_commits: Vec<String>,
    /// The steps of its `finally` that run first. Left out if it has no such steps.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) finally: Vec<StepId>,
}

impl DropReport {
    /// Returns what is lost, in words; `None` if nothing is.
    pub(crate) fn lost(&self) -> Option<String> {
        let files = named(self.uncommitted, "uncommitted file", &self.uncommitted_files);
        let commits = named(self.commits, "unmerged commit", &self.unmerged_commits);
        in_words(files, commits)
    }
}

/// How many of the files and of the commits that are lost are named.
const NAMED: usize = 5;

/// The work that is nowhere but in a worktree and on its branch.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnWork {
    pub(super) files: Vec<String>,
    pub(super) commits: Vec<String>,
}

impl OwnWork {
    /// Returns the names that are shown of those.
    pub(super) fn shown(names: &[String]) -> Vec<String> {
        names.iter().take(NAMED).map(|name| clean_line(&mask_secrets(name), 100)).collect()
    }

    /// Returns it in words; `None` without any work.
    pub(super) fn in_words(&self) -> Option<String> {
        let files = named(self.files.len(), "uncommitted file", &Self::shown(&self.files));
        let commits = named(self.commits.len(), "unmerged commit", &Self::shown(&self.commits));
        in_words(files, commits)
    }
}

fn in_words(files: Option<String>, commits: Option<String>) -> Option<String> {
    let lost: Vec<String> = [files, commits].into_iter().flatten().collect();
    (!lost.is_empty()).then(|| lost.join(" and "))
}

/// Returns a count with the first names.
fn named(count: usize, what: &str, names: &[String]) -> Option<String> {
    let more = match count.saturating_sub(names.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (count > 0).then(|| format!("{} ({}{more})", plural(count, what), names.join(", ")))
}

impl Body for DropReport {
    const SCHEMA: &'static str = "session-drop/1";

    fn written(&self) -> Option<String> {
        (!self.dry_run).then(|| format!("{} is dropped", self.dropped.id))
    }
}

/// A finished session, and what is removed with it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Cleaned {
    pub(crate) id: RunId,
    /// The worktree that is removed, with its branch; absolute.
    pub(crate) worktree: Option<String>,
    pub(crate) branch: Option<String>,
    /// The branches of items of `foreach`, which are removed with their worktrees. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) item_branches: Vec<String>,
    /// Their worktrees.
    #[serde(skip)]
    pub(crate) item_folders: Vec<Utf8PathBuf>,
    /// Where its records are kept; absolute.
    pub(crate) records: String,
}

/// A session that stays, and why.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct KeptSession {
    pub(crate) id: RunId,
    pub(crate) reason: String,
    /// What to do about it.
    pub(crate) fix: Option<String>,
}
