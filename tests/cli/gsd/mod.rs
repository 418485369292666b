//! Plans of GSD: found, planned and listed by their files and commits, and never written.

use crate::cli::checklist;
use crate::cli::damage;
use crate::support::Sandbox;
use crate::support::Tree;
use crate::support::repository;

const ROADMAP: &str = "# Roadmap: Kites\n\n## Phases\n\n- [x] **Phase 1: Frame** - bamboo\n- [ ] **Phase 2: Sail** - cloth\n\n## Phase Details\n\n### Phase 1: Frame\n**Depends on**: Nothing\n\nPlans:\n- [x] 01-01-PLAN.md -- spars\n\n### Phase 2: Sail\n**Depends on**: Phase 1\n\nPlans:\n- [ ] 02-01-PLAN.md -- cut\n- [ ] 02-02-PLAN.md -- sew\n";
const SUMMARY: &str = "---\nphase: 1\nkey-files:\n  created:\n    - src/spar.py\n---\n\n# Summary\n\nSpars are bent.\n";

fn plan(file: &str, more: &str) -> String {
    format!(
        "---\nwave: 1\n{more}must_haves:\n  artifacts:\n    - path: \"{file}\"\n      contains: \"def \"\n---\n\n<objective>\nMake {file}.\n</objective>\n\n<tasks>\n<task type=\"auto\">\n  <name>Task 1: write</name>\n  <files>{file}</files>\n</task>\n</tasks>\n"
    )
}

/// A project whose first phase is done and whose second one was planned.
fn kites() -> Sandbox {
    let sandbox = Sandbox::with_git();
    sandbox.file(".planning/ROADMAP.md", ROADMAP);
    sandbox.file(".planning/phases/01-frame/01-01-PLAN.md", &plan("src/spar.py", ""));
    sandbox.file(".planning/phases/02-sail/02-01-PLAN.md", &plan("src/cut.py", ""));
    sandbox.file(".planning/phases/02-sail/02-02-PLAN.md", &plan("src/sew.py", "depends_on: [02-01]\n"));
    sandbox.file(".planning/phases/02-sail/KITE_PLAN.md", "# not a plan\n");
    sandbox.commit("docs: plans");
    sandbox.file("src/spar.py", "def bend(): pass\n");
    sandbox.file(".planning/phases/01-frame/01-01-SUMMARY.md", SUMMARY);
    sandbox.commit("feat(01-01): spars");
    sandbox
}

fn next(sandbox: &Sandbox) -> Vec<String> {
    let output = sandbox.piton(["plan", ".planning"]).run();
    let next = output.at("/data/next");
    let named = |next: &serde_json::Value| {
        format!("{} {}", next["action"].as_str().expect("a text"), next["step"].as_str().expect("a text"))
    };
    next.as_array().expect("it is there").iter().map(named).collect()
}

#[test]
fn a_plan_without_a_trace_is_run() {
    let sandbox = kites();
    assert_eq!(next(&sandbox), ["run 02-01"]);
    let output = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!(output.at("/data/runs/0/id"), "gsd");
    assert_eq!(output.at("/data/runs/0/progress/done"), 1);
}

#[test]
fn a_plan_with_commits_or_files_is_never_simply_run() {
    let sandbox = kites();
    sandbox.file("src/other.py", "x = 1\n");
    sandbox.commit("feat(02-01): begin");
    assert_eq!(next(&sandbox), ["retry 02-01"]);
    sandbox.file("src/cut.py", "def cut(): pass\n");
    sandbox.commit("feat(02-01): cut");
    assert_eq!(next(&sandbox), ["verify 02-01"]);
}

#[test]
fn a_commit_of_a_similar_plan_says_nothing() {
    let sandbox = kites();
    sandbox.file("src/other.py", "x = 1\n");
    sandbox.commit("feat(02-011): begin");
    assert_eq!(next(&sandbox), ["run 02-01"]);
}

#[test]
fn a_box_of_the_roadmap_alone_proves_nothing() {
    let sandbox = kites();
    sandbox.file(".planning/ROADMAP.md", &ROADMAP.replace("[ ] 02-01", "[x] 02-01"));
    assert_eq!(next(&sandbox), ["verify 02-01"]);
}

#[test]
fn an_emptied_result_of_a_finished_plan_is_looked_at() {
    let sandbox = kites();
    sandbox.file("src/spar.py", "");
    assert_eq!(next(&sandbox), ["verify 01-01"]);
}

#[test]
fn a_superseded_plan_is_left_out_and_a_halted_one_is_put_to_a_person() {
    let sandbox = kites();
    sandbox.file(".planning/phases/02-sail/02-01-PLAN.md", &plan("src/cut.py", "status: superseded\n"));
    assert_eq!(next(&sandbox), ["run 02-02"]);
    let sandbox = kites();
    sandbox.file(".planning/phases/02-sail/02-01-SUMMARY.md", "---\nstatus: halted\n---\n\nNo cloth.\n");
    assert_eq!(next(&sandbox), ["approve 02-01"]);
}

