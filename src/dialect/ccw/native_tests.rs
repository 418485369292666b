use serde_json::json;

use super::native;
use crate::{
    dialect::ccw::testing::{SESSION, files, run, time},
    model::{
        Action, InterruptionKind, InterruptionReport, Run, StepId, Strategy, Verdict,
        testing::{next_of, plan_of},
    },
};

fn ids(names: &[&str]) -> Vec<StepId> {
    names.iter().map(|name| StepId::new(*name)).collect()
}

fn documented() -> Run {
    run(&files(&[
        ("workflow-session.json", SESSION),
        (".task/impl-1.1.json", r#"{"id":"impl-1.1","status":"completed"}"#),
        (
            ".task/impl-1.2.json",
            r#"{"id":"impl-1.2","status":"in_progress","context":{"depends_on":["impl-1.1"]},
                "execution":{"attempts":1,"last_attempt":"2025-09-15T14:30:00Z","interruption_reason":"agent_timeout"}}"#,
        ),
        (
            ".task/impl-1.3.json",
            r#"{"id":"impl-1.3","status":"pending","context":{"depends_on":["impl-1.2","impl-9"]}}"#,
        ),
    ]))
}

#[test]
fn the_analysis_is_that_of_the_resume_command() {
    let run = documented();
    let mut plan = plan_of(&run, Verdict::Resume);
    plan.steps.completed = ids(&["impl-1.1"]);
    plan.steps.in_progress = ids(&["impl-1.2"]);
    plan.steps.pending = ids(&["impl-1.3"]);
    plan.interruption = Some(InterruptionReport {
        kind: InterruptionKind::AgentInterruption,
        step: Some(StepId::new("impl-1.2")),
        at: Some(time("2025-09-15T14:30:00Z")),
        reason: "the agent was lost".to_owned(),
        cause: None,
        affected: ids(&["impl-1.2", "impl-1.3"]),
        strategy: Some(Strategy::RetryWithEnhancedContext),
        alternatives: Vec::new(),
    });
    let mut retry = next_of("impl-1.2", Action::Retry);
    retry.strategy = Some(Strategy::RetryWithEnhancedContext);
    plan.next = vec![retry];
    let expected = json!({
        "interruption_analysis": {
            "session_id": "WFS-x",
            "last_active_task": "impl-1.2",
            "interruption_type": "agent_timeout",
            "interruption_time": "2025-09-15T14:30:00Z",
            "affected_tasks": ["impl-1.2", "impl-1.3"],
            "pending_dependencies": [],
            "recovery_strategy": "retry_with_enhanced_context"
        },
        "execution_state": {
            "completed_tasks": ["impl-1.1"],
            "failed_tasks": [],
            "in_progress_tasks": ["impl-1.2"],
            "pending_tasks": ["impl-1.3"],
            "skipped_tasks": [],
            "blocked_tasks": []
        },
        "interruption_point": {"task": "impl-1.2", "type": "agent_interruption"}
    });
    assert_eq!(native(&run, &plan), expected);
}

#[test]
fn the_interruption_point_has_a_type_for_every_end() {
    let run = documented();
    for (verdict, action, task, kind) in [
        (Verdict::Resume, Some(Action::Run), json!("impl-1.3"), "ready_to_execute"),
        (Verdict::Confirm, Some(Action::Verify), json!("impl-1.3"), "needs_verification"),
        (Verdict::Blocked, None, json!(null), "dependency_block"),
        (Verdict::Complete, Some(Action::Archive), json!(null), "workflow_complete"),
    ] {
        let mut plan = plan_of(&run, verdict);
        plan.next = action.map(|action| next_of("impl-1.3", action)).into_iter().collect();
        let point = &native(&run, &plan)["interruption_point"];
        assert_eq!(*point, json!({"task": task, "type": kind}));
    }
}

#[test]
fn a_block_names_everything_that_is_waited_for() {
    let run = documented();
    let mut plan = plan_of(&run, Verdict::Blocked);
    plan.steps.completed = ids(&["impl-1.1"]);
    plan.steps.pending = ids(&["impl-1.3"]);
    plan.steps.blocked = ids(&["impl-1.2"]);
    let analysis = &native(&run, &plan)["interruption_analysis"];
    assert_eq!(analysis["pending_dependencies"], json!(["impl-1.2", "impl-9"]));
    assert_eq!(analysis["interruption_type"], "dependency_block");
}
