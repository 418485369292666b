//! What children left that were ended: processes that outlived their runner at a SIGKILL are ended before a new run begins, and the
//! locks of a git that was ended go.
//!
//! Every child has environment variables with its run and its step, which its own children inherit. Unlike a file written after
//! the start, they exist from the first moment.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use super::{
    console::{Console, Event},
    exec, files,
    ledger::Ledger,
};
use crate::{
    dialect::piton::{ItemWorktree, record::Header},
    model::Status,
    store::{self, worktree},
};

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

/// Removes the locks that a git that was ended left in the worktrees of a run and of its items, and says so: nothing else does, and
/// every later git there would fail.
pub(super) fn remove_locks(header: &Header, console: &dyn Console) {
    let items = header.worktrees.join(ItemWorktree::branches(&header.session).trim_start_matches("piton/"));
    let ours: Vec<Utf8PathBuf> =
        header.worktree.iter().chain([&items]).filter_map(|folder| files::real(folder).ok()).collect();
    let is_ours = |folder: &Utf8Path| ours.iter().any(|ours| folder.starts_with(ours));
    for lock in worktree::remove_left_locks(&header.root, &is_ours) {
        let text = format!("Removed {lock}, which a git that was ended had left");
        console.tell(&Event::Note { text: &text });
    }
}