#[test]
fn the_patch_ticks_the_roadmap_and_nothing_is_written() {
    let sandbox = kites();
    sandbox.file(".planning/phases/02-sail/02-01-SUMMARY.md", "# Summary\n\nCut.\n");
    sandbox.file("src/cut.py", "def cut(): pass\n");
    sandbox.commit("feat(02-01): cut");
    let before = sandbox.everything();
    let output = sandbox.piton(["plan", "gsd", "--patch"]).run().expect_code(0);
    let diff = output.at("/data/patch/diff").as_str().unwrap().to_owned();
    assert!(diff.contains("+- [x] 02-01-PLAN.md -- cut"), "{diff}");
    for verb in [vec!["list"], vec!["plan", "gsd"], vec!["context", "gsd"], vec!["status", "gsd"]] {
        sandbox.piton(verb).run();
    }
    assert_eq!(before.changes(&sandbox.everything()), [] as [&str; 0]);
}

#[test]
fn it_is_never_written() {
    let sandbox = kites();
    let before = sandbox.tree();
    for verb in [["begin", "02-01"], ["finish", "02-01"], ["skip", "02-01"], ["approve", "02-01"]] {
        let output = sandbox.piton([verb[0], verb[1], "--run", "gsd"]).run();
        assert_ne!(output.at("/ok"), true, "{verb:?}");
    }
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}

#[test]
fn damaged_files_say_nothing_wrong() {
    let sandbox = kites();
    for file in [
        ".planning/ROADMAP.md",
        ".planning/phases/01-frame/01-01-PLAN.md",
        ".planning/phases/01-frame/01-01-SUMMARY.md",
        ".planning/phases/02-sail/02-02-PLAN.md",
    ] {
        damage::each(&sandbox, file, |what| {
            let output = sandbox.piton(["plan", ".planning", "--steps"]).run();
            assert!([0, 3, 4, 9].contains(&output.code), "{what}: {output}");
            let data = output.json()["data"].clone();
            assert_ne!(data["verdict"], "complete", "{what}");
            let completed = data["steps"]["completed"].as_array().cloned().unwrap_or_default();
            assert!(completed.iter().all(|step| step == "01-01"), "{what}: {completed:?}");
            let next = checklist::next(&output);
            assert!(!next.iter().any(|step| step == "run 01-01" || step == "retry 01-01"), "{what}: {next:?}");
        });
    }
}

#[test]
fn a_dependency_on_no_plan_is_named() {
    let sandbox = kites();
    let file = ".planning/phases/02-sail/02-01-PLAN.md";
    sandbox.file(file, &plan("src/cut.py", "depends_on: [\"02-07\", \"01-01\"]\n"));
    let output = checklist::plan(&sandbox, "gsd");
    let said = checklist::findings(&output);
    assert!(said.contains("dependency-dangling 02-01 depends on 02-07, which is no plan here"), "{said}");
    assert_eq!(checklist::next(&output), ["run 02-01"]);
    // The plans of a phase that is over are in an archive.
    let archived = ROADMAP.replace("## Phases\n", "<details>\n\n### Phase 0: Wood\n\n</details>\n\n## Phases\n");
    sandbox.file(".planning/ROADMAP.md", &archived).file(file, &plan("src/cut.py", "depends_on: [00-03]\n"));
    let said = checklist::findings(&checklist::plan(&sandbox, "gsd"));
    assert!(!said.contains("dependency-dangling"), "{said}");
}

#[test]
fn a_state_that_counts_all_plans_as_complete_is_looked_at() {
    let sandbox = kites();
    let state = |completed: u32, total: u32| {
        let text = format!("---\nprogress:\n  total_plans: {total}\n  completed_plans: {completed}\n---\n\n# State\n");
        sandbox.file(".planning/STATE.md", &text);
        next(&sandbox)
    };
    assert_eq!(state(3, 3), ["verify 02-01", "verify 02-02"]);
    // A count of fewer plans is of an earlier time.
    assert_eq!(state(1, 1), ["run 02-01"]);
    assert_eq!(state(1, 3), ["run 02-01"]);
}

#[test]
fn the_example_is_one_plan_from_its_end() {
    let sandbox = Sandbox::new();
    Tree::of(&repository().join("examples/gsd")).write_to(&sandbox.root());
    sandbox.git_init();
    let output = checklist::plan(&sandbox, "gsd");
    assert_eq!(checklist::next(&output), ["run 01-02"]);
}

#[test]
fn two_folders_of_one_phase_are_told_apart_by_its_name_or_looked_at() {
    let sandbox = kites();
    sandbox.file(".planning/phases/02-rope/02-01-PLAN.md", &plan("src/rope.py", ""));
    let output = checklist::plan(&sandbox, "gsd");
    let said = checklist::findings(&output);
    assert!(said.contains("step-orphan phases/02-rope is left out: another folder has its number"), "{said}");
    assert_eq!(checklist::next(&output), ["run 02-01"]);
    sandbox.file(".planning/ROADMAP.md", &ROADMAP.replace("Sail", "Line"));
    let output = checklist::plan(&sandbox, "gsd");
    let mut next = checklist::next(&output);
    next.sort();
    assert_eq!(next, ["verify 02-01", "verify 02-02", "verify 02-rope"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
}

#[test]
fn examples_without_git_are_found_by_the_path_of_their_state() {
    for (example, state) in [("gsd", ".planning"), ("taskmaster", ".taskmaster/tasks/tasks.json")] {
        let sandbox = Sandbox::new();
        Tree::of(&repository().join("examples").join(example)).write_to(&sandbox.root());
        let absolute = sandbox.root().join(state).into_string();
        for path in [state, absolute.as_str()] {
            let plan = sandbox.piton(["plan", path]).run();
            assert_eq!(plan.at("/data/run/dialect"), example, "{plan}");
        }
    }
}
