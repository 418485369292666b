//! Helpers for sequential steps and for the status of a run.

use crate::{
    document::Field,
    model::{Finding, FindingCode, RunStatus, Status, Step, StepId, clean_line},
};

/// Adds a step that depends on the previous one.
pub(super) fn follow(steps: &mut Vec<Step>, id: StepId, title: impl Into<String>, status: Status) -> &mut Step {
    let mut step = Step::new(id, title);
    step.status = status;
    step.depends_on = steps.last().map(|before| before.id.clone()).into_iter().collect();
    steps.push(step);
    steps.last_mut().expect("it was just added")
}

/// Returns the first step that is neither completed nor skipped.
pub(super) fn first_open(steps: &[Step]) -> Option<&Step> {
    steps.iter().find(|step| !step.status.satisfies())
}

impl Field<'_> {
    /// Reads the status of a run. A run marked completed with an open step stays active.
    pub(super) fn run_status(self, steps: &[Step]) -> RunStatus {
        let Some(word) = self.text() else { return RunStatus::Active };
        match (word.trim().to_lowercase().as_str(), first_open(steps)) {
            ("active" | "in_progress" | "pending" | "initialized" | "ready", _) => RunStatus::Active,
            ("paused" | "stopped" | "abandoned", _) => RunStatus::Paused,
            ("aborted", _) => RunStatus::Aborted,
            ("completed" | "complete", None) => RunStatus::Completed,
            ("completed" | "complete", Some(open)) => {
                let message = format!("the run is completed, but {} is open", open.id);
                self.report(Finding::new(FindingCode::StateCorrupt, message).on(&open.id));
                RunStatus::Active
            }
            ("failed" | "blocked", _) => {
                let message = format!("the run is recorded as {}", clean_line(word, 20));
                self.report(Finding::new(FindingCode::RunFailed, message));
                RunStatus::Active
            }
            (_, _) => {
                self.report_unknown(FindingCode::StatusUnknown, word, None);
                RunStatus::Active
            }
        }
    }
}
