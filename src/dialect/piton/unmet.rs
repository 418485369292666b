//! Steps that are skipped by a condition, as far as the records of the run decide it. Pure.

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde_json::Value;

use super::{
    facts::Captured,
    record::{BUILT_IN, Header},
    session::Session,
    state::State,
};
use crate::{
    model::{Status, Step, StepId},
    workflow::{
        condition::Condition,
        template::{Reader, Template},
        variables::{self, RenderError, Scope},
    },
};

/// The reason to skip a step whose own condition does not hold.
pub(crate) const OWN: &str = "its `when` does not hold";
/// The reason to skip a step after one that was skipped by a condition.
pub(crate) const WITH_OTHERS: &str = "a step that it depends on was skipped";

/// Returns the positions of the steps that are due and skipped by a condition, each with the reason.
///
/// A step is skipped if its `when` does not hold, or with a step that it needs, by its place in `needs` (docs/workflows.md#steps). A
/// condition whose variables are not in the records decides nothing here.
pub(crate) fn unmet(
    (steps, needs): (&[Step], &[Vec<StepId>]),
    header: &Header,
    state: &State,
) -> BTreeMap<usize, &'static str> {
    let positions: BTreeMap<&str, usize> = steps.iter().zip(0..).map(|(step, at)| (step.id.as_str(), at)).collect();
    let mut unmet = BTreeMap::new();
    loop {
        let known = unmet.len();
        for (at, step) in steps.iter().enumerate() {
            if step.status != Status::Pending || step.is_reported || unmet.contains_key(&at) {
                continue;
            }
            let mut before = step.depends_on.iter().filter_map(|before| positions.get(before.as_str()));
            let is_over = |before: &usize| unmet.contains_key(before) || steps[*before].status.satisfies();
            if !before.all(is_over) {
                continue;
            }
            let mut needs = needs[at].iter().filter_map(|need| positions.get(need.as_str()));
            let is_unmet = |need: &usize| {
                unmet.contains_key(need)
                    || state.steps.get(steps[*need].id.as_str()).is_some_and(|state| state.is_unmet)
            };
            let skipped = |id: &str| positions.get(id).is_some_and(|at| unmet.contains_key(at));
            let why = if needs.any(is_unmet) {
                Some(WITH_OTHERS)
            } else {
                let variables = RecordedVariables { header, state, skipped: &skipped };
                (holds(step, &variables) == Some(Ok(false))).then_some(OWN)
            };
            if let Some(why) = why {
                unmet.insert(at, why);
            }
        }
        if unmet.len() == known {
            return unmet;
        }
    }
}

/// Tells whether the condition of a step holds; `None` if it has none.
///
/// # Errors
///
/// If a variable of it is not in the records, or its values cannot be compared.
pub(crate) fn condition_holds(step: &Step, header: &Header, state: &State) -> Option<Result<bool, RenderError>> {
    holds(step, &RecordedVariables { header, state, skipped: &|_| false })
}

fn holds(step: &Step, variables: &RecordedVariables<'_>) -> Option<Result<bool, RenderError>> {
    let text = step.definition.get("when").and_then(Value::as_str)?;
    // The parser of the file accepted it.
    Some(variables::holds(&Condition::parse(text).ok()?, variables))
}

impl State {
    /// Returns how a step ended, as conditions ask for it.
    pub(crate) fn end_of(&self, step: &str) -> &'static str {
        self.steps.get(step).map_or("open", |step| end_word(step.status, step.tolerated.is_some()))
    }
}

/// Returns the word for the end of a step of this status. One whose failure the file tolerates failed.
pub(crate) const fn end_word(status: Status, is_tolerated: bool) -> &'static str {
    match (status, is_tolerated) {
        (Status::Completed, false) => "succeeded",
        (Status::Completed, true) | (Status::Failed, _) => "failed",
        (Status::Skipped | Status::Cancelled, _) => "skipped",
        (Status::Pending | Status::InProgress | Status::WaitingApproval | Status::Blocked, _) => "open",
    }
}

/// The variables that the records hold: what the run was begun with and what its steps left, never the environment or a secret.
pub(super) struct RecordedVariables<'a> {
    pub(super) header: &'a Header,
    pub(super) state: &'a State,
    /// Tells whether a step is skipped that is not recorded so yet.
    pub(super) skipped: &'a dyn Fn(&str) -> bool,
}

impl Scope for RecordedVariables<'_> {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        let Self { header, state, skipped } = self;
        if let Some(step) = status_of(name) {
            return Ok(Some(Value::from(if skipped(step) { "skipped" } else { state.end_of(step) })));
        }
        match state.variable(name) {
            Some(Captured::Inline { value }) => Ok(Some(value.clone())),
            Some(Captured::Stored { stored, bytes, .. }) => {
                Err(format!("its {bytes} bytes in {stored} are too many for a brief"))
            }
            None => Ok(header.variable(name, &state.workflow.name, header.work_folder())),
        }
    }

    fn names(&self) -> Vec<String> {
        let built_in = BUILT_IN.iter().map(|name| (*name).to_owned());
        self.state.variables.keys().chain(self.header.inputs.keys()).cloned().chain(built_in).collect()
    }
}

/// The variables that a run was started with, unlike those that its steps set.
pub(crate) struct Given<'a> {
    pub(crate) header: &'a Header,
    pub(crate) workflow: &'a str,
    /// Where the steps work.
    pub(crate) folder: &'a Utf8Path,
}

impl Scope for Given<'_> {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        Ok(self.header.variable(name, self.workflow, self.folder))
    }

    fn names(&self) -> Vec<String> {
        self.header.inputs.keys().cloned().collect()
    }
}

impl Session {
    /// Fills in what the run was started with; a variable that a step sets stays as the file has it.
    pub(super) fn given(&self, text: &str) -> String {
        let Ok(template) = Template::parse(text, Reader::Plain) else { return text.to_owned() };
        let Self { header, state, .. } = self;
        let given = Given { header, workflow: &state.workflow.name, folder: header.work_folder() };
        variables::render_known(&template, &given)
    }

    /// Fills in a text of a definition from the records.
    ///
    /// # Errors
    ///
    /// If a variable of it has no value.
    pub(crate) fn filled(&self, text: &str) -> Result<String, RenderError> {
        // The parser of the file refused a text that is no template.
        let Ok(template) = Template::parse(text, Reader::Plain) else { return Ok(text.to_owned()) };
        variables::render(
            &template,
            &RecordedVariables { header: &self.header, state: &self.state, skipped: &|_| false },
        )
    }
}

/// Returns the step whose end a variable says.
pub(crate) fn status_of(variable: &str) -> Option<&str> {
    variable.strip_prefix("step.")?.strip_suffix(".status")
}
