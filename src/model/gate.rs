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
    /// The run goes back to a step.
    Return(StepId),
}
