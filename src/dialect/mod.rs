//! The formats Piton speaks. Pure: bytes in, edits out. A dialect translates; it never decides.
//!
//! What a system's own rules say (where a rejected review returns to, which steps are gates) leaves here as data on the steps.
//! Adding a dialect means one folder and one line in [`DIALECTS`].

mod aios;
mod ccw;
mod client_settings;
mod dotagent;
mod fields;
mod json;
mod nine_step;
mod salvage;
pub(crate) mod script;
mod yaml;

pub(crate) use client_settings::Setting;
pub(crate) use client_settings::with as with_setting;
pub(crate) use dotagent::custom::BUILT_IN;
pub(crate) use dotagent::custom::check as check_definition;
pub(crate) use dotagent::custom::looks_like_definition;
pub(crate) use json::Document;
pub(crate) use json::news;

#[cfg(any(test, fuzzing))]
pub(crate) use aios::check_story;
#[cfg(any(test, fuzzing))]
pub(crate) use ccw::check_checklist;
#[cfg(any(test, fuzzing))]
pub(crate) use yaml::Document as YamlDocument;
#[cfg(any(test, fuzzing))]
pub(crate) use yaml::Node as YamlNode;
#[cfg(any(test, fuzzing))]
pub(crate) use yaml::parse_state as yaml_state;

use std::collections::BTreeMap;

use camino::Utf8Path;
use serde_json::Value;

use crate::model::Brief;
use crate::model::Candidate;
use crate::model::Change;
use crate::model::Compared;
use crate::model::Config;
use crate::model::Content;
use crate::model::DialectId;
use crate::model::Edit;
use crate::model::EditKind;
use crate::model::Evidence;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::Listing;
use crate::model::Next;
use crate::model::Notice;
use crate::model::Plan;
use crate::model::Question;
use crate::model::Reconstruction;
use crate::model::RelPath;
use crate::model::RollBack;
use crate::model::Run;
use crate::model::StepId;
use crate::model::Suggestions;
use crate::model::Timestamp;
use crate::model::Traces;
use crate::model::Wanted;

/// Says why a text is no YAML; `None` when it is.
pub(crate) fn problem_of_yaml(bytes: &[u8]) -> Option<String> {
    yaml::parse(bytes).err().map(|error| error.message)
}

/// Translates between one system's files and the model.
pub(crate) trait Dialect: Sync {
    fn id(&self) -> DialectId;

    /// Says where its runs are.
    fn state_home(&self) -> StateHome {
        StateHome::Project
    }

    /// Tells whether discovery should take a first look into a file of this path, for [`Dialect::probe`] to classify it by
    /// content. `path` is relative to the root.
    fn marks(&self, path: &str) -> bool;

    /// Names files that deserve a first look because of what the first looks said: a setting names the folder they lie in.
    fn extra_probe_paths(&self, _listing: &Listing) -> Vec<RelPath> {
        Vec::new()
    }

    /// Tells whether runs would be in a folder that could not be looked into. `folder` is relative to the root.
    fn keeps_state_in(&self, folder: &RelPath, config: &Config) -> bool;

    /// Finds what looks like runs of this dialect. Names and a first look are all it has.
    fn probe(&self, listing: &Listing) -> Probed;

    /// Finds the files that were left behind and that no run needs.
    fn leftovers(&self, _listing: &Listing) -> Vec<Leftover> {
        Vec::new()
    }

    /// Reads a run. Never fails on content: what could not be read becomes findings.
    fn load(&self, files: &FileSet) -> Loaded;

    /// Says what the evidence means in the system's own terms, beyond what the planner knows of every run.
    fn compare_with_git(&self, _files: &FileSet, _run: &Run, _evidence: &Evidence) -> GitComparison {
        GitComparison::default()
    }

    /// Computes what a change does to the bytes. The change was admitted by `engine::transition` already.
    ///
    /// # Errors
    ///
    /// When the format cannot express the change, or a file it has to touch cannot be edited safely.
    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError>;

    /// Returns the command that takes a run over which is another program's: read and planned here, never written.
    fn takeover_command(&self, _root: &Utf8Path, _candidate: &Candidate) -> Option<String> {
        None
    }

    /// Returns a file that only grows and whose end was cut off in the middle of a write, with how many bytes of it are sound:
    /// the rest is set aside before anything is added.
    fn truncated_tail(&self, _files: &FileSet) -> Option<(RelPath, u64)> {
        None
    }

    /// Lists the checkpoints of a run whose own state keeps every one of them, oldest first; `None` where only copies do.
    fn journal_checkpoints(&self, _files: &FileSet) -> Option<Vec<PastCheckpoint>> {
        None
    }

    /// Computes what brings one of [`Dialect::journal_checkpoints`] back.
    ///
    /// # Errors
    ///
    /// When there is no such checkpoint, or nothing can be written.
    fn restore_checkpoint(&self, files: &FileSet, _checkpoint: &str) -> Result<Vec<Edit>, EditError> {
        Err(EditError::Unsupported(format!("{} keeps no history of its own", files.name)))
    }

