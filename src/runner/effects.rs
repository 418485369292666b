//! The steps that are not a command: `write_file`, and `validate` with its `on_incomplete` steps.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    error::RunError,
    files,
    retry::Failure,
    step_executor::{StepExecutor, StepOutcome, StepOutput, refused, rejected},
};
use crate::{
    dialect::piton::facts::Facts,
    document::parse_definition,
    model::{ClaudeWork, StepId, clean_line},
    schema, store,
    workflow::{FileFormat, OnIncomplete, Step, Validate, WriteFile},
};

/// The result of a measurement, or how the step ended without one.
enum Measurement {
    Percent(f64, Value),
    Ended(StepOutcome),
}

impl StepExecutor<'_> {
    pub(super) fn write_file(&self, step: &Step, file: &WriteFile) -> Result<(), Failure> {
        let folder = self.folder(step)?;
        let path = files::below(&folder, &self.render(&file.path)?).map_err(refused)?;
        let content = self.render(&file.content)?;
        let problem = match file.format {
            FileFormat::Text => None,
            FileFormat::Json => serde_json::from_str::<Value>(&content).err().map(|error| error.to_string()),
            FileFormat::Yaml => parse_definition(content.as_bytes()).err().map(|error| error.message),
        };
        if let Some(problem) = problem {
            let format = format!("{:?}", file.format).to_uppercase();
            return Err(refused(format!("the content is not valid {format}: {problem}")));
        }
        files::write(&path, &content, file.mode, file.create_dirs).map_err(refused)
    }

    /// Tells whether a step of the workflow has a `validate` beside its command.
    pub(super) fn is_measured(&self, step: &Step) -> bool {
        self.workflow_step.as_ref() == Some(&step.id) && step.measurement().iter().any(|inner| self.is_recorded(inner))
    }

    /// Tells whether each round of a measurement is recorded: that of a step of the workflow.
    fn is_recorded(&self, step: &Step) -> bool {
        let own = |top: &StepId| step.id == *top || step.id.as_str() == format!("{top}.validate");
        self.item.is_none() && self.workflow_step.as_ref().is_some_and(own)
    }

    /// Records that the work of a step (`round` 0), or its `on_incomplete` for the `round`th time, begins or is done. Returns how the step ends
    /// where that cannot be kept.
    pub(super) fn record_measured(&mut self, round: u32, is_done: bool) -> Result<Option<StepOutcome>, RunError> {
        let Some(step) = self.workflow_step.clone() else { return Ok(None) };
        let parts: Vec<String> = std::iter::once("work".to_owned())
            .chain((1..=round).map(|round| format!("on_incomplete {round}")))
            .collect();
        // What it set belongs to the record; a resume does not run it again.
        let variables = match is_done.then(|| self.take_outputs()) {
            Some(Ok(variables)) => variables,
            Some(Err(message)) => return Ok(Some(StepOutcome::Failed(refused(message)))),
            None => BTreeMap::new(),
        };
        let claude = if is_done { std::mem::take(&mut self.work) } else { ClaudeWork::default() };
        let measured = Some(round + u32::from(is_done)).filter(|_| is_done || round == 0);
        let facts = Facts { variables, claude, measured, ..Facts::default() };
        self.context.ledger().record_part(&step, &parts, is_done, facts)?;
        Ok(None)
    }

    pub(super) fn validate(&mut self, step: &Step, validate: &Validate) -> Result<StepOutcome, RunError> {
        let is_recorded = self.is_recorded(step);
        let attempts = validate.on_incomplete.as_ref().map_or(0, |gap| gap.attempts);
        let mut round = if is_recorded { std::mem::take(&mut self.measured).saturating_sub(1) } else { 0 };
        loop {
            let (percent, result) = match self.measure(validate)? {
                Measurement::Percent(percent, result) => (percent, result),
                Measurement::Ended(done) => return Ok(done),
            };
            if percent >= validate.threshold {
                return Ok(StepOutcome::Completed(Box::default()));
            }
            let message = format!("{percent} % is complete, and {} % is needed", validate.threshold);
            let Some(gap) = validate.on_incomplete.as_ref().filter(|_| round < attempts) else {
                let may_go_on = validate.on_incomplete.as_ref().is_some_and(|gap| !gap.fail_workflow);
                return Ok(if may_go_on {
                    let summary = Some(format!("{message}; its `on_incomplete` lets the workflow continue"));
                    StepOutcome::Completed(Box::new(StepOutput { summary, ..StepOutput::default() }))
                } else {
                    StepOutcome::Failed(rejected(message))
                });
            };
            round += 1;
            if is_recorded {
                self.record_measured(round, false)?;
            }
            if let Some(done) = self.close_gap(gap, (percent, round), result)? {
                return Ok(done);
            }
            if is_recorded && let Some(end) = self.record_measured(round, true)? {
                return Ok(end);
            }
        }
    }

    /// Runs the `on_incomplete` steps; returns an outcome when they did not succeed.
    fn close_gap(
        &mut self,
        gap: &OnIncomplete,
        (percent, round): (f64, u32),
        mut result: Value,
    ) -> Result<Option<StepOutcome>, RunError> {
        if let Some(object) = result.as_object_mut() {
            object.insert("completion".to_owned(), Value::from(percent));
            object.insert("attempt_number".to_owned(), Value::from(round));
        }
        let head = store::git::head(&self.folder).and_then(|head| head.sha);
        let outer = self.locals.insert("validation".to_owned(), result);
        let done = self.run_all(&gap.steps);
        match outer {
            Some(outer) => self.locals.insert("validation".to_owned(), outer),
            None => self.locals.remove("validation"),
        };
        Ok(match done? {
            StepOutcome::Completed(_) | StepOutcome::Skipped(_) => {
                let is_same = store::git::head(&self.folder).and_then(|head| head.sha) == head;
                let message = "its `on_incomplete` has `commit_required`, and no commit was made";
                (gap.commit_required && is_same).then(|| StepOutcome::Failed(rejected(message.to_owned())))
            }
            StepOutcome::Failed(failure) => {
                let message = format!("on_incomplete: {}", failure.message);
                Some(StepOutcome::Failed(Failure { message, ..failure }))
            }
            stopped @ StepOutcome::Stopped(_) => Some(stopped),
        })
    }

    fn measure(&mut self, validate: &Validate) -> Result<Measurement, RunError> {
        let was = std::mem::replace(&mut self.keeps_stdout, true);
        let done = self.run_all(&validate.steps);
        self.keeps_stdout = was;
        let produced = match done? {
            StepOutcome::Completed(produced) => produced,
            done @ (StepOutcome::Skipped(_) | StepOutcome::Failed(_) | StepOutcome::Stopped(_)) => {
                return Ok(Measurement::Ended(done));
            }
        };
        Ok(match self.result(validate, &produced) {
            Ok((percent, result)) => Measurement::Percent(percent, result),
            Err(failure) => Measurement::Ended(StepOutcome::Failed(failure)),
        })
    }

    fn result(&self, validate: &Validate, produced: &StepOutput) -> Result<(f64, Value), Failure> {
        let text = match &validate.result_file {
            Some(path) => {
                let path = files::below(&self.folder, &self.render(path)?).map_err(refused)?;
                files::read(&path).map_err(refused)?
            }
            None => String::from_utf8_lossy(&produced.stdout).into_owned(),
        };
        let result = last_json(&text).ok_or_else(|| {
            let found = clean_line(&text, 80);
            rejected(format!("a validation prints JSON with `completion_percentage`, not `{found}`"))
        })?;
        if let Some(expected) = &validate.expected_schema {
            match schema::violation(expected, &result) {
                Ok(None) => {}
                Ok(Some(problem)) => {
                    return Err(rejected(format!("the result does not fit `expected_schema`: {problem}")));
                }
                Err(problem) => return Err(refused(format!("`expected_schema` is not a JSON Schema: {problem}"))),
            }
        }
        let percent = result.get("completion_percentage").and_then(Value::as_f64);
        let percent = percent.ok_or_else(|| rejected("the result has no number `completion_percentage`".to_owned()))?;
        Ok((percent, result))
    }
}

/// Returns the whole text as a JSON object, else its last line that is one: commands may print other output first.
fn last_json(text: &str) -> Option<Value> {
    let whole = serde_json::from_str::<Value>(text.trim()).ok();
    let object = |line: &str| serde_json::from_str::<Value>(line.trim()).ok().filter(Value::is_object);
    whole.filter(Value::is_object).or_else(|| text.lines().rev().find_map(object))
}
