use std::time::Duration;

use super::projects::document;
use crate::support::Sandbox;

#[test]
fn the_demonstration_is_short_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let before = sandbox.tree();
    let output = sandbox.piton(["demo", "all"]).without_git().run_within(Duration::from_secs(120)).expect("an end");
    assert_eq!(output.code, 0, "{output}");
    let demo = document(&output);
    let scenes = demo["data"]["scenes"].as_array().unwrap();
    for scene in scenes {
        // The story of a script begins with a step that fails.
        let fails = scene["command"].as_str().unwrap().starts_with("piton run ");
        assert_eq!(scene["exit"], if fails { 7 } else { 0 }, "{scene}");
        assert_eq!(scene["output"].as_str().unwrap().contains('❌'), fails, "{scene}");
    }
    let told = |at: usize| scenes[scenes.len() - at]["output"].as_str().unwrap();
    assert!(told(5).contains("Step 3 (notes) failed: exit code 1: notes.md is missing"), "{}", told(5));
    assert!(told(2).contains("Loaded checkpoint: 2/5 steps completed"), "{}", told(2));
    assert!(told(2).contains("checked 1.4.0 for windows\n"), "{}", told(2));
    for dialect in ["nine-step", "ccw", "dotagent", "aios", "piton"] {
        assert!(scenes.iter().any(|scene| scene["dialect"] == dialect));
    }
    assert!(scenes.iter().any(|scene| scene["command"] == "piton resume --yes"), "{demo}");
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
    assert_eq!(sandbox.top().join("tmp").read_dir_utf8().unwrap().count(), 0);
    assert_eq!(sandbox.home().read_dir_utf8().unwrap().count(), 0);
}

#[test]
fn every_project_of_the_demonstration_is_a_repository_and_the_worktree_is_a_real_one() {
    let sandbox = Sandbox::new();
    let demo = document(&sandbox.piton(["demo", "nine-step"]).run().expect_code(0));
    for scene in demo["data"]["scenes"].as_array().unwrap() {
        assert!(!scene["output"].as_str().unwrap().contains("not-in-git"), "{scene}");
    }
    let resumed = demo["data"]["scenes"][2]["output"].as_str().unwrap();
    assert!(resumed.contains("branch name: feature/user-auth\n"), "{resumed}");
}

#[test]
fn the_scratch_project_is_kept_on_demand() {
    let sandbox = Sandbox::new();
    let output = sandbox.piton(["demo", "ccw", "--keep"]).run().expect_code(0);
    let kept = document(&output)["data"]["kept"].as_str().unwrap().to_owned();
    assert!(kept.starts_with("$TOP/tmp/piton-demo-"), "{kept}");
    let kept = kept.replace("$TOP", sandbox.top().as_str());
    sandbox.piton(["--project", &format!("{kept}/ccw"), "plan"]).run().expect_code(0);
}

#[test]
fn a_person_sees_the_cut_session_first() {
    let output = Sandbox::new().piton(["demo", "--format", "text"]).run().expect_code(0);
    assert!(output.stdout.lines().any(|shown| shown == "$ piton plan"), "{output}");
    assert!(!output.stdout.contains("A run of nine-step"), "{output}");
    assert!(output.stdout.ends_with("The other systems: piton demo all\n"), "{output}");
}

#[test]
fn a_person_sees_what_was_typed_and_what_came_back() {
    let output = Sandbox::new().piton(["demo", "all", "--format", "text"]).run().expect_code(0);
    for line in ["$ piton list", "$ piton resume --yes", "$ piton finish IMPL-002 --summary tokens"] {
        assert!(output.stdout.lines().any(|shown| shown == line), "no `{line}`\n{output}");
    }
    assert!(output.stdout.contains("The scratch project is removed."), "{output}");
}
