//! The refusal of a change.

use crate::model::{Fix, No};

/// Why a change is refused, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: RefusalKind,
    pub(crate) message: String,
    /// Commands, or advice in words.
    pub(crate) hints: Vec<Fix>,
}

/// The kind of a refusal, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// The run has no such step or part.
    NotFound,
    /// It cannot be done, or not now.
    No(No),
    /// A person has to decide.
    Person,
    /// Another driver is at it.
    Conflict,
    /// The request contradicts itself.
    Usage,
    /// The state was written by a newer version.
    Newer,
    /// Something that it builds on cannot be read.
    Unread,
}

pub(super) fn refuse(kind: RefusalKind, message: String, hints: impl IntoIterator<Item = impl Into<Fix>>) -> Refusal {
    Refusal { kind, message, hints: hints.into_iter().map(Into::into).collect() }
}

#[cfg(test)]
impl Refusal {
    /// Returns the hints as they are printed.
    pub(super) fn texts(&self) -> Vec<String> {
        self.hints.iter().map(ToString::to_string).collect()
    }
}
