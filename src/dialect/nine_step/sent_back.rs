//! Which failure sent the run back to the step it is at. Once that step has begun, `last_execution` no longer says; the history does.

use super::raw::Entry;
use super::raw::State;
use super::rules::Place;
use super::rules::Word;
use super::rules::approves;
use crate::model::ReviewVerdict;

/// Returns the failure of a later step of the phase that the step at `at` has to answer, until that step is completed.
pub(super) fn sent_back(state: &State, at: Place) -> Option<&Entry> {
    for entry in state.history.iter().rev() {
        // What was said of work that was given up since counts no more.
        if word(entry) == Some(Word::RolledBack) {
            return None;
        }
        let (Some(place), Some(end)) = (entry.place(), end(entry)) else { continue };
        match (place == at, end) {
            (true, End::Failed) => {}
            (true, End::Passed) => return None,
            (false, End::Failed) => return (place.phase == at.phase && place.step > at.step).then_some(entry),
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

fn word(entry: &Entry) -> Option<Word> {
    entry.status.get().and_then(|status| Word::parse(status))
}

/// Returns how an execution ended; `None` for a record of something else.
fn end(entry: &Entry) -> Option<End> {
    let word = word(entry)?;
    let stated = entry.verdict.get().and_then(|verdict| ReviewVerdict::parse(verdict));
    let by_verdict = |verdict| if approves(verdict) { End::Passed } else { End::Failed };
    match word {
        Word::Completed => Some(stated.map_or(End::Passed, by_verdict)),
        Word::Failed => Some(End::Failed),
        Word::Verdict(verdict) => Some(by_verdict(stated.map_or(verdict, |stated| stated.max(verdict)))),
        Word::Pending
        | Word::InProgress
        | Word::WaitingApproval
        | Word::Skipped
        | Word::Interrupted
        | Word::Decided
        | Word::RolledBack => None,
    }
}
