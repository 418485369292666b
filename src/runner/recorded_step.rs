//! Runs one step with all its tries. It is recorded before it begins and after it ends.

use std::time::Duration;

use super::{
    console::Event,
    context::RunContext,
    error::RunError,
    exec::{self, Stop},
    report::{Decide, RunEnd},
    resume::ScheduledStep,
    retry::Failure,
    settle,
    spending::{NextTry, PersonNeeded, Tries},
    step_executor::{StepExecutor, StepOutcome, StepOutput, refused},
};
use crate::{
    dialect::piton::{
        self,
        facts::{Facts, RetryState},
    },
    model::{ChangeKind, Outcome, RelPath, ReviewVerdict, Status, StepId, Suggested, Verb, human_duration},
    ops::{self, Exit},
    store,
    workflow::{Command, Step},
};

/// What follows the end of a step.
pub(super) enum Reported {
    /// `is_over`: it is no review that refused.
    GoesOn {
        is_over: bool,
    },
    Ends(RunEnd),
    Stopped(Stop),
}

/// Reports how a step ended, and returns what follows.
pub(super) fn reported(context: &RunContext<'_>, due: ScheduledStep, done: StepOutcome) -> Result<Reported, RunError> {
    let step = &context.workflow.steps[due.at];
    let (number, total, id) = (due.at + 1, context.workflow.steps.len(), step.id.as_str());
    match done {
        StepOutcome::Completed(produced) => {
            let verdict = produced.report.as_ref().and_then(|report| report.verdict);
            let is_over = verdict.is_none_or(|verdict| verdict == ReviewVerdict::Approved);
            context.console.tell(&match (verdict, &produced.tolerated) {
                (Some(verdict), _) if !is_over => {
                    Event::Returned { number, total, step: id, verdict: verdict.as_str() }
                }
                (_, Some(error)) => Event::Tolerated { number, total, step: id, error },
                (_, None) => Event::Completed { number, total, step: id },
            });
            match verdict.and_then(|verdict| undecided(context, step, verdict)) {
                Some(what) => waiting(context, due.at, what, Decide::Accept).map(Reported::Ends),
                None => Ok(Reported::GoesOn { is_over }),
            }
        }
        StepOutcome::Skipped(why) => {
            context.console.tell(&Event::Skipped { number, total, step: id, why });
            Ok(Reported::GoesOn { is_over: true })
        }
        StepOutcome::Failed(failure) => {
            context.ledger().snapshot()?;
            let error = failure.message.clone();
            context.console.tell(&Event::Failed { number, step: id, error: &error });
            if context.ledger().step(&step.id).is_some_and(|state| state.handled > 0) {
                let text = format!("The handler of step {id} ran; its agent tries again");
                context.console.tell(&Event::Note { text: &text });
                return Ok(Reported::GoesOn { is_over: false });
            }
            let (step, retryable) = (id.to_owned(), failure.is_transient());
            Ok(Reported::Ends(RunEnd::Failed { step, number, error, retryable }))
        }
        StepOutcome::Stopped(stop) => Ok(Reported::Stopped(stop)),
    }
}

/// Stops after the step that was asked for.
pub(super) fn stepped(context: &RunContext<'_>, step: &StepId) -> Result<RunEnd, RunError> {
    context.ledger().snapshot()?;
    Ok(RunEnd::Stepped { step: step.as_str().to_owned(), is_done: true, goes_on: true })
}

/// Stops at a gate.
pub(super) fn at_gate(context: &RunContext<'_>, at: usize) -> Result<RunEnd, RunError> {
    let step = &context.workflow.steps[at];
    let (text, options) = match &step.command {
        Command::Gate(gate) => (gate.text.as_deref(), &gate.options[..]),
        Command::Agent(_)
        | Command::Shell(_)
        | Command::Claude(_)
        | Command::Foreach(_)
        | Command::WriteFile(_)
        | Command::Validate(_) => (None, &[][..]),
    };
    let words: Vec<&str> = options.iter().map(|(option, _)| option.word.as_str()).collect();
    let asked = text.unwrap_or(&step.title);
    let what = if words.is_empty() { asked.to_owned() } else { format!("{asked}: {}", words.join(", ")) };
    let decide = match words.is_empty() {
        true => Decide::Approve,
        false => Decide::Choose(words.into_iter().map(str::to_owned).collect()),
    };
    waiting(context, at, what, decide)
}

