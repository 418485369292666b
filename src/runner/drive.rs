//! Runs the steps in order. Each step is recorded before it begins and after it ends; a first run and a resume take the same path.

use std::collections::VecDeque;

use super::console::Event;
use super::context::RunContext;
use super::error::ProblemKind;
use super::error::RunError;
use super::exec;
use super::failed_log;
use super::finish;
use super::on_end;
use super::on_stop;
use super::report::Decide;
use super::report::EndedStep;
use super::report::RunEnd;
use super::report::RunResult;
use super::resume::ResumeOptions;
use super::resume::ScheduledStep;
use super::retry::Failure;
use super::step_executor::StepExecutor;
use super::step_executor::StepOutcome;
use super::step_executor::StepOutput;
use super::step_executor::refused;
use crate::dialect::script::facts::Facts;
use crate::dialect::script::facts::RetryState;
use crate::model::ChangeKind;
use crate::model::ClaudeWork;
use crate::model::Outcome;
use crate::model::ReviewVerdict;
use crate::model::Status;
use crate::model::human_duration;
use crate::model::quoted;
use crate::store;
use crate::workflow::Command;
use crate::workflow::Step;

/// Runs the steps that are due, then finishes the run.
pub(super) fn drive(
    context: &RunContext<'_>,
    due: &[ScheduledStep],
    asked: &ResumeOptions,
) -> Result<RunResult, RunError> {
    let is_whole = asked.only.is_none() && !asked.gives_up;
    if is_whole && let Some(problem) = on_stop::run_cut_off(context)? {
        context.ledger().release()?;
        return Err(after_stop(context, &problem));
    }
    let mut executor = StepExecutor::new(context)?;
    let end = steps(&mut executor, due, asked).and_then(|end| match end {
        Some(end) => Ok(end),
        None if asked.gives_up => Ok(RunEnd::Stepped { step: "finally".to_owned(), goes_on: false }),
        None => match &asked.only {
            Some(step) => Ok(RunEnd::Stepped { step: step.clone(), goes_on: false }),
            None => finish::finish(&mut executor, asked.yes),
        },
    });
    let failed_stop = if is_whole { on_stop::run(context, &end)? } else { None };
    // The lease is released in any case; an error of the run takes precedence over one of the release.
    let released = context.ledger().release();
    if let Some(command) = context.workflow.on_end.as_ref().filter(|_| is_whole) {
        on_end::run(context, command, &end);
    }
    let end = end.map_err(|error| match &failed_stop {
        Some(problem) => after_stop(context, &format!("{problem}. Before that: {error}")),
        None => error,
    })?;
    released?;
    let ledger = context.ledger();
    let done = ledger.run().steps.iter().filter(|step| step.status.satisfies()).count();
    let tolerated = ledger.state().steps.values().filter(|step| step.tolerated.is_some()).count();
    let up_to_date = ledger.state().steps.values().filter(|step| step.is_up_to_date).count();
    let log = match &end {
        RunEnd::Failed { step, .. } => failed_log::of(context, step),
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
        _ if asked.gives_up => format!("piton drop {}", quoted(&session)),
        // The same step again: the rest of the run was not asked for.
        (Some(step), RunEnd::Failed { .. } | RunEnd::Interrupted(_)) => {
            format!("piton exec {} --run {}", quoted(step), quoted(&session))
        }
        (_, _) => context.header.resume(),
    };
    let (steps, total) = (EndedStep::all(ledger.run()), context.workflow.steps.len());
    Ok(RunResult { session, folder, resume, end, done, tolerated, up_to_date, claude, steps, log, failed_stop, total })
}

/// Returns the error of a run whose `on_stop` failed where no end of it can say so.
fn after_stop(context: &RunContext<'_>, problem: &str) -> RunError {
    let message = format!("`on_stop` of session {} failed: {problem}", context.header.session);
    RunError::new(ProblemKind::Failed, message, [context.header.resume()])
}

