//! What the hooks keep of what agents report, by its size and its rights. The rest is in `tests/cases/hook_agents`.

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{
    hook::{hook, said, starts},
    projects,
};
use crate::support::{Output, Sandbox};

/// Begins a step in a session whose client reports it.
fn begun(example: &str, step: &str) -> Sandbox {
    let sandbox = projects::example(example);
    starts(&sandbox, "s", "startup");
    piton(&sandbox, &["begin", step, "--brief", "inline"]).expect_code(0);
    sandbox
}

fn piton(sandbox: &Sandbox, words: &[&str]) -> Output {
    sandbox.piton(words.iter().copied()).session("s").run()
}

/// Starts an agent and returns what it is told.
fn agent_starts(sandbox: &Sandbox, id: &str, kind: &str) -> String {
    said(&hook(sandbox, "s", "subagent-start", json!({"agent_id": id, "agent_type": kind}))).1
}

fn agent_ends(sandbox: &Sandbox, id: &str, message: &str) {
    let fields = json!({"agent_id": id, "agent_type": "x", "last_assistant_message": message});
    assert_eq!(hook(sandbox, "s", "subagent-stop", fields).stdout, "");
}

/// Returns the files that are kept for agents.
fn kept(sandbox: &Sandbox, data_dir: &str) -> Vec<Utf8PathBuf> {
    let Ok(entries) = sandbox.root().join(data_dir).join("briefs").read_dir_utf8() else { return Vec::new() };
    entries.map(|entry| entry.expect("an entry").into_path()).collect()
}

const NINE_STEP_DATA: &str = ".piton/runs/nine-step.user-auth";

const REPORT: &str = "I changed the form.\n\nSTEP: 2:3\nSTATUS: DONE\nSUMMARY: The user name is checked.\n\
                      FILES: src/login.rs\nTESTS: 14 passed\n";

#[test]
fn a_report_is_used_by_the_finish_that_records_the_step() {
    let sandbox = begun("nine-step", "2:3");
    agent_starts(&sandbox, "a1", "backend-developer");
    agent_ends(&sandbox, "a1", REPORT);
    let files = kept(&sandbox, NINE_STEP_DATA);
    let [file] = files.as_slice() else { panic!("{files:?}") };
    use std::os::unix::fs::PermissionsExt as _;
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);
    piton(&sandbox, &["finish", "2:3"]).expect_code(0);
    assert_eq!(kept(&sandbox, NINE_STEP_DATA), [""; 0], "it was used");
    let brief = piton(&sandbox, &["context", "--step", "2:4"]).expect_code(0);
    assert_eq!(brief.at("/data/reports/0/step"), "2:3");
    assert_eq!(brief.at("/data/reports/0/summary"), "The user name is checked.\nFiles: src/login.rs\nTests: 14 passed");
}

#[test]
fn what_an_agent_is_told_is_short() {
    for (example, step, agent) in [
        ("nine-step", "2:3", "backend-developer"),
        ("ccw", "IMPL-002", "code-developer"),
        ("dotagent", "task-002", "implementer"),
        ("aios", "7.2", "dev"),
        ("own-workflow", "api", "general-purpose"),
    ] {
        let told = agent_starts(&begun(example, step), "a1", agent);
        assert!(!told.is_empty() && told.len() < 6_000, "{example}: {}", told.len());
    }
}

#[test]
fn what_is_no_report_on_the_agents_own_step_is_not_kept() {
    let sandbox = begun("nine-step", "2:3");
    agent_starts(&sandbox, "a1", "backend-developer");
    for message in
        ["", "done", "STATUS: fine", "STEP: 2:4\nSTATUS: DONE\nSUMMARY: another step", "STEP: ../../x\nSTATUS: DONE"]
    {
        agent_ends(&sandbox, "a1", message);
        assert_eq!(kept(&sandbox, NINE_STEP_DATA), [""; 0], "{message}");
    }
    agent_ends(&sandbox, "unknown", "STATUS: DONE\nSUMMARY: of an agent that was given nothing and names nothing");
    assert_eq!(kept(&sandbox, NINE_STEP_DATA), [""; 0]);
    agent_ends(&sandbox, "unknown", REPORT);
    assert_eq!(kept(&sandbox, NINE_STEP_DATA).len(), 1, "it names the step");
    piton(&sandbox, &["begin", "2:3", "--again"]).expect_code(0);
    piton(&sandbox, &["finish", "2:3"]).expect_code(0);
    let brief = piton(&sandbox, &["context", "--step", "2:4"]).expect_code(0);
    assert_eq!(brief.at("/data/reports"), Value::Null, "it was about the attempt before: {brief}");
}

/// SECURITY: row 17
#[test]
fn a_report_of_any_size_is_kept_small_and_clean() {
    let sandbox = begun("nine-step", "2:3");
    agent_starts(&sandbox, "a1", "backend-developer");
    let key = format!("sk-ant-{}", "a1".repeat(40));
    let long = "x".repeat(3 << 20);
    agent_ends(
        &sandbox,
        "a1",
        &format!("STATUS: DONE\nSUMMARY: {key} \u{1b}]0;title\u{7} \u{202e}{long}\nTESTS: {long}"),
    );
    let [file] = &kept(&sandbox, NINE_STEP_DATA)[..] else { panic!("one file") };
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.len() < 10_000 && !text.contains(&key) && !text.contains("\\u001b"), "{}", text.len());
    piton(&sandbox, &["finish", "2:3"]).expect_code(0);
}

#[test]
fn a_brief_is_written_to_a_file_where_it_is_asked_for() {
    let sandbox = projects::nine_step();
    let inline = sandbox.piton(["begin", "2:3"]).run().expect_code(0);
    assert!(inline.at("/data/brief").is_object(), "the default on the command line: {inline}");
    let output = sandbox.piton(["begin", "2:3", "--brief", "file"]).run().expect_code(0);
    assert_eq!(output.at("/data/brief"), Value::Null, "{output}");
    assert_eq!(output.at("/data/brief_file/agent"), "backend-developer");
    let path = output.at("/data/brief_file/path").as_str().unwrap().replace("$ROOT", sandbox.root().as_str());
    let path = Utf8PathBuf::from(path);
    assert!(path.starts_with(sandbox.root().join(NINE_STEP_DATA).join("briefs")), "{path}");
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(output.at("/data/brief_file/bytes"), text.len());
    for part in ["2:3 — Implementation", "the user name is not validated", "STEP: 2:3\nSTATUS: DONE"] {
        assert!(text.contains(part), "{text}");
    }
    let asked = output.at("/data/brief_file/prompt").as_str().unwrap().replace("$ROOT", sandbox.root().as_str());
    assert!(asked.starts_with("Do step 2:3 of the run user-auth.") && asked.contains(path.as_str()), "{asked}");
    assert!(output.stdout.len() < 1_000, "{}", output.stdout.len());
    let told = sandbox.piton(["begin", "2:3", "--brief", "file", "--format", "text"]).run().expect_code(0);
    assert!(
        told.stdout.contains(&format!(
            "Brief for the agent: $ROOT/{} ({} bytes)\n",
            path.strip_prefix(sandbox.root()).unwrap(),
            text.len()
        )),
        "{told}"
    );
    sandbox.piton(["finish", "2:3"]).run().expect_code(0);
    assert!(!path.exists(), "the step is over");
}
