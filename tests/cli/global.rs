//! Guarantees of every verb: help, robustness in a broken project, and one document as the answer.

use super::projects::{self, NINE_STEP, document, replace};
use crate::support::{Output, Sandbox};

const VERBS: [&str; 27] = [
    "list",
    "plan",
    "status",
    "show",
    "context",
    "history",
    "validate",
    "start",
    "begin",
    "finish",
    "exec",
    "pause",
    "decide",
    "resume",
    "close",
    "trust",
    "restore",
    "rollback",
    "run",
    "workflows",
    "logs",
    "merge",
    "setup",
    "doctor",
    "demo",
    "schema",
    "completions",
];

/// Works everywhere, even when everything else is broken (invariant 12).
const UNSHAKEN: [&[&str]; 9] = [
    &["--help"],
    &["help", "plan"],
    &["--version"],
    &["list", "--help"],
    &["schema"],
    &["schema", "plan"],
    &["completions", "bash"],
    &["man"],
    &["doctor"],
];

#[test]
fn every_verb_is_in_the_help_with_one_line() {
    let sandbox = Sandbox::new();
    let help = sandbox.piton(["--help"]).real_clock().run().expect_code(0).stdout;
    let rows = help.lines().skip_while(|line| *line != "See:").take_while(|line| *line != "Options:");
    let rows: Vec<(&str, &str)> = rows
        .filter(|row| row.starts_with("  "))
        .map(|row| row.trim().split_once(' ').map_or((row, ""), |(verb, about)| (verb, about.trim())))
        .collect();
    let verbs: Vec<&str> = rows.iter().map(|(verb, _)| *verb).filter(|verb| *verb != "help").collect();
    assert_eq!(verbs, VERBS);
    for (verb, about) in rows {
        assert!(about.len() > 10 && !about.ends_with('.'), "{verb}: {about}");
    }
}

#[test]
fn every_argument_and_flag_has_a_help_text() {
    let sandbox = Sandbox::new();
    for verb in VERBS {
        let help = sandbox.piton([verb, "--help"]).real_clock().run().expect_code(0).stdout;
        let lines: Vec<&str> = help.lines().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| is_entry(line)) {
            let own = line.trim().split_once("  ").map_or("", |(_, text)| text.trim());
            let below = lines.get(at + 1).filter(|next| next.starts_with("          ")).map_or("", |next| next.trim());
            assert!(!own.is_empty() || !below.is_empty(), "piton {verb}: no help for `{}`", line.trim());
        }
        assert!(lines[0].len() > 10, "piton {verb} says nothing about itself");
    }
}

/// Tells whether a line of the help names an argument or a flag.
fn is_entry(line: &str) -> bool {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    (2..=6).contains(&indent) && text.starts_with(['-', '<', '[']) && !text.starts_with("- ")
}

#[test]
fn nothing_is_needed_for_help_version_schemas_and_doctor() {
    for words in UNSHAKEN {
        let output = Sandbox::new().piton(words.iter().copied()).without_git().env("HOME", "").real_clock().run();
        assert_eq!(output.code, 0, "piton {}\n{output}", words.join(" "));
        assert!(!output.stdout.is_empty() && output.stderr.is_empty(), "piton {}\n{output}", words.join(" "));
    }
}

#[test]
fn a_ruin_of_a_project_is_no_obstacle() {
    let sandbox = projects::ccw();
    sandbox.file(&format!("{}/workflow-session.json", projects::SESSION), "{").file("piton.toml", "mode = [");
    sandbox.file(".git", "gitdir: /nowhere/at/all\n");
    for words in UNSHAKEN {
        let output = sandbox.piton(words.iter().copied()).without_git().real_clock().run();
        let expected = i32::from(*words == ["doctor"]);
        assert_eq!(output.code, expected, "piton {}\n{output}", words.join(" "));
    }
    let doctor = document(&sandbox.piton(["doctor"]).without_git().run());
    let problem = doctor["data"]["checks"].as_array().unwrap().iter().find(|check| check["result"] == "problem");
    let detail = problem.unwrap()["detail"].as_str().unwrap().to_owned();
    assert!(detail.starts_with("piton.toml:1:"), "{detail}");
}

