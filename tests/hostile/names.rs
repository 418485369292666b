//! Ids, branches and paths in state that pose as something else: a path, an option, a second command, a second line.

use camino::Utf8Path;
use serde_json::Value;

use super::{KINDS, Kind, check_answer, read_all, records, within, write_all};
use crate::{
    cli::projects,
    support::{Output, Sandbox, files_below, sample},
};

/// Ids that must not begin a line, open a file or run.
const NASTY: [(&str, &str); 6] = [
    ("a path", "../../../../outside"),
    ("a command", "x$(touch pwned)`touch pwned`;touch pwned|touch pwned&"),
    ("quotes", "it's \"x\" '\"'\"'; touch pwned #"),
    ("lines", "x\ntouch pwned\r\nForged: line\n"),
    ("an option", "--project=/etc"),
    ("marks", "x\0\u{1b}[2J\u{202e}\u{2066}\u{e0041}\u{200b}\u{9b}y"),
];

/// Replaces a word wherever the files of the project quote it, in JSON and YAML.
fn put(sandbox: &Sandbox, word: &str, text: &str) {
    let quoted = Value::String(text.to_owned()).to_string();
    for extension in ["json", "jsonl", "yaml"] {
        for file in files_below(&sandbox.root(), extension) {
            let old = crate::support::read(&file);
            let new =
                old.replace(&format!("\"{word}\""), &quoted).replace(&format!(": {word}\n"), &format!(": {quoted}\n"));
            let new = new.replace(&format!("- {word}\n"), &format!("- {quoted}\n"));
            std::fs::write(&file, new).expect("a file in the sandbox");
        }
    }
    records::seal(sandbox);
}

/// The ids in an example: of its run, and of the step that can begin.
fn ids(kind: &Kind) -> [&'static str; 2] {
    match kind.name {
        "nine-step" => ["user-auth", "backend-developer"],
        "ccw" => ["WFS-user-auth", "IMPL-002"],
        "aios" => ["7", "7.2"],
        "dotagent" => ["user-auth", "task-001"],
        // The run is named by its folder.
        _ => ["release", "api"],
    }
}

/// SECURITY: row 7
#[test]
fn no_id_is_a_path_an_option_or_a_second_line() {
    for (turn, kind) in KINDS.iter().enumerate() {
        for (what, text) in sample(2, turn, NASTY) {
            let sandbox = kind.project();
            ids(kind).iter().for_each(|word| put(&sandbox, word, text));
            let outside = [sandbox.top().join("outside"), sandbox.root().join("pwned")];
            let check = |line: &str, output: &Output| {
                check_answer(line, output);
                for line_of in output.stdout.lines().chain(output.stderr.lines()) {
                    let begins = line_of.trim_start_matches([' ', '-', '>', '→']);
                    assert!(
                        !begins.starts_with("Forged:") && !begins.starts_with("touch pwned"),
                        "{} {what}: {line}\n{output}",
                        kind.name
                    );
                }
                let held: Vec<char> = output.stdout.chars().filter(|c| super::is_harmful(*c)).collect();
                assert!(
                    held.is_empty(),
                    "{} {what}: {line}: {held:?}\n{}",
                    kind.name,
                    output.to_string().escape_debug()
                );
                assert!(outside.iter().all(|path| !path.exists()), "{} {what}: {line}", kind.name);
            };
            for words in [
                &["list"][..],
                &["plan", "--format", "text", "-v"],
                &["plan", "--format", "markdown"],
                &["status", "--format", "text"],
                &["context", "--format", "text"],
                &["plan"],
                &["close", "--abort"],
            ] {
                check(&words.join(" "), &within(sandbox.piton(words.iter().copied())));
            }
            if !text.starts_with('-') && !text.contains('\0') {
                for words in [["begin", text].as_slice(), &["finish", text, "--error", text], &["plan", text]] {
                    check(words[0], &within(sandbox.piton(words.iter().copied())));
                }
            }
        }
    }
}

/// A stub for every program that an answer may name: it records its arguments.
const RECORDER: &str =
    "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" >> \"$RECORD\"\nprintf '\\001\\0' >> \"$RECORD\"\n";

/// Runs a printed command in a shell and returns the calls that it made.
fn calls(sandbox: &Sandbox, command: &str) -> Vec<Vec<String>> {
    let tools = sandbox.top().join("tools");
    if !tools.exists() {
        std::fs::create_dir(&tools).expect("a folder in the sandbox");
        for name in ["piton", "git", "chmod", "touch", "mv", "rm", "cp"] {
            let path = tools.join(name);
            std::fs::write(&path, RECORDER).expect("a file in the sandbox");
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
                .expect("a file of our own");
        }
    }
    let record = sandbox.top().join("record");
    let _ = std::fs::remove_file(&record);
    let output =
        sandbox.tool("/bin/sh", ["-c", command]).env("PATH", tools.as_str()).env("RECORD", record.as_str()).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{command}\n{output}");
    let words = std::fs::read_to_string(&record).unwrap_or_default();
    let words: Vec<String> = words.split_terminator('\0').map(str::to_owned).collect();
    words.split(|word| word == "\u{1}").filter(|call| !call.is_empty()).map(<[String]>::to_vec).collect()
}

