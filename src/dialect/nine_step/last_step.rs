//! Reads the current step and its status from `last_execution`.

use super::{
    raw::{NineStepEntry, NineStepState, Required},
    rules::{ACCEPTED, StatusWord, StepNumber, StepPosition, is_test_failure, is_worktree_failure},
};
use crate::{
    document::Reader,
    model::{Finding, FindingCode, Review, ReviewVerdict, Status, StepKind, Suggested, Verb, clean_line},
};

/// The step that the state last recorded.
#[derive(Clone, Debug)]
pub(super) struct LastStep {
    pub(super) at: StepPosition,
    pub(super) status: Status,
    pub(super) review: Option<Review>,
    /// The step its failure returns to, if that depends on how it failed.
    pub(super) returns_to: Option<StepNumber>,
    pub(super) error: Option<String>,
}

impl LastStep {
    /// Reads `last_execution`. If it is unusable, which was already reported as blocking, `current_phase` and `current_step` give
    /// at least the position.
    pub(super) fn read(state: &NineStepState, source: &Reader<'_>, findings: &mut Vec<Finding>) -> Option<Self> {
        let last = state.last.get();
        let phase = last.and_then(|last| last.phase.get()).or_else(|| state.current_phase.get());
        let step = last.and_then(|last| last.step.get()).or_else(|| state.current_step.get());
        let at = StepPosition::new(*phase?, *step?);
        let Some(last) = last else {
            return Some(Self { at, status: Status::Blocked, review: None, returns_to: None, error: None });
        };
        let last_step = LastStepReader { at, last, state, source, findings }.read();
        report_disagreements(state, at, last_step.status, source, findings);
        report_unlisted(state, at, source, findings);
        Some(last_step)
    }
}

struct LastStepReader<'a, 's> {
    at: StepPosition,
    last: &'a NineStepEntry,
    state: &'a NineStepState,
    source: &'a Reader<'s>,
    findings: &'a mut Vec<Finding>,
}

