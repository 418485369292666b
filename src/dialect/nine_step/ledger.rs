//! Collects what the records of a state say about each step: attempts, failures, agent and results.

use std::collections::BTreeMap;

use super::{
    raw::{NineStepEntry, NineStepState},
    rules::{StatusWord, StepNumber, StepPosition},
};
use crate::model::{ReviewVerdict, Timestamp};

/// What is known of one step.
#[derive(Clone, Debug, Default)]
pub(super) struct StepRecord {
    pub(super) agent: Option<String>,
    pub(super) attempts: u32,
    pub(super) failures: u32,
    pub(super) started_at: Option<Timestamp>,
    pub(super) finished_at: Option<Timestamp>,
    pub(super) commit: Option<String>,
    pub(super) error: Option<String>,
    /// The error of each failure since the last success, oldest first.
    pub(super) errors: Vec<String>,
    pub(super) verdict: Option<ReviewVerdict>,
    /// Whether the step was skipped.
    pub(super) skipped: bool,
    /// Whether an attempt has begun and not ended.
    open: bool,
    in_history: bool,
}

/// The records of all steps that the state mentions.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    records: BTreeMap<StepPosition, StepRecord>,
    /// The agent that last ran step 3 in any phase (docs/formats/nine-step.md#steps-and-agents).
    pub(super) developer: Option<String>,
}

impl Ledger {
    pub(super) fn of(state: &NineStepState) -> Self {
        let mut ledger = Self::default();
        for entry in &state.completed {
            ledger.add_completed(entry);
        }
        for entry in &state.history {
            ledger.add_history(entry);
        }
        if let Some(last) = unrecorded(state) {
            ledger.add_unrecorded(last);
        }
        ledger.add_skipped(state);
        ledger.apply_counters(state);
        ledger
    }

    pub(super) fn get(&self, position: StepPosition) -> Option<&StepRecord> {
        self.records.get(&position)
    }

    /// Returns the recorded steps of a phase.
    pub(super) fn steps_in(&self, phase: u32) -> impl Iterator<Item = StepNumber> {
        let (from, to) = (StepPosition::new(phase, StepNumber::Plan), StepPosition::new(phase, StepNumber::Commit));
        self.records.range(from..=to).map(|(position, _)| position.step)
    }

    fn record_run(&mut self, position: StepPosition, entry: &NineStepEntry) -> &mut StepRecord {
        if position.step == StepNumber::Implementation && entry.agent.is_some() {
            self.developer.clone_from(&entry.agent);
        }
        let record = self.records.entry(position).or_default();
        if entry.agent.is_some() {
            record.agent.clone_from(&entry.agent);
        }
        if entry.commit.is_some() {
            record.commit.clone_from(&entry.commit);
        }
        record
    }

    /// Adds an entry of `completed_steps`; each counts as one attempt.
    fn add_completed(&mut self, entry: &NineStepEntry) {
        let Some(position) = entry.position() else { return };
        let word = status_word(entry);
        let verdict = word
            .and_then(StatusWord::verdict)
            .or_else(|| entry.verdict.get().and_then(|text| ReviewVerdict::parse(text)));
        let record = self.record_run(position, entry);
        record.attempts = record.attempts.saturating_add(1);
        record.finished_at = record.finished_at.max(entry.timestamp);
        record.verdict = verdict.or(record.verdict);
    }

    /// Adds an entry of `history`, or a `last_execution` that is missing there.
    fn add_history(&mut self, entry: &NineStepEntry) {
        let Some(position) = entry.position() else { return };
        let Some(word) = status_word(entry) else { return };
        let verdict = entry.verdict.get().and_then(|text| ReviewVerdict::parse(text)).or(word.verdict());
        let passed = word.passes(verdict);
        if word == StatusWord::RolledBack {
            self.reopen_from(position);
            return;
        }
        let record = match word {
            StatusWord::Skipped
            | StatusWord::Interrupted
            | StatusWord::Decided
            | StatusWord::Pending
            | StatusWord::RolledBack => self.records.entry(position).or_default(),
            StatusWord::InProgress
            | StatusWord::Completed
            | StatusWord::Failed
            | StatusWord::WaitingApproval
            | StatusWord::Verdict(_) => self.record_run(position, entry),
        };
        record.enter_history(word);
        match word {
            StatusWord::Pending | StatusWord::RolledBack => {}
            StatusWord::InProgress => record.begin(entry),
            StatusWord::WaitingApproval => record.end(entry),
            StatusWord::Completed | StatusWord::Failed | StatusWord::Verdict(_) if passed => {
                record.end(entry);
                (record.failures, record.error) = (0, None);
                record.errors.clear();
                record.verdict = verdict;
                record.finished_at = entry.timestamp.or(record.finished_at);
            }
            StatusWord::Completed | StatusWord::Failed | StatusWord::Verdict(_) => {
                record.end(entry);
                record.failures = record.failures.saturating_add(1).max(entry.failures.unwrap_or(0));
                record.error = (!entry.findings.is_empty()).then(|| entry.findings.join("\n"));
                record.errors.push(record.error.clone().unwrap_or_default());
                record.verdict = verdict;
            }
            StatusWord::Skipped => record.skipped = true,
            StatusWord::Interrupted => record.open = false,
            StatusWord::Decided => {
                record.failures = 0;
                record.errors.clear();
            }
        }
    }

