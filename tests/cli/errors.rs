//! Every exit code has a real situation, and the answer says what to do.

use super::projects::{self, NINE_STEP, SESSION, document, replace};
use crate::support::Sandbox;

struct Case {
    code: i32,
    name: &'static str,
    project: fn() -> Sandbox,
    words: &'static [&'static str],
    /// Has to be part of the message.
    says: &'static str,
    /// Has to be part of a hint.
    hints: &'static str,
}

const CASES: [Case; 12] = [
    Case {
        code: 1,
        name: "no",
        project: projects::ccw,
        words: &["begin", "IMPL-003"],
        says: "IMPL-003 still waits for IMPL-002",
        hints: "piton plan WFS-user-auth",
    },
    Case {
        code: 1,
        name: "no",
        project: projects::ccw,
        words: &["complete"],
        says: "2 steps of WFS-user-auth are not done",
        hints: "piton plan WFS-user-auth",
    },
    Case {
        code: 2,
        name: "usage",
        project: projects::ccw,
        words: &["finish"],
        says: "required arguments were not provided: <STEP>",
        hints: "Usage: piton finish",
    },
    Case { code: 3, name: "not-found", project: Sandbox::new, words: &["plan"], says: "No", hints: "piton start" },
    Case {
        code: 3,
        name: "not-found",
        project: projects::ccw,
        words: &["begin", "IMPL-9"],
        says: "no step `IMPL-9`",
        hints: "IMPL-001, IMPL-002, IMPL-003",
    },
    Case {
        code: 3,
        name: "not-found",
        project: projects::ccw,
        words: &["plan", "other"],
        says: "no run `other`",
        hints: "WFS-user-auth",
    },
    Case {
        code: 4,
        name: "unreadable",
        project: truncated,
        words: &["plan"],
        says: ".workflow-state.json",
        hints: "piton archive",
    },
    Case {
        code: 4,
        name: "unreadable",
        project: truncated,
        words: &["begin", "2:3"],
        says: ".workflow-state.json",
        hints: "piton archive",
    },
    Case { code: 5, name: "newer-format", project: newer, words: &["begin", "2:3"], says: "newer", hints: "piton" },
    Case {
        code: 6,
        name: "conflict",
        project: projects::ccw,
        words: &["begin", "IMPL-002", "--if-revision", "0123456789abcdef"],
        says: "the state is at revision",
        hints: "piton plan WFS-user-auth",
    },
    Case {
        code: 8,
        name: "ambiguous",
        project: projects::both,
        words: &["plan"],
        says: "2",
        hints: "piton plan user-auth   # 1. Phase 2: ",
    },
    Case {
        code: 9,
        name: "person-decides",
        project: projects::ccw,
        words: &["archive"],
        says: "2 open steps",
        hints: "piton archive WFS-user-auth --yes",
    },
];

fn truncated() -> Sandbox {
    let sandbox = projects::nine_step();
    let text = sandbox.read(NINE_STEP);
    sandbox.file(NINE_STEP, &text[..text.len() / 2]);
    sandbox
}

fn newer() -> Sandbox {
    let sandbox = projects::nine_step();
    replace(&sandbox, NINE_STEP, "\"feature_name\"", "\"schema_version\": 99,\n  \"feature_name\"");
    sandbox
}

#[test]
fn every_code_occurs_and_says_what_to_do() {
    for case in &CASES {
        let sandbox = (case.project)();
        let before = projects::foreign(&sandbox);
        let output = sandbox.piton(case.words.iter().copied()).run();
        let what = format!("piton {}\n{output}", case.words.join(" "));
        assert_eq!(output.code, case.code, "{what}");
        let error = document(&output);
        assert_eq!(error["error"]["code"], case.name, "{what}");
        assert!(error["error"]["message"].as_str().unwrap().contains(case.says), "{what}");
        let hints = error["error"]["hints"].as_array().unwrap();
        assert!(hints.iter().any(|hint| hint.as_str().unwrap().contains(case.hints)), "{what}");
        assert_eq!(before.changes(&projects::foreign(&sandbox)), [] as [&str; 0], "{what}");

        let text = sandbox.piton(case.words.iter().copied()).env("PITON_FORMAT", "text").run();
        assert_eq!((text.code, text.stdout.as_str()), (case.code, ""), "{text}");
        assert!(text.stderr.contains(case.says.split(": ").last().unwrap()), "{text}");
    }
}

#[test]
fn a_question_without_a_person_to_ask_exits_9_with_the_plan() {
    let sandbox = projects::nine_step();
    let old = sandbox.piton(["plan"]).now("2026-03-31T12:00:00Z").run().expect_code(9);
    assert_eq!(document(&old)["data"]["verdict"], "confirm");
}

#[test]
fn a_finished_run_exits_0() {
    let sandbox = projects::ccw();
    sandbox.piton(["finish", "IMPL-002"]).run().expect_code(0);
    sandbox.piton(["skip", "IMPL-003", "--reason", "not needed"]).run().expect_code(0);
    let output = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!(output.at("/data/verdict"), "complete");
}

#[test]
fn a_failed_write_exits_4_and_names_the_file() {
    let sandbox = projects::ccw();
    // A file in the place of Piton's folder: root cannot write there either.
    sandbox.file(&format!("{SESSION}/.piton"), "");
    let before = sandbox.tree();
    let output = sandbox.piton(["begin", "IMPL-002"]).run().expect_code(4);
    let message = document(&output)["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains(".workflow/active/WFS-user-auth/.piton"), "{message}");
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
    sandbox.piton(["plan"]).run().expect_code(0);
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
