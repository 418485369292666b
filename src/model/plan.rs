//! The result of the planner. `ops` publishes it as `schemas/plan.schema.json`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Cause, Decision, DialectId, InterruptionKind, Mode, Patch, RelPath, Run, RunId, StepId, StepReport, Timestamp,
    words,
};
use crate::model::{Suggested, Verb};

/// The resume plan: which step is next, why, and what blocks it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) run: RunHeader,
    pub(crate) verdict: Verdict,
    /// The mode that the caller chose, else the mode in which the run was started.
    pub(crate) mode: Mode,
    /// What to do next, in order. Steps that do not depend on each other are listed together.
    pub(crate) next: Vec<Next>,
    pub(crate) steps: StepGroups,
    pub(crate) interruption: Option<InterruptionReport>,
    /// The wait for the end of a usage limit, as long as it lasts.
    pub(crate) limit_wait: Option<LimitWait>,
    pub(crate) age: Age,
    pub(crate) progress: Progress,
    /// The questions for a person, most pressing first.
    pub(crate) questions: Vec<Question>,
    /// Exact command lines.
    pub(crate) commands: Commands,
    /// What was reported by the steps that `next[0]` builds on, nearest first: direct predecessors in full, older ones in a line.
    pub(crate) reports: Vec<StepReport>,
    /// What people decided about these steps and the run, oldest first.
    pub(crate) decisions: Vec<Decision>,
    /// Whether part of the state could not be read. The rest was planned.
    pub(crate) degraded: bool,
    /// Suggested edits to files that Piton never writes; only with `--patch`.
    pub(crate) patch: Option<Patch>,
    /// The plan in the vocabulary of the run's own system.
    pub(crate) native: Value,
}

impl Plan {
    /// Returns the question that is asked first.
    pub(crate) fn question(&self) -> Option<&Question> {
        self.questions.first()
    }

    /// Returns the interruption, unless the run only waits for its next step.
    pub(crate) fn notable_interruption(&self) -> Option<&InterruptionReport> {
        let report = self.interruption.as_ref()?;
        Some(report).filter(|report| report.kind != InterruptionKind::ReadyToExecute || report.cause.is_some())
    }

    /// Returns the reason of an interruption, unless a next step gives it already.
    pub(crate) fn own_reason<'a>(&self, report: &'a InterruptionReport) -> Option<&'a str> {
        let is_said = self.next.iter().any(|next| next.reason == report.reason);
        (!is_said).then_some(report.reason.as_str())
    }

    /// Tells whether something stopped in the middle, or the run was not continued for an hour after a finished step.
    pub(crate) fn is_cut_off(&self) -> bool {
        let Some(interruption) = &self.interruption else { return false };
        match interruption.kind {
            InterruptionKind::AgentInterruption
            | InterruptionKind::TaskFailure
            | InterruptionKind::DependencyBlock
            | InterruptionKind::ContextLost => true,
            InterruptionKind::WaitingApproval
            | InterruptionKind::Paused
            | InterruptionKind::ReadyToExecute
            | InterruptionKind::WorkflowComplete => {
                interruption.cause.is_some() || self.age.band.is_none_or(|band| band != AgeBand::Fresh)
            }
        }
    }
}

/// The run that a plan is for.
#[derive(Clone, Debug)]
pub(crate) struct RunHeader {
    pub(crate) id: RunId,
    pub(crate) dialect: DialectId,
    pub(crate) title: String,
    pub(crate) workflow: String,
    /// The absolute path that all other paths are relative to.
    pub(crate) root: String,
    pub(crate) state_files: Vec<RelPath>,
    /// The branch named in the state, else the one checked out in the working folder.
    pub(crate) branch: Option<String>,
    /// The branch to merge into, if the state names it.
    pub(crate) base_branch: Option<String>,
    pub(crate) worktree: Option<String>,
    pub(crate) plan_reference: Option<String>,
    /// How often the run was resumed.
    pub(crate) resumes: u32,
    /// A digest that changes with the state; for `--if-revision`.
    pub(crate) revision: String,
}

impl RunHeader {
    /// Returns the header of a run with this root and revision.
    pub(crate) fn of(run: &Run, root: String, revision: String) -> Self {
        Self {
            id: run.id.clone(),
            dialect: run.dialect,
            title: run.title.clone(),
            workflow: run.workflow.clone(),
            root,
            state_files: run.state_files.clone(),
            branch: run.workspace.branch.clone(),
            base_branch: run.workspace.base_branch.clone(),
            worktree: run.workspace.place().map(str::to_owned),
            plan_reference: run.workspace.plan_reference.clone(),
            resumes: run.resumes,
            revision,
        }
    }
}

