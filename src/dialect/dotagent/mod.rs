//! The phase and execution checkpoints of the dotagent workflow (docs/formats/dotagent.md).
//!
//! `phase.json` has the current one of five phases, `execution.json` the tasks of one phase. A phase counts as done only with its
//! outputs: they must parse, name this run and be newer than its start.
//!

mod archive;
mod brief;
mod checks;
mod execution;
mod layout;
mod native;
mod output;
mod paths;
mod probe;
mod read;
mod rules;
mod start;
mod state;
mod steps;
mod tasks;
mod workflow_files;
mod write;

use crate::{
    dialect::{Archival, Archives, Dialect, EditError, Loaded, Probed, Start, Wording},
    model::{
        Brief, Change, Config, DialectId, Edit, FileSet, Finding, Listing, Next, Plan, Question, RelPath, Run,
        Timestamp,
    },
};

/// The dialect of the dotagent workflow.
pub(crate) struct Dotagent;

impl Dialect for Dotagent {
    fn id(&self) -> DialectId {
        DialectId::Dotagent
    }

    fn marks(&self, path: &str) -> bool {
        probe::is_marked(path) || paths::is_phase_file(path)
    }

    fn keeps_state_in(&self, folder: &RelPath, _config: &Config) -> bool {
        ["", "run/", "state/"].iter().any(|tail| paths::is_phase_file(&format!("{folder}/{tail}phase.json")))
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
        let path = path.as_str();
        if paths::base_of(path, layout::PHASE_FILE).is_some() {
            Some("dotagent-phase")
        } else if paths::base_of(path, layout::EXECUTION_FILE).is_some() {
            Some("dotagent-execution")
        } else {
            let in_tasks = path.starts_with("memory/tasks/") || path.contains("/memory/tasks/");
            (in_tasks && path.ends_with("/output.json")).then_some("dotagent-task-output")
        }
    }

    fn native(&self, _native: &serde_json::Value, run: &Run, plan: &Plan, _findings: &[Finding]) -> serde_json::Value {
        native::native(run, plan)
    }

    fn brief(&self, files: &FileSet, run: &Run, _plan: &Plan, next: &Next) -> Brief {
        brief::brief(files, run, next)
    }

    fn start(&self) -> &dyn Start {
        self
    }

    fn archives(&self) -> &dyn Archives {
        self
    }

    fn wording(&self) -> &dyn Wording {
        self
    }
}

impl Start for Dotagent {
    fn can_start(&self) -> bool {
        true
    }
}

impl Wording for Dotagent {
    fn question(&self, run: &Run, plan: &Plan, findings: &[Finding]) -> Option<Question> {
        if rules::is_built_in(run) { native::question(run, plan, findings) } else { None }
    }
}

impl Archives for Dotagent {
    fn archive(&self, files: &FileSet, _run: Option<&Run>, at: Timestamp) -> Result<Option<Archival>, EditError> {
        archive::archive(files, at)
    }

    fn archive_folder(&self, state_dir: &RelPath) -> Option<RelPath> {
        let phase = state_dir.join("phase.json").ok()?;
        Some(layout::Layout::of(&phase)?.archive_dir())
    }
}
