//! The state of a development cycle that was paused or aborted at its checkpoint
//! (docs/formats/aios-states.md#paused-development-cycle).
//!
//! It replaces the state of the cycle and has no phases: only the remaining stories of the epic.

use serde_json::json;

use super::dev_cycle;
use crate::{
    dialect::{
        EditError,
        aios::{
            editor::{StateEditor, edit},
            fields::KindReader as _,
            kind::{Descriptor, StoryName},
            steps::follow,
        },
        story,
        writer::{Begun, Resumed, StateWriter},
    },
    document::{Field, Node, Reader},
    model::{Edit, Finding, FindingCode, Outcome, Records, Run, RunStatus, Status, Step, StepId, mask_secrets, quoted},
};

pub(super) static PAUSED: Descriptor = Descriptor {
    workflow_type: "Development Cycle",
    prefix: "dev",
    // Where the cycle came to rest: this stays when stories are recorded, and so does the id of the run.
    subject: &["/current_story", "/epic_progress/aborted_at_story"],
    subject_is_path: true,
    story: StoryName::At(&["/epic_progress/aborted_at_story", "/current_story"]),
    stamps: &["/paused_at", "/aborted_at"],
    records: Records { abort: true, redo: false, ..Records::RESUME },
    begins_unrecorded: true,
    records_failure: false,
    ..Descriptor::of_state("a development cycle that was paused or aborted at its checkpoint", run, |files, change| {
        edit(&PAUSED, files, change, |editor, run| PausedWriter { editor, run })
    })
};

/// Reads the run.
fn run(tree: &Reader<'_>) -> Run {
    let is_aborted = tree.get("aborted_at").is_there() || tree.get("status").text() == Some("aborted");
    let progress = tree.get("epic_progress");
    let story = |field: Field<'_>| field.id().map(|path| story::name_of(&path).to_owned());
    let current = story(tree.get("current_story"));
    let mut stories = Stories::default();
    stories.completed(tree);
    let resting = if is_aborted { story(progress.get("aborted_at_story")).or(current) } else { current };
    if let Some(story) = &resting {
        // A cycle pauses after its checkpoint; an aborted one did not finish its story.
        stories.add(story, if is_aborted { Status::Pending } else { Status::Completed });
    } else {
        tree.report(Finding::new(FindingCode::StateMissingField, "`current_story` names no story"));
    }
    let remaining = progress.get("remaining_stories").items().into_iter().filter_map(story);
    for next in story(progress.get("next_story")).into_iter().chain(remaining) {
        stories.add(&next, Status::Pending);
    }
    let title = dev_cycle::title(&resting.clone().unwrap_or_else(|| tree.subject(&PAUSED)));
    let mut run = tree.run(&PAUSED, dev_cycle::WORKFLOW, title);
    run.status = if is_aborted { RunStatus::Aborted } else { RunStatus::Paused };
    // That it was aborted cannot be undone.
    run.records.resume = !is_aborted;
    // The count includes the current story.
    let named = stories.steps.iter().filter(|step| step.status == Status::Completed).count();
    run.done_elsewhere = stories.counted.saturating_sub(named);
    run.position = resting.map(StepId::new).filter(|id| stories.steps.iter().any(|step| step.id == *id));
    run.steps = stories.steps;
    run
}

#[derive(Default)]
struct Stories {
    steps: Vec<Step>,
    /// The number of stories that are only counted.
    counted: usize,
}

impl Stories {
    /// Reads the completed stories, which are named or only counted.
    fn completed(&mut self, tree: &Reader<'_>) {
        let completed = tree.root().get("epic_progress").get("completed_stories");
        if completed.is_number() {
            self.counted = completed.number().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        } else {
            for item in completed.items() {
                if let Some(story) = item.id() {
                    self.add(story::name_of(&story), Status::Completed);
                }
            }
        }
    }

    /// Adds a story unless it is there.
    fn add(&mut self, story: &str, status: Status) {
        let id = StepId::new(story);
        if story.is_empty() || self.steps.iter().any(|step| step.id == id) {
            return;
        }
        let step = follow(&mut self.steps, id, format!("Story {story}"), status);
        step.agent = Some("dev".to_owned());
    }
}

