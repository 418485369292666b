//! The whole table: every effective status, every kind of step, every change.

use super::{Admitted, ChangeLimits, Graph, ReconciledRun, Refusal, RefusalKind, admit, admit_reconciled};
use crate::{
    engine::{
        EffectiveStatus,
        reconciled::Reconciled,
        testing::{at, path, run_of},
    },
    model::{
        Change, ChangeKind, Evidence, Outcome, Part, PartKind, ReviewVerdict, Run, RunId, Status, StepId, StepKind,
    },
};

pub(super) const FREE: ChangeLimits = ChangeLimits::of(3);
pub(super) const FORCE: ChangeLimits = ChangeLimits { force: true, ..FREE };

/// Every effective status, with a recorded status that leads to it.
pub(super) const EFFECTIVE_STATUSES: [(EffectiveStatus, Status); 14] = [
    (EffectiveStatus::Done, Status::Completed),
    (EffectiveStatus::Done, Status::InProgress),
    (EffectiveStatus::Skipped, Status::Skipped),
    (EffectiveStatus::Cancelled, Status::Cancelled),
    (EffectiveStatus::Open, Status::Pending),
    (EffectiveStatus::Interrupted, Status::InProgress),
    (EffectiveStatus::Failed, Status::Failed),
    (EffectiveStatus::Waiting, Status::WaitingApproval),
    (EffectiveStatus::Conditions, Status::Completed),
    (EffectiveStatus::Verify, Status::Pending),
    (EffectiveStatus::Invalid, Status::Completed),
    (EffectiveStatus::Blocked, Status::Blocked),
    (EffectiveStatus::Unreadable, Status::Blocked),
    (EffectiveStatus::OpenContainer, Status::Pending),
];

pub(super) const YES: &str = "yes";
pub(super) const ALREADY: &str = "already";
pub(super) const NO: &str = "no";
pub(super) const PERSON: &str = "person";
pub(super) const USAGE: &str = "usage";

pub(super) fn word(result: &Result<Admitted, Refusal>) -> &'static str {
    match result {
        Ok(Admitted::Change { .. }) => YES,
        Ok(Admitted::Already(_)) => ALREADY,
        Err(refusal) => match refusal.kind {
            RefusalKind::NotFound => "not found",
            RefusalKind::No(_) => NO,
            RefusalKind::Person => PERSON,
            RefusalKind::Conflict => "conflict",
            RefusalKind::Usage => USAGE,
            RefusalKind::Newer => "newer",
            RefusalKind::Unread => "unreadable",
        },
    }
}

pub(super) fn ask(
    run: &Run,
    effective_statuses: &[EffectiveStatus],
    kind: ChangeKind,
    limits: ChangeLimits,
) -> Result<Admitted, Refusal> {
    let compared = &Reconciled::default();
    let reconciled = ReconciledRun { run, graph: &Graph::of(run), effective_statuses, compared };
    admit_reconciled(reconciled, &Evidence::default(), Change { at: at(0), kind }, limits)
}

pub(super) fn admitted(
    run: &Run,
    effective_statuses: &[EffectiveStatus],
    kind: ChangeKind,
    limits: ChangeLimits,
) -> ChangeKind {
    match ask(run, effective_statuses, kind, limits).unwrap() {
        Admitted::Change { change, .. } => {
            assert_eq!(change.at, at(0));
            change.kind
        }
        Admitted::Already(message) => panic!("already: {message}"),
    }
}

pub(super) fn refused(
    run: &Run,
    effective_statuses: &[EffectiveStatus],
    kind: ChangeKind,
    limits: ChangeLimits,
) -> Refusal {
    ask(run, effective_statuses, kind, limits).unwrap_err()
}

pub(super) fn begin(id: &str) -> ChangeKind {
    ChangeKind::Begin { step: StepId::new(id), part: None, agent: None, attempt: 99, reopens: Vec::new() }
}

