//! Lists that are cut off, lack a line or have conflict markers: no panic, and nothing wrong is called done.

use super::next;
use super::plan;
use super::steps;
use crate::support::Sandbox;
use crate::support::takes_all;

const SPECKIT: &str = "# Tasks: Ä\n\n## Phase 1: Setup\n\n- [x] T001 Add a in src/a.rs\n- [x] T002 [P] Add b\n  - [x] part\n\n```sh\n- [ ] T9\n```\n\n## Phase 2: \
                       Core\n\n- [ ] T003 Add c (depends on T001)\n- [ ] T004 [US1] Add d\n\n#### T005: e\n**File**: `src/e.rs`\n- [ ] one\n";
const OPENSPEC: &str = "## 1. A\n- [x] 1.1 one\n- [x] 1.2 two\n## 2. B\n- [ ] 2.1 three\n- [ ] four\n";
const SUPERPOWERS: &str = "# P\n\n### Task 1: a\n\n**Files:**\n- Create: `src/a.rs`\n\n- [x] **Step 1: b**\n\n### Task 2: c\n\n- [x] **Step 1: d**\n\n### Task 3: \
                           e\n\n- [ ] **Step 1: f**\n";

/// The lists with the ids that are ticked in them.
const LISTS: [(&str, &str, &[&str]); 3] = [
    ("specs/001-a/tasks.md", SPECKIT, &["T001", "T002"]),
    ("openspec/changes/a/tasks.md", OPENSPEC, &["1.1", "1.2"]),
    ("docs/superpowers/plans/2026-01-02-a.md", SUPERPOWERS, &["task-1", "task-2"]),
];

/// Plans a changed list, and checks that it calls nothing done that is not ticked in it.
fn check(sandbox: &Sandbox, path: &str, bytes: &[u8], ticked: &[&str], what: &str) {
    sandbox.bytes(path, bytes);
    let output = plan(sandbox, path);
    assert!([0, 3, 4, 9].contains(&output.code), "{path} {what}: {output}");
    let wrong: Vec<String> =
        steps(sandbox, path, "completed").into_iter().filter(|id| !ticked.contains(&id.as_str())).collect();
    assert!(wrong.is_empty(), "{path} {what}: {wrong:?}");
    let again: Vec<String> = next(&output)
        .into_iter()
        .filter(|step| step.starts_with("run ") && ticked.iter().any(|id| step == &format!("run {id}")))
        .collect();
    assert!(again.is_empty(), "{path} {what}: {again:?}");
}

#[test]
fn a_list_that_is_cut_off_says_nothing_wrong() {
    for (path, text, ticked) in LISTS {
        let sandbox = Sandbox::new();
        let step = if takes_all("PITON_PLANS") { 1 } else { 37 };
        for end in (0..text.len()).step_by(step) {
            check(&sandbox, path, &text.as_bytes()[..end], ticked, &format!("cut at {end}"));
        }
    }
}

#[test]
fn a_list_without_one_of_its_lines_says_nothing_wrong() {
    for (path, text, ticked) in LISTS {
        let sandbox = Sandbox::new();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        let step = if takes_all("PITON_PLANS") { 1 } else { 3 };
        for without in (0..lines.len()).step_by(step) {
            let rest: String =
                lines.iter().enumerate().filter(|(at, _)| *at != without).map(|(_, line)| *line).collect();
            // Ids that are made of places move up.
            let is_numbered = path.starts_with("openspec");
            let ticked: Vec<&str> = ticked.iter().copied().chain(is_numbered.then_some("2")).collect();
            check(&sandbox, path, rest.as_bytes(), &ticked, &format!("without line {}", without + 1));
        }
    }
}

#[test]
fn a_list_with_conflict_markers_is_planned_by_a_person() {
    for (path, text, _) in LISTS {
        let sandbox = Sandbox::new();
        let lines: Vec<&str> = text.split_inclusive('\n').collect();
        for at in (0..lines.len()).step_by(if takes_all("PITON_PLANS") { 1 } else { 5 }) {
            let (head, tail) = lines.split_at(at);
            sandbox.file(
                path,
                &format!("{}<<<<<<< HEAD\n- [x] a\n=======\n- [ ] a\n>>>>>>> b\n{}", head.concat(), tail.concat()),
            );
            let output = plan(&sandbox, path);
            assert_ne!(output.code, 0, "{path} {at}: {output}");
            assert!(output.stdout.contains("merge conflict") || output.code == 3, "{path} {at}: {output}");
        }
    }
}

#[test]
fn hostile_lists_are_read_in_time() {
    let sandbox = Sandbox::new();
    let path = "specs/001-a/tasks.md";
    let many: String = (0..20_000)
        .map(|at| format!("- [ ] T{:03} [P] Add src/f{at}.rs (depends on T001-T999)\n", at % 1000))
        .collect();
    let long = format!(
        "- [ ] T001 {}\n- [ ] T002 \u{1b}[31m`../../etc/passwd.txt` `/etc/shadow.txt`\u{202e}\n",
        "x ".repeat(100_000)
    );
    for text in
        [many, long, "- [ ] T001 ((((((((((\n".repeat(2_000), "#".repeat(100_000), "\u{0}- [ ] T001 \u{0}\n".to_owned()]
    {
        sandbox.file(path, &text);
        let started = std::time::Instant::now();
        let output = plan(&sandbox, path);
        assert!([0, 3, 4, 9].contains(&output.code), "{}", output.code);
        assert!(!output.stdout.contains('\u{1b}') && !output.stdout.contains('\u{202e}'));
        assert!(started.elapsed().as_secs() < 60, "{:?}", started.elapsed());
    }
}

#[test]
fn lists_that_are_too_large_are_named() {
    let sandbox = Sandbox::new();
    let list = format!("# Tasks\n\n- [x] T001 a\n- [ ] T002 b\n{}", "x".repeat(5 << 20));
    sandbox.file("specs/001-a/tasks.md", &list);
    let output = sandbox.piton(["list"]).run();
    assert!(output.stdout.contains("part-unreadable") && output.stdout.contains("specs/001-a/tasks.md"), "{output}");
}

#[test]
fn workflows_of_spec_kit_that_did_not_end_are_named() {
    let sandbox = Sandbox::new();
    sandbox.file("specs/001-a/tasks.md", "# Tasks\n\n- [x] T001 a\n- [ ] T002 b\n");
    let state = "{\"run_id\": \"ab12\", \"status\": \"running\", \"current_step_id\": \"implement\"}";
    sandbox.file(".specify/workflows/runs/ab12/state.json", state);
    sandbox.file(".specify/workflows/runs/cd34/state.json", "{\"status\": \"completed\"}");
    let output = sandbox.piton(["list"]).run();
    assert!(output.stdout.contains("a workflow of Spec Kit is running, at step implement: ab12"), "{output}");
    assert!(!output.stdout.contains("cd34"), "{output}");
}
