//! The whole table: every standing, every kind of step, every change.

use super::Admitted;
use super::Guard;
use super::Refusal;
use super::RefusalKind;
use super::admit;
use crate::engine::Standing;
use crate::engine::fixtures::at;
use crate::engine::fixtures::path;
use crate::engine::fixtures::review;
use crate::engine::fixtures::run_of;
use crate::engine::fixtures::step;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Outcome;
use crate::model::Part;
use crate::model::PartKind;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::RunId;
use crate::model::RunStatus;
use crate::model::Status;
use crate::model::StepId;
use crate::model::StepKind;

const FREE: Guard = Guard { force: false, attempt_limit: 3 };
const FORCE: Guard = Guard { force: true, attempt_limit: 3 };

/// Every standing, with a status that a step of that standing may have.
const STANDINGS: [(Standing, Status); 14] = [
    (Standing::Done, Status::Completed),
    (Standing::Done, Status::InProgress),
    (Standing::Skipped, Status::Skipped),
    (Standing::Cancelled, Status::Cancelled),
    (Standing::Open, Status::Pending),
    (Standing::Interrupted, Status::InProgress),
    (Standing::Failed, Status::Failed),
    (Standing::Waiting, Status::WaitingApproval),
    (Standing::Conditions, Status::Completed),
    (Standing::Verify, Status::Pending),
    (Standing::Invalid, Status::Completed),
    (Standing::Blocked, Status::Blocked),
    (Standing::Held, Status::Blocked),
    (Standing::OpenContainer, Status::Pending),
];

const YES: &str = "yes";
const ALREADY: &str = "already";
const NO: &str = "no";
const PERSON: &str = "person";
const USAGE: &str = "usage";

fn word(result: &Result<Admitted, Refusal>) -> &'static str {
    match result {
        Ok(Admitted::Change(_)) => YES,
        Ok(Admitted::Already(_)) => ALREADY,
        Err(refusal) => match refusal.kind {
            RefusalKind::NotFound => "not found",
            RefusalKind::No => NO,
            RefusalKind::Person => PERSON,
            RefusalKind::Usage => USAGE,
            RefusalKind::Newer => "newer",
        },
    }
}

fn ask(run: &Run, standings: &[Standing], kind: ChangeKind, guard: Guard) -> Result<Admitted, Refusal> {
    admit(run, standings, Change { at: at(0), kind }, guard)
}

fn admitted(run: &Run, standings: &[Standing], kind: ChangeKind, guard: Guard) -> ChangeKind {
    match ask(run, standings, kind, guard).unwrap() {
        Admitted::Change(change) => {
            assert_eq!(change.at, at(0));
            change.kind
        }
        Admitted::Already(message) => panic!("already: {message}"),
    }
}

fn refused(run: &Run, standings: &[Standing], kind: ChangeKind, guard: Guard) -> Refusal {
    ask(run, standings, kind, guard).unwrap_err()
}

fn begin(id: &str) -> ChangeKind {
    ChangeKind::Begin { step: StepId::new(id), part: None, agent: None, attempt: 99 }
}

fn begin_part(id: &str, part: &str) -> ChangeKind {
    ChangeKind::Begin { step: StepId::new(id), part: Some(part.to_owned()), agent: None, attempt: 99 }
}

fn outcome(id: &str, status: Status) -> Outcome {
    serde_json::from_value(serde_json::json!({"step": id, "status": status, "attempt": 99, "failures": 99})).unwrap()
}

fn finish(id: &str, status: Status) -> ChangeKind {
    ChangeKind::Finish(Box::new(outcome(id, status)))
}

fn judge(id: &str, status: Status, verdict: ReviewVerdict) -> ChangeKind {
    ChangeKind::Finish(Box::new(Outcome { verdict: Some(verdict), ..outcome(id, status) }))
}

fn approve(id: &str) -> ChangeKind {
    ChangeKind::Approve { step: StepId::new(id), by: None, note: None }
}

fn skip(id: &str) -> ChangeKind {
    ChangeKind::Skip { step: StepId::new(id), part: None, reason: "not needed".to_owned() }
}

