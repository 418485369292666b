//! Runs a workflow file, unattended. Running is resuming from nothing.
//!
//! `spec` is the workflow file, `variables` what texts in it stand for, `retry` when a step is tried again; all three are pure.
//! `open` begins a session or takes one up again, `resume` says what it goes on with, `drive` does its steps in turn, `executor` does one of them, `probe` finds out whether one took effect, `ledger` is what is
//! written down, `finish` what becomes of the worktree. What is said meanwhile goes to a [`Console`].

mod claude;
mod console;
mod context;
mod drive;
mod effects;
mod error;
mod exec;
mod files;
mod finish;
mod foreach;
mod ledger;
mod open;
mod orphan;
mod output_watcher;
mod probe;
mod report;
mod resume;
mod retry;
mod scoped_variables;
mod secrets;
mod step_executor;
mod variables;

pub(crate) use console::Console;
pub(crate) use console::Event;
pub(crate) use drive::RunEnd;
pub(crate) use drive::RunResult;
pub(crate) use error::ProblemKind;
pub(crate) use error::RunError;
pub(crate) use exec::Signals;
pub(crate) use exec::Stop;
pub(crate) use exec::Stream;
pub(crate) use open::ResumeRequest;
pub(crate) use open::StartRequest;
pub(crate) use open::resume;
pub(crate) use open::run;
pub(crate) use report::RunReport;
pub(crate) use resume::ResumeOptions;
#[cfg(any(test, fuzzing))]
pub(crate) use variables::Scope;
#[cfg(any(test, fuzzing))]
pub(crate) use variables::holds;
#[cfg(any(test, fuzzing))]
pub(crate) use variables::render;
#[cfg(any(test, fuzzing))]
pub(crate) use variables::render_shell;

use crate::dialect::script::spec;
