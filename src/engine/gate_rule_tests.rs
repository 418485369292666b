//! Gates and reviews: when an answer comes too late, when a no stands, and who steps past one.

use std::time::Duration;

use super::{
    graph::Graph,
    reconcile::reconcile,
    reconciled::{EffectiveStatus, ReconciledRun},
    reports_tests::decided,
    testing::{
        at, ids, line_of, options, plan_of, planned, planned_with, review, run_of, step, with_statuses, with_witnesses,
    },
};
use crate::model::{
    Action, DecisionKind, Evidence, Finding, FindingCode, GateEffect, GateOption, Options, ReviewVerdict, Run, Status,
    StepId, StepKind,
};

use Status::{Completed, Failed, InProgress, Pending};

/// Returns a step that is done, a gate and what is behind it.
fn gated(gate: Status) -> Run {
    let mut run = line_of(&[("A", Completed), ("G", gate), ("B", Pending)]);
    step(&mut run, "G").kind = StepKind::Gate;
    run
}

#[test]
fn an_answer_comes_too_late_after_its_time_which_begins_when_the_gate_is_asked() {
    const MINUTE: i64 = 60;
    for (what, ended, answered, asked_again, began, now, expected) in [
        ("just in time", Some(0), None, None, None, MINUTE - 1, false),
        ("too late", Some(0), None, None, None, MINUTE, true),
        ("since it was answered", Some(0), Some(10), None, None, MINUTE, false),
        ("since it was answered, too late", Some(0), Some(10), None, None, MINUTE + 10, true),
        ("since it was asked again", Some(0), None, Some(20), None, MINUTE + 19, false),
        ("since it was asked again, too late", Some(0), None, Some(20), None, MINUTE + 20, true),
        ("since the run began", None, None, None, Some(0), MINUTE, true),
        ("a later end counts", Some(30), None, None, Some(0), MINUTE, false),
        ("nothing is known", None, None, None, None, MINUTE, false),
    ] {
        let mut run = gated(Pending);
        run.started_at = began.map(at);
        step(&mut run, "A").finished_at = ended.map(at);
        step(&mut run, "G").finished_at = answered.map(at);
        step(&mut run, "G").answer_within = Some(Duration::from_secs(60));
        let statements =
            asked_again.map(|seconds| decided(&run, seconds, "G", DecisionKind::Redo)).into_iter().collect();
        let evidence = Evidence { statements, ..Evidence::default() };
        let planned = planned(&run, &evidence, &Options::at(at(now)));
        let is_expired = planned.findings.iter().any(|finding| finding.code == FindingCode::GateExpired);
        assert_eq!(is_expired, expected, "{what}");
        let approve = planned.plan.question().and_then(|question| question.option("approve"));
        assert_eq!(approve.is_none(), expected, "{what}");
    }
}

#[test]
fn only_a_gate_that_is_reached_and_open_can_be_too_late() {
    for (what, before, gate, expected) in [
        ("it is next", Completed, Pending, true),
        ("it is passed", Completed, Completed, false),
        ("it is left out", Completed, Status::Skipped, false),
        ("it was not reached", Pending, Pending, false),
    ] {
        let mut run = with_statuses(gated(Pending), &[before, gate, Pending]);
        step(&mut run, "A").finished_at = Some(at(0));
        step(&mut run, "G").answer_within = Some(Duration::from_secs(1));
        let planned = planned(&run, &Evidence::default(), &Options::at(at(9)));
        let is_expired = planned.findings.iter().any(|finding| finding.code == FindingCode::GateExpired);
        assert_eq!(is_expired, expected, "{what}");
    }
}

#[test]
fn the_no_of_a_gate_stands_until_what_it_approves_was_done_again_or_a_person_sent_it_back() {
    for (what, ended, chose, expected) in [
        ("it said no", Some(1), false, true),
        ("its work was done again", Some(3), false, false),
        ("when its work was done is unknown", None, false, true),
        ("a person sent the work back", Some(1), true, false),
    ] {
        let mut run = gated(Failed);
        step(&mut run, "A").finished_at = ended.map(at);
        let gate = step(&mut run, "G");
        (gate.finished_at, gate.review) = (Some(at(2)), review(ReviewVerdict::NeedsRevision));
        gate.returns_to = Some(StepId::new("A"));
        let effect = if chose { GateEffect::Return(StepId::new("A")) } else { GateEffect::Continue };
        gate.options = vec![GateOption { word: "w".to_owned(), effect }];
        let planned = plan_of(&run, &options());
        let stands = planned.findings.iter().any(|finding| finding.code == FindingCode::Rejected);
        assert_eq!(stands, expected, "{what}: {:?}", planned.findings);
    }
}

