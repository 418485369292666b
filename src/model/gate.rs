//! The answers that a gate takes.

use super::StepId;

/// An answer that a person can give at a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GateOption {
    pub(crate) word: String,
    pub(crate) effect: GateEffect,
}

/// What an answer does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GateEffect {
    /// The gate is passed.
    Continue,
    /// The gate stays closed, and the run stops at it.
    Stop,
    /// The gate stays closed, and asks again.
    Wait,
    /// The run is aborted.
    Abort,
    /// The run goes back to a step.
    Return(StepId),
}

impl GateEffect {
    /// Returns what it does, as the label of an answer.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Continue => "go on".to_owned(),
            Self::Stop => "stop here".to_owned(),
            Self::Wait => "leave it open and look again".to_owned(),
            Self::Abort => "abort the run".to_owned(),
            Self::Return(step) => format!("go back to {step}"),
        }
    }
}
