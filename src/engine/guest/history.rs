//! The commits of a run that is only read, asked about files and steps.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{
    CommitLog, CommitSpan, FileChange, GuestEvidence, GuestProof, LogReach, LoggedCommit, RelPath, Run, Status, Step,
    Timestamp, TouchedFile, name_of,
};

/// The log beside the state of a run. Commits are named by their position, newest first.
#[derive(Debug)]
pub(super) struct History<'a> {
    log: &'a CommitLog,
    /// Whether each commit touches a file outside of the state, as far as that is known.
    works: Vec<bool>,
    /// The steps that each commit names, and those whose record names it as theirs.
    named: BTreeMap<usize, Vec<usize>>,
    /// The steps that declare a file as what they make.
    makers: BTreeMap<&'a RelPath, Vec<usize>>,
    /// When each document of a step came into the repository.
    documents: BTreeMap<&'a RelPath, Since>,
}

/// Tells whether a commit that changes a file in this way is only about other steps.
pub(super) type Foreign<'a> = &'a dyn Fn(usize, FileChange) -> bool;

/// Moves of a document that are followed.
const MOVES: usize = 8;

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
    pub(super) fn of(run: &'a Run, evidence: &'a GuestEvidence) -> Option<Self> {
        let log = evidence.log.as_deref()?;
        let proofs = || run.steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.guest.as_deref()?)));
        let mut documents: BTreeMap<&RelPath, Since> = BTreeMap::new();
        let mut former: BTreeSet<String> = BTreeSet::new();
        for document in proofs().filter_map(|(_, proof)| proof.document.as_ref()) {
            documents.entry(document).or_insert_with(|| {
                let (since, earlier) = added(log, document);
                former.extend(earlier);
                since
            });
        }
        let is_state =
            |path: &str| former.contains(path) || evidence.state_folders.iter().any(|folder| is_below(path, folder));
        let works =
            |commit: &LoggedCommit| !commit.are_files_known || commit.files.iter().any(|file| !is_state(&file.path));
        let mut named: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut makers: BTreeMap<&RelPath, Vec<usize>> = BTreeMap::new();
        for (step, proof) in proofs() {
            let mut commits: BTreeSet<usize> = proof.names.iter().flat_map(|name| log.naming(name)).collect();
            if run.steps[step].status == Status::Completed {
                commits.extend(proof.spans.iter().flat_map(|span| positions(log, span)));
            }
            commits.into_iter().for_each(|at| named.entry(at).or_default().push(step));
            proof.results.iter().for_each(|file| makers.entry(&file.path).or_default().push(step));
        }
        Some(Self { log, works: log.commits().iter().map(works).collect(), named, makers, documents })
    }

    /// Tells whether a commit that touches a file is about other steps of the run: it names them and neither this one nor one that is a piece
    /// of it or has it as a piece; or it names none, and added a file that a finished one makes, of which this one needs no content.
    pub(super) fn is_of_another(
        &self,
        run: &Run,
        at: usize,
        path: &RelPath,
        commit: usize,
        change: FileChange,
    ) -> bool {
        let named = self.named.get(&commit).map(Vec::as_slice).unwrap_or_default();
        if named.is_empty() {
            let makers = self.makers.get(path).map(Vec::as_slice).unwrap_or_default();
            let is_finished = |other: &usize| *other != at && run.steps[*other].status == Status::Completed;
            let results = run.steps[at].guest.as_deref().map(|proof| proof.results.as_slice()).unwrap_or_default();
            let needs_content = results.iter().any(|file| file.path == *path && !file.needs.is_empty());
            return change == FileChange::Added && !needs_content && makers.iter().any(is_finished);
        }
        let step = &run.steps[at];
        let is_piece = |step: &Step, of: &Step| {
            let parent = step.guest.as_ref().and_then(|proof| proof.parent.as_ref());
            parent == Some(&of.id) || of.children.contains(&step.id)
        };
        let is_kin = |other: &usize| {
            let named = &run.steps[*other];
            *other == at || is_piece(named, step) || is_piece(step, named)
        };
        !named.iter().any(is_kin)
    }

    /// Tells whether only commits about others touched a file that a step makes.
    pub(super) fn is_made_by_others(&self, run: &Run, at: usize, path: &RelPath) -> bool {
        let is_result = self.makers.get(path).is_some_and(|makers| makers.contains(&at));
        let changes = self.changes(path);
        is_result
            && !changes.is_empty()
            && changes.iter().all(|(commit, change)| self.is_of_another(run, at, path, *commit, *change))
    }

    pub(super) fn commit(&self, at: usize) -> &'a LoggedCommit {
        &self.log.commits()[at]
    }

    pub(super) const fn reach(&self) -> LogReach {
        self.log.reach
    }

    /// Returns when the document of a step was added, under its first name.
    pub(super) fn since(&self, document: Option<&RelPath>) -> Since {
        let known = document.and_then(|document| self.documents.get(document).copied());
        known.unwrap_or(if self.log.reach == LogReach::Whole { Since::Never } else { Since::Before })
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
    /// Commits that are about other steps only (`foreign`) show nothing about this one.
    pub(super) fn is_new(&self, path: &RelPath, since: Since, own: &[usize], foreign: Foreign<'_>) -> bool {
        let changes = self.changes(path);
        let is_beyond = match self.log.reach {
            LogReach::Whole => true,
            LogReach::Shallow => since == Since::Before,
            LogReach::CutOff => false,
        };
        let counts = |at: usize, change| (since.allows(at) && !foreign(at, change)) || own.contains(&at);
        (changes.is_empty() && is_beyond) || changes.iter().any(|(at, change)| counts(*at, *change))
    }

    /// Tells whether a file was changed by a commit behind that of a document; `None` if the log does not show it.
    pub(super) fn is_changed(&self, path: &RelPath, since: Since, foreign: Foreign<'_>) -> Option<bool> {
        let is_later = |at: usize| match since {
            Since::Commit(document) | Since::Behind(document) => at < document,
            Since::Before => true,
            Since::Never => false,
        };
        let is_changed = self.changes(path).iter().any(|(at, change)| is_later(*at) && !foreign(*at, *change));
        (is_changed || since != Since::Before).then_some(is_changed)
    }

    /// Tells whether git has a file, as far as the log shows.
    pub(super) fn has(&self, path: &RelPath) -> bool {
        self.changes(path).first().is_some_and(|(_, change)| *change != FileChange::Deleted)
    }
}

