//! Plans of other programs: read and planned with any files and commits, never written.

use super::{
    bundle::{Bundle, clock},
    look,
};
use crate::{
    dialect::by_id,
    engine::Planned,
    model::{Action, Change, ChangeKind, DialectId, Run, Status, StepId, Verdict},
    ops::OpenedRun,
    store::Trusted,
};

/// Limit that keeps inputs fast.
const CANDIDATES: usize = 4;

pub(super) fn gsd(data: &[u8]) {
    plans(DialectId::Gsd, data);
}

pub(super) fn task_list(data: &[u8]) {
    plans(DialectId::Taskmaster, data);
}

pub(super) fn check_list(data: &[u8]) {
    plans(DialectId::Checklist, data);
}

pub(super) fn sprint(data: &[u8]) {
    plans(DialectId::Bmad, data);
}

/// Checks every run that a dialect finds in a project.
fn plans(dialect: DialectId, data: &[u8]) {
    let bundle = Bundle::parse(data);
    let probed = by_id(dialect).probe(&bundle.listing(by_id(dialect)));
    for candidate in probed.candidates.into_iter().chain(probed.ended).take(CANDIDATES) {
        let files = bundle.read(&candidate);
        let opened = OpenedRun::new(candidate, files, &Trusted::nothing());
        look::look(&opened, &bundle);
        let Some(run) = &opened.loaded.run else { continue };
        let planned = look::plan(&opened, run, &look::evidence(&opened, &bundle));
        check(run, &planned);
        check_suggestions(&opened, run, &planned, &bundle);
        for kind in [ChangeKind::Pause { reason: None }, ChangeKind::Complete { note: None }] {
            let change = Change { at: clock().now, kind };
            assert!(opened.dialect.edit(&opened.files, &change).is_err(), "a run that is only read was edited");
        }
    }
}

/// Checks that what is claimed to be done is not run again, and that what is open is not called done.
fn check(run: &Run, planned: &Planned) {
    let claim = |id: &StepId| run.step(id).map(|step| step.status);
    for next in &planned.plan.next {
        let is_run = matches!(next.action, Action::Run | Action::Retry);
        assert!(!is_run || claim(&next.step) != Some(Status::Completed), "{} is done and runs again", next.step);
    }
    for id in &planned.plan.steps.completed {
        assert_eq!(claim(id), Some(Status::Completed), "{id} is completed by evidence alone");
    }
    let open = run.steps.iter().find(|step| !step.status.is_over());
    assert!(planned.plan.verdict != Verdict::Complete || open.is_none(), "complete with an open step: {open:?}");
}

/// Checks that a suggested patch keeps the lines, and that nothing is left to suggest once it is applied.
fn check_suggestions(opened: &OpenedRun, run: &Run, planned: &Planned, bundle: &Bundle) {
    let done = &planned.plan.steps.completed;
    let suggested = opened.dialect.comparison().suggest(&opened.files, run, done);
    let mut patched = bundle.clone();
    for suggestion in &suggested.files {
        let before = &bundle.files[&suggestion.file];
        let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        assert_eq!(
            lines(before),
            lines(&suggestion.after),
            "a patch changes the number of lines of {}",
            suggestion.file
        );
        patched.files.insert(suggestion.file.clone(), suggestion.after.clone().into());
    }
    let files = patched.read(&opened.candidate);
    let again = OpenedRun::new(opened.candidate.clone(), files, &Trusted::nothing());
    let run = again.loaded.run.as_ref().expect("a patched run is read");
    for suggestion in again.dialect.comparison().suggest(&again.files, run, done).files {
        let now = &patched.files[&suggestion.file];
        assert_eq!(now[..], suggestion.after[..], "the patch of {} leaves something to suggest", suggestion.file);
    }
}
