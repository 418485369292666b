//! What interrupted a run, and how the plan recovers from it.

use super::{
    plan_tests::{clean, over},
    reports_tests::{begun, decided},
    testing::{
        at, ids, line_of, next_of, options, path, plan_of, planned, planned_with, run_of, step, with_statuses,
        with_witnesses,
    },
};
use crate::model::{
    Action, DecisionKind, Evidence, Finding, FindingCode, Interruption, InterruptionKind, Owner, Presence, RunStatus,
    Status, StepId, Strategy,
};

/// The strategies of docs/formats/ccw.md#interruptions-and-strategies.
#[test]
fn each_interruption_has_its_strategy() {
    use InterruptionKind::{AgentInterruption, ContextLost, ReadyToExecute, TaskFailure, WaitingApproval};
    let lost = ["partial_recovery", "restart_from_checkpoint"].as_slice();
    for (status, output, kind, strategy, alternatives) in [
        (
            Status::InProgress,
            false,
            AgentInterruption,
            Some(Strategy::RetryWithEnhancedContext),
            ["skip_and_continue", "manual_review"].as_slice(),
        ),
        (
            Status::Failed,
            false,
            TaskFailure,
            Some(Strategy::AnalyzeAndRetry),
            ["skip_task", "force_continue"].as_slice(),
        ),
        (Status::Completed, true, ContextLost, Some(Strategy::RebuildFullContext), lost),
        (Status::Pending, false, ReadyToExecute, None, [].as_slice()),
        (Status::WaitingApproval, false, WaitingApproval, None, [].as_slice()),
    ] {
        let mut run = line_of(&[("A", Status::Completed), ("B", status), ("C", Status::Pending)]);
        if output {
            step(&mut run, "B").proof.outputs = vec![path("gone")];
        }
        let planned = plan_of(&run, &options());
        let (interruption, next) = (planned.plan.interruption.unwrap(), &planned.plan.next[0]);
        assert_eq!((interruption.kind, interruption.step.unwrap()), (kind, StepId::new("B")), "{status}");
        assert_eq!(
            (next.strategy, next.alternatives.as_slice()),
            (strategy, alternatives.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>().as_slice())
        );
        let affected: &[&str] = if kind == ReadyToExecute { &[] } else { &["B", "C"] };
        assert_eq!(interruption.affected, ids(affected));
    }
}

#[test]
fn work_on_lost_ground_rebuilds_its_context() {
    for code in [FindingCode::SessionUnreadable, FindingCode::SummaryMissing] {
        let run = clean();
        let findings = vec![Finding::new(code, "").on(&StepId::new("A"))];
        let planned = planned_with(&run, &Evidence::default(), findings, &options());
        assert_eq!(planned.plan.next[0].strategy, Some(Strategy::RebuildFullContext), "{code}");
        let elsewhere = vec![Finding::new(FindingCode::SummaryMissing, "").on(&StepId::new("C"))];
        let planned = planned_with(&run, &Evidence::default(), elsewhere, &options());
        assert_eq!(planned.plan.next[0].strategy, None);
        let cut_off = line_of(&[("A", Status::Completed), ("B", Status::InProgress)]);
        let findings = vec![Finding::new(code, "").on(&StepId::new("A"))];
        let planned = planned_with(&cut_off, &Evidence::default(), findings, &options());
        assert_eq!(planned.plan.next[0].strategy, Some(Strategy::RetryWithEnhancedContext), "it has its own reason");
    }
}

#[test]
fn an_interruption_names_the_most_specific_reason() {
    let recorded = |step: Option<&str>| {
        Some(Interruption {
            kind: InterruptionKind::AgentInterruption,
            step: step.map(StepId::new),
            at: Some(at(-5)),
            reason: "usage limit".to_owned(),
        })
    };
    let dead = || Evidence { owner: Owner::Dead { since: None, session: None }, ..Evidence::default() };
    for (interruption, error, evidence, reason, moment) in [
        (recorded(None), Some("boom"), dead(), "usage limit", at(-5)),
        (recorded(Some("B")), Some("boom"), dead(), "usage limit", at(-5)),
        (recorded(Some("C")), Some("boom"), dead(), "boom", at(-9)),
        (None, None, dead(), "the process that drove it is gone", at(-9)),
        (None, None, Evidence::default(), "B was started but never finished", at(-9)),
    ] {
        let mut run = line_of(&[("A", Status::Completed), ("B", Status::InProgress), ("C", Status::Pending)]);
        run.interruption = interruption;
        run.stamp = Some(at(-1));
        (step(&mut run, "B").error, step(&mut run, "B").started_at) = (error.map(str::to_owned), Some(at(-9)));
        let told = planned(&run, &evidence, &options()).plan.interruption.unwrap();
        assert_eq!((told.reason.as_str(), told.at), (reason, Some(moment)));
    }
}

