//! The log of reports and decisions, at the top of the main work tree: a linked work tree may go away, and its reports stay.
//!
//! A line is durable before the checkpoint that it belongs to is written, so that nothing that was acknowledged is lost. The log is never
//! rotated: a file beside it can come with the project.

use std::{
    collections::{BTreeMap, BTreeSet},
    slice,
};

use camino::{Utf8Path, Utf8PathBuf};

use super::trusted::{LogStanding, Trusted};
use crate::{
    model::{
        Attempt, DialectId, DriverId, Presence, RelPath, Run, RunId, Statement, StatementKind, Status, StepId,
        clean_line,
    },
    store::{
        commit::{data_dir, journal},
        fs::{
            error::StoreError,
            nofollow,
            path::Root,
            process::{self, Process},
            stage::DATA_DIR,
            unread,
        },
        owner::{caller::Caller, session::SESSION_CHARS},
    },
};

const LOG: &str = "reports.jsonl";

/// Appends lines with one write, creating the folder if needed, and returns when they are durable.
///
/// # Errors
///
/// When it cannot be written, is full, or came with the project.
pub(crate) fn append(
    trusted: &Trusted,
    root: &Utf8Path,
    data_dir: &RelPath,
    statements: &[Statement],
) -> Result<(), StoreError> {
    let Some(first) = statements.first() else { return Ok(()) };
    let data_path = opened(trusted, root, data_dir, first)?;
    journal::append_kept(&data_path, LOG, statements, true)
}

/// Appends the beginning of an attempt. It need not be durable: a power loss takes the driver with it.
///
/// # Errors
///
/// When it cannot be written, or came with the project.
pub(crate) fn note_attempt(
    trusted: &Trusted,
    root: &Utf8Path,
    data_dir: &RelPath,
    statement: &Statement,
) -> Result<(), StoreError> {
    let data_path = opened(trusted, root, data_dir, statement)?;
    journal::append_kept(&data_path, LOG, slice::from_ref(statement), false)
}

/// Refuses a log that came with the project, and any without a state folder.
///
/// # Errors
///
/// As said.
pub(crate) fn check(trusted: &Trusted, root: &Utf8Path, data_dir: &RelPath) -> Result<(), StoreError> {
    match path(root, data_dir) {
        Some(path) if trusted.standing(&path)? == LogStanding::Foreign => Err(StoreError::NotTrusted { path }),
        Some(_) | None => trusted.check_home(),
    }
}

/// Returns the folder of the log, which is in the list of this user. One that is to begin with a statement is entered before that is written:
/// a call that is killed in between leaves an entry of nothing.
fn opened(trusted: &Trusted, root: &Utf8Path, data_dir: &RelPath, next: &Statement) -> Result<Utf8PathBuf, StoreError> {
    let data_path = Root::open(root)?.target(data_dir)?;
    data_dir::create_data_dir(&data_path)?;
    let path = data_path.join(LOG);
    match trusted.standing(&path)? {
        LogStanding::Foreign => Err(StoreError::NotTrusted { path }),
        LogStanding::Ours => Ok(data_path),
        LogStanding::Silent => {
            let record = serde_json::to_vec(next).map_err(|error| StoreError::io(&path, error.into()))?;
            trusted.enter_record(&path, &record).map(|()| data_path)
        }
    }
}

fn path(root: &Utf8Path, data_dir: &RelPath) -> Option<Utf8PathBuf> {
    unread::data_path(root, data_dir).map(|folder| folder.join(LOG))
}

/// Returns the path of the log below a root, and whether what it says counts; `None` if its folder or the log cannot be read.
pub(crate) fn standing(trusted: &Trusted, root: &Utf8Path, data_dir: &RelPath) -> Option<(Utf8PathBuf, LogStanding)> {
    let path = path(root, data_dir)?;
    let standing = unread::known(&path, trusted.standing(&path))?;
    Some((path, standing))
}

/// Returns the path of the log of a project.
pub(crate) fn log_in(root: &Utf8Path) -> Utf8PathBuf {
    root.join(DATA_DIR).join(LOG)
}

/// Sets a log aside that came with the project, and returns its new path; another one can then be begun.
///
/// # Errors
///
/// When it cannot be renamed.
pub(crate) fn set_aside(log: &Utf8Path) -> Result<Utf8PathBuf, StoreError> {
    let names = (1..).map(|number| log.with_file_name(format!("reports.refused-{number}.jsonl")));
    let aside = names.into_iter().find(|name| name.symlink_metadata().is_err()).expect("a number is free");
    nofollow::rename(log, &aside).map_err(|source| StoreError::io(log, source))?;
    Ok(aside)
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

/// Reads what was said about a run, oldest first: nothing in a log that came with the project counts. Lines that do not parse are left out.
pub(crate) fn read(
    trusted: &Trusted,
    root: &Utf8Path,
    data_dir: &RelPath,
    run: &RunId,
    dialect: DialectId,
) -> Vec<Statement> {
    let log = standing(trusted, root, data_dir).filter(|(_, standing)| *standing == LogStanding::Ours);
    let mut statements: Vec<Statement> = log.map_or_else(Vec::new, |(path, _)| journal::read_kept(&path));
    statements.retain(|statement| statement.run == run.as_str() && statement.dialect == dialect);
    statements
}

#[cfg(test)]
#[path = "reports_tests.rs"]
mod tests;
