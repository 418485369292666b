//! Files beside the saved states that are not states: each is listed with the reason.

use serde_json::Value;

use crate::support::Sandbox;

const CYCLE: &str =
    "workflowId: development-cycle\ncurrentPhase: null\ncurrentStory: docs/stories/1.1.story.md\nphaseResults: {}\n";
const EPIC: &str = "epic_state:\n  epicId: 5\n  status: active\n  waves: { 1: { status: pending, stories: {} } }\n";

/// A file, its content, and the finding about it: code, part of the message, line and column.
type Case = (&'static str, &'static str, &'static str, &'static str, Option<(u64, u64)>);

const CASES: [Case; 16] = [
    (".aiox/notes.yaml", "a: [\n", "file-unclassified", "cannot be parsed", Some((1, 4))),
    (".aiox/notes.json", "{\"a\": [1,\n 2}", "file-unclassified", "cannot be parsed", Some((1, 7))),
    (".aiox/notes.yaml", "", "file-unclassified", "empty", Some((1, 1))),
    (".aiox/notes.yaml", "a: 1\n", "file-unclassified", "not a known kind", None),
    (".aios/workflow-state/notes.txt", "anything", "file-unclassified", "not the name of a state", None),
    (".nexos/workflow-state/x-state.yaml", "a: 1\n", "look-alike", "named like a state", None),
    (".aiox/x-state.yaml", "something: else\n", "look-alike", "named like a state", None),
    (".aiox/epic-5-state.yaml", "---\na: 1\n---\n# Digest\n", "look-alike", "several documents", None),
    ("plan/build-state.json", "[]", "look-alike", "named like a state", None),
    (".aiox/epic-5-state.yaml.tmp.4711", "epic", "temporary-left", "interrupted write", None),
    (
        ".aiox/epic-5-state.yaml.bak",
        EPIC,
        "state-put-aside",
        "a copy of .aiox/epic-5-state.yaml, which does not exist",
        None,
    ),
    (".aiox/epic-5-state.yaml.bak", "epic_state: [\n", "state-put-aside", "cannot be parsed", Some((1, 13))),
    (
        ".aiox/workflow-state/1.1-state.yaml.migrated",
        CYCLE,
        "state-put-aside",
        "another format; it holds the state of a development cycle",
        None,
    ),
    (
        "docs/stories/.session-state.yaml.discarded.1769857200000",
        "session_state: {}\n",
        "state-put-aside",
        "discarded; it holds the session of Bob",
        None,
    ),
    (
        "qa/loop-status.json",
        "{\"storyId\": null, \"iteration\": 0, \"status\": \"idle\", \"history\": []}",
        "no-run-here",
        "a loop status without a story",
        None,
    ),
    (
        ".aiox/epic-5-state.yaml",
        "epic_state:\n  epicId: 5\n  execution_plan: docs/p.yaml\n  status: completed\n",
        "state-leftover",
        "is a leftover",
        None,
    ),
];

#[test]
fn every_file_that_is_no_run_is_listed_with_the_reason() {
    for (path, text, code, says, place) in CASES {
        let sandbox = Sandbox::new();
        sandbox.file(path, text);
        let before = sandbox.tree();
        let list = sandbox.piton(["list"]).run().expect_code(3);
        assert_eq!(list.findings(), [code], "{path}: {list}");
        assert_eq!(list.at("/findings/0/file"), path, "{list}");
        assert!(list.at("/findings/0/message").as_str().unwrap().contains(says), "{path}: {list}");
        let found = (list.at("/findings/0/line"), list.at("/findings/0/column"));
        let expected = place.map_or((Value::Null, Value::Null), |(line, column)| (line.into(), column.into()));
        assert_eq!(found, expected, "{path}: {list}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
        // With a run beside it, and for a person.
        sandbox.file(".aiox/workflow-state/9.9-state.yaml", &CYCLE.replace("1.1", "9.9"));
        let list = sandbox.piton(["list"]).run().expect_code(0);
        assert_eq!(list.findings(), [code], "{path}: {list}");
        let text = sandbox.piton(["list", "--format", "text"]).run().expect_code(0);
        let place = place.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"));
        assert!(text.stdout.contains(&format!("[{code}] {path}{place}\n")), "{path}: {text}");
    }
}

#[test]
fn without_a_run_a_person_sees_the_files_too() {
    let sandbox = Sandbox::new();
    sandbox.file(".aiox/notes.yaml", "a: [\n").file(".aiox/workflow-state/1.1-state.yaml.migrated", CYCLE);
    let text = sandbox.piton(["list", "--format", "text"]).run().expect_code(3);
    for place in [".aiox/notes.yaml:1:4: ", ".aiox/workflow-state/1.1-state.yaml.migrated: "] {
        assert!(text.stderr.contains(place), "{text}");
    }
}

#[test]
fn a_state_that_cannot_be_parsed_is_a_run_that_says_where() {
    for path in [
        ".aiox/epic-5-state.yaml",
        ".aiox/x-engine-state.yaml",
        ".aiox/x-state.yaml",
        ".aiox/workflow-state/x-state.yaml",
        ".aiox/workflow-state/x.json",
        ".aiox/workflow-state/x-pipeline.json",
        ".aiox/master-orchestrator/x.json",
        "qa/2.1/loop-status.json",
        "plan/2.1/build-state.json",
        "docs/stories/.session-state.yaml",
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(path, "{\"a\": 1,\n \"a\": 2}\n");
        let list = sandbox.piton(["list"]).run().expect_code(0);
        assert_eq!(list.at("/data/runs/0/state"), path, "{list}");
        assert_eq!(list.at("/data/runs/0/verdict"), "blocked", "{list}");
        let plan = sandbox.piton(["plan"]).run().expect_code(4);
        assert_eq!(plan.at("/findings/0/code"), "state-unreadable", "{path}: {plan}");
        assert_eq!(
            (plan.at("/findings/0/line"), plan.at("/findings/0/column")),
            (2.into(), 2.into()),
            "{path}: {plan}"
        );
    }
}

#[test]
fn other_files_of_the_framework_are_not_reported() {
    let sandbox = Sandbox::new();
    for (path, text) in [
        (".aios/session.json", "{}"),
        (".aios/session-state.json", "{}"),
        (".aios/project-status.yaml", "status: {}\n"),
        (".aios/project-status.yaml.lock", ""),
        (".aios/config.yaml", "a: 1\n"),
        (".aios/status.json", "{\"qaLoop\": {}}"),
        (".aios/qa-loops-index.json", "{\"loops\": {}}"),
        (".aios/dashboard/status.json", "{\"qaLoop\": {}}"),
        (".aios/session-digests/a.yaml", "---\na: 1\n---\n# b\n"),
        (".aios/handoffs/handoff-dev-to-qa-1.yaml", "handoff: {}\n"),
        (".aios/workflow-state/handoffs/x-phase-1.handoff.json", "{}"),
        (".aios/epic-5-state.yaml.bak", "a: [\n"),
        ("docs/stories/1.1/recovery/subtask-1.1.json", "{\"subtaskId\": \"1.1\", \"attempts\": []}"),
        ("docs/stories/notes.json", "{}"),
    ] {
        sandbox.file(path, text);
    }
    sandbox.file(".aios/epic-5-state.yaml", EPIC);
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!(list.findings(), [""; 0], "{list}");
    assert_eq!(list.at("/data/runs/0/id"), "epic-5", "{list}");
}
