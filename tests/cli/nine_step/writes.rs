//! What is written and what survives (docs/formats/nine-step.md#what-is-written): only values named by a change differ.

use super::{STATE, piton, project};
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
