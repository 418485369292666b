//! Admits or refuses a change: one closed table over where a step stands and what is wanted of it.
//!
//! What comes out is the change as it will be recorded, with the attempts and failures counted here and nowhere else.

use super::graph::Graph;
use super::plan::quoted;
use super::settle::Standing;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Outcome;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::StepKind;

/// Says why a change is refused and what to do instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) kind: RefusalKind,
    pub(crate) message: String,
    pub(crate) hints: Vec<String>,
}

/// Says what sort of refusal it is, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusalKind {
    /// The run has no such step or part.
    NotFound,
    /// The answer is no: it is done already, or something else comes first.
    No,
    /// A person has to decide.
    Person,
    /// The request contradicts itself.
    Usage,
    /// The state was written by a newer version.
    Newer,
}

/// Holds what bounds a caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    /// Lets a person go on over dependencies, attempt limits and what is done; never over a gate.
    pub(crate) force: bool,
    /// Failures of one step before a person decides.
    pub(crate) attempt_limit: u32,
}

/// Is an admitted change.
#[derive(Clone, Debug)]
pub(crate) enum Admitted {
    Change(Change),
    /// The state says so already; nothing has to be written.
    Already(String),
}

/// Admits or refuses a change.
///
/// `standings` is what `settle` found, by position.
pub(crate) fn admit(run: &Run, standings: &[Standing], change: Change, guard: Guard) -> Result<Admitted, Refusal> {
    if !run.writable {
        return Err(refuse(
            RefusalKind::Newer,
            format!("run {} was written by a newer version of its format; it is read, never written", run.id),
            ["update piton, then try again".to_owned()],
        ));
    }
    let judge = Judge { run, graph: Graph::of(run), standings, guard };
    let Change { at, kind } = change;
    let kind = match kind {
        ChangeKind::Begin { step, part, agent, .. } => judge.begin(&step, part, agent)?,
        ChangeKind::Finish(outcome) => match judge.finish(*outcome)? {
            Ok(outcome) => ChangeKind::Finish(Box::new(outcome)),
            Err(already) => return Ok(Admitted::Already(already)),
        },
        ChangeKind::Approve { step, by, note } => match judge.approve(&step)? {
            None => ChangeKind::Approve { step, by, note },
            Some(already) => return Ok(Admitted::Already(already)),
        },
        ChangeKind::Skip { step, part, reason } => {
            judge.skip(&step, part.as_deref())?;
            ChangeKind::Skip { step, part, reason }
        }
        ChangeKind::Pause { .. } if run.status == RunStatus::Paused => {
            return Ok(Admitted::Already(format!("run {} is paused already", run.id)));
        }
        ChangeKind::Abort { .. } if run.status == RunStatus::Aborted => {
            return Ok(Admitted::Already(format!("run {} was given up already", run.id)));
        }
        ChangeKind::Pause { .. } | ChangeKind::Abort { .. } | ChangeKind::Resume { .. } | ChangeKind::Start(_) => kind,
        ChangeKind::Complete { note } => judge.complete(note)?,
    };
    Ok(Admitted::Change(Change { at, kind }))
}

/// Returns why a step may never be skipped; `None` when it may.
pub(crate) fn skip_refusal(step: &Step) -> Option<String> {
    match (step.kind, step.status) {
        (StepKind::Gate, _) => Some("a gate is approved, never skipped".to_owned()),
        (StepKind::Review, _) => Some("a review is never skipped; record its verdict".to_owned()),
        (StepKind::Work | StepKind::Container, Status::Completed) => Some("it is done".to_owned()),
        (
            StepKind::Work | StepKind::Container,
            Status::Pending
            | Status::InProgress
            | Status::Failed
            | Status::WaitingApproval
            | Status::Blocked
            | Status::Skipped
            | Status::Cancelled,
        ) => None,
    }
}

struct Judge<'a> {
    run: &'a Run,
    graph: Graph<'a>,
    standings: &'a [Standing],
    guard: Guard,
}

