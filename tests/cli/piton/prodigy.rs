//! The sessions of Prodigy: listed, planned, imported; never written.

use std::os::unix::fs::PermissionsExt as _;

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::support::Stage;
use crate::support::{Output, Tree};

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
fn a_session_of_prodigy_is_listed_and_planned() {
    let stage = stage();
    let list = seen(&stage, &["list"]).expect_code(0);
    assert_eq!((list.at("/data/runs/0/id"), list.at("/data/runs/0/dialect")), (json!(ID), json!("piton")));
    assert_eq!(list.at("/data/runs/0/progress"), json!({"done": 1, "total": 3}));
    let plan = seen(&stage, &["plan", ID, "--native"]).expect_code(9);
    assert_eq!(plan.at("/data/verdict"), json!("confirm"), "it is old\n{plan}");
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/0/action")), (json!("2"), json!("retry")));
    assert_eq!(plan.at("/data/native/skip_steps"), json!([0]));
    assert_eq!(plan.at("/data/native/variables"), json!({"out": "captured"}));
    assert_eq!(plan.at("/data/run/branch"), json!(format!("prodigy-{ID}")));
    let take_over = plan.at("/data/commands/resume");
    assert!(
        take_over.as_str().unwrap().starts_with(&format!("piton sessions import {ID} --prodigy-home ")),
        "{take_over}"
    );
    for verb in ["status", "context", "validate"] {
        let output = seen(&stage, &[verb, ID]);
        assert!(matches!(output.code, 0 | 9), "{verb}\n{output}");
        assert!(!output.stdout.contains("hunter2"), "{output}");
    }
    let sessions = seen(&stage, &["sessions"]).expect_code(0);
    assert_eq!(sessions.at("/data/sessions/0/status"), json!("failed"));
    json_list(&stage).expect_code(3);
}

/// Lists runs without Prodigy's sessions.
fn json_list(stage: &Stage) -> Output {
    stage.piton(["--format", "json", "list"]).run()
}

#[test]
fn a_checkpoint_is_a_run_by_its_path() {
    let stage = stage();
    let path = home(&stage).join(format!("state/{ID}/checkpoints/workflow-1769857200007.checkpoint.json"));
    let plan = stage.piton(["--format", "json", "plan", path.as_str()]).run().expect_code(9);
    assert_eq!(plan.at("/data/run/id"), json!(ID));
}

#[test]
fn nothing_in_the_home_of_prodigy_is_ever_written() {
    let stage = stage();
    let before = Tree::of(&home(&stage));
    for arguments in [
        &["list"][..],
        &["plan", ID],
        &["begin", "2", "--run", ID],
        &["finish", "2", "--run", ID],
        &["skip", "2", "--run", ID, "--reason", "r"],
        &["pause", ID],
        &["abort", ID],
        &["restore", ID],
        &["archive", ID, "--yes"],
        &["resume", ID, "--yes"],
        &["doctor"],
    ] {
        let output = seen(&stage, arguments);
        let writes = !matches!(arguments[0], "list" | "plan" | "doctor");
        assert_eq!(output.code == 1, writes, "{arguments:?}\n{output}");
        if writes {
            assert!(output.stdout.contains("piton sessions import"), "{arguments:?}\n{output}");
        }
    }
    assert_eq!(Tree::of(&home(&stage)), before);
    seen(&stage, &["sessions", "import", ID]).expect_code(0);
    assert_eq!(Tree::of(&home(&stage)), before);
}

#[test]
fn a_resume_says_whose_it_is_and_names_the_import() {
    let stage = stage();
    let home = home(&stage);
    for arguments in [
        &["resume", ID][..],
        &["resume", ID, "--yes", "--force"],
        &["resume", ID, "--accept-edits"],
        &["resume", ID, "--events"],
        &["--prodigy-home", home.as_str(), "resume", ID],
        &["--prodigy-home", home.as_str(), "resume", ID, "--accept-edits"],
    ] {
        let output = stage.piton(arguments.iter().copied()).run().expect_code(1);
        assert!(output.stdout.contains(&format!("{ID} belongs to another program")), "{arguments:?}\n{output}");
        let import = format!("piton sessions import {ID} --prodigy-home $HOME/.prodigy");
        assert!(output.stdout.contains(&import), "{arguments:?}\n{output}");
    }
    stage.piton(["resume", "workflow-2"]).run().expect_code(3);
}

#[test]
fn an_imported_session_resumes_in_the_same_worktree_without_repeating_anything() {
    let stage = stage();
    let taken = seen(&stage, &["sessions", "import", ID]).expect_code(0);
    assert_eq!(taken.at("/schema"), json!("session-import/1"));
    assert_eq!(taken.at("/data/progress"), json!({"done": 1, "total": 3}));
    let id = taken.at("/data/session").as_str().unwrap().to_owned();
    assert!(taken.at("/data/folder").as_str().unwrap().ends_with(&format!("worktrees/project/{ID}")), "{taken}");
    let row = stage.piton(["--format", "json", "sessions"]).run().expect_code(0).at("/data/sessions/0");
    assert_eq!((&row["id"], &row["status"]), (&json!(id), &json!("failed")));
    let output = stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["two:captured", "3"], "{output}");

    let again = seen(&stage, &["sessions", "import", ID]).expect_code(1);
    assert!(again.stdout.contains(&format!("was already imported as {id}")), "{again}");
}

#[test]
fn an_import_from_another_branch_says_so_on_resume() {
    let stage = stage();
    let taken = seen(&stage, &["sessions", "import", ID]).expect_code(0);
    let id = taken.at("/data/session").as_str().unwrap().to_owned();
    let worktree = home(&stage).join("worktrees/project").join(ID);
    stage.sandbox.git(["-C", worktree.as_str(), "checkout", "--quiet", "-b", "other"]);
    let output = stage.piton(["resume", &id]).run();
    assert!(output.stderr.contains(&format!("is on other, but prodigy-{ID} will be merged")), "{output}");
}

