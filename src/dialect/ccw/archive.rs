//! Archives a session and brings it back, as the system does since era F: its folder moves to `.workflow/archives`, and the list of archives gets an
//! entry (docs/formats/ccw.md#archiving-a-session). Unlike CCW, Piton does not mark tasks as completed: an archive does not prove
//! completion (docs/formats/ccw.md#what-counts-as-evidence).

use serde_json::Value;

use super::{
    layout::{ACTIVE, ARCHIVES, Layout, MARKER, below},
    manifest,
};
use crate::{
    dialect::{Archival, Moved, edit::FileEditor},
    document::Syntax,
    model::{Edit, EditKind, FileSet, RelPath, Run, Timestamp},
};

/// Returns the destination of the session and the edit of its file. An archived session is not moved.
pub(super) fn archive(files: &FileSet, run: &Run, at: Timestamp) -> Option<Archival> {
    let layout = Layout::of(&files.state);
    let from = layout.dir.clone();
    if layout.is_archived() {
        return Some(Archival { to: from.clone(), moved: Moved::Folder(from), edits: Vec::new(), register: None });
    }
    let above = from.parent()?;
    let workflow = if layout.is_legacy { above } else { above.parent()? };
    let archives = below(&workflow, ARCHIVES);
    let to = archives.join(from.name()).ok()?;
    let register = Some(manifest::register(files, &layout, &archives, run, at));
    let marker = below(&workflow, &format!("{MARKER}{}", from.name()));
    let unmark =
        files.bytes(&marker).map(|before| Edit { path: marker, kind: EditKind::Remove { before: before.into() } });
    let edits = stamp(files, &layout.session, run, at).into_iter().chain(unmark).collect();
    Some(Archival { moved: Moved::Folder(from), to, edits, register })
}

/// Returns where an archived session was, the active folder, and the edit that takes its stamp away once it is there.
pub(super) fn bring_back(files: &FileSet) -> Option<Archival> {
    let layout = Layout::of(&files.state);
    let workflow = layout.dir.parent()?.parent().filter(|_| layout.is_archived())?;
    let to = below(&workflow, ACTIVE).join(layout.dir.name()).ok()?;
    let mut file = FileEditor::open(files, &layout.session, Syntax::Json).ok()?;
    let is_stamped = file.get("/archived_at").is_some() && file.remove("/archived_at").is_ok();
    let edits = is_stamped.then(|| file.into_edit()).into_iter().collect();
    let register = Some(manifest::empty_register(&below(&workflow, ARCHIVES)));
    Some(Archival { moved: Moved::Folder(layout.dir), to, edits, register })
}

fn stamp(files: &FileSet, session: &RelPath, run: &Run, at: Timestamp) -> Option<Edit> {
    let mut file = FileEditor::open(files, session, Syntax::Json).ok()?;
    let done = run.steps.iter().all(|step| step.status.is_over());
    if done {
        file.set("/status", &Value::String("completed".to_owned())).ok()?;
    }
    file.set("/archived_at", &Value::String(at.to_string())).ok()?;
    Some(file.into_edit())
}
