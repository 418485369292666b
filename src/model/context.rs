//! What the next agent is handed, as published in `schemas/context.schema.json`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Action;
use super::RelPath;
use super::RunId;
use super::StepId;

/// Is the hand-over to the agent of one step. What comes from state files is a stranger's text and marked so.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Context {
    /// What the reader has to know about the texts in all fields below.
    pub(crate) untrusted: String,
    pub(crate) run: RunId,
    pub(crate) step: StepId,
    pub(crate) title: String,
    pub(crate) action: Action,
    pub(crate) agent: Option<String>,
    pub(crate) attempt: u32,
    pub(crate) goal: Option<String>,
    /// Where the run stands, in one line.
    pub(crate) position: String,
    /// The one thing to do.
    pub(crate) next_action: String,
    /// Findings of the review or failure that have to be addressed. Untrusted text.
    pub(crate) findings_to_address: Vec<String>,
    pub(crate) required_reading: Vec<ReadingItem>,
    pub(crate) files_to_touch: Vec<String>,
    pub(crate) requirements: Vec<String>,
    pub(crate) acceptance: Vec<String>,
    pub(crate) done: Vec<ReadingItem>,
    pub(crate) open_questions: Vec<String>,
    /// Variables that finished parts left for later ones.
    pub(crate) variables: Value,
    /// The fields that this system's agents require, in its own words.
    pub(crate) agent_context: Value,
    /// The prompt text of this system.
    pub(crate) prompt: String,
    /// What did not fit into the budget, in the order in which it was left out.
    pub(crate) omitted: Vec<Omitted>,
}

/// Is a file to read, with why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ReadingItem {
    pub(crate) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

/// Is something left out for want of room.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Omitted {
    pub(crate) what: String,
    pub(crate) bytes: usize,
}

/// Is a context in the words of one system.
#[derive(Clone, Debug, Default)]
pub(crate) struct Brief {
    pub(crate) agent_context: Value,
    pub(crate) prompt: String,
    /// Documents to read first, before the summaries: the task, the plan.
    pub(crate) reading: Vec<ReadingItem>,
    /// Questions and remarks for the reader, in a stranger's words.
    pub(crate) notes: Vec<String>,
}

impl RelPath {
    /// Returns this path as something to read, and why.
    pub(crate) fn reading_item(&self, what: impl Into<String>) -> ReadingItem {
        ReadingItem { what: what.into(), path: Some(self.as_str().to_owned()) }
    }
}
