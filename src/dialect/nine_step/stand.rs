//! Where `last_execution` says the run stands, and what its words mean.

use super::raw::Entry;
use super::raw::Field;
use super::raw::Source;
use super::raw::State;
use super::rules::ACCEPTED;
use super::rules::Place;
use super::rules::StepNumber;
use super::rules::Word;
use super::rules::approves;
use super::rules::says_tests_failed;
use super::rules::says_worktree_failed;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Review;
use crate::model::ReviewVerdict;
use crate::model::Status;
use crate::model::StepKind;
use crate::model::clean_line;

/// Is the step that the state speaks of last.
#[derive(Clone, Debug)]
pub(super) struct Stand {
    pub(super) at: Place,
    pub(super) status: Status,
    pub(super) review: Option<Review>,
    /// Where its failure goes back to, when that depends on how it failed.
    pub(super) returns_to: Option<StepNumber>,
    pub(super) error: Option<String>,
}

impl Stand {
    /// Reads `last_execution`; without a usable one, `current_phase` and `current_step` show at least the position. The
    /// missing field was reported as blocking by then.
    pub(super) fn read(state: &State, source: &Source<'_>, findings: &mut Vec<Finding>) -> Option<Self> {
        let last = state.last.get();
        let phase = last.and_then(|last| last.phase.get()).or_else(|| state.current_phase.get());
        let step = last.and_then(|last| last.step.get()).or_else(|| state.current_step.get());
        let at = Place::new(*phase?, *step?);
        let Some(last) = last else {
            return Some(Self { at, status: Status::Blocked, review: None, returns_to: None, error: None });
        };
        let stand = Reading { at, last, state, source, findings }.stand();
        disagreements(state, at, stand.status, source, findings);
        passed_over(state, at, source, findings);
        Some(stand)
    }
}

struct Reading<'a, 's> {
    at: Place,
    last: &'a Entry,
    state: &'a State,
    source: &'a Source<'s>,
    findings: &'a mut Vec<Finding>,
}

impl Reading<'_, '_> {
    fn stand(mut self) -> Stand {
        let word = self.word();
        let verdict = self.verdict(word);
        let status = self.status(word, verdict);
        let text = self.last.findings.join("\n");
        Stand {
            at: self.at,
            status,
            review: self.review(status, verdict),
            returns_to: if status == Status::Failed { self.returns_to(verdict, &text) } else { None },
            error: (status == Status::Failed && !text.is_empty()).then_some(text),
        }
    }

    fn report(&mut self, code: FindingCode, pointer: &str, message: String, fix: Option<&str>) {
        let finding = self.source.finding(code, pointer, message).on(&self.at.id());
        self.findings.push(match fix {
            Some(fix) => finding.fix(fix),
            None => finding,
        });
    }

    fn word(&mut self) -> Option<Word> {
        let text = self.last.status.get()?;
        let of_history = [Word::Skipped, Word::Interrupted, Word::Decided, Word::RolledBack];
        let word = Word::parse(text).filter(|word| !of_history.contains(word));
        if word.is_none() {
            let message = format!("`{}` is no status of a step; accepted are: {ACCEPTED}", clean_line(text, 60));
            let fix = "correct the word in the file";
            self.report(FindingCode::StatusUnknown, "/last_execution/status", message, Some(fix));
        }
        word
    }

    fn verdict(&mut self, word: Option<Word>) -> Option<ReviewVerdict> {
        let from_status = word.and_then(Word::verdict);
        let text = match &self.last.verdict {
            Field::Missing => return from_status,
            Field::Wrong => "a value that is no text",
            Field::Is(text) => text.as_str(),
        };
        match (ReviewVerdict::parse(text), from_status) {
            // The stricter one counts where the two disagree.
            (Some(stated), from_status) => Some(from_status.map_or(stated, |other| stated.max(other))),
            (None, from_status) => {
                let message = format!(
                    "`{}` is no verdict of a reviewer; accepted are: APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION, REJECTED",
                    clean_line(text, 60)
                );
                self.report(FindingCode::VerdictUnknown, "/last_execution/verdict", message, None);
                from_status
            }
        }
    }

    fn status(&mut self, word: Option<Word>, verdict: Option<ReviewVerdict>) -> Status {
        let has_unknown_verdict = verdict.is_none() && self.last.verdict != Field::Missing;
        match word {
            None | Some(Word::Skipped | Word::Interrupted | Word::Decided | Word::RolledBack) => Status::Blocked,
            Some(Word::Pending) => Status::Pending,
            Some(Word::InProgress) => Status::InProgress,
            Some(Word::WaitingApproval) => Status::WaitingApproval,
            Some(Word::Failed) => {
                if verdict.is_some_and(approves) {
                    let message = format!("step {} failed, and its verdict approves; it counts as failed", self.at);
                    self.report(FindingCode::VerdictConflict, "/last_execution/verdict", message, None);
                }
                Status::Failed
            }
            Some(Word::Completed) if has_unknown_verdict => Status::Blocked,
            Some(Word::Completed) => match verdict {
                Some(verdict) if !approves(verdict) => {
                    let message =
                        format!("step {} is completed with the verdict {verdict}; it counts as failed", self.at);
                    self.report(FindingCode::VerdictConflict, "/last_execution/verdict", message, None);
                    Status::Failed
                }
                None if self.at.step.kind() == StepKind::Review => {
                    let message = format!("step {} is completed without a verdict; it is taken as approved", self.at);
                    self.report(FindingCode::VerdictMissing, "/last_execution", message, None);
                    Status::Completed
                }
                Some(_) | None => Status::Completed,
            },
            Some(Word::Verdict(_)) if verdict.is_some_and(approves) => Status::Completed,
            Some(Word::Verdict(_)) => Status::Failed,
        }
    }

