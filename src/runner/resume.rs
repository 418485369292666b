//! Has the planner say which steps a resume runs. When a person has to agree, nothing is changed before.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    console::{Console, Event, says_yes},
    error::RunError,
    ledger::Ledger,
    warnings,
};
use crate::{
    dialect::piton::{
        self,
        facts::{Facts, Outline},
        record::Header,
    },
    engine::{self, Planned, StepDue},
    model::{
        Action, ChangeKind, Finding, FindingCode, Fix, Interruption, InterruptionKind, No, Options, Run, RunHeader,
        RunId, RunStatus, Severity, Status, Step, StepId, StepKind, Suggested, Verb, plural,
    },
    ops::Exit,
    workflow::{Command, Workflow},
};

/// The options of a resume.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResumeOptions {
    /// The session was just created.
    pub(crate) is_new: bool,
    /// Repeat from this step on.
    pub(crate) from: Option<String>,
    pub(crate) skip: Vec<String>,
    /// Run the items of `foreach` that failed again, also of a loop that passed.
    pub(crate) failed: bool,
    /// How many steps run at the same time; 0 is one.
    pub(crate) jobs: usize,
    /// Stop when this step is done.
    pub(crate) until: Option<String>,
    /// Run this step and no other.
    pub(crate) only: Option<String>,
    /// Abort the run and run the steps of its `at_end`.
    pub(crate) gives_up: bool,
    /// Restart from the first step.
    pub(crate) force: bool,
    pub(crate) accept_edits: bool,
    /// Go on although a limit is reached.
    pub(crate) over_limits: bool,
    pub(crate) yes: bool,
    pub(crate) dry_run: bool,
}

/// A step that is due.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduledStep {
    pub(super) at: usize,
    /// A person chose to repeat it although it is done.
    pub(super) is_forced: bool,
    /// An earlier runner tried it already.
    pub(super) is_retry: bool,
    /// A `foreach` that passed: only its items that failed are run.
    pub(super) keeps_items: bool,
}

impl ScheduledStep {
    pub(super) const fn first(at: usize) -> Self {
        Self { at, is_forced: false, is_retry: false, keeps_items: false }
    }
}

/// The selection of the steps that are due.
pub(super) struct StepSelection<'a> {
    pub(super) ledger: &'a mut Ledger,
    pub(super) workflow: &'a Workflow,
    /// The secrets of the workflow.
    pub(super) declared: &'a BTreeMap<String, String>,
    pub(super) header: &'a Header,
    pub(super) options: &'a ResumeOptions,
    pub(super) console: &'a dyn Console,
    /// What the planner has due when no option is given.
    due: Vec<StepDue>,
}

/// Returns the steps that are due, after recording the resume.
pub(super) fn scheduled_steps(
    ledger: &mut Ledger,
    (workflow, sha256, declared): (&Workflow, &str, &BTreeMap<String, String>),
    (header, findings): (&Header, Vec<Finding>),
    options: &ResumeOptions,
    console: &dyn Console,
) -> Result<Vec<ScheduledStep>, RunError> {
    let due = ledger.order(&Options::at(ledger.now()));
    let mut selection = StepSelection { ledger, workflow, declared, header, options, console, due };
    if let Some(step) = &options.only {
        return selection.only(step).map(|due| due.into_iter().collect());
    }
    if options.is_new {
        let mut due = selection.due.iter().map(|due| ScheduledStep::first(due.at)).collect();
        options.until.iter().try_for_each(|step| selection.stop_after(step, &mut due))?;
        return Ok(due);
    }
    if options.gives_up {
        return selection.give_up();
    }
    if options.force {
        return selection.force(sha256);
    }
    let planned = selection.planned(findings);
    for edit in planned.findings.iter().filter(|finding| finding.code == FindingCode::DefinitionDrift) {
        selection.say(&edit.message);
    }
    selection.check_resumable(&planned)?;
    let mut due = selection.select(&planned)?;
    if options.failed {
        due = selection.failed_items(due)?;
    }
    let left = due.clone();
    if let Some(step) = &options.until {
        selection.stop_after(step, &mut due)?;
    }
    if options.dry_run {
        return Ok(due);
    }
    selection.record_resume(sha256, &left)?;
    Ok(due)
}

