//! Rule 3 as decision tables.

use super::{
    EffectiveStatus, effective_statuses,
    graph::Graph,
    reconcile::reconcile,
    testing::{at, path, present, review, run_of, step, with_statuses, with_witnesses},
};
use crate::model::{
    CommitFact, Evidence, EvidenceRecord, FileFact, Finding, FindingCode, OutputRecord, Review, ReviewVerdict, Run,
    RunId, Status, StepId, StepKind,
};

pub(super) fn reconciled(run: &Run, evidence: &Evidence) -> (Vec<EffectiveStatus>, Vec<FindingCode>) {
    let reconciled = reconcile(run, &Graph::of(run), evidence, &[]);
    (reconciled.effective_statuses, reconciled.findings.iter().map(|finding| finding.code).collect())
}

pub(super) fn one(status: Status) -> Run {
    with_statuses(run_of(&[("A", &[])]), &[status])
}

pub(super) fn file(fact: FileFact) -> Evidence {
    Evidence { files: [(path("out.json"), fact)].into(), ..Evidence::default() }
}

#[test]
fn a_status_alone_is_believed() {
    for (status, effective_status) in [
        (Status::Pending, EffectiveStatus::Open),
        (Status::InProgress, EffectiveStatus::Interrupted),
        (Status::Completed, EffectiveStatus::Done),
        (Status::Failed, EffectiveStatus::Failed),
        (Status::WaitingApproval, EffectiveStatus::Waiting),
        (Status::Blocked, EffectiveStatus::Blocked),
        (Status::Skipped, EffectiveStatus::Skipped),
        (Status::Cancelled, EffectiveStatus::Cancelled),
    ] {
        assert_eq!(reconciled(&one(status), &Evidence::default()), (vec![effective_status], vec![]), "{status}");
    }
}

#[test]
fn witnesses_make_done_together_and_a_conflict_alone() {
    use FindingCode::{StatusConflict, StatusDrift, StatusOptimistic};
    for (status, none, one_of_two, both) in [
        (
            Status::Pending,
            (EffectiveStatus::Open, None),
            (EffectiveStatus::Verify, Some(StatusConflict)),
            (EffectiveStatus::Done, Some(StatusDrift)),
        ),
        (
            Status::Blocked,
            (EffectiveStatus::Blocked, None),
            (EffectiveStatus::Verify, Some(StatusConflict)),
            (EffectiveStatus::Done, Some(StatusDrift)),
        ),
        (
            Status::InProgress,
            (EffectiveStatus::Interrupted, None),
            (EffectiveStatus::Verify, Some(StatusConflict)),
            (EffectiveStatus::Done, Some(StatusDrift)),
        ),
        (
            Status::Failed,
            (EffectiveStatus::Failed, None),
            (EffectiveStatus::Failed, None),
            (EffectiveStatus::Verify, Some(StatusConflict)),
        ),
        (
            Status::Completed,
            (EffectiveStatus::Done, Some(StatusOptimistic)),
            (EffectiveStatus::Done, Some(StatusOptimistic)),
            (EffectiveStatus::Done, None),
        ),
        (
            Status::WaitingApproval,
            (EffectiveStatus::Waiting, None),
            (EffectiveStatus::Waiting, None),
            (EffectiveStatus::Waiting, None),
        ),
        (
            Status::Skipped,
            (EffectiveStatus::Skipped, None),
            (EffectiveStatus::Skipped, None),
            (EffectiveStatus::Skipped, None),
        ),
        (
            Status::Cancelled,
            (EffectiveStatus::Cancelled, None),
            (EffectiveStatus::Cancelled, None),
            (EffectiveStatus::Cancelled, None),
        ),
    ] {
        for (done, (effective_status, code)) in [none, one_of_two, both].into_iter().enumerate() {
            let mut run = one(status);
            with_witnesses(&mut run.steps[0], done);
            let expected = (vec![effective_status], code.into_iter().collect());
            assert_eq!(reconciled(&run, &Evidence::default()), expected, "{status} with {done} of 2");
        }
    }
}

