//! What the other tags of a list, and copies of a tag, say about its tasks.

use serde_json::{Value, json};

use super::{LIST, task};
use crate::{cli::checklist, support::Sandbox};

const EARLY: &str = "2020-01-01T00:00:00.000Z";
const LATE: &str = "2120-01-01T00:00:00.000Z";

fn titled(id: u32, status: &str, title: &str) -> Value {
    let mut task = task(id, status, &[], &[]);
    task["title"] = json!(title);
    task
}

/// Makes a project with a commit of task 1, and a list with the tags `master` and `auth`.
fn two_tags(master: &Value, auth: &Value, auth_metadata: &Value, state: &Value) -> Sandbox {
    let sandbox = Sandbox::with_git();
    let list = json!({
        "master": {"tasks": [master, titled(9, "pending", "Nine")], "metadata": {"created": EARLY}},
        "auth": {"tasks": [auth, titled(9, "done", "Other")], "metadata": auth_metadata},
    });
    sandbox.file(LIST, &list.to_string()).file(".taskmaster/state.json", &state.to_string());
    sandbox.commit("chore: tasks");
    sandbox.file("src/a.rs", "x").commit("feat: build it (task 1)");
    sandbox
}

#[test]
fn commits_older_than_a_tag_are_not_about_its_tasks() {
    let (own, other) = (titled(1, "done", "Build"), titled(1, "pending", "Log in"));
    let next = |task: &Value, created: &Value| {
        let sandbox = two_tags(&own, task, created, &json!({"currentTag": "auth"}));
        checklist::next(&checklist::plan(&sandbox, "taskmaster-auth"))
    };
    assert_eq!(next(&other, &json!({"created": LATE})), ["run 1"]);
    assert_eq!(next(&other, &json!({"created": EARLY})), ["verify 1"]);
    assert_eq!(next(&other, &json!({})), ["verify 1"]);
    // A task that was copied with its tag is the same one.
    assert_eq!(next(&titled(1, "pending", "Build"), &json!({"created": LATE})), ["verify 1"]);
    let mut declared = other.clone();
    declared["relevantFiles"] = json!([{"path": "src/a.rs", "action": "create"}]);
    assert_eq!(next(&declared, &json!({"created": LATE})), ["verify 1"]);
    declared["relevantFiles"] = json!([{"path": "src/b.rs", "action": "create"}]);
    assert_eq!(next(&declared, &json!({"created": LATE})), ["run 1"]);
}

#[test]
fn the_oldest_tag_has_all_commits() {
    let sandbox = Sandbox::with_git();
    let created = json!({"created": LATE});
    let list = json!({"master": {"tasks": [titled(1, "pending", "Build")], "metadata": created}});
    sandbox.file(LIST, &list.to_string()).commit("chore: tasks");
    sandbox.file("src/a.rs", "x").commit("feat: build it (task 1)");
    assert_eq!(checklist::next(&checklist::plan(&sandbox, LIST)), ["verify 1"]);
}

#[test]
fn commits_made_for_the_current_tag_are_not_about_another_one() {
    let other = titled(1, "pending", "Log in");
    let next = |own: &str, state: &Value| {
        let sandbox = two_tags(&titled(1, own, "Build"), &other, &json!({"created": EARLY}), state);
        checklist::next(&checklist::plan(&sandbox, "taskmaster-auth"))
    };
    let switched = json!({"currentTag": "master", "lastSwitched": EARLY});
    assert_eq!(next("done", &switched), ["run 1"]);
    assert_eq!(next("review", &switched), ["run 1"]);
    // Either of two tasks that were not begun may be meant.
    assert_eq!(next("pending", &switched), ["verify 1"]);
    assert_eq!(next("done", &json!({"currentTag": "master", "lastSwitched": LATE})), ["verify 1"]);
    assert_eq!(next("done", &json!({"currentTag": "master"})), ["verify 1"]);
    let by_branch = json!({"currentTag": "master", "lastSwitched": EARLY, "branchTagMapping": {"x": "auth"}});
    assert_eq!(next("done", &by_branch), ["verify 1"]);
}

