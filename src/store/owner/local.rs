//! Who drives a run, and whether it is still there: what `local.json` says, and the processes of this machine. It informs; it never locks others
//! out for longer than the driver lives.
//!
//! The file is padded and overwritten in place, which costs a checkpoint next to nothing; it is not durable. A driver that is not in it is gone:
//! it was written down right after its first record, and only a kill of that call or a power loss forgets it.

use std::io;

use camino::Utf8Path;

use super::caller::Caller;
use crate::{
    model::{Clock, DriverProcess, Lease, Local, Owner, OwnerProcess, Presence, RunFolder, Timestamp, Uid, clean_line},
    store::{
        commit::lock::RunLock,
        fs::{
            data_file,
            environment::Environment,
            error::StoreError,
            path::problem_of,
            platform,
            process::{self, Process},
            unread::{self, note},
        },
    },
};

const FILE: &str = "local.json";
/// The size of the file is a multiple of it, padded with blanks.
const BLOCK_BYTES: usize = 1_024;
/// Bytes; a larger file is not read.
const READ_LIMIT: u64 = 256 << 10;
/// Number of drivers that are kept, those seen last.
const DRIVERS_LIMIT: usize = 64;
/// How long a sign of life counts for a process that cannot be inspected.
const SIGN_OF_LIFE_SECONDS: i64 = 900;
/// Characters of a session id that count.
const SESSION_CHARS: usize = 128;
/// A younger sign of life is not renewed.
pub(crate) const RENEWAL_SECONDS: i64 = 60;

/// Returns what this machine knows of a run.
pub(in crate::store) fn read(folder: &RunFolder) -> Local {
    unread::run_folder(folder).map_or_else(Local::default, |data_path| read_in(&data_path))
}

fn read_in(data_path: &Utf8Path) -> Local {
    let path = data_path.join(FILE);
    let unreadable = || Local { is_unreadable: true, ..Local::default() };
    match platform::read_data_file(path.as_std_path(), READ_LIMIT) {
        Ok(None) => Local::default(),
        Ok(Some(bytes)) => serde_json::from_slice(&bytes).unwrap_or_else(|_| unreadable()),
        Err(error) => {
            note(&path, problem_of(&error));
            unreadable()
        }
    }
}

