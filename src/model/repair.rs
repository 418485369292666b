//! An unreadable state that is rebuilt from documents.

use schemars::JsonSchema;
use serde::Serialize;

use super::RelPath;

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
