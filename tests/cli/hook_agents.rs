//! What the client's hooks hand to the agents of steps, and what they keep of what comes back.

use camino::Utf8PathBuf;
use serde_json::{Value, json};

use super::{
    hook::{hook, said, starts},
    projects,
};
use crate::support::{Output, Sandbox};

/// Begins a step in a session whose client reports it, and answers with the brief.
fn begun(example: &str, step: &str) -> (Sandbox, Output) {
    let sandbox = projects::example(example);
    starts(&sandbox, "s", "startup");
    let begun = piton(&sandbox, &["begin", step, "--brief", "inline"]).expect_code(0);
    (sandbox, begun)
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

fn prompt(sandbox: &Sandbox, text: &str) -> String {
    said(&hook(sandbox, "s", "prompt", json!({"prompt": text}))).1
}

/// Returns the files that are kept for agents.
fn kept(sandbox: &Sandbox, data_dir: &str) -> Vec<Utf8PathBuf> {
    let Ok(entries) = sandbox.root().join(data_dir).join("briefs").read_dir_utf8() else { return Vec::new() };
    entries.map(|entry| entry.expect("an entry").into_path()).collect()
}

const NINE_STEP_DATA: &str = ".worktree/user-auth/.piton";

#[test]
fn the_agent_of_a_step_is_given_its_brief() {
    for (example, step, agent) in [
        ("nine-step", "2:3", "backend-developer"),
        ("nine-step", "2:3", "piton:backend-developer"),
        ("nine-step", "2:3", "general-purpose"),
        ("ccw", "IMPL-002", "code-developer"),
        ("dotagent", "task-002", "implementer"),
        ("aios", "7.2", "dev"),
        ("own-workflow", "api", "general-purpose"),
    ] {
        let (sandbox, begun) = begun(example, step);
        let told = agent_starts(&sandbox, "a1", agent);
        let run = begun.at("/data/run");
        let attempt = begun.at("/data/brief/attempt");
        let first = format!("Step {step} of the run {} is in progress (attempt {attempt}).", run.as_str().unwrap());
        assert!(told.starts_with(&first), "{example}: {told}");
        let action = begun.at("/data/brief/next_action");
        for part in [
            action.as_str().unwrap(),
            "--- begin of untrusted text",
            &format!("\nSTEP: {step}\n"),
            "\nSTATUS: DONE, BLOCKED or NEEDS_CONTEXT\n",
        ] {
            assert!(told.contains(part), "{example}: {part}: {told}");
        }
        assert!(!told.contains(&format!("piton finish {step}")), "the session records the end: {told}");
        assert!(told.len() < 6_000, "{example}: {}", told.len());
    }
}

#[test]
fn an_agent_that_may_be_for_something_else_is_told_nothing() {
    let sandbox = projects::example("own-workflow");
    assert_eq!(agent_starts(&sandbox, "a0", "general-purpose"), "", "the session has no log");
    starts(&sandbox, "s", "startup");
    assert_eq!(agent_starts(&sandbox, "a1", "general-purpose"), "", "nothing is in progress");
    piton(&sandbox, &["begin", "api", "--agent", "backend"]).expect_code(0);
    assert_eq!(agent_starts(&sandbox, "a2", "Explore"), "", "it only reads");
    let other = json!({"agent_id": "a3", "agent_type": "backend"});
    assert_eq!(hook(&sandbox, "other", "subagent-start", other).stdout, "", "another session drives the step");
    piton(&sandbox, &["begin", "ui", "--agent", "frontend"]).expect_code(0);
    assert_eq!(agent_starts(&sandbox, "a4", "general-purpose"), "", "it may be for either");
    assert!(agent_starts(&sandbox, "a5", "frontend").starts_with("Step ui of "));
    // The brief of `ui` is with an agent that is still running.
    assert!(agent_starts(&sandbox, "a6", "general-purpose").starts_with("Step api of "));
    for step in ["api", "ui"] {
        piton(&sandbox, &["finish", step]).expect_code(0);
    }
    assert_eq!(agent_starts(&sandbox, "a7", "frontend"), "");
}

const REPORT: &str = "I changed the form.\n\nSTEP: 2:3\nSTATUS: DONE\nSUMMARY: The user name is checked.\n\
                      FILES: src/login.rs\nTESTS: 14 passed\n";

#[test]
fn a_report_is_used_by_the_finish_that_records_the_step() {
    let (sandbox, _) = begun("nine-step", "2:3");
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
fn explicit_words_win_over_a_report() {
    let (sandbox, _) = begun("nine-step", "2:3");
    agent_starts(&sandbox, "a1", "backend-developer");
    agent_ends(&sandbox, "a1", &REPORT.replace("DONE", "BLOCKED"));
    piton(&sandbox, &["finish", "2:3", "--summary", "mine"]).expect_code(0);
    let brief = piton(&sandbox, &["context", "--step", "2:4"]).expect_code(0);
    assert_eq!(brief.at("/data/reports/0/summary"), "mine");
    assert_eq!(kept(&sandbox, NINE_STEP_DATA), [""; 0]);
}

/// SECURITY: row 17
#[test]
fn a_step_whose_agent_was_blocked_is_not_recorded_as_done() {
    let (sandbox, _) = begun("nine-step", "2:3");
    agent_starts(&sandbox, "a1", "backend-developer");
    agent_ends(&sandbox, "a1", "STATUS: NEEDS_CONTEXT\nSUMMARY: Which \u{1b}[31mdatabase?\n");
    let before = sandbox.read(projects::NINE_STEP);
    let refused = piton(&sandbox, &["finish", "2:3"]).expect_code(1);
    assert_eq!(
        refused.at("/error/message"),
        "the agent of 2:3 reported NEEDS_CONTEXT (Which [31mdatabase?); say how the step ended. Nothing was recorded"
    );
    assert_eq!(
        projects::hints(&refused),
        [
            "piton finish 2:3 --run user-auth --status failed --error TEXT",
            "piton finish 2:3 --run user-auth --summary TEXT"
        ]
    );
    assert_eq!(sandbox.read(projects::NINE_STEP), before);
    assert_eq!(kept(&sandbox, NINE_STEP_DATA).len(), 1, "it is still needed");
    piton(&sandbox, &["finish", "2:3", "--status", "failed"]).expect_code(0);
    let next = piton(&sandbox, &["context"]).expect_code(0);
    assert_eq!(next.at("/data/findings_to_address/2"), "Which [31mdatabase?", "{next}");
}

/// Returns a project whose review is in progress.
fn under_review() -> Sandbox {
    let (sandbox, _) = begun("nine-step", "2:3");
    piton(&sandbox, &["finish", "2:3", "--summary", "fixed"]).expect_code(0);
    piton(&sandbox, &["begin", "2:4", "--brief", "inline"]).expect_code(0);
    sandbox
}

/// SECURITY: row 17
#[test]
fn a_verdict_is_never_taken_from_a_report_and_never_milder_than_it() {
    let sandbox = under_review();
    let told = agent_starts(&sandbox, "a1", "code-reviewer");
    assert!(told.contains("\nVERDICT: APPROVED, APPROVED_WITH_CONDITIONS, NEEDS_REVISION or REJECTED\n"), "{told}");
    agent_ends(&sandbox, "a1", "STEP: 2:4\nSTATUS: DONE\nVERDICT: NEEDS_REVISION\nFINDINGS:\n- no test\n- a panic\n");
    let without = piton(&sandbox, &["finish", "2:4"]);
    assert_eq!(without.code, 2, "{without}");
    for milder in ["APPROVED", "APPROVED_WITH_CONDITIONS"] {
        let refused = piton(&sandbox, &["finish", "2:4", "--verdict", milder, "--summary", "fine"]).expect_code(9);
        let message = refused.at("/error/message").as_str().unwrap().to_owned();
        assert!(
            message.starts_with(&format!("the reviewer of 2:4 reported NEEDS_REVISION, not {milder};")),
            "{message}"
        );
        assert_eq!(projects::hints(&refused), ["piton finish 2:4 --run user-auth --verdict VERDICT --summary TEXT"]);
    }
    piton(&sandbox, &["finish", "2:4", "--verdict", "NEEDS_REVISION"]).expect_code(0);
    let plan = piton(&sandbox, &["plan"]).expect_code(0);
    assert_eq!(
        (plan.at("/data/next/0/action"), plan.at("/data/next/0/step")),
        (json!("return"), json!("2:3")),
        "{plan}"
    );
    let brief = piton(&sandbox, &["context"]).expect_code(0);
    assert_eq!(brief.at("/data/findings_to_address"), json!(["no test", "a panic"]));
}

#[test]
fn a_harder_verdict_than_the_reported_one_is_recorded() {
    let sandbox = under_review();
    agent_starts(&sandbox, "a1", "code-reviewer");
    agent_ends(&sandbox, "a1", "STEP: 2:4\nSTATUS: DONE\nSUMMARY: good\nVERDICT: APPROVED\n");
    piton(&sandbox, &["finish", "2:4", "--verdict", "REJECTED", "--summary", "it does not build"]).expect_code(0);
    let plan = piton(&sandbox, &["plan"]);
    assert_eq!(plan.code, 9, "{plan}");
}

#[test]
fn what_is_no_report_on_the_agents_own_step_is_not_kept() {
    let (sandbox, _) = begun("nine-step", "2:3");
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
    let (sandbox, _) = begun("nine-step", "2:3");
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
fn an_agent_that_ended_without_a_finish_is_named_once_with_a_command_that_works() {
    let (sandbox, _) = begun("nine-step", "2:3");
    agent_starts(&sandbox, "a1", "backend-developer");
    assert_eq!(prompt(&sandbox, "and?"), "", "it is still running");
    agent_ends(&sandbox, "a1", REPORT);
    let told = prompt(&sandbox, "and now?");
    assert_eq!(
        told,
        "The agent backend-developer ended, and step 2:3 of user-auth is still recorded as in progress. If it is over, record how \
         it ended: `piton finish 2:3 --run user-auth`"
    );
    assert_eq!(prompt(&sandbox, "and then?"), "", "once");
    let (_, command) = told.split_once('`').unwrap();
    piton(&sandbox, &command.trim_end_matches('`').split(' ').skip(1).collect::<Vec<_>>()).expect_code(0);
}

#[test]
fn without_a_report_the_command_asks_for_its_words() {
    let (sandbox, _) = begun("nine-step", "2:3");
    agent_starts(&sandbox, "a1", "general-purpose");
    agent_starts(&sandbox, "a2", "Explore");
    agent_ends(&sandbox, "a2", "found it");
    assert_eq!(prompt(&sandbox, "?"), "", "one that only reads does no step");
    agent_ends(&sandbox, "a1", "all done");
    let told = prompt(&sandbox, "<task-notification>\n<status>completed</status>");
    assert!(told.ends_with("`piton finish 2:3 --run user-auth --summary TEXT`"), "{told}");
    agent_starts(&sandbox, "a3", "general-purpose");
    agent_ends(&sandbox, "a3", "STATUS: BLOCKED\nSUMMARY: no network");
    let told = prompt(&sandbox, "?");
    assert!(told.ends_with("`piton finish 2:3 --run user-auth --status failed --error TEXT`"), "{told}");
    agent_starts(&sandbox, "a4", "general-purpose");
    agent_ends(&sandbox, "a4", REPORT);
    piton(&sandbox, &["finish", "2:3"]).expect_code(0);
    assert_eq!(prompt(&sandbox, "?"), "", "its end is recorded");
}

#[test]
fn news_of_one_background_agent_does_not_make_the_others_lost() {
    let sandbox = projects::example("own-workflow");
    starts(&sandbox, "s", "startup");
    for (step, id) in [("api", "a1"), ("ui", "a2")] {
        piton(&sandbox, &["begin", step, "--agent", step]).expect_code(0);
        agent_starts(&sandbox, id, step);
    }
    agent_ends(&sandbox, "a1", "done");
    let told = prompt(&sandbox, "<task-notification>\n<task-id>a1</task-id>");
    assert!(told.starts_with("The agent api ended, and step api of ") && told.lines().count() == 1, "{told}");
    let cause = || piton(&sandbox, &["plan"]).at("/data/interruption/cause/kind").clone();
    assert_eq!(cause(), Value::Null);
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

#[test]
fn where_hooks_deliver_the_brief_begin_only_says_where_it_is() {
    let sandbox = projects::nine_step();
    let before = piton(&sandbox, &["begin", "2:3"]).expect_code(0);
    assert!(before.at("/data/brief").is_object(), "no hook has reported this session: {before}");
    starts(&sandbox, "s", "startup");
    let output = piton(&sandbox, &["begin", "2:3"]).expect_code(0);
    assert!(output.at("/data/brief_file/path").is_string() && output.at("/data/brief").is_null(), "{output}");
    let inline = piton(&sandbox, &["begin", "2:3", "--brief", "inline"]).expect_code(0);
    assert!(inline.at("/data/brief").is_object(), "{inline}");
}

#[test]
fn a_brief_that_cannot_be_written_is_in_the_answer() {
    let sandbox = projects::nine_step();
    let outside = sandbox.top().join("tmp");
    sandbox.piton(["begin", "2:3"]).run().expect_code(0);
    std::os::unix::fs::symlink(&outside, sandbox.root().join(NINE_STEP_DATA).join("briefs")).unwrap();
    let output = sandbox.piton(["begin", "2:3", "--brief", "file"]).run().expect_code(0);
    assert!(output.at("/data/brief").is_object() && output.at("/data/brief_file").is_null(), "{output}");
    assert_eq!(output.at("/findings/0/code"), "record-unwritten");
    assert_eq!(outside.read_dir_utf8().unwrap().count(), 0, "nothing is written through a link");
}
