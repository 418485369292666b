//! The groups of runs of which one runs at a time. A runner holds the lock of its group, which a killed one does not; no process lives while agents
//! work, so a run of agents is named in a file beside the lock, and has the group while it is open.

use std::time::Duration;

use camino::Utf8Path;
use serde_json::Value;

use super::OpError;
use crate::{
    dialect::{
        by_id,
        piton::{
            self,
            record::{BUILT_IN, Header},
        },
    },
    engine::{Refusal, RefusalKind},
    model::{Clock, DialectId, RunFolder, RunStatus, Suggested, Verb, clean_line},
    store::{self, Project, RunLock, StoreError},
    workflow::{
        Workflow,
        template::Template,
        variables::{self, RenderError},
    },
};

/// The file beside the lock that names the run.
const HOLDER: &str = "run";
/// How long a look at a group waits for another one.
pub(crate) const GROUP_WAIT: Duration = Duration::from_millis(250);

/// Whether a run has its group.
pub(crate) enum Taken {
    /// Its runner holds it until this is dropped; a run of agents has it while it is open.
    Held(RunLock),
    /// Another run has it.
    By(Holder),
}

/// The run that has a group.
pub(crate) struct Holder {
    /// The run, and its process if it has one.
    pub(crate) text: String,
    /// The run, if agents drive it.
    pub(crate) of_agents: Option<String>,
}

impl Holder {
    /// Returns what makes the group free, of a run of agents, which may be open for as long as it likes.
    pub(crate) fn hints(&self) -> Vec<String> {
        let hints = |run| {
            let pause = Suggested::of(Verb::Pause, run);
            [Suggested::of(Verb::Status, run).into(), format!("to let another run go first: `{pause}`")]
        };
        self.of_agents.iter().flat_map(hints).collect()
    }
}

/// Takes a group for a run. `home` has the runs.
///
/// # Errors
///
/// If the group cannot be looked at.
pub(crate) fn take(
    (project, clock): (&Project, Clock),
    (home, run): (&Utf8Path, &str),
    group: &str,
) -> Result<Taken, StoreError> {
    let place = piton::group(group);
    let file = place.join(HOLDER).expect("a constant name");
    let named = || {
        let text = String::from_utf8(store::read_bytes(home, &file).ok()?).ok()?;
        Some(clean_line(&text, 100)).filter(|run| !run.is_empty())
    };
    store::create_private_dirs(home)?;
    match RunLock::acquire(home, &RunFolder { home: home.to_owned(), path: place.clone() }, GROUP_WAIT) {
        Err(StoreError::LockTimeout { holder, .. }) => {
            let text = match (named(), holder) {
                (Some(run), Some(process)) => format!("{run} ({process})"),
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => "another run".to_owned(),
            };
            Ok(Taken::By(Holder { text, of_agents: None }))
        }
        Err(error) => Err(error),
        Ok(lock) => {
            let other = named().filter(|named| named != run);
            match other.filter(|other| is_open_for_agents(project, clock, home, other)) {
                Some(other) => {
                    let text = format!("{other} (agents drive it)");
                    Ok(Taken::By(Holder { text, of_agents: Some(other) }))
                }
                None => {
                    store::overwrite(&lock, &file, run.as_bytes())?;
                    Ok(Taken::Held(lock))
                }
            }
        }
    }
}

/// Takes the group of a run for agents, before it begins and before each of its steps.
///
/// # Errors
///
/// If another run has it; `again` is the command to repeat.
pub(crate) fn take_for_agents(
    of: (&Project, Clock),
    run: (&Utf8Path, &str),
    group: &str,
    again: &Suggested,
) -> Result<(), OpError> {
    let Taken::By(holder) = take(of, run, group)? else { return Ok(()) };
    let hints = holder.hints().into_iter().chain([format!("when it is over: `{again}`")]).collect();
    Err(OpError::Refused(Refusal { kind: RefusalKind::Conflict, message: busy(group, &holder), hints }))
}

/// Returns the sentence about a group that another run has.
pub(crate) fn busy(group: &str, holder: &Holder) -> String {
    format!("{} runs in the group {}, and one run of it runs at a time", holder.text, clean_line(group, 60))
}

/// Tells whether agents drive a run that is neither over nor paused.
fn is_open_for_agents(project: &Project, clock: Clock, home: &Utf8Path, run: &str) -> bool {
    let Some(candidate) = piton::candidate(run, None) else { return false };
    let Ok(files) = store::file_set(project, home, &candidate, clock) else { return false };
    let is_attended = piton::Session::read(&files).is_ok_and(|session| session.header.is_attended);
    let run = is_attended.then(|| by_id(DialectId::Piton).load(&files).run).flatten();
    run.is_some_and(|run| run.status == RunStatus::Active && run.steps.iter().any(|step| !step.status.satisfies()))
}

/// Renders a text that has only variables that exist before the first step.
///
/// # Errors
///
/// If one of them has no value.
pub(crate) fn rendered_before(text: &Template, workflow: &Workflow, header: &Header) -> Result<String, RenderError> {
    let folder = header.work_folder();
    variables::render(text, &InitialVariables { header, workflow, folder })
}

/// The variables that exist before the first step.
pub(crate) struct InitialVariables<'a> {
    pub(crate) header: &'a Header,
    pub(crate) workflow: &'a Workflow,
    pub(crate) folder: &'a Utf8Path,
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
