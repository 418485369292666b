//! The context for the next agent (docs/formats/ccw.md#context-for-the-agent), and the coordination list of the resume command.

use serde_json::{Value, json};

use super::session::Session;

/// The documented example: one task done, one cut off in the middle of its analysis, one pending.
fn session() -> Session {
    let session = Session::at(".workflow/WFS-user-auth");
    session.task("impl-1.1", &json!({"title": "Design auth schema", "status": "completed"}));
    session.task(
        "impl-1.2",
        &json!({
            "title": "Implement JWT authentication", "status": "in_progress", "meta": {"agent": "@code-developer"},
            "context": {
                "depends_on": ["impl-1.1"], "requirements": ["JWT, not sessions"], "acceptance": ["a test signs in"],
                "focus_paths": ["src/auth", "tests/auth"],
            },
            "flow_control": {
                "pre_analysis": [
                    {"step": "gather_context", "action": "Read the schema", "command": "cat $(touch pwned) schema.sql", "output_to": "schema"},
                    {"step": "analyze_patterns", "action": "Find patterns", "command": "rg 'auth' | head", "on_error": "fail"},
                ],
                "target_files": ["src/auth/jwt.ts:sign:10-40"],
            },
            "execution": {
                "attempts": 1, "last_attempt": "2026-01-31T10:30:00Z", "interruption_reason": "agent_timeout",
                "flow_step": "analyze_patterns", "completed_flow_steps": ["gather_context"],
                "variables": {"schema": "users(id, name)"},
            },
        }),
    );
    session.task("impl-1.3", &json!({"title": "Review it", "status": "pending", "depends_on": ["impl-1.2"], "meta": {"agent": "code-review-agent"}}));
    session.summaries(&["impl-1.1"]).todo(&[("impl-1.1", 'x'), ("impl-1.2", ' '), ("impl-1.3", ' ')]);
    session
}

#[test]
fn the_brief_is_that_of_the_resume_command_and_commands_are_only_text() {
    let session = session();
    let context = session.ok("context --native");
    insta::assert_snapshot!(context.at("/data/prompt").as_str().unwrap(), @r#"
    [RESUME_CONTEXT] [FLOW_CONTROL] Resume impl-1.2: Implement JWT authentication

    RESUMPTION CONTEXT:
    - Interruption Type: agent_timeout
    - Previous Attempt: 2026-01-31T10:30:00Z
    - Completed Tasks: impl-1.1 (Design auth schema)
    - Current Task State: in_progress
    - Recovery Strategy: retry_with_enhanced_context
    - Interrupted at Flow Step: analyze_patterns

    AVAILABLE CONTEXT:
    - Completed Task Summaries: .workflow/WFS-user-auth/.summaries/impl-1.1-summary.md
    - Previous Progress: Check .workflow/WFS-user-auth/TODO_LIST.md for partial completion
    - Task Definition: .workflow/WFS-user-auth/.task/impl-1.2.json
    - Session State: .workflow/WFS-user-auth/workflow-session.json

    FLOW CONTROL RECOVERY:
    Resume from step: analyze_patterns
    - Step: gather_context | Action: Read the schema | Command: cat $(touch pwned) schema.sql | Status: completed
    - Step: analyze_patterns | Action: Find patterns | Command: rg 'auth' | head | Status: in_progress

    PREVIOUS STEP OUTPUTS:
    - schema = "users(id, name)"

    CONTEXT RECOVERY STEPS:
    1. MANDATORY: Read previous task summary documents for all dependencies
    2. Load dependency summaries of the tasks it depends on
    3. Restore previous step outputs if available
    4. Resume from interrupted flow control step
    5. Execute remaining steps with accumulated context
    6. Generate comprehensive summary with dependency outputs

    Focus Paths: src/auth, tests/auth
    Target Files: src/auth/jwt.ts:sign:10-40

    IMPORTANT:
    1. Resume flow control from interrupted step with error recovery
    2. Ensure context continuity through step chain
    3. Create enhanced summary for dependent tasks
    4. Update progress tracking upon successful completion
    "#);
    assert!(!session.sandbox.exists("pwned"));
    let agent = context.at("/data/agent_context");
    assert_eq!(agent["markers"], json!(["[RESUME_CONTEXT]", "[FLOW_CONTROL]"]));
    assert_eq!(agent["pre_analysis"][0]["commands"], json!(["cat $(touch pwned) schema.sql"]));
    assert_eq!(context.at("/data/variables"), json!({"schema": "users(id, name)"}));
    let reading = context.at("/data/required_reading");
    let paths: Vec<&Value> = reading.as_array().unwrap().iter().map(|reading| &reading["path"]).collect();
    let dir = ".workflow/WFS-user-auth";
    assert_eq!(
        paths,
        [
            &json!(format!("{dir}/.task/impl-1.2.json")),
            &json!(format!("{dir}/IMPL_PLAN.md")),
            &json!(format!("{dir}/TODO_LIST.md")),
            &json!(format!("{dir}/.summaries/impl-1.1-summary.md")),
        ]
    );
    assert_eq!(context.at("/data/acceptance"), json!(["a test signs in"]));
    assert_eq!(session.ok("context --native").stdout, context.stdout, "the same bytes again");
}

#[test]
fn a_budget_is_kept_and_what_is_left_out_is_listed() {
    let session = session();
    let whole = session.ok("context");
    let budget = whole.at("/data").to_string().len() - 1;
    let cut = session.ok(&format!("context --budget {budget}"));
    assert!(cut.at("/data").to_string().len() <= budget, "{}", cut.at("/data").to_string().len());
    let omitted = cut.at("/data/omitted");
    assert_eq!(omitted[0]["what"], "done", "{cut}");
    assert_eq!(cut.at("/data/next_action"), whole.at("/data/next_action"));
}

#[test]
fn a_task_to_verify_is_handed_over_to_be_looked_at() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]).todo(&[("IMPL-1", 'x')]);
    let context = session.ok("context --native");
    let prompt = context.at("/data/prompt");
    assert!(prompt.as_str().unwrap().contains("Verify IMPL-1"), "{prompt}");
    assert!(prompt.as_str().unwrap().contains("Run nothing again that is there"), "{prompt}");
}