words! {
    /// Whether the run can continue.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    pub(crate) enum Verdict: serde {
        /// Continue with `next`.
        Resume = "resume",
        /// Possible, but a person should check the findings first.
        Confirm = "confirm",
        /// Not possible until something is resolved.
        Blocked = "blocked",
        /// Every step is done; `next` says what follows.
        Complete = "complete",
        /// There is no run.
        Nothing = "nothing",
    }
}

/// A step to do next.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Next {
    pub(crate) step: StepId,
    pub(crate) title: String,
    pub(crate) action: Action,
    /// The agent for the step; left out if `agent_candidates` leaves a choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) agent_candidates: Vec<String>,
    /// The number of this attempt, from 1.
    pub(crate) attempt: u32,
    /// The reason, in one sentence.
    pub(crate) reason: String,
    /// The stable id of the rule that decided.
    pub(crate) rule: String,
    /// What the rule is based on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) strategy: Option<Strategy>,
    /// Names of other strategies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) alternatives: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) parts: Vec<PlannedPart>,
    #[serde(skip_serializing_if = "RedoCost::is_nothing")]
    pub(crate) cost: RedoCost,
    /// Files that lost or failed attempts left half made, for the brief; empty if git does not say which, `None` if there are none.
    #[serde(skip)]
    pub(crate) half_made: Option<Vec<String>>,
}

impl Next {
    /// Returns the action with its step as `run 1:5 (Documentation)`. What follows the last step is not about that step.
    pub(crate) fn in_words(&self) -> String {
        let action = self.action.as_str();
        match self.action {
            Action::Merge | Action::Archive => format!("{action} ({})", self.title),
            Action::Verify | Action::Approve | Action::Return | Action::Retry | Action::Run | Action::Exec => {
                format!("{action} {}", self.step.with_title(&self.title))
            }
        }
    }
}

words! {
    /// What to do with a step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub(crate) enum Action: serde {
        /// Check the evidence and record the result; run nothing.
        Verify = "verify",
        /// Ask a person and record the answer.
        Approve = "approve",
        /// Redo this step with the findings of a review.
        Return = "return",
        /// Run it again.
        Retry = "retry",
        /// Run it for the first time.
        Run = "run",
        /// Have Piton run its command, for the first time or again.
        Exec = "exec",
        /// Everything is done: merge, after a person agrees.
        Merge = "merge",
        /// Everything is done: archive the state.
        Archive = "archive",
    }
}

words! {
    /// A recovery strategy, by kind of interruption (docs/formats/ccw.md#interruptions-and-strategies).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    pub(crate) enum Strategy: serde {
        RetryWithEnhancedContext = "retry_with_enhanced_context",
        AnalyzeAndRetry = "analyze_and_retry",
        ResolveDependencies = "resolve_dependencies",
        RebuildFullContext = "rebuild_full_context",
    }
}

/// A part of a step and what happens to it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PlannedPart {
    pub(crate) name: String,
    /// Left out if it is the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// `run`, `retry`, `refresh`, `skip` or `done`.
    pub(crate) action: String,
}

/// The cost of the next action. What is 0 is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RedoCost {
    /// How often the step was started before.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) attempts: u32,
    /// Number of finished steps that would be redone.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) steps_again: usize,
    /// Whole minutes spent on the work that would be redone, as far as the state records them.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) minutes_again: u64,
}

impl RedoCost {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

/// Tells whether a value is left out of a document because it is the default.
pub(crate) fn is_zero<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Step ids by their status after comparison with the evidence.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepGroups {
    pub(crate) completed: Vec<StepId>,
    pub(crate) in_progress: Vec<StepId>,
    pub(crate) failed: Vec<StepId>,
    pub(crate) pending: Vec<StepId>,
    pub(crate) blocked: Vec<StepId>,
    pub(crate) skipped: Vec<StepId>,
    /// Recorded as done, but the evidence disagrees.
    pub(crate) invalid: Vec<StepId>,
}

/// How the run was interrupted.
#[derive(Clone, Debug)]
pub(crate) struct InterruptionReport {
    pub(crate) kind: InterruptionKind,
    pub(crate) step: Option<StepId>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) reason: String,
    /// What ended the work, as far as client events and processes show.
    pub(crate) cause: Option<Cause>,
    /// The step and all that depend on it.
    pub(crate) affected: Vec<StepId>,
    /// The default recovery strategy.
    pub(crate) strategy: Option<Strategy>,
    /// Names of other strategies.
    pub(crate) alternatives: Vec<String>,
}

/// The time since the last activity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Age {
    /// Left out if there is no usable time stamp.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) band: Option<AgeBand>,
    /// `state`, `commit`, `file` or `unknown`.
    pub(crate) source: String,
}

words! {
    /// The age in words: under an hour, under a day, up to seven days, more. `piton.toml` can change the bounds.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    pub(crate) enum AgeBand: serde {
        Fresh = "fresh",
        Recent = "recent",
        Moderate = "moderate",
        Stale = "stale",
    }
}

