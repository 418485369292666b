//! The record of a nexos `orchestrate` (docs/formats/aios-states.md#orchestration-record): completed phases and the current one.

use serde_json::json;

use super::{spec, story_cycle};
use crate::{
    dialect::{
        EditError,
        aios::{
            fields,
            kind::{Descriptor, StoryName, Unnamed},
            step_list::{Key, ListWriter, Op, StepChange, StepList},
            steps::follow,
        },
    },
    document::{Field, Kind as Value, Node, Reader},
    model::{Finding, FindingCode, Status, Step, StepId},
};

/// The phases of a spec pipeline of nexos, which has no plan (docs/formats/aios-stories.md#spec-pipeline).
const SPEC_PHASES: usize = 5;

const COMPLETED: &str = "/phases_completed";

/// Maximum phase number of a record.
const PHASE_LIMIT: u32 = 100;

pub(super) static RECORD: Descriptor = Descriptor {
    workflow_type: "Orchestration",
    subject: &["/execution_id"],
    unnamed: Unnamed::Nowhere,
    // `context` has no fixed keys; it names the story like the other states do.
    story: StoryName::At(&[
        "/context/story",
        "/context/story_id",
        "/context/storyId",
        "/context/current_story",
        "/context/currentStory",
    ]),
    stamps: &["/updated_at", "/started_at"],
    started: Some("/started_at"),
    records: STEPS.records(),
    records_failure: false,
    ..Descriptor::of_files(
        "the record of a nexos orchestration",
        |files| STEPS.load(files),
        |files, change| STEPS.edit(files, change),
    )
};

/// Only the status `active` is documented.
static STEPS: StepList = StepList {
    workflow: "orchestrate",
    title: "Orchestration {}",
    complete_run: |tree, run| {
        if let Some(workflow) = tree.get("workflow").id() {
            run.workflow = workflow;
        }
    },
    what: "the record of an orchestration",
    instead: ["it only records completed phases: finish the phase, or edit the file, then run `piton plan {run}`"; 2],
    key: Key::Id("phase-"),
    begin: &[
        Op::Do(reopen),
        Op::Number("/current_phase"),
        Op::Set("/current_agent", agent),
        Op::Word("/status", "active"),
    ],
    finish: &[Op::Do(complete)],
    fail: &[Op::Refuse("record a failed phase", "{step} stays the current one; begin it again")],
    resume: &[Op::Word("/status", "active")],
    complete: &[Op::Word("/status", "completed")],
    touched: &["/updated_at"],
    ..StepList::new(&RECORD, steps)
};

fn steps(tree: &Reader<'_>) -> Vec<Step> {
    Phases { tree, known: known(tree.get("workflow").node().and_then(Node::scalar)) }.steps()
}

/// Returns title and agent of each phase of a known workflow.
fn known(workflow: Option<&str>) -> Vec<(&'static str, &'static str)> {
    let word = workflow.unwrap_or_default().to_lowercase();
    if word.contains("spec") {
        spec::PHASES[..SPEC_PHASES].iter().map(|(_, _, title, agent, _)| (*title, *agent)).collect()
    } else if word.contains("sdc") || word.contains("story") {
        story_cycle::PHASES.iter().map(|(_, _, title, agent)| (*title, *agent)).collect()
    } else {
        Vec::new()
    }
}

struct Phases<'a> {
    tree: &'a Reader<'a>,
    known: Vec<(&'static str, &'static str)>,
}