fn begin_part(id: &str, part: &str) -> ChangeKind {
    ChangeKind::Begin {
        step: StepId::new(id),
        part: Some(part.to_owned()),
        agent: None,
        attempt: 99,
        reopens: Vec::new(),
    }
}

pub(super) fn outcome(id: &str, status: Status) -> Outcome {
    serde_json::from_value(serde_json::json!({"step": id, "status": status, "attempt": 99, "failures": 99})).unwrap()
}

pub(super) fn finish(id: &str, status: Status) -> ChangeKind {
    ChangeKind::Finish(Box::new(outcome(id, status)))
}

fn judge(id: &str, status: Status, verdict: ReviewVerdict) -> ChangeKind {
    ChangeKind::Finish(Box::new(Outcome { verdict: Some(verdict), ..outcome(id, status) }))
}

pub(super) fn approve(id: &str) -> ChangeKind {
    ChangeKind::Approve { step: StepId::new(id), by: None, note: None, phases: None, choice: None }
}

pub(super) fn skip(id: &str) -> ChangeKind {
    ChangeKind::Skip { step: StepId::new(id), part: None, by: None, reason: "not needed".to_owned() }
}

pub(super) fn one(kind: StepKind, status: Status) -> Run {
    let mut run = run_of(&[("S", &[])]);
    run.steps[0].kind = kind;
    run.steps[0].status = status;
    if kind == StepKind::Container {
        run.steps[0].children = vec![StepId::new("A"), StepId::new("B")];
    }
    run
}

/// Asks for one change of one step with every effective status and compares with a column of the table.
fn column(kind: StepKind, change: impl Fn() -> ChangeKind, limits: ChangeLimits, expected: [&str; 14]) {
    let found = EFFECTIVE_STATUSES
        .map(|(effective_status, status)| word(&ask(&one(kind, status), &[effective_status], change(), limits)));
    assert_eq!(found, expected, "{kind:?}, {:?}, force: {}", change(), limits.force);
}

#[test]
fn what_may_begin() {
    for kind in [StepKind::Work, StepKind::Review] {
        // Done, done by evidence, skipped, cancelled, open, interrupted, failed, waiting, conditions, verify, invalid, blocked,
        // unreadable, open container.
        column(
            kind,
            || begin("S"),
            FREE,
            [NO, NO, NO, NO, YES, YES, YES, PERSON, YES, PERSON, YES, YES, PERSON, PERSON],
        );
        column(
            kind,
            || begin("S"),
            FORCE,
            [YES, YES, YES, YES, YES, YES, YES, PERSON, YES, YES, YES, YES, PERSON, PERSON],
        );
    }
    for limits in [FREE, FORCE] {
        let mut gate = [PERSON; 14];
        // Where it cannot be approved either.
        gate[..4].fill(NO);
        gate[13] = NO;
        column(StepKind::Gate, || begin("S"), limits, gate);
        column(StepKind::Container, || begin("S"), limits, [NO; 14]);
    }
}

#[test]
fn what_may_be_finished_as_completed() {
    let completed = || finish("S", Status::Completed);
    let work = [ALREADY, YES, YES, YES, YES, YES, YES, PERSON, YES, YES, YES, YES, PERSON, YES];
    column(StepKind::Work, completed, FREE, work);
    column(
        StepKind::Work,
        completed,
        FORCE,
        [YES, YES, YES, YES, YES, YES, YES, PERSON, YES, YES, YES, YES, PERSON, YES],
    );
    let approved = || judge("S", Status::Completed, ReviewVerdict::Approved);
    column(StepKind::Review, approved, FREE, work);
    let without_verdict =
        [ALREADY, USAGE, USAGE, USAGE, USAGE, USAGE, USAGE, PERSON, USAGE, USAGE, USAGE, USAGE, PERSON, USAGE];
    column(StepKind::Review, completed, FREE, without_verdict);
    for limits in [FREE, FORCE] {
        column(StepKind::Gate, completed, limits, [PERSON; 14]);
        let mut container = [NO; 14];
        container[9] = YES;
        container[12] = PERSON;
        column(StepKind::Container, completed, limits, container);
    }
}

