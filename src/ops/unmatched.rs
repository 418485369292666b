//! Journals of a project that belong to no run that was found by its name: the state cannot be read, or is gone.

use std::{collections::BTreeSet, sync::Arc};

use camino::Utf8PathBuf;

use super::{journal, run_location::RunLocation};
use crate::{
    dialect::by_id,
    engine,
    model::{
        Candidate, DialectId, Entry, Finding, FindingCode, Listing, LostState, RelPath, Suggested, Verb,
        journal_folder, run_of_journal,
    },
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

    /// Returns the run whose state is there and no longer says what it is, such as one that was cut off and still parses: as it was recorded last.
    pub(super) fn damaged(&self, listing: &Listing, runs: &[RunLocation]) -> Option<RunLocation> {
        let recorded = engine::versions::last(&self.entries)?;
        if !listing.entries.iter().any(|entry| recorded.contains_key(&entry.path)) {
            return None;
        }
        let mut listing = listing.clone();
        for entry in &mut listing.entries {
            entry.content = recorded.get(&entry.path).map(|bytes| bytes.as_slice().into()).or(entry.content.take());
        }
        let mut found = by_id(self.dialect).probe(&listing).candidates.into_iter();
        let is_taken =
            |state: &RelPath| runs.iter().any(|run| run.root == listing.root && run.candidate.state == *state);
        let is_it = |found: &Candidate| {
            found.name == self.run && recorded.contains_key(&found.state) && !is_taken(&found.state)
        };
        let mut candidate = found.find(is_it)?;
        let message =
            format!("{} no longer says what it is; the journal has the state of {}", candidate.state, self.run);
        let finding = Finding::new(FindingCode::StateUnreadable, message).at(&candidate.state);
        candidate.findings.push(finding.fix(Suggested::of(Verb::Restore, &self.run)));
        Some(RunLocation { root: listing.root, candidate })
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
