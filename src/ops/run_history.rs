//! The earlier checkpoints of a run, including those from before its state was moved.

use camino::Utf8Path;

use super::OpError;
use crate::{
    dialect::{PreviousLocation, by_id},
    model::{Candidate, Config, RelPath},
    store::history::{self, HistoryEntry},
};

/// Prefix for ids of checkpoints from before the move, because both histories count from one.
const EARLY: &str = "early-";

/// The history of one run.
pub(super) struct RunHistory<'a> {
    root: &'a Utf8Path,
    candidate: &'a Candidate,
    former: Option<PreviousLocation>,
}

impl<'a> RunHistory<'a> {
    pub(super) fn of(root: &'a Utf8Path, candidate: &'a Candidate, config: &Config) -> Self {
        Self { root, candidate, former: by_id(candidate.dialect).copies().previous_location(candidate, config) }
    }

    /// Lists the checkpoints, newest first.
    pub(super) fn entries(&self) -> Result<Vec<HistoryEntry>, OpError> {
        let mut entries = history::list(self.root, &self.candidate.data_dir)?;
        if let Some(former) = &self.former {
            let early = history::list(self.root, &former.data_dir)?.into_iter();
            entries.extend(early.filter_map(|entry| self.moved_entry(former, entry)));
        }
        Ok(entries)
    }

    /// Reads the files of a checkpoint, each under its current path.
    pub(super) fn read(&self, id: &str) -> Result<Vec<(RelPath, Vec<u8>)>, OpError> {
        let (Some(former), Some(early)) = (&self.former, id.strip_prefix(EARLY)) else {
            return Ok(history::read(self.root, &self.candidate.data_dir, id)?);
        };
        let mut files = history::read(self.root, &former.data_dir, early)?;
        files.retain(|(path, _)| *path == former.state);
        for (path, _) in &mut files {
            path.clone_from(&self.candidate.state);
        }
        Ok(files)
    }

    /// Maps an entry from before the move to the current path. Other files of the entry, such as a backup, are left out.
    fn moved_entry(&self, former: &PreviousLocation, mut entry: HistoryEntry) -> Option<HistoryEntry> {
        entry.files.retain(|file| file.path == former.state);
        entry.files.first_mut()?.path.clone_from(&self.candidate.state);
        entry.id.insert_str(0, EARLY);
        Some(entry)
    }
}
