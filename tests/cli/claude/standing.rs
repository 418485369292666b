//! What became of tasks, agents, workflows and the turn.

use serde_json::{Value, json};

use super::{
    actions, plan, standings,
    trace::{SESSION, Trace, put, slug, task},
};
use crate::support::Sandbox;

fn worked() -> Sandbox {
    let sandbox = Sandbox::with_git();
    sandbox.file("made.txt", "x");
    sandbox
}

/// A session that begins a task and writes a file for it.
fn with_task(sandbox: &Sandbox) -> Trace {
    Trace::new(sandbox)
        .prompt("Build it")
        .creates_task("1", "Make it")
        .sets_task("1", "pending", "in_progress")
        .writes("w1", "made.txt")
}

#[test]
fn a_task_that_was_in_progress_is_retried_although_its_file_is_there() {
    let sandbox = worked();
    with_task(&sandbox).write(&sandbox);
    task(&sandbox, SESSION, "1", "Make it", "in_progress", &[]);
    let plan = plan(&sandbox).expect_code(0);
    assert_eq!(actions(&plan), ["retry T1", "retry turn"]);
    assert_eq!(plan.at("/data/native/steps/0/files"), json!(["made.txt"]));
}

#[test]
fn a_completed_task_is_done_and_without_its_file_it_is_verified_and_never_opened_again() {
    let sandbox = worked();
    let trace = with_task(&sandbox).sets_task("1", "in_progress", "completed").prompt("go on");
    trace.write(&sandbox);
    task(&sandbox, SESSION, "1", "Make it", "completed", &[]);
    assert_eq!(actions(&plan(&sandbox)), ["retry turn"]);
    sandbox.remove("made.txt");
    let doubted = plan(&sandbox).expect_code(9);
    assert_eq!(actions(&doubted), ["verify T1", "retry turn"]);
    assert!(doubted.findings().contains(&"output-missing".to_owned()), "{doubted}");
    assert!(doubted.stdout.contains("made.txt is gone"), "{doubted}");
}

#[test]
fn declared_outputs_are_looked_for_too() {
    let sandbox = worked();
    with_task(&sandbox).sets_task("1", "in_progress", "completed").prompt("x").write(&sandbox);
    let text = json!({"id": "1", "subject": "Make it", "status": "completed", "blockedBy": [], "metadata": {"outputs": ["report.md"]}});
    put(&sandbox, &format!("tasks/{SESSION}/1.json"), &text.to_string());
    let found = plan(&sandbox).expect_code(9);
    assert!(found.stdout.contains("report.md is gone"), "{found}");
}

#[test]
fn tasks_follow_their_blockers_and_a_deleted_one_blocks_no_more() {
    let sandbox = worked();
    let trace = with_task(&sandbox).creates_task("2", "Print it").creates_task("3", "Gone").creates_task("4", "Last");
    trace.sets_task("3", "pending", "deleted").ends("so far").quits().write(&sandbox);
    task(&sandbox, SESSION, "1", "Make it", "completed", &[]);
    task(&sandbox, SESSION, "2", "Print it", "pending", &["1", "3"]);
    task(&sandbox, SESSION, "4", "Last", "pending", &["2"]);
    let plan = plan(&sandbox).expect_code(0);
    assert_eq!(standings(&plan), ["T1 done", "T2 open", "T4 waits"]);
}

