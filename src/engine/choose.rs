//! Rules 4 to 6: what comes next, by effective status and dependencies. `overrides` applies the caller's options.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    command, preconditions,
    reconciled::{EffectiveStatus, ReconciledRun},
    reports::begun_by,
};
use crate::model::{
    Action, DecisionKind, Finding, FindingCode, Hold, Options, Pace, Run, StepId, StepKind, Suggested, Verb, safe_line,
};

/// The rule for a step that evidence shows as done, and whose status only has to be recorded.
pub(crate) const BUILT: &str = "3.built";
/// The rule for an attempt that goes on.
pub(super) const BEGUN: &str = "3.begun";

/// Maximum number of ids of a chain or cycle that a message names; the rest are counted.
pub(super) const NAMED_IDS: usize = 8;

/// A step to do next, with the rule that chose it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) at: usize,
    pub(super) action: Action,
    pub(super) rule: &'static str,
    pub(super) reason: String,
    /// Other steps whose failure led to this choice.
    pub(super) caused_by: Vec<usize>,
    /// Whether it can only be begun with `--force`.
    pub(super) forced: bool,
}

impl Choice {
    pub(super) const fn new(at: usize, action: Action, rule: &'static str, reason: String) -> Self {
        Self { at, action, rule, reason, caused_by: Vec::new(), forced: false }
    }

    /// Returns the steps whose failure or interruption led to this choice; the step itself if there are no others.
    pub(super) fn causes(&self) -> &[usize] {
        if self.caused_by.is_empty() { std::slice::from_ref(&self.at) } else { &self.caused_by }
    }

    /// Tells whether the caller named the step.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.rule, "7.from" | "7.retry")
    }

    /// Tells whether the action runs work.
    pub(super) const fn is_work(&self) -> bool {
        matches!(self.action, Action::Run | Action::Retry | Action::Return)
    }
}

/// The chosen steps and the findings about them.
#[derive(Debug, Default)]
pub(super) struct Chosen {
    pub(super) choices: Vec<Choice>,
    pub(super) findings: Vec<Finding>,
    /// The caller passed `--if-dependencies-met`, and they are not.
    pub(super) dependencies_unmet: bool,
    /// The decisions without which a choice cannot be begun. The caller's options stand for them; a resume records them.
    pub(super) needs: Vec<(StepId, DecisionKind)>,
}

impl Chosen {
    /// Tells whether a resume can record what it has to: itself, and the decisions of the options.
    pub(super) fn can_be_resumed(&self, run: &Run) -> bool {
        let is_recorded = |id: &StepId| run.step(id).is_none_or(|step| step.recorded);
        let can_record = |(step, kind): &(StepId, DecisionKind)| {
            is_recorded(step) && (*kind != DecisionKind::Redo || run.records.redo)
        };
        run.records.resume && self.needs.iter().all(can_record)
    }
}

/// Chooses the next steps of a run.
pub(super) struct Chooser<'a> {
    pub(super) reconciled: ReconciledRun<'a>,
    pub(super) options: &'a Options,
}

