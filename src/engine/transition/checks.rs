//! Checks that several changes share, with their refusals.

use super::TransitionCheck;
use crate::{
    engine::{
        command,
        preconditions::{may_be_there, older_than_log, workspace_problem},
        proof::{missing_documents, unproved},
        reconciled::{EffectiveStatus, Limit},
        refusal::{Refusal, RefusalKind, refuse},
        reports::{begun_by, refusal_of},
    },
    model::{
        ChangeKind, Finding, FindingCode, Fix, No, Outcome, Part, PartKind, Presence, RelPath, ReviewVerdict,
        RunStatus, Status, Step, StepId, StepKind, Suggested, Verb, are, clean_line, mask_secrets, plural,
    },
};

/// Characters of a list of conditions.
const LIST_CHARS: usize = 160;

impl TransitionCheck<'_> {
    pub(super) fn check_has_work(&self, at: usize) -> Result<(), Refusal> {
        let step = &self.reconciled.run.steps[at];
        let id = &step.id;
        match step.kind {
            StepKind::Work | StepKind::Review if step.is_command && !self.limits.knows_outcome => {
                let message = match step.is_reported {
                    true => format!("the agent of {id} has reported; piton does the rest of the step"),
                    false => format!("{id} is a command, which piton runs itself"),
                };
                Err(refuse(RefusalKind::No(No::NotYours), message, [self.command(Verb::Exec, id)]))
            }
            StepKind::Work | StepKind::Review => Ok(()),
            StepKind::Gate if self.reconciled.effective_status(at) == EffectiveStatus::Done => {
                let message = format!("{} is a gate and already approved", id.with_title(&step.title));
                Err(refuse(RefusalKind::No(No::Already), message, [self.plan()]))
            }
            StepKind::Gate => {
                // Where it cannot be approved either, that is why it cannot begin.
                self.approvable(at, None)?;
                let message = format!("{} is a gate: a person approves it", id.with_title(&step.title));
                Err(refuse(RefusalKind::Person, message, [self.approval(at)]))
            }
            StepKind::Container => {
                let message = format!("{id} has no work of its own; run its child steps");
                let position = |id: &StepId| self.reconciled.graph.position(id);
                let can_begin = |at: &usize| {
                    let child = &self.reconciled.run.steps[*at];
                    self.reconciled.is_ready(*at)
                        && !self.reconciled.effective_status(*at).is_over()
                        && matches!(child.kind, StepKind::Work | StepKind::Review)
                };
                let ready = step.children.iter().filter_map(position).find(can_begin);
                let hint = match (step.children.is_empty(), ready) {
                    (true, _) => command::finish(step, &self.reconciled.run.id),
                    (false, Some(at)) => self.command(Verb::Begin, &self.reconciled.run.steps[at].id),
                    (false, None) => self.plan(),
                };
                Err(refuse(RefusalKind::No(No::NotYours), message, [hint]))
            }
        }
    }

    /// Returns a message if the caller has the step in progress. Refuses if another driver does that lives, or may live.
    pub(super) fn check_attempt(&self, at: usize) -> Result<Option<String>, Refusal> {
        let Some((attempt, presence)) = self.reconciled.attempt(at) else { return Ok(None) };
        let id = &attempt.step;
        // A person said that it is done again.
        if presence == Presence::Caller && self.reconciled.own_attempt(at).is_none() {
            return Ok(None);
        }
        let begun = format!("{id} is in progress (attempt {})", attempt.attempt);
        match (presence, self.limits.again) {
            (Presence::Caller, false) if !self.reconciled.run.steps[at].idempotent => {
                Ok(Some(format!("{begun}, begun by you; it must not run twice, so finish it")))
            }
            (Presence::Caller, true) if !self.reconciled.run.steps[at].idempotent => Err(self.outcome_unknown(at)),
            (Presence::Caller, false) => {
                let again = self.command(Verb::Begin, id).flag("again");
                Ok(Some(format!("{begun}, begun by you; if its agent was lost: `{again}`")))
            }
            (Presence::Alive, _) => {
                let message = format!("{begun}: {}, and is still there", begun_by(attempt));
                Err(refuse(RefusalKind::Conflict, message, [Suggested::of(Verb::Status, &self.reconciled.run.id)]))
            }
            (Presence::Unknown, _) if self.reconciled.is_driven_elsewhere(at) => {
                let message = format!("{begun}: {}", may_be_there(attempt));
                Err(refuse(RefusalKind::Person, message, [command::answers(id, &self.reconciled.run.id)]))
            }
            (Presence::Caller, true) | (Presence::Unknown | Presence::Gone, _) => Ok(None),
        }
    }

    /// Returns the refusal to go on with a step that must not run twice and was cut off: whether it took effect, a person says.
    pub(super) fn outcome_unknown(&self, at: usize) -> Refusal {
        let step = &self.reconciled.run.steps[at];
        let message =
            format!("{} must not run twice, and it is unknown whether it took effect: a person finds out", step.id);
        let [did, did_not] = command::effect(step, &self.reconciled.run.id);
        let hints = [format!("if it did: `{did}`"), format!("if it did not: `{did_not}`")];
        refuse(RefusalKind::Person, message, hints)
    }

    /// Refuses to approve a review that said no: new work or a person lifts that, not another word about the same work.
    pub(super) fn check_verdict_stands(&self, at: usize) -> Result<(), Refusal> {
        let step = &self.reconciled.run.steps[at];
        if step.kind == StepKind::Gate && self.reconciled.is_refused_gate(at) {
            return Err(self.says_no(at));
        }
        if !step.says_no() {
            return Ok(());
        }
        let is_failed = self.reconciled.effective_status(at) == EffectiveStatus::Failed;
        if !is_failed
            || step.kind != StepKind::Review
            || step.status != Status::Failed
            || self.reconciled.was_reworked(at)
        {
            return Ok(());
        }
        Err(self.says_no(at))
    }

    /// Tells whether a verdict takes back a no: it approves, or asks for a revision of what was rejected.
    pub(super) fn takes_back(&self, at: usize, verdict: ReviewVerdict) -> bool {
        let recorded = self.reconciled.run.steps[at].review.as_ref().map(|review| review.verdict);
        verdict.approves() || (verdict, recorded) == (ReviewVerdict::NeedsRevision, Some(ReviewVerdict::Rejected))
    }

    /// Returns the refusal to go past a review or gate that said no: new work or a person's decision lifts that.
    pub(super) fn says_no(&self, at: usize) -> Refusal {
        let step = &self.reconciled.run.steps[at];
        let id = &step.id;
        let said = refusal_of(step).unwrap_or_else(|| step.status.to_string());
        let message = format!("{} is {said}; new work or a person lifts that", id.with_title(&step.title));
        let rework = self.reconciled.returns_to(at).map(|target| &self.reconciled.run.steps[target].id);
        let mut hints = self.ways_out(at);
        if step.kind == StepKind::Review && self.reconciled.limit(at, self.limits.attempt_limit).is_none() {
            // Its work may be done again without a decision.
            hints.retain(|hint| *hint != self.decision("redo", id));
            hints.insert(0, self.command(Verb::Begin, rework.unwrap_or(id)));
        }
        refuse(RefusalKind::Person, message, hints)
    }

    /// Refuses to record anything in a state that is older than what was recorded: the newer one would be lost for good.
    pub(super) fn check_not_older(&self, kind: &ChangeKind) -> Result<(), Refusal> {
        match kind {
            ChangeKind::Begin { .. }
            | ChangeKind::Finish(_)
            | ChangeKind::Approve { .. }
            | ChangeKind::Skip { .. }
            | ChangeKind::Pause { .. }
            | ChangeKind::Resume { .. }
            | ChangeKind::Complete { .. } => {}
            ChangeKind::Abort { .. } | ChangeKind::Repair { .. } | ChangeKind::RollBack(_) | ChangeKind::Start(_) => {
                return Ok(());
            }
        }
        let Some(older) = older_than_log(self.reconciled.run, self.evidence) else { return Ok(()) };
        let redo =
            older.step.as_ref().map(|step| format!("to go on from the older state: `{}`", self.decision("redo", step)));
        let hints = older.fix.into_iter().chain(redo.map(Fix::from)).collect();
        Err(Refusal { kind: RefusalKind::Person, message: older.message, hints })
    }

    /// Rule 12: nothing is begun in the wrong workspace.
    pub(super) fn check_workspace(&self, at: usize) -> Result<(), Refusal> {
        let run = self.reconciled.run;
        if self.limits.force || self.reconciled.compared.decisions.overrides(at) {
            return Ok(());
        }
        let Some(wrong) = workspace_problem(run, self.evidence) else { return Ok(()) };
        let hints = wrong.fix.into_iter().chain([self.decision("override", &run.steps[at].id).into()]);
        Err(Refusal { kind: RefusalKind::Person, message: wrong.message, hints: hints.collect() })
    }

    /// Returns the finding for a step that was forced to begin in the wrong workspace.
    pub(super) fn forced_finding(&self, kind: &ChangeKind) -> Option<Finding> {
        let ChangeKind::Begin { step, .. } = kind else { return None };
        let wrong = workspace_problem(self.reconciled.run, self.evidence)?;
        let message = format!("{step} was forced to begin in the wrong workspace: {}", wrong.message);
        let finding = Finding::new(FindingCode::OverrideForced, message).on(step);
        Some(wrong.fix.into_iter().fold(finding, Finding::fix))
    }

    /// Rule 3 when recording: refuses a completion that the next plan would not accept.
    pub(super) fn check_proof(&self, at: usize) -> Result<(), Refusal> {
        let step = &self.reconciled.run.steps[at];
        if self.limits.force || self.reconciled.compared.decisions.overrides(at) {
            return Ok(());
        }
        let problems = unproved(self.reconciled.run, step, self.evidence);
        if problems.is_empty() {
            return Ok(());
        }
        let (id, run) = (&step.id, &self.reconciled.run.id);
        let message = format!("declared outputs of {id} are not valid: {}", problems.join("; "));
        let hints = [
            format!("fix that, then: `{}`", command::finish(step, run)),
            command::failed(step, run).into(),
            self.decision("override", id).into(),
        ];
        Err(refuse(RefusalKind::No(No::Invalid), message, hints))
    }

    /// Refuses to end a step without the document that it writes or approves.
    pub(super) fn check_documents(&self, at: usize) -> Result<(), Refusal> {
        let run = self.reconciled.run;
        let step = &run.steps[at];
        let missing = self.reconciled.missing_documents(at, self.evidence);
        if missing.is_empty() || self.limits.force {
            return Ok(());
        }
        let mut hints: Vec<Fix> = Vec::new();
        if let Some(writer) = self.reconciled.writer_of(at) {
            hints.push(match step.kind {
                StepKind::Gate => self.decision("redo", &writer.id).into(),
                StepKind::Work | StepKind::Review | StepKind::Container => {
                    format!("write it, then: `{}`", command::finish(step, &run.id)).into()
                }
            });
            let elsewhere = self.command(Verb::Finish, &writer.id).option("output", "FILE");
            hints.push(format!("if it is at another place: `{elsewhere}`").into());
        }
        // The decision is for one attempt, so the step has to be in it.
        if step.kind == StepKind::Gate || step.status == Status::InProgress {
            hints.push(self.decision("override", &step.id).into());
        }
        Err(Refusal { kind: RefusalKind::No(No::NotYet), message: missing.join("; "), hints })
    }

    /// Returns the output that is the document of a step, if that is not where the state says.
    pub(super) fn document_elsewhere(&self, at: usize, outcome: &Outcome) -> Option<RelPath> {
        let step = &self.reconciled.run.steps[at];
        let is_written = outcome.status == Status::Completed && step.kind == StepKind::Work;
        if !is_written || missing_documents(step, self.evidence).is_empty() {
            return None;
        }
        outcome.outputs.first().cloned()
    }

    /// Refuses to end a step as a whole if this attempt is done by parts, and others of that kind are open.
    pub(super) fn check_parts(&self, at: usize) -> Result<(), Refusal> {
        let step = &self.reconciled.run.steps[at];
        let open = open_parts(step);
        let by_parts = !self.limits.force && self.reconciled.compared.decisions.is_done_by_parts(at);
        let Some(first) = open.first().filter(|_| by_parts) else { return Ok(()) };
        let names: Vec<&str> = open.iter().map(|part| part.name.as_str()).collect();
        let are = are(names.len());
        let message = format!("{} has parts that were begun, and {} {are} open", step.id, names.join(", "));
        let skip = command::answer("skip", &step.id, &self.reconciled.run.id).option("part", &first.name).by_and_why();
        let hints = [self.on_part(step, first), skip];
        Err(refuse(RefusalKind::No(No::NotYet), message, hints))
    }

    fn on_part(&self, step: &Step, part: &Part) -> Suggested {
        command::next_of_part(step, part, &self.reconciled.run.id)
    }

    /// Refuses a step behind a gate or a review that is not done.
    pub(super) fn check_gates(&self, at: usize) -> Result<(), Refusal> {
        match self.reconciled.gate_before(at) {
            None => Ok(()),
            Some(gate) => Err(self.behind_gate(self.reconciled.run.steps[at].id.as_str(), gate)),
        }
    }

    pub(super) fn behind_gate(&self, what: &str, at: usize) -> Refusal {
        let gate = &self.reconciled.run.steps[at];
        let has_conditions = self.reconciled.effective_status(at) == EffectiveStatus::Conditions;
        let is =
            match gate.review.as_ref().and_then(|review| review.open_conditions.as_ref()).filter(|_| has_conditions) {
                Some(conditions) => format!("approved on a condition that is still open: {}", safe_list(conditions)),
                None if has_conditions => "approved on conditions that are still open".to_owned(),
                None => gate.status.to_string(),
            };
        let message = format!("{what} comes after {}, which is {is}", gate.id.with_title(&gate.title));
        let is_next = self.reconciled.is_ready(at) && self.reconciled.effective_status(at) != EffectiveStatus::Failed;
        let hint = match gate.kind {
            StepKind::Review if has_conditions => {
                format!("once that is met: `{}`", command::finish(gate, &self.reconciled.run.id))
            }
            StepKind::Gate if is_next => self.approval(at).to_string(),
            StepKind::Review if is_next && gate.is_command => self.command(Verb::Exec, &gate.id).to_string(),
            StepKind::Review if is_next => self.command(Verb::Begin, &gate.id).to_string(),
            StepKind::Gate | StepKind::Review | StepKind::Work | StepKind::Container => self.plan().to_string(),
        };
        refuse(RefusalKind::Person, message, [hint])
    }

    pub(super) fn check_dependencies(&self, at: usize) -> Result<(), Refusal> {
        if self.reconciled.is_ready(at) || self.limits.force {
            return Ok(());
        }
        let id = &self.reconciled.run.steps[at].id;
        let message = format!("{id} {}", self.reconciled.waits_in_words(at));
        // What the state holds back waits for a person, the rest for other steps.
        let is_held = self.reconciled.hold(at).is_some() && self.reconciled.unmet(at).is_empty();
        let kind = if is_held { RefusalKind::Person } else { RefusalKind::No(No::NotYet) };
        Err(refuse(kind, message, [self.plan(), self.decision("override", id)]))
    }

    /// Rule 4: a person decides after too many failures or a rejection.
    pub(super) fn check_limits(&self, at: usize) -> Result<(), Refusal> {
        if self.limits.force {
            return Ok(());
        }
        self.check_limit_of(self.reconciled.limited_by(at), |_| true)
    }

    /// Refuses work that a review sends back which rejected it: a person decides whether there is another round.
    pub(super) fn check_not_rejected(&self, at: usize) -> Result<(), Refusal> {
        let is_to_be_done = matches!(
            self.reconciled.effective_status(at),
            EffectiveStatus::Open | EffectiveStatus::Invalid | EffectiveStatus::Blocked
        );
        if self.limits.force || !is_to_be_done {
            return Ok(());
        }
        self.check_limit_of(self.reconciled.sent_back(at), |limit| *limit == Limit::Rejected)
    }

    fn check_limit_of(&self, failed: Vec<usize>, counts: impl Fn(&Limit) -> bool) -> Result<(), Refusal> {
        let limit = |failed: usize| Some((failed, self.reconciled.limit(failed, self.limits.attempt_limit)?));
        let Some((failed, limit)) = failed.into_iter().filter_map(limit).find(|(_, limit)| counts(limit)) else {
            return Ok(());
        };
        let hints = self.ways_out(failed);
        let failed = &self.reconciled.run.steps[failed];
        let what = match limit {
            Limit::Rejected => "was rejected".to_owned(),
            Limit::Failed { times } => {
                format!("failed {}", plural(usize::try_from(times).unwrap_or(usize::MAX), "time"))
            }
        };
        let message = format!("{} {what}: a person decides how to continue", failed.id.with_title(&failed.title));
        Err(refuse(RefusalKind::Person, message, hints))
    }

    pub(super) fn check_not_aborted(&self) -> Result<(), Refusal> {
        let run = self.reconciled.run;
        if run.status != RunStatus::Aborted || self.limits.force {
            return Ok(());
        }
        let message = format!("run {} was aborted; a person decides whether it continues", run.id);
        let hint = match run.records.resume {
            true => Suggested::of(Verb::Resume, &run.id).flag("force").to_string(),
            false => "its format cannot take that back: start it again with its own command".to_owned(),
        };
        Err(refuse(RefusalKind::Person, message, [hint]))
    }

    /// Refuses a resume that records more than the evidence shows.
    pub(super) fn check_resume(&self, settled: &[(StepId, Status)]) -> Result<(), Refusal> {
        self.check_not_aborted()?;
        for (id, status) in settled {
            let (at, _) = self.find(id)?;
            if *status != Status::Completed || self.reconciled.effective_status(at) != EffectiveStatus::Done {
                let message = format!("the evidence does not say that {id} is {status}");
                return Err(refuse(RefusalKind::No(No::Invalid), message, [self.plan()]));
            }
        }
        Ok(())
    }

    /// Refuses a repair after which the run is still unreadable; the run is the repaired one.
    pub(super) fn check_repair(&self) -> Result<(), Refusal> {
        let run = self.reconciled.run;
        if run.degraded {
            let message = format!("{} cannot be read after the repair either", run.id);
            return Err(refuse(RefusalKind::No(No::Invalid), message, [Suggested::of(Verb::Restore, &run.id)]));
        }
        Ok(())
    }

    pub(super) fn find(&self, id: &StepId) -> Result<(usize, &Step), Refusal> {
        let run = self.reconciled.run;
        let found = self.reconciled.graph.position(id);
        found.map(|at| (at, &run.steps[at])).ok_or_else(|| {
            let message = format!("run {} has no step {id}", run.id);
            refuse(RefusalKind::NotFound, message, [format!("`{}` lists them", self.plan())])
        })
    }

    /// Refuses a number of phases for a run that has no place for it.
    pub(super) fn check_phases(&self, phases: Option<u32>) -> Result<(), Refusal> {
        let run = self.reconciled.run;
        if phases.is_none() || run.records.details {
            return Ok(());
        }
        let message = format!("the state of {} has no place for a number of phases", run.id);
        Err(refuse(RefusalKind::Usage, message, ["leave out --phases".to_owned()]))
    }

    /// Refuses a step to return to that is not work of the same phase, or that the format cannot record.
    pub(super) fn check_target(&self, at: usize, outcome: &Outcome) -> Result<(), Refusal> {
        let Some(target) = &outcome.to_step else { return Ok(()) };
        let run = self.reconciled.run;
        let (to, step) = self.find(target)?;
        let is_before = to == at || self.reconciled.graph.all_dependencies(at).contains(&to);
        let why = if outcome.status != Status::Failed {
            "only a failure returns to a step"
        } else if !run.records.details {
            "its format has no place for it"
        } else if !is_before || step.kind != StepKind::Work || step.group != run.steps[at].group {
            "it is not work of this phase that the step stands on"
        } else {
            return Ok(());
        };
        let message = format!("{} cannot return to {target}: {why}", outcome.step);
        Err(refuse(RefusalKind::Usage, message, ["leave out --to-step".to_owned()]))
    }

    /// Returns the open steps. Those after an end that the state does not name count only once one of them was begun.
    pub(super) fn open_before_end(&self) -> Vec<usize> {
        let (run, open) = (self.reconciled.run, self.open());
        let Some(end) = run.steps.iter().position(|step| step.may_be_last) else { return open };
        let is_begun = |at: &usize| *at > end && run.steps[*at].status != Status::Pending;
        if (0..run.steps.len()).any(|at| is_begun(&at)) {
            return open;
        }
        open.into_iter().filter(|at| *at <= end).collect()
    }

    pub(super) fn open(&self) -> Vec<usize> {
        (0..self.reconciled.run.steps.len()).filter(|at| !self.reconciled.effective_status(*at).is_over()).collect()
    }

    pub(super) fn unreadable(&self, step: &Step) -> Refusal {
        let file = step.file.as_ref().map_or_else(String::new, |file| format!(" in {file}"));
        let message = format!("the state of {}{file} cannot be interpreted; the step is left alone", step.id);
        let at = self.reconciled.graph.position(&step.id);
        if at.is_some_and(|at| self.reconciled.has_unknown_word(at)) {
            let hints = ["redo", "accept"].map(|verb| self.decision(verb, &step.id));
            return refuse(RefusalKind::Person, message, hints);
        }
        refuse(RefusalKind::Person, message, [Suggested::of(Verb::Validate, &self.reconciled.run.id)])
    }

    pub(super) fn plan(&self) -> Suggested {
        Suggested::of(Verb::Plan, &self.reconciled.run.id)
    }

    /// Returns the commands of what a person can decide about a step.
    fn ways_out(&self, at: usize) -> Vec<Suggested> {
        self.reconciled.ways_out(at).into_iter().map(|(_, command)| command).collect()
    }

    /// Returns the command that lets a step be done again, if its format can record that; else the one that shows the plan.
    pub(super) fn redo_of(&self, id: &StepId) -> Suggested {
        if self.reconciled.run.records.redo { self.decision("redo", id) } else { self.plan() }
    }

    /// Returns the command of a person's decision about a step.
    pub(super) fn decision(&self, verb: &str, id: &StepId) -> Suggested {
        command::decide(verb, id, &self.reconciled.run.id)
    }

    /// Returns the command that approves a gate.
    pub(super) fn approval(&self, at: usize) -> Suggested {
        command::approve(&self.reconciled.run.steps[at], &self.reconciled.run.id)
    }

    pub(super) fn command(&self, verb: Verb, id: &StepId) -> Suggested {
        Suggested::on_step(verb, id, &self.reconciled.run.id)
    }
}

