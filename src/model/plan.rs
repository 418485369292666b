//! The answer of the planner, as published in `schemas/plan.schema.json`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Cause;
use super::DialectId;
use super::InterruptionKind;
use super::Mode;
use super::Patch;
use super::RelPath;
use super::RunId;
use super::StepId;
use super::Timestamp;

/// Is the resume plan: where to go on, why, and what stands in the way.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Plan {
    pub(crate) run: RunHeader,
    pub(crate) verdict: Verdict,
    /// How much a person is asked: as the caller said, else as the run was started.
    pub(crate) mode: Mode,
    /// What to do next, first things first. Steps that do not depend on each other come together.
    pub(crate) next: Vec<Next>,
    pub(crate) steps: StepGroups,
    pub(crate) interruption: Option<InterruptionReport>,
    pub(crate) age: Age,
    pub(crate) progress: Progress,
    /// What to ask the person, when somebody has to be asked.
    pub(crate) question: Option<Question>,
    /// Exact command lines.
    pub(crate) commands: Commands,
    /// Part of the state could not be read; the rest was planned all the same.
    pub(crate) degraded: bool,
    /// What a person could change in files that Piton never writes; only with `--patch`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) patch: Option<Patch>,
    /// The same answer in the words of the run's own system.
    pub(crate) native: Value,
}

/// Says which run a plan is for.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RunHeader {
    pub(crate) id: RunId,
    pub(crate) dialect: DialectId,
    pub(crate) title: String,
    pub(crate) workflow: String,
    /// Absolute path of the folder that all other paths are relative to.
    pub(crate) root: String,
    pub(crate) state_files: Vec<RelPath>,
    /// The branch that the state names, else the one that is checked out where the work happens.
    pub(crate) branch: Option<String>,
    /// Where the work is merged to, when the state says so.
    pub(crate) base_branch: Option<String>,
    pub(crate) worktree: Option<String>,
    pub(crate) plan_reference: Option<String>,
    /// How often it was taken up again before.
    pub(crate) resumes: u32,
    /// Changes with every change of the state; for `--if-revision`.
    pub(crate) revision: String,
}

/// Says whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    /// Go on with `next`.
    Resume,
    /// Possible, but a person should look at the findings first.
    Confirm,
    /// Not until something is resolved.
    Blocked,
    /// Every step is done; `next` says what comes after.
    Complete,
    /// There is no run.
    Nothing,
}

impl Verdict {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Resume => "resume",
            Self::Confirm => "confirm",
            Self::Blocked => "blocked",
            Self::Complete => "complete",
            Self::Nothing => "nothing",
        }
    }
}

/// Is one thing to do next.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Next {
    pub(crate) step: StepId,
    pub(crate) title: String,
    pub(crate) action: Action,
    /// Who does it; `null` when `agent_candidates` leaves a choice.
    pub(crate) agent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) agent_candidates: Vec<String>,
    /// Which attempt this will be, from 1.
    pub(crate) attempt: u32,
    /// Why, in one sentence.
    pub(crate) reason: String,
    /// Stable id of the rule that decided.
    pub(crate) rule: String,
    /// What the rule went by.
    pub(crate) evidence: Vec<String>,
    pub(crate) strategy: Option<Strategy>,
    /// What else could be done instead, as option or command.
    pub(crate) alternatives: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<PlannedPart>,
    pub(crate) cost: RedoCost,
}

/// Says what is to be done with a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    /// Look at the evidence and record the result; run nothing.
    Verify,
    /// Put the question to a person and record the answer.
    Approve,
    /// Go back to this step with the findings of a review.
    Return,
    /// Do it again.
    Retry,
    /// Do it for the first time.
    Run,
    /// Everything is done: merge, after a person agreed.
    Merge,
    /// Everything is done: put the state away.
    Archive,
}

impl Action {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Verify => "verify",
            Self::Approve => "approve",
            Self::Return => "return",
            Self::Retry => "retry",
            Self::Run => "run",
            Self::Merge => "merge",
            Self::Archive => "archive",
        }
    }
}

