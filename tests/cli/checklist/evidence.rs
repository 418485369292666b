//! What files and commits say about boxes, and the patches that follow.

use super::{findings, next, plan, steps};
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
    for (subject, file, expected) in [
        ("feat: add part 3 (T003)", "src/part3.rs", "verify T003"),
        // Ids repeat in other lists: the file tells which task is meant.
        ("feat: add part 3 (T003)", "src/elsewhere.rs", "run T003"),
        ("feat: add part 3 (T0031)", "src/elsewhere.rs", "run T003"),
    ] {
        let sandbox = feature(2, &[1, 2]);
        sandbox.file(file, subject);
        sandbox.commit(subject);
        assert_eq!(next(&plan(&sandbox, RUN))[0], expected, "{subject}");
    }
    // A task that names no file.
    let sandbox = Sandbox::with_git();
    sandbox.file(TASKS, "# Tasks\n- [x] T001 a\n- [ ] T002 Decide\n");
    sandbox.commit("plan");
    sandbox.file("src/elsewhere.rs", "x");
    sandbox.commit("feat: decide (T002)");
    assert_eq!(next(&plan(&sandbox, RUN)), ["verify T002"]);
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

#[test]
fn a_commit_of_another_feature_or_one_that_was_taken_back_ticks_nothing() {
    let diff = |sandbox: &Sandbox| {
        let patch = sandbox.piton(["plan", "speckit-002-b", "--patch", "--format", "json"]).run();
        patch.at("/data/patch/diff").as_str().unwrap_or_default().to_owned()
    };
    let sandbox = Sandbox::with_git();
    sandbox.file("specs/001-a/tasks.md", "# Tasks\n- [x] T001 a\n- [x] T002 build k in src/k1.rs\n");
    sandbox.file("specs/002-b/tasks.md", "# Tasks\n- [x] T001 a\n- [ ] T002 build k in src/k2.rs\n- [ ] T003 c\n");
    sandbox.commit("plan");
    sandbox.file("src/k1.rs", "x");
    sandbox.commit("feat: T002 build k");
    assert_eq!(next(&plan(&sandbox, "speckit-002-b")), ["run T002"]);
    assert_eq!(diff(&sandbox), "");
    sandbox.file("src/k2.rs", "x");
    sandbox.commit("feat: T002 build the other k");
    assert_eq!(next(&plan(&sandbox, "speckit-002-b"))[0], "verify T002");
    assert!(diff(&sandbox).contains("+- [x] T002"));
    sandbox.remove("src/k2.rs");
    sandbox.commit("no k");
    assert_eq!(next(&plan(&sandbox, "speckit-002-b")), ["retry T002"]);
    assert_eq!(diff(&sandbox), "");
}

const PLAN: &str = "docs/superpowers/plans/2026-01-02-cache.md";

/// A plan with a task for each list of files.
fn plan_of(tasks: &[&str]) -> String {
    let files = |files: &str| files.split(", ").map(|file| format!("- {file}\n")).collect::<String>();
    let tasks = tasks
        .iter()
        .enumerate()
        .map(|(at, task)| format!("### Task {}: a\n\n**Files:**\n{}\n- [ ] **Step 1: b**\n\n", at + 1, files(task)));
    format!("# P\n\n{}", tasks.collect::<String>())
}

#[test]
fn files_that_a_plan_only_changes_prove_nothing_by_existing() {
    let text = plan_of(&["Modify: `src/m.js`", "Modify: `src/n.js`, Modify: `src/o.js`", "Modify: `src/p.js`"]);
    let files = |sandbox: &Sandbox| {
        for name in ["m", "n", "o", "p"] {
            sandbox.file(&format!("src/{name}.js"), "x");
        }
    };
    let together = Sandbox::with_git();
    files(&together);
    together.file(PLAN, &text);
    together.commit("all");
    let behind = Sandbox::with_git();
    files(&behind);
    behind.commit("code");
    behind.file(PLAN, &text);
    behind.commit("plan");
    let without_git = Sandbox::new();
    files(&without_git);
    without_git.file(PLAN, &text);
    for (what, sandbox) in [("together", together), ("behind", behind), ("without git", without_git)] {
        let output = plan(&sandbox, PLAN);
        assert_eq!(next(&output), ["run task-1"], "{what}: {output}");
        let patch = sandbox.piton(["plan", PLAN, "--patch", "--format", "json"]).run();
        assert_eq!(patch.at("/data/patch/diff").as_str().unwrap_or_default(), "", "{what}");
        assert!(findings(&sandbox.piton(["list"]).run()).contains("1 plan of superpowers not begun"), "{what}");
    }
}

#[test]
fn a_task_with_new_files_and_old_ones_is_done_when_all_were_touched() {
    for (touched, expected) in [
        (&["src/new.js"][..], "retry task-1"),
        (&["src/m.js"], "retry task-1"),
        (&["src/new.js", "src/m.js"], "verify task-1"),
    ] {
        let sandbox = Sandbox::with_git();
        sandbox
            .file("src/m.js", "1")
            .file(PLAN, &plan_of(&["Create: `src/new.js`, Modify: `src/m.js`", "Create: `z.js`"]));
        sandbox.commit("plan");
        for file in touched {
            sandbox.file(file, "2");
        }
        sandbox.commit("work");
        let output = plan(&sandbox, PLAN);
        assert_eq!(next(&output)[0], expected, "{touched:?}: {output}");
        let patch = sandbox.piton(["plan", PLAN, "--patch", "--format", "json"]).run();
        let is_ticked = patch.at("/data/patch/diff").as_str().is_some_and(|diff| diff.contains("+- [x]"));
        assert_eq!(is_ticked, expected.starts_with("verify"), "{touched:?}: {patch}");
    }
}