#[test]
fn what_may_be_finished_otherwise() {
    for status in [Status::Failed, Status::WaitingApproval] {
        let mut expected = [YES; 14];
        expected[0] = NO;
        expected[12] = PERSON;
        for kind in [StepKind::Work, StepKind::Review] {
            column(kind, || finish("S", status), FREE, expected);
        }
        // A gate that said no is not asked again by that.
        expected[6] = if status == Status::WaitingApproval { PERSON } else { YES };
        column(StepKind::Gate, || finish("S", status), FREE, expected);
        (expected[0], expected[6]) = (YES, YES);
        column(StepKind::Work, || finish("S", status), FORCE, expected);
    }
    for status in [Status::Pending, Status::InProgress, Status::Blocked, Status::Skipped, Status::Cancelled] {
        column(StepKind::Work, || finish("S", status), FORCE, [USAGE; 14]);
    }
}

#[test]
fn what_may_be_approved() {
    for limits in [FREE, FORCE] {
        let work = [ALREADY, ALREADY, NO, NO, NO, NO, NO, YES, YES, NO, NO, NO, PERSON, NO];
        column(StepKind::Work, || approve("S"), limits, work);
        column(StepKind::Container, || approve("S"), limits, work);
        let mut review = work;
        review[6] = PERSON;
        column(StepKind::Review, || approve("S"), limits, review);
        let gate = [ALREADY, ALREADY, NO, NO, YES, YES, PERSON, YES, YES, YES, YES, YES, PERSON, NO];
        column(StepKind::Gate, || approve("S"), limits, gate);
    }
}

#[test]
fn what_may_be_skipped() {
    for limits in [FREE, FORCE] {
        let work = [NO, NO, ALREADY, YES, YES, YES, YES, PERSON, YES, YES, YES, YES, PERSON, YES];
        column(StepKind::Work, || skip("S"), limits, work);
        let container = [NO, NO, ALREADY, NO, NO, NO, NO, NO, NO, NO, NO, NO, PERSON, NO];
        column(StepKind::Container, || skip("S"), limits, container);
        let mut never = [PERSON; 14];
        never[..3].copy_from_slice(&[NO, NO, ALREADY]);
        column(StepKind::Review, || skip("S"), limits, never);
        column(StepKind::Gate, || skip("S"), limits, never);
    }
}

#[test]
fn a_container_without_children_can_be_closed_and_left_out() {
    let mut run = one(StepKind::Container, Status::Pending);
    run.steps[0].children.clear();
    assert_eq!(word(&ask(&run, &[EffectiveStatus::Verify], finish("S", Status::Completed), FREE)), YES);
    assert_eq!(word(&ask(&run, &[EffectiveStatus::Verify], skip("S"), FREE)), YES);
    let refusal = refused(&run, &[EffectiveStatus::Verify], begin("S"), FREE);
    assert_eq!(refusal.hints, ["piton finish S --run R --status completed"]);
}

#[test]
fn a_container_that_misses_a_child_can_be_left_out() {
    let mut run = one(StepKind::Container, Status::Pending);
    run.steps[0].dangling = vec!["GONE".to_owned()];
    assert_eq!(word(&ask(&run, &[EffectiveStatus::OpenContainer], skip("S"), FREE)), YES);
}

