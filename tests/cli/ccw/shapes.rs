//! The shapes of task files and checklists (docs/formats/ccw.md#task-file, docs/formats/ccw.md#checklist): all of them real, none
//! of them the documented one.

use serde_json::{Value, json};

use super::session::{Session, next, told};

#[test]
fn a_dependency_counts_in_each_of_its_four_places() {
    for depends in [
        json!({"depends_on": ["IMPL-1"]}),
        json!({"context": {"depends_on": ["IMPL-1"]}}),
        json!({"dependencies": ["IMPL-1"]}),
        json!({"dependencies": {"depends_on": ["IMPL-1"], "blocks": ["IMPL-9"]}}),
        json!({"relations": {"dependencies": ["impl-001"]}}),
        json!({"depends_on": "IMPL-1"}),
        json!({"depends_on": [{"id": "IMPL-1"}]}),
        json!({"depends_on": ["IMPL-1 (the foundation)"]}),
    ] {
        let session = Session::new();
        session.tasks(&[("IMPL-1", "pending", &[])]).task("IMPL-2", &depends);
        session.todo(&[("IMPL-1", ' '), ("IMPL-2", ' ')]);
        assert_eq!(next(&session.plan("").expect_code(0)), ["run IMPL-1"], "{depends}");
    }
}

#[test]
fn ids_are_found_under_either_key_and_in_any_spelling() {
    let session = Session::new();
    session.task("IMPL-001", &json!({"id": null, "task_id": "IMPL-001", "status": "completed"}));
    session.task("IMPL-002", &json!({"id": null, "status": "completed"}));
    session.task("impl-3", &json!({"status": "pending", "depends_on": ["IMPL-1", "IMPL-0002"]}));
    session.file(".task/IMPL-001.4-validation.json", r#"{"id": "IMPL-001.4", "title": "Check", "status": "pending"}"#);
    session.summaries(&["impl-1", "IMPL-2"]);
    session.todo(&[("IMPL-1", 'x'), ("impl-002", 'x'), ("IMPL-3", ' '), ("IMPL-001.4", ' ')]);
    let plan = session.plan("").expect_code(0);
    assert_eq!(next(&plan), ["run IMPL-001.4", "run impl-3"], "{plan}");
    assert_eq!(
        told(&plan, "id-mismatch"),
        ["IMPL-001.4: the file IMPL-001.4-validation.json describes the task IMPL-001.4"]
    );
    assert_eq!(told(&plan, "summary-missing"), [""; 0]);
    session.ok("begin IMPL-3");
    session.ok("finish Impl-003");
    assert_eq!(session.json(".task/impl-3.json")["id"], "impl-3", "the spelling on disk stays");
}

#[test]
fn ties_go_by_natural_order() {
    let session = Session::new();
    let ids = ["IMPL-10", "IMPL-2", "IMPL-1.1", "IMPL-1"];
    for id in ids {
        session.task(id, &json!({"status": "pending"}));
    }
    session.todo(&ids.map(|id| (id, ' ')));
    assert_eq!(next(&session.plan("")), ["run IMPL-1", "run IMPL-1.1", "run IMPL-2", "run IMPL-10"]);
}

#[test]
fn a_container_is_what_its_children_are() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "container", "subtasks": ["IMPL-1.1", "IMPL-1.2"]}));
    session.task("IMPL-1.1", &json!({"status": "completed", "context": {"parent": "IMPL-1"}}));
    session.task("IMPL-1.2", &json!({"status": "pending", "context": {"parent": "IMPL-1"}}));
    session.task("IMPL-2", &json!({"status": "pending", "depends_on": ["IMPL-1"]}));
    session.todo(&[("IMPL-1.1", 'x'), ("IMPL-1.2", ' '), ("IMPL-2", ' ')]).summaries(&["IMPL-1.1"]);
    assert_eq!(next(&session.plan("").expect_code(0)), ["run IMPL-1.2"]);
    session.call("begin IMPL-1").run().expect_code(1);
    session.call("finish IMPL-1").run().expect_code(1);
    session.ok("begin IMPL-1.2");
    session.ok("finish IMPL-1.2");
    assert_eq!(next(&session.plan("").expect_code(0)), ["run IMPL-2"]);
    assert_eq!(session.json(".task/IMPL-1.json")["status"], "container");
}

#[test]
fn a_container_of_which_a_child_is_missing_is_never_complete() {
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "container", "subtasks": ["IMPL-1.1", "IMPL-1.2"]}));
    session.task("IMPL-1.1", &json!({"status": "completed"}));
    session.todo(&[("IMPL-1.1", 'x')]).summaries(&["IMPL-1.1"]);
    let plan = session.plan("").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked", "{plan}");
    assert!(told(&plan, "file-missing").contains(&"IMPL-1: IMPL-1 names subtasks without a file: IMPL-1.2".to_owned()));
}

