//! Why a request to the runner failed. The command line turns it into an exit code.

use super::exec::Stop;
use crate::{
    engine::Refusal,
    model::{Finding, No},
    store::StoreError,
    workflow::inputs::InputError,
};

/// An error that stopped a run, other than a failed step.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}", .0.message)]
    Refused(Refusal),
    #[error("{}", .0.message)]
    Problem(Problem),
}

/// A problem with hints on how to solve it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: ProblemKind,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    pub(crate) findings: Vec<Finding>,
}

/// The kind of a problem, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// It cannot be done, or not now.
    No(No),
    Usage,
    NotFound,
    Unreadable,
    Newer,
    /// Another process is running the session.
    Conflict,
    /// A person has to decide.
    Person,
    /// The steps of `on_stop` failed.
    Failed,
    /// A signal stopped the runner before the first step.
    Stopped(Stop),
}

impl RunError {
    pub(crate) fn new<const N: usize>(kind: ProblemKind, message: impl Into<String>, hints: [String; N]) -> Self {
        Self::problem(kind, message.into(), hints.to_vec())
    }

    pub(crate) fn problem(kind: ProblemKind, message: String, hints: Vec<String>) -> Self {
        Self::Problem(Problem { kind, message, hints, findings: Vec::new() })
    }

    pub(crate) fn with(self, findings: Vec<Finding>) -> Self {
        match self {
            Self::Problem(problem) => Self::Problem(Problem { findings, ..problem }),
            Self::Store(_) | Self::Refused(_) => self,
        }
    }
}

impl From<InputError> for RunError {
    fn from(error: InputError) -> Self {
        Self::new(ProblemKind::Usage, error.message, [error.hint])
    }
}

impl From<Refusal> for RunError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
