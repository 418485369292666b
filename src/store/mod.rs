//! Files, locks, the clock, the environment and git: the only module besides `runner/exec` that touches them. It knows bytes and
//! paths, not formats.
//!
//! Everything it reads is untrusted: a path is checked against its root before it is opened, sizes and depths are bounded, and even
//! the content of Piton's data folder is checked, because a repository may ship one.
//!
//! Reading starts at [`Project`] and goes through [`listings`] to [`file_set`] and [`gather`]; writing starts at [`RunLock`] and goes
//! to [`commit()`].
//!
//! Four folders, each of which imports only those before it (`tests/arch.rs`); all other rooms see what this file re-exports:
//!
//! 1. `fs`: what the operating system offers: bytes, paths, the clock, the environment, processes.
//! 2. `commit`: durable changes of state, one writer at a time.
//! 3. `owner`: who drives a run.
//! 4. `project`: the project, its repository, its state files, and the evidence about them.

#![expect(clippy::disallowed_methods, reason = "this module touches files, the clock and processes")]

mod commit;
mod fs;
mod owner;
mod project;
#[cfg(test)]
mod testing;

pub(crate) use commit::append::set_tail_aside;
pub(crate) use commit::archive;
pub(crate) use commit::backup;
pub(crate) use commit::briefs;
pub(crate) use commit::checkpoint::CheckpointMeta;
pub(crate) use commit::checkpoint::commit;
pub(crate) use commit::checkpoint::write_copy;
pub(crate) use commit::history;
pub(crate) use commit::journal;
pub(crate) use commit::lock::RunLock;
pub(crate) use commit::lock::try_lock;
pub(crate) use commit::relocate::move_folder;
pub(crate) use commit::rollbacks::record_rollback;
pub(crate) use commit::rollbacks::rollbacks;
pub(crate) use commit::txn::cut_off_change;
pub(crate) use fs::clock::Ticker;
pub(crate) use fs::clock::later;
pub(crate) use fs::clock::now;
pub(crate) use fs::clock::utc_offset;
pub(crate) use fs::environment::Environment;
pub(crate) use fs::environment::brief_of_step;
pub(crate) use fs::environment::brief_variable;
pub(crate) use fs::environment::variable;
pub(crate) use fs::environment::variables;
pub(crate) use fs::error::StoreError;
pub(crate) use fs::follow::Stamp;
pub(crate) use fs::follow::Stopwatch;
pub(crate) use fs::follow::files_with;
pub(crate) use fs::follow::last_lines;
pub(crate) use fs::follow::names_with;
pub(crate) use fs::follow::read_from;
pub(crate) use fs::follow::stamps;
pub(crate) use fs::page_file::open_page;
pub(crate) use fs::page_file::write_page;
pub(crate) use fs::platform::denied;
pub(crate) use fs::process::is_gone;
pub(crate) use fs::process::is_ignored;
pub(crate) use fs::process::processes_with_variables;
pub(crate) use fs::read::last_line;
pub(crate) use fs::read::read_bytes;
pub(crate) use fs::read::read_file;
pub(crate) use fs::read::read_one;
pub(crate) use fs::read::text_input;
pub(crate) use fs::stage::DATA_DIR;
pub(crate) use fs::stage::create_private_dirs;
pub(crate) use owner::caller::Caller;
pub(crate) use owner::hook_memory::HookMemory;
pub(crate) use owner::lease;
pub(crate) use owner::session;
pub(crate) use owner::session::SessionLog;
pub(crate) use project::client;
pub(crate) use project::client::ClientHome;
pub(crate) use project::commit_log::commit_log;
#[cfg(any(test, fuzzing))]
pub(crate) use project::config::parse as parse_config;
pub(crate) use project::declared_files::declared_files;
pub(crate) use project::discover::Scope;
pub(crate) use project::discover::listings;
pub(crate) use project::discover::probe_files;
pub(crate) use project::discover::tree;
pub(crate) use project::evidence::describe;
pub(crate) use project::evidence::gather;
pub(crate) use project::evidence::inspect_files;
pub(crate) use project::evidence::record;
pub(crate) use project::evidence::records;
pub(crate) use project::evidence::workspace;
pub(crate) use project::file_set::file_set;
pub(crate) use project::file_set::file_set_locked;
pub(crate) use project::file_set::finish_pending;
pub(crate) use project::file_set::lay_edits_over;
pub(crate) use project::git;
pub(crate) use project::git_impact::AbandonedWork;
pub(crate) use project::git_impact::git_impact;
pub(crate) use project::git_impact::history_of;
pub(crate) use project::home_link::link_of;
pub(crate) use project::home_link::moved_from;
pub(crate) use project::open::Project;
pub(crate) use project::open::work_tree;
pub(crate) use project::reports;
pub(crate) use project::run_index::RunIndex;
pub(crate) use project::scratch::CLIENT_FOLDER;
pub(crate) use project::scratch::Scratch;
pub(crate) use project::scratch::current_dir;
pub(crate) use project::scratch::current_exe;
pub(crate) use project::scratch::existing_path;
pub(crate) use project::scratch::is_folder;
pub(crate) use project::sessions;
pub(crate) use project::sessions::SessionHome;
pub(crate) use project::settings;
pub(crate) use project::worktree;
