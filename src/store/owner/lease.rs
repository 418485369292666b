//! Which process or session is driving a run. A lease informs; it never locks others out for longer than its holder lives.
//!
//! It has a fixed size and is overwritten in place, which costs a checkpoint next to nothing. A truncated lease is ignored.

use std::io;

use camino::Utf8Path;
use serde::{Deserialize, Serialize};

use super::caller::Caller;
use crate::{
    model::{Clock, Owner, OwnerProcess, RunFolder, Timestamp, clean_line},
    store::{
        commit::lock::RunLock,
        fs::{
            data_file,
            environment::Environment,
            error::StoreError,
            nofollow,
            path::problem_of,
            platform,
            process::{self, Process},
            unread::{self, note},
        },
    },
};

const FILE: &str = "lease.json";
/// Size of the file, padded with blanks.
const LEASE_BYTES: usize = 1_024;
/// Bytes; a larger file is not a lease.
const READ_LIMIT: u64 = 64 << 10;
/// How long a heartbeat counts as proof of life for a process that cannot be inspected.
const HEARTBEAT_WINDOW_SECONDS: i64 = 900;
/// A younger heartbeat is not renewed.
const HEARTBEAT_INTERVAL_SECONDS: i64 = 60;

/// Content of the lease file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Lease {
    session: Option<String>,
    pid: u32,
    process_start: Option<u64>,
    boot_id: Option<String>,
    host: String,
    /// Held by exactly one process: not by its children, and not by other calls of the same session.
    #[serde(default)]
    strict: bool,
    /// The verb that took it, for people.
    command: String,
    taken_at: Timestamp,
    heartbeat: Timestamp,
    /// `pid` was reported by the client itself.
    #[serde(default)]
    is_client: bool,
    /// The holder is idle: others may take over.
    #[serde(default, rename = "rests")]
    is_idle: bool,
}

/// The session that holds a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) session: String,
    pub(crate) taken_at: Timestamp,
}

/// Returns who is driving the run, as seen by this process.
pub(crate) fn inspect(folder: &RunFolder, clock: Clock, environment: &Environment) -> Owner {
    let data_path = unread::run_folder(folder);
    data_path.map_or(Owner::None, |data_path| inspect_in(&data_path, clock, environment))
}

/// Combines the lease with the processes that the state names as owners: a living one that is not an ancestor of the caller
/// wins.
pub(crate) fn merge_owners(owner: Owner, owner_processes: &[OwnerProcess], environment: &Environment) -> Owner {
    if owner_processes.is_empty() || matches!(owner, Owner::Live { .. }) {
        return owner;
    }
    let caller = Caller::find(environment);
    let is_own = |driver: &OwnerProcess| match &driver.session {
        Some(session) => environment.session.as_ref() == Some(session),
        None => caller.ancestors.iter().any(|process| process.pid == driver.pid),
    };
    // If only the pid is known, any process that has it counts.
    let process = |driver: &OwnerProcess| Process { pid: driver.pid, start: driver.start };
    let is_alive = |driver: &OwnerProcess| process::is_alive(process(driver)) != Some(false);
    let (living, gone): (Vec<&OwnerProcess>, Vec<&OwnerProcess>) =
        owner_processes.iter().partition(|driver| is_alive(driver));
    if let Some(other) = living.iter().find(|driver| !is_own(driver)) {
        let since = other.since.map_or_else(String::new, |since| format!(", since {since}"));
        return Owner::Live { description: format!("process {} ({}){since}", other.pid, clean_line(&other.name, 160)) };
    }
    match (owner, living.is_empty(), gone.first()) {
        (Owner::None, false, _) => Owner::Ours,
        (Owner::None, true, Some(last)) => Owner::Dead { since: last.since, session: None },
        (owner, _, _) => owner,
    }
}

/// [`inspect`] for a run that the caller has locked.
pub(crate) fn inspect_locked(lock: &RunLock, clock: Clock, environment: &Environment) -> Owner {
    inspect_in(lock.data_path(), clock, environment)
}