/// Is a way to recover, by kind of interruption (docs/formats/ccw.md#interruptions-and-strategies).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Strategy {
    RetryWithEnhancedContext,
    AnalyzeAndRetry,
    ResolveDependencies,
    RebuildFullContext,
}

impl Strategy {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::RetryWithEnhancedContext => "retry_with_enhanced_context",
            Self::AnalyzeAndRetry => "analyze_and_retry",
            Self::ResolveDependencies => "resolve_dependencies",
            Self::RebuildFullContext => "rebuild_full_context",
        }
    }
}

/// Says what happens to a part of a step.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedPart {
    pub(crate) name: String,
    pub(crate) title: String,
    /// `run`, `retry`, `refresh`, `skip` or `done`.
    pub(crate) action: String,
}

/// Says what going on costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RedoCost {
    /// How often the step was started already.
    pub(crate) attempts: u32,
    /// Finished steps whose work would be done again.
    pub(crate) steps_again: usize,
    /// Whole minutes that were spent on what would be done again, as far as the state knows.
    pub(crate) minutes_again: u64,
}

/// Lists step ids by where they stand after the evidence was weighed.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StepGroups {
    pub(crate) completed: Vec<StepId>,
    pub(crate) in_progress: Vec<StepId>,
    pub(crate) failed: Vec<StepId>,
    pub(crate) pending: Vec<StepId>,
    pub(crate) blocked: Vec<StepId>,
    pub(crate) skipped: Vec<StepId>,
    /// Recorded as done, and not believed.
    pub(crate) invalid: Vec<StepId>,
}

/// Says how the run was cut off.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct InterruptionReport {
    pub(crate) kind: InterruptionKind,
    pub(crate) step: Option<StepId>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) reason: String,
    /// What ended the work, as far as the client and the processes tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<Cause>,
    /// The step itself and those that wait for it.
    pub(crate) affected: Vec<StepId>,
    /// How such an interruption is recovered from, and by name what could be done instead.
    pub(crate) strategy: Option<Strategy>,
    pub(crate) alternatives: Vec<String>,
}

/// Says how long nothing has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Age {
    /// `null` when no stamp could be had.
    pub(crate) seconds: Option<i64>,
    pub(crate) band: Option<AgeBand>,
    /// `state`, `commit`, `file` or `unknown`.
    pub(crate) source: String,
}

/// Is the age in words: under an hour, under a day, up to seven days, more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AgeBand {
    Fresh,
    Recent,
    Moderate,
    Stale,
}

impl AgeBand {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Fresh => "fresh",
            Self::Recent => "recent",
            Self::Moderate => "moderate",
            Self::Stale => "stale",
        }
    }
}

/// Counts steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Progress {
    pub(crate) done: usize,
    pub(crate) total: usize,
}

/// Is what to ask a person.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Question {
    pub(crate) text: String,
    pub(crate) options: Vec<String>,
    pub(crate) default: Option<String>,
    /// What a yes means where that is not to go on: an exact command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_yes: Option<String>,
    /// What a spoken no means where that is more than leaving everything as it is: an exact command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_no: Option<String>,
    /// What "restart from scratch" means, where that can be answered: an exact command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) on_restart: Option<String>,
}

/// Holds exact command lines for what comes next.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Commands {
    pub(crate) begin: Option<String>,
    pub(crate) context: Option<String>,
    pub(crate) resume: Option<String>,
}

/// Is one file that a run refers to, as it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ReferencedFile {
    pub(crate) file: String,
    /// What it is to the run: `story of 3.2`, `output of 1_gather`.
    pub(crate) role: String,
    /// The run cannot go on without it.
    pub(crate) critical: bool,
    pub(crate) found: String,
}

/// Is what a system's own people call a situation, for the head of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) text: String,
    /// What resolves it.
    pub(crate) hint: String,
}
