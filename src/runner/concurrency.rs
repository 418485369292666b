//! The groups of runs that do not run at the same time. The lock is one of the operating system, so a killed runner holds none.

use std::time::Duration;

use camino::Utf8Path;

use super::console::Console;
use super::console::Event;
use super::context::rendered_before;
use super::error::ProblemKind;
use super::error::RunError;
use super::exec::Signals;
use super::files;
use crate::dialect::piton;
use crate::dialect::piton::record::Header;
use crate::model::RelPath;
use crate::model::clean_line;
use crate::store::RunLock;
use crate::store::StoreError;
use crate::workflow::Concurrency;
use crate::workflow::Workflow;

/// How long one wait for the lock lasts before signals are looked at.
const WAIT: Duration = Duration::from_millis(250);
/// The file beside the lock that names the run.
const HOLDER: &str = "run";

/// Takes the lock of the group of a workflow, if it has one, and waits for that as the workflow says. `home` has the runs.
pub(super) fn hold(
    workflow: &Workflow,
    header: &Header,
    home: &Utf8Path,
    console: &dyn Console,
) -> Result<Option<RunLock>, RunError> {
    let Some(concurrency) = &workflow.concurrency else { return Ok(None) };
    let (group, place) = group_of(concurrency, workflow, header)?;
    let signals = Signals::listen()
        .map_err(|error| RunError::new(ProblemKind::Unreadable, format!("cannot listen for signals: {error}"), []))?;
    let mut is_told = false;
    loop {
        match RunLock::acquire(home, &place, WAIT) {
            Err(StoreError::LockTimeout { holder, .. }) => {
                let by = holder_of(home, &place, holder);
                if concurrency.is_refused {
                    return Err(refused(&group, &by, format!("when it is over: `{}`", header.resume())));
                }
                if let Some(stop) = signals.stop() {
                    let message = format!("{} came while another run of the group was waited for", stop.as_str());
                    return Err(RunError::new(ProblemKind::Stopped(stop), message, [header.resume()]));
                }
                if !is_told {
                    let group = clean_line(&group, 60);
                    console.tell(&Event::Note { text: &format!("Waiting for {by}, which runs in the group {group}") });
                    is_told = true;
                }
            }
            Ok(lock) => {
                let file = place.under(home).join(HOLDER);
                // It is read for a message only.
                let _ = files::write_private(&file, header.session.as_bytes());
                return Ok(Some(lock));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Refuses to begin a run of a group in which another one runs, if its file says so: nothing is left of it then.
pub(super) fn check_free(workflow: &Workflow, header: &Header, home: &Utf8Path) -> Result<(), RunError> {
    let Some(concurrency) = workflow.concurrency.as_ref().filter(|concurrency| concurrency.is_refused) else {
        return Ok(());
    };
    let (group, place) = group_of(concurrency, workflow, header)?;
    match RunLock::acquire(home, &place, WAIT) {
        Err(StoreError::LockTimeout { holder, .. }) => {
            let by = holder_of(home, &place, holder);
            Err(refused(&group, &by, "when it is over, run the file again".to_owned()))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the name of the group that a run is in, and the folder of its lock.
fn group_of(concurrency: &Concurrency, workflow: &Workflow, header: &Header) -> Result<(String, RelPath), RunError> {
    let folder = header.worktree.as_ref().unwrap_or(&header.root);
    let group = rendered_before(&concurrency.group, workflow, header, folder)?;
    let place = piton::group(&group);
    Ok((group, place))
}

fn holder_of(home: &Utf8Path, place: &RelPath, process: Option<String>) -> String {
    let run = files::read(&place.under(home).join(HOLDER)).ok().map(|run| clean_line(&run, 100));
    match (run.filter(|run| !run.is_empty()), process) {
        (Some(run), Some(process)) => format!("{run} ({process})"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => "another run".to_owned(),
    }
}

fn refused(group: &str, by: &str, hint: String) -> RunError {
    let message = format!("{by} runs in the group {}, and one run of it runs at a time", clean_line(group, 60));
    RunError::new(ProblemKind::Conflict, message, [hint])
}
