//! The saved states of AIOS, AIOX and nexos projects (docs/formats/aios.md, docs/formats/aios-states.md, docs/formats/aios-stories.md).
//!
//! A project may have twelve kinds of state, which `kind` distinguishes by content. Each kind has a reader module and a writer
//! module in `write`. Runs without a saved state are read from stories and artifacts of spec pipelines. Stories are evidence and
//! are never written.

mod ade;
mod bob;
mod brief;
mod build;
mod changes;
mod consistency;
mod dev_cycle;
mod document_index;
mod editor;
mod engine_state;
mod epic;
mod execution;
mod fields;
#[cfg(test)]
mod fixtures;
mod gate;
mod guided;
mod handoff;
mod identity;
mod implied;
mod kind;
mod layout;
mod leftovers;
mod locks;
mod messages;
mod native;
mod paused;
mod phases;
mod probe;
mod qa_loop;
mod rebuild;
mod record;
mod resume_point;
mod settings;
mod spec;
mod steps;
mod story_cycle;
mod subject;
mod suggest;
#[cfg(test)]
mod testing;
mod write;

use kind::Kind;

use crate::dialect::Archival;
use crate::dialect::Archives;
use crate::dialect::Comparison;
use crate::dialect::Copies;
use crate::dialect::Dialect;
use crate::dialect::Discovery;
use crate::dialect::EditError;
use crate::dialect::GitComparison;
use crate::dialect::Leftover;
use crate::dialect::Loaded;
use crate::dialect::LogBlock;
use crate::dialect::Probed;
use crate::dialect::Rebuild;
use crate::dialect::Wording;
use crate::dialect::edit::edits_of;
use crate::model::Brief;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Config;
use crate::model::DialectId;
use crate::model::Edit;
use crate::model::Evidence;
use crate::model::FileSet;
use crate::model::Finding;
use crate::model::Listing;
use crate::model::Next;
use crate::model::Plan;
use crate::model::Question;
use crate::model::Reconstruction;
use crate::model::RelPath;
use crate::model::Run;
use crate::model::StepId;
use crate::model::Suggestions;
use crate::model::Timestamp;
use crate::model::Traces;

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
        if let ChangeKind::Repair(_) = &change.kind {
            return Ok(edits_of(files, rebuild::reconstruct(files, change.at)?));
        }
        match Kind::of(files) {
            Ok(kind) => write::edit(kind, files, change),
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
        Kind::of(files)
            .map_or_else(|finding| Suggestions::none(finding.message), |kind| suggest::suggest(kind, files, run))
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
    fn reconstruct(&self, files: &FileSet, _traces: &Traces, at: Timestamp) -> Result<Reconstruction, EditError> {
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
        write::check_archivable(files).map(|()| None)
    }

    fn starts_anew(&self) -> Option<&'static str> {
        Some(messages::START_ANEW)
    }
}

fn load(kind: Kind, files: &FileSet) -> Loaded {
    let mut loaded = read(kind, files);
    if let Some(run) = &mut loaded.run {
        for step in &mut run.steps {
            step.recorded &= kind.is_written();
            step.begins_unrecorded |= matches!(kind, Kind::Paused | Kind::Phases);
            step.ends.failed &= !matches!(kind, Kind::Guided | Kind::Paused | Kind::Record);
        }
        run.records = run.records.and(kind.records());
    }
    loaded
}

fn read(kind: Kind, files: &FileSet) -> Loaded {
    match kind {
        Kind::Epic | Kind::Pipeline => epic::load(files),
        Kind::QaLoop => qa_loop::load(files),
        Kind::Guided => guided::load(files),
        Kind::DevCycle => dev_cycle::load(files),
        Kind::Paused => paused::load(files),
        Kind::StoryCycle => story_cycle::load(files),
        Kind::Spec => spec::load(files),
        Kind::Engine => engine_state::load(files),
        Kind::Ade => ade::load(files),
        Kind::Phases => phases::load(files),
        Kind::Bob => bob::load(files),
        Kind::Build => build::load(files),
        Kind::Record => record::load(files),
    }
}
