use super::{
    reports::{add_unrecorded, own_attempts, said, statement},
    testing::{at, finding, has, line_of, next_of, options, planned, review, step},
};
use crate::model::{
    About, Action, Attempt, Change, ChangeKind, Decision, DecisionKind, DriverProcess, Evidence, FindingCode, Outcome,
    Presence, Records, RelPath, ReviewVerdict, RollBackRecord, Run, RunStatus, Statement, StatementKind, Status, Step,
    StepId, StepKind, StepReport, Uid,
};

/// Records a change at this second.
fn said_at(run: &Run, seconds: i64, kind: ChangeKind) -> Option<Statement> {
    statement(run, &Change { at: at(seconds), kind })
}

/// Reports the end of a step.
pub(super) fn report(run: &Run, seconds: i64, id: &str, change: impl FnOnce(&mut Outcome)) -> Statement {
    let mut outcome = Outcome { attempt: 1, ..Outcome::completed(StepId::new(id)) };
    outcome.summary = Some(format!("{id} at {seconds}"));
    change(&mut outcome);
    said_at(run, seconds, ChangeKind::Finish(Box::new(outcome))).unwrap()
}

fn handed(run: &Run, statements: Vec<Statement>) -> (Vec<StepReport>, Vec<Decision>) {
    let plan = planned(run, &Evidence { statements, ..Evidence::default() }, &options()).plan;
    (plan.reports, plan.decisions)
}

fn summaries(reports: &[StepReport]) -> Vec<&str> {
    reports.iter().map(|report| report.summary.as_deref().unwrap()).collect()
}

/// Three steps of work, of which the third is next.
fn three() -> Run {
    line_of(&[("A", Status::Completed), ("B", Status::Completed), ("C", Status::Pending)])
}

#[test]
fn the_step_before_reports_in_full_and_older_ones_in_a_line() {
    let run = three();
    let everything = |outcome: &mut Outcome| {
        outcome.conditions = vec!["keep it small".to_owned()];
        outcome.findings = vec!["no test".to_owned()];
        outcome.outputs = vec![RelPath::parse("src/a.rs").unwrap()];
        outcome.commit = Some("0123456".to_owned());
    };
    let (reports, _) = handed(
        &run,
        vec![
            report(&run, 1, "A", everything),
            report(&run, 2, "B", |outcome| outcome.summary = Some("once".to_owned())),
            report(&run, 3, "B", everything),
        ],
    );
    assert_eq!(summaries(&reports), ["B at 3", "A at 1"], "nearest first, the last one of each step");
    assert_eq!((reports[0].conditions.len(), reports[0].findings.len(), reports[0].files.len()), (1, 1, 1));
    let short = (&reports[1].conditions, &reports[1].findings, &reports[1].files);
    assert_eq!(short, (&Vec::new(), &Vec::new(), &Vec::new()));
    assert_eq!(reports[1].commit.as_deref(), Some("0123456"));
}

#[test]
fn a_gate_stands_for_what_is_before_it() {
    let mut run = line_of(&[("A", Status::Completed), ("G", Status::Completed), ("C", Status::Pending)]);
    step(&mut run, "G").kind = StepKind::Gate;
    let found = report(&run, 1, "A", |outcome| outcome.findings = vec!["in full".to_owned()]);
    let (reports, _) = handed(&run, vec![found]);
    assert_eq!(reports[0].findings, ["in full"]);
}

#[test]
fn a_review_that_sent_the_run_back_speaks_first() {
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::Completed), ("V", Status::Failed)]);
    let failed = step(&mut run, "V");
    failed.kind = StepKind::Review;
    failed.returns_to = Some(StepId::new("B"));
    failed.review = review(ReviewVerdict::NeedsRevision);
    let (reports, _) = handed(
        &run,
        vec![
            report(&run, 1, "A", |_| {}),
            report(&run, 2, "B", |_| {}),
            report(&run, 3, "V", |outcome| {
                outcome.status = Status::Failed;
                outcome.verdict = Some(ReviewVerdict::NeedsRevision);
            }),
        ],
    );
    assert_eq!(summaries(&reports), ["V at 3", "B at 2", "A at 1"], "its own last report is behind the review");
}

