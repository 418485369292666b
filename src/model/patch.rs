//! Suggested edits to files that Piton never writes.

use schemars::JsonSchema;
use serde::Serialize;

use super::RelPath;

/// Edits that a dialect suggests but may not make.
#[derive(Debug, Default)]
pub(crate) struct Suggestions {
    pub(crate) files: Vec<Suggestion>,
    /// What could not be suggested, and why.
    pub(crate) notes: Vec<String>,
}

/// A file with its suggested content.
#[derive(Debug)]
pub(crate) struct Suggestion {
    pub(crate) file: RelPath,
    pub(crate) after: Vec<u8>,
    pub(crate) reasons: Vec<String>,
}

impl Suggestions {
    /// Returns an empty suggestion with the reason.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Self { files: Vec::new(), notes: vec![why.into()] }
    }

    /// Adds the reason if nothing is suggested or noted.
    pub(crate) fn or(mut self, why: &str) -> Self {
        if self.files.is_empty() && self.notes.is_empty() {
            self.notes.push(why.to_owned());
        }
        self
    }
}

/// A set of suggested edits, none of which was written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Patch {
    /// A unified diff for `git apply` or `patch -p1` in the root of the run; empty if nothing is suggested.
    pub(crate) diff: String,
    pub(crate) files: Vec<PatchedFile>,
    /// What could not be suggested, and why.
    pub(crate) notes: Vec<String>,
}

/// The suggested edit of one file and the reasons.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PatchedFile {
    pub(crate) file: RelPath,
    pub(crate) reasons: Vec<String>,
    /// The part of the diff for this file.
    pub(crate) diff: String,
}
