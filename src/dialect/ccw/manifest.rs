//! The list of archived sessions, `.workflow/archives/manifest.json` (docs/formats/ccw.md#archiving-a-session): a list of entries,
//! or an object that has one under `sessions`.

use serde_json::{Value, json};

use super::{
    layout::{Layout, WORKFLOW, below},
    session::CcwSession,
};
use crate::{
    dialect::{EditError, Register},
    document::{Editor, Node, Syntax},
    model::{Content, Edit, EditKind, FileSet, ReadProblem, RelPath, Run, Status, Step, StepKind, Timestamp},
};

const FILE: &str = "manifest.json";

/// Returns the archive entry of a session. Tags and lessons stay empty for the user to fill in. Sessions of the first formats
/// have no list: an existing one is extended, a missing one is not created.
pub(super) fn register(files: &FileSet, layout: &Layout, archives: &RelPath, run: &Run, at: Timestamp) -> Register {
    let session = CcwSession::read(files, layout);
    let is_done = |step: &&Step| step.kind != StepKind::Container && step.status == Status::Completed;
    let summaries =
        layout.summaries.iter().flat_map(|dir| files.in_dir(dir)).filter(|(path, _)| is_summary(path)).count();
    let mut entry = json!({
        "session_id": session.id().unwrap_or_else(|| layout.dir.name().to_owned()),
        "description": session.goal().unwrap_or_default(),
        "archived_at": at.to_string(),
        "archive_path": "",
        "metrics": {
            "tasks_completed": run.steps.iter().filter(is_done).count(),
            "summaries_generated": summaries,
        },
        "tags": [],
        "lessons": {"successes": [], "challenges": [], "watch_patterns": []},
    });
    if let Some(started) = session.started_at(files) {
        entry["metrics"]["duration_hours"] = json!(hours(at.seconds_since(started)));
    }
    Register { file: below(archives, FILE), is_made: !layout.is_legacy, entry }
}

/// Returns the list of a folder of archives, with nothing to add.
pub(super) fn empty_register(archives: &RelPath) -> Register {
    Register { file: below(archives, FILE), is_made: false, entry: Value::Null }
}

fn is_summary(path: &RelPath) -> bool {
    path.as_str().ends_with(".md")
}

/// Returns hours with two decimals.
fn hours(seconds: i64) -> f64 {
    let hundredths = i32::try_from(seconds.max(0) / 36).unwrap_or(i32::MAX);
    f64::from(hundredths) / 100.0
}

/// Adds the entry of a session moved to `to`. If the same session and path is listed already, after an interrupted archive or a
/// restored session, its timestamp is updated.
///
/// # Errors
///
/// When the file is not a list that can be extended.
pub(super) fn add_to_register(register: &Register, file: &Content, to: &RelPath) -> Result<Option<Edit>, EditError> {
    let refused = |problem: String| refused(&register.file, problem);
    let mut entry = register.entry.clone();
    entry["archive_path"] = Value::String(archive_path(to));
    let before = match file {
        Content::Bytes(before) => before,
        Content::Problem(ReadProblem::Missing) if !register.is_made => return Ok(None),
        Content::Problem(ReadProblem::Missing) => {
            let text = serde_json::to_string_pretty(&json!([entry])).expect("an entry is plain data");
            let kind = EditKind::Create { after: format!("{text}\n").into_bytes() };
            return Ok(Some(Edit { path: register.file.clone(), kind }));
        }
        Content::Problem(problem) => return Err(refused(format!("cannot be read: {problem}"))),
        Content::NameOnly => return Err(refused("was not read".to_owned())),
    };
    let mut editor = parsed(&register.file, before)?;
    let (list, entries) = entries(&register.file, &editor)?;
    let text = |known: &Node, key: &str| known.get(key).and_then(Node::as_str).map(str::to_owned);
    let is_same = |known: &Node| {
        ["session_id", "archive_path"].iter().all(|key| text(known, key).as_deref() == entry[*key].as_str())
    };
    let done = match entries.items().iter().position(is_same) {
        Some(at) => editor.set(&format!("{list}/{at}/archived_at"), &entry["archived_at"]),
        None => editor.push(list, &entry),
    };
    done.map_err(|problem| refused(problem.to_string()))?;
    let kind = EditKind::Replace { before: before.clone(), after: editor.into_bytes() };
    Ok(Some(Edit { path: register.file.clone(), kind }))
}

/// Takes the entries of the session that was archived in `from` out of the list.
///
/// # Errors
///
/// When the file is not a list that can be changed.
pub(super) fn remove_from_register(
    file: &RelPath,
    content: &Content,
    from: &RelPath,
) -> Result<Option<Edit>, EditError> {
    let Content::Bytes(before) = content else { return Ok(None) };
    let mut editor = parsed(file, before)?;
    let (list, entries) = entries(file, &editor)?;
    let archived = archive_path(from);
    let is_of = |known: &Node| known.get("archive_path").and_then(Node::as_str) == Some(archived.as_str());
    let gone: Vec<usize> = (0..).zip(entries.items()).filter(|(_, known)| is_of(known)).map(|(at, _)| at).collect();
    if gone.is_empty() {
        return Ok(None);
    }
    editor.remove_elements(list, &gone).map_err(|problem| refused(file, problem.to_string()))?;
    let kind = EditKind::Replace { before: before.clone(), after: editor.into_bytes() };
    Ok(Some(Edit { path: file.clone(), kind }))
}

fn archive_path(folder: &RelPath) -> String {
    format!("{WORKFLOW}/archives/{}", folder.name())
}

fn refused(file: &RelPath, problem: String) -> EditError {
    EditError::Register { file: file.as_str().to_owned(), problem }
}

fn parsed(file: &RelPath, bytes: &[u8]) -> Result<Editor, EditError> {
    Editor::parse(bytes, Syntax::Json).map_err(|error| {
        let place = error.place;
        refused(file, format!("does not parse: {} (line {}, column {})", error.message, place.line, place.column))
    })
}

/// Returns the pointer of the list and its entries.
fn entries<'a>(file: &RelPath, editor: &'a Editor) -> Result<(&'static str, &'a Node), EditError> {
    let list = if editor.root().is_list() { "" } else { "/sessions" };
    match editor.get(list).filter(|entries| entries.is_list()) {
        Some(entries) => Ok((list, entries)),
        None => Err(refused(file, "is neither a list of sessions nor an object with one under `sessions`".to_owned())),
    }
}
