//! The sessions of Prodigy: listed, planned, imported; never written.

use std::os::unix::fs::PermissionsExt as _;

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::support::Stage;
use crate::support::Output;

const FLOW: &str = "
- {shell: 'echo 1 >> LOG; echo captured', capture_output: out}
- shell: echo two:${out} >> LOG
- shell: echo 3 >> LOG
";
const ID: &str = "workflow-1769857200000";

/// Makes a repository and a home of Prodigy in which the second of three steps failed, with its worktree.
fn stage() -> Stage {
    let stage = Stage::new(FLOW);
    let branch = format!("prodigy-{ID}");
    let worktree = home(&stage).join("worktrees/project").join(ID);
    std::fs::create_dir_all(worktree.parent().expect("the sandbox is ours")).expect("the sandbox is ours");
    stage.sandbox.commit("the workflow");
    stage.sandbox.git(["worktree", "add", "--quiet", "-b", &branch, worktree.as_str()]);
    put(&stage, &format!("state/{ID}/checkpoints/workflow-1769857200007.checkpoint.json"), &checkpoint(&stage));
    put(&stage, &format!("sessions/{ID}.json"), &json!({"id": ID, "status": "Failed", "current_step": 0}));
    let metadata = json!({"session_id": ID, "status": "in_progress", "original_branch": "main", "merged": false});
    put(&stage, &format!("worktrees/project/.metadata/{ID}.json"), &metadata);
    stage
}

fn home(stage: &Stage) -> Utf8PathBuf {
    stage.sandbox.home().join(".prodigy")
}

fn put(stage: &Stage, path: &str, value: &Value) {
    let path = home(stage).join(path);
    std::fs::create_dir_all(path.parent().expect("the sandbox is ours")).expect("the sandbox is ours");
    std::fs::write(&path, serde_json::to_vec_pretty(value).expect("the sandbox is ours")).expect("the sandbox is ours");
}

fn checkpoint(stage: &Stage) -> Value {
    json!({
        "workflow_id": "workflow-1769857200007",
        "execution_state": {"current_step_index": 1, "total_steps": 0, "status": "Failed",
            "start_time": "2026-01-31T11:00:05Z", "last_checkpoint": "2026-01-31T11:00:05Z"},
        "completed_steps": [{"step_index": 0, "command": "shell: echo 1", "success": true, "output": "captured\n",
            "captured_variables": {"out": "captured\n"}, "duration": {"secs": 0, "nanos": 7},
            "completed_at": "2026-01-31T11:00:02Z"}],
        "variable_state": {"out": "captured\n", "__error_message": "exit status 1", "__failed_step_index": 1},
        "timestamp": "2026-01-31T11:00:05Z", "version": 1, "workflow_hash": "default-3", "total_steps": 0,
        "workflow_name": "default", "workflow_path": stage.sandbox.root().join("w.yml"),
        "variable_checkpoint_state": {"environment_snapshot": {"variables": {"AWS_SECRET_ACCESS_KEY": "hunter2hunter2"}}},
    })
}

fn seen(stage: &Stage, arguments: &[&str]) -> Output {
    let home = home(stage);
    let global = ["--format", "json", "--prodigy-home", home.as_str()];
    stage.piton(global.into_iter().chain(arguments.iter().copied())).run()
}

#[test]
fn an_import_copies_no_secret_and_its_files_are_private() {
    let stage = stage();
    seen(&stage, &["sessions", "import", ID]).expect_code(0);
    let mut folders = vec![stage.state(), stage.home()];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir_utf8().unwrap() {
            let path = entry.unwrap().into_path();
            let mode = path.symlink_metadata().unwrap().permissions().mode() & 0o777;
            if path.is_dir() {
                assert_eq!(mode, 0o700, "{path}");
                folders.push(path);
            } else {
                assert_eq!(mode, 0o600, "{path}");
                assert!(!std::fs::read_to_string(&path).unwrap().contains("hunter2"), "{path}");
            }
        }
    }
}
