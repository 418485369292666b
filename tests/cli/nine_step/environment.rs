//! What git and the disk say before a run continues (docs/formats/nine-step.md#environment-checks).

use serde_json::json;

use super::{STATE, piton, project, with_fields};
use crate::support::{Output, Sandbox};

const LAST: &str = r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "completed""#;
const PLACES: &str = r#""total_phases": 3, "branch_name": "feature/quotes", "plan_reference": ".plan/quotes_plan.md""#;

fn recorded() -> Sandbox {
    let sandbox = project();
    sandbox.file(STATE, &with_fields(LAST, PLACES));
    sandbox
}

/// Returns the message of the only finding of this code.
#[track_caller]
fn message(output: &Output, code: &str) -> String {
    let findings = output.at("/findings");
    let found: Vec<&serde_json::Value> =
        findings.as_array().expect("it is a list").iter().filter(|one| one["code"] == code).collect();
    assert_eq!(found.len(), 1, "{output}");
    found[0]["message"].as_str().expect("it is a text").to_owned()
}

#[test]
fn a_valid_worktree_has_no_findings() {
    let plan = piton(&recorded(), 0, ["plan"]);
    assert_eq!(plan.findings(), [] as [&str; 0]);
    assert_eq!(plan.at("/data/run/branch"), "feature/quotes");
    assert_eq!(plan.at("/data/run/worktree"), ".worktree/quotes");
}

#[test]
fn a_worktree_on_another_branch_blocks() {
    let sandbox = recorded();
    sandbox.git_in(".worktree/quotes", ["checkout", "--quiet", "-b", "other"]);
    let before = sandbox.read(STATE);
    let plan = piton(&sandbox, 9, ["plan"]);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    let text = "Worktree state doesn't match workflow state. Expected branch: feature/quotes. Actual branch: other (in .worktree/quotes)";
    assert_eq!(message(&plan, "branch-mismatch"), text);
    let fix = "`git -C .worktree/quotes checkout feature/quotes`, or recreate the worktree, which loses uncommitted changes, or `piton abort quotes`";
    assert_eq!(plan.at("/findings/0/fix"), fix);
    assert_eq!(plan.at("/data/question/text"), format!("❌ {text}"));
    assert_eq!(plan.at("/data/question/default"), serde_json::Value::Null);
    piton(&sandbox, 9, ["resume", "--yes"]);
    assert_eq!(sandbox.read(STATE), before);
    let shown = piton(&sandbox, 9, ["plan", "--format", "text"]);
    let tail: Vec<&str> = shown.stdout.lines().rev().filter(|line| line.contains('#')).collect();
    let checkout = "→ git -C .worktree/quotes checkout feature/quotes   # check out feature/quotes";
    assert_eq!(tail, ["→ piton abort quotes   # abort the run", checkout]);
    sandbox.git_in(".worktree/quotes", ["checkout", "--quiet", "--detach"]);
    assert!(message(&piton(&sandbox, 9, ["plan"]), "branch-mismatch").contains("Actual branch: a detached HEAD"));
}

