//! Admits or refuses a person's decisions about a step: that it is done again, or that it starts or ends against a rule.

use super::{Admitted, ChangeLimits, TransitionCheck, admit_reconciled};
use crate::{
    engine::{
        command,
        graph::Graph,
        preconditions::{older_than_log, workspace_problem},
        proof::{missing_documents, unproved},
        reconcile::reconcile,
        reconciled::{EffectiveStatus, ReconciledRun},
        refusal::{Refusal, RefusalKind, refuse},
        reports::refusal_of,
        rollback,
    },
    model::{
        Change, ChangeKind, Decision, DecisionKind, Evidence, Finding, GateOption, No, Outcome, PersonsAnswer,
        QuestionOption, ReviewVerdict, Run, Status, Step, StepKind, Suggested, Timestamp, Verb,
    },
};

/// The answer to a decision that is not refused.
#[derive(Clone, Debug)]
pub(crate) enum Decided {
    /// The decisions to record: one for each step that it is about.
    Record(Vec<Decision>),
    /// It changes nothing, for this reason.
    Already(String),
}

/// Admits or refuses a decision. `load_findings` are the findings of reading the run.
pub(crate) fn decide(
    run: &Run,
    evidence: &Evidence,
    load_findings: &[Finding],
    decision: Decision,
    limits: ChangeLimits,
) -> Result<Decided, Refusal> {
    let graph = Graph::of(run);
    let reconciled = reconcile(run, &graph, evidence, load_findings);
    let now = decision.at;
    let check = TransitionCheck { reconciled: ReconciledRun::of(run, &graph, &reconciled), evidence, limits, now };
    check.decide(decision)
}

/// Returns what a person can decide about each of these steps at this time, with the commands: what the admission lets through.
pub(crate) fn answers(
    run: &Run,
    (evidence, load_findings): (&Evidence, &[Finding]),
    steps: &[&Step],
    (limits, now): (ChangeLimits, Timestamp),
) -> Vec<Vec<QuestionOption>> {
    let graph = Graph::of(run);
    let reconciled = reconcile(run, &graph, evidence, load_findings);
    let check = TransitionCheck { reconciled: ReconciledRun::of(run, &graph, &reconciled), evidence, limits, now };
    steps.iter().map(|step| check.answers(step)).collect()
}

