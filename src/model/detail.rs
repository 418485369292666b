//! What the agent that does a step has to know of it.

use serde_json::Map;
use serde_json::Value;

use super::Part;

/// What a step is made of and asks for; untrusted texts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Detail {
    pub(crate) parts: Vec<Part>,
    /// Output variables that its parts left, by name.
    pub(crate) variables: Map<String, Value>,
    pub(crate) focus: Vec<String>,
    pub(crate) targets: Vec<String>,
    pub(crate) requirements: Vec<String>,
    pub(crate) acceptance: Vec<String>,
}
