//! The acceptance criteria of Specification 186 (docs/formats/prodigy.md#acceptance-criteria), each by its number, and its end-to-end scenario.

use super::support::Stage;

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
