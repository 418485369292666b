//! The state of a workflow engine (W2).

use crate::dialect::Loaded;
use crate::model::FileSet;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    super::kind::unread(files)
}
