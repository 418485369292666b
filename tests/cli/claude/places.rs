//! Which sessions belong to a project.

use serde_json::json;

use super::trace::{RUN, SESSION, Trace, client, put, slug};
use crate::support::{Output, Sandbox};

fn list(sandbox: &Sandbox) -> Output {
    sandbox.piton(["--format", "json", "list"]).run()
}

fn ids(output: &Output) -> Vec<String> {
    let runs = output.at("/data/runs");
    runs.as_array().into_iter().flatten().map(|run| run["id"].as_str().expect("a text").to_owned()).collect()
}

/// Writes a transcript in the folder of this slug.
fn in_folder(sandbox: &Sandbox, folder: &str, trace: &Trace) {
    put(sandbox, &format!("projects/{folder}/{SESSION}.jsonl"), &trace.text());
}

#[test]
fn a_session_of_the_root_or_below_it_is_listed_and_one_of_elsewhere_is_not() {
    let root = |sandbox: &Sandbox| sandbox.root().into_string();
    for (below, is_ours) in [("", true), ("/sub/dir", true), ("-b", false)] {
        let sandbox = Sandbox::with_git();
        let cwd = format!("{}{below}", root(&sandbox));
        in_folder(&sandbox, &slug(&cwd), &Trace::new(&sandbox).cwd(&cwd).prompt("x"));
        let list = list(&sandbox);
        assert_eq!(ids(&list).len(), usize::from(is_ours), "{below}\n{list}");
    }
    let sandbox = Sandbox::with_git();
    let parent = sandbox.top().as_str().to_owned();
    in_folder(&sandbox, &slug(&parent), &Trace::new(&sandbox).cwd(&parent).prompt("x"));
    list(&sandbox).expect_code(3);
}

#[test]
fn two_projects_with_the_same_folder_name_are_told_apart_by_the_records() {
    let sandbox = Sandbox::with_git();
    // `a/b` and `a-b` share a folder.
    let other = format!("{}/project", sandbox.top()).replace("/project", "-project");
    in_folder(&sandbox, &slug(sandbox.root().as_str()), &Trace::new(&sandbox).cwd(&other).prompt("x"));
    list(&sandbox).expect_code(3);
    sandbox.piton(["plan", RUN]).run().expect_code(3);
    sandbox.piton(["plan", SESSION]).run().expect_code(3);
}

#[test]
fn the_first_folder_counts_too_and_a_session_without_one_is_not_listed() {
    let sandbox = Sandbox::with_git();
    let root = sandbox.root().into_string();
    let trace = Trace::new(&sandbox).prompt("x").cwd("/elsewhere").prompt("y");
    in_folder(&sandbox, &slug(&root), &trace);
    assert_eq!(ids(&list(&sandbox)), [RUN]);
    let line = json!({"type": "user", "message": {"content": "x"}, "timestamp": "2026-01-31T11:00:00Z", "uuid": "1"});
    in_folder(&sandbox, &slug(&root), &Trace::new(&sandbox).line(line));
    list(&sandbox).expect_code(3);
}

#[test]
fn a_linked_worktree_belongs_to_the_project_and_is_where_its_files_are_looked_for() {
    let sandbox = Sandbox::with_git();
    sandbox.worktree("../tree", "topic");
    let tree = sandbox.top().join("tree").into_string();
    std::fs::write(format!("{tree}/made.txt"), "x").unwrap();
    let trace =
        Trace::new(&sandbox).cwd(&tree).prompt("x").creates_task("1", "One").sets_task("1", "pending", "in_progress");
    let trace = trace.writes("w", "made.txt").sets_task("1", "in_progress", "completed").prompt("y");
    in_folder(&sandbox, &slug(&tree), &trace);
    let plan = sandbox.piton(["--format", "json", "plan", RUN, "--native"]).run();
    assert_eq!(plan.at("/data/native/steps/0/files"), json!(["made.txt"]), "{plan}");
    assert_eq!(plan.at("/data/native/steps/0/standing"), "done", "{plan}");
}