    /// Rebuilds a state that cannot be read from what else there is: documents, artifacts, traces. What [`Dialect::edit`] writes
    /// for such a change is exactly this. Of voices that disagree the lowest counts.
    ///
    /// # Errors
    ///
    /// When nothing tells enough, with what is missing.
    fn reconstruct(&self, _files: &FileSet, _traces: &Traces, _at: Timestamp) -> Result<Reconstruction, EditError> {
        Err(EditError::Unsupported(NO_OTHER_VOICE.to_owned()))
    }

    /// Says where the system keeps what a rollback gives up, and the log of its rollbacks; `None` where it has no place for it.
    fn rollback_backup(
        &self,
        _files: &FileSet,
        _run: &Run,
        _back: &RollBack,
        _at: Timestamp,
    ) -> Option<RollbackBackup> {
        None
    }

    /// Returns the commands by which the system tells its tracker of a rollback. They are printed, never run.
    fn tracker(&self, _run: &Run, _back: &RollBack) -> Vec<String> {
        Vec::new()
    }

    /// Returns the published schema that a state file has to satisfy.
    fn schema_of(&self, path: &RelPath) -> Option<&'static str>;

    /// Tells whether `start` can begin a run of it.
    fn can_start(&self) -> bool {
        false
    }

    /// Returns where the system expects the previous version of a state file.
    fn backup_of(&self, _path: &RelPath) -> Option<RelPath> {
        None
    }

    /// Returns where the state of a run lay before its system moved it; its history of that time stayed there.
    fn previous_location(&self, _candidate: &Candidate, _config: &Config) -> Option<PreviousLocation> {
        None
    }

    /// Returns the patterns of state files that git should not see, when the system keeps its state out of git.
    fn unversioned(&self, _config: &Config) -> Vec<String> {
        Vec::new()
    }

    /// Says how a run is put away in the system's own manner; `None` where it has none. Without a run, its state is unreadable.
    ///
    /// # Errors
    ///
    /// When the run has a name under which nothing can be put away.
    fn archive(&self, _files: &FileSet, _run: Option<&Run>, _at: Timestamp) -> Result<Option<Archival>, EditError> {
        Ok(None)
    }

    /// Enters a run that is put away into `to` in the list that its system keeps of those; `None` where nothing has to be written.
    /// A list that says so already, because an archive was cut off, gets no second entry.
    ///
    /// # Errors
    ///
    /// When the list cannot be read or added to.
    fn add_to_register(&self, _register: &Register, _file: &Content, _to: &RelPath) -> Result<Option<Edit>, EditError> {
        Ok(None)
    }

    /// Returns the question of a plan in the system's own words; `None` leaves the planner's.
    fn question(&self, _run: &Run, _plan: &Plan, _findings: &[Finding]) -> Option<Question> {
        None
    }

    /// Returns the plan in the system's own words. `said` is what [`Dialect::load`] returned beside the run.
    fn native(&self, said: &Value, run: &Run, plan: &Plan, findings: &[Finding]) -> Value;

    /// Says in the system's own words where a run goes on and since when it rests, for a list to choose from; `None` leaves the
    /// list's own words.
    fn list_row(&self, _run: &Run, _plan: &Plan) -> Option<String> {
        None
    }

    /// Returns what the system says when several of its runs could be meant: the number and the row of each.
    fn choice_prompt(&self, _rows: &[(usize, &str)]) -> Vec<String> {
        Vec::new()
    }

    /// Returns what the system says when a resume came to nothing, with why and what to do about it.
    fn failure(&self, _title: &str, _state: &RelPath, _reason: &str, _action: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns what the system's own messages say about the situation.
    fn notices(&self, _run: &Run, _plan: &Plan, _findings: &[Finding]) -> Vec<Notice> {
        Vec::new()
    }

    /// Suggests edits of files that Piton never writes, or of which its own writes keep only the parts that a change is about.
    /// `done` are the steps that were proved to be done.
    fn suggest(&self, _files: &FileSet, _run: &Run, _done: &[StepId]) -> Suggestions {
        Suggestions::none("every file that says where such a run stands is state, which the verbs of piton write")
    }

    /// Returns what the system's own log gets when a run goes on, and the file of that log where it keeps one for such a run;
    /// `None` where it has no words for it.
    fn log(&self, _run: &Run, _plan: &Plan, _findings: &[Finding], _at: Timestamp) -> Option<LogBlock> {
        None
    }

    /// Returns the hand-over to an agent in the system's own words.
    fn brief(&self, files: &FileSet, run: &Run, plan: &Plan, next: &Next) -> Brief;
}

/// Says where the runs of a dialect are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateHome {
    /// In the project that they are about.
    Project,
    /// In the folder for state of this user: what a project ships is none of them.
    Home,
}

/// Is how a run stood before a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PastCheckpoint {
    pub(crate) id: String,
    pub(crate) at: Option<Timestamp>,
    /// The word for the change.
    pub(crate) change: String,
    pub(crate) step: Option<StepId>,
    pub(crate) file: RelPath,
}

