//! The hand-over to an agent.

use serde_json::json;

use super::{handoff, kind::Kind, kinds::epic, layout, resume_point};
use crate::{
    dialect::story::{self, Story, StoryTask},
    model::{Action, Brief, FileSet, Mode, Next, Run, StepKind, Suggested, Verb},
};

/// The number of open tasks that are listed.
const OPEN_TASKS: usize = 12;

/// Builds the hand-over for one step of the plan.
pub(super) fn brief(files: &FileSet, run: &Run, next: &Next) -> Brief {
    let step = run.step(&next.step);
    let is_epic = Kind::of(files) == Ok(Kind::Epic);
    let state = if is_epic { epic::read(files, &files.state).ok() } else { None };
    let plan = state.as_ref().and_then(|state| {
        let base = layout::base_of(&files.state);
        epic::plan_path(base, state).filter(|path| files.files.contains_key(path))
    });
    let file = step.and_then(|step| step.file.clone());
    let story = file.as_ref().and_then(|path| Some(story::parse(path, files.bytes(path)?)));
    let open = story.as_ref().and_then(|story| story.first_open_task());
    let first_open = open.map(|task| json!({ "text": task.text, "line": task.line }));
    let reading = file.iter().map(|path| path.reading_item("the story"));
    let tasks = story.filter(|_| lists_tasks(run, next)).map(|story| open_tasks(&story)).unwrap_or_default();
    Brief {
        task: task(files, run, next, !tasks.is_empty()),
        agent_context: json!({
            "workflow": run.workflow,
            "step": next.step,
            "group": step.and_then(|step| step.group.as_deref()),
            "agent": next.agent,
            "attempt": next.attempt,
            "mode": run.mode,
            "story": file,
            "first_open_task": first_open,
        }),
        told: told(run, next),
        prompt: prompt(files, run, next),
        instructions: tasks,
        reading: reading.chain(plan.iter().map(|path| path.reading_item("the plan of the epic"))).collect(),
        notes: resume_point::story_of(run, &next.step).map_or_else(Vec::new, |story| handoff::remarks(files, story)),
    }
}

/// Returns the fields that the context says elsewhere. An interactive run is the usual one.
fn told(run: &Run, next: &Next) -> Vec<&'static str> {
    let mut told = vec!["workflow", "step", "group", "agent", "attempt", "story"];
    if lists_tasks(run, next) {
        told.push("first_open_task");
    }
    if run.mode.is_none_or(|mode| mode == Mode::Interactive) {
        told.push("mode");
    }
    told
}

/// Tells whether the instructions list the open tasks of the story: its developer ticks them.
fn lists_tasks(run: &Run, next: &Next) -> bool {
    let step = run.step(&next.step);
    matches!(next.action, Action::Run | Action::Retry | Action::Return)
        && step.is_some_and(|step| step.recorded && step.kind == StepKind::Work && !epic::is_story_review(step))
}

/// Returns the open tasks of a story, as a list; empty if all are done.
fn open_tasks(story: &Story<'_>) -> String {
    let open: Vec<&StoryTask> = story.tasks.iter().filter(|task| !task.done).collect();
    if open.is_empty() {
        return String::new();
    }
    let lines = open.iter().take(OPEN_TASKS).map(|task| format!("\n- line {}: {}", task.line, task.text));
    let more = match open.len().checked_sub(OPEN_TASKS) {
        None | Some(0) => String::new(),
        Some(more) => format!("\n- and {more} more"),
    };
    format!("Open tasks of the story:{}{more}", lines.collect::<String>())
}

/// Returns what the prompt says but for the commands, which the context has.
fn task(files: &FileSet, run: &Run, next: &Next, has_tasks: bool) -> String {
    let is_written = run.step(&next.step).is_some_and(|step| step.recorded);
    if run.step(&next.step).is_some_and(epic::is_story_review) {
        return format!(
            "The story was developed and is in review: review it, and do not develop it again. If it does not pass, leave a gate file \
             that says FAIL, which sends it back to the developer. piton writes {}; do not edit it yourself.",
            files.state
        );
    }
    if !matches!(next.action, Action::Run | Action::Retry | Action::Return) {
        return String::new();
    }
    match Kind::of(files).ok() {
        _ if is_written => {
            let tick = if has_tasks { " Tick each task in the story when it is done." } else { "" };
            format!("Do it as your own workflow says. piton writes {}; do not edit it yourself.{tick}", files.state)
        }
        Some(Kind::Pipeline) => {
            format!("{}, and update `last_completed_wave` in {} after its wave.", work(files, next), files.state)
        }
        Some(_) | None => work(files, next),
    }
}

fn prompt(files: &FileSet, run: &Run, next: &Next) -> String {
    let on_step = |verb| Suggested::on_step(verb, &next.step, &run.id);
    let step = run.step(&next.step);
    let finish = match step.filter(|step| step.kind == StepKind::Review) {
        Some(review) => {
            let verdicts = review.ends.verdicts_in_words();
            format!("`{}` with {verdicts}", on_step(Verb::Finish).option("verdict", "VERDICT"))
        }
        None => format!("`{}`", on_step(Verb::Finish)),
    };
    let kind = Kind::of(files).ok();
    let is_written = step.is_some_and(|step| step.recorded);
    match next.action {
        Action::Approve if is_written => {
            let approve = Suggested::of(Verb::Decide, &next.step).word("approve").run(&run.id);
            format!("Ask the user and record the answer: `{approve}`.")
        }
        Action::Approve => "Ask the user and record the answer in the run's own tool.".to_owned(),
        Action::Verify if is_written => format!("Check the results and record them: {finish}. Do not run anything."),
        Action::Verify => "Check the results and record them. Do not run anything.".to_owned(),
        Action::Archive | Action::Merge => String::new(),
        Action::Run | Action::Exec | Action::Retry | Action::Return => {
            let work = work(files, next);
            match kind {
                _ if is_written => format!(
                    "{work}. Before: `{}`. Afterwards: {finish}. Both write {}; do not edit it yourself.",
                    on_step(Verb::Begin),
                    files.state
                ),
                Some(Kind::Pipeline) => format!(
                    "{work}, and update `last_completed_wave` in {} after its wave: piton reads it but does not write it.",
                    files.state
                ),
                Some(_) | None => work,
            }
        }
    }
}

/// Returns the work, with what becomes of the state if piton does not write it.
fn work(files: &FileSet, next: &Next) -> String {
    let work = format!("Do {} as its own workflow says", next.step);
    match Kind::of(files).ok() {
        Some(Kind::StoryCycle) => format!("{work}: it updates {}, which piton never writes.", files.state),
        Some(kind) if kind.descriptor().is_written => work,
        Some(_) | None => {
            format!("{work}, and let it write its result: piton reads {} but does not write it.", files.state)
        }
    }
}
