//! Rule 3, where more than the declared outputs counts: what was recorded, reported and decided about a step.

use super::{
    EffectiveStatus,
    graph::Graph,
    reconcile::reconcile,
    reconcile_tests::{file, one, reconciled, record},
    reports_tests::{begun, decided, report},
    testing::{at, path, present, review, run_of, step, with_statuses, with_witnesses},
};
use crate::model::{
    DecisionKind, Evidence, EvidenceRecord, FileFact, Finding, FindingCode, ReviewVerdict, RollBackRecord, Run,
    Statement, Status, StepId, StepKind,
};

/// A file of this size whose digest was not taken.
fn unread(bytes: u64) -> FileFact {
    FileFact::Present { bytes, modified: None, sha256: None, parses: None, violation: None }
}

/// `A` is being worked on again: its output was recorded at 10, and the review `B` refused it at 20.
fn sent_back() -> Run {
    let mut run = with_statuses(run_of(&[("A", &[]), ("B", &["A"])]), &[Status::InProgress, Status::Failed]);
    run.steps[0].proof.outputs = vec![path("out.json")];
    run.steps[1].kind = StepKind::Review;
    run.steps[1].review = review(ReviewVerdict::NeedsRevision);
    run.steps[1].returns_to = Some(StepId::new("A"));
    run.steps[1].finished_at = Some(at(20));
    run
}

#[test]
fn rework_is_done_when_an_output_differs_from_what_was_refused() {
    let changed = |change: &dyn Fn(&mut Run)| {
        let mut run = sent_back();
        change(&mut run);
        run
    };
    let (left, edited) = (present(at(10)), || vec![record("A", 10, "bb")]);
    let same = || vec![record("A", 10, "aa")];
    let elsewhere = EvidenceRecord { outputs: vec![], ..record("A", 10, "aa") };
    for (what, run, records, fact, is_done) in [
        ("as it was refused", sent_back(), same(), left.clone(), false),
        ("edited since", sent_back(), edited(), left.clone(), true),
        ("nothing was recorded", sent_back(), vec![], left.clone(), true),
        ("the output was not recorded", sent_back(), vec![elsewhere], left.clone(), true),
        ("the same size, no digest", sent_back(), same(), unread(10), false),
        ("another size, no digest", sent_back(), same(), unread(11), true),
        (
            "refused at that moment",
            changed(&|run| run.steps[1].finished_at = Some(at(10))),
            same(),
            left.clone(),
            false,
        ),
        ("refused before", changed(&|run| run.steps[1].finished_at = Some(at(9))), same(), left.clone(), true),
        ("refused at an unknown time", changed(&|run| run.steps[1].finished_at = None), same(), left.clone(), false),
        ("not refused", changed(&|run| run.steps[1].status = Status::Pending), same(), left.clone(), true),
        ("sent back elsewhere", changed(&|run| run.steps[1].returns_to = None), same(), left.clone(), true),
    ] {
        let (statuses, _) = reconciled(&run, &Evidence { records, ..file(fact) });
        let expected = if is_done { EffectiveStatus::Done } else { EffectiveStatus::Interrupted };
        assert_eq!(statuses[0], expected, "{what}");
    }
}

#[test]
fn one_of_two_outputs_that_was_edited_is_rework() {
    let mut run = sent_back();
    run.steps[0].proof.outputs.push(path("b.json"));
    let mut evidence = Evidence { records: vec![record("A", 10, "aa")], ..file(present(at(10))) };
    evidence.files.insert(path("b.json"), present(at(10)));
    assert_eq!(reconciled(&run, &evidence).0[0], EffectiveStatus::Done, "the second was not recorded");
    let both = evidence.records[0].outputs[0].clone();
    evidence.records[0].outputs.push(crate::model::OutputRecord { path: path("b.json"), ..both });
    assert_eq!(reconciled(&run, &evidence).0[0], EffectiveStatus::Interrupted);
}

