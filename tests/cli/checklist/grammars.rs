//! What a task is in each system, and what the plan says about it.

use serde_json::json;

use super::{findings, next, plan, reason, steps};
use crate::{cli::claude::trace, support::Sandbox};

const TASKS: &str = "specs/001-login/tasks.md";
const RUN: &str = "speckit-001-login";

fn speckit(text: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(TASKS, text);
    sandbox
}

#[test]
fn a_feature_continues_with_its_first_open_task_and_says_what_is_done_behind_it() {
    let text = "# Tasks: Login\n\n## Phase 1: Setup\n\n- [x] T001 Create the project\n- [ ] T002 Check it by hand (requires a device)\n- [x] T003 \
                Configure linting\n\n## Phase 2: Core\n\n- [ ] T004 Add the form\n";
    let sandbox = speckit(text);
    let before = sandbox.everything();
    let output = plan(&sandbox, RUN).expect_code(0);
    assert_eq!(next(&output), ["run T002"]);
    let reason = reason(&output);
    assert!(
        reason.contains("requires a device") && reason.contains("T003, which stands behind it, is done"),
        "{reason}"
    );
    assert_eq!(output.at("/data/run/workflow"), "speckit");
    assert_eq!(output.at("/data/run/title"), "Login");
    assert_eq!(output.at("/data/progress"), serde_json::json!({"done": 2, "total": 4}));
    assert_eq!(output.at("/data/commands/begin"), serde_json::Value::Null);
    for path in [TASKS, "specs/001-login"] {
        assert_eq!(next(&plan(&sandbox, path)), ["run T002"], "{path}");
    }
    let context = sandbox.piton(["context", RUN]).run().expect_code(0);
    assert!(context.stdout.contains("T002 Check it by hand"), "{context}");
    for verb in ["begin", "pause", "skip T002", "approve T002", "abort", "archive", "finish T002"] {
        let arguments: Vec<&str> = verb.split(' ').chain(["--run", RUN]).collect();
        assert_ne!(sandbox.piton(arguments).run().code, 0, "{verb}");
    }
    assert_eq!(before.changes(&sandbox.everything()), [""; 0]);
}

#[test]
fn tasks_are_read_in_every_spelling() {
    let text = "\u{feff}# Tasks: ログイン\r\n\r\n## Format: `[ID] [P?] Description`\r\n- **[P]**: parallel\r\n\r\n## フェーズ 1\r\n\r\n* [X] **T001** 作成 `src/a.py`\r\n\
                1. [x] `T002`: b\r\n- [ ] SKIP: T003 (no need)\r\n- [x] ~~T004 old~~\r\n- [~] T005 half\r\n- [ ] T006-MIN c\r\n```\r\n- [ ] T007 \
                code\r\n```\r\n<!-- - [ ] T008 comment -->\r\n\r\n## Parallel Example: US1\r\n\r\n- [ ] T009 not a task\r\n\r\n## Validation \
                Checklist\r\n- [x] all covered: T001\r\n";
    let sandbox = speckit(text);
    let output = plan(&sandbox, RUN);
    assert_eq!(steps(&sandbox, RUN, "completed"), ["T001", "T002"]);
    assert_eq!(steps(&sandbox, RUN, "skipped"), ["T003", "T004"]);
    assert_eq!(next(&output), ["run T005"]);
    assert_eq!(output.at("/data/progress/total"), 6);
    assert!(findings(&output).contains("status-alias [~] is no tick"), "{}", findings(&output));
}

#[test]
fn headings_are_tasks_where_their_boxes_have_no_ids() {
    let text = "# Tasks\n\n### Phase 0 [COMPLETED]\n- [x] think\n\n### Phase 1: Core\n\n#### T001: Add a [P]\n**File**: `src/a.rs`\n- [x] compiles\n- [x] \
                tested\n\n#### T002: Add b\n- [x] one\n- [ ] two\n\n#### T003-T005: later\n\n- [ ] T003 c\n";
    let sandbox = speckit(text);
    let output = plan(&sandbox, RUN);
    assert_eq!(steps(&sandbox, RUN, "completed"), ["T001"]);
    assert_eq!(next(&output), ["retry T002"]);
    assert!(reason(&output).contains("continue with box 2 of 2, two"), "{}", reason(&output));
    assert_eq!(output.at("/data/progress/total"), 3);
}

