//! The state of a development cycle put to rest or given up at its checkpoint (W4, dotagent-and-aios.md 2.6).
//!
//! It replaces the state of the cycle and says nothing of its phases (C-29): what is left is the rest of the epic's stories.

use super::fields::Tree;
use crate::dialect::Loaded;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::FindingCode;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::Step;
use crate::model::StepId;
use crate::model::clean_line;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    let tree = match Tree::read(files) {
        Ok(tree) => tree,
        Err(loaded) => return *loaded,
    };
    let aborted_at = tree.get("aborted_at").time();
    let is_aborted = tree.get("aborted_at").is_there() || tree.get("status").text() == Some("aborted");
    let current = tree.get("current_story").id().map(|path| story_name(&path));
    let progress = tree.get("epic_progress");
    let aborted_story = progress.get("aborted_at_story").id().map(|path| story_name(&path));
    let mut stories = Stories::default();
    stories.completed(&tree);
    let story = if is_aborted { aborted_story.or(current) } else { current };
    if let Some(story) = &story {
        // A cycle rests after its checkpoint, and is given up before the story is done.
        stories.add(story, if is_aborted { Status::Pending } else { Status::Completed });
    }
    let remaining = progress.get("remaining_stories").items().into_iter().filter_map(|item| item.id());
    for next in progress.get("next_story").id().into_iter().chain(remaining) {
        stories.add(&story_name(&next), Status::Pending);
    }
    let story = story.unwrap_or_else(|| {
        tree.report(Finding::new(FindingCode::StateMissingField, "`current_story` names no story"));
        "unknown".to_owned()
    });
    let mut run = tree.run("development-cycle", format!("dev-{story}"), format!("Development Cycle for story {story}"));
    run.stamp = if is_aborted { aborted_at } else { tree.get("paused_at").time() };
    run.status = if is_aborted { RunStatus::Aborted } else { RunStatus::Paused };
    // The count has the story that rests in it.
    let named = stories.steps.iter().filter(|step| step.status == Status::Completed).count();
    run.done_elsewhere = stories.counted.saturating_sub(named);
    run.position = Some(StepId::new(story)).filter(|id| stories.steps.iter().any(|step| step.id == *id));
    run.steps = stories.steps;
    tree.loaded(run)
}

/// Names a story by its file, where a path stands for it.
pub(super) fn story_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let name = [".md", ".story"].iter().fold(name, |name, end| name.strip_suffix(end).unwrap_or(name));
    clean_line(name, 100)
}

#[derive(Default)]
struct Stories {
    steps: Vec<Step>,
    /// Stories that are only counted.
    counted: usize,
}

impl Stories {
    /// Reads the stories that are done: by name, or only their number.
    fn completed(&mut self, tree: &Tree<'_>) {
        let completed = tree.root().get("epic_progress").get("completed_stories");
        if completed.is_number() {
            self.counted = completed.number().and_then(|count| usize::try_from(count).ok()).unwrap_or(0);
        } else {
            for item in completed.items() {
                if let Some(story) = item.id() {
                    self.add(&story_name(&story), Status::Completed);
                }
            }
        }
    }

    /// Adds a story; what was said of it first stands.
    fn add(&mut self, story: &str, status: Status) {
        let id = StepId::new(story);
        if story.is_empty() || self.steps.iter().any(|step| step.id == id) {
            return;
        }
        let mut step = Step::new(id, format!("Story {story}"));
        step.status = status;
        step.agent = Some("dev".to_owned());
        step.depends_on = self.steps.last().map(|before| before.id.clone()).into_iter().collect();
        self.steps.push(step);
    }
}

#[cfg(test)]
#[path = "paused_tests.rs"]
mod tests;
