//! Where sessions are, era by era, and how one of several is selected (docs/formats/ccw.md#finding-sessions).

use camino::Utf8Path;
use serde_json::{Value, json};

use super::session::{Session, add_to, next, told};
use crate::support::{Output, Sandbox};

/// Adds a session with one open task.
fn open_session(sandbox: &Sandbox, dir: &str) {
    add_to(sandbox, dir);
    let task = json!({"id": "IMPL-1", "title": "One", "status": "pending"});
    sandbox.file(&format!("{dir}/.task/IMPL-1.json"), &task.to_string());
    sandbox.file(&format!("{dir}/TODO_LIST.md"), "- [ ] **IMPL-1**: One\n");
}

fn listed(output: &Output) -> Vec<String> {
    let runs = output.at("/data/runs");
    let states = runs
        .as_array()
        .into_iter()
        .flatten()
        .map(|run: &Value| run["state"].as_str().expect("it is a text").to_owned());
    states.collect()
}

#[test]
fn every_layout_is_found() {
    for dir in [
        ".workflow/WFS-a",
        ".workflow/active/WFS-a",
        ".workflow/sessions/WFS-a",
        ".workflow/archives/WFS-a",
        "desktop/.workflow/active/WFS-a",
        "packages/web/.workflow/WFS-a",
        ".workflow/active/WFS-20260227-083208",
        ".workflow/active/WFS-test-generation-",
    ] {
        let sandbox = Sandbox::new();
        open_session(&sandbox, dir);
        let plan = sandbox.piton(["plan"]).run().expect_code(0);
        assert_eq!(next(&plan), ["run IMPL-1"], "{dir}");
        assert_eq!(plan.at("/data/run/state_files/0"), format!("{dir}/workflow-session.json"));
        assert_eq!(listed(&sandbox.piton(["list", "--all"]).run().expect_code(0)), [dir]);
        sandbox.piton(["begin", "IMPL-1"]).run().expect_code(0);
    }
}

#[test]
fn a_session_without_a_session_file_is_one_by_its_tasks() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]).todo(&[("IMPL-1", ' ')]);
    session.sandbox.remove(&session.path("workflow-session.json"));
    let plan = session.plan("").expect_code(0);
    assert_eq!(plan.at("/data/run/id"), "WFS-x");
    assert!(told(&plan, "file-missing")[0].starts_with("the session file cannot be read"), "{plan}");
}

#[test]
fn several_sessions_are_listed_without_a_choice() {
    let sandbox = Sandbox::new();
    open_session(&sandbox, ".workflow/active/WFS-one");
    open_session(&sandbox, ".workflow/active/WFS-two");
    let before = sandbox.tree();
    for line in [&["plan"][..], &["resume", "--yes"], &["begin", "IMPL-1"], &["pause"]] {
        let asked = sandbox.piton(line.iter().copied()).run().expect_code(8);
        assert_eq!(asked.at("/error/message"), "Found interrupted workflows: 2. Choose one", "{asked}");
        let hints = asked.at("/error/hints");
        assert!(hints[0].as_str().expect("it is a text").contains("WFS-one"), "{asked}");
        assert!(hints[1].as_str().expect("it is a text").contains("WFS-two"), "{asked}");
    }
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
    for run in
        ["WFS-two", "wfs-TWO", "two", "2", ".workflow/active/WFS-two", ".workflow/active/WFS-two/.task/IMPL-1.json"]
    {
        let plan = sandbox.piton(["plan", run]).run().expect_code(0);
        assert_eq!(plan.at("/data/run/id"), "WFS-two", "{run}");
    }
    let inside = sandbox.piton(["plan"]).folder(Utf8Path::new(".workflow/active/WFS-two/.task")).run().expect_code(0);
    assert_eq!(inside.at("/data/run/id"), "WFS-two");
    sandbox.piton(["begin", "IMPL-1", "--run", "WFS-one"]).run().expect_code(0);
    sandbox.piton(["plan", "WFS"]).run().expect_code(8);
    sandbox.piton(["plan", "three"]).run().expect_code(3);
    sandbox.piton(["plan", "3"]).run().expect_code(3);
}

