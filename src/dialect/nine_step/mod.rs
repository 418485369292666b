//! The nine-step workflow plugin (docs/formats/nine-step.md).
//!
//! One JSON file per feature; its `last_execution` gives the current step and status. Piton only adds optional fields
//! (docs/formats/nine-step.md#fields-that-piton-adds): `history`, `approvals`, `skipped_steps`, `run_status`, `resume_count`,
//! `interruption_history`.
//!
//! - [`probe`] finds state files, [`workspace`] the worktree and plan of a run; [`layout`] has the names of their files.
//! - [`read`] turns a state into a run: [`raw`] is a lenient view of the file, [`ledger`] collects its records by step,
//!   [`last_step`] interprets `last_execution`, [`sent_back`] finds the failure to address, [`steps`] builds the steps.
//! - [`rules`] has the plugin's step order, roles and status words.
//! - [`mod@write`] edits a state, [`start`] creates one.
//! - [`brief`] and [`native`] write the hand-over and the plan in the plugin's format.

mod brief;
mod last_step;
mod layout;
mod ledger;
mod native;
mod probe;
mod question;
mod raw;
mod read;
mod rules;
mod sent_back;
mod start;
mod steps;
mod workspace;
mod write;

use crate::{
    dialect::{Copies, Dialect, EditError, Loaded, Probed, Rollback, RollbackBackup, Start, Unversioned, Wording},
    model::{
        Brief, Change, Config, DialectId, Edit, FileSet, Finding, Listing, Next, Plan, Question, RelPath, RollBack,
        Run, Timestamp,
    },
};

/// The dialect of the nine-step workflow plugin.
pub(crate) struct NineStep;

impl Dialect for NineStep {
    fn id(&self) -> DialectId {
        DialectId::NineStep
    }

    fn marks(&self, path: &str) -> bool {
        layout::is_marked(path)
    }

    fn keeps_state_in(&self, folder: &RelPath, config: &Config) -> bool {
        probe::keeps_state_in(folder, &config.nine_step)
    }

    fn probe(&self, listing: &Listing) -> Probed {
        probe::probe(listing)
    }

    fn load(&self, files: &FileSet) -> Loaded {
        read::load(files)
    }

    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        write::edit(files, change)
    }

    fn schema_of(&self, path: &RelPath) -> Option<&'static str> {
        layout::is_marked(path.as_str()).then_some("nine-step-state")
    }

    fn native(&self, _native: &serde_json::Value, run: &Run, plan: &Plan, _findings: &[Finding]) -> serde_json::Value {
        native::plan(run, plan)
    }

    fn brief(&self, files: &FileSet, run: &Run, plan: &Plan, next: &Next) -> Brief {
        brief::write(files, run, plan, next)
    }

    fn copies(&self) -> &dyn Copies {
        self
    }

    fn rollback(&self) -> Option<&dyn Rollback> {
        Some(self)
    }

    fn start(&self) -> &dyn Start {
        self
    }

    fn wording(&self) -> &dyn Wording {
        self
    }
}

impl Start for NineStep {
    fn can_start(&self) -> bool {
        true
    }

    fn unversioned(&self, config: &Config) -> Vec<Unversioned> {
        let settings = &config.nine_step;
        let early = format!("NAME{}", layout::EARLY_SUFFIX);
        let own = (settings.state_file != layout::EARLY_SUFFIX)
            .then(|| Unversioned { pattern: format!("{}*", settings.state_file), path: settings.state_file.clone() });
        let early = Unversioned { pattern: format!("*{}*", layout::EARLY_SUFFIX), path: early };
        let folders = [&settings.worktree_dir, &settings.backup_dir];
        let folders = folders.into_iter().filter_map(|folder| RelPath::parse(folder.trim_end_matches('/')).ok());
        own.into_iter().chain([early]).chain(folders.map(|folder| Unversioned::folder(&folder))).collect()
    }
}

impl Wording for NineStep {
    fn question(&self, run: &Run, plan: &Plan, findings: &[Finding]) -> Option<Question> {
        question::question(run, plan, findings)
    }

    fn position(&self, run: &Run, plan: &Plan) -> Option<String> {
        native::stopped(run, plan)
    }
}

impl Copies for NineStep {
    fn can_be_lost(&self) -> bool {
        true
    }

    fn makes_backups(&self) -> bool {
        true
    }

    fn backup_of(&self, path: &RelPath) -> Option<RelPath> {
        layout::backup_of(path)
    }
}

impl Rollback for NineStep {
    fn rollback_backup(&self, files: &FileSet, run: &Run, back: &RollBack, at: Timestamp) -> Option<RollbackBackup> {
        write::rollback_backup(files, run, back, at)
    }

    fn tracker(&self, run: &Run, back: &RollBack) -> Vec<String> {
        write::tracker(&run.workspace.issues, back)
    }
}

#[cfg(test)]
mod tests;
