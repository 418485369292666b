//! Events of the client through the program, where processes end or many files are. The rest is in `tests/cases/hook`.

use serde_json::{Value, json};

use super::{
    claude::trace::{SESSION, Trace},
    projects,
};
use crate::support::{self, NOW, Output, Sandbox, Tree, takes_all};

/// Sends an event of a session whose client is this test process.
pub(super) fn hook(sandbox: &Sandbox, session: &str, event: &str, fields: Value) -> Output {
    let output = sandbox.piton(["hook", event]).session(session).stdin(input(sandbox, session, fields)).run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{event}");
    output
}

fn input(sandbox: &Sandbox, session: &str, mut fields: Value) -> String {
    fields["session_id"] = json!(session);
    fields["cwd"] = json!(sandbox.root());
    fields.to_string()
}

/// Starts a session and runs commands as children of its client, which has ended when this returns; `find` acts as the client.
fn in_a_client_that_dies(sandbox: &Sandbox, commands: &[(&[&str], Value)]) {
    let session = "old";
    let mut script = String::new();
    let start: (&[&str], Value) = (&["hook", "session-start"], json!({"source": "startup"}));
    for (at, (words, fields)) in std::iter::once(&start).chain(commands).enumerate() {
        let file = sandbox.top().join(format!("tmp/{at}.json"));
        std::fs::write(&file, input(sandbox, session, fields.clone())).expect("a folder of the sandbox");
        script.push_str(&format!("'{}' --now {NOW} {} < '{file}' || exit 1\n", program(), words.join(" ")));
    }
    let output = sandbox
        .tool("find", [sandbox.root().as_str(), "-maxdepth", "0", "-exec", "sh", "-ec", &script, ";"])
        .session(session)
        .env("PATH", "/usr/bin:/bin")
        .run();
    assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output}");
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_piton")
}

/// Returns the text for the person and the text for the agent.
pub(super) fn said(output: &Output) -> (String, String) {
    if output.stdout.is_empty() {
        return (String::new(), String::new());
    }
    let value: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"));
    let text = |pointer: &str| value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    (text("/systemMessage"), text("/hookSpecificOutput/additionalContext"))
}

pub(super) fn starts(sandbox: &Sandbox, session: &str, source: &str) -> (String, String) {
    said(&hook(sandbox, session, "session-start", json!({ "source": source })))
}

#[test]
fn a_client_that_was_killed_is_noticed() {
    let sandbox = projects::nine_step();
    in_a_client_that_dies(&sandbox, &[(&["-q", "begin", "2:3", "--agent", "backend-developer"], json!({}))]);
    let (person, agent) = starts(&sandbox, "new", "startup");
    assert!(person.contains("user-auth at Phase 2: retry 2:3 (Implementation), "), "{person}");
    assert!(person.contains("session ended"), "{person}");
    assert!(agent.contains("cut off by: session ended; verdict"), "{agent}");
    let plan = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!(plan.at("/data/interruption/cause/kind"), "session_ended");
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!(list.at("/data/runs/0/cause/kind"), "session_ended");
    let status = sandbox.piton(["status", "--format", "text"]).run().expect_code(0);
    assert!(status.stdout.contains("Cut off by     session ended: the process that drove it is gone\n"), "{status}");
}

#[test]
fn an_agent_that_never_came_back_is_named() {
    let sandbox = projects::nine_step();
    in_a_client_that_dies(
        &sandbox,
        &[
            (&["-q", "begin", "2:3"], json!({})),
            (&["hook", "subagent-start"], json!({"agent_id": "a1", "agent_type": "reader"})),
            (&["hook", "subagent-start"], json!({"agent_id": "a2", "agent_type": "backend-\u{1b}[31mdeveloper"})),
            (&["hook", "subagent-stop"], json!({"agent_id": "a1", "agent_type": "reader"})),
        ],
    );
    let plan = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!(plan.at("/data/interruption/cause/kind"), "agent_lost");
    assert_eq!(
        plan.at("/data/interruption/cause/detail"),
        "the session ended while the agent backend-[31mdeveloper was working"
    );
}

