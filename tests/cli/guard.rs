//! The guard of the client's tasks: `hook task-completed`, as `setup --guard` makes the client call it.

use serde_json::{Value, json};

use crate::support::{NOW, Output, Sandbox};

const SESSION: &str = "4644b01c-b691-4038-8673-bcc25b6ddbc8";
/// Where the client of the sandbox keeps its task list.
const LIST: &str = "4644b01c-b691-4038-8673-bcc25b6ddbc8";
/// 2026-01-31T11:00:00Z.
const STARTED: u64 = 1_769_857_200;

/// Writes a file below the client's folder.
fn client_file(sandbox: &Sandbox, path: &str, text: &str) {
    let path = sandbox.home().join(".claude").join(path);
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder of the sandbox");
    std::fs::write(path, text).expect("a file of the sandbox");
}

/// Returns a project with task 1, which is in progress and declares these outputs.
fn with_task(outputs: Value) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.dir(".workflow");
    task(&sandbox, LIST, "Write parser", outputs);
    let started = json!({"type": "user", "timestamp": "2026-01-31T11:00:00.000Z", "toolUseResult": {
        "success": true, "taskId": "1", "updatedFields": ["status"], "statusChange": {"from": "pending", "to": "in_progress"}
    }});
    let other = json!({"type": "user", "timestamp": "2026-01-31T11:59:00.000Z", "toolUseResult": {
        "success": true, "taskId": "2", "statusChange": {"from": "pending", "to": "in_progress"}
    }});
    client_file(
        &sandbox,
        "projects/p/s.jsonl",
        &format!("{started}\n{other}\n{{\"type\":\"last-prompt\"}}\n{{\"cut off"),
    );
    sandbox
}

fn task(sandbox: &Sandbox, list: &str, subject: &str, outputs: Value) {
    let task = json!({"id": "1", "subject": subject, "status": "in_progress", "metadata": {"outputs": outputs}});
    client_file(sandbox, &format!("tasks/{list}/1.json"), &task.to_string());
}

fn completes(sandbox: &Sandbox) -> Output {
    completes_in(sandbox, sandbox.root().as_str())
}

fn completes_in(sandbox: &Sandbox, cwd: &str) -> Output {
    let event = json!({
        "session_id": SESSION, "cwd": cwd, "task_id": "1", "task_subject": "Write parser",
        "transcript_path": sandbox.home().join(".claude/projects/p/s.jsonl"), "hook_event_name": "TaskCompleted",
    });
    sandbox.piton(["hook", "task-completed"]).session(SESSION).stdin(event.to_string()).run()
}

fn refuses(sandbox: &Sandbox, reason: &str) {
    let output = completes(sandbox);
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.trim_end()), (2, "", reason));
}

fn passes(sandbox: &Sandbox) {
    let output = completes(sandbox);
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""));
}

#[test]
fn a_task_whose_output_is_missing_empty_or_old_is_refused() {
    let one = "; task 1 declares it";
    let sandbox = with_task(json!("parser.txt"));
    refuses(&sandbox, &format!("parser.txt is missing{one}"));
    let sandbox = with_task(json!(["parser.txt"]));
    sandbox.file("parser.txt", "");
    refuses(&sandbox, &format!("parser.txt is empty{one}"));
    let sandbox = with_task(json!(["parser.txt"]));
    sandbox.file("parser.txt", "of yesterday").modified("parser.txt", STARTED - 60);
    refuses(&sandbox, &format!("parser.txt is older than the work on it{one}"));
    let sandbox = with_task(json!(["a.txt", "b/c.txt", "d.txt"]));
    sandbox.file("d.txt", "d").modified("d.txt", STARTED + 1);
    refuses(&sandbox, "a.txt is missing, b/c.txt is missing; task 1 declares them");
}

#[test]
fn a_task_whose_outputs_are_there_passes() {
    let sandbox = with_task(json!(["parser.txt", "out"]));
    sandbox.file("parser.txt", "new").modified("parser.txt", STARTED).file("out/x", "");
    let before = sandbox.everything();
    passes(&sandbox);
    assert_eq!(before.changes(&sandbox.everything()), [] as [&str; 0], "what passes leaves no trace");
    // An absolute path, and one relative to the folder that the session is in.
    let sandbox = with_task(json!([sandbox.root().join("parser.txt")]));
    task(&sandbox, LIST, "Write parser", json!([sandbox.root().join("sub/parser.txt"), "other.txt"]));
    sandbox.file("sub/parser.txt", "x").file("sub/other.txt", "x");
    let output = completes_in(&sandbox, sandbox.root().join("sub").as_str());
    assert_eq!((output.code, output.stderr.as_str()), (0, ""));
}

/// SECURITY: row 16
#[test]
fn outputs_outside_of_the_project_are_refused_and_not_looked_at() {
    for output in ["../secret", "/etc/passwd", "~/x", "a/../../b"] {
        let sandbox = with_task(json!(output));
        refuses(&sandbox, &format!("{output} is outside of the project; task 1 declares it"));
    }
    let sandbox = with_task(json!("link"));
    std::os::unix::fs::symlink("/etc/passwd", sandbox.root().join("link")).expect("a link");
    refuses(&sandbox, "link is outside of the project; task 1 declares it");
}

