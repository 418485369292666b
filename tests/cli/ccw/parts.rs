//! Inside a task: flow-control steps and subtasks, begun, finished, skipped, and the variables they set for later ones.

use serde_json::{Value, json};

use super::session::{Session, next};
use crate::support::{NOW, Output};

fn session() -> Session {
    let session = Session::new();
    session.task(
        "IMPL-1",
        &json!({
            "status": "pending",
            "flow_control": {
                "pre_analysis": [
                    {"step": "gather_context", "action": "Read the docs", "command": "cat docs/*.md", "output_to": "docs"},
                    {"step": "analyze_patterns", "action": "Find patterns", "commands": ["rg auth", "rg token"], "output_to": "patterns"},
                ],
                "implementation_approach": [
                    {"step": 1, "title": "Write the middleware"},
                    {"step": 2, "title": "Write its tests"},
                ],
            },
        }),
    );
    session.todo(&[("IMPL-1", ' ')]);
    session
}

fn parts(plan: &Output) -> Vec<String> {
    let parts = plan.at("/data/next/0/parts");
    let words = |part: &Value| {
        format!("{} {}", part["action"].as_str().expect("it is a text"), part["name"].as_str().expect("it is a text"))
    };
    parts.as_array().into_iter().flatten().map(words).collect()
}

#[test]
fn part_flags_choose_where_inside_a_task_to_continue() {
    let session = session();
    session.ok("begin IMPL-1");
    session.ok("finish IMPL-1 --part gather_context");
    for (flags, expected) in [
        ("", ["done gather_context", "run analyze_patterns", "run 1", "run 2"]),
        ("--from-step 1 IMPL-1", ["skip gather_context", "skip analyze_patterns", "run 1", "run 2"]),
        ("--from-step ANALYZE_PATTERNS impl-1", ["skip gather_context", "run analyze_patterns", "run 1", "run 2"]),
        ("--from-step gather_context IMPL-1", ["run gather_context", "run analyze_patterns", "run 1", "run 2"]),
        ("--retry-step gather_context IMPL-1", ["retry gather_context", "run analyze_patterns", "run 1", "run 2"]),
        ("--skip-step analyze_patterns IMPL-1", ["done gather_context", "skip analyze_patterns", "run 1", "run 2"]),
        ("--refresh-analysis", ["refresh gather_context", "refresh analyze_patterns", "run 1", "run 2"]),
        ("--refresh-analysis --from IMPL-1", ["refresh gather_context", "refresh analyze_patterns", "run 1", "run 2"]),
    ] {
        let plan = session.plan(flags).expect_code(0);
        assert_eq!(parts(&plan), expected, "{flags}");
        assert_eq!(next(&plan), ["run IMPL-1"], "{flags}");
    }
    let unknown = session.plan("--from-step nowhere IMPL-1").expect_code(3);
    assert_eq!(unknown.at("/error/hints/0"), "there are gather_context, analyze_patterns, 1, 2");
}

#[test]
fn parts_are_recorded_and_their_variables_come_back() {
    let session = session();
    session.ok("begin IMPL-1 --part gather_context");
    let execution = &session.json(".task/IMPL-1.json")["execution"];
    assert_eq!(execution["flow_step"], "gather_context");
    let set = ["finish", "IMPL-1", "--part", "gather_context", "--set", "docs=two pages", "--set", "depth=3"];
    session.sandbox.piton(set).run().expect_code(0);
    let execution = &session.json(".task/IMPL-1.json")["execution"];
    assert_eq!(execution["completed_flow_steps"], json!(["gather_context"]));
    assert_eq!(execution["flow_step"], Value::Null);
    assert_eq!(execution["variables"], json!({"docs": "two pages", "depth": 3}));
    session.ok("begin IMPL-1 --part analyze_patterns");
    let context = session.ok("context --native");
    assert_eq!(context.at("/data/variables"), json!({"docs": "two pages", "depth": 3}), "{context}");
    assert_eq!(context.at("/data/agent_context/interrupted_flow_step"), "analyze_patterns");
    let prompt = context.at("/data/prompt");
    let prompt = prompt.as_str().expect("it is a text");
    assert!(prompt.contains("- Interrupted at Flow Step: analyze_patterns"), "{prompt}");
    assert!(prompt.contains("Resume from step: analyze_patterns"), "{prompt}");
    assert!(prompt.contains("docs = \"two pages\""), "{prompt}");
}

