//! What a change does to the bytes of a state: nothing yet, and the refusal says what to do instead.

use super::kind::Kind;
use crate::dialect::EditError;
use crate::model::Change;
use crate::model::FileSet;

/// Says why a change is not written. States of AIOS are planned from, and its own agents write them.
pub(super) fn refusal(kind: Kind, files: &FileSet, change: &Change) -> EditError {
    let step = change.kind.step().map_or_else(String::new, |step| format!(" of {step}"));
    let (what, path) = (kind.what(), &files.state);
    EditError::Unsupported(format!(
        "{path} is {what}, which Piton reads and does not write yet: nothing was changed; let the agent that runs it record the \
         outcome{step}, or edit the file, then run `piton plan`"
    ))
}