#[test]
fn a_heading_may_have_the_box_or_the_status_of_its_task() {
    for (text, action) in [
        ("### T002 — [x] Add `src/a.rs` [P]\n\n- one\n", None),
        ("## [x] T002 — Add\n\n- one\n", None),
        ("### T002 — [ ] Add\n\n- one\n", Some("run")),
        ("### T002 — [x] Add\n\n- [ ] one\n", Some("verify")),
        ("### T002: Add\n\n- **Status**: done\n", None),
        ("### T002: Add\n\n- **状态**：`completed`\n", None),
        ("### T002: Add\n\n- **Status**: ⏳ Not started\n", Some("run")),
        ("### T002: Add\n\n**Status:** Done\n\n- [ ] one\n", Some("verify")),
        ("### T002: Add\n\n**Status:** TODO\n\n- [x] one\n", Some("verify")),
        ("### T002: Add\n\n**File**: `src/a.rs`\n\n## Checklist\n\n- [x] T002: Add it all\n", None),
        ("### T002: Add\n\n**File**: `src/a.rs`\n\n## Checklist\n\n- [ ] T002: Add it all\n", Some("run")),
        ("## List\n- [x] T002: Add it\n\n## Details\n\n### T002\n- **Scope**: all\n", None),
        ("## List\n- [ ] T002: Add it\n\n## Details\n\n### T002\n- **Status**: done\n", Some("verify")),
        ("## Phase 2: Core\n**Status**: ✅ Complete\n- [ ] T002 Add it\n", Some("verify")),
    ] {
        let sandbox = speckit(&format!("# Tasks\n\n## Phase 1\n- [x] T001 a\n\n{text}"));
        let output = plan(&sandbox, RUN);
        let expected: Vec<String> = action.map(|action| format!("{action} T002")).into_iter().collect();
        assert_eq!(next(&output), expected, "{text}");
        assert_eq!(output.at("/data/progress/total"), 2, "{text}");
        assert_eq!(steps(&sandbox, RUN, "completed").len(), if action.is_none() { 2 } else { 1 }, "{text}");
        if action == Some("verify") && text.contains("[ ] ") {
            let patch = sandbox.piton(["plan", RUN, "--patch", "--answer", "T002=done"]).run();
            assert!(patch.at("/data/patch/diff").as_str().is_some_and(|diff| diff.contains("[x]")), "{text}: {patch}");
        }
    }
    let sandbox = speckit("# Tasks\n\n### T001 — [ ] Add `src/a.rs`\n\n- one\n");
    let output = plan(&sandbox, RUN);
    assert_eq!(output.at("/data/next/0/title"), "Add `src/a.rs`");
}

#[test]
fn a_list_whose_head_calls_it_complete_is_looked_at_before_anything_runs() {
    for head in ["**Status**: ✅ Complete\n", "---\nstatus: complete\n---\n"] {
        let sandbox = speckit(&format!("{head}# Tasks\n\n## Phase 1\n- [x] T001 a\n- [ ] T002 b\n"));
        assert_eq!(next(&plan(&sandbox, RUN)), ["verify T002"], "{head}");
        let path = "docs/plans/a.md";
        sandbox.file(
            path,
            &format!(
                "{head}# Plan\n\n## Task 1: a\n\n**Files:**\n- Create: `a.rs`\n\n## Task 2: b\n\n**Status:** done\n"
            ),
        );
        assert_eq!(next(&plan(&sandbox, path)), ["verify task-1", "verify task-2"], "{head}");
    }
    let sandbox = speckit("**Status**: Ready for work\n# Tasks\n\n## Phase 1\n- [x] T001 a\n- [ ] T002 b\n");
    assert_eq!(next(&plan(&sandbox, RUN)), ["run T002"]);
}

