//! The thirty scenarios of docs/formats/prodigy.md#conformance-scenarios, each by its number. Steps count their executions outside of the worktree.

use std::{
    os::unix::{fs::PermissionsExt as _, process::ExitStatusExt as _},
    time::Instant,
};

use serde_json::{Value, json};

use super::support::{Stage, session_of, until};
use crate::support::{Output, read, run_tool, validate};

/// Fails in its second step until the file `repaired` is outside of the worktree.
const THREE: &str = "
- shell: echo 1 >> LOG
- shell: echo 2 >> LOG; [ -e LOG.repaired ]
- shell: echo 3 >> LOG
";

/// A file that a step waits for until the test creates it.
const WAITS: &str = "
- shell: echo 1 >> LOG
- shell: echo 2 >> LOG; until [ -e LOG.repaired ] || [ $((n+=1)) -gt 6000 ]; do sleep 0.01; done; echo 2 done >> LOG
- shell: echo 3 >> LOG
";

fn repair(stage: &Stage) {
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
}

fn kill(pid: u32, signal: &str) {
    run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -{signal} {pid}")], &[]);
}

/// Starts the workflow, waits for a number of executions, and kills its runner.
fn cut_off(stage: &Stage, executions: usize, signal: &str) -> (i32, String) {
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the workflow comes that far", || stage.executions().len() >= executions);
    kill(child.id(), signal);
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("the sandbox is ours");
    let code = output
        .status
        .code()
        .or_else(|| output.status.signal().map(|signal| 128 + signal))
        .expect("the sandbox is ours");
    (code, session_of(&String::from_utf8_lossy(&output.stderr)))
}

fn modes(folder: &camino::Utf8Path, wrong: &mut Vec<String>) {
    for entry in folder.read_dir_utf8().expect("the sandbox is ours") {
        let path = entry.expect("the sandbox is ours").into_path();
        let mode = path.symlink_metadata().expect("the sandbox is ours").permissions().mode() & 0o777;
        if path.is_dir() {
            if mode != 0o700 {
                wrong.push(format!("{mode:o} {path}"));
            }
            modes(&path, wrong);
        } else if mode != 0o600 {
            wrong.push(format!("{mode:o} {path}"));
        }
    }
}

#[test]
fn c1_a_failure_leaves_a_checkpoint_and_the_worktree() {
    let stage = Stage::new(THREE);
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains(&format!("piton resume {id}")), "{output}");
    assert!(stage.checkpoint(&id).is_object());
    assert!(stage.worktree(&id).join(".git").exists());
}

#[test]
fn c2_a_resume_repeats_only_the_failed_step() {
    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    repair(&stage);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "2", "3"]);
}

#[test]
fn c3_an_edit_of_the_failed_step_is_taken() {
    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    stage.workflow("- shell: echo 1 >> LOG\n- shell: echo two >> LOG\n- shell: echo 3 >> LOG\n");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "two", "3"]);
}

#[test]
fn c4_an_edit_of_a_finished_step_is_refused_without_a_flag() {
    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    repair(&stage);
    stage.workflow("- shell: echo one >> LOG\n- shell: echo 2 >> LOG\n- shell: echo 3 >> LOG\n");
    let output = stage.resume(&id).expect_code(9);
    assert!(output.stderr.contains("w.yml was changed in finished steps (1)"), "{output}");
    assert_eq!(stage.executions(), ["1", "2"]);
    stage.piton(["resume", &id, "--accept-edits"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "one", "2", "3"]);
}

#[test]
fn c5_a_second_failure_is_gone_on_from() {
    let stage = Stage::new(
        "
- shell: echo 1 >> LOG
- shell: echo 2 >> LOG; [ -e LOG.a ]
- shell: echo 3 >> LOG
- shell: echo 4 >> LOG; [ -e LOG.b ]
",
    );
    let (_, id) = stage.run(&[]);
    std::fs::write(format!("{}.a", stage.log()), "").unwrap();
    let output = stage.resume(&id).expect_code(7);
    assert!(output.stderr.contains("stopped at step 4: 3/4 steps completed"), "{output}");
    std::fs::write(format!("{}.b", stage.log()), "").unwrap();
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "2", "3", "4", "4"]);
}

