//! The state of a development cycle put to rest at its checkpoint (W4).

use crate::dialect::Loaded;
use crate::model::FileSet;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    super::kind::unread(files)
}
