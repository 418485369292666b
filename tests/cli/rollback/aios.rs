//! The states of AIOS that can express reopened steps; comments and layout are kept.

use super::{
    rollback, texts,
    undo::{states, take_back},
};
use crate::support::Sandbox;

/// One state, and the result of a rollback in it.
struct Case {
    path: &'static str,
    before: &'static str,
    to: &'static str,
    opened: &'static [&'static str],
    /// Texts in the state before, and their replacements.
    changed: &'static [(&'static str, &'static str)],
    /// Action and id of the next step.
    next: &'static str,
}

const EPIC: &str = "\
# Kept by the agent.
epic_state:
  epicId: \"9\"
  started_at: \"2026-01-30T09:00:00Z\"
  updated_at: \"2026-01-31T10:30:00Z\"
  status: active
  current_wave: 2
  total_waves: 2
  waves:
    1:
      name: One
      status: completed   # by hand
      stories:
        9.1: { status: completed, completed_at: \"2026-01-30T16:00:00Z\" }
        9.2: { status: completed, completed_at: \"2026-01-30T17:00:00Z\" }
    2:
      name: Two
      status: in_progress
      stories:
        9.3: { status: in_progress }
  gate_verdicts:
    1: { status: approved, agent: architect }
";

const GUIDED: &str = "\
workflow_name: Green
instance_id: green-20260131-abc123
updated_at: '2026-01-31T11:30:00Z'
status: paused
current_phase: two
current_step_index: 1
steps:
  - step_index: 0
    phase: one
    agent: pm
    action: Write
    status: completed
    started_at: '2026-01-31T11:00:00Z'
    completed_at: '2026-01-31T11:20:00Z'
    notes: kept
  - { step_index: 1, phase: two, agent: dev, action: Build, status: pending }
artifacts: []
";

const CYCLE: &str = "\
workflowId: development-cycle
currentPhase: 3_self_healing
currentStory: docs/stories/1.1.story.md
executor: '@dev'
attemptCount: 1
startedAt: 2026-01-31T11:00:00.000Z
lastUpdated: 2026-01-31T11:30:00.000Z
phaseResults:
  1_validation:
    status: completed
  2_development:
    status: completed
  3_self_healing:
    status: failed
";

const PHASES: &str = r#"{"workflowId": "brown", "status": "failed", "startedAt": "2026-01-31T10:00:00Z", "updatedAt": "2026-01-31T11:30:00Z", "currentPhase": 2, "phases": {"1": {"agent": "architect", "result": {"status": "completed"}, "completedAt": "2026-01-31T11:00:00Z"}, "2": {"agent": "dev", "result": {"status": "completed"}, "completedAt": "2026-01-31T11:10:00Z"}}, "metadata": {"delivery_confidence": null}}"#;

const CASES: [Case; 4] = [
    Case {
        path: ".aios/epic-9-state.yaml",
        before: EPIC,
        to: "9.2",
        opened: &["9.2", "gate-1", "merge-1", "9.3"],
        changed: &[
            ("gate_verdicts:\n    1: { status: approved, agent: architect }\n", "gate_verdicts: {}\n"),
            ("current_wave: 2", "current_wave: 1"),
            ("status: completed   # by hand", "status: in_progress   # by hand"),
            (
                "9.2: { status: completed, completed_at: \"2026-01-30T17:00:00Z\" }",
                "9.2: { status: pending, completed_at: null }",
            ),
            ("name: Two\n      status: in_progress", "name: Two\n      status: pending"),
            ("9.3: { status: in_progress }", "9.3: { status: pending }"),
        ],
        next: "run 9.2",
    },
    Case {
        path: ".aiox/green-20260131-abc123-state.yaml",
        before: GUIDED,
        to: "step-0",
        opened: &["step-0"],
        changed: &[
            ("status: paused", "status: active"),
            ("current_phase: two\ncurrent_step_index: 1", "current_phase: one\ncurrent_step_index: 0"),
            ("    status: completed\n", "    status: pending\n"),
            ("completed_at: '2026-01-31T11:20:00Z'", "completed_at: null"),
        ],
        next: "run step-0",
    },
    Case {
        path: ".aiox/workflow-state/1.1-state.yaml",
        before: CYCLE,
        to: "2_development",
        opened: &["2_development", "3_self_healing"],
        changed: &[
            ("currentPhase: 3_self_healing", "currentPhase: 1_validation"),
            ("attemptCount: 1", "attemptCount: 0"),
            ("  2_development:\n    status: completed\n  3_self_healing:\n    status: failed\n", ""),
        ],
        next: "run 2_development",
    },
    Case {
        path: ".aiox/workflow-state/brown.json",
        before: PHASES,
        to: "step:phase-2",
        opened: &["phase-2"],
        changed: &[
            ("\"status\": \"failed\"", "\"status\": \"in_progress\""),
            ("\"currentPhase\": 2", "\"currentPhase\": 1"),
            (
                ", \"2\": {\"agent\": \"dev\", \"result\": {\"status\": \"completed\"}, \"completedAt\": \"2026-01-31T11:10:00Z\"}",
                "",
            ),
        ],
        next: "run phase-2",
    },
];

#[test]
fn states_of_aios_go_back_in_their_own_vocabulary() {
    for case in CASES {
        let sandbox = Sandbox::new();
        sandbox.file(case.path, case.before);
        if case.before.contains("1.1.story.md") {
            sandbox.file("docs/stories/1.1.story.md", "# Story 1.1: One\n\n**Status:** InProgress\n");
        }
        if case.path.contains("epic") {
            for story in ["9.1", "9.2", "9.3"] {
                let text = format!("# Story {story}: One\n\n**Status:** InProgress\n");
                sandbox.file(&format!("docs/stories/{story}.story.md"), &text);
            }
        }
        let before = states(&sandbox);
        let answer = rollback(&sandbox, 0, &[case.path, "--to", case.to, "--yes"]);
        let opened = texts(&answer, "/data/impact/reopened");
        assert_eq!(opened, case.opened, "{}", case.path);
        let after = sandbox.read(case.path);
        let expected = case.changed.iter().fold(case.before.to_owned(), |text, (from, to)| text.replacen(from, to, 1));
        let stamp = |text: &str| -> String {
            let lines = text.lines().filter(|line| !line.to_lowercase().contains("updated"));
            lines.map(|line| format!("{line}\n")).collect()
        };
        if case.path.ends_with(".yaml") {
            assert_eq!(stamp(&after), stamp(&expected), "{}", case.path);
        } else {
            assert_eq!(after.replace("12:00:00Z", "11:30:00Z"), expected, "{}", case.path);
        }
        let plan = sandbox.piton(["plan", case.path]).now("2026-01-31T13:00:00Z").run();
        let next = plan.at("/data/next/0");
        let next = format!("{} {}", next["action"].as_str().unwrap_or("-"), next["step"].as_str().unwrap_or("-"));
        assert_eq!(next, case.next, "{}: {plan}", case.path);
        take_back(&sandbox, &answer);
        let changes = before.changes(&states(&sandbox));
        let changes: Vec<&String> = changes.iter().filter(|change| !change.ends_with(".bak")).collect();
        assert_eq!(changes, [] as [&str; 0], "{}", case.path);
    }
}
