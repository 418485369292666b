//! What a change leaves in the log, and what the log hands to a step.

use super::{
    choose::BEGUN,
    graph::Graph,
    handed::{HalfMade, Handed, half_made, handed},
    reports::{begun_by, said, statement},
    reports_tests::{begun, decided, report},
    testing::{at, ids, line_of, path, review, run_of, step},
};
use crate::model::{
    Action, Change, ChangeKind, Decision, DecisionKind, Next, Outcome, ReviewVerdict, Run, RunStatus, Statement,
    StatementKind, Status, StepId, StepKind, testing::next_of,
};

fn of(run: &Run, kind: ChangeKind) -> Option<StatementKind> {
    statement(run, &Change { at: at(1), kind }).map(|statement| statement.kind)
}

fn decision_of(run: &Run, kind: ChangeKind) -> Option<Decision> {
    match of(run, kind)? {
        StatementKind::Decision(decision) => Some(decision),
        StatementKind::Report(_) | StatementKind::Begun(_) => None,
    }
}

fn finish(run: &Run, change: impl FnOnce(&mut Outcome)) -> Option<StatementKind> {
    let mut outcome = Outcome::completed(StepId::new("A"));
    change(&mut outcome);
    of(run, ChangeKind::Finish(Box::new(outcome)))
}

#[test]
fn a_stop_is_kept_if_a_reason_was_given_or_the_format_has_no_field_for_it() {
    let mut run = line_of(&[("A", Status::Pending)]);
    let resume = || ChangeKind::Resume { steps: Vec::new(), interruption: None, strategy: None, settled: Vec::new() };
    for stops_unrecorded in [false, true] {
        run.stops_unrecorded = stops_unrecorded;
        for reason in [None, Some("lunch".to_owned())] {
            let kept = decision_of(&run, ChangeKind::Pause { reason: reason.clone() });
            let expected = (stops_unrecorded || reason.is_some()).then_some((DecisionKind::Pause, reason.clone()));
            assert_eq!(kept.map(|kept| (kept.decision, kept.note)), expected, "{stops_unrecorded} {reason:?}");
        }
        for status in [RunStatus::Active, RunStatus::Paused, RunStatus::Aborted] {
            run.status = status;
            let kept = decision_of(&run, resume()).map(|kept| kept.decision);
            // An abort is never in the state of another system.
            let is_kept = status == RunStatus::Aborted || (stops_unrecorded && status == RunStatus::Paused);
            let expected = is_kept.then_some(DecisionKind::Resume);
            assert_eq!(kept, expected, "{stops_unrecorded} {status:?}");
        }
    }
}

#[test]
fn a_yes_is_an_approval_unless_a_no_stands() {
    for (status, verdict, expected) in [
        (Status::WaitingApproval, None, (DecisionKind::Approve, None)),
        (Status::Pending, Some(ReviewVerdict::Approved), (DecisionKind::Approve, None)),
        (Status::Failed, None, (DecisionKind::Accept, Some("failed: too slow"))),
        (Status::Failed, Some(ReviewVerdict::Approved), (DecisionKind::Accept, Some("failed: too slow"))),
        (Status::Pending, Some(ReviewVerdict::Rejected), (DecisionKind::Accept, Some("REJECTED: too slow"))),
    ] {
        let mut run = line_of(&[("A", status)]);
        step(&mut run, "A").review = verdict.and_then(review);
        step(&mut run, "A").error = Some("too slow".to_owned());
        let (by, choice) = (Some("Ada".to_owned()), Some("b".to_owned()));
        let yes = ChangeKind::Approve { step: StepId::new("A"), by, note: None, phases: None, choice };
        let kept = decision_of(&run, yes).unwrap();
        assert_eq!((kept.decision, kept.despite.as_deref()), expected, "{status:?} {verdict:?}");
        assert_eq!((kept.by.as_deref(), kept.choice.as_deref()), (Some("Ada"), Some("b")));
    }
}

#[test]
fn an_error_that_repeats_what_else_is_said_is_left_out() {
    let run = line_of(&[("A", Status::InProgress)]);
    for (error, kept) in [("down", true), ("it broke", false), ("one\ntwo", false), ("one", true)] {
        let report = finish(&run, |outcome| {
            outcome.summary = Some("it broke".to_owned());
            outcome.findings = vec!["one".to_owned(), "two".to_owned()];
            outcome.error = Some(error.to_owned());
        });
        let Some(StatementKind::Report(report)) = report else { panic!("{report:?}") };
        assert_eq!(report.error.as_deref(), Some(error).filter(|_| kept));
    }
}