#[test]
fn file_and_transcript_together_say_how_a_task_stands() {
    let steps = |file: Option<&str>, changes: &[(&str, &str)]| {
        let sandbox = worked();
        let mut trace = Trace::new(&sandbox).prompt("go").creates_task("1", "One").creates_task("2", "Two");
        for (from, to) in changes {
            trace = trace.sets_task("1", from, to);
        }
        trace.ends("so far").quits().write(&sandbox);
        task(&sandbox, SESSION, "2", "Two", "completed", &[]);
        if let Some(status) = file {
            match status {
                "broken" => put(&sandbox, &format!("tasks/{SESSION}/1.json"), "{\"id\": \"1\",\n nonsense"),
                status => task(&sandbox, SESSION, "1", "One", status, &[]),
            }
        }
        let plan = plan(&sandbox);
        let steps: Vec<String> = standings(&plan).into_iter().filter(|step| step.starts_with("T1")).collect();
        (steps.first().map(|step| step[3..].to_owned()), plan.findings())
    };
    let (begun, done) = (("pending", "in_progress"), ("in_progress", "completed"));
    assert_eq!(steps(Some("completed"), &[begun, done]).0.as_deref(), Some("done"));
    let (standing, findings) = steps(Some("completed"), &[begun]);
    assert_eq!((standing.as_deref(), findings.contains(&"status-optimistic".to_owned())), (Some("done"), true));
    for status in ["pending", "in_progress"] {
        let (standing, findings) = steps(Some(status), &[begun, done]);
        assert_eq!(standing.as_deref(), Some("unproved"), "{status}");
        assert!(findings.contains(&"status-conflict".to_owned()), "{findings:?}");
    }
    assert_eq!(steps(None, &[begun, done]).0.as_deref(), Some("done"));
    assert_eq!(steps(None, &[("pending", "deleted")]).0, None);
    let (standing, findings) = steps(None, &[begun]);
    assert_eq!((standing.as_deref(), findings.contains(&"file-missing".to_owned())), (Some("interrupted"), true));
    let (standing, findings) = steps(Some("broken"), &[begun]);
    assert_eq!((standing.as_deref(), findings.contains(&"file-unclassified".to_owned())), (Some("interrupted"), true));
    let sandbox = worked();
    Trace::new(&sandbox).prompt("go").ends("ok").quits().write(&sandbox);
    task(&sandbox, SESSION, "7", "Of another session", "pending", &[]);
    assert_eq!(standings(&plan(&sandbox)), ["T7 open"]);
}

#[test]
fn a_completion_that_a_hook_refused_is_in_progress_with_the_reason() {
    let sandbox = worked();
    let refused = json!({"success": false, "taskId": "1", "updatedFields": [], "error": "x.txt is missing"});
    let trace = with_task(&sandbox).tool("u9", "TaskUpdate", json!({"taskId": "1", "status": "completed"}), refused);
    trace.write(&sandbox);
    task(&sandbox, SESSION, "1", "Make it", "in_progress", &[]);
    let plan = plan(&sandbox);
    assert_eq!(actions(&plan)[0], "retry T1");
    assert!(plan.at("/data/native/steps/0/error").as_str().unwrap().contains("x.txt is missing"), "{plan}");
}

#[test]
fn a_list_of_todos_becomes_tasks_and_the_last_call_counts() {
    let sandbox = worked();
    let todo = |text: &str, status: &str| json!({"content": text, "status": status, "activeForm": text});
    let first = json!({"todos": [todo("a", "in_progress"), todo("b", "pending"), todo("c", "pending")]});
    let last = json!({"todos": [todo("a", "completed"), todo("b", "in_progress")]});
    let result = json!({"oldTodos": [], "newTodos": []});
    let trace = Trace::new(&sandbox).prompt("go").tool("t1", "TodoWrite", first, result.clone()).tool(
        "t2",
        "TodoWrite",
        last,
        result,
    );
    trace.ends("ok").quits().write(&sandbox);
    assert_eq!(standings(&plan(&sandbox)), ["T1 done", "T2 interrupted"]);
}

/// Writes a session with an agent in the background, whose transcript is what `write` makes of it.
fn with_agent(write: impl Fn(Trace) -> Trace) -> Sandbox {
    let sandbox = worked();
    let main = Trace::new(&sandbox).prompt("go").launches("call-a1b2c3d4", "a1b2c3d4", "helper").ends("launched");
    main.write(&sandbox);
    write(main.agent("a1b2c3d4").prompt("do it")).write(&sandbox);
    sandbox
}

