//! What only some systems have: a trait for each, of which every method has the answer of a system without it.

use serde_json::Value;

use super::EditError;
use crate::model::{
    Answer, Candidate, Config, Content, Edit, Evidence, FileSet, Finding, Listing, Notice, Plan, Question,
    Reconstruction, ReferencedFile, RelPath, RollBack, Run, Step, StepId, Suggestions, Timestamp,
};

/// What discovery asks a dialect beyond names and first looks.
pub(crate) trait Discovery: Sync {
    /// Returns more files to read, which files already read refer to, such as a setting that names a folder.
    fn extra_probe_paths(&self, _listing: &Listing) -> Vec<RelPath> {
        Vec::new()
    }

    /// Returns what a file that is not a run says about itself, for a person who names it.
    fn describe(&self, _path: &RelPath, _bytes: &[u8]) -> Option<Finding> {
        None
    }

    /// Tells whether commands have to name a run by its path: no walk finds it by its id.
    fn is_named_by_path(&self, _candidate: &Candidate) -> bool {
        false
    }

    /// Finds leftover files that no run needs.
    fn leftovers(&self, _listing: &Listing) -> Vec<Leftover> {
        Vec::new()
    }
}

/// How a run of the system is started.
pub(crate) trait Start: Sync {
    /// Returns whether `start` can start a run of it.
    fn can_start(&self) -> bool {
        false
    }

    /// Returns what the system keeps out of git; empty if it says nothing about that.
    fn unversioned(&self, _config: &Config) -> Vec<Unversioned> {
        Vec::new()
    }
}

/// What a dialect compares a run with, beyond the planner's generic checks, and suggests from that.
pub(crate) trait Comparison: Sync {
    /// Compares the run with git, beyond the planner's generic checks.
    fn compare_with_git(&self, _files: &FileSet, _run: &Run, _evidence: &Evidence) -> GitComparison {
        GitComparison::default()
    }

    /// Reads the definition of a step of a dialect that leaves it out of the run: of thousands of steps few are compared with what
    /// their result was made from. Null if the run has it, or the workflow fixes it.
    fn definition(&self, _files: &FileSet, _step: &Step) -> Value {
        Value::Null
    }

    /// Suggests edits of files that Piton never writes, or only writes in part. `done` are the steps proved to be done. An archived
    /// run gives up its open steps.
    fn suggest(&self, _files: &FileSet, _run: &Run, _done: &[StepId]) -> Suggestions {
        Suggestions::none("the status of such a run is only in its state, which piton writes itself")
    }

    /// Returns what a person can say about a step that has to be looked at, each with the edit that says it. No answer is suggested that the
    /// files give already.
    fn answers(&self, _files: &FileSet, _run: &Run, _step: &Step) -> Vec<Answer> {
        Vec::new()
    }
}

/// The words of the system, where it has its own.
pub(crate) trait Wording: Sync {
    /// Returns the question of a plan in the system's wording; `None` keeps the planner's.
    fn question(&self, _run: &Run, _plan: &Plan, _findings: &[Finding]) -> Option<Question> {
        None
    }

    /// Returns where a run is in the system's wording, for a list; `None` keeps what is next.
    fn position(&self, _run: &Run, _plan: &Plan) -> Option<String> {
        None
    }

    /// Returns whether the messages in `Dialect::native` sum up the plan, so that it is not summed up again.
    fn sums_up(&self) -> bool {
        false
    }

    /// Returns what a state says about its own version, age and counts. A plan is made from none of it; it is shown by `doctor`.
    fn stamps(&self, _files: &FileSet) -> Vec<String> {
        Vec::new()
    }

    /// Returns a list row for a run in the system's wording; `None` keeps the default row.
    fn list_row(&self, _run: &Run, _plan: &Plan) -> Option<String> {
        None
    }

    /// Returns the system's message for choosing between several runs, given number and row of each.
    fn choice_prompt(&self, _rows: &[(usize, &str)]) -> Vec<String> {
        Vec::new()
    }

