use serde_json::json;

use super::definition;
use crate::{
    dialect::ccw::testing::{codes, files, ids, load},
    model::FindingCode,
};

#[test]
fn the_definition_is_what_does_not_change_by_running() {
    let task = json!({
        "id": "A", "status": "pending", "title": "t", "execution": {}, "status_history": [],
        "subtasks": [{"id": "A.1", "status": "pending"}, "A.2"], "result": "done"
    });
    assert_eq!(definition(task.clone()), json!({"id": "A", "title": "t", "subtasks": [{"id": "A.1"}, "A.2"]}));
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
