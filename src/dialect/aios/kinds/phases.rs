//! The phases of a context manager (docs/formats/aios-states.md#context-manager).
//!
//! A phase is written when it ends, so the running phase is never in the file. The number of phases is in the workflow file; the
//! hand-over of the last phase may name the next one.

use serde_json::{Value, json};

use crate::{
    dialect::{
        aios::{
            fields,
            kind::{Descriptor, Unnamed},
            step_list::{Key, ListWriter, Op, StepChange, StepList},
            steps::follow,
        },
        edit::object,
    },
    document::{Field, Reader},
    model::{Finding, FindingCode, Status, Step, StepId, mask_secrets},
};

/// Maximum number of missing phases that are listed.
const GAP_LIMIT: usize = 50;

pub(super) static PHASES: Descriptor = Descriptor {
    subject: &["/workflowId"],
    unnamed: Unnamed::Stem(".json"),
    stamps: &["/updatedAt", "/failedAt"],
    started: Some("/startedAt"),
    records: STEPS.records(),
    begins_unrecorded: true,
    ..Descriptor::of_files(
        "the phases of a context manager",
        |files| STEPS.load(files),
        |files, change| STEPS.edit(files, change),
    )
};

static STEPS: StepList = StepList {
    workflow: "phases",
    what: "a workflow of phases",
    instead: ["it only records completed phases; `piton plan {run}` shows what comes next"; 2],
    entry: "/phases/{}",
    key: Key::Id("phase-"),
    // The state has no field for a phase in progress.
    begin: &[Op::Remove("result"), Op::Remove("completedAt"), IN_PROGRESS],
    finish: &[
        Op::Set("agent", |_, change| Some(json!(change.agent.as_deref()?.trim_start_matches('@')))),
        Op::Set("result", result),
        Op::Now("completedAt"),
        Op::Number("/currentPhase"),
        IN_PROGRESS,
    ],
    fail: &[
        Op::Word("/status", "failed"),
        Op::Number("/failedPhase"),
        Op::Now("/failedAt"),
        Op::Set("/error", |_, change| Some(json!(change.error()))),
    ],
    skip: &[
        Op::Set("result", |_, change| Some(json!({ "status": "skipped", "reason": change.text }))),
        Op::Now("completedAt"),
        Op::Number("/currentPhase"),
        IN_PROGRESS,
    ],
    resume: &[IN_PROGRESS],
    complete: &[Op::Word("/status", "completed")],
    touched: &["/updatedAt"],
    ..StepList::new(&PHASES, steps)
};

const IN_PROGRESS: Op = Op::Word("/status", "in_progress");

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

fn result(_writer: &ListWriter, change: &StepChange<'_>) -> Option<Value> {
    let summary = change.outcome?.summary.as_deref().map(mask_secrets);
    Some(object([("status", Some(json!("completed"))), ("summary", summary.map(|text| json!(text)))]))
}

#[cfg(test)]
#[path = "phases_tests.rs"]
mod tests;
