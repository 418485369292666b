//! What calls of `claude -p` did and cost, as the client reports it.

use std::{collections::BTreeMap, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{human_duration, is_zero, plural};

/// The work of one or more calls of `claude -p`. A call that was cut off has no numbers of its end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ClaudeWork {
    /// How often the client was called.
    pub(crate) calls: usize,
    /// Calls of tools, by the name of the tool.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) tools: BTreeMap<String, usize>,
    /// Calls of tools that were denied, in the order in which they were first denied.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) denied: Vec<DeniedTool>,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) turns: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) input_tokens: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) output_tokens: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) cache_read_tokens: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) cache_creation_tokens: usize,
    /// As the client reports it.
    pub(crate) cost_usd: f64,
    /// How long the calls took together.
    pub(crate) milliseconds: u64,
    /// The client's session of the last call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) session: Option<String>,
}

/// A tool whose call the client denied.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct DeniedTool {
    pub(crate) tool: String,
    /// The command, the file or the address it was called with.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) subject: String,
    /// The permission rule that allows such a call.
    pub(crate) rule: String,
    pub(crate) times: usize,
}

impl ClaudeWork {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls == 0
    }

    /// Tells whether the client reported anything that it did.
    pub(crate) fn is_measured(&self) -> bool {
        self.turns > 0 || self.tokens() > 0 || self.cost_usd > 0.0 || self.tool_calls() > 0 || !self.denied.is_empty()
    }

    pub(crate) fn tool_calls(&self) -> usize {
        self.tools.values().sum()
    }

    /// Returns how many calls of tools were denied.
    pub(crate) fn denials(&self) -> usize {
        self.denied.iter().map(|denied| denied.times).sum()
    }

    /// Returns all tokens, those of the cache included.
    pub(crate) const fn tokens(&self) -> usize {
        self.input_tokens
            .saturating_add(self.output_tokens)
            .saturating_add(self.cache_read_tokens)
            .saturating_add(self.cache_creation_tokens)
    }

    /// Adds the work of later calls.
    pub(crate) fn add(&mut self, later: &Self) {
        self.calls = self.calls.saturating_add(later.calls);
        for (tool, count) in &later.tools {
            let known = self.tools.entry(tool.clone()).or_default();
            *known = known.saturating_add(*count);
        }
        for denied in &later.denied {
            self.deny(denied.clone());
        }
        self.turns = self.turns.saturating_add(later.turns);
        self.input_tokens = self.input_tokens.saturating_add(later.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(later.output_tokens);
        self.cache_read_tokens = self.cache_read_tokens.saturating_add(later.cache_read_tokens);
        self.cache_creation_tokens = self.cache_creation_tokens.saturating_add(later.cache_creation_tokens);
        self.cost_usd += later.cost_usd;
        self.milliseconds = self.milliseconds.saturating_add(later.milliseconds);
        if later.session.is_some() {
            self.session.clone_from(&later.session);
        }
    }

    /// Adds a denied call; one like an earlier one is counted.
    pub(crate) fn deny(&mut self, denied: DeniedTool) {
        let is_same = |known: &&mut DeniedTool| known.tool == denied.tool && known.subject == denied.subject;
        match self.denied.iter_mut().find(is_same) {
            Some(known) => known.times = known.times.saturating_add(denied.times),
            None => self.denied.push(denied),
        }
    }

    /// Returns the work in one line: duration, tool calls, turns, tokens, cost.
    pub(crate) fn in_words(&self) -> String {
        let mut words = vec![human_duration(Duration::from_millis(self.milliseconds))];
        words.push(plural(self.tool_calls(), "tool call"));
        let numbers = [(self.turns, "turn"), (self.tokens(), "token"), (self.denials(), "denied call")];
        words.extend(numbers.iter().filter(|(count, _)| *count > 0).map(|(count, what)| plural(*count, what)));
        if self.cost_usd > 0.0 {
            words.push(self.cost_in_words());
        }
        words.join(", ")
    }

    /// Returns the cost, with cents, and with more digits where it is small.
    pub(crate) fn cost_in_words(&self) -> String {
        if self.cost_usd < 0.1 { format!("${:.4}", self.cost_usd) } else { format!("${:.2}", self.cost_usd) }
    }

    /// Returns the denied calls in one line.
    pub(crate) fn denials_in_words(&self) -> String {
        let each = self.denied.iter().map(|denied| {
            let times = if denied.times > 1 { format!(" ({} times)", denied.times) } else { String::new() };
            if denied.subject.is_empty() {
                format!("{}{times}", denied.tool)
            } else {
                format!("{} {}{times}", denied.tool, denied.subject)
            }
        });
        each.collect::<Vec<_>>().join("; ")
    }

    /// Returns the permission rules that allow what was denied.
    pub(crate) fn missing_rules(&self) -> Vec<&str> {
        let mut rules: Vec<&str> = Vec::new();
        for denied in &self.denied {
            if !rules.contains(&denied.rule.as_str()) {
                rules.push(&denied.rule);
            }
        }
        rules
    }
}
