//! Sprints and stories that are cut off, lack a line or have conflict markers.

use super::{FOLDER, STATE, sprint, story};
use crate::{
    cli::{
        checklist::{next, plan, steps},
        damage,
    },
    support::Sandbox,
};

const DONE: [&str; 2] = ["1-1-a", "1-2-b"];

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sprint(&sandbox, "  epic-1: in-progress\n  1-1-a: done\n  1-2-b: done\n  1-3-c: in-progress\n  1-4-d: backlog\n");
    story(&sandbox, "1-1-a", "done", "xx");
    story(&sandbox, "1-3-c", "in-progress", "x ");
    sandbox
}

fn check(sandbox: &Sandbox, what: &str) {
    let output = plan(sandbox, STATE);
    assert!([0, 3, 4, 9].contains(&output.code), "{what}: {output}");
    let wrong: Vec<String> =
        steps(sandbox, STATE, "completed").into_iter().filter(|id| !DONE.contains(&id.as_str())).collect();
    assert!(wrong.is_empty(), "{what}: {wrong:?}");
    assert!(!next(&output).iter().any(|step| DONE.iter().any(|id| *step == format!("run {id}"))), "{what}: {output}");
    assert_ne!(output.at("/data/verdict"), if what.contains("cut") { "none" } else { "complete" }, "{what}");
}

#[test]
fn damaged_files_say_nothing_wrong() {
    for file in [STATE.to_owned(), format!("{FOLDER}/1-1-a.md"), format!("{FOLDER}/1-3-c.md")] {
        let sandbox = project();
        damage::each(&sandbox, &file, |what| check(&sandbox, what));
    }
}

#[test]
fn stories_and_sprints_that_are_too_large_are_named() {
    let sandbox = project();
    let path = format!("{FOLDER}/1-3-c.md");
    sandbox.file(&path, &format!("{}{}", sandbox.read(&path), "x".repeat(5 << 20)));
    let output = plan(&sandbox, STATE);
    assert!(crate::cli::checklist::findings(&output).contains("part-unreadable"), "{output}");
    assert_eq!(output.at("/data/verdict"), "confirm");
    sandbox.file(STATE, &format!("{}#{}\n", sandbox.read(STATE), "x".repeat(5 << 20)));
    let output = sandbox.piton(["list"]).run();
    assert!(output.stdout.contains("part-unreadable"), "{output}");
}

#[test]
fn resume_names_the_story() {
    let sandbox = project();
    let output = sandbox.piton(["resume", "bmad"]).run();
    assert_eq!(output.at("/data/commands/resume"), "/bmad-bmm-dev-story 1-3-c", "{output}");
}