impl Judge<'_> {
    fn begin(&self, id: &StepId, part: Option<String>, agent: Option<String>) -> Result<ChangeKind, Refusal> {
        let (at, step) = self.find(id)?;
        if let Some(part) = &part {
            self.find_part(step, part)?;
        }
        if step.kind == StepKind::Container {
            let message = format!("{id} has no work of its own; its child steps are run");
            let children: Vec<&str> = step.children.iter().map(StepId::as_str).collect();
            return Err(refuse(RefusalKind::No, message, [format!("begin one of {}", children.join(", "))]));
        }
        if step.kind == StepKind::Gate {
            let message = format!("{id} ({}) is a gate: a person approves it", step.title);
            return Err(refuse(RefusalKind::Person, message, [self.command("approve", id, "")]));
        }
        let redo = match self.standing(at) {
            Standing::Open
            | Standing::Interrupted
            | Standing::Failed
            | Standing::Invalid
            | Standing::Blocked
            | Standing::Conditions => false,
            Standing::Done if self.is_returned_to(id) => true,
            Standing::Done | Standing::Skipped | Standing::Cancelled if self.guard.force => true,
            Standing::Verify if self.guard.force => false,
            Standing::Done => return Err(self.done_already(id)),
            Standing::Skipped | Standing::Cancelled => {
                let message = format!("{id} was left out");
                return Err(refuse(RefusalKind::No, message, [self.command("begin", id, " --force")]));
            }
            Standing::Verify => {
                let message =
                    format!("the evidence says that {id} is done, and its state does not: it is not run again unseen");
                let finish = self.command("finish", id, " --status completed");
                return Err(refuse(RefusalKind::Person, message, [finish, self.command("begin", id, " --force")]));
            }
            Standing::Waiting => {
                let message = format!("{id} waits for a person's approval");
                return Err(refuse(RefusalKind::Person, message, [self.command("approve", id, "")]));
            }
            Standing::Held | Standing::OpenContainer => return Err(self.held(step)),
        };
        if !redo {
            self.dependencies(at, step)?;
        }
        self.limits(step)?;
        Ok(ChangeKind::Begin { step: step.id.clone(), attempt: step.attempts + u32::from(part.is_none()), part, agent })
    }

    fn finish(&self, mut outcome: Outcome) -> Result<Result<Outcome, String>, Refusal> {
        let (at, step) = self.find(&outcome.step)?;
        outcome.step = step.id.clone();
        if let Some(part) = &outcome.part {
            self.find_part(step, part)?;
        }
        outcome.status = agreed_status(&outcome)?;
        if step.kind == StepKind::Container {
            let message = format!("{} is done when its child steps are", step.id);
            return Err(refuse(RefusalKind::No, message, ["finish its child steps".to_owned()]));
        }
        if step.kind == StepKind::Gate && outcome.status == Status::Completed {
            let message = format!("{} ({}) is a gate: only a person's approval closes it", step.id, step.title);
            return Err(refuse(RefusalKind::Person, message, [self.command("approve", &step.id, "")]));
        }
        if outcome.part.is_none() {
            match self.standing(at) {
                Standing::Done if step.status == Status::Completed => {
                    if outcome.status == Status::Completed {
                        return Ok(Err(format!("{} is recorded as completed already", step.id)));
                    }
                    if !self.guard.force {
                        let message =
                            format!("{} is recorded as completed; {} would undo that", step.id, outcome.status);
                        let hints = [self.command("begin", &step.id, " --force")];
                        return Err(refuse(RefusalKind::No, message, hints));
                    }
                }
                Standing::Open | Standing::Failed | Standing::Blocked => self.dependencies(at, step)?,
                Standing::Held => return Err(self.held(step)),
                Standing::Done
                | Standing::Interrupted
                | Standing::Waiting
                | Standing::Conditions
                | Standing::Verify
                | Standing::Invalid
                | Standing::Skipped
                | Standing::Cancelled
                | Standing::OpenContainer => {}
            }
            if step.kind == StepKind::Review && outcome.status == Status::Completed && outcome.verdict.is_none() {
                let message = format!("{} ({}) is a review: its verdict is needed", step.id, step.title);
                return Err(refuse(
                    RefusalKind::Usage,
                    message,
                    [self.command("finish", &step.id, " --verdict APPROVED")],
                ));
            }
        }
        outcome.attempt = step.attempts.max(1);
        outcome.failures = if outcome.status == Status::Failed { step.failures + 1 } else { 0 };
        outcome.from = Some(step.status);
        Ok(Ok(outcome))
    }

    /// Returns a message when it is approved already.
    fn approve(&self, id: &StepId) -> Result<Option<String>, Refusal> {
        let (at, step) = self.find(id)?;
        let gate = matches!(step.kind, StepKind::Gate);
        match self.standing(at) {
            Standing::Done => return Ok(Some(format!("{} is approved already", step.id))),
            Standing::Waiting | Standing::Conditions => {}
            Standing::Open if gate => self.dependencies(at, step)?,
            // A person accepts what a reviewer did not, or lets a review go on past its limit.
            Standing::Failed if gate || step.kind == StepKind::Review => {}
            Standing::Open
            | Standing::Interrupted
            | Standing::Failed
            | Standing::Invalid
            | Standing::Blocked
            | Standing::Verify
            | Standing::Skipped
            | Standing::Cancelled
            | Standing::OpenContainer => {
                let message = format!("{} ({}) does not wait for approval; it is {}", step.id, step.title, step.status);
                return Err(refuse(RefusalKind::No, message, [format!("piton plan {}", quoted(self.run.id.as_str()))]));
            }
            Standing::Held => return Err(self.held(step)),
        }
        Ok(None)
    }

    fn skip(&self, id: &StepId, part: Option<&str>) -> Result<(), Refusal> {
        let (_, step) = self.find(id)?;
        if let Some(part) = part {
            return self.find_part(step, part);
        }
        match skip_refusal(step) {
            None => Ok(()),
            Some(why) => {
                let kind = if step.status == Status::Completed { RefusalKind::No } else { RefusalKind::Person };
                let next = format!("piton plan {}", quoted(self.run.id.as_str()));
                Err(refuse(kind, format!("{} ({}) cannot be skipped: {why}", step.id, step.title), [next]))
            }
        }
    }

    fn complete(&self, note: Option<String>) -> Result<ChangeKind, Refusal> {
        let open: Vec<&str> = (self.run.steps.iter().zip(self.standings))
            .filter(|(_, standing)| !standing.is_over())
            .map(|(step, _)| step.id.as_str())
            .collect();
        if open.is_empty() || self.guard.force {
            return Ok(ChangeKind::Complete { note });
        }
        let shown = open.iter().take(5).copied().collect::<Vec<_>>().join(", ");
        let message = format!("{} steps of {} are not done: {shown}", open.len(), self.run.id);
        Err(refuse(RefusalKind::No, message, [format!("piton plan {}", quoted(self.run.id.as_str()))]))
    }

    fn dependencies(&self, at: usize, step: &Step) -> Result<(), Refusal> {
        let mut open: Vec<usize> = self.graph.depends_on(at).to_vec();
        open.retain(|on| !self.standing(*on).satisfies());
        let person = self.graph.needed_by(at).into_iter().find(|on| {
            matches!(self.run.steps[*on].kind, StepKind::Gate | StepKind::Review) && !self.standing(*on).satisfies()
        });
        if let Some(on) = person {
            let gate = &self.run.steps[on];
            let message = format!("{} comes after {} ({}), which is {}", step.id, gate.id, gate.title, gate.status);
            let verb = if gate.kind == StepKind::Gate { "approve" } else { "begin" };
            return Err(refuse(RefusalKind::Person, message, [self.command(verb, &gate.id, "")]));
        }
        if (open.is_empty() && step.dangling.is_empty()) || self.guard.force {
            return Ok(());
        }
        let mut names: Vec<&str> = open.iter().map(|on| self.run.steps[*on].id.as_str()).collect();
        names.extend(step.dangling.iter().map(String::as_str));
        let message = format!("{} still waits for {}", step.id, names.join(", "));
        let plan = format!("piton plan {}", quoted(self.run.id.as_str()));
        Err(refuse(RefusalKind::No, message, [plan, self.command("begin", &step.id, " --force")]))
    }

    /// Rule 4: the third failure, or a rejection, is for a person.
    fn limits(&self, step: &Step) -> Result<(), Refusal> {
        if self.guard.force {
            return Ok(());
        }
        let behind = self.run.steps.iter().find(|other| {
            let concerns = other.id == step.id || other.returns_to.as_ref() == Some(&step.id);
            let rejected = other.review.as_ref().is_some_and(|review| review.verdict == ReviewVerdict::Rejected);
            // One that was cut off once too often is in progress by its state.
            let is_cut_off = other.id == step.id && other.status == Status::InProgress;
            let is_over = other.failures >= self.guard.attempt_limit;
            concerns && ((other.status == Status::Failed && (rejected || is_over)) || (is_cut_off && is_over))
        });
        let Some(failed) = behind else { return Ok(()) };
        let what = if failed.failures >= self.guard.attempt_limit {
            format!("failed {} times", failed.failures)
        } else {
            "was rejected".to_owned()
        };
        let message = format!("{} ({}) {what}: a person decides how to go on", failed.id, failed.title);
        let hints = [self.command("approve", &failed.id, ""), self.command("begin", &step.id, " --force")];
        Err(refuse(RefusalKind::Person, message, hints))
    }

    fn is_returned_to(&self, id: &StepId) -> bool {
        self.run.steps.iter().zip(self.standings).any(|(step, standing)| {
            *standing == Standing::Failed && step.id != *id && {
                let at = self.graph.position(&step.id).unwrap_or_default();
                step.returns_to.as_ref() == Some(id)
                    || (step.returns_to.is_some()
                        && self.graph.needed_by(at).iter().any(|needed| self.run.steps[*needed].id == *id))
            }
        })
    }

    fn find(&self, id: &StepId) -> Result<(usize, &Step), Refusal> {
        let found = self.graph.position(id);
        found.map(|at| (at, &self.run.steps[at])).ok_or_else(|| {
            let message = format!("run {} has no step {id}", self.run.id);
            refuse(RefusalKind::NotFound, message, [format!("piton plan {} lists them", quoted(self.run.id.as_str()))])
        })
    }

    fn find_part(&self, step: &Step, part: &str) -> Result<(), Refusal> {
        if step.parts.iter().any(|other| other.name == part) {
            return Ok(());
        }
        let names: Vec<&str> = step.parts.iter().map(|part| part.name.as_str()).collect();
        let hint = if names.is_empty() {
            format!("{} has no parts; leave out --part", step.id)
        } else {
            format!("its parts are {}", names.join(", "))
        };
        Err(refuse(RefusalKind::NotFound, format!("{} has no part {part}", step.id), [hint]))
    }

    fn done_already(&self, id: &StepId) -> Refusal {
        let message = format!("{id} is done; nothing is done twice");
        refuse(RefusalKind::No, message, [self.command("begin", id, " --force")])
    }

    fn held(&self, step: &Step) -> Refusal {
        let file = step.file.as_ref().map_or_else(String::new, |file| format!(" in {file}"));
        let message = format!("what the state says of {}{file} cannot be understood; it is left alone", step.id);
        refuse(RefusalKind::Person, message, [format!("piton validate {}", quoted(self.run.id.as_str()))])
    }

    fn command(&self, verb: &str, id: &StepId, tail: &str) -> String {
        format!("piton {verb} {} --run {}{tail}", quoted(id.as_str()), quoted(self.run.id.as_str()))
    }

    fn standing(&self, at: usize) -> Standing {
        self.standings.get(at).copied().unwrap_or(Standing::Open)
    }
}

