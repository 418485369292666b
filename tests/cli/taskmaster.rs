//! Task lists of Task Master that are damaged or too large, and the example; the rest is in `tests/cases/taskmaster`.

use serde_json::{Value, json};

use crate::{
    cli::{checklist, damage},
    support::{Sandbox, Tree, repository},
};

const LIST: &str = ".taskmaster/tasks/tasks.json";

fn task(id: u32, status: &str) -> Value {
    json!({"id": id, "title": format!("Task {id}"), "status": status, "priority": "high", "dependencies": []})
}

fn project(tasks: &[Value]) -> Sandbox {
    let sandbox = Sandbox::with_git();
    sandbox.file(
        LIST,
        &serde_json::to_string_pretty(&json!({"master": {"tasks": tasks, "metadata": {}}})).expect("it is there"),
    );
    sandbox.commit("chore: tasks");
    sandbox
}

/// A list whose first task is done, with a subtask, and whose second one depends on it.
fn begun() -> Sandbox {
    let (mut first, mut second) = (task(1, "done"), task(2, "pending"));
    first["subtasks"] = json!([{"id": 1, "title": "Piece", "status": "done", "dependencies": []}]);
    second["dependencies"] = json!([1]);
    project(&[first, second])
}

#[test]
fn a_broken_list_is_never_planned() {
    let sandbox = begun();
    let text = sandbox.read(LIST);
    let before = sandbox.tree();
    for end in (0..text.trim_end().len()).step_by(60) {
        sandbox.bytes(LIST, &text.as_bytes()[..end]);
        assert!(checklist::next(&checklist::plan(&sandbox, LIST)).is_empty(), "{end}");
    }
    for line in 0..text.lines().count() {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(line, "<<<<<<< HEAD");
        sandbox.file(LIST, &lines.join("\n"));
        assert!(checklist::next(&checklist::plan(&sandbox, LIST)).is_empty(), "conflict at {line}");
    }
    sandbox.file(LIST, &text);
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}

#[test]
fn damaged_lists_say_nothing_wrong() {
    let sandbox = begun();
    let whole = sandbox.read(LIST).trim_end().len();
    damage::each(&sandbox, LIST, |what| {
        let output = sandbox.piton(["plan", LIST, "--steps"]).run();
        assert!([0, 3, 4, 9].contains(&output.code), "{what}: {output}");
        let data = output.json()["data"].clone();
        assert_ne!(data["verdict"], "complete", "{what}");
        let completed = data["steps"]["completed"].as_array().cloned().unwrap_or_default();
        assert!(!completed.iter().any(|step| step == "2"), "{what}: {completed:?}");
        let is_whole = !what.contains("conflict") && sandbox.read(LIST).len() >= whole;
        let is_planned = is_whole || what.contains("without line");
        assert!(is_planned || checklist::next(&output).is_empty(), "{what}: {output}");
    });
}

#[test]
fn a_list_of_more_tasks_than_are_read_is_never_complete() {
    let tasks: Vec<Value> = (1..=20_001).map(|id| json!({"id": id, "title": "a", "status": "done"})).collect();
    let list = json!({"master": {"tasks": tasks}});
    let sandbox = Sandbox::with_git();
    sandbox.file(LIST, &list.to_string());
    let output = checklist::plan(&sandbox, LIST);
    assert_eq!(checklist::next(&output), ["verify rest"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
    assert!(checklist::findings(&output).contains("part-unreadable"), "{output}");
}

#[test]
fn a_list_that_is_too_large_is_named() {
    let sandbox = begun();
    sandbox.file(LIST, &format!("{}{}", sandbox.read(LIST), " ".repeat(5 << 20)));
    let output = sandbox.piton(["list"]).run().expect_code(4);
    assert!(output.stdout.contains("folder-closed"), "{output}");
}

#[test]
fn details_of_megabytes_stay_within_the_budget() {
    let mut large = task(1, "pending");
    large["details"] = json!("a line of details\n".repeat(100_000));
    large["testStrategy"] = json!("look at it");
    let sandbox = project(&[large]);
    let brief = sandbox.piton(["context", LIST, "--budget", "4000"]).run().expect_code(0);
    assert!(brief.json()["data"].to_string().len() <= 4000, "{}", brief.stdout.len());
    assert!(
        brief
            .at("/data/instructions")
            .as_str()
            .is_some_and(|text| text.starts_with("description") || text.contains("a line"))
    );
    assert!(brief.at("/data/omitted").to_string().contains("instructions"), "{}", brief.at("/data/omitted"));
}

#[test]
fn the_example_goes_on_with_the_begun_task() {
    let sandbox = Sandbox::new();
    Tree::of(&repository().join("examples/taskmaster")).write_to(&sandbox.root());
    sandbox.git_init();
    let output = checklist::plan(&sandbox, LIST);
    assert_eq!(checklist::next(&output), ["run 2.2"]);
}