#[test]
fn a_step_that_failed_hears_its_own_report() {
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::Failed)]);
    step(&mut run, "B").failures = 1;
    let failed = |outcome: &mut Outcome| outcome.status = Status::Failed;
    let (reports, _) = handed(&run, vec![report(&run, 1, "A", |_| {}), report(&run, 2, "B", failed)]);
    assert_eq!(summaries(&reports), ["B at 2", "A at 1"]);
}

#[test]
fn an_earlier_run_of_the_same_name_is_not_heard() {
    let mut run = three();
    run.started_at = Some(at(10));
    let (reports, _) = handed(&run, vec![report(&run, 5, "A", |_| {}), report(&run, 15, "B", |_| {})]);
    assert_eq!(summaries(&reports), ["B at 15"]);
}

#[test]
fn what_is_untrusted_is_cleaned_and_an_end_without_words_replaces_what_was_said() {
    let run = three();
    let hostile = |outcome: &mut Outcome| outcome.summary = Some("\u{1b}[31mred".to_owned());
    let (reports, _) = said(&run, &[report(&run, 1, "A", hostile)], &[]);
    assert_eq!(summaries(&reports), ["[31mred"]);
    let silent = Outcome::completed(StepId::new("A"));
    let silent = said_at(&run, 2, ChangeKind::Finish(Box::new(silent))).unwrap();
    let (reports, _) = handed(&run, vec![report(&run, 1, "A", hostile), silent]);
    assert_eq!(summaries(&reports), [""; 0]);
    let part = Outcome { part: Some("p".to_owned()), ..Outcome::completed(StepId::new("A")) };
    assert_eq!(said_at(&run, 1, ChangeKind::Finish(Box::new(part))), None);
}

/// Records a decision of a person about a step.
pub(super) fn decided(run: &Run, seconds: i64, id: &str, decision: DecisionKind) -> Statement {
    let kind = StatementKind::Decision(Decision {
        step: Some(StepId::new(id)),
        decision,
        at: at(seconds),
        by: Some("Ada".to_owned()),
        note: Some("the tests were wrong".to_owned()),
        choice: None,
        despite: None,
    });
    Statement { run: run.id.to_string(), dialect: run.dialect, kind }
}

/// Records the begin of an attempt.
pub(super) fn begun(run: &Run, seconds: i64, id: &str) -> Statement {
    let driver = Some(DriverProcess {
        session: None,
        pid: 7,
        process_start: None,
        boot_id: None,
        host: "h".to_owned(),
        is_client: false,
        seen: at(seconds),
    });
    let kind = StatementKind::Begun(Attempt {
        about: About::new(Uid::default(), Some(Uid::default())),
        step: StepId::new(id),
        part: None,
        at: at(seconds),
        attempt: 1,
        agent: None,
        action: Action::Run,
        reason: String::new(),
        head: None,
        half_made: None,
        driver,
    });
    Statement { run: run.id.to_string(), dialect: run.dialect, kind }
}

