//! From the arguments of a recording verb to the requested change.

use std::collections::BTreeMap;

use serde_json::Value;

use super::args;
use super::args::EndStatus;
use super::args::Verb;
use super::error::CommandError;
use super::shared_args::Target;
use crate::model::ChangeKind;
use crate::model::DecisionKind;
use crate::model::Outcome;
use crate::model::RelPath;
use crate::model::ReviewVerdict;
use crate::model::Status;
use crate::model::StepId;
use crate::ops;
use crate::ops::ChangeRequest;
use crate::ops::DecisionRequest;
use crate::ops::Rebegin;

/// Returns the run named by the arguments, and the change to one step.
pub(super) fn of_step(verb: &Verb) -> Result<(Option<String>, ChangeRequest), CommandError> {
    let (target, name) = match verb {
        Verb::Begin(begin) => (&begin.target, "begin"),
        Verb::Finish(finish) => (&finish.target, "finish"),
        Verb::Approve(approve) => (&approve.target, "approve"),
        Verb::Skip(skip) => (&skip.target, "skip"),
        _ => return Err(CommandError::usage("this verb does not apply to a step".to_owned())),
    };
    let kind = match &target.json {
        Some(source) => {
            let text = ops::input(source)?;
            ChangeRequest::from_json(&text, name)?
        }
        None => from_flags(verb)?,
    };
    let mut request = request(kind, target);
    if let Verb::Begin(begin) = verb {
        request.rebegin = match (begin.again, begin.take_over) {
            (true, _) => Rebegin::Again,
            (false, true) => Rebegin::TakeOver,
            (false, false) => Rebegin::No,
        };
    }
    Ok((target.run.clone(), request))
}

/// Returns what a person decides about a step.
pub(super) fn decision(verb: DecisionKind, decide: &args::Decide) -> DecisionRequest {
    DecisionRequest {
        step: decide.step.clone(),
        decision: verb,
        by: decide.by.clone(),
        note: decide.note.clone(),
        if_revision: decide.if_revision.clone(),
    }
}

/// Returns the run named by the arguments, and the change to the run as a whole or by a person.
pub(super) fn of_run(verb: &Verb) -> (Option<String>, ChangeRequest) {
    let plain = |kind, if_revision: &Option<String>, force| ChangeRequest {
        force,
        if_revision: if_revision.clone(),
        ..ChangeRequest::of(kind)
    };
    match verb {
        Verb::Abort(abort) => {
            let (by, abort) = (abort.by.clone(), &abort.pause);
            let kind = ChangeKind::Abort { by, reason: abort.reason.clone() };
            (abort.run.run.clone().or_else(|| abort.named.clone()), plain(kind, &abort.if_revision, false))
        }
        Verb::Complete(complete) => {
            let kind = ChangeKind::Complete { note: complete.note.clone() };
            (complete.run.run.clone().or_else(|| complete.named.clone()), plain(kind, &None, complete.force))
        }
        Verb::Accept(accept) => {
            let kind = ChangeKind::Finish(Box::new(Outcome {
                verdict: Some(ReviewVerdict::Approved),
                agent: accept.by.clone(),
                summary: accept.note.clone(),
                accepts: true,
                ..Outcome::completed(StepId::new(&accept.step))
            }));
            (accept.run.clone(), plain(kind, &accept.if_revision, false))
        }
        Verb::Pause(pause) => {
            let kind = ChangeKind::Pause { reason: pause.reason.clone() };
            (pause.run.run.clone().or_else(|| pause.named.clone()), plain(kind, &pause.if_revision, false))
        }
        _ => (None, plain(ChangeKind::Pause { reason: None }, &None, false)),
    }
}

fn request(kind: ChangeKind, target: &Target) -> ChangeRequest {
    ChangeRequest { if_revision: target.if_revision.clone(), ..ChangeRequest::of(kind) }
}

fn from_flags(verb: &Verb) -> Result<ChangeKind, CommandError> {
    let step = |text: &Option<String>| StepId::new(text.clone().unwrap_or_default());
    Ok(match verb {
        Verb::Begin(begin) => ChangeKind::Begin {
            step: step(&begin.step),
            part: begin.part.clone(),
            agent: begin.agent.clone(),
            attempt: 0,
            reopens: Vec::new(),
        },
        Verb::Finish(finish) => ChangeKind::Finish(Box::new(outcome(finish)?)),
        Verb::Approve(approve) => {
            let (by, note) = (approve.by.clone(), approve.note.clone());
            ChangeKind::Approve { step: step(&approve.step), by, note, phases: approve.phases }
        }
        Verb::Skip(skip) => ChangeKind::Skip {
            step: step(&skip.step),
            part: skip.part.clone(),
            by: skip.by.clone(),
            reason: skip.reason.clone().unwrap_or_default(),
        },
        _ => return Err(CommandError::usage("this verb does not apply to a step".to_owned())),
    })
}

fn outcome(finish: &args::Finish) -> Result<Outcome, CommandError> {
    let verdict = finish.verdict.as_deref().map(verdict).transpose()?;
    let status = match (finish.status, verdict) {
        (Some(EndStatus::Completed), _) => Status::Completed,
        (Some(EndStatus::Failed), _) => Status::Failed,
        (Some(EndStatus::WaitingApproval), _) => Status::WaitingApproval,
        (None, Some(verdict)) => verdict.status(),
        (None, None) if finish.error.is_some() => Status::Failed,
        (None, None) => Status::Completed,
    };
    let outputs = finish.output.iter().map(|path| RelPath::parse(path)).collect::<Result<Vec<_>, _>>();
    Ok(Outcome {
        step: StepId::new(finish.step.clone().unwrap_or_default()),
        part: finish.part.clone(),
        status,
        agent: finish.agent.clone(),
        verdict,
        conditions: finish.condition.clone(),
        findings: finish.finding.clone(),
        summary: finish.summary.clone(),
        error: finish.error.clone(),
        outputs: outputs.map_err(|error| CommandError::usage(format!("--output: {error}")))?,
        commit: finish.commit.clone(),
        phases: finish.phases,
        to_step: finish.to_step.as_ref().map(StepId::new),
        set: variables(&finish.set)?,
        attempt: 0,
        failures: 0,
        from: None,
        accepts: false,
        despite: None,
        amends: false,
        document: None,
    })
}

fn verdict(text: &str) -> Result<ReviewVerdict, CommandError> {
    ReviewVerdict::parse(text).ok_or_else(|| {
        CommandError::usage(format!(
            "`{text}` is not a verdict; use APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION or REJECTED"
        ))
    })
}

fn variables(pairs: &[String]) -> Result<BTreeMap<String, Value>, CommandError> {
    let mut variables = BTreeMap::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=') else {
            return Err(CommandError::usage(format!("--set takes NAME=VALUE, not `{pair}`")));
        };
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        variables.insert(name.to_owned(), value);
    }
    Ok(variables)
}
