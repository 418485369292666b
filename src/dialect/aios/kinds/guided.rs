//! The state of a guided workflow (docs/formats/aios-states.md#guided-workflow): sequential steps that the user is guided
//! through.
//!
//! The framework's `advanceStep` only looks after the current step and may complete a workflow with earlier steps open. Piton
//! continues with the first open step that has to be done: an optional or conditional one that work went past counts as skipped.

use std::collections::BTreeSet;

use serde_json::json;

use crate::{
    dialect::{
        EditError,
        aios::{
            editor::{StateEditor, edit},
            fields::{self, KindReader as _},
            kind::Descriptor,
            steps::first_open,
        },
        edit::unsupported,
        writer::{Begun, Resumed, StateWriter, outcome_text},
    },
    document::{Field, Node, Reader},
    model::{
        Edit, Finding, FindingCode, Outcome, Records, RelPath, Run, RunId, RunStatus, Status, Step, StepId, clean_line,
        mask_secrets,
    },
};

pub(super) static GUIDED: Descriptor = Descriptor {
    version: Some(("/state_version", 2)),
    subject: &["/instance_id"],
    stamps: &["/updated_at", "/started_at"],
    started: Some("/started_at"),
    records: Records::ALL,
    ..Descriptor::of_state("the state of a guided workflow", run, |files, change| {
        edit(&GUIDED, files, change, |editor, run| GuidedWriter { editor, run })
    })
};

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let instance = tree.get("instance_id").required().id();
    let name = tree.root().either(["workflow_name", "workflow_id"]).id().or(instance);
    let title = format!("Workflow {}", name.unwrap_or_else(|| tree.subject(&GUIDED)));
    let mut run = tree.run(&GUIDED, "guided-workflow", title);
    run.steps = steps(tree);
    run.status = tree.get("status").run_status(&run.steps);
    run.position = first_open(&run.steps).map(|step| step.id.clone());
    if run.status == RunStatus::Completed {
        // Changes to artifacts after completion do not reopen steps.
        run.steps.iter_mut().for_each(|step| step.proof.outputs.clear());
    }
    if let Some(open) = run.steps.iter().position(|step| Some(&step.id) == run.position.as_ref()) {
        report_skipped_step(tree, &run.steps, open);
    }
    run
}

/// Reports that the state has moved past a step that is still open.
fn report_skipped_step(tree: &Reader<'_>, steps: &[Step], open: usize) {
    let id = &steps[open].id;
    if let Some(current) = current(tree, steps).filter(|current| *current > open) {
        let message = format!("the state is at {}, but the earlier {id} is open and comes first", steps[current].id);
        tree.report(Finding::new(FindingCode::StateCorrupt, message).on(id));
    }
}

/// Returns the place of the step that the state names as the current one.
fn current(tree: &Reader<'_>, steps: &[Step]) -> Option<usize> {
    let named = tree.get("current_step_id").id().and_then(|id| steps.iter().position(|step| step.id.as_str() == id));
    let numbered = || {
        let index = tree.get("current_step_index").number()?;
        let entries = tree.get("steps").items();
        let declared = |entry: &Field<'_>| entry.get("index").is_there();
        if !entries.iter().any(declared) {
            return usize::try_from(index).ok().filter(|at| *at < steps.len());
        }
        entries.iter().position(|entry| entry.get("index").number() == Some(index))
    };
    named.or_else(numbered)
}

fn steps(tree: &Reader<'_>) -> Vec<Step> {
    let entries = tree.get("steps").required().items();
    let mut known: BTreeSet<StepId> = BTreeSet::new();
    let mut steps: Vec<Step> = Vec::new();
    for (at, entry) in entries.iter().copied().enumerate() {
        let index = u32::try_from(at).unwrap_or(u32::MAX);
        if let Some(declared) = entry.get("step_index").number().filter(|declared| *declared != index) {
            let message = format!("the step at position {index} has index {declared}; its position wins");
            tree.report(Finding::new(FindingCode::IdMismatch, message));
        }
        let id = id_of(entry, index, &mut known);
        let mut step = step(entry, id);
        step.proof.outputs = artifacts(tree, entry, index);
        if step.status == Status::Pending && is_empty(entry) {
            step.status = Status::Skipped;
        }
        steps.push(step);
    }
    pass_over(tree, &entries, &mut steps);
    let mut last_open: Option<StepId> = None;
    for at in 0..steps.len() {
        let is_open = !steps[at].status.satisfies();
        // Completed steps have no dependencies; an open step depends on every earlier one.
        steps[at].depends_on = match &last_open {
            Some(_) if !is_open => Vec::new(),
            Some(before) => vec![before.clone()],
            None => at.checked_sub(1).map(|before| steps[before].id.clone()).into_iter().collect(),
        };
        if is_open {
            last_open = Some(steps[at].id.clone());
        }
    }
    steps
}

