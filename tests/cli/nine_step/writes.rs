//! What is written and what survives (docs/formats/nine-step.md#what-is-written): only values named by a change differ.

use serde_json::json;

use super::{Clock, STATE, piton, project, state};
use crate::support::{Sandbox, changed_lines};

/// A state as another tool might have written it: four spaces, another key order, unknown fields.
const ODD: &str = r#"{
    "x-owner": {"team": "quotes", "é": [1.10, 1e3]},
    "total_phases": 3,
    "last_execution": {
        "timestamp": "2026-01-31T11:30:00",
        "status": "completed",
        "x-cost": 1.50,
        "agent": "plan-reviewer",
        "step": 2.5,
        "phase": 1
    },
    "current_step": 2.5,
    "completed_steps": [],
    "current_phase": 1,
    "feature_name": "quotes",
    "zebra": "last"
}
"#;

/// The list after `finish 3`.
const COMPLETED: &str = r#""completed_steps": [
        {
            "phase": 1,
            "step": 3,
            "agent": "backend-developer",
            "status": "completed",
            "timestamp": "2026-01-31T12:05:00Z"
        }
    ]"#;

/// What `finish 3` adds to the history.
const ADDED: &str = r#"
        },
        {
            "phase": 1,
            "step": 3,
            "agent": "backend-developer",
            "status": "completed",
            "timestamp": "2026-01-31T12:05:00Z",
            "summary": "done",
            "attempt": 1
        }
    ],
    "updated_at""#;

/// Begins step 3 on a state with these bytes.
fn begun(text: &[u8]) -> Sandbox {
    let sandbox = project();
    sandbox.bytes(STATE, text);
    piton(&sandbox, 0, ["begin", "3", "--agent", "backend-developer"]);
    sandbox
}

