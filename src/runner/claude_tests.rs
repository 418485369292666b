use super::{ClaudeReader, Prompt, Rejection, Shown, words};
use crate::{model::Timestamp, workflow::ClaudeOptions};

const STREAM: &str = concat!(
    "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n",
    "{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"Looking.\\n\"},{\"type\":\"tool_use\"}]}}\n",
    "not json\n",
    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"Done.\"}",
);

#[test]
fn a_stream_that_comes_in_pieces_is_read_the_same() {
    for size in [1, 7, 64, STREAM.len()] {
        let mut reader = ClaudeReader::default();
        let mut shown: Vec<Shown> = STREAM.as_bytes().chunks(size).flat_map(|piece| reader.take(piece)).collect();
        shown.extend(reader.end());
        let tool = Shown::Tool { name: "a tool".to_owned(), subject: String::new() };
        let texts = ["Looking.\n", "not json\n"].map(|text| Shown::Text(text.to_owned()));
        assert_eq!(shown, [texts[0].clone(), tool, texts[1].clone()], "{size}");
        assert_eq!((reader.result(), reader.error()), (Some("Done."), None));
    }
}

#[test]
fn errors_of_the_service_are_found() {
    for (line, error) in [
        (r#"{"type":"result","is_error":true,"result":"API Error: 529 overloaded"}"#, "API Error: 529 overloaded"),
        (r#"{"type":"result","is_error":true,"subtype":"error_max_turns"}"#, "error_max_turns"),
        (r#"{"type":"result","is_error":true,"subtype":"error_during_execution","errors":["one","two"]}"#, "one\ntwo"),
        (r#"{"type":"result","is_error":true,"subtype":"error_during_execution","result":"","errors":["x"]}"#, "x"),
        (r#"{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}"#, "rate_limit_error slow down"),
    ] {
        let mut reader = ClaudeReader::default();
        assert_eq!(reader.take(line.as_bytes()), []);
        assert_eq!(reader.end(), []);
        assert_eq!(reader.error(), Some(error));
    }
}

#[test]
fn the_last_word_about_the_usage_of_the_plan_counts() {
    let rejected = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1760003600,"rateLimitType":"five_hour"}}"#;
    let flat = r#"{"type":"rate_limit_event","status":"rejected"}"#;
    let allowed = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"allowed_warning","resetsAt":1760003600}}"#;
    let ends = Rejection { resets_at: Timestamp::from_unix(1_760_003_600, 0) };
    let unknown = Rejection { resets_at: None };
    for (lines, expected) in [
        (&[][..], None),
        (&[rejected], Some(ends)),
        (&[flat], Some(unknown)),
        (&[allowed], None),
        (&[allowed, rejected], Some(ends)),
        (&[rejected, allowed], None),
    ] {
        let mut reader = ClaudeReader::default();
        assert_eq!(reader.take(lines.join("\n").as_bytes()), []);
        assert_eq!(reader.end(), []);
        assert_eq!(reader.rejection(), expected, "{lines:?}");
    }
}

const fn prompt(text: &str) -> Prompt<'_> {
    Prompt { text, agent: None }
}

#[test]
fn a_prompt_is_never_an_option() {
    assert_eq!(words(prompt("/fix all"), &ClaudeOptions::default(), None).last().map(String::as_str), Some("/fix all"));
    assert_eq!(words(prompt("-x"), &ClaudeOptions::default(), None)[5..], ["--", "-x"]);
}

#[test]
fn options_of_a_step_are_flags_before_the_prompt() {
    let options = ClaudeOptions {
        model: Some("sonnet".to_owned()),
        permission_mode: Some("acceptEdits".to_owned()),
        allowed_tools: vec!["Read".to_owned(), "Bash(git:*)".to_owned()],
        disallowed_tools: vec!["WebFetch".to_owned()],
        max_turns: Some(20),
        max_budget_usd: Some(1.5),
        ..ClaudeOptions::default()
    };
    let expected = [
        "--model=sonnet",
        "--permission-mode=acceptEdits",
        "--allowedTools=Read,Bash(git:*)",
        "--disallowedTools=WebFetch",
        "--max-turns=20",
        "--max-budget-usd=1.5",
        "/fix",
    ];
    assert_eq!(words(prompt("/fix"), &options, None)[5..], expected);
}
