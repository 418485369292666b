//! Task lists of Task Master: found, planned and listed by their files and commits, and never written.

mod patches;
mod tags;

use serde_json::{Value, json};

use crate::{
    cli::{checklist, damage},
    support::{Sandbox, Tree, repository},
};

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
    let rows: [(&str, Vec<Value>, &str, &[&str]); 18] = [
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
        (
            "a task whose subtasks are cancelled",
            vec![task(1, "pending", &[], &[("cancelled", &[]), ("cancelled", &[])])],
            "confirm",
            &["verify 1"],
        ),
        (
            "a done task with a deferred subtask",
            vec![task(1, "done", &[], &[("done", &[]), ("deferred", &[])])],
            "complete",
            &[],
        ),
        (
            "subtasks of a blocked task",
            vec![
                task(1, "blocked", &[], &[("done", &[]), ("pending", &[]), ("in-progress", &[])]),
                task(2, "pending", &[], &[]),
            ],
            "resume",
            &["run 2"],
        ),
        (
            "only a blocked task",
            vec![task(1, "done", &[], &[]), task(2, "blocked", &[], &[("pending", &[])])],
            "blocked",
            &[],
        ),
        (
            "subtasks of a deferred task",
            vec![task(1, "deferred", &[], &[("pending", &[]), ("in-progress", &[])]), task(2, "pending", &[], &[])],
            "resume",
            &["run 2"],
        ),
        (
            "a blocked subtask",
            vec![task(1, "pending", &[], &[("blocked", &[]), ("pending", &[])])],
            "resume",
            &["run 1.2"],
        ),
        (
            "a subtask in review below a task in progress",
            vec![task(1, "in-progress", &[], &[("review", &[])])],
            "confirm",
            &["verify 1.1"],
        ),
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
fn the_priority_of_a_finished_task_holds_nothing_back() {
    let with = |id: u32, status: &str, on: &[u32], priority: &str| {
        let mut task = task(id, status, on, &[]);
        task["priority"] = json!(priority);
        task
    };
    let tasks = [with(1, "done", &[], "low"), with(2, "pending", &[], "medium"), with(3, "pending", &[1], "high")];
    assert_eq!(planned(&project(&tasks)).1, ["run 3", "run 2"]);
}

#[test]
fn subtasks_of_a_task_in_progress_come_before_other_tasks() {
    let mut other = task(1, "pending", &[], &[]);
    other["priority"] = json!("critical");
    let begun = |status: &str| {
        let mut begun = task(2, status, &[], &[("pending", &[])]);
        begun["priority"] = json!("low");
        planned(&project(&[other.clone(), begun])).1
    };
    assert_eq!(begun("pending"), ["run 1", "run 2.1"]);
    assert_eq!(begun("in-progress"), ["run 2.1", "run 1"]);
}

#[test]
fn a_status_that_takes_something_back_is_unknown() {
    for word in ["done?", "~~done~~", "done (not tested)", "cancelled -> pending", "not done"] {
        let (verdict, next) = planned(&project(&[task(1, word, &[], &[])]));
        assert_eq!((verdict.as_str(), next), ("confirm", vec!["verify 1".to_owned()]), "{word}");
    }
    for word in ["done", "Done", " COMPLETED ", "complete"] {
        assert_eq!(planned(&project(&[task(1, word, &[], &[])])).0, "complete", "{word}");
    }
}

#[test]
fn a_task_with_two_statuses_is_looked_at() {
    for (first, last, expected) in [("done", "pending", true), ("pending", "done", true), ("done", "done", false)] {
        let sandbox = Sandbox::with_git();
        let twice = format!("{{\"id\": 1, \"title\": \"One\", \"status\": \"{first}\", \"status\": \"{last}\"}}");
        sandbox.file(LIST, &format!("{{\"master\": {{\"tasks\": [{twice}]}}}}")).commit("chore: merge");
        let (_, next) = planned(&sandbox);
        assert_eq!(next == ["verify 1"], expected, "{first} {last}: {next:?}");
    }
}

#[test]
fn what_waits_for_a_deferred_task_does_not_wait_for_a_cancelled_one() {
    let output = checklist::plan(&project(&[task(1, "deferred", &[], &[]), task(2, "pending", &[1], &[])]), LIST);
    let said = checklist::findings(&output);
    assert!(said.contains("2 waits for 1; 1 is put off") && !said.contains("cancelled"), "{said}");
    let half = task(1, "in-progress", &[], &[("cancelled", &[]), ("deferred", &[])]);
    let output = checklist::plan(&project(&[half, task(2, "pending", &[], &[])]), LIST);
    assert!(!checklist::findings(&output).contains("1 is ready although"), "{output}");
}

#[test]
fn what_is_put_off_before_a_finished_task_is_named() {
    for status in ["deferred", "blocked"] {
        let output = checklist::plan(
            &project(&[task(1, status, &[], &[]), task(2, "done", &[1], &[]), task(3, "pending", &[], &[])]),
            LIST,
        );
        assert_eq!(checklist::next(&output), ["run 3"], "{status}");
        let said = checklist::findings(&output);
        let named = "status-conflict deferred or blocked, but steps that depend on them are done: 1";
        assert!(said.contains(named), "{status}: {said}");
        let before = checklist::plan(&project(&[task(1, status, &[], &[]), task(2, "pending", &[1], &[])]), LIST);
        assert!(!checklist::findings(&before).contains("status-conflict"), "{status}: {before}");
    }
}

#[test]
fn a_begun_task_before_its_dependency_is_looked_at() {
    let mut begun = task(2, "in-progress", &[1], &[]);
    begun["relevantFiles"] =
        json!([{"path": "src/a.rs", "action": "create"}, {"path": "src/b.rs", "action": "create"}]);
    let sandbox = project(&[task(1, "pending", &[], &[]), begun]);
    sandbox.file("src/a.rs", "x").commit("feat: a half");
    let output = checklist::plan(&sandbox, LIST);
    assert_eq!(checklist::next(&output), ["run 1", "verify 2"], "{output}");
}

#[test]
fn the_brief_names_relevant_files_and_commits() {
    let mut review = task(1, "review", &[], &[]);
    review["relevantFiles"] = json!([
        {"path": "src/old.rs", "description": "the model", "action": "modify"},
        {"path": "src/new.rs", "action": "create"},
        {"path": "docs/rules.md", "action": "reference"},
        {"path": "../away.md", "action": "reference"},
    ]);
    let sandbox = project(&[review]);
    let commit = sandbox.file("src/new.rs", "x").commit("feat: build it (task 1)");
    let brief = sandbox.piton(["context", LIST]).run().expect_code(0);
    assert_eq!(brief.at("/data/files_to_touch"), json!(["src/new.rs", "src/old.rs"]), "{brief}");
    let reading = brief.at("/data/required_reading").to_string();
    for part in ["the model", "src/old.rs", "docs/rules.md"] {
        assert!(reading.contains(part), "{part}: {reading}");
    }
    assert!(!reading.contains("away"), "{reading}");
    assert!(brief.at("/data/next_action").to_string().contains(&commit[..7]), "{brief}");
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
fn dependencies_are_read_in_every_spelling() {
    for on in
        [json!([1]), json!(["1"]), json!("1"), json!("1, 9"), json!([{"id": 1}]), json!(["Task 1"]), json!(["#1"])]
    {
        let mut second = task(2, "pending", &[], &[]);
        second["dependencies"] = on.clone();
        let (_, next) = planned(&project(&[task(1, "pending", &[], &[]), second]));
        assert_eq!(next, ["run 1"], "{on}");
    }
    let mut free = task(1, "pending", &[], &[]);
    free["dependencies"] = Value::Null;
    free["subtasks"] = Value::Null;
    assert_eq!(planned(&project(&[free])).1, ["run 1"]);
}

#[test]
fn a_dependency_of_a_subtask_on_no_sibling_is_a_task_and_is_named() {
    let sandbox = project(&[
        task(1, "pending", &[], &[("pending", &[]), ("pending", &[1])]),
        task(3, "pending", &[], &[("pending", &[]), ("pending", &[7])]),
        task(7, "done", &[], &[]),
    ]);
    let output = checklist::plan(&sandbox, LIST);
    assert_eq!(checklist::next(&output), ["run 1.1", "run 3.1", "run 3.2"]);
    let said = checklist::findings(&output);
    let named = "dependencies of subtasks that name no sibling are taken as tasks: 3.2 on 7";
    assert!(said.contains(named) && !said.contains("1.2 on 1"), "{said}");
}

#[test]
fn subtasks_of_subtasks_are_steps() {
    let mut whole = task(1, "in-progress", &[], &[("done", &[]), ("pending", &[])]);
    whole["subtasks"][0]["subtasks"] = json!([{"id": 1, "title": "Deep", "status": "pending"}]);
    whole["subtasks"][1]["subtasks"] =
        json!([{"id": 1, "title": "Deeper", "status": "done"}, {"id": "2", "title": "Last", "status": "pending"}]);
    let sandbox = project(&[whole.clone()]);
    assert_eq!(planned(&sandbox).1, ["run 1.2.2", "verify 1.1"]);
    let context = sandbox.piton(["context", LIST, "--step", "1.2.2"]).run();
    assert_eq!(context.at("/data/title"), "Last", "{context}");
    whole["status"] = json!("done");
    assert_eq!(planned(&project(&[whole])).1, ["verify 1"]);
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

#[test]
fn damaged_lists_say_nothing_wrong() {
    let sandbox = project(&[task(1, "done", &[], &[("done", &[])]), task(2, "pending", &[1], &[])]);
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
fn a_task_without_an_id_is_looked_at() {
    let mut nameless = task(2, "pending", &[], &[]);
    nameless["id"] = Value::Null;
    let sandbox = project(&[task(1, "done", &[], &[]), nameless]);
    let (verdict, next) = planned(&sandbox);
    assert_eq!(verdict, "confirm");
    assert!(next.len() == 1 && next[0].starts_with("verify without-id-line-"), "{next:?}");
}

#[test]
fn a_dependency_on_no_task_is_named_and_not_waited_for() {
    let sandbox = project(&[task(1, "done", &[98], &[]), task(2, "pending", &[1, 99], &[("pending", &[])])]);
    let output = checklist::plan(&sandbox, LIST);
    assert_eq!(checklist::next(&output), ["run 2.1"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
    let said = checklist::findings(&output);
    let named = "tasks depend on tasks that do not exist, which are not waited for: 2 on 99, 2.1 on 99";
    assert!(said.contains(&format!("dependency-dangling {named}")) && !said.contains("98"), "{said}");
}

#[test]
fn ids_of_subtasks_under_an_undefined_task_are_those_of_their_task() {
    let mut parent = task(5, "pending", &[], &[("done", &[]), ("pending", &[])]);
    parent["subtasks"][0]["id"] = json!("undefined.1");
    parent["subtasks"][1]["id"] = json!("undefined.2");
    parent["subtasks"][1]["dependencies"] = json!(["undefined.1"]);
    let output = checklist::plan(&project(&[parent]), LIST);
    assert_eq!(checklist::next(&output), ["run 5.2"]);
    assert!(!checklist::findings(&output).contains("dangling"), "{output}");
}

#[test]
fn ids_that_repeat_after_a_merge_are_told_apart() {
    let output = checklist::plan(&project(&[task(1, "done", &[], &[]), task(1, "pending", &[], &[])]), LIST);
    assert!(checklist::findings(&output).contains("duplicate-id two tasks have the id 1"), "{output}");
    assert_eq!(checklist::next(&output), ["verify 1#2"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
    assert_eq!(planned(&project(&[task(1, "pending", &[], &[]), task(1, "done", &[], &[])])).1, ["verify 1"]);
    assert_eq!(
        planned(&project(&[task(1, "pending", &[], &[]), task(1, "pending", &[], &[])])).1,
        ["run 1", "run 1#2"]
    );
}

#[test]
fn a_state_with_a_lost_tag_is_named_once() {
    let sandbox = project(&[task(1, "pending", &[], &[])]);
    sandbox.file(".taskmaster/state.json", "{\"currentTag\": \"gone\"}");
    let output = checklist::plan(&sandbox, LIST);
    assert_eq!(checklist::next(&output), ["run 1"]);
    let said = checklist::findings(&output);
    assert!(said.contains("`currentTag` is gone, which is no tag of the list; master counts instead"), "{said}");
    sandbox.file(".taskmaster/state.json", "{\"currentTag\": \"master\"}");
    assert!(!checklist::findings(&checklist::plan(&sandbox, LIST)).contains("currentTag"));
}

#[test]
fn the_example_goes_on_with_the_begun_task() {
    let sandbox = Sandbox::new();
    Tree::of(&repository().join("examples/taskmaster")).write_to(&sandbox.root());
    sandbox.git_init();
    let output = checklist::plan(&sandbox, LIST);
    assert_eq!(checklist::next(&output), ["run 2.2"]);
}

#[test]
fn a_task_that_lost_its_status_is_looked_at() {
    let mut lost = task(1, "done", &[], &[]);
    lost.as_object_mut().expect("an object").remove("status");
    let output = checklist::plan(&project(&[lost.clone(), task(2, "pending", &[], &[])]), LIST);
    assert!(checklist::next(&output).contains(&"verify 1".to_owned()), "{output}");
    assert!(checklist::findings(&output).contains("status-missing without a status"), "{output}");
    // Where no task has one, it is how the list is written.
    assert_eq!(planned(&project(&[lost])).1, ["run 1"]);
}

#[test]
fn a_broken_list_names_the_newest_version_in_git_that_parses() {
    let sandbox = project(&[task(1, "pending", &[], &[])]);
    let good = sandbox.git(["rev-parse", "--short=7", "HEAD"]);
    sandbox.file(LIST, "{\"master\": {\"tasks\": [");
    sandbox.commit("chore: cut off");
    sandbox.file(LIST, "<<<<<<< HEAD\n");
    let output = sandbox.piton(["plan", LIST]).run();
    assert!(output.stdout.contains(&format!("git show {}:./{LIST}", good.trim())), "{output}");
    assert!(!output.stdout.contains("piton archive"), "{output}");
}

#[test]
fn the_tag_of_the_branch_is_the_active_one() {
    let sandbox = Sandbox::with_git();
    let list = json!({"one": {"tasks": [task(1, "in-progress", &[], &[])]}, "two": {"tasks": [task(3, "in-progress", &[], &[])]}});
    let state = json!({"currentTag": "two", "branchTagMapping": {"feature/one": "one"}});
    sandbox.file(LIST, &list.to_string()).file(".taskmaster/state.json", &state.to_string());
    sandbox.commit("chore: tasks");
    assert_eq!(planned(&sandbox).1, ["retry 3"]);
    sandbox.git(["checkout", "-q", "-b", "feature/one"]);
    assert_eq!(planned(&sandbox).1, ["retry 1"]);
}

#[test]
fn what_its_own_next_would_choose_is_named_where_it_differs() {
    // Theirs looks at the priority, and not into the subtasks of a begun task that is pending.
    let mut other = task(2, "pending", &[], &[]);
    other["priority"] = json!("critical");
    let output = checklist::plan(&project(&[task(1, "pending", &[], &[("done", &[]), ("pending", &[])]), other]), LIST);
    let said = checklist::findings(&output);
    assert!(said.contains("next-differs `task-master next` would choose 2; the plan begins with 1.2"), "{said}");
    let mut reviewed = task(2, "review", &[], &[]);
    reviewed["priority"] = json!("critical");
    for same in [
        vec![task(1, "in-progress", &[], &[]), reviewed],
        vec![task(1, "pending", &[], &[]), task(2, "pending", &[], &[])],
        // The plan looks at the review first, and then begins what theirs would choose.
        vec![task(1, "review", &[], &[]), task(2, "pending", &[], &[])],
        vec![task(1, "pending", &[], &[("pending", &[]), ("pending", &[])])],
        vec![task(1, "review", &[], &[])],
    ] {
        let output = checklist::plan(&project(&same), LIST);
        assert!(!checklist::findings(&output).contains("next-differs"), "{output}");
    }
}

#[test]
fn another_storage_is_named() {
    let sandbox = project(&[task(1, "pending", &[], &[])]);
    sandbox.file(".taskmaster/config.json", "{\"storage\": {\"type\": \"api\"}}");
    assert!(checklist::findings(&checklist::plan(&sandbox, LIST)).contains("kept in the storage \"api\""));
    sandbox.file(".taskmaster/config.json", "{\"storage\": {\"type\": \"file\"}}");
    assert!(!checklist::findings(&checklist::plan(&sandbox, LIST)).contains("storage"));
}

#[test]
fn finished_tasks_that_nothing_proves_are_counted_once() {
    let sandbox = project(&[task(1, "done", &[], &[]), task(2, "done", &[], &[]), task(3, "pending", &[], &[])]);
    let output = checklist::plan(&sandbox, LIST);
    assert!(checklist::findings(&output).contains("done-unproved 2 steps done as claimed"), "{output}");
    assert_eq!(output.at("/data/verdict"), "resume");
    sandbox.file("src/a.py", "x");
    sandbox.commit("feat: build it (task 1)");
    assert!(checklist::findings(&checklist::plan(&sandbox, LIST)).contains("done-unproved 1 step done as claimed"));
}

#[test]
fn a_list_that_is_too_large_is_named() {
    let sandbox = project(&[task(1, "done", &[], &[]), task(2, "pending", &[], &[])]);
    sandbox.file(LIST, &format!("{}{}", sandbox.read(LIST), " ".repeat(5 << 20)));
    let output = sandbox.piton(["list"]).run();
    assert!(output.stdout.contains("part-unreadable"), "{output}");
}

#[test]
fn commands_are_those_of_the_project() {
    let pending = || project(&[task(1, "pending", &[], &[])]);
    let native = |sandbox: &Sandbox| checklist::plan(sandbox, LIST).at("/data/native/next").as_str().map(str::to_owned);
    assert_eq!(native(&pending()).as_deref(), Some("task-master set-status --id=1 --status=in-progress"));
    for (file, expected) in [
        (".claude/commands/tm/to-in-progress.md", "/tm:to-in-progress 1"),
        (".claude/commands/tm/set-status/to-in-progress.md", "/tm:set-status:to-in-progress 1"),
    ] {
        let sandbox = pending();
        sandbox.file(file, "x");
        assert_eq!(native(&sandbox).as_deref(), Some(expected));
        assert_eq!(checklist::plan(&sandbox, "taskmaster-master").at("/data/native/next"), expected);
    }
    let sandbox = project(&[task(1, "review", &[], &[])]);
    sandbox.file(".claude/commands/tm/show/show-task.md", "x");
    assert_eq!(native(&sandbox).as_deref(), Some("/tm:show:show-task 1"));
    sandbox.file(LIST, &json!({"master": {"tasks": [task(1, "done", &[], &[])]}}).to_string());
    sandbox.file(".claude/commands/tm/list-tasks.md", "x");
    assert_eq!(native(&sandbox).as_deref(), Some("/tm:list-tasks"));
}

#[test]
fn the_tools_of_the_server_are_named_in_the_brief() {
    let sandbox = project(&[task(1, "pending", &[], &[])]);
    let said = || sandbox.piton(["context", LIST]).run().stdout;
    let server = |name: &str, package: &str| {
        let servers =
            json!({"mcpServers": {"other": {"command": "x"}, name: {"command": "npx", "args": ["-y", package]}}});
        sandbox.file(".mcp.json", &servers.to_string());
    };
    assert!(!said().contains("mcp__"));
    server("task-master-ai", "--package=task-master-ai");
    assert!(
        said().contains("mcp__task-master-ai__get_task shows a task, mcp__task-master-ai__set_task_status sets"),
        "{}",
        said()
    );
    server("chrome", "mcp-chrome-bridge");
    assert!(!said().contains("mcp__"), "{}", said());
    server("a`; rm", "task-master-ai");
    assert!(!said().contains("mcp__"), "{}", said());
}

#[test]
fn commands_name_the_tag_where_there_are_several() {
    let sandbox = Sandbox::with_git();
    let list =
        json!({"one": {"tasks": [task(1, "review", &[], &[])]}, "two": {"tasks": [task(3, "in-progress", &[], &[])]}});
    sandbox.file(LIST, &list.to_string());
    let output = checklist::plan(&sandbox, "taskmaster-one");
    assert_eq!(output.at("/data/native/next"), "task-master show 1 --tag=one");
    assert!(checklist::reason(&output).contains("--id=1 --status=done --tag=one`"), "{output}");
    let output = checklist::plan(&sandbox, "taskmaster-two");
    assert_eq!(output.at("/data/native/next"), "task-master set-status --id=3 --status=in-progress --tag=two");
}

#[test]
fn details_of_megabytes_stay_within_the_budget() {
    let mut large = task(1, "pending", &[], &[]);
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
fn the_note_of_a_finished_task_reaches_the_next_one() {
    let mut done = task(1, "done", &[], &[]);
    done["details"] = json!(
        "Build.\n<info added on 2026-01-02T03:04:05.000Z>\nBuilt with serde. More.\n</info added on 2026-01-02T03:04:05.000Z>"
    );
    let sandbox = project(&[done, task(2, "pending", &[1], &[])]);
    let brief = sandbox.piton(["context", LIST]).run().expect_code(0);
    assert_eq!(brief.at("/data/reports/0/summary"), "Built with serde.", "{brief}");
}