#[test]
fn the_third_refusal_lets_the_task_through_and_says_so() {
    let sandbox = with_task(json!("parser.txt"));
    let before = sandbox.tree();
    refuses(&sandbox, "parser.txt is missing; task 1 declares it");
    refuses(&sandbox, "parser.txt is missing; task 1 declares it");
    for _ in 0..2 {
        let output = completes(&sandbox).expect_code(0);
        let said = "Piton: task 1 was completed after 2 refusals: parser.txt is missing";
        assert_eq!(output.json(), json!({ "systemMessage": said }));
    }
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0], "nothing is remembered in the project");
    let memory = std::fs::read_to_string(sandbox.home().join(".local/state/piton/hooks.jsonl")).expect("it was noted");
    assert_eq!(memory.lines().count(), 2, "{memory}");
    // Another session has refusals of its own; where they cannot be counted, none is given.
    let event = json!({"session_id": "other", "cwd": sandbox.root(), "task_id": "1"});
    let other =
        || sandbox.piton(["hook", "task-completed"]).env("CLAUDE_CODE_TASK_LIST_ID", LIST).stdin(event.to_string());
    other().run().expect_code(2);
    other().env("PITON_HOME", "/dev/null/nowhere").run().expect_code(0);
}

#[test]
fn what_cannot_be_read_passes() {
    let odd = [json!(null), json!(7), json!([]), json!([7, null]), json!({"a": 1}), json!({"0": "x"})];
    for outputs in odd {
        passes(&with_task(outputs));
    }
    let sandbox = with_task(json!("parser.txt"));
    for text in ["", "{", "[]", "{\"subject\": 7}", "{\"subject\": \"Another\", \"metadata\": {\"outputs\": \"x\"}}"] {
        client_file(&sandbox, &format!("tasks/{LIST}/1.json"), text);
        passes(&sandbox);
    }
    std::fs::remove_dir_all(sandbox.home().join(".claude")).expect("it was there");
    passes(&sandbox);
    let good = json!({"session_id": SESSION, "cwd": "/nowhere", "task_id": "1", "task_subject": "Write parser"});
    let ids =
        ["../1", "", "1/../../x", "99999999999999"].map(|id| json!({"session_id": SESSION, "cwd": "/", "task_id": id}));
    for event in ids.iter().chain([&good, &json!({}), &json!({"session_id": "../..", "cwd": "/", "task_id": "1"})]) {
        let output = sandbox.piton(["hook", "task-completed"]).stdin(event.to_string()).run();
        assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""), "{event}");
    }
}

#[test]
fn the_list_of_a_team_is_found_by_the_first_digits_of_its_session() {
    let sandbox = Sandbox::new();
    task(&sandbox, "session-4644b01c", "Write parser", json!("parser.txt"));
    refuses(&sandbox, "parser.txt is missing; task 1 declares it");
    // Its list has another task of this number.
    task(&sandbox, LIST, "Another", json!("other.txt"));
    refuses(&sandbox, "parser.txt is missing; task 1 declares it");
}

/// Invariant: nothing in a repository weakens a decision.
/// SECURITY: row 16
#[test]
fn no_project_switches_the_guard_off() {
    let sandbox = with_task(json!("parser.txt"));
    for text in ["guard = false\n", "[guard]\noff = true\n", "[limits]\nattempts = 1\n", "not a configuration", "\0"] {
        sandbox.file("piton.toml", text);
        let event = json!({"session_id": text, "cwd": sandbox.root(), "task_id": "1"}).to_string();
        let output = sandbox.piton(["hook", "task-completed"]).env("CLAUDE_CODE_TASK_LIST_ID", LIST).stdin(event).run();
        assert_eq!((output.code, output.stderr.trim_end()), (2, "parser.txt is missing; task 1 declares it"), "{text}");
    }
}

#[test]
fn a_name_is_shown_on_one_line_and_masked() {
    let names = ["a\u{1b}[31m\nb".to_owned(), format!("sk-ant-api03-{}", "x".repeat(90)), "x".repeat(5_000)];
    let sandbox = with_task(json!(names));
    let output = completes(&sandbox).expect_code(2);
    assert_eq!(output.stderr.lines().count(), 1, "{output}");
    assert!(!output.stderr.contains('\u{1b}') && !output.stderr.contains("sk-ant-api03-xxx"), "{output}");
    assert!(output.stderr.len() < 1_000, "{output}");
    let many: Vec<String> = (0..300).map(|at| format!("file-{at}")).collect();
    let output = completes(&with_task(json!(many))).expect_code(2);
    assert!(output.stderr.contains("file-4 is missing and 195 more; task 1 declares them"), "{output}");
    assert!(NOW.starts_with("2026-01-31"), "the times above are of that day");
}