impl StepSelection<'_> {
    /// Returns a step that is to be run alone: it is a command, it is due, and what it builds on is done. `None` if its condition left it out.
    fn only(&mut self, text: &str) -> Result<Option<ScheduledStep>, RunError> {
        let at = self.find(text)?;
        let run = self.ledger.run();
        let (step, plan) = (&run.steps[at], Suggested::of(Verb::Plan, &self.header.session));
        let refuse = |why, message: String, hint: Suggested| Err(RunError::new(Exit::No(why), message, [hint.into()]));
        let is_reported = self.ledger.step(&step.id).is_some_and(|state| state.reported.is_some());
        let other = match &self.workflow.steps[at].command {
            Command::Agent(_) if is_reported => None,
            Command::Gate(_) => Some((engine::approve_command(step, &run.id), "a person")),
            Command::Agent(_) => Some((Suggested::on_step(Verb::Begin, &step.id, &run.id), "an agent")),
            Command::Shell(_)
            | Command::Claude(_)
            | Command::Foreach(_)
            | Command::WriteFile(_)
            | Command::Validate(_) => None,
        };
        if let Some((hint, who)) = other {
            return refuse(No::NotYours, format!("step {} is for {who}", step.id), hint);
        }
        let Some(place) = self.due.iter().position(|due| due.at == at) else {
            if self.ledger.step(&step.id).is_some_and(|state| state.is_unmet) {
                return Ok(None);
            }
            return refuse(No::Already, format!("step {} is done already", step.id), plan);
        };
        let is_open = |need: &&StepId| self.due[..place].iter().any(|due| run.steps[due.at].id == **need);
        if let Some(open) = step.depends_on.iter().find(is_open) {
            return refuse(No::NotYet, format!("step {} comes after {open}, which is not done", step.id), plan);
        }
        let StepDue { action, is_repeated, .. } = self.due[place];
        let is_retry = step.attempts > 0 && !is_reported;
        if action == Action::Verify && self.took_effect(at)? {
            let message = "it took effect, and is recorded as done; nothing was run".to_owned();
            return refuse(No::Already, message, plan);
        }
        Ok(Some(ScheduledStep { is_forced: is_repeated, is_retry, ..ScheduledStep::first(at) }))
    }

    /// Records that the run is given up; the steps are those of its `at_end`.
    fn give_up(&mut self) -> Result<Vec<ScheduledStep>, RunError> {
        self.ledger.give_up()?;
        let mut due = Vec::new();
        for StepDue { at, action, is_repeated } in self.due.clone() {
            if action != Action::Verify || !self.took_effect(at)? {
                due.push(ScheduledStep { is_forced: is_repeated, ..ScheduledStep::first(at) });
            }
        }
        Ok(due)
    }

    /// Leaves out the steps that come after one.
    fn stop_after(&self, text: &str, due: &mut Vec<ScheduledStep>) -> Result<(), RunError> {
        let at = self.find(text)?;
        let Some(place) = due.iter().position(|due| due.at == at) else {
            let message = format!("step {} is done already; nothing was run", self.ledger.run().steps[at].id);
            return Err(RunError::new(Exit::No(No::Already), message, [self.header.resume().into()]));
        };
        due.truncate(place + 1);
        Ok(())
    }

    fn planned(&self, findings: Vec<Finding>) -> Planned {
        let run = self.ledger.run();
        let stamp = run.stamp.or(run.started_at).unwrap_or(self.header.created_at);
        let header = RunHeader {
            worktree: self.header.worktree.as_ref().map(ToString::to_string),
            plan_reference: None,
            ..RunHeader::of(run, self.header.root.as_str().to_owned(), String::new())
        };
        let options = Options::at(self.ledger.now().max(stamp));
        engine::plan(run, header, self.ledger.evidence(), findings, &options)
    }

    /// Refuses sessions that are over and those with blocking findings.
    fn check_resumable(&self, planned: &Planned) -> Result<(), RunError> {
        let run = self.ledger.run();
        let id = &self.header.session;
        let resume = || self.header.resume();
        let is_reopened = self.due.iter().any(|due| self.ledger.is_redone(due.at));
        if run.status == RunStatus::Completed && !is_reopened && self.options.from.is_none() && !self.options.failed {
            let message = format!("session {id} is complete already; there is nothing to resume");
            let waits = self.header.keeps_work(self.ledger.state().run.worktree.as_deref());
            let again = format!("to run it again from its first step: `{}`", resume().flag("force"));
            let last = Suggested::of(if waits { Verb::Merge } else { Verb::Status }, id).into();
            return Err(RunError::new(Exit::No(No::Already), message, [again.into(), last]));
        }
        if run.status == RunStatus::Aborted && self.options.from.is_none() {
            let message = format!("session {id} was aborted");
            let goes_on = self.due.first().map(|due| resume().option("from", &run.steps[due.at].id));
            let goes_on = goes_on.map_or_else(
                || Suggested::of(Verb::Status, id).into(),
                |from| format!("to go on where it stopped: `{from}`"),
            );
            let restart = format!("to restart it: `{}`", resume().flag("force"));
            let discard = Suggested::of(Verb::Close, id).flag("discard").into();
            return Err(RunError::new(Exit::Person, message, [discard, goes_on.into(), restart.into()]));
        }
        // An unknown outcome is asked about separately, in `took_effect`. Who names a step goes on with an aborted run.
        let is_asked = [FindingCode::OutcomeUnknown, FindingCode::RunAborted];
        let is_blocking =
            |finding: &&Finding| finding.severity == Severity::Blocking && !is_asked.contains(&finding.code);
        let blocking: Vec<Finding> = planned.findings.iter().filter(is_blocking).cloned().collect();
        if let Some(first) = blocking.first() {
            let hint = first.fix.as_ref().map_or_else(String::new, Fix::to_string);
            let error = RunError::new(Exit::Person, first.message.clone(), [hint.into()]);
            return Err(error.with(blocking));
        }
        Ok(())
    }

    fn is_over(&self, at: usize) -> bool {
        self.due.iter().all(|due| due.at != at)
    }

    /// Returns the steps that are due, in the order of the plan. Whether one that may have taken effect did is asked here.
    fn select(&mut self, planned: &Planned) -> Result<Vec<ScheduledStep>, RunError> {
        let skipped = self.skipped()?;
        self.leave_acts(&skipped);
        let from = match &self.options.from {
            Some(text) => Some(self.from(text, &skipped)?),
            None => None,
        };
        if from.is_none() {
            self.check_edited_steps(planned)?;
        }
        let mut due = Vec::new();
        let order = self.planned_order(from, &skipped);
        if let Some(review) = order.iter().find(|due| self.has_open_conditions(due.at)).filter(|_| from.is_none()) {
            return Err(self.conditions_open(review.at));
        }
        for StepDue { at, action, is_repeated } in order {
            if action == Action::Verify && self.took_effect(at)? {
                continue;
            }
            let is_first = due.is_empty() && !self.is_over(at);
            let is_retry = is_first && self.ledger.run().steps[at].attempts > 0;
            due.push(ScheduledStep { is_forced: is_repeated, is_retry, ..ScheduledStep::first(at) });
        }
        Ok(due)
    }

    /// Puts the loops first that passed although items failed. A loop that did not pass is due in any case.
    fn failed_items(&mut self, due: Vec<ScheduledStep>) -> Result<Vec<ScheduledStep>, RunError> {
        let has_failed =
            |step: &&StepId| self.ledger.step(step).is_some_and(|state| piton::failed_items(state).next().is_some());
        let steps = self.workflow.steps.iter().enumerate();
        let loops = steps.filter(|(_, step)| matches!(step.command, Command::Foreach(_)) && has_failed(&&step.id));
        let loops: Vec<usize> = loops.map(|(at, _)| at).collect();
        if loops.is_empty() {
            let message = format!("session {}: no item of a `foreach` has failed", self.header.session);
            let hint = Suggested::of(Verb::Show, &self.header.session).into();
            return Err(RunError::new(Exit::No(No::Nothing), message, [hint]));
        }
        let passed: Vec<usize> = loops.into_iter().filter(|at| due.iter().all(|due| due.at != *at)).collect();
        self.check_acts_behind(&passed)?;
        let again = passed.into_iter().map(|at| ScheduledStep {
            is_forced: true,
            is_retry: true,
            keeps_items: true,
            ..ScheduledStep::first(at)
        });
        Ok(again.chain(due.iter().copied()).collect())
    }

    /// Tells whether a step is a review that approved on conditions, and its work was not begun again since.
    fn has_open_conditions(&self, at: usize) -> bool {
        let step = &self.ledger.run().steps[at];
        let open = step.review.as_ref().and_then(|review| review.open_conditions.as_ref());
        step.status == Status::Completed && open.is_some_and(|open| !open.is_empty())
    }

    /// Refuses to go on behind a review that approved on conditions: a person takes the work, or has them met.
    fn conditions_open(&self, at: usize) -> RunError {
        let (step, run) = (&self.ledger.run().steps[at], RunId::new(&self.header.session));
        let open = step.review.as_ref().and_then(|review| review.open_conditions.as_ref());
        let open = open.map(|open| open.join("; ")).unwrap_or_default();
        let message = format!("step {} approved on {open}", step.id);
        let finish = Suggested::on_step(Verb::Finish, &step.id, &run).option("verdict", "APPROVED");
        let hints =
            [engine::decide_command("accept", &step.id, &run).into(), format!("once that is met: `{finish}`").into()];
        RunError::new(Exit::Person, message, hints)
    }

    /// Asks the planner for the steps that are due: from a step on, or all that are left.
    fn planned_order(&self, from: Option<usize>, skipped: &BTreeSet<usize>) -> Vec<StepDue> {
        let steps = &self.ledger.run().steps;
        let all = from.map_or(0..0, |from| from..steps.len());
        let from = all.filter(|at| !skipped.contains(at)).map(|at| steps[at].id.clone()).collect();
        let skip = skipped.iter().map(|at| steps[*at].id.clone()).collect();
        self.ledger.order(&Options { from, skip, ..Options::at(self.ledger.now()) })
    }

    fn find(&self, text: &str) -> Result<usize, RunError> {
        let run = self.ledger.run();
        let found = run.resolve(text).and_then(|found| run.steps.iter().position(|step| step.id == found.id));
        found.ok_or_else(|| {
            let known: Vec<&str> = run.steps.iter().take(12).map(|step| step.id.as_str()).collect();
            let message = format!("session {} has no step `{text}`", self.header.session);
            RunError::new(Exit::NotFound, message, [format!("its steps: {}", known.join(", ")).into()])
        })
    }

    fn from(&self, text: &str, skipped: &BTreeSet<usize>) -> Result<usize, RunError> {
        let from = self.find(text)?;
        let gate = &self.ledger.run().steps[from];
        if gate.kind == StepKind::Gate && self.is_over(from) {
            let message = format!("{} is a gate that was answered", gate.id);
            let again = engine::redo_command(&gate.id, &self.ledger.run().id);
            return Err(RunError::new(Exit::Person, message, [format!("to have it asked again: `{again}`").into()]));
        }
        match (0..from).find(|at| !self.is_over(*at) && !skipped.contains(at)) {
            None => Ok(from),
            Some(open) => {
                let (open, resume) = (&self.ledger.run().steps[open].id, self.header.resume());
                let message = format!("step {open} comes before `{text}` and is not done");
                let hints = [resume.clone(), resume.option("from", text).option("skip", open)].map(Fix::from);
                Err(RunError::new(Exit::No(No::NotYet), message, hints))
            }
        }
    }

    fn skipped(&self) -> Result<BTreeSet<usize>, RunError> {
        let texts = self.options.skip.iter().flat_map(|text| text.split(','));
        texts.map(|text| self.find(text.trim())).collect()
    }

    /// Refuses when finished steps were edited, unless a person accepted the edits.
    fn check_edited_steps(&self, planned: &Planned) -> Result<(), RunError> {
        let edited = planned.findings.iter().filter(|finding| finding.code == FindingCode::DefinitionChanged);
        let edited: Vec<&StepId> = edited.filter_map(|finding| finding.step.as_ref()).collect();
        let Some(first) = edited.first().filter(|_| !self.options.accept_edits) else { return Ok(()) };
        let again = self.due.iter().filter(|due| due.is_repeated && due.action != Action::Verify).count();
        let names: Vec<&str> = edited.iter().map(|step| step.as_str()).collect();
        let (file, resume) = (&self.header.workflow.file, self.header.resume());
        let message = format!(
            "{file} was changed in finished steps ({}); resuming would repeat {}",
            names.join(", "),
            plural(again, "finished step")
        );
        let hints = [
            format!("undo the change to step {first}, then: `{resume}`"),
            format!("or repeat them: `{}`", resume.clone().flag("accept-edits")),
        ]
        .map(Fix::from);
        Err(RunError::new(Exit::Person, message, hints))
    }

    pub(super) fn say(&self, text: &str) {
        self.console.tell(&Event::Note { text });
    }

    /// Leaves steps as they are that a person has skipped and that must not run twice: also where what they build on is done again.
    fn leave_acts(&mut self, skipped: &BTreeSet<usize>) {
        let steps = &self.ledger.run().steps;
        let is_act = |step: &&Step| step.status == Status::Completed && !step.idempotent;
        let acts: Vec<StepId> =
            skipped.iter().map(|at| &steps[*at]).filter(is_act).map(|step| step.id.clone()).collect();
        acts.iter().for_each(|step| self.ledger.found_out(step, true));
    }

    /// Asks about the steps that must not run twice and were done on top of loops of which items run again.
    fn check_acts_behind(&mut self, loops: &[usize]) -> Result<(), RunError> {
        let outline = &self.ledger.state().workflow;
        let behind: BTreeSet<&StepId> =
            loops.iter().flat_map(|at| outline.behind(&self.workflow.steps[*at].id)).collect();
        let is_act = |step: &Step| step.status == Status::Completed && !step.idempotent && behind.contains(&step.id);
        let steps = self.ledger.run().steps.iter().zip(0..);
        let acts: Vec<usize> = steps.filter(|(step, _)| is_act(step)).map(|(_, at)| at).collect();
        for at in acts {
            if !self.ledger.has_acted(&self.workflow.steps[at].id) {
                self.took_effect(at)?;
            }
        }
        Ok(())
    }

    /// Returns the call that asks for the same again.
    pub(super) fn same_call(&self) -> Suggested {
        let asked = self.options;
        let flags = [("failed", asked.failed), ("force", asked.force), ("accept-edits", asked.accept_edits)];
        let given = flags.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag);
        self.header.resume().flags(given).options("from", &asked.from).options("skip", &asked.skip)
    }

    /// Restarts the session once a person agreed to lose finished steps. What took effect and must not run twice stays done.
    fn force(&mut self, sha256: &str) -> Result<Vec<ScheduledStep>, RunError> {
        let skipped = self.skipped()?;
        self.leave_acts(&skipped);
        let mut all = Vec::new();
        for StepDue { at, action, .. } in self.planned_order(Some(0), &skipped) {
            if action != Action::Verify || !self.took_effect(at)? {
                all.push(ScheduledStep::first(at));
            }
        }
        if self.options.dry_run {
            return Ok(all);
        }
        let is_done = |due: &&ScheduledStep| self.ledger.run().steps[due.at].status == Status::Completed;
        let done = all.iter().filter(is_done).count();
        let steps = plural(done, "completed step");
        let question = format!("Force restart will lose {steps}. Continue? [y/N]");
        let (id, resume) = (&self.header.session, self.header.resume());
        self.console.tell(&Event::Resuming { id, project: self.header.root.as_str() });
        if self.options.yes {
            self.console.tell(&Event::Note { text: &format!("Force restart loses {steps}") });
        } else if done > 0 && !says_yes(self.console.ask(&question, None)) {
            let message = format!("a restart would lose {steps}; not confirmed, nothing was changed");
            return Err(RunError::new(
                Exit::Person,
                message,
                [format!("to confirm: `{}`", resume.flag("force").yes()).into()],
            ));
        }
        let definition = Some(Outline::of(self.workflow, sha256.to_owned()));
        let kept: Vec<StepId> = (self.ledger.run().steps.iter().enumerate())
            .filter(|(at, step)| skipped.contains(at) || self.ledger.has_acted(&step.id))
            .map(|(_, step)| step.id.clone())
            .collect();
        self.ledger.start_again(self.workflow, Facts { definition, ..Facts::default() })?;
        for step in kept {
            let kind =
                ChangeKind::Skip { step, part: None, by: None, reason: "left as it was at a restart".to_owned() };
            self.ledger.record(kind, Facts::default(), false)?;
        }
        Ok(all)
    }

    /// Records the resume, with the definition when it changed.
    fn record_resume(&mut self, sha256: &str, due: &[ScheduledStep]) -> Result<(), RunError> {
        let run = self.ledger.run();
        let id = &self.header.session;
        let skipped = self.skipped()?;
        let is_over = |at: usize| !due.iter().any(|due| due.at == at);
        let done = (0..run.steps.len()).filter(|at| is_over(*at) && !skipped.contains(at)).count();
        self.console.tell(&Event::Resuming { id, project: self.header.root.as_str() });
        if let Some(behind) = warnings::behind(self.header) {
            self.console.tell(&Event::Note { text: &behind });
        }
        self.console.tell(&Event::Loaded { done, total: run.steps.len() });
        let steps = due.first().map(|due| run.steps[due.at].id.clone()).into_iter().collect();
        let interruption = interruption(run, due);
        let changed = self.ledger.state().workflow.sha256 != sha256;
        let definition = changed.then(|| Outline::of(self.workflow, sha256.to_owned()));
        let ids: Vec<_> = skipped.iter().map(|at| run.steps[*at].id.clone()).collect();
        for step in ids {
            if self.ledger.has_acted(&step) {
                self.leave_as_it_is(&step)?;
                continue;
            }
            let kind = ChangeKind::Skip { step, part: None, by: None, reason: "skipped on resume".to_owned() };
            self.ledger.record(kind, Facts::default(), false)?;
        }
        let kind = ChangeKind::Resume { steps, interruption, strategy: None, settled: Vec::new() };
        let facts = Facts { definition, over_limits: self.options.over_limits, ..Facts::default() };
        self.ledger.record(kind, facts, true)
    }
}