#[test]
fn agents_are_done_cut_off_or_of_unknown_outcome() {
    type Write = fn(Trace) -> Trace;
    let cases: [(&str, Write, &str); 9] = [
        ("it ended", |trace| trace.writes("w", "b.txt").ends("done"), "done"),
        ("only its prompt", |trace| trace, "interrupted"),
        ("it only read", |trace| trace.tool("r", "Read", json!({"file_path": "/x"}), Value::Null), "interrupted"),
        ("cut in a read", |trace| trace.call("r", "Grep", json!({"pattern": "x"})), "interrupted"),
        ("it wrote", |trace| trace.writes("w", "b.txt"), "outcome_unknown"),
        ("cut in Bash", |trace| trace.call("b", "Bash", json!({"command": "git push"})), "outcome_unknown"),
        ("an unknown tool", |trace| trace.tool("m", "mcp__x__y", json!({}), Value::Null), "outcome_unknown"),
        (
            "died after reading",
            |trace| {
                trace.tool("r", "Read", json!({}), Value::Null).api_error("rate_limit", "You've hit your session limit")
            },
            "interrupted",
        ),
        (
            "died after a command",
            |trace| trace.tool("b", "Bash", json!({"command": "x"}), Value::Null).api_error("server_error", "boom"),
            "outcome_unknown",
        ),
    ];
    for (name, write, expected) in cases {
        let sandbox = with_agent(write);
        let plan = plan(&sandbox);
        assert_eq!(standings(&plan)[0], format!("A-a1b2c3 {expected}"), "{name}\n{plan}");
        let retried = actions(&plan).contains(&"retry A-a1b2c3".to_owned());
        assert_eq!(retried, expected == "interrupted", "{name}");
    }
}

#[test]
fn what_to_look_at_is_named_for_an_unknown_outcome_and_nothing_offers_to_run_it() {
    let sandbox =
        with_agent(|trace| trace.writes("w", "b.txt").call("b", "Bash", json!({"command": "git push origin x"})));
    let plan = plan(&sandbox).expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    let finding = plan.at("/findings/0");
    assert_eq!(finding["code"], "outcome-unknown");
    let fix = finding["fix"].as_str().unwrap();
    assert!(
        fix.contains("b.txt") && fix.contains("git push origin x") && fix.contains("agent-a1b2c3d4.jsonl"),
        "{fix}"
    );
    assert!(!plan.stdout.contains("piton redo") && !plan.stdout.contains("piton finish"), "{plan}");
}

