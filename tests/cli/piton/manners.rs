//! What a run leaves and says at its edges: before it begins, while it runs, and on the line of a terminal.

use serde_json::json;

use super::support::{Stage, until};

#[test]
fn a_missing_secret_is_found_before_anything_is_made() {
    let stage = Stage::new("name: s\nsecrets: {T: NOT_SET_X}\nsteps:\n- shell: echo 1 >> LOG\n");
    for more in [&[][..], &["--dry-run"]] {
        let refused = stage.piton(["run", "w.yml"].into_iter().chain(more.iter().copied())).run().expect_code(1);
        assert!(refused.stderr.contains("the secret `T` is not set: the environment has no NOT_SET_X"), "{refused}");
    }
    assert_eq!(stage.sandbox.git(["branch", "--list", "piton/*"]), "");
    stage.piton(["--format", "json", "sessions"]).run().expect_code(3);
}

#[test]
fn a_first_try_that_is_running_is_called_that() {
    let stage = Stage::new("name: s\nsteps:\n- id: wait\n  shell: 'until [ -e LOG.go ]; do sleep 0.02; done'\n");
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    let position = || {
        let sessions = stage.piton(["--format", "json", "sessions"]).run();
        if sessions.code == 0 { sessions.at("/data/sessions/0/position") } else { json!(null) }
    };
    let begins = |text: &serde_json::Value| text.as_str().is_some_and(|text| text.starts_with("running wait (until"));
    until("the step runs", || begins(&position()));
    let text = position();
    assert!(text.as_str().unwrap().ends_with(" s"), "{text}");
    std::fs::write(format!("{}.go", stage.log()), "").unwrap();
    child.wait().unwrap();
}

#[test]
fn a_short_run_on_a_terminal_shows_its_step_and_a_clock() {
    let stage = Stage::in_place(
        "name: s\nsteps:\n- {id: a, title: first, shell: sleep 0.1}\n- {id: b, title: second, shell: sleep 0.1}\n",
    );
    let Some(output) = stage.piton(["run", "w.yml"]).env("TERM", "xterm").on_terminal("") else { return };
    let output = output.expect_code(0);
    assert!(output.stderr.contains("2/2  second  0:00"), "{output}");
    assert!(!output.stderr.contains("0/0"), "{output}");
}
