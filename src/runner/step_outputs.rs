//! What a step leaves for the steps after it: its results, what it captures, its variables.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{
    retry::Failure,
    settle,
    step_executor::{StepExecutor, StepOutput, printed, refused, rejected, unrendered},
};
use crate::{
    dialect::piton::facts,
    store,
    workflow::{Capture, Captured, Command, Step, pattern, variables},
};

impl StepExecutor<'_> {
    /// Sets the variables that the step leaves; returns a failure when that is impossible.
    pub(super) fn collect_outputs(&mut self, step: &Step, produced: &StepOutput) -> Option<Failure> {
        if step.commit_required && store::git::head(&self.folder).and_then(|head| head.sha) == self.head {
            return Some(refused("it has `commit_required`, and no commit was made".to_owned()));
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
        if let Err(failure) = self.capture(step, produced) {
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
        if !step.captures.is_empty() && self.context.used.has("CAPTURED_OUTPUT") {
            named.push("CAPTURED_OUTPUT".to_owned());
        }
        if let Some(Err(failure)) = produced.claude.as_ref().map(|work| self.set_work(step, work)) {
            return Some(failure);
        }
        let results = self.results(step, (&produced.stdout, &produced.stderr, produced.code));
        let output = Value::String(printed(&produced.stdout));
        let named = named.into_iter().map(|name| (name, output.clone())).chain(results);
        named.into_iter().find_map(|(name, value)| self.set_output(name, value).err())
    }

    /// Returns the results of a command that texts read, by their names: what it printed, and its exit code, which a killed one has not.
    fn results(&self, step: &Step, (stdout, stderr, code): (&[u8], &str, Option<i32>)) -> Vec<(String, Value)> {
        let stderr = stderr.trim_end_matches(['\n', '\r']);
        let all = [("output", json!(printed(stdout))), ("stderr", json!(stderr)), ("exit_code", json!(code))];
        let used = |(what, value): (&'static str, Value)| {
            let names: Vec<String> = self.context.used.results(&step.id, what).collect();
            names.into_iter().map(move |name| (name, value.clone()))
        };
        all.into_iter().flat_map(used).collect()
    }

    /// Keeps what a failed command printed and how it ended, for its handler, and for later steps if the file tolerates the failure.
    pub(super) fn remember(&mut self, step: &Step, kind: &str, left: (&[u8], &str, Option<i32>)) {
        let (stdout, stderr, _) = left;
        let hidden = |value: Value| match value {
            Value::String(text) => Value::String(self.context.masks.hide(&text)),
            other => other,
        };
        let mut kept: Vec<(String, Value)> =
            self.results(step, left).into_iter().map(|(name, value)| (name, hidden(value))).collect();
        let both = [printed(stdout), stderr.trim_end_matches(['\n', '\r']).to_owned()];
        let text: Vec<&str> = both.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
        let text = hidden(Value::String(text.join("\n")));
        let captured = step.captures.iter().flat_map(|capture| ["CAPTURED_OUTPUT", capture.name.as_str()]);
        kept.extend(captured.chain([kind]).map(|name| (name.to_owned(), text.clone())));
        self.last.extend(kept);
    }

    /// Sets the names under which the steps of a file of Prodigy read what this one left.
    fn capture(&mut self, step: &Step, produced: &StepOutput) -> Result<(), Failure> {
        let stderr = || json!(produced.stderr.trim_end_matches(['\n', '\r']));
        for Capture { name, of } in &step.captures {
            let value = match of {
                Captured::Output(format) => {
                    let text = String::from_utf8_lossy(&produced.stdout);
                    variables::captured(name, *format, &text).map_err(unrendered)?
                }
                Captured::Errors => stderr(),
                Captured::Files(pattern) => self.added(pattern)?,
            };
            self.set_output(name.clone(), value)?;
            let more = [
                ("stderr", stderr()),
                ("exit_code", json!(produced.code.unwrap_or(0))),
                ("success", json!(true)),
                ("duration", json!(produced.took.as_secs_f64())),
            ];
            for (what, value) in more {
                let name = format!("{name}.{what}");
                if self.context.used.has(&name) {
                    self.set_output(name, value)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the files that the step added and that match a pattern.
    fn added(&self, pattern: &str) -> Result<Value, Failure> {
        let added = self.variables().changes("step.files_added").map_err(refused)?.unwrap_or_default();
        let added = variables::as_text(&added);
        let found: Vec<&str> = added.lines().filter(|file| pattern::matches(pattern, file)).collect();
        if found.is_empty() {
            return Err(rejected(format!("no file that it added matches `{pattern}`")));
        }
        Ok(Value::String(found.join("\n")))
    }

    /// Takes the variables that the step set, in recorded form.
    pub(super) fn take_outputs(&mut self) -> Result<BTreeMap<String, facts::Captured>, String> {
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
