//! What a person could change in files that Piton never writes.

use schemars::JsonSchema;
use serde::Serialize;

use super::RelPath;

/// Is what a dialect would change if it were allowed to.
#[derive(Debug, Default)]
pub(crate) struct Suggestions {
    pub(crate) files: Vec<Suggestion>,
    /// What is not suggested, and why.
    pub(crate) notes: Vec<String>,
}

/// Is one file with its changes made.
#[derive(Debug)]
pub(crate) struct Suggestion {
    pub(crate) file: RelPath,
    pub(crate) after: Vec<u8>,
    pub(crate) reasons: Vec<String>,
}

impl Suggestions {
    /// Says that there is nothing to change, and why.
    pub(crate) fn none(why: impl Into<String>) -> Self {
        Self { files: Vec::new(), notes: vec![why.into()] }
    }

    /// Says why there is nothing, where there is nothing.
    pub(crate) fn or(mut self, why: &str) -> Self {
        if self.files.is_empty() && self.notes.is_empty() {
            self.notes.push(why.to_owned());
        }
        self
    }
}

/// Is a set of suggested edits. Nothing of it was written.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Patch {
    /// A unified diff for `git apply` or `patch -p1` in the root of the run, byte for byte; empty when nothing is suggested.
    pub(crate) diff: String,
    pub(crate) files: Vec<PatchedFile>,
    /// What is not suggested, and why.
    pub(crate) notes: Vec<String>,
}

/// Says why a file would be changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PatchedFile {
    pub(crate) file: RelPath,
    pub(crate) reasons: Vec<String>,
    /// The part of the diff that is about it.
    pub(crate) diff: String,
}