#[test]
fn a_report_says_something_with_any_one_of_its_fields() {
    type Field = fn(&mut Outcome);
    let mut run = line_of(&[("A", Status::InProgress)]);
    let fields: [(&str, Field); 7] = [
        ("verdict", |outcome| outcome.verdict = Some(ReviewVerdict::Approved)),
        ("summary", |outcome| outcome.summary = Some("s".to_owned())),
        ("error", |outcome| outcome.error = Some("e".to_owned())),
        ("commit", |outcome| outcome.commit = Some("0123456".to_owned())),
        ("condition", |outcome| outcome.conditions = vec!["c".to_owned()]),
        ("finding", |outcome| outcome.findings = vec!["f".to_owned()]),
        ("file", |outcome| outcome.outputs = vec![path("a")]),
    ];
    let is_heard = |run: &Run, kind: StatementKind| {
        let statement = Statement { run: run.id.to_string(), dialect: run.dialect, kind };
        !said(run, std::slice::from_ref(&statement), &[]).0.is_empty()
    };
    for (name, field) in fields {
        assert!(is_heard(&run, finish(&run, field).unwrap()), "{name}");
        let of_part = finish(&run, |outcome| {
            outcome.part = Some("p".to_owned());
            field(outcome);
        });
        assert!(of_part.is_some(), "{name}");
    }
    assert!(!is_heard(&run, finish(&run, |_| {}).unwrap()));
    // Where the state does not say that a step was begun, the end of an attempt is only in the log.
    step(&mut run, "A").begins_unrecorded = true;
    assert!(!is_heard(&run, finish(&run, |_| {}).unwrap()));
}

/// Returns which steps report to `B`, and how many decisions reach it.
fn heard(run: &Run, statements: &[Statement]) -> (Vec<StepId>, usize) {
    let handed = handed(run, &Graph::of(run), statements, &StepId::new("B"));
    (handed.reports.into_iter().map(|report| report.step).collect(), handed.decisions.len())
}

#[test]
fn a_failure_is_handed_on_until_the_work_was_done_and_the_no_of_a_review_stays() {
    for (kind, status, expected) in [
        (StepKind::Work, Status::Failed, true),
        (StepKind::Work, Status::Completed, false),
        (StepKind::Review, Status::Completed, true),
        (StepKind::Gate, Status::Completed, false),
    ] {
        let mut run = line_of(&[("A", status), ("B", Status::Pending)]);
        step(&mut run, "A").kind = kind;
        let failed = report(&run, 1, "A", |outcome| outcome.status = Status::Failed);
        assert_eq!(heard(&run, &[failed]).0, ids(if expected { &["A"] } else { &[] }), "{kind:?} {status:?}");
    }
}

#[test]
fn a_review_is_about_what_it_stands_on_or_sends_the_run_back_to_and_speaks_until_it_passes() {
    let no = review(ReviewVerdict::NeedsRevision);
    for (what, status, review, on, back, expected) in [
        ("it stands on the step", Status::Failed, no.clone(), "B", None, true),
        ("it sends the run back", Status::Failed, no.clone(), "A", Some("B"), true),
        ("it is about another step", Status::Failed, no.clone(), "A", None, false),
        ("it is not a review", Status::Failed, None, "B", None, false),
        ("it did not say no", Status::InProgress, no, "B", None, false),
    ] {
        let mut run = run_of(&[("A", &[]), ("B", &[]), ("V", &[on])]);
        let other = step(&mut run, "V");
        (other.status, other.review, other.returns_to) = (status, review, back.map(StepId::new));
        let said = report(&run, 1, "V", |outcome| outcome.status = Status::Failed);
        assert_eq!(heard(&run, &[said]).0, ids(if expected { &["V"] } else { &[] }), "{what}");
    }
}

#[test]
fn a_part_reaches_the_next_step_behind_its_whole_and_a_stop_does_not() {
    let run = line_of(&[("A", Status::Completed), ("B", Status::Pending)]);
    let whole = report(&run, 1, "A", |_| {});
    let part = report(&run, 2, "A", |outcome| {
        outcome.part = Some("p".to_owned());
        outcome.findings = vec!["of the part".to_owned()];
    });
    let graph = Graph::of(&run);
    let reports = handed(&run, &graph, &[whole, part], &StepId::new("B")).reports;
    assert_eq!((reports[0].part.as_deref(), reports[1].part.as_deref()), (None, Some("p")));
    assert_eq!((reports[0].findings.len(), &*reports[1].findings), (0, &["of the part".to_owned()][..]));
    for (decision, reaches) in [
        (DecisionKind::Approve, 1),
        (DecisionKind::Accept, 1),
        (DecisionKind::Redo, 1),
        (DecisionKind::RollBack, 1),
        (DecisionKind::Override, 1),
        (DecisionKind::Skip, 1),
        (DecisionKind::Abort, 1),
        (DecisionKind::Pause, 0),
        (DecisionKind::Resume, 0),
    ] {
        assert_eq!(heard(&run, &[decided(&run, 1, "A", decision)]).1, reaches, "{decision:?}");
    }
}

