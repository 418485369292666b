//! One intended state transition, as data. The command line, the hooks and the runner all produce it.

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RelPath, ReviewVerdict, RollBack, Status, StepId, Timestamp, mask_secrets, words};

/// A requested transition and its time.
///
/// The schema rejects unknown fields, because serde cannot do so for a flattened enum.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("unevaluatedProperties" = false))]
pub(crate) struct Change {
    pub(crate) at: Timestamp,
    #[serde(flatten)]
    pub(crate) kind: ChangeKind,
}

/// The kind of a change, with its arguments.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum ChangeKind {
    /// A step (or a part of it) is about to run. Written before the agent starts.
    Begin {
        step: StepId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
        /// From 1. Set by `engine::transition`, which replaces what a caller writes here.
        #[serde(default)]
        attempt: u32,
        /// Steps that build on this one and lose their results, in the order of the run. Set by `engine::transition`.
        #[serde(skip)]
        reopens: Vec<StepId>,
    },
    /// A step (or a part of it) has ended, successfully or not.
    Finish(Box<Outcome>),
    /// A person approves a gate.
    Approve {
        step: StepId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// How many phases the approved plan has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        phases: Option<u32>,
        /// The answer, of a gate that offers several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choice: Option<String>,
    },
    /// A step is skipped for good. Dependents count it as done, and every plan mentions it.
    Skip {
        step: StepId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        part: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        reason: String,
    },
    /// The run is paused until it is resumed.
    Pause { reason: Option<String> },
    /// The run is aborted; its state is kept.
    Abort {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
        reason: Option<String>,
    },
    /// An interrupted run continues: the record of one resume.
    Resume {
        steps: Vec<StepId>,
        interruption: Option<Interruption>,
        /// The name of the chosen recovery strategy.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        strategy: Option<String>,
        /// Steps whose recorded status lags behind the evidence, with the status to record.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        settled: Vec<(StepId, Status)>,
    },
    /// The run as a whole is over.
    Complete { note: Option<String> },
    /// An unreadable state is rebuilt from evidence, after a person agreed, or the branch of the run has a new name.
    Repair {
        /// The new name. Then nothing else of the state is replaced.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        branch: Option<String>,
    },
    /// Steps that were begun or done are reopened, after a person agreed.
    #[serde(rename = "rollback")]
    RollBack(Box<RollBack>),
    /// A new run.
    Start(Box<StartSpec>),
}

/// The result of a step or part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Outcome {
    pub(crate) step: StepId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<String>,
    /// `completed`, `failed` or `waiting_approval`. If missing, the verdict decides, else `completed`.
    #[serde(default = "completed")]
    pub(crate) status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<ReviewVerdict>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<String>,
    /// What a reviewer or tester found, for the agent that has to address it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) outputs: Vec<RelPath>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    /// How many phases the plan has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) phases: Option<u32>,
    /// The step that a failure returns to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) to_step: Option<StepId>,
    /// What the step ends with, for a step that declares its schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) result: Option<Value>,
    /// The attempt that it is about, as the brief names it; the last one of the caller if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) begun: Option<String>,
    /// The answer of a person at a gate that offers several. Set by `engine::transition`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<String>,
    /// Output variables of a part, kept for the context of later parts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) set: BTreeMap<String, Value>,
    /// From 1. Set by `engine::transition`.
    #[serde(default)]
    pub(crate) attempt: u32,
    /// Consecutive failures including this one. Set by `engine::transition`.
    #[serde(default)]
    pub(crate) failures: u32,
    /// The previous status. Set by `engine::transition`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) from: Option<Status>,
    /// A person takes the work although its review said no. Only `accept` sets it.
    #[serde(skip)]
    pub(crate) accepts: bool,
    /// What it is accepted against. Set by `engine::transition`.
    #[serde(skip)]
    pub(crate) despite: Option<String>,
    /// It corrects the record of a step that is done. Set by `engine::transition`.
    #[serde(skip)]
    pub(crate) amends: bool,
    /// The output that is the document of the step, which is not where the state says. Set by `engine::transition`.
    #[serde(skip)]
    pub(crate) document: Option<RelPath>,
}

