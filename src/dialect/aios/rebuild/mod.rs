//! Rebuilds unreadable states from stories, gates and plans (docs/formats/aios.md#reconstruction).
//!
//! If sources disagree, the least advanced status wins: redoing work costs time, skipping it loses it.

mod epic;
mod qa_loop;

use super::{
    document_index::DocumentIndex,
    execution, gate, implied,
    kind::{self, FileClass, Kind},
    kinds::epic::id_of,
};
use crate::{
    dialect::{EditError, edit::unsupported},
    model::{FileSet, Listing, ReadSpec, Reconstruction, RelPath, Timestamp},
};

/// Rebuilds a state.
///
/// # Errors
///
/// If the state can be read, or if there is not enough evidence for its kind.
pub(super) fn reconstruct(files: &FileSet, at: Timestamp) -> Result<Reconstruction, EditError> {
    let is_state = |bytes: &[u8]| matches!(kind::classify(&files.state, bytes), FileClass::State(_));
    if files.bytes(&files.state).is_some_and(is_state) {
        return unsupported(format!("{} can be read; correct it by hand", files.state));
    }
    let kind = match Kind::of(files) {
        Ok(kind) => kind,
        Err(finding) => return unsupported(finding.message),
    };
    if kind == Kind::Epic {
        epic::reconstruct(files, at)
    } else if kind == Kind::QaLoop {
        qa_loop::reconstruct(files, at)
    } else {
        unsupported(format!("there is no other source for {}", kind.descriptor().what))
    }
}

/// Returns the evidence for an epic with an unreadable state: its plans, their stories and the gates.
pub(super) fn evidence_for_epic(listing: &Listing, base: &str, state: &RelPath) -> Vec<ReadSpec> {
    let documents = DocumentIndex::of_listing(listing);
    let id = id_of(state);
    let entries = listing.entries.iter().filter(|entry| !entry.is_dir && entry.path.as_str().starts_with(base));
    let plans = entries.filter_map(|entry| {
        let plan = execution::read(entry.content.as_deref().filter(|_| is_plan(&entry.path, &id))?)?;
        Some((&entry.path, plan))
    });
    let mut paths = Vec::new();
    let gates = implied::gates(listing);
    for (path, plan) in plans {
        paths.push(path.clone());
        for story in &plan.stories {
            paths.extend(documents.locate(base, Some(&plan), &story.id).files().iter().cloned());
            paths.extend(gates.get(&story.id.to_lowercase()).into_iter().flatten().copied().cloned());
        }
    }
    paths.into_iter().map(ReadSpec::File).collect()
}

/// Returns the story of a loop and the story's gates.
pub(super) fn evidence_for_loop(listing: &Listing, base: &str, state: &RelPath) -> Vec<ReadSpec> {
    let look = listing.entries.binary_search_by(|entry| entry.path.cmp(state)).ok();
    let look = look.and_then(|at| listing.entries[at].content.as_deref());
    let Some(id) = qa_loop::story_id(state, look) else { return Vec::new() };
    let story = DocumentIndex::of_listing(listing).locate(base, None, &id).file().cloned();
    let gates = implied::gates(listing);
    let gates = gates.get(&id.to_lowercase()).into_iter().flatten().copied().cloned();
    story.into_iter().chain(gates).map(ReadSpec::File).collect()
}

/// Returns whether a file is named like the execution plan of an epic: `EPIC-{ID}-EXECUTION.yaml`.
fn is_plan(path: &RelPath, id: &str) -> bool {
    let name = path.name().to_lowercase();
    let Some(stem) = name.strip_suffix("-execution.yaml").or_else(|| name.strip_suffix("-execution.yml")) else {
        return false;
    };
    let bare = |text: &str| text.trim_start_matches("epic-").to_owned();
    bare(stem) == bare(&id.to_lowercase())
}

#[cfg(test)]
mod tests;
