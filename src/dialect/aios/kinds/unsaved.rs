//! Runs without a saved state, of which nothing is written.

use crate::{
    dialect::{
        EditError,
        writer::{Resumed, StateWriter},
    },
    model::{Edit, StepId},
};

/// The state that such a run would have.
pub(super) struct Unsaved {
    /// What to do instead of changing it.
    pub(super) instead: String,
}

impl StateWriter for Unsaved {
    const WHAT: &'static str = "a run without a saved state";

    fn instead(&self, _step: Option<&StepId>) -> String {
        self.instead.clone()
    }

    fn resume(&mut self, _resumed: &Resumed<'_>) -> Result<(), EditError> {
        Ok(())
    }

    fn into_edits(self) -> Result<Vec<Edit>, EditError> {
        Ok(Vec::new())
    }
}
