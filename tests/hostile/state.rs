//! Untrusted state: for any content the answer names the file, the exit code fits, nothing hangs and nothing is written.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    cli::projects::{self, NINE_STEP, SESSION, document, foreign, replace},
    support::{Output, Program, Sandbox, takes_all},
};

/// A way to break a state file, and what the answer must say about it.
struct Bad {
    what: &'static str,
    bytes: fn(&str) -> Vec<u8>,
    /// Exit codes of `plan` and of a write.
    codes: (i32, i32),
    says: &'static [&'static str],
}

const BAD: [Bad; 13] = [
    Bad { what: "an empty file", bytes: |_| Vec::new(), codes: (4, 4), says: &["empty"] },
    Bad { what: "only blanks", bytes: |_| b" \n\n".to_vec(), codes: (4, 4), says: &["empty"] },
    Bad {
        what: "truncated JSON",
        bytes: |text| text.as_bytes()[..text.len() / 2].to_vec(),
        codes: (4, 4),
        says: &["line ", "column "],
    },
    Bad { what: "a list", bytes: |_| b"[1, 2]\n".to_vec(), codes: (3, 3), says: &["is not a nine-step state file"] },
    Bad { what: "a bare word", bytes: |_| b"null\n".to_vec(), codes: (3, 3), says: &["is not a nine-step state file"] },
    Bad { what: "invalid UTF-8", bytes: |text| broken_text(text, b"\xff\xfe"), codes: (4, 4), says: &["UTF-8"] },
    Bad { what: "NUL", bytes: |text| broken_text(text, b"\0"), codes: (4, 4), says: &["line ", "column "] },
    Bad { what: "100,000 levels", bytes: |_| vec![b'['; 100_000], codes: (4, 4), says: &["deep"] },
    Bad {
        what: "100,000 levels below a field",
        bytes: |_| [b"{\"feature_name\": \"x\", \"y\": ".as_slice(), &[b'['; 100_000], &[b']'; 100_000], b"}"].concat(),
        codes: (4, 4),
        says: &["deep"],
    },
    Bad {
        what: "wrong types",
        bytes: |_| b"{\"feature_name\": 7, \"current_phase\": \"two\", \"last_execution\": []}".to_vec(),
        codes: (4, 4),
        says: &["current_phase"],
    },
    Bad {
        what: "an unknown status",
        bytes: |text| text.replace("\"failed\"", "\"exploded\"").into_bytes(),
        codes: (9, 1),
        says: &["exploded"],
    },
    Bad {
        what: "an unknown step",
        bytes: |text| text.replace("\"step\": 4", "\"step\": 40").into_bytes(),
        codes: (9, 4),
        says: &["`last_execution.step` must be one of the steps"],
    },
    Bad {
        what: "a newer format",
        bytes: |text| text.replacen('{', "{\"schema_version\": 99,", 1).into_bytes(),
        codes: (9, 5),
        says: &["newer"],
    },
];

fn broken_text(text: &str, with: &[u8]) -> Vec<u8> {
    let at = text.find("user-auth").expect("the example has a name") + 4;
    [&text.as_bytes()[..at], with, &text.as_bytes()[at..]].concat()
}