#[test]
fn a_review_that_was_opened_again_still_refused_the_work() {
    let mut run = sent_back();
    run.steps[1].status = Status::Pending;
    let said = |seconds: i64, id: &str, status: Status| report(&run, seconds, id, |outcome| outcome.status = status);
    for (what, statements, is_done) in [
        ("it said no", vec![said(20, "B", Status::Failed)], false),
        ("at the moment of the record", vec![said(10, "B", Status::Failed)], false),
        ("before the work was done", vec![said(9, "B", Status::Failed)], true),
        ("it said yes since", vec![said(20, "B", Status::Failed), said(21, "B", Status::Completed)], true),
        ("another step failed", vec![said(20, "Z", Status::Failed)], true),
    ] {
        let evidence = Evidence { records: vec![record("A", 10, "aa")], statements, ..file(present(at(10))) };
        let expected = if is_done { EffectiveStatus::Done } else { EffectiveStatus::Interrupted };
        assert_eq!(reconciled(&run, &evidence).0[0], expected, "{what}");
    }
}

#[test]
fn a_document_that_was_changed_after_its_approval_is_named() {
    let mut run = with_statuses(run_of(&[("A", &[]), ("B", &[])]), &[Status::Completed, Status::Completed]);
    run.steps[0].kind = StepKind::Gate;
    let worked_on = |seconds: i64, declares: bool| {
        let mut run = run.clone();
        run.steps[1].finished_at = Some(at(seconds));
        run.steps[1].proof.outputs = declares.then(|| path("out.json")).into_iter().collect();
        run
    };
    let later_approval = {
        let mut run = run.clone();
        run.steps[0].finished_at = Some(at(11));
        run.steps[0].proof.outputs = vec![path("out.json")];
        run
    };
    let approved = || vec![record("A", 10, "bb")];
    let there = present(at(20));
    for (what, run, records, fact, is_named) in [
        ("changed", run.clone(), approved(), there.clone(), true),
        ("as approved", run.clone(), vec![record("A", 10, "aa")], there.clone(), false),
        ("gone", run.clone(), approved(), FileFact::Missing, false),
        ("its digest was not taken", run.clone(), approved(), unread(10), false),
        (
            "recorded by a later step",
            run.clone(),
            vec![record("A", 10, "bb"), record("B", 11, "aa")],
            there.clone(),
            false,
        ),
        ("a later step declares it", worked_on(11, true), approved(), there.clone(), false),
        ("an earlier step declares it", worked_on(10, true), approved(), there.clone(), true),
        ("a later step declares nothing", worked_on(11, false), approved(), there.clone(), true),
        ("only the gate itself is later", later_approval, approved(), there.clone(), true),
    ] {
        let (statuses, codes) = reconciled(&run, &Evidence { records, ..file(fact) });
        assert_eq!(codes.contains(&FindingCode::PlanChanged), is_named, "{what}: {codes:?}");
        assert!(what.starts_with("only") || statuses[0] == EffectiveStatus::Done, "{what}");
    }
}

