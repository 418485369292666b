//! Invalid states: each is reported with file, line and cause, nothing is written, and no step counts as done.

use serde_json::json;

use super::{STATE, piton, project, state, with_fields};

const LAST: &str = r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "completed""#;

/// Plans a state and returns code, pointer, line and message of its first finding.
#[track_caller]
fn first(text: &str, code: i32) -> (String, String, u64, String) {
    let sandbox = project();
    sandbox.file(STATE, text);
    let before = sandbox.tree();
    let output = piton(&sandbox, code, ["plan"]);
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
    let finding = output.at("/findings/0");
    let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
    (text("code"), text("pointer"), finding["line"].as_u64().unwrap_or_default(), text("message"))
}

#[test]
fn a_missing_field_is_named_with_its_place() {
    for (gone, pointer, line) in [
        ("feature_name", "/feature_name", 1),
        ("current_phase", "/current_phase", 1),
        ("current_step", "/current_step", 1),
        ("phase", "/last_execution/phase", 5),
        ("step", "/last_execution/step", 5),
        ("status", "/last_execution/status", 5),
    ] {
        let text = state(LAST).replacen(&format!("\"{gone}\""), "\"renamed\"", 1);
        let (code, at, found, message) = first(&text, 9);
        assert_eq!((code.as_str(), at.as_str(), found), ("state-missing-field", pointer, line), "{message}");
        let name = pointer[1..].replace('/', ".");
        assert_eq!(message, format!("Missing required field: {name} (in `{STATE}`)"));
    }
    let text = state(LAST).replace("\"last_execution\"", "\"renamed\"");
    assert_eq!(first(&text, 9).3, format!("Missing required field: last_execution (in `{STATE}`)"));
}

#[test]
fn a_value_of_the_wrong_type_is_named_with_what_it_has_to_be() {
    for (from, to, pointer, line, message) in [
        ("\"quotes\"", "7", "/feature_name", 2, "`feature_name` must be a text"),
        (
            "\"current_phase\": 2",
            "\"current_phase\": \"two\"",
            "/current_phase",
            3,
            "`current_phase` must be a whole number from 1",
        ),
        (
            "\"current_phase\": 2",
            "\"current_phase\": -1",
            "/current_phase",
            3,
            "`current_phase` must be a whole number from 1",
        ),
        (
            "\"current_phase\": 2",
            "\"current_phase\": 1e300",
            "/current_phase",
            3,
            "`current_phase` must be a whole number from 1",
        ),
        (
            "\"current_step\": 3",
            "\"current_step\": 2.4",
            "/current_step",
            4,
            "`current_step` must be one of the steps 1, 2, 2.5, 3, 4, 5, 6, 7, 8, 9",
        ),
        (
            "\"step\": 3",
            "\"step\": 2.4",
            "/last_execution/step",
            5,
            "`last_execution.step` must be one of the steps 1, 2, 2.5, 3, 4, 5, 6, 7, 8, 9",
        ),
        (
            "\"step\": 3",
            "\"step\": 10",
            "/last_execution/step",
            5,
            "`last_execution.step` must be one of the steps 1, 2, 2.5, 3, 4, 5, 6, 7, 8, 9",
        ),
        (
            "\"phase\": 2",
            "\"phase\": 0",
            "/last_execution/phase",
            5,
            "`last_execution.phase` must be a whole number from 1",
        ),
        (
            "\"phase\": 2",
            "\"phase\": 99999999999999999999",
            "/last_execution/phase",
            5,
            "`last_execution.phase` must be a whole number from 1",
        ),
        (
            "\"status\": \"completed\"",
            "\"status\": 3",
            "/last_execution/status",
            5,
            "`last_execution.status` must be a text",
        ),
    ] {
        let text = state(LAST).replacen(from, to, 1);
        assert_ne!(text, state(LAST), "{from}");
        let expected = ("state-wrong-type".to_owned(), pointer.to_owned(), line, message.to_owned());
        assert_eq!(first(&text, 9), expected, "{to}");
    }
}

#[test]
fn steps_may_be_spelled_as_text_or_float() {
    for step in ["\"3\"", "3.0", "\"3.0\""] {
        let sandbox = project();
        sandbox.file(STATE, &state(LAST).replace("\"step\": 3", &format!("\"step\": {step}")));
        assert_eq!(piton(&sandbox, 0, ["plan"]).at("/data/next/0/step"), "2:4", "{step}");
    }
}