fn one(kind: StepKind, status: Status) -> Run {
    let mut run = run_of(&[("S", &[])]);
    run.steps[0].kind = kind;
    run.steps[0].status = status;
    if kind == StepKind::Container {
        run.steps[0].children = vec![StepId::new("A"), StepId::new("B")];
    }
    run
}

/// Asks for one change of one step in every standing and compares with a column of the table.
fn column(kind: StepKind, change: impl Fn() -> ChangeKind, guard: Guard, expected: [&str; 14]) {
    let found = STANDINGS.map(|(standing, status)| word(&ask(&one(kind, status), &[standing], change(), guard)));
    assert_eq!(found, expected, "{kind:?}, {:?}, force: {}", change(), guard.force);
}

#[test]
fn what_may_begin() {
    for kind in [StepKind::Work, StepKind::Review] {
        // Done, done by evidence, skipped, cancelled, open, interrupted, failed, waiting, conditions, verify, invalid, blocked,
        // held, open container.
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
    for guard in [FREE, FORCE] {
        let mut gate = [PERSON; 14];
        gate[..2].fill(NO);
        column(StepKind::Gate, || begin("S"), guard, gate);
        column(StepKind::Container, || begin("S"), guard, [NO; 14]);
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
    for guard in [FREE, FORCE] {
        column(StepKind::Gate, completed, guard, [PERSON; 14]);
        let mut container = [NO; 14];
        container[9] = YES;
        container[12] = PERSON;
        column(StepKind::Container, completed, guard, container);
    }
}

#[test]
fn what_may_be_finished_otherwise() {
    for status in [Status::Failed, Status::WaitingApproval] {
        let mut expected = [YES; 14];
        expected[0] = NO;
        expected[12] = PERSON;
        for kind in [StepKind::Work, StepKind::Review, StepKind::Gate] {
            column(kind, || finish("S", status), FREE, expected);
        }
        expected[0] = YES;
        column(StepKind::Work, || finish("S", status), FORCE, expected);
    }
    for status in [Status::Pending, Status::InProgress, Status::Blocked, Status::Skipped, Status::Cancelled] {
        column(StepKind::Work, || finish("S", status), FORCE, [USAGE; 14]);
    }
}

#[test]
fn what_may_be_approved() {
    for guard in [FREE, FORCE] {
        let work = [ALREADY, ALREADY, NO, NO, NO, NO, NO, YES, YES, NO, NO, NO, PERSON, NO];
        column(StepKind::Work, || approve("S"), guard, work);
        column(StepKind::Container, || approve("S"), guard, work);
        let mut review = work;
        review[6] = YES;
        column(StepKind::Review, || approve("S"), guard, review);
        let gate = [ALREADY, ALREADY, NO, NO, YES, YES, YES, YES, YES, YES, YES, YES, PERSON, NO];
        column(StepKind::Gate, || approve("S"), guard, gate);
    }
}

#[test]
fn what_may_be_skipped() {
    for guard in [FREE, FORCE] {
        let work = [NO, NO, ALREADY, YES, YES, YES, YES, PERSON, YES, YES, YES, YES, PERSON, YES];
        column(StepKind::Work, || skip("S"), guard, work);
        let container = [NO, NO, ALREADY, NO, NO, NO, NO, NO, NO, NO, NO, NO, PERSON, NO];
        column(StepKind::Container, || skip("S"), guard, container);
        let mut never = [PERSON; 14];
        never[..3].copy_from_slice(&[NO, NO, ALREADY]);
        column(StepKind::Review, || skip("S"), guard, never);
        column(StepKind::Gate, || skip("S"), guard, never);
    }
}

#[test]
fn a_container_without_children_can_be_closed_and_left_out() {
    let mut run = one(StepKind::Container, Status::Pending);
    run.steps[0].children.clear();
    assert_eq!(word(&ask(&run, &[Standing::Verify], finish("S", Status::Completed), FREE)), YES);
    assert_eq!(word(&ask(&run, &[Standing::Verify], skip("S"), FREE)), YES);
    let refusal = refused(&run, &[Standing::Verify], begin("S"), FREE);
    assert_eq!(refusal.hints, ["piton finish S --run R --status completed"]);
}

#[test]
fn verdict_and_status_must_agree() {
    use ReviewVerdict::Approved;
    use ReviewVerdict::ApprovedWithConditions;
    use ReviewVerdict::NeedsRevision;
    use ReviewVerdict::Rejected;
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
            let found = ask(&run, &[Standing::Interrupted], judge("S", status, verdict), FORCE);
            assert_eq!(word(&found), expected, "{verdict} {status}");
        }
    }
    let run = one(StepKind::Review, Status::InProgress);
    let refusal = refused(&run, &[Standing::Interrupted], judge("S", Status::Completed, Rejected), FREE);
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
        let ChangeKind::Begin { attempt: counted, part: kept, .. } = admitted(&run, &[Standing::Open], change, FREE)
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
        let ChangeKind::Finish(outcome) = admitted(&run, &[Standing::Interrupted], change, FREE) else {
            panic!("a finish stays a finish");
        };
        let from = if part { Status::Pending } else { Status::InProgress };
        assert_eq!((outcome.failures, outcome.attempt, outcome.from), (after, 3, Some(from)), "{status} part: {part}");
    }
}

