//! What a person may decide about a step, and where a failure goes back to.

use super::{
    Decided, Graph, ReconciledRun, Refusal, RefusalKind, TransitionCheck, admit, decide,
    tests::{ALREADY, EFFECTIVE_STATUSES, FREE, NO, PERSON, USAGE, YES, ask, one, outcome, word},
};
use crate::{
    engine::{
        EffectiveStatus,
        reconciled::Reconciled,
        reports_tests::{begun, decided, report},
        testing::{at, line_of, path, review, step},
    },
    model::{
        Change, ChangeKind, Decision, DecisionKind, Evidence, FileFact, Outcome, Records, ReviewVerdict, Run,
        Statement, Status, StepId, StepKind,
    },
};

fn decision(id: &str, decision: DecisionKind) -> Decision {
    Decision { step: Some(StepId::new(id)), decision, choice: None, at: at(0), by: None, note: None, despite: None }
}

/// Returns the steps that a decision is recorded for, or the word for the answer.
fn answer(result: Result<Decided, Refusal>) -> String {
    match result {
        Ok(Decided::Record(decisions)) => {
            let ids: Vec<String> = decisions.into_iter().filter_map(|one| one.step).map(|id| id.to_string()).collect();
            ids.join(", ")
        }
        Ok(Decided::Already(_)) => ALREADY.to_owned(),
        Err(refusal) => match refusal.kind {
            RefusalKind::No(_) => NO,
            RefusalKind::Person => PERSON,
            RefusalKind::Usage => USAGE,
            RefusalKind::NotFound | RefusalKind::Conflict | RefusalKind::Newer | RefusalKind::Unread => "other",
        }
        .to_owned(),
    }
}

/// Decides about a step with this effective status and nothing else.
fn decide_at(run: &Run, effective_status: EffectiveStatus, kind: DecisionKind) -> String {
    let (graph, compared, evidence) = (Graph::of(run), Reconciled::default(), Evidence::default());
    let reconciled = ReconciledRun { run, graph: &graph, effective_statuses: &[effective_status], compared: &compared };
    answer(TransitionCheck { reconciled, evidence: &evidence, limits: FREE, now: at(0) }.decide(decision("S", kind)))
}

fn decide_with(run: &Run, evidence: &Evidence, id: &str, kind: DecisionKind) -> String {
    answer(decide(run, evidence, &[], decision(id, kind), FREE))
}

pub(super) fn told(statements: Vec<Statement>) -> Evidence {
    Evidence { statements, ..Evidence::default() }
}

#[test]
fn what_may_be_done_again() {
    let redo = |kind: StepKind, records: Records, failures: u32| {
        EFFECTIVE_STATUSES.map(|(effective_status, status)| {
            let mut run = one(kind, status);
            run.records = records;
            run.steps[0].failures = failures;
            decide_at(&run, effective_status, DecisionKind::Redo)
        })
    };
    // Done, done by evidence, skipped, cancelled, open, interrupted, failed, waiting, conditions, verify, invalid, blocked,
    // unreadable, open container.
    let work = ["S", "S", "S", "S", ALREADY, ALREADY, ALREADY, PERSON, "S", "S", ALREADY, ALREADY, PERSON, NO];
    assert_eq!(redo(StepKind::Work, Records::ALL, 0), work);
    let mut review = work;
    review[6] = "S";
    assert_eq!(redo(StepKind::Review, Records::ALL, 0), review);
    let mut kept = work;
    kept[..4].fill(NO);
    assert_eq!(redo(StepKind::Work, Records { redo: false, ..Records::ALL }, 0), kept);
    let mut limited = work;
    for place in [4, 5, 6, 10, 11] {
        limited[place] = "S";
    }
    assert_eq!(redo(StepKind::Work, Records::ALL, 3), limited);
}

#[test]
fn a_step_of_foreign_files_is_decided_about_there() {
    let mut run = one(StepKind::Work, Status::Completed);
    run.steps[0].recorded = false;
    assert_eq!(decide_at(&run, EffectiveStatus::Done, DecisionKind::Redo), NO);
    run.steps[0].recorded = true;
    assert_eq!(decide_at(&run, EffectiveStatus::Done, DecisionKind::Redo), "S");
}

