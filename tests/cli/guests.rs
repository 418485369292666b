//! What holds for the plans of all other systems: where they are listed, and where they are only planned by their path.

use crate::support::{Sandbox, Tree, repository};

/// The example of each system, with its state.
const EXAMPLES: [(&str, &str); 4] = [
    ("gsd", ".planning"),
    ("taskmaster", ".taskmaster/tasks/tasks.json"),
    ("checklist", "specs/001-order-export/tasks.md"),
    ("bmad", "_bmad-output/implementation-artifacts/sprint-status.yaml"),
];

/// Returns a project with an example in a folder.
fn below(folder: &str, example: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    Tree::of(&repository().join("examples").join(example)).write_to(&sandbox.root().join(folder));
    sandbox.git_init();
    sandbox
}

fn listed(sandbox: &Sandbox) -> Vec<String> {
    let output = sandbox.piton(["list"]).run();
    let runs = output.at("/data/runs");
    let states = runs.as_array().into_iter().flatten().filter_map(|run| run["state"].as_str());
    states.map(str::to_owned).collect()
}

#[test]
fn a_plan_is_listed_in_a_package_and_only_planned_by_its_path_in_a_folder_of_copies() {
    for (example, state) in EXAMPLES {
        for folder in ["apps/web", "a/b/c", "contests/1"] {
            assert_eq!(listed(&below(folder, example)), [format!("{folder}/{state}")], "{folder} {example}");
        }
        for folder in ["examples/a", "Templates", "fixtures", "test-data", "packages/backup-1", "archived/b"] {
            let sandbox = below(folder, example);
            assert_eq!(listed(&sandbox), [""; 0], "{folder} {example}");
            let output = sandbox.piton(["plan", &format!("{folder}/{state}")]).run();
            assert_eq!(output.at("/data/run/dialect"), example, "{folder}: {output}");
            assert!(output.at("/data/next/0/step").is_string(), "{folder}: {output}");
        }
    }
}

#[test]
fn a_plan_that_is_too_deep_for_a_package_is_not_listed() {
    for (example, _) in &EXAMPLES[..3] {
        assert_eq!(listed(&below("a/b/c/d", example)), [""; 0], "{example}");
    }
}

