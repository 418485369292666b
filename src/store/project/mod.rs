//! The project around the current folder: where it begins, what its settings say, which state files it has, and what disk and git say
//! about them.
//!
//! - `repository` reads `.git` without starting git; `config` reads settings; `open` finds the [`open::Project`] from them.
//! - `git_process` runs git so that it starts nothing else, `git_filters` finds the programs to keep it from; `git`, `commit_log`,
//!   `committed_state`, `git_impact` and `worktree` ask it.
//! - `client` is the folder of the client, with the sessions of a person.
//! - `sessions` are the folders of the runs of workflow files, `trusted` which of them this user began; `settings` the client's settings;
//!   `journals` what is recorded of the runs of other systems.
//! - `discover` lists names; `file_set` reads the files of a run as one consistent whole; `evidence` looks at what the run claims,
//!   `half_made` at files that are not committed, `declared_files` at what the steps of a read-only run declare.
//! - `scratch` makes a temporary project for the demonstration.
//!
//! Everything it reads is untrusted, and all walks are bounded.

pub(crate) mod client;
pub(super) mod commit_log;
pub(super) mod committed_state;
pub(super) mod config;
pub(super) mod declared_files;
pub(super) mod discover;
pub(super) mod evidence;
pub(super) mod file_set;
pub(crate) mod git;
pub(super) mod git_filters;
pub(super) mod git_impact;
pub(super) mod git_process;
mod half_made;
pub(crate) mod journals;
pub(super) mod open;
pub(super) mod repository;
pub(super) mod scratch;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(super) mod trusted;
pub(crate) mod worktree;
