use serde_json::json;

use super::{of_step, read};
use crate::{document::Node, model::Status};

fn statuses(task: &serde_json::Value, status: Status) -> Vec<(String, Status)> {
    of_step(read(&Node::of(task)), status, |_| false).into_iter().map(|part| (part.name, part.status)).collect()
}

fn named(expected: &[(&str, Status)]) -> Vec<(String, Status)> {
    expected.iter().map(|(name, status)| ((*name).to_owned(), *status)).collect()
}

use Status::{Completed, InProgress, Pending, Skipped};

#[test]
fn flow_steps_of_all_formats_have_names() {
    let task = json!({
        "flow_control": {
            "pre_analysis": [{"step": "gather", "action": "Look", "command": "rg x", "output_to": "found"}, {"step": 1}],
            "implementation_approach": [{"step": 1, "title": "Write"}, {"id": "two"}, "three", {}]
        },
        "execution": {"variables": {"found": "12 files"}}
    });
    let parts = of_step(read(&Node::of(&task)), Pending, |_| false);
    let names: Vec<&str> = parts.iter().map(|part| part.name.as_str()).collect();
    assert_eq!(names, ["gather", "1", "implementation-1", "two", "3", "4"]);
    assert_eq!(parts[0].title, "Look");
    assert_eq!(parts[0].commands, ["rg x"]);
    assert_eq!(parts[0].output, Some(("found".to_owned(), Some(Box::new(json!("12 files"))))));
    assert_eq!(parts[4].title, "three");
    let flat =
        json!({"pre_analysis": [{"step": "a", "commands": ["x", "y"]}], "implementation": ["do", {"step": "b"}]});
    assert_eq!(statuses(&flat, Pending), named(&[("a", Pending), ("1", Pending), ("b", Pending)]));
    let objects =
        json!({"flow_control": {"implementation_approach": {"task_description": "x"}, "pre_analysis": "none"}});
    assert!(read(&Node::of(&objects)).is_empty());
}

#[test]
fn progress_is_read_from_the_execution() {
    let with = |execution: serde_json::Value| json!({"pre_analysis": [{"step": "a"}, {"step": "b"}, {"step": "c"}], "execution": execution});
    for (execution, expected) in [
        (json!({}), [Pending, Pending, Pending]),
        (json!({"flow_step": "b"}), [Completed, InProgress, Pending]),
        (json!({"flow_step": "b", "completed_flow_steps": []}), [Pending, InProgress, Pending]),
        (json!({"completed_flow_steps": ["a", "b"]}), [Completed, Completed, Pending]),
        (json!({"completed_flow_steps": ["a"], "skipped_flow_steps": ["b"]}), [Completed, Skipped, Pending]),
        (json!({"current_attempt": {"completed_checkpoints": ["a"]}}), [Completed, Pending, Pending]),
        (json!({"flow_step": 3, "completed_flow_steps": "a"}), [Completed, Pending, Pending]),
        (json!("none"), [Pending, Pending, Pending]),
    ] {
        let found: Vec<Status> =
            statuses(&with(execution.clone()), InProgress).into_iter().map(|(_, status)| status).collect();
        assert_eq!(found, expected, "{execution}");
    }
}

#[test]
fn subtasks_are_parts_and_follow_a_completed_task() {
    let task = json!({"subtasks": [{"id": "A.1", "status": "completed"}, {"id": "A.2", "status": "pending"}, "words"]});
    assert_eq!(statuses(&task, Pending), named(&[("A.1", Completed), ("A.2", Pending), ("words", Pending)]));
    assert_eq!(statuses(&task, Completed), named(&[("A.1", Completed), ("A.2", Completed), ("words", Completed)]));
    let children = of_step(read(&Node::of(&task)), Pending, |name| name.starts_with("A."));
    assert_eq!(children.len(), 1);
}
