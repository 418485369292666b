//! What Piton does of a step once its agent is done: checks and handlers that its definition has. Pure.

use serde_json::Value;

use super::{
    facts::{Captured, Facts, OutlineStep},
    state::State,
};
use crate::{
    model::{Outcome, Status, Step, StepId, sha256_hex},
    workflow::variables::RenderError,
};

/// What follows the work of an agent that did not fail.
const AFTER_WORK: &str = "validate";

/// Tells whether a step of this definition is not over with the report of its agent: `piton exec` does the rest.
pub(super) fn has_rest(definition: &Value, outcome: &Outcome) -> bool {
    let has = |key: &&str| definition.get(key).is_some();
    if definition.get("agent").is_none() || outcome.part.is_some() || outcome.amends {
        return false;
    }
    match (outcome.status, outcome.verdict) {
        // The run goes back to the work that was reviewed.
        (_, Some(verdict)) if !verdict.approves() => false,
        (Status::Completed, _) | (_, Some(_)) => has(&AFTER_WORK),
        (Status::Failed, None) => has(&"on_failure"),
        (
            Status::Pending
            | Status::InProgress
            | Status::WaitingApproval
            | Status::Blocked
            | Status::Skipped
            | Status::Cancelled,
            None,
        ) => false,
    }
}

/// Tells whether the outputs of an agent do not show that a step of this definition is done: it leaves more than files.
pub(super) fn leaves_more(definition: &Value) -> bool {
    let keys = [AFTER_WORK, "commit_required", "result"];
    definition.get("agent").is_some() && keys.iter().any(|key| definition.get(key).is_some())
}

/// Returns the digest of what a definition says to its agent: an edit of what Piton does after that opens no work again.
pub(crate) fn work_digest(definition: &Value) -> String {
    let mut of_agent = definition.clone();
    if let Some(keys) = of_agent.as_object_mut() {
        keys.retain(|key, _| key != AFTER_WORK && key != "on_failure");
    }
    sha256_hex(of_agent.to_string().as_bytes())
}

impl State {
    /// Returns how a step ended, with the summary that it has already where it is recorded again without one.
    pub(super) fn with_summary(&self, outcome: &Outcome) -> Outcome {
        let mut outcome = outcome.clone();
        let is_again = self.steps.get(outcome.step.as_str()).is_some_and(|step| step.status == Status::Completed);
        if is_again && outcome.status == Status::Completed && outcome.part.is_none() && outcome.summary.is_none() {
            let known = self.variables.get(&format!("{}.summary", outcome.step));
            outcome.summary = known.and_then(|known| match known {
                Captured::Inline { value } => value.as_str().map(str::to_owned),
                Captured::Stored { .. } => None,
            });
        }
        outcome
    }

    /// Keeps what the agent of a step reported, until Piton did the rest of the step.
    pub(super) fn report(&mut self, outcome: &Outcome) {
        let mut steps = self.workflow.steps.iter();
        let digest = steps.find(|step| step.id == outcome.step).map(|step| work_digest(&step.definition));
        let step = self.step(&outcome.step);
        step.child = None;
        step.digest = digest;
        step.status = Status::Pending;
        step.agent = outcome.agent.clone().or_else(|| step.agent.take());
        step.reported = Some(Box::new(outcome.clone()));
    }

    /// Sets the variables that a step of an agent or a gate leaves, each under its id; what was not said is not set.
    pub(super) fn leave<const N: usize>(&mut self, id: &StepId, left: [(&str, Option<String>); N]) {
        if !self.workflow.steps.iter().any(|step| step.id == *id && step.is_for_an_agent()) {
            return;
        }
        for (what, text) in left {
            let name = format!("{id}.{what}");
            match text {
                Some(text) => self.variables.insert(name, Captured::Inline { value: Value::String(text) }),
                None => self.variables.remove(&name),
            };
        }
    }

