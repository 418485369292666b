//! Files, locks, the clock, the environment and git: the only module besides `runner/exec` that touches them. It knows bytes and
//! paths, not formats.
//!
//! Everything it reads is untrusted: a path is checked against its root before it is opened, sizes and depths are bounded, and even
//! the content of Piton's folders is checked, because a repository may ship one.
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

pub(crate) use commit::{
    append::set_tail_aside,
    archive, aside, backup, briefs,
    checkpoint::{CheckpointMeta, commit, commit_recorded},
    journal,
    lock::{RunLock, try_lock},
    move_folder::move_folder,
    recorded::JournalAppend,
    txn::cut_off_change,
};
pub(crate) use fs::{
    clock::{Ticker, later, now, utc_offset},
    environment::{Environment, brief_of_step, brief_variable, variable, variables},
    error::StoreError,
    follow::{Stamp, Stopwatch, files_with, last_lines, names_with, read_from, stamps},
    page_file::{open_page, write_page},
    platform::{denied, flushed, new_uid},
    process::{is_gone, is_group_running, is_ignored, processes_with_variables},
    read::{read_bytes, read_file, read_one, text_input},
    stage::{DATA_DIR, create_private_dirs},
    surroundings::{self, carried, program},
    unread::{self, is_folder},
};
pub(crate) use owner::{
    caller::{Caller, driver},
    hook_memory::HookMemory,
    local,
    session::{self, HeldRun, SessionLog},
};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use project::config::parse as parse_config;
pub(crate) use project::{
    client::{self, ClientHome},
    commit_log::commit_log,
    declared_files::declared_files,
    discover::{Scope, listings, probe_files},
    evidence::{describe, gather, inspect_commits, inspect_files, uncommitted_since, workspace},
    file_set::{file_set, file_set_locked, finish_pending, lay_edits_over, lock_recorded},
    git,
    git_impact::{AbandonedWork, git_impact, history_of},
    journals,
    open::{Project, is_place_of_runs},
    scratch::{CLIENT_FOLDER, Scratch, current_dir, current_exe, existing_path},
    sessions::{self, SessionHome},
    settings,
    trusted::{JournalStanding, Stranger, Trusted},
    worktree,
};
