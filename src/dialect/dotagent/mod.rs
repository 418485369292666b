//! dotagent's checkpoint files: `memory/state/phase.json` and `execution.json` (formats: dotagent-and-aios.md section 1).
//!
//! Runs of a workflow that somebody defined in a file have the same two files and carry their definition; `own` speaks them.

pub(super) mod own;
mod place;

use crate::dialect::Dialect;
use crate::dialect::EditError;
use crate::dialect::Loaded;
use crate::dialect::Probed;
use crate::model::Brief;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::DialectId;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Listing;
use crate::model::Next;
use crate::model::Plan;
use crate::model::RelPath;
use crate::model::Run;

/// Speaks the phase and execution checkpoints.
pub(crate) struct Dotagent;

impl Dialect for Dotagent {
    fn id(&self) -> DialectId {
        DialectId::Dotagent
    }

    fn marks(&self, path: &str) -> bool {
        place::is_phase_file(path)
    }

    fn probe(&self, listing: &Listing) -> Probed {
        let entries = listing.entries.iter().filter(|entry| !entry.is_dir && place::is_phase_file(entry.path.as_str()));
        Probed { candidates: entries.filter_map(own::candidate).collect(), ..Probed::default() }
    }

    fn load(&self, files: &FileSet) -> Loaded {
        own::load(files)
    }

    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        if let ChangeKind::Start(spec) = &change.kind {
            return own::start(spec, change.at);
        }
        own::edit(files, change)
    }

    fn schema_of(&self, _path: &RelPath) -> Option<&'static str> {
        None
    }

    fn native(&self, run: &Run, plan: &Plan) -> serde_json::Value {
        own::native(run, plan)
    }

    fn brief(&self, files: &FileSet, run: &Run, plan: &Plan, next: &Next) -> Brief {
        own::brief(files, run, plan, next)
    }
}
