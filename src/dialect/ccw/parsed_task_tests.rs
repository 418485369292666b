use serde_json::json;

use super::{acceptance, dependencies, focus, requirements, targets};
use crate::document::Node;

#[test]
fn dependencies_come_from_all_places() {
    for (task, expected) in [
        (json!({"depends_on": ["IMPL-1", "IMPL-2"]}), vec!["IMPL-1", "IMPL-2"]),
        (json!({"context": {"depends_on": ["IMPL-1"]}}), vec!["IMPL-1"]),
        (json!({"dependencies": ["IMPL-1"]}), vec!["IMPL-1"]),
        (json!({"dependencies": {"depends_on": ["IMPL-1"], "blocks": ["IMPL-3"]}}), vec!["IMPL-1"]),
        (json!({"dependencies": {"upstream": ["IMPL-1"], "downstream": ["IMPL-3"]}}), vec!["IMPL-1"]),
        (json!({"relations": {"dependencies": ["impl-1.1"]}}), vec!["impl-1.1"]),
        (json!({"dependencies": [{"id": "IMPL-1", "type": "hard"}, {"task_id": "IMPL-2"}]}), vec!["IMPL-1", "IMPL-2"]),
        (json!({"depends_on": "IMPL-1, IMPL-2"}), vec!["IMPL-1", "IMPL-2"]),
        (json!({"depends_on": ["IMPL-1"], "context": {"depends_on": ["IMPL-1"]}}), vec!["IMPL-1"]),
        (json!({"depends_on": ["None", "", null, true], "context": null, "dependencies": "none"}), vec![]),
        (json!({"depends_on": 7, "dependencies": {"depends_on": {"a": 1}}}), vec!["7"]),
        (json!({"depends_on": {"tasks": ["IMPL-1"], "type": "hard"}}), vec!["IMPL-1"]),
        (json!({"depends_on": {"IMPL-1": "its schema", "IMPL-2": null}}), vec!["IMPL-1", "IMPL-2"]),
        (json!({"depends_on": {"blocks": ["IMPL-3"]}}), vec![]),
        (json!({"depends_on": [["IMPL-1", "IMPL-2"], {"task": {"id": "IMPL-3"}}]}), vec!["IMPL-1", "IMPL-2", "IMPL-3"]),
        (json!({"depends_on": [{"after": 3}]}), vec![r#"{"after":3}"#]),
        (json!({}), vec![]),
    ] {
        let found: Vec<String> = dependencies(&Node::of(&task)).into_iter().map(|dependency| dependency.text).collect();
        assert_eq!(found, expected, "{task}");
    }
}

#[test]
fn paths_are_read_in_the_forms_of_all_formats() {
    for (task, expected) in [
        (json!({"context": {"focus_paths": ["src/a", "src/b"]}}), vec!["src/a", "src/b"]),
        (json!({"focus_paths": "src/a"}), vec!["src/a"]),
        (json!({"paths": "src/a;src/b; "}), vec!["src/a", "src/b"]),
        (json!({"context": 5}), vec![]),
    ] {
        assert_eq!(focus(&Node::of(&task)), expected, "{task}");
    }
    for (task, expected) in [
        (json!({"flow_control": {"target_files": ["src/a.ts:login:10-20"]}}), vec!["src/a.ts:login:10-20"]),
        (json!({"files": [{"path": "src/a.ts", "action": "create"}]}), vec!["src/a.ts"]),
    ] {
        assert_eq!(targets(&Node::of(&task)), expected, "{task}");
    }
}

#[test]
fn what_to_do_and_when_it_is_done_are_found() {
    let old = json!({"context": {"requirements": ["one", {"description": "two"}], "acceptance": "three"}});
    assert_eq!(requirements(&Node::of(&old)), ["one", "two"]);
    assert_eq!(acceptance(&Node::of(&old)), ["three"]);
    let new = json!({"description": "whole", "convergence": {"criteria": ["a"], "verification": "b"}});
    assert_eq!(requirements(&Node::of(&new)), ["whole"]);
    assert_eq!(acceptance(&Node::of(&new)), ["a", "b"]);
}
