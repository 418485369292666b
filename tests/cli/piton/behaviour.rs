//! Other behaviour of a run: parts, attempts, handlers, steps that must not run twice, and resuming from elsewhere.

use serde_json::json;

use super::support::{Stage, kill, until};
use crate::support::read;

fn repair(stage: &Stage) {
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
}

#[test]
fn a_try_that_is_due_later_is_waited_for_after_a_kill() {
    let stage = Stage::new(
        "
- shell: echo try >> LOG; [ -e LOG.repaired ]
  retry: {attempts: 2, backoff: fixed, initial_delay: 60s}
",
    );
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the first try fails", || stage.journal().is_some_and(|journal| journal.contains("\"next_at\"")));
    kill(child.id());
    child.wait().unwrap();
    repair(&stage);
    let limit = std::time::Duration::from_millis(1500);
    assert!(stage.piton(["resume"]).run_within(limit).is_none(), "what is left of the delay is waited for");
    assert_eq!(stage.executions(), ["try"]);
}

#[test]
fn a_step_that_must_not_run_twice_waits_for_a_person() {
    let workflow = "
- id: push
  shell: echo push >> LOG; until [ -e LOG.repaired ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.01; done
  irreversible: true
  probe: '[ -e LOG.pushed ]'
- shell: echo after >> LOG
";
    let cut_off = || {
        let stage = Stage::new(workflow);
        let mut child = stage.piton(["run", "w.yml"]).spawn();
        until("the step is running", || stage.executions() == ["push"]);
        kill(child.id());
        child.wait().unwrap();
        let refused = stage.piton(["resume"]).run().expect_code(9);
        assert!(refused.stderr.contains("must not run twice"), "{refused}");
        assert!(refused.stderr.contains("--yes`, which runs its probe: [ -e "), "{refused}");
        let id = super::support::session_of(&refused.stderr);
        repair(&stage);
        (stage, id)
    };
    let (stage, id) = cut_off();
    stage.piton(["decide", "push", "accept", "--run", &id, "--by", "Ann"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["push", "after"]);

    let (stage, id) = cut_off();
    stage.piton(["decide", "push", "redo", "--run", &id, "--by", "Ann", "--note", "it did not"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["push", "push", "after"]);
}

#[test]
fn a_merge_conflict_is_aborted_and_retried() {
    let stage = Stage::new("- shell: echo theirs > f; git add f; git commit -qm theirs\n");
    stage.sandbox.file("f", "base\n").commit("base");
    stage.workflow(
        "- shell: echo theirs > f; git add f; git commit -qm theirs; echo 1 >> LOG; until [ -e LOG.repaired ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.01; done\n",
    );
    let child = stage.piton(["run", "w.yml", "--yes"]).spawn();
    until("the step has made its commit", || stage.executions() == ["1"]);
    stage.sandbox.file("f", "ours\n").commit("ours");
    repair(&stage);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the merge was undone and the worktree is kept"), "{said}");
    assert_eq!(stage.sandbox.read("f"), "ours\n");
    let id = super::support::session_of(&said);
    stage.sandbox.file("f", "base\n").commit("undo");
    stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.sandbox.read("f"), "theirs\n");
}

#[test]
fn a_large_value_is_kept_by_reference() {
    let stage = Stage::new(
        "
- shell: head -c 1500000 /dev/zero | tr '\\0' x
  capture: big
- write_file: {path: copy, content: '${big}'}
- shell: '[ -e LOG.repaired ]'
- write_file: {path: again, content: '${big}'}
",
    );
    std::os::unix::fs::symlink("/usr/bin/tr", stage.sandbox.top().join("bin/tr")).unwrap();
    let (_, id) = stage.run(&[]);
    repair(&stage);
    stage.resume(&id).expect_code(0);
    assert_eq!(read(&stage.worktree(&id).join("again")).len(), 1_500_000);
    assert_eq!(stage.checkpoint(&id)["variables"]["big"]["bytes"], json!(1_500_002));
    assert!(stage.folder(&id).join("checkpoint.json").metadata().unwrap().len() < 10_000);
}

#[test]
fn an_agent_that_is_driven_has_to_commit_where_the_file_says_so() {
    let stage =
        Stage::new("steps: [{id: a, agent: x, commit_required: true}, {id: b, agent: x, commit_required: true}]");
    let at = |minute: u32| format!("2027-01-01T10:{minute:02}:00Z");
    let piton = |minute, arguments: &[&str]| {
        let call = stage.sandbox.piton(arguments.iter().copied()).env("PITON_HOME", stage.state().as_str());
        call.now(&at(minute)).run()
    };
    let commit = |minute| {
        let script = "git commit --quiet --allow-empty --message=work";
        stage.sandbox.tool("/bin/sh", ["-c", script]).env("GIT_COMMITTER_DATE", &at(minute)).run().expect_code(0);
    };
    piton(0, &["start", "w.yml", "--feature", "x"]).expect_code(0);
    for (step, minute) in [("a", 10), ("b", 20)] {
        let brief = piton(minute, &["begin", step, "--run", "x"]).expect_code(0);
        let asked = "Commit the work: the step counts as done only with a new commit.";
        assert!(brief.to_string().contains(asked), "{brief}");
        let refused = piton(minute + 2, &["finish", step, "--run", "x"]).expect_code(1);
        assert!(refused.to_string().contains("has `commit_required`, and no commit was made"), "{refused}");
        commit(minute + 3);
        piton(minute + 4, &["finish", step, "--run", "x"]).expect_code(0);
    }
}