#[test]
fn a_task_whose_files_are_all_outside_of_the_project_cannot_be_seen_from_here() {
    for file in ["../evals/z.js", "/opt/x.js", "~/x"] {
        let sandbox = Sandbox::with_git();
        sandbox.file(PLAN, &plan_of(&[&format!("Create: `{file}`"), "Create: `src/a.js`", "Delete: `/opt/y.js`"]));
        sandbox.commit("plan");
        let output = plan(&sandbox, PLAN).expect_code(9);
        assert_eq!(next(&output)[0], "verify task-1", "{file}: {output}");
        assert!(output.stdout.contains("cannot be seen from here"), "{file}: {output}");
    }
}

#[test]
fn what_only_commits_of_a_finished_task_changed_is_no_trace_of_another() {
    let text = plan_of(&["Create: `src/a.js`", "Modify: `src/a.js`", "Create: `src/c.js`"]);
    let ledger = |from: &str, to: &str| {
        format!(
            "# SDD ledger - plan: {PLAN}\n\nTask 1: complete (commits {}..{}, review clean)\n",
            &from[..7],
            &to[..7]
        )
    };
    for (behind, expected) in [(false, "run task-2"), (true, "verify task-2")] {
        let sandbox = Sandbox::with_git();
        sandbox.file(PLAN, &text);
        let base = sandbox.commit("plan");
        sandbox.file("src/a.js", "1");
        sandbox.commit("add a");
        sandbox.file("src/a.js", "2");
        let last = sandbox.commit("correct a");
        if behind {
            sandbox.file("src/a.js", "3");
            sandbox.commit("change a");
        }
        sandbox.file(".superpowers/sdd/2026-01-02-cache/progress.md", &ledger(&base, &last));
        let output = plan(&sandbox, PLAN);
        assert_eq!(next(&output)[0], expected, "{output}");
        // A commit of the record alone is no work.
        sandbox.commit("docs: task 2 is next");
        assert_eq!(next(&plan(&sandbox, PLAN))[0], expected);
    }
}

#[test]
fn a_file_that_the_commits_of_a_ledger_made_shows_nothing_about_the_task_that_is_to_make_it() {
    let sandbox = Sandbox::with_git();
    sandbox.file(PLAN, &plan_of(&["Create: `src/a.js`", "Create: `src/b.js`"]));
    sandbox.commit("plan");
    sandbox.file("src/a.js", "1").file("src/b.js", "1");
    let sha = sandbox.commit("a, and some of b");
    let ledger = format!("# SDD ledger - plan: {PLAN}\n\nTask 1: complete (commit {})\n", &sha[..7]);
    sandbox.file(".superpowers/sdd/2026-01-02-cache/progress.md", &ledger);
    let output = plan(&sandbox, PLAN);
    assert_eq!(next(&output), ["run task-2"], "{output}");
    assert!(super::reason(&output).contains("src/b.js is there already"), "{output}");
    let patch = sandbox.piton(["plan", PLAN, "--patch"]).run().at("/data/patch/diff").to_string();
    assert_eq!(patch.matches("+- [x]").count(), 1, "{patch}");
    sandbox.file("src/b.js", "2");
    sandbox.commit("the rest of b");
    assert_eq!(next(&plan(&sandbox, PLAN)), ["verify task-2"]);
}

#[test]
fn a_file_that_a_finished_task_makes_too_shows_nothing_about_another() {
    let text = plan_of(&["Create: `src/a.js`, Create: `src/i.js`", "Create: `src/i.js`", "Modify: `src/a.js`"]);
    let ticked = text.replacen("- [ ]", "- [x]", 1);
    for (text, more, expected) in [
        (&ticked, None, &["run task-2"][..]),
        (&ticked, Some("more of it"), &["verify task-2", "verify task-3"]),
        (&ticked, Some("task 2: i"), &["verify task-2"]),
        // The commit names the first task: nothing says that the second one was done with it.
        (&text, None, &["verify task-1"]),
    ] {
        let sandbox = Sandbox::with_git();
        sandbox.file(PLAN, text);
        sandbox.commit("plan");
        sandbox.file("src/a.js", "1").file("src/i.js", "1");
        sandbox.commit(if *text == ticked { "add a" } else { "task 1: a" });
        if let Some(subject) = more {
            sandbox.file("src/a.js", "2").file("src/i.js", "2");
            sandbox.commit(subject);
        }
        let output = plan(&sandbox, PLAN);
        assert_eq!(next(&output), expected, "{more:?}: {output}");
    }
}

#[test]
fn a_list_that_was_moved_is_as_old_as_before() {
    let sandbox = feature(0, &[1, 2, 3, 4, 5]);
    sandbox.file("specs/002-other/tasks.md", "# Tasks\n- [ ] T001 a\n");
    sandbox.commit("docs: another one, not T006");
    sandbox.git(["mv", "specs/001-login", "specs/003-login"]);
    sandbox.git(["mv", "specs/002-other", "specs/004-other"]);
    sandbox.commit("move the lists");
    let output = plan(&sandbox, "speckit-003-login").expect_code(9);
    assert_eq!(next(&output), ["verify T001", "verify T002", "verify T003", "verify T004", "verify T005"]);
    assert!(findings(&output).contains("5 of 6 new files"), "{}", findings(&output));
    // A new list at the place of a former one is new.
    sandbox.remove("specs/003-login/tasks.md");
    sandbox.commit("drop it");
    sandbox.file("specs/005-new/tasks.md", &list(0));
    sandbox.commit("plan again");
    assert_eq!(next(&plan(&sandbox, "speckit-005-new")), ["run T001"]);
}
