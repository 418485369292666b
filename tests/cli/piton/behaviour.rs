//! Other behaviour of a run: parts, attempts, handlers, steps that must not run twice, and resuming from elsewhere.

use serde_json::json;

use super::support::{Stage, kill, until};
use crate::support::read;

fn repair(stage: &Stage) {
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
}

#[test]
fn a_foreach_resumes_with_the_unfinished_item() {
    let stage = Stage::new(
        "
- foreach:
    foreach: echo list >> LOG; printf 'a\\nb c\\nd\\n'
    do:
      - shell: echo \"${item}\" >> LOG
      - shell: '[ \"${item}\" != \"b c\" ] || [ -e LOG.repaired ]'
",
    );
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("Step 1 failed: 1 of 3 items failed, first b c: "), "{output}");
    repair(&stage);
    stage.resume(&id).expect_code(0);
    assert_eq!(
        stage.executions(),
        ["list", "a", "b c", "d"],
        "neither the list nor what passed of an item is done again"
    );
}

#[test]
fn an_edited_foreach_keeps_the_items_that_passed() {
    let workflow = |word: &str| {
        format!(
            "
- foreach:
    foreach: [a, b]
    do:
      - shell: echo {word} ${{item}} >> LOG; [ ${{item}} = a ] || [ -e LOG.repaired ]
"
        )
    };
    let stage = Stage::new(&workflow("old"));
    let (_, id) = stage.run(&[]);
    repair(&stage);
    stage.workflow(&workflow("new"));
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["old a", "old b", "new b"]);
}

#[test]
fn items_side_by_side_are_each_done_once() {
    let stage = Stage::new(
        "
- foreach:
    foreach: [a, b, c, d, e, f]
    parallel: 3
    continue_on_error: true
    do:
      - shell: echo ${item} >> LOG; [ ${item} != c ] || [ -e LOG.repaired ]
",
    );
    let (_, id) = stage.run(&[]);
    repair(&stage);
    stage.resume(&id).expect_code(0);
    let mut all = stage.executions();
    all.sort();
    assert_eq!(all, ["a", "b", "c", "c", "d", "e", "f"]);
}

#[test]
fn a_value_is_never_code() {
    let stage = Stage::new(
        "
- shell: printf '%s' \"'; echo INJECTED >> LOG; '\"
  capture: v
- shell: printf '%s\\n' ${v} >> LOG
- shell: printf '%s\\n' \"${v}\" '${v}' >> LOG
",
    );
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["'; echo INJECTED >> LOG; '".replace("LOG", stage.log().as_str()).as_str(); 3]);
}

#[test]
fn an_unset_variable_is_named() {
    let stage = Stage::new(
        "- shell: echo x\n  capture: result\n- shell: echo ${resutl}\n- shell: echo ${none:-default} >> LOG\n",
    );
    // before the first step.
    let output = stage.piton(["run", "w.yml"]).run().expect_code(1);
    assert!(output.stderr.contains("the variable `${resutl}` is not set"), "{output}");
    assert!(output.stderr.contains("did you mean `${result}`"), "{output}");
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
    let failed = || {
        let homes = stage.state().read_dir_utf8().ok()?;
        let sessions = homes.filter_map(|home| home.ok()?.path().join("runs").read_dir_utf8().ok()).flatten();
        sessions.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("journal.jsonl")).ok()).next()
    };
    until("the first try fails", || failed().is_some_and(|journal| journal.contains("\"next_at\"")));
    kill(child.id());
    child.wait().unwrap();
    repair(&stage);
    let limit = std::time::Duration::from_millis(1500);
    assert!(stage.piton(["resume"]).run_within(limit).is_none(), "what is left of the delay is waited for");
    assert_eq!(stage.executions(), ["try"]);
}

#[test]
fn a_handler_repairs_a_step() {
    let stage = Stage::new(
        "
- shell: echo step >> LOG; [ -e fixed ]
  on_failure: {shell: 'echo \"${error}\" >> LOG; echo > fixed', max_attempts: 2}
- shell: echo next >> LOG
",
    );
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["step", "exit code 1", "step", "next"]);
}