#[test]
fn what_refused_the_work_is_done_again_with_the_work() {
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::Failed)]);
    run.records = Records::ALL;
    let redo =
        |run: &Run, statements: Vec<Statement>, id: &str| decide_with(run, &told(statements), id, DecisionKind::Redo);
    step(&mut run, "B").kind = StepKind::Gate;
    assert_eq!(redo(&run, vec![], "B"), "B, A");
    let mut open = run.clone();
    step(&mut open, "A").status = Status::Pending;
    assert_eq!(redo(&open, vec![], "B"), "B");
    step(&mut run, "B").kind = StepKind::Review;
    step(&mut run, "B").review = review(ReviewVerdict::Rejected);
    assert_eq!(redo(&run, vec![], "B"), "B, A");
    // It says where it goes back to, which is limited by it.
    step(&mut run, "B").returns_to = Some(StepId::new("A"));
    assert_eq!(redo(&run, vec![], "B"), "B");
    assert_eq!(redo(&run, vec![], "A"), "B", "a rejection is for a person");
    assert_eq!(redo(&run, vec![decided(&run, 5, "B", DecisionKind::Redo)], "B"), ALREADY);
    step(&mut run, "B").review = review(ReviewVerdict::NeedsRevision);
    assert_eq!(redo(&run, vec![], "A"), ALREADY, "the review sends it back already");
    step(&mut run, "B").failures = 3;
    let result = decide(&run, &Evidence::default(), &[], decision("A", DecisionKind::Redo), FREE);
    let Ok(Decided::Record(decisions)) = result else { panic!("it is limited") };
    assert_eq!(decisions[0].despite.as_deref(), Some("NEEDS_REVISION"));
}

#[test]
fn what_may_be_overridden() {
    let line = |first: Status, second: Status, change: &dyn Fn(&mut Run)| {
        let mut run = line_of(&[("A", first), ("B", second)]);
        change(&mut run);
        run
    };
    let outputs = |run: &mut Run| step(run, "B").proof.outputs = vec![path("out.json")];
    let documents = |run: &mut Run| step(run, "B").proof.documents = vec![path("out.json")];
    let gate = |run: &mut Run| (step(run, "B").kind, step(run, "A").kind) = (StepKind::Gate, StepKind::Work);
    let missing = || Evidence { files: [(path("out.json"), FileFact::Missing)].into(), ..Evidence::default() };
    use Status::{Completed, InProgress, Pending};
    for (what, run, evidence, expected) in [
        ("it waits", line(Pending, Pending, &|_| {}), missing(), "B"),
        ("it is ready", line(Completed, Pending, &|_| {}), missing(), NO),
        ("behind a gate", line(Pending, Pending, &|run| step(run, "A").kind = StepKind::Gate), missing(), PERSON),
        (
            "begun before its gate",
            line(Pending, InProgress, &|run| {
                outputs(run);
                step(run, "A").kind = StepKind::Gate;
            }),
            missing(),
            "B",
        ),
        ("its output is missing", line(Completed, InProgress, &outputs), missing(), "B"),
        ("not begun", line(Completed, Pending, &outputs), missing(), NO),
        ("nothing is missing", line(Completed, InProgress, &|_| {}), missing(), NO),
        ("its result is gone", line(Completed, Completed, &outputs), missing(), "B"),
        (
            "only what it builds on is gone",
            line(Completed, Completed, &|run| {
                step(run, "A").proof.outputs = vec![path("out.json")];
            }),
            missing(),
            "B",
        ),
        ("its document is missing", line(Completed, InProgress, &documents), missing(), "B"),
        ("its document, not begun", line(Completed, Pending, &documents), missing(), NO),
        (
            "the document of a gate",
            line(Completed, Pending, &|run| {
                documents(run);
                gate(run);
            }),
            missing(),
            "B",
        ),
        (
            "of an approved gate",
            line(Completed, Completed, &|run| {
                documents(run);
                gate(run);
            }),
            missing(),
            NO,
        ),
    ] {
        assert_eq!(decide_with(&run, &evidence, "B", DecisionKind::Override), expected, "{what}");
    }
    let despite = |run: &Run| {
        let decision = decision("B", DecisionKind::Override);
        let Ok(Decided::Record(mut decisions)) = decide(run, &missing(), &[], decision, FREE) else { panic!() };
        decisions.remove(0).despite.unwrap()
    };
    assert_eq!(despite(&line(Completed, Completed, &outputs)), "its output out.json is missing");
    let behind = line(Completed, Completed, &|run| step(run, "A").proof.outputs = vec![path("out.json")]);
    assert_eq!(despite(&behind), "B still waits for A");
    let run = line(Pending, Pending, &|_| {});
    let again = told(vec![decided(&run, 5, "B", DecisionKind::Override)]);
    assert_eq!(decide_with(&run, &again, "B", DecisionKind::Override), ALREADY);
}

