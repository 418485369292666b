//! Archives a run: both files are moved to `memory/state/.archive/{id}_{stamp}` (docs/formats/dotagent.md#archive).

use super::{
    layout::{Layout, is_part},
    state,
};
use crate::{
    dialect::{Archival, EditError, Moved},
    model::{FileSet, Timestamp},
};

/// Archive name for a state with an unreadable id.
const UNREADABLE: &str = "unreadable";

/// Returns what is moved and where.
///
/// # Errors
///
/// If the workflow id cannot be part of a path.
pub(super) fn archive(files: &FileSet, at: Timestamp) -> Result<Option<Archival>, EditError> {
    let Some(layout) = Layout::of(&files.state) else { return Ok(None) };
    let source = state::open(files, &layout.phase).ok();
    let id = source.as_ref().and_then(|source| source.node().get("workflow_id")?.as_str()).unwrap_or(UNREADABLE);
    if let Some(problem) = problem_of(id) {
        let message = format!("`workflow_id` `{}` {problem}; correct it before it is archived", id.escape_debug());
        return Err(EditError::Unsupported(message));
    }
    let to = layout.archive_dir().join(&format!("{id}_{}", at.compact()));
    let to = to.map_err(|error| EditError::Unsupported(error.to_string()))?;
    let moved = Moved::Files(vec![layout.execution, layout.phase]);
    Ok(Some(Archival { edits: Vec::new(), to, moved, register: None }))
}

/// Returns why an id cannot name an archive; `None` if it can.
pub(super) fn problem_of(id: &str) -> Option<&'static str> {
    if id.trim().is_empty() {
        Some("is empty")
    } else if !is_part(id) || id.starts_with('.') {
        Some("cannot be one part of a path")
    } else {
        None
    }
}
