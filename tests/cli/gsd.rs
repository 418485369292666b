//! Plans of GSD that are damaged or too large, and the examples; the rest is in `tests/cases/gsd`.

use crate::{
    cli::{checklist, damage},
    support::{Sandbox, Tree, repository},
};

const ROADMAP: &str = "# Roadmap: Kites\n\n## Phases\n\n- [x] **Phase 1: Frame** - bamboo\n- [ ] **Phase 2: Sail** - cloth\n\n## Phase Details\n\n### Phase 1: Frame\n**Depends on**: Nothing\n\nPlans:\n- [x] 01-01-PLAN.md -- spars\n\n### Phase 2: Sail\n**Depends on**: Phase 1\n\nPlans:\n- [ ] 02-01-PLAN.md -- cut\n- [ ] 02-02-PLAN.md -- sew\n";
const SUMMARY: &str = "---\nphase: 1\nkey-files:\n  created:\n    - src/spar.py\n---\n\n# Summary\n\nSpars are bent.\n";
const STATE: &str = "---\nstatus: executing\nprogress:\n  total_plans: 3\n  completed_plans: 1\n---\n\n# Project State\n\n## Current Position\n\nPhase: 2 of 2 (Sail)\nPlan: 1 of 2 in current phase\nStatus: Ready to execute\n\nStopped at: Completed 01-01-PLAN.md\n";
const CONFIG: &str = "{\n  \"workflow\": {\n    \"verifier\": true\n  }\n}\n";

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
    sandbox.commit("docs: plans");
    sandbox.file("src/spar.py", "def bend(): pass\n");
    sandbox.file(".planning/phases/01-frame/01-01-SUMMARY.md", SUMMARY);
    sandbox.commit("feat(01-01): spars");
    sandbox
}

#[test]
fn damaged_files_say_nothing_wrong() {
    let sandbox = kites();
    sandbox.file(".planning/STATE.md", STATE).file(".planning/config.json", CONFIG);
    for file in [
        ".planning/ROADMAP.md",
        ".planning/phases/01-frame/01-01-PLAN.md",
        ".planning/phases/01-frame/01-01-SUMMARY.md",
        ".planning/phases/02-sail/02-02-PLAN.md",
        ".planning/STATE.md",
        ".planning/config.json",
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
fn a_damaged_setting_never_completes_a_run() {
    let sandbox = kites();
    for (plan, file) in [("02-01", "src/cut.py"), ("02-02", "src/sew.py")] {
        sandbox.file(file, "def x(): pass\n");
        sandbox.file(&format!(".planning/phases/02-sail/{plan}-SUMMARY.md"), "# Summary\n\nIt flies.\n");
    }
    sandbox.file(".planning/config.json", CONFIG).commit("feat: it");
    damage::each(&sandbox, ".planning/config.json", |what| {
        let output = checklist::plan(&sandbox, "gsd");
        // Without its line, or the one that holds it, the setting is off.
        let is_off = what.contains("without line");
        assert!(is_off || output.at("/data/verdict") == "confirm", "{what}: {output}");
    });
}

#[test]
fn files_that_are_too_large_are_named() {
    let sandbox = kites();
    let large = format!("{}{}", plan("src/cut.py", ""), "x".repeat(5 << 20));
    sandbox.file(".planning/phases/02-sail/02-01-PLAN.md", &large);
    let output = checklist::plan(&sandbox, "gsd");
    assert!(checklist::findings(&output).contains("part-unreadable"), "{output}");
    assert!(!checklist::next(&output).contains(&"run 02-01".to_owned()), "{output}");
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
