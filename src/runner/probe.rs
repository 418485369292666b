//! The `probe` of a step that must not run twice, run once a person agreed.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use camino::Utf8Path;
use serde_json::Value;

use super::{
    console::{Console, OutputSource},
    context::merged_env,
    exec::{self, ChildExit, Job, Signals, Stop, Stream, Watcher},
    ledger::Ledger,
    orphan,
    scoped_variables::is_set_in,
};
use crate::{
    dialect::piton::record::Header,
    model::StepId,
    workflow::{
        Step, Workflow,
        variables::{self, Scope},
    },
};

/// The time limit of a probe.
const LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(5);

/// The result of a probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ProbeOutcome {
    /// Exit 0.
    TookEffect,
    /// Exit 1.
    HadNoEffect,
    /// Any other result.
    Unknown(String),
    Stopped(Stop),
}

/// The folder, the environment and the variables that a probe runs with.
pub(super) struct Probe<'a> {
    /// The top-level step that it is about.
    pub(super) top: &'a StepId,
    pub(super) ledger: &'a Ledger,
    pub(super) workflow: &'a Workflow,
    pub(super) header: &'a Header,
    pub(super) folder: &'a Utf8Path,
    pub(super) env: &'a [(String, String)],
    /// The variables of the item.
    pub(super) locals: BTreeMap<String, Value>,
    /// What only the steps for an item set.
    pub(super) of_item: BTreeSet<String>,
}

impl Probe<'_> {
    /// Runs the probe of a step. Its output is shown, not captured.
    pub(super) fn run(&self, step: &Step, console: &dyn Console) -> ProbeOutcome {
        match self.run_child(step, console) {
            Ok(ChildExit { stop: Some(stop), .. }) => ProbeOutcome::Stopped(stop),
            Ok(ChildExit { timed_out: true, .. }) => {
                ProbeOutcome::Unknown(format!("it took longer than {} s", LIMIT.as_secs()))
            }
            Ok(ChildExit { code: Some(0), .. }) => ProbeOutcome::TookEffect,
            Ok(ChildExit { code: Some(1), .. }) => ProbeOutcome::HadNoEffect,
            Ok(ChildExit { code: Some(code), .. }) => ProbeOutcome::Unknown(format!("exit code {code}")),
            Ok(ChildExit { signal, .. }) => ProbeOutcome::Unknown(format!("signal {}", signal.unwrap_or_default())),
            Err(why) => ProbeOutcome::Unknown(why),
        }
    }

    fn run_child(&self, step: &Step, console: &dyn Console) -> Result<ChildExit, String> {
        let template = step.probe.as_ref().ok_or("it has none")?;
        let shell = variables::render_shell(template, self).map_err(|error| error.message)?;
        let own = step.env.iter().map(|(name, value)| Ok((name.clone(), variables::render(value, self)?)));
        let own: Vec<(String, String)> =
            own.collect::<Result<_, variables::RenderError>>().map_err(|error| error.message)?;
        let folder = match &step.working_dir {
            None => self.folder.to_owned(),
            Some(path) => {
                let path = variables::render(path, self).map_err(|error| error.message)?;
                super::files::working_dir(self.folder, &path)?
            }
        };
        let marks = orphan::marks(&self.header.session, Some(self.top.as_str()));
        let job = Job {
            words: exec::shell(shell.text),
            folder,
            env: merged_env(self.env, own.into_iter().chain(shell.env).chain(marks)),
            timeout: Some(LIMIT),
            grace: GRACE,
            keep: 0,
        };
        let signals = Signals::listen().map_err(|error| error.to_string())?;
        exec::run(&job, &signals, &mut ProbeOutput { step, console }).map_err(|error| error.to_string())
    }
}

impl Scope for Probe<'_> {
    fn get(&self, name: &str) -> Result<Option<Value>, String> {
        if let Some(value) = self.locals.get(name) {
            return Ok(Some(value.clone()));
        }
        if !is_set_in(&self.of_item, name)
            && let Some(value) = self.ledger.variable(name)?
        {
            return Ok(Some(value));
        }
        if let Some((_, value)) = self.env.iter().rev().find(|(known, _)| known == name) {
            return Ok(Some(Value::String(value.clone())));
        }
        Ok(self.header.variable(name, &self.workflow.name, self.folder))
    }

    fn names(&self) -> Vec<String> {
        let captured = self.ledger.state().variables.keys().cloned();
        captured.chain(self.locals.keys().cloned()).chain(self.env.iter().map(|(name, _)| name.clone())).collect()
    }
}

/// A watcher that shows the output of a probe.
struct ProbeOutput<'a> {
    step: &'a Step,
    console: &'a dyn Console,
}

impl Watcher for ProbeOutput<'_> {
    fn printed(&mut self, _: Stream, bytes: &[u8]) {
        let source = OutputSource { step: self.step.id.as_str(), ..OutputSource::default() };
        self.console.output(source, Stream::Stderr, bytes);
    }
}
