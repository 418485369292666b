//! What was said about the steps of a run: what agents report and what people decide.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{About, Action, DialectId, DriverProcess, RelPath, ReviewVerdict, Status, StepId, Timestamp, words};

/// A line of the report log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Statement {
    pub(crate) run: String,
    pub(crate) dialect: DialectId,
    #[serde(flatten)]
    pub(crate) kind: StatementKind,
}

impl Statement {
    /// Returns a decision about a whole run.
    pub(crate) fn about_run(
        (run, dialect): (&str, DialectId),
        decision: DecisionKind,
        (by, note): (Option<String>, Option<String>),
        at: Timestamp,
    ) -> Self {
        let decision = Decision::new(None, decision, (by, note), at);
        Self { run: run.to_owned(), dialect, kind: StatementKind::Decision(decision) }
    }

    /// Returns the record that a run goes on which this one aborted; `None` if it is about something else.
    pub(crate) fn taken_back(&self, at: Timestamp) -> Option<Self> {
        let aborts = self.decision().is_some_and(|decision| decision.decision == DecisionKind::Abort);
        aborts.then(|| Self::about_run((&self.run, self.dialect), DecisionKind::Resume, (None, None), at))
    }

    /// Returns the step of a decision.
    pub(crate) fn step(&self) -> Option<&StepId> {
        self.decision().and_then(|decision| decision.step.as_ref())
    }

    /// Returns what a person said with a decision.
    pub(crate) fn note(&self) -> Option<&str> {
        self.decision().and_then(|decision| decision.note.as_deref()).filter(|note| !note.trim().is_empty())
    }

    /// Returns the attempt that it says was begun.
    pub(crate) const fn attempt(&self) -> Option<&Attempt> {
        match &self.kind {
            StatementKind::Begun(attempt) => Some(attempt),
            StatementKind::Decision(_) | StatementKind::Report(_) => None,
        }
    }

    pub(crate) const fn decision(&self) -> Option<&Decision> {
        match &self.kind {
            StatementKind::Decision(decision) => Some(decision),
            StatementKind::Begun(_) | StatementKind::Report(_) => None,
        }
    }
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum StatementKind {
    Begun(Attempt),
    Report(StepReport),
    Decision(Decision),
}

/// An attempt at a step, and its driver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) step: StepId,
    /// The part that was begun, if not the whole step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<String>,
    pub(crate) at: Timestamp,
    /// From 1.
    pub(crate) attempt: u32,
    /// The agent that it was begun for, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    /// What was to be done, and why, when it was begun.
    pub(crate) action: Action,
    pub(crate) reason: String,
    /// HEAD when it was begun, of a step that asks what git has had since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) head: Option<String>,
    /// Files that the attempts before it, which were lost or failed, left half made; empty if git did not say which, `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) half_made: Option<Vec<String>>,
    /// The record that began it, of one that was read.
    #[serde(skip)]
    pub(crate) about: About,
    /// The process behind the driver that `about` names, where this machine knows it.
    #[serde(skip)]
    pub(crate) driver: Option<DriverProcess>,
}

/// Whether a driver is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// It is the caller.
    Caller,
    /// It is another one, and lives.
    Alive,
    Gone,
    /// It cannot be known: another host, or a system that does not tell.
    Unknown,
}

/// What came back for a step. Its texts are untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct StepReport {
    pub(crate) step: StepId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<String>,
    pub(crate) at: Timestamp,
    /// From 1.
    pub(crate) attempt: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) agent: Option<String>,
    pub(crate) status: Status,
    /// It only adds to what is recorded about a step that is done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) amends: bool,
    /// The step had moved when it came: it counts for nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) late: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) verdict: Option<ReviewVerdict>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summary: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) conditions: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) findings: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) files: Vec<RelPath>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) commit: Option<String>,
}

impl StepReport {
    /// Returns the report of a first attempt that was completed, with nothing else said.
    pub(crate) const fn completed(step: StepId, at: Timestamp) -> Self {
        Self {
            step,
            part: None,
            at,
            attempt: 1,
            agent: None,
            status: Status::Completed,
            amends: false,
            late: false,
            verdict: None,
            summary: None,
            error: None,
            conditions: Vec::new(),
            findings: Vec::new(),
            files: Vec::new(),
            commit: None,
        }
    }
}

/// What a person decided. Its texts are untrusted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Decision {
    /// The step that it is about; `null` for the run as a whole.
    pub(crate) step: Option<StepId>,
    pub(crate) decision: DecisionKind,
    pub(crate) at: Timestamp,
    /// The name that was given for the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) note: Option<String>,
    /// The answer, at a gate that offers several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) choice: Option<String>,
    /// What it was decided against: `REJECTED: row counts differ`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) despite: Option<String>,
}

impl Decision {
    /// Returns a decision against nothing, without a choice.
    pub(crate) fn new(
        step: Option<StepId>,
        decision: DecisionKind,
        (by, note): (Option<String>, Option<String>),
        at: Timestamp,
    ) -> Self {
        Self { step, decision, at, by, note, choice: None, despite: None }
    }
}

words! {
    /// The kind of a decision.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
    pub(crate) enum DecisionKind: serde {
        /// A gate was approved.
        Approve = "approve",
        /// Work was taken although its review said no.
        Accept = "accept",
        /// A step is done again, or tried once more after the last failure.
        Redo = "redo",
        /// The run went back to the step.
        RollBack = "rollback",
        /// A step starts out of order, or counts as done without its outputs.
        Override = "override",
        /// A step is left out.
        Skip = "skip",
        /// The run was given up.
        Abort = "abort",
        /// The run stands still until it is resumed.
        Pause = "pause",
        /// A run that was paused or aborted continues.
        Resume = "resume",
    }
}

words! {
    /// The answers that a person can give about a step, besides those of a gate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum PersonsAnswer {
        Approve = "approve",
        /// A gate says no, and its run ends or stops.
        Reject = "reject",
        /// A gate sends the work below it back.
        Revise = "revise",
        Accept = "accept",
        Redo = "redo",
        Override = "override",
        Skip = "skip",
        /// A step that was cut off took effect.
        Happened = "happened",
        /// It did not.
        NotHappened = "not-happened",
    }
    const ALL;
}

impl DecisionKind {
    /// Those about the work. A pause and a resume say nothing about it.
    pub(crate) const ABOUT_WORK: [Self; 7] =
        [Self::Approve, Self::Accept, Self::Redo, Self::RollBack, Self::Override, Self::Skip, Self::Abort];

    /// Returns what was done, for a sentence about it.
    pub(crate) const fn as_past(self) -> &'static str {
        match self {
            Self::Approve => "approved",
            Self::Accept => "accepted",
            Self::Redo => "reopened",
            Self::RollBack => "rolled back",
            Self::Override => "overridden",
            Self::Skip => "skipped",
            Self::Abort => "aborted",
            Self::Pause => "paused",
            Self::Resume => "resumed",
        }
    }
}
