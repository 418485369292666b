//! The state of a development cycle that was paused or aborted at its checkpoint
//! (docs/formats/aios-states.md#paused-development-cycle).
//!
//! It replaces the state of the cycle and has no phases: only the remaining stories of the epic.

use super::dev_cycle;
use super::fields;
use super::fields::KindReader as _;
use super::kind::Kind;
use super::steps::follow;
use crate::dialect::Loaded;
use crate::dialect::story;
use crate::document::Field;
use crate::document::Reader;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match fields::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    let aborted_at = tree.get("aborted_at").time();
    let is_aborted = tree.get("aborted_at").is_there() || tree.get("status").text() == Some("aborted");
    let progress = tree.get("epic_progress");
    let story = |field: Field<'_>| field.id().map(|path| story::name_of(&path).to_owned());
    let current = story(tree.get("current_story"));
    let mut stories = Stories::default();
    stories.completed(&tree);
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
    let mut run = tree.run(Kind::Paused, dev_cycle::WORKFLOW, dev_cycle::title(&tree.subject(Kind::Paused)));
    run.stamp = if is_aborted { aborted_at } else { tree.get("paused_at").time() };
    run.status = if is_aborted { RunStatus::Aborted } else { RunStatus::Paused };
    // That it was aborted cannot be undone.
    run.records.resume = !is_aborted;
    // The count includes the current story.
    let named = stories.steps.iter().filter(|step| step.status == Status::Completed).count();
    run.done_elsewhere = stories.counted.saturating_sub(named);
    run.position = resting.map(StepId::new).filter(|id| stories.steps.iter().any(|step| step.id == *id));
    run.steps = stories.steps;
    tree.loaded(run)
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

#[cfg(test)]
#[path = "paused_tests.rs"]
mod tests;
