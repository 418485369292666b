//! Rolls back a run: reopens phases, approvals and tasks.

use std::collections::BTreeSet;

use super::{DotagentTarget, DotagentWriter};
use crate::{
    dialect::{
        EditError,
        dotagent::rules::{Phase, PhaseStatus, TaskStatus},
    },
    model::RollBack,
};

/// Fields of attempts in `execution.json` that a rollback clears.
const ATTEMPT_FIELDS: [&str; 4] = ["started_at", "completed_at", "last_error", "resolver_started_at"];

impl DotagentWriter<'_> {
    /// Reopens steps. The first phase with an open step becomes the current one; it is in progress if other steps of it stay
    /// done.
    pub(super) fn reopen_steps(&mut self, back: &RollBack) -> Result<(), EditError> {
        let (mut reached, mut closed, mut gates) = (Vec::new(), Vec::new(), Vec::new());
        let mut works = BTreeSet::new();
        for step in &back.reopened {
            match self.target(step)? {
                DotagentTarget::Phase(phase) => {
                    reached.push(phase);
                    closed.push(phase);
                }
                DotagentTarget::Designs => reached.push(Phase::Architecture),
                DotagentTarget::Gate(phase) => {
                    reached.push(phase);
                    gates.push(phase);
                }
                DotagentTarget::Work(at) => {
                    works.insert(at);
                    self.reopen_task(at, TaskStatus::Pending)?;
                }
                DotagentTarget::Verification(at) if !works.contains(&at) => {
                    self.reopen_task(at, TaskStatus::PreComplete)?
                }
                DotagentTarget::Verification(_) => {}
                DotagentTarget::Resolution(at) => self.drop_task(at, "resolver_started_at")?,
            }
            if let DotagentTarget::Work(_) | DotagentTarget::Verification(_) | DotagentTarget::Resolution(_) =
                self.target(step)?
            {
                reached.push(Phase::Implementation);
                closed.push(Phase::Implementation);
            }
        }
        self.keep_entries("completed_phases", |phase| !closed.contains(&phase))?;
        self.completed.retain(|phase| !closed.contains(phase));
        self.keep_entries("user_checkpoints", |phase| !gates.contains(&phase))?;
        let Some(first) = reached.iter().min().copied() else { return Ok(()) };
        // If only the gate of a phase is reopened, the run waits before the next phase.
        let stands_at = if self.completed.contains(&first) { first.next().unwrap_or(first) } else { first };
        self.phase.set("/current_phase", &serde_json::json!(stands_at.as_str()))?;
        let is_begun = back.keeps.as_ref().is_some_and(|keeps| match self.target(keeps) {
            Ok(DotagentTarget::Phase(phase) | DotagentTarget::Gate(phase)) => {
                phase == stands_at && !closed.contains(&phase)
            }
            Ok(DotagentTarget::Designs) => stands_at == Phase::Architecture,
            Ok(DotagentTarget::Work(_) | DotagentTarget::Verification(_) | DotagentTarget::Resolution(_)) => {
                stands_at == Phase::Implementation
            }
            Err(_) => false,
        });
        // Architects are not asked again while their designs are kept.
        let designs_stay =
            stands_at == Phase::Architecture && !back.reopened.iter().any(|step| is_designs(step.as_str()));
        self.phase_status(if is_begun || designs_stay { PhaseStatus::InProgress } else { PhaseStatus::Pending })
    }

    fn reopen_task(&mut self, at: usize, status: TaskStatus) -> Result<(), EditError> {
        self.set_task_status(at, status)?;
        if status == TaskStatus::Pending {
            self.set_task(at, "attempts", &serde_json::json!(0))?;
            for passed in ATTEMPT_FIELDS {
                self.drop_task(at, passed)?;
            }
        }
        Ok(())
    }
}

fn is_designs(step: &str) -> bool {
    step == crate::dialect::dotagent::steps::DESIGNS
}