fn mask_all<'a>(texts: impl IntoIterator<Item = &'a mut String>) {
    for text in texts {
        if let Cow::Owned(masked) = mask_secrets(text) {
            *text = masked;
        }
    }
}

/// Masks a value that has a name, and everything in it.
fn mask_value(name: &str, value: &mut Value) {
    match value {
        Value::String(text) => {
            let prefix = format!("{name}=");
            let named = format!("{prefix}{text}");
            if let Cow::Owned(masked) = mask_secrets(&named) {
                *text = masked.strip_prefix(&prefix).map_or(masked.clone(), str::to_owned);
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| mask_value(name, value)),
        Value::Object(fields) => fields.iter_mut().for_each(|(name, value)| mask_value(name, value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

const fn completed() -> Status {
    Status::Completed
}

impl Outcome {
    fn mask_secrets(&mut self) {
        let Self {
            step: _,
            part: _,
            status: _,
            agent,
            verdict: _,
            conditions,
            findings,
            summary,
            error,
            outputs: _,
            commit: _,
            phases: _,
            to_step: _,
            result,
            begun: _,
            // A word of the definition.
            choice: _,
            set,
            attempt: _,
            failures: _,
            from: _,
            accepts: _,
            despite,
            document: _,
            amends: _,
        } = self;
        let texts = agent.iter_mut().chain(conditions).chain(findings).chain(summary).chain(error).chain(despite);
        mask_all(texts);
        result.iter_mut().for_each(|value| mask_value("result", value));
        set.iter_mut().for_each(|(name, value)| mask_value(name, value));
    }

    /// Returns a successful outcome without further data.
    pub(crate) fn completed(step: StepId) -> Self {
        Self { step, status: Status::Completed, ..Self::default() }
    }
}

/// A reference to a part of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PartRef {
    pub(crate) step: StepId,
    pub(crate) part: String,
}

/// The arguments that start a run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StartSpec {
    pub(crate) workflow: String,
    pub(crate) feature: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) phases: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) issues: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) base_branch: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) plan: Option<String>,
    /// `NAME=VALUE`, for the inputs of a workflow file; the header of the run keeps their values.
    #[serde(skip)]
    pub(crate) inputs: Vec<String>,
}

impl StartSpec {
    /// Returns a specification without optional arguments.
    pub(crate) fn new(workflow: &str, feature: &str) -> Self {
        Self { workflow: workflow.to_owned(), feature: feature.to_owned(), ..Self::default() }
    }
}

/// An interruption that the state itself records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Interruption {
    pub(crate) kind: InterruptionKind,
    pub(crate) step: Option<StepId>,
    pub(crate) at: Option<Timestamp>,
    pub(crate) reason: String,
}

impl Interruption {
    /// The reason of a pause for which a person gave no other.
    pub(crate) const PAUSED: &'static str = "paused by the user";
}

words! {
    /// The kind of an interruption (docs/formats/ccw.md#interruptions-and-strategies has the vocabulary of the first five).
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub(crate) enum InterruptionKind: serde {
        /// The step was started but never finished.
        AgentInterruption = "agent_interruption",
        TaskFailure = "task_failure",
        DependencyBlock = "dependency_block",
        /// Summaries or the session itself are missing.
        ContextLost = "context_lost",
        /// A gate waits for a person.
        WaitingApproval = "waiting_approval",
        /// The run was paused.
        Paused = "paused",
        /// The run is between two steps.
        ReadyToExecute = "ready_to_execute",
        /// Nothing is left.
        WorkflowComplete = "workflow_complete",
    }
}