/// Runs the steps; returns `None` when all are done, else how the run ended. Where a review can send the run back, the planner is asked anew
/// after each step.
fn steps(
    executor: &mut StepExecutor<'_>,
    due: &[ScheduledStep],
    asked: &ResumeOptions,
) -> Result<Option<RunEnd>, RunError> {
    let total = executor.context.workflow.steps.len();
    let has_reviews = executor.context.workflow.steps.iter().any(|step| step.reviews.is_some());
    let asks_anew = has_reviews && asked.only.is_none();
    let until = asked.until.as_ref().and_then(|text| Some(executor.context.ledger().run().resolve(text)?.id.clone()));
    let mut due: VecDeque<ScheduledStep> = due.iter().copied().collect();
    while let Some(next) = due.pop_front() {
        let step = &executor.context.workflow.steps[next.at];
        let (number, id) = (next.at + 1, step.id.as_str());
        if let Some(stop) = executor.signals.stop() {
            return executor.context.interrupted(stop).map(Some);
        }
        if let Command::Gate(gate) = &step.command {
            let words: Vec<&str> = gate.options.iter().map(|(option, _)| option.word.as_str()).collect();
            let asked = gate.text.as_deref().unwrap_or(&step.title);
            let what = if words.is_empty() { asked.to_owned() } else { format!("{asked}: {}", words.join(", ")) };
            let verb = if words.is_empty() { Decide::Approve } else { Decide::Choose };
            return waiting(executor, next.at, what, verb).map(Some);
        }
        let mut is_over = true;
        match one(executor, step, next, asked.skips_unchanged())? {
            StepOutcome::Completed(produced) => {
                let verdict = produced.report.as_ref().and_then(|report| report.verdict);
                is_over = verdict.is_none_or(|verdict| verdict == ReviewVerdict::Approved);
                executor.context.console.tell(&match (verdict, &produced.tolerated) {
                    (Some(verdict), _) if !is_over => {
                        Event::Returned { number, total, step: id, verdict: verdict.as_str() }
                    }
                    (_, Some(error)) => Event::Tolerated { number, total, step: id, error },
                    (_, None) => Event::Completed { number, total, step: id },
                });
                if let Some(what) = verdict.and_then(|verdict| undecided(executor, step, verdict)) {
                    return waiting(executor, next.at, what, Decide::Accept).map(Some);
                }
            }
            StepOutcome::Skipped(why) => {
                executor.context.console.tell(&Event::Skipped { number, total, step: id, why })
            }
            StepOutcome::Failed(failure) => {
                executor.context.ledger().snapshot()?;
                let error = failure.message.clone();
                executor.context.console.tell(&Event::Failed { number, step: id, error: &error });
                let (step, retryable) = (id.to_owned(), failure.is_transient());
                return Ok(Some(RunEnd::Failed { step, number, error, retryable }));
            }
            StepOutcome::Stopped(stop) => return executor.context.interrupted(stop).map(Some),
        }
        if is_over && until.as_ref() == Some(&step.id) {
            executor.context.ledger().snapshot()?;
            return Ok(Some(RunEnd::Stepped { step: id.to_owned(), goes_on: true }));
        }
        if asks_anew {
            let next = executor.context.ledger().next();
            due.clear();
            due.extend(next.map(|due| ScheduledStep { at: due.at, is_forced: due.is_repeated, is_retry: false }));
        }
    }
    Ok(None)
}

/// How often the work of a step is refused before a person decides.
const REFUSALS: u32 = 3;

/// Returns what a person decides after a verdict, if the run does not go on without that.
fn undecided(executor: &StepExecutor<'_>, step: &Step, verdict: ReviewVerdict) -> Option<String> {
    let ledger = executor.context.ledger();
    let review = ledger.step(&step.id)?;
    match verdict {
        ReviewVerdict::Approved => None,
        ReviewVerdict::ApprovedWithConditions => Some(format!("approved on {}", review.conditions.join("; "))),
        ReviewVerdict::NeedsRevision | ReviewVerdict::Rejected => {
            (review.failures >= REFUSALS).then(|| "the work was refused three times".to_owned())
        }
    }
}