#[test]
fn what_may_be_accepted_despite_a_no() {
    let accept = || ChangeKind::Finish(Box::new(Outcome { accepts: true, ..outcome("S", Status::Completed) }));
    let column = |kind: StepKind| {
        EFFECTIVE_STATUSES
            .map(|(effective_status, status)| word(&ask(&one(kind, status), &[effective_status], accept(), FREE)))
    };
    let work = [ALREADY, ALREADY, NO, NO, NO, NO, NO, NO, YES, NO, NO, NO, PERSON, NO];
    assert_eq!(column(StepKind::Work), work);
    let mut refusing = work;
    refusing[6] = YES;
    assert_eq!(column(StepKind::Review), refusing);
    assert_eq!(column(StepKind::Gate), refusing);
    // An open review that said no, until its work is begun again.
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::Pending)]);
    step(&mut run, "B").kind = StepKind::Review;
    step(&mut run, "B").returns_to = Some(StepId::new("A"));
    let no = report(&run, 5, "B", |outcome| {
        (outcome.status, outcome.verdict) = (Status::Failed, Some(ReviewVerdict::Rejected));
        outcome.findings = vec!["row counts differ".to_owned()];
    });
    let yes = report(&run, 6, "B", |outcome| outcome.verdict = Some(ReviewVerdict::Approved));
    for (what, statements, despite) in [
        ("it said no", vec![no.clone()], Some("REJECTED: row counts differ")),
        ("nothing was said", vec![], None),
        ("it said yes since", vec![no.clone(), yes], None),
        ("its work was begun again", vec![no.clone(), begun(&run, 7, "A")], None),
        ("it was begun again", vec![no.clone(), begun(&run, 7, "B")], None),
        ("another step was begun", vec![no, begun(&run, 7, "Z")], Some("REJECTED: row counts differ")),
    ] {
        let accepts = Outcome { accepts: true, ..outcome("B", Status::Completed) };
        let change = Change { at: at(9), kind: ChangeKind::Finish(Box::new(accepts)) };
        let found = match admit(&run, (&told(statements), &[]), change, FREE, None) {
            Ok(super::Admitted::Change { change: Change { kind: ChangeKind::Finish(outcome), .. }, .. }) => {
                outcome.despite
            }
            _ => None,
        };
        assert_eq!(found.as_deref(), despite, "{what}");
    }
}

#[test]
fn a_failure_goes_back_to_work_of_its_phase_that_it_stands_on() {
    let mut base = line_of(&[
        ("A", Status::Completed),
        ("B", Status::Completed),
        ("C", Status::InProgress),
        ("D", Status::Pending),
    ]);
    base.records.details = true;
    for one in &mut base.steps {
        one.group = Some("1".to_owned());
    }
    step(&mut base, "A").kind = StepKind::Review;
    let finish = |run: &Run, status: Status, target: &str| {
        let kind = ChangeKind::Finish(Box::new(Outcome { to_step: Some(StepId::new(target)), ..outcome("C", status) }));
        word(&admit(run, (&Evidence::default(), &[]), Change { at: at(0), kind }, FREE, None))
    };
    let changed = |change: fn(&mut Run)| {
        let mut run = base.clone();
        change(&mut run);
        run
    };
    assert_eq!(finish(&base, Status::Failed, "B"), YES);
    assert_eq!(finish(&base, Status::Failed, "C"), YES, "to itself");
    assert_eq!(finish(&base, Status::Failed, "D"), USAGE, "behind it");
    assert_eq!(finish(&base, Status::Failed, "A"), USAGE, "a review");
    assert_eq!(finish(&base, Status::Completed, "B"), USAGE, "a success");
    assert_eq!(finish(&changed(|run| run.records.details = false), Status::Failed, "B"), USAGE, "no place for it");
    assert_eq!(finish(&changed(|run| run.steps[1].group = None), Status::Failed, "B"), USAGE, "another phase");
}

#[test]
fn a_run_ends_at_the_step_that_may_be_its_last() {
    let complete = |statuses: [Status; 3]| {
        let mut run = line_of(&[("A", statuses[0]), ("B", statuses[1]), ("C", statuses[2])]);
        step(&mut run, "B").may_be_last = true;
        let change = Change { at: at(0), kind: ChangeKind::Complete { note: None } };
        word(&admit(&run, (&Evidence::default(), &[]), change, FREE, None))
    };
    use Status::{Completed, InProgress, Pending};
    assert_eq!(complete([Completed, Completed, Pending]), YES);
    assert_eq!(complete([Completed, Pending, Pending]), NO);
    assert_eq!(complete([Completed, InProgress, Pending]), NO);
    assert_eq!(complete([Completed, Completed, InProgress]), NO, "the one after it was begun");
    assert_eq!(complete([Completed, Completed, Completed]), YES);
}
