//! A file per verb, or per few that share their arguments: what can be typed, the call into `ops` or `runner`, and the text of the answer.
//!
//! A new verb is a file here, with its line in `args::Verb`, and the use case with its report in `ops`.

pub(super) mod begin;
pub(super) mod close;
pub(super) mod completions;
pub(super) mod context;
pub(super) mod decide;
pub(super) mod demo;
pub(super) mod doctor;
pub(super) mod exec;
pub(super) mod finish;
pub(super) mod history;
pub(super) mod hook;
pub(super) mod list;
pub(super) mod logs;
pub(super) mod merge;
pub(super) mod pause;
pub(super) mod plan;
mod prelude;
pub(super) mod restore;
pub(super) mod resume;
pub(super) mod rollback;
pub(super) mod run;
pub(super) mod schema;
pub(super) mod setup;
pub(super) mod show;
pub(super) mod start;
pub(super) mod status;
pub(super) mod trust;
pub(super) mod validate;
pub(super) mod workflows;
