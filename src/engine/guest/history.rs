//! The commits of a run that is only read, asked about files and steps.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::model::CommitLog;
use crate::model::FileChange;
use crate::model::GuestEvidence;
use crate::model::GuestProof;
use crate::model::LogReach;
use crate::model::LoggedCommit;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::Step;
use crate::model::Timestamp;
use crate::model::TouchedFile;

/// The log beside the state of a run. Commits are named by their position, newest first.
#[derive(Debug)]
pub(super) struct History<'a> {
    log: &'a CommitLog,
    /// Whether each commit touches a file outside of the state, as far as that is known.
    works: Vec<bool>,
    /// The steps that each commit names.
    named: BTreeMap<usize, Vec<usize>>,
}

/// When a document came into the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Since {
    /// With this commit.
    Commit(usize),
    /// Behind the commit at this position: only newer ones are about it.
    Behind(usize),
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
            Self::Behind(older) => commit < older,
            Self::Before | Self::Never => true,
        }
    }
}

impl<'a> History<'a> {
    /// Returns the history, unless git was not asked or did not answer.
    pub(super) fn of(run: &Run, evidence: &'a GuestEvidence) -> Option<Self> {
        let log = evidence.log.as_deref()?;
        let is_state = |path: &str| evidence.state_folders.iter().any(|folder| is_below(path, folder));
        let works =
            |commit: &LoggedCommit| !commit.are_files_known || commit.files.iter().any(|file| !is_state(&file.path));
        let mut named: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (step, proof) in run.steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.guest.as_ref()?))) {
            let commits: BTreeSet<usize> = proof.names.iter().flat_map(|name| log.naming(name)).collect();
            commits.into_iter().for_each(|at| named.entry(at).or_default().push(step));
        }
        Some(Self { log, works: log.commits().iter().map(works).collect(), named })
    }

    /// Tells whether a commit names other steps of the run and neither this one nor one that is a piece of it or has it as a piece.
    pub(super) fn is_foreign(&self, run: &Run, at: usize, commit: usize) -> bool {
        let step = &run.steps[at];
        let is_piece = |step: &Step, of: &Step| {
            let parent = step.guest.as_ref().and_then(|proof| proof.parent.as_ref());
            parent == Some(&of.id) || of.children.contains(&step.id)
        };
        let named = self.named.get(&commit).map(Vec::as_slice).unwrap_or_default();
        let is_kin = |other: &usize| {
            let named = &run.steps[*other];
            *other == at || is_piece(named, step) || is_piece(step, named)
        };
        !named.is_empty() && !named.iter().any(is_kin)
    }

    pub(super) fn commit(&self, at: usize) -> &'a LoggedCommit {
        &self.log.commits()[at]
    }

    pub(super) const fn reach(&self) -> LogReach {
        self.log.reach
    }

    /// Returns when a document was added. One that was moved is as old as it was in its earlier place.
    pub(super) fn since(&self, document: Option<&RelPath>) -> Since {
        let Some(document) = document else { return self.since_added(&[]) };
        let mut since = self.since_added(self.changes(document));
        let mut place = document.clone();
        while let Since::Commit(at) = since
            && let Some(earlier) = self.moved_from(at, &place)
        {
            let found = self.since_added(self.changes(&earlier));
            // What was moved here was there before.
            if matches!(found, Since::Commit(added) if added <= at) {
                break;
            }
            (since, place) = (found, earlier);
        }
        since
    }

    fn since_added(&self, changes: &[(usize, FileChange)]) -> Since {
        let added = changes.iter().rev().find(|(_, change)| *change == FileChange::Added);
        match (added, self.log.reach) {
            (Some((at, _)), _) => Since::Commit(*at),
            (None, LogReach::Whole) if changes.is_empty() => Since::Never,
            (None, LogReach::Whole | LogReach::CutOff | LogReach::Shallow) => Since::Before,
        }
    }

    /// Returns from where a commit moved a file: the only one of its name that it deletes, if it adds no other one.
    fn moved_from(&self, at: usize, path: &RelPath) -> Option<RelPath> {
        let has_name = |file: &&TouchedFile| file.path.rsplit('/').next() == Some(path.name());
        let (mut from, mut others) = (None, 0);
        for file in self.commit(at).files.iter().filter(has_name) {
            match file.change {
                FileChange::Deleted if from.is_none() => from = Some(file),
                FileChange::Added if file.path == path.as_str() => {}
                FileChange::Deleted | FileChange::Added => others += 1,
                FileChange::Modified => {}
            }
        }
        from.filter(|_| others == 0).and_then(|file| RelPath::parse(&file.path).ok())
    }

    /// Returns when a step came up: with its document, or later, where its list says when it was added.
    pub(super) fn since_of(&self, proof: &GuestProof) -> Since {
        let since = self.since(proof.document.as_ref());
        let is_older = |commit: &LoggedCommit, added: Timestamp| {
            commit.at.is_some_and(|at| at.unix_seconds() < added.unix_seconds())
        };
        let older =
            proof.added_at.and_then(|added| self.log.commits().iter().position(|commit| is_older(commit, added)));
        match (older, since) {
            (None, _) => since,
            (Some(older), Since::Commit(document)) if document < older => since,
            (Some(older), _) => Since::Behind(older),
        }
    }

    /// Returns the commits that did work on a step, newest first: they name it, touch more than the state or a file that it declares, and are
    /// neither older than it nor those of another list, unless they touch a declared file.
    pub(super) fn of_step(&self, proof: &GuestProof, since: Since) -> Vec<usize> {
        let named: BTreeSet<usize> = proof.names.iter().flat_map(|name| self.log.naming(name)).collect();
        let declared = proof.results.iter().map(|file| &file.path).chain(&proof.changed);
        let declared = declared.chain(proof.part_files.iter().flatten());
        let declared: BTreeSet<usize> = declared.flat_map(|path| self.changes(path)).map(|(at, _)| *at).collect();
        let mentioned: BTreeSet<usize> =
            proof.mentioned.iter().flat_map(|path| self.changes(path)).map(|(at, _)| *at).collect();
        // The number of a small task is that of others elsewhere: its files tell which one is meant.
        let is_its = |at: &usize| !proof.commits_need_files || proof.mentioned.is_empty() || mentioned.contains(at);
        let since = proof.named_in.as_ref().map_or(since, |named_in| self.since(Some(named_in)));
        let is_in_time = |at: &usize| {
            let ends = proof.named_until.zip(self.commit(*at).at);
            ends.is_none_or(|(until, at)| at.unix_seconds() <= until.unix_seconds())
        };
        let counts = |at: &usize| {
            declared.contains(at) || (self.works[*at] && since.allows(*at) && is_in_time(at) && is_its(at))
        };
        let reverted = self.reverted(&named);
        named.into_iter().filter(|at| counts(at) && !reverted.contains(at)).collect()
    }

    /// Returns the commits that were taken back by a later one among them, and those that took them back.
    fn reverted(&self, commits: &BTreeSet<usize>) -> BTreeSet<usize> {
        let mut reverted = BTreeSet::new();
        let mut kept: Vec<usize> = Vec::new();
        // From the oldest on.
        for at in commits.iter().rev().copied() {
            let subject = self.commit(at).subject.as_str();
            let of = subject.strip_prefix("Revert \"").and_then(|rest| rest.rsplit_once('"')).map(|(of, _)| of);
            let back = of.and_then(|of| kept.iter().rposition(|kept| self.commit(*kept).subject == of));
            match back {
                Some(back) => reverted.extend([at, kept.remove(back)]),
                None => kept.push(at),
            }
        }
        reverted
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
    ///
    /// Commits that name other steps only (`foreign`) show nothing about this one.
    pub(super) fn is_new(&self, path: &RelPath, since: Since, own: &[usize], foreign: &dyn Fn(usize) -> bool) -> bool {
        let changes = self.changes(path);
        let is_beyond = match self.log.reach {
            LogReach::Whole => true,
            LogReach::Shallow => since == Since::Before,
            LogReach::CutOff => false,
        };
        let counts = |at: usize| (since.allows(at) && !foreign(at)) || own.contains(&at);
        (changes.is_empty() && is_beyond) || changes.iter().any(|(at, _)| counts(*at))
    }

    /// Tells whether a file was changed by a commit behind that of a document; `None` if the log does not show it.
    pub(super) fn is_changed(&self, path: &RelPath, since: Since, foreign: &dyn Fn(usize) -> bool) -> Option<bool> {
        let is_later = |at: usize| match since {
            Since::Commit(document) | Since::Behind(document) => at < document,
            Since::Before => true,
            Since::Never => false,
        };
        let is_changed = self.changes(path).iter().any(|(at, _)| is_later(*at) && !foreign(*at));
        (is_changed || since != Since::Before).then_some(is_changed)
    }

    /// Tells whether git has a file, as far as the log shows.
    pub(super) fn has(&self, path: &RelPath) -> bool {
        self.changes(path).first().is_some_and(|(_, change)| *change != FileChange::Deleted)
    }
}

fn is_below(path: &str, folder: &RelPath) -> bool {
    path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
