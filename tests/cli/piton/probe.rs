//! Steps that must not run twice: what their probe decides, and what is left for a person.

use super::support::{Stage, session_of, until};
use crate::support::run_tool;

/// Cuts the runner off in the middle of a step that must not run twice; the probe is what `PROBE` stands for.
fn cut_off(probe: &str) -> (Stage, String) {
    let stage = Stage::in_place(
        &"
env: {TARGET: origin}
commands:
  - shell: printf 1.4.0
    capture: version
  - id: push
    shell: echo push >> LOG; until [ -e LOG.repaired ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.01; done
    idempotent: false
    probe: PROBE
    env: {WORD: own}
  - shell: echo after >> LOG
"
        .replace("PROBE", &serde_json::to_string(probe).expect("text")),
    );
    let child = stage.piton(["run", "w.yml"]).spawn();
    until("the step is running", || stage.executions() == ["push"]);
    run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -KILL {}", child.id())], &[]);
    let output = child.wait_with_output().expect("a child of our own");
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
    let id = session_of(&String::from_utf8_lossy(&output.stderr));
    (stage, id)
}

#[test]
fn the_exit_code_of_the_probe_says_whether_the_step_took_effect() {
    for (probe, code, executions, said) in [
        (
            "echo probed >> LOG",
            0,
            &["push", "probed", "after"][..],
            "The probe of step push found that it took effect; it is not repeated",
        ),
        (
            "echo probed >> LOG; exit 1",
            0,
            &["push", "probed", "push", "after"],
            "The probe of step push found that it did not take effect; it is repeated",
        ),
        ("echo probed >> LOG; exit 2", 9, &["push", "probed"], "The probe of step push is inconclusive: exit code 2"),
        ("no-such-program", 9, &["push"], "The probe of step push is inconclusive: exit code 127"),
        ("kill -9 $$", 9, &["push"], "The probe of step push is inconclusive: signal 9"),
        (
            "echo ${version.none}",
            9,
            &["push"],
            "The probe of step push is inconclusive: the variable `${version.none}` is not set",
        ),
    ] {
        let (stage, id) = cut_off(probe);
        let output = stage.piton(["resume", &id, "--yes"]).run().expect_code(code);
        assert!(output.stderr.contains(said), "{probe}\n{output}");
        assert_eq!(stage.executions(), executions, "{probe}\n{output}");
    }
}

#[test]
fn a_probe_runs_only_after_consent() {
    let (stage, id) = cut_off("echo probed >> LOG");
    for arguments in [&["resume", &id][..], &["resume", &id, "--dry-run"], &["resume", &id, "--yes", "--dry-run"]] {
        let output = stage.piton(arguments.iter().copied()).run().expect_code(9);
        assert!(output.stderr.contains("must not run twice"), "{output}");
        assert_eq!(stage.executions(), ["push"], "{arguments:?}");
    }
    let output = stage.piton(["resume", &id]).run().expect_code(9);
    assert!(
        output.stderr.contains(&format!("piton resume {id} --yes`, which runs its probe: echo probed")),
        "{output}"
    );
    let Some(output) = stage.piton(["resume", &id]).on_terminal("y\n") else { return };
    assert!(output.stderr.contains("Run its probe to see whether it took effect: echo probed"), "{output}");
    assert_eq!(stage.executions(), ["push", "probed", "after"], "{output}");
}

#[test]
fn who_does_not_want_the_probe_is_asked_instead() {
    let (stage, id) = cut_off("echo probed >> LOG");
    let Some(output) = stage.piton(["resume", &id]).on_terminal("n\nyes\n") else { return };
    let output = output.expect_code(0);
    assert_eq!(stage.executions(), ["push", "after"], "{output}");
}

#[test]
fn a_probe_sees_what_its_step_sees() {
    let (stage, id) = cut_off("echo ${version} $TARGET $WORD >> LOG; echo seen");
    let output = stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["push", "1.4.0 origin own", "after"]);
    assert!(!output.stdout.contains("seen") && output.stderr.contains("seen\n"), "it is no result\n{output}");
}

#[test]
fn a_probe_that_is_interrupted_changes_nothing() {
    let (stage, id) = cut_off("echo probed >> LOG; sleep 60");
    let child = stage.piton(["resume", &id, "--yes"]).spawn();
    until("the probe is running", || stage.executions() == ["push", "probed"]);
    run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -INT {}", child.id())], &[]);
    let output = child.wait_with_output().expect("a child of our own");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    stage.resume(&id).expect_code(9);
    stage.piton(["decide", "push", "redo", "--run", &id, "--by", "Ann", "--note", "it did not"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["push", "probed", "push", "after"]);
}
