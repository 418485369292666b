//! The questions at a terminal.

use super::support::{Stage, until};
use crate::support::{END_OF_INPUT, run_tool};

const COMMITS: &str = "- shell: echo new > new; git add new; git commit -qm new\n";
const THREE: &str = "
- shell: echo 1 >> LOG
- shell: echo 2 >> LOG; [ -e LOG.repaired ]
- shell: echo 3 >> LOG
";

fn repair(stage: &Stage) {
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
}

#[test]
fn c23_the_merge_question_is_asked_and_only_a_yes_merges() {
    for (typed, is_merged) in
        [("y\n", true), ("YES\n", true), ("\n", false), ("n\n", false), ("merge\n", false), (END_OF_INPUT, false)]
    {
        let stage = Stage::new(COMMITS);
        let Some(output) = stage.piton(["run", "w.yml"]).on_terminal(typed) else { return };
        let output = output.expect_code(0);
        let id = super::support::session_of(&output.stderr);
        let question = format!("Merge piton/{id} into main and remove the worktree? [y/N]");
        assert!(output.stderr.contains(&question), "{output}");
        assert_eq!(stage.sandbox.exists("new"), is_merged, "{typed:?}\n{output}");
        assert_eq!(stage.worktree(&id).exists(), !is_merged, "{typed:?}\n{output}");
        assert_eq!(stage.sandbox.git(["branch", "--list", "piton/*"]).is_empty(), is_merged, "{typed:?}");
    }
}

#[test]
fn c23_after_a_resume_the_same_question_is_asked() {
    let stage = Stage::new(&format!("{COMMITS}- shell: '[ -e LOG.repaired ]'\n"));
    let (_, id) = stage.run(&[]);
    repair(&stage);
    let Some(output) = stage.piton(["resume", &id]).on_terminal("y\n") else { return };
    let output = output.expect_code(0);
    assert!(output.stderr.contains(&format!("Merge piton/{id} into main")), "{output}");
    assert!(stage.sandbox.exists("new") && !stage.worktree(&id).exists(), "{output}");
}

#[test]
fn ctrl_c_at_a_question_is_no_consent_and_loses_nothing() {
    let stage = Stage::new(COMMITS);
    let Some(output) = stage.piton(["run", "w.yml"]).interrupted_at("and remove the worktree? [y/N]") else { return };
    let output = output.expect_code(0);
    let id = super::support::session_of(&output.stderr);
    assert!(!stage.sandbox.exists("new") && stage.worktree(&id).exists(), "{output}");
    let stage = Stage::in_place(THREE);
    let (_, id) = stage.run(&[]);
    repair(&stage);
    let before = std::fs::read(stage.folder(&id).join("journal.jsonl")).unwrap();
    let resume = stage.piton(["resume", &id, "--force"]);
    let output = resume.interrupted_at("Continue? [y/N]").expect("there was one").expect_code(130);
    assert_eq!(std::fs::read(stage.folder(&id).join("journal.jsonl")).unwrap(), before, "{output}");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "2", "3"]);
    let stage = Stage::in_place("- shell: 'true'\n");
    let (_, id) = stage.run(&[]);
    let clean = stage.piton(["--format", "text", "close", "--discard"]);
    let output = clean.interrupted_at("? [y/N]").expect("there was one").expect_code(130);
    assert!(stage.folder(&id).exists(), "{output}");
}

#[test]
fn what_is_not_committed_changes_the_question_and_stays() {
    let stage = Stage::new("- shell: echo new > new; git add new; git commit -qm new; echo x > loose\n");
    let Some(output) = stage.piton(["run", "w.yml"]).on_terminal("y\n") else { return };
    let output = output.expect_code(0);
    let id = super::support::session_of(&output.stderr);
    assert!(output.stderr.contains("Uncommitted files stay in the worktree. [y/N]"), "{output}");
    assert!(stage.sandbox.exists("new") && stage.worktree(&id).join("loose").exists(), "{output}");
}