/// Returns the status that verdict and status agree on.
fn agreed_status(outcome: &Outcome) -> Result<Status, Refusal> {
    let by_verdict = outcome.verdict.map(|verdict| match verdict {
        ReviewVerdict::Approved | ReviewVerdict::ApprovedWithConditions => Status::Completed,
        ReviewVerdict::NeedsRevision | ReviewVerdict::Rejected => Status::Failed,
    });
    match outcome.status {
        Status::Completed | Status::Failed | Status::WaitingApproval => {}
        Status::Pending | Status::InProgress | Status::Blocked | Status::Skipped | Status::Cancelled => {
            let message = format!("a step does not end as {}", outcome.status);
            return Err(refuse(RefusalKind::Usage, message, ["use completed, failed or waiting_approval".to_owned()]));
        }
    }
    match (by_verdict, outcome.status) {
        (None, status) => Ok(status),
        (Some(by_verdict), status) if by_verdict == status => Ok(status),
        (Some(_), status) => {
            let verdict = outcome.verdict.map_or("", ReviewVerdict::as_str);
            let message = format!("verdict {verdict} and status {status} contradict each other");
            Err(refuse(RefusalKind::Usage, message, ["leave out --status; the verdict decides".to_owned()]))
        }
    }
}

fn refuse<const N: usize>(kind: RefusalKind, message: String, hints: [String; N]) -> Refusal {
    Refusal { kind, message, hints: hints.to_vec() }
}

#[cfg(test)]
#[path = "transition_tests.rs"]
mod tests;