#[test]
fn a_tag_that_occurs_twice_is_one_run_with_a_finding() {
    let sandbox = Sandbox::with_git();
    let tasks = |first: &str| json!({"tasks": [task(1, first, &[], &[]), task(2, "pending", &[], &[])]});
    sandbox.file(LIST, &format!("{{\"master\": {},\n\"master\": {}}}", tasks("done"), tasks("pending")));
    sandbox.commit("chore: merge");
    let list = sandbox.piton(["list", "--all"]).run();
    assert_eq!(list.at("/data/runs").as_array().map(Vec::len), Some(1), "{list}");
    let output = checklist::plan(&sandbox, LIST);
    // What the copy that does not count calls done is not begun again without a look.
    assert_eq!(checklist::next(&output), ["verify 1", "run 2"]);
    let said = checklist::findings(&output);
    assert!(said.contains("duplicate-id the tag master occurs more than once: the last one counts"), "{said}");
    let patch = sandbox.piton(["plan", LIST, "--patch", "--answer", "1=done"]).run().expect_code(0);
    sandbox.file("a.diff", patch.at("/data/patch/diff").as_str().expect("a text"));
    sandbox.git(["apply", "a.diff"]);
    assert_eq!(checklist::next(&checklist::plan(&sandbox, LIST)), ["run 2"]);
}

#[test]
fn lists_of_several_packages_have_names_of_their_own() {
    let sandbox = Sandbox::with_git();
    let list = json!({"master": {"tasks": [task(1, "done", &[], &[]), task(2, "pending", &[], &[])]}}).to_string();
    for folder in ["packages/a/", "packages/b/"] {
        sandbox.file(&format!("{folder}{LIST}"), &list);
    }
    sandbox.commit("chore: tasks");
    let ids = || {
        let rows = sandbox.piton(["list"]).run().at("/data/runs").as_array().cloned().unwrap_or_default();
        let mut ids: Vec<String> = rows.iter().map(|row| row["id"].as_str().unwrap_or_default().to_owned()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(), ["taskmaster-master-packages-a", "taskmaster-master-packages-b"]);
    for run in ["taskmaster-master-packages-b", "packages/b", &format!("packages/b/{LIST}")] {
        let output = checklist::plan(&sandbox, run);
        assert_eq!(output.at("/data/run/state_files/0"), format!("packages/b/{LIST}"), "{run}: {output}");
        assert_eq!(checklist::next(&output), ["run 2"], "{run}");
        let command = output.at("/data/commands/context").as_str().expect("a text").to_owned();
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        sandbox.piton(words).run().expect_code(0);
    }
    // The list of the project itself keeps the short name.
    sandbox.file(LIST, &list);
    assert_eq!(ids()[0], "taskmaster-master");
}

#[test]
fn a_list_of_an_older_version_gives_way_to_the_new_one() {
    let sandbox = Sandbox::with_git();
    let list = |status: &str| json!({"tasks": [task(1, "done", &[], &[]), task(2, status, &[], &[])]}).to_string();
    sandbox.file("tasks/tasks.json", &list("pending")).commit("chore: tasks");
    assert_eq!(checklist::next(&checklist::plan(&sandbox, "taskmaster-master")), ["run 2"]);
    sandbox.file(LIST, &list("in-progress")).commit("chore: migrate");
    let rows = sandbox.piton(["list"]).run();
    assert_eq!(rows.at("/data/runs").as_array().map(Vec::len), Some(1), "{rows}");
    assert_eq!(checklist::next(&checklist::plan(&sandbox, "taskmaster-master")), ["retry 2"]);
    assert_eq!(checklist::next(&checklist::plan(&sandbox, "tasks/tasks.json")), ["run 2"]);
}