#[test]
fn a_change_touches_only_the_lines_it_names() {
    let sandbox = begun(ODD.as_bytes());
    insta::assert_snapshot!(sandbox.read(STATE), @r#"
    {
        "x-owner": {"team": "quotes", "é": [1.10, 1e3]},
        "total_phases": 3,
        "last_execution": {
            "timestamp": "2026-01-31T12:00:00Z",
            "status": "in_progress",
            "x-cost": 1.50,
            "agent": "backend-developer",
            "step": 3,
            "phase": 1
        },
        "current_step": 3,
        "completed_steps": [],
        "current_phase": 1,
        "feature_name": "quotes",
        "zebra": "last",
        "history": [
            {
                "phase": 1,
                "step": 2.5,
                "agent": "plan-reviewer",
                "status": "completed",
                "timestamp": "2026-01-31T11:30:00",
                "attempt": 1
            },
            {
                "phase": 1,
                "step": 3,
                "agent": "backend-developer",
                "status": "in_progress",
                "timestamp": "2026-01-31T12:00:00Z",
                "attempt": 1
            }
        ],
        "updated_at": "2026-01-31T12:00:00Z"
    }
    "#);
    assert_eq!(sandbox.read(&format!("{STATE}.backup")), ODD);
}

#[test]
fn line_ends_a_missing_newline_and_a_byte_order_mark_survive() {
    let crlf = ODD.replace('\n', "\r\n");
    let sandbox = begun(crlf.as_bytes());
    let text = sandbox.read(STATE);
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    assert!(text.ends_with("}\r\n"));

    let sandbox = begun(ODD.trim_end().as_bytes());
    assert!(sandbox.read(STATE).ends_with("\n}"));

    let marked = format!("\u{feff}{ODD}");
    let sandbox = begun(marked.as_bytes());
    assert!(sandbox.read(STATE).starts_with("\u{feff}{\n    \"x-owner\""));

    let tabs = ODD.replace("    ", "\t");
    let sandbox = begun(tabs.as_bytes());
    assert!(!sandbox.read(STATE).contains("\n  "));
}

#[test]
fn begin_and_finish_leave_everything_they_do_not_name() {
    let sandbox = begun(ODD.as_bytes());
    let begun = sandbox.read(STATE);
    sandbox.piton(["finish", "3", "--summary", "done"]).now("2026-01-31T12:05:00Z").run().expect_code(0);
    let mut expected = begun.clone();
    for (from, to) in [
        ("2026-01-31T12:00:00Z", "2026-01-31T12:05:00Z"),
        ("in_progress", "completed"),
        ("\"phase\": 1\n", "\"phase\": 1,\n        \"summary\": \"done\"\n"),
        ("\"completed_steps\": []", COMPLETED),
        ("\n        }\n    ],\n    \"updated_at\"", ADDED),
        ("\"updated_at\": \"2026-01-31T12:00:00Z\"", "\"updated_at\": \"2026-01-31T12:05:00Z\""),
    ] {
        assert!(expected.contains(from), "{from}");
        expected = expected.replacen(from, to, 1);
    }
    assert_eq!(changed_lines(&expected, &sandbox.read(STATE)), [] as [&str; 0]);
    assert_eq!(sandbox.read(&format!("{STATE}.backup")), begun);
}

#[test]
fn recording_what_is_recorded_already_changes_no_byte() {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "completed""#));
    let before = sandbox.tree().without(".piton");
    let again = piton(&sandbox, 0, ["finish", "3"]);
    assert_eq!(again.at("/data/recorded"), false);
    assert_eq!(before.changes(&sandbox.tree().without(".piton")), [] as [&str; 0]);
}

#[test]
fn reading_verbs_change_nothing() {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 4, "status": "failed""#));
    let before = sandbox.tree();
    for arguments in [vec!["list"], vec!["plan"], vec!["context"], vec!["status"], vec!["validate"], vec!["history"]] {
        sandbox.piton(arguments).run().expect_code(0);
    }
    assert_eq!(before.changes(&sandbox.tree()), [] as [&str; 0]);
}

#[test]
fn the_state_is_kept_out_of_git_for_every_worktree() {
    let sandbox = Sandbox::with_git();
    sandbox.worktree(".worktree/quotes", "feature/quotes");
    sandbox.file(STATE, &state(r#""phase": 2, "step": 3, "status": "completed""#));
    assert_eq!(sandbox.git_in(".worktree/quotes", ["status", "--porcelain"]), "?? .workflow-state.json");
    sandbox.piton(["begin", "4"]).folder(".worktree/quotes".into()).run().expect_code(0);
    assert_eq!(sandbox.git_in(".worktree/quotes", ["status", "--porcelain"]), "");
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    let exclude = sandbox.read(".git/info/exclude");
    for line in [".workflow-state.json*", "*.workflow-state.json*", "/.worktree/"] {
        assert_eq!(exclude.lines().filter(|there| *there == line).count(), 1, "{line}");
    }
    piton(&sandbox, 0, ["finish", "4", "--verdict", "approved"]);
    assert_eq!(sandbox.read(".git/info/exclude"), exclude);
}

#[test]
fn a_change_for_another_revision_is_refused() {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 3, "status": "completed""#));
    let revision = piton(&sandbox, 0, ["plan"]).at("/data/run/revision").as_str().unwrap().to_owned();
    let begun = piton(&sandbox, 0, ["begin", "4", "--if-revision", &revision]);
    let before = sandbox.read(STATE);
    let refused = piton(&sandbox, 6, ["finish", "4", "--verdict", "approved", "--if-revision", &revision]);
    assert_eq!(refused.at("/error/code"), "conflict");
    assert_eq!(sandbox.read(STATE), before);
    let now = begun.at("/data/revision").as_str().unwrap().to_owned();
    piton(&sandbox, 0, ["finish", "4", "--verdict", "approved", "--if-revision", &now]);
}

#[test]
fn a_change_can_come_as_json() {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 3, "status": "completed""#));
    let send = |verb: &str, change: serde_json::Value, code: i32| {
        sandbox.piton([verb, "--json", "-"]).stdin(change.to_string()).run().expect_code(code)
    };
    send("begin", json!({"change": "begin", "step": "2:4"}), 0);
    let found = "line one\nline two";
    send("finish", json!({"step": "4", "verdict": "NEEDS_REVISION", "error": found}), 0);
    let last = &sandbox.read_json(STATE)["last_execution"];
    assert_eq!(
        (&last["status"], &last["verdict"], &last["error_message"]),
        (&json!("failed"), &json!("NEEDS_REVISION"), &json!(found))
    );
    let before = sandbox.read(STATE);
    send("begin", json!({"change": "finish", "step": "3"}), 2);
    send("begin", json!({"step": "3", "unknown": 1}), 2);
    send("finish", json!({"step": "3", "status": "nonsense"}), 2);
    sandbox.piton(["begin", "--json", "-"]).stdin("{").run().expect_code(2);
    assert_eq!(sandbox.read(STATE), before);
}

#[test]
fn an_approval_with_conditions_records_them_and_approving_meets_them() {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 3, "status": "completed""#));
    let clock = &mut Clock(0);
    clock.piton(&sandbox, 0, ["begin", "4"]);
    let verdict = "Approved with Minor Changes";
    clock.piton(&sandbox, 0, ["finish", "4", "--verdict", verdict, "--condition", "rename the flag"]);
    let last = &sandbox.read_json(STATE)["last_execution"];
    assert_eq!(
        (&last["verdict"], &last["conditions"]),
        (&json!("APPROVED_WITH_CONDITIONS"), &json!(["rename the flag"]))
    );
    assert_eq!(clock.piton(&sandbox, 9, ["plan"]).at("/data/next/0/step"), "2:4");
    clock.piton(&sandbox, 0, ["approve", "4"]);
    assert_eq!(clock.piton(&sandbox, 0, ["plan"]).at("/data/next/0/step"), "2:5");
}

#[test]
fn a_pause_keeps_its_reason_until_the_run_is_resumed() {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 3, "status": "completed""#));
    let clock = &mut Clock(0);
    clock.piton(&sandbox, 0, ["pause", "--reason", "lunch"]);
    assert_eq!(clock.piton(&sandbox, 0, ["plan"]).at("/data/interruption/kind"), "paused");
    clock.piton(&sandbox, 0, ["resume"]);
    assert_eq!(sandbox.read_json(STATE).get("run_status"), None);
    clock.piton(&sandbox, 0, ["abort", "--reason", "not needed"]);
    let plan = clock.piton(&sandbox, 9, ["plan"]);
    assert_eq!(plan.findings()[0], "run-aborted");
    clock.piton(&sandbox, 3, ["list"]);
}