/// Returns the id that the file gives to a step: its `id`, else its number.
fn id_of(entry: Field<'_>, position: u32, known: &mut BTreeSet<StepId>) -> StepId {
    let number = || StepId::new(format!("step-{}", entry.get("index").number().unwrap_or(position)));
    let named = entry.get("id").id().map_or_else(number, StepId::new);
    // Two steps of one id are told apart by their place.
    let id = if known.contains(&named) { StepId::new(format!("step-{position}")) } else { named };
    known.insert(id.clone());
    id
}

/// Skips the optional and the conditional steps that the work went past.
fn pass_over(tree: &Reader<'_>, entries: &[Field<'_>], steps: &mut [Step]) {
    let is_begun = |step: &Step| matches!(step.status, Status::Completed | Status::InProgress);
    let last_begun = steps.iter().rposition(is_begun).unwrap_or_default();
    let is_completed = matches!(tree.get("status").text(), Some("completed" | "complete"));
    let reached = if is_completed { steps.len() } else { current(tree, steps).unwrap_or_default().max(last_begun) };
    for (step, entry) in steps.iter_mut().zip(entries).take(reached) {
        let is_optional = entry.get("optional").text() == Some("true");
        let condition = entry.get("condition").id();
        if step.status != Status::Pending || !(is_optional || condition.is_some()) {
            continue;
        }
        step.status = Status::Skipped;
        let why =
            condition.map_or_else(|| "it is optional".to_owned(), |condition| format!("it depends on `{condition}`"));
        let message = format!("{} is pending and the work went past it: it counts as skipped, because {why}", step.id);
        entry.report(Finding::new(FindingCode::DependencySkipped, message).on(&step.id));
    }
}

fn step(entry: Field<'_>, id: StepId) -> Step {
    let action = ["action", "step", "name", "title", "type"].iter().find_map(|key| {
        let field = entry.get(key);
        if field.is_there() { field.text().map(|text| clean_line(text, 200)) } else { None }
    });
    let action = action.unwrap_or_else(|| format!("Step {id}"));
    let tail = if entry.get("optional").text() == Some("true") { " (optional)" } else { "" };
    let mut step = Step::new(id.clone(), format!("{action}{tail}"));
    step.status = fields::status(entry.get("status"), &id);
    step.agent = fields::agent(entry.get("agent"));
    step.group = entry.get("phase").id();
    step.started_at = entry.get("started_at").time();
    step.finished_at = entry.get("completed_at").time();
    step.attempts = u32::from(step.status == Status::InProgress);
    step.ends.failed = false;
    // Of a step that is over, they say what came of it.
    step.detail.requirements = entry.get("notes").id().filter(|_| !step.status.is_over()).into_iter().collect();
    step
}

/// Tells whether a step has no content: for the steps of a definition that it does not understand the framework writes
/// `{phase: '', agent: null, action: ''}`.
fn is_empty(entry: Field<'_>) -> bool {
    let keys = ["phase", "agent", "action", "step", "name", "title", "type", "notes"];
    let declared = |key: &&str| entry.get(key).is_there();
    keys.iter().any(declared) && keys.iter().all(|key| entry.get(key).id().is_none())
}

/// Returns the files that the state lists as created by a step.
fn artifacts(tree: &Reader<'_>, step: Field<'_>, position: u32) -> Vec<RelPath> {
    let names = [step.get("id").id(), step.get("index").id().or_else(|| Some(position.to_string()))];
    let made = tree.get("artifacts").items().into_iter().filter(|artifact| {
        let maker = artifact.get("created_by_step").id();
        artifact.get("status").text() == Some("created") && maker.is_some() && names.contains(&maker)
    });
    made.filter_map(|artifact| RelPath::parse(artifact.get("path").text()?).ok()).collect()
}

struct GuidedWriter {
    editor: StateEditor,
    run: Run,
}

impl GuidedWriter {
    fn place(&self, step: &StepId) -> Result<usize, EditError> {
        match self.run.steps.iter().position(|known| known.id == *step) {
            Some(at) => Ok(at),
            None => unsupported(format!("`{step}` is not a step of this run")),
        }
    }