/// The wait of a step for the end of a usage limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct LimitWait {
    pub(crate) step: StepId,
    pub(crate) until: Timestamp,
    /// Until when, in the time of this machine: `11:01 (in 1 h 9 min)`.
    pub(crate) in_words: String,
}

/// The number of steps done and in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Progress {
    pub(crate) done: usize,
    pub(crate) total: usize,
    /// How many of the done steps never passed, which the workflow file tolerates. Left out if none.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) tolerated: usize,
}

impl Progress {
    /// Returns what is said after the numbers about done steps that never passed.
    pub(crate) fn never_passed(&self) -> String {
        if self.tolerated > 0 { format!(", {} of them never passed", self.tolerated) } else { String::new() }
    }
}

/// A question for a person.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Question {
    /// The step that it is about; left out if it is about the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) step: Option<StepId>,
    pub(crate) text: String,
    /// The things to judge by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence: Vec<Clue>,
    /// At least one. Declining and the end of input change nothing.
    pub(crate) options: Vec<QuestionOption>,
    /// The id of the option that an empty answer chooses; left out if that changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) default: Option<String>,
}

/// A thing to judge by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Clue {
    pub(crate) kind: ClueKind,
    /// Untrusted text, except for a log and a check, which are commands.
    pub(crate) text: String,
}

impl Clue {
    /// Returns it with its kind, in a line.
    pub(crate) fn in_words(&self) -> String {
        let what = match self.kind {
            ClueKind::Required => "required: ",
            ClueKind::Command => "ran: ",
            ClueKind::Check => "to find out: ",
            ClueKind::Words => "",
            ClueKind::Log => "log: ",
            ClueKind::Commit => "commit: ",
            ClueKind::File => "file: ",
        };
        format!("{what}{}", self.text)
    }
}

/// The kind of a thing to judge by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ClueKind {
    /// What its definition requires.
    Required,
    /// The command that ran.
    Command,
    /// How to find out whether it took effect.
    Check,
    /// The last words of its agent, or of its reviewer.
    Words,
    /// The output of the step, or the transcript of its agent.
    Log,
    Commit,
    File,
}

/// An answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct QuestionOption {
    /// What a person types.
    pub(crate) id: String,
    pub(crate) label: String,
    /// The command that does it. `NAME`, `WHY` and `TEXT` stand for what the person fills in.
    pub(crate) command: Suggested,
    /// Whether only a person may choose it.
    pub(crate) person: bool,
    /// Whether it leaves everything as it is: its command only reads.
    #[serde(skip)]
    pub(crate) changes_nothing: bool,
}

impl Question {
    /// Returns a question about the run, with the answer that is chosen by an empty line.
    pub(crate) fn of_run(text: impl Into<String>, options: Vec<QuestionOption>, default: Option<&str>) -> Self {
        let (text, default) = (text.into(), default.map(str::to_owned));
        Self { step: None, text, evidence: Vec::new(), options, default }
    }

    pub(crate) fn option(&self, id: &str) -> Option<&QuestionOption> {
        self.options.iter().find(|option| option.id == id)
    }

    /// Tells whether an answer is to resume the run.
    pub(crate) fn offers_resume(&self) -> bool {
        self.options.iter().any(|option| option.command.verb() == Some(Verb::Resume))
    }
}

impl QuestionOption {
    pub(crate) fn new(id: &str, label: impl Into<String>, command: Suggested) -> Self {
        Self { id: id.to_owned(), label: label.into(), command, person: false, changes_nothing: false }
    }

    /// Builds the option that changes nothing; `command` only reads.
    pub(crate) fn leave(id: &str, label: impl Into<String>, command: Suggested) -> Self {
        Self { changes_nothing: true, ..Self::new(id, label, command) }
    }

    /// Marks an option that only a person may choose.
    pub(crate) fn by_person(self) -> Self {
        Self { person: true, ..self }
    }
}

/// Exact command lines for the next action.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Commands {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) begin: Option<Suggested>,
    /// The same for the other next steps, at most 4.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) others: Vec<Suggested>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<Suggested>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resume: Option<Suggested>,
}

impl Commands {
    /// Takes back the commands that begin a step.
    pub(crate) fn clear_begin(&mut self) {
        self.begin = None;
        self.others.clear();
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.begin.is_none() && self.context.is_none() && self.resume.is_none()
    }
}

/// A file that a run refers to, and its current state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct ReferencedFile {
    pub(crate) file: String,
    /// Its role in the run: `story of 3.2`, `output of 1_gather`.
    pub(crate) role: String,
    /// Whether the run needs it to continue.
    pub(crate) critical: bool,
    pub(crate) found: String,
}

/// The message of the run's own system for a situation, shown above a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Notice {
    pub(crate) text: String,
    /// How to resolve it.
    pub(crate) hint: String,
}
