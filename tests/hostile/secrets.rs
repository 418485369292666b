//! Texts shaped like secrets, in errors passed in by agents and in state files.

use serde_json::{Value, json};

use super::{KINDS, check_answer, read_all, records, within};
use crate::{
    cli::projects,
    support::{Output, Sandbox},
};

/// A text as a program prints it, and the secret part of it.
const LEAKS: [(&str, &str); 12] = [
    ("denied for AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLE"),
    ("push with ghp_0123456789abcdefghijABCDEFGHIJ456789", "ghp_0123456789"),
    ("push with github_pat_11ABCDEFG0aBcDeFgHiJkL_mnop", "11ABCDEFG0aBcDeFgHiJkL"),
    ("key sk-ant-api03-Zm9vYmFyYmF6MDEyMzQ1Njc4OQ", "Zm9vYmFyYmF6"),
    ("slack xoxb-123456789012-AbCdEfGhIjKl", "AbCdEfGhIjKl"),
    ("jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MiJ9.c2lnbmF0dXJlMTIz", "c2lnbmF0dXJlMTIz"),
    ("-----BEGIN RSA PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA7Zr\\n-----END RSA PRIVATE KEY-----", "MIIEpAIBAAKCAQEA7Zr"),
    ("connect postgres://app:pa55phrase@db:5432/app", "pa55phrase"),
    ("curl -H 'Authorization: Bearer q1w2e3r4t5y6u7i8'", "q1w2e3r4t5y6u7i8"),
    ("header Authorization: Basic YWxhZGRpbjpvcGVu", "YWxhZGRpbjpvcGVu"),
    ("env DB_PASSWORD=correcthorse failed", "correcthorse"),
    ("config says \\\"client_secret\\\": \\\"0f1e2d3c4b5a\\\"", "0f1e2d3c4b5a"),
];

fn all_texts() -> String {
    LEAKS.map(|(text, _)| text.replace("\\n", "\n").replace("\\\"", "\"")).join("; ")
}

#[track_caller]
fn check_masked(what: &str, text: &str) {
    for (_, secret) in LEAKS {
        assert!(!text.contains(secret), "{what} tells {secret}\n{text}");
    }
}

/// The error of a failed step is masked before it reaches state, history, logs or answers.
/// SECURITY: row 18
#[test]
fn secrets_in_an_error_that_is_handed_in_are_written_nowhere() {
    for kind in &KINDS {
        let sandbox = kind.project();
        let error = all_texts();
        within(sandbox.piton(["begin", kind.step]).session("s"));
        for words in [
            &["finish", kind.step, "--error", error.as_str()][..],
            &["begin", kind.step],
            &["finish", kind.step, "--status", "failed", "--summary", error.as_str()],
            &["pause", "--note", error.as_str()],
            &["resume", "--yes"],
            &["decide", kind.step, "skip", "--note", error.as_str(), "--by", "Ann"],
            &["close", "--abort", "--by", error.as_str(), "--note", error.as_str()],
        ] {
            let output = within(sandbox.piton(words.iter().copied()).session("s"));
            check_answer(words[0], &output);
            check_masked(&format!("{}: {}", kind.name, words[0]), &output.to_string());
        }
        read_all(&sandbox, &mut |line, output: &Output| {
            check_masked(&format!("{}: {line}", kind.name), &output.to_string());
        });
        check_files(kind.name, &sandbox);
    }
}

/// S-5: no field forgets it, neither an agent's nor a person's.
/// SECURITY: row 18
#[test]
fn secrets_in_any_field_are_written_nowhere() {
    let text = all_texts();
    for kind in &KINDS {
        let sandbox = kind.project();
        for words in [
            &["begin", kind.step, "--agent", text.as_str()][..],
            &["finish", kind.step, "--agent", text.as_str(), "--condition", text.as_str(), "--finding", text.as_str()],
            &["decide", kind.step, "accept", "--by", text.as_str(), "--note", text.as_str()],
            &["decide", kind.step, "redo", "--by", text.as_str(), "--note", text.as_str()],
            &["decide", kind.step, "override", "--by", text.as_str(), "--note", text.as_str()],
            &["decide", kind.step, "skip", "--by", text.as_str(), "--note", text.as_str()],
            &["rollback", "--to", kind.step, "--note", text.as_str(), "--yes"],
        ] {
            check_answer(words[0], &within(sandbox.piton(words.iter().copied()).session("s")));
        }
        check_files(kind.name, &sandbox);
    }
    let ccw = projects::ccw();
    let set = format!("said={text}");
    ccw.piton(["begin", "IMPL-002"]).run().expect_code(0);
    let part = ["finish", "IMPL-002", "--part", "analyze_patterns", "--set", &set, "--set", "apiKey=correct0horse"];
    ccw.piton(part).run().expect_code(0);
    check_files("ccw, --set", &ccw);
    assert!(!ccw.piton(["status", "-v"]).run().stdout.contains("correct0horse"));
    for workflow in ["nine-step", "dotagent"] {
        let sandbox = Sandbox::new();
        let words = ["start", workflow, "--feature", "f", "--description", text.as_str()];
        sandbox.piton(words).run().expect_code(0);
        check_files(workflow, &sandbox);
    }
}

