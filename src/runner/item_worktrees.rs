//! The worktrees of the items of a `foreach`: made where an item begins, merged in the order of the items when the loop passes. Each merge is
//! recorded as a part of the step, so that a resume repeats none that is finished.

use std::{
    sync::{MutexGuard, PoisonError},
    time::Duration,
};

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::Value;

use super::{
    console::Event,
    error::RunError,
    exec, files,
    retry::Failure,
    step_executor::{StepExecutor, StepOutcome, refused},
};
use crate::{
    dialect::piton::{self, ItemWorktree, facts::Facts},
    model::{ChangeKind, Outcome, Status, plural},
    store::{
        self,
        worktree::{self, MergeOutcome},
    },
    workflow::Step,
};

/// How often a half-made worktree is tried to be removed, and the pause between: the git of a killed runner may still be making it.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(100);

impl StepExecutor<'_> {
    /// Locks git's lists of worktrees and branches, and the index of the run.
    fn lock_worktrees(&self) -> MutexGuard<'_, ()> {
        self.context.worktrees.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn worktree_of(&self, step: &Step, item: &str) -> Result<ItemWorktree, Failure> {
        let Some(base) = &self.head else {
            return Err(refused("`worktree: each` needs a git repository with a commit".to_owned()));
        };
        let context = self.context;
        Ok(ItemWorktree::of(&context.header, (step.id.as_str(), base), item))
    }

    /// Warns of changes that the worktrees of the items do not have.
    pub(super) fn report_uncommitted(&self, step: &Step) {
        let changed = worktree::changed_tracked(&self.folder).unwrap_or(0);
        if changed > 0 {
            let (changes, are) = (plural(changed, "uncommitted change"), if changed == 1 { "is" } else { "are" });
            let text = format!("Step {}: {changes} {are} not in the worktrees of its items", step.id);
            self.context.console.tell(&Event::Warning { text: &text });
        }
    }

    /// Makes the worktree of an item, or takes the one that an earlier try left, and returns the folder in it that the item works in.
    pub(super) fn enter_worktree(&self, step: &Step, item: &str) -> Result<Utf8PathBuf, Failure> {
        let wanted = self.worktree_of(step, item)?;
        let base = self.head.as_deref().unwrap_or("HEAD");
        let made = {
            let _lock = self.lock_worktrees();
            match self.is_made(&wanted) {
                true => {
                    self.reconnect(&wanted);
                    Ok(())
                }
                false => self.make(&wanted, base),
            }
        };
        made.map_err(|why| refused(format!("its worktree cannot be made: {why}")))?;
        folder_in(&wanted, &self.folder).map_err(refused)
    }

    /// Returns the file that is written when the worktree is whole: one without it was being made when its runner was killed.
    fn mark(&self, wanted: &ItemWorktree) -> Utf8PathBuf {
        self.context.session.join("items").join(wanted.branch.replace('/', "%2F"))
    }

    /// Connects the worktree to its repository again where that was moved. What git cannot mend, the first step that needs it names.
    fn reconnect(&self, wanted: &ItemWorktree) {
        if store::git::head(&wanted.folder).is_none() {
            let _ = worktree::git(&self.folder, "worktree", &["repair", "--", wanted.folder.as_str()]);
        }
    }

    fn is_made(&self, wanted: &ItemWorktree) -> bool {
        files::is_folder(&wanted.folder) && files::is_file(&self.mark(wanted))
    }

    /// Tells whether an earlier try left the worktree of an item.
    pub(super) fn has_worktree(&self, step: &Step, item: &str) -> bool {
        self.worktree_of(step, item).is_ok_and(|wanted| self.is_made(&wanted))
    }

    fn make(&self, wanted: &ItemWorktree, base: &str) -> Result<(), String> {
        let mark = &self.mark(wanted);
        files::remove(mark).map_err(|error| error.to_string())?;
        let mut left = TRIES;
        while files::is_folder(&wanted.folder) {
            match worktree::discard(&self.folder, &wanted.folder, &wanted.branch) {
                Ok(()) => break,
                Err(refusal) if left == 0 => return Err(refusal.to_string()),
                Err(_) => left -= 1,
            }
            if exec::pause(PAUSE, &self.signals).is_some() {
                return Err("it was stopped".to_owned());
            }
        }
        if let Some(parent) = wanted.folder.parent() {
            store::create_private_dirs(parent).map_err(|error| error.to_string())?;
        }
        worktree::add(&self.folder, &wanted.folder, &wanted.branch, base).map_err(|refusal| refusal.to_string())?;
        files::write_private(mark, b"").map_err(|error| error.to_string())
    }

    /// Merges the items that are done into the worktree of the run, in their order. Returns how the loop ends instead of passing.
    pub(super) fn merge_items(
        &self,
        step: &Step,
        (items, names): (&[Value], &[String]),
    ) -> Result<Option<StepOutcome>, RunError> {
        for (name, merge) in names.iter().zip(piton::merge_names(names)) {
            if !self.context.ledger().is_part_done(&step.id, name) {
                continue;
            }
            if let Some(stop) = self.signals.stop() {
                return Ok(Some(StepOutcome::Stopped(stop)));
            }
            let merged = match self.worktree_of(step, name) {
                Ok(merged) => merged,
                Err(failure) => return Ok(Some(StepOutcome::Failed(failure))),
            };
            let _lock = self.lock_worktrees();
            if files::is_folder(&merged.folder) {
                self.reconnect(&merged);
            }
            if !self.context.ledger().is_part_done(&step.id, &merge) {
                let was_cut_off = self.context.ledger().is_part_begun(&step.id, &merge);
                self.context.ledger().begin_part(&step.id, &merge, items)?;
                if was_cut_off {
                    self.abort_merge();
                }
                let failure = self.merge(step, name, &merged).err();
                let (status, error) = match &failure {
                    None => (Status::Completed, None),
                    Some(failure) => (Status::Failed, Some(failure.message.clone())),
                };
                let outcome = Outcome { part: Some(merge), status, error, ..Outcome::completed(step.id.clone()) };
                self.context.ledger().record(ChangeKind::Finish(Box::new(outcome)), Facts::default(), false)?;
                if let Some(failure) = failure {
                    return Ok(Some(StepOutcome::Failed(failure)));
                }
            }
            self.remove_merged(step, name, &merged);
        }
        Ok(None)
    }

    /// Undoes a merge that a killed runner left in the middle.
    fn abort_merge(&self) {
        let begun = worktree::git(&self.folder, "rev-parse", &["--verify", "--quiet", "MERGE_HEAD"]);
        if begun.is_ok() {
            // What cannot be undone is refused by the merge that follows.
            let _ = worktree::git(&self.folder, "merge", &["--abort"]);
        }
    }

    fn merge(&self, step: &Step, item: &str, merged: &ItemWorktree) -> Result<(), Failure> {
        let id = self.context.masks.hide(&piton::item_id(step.id.as_str(), item));
        match worktree::commits_ahead(&self.folder, "HEAD", &merged.branch) {
            Some(0) => return Ok(()),
            Some(_) => {}
            None => return Err(refused(piton::not_merged(&id, &format!("its branch {} is gone", merged.branch)))),
        }
        let MergeOutcome::No { refusal, conflicts } = worktree::merge(&self.folder, &merged.branch) else {
            return Ok(());
        };
        let why = match conflicts.is_empty() {
            true => refusal.message,
            false => format!("{}{}", piton::CONFLICTS, conflicts.join(", ")),
        };
        let message = piton::not_merged(&id, &why);
        let branch = store::git::head(&self.folder).and_then(|head| head.branch);
        let way = piton::way_to_merge(&self.context.header, merged, branch.as_deref(), &why);
        self.context.console.tell(&Event::Warning { text: &format!("{message}. {way}") });
        Err(refused(message))
    }

    /// Removes the worktree of an item that is merged. One with uncommitted files is kept and named.
    fn remove_merged(&self, step: &Step, item: &str, merged: &ItemWorktree) {
        if !files::is_folder(&merged.folder) {
            return;
        }
        let id = self.context.masks.hide(&piton::item_id(step.id.as_str(), item));
        let text = match worktree::dirty(&merged.folder) {
            Some(0) => match worktree::remove(&self.folder, &merged.folder, &merged.branch) {
                Ok(()) => return files::remove_empty_parents(&merged.folder),
                Err(refusal) => format!("The worktree of {id} is kept: {}: {refusal}", merged.folder),
            },
            Some(count) => {
                let files = plural(count, "file");
                format!("{files} of {id}: not committed, so not merged; the worktree is kept: {}", merged.folder)
            }
            None => format!("The worktree of {id} is kept: git does not say what is uncommitted in {}", merged.folder),
        };
        self.context.console.tell(&Event::Warning { text: &text });
    }
}

/// Returns the folder that an item works in: where the project is a folder of its repository, that folder of the worktree.
pub(super) fn folder_in(worktree: &ItemWorktree, project: &Utf8Path) -> Result<Utf8PathBuf, String> {
    let prefix = worktree::git(project, "rev-parse", &["--show-prefix"]).map_err(|refusal| refusal.to_string())?;
    Ok(match prefix.trim() {
        "" => worktree.folder.clone(),
        below => worktree.folder.join(below),
    })
}
