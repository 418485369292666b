//! Admits or refuses changes: a closed table over the effective status of a step and the requested change.
//!
//! The result is the change as it will be recorded. Attempts and failures are counted only here.

mod amend;
mod checks;
mod decide;
mod gate;

use checks::{agreed_status, find_part};

use super::{
    command,
    graph::Graph,
    plan::Planned,
    reconcile::reconcile,
    reconciled::{EffectiveStatus, ReconciledRun},
    refusal::{Refusal, RefusalKind, refuse},
    reports::refusal_of,
    rollback,
};
use crate::model::{
    Change, ChangeKind, Evidence, Finding, No, Outcome, Run, RunStatus, Status, StepId, StepKind, Suggested, Timestamp,
    Verb, are, plural,
};
pub(super) use checks::open_parts;
pub(crate) use decide::{Decided, answers, decide};

/// Limits of a caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeLimits {
    /// Overrides dependencies, attempt limits and finished steps, never a gate. Only for a caller that acts on the options of a person:
    /// a resume, or the runner.
    pub(crate) force: bool,
    /// A step that must not run twice may run again: a person, or its probe, said that it did not take effect. Nothing else lifts that.
    pub(crate) repeats: bool,
    /// Number of failures of one step before a person has to decide.
    pub(crate) attempt_limit: u32,
    /// The caller's own attempt that is going on has ended: its agent was lost.
    pub(crate) again: bool,
    /// A gate or a review may be skipped: with all open steps of its phase, so with the work that it is about, or by the condition that its
    /// workflow file gives it.
    pub(crate) with_gates: bool,
    /// The caller carried the step out itself, or had its probe run: what it says of the outcome is known.
    pub(crate) knows_outcome: bool,
}

impl ChangeLimits {
    /// Returns the limits of a caller that overrides nothing.
    pub(crate) const fn of(attempt_limit: u32) -> Self {
        let (force, repeats, again, with_gates, knows_outcome) = (false, false, false, false, false);
        Self { force, repeats, attempt_limit, again, with_gates, knows_outcome }
    }
}

/// An admitted change.
#[derive(Clone, Debug)]
pub(crate) enum Admitted {
    Change {
        change: Change,
        /// What `--force` overrode.
        findings: Vec<Finding>,
    },
    /// The state already says so; nothing has to be written.
    Already(String),
}

/// Admits or refuses a change: by the step that it is about, and where the plan has a say ([`asks_plan`]) by what stops the whole run
/// (invariant 16). `load_findings` are the findings of reading the run. There is no plan for a change that does not ask it, and for a caller
/// that asked it when it took the run over.
pub(crate) fn admit(
    run: &Run,
    (evidence, load_findings): (&Evidence, &[Finding]),
    change: Change,
    limits: ChangeLimits,
    planned: Option<&Planned>,
) -> Result<Admitted, Refusal> {
    let graph = Graph::of(run);
    let reconciled = reconcile(run, &graph, evidence, load_findings);
    let admitted = admit_reconciled(ReconciledRun::of(run, &graph, &reconciled), evidence, change, limits);
    let admitted = admitted.map_err(|refusal| match planned {
        Some(planned) => planned.leads_out(refusal),
        None => refusal,
    })?;
    // The dialect refuses what no file records.
    let is_recorded = |id: &StepId| run.step(id).is_none_or(|step| step.recorded);
    match (&admitted, planned) {
        (Admitted::Change { change, .. }, Some(planned))
            if !limits.force && change.kind.step().is_none_or(is_recorded) =>
        {
            planned.refusal_to(change).map_or(Ok(admitted), Err)
        }
        (Admitted::Change { .. } | Admitted::Already(_), _) => Ok(admitted),
    }
}

/// Tells whether the plan has a say in a change: it begins a step, or ends one that was not begun.
pub(crate) fn asks_plan(run: &Run, kind: &ChangeKind) -> bool {
    match kind {
        ChangeKind::Begin { .. } => true,
        ChangeKind::Finish(outcome) => run
            .step(&outcome.step)
            .is_some_and(|step| matches!(step.status, Status::Pending | Status::Blocked | Status::Failed)),
        ChangeKind::Approve { .. }
        | ChangeKind::Skip { .. }
        | ChangeKind::Pause { .. }
        | ChangeKind::Abort { .. }
        | ChangeKind::Resume { .. }
        | ChangeKind::Complete { .. }
        | ChangeKind::Repair { .. }
        | ChangeKind::RollBack(_)
        | ChangeKind::Start(_) => false,
    }
}

