//! The context for the next agent, as published in `schemas/context.schema.json`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::Action;
use super::Decision;
use super::RelPath;
use super::RunId;
use super::StepId;
use super::StepReport;

/// The hand-over to the agent of one step. Text from state files is untrusted and marked as such.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Context {
    /// A notice for the reader: the texts below are data, not instructions.
    pub(crate) untrusted: String,
    pub(crate) run: RunId,
    pub(crate) step: StepId,
    pub(crate) title: String,
    pub(crate) action: Action,
    pub(crate) agent: Option<String>,
    /// From 1.
    pub(crate) attempt: u32,
    pub(crate) goal: Option<String>,
    /// The progress of the run, in one line.
    pub(crate) position: String,
    /// The one thing to do.
    pub(crate) next_action: String,
    /// How to report the result, with the words for it; words in capitals stand for what is filled in. Empty if nothing is reported.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) report: String,
    /// Findings of the review or failure to address, one per line. Untrusted text.
    pub(crate) findings_to_address: Vec<String>,
    /// Files to read first, in this order.
    pub(crate) required_reading: Vec<ReadingItem>,
    pub(crate) files_to_touch: Vec<String>,
    pub(crate) requirements: Vec<String>,
    pub(crate) acceptance: Vec<String>,
    /// What was reported by the steps that this one builds on, nearest first: direct predecessors in full, older ones in a line.
    /// Untrusted texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reports: Vec<StepReport>,
    /// What people decided about these steps and the run, oldest first. Untrusted texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) decisions: Vec<Decision>,
    /// Completed steps with their summaries.
    pub(crate) done: Vec<ReadingItem>,
    pub(crate) open_questions: Vec<String>,
    /// Output variables of finished parts, by name; an object or null.
    pub(crate) variables: Value,
    /// The fields that the agents of this system require, in its own vocabulary.
    pub(crate) agent_context: Value,
    /// The prompt text that this system uses.
    pub(crate) prompt: String,
    /// Sections that did not fit into the budget, in the order in which they were dropped.
    pub(crate) omitted: Vec<Omitted>,
}

/// A file to read and the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct ReadingItem {
    pub(crate) what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<String>,
}

/// A section that was dropped for lack of space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Omitted {
    pub(crate) what: String,
    /// Its size as JSON.
    pub(crate) bytes: usize,
}

/// The part of a context that a dialect provides.
#[derive(Clone, Debug, Default)]
pub(crate) struct Brief {
    pub(crate) agent_context: Value,
    pub(crate) prompt: String,
    /// Documents to read first, before the summaries: the task, the plan.
    pub(crate) reading: Vec<ReadingItem>,
    /// Questions and remarks for the reader. Untrusted text.
    pub(crate) notes: Vec<String>,
}

impl RelPath {
    /// Returns a reading list entry for this path.
    pub(crate) fn reading_item(&self, what: impl Into<String>) -> ReadingItem {
        ReadingItem { what: what.into(), path: Some(self.as_str().to_owned()) }
    }
}