#[test]
fn files_of_a_plan_in_a_package_are_looked_for_in_the_package_and_then_in_the_project() {
    let gsd = |file: &str| {
        format!("---\nmust_haves:\n  artifacts:\n    - path: {file}\n---\n\n<objective>\nMake it.\n</objective>\n")
    };
    let task = |file: &str| {
        format!(
            "{{\"tasks\": [{{\"id\": 1, \"title\": \"A\", \"status\": \"pending\", \"relevantFiles\": [{{\"path\": \"{file}\", \"action\": \"create\"}}]}}]}}"
        )
    };
    let list = |file: &str| format!("# Tasks\n- [x] T001 a\n- [ ] T002 b in {file}\n- [ ] T003 c in src/none.js\n");
    let plan = |file: &str| {
        format!(
            "# P\n\n### Task 1: a\n\n**Files:**\n- Create: `{file}`\n\n- [ ] **Step 1: b**\n\n### Task 2: b\n\n- [ ] **Step 1: b**\n"
        )
    };
    type Text<'a> = &'a dyn Fn(&str) -> String;
    let states: [(&str, &str, Text<'_>); 4] = [
        (".planning/phases/01-a/01-01-PLAN.md", "01-01", &gsd),
        (".taskmaster/tasks/tasks.json", "1", &task),
        ("specs/001-a/tasks.md", "T002", &list),
        ("docs/superpowers/plans/a.md", "task-1", &plan),
    ];
    for (state, step, text) in states {
        for (declared, made, expected) in [
            ("src/a.js", "packages/x/src/a.js", "verify"),
            ("src/a.js", "src/a.js", "verify"),
            ("packages/x/src/a.js", "packages/x/src/a.js", "verify"),
            ("src/a.js", "packages/y/src/a.js", "run"),
            ("packages/y/a.js", "packages/y/a.js", "verify"),
        ] {
            let sandbox = Sandbox::with_git();
            let path = format!("packages/x/{state}");
            sandbox.file(&path, &text(declared)).commit("plan");
            sandbox.file(made, "x").commit("build");
            let folder = path.split("/phases/").next().unwrap_or_default();
            let output = sandbox.piton(["plan", folder]).run();
            let next = super::checklist::next(&output);
            assert_eq!(next.first(), Some(&format!("{expected} {step}")), "{path} {declared} {made}: {output}");
            let brief = sandbox.piton(["context", folder, "--step", step]).run().at("/data/files_to_touch").to_string();
            assert!(expected == "run" || brief == "null" || brief.contains(made), "{path} {declared} {made}: {brief}");
        }
    }
}

#[test]
fn a_finished_step_of_a_package_stays_done_when_its_files_were_removed_in_the_project() {
    let plan = "---\nfiles_modified: [shared/a.js]\n---\n\n<objective>\nMake it.\n</objective>\n";
    let sandbox = Sandbox::with_git();
    let folder = "packages/x/.planning/phases/01-a";
    sandbox.file(&format!("{folder}/01-01-PLAN.md"), plan).file(&format!("{folder}/01-02-PLAN.md"), "x").commit("plan");
    sandbox.file("shared/a.js", "x").file("shared/b.js", "x");
    sandbox.file(&format!("{folder}/01-01-SUMMARY.md"), "# S\n\nDone.\n").commit("build");
    sandbox.remove("shared/a.js").commit("no a");
    let output = sandbox.piton(["plan", "packages/x/.planning"]).run().expect_code(0);
    assert_eq!(super::checklist::next(&output), ["run 01-02"], "{output}");
}

#[test]
fn list_and_plan_show_the_same_age() {
    for (state, text) in [
        ("openspec/changes/a/tasks.md", "## 1. A\n- [x] 1.1 a\n- [ ] 1.2 b\n"),
        ("specs/001-a/tasks.md", "# Tasks\n- [x] T001 a\n- [ ] T002 b\n"),
        (
            ".taskmaster/tasks/tasks.json",
            "{\"tasks\": [{\"id\": 1, \"status\": \"done\"}, {\"id\": 2, \"status\": \"pending\"}]}",
        ),
        ("plans/a.md", "# A\n\n- [x] one\n- [ ] two\n"),
    ] {
        let sandbox = Sandbox::with_git();
        sandbox.file(".claude/settings.json", "{\"plansDirectory\": \"plans\"}").file(state, text).commit("plan");
        let listed = sandbox.piton(["list"]).run().at("/data/runs/0/age_seconds");
        let planned = sandbox.piton(["plan", state]).run();
        assert!(listed.is_number(), "{state}: {listed}");
        assert_eq!(planned.at("/data/age/seconds"), listed, "{state}: {planned}");
        assert_eq!(planned.at("/data/age/source"), "commit", "{state}");
    }
}

#[test]
fn a_finished_plan_shows_what_comes_after_it() {
    let done = "# Roadmap\n\n- [x] **Phase 1: A**\n";
    for (files, run, command) in [
        (
            &[
                (".planning/ROADMAP.md", done),
                (".planning/phases/01-a/01-01-PLAN.md", "x"),
                (".planning/phases/01-a/01-01-SUMMARY.md", "# S\n\nDone.\n"),
            ][..],
            "gsd",
            "/gsd-complete-milestone",
        ),
        (&[("openspec/changes/a/tasks.md", "- [x] 1.1 a\n")], "openspec-a", "openspec archive a"),
        (
            &[(".taskmaster/tasks/tasks.json", "{\"tasks\": [{\"id\": 1, \"status\": \"done\"}]}")],
            "taskmaster-master",
            "task-master list",
        ),
        (
            &[(
                "_bmad-output/implementation-artifacts/sprint-status.yaml",
                "development_status:\n  epic-1: done\n  1-1-a: done\n",
            )],
            "bmad",
            "/bmad-bmm-retrospective",
        ),
    ] {
        let sandbox = Sandbox::with_git();
        for (path, text) in files {
            sandbox.file(path, text);
        }
        sandbox.commit("all");
        let text = sandbox.piton(["--format", "text", "plan", run]).run().expect_code(0);
        assert!(text.stdout.contains(&format!("Its command  {command}\n")), "{text}");
        assert!(!text.stdout.contains("archive openspec-a openspec"), "{text}");
    }
}

#[test]
fn finished_changes_that_are_not_archived_are_named_once_by_the_list() {
    let sandbox = Sandbox::with_git();
    for (name, mark) in [("a", "x"), ("b", "x"), ("c", " ")] {
        let text = format!("- [x] 1.1 a\n- [{mark}] 1.2 b\n");
        sandbox.file(&format!("openspec/changes/{name}/tasks.md"), &text);
    }
    sandbox.commit("changes");
    let output = sandbox.piton(["list"]).run().expect_code(0);
    let findings = super::checklist::findings(&output);
    assert_eq!(findings, "not-archived 2 plans finished and not archived: openspec-a, openspec-b", "{output}");
    let all = super::checklist::findings(&sandbox.piton(["list", "--all"]).run());
    assert!(!all.contains("finished and not archived"), "{all}");
}
