//! `merge` and `drop`: what becomes of the work of a session after its run.

use super::support::Stage;
use crate::support::Output;

fn kept(workflow: &str, code: i32) -> (Stage, String) {
    let stage = Stage::new(workflow);
    let (output, id) = stage.run(&[]);
    output.expect_code(code);
    (stage, id)
}

fn json_of(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).run()
}

fn branches(stage: &Stage) -> String {
    stage.sandbox.git(["branch", "--list", "piton/*"])
}

/// A kill between the removal of a merged worktree, that of its branch, and the record of both.
#[test]
fn a_worktree_that_is_gone_when_every_step_is_done_needs_no_new_one() {
    for with_branch in [true, false] {
        let stage =
            Stage::new("steps:\n- {id: a, shell: 'echo a > a.txt; git add a.txt; git commit -qm a; echo a >> LOG'}\n");
        let (_, id) = stage.run(&[]);
        let journal = stage.folder(&id).join("journal.jsonl");
        let text = std::fs::read_to_string(&journal).unwrap();
        let kept: Vec<&str> = text.lines().take_while(|line| !line.contains("\"complete\"")).collect();
        assert!(kept.len() < text.lines().count(), "the end is recorded\n{text}");
        std::fs::write(&journal, kept.join("\n") + "\n").unwrap();
        std::fs::remove_file(stage.folder(&id).join("checkpoint.json")).unwrap();
        stage.sandbox.git(["merge", "--quiet", &format!("piton/{id}")]);
        stage.sandbox.git(["worktree", "remove", stage.worktree(&id).as_str()]);
        if !with_branch {
            stage.sandbox.git(["branch", "-d", &format!("piton/{id}")]);
        }
        let resumed = stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
        assert_eq!(stage.executions(), ["a"], "{resumed}");
        assert!(!stage.worktree(&id).exists() && stage.sandbox.root().join("a.txt").exists());
        assert_eq!(branches(&stage), "");
        let row = json_of(&stage, &["list", "--all"]).expect_code(0).at("/data/runs/0/lifecycle/stage");
        assert_eq!(row, "finished");
    }
}

#[test]
fn a_merge_that_takes_nothing_says_so_and_leaves_the_run_as_it_was() {
    let stage = Stage::new("steps: [{id: a, shell: echo text > left}]");
    let (output, id) = stage.run(&[]);
    output.expect_code(0);
    let refused = stage.piton(["merge", &id, "--yes", "--format", "text"]).run().expect_code(1);
    assert!(refused.stderr.contains("nothing was merged: "), "{refused}");
    assert!(stage.worktree(&id).join("left").is_file());
    let worktree = stage.worktree(&id);
    stage.sandbox.git(["-C", worktree.as_str(), "add", "left"]);
    stage.sandbox.git(["-C", worktree.as_str(), "commit", "--quiet", "--message=left"]);
    stage.piton(["merge", &id, "--yes"]).run().expect_code(0);
    assert!(stage.sandbox.exists("left"));
}

#[test]
fn a_squash_in_conflict_names_the_files_and_works_once_they_are_resolved() {
    let (stage, id) = kept("steps: [{shell: 'echo mine > c.txt; git add c.txt; git commit -qm mine'}]\n", 0);
    stage.sandbox.file("c.txt", "theirs\n");
    stage.sandbox.commit("theirs");
    let refused = stage.piton(["merge", &id, "--squash", "--yes", "--format", "text"]).run().expect_code(1);
    assert!(refused.stderr.contains("CONFLICT (add/add): Merge conflict in c.txt"), "{refused}");
    assert!(refused.stderr.contains("resolve the conflicts in c.txt and commit"), "{refused}");
    let worktree = stage.worktree(&id);
    let base = stage.sandbox.git(["branch", "--show-current"]);
    stage.sandbox.git_in(worktree.as_str(), ["merge", "-q", "-X", "ours", "--no-edit", base.trim()]);
    stage.piton(["merge", &id, "--squash", "--yes"]).run().expect_code(0);
    assert_eq!(stage.sandbox.read("c.txt"), "mine\n");
}
