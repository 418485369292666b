//! `hook permission-request`: what the client need not ask the person about.

use serde_json::{Value, json};

use super::{
    hook::{hook, starts},
    projects,
};
use crate::support::Sandbox;

/// A project in which the session `s` drives `user-auth`, and no session drives `other`.
fn driven() -> Sandbox {
    let sandbox = projects::nine_step();
    let other = sandbox.read(projects::NINE_STEP).replace("user-auth", "other");
    sandbox.file(".worktree/other/.workflow-state.json", &other);
    starts(&sandbox, "s", "startup");
    sandbox.piton(["begin", "2:3", "--run", "user-auth"]).session("s").run().expect_code(0);
    sandbox
}

/// Returns the event as the client sends it.
fn request(command: &str) -> Value {
    json!({
        "hook_event_name": "PermissionRequest",
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": {"command": command, "description": "record the run"},
        "permission_suggestions": [],
    })
}

/// Tells whether a request is allowed; anything but the one form of an answer is a failure.
#[track_caller]
fn allows(sandbox: &Sandbox, session: &str, fields: Value) -> bool {
    let output = hook(sandbox, session, "permission-request", fields);
    if output.stdout.is_empty() {
        return false;
    }
    let answer: Value = serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output}"));
    let decision = json!({"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}});
    assert_eq!(answer, json!({ "hookSpecificOutput": decision }));
    true
}

#[test]
fn plain_calls_that_record_a_driven_run_are_allowed() {
    let sandbox = driven();
    for command in [
        "piton plan user-auth",
        "piton plan user-auth --exit-zero",
        "piton status user-auth",
        "piton context user-auth --step 2:3",
        "piton history user-auth",
        "piton begin 2:3 --run user-auth --agent backend-developer",
        "piton finish 2:3 --run user-auth",
        "piton finish 2:3 --run user-auth --summary 'It works; all (14) tests pass & more: $5, `x`'",
        "piton finish 2:3 --run user-auth --summary \"it's done\" --output src/login.rs",
        "piton pause --run user-auth --reason later",
        "piton list",
        "piton sessions list",
        "  piton plan user-auth  ",
    ] {
        assert!(allows(&sandbox, "s", request(command)), "{command}");
    }
    let mut with_timeout = request("piton plan user-auth");
    with_timeout["tool_input"]["timeout"] = json!(5000);
    assert!(allows(&sandbox, "s", with_timeout));
    let mut edits = request("piton plan user-auth");
    edits["permission_mode"] = json!("acceptEdits");
    assert!(allows(&sandbox, "s", edits));
}

/// What injected text might make a model try, and what a shell would do more with than it seems.
const HOSTILE: &[&str] = &[
    // Verbs that decide, run, move, remove, or change settings.
    "piton approve 1:2.5 --run user-auth",
    "piton accept 2:4 --run user-auth --by me --note fine",
    "piton redo 2:3 --run user-auth --by me --note again",
    "piton override 2:5 --run user-auth --by me --note now",
    "piton skip 2:4 --run user-auth --reason slow",
    "piton abort user-auth",
    "piton complete user-auth --force",
    "piton archive user-auth --yes",
    "piton restore user-auth --yes",
    "piton repair user-auth --yes",
    "piton rollback user-auth --to last --yes",
    "piton resume user-auth --yes",
    "piton run evil.yaml",
    "piton start nine-step --feature x",
    "piton adopt claude-5e551011",
    "piton setup --permissions --yes",
    "piton sessions clean --yes",
    "piton sessions",
    "piton demo",
    "piton hook prompt",
    "piton doctor",
    "piton",
    "piton help",
    "piton plan --help",
    "piton nonsense",
    // More than one simple command.
    "piton plan user-auth; touch x",
    "piton plan user-auth && touch x",
    "piton plan user-auth || touch x",
    "piton plan user-auth & touch x",
    "piton plan user-auth | sh",
    "piton plan user-auth |& sh",
    "piton plan user-auth\ntouch x",
    "piton plan user-auth\r\ntouch x",
    "piton plan user-auth\u{2028};touch x",
    "touch x; piton plan user-auth",
    "true && piton plan user-auth",
    "(piton plan user-auth)",
    "{ piton plan user-auth; }",
    "! piton plan user-auth",
    "time piton plan user-auth",
    "if piton plan user-auth; then touch x; fi",
    // Redirections.
    "piton plan user-auth > x",
    "piton plan user-auth >> x",
    "piton plan user-auth 2> x",
    "piton plan user-auth >& x",
    "piton plan user-auth >| x",
    "piton finish 2:3 --run user-auth < x",
    "piton finish 2:3 --run user-auth <<< x",
    "piton plan <(touch x)",
    // Substitutions, variables, patterns, escapes.
    "piton plan $(touch x)",
    "piton plan `touch x`",
    "piton plan \"$(touch x)\"",
    "piton plan \"`touch x`\"",
    "piton plan user-auth$IFS",
    "piton plan ${RUN}",
    "piton plan $RUN",
    "piton plan \"$RUN\"",
    "piton plan user-aut*",
    "piton plan user-aut?",
    "piton plan user-[a]uth",
    "piton plan {user-auth,x}",
    "piton plan ~/x",
    "piton plan user\\-auth",
    "piton plan $'user-auth'",
    "piton plan \"user-auth\\\"",
    "piton plan user-auth # x",
    "piton plan 'user-auth",
    "piton plan user-auth'",
    "piton finish 2:3 --run user-auth --summary \"a!b\"",
    "piton finish 2:3 --run user-auth --summary 'a\nb'",
    "piton finish 2:3 --run user-auth --summary 'a\u{7}b'",
    "pi''ton plan =x",
    // Other programs and environments.
    "PITON_BIN=./evil.sh piton plan user-auth",
    "env piton plan user-auth",
    "sudo piton plan user-auth",
    "sh -c 'piton plan user-auth'",
    "eval 'piton plan user-auth'",
    "command piton plan user-auth",
    "exec piton plan user-auth",
    "./piton plan user-auth",
    "bin/piton plan user-auth",
    "/tmp/piton plan user-auth",
    "../piton plan user-auth",
    "piton2 plan user-auth",
    "Piton plan user-auth",
    "piton/plan user-auth",
    "piton\u{a0}plan user-auth",
    "\u{440}iton plan user-auth",
    "-piton plan user-auth",
    "timeout 5 piton plan user-auth",
    "nohup piton plan user-auth",
    // Another place, time, or driver.
    "piton --project /tmp plan",
    "piton plan --project /tmp",
    "piton plan --project=/tmp",
    "piton plan user-auth --now 2026-01-31T12:00:00Z",
    "piton plan user-auth --prodigy-home /tmp",
    "piton plan user-auth --mode autopilot",
    "piton plan /tmp",
    "piton validate /etc/passwd",
    "piton finish --json /etc/passwd",
    "piton begin --json -",
    "piton begin 2:3 --run user-auth --take-over",
    "piton sessions show x",
    // A run that the session does not drive.
    "piton plan other",
    "piton begin 2:3 --run other",
    "piton finish 2:3 --run other",
    "piton pause other",
    "piton plan nothing-of-the-kind",
    "piton plan",
    "",
    " ",
    "'' plan user-auth",
];

/// SECURITY: row 15
#[test]
fn no_hostile_command_is_allowed() {
    let sandbox = driven();
    let before = sandbox.tree();
    for command in HOSTILE {
        assert!(!allows(&sandbox, "s", request(command)), "{command:?}");
    }
    let long = format!("piton finish 2:3 --run user-auth --summary '{}'", "x".repeat(1 << 20));
    assert!(!allows(&sandbox, "s", request(&long)));
    assert_eq!(sandbox.tree(), before);
}

/// SECURITY: row 15
#[test]
fn what_the_client_says_about_the_call_counts() {
    let sandbox = driven();
    let good = || request("piton plan user-auth");
    let with = |pointer: &str, value: Value| {
        let mut fields = good();
        *fields.pointer_mut(pointer).expect("a field") = value;
        fields
    };
    assert!(allows(&sandbox, "s", good()));
    for mode in ["plan", "auto", "dontAsk", "bypassPermissions", "", "later"] {
        assert!(!allows(&sandbox, "s", with("/permission_mode", json!(mode))), "{mode}");
    }
    for tool in ["Edit", "BashOutput", "", "PowerShell"] {
        assert!(!allows(&sandbox, "s", with("/tool_name", json!(tool))), "{tool}");
    }
    for input in [
        json!("piton plan user-auth"),
        json!(["piton plan user-auth"]),
        json!({"command": 7}),
        json!({"command": ["piton", "plan", "user-auth"]}),
        json!({}),
        json!({"command": "piton plan user-auth", "run_in_background": true}),
        json!({"command": "piton plan user-auth", "dangerouslyDisableSandbox": true}),
        Value::Null,
    ] {
        assert!(!allows(&sandbox, "s", with("/tool_input", input.clone())), "{input}");
    }
    let mut of_agent = good();
    of_agent["agent_id"] = json!("a1");
    of_agent["agent_type"] = json!("backend-developer");
    assert!(!allows(&sandbox, "s", of_agent), "an agent reports, it does not record");
}

/// SECURITY: row 15
#[test]
fn without_a_run_of_its_own_a_session_is_allowed_nothing() {
    let sandbox = projects::nine_step();
    let plan = || request("piton plan user-auth");
    assert!(!allows(&sandbox, "s", plan()), "no log");
    starts(&sandbox, "s", "startup");
    for command in ["piton plan user-auth", "piton begin 2:3", "piton list"] {
        assert!(!allows(&sandbox, "s", request(command)), "{command}: the first consent is the person's");
    }
    sandbox.piton(["begin", "2:3"]).session("s").run().expect_code(0);
    assert!(allows(&sandbox, "s", plan()));
    assert!(allows(&sandbox, "s", request("piton plan")), "the only run");
    assert!(!allows(&sandbox, "another", plan()), "another session");
    sandbox.piton(["pause"]).session("s").run().expect_code(0);
    assert!(!allows(&sandbox, "s", plan()), "it gave the run back");
}

/// SECURITY: row 15
#[test]
fn a_rule_of_the_person_wins() {
    let plan = "piton plan user-auth";
    for (place, rules, allowed) in [
        ("home/.claude/settings.json", json!({"allow": ["Bash(piton plan:*)"]}), true),
        ("home/.claude/settings.json", json!({"deny": ["Bash(piton finish:*)"], "ask": ["Read"]}), true),
        ("home/.claude/settings.json", json!({"deny": ["Bash(piton plan:*)"]}), false),
        ("home/.claude/settings.json", json!({"ask": ["Bash(piton:*)"]}), false),
        ("home/.claude/settings.json", json!({"ask": ["Bash"]}), false),
        ("home/.claude/settings.json", json!({"ask": [7]}), false),
        ("project/.claude/settings.json", json!({"ask": ["Bash(piton plan user-auth)"]}), false),
        ("project/.claude/settings.local.json", json!({"deny": ["Bash(* plan *)"]}), false),
    ] {
        let sandbox = driven();
        let settings = json!({ "permissions": rules }).to_string();
        match place.strip_prefix("project/") {
            Some(path) => {
                sandbox.file(path, &settings);
            }
            None => {
                let path = sandbox.top().join(place);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(path, settings).unwrap();
            }
        }
        assert_eq!(allows(&sandbox, "s", request(plan)), allowed, "{place}: {rules}");
    }
    let sandbox = driven();
    sandbox.file(".claude/settings.json", "{ // not JSON\n}");
    assert!(!allows(&sandbox, "s", request(plan)), "what cannot be read may reserve it");
}

#[test]
fn the_program_of_the_plugin_is_known_by_its_path() {
    let sandbox = driven();
    let ask = |root: &str, command: &str| {
        let mut fields = request(command);
        fields["session_id"] = json!("s");
        fields["cwd"] = json!(sandbox.root());
        let piton = sandbox.piton(["hook", "permission-request"]).session("s").env("CLAUDE_PLUGIN_ROOT", root);
        !piton.stdin(fields.to_string()).run().stdout.is_empty()
    };
    assert!(ask("/opt/a plugin", "'/opt/a plugin/bin/piton' plan user-auth"));
    assert!(ask("/opt/plugin", "/opt/plugin/bin/piton plan user-auth"));
    assert!(!ask("/opt/plugin", "/opt/other/bin/piton plan user-auth"));
    assert!(!ask("/opt/plugin", "/opt/plugin/bin/../evil/piton plan user-auth"));
    assert!(!ask("", "/bin/piton plan user-auth"));
    assert!(!ask(".", "./bin/piton plan user-auth"));
}
