//! What the files of a plan say against each other, and which of them counts.

use super::{ROADMAP, SUMMARY, kites, plan};
use crate::{cli::checklist, support::Sandbox};

/// A project with this roadmap.
fn project(roadmap: &str) -> Sandbox {
    let sandbox = Sandbox::with_git();
    sandbox.file(".planning/ROADMAP.md", &format!("# Roadmap: Kites\n\n{roadmap}"));
    sandbox
}

/// Adds a plan to a phase.
fn add(sandbox: &Sandbox, folder: &str, id: &str, more: &str) {
    sandbox.file(&format!(".planning/phases/{folder}/{id}-PLAN.md"), &plan(&format!("src/{id}.py"), more));
}

/// Adds the result of a plan with its summary.
fn carry_out(sandbox: &Sandbox, folder: &str, id: &str) {
    sandbox.file(&format!("src/{id}.py"), "def x(): pass\n");
    sandbox.file(&format!(".planning/phases/{folder}/{id}-SUMMARY.md"), "# Summary\n\nIt flies.\n");
    sandbox.commit(&format!("feat({id}): it"));
}

/// A project whose first phase is done, with its roadmap.
fn begun(roadmap: &str) -> Sandbox {
    let sandbox = project(roadmap);
    add(&sandbox, "01-frame", "01-01", "");
    sandbox.commit("docs: plan");
    carry_out(&sandbox, "01-frame", "01-01");
    sandbox
}

fn next(sandbox: &Sandbox) -> Vec<String> {
    checklist::next(&checklist::plan(sandbox, "gsd"))
}

fn said(sandbox: &Sandbox) -> String {
    checklist::findings(&checklist::plan(sandbox, "gsd"))
}

fn patch(sandbox: &Sandbox) -> String {
    let output = sandbox.piton(["plan", "gsd", "--patch"]).run();
    output.at("/data/patch/diff").as_str().unwrap_or_default().to_owned()
}

#[test]
fn phases_of_the_current_milestone_with_the_numbers_of_an_earlier_one_are_steps() {
    let phases = "### Phase 1: Frame\n- [x] 01-01-PLAN.md\n\n### Phase 2: Sail\n\n### Phase 3: Line\n";
    for above in [
        "- ✅ **v1.0** — Phases 1-4 (shipped 2026-10-01)\n- 🚧 **v1.1** — Phases 1-3 (in progress)\n\n",
        "✅ All 12 requirements are mapped to phases 1-3\n\n",
        "## Milestone v1.1: Shipped-order tracking\n\n",
    ] {
        let sandbox = begun(&format!("{above}{phases}"));
        assert_eq!(next(&sandbox), ["run 02"], "{above}");
        assert_eq!(checklist::steps(&sandbox, "gsd", "completed"), ["01-01"], "{above}");
    }
}

#[test]
fn a_plan_that_only_the_roadmap_names_is_looked_at() {
    let row = "\n| Phase | Plans | Status | Done |\n|---|---|---|---|\n| 1. Frame | 1/2 | In progress | - |\n";
    let sandbox = begun(&format!("### Phase 1: Frame\n- [x] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n{row}"));
    let output = checklist::plan(&sandbox, "gsd");
    assert_eq!(checklist::next(&output), ["verify 01-02"]);
    assert_eq!(output.at("/data/verdict"), "confirm");
    assert!(checklist::reason(&output).contains("neither a plan nor a summary"), "{output}");
    assert_eq!(patch(&sandbox), "");
    // A line for a plan that is still to be written names none.
    let sandbox = begun("### Phase 1: Frame\n- [x] 01-01-PLAN.md\n- [ ] 01-02: TBD\n");
    assert_eq!(checklist::plan(&sandbox, "gsd").at("/data/verdict"), "complete");
}

