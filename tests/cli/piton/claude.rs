//! `claude` steps: what a person sees of them, what is recorded, what was denied, and the conversation they continue.

use serde_json::{Value, json};

use super::support::Stage;

/// A stream in which two tools were called, of which `denied` were denied.
fn stream(denied: &[&str], text: &str) -> String {
    let denials: Vec<Value> = [
        ("a", json!({"tool_name": "Edit", "tool_use_id": "a", "tool_input": {"file_path": "src/lib.rs"}})),
        ("b", json!({"tool_name": "Bash", "tool_use_id": "b", "tool_input": {"command": "make test"}})),
    ]
    .into_iter()
    .filter_map(|(id, denial)| denied.contains(&id).then_some(denial))
    .collect();
    let lines = [
        json!({"type": "system", "subtype": "init", "session_id": "conversation-1"}),
        json!({"type": "assistant", "session_id": "conversation-1", "message": {"content": [
            {"type": "text", "text": "Working."},
            {"type": "tool_use", "id": "a", "name": "Edit", "input": {"file_path": "src/lib.rs"}}]}}),
        json!({"type": "assistant", "session_id": "conversation-1", "message": {"content": [
            {"type": "tool_use", "id": "b", "name": "Bash", "input": {"command": "make test"}}]}}),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": text, "num_turns": 3,
            "total_cost_usd": 0.25, "session_id": "conversation-1", "permission_denials": denials,
            "usage": {"input_tokens": 10, "output_tokens": 20, "cache_read_input_tokens": 300,
                "cache_creation_input_tokens": 4}}),
    ];
    lines.iter().map(|line| format!("{line}\n")).collect()
}

fn stage(workflow: &str, stream: &str) -> Stage {
    let stage = Stage::new(workflow);
    stage.outside("stream", stream);
    stage.program("claude", "echo \"claude $*\" >> LOG\ncat TMP/stream");
    stage
}

#[test]
fn what_claude_does_is_shown_summed_and_recorded() {
    let stage = stage("- claude: /go\n- claude: /again\n", &stream(&[], "done"));
    let (output, id) = stage.run(&[]);
    output.clone().expect_code(0);
    assert_eq!(output.stdout, "Working.\nWorking.\n");
    for line in ["  Edit src/lib.rs\n", "  Bash make test\n"] {
        assert_eq!(output.stderr.matches(line).count(), 2, "{output}");
    }
    let of_step = ", 2 tool calls, 3 turns, 334 tokens, $0.25\n";
    assert_eq!(output.stderr.lines().filter(|line| line.starts_with("  Claude: ")).count(), 2, "{output}");
    assert_eq!(output.stderr.matches(of_step).count(), 2, "{output}");
    assert!(output.stderr.contains("   Claude: 2 calls, "), "{output}");
    assert!(output.stderr.contains(", 4 tool calls, 6 turns, 668 tokens, $0.50\n"), "{output}");

    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
    let step = shown.at("/data/steps/1/claude");
    assert_eq!(step["tools"], json!({"Bash": 1, "Edit": 1}));
    assert_eq!(
        (&step["turns"], &step["cost_usd"], &step["session"]),
        (&json!(3), &json!(0.25), &json!("conversation-1"))
    );
    assert_eq!(step["cache_read_tokens"], json!(300));
    assert_eq!(shown.at("/data/claude/cost_usd"), json!(0.5));
    let text = stage.piton(["--format", "text", "sessions", "show", &id]).run().expect_code(0).stdout;
    assert!(text.contains("2 tool calls, 3 turns, 334 tokens, $0.25, session conversation-1"), "{text}");
}

#[test]
fn events_and_the_report_have_what_claude_did() {
    let stage = stage("- claude: /go\n", &stream(&["b"], "done"));
    let output = stage.piton(["run", "w.yml", "--events"]).run().expect_code(0);
    let events: Vec<Value> = output.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |name: &str| events.iter().filter(|event| event["event"] == name).collect::<Vec<_>>();
    let tools: Vec<_> = of("tool").iter().map(|event| (event["tool"].clone(), event["subject"].clone())).collect();
    assert_eq!(tools, [(json!("Edit"), json!("src/lib.rs")), (json!("Bash"), json!("make test"))]);
    let denied = json!([{"tool": "Bash", "subject": "make test", "rule": "Bash(make test)", "times": 1}]);
    assert_eq!(of("claude")[0]["work"]["denied"], denied);
    assert_eq!(of("end")[0]["claude"]["denied"], denied);
    assert_eq!(of("end")[0]["claude"]["turns"], json!(3));
}

#[test]
fn a_step_whose_tool_calls_were_all_denied_fails_and_names_the_rules() {
    let stage = stage("- claude: /go\n  retry: 3\n", &stream(&["a", "b"], "I could not do it."));
    let (output, id) = stage.run(&[]);
    output.clone().expect_code(7);
    assert_eq!(stage.executions().len(), 1, "another try cannot change it");
    let message = "every tool call was denied: Edit src/lib.rs; Bash make test; to allow it: \
                   `allowed_tools: [\"Edit(src/lib.rs)\", \"Bash(make test)\"]`";
    assert!(output.stderr.contains(message), "{output}");
    let checkpoint = stage.checkpoint(&id);
    assert_eq!(checkpoint.pointer("/steps/1/retryable"), Some(&json!(false)), "{checkpoint:#}");
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
    assert_eq!(shown.at("/data/steps/0/claude/denied/0/tool"), json!("Edit"));
}