#[test]
fn verdict_and_status_must_agree() {
    use ReviewVerdict::{Approved, ApprovedWithConditions, NeedsRevision, Rejected};
    for (verdict, completed, failed, waiting) in [
        (Approved, YES, USAGE, USAGE),
        (ApprovedWithConditions, YES, USAGE, USAGE),
        (NeedsRevision, USAGE, YES, USAGE),
        (Rejected, USAGE, YES, USAGE),
    ] {
        for (status, expected) in
            [(Status::Completed, completed), (Status::Failed, failed), (Status::WaitingApproval, waiting)]
        {
            let run = one(StepKind::Review, Status::InProgress);
            let found = ask(&run, &[EffectiveStatus::Interrupted], judge("S", status, verdict), FORCE);
            assert_eq!(word(&found), expected, "{verdict} {status}");
        }
    }
    let run = one(StepKind::Review, Status::InProgress);
    let refusal = refused(&run, &[EffectiveStatus::Interrupted], judge("S", Status::Completed, Rejected), FREE);
    assert_eq!(refusal.message, "verdict REJECTED and status completed contradict each other");
    assert_eq!(refusal.hints, ["leave out --status; the verdict decides"]);
}

#[test]
fn attempts_are_counted_here() {
    for (attempts, part, attempt) in
        [(0, None, 1), (2, None, 3), (u32::MAX, None, u32::MAX), (0, Some("P"), 1), (2, Some("P"), 2)]
    {
        let mut run = with_part(Status::Pending);
        run.steps[0].attempts = attempts;
        let change = part.map_or_else(|| begin("S"), |part| begin_part("S", part));
        let ChangeKind::Begin { attempt: counted, part: kept, .. } =
            admitted(&run, &[EffectiveStatus::Open], change, FREE)
        else {
            panic!("a begin stays a begin");
        };
        assert_eq!((counted, kept.as_deref()), (attempt, part));
    }
}

#[test]
fn failures_are_counted_here() {
    for (status, part, before, after) in [
        (Status::Failed, false, 0, 1),
        (Status::Failed, false, 2, 3),
        (Status::Failed, false, u32::MAX, u32::MAX),
        (Status::Completed, false, 2, 0),
        (Status::WaitingApproval, false, 2, 2),
        (Status::Failed, true, 2, 2),
        (Status::Completed, true, 2, 2),
    ] {
        let mut run = with_part(Status::InProgress);
        (run.steps[0].attempts, run.steps[0].failures) = (3, before);
        let outcome = Outcome { part: part.then(|| "P".to_owned()), ..outcome("S", status) };
        let change = ChangeKind::Finish(Box::new(outcome));
        let ChangeKind::Finish(outcome) = admitted(&run, &[EffectiveStatus::Interrupted], change, FREE) else {
            panic!("a finish stays a finish");
        };
        let from = if part { Status::Pending } else { Status::InProgress };
        assert_eq!((outcome.failures, outcome.attempt, outcome.from), (after, 3, Some(from)), "{status} part: {part}");
    }
}

#[test]
fn a_step_that_was_never_begun_ends_its_first_attempt() {
    let run = one(StepKind::Work, Status::Pending);
    let ChangeKind::Finish(outcome) = admitted(&run, &[EffectiveStatus::Open], finish("S", Status::Completed), FREE)
    else {
        panic!("a finish stays a finish");
    };
    assert_eq!((outcome.attempt, outcome.from), (1, Some(Status::Pending)));
}

#[test]
fn one_failure_reported_twice_counts_once() {
    let mut run = one(StepKind::Work, Status::Failed);
    run.steps[0].error = Some("tests fail".to_owned());
    for (error, expected) in [(Some("tests fail"), ALREADY), (Some("lint fails"), YES), (None, YES)] {
        let outcome = Outcome { error: error.map(str::to_owned), ..outcome("S", Status::Failed) };
        let found = ask(&run, &[EffectiveStatus::Failed], ChangeKind::Finish(Box::new(outcome)), FREE);
        assert_eq!(word(&found), expected, "{error:?}");
    }
    run.steps[0].error = None;
    assert_eq!(word(&ask(&run, &[EffectiveStatus::Failed], finish("S", Status::Failed), FREE)), YES);
}

fn with_part(status: Status) -> Run {
    let mut run = one(StepKind::Work, status);
    for (name, status) in [("P", Status::Pending), ("Q", Status::Skipped)] {
        run.steps[0].detail.parts.push(Part {
            name: name.to_owned(),
            title: String::new(),
            kind: PartKind::Work,
            status,
            output: None,
            commands: Vec::new(),
        });
    }
    run
}

