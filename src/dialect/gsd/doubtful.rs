//! Folders and tasks of a planning folder that are no phases of the roadmap, or perhaps not (docs/formats/gsd.md#roadmap).

use std::collections::BTreeSet;

use super::names::{self, PhaseKey};
use crate::model::{
    Doubt, FileSet, Finding, FindingCode, GuestProof, RelPath, Step, StepId, clean_line, first_names, plural,
};

const TITLE: usize = 100;
/// Number of names in a finding.
const NAMED: usize = 5;

/// Returns the doubt about two folders with one number.
pub(super) fn shared_number(phase: &str) -> Doubt {
    Doubt::conflict(
        "in one of two folders of the same phase",
        format!("two folders have the number of phase {phase}, and its name tells neither: which one counts?"),
    )
}

/// Returns the step that stands for a folder that may be the right one of its phase.
pub(super) fn rival(folder: &str, key: &PhaseKey) -> Step {
    let shown = names::shown(key);
    let folder = clean_line(folder, TITLE);
    let mut step = Step::new(StepId::new(&folder), format!("phases/{folder}"));
    step.group = Some(format!("phase {shown}"));
    step.guest = Some(Box::new(GuestProof { doubts: vec![shared_number(&shown)], ..GuestProof::default() }));
    step
}

/// Returns the step that stands for a plan that the roadmap names with an open box, and that is not there. `before` is the plan before it.
pub(super) fn named_only(id: &str, key: &PhaseKey, before: Option<StepId>, command: &str) -> Step {
    let shown = names::shown(key);
    let mut step = Step::new(StepId::new(clean_line(id, TITLE)), format!("plan {} of ROADMAP", clean_line(id, TITLE)));
    step.depends_on = before.into_iter().collect();
    step.group = Some(format!("phase {shown}"));
    let doubt = Doubt::conflict(
        "named by ROADMAP with an open box, without a plan and a summary",
        "ROADMAP names it with an open box, and it has neither a plan nor a summary: dropped or open?",
    );
    step.guest = Some(Box::new(GuestProof {
        names: names::commit_names(id),
        doubts: vec![doubt],
        record: format!("dropped: take its line out of ROADMAP; open: `{command} {shown}`"),
        ..GuestProof::default()
    }));
    step
}

/// Returns the step that stands for a folder with open plans that the roadmap does not have. Nothing waits for it.
pub(super) fn stray(folder: &str, open: usize) -> Step {
    let folder = clean_line(folder, TITLE);
    let mut step = Step::new(StepId::new(&folder), format!("phases/{folder}"));
    let plans = if open == 1 { "one plan has".to_owned() } else { format!("{open} plans have") };
    let doubt = Doubt::conflict(
        "with open plans, in a folder that ROADMAP does not have",
        format!("ROADMAP has no such phase, and {plans} no SUMMARY: dropped, or missing in ROADMAP?"),
    );
    step.guest = Some(Box::new(GuestProof { doubts: vec![doubt], ..GuestProof::default() }));
    step
}

/// Names the quick tasks without a summary, which are no steps.
pub(super) fn quick_tasks(files: &FileSet) -> Option<Finding> {
    let folder = files.state.join("quick").ok()?;
    let mut open: BTreeSet<RelPath> = BTreeSet::new();
    let mut over: BTreeSet<RelPath> = BTreeSet::new();
    for path in files.files.keys().filter(|path| path.starts_with(&folder)) {
        let kind = if path.name().ends_with("PLAN.md") {
            &mut open
        } else if path.name().ends_with("SUMMARY.md") {
            &mut over
        } else {
            continue;
        };
        kind.extend(path.parent());
    }
    let open: Vec<String> = open.difference(&over).map(|path| clean_line(path.name(), 60)).collect();
    let message = format!("{} without a summary: {}", plural(open.len(), "quick task"), first_names(&open, NAMED));
    (!open.is_empty()).then(|| Finding::new(FindingCode::JobNotResumed, message).at(&folder))
}
