//! The state of the session of an epic driver (W7).

use crate::dialect::Loaded;
use crate::model::FileSet;

/// Reads the run.
pub(super) fn load(files: &FileSet) -> Loaded {
    super::kind::unread(files)
}