#[test]
fn what_witnesses_say_is_said_on() {
    let mut run = one(Status::Pending);
    with_witnesses(&mut run.steps[0], 1);
    run.steps[0].proof.witnesses[0].file = Some(path("TODO_LIST.md"));
    run.steps[0].proof.witnesses[0].line = Some(7);
    let reconciled = reconcile(&run, &Graph::of(&run), &Evidence::default(), &[]);
    assert_eq!(reconciled.reasons[0], ["the checklist says done", "the summary does not"]);
    let finding = &reconciled.findings[0];
    assert_eq!((finding.file.as_ref(), finding.line), (Some(&path("TODO_LIST.md")), Some(7)));
    assert_eq!(
        finding.message,
        "A is pending according to its state, but done according to the checklist: a person has to check"
    );
    assert_eq!(
        finding.fix_text().as_deref(),
        Some("check its result, then `piton finish A --run R --status completed` to record it")
    );
}

#[test]
fn outputs_are_looked_at_before_done_is_believed() {
    use FindingCode::{CompletedByEvidence, OutputMissing, OutputOlder, OutputUnparsable, StatusConflict};
    let broken = FileFact::Present { bytes: 10, modified: None, sha256: None, parses: Some(false), violation: None };
    let empty = FileFact::Present { bytes: 0, modified: None, sha256: None, parses: None, violation: None };
    let unreadable = FileFact::Unreadable("permission denied".to_owned());
    // The run began at 0. Per file: what it makes of completed, of in progress, of pending.
    let done = (EffectiveStatus::Done, None);
    let (cut_off, open) = ((EffectiveStatus::Interrupted, None), (EffectiveStatus::Open, None));
    let invalid = |code| (EffectiveStatus::Invalid, Some(code));
    for (name, fact, completed, in_progress, pending) in [
        (
            "sound",
            Some(present(at(5))),
            done,
            (EffectiveStatus::Done, Some(CompletedByEvidence)),
            (EffectiveStatus::Verify, Some(StatusConflict)),
        ),
        (
            "as old as the run",
            Some(present(at(-2))),
            done,
            (EffectiveStatus::Done, Some(CompletedByEvidence)),
            (EffectiveStatus::Verify, Some(StatusConflict)),
        ),
        ("older", Some(present(at(-3))), invalid(OutputOlder), cut_off, open),
        ("missing", Some(FileFact::Missing), invalid(OutputMissing), cut_off, open),
        ("not looked at", None, invalid(OutputMissing), cut_off, open),
        ("empty", Some(empty), invalid(OutputMissing), cut_off, open),
        ("broken", Some(broken), invalid(OutputUnparsable), cut_off, open),
        ("unreadable", Some(unreadable), invalid(OutputUnparsable), cut_off, open),
    ] {
        let evidence = fact.map(file).unwrap_or_default();
        for (status, (effective_status, code)) in
            [(Status::Completed, completed), (Status::InProgress, in_progress), (Status::Pending, pending)]
        {
            let mut run = one(status);
            run.started_at = Some(at(0));
            run.steps[0].proof.outputs = vec![path("out.json")];
            assert_eq!(
                reconciled(&run, &evidence),
                (vec![effective_status], code.into_iter().collect()),
                "{name}, {status}"
            );
        }
    }
}

#[test]
fn no_file_says_what_a_person_or_a_reviewer_said() {
    for kind in [StepKind::Gate, StepKind::Review] {
        for status in [Status::Pending, Status::InProgress, Status::Blocked] {
            let mut by_witnesses = one(status);
            by_witnesses.steps[0].kind = kind;
            with_witnesses(&mut by_witnesses.steps[0], 2);
            let mut by_output = one(status);
            by_output.steps[0].kind = kind;
            by_output.steps[0].proof.outputs = vec![path("out.json")];
            for run in [by_witnesses, by_output] {
                let found = reconciled(&run, &file(present(at(0))));
                assert_eq!(
                    found,
                    (vec![EffectiveStatus::Verify], vec![FindingCode::StatusConflict]),
                    "{kind:?} {status}"
                );
            }
        }
    }
}