#[test]
fn c13_a_restart_says_what_is_lost_and_only_a_yes_loses_it() {
    for (typed, code, executions) in [
        ("y\n", 0, &["1", "2", "1", "2", "3"][..]),
        ("n\n", 9, &["1", "2"]),
        ("\n", 9, &["1", "2"]),
        (END_OF_INPUT, 9, &["1", "2"]),
    ] {
        let stage = Stage::in_place(THREE);
        let (_, id) = stage.run(&[]);
        repair(&stage);
        let before = std::fs::read(stage.folder(&id).join("journal.jsonl")).unwrap();
        let Some(output) = stage.piton(["resume", &id, "--force"]).on_terminal(typed) else { return };
        let output = output.expect_code(code);
        assert!(output.stderr.contains("Force restart will lose 1 completed step. Continue? [y/N]"), "{output}");
        assert_eq!(stage.executions(), executions, "{typed:?}\n{output}");
        let after = std::fs::read(stage.folder(&id).join("journal.jsonl")).unwrap();
        assert_eq!(before == after, code == 9, "{typed:?}: a restart without consent leaves no trace");
    }
}

#[test]
fn a_person_says_whether_a_step_took_effect() {
    let workflow = "
- id: push
  shell: echo push >> LOG; until [ -e LOG.repaired ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.01; done
  irreversible: true
- shell: echo after >> LOG
";
    for (typed, code, executions) in [
        ("yes\n", 0, &["push", "after"][..]),
        ("no\n", 0, &["push", "push", "after"]),
        ("\n", 9, &["push"]),
        (END_OF_INPUT, 9, &["push"]),
    ] {
        let stage = Stage::in_place(workflow);
        let mut child = stage.piton(["run", "w.yml"]).spawn();
        until("the step is running", || stage.executions() == ["push"]);
        run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -KILL {}", child.id())], &[]);
        child.wait().unwrap();
        repair(&stage);
        let Some(output) = stage.piton(["resume"]).on_terminal(typed) else { return };
        let output = output.expect_code(code);
        assert!(output.stderr.contains("Step push must not run twice. Did it take effect? [yes/no]"), "{output}");
        assert_eq!(stage.executions(), executions, "{typed:?}\n{output}");
    }
}

#[test]
fn a_run_is_dropped_after_a_yes() {
    for (typed, code) in [("y\n", 0), ("n\n", 9), (END_OF_INPUT, 9)] {
        let stage = Stage::in_place("- shell: 'true'\n");
        let (_, id) = stage.run(&[]);
        let folder = stage.folder(&id);
        let Some(output) = stage.piton(["--format", "text", "close", "--discard"]).on_terminal(typed) else { return };
        let output = output.expect_code(code);
        assert!(output.stderr.contains(&format!("Discard {id} (1 of 1 steps done)? [y/N]")), "{output}");
        assert_eq!(folder.exists(), code != 0, "{typed:?}\n{output}");
    }
}

#[test]
fn a_long_run_shows_how_far_it_has_come() {
    let bar = "█";
    let long = "- shell: echo out; echo 1 >> LOG\n".repeat(6);
    let stage = Stage::in_place(&long);
    let Some(output) = stage.piton(["run", "w.yml"]).env("TERM", "xterm").on_terminal("") else { return };
    let output = output.expect_code(0);
    assert!(output.stderr.contains(bar) && output.stderr.contains("5/6"), "{output}");
    assert_eq!(output.stdout, "out\n".repeat(6), "the results have no bar in them");
    for quiet in [&["--quiet", "run", "w.yml"][..], &["run", "w.yml", "--events"]] {
        let output = stage
            .piton(quiet.iter().copied())
            .env("TERM", "xterm")
            .on_terminal("")
            .expect("there was one")
            .expect_code(0);
        assert!(!output.stderr.contains(bar), "{quiet:?}\n{output}");
    }
    let stage = Stage::in_place(THREE);
    repair(&stage);
    let output =
        stage.piton(["run", "w.yml"]).env("TERM", "xterm").on_terminal("").expect("there was one").expect_code(0);
    assert!(!output.stderr.contains(bar), "a short run needs none\n{output}");
}

/// What cannot be said to a terminal that is gone does not change how the run ended.
#[test]
fn a_run_whose_terminal_is_closed_ends_as_by_the_signal() {
    let stage = Stage::in_place("- shell: echo 1 >> LOG; [ -e LOG.repaired ] || sleep 20\n");
    let run = stage.piton(["run", "w.yml"]);
    let Some(output) = run.hung_up(|| until("the step is running", || stage.executions() == ["1"])) else { return };
    output.expect_code(129);
    repair(&stage);
    stage.piton(["resume"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "1"]);
}
