//! The record of a nexos `orchestrate` (docs/formats/aios-states.md#orchestration-record): completed phases and the current one.

use serde_json::json;

use super::spec;
use super::story_cycle;
use crate::dialect::EditError;
use crate::dialect::aios::editor::StateEditor;
use crate::dialect::aios::editor::edit;
use crate::dialect::aios::fields;
use crate::dialect::aios::fields::KindReader as _;
use crate::dialect::aios::kind::Descriptor;
use crate::dialect::aios::kind::StoryName;
use crate::dialect::aios::kind::Unnamed;
use crate::dialect::aios::steps::first_open;
use crate::dialect::aios::steps::follow;
use crate::dialect::edit::unsupported;
use crate::dialect::writer::Begun;
use crate::dialect::writer::Resumed;
use crate::dialect::writer::StateWriter;
use crate::document::Field;
use crate::document::Kind as Value;
use crate::document::Node;
use crate::document::Reader;
use crate::model::Edit;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::Outcome;
use crate::model::Run;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::quoted;

/// The phases of a spec pipeline of nexos, which has no plan (docs/formats/aios-stories.md#spec-pipeline).
const SPEC_PHASES: usize = 5;

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
    records_failure: false,
    ..Descriptor::of_state("the record of a nexos orchestration", run, |files, change| {
        edit(&RECORD, files, change, |editor, run| Writer { editor, run })
    })
};

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let workflow = tree.get("workflow").id();
    let title = format!("Orchestration {}", tree.subject(&RECORD));
    let mut run = tree.run(&RECORD, workflow.as_deref().unwrap_or("orchestrate"), title);
    run.steps = Phases { tree, known: known(workflow.as_deref()) }.steps();
    run.started_at = tree.get("started_at").time();
    run.stamp = tree.get("updated_at").time();
    run.status = tree.get("status").run_status(&run.steps);
    run.position = first_open(&run.steps).map(|step| step.id.clone());
    run
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

struct Writer {
    editor: StateEditor,
    run: Run,
}

/// Returns the place of a phase among the completed ones, which are numbers or objects.
fn completed(editor: &StateEditor, number: u64) -> Option<usize> {
    let phase = |item: &Node| item.get("phase").unwrap_or(item).scalar().and_then(|text| text.parse().ok());
    editor.items("/phases_completed").iter().position(|item| phase(item) == Some(number))
}

fn number(step: &StepId) -> Result<u64, EditError> {
    match step.as_str().strip_prefix("phase-").and_then(|number| number.parse().ok()) {
        Some(number) => Ok(number),
        None => unsupported(format!("`{step}` is not a phase of this orchestration")),
    }
}

/// Only the status `active` is documented.
impl StateWriter for Writer {
    const WHAT: &'static str = "the record of an orchestration";

    fn run(&self) -> String {
        quoted(self.run.id.as_str())
    }

    fn instead(&self, _step: Option<&StepId>) -> String {
        format!(
            "it only records completed phases: finish the phase, or edit the file, then run `piton plan {}`",
            self.run()
        )
    }

    fn begin(&mut self, begun: &Begun<'_>) -> Result<(), EditError> {
        let number = number(begun.step)?;
        let editor = &mut self.editor;
        // What a person wants done again is no longer completed.
        if let Some(at) = completed(editor, number) {
            editor.remove(&format!("/phases_completed/{at}"))?;
        }
        editor.set_number("/current_phase", number)?;
        let agent = begun.agent.or_else(|| self.run.step(begun.step)?.agent.as_deref());
        if let Some(agent) = agent.filter(|_| editor.has("/current_agent")) {
            let mark = editor.text("/current_agent").filter(|agent| agent.starts_with('@')).map_or("", |_| "@");
            editor.set_text("/current_agent", &format!("{mark}{}", agent.trim_start_matches('@')))?;
        }
        editor.set_text("/status", "active")
    }

    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let (step, number) = (&outcome.step, number(&outcome.step)?);
        if !self.completes(outcome)? {
            let instead = format!("{step} stays the current one; begin it again");
            return Err(EditError::cannot(Self::WHAT, "record a failed phase", instead));
        }
        let has_records = self.editor.items("/phases_completed").iter().any(|item| matches!(item.kind, Value::Map(_)));
        if has_records {
            self.editor.push("/phases_completed", &json!({ "phase": number }))
        } else {
            self.editor.add_to_list("/phases_completed", &number.to_string())
        }
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        self.editor.set_text("/status", "active")
    }

    fn complete(&mut self, _note: Option<&str>) -> Result<(), EditError> {
        self.editor.set_text("/status", "completed")
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        self.editor.into_stamped(&["/updated_at"])
    }
}

#[cfg(test)]
#[path = "record_tests.rs"]
mod tests;
