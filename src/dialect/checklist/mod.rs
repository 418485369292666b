//! Check lists of Spec Kit, OpenSpec, superpowers and plan mode (docs/formats/checklist.md). They are read, never written.
//!
//! `outline` reads lines, `grammar` has what a task is in each system, `run` makes steps of the tasks.

mod commands;
mod grammar;
mod kind;
mod ledger;
mod list;
mod outline;
mod paths;
mod probe;
mod read;
mod run;
mod suggest;
#[cfg(test)]
mod tests;
mod words;

use camino::Utf8Path;
use serde_json::{Value, json};

use super::{
    Dialect, EditError, Guest, Loaded, Probed, guest,
    optional::{Comparison, Discovery},
};
use crate::model::{
    Action, Answer, Brief, Candidate, Change, Config, DialectId, Edit, FileSet, Finding, Listing, Next, Plan, RelPath,
    Run, Status, Step, StepId, Suggestions, quoted,
};
use kind::ListKind;

/// The dialect of check lists.
pub(crate) struct Checklist;

impl Dialect for Checklist {
    fn id(&self) -> DialectId {
        DialectId::Checklist
    }

    fn marks(&self, path: &str) -> bool {
        probe::marks(path)
    }

    fn keeps_state_in(&self, folder: &RelPath, _config: &Config) -> bool {
        matches!(folder.name(), "specs" | "openspec" | "changes")
    }

    fn probe(&self, listing: &Listing) -> Probed {
        probe::probe(listing)
    }

    fn load(&self, files: &FileSet) -> Loaded {
        let mut loaded = read::load(files);
        let paths = files.files.keys().map(RelPath::as_str);
        loaded.native = json!({ "next": commands::proceed(read::kind_of(files), paths, &files.root, &files.state) });
        loaded
    }

    fn edit(&self, files: &FileSet, _change: &Change) -> Result<Vec<Edit>, EditError> {
        Err(EditError::Unsupported(format!("{} is only read", files.state)))
    }

    fn native(&self, native: &Value, run: &Run, plan: &Plan, _findings: &[Finding]) -> Value {
        of_plan(native, run, plan)
    }

    fn brief(&self, files: &FileSet, run: &Run, _plan: &Plan, next: &Next) -> Brief {
        brief(files, run, next)
    }

    fn guest(&self, root: &Utf8Path, candidate: &Candidate) -> Option<Guest> {
        let kind = ListKind::of_id(&candidate.name).unwrap_or(ListKind::PlanMode);
        let files = guest::named_files(candidate);
        Some(Guest {
            refusal: format!("is a list of {}, which piton reads and never writes", kind.name()),
            command: commands::proceed(kind, files, root, &candidate.state),
            has_brief: true,
        })
    }

    fn discovery(&self) -> &dyn Discovery {
        self
    }

    fn comparison(&self) -> &dyn Comparison {
        self
    }
}

impl Discovery for Checklist {
    fn extra_probe_paths(&self, listing: &Listing) -> Vec<RelPath> {
        probe::extra_probe_paths(listing)
    }

    fn is_named_by_path(&self, candidate: &Candidate) -> bool {
        matches!(ListKind::of_id(&candidate.name), Some(ListKind::PlanMode) | None)
    }
}

impl Comparison for Checklist {
    fn suggest(&self, files: &FileSet, run: &Run, done: &[StepId]) -> Suggestions {
        suggest::suggest(files, run, done)
    }

    fn answers(&self, files: &FileSet, _run: &Run, step: &Step) -> Vec<Answer> {
        suggest::answers(files, step)
    }
}

/// Returns the plan in the words of the system: what continues it, how to look, and what comes after the last step.
fn of_plan(native: &Value, run: &Run, plan: &Plan) -> Value {
    let Some(state) = run.state_files.first() else { return Value::Null };
    let kind = ListKind::of_id(run.id.as_str()).unwrap_or(ListKind::PlanMode);
    let change = state.parent();
    let name = change.as_ref().map_or("", RelPath::name);
    let first = plan.next.first();
    let is_work = |next: &&Next| matches!(next.action, Action::Run | Action::Retry);
    let look = match kind {
        ListKind::SpecKit => Some("/speckit.analyze".to_owned()),
        ListKind::OpenSpec => Some(format!("openspec validate {name}")),
        ListKind::Superpowers => Some("git log of the commits named in the reasons".to_owned()),
        ListKind::PlanMode => None,
    };
    let after = (kind == ListKind::OpenSpec).then(|| format!("openspec archive {name}"));
    let from = first.filter(is_work).map(|next| next.step.as_str());
    let witness = |next: &Next| {
        let step = run.step(&next.step);
        json!({
            "step": next.step,
            "line": step.and_then(|step| step.definition.get("line").cloned()),
            "ticked": step.is_some_and(|step| step.status == Status::Completed),
            "files": step.map(|step| step.detail.targets.clone()).unwrap_or_default(),
            "reason": next.reason,
        })
    };
    let proceed = native.get("next").and_then(Value::as_str).filter(|_| from.is_some());
    let is_over = first.is_some_and(|next| next.action == Action::Archive);
    let next = proceed.zip(from).map(|(command, from)| match kind {
        ListKind::Superpowers => format!("{command}, from Task {}", from.strip_prefix("task-").unwrap_or(from)),
        ListKind::SpecKit | ListKind::OpenSpec | ListKind::PlanMode => command.to_owned(),
    });
    json!({
        "system": kind.workflow(),
        "next": next.or_else(|| after.clone().filter(|_| is_over)),
        "select": (kind == ListKind::SpecKit).then(|| format!("SPECIFY_FEATURE={}", quoted(name))),
        "list": state,
        "from": from,
        "look": look,
        "after": after,
        "witnesses": plan.next.iter().map(witness).collect::<Vec<_>>(),
    })
}

fn brief(files: &FileSet, run: &Run, next: &Next) -> Brief {
    /// Documents of a feature or change, with what they are.
    const DOCUMENTS: [(&str, &str); 7] = [
        ("spec", "what the feature has to do"),
        ("plan", "how it is built"),
        ("proposal", "why the change is made"),
        ("design", "how the change is built"),
        ("data-model", "the data"),
        ("research", "what was decided and why"),
        ("quickstart", "how to try it"),
    ];
    /// Number of specs that are named.
    const SPECS: usize = 10;
    let step = run.step(&next.step);
    let text = step.and_then(|step| step.definition.get("text")).and_then(Value::as_str).unwrap_or_default();
    let mut reading = vec![files.state.reading_item("the check list")];
    let folder = files.state.parent();
    for (name, what) in DOCUMENTS {
        let path = folder.as_ref().and_then(|folder| folder.join(&format!("{name}.md")).ok());
        let path = path.filter(|path| files.files.contains_key(path));
        reading.extend(path.filter(|path| *path != files.state).map(|path| path.reading_item(what)));
    }
    let specs = folder.as_ref().and_then(|folder| folder.join("specs").ok());
    let specs = specs.iter().flat_map(|specs| files.files.keys().filter(move |path| path.starts_with(specs)));
    let specs = specs.filter(|path| path.name().ends_with(".md"));
    reading.extend(specs.take(SPECS).map(|path| path.reading_item("what the change does to the specs")));
    // A task of one line is told without its box.
    let text = super::markdown::checkbox(text).filter(|_| !text.contains('\n')).map_or(text, |checkbox| checkbox.text);
    Brief { instructions: text.to_owned(), reading, ..Brief::default() }
}