#[test]
fn a_part_that_failed_is_tried_again_and_a_skipped_one_is_not() {
    let session = session();
    session.ok("begin IMPL-1");
    session.sandbox.piton(["skip", "IMPL-1", "--part", "gather_context", "--reason", "known"]).run().expect_code(0);
    let failed = ["finish", "IMPL-1", "--part", "analyze_patterns", "--status", "failed", "--error", "rg is missing"];
    session.sandbox.piton(failed).run().expect_code(0);
    let plan = session.plan("").expect_code(0);
    assert_eq!(parts(&plan), ["skip gather_context", "retry analyze_patterns", "run 1", "run 2"]);
    assert_eq!(next(&plan), ["run IMPL-1"]);
    let execution = &session.json(".task/IMPL-1.json")["execution"];
    assert_eq!(execution["skipped_flow_steps"], json!(["gather_context"]));
    assert_eq!(execution["error"], "rg is missing");
    let context = session.ok("context");
    assert_eq!(context.at("/data/findings_to_address"), json!(["rg is missing"]));
}

/// A task that is begun by one of its parts is in its first attempt, and was not cut off.
#[test]
fn a_part_begins_the_attempt_at_its_task() {
    let session = session();
    session.ok("begin IMPL-1 --part gather_context");
    let context = session.ok("context");
    assert_eq!(context.at("/data/attempt"), 1, "{context}");
    assert_eq!(context.at("/data/next_action"), "Do IMPL-1 (Title of IMPL-1). It is done part by part.");
    session.ok("finish IMPL-1 --part gather_context");
    let again = session.ok("begin IMPL-1");
    assert_eq!((again.at("/data/recorded"), again.at("/data/brief/attempt")), (json!(false), json!(1)), "{again}");
    assert_eq!(session.json(".task/IMPL-1.json")["execution"]["attempts"], 1);
}

#[test]
fn a_resume_at_a_part_skips_the_parts_before_it() {
    let session = session();
    session.ok("begin IMPL-1");
    // Without the record of who began it, the task was cut off.
    session.sandbox.remove(".piton/reports.jsonl");
    let resumed = session.ok("resume --yes --from-step 1 IMPL-1");
    let actions: Vec<Value> = resumed.at("/data/next/0/parts").as_array().expect("it is a list").clone();
    assert_eq!(actions[0]["action"], "skip");
    let state = session.json("workflow-session.json");
    assert_eq!(state["resume_count"], 1);
    assert_eq!(state["interruption_history"][0]["affected_task"], "IMPL-1");
}

#[test]
fn subtasks_in_the_file_of_their_parent_are_parts() {
    let session = Session::new();
    session.task(
        "IMPL-1",
        &json!({"status": "pending", "subtasks": [
            {"id": "IMPL-1.1", "title": "one", "status": "completed"},
            {"id": "IMPL-1.2", "title": "two", "status": "pending"},
        ]}),
    );
    session.todo(&[("IMPL-1", ' ')]);
    assert_eq!(parts(&session.plan("")), ["done IMPL-1.1", "run IMPL-1.2"]);
    session.ok("begin IMPL-1 --part impl-1.2");
    assert_eq!(session.json(".task/IMPL-1.json")["subtasks"][1]["status"], "in_progress");
    assert_eq!(parts(&session.plan("")), ["done IMPL-1.1", "retry IMPL-1.2"]);
    session.ok("finish IMPL-1 --part IMPL-1.2");
    let task = session.json(".task/IMPL-1.json");
    assert_eq!(task["subtasks"][1]["status"], "completed");
    assert_eq!(task["status"], "in_progress", "the parts are done, the task is not until it says so");
    session.ok("finish IMPL-1");
    assert_eq!(session.json(".task/IMPL-1.json")["execution"]["completion_time"], NOW);
}

#[test]
fn an_unknown_part_is_refused_and_nothing_is_written() {
    let session = session();
    let before = session.sandbox.tree().without(".piton");
    session.call("begin IMPL-1 --part nowhere").run().expect_code(3);
    session.call("finish IMPL-1 --set a=1").run().expect_code(2);
    assert_eq!(before.changes(&session.sandbox.tree().without(".piton")), [""; 0]);
}