const PROGRESS: &str = "/epic_progress";

/// Returns whether a story is written as an id, not as a path.
fn is_id(node: &Node) -> bool {
    node.scalar().is_some_and(|text| story::name_of(text) == text)
}

struct PausedWriter {
    editor: StateEditor,
    run: Run,
}

impl PausedWriter {}

/// Writes the completed stories of the epic. A running story has a state of its own.
impl StateWriter for PausedWriter {
    const WHAT: &'static str = "a paused cycle";

    fn run(&self) -> String {
        quoted(self.run.id.as_str())
    }

    fn instead(&self, _step: Option<&StepId>) -> String {
        let run = self.run();
        format!(
            "it only records completed stories: finish the remaining ones one by one with `piton finish STEP --run {run}`, or \
             edit `epic_progress`"
        )
    }

    /// The next story gets its own state when it starts.
    fn begin(&mut self, _begun: &Begun<'_>) -> Result<(), EditError> {
        Ok(())
    }

    /// Moves a story from the remaining to the completed ones.
    fn finish(&mut self, outcome: &Outcome) -> Result<(), EditError> {
        let id = outcome.step.as_str();
        if !self.completes(outcome)? {
            let instead = format!("{id} is still open and comes next");
            return Err(EditError::cannot(Self::WHAT, "record a failed story", instead));
        }
        let is_it = |node: &Node| node.scalar().is_some_and(|text| story::name_of(text) == id);
        let remaining = format!("{PROGRESS}/remaining_stories");
        let at = self.editor.items(&remaining).iter().position(is_it);
        let written = at.and_then(|at| self.editor.items(&remaining).get(at)).and_then(Node::scalar).map(str::to_owned);
        if let Some(at) = at {
            self.editor.remove(&format!("{remaining}/{at}"))?;
        }
        let next = format!("{PROGRESS}/next_story");
        let was_next = self.editor.get(&next).is_some_and(is_it);
        let written = written.or_else(|| self.editor.text(&next).filter(|_| was_next).map(str::to_owned));
        let done = format!("{PROGRESS}/completed_stories");
        match self.editor.text(&done).and_then(|count| count.parse::<u64>().ok()) {
            Some(count) => self.editor.set_number(&done, count.saturating_add(1))?,
            None => {
                let are_ids = |items: &[Node]| !items.is_empty() && items.iter().all(is_id);
                let by_id = are_ids(self.editor.items(&done));
                let entry = written.as_deref().filter(|_| !by_id).unwrap_or(id);
                self.editor.push(&done, &json!(entry))?;
            }
        }
        let left = format!("{PROGRESS}/remaining_count");
        if let Some(count) = self.editor.text(&left).and_then(|count| count.parse::<u64>().ok()) {
            self.editor.set_number(&left, count.saturating_sub(1))?;
        }
        if was_next {
            let after = self.run.steps.iter().find(|step| step.status == Status::Pending && step.id != outcome.step);
            let after = after.map_or(json!(null), |step| json!(step.id.as_str()));
            self.editor.set(&next, &after)?;
        }
        self.editor.touch("/paused_at")
    }

    fn abort(&mut self, reason: Option<&str>) -> Result<(), EditError> {
        let open = self.run.steps.iter().find(|step| step.status == Status::Pending).map(|step| step.id.clone());
        self.editor.set_text("/status", "aborted")?;
        self.editor.stamp("/aborted_at", Some("status"))?;
        if let Some(reason) = reason {
            self.editor.set_text("/abort_reason", &mask_secrets(reason))?;
        }
        match open {
            Some(open) => self.editor.set_text(&format!("{PROGRESS}/aborted_at_story"), open.as_str()),
            None => Ok(()),
        }
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        if !self.editor.has("/aborted_at") {
            return Ok(());
        }
        let instead = "that it was aborted cannot be undone: start a new cycle for the story";
        Err(EditError::cannot(Self::WHAT, "be resumed", instead))
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        Ok(self.editor.into_edits())
    }
}

#[cfg(test)]
#[path = "paused_tests.rs"]
mod tests;
