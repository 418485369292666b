//! Where a run is, before it is read.

use camino::Utf8Path;
use camino::Utf8PathBuf;

use super::OpError;
use crate::dialect::by_id;
use crate::model::Candidate;
use crate::model::DialectId;

/// A run that was located but not loaded.
#[derive(Clone, Debug)]
pub(crate) struct RunLocation {
    pub(crate) root: Utf8PathBuf,
    pub(crate) candidate: Candidate,
}

impl RunLocation {
    /// Returns the absolute path of the state, which names the run in every verb.
    pub(crate) fn path(&self) -> String {
        self.candidate.state.under(&self.root).into_string()
    }

    /// Returns the session id of a run of the runner, with the home of its sessions.
    pub(crate) fn session(&self) -> Option<(&Utf8Path, &str)> {
        let is_ours = self.candidate.dialect == DialectId::Script && self.takeover_command().is_none();
        is_ours.then(|| (self.root.as_path(), self.candidate.name.as_str()))
    }

    /// Returns the command that imports the run if it belongs to another program.
    pub(crate) fn takeover_command(&self) -> Option<String> {
        by_id(self.candidate.dialect).takeover_command(&self.root, &self.candidate)
    }

    /// Refuses a run of another program, which is never written.
    pub(crate) fn check_writable(&self) -> Result<(), OpError> {
        let Some(take_over) = self.takeover_command() else { return Ok(()) };
        let message = format!("{} belongs to another program: piton reads it and never writes it", self.candidate.name);
        Err(OpError::InTheWay { message, hints: vec![take_over] })
    }
}