/// Returns when a document was added, with the paths that it had before. A commit that adds a file and takes one of that name away moved it.
fn added(log: &CommitLog, document: &RelPath) -> (Since, Vec<String>) {
    let mut path = document.clone();
    let mut former = Vec::new();
    // Only commits older than the last move are about the earlier path.
    let mut newest = 0;
    loop {
        let changes = log.changes(&path).iter().filter(|(at, _)| *at >= newest);
        let oldest = changes.clone().filter(|(_, change)| *change == FileChange::Added).map(|(at, _)| *at).next_back();
        let Some(at) = oldest else {
            let is_unknown = former.is_empty() && changes.count() == 0 && log.reach == LogReach::Whole;
            return (if is_unknown { Since::Never } else { Since::Before }, former);
        };
        let Some(earlier) = moved_from(&log.commits()[at], &path).filter(|_| former.len() < MOVES) else {
            return (Since::Commit(at), former);
        };
        newest = at + 1;
        former.push(earlier.as_str().to_owned());
        path = earlier;
    }
}

/// Returns the file that a commit takes away and that has the name of one it adds: of several, the one whose path ends most like that of the
/// other, as with `001-login` and `003-login`.
fn moved_from(commit: &LoggedCommit, path: &RelPath) -> Option<RelPath> {
    let alike = |other: &str| other.bytes().rev().zip(path.as_str().bytes().rev()).take_while(|(a, b)| a == b).count();
    let is_gone = |file: &&TouchedFile| file.change == FileChange::Deleted && name_of(&file.path) == path.name();
    let gone: Vec<(usize, &str)> =
        commit.files.iter().filter(is_gone).map(|file| (alike(&file.path), file.path.as_str())).collect();
    let most = gone.iter().map(|(alike, _)| *alike).max()?;
    let mut best = gone.iter().filter(|(alike, _)| *alike == most);
    let (_, first) = best.next()?;
    RelPath::parse(first).ok().filter(|_| best.next().is_none())
}

/// Returns the commits of a span, as far as the log has them.
fn positions(log: &CommitLog, span: &CommitSpan) -> std::ops::Range<usize> {
    let position = |sha: &String| log.commits().iter().position(|commit| commit.sha.starts_with(sha.as_str()));
    let Some(last) = position(&span.last) else { return 0..0 };
    let end = span.after.as_ref().and_then(position).filter(|after| *after > last);
    last..end.unwrap_or(last + 1)
}

fn is_below(path: &str, folder: &RelPath) -> bool {
    path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}
