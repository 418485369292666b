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
