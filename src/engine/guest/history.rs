//! The commits of a run that is only read, asked about files and steps.

use std::collections::BTreeSet;

use crate::model::CommitLog;
use crate::model::FileChange;
use crate::model::GuestEvidence;
use crate::model::GuestProof;
use crate::model::LogReach;
use crate::model::LoggedCommit;
use crate::model::RelPath;

/// The log beside the state of a run. Commits are named by their position, newest first.
#[derive(Debug)]
pub(super) struct History<'a> {
    log: &'a CommitLog,
    /// Whether each commit touches a file outside of the state, as far as that is known.
    works: Vec<bool>,
}

/// When a document came into the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// With this commit.
    Commit(usize),
    /// Before the oldest commit of the log.
    Before,
    /// It is not in the repository.
    Never,
}

impl Since {
    /// Tells whether a commit is not older than the document.
    pub(super) const fn allows(self, commit: usize) -> bool {
        match self {
            Self::Commit(document) => commit <= document,
            Self::Before | Self::Never => true,
        }
    }
}

impl<'a> History<'a> {
    /// Returns the history, unless git was not asked or did not answer.
    pub(super) fn of(evidence: &'a GuestEvidence) -> Option<Self> {
        let log = evidence.log.as_deref()?;
        let is_state = |path: &str| evidence.state_folders.iter().any(|folder| is_below(path, folder));
        let works =
            |commit: &LoggedCommit| !commit.are_files_known || commit.files.iter().any(|file| !is_state(&file.path));
        Some(Self { log, works: log.commits().iter().map(works).collect() })
    }

    pub(super) fn commit(&self, at: usize) -> &'a LoggedCommit {
        &self.log.commits()[at]
    }

    pub(super) const fn reach(&self) -> LogReach {
        self.log.reach
    }

    /// Returns when a document was added.
    pub(super) fn since(&self, document: Option<&RelPath>) -> Since {
        let changes = document.map(|document| self.changes(document)).unwrap_or_default();
        let added = changes.iter().rev().find(|(_, change)| *change == FileChange::Added);
        match (added, self.log.reach) {
            (Some((at, _)), _) => Since::Commit(*at),
            (None, LogReach::Whole) if changes.is_empty() => Since::Never,
            (None, LogReach::Whole | LogReach::CutOff | LogReach::Shallow) => Since::Before,
        }
    }

    /// Returns the commits that did work on a step, newest first: they name it, touch more than the state or a file that it declares, and are
    /// not older than its document, unless they touch a declared file.
    pub(super) fn of_step(&self, proof: &GuestProof, since: Since) -> Vec<usize> {
        let named: BTreeSet<usize> = proof.names.iter().flat_map(|name| self.log.naming(name)).collect();
        let declared = proof.results.iter().map(|file| &file.path).chain(proof.part_files.iter().flatten());
        let declared: BTreeSet<usize> = declared.flat_map(|path| self.changes(path)).map(|(at, _)| *at).collect();
        let counts = |at: &usize| declared.contains(at) || (self.works[*at] && since.allows(*at));
        named.into_iter().filter(counts).collect()
    }

    /// Tells whether a commit that a record names is on the branch, as far as the log shows.
    pub(super) fn knows(&self, sha: &str) -> bool {
        self.log.commits().iter().any(|commit| commit.sha.starts_with(sha))
    }

    /// Returns the commits that touch a file, newest first.
    pub(super) fn changes(&self, path: &RelPath) -> &'a [(usize, FileChange)] {
        self.log.changes(path)
    }

    /// Tells whether a file that exists was added or changed since a document, by one of the step's own commits, or is not committed yet. In
    /// a shallow clone that ends before the document and the file, nothing shows which is older: the file counts, as it does without git.
    pub(super) fn is_new(&self, path: &RelPath, since: Since, own: &[usize]) -> bool {
        let changes = self.changes(path);
        let is_beyond = match self.log.reach {
            LogReach::Whole => true,
            LogReach::Shallow => since == Since::Before,
            LogReach::CutOff => false,
        };
        (changes.is_empty() && is_beyond) || changes.iter().any(|(at, _)| since.allows(*at) || own.contains(at))
    }

    /// Tells whether git has a file, as far as the log shows.
    pub(super) fn has(&self, path: &RelPath) -> bool {
        self.changes(path).first().is_some_and(|(_, change)| *change != FileChange::Deleted)
    }
}

fn is_below(path: &str, folder: &RelPath) -> bool {
    path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
