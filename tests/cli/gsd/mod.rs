//! Plans of GSD: found, planned and listed by their files and commits, and never written.

mod witnesses;

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
    let named = "phases/02-rope is left out: another folder has its number; it has 1 plan: 02-rope/02-01";
    assert!(said.contains(&format!("step-orphan {named}")), "{said}");
    assert_eq!(checklist::next(&output), ["run 02-01"]);
    sandbox.file(".planning/ROADMAP.md", &ROADMAP.replace("Sail", "Line"));
    let output = checklist::plan(&sandbox, "gsd");
    let mut next = checklist::next(&output);
    next.sort();
    assert_eq!(next, ["verify 02-01", "verify 02-02", "verify 02-rope"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
}

#[test]
fn a_folder_that_only_has_notes_is_no_rival_of_one_with_plans() {
    let sandbox = kites();
    sandbox.file(".planning/phases/2-sail/2-CONTEXT.md", "# Notes\n");
    assert_eq!(next(&sandbox), ["run 02-01"]);
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

/// Finishes the second phase.
fn finish(sandbox: &Sandbox) {
    for (plan, file) in [("02-01", "src/cut.py"), ("02-02", "src/sew.py")] {
        sandbox.file(file, "def x(): pass\n");
        sandbox.file(&format!(".planning/phases/02-sail/{plan}-SUMMARY.md"), "# Summary\n\nIt flies.\n");
        sandbox.commit(&format!("feat({plan}): it"));
    }
}

#[test]
fn a_damaged_setting_never_completes_a_run() {
    let sandbox = kites();
    finish(&sandbox);
    sandbox.file(".planning/config.json", CONFIG);
    assert_eq!(next(&sandbox), ["verify 02-verification"]);
    damage::each(&sandbox, ".planning/config.json", |what| {
        let output = checklist::plan(&sandbox, "gsd");
        // Without its line, or the one that holds it, the setting is off.
        let is_off = what.contains("without line");
        assert!(is_off || output.at("/data/verdict") == "confirm", "{what}: {output}");
    });
}

#[test]
fn words_of_the_state_are_compared_with_the_files() {
    for (state, action, said) in [
        ("Phase: 2 of 2\nPlan: Not started\nStatus: Ready to execute\n", "run", None),
        (
            "Phase: 1 of 2\nPlan: Not started\n",
            "run",
            Some("by the files 1 of 3 plans have a summary, 1 of 1 in phase 1"),
        ),
        (
            "Stopped at: Completed 02-01-PLAN.md\n",
            "verify",
            Some("Stopped at: Completed 02-01-PLAN.md\"; by the files 1 of 3 plans"),
        ),
        ("Phase: 2 of 2\nStatus: Phase complete\n", "verify", Some("the first one without is 02-01")),
        ("Stopped at: Planned 02-01-PLAN.md\n", "run", None),
    ] {
        let sandbox = kites();
        sandbox.file(".planning/STATE.md", &format!("# State\n\n{state}"));
        let output = checklist::plan(&sandbox, "gsd");
        assert_eq!(checklist::next(&output)[0], format!("{action} 02-01"), "{state}");
        let findings = checklist::findings(&output);
        assert_eq!(findings.contains("STATE says"), said.is_some(), "{state}: {findings}");
        assert!(said.is_none_or(|said| findings.contains(said)), "{state}: {findings}");
    }
}

#[test]
fn ids_and_files_may_be_one_text_and_numbers_may_have_a_letter() {
    let sandbox = kites();
    let summary = SUMMARY.replace("  created:\n    - src/spar.py\n", "  created: src/spar.py, src/knot.py\n");
    sandbox.file(".planning/phases/01-frame/01-01-SUMMARY.md", &summary).file("src/knot.py", "x");
    sandbox.remove(".planning/phases/01-frame/01-01-PLAN.md");
    let folder = ".planning/phases/02-sail";
    sandbox
        .file(&format!("{folder}/02-01b-PLAN.md"), &plan("src/hem.py", "").replace("wave: 1\n", "depends_on: 02-01\n"));
    sandbox.file(&format!("{folder}/02-02-PLAN.md"), &plan("src/sew.py", "depends_on: 02-01, 02-01b\n"));
    assert_eq!(next(&sandbox), ["run 02-01"]);
    sandbox.file(&format!("{folder}/02-01-SUMMARY.md"), "# Summary\n\nCut.\n").file("src/cut.py", "def cut(): pass\n");
    assert_eq!(next(&sandbox), ["run 02-01b"]);
    let ids = checklist::steps(&sandbox, "gsd", "completed");
    assert_eq!(ids, ["01-01", "02-01"]);
}

#[test]
fn a_state_that_is_older_than_the_work_or_ahead_of_the_plans_is_named() {
    let sandbox = kites();
    finish(&sandbox);
    let state = |words: &str| sandbox.file(".planning/STATE.md", &format!("# State\n\n{words}"));
    state("Phase: 1 of 2\nPlan: 1 of 1\nStatus: Phase 1 complete\n");
    let said = checklist::findings(&checklist::plan(&sandbox, "gsd"));
    assert!(said.contains("Status: Phase 1 complete\"; by the files 3 of 3 plans have a summary"), "{said}");
    let roadmap = ROADMAP.replace("\n## Phase Details", "- [ ] **Phase 3: Line** - hemp\n\n## Phase Details");
    sandbox.file(".planning/ROADMAP.md", &roadmap);
    for (words, action, named) in [
        ("Phase: 3 of 3 (Line)\nPlan: 1 of 1\nStatus: Phase complete\n", "verify 03", true),
        ("Phase: 3 of 3 (Line)\nPlan: Not started\nStatus: Phase 2 complete, ready to plan\n", "run 03", false),
        ("Phase: 2 of 3 (Sail)\nPlan: 2 of 2\nStatus: Phase complete\n", "run 03", false),
        ("Status: Milestone complete\n", "run 03", false),
    ] {
        state(words);
        let output = checklist::plan(&sandbox, "gsd");
        assert_eq!(checklist::next(&output), [action], "{words}");
        let said = checklist::findings(&output);
        assert_eq!(said.contains("phase 03 has no plans"), named, "{words}: {said}");
    }
}

#[test]
fn a_note_of_a_paused_session_is_a_hint_for_its_plan() {
    let sandbox = kites();
    let note = "{\"status\": \"paused\", \"phase\": \"2\", \"plan\": 1, \"task\": 2, \"total_tasks\": 3, \"next_action\": \"hem it\", \"completed_tasks\": [{\"id\": 1, \"commit\": \"deadbeef1\"}]}";
    sandbox.file(".planning/HANDOFF.json", note);
    let output = checklist::plan(&sandbox, "gsd");
    assert_eq!(checklist::next(&output), ["run 02-01"]);
    assert!(checklist::reason(&output).contains("HANDOFF.json names task 2 of 3 next: hem it"), "{output}");
    assert!(checklist::findings(&output).contains("commit-not-found"), "{output}");
    assert_eq!(output.at("/data/native/next"), "/gsd-resume-work");
    let brief = sandbox.piton(["context", "gsd"]).run().expect_code(0);
    assert!(brief.stdout.contains("hem it") && brief.stdout.contains("HANDOFF.json"), "{}", brief.stdout);
    let sandbox = kites();
    sandbox.file(".planning/phases/02-sail/.continue-here.md", "---\nphase: 02-sail\ntask: 4\n---\n");
    assert!(checklist::reason(&checklist::plan(&sandbox, "gsd")).contains(".continue-here.md names task 4"));
    // Without the number of a plan it is about the first open one, and no other is told of it.
    for (step, is_told) in [("02-01", true), ("02-02", false)] {
        let brief = sandbox.piton(["context", "gsd", "--step", step]).run().expect_code(0);
        assert_eq!(brief.stdout.contains(".continue-here.md"), is_told, "{step}: {}", brief.stdout);
    }
}

#[test]
fn a_folder_with_open_plans_that_the_roadmap_does_not_have_never_completes_a_run() {
    let sandbox = kites();
    finish(&sandbox);
    sandbox.file(".planning/phases/01.5-rope/01.5-01-PLAN.md", &plan("src/rope.py", ""));
    let output = checklist::plan(&sandbox, "gsd");
    assert_eq!(output.at("/data/verdict"), "confirm");
    assert_eq!(checklist::next(&output), ["verify 01.5-rope"]);
    sandbox.file(".planning/phases/01.5-rope/01.5-01-PLAN.md", &plan("src/rope.py", "status: superseded\n"));
    assert_eq!(checklist::plan(&sandbox, "gsd").at("/data/verdict"), "complete");
}

#[test]
fn milestones_that_are_over_are_no_steps() {
    let sandbox = kites();
    let list = "## Milestones\n\n- ✅ **v0.1 Wood** - Phases 1-1 (shipped 2026-01-02)\n- 🚧 **v0.2** - Phases 2-2 (in progress)\n\n## Phases\n";
    let table = "\n## Progress\n\n| Phase | Milestone | Plans | Status | Completed |\n|---|---|---|---|---|\n| 0.1 Tree | v0.0 | 3/3 | Complete | 2026-01-01 |\n| 2. Sail | v0.2 | 0/2 | In progress | - |\n";
    let roadmap = format!("{}{table}", ROADMAP.replace("## Phases\n", list));
    sandbox.file(".planning/ROADMAP.md", &roadmap);
    let output = sandbox.piton(["plan", "gsd", "--steps"]).run();
    assert_eq!(output.at("/data/steps/pending").to_string(), "[\"02-01\",\"02-02\"]");
    assert_eq!(output.at("/data/steps/completed").to_string(), "null", "{output}");
    assert_eq!(checklist::next(&output), ["run 02-01"]);
    // A plan of such a milestone without a summary is named.
    sandbox.remove(".planning/phases/01-frame/01-01-SUMMARY.md");
    let said = checklist::findings(&checklist::plan(&sandbox, "gsd"));
    assert!(said.contains("ROADMAP calls phases shipped that have plans without a summary: 01-frame"), "{said}");
}

#[test]
fn the_row_of_a_finished_phase_is_patched_and_the_patch_applies() {
    let sandbox = kites();
    finish(&sandbox);
    let table = "\n| Phase | Plans | Status | Completed |\n|---|---|---|---|\n| 1. Frame | 1/1 | Complete | x |\n| 2. Sail | 0/2 | In progress |  |\n";
    sandbox.file(".planning/ROADMAP.md", &format!("{ROADMAP}{table}").replace('\n', "\r\n"));
    sandbox.commit("docs: table");
    let patch = sandbox.piton(["plan", "gsd", "--patch"]).run().expect_code(0);
    let diff = patch.at("/data/patch/diff").as_str().unwrap().to_owned();
    assert!(diff.contains("+| 2. Sail | 2/2 | Complete |  |"), "{diff}");
    assert!(checklist::findings(&checklist::plan(&sandbox, "gsd")).contains("ROADMAP shows phase 2 as open"));
    sandbox.file("a.patch", &diff);
    sandbox.git(["apply", "a.patch"]);
    let after = checklist::plan(&sandbox, "gsd");
    assert!(!checklist::findings(&after).contains("ROADMAP"), "{after}");
    assert_eq!(sandbox.piton(["plan", "gsd", "--patch"]).run().code, 1);
}

#[test]
fn commands_are_spelled_as_the_project_has_them() {
    for (file, expected) in [
        ("README.md", "/gsd-execute-phase 2"),
        (".claude/commands/gsd/execute-phase.md", "/gsd:execute-phase 2"),
        (".claude/skills/gsd-execute-phase/SKILL.md", "/gsd-execute-phase 2"),
    ] {
        let sandbox = kites();
        sandbox.file(file, "x");
        for run in ["gsd", ".planning"] {
            assert_eq!(checklist::plan(&sandbox, run).at("/data/native/next"), expected, "{file} {run}");
        }
    }
    let sandbox = kites();
    sandbox.file(".planning/phases/02-sail/02-01-PLAN.md", &plan("src/cut.py", "gap_closure: true\n"));
    assert_eq!(checklist::plan(&sandbox, "gsd").at("/data/native/next"), "/gsd-execute-phase 2 --gaps-only");
}

#[test]
fn quick_tasks_without_a_summary_are_named() {
    let sandbox = kites();
    sandbox.file(".planning/quick/001-knot/001-PLAN.md", "x").file(".planning/quick/002-tail/002-PLAN.md", "x");
    sandbox.file(".planning/quick/002-tail/002-SUMMARY.md", "x");
    let output = checklist::plan(&sandbox, "gsd");
    assert!(checklist::findings(&output).contains("1 quick task without a summary: 001-knot"), "{output}");
    assert_eq!(checklist::next(&output), ["run 02-01"]);
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
fn gaps_of_a_verification_are_named_until_something_closes_them() {
    let verification = ".planning/phases/01-frame/01-VERIFICATION.md";
    let with_gaps = || {
        let sandbox = kites();
        sandbox.file(verification, "---\nstatus: gaps_found\n---\n");
        sandbox.commit("docs(01): verification");
        sandbox
    };
    let says_gaps = |sandbox: &Sandbox| {
        checklist::findings(&checklist::plan(sandbox, "gsd")).contains("phase 1 was verified with gaps")
    };
    assert!(says_gaps(&with_gaps()));
    let trial = with_gaps();
    trial.file(".planning/phases/01-frame/01-UAT.md", "---\nstatus: complete\n---\n");
    assert!(!says_gaps(&trial));
    for (subject, closes) in
        [("fix(01): glue", true), ("fix(01-01): glue", true), ("fix(02): cut", false), ("feat(01): x", false)]
    {
        let sandbox = with_gaps();
        sandbox.file("src/spar.py", "def bend(): return 1\n").commit(subject);
        assert_eq!(says_gaps(&sandbox), !closes, "{subject}");
    }
    // A fix before the verification closes nothing of it.
    let sandbox = kites();
    sandbox.file("src/spar.py", "def bend(): return 1\n").commit("fix(01): glue");
    sandbox.file(verification, "---\nstatus: gaps_found\n---\n").commit("docs(01): verification");
    assert!(says_gaps(&sandbox));
    let plan_for_them = with_gaps();
    plan_for_them.file(".planning/phases/01-frame/01-02-PLAN.md", &plan("src/glue.py", "gap_closure: true\n"));
    assert!(!says_gaps(&plan_for_them));
}

#[test]
fn a_plan_that_closes_gaps_waits_for_the_others_of_its_phase() {
    let sandbox = kites();
    sandbox.file(".planning/phases/02-sail/02-03-PLAN.md", &plan("src/hem.py", "gap_closure: true\n"));
    let waits = checklist::next(&sandbox.piton(["plan", "gsd", "--parallel"]).run());
    assert_eq!(waits, ["run 02-01"]);
    finish(&sandbox);
    assert_eq!(next(&sandbox), ["run 02-03"]);
}

#[test]
fn a_verification_that_needs_a_person_is_put_to_one() {
    let sandbox = kites();
    finish(&sandbox);
    let file = ".planning/phases/02-sail/02-VERIFICATION.md";
    sandbox.file(file, "---\nstatus: human_needed\n---\n");
    assert_eq!(next(&sandbox), ["approve 02-verification"]);
    sandbox.file(".planning/phases/02-sail/02-UAT.md", "---\nstatus: complete\n---\n");
    assert_eq!(checklist::plan(&sandbox, "gsd").at("/data/verdict"), "complete");
    // In a phase that later ones were built on, it is named.
    sandbox.remove(file);
    sandbox.file(".planning/phases/01-frame/01-VERIFICATION.md", "---\nstatus: human_needed\n---\n");
    let output = checklist::plan(&sandbox, "gsd");
    assert!(checklist::findings(&output).contains("the verification of phase 1 needs a person"), "{output}");
    assert_eq!(output.at("/data/verdict"), "complete");
}

#[test]
fn plans_that_wait_for_each_other_are_named() {
    let sandbox = kites();
    sandbox.file(".planning/phases/02-sail/02-01-PLAN.md", &plan("src/cut.py", "depends_on: [\"02-02\"]\n"));
    let output = checklist::plan(&sandbox, "gsd");
    assert!(checklist::findings(&output).contains("cycle"), "{output}");
    assert_ne!(output.at("/data/verdict"), "complete");
    assert!(checklist::next(&output).is_empty(), "{output}");
}

#[test]
fn a_halted_plan_says_why() {
    let sandbox = kites();
    sandbox.file(
        ".planning/phases/02-sail/02-01-SUMMARY.md",
        "---\nstatus: halted\n---\n\n# Summary\n\nNo cloth. Ask again.\n",
    );
    let output = checklist::plan(&sandbox, "gsd");
    assert!(checklist::reason(&output).contains("halted by its summary (No cloth.)"), "{output}");
}

#[test]
fn the_brief_of_a_plan_says_what_it_builds_on_and_when_it_is_done() {
    let sandbox = kites();
    let state = "# State\n\n### Decisions\n\n- [Phase 1]: bamboo\n- [Phase 2]: silk, not paper\n- [02-02]: red\n\n### Blockers/Concerns\n\n- [Phase 9]: rain\n-                  wind is weak\n";
    sandbox.file(".planning/STATE.md", state);
    let text =
        plan("src/cut.py", "").replace("must_haves:\n", "must_haves:\n  truths:\n    - \"the sail has two halves\"\n");
    let text = text.replace("</task>", "  <verify>rm -rf src</verify>\n  <done>cut</done>\n</task>");
    sandbox.file(".planning/phases/02-sail/02-01-PLAN.md", &text);
    let before = sandbox.everything();
    let brief = sandbox.piton(["context", "gsd"]).run().expect_code(0);
    assert_eq!(
        brief.at("/data/acceptance"),
        serde_json::json!(["the sail has two halves", "part 1, verify: rm -rf src", "part 1, done: cut"])
    );
    let notes = brief.at("/data/open_questions").to_string();
    for (part, is_there) in
        [("silk, not paper", true), ("red", true), ("bamboo", false), ("wind is weak", true), ("rain", false)]
    {
        assert_eq!(notes.contains(part), is_there, "{part}: {notes}");
    }
    assert_eq!(brief.at("/data/reports/0/step"), "01-01");
    assert_eq!(brief.at("/data/reports/0/summary"), "Spars are bent.");
    let commit = brief.at("/data/reports/0/commit").as_str().unwrap_or_default().to_owned();
    assert!(sandbox.git(["rev-parse", "HEAD"]).starts_with(&commit) && commit.len() == 7, "{brief}");
    assert_eq!(before.changes(&sandbox.everything()), [] as [&str; 0]);
    let status = sandbox.piton(["status", "gsd", "-v"]).run();
    assert!(status.stdout.contains("Spars are bent"), "{status}");
}

#[test]
fn the_title_is_that_of_the_roadmap() {
    let sandbox = kites();
    assert_eq!(checklist::plan(&sandbox, "gsd").at("/data/run/title"), "GSD \"Kites\"");
    sandbox.file(".planning/workstreams/tail/ROADMAP.md", "# Roadmap\n\n### Phase 1: Tail\n");
    assert_eq!(checklist::plan(&sandbox, "gsd-tail").at("/data/run/title"), "GSD \"tail\"");
}

/// Rewrites every file of the plans.
fn rewrite(sandbox: &Sandbox, by: impl Fn(&str) -> String) {
    for file in [
        "ROADMAP.md",
        "STATE.md",
        "phases/01-frame/01-01-PLAN.md",
        "phases/01-frame/01-01-SUMMARY.md",
        "phases/02-sail/02-01-PLAN.md",
        "phases/02-sail/02-02-PLAN.md",
    ] {
        let path = format!(".planning/{file}");
        sandbox.file(&path, &by(&sandbox.read(&path)));
    }
}

#[test]
fn the_same_tree_in_another_form_has_the_same_plan() {
    type Form = fn(&Sandbox);
    let forms: [(&str, Form, &str); 7] = [
        ("line ends", |sandbox| rewrite(sandbox, |text| text.replace('\n', "\r\n")), ""),
        ("byte order mark", |sandbox| rewrite(sandbox, |text| format!("\u{feff}{text}")), ""),
        (
            "no state",
            |sandbox| {
                sandbox.remove(".planning/STATE.md");
            },
            "",
        ),
        (
            "no config",
            |sandbox| {
                sandbox.remove(".planning/config.json");
            },
            "",
        ),
        (
            "ignored",
            |sandbox| {
                sandbox.file(".gitignore", ".planning/\n");
            },
            "",
        ),
        (
            "no git",
            |sandbox| {
                sandbox.remove(".git");
            },
            "history-unseen",
        ),
        (
            "a shallow clone",
            |sandbox| {
                sandbox.commit("feat: cut");
                let newest = sandbox.git(["rev-parse", "HEAD"]);
                sandbox.file(".git/shallow", &newest);
            },
            "history-unseen the clone is shallow",
        ),
    ];
    for (name, form, said) in forms {
        let sandbox = kites();
        sandbox.file(".planning/STATE.md", STATE).file(".planning/config.json", CONFIG);
        sandbox.file(".planning/phases/01-frame/01-VERIFICATION.md", "---\nstatus: passed\n---\n");
        sandbox.file("src/cut.py", "def cut(): pass\n");
        form(&sandbox);
        let output = checklist::plan(&sandbox, "gsd");
        assert_eq!(checklist::next(&output), ["verify 02-01"], "{name}: {output}");
        assert_eq!(checklist::steps(&sandbox, "gsd", "completed"), ["01-01"], "{name}");
        assert!(checklist::findings(&output).contains(said), "{name}: {output}");
    }
}

#[test]
fn plans_with_words_or_without_numbers_are_plans() {
    for (plan_name, summary, id) in [
        ("02-01-cut-PLAN.md", "02-01-cut-SUMMARY.md", "02-01-cut"),
        ("PLAN.md", "SUMMARY.md", "02-sail"),
        ("02-PLAN.md", "02-SUMMARY.md", "02"),
    ] {
        let sandbox = kites();
        let folder = ".planning/phases/02-sail";
        sandbox.file(".planning/ROADMAP.md", &ROADMAP.replace("- [ ] 02-02-PLAN.md -- sew\n", ""));
        sandbox.remove(folder);
        sandbox.file(&format!("{folder}/{plan_name}"), &plan("src/cut.py", ""));
        sandbox.commit("docs: plan");
        let output = checklist::plan(&sandbox, "gsd");
        assert_eq!(checklist::next(&output), [format!("run {id}")], "{output}");
        assert_eq!(output.at("/data/native/next"), "/gsd-execute-phase 2", "{plan_name}");
        sandbox.file("src/other.py", "x = 1\n").commit(&format!("feat({}): cut", id.trim_end_matches("-cut")));
        // A number alone names no plan.
        let action = if id == "02" { "run" } else { "retry" };
        assert_eq!(next(&sandbox), [format!("{action} {id}")], "{plan_name}");
        sandbox.file(&format!("{folder}/{summary}"), "# Summary\n\nIt flies.\n");
        sandbox.file("src/cut.py", "def cut(): pass\n").commit("feat: cut");
        let output = checklist::plan(&sandbox, "gsd");
        assert_eq!(output.at("/data/verdict"), "complete", "{plan_name}: {output}");
    }
    // Other documents with such names, beside plans with numbers, are no steps.
    let sandbox = kites();
    sandbox.file(".planning/phases/02-sail/02-RESEARCH-SUMMARY.md", "# Silk\n");
    assert_eq!(checklist::steps(&sandbox, "gsd", "completed"), ["01-01"]);
    assert_eq!(next(&sandbox), ["run 02-01"]);
}

#[test]
fn each_answer_about_a_plan_without_a_summary_is_a_patch_that_ends_the_dispute() {
    let table = "\n| Phase | Plans | Status | Completed |\n|---|---|---|---|\n| 2. Sail | 2/2 | Complete | x |\n";
    for (answer, action, line) in [
        ("done", None, "+status: complete"),
        ("open", Some("run 02-01"), "+| 2. Sail | 0/2 | In Progress | x |"),
        ("dropped", None, "+status: superseded"),
    ] {
        let sandbox = kites();
        if answer == "done" {
            sandbox.file("src/cut.py", "def cut(): pass\n");
        }
        let roadmap = ROADMAP.replace("[ ] 02-01", "[x] 02-01").replace("[ ] **Phase 2", "[x] **Phase 2");
        sandbox.file(".planning/ROADMAP.md", &format!("{roadmap}{table}")).commit("docs: roadmap");
        assert!(next(&sandbox).contains(&"verify 02-01".to_owned()), "{:?}", next(&sandbox));
        let before = sandbox.tree();
        let patch =
            sandbox.piton(["plan", "gsd", "--patch", "--answer", &format!("02-01={answer}")]).run().expect_code(0);
        assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
        let diff = patch.at("/data/patch/diff").as_str().unwrap().to_owned();
        assert!(diff.contains(line), "{answer}: {diff}");
        sandbox.file("a.patch", &diff).git(["apply", "a.patch"]);
        let after = checklist::plan(&sandbox, "gsd");
        let about: Vec<String> = checklist::next(&after).into_iter().filter(|step| step.ends_with("02-01")).collect();
        assert_eq!(about, action.into_iter().collect::<Vec<_>>(), "{answer}: {after}");
        let done = checklist::steps(&sandbox, "gsd", "completed");
        assert_eq!(done.contains(&"02-01".to_owned()), answer == "done", "{answer}: {done:?}");
    }
}