#[test]
fn a_step_that_must_not_run_twice_waits_for_a_person() {
    let workflow = "
- id: push
  shell: echo push >> LOG; while [ ! -e LOG.repaired ]; do sleep 0.01; done
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
    stage.piton(["finish", "push", "--run", &id]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["push", "after"]);

    let (stage, id) = cut_off();
    stage.piton(["resume", &id, "--from", "push"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["push", "push", "after"]);
}

const THREE: &str = "
- shell: echo 1 >> LOG
- shell: echo 2 >> LOG; [ -e LOG.repaired ]
- shell: echo 3 >> LOG
";

#[test]
fn a_person_says_where_to_continue() {
    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    stage.piton(["resume", &id, "--from", "3"]).run().expect_code(1);
    stage.piton(["resume", &id, "--from", "9"]).run().expect_code(3);
    let planned = stage.piton(["resume", &id, "--from", "1", "--dry-run"]).run().expect_code(0);
    assert!(planned.stdout.starts_with("Would run 3 steps:\n  1. shell\n"), "{planned}");
    assert_eq!(stage.executions(), ["1", "2"]);
    stage.piton(["resume", &id, "--skip", "2"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "3"]);

    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    repair(&stage);
    stage.piton(["resume", &id, "--from", "1"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "1", "2", "3"]);
    stage.piton(["resume", &id, "--parallel"]).run().expect_code(2);
}

#[test]
fn a_merge_conflict_is_aborted_and_retried() {
    let stage = Stage::new("- shell: echo theirs > f; git add f; git commit -qm theirs\n");
    stage.sandbox.file("f", "base\n").commit("base");
    stage.workflow(
        "- shell: echo theirs > f; git add f; git commit -qm theirs; echo 1 >> LOG; while [ ! -e LOG.repaired ]; do sleep 0.01; done\n",
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
fn a_workflow_merges_in_its_own_way() {
    let stage = Stage::new(
        "
merge:
  - shell: git -C ${PROJECT_ROOT} merge --quiet ${merge.source_branch}; echo ${merge.target_branch} >> LOG
commands:
  - shell: echo new > new; git add new; git commit -qm new
",
    );
    let (output, id) = stage.run(&["--yes"]);
    output.expect_code(0);
    assert_eq!((stage.sandbox.read("new").as_str(), stage.executions()), ("new\n", vec!["main".to_owned()]));
    assert!(!stage.worktree(&id).exists());
}

#[test]
fn a_worktree_on_another_branch_is_named() {
    let stage = Stage::new("- shell: '[ -e LOG.repaired ]'\n");
    let (_, id) = stage.run(&[]);
    let resumed = stage.resume(&id).expect_code(7);
    assert!(!resumed.stderr.contains("is what is merged"), "{resumed}");
    let worktree = stage.worktree(&id);
    stage.sandbox.git(["-C", worktree.as_str(), "checkout", "--quiet", "-b", "other"]);
    let resumed = stage.resume(&id).expect_code(7);
    let told = format!("is on other, but piton/{id} will be merged when every step is done");
    assert!(resumed.stderr.contains(&told), "{resumed}");
}

#[test]
fn a_merge_that_takes_too_long_is_ended_and_tried_again_by_a_resume() {
    let stage = Stage::new(
        "
merge:
  timeout: 200ms
  commands:
    - shell: echo merge >> LOG; [ -e LOG.repaired ] || sleep 30; git -C ${PROJECT_ROOT} merge --quiet ${merge.source_branch}
    - shell: echo merged >> LOG
commands:
  - shell: echo new > new; git add new; git commit -qm new
",
    );
    let (output, id) = stage.run(&["--yes"]);
    assert!(output.expect_code(1).stderr.contains("the `merge` of the workflow failed"));
    assert_eq!((stage.executions(), stage.worktree(&id).exists()), (vec!["merge".to_owned()], true));
    let slow = "timeout: 200ms";
    let text = stage.sandbox.read("w.yml");
    assert!(text.contains(slow));
    stage.sandbox.file("w.yml", &text.replace(slow, "timeout: 60s"));
    repair(&stage);
    stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["merge", "merge", "merged"]);
}

#[test]
fn a_step_that_has_to_commit_is_held_to_it() {
    let stage = Stage::new("- shell: 'true'\n  commit_required: true\n");
    let (output, _) = stage.run(&[]);
    assert!(output.expect_code(7).stderr.contains("no commit was made"));
    let stage = Stage::new(
        "
- shell: echo x > x; git add x; git commit -qm x
  commit_required: true
  on_success: {shell: 'echo ${step.files_added} ${step.commit_count} >> LOG'}
",
    );
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["x 1"]);
}

#[test]
fn in_place_there_is_no_worktree() {
    let stage = Stage::new("- shell: echo here > here; [ -e LOG.repaired ]\n");
    let (_, id) = stage.run(&["--no-worktree"]);
    assert_eq!(stage.sandbox.read("here"), "here\n");
    repair(&stage);
    stage.resume(&id).expect_code(0);
    assert!(!stage.worktree(&id).exists());
}

#[test]
fn the_output_of_a_step_is_kept_in_its_log_and_its_output_file() {
    let stage = Stage::new("- id: talk\n  shell: echo out; echo err >&2\n  output_file: said\n");
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(0);
    assert_eq!(output.stdout, "out\n");
    assert!(output.stderr.contains("\nerr\n"), "{output}");
    let mut log: Vec<String> = read(&stage.folder(&id).join("logs/talk.1.log")).lines().map(str::to_owned).collect();
    log.sort();
    assert_eq!(log, ["err", "out"]);
    assert_eq!(read(&stage.worktree(&id).join("said")), "out\n");
}

#[test]
fn claude_is_wanted_only_by_a_step_that_calls_it() {
    let stage = Stage::new("- claude: /go\n");
    let output = stage.piton(["run", "w.yml"]).run().expect_code(1);
    assert!(output.stderr.contains("which is not on the PATH"), "{output}");
    assert!(!stage.state().exists());
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

#[test]
fn a_commit_from_before_the_step_is_none_of_it() {
    let stage = Stage::new("steps: [{id: a, agent: x, commit_required: true}]");
    stage.sandbox.commit("in the second of the start");
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["begin", "a"]).run().expect_code(0);
    let refused = stage.piton(["finish", "a"]).run().expect_code(1);
    assert!(refused.to_string().contains("no commit was made"), "{refused}");
    stage.sandbox.file("new.txt", "x").commit("work");
    stage.piton(["finish", "a"]).run().expect_code(0);
}

#[test]
fn a_step_can_fail_without_ending_the_workflow() {
    for tolerant in [
        "continue_on_error: true",
        "on_failure: {fail_workflow: false}",
        "continue_on_error: true, on_failure: echo handled >> LOG",
    ] {
        let stage = Stage::new(&format!(
            "name: f\nsteps:\n- {{id: a, shell: exit 3, {tolerant}}}\n- {{id: b, shell: echo after >> LOG}}\n"
        ));
        let (output, _) = stage.run(&["--no-worktree"]);
        let output = output.expect_code(0);
        assert!(output.stderr.contains("1 of them never passed"), "{output}");
        assert_eq!(stage.count("after"), 1);
        assert_eq!(stage.count("handled") > 0, tolerant.contains("handled"));
        assert_eq!(output.stderr.contains("takes over"), tolerant.contains("handled"), "{output}");
    }
    let stage =
        Stage::new("name: f\nsteps:\n- {id: a, shell: exit 3, continue_on_error: false}\n- {id: b, shell: 'true'}\n");
    stage.run(&["--no-worktree"]).0.expect_code(7);
}

#[test]
fn an_input_that_the_file_has_now_has_its_default_after_a_resume() {
    let steps = "steps:\n- {id: a, shell: 'test -e LOG.repaired'}\n- {id: b, shell: 'echo TEXT >> LOG'}\n";
    let stage = Stage::new(&format!("name: f\n{}", steps.replace("TEXT", "old")));
    let (_, id) = stage.run(&["--no-worktree"]);
    repair(&stage);
    stage.workflow(&format!("name: f\ninputs:\n  word: {{default: new}}\n{}", steps.replace("TEXT", "${word}")));
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["new"]);
}

#[test]
fn a_finished_run_goes_on_with_a_step_that_a_person_wants_done_again() {
    let stage = Stage::new("name: f\nsteps:\n- {id: a, shell: echo a >> LOG}\n- {id: b, shell: echo b >> LOG}\n");
    let (output, id) = stage.run(&["--no-worktree"]);
    output.expect_code(0);
    let redo =
        stage.piton(["--format", "text", "redo", "b", "--run", &id, "--by", "Ann", "--note", "x"]).run().expect_code(0);
    assert!(redo.to_string().contains(&format!("piton resume {id}")), "{redo}");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["a", "b", "b"]);
    stage.resume(&id).expect_code(1);
}