#[test]
fn a_summary_that_says_that_nothing_was_done_is_looked_at() {
    for text in ["This plan was not executed because a key is missing.", "**Phase:** 1\n**Status:** Not executed"] {
        let sandbox = begun("### Phase 1: Frame\n- [x] 01-01-PLAN.md\n");
        sandbox.file(".planning/phases/01-frame/01-01-SUMMARY.md", &format!("# Summary\n\n{text}\n"));
        assert_eq!(next(&sandbox), ["verify 01-01"], "{text}");
    }
}

#[test]
fn the_verification_of_the_phase_that_was_finished_last_comes_before_what_is_not_begun() {
    let roadmap = "### Phase 1: Frame\n- [x] 01-01-PLAN.md\n\n### Phase 2: Sail\n- [ ] 02-01-PLAN.md\n";
    for (file, text) in
        [("02-01-PLAN.md", plan("src/cut.py", "")), ("02-CONTEXT.md", "notes\n".to_owned()), ("", String::new())]
    {
        let sandbox = begun(roadmap);
        if !file.is_empty() {
            sandbox.file(&format!(".planning/phases/02-sail/{file}"), &text);
        }
        let verification = ".planning/phases/01-frame/01-VERIFICATION.md";
        sandbox.file(verification, "---\nstatus: human_needed\n---\n");
        assert_eq!(next(&sandbox), ["approve 01-verification"], "{file}");
        assert!(!said(&sandbox).contains("later phases were built on it"), "{file}");
        sandbox.remove(verification);
        sandbox.file(".planning/config.json", super::CONFIG);
        assert_eq!(next(&sandbox), ["verify 01-verification"], "{file}");
        sandbox.file(verification, "---\nstatus: passed\n---\n");
        assert!(next(&sandbox)[0].starts_with("run 02"), "{file}");
    }
}

#[test]
fn only_a_plan_with_a_summary_is_ticked_unasked() {
    let sandbox = begun("### Phase 1: Frame\n- [ ] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n");
    add(&sandbox, "01-frame", "01-02", "");
    sandbox.commit("docs: plan");
    sandbox.file("src/01-02.py", "def x(): pass\n").commit("feat(01-02): it");
    assert_eq!(next(&sandbox), ["verify 01-02"]);
    let diff = patch(&sandbox);
    assert!(diff.contains("+- [x] 01-01-PLAN.md") && !diff.contains("[x] 01-02"), "{diff}");
}

#[test]
fn the_files_of_a_planning_folder_name_its_run() {
    let sandbox =
        begun("- [ ] **Phase 1: Frame**\n- [ ] **Phase 2: Sail**\n\n### Phase 1: Frame\n- [x] 01-01-PLAN.md\n");
    sandbox.file(".planning/STATE.md", "# State\n\n- [ ] one\n- [ ] two\n");
    for path in ["ROADMAP.md", "STATE.md", "phases/01-frame/01-01-PLAN.md"] {
        let output = sandbox.piton(["plan", &format!(".planning/{path}")]).run();
        assert_eq!(output.at("/data/run/id"), "gsd", "{path}: {output}");
    }
}

#[test]
fn a_phase_may_wait_for_a_later_one() {
    let phases = |one: &str| {
        format!("### Phase 1: Frame\n**Depends on**: {one}\n\n### Phase 2: Sail\n**Depends on**: Nothing\n")
    };
    for (on, expected) in [("Phase 2", vec!["run 02"]), ("Nothing (independent of Phase 2)", vec!["run 01", "run 02"])]
    {
        let sandbox = project(&phases(on));
        assert_eq!(next(&sandbox), expected, "{on}");
    }
}