#[test]
fn any_witness_is_enough_for_an_agent_to_be_done() {
    let told = |status: &str| {
        format!("<task-notification>\n<task-id>a1b2c3d4</task-id>\n<status>{status}</status>\n</task-notification>")
    };
    for (status, expected) in [("completed", "done"), ("failed", "outcome_unknown"), ("stopped", "outcome_unknown")] {
        let sandbox = with_agent(|trace| trace.writes("w", "b.txt"));
        let main = Trace::new(&sandbox).prompt("go").launches("call-a1b2c3d4", "a1b2c3d4", "helper").ends("launched");
        let main =
            main.at(60).user(&told(status), json!({"origin": {"kind": "task-notification"}})).ends("noted").quits();
        main.write(&sandbox);
        assert_eq!(standings(&plan(&sandbox))[0], format!("A-a1b2c3 {expected}"), "{status}");
    }
    let sandbox = with_agent(|trace| trace.writes("w", "b.txt"));
    let meta = Trace::new(&sandbox).agent("a1b2c3d4").path(&sandbox).replace(".jsonl", ".meta.json");
    put(&sandbox, &meta, r#"{"toolUseId":"call-a1b2c3d4","finished":true}"#);
    assert_eq!(standings(&plan(&sandbox)), ["A-a1b2c3 done", "turn done"]);
}

#[test]
fn an_agent_of_the_foreground_is_a_step_only_where_it_was_cut_off() {
    let sandbox = worked();
    let launch = json!({"description": "helper", "prompt": "go", "run_in_background": false});
    let main = Trace::new(&sandbox).prompt("go").call("call-a1b2c3d4", "Agent", launch);
    main.write(&sandbox);
    main.agent("a1b2c3d4").prompt("go").tool("r", "Read", json!({}), Value::Null).write(&sandbox);
    let cut = plan(&sandbox).expect_code(0);
    assert_eq!(actions(&cut), ["retry A-a1b2c3", "retry turn"]);
    let result = json!({"status": "completed", "agentId": "a1b2c3d4", "content": []});
    main.clone().result("call-a1b2c3d4", "done", result).ends("ok").write(&sandbox);
    let ended = plan(&sandbox);
    assert_eq!(standings(&ended), ["turn done"]);
    assert_eq!(ended.at("/data/native/agents_done/0/agent_id"), "a1b2c3d4");
}

#[test]
fn the_turn_says_whether_anything_is_unknown() {
    type Write = fn(Trace) -> Trace;
    let cases: [(&str, Write, &[&str]); 10] = [
        ("a prompt", |trace| trace, &["retry turn"]),
        ("a result", |trace| trace.tool("b", "Bash", json!({"command": "x"}), Value::Null), &["retry turn"]),
        ("cut in Bash", |trace| trace.call("b", "Bash", json!({"command": "x"})), &["verify turn"]),
        ("cut in MCP", |trace| trace.call("b", "mcp__a__b", json!({})), &["verify turn"]),
        ("cut in Read", |trace| trace.call("b", "Read", json!({"file_path": "x"})), &["retry turn"]),
        ("cut in Workflow", |trace| trace.call("b", "Workflow", json!({"script": "x"})), &["retry turn"]),
        ("Esc in Bash", |trace| trace.call("b", "Bash", json!({"command": "x"})).esc_in("b").quits(), &["verify turn"]),
        ("Esc in Read", |trace| trace.call("b", "Read", json!({})).esc_in("b").quits(), &["retry turn"]),
        ("an error", |trace| trace.api_error("server_error", "boom"), &["retry turn"]),
        ("answered", |trace| trace.ends("ok"), &[]),
    ];
    for (name, write, expected) in cases {
        let sandbox = worked();
        write(Trace::new(&sandbox).prompt("Build it")).write(&sandbox);
        let plan = plan(&sandbox);
        assert_eq!(actions(&plan), *expected, "{name}\n{plan}");
    }
}

#[test]
fn an_edit_that_was_cut_off_is_looked_up_in_its_file() {
    let verdict = |content: Option<&str>, tool: &str, input: Value| {
        let sandbox = worked();
        if let Some(content) = content {
            sandbox.file("f.txt", content);
        }
        let mut input = input;
        input["file_path"] = json!(sandbox.root().join("f.txt").as_str());
        Trace::new(&sandbox).prompt("go").call("w", tool, input).write(&sandbox);
        actions(&plan(&sandbox)).join(",")
    };
    let write = json!({"content": "new"});
    let edit = json!({"old_string": "old", "new_string": "new"});
    assert_eq!(verdict(Some("new"), "Write", write.clone()), "retry turn");
    assert_eq!(verdict(None, "Write", write.clone()), "retry turn");
    assert_eq!(verdict(Some("other"), "Write", write), "verify turn");
    assert_eq!(verdict(Some("an old line"), "Edit", edit.clone()), "retry turn");
    assert_eq!(verdict(Some("a new line"), "Edit", edit.clone()), "retry turn");
    assert_eq!(verdict(Some("neither"), "Edit", edit), "verify turn");
}

#[test]
fn a_write_over_a_version_that_the_client_kept_did_not_happen() {
    let sandbox = worked();
    sandbox.file("f.txt", "as it was");
    let input = json!({"content": "new", "file_path": sandbox.root().join("f.txt").as_str()});
    Trace::new(&sandbox).prompt("go").call("w", "Write", input).write(&sandbox);
    assert_eq!(actions(&plan(&sandbox)), ["verify turn"]);
    put(&sandbox, &format!("file-history/{SESSION}/0123456789abcdef@v1"), "as it was");
    assert_eq!(actions(&plan(&sandbox)), ["retry turn"]);
}

/// Writes a session that launched a workflow with this journal.
fn with_workflow(journal: &str) -> (Sandbox, Trace) {
    let sandbox = worked();
    let launch = json!({"status": "async_launched", "taskId": "wtask1", "taskType": "local_workflow", "workflowName": "mini", "runId": "wf_1"});
    let main = Trace::new(&sandbox).prompt("run it").tool("w", "Workflow", json!({"script": "s"}), launch);
    main.write(&sandbox);
    let folder = format!("projects/{}/{SESSION}/subagents/workflows/wf_1", slug(sandbox.root().as_str()));
    put(&sandbox, &format!("{folder}/journal.jsonl"), journal);
    (sandbox, main)
}

#[test]
fn a_cut_workflow_tells_which_results_can_be_used_and_what_has_to_run() {
    let journal = concat!(
        "{\"type\":\"launched\"}\n",
        "{\"type\":\"started\",\"key\":\"k1\",\"agentId\":\"a1\",\"label\":\"first\"}\n",
        "{\"type\":\"started\",\"key\":\"k2\",\"agentId\":\"a2\"}\n",
        "{\"type\":\"result\",\"key\":\"k1\",\"agentId\":\"a1\",\"result\":\"A result\"}\n",
        "{\"type\":\"started\",\"key\":\"k3\",\"agentId\":\"a3\"}\n",
        "{\"type\":\"result\",\"key\":\"k3\",\"agentId\":\"a3\",\"result\":\"C result\"}\n",
        "{\"type\":\"started\",\"key\":\"k4\",\"agentId\":\"a4\"}\n",
        "{\"type\":\"result\",\"key\":\"k4\",\"agentId\":\"a4\",\"result\":\"You've hit your session limit\"}\n",
        "{\"type\":\"started\",\"key\":\"k5\",\"agentId\":\"a5\"}\n",
    );
    let (sandbox, main) = with_workflow(journal);
    main.agent("a1").prompt("first").ends("A result").write_in_workflow(&sandbox, "wf_1");
    main.agent("a2").prompt("second\nmore").write_in_workflow(&sandbox, "wf_1");
    main.agent("a3").prompt("third").writes("w", "b.txt").ends("C result").write_in_workflow(&sandbox, "wf_1");
    main.agent("a5").prompt("fifth").writes("w", "c.txt").write_in_workflow(&sandbox, "wf_1");
    let plan = plan(&sandbox);
    assert_eq!(
        standings(&plan),
        ["W1/1 done", "W1/2 interrupted", "W1/3 done", "W1/4 unproved", "W1/5 outcome_unknown", "turn interrupted"]
    );
    assert_eq!(plan.at("/data/native/steps/0/title"), "first");
    assert_eq!(plan.at("/data/native/steps/1/title"), "second");
    let salvage = plan.at("/data/native/workflows/0");
    assert_eq!(salvage["agents"][0]["result"]["line"], 4);
    assert_eq!(salvage["agents"][0]["result"]["head"], "A result");
    assert_eq!(salvage["agents"][1]["prompt"], "second more");
    assert_eq!(salvage["run_again"], json!(["W1/2", "W1/4", "W1/5"]));
    assert_eq!(salvage["repeated_by_resume"], json!(["W1/2", "W1/3", "W1/4", "W1/5"]));
    assert!(salvage["advice"].as_str().unwrap().starts_with("2 of 5 agents have results"), "{salvage}");
    let context = sandbox.piton(["context", super::trace::RUN, "--step", "W1/2"]).run().expect_code(0);
    assert!(context.stdout.contains("2 of 5 agents have results"), "{context}");
}

#[test]
fn a_second_start_with_the_same_key_is_the_next_attempt() {
    let journal = concat!(
        "{\"type\":\"started\",\"key\":\"k1\",\"agentId\":\"a1\"}\n",
        "{\"type\":\"started\",\"key\":\"k1\",\"agentId\":\"a2\"}\n",
        "{\"type\":\"result\",\"key\":\"k1\",\"agentId\":\"a2\",\"result\":\"R\"}\n",
    );
    let (sandbox, main) = with_workflow(journal);
    main.agent("a1").prompt("p").write_in_workflow(&sandbox, "wf_1");
    main.agent("a2").prompt("p").ends("R").write_in_workflow(&sandbox, "wf_1");
    // All of its agents ended, and nothing says that the workflow did.
    assert_eq!(standings(&plan(&sandbox)), ["W1/1 done", "W1 interrupted", "turn interrupted"]);
}
