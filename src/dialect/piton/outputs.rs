//! The files that prove a step, with the values of the variables in their paths. Pure.

use serde_json::Value;

use super::{facts::is_loop, items::item_names, session::Session, unmet::RecordedVariables};
use crate::{
    model::{OutputSchema, RelPath, Status, StepId},
    workflow::{self, variables::Scope},
};

/// Returns the files that a step declares, each with its schema; none of one that never passed. Those of the items of a loop count when the
/// loop is done, for the items that passed.
pub(super) fn declared(session: &Session, step: &StepId, definition: &Value) -> Vec<(RelPath, Option<OutputSchema>)> {
    let Session { header, state, .. } = session;
    let scope = RecordedVariables { header, state, skipped: &|_| false };
    let never_passed = state.steps.get(step.as_str()).is_some_and(|state| state.tolerated.is_some());
    let mut outputs = if never_passed && !is_loop(definition) { Vec::new() } else { of(definition, &scope) };
    let inner = definition.pointer("/foreach/do").and_then(Value::as_array);
    // Of what a group leaves in the worktree of an item only the commits are there afterwards.
    let inner = inner.filter(|inner| inner.len() == 1 || definition.pointer("/foreach/worktree").is_none());
    let state = state.steps.get(step.as_str()).filter(|state| state.status == Status::Completed);
    if let (Some(inner), Some(state)) = (inner, state) {
        let items = state.items.as_deref().unwrap_or_default();
        for (item, name) in items.iter().zip(item_names(items)) {
            if state.parts.get(&name) == Some(&Status::Completed) {
                let scope = OfItem { item, outer: &scope };
                let left_out = state.item_progress.get(&name).map_or(&[][..], |item| &item.left_out);
                let proven = inner.iter().enumerate().filter(|(at, _)| !left_out.contains(at));
                outputs.extend(proven.flat_map(|(_, step)| of(step, &scope)));
            }
        }
    }
    outputs
}

/// The item of a loop, with the variables around the loop.
struct OfItem<'a> {
    item: &'a Value,
    outer: &'a dyn Scope,
}

impl Scope for OfItem<'_> {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        if name == "item" { Ok(Some(self.item.clone())) } else { self.outer.get(name) }
    }

    fn names(&self) -> Vec<String> {
        self.outer.names()
    }
}

/// Returns the files that a definition declares. One whose path cannot be filled in fails its step, and proves nothing.
fn of(definition: &Value, scope: &dyn Scope) -> Vec<(RelPath, Option<OutputSchema>)> {
    let outputs = definition.get("outputs").and_then(Value::as_array).into_iter().flatten();
    let output = |output: &Value| {
        let path = output.as_str().or_else(|| output.get("path")?.as_str())?;
        let schema = match output.get("schema") {
            None => None,
            Some(Value::String(file)) => Some(OutputSchema::File(RelPath::parse(file).ok()?)),
            Some(schema) => Some(OutputSchema::Inline(schema.clone())),
        };
        Some((workflow::output_file(path, scope).ok()?, schema))
    };
    outputs.filter_map(output).collect()
}
