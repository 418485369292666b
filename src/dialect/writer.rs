//! What the writers of all formats share: a method per kind of change, which refuses unless the format can express the change.
//!
//! The refusals have one form: what the format cannot do, and what to do instead.

use std::fmt::Display;

use super::{EditError, optional::NO_OTHER_EVIDENCE};
use crate::model::{
    Change, ChangeKind, Edit, Interruption, Outcome, RollBack, RunId, Status, StepId, Suggested, Verb, mask_secrets,
};

/// A step, or a part of it, that begins.
pub(super) struct Begun<'a> {
    pub(super) step: &'a StepId,
    pub(super) part: Option<&'a str>,
    pub(super) agent: Option<&'a str>,
    pub(super) attempt: u32,
}

/// An approval by a person.
pub(super) struct Approval<'a> {
    pub(super) step: &'a StepId,
    pub(super) by: Option<&'a str>,
    pub(super) note: Option<&'a str>,
    /// How many phases the approved plan has.
    pub(super) phases: Option<u32>,
}

/// An interrupted run that continues.
pub(super) struct Resumed<'a> {
    pub(super) steps: &'a [StepId],
    pub(super) interruption: Option<&'a Interruption>,
    pub(super) strategy: Option<&'a str>,
    /// Steps whose recorded status lags behind the evidence, with the status to record.
    pub(super) settled: &'a [(StepId, Status)],
}

/// A state being written. A method that a format does not have refuses the change.
pub(super) trait StateWriter: Sized {
    /// What is written, as the subject of a refusal.
    const WHAT: &'static str;

    /// Whether parts of a step can be changed on their own.
    const HAS_PARTS: bool = false;

    /// Returns what is written, which may differ between the formats of one writer.
    fn what(&self) -> &'static str {
        Self::WHAT
    }

    /// Returns the run as commands name it.
    fn run(&self) -> RunId {
        RunId::new("RUN")
    }

    /// Returns what to do instead of a change that the format cannot express. `step` is what the change is about, if anything.
    fn instead(&self, _step: Option<&StepId>) -> String {
        format!("`{}` shows what comes next", Suggested::of(Verb::Plan, self.run()))
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        self.refuse(format!("record that {} begins", begun.step), Some(begun.step))
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        self.refuse(format!("record how {} ends", outcome.step), Some(&outcome.step))
    }

    fn approve(&mut self, approval: &Approval<'_>) -> Result<(), EditError> {
        self.refuse(format!("record an approval of {}", approval.step), Some(approval.step))
    }

    fn skip(&mut self, step: &StepId, _part: Option<&str>, _reason: &str) -> Result<(), EditError> {
        self.refuse(format!("skip {step}"), Some(step))
    }

    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.refuse("be paused", None)
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.refuse("be resumed", None)
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.refuse("be completed as a whole", None)
    }

    fn roll_back(&mut self, _back: &RollBack) -> Result<(), EditError> {
        let history = Suggested::of(Verb::History, self.run());
        let instead = format!("restore an earlier version: `{history}` lists them");
        Err(EditError::cannot(self.what(), "reopen steps", instead))
    }

    /// Returns the edits of the state, with what is written after every change.
    ///
    /// # Errors
    ///
    /// If that cannot be written.
    fn into_edits(self) -> Result<Vec<Edit>, EditError>;

    /// Refuses what the format cannot do.
    ///
    /// # Errors
    ///
    /// Always.
    fn refuse<T>(&self, deed: impl Display, step: Option<&StepId>) -> Result<T, EditError> {
        Err(EditError::cannot(self.what(), deed, self.instead(step)))
    }

    /// Returns whether the outcome is a success; refuses anything but success and failure.
    ///
    /// # Errors
    ///
    /// If it is neither.
    fn completes(&self, outcome: &Outcome) -> Result<bool, EditError> {
        match outcome.status {
            Status::Completed => Ok(true),
            Status::Failed => Ok(false),
            Status::Pending
            | Status::InProgress
            | Status::WaitingApproval
            | Status::Blocked
            | Status::Skipped
            | Status::Cancelled => {
                let deed = format!("record {} as {}", outcome.step, outcome.status);
                Err(EditError::cannot(self.what(), deed, "a step ends as completed or failed"))
            }
        }
    }
}

/// Returns the error or the summary of an outcome, with secrets masked.
pub(super) fn outcome_text(outcome: &Outcome) -> Option<String> {
    outcome.error.as_deref().or(outcome.summary.as_deref()).map(|text| mask_secrets(text).into_owned())
}

/// Writes one change and returns its edits.
///
/// # Errors
///
/// If the format cannot express the change, or a file cannot be edited safely.
pub(super) fn write<W: StateWriter>(mut writer: W, change: &Change) -> Result<Vec<Edit>, EditError> {
    let part = change.kind.part().filter(|_| !W::HAS_PARTS);
    if let Some(part) = part {
        return Err(EditError::cannot(writer.what(), format!("change `{part}` alone"), "its steps have no parts"));
    }
    match &change.kind {
        ChangeKind::Begin { step, part, agent, attempt, .. } => {
            let (part, agent) = (part.as_deref(), agent.as_deref());
            writer.begin(&Begun { step, part, agent, attempt: *attempt })?;
        }
        ChangeKind::Finish(outcome) => writer.finish(outcome)?,
        ChangeKind::Approve { step, by, note, phases, .. } => {
            writer.approve(&Approval { step, by: by.as_deref(), note: note.as_deref(), phases: *phases })?;
        }
        ChangeKind::Skip { step, part, reason, .. } => writer.skip(step, part.as_deref(), reason)?,
        ChangeKind::Pause { reason } => writer.pause(reason.as_deref())?,
        ChangeKind::Resume { steps, interruption, strategy, settled } => {
            let (interruption, strategy) = (interruption.as_ref(), strategy.as_deref());
            writer.resume(&Resumed { steps, interruption, strategy, settled })?;
        }
        ChangeKind::Complete { note } => writer.complete(note.as_deref())?,
        ChangeKind::RollBack(back) => writer.roll_back(back)?,
        ChangeKind::Repair { .. } => return Err(EditError::Unsupported(NO_OTHER_EVIDENCE.to_owned())),
        // The journal has the record.
        ChangeKind::Abort { .. } => return Err(EditError::cannot(writer.what(), "be aborted", writer.instead(None))),
        ChangeKind::Start(_) => return Err(EditError::cannot(writer.what(), "be started again", writer.instead(None))),
    }
    writer.into_edits()
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
