//! Rule 3, second half, as decision tables: containers, and what depends on a step that is not believed.

use super::{
    EffectiveStatus,
    graph::Graph,
    reconcile::reconcile,
    reconcile_tests::{file, one, reconciled},
    testing::{at, path, present, review, run_of, step, with_statuses, with_witnesses},
};
use crate::model::{Evidence, Finding, FindingCode, ReviewVerdict, Run, Status, StepId, StepKind};

/// A container `P` of the children `A` and `B`, and `C` behind it.
fn family(children: [Status; 2], parent: Status, behind: Status) -> Run {
    let steps: &[(&str, &[&str])] = &[("P", &[]), ("A", &[]), ("B", &[]), ("C", &["P"])];
    let mut run = with_statuses(run_of(steps), &[parent, children[0], children[1], behind]);
    run.steps[0].kind = StepKind::Container;
    run.steps[0].children = vec![StepId::new("A"), StepId::new("B")];
    run
}

#[test]
fn a_container_has_the_status_of_its_children() {
    use Status::{Cancelled, Completed, Failed, Pending, Skipped};
    for (children, effective_status) in [
        ([Completed, Completed], EffectiveStatus::Done),
        ([Completed, Skipped], EffectiveStatus::Done),
        ([Skipped, Skipped], EffectiveStatus::Skipped),
        ([Completed, Cancelled], EffectiveStatus::Cancelled),
        ([Completed, Pending], EffectiveStatus::OpenContainer),
        ([Completed, Failed], EffectiveStatus::OpenContainer),
        ([Cancelled, Pending], EffectiveStatus::OpenContainer),
    ] {
        for own in Status::ALL {
            let (effective_statuses, codes) = reconciled(&family(children, own, Pending), &Evidence::default());
            assert_eq!((effective_statuses[0], codes), (effective_status, vec![]), "{children:?} in {own}");
        }
    }
}

#[test]
fn a_container_without_known_children_is_looked_at_and_one_that_misses_some_stays_open() {
    for (status, effective_status) in [
        (Status::Pending, EffectiveStatus::Verify),
        (Status::InProgress, EffectiveStatus::Verify),
        (Status::Failed, EffectiveStatus::Verify),
        (Status::WaitingApproval, EffectiveStatus::Verify),
        (Status::Blocked, EffectiveStatus::Verify),
        (Status::Completed, EffectiveStatus::Done),
        (Status::Skipped, EffectiveStatus::Skipped),
        (Status::Cancelled, EffectiveStatus::Cancelled),
    ] {
        let mut childless = one(status);
        childless.steps[0].kind = StepKind::Container;
        assert_eq!(reconciled(&childless, &Evidence::default()).0, [effective_status], "{status}");
        let mut one_missing = family([Status::Completed, Status::Completed], status, Status::Pending);
        one_missing.steps[0].dangling = vec!["X".to_owned()];
        let effective_status =
            if effective_status == EffectiveStatus::Verify { EffectiveStatus::OpenContainer } else { effective_status };
        assert_eq!(
            reconciled(&one_missing, &Evidence::default()).0[0],
            effective_status,
            "{status}, a child is missing"
        );
    }
}

#[test]
fn what_was_built_on_a_lost_output_is_open_again_all_the_way() {
    let steps: &[(&str, &[&str])] = &[("A", &[]), ("B", &["A"]), ("C", &["B"]), ("D", &[]), ("E", &["C"])];
    let done = Status::Completed;
    let mut run = with_statuses(run_of(steps), &[done, done, done, done, Status::Pending]);
    run.steps[0].proof.outputs = vec![path("out.json")];
    let stale = FindingCode::StaleDependent;
    let expected = vec![
        EffectiveStatus::Invalid,
        EffectiveStatus::Invalid,
        EffectiveStatus::Invalid,
        EffectiveStatus::Done,
        EffectiveStatus::Open,
    ];
    let (effective_statuses, codes) = reconciled(&run, &Evidence::default());
    assert_eq!((effective_statuses, codes), (expected, vec![FindingCode::OutputMissing, stale, stale]));
}

#[test]
fn a_lost_output_reaches_through_containers() {
    let done = Status::Completed;
    let mut run = family([done, done], done, done);
    step(&mut run, "A").proof.outputs = vec![path("out.json")];
    let (effective_statuses, _) = reconciled(&run, &Evidence::default());
    assert_eq!(
        effective_statuses,
        [EffectiveStatus::OpenContainer, EffectiveStatus::Invalid, EffectiveStatus::Done, EffectiveStatus::Invalid]
    );
    // A child that is stale itself opens its parent too.
    let mut run = family([done, done], done, done);
    run.steps[1].depends_on = vec![StepId::new("X")];
    run.steps.push(crate::model::Step::new(StepId::new("X"), "X"));
    run.steps[4].status = done;
    run.steps[4].proof.outputs = vec![path("out.json")];
    let (effective_statuses, _) = reconciled(&run, &Evidence::default());
    let [invalid, done] = [EffectiveStatus::Invalid, EffectiveStatus::Done];
    assert_eq!(effective_statuses, [EffectiveStatus::OpenContainer, invalid, done, invalid, invalid]);
}

