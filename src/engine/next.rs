//! Turns choices into the parts of a plan: next steps with their cost, the interruption, the commands.

use std::collections::BTreeSet;

use super::{
    cause::cause,
    choose::{Choice, Chosen},
    command,
    overrides::with_options,
    reconciled::{EffectiveStatus, ReconciledRun},
    strategy::strategy,
};
use crate::model::{
    Action, CauseKind, Commands, Evidence, Finding, FindingCode, FollowUp, InterruptionKind, InterruptionReport, Mode,
    Next, Options, Owner, Part, PartKind, PartRef, PlannedPart, RedoCost, Run, RunStatus, Status, Step, StepGroups,
    StepId, StepKind, Suggested, Verb, Verdict, clean_line, mask_secrets,
};

/// Maximum length of a quoted reason, in characters.
const REASON_CHARS: usize = 400;
/// The number of further steps whose commands are listed.
const OTHERS: usize = 4;

/// Builds the parts of a plan.
pub(super) struct Planner<'a> {
    reconciled: ReconciledRun<'a>,
    options: &'a Options,
    /// Steps that are done according to all witnesses, but not according to their own status.
    drifted: BTreeSet<usize>,
    /// Done steps without a summary.
    without_summary: BTreeSet<usize>,
    session_lost: bool,
}

impl<'a> Planner<'a> {
    pub(super) fn new(reconciled: ReconciledRun<'a>, options: &'a Options, findings: &[Finding]) -> Self {
        let steps_with = |code: FindingCode| {
            let steps = findings.iter().filter(|finding| finding.code == code).filter_map(|it| it.step.as_ref());
            steps.filter_map(|id| reconciled.graph.position(id)).collect()
        };
        Self {
            reconciled,
            options,
            drifted: steps_with(FindingCode::StatusDrift),
            without_summary: steps_with(FindingCode::SummaryMissing),
            session_lost: findings.iter().any(|finding| finding.code == FindingCode::SessionUnreadable),
        }
    }

    pub(super) fn next(&self, chosen: &Chosen, all_over: bool, evidence: &Evidence) -> Vec<Next> {
        if !all_over {
            chosen.choices.iter().map(|choice| self.next_of(choice)).collect()
        } else if self.drifted.is_empty() {
            self.follow_up(evidence).into_iter().collect()
        } else {
            self.verify_drift()
        }
    }

    /// Returns what follows when every step is done.
    fn follow_up(&self, evidence: &Evidence) -> Option<Next> {
        let run = self.reconciled.run;
        // A run that its own system calls complete can still be put away.
        let is_left = |after: &&FollowUp| {
            run.status != RunStatus::Completed || after.action == Action::Archive || after.merge.is_some()
        };
        let follow_up = run.follow_up.as_ref().filter(is_left)?;
        let last = self.reconciled.graph.order().last()?;
        let approved = self.reconciled.compared.decisions.approved_end().filter(|_| follow_up.action == Action::Merge);
        let branch = run.workspace.branch.as_deref().unwrap_or("the branch");
        let reason = match (evidence.merged, approved) {
            (Some(true), _) if run.workspace.clean_up.is_empty() => format!("{branch} is merged"),
            (Some(true), _) => {
                let clean_up = run.workspace.clean_up.join(", ");
                format!("{branch} is merged: record that the run is over, then clean up ({clean_up})")
            }
            (_, Some(approved)) => format!("{approved}: merge it with --no-ff"),
            (_, None) => follow_up.reason.clone(),
        };
        Some(Next {
            step: run.steps[*last].id.clone(),
            title: follow_up.title.clone(),
            action: follow_up.action,
            agent: follow_up.agent.clone(),
            agent_candidates: Vec::new(),
            attempt: 1,
            reason,
            rule: "6.complete".to_owned(),
            evidence: ends(run),
            strategy: None,
            alternatives: Vec::new(),
            parts: Vec::new(),
            cost: RedoCost::default(),
            half_made: None,
        })
    }

