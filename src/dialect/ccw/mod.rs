//! The session folders of Claude-Code-Workflow (docs/formats/ccw.md).
//!
//! A session is a folder with one JSON file per task, a checklist, summaries and a session file, which often disagree. This
//! module reads all of them; the engine decides which to believe.
//!
//! - [`probe`] finds sessions, [`layout`] has the paths in a session folder.
//! - [`session_files`] reads a folder: [`session`], [`task`] and [`mod@todo`] (the checklist), with the summaries. A task file is
//!   parsed into a [`parsed_task`], with its [`history`]; [`parts`] has its flow-control steps and subtasks.
//! - [`read`] turns a session into a run, [`interruptions`] says what cut it off. [`ids`] and [`rules`] know the spelling of ids and the vocabulary; [`raw`] is lenient
//!   access to JSON.
//! - [`mod@write`] edits a session through a [`draft`]; [`summary`] is the text about a finished task; [`archive`] and [`manifest`] (the list of archives) archive it.
//! - [`plan_document`] compares the plan document with the tasks, [`suggest`] suggests ticks in the checklist.
//! - [`brief`] (with [`approach`], how a task is to be done), [`native`] and [`notices`] write the hand-over, the plan and messages in the system's format.

mod approach;
mod archive;
mod brief;
mod draft;
mod history;
mod ids;
mod interruptions;
mod layout;
mod manifest;
mod native;
mod notices;
mod parsed_task;
mod parts;
mod plan_document;
mod probe;
mod raw;
mod read;
mod rules;
mod session;
mod session_files;
mod suggest;
mod summary;
mod task;
mod todo;
mod write;

#[cfg(test)]
mod testing;

#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use todo::check as check_checklist;

use crate::{
    dialect::{Archival, Archives, Comparison, Dialect, EditError, Loaded, Probed, Register, Wording},
    model::{
        Brief, Change, Config, Content, DialectId, Edit, FileSet, Finding, Listing, Next, Notice, Plan, RelPath, Run,
        Step, StepId, Suggestions, Timestamp,
    },
};

/// The dialect of Claude-Code-Workflow session folders.
pub(crate) struct Ccw;

impl Dialect for Ccw {
    fn id(&self) -> DialectId {
        DialectId::Ccw
    }

    fn marks(&self, path: &str) -> bool {
        probe::is_session_file(path)
    }

    fn keeps_state_in(&self, folder: &RelPath, _config: &Config) -> bool {
        probe::keeps_state_in(folder)
    }

    fn probe(&self, listing: &Listing) -> Probed {
        probe::probe(listing)
    }

    fn load(&self, files: &FileSet) -> Loaded {
        read::load(files)
    }

    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        write::edit(files, change)
    }

    fn schema_of(&self, path: &RelPath) -> Option<&'static str> {
        let in_tasks = path.parent().is_some_and(|parent| parent.name() == layout::TASK_DIR);
        match path.name() {
            layout::SESSION_FILE => Some("ccw-session"),
            name if in_tasks && name.ends_with(".json") => Some("ccw-task"),
            _ => None,
        }
    }

    fn native(&self, _native: &serde_json::Value, run: &Run, plan: &Plan, _findings: &[Finding]) -> serde_json::Value {
        native::native(run, plan)
    }

    fn brief(&self, files: &FileSet, run: &Run, plan: &Plan, next: &Next) -> Brief {
        brief::brief(files, run, plan, next)
    }

    fn comparison(&self) -> &dyn Comparison {
        self
    }

    fn archives(&self) -> &dyn Archives {
        self
    }

    fn wording(&self) -> &dyn Wording {
        self
    }
}

impl Comparison for Ccw {
    fn definition(&self, files: &FileSet, step: &Step) -> serde_json::Value {
        task::definition_of(files, step)
    }

    fn suggest(&self, files: &FileSet, _run: &Run, done: &[StepId]) -> Suggestions {
        suggest::suggest(files, done)
    }
}

impl Wording for Ccw {
    fn notices(&self, files: &FileSet, run: &Run, plan: &Plan, findings: &[Finding]) -> Vec<Notice> {
        notices::notices(files, run, plan, findings)
    }
}

impl Archives for Ccw {
    fn archive(&self, files: &FileSet, run: Option<&Run>, at: Timestamp) -> Result<Option<Archival>, EditError> {
        Ok(run.and_then(|run| archive::archive(files, run, at)))
    }

    fn add_to_register(&self, register: &Register, file: &Content, to: &RelPath) -> Result<Option<Edit>, EditError> {
        manifest::add_to_register(register, file, to)
    }

    fn is_among(&self, state: &RelPath) -> bool {
        layout::Layout::of(state).is_archived()
    }

    fn bring_back(&self, files: &FileSet) -> Option<Archival> {
        archive::bring_back(files)
    }

    fn remove_from_register(
        &self,
        register: &Register,
        file: &Content,
        from: &RelPath,
    ) -> Result<Option<Edit>, EditError> {
        manifest::remove_from_register(&register.file, file, from)
    }
}