#[test]
fn a_pause_is_no_accident() {
    let mut run = clean();
    run.status = RunStatus::Paused;
    let told = plan_of(&run, &options()).plan.interruption.unwrap();
    assert_eq!((told.kind, told.reason.as_str()), (InterruptionKind::Paused, "the run was paused"));
    step(&mut run, "B").status = Status::InProgress;
    let told = plan_of(&run, &options()).plan.interruption.unwrap();
    assert_eq!(told.kind, InterruptionKind::AgentInterruption, "a step was cut off all the same");
}

#[test]
fn a_block_is_an_interruption_and_the_end_is_none() {
    let run = line_of(&[("A", Status::Completed), ("B", Status::Cancelled), ("C", Status::Pending)]);
    let told = plan_of(&run, &options()).plan.interruption.unwrap();
    assert_eq!(
        (told.kind, told.step, told.affected),
        (InterruptionKind::DependencyBlock, Some(StepId::new("B")), ids(&["B", "C"]))
    );
    assert!(plan_of(&over(), &options()).plan.interruption.is_none());
}

#[test]
fn an_interrupted_step_takes_precedence_over_ready_ones() {
    let run = with_statuses(
        run_of(&[("A", &[]), ("B", &[]), ("C", &[])]),
        &[Status::Pending, Status::InProgress, Status::Failed],
    );
    let told = plan_of(&run, &options()).plan.interruption.unwrap();
    assert_eq!((told.kind, told.step), (InterruptionKind::AgentInterruption, Some(StepId::new("B"))));
}

#[test]
fn only_work_counts_an_attempt_and_has_a_strategy() {
    let mut run = line_of(&[("A", Status::InProgress)]);
    (step(&mut run, "A").idempotent, step(&mut run, "A").attempts) = (false, 2);
    let planned = plan_of(&run, &options());
    let next = &planned.plan.next[0];
    assert_eq!((next.action, next.attempt, next.strategy), (Action::Verify, 2, None));
    assert_eq!(planned.plan.interruption.unwrap().kind, InterruptionKind::AgentInterruption);
    step(&mut run, "A").idempotent = true;
    let next = plan_of(&run, &options()).plan.next.remove(0);
    assert_eq!(
        (next.action, next.attempt, next.strategy),
        (Action::Retry, 3, Some(Strategy::RetryWithEnhancedContext))
    );
}

#[test]
fn what_the_state_says_of_an_interruption_counts_for_its_step() {
    let recorded = |kind: InterruptionKind, id: &str| {
        let mut run = line_of(&[("A", Status::InProgress), ("B", Status::Pending)]);
        run.interruption = Some(Interruption { kind, step: Some(StepId::new(id)), at: None, reason: String::new() });
        plan_of(&run, &options()).plan.interruption.unwrap().kind
    };
    for (kind, step, expected) in [
        (InterruptionKind::ContextLost, "A", InterruptionKind::ContextLost),
        (InterruptionKind::ContextLost, "B", InterruptionKind::AgentInterruption),
        (InterruptionKind::WorkflowComplete, "A", InterruptionKind::AgentInterruption),
    ] {
        assert_eq!(recorded(kind, step), expected, "{kind:?} of {step}");
    }
}

#[test]
fn a_pause_and_a_block_say_where_when_and_why() {
    let mut run = clean();
    run.status = RunStatus::Paused;
    run.interruption = Some(Interruption {
        kind: InterruptionKind::Paused,
        step: Some(StepId::new("B")),
        at: Some(at(-7)),
        reason: "- lunch".to_owned(),
    });
    let told = plan_of(&run, &options()).plan.interruption.unwrap();
    assert_eq!(
        (told.kind, told.step, told.at, told.reason.as_str()),
        (InterruptionKind::Paused, Some(StepId::new("B")), Some(at(-7)), "lunch")
    );
    let mut run = line_of(&[("A", Status::Completed), ("B", Status::Cancelled), ("C", Status::Pending)]);
    run.stamp = Some(at(-3));
    let planned = plan_of(&run, &options());
    let told = planned.plan.interruption.unwrap();
    assert_eq!(told.at, Some(at(-3)));
    let block = planned.findings.iter().find(|finding| finding.code == FindingCode::DependencyBlock).unwrap();
    assert_eq!(told.reason, block.message);
    step(&mut run, "B").started_at = Some(at(-9));
    assert_eq!(plan_of(&run, &options()).plan.interruption.unwrap().at, Some(at(-9)));
}