/// What is said travels along dependencies, and along returns: to every step between the work and the review that sent it back.
#[test]
fn what_was_said_reaches_every_step_of_a_return() {
    let (work, no) = (Status::Completed, Status::Failed);
    let mut run = run_of(&[("A", &[]), ("B", &["A"]), ("V", &["B"]), ("W", &["V"]), ("Z", &["W"])]);
    for (id, back) in [("V", Some("B")), ("W", Some("A"))] {
        let review = step(&mut run, id);
        (review.kind, review.returns_to) = (StepKind::Review, back.map(StepId::new));
    }
    let said = |id: &str, status: Status, condition: Option<&str>| {
        report(&run, 1, id, |outcome| {
            outcome.status = status;
            outcome.conditions = condition.into_iter().map(str::to_owned).collect();
        })
    };
    let gone = |seconds: i64| report(&run, seconds, "gone", |_| {});
    let gone_decision = || decided(&run, 5, "gone", DecisionKind::Approve);
    let redo = |seconds: i64| decided(&run, seconds, "V", DecisionKind::Redo);
    let word = |seconds: i64, text: &str| match redo(seconds) {
        Statement { kind: StatementKind::Decision(decision), run, dialect } => {
            let decision = Decision { note: Some(text.to_owned()), ..decision };
            Statement { run, dialect, kind: StatementKind::Decision(decision) }
        }
        statement => statement,
    };
    let all = ["A", "B", "V", "W", "Z"];
    for (what, statements, reports, decisions) in [
        ("a no behind several steps", vec![said("W", no, None)], "A B V W Z", ""),
        ("a no to the step before", vec![said("V", no, None)], "B V W Z", ""),
        ("a yes goes forward", vec![said("V", work, None)], "V W Z", ""),
        ("a condition goes back", vec![said("V", work, Some("c"))], "B V W Z", ""),
        ("its own last report", vec![said("B", work, None)], "B V W Z", ""),
        ("a decision about a review", vec![redo(2)], "", "B V W Z"),
        ("each that has words", vec![word(2, "one"), word(3, "two")], "", "B B V V W W Z"),
        ("what was said at a step that is gone", vec![gone(2), gone_decision()], "A B V W Z", "A B V W Z"),
        (
            "until a step was done since",
            vec![gone(2), gone_decision(), begun(&run, 6, "A"), said("A", work, None)],
            "A B V W Z",
            "",
        ),
    ] {
        let heard = |id: &str| handed(&run, &Graph::of(&run), &statements, &StepId::new(id));
        let count = |of: fn(&Handed) -> usize| {
            let names = all.iter().flat_map(|id| std::iter::repeat_n(*id, of(&heard(id))));
            names.collect::<Vec<&str>>().join(" ")
        };
        assert_eq!(count(|handed| handed.reports.len()), reports, "{what}");
        assert_eq!(count(|handed| handed.decisions.len()), decisions, "{what}");
    }
    let several = [decided(&run, 2, "V", DecisionKind::Redo), decided(&run, 2, "B", DecisionKind::Redo)];
    let once = handed(&run, &Graph::of(&run), &several, &StepId::new("B")).decisions;
    assert_eq!(once.iter().map(|one| one.step.clone()).collect::<Vec<_>>(), [Some(StepId::new("B"))]);
}

/// A gate behind a review is about the work that the review is about.
#[test]
fn a_gate_behind_a_review_speaks_to_the_work() {
    let mut run = run_of(&[("A", &[]), ("V", &["A"]), ("G", &["V"]), ("Z", &["G"])]);
    (step(&mut run, "V").kind, step(&mut run, "V").returns_to) = (StepKind::Review, Some(StepId::new("A")));
    let statements = [decided(&run, 1, "G", DecisionKind::Approve)];
    let hears = |run: &Run, id: &str| handed(run, &Graph::of(run), &statements, &StepId::new(id)).decisions.len();
    assert_eq!(hears(&run, "A"), 0, "a step is no gate by its place alone");
    step(&mut run, "G").kind = StepKind::Gate;
    assert_eq!(["A", "V", "G", "Z"].map(|id| hears(&run, id)), [1; 4]);
}

