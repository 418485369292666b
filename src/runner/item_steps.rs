//! The steps that a `foreach` runs for an item, one after the other. In a top-level step each of a group is recorded when it is over, so that
//! no try of the item repeats it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    console::Event,
    error::RunError,
    settle,
    step_executor::{StepExecutor, StepOutcome, refused},
};
use crate::{
    dialect::piton::{
        self,
        facts::{BegunStep, PassedStep},
        unmet,
    },
    model::{Status, StepId},
    workflow::{self, Step},
};

impl StepExecutor<'_> {
    /// Runs the steps for an item. A step is skipped by its condition, and with one that it needs.
    pub(super) fn item_steps(
        &mut self,
        (step, steps): (&StepId, &[Step]),
        (item, is_recorded): (&str, bool),
    ) -> Result<StepOutcome, RunError> {
        let is_recorded = is_recorded && (steps.len() > 1 || steps.iter().any(|inner| !inner.idempotent));
        if is_recorded && let Some(at) = self.without_outputs((step, steps), item) {
            let id = self.id_of(&steps[at]);
            self.context.console.tell(&Event::Note { text: &format!("{id} is done again: its outputs are not there") });
            self.context.ledger().keep_item_steps(step, item, at)?;
        }
        let ended = match is_recorded.then(|| self.take_up(step, item)).transpose() {
            Ok(ended) => ended.unwrap_or_default(),
            Err(message) => return Ok(StepOutcome::Failed(refused(message))),
        };
        steps.iter().zip(&ended).for_each(|(inner, ended)| self.set_end(inner, *ended));
        for (number, inner) in (1..).zip(steps).skip(ended.len()) {
            let before = (self.outputs.clone(), self.said.len());
            let is_left_out = inner.needs.iter().any(|need| self.is_skipped_for_item(&need.id));
            if is_recorded && !inner.idempotent && !is_left_out && self.skipped_by_condition(inner).is_none() {
                let name = piton::name_inside(step.as_str(), inner.id.as_str()).to_owned();
                self.context.ledger().begin_item_step(step, item, BegunStep { number, name })?;
            }
            let done = match is_left_out {
                true => StepOutcome::Skipped(unmet::WITH_OTHERS),
                false => self.run_titled(inner)?,
            };
            let ended = match done {
                StepOutcome::Completed(produced) if produced.tolerated.is_some() => Status::Failed,
                StepOutcome::Completed(_) => Status::Completed,
                StepOutcome::Skipped(_) => Status::Skipped,
                StepOutcome::Failed(_) | StepOutcome::Stopped(_) => return Ok(done),
            };
            self.set_end(inner, ended);
            // The end of the item is recorded with that of its last step.
            if is_recorded
                && number < steps.len()
                && let Some(end) = self.record_item_step(step, (item, number), ended, &before)?
            {
                return Ok(end);
            }
        }
        Ok(StepOutcome::Completed(Box::default()))
    }

    /// Tells whether a step was skipped for the current item.
    fn is_skipped_for_item(&self, step: &StepId) -> bool {
        let skipped = Value::from(piton::end_word(Status::Skipped, false));
        self.locals.get(&workflow::end_variable(step)) == Some(&skipped)
    }

    /// Sets how a step ended for the current item, for the steps after it.
    fn set_end(&mut self, inner: &Step, ended: Status) {
        self.locals.insert(workflow::end_variable(&inner.id), Value::from(piton::end_word(ended, false)));
    }

    /// Returns the steps for the current item that left none of their outputs: they were skipped, or failed where the file tolerates it.
    pub(super) fn left_out(&self, steps: &[Step]) -> Vec<usize> {
        let passed = Value::from(piton::end_word(Status::Completed, false));
        let has_passed = |inner: &Step| self.locals.get(&workflow::end_variable(&inner.id)) == Some(&passed);
        let left_out = steps.iter().enumerate().filter(|(_, inner)| !inner.outputs.is_empty() && !has_passed(inner));
        left_out.map(|(at, _)| at).collect()
    }

    /// Returns the first step that passed for an item and whose outputs are not there, of those that can be done again.
    fn without_outputs(&self, (step, steps): (&StepId, &[Step]), item: &str) -> Option<usize> {
        let ended: Vec<Status> =
            self.context.ledger().item_progress(step, item)?.passed.iter().map(|passed| passed.ended).collect();
        let is_gone = |at: &usize| {
            let files = self.output_files(&steps[*at]).unwrap_or_default();
            ended[*at] == Status::Completed && settle::missing_output(&self.folder, &steps[*at], &files).is_some()
        };
        (self.steps_kept((step, steps), item)..ended.len().min(steps.len())).find(is_gone)
    }

    /// Counts the steps that stay done for an item: those as far as the last one that must not run twice.
    pub(super) fn steps_kept(&self, (step, steps): (&StepId, &[Step]), item: &str) -> usize {
        let ledger = self.context.ledger();
        let passed = ledger.item_progress(step, item).map(|progress| progress.passed.as_slice()).unwrap_or_default();
        let is_kept = |(inner, passed): (&Step, &PassedStep)| !inner.idempotent && passed.ended != Status::Skipped;
        steps.iter().zip(passed).rposition(is_kept).map_or(0, |last| last + 1)
    }

    /// Takes what the steps left that are over for an item, and returns how they ended.
    fn take_up(&mut self, step: &StepId, item: &str) -> Result<Vec<Status>, String> {
        let ledger = self.context.ledger();
        let Some(progress) = ledger.item_progress(step, item) else { return Ok(Vec::new()) };
        for (name, captured) in progress.passed.iter().flat_map(|passed| &passed.variables) {
            self.outputs.insert(name.clone(), ledger.value(captured)?);
        }
        self.said = progress.passed.iter().flat_map(|passed| &passed.said).cloned().collect();
        Ok(progress.passed.iter().map(|passed| passed.ended).collect())
    }

    /// Records that a step of a group is over for an item. `before` are the variables and the number of reports that the item had before it.
    fn record_item_step(
        &mut self,
        step: &StepId,
        passed: (&str, usize),
        ended: Status,
        before: &(BTreeMap<String, Value>, usize),
    ) -> Result<Option<StepOutcome>, RunError> {
        self.outputs.append(&mut self.last);
        let mut ledger = self.context.ledger();
        let new = self.outputs.iter().filter(|(name, value)| before.0.get(*name) != Some(value));
        let kept = new.map(|(name, value)| Ok((name.clone(), ledger.keep(value.clone())?)));
        let variables = match kept.collect::<Result<_, String>>() {
            Ok(variables) => variables,
            Err(message) => return Ok(Some(StepOutcome::Failed(refused(message)))),
        };
        let last = PassedStep { ended, variables, said: self.said[before.1..].to_vec() };
        ledger.record_item_step(step, passed, last, std::mem::take(&mut self.work))?;
        Ok(None)
    }
}