#[test]
fn c6_a_captured_variable_is_there_after_a_resume() {
    let stage = Stage::new(
        "
- shell: printf 'a  b\\n'
  capture: text
- shell: echo '{\"x\":{\"y\":7}}'
  capture: data
  capture_format: json
- shell: '[ -e LOG.repaired ]'
- shell: echo \"${text}|${data.x.y}|${text.exit_code}\" >> LOG
",
    );
    let (_, id) = stage.run(&[]);
    repair(&stage);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["a  b|7|0"]);
}

#[test]
fn c7_every_kind_of_step_is_the_same_after_a_resume() {
    let rest = "
- shell: echo never >> LOG
  when: 'false'
- shell: sleep 5
  timeout: 50ms
  on_failure: {shell: echo handled >> LOG, max_attempts: 0, fail_workflow: false}
- foreach:
    foreach: [a, b]
    do:
      - shell: echo ${item} ${index} ${total} >> LOG
- write_file: {path: dir/made, content: 'made by ${workflow.name}', create_dirs: true}
- shell: cat dir/made >> LOG; echo >> LOG
- test: {command: '[ -e fixed ]', on_failure: {shell: 'echo > fixed; echo repaired >> LOG'}}
- validate:
    shell: 'if [ -e more ]; then echo ''{\"completion_percentage\": 100}''; else echo ''{\"completion_percentage\": 40}''; fi'
    threshold: 90
    on_incomplete: {shell: 'echo closing at ${validation.completion} >> LOG; echo > more'}
";
    let expected = ["handled", "a 0 2", "b 1 2", "made by w", "repaired", "closing at 40.0"];
    let straight = Stage::new(rest.trim_start());
    straight.run(&[]).0.expect_code(0);
    assert_eq!(straight.executions(), expected);

    let resumed = Stage::new(&format!("- shell: '[ -e LOG.repaired ]'{}", rest));
    let (_, id) = resumed.run(&[]);
    repair(&resumed);
    resumed.resume(&id).expect_code(0);
    assert_eq!(resumed.executions(), expected);
}

#[test]
fn c8_sigint_ends_the_child_and_a_resume_repeats_only_that_step() {
    let stage = Stage::new(WAITS);
    let (code, id) = cut_off(&stage, 2, "INT");
    assert_eq!(code, 130);
    assert_eq!(stage.checkpoint(&id)["state"]["Interrupted"], json!({"step": "2", "in_progress": true}));
    repair(&stage);
    assert_eq!(stage.executions(), ["1", "2"], "the child is gone");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "2", "2 done", "3"]);
}

#[test]
fn c9_sigterm_and_sigkill_are_survived_as_well() {
    for (signal, expected) in [("TERM", 143), ("KILL", 137)] {
        let stage = Stage::new(WAITS);
        let (code, id) = cut_off(&stage, 2, signal);
        assert_eq!(code, expected);
        let output = stage.piton(["status", &id]).run().expect_code(0);
        assert!(!output.stdout.is_empty());
        let mut child = stage.piton(["resume", &id]).spawn();
        until("the step is begun again", || stage.count("2") == 2);
        repair(&stage);
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert_eq!(stage.executions(), ["1", "2", "2", "2 done", "3"], "{signal}: no child outlived its runner");
    }
}

#[test]
fn c10_a_resume_of_a_living_run_is_refused() {
    let stage = Stage::new(WAITS);
    let mut child = stage.piton(["run", "w.yml"]).spawn();
    until("the workflow is running", || stage.executions().len() >= 2);
    let output = stage.piton(["resume"]).run().expect_code(6);
    assert!(output.stderr.contains(&format!("is already running: process {}", child.id())), "{output}");
    assert!(output.stderr.contains(" on host "), "{output}");
    let plan = stage.piton(["--format", "json", "plan", "--exit-code"]).run();
    assert_eq!(plan.code, 6, "{plan}");
    repair(&stage);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(stage.executions(), ["1", "2", "2 done", "3"]);
}

#[test]
fn c11_of_two_resumes_one_is_refused_and_a_stale_lock_does_not_block() {
    let stage = Stage::new(WAITS);
    let (_, id) = cut_off(&stage, 2, "KILL");
    let lease = stage.folder(&id).join("local.json");
    let mut text: Value = serde_json::from_str(&read(&lease)).unwrap();
    // A recycled process id: a living process that started at another time.
    text["pid"] = json!(std::process::id());
    std::fs::write(&lease, text.to_string()).unwrap();
    let mut child = stage.piton(["resume", &id]).spawn();
    until("the step is begun again", || stage.count("2") == 2);
    stage.resume(&id).expect_code(6);
    kill(child.id(), "KILL");
    child.wait().unwrap();
    std::fs::write(&lease, "{\"pid\": 1").unwrap();
    let mut child = stage.piton(["resume", &id]).spawn();
    until("the step is begun again", || stage.count("2") == 3);
    repair(&stage);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(stage.executions(), ["1", "2", "2", "2", "2 done", "3"]);
}

