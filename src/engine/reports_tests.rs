use super::fixtures::at;
use super::fixtures::finding;
use super::fixtures::has;
use super::fixtures::line_of;
use super::fixtures::next_of;
use super::fixtures::options;
use super::fixtures::planned;
use super::fixtures::review;
use super::fixtures::step;
use super::reports::said;
use super::reports::statement;
use crate::model::Action;
use crate::model::Attempt;
use crate::model::Change;
use crate::model::ChangeKind;
use crate::model::Decision;
use crate::model::DecisionKind;
use crate::model::DriverId;
use crate::model::Evidence;
use crate::model::FindingCode;
use crate::model::Outcome;
use crate::model::RelPath;
use crate::model::ReviewVerdict;
use crate::model::Run;
use crate::model::Statement;
use crate::model::StatementKind;
use crate::model::Status;
use crate::model::StepId;
use crate::model::StepKind;
use crate::model::StepReport;

/// Records a change at this second.
fn said_at(run: &Run, seconds: i64, kind: ChangeKind) -> Option<Statement> {
    statement(run, &Change { at: at(seconds), kind })
}

/// Reports the end of a step.
fn report(run: &Run, seconds: i64, id: &str, change: impl FnOnce(&mut Outcome)) -> Statement {
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
    assert_eq!(summaries(&reports), ["V at 3", "A at 1"], "B itself succeeded");
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
fn a_decision_says_who_why_and_against_what() {
    let mut run = line_of(&[("V", Status::Failed), ("C", Status::Pending)]);
    let rejected = step(&mut run, "V");
    rejected.kind = StepKind::Review;
    rejected.review = review(ReviewVerdict::Rejected);
    rejected.error = Some("row counts differ".to_owned());
    let (by, note) = (Some("Bia".to_owned()), Some("known, see #7".to_owned()));
    let decided = said_at(&run, 5, ChangeKind::Approve { step: StepId::new("V"), by, note, phases: None }).unwrap();
    step(&mut run, "V").status = Status::Completed;
    let (_, decisions) = handed(&run, vec![decided]);
    let [decision] = decisions.as_slice() else { panic!("{decisions:?}") };
    assert_eq!(decision.despite.as_deref(), Some("REJECTED: row counts differ"));
    assert_eq!((decision.by.as_deref(), decision.note.as_deref()), (Some("Bia"), Some("known, see #7")));
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
    let (reports, _) = said(&run, &[report(&run, 1, "A", hostile)]);
    assert_eq!(summaries(&reports), ["[31mred"]);
    let silent = Outcome::completed(StepId::new("A"));
    let silent = said_at(&run, 2, ChangeKind::Finish(Box::new(silent))).unwrap();
    assert!(super::is_wordless(&run, &silent));
    let (reports, _) = handed(&run, vec![report(&run, 1, "A", hostile), silent]);
    assert_eq!(summaries(&reports), [""; 0]);
    let part = Outcome { part: Some("p".to_owned()), ..Outcome::completed(StepId::new("A")) };
    assert_eq!(said_at(&run, 1, ChangeKind::Finish(Box::new(part))), None);
}

/// Records a decision of a person about a step.
fn decided(run: &Run, seconds: i64, id: &str, decision: DecisionKind) -> Statement {
    let kind = StatementKind::Decision(Decision {
        step: Some(StepId::new(id)),
        decision,
        at: at(seconds),
        by: Some("Ada".to_owned()),
        note: Some("the tests were wrong".to_owned()),
        despite: None,
    });
    Statement { run: run.id.to_string(), dialect: run.dialect, kind }
}

/// Records the begin of an attempt.
fn begun(run: &Run, seconds: i64, id: &str) -> Statement {
    let driver = DriverId { session: None, pid: 7, process_start: None, boot_id: None, host: "h".to_owned() };
    let kind = StatementKind::Begun(Attempt {
        step: StepId::new(id),
        part: None,
        at: at(seconds),
        attempt: 1,
        agent: None,
        action: Action::Run,
        reason: String::new(),
        driver,
    });
    Statement { run: run.id.to_string(), dialect: run.dialect, kind }
}

#[test]
fn a_decision_counts_for_one_attempt() {
    use DecisionKind::Accept;
    use DecisionKind::Override;
    use DecisionKind::Redo;
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
        planned(&run, &Evidence { statements, ..Evidence::default() }, &options()).plan.commands.begin.is_some()
    };
    assert!(!approve(vec![no.clone()]));
    assert!(!approve(vec![report(&run, 4, "A", |_| {}), no.clone()]), "it was refused after that");
    assert!(approve(vec![no.clone(), report(&run, 6, "A", |_| {})]));
    assert!(approve(vec![no.clone(), begun(&run, 6, "A")]));
    let planned = planned(&run, &Evidence { statements: vec![no], ..Evidence::default() }, &options());
    assert_eq!(finding(&planned, FindingCode::Rejected).step, Some(StepId::new("G")));
}
