//! Piton: durable checkpoints and resume plans for multi-step agent work.
//!
//! The rooms of the crate, from the inside out; `ARCHITECTURE.md` has the whole map and `tests/arch.rs` enforces the direction:
//!
//! - `model`: the shared vocabulary as types. No I/O, imports no other room.
//! - `engine`: decides. Pure functions over the model: reconcile, choose, plan, admit a change, assemble a context.
//! - `document`: JSON and YAML that belong to others: a tree with positions, lenient reads, edits that touch only what they name.
//! - `workflow`: the language of workflow files: parse, check, variables, conditions. Pure.
//! - `dialect`: translates between one system's files and the model. Bytes in, edits out; never decides.
//! - `schema`: the embedded JSON Schemas; violations as findings.
//! - `store`: the only access to files, locks, clock, environment, git and processes. Knows bytes and paths, not formats.
//! - `ops`: use cases, one file per verb. Combines the rooms above, returns reports, never prints.
//! - `runner`: runs a workflow file, step by step.
//! - `published`: the schemas that `piton schema` prints, from the types of all reports.
//! - `hook`: events of the client in, a log entry and a short answer out. Never fails.
//! - `page`: a run as an HTML page, as Markdown, and as lines of a terminal. Pure.
//! - `cli`: arguments in, one document and an exit code out. The only room that prints.
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