#[test]
fn a_reported_file_that_is_gone_counts_until_a_commit_keeps_it() {
    let run = with_statuses(run_of(&[("A", &[]), ("B", &[])]), &[Status::Completed, Status::Completed]);
    let with = |id: &str, started: Option<i64>, finished: i64, commits: bool| {
        let mut run = run.clone();
        step(&mut run, id).started_at = started.map(at);
        step(&mut run, id).finished_at = Some(at(finished));
        step(&mut run, id).commit = commits.then(|| "c0ffee".to_owned());
        run
    };
    let reported = |status: Status| {
        vec![report(&run, 10, "A", |outcome| (outcome.status, outcome.outputs) = (status, vec![path("out.json")]))]
    };
    let done = || reported(Status::Completed);
    let of_a_part = report(&run, 10, "A", |outcome| {
        (outcome.part, outcome.outputs) = (Some("p".to_owned()), vec![path("out.json")]);
    });
    for (what, run, statements, fact, is_gone) in [
        ("gone", run.clone(), done(), FileFact::Missing, true),
        ("there", run.clone(), done(), present(at(10)), false),
        ("committed later", with("B", None, 11, true), done(), FileFact::Missing, false),
        ("committed before", with("B", None, 10, true), done(), FileFact::Missing, true),
        ("other work since, without a commit", with("B", None, 11, false), done(), FileFact::Missing, true),
        ("its own commit", with("A", None, 11, true), done(), FileFact::Missing, true),
        ("begun again since", with("A", Some(11), 12, false), done(), FileFact::Missing, false),
        ("begun at that moment", with("A", Some(10), 12, false), done(), FileFact::Missing, true),
        ("only of a part", run.clone(), vec![of_a_part], FileFact::Missing, false),
        ("reported as failed", run.clone(), reported(Status::Failed), FileFact::Missing, false),
    ] {
        let (statuses, codes) = reconciled(&run, &Evidence { statements, ..file(fact) });
        let expected = match is_gone {
            true => (EffectiveStatus::Invalid, vec![FindingCode::OutputMissing]),
            false => (EffectiveStatus::Done, vec![]),
        };
        assert_eq!((statuses[0], codes), expected, "{what}");
    }
}

#[test]
fn a_recorded_output_that_is_gone_counts_until_a_later_commit() {
    let run = with_statuses(run_of(&[("A", &[]), ("B", &[])]), &[Status::Completed, Status::Completed]);
    for (what, id, finished, is_kept) in [
        ("committed later", "B", 11, true),
        ("committed at that moment", "B", 10, false),
        ("committed before", "B", 9, false),
        ("its own commit", "A", 11, false),
    ] {
        let mut run = run.clone();
        step(&mut run, id).finished_at = Some(at(finished));
        step(&mut run, id).commit = Some("c0ffee".to_owned());
        let evidence = Evidence { records: vec![record("A", 10, "aa")], ..file(FileFact::Missing) };
        let expected = match is_kept {
            true => (EffectiveStatus::Done, vec![FindingCode::OutputSuperseded]),
            false => (EffectiveStatus::Invalid, vec![FindingCode::OutputMissing]),
        };
        let (statuses, codes) = reconciled(&run, &evidence);
        assert_eq!((statuses[0], codes), expected, "{what}");
    }
}

#[test]
fn what_a_person_wants_done_again_is_open_in_the_way_that_it_was_over() {
    for (kind, status, doubted, expected) in [
        (StepKind::Work, Status::Completed, false, EffectiveStatus::Invalid),
        (StepKind::Gate, Status::Completed, false, EffectiveStatus::Open),
        (StepKind::Work, Status::Skipped, false, EffectiveStatus::Open),
        (StepKind::Work, Status::Cancelled, false, EffectiveStatus::Open),
        (StepKind::Work, Status::Pending, true, EffectiveStatus::Open),
        (StepKind::Work, Status::InProgress, true, EffectiveStatus::Interrupted),
        (StepKind::Work, Status::Failed, false, EffectiveStatus::Failed),
        (StepKind::Work, Status::WaitingApproval, false, EffectiveStatus::Waiting),
    ] {
        let mut run = one(status);
        run.steps[0].kind = kind;
        if doubted {
            with_witnesses(&mut run.steps[0], 1);
            assert_eq!(reconciled(&run, &Evidence::default()).0, [EffectiveStatus::Verify]);
        }
        let statements = vec![decided(&run, 5, "A", DecisionKind::Redo)];
        let evidence = Evidence { statements, ..Evidence::default() };
        let found = reconcile(&run, &Graph::of(&run), &evidence, &[]);
        assert_eq!(found.effective_statuses, [expected], "{kind:?} {status}");
        let is_changed = !matches!(status, Status::Failed | Status::WaitingApproval);
        let why = ["Ada asked for it to be done again: the tests were wrong"];
        assert!(!is_changed || (found.reasons[0] == why && found.findings.is_empty()), "{kind:?} {status}");
    }
}

