//! The log of reports and decisions, at the top of the main work tree: a linked work tree may go away, and its reports stay.
//!
//! A line is durable before the checkpoint that it belongs to is written, so that nothing that was acknowledged is lost. The log is never
//! rotated.

use std::{
    collections::{BTreeMap, BTreeSet},
    slice,
};

use camino::Utf8Path;

use crate::{
    model::{
        Attempt, DialectId, DriverId, Presence, RelPath, Run, RunId, Statement, StatementKind, Status, StepId,
        clean_line,
    },
    store::{
        commit::{data_dir, journal},
        fs::{
            error::StoreError,
            path::Root,
            process::{self, Process},
        },
        owner::{caller::Caller, session::SESSION_CHARS},
    },
};

const LOG: &str = "reports.jsonl";
/// Bytes at which the log would be rotated.
const NEVER_ROTATED: u64 = u64::MAX;

/// Appends lines with one write, creating the folder if needed, and returns when they are durable.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn append(root: &Utf8Path, data_dir: &RelPath, statements: &[Statement]) -> Result<(), StoreError> {
    let data_path = Root::open(root)?.target(data_dir)?;
    data_dir::create_data_dir(&data_path)?;
    journal::append_durably(&data_path, LOG, statements, NEVER_ROTATED)
}

/// Appends the beginning of an attempt. It need not be durable: a power loss takes the driver with it.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn note_attempt(root: &Utf8Path, data_dir: &RelPath, statement: &Statement) -> Result<(), StoreError> {
    let data_path = Root::open(root)?.target(data_dir)?;
    data_dir::create_data_dir(&data_path)?;
    journal::append(&data_path, LOG, slice::from_ref(statement), NEVER_ROTATED)
}

/// Returns the caller as the driver of an attempt.
pub(crate) fn driver(caller: &Caller) -> DriverId {
    DriverId {
        session: caller.session.as_deref().map(|id| clean_line(id, SESSION_CHARS)),
        pid: caller.owner.pid,
        process_start: caller.owner.start,
        boot_id: caller.boot_id.clone(),
        host: caller.host.clone(),
    }
}

/// Returns for each attempt at a step in progress, by step and number, whether its driver is still there.
pub(crate) fn presences(
    run: &Run,
    statements: &[Statement],
    caller: impl FnOnce() -> Caller,
) -> BTreeMap<(StepId, u32), Presence> {
    let in_progress = run.steps.iter().filter(|step| step.status == Status::InProgress);
    let in_progress: BTreeSet<&StepId> = in_progress.map(|step| &step.id).collect();
    let attempts = statements.iter().filter_map(|statement| match &statement.kind {
        StatementKind::Begun(attempt) if in_progress.contains(&attempt.step) => Some(attempt),
        StatementKind::Begun(_) | StatementKind::Report(_) | StatementKind::Decision(_) => None,
    });
    let attempts: Vec<&Attempt> = attempts.collect();
    if attempts.is_empty() {
        return BTreeMap::new();
    }
    let caller = caller();
    let presence = |attempt: &Attempt| ((attempt.step.clone(), attempt.attempt), presence(&attempt.driver, &caller));
    attempts.into_iter().map(presence).collect()
}

fn presence(driver: &DriverId, caller: &Caller) -> Presence {
    let process = Process { pid: driver.pid, start: driver.process_start };
    let is_this_machine = driver.host == caller.host;
    let is_this_boot = is_this_machine && driver.boot_id == caller.boot_id;
    match (&driver.session, &caller.session) {
        (Some(of_driver), Some(of_caller)) if clean_line(of_caller, SESSION_CHARS) == *of_driver => Presence::Caller,
        // The client lives, but its session was replaced.
        (Some(_), Some(_)) if is_this_boot && process == caller.owner => Presence::Gone,
        (None, _) | (_, None) if is_this_boot && (process == caller.owner || caller.ancestors.contains(&process)) => {
            Presence::Caller
        }
        (_, _) if !is_this_machine => Presence::Unknown,
        (_, _) if !is_this_boot => Presence::Gone,
        (_, _) => match process::is_alive(process) {
            Some(true) => Presence::Alive,
            Some(false) => Presence::Gone,
            None => Presence::Unknown,
        },
    }
}

/// Reads what was said about a run, oldest first. Lines that do not parse are left out.
pub(crate) fn read(root: &Utf8Path, data_dir: &RelPath, run: &RunId, dialect: DialectId) -> Vec<Statement> {
    let data_path = Root::open(root).ok().and_then(|root| root.locate(data_dir).ok());
    let mut statements: Vec<Statement> = data_path.map_or_else(Vec::new, |data_path| journal::read(&data_path, LOG));
    statements.retain(|statement| statement.run == run.as_str() && statement.dialect == dialect);
    statements
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;
