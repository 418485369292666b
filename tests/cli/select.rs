//! Which run is selected: by number, id, part of an id, path, or because there is only one.

use super::projects;
use super::projects::NINE_STEP;
use super::projects::SESSION;
use super::projects::document;
use super::projects::replace;
use crate::support::Output;
use crate::support::Sandbox;

fn run_of(output: &Output) -> String {
    assert_eq!(output.code, 0, "{output}");
    document(output)["data"]["run"]["id"].as_str().expect("a run has an id").to_owned()
}

#[test]
fn a_run_has_many_names() {
    let sandbox = projects::both();
    let absolute = sandbox.root().join(NINE_STEP).into_string();
    let worktree = sandbox.root().join(".worktree/user-auth").into_string();
    for (name, id) in [
        ("1", "user-auth"),
        ("2", "WFS-user-auth"),
        ("user-auth", "user-auth"),
        ("WFS-user-auth", "WFS-user-auth"),
        ("wfs", "WFS-user-auth"),
        (".worktree/user-auth", "user-auth"),
        ("./.worktree/user-auth/", "user-auth"),
        (NINE_STEP, "user-auth"),
        (absolute.as_str(), "user-auth"),
        (worktree.as_str(), "user-auth"),
        (SESSION, "WFS-user-auth"),
        (".workflow", "WFS-user-auth"),
        (".workflow/active/WFS-user-auth/workflow-session.json", "WFS-user-auth"),
        (".workflow/active/WFS-user-auth/.task/IMPL-002.json", "WFS-user-auth"),
    ] {
        if name == ".workflow" {
            // A bare word names a run; `./` makes it a path.
            sandbox.piton(["plan", name]).run().expect_code(3);
            assert_eq!(run_of(&sandbox.piton(["plan", "./.workflow"]).run()), id);
            continue;
        }
        assert_eq!(run_of(&sandbox.piton(["plan", name]).run()), id, "{name}");
    }
}

#[test]
fn the_run_of_the_current_folder_is_selected() {
    let sandbox = projects::both();
    let inside = sandbox.piton(["plan"]).folder(".worktree/user-auth".into()).run();
    assert_eq!(run_of(&inside), "user-auth");
    let inside = sandbox.piton(["plan"]).folder(SESSION.into()).run();
    assert_eq!(run_of(&inside), "WFS-user-auth");
}

#[test]
fn several_runs_are_listed_with_the_commands_that_choose() {
    let sandbox = projects::both();
    for words in [&["plan"][..], &["begin", "3"], &["resume"], &["status"], &["history"], &["archive", "--yes"]] {
        let before = sandbox.tree();
        let error = document(&sandbox.piton(words.iter().copied()).run().expect_code(8));
        let hints: Vec<&str> =
            error["error"]["hints"].as_array().unwrap().iter().map(|hint| hint.as_str().unwrap()).collect();
        assert_eq!(hints.len(), 2, "{error}");
        for hint in hints {
            let command = hint.split('#').next().unwrap().trim().replace("$ROOT", sandbox.root().as_str());
            let chosen: Vec<&str> = command.split(' ').skip(1).collect();
            sandbox.piton(chosen).run().expect_code(0);
        }
        assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0], "{words:?}");
    }
    sandbox.piton(["plan", "auth"]).run().expect_code(8);
}

#[test]
fn numbers_and_paths_with_blanks_and_quotes_are_quoted() {
    let sandbox = Sandbox::new();
    for name in ["one", "two"] {
        let state = format!(".worktree/it's {name}/.workflow-state.json");
        sandbox.file(&state, &projects::nine_step().read(NINE_STEP));
    }
    let output = sandbox.piton(["plan"]).run().expect_code(8);
    let hint = output.at("/error/hints/0").as_str().unwrap().to_owned();
    assert!(hint.starts_with(r"piton plan '$ROOT/.worktree/it'\''s one/.workflow-state.json'"), "{hint}");
    let command = hint.replace("$ROOT", sandbox.root().as_str()).replacen("piton", env!("CARGO_BIN_EXE_piton"), 1);
    sandbox.tool("/bin/sh", ["-c", &command]).env("PITON_NOW", crate::support::NOW).run().expect_code(9);
    sandbox.piton(["plan", ".worktree/it's two"]).run().expect_code(9);
    let output = sandbox.piton(["--project", ".worktree/it's two", "plan"]).run().expect_code(9);
    assert_eq!(output.at("/data/run/worktree"), ".worktree/it's two");
}

#[test]
fn another_project_is_one_flag_away() {
    let sandbox = projects::ccw();
    let elsewhere = Sandbox::new();
    let root = sandbox.root().into_string();
    let output = elsewhere.piton(["--project", &root, "plan"]).run();
    assert_eq!(run_of(&output), "WFS-user-auth");
    assert_eq!(run_of(&elsewhere.piton(["plan", &root]).run()), "WFS-user-auth");
    let output = elsewhere.piton(["plan", "--project", "no/such/place"]).run().expect_code(4);
    assert!(output.at("/error/message").as_str().unwrap().starts_with("no/such/place"), "{output}");
}

#[test]
fn a_nested_repository_is_a_project_of_its_own() {
    let sandbox = projects::ccw();
    sandbox.git_init();
    sandbox.file("vendored/x", "").git_in("vendored", ["init", "--quiet", "--initial-branch=main"]);
    let inner = projects::nine_step().read(NINE_STEP);
    sandbox.file(&format!("vendored/{NINE_STEP}"), &inner);
    assert_eq!(run_of(&sandbox.piton(["plan"]).run()), "WFS-user-auth");
    let output = sandbox.piton(["plan"]).folder("vendored".into()).run();
    assert_eq!(output.at("/data/run/id"), "user-auth");
}

#[test]
fn of_several_runs_the_only_open_one_is_meant() {
    let sandbox = projects::both();
    sandbox.piton(["abort", "./.worktree/user-auth"]).run().expect_code(0);
    assert_eq!(run_of(&sandbox.piton(["plan"]).run()), "WFS-user-auth");
    replace(&sandbox, &format!("{SESSION}/.task/IMPL-002.json"), "in_progress", "completed");
    assert_eq!(sandbox.piton(["plan", "user-auth"]).run().at("/data/run/id"), "user-auth");
}
