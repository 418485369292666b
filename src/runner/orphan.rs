//! Children that outlived their runner: what a SIGKILL left at work is ended before anybody else begins.
//!
//! Every child carries in its environment which step of which session it does, and so does all that it starts. That mark is there
//! from the first moment, which a file written after the start would not be.

use std::time::Duration;

use super::exec;
use super::ledger::Ledger;
use crate::model::Status;
use crate::store;

/// The variable that marks a child.
const MARK: &str = "PITON_STEP";
/// How long one may take to end by itself.
const GRACE: Duration = Duration::from_secs(5);
/// Stands for the steps that merge, which are none of the workflow's own.
const MERGE: &str = "merge";

/// Returns what marks the children of a step; `top` is the step of the workflow that they belong to.
pub(super) fn mark(session: &str, top: Option<&str>) -> (String, String) {
    (MARK.to_owned(), format!("{session}:{}", top.unwrap_or(MERGE)))
}

/// Ends whatever of an earlier runner is still at work on a step that did not end. What a finished step left in the background
/// stays: later steps may need it. Returns the numbers.
pub(super) fn end_all(ledger: &Ledger) -> Vec<u32> {
    let run = ledger.run();
    let open: Vec<&str> =
        run.steps.iter().filter(|step| step.status == Status::InProgress).map(|step| step.id.as_str()).collect();
    let is_over = run.steps.iter().all(|step| matches!(step.status, Status::Completed | Status::Skipped));
    let merge = is_over.then_some(MERGE);
    let marks: Vec<String> = open.into_iter().chain(merge).map(|step| format!("{MARK}={}:{step}", run.id)).collect();
    if marks.is_empty() {
        return Vec::new();
    }
    let found = store::processes_with_variable(&marks);
    exec::end_processes(&found.iter().map(|process| process.pid).collect::<Vec<_>>(), GRACE, &|at| {
        found[at].is_running()
    });
    found.into_iter().map(|process| process.pid).collect()
}