/// Stops where a person decides; a resume goes on from there.
fn waiting(executor: &StepExecutor<'_>, at: usize, what: String, decide: Decide) -> Result<RunEnd, RunError> {
    let step = executor.context.workflow.steps[at].id.as_str().to_owned();
    executor.context.ledger().snapshot()?;
    Ok(RunEnd::Waiting { step, number: at + 1, what, decide })
}

/// Runs one step with all its tries, and records each.
fn one(
    executor: &mut StepExecutor<'_>,
    step: &Step,
    due: ScheduledStep,
    may_skip: bool,
) -> Result<StepOutcome, RunError> {
    let retry = executor.context.ledger().step(&step.id).and_then(|state| state.retry);
    let mut attempt = retry.map_or(1, |retry| retry.attempts.saturating_add(1));
    announce(executor, step, due);
    if let Some(retry) = retry {
        let left = retry.next_at.time_left(executor.context.ticker.now().now);
        if !left.is_zero() {
            let (left, id) = (human_duration(left), &step.id);
            let text = match retry.is_usage_limit {
                true => format!("Usage limit; next try of step {id} in {left}"),
                false => format!("Waiting {left} before the next try of step {id}"),
            };
            executor.context.console.tell(&Event::Note { text: &text });
        }
        if let Some(stop) = exec::pause(left, &executor.signals) {
            return Ok(StepOutcome::Stopped(stop));
        }
    }
    executor.head = executor.context.ledger().step(&step.id).and_then(|state| state.head.clone());
    match executor.skipped_with_others(step).or_else(|| executor.skipped_by_condition(step)) {
        Some(StepOutcome::Skipped(why)) => {
            let kind = ChangeKind::Skip { step: step.id.clone(), part: None, by: None, reason: why.to_owned() };
            let facts = Facts { is_unmet: true, ..Facts::default() };
            executor.context.ledger().record(kind, facts, due.is_forced)?;
            return Ok(StepOutcome::Skipped(why));
        }
        Some(StepOutcome::Failed(failure)) => {
            begin(executor, step, due.is_forced)?;
            failed(executor, step, &failure, None)?;
            return Ok(StepOutcome::Failed(failure));
        }
        Some(StepOutcome::Completed(_) | StepOutcome::Stopped(_)) | None => {}
    }
    let is_first = executor.context.ledger().step(&step.id).is_none_or(|state| state.attempts == 0);
    if may_skip
        && is_first
        && !due.is_forced
        && let Some(run) = executor.up_to_date(step)
    {
        let reason = format!("it is up to date: what it uses, does and leaves is as in {run}");
        let kind = ChangeKind::Skip { step: step.id.clone(), part: None, by: None, reason };
        let facts = Facts { is_up_to_date: true, ..Facts::default() };
        executor.context.ledger().record(kind, facts, false)?;
        return Ok(StepOutcome::Skipped("it is up to date"));
    }
    executor.before = executor.before(step);
    let mut is_forced = due.is_forced;
    let mut waits = 0;
    loop {
        begin(executor, step, is_forced)?;
        // The first begin reopened it.
        is_forced = false;
        let done = match executor.try_once(step)? {
            StepOutcome::Failed(failure) => match executor.retry_delay(step, (attempt, waits), &failure) {
                Some((after, counts)) => {
                    let next_at = executor.context.ticker.now().now.plus(after);
                    // A wait for a usage limit is no try, also for the one who resumes it.
                    let attempts = if counts { attempt } else { attempt.saturating_sub(1) };
                    let retry = RetryState { attempts, next_at, is_usage_limit: !counts };
                    failed(executor, step, &failure, Some(retry))?;
                    if let Some(stop) = exec::pause(after, &executor.signals) {
                        return Ok(StepOutcome::Stopped(stop));
                    }
                    if counts {
                        attempt += 1;
                    } else {
                        waits += 1;
                    }
                    continue;
                }
                None => executor.run_handler(step, failure)?,
            },
            done @ (StepOutcome::Completed(_) | StepOutcome::Skipped(_) | StepOutcome::Stopped(_)) => done,
        };
        return match done {
            StepOutcome::Completed(produced) => completed(executor, step, produced),
            StepOutcome::Failed(failure) => {
                failed(executor, step, &failure, None)?;
                Ok(StepOutcome::Failed(failure))
            }
            done @ (StepOutcome::Skipped(_) | StepOutcome::Stopped(_)) => Ok(done),
        };
    }
}