    /// Says what the reviewer said. A failure that a person has looked at is no longer a rejection: its work goes back
    /// (docs/formats/nine-step.md#decision-table).
    fn review(&self, status: Status, verdict: Option<ReviewVerdict>) -> Option<Review> {
        if self.at.step.kind() != StepKind::Review {
            return None;
        }
        let conditions = self.last.open_conditions.clone().or_else(|| self.state.open_conditions.clone());
        let verdict = match (status, verdict) {
            (Status::Completed, verdict) => verdict.unwrap_or(ReviewVerdict::Approved),
            (Status::Failed, Some(ReviewVerdict::Rejected)) if self.last.has_decision => ReviewVerdict::NeedsRevision,
            (Status::Failed, Some(ReviewVerdict::Approved)) => return None,
            (Status::Failed, Some(ReviewVerdict::ApprovedWithConditions)) => ReviewVerdict::NeedsRevision,
            (Status::Failed | Status::WaitingApproval, verdict) => verdict?,
            (Status::Pending | Status::InProgress | Status::Blocked | Status::Skipped | Status::Cancelled, _) => {
                return None;
            }
        };
        let is_conditional = verdict == ReviewVerdict::ApprovedWithConditions;
        Some(Review { verdict, open_conditions: conditions.filter(|_| is_conditional) })
    }

    /// Says where this failure goes back to (docs/formats/nine-step.md#where-a-failure-goes-back-to); `None` for a retry of the
    /// same step.
    fn returns_to(&self, verdict: Option<ReviewVerdict>, text: &str) -> Option<StepNumber> {
        match self.at.step {
            StepNumber::Approval => {
                let refused = verdict.is_some_and(|verdict| !approves(verdict));
                let by_user = self.last.agent.as_deref().is_some_and(is_person);
                let asked = refused || by_user || (!text.trim().is_empty() && !says_worktree_failed(text));
                asked.then_some(StepNumber::Plan)
            }
            StepNumber::Testing => says_tests_failed(text).then_some(StepNumber::Implementation),
            StepNumber::Plan
            | StepNumber::PlanReview
            | StepNumber::Implementation
            | StepNumber::CodeReview
            | StepNumber::Documentation
            | StepNumber::DocumentationReview
            | StepNumber::TestReview
            | StepNumber::Commit => self.at.step.reviewed(),
        }
    }
}

fn is_person(agent: &str) -> bool {
    matches!(agent.to_lowercase().as_str(), "user" | "human" | "person")
}

/// Names what else in the state says something different. `last_execution` counts all the same.
fn disagreements(state: &State, at: Place, status: Status, source: &Source<'_>, findings: &mut Vec<Finding>) {
    if let (Some(phase), Some(step)) = (state.current_phase.get(), state.current_step.get()) {
        let current = Place::new(*phase, *step);
        let is_moved_on = status != Status::Pending && current > at && is_next(at, current);
        // The plugin's own writer never brings `current_phase` up to date (docs/formats/nine-step.md#lenient-reading).
        let is_stale_phase = current.step == at.step && current.phase < at.phase;
        if current != at {
            let harmless = is_moved_on || is_stale_phase;
            let code = if harmless { FindingCode::SessionStatusStale } else { FindingCode::StatusConflict };
            let message = format!(
                "`current_phase` and `current_step` say {current}, `last_execution` says {at}; `last_execution` counts"
            );
            findings.push(source.finding(code, "/current_step", message).on(&at.id()));
        }
    }
    let Some(last) = state.last.get().and_then(|last| last.timestamp) else { return };
    let mut ahead = state
        .completed
        .iter()
        .filter(|entry| entry.place().is_some_and(|place| place > at) && entry.timestamp > Some(last));
    if let Some(entry) = ahead.next_back()
        && let Some(place) = entry.place()
    {
        let message = format!(
            "`completed_steps` has step {place} at a later time than `last_execution` ({at}); `last_execution` counts"
        );
        findings.push(source.finding(FindingCode::StatusConflict, &entry.pointer(), message).on(&place.id()));
    }
}

/// Names the gate and the reviews that the list of a phase leaves out although the run has gone on behind them. A list may begin
/// late, with the worktree; what it lacks before its first step says nothing (docs/formats/nine-step.md#state-before-the-worktree).
fn passed_over(state: &State, at: Place, source: &Source<'_>, findings: &mut Vec<Finding>) {
    let records = state.completed.iter().chain(&state.history).chain(&state.skipped).chain(&state.approvals);
    let told: Vec<StepNumber> =
        records.filter_map(Entry::place).filter(|place| place.phase == at.phase).map(|place| place.step).collect();
    let Some(first) = state.completed.iter().filter_map(Entry::place).filter(|place| place.phase == at.phase).min()
    else {
        return;
    };
    for step in StepNumber::ALL.into_iter().filter(|step| *step > first.step && *step < at.step) {
        if matches!(step.kind(), StepKind::Gate | StepKind::Review) && !told.contains(&step) {
            let place = Place::new(at.phase, step);
            let message = format!(
                "`completed_steps` does not list {place} ({}); it is taken as passed, since the run has gone on to {at}",
                step.title()
            );
            findings.push(source.finding(FindingCode::StatusOptimistic, "/completed_steps", message).on(&place.id()));
        }
    }
}

fn is_next(at: Place, other: Place) -> bool {
    let next = StepNumber::ALL.into_iter().find(|step| *step > at.step);
    match next {
        Some(next) => other == Place::new(at.phase, next),
        None => other.phase == at.phase.saturating_add(1),
    }
}
