//! The logs of the client's sessions: one file per session, in the home of the project's runs, one line per event.
//!
//! They only help to explain an interruption; nothing depends on a missing entry. A project has none before a run is found in
//! it, and write errors are ignored.

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    caller::Caller,
    local::{self, session_name},
};
use crate::{
    model::{DrivenRun, Local, RelPath, RunFolder, SessionEvent, SessionLine, Timestamp, clean_line, sha256_hex},
    store::{
        commit::{data_dir, journal},
        fs::{
            environment::Environment,
            error::StoreError,
            nofollow,
            process::Process,
            unread::{exists, there},
        },
    },
};

/// Size in bytes at which a log is rotated.
const LOG_LIMIT: u64 = 128 << 10;
/// Number of logs that are kept, the newest.
const LOGS_LIMIT: usize = 40;
/// Number of events that are read, the newest.
const EVENTS_LIMIT: usize = 1_000;

/// The log of one session. It need not exist.
#[derive(Debug)]
pub(crate) struct SessionLog {
    /// The one to write to first.
    folders: Vec<RunFolder>,
    name: String,
}

impl SessionLog {
    /// Returns the log of a session in the folders of a project's sessions, the one to write to first; none of them need exist.
    pub(crate) fn of(sessions: &[RunFolder], session: &str) -> Self {
        // A session id is untrusted input, so it is hashed and never becomes a path.
        let mut name = sha256_hex(session_name(session).as_bytes());
        name.truncate(24);
        Self { folders: sessions.to_vec(), name: format!("{name}.jsonl") }
    }

    pub(crate) fn exists(&self) -> bool {
        self.folders.iter().any(|folder| self.is_in(folder))
    }

    fn is_in(&self, folder: &RunFolder) -> bool {
        let path = folder.absolute().join(&self.name);
        there(&path, path.symlink_metadata()).is_some_and(|metadata| metadata.is_file())
    }

    /// Appends an event to an existing log; does nothing without one.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn note(&self, at: Timestamp, event: SessionEvent) -> Result<(), StoreError> {
        let Some(written) = self.folders.first().filter(|folder| self.is_in(folder)) else { return Ok(()) };
        let folder = written.absolute();
        if !is_real_folder(&folder) {
            return Ok(());
        }
        journal::append(&folder, &self.name, &[SessionLine { at, event }], LOG_LIMIT)
    }

    /// Appends an event, creating the log if needed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub(crate) fn begin(&self, at: Timestamp, event: SessionEvent) -> Result<(), StoreError> {
        let Some(written) = self.folders.first() else { return Ok(()) };
        let folder = written.absolute();
        if !self.is_in(written) {
            remove_old_logs(&data_dir::create(written)?);
        }
        journal::append(&folder, &self.name, &[SessionLine { at, event }], LOG_LIMIT)
    }

    /// Returns the last events, oldest first.
    pub(crate) fn events(&self) -> Vec<SessionLine> {
        let folders = self.folders.iter().map(RunFolder::absolute).filter(|folder| is_real_folder(folder));
        let mut events: Vec<SessionLine> = folders.flat_map(|folder| journal::read(&folder, &self.name)).collect();
        if self.folders.iter().filter(|folder| self.is_in(folder)).count() > 1 {
            events.sort_by_key(|line| line.at);
        }
        events.split_off(events.len().saturating_sub(EVENTS_LIMIT))
    }
}

/// Tells whether the folder and its parent are real folders: a repository may ship symlinks in their place.
fn is_real_folder(folder: &Utf8Path) -> bool {
    let is_dir = |path: &Utf8Path| there(path, path.symlink_metadata()).is_some_and(|found| found.is_dir());
    is_dir(folder) && folder.parent().is_some_and(is_dir)
}

/// Removes the oldest logs beyond what is kept.
fn remove_old_logs(folder: &Utf8Path) {
    let Ok(entries) = folder.read_dir_utf8() else { return };
    let mut logs: Vec<(std::time::SystemTime, Utf8PathBuf)> = entries
        .flatten()
        .filter(|entry| entry.file_name().ends_with(".jsonl"))
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.into_path())))
        .collect();
    logs.sort();
    let surplus = (logs.len() + 1).saturating_sub(LOGS_LIMIT);
    for (_, path) in logs.into_iter().take(surplus) {
        // The next session tries again.
        let _ = nofollow::remove_file(path);
    }
}

