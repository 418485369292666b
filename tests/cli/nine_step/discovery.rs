//! Where runs are found (docs/formats/nine-step.md#finding-runs), and what only looks like one.

use serde_json::json;

use super::{STATE, piton, project, state, with_fields};
use crate::support::Sandbox;

const LAST: &str = r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "completed""#;

fn of(feature: &str, at: &str) -> String {
    state(LAST).replace("\"quotes\"", &format!("\"{feature}\"")).replace("2026-01-31T11:30:00Z", at)
}

#[test]
fn a_run_is_found_from_anywhere_in_its_project() {
    let sandbox = project();
    sandbox.file(STATE, &state(LAST)).dir("src/deep").dir(".worktree/quotes/src/deep");
    for folder in ["", "src/deep", ".worktree", ".worktree/quotes", ".worktree/quotes/src/deep", ".plan"] {
        let output = sandbox.piton(["plan", "--steps"]).folder(folder.into()).run().expect_code(0);
        assert_eq!(output.at("/data/run/id"), "quotes", "{folder}");
        assert_eq!(output.at("/data/run/state_files"), json!([STATE]), "{folder}");
    }
}

#[test]
fn a_run_can_be_named_by_its_folder_or_file() {
    let sandbox = project();
    sandbox.file(STATE, &state(LAST)).worktree(".worktree/other", "feature/other");
    sandbox.file(".worktree/other/.workflow-state.json", &of("other", "2026-01-31T11:00:00Z"));
    let absolute = sandbox.root().join(".worktree/other");
    for (folder, argument) in [
        ("", "other"),
        ("", "2"),
        ("", ".worktree/other"),
        ("", ".worktree/other/"),
        ("", "./.worktree/other/.workflow-state.json"),
        ("", absolute.as_str()),
        (".worktree/quotes", "../other"),
        (".worktree/quotes", "other"),
        (".worktree/other", "."),
        (".worktree/other", ".workflow-state.json"),
    ] {
        let output = sandbox.piton(["plan", argument]).folder(folder.into()).run().expect_code(0);
        assert_eq!(output.at("/data/run/id"), "other", "{folder} {argument}");
    }
    for (folder, run) in [(".worktree/other", "other"), (".worktree/quotes", "quotes")] {
        let output = sandbox.piton(["plan", "--steps"]).folder(folder.into()).run().expect_code(0);
        assert_eq!(output.at("/data/run/id"), run);
    }
}