#[test]
fn words_of_a_plan_or_the_roadmap_leave_it_out_or_have_it_looked_at() {
    for (status, expected) in [
        ("skipped", vec!["run 01-02"]),
        ("obsolete", vec!["run 01-02"]),
        ("superseded by 01-02", vec!["run 01-02"]),
        ("complete", vec!["verify 01-01"]),
    ] {
        let sandbox = project("### Phase 1: Frame\n- [ ] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n");
        add(&sandbox, "01-frame", "01-01", &format!("status: {status}\n"));
        add(&sandbox, "01-frame", "01-02", "depends_on: [01-01]\n");
        sandbox.commit("docs: plans");
        assert_eq!(next(&sandbox), expected, "{status}");
    }
    let sandbox = begun("### Phase 1: Frame\n- [x] 01-01-PLAN.md\n\n### ~~Phase 2: Sail~~\n\n### Phase 3: Line\n");
    assert_eq!(next(&sandbox), ["run 03"]);
    let table = "| Phase | Plans | Status | Done |\n|---|---|---|---|\n| 2. Sail | 0/1 | Cancelled | - |\n";
    let sandbox = begun(&format!("### Phase 1: Frame\n- [x] 01-01-PLAN.md\n\n### Phase 2: Sail\n\n{table}"));
    assert_eq!(checklist::plan(&sandbox, "gsd").at("/data/verdict"), "complete");
}

#[test]
fn a_state_that_calls_everything_done_is_named() {
    for (state, action) in [
        ("---\nstatus: completed\n---\n", "verify"),
        ("Status: Milestone v1.0 shipped\n", "run"),
        ("Status: ✅ Done\n", "verify"),
        ("Phase: 1 of 1 — COMPLETE\n", "verify"),
        ("**Current Phase:** 1\n**Status:** Complete\n", "verify"),
        ("---\nprogress: {completed_plans: 1 of 2, percent: 100}\n---\n", "verify"),
    ] {
        let sandbox = begun("### Phase 1: Frame\n- [x] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n");
        add(&sandbox, "01-frame", "01-02", "");
        sandbox.file(".planning/STATE.md", state);
        assert_eq!(next(&sandbox), [format!("{action} 01-02")], "{state}");
        let found = said(&sandbox);
        assert!(found.contains("by the files 1 of 2 plans have a summary") && found.contains("01-02"), "{found}");
    }
}

#[test]
fn finished_and_halted_plans_that_others_contradict_are_named() {
    let sandbox = project(
        "### Phase 1: Frame\n- [x] 01-01-PLAN.md\n- [ ] 01-02-PLAN.md\n\n### Phase 2: Sail\n- [x] 02-01-PLAN.md\n",
    );
    add(&sandbox, "01-frame", "01-01", "");
    add(&sandbox, "01-frame", "01-02", "depends_on: [01-01]\n");
    add(&sandbox, "02-sail", "02-01", "");
    sandbox.commit("docs: plans");
    carry_out(&sandbox, "01-frame", "01-02");
    carry_out(&sandbox, "02-sail", "02-01");
    let found = said(&sandbox);
    assert!(found.contains("done before what they depend on: 01-02 before 01-01, 02-01 before 01-01"), "{found}");
    sandbox.file(".planning/phases/01-frame/01-01-SUMMARY.md", "---\nstatus: halted\n---\n\nNo wood.\n");
    let found = said(&sandbox);
    assert!(found.contains("halted by their summary, but done by ROADMAP: 01-01"), "{found}");
}

#[test]
fn gaps_that_were_found_after_the_plan_that_closes_gaps_are_open() {
    let sandbox = begun("### Phase 1: Frame\n- [x] 01-01-PLAN.md\n- [x] 01-02-PLAN.md\n");
    add(&sandbox, "01-frame", "01-02", "gap_closure: true\n");
    sandbox.file(".planning/phases/01-frame/01-VERIFICATION.md", "---\nstatus: gaps_found\n---\n");
    sandbox.commit("docs(01): verification");
    let gaps = "phase 1 was verified with gaps";
    assert!(!said(&sandbox).contains(gaps));
    carry_out(&sandbox, "01-frame", "01-02");
    assert!(!said(&sandbox).contains(gaps));
    sandbox.file(".planning/phases/01-frame/01-VERIFICATION.md", "---\nstatus: gaps_found\nscore: 1/2\n---\n");
    sandbox.commit("docs(01): verification again");
    assert!(said(&sandbox).contains(gaps));
}

