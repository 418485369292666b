//! The phases of a context manager (docs/formats/aios-states.md#context-manager).
//!
//! A phase is written when it ends, so the running phase is never in the file. The number of phases is in the workflow file; the
//! hand-over of the last phase may name the next one.

use serde_json::json;

use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::editor::edit;
use crate::dialect::aios::fields;
use crate::dialect::aios::fields::KindReader as _;
use crate::dialect::aios::kind::Descriptor;
use crate::dialect::aios::kind::Unnamed;
use crate::dialect::aios::steps::first_open;
use crate::dialect::aios::steps::follow;
use crate::dialect::edit::object;
use crate::dialect::edit::unsupported;
use crate::dialect::writer::Begun;
use crate::dialect::writer::Resumed;
use crate::dialect::writer::StateWriter;
use crate::dialect::writer::outcome_text;
use crate::document::Field;
use crate::document::Reader;
use crate::model::Edit;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Outcome;
use crate::model::Records;
use crate::model::RollBack;
use crate::model::Run;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::mask_secrets;
use crate::model::quoted;

/// Maximum number of missing phases that are listed.
const GAP_LIMIT: usize = 50;

pub(super) static PHASES: Descriptor = Descriptor {
    subject: &["/workflowId"],
    unnamed: Unnamed::Stem(".json"),
    stamps: &["/updatedAt", "/updated_at"],
    records: Records { skip: true, ..Records::RESUME },
    begins_unrecorded: true,
    ..Descriptor::of_state("the phases of a context manager", run, |files, change| {
        edit(&PHASES, files, change, |editor, run| Writer { editor, run })
    })
};

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let title = format!("Workflow {}", tree.subject(&PHASES));
    let mut run = tree.run(&PHASES, "phases", title);
    run.steps = steps(tree);
    run.started_at = tree.get("startedAt").time();
    run.stamp = tree.get("updatedAt").time().max(tree.get("failedAt").time());
    run.status = tree.get("status").run_status(&run.steps);
    if run.status == RunStatus::Completed {
        run.position = None;
    } else {
        run.position = first_open(&run.steps).map(|step| step.id.clone());
    }
    run
}

fn steps(tree: &Reader<'_>) -> Vec<Step> {
    let mut phases: Vec<(u32, Field<'_>)> = Vec::new();
    for (number, phase) in tree.get("phases").required().members() {
        match number.parse() {
            Ok(number) => phases.push((number, phase)),
            Err(_) => {
                let message = format!("the phase `{}` has no number; it was ignored", number.escape_debug());
                phase.report(Finding::new(FindingCode::FieldIgnored, message));
            }
        }
    }
    phases.sort_by_key(|(number, _)| *number);
    let mut steps = Vec::new();
    let mut before = 0;
    for (number, phase) in &phases {
        for missing in (before + 1..*number).take(GAP_LIMIT) {
            let step = follow(&mut steps, id(missing), format!("Phase {missing}"), Status::Pending);
            let message = format!("{} is not recorded, but the later phase {number} is", step.id);
            phase.report(Finding::new(FindingCode::StateCorrupt, message).on(&step.id));
        }
        recorded(&mut steps, *number, *phase);
        before = *number;
    }
    let failed = tree.get("failedPhase").number().filter(|_| tree.get("status").text() == Some("failed"));
    match failed {
        Some(number) => fail(tree, &mut steps, number),
        None if tree.get("status").text() != Some("completed") => next(tree, &mut steps, phases.last()),
        None => {}
    }
    steps
}

fn id(number: u32) -> StepId {
    StepId::new(format!("phase-{number}"))
}

/// Adds a recorded phase: it is completed unless its result says otherwise.
fn recorded(steps: &mut Vec<Step>, number: u32, phase: Field<'_>) {
    let task = phase.either(["action", "task"]).id();
    let title = task.map_or_else(|| format!("Phase {number}"), |task| format!("Phase {number}: {task}"));
    let result = phase.get("result").get("status");
    let status = match result.text() {
        Some("failed" | "error") => Status::Failed,
        Some("skipped") => Status::Skipped,
        Some(_) | None if phase.get("completedAt").is_there() => Status::Completed,
        Some(_) | None => Status::Pending,
    };
    let step = follow(steps, id(number), title, status);
    step.agent = fields::agent(phase.get("agent"));
    step.finished_at = phase.get("completedAt").time();
    step.attempts = u32::from(status != Status::Pending);
    if status == Status::Failed {
        step.failures = 1;
        step.error = phase.get("result").get("error").text().map(str::to_owned);
    }
}

/// Marks the failed phase, which the state names separately from the recorded ones.
fn fail(tree: &Reader<'_>, steps: &mut Vec<Step>, number: u32) {
    let id = id(number);
    if steps.iter().all(|step| step.id != id) {
        follow(steps, id.clone(), format!("Phase {number}"), Status::Failed);
    }
    let Some(step) = steps.iter_mut().find(|step| step.id == id) else { return };
    step.status = Status::Failed;
    (step.attempts, step.failures) = (1, 1);
    step.error = tree.get("error").text().map(str::to_owned);
}

/// Adds the phase after the last recorded one, unless a failed phase comes first.
fn next(tree: &Reader<'_>, steps: &mut Vec<Step>, last: Option<&(u32, Field<'_>)>) {
    if steps.iter().any(|step| step.status == Status::Failed) {
        return;
    }
    let target = last.map(|(_, phase)| phase.get("handoff").get("to"));
    let named = target.and_then(|target| target.get("phase").number());
    let number = named.unwrap_or_else(|| last.map_or(1, |(number, _)| number.saturating_add(1)));
    if steps.iter().any(|step| step.id == id(number)) {
        return;
    }
    let title = if named.is_some() || last.is_none() { "" } else { ", if the workflow has one" };
    let step = follow(steps, id(number), format!("Phase {number}{title}"), Status::Pending);
    step.agent = target.and_then(|target| fields::agent(target.get("agent")));
    if named.is_none() && last.is_some() {
        let message = "it is unknown whether there is a phase after the last recorded one";
        tree.report(Finding::new(FindingCode::TotalMissing, message));
    }
}