#[test]
fn a_lost_output_reaches_through_steps_without_a_result() {
    let steps: &[(&str, &[&str])] = &[("A", &[]), ("B", &["A"]), ("C", &["B"])];
    for (between, effective_status) in [
        (Status::Skipped, EffectiveStatus::Skipped),
        (Status::Cancelled, EffectiveStatus::Cancelled),
        (Status::Pending, EffectiveStatus::Open),
    ] {
        let mut run = with_statuses(run_of(steps), &[Status::Completed, between, Status::Completed]);
        step(&mut run, "A").proof.outputs = vec![path("out.json")];
        let invalid = EffectiveStatus::Invalid;
        let statuses = reconciled(&run, &Evidence::default()).0;
        assert_eq!(statuses, [invalid, effective_status, invalid], "{between}");
    }
}

#[test]
fn a_lost_output_goes_round_a_circle() {
    let steps: &[(&str, &[&str])] = &[("A", &["C"]), ("B", &["A"]), ("C", &["B"])];
    let mut run = with_statuses(run_of(steps), &[Status::Completed; 3]);
    step(&mut run, "B").proof.outputs = vec![path("out.json")];
    assert_eq!(reconciled(&run, &Evidence::default()).0, [EffectiveStatus::Invalid; 3]);
}

#[test]
fn what_must_not_run_twice_is_looked_at_when_its_ground_is_gone() {
    let steps: &[(&str, &[&str])] = &[("A", &[]), ("B", &["A"]), ("C", &["B"])];
    let mut run = with_statuses(run_of(steps), &[Status::Completed; 3]);
    step(&mut run, "A").proof.outputs = vec![path("out.json")];
    step(&mut run, "B").idempotent = false;
    assert_eq!(
        reconciled(&run, &Evidence::default()).0,
        [EffectiveStatus::Invalid, EffectiveStatus::Verify, EffectiveStatus::Invalid]
    );
}

#[test]
fn a_reopened_step_is_not_recorded_as_done() {
    let mut run = with_statuses(run_of(&[("A", &[]), ("B", &["A"])]), &[Status::Completed, Status::Pending]);
    step(&mut run, "A").proof.outputs = vec![path("out.json")];
    with_witnesses(step(&mut run, "B"), 2);
    let (effective_statuses, codes) = reconciled(&run, &Evidence::default());
    assert_eq!(effective_statuses, [EffectiveStatus::Invalid; 2]);
    assert_eq!(codes, [FindingCode::OutputMissing, FindingCode::StaleDependent]);
}

#[test]
fn failures_and_skips_open_nothing_again() {
    for status in [Status::Failed, Status::Skipped, Status::Cancelled, Status::InProgress, Status::Pending] {
        let run = with_statuses(run_of(&[("A", &[]), ("B", &["A"])]), &[status, Status::Completed]);
        assert_eq!(reconciled(&run, &Evidence::default()).0[1], EffectiveStatus::Done, "{status}");
    }
}

#[test]
fn a_verdict_on_disk_is_early_while_its_work_is_under_way() {
    for (work, kind, status, expected) in [
        (Status::InProgress, StepKind::Review, Status::InProgress, EffectiveStatus::Interrupted),
        (Status::Failed, StepKind::Review, Status::InProgress, EffectiveStatus::Interrupted),
        (Status::Completed, StepKind::Review, Status::InProgress, EffectiveStatus::Done),
        (Status::Pending, StepKind::Review, Status::InProgress, EffectiveStatus::Done),
        (Status::InProgress, StepKind::Review, Status::Completed, EffectiveStatus::Done),
        (Status::InProgress, StepKind::Work, Status::InProgress, EffectiveStatus::Done),
    ] {
        let mut run = with_statuses(run_of(&[("A", &[]), ("B", &["A"])]), &[work, status]);
        run.steps[1].kind = kind;
        run.steps[1].review = review(ReviewVerdict::Approved);
        run.steps[1].proof.outputs = vec![path("out.json")];
        let evidence = file(present(at(0)));
        assert_eq!(reconciled(&run, &evidence).0[1], expected, "{kind:?} {status} on {work}");
    }
}

#[test]
fn a_container_says_how_many_of_its_children_are_done() {
    let reasons = |run: &Run, findings: &[Finding]| {
        reconcile(run, &Graph::of(run), &Evidence::default(), findings).reasons.remove(0)
    };
    let run = family([Status::Completed, Status::Pending], Status::Pending, Status::Pending);
    assert_eq!(reasons(&run, &[]), ["1 of 2 child steps are done"]);
    let unreadable = [Finding::new(FindingCode::PartUnreadable, "").on(&StepId::new("P"))];
    assert_eq!(reasons(&run, &unreadable), [""; 0]);
}