#[test]
fn documents_with_and_without_words_are_of_one_plan() {
    let sandbox = project("### Phase 1: Frame\n- [ ] 01-01-PLAN.md\n- [x] 01-02-PLAN.md\n");
    add(&sandbox, "01-frame", "01-01-sew", "");
    add(&sandbox, "01-frame", "01-02-cut", "depends_on: [01-01]\n");
    sandbox.commit("docs: plans");
    sandbox.file("src/01-01-sew.py", "def x(): pass\n");
    sandbox.file(".planning/phases/01-frame/01-01-SUMMARY.md", SUMMARY).file("src/spar.py", "x\n");
    sandbox.commit("feat(01-01): sew");
    // The roadmap ticks the second one, which has no summary.
    assert_eq!(next(&sandbox), ["verify 01-02-cut"]);
    assert_eq!(checklist::steps(&sandbox, "gsd", "completed"), ["01-01-sew"]);
    assert!(!said(&sandbox).contains("has a summary and no plan"));
    assert!(patch(&sandbox).contains("+- [x] 01-01-PLAN.md"));
}

#[test]
fn commits_name_a_plan_without_the_code_of_the_project() {
    let sandbox = project("### Phase 1: Frame\n");
    add(&sandbox, "CK-01-frame", "CK-01-01", "");
    sandbox.commit("docs: plan");
    sandbox.file("src/other.py", "x = 1\n").commit("feat(01-01): it");
    assert_eq!(next(&sandbox), ["retry CK-01-01"]);
}

#[test]
fn phases_of_archived_milestones_are_history() {
    let sandbox = begun("### Phase 2: Sail\n");
    let orphan = "phases/01-frame is left out";
    assert!(said(&sandbox).contains(orphan));
    sandbox.file(".planning/milestones/v1.0-ROADMAP.md", "# v1.0\n\n### Phase 1: Frame\n");
    assert!(!said(&sandbox).contains(orphan), "{}", said(&sandbox));
    assert_eq!(next(&sandbox), ["run 02"]);
}

#[test]
fn a_folder_that_was_there_before_is_no_result() {
    let sandbox = project("### Phase 1: Frame\n- [ ] 01-01-PLAN.md\n");
    sandbox.file("src/old.py", "x = 1\n").commit("feat: old");
    sandbox.file(
        ".planning/phases/01-frame/01-01-PLAN.md",
        "---\nfiles_modified: [src]\n---\n\n<objective>\nCut.\n</objective>\n",
    );
    sandbox.commit("docs: plan");
    assert_eq!(next(&sandbox), ["run 01-01"]);
    assert_eq!(patch(&sandbox), "");
}

#[test]
fn what_the_commits_of_a_summary_changed_is_no_trace_of_another_plan() {
    for named in [true, false] {
        let sandbox = kites();
        sandbox.file("src/cut.py", "def cut(): pass\n").file("src/sew.py", "def sew(): pass\n");
        let sha = sandbox.commit("feat: cut and sew");
        let commits = if named { format!("\n1. **cut** - `{}`\n", &sha[..7]) } else { String::new() };
        sandbox.file(".planning/phases/02-sail/02-01-SUMMARY.md", &format!("# Summary\n\nCut.\n{commits}"));
        sandbox.commit("docs(02-01): summary");
        let output = sandbox.piton(["plan", ".planning"]).run();
        let expected = if named { "run 02-02" } else { "verify 02-02" };
        assert_eq!(checklist::next(&output), [expected], "{output}");
        let note = "src/sew.py is there already, but only commits of other steps touched it";
        assert_eq!(checklist::reason(&output).contains(note), named, "{output}");
    }
}

