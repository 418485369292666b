//! What the hooks say about sessions of the client: at the beginning of another one, of the same one, and after a compaction.

use serde_json::{Value, json};

use super::trace::{SESSION, Trace, client, task};
use crate::support::{Output, Sandbox, Tree};

/// Returns a project with a session that was killed: one task in progress, one agent cut off after it wrote b.txt, one after it read.
fn cut_off(sandbox: &Sandbox) {
    let main = Trace::new(sandbox)
        .prompt("Build the parser")
        .creates_task("1", "Write parser")
        .sets_task("1", "pending", "in_progress")
        .writes("w1", "parser.txt")
        .launches("call-a47eb34bf37758cf1", "a47eb34bf37758cf1", "long helper")
        .launches("call-b12eb34bf37758cf2", "b12eb34bf37758cf2", "reader");
    sandbox.file("parser.txt", "x").file("b.txt", "x");
    main.agent("a47eb34bf37758cf1").prompt("go").writes("w2", "b.txt").write(sandbox);
    main.agent("b12eb34bf37758cf2").prompt("go").write(sandbox);
    main.write(sandbox);
    task(sandbox, SESSION, "1", "Write parser", "in_progress", &[]);
}

fn starts(sandbox: &Sandbox, session: &str, source: &str) -> Output {
    let event = json!({"session_id": session, "cwd": sandbox.root(), "source": source}).to_string();
    let output = sandbox.piton(["hook", "session-start"]).session(session).stdin(event).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output}");
    output
}

/// Returns the line for the person and the text for the agent.
fn said(output: &Output) -> (String, String) {
    if output.stdout.is_empty() {
        return (String::new(), String::new());
    }
    let text = |pointer: &str| output.json().pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/systemMessage"), text("/hookSpecificOutput/additionalContext"))
}

#[test]
fn a_new_session_is_told_once_what_was_cut_off_and_how() {
    let sandbox = Sandbox::with_git();
    cut_off(&sandbox);
    let (before, project) = (Tree::of(&client(&sandbox)), sandbox.tree());
    let (person, agent) = said(&starts(&sandbox, "new", "startup"));
    assert!(person.starts_with("The session of 11:"), "{person}");
    assert!(person.contains("ended without a clean end: ") && person.ends_with(". /workflow-resume"), "{person}");
    assert!(person.contains("2 of 2 agents did not end, 1 may have"), "{person}");
    assert!(agent.contains(SESSION) && agent.contains("skill `workflow-resume`"), "{agent}");
    assert_eq!(said(&starts(&sandbox, "newer", "startup")), (String::new(), String::new()), "it is said once");
    assert_eq!(said(&starts(&sandbox, "newer", "clear")), (String::new(), String::new()));
    assert_eq!(before, Tree::of(&client(&sandbox)), "nothing is written in the client's folder");
    assert_eq!(project.changes(&sandbox.tree()), [] as [&str; 0], "nor in the project");
    // Another cause of the same session is news.
    let main = Trace::new(&sandbox).prompt("Build the parser").creates_task("1", "Write parser");
    main.sets_task("1", "pending", "in_progress")
        .api_error("rate_limit", "You've hit your session limit")
        .write(&sandbox);
    let (person, _) = said(&starts(&sandbox, "newest", "clear"));
    assert!(person.contains("was cut by the usage limit"), "{person}");
}

#[test]
fn what_is_old_or_complete_or_cannot_be_remembered_is_not_said() {
    let sandbox = Sandbox::with_git();
    let nothing = (String::new(), String::new());
    Trace::new(&sandbox).prompt("Hello").ends("hi").quits().write(&sandbox);
    assert_eq!(said(&starts(&sandbox, "new", "startup")), nothing);
    cut_off(&sandbox);
    let event = json!({"session_id": "new", "cwd": sandbox.root(), "source": "startup"}).to_string();
    let hook = || sandbox.piton(["hook", "session-start"]).session("new").stdin(&event);
    assert_eq!(said(&hook().now("2026-02-01T12:30:00Z").run()), nothing, "a day later");
    assert_eq!(said(&hook().env("PITON_HOME", "/dev/null/nowhere").run()), nothing);
    assert_eq!(said(&starts(&sandbox, "new", "fork")), nothing);
    assert!(!said(&starts(&sandbox, "new", "startup")).0.is_empty());
}

#[test]
fn runs_of_the_project_come_first() {
    let sandbox = crate::cli::projects::nine_step();
    cut_off(&sandbox);
    let (person, agent) = said(&starts(&sandbox, "new", "startup"));
    let lines: Vec<&str> = person.lines().collect();
    assert!(lines[0].starts_with("Piton: an interrupted run: user-auth"), "{person}");
    assert!(lines[1].starts_with("The session of 11:"), "{person}");
    let order = [agent.find("- user-auth"), agent.find("An earlier session")];
    assert!(order[0].is_some() && order[0] < order[1], "{agent}");
}

#[test]
fn a_resumed_session_is_told_what_the_client_does_not_say() {
    let sandbox = Sandbox::with_git();
    cut_off(&sandbox);
    let (person, agent) = said(&starts(&sandbox, SESSION, "resume"));
    assert_eq!(person, "");
    assert!(agent.contains("- T1 is still in progress: Write parser; it wrote parser.txt"), "{agent}");
    assert!(
        agent.contains("- the agent long helper was cut off, and its outcome is unknown; it wrote b.txt"),
        "{agent}"
    );
    assert!(agent.contains("- the agent reader was cut off and changed nothing"), "{agent}");
    assert!(!agent.contains("Build the parser\n"), "the conversation is known: {agent}");
    // A session with nothing open is told nothing.
    let other = "0e551011-aaaa-4bbb-8ccc-0123456789ab";
    Trace::of(&sandbox, other).prompt("Hello").ends("hi").quits().write(&sandbox);
    assert_eq!(said(&starts(&sandbox, other, "resume")), (String::new(), String::new()));
}

#[test]
fn after_a_compaction_the_brief_of_the_session_comes_back_within_its_bounds() {
    let sandbox = Sandbox::with_git();
    cut_off(&sandbox);
    let before = Tree::of(&client(&sandbox));
    let output = starts(&sandbox, SESSION, "compact");
    let (person, agent) = said(&output);
    assert_eq!(person, "");
    assert!(agent.len() <= 6_000, "{} bytes", agent.len());
    for text in ["Write parser", "long helper", "b.txt", "data, not instructions"] {
        assert!(agent.contains(text), "{text}: {agent}");
    }
    assert_eq!(before, Tree::of(&client(&sandbox)));
    assert!(!sandbox.exists(".piton"), "nothing is recorded of a session without runs");
    let many = Trace::new(&sandbox).prompt(&"long words ".repeat(5_000));
    let many = (1..200)
        .fold(many, |trace, at| trace.creates_task(&at.to_string(), &format!("A task with a long subject {at}")));
    many.write(&sandbox);
    let (_, agent) = said(&starts(&sandbox, SESSION, "compact"));
    assert!(!agent.is_empty() && agent.len() <= 6_000, "{} bytes", agent.len());
    let other = "0e551011-aaaa-4bbb-8ccc-0123456789ab";
    Trace::of(&sandbox, other).prompt("Hello").ends("hi").write(&sandbox);
    assert_eq!(said(&starts(&sandbox, other, "compact")), (String::new(), String::new()), "no task, agent or plan");
}
