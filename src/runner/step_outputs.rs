//! What a step leaves for the steps after it: captured output, files that it added, its variables.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    retry::Failure,
    settle,
    step_executor::{StepExecutor, StepOutput, printed, refused, rejected, unrendered},
};
use crate::{
    dialect::piton::facts::Captured,
    store,
    workflow::{Capture, Command, Step, pattern, variables},
};

impl StepExecutor<'_> {
    /// Captures the outputs of the step; returns a failure when that is impossible.
    pub(super) fn collect_outputs(&mut self, step: &Step, produced: &StepOutput) -> Option<Failure> {
        if step.commit_required && store::git::head(&self.folder).and_then(|head| head.sha) == self.head {
            return Some(refused("it has `commit_required`, and no commit was made".to_owned()));
        }
        if let Some(capture) = &step.capture
            && let Err(failure) = self.capture(capture, produced)
        {
            return Some(failure);
        }
        let files = match self.output_files(step) {
            Ok(files) => files,
            Err(failure) => return Some(failure),
        };
        if let Some(problem) = settle::missing_output(&self.folder, step, &files) {
            return Some(rejected(problem));
        }
        if let Some(problem) = settle::untouched(&self.folder, &files, &self.sent_back) {
            return Some(refused(problem));
        }
        // The result of an agent that drives the step by hand is kept with its report.
        if self.reported.is_none()
            && let Err(failure) = self.keep_result(step, produced)
        {
            return Some(failure);
        }
        if let Err(failure) = self.find_files(step) {
            return Some(failure);
        }
        if let (Some(report), true) = (&produced.report, self.item.is_some()) {
            // Of a step of the run the record of its end leaves these.
            let verdict = report.verdict.map(|verdict| verdict.to_string());
            for (what, value) in [("summary", produced.summary.clone()), ("verdict", verdict)] {
                let name = format!("{}.{what}", step.id);
                let value = value.filter(|_| self.context.used.has(&name)).map(Value::String);
                if let Some(Err(failure)) = value.map(|value| self.set_output(name, value)) {
                    return Some(failure);
                }
            }
        }
        let mut named = Vec::new();
        if self.context.used.has_output(&step.id) {
            named.extend([format!("step.{}.output", step.id), format!("{}.output", step.id)]);
        }
        let of = match &step.command {
            Command::Shell(_) => Some("shell.output"),
            Command::Claude(_) => Some("claude.output"),
            Command::Agent(_)
            | Command::Gate(_)
            | Command::Foreach(_)
            | Command::WriteFile(_)
            | Command::Validate(_) => None,
        };
        named.extend(of.filter(|name| self.context.used.has(name)).map(str::to_owned));
        if step.capture.is_some() && self.context.used.has("CAPTURED_OUTPUT") {
            named.push("CAPTURED_OUTPUT".to_owned());
        }
        if let Some(Err(failure)) = produced.claude.as_ref().map(|work| self.set_work(step, work)) {
            return Some(failure);
        }
        let output = Value::String(printed(&produced.stdout));
        named.into_iter().find_map(|name| self.set_output(name, output.clone()).err())
    }

    /// Keeps what a failed command printed, for its handler.
    pub(super) fn remember(&mut self, step: &Step, kind: &str, stdout: &[u8], stderr: &str) {
        let both = [printed(stdout), stderr.trim_end_matches(['\n', '\r']).to_owned()];
        let text: Vec<&str> = both.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let text = self.context.masks.hide(&text.join("\n"));
        if let Some(capture) = &step.capture {
            for name in ["CAPTURED_OUTPUT", &capture.name] {
                self.last.insert(name.to_owned(), Value::String(text.clone()));
            }
        }
        self.last.insert(kind.to_owned(), Value::String(text));
    }

    /// Sets the variables of `finds`: the files that the step added and that match.
    fn find_files(&mut self, step: &Step) -> Result<(), Failure> {
        if step.finds.is_empty() {
            return Ok(());
        }
        let added = self.variables().changes("step.files_added").map_err(refused)?.unwrap_or_default();
        for (name, pattern) in &step.finds {
            let added = variables::as_text(&added);
            let found: Vec<&str> = added.lines().filter(|file| pattern::matches(pattern, file)).collect();
            if found.is_empty() {
                return Err(rejected(format!("no file that it added matches `{pattern}`")));
            }
            self.set_output(format!("{}.{name}", step.id), Value::String(found.join("\n")))?;
        }
        Ok(())
    }

    fn capture(&mut self, capture: &Capture, produced: &StepOutput) -> Result<(), Failure> {
        let (name, streams) = (&capture.name, capture.streams);
        if streams.stdout {
            let text = String::from_utf8_lossy(&produced.stdout);
            let value = variables::captured(capture, &text).map_err(unrendered)?;
            self.set_output(name.clone(), value)?;
        }
        if streams.stderr {
            let text = Value::String(produced.stderr.trim_end_matches(['\n', '\r']).to_owned());
            if !streams.stdout {
                self.set_output(name.clone(), text.clone())?;
            }
            self.set_output(format!("{name}.stderr"), text)?;
        }
        let more = [
            (streams.exit_code, "exit_code", Value::from(produced.code.unwrap_or(0))),
            (streams.success, "success", Value::from(true)),
            (streams.duration, "duration", Value::from(produced.took.as_secs_f64())),
        ];
        for (_, what, value) in more.into_iter().filter(|(wanted, _, _)| *wanted) {
            self.set_output(format!("{name}.{what}"), value)?;
        }
        Ok(())
    }

    /// Takes the variables that the step set, in recorded form.
    pub(super) fn take_outputs(&mut self) -> Result<BTreeMap<String, Captured>, String> {
        let left = std::mem::take(&mut self.outputs);
        let ledger = self.context.ledger();
        left.into_iter().map(|(name, value)| Ok((name, ledger.keep(value)?))).collect()
    }

    pub(super) fn set_output(&mut self, name: String, value: Value) -> Result<(), Failure> {
        if let Some(secret) = self.context.masks.found_in(&variables::as_text(&value)) {
            let message = format!("`{name}` captures the secret `{secret}`, and secrets are never stored");
            return Err(refused(format!("{message}: let the step that needs it read it from its environment")));
        }
        self.last.remove(&name);
        self.outputs.insert(name, value);
        Ok(())
    }
}