/// Returns who drives the run, as seen by a caller.
pub(crate) fn owner(local: &Local, clock: Clock, caller: impl FnOnce() -> Caller) -> Owner {
    match local.holder() {
        Some(holder) => owner_by_lease(holder, clock, &caller()),
        None if local.is_unreadable || local.lease.is_some() => Owner::Dead { since: None, session: None },
        None => Owner::None,
    }
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

/// [`owner`] for a caller that drives runs itself.
pub(crate) fn owner_for(lock: &RunLock, clock: Clock, caller: &Caller) -> Owner {
    owner(&read_in(lock.data_path()), clock, || caller.clone())
}

/// Tells whether a driver is still there; `None` if it is on another host and gave no sign of life for long.
fn is_alive(driver: &DriverProcess, clock: Clock, caller: &Caller) -> Option<bool> {
    let age = clock.now.seconds_since(driver.seen);
    let is_fresh = (-SIGN_OF_LIFE_SECONDS..=SIGN_OF_LIFE_SECONDS).contains(&age);
    if driver.host != caller.host {
        is_fresh.then_some(true)
    } else if driver.boot_id != caller.boot_id {
        Some(false)
    } else {
        Some(process::is_alive(process_of(driver)).unwrap_or(is_fresh))
    }
}

const fn process_of(driver: &DriverProcess) -> Process {
    Process { pid: driver.pid, start: driver.process_start }
}

fn is_this_boot(driver: &DriverProcess, caller: &Caller) -> bool {
    driver.host == caller.host && driver.boot_id == caller.boot_id
}

fn owner_by_lease((lease, driver): (&Lease, &DriverProcess), clock: Clock, caller: &Caller) -> Owner {
    let process = process_of(driver);
    let descends = is_this_boot(driver, caller) && process.start.is_some() && caller.ancestors.contains(&process);
    if lease.strict {
        if caller.strict && is_this_boot(driver, caller) && process == caller.owner {
            return Owner::Ours;
        }
    } else if driver.session.is_some()
        && driver.session.as_deref() == caller.session.as_deref().map(session_name).as_deref()
        && (descends || !is_other_client(lease, driver, caller))
    {
        return Owner::Ours;
    }
    let dead =
        || Owner::Dead { since: Some(driver.seen), session: driver.session.as_deref().map(|id| clean_line(id, 80)) };
    if lease.is_idle {
        return dead();
    }
    if descends && !lease.strict {
        return Owner::Ours;
    }
    if is_alive(driver, clock, caller) != Some(true) {
        return dead();
    }
    let place = if driver.host != caller.host || lease.strict {
        format!(" on host {}", clean_line(&driver.host, 64))
    } else {
        String::new()
    };
    let command = clean_line(&lease.command, 80);
    let session = driver.session.as_deref();
    let session = session.map_or_else(String::new, |id| format!("session {}, ", clean_line(id, 80)));
    let seen = driver.seen.in_seconds();
    Owner::Live { description: format!("{session}process {}{place} (`{command}`), last seen at {seen}", driver.pid) }
}

/// Tells whether another living client has the same session id: a forked session, or one that was opened twice.
fn is_other_client(lease: &Lease, driver: &DriverProcess, caller: &Caller) -> bool {
    driver.is_client
        && caller.is_agent
        && !lease.is_idle
        && is_this_boot(driver, caller)
        && process::is_alive(process_of(driver)) == Some(true)
}

/// Tells whether the driver of an attempt, by the name in its record, is still there. `name`: the caller's own.
pub(in crate::store) fn presence(
    local: &Local,
    driver: Option<Uid>,
    (caller, name): (&Caller, Option<Uid>),
    clock: Clock,
) -> Presence {
    let Some(driver) = driver else {
        // One shell after the other may be one agent; a session is another one.
        return if caller.is_passing() { Presence::Caller } else { Presence::Gone };
    };
    if name == Some(driver) {
        return Presence::Caller;
    }
    let Some(driver) = local.drivers.get(&driver) else { return Presence::Gone };
    let process = process_of(driver);
    let is_here = is_this_boot(driver, caller);
    match (&driver.session, &caller.session) {
        // The client lives, but its session was replaced.
        (Some(_), Some(_)) if is_here && process == caller.owner => Presence::Gone,
        (None, _) | (_, None) if is_here && (process == caller.owner || caller.ancestors.contains(&process)) => {
            Presence::Caller
        }
        (_, _) => match is_alive(driver, clock, caller) {
            Some(true) => Presence::Alive,
            Some(false) => Presence::Gone,
            None => Presence::Unknown,
        },
    }
}

/// Returns a session id as it is compared: without control characters, of limited length.
pub(super) fn session_name(session: &str) -> String {
    clean_line(session, SESSION_CHARS)
}

fn driver_process(caller: &Caller, seen: Timestamp) -> DriverProcess {
    DriverProcess {
        session: caller.session.as_deref().filter(|_| !caller.strict).map(session_name),
        pid: caller.owner.pid,
        process_start: caller.owner.start,
        boot_id: caller.boot_id.clone(),
        host: caller.host.clone(),
        is_client: caller.is_client,
        seen,
    }
}

/// Writes down the process behind a driver that holds no lease.
///
/// # Errors
///
/// When the file cannot be written.
pub(crate) fn enter(lock: &RunLock, clock: Clock, (caller, name): (&Caller, Uid)) -> Result<(), StoreError> {
    let mut local = read_in(lock.data_path());
    local.drivers.insert(name, driver_process(caller, clock.now));
    write(lock, local)
}

/// Makes the caller the holder of the lease. The planner decides whether that is allowed.
///
/// # Errors
///
/// When the file cannot be written.
pub(crate) fn take(
    lock: &RunLock,
    clock: Clock,
    (caller, name): (&Caller, Uid),
    command: &str,
) -> Result<(), StoreError> {
    let mut local = read_in(lock.data_path());
    local.drivers.insert(name, driver_process(caller, clock.now));
    let (strict, command) = (caller.strict, clean_line(command, 80));
    local.lease = Some(Lease { driver: name, strict, command, taken_at: clock.now, is_idle: false });
    write(lock, local)
}

/// Marks the holder as idle. The lease stays as a record of the last driver but no longer keeps others out.
///
/// # Errors
///
/// When the file cannot be written.
pub(crate) fn mark_idle(lock: &RunLock, session: &str) -> Result<(), StoreError> {
    let mut local = read_in(lock.data_path());
    let is_its = local.session_of(local.lease.as_ref().map(|lease| lease.driver)) == Some(session);
    match local.lease.as_mut().filter(|lease| is_its && !lease.is_idle) {
        Some(lease) => lease.is_idle = true,
        None => return Ok(()),
    }
    write(lock, local)
}

/// Renews the caller's sign of life, unless it is recent. Returns whether the caller holds the lease.
///
/// # Errors
///
/// When the file cannot be written.
pub(crate) fn refresh(lock: &RunLock, clock: Clock, (caller, name): (&Caller, Uid)) -> Result<bool, StoreError> {
    let mut local = read_in(lock.data_path());
    let Some(holder) = local.holder() else { return Ok(false) };
    if owner_by_lease(holder, clock, caller) != Owner::Ours {
        return Ok(false);
    }
    let now = driver_process(caller, clock.now);
    let is_recent = (0..RENEWAL_SECONDS).contains(&clock.now.seconds_since(holder.1.seen));
    let seen = holder.1.seen;
    let is_current = holder.0.driver == name && !holder.0.is_idle && *holder.1 == DriverProcess { seen, ..now.clone() };
    if is_current && is_recent {
        return Ok(true);
    }
    local.drivers.insert(name, now);
    if let Some(lease) = &mut local.lease {
        (lease.driver, lease.is_idle) = (name, false);
    }
    write(lock, local).map(|()| true)
}

/// Removes the caller's lease; the lease of another holder stays.
///
/// # Errors
///
/// When the file cannot be written.
pub(crate) fn release(lock: &RunLock, clock: Clock, caller: &Caller) -> Result<(), StoreError> {
    let mut local = read_in(lock.data_path());
    if !local.holder().is_some_and(|holder| owner_by_lease(holder, clock, caller) == Owner::Ours) {
        return Ok(());
    }
    local.lease = None;
    write(lock, local)
}

fn write(lock: &RunLock, mut local: Local) -> Result<(), StoreError> {
    let holder = local.lease.as_ref().map(|lease| lease.driver);
    while local.drivers.len() > DRIVERS_LIMIT {
        let others = local.drivers.iter().filter(|(name, _)| Some(**name) != holder);
        let Some(oldest) = others.min_by_key(|(_, driver)| driver.seen).map(|(name, _)| *name) else { break };
        local.drivers.remove(&oldest);
    }
    let path = lock.data_path().join(FILE);
    try_write(&path, &local).map_err(|source| StoreError::io(&path, source))
}

fn try_write(path: &Utf8Path, local: &Local) -> io::Result<()> {
    let mut bytes = serde_json::to_vec(local)?;
    bytes.resize((bytes.len() + 1).next_multiple_of(BLOCK_BYTES) - 1, b' ');
    bytes.push(b'\n');
    data_file::overwrite(path, &bytes)
}

#[cfg(test)]
#[path = "local_tests.rs"]
mod tests;