impl TransitionCheck<'_> {
    fn answers(&self, step: &Step) -> Vec<QuestionOption> {
        let (id, run) = (&step.id, &self.reconciled.run.id);
        let is_admitted = |kind: ChangeKind| {
            let change = Change { at: self.now, kind };
            let admitted = admit_reconciled(self.reconciled, self.evidence, change, self.limits);
            step.recorded && matches!(admitted, Ok(Admitted::Change { .. }))
        };
        let is_decided = |decision| {
            let decision = Decision::new(Some(id.clone()), decision, (None, None), self.now);
            matches!(self.decide(decision), Ok(Decided::Record(_)))
        };
        let approves = |choice: Option<&GateOption>| ChangeKind::Approve {
            step: id.clone(),
            by: None,
            note: None,
            phases: None,
            choice: choice.map(|option| option.word.clone()),
        };
        let accepts =
            Outcome { accepts: true, verdict: Some(ReviewVerdict::Approved), ..Outcome::completed(id.clone()) };
        let skips = ChangeKind::Skip { step: id.clone(), part: None, by: None, reason: "-".to_owned() };
        let unknown = self.reconciled.graph.position(id).is_some_and(|at| self.reconciled.is_outcome_unknown(at));
        let (accept, redo) = match unknown {
            true => (
                (PersonsAnswer::Happened, "it took effect"),
                (PersonsAnswer::NotHappened, "it did not take effect: it is done again"),
            ),
            false => ((PersonsAnswer::Accept, "take it as it is"), (PersonsAnswer::Redo, "have it done again")),
        };
        let says_no = |verdict: ReviewVerdict| {
            let no = Outcome { status: verdict.status(), verdict: Some(verdict), ..Outcome::completed(id.clone()) };
            let waits = step.kind == StepKind::Gate || step.status == Status::WaitingApproval;
            waits && step.options.is_empty() && is_admitted(ChangeKind::Finish(Box::new(no)))
        };
        let sends_back = step.returns_to.is_some() && says_no(ReviewVerdict::NeedsRevision);
        let words = [
            ((PersonsAnswer::Approve, "approve it"), step.options.is_empty() && is_admitted(approves(None))),
            ((PersonsAnswer::Revise, "request changes"), sends_back),
            (
                (PersonsAnswer::Reject, "reject it"),
                self.reconciled.run.records.rejections && says_no(ReviewVerdict::Rejected),
            ),
            (accept, is_admitted(ChangeKind::Finish(Box::new(accepts)))),
            (redo, self.reconciled.run.records.redo && is_decided(DecisionKind::Redo)),
            ((PersonsAnswer::Override, "let it start or end against a rule"), is_decided(DecisionKind::Override)),
            ((PersonsAnswer::Skip, "leave it out for good"), is_admitted(skips)),
        ];
        let of_gate = step.options.iter().filter(|option| is_admitted(approves(Some(option))));
        let of_gate = of_gate.map(|option| {
            QuestionOption::new(&option.word, option.effect.in_words(), command::choose(step, run, &option.word))
        });
        let words = words.into_iter().filter(|(_, can)| *can).map(|((word, label), _)| {
            QuestionOption::new(word.as_str(), label, command::decide(word.as_str(), id, run))
        });
        of_gate.chain(words).map(QuestionOption::by_person).collect()
    }

    pub(super) fn decide(&self, decision: Decision) -> Result<Decided, Refusal> {
        let Some(id) = decision.step.clone() else {
            let message = "the decision names no step".to_owned();
            return Err(refuse(RefusalKind::Usage, message, [self.plan()]));
        };
        let (at, step) = self.find(&id)?;
        rollback::check_writable(self.reconciled.run)?;
        self.check_not_aborted()?;
        if !step.recorded {
            let message = format!("{} is read from files that Piton does not write", id.with_title(&step.title));
            let hint = "record the decision in the files that the step is read from".to_owned();
            return Err(refuse(RefusalKind::No(No::NotYours), message, [hint]));
        }
        match decision.decision {
            DecisionKind::Override => self.override_rule(at, decision),
            DecisionKind::Approve => self.approve_end(at, decision),
            DecisionKind::Redo
            | DecisionKind::RollBack
            | DecisionKind::Accept
            | DecisionKind::Skip
            | DecisionKind::Abort
            | DecisionKind::Pause
            | DecisionKind::Resume => self.redo(at, decision),
        }
    }

    /// Approves what follows when every step is done.
    fn approve_end(&self, at: usize, decision: Decision) -> Result<Decided, Refusal> {
        let run = self.reconciled.run;
        let open: Vec<&str> = self.open().into_iter().take(5).map(|at| run.steps[at].id.as_str()).collect();
        if let [_, ..] = open.as_slice() {
            let message = format!("the work of {} is not done: {} open", run.id, open.join(", "));
            return Err(refuse(RefusalKind::No(No::NotYet), message, [self.plan()]));
        }
        if self.reconciled.compared.decisions.approved_end().is_some() {
            return Ok(Decided::Already("the merge is approved already".to_owned()));
        }
        let step = Some(run.steps[at].id.clone());
        Ok(Decided::Record(vec![Decision { step, ..decision }]))
    }

    /// Reopens a step that is over or refused, or lifts the limit of one that failed too often. A refused review reopens what it returns
    /// to, a refused gate what it stands on.
    fn redo(&self, at: usize, decision: Decision) -> Result<Decided, Refusal> {
        let step = &self.reconciled.run.steps[at];
        let id = &step.id;
        let reviews = self.reconciled.sent_back(at);
        let can_begin = |at: usize| {
            if self.reconciled.run.steps[at].is_reported {
                let exec = self.command(Verb::Exec, id);
                let past = Suggested::of(Verb::History, &self.reconciled.run.id);
                let back = Suggested::new(Verb::Restore);
                let message = format!(
                    "its agent has reported: `{exec}` does the rest; `{past}` lists the versions to which `{back}` takes it back"
                );
                return Ok(Decided::Already(message));
            }
            Ok(Decided::Already(format!(
                "{id} is not done: nothing has to be reopened; `{}` shows what is next",
                self.plan()
            )))
        };
        let about = match self.reconciled.effective_status(at) {
            // It is asked again, and has its whole time for the answer.
            _ if self.reconciled.expired(at, self.now).is_some() || self.is_of_older_state(at) => vec![at],
            EffectiveStatus::Unreadable if self.reconciled.has_unknown_word(at) => vec![at],
            EffectiveStatus::Unreadable => return Err(self.unreadable(step)),
            EffectiveStatus::OpenContainer => {
                let message = format!("{id} has no work of its own; its child steps are done again one by one");
                return Err(refuse(RefusalKind::No(No::Invalid), message, [self.plan()]));
            }
            EffectiveStatus::Waiting => {
                let message = format!("{} waits for a person's approval", id.with_title(&step.title));
                return Err(refuse(RefusalKind::Person, message, [self.approval(at)]));
            }
            // It must not run twice, so that no attempt is given up without a word.
            EffectiveStatus::Interrupted if !step.idempotent || self.reconciled.is_driven_elsewhere(at) => vec![at],
            EffectiveStatus::Open
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Invalid
            | EffectiveStatus::Blocked => match self.reconciled.limit(at, self.limits.attempt_limit) {
                None => return can_begin(at),
                Some(_) => vec![at],
            },
            EffectiveStatus::Failed if self.reconciled.compared.decisions.redo(at).is_some() => {
                return can_begin(self.reconciled.returns_to(at).unwrap_or(at));
            }
            EffectiveStatus::Failed if self.says_no_without_target(at) => self.below(at),
            // Without a limit only a review is held back: the same work is not reviewed again by itself.
            EffectiveStatus::Failed => match self.reconciled.limit(at, self.limits.attempt_limit) {
                None if step.kind != StepKind::Review => return can_begin(at),
                None | Some(_) => vec![at],
            },
            EffectiveStatus::Done if !reviews.is_empty() => {
                let limited = |review: &usize| self.reconciled.limit(*review, self.limits.attempt_limit).is_some();
                let limited: Vec<usize> = reviews.into_iter().filter(limited).collect();
                if limited.is_empty() {
                    return can_begin(at);
                }
                limited
            }
            EffectiveStatus::Done | EffectiveStatus::Skipped | EffectiveStatus::Cancelled
                if !self.reconciled.run.records.redo =>
            {
                let message = format!("{id} ({}) is {}, and its format cannot reopen it", step.title, step.status);
                return Err(refuse(RefusalKind::No(No::Invalid), message, [self.plan()]));
            }
            EffectiveStatus::Done
            | EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Conditions
            | EffectiveStatus::Verify => vec![at],
        };
        let decisions = about.into_iter().map(|at| {
            let step = &self.reconciled.run.steps[at];
            Decision { step: Some(step.id.clone()), despite: refusal_of(step), ..decision.clone() }
        });
        Ok(Decided::Record(decisions.collect()))
    }

    /// Tells whether a step is open only because the state is older than the record: a person can choose to do it again.
    fn is_of_older_state(&self, at: usize) -> bool {
        let is_open = !self.reconciled.run.steps[at].status.is_over();
        is_open && older_than_log(self.reconciled.run, self.evidence).is_some()
    }

    /// Tells whether a step refuses the work below it without saying which step it sends the run back to.
    fn says_no_without_target(&self, at: usize) -> bool {
        let step = &self.reconciled.run.steps[at];
        let is_no = step.says_no();
        step.returns_to.is_none() && (is_no || self.reconciled.is_refused_gate(at))
    }

    /// Returns a step that refuses the work below it, and the finished steps it stands on; with a review the work that it approved.
    fn below(&self, gate: usize) -> Vec<usize> {
        let reviewed = |at: usize| {
            let step = &self.reconciled.run.steps[at];
            let work = step.returns_to.as_ref().filter(|_| step.kind == StepKind::Review);
            work.and_then(|work| self.reconciled.graph.position(work))
        };
        let is_done = |at: &usize| self.reconciled.effective_status(*at) == EffectiveStatus::Done;
        let below = self.reconciled.graph.depends_on(gate).iter().copied();
        let below = below.flat_map(|at| [Some(at), reviewed(at)]).flatten().filter(is_done);
        std::iter::once(gate).chain(below).collect()
    }

    /// Lets a step start out of order or in the wrong workspace, or end without its outputs. Nothing goes over a gate or a review.
    fn override_rule(&self, at: usize, decision: Decision) -> Result<Decided, Refusal> {
        let step = &self.reconciled.run.steps[at];
        let id = &step.id;
        let effective_status = self.reconciled.effective_status(at);
        if effective_status == EffectiveStatus::Unreadable {
            return Err(self.unreadable(step));
        }
        if !self.reconciled.passed_its_gates(at) {
            self.check_gates(at)?;
        }
        if self.reconciled.compared.decisions.overrides(at) {
            return Ok(Decided::Already(format!("{id} is overridden already")));
        }
        let mut rules: Vec<String> = Vec::new();
        if !self.reconciled.is_ready(at) {
            rules.push(format!("{id} {}", self.reconciled.waits_in_words(at)));
        }
        rules.extend(workspace_problem(self.reconciled.run, self.evidence).map(|wrong| wrong.message));
        let stands_on_done = |on: &usize| self.reconciled.effective_status(*on) != EffectiveStatus::Invalid;
        let is_doubted = step.status == Status::Completed
            && effective_status == EffectiveStatus::Invalid
            && self.reconciled.graph.depends_on(at).iter().all(stands_on_done);
        if is_doubted {
            rules.extend(self.reconciled.compared.reasons.get(at).into_iter().flatten().cloned());
        } else if step.status == Status::InProgress {
            rules.extend(unproved(self.reconciled.run, step, self.evidence));
        }
        let is_open_gate = step.kind == StepKind::Gate && step.status != Status::Completed;
        if is_open_gate || step.status == Status::InProgress {
            rules.extend(missing_documents(step, self.evidence));
        }
        if rules.is_empty() {
            let message =
                format!("nothing stops {id} ({}) that could be overridden; it is {}", step.title, step.status);
            return Err(refuse(RefusalKind::No(No::Nothing), message, [self.plan()]));
        }
        Ok(Decided::Record(vec![Decision { step: Some(id.clone()), despite: Some(rules.join("; ")), ..decision }]))
    }
}