    /// Returns the steps to verify when everything is done, but some steps only according to the evidence.
    fn verify_drift(&self) -> Vec<Next> {
        let drifted = self.reconciled.graph.order().iter().copied().filter(|at| self.drifted.contains(at));
        let choice = |at: usize| {
            let reason =
                format!("{}: check, then record it; nothing has to run", self.reconciled.reasons_for(at).join("; "));
            Choice::new(at, Action::Verify, "3.drift", reason)
        };
        drifted.map(|at| self.next_of(&choice(at))).collect()
    }

    fn next_of(&self, choice: &Choice) -> Next {
        let step = self.step(choice.at);
        let own = self.reconciled.own_attempt(choice.at);
        let is_new = choice.is_work() && own.is_none();
        let strategy = if is_new { strategy(self.recovery_from(choice)) } else { None };
        let attempt = match own {
            Some(own) => own.attempt,
            None if is_new && !step.is_reported => step.attempts.saturating_add(1),
            None => step.attempts.max(1),
        };
        let causes = choice.caused_by.iter().map(|cause| {
            let failed = self.step(*cause);
            let verdict = failed.review.as_ref().map_or("failed", |review| review.verdict.as_str());
            format!("{} ended with {verdict}", failed.id)
        });
        Next {
            step: step.id.clone(),
            title: step.title.clone(),
            action: match choice.action {
                Action::Run | Action::Retry | Action::Return if step.is_command => Action::Exec,
                action => action,
            },
            agent: step.agent.clone(),
            agent_candidates: if step.agent.is_some() { Vec::new() } else { step.agent_candidates.clone() },
            attempt,
            reason: choice.reason.clone(),
            rule: choice.rule.to_owned(),
            evidence: causes.chain(self.reconciled.reasons_for(choice.at)).collect(),
            strategy: strategy.map(|(strategy, _)| strategy),
            alternatives: strategy.map(|(_, names)| names.map(str::to_owned).to_vec()).unwrap_or_default(),
            parts: if choice.is_work() { self.parts(choice.at) } else { Vec::new() },
            cost: self.cost(choice),
            half_made: None,
        }
    }

    /// Returns the interruption that work recovers from. A step that was simply next may depend on work whose results are lost.
    fn recovery_from(&self, choice: &Choice) -> InterruptionKind {
        let kind = self.kind_of(choice);
        let merely_next = !matches!(kind, InterruptionKind::AgentInterruption | InterruptionKind::TaskFailure);
        let lost = || {
            self.session_lost
                || self.reconciled.graph.depends_on(choice.at).iter().any(|on| self.without_summary.contains(on))
        };
        if merely_next && lost() { InterruptionKind::ContextLost } else { kind }
    }

    fn kind_of(&self, choice: &Choice) -> InterruptionKind {
        let at = choice.causes()[0];
        if choice.action == Action::Approve {
            return InterruptionKind::WaitingApproval;
        }
        let recorded = self.recorded_kind(at);
        if self.reconciled.own_attempt(choice.at).is_some() && recorded != Some(InterruptionKind::ContextLost) {
            return InterruptionKind::ReadyToExecute;
        }
        match self.reconciled.effective_status(at) {
            EffectiveStatus::Failed => recorded.unwrap_or(InterruptionKind::TaskFailure),
            EffectiveStatus::Interrupted => recorded.unwrap_or(InterruptionKind::AgentInterruption),
            // Another program calls a step in progress that waits to be looked at.
            EffectiveStatus::Verify if self.step(at).guest.is_some() => InterruptionKind::ReadyToExecute,
            EffectiveStatus::Verify if self.step(at).status == Status::InProgress => {
                InterruptionKind::AgentInterruption
            }
            // Asked for by a person: nothing was lost.
            EffectiveStatus::Invalid if self.reconciled.compared.decisions.redo(at).is_some() => {
                InterruptionKind::ReadyToExecute
            }
            EffectiveStatus::Invalid => InterruptionKind::ContextLost,
            EffectiveStatus::Conditions | EffectiveStatus::Waiting => InterruptionKind::WaitingApproval,
            EffectiveStatus::Open
            | EffectiveStatus::Verify
            | EffectiveStatus::Blocked
            | EffectiveStatus::Done
            | EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => InterruptionKind::ReadyToExecute,
        }
    }