/// [`admit`] for a run that is reconciled already.
pub(super) fn admit_reconciled(
    reconciled: ReconciledRun<'_>,
    evidence: &Evidence,
    Change { at, kind }: Change,
    limits: ChangeLimits,
) -> Result<Admitted, Refusal> {
    let check = TransitionCheck { reconciled, evidence, limits, now: at };
    rollback::check_writable(check.reconciled.run)?;
    check.check_not_older(&kind)?;
    let verdict = match kind {
        // The dialect refuses it and says what to do instead.
        ref kind if check.is_unrecorded(kind) => Ok(Admission::Admit(kind.clone())),
        ChangeKind::Begin { step, part, agent, .. } => check.begin(&step, part, agent),
        ChangeKind::Finish(outcome) if outcome.accepts => check.accept(*outcome),
        ChangeKind::Finish(outcome) => check.finish(*outcome),
        ChangeKind::Approve { step, by, note, phases, choice } => {
            check.check_phases(phases).and_then(|()| check.approve(step, (by, note), phases, choice))
        }
        ChangeKind::Skip { step, part, by, reason } => check.skip(step, part, by, reason),
        ChangeKind::Pause { .. } => check.stop(kind, RunStatus::Paused, "is paused already"),
        ChangeKind::Abort { .. } => check.stop(kind, RunStatus::Aborted, "is aborted already"),
        ChangeKind::Resume { ref settled, .. } => check.check_resume(settled).map(|()| Admission::Admit(kind)),
        ChangeKind::Complete { note } => check.complete(note),
        ChangeKind::Repair { .. } => check.check_repair().map(|()| Admission::Admit(kind)),
        ChangeKind::RollBack(back) => {
            let back = check.check_not_aborted().and_then(|()| rollback::admitted(&check.reconciled, *back));
            back.map(|back| Admission::Admit(ChangeKind::RollBack(Box::new(back))))
        }
        ChangeKind::Start(_) => Ok(Admission::Admit(kind)),
    };
    Ok(match verdict? {
        Admission::Admit(kind) => Admitted::Change {
            findings: check.forced_finding(&kind).into_iter().collect(),
            change: Change { at, kind },
        },
        Admission::Already(message) => Admitted::Already(message),
    })
}

/// A change that is not refused, before its findings are added.
enum Admission {
    Admit(ChangeKind),
    Already(String),
}

/// Checks a change against a run and its evidence.
struct TransitionCheck<'a> {
    reconciled: ReconciledRun<'a>,
    evidence: &'a Evidence,
    limits: ChangeLimits,
    now: Timestamp,
}