impl InterruptionKind {
    /// Returns what stopped a run, in words.
    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            Self::AgentInterruption => "an attempt was cut off",
            Self::TaskFailure => "a failure",
            Self::DependencyBlock => "a dependency",
            Self::ContextLost => "lost context",
            Self::WaitingApproval => "an approval is missing",
            Self::Paused => "a pause",
            Self::ReadyToExecute => "between two steps",
            Self::WorkflowComplete => "the end",
        }
    }

    /// Returns the kind of interruption that leaves a step with this status; `None` if the step was not running.
    pub(crate) const fn of(status: Status) -> Option<Self> {
        match status {
            Status::InProgress => Some(Self::AgentInterruption),
            Status::Failed => Some(Self::TaskFailure),
            Status::Pending
            | Status::Completed
            | Status::WaitingApproval
            | Status::Blocked
            | Status::Skipped
            | Status::Cancelled => None,
        }
    }
}

impl ChangeKind {
    /// Returns the name used in the history.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Begin { .. } => "begin",
            Self::Finish(outcome) if outcome.accepts => "accept",
            Self::Finish(_) => "finish",
            Self::Approve { .. } => "approve",
            Self::Skip { .. } => "skip",
            Self::Pause { .. } => "pause",
            Self::Abort { .. } => "abort",
            Self::Resume { .. } => "resume",
            Self::Complete { .. } => "complete",
            Self::Repair { .. } => "repair",
            Self::RollBack(_) => "rollback",
            Self::Start(_) => "start",
        }
    }

    /// Masks secrets in every text that is written to a state, because errors and summaries quote program output. Every field is named here,
    /// so that a new one cannot be forgotten; names, paths and numbers stay.
    pub(crate) fn without_secrets(mut self) -> Self {
        match &mut self {
            Self::Begin { step: _, part: _, agent, attempt: _, reopens: _ } => mask_all(agent),
            Self::Finish(outcome) => outcome.mask_secrets(),
            Self::Approve { step: _, by, note, phases: _, choice: _ } => mask_all(by.iter_mut().chain(note)),
            Self::Skip { step: _, part: _, by, reason } => mask_all(by.iter_mut().chain([reason])),
            Self::Pause { reason } => mask_all(reason),
            Self::Abort { by, reason } => mask_all(by.iter_mut().chain(reason)),
            Self::Resume { steps: _, interruption: _, strategy: _, settled: _ } | Self::Repair { branch: _ } => {}
            Self::Complete { note } => mask_all(note),
            Self::RollBack(back) => mask_all(&mut back.reason),
            Self::Start(spec) => {
                let StartSpec {
                    workflow: _,
                    feature: _,
                    description,
                    phases: _,
                    issues,
                    branch: _,
                    base_branch: _,
                    plan: _,
                    inputs: _,
                } = &mut **spec;
                mask_all(description.iter_mut().chain(issues));
            }
        }
        self
    }

    /// Returns the part that the change is about, if it is about a part of a step.
    pub(crate) fn part(&self) -> Option<&str> {
        match self {
            Self::Begin { part, .. } | Self::Skip { part, .. } => part.as_deref(),
            Self::Finish(outcome) => outcome.part.as_deref(),
            Self::Approve { .. }
            | Self::Pause { .. }
            | Self::Abort { .. }
            | Self::Resume { .. }
            | Self::Complete { .. }
            | Self::Repair { .. }
            | Self::RollBack(_)
            | Self::Start(_) => None,
        }
    }

    /// Returns the steps that lose their results when a step begins.
    pub(crate) fn reopens(&self) -> &[StepId] {
        if let Self::Begin { reopens, .. } = self { reopens } else { &[] }
    }

    /// Returns the step that the change is about, if any.
    pub(crate) fn step(&self) -> Option<&StepId> {
        match self {
            Self::Begin { step, .. } | Self::Approve { step, .. } | Self::Skip { step, .. } => Some(step),
            Self::Finish(outcome) => Some(&outcome.step),
            Self::Pause { .. }
            | Self::Abort { .. }
            | Self::Resume { .. }
            | Self::Complete { .. }
            | Self::Repair { .. }
            | Self::RollBack(_)
            | Self::Start(_) => None,
        }
    }
}