#[test]
fn c12_complete_and_unknown_sessions_are_reported() {
    let stage = Stage::new("- shell: echo 1 >> LOG\n");
    let (_, id) = stage.run(&[]);
    let output = stage.resume(&id).expect_code(1);
    assert!(
        output.stderr.contains(&format!("session {id} is complete already; there is nothing to resume")),
        "{output}"
    );
    let output = stage.resume("session-unknown").expect_code(3);
    assert!(output.stderr.contains(&format!("known sessions: {id}")), "{output}");
    assert_eq!(stage.executions(), ["1"]);
}

#[test]
fn c13_a_restart_without_a_terminal_needs_an_explicit_yes() {
    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    let output = stage.piton(["resume", &id, "--force"]).run().expect_code(9);
    assert!(output.stderr.contains("Force restart will lose 1 completed step. Continue? [y/N]"), "{output}");
    assert_eq!(stage.executions(), ["1", "2"]);
    repair(&stage);
    stage.piton(["resume", &id, "--force", "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "1", "2", "3"]);
}

#[test]
fn c14_damage_is_found_and_never_taken_for_state() {
    let damaged = |change: &dyn Fn(&str) -> String| {
        let stage = Stage::new(THREE);
        let (_, id) = stage.run(&[]);
        let journal = stage.folder(&id).join("journal.jsonl");
        std::fs::write(&journal, change(&read(&journal))).unwrap();
        repair(&stage);
        (stage, id)
    };
    let (stage, id) = damaged(&|text| text[..text.len() - 9].to_owned());
    let output = stage.resume(&id).expect_code(0);
    assert!(output.stderr.contains("Its last record is incomplete"), "{output}");
    assert_eq!(stage.executions(), ["1", "2", "2", "3"], "the checkpoint knew more");

    let flipped = |text: &str| text.replacen("\"change\":\"finish\"", "\"change\":\"finisH\"", 1);
    let (stage, id) = damaged(&flipped);
    let output = stage.resume(&id).expect_code(9);
    assert!(output.stderr.contains("of its journal is damaged"), "{output}");
    assert_eq!(stage.executions(), ["1", "2"]);
    stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "2", "3"]);

    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    let header = stage.folder(&id).join("run.json");
    let newer = read(&header).replace("\"format\": 1", "\"format\": 99");
    assert_ne!(newer, read(&header));
    std::fs::write(&header, newer).unwrap();
    stage.resume(&id).expect_code(9);
    stage.piton(["trust", &id]).run().expect_code(0);
    stage.resume(&id).expect_code(5);
    std::fs::write(&header, "{\"format\": 1,").unwrap();
    stage.resume(&id).expect_code(4);
    assert_eq!(stage.executions(), ["1", "2"]);

    // A sound journal needs no checkpoint; `hardships.rs` has the journal that lost records.
    let half = |text: &str| text[..text.floor_char_boundary(text.len() / 2)].to_owned();
    let lying = |text: &str| text.replacen("\"attempts\":1", "\"attempts\":9", 1);
    let newer = |text: &str| text.replacen("\"format\":1", "\"format\":99", 1);
    for damage in [&half as &dyn Fn(&str) -> String, &lying, &newer] {
        let stage = Stage::new(THREE);
        let (_, id) = stage.run(&[]);
        let checkpoint = stage.folder(&id).join("checkpoint.json");
        let damaged = damage(&read(&checkpoint));
        assert_ne!(damaged, read(&checkpoint));
        std::fs::write(&checkpoint, damaged).unwrap();
        let plan = stage.piton(["plan", &id, "-v", "--format", "text"]).run();
        assert!(plan.stdout.contains("checkpoint.json cannot be used"), "{plan}");
        repair(&stage);
        stage.resume(&id).expect_code(0);
        assert_eq!(stage.executions(), ["1", "2", "2", "3"]);
    }
}

