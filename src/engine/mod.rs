//! Decides: pure functions over the model, in the order of the rules of the design. No I/O, no clock, no dialect names.
//!
//! `reconcile` weighs what the state says against the evidence, `plan` chooses what comes next and says why, `transition`
//! admits or refuses a change, `context` puts together what the next agent is handed.

mod age;
mod cause;
mod choose;
mod command;
mod context;
#[cfg(test)]
mod fixtures;
mod graph;
mod next;
mod overrides;
mod plan;
mod preconditions;
mod propagate;
mod question;
mod reconcile;
mod reconciled;
mod refusal;
pub(crate) mod rollback;
mod strategy;
mod transition;

pub(crate) use context::assemble;
pub(crate) use plan::Planned;
pub(crate) use plan::plan;
pub(crate) use reconcile::EffectiveStatus;
pub(crate) use reconcile::effective_statuses;
pub(crate) use refusal::Refusal;
pub(crate) use refusal::RefusalKind;
pub(crate) use transition::Admitted;
pub(crate) use transition::ChangeLimits;
pub(crate) use transition::admit;

pub(crate) use crate::model::quoted;

#[cfg(test)]
mod choose_tests;
#[cfg(test)]
mod overrides_tests;
#[cfg(test)]
mod plan_tests;
#[cfg(test)]
mod preconditions_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod reconcile_tests;