/// The client does not wait for `stop-failure` when it exits.
#[test]
fn an_error_that_only_the_transcript_has_is_the_cause_all_the_same() {
    let ends_after = |error: Option<&str>| {
        let sandbox = projects::nine_step();
        starts(&sandbox, SESSION, "startup");
        sandbox.piton(["begin", "2:3"]).session(SESSION).run().expect_code(0);
        let talk = Trace::new(&sandbox).prompt("/workflow-resume");
        let talk = match error {
            Some(error) => talk.api_error(error, "words of the service"),
            None => talk.api_error("rate_limit", "words of the service").prompt("go on").ends("done"),
        };
        talk.write(&sandbox);
        hook(&sandbox, SESSION, "session-end", json!({"reason": "other"}));
        let plan = sandbox.piton(["plan"]).session("second").run().expect_code(0);
        (plan.at("/data/interruption/cause/kind").clone(), plan.at("/data/interruption/cause/detail").clone())
    };
    assert_eq!(ends_after(Some("rate_limit")), (json!("limit"), json!("a usage limit was reached: rate_limit")));
    assert_eq!(ends_after(Some("overloaded")), (json!("failure"), json!("the service failed: overloaded")));
    assert_eq!(ends_after(None), (json!("session_ended"), json!("the session ended: other")));
}

#[test]
fn after_a_compaction_the_brief_is_the_one_of_the_begin() {
    for (example, step) in
        [("nine-step", "2:3"), ("ccw", "IMPL-002"), ("dotagent", "task-002"), ("aios", "7.2"), ("own-workflow", "api")]
    {
        let sandbox = projects::example(example);
        starts(&sandbox, "s", "startup");
        let begin = ["begin", step, "--brief", "inline", "--format", "text", "--quiet"];
        let begun = sandbox.piton(begin).session("s").run().expect_code(0).stdout;
        let (receipt, brief) = begun.split_once("\n\n").unwrap_or_else(|| panic!("{example}: {begun}"));
        assert!(receipt.contains(" is in progress (attempt "), "{receipt}");
        let (_, agent) = starts(&sandbox, "s", "compact");
        assert!(agent.chars().count() < 10_000, "{example}: {agent}");
        let (_, given_back) = agent.split_once("\n\n").unwrap_or_else(|| panic!("{example}: {agent}"));
        // A finished step that is done again no longer counts as done.
        let but_for_progress = |text: &str| -> Vec<String> {
            text.trim_end().lines().filter(|line| !line.starts_with("Position: ")).map(str::to_owned).collect()
        };
        assert_eq!(but_for_progress(given_back), but_for_progress(brief), "{example}");
    }
}

#[test]
fn the_second_of_two_sessions_is_refused_and_gets_no_report() {
    let sandbox = projects::nine_step();
    let mut client = sandbox
        .tool("find", [sandbox.root().as_str(), "-maxdepth", "0", "-exec", "sh", "-ec"])
        .arguments([
            &format!(
                "printf '%s' '{}' | '{p}' --now {NOW} hook session-start >/dev/null; '{p}' --now {NOW} -q begin 2:3; read go",
                input(&sandbox, "twice", json!({"source": "startup"})),
                p = program()
            ),
            ";",
        ])
        .session("twice")
        .env("PATH", "/usr/bin:/bin")
        .spawn();
    let mut line = String::new();
    let mut lines = std::io::BufReader::new(client.stdout.take().expect("it is piped"));
    std::io::BufRead::read_line(&mut lines, &mut line).expect("text");
    assert!(line.contains("checkpoint/1"), "{line}");

    // The same session opened twice counts as two clients, like another session.
    for session in ["twice", "other"] {
        let refused = sandbox.piton(["finish", "2:3"]).session(session).run();
        assert_eq!(refused.code, 6, "{session}: {refused}");
        assert_eq!(starts(&sandbox, session, "startup"), Default::default(), "{session}");
    }
    drop(client.stdin.take());
    client.wait().expect("a child of our own");
    sandbox.piton(["finish", "2:3"]).session("other").run().expect_code(0);
}

