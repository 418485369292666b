//! The session as a whole: pause, resume, abort, complete, archive (docs/formats/ccw.md#session-lifecycle).

use serde_json::json;

use super::session::{Session, next, told};
use crate::support::{NOW, changed_lines};

fn session() -> Session {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &["IMPL-1"])]);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", ' ')]).summaries(&["IMPL-1"]);
    session
}

#[test]
fn a_paused_session_is_found_planned_and_taken_up_again() {
    let session = session();
    let before = session.read("workflow-session.json");
    session.ok("pause");
    assert_eq!(
        changed_lines(&before, &session.read("workflow-session.json")),
        [
            r#"-4   \"status\": \"active\",\n"#,
            r#"-5   \"type\": \"workflow\",\n"#,
            r#"-6   \"created_at\": \"2026-01-31T09:00:00Z\"\n"#,
            r#"+4   \"status\": \"paused\",\n"#,
            r#"+5   \"type\": \"workflow\",\n"#,
            r#"+6   \"created_at\": \"2026-01-31T09:00:00Z\",\n"#,
            r#"+7   \"paused_at\": \"2026-01-31T12:00:00Z\",\n"#,
            r#"+8   \"resumable\": true\n"#,
        ]
    );
    assert_eq!(session.ok("pause").at("/data/recorded"), false);
    session.ok("list");
    assert_eq!(next(&session.plan("").expect_code(0)), ["run IMPL-2"]);
    session.call("resume --yes").now("2026-01-31T14:00:00Z").run().expect_code(0);
    let state = session.json("workflow-session.json");
    assert_eq!((&state["status"], &state["resumed_at"]), (&json!("active"), &json!("2026-01-31T14:00:00Z")));
    assert_eq!(state["resume_count"], 1);
}

#[test]
fn an_aborted_session_resumes_only_by_force() {
    let session = session();
    session.ok("abort");
    assert_eq!(session.json("workflow-session.json")["status"], "cancelled");
    session.call("list").run().expect_code(3);
    let plan = session.plan("").expect_code(9);
    assert_eq!(told(&plan, "run-aborted"), ["the run was aborted; it continues only on explicit request"]);
    session.call("resume --yes").run().expect_code(9);
    session.ok("resume --yes --force");
    assert_eq!(session.json("workflow-session.json")["status"], "active");
}

#[test]
fn a_session_is_completed_when_its_tasks_are() {
    let session = session();
    let refused = session.call("complete").run().expect_code(1);
    assert!(refused.at("/error/message").as_str().unwrap().ends_with("not done: IMPL-2"), "{refused}");
    session.ok("begin IMPL-2");
    session.ok("finish IMPL-2");
    session.ok("complete");
    let state = session.json("workflow-session.json");
    assert_eq!((&state["status"], &state["completed_at"]), (&json!("completed"), &json!(NOW)));
    let plan = session.plan("").expect_code(0);
    assert_eq!(plan.at("/data/verdict"), "complete");
    assert_eq!(next(&plan), [""; 0]);
}

#[test]
fn a_finished_session_goes_to_the_archives_and_no_task_is_called_done_on_the_way() {
    let session = session();
    session.call("archive").run().expect_code(9);
    let task = session.read(".task/IMPL-2.json");
    session.ok("archive --yes");
    assert!(!session.sandbox.exists(".workflow/active/WFS-x/workflow-session.json"));
    assert_eq!(session.sandbox.read(".workflow/archives/WFS-x/.task/IMPL-2.json"), task);
    let state = session.sandbox.read_json(".workflow/archives/WFS-x/workflow-session.json");
    assert_eq!((&state["status"], &state["archived_at"]), (&json!("active"), &json!(NOW)));
    let plan = session.plan("WFS-x --steps").expect_code(3);
    assert_eq!((plan.at("/data/verdict"), plan.at("/data/commands/begin")), (json!("nothing"), json!(null)), "{plan}");
    assert_eq!(plan.at("/data/steps/pending"), json!(["IMPL-2"]), "what is open in the archive is still open");
    assert_eq!(plan.at("/data/run/state_files/0"), ".workflow/archives/WFS-x/workflow-session.json");
    let before = session.sandbox.tree().without(".piton");
    for change in [
        "begin IMPL-2",
        "finish IMPL-1 --status failed",
        "redo IMPL-1 --by Ada --note again",
        "override IMPL-2 --by Ada --note go",
        "skip IMPL-2 --reason why",
        "pause",
        "abort --by Ada --reason why",
        "complete --force",
        "restore --yes",
        "rollback --to 0 --yes",
    ] {
        let mut words: Vec<&str> = change.split(' ').collect();
        let named = matches!(words[0], "restore" | "rollback");
        words.extend(if named { &["WFS-x"][..] } else { &["--run", "WFS-x"] });
        let refused = session.sandbox.piton(words).run().expect_code(1);
        let message = "run WFS-x is archived; an archive is read, never written";
        assert_eq!(refused.at("/error/message"), message, "{change}");
    }
    session.ok("archive WFS-x");
    assert_eq!(before.changes(&session.sandbox.tree().without(".piton")), [""; 0]);
}

#[test]
fn skip_is_recorded_with_its_reason() {
    let session = session();
    session.sandbox.piton(["skip", "impl-2", "--reason", "not needed any more"]).run().expect_code(0);
    let task = session.json(".task/IMPL-2.json");
    assert_eq!(task["status"], "skipped");
    assert_eq!(
        task["status_history"],
        json!([{"from": "pending", "to": "skipped", "changed_at": NOW, "note": "not needed any more"}])
    );
    assert_eq!(session.plan("").expect_code(0).at("/data/verdict"), "complete");
    session.sandbox.piton(["skip", "IMPL-1", "--reason", "r"]).run().expect_code(1);
}

/// Begun, cut off, resumed, finished, completed: with the program alone.
#[test]
fn a_session_goes_from_the_first_task_to_the_archive() {
    let session = session();
    session.tasks(&[("IMPL-1", "pending", &[]), ("IMPL-2", "pending", &["IMPL-1"])]);
    session.sandbox.remove(&session.path(".summaries"));
    session.todo(&[("IMPL-1", ' '), ("IMPL-2", ' ')]);
    for id in ["IMPL-1", "IMPL-2"] {
        assert_eq!(next(&session.plan("").expect_code(0)), [format!("run {id}")]);
        session.ok(&format!("begin {id}"));
        assert_eq!(next(&session.plan("").expect_code(0)), [format!("run {id}")]);
        session.ok("resume --yes");
        session.ok(&format!("begin {id}"));
        session.summaries(&[id]);
        session.ok(&format!("finish {id}"));
    }
    session.ok("complete");
    session.ok("archive");
    assert_eq!(session.sandbox.read_json(".workflow/archives/WFS-x/workflow-session.json")["resume_count"], 2);
    session.call("list").run().expect_code(3);
}
