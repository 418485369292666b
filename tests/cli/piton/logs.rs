//! `logs`, and the end of the log of a failed step.

use serde_json::json;

use super::support::{Stage, until};

const FLOW: &str = "
name: noisy
steps:
- id: build
  shell: echo compiling; echo careful >&2
- id: test
  shell: echo one; echo two; exit 1
  on_failure: {shell: echo handled, max_attempts: 0}
";

#[test]
fn the_logs_of_a_session_are_printed_by_step() {
    let stage = Stage::new(FLOW);
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    let all = stage.piton(["--format", "json", "logs"]).run().expect_code(0);
    assert_eq!((all.at("/schema"), all.at("/data/session")), (json!("logs/1"), json!(id)));
    let steps: Vec<_> = (0..3).map(|at| all.at(&format!("/data/logs/{at}/step"))).collect();
    assert_eq!(steps, [json!("build"), json!("test"), json!("test.on_failure.1")], "{all}");
    assert_eq!(all.at("/data/logs/1/lines"), json!(["one", "two"]));
    let text = stage.piton(["--format", "text", "logs", &id, "build"]).run().expect_code(0).stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("== build  $TOP/state/") && lines[0].ends_with("logs/build.1.log"), "{text}");
    assert!(lines.contains(&"compiling") && lines.contains(&"careful") && lines.len() == 3, "{text}");
    let unknown = stage.piton(["--format", "json", "logs", &id, "publish"]).run();
    assert_eq!(unknown.code, 3, "{unknown}");
}

#[test]
fn the_end_of_the_log_and_its_path_stand_beside_a_failure() {
    let stage =
        Stage::new("name: f\nsteps:\n- id: test\n  shell: 'for n in 1 2 3 4 5 6 7; do echo line $n; done; exit 1'\n");
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(7);
    let log = format!("/runs/{id}/logs/test.1.log");
    assert!(output.stderr.contains("   | line 3\n") && !output.stderr.contains("| line 2"), "{output}");
    assert!(
        output.stderr.contains("   Its log: $TOP/state/") && output.stderr.contains(&format!("{log}\n")),
        "{output}"
    );
    let report = stage.piton(["--format", "json", "resume", &id]).run().expect_code(7);
    assert_eq!(report.at("/data/failed/log/lines/4"), json!("line 7"));
    let file = report.at("/data/failed/log/file");
    assert!(file.as_str().unwrap().ends_with(&format!("/runs/{id}/logs/test.2.log")), "{file}");
    let both = stage.piton(["--format", "json", "logs", &id, "test"]).run().expect_code(0);
    assert_eq!([0, 1].map(|at| both.at(&format!("/data/logs/{at}/attempt"))), [json!(1), json!(2)], "{both}");
    let text = stage.piton(["--format", "text", "logs", &id]).run().expect_code(0).stdout;
    assert!(text.contains("== test, attempt 2  ") && text.matches("line 7").count() == 2, "{text}");
}

#[test]
fn a_running_session_is_followed_to_its_end() {
    let stage = Stage::new(
        "name: f\nsteps:\n- id: slow\n  shell: 'echo begun; until [ -e LOG.go ]; do sleep 0.02; done; echo ended'\n",
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
fn the_logs_of_a_group_are_found_by_item_and_by_step() {
    let stage = Stage::new(
        "name: f\nsteps:\n- id: each\n  foreach: ['a/b', c]\n  steps:\n  - {id: make, shell: 'echo made ${item}'}\n  - {id: test, shell: 'echo tested ${item}'}\n",
    );
    let (output, id) = stage.run(&["--no-worktree"]);
    output.expect_code(0);
    let logs = |step: &str| {
        let shown = stage.piton(["--format", "json", "logs", &id, step]).run().expect_code(0);
        let logs = shown.at("/data/logs").as_array().expect("a list").clone();
        logs.iter().map(|log| (log["step"].clone(), log["lines"][0].clone())).collect::<Vec<_>>()
    };
    let made = (json!("each[a/b].make"), json!("made a/b"));
    let tested = (json!("each[a/b].test"), json!("tested a/b"));
    assert_eq!(logs("each[a/b]"), [made.clone(), tested]);
    assert_eq!(logs("each[a/b].make"), [made]);
    assert_eq!(logs("each").len(), 4);
    stage.piton(["logs", &id, "each[x]"]).run().expect_code(3);
}

#[test]
fn beside_a_failed_item_no_log_of_a_step_that_passed_is_shown() {
    let stage = Stage::new(
        "name: f\nsteps:\n- id: each\n  foreach: [a]\n  steps:\n  - {id: make, shell: 'echo made'}\n  - {id: test, shell: 'exit 1'}\n",
    );
    let output = stage.run(&["--no-worktree"]).0.expect_code(7);
    assert!(!output.stderr.contains("| made") && !output.stderr.contains("Its log"), "{output}");
}

#[test]
fn a_step_that_printed_nothing_is_told_from_one_that_never_ran() {
    let stage = Stage::new(
        "name: f\nsteps:\n- {id: quiet, shell: 'true'}\n- {id: each, foreach: [a, b], shell: '[ ${item} = a ]'}\n- {id: late, shell: 'true'}\n",
    );
    let (output, id) = stage.run(&["--no-worktree"]);
    output.expect_code(7);
    for step in ["quiet", "each", "each[a]", "each[b]"] {
        let said = stage.piton(["--format", "text", "logs", &id, step]).run().expect_code(0);
        assert_eq!(said.stdout, format!("{step} printed nothing.\n"), "{said}");
    }
    let never = stage.piton(["logs", &id, "late"]).run().expect_code(3);
    assert!(never.to_string().contains("late never ran: its status is pending"), "{never}");
}