#[test]
fn a_linked_worktree_elsewhere_is_found_too() {
    let sandbox = project();
    sandbox.git(["worktree", "add", "--quiet", "-b", "feature/far", "../far"]);
    let far = sandbox.top().join("far");
    std::fs::write(far.join(".workflow-state.json"), of("far", "2026-01-31T11:30:00Z")).unwrap();
    for folder in [sandbox.root(), far.clone()] {
        let output = sandbox.piton(["plan"]).folder(&folder).run().expect_code(0);
        assert_eq!(output.at("/data/run/id"), "far");
        assert_eq!(output.at("/data/run/root"), "$TOP/far");
    }
    sandbox.piton(["begin", "4"]).run().expect_code(0);
    sandbox.piton(["finish", "4", "--verdict", "approved"]).folder(&far).run().expect_code(0);
    assert_eq!(sandbox.git_in("../far", ["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn several_runs_are_listed_newest_first_without_a_guess() {
    let sandbox = project();
    sandbox.worktree(".worktree/old", "feature/old").worktree(".worktree/new", "feature/new");
    sandbox.file(STATE, &state(LAST));
    sandbox.file(".worktree/old/.workflow-state.json", &of("old", "2026-01-29T12:00:00Z"));
    sandbox.file(".worktree/new/.workflow-state.json", &of("new", "2026-01-31T11:58:00Z"));
    for verb in ["plan", "context", "resume", "status", "pause"] {
        let output = piton(&sandbox, 8, [verb]);
        assert_eq!(output.at("/error/code"), "ambiguous", "{verb}");
    }
    let text = piton(&sandbox, 8, ["plan", "--format", "text"]);
    insta::assert_snapshot!(text, @r"
    code: 8
    ----- stderr -----
    ⚠️  Found interrupted workflows: 3. Choose one
    → piton plan new   # 1. Phase 2: run 2:4 (Code review), 2 minutes ago
    → piton plan quotes   # 2. Phase 2: run 2:4 (Code review), 30 minutes ago
    → piton plan old   # 3. Phase 2: run 2:4 (Code review), 2 days ago
    ");
    let list = piton(&sandbox, 0, ["list"]);
    let runs = list.at("/data/runs");
    let names: Vec<&str> = runs.as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(names, ["new", "quotes", "old"]);
    assert_eq!(piton(&sandbox, 0, ["plan", "1"]).at("/data/run/id"), "new");
    assert_eq!(sandbox.piton(["begin", "4"]).run().code, 8);
    piton(&sandbox, 0, ["begin", "4", "--run", "old"]);
}

#[test]
fn look_alikes_backups_and_temporary_files_are_no_runs() {
    let sandbox = project();
    sandbox
        .file(".worktree/quotes/.workflow-state.json", r#"{"version": 3, "tasks": [], "state": "idle"}"#)
        .file("workflow-state.json", r#"{"currentNode": "a"}"#)
        .file(".worktree/quotes/.workflow-state.json.backup", &state(LAST))
        .file(".worktree/quotes/.workflow-state.json.tmp", &state(LAST))
        .file(".worktree/quotes/node_modules/x/.workflow-state.json", &state(LAST));
    let output = piton(&sandbox, 3, ["list"]);
    assert_eq!(output.findings(), ["look-alike", "look-alike"]);
    let text = piton(&sandbox, 3, ["list", "--format", "text"]);
    assert!(text.stderr.starts_with("❌ No interrupted workflow found.\n"), "{text}");
    assert!(text.stderr.contains("`workflow-state.json` is not a nine-step state file"), "{text}");
}

#[test]
fn a_nested_repository_keeps_its_runs_to_itself() {
    let sandbox = project();
    sandbox.file("nested/.worktree/f/.workflow-state.json", &state(LAST));
    sandbox.git_in("nested", ["init", "--quiet", "--initial-branch=main"]);
    piton(&sandbox, 3, ["list"]);
    sandbox.piton(["plan"]).folder("nested".into()).run().expect_code(0);
}

#[test]
fn a_state_beside_the_plan_moves_into_the_worktree_with_the_next_change() {
    let sandbox = Sandbox::new();
    sandbox.file(".plan/quotes_plan.md", "# Plan\n").git_init();
    let last = r#""phase": 1, "step": 2, "status": "approved""#;
    sandbox.file(".plan/quotes.workflow-state.json", &with_fields(last, r#""total_phases": 1"#));
    sandbox.file(".plan/quotes.workflow-state.json.backup", "{}");
    let plan = piton(&sandbox, 9, ["plan", "--steps"]);
    assert_eq!(plan.at("/data/next/0/step"), "1:2.5");
    assert_eq!(plan.at("/data/run/state_files"), json!([".plan/quotes.workflow-state.json"]));
    sandbox.worktree(".worktree/feat-quotes", "feature/quotes");
    let approved = piton(&sandbox, 0, ["approve", "2.5"]);
    assert_eq!(approved.at("/data/files/0"), ".worktree/feat-quotes/.workflow-state.json");
    assert_eq!(approved.at("/data/next"), "piton begin 1:3 --run quotes");
    let state = sandbox.read_json(".worktree/feat-quotes/.workflow-state.json");
    assert_eq!(state["worktree_path"], ".worktree/feat-quotes");
    assert!(!sandbox.exists(".plan/quotes.workflow-state.json"));
    assert!(!sandbox.exists(".plan/quotes.workflow-state.json.backup"));
    assert_eq!(piton(&sandbox, 0, ["list"]).at("/data/runs/0/id"), "quotes");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

#[test]
fn what_was_proved_before_the_move_is_proved_after_it() {
    // Any change moves it: the approval, or the beginning of the next step.
    for by_approval in [true, false] {
        let sandbox = Sandbox::new();
        sandbox.file(".plan/quotes_plan.md", "# Plan\n").file(".plan/notes.md", "notes\n").git_init();
        piton(&sandbox, 0, ["start", "nine-step", "--feature", "quotes", "--phases", "1"]);
        piton(&sandbox, 0, ["begin", "1"]);
        piton(&sandbox, 0, ["finish", "1", "--output", ".plan/notes.md"]);
        piton(&sandbox, 0, ["finish", "2", "--verdict", "approved"]);
        if by_approval {
            sandbox.worktree(".worktree/quotes", "feature/quotes");
            piton(&sandbox, 0, ["approve", "2.5"]);
        } else {
            piton(&sandbox, 0, ["approve", "2.5"]);
            sandbox.worktree(".worktree/quotes", "feature/quotes");
            let begun = piton(&sandbox, 0, ["begin", "3"]);
            assert_eq!(begun.at("/data/files/0"), ".worktree/quotes/.workflow-state.json");
            assert_eq!(begun.at("/data/revision"), piton(&sandbox, 0, ["plan"]).at("/data/run/revision"));
        }
        piton(&sandbox, 0, ["plan"]);
        sandbox.remove(".plan/notes.md");
        let plan = piton(&sandbox, 9, ["plan"]);
        assert_eq!(plan.findings()[0], "output-missing");
        assert_eq!(plan.at("/data/steps/invalid/0"), "1:1");
    }
}

#[test]
fn of_two_states_of_one_feature_the_one_in_the_worktree_counts() {
    let sandbox = project();
    sandbox.file(STATE, &state(LAST));
    let early = with_fields(r#""phase": 1, "step": 1, "status": "completed""#, "");
    sandbox.file(".plan/quotes.workflow-state.json", &early);
    let plan = piton(&sandbox, 0, ["plan", "--steps"]);
    assert_eq!(plan.at("/data/run/state_files"), json!([STATE]));
    let list = piton(&sandbox, 0, ["list"]);
    assert_eq!(list.at("/data/runs").as_array().unwrap().len(), 1);
    assert_eq!(list.findings(), ["temporary-left"]);
}

#[test]
fn a_worktree_of_a_worktreeless_project_is_its_own_root() {
    let sandbox = Sandbox::new();
    sandbox.file(".workflow-state.json", &state(LAST));
    let plan = piton(&sandbox, 0, ["plan", "--steps"]);
    assert_eq!(plan.at("/data/run/state_files"), json!([".workflow-state.json"]));
    assert_eq!(piton(&sandbox, 0, ["context"]).at("/data/agent_context/worktree_path"), "$ROOT");
}

#[test]
fn a_worktree_to_which_git_lost_the_way_still_belongs_to_the_project() {
    let renamed = project();
    renamed.file(STATE, &state(LAST));
    std::fs::rename(renamed.root().join(".worktree/quotes"), renamed.root().join(".worktree/other")).expect("renamed");
    let plan = piton(&renamed, 0, ["plan", "--steps"]);
    assert_eq!(plan.at("/data/run/state_files"), json!([".worktree/other/.workflow-state.json"]));

    let recorded = || with_fields(LAST, r#""total_phases": 3, "branch_name": "feature/quotes""#);
    let copied = project();
    copied.file(STATE, &recorded());
    let (from, to) = (copied.root(), copied.top().join("copy"));
    copied.tool("/bin/cp", ["-R", from.as_str(), to.as_str()]).run().expect_code(0);
    for folder in [to.clone(), to.join(".worktree/quotes")] {
        let plan = copied.piton(["plan", "--steps"]).folder(&folder).run().expect_code(0);
        assert_eq!(plan.at("/data/run/state_files"), json!([STATE]), "{folder}");
    }

    let moved = project();
    moved.file(STATE, &recorded());
    let (from, to) = (moved.root(), moved.top().join("moved"));
    std::fs::rename(&from, &to).expect("moved");
    let plan = moved.piton(["plan", "--steps"]).folder(&to).run().expect_code(0);
    assert_eq!(plan.at("/data/run/state_files"), json!([STATE]));
    assert_eq!(plan.at("/findings/0/code"), "not-in-git", "{plan}");
    assert_eq!(plan.at("/findings/0/fix"), "if it was moved: git worktree repair .worktree/quotes");
    moved.piton(["begin", "2:4"]).folder(&to).run().expect_code(0);
}
