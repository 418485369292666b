//! Runs a workflow file, unattended. Running is resuming from nothing.
//!
//! `spec` is the workflow file, `variables` what texts in it stand for, `retry` when a step is tried again; all three are pure.

pub(crate) mod exec;
pub(crate) mod retry;
pub(crate) mod variables;

pub(crate) use crate::dialect::script::spec;
