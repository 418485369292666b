//! Runs that are looked at while they run, or that a signal cuts off in a step, in `at_end` or in `on_stop`.

use serde_json::json;

use super::support::{Stage, kill, session_of, until};
use crate::support::run_tool;

#[test]
fn a_running_session_is_followed_to_its_end() {
    let stage = Stage::new(
        "name: f\nsteps:\n- id: slow\n  shell: 'echo begun; until [ -e LOG.go ] || [ $((n+=1)) -gt 3000 ]; do sleep 0.02; done; echo ended'\n",
    );
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the step prints", || stage.piton(["--format", "text", "logs"]).run().stdout.contains("begun"));
    std::fs::write(format!("{}.go", stage.log()), "").unwrap();
    let followed = stage.piton(["logs", "-f"]).run().expect_code(0);
    child.wait().unwrap();
    assert!(followed.stdout.contains("begun\n") && followed.stdout.contains("ended\n"), "{followed}");
    assert_eq!(followed.stdout.matches("begun").count(), 1, "{followed}");
}

#[test]
fn a_first_try_that_is_running_is_called_that() {
    let stage = Stage::new(
        "name: s\nsteps:\n- id: wait\n  shell: 'until [ -e LOG.go ] || [ $((n+=1)) -gt 3000 ]; do sleep 0.02; done'\n",
    );
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    let position = || {
        let sessions = stage.piton(["--format", "json", "sessions"]).run();
        if sessions.code == 0 { sessions.at("/data/runs/0/position") } else { json!(null) }
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

#[test]
fn a_usage_limit_is_waited_for_and_survives_a_kill() {
    let stage = Stage::in_place("- claude: /go\n");
    let said = r#"{"type":"result","is_error":true,"result":"Claude AI usage limit reached|4102444800"}"#;
    stage.program("claude", &format!("echo claude >> LOG\necho '{said}'; exit 1"));
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the first try fails", || stage.journal().is_some_and(|text| text.contains("\"next_at\":\"2100-01-01T00:0")));
    run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -KILL {}", child.id())], &[]);
    child.wait().unwrap();
    let limit = std::time::Duration::from_millis(1500);
    assert!(stage.piton(["resume"]).run_within(limit).is_none(), "the limit holds until it ends");
    assert_eq!(stage.executions(), ["claude"]);
    for verb in ["plan", "status"] {
        let said = stage.piton(["--format", "text", verb]).run();
        let waits = "waits for a usage limit until 00:0";
        assert!(said.stdout.contains(waits), "{verb}: {said}");
        let said = stage.piton(["--format", "json", verb]).run();
        let until = said.at("/data/limit_wait/until");
        assert!(until.as_str().is_some_and(|until| until.starts_with("2100-01-01T00:0")), "{verb}: {said}");
    }
    // R-9: the wait is no try, and a resume knows what it waits for.
    assert!(stage.journal().is_some_and(|text| text.contains(r#""retry":{"attempts":0,"next_at":"2100-01-01"#)));
}

#[test]
fn a_kill_inside_of_at_end_resumes_there_and_a_step_that_must_not_run_twice_does_not() {
    let stage = Stage::new(
        "steps: [{id: a, shell: 'echo a >> LOG'}]\nat_end: [{id: once, shell: 'echo once >> LOG; kill -9 $PPID; sleep 30', idempotent: false}, {shell: 'echo last >> LOG'}]",
    );
    let (output, id) = stage.run(&[]);
    assert_ne!(output.code, 0);
    stage.resume(&id).expect_code(9);
    stage.piton(["decide", "once", "accept", "--run", &id, "--by", "Ann"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["a", "once", "last"]);
}

const STOP: &str = "on_stop: {shell: 'echo \"stop ${stop.status} ${stop.step}\" >> LOG'}\n";

fn staged(steps: &str) -> Stage {
    Stage::in_place(&format!("{steps}\n{STOP}"))
}

#[test]
fn they_run_after_a_signal() {
    let stage = staged("steps: [{id: a, shell: 'echo a >> LOG; sleep 30'}]");
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the step runs", || stage.count("a") == 1);
    run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -TERM {}", child.id())], &[]);
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(stage.executions(), ["a", "stop interrupted "]);
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