#[test]
fn a_step_that_was_never_begun_ends_its_first_attempt() {
    let run = one(StepKind::Work, Status::Pending);
    let ChangeKind::Finish(outcome) = admitted(&run, &[Standing::Open], finish("S", Status::Completed), FREE) else {
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
        let found = ask(&run, &[Standing::Failed], ChangeKind::Finish(Box::new(outcome)), FREE);
        assert_eq!(word(&found), expected, "{error:?}");
    }
    run.steps[0].error = None;
    assert_eq!(word(&ask(&run, &[Standing::Failed], finish("S", Status::Failed), FREE)), YES);
}

fn with_part(status: Status) -> Run {
    let mut run = one(StepKind::Work, status);
    for (name, status) in [("P", Status::Pending), ("Q", Status::Skipped)] {
        run.steps[0].parts.push(Part {
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
    let standings = [Standing::Interrupted];
    let part = |part: &str| Some(part.to_owned());
    let finish =
        |name: &str| ChangeKind::Finish(Box::new(Outcome { part: part(name), ..outcome("S", Status::Completed) }));
    let skip = |name: &str| ChangeKind::Skip { step: StepId::new("S"), part: part(name), reason: "why".to_owned() };
    for (change, expected) in [
        (begin_part("S", "P"), YES),
        (finish("P"), YES),
        (skip("P"), YES),
        (skip("Q"), ALREADY),
        (begin_part("S", "X"), "not found"),
        (finish("X"), "not found"),
        (skip("X"), "not found"),
    ] {
        assert_eq!(word(&ask(&run, &standings, change.clone(), FREE)), expected, "{change:?}");
    }
    let refusal = refused(&run, &standings, begin_part("S", "X"), FREE);
    assert_eq!((refusal.message.as_str(), refusal.hints), ("S has no part X", vec!["its parts are P, Q".to_owned()]));
    let refusal = refused(&one(StepKind::Work, Status::InProgress), &standings, begin_part("S", "X"), FREE);
    assert_eq!(refusal.hints, ["S has no parts; leave out --part"]);
}

#[test]
fn a_part_of_a_review_needs_no_verdict_and_one_of_a_gate_closes_nothing() {
    for kind in [StepKind::Review, StepKind::Gate] {
        let mut run = with_part(Status::WaitingApproval);
        run.steps[0].kind = kind;
        let outcome = Outcome { part: Some("P".to_owned()), ..outcome("S", Status::Completed) };
        assert_eq!(word(&ask(&run, &[Standing::Waiting], ChangeKind::Finish(Box::new(outcome)), FREE)), YES);
    }
}

#[test]
fn an_unknown_step_is_not_found() {
    let run = one(StepKind::Work, Status::Pending);
    for change in [begin("X"), finish("X", Status::Completed), approve("X"), skip("X")] {
        let refusal = refused(&run, &[Standing::Open], change, FORCE);
        assert_eq!(refusal.kind, RefusalKind::NotFound);
        assert_eq!(refusal.message, "run R has no step X");
        assert_eq!(refusal.hints, ["piton plan R lists them"]);
    }
}

#[test]
fn a_newer_format_is_never_written() {
    let mut run = one(StepKind::Work, Status::Pending);
    run.writable = false;
    for change in [begin("S"), begin("X"), approve("S"), ChangeKind::Pause { reason: None }] {
        assert_eq!(refused(&run, &[Standing::Open], change, FORCE).kind, RefusalKind::Newer);
    }
}

#[test]
fn a_skip_needs_a_reason() {
    let run = one(StepKind::Work, Status::Pending);
    let change = ChangeKind::Skip { step: StepId::new("S"), part: None, reason: " \n".to_owned() };
    let refusal = refused(&run, &[Standing::Open], change, FORCE);
    assert_eq!(
        (refusal.kind, refusal.hints),
        (RefusalKind::Usage, vec!["piton skip S --run R --reason ...".to_owned()])
    );
}

#[test]
fn dependencies_come_first_unless_forced() {
    let mut run = run_of(&[("A", &[]), ("B", &["A"])]);
    for (standing, expected) in STANDINGS
        .map(|(standing, _)| (standing, if matches!(standing, Standing::Done | Standing::Skipped) { YES } else { NO }))
    {
        let standings = [standing, Standing::Open];
        assert_eq!(word(&ask(&run, &standings, begin("B"), FREE)), expected, "{standing:?}");
        assert_eq!(word(&ask(&run, &standings, finish("B", Status::Completed), FREE)), expected, "{standing:?}");
        assert_eq!(word(&ask(&run, &standings, begin("B"), FORCE)), YES, "{standing:?}");
    }
    step(&mut run, "B").dangling = vec!["GONE".to_owned()];
    let standings = [Standing::Open, Standing::Open];
    let refusal = refused(&run, &standings, begin("B"), FREE);
    assert_eq!((refusal.kind, refusal.message.as_str()), (RefusalKind::No, "B still waits for A, GONE"));
    assert_eq!(refusal.hints, ["piton plan R", "piton begin B --run R --force"]);
    let refusal = refused(&run, &standings, finish("B", Status::Completed), FREE);
    assert_eq!(refusal.hints, ["piton plan R", "piton finish B --run R --force"]);
}

#[test]
fn what_was_begun_may_end_whatever_it_waits_for() {
    let mut run = run_of(&[("A", &[]), ("B", &["A"])]);
    step(&mut run, "B").status = Status::InProgress;
    for standing in [Standing::Interrupted, Standing::Verify] {
        let found = ask(&run, &[Standing::Open, standing], finish("B", Status::Completed), FREE);
        assert_eq!(word(&found), YES, "{standing:?}");
    }
}

/// A gate `G` or review, work `W` behind it and `X` behind that.
fn gated(kind: StepKind) -> Run {
    let mut run = run_of(&[("G", &[]), ("W", &["G"]), ("X", &["W"])]);
    run.steps[0].kind = kind;
    run
}

#[test]
fn nothing_steps_over_a_gate_or_a_review() {
    for (kind, hint) in [(StepKind::Gate, "piton approve G --run R"), (StepKind::Review, "piton begin G --run R")] {
        let run = gated(kind);
        for (standing, status) in STANDINGS.into_iter().filter(|(standing, _)| !standing.satisfies()) {
            let mut run = run.clone();
            run.steps[0].status = status;
            for (id, behind) in [("W", Standing::Open), ("X", Standing::Done), ("X", Standing::Verify)] {
                let standings = [standing, if id == "W" { behind } else { Standing::Done }, behind];
                for change in [begin(id), finish(id, Status::Completed)] {
                    if behind == Standing::Done && matches!(change, ChangeKind::Finish(_)) {
                        continue;
                    }
                    let refusal = refused(&run, &standings, change, FORCE);
                    let message = format!("{id} comes after G (Title of G), which is {status}");
                    assert_eq!((refusal.kind, refusal.message), (RefusalKind::Person, message), "{standing:?} {id}");
                    assert_eq!(refusal.hints, [hint]);
                }
            }
        }
        for standing in [Standing::Done, Standing::Skipped] {
            assert_eq!(word(&ask(&run, &[standing, Standing::Open, Standing::Open], begin("W"), FREE)), YES);
        }
    }
}

#[test]
fn the_end_of_a_run_steps_over_no_gate() {
    let run = gated(StepKind::Gate);
    let complete = || ChangeKind::Complete { note: None };
    let refusal = refused(&run, &[Standing::Waiting, Standing::Open, Standing::Open], complete(), FORCE);
    assert_eq!(refusal.kind, RefusalKind::Person);
    assert_eq!(refusal.hints, ["piton approve G --run R"]);
    assert_eq!(word(&ask(&run, &[Standing::Done, Standing::Open, Standing::Open], complete(), FORCE)), YES);
}

#[test]
fn a_run_is_complete_when_nothing_is_open() {
    let ids: Vec<String> = (1..=7).map(|number| format!("S{number}")).collect();
    let steps: Vec<(&str, &[&str])> = ids.iter().map(|id| (id.as_str(), [].as_slice())).collect();
    let run = run_of(&steps);
    let complete = || ChangeKind::Complete { note: Some("bye".to_owned()) };
    for (standing, _) in STANDINGS {
        let mut standings = [Standing::Done; 7];
        standings[3] = standing;
        let over = matches!(standing, Standing::Done | Standing::Skipped | Standing::Cancelled);
        assert_eq!(word(&ask(&run, &standings, complete(), FREE)), if over { YES } else { NO }, "{standing:?}");
        assert_eq!(word(&ask(&run, &standings, complete(), FORCE)), YES, "{standing:?}");
    }
    let refusal = refused(&run, &[Standing::Open; 7], complete(), FREE);
    assert_eq!(refusal.message, "7 steps of R are not done: S1, S2, S3, S4, S5, ...");
    let mut standings = [Standing::Done; 7];
    standings[6] = Standing::Open;
    assert_eq!(refused(&run, &standings, complete(), FREE).message, "1 step of R is not done: S7");
    // A standing that nobody found out counts as open.
    assert_eq!(word(&ask(&run, &standings[..6], complete(), FREE)), NO);
    let mut over = run;
    over.status = RunStatus::Completed;
    assert_eq!(word(&ask(&over, &[Standing::Done; 7], complete(), FREE)), ALREADY);
    assert_eq!(word(&ask(&over, &standings, complete(), FREE)), NO);
}

#[test]
fn a_run_rests_unless_it_is_over() {
    use RunStatus::Aborted;
    use RunStatus::Active;
    use RunStatus::Archived;
    use RunStatus::Completed;
    use RunStatus::Paused;
    for (status, pause, abort, pause_open, abort_open) in [
        (Active, YES, YES, YES, YES),
        (Paused, ALREADY, YES, ALREADY, YES),
        (Aborted, NO, ALREADY, NO, ALREADY),
        (Completed, NO, NO, YES, YES),
        (Archived, NO, NO, YES, YES),
    ] {
        let mut run = one(StepKind::Work, Status::Pending);
        run.status = status;
        let found = [Standing::Done, Standing::Open].map(|standing| {
            [ChangeKind::Pause { reason: None }, ChangeKind::Abort { reason: None }]
                .map(|change| word(&ask(&run, &[standing], change, FREE)))
        });
        assert_eq!(found, [[pause, abort], [pause_open, abort_open]], "{status:?}");
    }
}

#[test]
fn a_run_that_was_given_up_goes_on_only_when_somebody_says_so() {
    let mut run = one(StepKind::Work, Status::InProgress);
    run.status = RunStatus::Aborted;
    let resume = || ChangeKind::Resume { steps: vec![], interruption: None, strategy: None, settled: vec![] };
    for change in [begin("S"), resume()] {
        let refusal = refused(&run, &[Standing::Interrupted], change.clone(), FREE);
        assert_eq!((refusal.kind, refusal.hints), (RefusalKind::Person, vec!["piton resume R --force".to_owned()]));
        assert_eq!(word(&ask(&run, &[Standing::Interrupted], change, FORCE)), YES);
    }
    // How a running step ended is still worth knowing.
    assert_eq!(word(&ask(&run, &[Standing::Interrupted], finish("S", Status::Completed), FREE)), YES);
}

#[test]
fn a_resume_records_nothing_that_the_evidence_does_not_say() {
    let run = run_of(&[("A", &[]), ("B", &[])]);
    let resume = |settled: &[(&str, Status)]| ChangeKind::Resume {
        steps: vec![],
        interruption: None,
        strategy: None,
        settled: settled.iter().map(|(id, status)| (StepId::new(*id), *status)).collect(),
    };
    let standings = [Standing::Done, Standing::Open];
    for (settled, expected) in [
        (vec![], YES),
        (vec![("A", Status::Completed)], YES),
        (vec![("A", Status::Completed), ("B", Status::Completed)], NO),
        (vec![("A", Status::Skipped)], NO),
        (vec![("B", Status::Pending)], NO),
        (vec![("X", Status::Completed)], "not found"),
    ] {
        assert_eq!(word(&ask(&run, &standings, resume(&settled), FORCE)), expected, "{settled:?}");
    }
}

/// Work `W` and the review `V` of it, which failed so often.
fn reviewed(failures: u32, verdict: ReviewVerdict) -> Run {
    let mut run = run_of(&[("W", &[]), ("V", &["W"])]);
    run.steps[0].status = Status::Completed;
    let review_step = step(&mut run, "V");
    review_step.kind = StepKind::Review;
    review_step.status = Status::Failed;
    review_step.failures = failures;
    review_step.returns_to = Some(StepId::new("W"));
    review_step.review = review(verdict);
    run
}

#[test]
fn a_failed_review_lets_its_work_begin_again_up_to_the_limit() {
    use ReviewVerdict::NeedsRevision;
    use ReviewVerdict::Rejected;
    let standings = [Standing::Done, Standing::Failed];
    for (failures, verdict, expected) in
        [(1, NeedsRevision, YES), (2, NeedsRevision, YES), (3, NeedsRevision, PERSON), (1, Rejected, PERSON)]
    {
        let run = reviewed(failures, verdict);
        for id in ["W", "V"] {
            assert_eq!(word(&ask(&run, &standings, begin(id), FREE)), expected, "{id} {failures} {verdict}");
            assert_eq!(word(&ask(&run, &standings, begin(id), FORCE)), YES);
        }
    }
    let refusal = refused(&reviewed(3, NeedsRevision), &standings, begin("W"), FREE);
    assert_eq!(refusal.message, "V (Title of V) failed 3 times: a person decides how to go on");
    assert_eq!(refusal.hints, ["piton approve V --run R", "piton begin W --run R --force"]);
    let refusal = refused(&reviewed(1, Rejected), &standings, begin("W"), FREE);
    assert_eq!(refusal.message, "V (Title of V) was rejected: a person decides how to go on");
}

#[test]
fn work_that_was_done_again_is_reviewed_again_and_not_worked_on_once_more() {
    let mut run = reviewed(3, ReviewVerdict::Rejected);
    step(&mut run, "V").finished_at = Some(at(10));
    step(&mut run, "W").finished_at = Some(at(20));
    let standings = [Standing::Done, Standing::Failed];
    assert_eq!(word(&ask(&run, &standings, begin("V"), FREE)), YES);
    assert_eq!(word(&ask(&run, &standings, begin("W"), FREE)), NO);
}

#[test]
fn a_caller_may_go_back_further_than_the_review_would() {
    let mut run = run_of(&[("A", &[]), ("B", &["A"]), ("V", &["B"]), ("Z", &[])]);
    let review_step = step(&mut run, "V");
    review_step.returns_to = Some(StepId::new("B"));
    review_step.failures = 1;
    let standings = [Standing::Done, Standing::Done, Standing::Failed, Standing::Done];
    assert_eq!(word(&ask(&run, &standings, begin("A"), FREE)), YES);
    assert_eq!(word(&ask(&run, &standings, begin("Z"), FREE)), NO);
    step(&mut run, "V").failures = 3;
    assert_eq!(word(&ask(&run, &standings, begin("A"), FREE)), PERSON);
}

#[test]
fn work_that_failed_too_often_is_skipped_or_forced() {
    let mut run = one(StepKind::Work, Status::Failed);
    run.steps[0].failures = 3;
    for standing in [Standing::Failed, Standing::Interrupted] {
        let refusal = refused(&run, &[standing], begin("S"), FREE);
        assert_eq!(refusal.hints, ["piton skip S --run R --reason ...", "piton begin S --run R --force"]);
    }
    let strict = Guard { force: false, attempt_limit: 4 };
    assert_eq!(word(&ask(&run, &[Standing::Failed], begin("S"), strict)), YES);
    run.steps[0].failures = u32::MAX;
    assert_eq!(word(&ask(&run, &[Standing::Failed], begin("S"), FORCE)), YES);
}

#[test]
fn refusals_say_what_to_do_instead() {
    for (kind, standing, change, message, hints) in [
        (
            StepKind::Work,
            Standing::Done,
            begin("S"),
            "S is done; nothing is done twice",
            vec!["piton begin S --run R --force"],
        ),
        (StepKind::Work, Standing::Skipped, begin("S"), "S was left out", vec!["piton begin S --run R --force"]),
        (
            StepKind::Work,
            Standing::Verify,
            begin("S"),
            "the evidence says that S is done, and its state does not: it is not run again unseen",
            vec!["piton finish S --run R --status completed", "piton begin S --run R --force"],
        ),
        (
            StepKind::Work,
            Standing::Waiting,
            begin("S"),
            "S waits for a person's approval",
            vec!["piton approve S --run R"],
        ),
        (
            StepKind::Work,
            Standing::Held,
            begin("S"),
            "what the state says of S cannot be understood; it is left alone",
            vec!["piton validate R"],
        ),
        (
            StepKind::Gate,
            Standing::Open,
            begin("S"),
            "S (Title of S) is a gate: a person approves it",
            vec!["piton approve S --run R"],
        ),
        (
            StepKind::Gate,
            Standing::Done,
            begin("S"),
            "S (Title of S) is a gate, and it is approved",
            vec!["piton plan R"],
        ),
        (
            StepKind::Container,
            Standing::OpenContainer,
            begin("S"),
            "S has no work of its own; its child steps are run",
            vec!["begin one of A, B"],
        ),
        (
            StepKind::Gate,
            Standing::Waiting,
            finish("S", Status::Completed),
            "S (Title of S) is a gate: only a person's approval closes it",
            vec!["piton approve S --run R"],
        ),
        (
            StepKind::Work,
            Standing::Waiting,
            finish("S", Status::Completed),
            "S (Title of S) waits for approval: only a person's approval closes it",
            vec!["piton approve S --run R"],
        ),
        (
            StepKind::Review,
            Standing::Interrupted,
            finish("S", Status::Completed),
            "S (Title of S) is a review: its verdict is needed",
            vec!["piton finish S --run R --verdict APPROVED"],
        ),
        (
            StepKind::Work,
            Standing::Done,
            finish("S", Status::Failed),
            "S is recorded as completed; failed would undo that",
            vec!["piton begin S --run R --force"],
        ),
        (
            StepKind::Work,
            Standing::Open,
            approve("S"),
            "S (Title of S) does not wait for approval; it is completed",
            vec!["piton plan R"],
        ),
        (
            StepKind::Gate,
            Standing::Open,
            skip("S"),
            "S (Title of S) cannot be skipped: a gate is approved, never skipped",
            vec!["piton plan R"],
        ),
    ] {
        let refusal = refused(&one(kind, Status::Completed), &[standing], change, FREE);
        assert_eq!(
            (refusal.message.as_str(), refusal.hints),
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
    let refusal = refused(&run, &[Standing::Done], begin("a'b"), FREE);
    assert_eq!(refusal.hints, [r"piton begin 'a'\''b' --run 'my run' --force"]);
    let refusal = refused(&run, &[Standing::Held], begin("a'b"), FREE);
    assert_eq!(refusal.message, "what the state says of a'b in IMPL-1.json cannot be understood; it is left alone");
}

#[test]
fn a_new_run_is_never_refused_for_what_is_in_it() {
    let spec =
        serde_json::json!({"at": "2026-01-01T00:00:00Z", "change": "start", "workflow": "nine-step", "feature": "x"});
    let change: Change = serde_json::from_value(spec).unwrap();
    assert_eq!(word(&admit(&run_of(&[]), &[], change, FREE)), YES);
}