#[test]
fn a_plan_whose_part_of_a_common_file_is_there_is_not_simply_run() {
    let sandbox = kites();
    let (path, text) = (".planning/phases/02-sail/02-02-PLAN.md", plan("src/cut.py", "depends_on: [02-01]\n"));
    for (needs, expected) in [("def ", "verify 02-02"), ("def sew", "run 02-02")] {
        sandbox.file(path, &text.replace("\"def \"", &format!("\"{needs}\"")));
        sandbox.file(".planning/phases/02-sail/02-01-SUMMARY.md", "# Summary\n\nCut.\n");
        sandbox.file("src/cut.py", "def cut(): pass\n");
        sandbox.commit("cut");
        let output = sandbox.piton(["plan", ".planning"]).run();
        assert_eq!(checklist::next(&output), [expected], "{needs}: {output}");
    }
}

#[test]
fn a_file_in_a_workstream_means_its_run_and_its_state_is_no_work() {
    let sandbox = kites();
    sandbox.file(".planning/workstreams/tail/ROADMAP.md", "# Roadmap\n\n### Phase 1: Tail\n");
    sandbox.file(".planning/workstreams/tail/phases/01-tail/01-01-PLAN.md", &plan("src/tail.py", ""));
    sandbox.commit("plan a tail");
    let of = |path: &str| sandbox.piton(["plan", path]).run();
    for path in ["", "/ROADMAP.md", "/phases", "/phases/01-tail/01-01-PLAN.md"] {
        let output = of(&format!(".planning/workstreams/tail{path}"));
        assert_eq!(output.at("/data/run/id"), "gsd-tail", "{path}: {output}");
    }
    assert_eq!(of(".planning/phases/02-sail").at("/data/run/id"), "gsd");
    sandbox.file(".planning/notes.md", "x");
    sandbox.commit("docs(01-01): notes");
    let output = of(".planning/workstreams/tail");
    assert_eq!(checklist::next(&output), ["run 01-01"], "{output}");
}

#[test]
fn a_number_that_is_no_plan_is_named_and_a_person_is_named_before_the_plan_runs() {
    let sandbox = kites();
    let with = |front: &str, task: &str| plan("src/cut.py", front).replace("</tasks>", &format!("{task}</tasks>"));
    let path = ".planning/phases/02-sail/02-01-PLAN.md";
    for (text, dangling, waits) in [
        (with("depends_on: [7]\n", ""), true, ""),
        (with("depends_on: [2]\n", ""), false, ""),
        (
            with("", "<task type=\"checkpoint:human-verify\">\n<name>Look</name>\n</task>\n"),
            false,
            "part 2 (Look) waits for a person",
        ),
        (with("autonomous: false\n", ""), false, "its plan says that it does not go on without a person"),
        (with("autonomous: true\n", ""), false, ""),
    ] {
        sandbox.file(path, &text);
        let output = sandbox.piton(["plan", ".planning"]).run();
        let findings = checklist::findings(&output);
        assert_eq!(findings.contains("dependency-dangling 02-01 depends on 7"), dangling, "{text}: {output}");
        let reason = output.at("/data/next/0/reason").as_str().unwrap_or_default().to_owned();
        assert!(reason.contains(waits) && reason.contains("person") != waits.is_empty(), "{text}: {output}");
    }
}

#[test]
fn ideas_of_a_backlog_are_no_phases_to_plan() {
    let sandbox = kites();
    let roadmap = format!("{ROADMAP}\n## Backlog\n\n### Phase 999.1: Two tails (BACKLOG)\n\n**Plans:** 0\n");
    sandbox.file(".planning/ROADMAP.md", &roadmap).file(".planning/phases/999.1-two-tails/.gitkeep", "");
    let output = sandbox.piton(["plan", ".planning", "--steps"]).run();
    assert_eq!(output.at("/data/steps/pending"), serde_json::json!(["02-01", "02-02"]), "{output}");
    sandbox.file(".planning/phases/999.1-two-tails/999.1-01-PLAN.md", &plan("src/tail.py", ""));
    let output = sandbox.piton(["plan", ".planning", "--steps"]).run();
    assert_eq!(output.at("/data/steps/pending"), serde_json::json!(["02-01", "02-02", "999.1-01"]), "{output}");
}