#[test]
fn parts_are_looked_for() {
    let run = with_part(Status::InProgress);
    let effective_statuses = [EffectiveStatus::Interrupted];
    let part = |part: &str| Some(part.to_owned());
    let finish =
        |name: &str| ChangeKind::Finish(Box::new(Outcome { part: part(name), ..outcome("S", Status::Completed) }));
    let skip =
        |name: &str| ChangeKind::Skip { step: StepId::new("S"), part: part(name), by: None, reason: "why".to_owned() };
    for (change, expected) in [
        (begin_part("S", "P"), YES),
        (finish("P"), YES),
        (skip("P"), YES),
        (skip("Q"), ALREADY),
        (begin_part("S", "X"), "not found"),
        (finish("X"), "not found"),
        (skip("X"), "not found"),
    ] {
        assert_eq!(word(&ask(&run, &effective_statuses, change.clone(), FREE)), expected, "{change:?}");
    }
    let refusal = refused(&run, &effective_statuses, begin_part("S", "X"), FREE);
    assert_eq!((refusal.message.as_str(), refusal.texts()), ("S has no part X", vec!["its parts are P, Q".to_owned()]));
    let refusal = refused(&one(StepKind::Work, Status::InProgress), &effective_statuses, begin_part("S", "X"), FREE);
    assert_eq!(refusal.hints, ["S has no parts; leave out --part"]);
}

#[test]
fn a_part_of_a_review_needs_no_verdict_and_one_of_a_gate_closes_nothing() {
    for kind in [StepKind::Review, StepKind::Gate] {
        let mut run = with_part(Status::WaitingApproval);
        run.steps[0].kind = kind;
        let outcome = Outcome { part: Some("P".to_owned()), ..outcome("S", Status::Completed) };
        assert_eq!(word(&ask(&run, &[EffectiveStatus::Waiting], ChangeKind::Finish(Box::new(outcome)), FREE)), YES);
    }
}

#[test]
fn an_unknown_step_is_not_found() {
    let run = one(StepKind::Work, Status::Pending);
    for change in [begin("X"), finish("X", Status::Completed), approve("X"), skip("X")] {
        let refusal = refused(&run, &[EffectiveStatus::Open], change, FORCE);
        assert_eq!(refusal.kind, RefusalKind::NotFound);
        assert_eq!(refusal.message, "run R has no step X");
        assert_eq!(refusal.hints, ["`piton plan R` lists them"]);
    }
}

#[test]
fn a_newer_format_is_never_written() {
    let mut run = one(StepKind::Work, Status::Pending);
    run.writable = false;
    for change in [begin("S"), begin("X"), approve("S"), ChangeKind::Pause { reason: None }] {
        assert_eq!(refused(&run, &[EffectiveStatus::Open], change, FORCE).kind, RefusalKind::Newer);
    }
}

