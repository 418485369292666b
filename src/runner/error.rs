//! Why a request to the runner failed, with the exit code of that.

use super::exec::Stop;
use crate::{
    engine::Refusal,
    model::{Finding, Fix},
    ops::Exit,
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
    pub(crate) kind: Exit,
    pub(crate) message: String,
    pub(crate) hints: Vec<Fix>,
    pub(crate) findings: Vec<Finding>,
}

impl From<Stop> for Exit {
    /// Returns the exit code of a run that a signal stopped.
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::HangUp => Self::HungUp,
            Stop::Interrupt => Self::Interrupted,
            Stop::Terminate => Self::Terminated,
        }
    }
}

impl RunError {
    pub(crate) fn new<const N: usize>(kind: Exit, message: impl Into<String>, hints: [Fix; N]) -> Self {
        Self::problem(kind, message.into(), hints.into())
    }

    pub(crate) fn problem(kind: Exit, message: String, hints: Vec<Fix>) -> Self {
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
        Self::new(Exit::Usage, error.message, [error.hint.into()])
    }
}

impl From<Refusal> for RunError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