#[test]
fn a_decision_counts_for_one_attempt() {
    use DecisionKind::{Accept, Override, Redo};
    let mut run = line_of(&[("A", Status::Failed)]);
    step(&mut run, "A").failures = 3;
    let late = |run: &Run, seconds: i64| {
        let mut run = run.clone();
        step(&mut run, "A").finished_at = Some(at(seconds));
        run
    };
    for (what, run, statements, counts) in [
        ("nothing was decided", run.clone(), vec![], false),
        ("asked for", run.clone(), vec![decided(&run, 5, "A", Redo)], true),
        ("asked for another step", run.clone(), vec![decided(&run, 5, "Z", Redo)], false),
        ("begun since", run.clone(), vec![decided(&run, 5, "A", Redo), begun(&run, 6, "A")], false),
        ("begun before", run.clone(), vec![begun(&run, 4, "A"), decided(&run, 5, "A", Redo)], true),
        ("ended since", run.clone(), vec![decided(&run, 5, "A", Redo), report(&run, 6, "A", |_| {})], false),
        ("a part ended since", run.clone(), vec![decided(&run, 5, "A", Redo), of_part(&run, 6, "A")], true),
        ("taken back", run.clone(), vec![decided(&run, 5, "A", Redo), decided(&run, 6, "A", Accept)], false),
        ("ended later, as the state says", late(&run, 6), vec![decided(&run, 5, "A", Redo)], false),
        ("ended earlier, as the state says", late(&run, 5), vec![decided(&run, 5, "A", Redo)], true),
    ] {
        let planned = planned(&run, &Evidence { statements, ..Evidence::default() }, &options());
        assert_eq!(planned.plan.next[0].rule == "4.redo", counts, "{what}");
        assert_eq!(has(&planned, FindingCode::AttemptLimit), !counts, "{what}");
        let reason = "Ada asked for it to be done again: the tests were wrong";
        assert!(!counts || planned.plan.next[0].reason == reason, "{what}: {}", planned.plan.next[0].reason);
    }
    let mut run = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
    for (started, statements, expected) in [
        (None, vec![], vec!["run A"]),
        (None, vec![decided(&run, 5, "B", Override)], vec!["run A", "run B"]),
        (None, vec![decided(&run, 5, "B", Override), begun(&run, 6, "B")], vec!["run A"]),
        (Some(at(5)), vec![decided(&run, 5, "B", Override)], vec!["run A", "run B"]),
        (Some(at(6)), vec![decided(&run, 5, "B", Override)], vec!["run A"]),
    ] {
        step(&mut run, "B").started_at = started;
        let planned = planned(&run, &Evidence { statements, ..Evidence::default() }, &options());
        assert_eq!(next_of(&planned), expected);
    }
}

#[test]
fn a_gate_that_was_refused_is_asked_again_after_work_on_what_it_approves() {
    let mut run = line_of(&[("A", Status::Completed), ("G", Status::Failed)]);
    step(&mut run, "G").kind = StepKind::Gate;
    let no = report(&run, 5, "G", |outcome| outcome.status = Status::Failed);
    let approve = |statements: Vec<Statement>| {
        let plan = planned(&run, &Evidence { statements, ..Evidence::default() }, &options()).plan;
        plan.question().is_some_and(|question| question.option("approve").is_some())
    };
    assert!(!approve(vec![no.clone()]));
    assert!(!approve(vec![report(&run, 4, "A", |_| {}), no.clone()]), "it was refused after that");
    assert!(approve(vec![no.clone(), report(&run, 6, "A", |_| {})]));
    assert!(approve(vec![no.clone(), begun(&run, 6, "A")]));
    let planned = planned(&run, &Evidence { statements: vec![no], ..Evidence::default() }, &options());
    assert_eq!(finding(&planned, FindingCode::Rejected).step, Some(StepId::new("G")));
}

/// Changes a run by what its log says and its format has no field for.
fn with_log(run: &Run, statements: Vec<Statement>, rollbacks: &[RollBackRecord]) -> Run {
    let mut run = run.clone();
    add_unrecorded(&mut run, &statements, rollbacks);
    run
}

fn rolled_back(run: &str, seconds: i64, id: &str) -> RollBackRecord {
    let reopened = vec![StepId::new(id)];
    RollBackRecord { at: at(seconds), run: run.to_owned(), to: "last".to_owned(), reopened, commits: Vec::new() }
}

fn of_part(run: &Run, seconds: i64, id: &str) -> Statement {
    report(run, seconds, id, |outcome| outcome.part = Some("p".to_owned()))
}

