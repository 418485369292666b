//! `result`: the JSON that a step ends with.

use super::support::Stage;

const SCHEMA: &str = "{type: object, required: [count], properties: {count: {type: integer}}}";

#[test]
fn the_result_of_a_command_is_checked_and_read_by_later_steps() {
    let flow = |text: &str| {
        format!(
            "steps:\n- {{id: a, shell: 'echo {text}', result: {SCHEMA}}}\n- {{shell: 'echo ${{a.result.count}} >> LOG'}}\n"
        )
    };
    let stage = Stage::in_place(&flow("\"{\\\"count\\\": 3}\""));
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["3"]);
    for (text, expected) in [
        ("\"{\\\"count\\\": \\\"x\\\"}\"", "its result does not fit its schema"),
        ("text", "it did not end with a `result` in JSON"),
    ] {
        let stage = Stage::in_place(&flow(text));
        let output = stage.run(&[]).0.expect_code(7);
        assert!(output.stderr.contains(expected), "{output}");
        assert_eq!(stage.executions(), [""; 0]);
    }
}

#[test]
fn the_result_of_claude_and_of_an_agent_is_the_last_block_of_json() {
    let stage = Stage::in_place(&format!(
        "steps:\n- {{id: a, claude: /count, result: {SCHEMA}}}\n- {{id: b, agent: counter, result: {SCHEMA}}}\n- {{shell: 'echo ${{a.result.count}} ${{b.result.count}} >> LOG'}}\n"
    ));
    stage.program(
        "claude",
        r#"for prompt; do :; done
echo "$prompt" >> LOG.prompts
printf '{"type":"result","subtype":"success","is_error":false,"result":"I counted.\\n```json\\n{\\"count\\": 4}\\n```\\n\\nSTEP: b\\nSTATUS: DONE"}\n'"#,
    );
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["4 4"]);
    let prompts = std::fs::read_to_string(format!("{}.prompts", stage.log())).unwrap();
    assert!(prompts.contains("It has to satisfy this JSON Schema: {\"type\":\"object\""), "{prompts}");
}

#[test]
fn an_agent_that_is_driven_hands_its_result_to_finish() {
    let stage = Stage::in_place(&format!(
        "steps:\n- {{id: a, agent: counter, result: {SCHEMA}}}\n- {{id: b, shell: 'echo ${{a.result.count}} >> LOG'}}\n"
    ));
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    let brief = stage.piton(["begin", "a", "--run", "x"]).run().expect_code(0);
    assert!(brief.to_string().contains("It has to satisfy this JSON Schema"), "{brief}");
    for (more, expected) in [
        (&[][..], "a ends with a `result`, and none was given"),
        (&["--result", "{\"count\": 1.5}"], "does not fit its schema"),
    ] {
        let refused = stage.piton([&["finish", "a", "--run", "x"], more].concat()).run().expect_code(1);
        assert!(refused.to_string().contains(expected), "{refused}");
    }
    stage.piton(["finish", "a", "--run", "x", "--result", "{\"count\": 5}"]).run().expect_code(0);
    stage.piton(["exec", "b", "--run", "x"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["5"]);
}

#[test]
fn a_result_without_a_declaration_and_an_invalid_schema_are_refused() {
    let stage = Stage::in_place("steps: [{id: a, agent: b}]");
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["begin", "a", "--run", "x"]).run().expect_code(0);
    let refused = stage.piton(["finish", "a", "--run", "x", "--result", "1"]).run().expect_code(1);
    assert!(refused.to_string().contains("a declares no `result`"), "{refused}");
    for (step, expected) in [
        ("{id: a, shell: b, result: {type: nonsense}}", "is not a JSON Schema"),
        ("{id: a, shell: b, result: none.json}", "the schema none.json cannot be read"),
        ("{id: a, gate: Ann, result: {}}", "`result` is for an `agent`, `shell` or `claude` step"),
    ] {
        let stage = Stage::in_place(&format!("steps:\n- {step}\n"));
        let said = stage.piton(["validate", "w.yml"]).run().expect_code(1);
        assert!(said.to_string().contains(expected), "{step}: {said}");
    }
}