#[test]
fn the_analysis_of_the_last_failure_is_read_first() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "failed", "execution": {"attempts": 1, "error": "tests are red"}}));
    session.file(".summaries/impl-1-failure-analysis.md", "why").todo(&[("IMPL-1", ' ')]);
    let context = session.ok("context --native");
    assert_eq!(context.at("/data/required_reading/1/what"), "analysis of the last failure", "{context}");
    assert_eq!(context.at("/data/findings_to_address"), json!(["tests are red"]));
}

#[test]
fn the_coordination_list_has_the_marks_of_the_resume_command() {
    let session = session();
    session.task("impl-2", &json!({"title": "Fix it", "status": "failed"}));
    session.task("impl-3", &json!({"title": "Leave it", "status": "pending"}));
    insta::assert_snapshot!(session.call("--format markdown plan --skip impl-3").run(), @r"
    code: 0
    ----- stdout -----
    # Workflow Resume Coordination
    *Session: WFS-user-auth - RESUMPTION*

    ## Interruption Analysis
    - **Interruption Point**: impl-1.2
    - **Interruption Type**: agent_interruption
    - **Last Activity**: 2026-01-31T10:30:00Z
    - **Recovery Strategy**: retry_with_enhanced_context

    ## Resume Execution Plan
    - [x] **TASK-001**: [Completed] Design auth schema (impl-1.1)
    - [ ] **TASK-002**: [RESUME] [Agent: code-developer] [FLOW_CONTROL] Implement JWT authentication (impl-1.2)
    - [ ] **TASK-003**: [Pending] [Agent: code-review-agent] Review it (impl-1.3)
    - [ ] **TASK-004**: [RETRY] Fix it (impl-2)
    - [x] **TASK-005**: [SKIP] Leave it (impl-3)
    - [ ] **TASK-006**: Update session state and mark workflow complete

    **Resume Markers**:
    - [RESUME] = Task being resumed from interruption point
    - [RETRY] = Task being retried after failure
    - [SKIP] = Task marked as skipped in recovery

    **Verdict**: resume

    **Proceed with resume?**
    - resume: `piton resume WFS-user-auth --skip impl-3 --yes`
    ");
}

/// C43: after a lost attempt the agent is told to compare what was changed with the files of the task.
#[test]
fn what_a_lost_attempt_left_is_compared_with_the_files_of_the_task() {
    let session = Session::new();
    let task = json!({"status": "in_progress", "flow_control": {"target_files": ["src/pay.rs"]}});
    session.task("IMPL-1", &task);
    let note = "The attempt before may have left changes: compare what git calls changed with the files to touch.";
    assert_eq!(session.ok("context").at("/data/open_questions/0"), note);
    session.task("IMPL-1", &json!({"status": "pending", "flow_control": {"target_files": ["src/pay.rs"]}}));
    assert!(!session.ok("context").stdout.contains(note));
}
