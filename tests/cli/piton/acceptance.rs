//! The acceptance criteria of Specification 186 (docs/formats/prodigy.md#acceptance-criteria), each by its number, and its end-to-end scenario.

use serde_json::json;

use super::support::Stage;

const FIVE: &str = "
- shell: echo 1 >> LOG
- shell: echo 2 >> LOG
- claude: /third
- shell: echo 4 >> LOG
- shell: echo 5 >> LOG
";

/// Answers with a service error for each remaining attempt, and then with success.
const FAILING: &str = r#"echo 3 >> LOG
if [ -e TMP/repaired ]; then echo '{"type":"result","is_error":false,"result":"fine"}'; exit 0; fi
echo '{"type":"result","is_error":true,"result":"API Error: 500 Internal Server Error"}'; exit 1"#;

fn quick(workflow: &str) -> String {
    format!("retry: {{attempts: 3, initial_delay: 10ms}}\ncommands:\n{}", workflow.trim_start())
}

#[test]
fn ac1_a_checkpoint_is_written_when_claude_fails() {
    let stage = Stage::new(&quick(FIVE));
    stage.program("claude", FAILING);
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(7);
    assert_eq!(stage.executions(), ["1", "2", "3", "3", "3"], "it is retried before it counts as failed\n{output}");
    let checkpoint = stage.checkpoint(&id);
    assert_eq!(checkpoint["state"]["Failed"]["step"], "3");
    assert_eq!(checkpoint["state"]["Failed"]["retryable"], true);
}

#[test]
fn ac2_a_checkpoint_is_written_when_a_shell_command_fails() {
    let stage = Stage::new("- shell: echo 1 >> LOG\n- shell: exit 3\n");
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    let checkpoint = stage.checkpoint(&id);
    assert_eq!(checkpoint["state"]["Failed"], json!({"step": "2", "error": "exit code 3", "retryable": false}));
}

#[test]
fn ac3_completed_work_is_kept_in_the_checkpoint() {
    let stage = Stage::new("- shell: echo 1 >> LOG\n- shell: echo 2 >> LOG\n- shell: exit 1\n- shell: echo 4\n");
    let (_, id) = stage.run(&[]);
    let checkpoint = stage.checkpoint(&id);
    assert_eq!(checkpoint["completed_steps"], json!(["1", "2"]));
    assert_eq!(checkpoint["total_steps"], 4);
}

#[test]
fn ac4_variables_are_kept_in_the_checkpoint() {
    let stage = Stage::new("- shell: echo captured value\n  capture: output\n- shell: exit 1\n");
    let (_, id) = stage.run(&[]);
    assert_eq!(stage.checkpoint(&id)["variables"]["output"], json!({"value": "captured value"}));
}

#[test]
fn ac7_a_resume_uses_the_same_worktree() {
    let stage = Stage::new("- shell: pwd; echo partial > made\n- shell: pwd; cat made; [ -e repaired ]\n");
    let (output, id) = stage.run(&[]);
    let worktree = stage.worktree(&id);
    let shown = output.stdout.lines().next().unwrap().to_owned();
    assert!(shown.ends_with(&format!("worktrees/{id}")), "{shown}");
    std::fs::write(worktree.join("repaired"), "").unwrap();
    let output = stage.resume(&id).expect_code(0);
    assert_eq!(output.stdout, format!("{shown}\npartial\n"));
    assert_eq!(worktree.parent().unwrap().read_dir_utf8().unwrap().count(), 1, "no other worktree is made");
}

#[test]
fn ac12_a_worktree_is_kept_on_failure() {
    let stage = Stage::new("- shell: echo a > a\n- shell: echo b > b\n- shell: echo c > c; exit 1\n");
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    let found = ["a", "b", "c"].map(|name| std::fs::read_to_string(stage.worktree(&id).join(name)).unwrap());
    assert_eq!(found, ["a\n", "b\n", "c\n"]);
    assert!(!stage.sandbox.exists("a"), "the project itself is left alone");
}

#[test]
fn ac13_a_worktree_is_merged_and_cleaned_up_on_completion() {
    let stage =
        Stage::new("- shell: echo new > new; git add new; git commit --quiet --message=new\n- shell: '[ -e LOG ]'\n");
    let (_, id) = stage.run(&[]);
    let worktree = stage.worktree(&id);
    assert!(worktree.is_dir());
    std::fs::write(stage.log(), "").unwrap();
    let output = stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.sandbox.read("new"), "new\n", "{output}");
    assert!(!worktree.exists(), "{output}");
    assert_eq!(stage.sandbox.git(["branch", "--list", "piton/*"]), "");
    assert_eq!(stage.checkpoint(&id)["run"]["worktree"], "removed");
}
