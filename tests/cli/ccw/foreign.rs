//! Sessions of projects that do not follow the format: what can be understood is read, and the rest is reported.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::session::{Session, next, texts, told};

#[test]
fn statuses_in_other_scripts_and_spellings_are_understood() {
    let session = Session::new();
    for (id, status) in [
        ("IMPL-1", "✅ completed"),
        ("IMPL-2", "已完成"),
        ("IMPL-3", "inProgress"),
        ("IMPL-4", "待处理"),
        ("IMPL-5", "almost there"),
    ] {
        session.task(id, &json!({"status": status}));
    }
    session.summaries(&["IMPL-1", "IMPL-2"]);
    let plan = session.plan("--steps").expect_code(9);
    assert_eq!(next(&plan), ["retry IMPL-3", "run IMPL-4"]);
    assert_eq!(texts(&plan, "/data/steps/completed"), ["IMPL-1", "IMPL-2"]);
    assert_eq!(told(&plan, "status-alias").len(), 4, "{plan}");
    assert_eq!(told(&plan, "status-unknown"), ["IMPL-5: the status `almost there` of IMPL-5 is unknown to CCW"]);
}

#[test]
fn dependencies_in_an_object_hold_a_task_back() {
    for depends in [json!({"tasks": ["IMPL-1"]}), json!({"IMPL-1": "its schema"}), json!([["IMPL-1"]])] {
        let session = Session::new();
        session
            .tasks(&[("IMPL-1", "pending", &[])])
            .task("IMPL-2", &json!({"status": "pending", "depends_on": depends}));
        assert_eq!(next(&session.plan("")), ["run IMPL-1"], "{depends}");
    }
}

#[test]
fn tasks_that_share_one_file_are_read_and_written_there() {
    let one = r#"{"id": "IMPL-1", "title": "One", "status": "completed"}"#;
    let two = r#"{"id": "IMPL-2", "title": "Two", "status": "pending", "depends_on": ["IMPL-1"]}"#;
    for (before, after) in [("{\n  \"version\": 2,\n  \"tasks\": [\n    ", "\n  ]\n}\n"), ("[\n    ", "\n]\n")] {
        let session = Session::new();
        session.file(".task/tasks.json", &format!("{before}{one},\n    {two}{after}")).summaries(&["IMPL-1"]);
        let plan = session.plan("--steps").expect_code(0);
        assert_eq!(next(&plan), ["run IMPL-2"], "{plan}");
        let files = [".workflow/active/WFS-x/workflow-session.json", ".workflow/active/WFS-x/.task/tasks.json"];
        assert_eq!(texts(&plan, "/data/run/state_files"), files);
        session.ok("validate");
        session.ok("begin IMPL-2");
        session.ok("finish IMPL-2");
        let text = session.read(".task/tasks.json");
        assert!(text.starts_with(&format!("{before}{one},\n    {{\"id\": \"IMPL-2\"")), "{text}");
        assert!(text.ends_with(after), "{text}");
        assert_eq!(session.plan("").expect_code(0).at("/data/verdict"), "complete");
    }
}

#[test]
fn an_index_and_leftovers_of_failed_writes_are_not_tasks() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]);
    session.file(".task/index.json", r#"{"tasks": [{"id": "IMPL-1"}, {"id": "IMPL-2"}]}"#);
    session.file(".task/tmp.json", "").file(".task/temp.json", "{\"id\": ");
    let plan = session.plan("").expect_code(0);
    assert_eq!((next(&plan), plan.at("/data/progress/total")), (vec!["run IMPL-1".to_owned()], json!(1)));
    assert_eq!(told(&plan, "field-ignored").len(), 3, "{plan}");
    session.ok("validate");
}

#[test]
fn a_session_id_that_is_a_path_is_no_name() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]);
    session.file("workflow-session.json", r#"{"session_id": "../../etc", "created_at": "2026-01-31T09:00:00Z"}"#);
    let plan = session.plan("").expect_code(9);
    assert_eq!(plan.at("/data/run/id"), "WFS-x");
    assert_eq!(
        told(&plan, "id-unsafe"),
        ["`../../etc` cannot be used as a session id; the folder name is used instead"]
    );
    session.ok("begin IMPL-1 --run WFS-x");
}

#[test]
fn validate_says_where_tasks_contradict_each_other() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &["IMPL-2"]), ("IMPL-2", "pending", &["IMPL-1"])]);
    let circle = session.call("validate").run().expect_code(1);
    assert_eq!(
        told(&circle, "dependency-cycle"),
        ["IMPL-1: steps depend on each other in a cycle: IMPL-1 -> IMPL-2 -> IMPL-1"]
    );
    session.tasks(&[("IMPL-2", "pending", &["IMPL-9"])]);
    let dangling = session.call("validate").run().expect_code(1);
    assert_eq!(told(&dangling, "dependency-dangling"), ["IMPL-2: IMPL-2 depends on IMPL-9, which does not exist"]);
    session.tasks(&[("IMPL-2", "pending", &[])]).todo(&[("IMPL-1", ' '), ("IMPL-2", 'x')]);
    let drift = session.call("validate").run().expect_code(0);
    assert_eq!(told(&drift, "status-conflict").len(), 1, "{drift}");
}

#[test]
fn the_reason_for_a_missing_plan_comes_first() {
    let session = Session::new();
    let plan = session.call("plan --format text").run().expect_code(3);
    let told = "the session has no tasks in .task or a checklist; /workflow:plan writes them";
    assert!(plan.stdout.contains(told), "{plan}");
}