#[test]
fn what_ended_a_run_that_is_over_is_told() {
    let mut run = over();
    let cause = crate::model::Cause {
        kind: crate::model::CauseKind::SessionEnded,
        at: Some(at(-4)),
        detail: "the session ended".to_owned(),
    };
    run.ended = Some(cause.clone());
    let told = plan_of(&run, &options()).plan.interruption.unwrap();
    assert_eq!((told.at, told.reason.as_str(), told.cause), (Some(at(-4)), "the session ended", Some(cause)));
}

#[test]
fn what_waits_to_be_looked_at_or_was_asked_for_was_not_cut_off() {
    use InterruptionKind::{AgentInterruption, ReadyToExecute};
    let seen = |status: Status| {
        let mut run = line_of(&[("A", status), ("B", Status::Pending)]);
        with_witnesses(step(&mut run, "A"), 1);
        run
    };
    let done = line_of(&[("A", Status::Completed), ("B", Status::Pending)]);
    let redo = decided(&done, 5, "A", DecisionKind::Redo);
    for (what, run, statements, action, expected) in [
        ("open, but done as it seems", seen(Status::Pending), vec![], Action::Verify, ReadyToExecute),
        ("asked for again", done, vec![redo], Action::Retry, ReadyToExecute),
        ("cut off", line_of(&[("A", Status::InProgress)]), vec![], Action::Retry, AgentInterruption),
    ] {
        let plan = planned(&run, &Evidence { statements, ..Evidence::default() }, &options()).plan;
        assert_eq!((plan.next[0].action, plan.interruption.unwrap().kind), (action, expected), "{what}");
    }
}

#[test]
fn a_pause_ends_the_attempt_that_it_finds() {
    let mut run = line_of(&[("A", Status::InProgress), ("B", Status::Pending)]);
    run.interruption =
        Some(Interruption { kind: InterruptionKind::Paused, step: None, at: Some(at(-7)), reason: "lunch".to_owned() });
    for (status, expected) in
        [(RunStatus::Paused, InterruptionKind::Paused), (RunStatus::Active, InterruptionKind::AgentInterruption)]
    {
        run.status = status;
        let told = plan_of(&run, &options()).plan.interruption.unwrap();
        assert_eq!((told.kind, told.step), (expected, Some(StepId::new("A"))), "{status:?}");
    }
    step(&mut run, "A").status = Status::Failed;
    run.status = RunStatus::Paused;
    assert_eq!(plan_of(&run, &options()).plan.interruption.unwrap().kind, InterruptionKind::TaskFailure);
}

#[test]
fn a_limit_or_a_failure_that_ended_the_work_is_a_pause_of_what_is_next() {
    use crate::model::CauseKind;
    for (status, cause, expected) in [
        (Status::Pending, CauseKind::Limit, InterruptionKind::Paused),
        (Status::Pending, CauseKind::Failure, InterruptionKind::Paused),
        (Status::Pending, CauseKind::SessionEnded, InterruptionKind::ReadyToExecute),
        (Status::InProgress, CauseKind::Limit, InterruptionKind::AgentInterruption),
        (Status::Failed, CauseKind::Limit, InterruptionKind::TaskFailure),
    ] {
        let mut run = line_of(&[("A", status)]);
        let ended = crate::model::Cause { kind: cause, at: Some(at(-4)), detail: "it ended".to_owned() };
        run.ended = Some(ended.clone());
        let told = plan_of(&run, &options()).plan.interruption.unwrap();
        assert_eq!((told.kind, told.reason.as_str()), (expected, "it ended"), "{status} {cause:?}");
        assert_eq!(told.cause, Some(ended));
    }
}

#[test]
fn the_error_of_the_attempt_before_does_not_explain_this_one() {
    for (begun_again, expected) in [(false, "boom"), (true, "A was started but never finished")] {
        let mut run = line_of(&[("A", Status::InProgress)]);
        (step(&mut run, "A").attempts, step(&mut run, "A").error) = (1, Some("boom".to_owned()));
        let mut evidence = Evidence::default();
        if begun_again {
            evidence.statements.push(begun(&run, 1, "A"));
            evidence.presences.insert((StepId::new("A"), 1), Presence::Gone);
        }
        let told = planned(&run, &evidence, &options()).plan.interruption.unwrap();
        assert_eq!(told.kind, InterruptionKind::AgentInterruption);
        assert!(told.reason.starts_with(expected), "{}", told.reason);
    }
}

#[test]
fn a_command_is_executed_and_an_agent_begun() {
    for (is_command, status, expected) in [
        (true, Status::Pending, "exec A"),
        (true, Status::Failed, "exec A"),
        (false, Status::Pending, "run A"),
        (false, Status::Failed, "retry A"),
    ] {
        let mut run = line_of(&[("A", status)]);
        step(&mut run, "A").is_command = is_command;
        assert_eq!(next_of(&plan_of(&run, &options())), [expected]);
    }
}
