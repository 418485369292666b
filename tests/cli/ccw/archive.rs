//! The list of archived sessions: the entry added by `archive`, and the rest unchanged
//! (docs/formats/ccw.md#archiving-a-session).

use serde_json::{Value, json};

use super::session::{Session, add_to};
use crate::support::{NOW, changed_lines};

const MANIFEST: &str = ".workflow/archives/manifest.json";

/// Makes a session of which one task of two is done.
fn session(dir: &str) -> Session {
    let session = Session::at(dir);
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &["IMPL-1"])]);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", ' ')]).summaries(&["IMPL-1"]);
    session
}

fn entry(at: &str, path: &str) -> Value {
    json!({
        "session_id": "WFS-x",
        "description": "Sign-in for users",
        "archived_at": at,
        "archive_path": path,
        "metrics": {"tasks_completed": 1, "summaries_generated": 1, "duration_hours": 3.0},
        "tags": [],
        "lessons": {"successes": [], "challenges": [], "watch_patterns": []},
    })
}

#[test]
fn a_missing_list_is_made_with_the_one_entry() {
    for dir in [".workflow/active/WFS-x", ".workflow/sessions/WFS-x"] {
        let session = session(dir);
        session.ok("archive --yes");
        assert_eq!(
            session.sandbox.read_json(MANIFEST),
            json!([entry(NOW, ".workflow/archives/WFS-x")]),
            "{dir}: a list, as the system's own command makes it"
        );
    }
}

#[test]
fn sessions_of_the_first_formats_are_entered_only_where_there_is_a_list() {
    let session = session(".workflow/WFS-x");
    session.ok("archive --yes");
    assert!(session.sandbox.exists(".workflow/archives/WFS-x/workflow-session.json"));
    assert!(!session.sandbox.exists(MANIFEST), "their system knows no such file");
    let session = self::session(".workflow/WFS-x");
    session.sandbox.file(MANIFEST, "[]\n");
    session.ok("archive --yes");
    assert_eq!(session.sandbox.read_json(MANIFEST), json!([entry(NOW, ".workflow/archives/WFS-x")]));
}

#[test]
fn every_other_byte_of_the_list_stays() {
    let other = "{\"session_id\":  \"WFS-old\", \"metrics\": {\"success_rate\": 1.0}, \"x\": 1e3 }";
    for (before, head, tail) in [
        (format!("[\n  {other}\n]\n"), format!("[\n  {other},"), "\n]\n"),
        (format!("[{other}]"), format!("[{other},"), "]"),
        (format!("\u{feff}[\r\n\t{other}\r\n]"), format!("\u{feff}[\r\n\t{other},\r\n\t{{"), "}\r\n]"),
        (
            format!("{{\n    \"version\": 2,\n    \"sessions\": [\n        {other}\n    ],\n    \"z\": null\n}}"),
            format!("{{\n    \"version\": 2,\n    \"sessions\": [\n        {other},\n        {{"),
            "}\n    ],\n    \"z\": null\n}",
        ),
        ("{\"sessions\": []}".to_owned(), "{\"sessions\": [{".to_owned(), "}]}"),
    ] {
        let session = session(".workflow/active/WFS-x");
        session.sandbox.file(MANIFEST, &before);
        session.ok("archive --yes");
        let after = session.sandbox.read(MANIFEST);
        assert!(after.starts_with(&head) && after.ends_with(tail), "{before}\nbecame\n{after}");
        let value: Value = serde_json::from_str(after.trim_start_matches('\u{feff}')).unwrap();
        let list = if value.is_array() { &value } else { &value["sessions"] };
        assert_eq!(list.as_array().unwrap().last(), Some(&entry(NOW, ".workflow/archives/WFS-x")), "{before}");
    }
}

