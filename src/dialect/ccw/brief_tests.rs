use serde_json::json;

use super::brief;
use crate::{
    dialect::ccw::testing::{SESSION, files, run},
    model::{
        Action, Brief, FileSet, StepId, Strategy, Verdict,
        testing::{next_of, plan_of},
    },
};

fn session() -> FileSet {
    files(&[
        ("workflow-session.json", SESSION),
        ("TODO_LIST.md", "- [x] **IMPL-1**: Schema\n- [ ] **IMPL-2**: Tokens\n"),
        ("IMPL_PLAN.md", "# Plan"),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","title":"Schema","status":"completed"}"#),
        (
            ".task/IMPL-2.json",
            r#"{"id":"IMPL-2","title":"Tokens\u001b[31m","status":"in_progress","depends_on":["IMPL-1"],"focus_paths":["src/auth"],
                "files":[{"path":"src/auth/token.rs"}],
                "pre_analysis":[{"step":"gather","action":"Look around","commands":["rg token","cat x"]},{"step":"decide","action":"Choose"}],
                "execution":{"attempts":1,"last_attempt":"2025-09-15T14:30:00Z","interruption_reason":"agent_timeout","flow_step":"decide"}}"#,
        ),
        (".summaries/IMPL-1-summary.md", ""),
        (".summaries/IMPL-2-failure-analysis.md", ""),
    ])
}

fn handed_over(action: Action) -> Brief {
    let set = session();
    let run = run(&set);
    let mut plan = plan_of(&run, Verdict::Resume);
    plan.steps.completed = vec![StepId::new("IMPL-1")];
    let mut step = next_of("IMPL-2", action);
    step.strategy = Some(Strategy::RetryWithEnhancedContext);
    step.title = run.steps[1].title.clone();
    brief(&set, &run, &plan, &step)
}

#[test]
fn the_prompt_is_that_of_the_resume_command() {
    let brief = handed_over(Action::Retry);
    let start = "\
[RESUME_CONTEXT] [FLOW_CONTROL] Resume IMPL-2: Tokens[31m

RESUMPTION CONTEXT:
- Interruption Type: agent_timeout
- Previous Attempt: 2025-09-15T14:30:00Z
- Completed Tasks: IMPL-1 (Schema)
- Current Task State: in_progress
- Recovery Strategy: retry_with_enhanced_context
- Interrupted at Flow Step: decide

AVAILABLE CONTEXT:
- Completed Task Summaries: .workflow/active/WFS-x/.summaries/IMPL-1-summary.md
- Previous Progress: Check .workflow/active/WFS-x/TODO_LIST.md for partial completion
- Task Definition: .workflow/active/WFS-x/.task/IMPL-2.json
- Session State: .workflow/active/WFS-x/workflow-session.json
- Failure Analysis: .workflow/active/WFS-x/.summaries/IMPL-2-failure-analysis.md

FLOW CONTROL RECOVERY:
Resume from step: decide
- Step: gather | Action: Look around | Command: rg token; cat x | Status: completed
- Step: decide | Action: Choose | Status: in_progress

CONTEXT RECOVERY STEPS:
1. MANDATORY: Read previous task summary documents for all dependencies
";
    assert!(brief.prompt.starts_with(start), "{}", brief.prompt);
    assert!(brief.prompt.contains("\nFocus Paths: src/auth\nTarget Files: src/auth/token.rs\n"));
    assert_eq!(brief.agent_context["interrupted_flow_step"], json!("decide"));
    assert_eq!(brief.agent_context["pre_analysis"][0]["commands"], json!(["rg token", "cat x"]));
}

#[test]
fn a_verification_runs_nothing() {
    let prompt = handed_over(Action::Verify).prompt;
    assert!(prompt.starts_with("[RESUME_CONTEXT] [FLOW_CONTROL] Verify IMPL-2"));
    assert!(prompt.contains("Run nothing again") && !prompt.contains("FLOW CONTROL RECOVERY"));
}

#[test]
fn what_to_read_begins_with_the_task() {
    let reading: Vec<String> =
        handed_over(Action::Retry).reading.into_iter().filter_map(|reading| reading.path).collect();
    let names: Vec<&str> = reading.iter().map(|path| path.strip_prefix(".workflow/active/WFS-x/").unwrap()).collect();
    let expected = [".task/IMPL-2.json", ".summaries/IMPL-2-failure-analysis.md", "IMPL_PLAN.md", "TODO_LIST.md"];
    assert_eq!(names, expected);
}

#[test]
fn without_a_recorded_flow_step_none_is_named() {
    let set = files(&[(".task/IMPL-1.json", r#"{"id":"IMPL-1","status":"pending","pre_analysis":[{"step":"a"}]}"#)]);
    let run = run(&set);
    let brief = brief(&set, &run, &plan_of(&run, Verdict::Resume), &next_of("IMPL-1", Action::Run));
    assert_eq!(brief.agent_context["interrupted_flow_step"], json!(null));
    assert!(brief.prompt.contains("- Interrupted at Flow Step: not recorded\n"));
    assert!(brief.prompt.contains("Resume from step: a\n"));
}
