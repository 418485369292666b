//! Where a session stands: what its records add up to, and what `checkpoint.json` keeps of them. Pure.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::Serialize;
use serde_json::Value;

use super::record::Captured;
use super::record::Child;
use super::record::Outline;
use super::record::Record;
use super::record::RetryState;
use crate::model::Status;
use crate::model::StepId;
use crate::model::Timestamp;

/// Is the sum of the records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// Of the last record.
    pub(crate) seq: u64,
    pub(crate) run: RunState,
    pub(crate) workflow: Outline,
    pub(crate) steps: BTreeMap<String, StepState>,
    pub(crate) variables: BTreeMap<String, Captured>,
    pub(crate) last: Last,
}

/// Says what is true of the run as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunState {
    pub(crate) status: Phase,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) changed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    #[serde(default)]
    pub(crate) resumes: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<String>,
}

/// Says how the run itself stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Phase {
    #[default]
    Active,
    Paused,
    Completed,
    Aborted,
}

/// Is what the records say of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepState {
    pub(crate) status: Status,
    #[serde(default)]
    pub(crate) attempts: u32,
    #[serde(default)]
    pub(crate) failures: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) finished_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) digest: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retryable: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) exit_code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) child: Option<Child>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) retry: Option<RetryState>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) items: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) parts: BTreeMap<String, Status>,
}

/// Is where the run stands in the four states of Spec 186.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Last {
    /// Nothing was done yet.
    #[default]
    Created,
    BeforeStep {
        step: StepId,
    },
    Completed {
        step: StepId,
    },
    Failed {
        step: StepId,
        error: String,
        retryable: bool,
    },
    Interrupted {
        step: Option<StepId>,
        in_progress: bool,
    },
}

impl State {
    /// Takes one more record into account.
    pub(crate) fn apply(&mut self, record: &Record) {
        self.seq = record.seq;
    }

    /// Returns what `checkpoint.json` says.
    pub(crate) fn snapshot(&self, session: &str) -> Vec<u8> {
        let _ = session;
        serde_json::to_vec(self).expect("a state is JSON")
    }
}

/// Names the parts of a `foreach`: by their items, so that a part keeps its name when the list around it changes.
pub(crate) fn part_names(items: &[Value]) -> Vec<String> {
    items.iter().map(Value::to_string).collect()
}