#[test]
fn c15_a_deleted_worktree_is_reported_and_a_restart_makes_a_new_one() {
    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    std::fs::remove_dir_all(stage.worktree(&id)).unwrap();
    repair(&stage);
    let output = stage.resume(&id).expect_code(9);
    assert!(output.stderr.contains(&format!("the worktree of session {id} is missing")), "{output}");
    assert!(output.stderr.contains("--force"), "{output}");
    assert_eq!(stage.executions(), ["1", "2"]);
    stage.piton(["resume", &id, "--force", "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "1", "2", "3"]);
}

#[test]
fn c16_a_deleted_workflow_file_is_named() {
    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    stage.sandbox.remove("w.yml");
    let output = stage.resume(&id).expect_code(4);
    assert!(output.stderr.contains("cannot continue without its workflow file"), "{output}");
    assert!(output.stderr.contains("w.yml"), "{output}");
    assert_eq!(stage.executions(), ["1", "2"]);
}

#[test]
fn c17_a_run_stops_where_nothing_can_be_recorded() {
    let stage = Stage::new(
        "
- shell: echo 1 >> LOG
- shell: echo 2 >> LOG; rm $HOLE/journal.jsonl
- shell: echo 3 >> LOG
",
    );
    // The step finds the records of its own session through the home of all sessions.
    let workflow = read(&stage.sandbox.root().join("w.yml"));
    stage.sandbox.file("w.yml", &workflow.replace("$HOLE", &format!("{}/runs/*", stage.home())));
    let (output, _) = stage.run(&[]);
    assert!(![0, 7].contains(&output.code), "{output}");
    assert!(output.stderr.contains("journal.jsonl was removed"), "{output}");
    assert_eq!(stage.executions(), ["1", "2"]);
}

#[test]
fn c18_a_resume_works_from_anywhere() {
    for is_inside in [true, false] {
        let stage = Stage::new(THREE);
        let workflow = read(&stage.sandbox.root().join("w.yml"));
        stage.sandbox.file("some dir/my workflow.yml", &workflow).file("other/x", "");
        let output = stage.piton(["run", "my workflow.yml"]).folder("some dir".into()).run().expect_code(7);
        let id = session_of(&output.stderr);
        let folder = if is_inside { "other".into() } else { stage.sandbox.top().join("empty") };
        for verb in ["status", "plan", "history"] {
            let output = stage.piton([verb, &id]).folder(&folder).run().expect_code(0);
            assert!(output.stdout.contains(&id), "{output}");
        }
        stage.piton(["show", &id]).folder(&folder).run().expect_code(0);
        repair(&stage);
        stage.piton(["resume", &id]).folder(&folder).run().expect_code(0);
        assert_eq!(stage.executions(), ["1", "2", "2", "3"]);
    }
}

#[test]
fn c19_another_state_folder_has_the_worktrees() {
    let stage = Stage::new(THREE);
    let elsewhere = stage.sandbox.top().join("else where");
    let piton = |arguments: &'static [&'static str]| {
        stage.piton(arguments.iter().copied()).env("PITON_HOME", elsewhere.as_str())
    };
    let output = piton(&["run", "w.yml"]).run().expect_code(7);
    assert!(!stage.state().exists());
    let worktrees = run_tool("/bin/sh".as_ref(), &["-c", &format!("ls '{elsewhere}'/*/worktrees")], &[]);
    assert_eq!(String::from_utf8_lossy(&worktrees.stdout).trim(), session_of(&output.stderr));
    repair(&stage);
    piton(&["resume"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "2", "3"]);
}

#[test]
fn c20_repositories_of_one_name_do_not_mix() {
    let stage = Stage::new("- shell: 'false'\n");
    for folder in ["a/app", "b/app"] {
        stage.sandbox.file(&format!("{folder}/w.yml"), "- shell: 'false'\n");
        stage.sandbox.git_in(folder, ["init", "--quiet", "--initial-branch=main"]);
        stage.sandbox.git_in(folder, ["commit", "--quiet", "--allow-empty", "--message=x"]);
        stage.piton(["run", "w.yml"]).folder(folder.into()).run().expect_code(7);
    }
    let own = stage.state().read_dir_utf8().unwrap().filter(|entry| entry.as_ref().unwrap().file_name() != "index");
    assert_eq!(own.count(), 2);
    for folder in ["a/app", "b/app"] {
        let list = stage.piton(["--format", "json", "list"]).folder(folder.into()).run();
        assert_eq!(list.at("/data/runs").as_array().map(Vec::len), Some(1), "{list}");
    }
}

/// Answers twice that the service is down, then with success.
const FLAKY: &str = r#"echo claude >> LOG
if [ -e TMP/2 ]; then echo '{"type":"result","is_error":false,"result":"fine"}'; exit 0; fi
if [ -e TMP/1 ]; then : > TMP/2; else : > TMP/1; fi
echo '{"type":"result","is_error":true,"result":"API Error: 500 Internal Server Error"}'; exit 1"#;

#[test]
fn c21_a_passing_failure_of_claude_is_retried() {
    let stage = Stage::new(
        "retry: {attempts: 4, initial_delay: 10ms}\ncommands:\n- claude: /go\n  capture: said\n- shell: echo ${said} >> LOG\n",
    );
    stage.program("claude", FLAKY);
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(0);
    assert_eq!(stage.executions(), ["claude", "claude", "claude", "fine"], "{output}");
    assert_eq!(stage.checkpoint(&id)["completed_steps"], json!(["1", "2"]));
}

#[test]
fn c22_a_lasting_failure_of_claude_is_tried_once() {
    let stage = Stage::new("- claude: /go\n");
    let said = r#"{"type":"result","is_error":true,"result":"API Error: 401 authentication_error: invalid x-api-key"}"#;
    stage.program("claude", &format!("echo claude >> LOG\necho '{said}'; exit 1"));
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    assert_eq!(stage.executions(), ["claude"]);
    assert_eq!(stage.checkpoint(&id)["state"]["Failed"]["retryable"], false);
}

#[test]
fn c23_without_a_terminal_nothing_is_merged_or_destroyed() {
    let stage =
        Stage::new("- shell: echo new > new; git add new; git commit -qm new\n- shell: '[ -e LOG.repaired ]'\n");
    let (_, id) = stage.run(&[]);
    repair(&stage);
    let output = stage.resume(&id).expect_code(0);
    assert!(stage.worktree(&id).join("new").exists());
    assert!(!stage.sandbox.exists("new"));
    let by_hand =
        output.stderr.lines().find_map(|line| line.split_once("To merge it into main: ")).unwrap().1.to_owned();
    assert_eq!(by_hand, format!("git -C $ROOT merge piton/{id}"));
    stage.sandbox.git(["merge", "--quiet", &format!("piton/{id}")]);
    assert!(stage.sandbox.exists("new"));
}

#[test]
fn c24_uncommitted_files_are_never_removed() {
    for workflow in
        ["- shell: echo x > loose\n", "- shell: echo new > new; git add new; git commit -qm new; echo x > loose\n"]
    {
        let stage = Stage::new(workflow);
        let (output, id) = stage.run(&["--yes"]);
        let output = output.expect_code(0);
        assert_eq!(read(&stage.worktree(&id).join("loose")), "x\n", "{output}");
        assert!(output.stderr.contains("The worktree is kept"), "{output}");
    }
}

#[test]
fn c25_secrets_are_in_no_file_and_files_are_private() {
    let stage = Stage::new(
        "
secrets: {DEPLOY: THE_SOURCE}
commands:
- shell: echo \"$GITHUB_TOKEN $DEPLOY $HARMLESS\"
- shell: echo ${DEPLOY} >&2; exit 1
",
    );
    let output = stage
        .piton(["run", "w.yml"])
        .env("GITHUB_TOKEN", "tok-4711-4711")
        .env("THE_SOURCE", "hunter2hunter2")
        .env("HARMLESS", "harmless")
        .run()
        .expect_code(7);
    let id = session_of(&output.stderr);
    let mut wrong = Vec::new();
    modes(&stage.folder(&id), &mut wrong);
    assert!(wrong.is_empty(), "{wrong:?}");
    let found = run_tool(
        "/bin/sh".as_ref(),
        &["-c", &format!("/usr/bin/grep -rlE 'tok-4711|hunter2' '{}' '{}'", stage.state(), stage.home())],
        &[],
    );
    assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    assert_eq!(read(&stage.folder(&id).join("logs/1.1.log")), "[masked] [masked] harmless\n");
}

#[test]
fn c26_captures_are_stored_once() {
    let steps = (1..=20).map(|n| format!("- shell: head -c 100000 /dev/zero | tr '\\0' x\n  capture: v{n}\n"));
    let stage = Stage::new(&steps.collect::<String>());
    std::os::unix::fs::symlink("/usr/bin/tr", stage.sandbox.top().join("bin/tr")).unwrap();
    let (output, id) = stage.run(&[]);
    output.expect_code(0);
    let bytes = stage.folder(&id).join("checkpoint.json").metadata().unwrap().len();
    assert!((2_000_000..2_100_000).contains(&bytes), "{bytes}");
    let journal = stage.folder(&id).join("journal.jsonl").metadata().unwrap().len();
    assert!((2_000_000..2_100_000).contains(&journal), "{journal}");
}

#[test]
fn c27_the_cost_of_a_step_does_not_grow() {
    let seconds = |steps: usize| {
        let stage = Stage::new(&"- shell: 'true'\n".repeat(steps));
        let started = Instant::now();
        let (output, id) = stage.run(&["--no-worktree"]);
        let seconds = started.elapsed().as_secs_f64();
        output.expect_code(0);
        (seconds, stage.folder(&id).join("journal.jsonl").metadata().unwrap().len())
    };
    // The quicker of two runs of each, for a machine that has other things to do in between.
    let quicker = |steps: usize| {
        let (one, other) = (seconds(steps), seconds(steps));
        (one.0.min(other.0), one.1)
    };
    let (short, few) = quicker(30);
    let (long, many) = quicker(300);
    // Ten times the steps; twice that, for the same reason.
    assert!(long < 20.0 * short, "{short} s for 30 steps, {long} s for 300");
    assert!(many < 11 * few, "{few} bytes for 30 steps, {many} for 300");
}

#[test]
fn c28_unknown_keys_are_errors_that_name_them() {
    let stage = Stage::new("- shell: echo 1 >> LOG\n  tiemout: 3\n");
    let output = stage.piton(["run", "w.yml"]).run().expect_code(1);
    assert!(output.stderr.contains("w.yml:2:3: a step has no key `tiemout`; did you mean `timeout`?"), "{output}");
    assert!(stage.executions().is_empty());
    assert!(!stage.state().exists() && !stage.home().exists());
}

#[test]
fn c29_sessions_are_listed_with_their_progress_and_how_to_resume() {
    let stage = Stage::new(THREE);
    let (_, id) = stage.run(&[]);
    let list = stage.piton(["--format", "json", "list"]).run().expect_code(0);
    assert_eq!(list.at("/data/runs/0/id"), json!(id));
    assert_eq!(list.at("/data/runs/0/progress"), json!({"done": 1, "total": 3}));
    let plan = stage.piton(["--format", "json", "plan", &id]).run().expect_code(0);
    assert_eq!(plan.at("/data/next/0/step"), json!("2"));
    assert!(plan.at("/data/commands/resume").as_str().is_some_and(|resume| resume.contains(&id)), "{plan}");
}

#[test]
fn c30_output_for_machines_is_separate() {
    let stage = Stage::new(THREE);
    let (output, _) = stage.run(&[]);
    assert!(!format!("{}{}", output.stdout, output.stderr).contains('\u{1b}'), "{output}");
    repair(&stage);
    let document = stage.piton(["--format", "json", "run", "w.yml"]).run().expect_code(0);
    assert_eq!(document.at("/schema"), json!("run/1"));
    assert_eq!(document.at("/data/status"), json!("completed"));
    let events: Output = stage.piton(["run", "w.yml", "--events"]).run().expect_code(0);
    let names = events.stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["event"].clone());
    let names: Vec<Value> = names.collect();
    let expected =
        ["session", "executing", "completed", "executing", "completed", "executing", "completed", "note", "end"];
    assert_eq!(names, expected.map(Value::from));
}

#[test]
fn every_line_of_events_satisfies_its_schema() {
    let stage = Stage::in_place(
        "- shell: echo out; echo err >&2; [ -e LOG.repaired ]
  retry: {attempts: 2, initial_delay: 1ms}
- foreach: {foreach: [a], do: [{shell: 'true'}]}
- shell: 'true'
  when: 'false'
- shell: 'false'
  on_failure: {shell: 'true', max_attempts: 0, fail_workflow: false}
",
    );
    let mut seen = std::collections::BTreeSet::new();
    let mut check = |output: &Output| {
        for line in output.stdout.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            validate("event", &event).unwrap_or_else(|problem| panic!("{problem}\n{line}"));
            seen.insert(event["event"].as_str().unwrap().to_owned());
        }
    };
    check(&stage.piton(["run", "w.yml", "--no-worktree", "--events"]).run().expect_code(7));
    repair(&stage);
    check(&stage.piton(["resume", "--events"]).run().expect_code(0));
    let expected = [
        "again",
        "completed",
        "end",
        "executing",
        "failed",
        "handling",
        "item",
        "item_ended",
        "loaded",
        "output",
        "resuming",
        "retrying",
        "session",
        "skipped",
        "tolerated",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}
