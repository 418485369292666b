//! Counts what the records of a state say about each step: how often it ran and failed, who ran it, what it left.

use std::collections::BTreeMap;

use super::raw::Entry;
use super::raw::State;
use super::rules::Place;
use super::rules::StepNumber;
use super::rules::Word;
use super::rules::approves;
use crate::model::ReviewVerdict;
use crate::model::Timestamp;

/// Is what is known of one step.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    pub(super) agent: Option<String>,
    pub(super) attempts: u32,
    pub(super) failures: u32,
    pub(super) started_at: Option<Timestamp>,
    pub(super) finished_at: Option<Timestamp>,
    pub(super) commit: Option<String>,
    pub(super) error: Option<String>,
    /// What each failure since the last success said, oldest first.
    pub(super) errors: Vec<String>,
    pub(super) verdict: Option<ReviewVerdict>,
    /// It was left out.
    pub(super) skipped: bool,
    /// An attempt was begun and has no end yet.
    open: bool,
    in_history: bool,
}

/// Holds the tallies of all steps that any record names.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    tallies: BTreeMap<Place, Tally>,
    /// Who ran step 3 last, in whatever phase (docs/formats/nine-step.md#steps-and-agents).
    pub(super) developer: Option<String>,
}

impl Ledger {
    pub(super) fn of(state: &State) -> Self {
        let mut ledger = Self::default();
        for entry in &state.completed {
            ledger.list(entry);
        }
        for entry in &state.history {
            ledger.run(entry);
        }
        if let Some(last) = unrecorded(state) {
            ledger.run_unrecorded(last);
        }
        ledger.skips(state);
        ledger.overrule(state);
        ledger
    }

    pub(super) fn get(&self, place: Place) -> Option<&Tally> {
        self.tallies.get(&place)
    }

    /// Returns the places that some record names in a phase.
    pub(super) fn steps_in(&self, phase: u32) -> impl Iterator<Item = StepNumber> {
        let (from, to) = (Place::new(phase, StepNumber::Plan), Place::new(phase, StepNumber::Commit));
        self.tallies.range(from..=to).map(|(place, _)| place.step)
    }

    fn ran(&mut self, place: Place, entry: &Entry) -> &mut Tally {
        if place.step == StepNumber::Implementation && entry.agent.is_some() {
            self.developer.clone_from(&entry.agent);
        }
        let tally = self.tallies.entry(place).or_default();
        if entry.agent.is_some() {
            tally.agent.clone_from(&entry.agent);
        }
        if entry.commit.is_some() {
            tally.commit.clone_from(&entry.commit);
        }
        tally
    }

    /// Takes in a record of `completed_steps`: every one is a run, as far as anybody knows.
    fn list(&mut self, entry: &Entry) {
        let Some(place) = entry.place() else { return };
        let word = word_of(entry);
        let verdict =
            word.and_then(Word::verdict).or_else(|| entry.verdict.get().and_then(|text| ReviewVerdict::parse(text)));
        let tally = self.ran(place, entry);
        tally.attempts = tally.attempts.saturating_add(1);
        tally.finished_at = tally.finished_at.max(entry.timestamp);
        tally.verdict = verdict.or(tally.verdict);
    }

    /// Takes in a record of `history`, or a `last_execution` that the history does not have.
    fn run(&mut self, entry: &Entry) {
        let Some(place) = entry.place() else { return };
        let Some(word) = word_of(entry) else { return };
        let verdict = entry.verdict.get().and_then(|text| ReviewVerdict::parse(text)).or(word.verdict());
        let passed = match word {
            Word::Completed | Word::Verdict(_) => verdict.is_none_or(approves),
            Word::Pending
            | Word::InProgress
            | Word::Failed
            | Word::WaitingApproval
            | Word::Skipped
            | Word::Interrupted
            | Word::Decided
            | Word::RolledBack => false,
        };
        if word == Word::RolledBack {
            self.open_again(place);
            return;
        }
        let tally = match word {
            Word::Skipped | Word::Interrupted | Word::Decided | Word::Pending | Word::RolledBack => {
                self.tallies.entry(place).or_default()
            }
            Word::InProgress | Word::Completed | Word::Failed | Word::WaitingApproval | Word::Verdict(_) => {
                self.ran(place, entry)
            }
        };
        tally.enter_history(word);
        match word {
            Word::Pending | Word::RolledBack => {}
            Word::InProgress => tally.begin(entry),
            Word::WaitingApproval => tally.end(entry),
            Word::Completed | Word::Failed | Word::Verdict(_) if passed => {
                tally.end(entry);
                (tally.failures, tally.error) = (0, None);
                tally.errors.clear();
                tally.verdict = verdict;
                tally.finished_at = entry.timestamp.or(tally.finished_at);
            }
            Word::Completed | Word::Failed | Word::Verdict(_) => {
                tally.end(entry);
                tally.failures = tally.failures.saturating_add(1).max(entry.failures.unwrap_or(0));
                tally.error = (!entry.findings.is_empty()).then(|| entry.findings.join("\n"));
                tally.errors.push(tally.error.clone().unwrap_or_default());
                tally.verdict = verdict;
            }
            Word::Skipped => tally.skipped = true,
            Word::Interrupted => tally.open = false,
            Word::Decided => {
                tally.failures = 0;
                tally.errors.clear();
            }
        }
    }