    /// Makes a step the current one.
    fn move_to(&mut self, at: usize) -> Result<(), EditError> {
        let (editor, entry) = (&mut self.editor, format!("/steps/{at}"));
        if editor.has("/current_step_index") {
            let declared = ["step_index", "index"].iter().find_map(|key| editor.text(&format!("{entry}/{key}")));
            let index = declared.and_then(|index| index.parse().ok()).unwrap_or(at as u64);
            editor.set_number("/current_step_index", index)?;
        }
        if editor.has("/current_step_id") {
            let id = editor.text(&format!("{entry}/id")).unwrap_or(self.run.steps[at].id.as_str()).to_owned();
            editor.set_text("/current_step_id", &id)?;
        }
        let phase = editor.text(&format!("{entry}/phase")).map(str::to_owned);
        match phase.filter(|_| editor.has("/current_phase")) {
            Some(phase) => match phase.parse() {
                Ok(number) => editor.set_number("/current_phase", number),
                Err(_) => editor.set_text("/current_phase", &phase),
            },
            None => Ok(()),
        }
    }

    /// Sets a timestamp of a step if the steps of this workflow have such timestamps.
    fn stamp(&mut self, at: usize, key: &str) -> Result<(), EditError> {
        let is_usual = self.editor.items("/steps").iter().any(|step| step.get(key).is_some());
        if is_usual { self.editor.stamp(&format!("/steps/{at}/{key}"), Some("status")) } else { Ok(()) }
    }

    fn add_artifacts(&mut self, at: usize, outputs: &[RelPath]) -> Result<(), EditError> {
        for path in outputs {
            let (name, path, editor) = (path.name(), path.as_str(), &mut self.editor);
            let is_it = |artifact: &Node| artifact.get("path").and_then(Node::scalar) == Some(path);
            match editor.items("/artifacts").iter().position(is_it) {
                Some(at) => editor.set_text(&format!("/artifacts/{at}/status"), "created")?,
                None => {
                    let entry = json!({ "name": name, "created_by_step": at, "path": path, "status": "created" });
                    editor.push("/artifacts", &entry)?;
                }
            }
        }
        Ok(())
    }

    /// Ends a step. The workflow is completed only when all steps are.
    fn end(&mut self, at: usize, status: Status, word: &str) -> Result<(), EditError> {
        self.run.steps[at].status = status;
        self.editor.set_text(&format!("/steps/{at}/status"), word)?;
        self.stamp(at, "completed_at")?;
        match self.run.steps.iter().position(|step| !step.status.satisfies()) {
            Some(next) => {
                self.move_to(next)?;
                self.editor.set_text("/status", "active")
            }
            None => self.editor.set_text("/status", "completed"),
        }
    }
}

impl StateWriter for GuidedWriter {
    const WHAT: &'static str = "a guided workflow";

    fn run(&self) -> RunId {
        self.run.id.clone()
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let at = self.place(begun.step)?;
        self.editor.set_text(&format!("/steps/{at}/status"), "in_progress")?;
        self.stamp(at, "started_at")?;
        self.editor.clear(&format!("/steps/{at}/completed_at"))?;
        self.move_to(at)?;
        self.editor.set_text("/status", "active")
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let at = self.place(&outcome.step)?;
        if !self.completes(outcome)? {
            return self.refuse("record a failed step", Some(&outcome.step));
        }
        if let Some(text) = outcome_text(outcome) {
            self.editor.set_text(&format!("/steps/{at}/notes"), &text)?;
        }
        self.add_artifacts(at, &outcome.outputs)?;
        self.end(at, Status::Completed, "completed")
    }

    fn skip(&mut self, step: &StepId, _part: Option<&str>, reason: &str) -> Result<(), EditError> {
        let at = self.place(step)?;
        self.editor.set_text(&format!("/steps/{at}/notes"), &mask_secrets(reason))?;
        self.end(at, Status::Skipped, "skipped")
    }

    fn pause(&mut self, _reason: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text("/status", "paused")
    }

    fn resume(&mut self, resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.editor.set_text("/status", "active")?;
        for (step, _) in resumed.settled {
            let at = self.place(step)?;
            self.end(at, Status::Completed, "completed")?;
        }
        Ok(())
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text("/status", "completed")
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(&["/updated_at"])
    }
}

#[cfg(test)]
#[path = "guided_tests.rs"]
mod tests;
