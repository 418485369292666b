//! Finds the failure that sent the run back to its current step. Once that step has begun, only the history records it.

use super::{
    raw::{NineStepEntry, NineStepState},
    rules::{StatusWord, StepPosition},
};
use crate::model::ReviewVerdict;

/// Returns the failure of a later step in the phase that the step at `at` has to address, until that step is completed.
pub(super) fn sent_back(state: &NineStepState, at: StepPosition) -> Option<&NineStepEntry> {
    for entry in state.history.iter().rev() {
        // Failures before a rollback no longer count.
        if status_word(entry) == Some(StatusWord::RolledBack) {
            return None;
        }
        let (Some(position), Some(end)) = (entry.position(), end(entry)) else { continue };
        match (position == at, end) {
            (true, End::Failed) => {}
            (true, End::Passed) => return None,
            (false, End::Failed) => return (position.phase == at.phase && position.step > at.step).then_some(entry),
            (false, End::Passed) => return None,
        }
    }
    None
}

#[derive(Clone, Copy)]
enum End {
    Passed,
    Failed,
}

fn status_word(entry: &NineStepEntry) -> Option<StatusWord> {
    entry.status.get().and_then(|status| StatusWord::parse(status))
}

/// Returns how an execution ended; `None` for other records.
fn end(entry: &NineStepEntry) -> Option<End> {
    let word = status_word(entry)?;
    let stated = entry.verdict.get().and_then(|verdict| ReviewVerdict::parse(verdict));
    let by_verdict = |verdict: ReviewVerdict| if verdict.approves() { End::Passed } else { End::Failed };
    match word {
        StatusWord::Completed => Some(stated.map_or(End::Passed, by_verdict)),
        StatusWord::Failed => Some(End::Failed),
        StatusWord::Verdict(verdict) => Some(by_verdict(stated.map_or(verdict, |stated| stated.max(verdict)))),
        StatusWord::Pending
        | StatusWord::InProgress
        | StatusWord::WaitingApproval
        | StatusWord::Skipped
        | StatusWord::Interrupted
        | StatusWord::Decided
        | StatusWord::RolledBack => None,
    }
}
