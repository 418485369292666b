//! What files and commits say about boxes, and the patches that follow.

use super::findings;
use super::next;
use super::plan;
use super::steps;
use crate::support::Sandbox;

const TASKS: &str = "specs/001-login/tasks.md";
const RUN: &str = "speckit-001-login";

fn list(ticked: usize) -> String {
    let line = |at: usize| {
        format!("- [{}] T00{at} Add part {at} in src/part{at}.rs\r\n", if at <= ticked { "x" } else { " " })
    };
    format!(
        "# Tasks\r\n\r\n## Phase 1: Setup\r\n\r\n{}\r\n## Phase 2: Core\r\n\r\n{}",
        (1..=2).map(line).collect::<String>(),
        (3..=6).map(line).collect::<String>()
    )
}

/// A feature whose list is committed before the files.
fn feature(ticked: usize, built: &[usize]) -> Sandbox {
    let sandbox = Sandbox::with_git();
    sandbox.file("src/old.rs", "old").file(TASKS, &list(0));
    sandbox.commit("plan");
    for at in built {
        sandbox.file(&format!("src/part{at}.rs"), "x");
    }
    sandbox.file(TASKS, &list(ticked)).file("README.md", "x");
    sandbox.commit("build");
    sandbox
}

#[test]
fn a_list_of_which_no_box_is_ticked_is_compared_with_its_new_files() {
    let sandbox = feature(0, &[1, 2, 3, 4, 5]);
    let before = sandbox.everything();
    let output = plan(&sandbox, RUN).expect_code(9);
    assert_eq!(next(&output), ["verify T001", "verify T002", "verify T003", "verify T004", "verify T005"]);
    assert!(findings(&output).contains("no box is ticked, but 5 of 6 new files"), "{}", findings(&output));
    assert!(steps(&sandbox, RUN, "completed").is_empty());
    assert!(sandbox.piton(["list"]).run().stdout.contains(RUN));
    let patch = sandbox.piton(["plan", RUN, "--patch", "--format", "json"]).run().expect_code(0);
    assert_eq!(before.changes(&sandbox.everything()), [""; 0]);
    let diff = patch.at("/data/patch/diff").as_str().unwrap().to_owned();
    sandbox.file("ticks.diff", &diff);
    sandbox.git(["apply", "ticks.diff"]);
    assert_eq!(sandbox.read(TASKS), list(5));
    let output = plan(&sandbox, RUN).expect_code(0);
    assert_eq!(next(&output), ["run T006"]);
}

#[test]
fn one_task_that_was_built_and_not_ticked_is_looked_at_and_nothing_else_stops() {
    let sandbox = feature(3, &[1, 2, 3, 4]);
    let output = plan(&sandbox, RUN).expect_code(9);
    assert_eq!(next(&output)[0], "verify T004");
    assert!(!next(&output).iter().any(|step| step.ends_with("T004") && !step.starts_with("verify")));
}

#[test]
fn files_that_existed_before_prove_nothing() {
    let sandbox = Sandbox::with_git();
    for at in 1..=6 {
        sandbox.file(&format!("src/part{at}.rs"), "x");
    }
    sandbox.commit("old");
    sandbox.file(TASKS, &list(0));
    sandbox.commit("plan");
    let output = plan(&sandbox, RUN).expect_code(0);
    assert_eq!(next(&output), ["run T001"]);
    assert!(super::reason(&output).contains("src/part1.rs exists"), "{}", super::reason(&output));
}

#[test]
fn a_commit_that_names_an_open_task_is_a_reason_to_look() {
    for (subject, looked_at) in
        [("feat: add part 3 (T003)", true), ("feat: add part 3 (T0031)", false), ("docs: T003 is next", true)]
    {
        let sandbox = feature(2, &[1, 2]);
        sandbox.file("src/elsewhere.rs", subject);
        sandbox.commit(subject);
        let expected = if looked_at { "verify T003" } else { "run T003" };
        assert_eq!(next(&plan(&sandbox, RUN))[0], expected, "{subject}");
    }
    // A commit of the list alone repeats the claim.
    let sandbox = feature(2, &[1, 2]);
    sandbox.file(TASKS, &format!("{}\r\n", list(2)));
    sandbox.commit("docs: T003 is planned");
    assert_eq!(next(&plan(&sandbox, RUN))[0], "run T003");
}

#[test]
fn without_git_the_files_are_a_weaker_witness() {
    let sandbox = Sandbox::new();
    sandbox.file(TASKS, &list(0));
    for at in 1..=5 {
        sandbox.file(&format!("src/part{at}.rs"), "x");
    }
    let output = plan(&sandbox, RUN).expect_code(9);
    assert!(
        findings(&output).contains("without commits nothing shows which of them existed before"),
        "{}",
        findings(&output)
    );
    assert!(next(&output).iter().all(|step| step.starts_with("verify")));
}

#[test]
fn done_tasks_are_not_opened_again_because_their_files_moved() {
    let sandbox = feature(3, &[1, 3]);
    let output = plan(&sandbox, RUN).expect_code(0);
    assert_eq!(steps(&sandbox, RUN, "completed"), ["T001", "T002", "T003"]);
    assert_eq!(next(&output), ["run T004"]);
}

#[test]
fn tasks_about_another_repository_cannot_be_seen_from_here() {
    let sandbox = Sandbox::with_git();
    let path = "docs/superpowers/plans/2026-01-02-cache.md";
    let task = |number: usize, file: &str| {
        format!("### Task {number}: a\n\n**Files:**\n- Modify: `{file}:12-40`\n\n- [ ] **Step 1: b**\n\n")
    };
    let text = format!("# P\n\n{}{}{}", task(1, "src/a.rs"), task(2, "evals/b.rs"), task(3, "src/c.rs"));
    sandbox.file(".gitignore", "evals/\n").file("src/a.rs", "1").file("src/c.rs", "1").file(path, &text);
    sandbox.commit("plan");
    sandbox.file("src/a.rs", "2");
    sandbox.commit("feat: change a");
    let output = plan(&sandbox, path).expect_code(9);
    assert_eq!(next(&output)[..2], ["verify task-1", "verify task-2"]);
    assert!(output.stdout.contains("cannot be seen from here"), "{output}");
    assert!(!next(&output).contains(&"run task-1".to_owned()));
}
