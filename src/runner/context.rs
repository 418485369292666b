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
use super::ledger::Ledger;
use super::secrets::Masks;
use super::spec::Workflow;
use crate::dialect::script::record::Header;
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
