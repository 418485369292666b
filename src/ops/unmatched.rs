//! Journals of a project that belong to no run that was found by its name: the state cannot be read, or is gone.

use std::{collections::BTreeSet, sync::Arc};

use camino::Utf8PathBuf;

use super::{journal, run_location::RunLocation};
use crate::{
    engine,
    model::{DialectId, Entry, LostState, RelPath, journal_folder, run_of_journal},
    store::{self, Project},
};

/// A journal of a project that belongs to no run that was found by its name.
pub(super) struct Unmatched {
    pub(super) dialect: DialectId,
    pub(super) run: String,
    entries: Arc<[Entry]>,
}

/// Returns the journals of a project that belong to none of these runs by name, and whose runs are not archived: a state that cannot be read
/// does not tell its run, and the state of a run may be gone.
pub(super) fn all(project: &Project, runs: &[RunLocation]) -> Vec<Unmatched> {
    let of_run = |run: &RunLocation| journal_folder(run.candidate.dialect, &run.candidate.name);
    let known: BTreeSet<String> = runs.iter().filter_map(of_run).collect();
    let journals = store::journals::all(project, |folder| !known.contains(folder));
    let unmatched = journals.filter(|journal| !journal::may_be_archived(journal)).filter_map(|journal| {
        let (dialect, run) = run_of_journal(journal.path.parent()?.name())?;
        let entries = journal::read(&project.trusted, &journal).entries;
        Some(Unmatched { dialect, run, entries })
    });
    unmatched.collect()
}

impl Unmatched {
    /// Tells whether it recorded a state with this path last.
    pub(super) fn has(&self, state: &RelPath) -> bool {
        engine::versions::last_digests(&self.entries).contains_key(state)
    }

    /// Returns the states that it recorded last, if none of them is in a worktree of the project.
    pub(super) fn lost(&self, project: &Project) -> Vec<LostState> {
        let trees: Vec<&Utf8PathBuf> = std::iter::once(&project.root).chain(project.worktrees()).collect();
        let is_there = |path: &RelPath| trees.iter().any(|tree| store::unread::exists(&path.under(tree)));
        if engine::versions::last_digests(&self.entries).into_keys().any(is_there) {
            return Vec::new();
        }
        let last = engine::versions::last(&self.entries).into_iter().flatten();
        last.map(|(path, content)| LostState { path, content: content.into() }).collect()
    }
}