#[test]
fn words_beside_a_box_are_a_reason_to_look() {
    for (line, action) in [
        ("- [ ] T002 Add the form ✅", "verify T002"),
        ("- [ ] T002 Add the form (done)", "verify T002"),
        ("- [✓] T002 Add the form", "verify T002"),
        ("- [x] T002 Add the form (PARTIAL: no tests)", "verify T002"),
        ("- [x] T002 Add the form\n  - [ ] tests", "verify T002"),
        ("- [ ] T002 Add the form\n  - [x] tests", "verify T002"),
        ("- [ ] T002 Add the form\n- [x] T002 Add the form", "verify T002"),
        ("- [ ] T002 Add the states (OPEN, DONE)", "run T002"),
    ] {
        let sandbox = speckit(&format!("# Tasks\n\n## Phase 1\n- [x] T001 a\n{line}\n"));
        let output = plan(&sandbox, RUN);
        assert_eq!(next(&output), [action], "{line}");
        let is_confirm = output.at("/data/verdict") == "confirm";
        assert_eq!(is_confirm, action.starts_with("verify"), "{line}");
        assert!(!steps(&sandbox, RUN, "completed").contains(&"T002".to_owned()), "{line}");
    }
}

#[test]
fn stories_wait_for_the_foundation_and_not_for_each_other() {
    let text = "# Tasks\n## Phase 1: Setup\n- [x] T001 a\n## Phase 2: Foundational\n- [ ] T002 [P] b in src/b.rs\n- [ ] T003 [P] c in src/c.rs\n- [ ] T004 \
                [P] d in src/c.rs\n## Phase 3: User Story 1\n- [ ] T005 [US1] e\n## Phase 4: User Story 2\n- [ ] T006 [US2] f\n## Phase 5: User Story 3\n- [ ] \
                T007 [US3] g\n## Phase 6: Polish\n- [ ] T008 h\n## Dependencies\n- **User Story 3 (P3)**: Depends on US1 completion\n";
    let sandbox = speckit(text);
    let parallel = |sandbox: &Sandbox| next(&sandbox.piton(["plan", RUN, "--parallel"]).run());
    assert_eq!(next(&plan(&sandbox, RUN)), ["run T002", "run T003"]);
    assert_eq!(parallel(&sandbox), ["run T002", "run T003"]);
    let done = text
        .replace("- [ ] T002", "- [x] T002")
        .replace("- [ ] T003", "- [x] T003")
        .replace("- [ ] T004", "- [x] T004");
    let sandbox = speckit(&done);
    assert_eq!(next(&plan(&sandbox, RUN)), ["run T005"]);
    assert_eq!(parallel(&sandbox), ["run T005", "run T006"]);
    let sandbox = speckit(&done.replace("- [ ] T005", "- [x] T005"));
    assert_eq!(parallel(&sandbox), ["run T006", "run T007"]);
}

#[test]
fn several_tasks_that_were_passed_over_are_for_a_person() {
    let sandbox = speckit("# Tasks\n## Phase 1\n- [ ] T001 a\n- [x] T002 b\n- [ ] T003 c\n- [x] T004 d\n");
    let output = plan(&sandbox, RUN).expect_code(9);
    assert!(findings(&output).contains("step-passed-over open, although tasks behind them are done: T001, T003"));
    assert_eq!(next(&output), ["run T001"]);
}

#[test]
fn open_quality_lists_are_a_gate_before_the_first_task_only() {
    let text = "# Tasks\n## Phase 1\n- [ ] T001 a\n- [ ] T002 b\n";
    let sandbox = speckit(text);
    sandbox.file("specs/001-login/checklists/requirements.md", "# Quality\n- [x] clear\n- [ ] testable\n");
    let output = plan(&sandbox, RUN);
    assert_eq!(next(&output), ["approve checklists"]);
    let why = reason(&output);
    assert!(why.starts_with("1 box is open in checklists/, the first in requirements.md: testable: "), "{why}");
    let boxes: String = (1..=7).map(|at| format!("- [ ] CHK00{at} Is it clear? [Gap]\n")).collect();
    sandbox.file("specs/001-login/checklists/api.md", &boxes);
    let why = reason(&plan(&sandbox, "speckit-001-login"));
    let named = "8 boxes are open in checklists/, the first in api.md: CHK001, CHK002, CHK003, CHK004, CHK005 (+3): ";
    assert!(why.starts_with(named), "{why}");
    sandbox.remove("specs/001-login/checklists/api.md");
    sandbox.file(TASKS, &text.replace("- [ ] T001", "- [x] T001"));
    let output = plan(&sandbox, RUN).expect_code(0);
    assert_eq!(next(&output), ["run T002"]);
    assert!(findings(&output).contains("boxes-left 1 box is open"), "{}", findings(&output));
}

