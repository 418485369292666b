//! The `on_stop` steps of a workflow: run when the runner stops before the end. They are no steps of the run, so a resume does not skip
//! them, and what they do changes nothing of what the steps recorded.

use serde_json::Value;

use super::{
    console::Event,
    context::RunContext,
    error::RunError,
    report::RunEnd,
    step_executor::{StepExecutor, StepOutcome},
};
use crate::dialect::piton::facts::Act;

/// Runs the steps where the run stopped; returns why they failed.
pub(super) fn run(context: &RunContext<'_>, end: &Result<RunEnd, RunError>) -> Result<Option<String>, RunError> {
    let is_stop = match end {
        Ok(RunEnd::Completed(_) | RunEnd::Planned(_)) => false,
        Ok(RunEnd::Failed { .. } | RunEnd::Waiting { .. } | RunEnd::Stepped { .. } | RunEnd::Interrupted(_)) => true,
        // A limit, or a merge that was refused; what could not be recorded is not followed by more.
        Err(RunError::Problem(_)) => true,
        Err(RunError::Store(_) | RunError::Refused(_)) => false,
    };
    if context.workflow.on_stop.is_empty() || !is_stop {
        return Ok(None);
    }
    let (status, step) = in_words(end);
    steps(context, status, step)
}

/// Runs the steps again that were cut off when the run last stopped.
pub(super) fn run_cut_off(context: &RunContext<'_>) -> Result<Option<String>, RunError> {
    if context.workflow.on_stop.is_empty() || !context.ledger().state().run.is_stopping {
        return Ok(None);
    }
    context.console.tell(&Event::Note { text: "The steps of `on_stop` were cut off; they run again" });
    steps(context, "interrupted", "")
}

/// Returns what became of a run, and the step that it stopped at, or nothing.
fn in_words(end: &Result<RunEnd, RunError>) -> (&'static str, &str) {
    match end {
        Ok(RunEnd::Completed(_)) => ("completed", ""),
        Ok(RunEnd::Failed { step, .. }) => ("failed", step.as_str()),
        Ok(RunEnd::Waiting { step, .. }) => ("waiting", step.as_str()),
        Ok(RunEnd::Stepped { step, .. }) => ("stepped", step.as_str()),
        Ok(RunEnd::Interrupted(_)) => ("interrupted", ""),
        // Of a run that is only planned, no step is run, and this is not asked.
        Ok(RunEnd::Planned(_)) | Err(_) => ("stopped", ""),
    }
}

fn steps(context: &RunContext<'_>, status: &str, step: &str) -> Result<Option<String>, RunError> {
    // It listens anew: the signal that stopped the run does not end these steps.
    let mut executor = StepExecutor::new(context)?;
    for (name, value) in [("stop.status", status), ("stop.step", step)] {
        executor.locals.insert(name.to_owned(), Value::from(value));
    }
    context.ledger().runner_does(Act::OnStopBegins)?;
    let done = executor.run_all(&context.workflow.on_stop)?;
    let problem = match done {
        StepOutcome::Completed(_) | StepOutcome::Skipped(_) => None,
        StepOutcome::Failed(failure) => Some(context.masks.hide(&failure.message)),
        // The next call runs them again.
        StepOutcome::Stopped(stop) => return Ok(Some(format!("{} stopped them", stop.as_str()))),
    };
    context.ledger().runner_does(Act::OnStopEnds)?;
    if let Some(problem) = &problem {
        let text = format!("`on_stop` failed: {problem}; what the steps recorded is as it was");
        context.console.tell(&Event::Warning { text: &text });
    }
    Ok(problem)
}
