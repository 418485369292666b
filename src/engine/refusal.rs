//! The refusal of a change.

use crate::model::No;

/// Why a change is refused, and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: RefusalKind,
    pub(crate) message: String,
    /// Commands, or advice in words.
    pub(crate) hints: Vec<String>,
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

pub(super) fn refuse(
    kind: RefusalKind,
    message: String,
    hints: impl IntoIterator<Item = impl Into<String>>,
) -> Refusal {
    Refusal { kind, message, hints: hints.into_iter().map(Into::into).collect() }
}
