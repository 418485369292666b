//! Which states can be archived.

use super::{
    kind::{self, Kind},
    layout,
};
use crate::{
    dialect::{EditError, edit::unsupported},
    model::FileSet,
};

/// Refuses to archive runs without a saved state: stories and artifacts belong to the project.
pub(super) fn check(files: &FileSet) -> Result<(), EditError> {
    match Kind::of(files) {
        Ok(kind @ (Kind::StoryCycle | Kind::Spec)) => unsupported(format!(
            "{} is {}, so there is no saved state to archive; close it in the story itself",
            files.state,
            kind.descriptor().what
        )),
        // A document in an unknown place with the keys of a state may be a plan; moving it would lose it.
        Ok(_) if layout::split(files.state.as_str()).is_none() => unsupported(format!(
            "{} lies outside of the folders in which AIOS keeps its states; it was not moved",
            files.state
        )),
        Ok(Kind::Pipeline) if !has_status_of_a_run(files) => {
            unsupported(format!("{} has a status that no epic has, so it may be a plan; it was not moved", files.state))
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

fn has_status_of_a_run(files: &FileSet) -> bool {
    let node = files.bytes(&files.state).and_then(|bytes| kind::parse(bytes).ok());
    // A broken file in the folder of the states is no plan.
    node.is_none_or(|node| kind::has_status_of_a_run(&node))
}