#[test]
fn a_list_that_ends_inside_of_a_code_block_is_never_complete() {
    let sandbox = speckit("# Tasks\n- [x] T001 a\n```\n- [ ] T002 b\n");
    let output = plan(&sandbox, RUN).expect_code(9);
    assert_ne!(output.at("/data/verdict"), "complete");
    assert!(findings(&output).contains("is never closed"));
    // Without the line that opens a block, everything behind it is in one. It is a list all the same, and no plan of another kind.
    let sandbox = speckit("# Tasks\n\n1. read\n2. write\n```\n\n- [x] T001 a\n- [x] T002 b\n");
    let output = plan(&sandbox, TASKS);
    assert_eq!((output.at("/data/run/id"), steps(&sandbox, TASKS, "completed")), (RUN.into(), Vec::new()), "{output}");
    assert_eq!(output.at("/data/verdict"), "confirm");
}

#[test]
fn a_change_has_its_own_numbers_and_is_archived_in_the_end() {
    let sandbox = Sandbox::new();
    let path = "openspec/changes/add-cache/tasks.md";
    let text = "## 1. Core\n- [x] 1.1 Add the cache\n- [x] **1.2** Add keys\n- [ ] next box\n- [A](b)\n## 2. Tests\n1) [ ] write them\n";
    sandbox.file(path, text).file("openspec/changes/add-cache/proposal.md", "# Why\n");
    let output = plan(&sandbox, "openspec-add-cache").expect_code(0);
    assert_eq!(next(&output), ["run 1.3"]);
    assert_eq!(output.at("/data/progress"), serde_json::json!({"done": 2, "total": 4}));
    assert_eq!(output.at("/data/native/after"), "openspec archive add-cache");
    sandbox.file("openspec/changes/add-cache/specs/cache/spec.md", "# Cache\n");
    let brief = sandbox.piton(["context", "openspec-add-cache"]).run().expect_code(0);
    assert!(brief.stdout.contains("openspec/changes/add-cache/specs/cache/spec.md"), "{brief}");
    sandbox.remove("openspec/changes/add-cache/specs/cache/spec.md");
    let resumed = sandbox.piton(["resume", "openspec-add-cache"]).run().expect_code(0);
    assert!(resumed.stdout.contains("/opsx:apply add-cache"), "{resumed}");
    sandbox.file(".claude/commands/openspec/apply.md", "x");
    let resumed = sandbox.piton(["resume", "openspec-add-cache"]).run().expect_code(0);
    assert!(resumed.stdout.contains("/openspec:apply add-cache"), "{resumed}");
    sandbox.file(path, &text.replace("[ ]", "[x]"));
    let output = plan(&sandbox, "openspec-add-cache").expect_code(0);
    assert_eq!(output.at("/data/verdict"), "complete");
    assert!(findings(&output).contains("not-archived"), "{}", findings(&output));
    sandbox.file(path, "no boxes\n");
    assert_eq!(next(&plan(&sandbox, path)), ["verify tasks"]);
    sandbox.remove(path);
    assert_eq!(next(&plan(&sandbox, "openspec-add-cache")), ["run specs"]);
    sandbox.file("openspec/changes/add-cache/specs/cache/spec.md", "# Cache\n");
    assert_eq!(next(&plan(&sandbox, "openspec-add-cache")), ["run design"]);
    sandbox.file("openspec/changes/add-cache/design.md", "# Design\n");
    assert_eq!(next(&plan(&sandbox, "openspec-add-cache")), ["run tasks"]);
    let list = sandbox.piton(["list"]).run();
    assert!(!list.stdout.contains("\"openspec-add-cache\""), "{list}");
}