#[test]
fn a_decision_replaces_an_unknown_word_and_nothing_that_cannot_be_read() {
    use FindingCode::{PartUnreadable, StatusUnknown};
    for (codes, redo, witnesses, expected) in [
        (vec![StatusUnknown], false, 0, EffectiveStatus::Unreadable),
        (vec![StatusUnknown], true, 0, EffectiveStatus::Open),
        (vec![PartUnreadable], true, 0, EffectiveStatus::Unreadable),
        (vec![StatusUnknown, PartUnreadable], true, 0, EffectiveStatus::Unreadable),
        // Everything else says that it is done.
        (vec![PartUnreadable], false, 1, EffectiveStatus::Unreadable),
        (vec![PartUnreadable], false, 2, EffectiveStatus::Verify),
    ] {
        let mut run = one(Status::Pending);
        with_witnesses(&mut run.steps[0], witnesses);
        let findings: Vec<Finding> = codes.iter().map(|code| Finding::new(*code, "").on(&StepId::new("A"))).collect();
        let statements = redo.then(|| decided(&run, 5, "A", DecisionKind::Redo)).into_iter().collect();
        let evidence = Evidence { statements, ..Evidence::default() };
        let found = reconcile(&run, &Graph::of(&run), &evidence, &findings);
        assert_eq!(found.effective_statuses, [expected], "{codes:?}, redo: {redo}, {witnesses} witnesses");
        assert_eq!(found.unknown_words.contains(&0), codes == [StatusUnknown], "{codes:?}");
    }
}

#[test]
fn a_trace_that_is_gone_is_looked_at_unless_a_person_takes_it() {
    let mut run = one(Status::Completed);
    run.steps[0].proof.traces = vec![path("out.json")];
    let overridden = decided(&run, 5, "A", DecisionKind::Override);
    for (fact, statements, expected) in [
        (FileFact::Missing, vec![], (vec![EffectiveStatus::Verify], vec![FindingCode::OutputMissing])),
        (FileFact::Missing, vec![overridden], (vec![EffectiveStatus::Done], vec![])),
        (present(at(0)), vec![], (vec![EffectiveStatus::Done], vec![])),
    ] {
        let evidence = Evidence { statements, ..file(fact.clone()) };
        assert_eq!(reconciled(&run, &evidence), expected, "{fact:?}");
    }
}

#[test]
fn a_step_that_must_not_run_twice_may_be_under_way_unseen() {
    let mut base = with_statuses(run_of(&[("A", &[]), ("B", &["A"])]), &[Status::Completed, Status::Pending]);
    base.steps[1].idempotent = false;
    base.steps[1].begins_unrecorded = true;
    let changed = |change: fn(&mut Run)| {
        let mut run = base.clone();
        change(&mut run);
        run
    };
    let told = |statement: Statement| Evidence { statements: vec![statement], ..Evidence::default() };
    let recorded = Evidence { records: vec![record("A", 10, "aa")], ..file(present(at(10))) };
    let decision = |id: &str| told(decided(&base, 5, id, DecisionKind::Approve));
    for (what, run, evidence, is_open) in [
        ("nothing is known", base.clone(), Evidence::default(), false),
        ("what it waits for is open", changed(|run| run.steps[0].status = Status::Pending), Evidence::default(), true),
        ("it waits for nothing", changed(|run| run.steps[1].depends_on.clear()), Evidence::default(), true),
        ("it may run twice", changed(|run| run.steps[1].idempotent = true), Evidence::default(), true),
        ("its begin is recorded", changed(|run| run.steps[1].begins_unrecorded = false), Evidence::default(), true),
        ("the step before was begun here", base.clone(), told(begun(&base, 5, "A")), true),
        ("the step before was reported", base.clone(), told(report(&base, 5, "A", |_| {})), true),
        ("the step before was decided about", base.clone(), decision("A"), true),
        ("it was decided about itself", base.clone(), decision("B"), true),
        ("the step before was recorded", base.clone(), recorded, true),
        ("another step was begun", base.clone(), told(begun(&base, 5, "Z")), false),
        ("another step was reported", base.clone(), told(report(&base, 5, "Z", |_| {})), false),
        ("another step was decided about", base.clone(), decision("Z"), false),
    ] {
        let expected = if is_open { EffectiveStatus::Open } else { EffectiveStatus::Verify };
        let (statuses, codes) = reconciled(&run, &evidence);
        assert_eq!(statuses[1], expected, "{what}");
        assert_eq!(codes.contains(&FindingCode::OutcomeUnknown), !is_open, "{what}");
    }
}

