//! What a dialect finds about the steps of a run that Piton only reads, and what disk and git say about it.
//!
//! Such a run belongs to another program. Nothing that Piton finds out can be recorded in it, so evidence alone never completes a step
//! of it: evidence decides between running a step, resuming it, and asking a person to look. The dialect gives witnesses, the engine
//! compares them (`engine::guest`).
//!
//! How a dialect gives witnesses, for each step:
//!
//! - The *claim* is `Step::status`: the field, box or line that the system itself goes by. `Completed`, `Pending` and `InProgress` are
//!   compared with the rest. `WaitingApproval` is put to a person, `Skipped` satisfies what depends on it, `Cancelled` ends the step
//!   without satisfying it, and `Blocked` with `Step::hold` waits. A word outside the vocabulary is a finding `status-unknown` on the
//!   step, which is then looked at.
//! - `Step::recorded` is false, `Run::records` is `Records::NONE`, `Step::plan_order` the order of the file.
//! - [`GuestProof::results`] are the files that the step declares as its result; [`GuestProof::mentioned`] those that its text names.
//! - [`GuestProof::names`] are the spellings by which subjects of commits name the step, and [`GuestProof::document`] is the file that
//!   defines it: older commits and files say nothing about it.
//! - [`GuestProof::words`] are further parts of the state that say whether it is done, [`GuestProof::doubts`] contradictions that the
//!   rules of the system define and that only a person resolves.
//!
//! And once for the run: `EvidenceRequest::guest`, from [`GuestRequest::of`].

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    FindingCode, RelPath, Step, StepId, Timestamp,
    commit_names::{CommitName, NameIndex},
};

/// The witnesses of a step besides its claim.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuestProof {
    /// The file that defines the step. Work on the step is not older than the commit that added it.
    pub(crate) document: Option<RelPath>,
    /// The file that names the step first, where that is another one: commits that name the step are not older than that.
    pub(crate) named_in: Option<RelPath>,
    /// When the step came into its list, where that says so: nothing older is about it, unless a commit touches a file that it declares.
    pub(crate) added_at: Option<Timestamp>,
    /// Since when its system works on another list, which accounts for the commits behind that: its step of this id was begun.
    pub(crate) named_until: Option<Timestamp>,
    /// How subjects of commits name the step.
    pub(crate) names: Vec<CommitName>,
    /// The files that the step declares as its result.
    pub(crate) results: Vec<DeclaredFile>,
    /// The files that the step declares to change. They existed before: only a commit behind that of its document shows work on them.
    pub(crate) changed: Vec<RelPath>,
    /// The files that its text mentions. One that is gone is counted, nothing more.
    pub(crate) mentioned: Vec<RelPath>,
    /// The files of each part, in the order of `Step::detail.parts`; empty if parts name no files.
    pub(crate) part_files: Vec<Vec<RelPath>>,
    /// The files that its text names as what it makes or changes, declared or not. Over all steps of a list they show whether its boxes
    /// were kept (`engine::guest`).
    pub(crate) built: Vec<RelPath>,
    /// What the record of the finished step says came of it, in one sentence. Untrusted text.
    pub(crate) said: Option<String>,
    /// Commits that the record of the finished step names.
    pub(crate) commits: Vec<String>,
    /// Commits that the record of the finished step calls its work. What only they changed is no trace of another step.
    pub(crate) spans: Vec<CommitSpan>,
    /// Whether commits that changed all of `built` say that the step was done, also without finished steps behind it.
    pub(crate) changes_prove: bool,
    /// Other places in the state that say whether it is done.
    pub(crate) words: Vec<GuestWord>,
    /// Contradictions that only a person resolves.
    pub(crate) doubts: Vec<Doubt>,
    /// The step that this one is a piece of. While that one has to be looked at, its open pieces are left alone.
    pub(crate) parent: Option<StepId>,
    /// The step has no work of its own: with all `Step::children` done, only its claim is left to be set.
    pub(crate) is_sum: bool,
    /// What a finished step that depends on this open one says about it.
    pub(crate) followers: Followers,
    /// Whether a commit that names the open step means that a person has to look, because the step is too small to be half done.
    pub(crate) commits_prove: bool,
    /// Whether such a commit has to touch a file of `mentioned`, if there are any: ids repeat in other lists.
    pub(crate) commits_need_files: bool,
    /// How a person records that the step is done, as a sentence without its end: "`tool set-status --id=7` records it".
    pub(crate) record: String,
    /// How much of what is ready is next at once.
    pub(crate) pace: Pace,
    /// What else the reason of a next step has to say, such as a gate inside of the step. Untrusted text.
    pub(crate) notes: Vec<String>,
}

