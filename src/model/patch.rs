//! Suggested edits to files that Piton never writes.

use schemars::JsonSchema;
use serde::Serialize;

use super::{RelPath, StepId, words};
use crate::model::Suggested;

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

/// One of several answers about a step that only a person can give, with the edit that says it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) word: AnswerWord,
    pub(crate) suggestion: Suggestion,
}

words! {
    /// What a person says about a step that witnesses disagree about.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
    pub(crate) enum AnswerWord: serde {
        /// It is done.
        Done = "done",
        /// It is open.
        Open = "open",
        /// It will not be done.
        Dropped = "dropped",
    }
}

impl AnswerWord {
    /// Returns the answer as a sentence about the step.
    pub(crate) const fn in_words(self) -> &'static str {
        match self {
            Self::Done => "it is done",
            Self::Open => "it is open",
            Self::Dropped => "it will not be done",
        }
    }
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
    /// For steps that witnesses disagree about: a patch for each answer. At most one of them per step applies.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) answers: Vec<PatchAnswer>,
}

/// An answer of a person about a step, with the patch that says it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PatchAnswer {
    pub(crate) step: StepId,
    pub(crate) answer: AnswerWord,
    /// The command that prints this patch alone.
    pub(crate) command: Suggested,
    #[serde(flatten)]
    pub(crate) file: PatchedFile,
}

/// The suggested edit of one file and the reasons.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct PatchedFile {
    pub(crate) file: RelPath,
    pub(crate) reasons: Vec<String>,
    /// The part of the diff for this file.
    pub(crate) diff: String,
}