#[test]
fn a_begin_without_a_field_is_known_from_the_log_until_it_ends() {
    let mut base = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
    step(&mut base, "A").begins_unrecorded = true;
    let begun = || begun(&base, 5, "A");
    let decided = |decision: DecisionKind| decided(&base, 6, "A", decision);
    for (what, statements, rollbacks, is_begun) in [
        ("nothing was said", vec![], vec![], false),
        ("begun", vec![begun()], vec![], true),
        ("ended", vec![begun(), report(&base, 6, "A", |_| {})], vec![], false),
        ("a part ended", vec![begun(), of_part(&base, 6, "A")], vec![], true),
        ("another step ended", vec![begun(), report(&base, 6, "B", |_| {})], vec![], true),
        ("decided about", vec![begun(), decided(DecisionKind::Skip)], vec![], false),
        ("a rule was overridden", vec![begun(), decided(DecisionKind::Override)], vec![], true),
        ("rolled back", vec![begun()], vec![rolled_back("R", 6, "A")], false),
        ("rolled back at that moment", vec![begun()], vec![rolled_back("R", 5, "A")], true),
        ("rolled back before", vec![begun()], vec![rolled_back("R", 4, "A")], true),
        ("another step was rolled back", vec![begun()], vec![rolled_back("R", 6, "B")], true),
        ("another run was rolled back", vec![begun()], vec![rolled_back("Q", 6, "A")], true),
    ] {
        let run = with_log(&base, statements, &rollbacks);
        let expected = if is_begun { (Status::InProgress, Some(at(5))) } else { (Status::Pending, None) };
        let found = &run.steps[0];
        assert_eq!((found.status, found.started_at), expected, "{what}");
    }
    step(&mut base, "A").begins_unrecorded = false;
    assert_eq!(with_log(&base, vec![self::begun(&base, 5, "A")], &[]).steps[0].status, Status::Pending);
}

#[test]
fn a_failure_without_a_word_is_known_from_the_log_until_something_else_is_said() {
    let mut base = line_of(&[("A", Status::InProgress), ("B", Status::Pending)]);
    step(&mut base, "A").ends.failed = false;
    step(&mut base, "A").started_at = Some(at(5));
    let failed =
        || report(&base, 6, "A", |outcome| (outcome.status, outcome.error) = (Status::Failed, Some("no".into())));
    let no = || {
        let verdict = Some(ReviewVerdict::Rejected);
        report(&base, 6, "A", |outcome| (outcome.status, outcome.verdict) = (Status::Failed, verdict))
    };
    let redo = || decided(&base, 7, "A", DecisionKind::Redo);
    let changed = |change: fn(&mut Step)| {
        let mut run = base.clone();
        change(step(&mut run, "A"));
        run
    };
    let again = |step: &mut Step| step.started_at = Some(at(7));
    let done = |step: &mut Step| step.status = Status::Completed;
    let known = |step: &mut Step| step.ends.failed = true;
    let unheard = |step: &mut Step| step.ends.refused = false;
    for (what, run, statements, rollbacks, expected) in [
        ("failed", base.clone(), vec![failed()], vec![], Status::Failed),
        ("its format has the word, and does not say it", changed(known), vec![failed()], vec![], Status::InProgress),
        ("begun again", base.clone(), vec![failed(), begun(&base, 7, "A")], vec![], Status::InProgress),
        ("begun again by another program", changed(again), vec![failed()], vec![], Status::InProgress),
        ("ended by another program", changed(done), vec![failed()], vec![], Status::Completed),
        ("a person has it done again", base.clone(), vec![failed(), redo()], vec![], Status::InProgress),
        ("rolled back", base.clone(), vec![failed()], vec![rolled_back("R", 7, "A")], Status::InProgress),
        ("a no, for which its format has a word", base.clone(), vec![no()], vec![], Status::InProgress),
        ("a no without a word", changed(unheard), vec![no()], vec![], Status::Failed),
    ] {
        let run = with_log(&run, statements, &rollbacks);
        assert_eq!(run.steps[0].status, expected, "{what}");
    }
    let run = with_log(&base, vec![failed()], &[]);
    assert_eq!((run.steps[0].error.as_deref(), run.steps[0].failures), (Some("no"), 1));
}