impl LastStepReader<'_, '_> {
    fn read(mut self) -> LastStep {
        let word = self.status_word();
        let verdict = self.verdict(word);
        let status = self.status(word, verdict);
        let text = self.last.findings.join("\n");
        LastStep {
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

    fn status_word(&mut self) -> Option<StatusWord> {
        let text = self.last.status.get()?;
        let of_history = [StatusWord::Skipped, StatusWord::Interrupted, StatusWord::Decided, StatusWord::RolledBack];
        let word = StatusWord::parse(text).filter(|word| !of_history.contains(word));
        if word.is_none() {
            let message = format!("`{}` is not a step status; accepted: {ACCEPTED}", clean_line(text, 60));
            let plan = Suggested::of(Verb::Plan, &self.source.files().name);
            let fix = format!("a person decides: `{plan}` shows what");
            self.report(FindingCode::StatusUnknown, "/last_execution/status", message, Some(&fix));
        }
        word
    }

    fn verdict(&mut self, word: Option<StatusWord>) -> Option<ReviewVerdict> {
        let from_status = word.and_then(StatusWord::verdict);
        let text = match &self.last.verdict {
            Required::Missing => return from_status,
            Required::Wrong => "a value that is not text",
            Required::Is(text) => text.as_str(),
        };
        match (ReviewVerdict::parse(text), from_status) {
            // If the two disagree, the stricter one wins.
            (Some(stated), from_status) => Some(from_status.map_or(stated, |other| stated.max(other))),
            (None, from_status) => {
                let message = format!(
                    "`{}` is not a review verdict; accepted: APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION, REJECTED",
                    clean_line(text, 60)
                );
                self.report(FindingCode::VerdictUnknown, "/last_execution/verdict", message, None);
                from_status
            }
        }
    }

    fn status(&mut self, word: Option<StatusWord>, verdict: Option<ReviewVerdict>) -> Status {
        let has_unknown_verdict = verdict.is_none() && self.last.verdict != Required::Missing;
        match word {
            None
            | Some(StatusWord::Skipped | StatusWord::Interrupted | StatusWord::Decided | StatusWord::RolledBack) => {
                Status::Blocked
            }
            Some(StatusWord::Pending) => Status::Pending,
            Some(StatusWord::InProgress) => Status::InProgress,
            Some(StatusWord::WaitingApproval) => Status::WaitingApproval,
            Some(StatusWord::Failed) => {
                if verdict.is_some_and(ReviewVerdict::approves) {
                    let message = format!("step {} failed but its verdict approves; it counts as failed", self.at);
                    self.report(FindingCode::VerdictConflict, "/last_execution/verdict", message, None);
                }
                Status::Failed
            }
            Some(StatusWord::Completed) if has_unknown_verdict => Status::Blocked,
            Some(StatusWord::Completed) => match verdict {
                Some(verdict) if !verdict.approves() => {
                    let message =
                        format!("step {} is completed with the verdict {verdict}; it counts as failed", self.at);
                    self.report(FindingCode::VerdictConflict, "/last_execution/verdict", message, None);
                    Status::Failed
                }
                None if self.at.step.kind() == StepKind::Review => {
                    let message = format!("step {} is completed without a verdict; it counts as approved", self.at);
                    self.report(FindingCode::VerdictMissing, "/last_execution", message, None);
                    Status::Completed
                }
                Some(_) | None => Status::Completed,
            },
            Some(StatusWord::Verdict(_)) if verdict.is_some_and(ReviewVerdict::approves) => Status::Completed,
            Some(StatusWord::Verdict(_)) => Status::Failed,
        }
    }

    /// Returns the review. A failure that the user has decided on is no longer a rejection: the work is sent back
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

    /// Returns the step this failure returns to (docs/formats/nine-step.md#where-a-failure-goes-back-to); `None` to retry the
    /// same step.
    fn returns_to(&self, verdict: Option<ReviewVerdict>, text: &str) -> Option<StepNumber> {
        if let Some(chosen) = self.last.returns_to {
            return (chosen != self.at.step).then_some(chosen);
        }
        match self.at.step {
            StepNumber::Approval => {
                let refused = verdict.is_some_and(|verdict| !verdict.approves());
                let by_user = self.last.agent.as_deref().is_some_and(is_person);
                let asked = refused || by_user || (!text.trim().is_empty() && !is_worktree_failure(text));
                asked.then_some(StepNumber::Plan)
            }
            StepNumber::Testing => is_test_failure(text).then_some(StepNumber::Implementation),
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

/// Reports other fields that contradict `last_execution`, which wins.
fn report_disagreements(
    state: &NineStepState,
    at: StepPosition,
    status: Status,
    source: &Reader<'_>,
    findings: &mut Vec<Finding>,
) {
    if let (Some(phase), Some(step)) = (state.current_phase.get(), state.current_step.get()) {
        let current = StepPosition::new(*phase, *step);
        let is_moved_on = status != Status::Pending && current > at && is_next(at, current);
        // The plugin never updates `current_phase` (docs/formats/nine-step.md#lenient-reading).
        let is_stale_phase = current.step == at.step && current.phase < at.phase;
        if current != at {
            let harmless = is_moved_on || is_stale_phase;
            let code = if harmless { FindingCode::SessionStatusStale } else { FindingCode::StatusConflict };
            let message = format!(
                "`current_phase` and `current_step` say {current}, `last_execution` says {at}; `last_execution` wins"
            );
            findings.push(source.finding(code, "/current_step", message).on(&at.id()));
        }
    }
    let Some(last) = state.last.get().and_then(|last| last.timestamp) else { return };
    let mut ahead = state
        .completed
        .iter()
        .filter(|entry| entry.position().is_some_and(|position| position > at) && entry.timestamp > Some(last));
    if let Some(entry) = ahead.next_back()
        && let Some(position) = entry.position()
    {
        let message = format!(
            "`completed_steps` has a later time for step {position} than `last_execution` ({at}); `last_execution` wins"
        );
        findings.push(source.finding(FindingCode::StatusConflict, &entry.pointer(), message).on(&position.id()));
    }
}

/// Reports the gate and reviews that the list of a phase omits although the run is past them. A list may begin late, with the
/// worktree; steps before its first entry are not reported (docs/formats/nine-step.md#state-before-the-worktree).
fn report_unlisted(state: &NineStepState, at: StepPosition, source: &Reader<'_>, findings: &mut Vec<Finding>) {
    let records = state.completed.iter().chain(&state.history).chain(&state.skipped).chain(&state.approvals);
    let recorded: Vec<StepNumber> = records
        .filter_map(NineStepEntry::position)
        .filter(|position| position.phase == at.phase)
        .map(|position| position.step)
        .collect();
    let Some(first) =
        state.completed.iter().filter_map(NineStepEntry::position).filter(|position| position.phase == at.phase).min()
    else {
        return;
    };
    for step in StepNumber::ALL.into_iter().filter(|step| *step > first.step && *step < at.step) {
        if matches!(step.kind(), StepKind::Gate | StepKind::Review) && !recorded.contains(&step) {
            let position = StepPosition::new(at.phase, step);
            let message = format!(
                "no record says that {position} ({}) was passed; it counts as passed because the run has continued to {at}",
                step.title()
            );
            let finding = source.finding(FindingCode::ApprovalUnrecorded, "/completed_steps", message);
            findings.push(finding.on(&position.id()));
        }
    }
}

fn is_next(at: StepPosition, other: StepPosition) -> bool {
    let next = StepNumber::ALL.into_iter().find(|step| *step > at.step);
    match next {
        Some(next) => other == StepPosition::new(at.phase, next),
        None => other.phase == at.phase.saturating_add(1),
    }
}
