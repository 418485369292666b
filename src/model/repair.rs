//! Rebuilding an unreadable state from other traces of its steps.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RelPath, StepId, Timestamp};

/// Traces of the steps of a run outside its state files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Traces {
    /// Steps whose completion Piton recorded, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) finished: Vec<FinishedTrace>,
    /// Commits of the branch that are not on the main branch, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) commits: Vec<CommitTrace>,
    /// The new name of the branch. Then nothing else of the state is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) branch: Option<String>,
}

/// A record that a step finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishedTrace {
    pub(crate) step: StepId,
    pub(crate) at: Timestamp,
}

/// A commit and the first line of its message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CommitTrace {
    pub(crate) sha: String,
    pub(crate) subject: String,
    pub(crate) at: Option<Timestamp>,
}

/// A proposed state, rebuilt from evidence. It is written only after a person agrees.
#[derive(Debug, Default)]
pub(crate) struct Reconstruction {
    pub(crate) files: Vec<(RelPath, Vec<u8>)>,
    pub(crate) values: Vec<RebuiltValue>,
    /// What is unknown, and the value used instead.
    pub(crate) unknown: Vec<String>,
}

/// A value of a rebuilt state and its sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct RebuiltValue {
    /// The step or the field of the state.
    pub(crate) of: String,
    pub(crate) value: String,
    /// The sources. The lowest status among them was used.
    pub(crate) evidence: Vec<String>,
}

impl Reconstruction {
    /// Adds a value and its sources.
    pub(crate) fn say(&mut self, of: impl Into<String>, value: impl Into<String>, evidence: Vec<String>) {
        self.values.push(RebuiltValue { of: of.into(), value: value.into(), evidence });
    }

    pub(crate) fn not_known(&mut self, what: impl Into<String>) {
        self.unknown.push(what.into());
    }
}
