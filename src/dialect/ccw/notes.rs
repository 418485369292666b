//! What reading a session leaves for writing it, so that no task has to be read again: where each is recorded, and its box.

use super::session_files::SessionFiles;
use super::task::Place;
use super::todo::Mention;
use super::write;
use crate::dialect::EditError;
use crate::dialect::Editor;
use crate::model::Change;
use crate::model::Edit;
use crate::model::FileSet;
use crate::model::StepId;

/// Is where the tasks of a session are, by position in the session_files that was read.
#[derive(Debug)]
pub(super) struct Notes {
    tasks: Vec<(StepId, Place)>,
    mentions: Vec<Option<Mention>>,
    /// The word for a running task.
    pub(super) running: &'static str,
}

impl Notes {
    pub(super) fn of(session_files: SessionFiles<'_>) -> Self {
        let tasks = session_files.tasks.into_iter().map(|task| (task.id, task.place)).collect();
        Self { tasks, mentions: session_files.mentions, running: session_files.running }
    }

    fn find(&self, id: &StepId) -> Option<usize> {
        let exact = self.tasks.iter().position(|(known, _)| known == id);
        exact.or_else(|| self.tasks.iter().position(|(known, _)| known.matches(id.as_str())))
    }

    /// Returns where a task is recorded.
    pub(super) fn place(&self, id: &StepId) -> Option<&Place> {
        Some(&self.tasks[self.find(id)?].1)
    }

    /// Returns the byte of the checklist at which the box of a task is. The box of one that only the checklist knows is its
    /// status, whatever other lines say of it.
    pub(super) fn box_of(&self, id: &StepId) -> Option<usize> {
        let at = self.find(id)?;
        match self.tasks[at].1 {
            Place::Checklist { at, .. } => Some(at),
            Place::File { .. } | Place::Unreadable { .. } => self.mentions[at].as_ref().and_then(|mention| mention.at),
        }
    }
}

impl Editor for Notes {
    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        write::edit(files, self, change)
    }
}