#[test]
fn a_session_has_no_path_and_no_home_in_its_log() {
    let sandbox = projects::nine_step();
    let session = "../../../etc/passwd\n\u{1b}[2J";
    starts(&sandbox, session, "startup");
    sandbox.piton(["begin", "2:3"]).session(session).run().expect_code(0);
    let log = log_of(&sandbox);
    assert!(log.contains(r#""event":"drives","own":"runs/nine-step.user-auth""#), "{log}");
    assert!(!log.contains(sandbox.top().as_str()), "{log}");
    assert_eq!(sandbox.read(".piton/.gitignore"), "*\n");
}

#[test]
fn a_prompt_is_a_sign_of_life_and_the_owner_is_on_record() {
    let sandbox = projects::nine_step();
    starts(&sandbox, "s", "startup");
    sandbox.piton(["begin", "2:3"]).session("s").run().expect_code(0);
    let driver = || {
        let local = sandbox.read_json(".piton/runs/nine-step.user-auth/local.json");
        let name = local["lease"]["driver"].as_str().expect("a lease").to_owned();
        local["drivers"][name].clone()
    };
    let begun = driver();
    assert_eq!(begun["seen"], NOW);
    let later = "2026-01-31T12:25:00Z";
    let prompt = input(&sandbox, "s", json!({"prompt": "and?"}));
    let output = sandbox.piton(["hook", "prompt"]).session("s").now(later).stdin(prompt).run();
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    let now = driver();
    assert_eq!(now["seen"], later);
    assert!(begun["pid"].is_u64() && !begun["process_start"].is_null(), "{begun}");
    assert_eq!((&now["pid"], &now["process_start"]), (&begun["pid"], &begun["process_start"]));
}

#[test]
fn the_size_of_an_event_is_limited() {
    let sandbox = projects::nine_step();
    let piped = format!("head -c 67108864 /dev/zero 2>/dev/null | '{}' hook session-start", program());
    let output = sandbox.tool("sh", ["-c", &piped]).env("PATH", "/usr/bin:/bin").run();
    assert_eq!((output.code, output.stdout.as_str(), output.stderr.as_str()), (0, "", ""));
}

/// Returns the only log.
fn log_of(sandbox: &Sandbox) -> String {
    let logs: Vec<_> = sandbox.root().join(".piton/sessions").read_dir_utf8().expect("a log").flatten().collect();
    assert_eq!(logs.len(), 1);
    support::read(logs[0].path())
}

/// S-2: a folder with more files than a quick look takes does not hide the run beside it.
#[test]
fn a_huge_folder_does_not_silence_the_start_of_a_session() {
    let sandbox = Sandbox::in_memory();
    Tree::of(&support::repository().join("examples/nine-step")).write_to(&sandbox.root());
    let data = sandbox.root().join("data");
    std::fs::create_dir(&data).unwrap();
    (0..20_500).for_each(|number| drop(std::fs::File::create(data.join(number.to_string())).unwrap()));
    let told = hook(&sandbox, "s1", "session-start", json!({"source": "startup"}));
    assert!(told.stdout.contains("user-auth"), "{told}");
}

/// S-2: where not all of a project was looked at, nothing claims that it has no runs.
#[test]
fn a_walk_that_was_cut_off_is_said() {
    let sandbox = Sandbox::in_memory();
    let data = sandbox.root().join("data");
    std::fs::create_dir(&data).unwrap();
    (0..200_500).for_each(|number| drop(std::fs::File::create(data.join(number.to_string())).unwrap()));
    let none = sandbox.piton(["plan"]).run().expect_code(3);
    assert!(
        none.at("/error/message").as_str().unwrap().contains("too many files to look at all of them: data"),
        "{none}"
    );
    assert!(!none.at("/error/hints").to_string().contains("piton start"), "{none}");
    let started = sandbox.piton(["start", "nine-step", "--feature", "user-auth"]).run().expect_code(0);
    assert!(started.findings().contains(&"walk-cut-off".to_owned()), "{started}");
    if takes_all() {
        let doctor = sandbox.piton(["doctor"]).run();
        assert!(doctor.stdout.contains("too many files"), "{doctor}");
        sandbox.piton(["plan"]).run().expect_code(0);
    }
    assert!(sandbox.piton(["list"]).run().findings().contains(&"walk-cut-off".to_owned()));
}