#[test]
fn a_witness_from_before_the_attempt_or_a_rollback_is_outdated() {
    let mut run = one(Status::Pending);
    with_witnesses(&mut run.steps[0], 2);
    let back = |id: &str| RollBackRecord {
        commits: Vec::new(),
        at: at(6),
        run: "R".to_owned(),
        to: "last".to_owned(),
        reopened: vec![StepId::new(id)],
    };
    for (what, written, statements, rollbacks, expected) in [
        ("never begun", 5, vec![], vec![], EffectiveStatus::Done),
        ("begun after it", 5, vec![begun(&run, 6, "A")], vec![], EffectiveStatus::Open),
        ("begun at that moment", 6, vec![begun(&run, 6, "A")], vec![], EffectiveStatus::Open),
        ("begun before it", 7, vec![begun(&run, 6, "A")], vec![], EffectiveStatus::Done),
        ("rolled back after it", 5, vec![], vec![back("A")], EffectiveStatus::Open),
        ("another step was rolled back", 5, vec![], vec![back("B")], EffectiveStatus::Done),
    ] {
        let files = [(path("state.json"), present(at(written)))].into();
        let evidence = Evidence { files, statements, rollbacks, ..Evidence::default() };
        assert_eq!(reconciled(&run, &evidence).0, [expected], "{what}");
    }
}

#[test]
fn a_commit_is_missed_where_the_step_ended_in_git() {
    let in_git = EvidenceRecord { head: Some("c0ffee".to_owned()), outputs: vec![], ..record("A", 10, "aa") };
    let outside = EvidenceRecord { head: None, ..in_git.clone() };
    for (is_commit, commit, record, is_missed) in [
        (true, None, &in_git, true),
        (true, None, &outside, false),
        (true, Some("c0ffee"), &in_git, false),
        (false, None, &in_git, false),
    ] {
        let mut run = one(Status::Completed);
        run.steps[0].proof.is_commit = is_commit;
        run.steps[0].commit = commit.map(str::to_owned);
        let (statuses, codes) = reconciled(&run, &Evidence { records: vec![record.clone()], ..Evidence::default() });
        let expected: Vec<FindingCode> = is_missed.then_some(FindingCode::CommitMissing).into_iter().collect();
        assert_eq!((statuses, codes), (vec![EffectiveStatus::Done], expected), "{is_commit} {commit:?}");
    }
}

#[test]
fn an_output_from_before_the_run_or_the_attempt_proves_nothing() {
    // Files may tell their times in steps of two seconds.
    for (modified, run_started, attempt_started, is_old) in [
        (100, Some(100), None, false),
        (98, Some(100), None, false),
        (97, Some(100), None, true),
        (97, None, None, false),
        (98, Some(50), Some(100), false),
        (97, Some(50), Some(100), true),
        (102, Some(100), Some(100), false),
    ] {
        let mut run = one(Status::InProgress);
        run.started_at = run_started.map(at);
        run.steps[0].started_at = attempt_started.map(at);
        run.steps[0].proof.outputs = vec![path("out.json")];
        let found = reconciled(&run, &file(present(at(modified)))).0;
        let expected = if is_old { EffectiveStatus::Interrupted } else { EffectiveStatus::Done };
        assert_eq!(found, [expected], "{modified} {run_started:?} {attempt_started:?}");
    }
}