impl GuestProof {
    /// Returns all files that the step names.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &RelPath> {
        let results = self.results.iter().map(|file| &file.path);
        let named = self.changed.iter().chain(&self.mentioned).chain(&self.built);
        results.chain(named).chain(self.part_files.iter().flatten())
    }

    /// Puts files to where they are.
    pub(crate) fn place(&mut self, places: &BTreeMap<RelPath, RelPath>) {
        let results = self.results.iter_mut().map(|file| &mut file.path);
        let named = self.changed.iter_mut().chain(&mut self.mentioned).chain(&mut self.built);
        for path in results.chain(named).chain(self.part_files.iter_mut().flatten()) {
            if let Some(place) = places.get(path) {
                path.clone_from(place);
            }
        }
    }
}

/// Neighbours in the history: the commits behind one up to another, or only the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CommitSpan {
    pub(crate) after: Option<String>,
    pub(crate) last: String,
}

/// How much ready work is next at once, unless the caller asks for what can be done in parallel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Pace {
    /// All of it: only dependencies order it.
    #[default]
    All,
    /// That of the first group: the file is in the order of the work.
    Group,
    /// One step.
    Step,
}

/// What finished dependents say about an open step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Followers {
    /// Nothing: the order of the system is only a suggestion.
    #[default]
    Nothing,
    /// That it was done, if commits or files say so too.
    Support,
    /// That a person has to look.
    Doubt,
}

/// A file that a step declares, and what has to be in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DeclaredFile {
    pub(crate) path: RelPath,
    pub(crate) needs: Vec<Need>,
}

impl DeclaredFile {
    /// Returns a declaration that only says that the file exists.
    pub(crate) const fn plain(path: RelPath) -> Self {
        Self { path, needs: Vec::new() }
    }
}

/// Something that a declared file has to contain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Need {
    /// This text, or a match of this regular expression.
    Text(String),
    /// At least so many lines.
    Lines(u64),
    /// This name.
    Name(String),
}

/// A place in the state, other than the claim, that says whether a step is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GuestWord {
    /// Its name in a sentence: `ROADMAP`, `its story file`.
    pub(crate) source: String,
    pub(crate) done: bool,
    pub(crate) weight: Weight,
}

/// How much a word counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    /// It contradicts a claim in either direction.
    Record,
    /// It contradicts a claim that the step is done where no commit names the step.
    Unproved,
    /// It contradicts only a claim that the step is open. Where it lags behind a finished step, that is named.
    Hint,
}

/// A contradiction about a step that only a person resolves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Doubt {
    /// `None` if nothing contradicts anything: the step only has to be looked at.
    pub(crate) code: Option<FindingCode>,
    /// What all steps with this contradiction have in common, as a phrase before their ids: "done, but their subtasks are open".
    pub(crate) kind: String,
    /// The reason for this step. Untrusted text.
    pub(crate) reason: String,
}

impl Doubt {
    /// Returns a contradiction of the status of the step.
    pub(crate) fn conflict(kind: &str, reason: impl Into<String>) -> Self {
        Self::of(FindingCode::StatusConflict, kind, reason)
    }

    /// Returns a contradiction with the code of its finding.
    pub(crate) fn of(code: FindingCode, kind: &str, reason: impl Into<String>) -> Self {
        Self { code: Some(code), kind: kind.to_owned(), reason: reason.into() }
    }

    /// Returns the reason to look at a step that nothing contradicts.
    pub(crate) fn look(reason: impl Into<String>) -> Self {
        Self { code: None, kind: String::new(), reason: reason.into() }
    }
}

/// What has to be looked at for a run that Piton only reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuestRequest {
    pub(crate) files: BTreeSet<DeclaredFile>,
    /// Folders of the state. A commit that touches nothing else repeats the claim.
    pub(crate) state_folders: Vec<RelPath>,
    /// Folders with the state of others of its system, which is no work either.
    pub(crate) shared_folders: Vec<RelPath>,
    /// The package of the project that the run is in. Its files are named relative to that, or to the project.
    pub(crate) package: Option<RelPath>,
    /// Whether a step of the run can be named by commits or has files whose age matters.
    pub(crate) wants_log: bool,
}

impl GuestRequest {
    /// Returns what the steps of a run need.
    pub(crate) fn of(steps: &[Step], state_folders: Vec<RelPath>) -> Self {
        let proofs = || steps.iter().filter_map(|step| step.guest.as_deref());
        let files = proofs().flat_map(|proof| {
            let mentioned = proof.mentioned.iter().cloned().map(DeclaredFile::plain);
            let built = proof.built.iter().chain(&proof.changed).cloned().map(DeclaredFile::plain);
            proof.results.iter().cloned().chain(mentioned).chain(built)
        });
        let wants_log = proofs().any(|proof| {
            !(proof.names.is_empty() && proof.results.is_empty() && proof.changed.is_empty() && proof.built.is_empty())
        });
        Self { files: files.collect(), state_folders, wants_log, ..Self::default() }
    }

    /// Returns the request for the same run, whose steps name their files at other places.
    pub(crate) fn placed(self, steps: &[Step]) -> Self {
        let Self { state_folders, shared_folders, package, .. } = self;
        Self { shared_folders, package, ..Self::of(steps, state_folders) }
    }
}

