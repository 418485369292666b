//! A step as people see it: what the evidence makes of it, what shows that, and how it was attempted. Published in
//! `schemas/show.schema.json`.

use schemars::JsonSchema;
use serde::Serialize;

use super::{RelPath, Status, StepId, Timestamp, is_zero, words};

words! {
    /// What the evidence makes of a step.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    pub(crate) enum StepMark: serde {
        /// Done, and something besides its status shows it: outputs, a commit, another file of the state, a person's decision.
        Proved = "proved",
        /// Done according to its status; nothing else shows it.
        Claimed = "claimed",
        /// A driver that lives has it in progress.
        Running = "running",
        /// The state contradicts itself or the evidence, or conditions are open: check it before anything is run.
        Verify = "verify",
        /// Begun, and cut off before its end was recorded.
        Interrupted = "interrupted",
        Failed = "failed",
        /// It was done, but its result is gone or changed, or a person wants it done again.
        Invalid = "invalid",
        /// Whether it took effect, or what its status means, cannot be known from the files.
        Unknown = "unknown",
        /// A person has to approve it.
        Gate = "gate",
        /// The state itself calls it blocked.
        Blocked = "blocked",
        Open = "open",
        Skipped = "skipped",
    }
}

impl StepMark {
    /// All marks, in the order of a legend.
    pub(crate) const ALL: [Self; 12] = [
        Self::Proved,
        Self::Claimed,
        Self::Running,
        Self::Interrupted,
        Self::Failed,
        Self::Invalid,
        Self::Verify,
        Self::Unknown,
        Self::Gate,
        Self::Blocked,
        Self::Open,
        Self::Skipped,
    ];

    /// Returns its meaning, for a legend.
    pub(crate) const fn meaning(self) -> &'static str {
        match self {
            Self::Proved => "done, and the evidence shows it",
            Self::Claimed => "recorded as done; nothing else shows it",
            Self::Running => "in progress now",
            Self::Verify => "state and evidence disagree: check it first",
            Self::Interrupted => "begun, then cut off",
            Self::Failed => "failed, or a review said no",
            Self::Invalid => "was done; its result no longer counts",
            Self::Unknown => "what became of it cannot be known from the files",
            Self::Gate => "a person has to approve it",
            Self::Blocked => "the state calls it blocked",
            Self::Open => "not started",
            Self::Skipped => "left out",
        }
    }

    /// Tells whether nothing is left to do for the step.
    pub(crate) const fn is_over(self) -> bool {
        match self {
            Self::Proved | Self::Claimed | Self::Skipped => true,
            Self::Running
            | Self::Verify
            | Self::Interrupted
            | Self::Failed
            | Self::Invalid
            | Self::Unknown
            | Self::Gate
            | Self::Blocked
            | Self::Open => false,
        }
    }
}

/// A step after comparison with the evidence.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ShownStep {
    pub(crate) id: StepId,
    pub(crate) title: String,
    /// The phase or wave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) group: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    pub(crate) mark: StepMark,
    /// The status in the state.
    pub(crate) recorded: Status,
    /// Whether it is done although it never passed: its file tolerates the failure.
    #[serde(rename = "tolerated", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_tolerated: bool,
    /// Why it has its mark, and for a step that is next, why it is.
    pub(crate) reason: String,
    /// The number of the rule behind the reason, as in docs/planning.md.
    pub(crate) rule: String,
    /// Whether the plan begins, decides or checks it now.
    #[serde(rename = "next", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_next: bool,
    /// Whether work that was done or begun is done again when the run continues.
    #[serde(rename = "again", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_again: bool,
    /// Whether it only stands for its children.
    #[serde(rename = "container", skip_serializing_if = "std::ops::Not::not")]
    pub(crate) is_container: bool,
    /// The steps that it builds on; for a container, its children.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) depends_on: Vec<StepId>,
    /// What besides its status says whether it is done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) witnesses: Vec<ShownWitness>,
    /// Oldest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) attempts: Vec<ShownAttempt>,
    /// Seconds spent on attempts whose beginning and end are known.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) seconds: i64,
    /// Tokens that its attempts cost, where its system counts them.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) tokens: u64,
}

/// Something besides the status that says whether a step is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ShownWitness {
    /// `src/login.rs`, `commit 3f2a91c`, `TODO_LIST.md`.
    pub(crate) source: String,
    /// What it says, in a few words.
    pub(crate) says: String,
    /// Whether it says that the step is done.
    pub(crate) done: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file: Option<RelPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<u32>,
}

/// One attempt at a step, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ShownAttempt {
    /// From 1.
    pub(crate) number: u32,
    /// Left out if none was named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// The client's session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) began: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ended: Option<Timestamp>,
    pub(crate) end: AttemptEnd,
    /// What was reported: a verdict, an error, or a summary, in a line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<String>,
}

words! {
    /// How an attempt ended.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
    pub(crate) enum AttemptEnd: serde {
        Completed = "completed",
        Failed = "failed",
        /// Its end was never recorded.
        Interrupted = "interrupted",
        Running = "running",
    }
}

impl ShownAttempt {
    /// Returns how long it took, if that is known.
    pub(crate) fn seconds(&self) -> Option<i64> {
        Some(self.ended?.seconds_since(self.began?).max(0))
    }
}