#[test]
fn a_revision_is_told_from_a_rejection_by_the_log() {
    use ReviewVerdict::{NeedsRevision, Rejected};
    let mut base = line_of(&[("A", Status::Completed), ("B", Status::Failed)]);
    step(&mut base, "B").kind = StepKind::Review;
    step(&mut base, "B").review = review(Rejected);
    step(&mut base, "B").finished_at = Some(at(10));
    let no = |seconds: i64, id: &str, verdict: ReviewVerdict| {
        report(&base, seconds, id, |outcome| (outcome.status, outcome.verdict) = (Status::Failed, Some(verdict)))
    };
    let part = {
        let mut part = no(11, "B", NeedsRevision);
        if let StatementKind::Report(report) = &mut part.kind {
            report.part = Some("p".to_owned());
        }
        part
    };
    let changed = |change: fn(&mut Step)| {
        let mut run = base.clone();
        change(step(&mut run, "B"));
        run
    };
    for (what, run, statements, is_revision) in [
        ("nothing was said", base.clone(), vec![], false),
        ("a revision", base.clone(), vec![no(10, "B", NeedsRevision)], true),
        ("of another step", base.clone(), vec![no(10, "A", NeedsRevision)], false),
        ("of a part", base.clone(), vec![part], false),
        ("the state was written later", base.clone(), vec![no(9, "B", NeedsRevision)], false),
        ("twice", base.clone(), vec![no(9, "B", NeedsRevision), no(10, "B", NeedsRevision)], true),
        ("a rejection at last", base.clone(), vec![no(9, "B", NeedsRevision), no(10, "B", Rejected)], false),
        ("one after a rejection", base.clone(), vec![no(9, "B", Rejected), no(10, "B", NeedsRevision)], true),
        (
            "one after a decision",
            base.clone(),
            vec![no(8, "B", NeedsRevision), decided(&base, 9, "B", DecisionKind::Redo), no(10, "B", NeedsRevision)],
            true,
        ),
        (
            "a decision about another step",
            base.clone(),
            vec![no(8, "B", NeedsRevision), decided(&base, 9, "A", DecisionKind::Redo), no(10, "B", NeedsRevision)],
            true,
        ),
        ("not failed", changed(|step| step.status = Status::Pending), vec![no(10, "B", NeedsRevision)], false),
        ("no review", changed(|step| step.kind = StepKind::Work), vec![no(10, "B", NeedsRevision)], false),
        ("no verdict", changed(|step| step.review = None), vec![no(10, "B", NeedsRevision)], false),
    ] {
        let found = with_log(&run, statements, &[]).steps.remove(1);
        let target = is_revision.then(|| StepId::new("A"));
        assert_eq!(found.returns_to, target, "{what}");
        let expected = if is_revision { review(NeedsRevision) } else { run.steps[1].review.clone() };
        assert_eq!(found.review, expected, "{what}");
    }
}

/// Attempts and failures in a row, as the journal counts them for every format.
#[test]
fn attempts_and_failures_are_counted_from_what_was_recorded() {
    use DecisionKind::{Override, Pause, Redo};
    let base = line_of(&[("A", Status::Pending), ("B", Status::Pending)]);
    let begun = |seconds: i64, number: u32| match begun(&base, seconds, "A") {
        Statement { kind: StatementKind::Begun(attempt), run, dialect } => {
            Statement { kind: StatementKind::Begun(Attempt { attempt: number, ..attempt }), run, dialect }
        }
        statement => statement,
    };
    let ended = |seconds: i64, number: u32, status: Status| {
        report(&base, seconds, "A", |outcome| (outcome.status, outcome.attempt) = (status, number))
    };
    let no = |seconds: i64, number: u32| ended(seconds, number, Status::Failed);
    let decided = |seconds: i64, decision: DecisionKind| decided(&base, seconds, "A", decision);
    for (what, statements, rollbacks, counted) in [
        ("nothing was said", vec![], vec![], (0, 0)),
        ("cut off is no failure", vec![begun(1, 1), begun(2, 2)], vec![], (2, 0)),
        ("twice", vec![begun(1, 1), no(2, 1), begun(3, 2), no(4, 2)], vec![], (2, 2)),
        ("without a begin", vec![no(2, 1), no(4, 2)], vec![], (2, 2)),
        ("a part", vec![begun(1, 1), of_part(&base, 2, "A")], vec![], (1, 0)),
        ("a success ends the row", vec![no(2, 1), ended(3, 2, Status::Completed), no(4, 3)], vec![], (3, 1)),
        ("a decision ends the row", vec![no(2, 1), no(3, 2), decided(4, Redo)], vec![], (2, 0)),
        ("an override does not", vec![no(2, 1), decided(4, Override)], vec![], (1, 1)),
        ("a pause does not", vec![no(2, 1), self::decided(&base, 4, "B", Pause)], vec![], (1, 1)),
        ("a rollback ends both", vec![no(2, 2)], vec![rolled_back("R", 3, "A")], (0, 0)),
        ("an earlier one does not", vec![no(2, 2)], vec![rolled_back("R", 1, "A")], (2, 1)),
        ("of another step", vec![no(2, 2)], vec![rolled_back("R", 3, "B")], (2, 1)),
    ] {
        let step = &with_log(&base, statements, &rollbacks).steps[0];
        assert_eq!((step.attempts, step.failures), counted, "{what}");
    }
    let mut counted = base.clone();
    (step(&mut counted, "A").attempts, step(&mut counted, "A").failures) = (4, 3);
    let step = &with_log(&counted, vec![no(2, 1)], &[]).steps[0];
    assert_eq!((step.attempts, step.failures), (4, 3), "what the format counts more counts");
}