fn announce(executor: &StepExecutor<'_>, step: &Step, due: ScheduledStep) {
    let (number, total) = (due.at + 1, executor.context.workflow.steps.len());
    let title = executor.context.masks.hide(&step.title);
    executor.context.console.tell(&match due.is_retry {
        true => Event::Retrying { number, title: &title },
        false => Event::Executing { number, total, step: step.id.as_str(), title: &title },
    });
}

fn begin(executor: &mut StepExecutor<'_>, step: &Step, is_forced: bool) -> Result<(), RunError> {
    let context = executor.context;
    context.check_limits(&context.workflow.limits)?;
    let facts = Facts { head: store::git::head(&context.folder).and_then(|head| head.sha), ..Facts::default() };
    let kind = ChangeKind::Begin { step: step.id.clone(), part: None, agent: None, attempt: 0, reopens: Vec::new() };
    let mut ledger = context.ledger();
    ledger.record(kind, facts, is_forced)?;
    executor.head = ledger.step(&step.id).and_then(|state| state.head.clone());
    executor.workflow_step = Some(step.id.clone());
    executor.outputs.clear();
    Ok(())
}

fn completed(executor: &mut StepExecutor<'_>, step: &Step, produced: Box<StepOutput>) -> Result<StepOutcome, RunError> {
    let variables = match executor.take_outputs() {
        Ok(variables) => variables,
        Err(message) => {
            let failure = refused(message);
            failed(executor, step, &failure, None)?;
            return Ok(StepOutcome::Failed(failure));
        }
    };
    let facts = Facts {
        digest: Some(step.digest()),
        variables,
        exit_code: produced.code,
        duration_ms: u64::try_from(produced.took.as_millis()).ok(),
        claude: std::mem::take(&mut executor.work),
        tolerated: produced.tolerated.as_deref().map(|error| executor.context.masks.hide(error)),
        ..Facts::default()
    };
    let masks = &executor.context.masks;
    let verdict = produced.report.as_ref().and_then(|report| report.verdict);
    let status = verdict.map_or(Status::Completed, ReviewVerdict::status);
    let findings = produced.report.iter().flat_map(|report| &report.findings).map(|finding| masks.hide(finding));
    let findings: Vec<String> = findings.collect();
    let mut outcome = Outcome {
        summary: produced.summary.as_deref().map(|text| masks.hide(text)),
        verdict,
        status,
        ..Outcome::completed(step.id.clone())
    };
    if verdict == Some(ReviewVerdict::ApprovedWithConditions) {
        let unnamed = || outcome.summary.clone().unwrap_or_else(|| "the conditions in its report".to_owned());
        outcome.conditions = if findings.is_empty() { vec![unnamed()] } else { findings };
    } else if status == Status::Failed && !findings.is_empty() {
        outcome.error = Some(findings.join("\n"));
    }
    let has_passed = facts.tolerated.is_none();
    executor.context.ledger().record(ChangeKind::Finish(Box::new(outcome)), facts, false)?;
    let before = executor.before.take().filter(|_| has_passed);
    executor.keep_pass(step, before);
    Ok(StepOutcome::Completed(produced))
}

fn failed(
    executor: &mut StepExecutor<'_>,
    step: &Step,
    failure: &Failure,
    retry: Option<RetryState>,
) -> Result<(), RunError> {
    executor.outputs.clear();
    let (retryable, exit_code) = (Some(failure.is_transient()), failure.exit_code);
    let claude = std::mem::take(&mut executor.work);
    let facts = Facts { retryable, exit_code, retry, claude, ..Facts::default() };
    let error = Some(executor.context.masks.hide(&failure.message));
    let outcome = Outcome { status: Status::Failed, error, ..Outcome::completed(step.id.clone()) };
    executor.context.ledger().record(ChangeKind::Finish(Box::new(outcome)), facts, false)
}
