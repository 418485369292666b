//! Steps that are up to date: what they use, do and leave is as when they last passed. What they passed with is kept beside the runs, for
//! the next run of the same file; it is derived data, and without it a step runs.

use camino::Utf8PathBuf;
use serde::{Deserialize, Serialize};

use super::{
    files,
    step_executor::{Before, StepExecutor},
};
use crate::{
    model::{sha256_hex, sha256_hex_of},
    workflow::{
        Step,
        variables::{self, Scope},
    },
};

/// What a step passed with.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pass {
    /// Of what it does, with the values of its variables.
    definition: String,
    uses: String,
    outputs: String,
    /// The run in which it passed.
    run: String,
}

impl StepExecutor<'_> {
    /// Returns the run in which a step passed with all that it would have now, if it does not have to run again. Anything that cannot be
    /// told is a reason to run it.
    pub(super) fn up_to_date(&self, step: &Step) -> Option<String> {
        let before = self.before(step)?;
        let text = files::read(&self.kept(step)).ok()?;
        let pass: Pass = serde_json::from_str(&text).ok()?;
        let outputs = self.outputs_digest(step)?;
        let is_same = pass.definition == before.definition && pass.uses == before.uses && pass.outputs == outputs;
        is_same.then_some(pass.run)
    }

    /// Returns what a step begins with, if that decides whether it runs the next time.
    pub(super) fn before(&self, step: &Step) -> Option<Before> {
        let folder = &self.context.folder;
        let uses = step.skips_if_unchanged.then(|| files::digest(folder, &step.uses))??;
        Some(Before { definition: self.definition_digest(step), uses })
    }

    /// Keeps what a step passed with. Where that cannot be written, it runs the next time.
    pub(super) fn keep_pass(&self, step: &Step, before: Option<Before>) {
        let Some((Before { definition, uses }, outputs)) = before.zip(self.outputs_digest(step)) else { return };
        let run = self.context.header.session.clone();
        let pass = Pass { definition, uses, outputs, run };
        if let Ok(text) = serde_json::to_string(&pass) {
            let _ = files::write(&self.kept(step), &text, 0o600, true);
        }
    }

    fn outputs_digest(&self, step: &Step) -> Option<String> {
        files::digest(&self.context.folder, &self.output_files(step).ok()?)
    }

    /// Returns the digest of what decides what a step does: its definition, the values of its variables, and its environment but for
    /// secrets, whose values are stored nowhere.
    fn definition_digest(&self, step: &Step) -> String {
        let context = self.context;
        let scope = self.variables();
        let mut parts = vec![step.digest(), context.workflow.head_digest()];
        parts.push(step.interpreter.unwrap_or_default().as_str().to_owned());
        for name in step.references() {
            let value = longest(&scope, name).map_or_else(|| "unset".to_owned(), |text| format!("={text}"));
            parts.push(format!("{name}{value}"));
        }
        let is_open = |name: &String| !context.workflow.secrets.contains_key(name);
        parts.extend(
            context.env.iter().filter(|(name, _)| is_open(name)).map(|(name, value)| format!("{name}={value}")),
        );
        let parts: Vec<String> = parts.iter().map(|part| sha256_hex(part.as_bytes())).collect();
        sha256_hex_of(parts.iter().map(String::as_bytes).collect::<Vec<_>>())
    }

    /// Returns the file that keeps what a step of this workflow file passed with.
    fn kept(&self, step: &Step) -> Utf8PathBuf {
        let source = &self.context.header.workflow;
        let file = sha256_hex(source.file.under(&source.root).as_str().as_bytes());
        let step = sha256_hex(step.id.as_str().as_bytes());
        self.context.home().join(format!("unchanged/{}/{}.json", &file[..32], &step[..32]))
    }
}

/// Returns the value of the longest part of a name that is set.
fn longest(scope: &dyn Scope, name: &str) -> Option<String> {
    let ends = std::iter::once(name.len()).chain(name.rmatch_indices('.').map(|(at, _)| at));
    ends.filter_map(|end| scope.get(&name[..end]).ok().flatten()).next().map(|value| variables::as_text(&value))
}
