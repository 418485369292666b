//! Rebuilds unreadable task and session files from checklist and summaries. If the two disagree, the less advanced status wins: a
//! task is completed if its box is ticked and it has a summary.

use serde_json::{Value, json};

use super::{
    layout::Layout,
    session_files::SessionFiles,
    task::TaskLocation,
    todo::{CheckboxMark, Todo},
};
use crate::{
    dialect::EditError,
    document::salvage,
    model::{FileSet, Reconstruction, StepId, Traces},
};

/// Rebuilds the unreadable files of a session.
///
/// # Errors
///
/// When every file can be read.
pub(super) fn reconstruct(files: &FileSet, traces: &Traces) -> Result<Reconstruction, EditError> {
    let session_files = SessionFiles::read(files);
    let mut rebuilt = Reconstruction::default();
    let todo = files.bytes(&session_files.layout.todo).map(Todo::parse);
    for at in 0..session_files.tasks.len() {
        if let TaskLocation::Unreadable { path } = &session_files.tasks[at].location
            && let Some(broken) = files.bytes(path)
        {
            let task = task(&session_files, at, todo.as_ref(), broken, traces, &mut rebuilt);
            rebuilt.files.push((path.clone(), text_of(&task)));
        }
    }
    if session_files.session.is_unreadable
        && let Some(broken) = files.bytes(&session_files.layout.session)
    {
        let session = session(&session_files.layout, broken, &mut rebuilt);
        rebuilt.files.push((session_files.layout.session.clone(), text_of(&session)));
    }
    if rebuilt.files.is_empty() {
        return Err(EditError::Unsupported("every task and session file parses".to_owned()));
    }
    Ok(rebuilt)
}

fn text_of(value: &Value) -> Vec<u8> {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text.into_bytes()
}

fn task(
    session_files: &SessionFiles<'_>,
    at: usize,
    todo: Option<&Todo>,
    broken: &[u8],
    traces: &Traces,
    rebuilt: &mut Reconstruction,
) -> Value {
    let id = session_files.tasks[at].id.as_str();
    let line = session_files.checklist[at]
        .as_ref()
        .and_then(|mention| todo.and_then(|todo| todo.lines.iter().find(|line| line.number == mention.number)));
    let torn = salvage::text(broken, "title");
    let title = match (line.map(|line| line.title(id)).filter(|title| title != id), torn) {
        (Some(title), _) => {
            let number = line.map_or(0, |line| line.number);
            rebuilt.say(format!("{id} title"), &title, vec![format!("{}:{number}", session_files.layout.todo)]);
            title
        }
        (None, Some(title)) => {
            rebuilt.say(format!("{id} title"), &title, vec!["a line of the broken file".to_owned()]);
            title
        }
        (None, None) => {
            rebuilt.not_known(format!("the title of {id}: its id is used"));
            id.to_owned()
        }
    };
    let (status, evidence) = status(session_files, at, traces);
    rebuilt.say(id, status, evidence);
    rebuilt.not_known(format!("the dependencies, agent, context and flow control of {id}: look in IMPL_PLAN.md"));
    json!({ "id": id, "title": title, "status": status })
}

fn status(session_files: &SessionFiles<'_>, at: usize, traces: &Traces) -> (&'static str, Vec<String>) {
    let id: &StepId = &session_files.tasks[at].id;
    let mention = session_files.checklist[at].as_ref();
    let mut evidence = Vec::new();
    if let Some(mention) = mention {
        let box_ = match mention.mark {
            CheckboxMark::Open => "open",
            CheckboxMark::Done => "ticked",
            CheckboxMark::InProgress => "in progress",
            CheckboxMark::Blocked => "blocked",
            CheckboxMark::Cancelled => "cancelled",
        };
        evidence.push(format!("its box is {box_} ({}:{})", session_files.layout.todo, mention.number));
    }
    match session_files.summaries[at].first() {
        Some(summary) => evidence.push(format!("there is a summary ({summary})")),
        None => evidence.push("there is no summary".to_owned()),
    }
    if let Some(trace) = traces.finished.iter().rfind(|trace| trace.step == *id) {
        evidence.push(format!("piton recorded its end at {}", trace.at));
    }
    let is_told = !session_files.summaries[at].is_empty();
    let status = match mention.map(|mention| mention.mark) {
        Some(CheckboxMark::Done) | None if is_told => "completed",
        Some(CheckboxMark::InProgress) => "in_progress",
        Some(CheckboxMark::Blocked) => "blocked",
        Some(CheckboxMark::Cancelled) => "cancelled",
        Some(CheckboxMark::Open | CheckboxMark::Done) | None => "pending",
    };
    (status, evidence)
}

fn session(layout: &Layout, broken: &[u8], rebuilt: &mut Reconstruction) -> Value {
    let id = layout.dir.name();
    rebuilt.say("session_id", id, vec![format!("the name of {}", layout.dir)]);
    let mut session = json!({ "session_id": id, "status": "active" });
    for key in ["project", "created_at"] {
        match salvage::text(broken, key) {
            Some(text) => {
                rebuilt.say(key, &text, vec![format!("a line of the broken {}", layout.session)]);
                session[key] = json!(text);
            }
            None => rebuilt.not_known(format!("`{key}` of the session: it is omitted")),
        }
    }
    rebuilt.not_known("whether the session was paused or aborted: it counts as active");
    session
}