#[test]
fn a_worktree_that_is_gone_blocks() {
    let sandbox = project();
    sandbox.git(["worktree", "remove", ".worktree/quotes"]);
    let places = format!(r#"{PLACES}, "worktree_path": ".worktree/quotes""#);
    sandbox.file(".plan/quotes.workflow-state.json", &with_fields(LAST, &places));
    let plan = piton(&sandbox, 9, ["plan"]);
    let none = "the branch feature/quotes has no worktree, and main is checked out here: make the worktree before the next step";
    assert_eq!(message(&plan, "worktree-missing"), none);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    let refused = piton(&sandbox, 9, ["begin", "4"]);
    assert_eq!(refused.at("/error/message"), none);
    assert_eq!(refused.at("/error/hints/0"), "git worktree add .worktree/quotes feature/quotes");
}

/// The plan blocks: a step begun without it would work in the wrong place.
#[test]
fn nothing_is_begun_in_the_wrong_place_unless_a_person_overrides() {
    let sandbox = recorded();
    sandbox.git_in(".worktree/quotes", ["checkout", "--quiet", "-b", "other"]);
    let before = sandbox.tree().without(".piton");
    // Without git on the PATH: no process is needed to see it.
    let refused = sandbox.piton(["begin", "4"]).without_git().run().expect_code(9);
    let text = "Worktree state doesn't match workflow state. Expected branch: feature/quotes. Actual branch: other (in .worktree/quotes)";
    assert_eq!(refused.at("/error/message"), text);
    let checkout = "`git -C .worktree/quotes checkout feature/quotes`, or recreate the worktree, which loses uncommitted changes, or `piton abort quotes`";
    assert_eq!(refused.at("/error/hints"), json!([checkout, "piton override 2:4 --run quotes --by NAME --note WHY"]));
    assert_eq!(before.changes(&sandbox.tree().without(".piton")), [""; 0]);
    sandbox.piton(["override", "4", "--by", "Ana", "--note", "renamed"]).without_git().run().expect_code(0);
    let begun = sandbox.piton(["begin", "4"]).without_git().run().expect_code(0);
    let decision = begun.at("/data/brief/decisions/0");
    assert_eq!(
        (&decision["decision"], &decision["by"], &decision["despite"]),
        (&json!("override"), &json!("Ana"), &json!(text))
    );
    // It was for one attempt.
    sandbox.piton(["begin", "4", "--again"]).without_git().run().expect_code(9);
    sandbox.git_in(".worktree/quotes", ["checkout", "--quiet", "feature/quotes"]);
    let begun = piton(&sandbox, 0, ["begin", "4", "--again"]);
    assert_eq!(begun.findings(), [""; 0]);
}

#[test]
fn a_plan_document_that_is_gone_is_named() {
    for reference in [".plan/quotes_plan.md", "../../.plan/quotes_plan.md", "/somewhere/else/.plan/quotes_plan.md"] {
        let sandbox = project();
        sandbox.file(STATE, &with_fields(LAST, &PLACES.replace(".plan/quotes_plan.md", reference)));
        piton(&sandbox, 0, ["plan"]);
        sandbox.piton(["plan"]).folder(".worktree/quotes".into()).run().expect_code(0);
        sandbox.remove(".plan/quotes_plan.md");
        let plan = piton(&sandbox, 9, ["plan"]);
        assert_eq!(message(&plan, "plan-missing"), "the plan document .plan/quotes_plan.md does not exist");
        assert_eq!(plan.at("/data/verdict"), "confirm");
    }
}

#[test]
fn the_plan_lies_in_the_main_tree_also_for_a_worktree_elsewhere() {
    let sandbox = project();
    sandbox.git(["worktree", "add", "--quiet", "-b", "feature/far", "../far"]);
    let far = sandbox.top().join("far");
    let text = with_fields(LAST, &PLACES.replace("feature/quotes", "feature/far"));
    std::fs::write(far.join(".workflow-state.json"), text).unwrap();
    // A copy in the worktree itself is not the plan.
    std::fs::create_dir_all(far.join(".plan")).unwrap();
    std::fs::write(far.join(".plan/quotes_plan.md"), "stale").unwrap();
    for folder in [far.clone(), sandbox.root()] {
        let plan = sandbox.piton(["plan"]).folder(&folder).run().expect_code(0);
        assert_eq!(plan.findings(), ["worktree-dirty"]);
        let context = sandbox.piton(["context"]).folder(&folder).run().expect_code(0);
        assert_eq!(context.at("/data/required_reading/0/path"), "$ROOT/.plan/quotes_plan.md");
    }
    sandbox.remove(".plan/quotes_plan.md");
    for folder in [far, sandbox.root()] {
        let plan = sandbox.piton(["plan"]).folder(&folder).run().expect_code(9);
        message(&plan, "plan-missing");
    }
}

#[test]
fn the_commits_of_finished_phases_are_looked_for_by_ancestry() {
    let sandbox = project();
    let commit = |name: &str, folder: &str| {
        sandbox.file(&format!("{folder}/{name}.txt"), name);
        sandbox.git_in(folder, ["add", "--all"]);
        sandbox.git_in(folder, ["commit", "--quiet", "--message", name]);
        sandbox.git_in(folder, ["rev-parse", "HEAD"])
    };
    let reachable = commit("one", ".worktree/quotes");
    for count in ["a", "b", "c", "d", "e", "f"] {
        commit(count, ".worktree/quotes");
    }
    sandbox.worktree(".worktree/other", "feature/other");
    let elsewhere = commit("two", ".worktree/other");
    for (sha, expected) in [
        (reachable.as_str(), None),
        (&reachable[..7], None),
        (&elsewhere, Some("exists, but not in the history of this branch")),
        ("0123456789abcdef0123456789abcdef01234567", Some("is not known to git")),
    ] {
        let entry = format!(
            r#"{PLACES}, "completed_steps": [{{"phase": 1, "step": 9, "status": "completed", "commit_sha": "{sha}"}}]"#
        );
        sandbox.file(STATE, &with_fields(LAST, &entry));
        let plan = piton(&sandbox, if expected.is_some() { 9 } else { 0 }, ["plan", "--native"]);
        match expected {
            None => assert_eq!(plan.findings(), [] as [&str; 0], "{sha}"),
            Some(what) => {
                let short: String = sha.chars().take(12).collect();
                assert_eq!(
                    message(&plan, "commit-not-found"),
                    format!("step 1:9 recorded commit {short}, which {what}")
                );
            }
        }
        assert_eq!(
            plan.at("/data/native/completed_work/0"),
            format!("Phase 1: Step 1-9 completed (commit: {})", &sha[..7])
        );
    }
}

#[test]
fn a_commit_that_is_no_object_name_never_reaches_git() {
    let sandbox = project();
    for sha in ["--output=/tmp/x", "HEAD", "; rm -rf /", "abc"] {
        let entry = format!(
            r#"{PLACES}, "completed_steps": [{{"phase": 1, "step": 9, "status": "completed", "commit_sha": "{sha}"}}]"#
        );
        sandbox.file(STATE, &with_fields(LAST, &entry));
        assert_eq!(piton(&sandbox, 0, ["plan"]).findings(), [] as [&str; 0], "{sha}");
    }
}

#[test]
fn uncommitted_changes_are_noted_and_do_not_block() {
    let sandbox = recorded();
    sandbox.file(".worktree/quotes/new.txt", "").file(".worktree/quotes/.plan/quotes_plan.md", "edited\n");
    let plan = piton(&sandbox, 0, ["plan"]);
    assert_eq!(message(&plan, "worktree-dirty"), ".worktree/quotes has uncommitted changes in 2 files");
    assert_eq!(plan.at("/findings/0/severity"), "info");
}

#[test]
fn without_git_on_the_path_the_branch_is_checked_all_the_same() {
    let sandbox = recorded();
    let plan = sandbox.piton(["plan"]).without_git().run().expect_code(0);
    assert_eq!(plan.findings(), [] as [&str; 0]);
    for arguments in [vec!["begin", "4"], vec!["finish", "4", "--verdict", "approved"], vec!["resume"]] {
        sandbox.piton(arguments).without_git().run().expect_code(0);
    }
    sandbox.git_in(".worktree/quotes", ["checkout", "--quiet", "-b", "other"]);
    sandbox.piton(["plan"]).without_git().run().expect_code(9);
}

#[test]
fn outside_of_a_repository_there_are_no_git_findings() {
    let sandbox = Sandbox::new();
    sandbox.file(".plan/quotes_plan.md", "").file(STATE, &with_fields(LAST, PLACES));
    let plan = piton(&sandbox, 0, ["plan"]);
    assert_eq!(plan.findings(), ["not-in-git"]);
    assert_eq!(plan.at("/data/next/0/step"), json!("2:4"));
    piton(&sandbox, 0, ["begin", "4"]);
}