#[test]
fn a_list_that_takes_no_entry_is_left_alone_and_so_is_the_session() {
    for (text, problem) in [
        ("[{\"session_id\": \"WFS-old\"},]", "does not parse: trailing comma (line 1, column 28)"),
        ("", "does not parse: the file is empty (line 1, column 1)"),
        ("{\"archives\": []}", "is neither a list of sessions nor an object with one under `sessions`"),
        ("{\"sessions\": {}}", "is neither a list of sessions nor an object with one under `sessions`"),
        ("null", "is neither a list of sessions nor an object with one under `sessions`"),
    ] {
        let session = session(".workflow/active/WFS-x");
        session.sandbox.file(MANIFEST, text);
        let before = session.sandbox.tree().without(".piton");
        let refused = session.call("archive --yes").run().expect_code(4);
        assert_eq!(
            refused.at("/error/message"),
            json!(format!("{MANIFEST} {problem}; the file and the run were not changed"))
        );
        assert_eq!(
            refused.at("/error/hints"),
            json!([format!("correct {MANIFEST} or move it away, then archive again")])
        );
        assert_eq!(before.changes(&session.sandbox.tree().without(".piton")), [""; 0], "{text}");
        session.sandbox.remove(MANIFEST);
        session.ok("archive --yes");
    }
    let session = session(".workflow/active/WFS-x");
    session.sandbox.dir(MANIFEST);
    let refused = session.call("archive --yes").run().expect_code(4);
    let problem = "cannot be read: there is a folder where a file should be";
    assert!(refused.at("/error/message").as_str().unwrap().contains(problem), "{refused}");
    assert!(session.sandbox.exists(".workflow/active/WFS-x/workflow-session.json"));
}

#[test]
fn the_entry_names_the_folder_that_was_free() {
    let session = session(".workflow/active/WFS-x");
    session.ok("archive --yes");
    add_to(&session.sandbox, ".workflow/active/WFS-x");
    session.tasks(&[("IMPL-1", "completed", &[])]).todo(&[("IMPL-1", 'x')]).summaries(&["IMPL-1"]);
    session.call("archive .workflow/active/WFS-x --yes").now("2026-01-31T13:30:00Z").run().expect_code(0);
    let list = session.sandbox.read_json(MANIFEST);
    let places: Vec<&Value> = list.as_array().unwrap().iter().map(|entry| &entry["archive_path"]).collect();
    assert_eq!(places, [".workflow/archives/WFS-x", ".workflow/archives/WFS-x-2"]);
    assert_eq!(list[1]["metrics"]["duration_hours"], 4.5);
    assert!(session.sandbox.exists(".workflow/archives/WFS-x-2/workflow-session.json"));
}

/// Also what a kill between the entry and the move leaves.
#[test]
fn a_session_that_was_taken_out_again_keeps_its_one_entry() {
    let session = session(".workflow/active/WFS-x");
    session.sandbox.file(MANIFEST, "[\n  {\"session_id\": \"WFS-a\"}\n]\n");
    session.ok("archive --yes");
    let before = session.sandbox.read(MANIFEST);
    let root = session.sandbox.root();
    std::fs::rename(root.join(".workflow/archives/WFS-x"), root.join(".workflow/active/WFS-x")).unwrap();
    session.call("archive --yes").now("2026-01-31T13:00:00Z").run().expect_code(0);
    let list = session.sandbox.read_json(MANIFEST);
    assert_eq!(list[1], entry("2026-01-31T13:00:00Z", ".workflow/archives/WFS-x"));
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert_eq!(changed_lines(&before, &session.sandbox.read(MANIFEST)).len(), 2, "one line for another");
}

#[test]
fn two_sessions_archived_at_once_are_both_entered() {
    let session = session(".workflow/active/WFS-x");
    let names: Vec<String> = (0..6).map(|number| format!("WFS-{number}")).collect();
    for name in &names {
        add_to(&session.sandbox, &format!(".workflow/active/{name}"));
        session.sandbox.file(&format!(".workflow/active/{name}/.task/IMPL-1.json"), "{\"id\": \"IMPL-1\"}\n");
    }
    std::thread::scope(|scope| {
        for name in &names {
            let call = session.sandbox.piton(["archive", name, "--yes"]).env("PITON_LOCK_TIMEOUT_MS", "60000");
            scope.spawn(|| call.run().expect_code(0));
        }
    });
    let list = session.sandbox.read_json(MANIFEST);
    let mut entered: Vec<&str> =
        list.as_array().unwrap().iter().map(|entry| entry["session_id"].as_str().unwrap()).collect();
    entered.sort_unstable();
    assert_eq!(entered, names);
}
