//! A state that nobody can read, rebuilt from what speaks for its steps elsewhere.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::Serialize;

use super::RelPath;
use super::StepId;
use super::Timestamp;

/// Is what speaks for the steps of a run outside of its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Traces {
    /// Steps whose completion Piton recorded, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) finished: Vec<FinishedTrace>,
    /// Commits of the branch that are not on the main one, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) commits: Vec<CommitTrace>,
}

/// Says that the end of a step was recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishedTrace {
    pub(crate) step: StepId,
    pub(crate) at: Timestamp,
}

/// Is one commit and the first line of its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitTrace {
    pub(crate) sha: String,
    pub(crate) subject: String,
    pub(crate) at: Option<Timestamp>,
}

/// Is a state as far as evidence tells it. A proposal: nothing of it is written before a person agreed.
#[derive(Debug, Default)]
pub(crate) struct Reconstruction {
    pub(crate) files: Vec<(RelPath, Vec<u8>)>,
    pub(crate) values: Vec<RebuiltValue>,
    /// What nothing tells, and what is written instead.
    pub(crate) unknown: Vec<String>,
}

/// Says where one value of a rebuilt state comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RebuiltValue {
    /// What the value is of: a step, or a field of the state.
    pub(crate) of: String,
    pub(crate) value: String,
    /// Who says so, the lowest of them decided.
    pub(crate) evidence: Vec<String>,
}

impl Reconstruction {
    /// Notes a value and who says so.
    pub(crate) fn say(&mut self, of: impl Into<String>, value: impl Into<String>, evidence: Vec<String>) {
        self.values.push(RebuiltValue { of: of.into(), value: value.into(), evidence });
    }

    pub(crate) fn not_known(&mut self, what: impl Into<String>) {
        self.unknown.push(what.into());
    }
}
