//! Which rollbacks are admitted, and what is added to them.

use super::admitted;
use crate::{
    engine::{
        EffectiveStatus, Refusal, RefusalKind,
        graph::Graph,
        reconciled::{Reconciled, ReconciledRun},
        testing::{ids, run_of, with_statuses},
    },
    model::{RollBack, Run, RunStatus, Status, StepId},
};

use EffectiveStatus::{Done, Interrupted, Open, Unreadable};

/// Three steps in a line, of which the last was begun, and a step beside them.
fn run() -> Run {
    let run = run_of(&[("a", &[]), ("b", &["a"]), ("c", &["b"]), ("d", &[])]);
    with_statuses(run, &[Status::Completed, Status::Completed, Status::InProgress, Status::Pending])
}

fn reopen(run: &Run, statuses: &[EffectiveStatus], unknown: &[usize], reopened: &[&str]) -> Result<RollBack, Refusal> {
    let compared = &Reconciled { unknown_words: unknown.iter().copied().collect(), ..Reconciled::default() };
    let reconciled = ReconciledRun { run, graph: &Graph::of(run), effective_statuses: statuses, compared };
    admitted(&reconciled, RollBack { to: "step:b".to_owned(), reopened: ids(reopened), ..RollBack::default() })
}

#[test]
fn a_rollback_says_what_opens_what_stays_and_where_the_run_was() {
    const BEGUN: [EffectiveStatus; 4] = [Done, Done, Interrupted, Open];
    for (position, reopened, expected) in [
        (None, &["b"][..], (&["b", "c"][..], Some("a"), Some("c"))),
        (None, &["c", "a"], (&["a", "b", "c"], None, Some("c"))),
        (None, &["c"], (&["c"], Some("b"), Some("c"))),
        (Some("b"), &["c"], (&["c"], Some("b"), Some("b"))),
    ] {
        let mut run = run();
        run.position = position.map(StepId::new);
        let back = reopen(&run, &BEGUN, &[], reopened).unwrap();
        let found = (back.keeps.as_ref().map(StepId::as_str), back.from.as_ref().map(StepId::as_str));
        assert_eq!((back.reopened, found), (ids(expected.0), (expected.1, expected.2)), "{reopened:?}");
        assert_eq!(back.to, "step:b");
    }
}

#[test]
fn a_rollback_is_refused_with_what_to_do_instead() {
    use RefusalKind::*;
    let refusal = |run: &Run, statuses: &[EffectiveStatus], unknown: &[usize], reopened: &[&str]| {
        reopen(run, statuses, unknown, reopened).map(|_| ()).map_err(|refusal| (refusal.kind, refusal.texts()))
    };
    let plain = [Done, Done, Interrupted, Open];
    let odd = [Done, Done, Unreadable, Open];
    let mut editable = run();
    editable.records.redo = true;
    editable.steps.iter_mut().for_each(|step| step.recorded = true);
    let archived = Run { status: RunStatus::Archived, ..run() };
    let newer = Run { writable: false, ..run() };
    let hint = |text: &str| vec![text.to_owned()];
    for (what, found, expected) in [
        ("no such step", refusal(&run(), &plain, &[], &["z"]), Err((NotFound, hint("piton plan R")))),
        (
            "nothing to reopen",
            refusal(&run(), &plain, &[], &[]),
            Err((No(crate::model::No::Nothing), hint("piton rollback R"))),
        ),
        ("a state that is unclear", refusal(&run(), &odd, &[], &["b"]), Err((Person, hint("piton validate R")))),
        ("which is not among them", refusal(&run(), &odd, &[], &["d"]), Ok(())),
        ("of a word that can be replaced", refusal(&editable, &odd, &[2], &["b"]), Ok(())),
        (
            "archived",
            refusal(&archived, &plain, &[], &["b"]),
            Err((No(crate::model::No::Already), hint("piton restore ./state.json"))),
        ),
        ("newer", refusal(&newer, &plain, &[], &["b"]), Err((Newer, hint("update piton, then try again")))),
    ] {
        assert_eq!(found, expected, "{what}");
    }
}