#[test]
fn a_verdict_that_was_found_in_the_report_closes_a_review_that_was_begun() {
    for (verdict, effective_status) in [
        (Some(ReviewVerdict::Approved), EffectiveStatus::Done),
        (Some(ReviewVerdict::ApprovedWithConditions), EffectiveStatus::Done),
        (Some(ReviewVerdict::NeedsRevision), EffectiveStatus::Verify),
        (None, EffectiveStatus::Verify),
    ] {
        let mut run = one(Status::InProgress);
        run.steps[0].kind = StepKind::Review;
        run.steps[0].review = verdict.and_then(review);
        run.steps[0].proof.outputs = vec![path("out.json")];
        assert_eq!(reconciled(&run, &file(present(at(0)))).0, [effective_status], "{verdict:?}");
    }
}

#[test]
fn one_bad_output_of_two_is_enough() {
    let mut run = one(Status::InProgress);
    run.steps[0].proof.outputs = vec![path("out.json"), path("gone.md")];
    assert_eq!(reconciled(&run, &file(present(at(0)))).0, [EffectiveStatus::Interrupted]);
    step(&mut run, "A").status = Status::Completed;
    assert_eq!(
        reconciled(&run, &file(present(at(0)))),
        (vec![EffectiveStatus::Invalid], vec![FindingCode::OutputMissing])
    );
}

#[test]
fn what_an_earlier_attempt_left_does_not_finish_this_one() {
    let mut run = one(Status::InProgress);
    run.started_at = Some(at(0));
    run.steps[0].started_at = Some(at(100));
    run.steps[0].attempts = 2;
    run.steps[0].proof.outputs = vec![path("out.json")];
    assert_eq!(reconciled(&run, &file(present(at(50)))).0, [EffectiveStatus::Interrupted]);
    assert_eq!(reconciled(&run, &file(present(at(101)))).0, [EffectiveStatus::Done]);
}

pub(super) fn record(step: &str, seconds: i64, sha256: &str) -> EvidenceRecord {
    EvidenceRecord {
        at: at(seconds),
        run: "R".to_owned(),
        step: StepId::new(step),
        head: None,
        definition: None,
        outputs: vec![OutputRecord { path: path("out.json"), sha256: sha256.to_owned(), bytes: 10 }],
    }
}

/// Two completed steps that do not know each other; the digest on disk is `aa`.
fn two() -> Run {
    let mut run = with_statuses(run_of(&[("A", &[]), ("B", &[])]), &[Status::Completed, Status::Completed]);
    run.started_at = Some(at(0));
    run.steps[0].finished_at = Some(at(10));
    run
}

#[test]
fn recorded_outputs_are_compared_with_what_is_there() {
    for (name, records, fact, effective_status, code) in [
        ("as it was left", vec![record("A", 10, "aa")], present(at(10)), EffectiveStatus::Done, None),
        (
            "changed",
            vec![record("A", 10, "bb")],
            present(at(20)),
            EffectiveStatus::Invalid,
            Some(FindingCode::OutputChanged),
        ),
        (
            "gone",
            vec![record("A", 10, "aa")],
            FileFact::Missing,
            EffectiveStatus::Invalid,
            Some(FindingCode::OutputMissing),
        ),
        (
            "recorded again",
            vec![record("A", 10, "bb"), record("A", 11, "aa")],
            present(at(20)),
            EffectiveStatus::Done,
            None,
        ),
        ("from before the run", vec![record("A", -1, "bb")], present(at(20)), EffectiveStatus::Done, None),
        (
            "left by another since",
            vec![record("A", 10, "bb"), record("B", 11, "aa")],
            present(at(20)),
            EffectiveStatus::Done,
            None,
        ),
        (
            "digest not taken",
            vec![record("A", 10, "bb")],
            FileFact::Present { bytes: 1, modified: None, sha256: None, parses: None, violation: None },
            EffectiveStatus::Done,
            None,
        ),
    ] {
        let evidence = Evidence { records, ..file(fact) };
        let (effective_statuses, codes) = reconciled(&two(), &evidence);
        assert_eq!((effective_statuses[0], codes), (effective_status, code.into_iter().collect()), "{name}");
    }
}

