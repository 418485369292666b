//! What reading a state leaves for writing it, so that it has not to be read again.

use std::sync::Arc;

use super::ledger::Ledger;
use super::raw::State;
use super::write;
use super::write::Before;
use crate::dialect::EditError;
use crate::dialect::Editor;
use crate::dialect::json::Places;
use crate::dialect::json::Tape;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Content;
use crate::model::Edit;
use crate::model::FileSet;

/// Is a state file as it was read.
#[derive(Debug)]
pub(super) struct Notes {
    pub(super) bytes: Arc<[u8]>,
    pub(super) places: Places,
    pub(super) state: State,
    pub(super) ledger: Ledger,
}

impl Editor for Notes {
    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        let is_about_it = !matches!(change.kind, ChangeKind::Start(_) | ChangeKind::Repair(_));
        match files.files.get(&files.state).map(|entry| &entry.content) {
            Some(Content::Bytes(bytes)) if is_about_it && Arc::ptr_eq(bytes, &self.bytes) => {
                // It was read before.
                let Ok(tape) = Tape::again(bytes, &self.places) else { return write::edit(files, change) };
                let before = Before { bytes, tape: &tape, state: &self.state, ledger: &self.ledger };
                write::on(files, before, change)
            }
            Some(_) | None => write::edit(files, change),
        }
    }
}
