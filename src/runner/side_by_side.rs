//! Runs the steps of a run, several at the same time with `--jobs`: each that is due begins as soon as what it depends on is done, in the order
//! of the plan. All of them record in the same ledger, one after the other.

use std::{
    collections::BTreeSet,
    sync::mpsc::{self, Sender},
    thread,
};

use super::{
    context::RunContext,
    error::RunError,
    exec::{Signals, Stop},
    recorded_step::{self, Reported},
    report::RunEnd,
    resume::{ResumeOptions, ScheduledStep},
    step_executor::{StepExecutor, StepOutcome},
};
use crate::{
    model::{Action, Options, StepId},
    store,
    workflow::{Command, Step},
};

/// The result of a step that ran in its own thread.
type Done = Result<StepOutcome, RunError>;

/// A message at the end of a thread, also of one that panicked: it has no result then.
struct Message {
    sender: Sender<(ScheduledStep, Option<Done>)>,
    step: ScheduledStep,
    done: Option<Done>,
}

impl Drop for Message {
    fn drop(&mut self) {
        // The receiver is gone only if it panicked.
        let _ = self.sender.send((self.step, self.done.take()));
    }
}

/// The steps that are due and those that run.
struct Lanes<'a> {
    context: &'a RunContext<'a>,
    signals: Signals,
    jobs: usize,
    due: Vec<ScheduledStep>,
    running: Vec<ScheduledStep>,
    /// The ids of both.
    open: BTreeSet<&'a StepId>,
    /// The planner says after each step what is due: a review sends the run back, or a repeated loop re-opens steps.
    asks_anew: bool,
    until: Option<StepId>,
    /// Why nothing more is begun.
    end: Option<Result<RunEnd, RunError>>,
    stop: Option<Stop>,
}

/// Runs the steps that are due; returns `None` when all are done, else how the run ended.
pub(super) fn steps(
    executor: &StepExecutor<'_>,
    due: &[ScheduledStep],
    asked: &ResumeOptions,
) -> Result<Option<RunEnd>, RunError> {
    let context = executor.context;
    let asks_anew = asked.failed || context.workflow.steps.iter().any(|step| step.reviews.is_some());
    let until = asked.until.as_ref().and_then(|text| Some(context.ledger().run().resolve(text)?.id.clone()));
    let signals = StepExecutor::new(context)?.signals;
    let (due, running) = (due.to_vec(), Vec::new());
    let (jobs, open) = (asked.jobs.max(1), BTreeSet::new());
    let mut lanes = Lanes { context, signals, jobs, due, running, open, asks_anew, until, end: None, stop: None };
    lanes.cut_off();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        loop {
            while let Some(step) = lanes.next() {
                let message = Message { sender: sender.clone(), step, done: None };
                let is_labelled = asked.jobs > 1;
                let (begun, is_begun) = mpsc::channel();
                scope.spawn(store::carried(move || {
                    let mut message = message;
                    message.done = Some(run(context, message.step, is_labelled, begun));
                }));
                // They begin in the order of the plan. The sender is dropped then.
                let _ = is_begun.recv();
            }
            if lanes.running.is_empty() {
                return;
            }
            // A step that runs has a sender.
            let Ok((step, done)) = receiver.recv() else { return };
            lanes.ended(step, done);
        }
    });
    lanes.finish()
}

fn run(context: &RunContext<'_>, due: ScheduledStep, is_labelled: bool, begun: Sender<()>) -> Done {
    let step = &context.workflow.steps[due.at];
    let mut executor = StepExecutor::new(context)?;
    executor.begun = Some(begun);
    executor.label = is_labelled.then(|| step.id.as_str().to_owned());
    recorded_step::one(&mut executor, step, due)
}

impl<'a> Lanes<'a> {
    /// Returns the next step that can begin, which then counts as running. A gate stays, and with it what depends on it.
    fn next(&mut self) -> Option<ScheduledStep> {
        self.stop = self.stop.or_else(|| self.signals.stop());
        if self.stop.is_some() || self.end.is_some() || self.running.len() >= self.jobs {
            return None;
        }
        let steps = &self.context.workflow.steps;
        let place = self.due.iter().position(|scheduled| {
            let step = &steps[scheduled.at];
            let waits = step.depends_on.iter().any(|need| self.open.contains(&need.id));
            !waits && (!matches!(step.command, Command::Gate(_)) || self.is_left_out(step))
        })?;
        let step = self.due.remove(place);
        self.running.push(step);
        Some(step)
    }

    /// Tells whether a gate is skipped by its condition, which is asked once what it depends on is done.
    fn is_left_out(&self, gate: &Step) -> bool {
        StepExecutor::new(self.context).is_ok_and(|executor| executor.is_left_out(gate))
    }

    /// Takes the result of a step. The first one that ends the run counts.
    fn ended(&mut self, step: ScheduledStep, done: Option<Done>) {
        self.running.retain(|running| running.at != step.at);
        self.open.remove(&self.context.workflow.steps[step.at].id);
        let Some(done) = done else {
            // It panicked, and so does the scope once the others have ended.
            self.stop = Some(Stop::Terminate);
            return;
        };
        let end = match done.and_then(|done| recorded_step::reported(self.context, step, done)) {
            Ok(Reported::GoesOn { is_over }) => {
                let id = &self.context.workflow.steps[step.at].id;
                if is_over && self.until.as_ref() == Some(id) {
                    Some(recorded_step::stepped(self.context, id))
                } else {
                    self.ask_anew();
                    None
                }
            }
            Ok(Reported::Ends(end)) => Some(Ok(end)),
            Ok(Reported::Stopped(stop)) => {
                self.stop = Some(stop);
                None
            }
            Err(error) => Some(Err(error)),
        };
        if self.end.is_none() {
            self.end = end;
        }
    }

    fn ask_anew(&mut self) {
        if !self.asks_anew {
            return;
        }
        let ledger = self.context.ledger();
        let order = ledger.order(&Options::at(ledger.now()));
        drop(ledger);
        self.due.retain(|due| due.keeps_items);
        for due in order {
            let id = &self.context.workflow.steps[due.at].id;
            if due.action == Action::Verify && self.context.ledger().has_acted(id) {
                continue;
            }
            if self.due.iter().chain(&self.running).all(|known| known.at != due.at) {
                self.due.push(ScheduledStep { is_forced: due.is_repeated, ..ScheduledStep::first(due.at) });
            }
        }
        self.cut_off();
    }

    /// Leaves out what comes after the step that the run stops at, and notes which steps are open then.
    fn cut_off(&mut self) {
        let steps = &self.context.workflow.steps;
        if let Some(place) = self.due.iter().position(|due| self.until.as_ref() == Some(&steps[due.at].id)) {
            self.due.truncate(place + 1);
        }
        self.open = self.due.iter().chain(&self.running).map(|scheduled| &steps[scheduled.at].id).collect();
    }

    fn finish(self) -> Result<Option<RunEnd>, RunError> {
        if let Some(stop) = self.stop {
            return self.context.interrupted(stop).map(Some);
        }
        if let Some(end) = self.end {
            return end.map(Some);
        }
        let is_gate = |due: &&ScheduledStep| matches!(self.context.workflow.steps[due.at].command, Command::Gate(_));
        let gate = self.due.iter().find(is_gate);
        gate.map(|gate| recorded_step::at_gate(self.context, gate.at)).transpose()
    }
}
