//! Runs the steps that are due. A first run and a resume take the same path.

use super::{
    context::RunContext,
    error::RunError,
    failed_log, finish, on_stop,
    recorded_step::{self, Reported},
    report::{EndedStep, RunEnd, RunResult},
    resume::{ResumeOptions, ScheduledStep},
    side_by_side,
    step_executor::StepExecutor,
};
use crate::{
    dialect::piton,
    model::{ClaudeWork, Suggested, Verb},
    ops::Exit,
};

/// Runs the steps that are due, then finishes the run.
pub(super) fn drive(
    context: &RunContext<'_>,
    due: &[ScheduledStep],
    asked: &ResumeOptions,
) -> Result<RunResult, RunError> {
    let is_whole = asked.only.is_none() && !asked.gives_up;
    if is_whole && let Some(problem) = on_stop::run_cut_off(context)? {
        return Err(after_stop(context, &problem));
    }
    let mut executor = StepExecutor::new(context)?;
    let end = steps(&mut executor, due, asked).and_then(|end| match end {
        Some(end) => Ok(end),
        None if asked.gives_up => Ok(RunEnd::Stepped { step: "at_end".to_owned(), is_done: true, goes_on: false }),
        None => match &asked.only {
            Some(step) => {
                let is_done = context.ledger().run().resolve(step).is_some_and(|step| step.status.satisfies());
                Ok(RunEnd::Stepped { step: step.clone(), is_done, goes_on: false })
            }
            None => finish::finish(&mut executor, asked.yes),
        },
    });
    let failed_stop = if is_whole { on_stop::run(context, &end)? } else { None };
    // The lease is released in any case; an error of the run takes precedence over one of the release.
    let released = context.ledger().release();
    let end = end.map_err(|error| match &failed_stop {
        Some(problem) => after_stop(context, &format!("{problem}. Before that: {error}")),
        None => error,
    })?;
    released?;
    let ledger = context.ledger();
    let done = ledger.run().steps.iter().filter(|step| step.status.satisfies()).count();
    let tolerated = ledger.state().steps.values().filter(|step| step.tolerated.is_some()).count();
    let failed_items = ledger.state().failed_items();
    let log = match &end {
        RunEnd::Failed { step, .. } => failed_log::of(context, ledger.state(), step),
        RunEnd::Completed(_)
        | RunEnd::Stepped { .. }
        | RunEnd::Waiting { .. }
        | RunEnd::Interrupted(_)
        | RunEnd::Planned(_) => None,
    };
    let mut claude = ClaudeWork::default();
    ledger.state().steps.values().for_each(|step| claude.add(&step.claude));
    let (session, folder) = (context.header.session.clone(), context.folder.as_str().to_owned());
    let resume = match (&asked.only, &end) {
        _ if asked.gives_up => Suggested::of(Verb::Close, &session).flag("discard"),
        // Its agent tries again.
        (Some(step), RunEnd::Failed { .. })
            if ledger.run().resolve(step).is_some_and(|step| piton::is_for_an_agent(&step.definition)) =>
        {
            Suggested::of(Verb::Plan, &session)
        }
        // The same step again: the rest of the run was not asked for.
        (Some(step), RunEnd::Failed { .. } | RunEnd::Interrupted(_)) => {
            Suggested::of(Verb::Exec, step).option("run", &session)
        }
        (_, _) => context.header.resume(),
    };
    let (steps, total) = (EndedStep::all(ledger.run()), context.workflow.steps.len());
    Ok(RunResult {
        session,
        folder,
        resume,
        end,
        done,
        tolerated,
        failed_items,
        claude,
        steps,
        log,
        failed_stop,
        total,
    })
}

/// Returns the error of a run whose `on_stop` failed where no end of it can say so.
fn after_stop(context: &RunContext<'_>, problem: &str) -> RunError {
    let message = format!("`on_stop` of session {} failed: {problem}", context.header.session);
    RunError::new(Exit::StepFailed, message, [context.header.resume().into()])
}

/// Runs the steps; returns `None` when all are done, else how the run ended. A step that is asked for alone and the steps of `at_end` run one
/// after the other, with nothing behind them.
fn steps(
    executor: &mut StepExecutor<'_>,
    due: &[ScheduledStep],
    asked: &ResumeOptions,
) -> Result<Option<RunEnd>, RunError> {
    if asked.only.is_none() && !asked.gives_up {
        return side_by_side::steps(executor, due, asked);
    }
    let context = executor.context;
    executor.is_alone = asked.only.is_some();
    for next in due.iter().copied() {
        if let Some(stop) = executor.signals.stop() {
            return context.interrupted(stop).map(Some);
        }
        let done = recorded_step::one(executor, &context.workflow.steps[next.at], next)?;
        match recorded_step::reported(context, next, done)? {
            Reported::GoesOn { .. } => {}
            Reported::Ends(end) => return Ok(Some(end)),
            Reported::Stopped(stop) => return context.interrupted(stop).map(Some),
        }
    }
    Ok(None)
}