    /// Returns the kind of interruption that the state records for a step, where it says more than the status does.
    fn recorded_kind(&self, at: usize) -> Option<InterruptionKind> {
        let recorded = self.reconciled.run.interruption.as_ref()?;
        let is_of_step = recorded.step.as_ref() == Some(&self.step(at).id);
        let says_more = match recorded.kind {
            InterruptionKind::AgentInterruption | InterruptionKind::DependencyBlock | InterruptionKind::ContextLost => {
                true
            }
            InterruptionKind::TaskFailure
            | InterruptionKind::WaitingApproval
            | InterruptionKind::Paused
            | InterruptionKind::ReadyToExecute
            | InterruptionKind::WorkflowComplete => false,
        };
        (is_of_step && says_more).then_some(recorded.kind)
    }

    /// Returns what happens to each part of a step. The caller's options for parts take precedence over their status.
    fn parts(&self, at: usize) -> Vec<PlannedPart> {
        let step = self.step(at);
        let chosen = |part: &Option<PartRef>| {
            let part = part.as_ref().filter(|part| part.step == step.id)?;
            step.detail.parts.iter().position(|other| other.name == part.part)
        };
        let from = chosen(&self.options.from_part);
        let retry = chosen(&self.options.retry_part);
        let skip = chosen(&self.options.skip_part);
        let planned = step.detail.parts.iter().enumerate().map(|(place, part)| {
            let action = if skip == Some(place) {
                "skip"
            } else if retry == Some(place) {
                "retry"
            } else if from.is_some_and(|from| place < from) {
                "skip"
            } else if self.options.refresh_analysis && part.kind == PartKind::Analysis && part.status != Status::Skipped
            {
                "refresh"
            } else {
                self.part_action(at, part, from.is_some_and(|from| place >= from))
            };
            let title = (part.title != part.name).then(|| part.title.clone());
            PlannedPart { name: part.name.clone(), title, action: action.to_owned() }
        });
        planned.collect()
    }

