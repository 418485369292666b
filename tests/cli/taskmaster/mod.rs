//! Task lists of Task Master: found, planned and listed by their files and commits, and never written.

use serde_json::Value;
use serde_json::json;

use crate::support::Sandbox;

const LIST: &str = ".taskmaster/tasks/tasks.json";

fn task(id: u32, status: &str, on: &[u32], pieces: &[(&str, &[u32])]) -> Value {
    let pieces: Vec<Value> = pieces
        .iter()
        .enumerate()
        .map(|(at, (status, on))| json!({"id": at + 1, "title": format!("Piece {at}"), "status": status, "dependencies": on}))
        .collect();
    json!({"id": id, "title": format!("Task {id}"), "status": status, "priority": "high", "dependencies": on, "subtasks": pieces})
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

fn planned(sandbox: &Sandbox) -> (String, Vec<String>) {
    let output = sandbox.piton(["plan", LIST]).run();
    let next = output.at("/data/next");
    let named = |next: &Value| {
        format!("{} {}", next["action"].as_str().expect("a text"), next["step"].as_str().expect("a text"))
    };
    let next = next.as_array().map(|next| next.iter().map(named).collect()).unwrap_or_default();
    (output.at("/data/verdict").as_str().unwrap_or_default().to_owned(), next)
}

#[test]
fn statuses_and_dependencies_decide_row_by_row() {
    let rows: [(&str, Vec<Value>, &str, &[&str]); 11] = [
        ("free tasks", vec![task(1, "pending", &[], &[]), task(2, "pending", &[1], &[])], "resume", &["run 1"]),
        ("all done", vec![task(1, "done", &[], &[("done", &[])])], "complete", &[]),
        ("a done task with an open subtask", vec![task(1, "done", &[], &[("pending", &[])])], "confirm", &["verify 1"]),
        (
            "a begun task",
            vec![task(1, "pending", &[], &[("done", &[]), ("pending", &[1])]), task(2, "pending", &[], &[])],
            "resume",
            &["run 1.2", "run 2"],
        ),
        ("a task whose subtasks are done", vec![task(1, "pending", &[], &[("done", &[])])], "confirm", &["verify 1"]),
        ("in review", vec![task(1, "review", &[], &[])], "confirm", &["verify 1"]),
        ("in progress", vec![task(1, "in-progress", &[], &[])], "resume", &["retry 1"]),
        (
            "in progress before its dependency",
            vec![task(1, "pending", &[], &[]), task(2, "in-progress", &[1], &[("pending", &[])])],
            "confirm",
            &["run 1", "verify 2"],
        ),
        (
            "done before its dependency",
            vec![task(1, "pending", &[], &[]), task(2, "done", &[1], &[])],
            "confirm",
            &["verify 1"],
        ),
        ("cancelled", vec![task(1, "cancelled", &[], &[]), task(2, "pending", &[1], &[])], "resume", &["run 2"]),
        ("an unknown word", vec![task(1, "erledigt", &[], &[])], "confirm", &["verify 1"]),
    ];
    for (name, tasks, verdict, next) in rows {
        let (found, mut steps) = planned(&project(&tasks));
        steps.sort();
        let mut next: Vec<&str> = next.to_vec();
        next.sort_unstable();
        assert_eq!((found.as_str(), steps.iter().map(String::as_str).collect::<Vec<_>>()), (verdict, next), "{name}");
    }
}

#[test]
fn an_open_task_that_commits_name_is_looked_at_with_its_subtasks() {
    let sandbox = project(&[task(9, "pending", &[], &[("pending", &[]), ("pending", &[1])])]);
    sandbox.file("src/a.py", "a = 1\n");
    sandbox.commit("feat: build it (task 9)");
    assert_eq!(planned(&sandbox).1, ["verify 9"]);
}

#[test]
fn the_tag_of_the_state_is_planned_and_the_others_by_their_ids() {
    let sandbox = Sandbox::with_git();
    let list = json!({"one": {"tasks": [task(1, "done", &[], &[]), task(2, "pending", &[], &[])]},
        "two": {"tasks": [task(3, "in-progress", &[], &[])]}});
    sandbox.file(LIST, &list.to_string()).file(".taskmaster/state.json", "{\"currentTag\": \"two\"}");
    sandbox.commit("chore: tasks");
    assert_eq!(planned(&sandbox).1, ["retry 3"]);
    let output = sandbox.piton(["plan", "taskmaster-one"]).run();
    assert_eq!(output.at("/data/next/0/step"), "2");
    let output = sandbox.piton(["list"]).run();
    assert_eq!(output.at("/data/runs/0/id"), "taskmaster-two");
}

#[test]
fn tags_that_were_not_begun_are_counted_and_not_listed() {
    let sandbox = project(&[task(1, "pending", &[], &[])]);
    let output = sandbox.piton(["list"]).run().expect_code(3);
    assert!(output.stdout.contains("not-begun"), "{}", output.stdout);
}

#[test]
fn a_broken_list_is_never_planned() {
    let sandbox = project(&[task(1, "done", &[], &[("pending", &[])]), task(2, "pending", &[], &[])]);
    let text = sandbox.read(LIST);
    let before = sandbox.tree();
    for end in (0..text.trim_end().len()).step_by(60) {
        sandbox.bytes(LIST, &text.as_bytes()[..end]);
        assert!(planned(&sandbox).1.is_empty(), "{end}");
    }
    for line in 0..text.lines().count() {
        let mut lines: Vec<&str> = text.lines().collect();
        lines.insert(line, "<<<<<<< HEAD");
        sandbox.file(LIST, &lines.join("\n"));
        assert!(planned(&sandbox).1.is_empty(), "conflict at {line}");
    }
    sandbox.file(LIST, &text);
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}
