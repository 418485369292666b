//! The context for agents and the plan in the plugin's words.

use serde_json::{Value, json};

use super::{files, state};
use crate::{
    dialect::{
        Dialect as _,
        nine_step::{NineStep, native::plan as in_own_words},
    },
    model::{
        Action, Brief, Next, Plan, Run, Verdict,
        testing::{next_of, plan_of},
    },
};

fn next(step: &str, action: Action, agent: Option<&str>) -> Next {
    Next { agent: agent.map(str::to_owned), ..next_of(step, action) }
}

fn plan(run: &Run, next: Next) -> Plan {
    Plan { next: vec![next], ..plan_of(run, Verdict::Resume) }
}

fn rejected_review() -> String {
    state(
        "{\"phase\": 2, \"step\": 4, \"agent\": \"code-reviewer\", \"status\": \"failed\", \"verdict\": \"Needs Revision\", \
         \"error_message\": \"- user_input validation missing\\n- key ghp_0123456789abcdef in the log\\u001b[31m\"}",
        "\"branch_name\": \"feature/feat-quotes\", \"plan_reference\": \".plan/quotes_plan.md\", \"total_phases\": 3, \
         \"phase_description\": \"QuoteService\", \"related_issues\": [12], \"completed_steps\": [\
         {\"phase\": 1, \"step\": 9, \"status\": \"completed\", \"commit_sha\": \"a1b2c3d4e5\"}]",
    )
}

fn brief(text: &str, next: Next) -> Brief {
    let files = files(text);
    let run = NineStep.load(&files).run.unwrap();
    let plan = plan(&run, next);
    NineStep.brief(&files, &run, &plan, &plan.next[0])
}

#[test]
fn a_description_is_not_carried_into_another_phase() {
    let text = state(
        "{\"phase\": 1, \"step\": 9, \"status\": \"completed\"}",
        "\"total_phases\": 3, \"phase_description\": \"one\", \"phases\": {\"3\": {\"description\": \"three\"}}",
    );
    for (id, expected) in [("1:9", Some("one")), ("2:1", None), ("3:1", Some("three"))] {
        let context = brief(&text, next(id, Action::Run, None)).agent_context;
        assert_eq!(context.get("phase_description").and_then(Value::as_str), expected, "{id}");
    }
}

#[test]
fn in_a_linked_worktree_the_plan_is_named_absolutely() {
    let text = rejected_review();
    let mut files = super::files_at(".workflow-state.json", text.as_bytes());
    files.main_root = Some("/main".into());
    let run = NineStep.load(&files).run.unwrap();
    let plan = plan(&run, next("2:3", Action::Return, None));
    let brief = NineStep.brief(&files, &run, &plan, &plan.next[0]);
    assert_eq!(brief.reading[0].path.as_deref(), Some("/main/.plan/quotes_plan.md"));
    assert_eq!(brief.agent_context["worktree_path"], json!("/project"));
}

#[test]
fn the_native_plan_is_the_resume_plan_of_the_plugin() {
    let run = super::run(&rejected_review());
    let native = in_own_words(&run, &plan(&run, next("2:3", Action::Return, Some("backend-developer"))));
    assert_eq!(
        native["resume_plan"],
        json!({"next_phase": 2, "next_step": 3, "next_agent": "backend-developer", "reason": "Address code-reviewer feedback"})
    );
    assert_eq!(
        native["completed_work"],
        json!(["Phase 1: Step 1-9 completed (commit: a1b2c3d)", "Phase 2: Step 1-3 completed"])
    );
    assert_eq!(native["current_state"]["total_phases"], json!(3));
    assert_eq!(native["current_state"]["last_step"], json!(4));
    assert_eq!(native["prompt"], json!("Proceed with resume? [Y/n]"));

    let gate = in_own_words(&run, &plan(&run, next("2:2.5", Action::Approve, Some("user"))));
    assert_eq!(gate["resume_plan"]["next_step"], json!(2.5));
    assert_eq!(gate["resume_plan"]["reason"], json!("User approval required"));

    let merge = in_own_words(&run, &plan(&run, next("3:9", Action::Merge, Some("git-worktree-manager"))));
    assert_eq!(merge["resume_plan"]["next_step"], Value::Null);
    assert_eq!(merge["resume_plan"]["next_agent"], json!("git-worktree-manager"));

    let closed = super::run(&state("{\"phase\": 1, \"step\": 9, \"status\": \"completed\"}", "\"total_phases\": 2"));
    let native = in_own_words(&closed, &plan(&closed, next("2:1", Action::Run, Some("project-planner"))));
    assert_eq!(native["resume_plan"]["reason"], json!("Phase 1 completed; phase 2 begins at step 1"));
}