/// Checks the steps that are asked for of a new run, before a session is made for it.
pub(super) fn check_asked(workflow: &Workflow, file: &str, asked: &ResumeOptions) -> Result<(), RunError> {
    let command = Suggested::of(Verb::Run, file);
    for id in asked.until.iter().chain(&asked.only) {
        let Some(step) = workflow.steps.iter().find(|step| step.id.as_str() == id) else {
            let known: Vec<&str> = workflow.steps.iter().take(12).map(|step| step.id.as_str()).collect();
            let message = format!("{file} has no step `{id}`");
            return Err(RunError::new(Exit::NotFound, message, [format!("its steps: {}", known.join(", ")).into()]));
        };
        let is_only = asked.only.as_ref() == Some(id);
        if let Some(first) = step.depends_on.first().filter(|_| is_only) {
            let message = format!("step {id} comes after {}, which is not done", first.id);
            return Err(RunError::new(Exit::No(No::NotYet), message, [command.option("until", id).into()]));
        }
        if is_only && matches!(step.command, Command::Agent(_) | Command::Gate(_)) {
            let message = format!("step {id} is for an agent or a person; `--only` runs a step that is a command");
            return Err(RunError::new(Exit::No(No::NotYours), message, [command.option("until", id).into()]));
        }
    }
    Ok(())
}

/// Returns what interrupted the run.
fn interruption(run: &Run, due: &[ScheduledStep]) -> Option<Interruption> {
    let step = &run.steps[due.first()?.at];
    let kind = InterruptionKind::of(step.status)?;
    let reason = if step.status == Status::InProgress {
        "the runner ended during the step".to_owned()
    } else {
        step.error.clone().unwrap_or_default()
    };
    Some(Interruption { kind, step: Some(step.id.clone()), at: step.started_at, reason })
}