#[test]
fn an_unreadable_task_degrades_the_plan_and_is_never_complete() {
    for (text, place) in [
        ("", ":1:1"),
        ("{\n  \"id\": \"IMPL-2\",\n  \"status\": \"completed\",,\n}", ":3:25"),
        ("{\"id\": \"IMPL-2\"} trailing", ":1:18"),
        ("[1]", ":1:1"),
    ] {
        let session = Session::new();
        session.tasks(&[
            ("IMPL-1", "completed", &[]),
            ("IMPL-3", "pending", &["IMPL-1"]),
            ("IMPL-4", "pending", &["IMPL-2"]),
        ]);
        session.file(".task/IMPL-2.json", text).summaries(&["IMPL-1", "IMPL-2"]);
        session.todo(&[("IMPL-1", 'x'), ("IMPL-2", 'x'), ("IMPL-3", ' '), ("IMPL-4", ' ')]);
        let plan = session.plan("").expect_code(9);
        assert_eq!(plan.at("/data/degraded"), true);
        assert_eq!(next(&plan), ["verify IMPL-2", "run IMPL-3"], "{text}");
        let text_plan = session.call("--format text plan").run();
        assert!(text_plan.stdout.contains(&format!(".task/IMPL-2.json{place}")), "{place}\n{text_plan}");
        session.ok("begin IMPL-3");
        session.ok("finish IMPL-3");
        let rest = session.plan("").expect_code(9);
        assert_eq!(
            (rest.at("/data/verdict"), next(&rest)),
            (json!("confirm"), vec!["verify IMPL-2".to_owned()]),
            "{text}"
        );
    }
}

#[test]
fn a_directory_in_place_of_a_task_file_is_no_crash() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &[])]).todo(&[("IMPL-1", ' ')]);
    session.sandbox.dir(&session.path(".task/IMPL-2.json"));
    session.sandbox.dir(&session.path(".task/versions")).file(&session.path(".task/versions/IMPL-1-v1.1.json"), "{}");
    let plan = session.plan("");
    assert!(next(&plan).contains(&"run IMPL-1".to_owned()), "{plan}");
}

#[test]
fn a_cycle_is_reported_with_its_path() {
    let session = Session::new();
    session.tasks(&[
        ("IMPL-1", "pending", &["IMPL-3"]),
        ("IMPL-2", "pending", &["IMPL-1"]),
        ("IMPL-3", "pending", &["IMPL-2"]),
    ]);
    let plan = session.plan("").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    let circle = told(&plan, "dependency-cycle");
    assert_eq!(circle, ["IMPL-1: steps depend on each other in a cycle: IMPL-1 -> IMPL-3 -> IMPL-2 -> IMPL-1"]);
    let skipped = session.plan("--skip IMPL-1");
    assert_eq!((skipped.code, next(&skipped)), (0, vec!["run IMPL-2".to_owned()]), "{skipped}");
}

#[test]
fn a_dependency_that_does_not_exist_is_unmet_until_forced() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "pending", &["IMPL-77"])]).todo(&[("IMPL-1", ' ')]);
    let plan = session.plan("").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert_eq!(told(&plan, "dependency-dangling"), ["IMPL-1: IMPL-1 depends on IMPL-77, which does not exist"]);
    let forced = session.plan("--force").expect_code(9);
    assert_eq!((forced.at("/data/verdict"), next(&forced)), (json!("confirm"), vec!["run IMPL-1".to_owned()]));
}

#[test]
fn eleven_tasks_are_a_remark() {
    let session = Session::new();
    let ids: Vec<String> = (1..=11).map(|number| format!("IMPL-{number}")).collect();
    for id in &ids {
        session.task(id, &json!({"status": "pending"}));
    }
    let plan = session.plan("").expect_code(0);
    assert_eq!(told(&plan, "too-many-steps"), ["the session has 11 tasks; CCW plans at most 10"]);
    assert_eq!(next(&plan).len(), 11);
}

#[test]
fn of_two_tasks_with_one_id_the_one_named_so_counts() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "completed", &[])]);
    session.file(".task/IMPL-9.json", r#"{"id": "impl-1", "title": "Twin", "status": "pending"}"#);
    session.todo(&[("IMPL-1", 'x')]).summaries(&["IMPL-1"]);
    let plan = session.plan("--steps");
    assert_eq!(told(&plan, "duplicate-id").len(), 1, "{plan}");
    assert_eq!(plan.at("/data/steps/completed"), json!(["IMPL-1"]));
}

