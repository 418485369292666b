//! The same verb for every system: with the system's own records if it has them, else by a checkpoint; and all of it can be undone.

use serde_json::json;

use super::{
    rollback, texts,
    undo::{states, take_back},
};
use crate::{
    cli::projects::{self, document},
    support::Sandbox,
};

/// An hour before the time of the tests.
const EARLIER: u64 = 1_769_857_200;

/// Returns action and id of the next step, else the verdict.
fn next(sandbox: &Sandbox) -> String {
    let plan = sandbox.piton(["plan"]).now("2026-01-31T13:00:00Z").run();
    let next = plan.at("/data/next/0");
    match (next["action"].as_str(), next["step"].as_str()) {
        (Some(action), Some(step)) => format!("{action} {step}"),
        _ => plan.at("/data/verdict").as_str().unwrap_or_default().to_owned(),
    }
}

const PHASE: &str = "memory/state/phase.json";
const EXECUTION: &str = "memory/state/execution.json";

/// Makes a dotagent run in its verification: three phases are complete, two approved, both tasks verified.
fn dotagent() -> Sandbox {
    let sandbox = Sandbox::new();
    let done =
        |phase: &str, output: &str| json!({"phase": phase, "completed_at": "2026-01-31T10:30:00Z", "output": output});
    let phase = json!({
        "workflow_id": "auth",
        "started_at": "2026-01-31T10:00:00Z",
        "last_updated": "2026-01-31T11:00:00Z",
        "current_phase": "VERIFICATION",
        "phase_status": "in_progress",
        "completed_phases": [
            done("REQUIREMENTS", "memory/workspace/requirements.json"),
            done("ARCHITECTURE", "memory/workspace/final-design.json"),
            done("IMPLEMENTATION", "memory/state/execution.json"),
        ],
        "user_checkpoints": [
            {"phase": "REQUIREMENTS", "approved_at": "2026-01-31T10:20:00Z"},
            {"phase": "ARCHITECTURE", "approved_at": "2026-01-31T10:25:00Z"},
        ],
        "interruption_safe": true,
        "own": [1.50],
    });
    let task = |id: &str, on: &[&str]| {
        json!({"id": id, "status": "verified", "attempts": 1, "depends_on": on, "started_at": "2026-01-31T10:31:00Z",
               "completed_at": "2026-01-31T10:40:00Z", "output": format!("memory/workspace/{id}.json")})
    };
    let execution = json!({"workflow_id": "auth", "tasks": [task("T1", &[]), task("T2", &["T1"])]});
    sandbox.file(PHASE, &format!("{phase:#}\n")).file(EXECUTION, &format!("{execution:#}\n"));
    for output in ["requirements", "final-design", "T1", "T2"] {
        let path = format!("memory/workspace/{output}.json");
        sandbox.file(&path, "{\"workflow_id\": \"auth\", \"status\": \"complete\"}").modified(&path, EARLIER - 1_000);
    }
    let design = "memory/reports/designs/a.json";
    sandbox.file(design, "{\"workflow_id\": \"auth\"}").modified(design, EARLIER - 1_000);
    sandbox
}

#[test]
fn both_files_of_dotagent_go_back_together() {
    for (to, current, completed, approved, words, expected) in [
        ("step:VERIFICATION", "VERIFICATION", 3, 2, ["verified", "verified"], "run VERIFICATION"),
        ("T2", "IMPLEMENTATION", 2, 2, ["verified", "pending"], "run T2"),
        ("T1", "IMPLEMENTATION", 2, 2, ["pending", "pending"], "run T1"),
        ("ARCHITECTURE:approval", "ARCHITECTURE", 1, 1, ["pending", "pending"], "approve ARCHITECTURE:approval"),
        ("step:REQUIREMENTS", "REQUIREMENTS", 0, 0, ["pending", "pending"], "run REQUIREMENTS"),
        ("1", "ARCHITECTURE", 1, 1, ["pending", "pending"], "run ARCHITECTURE:designs"),
        ("2", "IMPLEMENTATION", 2, 2, ["pending", "pending"], "run T1"),
        ("last", "VERIFICATION", 3, 2, ["verified", "verified"], "run VERIFICATION"),
    ] {
        let sandbox = dotagent();
        let before = states(&sandbox);
        let answer = rollback(&sandbox, 0, &["--to", to, "--yes"]);
        let (phase, execution) = (sandbox.read_json(PHASE), sandbox.read_json(EXECUTION));
        assert_eq!(phase["current_phase"], current, "{to}");
        assert_eq!(phase["completed_phases"].as_array().unwrap().len(), completed, "{to}: {phase}");
        assert_eq!(phase["user_checkpoints"].as_array().unwrap().len(), approved, "{to}: {phase}");
        assert_eq!([&execution["tasks"][0]["status"], &execution["tasks"][1]["status"]], words, "{to}: {execution}");
        assert_eq!(next(&sandbox), expected, "{to}");
        take_back(&sandbox, &answer);
        assert_eq!(before.changes(&states(&sandbox)), [] as [&str; 0], "{to}");
    }
}