    /// Returns the system's message for a failed resume, with reason and recommended action.
    fn failure(&self, _title: &str, _state: &RelPath, _reason: &str, _action: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns the system's notices about the situation.
    fn notices(&self, _files: &FileSet, _run: &Run, _plan: &Plan, _findings: &[Finding]) -> Vec<Notice> {
        Vec::new()
    }

    /// Returns the entry for the system's own log when a run is resumed, and the log file, if any; `None` if the system has no
    /// such log.
    fn log(&self, _run: &Run, _plan: &Plan, _findings: &[Finding], _at: Timestamp) -> Option<LogBlock> {
        None
    }
}

/// A state that is an append-only file with all of its checkpoints.
pub(crate) trait Journal: Sync {
    /// Returns an append-only file with a truncated last write, and the number of its intact bytes. The rest is set aside before
    /// the next append.
    fn truncated_tail(&self, _files: &FileSet) -> Option<(RelPath, u64)> {
        None
    }

    /// Returns the changes, one after the other, by which a journal that lost its last records continues from a newer checkpoint; `None` if it
    /// lost none.
    fn mended(&self, _files: &FileSet) -> Option<[Edit; 2]> {
        None
    }

    /// Returns the change by which a run that goes on as it was recorded takes its definition as the file has it now; `None` if they are the
    /// same, or the file cannot be read.
    fn redefined(&self, _files: &FileSet) -> Option<Edit> {
        None
    }

    /// Returns the checkpoints in a state that records all of them itself, oldest first; `None` if only copies have them.
    fn journal_checkpoints(&self, _files: &FileSet) -> Option<Vec<PastCheckpoint>> {
        None
    }

    /// Computes the edits that restore one of [`Journal::journal_checkpoints`].
    ///
    /// # Errors
    ///
    /// If there is no such checkpoint, or nothing can be written.
    fn restore_checkpoint(&self, files: &FileSet, _checkpoint: &str) -> Result<Vec<Edit>, EditError> {
        Err(EditError::Unsupported(format!("{} has no history of its own", files.name)))
    }
}

/// A state that can be recreated from other evidence.
pub(crate) trait Rebuild: Sync {
    /// Rebuilds an unreadable state from documents and artifacts. [`super::Dialect::edit`] writes exactly this for such a
    /// change. If sources disagree, the least advanced status wins.
    ///
    /// # Errors
    ///
    /// If there is not enough evidence, with what is missing.
    fn reconstruct(&self, _files: &FileSet, _at: Timestamp) -> Result<Reconstruction, EditError> {
        Err(EditError::Unsupported(NO_OTHER_EVIDENCE.to_owned()))
    }
}

/// Where else versions of a state are: beside it, or where it was before.
pub(crate) trait Copies: Sync {
    /// Returns where the system expects the previous version of a state file.
    fn backup_of(&self, _path: &RelPath) -> Option<RelPath> {
        None
    }

    /// Returns whether the first backup is made too. An existing one is always kept current.
    fn makes_backups(&self) -> bool {
        false
    }

    /// Returns whether a state can go away with its folder while the run goes on.
    fn can_be_lost(&self) -> bool {
        false
    }
}

/// How a system takes a run back step by step, and where it records that.
pub(crate) trait Rollback: Sync {
    /// Returns where the system keeps discarded work and the log of its rollbacks; `None` if it has no such place.
    fn rollback_backup(&self, files: &FileSet, run: &Run, back: &RollBack, at: Timestamp) -> Option<RollbackBackup>;

    /// Returns the commands that report a rollback to the system's tracker. They are printed, never run.
    fn tracker(&self, run: &Run, back: &RollBack) -> Vec<String>;
}

/// How a system archives its runs.
pub(crate) trait Archives: Sync {
    /// Returns how the system archives a run; `None` if it has no way of its own. Without a run, its state is unreadable.
    ///
    /// # Errors
    ///
    /// If the name of the run cannot be used for an archive.
    fn archive(&self, _files: &FileSet, _run: Option<&Run>, _at: Timestamp) -> Result<Option<Archival>, EditError> {
        Ok(None)
    }

    /// Returns the folder in which its archives are, for a state in `state_dir`; `None` if they are in Piton's folder, or are runs.
    fn archive_folder(&self, _state_dir: &RelPath) -> Option<RelPath> {
        None
    }

    /// Adds a run archived to `to` to the system's list of archives; `None` if nothing has to be written. After an interrupted
    /// archive, an existing entry is not added again.
    ///
    /// # Errors
    ///
    /// If the list cannot be read or extended.
    fn add_to_register(&self, _register: &Register, _file: &Content, _to: &RelPath) -> Result<Option<Edit>, EditError> {
        Ok(None)
    }

