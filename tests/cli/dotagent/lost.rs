//! States that were damaged, lost, or left behind by evidence.

use serde_json::json;

use super::{EXECUTION, PHASE, fresh, implementing, outcome, phase, plan, project, task_output};
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

/// A-D20: a run whose phase file is gone is found, and its name is not given away.
#[test]
fn a_lost_phase_file_is_a_finding() {
    let sandbox = Sandbox::new();
    sandbox.piton(["start", "dotagent", "--feature", "x"]).run().expect_code(0);
    sandbox.piton(["begin", "REQUIREMENTS", "--run", "x"]).run().expect_code(0);
    sandbox.remove(PHASE);
    let lost = plan(&sandbox).expect_code(4);
    assert!(lost.to_string().contains("state-missing"), "{lost}");
    sandbox.piton(["start", "dotagent", "--feature", "x"]).run().expect_code(1);
    sandbox.piton(["restore", "--yes"]).run().expect_code(0);
    let back = plan(&sandbox);
    assert_eq!(back.at("/data/run/id"), "x", "{back}");
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

/// A-D19: the path of an output may be written with backslashes.
#[test]
fn an_output_path_may_have_backslashes() {
    let path = "memory\\tasks\\task-001\\output.json";
    let sandbox = implementing(&json!([{ "id": "task-001", "status": "running", "attempts": 0, "output": path }]));
    fresh(&sandbox, "memory/tasks/task-001/output.json", &task_output("task-001", "pre_complete"));
    assert_eq!(outcome(&plan(&sandbox).expect_code(0)), "resume: run task-001:verify verifier");
}

/// A-D26, A-M15: what a workflow file may name as an output and at its top.
#[test]
fn patterns_and_backslashes_are_no_outputs() {
    let sandbox = Sandbox::new();
    for (output, says) in [("out/*.md", "is a pattern"), ("out\\x.md", "has a backslash")] {
        sandbox.file(
            "p.yaml",
            &format!("name: p\nx-shared: {{a: 1}}\nsteps:\n  - {{id: copy, agent: dba, outputs: '{output}'}}\n"),
        );
        let refused = sandbox.piton(["validate", "p.yaml"]).run().expect_code(1);
        assert_eq!(refused.findings(), ["definition-invalid"], "{refused}");
        assert!(refused.at("/findings/0/message").as_str().unwrap().contains(says), "{refused}");
        assert_eq!(refused.at("/findings/0/line"), 4);
    }
}

/// A-D27: steps that are ready together come in the order of the file.
#[test]
fn ready_steps_come_in_the_order_of_the_file() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "p.yaml",
        "name: p\nsteps:\n  - {id: zeta, agent: a, depends_on: []}\n  - {id: beta, agent: a, depends_on: []}\n  - {id: alpha, agent: a, depends_on: []}\n",
    );
    let started = sandbox.piton(["start", "p.yaml", "--feature", "x"]).run().expect_code(0);
    assert_eq!(outcome(&plan(&sandbox)), "resume: run zeta a, run beta a, run alpha a", "{started}");
}

/// A-D28: a link in the place of `memory` is not followed, and that is said.
#[test]
fn a_linked_memory_is_named() {
    let sandbox = Sandbox::new();
    sandbox.dir("real");
    std::os::unix::fs::symlink("real", sandbox.root().join("memory")).expect("a link in the sandbox");
    let list = sandbox.piton(["list"]).run().expect_code(3);
    assert!(list.to_string().contains("memory is a link or a file"), "{list}");
}

/// A-D29: the printed definition has the step ids of the built-in run.
#[test]
fn the_printed_definition_has_the_ids_of_the_built_in_run() {
    let steps = |sandbox: &Sandbox| -> Vec<String> {
        let status = sandbox.piton(["plan", "--steps"]).run();
        let pending = status.at("/data/steps/pending");
        pending.as_array().into_iter().flatten().filter_map(|id| Some(id.as_str()?.to_owned())).collect()
    };
    let built_in = Sandbox::new();
    built_in.piton(["start", "dotagent", "--feature", "wf"]).run().expect_code(0);
    let own = Sandbox::new();
    let printed = own.piton(["start", "--print", "dotagent"]).run().expect_code(0).stdout;
    own.file("mine.yaml", &printed.replace("name: dotagent", "name: mine"));
    own.piton(["start", "mine.yaml", "--feature", "wf"]).run().expect_code(0);
    let (built_in, own) = (steps(&built_in), steps(&own));
    assert!(!own.is_empty() && own.iter().all(|id| built_in.contains(id)), "{own:?} {built_in:?}");
}

/// A-M1, A-M2: stamps in other forms do not make a state corrupted.
#[test]
fn stamps_in_other_forms_are_read_or_named() {
    for (value, ignored) in [
        (json!(1_769_859_000_000_i64), false),
        (json!("1769859000"), false),
        (json!("2026-01-31T15:30:00"), true),
        (json!("31/01/2026"), true),
    ] {
        let mut phase = phase("REQUIREMENTS", "in_progress");
        phase["last_updated"] = value.clone();
        let found = plan(&project(&phase)).expect_code(0);
        assert!(!found.to_string().contains("corrupted"), "{value}: {found}");
        assert_eq!(found.findings().contains(&"field-ignored".to_owned()), ignored, "{value}: {found}");
    }
}

/// A-M3: the shape of a phase file decides, not its id alone.
#[test]
fn a_phase_file_without_an_id_is_a_broken_one() {
    let mut phase = phase("REQUIREMENTS", "in_progress");
    phase.as_object_mut().expect("an object").remove("workflow_id");
    let found = plan(&project(&phase));
    assert!(found.findings().contains(&"state-missing-field".to_owned()), "{found}");
}