/// Is where a system keeps what a rollback gives up.
#[derive(Debug)]
pub(crate) struct RollbackBackup {
    /// Of this rollback.
    pub(crate) folder: RelPath,
    /// Of all rollbacks of the run; it only grows.
    pub(crate) log: RelPath,
    /// What git is to leave out, so that a backup is no uncommitted change.
    pub(crate) unversioned: Option<String>,
}

/// Is one entry of the log that a system keeps of its orchestrations.
#[derive(Debug)]
pub(crate) struct LogBlock {
    pub(crate) text: String,
    /// `None` for a run of which nothing is saved.
    pub(crate) file: Option<RelPath>,
}

/// Is where the state of a run lay once.
#[derive(Debug)]
pub(crate) struct PreviousLocation {
    pub(crate) state: RelPath,
    pub(crate) data_dir: RelPath,
}

/// Says how a run is put away.
#[derive(Debug)]
pub(crate) struct Archival {
    pub(crate) moved: Moved,
    /// The folder it becomes or goes into; a counter is added where that is taken.
    pub(crate) to: RelPath,
    /// What is written before it goes.
    pub(crate) edits: Vec<Edit>,
    /// Where that is entered before it goes; `None` where its system keeps no list.
    pub(crate) register: Option<Register>,
}

/// Is the list that a system keeps of the runs that were put away, and what it is to say about one of them.
#[derive(Debug)]
pub(crate) struct Register {
    pub(crate) file: RelPath,
    /// Where Piton keeps its own data for the list, the lock among them: several runs write it.
    pub(crate) data_dir: RelPath,
    /// Whether a missing one is made.
    pub(crate) is_made: bool,
    pub(crate) entry: Value,
}

/// Says what goes when a run is put away.
#[derive(Debug)]
pub(crate) enum Moved {
    /// The folder of the run, with all that is in it.
    Folder(RelPath),
    /// These files, as far as they are there. Of the archives of one series, named `{series}_{stamp}`, only the newest are kept.
    Files { files: Vec<RelPath>, series: String },
}

/// Is what a probe found: runs, and files that only look like state.
#[derive(Debug, Default)]
pub(crate) struct Probed {
    pub(crate) candidates: Vec<Candidate>,
    /// States of runs that are over, where those are evidence and no runs: meant only when somebody names them.
    pub(crate) ended: Vec<Candidate>,
    pub(crate) findings: Vec<Finding>,
}

/// Is a file that was left behind and that no run needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leftover {
    pub(crate) file: RelPath,
    pub(crate) why: &'static str,
    /// The process that needs it for as long as it lives.
    pub(crate) holder: Option<u32>,
}

/// Is what could be read of a run.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// `None` when nothing can be said about where the run stands.
    pub(crate) run: Option<Run>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) wanted: Wanted,
    /// What the state says in its system's own words and no field of the run holds, for [`Dialect::native`].
    pub(crate) said: Value,
    /// What stands for a state file in the revision, where reading it proved every byte of it by a digest; for all others their content
    /// does. No edit of the dialect replaces one of these files.
    pub(crate) proofs: BTreeMap<RelPath, String>,
}

/// Is what the evidence means to a system.
#[derive(Debug, Default)]
pub(crate) struct GitComparison {
    pub(crate) findings: Vec<Finding>,
    /// One row for every file that was compared, for a preflight.
    pub(crate) compared: Vec<Compared>,
}

/// Says why a change cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// The file does not parse; it is never overwritten without `restore`.
    #[error("{file} does not parse ({problem}); it is left as it is")]
    Unreadable { file: String, problem: String },
    /// The state has no place for it.
    #[error("{0}")]
    Unsupported(String),
    /// The list of what was put away takes no entry.
    #[error("{file} {problem}; it is left as it is, and the run where it is")]
    Register { file: String, problem: String },
    /// A file that the change has to touch is missing.
    #[error("{file} is missing")]
    Missing { file: String },
}

/// Why a run is not rebuilt of which only its state speaks.
const NO_OTHER_VOICE: &str = "nothing but its state says where such a run stands";

/// Returns the edits that put a rebuilt state in the place of what is there.
fn edits_of(files: &FileSet, rebuilt: Reconstruction) -> Vec<Edit> {
    let edit = |(path, after): (RelPath, Vec<u8>)| {
        let kind = match files.files.get(&path).map(|entry| &entry.content) {
            Some(Content::Bytes(before)) => EditKind::Replace { before: before.clone(), after },
            Some(Content::NameOnly | Content::Problem(_)) | None => EditKind::Create { after },
        };
        Edit { path, kind }
    };
    rebuilt.files.into_iter().map(edit).collect()
}

impl std::fmt::Debug for dyn Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.id())
    }
}

/// Lists every dialect, in the order in which discovery asks them.
pub(crate) static DIALECTS: &[&dyn Dialect] =
    &[&nine_step::NineStep, &ccw::Ccw, &dotagent::Dotagent, &aios::Aios, &script::Script];

/// Returns the dialect of that name.
pub(crate) fn by_id(id: DialectId) -> &'static dyn Dialect {
    *DIALECTS.iter().find(|dialect| dialect.id() == id).expect("every id has its line in the table")
}
