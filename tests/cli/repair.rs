//! `repair`: the proposal for an unreadable state, the source of each value, and what a yes writes.

use serde_json::{Value, json};

use super::projects::example;
use crate::support::{END_OF_INPUT, Output, Sandbox};

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
        let repair = sandbox.piton(["--format", "text", "repair", "--from-evidence"]);
        let Some(output) = repair.on_terminal(typed) else { return };
        let output = output.expect_code(if is_written { 0 } else { 9 });
        assert!(output.stderr.contains(&format!("Write this in the place of {EPIC}? [y/N]")), "{output}");
        assert_eq!(sandbox.read(EPIC) != before, is_written, "{typed:?}\n{output}");
    }
}

/// Returns `what: value` of everything that was rebuilt.
fn values(output: &Output) -> Vec<String> {
    let values = output.at("/data/proposal/values");
    let word = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    values
        .as_array()
        .into_iter()
        .flatten()
        .map(|value| format!("{}: {}", word(value, "of"), word(value, "value")))
        .collect()
}

/// Returns the bytes that were set aside.
fn kept(sandbox: &Sandbox, output: &Output) -> Vec<String> {
    let kept = output.at("/data/kept");
    let paths =
        kept.as_array().into_iter().flatten().map(|path| path.as_str().unwrap_or_default().replace("$ROOT/", ""));
    paths.map(|path| sandbox.read(&path)).collect()
}

#[test]
fn nothing_is_written_before_a_person_agrees() {
    let sandbox = truncated_epic();
    let before = sandbox.tree();
    for format in ["json", "text"] {
        for stdin in ["", "n\n", "y\n"] {
            // Standard input is not a terminal: there is no person to ask.
            let call = ["repair", "--from-evidence", "--format", format];
            let output = sandbox.piton(call).stdin(stdin).run().expect_code(9);
            assert!(output.stdout.contains("piton repair ./.aios/epic-5-state.yaml --from-evidence --yes"), "{output}");
            let changes = before.changes(&sandbox.tree());
            assert!(changes.iter().all(|path| path.contains(".piton")), "{changes:?}");
        }
    }
}

#[test]
fn an_epic_is_rebuilt_and_planned() {
    let sandbox = truncated_epic();
    let truncated = sandbox.read(EPIC);
    sandbox.piton(["plan"]).run().expect_code(4);
    let proposed = sandbox.piton(["repair", "--from-evidence"]).run().expect_code(9);
    assert_eq!(proposed.at("/data/written"), false);
    let expected = [
        "epicId: 5",
        "execution_plan: docs/stories/EPIC-5-EXECUTION.yaml",
        "mode: yolo",
        "wave 1: in_progress",
        "story 5.1: completed",
        "story 5.2: in_progress",
    ];
    assert_eq!(values(&proposed), expected);
    assert_eq!(proposed.at("/data/proposal/values/4/evidence"), json!(["docs/stories/5.1.story.md:3 says `Done`"]));
    assert!(proposed.at("/data/problems/0").as_str().unwrap().contains(EPIC), "{proposed}");
    let content = proposed.at("/data/proposal/files/0/content").as_str().unwrap().to_owned();
    let written = sandbox.piton(["repair", "--from-evidence", "--yes"]).run().expect_code(0);
    assert_eq!(written.at("/data/written"), true);
    assert_eq!(sandbox.read(EPIC), content);
    assert_eq!(kept(&sandbox, &written), [truncated]);
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/next/0/step"), "5.2", "{plan}");
    let history = sandbox.piton(["history"]).run().expect_code(0);
    assert_eq!(history.at("/data/checkpoints/0/replaced_by"), "repair");
    sandbox.piton(["repair", "--from-evidence"]).run().expect_code(1);
}