#[test]
fn of_an_older_step_that_said_nothing_as_a_whole_its_parts_are_heard_in_a_line() {
    let run = line_of(&[("A", Status::Completed), ("B", Status::Completed), ("C", Status::Pending)]);
    let part = report(&run, 1, "A", |outcome| {
        outcome.part = Some("p".to_owned());
        outcome.findings = vec!["long".to_owned()];
    });
    let graph = Graph::of(&run);
    let of = |said: &[Statement]| handed(&run, &graph, said, &StepId::new("C")).reports;
    let alone = of(std::slice::from_ref(&part));
    assert_eq!((alone.len(), alone[0].part.as_deref(), alone[0].findings.len()), (1, Some("p"), 0));
    let whole = of(&[part, report(&run, 2, "A", |_| {})]);
    assert_eq!((whole.len(), whole[0].part.as_deref()), (1, None));
}

#[test]
fn files_may_be_half_made_since_the_first_attempt_that_was_lost_or_failed() {
    use DecisionKind::{Approve, Redo};
    let run = line_of(&[("A", Status::Pending)]);
    let end = |seconds: i64, status: Status| report(&run, seconds, "A", |outcome| outcome.status = status);
    let (begun, done, failed) = (|seconds: i64| begun(&run, seconds, "A"), Status::Completed, Status::Failed);
    let since = |seconds: i64| HalfMade::Since(at(seconds));
    for (what, statements, expected) in [
        ("never begun", vec![], HalfMade::Nothing),
        ("lost", vec![begun(1)], since(1)),
        ("lost twice", vec![begun(1), begun(2)], since(1)),
        ("failed, then lost", vec![begun(1), end(2, failed), begun(3)], since(1)),
        ("done", vec![begun(1), end(2, done)], HalfMade::Nothing),
        ("lost after it was done", vec![begun(1), end(2, done), begun(3)], since(3)),
        ("asked for again after a failure", vec![begun(1), end(2, failed), decided(&run, 3, "A", Redo)], since(1)),
        ("taken as it is", vec![begun(1), decided(&run, 2, "A", Approve)], HalfMade::Nothing),
    ] {
        let of = |action: Action, rule: &str| {
            half_made(&run, &statements, &Next { rule: rule.to_owned(), ..next_of("A", action) })
        };
        assert_eq!(of(Action::Retry, "3.interrupted"), expected, "{what}");
        assert_eq!(of(Action::Verify, "3.verify"), HalfMade::Nothing, "{what}: nothing is made");
        let goes_on = of(Action::Retry, BEGUN);
        assert_eq!(goes_on == HalfMade::Nothing, statements.is_empty(), "{what}: as recorded when it began");
        assert!(!matches!(goes_on, HalfMade::Since(_)), "{what}");
    }
}

#[test]
fn without_a_record_of_the_begin_the_state_says_when_it_was() {
    let mut run = line_of(&[("A", Status::Pending)]);
    let mut of = |status: Status, started: Option<i64>, kind: StepKind| {
        let one = step(&mut run, "A");
        (one.status, one.started_at, one.kind) = (status, started.map(at), kind);
        half_made(&run, &[], &next_of("A", Action::Retry))
    };
    let work = StepKind::Work;
    assert_eq!(of(Status::InProgress, Some(1), work), HalfMade::Since(at(1)));
    assert_eq!(of(Status::Failed, Some(1), work), HalfMade::Nothing, "a review may have sent it back");
    assert_eq!(of(Status::InProgress, None, work), HalfMade::SinceUnknown);
    assert_eq!(of(Status::Pending, Some(1), work), HalfMade::Nothing);
    assert_eq!(of(Status::InProgress, Some(1), StepKind::Review), HalfMade::Nothing, "a review makes no files");
}

#[test]
fn who_began_an_attempt_is_a_session_or_a_process() {
    let run = line_of(&[("A", Status::InProgress)]);
    let StatementKind::Begun(mut attempt) = begun(&run, 0, "A").kind else { panic!("a begin") };
    assert_eq!(begun_by(&attempt), "process 7 on h began it at 2027-01-15T08:00:00Z");
    attempt.driver.as_mut().unwrap().session = Some("s-1".to_owned());
    assert_eq!(begun_by(&attempt), "session s-1 began it at 2027-01-15T08:00:00Z");
}
