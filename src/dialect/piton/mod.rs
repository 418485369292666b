//! Sessions of the runner: `run.json` is the header, `journal.jsonl` the records, `checkpoint.json` a snapshot of the state.
//! Pure, like every dialect.
//!
//! - `paths` locates the files of a session; `session` reads them as a whole.
//! - `record` is the journal with its chain, `facts` what a record says besides its change, `state` the sum of the records, `snapshot` a
//!   stored copy of that; `items` names the items of a `foreach`.
//! - `read` turns a session into a run, `write` records a change, `past` lists and restores earlier states.
//! - `acts` keeps what took effect and must not run twice, `unmet` says which steps their conditions leave out, `after_agent` what Piton does of a step once its agent is done.
//! - `native` has the plan in the words of Specification 186, and the brief of a step.
//! - `adopt` makes a run of a session of the client.

mod acts;
mod adopt;
mod after_agent;
mod brief;
mod damage;
mod definition;
pub(crate) mod facts;
mod items;
mod native;
mod outputs;
mod past;
mod paths;
mod read;
pub(crate) mod record;
mod session;
pub(crate) mod snapshot;
pub(crate) mod state;
mod unfilled;
pub(crate) mod unmet;
mod write;

pub(crate) use adopt::{AdoptedStep, adopt, own_definition};
pub(crate) use after_agent::work_digest;
pub(crate) use brief::wanted;
pub(crate) use facts::{is_for_an_agent, is_loop};
pub(crate) use items::{
    CONFLICTS, CutOffStep, ItemWorktree, done_items, failed_items, id_inside, is_inside, item_id, item_names, log_file,
    log_name, log_of, merge_names, name_inside, not_merged, part_names, way_to_merge,
};
pub(crate) use paths::{candidate, logs, merges, session_of_prodigy};
pub(crate) use read::{AT_LIMIT, copy_record, load_to_run};
pub(crate) use record::project_of;
pub(crate) use session::{Session, start};
pub(crate) use unmet::{Given, end_word, status_of};

use record::{Header, Remainder};
use serde_json::Value;

use crate::{
    dialect::{Archival, Archives, Dialect, EditError, Journal, Loaded, Moved, PastCheckpoint, Probed, StateHome},
    model::{Brief, Change, DialectId, Edit, FileSet, Finding, Listing, Next, Plan, RelPath, Run, Timestamp},
};

/// The dialect of the sessions of `piton run`.
pub(crate) struct Piton;

impl Dialect for Piton {
    fn id(&self) -> DialectId {
        DialectId::Piton
    }

    fn state_home(&self) -> StateHome {
        StateHome::Home
    }

    fn marks(&self, path: &str) -> bool {
        paths::session_of_header(path).is_some()
    }

    fn probe(&self, listing: &Listing) -> Probed {
        let candidates = listing.entries.iter().filter(|entry| !entry.is_dir).filter_map(|entry| {
            let id = paths::session_of_header(entry.path.as_str())?;
            let bytes = entry.content.as_deref();
            let header = bytes.and_then(|bytes| Header::parse(bytes, &listing.root).ok());
            candidate(id, header.as_ref())
        });
        Probed { candidates: candidates.collect(), ..Probed::default() }
    }

    fn load(&self, files: &FileSet) -> Loaded {
        read::load(files)
    }

    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        write::edit(files, change)
    }

    fn native(&self, native: &Value, run: &Run, plan: &Plan, _findings: &[Finding]) -> Value {
        native::native(native, run, plan)
    }

    fn brief(&self, files: &FileSet, run: &Run, _plan: &Plan, next: &Next) -> Brief {
        let is_for_an_agent =
            run.step(&next.step).is_some_and(|step| is_for_an_agent(&step.definition) && !step.is_reported);
        if is_for_an_agent { brief::brief(files, run, next) } else { native::brief(files, run, next) }
    }

    fn journal(&self) -> &dyn Journal {
        self
    }

    fn archives(&self) -> &dyn Archives {
        self
    }
}

impl Journal for Piton {
    fn journal_checkpoints(&self, files: &FileSet) -> Option<Vec<PastCheckpoint>> {
        past::journal_checkpoints(files)
    }

    fn restore_checkpoint(&self, files: &FileSet, checkpoint: &str) -> Result<Vec<Edit>, EditError> {
        past::restore_checkpoint(files, checkpoint)
    }

    fn mended(&self, files: &FileSet) -> Option<[Edit; 2]> {
        Session::read(files).ok()?.mended(files)
    }

    fn redefined(&self, files: &FileSet) -> Option<Edit> {
        write::redefined(files)
    }

    fn truncated_tail(&self, files: &FileSet) -> Option<(RelPath, u64)> {
        let session = Session::read(files).ok()?;
        let is_truncated = matches!(session.remainder, Remainder::Truncated { .. });
        is_truncated.then_some((session.journal_file, session.journal_end.length))
    }
}

impl Archives for Piton {
    fn archive(&self, files: &FileSet, run: Option<&Run>, at: Timestamp) -> Result<Option<Archival>, EditError> {
        let name = run.map_or(files.name.as_str(), |run| run.id.as_str());
        let to = RelPath::parse(&format!("archive/{name}_{}", at.compact()));
        let to = to.map_err(|error| EditError::Unsupported(error.to_string()))?;
        Ok(Some(Archival { moved: Moved::Folder(files.own.path.clone()), to, edits: Vec::new(), register: None }))
    }

    fn is_among(&self, state: &RelPath) -> bool {
        state.as_str().starts_with("archive/")
    }

    fn bring_back(&self, files: &FileSet) -> Option<Archival> {
        let to = paths::folder(&files.name)?;
        Some(Archival { moved: Moved::Folder(files.own.path.clone()), to, edits: Vec::new(), register: None })
    }
}

#[cfg(test)]
mod testing;

#[cfg(test)]
mod tests;
