//! The report that an agent ended with: kept by the client's hook, and used by the `finish` that records the step.
//!
//! It never ends a step and never decides: the verdict of a review is the one that `finish` is given, an explicit word wins, and
//! a `finish` without one does not turn a report of failure into success.

use serde::{Deserialize, Serialize};

use super::{OpError, locked_run::LockedRun, opened_run::OpenedRun};
use crate::{
    engine::{self, Refusal, RefusalKind},
    model::{
        AgentReport, AgentStatus, ChangeKind, Evidence, Fix, No, Outcome, ReviewVerdict, Run, Status, Step, StepKind,
        clean_line,
    },
    store,
};

/// Characters of a summary that a message quotes.
const QUOTE_CHARS: usize = 300;

/// A report with the attempt that it is about.
#[derive(Debug, Serialize, Deserialize)]
struct KeptReport {
    attempt: u32,
    report: AgentReport,
}

/// Returns the file that keeps a report.
pub(super) fn file(attempt: u32, report: AgentReport) -> Option<Vec<u8>> {
    serde_json::to_vec(&KeptReport { attempt, report }).ok()
}

/// Returns the report that is kept for an attempt.
pub(super) fn kept(opened: &OpenedRun, run: &Run, step: &Step, attempt: u32) -> Option<AgentReport> {
    let bytes = store::briefs::report(&opened.files.own, &run.id, &step.id)?;
    let kept: KeptReport = serde_json::from_slice(&bytes).ok()?;
    Some(kept.report).filter(|_| kept.attempt == attempt)
}

/// Completes the end of a step with what its agent reported, if that is kept. Explicit words win.
pub(super) fn complete(
    locked: &LockedRun<'_>,
    run: &Run,
    evidence: &Evidence,
    kind: ChangeKind,
) -> Result<ChangeKind, OpError> {
    let ChangeKind::Finish(mut outcome) = kind else { return Ok(kind) };
    let Some((step, report)) = report_on(locked, run, evidence, &outcome) else {
        return Ok(ChangeKind::Finish(outcome));
    };
    if step.kind == StepKind::Review {
        check_verdict(run, step, &outcome, &report)?;
    }
    if outcome.result.is_none() {
        outcome.result = report.result.clone().filter(|_| step.definition.get("result").is_some());
    }
    if outcome.summary.is_none() && outcome.error.is_none() {
        let is_plain = outcome.status == Status::Completed && outcome.verdict.is_none();
        if is_plain && report.status != AgentStatus::Done {
            return Err(OpError::Refused(unfinished(run, step, &report)));
        }
        let sends_back = outcome.verdict.is_some_and(|verdict| !verdict.approves());
        outcome.summary = report.text(!sends_back);
        if sends_back && outcome.findings.is_empty() {
            outcome.findings = report.findings;
        }
    }
    Ok(ChangeKind::Finish(outcome))
}

/// Returns the report of the caller's attempt that a finish ends.
fn report_on<'a>(
    locked: &LockedRun<'_>,
    run: &'a Run,
    evidence: &Evidence,
    outcome: &Outcome,
) -> Option<(&'a Step, AgentReport)> {
    if outcome.part.is_some() || outcome.accepts {
        return None;
    }
    let step = run.resolve(outcome.step.as_str())?;
    let own = engine::own_attempts(run, evidence).into_iter().find(|attempt| attempt.step == step.id)?;
    Some((step, kept(&locked.opened, run, step, own.attempt)?))
}

/// Refuses a verdict that is milder than the reviewer's own word.
fn check_verdict(run: &Run, step: &Step, outcome: &Outcome, report: &AgentReport) -> Result<(), OpError> {
    let mildness = |verdict: ReviewVerdict| ReviewVerdict::ALL.iter().position(|known| *known == verdict);
    let (Some(given), Some(reported)) = (outcome.verdict, report.verdict) else { return Ok(()) };
    if mildness(given) >= mildness(reported) {
        return Ok(());
    }
    let message = format!(
        "the reviewer of {} reported {reported}, not {given}; nothing was recorded. Record the reviewer's own word; a person may \
         accept the work all the same",
        step.id
    );
    let hints = vec![engine::end_command(step, None, &run.id, None).into()];
    Err(OpError::Refused(Refusal { kind: RefusalKind::Person, message, hints }))
}

/// Returns the refusal to record a step as completed whose agent says that it is not.
fn unfinished(run: &Run, step: &Step, report: &AgentReport) -> Refusal {
    let why = report.summary.as_deref().map(|why| clean_line(why, QUOTE_CHARS));
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    let message = format!(
        "the agent of {} reported {}{why}; say how the step ended. Nothing was recorded",
        step.id,
        report.status.as_str()
    );
    let hints =
        [engine::failed_command(step, &run.id), engine::end_command(step, None, &run.id, None)].map(Fix::from).to_vec();
    Refusal { kind: RefusalKind::No(No::Invalid), message, hints }
}