fn check_files(what: &str, sandbox: &Sandbox) {
    for file in files(sandbox) {
        let bytes = std::fs::read(&file).expect("a file in the sandbox");
        check_masked(&format!("{what}: {file}"), &String::from_utf8_lossy(&bytes));
    }
}

/// Secrets already in a state file are masked in every answer.
/// SECURITY: row 18
#[test]
fn secrets_in_a_state_reach_no_answer() {
    let errors = LEAKS.map(|(text, _)| text).join("; ");
    for kind in &KINDS {
        let sandbox = kind.project();
        poison(&sandbox, kind.name, &errors);
        let mut is_shown = false;
        read_all(&sandbox, &mut |line, output: &Output| {
            check_answer(line, output);
            check_masked(&format!("{}: {line}", kind.name), &output.to_string());
            is_shown |= output.stdout.contains("[masked]");
        });
        assert!(is_shown || !kind.has_records(), "{}: no answer has a text of the state", kind.name);
    }
}

/// Puts a text where each system keeps errors.
fn poison(sandbox: &Sandbox, name: &str, text: &str) {
    if name == "own-workflow" {
        return poison_records(sandbox, text);
    }
    let failed = format!("\"status\": \"failed\", \"last_error\": \"{text}\"");
    let (path, from, to) = match name {
        "nine-step" => (projects::NINE_STEP, "- the user name", format!("- {text} the user name")),
        "ccw" => (
            ".workflow/active/WFS-user-auth/.task/IMPL-002.json",
            "\"status\": \"in_progress\"",
            format!("\"status\": \"failed\", \"execution\": {{\"error\": \"{text}\"}}"),
        ),
        "aios" => {
            (".aios/epic-7-state.yaml", "{ status: in_progress, ", format!("{{ status: failed, error: \"{text}\", "))
        }
        _ => ("memory/state/execution.json", "\"status\":\"running\"", failed),
    };
    projects::replace(sandbox, path, from, &to);
}

/// Puts a text where a run of a workflow file keeps texts: in its header, in each of its records, and in its snapshot, which the program
/// reads in place of the records.
fn poison_records(sandbox: &Sandbox, text: &str) {
    let error: Value = serde_json::from_str(&format!("\"{text}\"")).expect("a text in JSON");
    let description = error.to_string();
    projects::replace(sandbox, records::FILES[0], "\"Release 1.4\"", &description);
    records::rewrite(sandbox, |value| {
        let key = if value.get("definition").is_some() { "definition" } else { "workflow" };
        let steps = value.get_mut(key).and_then(|outline| outline.get_mut("steps"));
        for step in steps.and_then(Value::as_array_mut).into_iter().flatten() {
            step["title"] = error.clone();
            step["definition"]["instructions"] = error.clone();
        }
        if value["change"].get("summary").is_some() {
            value["change"]["summary"] = error.clone();
        }
        if value.get("steps").is_some() {
            value["steps"]["api"] = json!({"status": "failed", "attempts": 1, "failures": 1, "errors": [error]});
        }
    });
    // A failure after the snapshot.
    records::add_records(
        sandbox,
        &[
            json!({"at": "2026-01-30T09:41:00Z", "change": "begin", "step": "ui", "attempt": 2}),
            json!({"at": "2026-01-30T09:42:00Z", "change": "finish", "step": "ui", "status": "failed", "error": error, "attempt": 2}),
            json!({"at": "2026-01-30T09:43:00Z", "change": "pause", "reason": error}),
        ],
    );
}

fn files(sandbox: &Sandbox) -> Vec<camino::Utf8PathBuf> {
    let mut open = vec![sandbox.root(), sandbox.home()];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in folder.read_dir_utf8().expect("a readable folder") {
            let path = entry.expect("a readable folder").into_path();
            if path.is_dir() && !path.ends_with(".git") {
                open.push(path)
            } else if path.is_file() {
                found.push(path)
            }
        }
    }
    found
}

/// The output of workflow steps is masked where it is recorded.
/// SECURITY: row 18
#[test]
fn the_output_of_steps_is_masked_where_it_is_recorded() {
    let sandbox = Sandbox::with_git();
    // The workflow file does not contain the output of its step.
    let step = "echo denied for AKIA''IOSFODNN7EXAMPLE; echo denied for AKIA''IOSFODNN7EXAMPLE >&2; exit 3";
    sandbox.file("w.yaml", &format!("name: w\ncommands:\n  - shell: \"{step}\"\n"));
    sandbox.commit("workflow");
    let run = within(
        sandbox.piton(["run", "w.yaml"]).env("CANARY", "canary-of-the-environment").env("PATH", "/usr/bin:/bin"),
    );
    assert_eq!(run.code, 7, "{run}");
    for words in [&["sessions"][..], &["list"], &["plan"]] {
        check_masked(words[0], &within(sandbox.piton(words.iter().copied())).to_string());
    }
    for file in files(&sandbox) {
        let text = std::fs::read(&file).expect("a file in the sandbox");
        check_masked(file.as_str(), &String::from_utf8_lossy(&text));
    }
}
