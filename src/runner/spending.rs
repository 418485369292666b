//! The limits of a run: it stops before a try of a step, or an item, once it has spent what its file allows.

use std::time::Duration;

use super::{
    context::RunContext,
    error::{ProblemKind, RunError},
};
use crate::{
    dialect::piton::{self, facts::Facts},
    model::{ChangeKind, human_duration, plural},
    workflow::SpendingLimits,
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

impl RunContext<'_> {
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
            format!("to go on, with all limits counted from there: `{resume} --over-limits`"),
            format!("or raise `limits` in {file}, then: `{resume}`"),
        ];
        Err(RunError::new(ProblemKind::Person, message, hints))
    }
}