#[test]
fn what_is_no_result_of_this_attempt_finishes_nothing() {
    let against = FileFact::Present {
        bytes: 10,
        modified: Some(at(5)),
        sha256: None,
        parses: Some(true),
        violation: Some("/id: it is missing".to_owned()),
    };
    for (fact, fresh_since, completed, in_progress) in [
        (against, None, (EffectiveStatus::Invalid, vec![FindingCode::OutputInvalid]), EffectiveStatus::Interrupted),
        (present(at(5)), Some(at(6)), (EffectiveStatus::Done, vec![]), EffectiveStatus::Interrupted),
        (present(at(6)), Some(at(6)), (EffectiveStatus::Done, vec![]), EffectiveStatus::Done),
    ] {
        let mut run = one(Status::Completed);
        run.steps[0].proof.outputs = vec![path("out.json")];
        run.steps[0].proof.fresh_since = fresh_since;
        let evidence = file(fact);
        assert_eq!(reconciled(&run, &evidence), (vec![completed.0], completed.1));
        step(&mut run, "A").status = Status::InProgress;
        assert_eq!(reconciled(&run, &evidence).0, [in_progress]);
    }
}

#[test]
fn the_definition_that_the_state_itself_recorded_counts_first() {
    for (recorded_by_state, effective_status) in [(true, EffectiveStatus::Done), (false, EffectiveStatus::Invalid)] {
        let mut run = two();
        step(&mut run, "A").definition = serde_json::json!({"goal": "fly"});
        let digest = run.steps[0].definition_digest();
        step(&mut run, "A").done_definition = digest.filter(|_| recorded_by_state);
        let logged = EvidenceRecord { definition: Some("00".into()), outputs: Vec::new(), ..record("A", 10, "") };
        let evidence = Evidence { records: vec![logged], ..Evidence::default() };
        assert_eq!(reconciled(&run, &evidence).0[0], effective_status);
    }
}

#[test]
fn a_definition_that_changed_since_counts_against_what_was_done() {
    for (definition, idempotent, effective_status, codes) in [
        (two().steps[0].definition_digest(), true, EffectiveStatus::Done, vec![]),
        (Some("00".into()), true, EffectiveStatus::Invalid, vec![FindingCode::DefinitionChanged]),
        (
            Some("00".into()),
            false,
            EffectiveStatus::Verify,
            vec![FindingCode::DefinitionChanged, FindingCode::OutcomeUnknown],
        ),
        (None, true, EffectiveStatus::Done, vec![]),
    ] {
        let mut run = two();
        run.steps[0].idempotent = idempotent;
        let records = vec![EvidenceRecord { definition, ..record("A", 10, "aa") }];
        let found = reconciled(&run, &Evidence { records, ..file(present(at(10))) });
        assert_eq!((found.0[0], found.1), (effective_status, codes));
    }
}

#[test]
fn one_output_of_several_is_enough_where_any_will_do() {
    let mut run = one(Status::InProgress);
    run.steps[0].proof.outputs = vec![path("gone.md"), path("out.json")];
    run.steps[0].proof.outputs_any = true;
    assert_eq!(reconciled(&run, &file(present(at(0)))).0, [EffectiveStatus::Done]);
    run.steps[0].proof.rejected = vec![(path("out.json"), "says fail".to_owned())];
    assert_eq!(reconciled(&run, &file(present(at(0)))).0, [EffectiveStatus::Interrupted]);
    run.steps[0].status = Status::Completed;
    let codes = vec![FindingCode::OutputMissing, FindingCode::OutputRejected];
    assert_eq!(reconciled(&run, &file(present(at(0)))), (vec![EffectiveStatus::Invalid], codes));
}

