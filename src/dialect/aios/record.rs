//! The state of a nexos orchestration.

use crate::dialect::Loaded;
use crate::model::FileSet;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    super::kind::unread(files)
}