#[test]
fn an_import_copies_no_secret_and_its_files_are_private() {
    let stage = stage();
    seen(&stage, &["sessions", "import", ID]).expect_code(0);
    let mut folders = vec![stage.state()];
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

#[test]
fn the_home_is_where_prodigy_itself_looks_for_it() {
    let worktree = format!("/.prodigy/worktrees/project/{ID}");
    for (more, folder) in [(&[][..], worktree.as_str()), (&["--no-worktree"], "$ROOT")] {
        let stage = stage();
        let moved = stage.sandbox.top().join("tmp/moved");
        std::fs::create_dir(&moved).unwrap();
        std::fs::rename(home(&stage).join("state"), moved.join("state")).unwrap();
        let arguments = ["--format", "json", "sessions", "import", ID];
        let import = stage.piton(arguments.into_iter().chain(more.iter().copied()));
        // Its worktrees stay in ~/.prodigy for any PRODIGY_HOME; git knows where (docs/formats/prodigy.md#where-prodigy-keeps-a-session).
        let taken = import.env("PRODIGY_HOME", moved.as_str()).run().expect_code(0);
        assert!(taken.at("/data/folder").as_str().is_some_and(|found| found.ends_with(folder)), "{taken}");
    }
}

#[test]
fn a_session_that_cannot_be_resumed_is_refused_with_a_hint() {
    let with = |change: &dyn Fn(&Stage)| {
        let stage = stage();
        change(&stage);
        seen(&stage, &["sessions", "import", ID])
    };
    let gone = with(&|stage| std::fs::remove_file(stage.sandbox.root().join("w.yml")).unwrap()).expect_code(1);
    assert!(gone.stdout.contains("w.yml cannot be read"), "{gone}");
    let lost = with(&|stage| {
        std::fs::remove_dir_all(home(stage).join("worktrees/project").join(ID)).unwrap();
    });
    assert!(lost.expect_code(1).stdout.contains("is gone, and with it the results of its steps"));
    let truncated = with(&|stage| {
        let path = home(stage).join(format!("state/{ID}/checkpoints/workflow-1769857200007.checkpoint.json"));
        std::fs::write(path, "{\"workflow_id\": \"workflow").unwrap();
    });
    assert!(truncated.clone().expect_code(4).stdout.contains("cannot be read"), "{truncated}");
    let stage = stage();
    seen(&stage, &["sessions", "import", "workflow-2"]).expect_code(3);
    stage.piton(["--prodigy-home", "/nowhere", "list"]).run().expect_code(2);
}

#[test]
fn contradictions_of_session_and_checkpoint_are_for_a_person() {
    let stage = stage();
    put(&stage, &format!("sessions/{ID}.json"), &json!({"id": ID, "status": "Completed"}));
    let plan = seen(&stage, &["plan", ID]).expect_code(9);
    assert!(plan.findings().contains(&"state-corrupt".to_owned()), "{plan}");
    assert_eq!(plan.at("/data/next/0/step"), json!("2"), "the checkpoint counts");
}

/// R-31.
#[test]
fn an_import_finds_the_worktree_that_git_lists_also_without_its_metadata() {
    let stage = stage();
    std::fs::remove_file(home(&stage).join(format!("worktrees/project/.metadata/{ID}.json")))
        .expect("the sandbox is ours");
    let imported = seen(&stage, &["sessions", "import", ID]).expect_code(0);
    let folder = imported.at("/data/folder");
    assert!(folder.as_str().is_some_and(|found| found.ends_with(&format!("/worktrees/project/{ID}"))), "{imported}");
    let session = imported.at("/data/session");
    let plan = seen(&stage, &["plan", session.as_str().expect("an id")]);
    assert_eq!(plan.at("/data/run/branch"), json!(format!("prodigy-{ID}")));
}

/// R-32.
#[test]
fn a_relative_path_of_the_workflow_file_is_looked_for_in_the_repository_and_then_in_the_worktree() {
    let relative = |stage: &Stage| {
        let mut checkpoint = checkpoint(stage);
        checkpoint["workflow_path"] = json!("w.yml");
        put(stage, &format!("state/{ID}/checkpoints/workflow-1769857200007.checkpoint.json"), &checkpoint);
    };
    for is_in_repository in [true, false] {
        let stage = stage();
        relative(&stage);
        if !is_in_repository {
            stage.sandbox.remove("w.yml");
        }
        for verb in [&["list"][..], &["sessions"], &["plan", ID], &["status", ID]] {
            let output = seen(&stage, verb);
            assert!(!output.stdout.contains("cannot be read"), "{verb:?}: {output}");
        }
        assert_eq!(seen(&stage, &["plan", ID]).at("/data/progress"), json!({"done": 1, "total": 3}));
        let imported = seen(&stage, &["sessions", "import", ID]).expect_code(0);
        assert_eq!(imported.at("/data/progress"), json!({"done": 1, "total": 3}));
    }
    let stage = stage();
    relative(&stage);
    let worktree = home(&stage).join("worktrees/project").join(ID).join("w.yml");
    std::fs::remove_file(&worktree).expect("the sandbox is ours");
    stage.sandbox.remove("w.yml");
    let refused = seen(&stage, &["sessions", "import", ID]).expect_code(1);
    for place in ["$ROOT/w.yml", &format!("/worktrees/project/{ID}/w.yml")] {
        assert!(refused.stdout.contains(place), "{refused}");
    }
}
