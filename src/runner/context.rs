//! What all steps of a run share: the working folder, the variables and the ledger.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::MutexGuard;
use std::sync::PoisonError;

use camino::Utf8Path;
use camino::Utf8PathBuf;
use serde_json::Value;

use super::console::Console;
use super::error::ProblemKind;
use super::error::RunError;
use super::exec::Stop;
use super::files;
use super::ledger::Ledger;
use super::report::RunEnd;
use super::secrets;
use super::secrets::Masks;
use super::spec::Workflow;
use super::variables;
use crate::dialect::script::facts::Facts;
use crate::dialect::script::record::Header;
use crate::model::ChangeKind;
use crate::store;
use crate::store::Ticker;

/// The variables that are defined without being captured or set in the environment.
pub(super) const BUILT_IN: [&str; 5] = ["ARG", "PROJECT_ROOT", "WORKTREE", "workflow.id", "workflow.name"];

/// Everything that the steps of a run share.
pub(super) struct RunContext<'a> {
    pub(super) header: Header,
    pub(super) workflow: Workflow,
    /// Where the steps work.
    pub(super) folder: Utf8PathBuf,
    /// The data folder of the session.
    pub(super) session: Utf8PathBuf,
    pub(super) console: &'a dyn Console,
    /// From the workflow: `env`, `env_files` and `secrets`.
    pub(super) env: Vec<(String, String)>,
    pub(super) masks: Masks,
    pub(super) ticker: Ticker,
    /// The steps whose output another step refers to.
    pub(super) referenced: BTreeSet<String>,
    pub(super) ledger: Mutex<Ledger>,
}

impl RunContext<'_> {
    /// Locks the ledger; a thread that panicked left it consistent.
    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn built_in(&self, name: &str) -> Option<Value> {
        built_in(name, &self.header, &self.workflow, &self.folder)
    }

    /// Records that a signal stopped the run.
    pub(super) fn interrupted(&self, stop: Stop) -> Result<RunEnd, RunError> {
        let signal = stop.as_str().to_owned();
        let facts = Facts { signal: Some(signal.clone()), ..Facts::default() };
        let mut ledger = self.ledger();
        ledger.record(ChangeKind::Pause { reason: Some(signal) }, facts, false)?;
        ledger.snapshot()?;
        Ok(RunEnd::Interrupted(stop))
    }
}

/// Returns the value of a variable of [`BUILT_IN`].
pub(super) fn built_in(name: &str, header: &Header, workflow: &Workflow, folder: &Utf8Path) -> Option<Value> {
    Some(Value::String(match name {
        "ARG" => header.args.join(" "),
        "PROJECT_ROOT" => header.root.as_str().to_owned(),
        "WORKTREE" => folder.as_str().to_owned(),
        "workflow.id" => header.session.clone(),
        "workflow.name" => workflow.name.clone(),
        _ => return None,
    }))
}

/// Finds the steps whose output is referred to (`${step.ID.output}`); no other output is kept.
pub(super) fn referenced_steps(workflow: &Workflow) -> BTreeSet<String> {
    let merge = workflow.merge.as_ref().map_or(&[][..], |merge| &merge.steps);
    let mut found = BTreeSet::new();
    for step in workflow.steps.iter().chain(merge) {
        let text = step.canonical.to_string();
        for (at, word) in text.match_indices("step.") {
            let rest = &text[at + word.len()..];
            let end = rest.find(['}', ':', '"', '\\']).unwrap_or(rest.len());
            if let Some((id, _)) = rest[..end].rsplit_once(".output") {
                found.insert(id.to_owned());
            }
        }
    }
    found
}

/// Merges environment variables for a child; later values win.
pub(super) fn merged_env(
    base: &[(String, String)],
    more: impl IntoIterator<Item = (String, String)>,
) -> Vec<(String, String)> {
    let mut all: BTreeMap<String, String> = base.iter().cloned().collect();
    all.extend(more);
    all.into_iter().collect()
}

/// Returns the environment that the workflow sets for every step: files, `env`, secrets; later values win.
pub(super) fn environment(
    workflow: &Workflow,
    declared: &BTreeMap<String, String>,
    header: &Header,
    folder: &Utf8Path,
) -> Result<Vec<(String, String)>, RunError> {
    let given = InitialVariables { header, workflow, folder };
    let wrong = |message: String| RunError::new(ProblemKind::No, message, ["correct the workflow file".to_owned()]);
    let mut env = Vec::new();
    for file in &workflow.env_files {
        let path = variables::render(file, &given).map_err(|error| wrong(error.message))?;
        let text = files::read(&folder.join(&path)).map_err(|why| wrong(format!("an entry of `env_files`: {why}")))?;
        env.extend(secrets::env_file(&text).map_err(|why| wrong(format!("{path}: {why}")))?);
    }
    for (name, value) in &workflow.env {
        let value =
            variables::render(value, &given).map_err(|error| wrong(format!("`env`, {name}: {}", error.message)))?;
        env.push((name.clone(), value));
    }
    env.extend(declared.iter().map(|(name, value)| (name.clone(), value.clone())));
    Ok(env)
}

/// The variables that exist before the first step.
struct InitialVariables<'a> {
    header: &'a Header,
    workflow: &'a Workflow,
    folder: &'a Utf8Path,
}

impl variables::Scope for InitialVariables<'_> {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        Ok(built_in(name, self.header, self.workflow, self.folder).or_else(|| store::variable(name).map(Value::String)))
    }

    fn names(&self) -> Vec<String> {
        BUILT_IN.iter().map(|name| (*name).to_owned()).collect()
    }
}
