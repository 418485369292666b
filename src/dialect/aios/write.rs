//! What a change does to the bytes of a state.

use super::kind::Kind;
use crate::dialect::EditError;
use crate::model::Change;
use crate::model::Edit;
use crate::model::FileSet;

/// Computes the edits of a change.
///
/// # Errors
///
/// When the format cannot express the change.
pub(super) fn edit(_kind: Kind, files: &FileSet, _change: &Change) -> Result<Vec<Edit>, EditError> {
    Err(EditError::Unsupported(format!("{} is only read", files.state)))
}