const FLOW: &str = "\
name: release
description: From a note to a release.
steps:
  - {id: note, agent: writer, outputs: out/note.md}
  - {id: api, agent: coder, depends_on: note}
  - {id: review, agent: reviewer, depends_on: api, returns_to: api}
  - {id: approval, gate: Ann, depends_on: review}
  - {id: pack, agent: coder, depends_on: approval, parts: [build, sign]}
";

#[test]
fn a_workflow_of_ones_own_goes_back_to_any_of_its_steps() {
    for (to, opened, expected) in [
        ("pack", &["pack"][..], "run pack"),
        ("approval", &["approval", "pack"], "approve approval"),
        ("api", &["api", "review", "approval", "pack"], "run api"),
        ("note", &["note", "api", "review", "approval", "pack"], "run note"),
        ("0", &["note", "api", "review", "approval", "pack"], "run note"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("flow.yaml", FLOW);
        let run = |words: &[&str]| {
            sandbox.piton(words.iter().copied()).run().expect_code(0);
        };
        run(&["start", "flow.yaml", "--feature", "demo"]);
        for step in ["note", "api", "review"] {
            run(&["begin", step]);
            sandbox.file("out/note.md", "x").modified("out/note.md", EARLIER + 3_600);
            run(&["finish", step, if step == "review" { "--verdict=APPROVED" } else { "--status=completed" }]);
        }
        run(&["approve", "approval", "--by", "Ann"]);
        run(&["begin", "pack"]);
        run(&["finish", "pack", "--part", "build"]);
        let before = states(&sandbox);
        let later = sandbox.piton(["rollback", "--to", to, "--yes"]).now("2026-01-31T12:30:00Z");
        let answer = document(&later.run().expect_code(0));
        assert_eq!(texts(&answer, "/data/impact/reopened"), opened, "{to}");
        assert_eq!(next(&sandbox), expected, "{to}");
        take_back(&sandbox, &answer);
        assert_eq!(before.changes(&states(&sandbox)), [] as [&str; 0], "{to}");
    }
}

#[test]
fn a_session_of_the_runner_gets_a_record_and_loses_none() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "w.yml",
        "name: w\ncommands:\n  - {id: a, shell: echo a}\n  - {id: b, shell: echo b}\n  - {id: c, shell: exit 1}\n",
    );
    let piton = |words: &[&str]| sandbox.piton(words.iter().copied()).run();
    piton(&["run", "w.yml", "--no-worktree", "--yes"]).expect_code(7);
    let journal = || {
        let found = crate::support::files_below(sandbox.root().join(".piton").as_path(), "jsonl");
        let journal = found.into_iter().find(|path| path.as_str().ends_with("/journal.jsonl")).expect("a journal");
        std::fs::read_to_string(journal).unwrap()
    };
    let before = journal();
    let answer = piton(&["rollback", "--to", "b", "--reason", "again", "--yes"]).expect_code(0);
    assert_eq!(texts(&answer.json(), "/data/impact/reopened"), ["b", "c"]);
    let after = journal();
    assert!(after.starts_with(&before) && after.lines().count() == before.lines().count() + 1, "{after}");
    assert!(after.lines().last().unwrap().contains("\"rollback\""), "{after}");
    assert_eq!(piton(&["plan"]).at("/data/next/0/step"), "b");
    let undo = answer.at("/data/undo").as_str().unwrap().to_owned();
    sandbox.piton(undo.split(' ').skip(1)).run().expect_code(0);
    assert_eq!(piton(&["plan"]).at("/data/next/0/step"), "c");
}

#[test]
fn an_archived_run_is_never_written() {
    let sandbox = projects::ccw();
    sandbox.piton(["archive", "--yes"]).run().expect_code(0);
    let before = sandbox.tree().without(".piton");
    for to in ["IMPL-001", "last"] {
        let refused = sandbox.piton(["rollback", ".workflow/archives/WFS-user-auth", "--to", to, "--yes"]).run();
        assert!(matches!(refused.code, 1 | 3), "{refused}");
    }
    assert_eq!(before.changes(&sandbox.tree().without(".piton")), [] as [&str; 0]);
}