#[test]
fn a_skip_needs_a_reason() {
    let run = one(StepKind::Work, Status::Pending);
    let change = ChangeKind::Skip { step: StepId::new("S"), part: None, by: None, reason: " \n".to_owned() };
    let refusal = refused(&run, &[EffectiveStatus::Open], change, FORCE);
    assert_eq!(
        (refusal.kind, refusal.texts()),
        (RefusalKind::Usage, vec!["piton decide S skip --run R --by NAME --note WHY".to_owned()])
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn refusals_say_what_to_do_instead() {
    for (kind, effective_status, change, message, hints) in [
        (
            StepKind::Work,
            EffectiveStatus::Done,
            begin("S"),
            "S is already done",
            vec!["piton decide S redo --run R --by NAME --note WHY"],
        ),
        (
            StepKind::Work,
            EffectiveStatus::Skipped,
            begin("S"),
            "S was left out",
            vec!["piton decide S redo --run R --by NAME --note WHY"],
        ),
        (
            StepKind::Work,
            EffectiveStatus::Verify,
            begin("S"),
            "the evidence says that S is done, but its state does not: check it before running it again",
            vec!["piton finish S --run R --status completed", "piton decide S redo --run R --by NAME --note WHY"],
        ),
        (
            StepKind::Work,
            EffectiveStatus::Waiting,
            begin("S"),
            "S waits for a person's approval",
            vec!["piton decide S approve --run R --by NAME"],
        ),
        (
            StepKind::Work,
            EffectiveStatus::Unreadable,
            begin("S"),
            "the state of S cannot be interpreted; the step is left alone",
            vec!["piton validate R"],
        ),
        (
            StepKind::Gate,
            EffectiveStatus::Open,
            begin("S"),
            "S (Title of S) is a gate: a person approves it",
            vec!["piton decide S approve --run R --by NAME"],
        ),
        (
            StepKind::Gate,
            EffectiveStatus::Done,
            begin("S"),
            "S (Title of S) is a gate and already approved",
            vec!["piton plan R"],
        ),
        (
            StepKind::Container,
            EffectiveStatus::OpenContainer,
            begin("S"),
            "S has no work of its own; run its child steps",
            vec!["piton plan R"],
        ),
        (
            StepKind::Gate,
            EffectiveStatus::Waiting,
            finish("S", Status::Completed),
            "S (Title of S) is a gate: only a person's approval closes it",
            vec!["piton decide S approve --run R --by NAME"],
        ),
        (
            StepKind::Work,
            EffectiveStatus::Waiting,
            finish("S", Status::Completed),
            "S (Title of S) waits for approval: only a person's approval closes it",
            vec!["piton decide S approve --run R --by NAME"],
        ),
        (
            StepKind::Review,
            EffectiveStatus::Interrupted,
            finish("S", Status::Completed),
            "S (Title of S) is a review: its verdict is needed",
            vec!["piton finish S --run R --verdict VERDICT"],
        ),
        (
            StepKind::Work,
            EffectiveStatus::Done,
            finish("S", Status::Failed),
            "S is recorded as completed; failed would undo that",
            vec!["piton decide S redo --run R --by NAME --note WHY"],
        ),
        (
            StepKind::Work,
            EffectiveStatus::Open,
            approve("S"),
            "S (Title of S) does not wait for approval; it is completed",
            vec!["piton plan R"],
        ),
        (
            StepKind::Gate,
            EffectiveStatus::Open,
            skip("S"),
            "S (Title of S) cannot be skipped: a gate is approved, never skipped",
            vec!["piton plan R"],
        ),
    ] {
        let refusal = refused(&one(kind, Status::Completed), &[effective_status], change, FREE);
        assert_eq!(
            (refusal.message.as_str(), refusal.texts()),
            (message, hints.iter().map(|hint| (*hint).to_owned()).collect())
        );
    }
}

#[test]
fn ids_in_hints_are_quoted_and_files_are_named() {
    let mut run = one(StepKind::Work, Status::Pending);
    run.id = RunId::new("my run");
    run.steps[0].id = StepId::new("a'b");
    run.steps[0].file = Some(path("IMPL-1.json"));
    let refusal = refused(&run, &[EffectiveStatus::Done], begin("a'b"), FREE);
    assert_eq!(refusal.hints, [r"piton decide 'a'\''b' redo --run 'my run' --by NAME --note WHY"]);
    let refusal = refused(&run, &[EffectiveStatus::Unreadable], begin("a'b"), FREE);
    assert_eq!(refusal.message, "the state of a'b in IMPL-1.json cannot be interpreted; the step is left alone");
}

#[test]
fn a_new_run_is_never_refused_for_what_is_in_it() {
    let spec =
        serde_json::json!({"at": "2026-01-01T00:00:00Z", "change": "start", "workflow": "nine-step", "feature": "x"});
    let change: Change = serde_json::from_value(spec).unwrap();
    assert_eq!(word(&admit(&run_of(&[]), (&Evidence::default(), &[]), change, FREE, None)), YES);
}
