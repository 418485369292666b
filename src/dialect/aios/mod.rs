//! The saved states of AIOS, AIOX and nexos projects (docs/formats/aios.md, docs/formats/aios-states.md, docs/formats/aios-stories.md).
//!
//! A project may have twelve kinds of state, which `kind` distinguishes by content. Each kind has its file in `kinds`, with its
//! reading, its writing and what it is called. Runs without a saved state are read from stories and artifacts of spec pipelines.
//! Stories are evidence and are never written.

mod archive;
mod brief;
mod changes;
mod consistency;
mod document_index;
mod editor;
mod execution;
mod fields;
mod gate;
mod handoff;
mod identity;
mod implied;
mod kind;
mod kinds;
mod layout;
mod leftovers;
mod locks;
mod messages;
mod native;
mod probe;
mod rebuild;
mod resume_point;
mod settings;
#[cfg(test)]
mod state_testing;
mod steps;
mod subject;
mod suggest;
#[cfg(test)]
mod testing;

use camino::Utf8Path;
use kind::Kind;

use crate::{
    dialect::{
        Archival, Archives, Comparison, Copies, Dialect, Discovery, EditError, GitComparison, Guest, Leftover, Loaded,
        LogBlock, Probed, Rebuild, Wording,
        edit::{edits_of, unsupported},
    },
    model::{
        Brief, Candidate, Change, ChangeKind, Config, DialectId, Edit, Evidence, FileSet, Finding, Listing, Next, Plan,
        Question, Reconstruction, RelPath, Run, StepId, Suggestions, Timestamp,
    },
};

/// The dialect of AIOS, AIOX and nexos state files.
pub(crate) struct Aios;

impl Dialect for Aios {
    fn id(&self) -> DialectId {
        DialectId::Aios
    }

    fn marks(&self, path: &str) -> bool {
        layout::is_marked(path)
    }

    fn keeps_state_in(&self, folder: &RelPath, _config: &Config) -> bool {
        layout::keeps_state_in(folder)
    }

    fn probe(&self, listing: &Listing) -> Probed {
        probe::probe(listing)
    }

    fn load(&self, files: &FileSet) -> Loaded {
        match Kind::of(files) {
            Ok(kind) => {
                let mut loaded = load(kind, files);
                subject::attach(kind, files, &mut loaded);
                changes::add_wanted(files, &mut loaded);
                locks::check(files, &mut loaded);
                loaded
            }
            Err(finding) => Loaded { findings: vec![*finding], ..Loaded::default() },
        }
    }

    fn edit(&self, files: &FileSet, change: &Change) -> Result<Vec<Edit>, EditError> {
        if let ChangeKind::Repair { .. } = &change.kind {
            return Ok(edits_of(files, rebuild::reconstruct(files, change.at)?));
        }
        match Kind::of(files) {
            Ok(kind) => match kind.descriptor().edit {
                Some(edit) => edit(files, change),
                None => unsupported(format!("{} is only read", files.state)),
            },
            Err(finding) => {
                Err(EditError::Unreadable { file: files.state.as_str().to_owned(), problem: finding.message })
            }
        }
    }

    fn native(&self, _native: &serde_json::Value, run: &Run, plan: &Plan, findings: &[Finding]) -> serde_json::Value {
        native::native(run, plan, findings)
    }

    fn brief(&self, files: &FileSet, run: &Run, _plan: &Plan, next: &Next) -> Brief {
        brief::brief(files, run, next)
    }

    fn guest(&self, _root: &Utf8Path, candidate: &Candidate) -> Option<Guest> {
        candidate.claim.is_guest().then(|| kinds::others::guest(candidate))
    }

    fn discovery(&self) -> &dyn Discovery {
        self
    }

    fn comparison(&self) -> &dyn Comparison {
        self
    }

    fn rebuild(&self) -> &dyn Rebuild {
        self
    }

    fn copies(&self) -> &dyn Copies {
        self
    }

    fn archives(&self) -> &dyn Archives {
        self
    }

    fn wording(&self) -> &dyn Wording {
        self
    }
}

impl Discovery for Aios {
    fn extra_probe_paths(&self, listing: &Listing) -> Vec<RelPath> {
        settings::extra_probe_paths(listing)
    }

    fn describe(&self, path: &RelPath, bytes: &[u8]) -> Option<Finding> {
        implied::describe(path, bytes)
    }

    fn leftovers(&self, listing: &Listing) -> Vec<Leftover> {
        leftovers::leftovers(listing)
    }
}

impl Comparison for Aios {
    fn compare_with_git(&self, files: &FileSet, run: &Run, evidence: &Evidence) -> GitComparison {
        changes::compare_with_git(files, run, evidence)
    }

    fn suggest(&self, files: &FileSet, run: &Run, _done: &[StepId]) -> Suggestions {
        let descriptor = match Kind::of(files) {
            Ok(kind) => kind.descriptor(),
            Err(finding) => return Suggestions::none(finding.message),
        };
        match descriptor.suggest {
            Some(suggest) => suggest(files, run),
            None => Suggestions::none(format!("{} does not say which stories are finished", descriptor.what)),
        }
    }
}

impl Wording for Aios {
    fn sums_up(&self) -> bool {
        true
    }

    fn question(&self, run: &Run, plan: &Plan, findings: &[Finding]) -> Option<Question> {
        messages::question(run, plan, findings)
    }

    fn list_row(&self, run: &Run, plan: &Plan) -> Option<String> {
        Some(messages::list_row(run, plan))
    }

    fn choice_prompt(&self, rows: &[(usize, &str)]) -> Vec<String> {
        messages::choice_prompt(rows)
    }

    fn failure(&self, title: &str, state: &RelPath, reason: &str, action: &str) -> Vec<String> {
        messages::failure(title, state, reason, action)
    }

    fn log(&self, run: &Run, plan: &Plan, findings: &[Finding], at: Timestamp) -> Option<LogBlock> {
        Some(messages::log(run, plan, findings, at))
    }
}

impl Rebuild for Aios {
    fn reconstruct(&self, files: &FileSet, at: Timestamp) -> Result<Reconstruction, EditError> {
        rebuild::reconstruct(files, at)
    }
}

impl Copies for Aios {
    fn backup_of(&self, path: &RelPath) -> Option<RelPath> {
        layout::backup_of(path)
    }
}

impl Archives for Aios {
    fn archive(&self, files: &FileSet, _run: Option<&Run>, _at: Timestamp) -> Result<Option<Archival>, EditError> {
        archive::check(files).map(|()| None)
    }

    fn starts_anew(&self) -> Option<&'static str> {
        Some(messages::START_ANEW)
    }
}

fn load(kind: Kind, files: &FileSet) -> Loaded {
    let descriptor = kind.descriptor();
    let mut loaded = descriptor.load(files);
    if let Some(run) = &mut loaded.run {
        for step in &mut run.steps {
            step.recorded &= descriptor.is_written;
        }
        run.records = run.records.and(descriptor.records);
    }
    loaded
}
