//! The phase and execution checkpoints of the dotagent workflow (formats: dotagent-and-aios.md 1).
//!
//! Two files: `phase.json` says which of five phases a run is in, `execution.json` where the tasks of one of them stand. What a
//! phase is worth is proved by what it left: outputs that parse, name this run and are newer than its start.

mod archive;
mod brief;
mod checks;
mod execution;
mod layout;
mod native;
mod output;
mod probe;
mod read;
mod rules;
mod start;
mod state;
mod steps;
mod tasks;
mod write;

use crate::dialect::Archival;
use crate::dialect::Dialect;
use crate::dialect::EditError;
use crate::dialect::Loaded;
use crate::dialect::Probed;
use crate::model::Brief;
use crate::model::Change;
use crate::model::DialectId;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::Listing;
use crate::model::Next;
use crate::model::Plan;
use crate::model::Question;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::Timestamp;

/// Speaks the two state files of the dotagent workflow.
pub(crate) struct Dotagent;

impl Dialect for Dotagent {
    fn id(&self) -> DialectId {
        DialectId::Dotagent
    }

    fn marks(&self, path: &str) -> bool {
        probe::is_marked(path)
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
        if layout::base_of(path, layout::PHASE_FILE).is_some() {
            Some("dotagent-phase")
        } else if layout::base_of(path, layout::EXECUTION_FILE).is_some() {
            Some("dotagent-execution")
        } else {
            let in_tasks = path.starts_with("memory/tasks/") || path.contains("/memory/tasks/");
            (in_tasks && path.ends_with("/output.json")).then_some("dotagent-task-output")
        }
    }

    fn can_start(&self) -> bool {
        true
    }

    fn archive(&self, files: &FileSet, _run: Option<&Run>, at: Timestamp) -> Result<Option<Archival>, EditError> {
        archive::archive(files, at)
    }

    fn native(&self, run: &Run, plan: &Plan) -> serde_json::Value {
        native::native(run, plan)
    }

    fn question(&self, run: &Run, plan: &Plan, findings: &[Finding]) -> Option<Question> {
        native::question(run, plan, findings)
    }

    fn brief(&self, files: &FileSet, run: &Run, _plan: &Plan, next: &Next) -> Brief {
        brief::brief(files, run, next)
    }
}