#[test]
fn a_task_with_nested_boxes_that_contradict_its_own_is_looked_at() {
    for (text, expected) in [
        ("- [x] 1. parent\n  - [ ] 1.1 child\n- [ ] 2. next\n", &["verify 1"][..]),
        ("- [x] 1. parent\n  - [x] 1.1 child\n- [ ] 2. next\n", &["run 2"]),
        ("- [ ] 2. parent\n  - [x] 2.1 child\n  - [x] 2.2 child\n", &["verify 2"]),
        ("- [ ] 2. parent\n  - [x] 2.1 child\n  - [ ] 2.2 child\n", &["run 2"]),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("openspec/changes/a/tasks.md", text).file("openspec/changes/a/proposal.md", "# Why\n");
        let output = plan(&sandbox, "openspec-a");
        let first: Vec<String> = next(&output).into_iter().take(expected.len()).collect();
        assert_eq!(first, expected, "{text}");
        assert!(!next(&output).contains(&"run 1.1".to_owned()), "{text}");
    }
}

#[test]
fn a_plan_of_superpowers_has_tasks_with_steps_and_a_ledger() {
    let sandbox = Sandbox::new();
    let path = "docs/superpowers/plans/2026-01-02-cache.md";
    let text = "# Cache\n\n### Task 1: Store\n\n**Files:**\n- Create: `src/store.rs`\n- Test: `tests/store.rs`\n\n- [x] **Step 1: a**\n- [ ] **Step 2: \
                b**\n\n````markdown\n### Task 9: not one\n- [ ] **Step 1**\n```\n````\n\n### Task 2: Read\n\n- [ ] **Step 1: a**\n\n### Task 3: Write\n\n- [ ] **Step \
                1: a**\n\n## Self-review\n\n- [ ] reread\n";
    sandbox.file(path, text);
    let output = plan(&sandbox, "superpowers-2026-01-02-cache");
    assert_eq!(next(&output), ["retry task-1"]);
    assert!(reason(&output).contains("continue with box 2 of 2"), "{}", reason(&output));
    assert_eq!(output.at("/data/progress/total"), 3);
    sandbox.file("src/store.rs", "x").file("tests/store.rs", "x");
    sandbox.git_init();
    let sha = sandbox.commit("plan");
    let ledger = ".superpowers/sdd/2026-01-02-cache/progress.md";
    sandbox.file(
        ledger,
        &format!(
            "# SDD ledger — plan: {path}\nTask 1: complete (commits {}..{}, review clean)\nTask 2: fix round 1/5\n",
            &sha[..7],
            &sha[..7]
        ),
    );
    let output = plan(&sandbox, path);
    assert_eq!(steps(&sandbox, path, "completed"), ["task-1"]);
    assert_eq!(next(&output), ["retry task-2"]);
    assert!(output.at("/data/native/next").as_str().is_some_and(|text| text.ends_with("from Task 2")), "{output}");
    let brief = sandbox.piton(["context", path]).run().expect_code(0);
    assert_eq!(brief.at("/data/reports/0/commit"), &sha[..7], "{brief}");
    assert!(brief.at("/data/reports/0/summary").as_str().is_some_and(|text| text.contains("review clean")), "{brief}");
    sandbox.file(ledger, &format!("# SDD ledger — plan: {path}\nTask 1: complete (commits abcdef1..abcdef2)\n"));
    let output = plan(&sandbox, path);
    assert_eq!(next(&output)[0], "verify task-1");
    assert!(findings(&output).contains("commit-not-found"), "{}", findings(&output));
    sandbox.file(ledger, "# SDD ledger — plan: docs/superpowers/plans/other.md\nTask 2: complete (commits abcdef1)\n");
    // The ledger of another plan says nothing; the files of the first task are there.
    assert_eq!(next(&plan(&sandbox, path)), ["verify task-1"]);
    assert!(steps(&sandbox, path, "completed").is_empty());
}