fn number(step: &StepId) -> Result<u64, EditError> {
    match step.as_str().strip_prefix("phase-").and_then(|number| number.parse().ok()) {
        Some(number) => Ok(number),
        None => unsupported(format!("`{step}` is not a phase of this workflow")),
    }
}

struct Writer {
    editor: StateEditor,
    run: Run,
}

impl Writer {
    fn record(&mut self, number: u64, agent: Option<String>, result: &serde_json::Value) -> Result<(), EditError> {
        let phase = format!("/phases/{number}");
        if let Some(agent) = agent {
            self.editor.set_text(&format!("{phase}/agent"), agent.trim_start_matches('@'))?;
        }
        self.editor.set(&format!("{phase}/result"), result)?;
        self.editor.stamp(&format!("{phase}/completedAt"), None)?;
        self.editor.set_number("/currentPhase", number)?;
        self.editor.set_text("/status", "in_progress")
    }

    /// Removes what says that a phase is over. The state has no field for a phase in progress.
    fn reopen(&mut self, number: u64) -> Result<(), EditError> {
        for key in ["result", "completedAt"] {
            self.editor.remove(&format!("/phases/{number}/{key}"))?;
        }
        Ok(())
    }
}

impl StateWriter for Writer {
    const WHAT: &'static str = "a workflow of phases";

    fn run(&self) -> String {
        quoted(self.run.id.as_str())
    }

    fn instead(&self, _step: Option<&StepId>) -> String {
        format!("it only records completed phases; `piton plan {}` shows what comes next", self.run())
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        self.reopen(number(begun.step)?)?;
        self.editor.set_text("/status", "in_progress")
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let number = number(&outcome.step)?;
        if !self.completes(outcome)? {
            self.editor.set_text("/status", "failed")?;
            self.editor.set_number("/failedPhase", number)?;
            self.editor.stamp("/failedAt", None)?;
            let error = outcome_text(outcome).unwrap_or_else(|| "it failed".to_owned());
            return self.editor.set_text("/error", &error);
        }
        let agent = outcome.agent.clone().or_else(|| self.run.step(&outcome.step)?.agent.clone());
        let summary = outcome.summary.as_deref().map(mask_secrets);
        let result = object([("status", Some(json!("completed"))), ("summary", summary.map(|text| json!(text)))]);
        self.record(number, agent, &result)
    }

    fn skip(&mut self, step: &StepId, _part: Option<&str>, reason: &str) -> Result<(), EditError> {
        let result = json!({ "status": "skipped", "reason": mask_secrets(reason) });
        self.record(number(step)?, None, &result)
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.editor.set_text("/status", "in_progress")
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text("/status", "completed")
    }

    /// Removes the results of phases; the last phase with a result becomes the current one.
    fn roll_back(&mut self, back: &RollBack) -> Result<(), EditError> {
        for step in &back.reopened {
            self.editor.remove(&format!("/phases/{}", number(step)?))?;
        }
        self.editor.set_number("/currentPhase", back.keeps.as_ref().map_or(Ok(0), number)?)?;
        for stale in ["/failedPhase", "/failedAt", "/error"] {
            self.editor.remove(stale)?;
        }
        self.editor.set_text("/status", "in_progress")
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(&["/updatedAt"])
    }
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