/// Returns the parts of a step that are open although others of their kind were begun.
pub(in crate::engine) fn open_parts(step: &Step) -> Vec<&Part> {
    let parts = &step.detail.parts;
    let is_begun = |part: &Part| !matches!(part.status, Status::Pending | Status::Skipped);
    let was_begun = |kind: PartKind| parts.iter().any(|part| part.kind == kind && is_begun(part));
    parts.iter().filter(|part| part.is_open() && was_begun(part.kind)).collect()
}

pub(super) fn find_part<'a>(step: &'a Step, part: &str) -> Result<&'a Part, Refusal> {
    step.detail.parts.iter().find(|other| other.name == part).ok_or_else(|| {
        let names: Vec<&str> = step.detail.parts.iter().map(|part| part.name.as_str()).collect();
        let hint = match names.as_slice() {
            [] => format!("{} has no parts; leave out --part", step.id),
            names => format!("its parts are {}", names.join(", ")),
        };
        refuse(RefusalKind::NotFound, format!("{} has no part {part}", step.id), [hint])
    })
}

/// Returns the status that verdict and status agree on; refuses a contradiction.
pub(super) fn agreed_status(outcome: &Outcome) -> Result<Status, Refusal> {
    let by_verdict = outcome.verdict.map(ReviewVerdict::status);
    match outcome.status {
        Status::Completed | Status::Failed | Status::WaitingApproval => {}
        Status::Pending | Status::InProgress | Status::Blocked | Status::Skipped | Status::Cancelled => {
            let message = format!("a step cannot end as {}", outcome.status);
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

/// Joins texts from the state to one line.
fn safe_list(texts: &[String]) -> String {
    clean_line(&mask_secrets(&texts.join("; ")), LIST_CHARS)
}