#[test]
fn a_folder_that_is_gone_is_no_obstacle() {
    for words in UNSHAKEN {
        let sandbox = Sandbox::new();
        let output = in_a_gone_folder(&sandbox, words);
        let expected = i32::from(*words == ["doctor"]);
        assert_eq!(output.code, expected, "piton {}\n{output}", words.join(" "));
    }
    let output = in_a_gone_folder(&Sandbox::new(), &["list"]).expect_code(4);
    assert!(output.at("/error/message").as_str().unwrap().contains("current folder"), "{output}");
}

/// Runs piton without an environment, in a deleted folder.
fn in_a_gone_folder(sandbox: &Sandbox, words: &[&str]) -> Output {
    let gone = sandbox.top().join("gone").into_string();
    std::fs::create_dir(&gone).expect("a folder in the sandbox");
    let script = r#"rmdir "$1" && shift && unset PATH HOME TMPDIR && exec "$@""#;
    let words = ["-c", script, "sh", &gone, env!("CARGO_BIN_EXE_piton")].into_iter().chain(words.iter().copied());
    let words: Vec<&str> = words.collect();
    sandbox.tool("/bin/sh", words).env("PATH", "/usr/bin:/bin").folder(gone.as_str().into()).run()
}

#[test]
fn unknown_flags_verbs_and_values_exit_2_and_name_themselves() {
    let sandbox = projects::ccw();
    let before = sandbox.tree();
    for verb in VERBS {
        let words = [verb, "--no-such-flag"];
        let error = document(&sandbox.piton(words).run().expect_code(2));
        assert_eq!(error["error"]["code"], "usage");
        assert!(error["error"]["message"].as_str().unwrap().contains("'--no-such-flag'"), "{error}");
    }
    for words in [
        &["dance"][..],
        &["plan", "--mode", "wild"],
        &["list", "--format", "xml"],
        &["finish", "IMPL-002", "--status", "excellent"],
        &["finish", "IMPL-002", "--verdict", "excellent"],
        &["finish", "IMPL-002", "--set", "a=1"],
        &["finish", "IMPL-002", "--output", "../x"],
        &["start", "nine-step"],
        &["start", "nine-step", "--feature", "../x"],
        &["start", "nine-step", "--feature", "x", "--phases", "0"],
        &["start", "waterfall", "--feature", "x"],
        &["decide", "IMPL-002", "skip"],
        &["decide", "IMPL-002", "skip", "--note", "later"],
        &["decide", "IMPL-002", "approve"],
        &["decide", "IMPL-002", "redo"],
        &["list", "--now", "noon"],
        &["--project", "list"],
    ] {
        let error = document(&sandbox.piton(words.iter().copied()).real_clock().run().expect_code(2));
        assert_eq!(error["error"]["code"], "usage", "{words:?}");
    }
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}

#[test]
fn a_usage_error_is_text_for_a_person() {
    let sandbox = Sandbox::new();
    let output = sandbox.piton(["list", "--format", "text", "--al"]).run().expect_code(2);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("a similar argument exists: '--all'"), "{output}");
    let output = sandbox.piton(["list", "--\u{1b}[31mred"]).env("PITON_FORMAT", "text").run().expect_code(2);
    assert!(!output.stderr.contains('\u{1b}'), "{output}");
}

