//! The context for the next agent, as published in `schemas/context.schema.json`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Action, Decision, RelPath, RunId, StepId, StepReport};

/// The hand-over to the agent of one step. Text from state files is untrusted and marked as such. What is empty is left out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Context {
    /// A notice for the reader: the texts below are data, not instructions.
    pub(crate) untrusted: String,
    pub(crate) run: RunId,
    pub(crate) step: StepId,
    pub(crate) title: String,
    pub(crate) action: Action,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// From 1.
    pub(crate) attempt: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) goal: Option<String>,
    /// The absolute path that all paths here are relative to; only where the work is done elsewhere, in `worktree`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) root: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worktree: Option<String>,
    /// The progress of the run, in one line.
    pub(crate) position: String,
    /// The one thing to do.
    pub(crate) next_action: String,
    /// The instructions of the step: Piton's own, or those of a workflow file that a person started.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) task: String,
    /// What the state files of another system say about doing the step. Untrusted text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) instructions: String,
    /// How to report the result, with the words for it; words in capitals stand for what is filled in. Empty if nothing is reported.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) report: String,
    /// Findings of the review or failure to address, one per line. Untrusted text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings_to_address: Vec<String>,
    /// Files to read first, in this order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) required_reading: Vec<ReadingItem>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) files_to_touch: Vec<String>,
    /// Files that were changed after the last attempt began, which was lost or failed, and that are not committed: they may be half made.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) half_made: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) requirements: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) acceptance: Vec<String>,
    /// What was reported by the steps that this one builds on, nearest first: direct predecessors in full, older ones in a line.
    /// Untrusted texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) reports: Vec<StepReport>,
    /// What people decided about these steps and the run, oldest first. Untrusted texts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) decisions: Vec<Decision>,
    /// Finished steps that this one builds on directly and that reported nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) done: Vec<ReadingItem>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) open_questions: Vec<String>,
    /// Output variables of finished parts, by name; an object.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(crate) variables: Value,
    /// The fields that the agents of this system require, in its own vocabulary. Without `--native`, only those that nothing above says.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub(crate) agent_context: Value,
    /// The prompt text that this system uses; only with `--native`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) prompt: String,
    /// Sections that did not fit into the budget, in the order in which they were dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
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
    /// Keys of `agent_context` whose content the context says elsewhere.
    pub(crate) told: Vec<&'static str>,
    pub(crate) prompt: String,
    /// The instructions of the step: Piton's own, or those of a workflow file that a person started.
    pub(crate) task: String,
    /// What only the prompt says about doing the step. Untrusted text.
    pub(crate) instructions: String,
    /// Documents to read first, before the summaries: the task, the plan.
    pub(crate) reading: Vec<ReadingItem>,
    /// Questions and remarks for the reader. Untrusted text.
    pub(crate) notes: Vec<String>,
}

impl Brief {
    /// Leaves out what a context says elsewhere, and what is empty.
    pub(crate) fn lean(mut self) -> Self {
        if let Value::Object(fields) = &mut self.agent_context {
            fields.retain(|name, _| !self.told.contains(&name.as_str()));
        }
        Self { agent_context: without_empty(self.agent_context), prompt: String::new(), ..self }
    }
}

/// Removes empty values at every level; what has nothing else in it becomes null.
fn without_empty(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| (name, without_empty(value)));
            let fields: Map<String, Value> = fields.filter(|(_, value)| !value.is_null()).collect();
            if fields.is_empty() { Value::Null } else { Value::Object(fields) }
        }
        Value::Array(items) if items.is_empty() => Value::Null,
        Value::Array(items) => Value::Array(items.into_iter().map(without_empty).collect()),
        Value::String(text) if text.is_empty() => Value::Null,
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

impl RelPath {
    /// Returns a reading list entry for this path.
    pub(crate) fn reading_item(&self, what: impl Into<String>) -> ReadingItem {
        ReadingItem { what: what.into(), path: Some(self.as_str().to_owned()) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Brief;

    #[test]
    fn a_lean_brief_says_nothing_twice_and_nothing_empty() {
        let fields = json!({
            "step": "1", "worktree": "/w", "story": null, "notes": [], "name": "",
            "parts": [{"step": "a", "output": null, "commands": []}], "inner": {"empty": {}},
        });
        let brief = Brief { agent_context: fields, told: vec!["step"], prompt: "all".to_owned(), ..Brief::default() };
        let lean = brief.lean();
        assert_eq!(lean.agent_context, json!({"worktree": "/w", "parts": [{"step": "a"}]}));
        assert_eq!(lean.prompt, "");
        let told = Brief { agent_context: json!({"step": "1"}), told: vec!["step"], ..Brief::default() };
        assert!(told.lean().agent_context.is_null());
    }
}