#[test]
fn a_stop_without_a_field_is_known_from_the_log_until_it_is_lifted() {
    use DecisionKind::{Abort, Approve, Pause, Resume};
    let mut base = line_of(&[("A", Status::Pending)]);
    base.stops_unrecorded = true;
    base.stamp = Some(at(6));
    let said = |seconds: i64, decision: DecisionKind| decided(&base, seconds, "A", decision);
    let back = |run: &str, seconds: i64| vec![rolled_back(run, seconds, "A")];
    let (active, paused) = (RunStatus::Active, RunStatus::Paused);
    for (what, statements, rollbacks, expected) in [
        ("nothing was said", vec![], vec![], active),
        ("paused", vec![said(6, Pause)], vec![], paused),
        ("aborted", vec![said(6, Abort)], vec![], RunStatus::Aborted),
        ("something else since", vec![said(6, Pause), said(7, Approve), report(&base, 7, "A", |_| {})], vec![], paused),
        ("resumed", vec![said(6, Pause), said(7, Resume)], vec![], active),
        ("begun", vec![said(6, Pause), begun(&base, 7, "A")], vec![], active),
        ("written by another program since", vec![said(5, Pause)], vec![], active),
        ("that was said before", vec![said(5, Pause), said(6, Approve)], vec![], paused),
        ("rolled back since", vec![said(6, Pause)], back("R", 7), active),
        ("rolled back at that moment", vec![said(6, Pause)], back("R", 6), paused),
        ("another run was rolled back", vec![said(6, Pause)], back("Q", 7), paused),
    ] {
        let run = with_log(&base, statements, &rollbacks);
        assert_eq!(run.status, expected, "{what}");
        let reason = run.interruption.map(|interruption| interruption.reason);
        assert_eq!(reason.as_deref(), (expected == paused).then_some("the tests were wrong"), "{what}");
    }
    let status = |change: fn(&mut Run), decision: DecisionKind| {
        let mut run = base.clone();
        change(&mut run);
        let run = with_log(&run, vec![said(6, decision)], &[]);
        (run.status, run.interruption.is_some())
    };
    assert_eq!(status(|run| run.stops_unrecorded = false, Pause), (active, false));
    let no_pause = |run: &mut Run| (run.stops_unrecorded, run.records.pause) = (false, false);
    assert_eq!((status(no_pause, Pause), status(no_pause, Abort)), ((paused, true), (RunStatus::Aborted, false)));
    assert_eq!(status(|run| run.records.abort = true, Abort), (active, false));
    assert_eq!(status(|run| run.status = RunStatus::Completed, Pause), (RunStatus::Completed, false));
    // The format says that it is paused, and the log why.
    let recorded = |run: &mut Run| (run.stops_unrecorded, run.status) = (false, RunStatus::Paused);
    assert_eq!(status(recorded, Pause), (paused, true));
    assert_eq!(status(recorded, Abort), (paused, false));
}

