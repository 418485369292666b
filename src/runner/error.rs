//! Why the runner did not do, or go on with, what was asked. The command line turns it into an exit code.

use super::exec::Stop;
use crate::engine::Refusal;
use crate::model::Finding;
use crate::store::StoreError;

/// Is why a run stopped before its end, other than by a step that failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{}", .0.message)]
    Refused(Refusal),
    #[error("{}", .0.message)]
    Problem(Problem),
}

/// Is a problem with what to do about it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) kind: ProblemKind,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
    pub(crate) findings: Vec<Finding>,
}

/// Says what sort of problem it is, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProblemKind {
    /// The answer is no: there is nothing to do, or something else comes first.
    No,
    Usage,
    NotFound,
    Unreadable,
    Newer,
    /// Somebody else is at work.
    Conflict,
    /// A person has to decide.
    Person,
    /// The runner was told to stop before it began with a step.
    Stopped(Stop),
}

impl RunError {
    pub(crate) fn new<const N: usize>(kind: ProblemKind, message: impl Into<String>, hints: [String; N]) -> Self {
        Self::Problem(Problem { kind, message: message.into(), hints: hints.to_vec(), findings: Vec::new() })
    }

    pub(crate) fn with(self, findings: Vec<Finding>) -> Self {
        match self {
            Self::Problem(problem) => Self::Problem(Problem { findings, ..problem }),
            Self::Store(_) | Self::Refused(_) => self,
        }
    }
}

impl From<Refusal> for RunError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