#[test]
fn the_clients_folder_may_be_a_link_or_elsewhere_and_below_it_no_link_is_followed() {
    let sandbox = Sandbox::with_git();
    Trace::new(&sandbox).prompt("x").write(&sandbox);
    let (folder, real) = (client(&sandbox), sandbox.home().join("dotfiles"));
    std::fs::rename(&folder, &real).unwrap();
    list(&sandbox).expect_code(3);
    let elsewhere = sandbox.piton(["--format", "json", "list"]).env("CLAUDE_CONFIG_DIR", real.as_str()).run();
    assert_eq!(ids(&elsewhere), [RUN]);
    std::os::unix::fs::symlink(&real, &folder).unwrap();
    assert_eq!(ids(&list(&sandbox)), [RUN]);
    let transcript = real.join(Trace::new(&sandbox).path(&sandbox));
    let moved = sandbox.home().join("moved.jsonl");
    std::fs::rename(&transcript, &moved).unwrap();
    std::os::unix::fs::symlink(&moved, &transcript).unwrap();
    list(&sandbox).expect_code(3);
}

#[test]
fn runs_are_named_by_run_session_and_transcript() {
    let sandbox = Sandbox::with_git();
    let trace = Trace::new(&sandbox).prompt("x");
    trace.write(&sandbox);
    let path = client(&sandbox).join(trace.path(&sandbox));
    for name in [RUN, SESSION, path.as_str(), "1"] {
        let plan = sandbox.piton(["--format", "json", "plan", name]).run().expect_code(0);
        assert_eq!(plan.at("/data/run/id"), RUN, "{name}");
    }
    let near = SESSION.replace("0123456789ab", "fedcba987654");
    Trace::of(&sandbox, &near).prompt("y").write(&sandbox);
    let list = list(&sandbox);
    let found = ids(&list);
    assert_eq!(found.len(), 2);
    assert!(found.iter().all(|id| id.len() > RUN.len()), "{found:?}");
}

#[test]
fn titles_are_of_a_person_then_of_the_client_then_the_first_words() {
    let sandbox = Sandbox::with_git();
    let title = |trace: &Trace| {
        trace.write(&sandbox);
        sandbox.piton(["--format", "json", "plan", RUN]).run().at("/data/run/title")
    };
    let first = Trace::new(&sandbox).prompt("Build the parser\nand more");
    assert_eq!(title(&first), "Build the parser and more");
    let made = first.line(json!({"type": "ai-title", "aiTitle": "A made title"}));
    assert_eq!(title(&made), "A made title");
    let named = made.line(json!({"type": "custom-title", "customTitle": "\u{1b}[31mMine \u{202e}"}));
    assert_eq!(title(&named), "[31mMine");
}

#[test]
fn another_run_of_the_project_is_chosen_before_a_session() {
    let sandbox = Sandbox::with_git();
    let example = crate::support::repository().join("examples/ccw");
    crate::support::Tree::of(&example).write_to(&sandbox.root());
    let alone = sandbox.piton(["--format", "json", "plan"]).run();
    Trace::new(&sandbox).prompt("x").write(&sandbox);
    let beside = sandbox.piton(["--format", "json", "plan"]).run();
    assert_eq!(beside.at("/data/run/id"), alone.at("/data/run/id"), "{beside}");
}

#[test]
fn copies_of_a_conversation_are_one_run() {
    let sandbox = Sandbox::with_git();
    let trace = Trace::new(&sandbox).prompt("x");
    trace.write(&sandbox);
    let copy = "99999999-aaaa-4bbb-8ccc-0123456789ab";
    let folder = format!("projects/{}", slug(sandbox.root().as_str()));
    put(&sandbox, &format!("{folder}/{copy}.jsonl"), &trace.prompt("y").text());
    assert_eq!(ids(&list(&sandbox)), ["claude-99999999"]);
}
