//! What cases on disk cannot say of nine-step runs: projects that were copied, ids of commits, files that are none.

use serde_json::json;

use super::{STATE, piton, project, state, with_fields};
use crate::support::{Output, Sandbox};

const LAST: &str = r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "completed""#;
const PLACES: &str = r#""total_phases": 3, "branch_name": "feature/quotes", "plan_reference": ".plan/quotes_plan.md""#;

const MORE: &str = r#""total_phases": 3,
  "branch_name": "feature/quotes",
  "plan_reference": ".plan/quotes_plan.md",
  "phase_description": "Streaming",
  "related_issues": [12, "13"],
  "completed_steps": [
    {"phase": 1, "step": 9, "agent": "git-worktree-manager", "status": "completed"},
    {"phase": 2, "step": 3, "agent": "backend-developer", "status": "completed"}
  ]"#;

fn reviewed() -> Sandbox {
    let sandbox = project();
    let last = r#""phase": 2, "step": 4, "agent": "code-reviewer", "status": "failed", "verdict": "NEEDS_REVISION", "error_message": "- a.rs: no bounds check\n- b.rs: no test""#;
    sandbox.file(STATE, &with_fields(last, MORE));
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
fn yaml_says_the_same_as_json() {
    let sandbox = reviewed();
    let yaml = piton(&sandbox, 0, ["context", "--native", "--format", "yaml"]);
    let json = piton(&sandbox, 0, ["context", "--native"]);
    let parsed: serde_json::Value =
        serde_saphyr::from_str(&yaml.stdout).unwrap_or_else(|error| panic!("{error}\n{yaml}"));
    assert_eq!(parsed, json.at("/data"));
    let head: Vec<&str> = yaml.stdout.lines().skip(1).take(4).collect();
    assert_eq!(head, ["run: \"quotes\"", "step: \"2:3\"", "title: \"Implementation\"", "action: \"return\""]);
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
    assert_eq!(plan.at("/findings/0/severity"), "warning");
    let fix = plan.at("/findings/0/fix").as_str().unwrap_or_default().to_owned();
    let (moved_fix, gone_fix) =
        fix.split_once("; if git no longer knows it, recreate it, then copy its files back: ").expect("two ways");
    assert_eq!(moved_fix, "if it was moved: git worktree repair .worktree/quotes");
    moved.piton(["begin", "2:4"]).folder(&to).run().expect_code(0);
    // The second command works too.
    moved.tool("/bin/sh", ["-c", &format!("PATH=/usr/bin:/bin; {gone_fix}")]).folder(&to).run().expect_code(0);
    assert!(to.join(".worktree/quotes.kept/.workflow-state.json").exists());
    assert!(to.join(".worktree/quotes/.git").exists());
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
        let plan = piton(&sandbox, if expected.is_some() { 9 } else { 0 }, ["plan", "--native", "--exit-code"]);
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
fn what_cannot_be_read_is_named_with_the_reason() {
    let sandbox = project();
    sandbox.file(STATE, "");
    let message = format!("Workflow state file corrupted. File: {STATE}. Error: Invalid JSON syntax: ");
    assert!(piton(&sandbox, 4, ["plan"]).at("/error/message").as_str().unwrap().starts_with(&message));
    for text in ["[]", "null", "42", "\"text\""] {
        sandbox.file(STATE, text);
        let output = sandbox.piton(["plan"]).run();
        assert!(output.code == 4 || output.code == 3, "{text}: {output}");
    }
    sandbox.bytes(STATE, b"{\"feature_name\": \"\xff\xfe\", \"last_execution\": {}}");
    piton(&sandbox, 4, ["plan"]);
}

#[test]
fn a_folder_a_pipe_and_a_link_in_place_of_the_file_are_survived() {
    let sandbox = project();
    sandbox.dir(STATE);
    assert!([3, 4].contains(&sandbox.piton(["plan"]).run().code));
    sandbox.remove(STATE);
    let state_path = sandbox.root().join(STATE);
    let made = crate::support::run_tool("/usr/bin/mkfifo".as_ref(), &[state_path.as_str()], &[]);
    assert!(made.status.success());
    assert!([3, 4].contains(&sandbox.piton(["plan"]).run().code));
    assert!([3, 4].contains(&sandbox.piton(["plan", STATE]).run().code));
    sandbox.remove(STATE);
    std::os::unix::fs::symlink("/etc/passwd", &state_path).unwrap();
    let output = sandbox.piton(["plan"]).run();
    assert!([3, 4].contains(&output.code), "{output}");
    assert!(!output.stdout.contains("root:"), "{output}");
}
