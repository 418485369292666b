//! What people are shown of each step: its mark, its reason, and its attempts.

use super::{
    reconcile_tests::{file, record},
    reports_tests::{begun, decided, report},
    shown_steps,
    testing::{at, line_of, options, path, planned, present, review, step},
};
use crate::model::{
    AttemptEnd, DecisionKind, Evidence, EvidenceRecord, FileFact, Outcome, OutputRecord, Presence, ReviewVerdict, Run,
    ShownStep, Statement, StatementKind, Status, Step, StepId, StepKind, StepMark, Timestamp,
};

fn shown(run: &Run, evidence: &Evidence) -> Vec<ShownStep> {
    shown_steps(run, evidence, &planned(run, evidence, &options()))
}

fn told(statements: Vec<Statement>) -> Evidence {
    Evidence { statements, ..Evidence::default() }
}

#[test]
fn a_mark_says_what_is_known_of_a_step() {
    let proved = told(vec![decided(&line_of(&[]), 5, "A", DecisionKind::Accept)]);
    let rejected = told(vec![decided(&line_of(&[]), 5, "A", DecisionKind::Override)]);
    let nothing = Evidence::default();
    for (status, kind, idempotent, evidence, expected) in [
        (Status::Completed, StepKind::Work, true, &nothing, StepMark::Claimed),
        (Status::Completed, StepKind::Work, true, &proved, StepMark::Proved),
        (Status::Completed, StepKind::Work, true, &rejected, StepMark::Claimed),
        (Status::Completed, StepKind::Container, true, &nothing, StepMark::Proved),
        (Status::Pending, StepKind::Work, true, &nothing, StepMark::Open),
        (Status::Pending, StepKind::Gate, true, &nothing, StepMark::Gate),
        (Status::WaitingApproval, StepKind::Work, true, &nothing, StepMark::Gate),
        (Status::InProgress, StepKind::Work, true, &nothing, StepMark::Interrupted),
        (Status::InProgress, StepKind::Work, false, &nothing, StepMark::Unknown),
        (Status::Failed, StepKind::Work, true, &nothing, StepMark::Failed),
        (Status::Blocked, StepKind::Work, true, &nothing, StepMark::Blocked),
        (Status::Skipped, StepKind::Work, true, &nothing, StepMark::Skipped),
        // A child that is missing has to be looked at: nothing is known to have happened.
        (Status::Pending, StepKind::Container, true, &nothing, StepMark::Verify),
    ] {
        let mut run = line_of(&[("A", status)]);
        run.steps[0].kind = kind;
        run.steps[0].idempotent = idempotent;
        assert_eq!(shown(&run, evidence)[0].mark, expected, "{status} {kind:?} {idempotent}");
    }
}

#[test]
fn a_step_that_is_not_next_says_what_it_waits_for() {
    let mut run =
        line_of(&[("A", Status::Pending), ("B", Status::Pending), ("C", Status::Failed), ("D", Status::Failed)]);
    step(&mut run, "B").kind = StepKind::Gate;
    step(&mut run, "C").error = Some(" \n".to_owned());
    step(&mut run, "D").error = Some("no space".to_owned());
    let said = |run: &Run| {
        let steps = shown(run, &Evidence::default()).into_iter();
        steps.map(|step| (step.reason, step.rule, step.is_next)).collect::<Vec<_>>()
    };
    let row = |reason: &str, rule: &str, is_next: bool| (reason.to_owned(), rule.to_owned(), is_next);
    assert_eq!(
        said(&run),
        [
            row("it depends on nothing", "6.next", true),
            row("a person approves it once A is done", "5", false),
            row("it failed", "4", false),
            row("no space", "4", false),
        ]
    );
    let open = line_of(&[("A", Status::Completed), ("B", Status::Pending), ("C", Status::Pending)]);
    let rows = said(&open);
    assert_eq!(rows[0], row("the state says so; nothing else shows it", "3", false));
    assert_eq!(rows[2], row("waits for B", "6", false));
}

