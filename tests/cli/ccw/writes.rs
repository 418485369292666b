//! The writes of recording: only the named values, in the order task, checklist, session
//! (docs/formats/ccw.md#what-is-written).

use serde_json::{Value, json};

use super::session::{Session, next};
use crate::support::{NOW, changed_lines};

const TODO: &str = "# Tasks\n\n- [ ] **IMPL-1**: Sign in → [📋](./.task/IMPL-1.json) | @dev 第一步\n- [ ] **IMPL-2**: Sign out → [📋](./.task/IMPL-2.json)\n";

fn with_task(text: &str) -> Session {
    let session = Session::new();
    session.file(".task/IMPL-1.json", text).file("TODO_LIST.md", TODO);
    session.task("IMPL-2", &json!({"status": "pending", "depends_on": ["IMPL-1"]}));
    session
}

/// Two spaces, another key order, unknown fields, names in other scripts.
const PLAIN: &str = "{\n  \"title\": \"Anmeldung für Ünï\",\n  \"id\": \"IMPL-1\",\n  \"status\": \"pending\",\n  \"沉淀位置\": [1.50, 2e3],\n  \"execution\": {\"attempts\": 1}\n}\n";

#[test]
fn begin_and_finish_change_only_the_values_they_name() {
    let session = with_task(PLAIN);
    session.ok("begin IMPL-1");
    let begun = session.read(".task/IMPL-1.json");
    assert_eq!(
        changed_lines(PLAIN, &begun),
        [
            r#"-4   \"status\": \"pending\",\n"#,
            r#"-5   \"沉淀位置\": [1.50, 2e3],\n"#,
            r#"-6   \"execution\": {\"attempts\": 1}\n"#,
            r#"+4   \"status\": \"in_progress\",\n"#,
            r#"+5   \"沉淀位置\": [1.50, 2e3],\n"#,
            r#"+6   \"execution\": {\"attempts\": 2, \"last_attempt\": \"2026-01-31T12:00:00Z\"},\n"#,
            r#"+7   \"status_history\": [\n"#,
            r#"+8     {\n"#,
            r#"+9       \"from\": \"pending\",\n"#,
            r#"+10       \"to\": \"in_progress\",\n"#,
            r#"+11       \"changed_at\": \"2026-01-31T12:00:00Z\"\n"#,
            r#"+12     }\n"#,
            r#"+13   ]\n"#,
        ]
    );
    assert_eq!(session.read("TODO_LIST.md"), TODO, "a task that begins ticks nothing");
    session.call("finish IMPL-1").now("2026-01-31T13:00:00Z").run().expect_code(0);
    let task = session.json(".task/IMPL-1.json");
    assert_eq!(task["status"], "completed");
    assert_eq!(
        task["status_history"][1],
        json!({"from": "in_progress", "to": "completed", "changed_at": "2026-01-31T13:00:00Z"})
    );
    assert_eq!(
        task["execution"],
        json!({"attempts": 2, "last_attempt": NOW, "completion_time": "2026-01-31T13:00:00Z"})
    );
    assert_eq!(
        changed_lines(TODO, &session.read("TODO_LIST.md")),
        [
            "-3 - [ ] **IMPL-1**: Sign in → [📋](./.task/IMPL-1.json) | @dev 第一步\\n",
            "+3 - [x] **IMPL-1**: Sign in → [📋](./.task/IMPL-1.json) | @dev 第一步 | [✅](./.summaries/IMPL-1-summary.md)\\n",
        ]
    );
    assert_eq!(session.json("workflow-session.json")["last_execute_run"], "2026-01-31T13:00:00Z");
}