#[test]
fn the_attempt_that_goes_on_is_the_last_one_of_a_step_in_progress() {
    let mut base = line_of(&[("A", Status::InProgress)]);
    base.records = Records::ALL;
    step(&mut base, "A").attempts = 1;
    let numbered = |seconds: i64, attempt: u32, part: Option<&str>| {
        let mut statement = begun(&base, seconds, "A");
        if let StatementKind::Begun(begun) = &mut statement.kind {
            (begun.attempt, begun.part) = (attempt, part.map(str::to_owned));
        }
        statement
    };
    let changed = |change: fn(&mut Run)| {
        let mut run = base.clone();
        change(&mut run);
        run
    };
    let paused = |run: &mut Run| run.status = RunStatus::Paused;
    for (what, run, statements, expected) in [
        ("nothing was said", base.clone(), vec![], None),
        ("the first", base.clone(), vec![numbered(5, 1, None)], Some(at(5))),
        ("one that the state does not count", base.clone(), vec![numbered(5, 2, None)], None),
        (
            "begun when the state says",
            changed(|run| run.steps[0].started_at = Some(at(5))),
            vec![numbered(5, 2, None)],
            Some(at(5)),
        ),
        (
            "begun at another time",
            changed(|run| run.steps[0].started_at = Some(at(4))),
            vec![numbered(5, 2, None)],
            None,
        ),
        ("not in progress", changed(|run| run.steps[0].status = Status::Pending), vec![numbered(5, 1, None)], None),
        ("paused", changed(paused), vec![numbered(5, 1, None)], None),
        (
            "paused, where no file says so",
            changed(|run| (run.status, run.records.pause) = (RunStatus::Paused, false)),
            vec![numbered(5, 1, None)],
            Some(at(5)),
        ),
        ("a part", base.clone(), vec![numbered(5, 1, Some("p"))], Some(at(5))),
        ("the step, then a part", base.clone(), vec![numbered(5, 1, None), numbered(6, 1, Some("p"))], Some(at(5))),
        ("begun twice", base.clone(), vec![numbered(5, 1, None), numbered(6, 1, None)], Some(at(6))),
    ] {
        let presences = [1, 2].map(|attempt| ((StepId::new("A"), attempt), Presence::Caller)).into();
        let mut evidence = Evidence { statements, presences, ..Evidence::default() };
        let own = own_attempts(&run, &evidence);
        assert_eq!(own.first().map(|attempt| attempt.at), expected, "{what}");
        evidence.presences.values_mut().for_each(|presence| *presence = Presence::Alive);
        assert_eq!(own_attempts(&run, &evidence), [], "{what}");
    }
}

#[test]
fn every_text_of_a_report_and_a_decision_is_cleaned() {
    let run = three();
    let hostile = |name: &str| format!("{name}\u{1b}[31m");
    let all = |outcome: &mut Outcome| {
        outcome.agent = Some(hostile("agent"));
        outcome.summary = Some(hostile("summary"));
        outcome.error = Some(hostile("error"));
        outcome.conditions = vec![hostile("condition")];
        outcome.findings = vec![hostile("finding")];
        outcome.commit = Some(hostile("commit"));
    };
    let mut accepted = decided(&run, 6, "B", DecisionKind::Accept);
    if let StatementKind::Decision(decision) = &mut accepted.kind {
        decision.by = Some(hostile("by"));
        decision.note = Some(hostile("note"));
        decision.choice = Some(hostile("choice"));
        decision.despite = Some(hostile("despite"));
    }
    let statements = vec![report(&run, 5, "B", all), accepted];
    for (reports, decisions) in [handed(&run, statements.clone()), said(&run, &statements, &[])] {
        let texts = serde_json::to_string(&(&reports, &decisions)).unwrap();
        let words = ["agent", "summary", "error", "condition", "finding", "commit", "by", "note", "choice", "despite"];
        for word in words {
            assert!(texts.matches(word).count() >= 2, "{word} is a key and a text: {texts}");
        }
        assert!(!texts.contains("\\u001b"), "{texts}");
    }
    assert_eq!(handed(&run, statements).0[0].error.as_deref(), Some("error[31m"));
}

#[test]
fn an_older_report_is_a_line_of_its_summary_or_error() {
    let older = line_of(&[("A", Status::Completed), ("B", Status::Completed), ("C", Status::Pending)]);
    let said = report(&older, 1, "A", |outcome| {
        outcome.summary = None;
        outcome.error = Some("warnings\nonly".to_owned());
        outcome.commit = Some("c0ffee".to_owned());
    });
    let (reports, _) = handed(&older, vec![said]);
    assert_eq!((reports[0].summary.as_deref(), &reports[0].error), (Some("warnings only"), &None));
}