#[test]
fn a_phase_beyond_the_total_blocks() {
    let text = with_fields(r#""phase": 5, "step": 3, "status": "completed""#, r#""total_phases": 3"#);
    let (code, pointer, _, message) = first(&text, 9);
    assert_eq!((code.as_str(), pointer.as_str()), ("state-wrong-type", "/last_execution/phase"));
    assert_eq!(message, "phase 5 is beyond `total_phases`, which is 3");
}

#[test]
fn huge_numbers_of_phases_are_not_believed() {
    for total in ["4294967295", "100000"] {
        let (code, pointer, _, _) = first(&with_fields(LAST, &format!(r#""total_phases": {total}"#)), 9);
        assert_eq!((code.as_str(), pointer.as_str()), ("state-wrong-type", "/total_phases"), "{total}");
    }
    for total in ["-1", "0", "2.5", "\"many\"", "99999999999999999999999"] {
        let sandbox = project();
        sandbox.file(STATE, &with_fields(LAST, &format!(r#""total_phases": {total}"#)));
        assert_eq!(piton(&sandbox, 0, ["plan"]).findings(), ["field-ignored"], "{total}");
    }
}

#[test]
fn a_feature_named_like_a_path_is_only_a_name() {
    for name in ["../../etc/passwd", "/etc/passwd", "a/b", "..", "'; rm -rf ~; '", "$(id)"] {
        let sandbox = project();
        sandbox.file(STATE, &state(LAST).replace("\"quotes\"", &serde_json::to_string(name).unwrap()));
        let before = sandbox.tree();
        let plan = piton(&sandbox, 0, ["plan"]);
        assert_eq!(plan.at("/data/run/id"), name);
        piton(&sandbox, 0, ["context"]);
        assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
        piton(&sandbox, 0, ["begin", "4"]);
        let changes = before.without(".piton").changes(&sandbox.tree().without(".piton"));
        assert_eq!(changes, [format!("~ {STATE}"), format!("+ {STATE}.backup")], "{name}");
    }
    let sandbox = project();
    sandbox.file(STATE, &state(LAST).replace("\"quotes\"", "\"it's; $(id)\""));
    let begin = piton(&sandbox, 0, ["plan"]).at("/data/commands/begin");
    assert_eq!(begin, r"piton begin 2:4 --run 'it'\''s; $(id)' --agent code-reviewer");
}

#[test]
fn what_cannot_be_read_is_named_with_the_reason() {
    let sandbox = project();
    sandbox.file(STATE, "");
    let message = format!("Workflow state file corrupted. File: {STATE}. Error: Invalid JSON syntax: ");
    assert!(piton(&sandbox, 4, ["plan"]).at("/error/message").as_str().unwrap().starts_with(&message));
    for text in ["[]", "null", "42", "\"text\""] {
        sandbox.file(STATE, text);
        let output = sandbox.piton(["plan"]).run();
        assert!(output.code == 4 || output.code == 3, "{text}: {output}");
    }
    sandbox.bytes(STATE, b"{\"feature_name\": \"\xff\xfe\", \"last_execution\": {}}");
    piton(&sandbox, 4, ["plan"]);
}

#[test]
fn a_folder_a_pipe_and_a_link_in_place_of_the_file_are_survived() {
    let sandbox = project();
    sandbox.dir(STATE);
    assert!([3, 4].contains(&sandbox.piton(["plan"]).run().code));
    sandbox.remove(STATE);
    let state_path = sandbox.root().join(STATE);
    let made = crate::support::run_tool("/usr/bin/mkfifo".as_ref(), &[state_path.as_str()], &[]);
    assert!(made.status.success());
    assert!([3, 4].contains(&sandbox.piton(["plan"]).run().code));
    assert!([3, 4].contains(&sandbox.piton(["plan", STATE]).run().code));
    sandbox.remove(STATE);
    std::os::unix::fs::symlink("/etc/passwd", &state_path).unwrap();
    let output = sandbox.piton(["plan"]).run();
    assert!([3, 4].contains(&output.code), "{output}");
    assert!(!output.stdout.contains("root:"), "{output}");
}

#[test]
fn a_newer_version_is_read_and_never_written() {
    let sandbox = project();
    sandbox.file(STATE, &with_fields(LAST, r#""total_phases": 3, "schema_version": 9"#));
    let plan = piton(&sandbox, 9, ["plan"]);
    assert_eq!(plan.findings(), ["format-newer"]);
    assert_eq!(plan.at("/data/next/0/step"), "2:4");
    let before = sandbox.read(STATE);
    for arguments in
        [vec!["begin", "4"], vec!["finish", "4", "--verdict", "approved"], vec!["pause"], vec!["resume", "--yes"]]
    {
        sandbox.piton(arguments).run().expect_code(5);
    }
    assert_eq!(sandbox.read(STATE), before);
}

#[test]
fn an_unknown_step_is_named_with_those_there_are() {
    let sandbox = project();
    sandbox.file(STATE, &state(LAST));
    for step in ["2.4", "10", "4:1", "x", "../3"] {
        let output = sandbox.piton(["begin", step]).run().expect_code(3);
        assert_eq!(output.at("/error/message"), format!("run quotes has no step `{step}`"));
        assert!(output.at("/error/hints/0").as_str().unwrap().starts_with("there are 1:1, 1:2, 1:2.5"));
    }
    piton(&sandbox, 2, ["finish", "4", "--verdict", "maybe"]);
    piton(&sandbox, 2, ["finish", "4"]);
}

#[test]
fn invalid_arrays_are_ignored_and_reported() {
    let sandbox = project();
    let more = r#""total_phases": 3, "completed_steps": [1, null, {"phase": "x"}, {}, []], "history": "text", "related_issues": {"a": 1}, "phases": 7"#;
    sandbox.file(STATE, &with_fields(LAST, more));
    let plan = piton(&sandbox, 0, ["plan"]);
    assert_eq!(plan.at("/data/next/0/step"), "2:4");
    assert!(plan.findings().iter().all(|code| code == "field-ignored"), "{plan}");
    let before = sandbox.read(STATE);
    let refused = piton(&sandbox, 1, ["begin", "4"]);
    let message = "`history` cannot be written: a value of another type is in the way; nothing was changed";
    assert!(refused.at("/error/message").as_str().unwrap().contains(message), "{refused}");
    assert_eq!(sandbox.read(STATE), before);
    assert_eq!(json!(null), refused.at("/data"));
}

#[test]
fn a_gate_or_review_that_the_list_leaves_out_is_named() {
    let listed = |steps: &[&str]| {
        let entries: Vec<String> = steps.iter().map(|step| format!(r#"{{"phase": 2, "step": {step}}}"#)).collect();
        format!(r#""total_phases": 3, "completed_steps": [{}]"#, entries.join(", "))
    };
    let last = r#""phase": 2, "step": 5, "agent": "documentation-manager", "status": "completed""#;
    for (steps, expected) in [
        (vec!["1", "2", "2.5", "3", "4", "5"], vec![]),
        (vec!["3", "4", "5"], vec![]),
        (vec!["5"], vec![]),
        (vec![], vec![]),
        (vec!["1", "2", "3", "5"], vec!["2:2.5 (User approval of the plan)", "2:4 (Code review)"]),
    ] {
        let sandbox = project();
        sandbox.file(STATE, &with_fields(last, &listed(&steps)));
        let plan = piton(&sandbox, if expected.is_empty() { 0 } else { 9 }, ["plan"]);
        assert_eq!(plan.at("/data/next/0/step"), "2:6", "{steps:?}");
        let findings = plan.at("/findings");
        let told = findings.as_array().into_iter().flatten().filter(|finding| finding["code"] == "approval-unrecorded");
        let told: Vec<&str> = told.filter_map(|finding| finding["message"].as_str()).collect();
        let expected: Vec<String> = expected
            .iter()
            .map(|step| {
                format!(
                    "no record says that {step} was passed; it counts as passed because the run has continued to 2:5"
                )
            })
            .collect();
        assert_eq!(told, expected, "{steps:?}");
    }
}

#[test]
fn a_result_is_recorded_beside_an_invalid_list_of_completed_steps() {
    let sandbox = project();
    let kept = r#""completed_steps": {"2": [1, 2, 2.5, 3]}"#;
    sandbox.file(STATE, &with_fields(LAST, &format!(r#""total_phases": 3, {kept}"#)));
    piton(&sandbox, 0, ["begin", "4"]);
    piton(&sandbox, 0, ["finish", "4", "--verdict", "APPROVED"]);
    assert_eq!(sandbox.read_json(STATE)["last_execution"]["step"], 4);
    assert!(sandbox.read(STATE).contains(kept));
    assert_eq!(piton(&sandbox, 0, ["plan"]).at("/data/next/0/step"), "2:5");
}