/// [`inspect`] for a caller that drives runs itself.
pub(crate) fn inspect_by(lock: &RunLock, clock: Clock, caller: &Caller) -> Owner {
    inspect_as(lock.data_path(), clock, || caller.clone())
}

pub(in crate::store) fn inspect_in(data_path: &Utf8Path, clock: Clock, environment: &Environment) -> Owner {
    inspect_as(data_path, clock, || Caller::find(environment))
}

fn inspect_as(data_path: &Utf8Path, clock: Clock, caller: impl FnOnce() -> Caller) -> Owner {
    match read(data_path) {
        StoredLease::Nothing => Owner::None,
        StoredLease::Truncated => Owner::Dead { since: None, session: None },
        StoredLease::Lease(lease) => owner_by_lease(&lease, clock, &caller()),
    }
}

fn owner_by_lease(lease: &Lease, clock: Clock, caller: &Caller) -> Owner {
    let holder = Process { pid: lease.pid, start: lease.process_start };
    let is_this_machine = lease.host == caller.host && lease.boot_id == caller.boot_id;
    let descends = is_this_machine && holder.start.is_some() && caller.ancestors.contains(&holder);
    if lease.strict {
        if caller.strict && is_this_machine && holder == caller.owner {
            return Owner::Ours;
        }
    } else if lease.session.is_some()
        && lease.session == caller.session
        && (descends || !is_other_client(lease, caller))
    {
        return Owner::Ours;
    }
    if lease.is_idle {
        return dead(lease);
    }
    if descends && !lease.strict {
        return Owner::Ours;
    }
    let age = clock.now.seconds_since(lease.heartbeat);
    let is_fresh = (-HEARTBEAT_WINDOW_SECONDS..=HEARTBEAT_WINDOW_SECONDS).contains(&age);
    let is_alive = if lease.host != caller.host {
        is_fresh
    } else if !is_this_machine {
        false
    } else {
        process::is_alive(holder).unwrap_or(is_fresh)
    };
    if is_alive {
        let is_elsewhere = lease.host != caller.host;
        let place = if is_elsewhere || lease.strict {
            format!(" on host {}", clean_line(&lease.host, 64))
        } else {
            String::new()
        };
        let command = clean_line(&lease.command, 80);
        let session = lease.session.as_deref();
        let session = session.map_or_else(String::new, |id| format!("session {}, ", clean_line(id, 80)));
        let description = format!(
            "{session}process {}{place} (`{command}`), last seen at {}",
            lease.pid,
            lease.heartbeat.in_seconds()
        );
        Owner::Live { description }
    } else {
        dead(lease)
    }
}

fn dead(lease: &Lease) -> Owner {
    Owner::Dead { since: Some(lease.heartbeat), session: lease.session.as_deref().map(|id| clean_line(id, 80)) }
}

/// Tells whether another living client has the same session id: a forked session, or one that was opened twice.
fn is_other_client(lease: &Lease, caller: &Caller) -> bool {
    let holder = Process { pid: lease.pid, start: lease.process_start };
    lease.is_client
        && caller.is_agent
        && !lease.is_idle
        && lease.host == caller.host
        && lease.boot_id == caller.boot_id
        && process::is_alive(holder) == Some(true)
}

/// Returns the session that holds the lease, alive or not; `None` if there is no lease or it names no session.
pub(super) fn lease_holder(data_path: &Utf8Path) -> Option<Holder> {
    match read(data_path) {
        StoredLease::Lease(Lease { session: Some(session), taken_at, .. }) => Some(Holder { session, taken_at }),
        StoredLease::Lease(_) | StoredLease::Nothing | StoredLease::Truncated => None,
    }
}

