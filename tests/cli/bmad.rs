//! Sprints of BMAD that are cut off, lack a line, have conflict markers or are too large; the rest is in `tests/cases/bmad`.

use crate::{
    cli::{
        checklist::{findings, next, plan, steps},
        damage,
    },
    support::{Sandbox, takes_all},
};

const STATE: &str = "_bmad-output/implementation-artifacts/sprint-status.yaml";
const DONE_STORY: &str = "_bmad-output/implementation-artifacts/1-1-a.md";
const BEGUN_STORY: &str = "_bmad-output/implementation-artifacts/1-3-c.md";
const DONE: [&str; 2] = ["1-1-a", "1-2-b"];

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    let head = "# generated: 2026-01-01\nproject: shop\nstory_location: _bmad-output/implementation-artifacts\n\ndevelopment_status:\n";
    let lines = "  epic-1: in-progress\n  1-1-a: done\n  1-2-b: done\n  1-3-c: in-progress\n  1-4-d: backlog\n";
    sandbox.file(STATE, &format!("{head}{lines}"));
    for (path, status, second) in [(DONE_STORY, "done", "x"), (BEGUN_STORY, "in-progress", " ")] {
        let tasks = format!("- [x] Task 1: do it\n- [{second}] Task 2: do it\n");
        sandbox.file(path, &format!("# Story\n\nStatus: {status}\n\n## Tasks / Subtasks\n\n{tasks}"));
    }
    sandbox
}

fn check(sandbox: &Sandbox, what: &str) {
    let output = plan(sandbox, STATE);
    assert!([0, 3, 4, 9].contains(&output.code), "{what}: {output}");
    let completed = steps(sandbox, STATE, "completed");
    let wrong: Vec<String> = completed.into_iter().filter(|id| !DONE.contains(&id.as_str())).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:?}");
    assert!(!next(&output).iter().any(|step| DONE.iter().any(|id| *step == format!("run {id}"))), "{what}: {output}");
    assert_ne!(output.at("/data/verdict"), if what.contains("cut") { "none" } else { "complete" }, "{what}");
}

#[test]
fn damaged_files_say_nothing_wrong() {
    for file in [STATE, DONE_STORY, BEGUN_STORY] {
        let sandbox = project();
        damage::each(&sandbox, file, |what| check(&sandbox, what));
    }
}

#[test]
fn stories_and_sprints_that_are_too_large_are_named() {
    let sandbox = project();
    sandbox.file(BEGUN_STORY, &format!("{}{}", sandbox.read(BEGUN_STORY), "x".repeat(5 << 20)));
    let output = plan(&sandbox, STATE);
    assert!(findings(&output).contains("part-unreadable"), "{output}");
    assert_eq!(output.at("/data/verdict"), "confirm");
    sandbox.file(STATE, &format!("{}#{}\n", sandbox.read(STATE), "x".repeat(5 << 20)));
    let output = sandbox.piton(["list"]).run().expect_code(4);
    assert!(output.stdout.contains("folder-closed"), "{output}");
}

#[test]
fn a_sprint_of_more_stories_than_are_read_is_never_complete() {
    let stories: String = (1..=20_001).map(|at| format!("  story-{at}: done\n")).collect();
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &format!("development_status:\n  epic-1: in-progress\n{stories}"));
    let output = plan(&sandbox, "bmad");
    assert_eq!(next(&output), ["verify rest"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
    let said = findings(&output);
    assert!(said.contains("part-unreadable") && !said.contains("all stories of these epics"), "{said}");
    // Twenty thousand stories take their time.
    assert!(!takes_all() || !sandbox.piton(["plan", "bmad", "--patch"]).run().stdout.contains("epic-1: done"));
}
