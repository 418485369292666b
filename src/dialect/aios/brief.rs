//! The hand-over to an agent.

use serde_json::json;

use super::epic;
use super::kind::Kind;
use super::places;
use super::story;
use crate::model::Action;
use crate::model::Brief;
use crate::model::FileSet;
use crate::model::Next;
use crate::model::Run;

/// Writes the hand-over for one step of the plan. What an agent did it records in its own way: Piton only reads these states.
pub(super) fn brief(files: &FileSet, run: &Run, next: &Next) -> Brief {
    let step = run.step(&next.step);
    let is_epic = Kind::of(files) == Ok(Kind::Epic);
    let state = if is_epic { epic::read(files, &files.state).ok() } else { None };
    let plan = state.as_ref().and_then(|state| {
        let base = places::base_of(&files.state);
        epic::plan_path(base, state).filter(|path| files.files.contains_key(path))
    });
    let file = step.and_then(|step| step.file.clone());
    let story = file.as_ref().and_then(|path| Some(story::parse(path, files.bytes(path)?)));
    let open = story.as_ref().and_then(|story| story.first_open_task());
    let first_open = open.map(|task| json!({ "text": task.text, "line": task.line }));
    let reading = file.iter().map(|path| path.reading("the story"));
    Brief {
        agent_context: json!({
            "workflow": run.workflow,
            "step": next.step,
            "group": step.and_then(|step| step.group.as_deref()),
            "agent": next.agent,
            "attempt": next.attempt,
            "mode": state.as_ref().and_then(|state| state.mode.as_deref()).map(mode),
            "story": file,
            "first_open_task": first_open,
        }),
        prompt: prompt(files, next),
        reading: reading.chain(plan.iter().map(|path| path.reading("the plan of the epic"))).collect(),
        notes: Vec::new(),
    }
}

/// The mode in which a run was started holds for its resume; nexos calls `yolo` autopilot.
fn mode(word: &str) -> &str {
    if word == "yolo" { "autopilot" } else { word }
}

fn prompt(files: &FileSet, next: &Next) -> String {
    match next.action {
        Action::Approve => "Put the question to the user and record the answer in the state.".to_owned(),
        Action::Verify => "Look at what is there and record it in the state. Run nothing.".to_owned(),
        Action::Archive | Action::Merge => String::new(),
        Action::Run | Action::Retry | Action::Return => format!(
            "Do {} as its own workflow says, and record the outcome in {}: piton reads this state and does not write it.",
            next.step, files.state
        ),
    }
}