/// An attempt as its number, begin, end, kind of end and words.
type Row = (u32, Option<Timestamp>, Option<Timestamp>, AttemptEnd, Option<&'static str>);

#[test]
fn attempts_are_those_of_the_log_and_else_the_last_one_of_the_state() {
    use AttemptEnd::{Completed, Failed, Interrupted};
    let run = line_of(&[("A", Status::InProgress)]);
    let numbered = |mut statement: Statement, number: u32, of_part: bool| {
        let part = of_part.then(|| "p".to_owned());
        match &mut statement.kind {
            StatementKind::Begun(begun) => (begun.attempt, begun.part) = (number, part),
            StatementKind::Report(report) => (report.attempt, report.part) = (number, part),
            StatementKind::Decision(_) => {}
        }
        statement
    };
    let begin = |seconds: i64, number: u32| numbered(begun(&run, seconds, "A"), number, false);
    let end = |seconds: i64, number: u32, change: fn(&mut Outcome)| {
        numbered(report(&run, seconds, "A", change), number, false)
    };
    let failed = |outcome: &mut Outcome| (outcome.status, outcome.error) = (Status::Failed, Some("no".to_owned()));
    let of_state = |change: fn(&mut Run)| {
        let mut run = run.clone();
        change(&mut run);
        run
    };
    let time = |seconds: i64| Some(at(seconds));
    let cases: Vec<(&str, Run, Vec<Statement>, Vec<Row>)> = vec![
        ("begun", run.clone(), vec![begin(5, 1)], vec![(1, time(5), None, Interrupted, None)]),
        (
            "ended",
            run.clone(),
            vec![begin(5, 1), end(6, 1, |_| {})],
            vec![(1, time(5), time(6), Completed, Some("A at 6"))],
        ),
        (
            "failed, then begun again",
            of_state(|run| run.steps[0].attempts = 2),
            vec![begin(5, 1), end(6, 1, failed), begin(7, 2)],
            vec![(1, time(5), time(6), Failed, Some("no")), (2, time(7), None, Interrupted, None)],
        ),
        (
            "ended twice",
            run.clone(),
            vec![begin(5, 1), end(6, 1, failed), end(7, 1, |_| {})],
            vec![(1, time(5), time(6), Failed, Some("no")), (1, None, time(7), Completed, Some("A at 7"))],
        ),
        (
            "parts are no attempts",
            run.clone(),
            vec![numbered(begun(&run, 5, "A"), 1, true), numbered(report(&run, 6, "A", |_| {}), 1, true)],
            vec![(1, None, None, Interrupted, None)],
        ),
        ("only in the state", run.clone(), vec![], vec![(1, None, None, Interrupted, None)]),
        ("never begun", of_state(|run| run.steps[0].status = Status::Pending), vec![], vec![]),
        (
            "failed, as the state says",
            of_state(|run| {
                let step = &mut run.steps[0];
                (step.status, step.error, step.attempts) = (Status::Failed, Some("no".to_owned()), 2);
                (step.started_at, step.finished_at) = (Some(at(3)), Some(at(4)));
            }),
            vec![],
            vec![(2, time(3), time(4), Failed, Some("no"))],
        ),
        (
            "begun again, with the end of the attempt before",
            of_state(|run| {
                let step = &mut run.steps[0];
                (step.status, step.started_at, step.finished_at) = (Status::Completed, Some(at(5)), Some(at(4)));
            }),
            vec![],
            vec![(1, time(5), None, Completed, None)],
        ),
    ];
    for (what, run, statements, expected) in cases {
        let attempts = shown(&run, &told(statements)).remove(0).attempts;
        let rows = attempts.iter().map(|one| (one.number, one.began, one.ended, one.end, one.said.as_deref()));
        assert_eq!(rows.collect::<Vec<_>>(), expected, "{what}");
    }
}

#[test]
fn an_attempt_names_its_agent_and_session_and_says_whether_it_runs() {
    let mut run = line_of(&[("A", Status::InProgress)]);
    step(&mut run, "A").attempts = 1;
    step(&mut run, "A").agent = Some("developer".to_owned());
    let mut statement = begun(&run, 5, "A");
    if let StatementKind::Begun(begun) = &mut statement.kind {
        begun.agent = Some("coder".to_owned());
        begun.driver.as_mut().unwrap().session = Some("s-1".to_owned());
    }
    for (presence, mark, end) in [
        (Presence::Alive, StepMark::Running, AttemptEnd::Running),
        (Presence::Caller, StepMark::Running, AttemptEnd::Running),
        (Presence::Unknown, StepMark::Unknown, AttemptEnd::Interrupted),
        (Presence::Gone, StepMark::Interrupted, AttemptEnd::Interrupted),
    ] {
        let presences = [((StepId::new("A"), 1), presence)].into();
        let step = shown(&run, &Evidence { presences, ..told(vec![statement.clone()]) }).remove(0);
        assert_eq!((step.mark, step.attempts[0].end), (mark, end), "{presence:?}");
        let attempt = &step.attempts[0];
        assert_eq!((attempt.agent.as_deref(), attempt.session.as_deref()), (Some("coder"), Some("s-1")));
    }
    let recorded = shown(&run, &Evidence::default()).remove(0);
    assert_eq!(recorded.attempts[0].agent.as_deref(), Some("developer"));
}

#[test]
fn a_file_says_whether_it_is_as_the_step_left_it() {
    let mut run = line_of(&[("A", Status::Completed)]);
    step(&mut run, "A").proof.outputs = vec![path("out.json")];
    let unread = |bytes: u64| FileFact::Present { bytes, modified: None, sha256: None, parses: None, violation: None };
    for (fact, records, says, done) in [
        (present(at(0)), vec![], "is there, 10 bytes", true),
        (present(at(0)), vec![record("A", 5, "aa")], "is as the step left it", true),
        (present(at(0)), vec![record("A", 5, "bb")], "was changed since", false),
        (unread(10), vec![record("A", 5, "bb")], "is as the step left it", true),
        (unread(11), vec![record("A", 5, "bb")], "is there, 11 bytes", true),
        (FileFact::Missing, vec![], "is missing", false),
    ] {
        let witnesses = shown(&run, &Evidence { records, ..file(fact) }).remove(0).witnesses;
        assert_eq!((witnesses[0].says.as_str(), witnesses[0].done), (says, done));
    }
    // The record of another file says nothing about this one.
    let other = OutputRecord { path: path("b.json"), sha256: "bb".to_owned(), bytes: 1 };
    let records = vec![EvidenceRecord { outputs: vec![other], ..record("A", 5, "bb") }];
    let witnesses = shown(&run, &Evidence { records, ..file(present(at(0))) }).remove(0).witnesses;
    assert_eq!(witnesses[0].says, "is there, 10 bytes");
}

#[test]
fn work_that_a_review_sends_back_is_not_shown_as_done() {
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::Completed), ("V", Status::Failed)]);
    step(&mut run, "V").kind = StepKind::Review;
    step(&mut run, "V").review = review(ReviewVerdict::NeedsRevision);
    step(&mut run, "V").returns_to = Some(StepId::new("A"));
    let steps = shown(&run, &Evidence::default());
    assert_eq!([steps[0].mark, steps[1].mark], [StepMark::Invalid, StepMark::Claimed]);
    assert_eq!([steps[0].is_again, steps[1].is_again, steps[2].is_again], [true, true, false]);
}

#[test]
fn a_step_has_an_attempt_if_anything_says_that_it_was_begun() {
    type Trace = fn(&mut Step);
    let traces: [(&str, Trace, bool); 5] = [
        ("nothing", |_| {}, false),
        ("its begin", |step| step.started_at = Some(at(1)), true),
        ("its end", |step| step.finished_at = Some(at(1)), true),
        ("its attempts", |step| step.attempts = 1, true),
        ("its status", |step| step.status = Status::Failed, true),
    ];
    for (what, trace, expected) in traces {
        let mut run = line_of(&[("A", Status::Pending)]);
        trace(step(&mut run, "A"));
        assert_eq!(!shown(&run, &Evidence::default())[0].attempts.is_empty(), expected, "{what}");
    }
}

#[test]
fn an_attempt_that_the_evidence_ends_was_not_cut_off() {
    for (fact, expected) in [(Some(present(at(0))), AttemptEnd::Completed), (None, AttemptEnd::Interrupted)] {
        let mut run = line_of(&[("A", Status::InProgress)]);
        step(&mut run, "A").proof.outputs = vec![path("out.json")];
        let evidence = fact.map(file).unwrap_or_default();
        assert_eq!(shown(&run, &evidence)[0].attempts[0].end, expected);
    }
}