impl TransitionCheck<'_> {
    fn is_unrecorded(&self, kind: &ChangeKind) -> bool {
        kind.step().is_some_and(|id| self.find(id).is_ok_and(|(_, step)| !step.recorded))
    }

    fn begin(&self, id: &StepId, part: Option<String>, agent: Option<String>) -> Result<Admission, Refusal> {
        let (at, step) = self.find(id)?;
        self.check_not_aborted()?;
        if let Some(part) = &part {
            find_part(step, part)?;
        } else if let Some(already) = self.check_attempt(at)? {
            return Ok(Admission::Already(already));
        }
        self.check_has_work(at)?;
        let effective_status = self.reconciled.effective_status(at);
        let may_repeat_act = self.limits.repeats || step.idempotent || !effective_status.may_have_acted();
        let force = self.limits.force && may_repeat_act;
        let redo = match effective_status {
            EffectiveStatus::Open
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Failed
            | EffectiveStatus::Invalid
            | EffectiveStatus::Blocked
            | EffectiveStatus::Conditions => false,
            EffectiveStatus::Done if !self.reconciled.sent_back(at).is_empty() => true,
            EffectiveStatus::Done | EffectiveStatus::Skipped | EffectiveStatus::Cancelled if force => true,
            EffectiveStatus::Verify if force => false,
            EffectiveStatus::Done => {
                let message = format!("{id} is already done");
                return Err(refuse(RefusalKind::No(No::Already), message, [self.redo_of(id)]));
            }
            EffectiveStatus::Skipped | EffectiveStatus::Cancelled => {
                let message = format!("{id} was left out");
                return Err(refuse(RefusalKind::No(No::Already), message, [self.redo_of(id)]));
            }
            EffectiveStatus::Verify if self.reconciled.is_outcome_unknown(at) => return Err(self.outcome_unknown(at)),
            EffectiveStatus::Verify => {
                let message = format!(
                    "the evidence says that {id} is done, but its state does not: check it before running it again"
                );
                let finish = command::finish(step, &self.reconciled.run.id);
                return Err(refuse(RefusalKind::Person, message, [finish, self.decision("redo", id)]));
            }
            EffectiveStatus::Waiting => {
                let message = format!("{id} waits for a person's approval");
                return Err(refuse(RefusalKind::Person, message, [self.approval(at)]));
            }
            EffectiveStatus::Unreadable | EffectiveStatus::OpenContainer => return Err(self.unreadable(step)),
        };
        let may_repeat = self.limits.force || self.reconciled.compared.decisions.redo(at).is_some();
        if !may_repeat && self.reconciled.returns_to(at).is_some() {
            self.check_verdict_stands(at)?;
        }
        self.check_workspace(at)?;
        self.check_gates(at)?;
        if !redo {
            self.check_dependencies(at)?;
        }
        self.check_limits(at)?;
        // The first part begins the step; later ones belong to the same attempt.
        let attempt = step.attempts.saturating_add(u32::from(part.is_none() && !step.is_reported)).max(1);
        let reopens = self.reopens(at);
        Ok(Admission::Admit(ChangeKind::Begin { step: step.id.clone(), attempt, part, agent, reopens }))
    }

    /// Returns the steps whose results were built on a step that is done again. What a person left out stays left out.
    fn reopens(&self, at: usize) -> Vec<StepId> {
        let steps = &self.reconciled.run.steps;
        let has_result = |status: Status| match status {
            Status::InProgress | Status::Completed | Status::Failed | Status::WaitingApproval => true,
            Status::Pending | Status::Skipped | Status::Cancelled | Status::Blocked => false,
        };
        let mut behind = self.reconciled.graph.all_dependents(at);
        behind.sort_unstable();
        let behind = behind.into_iter().map(|at| &steps[at]);
        behind
            .filter(|step| step.recorded && (step.is_reported || has_result(step.status)))
            .map(|step| step.id.clone())
            .collect()
    }

    fn finish(&self, mut outcome: Outcome) -> Result<Admission, Refusal> {
        let (at, step) = self.find(&outcome.step)?;
        self.check_not_aborted()?;
        let part = outcome.part.as_ref().map(|part| find_part(step, part)).transpose()?;
        outcome.step = step.id.clone();
        outcome.choice = None;
        outcome.status = agreed_status(&outcome)?;
        self.check_phases(outcome.phases)?;
        self.check_target(at, &outcome)?;
        self.amend(at, &mut outcome)?;
        outcome.document = self.document_elsewhere(at, &outcome);
        if let Some(already) = self.may_finish(at, &outcome)? {
            return Ok(Admission::Already(already));
        }
        // A second failure without a begin is one of another attempt.
        let is_unbegun = step.status == Status::Failed
            && outcome.status == Status::Failed
            && part.is_none()
            && !outcome.amends
            && !self.reconciled.compared.decisions.is_begun(at);
        outcome.attempt = step.attempts.max(1).saturating_add(u32::from(is_unbegun));
        outcome.from = Some(part.map_or(step.status, |part| part.status));
        outcome.failures = match (part, outcome.status) {
            (None, Status::Failed) => step.failures.saturating_add(u32::from(!outcome.amends)),
            (None, Status::Completed) => 0,
            // A part ends without the step, and waiting for approval is neither success nor failure.
            (Some(_), _) | (None, _) => step.failures,
        };
        Ok(Admission::Admit(ChangeKind::Finish(Box::new(outcome))))
    }

    /// Records that a person takes work although its review said no or has open conditions, or says that a step took effect that must not
    /// run twice.
    fn accept(&self, mut outcome: Outcome) -> Result<Admission, Refusal> {
        let (at, step) = self.find(&outcome.step)?;
        self.check_not_aborted()?;
        let id = &step.id;
        // Of a step that is done part by part, only the part that was cut off may have taken effect.
        let mut part = None;
        match self.reconciled.effective_status(at) {
            EffectiveStatus::Verify | EffectiveStatus::Interrupted
                if self.reconciled.is_outcome_unknown(at) || !step.idempotent =>
            {
                part = match &outcome.part {
                    Some(named) => Some(find_part(step, named)?),
                    None => command::cut_off_part(step),
                };
                outcome.verdict = outcome.verdict.filter(|_| step.kind == StepKind::Review);
            }
            EffectiveStatus::Done => return Ok(Admission::Already(format!("{id} is done already"))),
            EffectiveStatus::Failed if step.kind == StepKind::Review => {}
            EffectiveStatus::Failed if self.reconciled.is_refused_gate(at) => {
                let (step, by, note) = (id.clone(), outcome.agent, outcome.summary);
                return Ok(Admission::Admit(ChangeKind::Approve { step, by, note, phases: None, choice: None }));
            }
            EffectiveStatus::Conditions => {}
            EffectiveStatus::Open if self.reconciled.compared.decisions.refusal(at).is_some() => {}
            EffectiveStatus::Unreadable if self.reconciled.has_unknown_word(at) && step.kind == StepKind::Gate => {
                let (step, by, note) = (id.clone(), outcome.agent, outcome.summary);
                return Ok(Admission::Admit(ChangeKind::Approve { step, by, note, phases: None, choice: None }));
            }
            EffectiveStatus::Unreadable if self.reconciled.has_unknown_word(at) => {
                outcome.verdict = outcome.verdict.filter(|_| step.kind == StepKind::Review);
            }
            EffectiveStatus::Unreadable => return Err(self.unreadable(step)),
            EffectiveStatus::Failed
            | EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Open
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Waiting
            | EffectiveStatus::Verify
            | EffectiveStatus::Invalid
            | EffectiveStatus::Blocked
            | EffectiveStatus::OpenContainer => {
                let message = format!("no review said no to {id} ({}); it is {}", step.title, step.status);
                return Err(refuse(RefusalKind::No(No::Invalid), message, [self.plan()]));
            }
        }
        outcome.step = id.clone();
        outcome.attempt = step.attempts.max(1);
        outcome.from = Some(part.map_or(step.status, |part| part.status));
        outcome.part = part.map(|part| part.name.clone());
        outcome.despite = refusal_of(step).or_else(|| self.reconciled.compared.decisions.refusal(at).cloned());
        Ok(Admission::Admit(ChangeKind::Finish(Box::new(outcome))))
    }

    /// Returns a message if the state already says so.
    fn may_finish(&self, at: usize, outcome: &Outcome) -> Result<Option<String>, Refusal> {
        let step = &self.reconciled.run.steps[at];
        let id = &step.id;
        let effective_status = self.reconciled.effective_status(at);
        let completes = outcome.status == Status::Completed;
        if effective_status == EffectiveStatus::Unreadable {
            return Err(self.unreadable(step));
        }
        if step.kind == StepKind::Container && effective_status != EffectiveStatus::Verify {
            let message = format!("{id} is done when its child steps are");
            return Err(refuse(RefusalKind::No(No::NotYet), message, ["finish its child steps".to_owned()]));
        }
        if completes
            && outcome.part.is_none()
            && (step.kind == StepKind::Gate || effective_status == EffectiveStatus::Waiting)
        {
            let what = if step.kind == StepKind::Gate { "is a gate" } else { "waits for approval" };
            let message = format!("{} {what}: only a person's approval closes it", id.with_title(&step.title));
            return Err(refuse(RefusalKind::Person, message, [self.approval(at)]));
        }
        // A failure would be tried again. Of the items of a loop, each one is ended by itself.
        let is_answer = completes || outcome.part.is_none();
        if is_answer && !self.limits.knows_outcome && self.reconciled.is_outcome_unknown(at) {
            return Err(self.outcome_unknown(at));
        }
        if outcome.part.is_none()
            && let Some(already) = self.is_recorded(at, outcome)?
        {
            return Ok(Some(already));
        }
        let takes_back = outcome.verdict.is_none_or(|verdict| self.takes_back(at, verdict));
        // A gate that failed is still refused.
        let is_no = step.kind == StepKind::Gate && outcome.status == Status::Failed;
        if outcome.part.is_none() && !outcome.accepts && takes_back && !is_no {
            self.check_verdict_stands(at)?;
        }
        if !self.reconciled.passed_its_gates(at) {
            self.check_gates(at)?;
        }
        let is_open =
            matches!(effective_status, EffectiveStatus::Open | EffectiveStatus::Failed | EffectiveStatus::Blocked);
        // A verdict on disk is not about work that is being redone.
        let is_early = step.kind == StepKind::Review
            && matches!(effective_status, EffectiveStatus::Verify | EffectiveStatus::Interrupted);
        let waits = (is_open || is_early) && !step.ended_unrecorded;
        if waits || (outcome.part.is_none() && self.reconciled.lost_its_base(at)) {
            self.check_dependencies(at)?;
        }
        if step.kind == StepKind::Review && completes && outcome.part.is_none() && outcome.verdict.is_none() {
            let message = format!("{} is a review: its verdict is needed", id.with_title(&step.title));
            return Err(refuse(RefusalKind::Usage, message, [command::finish(step, &self.reconciled.run.id)]));
        }
        if completes && outcome.part.is_none() {
            if !outcome.amends && step.status != Status::InProgress {
                self.check_not_rejected(at)?;
            }
            self.check_parts(at)?;
            self.check_proof(at)?;
            if outcome.document.is_none() && !outcome.amends {
                self.check_documents(at)?;
            }
        }
        Ok(None)
    }

    /// Returns a message if the outcome was recorded before. Refuses one that would undo a recorded success.
    fn is_recorded(&self, at: usize, outcome: &Outcome) -> Result<Option<String>, Refusal> {
        let step = &self.reconciled.run.steps[at];
        let id = &step.id;
        if self.limits.force {
            return Ok(None);
        }
        let says_nothing = outcome.status == Status::Completed && outcome.summary.is_none() && outcome.result.is_none();
        if step.is_reported
            && step.status == Status::Pending
            && says_nothing
            && outcome.verdict.is_none()
            && outcome.outputs.is_empty()
        {
            return Ok(Some(format!("the report of {id} is recorded already")));
        }
        match (self.reconciled.effective_status(at), step.status, outcome.status) {
            (EffectiveStatus::Done, Status::Completed, Status::Completed) if outcome.amends => Ok(None),
            (EffectiveStatus::Done, Status::Completed, Status::Completed) => {
                Ok(Some(format!("{id} is recorded as completed already")))
            }
            (EffectiveStatus::Done, Status::Completed, status) => {
                let message = format!("{id} is recorded as completed; {status} would undo that");
                Err(refuse(RefusalKind::No(No::Already), message, [self.redo_of(id)]))
            }
            // One failure may be reported twice, for example by an agent and a hook.
            (EffectiveStatus::Failed, Status::Failed, Status::Failed)
                if !outcome.amends && step.error.is_some() && step.error == outcome.error =>
            {
                Ok(Some(format!("{id} is recorded as failed already, with the same error")))
            }
            (_, _, _) => Ok(None),
        }
    }

    fn skip(&self, id: StepId, part: Option<String>, by: Option<String>, reason: String) -> Result<Admission, Refusal> {
        let (at, step) = self.find(&id)?;
        if reason.trim().is_empty() {
            let message = format!("a reason is needed to skip {id}");
            return Err(refuse(RefusalKind::Usage, message, [self.decision("skip", &id)]));
        }
        let effective_status = self.reconciled.effective_status(at);
        if let Some(part) = part {
            if effective_status == EffectiveStatus::Unreadable {
                return Err(self.unreadable(step));
            }
            let already = find_part(step, &part)?.status == Status::Skipped;
            return Ok(match already {
                true => Admission::Already(format!("{part} of {id} is skipped already")),
                false => Admission::Admit(ChangeKind::Skip { step: id, part: Some(part), by, reason }),
            });
        }
        match self.reconciled.skip_refusal(at) {
            None if effective_status == EffectiveStatus::Skipped => {
                Ok(Admission::Already(format!("{id} is skipped already")))
            }
            None => Ok(Admission::Admit(ChangeKind::Skip { step: id, part, by, reason })),
            Some(_)
                if self.limits.with_gates
                    && matches!(step.kind, StepKind::Gate | StepKind::Review)
                    && !effective_status.is_over()
                    && effective_status != EffectiveStatus::Unreadable =>
            {
                Ok(Admission::Admit(ChangeKind::Skip { step: id, part, by, reason }))
            }
            Some(_) if effective_status == EffectiveStatus::Unreadable => Err(self.unreadable(step)),
            Some(why) => {
                let is_done = effective_status == EffectiveStatus::Done || step.kind == StepKind::Container;
                let kind = if is_done { RefusalKind::No(No::Invalid) } else { RefusalKind::Person };
                Err(refuse(kind, format!("{} cannot be skipped: {why}", id.with_title(&step.title)), [self.plan()]))
            }
        }
    }

    /// Pauses or aborts a run, unless it is over.
    fn stop(&self, kind: ChangeKind, status: RunStatus, already: &str) -> Result<Admission, Refusal> {
        let run = self.reconciled.run;
        if run.status == status {
            return Ok(Admission::Already(format!("run {} {already}", run.id)));
        }
        let over = match run.status {
            RunStatus::Active | RunStatus::Paused => None,
            RunStatus::Aborted => Some("was aborted"),
            RunStatus::Completed => Some("is complete"),
            RunStatus::Archived => Some("is archived"),
        };
        match over {
            // The status of the run is not reliable while steps are open (docs/formats/ccw.md#session-file).
            Some(what) if run.status == RunStatus::Aborted || self.open().is_empty() => Err(refuse(
                RefusalKind::No(No::Already),
                format!("run {} {what}; it cannot be paused or aborted", run.id),
                [self.plan()],
            )),
            Some(_) | None => Ok(Admission::Admit(kind)),
        }
    }

    fn complete(&self, note: Option<String>) -> Result<Admission, Refusal> {
        let run = self.reconciled.run;
        // A run that is over is cleaned up: its branch goes.
        if self.evidence.merged == Some(false) && !self.limits.force {
            let branch = run.workspace.branch.as_deref().unwrap_or("its branch");
            let message = format!("{branch} is not merged, and the run is over only after that");
            let anyway = Suggested::of(Verb::Close, &run.id).flag("done").yes();
            return Err(refuse(
                RefusalKind::Person,
                message,
                [self.plan().into(), format!("without its work: `{anyway}`")],
            ));
        }
        let open = self.open_before_end();
        let gate = open.iter().copied().find(|at| self.reconciled.is_pending_gate(*at));
        if open.is_empty() && run.status == RunStatus::Completed {
            return Ok(Admission::Already(format!("run {} is complete already", run.id)));
        }
        if open.is_empty() || (self.limits.force && gate.is_none()) {
            return Ok(Admission::Admit(ChangeKind::Complete { note }));
        }
        if self.limits.force
            && let Some(gate) = gate
        {
            return Err(self.behind_gate(&format!("run {}", run.id), gate));
        }
        let shown: Vec<&str> = open.iter().take(5).map(|at| run.steps[*at].id.as_str()).collect();
        let are = are(open.len());
        let more = if open.len() > 5 { ", ..." } else { "" };
        let message =
            format!("{} of {} {are} not done: {}{more}", plural(open.len(), "step"), run.id, shown.join(", "));
        Err(refuse(RefusalKind::No(No::NotYet), message, [self.plan()]))
    }
}

#[cfg(test)]
mod admission_tests;
#[cfg(test)]
mod decide_tests;
#[cfg(test)]
mod finish_tests;
#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod tests;