    /// Tells whether a state is among the archives into which its system moves whole folders.
    fn is_among(&self, _state: &RelPath) -> bool {
        false
    }

    /// Returns how the folder of an archived run comes back: what is moved where, and edits to make once it is there; `None` for every other run.
    fn bring_back(&self, _files: &FileSet) -> Option<Archival> {
        None
    }

    /// Takes the run that was archived in `from` out of the system's list of archives; `None` if it is not in it.
    ///
    /// # Errors
    ///
    /// If the list cannot be read or changed.
    fn remove_from_register(
        &self,
        _register: &Register,
        _file: &Content,
        _from: &RelPath,
    ) -> Result<Option<Edit>, EditError> {
        Ok(None)
    }

    /// Returns how the system itself starts a run, in words; `None` where Piton does.
    fn starts_anew(&self) -> Option<&'static str> {
        None
    }
}

/// A checkpoint of a run before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastCheckpoint {
    pub(crate) id: String,
    pub(crate) at: Option<Timestamp>,
    /// The word for the change.
    pub(crate) change: String,
    pub(crate) step: Option<StepId>,
    /// What its record says besides: result, duration. Not empty.
    pub(crate) what: String,
    pub(crate) file: RelPath,
}

/// A file or folder that is kept out of git.
#[derive(Debug)]
pub(crate) struct Unversioned {
    /// The line of the `.gitignore` of the project.
    pub(crate) pattern: String,
    /// What it is for; a folder ends in `/`.
    pub(crate) path: String,
}

impl Unversioned {
    pub(crate) fn folder(folder: &RelPath) -> Self {
        let escaped = |character: char| match character {
            '*' | '?' | '[' | '\\' => format!("\\{character}"),
            plain => plain.to_string(),
        };
        let pattern = folder.as_str().chars().map(escaped).collect::<String>();
        Self { pattern: format!("/{pattern}/"), path: format!("{folder}/") }
    }
}

/// Where a system keeps work that a rollback discards.
#[derive(Debug)]
pub(crate) struct RollbackBackup {
    /// The backup of this rollback.
    pub(crate) folder: RelPath,
    /// The append-only log of all rollbacks of the run.
    pub(crate) log: RelPath,
}

/// An entry in a system's orchestration log.
#[derive(Debug)]
pub(crate) struct LogBlock {
    pub(crate) text: String,
    /// `None` for a run without a saved state.
    pub(crate) file: Option<RelPath>,
}

/// How a run is archived.
#[derive(Debug)]
pub(crate) struct Archival {
    pub(crate) moved: Moved,
    /// The folder it becomes or is moved into; a counter is added if that exists.
    pub(crate) to: RelPath,
    /// Edits made before the move.
    pub(crate) edits: Vec<Edit>,
    /// The list entry made before the move; `None` if the system keeps no list.
    pub(crate) register: Option<Register>,
}

/// A system's list of archived runs, with the entry to add.
#[derive(Debug)]
pub(crate) struct Register {
    pub(crate) file: RelPath,
    /// Whether a missing list is created.
    pub(crate) is_made: bool,
    pub(crate) entry: Value,
}

/// What is moved when a run is archived.
#[derive(Debug)]
pub(crate) enum Moved {
    /// The folder of the run with all of its contents.
    Folder(RelPath),
    /// These files, if they exist. Only the newest archives in the folder are kept.
    Files(Vec<RelPath>),
}

/// A leftover file that no run needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(crate) file: RelPath,
    pub(crate) why: &'static str,
    /// The process that needs it while it is alive.
    pub(crate) holder: Option<u32>,
}

/// The comparison of a run with git.
#[derive(Debug, Default)]
pub(crate) struct GitComparison {
    pub(crate) findings: Vec<Finding>,
    /// One row per compared file, for a preflight.
    pub(crate) compared: Vec<ReferencedFile>,
}

/// Message for runs that cannot be rebuilt because only their state describes them.
pub(super) const NO_OTHER_EVIDENCE: &str = "there is no other source for the state of such a run";

/// A dialect without what the traits above offer.
pub(super) struct NotOffered;

impl Discovery for NotOffered {}
impl Start for NotOffered {}
impl Comparison for NotOffered {}
impl Wording for NotOffered {}
impl Journal for NotOffered {}
impl Rebuild for NotOffered {}
impl Copies for NotOffered {}
impl Archives for NotOffered {}