#[test]
fn a_missing_witness_is_no_contradiction() {
    let mut run = one(Status::Completed);
    with_witnesses(&mut run.steps[0], 1);
    assert_eq!(
        reconciled(&run, &Evidence::default()),
        (vec![EffectiveStatus::Done], vec![FindingCode::StatusOptimistic])
    );
    run.steps[0].proof.witnesses[1].file = None;
    assert_eq!(reconciled(&run, &Evidence::default()), (vec![EffectiveStatus::Done], vec![]));
}

#[test]
fn records_of_another_run_say_nothing() {
    let other = EvidenceRecord { run: "R2".to_owned(), ..record("A", 10, "bb") };
    let evidence = Evidence { records: vec![other], ..file(present(at(20))) };
    assert_eq!(reconciled(&two(), &evidence), (vec![EffectiveStatus::Done; 2], vec![]));
}

#[test]
fn a_change_after_which_another_step_was_busy_is_superseded() {
    let changed = || Evidence { records: vec![record("A", 10, "bb")], ..file(present(at(20))) };
    let superseded = (vec![EffectiveStatus::Done; 2], vec![FindingCode::OutputSuperseded]);
    let mut run = two();
    step(&mut run, "B").started_at = Some(at(15));
    assert_eq!(reconciled(&run, &changed()), superseded, "by its stamp");
    let mut other = record("B", 15, "aa");
    other.outputs.clear();
    let evidence = Evidence { records: vec![record("A", 10, "bb"), other], ..file(present(at(20))) };
    assert_eq!(reconciled(&two(), &evidence), superseded, "by its record");
    step(&mut run, "B").started_at = Some(at(5));
    assert_eq!(reconciled(&run, &changed()).0[0], EffectiveStatus::Invalid, "it was busy before");
    let records = vec![record("A", 9, "bb"), record("A", 10, "bb")];
    let evidence = Evidence { records, ..file(present(at(20))) };
    assert_eq!(reconciled(&two(), &evidence).0[0], EffectiveStatus::Invalid, "its own later record is no other step");
}

#[test]
fn a_record_of_an_earlier_attempt_says_nothing_about_this_one() {
    let mut run = two();
    step(&mut run, "A").started_at = Some(at(30));
    let evidence = Evidence { records: vec![record("A", 10, "bb")], ..file(present(at(20))) };
    assert_eq!(reconciled(&run, &evidence), (vec![EffectiveStatus::Done; 2], vec![]));
}

#[test]
fn a_commit_that_is_not_here_is_named_and_changes_nothing() {
    for (fact, codes) in [
        (Some(CommitFact::Reachable), vec![]),
        (Some(CommitFact::Elsewhere), vec![FindingCode::CommitNotFound]),
        (Some(CommitFact::Unknown), vec![FindingCode::CommitNotFound]),
        (None, vec![]),
    ] {
        let mut run = one(Status::Completed);
        run.steps[0].commit = Some("0123456789abcdef".to_owned());
        let commits = fact.map(|fact| ("0123456789abcdef".to_owned(), fact)).into_iter().collect();
        let evidence = Evidence { commits, ..Evidence::default() };
        assert_eq!(reconciled(&run, &evidence), (vec![EffectiveStatus::Done], codes), "{fact:?}");
    }
}