/// How often the work of a step is refused before a person decides.
const REFUSALS: u32 = 3;

/// Returns what a person decides after a verdict, if the run does not go on without that.
fn undecided(context: &RunContext<'_>, step: &Step, verdict: ReviewVerdict) -> Option<String> {
    let ledger = context.ledger();
    let review = ledger.step(&step.id)?;
    match verdict {
        ReviewVerdict::Approved => None,
        ReviewVerdict::ApprovedWithConditions => Some(format!("approved on {}", review.conditions.join("; "))),
        ReviewVerdict::Rejected => Some("the work was rejected".to_owned()),
        ReviewVerdict::NeedsRevision => {
            (review.failures >= REFUSALS).then(|| "the work was refused three times".to_owned())
        }
    }
}

/// Stops where a person decides; a resume goes on from there.
fn waiting(context: &RunContext<'_>, at: usize, what: String, decide: Decide) -> Result<RunEnd, RunError> {
    let step = context.workflow.steps[at].id.as_str().to_owned();
    context.ledger().snapshot()?;
    Ok(RunEnd::Waiting { step, number: at + 1, what, decide })
}

/// Runs one step with all its tries, and records each.
pub(super) fn one(executor: &mut StepExecutor<'_>, step: &Step, due: ScheduledStep) -> Result<StepOutcome, RunError> {
    executor.head = executor.context.ledger().step(&step.id).and_then(|state| state.head.clone());
    let is_reported = executor.context.ledger().step(&step.id).is_some_and(|state| state.reported.is_some());
    let left_out = || executor.skipped_with_others(step).or_else(|| executor.skipped_by_condition(step));
    // A person had it done, if its condition does not hold.
    match if is_reported { None } else { left_out() } {
        Some(StepOutcome::Skipped(why)) => {
            executor.context.ledger().leave_out(step.id.clone(), why, due.is_forced)?;
            return Ok(StepOutcome::Skipped(why));
        }
        Some(StepOutcome::Failed(failure)) => {
            announce(executor, step, due);
            begin(executor, step, due)?;
            failed(executor, step, &failure, None)?;
            return Ok(StepOutcome::Failed(failure));
        }
        Some(StepOutcome::Completed(_) | StepOutcome::Stopped(_)) | None => {}
    }
    let retry = executor.context.ledger().step(&step.id).and_then(|state| state.retry);
    let mut tries = Tries { attempt: retry.map_or(1, |retry| retry.attempts.saturating_add(1)), ..Tries::default() };
    announce(executor, step, due);
    if let Some(retry) = retry {
        let left = retry.next_at.time_left(executor.context.ticker.now().now);
        check_wait(executor, step, (retry, left))?;
        if !left.is_zero() {
            tell_wait(executor, step, (retry, left));
        }
        executor.begun = None;
        if let Some(stop) = exec::pause(left, &executor.signals) {
            return Ok(StepOutcome::Stopped(stop));
        }
        tries.waited = if retry.is_usage_limit { left } else { Duration::ZERO };
    }
    let mut scheduled = due;
    loop {
        begin(executor, step, scheduled)?;
        // The first begin reopened it.
        scheduled.is_forced = false;
        let done = match executor.try_once(step)? {
            StepOutcome::Failed(failure) if executor.is_by_hand(step) => executor.run_handler(step, failure)?,
            StepOutcome::Failed(failure) => match executor.next_try(step, tries, &failure) {
                NextTry::After { after, tries: now } => {
                    let next_at = executor.context.ticker.now().now.plus(after);
                    // A wait for a usage limit is no try, also for the one who resumes it.
                    let (attempts, is_usage_limit) = (now.attempt.saturating_sub(1), now.waits > tries.waits);
                    tries = now;
                    failed(executor, step, &failure, Some(RetryState { attempts, next_at, is_usage_limit }))?;
                    if let Some(stop) = exec::pause(after, &executor.signals) {
                        return Ok(StepOutcome::Stopped(stop));
                    }
                    continue;
                }
                NextTry::Person(person) => {
                    let attempts = tries.attempt.saturating_sub(1);
                    let retry = person.next_at().map(|next_at| RetryState { attempts, next_at, is_usage_limit: true });
                    failed(executor, step, &failure, retry)?;
                    return Err(executor.context.ask_about_limit(step, &failure.message, person));
                }
                NextTry::Never => executor.run_handler(step, failure)?,
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

/// Stops the run where a step waits for a usage limit for longer than the file allows.
fn check_wait(executor: &StepExecutor<'_>, step: &Step, (retry, left): (RetryState, Duration)) -> Result<(), RunError> {
    let context = executor.context;
    let limit = context.workflow.limits.wait.filter(|limit| retry.is_usage_limit && left > *limit);
    let Some(limit) = limit else { return Ok(()) };
    let error = context.ledger().step(&step.id).and_then(|state| state.errors.last().cloned()).unwrap_or_default();
    Err(context.ask_about_limit(step, &error, PersonNeeded::ToWait { limit, next_at: retry.next_at }))
}

/// Says how long a step waits that was cut off between two tries, and until when it waits for a usage limit.
fn tell_wait(executor: &StepExecutor<'_>, step: &Step, (retry, after): (RetryState, Duration)) {
    let console = executor.context.console;
    if !retry.is_usage_limit {
        let text = format!("Waiting {} before the next try of step {}", human_duration(after), step.id);
        return console.tell(&Event::Note { text: &text });
    }
    let error = executor.context.ledger().step(&step.id).and_then(|state| state.errors.last().cloned());
    let (source, error) = (executor.source(step), error.as_deref().unwrap_or("a usage limit"));
    let local = i64::from(store::utc_offset(None, retry.next_at.unix_seconds()).unwrap_or(0));
    console.tell(&Event::Limited { source, error, next_at: retry.next_at, local, after });
}

fn announce(executor: &StepExecutor<'_>, step: &Step, due: ScheduledStep) {
    let (number, total) = (due.at + 1, executor.context.workflow.steps.len());
    let title = executor.context.masks.hide(&step.title);
    executor.context.console.tell(&match due.is_retry {
        true => Event::Retrying { number, title: &title },
        false => Event::Executing { number, total, step: step.id.as_str(), title: &title },
    });
}

fn begin(executor: &mut StepExecutor<'_>, step: &Step, due: ScheduledStep) -> Result<(), RunError> {
    let context = executor.context;
    context.check_limits(&context.workflow.limits)?;
    let reported = context.ledger().step(&step.id).and_then(|state| state.reported.clone());
    if step.has_agent() && (reported.is_none() || !executor.is_alone) {
        // As the plan has it before the step begins.
        let brief = ops::brief_of(&context.session, &step.id, context.ticker.now().now);
        let brief = brief.map_err(|error| {
            let message = format!("the brief of step {} cannot be made: {error}", step.id);
            RunError::new(
                Exit::Unreadable,
                message,
                [Suggested::of(Verb::Context, &context.header.session).option("step", &step.id).into()],
            )
        })?;
        executor.brief = Some(Box::new(brief));
    }
    let begun_at = reported.as_ref().and_then(|_| context.ledger().head_of_agent(&step.id));
    let head = begun_at.or_else(|| store::git::head(&context.folder).and_then(|head| head.sha));
    let facts = Facts { head, keeps_items: due.keeps_items, after_agent: reported.is_some(), ..Facts::default() };
    let kind = ChangeKind::Begin { step: step.id.clone(), part: None, agent: None, attempt: 0, reopens: Vec::new() };
    let is_sent_back =
        !due.is_retry && reported.is_none() && settle::is_sent_back(step, &context.workflow, &context.ledger());
    let outputs = if is_sent_back { executor.output_files(step) } else { Ok(Vec::new()) };
    executor.sent_back = settle::digests(&context.folder, &outputs.unwrap_or_default());
    let mut ledger = context.ledger();
    ledger.record(kind, facts, due.is_forced)?;
    executor.begun = None;
    executor.head = ledger.step(&step.id).and_then(|state| state.head.clone());
    (executor.reported, executor.is_handed_back) = (reported, false);
    executor.measured = ledger.step(&step.id).map_or(0, |state| state.measured);
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
    if let Some(reported) = executor.reported.as_deref() {
        let declared = executor.output_files(step).unwrap_or_default();
        let outputs: Vec<RelPath> = declared.into_iter().chain(reported.outputs.clone()).collect();
        // An edit of what its agent was told is not what it worked by.
        let of_work = executor.context.ledger().step(&step.id).and_then(|state| state.digest.clone());
        let is_same = of_work.as_ref().is_none_or(|digest| *digest == piton::work_digest(&step.canonical));
        let digest = if is_same { facts.digest.clone() } else { of_work };
        let facts = Facts { digest: digest.clone(), ..facts };
        let mut outcome = reported.clone();
        if facts.tolerated.is_some() {
            (outcome.status, outcome.error) = (Status::Completed, None);
        }
        ended(executor, step, outcome, facts)?;
        if !outputs.is_empty() {
            executor.context.ledger().record_outputs(&step.id, (&executor.folder, &outputs), digest)?;
        }
        return Ok(StepOutcome::Completed(produced));
    }
    let masks = &executor.context.masks;
    let verdict = produced.report.as_ref().and_then(|report| report.verdict);
    let status = verdict.map_or(Status::Completed, ReviewVerdict::status);
    let findings = produced.report.iter().flat_map(|report| &report.findings).map(|finding| masks.hide(finding));
    let findings: Vec<String> = findings.collect();
    let mut outcome = Outcome {
        summary: produced.summary.as_deref().map(|text| masks.hide(text)),
        agent: step.agent().map(str::to_owned),
        verdict,
        status,
        ..Outcome::completed(step.id.clone())
    };
    if verdict == Some(ReviewVerdict::ApprovedWithConditions) {
        let unnamed = || outcome.summary.clone().unwrap_or_else(|| "the conditions in its report".to_owned());
        outcome.conditions = if findings.is_empty() { vec![unnamed()] } else { findings };
    } else if status == Status::Failed && !findings.is_empty() {
        outcome.error = Some(findings.join("\n"));
        outcome.findings = findings;
    }
    ended(executor, step, outcome, facts)?;
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
    let (claude, is_handled) = (std::mem::take(&mut executor.work), executor.is_handed_back);
    let facts = Facts { retryable, exit_code, retry, claude, is_handled, ..Facts::default() };
    let error = Some(executor.context.masks.hide(&failure.message));
    let outcome = Outcome {
        status: Status::Failed,
        error,
        agent: step.agent().map(str::to_owned),
        ..Outcome::completed(step.id.clone())
    };
    ended(executor, step, outcome, facts)
}

/// Records the end of a step. What agents said about it is kept.
fn ended(executor: &mut StepExecutor<'_>, step: &Step, outcome: Outcome, facts: Facts) -> Result<(), RunError> {
    let mut ledger = executor.context.ledger();
    // What an agent said that drives the step by hand is kept already.
    if step.has_agent() && executor.reported.is_none() {
        return ledger.record_report(outcome, facts);
    }
    ledger.record(ChangeKind::Finish(Box::new(outcome)), facts, false)?;
    drop(ledger);
    executor.reported = None;
    Ok(())
}
