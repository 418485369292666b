//! `repair` at a terminal. The rest is in `tests/cases/repair`.

use crate::support::{END_OF_INPUT, Sandbox};

const EPIC: &str = ".aios/epic-5-state.yaml";
const PLAN: &str = "docs/stories/EPIC-5-EXECUTION.yaml";
const EXECUTION: &str = "execution:
  epicId: 5
  storyBasePath: docs/stories
  stories:
    5.1: { file: 5.1.story.md, executor: dev }
    5.2: { file: 5.2.story.md, executor: dev }
  waves:
    - { wave: 1, name: Base, stories: [5.1, 5.2], gate: { agent: qa } }
";

fn truncated_epic() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(EPIC, "epic_state:\n  epicId: 5\n  mode: yolo\n  waves: [").file(PLAN, EXECUTION);
    sandbox.file("docs/stories/5.1.story.md", "# Story 5.1: A\n\n**Status:** Done\n");
    sandbox.file("docs/stories/5.2.story.md", "# Story 5.2: B\n\n**Status:** InProgress\n");
    sandbox
}

#[test]
fn a_person_at_a_terminal_says_whether_it_is_written() {
    for (typed, is_written) in [("y\n", true), ("yes\n", true), ("\n", false), ("no\n", false), (END_OF_INPUT, false)] {
        let sandbox = truncated_epic();
        let before = sandbox.read(EPIC);
        let repair = sandbox.piton(["--format", "text", "restore", "--from-evidence"]);
        let Some(output) = repair.on_terminal(typed) else { return };
        let output = output.expect_code(if is_written { 0 } else { 9 });
        assert!(output.stderr.contains(&format!("Write this in the place of {EPIC}? [y/N]")), "{output}");
        assert_eq!(sandbox.read(EPIC) != before, is_written, "{typed:?}\n{output}");
    }
}

/// `resume` asks as well: what brings the state back comes first.
#[test]
fn a_resume_of_a_broken_state_offers_its_repair() {
    for (typed, is_written) in [("1\ny\n", true), ("3\n", false), ("\n", false)] {
        let sandbox = truncated_epic();
        let before = sandbox.read(EPIC);
        let Some(output) = sandbox.piton(["--format", "text", "resume"]).on_terminal(typed) else { return };
        let output = output.expect_code(if is_written { 0 } else { 9 });
        let asked = "State appears corrupted. Repair it, or start fresh? (1-3)";
        assert!(output.stderr.contains("1. repair it") && output.stderr.contains(asked), "{output}");
        assert_eq!(sandbox.read(EPIC) != before, is_written, "{typed:?}\n{output}");
    }
}

#[test]
fn the_torn_record_of_a_killed_writer_is_left_to_the_next_call_that_writes() {
    let sandbox = Sandbox::new();
    sandbox.file("w.yml", "steps:\n- {id: a, agent: coder}\n");
    sandbox.piton(["start", "w.yml", "--feature", "demo"]).run().expect_code(0);
    sandbox.piton(["begin", "a"]).run().expect_code(0);
    let journal = ".piton/runs/demo/journal.jsonl";
    let text = sandbox.read(journal);
    let torn = &text[..text.len() - 10];
    sandbox.file(journal, torn);
    sandbox.piton(["restore", "demo", "--from-evidence"]).run().expect_code(1);
    assert_eq!(sandbox.read(journal), torn);
    sandbox.piton(["begin", "a"]).run().expect_code(0);
    let acts = |text: &str| -> Vec<serde_json::Value> {
        let records = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("a record"));
        records.map(|record| record["change"].clone()).collect()
    };
    assert_eq!(acts(&sandbox.read(journal)), acts(&text), "it was set aside, and the step began once");
}
