//! `on_stop`: steps that run whenever the runner stops before the end.

use super::support::{Stage, kill, session_of, until};

const STOP: &str = "on_stop: {shell: 'echo \"stop ${stop.status} ${stop.step}\" >> LOG'}\n";

fn staged(steps: &str) -> Stage {
    Stage::in_place(&format!("{steps}\n{STOP}"))
}

#[test]
fn they_run_at_a_failure_a_gate_a_limit_and_a_stop_that_was_asked_for() {
    for (steps, more, code, expected) in [
        ("steps: [{id: a, shell: exit 3}]", &[][..], 7, "stop failed a"),
        ("steps: [{id: a, shell: 'true'}, {id: g, gate: Ann}]", &[], 9, "stop waiting g"),
        ("limits: {attempts: 1}\nsteps: [{id: a, shell: 'true'}, {id: b, shell: 'true'}]", &[], 9, "stop stopped "),
        ("steps: [{id: a, shell: 'true'}, {id: b, shell: 'true'}]", &["--until", "a"], 0, "stop stepped a"),
    ] {
        let stage = staged(steps);
        let (output, _) = stage.run(more);
        output.expect_code(code);
        assert_eq!(stage.executions(), [expected], "{steps}");
    }
    let stage = staged("steps: [{id: a, shell: 'echo a >> LOG'}]");
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["a"], "the end is no stop");
}

#[test]
fn they_run_after_a_signal() {
    let stage = staged("steps: [{id: a, shell: 'echo a >> LOG; sleep 30'}]");
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the step runs", || stage.count("a") == 1);
    crate::support::run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -TERM {}", child.id())], &[]);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(stage.executions(), ["a", "stop interrupted "]);
}

#[test]
fn their_failure_is_exit_7_and_changes_nothing_that_is_recorded() {
    let stage = Stage::in_place(
        "steps: [{id: a, shell: 'echo a >> LOG'}, {id: g, gate: Ann}, {id: b, shell: 'echo b >> LOG'}]\non_stop: [{shell: exit 4}]\n",
    );
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("`on_stop` failed: exit 4"), "{output}");
    assert!(output.stderr.contains(&format!("piton approve g --run {id}")), "{output}");
    stage.piton(["approve", "g", "--run", &id, "--by", "Ann"]).run().expect_code(0);
    let report = stage.piton(["--format", "json", "resume", &id]).run().expect_code(0);
    assert_eq!(report.at("/data/status"), "completed");
    assert_eq!(stage.executions(), ["a", "b"]);
}

#[test]
fn a_kill_inside_repeats_them_before_the_run_goes_on() {
    let stage = Stage::in_place(
        "steps: [{id: a, shell: 'echo a >> LOG; test -e LOG.go'}]\non_stop: [{shell: 'echo stop >> LOG; test -e LOG.go || sleep 30'}]\n",
    );
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the step of on_stop runs", || stage.count("stop") == 1);
    kill(child.id());
    child.wait().unwrap();
    std::fs::write(format!("{}.go", stage.log()), "").unwrap();
    let listed = stage.piton(["sessions"]).run();
    let id = session_of(&listed.to_string());
    let resumed = stage.resume(&id).expect_code(0);
    assert!(resumed.stderr.contains("The steps of `on_stop` were cut off; they run again"), "{resumed}");
    assert_eq!(stage.executions(), ["a", "stop", "stop", "a"]);
    let history = stage.piton(["history", &id]).run().expect_code(0);
    assert!(history.to_string().contains("on_stop"), "{history}");
}

#[test]
fn what_they_use_is_checked_before_the_first_step() {
    for (on_stop, expected) in [
        ("[{shell: 'echo ${stop.sttaus}'}]", "did you mean `${stop.status}`?"),
        ("[{shell: x, idempotent: false}]", "must not run twice"),
        ("[{agent: x}]", "is for a step of the workflow"),
    ] {
        let stage = Stage::in_place(&format!("steps: [{{id: a, shell: 'true'}}]\non_stop: {on_stop}\n"));
        let said = stage.piton(["validate", "w.yml"]).run().expect_code(1);
        assert!(said.to_string().contains(expected), "{on_stop}: {said}");
    }
}