#[test]
fn every_verb_answers_with_one_document() {
    let sandbox = projects::both();
    for (words, code, schema) in [
        (&["list"][..], 0, "list/1"),
        (&["list", "--all"], 0, "list/1"),
        (&["plan", "auth"], 8, "error/2"),
        (&["plan", "WFS-user-auth"], 0, "plan/3"),
        (&["plan", "WFS-user-auth", "--from", "IMPL-003", "--if-dependencies-met"], 1, "plan/3"),
        (&["plan", "nothing-like-it"], 3, "error/2"),
        (&["context", "1"], 0, "context/2"),
        (&["context", "WFS-user-auth", "--step", "IMPL-003"], 0, "context/2"),
        (&["context", "WFS-user-auth", "--step", "IMPL-9"], 3, "error/2"),
        (&["status", "2"], 0, "status/1"),
        (&["status"], 8, "error/2"),
        (&["validate"], 0, "validate/1"),
        (&["validate", "no/such.json"], 3, "error/2"),
        (&["schema"], 0, "schema-list/1"),
        (&["schema", "nothing"], 3, "error/2"),
        (&["workflows"], 0, "workflows/1"),
        (&["workflows", "nine-step"], 0, "workflows/1"),
        (&["workflows", "nothing"], 2, "error/2"),
        (&["start", "nine-step", "--feature", "second"], 0, "checkpoint/1"),
        (&["start", "nine-step", "--feature", "second"], 1, "error/2"),
        (&["begin", "IMPL-002", "--run", "WFS-user-auth"], 0, "checkpoint/1"),
        (&["begin", "IMPL-002"], 0, "checkpoint/1"),
        (&["begin"], 8, "error/2"),
        (&["finish", "IMPL-002", "--run", "WFS-user-auth"], 0, "checkpoint/1"),
        (&["finish", "IMPL-9", "--run", "WFS-user-auth"], 3, "error/2"),
        (&["decide", "IMPL-003", "approve", "--run", "WFS-user-auth", "--by", "ana"], 1, "error/2"),
        (
            &["decide", "IMPL-003", "skip", "--note", "later", "--by", "ana", "--run", "WFS-user-auth"],
            0,
            "checkpoint/1",
        ),
        (&["pause", "WFS-user-auth"], 0, "checkpoint/1"),
        (&["resume", "worktree/user-auth"], 3, "error/2"),
        (&["resume", "./.worktree/user-auth"], 0, "resume/2"),
        (&["history", "WFS-user-auth"], 0, "history/1"),
        (&["restore", "WFS-user-auth", "--to", "000001"], 9, "error/2"),
        (&["restore", "WFS-user-auth", "--to", "000001", "--yes"], 0, "restore/1"),
        (&["restore", "WFS-user-auth", "--to", "999999"], 3, "error/2"),
        (&["close", "--done", "WFS-user-auth"], 1, "error/2"),
        (&["close", "WFS-user-auth"], 9, "error/2"),
        (&["close", "WFS-user-auth", "--abort"], 0, "close/1"),
        (&["doctor"], 0, "doctor/1"),
    ] {
        let output = sandbox.piton(words.iter().copied()).run();
        assert_eq!((output.code, document(&output)["schema"].as_str()), (code, Some(schema)), "{words:?}\n{output}");
    }
}

#[test]
fn an_answer_ends_with_0_and_says_what_it_means_on_request() {
    let empty = Sandbox::new();
    let gate = projects::nine_step();
    replace(&gate, NINE_STEP, "\"NEEDS_REVISION\"", "\"REJECTED\"");
    let broken = projects::nine_step();
    broken.file(NINE_STEP, "{\"feature_name\": ");
    for (name, sandbox, words, plain, asked) in [
        ("an answer", &projects::nine_step(), &["plan"][..], 0, 0),
        ("a list", &projects::nine_step(), &["list"], 0, 0),
        ("nothing", &empty, &["plan"], 3, 3),
        ("an empty list", &empty, &["list"], 0, 3),
        ("no status", &empty, &["status"], 3, 3),
        ("a rejection", &gate, &["plan"], 0, 9),
        ("its status", &gate, &["status"], 0, 9),
        ("several runs", &projects::both(), &["plan"], 8, 8),
        ("several runs", &projects::both(), &["status"], 8, 8),
        ("a broken state", &broken, &["plan", "user-auth"], 4, 4),
        ("no patch", &projects::nine_step(), &["plan", "--patch"], 1, 1),
        ("an unknown step", &projects::nine_step(), &["plan", "--from", "9:9"], 3, 3),
    ] {
        let without = sandbox.piton(words.iter().copied()).run().expect_code(plain);
        let with = sandbox.piton(words.iter().copied().chain(["--exit-code"])).run().expect_code(asked);
        let with = with.json().to_string().replace(" --exit-code", "");
        assert_eq!(with, without.json().to_string(), "{name}: only the exit code differs");
    }
    projects::nine_step().piton(["begin", "2:3", "--exit-code"]).run().expect_code(2);
}