#[test]
fn known_synonyms_of_a_status_are_accepted_and_others_block() {
    for (word, expected) in [
        ("done", Some("archive IMPL-1")),
        ("Complete", Some("archive IMPL-1")),
        ("todo", Some("run IMPL-1")),
        ("Not Started", Some("run IMPL-1")),
        ("WIP", Some("retry IMPL-1")),
        ("in-progress", Some("retry IMPL-1")),
        ("nearly", None),
        ("needs review", None),
        ("", Some("run IMPL-1")),
    ] {
        let session = Session::new();
        let mark = if expected == Some("archive IMPL-1") { 'x' } else { ' ' };
        session.task("IMPL-1", &json!({"status": word})).todo(&[("IMPL-1", mark)]);
        let plan = session.plan("");
        assert_eq!(next(&plan).first().map(String::as_str), expected, "{word}\n{plan}");
        let is_alias = !["nearly", "needs review", "in-progress", ""].contains(&word);
        assert_eq!(told(&plan, "status-alias").len(), usize::from(is_alias), "{word}\n{plan}");
        assert_eq!(told(&plan, "status-unknown").len(), usize::from(expected.is_none()), "{word}");
    }
    let session = Session::new();
    session.task("IMPL-1", &json!({"status": "todo"})).todo(&[("IMPL-1", ' ')]);
    session.ok("begin IMPL-1");
    assert_eq!(session.json(".task/IMPL-1.json")["status_history"][0]["from"], "todo");
    assert_eq!(session.json(".task/IMPL-1.json")["status"], "in_progress");
}

#[test]
fn the_checklist_is_read_in_every_form() {
    for todo in [
        "- [x] **IMPL-001**: Title → [📋](./.task/IMPL-001.json) | [✅](./.summaries/IMPL-001-summary.md)\n",
        "- [x] **IMPL-1**: Title -> [task](./.task/IMPL-001.json)\n",
        "- [X] **IMPL-001** Title\n",
        "- [x] IMPL-1: Title\n",
        "* [x] `impl-001`: Title\n",
        "1. [x] IMPL-001 - Title\n",
        "### IMPL-001: Title\n- [x] **任务**: did it [📋](./.task/IMPL-001.json)\n",
        "### IMPL-001: Title\n- [x] one\n- [x] two\n",
        "  - [x] **IMPL-001**: Title\n",
        "- [ ] **IMPL-001**: Title\n- [x] **IMPL-001**: Title\n",
        "\u{feff}- [x] **IMPL-001**: Title\r\n",
    ] {
        let session = Session::new();
        session.task("IMPL-001", &json!({"status": "pending"})).file("TODO_LIST.md", todo);
        assert_eq!(next(&session.plan("").expect_code(9)), ["verify IMPL-001"], "{todo}");
    }
    for todo in ["- [~] **IMPL-001**: Title\n", "- [!] **IMPL-001**: Title\n", "```\n- [x] **IMPL-001**\n```\n", ""] {
        let session = Session::new();
        session.task("IMPL-001", &json!({"status": "pending"})).file("TODO_LIST.md", todo);
        assert_eq!(next(&session.plan("").expect_code(0)), ["run IMPL-001"], "{todo}");
    }
}

#[test]
fn a_session_that_is_only_a_checklist_is_planned_by_it() {
    let session = Session::new();
    session.sandbox.dir(&session.path(".task"));
    session.file("TODO_LIST.md", "- [x] **IMPL-1**: a\n- [ ] **IMPL-2**: b\n");
    let plan = session.plan("");
    assert_eq!(next(&plan), ["run IMPL-2"], "{plan}");
    session.ok("begin IMPL-2");
    session.ok("finish IMPL-2");
    assert_eq!(session.read("TODO_LIST.md"), "- [x] **IMPL-1**: a\n- [x] **IMPL-2**: b\n");
}

#[test]
fn the_agent_is_the_tasks_own_or_that_of_its_type() {
    for (dir, meta, agent) in [
        (".workflow/active/WFS-x", json!({"agent": "@code-developer"}), json!("code-developer")),
        (".workflow/active/WFS-x", json!({"type": "test-fix"}), json!("test-fix-agent")),
        (".workflow/active/WFS-x", json!({"type": "docs"}), json!("doc-generator")),
        (".workflow/WFS-x", json!({"type": "docs"}), json!("code-developer")),
        (".workflow/WFS-x", json!({"type": "review"}), json!("code-review-agent")),
        (".workflow/active/WFS-x", json!({"type": "anything"}), Value::Null),
    ] {
        let session = Session::at(dir);
        session.task("IMPL-1", &json!({"status": "pending", "meta": meta})).todo(&[("IMPL-1", ' ')]);
        assert_eq!(session.plan("").at("/data/next/0/agent"), agent, "{dir} {meta}");
    }
}
