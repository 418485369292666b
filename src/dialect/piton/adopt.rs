//! Makes a run of a session of Claude Code: a definition with its steps, kept with the records, and a state in which they are as the session
//! left them (docs/formats/claude.md#adoption).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    facts::Outline,
    paths,
    record::Header,
    session::start_from,
    state::{ExecutionState, RunState, State, StepState},
};
use crate::{
    model::{About, Change, Edit, EditKind, Entry, Finding, RelPath, Status, StepId, Timestamp, sha256_hex},
    workflow::{
        self,
        template::{Reader, Template},
    },
};

/// The name of the workflow of every adopted session.
const WORKFLOW: &str = "claude-session";

/// A step of a session as a step of a run. Its texts have no secrets and no control characters.
#[derive(Clone, Debug)]
pub(crate) struct AdoptedStep {
    /// As the session names it.
    pub(crate) id: StepId,
    pub(crate) title: String,
    pub(crate) instructions: Option<String>,
    /// Steps of the session. One that is not adopted blocks no more.
    pub(crate) depends_on: Vec<StepId>,
    /// Completed, in progress or pending.
    pub(crate) status: Status,
    /// A person finds out what became of it, before it is done again.
    pub(crate) is_unknown: bool,
    pub(crate) attempts: u32,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) finished_at: Option<Timestamp>,
    /// What is known of an attempt that did not end.
    pub(crate) error: Option<String>,
}

/// Returns the path of the definition of an adopted run, in the home of its records; `None` if its name is no part of a path.
pub(crate) fn own_definition(run: &str) -> Option<RelPath> {
    paths::own_workflow(&paths::folder(run)?)
}

/// Gives steps ids that a definition may have, each its own. Returns the new id of each.
fn plain_ids(steps: &[AdoptedStep]) -> BTreeMap<StepId, StepId> {
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '-' | '_') { c } else { '.' };
    let mut taken = BTreeSet::new();
    let mut ids = BTreeMap::new();
    for step in steps {
        let text: String = step.id.as_str().chars().map(plain).take(40).collect();
        let mut names = std::iter::once(text.clone()).chain((2..).map(|number| format!("{text}-{number}")));
        let name = names.find(|name| taken.insert(name.clone())).unwrap_or(text);
        ids.insert(step.id.clone(), StepId::new(name));
    }
    ids
}

/// Gives the steps of a session the ids that they have in a run.
fn with_plain_ids(steps: &[AdoptedStep]) -> Vec<AdoptedStep> {
    let ids = plain_ids(steps);
    let renamed = steps.iter().map(|step| AdoptedStep {
        id: ids[&step.id].clone(),
        depends_on: step.depends_on.iter().filter_map(|id| ids.get(id).cloned()).collect(),
        ..step.clone()
    });
    renamed.collect()
}

/// Returns the edits that create the run. `begun` is its start, `title` that of the session; `entry` says what proves its steps, with the ids
/// that they have there.
///
/// # Errors
///
/// When the steps are no workflow: they wait for each other.
pub(crate) fn adopt(
    header: &Header,
    begun: (About, Change),
    title: Option<&str>,
    steps: &[AdoptedStep],
    entry: impl FnOnce(&[AdoptedStep]) -> Entry,
) -> Result<Vec<Edit>, Vec<Finding>> {
    let steps = with_plain_ids(steps);
    let file = &header.workflow.file;
    let bytes = serde_json::to_vec_pretty(&definition(title, &steps)).expect("a definition is JSON");
    let parsed = workflow::parse(file, &bytes);
    let Some(workflow) = parsed.workflow else { return Err(parsed.findings) };
    let outline = Outline::of(&workflow, sha256_hex(&bytes));
    let state = state(&steps, outline, begun.1.at);
    let mut edits = start_from(header, begun, state, Some(entry(&steps))).expect("the name of the run was checked");
    edits.push(Edit { path: file.clone(), kind: EditKind::Create { after: bytes } });
    Ok(edits)
}

fn definition(title: Option<&str>, steps: &[AdoptedStep]) -> Value {
    let step = |step: &AdoptedStep| {
        let mut definition = json!({"id": step.id, "title": step.title, "depends_on": step.depends_on});
        if let Some(instructions) = &step.instructions {
            definition["instructions"] = json!(literal(instructions));
        }
        if step.is_unknown {
            definition["idempotent"] = json!(false);
        }
        definition
    };
    let mut definition = json!({"name": WORKFLOW, "steps": steps.iter().map(step).collect::<Vec<Value>>()});
    if let Some(title) = title {
        definition["description"] = json!(title);
    }
    definition
}

/// Writes a text so that nothing in it is a variable.
fn literal(text: &str) -> String {
    let escaped = text.replace("${", "$${");
    let is_literal = Template::parse(&escaped, Reader::Plain).is_ok_and(|template| template.references().is_empty());
    // Braces without an end have no escaped form.
    if is_literal { escaped } else { text.replace("${", "$ {") }
}

fn state(steps: &[AdoptedStep], workflow: Outline, at: Timestamp) -> State {
    let digests: BTreeMap<&StepId, String> = workflow.steps.iter().map(|step| (&step.id, step.digest())).collect();
    let begun = steps.iter().filter(|step| step.status != Status::Pending);
    let of_step = |step: &AdoptedStep| StepState {
        status: step.status,
        attempts: step.attempts.max(1),
        errors: step.error.iter().cloned().collect(),
        started_at: step.started_at,
        finished_at: step.finished_at,
        digest: digests.get(&step.id).filter(|_| step.status == Status::Completed).cloned(),
        ..StepState::default()
    };
    let states = begun.map(|step| (step.id.as_str().to_owned(), Box::new(of_step(step)))).collect();
    let cut_off = steps.iter().find(|step| step.status == Status::InProgress);
    let last = steps.iter().filter(|step| step.status == Status::Completed).max_by_key(|step| step.finished_at);
    let execution = match (cut_off, last) {
        (Some(step), _) => ExecutionState::Interrupted { step: Some(step.id.clone()), in_progress: true },
        (None, Some(step)) => ExecutionState::Completed { step: step.id.clone() },
        (None, None) => ExecutionState::Created,
    };
    State {
        run: RunState { started_at: Some(at), changed_at: Some(at), ..RunState::default() },
        steps: states,
        execution,
        workflow,
        ..State::default()
    }
}