/// What disk and git say about a run that Piton only reads.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuestEvidence {
    /// The state of each declared file.
    pub(crate) files: BTreeMap<DeclaredFile, DeclaredState>,
    /// `None` if git was not asked or did not answer.
    pub(crate) log: Option<Arc<CommitLog>>,
    pub(crate) state_folders: Vec<RelPath>,
    /// Whether the run asked for a look at all.
    pub(crate) was_asked: bool,
}

/// What is at the path of a declared file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeclaredState {
    Missing,
    Present {
        /// Whether it is a file without any text.
        is_empty: bool,
        /// What it has to contain and does not, in words.
        lacks: Vec<String>,
    },
    /// It exists, but was not looked into.
    Unread(String),
}

/// The newest commits of the branch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommitLog {
    commits: Vec<LoggedCommit>,
    pub(crate) reach: LogReach,
    /// Of all subjects and files, once for the hundreds of runs that a repository may have.
    names: NameIndex,
    touched: BTreeMap<String, Vec<(usize, FileChange)>>,
}

impl CommitLog {
    /// Returns the log of these commits, newest first.
    pub(crate) fn new(commits: Vec<LoggedCommit>, reach: LogReach) -> Self {
        let names = NameIndex::of(commits.iter().map(|commit| commit.subject.as_str()));
        let mut touched: BTreeMap<String, Vec<(usize, FileChange)>> = BTreeMap::new();
        for (at, commit) in commits.iter().enumerate() {
            for file in &commit.files {
                touched.entry(file.path.clone()).or_default().push((at, file.change));
            }
        }
        Self { commits, reach, names, touched }
    }

    /// Returns the commits that touch a file, newest first, by their positions.
    pub(crate) fn changes(&self, path: &RelPath) -> &[(usize, FileChange)] {
        self.touched.get(path.as_str()).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the commits, newest first.
    pub(crate) fn commits(&self) -> &[LoggedCommit] {
        &self.commits
    }

    /// Returns the positions of the commits whose subject has this name.
    pub(crate) fn naming(&self, name: &CommitName) -> impl Iterator<Item = usize> {
        self.names.commits(name)
    }

    /// Returns the time of the newest commit that touches one of these files or folders, or has one of these names.
    pub(crate) fn last_change<'a>(
        &self,
        paths: &[RelPath],
        names: impl Iterator<Item = &'a CommitName>,
    ) -> Option<Timestamp> {
        let is_one = |file: &TouchedFile| {
            paths.iter().any(|path| {
                file.path.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let changed = self.commits.iter().position(|commit| commit.files.iter().any(is_one));
        let named = names.filter_map(|name| self.naming(name).min());
        self.commits.get(named.chain(changed).min()?)?.at
    }
}

/// How far a log goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum LogReach {
    /// To the first commit.
    Whole,
    /// To the limit on commits, bytes or time.
    #[default]
    CutOff,
    /// To the end of a shallow clone.
    Shallow,
}

/// A commit with the files it touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoggedCommit {
    pub(crate) sha: String,
    pub(crate) at: Option<Timestamp>,
    /// Untrusted text.
    pub(crate) subject: String,
    pub(crate) files: Vec<TouchedFile>,
    /// False where a shallow clone begins: what the commit touched is not there to compare.
    pub(crate) are_files_known: bool,
}

/// A file that a commit touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TouchedFile {
    pub(crate) change: FileChange,
    /// Relative to the root of the run. Only compared, never opened.
    pub(crate) path: String,
}

/// What a commit does to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileChange {
    Added,
    Modified,
    Deleted,
}

impl LoggedCommit {
    /// Returns the abbreviated hash.
    pub(crate) fn short(&self) -> &str {
        self.sha.get(..7).unwrap_or(&self.sha)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_change_is_that_of_the_state_or_of_work_that_names_a_step() {
        let commit = |second: i64, subject: &str, path: &str| LoggedCommit {
            sha: second.to_string(),
            at: Timestamp::from_unix(second, 0),
            subject: subject.to_owned(),
            files: vec![TouchedFile { change: FileChange::Modified, path: path.to_owned() }],
            are_files_known: true,
        };
        let log = CommitLog::new(
            vec![
                commit(9, "docs", "README.md"),
                commit(5, "feat(01-02): x", "src/a"),
                commit(3, "plan", "plans/a/b.md"),
            ],
            LogReach::Whole,
        );
        let folder = [RelPath::parse("plans").unwrap()];
        let seconds = |paths: &[RelPath], name: &str| {
            let at = log.last_change(paths, [CommitName::Word(name.to_owned())].iter());
            at.map(Timestamp::unix_seconds)
        };
        assert_eq!(seconds(&folder, "01-02"), Some(5));
        assert_eq!(seconds(&folder, "01-03"), Some(3));
        assert_eq!(seconds(&[], "01-03"), None);
        assert_eq!(seconds(&[RelPath::parse("plan").unwrap()], "01-03"), None);
    }
}
