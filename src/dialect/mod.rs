//! The state formats that Piton supports. Pure: bytes in, edits out. A dialect translates; it never decides.
//!
//! A system's own rules, such as which steps are gates and where a rejected review returns to, become data on the steps. A new
//! dialect needs one folder and one line in [`DIALECTS`].

mod aios;
mod bmad;
mod ccw;
mod checklist;
pub(crate) mod claude;
mod client_settings;
mod dotagent;
mod edit;
mod gsd;
mod guest;
mod markdown;
mod nine_step;
mod optional;
pub(crate) mod piton;
mod story;
mod taskmaster;
#[cfg(test)]
mod toy_testing;
mod writer;

pub(crate) use client_settings::{
    ClientRights, PROJECT_SETTINGS, Setting, rights as client_rights, with as with_setting,
};
pub(crate) use edit::EditError;
pub(crate) use guest::Guest;
pub(crate) use optional::{
    Archival, Archives, Comparison, Copies, Discovery, GitComparison, Journal, Leftover, LogBlock, Moved,
    PastCheckpoint, Rebuild, Register, Rollback, RollbackBackup, Start, Unversioned, Wording,
};
#[cfg(test)]
pub(crate) use toy_testing::Toy;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use ccw::check_checklist;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use story::check as check_story;

use optional::NotOffered;

use camino::Utf8Path;
use serde_json::Value;

use crate::{
    document::Node,
    engine::share::LastRecords,
    model::{
        Brief, Candidate, Change, Config, DialectId, Edit, Entry, EvidenceRequest, FileSet, Finding, Listing, Next,
        Plan, RelPath, Run, Timestamp,
    },
};

/// Translates between one system's files and the model.
///
/// The first seven methods are what every dialect does. What only some systems have is a trait of its own in `optional`; a dialect that
/// implements one returns itself from the method of that name.
pub(crate) trait Dialect: Sync {
    fn id(&self) -> DialectId;

    /// Returns whether discovery should read a file at this path, so that [`Dialect::probe`] can classify it by content. `path`
    /// is relative to the root.
    fn marks(&self, path: &str) -> bool;

    /// Finds candidates for runs of this dialect, from names and the files read by discovery.
    fn probe(&self, listing: &Listing) -> Probed;

    /// Reads a run. Never fails on content: what could not be read becomes findings.
    fn load(&self, files: &FileSet) -> Loaded;

    /// Computes the edits of a change that `engine::transition` has admitted.
    ///
    /// # Errors
    ///
    /// If the format cannot express the change, or a file cannot be edited safely.
    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError>;

    /// Returns the plan in the system's own format. `native` is [`Loaded::native`].
    fn native(&self, native: &Value, run: &Run, plan: &Plan, findings: &[Finding]) -> Value;

    /// Returns the hand-over to an agent in the system's wording.
    fn brief(&self, files: &FileSet, run: &Run, plan: &Plan, next: &Next) -> Brief;

    /// Returns where its runs are.
    fn state_home(&self) -> StateHome {
        StateHome::Project
    }

    /// Returns whether an unreadable folder may contain runs. `folder` is relative to the root.
    fn keeps_state_in(&self, _folder: &RelPath, _config: &Config) -> bool {
        false
    }

    /// Returns the published schema of a state file.
    fn schema_of(&self, _path: &RelPath) -> Option<&'static str> {
        None
    }

    /// Returns what continues a run of another program, which Piton reads and plans but never writes; `None` for a run that Piton
    /// writes.
    fn guest(&self, _root: &Utf8Path, _candidate: &Candidate) -> Option<Guest> {
        None
    }

    fn discovery(&self) -> &dyn Discovery {
        &NotOffered
    }

    fn start(&self) -> &dyn Start {
        &NotOffered
    }

    fn comparison(&self) -> &dyn Comparison {
        &NotOffered
    }

    fn wording(&self) -> &dyn Wording {
        &NotOffered
    }

    fn journal(&self) -> &dyn Journal {
        &NotOffered
    }

    fn rebuild(&self) -> &dyn Rebuild {
        &NotOffered
    }

    fn copies(&self) -> &dyn Copies {
        &NotOffered
    }

    /// Returns how the system takes a run back step by step; `None` if only its versions lead back.
    fn rollback(&self) -> Option<&dyn Rollback> {
        None
    }

    fn archives(&self) -> &dyn Archives {
        &NotOffered
    }
}

/// Where the runs of a dialect are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateHome {
    /// In the project that they are about.
    Project,
    /// In the user's state folder; files shipped in a project are never such runs.
    Home,
    /// In the client's folder.
    Client,
}

/// The result of a probe: runs, and findings about files that only look like state.
#[derive(Debug, Default)]
pub(crate) struct Probed {
    pub(crate) candidates: Vec<Candidate>,
    /// States of ended runs that count as evidence, not as runs; used only if named explicitly.
    pub(crate) ended: Vec<Candidate>,
    pub(crate) findings: Vec<Finding>,
}

/// What could be read of a run.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    /// `None` if the status of the run is unknown.
    pub(crate) run: Option<Run>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) wanted: EvidenceRequest,
    /// Whether the runner carries its steps out, and no agent begins one.
    pub(crate) is_unattended: bool,
    /// Data of the state that no field of the run holds, for [`Dialect::native`].
    pub(crate) native: Value,
    /// What was said and seen, where the state is a journal.
    pub(crate) entries: Vec<Entry>,
    /// Which record each step stands at, where the state is a journal.
    pub(crate) standing: LastRecords,
}

impl std::fmt::Debug for dyn Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.id())
    }
}

/// All dialects, in the order in which discovery asks them.
pub(crate) static DIALECTS: &[&dyn Dialect] = &[
    &nine_step::NineStep,
    &ccw::Ccw,
    &dotagent::Dotagent,
    &aios::Aios,
    &checklist::Checklist,
    &bmad::Bmad,
    &piton::Piton,
    &claude::Claude,
    &gsd::Gsd,
    &taskmaster::Taskmaster,
];

/// Returns the dialect of that name.
pub(crate) fn by_id(id: DialectId) -> &'static dyn Dialect {
    *DIALECTS.iter().find(|dialect| dialect.id() == id).expect("every dialect id is in the table")
}

/// Returns when the last recorded interruption happened: the member of that name in the last entry of `interruption_history`.
fn last_interruption(files: &FileSet, state: &Node, moment: &str) -> Option<Timestamp> {
    files.time(state.get("interruption_history")?.items().last()?.get(moment)?.as_str()?)
}
