//! The details of a step that its agent needs.

use serde_json::{Map, Value};

use super::Part;

/// The parts and requirements of a step. All texts are untrusted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Detail {
    pub(crate) parts: Vec<Part>,
    /// Output variables of its parts, by name.
    pub(crate) variables: Map<String, Value>,
    /// Paths to focus on, as written.
    pub(crate) focus: Vec<String>,
    /// Titles of the agents that were launched for it.
    pub(crate) agents: Vec<String>,
    /// Files to touch, as written.
    pub(crate) targets: Vec<String>,
    pub(crate) requirements: Vec<String>,
    /// Acceptance criteria.
    pub(crate) acceptance: Vec<String>,
}