#[test]
fn every_style_of_file_survives() {
    let crlf = PLAIN.replace('\n', "\r\n");
    let four = PLAIN.replace("\n  ", "\n    ");
    let tabs = PLAIN.replace("\n  ", "\n\t");
    let unended = PLAIN.trim_end().to_owned();
    let bom = format!("\u{feff}{PLAIN}");
    let single = r#"{"id":"IMPL-1","title":"ü","status":"pending"}"#.to_owned();
    for (name, text) in
        [("crlf", crlf), ("four", four), ("tabs", tabs), ("unended", unended), ("bom", bom), ("single", single)]
    {
        let session = with_task(&text);
        session.ok("begin IMPL-1");
        session.ok("finish IMPL-1");
        let after = session.read(".task/IMPL-1.json");
        let lone_newlines = after.matches('\n').count() - after.matches("\r\n").count();
        match name {
            "crlf" => assert_eq!(lone_newlines, 0, "{after}"),
            "four" => {
                assert!(after.contains("\n    \"status\": \"completed\",\n    \"沉淀位置\": [1.50, 2e3],\n"), "{after}")
            }
            "tabs" => {
                assert!(after.contains("\n\t\"status_history\": [\n\t\t{\n\t\t\t\"from\": \"pending\",\n"), "{after}")
            }
            "bom" => assert!(after.starts_with("\u{feff}{\n  \"title\""), "{after}"),
            "single" => {
                let history = format!(
                    r#"[{{"from":"pending","to":"in_progress","changed_at":"{NOW}"}},{{"from":"in_progress","to":"completed","changed_at":"{NOW}"}}]"#
                );
                let execution = format!(r#"{{"attempts":1,"last_attempt":"{NOW}","completion_time":"{NOW}"}}"#);
                let expected = format!(
                    r#"{{"id":"IMPL-1","title":"ü","status":"completed","status_history":{history},"execution":{execution}}}"#
                );
                assert_eq!(after, expected);
            }
            _ => {}
        }
        assert_eq!(after.ends_with('\n'), text.ends_with('\n'), "{name}");
        let session_file = session.read("workflow-session.json");
        assert!(session_file.ends_with("}\n"), "{session_file}");
    }
}

#[test]
fn the_checklist_keeps_its_line_ends_and_its_other_boxes() {
    let session = with_task(PLAIN);
    let todo = "- [x] IMPL-0: x\r\n  - [ ] IMPL-1: a -> b\r\n* [~] **IMPL-2** [ ] c";
    session.file("TODO_LIST.md", todo);
    session.ok("begin IMPL-1");
    session.ok("finish IMPL-1");
    assert_eq!(session.read("TODO_LIST.md"), todo.replacen("- [ ] IMPL-1", "- [x] IMPL-1", 1));
    session.ok("begin IMPL-2");
    session.ok("finish IMPL-2 --status failed");
    assert!(session.read("TODO_LIST.md").contains("* [~] **IMPL-2** [ ] c"), "what failed is not ticked");
}

#[test]
fn one_checkpoint_holds_task_checklist_and_session_in_this_order() {
    let session = with_task(PLAIN);
    session.ok("begin IMPL-1");
    let finished = session.ok("finish IMPL-1");
    let dir = ".workflow/active/WFS-x";
    assert_eq!(
        finished.at("/data/files"),
        json!([
            format!("{dir}/.task/IMPL-1.json"),
            format!("{dir}/.summaries/IMPL-1-summary.md"),
            format!("{dir}/TODO_LIST.md"),
            format!("{dir}/workflow-session.json"),
        ])
    );
    let history = session.ok("history");
    let newest = history.at("/data/checkpoints/0");
    assert_eq!((&newest["replaced_by"], &newest["step"]), (&json!("finish"), &json!("IMPL-1")), "{history}");
    assert_eq!(newest["files"].as_array().unwrap().len(), 3, "{history}");
    session.ok(&format!("restore --to {} --yes", newest["id"].as_str().unwrap()));
    assert_eq!(session.json(".task/IMPL-1.json")["status"], "in_progress");
    assert_eq!(session.read("TODO_LIST.md"), TODO);
    assert_eq!(session.json("workflow-session.json")["last_execute_run"], Value::Null);
}

#[test]
fn what_was_interrupted_is_kept_in_the_histories() {
    let session = with_task(PLAIN);
    let execution =
        json!({"attempts": 1, "last_attempt": "2026-01-31T10:30:00Z", "interruption_reason": "agent_timeout"});
    session.task("IMPL-1", &json!({"status": "in_progress", "execution": execution}));
    session.file(
        "workflow-session.json",
        "{\n  \"session_id\": \"WFS-x\",\n  \"current_phase\": \"IMPLEMENT\",\n  \"created_at\": \"2026-01-31T09:00:00Z\"\n}\n",
    );
    session.ok("resume --yes");
    assert_eq!(
        session.json("workflow-session.json"),
        json!({
            "session_id": "WFS-x", "current_phase": "EXECUTE", "created_at": "2026-01-31T09:00:00Z",
            "last_execute_run": NOW, "resume_count": 1,
            "interruption_history": [{
                "timestamp": "2026-01-31T10:30:00Z", "reason": "agent_timeout", "affected_task": "IMPL-1",
                "recovery_strategy": "retry_with_enhanced_context",
            }],
        })
    );
    session.ok("begin IMPL-1");
    session.call("finish IMPL-1").now("2026-01-31T12:45:00Z").run().expect_code(0);
    let task = session.json(".task/IMPL-1.json");
    assert_eq!(
        task["execution"],
        json!({
            "attempts": 2, "last_attempt": NOW, "completion_time": "2026-01-31T12:45:00Z",
            "recovery_strategy": "retry_with_enhanced_context",
        })
    );
    assert_eq!(session.json("workflow-session.json")["resume_count"], 1);
}

#[test]
fn a_failure_is_recorded_with_its_error_and_counted() {
    let session = with_task(PLAIN);
    for attempt in 1..=3 {
        session.ok("begin IMPL-1");
        let failed = ["finish", "IMPL-1", "--error", "401 for ghp_0123456789abcdef0123"];
        session.sandbox.piton(failed).run().expect_code(0);
        let task = session.json(".task/IMPL-1.json");
        assert_eq!(task["status"], "failed");
        assert_eq!(task["execution"]["attempts"], attempt + 1, "one attempt is recorded in the file already");
        assert_eq!(task["execution"]["error"], "401 for [masked]");
        assert_eq!(task["execution"]["interruption_reason"], "task_failure");
        assert_eq!(task["status_history"].as_array().unwrap().last().unwrap()["note"], "401 for [masked]");
    }
    session.plan("").expect_code(9);
    session.call("begin IMPL-1").run().expect_code(9);
    session.ok("redo IMPL-1 --by Ana");
    session.ok("begin IMPL-1");
    session.ok("finish IMPL-1");
    let execution = &session.json(".task/IMPL-1.json")["execution"];
    assert_eq!((&execution["error"], &execution["interruption_reason"]), (&Value::Null, &Value::Null));
    assert_eq!(next(&session.plan("")), ["run IMPL-2"]);
}

#[test]
fn a_task_that_is_done_again_is_not_closed_by_what_its_first_attempt_left() {
    const ELEVEN: u64 = 1_769_857_200;
    let session = with_task(PLAIN);
    session.ok("begin IMPL-1");
    session.ok("finish IMPL-1");
    session.summaries(&["IMPL-1"]);
    let summary = session.path(".summaries/IMPL-1-summary.md");
    session.ok("redo IMPL-1 --by Ana");
    session.ok("begin IMPL-1");
    let is_in_progress = |todo: u64, summary_at: u64| {
        session.sandbox.modified(&session.path("TODO_LIST.md"), todo).modified(&summary, summary_at);
        session.plan("--steps").at("/data/steps/in_progress") == json!(["IMPL-1"])
    };
    assert!(is_in_progress(ELEVEN, ELEVEN));
    assert!(is_in_progress(ELEVEN + 7_200, ELEVEN), "another task was ticked since");
    assert!(!is_in_progress(ELEVEN + 7_200, ELEVEN + 7_200));
}

#[test]
fn a_broken_session_file_does_not_block_recording() {
    let session = with_task(PLAIN);
    session.file("workflow-session.json", "{\"lines\": 9,166}");
    session.ok("begin IMPL-1");
    let finished = session.ok("finish IMPL-1");
    assert_eq!(finished.at("/data/files").as_array().unwrap().len(), 3, "{finished}");
    assert_eq!(session.json(".task/IMPL-1.json")["status"], "completed");
    assert_eq!(session.read("workflow-session.json"), "{\"lines\": 9,166}");
    session.call("pause").run().expect_code(4);
    session.ok("resume --yes");
    assert_eq!(session.read("workflow-session.json"), "{\"lines\": 9,166}");
}

#[test]
fn a_broken_task_file_is_never_overwritten() {
    let session = with_task("{\"id\": \"IMPL-1\", \"status\": }");
    let before = session.sandbox.tree().without(".piton");
    for line in ["begin IMPL-1", "finish IMPL-1", "finish IMPL-1 --status failed", "override IMPL-1"] {
        let refused = session.call(line).run();
        assert!([4, 9].contains(&refused.code), "{line}\n{refused}");
    }
    assert_eq!(before.changes(&session.sandbox.tree().without(".piton")), [""; 0]);
}

#[test]
fn finishing_twice_records_nothing() {
    let session = with_task(PLAIN);
    session.ok("begin IMPL-1");
    assert_eq!(session.ok("finish IMPL-1").at("/data/recorded"), true);
    let before = session.sandbox.tree();
    let again = session.ok("finish IMPL-1");
    assert_eq!(again.at("/data/recorded"), false);
    assert_eq!(again.at("/data/files"), json!([]));
    assert_eq!(before.changes(&session.sandbox.tree()), [""; 0]);
    session.call("begin IMPL-1").run().expect_code(1);
    session.call("finish IMPL-1 --status failed").run().expect_code(1);
}

#[test]
fn a_drifted_task_is_brought_up_to_date_by_finish() {
    let session = with_task(PLAIN);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", ' ')]).summaries(&["IMPL-1"]);
    let finished = session.ok("finish IMPL-1 --status completed");
    assert_eq!(finished.at("/data/recorded"), true, "{finished}");
    let task = session.json(".task/IMPL-1.json");
    assert_eq!(task["status"], "completed");
    assert_eq!(task["status_history"], json!([{"from": "pending", "to": "completed", "changed_at": NOW}]));
    assert_eq!(next(&session.plan("").expect_code(0)), ["run IMPL-2"]);
}

#[test]
fn a_tick_alone_is_resolved_by_finish() {
    let session = with_task(PLAIN);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", ' ')]);
    session.ok("finish IMPL-1 --status completed");
    assert_eq!(session.json(".task/IMPL-1.json")["status"], "completed");
}

#[test]
fn resume_records_what_all_witnesses_call_done() {
    let session = with_task(PLAIN);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", ' ')]).summaries(&["IMPL-1"]);
    session.call("resume").run().expect_code(9);
    assert_eq!(session.read(".task/IMPL-1.json"), PLAIN, "there was no consent");
    let resumed = session.ok("resume --yes");
    assert_eq!(resumed.at("/data/context/step"), "IMPL-2", "{resumed}");
    let task = session.json(".task/IMPL-1.json");
    assert_eq!(task["status"], "completed");
    assert_eq!(task["status_history"][0]["from"], "pending");
    assert_eq!(session.json(".task/IMPL-2.json")["status"], "pending", "it is begun by begin");
    assert_eq!(session.plan("").expect_code(0).at("/data/verdict"), "resume");
}

#[test]
fn the_wording_of_the_session_is_kept() {
    let session = with_task(PLAIN);
    session.task("IMPL-2", &json!({"status": "active"}));
    session.ok("begin IMPL-1");
    assert_eq!(session.json(".task/IMPL-1.json")["status"], "active");
    assert_eq!(session.json(".task/IMPL-1.json")["status_history"][0]["to"], "active");
}

#[test]
fn the_result_object_of_newer_sessions_is_filled_in() {
    let session = with_task(PLAIN);
    session
        .task("IMPL-1", &json!({"status": "pending", "description": "d", "convergence": {"criteria": ["it works"]}}));
    session.ok("begin IMPL-1");
    session.sandbox.piton(["finish", "IMPL-1", "--summary", "all in", "--commit", "abcdef1"]).run().expect_code(0);
    let result = &session.json(".task/IMPL-1.json")["result"];
    assert_eq!(result, &json!({"success": true, "summary": "all in", "commit_hash": "abcdef1"}));
}
