//! What all steps of a run share: the working folder, the variables and the ledger.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{
    console::Console,
    error::RunError,
    exec::Stop,
    files,
    ledger::Ledger,
    report::RunEnd,
    secrets::{self, Masks},
};
use crate::{
    dialect::piton::{
        facts::Facts,
        record::{BUILT_IN, Header},
    },
    model::{ChangeKind, No, RelPath, StepId},
    ops::Exit,
    store::{self, Ticker, worktree::git},
    workflow::{Secret, Step, Workflow, WorktreeFiles, variables},
};

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
    /// The values of all secrets; a step gets those that it names.
    pub(super) secrets: BTreeMap<String, String>,
    pub(super) ticker: Ticker,
    pub(super) used: UsedVariables,
    pub(super) ledger: Mutex<Ledger>,
    /// Held while worktrees of items are made, merged and removed.
    pub(super) worktrees: Mutex<()>,
}

impl RunContext<'_> {
    /// Locks the ledger; a thread that panicked left it consistent.
    pub(super) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the folder of all sessions of the repository: that of this one is `runs/ID` in it.
    pub(super) fn home(&self) -> &Utf8Path {
        self.session.parent().and_then(Utf8Path::parent).unwrap_or(&self.session)
    }

    /// Returns a variable that every run has; `folder` is where the step works.
    pub(super) fn built_in(&self, name: &str, folder: &Utf8Path) -> Option<Value> {
        self.header.variable(name, &self.workflow.name, folder)
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

/// The variables that the steps of a run use, of those that are kept only where they are used.
#[derive(Debug, Default)]
pub(super) struct UsedVariables {
    names: BTreeSet<String>,
}

impl UsedVariables {
    pub(super) fn of(workflow: &Workflow) -> Self {
        let all = || workflow.steps.iter().chain(workflow.around());
        let names = all().flat_map(Step::references);
        let continued = all().flat_map(Step::continued);
        Self { names: names.map(str::to_owned).chain(continued.map(|step| format!("{step}.session"))).collect() }
    }

    /// Tells whether a text uses the variable, or a value inside it.
    pub(super) fn has(&self, name: &str) -> bool {
        let is_inside =
            |used: &String| used.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        self.names.iter().any(is_inside)
    }

    /// Returns the names under which texts use what the command of a step left.
    pub(super) fn results<'a>(&'a self, step: &'a StepId, what: &'a str) -> impl Iterator<Item = String> + 'a {
        let names = [format!("{step}.{what}"), format!("step.{step}.{what}")];
        names.into_iter().filter(|name| self.has(name))
    }

    /// Tells whether a text uses what the command of a step printed, or how it ended.
    pub(super) fn has_results(&self, step: &StepId) -> bool {
        ["output", "stderr", "exit_code"].iter().any(|what| self.results(step, what).next().is_some())
    }
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
    environment_of(workflow, declared, (header, folder), &|path| files::read(&folder.join(path)))
}

/// Checks the environment of a run whose worktree is not made yet: it will have the files of a commit, and those that are put into it. What
/// is only shown reads no file outside of the project.
pub(super) fn check_environment(
    workflow: &Workflow,
    declared: &BTreeMap<String, String>,
    header: &Header,
    is_shown: bool,
) -> Result<(), RunError> {
    let folder = header.work_folder();
    let WorktreeFiles { copied, linked } = &workflow.worktree;
    let read = |path: &str| {
        let path = Utf8Path::new(path);
        let path = path.strip_prefix(folder).unwrap_or(path);
        let is_put = |file: &RelPath| copied.iter().chain(linked).any(|put| file.starts_with(put));
        match (&header.worktree, &header.base_commit, RelPath::parse(path.as_str())) {
            (Some(_), Some(commit), Ok(file)) if !is_put(&file) => {
                git(&header.root, "show", &[&format!("{commit}:{file}")]).map_err(|_| {
                    format!("{file} is not in the commit that the worktree begins with; commit it, or name it in `worktree: {{copy: …}}`")
                })
            }
            (_, _, Err(_)) if is_shown => Ok(String::new()),
            (_, _, _) => files::read(&header.root.join(path)),
        }
    };
    environment_of(workflow, declared, (header, folder), &read).map(drop)
}

fn environment_of(
    workflow: &Workflow,
    declared: &BTreeMap<String, String>,
    (header, folder): (&Header, &Utf8Path),
    read: &dyn Fn(&str) -> Result<String, String>,
) -> Result<Vec<(String, String)>, RunError> {
    let given = InitialVariables { header, workflow, folder };
    let wrong = |message: String| RunError::new(Exit::No(No::Invalid), message, ["correct the workflow file".into()]);
    let mut env = vec![("ARG".to_owned(), header.args.join(" "))];
    for file in &workflow.env_files {
        let path = variables::render(file, &given).map_err(|error| wrong(error.message))?;
        let text = read(&path).map_err(|why| wrong(format!("an entry of `env_files`: {why}")))?;
        env.extend(secrets::env_file(&text).map_err(|why| wrong(format!("{path}: {why}")))?);
    }
    for (name, value) in &workflow.env {
        let value =
            variables::render(value, &given).map_err(|error| wrong(format!("`env`, {name}: {}", error.message)))?;
        env.push((name.clone(), value));
    }
    env.extend(named_secrets(&workflow.secrets, declared));
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
        let given = self.header.variable(name, &self.workflow.name, self.folder);
        Ok(given.or_else(|| store::variable(name).map(Value::String)))
    }

    fn names(&self) -> Vec<String> {
        BUILT_IN.iter().map(|name| (*name).to_owned()).collect()
    }
}

/// Returns the values of secrets that a workflow or a step names.
pub(super) fn named_secrets(
    named: &BTreeMap<String, Secret>,
    declared: &BTreeMap<String, String>,
) -> Vec<(String, String)> {
    named.keys().filter_map(|name| Some((name.clone(), declared.get(name)?.clone()))).collect()
}