#[test]
fn the_text_says_who_says_what() {
    let text = truncated_epic().piton(["repair", "--from-evidence", "--format", "text"]).run().expect_code(9).stdout;
    for line in [
        "Proposed, from evidence; nothing is written yet\n",
        "  story 5.2: in_progress\n      docs/stories/5.2.story.md:3 says `InProgress`\n",
        "  - the start time: `started_at` is null\n",
        "  |         \"5.1\":\n  |           status: completed\n",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
}

#[test]
fn the_newest_sound_copy_is_proposed_first() {
    let sandbox = truncated_epic();
    let sound = "epic_state:\n  epicId: 5\n  status: active\n  waves:\n    1:\n      name: A\n      status: in_progress\n      stories:\n        5.1: { status: completed }\n        5.2: { status: pending }\n";
    sandbox.file(&format!("{EPIC}.bak"), sound);
    let proposed = sandbox.piton(["repair"]).run().expect_code(9);
    assert_eq!(proposed.at("/data/proposal/source"), "checkpoint backup");
    assert_eq!(proposed.at("/data/versions/0/readable"), true);
    assert_eq!(proposed.at("/data/versions/0/what"), format!("{EPIC}.bak"));
    let written = sandbox.piton(["repair", "--yes"]).run().expect_code(0);
    assert_eq!(written.at("/data/written"), true);
    assert_eq!(sandbox.read(EPIC), sound);
}

#[test]
fn a_checkpoint_of_the_history_is_proposed() {
    let sandbox = example("ccw");
    let task = ".workflow/active/WFS-user-auth/.task/IMPL-002.json";
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    let sound = sandbox.read(task);
    sandbox.piton(["finish", "IMPL-002", "--status", "failed", "--error", "x"]).run().expect_code(0);
    sandbox.file(task, "{\"id\": \"IMPL-002\",\n");
    let proposed = sandbox.piton(["repair"]).run().expect_code(9);
    let versions = proposed.at("/data/versions");
    assert_eq!(versions[0]["what"], "before finish", "{versions}");
    assert_eq!(versions[0]["readable"], true);
    let written = sandbox.piton(["repair", "--yes"]).run().expect_code(0);
    assert_eq!(sandbox.read(task), sound);
    assert_eq!(kept(&sandbox, &written), ["{\"id\": \"IMPL-002\",\n"]);
}

#[test]
fn a_task_of_ccw_is_rebuilt_from_checklist_and_summary() {
    let sandbox = example("ccw");
    let folder = ".workflow/active/WFS-user-auth";
    for id in ["IMPL-001", "IMPL-003"] {
        sandbox.file(&format!("{folder}/.task/{id}.json"), "{\"id\":");
    }
    sandbox.file(&format!("{folder}/workflow-session.json"), "{");
    let proposed = sandbox.piton(["repair", "--from-evidence"]).run().expect_code(9);
    let values = values(&proposed);
    for value in ["IMPL-001: completed", "IMPL-003: pending", "session_id: WFS-user-auth"] {
        assert!(values.iter().any(|found| found == value), "{value}: {values:?}");
    }
    sandbox.piton(["repair", "--from-evidence", "--yes"]).run().expect_code(0);
    assert_eq!(sandbox.read_json(&format!("{folder}/.task/IMPL-001.json"))["status"], "completed");
    let plan = sandbox.piton(["plan", "--steps"]).run();
    assert_eq!(plan.at("/data/degraded"), Value::Null, "{plan}");
    assert_eq!(plan.at("/data/steps/completed"), json!(["IMPL-001"]));
}

#[test]
fn a_run_of_dotagent_is_rebuilt_from_the_outputs_of_its_phases() {
    let sandbox = example("dotagent");
    let (phase, execution) = ("memory/state/phase.json", "memory/state/execution.json");
    let whole = sandbox.read_json(phase);
    sandbox.file(phase, &sandbox.read(phase)[..60]).file(execution, "{");
    let proposed = sandbox.piton(["repair", "--from-evidence"]).run();
    let id = whole["workflow_id"].as_str().unwrap();
    let values = values(&proposed);
    assert!(values.contains(&format!("workflow_id: {id}")), "{proposed}");
    for value in ["REQUIREMENTS: completed", "ARCHITECTURE: completed", "IMPLEMENTATION: in_progress"] {
        assert!(values.iter().any(|found| found == value), "{value}: {values:?}");
    }
    assert_eq!(proposed.code, 9);
    sandbox.piton(["repair", "--from-evidence", "--yes"]).run().expect_code(0);
    let rebuilt = sandbox.read_json(phase);
    assert_eq!(rebuilt["current_phase"], "IMPLEMENTATION");
    assert_eq!(rebuilt["user_checkpoints"], json!([]));
    assert_eq!(sandbox.read_json(execution)["tasks"][0]["id"], "task-001");
    sandbox.piton(["validate"]).run();
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/degraded"), Value::Null, "{plan}");
}

#[test]
fn a_nine_step_run_is_rebuilt_from_records_and_commits() {
    let sandbox = example("nine-step");
    let state = ".worktree/user-auth/.workflow-state.json";
    sandbox.file(state, "{\"feature_name\": \"user-auth\",\n");
    let refused = sandbox.piton(["repair", "--from-evidence"]).run().expect_code(4);
    assert!(refused.stdout.contains("neither Piton's record nor a commit"), "{refused}");
    assert!(refused.stdout.contains("piton archive ./.worktree/user-auth/.workflow-state.json --yes"), "{refused}");
    sandbox.remove(".worktree").git_init().worktree(".worktree/user-auth", "feature/user-auth");
    sandbox.file(".worktree/user-auth/a", "a");
    sandbox.git_in(".worktree/user-auth", ["add", "a"]);
    sandbox.git_in(".worktree/user-auth", ["commit", "--quiet", "--message", "feat: users (phase 1)"]);
    sandbox.file(state, "{\"feature_name\": \"user-auth\",\n");
    let proposed = sandbox.piton(["repair", "--from-evidence"]).run().expect_code(9);
    let values = values(&proposed);
    for value in ["feature_name: user-auth", "total_phases: 2", "1:9: completed"] {
        assert!(values.iter().any(|found| found == value), "{value}: {values:?}");
    }
    sandbox.piton(["repair", "--from-evidence", "--yes"]).run().expect_code(0);
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/next/0/step"), "2:1", "{plan}");
}

#[test]
fn a_refusal_names_what_to_do() {
    let sandbox = Sandbox::new();
    sandbox.file(EPIC, "epic_state: [");
    let bare = sandbox.piton(["repair"]).run().expect_code(4);
    assert_eq!(bare.at("/error/code"), "unreadable");
    assert_eq!(
        bare.at("/error/hints"),
        json!(["correct the file by hand, or archive it: `piton archive ./.aios/epic-5-state.yaml --yes`"])
    );
    let rebuilt = sandbox.piton(["repair", "--from-evidence"]).run().expect_code(4);
    assert!(rebuilt.stdout.contains("no execution plan of epic 5 can be read"), "{rebuilt}");
    sandbox.file(PLAN, EXECUTION);
    let bare = sandbox.piton(["repair"]).run().expect_code(4);
    assert_eq!(bare.at("/error/hints/0"), "piton repair ./.aios/epic-5-state.yaml --from-evidence");
    // What a run of a workflow file recorded is nowhere else.
    let sandbox = example("own-workflow");
    let header = ".piton/runs/spring/run.json";
    let half = sandbox.read(header).len() / 2;
    sandbox.file(header, &sandbox.read(header)[..half]);
    let refused = sandbox.piton(["repair", "--from-evidence"]).run().expect_code(4);
    assert!(refused.stdout.contains("cannot be rebuilt from evidence"), "{refused}");
}

#[test]
fn only_ways_out_that_exist_are_named() {
    let sandbox = Sandbox::new();
    sandbox.file(EPIC, "epic_state: [");
    let fix = |sandbox: &Sandbox| sandbox.piton(["plan"]).run().expect_code(4).at("/findings/0/fix");
    let archive = "correct the file by hand, or archive it: `piton archive ./.aios/epic-5-state.yaml --yes`";
    assert_eq!(fix(&sandbox), archive);
    sandbox.file(PLAN, EXECUTION);
    let rebuild = "correct the file by hand, or rebuild it: `piton repair ./.aios/epic-5-state.yaml --from-evidence`";
    assert_eq!(fix(&sandbox), rebuild);
    // Of a session of two, with one of its files broken.
    let sandbox = example("ccw");
    sandbox.piton(["begin"]).run().expect_code(0);
    let session = ".workflow/active/WFS-user-auth/workflow-session.json";
    sandbox.file(session, "{");
    let plan = sandbox.piton(["plan"]).run();
    let fixes = plan.stdout.matches("`piton restore ./.workflow/active/WFS-user-auth`").count();
    assert!(fixes > 0, "{plan}");
    sandbox.piton(["restore", "./.workflow/active/WFS-user-auth", "--yes"]).run().expect_code(0);
}

#[test]
fn the_plan_of_an_unreadable_state_only_says_how_to_mend_it() {
    let sandbox = example("aios");
    let state = ".aios/epic-7-state.yaml";
    sandbox.piton(["begin", "--run", "epic-7"]).run().expect_code(0);
    let half = sandbox.read(state).len() / 2;
    sandbox.file(state, &format!("{}\nx: [", &sandbox.read(state)[..half]));
    let plan = sandbox.piton(["plan", state]).run().expect_code(4);
    let findings = plan.at("/findings");
    for finding in findings.as_array().unwrap() {
        let fix = finding["fix"].as_str().unwrap_or_default();
        let mends = fix.contains("piton repair ") || fix.contains("piton restore ");
        assert!(mends || !fix.contains("piton "), "{finding}");
    }
    assert_eq!((plan.at("/data/commands/begin"), plan.at("/data/commands/resume")), (json!(null), json!(null)));
    let text = sandbox.piton(["plan", state, "--format", "text"]).run().stdout;
    assert!(!text.contains("piton resume"), "{text}");
}

#[test]
fn a_sound_state_is_not_repaired() {
    for name in ["nine-step", "ccw", "dotagent", "own-workflow"] {
        for call in [vec!["repair"], vec!["repair", "--from-evidence", "--yes"]] {
            let sandbox = example(name);
            let before = sandbox.tree();
            let refused = sandbox.piton(call).run().expect_code(1);
            assert!(refused.stdout.contains("there is nothing to repair"), "{refused}");
            let changes = before.changes(&sandbox.tree());
            assert!(changes.iter().all(|path| path.contains(".piton")), "{changes:?}");
        }
    }
}

#[test]
fn untrusted_text_does_not_drive_a_terminal() {
    let sandbox = truncated_epic();
    sandbox.file("docs/stories/5.1.story.md", "# Story 5.1: A\n\n**Status:** Done\u{1b}[31m\u{202e}\n");
    for format in ["json", "text", "markdown"] {
        let shown = sandbox.piton(["repair", "--from-evidence", "--format", format]).run().expect_code(9).stdout;
        assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
    }
}