#[test]
fn a_group_line_without_a_box_is_mention_enough() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "container", "subtasks": ["IMPL-1.1"]}));
    session.task("IMPL-1.1", &json!({"status": "pending"}));
    session.file("TODO_LIST.md", "▸ **IMPL-1**: Group → [📋](./.task/IMPL-1.json)\n  - [ ] **IMPL-1.1**: One\n");
    assert_eq!(told(&session.plan("").expect_code(0), "todo-mismatch"), [""; 0]);
}

#[test]
fn a_dependency_that_was_skipped_is_not_called_done() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "skipped", &[]), ("IMPL-2", "pending", &["IMPL-1"]), ("IMPL-3", "blocked", &[])]);
    let plan = session.plan("").expect_code(9);
    assert_eq!(next(&plan), ["run IMPL-2", "run IMPL-3"]);
    assert_eq!(plan.at("/data/next/0/reason"), "IMPL-1 was skipped");
    assert_eq!(plan.at("/data/next/1/reason"), "the state says blocked without naming what it waits for");
}

#[test]
fn the_cause_of_an_interruption_is_kept_after_the_next_attempt() {
    let session = Session::new();
    let execution =
        json!({"attempts": 1, "last_attempt": "2026-01-31T09:30:00Z", "interruption_reason": "agent_timeout"});
    session.task("IMPL-1", &json!({"status": "in_progress", "execution": execution}));
    session.ok("begin IMPL-1");
    let task = session.json(".task/IMPL-1.json");
    assert_eq!(task["execution"]["interruption_reason"], json!(null));
    assert_eq!(task["status_history"][0]["note"], "agent_timeout");
    session.ok("finish IMPL-1");
    assert_eq!(session.json(".task/IMPL-1.json")["execution"]["attempts"], 2);
}

#[test]
fn folders_behind_links_are_named() {
    let session = Session::at("elsewhere/.workflow/active/WFS-x");
    session.tasks(&[("IMPL-1", "pending", &[])]);
    session.sandbox.file("one/README.md", "").file("two/.workflow/active/README.md", "");
    let root = session.sandbox.root();
    symlink("../elsewhere/.workflow", root.join("one/.workflow")).expect("a link");
    symlink("../../../elsewhere/.workflow/active/WFS-x", root.join("two/.workflow/active/WFS-x")).expect("a link");
    for (project, link) in [("one", ".workflow"), ("two", ".workflow/active/WFS-x")] {
        let list = session.call(&format!("--project {project} list")).run().expect_code(4);
        assert_eq!(list.at("/findings/0/code"), "folder-closed", "{list}");
        assert_eq!(list.at("/findings/0/file"), link);
    }
}

#[test]
fn a_text_that_names_several_tasks_waits_for_all_of_them() {
    for (depends, expected) in [
        ("IMPL-1 and IMPL-2", vec!["run IMPL-2"]),
        ("IMPL-1 (schema, views) / IMPL-2", vec!["run IMPL-2"]),
        ("IMPL-1 to IMPL-2", vec!["run IMPL-2"]),
        ("IMPL-001..IMPL-002", vec!["run IMPL-2"]),
        ("IMPL-1 design and build", vec!["run IMPL-2", "run IMPL-3"]),
    ] {
        let session = Session::new();
        session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &[]), ("IMPL-3", "pending", &[depends])]);
        session.summaries(&["IMPL-1"]);
        assert_eq!(next(&session.plan("").expect_code(0)), expected, "{depends}");
    }
}

#[test]
fn a_task_that_depends_on_the_group_it_is_in_does_not_wait_for_it() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "container"}));
    session.tasks(&[("IMPL-1.1", "pending", &["IMPL-1"]), ("IMPL-1.2", "pending", &["IMPL-1.1"])]);
    let plan = session.plan("").expect_code(0);
    assert_eq!(next(&plan), ["run IMPL-1.1"]);
    let said = "IMPL-1.1: IMPL-1.1 depends on IMPL-1, the group that contains it; the dependency is ignored";
    assert_eq!(told(&plan, "field-ignored"), [said], "{plan}");
}

#[test]
fn work_that_its_own_record_calls_done_is_looked_at_first() {
    let log = json!([{"from": "in_progress", "to": "completed", "changed_at": "2026-01-31T10:00:00Z"}]);
    for (record, source) in [
        (json!({"status": "pending", "status_history": log}), "status_history"),
        (json!({"status": "pending", "result": {"success": true}}), "result"),
        (json!({"meta": {"status": "completed"}}), "a status in another field"),
    ] {
        let session = Session::new();
        session.task("IMPL-1", &record);
        let plan = session.plan("").expect_code(9);
        assert_eq!(next(&plan), ["verify IMPL-1"], "{record}");
        let told = told(&plan, "status-conflict");
        let but = match record.get("status") {
            Some(_) => "is pending according to its state, but done",
            None => "has no status, but is done",
        };
        assert!(told[0].contains(&format!("{but} according to {source}")), "{told:?}");
        session.ok("finish IMPL-1");
        assert_eq!(session.plan("").expect_code(0).at("/data/verdict"), "complete");
    }
    let reset = json!([{"to": "completed"}, {"from": "completed", "to": "pending"}]);
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "pending", "status_history": reset}));
    assert_eq!(next(&session.plan("").expect_code(0)), ["run IMPL-1"]);
}

#[test]
fn a_group_that_says_completed_does_not_close_its_subtasks_unseen() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "completed", "subtasks": ["IMPL-1.1", "IMPL-1.2"]}));
    session.tasks(&[("IMPL-1.1", "completed", &[]), ("IMPL-1.2", "pending", &[]), ("IMPL-2", "pending", &["IMPL-1"])]);
    let plan = session.plan("").expect_code(0);
    assert_eq!(next(&plan), ["run IMPL-1.2"]);
    let message = "IMPL-1: IMPL-1 is marked completed but these subtasks are not, and they decide: IMPL-1.2";
    assert_eq!(told(&plan, "status-optimistic"), [message]);
}