impl Phases<'_> {
    fn steps(&self) -> Vec<Step> {
        let done: Vec<u32> =
            self.tree.get("phases_completed").items().into_iter().filter_map(|it| self.number(it)).collect();
        let current = self.tree.get("current_phase").number();
        if let Some(number) = current.filter(|number| *number > PHASE_LIMIT) {
            let message = format!("`current_phase` is {number}, more than any workflow has; it was ignored");
            self.tree.report(Finding::new(FindingCode::FieldIgnored, message));
        }
        let current = current.filter(|number| (1..=PHASE_LIMIT).contains(number));
        let last = done.iter().copied().max().unwrap_or(0);
        let is_over = self.tree.get("status").text() == Some("completed");
        let next = if is_over || !self.known.is_empty() { last } else { last.saturating_add(1) };
        let count = u32::try_from(self.known.len()).unwrap_or(0).max(next).max(current.unwrap_or(0));
        let mut steps = Vec::new();
        for number in 1..=count {
            let status = if done.contains(&number) {
                Status::Completed
            } else if current == Some(number) {
                Status::InProgress
            } else {
                Status::Pending
            };
            self.add(&mut steps, number, status, current);
        }
        if self.known.is_empty() && !is_over && steps.iter().all(|step| step.status != Status::InProgress) {
            let message = "the number of phases is unknown";
            self.tree.report(Finding::new(FindingCode::TotalMissing, message));
        }
        steps
    }

    /// Returns the phase of an entry, which is a number, a name or an object.
    fn number(&self, entry: Field<'_>) -> Option<u32> {
        let at = if entry.get("phase").is_there() { entry.get("phase") } else { entry };
        let word = at.id()?;
        let by_name = || {
            let place = self.known.iter().position(|(title, _)| title.eq_ignore_ascii_case(&word))?;
            u32::try_from(place + 1).ok()
        };
        let number = word.parse().ok().or_else(by_name).filter(|number| (1..=PHASE_LIMIT).contains(number));
        if number.is_none() {
            let message = format!("the phase `{word}` is unknown; it was ignored");
            at.report(Finding::new(FindingCode::StateCorrupt, message));
        }
        number
    }

    fn add(&self, steps: &mut Vec<Step>, number: u32, status: Status, current: Option<u32>) {
        let known = usize::try_from(number).ok().and_then(|number| self.known.get(number - 1));
        let title = known.map_or_else(|| format!("Phase {number}"), |(title, _)| (*title).to_owned());
        let named = fields::agent(self.tree.get("current_agent")).filter(|_| current == Some(number));
        let step = follow(steps, StepId::new(format!("phase-{number}")), title, status);
        step.agent = named.or_else(|| known.map(|(_, agent)| (*agent).to_owned()));
        step.attempts = u32::from(status == Status::InProgress);
        step.short = Some(number.to_string());
    }
}

/// Removes a phase from the completed ones, which are numbers or objects.
fn reopen(writer: &mut ListWriter, change: &StepChange<'_>) -> Result<(), EditError> {
    let number = |text: &str| text.parse::<u64>().ok();
    let is_it = |item: &Node| item.get("phase").unwrap_or(item).scalar().and_then(number) == number(change.key);
    let at = writer.editor.items(COMPLETED).iter().position(is_it);
    at.map_or(Ok(()), |at| writer.editor.remove(&format!("{COMPLETED}/{at}")))
}

/// Returns the agent in the spelling of the record, if it names one.
fn agent(writer: &ListWriter, change: &StepChange<'_>) -> Option<serde_json::Value> {
    let agent = change.agent.as_deref().filter(|_| writer.editor.has("/current_agent"))?;
    let mark = writer.editor.text("/current_agent").filter(|agent| agent.starts_with('@')).map_or("", |_| "@");
    Some(json!(format!("{mark}{}", agent.trim_start_matches('@'))))
}

fn complete(writer: &mut ListWriter, change: &StepChange<'_>) -> Result<(), EditError> {
    let has_records = writer.editor.items(COMPLETED).iter().any(|item| matches!(item.kind, Value::Map(_)));
    if has_records {
        writer.editor.push(COMPLETED, &json!({ "phase": change.key.parse::<u64>().unwrap_or_default() }))
    } else {
        writer.editor.add_to_list(COMPLETED, change.key)
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
