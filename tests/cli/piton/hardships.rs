//! What a runner meets outside of its steps: edited files, closed terminals, lost records, other runs, secrets on the terminal.

use std::os::unix::process::ExitStatusExt as _;

use super::support::{Stage, session_of, until};
use crate::support::run_tool;

/// Starts the workflow by a shell line, waits for its first execution, and sends a signal.
fn signalled(stage: &Stage, prefix: &str) -> (i32, String) {
    let program = env!("CARGO_BIN_EXE_piton");
    let line = format!("{prefix} exec {program} run w.yml --no-worktree");
    let mut child = stage.sandbox.tool("/bin/sh", ["-c", &line]).env("PITON_HOME", stage.state().as_str()).spawn();
    until("the step runs", || stage.count("begun") == 1);
    run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -HUP {}", child.id())], &[]);
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("it was started");
    let code = output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal));
    let code = code.expect("it ended");
    (code, session_of(&String::from_utf8_lossy(&output.stderr)))
}

/// a closed terminal stops a run as SIGTERM does, unless it was started with `nohup`.
#[test]
fn a_closed_terminal_stops_a_run_and_its_step() {
    let stage = Stage::in_place("- shell: echo begun >> LOG; sleep 30; echo end >> LOG\n");
    let (code, id) = signalled(&stage, "");
    assert_eq!(code, 129);
    assert_eq!(stage.checkpoint(&id)["state"]["Interrupted"]["in_progress"], true, "{}", stage.checkpoint(&id));
    assert_eq!(stage.executions(), ["begun"]);
    let ignoring = Stage::in_place("- shell: echo begun >> LOG; sleep 1; echo end >> LOG\n");
    assert_eq!(signalled(&ignoring, "trap '' HUP;").0, 0);
    assert_eq!(ignoring.executions(), ["begun", "end"]);
}

const THREE: &str = "- shell: echo 1 >> LOG\n- shell: echo 2 >> LOG; test -e fixed\n- shell: echo 3 >> LOG\n";

/// a journal that is gone, empty or shorter than the checkpoint says is named, and nothing goes on over it unasked.
#[test]
fn a_lost_journal_is_named_and_the_checkpoint_goes_on() {
    for kept in [None, Some(0), Some(2)] {
        let stage = Stage::in_place(THREE);
        let (_, id) = stage.run(&[]);
        let journal = stage.folder(&id).join("journal.jsonl");
        match kept {
            None => std::fs::remove_file(&journal).unwrap(),
            Some(count) => {
                let text = std::fs::read_to_string(&journal).unwrap();
                let lines: Vec<&str> = text.split_inclusive('\n').take(count).collect();
                std::fs::write(&journal, lines.concat()).unwrap();
            }
        }
        for verb in ["plan", "status"] {
            let output = stage.piton([verb]).run();
            let is_named = output.findings().contains(&"journal-missing".to_owned());
            assert!(is_named, "{kept:?}, {verb}: {output}");
        }
        let refused = stage.piton(["resume", &id]).run().expect_code(9);
        assert!(refused.stderr.contains("of its journal are gone; by its checkpoint done: 1"), "{refused}");
        stage.piton(["restore"]).run().expect_code(9);
        assert_eq!(stage.executions(), ["1", "2"], "{kept:?}");
        let output = stage.piton(["resume", &id, "--yes"]).run().expect_code(7);
        assert!(output.stderr.contains("a new record begins with the checkpoint"), "{output}");
        assert_eq!(stage.executions(), ["1", "2", "2"], "{kept:?}: nothing finished is repeated");
        assert!(!stage.piton(["plan"]).run().findings().contains(&"journal-missing".to_owned()), "it is mended");
        stage.piton(["resume", &id, "--force", "--yes"]).run().expect_code(7);
    }
}

/// sessions of one repository merge one after the other, and a foreign git that holds a lock for a moment stops none of them.
#[test]
fn sessions_merge_one_after_the_other() {
    let stage = Stage::new("- shell: 'true'\n");
    for number in 0..4 {
        let many = format!("for k in 0 1 2 3 4 5 6 7 8 9; do echo {number} > d{number}-$k.txt; done");
        let text = format!("- shell: '{many}; git add -A; git commit -qm f{number}'\n");
        stage.sandbox.file(&format!("p{number}.yml"), &text);
    }
    stage.sandbox.commit("workflows");
    let lock = stage.sandbox.root().join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let files: Vec<String> = (0..4).map(|number| format!("p{number}.yml")).collect();
    let children: Vec<_> = files.iter().map(|file| stage.piton(["run", file, "--yes"]).spawn()).collect();
    until("a merge is tried", || stage.state().exists());
    std::fs::remove_file(&lock).unwrap();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(stage.sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(stage.sandbox.git(["worktree", "list"]).lines().count(), 1);
    assert!((0..4).all(|number| stage.sandbox.exists(&format!("d{number}-9.txt"))));
}

/// only a conflict is called one, its files are named, and the project is afterwards as it was.
#[test]
fn a_conflict_is_named_with_its_files() {
    let stage = Stage::new(
        "- shell: echo theirs > a.txt; git add -A; git commit -qm theirs; echo go >> LOG\n- shell: while ! test -e ../../../../tmp/go; do sleep 0.02; done\n",
    );
    let go = stage.sandbox.top().join("tmp/go");
    let text = std::fs::read_to_string(stage.sandbox.root().join("w.yml")).unwrap();
    stage.sandbox.file("w.yml", &text.replace("../../../../tmp/go", go.as_str())).commit("workflow");
    let child = stage.piton(["run", "w.yml", "--yes"]).spawn();
    until("the branch has its commit", || stage.count("go") == 1);
    stage.sandbox.file("a.txt", "ours").commit("ours");
    std::fs::write(&go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("resolve the conflicts in a.txt"), "{said}");
    assert_eq!(stage.sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(stage.sandbox.read("a.txt"), "ours");
}
