//! Steps that must not run twice and took effect: what keeps them from running again unasked. Pure.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    facts::Outline,
    state::{State, StepState},
};
use crate::model::{Status, StepId};

/// Tells whether a step of this definition, or a step that it runs for its items, must not run twice.
pub(super) fn acts_once(definition: &Value) -> bool {
    let mut inner = definition.pointer("/foreach/do").and_then(Value::as_array).into_iter().flatten();
    definition.get("idempotent").is_some() || inner.any(|step| step.get("idempotent").is_some())
}

impl StepState {
    /// Tells whether it was done, or an item of it.
    fn has_acted(&self) -> bool {
        self.status == Status::Completed
            || self.parts.values().any(|status| *status == Status::Completed)
            || self.item_progress.values().any(|item| !item.passed.is_empty())
    }
}

impl State {
    /// Returns the steps of a definition that must not run twice, took effect, and are not in a new one, with those that earlier edits took out.
    pub(super) fn gone_acts(&self, old: &Outline, new: &Outline) -> BTreeSet<String> {
        let known: BTreeSet<&str> = new.steps.iter().map(|step| step.id.as_str()).collect();
        let has_acted = |id: &str| self.steps.get(id).is_some_and(|state| state.has_acted());
        let defined = old.steps.iter().filter(|step| acts_once(&step.definition)).map(|step| step.id.as_str());
        let gone = self.steps.iter().filter(|(_, state)| state.is_gone_act).map(|(id, _)| id.as_str());
        let all = defined.filter(|id| has_acted(id)).chain(gone).filter(|id| !known.contains(id));
        all.map(str::to_owned).collect()
    }

    /// Keeps in mind which steps took effect that a new definition does not have: they may be in it under another name.
    pub(super) fn keep_acts(&mut self, definition: &Outline) {
        for id in self.gone_acts(&self.workflow, definition) {
            self.step(&StepId::new(&id)).is_gone_act = true;
        }
    }

    /// Returns those of some steps that lose their result because what they build on is done again. One that must not run twice and took
    /// effect keeps it: a person says whether it runs again. A loop that is not over goes on with the items that are not done.
    pub(super) fn losing_their_result(&mut self, steps: &[StepId]) -> Vec<StepId> {
        if steps.is_empty() {
            return Vec::new();
        }
        let once = self.workflow.steps.iter().filter(|step| acts_once(&step.definition)).map(|step| &step.id);
        let once: BTreeSet<StepId> = once.cloned().collect();
        let mut losing = Vec::new();
        for id in steps {
            let state = self.step(id);
            if once.contains(id) && state.has_acted() {
                state.is_doubted |= state.status == Status::Completed;
            } else {
                losing.push(id.clone());
            }
        }
        losing
    }

    /// Counts on from the attempts of a later state: no number comes back.
    pub(super) fn keep_attempts_of(&mut self, later: &Self) {
        for (id, state) in later.steps.iter().filter(|(_, state)| state.attempts > 0) {
            let kept = self.steps.entry(id.clone()).or_default();
            kept.attempts = kept.attempts.max(state.attempts);
        }
    }

    /// Keeps in an earlier state that comes back what took effect since and must not run twice: a person says whether it runs again.
    pub(super) fn keep_acts_of(&mut self, later: &Self) {
        let once = self.workflow.steps.iter().filter(|step| acts_once(&step.definition)).map(|step| step.id.as_str());
        let once: BTreeSet<String> = once.map(str::to_owned).collect();
        for (id, state) in &later.steps {
            let is_kept = state.is_gone_act || once.contains(id) && state.has_acted();
            if is_kept && !self.steps.get(id).is_some_and(|earlier| earlier.has_acted()) {
                let mut kept = state.clone();
                kept.is_doubted |= state.status == Status::Completed;
                self.steps.insert(id.clone(), kept);
            }
        }
    }
}