#[test]
fn a_person_decides_about_rounds_of_a_review_and_tries_of_work() {
    for (returns, expected) in [(true, "another round"), (false, "try it once more")] {
        let mut run = line_of(&[("A", Completed), ("B", Failed)]);
        let failed = step(&mut run, "B");
        (failed.failures, failed.returns_to) = (9, returns.then(|| StepId::new("A")));
        let planned = plan_of(&run, &options());
        let redo = planned.plan.question().and_then(|question| question.option("redo"));
        assert_eq!(redo.map(|option| option.label.as_str()), Some(expected));
    }
}

#[test]
fn a_gate_that_is_forced_needs_an_override_unless_it_waits() {
    let forced = Options { from: ids(&["G"]), force: true, ..options() };
    for (before, gate, expected) in [
        (Completed, Pending, vec![]),
        (Completed, Status::WaitingApproval, vec![]),
        (Pending, Status::WaitingApproval, vec![]),
        (Pending, Pending, vec![(StepId::new("G"), DecisionKind::Override)]),
    ] {
        let planned = plan_of(&with_statuses(gated(Pending), &[before, gate, Pending]), &forced);
        assert_eq!(planned.plan.next[0].action, Action::Approve, "{before} {gate}");
        assert_eq!(planned.needs, expected, "{before} {gate}");
    }
}

#[test]
fn the_state_is_quoted_unless_it_says_nothing_or_cannot_be_understood() {
    let because = |code: Option<FindingCode>| {
        let run = line_of(&[("A", Pending)]);
        let findings: Vec<Finding> =
            code.map(|code| Finding::new(code, "it is so").on(&StepId::new("A"))).into_iter().collect();
        let graph = Graph::of(&run);
        let compared = reconcile(&run, &graph, &Evidence::default(), &findings);
        ReconciledRun::of(&run, &graph, &compared).reasons_for(0)
    };
    assert_eq!(because(None), ["the state says pending"]);
    assert_eq!(because(Some(FindingCode::FieldIgnored)), ["the state says pending"]);
    assert_eq!(because(Some(FindingCode::StatusMissing))[0], "it has no status");
    for code in [FindingCode::StatusUnknown, FindingCode::PartUnreadable] {
        assert!(!because(Some(code)).contains(&"the state says pending".to_owned()), "{code}");
    }
}

#[test]
fn witnesses_are_named_by_what_they_say() {
    for (done, expected) in [
        (2, &["the checklist and the summary say done"][..]),
        (1, &["the checklist says done", "the summary does not"]),
        (0, &[]),
    ] {
        let mut run = line_of(&[("A", Pending)]);
        with_witnesses(step(&mut run, "A"), done);
        assert_eq!(reconcile(&run, &Graph::of(&run), &Evidence::default(), &[]).reasons[0], expected);
    }
}

#[test]
fn a_probe_is_a_command_of_a_recorded_step_and_a_way_to_look_at_any_other() {
    for (recorded, fix, is_reason) in [
        (true, "to find out whether it took effect: `gh pr view`", false),
        (false, "find out whether it took effect: gh pr view", true),
    ] {
        let mut run = line_of(&[("A", InProgress)]);
        let once = step(&mut run, "A");
        (once.idempotent, once.recorded, once.probe) = (false, recorded, Some("gh pr view".to_owned()));
        let compared = reconcile(&run, &Graph::of(&run), &Evidence::default(), &[]);
        assert_eq!(compared.findings[0].fix_text().as_deref(), Some(fix));
        assert_eq!(compared.reasons[0].contains(&"its outcome is unknown".to_owned()), is_reason);
    }
}

#[test]
fn a_step_that_was_begun_has_passed_its_gates() {
    for (status, effective, expected) in [
        (InProgress, EffectiveStatus::Interrupted, true),
        (InProgress, EffectiveStatus::Verify, true),
        (Pending, EffectiveStatus::Interrupted, true),
        (Pending, EffectiveStatus::Open, false),
        (Failed, EffectiveStatus::Failed, false),
    ] {
        let run = with_statuses(run_of(&[("A", &[])]), &[status]);
        let graph = Graph::of(&run);
        let mut compared = reconcile(&run, &graph, &Evidence::default(), &[]);
        compared.effective_statuses = vec![effective];
        let found = ReconciledRun::of(&run, &graph, &compared).passed_its_gates(0);
        assert_eq!(found, expected, "{status} {effective:?}");
    }
}

#[test]
fn nothing_is_recorded_in_a_file_that_cannot_be_read() {
    let mut run = line_of(&[("A", Pending)]);
    with_witnesses(step(&mut run, "A"), 2);
    let broken = Finding::new(FindingCode::PartUnreadable, "it is cut off").on(&StepId::new("A"));
    let plan = planned_with(&run, &Evidence::default(), vec![broken], &options()).plan;
    assert_eq!((plan.next[0].action, plan.commands.begin), (Action::Verify, None));
}