/// SECURITY: row 11
#[test]
fn bad_state_is_named_and_never_written() {
    let mut wrong = Vec::new();
    for bad in &BAD {
        let sandbox = projects::nine_step();
        let text = sandbox.read(NINE_STEP);
        sandbox.bytes(NINE_STEP, &(bad.bytes)(&text));
        let before = foreign(&sandbox);
        let plan = within(sandbox.piton(["plan", "--exit-code"]));
        let write = within(sandbox.piton(["begin", "2:3"]));
        for (output, code) in [(&plan, bad.codes.0), (&write, bad.codes.1)] {
            document(output);
            if output.code != code {
                wrong.push(format!("{}: exit {} instead of {code}\n{output}", bad.what, output.code));
            }
        }
        for says in bad.says {
            if !plan.stdout.contains(says) {
                wrong.push(format!("{}: plan does not say `{says}`\n{plan}", bad.what));
            }
        }
        let names_file = plan.stdout.contains(".worktree/user-auth/.workflow-state.json");
        if !names_file {
            wrong.push(format!("{}: plan does not name the file\n{plan}", bad.what));
        }
        if !(plan.stdout.contains("\"fix\":\"") || plan.stdout.contains("\"hints\":[\"")) {
            wrong.push(format!("{}: plan does not say what to do\n{plan}", bad.what));
        }
        for verb in ["list", "status", "context", "validate", "history", "doctor", "resume"] {
            let output = within(sandbox.piton([verb]));
            document(&output);
            if output.code == 70 || output.code > 100 {
                wrong.push(format!("{}: {verb}\n{output}", bad.what));
            }
            if verb == "validate" && (output.code == 0) != (bad.codes.1 == 5) {
                wrong.push(format!("{}: validate\n{output}", bad.what));
            }
        }
        let changes = before.changes(&foreign(&sandbox));
        if !changes.is_empty() {
            wrong.push(format!("{}: written: {changes:?}", bad.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// SECURITY: row 11
#[test]
fn a_broken_task_of_a_session_degrades_it_and_no_more() {
    let sandbox = projects::ccw();
    let task = format!("{SESSION}/.task/IMPL-003.json");
    for (bytes, says) in [
        (b"".to_vec(), "empty"),
        (b"{\"id\": \"IMPL-003\",\n  \"title\": ".to_vec(), "\"line\":2"),
        (vec![b'['; 4_000_000], "deep"),
        (b"{\"id\": \"IMPL-003\", \"status\": \"exploded\"}".to_vec(), "exploded"),
        (b"{\"id\": \"../../../x\", \"status\": \"pending\"}".to_vec(), "../"),
    ] {
        sandbox.bytes(&task, &bytes);
        let output = within(sandbox.piton(["plan", "--exit-code"]));
        assert_eq!(document(&output)["schema"], "plan/3", "{output}");
        assert!(output.stdout.contains(says) && output.stdout.contains("IMPL-003.json"), "{says}\n{output}");
        assert_eq!(output.at("/data/next/0/step"), "IMPL-002", "{output}");
        assert_ne!(output.findings(), [] as [&str; 0]);
    }
    sandbox.bytes(&task, b"{\"id\": \"IMPL-003\", \"status\": ");
    let before = foreign(&sandbox);
    sandbox.piton(["begin", "IMPL-003"]).run();
    assert_eq!(before.changes(&foreign(&sandbox)), [] as [&str; 0]);
}

/// SECURITY: row 11
#[test]
fn of_a_key_that_is_there_twice_the_last_one_counts() {
    let sandbox = projects::nine_step();
    replace(&sandbox, NINE_STEP, "\"current_phase\"", "\"last_execution\": {\"step\": 1},\n  \"current_phase\"");
    sandbox.piton(["begin", "2:3"]).run().expect_code(0);
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/step"), "2:3");
    assert!(sandbox.read(NINE_STEP).contains("\"last_execution\": {\"step\": 1},"));
}

#[test]
fn line_ends_and_marks_of_other_editors_are_no_problem() {
    for change in [
        (|text: &str| text.replace('\n', "\r\n")) as fn(&str) -> String,
        |text| format!("\u{feff}{text}"),
        |text| text.trim_end().to_owned(),
        |text| text.replace("  ", "\t"),
    ] {
        let sandbox = projects::nine_step();
        sandbox.file(NINE_STEP, &change(&sandbox.read(NINE_STEP)));
        sandbox.piton(["plan"]).run().expect_code(0);
        sandbox.piton(["begin", "2:3"]).run().expect_code(0);
        let after = sandbox.read(NINE_STEP);
        let style = |text: &str| (text.starts_with('\u{feff}'), text.contains("\r\n"), text.ends_with('\n'));
        let expected = change(&projects::nine_step().read(NINE_STEP));
        assert_eq!(style(&after), style(&expected), "{after}");
        assert_eq!(after.matches("\r\n").count() > 0, after.matches('\n').count() == after.matches("\r\n").count());
    }
}

/// Puts a special file where a regular file is expected.
type Put<'a> = &'a dyn Fn(&Sandbox, &str);

/// SECURITY: row 6
#[test]
fn special_files_are_never_waited_for() {
    let make_pipe = |sandbox: &Sandbox, path: &str| {
        let path = sandbox.root().join(path).into_string();
        sandbox.tool("/usr/bin/mkfifo", [path.as_str()]).run().expect_code(0);
    };
    let link_out = |sandbox: &Sandbox, path: &str| {
        let outside = sandbox.top().join("outside.json");
        std::fs::write(&outside, projects::nine_step().read(NINE_STEP)).expect("a file in the sandbox");
        std::os::unix::fs::symlink(outside, sandbox.root().join(path)).expect("a link in the sandbox");
    };
    let folder = |sandbox: &Sandbox, path: &str| {
        sandbox.dir(path);
    };
    let ways: [(&str, Put<'_>); 3] =
        [("a pipe", &make_pipe), ("a link out of the project", &link_out), ("a folder", &folder)];
    for (what, put) in ways {
        for path in [
            NINE_STEP,
            ".workflow/active/WFS-user-auth/workflow-session.json",
            ".workflow/active/WFS-user-auth/.task/IMPL-002.json",
            ".workflow/active/WFS-user-auth/TODO_LIST.md",
        ] {
            let sandbox = if path == NINE_STEP { projects::nine_step() } else { projects::ccw() };
            sandbox.remove(path);
            put(&sandbox, path);
            let before = foreign(&sandbox);
            for words in [
                &["plan"][..],
                &["list"],
                &["validate"],
                &["status"],
                &["begin", "2:3"],
                &["begin", "IMPL-002"],
                &["doctor"],
                &["restore"],
                &["history"],
                &["close"],
            ] {
                let output = within(sandbox.piton(words.iter().copied()));
                document(&output);
                assert!(output.code < 10, "{what} at {path}: {words:?}\n{output}");
            }
            let changes = before.changes(&foreign(&sandbox));
            assert!(!changes.iter().any(|change| change.contains(path)), "{what} at {path}: {changes:?}");
            let outside = sandbox.top().join("outside.json");
            assert!(!outside.exists() || crate::support::read(&outside) == projects::nine_step().read(NINE_STEP));
            let plan = within(sandbox.piton(["plan"]));
            assert!(plan.code != 0 || !plan.findings().is_empty(), "{what} at {path} passes unseen\n{plan}");
        }
    }
}

/// A pipe where a system keeps its list is not a project without one.
/// SECURITY: row 6
#[test]
fn a_pipe_in_place_of_a_state_is_named() {
    for (example, path) in [
        ("nine-step", NINE_STEP),
        ("ccw", ".workflow/active/WFS-user-auth/workflow-session.json"),
        ("aios", ".aios/epic-7-state.yaml"),
        ("dotagent", "memory/state/phase.json"),
        ("checklist", "specs/001-order-export/tasks.md"),
        ("taskmaster", ".taskmaster/tasks/tasks.json"),
    ] {
        let sandbox = projects::example(example);
        sandbox.remove(path);
        let absolute = sandbox.root().join(path).into_string();
        sandbox.tool("/usr/bin/mkfifo", [absolute.as_str()]).run().expect_code(0);
        for words in [["plan"], ["list"], ["status"]] {
            let output = within(sandbox.piton(words));
            let is_named = output.stdout.contains("a pipe or a socket");
            assert!(output.code != 3 && is_named, "{example}: {words:?}\n{output}");
        }
    }
}

/// SECURITY: row 6
#[test]
fn pipes_in_pitons_own_folder_are_never_waited_for() {
    for name in ["local.json", "txn/pending", "lock", ".gitignore", "set-aside"] {
        let sandbox = projects::ccw();
        let path = format!("{SESSION}/.piton/{name}");
        sandbox.dir(path.rsplit_once('/').unwrap().0);
        let absolute = sandbox.root().join(&path).into_string();
        sandbox.tool("/usr/bin/mkfifo", [absolute.as_str()]).run().expect_code(0);
        for words in
            [&["plan"][..], &["begin", "IMPL-002"], &["finish", "IMPL-002"], &["history"], &["doctor"], &["list"]]
        {
            let output = within(sandbox.piton(words.iter().copied()).session("a"));
            document(&output);
            assert!(output.code < 10, "{name}: {words:?}\n{output}");
        }
    }
    for make in [projects::ccw as fn() -> Sandbox, projects::nine_step, Sandbox::new] {
        let sandbox = make();
        let absolute = sandbox.root().join(".piton").into_string();
        sandbox.tool("/usr/bin/mkfifo", [absolute.as_str()]).run().expect_code(0);
        for words in [&["plan"][..], &["status"], &["context"], &["list"], &["history"], &["doctor"]] {
            document(&within(sandbox.piton(words.iter().copied()).session("a")));
        }
    }
    let sandbox = projects::ccw();
    sandbox.remove("piton.toml");
    let absolute = sandbox.root().join("piton.toml").into_string();
    sandbox.tool("/usr/bin/mkfifo", [absolute.as_str()]).run().expect_code(0);
    document(&within(sandbox.piton(["plan"])));
}

/// SECURITY: row 9
#[test]
fn names_of_five_megabytes_are_cut() {
    let sandbox = projects::nine_step();
    let long = "x".repeat(if takes_all() { 5_000_000 } else { 500_000 });
    replace(&sandbox, NINE_STEP, "\"user-auth\"", &format!("\"{long}\""));
    for words in [&["plan"][..], &["list"], &["status"], &["plan", "--format", "text"]] {
        let output = within(sandbox.piton(words.iter().copied()));
        assert!(output.code < 10 && output.stdout.len() < 200_000, "{words:?}: {} bytes", output.stdout.len());
    }
    let context = within(sandbox.piton(["context"]));
    assert!(context.stdout.len() < 200_000, "{} bytes", context.stdout.len());

    let sandbox = projects::ccw();
    replace(&sandbox, &format!("{SESSION}/.task/IMPL-003.json"), "\"IMPL-003\"", &format!("\"{long}\""));
    replace(&sandbox, &format!("{SESSION}/workflow-session.json"), "Sign in with JWT", &long);
    for words in [&["plan"][..], &["list"], &["status"], &["begin", "IMPL-002"]] {
        let output = within(sandbox.piton(words.iter().copied()));
        assert!(output.code < 10 && output.stdout.len() < 200_000, "{words:?}: {} bytes", output.stdout.len());
    }
}

/// SECURITY: row 7
#[test]
fn ids_with_dots_and_slashes_reach_no_file() {
    let sandbox = projects::ccw();
    replace(&sandbox, &format!("{SESSION}/.task/IMPL-003.json"), "\"IMPL-003\"", "\"../../../../escaped\"");
    let before = foreign(&sandbox);
    for words in [
        &["begin", "../../../../escaped"][..],
        &["context", "--step", "../../../../escaped"],
        &["begin", "../x"],
        &["plan", "../../x"],
        &["restore", "--to", "../../x"],
        &["begin", "IMPL-002", "--run", "../../../etc/passwd"],
    ] {
        let output = within(sandbox.piton(words.iter().copied()));
        assert!(output.code != 0 && output.code < 10, "{words:?}\n{output}");
    }
    assert_eq!(before.changes(&foreign(&sandbox)), [] as [&str; 0]);
    assert!(!sandbox.top().join("escaped.json").exists());
}

/// SECURITY: row 12
#[test]
fn no_state_controls_a_terminal() {
    for sandbox in [projects::nine_step(), projects::ccw()] {
        poison_all(&sandbox);
        for format in ["text", "json", "markdown"] {
            for words in [
                &["list"][..],
                &["plan"],
                &["plan", "-v"],
                &["status"],
                &["context"],
                &["validate"],
                &["history"],
                &["begin", "2:3"],
                &["begin", "IMPL-002"],
                &["begin", "nope"],
                &["resume", "--yes"],
                &["finish", "IMPL-002"],
                &["close"],
                &["restore"],
                &["doctor"],
            ] {
                check_clean(&sandbox.piton(words.iter().copied()).env("PITON_FORMAT", format).run(), words);
            }
        }
        check_clean(&sandbox.piton(["context", "--format", "yaml"]).run(), &["yaml"]);
    }
}

/// SECURITY: row 12
#[test]
fn no_single_string_of_state_controls_a_terminal() {
    for (project, path) in [
        (projects::nine_step as fn() -> Sandbox, NINE_STEP),
        (projects::ccw, ".workflow/active/WFS-user-auth/workflow-session.json"),
        (projects::ccw, ".workflow/active/WFS-user-auth/.task/IMPL-002.json"),
    ] {
        let sandbox = project();
        let clean = sandbox.read_json(path);
        for pointer in strings(&clean, String::new()) {
            let mut state = clean.clone();
            let place = state.pointer_mut(&pointer).expect("it was found there");
            *place = Value::String(format!("{POISON}{}{POISON}", place.as_str().unwrap_or_default()));
            sandbox.file(path, &state.to_string());
            for words in [&["plan", "--format", "text", "-v"][..], &["context", "--format", "yaml"], &["plan"]] {
                check_clean(&sandbox.piton(words.iter().copied()).run(), &[&pointer]);
            }
        }
    }
}

const POISON: &str = "\u{1b}[31m\u{1b}]0;own\u{7}\u{202e}\u{2066}\u{200b}\u{9b}\u{8}\r";

/// Puts poison into every string of the project's state, and adds one more key.
fn poison_all(sandbox: &Sandbox) {
    let session = sandbox.root().join(SESSION);
    let state = sandbox.root().join(NINE_STEP);
    let files = if session.exists() {
        let tasks = crate::support::files_below(&session.join(".task"), "json");
        tasks.into_iter().chain([session.join("workflow-session.json")]).collect()
    } else {
        vec![state]
    };
    for path in files {
        let mut state: Value = serde_json::from_str(&crate::support::read(&path)).expect("an example is JSON");
        for pointer in strings(&state, String::new()) {
            let place = state.pointer_mut(&pointer).expect("it was found there");
            let text = place.as_str().unwrap_or_default().to_owned();
            let is_word =
                ["status", "id", "session_id", "verdict", "timestamp", "feature_name", "created_at", "plan_reference"];
            if !is_word.iter().any(|word| pointer.ends_with(&format!("/{word}"))) {
                *place = Value::String(format!("{text}{POISON}"));
            }
        }
        state[format!("key{POISON}")] = Value::String(POISON.to_owned());
        std::fs::write(&path, state.to_string()).expect("a file in the sandbox");
    }
}

fn strings(value: &Value, at: String) -> Vec<String> {
    match value {
        Value::String(_) => vec![at],
        Value::Array(items) => {
            items.iter().enumerate().flat_map(|(index, item)| strings(item, format!("{at}/{index}"))).collect()
        }
        Value::Object(map) => map.iter().flat_map(|(key, item)| strings(item, format!("{at}/{key}"))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[track_caller]
fn check_clean(output: &Output, what: &[&str]) {
    let is_bad = |c: &char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    for text in [&output.stdout, &output.stderr] {
        let found: Vec<char> = text.chars().filter(is_bad).collect();
        assert!(found.is_empty(), "{what:?}: {found:?}\n{}", output.to_string().escape_debug());
    }
}

/// SECURITY: row 18
#[test]
fn secrets_do_not_reach_a_context() {
    let secret = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    let sandbox = projects::nine_step();
    replace(&sandbox, NINE_STEP, "- the user name", &format!("- token={secret} the user name"));
    for words in [
        &["context"][..],
        &["context", "--format", "yaml"],
        &["context", "--format", "text"],
        &["context", "--format", "markdown"],
        &["resume", "--yes"],
    ] {
        let output = sandbox.piton(words.iter().copied()).run().expect_code(0);
        let context = if words[0] == "resume" { output.at("/data/context").to_string() } else { output.stdout };
        assert!(!context.contains(secret), "{words:?}: {context}");
    }
    let sandbox = projects::ccw();
    replace(&sandbox, &format!("{SESSION}/.task/IMPL-002.json"), "issue and check tokens", &format!("use {secret}"));
    let output = sandbox.piton(["context"]).run().expect_code(0);
    assert!(!output.stdout.contains(secret) && output.stdout.contains("[masked]"), "{output}");
}

/// SECURITY: row 8
#[test]
fn commands_survive_a_shell() {
    let nasty = "it's $(touch pwned); `touch pwned` & \"x\"";
    let sandbox = projects::nine_step();
    let json = Value::String(nasty.to_owned()).to_string();
    replace(&sandbox, NINE_STEP, "\"user-auth\"", &json);
    replace(&sandbox, NINE_STEP, "\"feature_name\"", &format!("\"branch_name\": {json},\n  \"feature_name\""));
    replace(&sandbox, NINE_STEP, "\"backend-developer\"", &json);
    check_commands(&sandbox);
    let sandbox = projects::ccw();
    let task = sandbox.read(&format!("{SESSION}/.task/IMPL-002.json")).replace("IMPL-002", "IMPL-002;touch pwned");
    sandbox.file(&format!("{SESSION}/.task/IMPL-002.json"), &task);
    replace(&sandbox, &format!("{SESSION}/.task/IMPL-002.json"), "@code-developer", "$(touch pwned)");
    check_commands(&sandbox);
}

/// Runs every command of the plan in a shell: each is one call of piton, and nothing else happens.
fn check_commands(sandbox: &Sandbox) {
    let output = sandbox.piton(["plan"]).run();
    let plan = document(&output);
    let mut commands: Vec<&str> = Vec::new();
    for place in ["/data/commands/begin", "/data/commands/context", "/data/commands/resume"] {
        commands.extend(plan.pointer(place).and_then(Value::as_str));
    }
    let fixes = plan["findings"].as_array().into_iter().flatten().filter_map(|finding| finding["fix"].as_str());
    commands.extend(fixes.filter(|fix| fix.starts_with("piton ") && !fix.contains(", ")));
    assert!(!commands.is_empty(), "{output}");
    for command in commands {
        let script = format!("piton() {{ :; }}\nset -f\n{command}\n");
        let shell = sandbox.tool("/bin/sh", ["-c", &script]).env("PATH", "/usr/bin:/bin").run();
        assert_eq!((shell.code, shell.stderr.as_str()), (0, ""), "{command}");
        assert!(!sandbox.exists("pwned"), "{command}");
    }
}

/// Runs it, and fails if it hangs.
#[track_caller]
fn within(program: Program<'_>) -> Output {
    let started = Instant::now();
    let output = program.run_within(Duration::from_secs(120));
    output.unwrap_or_else(|| panic!("still running after {:?}", started.elapsed()))
}
