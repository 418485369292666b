//! Answers that cannot be printed. Every exit code has its cases in `tests/cases/errors`.

use super::projects;

#[test]
fn an_error_as_text_is_on_stderr_only() {
    let sandbox = projects::ccw();
    for line in ["begin IMPL-003", "close --done", "finish", "begin IMPL-9", "plan other", "close", "list --nothing"] {
        let output = sandbox.piton(line.split(' ')).env("PITON_FORMAT", "text").run();
        assert!(output.code != 0 && output.stdout.is_empty() && !output.stderr.is_empty(), "{line}: {output}");
    }
}

/// The signal of the limit would end the process between two writes.
#[test]
fn a_limit_for_the_size_of_files_is_refused_like_a_full_disk() {
    let sandbox = projects::nine_step();
    let before = sandbox.read(projects::NINE_STEP);
    let script = format!(r#"ulimit -f 1; exec "$0" --now {} begin 2:3"#, crate::support::NOW);
    let output = sandbox.tool("/bin/sh", ["-c", &script, env!("CARGO_BIN_EXE_piton")]).run().expect_code(4);
    assert!(output.stderr.contains("too large") || output.stdout.contains("too large"), "{output}");
    assert_eq!(sandbox.read(projects::NINE_STEP), before);
    let left = sandbox.tool("/usr/bin/find", [sandbox.root().as_str(), "-name", "*.piton-tmp"]).run();
    assert_eq!(left.stdout, "", "no temporary file is left");
}

#[test]
fn a_result_that_cannot_be_printed_is_no_bug() {
    let sandbox = projects::ccw();
    let script = r#"exec "$0" list > /dev/full"#;
    let output = sandbox.tool("/bin/sh", ["-c", script, env!("CARGO_BIN_EXE_piton")]).run().expect_code(4);
    assert!(output.stderr.contains("could not be printed"), "{output}");
    let script = r#""$0" list | exit 0"#;
    let output = sandbox.tool("/bin/sh", ["-c", script, env!("CARGO_BIN_EXE_piton")]).run().expect_code(0);
    assert_eq!(output.stderr, "");
}

/// S-12: a change that was made is not reported as a refused one, and nothing that cannot be printed is a bug.
#[test]
fn a_change_whose_answer_cannot_be_printed_is_said_to_be_made() {
    let sandbox = projects::nine_step();
    let to_full = |words: &str| {
        let script = format!(r#"exec "$0" --now {} {words}"#, crate::support::NOW);
        sandbox.tool("/bin/sh", ["-c", &script, env!("CARGO_BIN_EXE_piton")]).run()
    };
    let full = to_full("begin 2:3 >/dev/full").expect_code(4);
    let error: serde_json::Value = serde_json::from_str(&full.stderr).expect("a document");
    assert_eq!(error["error"]["recorded"], true, "{full}");
    let message = error["error"]["message"].as_str().unwrap_or_default();
    assert!(message.starts_with("2:3 is in progress") && message.contains("could not be printed: No space"), "{full}");
    assert_eq!(sandbox.piton(["begin", "2:3"]).run().expect_code(0).at("/data/recorded"), false);
    to_full("begin 2:3 --again >/dev/full 2>&1").expect_code(4);
    to_full("plan >/dev/full 2>/dev/full").expect_code(4);
    to_full("finish 2:9 --format text 2>/dev/full").expect_code(9);
    let read = to_full("plan --format text >/dev/full").expect_code(4);
    assert!(read.stderr.contains("the answer could not be printed"), "{read}");
}
