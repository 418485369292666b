//! Piton: durable checkpoints and resume plans for multi-step agent work.
//!
//! The rooms of the crate, and which may import which, are in the code map of `ARCHITECTURE.md`; `tests/arch.rs` enforces it.
//!
//! `fuzz` is no room: the checks of `fuzz/checks`, let into builds for tests and fuzzers (feature `fuzzing`), because they use what no other
//! crate sees.

pub mod cli;
mod dialect;
mod document;
mod engine;
#[cfg(any(test, feature = "fuzzing"))]
#[path = "../fuzz/checks/mod.rs"]
pub mod fuzz;
mod hook;
mod model;
mod ops;
mod page;
mod published;
mod runner;
mod schema;
mod store;
mod workflow;
