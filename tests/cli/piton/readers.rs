//! What the verbs that read say of runs that ended, run now, or were cut off.

use serde_json::json;

use super::support::{Stage, until};
use crate::support::Output;

fn json_of(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).run()
}

fn text_of(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "text"].into_iter().chain(arguments.iter().copied())).run()
}

#[test]
fn the_newest_run_is_the_one_that_changed_last_also_within_a_second() {
    let stage = Stage::in_place("steps: [{shell: echo one}]\n");
    for number in 0..5 {
        stage.workflow(&format!("steps: [{{shell: echo said-{number}}}]\n"));
        let (_, id) = stage.run(&[]);
        assert_eq!(json_of(&stage, &["logs"]).at("/data/session"), id.as_str());
        let logs = text_of(&stage, &["logs"]).expect_code(0);
        assert!(logs.stdout.contains(&format!("said-{number}")), "{logs}");
    }
}

#[test]
fn a_first_try_that_runs_now_is_no_retry_and_not_interrupted() {
    let stage = Stage::in_place("steps: [{id: a, shell: 'echo a >> LOG; sleep 30', title: wait}]\n");
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the step runs", || stage.count("a") == 1);
    let status = json_of(&stage, &["status"]);
    let row = json_of(&stage, &["list"]).at("/data/runs/0/position");
    let list = text_of(&stage, &["list"]);
    crate::support::run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -TERM {}", child.id())], &[]);
    child.wait().unwrap();
    assert!(status.at("/data/where_you_are").as_str().unwrap().contains("done; running a (wait), "), "{status}");
    assert!(row.as_str().unwrap().starts_with("running a (wait), "), "{row}");
    assert!(list.stdout.starts_with("Runs:") && !list.stdout.contains("blocked"), "{list}");
    let after = text_of(&stage, &["list"]).expect_code(0);
    assert!(!after.stdout.contains("running a"), "{after}");
}

#[test]
fn a_merge_that_a_signal_stopped_is_as_after_a_kill() {
    for signal in ["TERM", "INT"] {
        let stage = Stage::new(
            "
name: merges
steps: [{shell: echo a > a.txt; git add -A; git commit -qm a}]
merge:
- shell: echo m1 >> LOG
- shell: echo m2 >> LOG; [ -e LOG.fixed ] || sleep 30
- shell: git -C ${PROJECT_ROOT} merge -q ${merge.source_branch}
",
        );
        let mut child = stage.piton(["run", "w.yml", "--yes"]).spawn();
        until("the merge runs", || stage.count("m2") == 1);
        let running = text_of(&stage, &["list"]);
        assert!(running.stdout.starts_with("Runs:"), "{running}");
        crate::support::run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -{signal} {}", child.id())], &[]);
        child.wait().unwrap();
        let row = json_of(&stage, &["list"]).at("/data/runs/0");
        assert_eq!(row["verdict"], json!("resume"), "{row}");
        let list = text_of(&stage, &["list"]).expect_code(0);
        assert!(list.stdout.starts_with("Found interrupted workflows:"), "{list}");
        assert!(!list.stdout.contains("complete"), "{list}");
        let cause = json_of(&stage, &["status"]).at("/data/cause/detail");
        assert_eq!(cause, format!("its merge did not finish: SIG{signal}"));
        std::fs::write(format!("{}.fixed", stage.log()), "").expect("the sandbox is ours");
        stage.piton(["resume"]).run().expect_code(0);
        assert_eq!(stage.executions(), ["m1", "m2", "m2"], "no finished step of the merge is repeated");
        assert_eq!(json_of(&stage, &["list", "--all"]).at("/data/runs/0/lifecycle"), json!({"stage": "finished"}));
    }
}