/// Marks the holder as idle. The lease stays as a record of the last driver but no longer keeps others out.
///
/// # Errors
///
/// When the lease cannot be written.
pub(crate) fn mark_idle(lock: &RunLock, session: &str) -> Result<(), StoreError> {
    match read(lock.data_path()) {
        StoredLease::Lease(lease) if lease.session.as_deref() == Some(session) && !lease.is_idle => {
            write(lock, &Lease { is_idle: true, ..lease })
        }
        StoredLease::Lease(_) | StoredLease::Nothing | StoredLease::Truncated => Ok(()),
    }
}

/// Makes the caller the holder. The planner decides whether that is allowed.
///
/// # Errors
///
/// When the lease cannot be written.
pub(crate) fn take(lock: &RunLock, clock: Clock, caller: &Caller, command: &str) -> Result<(), StoreError> {
    let lease = Lease {
        session: caller.session.as_deref().filter(|_| !caller.strict).map(|id| clean_line(id, 128)),
        pid: caller.owner.pid,
        process_start: caller.owner.start,
        boot_id: caller.boot_id.clone(),
        host: caller.host.clone(),
        strict: caller.strict,
        command: clean_line(command, 80),
        taken_at: clock.now,
        heartbeat: clock.now,
        is_client: caller.is_client,
        is_idle: false,
    };
    write(lock, &lease)
}

/// Renews the caller's heartbeat, unless it is recent. Returns whether the caller holds the lease.
///
/// # Errors
///
/// When the lease cannot be written.
pub(crate) fn refresh(lock: &RunLock, clock: Clock, caller: &Caller) -> Result<bool, StoreError> {
    let StoredLease::Lease(mut lease) = read(lock.data_path()) else { return Ok(false) };
    if owner_by_lease(&lease, clock, caller) != Owner::Ours {
        return Ok(false);
    }
    let is_current = lease.pid == caller.owner.pid && !lease.is_idle;
    if is_current && (0..HEARTBEAT_INTERVAL_SECONDS).contains(&clock.now.seconds_since(lease.heartbeat)) {
        return Ok(true);
    }
    lease.is_idle = false;
    lease.is_client = caller.is_client;
    lease.heartbeat = clock.now;
    lease.pid = caller.owner.pid;
    lease.process_start = caller.owner.start;
    lease.boot_id.clone_from(&caller.boot_id);
    lease.host.clone_from(&caller.host);
    write(lock, &lease).map(|()| true)
}

/// Removes the caller's lease; the lease of another holder stays.
///
/// # Errors
///
/// When the lease cannot be removed.
pub(crate) fn release(lock: &RunLock, clock: Clock, caller: &Caller) -> Result<(), StoreError> {
    match read(lock.data_path()) {
        StoredLease::Lease(lease) if owner_by_lease(&lease, clock, caller) == Owner::Ours => {
            let path = lock.data_path().join(FILE);
            nofollow::remove_file(&path).map_err(|source| StoreError::io(&path, source))
        }
        StoredLease::Lease(_) | StoredLease::Nothing | StoredLease::Truncated => Ok(()),
    }
}

enum StoredLease {
    Nothing,
    Truncated,
    Lease(Lease),
}

fn read(data_path: &Utf8Path) -> StoredLease {
    let path = data_path.join(FILE);
    match platform::read_data_file(path.as_std_path(), READ_LIMIT) {
        Ok(None) => StoredLease::Nothing,
        Ok(Some(bytes)) => serde_json::from_slice(&bytes).map_or(StoredLease::Truncated, StoredLease::Lease),
        Err(error) => {
            note(&path, problem_of(&error));
            StoredLease::Truncated
        }
    }
}

fn write(lock: &RunLock, lease: &Lease) -> Result<(), StoreError> {
    let path = lock.data_path().join(FILE);
    try_write(&path, lease).map_err(|source| StoreError::io(&path, source))
}

fn try_write(path: &Utf8Path, lease: &Lease) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(lease)?;
    bytes.resize(bytes.len().max(LEASE_BYTES - 1), b' ');
    bytes.push(b'\n');
    data_file::overwrite(path, &bytes)
}

#[cfg(test)]
#[path = "lease_tests.rs"]
mod tests;
