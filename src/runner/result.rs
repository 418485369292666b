//! The result of a step: the JSON that it ends with, checked against the schema that it declares.

use super::{
    retry::Failure,
    settle,
    step_executor::{StepExecutor, StepOutput, rejected},
};
use crate::{
    model::{RESULT_LIMIT, result_of},
    workflow::{Command, Step},
};

impl StepExecutor<'_> {
    /// Sets the variable of the result of a step, if it declares one.
    pub(super) fn keep_result(&mut self, step: &Step, produced: &StepOutput) -> Result<(), Failure> {
        let Some((schema, _)) = &step.result else { return Ok(()) };
        let text = String::from_utf8_lossy(&produced.stdout);
        let value = match &step.command {
            // A program prints nothing else; an answer may have words around it.
            Command::Shell(_) => serde_json::from_str(text.trim()).ok(),
            Command::Agent(_)
            | Command::Claude(_)
            | Command::Gate(_)
            | Command::Foreach(_)
            | Command::WriteFile(_)
            | Command::Validate(_) => result_of(&text),
        };
        let Some(value) = value.filter(|_| text.len() <= RESULT_LIMIT) else {
            return Err(rejected("it did not end with a `result` in JSON".to_owned()));
        };
        if let Some(why) = settle::misfit(&self.context.folder, &value, schema) {
            return Err(rejected(format!("its result does not fit its schema: {why}")));
        }
        self.set_output(format!("{}.result", step.id), value)
    }
}