/// Returns the events of the session that holds the run's lease, alive or not, since its last write to the run.
pub(in crate::store) fn events_since_write(
    sessions: &[RunFolder],
    local: &Local,
    run: &DrivenRun,
) -> Option<Vec<SessionLine>> {
    let (lease, driver) = local.holder()?;
    let mut events = SessionLog::of(sessions, driver.session.as_deref()?).events();
    let last_write = events.iter().rposition(|line| matches!(&line.event, SessionEvent::Drives(it) if it == run));
    match last_write {
        Some(at) => drop(events.drain(..=at)),
        None => events.retain(|line| line.at >= lease.taken_at),
    }
    Some(events)
}

/// Returns the caller, with the client's process as the owner if the client reported it.
pub(crate) fn caller(sessions: &[RunFolder], environment: &Environment) -> Caller {
    let caller = Caller::find(environment);
    match &caller.session {
        None => caller,
        Some(session) => with_client_process(caller.clone(), &SessionLog::of(sessions, session).events()),
    }
}

fn with_client_process(caller: Caller, events: &[SessionLine]) -> Caller {
    let is_ancestor = |process: &Process| process.start.is_some() && caller.ancestors.contains(process);
    let client = |line: &SessionLine| {
        let SessionEvent::Start { pid, process_start, .. } = line.event else { return None };
        Some(Process { pid, start: process_start }).filter(is_ancestor)
    };
    match events.iter().rev().find_map(client) {
        Some(owner) => Caller { owner, is_client: true, ..caller },
        None => caller,
    }
}

/// Returns the event that records the start of the caller's client.
pub(crate) fn start_event(caller: &Caller, source: &str) -> SessionEvent {
    let Process { pid, start } = caller.owner;
    SessionEvent::Start { source: clean_line(source, 20), pid, process_start: start }
}

/// Returns the location of a run, for [`SessionEvent::Drives`].
pub(crate) fn driven_run(top: &Utf8Path, root: &Utf8Path, folder: &RunFolder, state: &RelPath) -> DrivenRun {
    let worktree = (root != top).then(|| root.file_name().unwrap_or_default().to_owned());
    DrivenRun { worktree, folder: folder.path.clone(), state: state.clone() }
}

/// A run whose lease a session holds.
#[derive(Clone, Debug)]
pub(crate) struct HeldRun {
    /// The root of its files.
    pub(crate) root: Utf8PathBuf,
    pub(crate) folder: RunFolder,
    pub(crate) run: DrivenRun,
}

/// Returns the runs in the events whose lease the session still holds, without walking the project. `elsewhere`: the linked worktrees; `homes`:
/// those of the project's runs, which are the roots of the runs of workflow files.
pub(crate) fn held_runs(
    top: &Utf8Path,
    elsewhere: &[Utf8PathBuf],
    homes: &[Utf8PathBuf],
    session: &str,
    events: &[SessionLine],
) -> Vec<HeldRun> {
    let session = session_name(session);
    let mut held: Vec<HeldRun> = Vec::new();
    for line in events {
        let SessionEvent::Drives(run) = &line.event else { continue };
        if held.iter().any(|known| known.run == *run) {
            continue;
        }
        let holds = |folder: &RunFolder| {
            let local = local::read(folder);
            local.holder().is_some_and(|(_, driver)| driver.session.as_ref() == Some(&session))
        };
        let mut folders = homes.iter().map(|home| RunFolder { home: home.clone(), path: run.folder.clone() });
        let Some(folder) = folders.find(holds) else { continue };
        let root = match &run.worktree {
            // The files of a workflow run are in its home.
            _ if run.state.starts_with(&run.folder) => Some(folder.home.clone()),
            None => Some(top.to_owned()),
            Some(name) => {
                let mut named = elsewhere.iter().filter(|path| path.file_name() == Some(name));
                named.find(|root| exists(&run.state.under(root))).cloned()
            }
        };
        held.extend(root.map(|root| HeldRun { root, folder, run: run.clone() }));
    }
    held
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
