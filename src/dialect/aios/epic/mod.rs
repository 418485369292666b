//! The state of an epic: waves of stories, each behind a gate (dotagent-and-aios.md 2.2).

use crate::dialect::Loaded;
use crate::model::FileSet;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    super::kind::unread(files)
}