    /// Returns what happens to a part that no option names. `again`: it is at or after the part to begin at.
    fn part_action(&self, at: usize, part: &Part, again: bool) -> &'static str {
        // Analysis is kept when work is redone, unless `--refresh-analysis` is given.
        let reworked = match self.reconciled.effective_status(at) {
            EffectiveStatus::Done | EffectiveStatus::Invalid => part.kind == PartKind::Work,
            EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Open
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Failed
            | EffectiveStatus::Waiting
            | EffectiveStatus::Conditions
            | EffectiveStatus::Verify
            | EffectiveStatus::Blocked
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => false,
        };
        match part.status {
            Status::Completed if again => "run",
            Status::Completed if reworked => "retry",
            Status::Completed => "done",
            Status::Skipped | Status::Cancelled => "skip",
            Status::InProgress | Status::Failed => "retry",
            Status::Pending | Status::WaitingApproval | Status::Blocked => "run",
        }
    }

    /// Returns the cost of redoing finished work.
    fn cost(&self, choice: &Choice) -> RedoCost {
        let step = self.step(choice.at);
        let again = self.reconciled.done_again(choice.at, choice.action);
        // The time of a failed attempt counts too.
        let failed = (choice.action == Action::Retry && again.is_empty()).then_some(choice.at);
        let paid = again.iter().copied().chain(failed).map(|at| self.step(at));
        let minutes = paid.filter_map(|step| Some((step.started_at?, step.finished_at?)));
        let minutes_again = minutes.map(|(start, end)| end.seconds_since(start).max(0).unsigned_abs() / 60).sum();
        RedoCost { attempts: step.attempts, steps_again: again.len(), minutes_again }
    }

    pub(super) fn interruption(
        &self,
        chosen: &Chosen,
        evidence: &Evidence,
        all_over: bool,
        findings: &[Finding],
    ) -> Option<InterruptionReport> {
        if all_over {
            let ended = self.reconciled.run.ended.clone().filter(|_| !matches!(evidence.owner, Owner::Live { .. }))?;
            let (at, reason) = (ended.at, ended.detail.clone());
            return Some(InterruptionReport {
                at,
                reason,
                cause: Some(ended),
                ..blank(InterruptionKind::ReadyToExecute)
            });
        }
        let cut_off = |choice: &&Choice| {
            self.reconciled.own_attempt(choice.at).is_none()
                && matches!(
                    self.reconciled.effective_status(choice.causes()[0]),
                    EffectiveStatus::Failed
                        | EffectiveStatus::Interrupted
                        | EffectiveStatus::Waiting
                        | EffectiveStatus::Conditions
                )
        };
        let Some(choice) = chosen.choices.iter().find(cut_off).or_else(|| chosen.choices.first()) else {
            let block = findings.iter().find(|finding| finding.code == FindingCode::DependencyBlock)?;
            let at = block.step.as_ref().and_then(|id| self.reconciled.graph.position(id));
            return Some(InterruptionReport {
                step: at.map(|at| self.step(at).id.clone()),
                at: at.and_then(|at| self.last_moment(at)).or(self.reconciled.run.stamp),
                reason: block.message.clone(),
                affected: at.map(|at| self.affected(at)).unwrap_or_default(),
                ..blank(InterruptionKind::DependencyBlock)
            });
        };
        Some(self.report(choice, evidence))
    }

    fn report(&self, choice: &Choice, evidence: &Evidence) -> InterruptionReport {
        let run = self.reconciled.run;
        let at = choice.causes()[0];
        let step = self.step(at);
        let mut kind = self.kind_of(choice);
        // A pause ends the attempt that it finds: its agent was not lost.
        let is_paused = run.status == RunStatus::Paused && kind == InterruptionKind::AgentInterruption;
        if kind == InterruptionKind::ReadyToExecute || is_paused {
            let paused = run.interruption.as_ref().filter(|recorded| recorded.kind == InterruptionKind::Paused);
            if let Some(paused) = paused {
                let at = paused.step.as_ref().and_then(|id| self.reconciled.graph.position(id));
                return InterruptionReport {
                    step: at.map(|at| self.step(at).id.clone()).or_else(|| is_paused.then(|| step.id.clone())),
                    at: paused.at,
                    reason: brief(&paused.reason),
                    ..blank(paused.kind)
                };
            }
            if run.status == RunStatus::Paused && !is_paused {
                kind = InterruptionKind::Paused;
            }
        }
        let cause = run.ended.clone().or_else(|| cause(evidence));
        if let Some(cause) = &cause
            && kind == InterruptionKind::ReadyToExecute
            && matches!(cause.kind, CauseKind::Limit | CauseKind::Failure)
        {
            kind = InterruptionKind::Paused;
        }
        let recorded = run.interruption.as_ref();
        let recorded = recorded.filter(|recorded| recorded.step.as_ref().is_none_or(|id| *id == step.id));
        // A reason that only repeats the kind says less than the error.
        let stated = recorded.filter(|recorded| recorded.reason != recorded.kind.as_str());
        // The error of the attempt before does not explain why this one was cut off.
        let is_of_before =
            kind == InterruptionKind::AgentInterruption && self.reconciled.compared.attempts.contains_key(&at);
        let error = step.error.as_ref().filter(|_| !is_of_before);
        let reason = match (stated, error, &cause) {
            (Some(recorded), _, _) => brief(&recorded.reason),
            (None, Some(error), _) => brief(error),
            (None, None, Some(cause)) => cause.detail.clone(),
            (None, None, None) if kind == InterruptionKind::Paused => "the run was paused".to_owned(),
            (None, None, None) => choice.reason.clone(),
        };
        let affected = match kind {
            InterruptionKind::ReadyToExecute | InterruptionKind::Paused => Vec::new(),
            InterruptionKind::AgentInterruption
            | InterruptionKind::TaskFailure
            | InterruptionKind::DependencyBlock
            | InterruptionKind::ContextLost
            | InterruptionKind::WaitingApproval
            | InterruptionKind::WorkflowComplete => self.affected(at),
        };
        let moment = recorded.and_then(|recorded| recorded.at).or_else(|| self.last_moment(at)).or(run.stamp);
        InterruptionReport { step: Some(step.id.clone()), at: moment, reason, cause, affected, ..blank(kind) }
    }

    fn last_moment(&self, at: usize) -> Option<crate::model::Timestamp> {
        self.step(at).started_at.max(self.step(at).finished_at)
    }

    fn affected(&self, at: usize) -> Vec<StepId> {
        let behind = self.reconciled.graph.all_dependents(at);
        let waiting = behind.into_iter().filter(|at| !self.reconciled.effective_status(*at).is_over());
        std::iter::once(at).chain(waiting).map(|at| self.step(at).id.clone()).collect()
    }

    pub(super) fn groups(&self, chosen: &Chosen) -> StepGroups {
        let mut groups = StepGroups::default();
        let returned: BTreeSet<usize> =
            (chosen.choices.iter()).filter(|choice| choice.action == Action::Return).map(|choice| choice.at).collect();
        for &at in self.reconciled.graph.order() {
            let group = match self.reconciled.effective_status(at) {
                EffectiveStatus::Done if returned.contains(&at) => &mut groups.pending,
                EffectiveStatus::Done => &mut groups.completed,
                EffectiveStatus::Skipped | EffectiveStatus::Cancelled => &mut groups.skipped,
                EffectiveStatus::Open | EffectiveStatus::Waiting | EffectiveStatus::Verify => &mut groups.pending,
                EffectiveStatus::OpenContainer => continue,
                EffectiveStatus::Interrupted | EffectiveStatus::Conditions => &mut groups.in_progress,
                EffectiveStatus::Failed => &mut groups.failed,
                EffectiveStatus::Invalid => &mut groups.invalid,
                EffectiveStatus::Blocked | EffectiveStatus::Unreadable => &mut groups.blocked,
            };
            group.push(self.step(at).id.clone());
        }
        groups
    }

    /// Returns the commands of a plan. `asks`: a person has to see something before the step begins; `by_mode`: it only begins in this mode.
    pub(super) fn commands(
        &self,
        verdict: Verdict,
        next: &[Next],
        chosen: &Chosen,
        (asks, by_mode): (impl Fn(&StepId) -> bool, Option<Mode>),
    ) -> Commands {
        let run = &self.reconciled.run.id;
        let Some(first) = next.first() else { return Commands::default() };
        // A resume records what the options decide, and what a person agreed to; before that the step cannot begin.
        let needs_resume = !chosen.needs.is_empty()
            || !self.options.skip.is_empty()
            || self.reconciled.run.status == RunStatus::Aborted;
        let waits = |next: &Next| next.action != Action::Verify && asks(&next.step);
        let begins = |next: &Next| {
            let begin = self.begin(verdict, next).filter(|_| !needs_resume && !waits(next))?;
            Some(begin.maybe("mode", by_mode.map(Mode::as_str)))
        };
        let others = next.iter().skip(1).filter_map(begins).take(OTHERS).collect();
        let after = matches!(first.action, Action::Merge | Action::Archive);
        let context = (!after).then(|| command::context(&first.step, run));
        let resume = match verdict {
            Verdict::Resume | Verdict::Confirm if chosen.can_be_resumed(self.reconciled.run) => {
                let resume = with_options(self.options, Suggested::of(Verb::Resume, run));
                Some(resume.flags(self.reconciled.run.resume_flags.iter().copied()))
            }
            Verdict::Resume | Verdict::Confirm | Verdict::Blocked | Verdict::Complete | Verdict::Nothing => None,
        };
        Commands { begin: begins(first), others, context, resume }
    }

    /// Returns the command that begins or records a next step; what decides about one is never a command of the plan.
    fn begin(&self, verdict: Verdict, next: &Next) -> Option<Suggested> {
        let run = &self.reconciled.run.id;
        let at = self.reconciled.graph.position(&next.step);
        match next.action {
            // Blocked: the findings say what has to be resolved first.
            Action::Run | Action::Exec | Action::Retry | Action::Return if verdict == Verdict::Blocked => None,
            Action::Run | Action::Exec | Action::Retry | Action::Return | Action::Verify
                if !self.is_recorded(&next.step) =>
            {
                None
            }
            // A person decides: the question has the commands. Also after the work that failed at a gate was done again.
            Action::Approve => None,
            Action::Retry if self.is_gate(&next.step) => None,
            Action::Exec => Some(Suggested::on_step(Verb::Exec, &next.step, run)),
            Action::Run | Action::Retry | Action::Return => {
                Some(Suggested::on_step(Verb::Begin, &next.step, run).maybe("agent", next.agent.as_ref()))
            }
            Action::Verify if at.is_some_and(|at| self.reconciled.is_outcome_unknown(at)) => None,
            // Nothing is recorded in a file that cannot be read.
            Action::Verify if at.is_some_and(|at| self.reconciled.compared.unread.contains(&at)) => None,
            Action::Verify => at.map(|at| command::finish(self.step(at), run)),
            Action::Archive => Some(Suggested::of(Verb::Close, run)),
            Action::Merge => self.reconciled.run.merge_command().cloned(),
        }
    }

    fn is_recorded(&self, id: &StepId) -> bool {
        self.reconciled.graph.position(id).is_none_or(|at| self.step(at).recorded)
    }

    fn is_gate(&self, id: &StepId) -> bool {
        self.reconciled.graph.position(id).is_some_and(|at| self.step(at).kind == StepKind::Gate)
    }

    fn step(&self, at: usize) -> &'a Step {
        &self.reconciled.run.steps[at]
    }
}

