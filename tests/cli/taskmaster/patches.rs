//! Patches for what lags behind, and for what a person answers.

use serde_json::{Value, json};

use super::{LIST, planned, project, task};
use crate::{cli::checklist, support::Sandbox};

#[test]
fn a_file_that_a_task_modifies_proves_nothing_before_it_is_changed() {
    let mut open = task(1, "pending", &[], &[]);
    open["relevantFiles"] = json!([{"path": "src/a.rs", "action": "Modify"}]);
    let sandbox = Sandbox::with_git();
    sandbox.file("src/a.rs", "old").file(LIST, &json!({"master": {"tasks": [open]}}).to_string());
    sandbox.commit("chore: everything at once");
    assert_eq!(planned(&sandbox).1, ["run 1"]);
    sandbox.file("src/a.rs", "new").commit("wip");
    assert_eq!(planned(&sandbox).1, ["verify 1"]);
}

#[test]
fn a_list_that_was_moved_is_as_old_as_before() {
    let list = json!({"tasks": [task(1, "pending", &[], &[]), task(2, "pending", &[], &[])]}).to_string();
    let sandbox = Sandbox::with_git();
    sandbox.file("tasks/tasks.json", &list).commit("chore: tasks");
    sandbox.file("src/a.rs", "x").commit("feat: task 1");
    sandbox.git(["rm", "-q", "tasks/tasks.json"]);
    sandbox.file(LIST, &list).commit("chore: migrate");
    assert_eq!(planned(&sandbox).1, ["verify 1", "run 2"]);
    // A list that was written anew is not.
    let sandbox = Sandbox::with_git();
    sandbox.file("src/a.rs", "x").commit("feat: task 1");
    sandbox.file(LIST, &list).commit("chore: tasks");
    assert_eq!(planned(&sandbox).1, ["run 1", "run 2"]);
}

#[test]
fn open_is_an_answer_only_where_it_ends_a_doubt() {
    for (tasks, can_be_open) in [
        (vec![task(1, "review", &[], &[])], true),
        (vec![task(1, "pending", &[], &[]), task(2, "in-progress", &[1], &[])], true),
        (vec![task(1, "in-progress", &[], &[("done", &[])])], false),
        (vec![task(1, "review", &[], &[]), task(2, "done", &[1], &[])], false),
    ] {
        let sandbox = project(&tasks);
        let step = if tasks.len() == 2 && tasks[1]["status"] == "in-progress" { 2 } else { 1 };
        let patch = sandbox.piton(["plan", LIST, "--patch", "--answer", &format!("{step}=open")]).run();
        let diff = patch.at("/data/patch/diff").as_str().unwrap_or_default().to_owned();
        assert_eq!(diff.contains("pending"), can_be_open, "{tasks:?}: {patch}");
    }
}

#[test]
fn an_answer_leaves_what_was_cancelled_or_deferred() {
    let pieces: &[(&str, &[u32])] = &[("pending", &[]), ("cancelled", &[]), ("deferred", &[]), ("done", &[])];
    let sandbox = project(&[task(1, "done", &[], pieces)]);
    let patch = sandbox.piton(["plan", LIST, "--patch", "--answer", "1=done"]).run().expect_code(0);
    sandbox.file("a.diff", patch.at("/data/patch/diff").as_str().expect("a text"));
    sandbox.git(["apply", "a.diff"]);
    let list: Value = serde_json::from_str(&sandbox.read(LIST)).expect("it parses");
    let statuses: Vec<&str> =
        (0..4).map(|at| list["master"]["tasks"][0]["subtasks"][at]["status"].as_str().expect("a text")).collect();
    assert_eq!(statuses, ["done", "cancelled", "deferred", "done"]);
    assert_eq!(planned(&sandbox), ("complete".to_owned(), Vec::new()));
}

#[test]
fn a_task_whose_subtasks_are_done_or_cancelled_is_closed_by_the_patch() {
    let patched = |pieces: &[(&str, &[u32])]| {
        let patch = project(&[task(1, "pending", &[], pieces)]).piton(["plan", LIST, "--patch"]).run();
        patch.at("/data/patch/diff").as_str().unwrap_or_default().matches("\n+ ").count()
    };
    assert_eq!(patched(&[("done", &[]), ("cancelled", &[])]), 1);
    assert_eq!(patched(&[("done", &[]), ("deferred", &[])]), 0);
    assert_eq!(patched(&[("cancelled", &[])]), 0);
    let dropped = project(&[task(1, "pending", &[], &[("cancelled", &[])])]);
    let patch = dropped.piton(["plan", LIST, "--patch", "--answer", "1=dropped"]).run().expect_code(0);
    dropped.file("a.diff", patch.at("/data/patch/diff").as_str().expect("a text"));
    dropped.git(["apply", "a.diff"]);
    assert_eq!(planned(&dropped), ("complete".to_owned(), Vec::new()));
}

#[test]
fn a_task_whose_declared_files_were_built_is_closed_by_the_patch() {
    let mut built = task(1, "pending", &[], &[]);
    built["relevantFiles"] =
        json!([{"path": "src/a.py", "action": "create"}, {"path": "src/b.py", "action": "create"}]);
    let sandbox = project(&[built, task(2, "pending", &[1], &[])]);
    sandbox.file("src/a.py", "a = 1\n").commit("feat: a half");
    assert_eq!(checklist::next(&checklist::plan(&sandbox, LIST)), ["retry 1"]);
    sandbox.file("src/b.py", "b = 1\n").commit("feat: the other half");
    let output = checklist::plan(&sandbox, LIST);
    assert_eq!(checklist::next(&output), ["verify 1"]);
    let patch = sandbox.piton(["plan", LIST, "--patch"]).run().expect_code(0);
    let diff = patch.at("/data/patch/diff").as_str().expect("a text").to_owned();
    assert_eq!(diff.lines().filter(|line| line.starts_with('+') && !line.starts_with("+++")).count(), 1, "{diff}");
    sandbox.file("a.diff", &diff);
    sandbox.git(["apply", "a.diff"]);
    assert_eq!(planned(&sandbox).1, ["run 2"]);
}
