//! The limits of a run: it stops before a try of a step, or an item, once it has spent what its file allows, and where it would wait longer.

use std::time::Duration;

use super::{context::RunContext, error::RunError};
use crate::{
    dialect::piton::{self, facts::Facts},
    model::{ChangeKind, Fix, Timestamp, human_duration, plural},
    ops::Exit,
    workflow::{SpendingLimits, Step},
};

/// What the steps of a run have spent.
struct Spending {
    time: Duration,
    cost_usd: f64,
    attempts: u32,
}

impl Spending {
    /// Returns the limit that is reached, as the file says it.
    fn over(&self, limits: &SpendingLimits) -> Option<String> {
        let time = limits.time.filter(|limit| self.time >= *limit);
        let cost = limits.cost_usd.filter(|limit| self.cost_usd >= *limit);
        let attempts = limits.attempts.filter(|limit| self.attempts >= *limit);
        time.map(|limit| format!("`time` ({})", human_duration(limit)))
            .or_else(|| cost.map(|limit| format!("`cost_usd` (${limit})")))
            .or_else(|| attempts.map(|limit| format!("`attempts` ({limit})")))
    }
}

/// The tries of a step so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tries {
    /// The current one, from 1.
    pub(super) attempt: u32,
    /// The waits for a usage limit, which are no tries.
    pub(super) waits: u32,
    /// How long they were.
    pub(super) waited: Duration,
}

impl Default for Tries {
    fn default() -> Self {
        Self { attempt: 1, waits: 0, waited: Duration::ZERO }
    }
}

/// What follows a failed try.
pub(super) enum NextTry {
    Never,
    After { after: Duration, tries: Tries },
    Person(PersonNeeded),
}

/// Why a person is needed before a step is tried again.
#[derive(Clone, Copy, Debug)]
pub(super) enum PersonNeeded {
    /// What the account may spend is spent.
    ToSpend,
    /// A usage limit ends later than the file lets the run wait.
    ToWait { limit: Duration, next_at: Timestamp },
}

impl PersonNeeded {
    /// Returns when the step can be tried again, if that is known.
    pub(super) const fn next_at(self) -> Option<Timestamp> {
        match self {
            Self::ToSpend => None,
            Self::ToWait { next_at, .. } => Some(next_at),
        }
    }
}

impl RunContext<'_> {
    /// Records that the run stops at a limit, and returns what a person is told. `error` is what the service said.
    pub(super) fn ask_about_limit(&self, step: &Step, error: &str, person: PersonNeeded) -> RunError {
        let (id, step, resume) = (&self.header.session, &step.id, self.header.resume());
        let error = self.masks.hide(error);
        let mut ledger = self.ledger();
        let (message, hints) = match person {
            PersonNeeded::ToSpend => (
                format!("session {id} stopped at step {step}: {error}"),
                vec![format!("once more may be spent: `{resume}`").into()],
            ),
            PersonNeeded::ToWait { limit, next_at } => {
                let limit = format!("`wait` ({})", human_duration(limit));
                let reason = format!("{}{limit}", piton::AT_LIMIT);
                let pause = ChangeKind::Pause { reason: Some(reason) };
                if let Err(error) = ledger.record(pause, Facts::default(), false) {
                    return error;
                }
                let left = human_duration(next_at.time_left(ledger.now()));
                let message = format!(
                    "session {id} stopped at its limit {limit}: step {step} can go on at {next_at} (in {left}): {error}"
                );
                let hints = [
                    format!("then: `{resume}`"),
                    format!("to wait for that: `{}`", resume.clone().flag("over-limits")),
                    format!("or raise `limits` in {}, then: `{resume}`", self.header.workflow.file),
                ];
                (message, hints.map(Fix::from).into())
            }
        };
        match ledger.snapshot() {
            Ok(()) => RunError::problem(Exit::Person, message, hints),
            Err(error) => error,
        }
    }

    /// Stops the run when it has reached one of these limits.
    pub(super) fn check_limits(&self, limits: &SpendingLimits) -> Result<(), RunError> {
        let mut ledger = self.ledger();
        let spent = &ledger.state().run.spent;
        let spending = Spending { time: spent.time(ledger.now()), cost_usd: spent.cost_usd, attempts: spent.attempts };
        let Some(limit) = spending.over(limits) else { return Ok(()) };
        let reason = format!("{}{limit}", piton::AT_LIMIT);
        ledger.record(ChangeKind::Pause { reason: Some(reason) }, Facts::default(), false)?;
        ledger.snapshot()?;
        let (id, resume, file) = (&self.header.session, self.header.resume(), &self.header.workflow.file);
        let message = format!(
            "session {id} stopped at its limit {limit}: its steps ran {} in {} and cost ${:.2}",
            human_duration(spending.time),
            plural(usize::try_from(spending.attempts).unwrap_or(usize::MAX), "attempt"),
            spending.cost_usd,
        );
        let hints = [
            format!("to go on, with all limits counted from there: `{}`", resume.clone().flag("over-limits")),
            format!("or raise `limits` in {file}, then: `{resume}`"),
        ]
        .map(Fix::from);
        Err(RunError::new(Exit::Person, message, hints))
    }
}