/// Returns how the steps of a run that is over ended.
fn ends(run: &Run) -> Vec<String> {
    let left_out: Vec<&str> =
        run.steps.iter().filter(|step| step.status == Status::Skipped).map(|step| step.id.as_str()).collect();
    let count = run.steps.len().saturating_add(run.done_elsewhere);
    match left_out.as_slice() {
        [] => vec![format!("all {count} steps are done")],
        ids => {
            vec![format!("{} of {count} steps are done", count - ids.len()), format!("left out: {}", ids.join(", "))]
        }
    }
}

/// Returns a report of one kind with its recovery strategies and no other data.
fn blank(kind: InterruptionKind) -> InterruptionReport {
    let recovery = strategy(kind);
    InterruptionReport {
        kind,
        step: None,
        at: None,
        reason: String::new(),
        cause: None,
        affected: Vec::new(),
        strategy: recovery.map(|(strategy, _)| strategy),
        alternatives: recovery.map(|(_, names)| names.map(str::to_owned).to_vec()).unwrap_or_default(),
    }
}

/// Shortens a text to one line without secrets and list markers.
fn brief(words: &str) -> String {
    clean_line(&mask_secrets(words), REASON_CHARS).trim_start_matches(['-', '*', '•']).trim_start().to_owned()
}