#[test]
fn a_denial_among_allowed_calls_is_a_warning_unless_the_step_says_fail() {
    let denied = stream(&["b"], "done");
    let warned = stage("- claude: /go\n", &denied);
    let output = warned.run(&[]).0.expect_code(0);
    assert!(
        output.stderr.contains("Step 1: denied: Bash make test; to allow it: `allowed_tools: [\"Bash(make test)\"]`"),
        "{output}"
    );
    let fails = stage("- claude: /go\n  on_denied: fail\n", &denied);
    let output = fails.run(&[]).0.expect_code(7);
    assert!(output.stderr.contains("a tool call was denied: Bash make test"), "{output}");
}

#[test]
fn what_claude_cost_and_its_session_are_variables() {
    let stage = stage(
        "- id: draft\n  claude: /go\n  capture: said\n- shell: 'echo ${draft.cost} ${draft.session} ${draft.turns} ${said.tokens} ${said} >> LOG'\n  when: ${draft.cost} < 1\n",
        &stream(&[], "done"),
    );
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.count("0.25 conversation-1 3 334 done"), 1, "{:?}", stage.executions());
}

#[test]
fn a_step_continues_the_conversation_of_another_one_and_of_its_own_failed_try() {
    let stage = stage(
        "- id: draft\n  claude: /go\n- claude: /review\n  continue: draft\n  max_turns: 4\n",
        &stream(&[], "done"),
    );
    stage.run(&[]).0.expect_code(0);
    let calls = stage.executions();
    assert!(!calls[0].contains("--resume"), "{calls:?}");
    assert!(calls[1].ends_with("--max-turns=4 --resume=conversation-1 /review"), "{calls:?}");

    let failing = concat!(
        "{\"type\":\"system\",\"session_id\":\"own\"}\n",
        "{\"type\":\"result\",\"is_error\":true,\"result\":\"API Error: 529 overloaded\",\"session_id\":\"own\"}\n",
    );
    let stage = self::stage("- claude: /go\n  continue: true\n  retry: {attempts: 2, initial_delay: 1ms}\n", failing);
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    stage.resume(&id).expect_code(7);
    let resumed: Vec<bool> = stage.executions().iter().map(|call| call.contains("--resume=own")).collect();
    assert_eq!(resumed, [false, true, true, true], "{:?}", stage.executions());
}

#[test]
fn a_conversation_of_no_earlier_claude_step_is_a_mistake_of_the_file() {
    for (workflow, message) in [
        (
            "- id: a\n  shell: echo\n- claude: /go\n  continue: a\n",
            "`continue` names a, which is no `claude` step before this one",
        ),
        ("- claude: /go\n  on_denied: never\n", "`on_denied` is fail or warn, not `never`"),
        (
            "- shell: echo\n  continue: true\n",
            "`continue` is for a `claude` or an `agent` step, and this is a `shell` step",
        ),
    ] {
        let stage = Stage::new(workflow);
        let output = stage.piton(["validate", "w.yml"]).run().expect_code(1);
        assert!(output.stdout.contains(message), "{message}\n{output}");
    }
}

#[test]
fn secrets_are_masked_in_what_claude_does() {
    let stage = stage(
        "name: s\nsecrets: {T: MYSEC}\nsteps:\n- claude: /go\n",
        &stream(&["b"], "done").replace("make test", "curl hunter2unique"),
    );
    let output = stage.piton(["run", "w.yml", "--yes"]).env("MYSEC", "hunter2unique").run().expect_code(0);
    assert!(output.stderr.contains("  Bash curl [masked]\n"), "{output}");
    assert!(!format!("{output}").contains("hunter2unique"), "{output}");
    let id = super::support::session_of(&output.stderr);
    let journal = std::fs::read_to_string(stage.folder(&id).join("journal.jsonl")).unwrap();
    assert!(journal.contains("curl [masked]") && !journal.contains("hunter2unique"), "{journal}");
}

#[test]
fn items_that_call_claude_are_summed_in_their_step() {
    let stage = stage(
        "name: f\nsteps:\n- id: each\n  foreach: {items: [x, y], parallel: 2}\n  claude: /go ${item}\n",
        &stream(&[], "done"),
    );
    let (output, id) = stage.run(&[]);
    output.expect_code(0);
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
    assert_eq!(shown.at("/data/steps/0/claude/calls"), json!(2));
    assert_eq!(shown.at("/data/steps/0/claude/cost_usd"), json!(0.5));
}

#[test]
fn the_last_lines_of_a_failed_call_are_what_was_said_and_no_messages_of_the_stream() {
    let failing = concat!(
        "{\"type\":\"system\",\"subtype\":\"init\"}\n",
        "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"I look.\\nThen I act.\"}]}}\n",
        "{\"type\":\"user\",\"message\":{\"content\":[]}}\n{\"type\":\"future\",\"x\":1}\n",
        "{\"type\":\"user\"}\n{\"type\":\"user\"}\n{\"type\":\"user\"}\n",
        "{\"type\":\"result\",\"is_error\":true,\"subtype\":\"error_max_turns\"}\n{\"type\":\"user\",\"mess",
    );
    for workflow in [
        "- claude: /go\n",
        "steps:\n- id: each\n  foreach: {items: [a]}\n  claude: /go\n",
        "steps:\n- id: x\n  instructions: Do it.\n",
    ] {
        let stage = stage(workflow, failing);
        let output = stage.piton(["--format", "json", "run", "w.yml"]).run().expect_code(7);
        let lines = output.at("/data/failed/log/lines");
        assert_eq!(lines, json!(["I look.", "Then I act.", "error_max_turns"]), "{workflow}: {output}");
    }
}
