//! States that were damaged, lost, or left behind by evidence.

use serde_json::json;

use super::EXECUTION;
use super::PHASE;
use super::fresh;
use super::implementing;
use super::outcome;
use super::phase;
use super::plan;
use super::project;
use super::task_output;
use crate::support::Sandbox;

/// A-D14: what can be read of a broken file is taken, approvals too.
#[test]
fn a_trailing_comma_costs_no_approval() {
    for (name, breaks) in [
        ("comma", (|text: &str| format!("{},}}", &text[..text.len() - 1])) as fn(&str) -> String),
        ("comment", |text: &str| format!("// by hand\n{text}")),
    ] {
        let sandbox = implementing(&json!([{ "id": "task-001", "status": "running", "attempts": 0 }]));
        let whole = sandbox.read_json(PHASE);
        sandbox.file(PHASE, &breaks(&sandbox.read(PHASE)));
        sandbox.piton(["plan"]).run().expect_code(4);
        let proposed = sandbox.piton(["repair", "--from-evidence"]).run().expect_code(9).to_string();
        assert!(proposed.contains("read from the broken memory/state/phase.json"), "{name}: {proposed}");
        sandbox.piton(["repair", "--from-evidence", "--yes"]).run().expect_code(0);
        let mut repaired = sandbox.read_json(PHASE);
        repaired["last_updated"] = whole["last_updated"].clone();
        assert_eq!(repaired, whole, "{name}");
    }
}

/// A-D14: a file that was cut off gives what it has, and tasks under way prove IMPLEMENTATION.
#[test]
fn a_cut_off_file_gives_what_it_has() {
    let sandbox = implementing(&json!([{ "id": "task-001", "status": "running", "attempts": 0 }]));
    let text = sandbox.read(PHASE);
    let cut = text.find("\"interruption_safe\"").expect("it is there");
    // `user_checkpoints` is whole; the keys before it too, but for the phase.
    let torn = text[..cut].replace("\"current_phase\":\"IMPLEMENTATION\",", "");
    sandbox.file(PHASE, &torn);
    sandbox.piton(["repair", "--from-evidence", "--yes"]).run().expect_code(0);
    let repaired = sandbox.read_json(PHASE);
    assert_eq!(repaired["current_phase"], "IMPLEMENTATION", "{repaired}");
    assert_eq!(repaired["user_checkpoints"].as_array().map(Vec::len), Some(2), "{repaired}");
}

/// A-D14: of a workflow of a user's own only the phase file has the definition.
#[test]
fn the_definition_of_a_broken_file_is_kept() {
    let sandbox = Sandbox::new();
    sandbox.file("m.yaml", "name: m\nsteps:\n  - {id: one, agent: a}\n");
    sandbox.piton(["start", "m.yaml", "--feature", "x"]).run().expect_code(0);
    let text = sandbox.read(PHASE);
    let end = text.rfind('}').expect("an object");
    sandbox.file(PHASE, &format!("{},}}", text[..end].trim_end()));
    sandbox.piton(["repair", "./memory/state/phase.json", "--from-evidence", "--yes"]).run().expect_code(0);
    assert_eq!(plan(&sandbox).expect_code(0).at("/data/next/0/step"), "one");
}