    /// Returns a variable as it is recorded. The output of an agent that drives its step by hand is the summary of its report.
    pub(crate) fn variable(&self, name: &str) -> Option<&Captured> {
        let summary = || {
            let step = name.strip_suffix(".output")?;
            self.variables.get(&format!("{}.summary", step.strip_prefix("step.").unwrap_or(step)))
        };
        self.variables.get(name).or_else(summary)
    }

    /// Tells whether the rest of a step that must not run twice was cut off: a report about it says that it took effect.
    pub(super) fn took_effect(&self, step: &OutlineStep) -> bool {
        let is_once = step.definition.get("idempotent").is_some();
        let state = self.steps.get(step.id.as_str()).filter(|_| is_once);
        state.is_some_and(|state| state.reported.is_some() && state.status == Status::InProgress)
    }

    /// Counts the handlers that ran since the agent of a step last passed or failed for good.
    pub(super) fn count_handled(&mut self, outcome: &Outcome, facts: &Facts) {
        let step = self.step(&outcome.step);
        step.reported = None;
        step.handled = if facts.is_handled { step.handled.saturating_add(1) } else { 0 };
    }
}

/// Returns the sentences about the folder and the environment of a step: an agent that a session starts has neither by itself.
///
/// # Errors
///
/// If a variable of them has no value.
pub(crate) fn surroundings(
    step: &Step,
    fill: impl Fn(&str) -> Result<String, RenderError>,
) -> Result<Vec<String>, RenderError> {
    let entries = |key: &str| step.definition.get(key).and_then(Value::as_object).into_iter().flatten();
    let mut told = Vec::new();
    if let Some(folder) = step.definition.get("working_dir").and_then(Value::as_str) {
        told.push(format!("Work in the folder {}.", fill(folder)?));
    }
    for (name, value) in entries("env") {
        let value = serde_json::to_string(&fill(value.as_str().unwrap_or_default())?).unwrap_or_default();
        told.push(format!("Run its commands with the environment variable {name} set to {value}."));
    }
    for (name, from) in entries("secrets") {
        let source = match (from.get("env").and_then(Value::as_str), from.get("file").and_then(Value::as_str)) {
            (Some(variable), _) => format!("of the environment variable {variable}"),
            (None, Some(file)) => format!("of the file {file}"),
            (None, None) => continue,
        };
        told.push(format!("Run its commands with the environment variable {name} set to the content {source}, a secret: never print or write it."));
    }
    Ok(told)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::has_rest;
    use crate::model::{Outcome, ReviewVerdict, Status, StepId};

    #[test]
    fn what_follows_an_agent_depends_on_how_its_work_ended() {
        use ReviewVerdict::{Approved, Rejected};
        use Status::{Completed, Failed, WaitingApproval};
        for (key, status, verdict, expected) in [
            ("validate", Completed, None, true),
            ("validate", Failed, Some(Rejected), false),
            ("validate", Completed, Some(Approved), true),
            ("validate", Failed, None, false),
            ("validate", WaitingApproval, None, false),
            ("on_failure", Completed, None, false),
            ("on_failure", Failed, None, true),
            ("on_failure", Failed, Some(Rejected), false),
            ("env", Completed, None, false),
        ] {
            let outcome = Outcome { status, verdict, ..Outcome::completed(StepId::new("a")) };
            assert_eq!(has_rest(&json!({"agent": "x", key: {}}), &outcome), expected, "{key} {status:?}");
            assert!(!has_rest(&json!({"shell": "x", key: {}}), &outcome), "{key}");
        }
    }

    #[test]
    fn a_part_and_a_correction_have_no_rest() {
        let definition = json!({"agent": "x", "validate": []});
        let part = Outcome { part: Some("p".to_owned()), ..Outcome::completed(StepId::new("a")) };
        let correction = Outcome { amends: true, ..Outcome::completed(StepId::new("a")) };
        assert!(!has_rest(&definition, &part));
        assert!(!has_rest(&definition, &correction));
    }
}
