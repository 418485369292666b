//! The data of `run/1`: how a run ended.

use schemars::JsonSchema;
use serde::Serialize;

use super::{exec::Stop, preview::Preview};
use crate::{
    engine,
    model::{ClaudeWork, Progress, ReportedStatus, Run, RunId, Status, StepId, Suggested, safe_line, words},
};

/// The result of a run, or of the part of it between two resumes.
#[derive(Debug)]
pub(crate) struct RunResult {
    pub(crate) session: String,
    pub(crate) folder: String,
    /// The command that goes on.
    pub(crate) resume: Suggested,
    pub(crate) end: RunEnd,
    pub(crate) done: usize,
    /// How many of them never passed, which the workflow tolerates.
    pub(crate) tolerated: usize,
    /// How many items of `foreach` failed.
    pub(crate) failed_items: usize,
    /// What all calls of `claude` did, those before a resume included.
    pub(crate) claude: ClaudeWork,
    /// The steps that began or were skipped, in the order of the file.
    pub(crate) steps: Vec<EndedStep>,
    /// Of the step that failed.
    pub(crate) log: Option<FailedLog>,
    /// Why the steps of `on_stop` failed.
    pub(crate) failed_stop: Option<String>,
    pub(crate) total: usize,
}

impl RunResult {
    /// Returns how many steps were skipped.
    pub(crate) fn skipped(&self) -> usize {
        self.steps.iter().filter(|step| step.is_skipped()).count()
    }

    /// Returns the result of a run of which nothing was run.
    pub(super) fn planned(preview: Preview, (folder, resume): (String, Suggested), total: usize) -> Self {
        Self {
            session: String::new(),
            folder,
            resume,
            end: RunEnd::Planned(Box::new(preview)),
            done: 0,
            tolerated: 0,
            failed_items: 0,
            claude: ClaudeWork::default(),
            steps: Vec::new(),
            log: None,
            failed_stop: None,
            total,
        }
    }
}

/// The way a run ended.
#[derive(Debug)]
pub(crate) enum RunEnd {
    /// Every step is done.
    Completed(WorkEnd),
    /// A step failed. The run can be resumed.
    Failed { step: String, number: usize, error: String, retryable: bool },
    /// It waits for the decision of a person about a step.
    Waiting { step: String, number: usize, what: String, decide: Decide },
    /// The step that was asked for is over.
    Stepped {
        step: String,
        /// It passed. Else a review refused, or an agent tries again.
        is_done: bool,
        /// The steps before it are done as well, and the run goes on after it.
        goes_on: bool,
    },
    /// A signal stopped it.
    Interrupted(Stop),
    /// Nothing was run; this would be.
    Planned(Box<Preview>),
}

/// The decision that a run waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Decide {
    /// A gate is approved.
    Approve,
    /// One of these answers of a gate is given.
    Choose(Vec<String>),
    /// Work is taken despite its review.
    Accept,
}

impl Decide {
    /// Returns the commands that record the decision about a step: one for each answer.
    pub(crate) fn commands(&self, step: &str, session: &str) -> Vec<String> {
        let command = |word: &str| engine::decide_command(word, &StepId::new(step), &RunId::new(session)).to_string();
        match self {
            Self::Approve => vec![command("approve")],
            Self::Choose(words) => words.iter().map(|word| command(word)).collect(),
            Self::Accept => vec![command("accept")],
        }
    }
}

/// What became of the work of a run whose steps are all done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkEnd {
    pub(crate) worktree: WorktreeOutcome,
    pub(crate) not_merged: Option<NotMerged>,
}

impl From<WorktreeOutcome> for WorkEnd {
    fn from(worktree: WorktreeOutcome) -> Self {
        Self { worktree, not_merged: None }
    }
}

impl From<NotMerged> for WorkEnd {
    fn from(why: NotMerged) -> Self {
        Self { worktree: WorktreeOutcome::Kept, not_merged: Some(why) }
    }
}

/// Work of a finished run that was not merged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct NotMerged {
    /// Why, in words.
    pub(crate) why: String,
    /// What merges it, or shows what is in the way.
    pub(crate) command: Suggested,
}

words! {
    /// What happened to the worktree.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    pub(crate) enum WorktreeOutcome: serde {
        /// The run had no worktree.
        InPlace = "in_place",
        /// The worktree and its branch were kept.
        Kept = "kept",
        /// Its branch is merged; it was kept because of uncommitted files.
        Merged = "merged",
        Removed = "removed",
        /// Its work is a branch of its own name, and nothing was merged.
        Branched = "branched",
    }
}

