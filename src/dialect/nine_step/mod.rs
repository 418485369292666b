//! The nine-step workflow plugin (formats: nine-step.md).

use crate::dialect::Dialect;
use crate::dialect::EditError;
use crate::dialect::Loaded;
use crate::dialect::Probed;
use crate::model::Brief;
use crate::model::Change;
use crate::model::DialectId;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::Listing;
use crate::model::Next;
use crate::model::Plan;
use crate::model::Run;

/// Speaks the state file of the nine-step workflow plugin.
pub(crate) struct NineStep;

impl Dialect for NineStep {
    fn id(&self) -> DialectId {
        DialectId::NineStep
    }

    fn marks(&self, _path: &str) -> bool {
        false
    }

    fn probe(&self, _listing: &Listing) -> Probed {
        Probed::default()
    }

    fn load(&self, _files: &FileSet) -> Loaded {
        Loaded::default()
    }

    fn edit(&self, _files: &FileSet, _change: &Change) -> Result<Vec<Edit>, EditError> {
        Ok(Vec::new())
    }

    fn native(&self, _run: &Run, _plan: &Plan) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn brief(&self, _files: &FileSet, _run: &Run, _plan: &Plan, _next: &Next) -> Brief {
        Brief::default()
    }
}