    /// Forgets what came of a step and of all behind it; who did it, and how often, stays known.
    fn open_again(&mut self, first: Place) {
        for (_, tally) in self.tallies.range_mut(first..) {
            let (agent, attempts, in_history) = (tally.agent.take(), tally.attempts, tally.in_history);
            *tally = Tally { agent, attempts, in_history, ..Tally::default() };
        }
    }

    /// Takes in a `last_execution` that the history does not have. A success of it is in `completed_steps` as well.
    fn run_unrecorded(&mut self, last: &Entry) {
        let Some(place) = last.place() else { return };
        let before = self.tallies.get(&place).cloned().unwrap_or_default();
        self.run(last);
        let Some(tally) = self.tallies.get_mut(&place) else { return };
        if !before.in_history {
            tally.in_history = false;
            let is_listed = before.attempts > 0 && tally.finished_at.is_some() && tally.failures == 0 && !tally.open;
            tally.attempts = if is_listed { before.attempts } else { before.attempts.saturating_add(tally.attempts) };
        }
    }

    /// Takes in `skipped_steps` for the steps that the history does not speak of.
    fn skips(&mut self, state: &State) {
        for entry in &state.skipped {
            let Some(place) = entry.place() else { continue };
            let tally = self.tallies.entry(place).or_default();
            if !tally.in_history {
                tally.skipped = true;
            }
        }
    }

    /// Lets counters that the file states beat the counting, where there is no history to count.
    fn overrule(&mut self, state: &State) {
        let last = state.last.get().and_then(|last| Some((last.place()?, last)));
        for (place, attempts) in &state.attempts {
            self.state_attempts(*place, *attempts);
        }
        if let Some((place, entry)) = last {
            if let Some(attempt) = entry.attempt {
                self.state_attempts(place, attempt);
            }
            if entry.has_decision {
                self.tallies.entry(place).or_default().failures = 0;
            }
        }
    }

    fn state_attempts(&mut self, place: Place, attempts: u32) {
        let tally = self.tallies.entry(place).or_default();
        tally.attempts = tally.attempts.max(attempts);
        if tally.failures > 0 && !tally.in_history {
            tally.failures = tally.failures.max(attempts);
        }
    }
}

impl Tally {
    /// Counts from the history alone once it speaks of the step.
    fn enter_history(&mut self, word: Word) {
        if !self.in_history && !matches!(word, Word::Skipped | Word::Interrupted | Word::Decided | Word::RolledBack) {
            self.in_history = true;
            self.attempts = 0;
        }
        if !matches!(word, Word::Skipped | Word::Decided | Word::RolledBack) {
            self.skipped = false;
        }
    }

    fn begin(&mut self, entry: &Entry) {
        self.attempts = self.attempts.saturating_add(1).max(entry.attempt.unwrap_or(0));
        self.open = true;
        self.started_at = entry.timestamp.or(self.started_at);
    }

    fn end(&mut self, entry: &Entry) {
        if !self.open {
            self.attempts = self.attempts.saturating_add(1);
        }
        self.attempts = self.attempts.max(entry.attempt.unwrap_or(0));
        self.open = false;
    }
}

/// Returns `last_execution` where it tells of an execution that the history does not have: another tool may have written the one
/// and not the other.
pub(super) fn unrecorded(state: &State) -> Option<&Entry> {
    state.last.get().filter(|last| last.place().is_some() && tells_of_execution(last) && !is_recorded(state, last))
}

fn tells_of_execution(last: &Entry) -> bool {
    let Some(word) = word_of(last) else { return false };
    match word {
        Word::InProgress | Word::Completed | Word::Failed | Word::WaitingApproval | Word::Verdict(_) => true,
        // Words of the history have no meaning here (docs/formats/nine-step.md#status-words-and-verdicts); they were reported as
        // unknown.
        Word::Skipped | Word::Interrupted | Word::Decided | Word::RolledBack => false,
        Word::Pending => false,
    }
}

fn is_recorded(state: &State, last: &Entry) -> bool {
    let Some(newest) = state.history.last() else { return false };
    match (newest.timestamp, last.timestamp) {
        // What was taken into the history keeps its stamp, and what follows it there may have an earlier one: clocks differ, and
        // a time without a zone means another moment to another machine.
        (Some(newest), Some(last_at)) => {
            let is_copy = |entry: &Entry| {
                entry.timestamp == last.timestamp && entry.place() == last.place() && word_of(entry) == word_of(last)
            };
            newest >= last_at || state.history.iter().any(is_copy)
        }
        (None, _) | (_, None) => state.history.iter().any(|entry| entry.place() == last.place()),
    }
}

fn word_of(entry: &Entry) -> Option<Word> {
    entry.status.get().and_then(|status| Word::parse(status))
}
