//! Children that outlived their runner: processes that a SIGKILL left running are ended before a new run begins.
//!
//! Every child has environment variables with its run and its step, which its own children inherit. Unlike a file written after
//! the start, they exist from the first moment.

use std::time::Duration;

use super::{exec, ledger::Ledger};
use crate::{model::Status, store};

/// The variables that mark a child: its run and its step.
const RUN: &str = "PITON_RUN";
const STEP: &str = "PITON_STEP";
/// How long a process has to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// Marks the `merge` steps, which are not steps of the workflow.
const MERGE: &str = "merge";

/// Returns the variables that mark the children of a step; `top` is its top-level step.
pub(super) fn marks(session: &str, top: Option<&str>) -> [(String, String); 2] {
    [(RUN, session), (STEP, top.unwrap_or(MERGE))].map(|(name, value)| (name.to_owned(), value.to_owned()))
}

/// Ends the processes of an earlier runner that still work on an unfinished step, and returns their ids. Background processes of
/// finished steps stay: later steps may need them.
pub(super) fn end_all(ledger: &Ledger) -> Vec<u32> {
    let run = ledger.run();
    let open: Vec<&str> =
        run.steps.iter().filter(|step| step.status == Status::InProgress).map(|step| step.id.as_str()).collect();
    let is_over = run.steps.iter().all(|step| step.status.satisfies());
    // Steps of `on_stop` are steps of no other either.
    let merge = (is_over || ledger.state().run.is_stopping).then_some(MERGE);
    let steps: Vec<String> = open.into_iter().chain(merge).map(|step| format!("{STEP}={step}")).collect();
    if steps.is_empty() {
        return Vec::new();
    }
    let found = store::processes_with_variables(&format!("{RUN}={}", run.id), &steps);
    exec::end_processes(&found.iter().map(|process| process.pid).collect::<Vec<_>>(), GRACE, &|at| {
        found[at].is_running()
    });
    found.into_iter().map(|process| process.pid).collect()
}