/// A-D20: a run whose phase file is gone is found, and its name is not given away.
#[test]
fn a_lost_phase_file_is_a_finding() {
    for folder in ["memory/state", "memory/state/x"] {
        let sandbox = Sandbox::new();
        sandbox.file("m.yaml", "name: m\nsteps:\n  - {id: one, agent: a}\n  - {id: two, agent: a}\n");
        if folder != "memory/state" {
            sandbox.piton(["start", "m.yaml", "--feature", "other"]).run().expect_code(0);
        }
        sandbox.piton(["start", "m.yaml", "--feature", "x"]).run().expect_code(0);
        for verb in ["begin", "finish"] {
            sandbox.piton([verb, "one", "--run", "x"]).run().expect_code(0);
        }
        sandbox.remove(&format!("{folder}/phase.json"));
        let lost = sandbox.piton(["plan", "x"]).run().expect_code(4);
        assert!(lost.to_string().contains("state-missing"), "{folder}: {lost}");
        assert!(lost.to_string().contains("piton restore x"), "{folder}: {lost}");
        sandbox.piton(["start", "m.yaml", "--feature", "x"]).run().expect_code(1);
        sandbox.piton(["restore", "x", "--yes"]).run().expect_code(0);
        let back = sandbox.piton(["plan", "x"]).run().expect_code(0);
        assert_eq!(back.at("/data/run/id"), "x", "{folder}: {back}");
    }
    // Without a history it is rebuilt from what is there.
    let sandbox = implementing(&json!([{ "id": "task-001", "status": "running", "attempts": 0 }]));
    sandbox.remove(PHASE);
    let lost = plan(&sandbox).expect_code(4);
    assert!(lost.at("/error/hints/0").as_str().unwrap().contains("--from-evidence"), "{lost}");
    sandbox.piton(["repair", "--from-evidence", "--yes"]).run().expect_code(0);
    assert_eq!(sandbox.read_json(PHASE)["current_phase"], "IMPLEMENTATION");
}

/// A-D30: `finish` records that a task is blocked, and the resolver is next.
#[test]
fn finish_records_a_blocked_task() {
    let sandbox = implementing(&json!([{ "id": "task-002", "status": "pending", "attempts": 0 }]));
    sandbox.piton(["begin", "task-002"]).run().expect_code(0);
    let output =
        task_output("task-002", "blocked").replace("\"files", "\"blocked_reason\":\"contract_change\",\"files");
    fresh(&sandbox, "memory/tasks/task-002/output.json", &output);
    sandbox.modified("memory/tasks/task-002/output.json", 1_769_861_000);
    let finished = sandbox.piton(["finish", "task-002"]).run().expect_code(0);
    assert_eq!(finished.at("/data/message"), "task-002 is blocked", "{finished}");
    assert_eq!(sandbox.read_json(EXECUTION)["tasks"][0]["status"], "blocked");
    let next = finished.at("/data/next");
    assert!(next.as_str().unwrap().starts_with("piton begin task-002:resolve"), "{next}");
}

/// A-D17: a final design of this run decides the choice between the designs.
#[test]
fn a_final_design_settles_the_choice() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    fresh(&sandbox, "memory/reports/designs/a.json", r#"{"x":1}"#);
    assert_eq!(outcome(&plan(&sandbox)), "blocked: approve ARCHITECTURE:approval");
    fresh(&sandbox, "memory/reports/final_design.json", r#"{"x":1}"#);
    let found = plan(&sandbox).expect_code(0);
    assert_eq!(outcome(&found), "resume: run IMPLEMENTATION executor");
    assert!(found.to_string().contains("it is not recorded by whom"), "{found}");
}

/// A-D18: scenario 4 goes by the start of the run, not by what was touched lately, and offers to start fresh.
#[test]
fn an_old_run_that_was_touched_lately_is_asked_about() {
    let mut old = phase("REQUIREMENTS", "in_progress");
    old["started_at"] = json!("2026-01-22T12:00:00Z");
    let sandbox = project(&old);
    let asked = plan(&sandbox).expect_code(9);
    assert_eq!(asked.at("/data/verdict"), "confirm");
    assert_eq!(asked.at("/findings/0/message"), "the workflow was started 9 days ago");
    let fix = asked.at("/findings/0/fix").as_str().unwrap().to_owned();
    assert!(fix.contains("piton resume user-auth") && fix.contains("--archive"), "{fix}");
    assert_eq!(asked.at("/data/question/options/2/command"), "piton archive user-auth --yes", "{asked}");
    assert_eq!(asked.at("/data/question/default"), "no");
}