#[test]
fn a_plan_of_plan_mode_is_a_hint() {
    let sandbox = Sandbox::new();
    sandbox.file("notes/plan.md", "# Plan\n1. First\n2. Second\n");
    let output = plan(&sandbox, "notes/plan.md").expect_code(9);
    assert_eq!((next(&output), output.at("/data/verdict")), (vec!["run 1".to_owned()], "confirm".into()));
    assert!(!sandbox.piton(["list"]).run().stdout.contains("plan-plan"));
    // No walk finds it by its id.
    for command in
        [output.at("/data/commands/context"), output.at("/data/commands/resume"), output.at("/data/native/next")]
    {
        let command = command.as_str().unwrap_or_default();
        assert!(command.contains("/notes/plan.md"), "{command}");
        let command = command.replace("$ROOT", sandbox.root().as_str());
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        assert_eq!(sandbox.piton(words).run().code, 0, "{command}");
    }
    sandbox.file("notes/plan.md", "# Plan\n- [x] First\n- [x] Second\n");
    let output = plan(&sandbox, "notes/plan.md").expect_code(9);
    assert_eq!((next(&output), output.at("/data/verdict")), (vec!["verify plan".to_owned()], "confirm".into()));
    sandbox
        .file(".claude/settings.json", "{\"plansDirectory\": \"./notes\"}")
        .file("notes/plan.md", "- [x] a\n- [ ] b\n");
    assert!(sandbox.piton(["list"]).run().stdout.contains("plan-plan"));
}

#[test]
fn only_plans_that_were_begun_are_listed_after_runs_of_other_kinds() {
    let sandbox = Sandbox::new();
    for (name, boxes) in [("001-a", "x "), ("002-b", "  "), ("003-c", "xx")] {
        let lines: Vec<String> =
            boxes.chars().enumerate().map(|(at, mark)| format!("- [{mark}] T00{} a\n", at + 1)).collect();
        sandbox.file(&format!("specs/{name}/tasks.md"), &format!("# Tasks\n{}", lines.concat()));
    }
    sandbox.file("templates/specs/004-d/tasks.md", "- [x] T001 a\n- [ ] T002 b\n");
    let ids = |arguments: &[&str]| -> Vec<String> {
        let output = sandbox.piton(arguments.iter().copied()).run();
        let runs = output.at("/data/runs");
        runs.as_array().into_iter().flatten().filter_map(|run| run["id"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(ids(&["list"]), ["speckit-001-a"]);
    assert!(ids(&["list", "--all"]).contains(&"speckit-003-c".to_owned()));
    assert_eq!(next(&plan(&sandbox, "templates/specs/004-d/tasks.md")), ["run T002"]);
    assert_eq!(next(&plan(&sandbox, "speckit-002-b")), ["run T001"]);
}

#[test]
fn a_plan_that_a_session_approved_is_not_listed_beside_it() {
    let text = "# Kite\n\n- [x] Bend the spars\n- [ ] Sew the sail\n";
    for (file, is_covered) in [("notes/kite.md", true), ("notes/tail.md", false)] {
        let sandbox = Sandbox::with_git();
        sandbox.file(".claude/settings.json", "{\"plansDirectory\": \"notes\"}").file("notes/kite.md", text);
        let path = sandbox.root().join(file).into_string();
        trace::Trace::new(&sandbox)
            .prompt("Build it")
            .call("p", "ExitPlanMode", json!({"plan": text}))
            .result("p", "User has approved your plan.", json!({"plan": text, "filePath": path}))
            .creates_task("1", "Sew")
            .call("run", "Bash", json!({"command": "make"}))
            .write(&sandbox);
        let ids = |arguments: &[&str]| -> Vec<String> {
            let output = sandbox.piton(arguments.iter().copied()).run();
            let runs = output.at("/data/runs").as_array().cloned().unwrap_or_default();
            runs.iter().filter_map(|run| run["id"].as_str()).map(str::to_owned).collect()
        };
        let listed = ids(&["list"]);
        assert!(listed.contains(&trace::RUN.to_owned()), "{listed:?}");
        assert_eq!(listed.contains(&"plan-kite".to_owned()), !is_covered, "{file}: {listed:?}");
        assert!(ids(&["list", "--all"]).contains(&"plan-kite".to_owned()), "{file}");
        assert_eq!(plan(&sandbox, trace::RUN).at("/data/run/plan_reference"), file);
        assert_eq!(plan(&sandbox, "notes/kite.md").at("/data/verdict"), "confirm");
    }
}