/// Collects the commands in a document.
fn commands(document: &Value, found: &mut Vec<String>) {
    match document {
        Value::String(text) => {
            let is_command = ["piton ", "git ", "chmod "].iter().any(|name| text.starts_with(name));
            // A sentence that begins with a command continues after it.
            if is_command && !text.contains(", ") && !text.contains(" (") {
                found.push(text.clone());
            }
        }
        Value::Array(items) => items.iter().for_each(|item| commands(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| commands(value, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// SECURITY: row 8
#[test]
fn every_command_that_is_printed_is_one_call_with_the_name_as_one_word() {
    for (turn, kind) in KINDS.iter().enumerate() {
        for (what, text) in sample(2, turn, NASTY.iter().filter(|(what, _)| *what != "marks")) {
            let sandbox = kind.project();
            ids(kind).iter().for_each(|word| put(&sandbox, word, text));
            let mut found = Vec::new();
            for words in [
                &["plan"][..],
                &["list"],
                &["status"],
                &["context"],
                &["validate"],
                &["doctor"],
                &["restore", "--from-evidence"],
                &["resume", "--yes"],
                &["begin", "nothing"],
                &["begin", if text.starts_with('-') { "nothing" } else { text }],
                &["history", if text.starts_with('-') { "nothing" } else { text }],
            ] {
                let output = within(sandbox.piton(words.iter().copied()));
                commands(&projects::document(&output), &mut found);
            }
            found.sort();
            found.dedup();
            assert!(!found.is_empty(), "{}: {what}: nothing to run", kind.name);
            for command in &found {
                let calls = calls(&sandbox, command);
                let [call] = &calls[..] else { panic!("{} {what}: {command} makes {calls:?}", kind.name) };
                assert!(["piton", "git", "chmod"].contains(&call[0].as_str()), "{command}: {call:?}");
                let quotes = text.trim_matches(['-', '\n']);
                if command.contains(quotes) {
                    assert!(
                        call.iter().any(|word| word.contains(quotes)),
                        "{} {what}: {command} is {call:?}",
                        kind.name
                    );
                }
                // A name must not become an option: nothing after `--` is one.
                let may_be_options = call.iter().take_while(|word| word.as_str() != "--");
                let options = may_be_options.filter(|word| word.as_str() == *text && text.starts_with('-')).count();
                assert_eq!(options, 0, "{} {what}: {command} is {call:?}", kind.name);
            }
        }
    }
}

/// File names are bytes: names that are not UTF-8 or not valid paths are ignored, and the rest is found.
/// SECURITY: row 9
#[test]
fn file_names_that_are_not_text_are_ignored() {
    use std::os::unix::ffi::OsStrExt as _;
    for kind in &KINDS {
        let sandbox = kind.project();
        let folder = sandbox.root().join(kind.folder);
        for name in [
            &b"IMPL-\xff\xfe.json"[..],
            b"x\ny.json",
            b"\x1b[31m.json",
            "\u{202e}nosj.a".as_bytes(),
            b"-rf.json",
            b"$(touch pwned).json",
            &[b'n'; 250],
        ] {
            let name = std::ffi::OsStr::from_bytes(name);
            for state in kind.states() {
                std::fs::copy(sandbox.root().join(state), folder.as_std_path().join(name))
                    .expect("a file in the sandbox");
            }
            if kind.has_records() {
                // The folder of another run.
                let run = sandbox.root().join(".piton/runs").as_std_path().join(name);
                std::fs::create_dir(&run).expect("a folder in the sandbox");
                for state in kind.states() {
                    let name = Utf8Path::new(state).file_name().expect("it has a name");
                    std::fs::copy(sandbox.root().join(state), run.join(name)).expect("a file in the sandbox");
                }
            }
        }
        let mut check = |line: &str, output: &Output| {
            check_answer(line, output);
            assert!(
                !output.stdout.contains('\u{1b}') && !output.stdout.contains('\u{202e}'),
                "{}: {line}\n{output}",
                kind.name
            );
        };
        read_all(&sandbox, &mut check);
        write_all(&sandbox, kind.step, &mut check);
        assert!(!sandbox.exists("pwned"));
        assert!(!Utf8Path::new("pwned").exists());
    }
}

/// SECURITY: row 9
#[test]
fn a_name_of_64_kilobytes_is_no_flood() {
    let long = format!("long{}", "g".repeat(64 << 10));
    for kind in sample(2, 1, &KINDS) {
        let sandbox = kind.project();
        ids(kind).iter().for_each(|word| put(&sandbox, word, &long));
        let mut check = |line: &str, output: &Output| {
            check_answer(line, output);
            assert!(output.stderr.len() < 20_000, "{}: {line}", kind.name);
            assert!(output.stdout.len() < 2_000_000, "{}: {line}: {} bytes", kind.name, output.stdout.len());
        };
        read_all(&sandbox, &mut check);
        write_all(&sandbox, kind.step, &mut check);
    }
}