impl Chooser<'_> {
    pub(super) fn choose(&self) -> Chosen {
        let mut chosen = Chosen::default();
        self.report_graph(&mut chosen.findings);
        if !self.overrides(&mut chosen) {
            self.by_status(&mut chosen);
        }
        self.part_overrides(&mut chosen);
        self.limits(&mut chosen);
        chosen.needs = self.needed_decisions(&chosen.choices);
        chosen
    }

    /// Rules 4, 5 and 6 over all steps, in dependency order.
    fn by_status(&self, chosen: &mut Chosen) {
        let sent_back = self.to_step(&mut chosen.findings);
        let Ok(sent_back) = sent_back else { return };
        let returns = self.returns(sent_back);
        let causes: BTreeSet<usize> = returns.values().flatten().copied().collect();
        let reviews = self.unresolved_reviews();
        for &at in self.reconciled.graph.order() {
            let own = if causes.contains(&at) { None } else { self.choice(at, &reviews) };
            let returned = returns.get(&at).filter(|_| !causes.contains(&at) && self.reconciled.is_ready(at));
            chosen.choices.extend(match (own, returned) {
                // Work that a review sent back and that was not resumed is a return, also if its files were touched since.
                (Some(own), Some(causes))
                    if own.action == Action::Run
                        || self.reconciled.effective_status(at) == EffectiveStatus::Invalid =>
                {
                    Some(self.return_to(own.at, causes))
                }
                (Some(own), _) => Some(own),
                (None, Some(causes)) => Some(self.return_to(at, causes)),
                (None, None) => None,
            });
        }
        self.drop_behind_gates(&mut chosen.choices);
        self.drop_behind_rework(&mut chosen.choices);
        self.keep_to_pace(&mut chosen.choices);
        if chosen.choices.is_empty() {
            self.nothing_ready(chosen);
            return;
        }
        chosen.findings.extend(self.held());
        if chosen.choices.iter().all(|choice| self.reconciled.is_driven_elsewhere(choice.at)) {
            chosen.findings.extend(preconditions::driven_elsewhere(&self.reconciled));
        } else {
            chosen.choices.retain(|choice| !self.reconciled.is_driven_elsewhere(choice.at));
        }
    }

    /// Rule 4: the steps that failed reviews send the run back to, each with those reviews.
    fn returns(&self, sent_back: Option<usize>) -> BTreeMap<usize, Vec<usize>> {
        let behind: BTreeSet<usize> = sent_back
            .map(|target| self.reconciled.graph.all_dependents(target).into_iter().collect())
            .unwrap_or_default();
        let mut returns: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for &at in self.reconciled.graph.order().iter().filter(|at| self.reconciled.asks_for_work(**at)) {
            let target = match sent_back {
                Some(target) if target == at => None,
                Some(target) if behind.contains(&at) => Some(target),
                Some(_) | None => self.reconciled.returns_to(at),
            };
            if let Some(target) = target {
                returns.entry(target).or_default().push(at);
            }
        }
        returns
    }

    /// Returns the steps that failed reviews send the run back to, each with those reviews.
    pub(super) fn returned(&self) -> BTreeMap<usize, Vec<usize>> {
        self.to_step(&mut Vec::new()).map_or_else(|_| BTreeMap::new(), |target| self.returns(target))
    }

    pub(super) fn return_to(&self, at: usize, causes: &[usize]) -> Choice {
        let names: Vec<&str> = causes
            .iter()
            .map(|cause| &self.reconciled.run.steps[*cause])
            .map(|failed| failed.agent.as_deref().unwrap_or(failed.title.as_str()))
            .collect();
        let is_approved = |cause: &usize| self.reconciled.effective_status(*cause) == EffectiveStatus::Conditions;
        let reason = match causes.iter().all(is_approved) {
            true => format!("Meet the conditions of {}", names.join(" and ")),
            false => format!("Address {} feedback", names.join(" and ")),
        };
        // Failed work does not send the run back by itself. If the caller asks for it, done steps must be forced.
        let forced = self.reconciled.effective_status(at) == EffectiveStatus::Done
            && causes.iter().all(|cause| self.reconciled.returns_to(*cause).is_none());
        Choice { caused_by: causes.to_vec(), forced, ..Choice::new(at, Action::Return, "4.return", reason) }
    }

    pub(super) fn choice(&self, at: usize, reviews: &BTreeMap<usize, usize>) -> Option<Choice> {
        let step = &self.reconciled.run.steps[at];
        let id = &step.id;
        let effective_status = self.reconciled.effective_status(at);
        if step.kind == StepKind::Gate {
            return self.gate(at, reviews);
        }
        if let Some(attempt) = self.reconciled.own_attempt(at).filter(|_| !self.reconciled.lost_its_base(at)) {
            return Some(Choice::new(at, attempt.action, BEGUN, attempt.reason.clone()));
        }
        if let Some(redo) = self.reconciled.compared.decisions.redo(at)
            && self.reconciled.is_ready(at)
            && !effective_status.is_over()
        {
            return Some(Choice::new(at, self.work_action(at), "4.redo", redo));
        }
        match effective_status {
            EffectiveStatus::Done
            | EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => None,
            // A verdict on disk says nothing about work that is still to be done.
            EffectiveStatus::Verify if step.kind == StepKind::Review && !self.reconciled.is_ready(at) => None,
            EffectiveStatus::Verify if let Some(reason) = self.reconciled.guest_reason(at) => {
                let rule = if self.reconciled.compared.built.contains(&at) { BUILT } else { "3.look" };
                Some(Choice::new(at, Action::Verify, rule, reason))
            }
            EffectiveStatus::Verify => {
                let reason =
                    format!("{}: check before anything is run again", self.reconciled.reasons_for(at).join("; "));
                Some(Choice::new(at, Action::Verify, "3.verify", reason))
            }
            EffectiveStatus::Waiting => Some(self.approval(at)),
            EffectiveStatus::Failed
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Invalid
            | EffectiveStatus::Open
            | EffectiveStatus::Blocked
                if !self.reconciled.is_ready(at) =>
            {
                None
            }
            EffectiveStatus::Failed | EffectiveStatus::Conditions
                if self.reconciled.was_reworked(at) && self.reconciled.is_ready(at) =>
            {
                let reason = format!("the findings of {id} were worked on since; review again");
                Some(Choice::new(at, Action::Retry, "4.again", reason))
            }
            EffectiveStatus::Conditions => {
                let reason = "approved on conditions that are still open: check whether they are met".to_owned();
                Some(Choice::new(at, Action::Verify, "4.conditions", reason))
            }
            EffectiveStatus::Failed => Some(self.retry_failed(at, reviews)),
            EffectiveStatus::Interrupted if let Some(reason) = self.reconciled.guest_reason(at) => {
                Some(Choice::new(at, Action::Retry, BEGUN, reason))
            }
            EffectiveStatus::Interrupted => {
                let note = self.unresolved_review_note(at, reviews);
                let reason = match self.reconciled.attempt(at) {
                    Some((attempt, _)) if attempt.about.driver.is_none() => {
                        format!("{}, and nothing says how it ended{note}", begun_by(attempt))
                    }
                    Some(_) | None => format!("{id} was started but never finished{note}"),
                };
                Some(Choice::new(at, Action::Retry, "3.interrupted", reason))
            }
            EffectiveStatus::Invalid => {
                let reason = format!("{id} must be redone: {}", self.reconciled.compared.reasons[at].join("; "));
                Some(Choice::new(at, Action::Retry, "3.invalid", reason))
            }
            EffectiveStatus::Open | EffectiveStatus::Blocked => Some(Choice::new(
                at,
                Action::Run,
                "6.next",
                match self.reconciled.guest_reason(at) {
                    Some(more) => format!("{}; {more}", self.ready_reason(at)),
                    None => format!("{}{}", self.ready_reason(at), self.reconciled.earlier_attempts(at)),
                },
            )),
        }
    }

    fn retry_failed(&self, at: usize, reviews: &BTreeMap<usize, usize>) -> Choice {
        let step = &self.reconciled.run.steps[at];
        let (id, addressed) = (&step.id, self.unresolved_review_note(at, reviews));
        let refused = step.review.as_ref().filter(|review| !review.verdict.approves());
        let reason = match refused {
            Some(review) => format!("{id} ended with {}{addressed}", review.verdict.as_str()),
            None => format!("{id} failed; retry with the error of the last attempt{addressed}"),
        };
        Choice::new(at, Action::Retry, "4.retry", reason)
    }

    /// Rule 5: an open gate is put to a person, whichever status is recorded. Only work that an agent does at the gate after the
    /// approval is retried if it failed.
    fn gate(&self, at: usize, reviews: &BTreeMap<usize, usize>) -> Option<Choice> {
        let asks = match self.reconciled.effective_status(at) {
            EffectiveStatus::Waiting => true,
            EffectiveStatus::Open
            | EffectiveStatus::Blocked
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Failed
            | EffectiveStatus::Conditions
            | EffectiveStatus::Verify
            | EffectiveStatus::Invalid => self.reconciled.is_ready(at),
            EffectiveStatus::Done
            | EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => false,
        };
        let has_agent = self.reconciled.run.steps[at].agent.is_some();
        let failed = has_agent
            && self.reconciled.effective_status(at) == EffectiveStatus::Failed
            && !self.reconciled.was_reworked(at)
            && !self.reconciled.is_refused_gate(at);
        asks.then(|| if failed { self.retry_failed(at, reviews) } else { self.approval(at) })
    }

    pub(super) fn approval(&self, at: usize) -> Choice {
        let asks = || self.reconciled.run.steps[at].asks.as_deref().map(|asks| safe_line(asks, 400));
        let reason = self.reconciled.guest_reason(at).or_else(asks);
        let reason = reason.unwrap_or_else(|| "User approval required".to_owned());
        Choice::new(at, Action::Approve, "5.gate", reason)
    }

    /// Drops choices that depend on work that is chosen to be redone. Verifying costs nothing and stays.
    fn drop_behind_rework(&self, choices: &mut Vec<Choice>) {
        let mut behind_return = BTreeSet::new();
        let mut behind_work = BTreeSet::new();
        choices.retain(|choice| {
            let keep = match choice.action {
                Action::Run | Action::Exec | Action::Retry | Action::Return => !behind_return.contains(&choice.at),
                Action::Approve => !behind_work.contains(&choice.at),
                Action::Verify | Action::Merge | Action::Archive => true,
            };
            if keep && choice.action == Action::Return {
                self.add_dependents(choice.at, &mut behind_return);
            }
            if keep && choice.is_work() {
                self.add_dependents(choice.at, &mut behind_work);
            }
            keep
        });
    }

    /// Leaves out work that the order of a file keeps for later, unless the caller asks for what can be done in parallel.
    fn keep_to_pace(&self, choices: &mut Vec<Choice>) {
        let steps = &self.reconciled.run.steps;
        let Some(first) = choices.iter().find(|choice| choice.is_work()).map(|choice| choice.at) else { return };
        let pace = steps[first].guest.as_ref().map_or(Pace::All, |proof| proof.pace);
        choices.retain(|choice| match pace {
            _ if self.options.parallel || !choice.is_work() => true,
            Pace::All => true,
            Pace::Group => steps[choice.at].group == steps[first].group,
            Pace::Step => choice.at == first,
        });
    }

    /// Adds all dependents of a step to `behind`.
    fn add_dependents(&self, from: usize, behind: &mut BTreeSet<usize>) {
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            open.extend(self.reconciled.graph.dependents(at).iter().copied().filter(|next| behind.insert(*next)));
        }
    }

    /// Drops choices behind a gate or a review that is not done, even with finished steps in between.
    fn drop_behind_gates(&self, choices: &mut Vec<Choice>) {
        let behind_gate = self.behind_pending_gates();
        choices.retain(|choice| match choice.action {
            Action::Run | Action::Exec | Action::Retry | Action::Return => !behind_gate.contains(&choice.at),
            // Its result can only be recorded before the approval if it was begun before.
            Action::Verify => self.reconciled.passed_its_gates(choice.at) || !behind_gate.contains(&choice.at),
            Action::Approve => {
                self.reconciled.effective_status(choice.at) == EffectiveStatus::Waiting
                    || !behind_gate.contains(&choice.at)
            }
            Action::Merge | Action::Archive => true,
        });
    }

    fn behind_pending_gates(&self) -> BTreeSet<usize> {
        let mut behind_gate = BTreeSet::new();
        for &at in self.reconciled.graph.order().iter().filter(|at| self.reconciled.is_pending_gate(**at)) {
            self.add_dependents(at, &mut behind_gate);
        }
        behind_gate
    }

    fn nothing_ready(&self, chosen: &mut Chosen) {
        let forced = if self.options.force { self.first_to_force() } else { None };
        let Some(at) = forced else {
            chosen.findings.extend(self.dependency_block());
            return;
        };
        let id = &self.reconciled.run.steps[at].id;
        let message = format!("{id} was forced although it waits for {}", list(&self.reconciled.unmet(at)));
        chosen.findings.push(Finding::new(FindingCode::OverrideForced, message).on(id));
        let reason = "nothing is ready; the first open step was forced".to_owned();
        let choice = Choice::new(at, self.work_action(at), "7.force", reason);
        chosen.choices.push(Choice { forced: true, ..choice });
    }

    /// Returns the first step with open work that is not behind a gate or review, and no review that sends the run back.
    fn first_to_force(&self) -> Option<usize> {
        let behind_gate = self.behind_pending_gates();
        self.reconciled.graph.order().iter().copied().find(|at| {
            let is_open = match self.reconciled.effective_status(*at) {
                EffectiveStatus::Open
                | EffectiveStatus::Blocked
                | EffectiveStatus::Invalid
                | EffectiveStatus::Failed
                | EffectiveStatus::Interrupted => true,
                EffectiveStatus::Done
                | EffectiveStatus::Skipped
                | EffectiveStatus::Cancelled
                | EffectiveStatus::Waiting
                | EffectiveStatus::Conditions
                | EffectiveStatus::Verify
                | EffectiveStatus::Unreadable
                | EffectiveStatus::OpenContainer => false,
            };
            let has_work = matches!(self.reconciled.run.steps[*at].kind, StepKind::Work | StepKind::Review);
            // A review that refused comes after the work that it sent back.
            let is_refusal = self.reconciled.returns_to(*at).is_some();
            is_open && has_work && !is_refusal && !behind_gate.contains(at)
        })
    }

    /// Returns whether a step is run for the first time or retried.
    pub(super) fn work_action(&self, at: usize) -> Action {
        if let Some(attempt) = self.reconciled.own_attempt(at) {
            return attempt.action;
        }
        match self.reconciled.effective_status(at) {
            EffectiveStatus::Open | EffectiveStatus::Blocked => Action::Run,
            EffectiveStatus::Done
            | EffectiveStatus::Skipped
            | EffectiveStatus::Cancelled
            | EffectiveStatus::Interrupted
            | EffectiveStatus::Failed
            | EffectiveStatus::Waiting
            | EffectiveStatus::Conditions
            | EffectiveStatus::Verify
            | EffectiveStatus::Invalid
            | EffectiveStatus::Unreadable
            | EffectiveStatus::OpenContainer => Action::Retry,
        }
    }

    fn ready_reason(&self, at: usize) -> String {
        let needs = self.reconciled.graph.depends_on(at);
        let id = |on: &usize| self.reconciled.run.steps[*on].id.as_str();
        let is_skipped = |on: &&usize| self.reconciled.effective_status(**on) == EffectiveStatus::Skipped;
        match needs {
            [] if self.reconciled.effective_status(at) == EffectiveStatus::Blocked => {
                "the state says blocked without naming what it waits for".to_owned()
            }
            [] => "it depends on nothing".to_owned(),
            _ if let Some(on) = needs.iter().find(is_skipped) => {
                format!("{} was skipped", id(on))
            }
            [one] => format!("{} is done", id(one)),
            many if many.len() <= 4 => {
                format!("{} are done", many.iter().map(id).collect::<Vec<_>>().join(", "))
            }
            many => format!("all {} steps it depends on are done", many.len()),
        }
    }

    fn report_graph(&self, findings: &mut Vec<Finding>) {
        if let Some(cycle) = self.reconciled.graph.cycle(|at| !self.reconciled.effective_status(at).is_over()) {
            let path: Vec<&str> = cycle.iter().map(|at| self.reconciled.run.steps[*at].id.as_str()).collect();
            let message = format!("steps depend on each other in a cycle: {}", chain_of(&path, " -> "));
            let fix = "remove one of these dependencies, or skip one of the steps";
            findings.push(
                Finding::new(FindingCode::DependencyCycle, message)
                    .on(&self.reconciled.run.steps[cycle[0]].id)
                    .fix(fix),
            );
        }
        for (at, step) in self
            .reconciled
            .run
            .steps
            .iter()
            .enumerate()
            .filter(|(at, _)| !self.reconciled.effective_status(*at).is_over())
        {
            if !step.dangling.is_empty() {
                let message = format!("{} depends on {}, which does not exist", step.id, step.dangling.join(", "));
                let plan = Suggested::of(Verb::Plan, &self.reconciled.run.id).option("from", &step.id).flag("force");
                let finding = Finding::new(FindingCode::DependencyDangling, message).on(&step.id);
                let finding = finding.fix(format!("correct the dependency, or `{plan}`"));
                findings.push(match &step.file {
                    Some(file) => finding.at(file),
                    None => finding,
                });
            }
            let skipped = self
                .reconciled
                .graph
                .depends_on(at)
                .iter()
                .find(|on| self.reconciled.effective_status(**on) == EffectiveStatus::Skipped);
            if let Some(on) = skipped.filter(|_| self.reconciled.is_ready(at)) {
                let message =
                    format!("{} is ready although {} was skipped", step.id, self.reconciled.run.steps[*on].id);
                findings.push(Finding::new(FindingCode::DependencySkipped, message).on(&step.id));
            }
        }
    }

    /// Reports the steps that the state holds back while others go on, and those that it blocks for no reason.
    fn held(&self) -> Vec<Finding> {
        let run = self.reconciled.run;
        let finding = |at: usize| {
            let step = &run.steps[at];
            let id = step.id.with_title(&step.title);
            if let Some(reason) = self.reconciled.hold(at).filter(|_| !self.reconciled.is_ready(at)) {
                let fix = match &step.guest {
                    Some(proof) => proof.record.clone(),
                    None if !step.recorded => "wait until that has ended, or decide it there".to_owned(),
                    None => command::override_hold(&step.id, &run.id),
                };
                return Some(Finding::new(FindingCode::StepHeld, format!("{id} is blocked: {reason}")).fix(fix));
            }
            let is_unexplained = step.hold == Some(Hold::Unexplained) && self.reconciled.is_ready(at);
            is_unexplained.then(|| {
                let message = format!("the state calls {id} blocked, but all that it waits for is done");
                Finding::new(FindingCode::BlockUnexplained, message).fix("find out what blocked it, then go on")
            })
        };
        let blocked =
            (0..run.steps.len()).filter(|at| self.reconciled.effective_status(*at) == EffectiveStatus::Blocked);
        blocked.filter_map(|at| Some(finding(at)?.on(&run.steps[at].id))).collect()
    }

    /// Maps each step that a review sent the run back to, to the first such review that has not passed since.
    pub(super) fn unresolved_reviews(&self) -> BTreeMap<usize, usize> {
        let mut findings = BTreeMap::new();
        for (at, step) in self.reconciled.run.steps.iter().enumerate() {
            let target = step.returns_to.as_ref().and_then(|id| self.reconciled.graph.position(id));
            if let Some(target) =
                target.filter(|_| step.error.is_some() && !self.reconciled.effective_status(at).is_over())
            {
                findings.entry(target).or_insert(at);
            }
        }
        findings
    }

    /// Names the review that sent the run back to a step, if its findings are still open.
    fn unresolved_review_note(&self, at: usize, reviews: &BTreeMap<usize, usize>) -> String {
        let sent_back = reviews.get(&at).map(|review| &self.reconciled.run.steps[*review]);
        sent_back.map_or_else(String::new, |review| {
            format!("; it was sent back by {}, whose findings are still open", review.id.with_title(&review.title))
        })
    }
}

pub(super) fn list(ids: &[StepId]) -> String {
    let ids: Vec<&str> = ids.iter().map(StepId::as_str).collect();
    ids.join(", ")
}

/// Joins ids. Only both ends of a long chain are named.
pub(super) fn chain_of(ids: &[&str], link: &str) -> String {
    if ids.len() <= NAMED_IDS {
        return ids.join(link);
    }
    let (head, tail) = (&ids[..NAMED_IDS / 2], &ids[ids.len() - NAMED_IDS / 2..]);
    let left_out = ids.len() - head.len() - tail.len();
    format!("{}{link}... {left_out} more ...{link}{}", head.join(link), tail.join(link))
}
