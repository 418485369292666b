use serde_json::json;

use super::definition;
use crate::{
    dialect::ccw::testing::{codes, files, ids, load},
    model::{FindingCode, Status},
};

#[test]
fn only_what_lies_directly_in_the_folder_of_the_tasks_is_one() {
    let tasks = [".task.old/IMPL-1.json", ".task/IMPL-2.json", ".task/old/IMPL-3.json", ".task0/IMPL-4.json"];
    let run = load(&files(&tasks.map(|name| (name, "{}")))).run.unwrap();
    assert_eq!(ids(&run), ["IMPL-2"]);
}

#[test]
fn the_definition_is_what_does_not_change_by_running() {
    let task = json!({
        "id": "A", "status": "pending", "title": "t", "execution": {}, "status_history": [],
        "subtasks": [{"id": "A.1", "status": "pending"}, "A.2"], "result": "done"
    });
    assert_eq!(definition(task.clone()), json!({"id": "A", "title": "t", "subtasks": [{"id": "A.1"}, "A.2"]}));
}

#[test]
fn ids_come_from_either_key_or_from_the_file() {
    let set = files(&[
        (".task/IMPL-10.json", r#"{"id":"IMPL-10","status":"pending"}"#),
        (".task/IMPL-2.json", r#"{"task_id":"IMPL-2","status":"pending"}"#),
        (".task/IMPL-001.3-validation.json", r#"{"id":"IMPL-001.3","status":"pending"}"#),
        (".task/L0.json", r#"{"title":"no id","status":"pending"}"#),
        (".task/N.json", r#"{"id":7,"status":"pending"}"#),
        (".task/._IMPL-2.json", "\0\0"),
        (".task/task-index.json", r#"{"tasks":["IMPL-2"],"total":1}"#),
        (".task/notes.md", "no task"),
    ]);
    let loaded = load(&set);
    assert_eq!(ids(loaded.run.as_ref().unwrap()), ["7", "IMPL-001.3", "IMPL-2", "IMPL-10", "L0"]);
    assert_eq!(codes(&loaded).iter().filter(|code| **code == FindingCode::IdMismatch).count(), 2);
    assert!(codes(&loaded).contains(&FindingCode::FieldIgnored));
}

#[test]
fn ids_that_could_be_paths_give_way_to_the_file_name() {
    for id in ["../../etc/passwd", "a/b", "a\\\\b", "IMPL-1\\u0000", "IMPL\\n1"] {
        let task = format!(r#"{{"id":"{id}","status":"pending"}}"#);
        let loaded = load(&files(&[(".task/IMPL-1.json", &task)]));
        assert_eq!(ids(loaded.run.as_ref().unwrap()), ["IMPL-1"], "{id}");
        assert!(codes(&loaded).contains(&FindingCode::IdUnsafe), "{id}");
    }
}

#[test]
fn of_two_tasks_with_one_id_the_one_named_so_stays() {
    let set = files(&[
        (".task/IMPL-1-backup.json", r#"{"id":"IMPL-1","title":"old","status":"completed"}"#),
        (".task/IMPL-1.json", r#"{"id":"IMPL-1","title":"new","status":"pending"}"#),
        (".task/a.json", r#"{"id":"X-1","title":"first","status":"pending"}"#),
        (".task/b.json", r#"{"id":"x-1","title":"second","status":"pending"}"#),
    ]);
    let loaded = load(&set);
    let run = loaded.run.as_ref().unwrap();
    assert_eq!(ids(run), ["IMPL-1", "X-1"]);
    assert_eq!(run.steps[0].title, "new");
    assert_eq!(run.steps[1].title, "first");
    assert_eq!(codes(&loaded).iter().filter(|code| **code == FindingCode::DuplicateId).count(), 2);
}

#[test]
fn a_broken_file_leaves_a_step_that_is_never_done() {
    let set = files(&[
        ("TODO_LIST.md", "- [x] **IMPL-1**: a\n- [x] **IMPL-2**: b\n"),
        (".task/IMPL-1.json", "{\n  \"id\": \"IMPL-1\",\n  \"lines\": 9,166\n}"),
        (".task/IMPL-2.json", r#"{"id":"IMPL-2","status":"completed"}"#),
        (".task/IMPL-3.json", "[]"),
        (".task/IMPL-4.json", ""),
        (".summaries/IMPL-1-summary.md", ""),
    ]);
    let loaded = load(&set);
    let run = loaded.run.as_ref().unwrap();
    assert!(run.degraded);
    assert_eq!(ids(run), ["IMPL-1", "IMPL-2", "IMPL-3", "IMPL-4"]);
    for broken in [0, 2, 3] {
        assert_eq!(run.steps[broken].status, Status::Blocked);
    }
    let finding = loaded.findings.iter().find(|finding| finding.code == FindingCode::PartUnreadable).unwrap();
    assert_eq!((finding.line, finding.column), (Some(3), Some(14)));
    assert_eq!(finding.step.as_ref().unwrap().as_str(), "IMPL-1");
}
