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

/// Refuses to put away what is no saved state: a story and the artifacts of a pipeline belong to the project.
pub(super) fn put_away(files: &FileSet) -> Result<(), EditError> {
    match Kind::of(files) {
        Ok(kind @ (Kind::StoryCycle | Kind::Spec)) => Err(EditError::Unsupported(format!(
            "{} is {}, and no state of it is saved: there is nothing to put away; close it in the story itself",
            files.state,
            kind.what()
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}