    /// Clears the results of a step and all later ones; agent and attempts are kept.
    fn reopen_from(&mut self, first: StepPosition) {
        for (_, record) in self.records.range_mut(first..) {
            let (agent, attempts, in_history) = (record.agent.take(), record.attempts, record.in_history);
            *record = StepRecord { agent, attempts, in_history, ..StepRecord::default() };
        }
    }

    /// Adds a `last_execution` that is missing in the history. If it is a success, `completed_steps` has it too.
    fn add_unrecorded(&mut self, last: &NineStepEntry) {
        let Some(position) = last.position() else { return };
        let before = self.records.get(&position).cloned().unwrap_or_default();
        self.add_history(last);
        let Some(record) = self.records.get_mut(&position) else { return };
        if !before.in_history {
            record.in_history = false;
            let is_listed = before.attempts > 0 && record.finished_at.is_some() && record.failures == 0 && !record.open;
            record.attempts = if is_listed { before.attempts } else { before.attempts.saturating_add(record.attempts) };
        }
    }

    /// Adds `skipped_steps` for steps without history.
    fn add_skipped(&mut self, state: &NineStepState) {
        for entry in &state.skipped {
            let Some(position) = entry.position() else { continue };
            let record = self.records.entry(position).or_default();
            if !record.in_history {
                record.skipped = true;
            }
        }
    }

    /// Applies the counters stated in the file, where there is no history to count.
    fn apply_counters(&mut self, state: &NineStepState) {
        let last = state.last.get().and_then(|last| Some((last.position()?, last)));
        for (position, attempts) in &state.attempts {
            self.raise_attempts(*position, *attempts);
        }
        if let Some((position, entry)) = last {
            if let Some(attempt) = entry.attempt {
                self.raise_attempts(position, attempt);
            }
            if entry.has_decision {
                self.records.entry(position).or_default().failures = 0;
            }
        }
    }

    fn raise_attempts(&mut self, position: StepPosition, attempts: u32) {
        let record = self.records.entry(position).or_default();
        record.attempts = record.attempts.max(attempts);
        if record.failures > 0 && !record.in_history {
            record.failures = record.failures.max(attempts);
        }
    }
}

impl StepRecord {
    /// Counts from the history alone once it has an entry for the step.
    fn enter_history(&mut self, word: StatusWord) {
        if !self.in_history
            && !matches!(
                word,
                StatusWord::Skipped | StatusWord::Interrupted | StatusWord::Decided | StatusWord::RolledBack
            )
        {
            self.in_history = true;
            self.attempts = 0;
        }
        if !matches!(word, StatusWord::Skipped | StatusWord::Decided | StatusWord::RolledBack) {
            self.skipped = false;
        }
    }

    fn begin(&mut self, entry: &NineStepEntry) {
        self.attempts = self.attempts.saturating_add(1).max(entry.attempt.unwrap_or(0));
        self.open = true;
        self.started_at = entry.timestamp.or(self.started_at);
    }

    fn end(&mut self, entry: &NineStepEntry) {
        if !self.open {
            self.attempts = self.attempts.saturating_add(1);
        }
        self.attempts = self.attempts.max(entry.attempt.unwrap_or(0));
        self.open = false;
    }
}

/// Returns `last_execution` if it is an execution that the history lacks: another tool may write only one of the two.
pub(super) fn unrecorded(state: &NineStepState) -> Option<&NineStepEntry> {
    state.last.get().filter(|last| last.position().is_some() && is_execution(last) && !is_recorded(state, last))
}

fn is_execution(last: &NineStepEntry) -> bool {
    let Some(word) = status_word(last) else { return false };
    match word {
        StatusWord::InProgress
        | StatusWord::Completed
        | StatusWord::Failed
        | StatusWord::WaitingApproval
        | StatusWord::Verdict(_) => true,
        // History-only statuses are invalid here (docs/formats/nine-step.md#status-words-and-verdicts) and were reported as
        // unknown.
        StatusWord::Skipped | StatusWord::Interrupted | StatusWord::Decided | StatusWord::RolledBack => false,
        StatusWord::Pending => false,
    }
}

fn is_recorded(state: &NineStepState, last: &NineStepEntry) -> bool {
    let Some(newest) = state.history.last() else { return false };
    match (newest.timestamp, last.timestamp) {
        // An imported execution keeps its timestamp, and later entries may have earlier ones: clocks differ, and a time without a
        // zone means different moments on different machines.
        (Some(newest), Some(last_at)) => {
            let is_copy = |entry: &NineStepEntry| {
                entry.timestamp == last.timestamp
                    && entry.position() == last.position()
                    && status_word(entry) == status_word(last)
            };
            newest >= last_at || state.history.iter().any(is_copy)
        }
        (None, _) | (_, None) => state.history.iter().any(|entry| entry.position() == last.position()),
    }
}

fn status_word(entry: &NineStepEntry) -> Option<StatusWord> {
    entry.status.get().and_then(|status| StatusWord::parse(status))
}