#[test]
fn the_verdict_of_a_completed_review_counts() {
    use ReviewVerdict::{Approved, ApprovedWithConditions, NeedsRevision, Rejected};
    let open = || Some(vec!["add a test".to_owned()]);
    for (verdict, conditions, effective_status, codes) in [
        (Approved, None, EffectiveStatus::Done, vec![]),
        (Approved, Some(vec![]), EffectiveStatus::Done, vec![]),
        (Approved, open(), EffectiveStatus::Conditions, vec![FindingCode::ConditionsOpen]),
        (ApprovedWithConditions, Some(vec![]), EffectiveStatus::Done, vec![]),
        (ApprovedWithConditions, open(), EffectiveStatus::Conditions, vec![FindingCode::ConditionsOpen]),
        (ApprovedWithConditions, None, EffectiveStatus::Conditions, vec![FindingCode::ConditionsOpen]),
        (NeedsRevision, None, EffectiveStatus::Failed, vec![FindingCode::VerdictConflict]),
        (Rejected, None, EffectiveStatus::Failed, vec![FindingCode::VerdictConflict]),
    ] {
        let mut run = one(Status::Completed);
        run.steps[0].kind = StepKind::Review;
        run.steps[0].review = Some(Review { verdict, open_conditions: conditions.clone() });
        assert_eq!(reconciled(&run, &Evidence::default()), (vec![effective_status], codes), "{verdict} {conditions:?}");
    }
}

#[test]
fn a_step_that_must_not_run_twice_is_looked_at() {
    for (status, output, effective_status, codes) in [
        (Status::InProgress, None, EffectiveStatus::Verify, vec![FindingCode::OutcomeUnknown]),
        (Status::InProgress, Some(present(at(0))), EffectiveStatus::Done, vec![FindingCode::CompletedByEvidence]),
        (
            Status::Completed,
            Some(FileFact::Missing),
            EffectiveStatus::Verify,
            vec![FindingCode::OutputMissing, FindingCode::OutcomeUnknown],
        ),
        (Status::Completed, None, EffectiveStatus::Done, vec![]),
        (Status::Failed, None, EffectiveStatus::Failed, vec![]),
        (Status::Pending, None, EffectiveStatus::Open, vec![]),
    ] {
        let mut run = one(status);
        run.steps[0].idempotent = false;
        run.steps[0].proof.outputs = output.iter().map(|_| path("out.json")).collect();
        let evidence = output.clone().map(file).unwrap_or_default();
        assert_eq!(reconciled(&run, &evidence), (vec![effective_status], codes), "{status} {output:?}");
    }
}

#[test]
fn the_declared_probe_is_handed_on_as_text() {
    let mut run = one(Status::InProgress);
    run.steps[0].idempotent = false;
    let fix = |run: &Run| reconcile(run, &Graph::of(run), &Evidence::default(), &[]).findings[0].fix_text().unwrap();
    assert_eq!(fix(&run), "find out whether it took effect; `piton decide A --run R` has the answers");
    run.steps[0].probe = Some("gh pr view".to_owned());
    assert_eq!(fix(&run), "to find out whether it took effect: `gh pr view`");
}

#[test]
fn an_unreadable_step_is_left_alone() {
    for code in [FindingCode::PartUnreadable, FindingCode::StatusUnknown, FindingCode::VerdictUnknown] {
        for status in Status::ALL {
            let findings = [Finding::new(code, "").on(&StepId::new("A"))];
            assert_eq!(
                effective_statuses(&one(status), &Evidence::default(), &findings),
                [EffectiveStatus::Unreadable],
                "{code} {status}"
            );
        }
    }
    let elsewhere = [Finding::new(FindingCode::StatusUnknown, "").on(&StepId::new("B"))];
    assert_eq!(effective_statuses(&one(Status::Completed), &Evidence::default(), &elsewhere), [EffectiveStatus::Done]);
}

#[test]
fn the_files_of_a_step_are_named_in_its_findings() {
    let mut run = one(Status::Completed);
    run.id = RunId::new("my run");
    run.steps[0].file = Some(path("IMPL-1.json"));
    run.steps[0].review = review(ReviewVerdict::ApprovedWithConditions);
    let reconciled = reconcile(&run, &Graph::of(&run), &Evidence::default(), &[]);
    assert_eq!(reconciled.findings[0].file, Some(path("IMPL-1.json")));
    assert_eq!(reconciled.findings[0].step, Some(StepId::new("A")));
}