#[test]
fn the_only_open_session_is_meant_where_the_others_are_over() {
    let sandbox = Sandbox::new();
    open_session(&sandbox, ".workflow/active/WFS-open");
    for dir in [".workflow/active/WFS-over", ".workflow/archives/WFS-older"] {
        open_session(&sandbox, dir);
        sandbox.file(&format!("{dir}/.task/IMPL-1.json"), r#"{"id": "IMPL-1", "title": "One", "status": "completed"}"#);
    }
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).at("/data/run/id"), "WFS-open");
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!((listed(&list), list.at("/data/hidden")), (vec![".workflow/active/WFS-open".to_owned()], json!(2)));
    assert_eq!(listed(&sandbox.piton(["list", "--all"]).run()).len(), 3);
}

/// Markers are gone since era F; where they exist they select the session, and they are never deleted.
#[test]
fn a_marker_chooses_its_session_and_an_orphan_is_left_alone() {
    let sandbox = Sandbox::new();
    open_session(&sandbox, ".workflow/WFS-one");
    open_session(&sandbox, ".workflow/WFS-two");
    sandbox.file(".workflow/.active-WFS-two", "").file(".workflow/.active-WFS-gone", "");
    let plan = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!(plan.at("/data/run/id"), "WFS-two");
    sandbox.piton(["begin", "IMPL-1"]).run().expect_code(0);
    sandbox.piton(["finish", "IMPL-1"]).run().expect_code(0);
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!(
        told(&list, "marker-orphan"),
        ["the marker names a session that does not exist; Piton does not change it"]
    );
    assert!(sandbox.exists(".workflow/.active-WFS-gone") && sandbox.exists(".workflow/.active-WFS-two"));
}

#[test]
fn pausing_takes_no_marker_away_and_a_paused_session_is_planned() {
    let sandbox = Sandbox::new();
    open_session(&sandbox, ".workflow/WFS-one");
    sandbox.file(".workflow/.active-WFS-one", "");
    sandbox.piton(["pause"]).run().expect_code(0);
    assert!(sandbox.exists(".workflow/.active-WFS-one"));
    sandbox.piton(["plan", "WFS-one"]).run().expect_code(0);
}

#[test]
fn states_of_other_tools_are_distinguished() {
    let sandbox = Sandbox::new();
    sandbox.file(".workflow/state.json", r#"{"current_step": 3}"#);
    sandbox.file(".workflow/.maestro/m1/status.json", "{}");
    sandbox.file(".workflow/sessions/maestro-1/state.json", "{}");
    sandbox.file(".workflow/.lite-plan/x-2026-01-01/.task/TASK-1.json", "{}");
    let none = sandbox.piton(["plan"]).run().expect_code(3);
    let findings = none.at("/findings");
    let alike = findings.as_array().expect("it is a list").iter().filter(|finding| finding["code"] == "look-alike");
    let alike: Vec<&str> = alike.filter_map(|finding| finding["file"].as_str()).collect();
    assert_eq!(
        alike,
        [
            ".workflow/.lite-plan/x-2026-01-01",
            ".workflow/.maestro",
            ".workflow/sessions/maestro-1",
            ".workflow/state.json"
        ],
        "{none}"
    );
    assert!(told(&none, "look-alike").iter().all(|message| message == "another tool's state, not a CCW session"));
    open_session(&sandbox, ".workflow/active/WFS-x");
    assert_eq!(next(&sandbox.piton(["plan"]).run().expect_code(0)), ["run IMPL-1"]);
    let named = sandbox.piton(["plan", ".workflow/state.json"]).run().expect_code(3);
    assert!(named.to_string().contains("not a CCW session"), "{named}");
}

#[test]
fn a_session_outside_of_the_project_is_not_followed() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]).todo(&[("IMPL-1", ' ')]);
    session.task("IMPL-2", &json!({"id": "../../../etc/passwd", "status": "pending"}));
    let plan = session.plan("");
    assert_eq!(
        told(&plan, "id-unsafe"),
        ["`../../../etc/passwd` cannot be used as an id; the file name is used instead"]
    );
    assert_eq!(next(&plan), ["run IMPL-1", "run IMPL-2"]);
}
