//! The hand-over to an agent: what to read, what to write, and in which form.

use serde_json::json;

use super::{layout::Layout, rules::Phase, steps, workflow_files::WorkflowFiles};
use crate::model::{Action, Brief, FileSet, Next, ReadingItem, RelPath, Run, StepKind, Suggested, Verb};

/// Builds the hand-over for one step of the plan.
pub(super) fn brief(files: &FileSet, run: &Run, next: &Next) -> Brief {
    let Some(layout) = Layout::of(&files.state) else { return Brief::default() };
    let step = run.step(&next.step);
    let phase = step.and_then(|step| Phase::parse(step.group.as_deref()?)).unwrap_or(Phase::Requirements);
    let is_task = phase == Phase::Implementation && step.is_some_and(|step| step.kind != StepKind::Container);
    let result = if is_task { result_of(files, task_of(next)) } else { None };
    let output = expected((&layout, files), next, (phase, is_task), result.as_ref());
    let agent_context = json!({
        "workflow_id": run.id,
        "phase": phase.as_str(),
        "task_id": is_task.then(|| task_of(next)),
        "output": output,
        "attempt": next.attempt,
        "definition": step.map(|step| &step.definition).filter(|definition| !definition.is_null()),
    });
    Brief {
        agent_context,
        told: vec!["workflow_id", "phase", "task_id", "attempt", "output"],
        prompt: prompt(&layout, run, next, output.as_ref()),
        instructions: String::new(),
        task: match next.action {
            Action::Run | Action::Exec | Action::Retry | Action::Return => {
                format!("{}{}", checked(next), leave(&layout, next, output.as_ref()))
            }
            Action::Approve | Action::Verify | Action::Archive | Action::Merge => String::new(),
        },
        reading: reading((&layout, files), phase, next, result),
        notes: Vec::new(),
    }
}

fn task_of(next: &Next) -> &str {
    let id = next.step.as_str();
    id.strip_suffix(":verify").or_else(|| id.strip_suffix(":resolve")).unwrap_or(id)
}

/// Returns where the state says that the result of a task is.
fn result_of(files: &FileSet, task: &str) -> Option<RelPath> {
    let execution = WorkflowFiles::open(files, &mut Vec::new()).ok()?.execution;
    execution.tasks[execution.position(task)?].output.clone()
}

/// Returns the file that the agent has to write. `result`: where the result of its task is.
fn expected(
    (layout, files): (&Layout, &FileSet),
    next: &Next,
    (phase, is_task): (Phase, bool),
    result: Option<&RelPath>,
) -> Option<RelPath> {
    let id = next.step.as_str();
    if id == steps::DESIGNS || phase == Phase::Reflection {
        return None;
    }
    if !is_task || id == Phase::Implementation.as_str() {
        return layout.at(phase.output()?);
    }
    let task = task_of(next);
    if id.ends_with(":verify") {
        layout.of_task(files, task, "verification.json")
    } else if id.ends_with(":resolve") {
        layout.resolution(files, task)
    } else {
        result.cloned()
    }
}

fn reading(
    (layout, files): (&Layout, &FileSet),
    phase: Phase,
    next: &Next,
    result: Option<RelPath>,
) -> Vec<ReadingItem> {
    let mut reading = Vec::new();
    let mut add = |what: &str, path: Option<RelPath>| {
        reading.extend(path.filter(|path| files.files.contains_key(path)).map(|path| path.reading_item(what)));
    };
    if phase > Phase::Requirements {
        add("the requirements", layout.at("memory/reports/demand.json"));
    }
    if phase > Phase::Architecture {
        add("the final design", layout.at("memory/reports/final_design.json"));
    }
    if phase == Phase::Reflection {
        add("the verification", layout.at("memory/reports/verification.json"));
    }
    if phase == Phase::Implementation {
        let task = task_of(next);
        add("the task's output so far", result);
        add("the verification", layout.of_task(files, task, "verification.json"));
        add("the resolution of the blocker", layout.resolution(files, task));
    }
    if phase == Phase::Architecture && next.step.as_str() != steps::DESIGNS {
        let designs = layout.designs();
        reading.extend(files.in_dir(&designs).map(|(path, _)| path.reading_item("a design option")));
    }
    reading
}

/// Returns what a verifier checks, and against what (docs/formats/dotagent.md#steps-of-a-run).
fn checked(next: &Next) -> String {
    if !next.step.as_str().ends_with(":verify") {
        return String::new();
    }
    format!(
        "Check {} against the design and the requirements: each file that its output names, each contract that it says is implemented, and \
         the tests. Its output is a claim. ",
        task_of(next)
    )
}

/// Returns where and in which form the result is written.
fn leave(layout: &Layout, next: &Next, output: Option<&RelPath>) -> String {
    match output {
        Some(path) => {
            let words = words(next);
            format!(
                "Write {path} as compact single-line JSON: write it to a temporary file next to it, then rename it.{words}"
            )
        }
        None if next.step.as_str() == steps::DESIGNS => format!(
            "Write each design option as compact single-line JSON to a file of its own in {}, such as option-1.json.",
            layout.designs()
        ),
        None if next.step == Phase::Implementation.step_id() => format!(
            "Write the tasks of the design into {}, as compact single-line JSON: {{\"tasks\":[{{\"id\":\"task-001\",\"status\":\"pending\",\
             \"attempts\":0}}]}}. Each task is then a step of its own, and `{}` names the first: with the last of them this phase is done.",
            layout.execution,
            Suggested::new(Verb::Plan)
        ),
        None if next.step == Phase::Reflection.step_id() => {
            format!(
                "Write your reflection as compact single-line JSON to a file of its own in {}.",
                layout.reflections()
            )
        }
        None => "Write your result as compact single-line JSON in the folder of this phase.".to_owned(),
    }
}

/// Returns the keys and words that are read from a result (docs/formats/dotagent.md#outputs); empty where any content counts.
fn words(next: &Next) -> String {
    let (id, task) = (next.step.as_str(), task_of(next));
    if id.ends_with(":verify") || Phase::parse(id) == Some(Phase::Verification) {
        return " Its `verdict` is `passed` or `failed`, with `issues` for each thing to address.".to_owned();
    }
    if task != id || Phase::parse(id).is_some() || id == steps::FINAL {
        return String::new();
    }
    format!(
        " Its `task_id` is `{task}`, its `status` `pre_complete`, or `blocked` with `blocked_reason` (`boundary_violation`, \
         `contract_change` or `dependency_issue`) and `blocked_details` (`description`, `needs`, `suggested_resolution`)."
    )
}

fn prompt(layout: &Layout, run: &Run, next: &Next, output: Option<&RelPath>) -> String {
    let step = run.step(&next.step);
    match next.action {
        Action::Approve => {
            "Present the options to the user again and record the answer. Do not run an agent before that.".to_owned()
        }
        Action::Verify => "Check the results and record them. Do not run anything.".to_owned(),
        Action::Archive | Action::Merge => String::new(),
        Action::Run | Action::Exec | Action::Retry | Action::Return => {
            let leave = leave(layout, next, output);
            let on_step = |verb| Suggested::on_step(verb, &next.step, &run.id);
            let finish = match step.filter(|step| step.kind == StepKind::Review) {
                Some(review) => {
                    let verdicts = review.ends.verdicts_in_words();
                    format!("`{}` with {verdicts}", on_step(Verb::Finish).option("verdict", "VERDICT"))
                }
                None => format!("`{}`", on_step(Verb::Finish)),
            };
            format!("{leave} Before: `{}`. Afterwards: {finish}.", on_step(Verb::Begin))
        }
    }
}
