//! Files, locks, the clock, the environment and git: the only module besides `runner/exec` that touches them. It knows bytes and
//! paths, not formats.
//!
//! Everything it reads is untrusted: a path is checked against its root before it is opened, sizes and depths are bounded, and even
//! the content of Piton's data folder is checked, because a repository may ship one.
//!
//! Reading starts at [`Project`] and goes through [`listings`] to [`file_set`] and [`gather`]; writing starts at [`RunLock`] and goes
//! to [`commit()`].
//!
//! - Where we are: `project`, `repository`, `environment`, `config`, `clock`, `process` (the caller), `sessions` (the runner's
//!   sessions in the state home).
//! - Reading: `discover` lists names, `read` returns bytes. `path` resolves every path below its root.
//! - Writing: `data_dir`, `lock`, `commit`, `append`, `stage` and `txn`, along paths without symlinks (`nofollow`). Every system call goes through
//!   `calls`, where a test can make it fail. `archive` and `settings` write the few files outside of checkpoints.
//! - Piton's own data: `history`, `evidence`, `reports`, `journal`, `lease`, `session` (logs of the client's sessions) and
//!   `rollbacks`, written in place by `data_file`; `briefs` (for agents, and their reports), replaced as a whole.
//! - Git: `git` and `worktree` run it as a `git_process`, `git_filters` keeps it from starting programs that a repository configures,
//!   `committed_state` compares a state with its commit.
//! - Rollback only: `git_impact` lists the work that is discarded, `backup` copies it.
//! - `platform` is what differs between operating systems; `scratch` serves the demonstration.

#![expect(clippy::disallowed_methods, reason = "this module touches files, the clock and processes")]

mod append;
pub(crate) mod archive;
pub(crate) mod backup;
pub(crate) mod briefs;
mod calls;
mod clock;
mod commit;
mod committed_state;
mod config;
mod data_dir;
mod data_file;
mod discover;
mod environment;
mod error;
pub(crate) mod evidence;
pub(crate) mod git;
mod git_filters;
mod git_impact;
mod git_process;
pub(crate) mod history;
pub(crate) mod journal;
pub(crate) mod lease;
mod lock;
mod nofollow;
mod path;
mod platform;
mod process;
mod project;
mod read;
mod relocate;
pub(crate) mod reports;
mod repository;
mod rollbacks;
mod scratch;
pub(crate) mod session;
pub(crate) mod sessions;
pub(crate) mod settings;
mod stage;
#[cfg(test)]
mod testing;
mod txn;
pub(crate) mod worktree;

pub(crate) use append::set_tail_aside;
pub(crate) use clock::Ticker;
pub(crate) use clock::later;
pub(crate) use clock::now;
pub(crate) use clock::utc_offset;
pub(crate) use commit::CheckpointMeta;
pub(crate) use commit::commit;
#[cfg(any(test, fuzzing))]
pub(crate) use config::parse as parse_config;
pub(crate) use discover::Scope;
pub(crate) use discover::listings;
pub(crate) use discover::probe_files;
pub(crate) use discover::tree;
pub(crate) use environment::Environment;
pub(crate) use environment::variable;
pub(crate) use environment::variables;
pub(crate) use error::StoreError;
pub(crate) use evidence::describe;
pub(crate) use evidence::gather;
pub(crate) use evidence::inspect_files;
pub(crate) use evidence::record;
pub(crate) use evidence::records;
pub(crate) use evidence::workspace;
pub(crate) use git_impact::AbandonedWork;
pub(crate) use git_impact::git_impact;
pub(crate) use git_impact::history_of;
pub(crate) use lock::RunLock;
pub(crate) use lock::try_lock;
pub(crate) use platform::denied;
pub(crate) use process::Caller;
pub(crate) use process::is_gone;
pub(crate) use process::is_ignored;
pub(crate) use process::processes_with_variable;
pub(crate) use project::Project;
pub(crate) use read::file_set;
pub(crate) use read::file_set_locked;
pub(crate) use read::finish_pending;
pub(crate) use read::lay_edits_over;
pub(crate) use read::read_file;
pub(crate) use read::read_one;
pub(crate) use read::text_input;
pub(crate) use read::write_copy;
pub(crate) use relocate::move_folder;
pub(crate) use rollbacks::record_rollback;
pub(crate) use rollbacks::rollbacks;
pub(crate) use scratch::Scratch;
pub(crate) use scratch::current_dir;
pub(crate) use scratch::current_exe;
pub(crate) use scratch::existing_path;
pub(crate) use scratch::is_folder;
pub(crate) use session::SessionLog;
pub(crate) use sessions::SessionHome;
pub(crate) use stage::DATA_DIR;
pub(crate) use txn::cut_off_change;