/// The result of a run, or of the part of it between two resumes (`run/1`).
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct RunReport {
    /// Empty for `piton run --dry-run`.
    pub(crate) session: String,
    pub(crate) status: ReportStatus,
    /// The working folder of the steps.
    pub(crate) folder: String,
    pub(crate) progress: Progress,
    /// How many of the done steps were skipped, by a condition or by a person. Left out if none.
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    pub(crate) skipped: usize,
    /// How many items of `foreach` failed; `piton run RUN --failed` runs them again. Left out if none.
    #[serde(skip_serializing_if = "crate::model::is_zero")]
    pub(crate) failed_items: usize,
    /// What all calls of `claude` of the run did and cost, those before a resume included. Left out if there was none.
    #[serde(skip_serializing_if = "ClaudeWork::is_empty")]
    pub(crate) claude: ClaudeWork,
    /// The steps that began or were skipped, in the order of the file. Left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) steps: Vec<EndedStep>,
    /// The command that resumes the session, when it can be resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resume: Option<Suggested>,
    /// What happened to the worktree, when every step is done and there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<WorktreeOutcome>,
    /// Why its work was not merged, when every step is done. Left out if it was, and if there was nothing to merge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_merged: Option<NotMerged>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<FailedStep>,
    /// The step about which a person decides, with the commands of the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) waits_for: Option<WaitingStep>,
    /// Why the steps of `on_stop` failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) failed_stop: Option<String>,
    /// The signal that stopped the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) signal: Option<String>,
    /// What would be run, for `--dry-run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) would_run: Option<Preview>,
}

/// A step that began or was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct EndedStep {
    pub(crate) step: StepId,
    pub(crate) title: String,
    pub(crate) status: ReportedStatus,
    pub(crate) attempts: u32,
    /// How long its last attempt took. Left out if it did not end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<i64>,
}

impl EndedStep {
    /// Tells whether it was skipped.
    pub(crate) fn is_skipped(&self) -> bool {
        self.status == ReportedStatus::Recorded(Status::Skipped)
    }

    /// Returns the steps that began or were skipped.
    pub(super) fn all(run: &Run) -> Vec<Self> {
        let ended = run.steps.iter().filter(|step| step.attempts > 0 || step.status == Status::Skipped);
        let ended = ended.map(|step| Self {
            step: step.id.clone(),
            title: safe_line(&step.title, 200),
            status: step.reported_status(),
            attempts: step.attempts,
            seconds: step.seconds(),
        });
        ended.collect()
    }
}

/// The status of a run that ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ReportStatus {
    Completed,
    Failed,
    Interrupted,
    /// A person decides about a step.
    Waiting,
    /// The step that was asked for is done.
    Stepped,
    /// Nothing was run.
    Planned,
}

/// A step that a person decides about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct WaitingStep {
    pub(crate) step: String,
    /// Its position in the workflow, counted from 1.
    pub(crate) number: usize,
    /// Who is to decide, or what.
    pub(crate) what: String,
    /// The commands of the decision: one for each answer.
    pub(crate) commands: Vec<String>,
}

/// The step at which a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FailedStep {
    pub(crate) step: String,
    /// Its position in the workflow, counted from 1.
    pub(crate) number: usize,
    pub(crate) error: String,
    /// Whether the failure is transient. A resume tries the step again either way.
    pub(crate) retryable: bool,
    /// The end of its log. Left out if it printed nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) log: Option<FailedLog>,
}

/// The log of a failed step: of the step inside it that was the last to print.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct FailedLog {
    /// Absolute.
    pub(crate) file: String,
    /// The last lines, oldest first.
    pub(crate) lines: Vec<String>,
}

impl From<&RunResult> for RunReport {
    fn from(result: &RunResult) -> Self {
        let RunResult { session, folder, done, total, tolerated, failed_items, .. } = result;
        let goes_on = match &result.end {
            RunEnd::Failed { .. } | RunEnd::Waiting { .. } | RunEnd::Interrupted(_) => true,
            RunEnd::Stepped { goes_on, .. } => *goes_on,
            RunEnd::Completed(_) | RunEnd::Planned(_) => false,
        };
        let mut report = Self {
            session: session.clone(),
            status: ReportStatus::Completed,
            folder: folder.clone(),
            progress: Progress { done: *done, total: *total, tolerated: *tolerated },
            skipped: result.skipped(),
            failed_items: *failed_items,
            claude: result.claude.clone(),
            steps: result.steps.clone(),
            resume: goes_on.then(|| result.resume.clone()),
            worktree: None,
            not_merged: None,
            failed: None,
            waits_for: None,
            failed_stop: result.failed_stop.clone(),
            signal: None,
            would_run: None,
        };
        match &result.end {
            RunEnd::Completed(WorkEnd { worktree, not_merged }) => {
                report.worktree = (*worktree != WorktreeOutcome::InPlace).then_some(*worktree);
                report.not_merged.clone_from(not_merged);
            }
            RunEnd::Failed { step, number, error, retryable } => {
                report.status = ReportStatus::Failed;
                let (step, error) = (step.clone(), error.clone());
                let log = result.log.clone();
                report.failed = Some(FailedStep { step, number: *number, error, retryable: *retryable, log });
            }
            RunEnd::Stepped { .. } => report.status = ReportStatus::Stepped,
            RunEnd::Waiting { step, number, what, decide } => {
                report.status = ReportStatus::Waiting;
                let commands = decide.commands(step, session);
                report.waits_for =
                    Some(WaitingStep { step: step.clone(), number: *number, what: what.clone(), commands });
            }
            RunEnd::Interrupted(stop) => {
                report.status = ReportStatus::Interrupted;
                report.signal = Some(stop.as_str().to_owned());
            }
            RunEnd::Planned(preview) => {
                report.status = ReportStatus::Planned;
                report.would_run = Some((**preview).clone());
            }
        }
        report
    }
}
