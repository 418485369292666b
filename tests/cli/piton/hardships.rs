//! What a runner meets outside of its steps: edited files, closed terminals, lost records, other runs, secrets on the terminal.

use std::os::unix::process::ExitStatusExt as _;

use super::support::{Stage, session_of, until};
use crate::support::run_tool;

/// R-1: the end that was recorded decides, not the workflow file as it is now.
#[test]
fn an_edited_file_revives_no_finished_session() {
    let two = "name: daily\ncommands:\n  - shell: echo one >> LOG\n  - shell: echo two >> LOG\n";
    let stage = Stage::new(two);
    let (output, id) = stage.run(&["--yes"]);
    output.expect_code(0);
    for edited in
        [format!("{two}  - shell: echo three >> LOG\n"), two.replace("one", "ONE"), "- no workflow".to_owned()]
    {
        stage.workflow(&edited);
        assert!(stage.piton(["sessions"]).run().stdout.contains("merged"), "{edited}");
        stage.piton(["list"]).run().expect_code(3);
        stage.piton(["resume"]).run().expect_code(1);
        let status = stage.piton(["status", &id, "--format", "text"]).run();
        assert!(status.stdout.contains("2 of 2 steps done"), "{status}");
        let input = format!(r#"{{"session_id":"x","source":"startup","cwd":"{}"}}"#, stage.sandbox.root());
        let hook = stage.piton(["hook", "session-start"]).session("x").stdin(input).run();
        assert!(!hook.stdout.contains(&id), "{hook}");
    }
    let cleaned = stage.piton(["sessions", "clean", "--dry-run"]).run();
    assert!(cleaned.stdout.contains(&id), "{cleaned}");
    // A restart takes the file as it is now.
    stage.workflow(&format!("{two}  - shell: echo three >> LOG\n"));
    stage.piton(["resume", &id, "--force", "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["one", "two", "one", "two", "three"]);
}

/// R-2: an option stays an option.
#[test]
fn a_value_of_args_swallows_no_option() {
    let stage = Stage::in_place("- shell: echo \"${ARG}\" >> LOG\n");
    let dry = stage.piton(["run", "w.yml", "--args", "x", "--dry-run"]).run().expect_code(0);
    assert!(dry.stdout.contains("Would run"), "{dry}");
    assert_eq!(stage.executions(), [] as [String; 0]);
    for words in [
        &["run", "--args", "x", "w.yml"][..],
        &["run", "w.yml", "--args", "x", "--args=-y"],
        &["run", "w.yml", "--args", "x", "--", "--yes", "z"],
    ] {
        stage.piton(words.iter().copied()).run().expect_code(0);
    }
    assert_eq!(stage.executions(), ["x", "x -y", "x --yes z"]);
}

/// Starts the workflow by a shell line, waits for its first execution, and sends a signal.
fn signalled(stage: &Stage, prefix: &str) -> (i32, String) {
    let program = env!("CARGO_BIN_EXE_piton");
    let line = format!("{prefix} exec {program} run w.yml --no-worktree");
    let mut child = stage.sandbox.tool("/bin/sh", ["-c", &line]).env("PITON_HOME", stage.state().as_str()).spawn();
    until("the step runs", || stage.count("begun") == 1);
    run_tool("/bin/sh".as_ref(), &["-c", &format!("kill -HUP {}", child.id())], &[]);
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("it was started");
    let code = output.status.code().or_else(|| output.status.signal().map(|signal| 128 + signal));
    let code = code.expect("it ended");
    (code, session_of(&String::from_utf8_lossy(&output.stderr)))
}

/// R-11: a closed terminal stops a run as SIGTERM does, unless it was started with `nohup`.
#[test]
fn a_closed_terminal_stops_a_run_and_its_step() {
    let stage = Stage::in_place("- shell: echo begun >> LOG; sleep 30; echo end >> LOG\n");
    let (code, id) = signalled(&stage, "");
    assert_eq!(code, 129);
    assert_eq!(stage.checkpoint(&id)["state"]["Interrupted"]["in_progress"], true, "{}", stage.checkpoint(&id));
    assert_eq!(stage.executions(), ["begun"]);
    let ignoring = Stage::in_place("- shell: echo begun >> LOG; sleep 1; echo end >> LOG\n");
    assert_eq!(signalled(&ignoring, "trap '' HUP;").0, 0);
    assert_eq!(ignoring.executions(), ["begun", "end"]);
}

/// R-12: a step that never passed is said, in the output, in the record, and at the end.
#[test]
fn a_step_that_never_passed_does_not_look_done() {
    let stage = Stage::in_place(
        "- shell: exit 3\n  on_failure: {shell: exit 4, fail_workflow: false}\n- shell: echo two >> LOG\n",
    );
    let (output, id) = stage.run(&[]);
    let output = output.expect_code(0);
    assert!(output.stderr.contains("Step 1 never passed: exit code 3; its handler failed as well"), "{output}");
    assert!(output.stderr.contains("2/2 steps, 1 of them never passed"), "{output}");
    let shown = stage.piton(["sessions", "show", &id, "--format", "text"]).run();
    assert!(shown.stdout.contains("\u{26a0}\u{fe0f}  1 exit 3 (never passed)"), "{shown}");
    assert_eq!(stage.piton(["sessions", "show", &id]).run().at("/data/steps/0/status"), "tolerated");
    let status = stage.piton(["status", &id]).run().expect_code(0).at("/data/where_you_are");
    assert!(status.to_string().contains("2 of 2 steps done, 1 of them never passed"), "{status}");
    assert_eq!(stage.piton(["plan", &id]).run().at("/data/progress/tolerated"), 1);
    let events = stage.piton(["run", "w.yml", "--events"]).run().expect_code(0);
    assert!(events.stdout.contains(r#""event":"tolerated","number":1"#), "{events}");
    assert!(events.stdout.contains(r#""status":"tolerated","attempts""#), "{events}");
    assert!(events.stdout.contains(r#""tolerated":1"#), "{events}");
}

/// R-18: secrets are masked where they are printed, also across reads and line by line.
/// SECURITY: row 18
#[test]
fn secrets_are_not_printed() {
    let stage = Stage::in_place(
        "secrets: {T: MYSEC}\ncommands:\n  - shell: 'printf \"tok=%s.\" \"$T\"; printf hunter2; sleep 0.1; echo unique; echo \"$T\" >&2; echo hunter2'\n",
    );
    for more in [&[][..], &["--events"], &["--format", "json"]] {
        let output = stage.piton(["run", "w.yml"].into_iter().chain(more.iter().copied()));
        let output = output.env("MYSEC", "hunter2unique").run().expect_code(0);
        let all = format!("{}{}", output.stdout, output.stderr);
        assert!(!all.contains("hunter2unique") && all.contains("tok=[masked]."), "{output}");
        assert!(all.contains("hunter2"), "what is no secret is printed whole\n{output}");
    }
    let lines = stage.piton(["run", "w.yml"]).env("MYSEC", "first-secret-line\nsecond-secret-line").run();
    assert!(!lines.to_string().contains("secret-line"), "{lines}");
}

const THREE: &str = "- shell: echo 1 >> LOG\n- shell: echo 2 >> LOG; test -e fixed\n- shell: echo 3 >> LOG\n";

/// R-19 and R-20: a journal that is gone, empty or shorter than the checkpoint says is named, and nothing goes on over it unasked.
#[test]
fn a_lost_journal_is_named_and_the_checkpoint_goes_on() {
    for kept in [None, Some(0), Some(2)] {
        let stage = Stage::in_place(THREE);
        let (_, id) = stage.run(&[]);
        let journal = stage.folder(&id).join("journal.jsonl");
        match kept {
            None => std::fs::remove_file(&journal).unwrap(),
            Some(count) => {
                let text = std::fs::read_to_string(&journal).unwrap();
                let lines: Vec<&str> = text.split_inclusive('\n').take(count).collect();
                std::fs::write(&journal, lines.concat()).unwrap();
            }
        }
        for verb in ["plan", "status", "sessions"] {
            let output = stage.piton([verb]).run();
            let is_named = output.findings().contains(&"journal-missing".to_owned());
            assert!(is_named, "{kept:?}, {verb}: {output}");
        }
        let refused = stage.piton(["resume", &id]).run().expect_code(9);
        assert!(refused.stderr.contains("of its journal are gone; by its checkpoint done: 1"), "{refused}");
        stage.piton(["repair"]).run().expect_code(9);
        assert_eq!(stage.executions(), ["1", "2"], "{kept:?}");
        let output = stage.piton(["resume", &id, "--yes"]).run().expect_code(7);
        assert!(output.stderr.contains("a new record begins with the checkpoint"), "{output}");
        assert_eq!(stage.executions(), ["1", "2", "2"], "{kept:?}: nothing finished is repeated");
        assert!(!stage.piton(["plan"]).run().findings().contains(&"journal-missing".to_owned()), "it is mended");
        stage.piton(["resume", &id, "--force", "--yes"]).run().expect_code(7);
    }
}

/// R-19, without a checkpoint: nothing is proven, so only a restart goes on.
#[test]
fn a_journal_that_is_gone_with_no_checkpoint_is_named_and_a_restart_works() {
    for is_empty in [false, true] {
        let stage = Stage::in_place(THREE);
        let (_, id) = stage.run(&[]);
        let folder = stage.folder(&id);
        std::fs::remove_file(folder.join("checkpoint.json")).unwrap();
        match is_empty {
            true => std::fs::write(folder.join("journal.jsonl"), "").unwrap(),
            false => std::fs::remove_file(folder.join("journal.jsonl")).unwrap(),
        }
        for verb in ["plan", "status", "sessions"] {
            let findings = stage.piton([verb]).run().findings();
            assert!(findings.contains(&"journal-missing".to_owned()), "{verb}: {findings:?}");
            assert!(!findings.contains(&"definition-drift".to_owned()), "{verb}: {findings:?}");
        }
        let restart = format!("piton resume {id} --force --yes");
        for words in [&["resume"][..], &["resume", "--yes"], &["repair"], &["repair", "--yes"]] {
            let refused = stage.piton(words.iter().copied()).run().expect_code(9);
            assert!(refused.to_string().contains("no step is proven"), "{words:?}: {refused}");
            assert!(refused.to_string().contains(&restart), "{words:?}: {refused}");
        }
        assert_eq!(stage.executions(), ["1", "2"]);
        stage.piton(["resume", &id, "--force", "--yes"]).run().expect_code(7);
        assert_eq!(stage.executions(), ["1", "2", "1", "2"]);
        assert!(!stage.piton(["plan"]).run().findings().contains(&"journal-missing".to_owned()), "it is mended");
    }
}

/// R-10: sessions of one repository merge one after the other, and a foreign git that holds a lock for a moment stops none of them.
#[test]
fn sessions_merge_one_after_the_other() {
    let stage = Stage::new("- shell: 'true'\n");
    for number in 0..4 {
        let many = format!("for k in 0 1 2 3 4 5 6 7 8 9; do echo {number} > d{number}-$k.txt; done");
        let text = format!("- shell: '{many}; git add -A; git commit -qm f{number}'\n");
        stage.sandbox.file(&format!("p{number}.yml"), &text);
    }
    stage.sandbox.commit("workflows");
    let lock = stage.sandbox.root().join(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let files: Vec<String> = (0..4).map(|number| format!("p{number}.yml")).collect();
    let children: Vec<_> = files.iter().map(|file| stage.piton(["run", file, "--yes"]).spawn()).collect();
    until("a merge is tried", || stage.state().exists());
    std::fs::remove_file(&lock).unwrap();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(stage.sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(stage.sandbox.git(["worktree", "list"]).lines().count(), 1);
    assert!((0..4).all(|number| stage.sandbox.exists(&format!("d{number}-9.txt"))));
}

/// R-10: only a conflict is called one, its files are named, and the project is afterwards as it was.
#[test]
fn a_conflict_is_named_with_its_files() {
    let stage = Stage::new(
        "- shell: echo theirs > a.txt; git add -A; git commit -qm theirs; echo go >> LOG\n- shell: while ! test -e ../../../../tmp/go; do sleep 0.02; done\n",
    );
    let go = stage.sandbox.top().join("tmp/go");
    let text = std::fs::read_to_string(stage.sandbox.root().join("w.yml")).unwrap();
    stage.sandbox.file("w.yml", &text.replace("../../../../tmp/go", go.as_str())).commit("workflow");
    let child = stage.piton(["run", "w.yml", "--yes"]).spawn();
    until("the branch has its commit", || stage.count("go") == 1);
    stage.sandbox.file("a.txt", "ours").commit("ours");
    std::fs::write(&go, "").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("resolve the conflicts in a.txt"), "{said}");
    assert_eq!(stage.sandbox.git(["status", "--porcelain"]), "");
    assert_eq!(stage.sandbox.read("a.txt"), "ours");
}

/// A secret of a step reaches its own command only, and is masked wherever it is printed.
#[test]
fn a_secret_of_a_step_reaches_no_other() {
    let stage = Stage::in_place(
        "steps:\n- {shell: 'echo \"one $T.\" >> LOG; echo out $T', secrets: {T: MYSEC}}\n- {shell: 'echo \"two $T.\" >> LOG'}\n\
         - foreach: [a]\n  shell: 'echo \"item $T.\" >> LOG'\n  secrets: {T: MYSEC}\n",
    );
    let output = stage.piton(["run", "w.yml"]).env("MYSEC", "hunter2unique").run().expect_code(0);
    assert_eq!(stage.executions(), ["one hunter2unique.", "two .", "item hunter2unique."]);
    assert!(output.stdout.contains("out [masked]") && !output.to_string().contains("hunter2unique"), "{output}");
    let missing = stage.piton(["run", "w.yml"]).run().expect_code(1);
    assert!(missing.to_string().contains("the secret `T` is not set: the environment has no MYSEC"), "{missing}");
    let twice = "secrets: {T: A}\nsteps:\n- {shell: x, secrets: {T: B}}\n";
    let output = stage.workflow(twice).piton(["validate", "w.yml"]).run().expect_code(1);
    assert!(output.stdout.contains("the secret `T` of this step has another source elsewhere in the file"), "{output}");
}
