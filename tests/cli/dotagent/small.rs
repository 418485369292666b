//! Small points of states and their texts.

use serde_json::json;

use super::{EXECUTION, PHASE, implementing};
use crate::support::{Output, Sandbox};

fn text(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.piton(["--format", "text"].into_iter().chain(arguments.iter().copied())).run()
}

fn finding(output: &Output, code: &str) -> serde_json::Value {
    let findings = output.at("/findings");
    let found = findings.as_array().into_iter().flatten().find(|finding| finding["code"] == code).cloned();
    found.unwrap_or_else(|| panic!("no {code}: {output}"))
}

/// A run of a workflow file in its second step.
fn own() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("m.yaml", "name: m\nsteps:\n  - {id: copy, agent: dba}\n  - {id: verify, agent: qa}\n");
    sandbox.piton(["start", "m.yaml", "--feature", "x"]).run().expect_code(0);
    for command in ["begin copy", "finish copy", "begin verify"] {
        sandbox.piton(command.split(' ')).run().expect_code(0);
    }
    sandbox
}

fn running() -> Sandbox {
    implementing(&json!([{ "id": "task-001", "status": "running", "attempts": 0 }]))
}

/// A-M4: a name that cannot be used is answered with the nearest one that can.
#[test]
fn a_refused_feature_name_is_cleaned_up() {
    for (typed, proposed) in [("my feature", "my-feature"), ("a/b: c", "a-b-c"), ("..x", "x")] {
        let sandbox = Sandbox::new();
        let refused = sandbox.piton(["start", "dotagent", "--feature", typed]).run().expect_code(2);
        assert_eq!(refused.at("/error/hints/0"), format!("for instance: --feature {proposed}"), "{refused}");
        sandbox.piton(["start", "dotagent", "--feature", proposed]).run().expect_code(0);
    }
}

/// A-M12: a restored run is named by its own name.
#[test]
fn a_restored_run_has_its_name() {
    let restored = text(&own(), &["restore", "--to", "000002", "--yes"]).expect_code(0);
    assert!(restored.stdout.starts_with("✅ x is back at 000002\n"), "{restored}");
}

/// A-M13: a file that is not there is no run.
#[test]
fn a_missing_file_is_called_one() {
    for sandbox in [Sandbox::new(), running()] {
        let missing = sandbox.piton(["validate", "nope.yaml"]).run().expect_code(3);
        assert_eq!(missing.at("/error/message"), "there is no file nope.yaml", "{missing}");
    }
}

/// A-M14: an id that is refused comes with one that is not.
#[test]
fn a_refused_id_is_cleaned_up() {
    for (id, fix) in
        [("co py", "for instance `co-py`"), ("..", "write an id of these"), ("-a b.", "for instance `a-b`")]
    {
        let sandbox = Sandbox::new();
        sandbox.file("n.yaml", &format!("name: n\nsteps:\n  - {{id: \"{id}\", agent: dba}}\n"));
        let refused = sandbox.piton(["validate", "n.yaml"]).run().expect_code(1);
        let found = finding(&refused, "definition-invalid");
        assert_eq!(found["fix"], fix, "{refused}");
        assert!(found["message"].as_str().unwrap_or_default().contains("is not an id: letters"), "{refused}");
    }
}

/// A-M16: a broken task file is named, with the command that rebuilds it.
#[test]
fn a_broken_task_file_is_named() {
    let sandbox = running();
    sandbox.file(EXECUTION, "{\"tasks\":[");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    let broken = finding(&plan, "part-unreadable");
    assert_eq!(broken["file"], EXECUTION);
    let rebuild = "piton repair ./memory/state/phase.json --from-evidence";
    assert!(broken["fix"].as_str().unwrap_or_default().contains(&format!("`{rebuild}`")), "{broken}");
    let proposed = text(&sandbox, &["repair", "--from-evidence"]).expect_code(9);
    let mut lines = proposed.stdout.lines();
    let name = sandbox.read_json(PHASE)["workflow_id"].as_str().unwrap_or_default().to_owned();
    assert_eq!(lines.next(), Some(format!("The state of {name} cannot be read in full").as_str()), "{proposed}");
    assert!(lines.next().unwrap_or_default().contains("memory/state/execution.json is not JSON"), "{proposed}");
    if let Some(asked) = sandbox.piton(["--format", "text", "repair", "--from-evidence"]).on_terminal("n\n") {
        assert!(asked.stderr.contains("Write this in the place of memory/state/execution.json? [y/N]"), "{asked}");
    }
}

/// A-M17: nothing empty is printed: phases, fences, a list without columns.
#[test]
fn nothing_empty_is_printed() {
    let sandbox = Sandbox::new();
    sandbox.piton(["start", "dotagent", "--feature", "login"]).run().expect_code(0);
    sandbox.piton(["begin", "REQUIREMENTS"]).env("PITON_SESSION", "one").run().expect_code(0);
    let plan = text(&sandbox, &["plan"]);
    assert!(!plan.stdout.contains("Completed:\n") && !plan.stdout.contains("Completed: \n"), "{plan}");
    for sandbox in [&sandbox, &own()] {
        let brief = text(sandbox, &["context"]).expect_code(0).stdout;
        let lines: Vec<&str> = brief.lines().collect();
        let is_empty = |pair: &[&str]| pair[0].contains("begin of untrusted") && pair[1].contains("end of untrusted");
        assert!(!lines.windows(2).any(is_empty), "{brief}");
    }
    let schemas = text(&sandbox, &["schema"]).expect_code(0).stdout;
    let row = schemas.lines().find(|line| line.starts_with("dotagent-execution")).unwrap_or_default();
    assert!(row.starts_with("dotagent-execution "), "{schemas}");
}

/// A-M19: sentences begin the same way everywhere, and paths are relative, without `./`.
#[test]
fn paths_and_sentences_have_one_form() {
    let sandbox = own();
    sandbox.piton(["abort", "--reason", "stop"]).run().expect_code(0);
    for arguments in [&["plan"][..], &["list", "--all"], &["archive"]] {
        let output = text(&sandbox, arguments);
        for line in output.stdout.lines().filter(|line| !line.trim_start().starts_with('→')) {
            assert!(!line.contains("./memory") && !line.contains(sandbox.root().as_str()), "{output}");
        }
    }
}

/// A-M20: a stamp that is almost three days ahead is not two, and is printed in seconds.
#[test]
fn a_stamp_ahead_is_measured() {
    let sandbox = running();
    let mut phase = sandbox.read_json(PHASE);
    // A minute less than three days after the clock of the tests.
    phase["last_updated"] = json!("2026-02-03T11:59:00.123456789Z");
    sandbox.file(PHASE, &phase.to_string());
    let plan = text(&sandbox, &["plan"]).expect_code(0);
    assert!(plan.stdout.contains("`last_updated` is almost 3 days in the future"), "{plan}");
    assert!(plan.stdout.contains("Last activity: 2026-02-03T11:59:00Z"), "{plan}");
}

/// A broken state is asked about at a terminal: `repair` comes first, and no answer changes nothing.
#[test]
fn a_broken_state_is_asked_about_at_a_terminal() {
    for (typed, code) in [("1\ny\n", 0), ("2\n", 0), ("3\n", 9), ("\n", 9), ("what\n", 9)] {
        let sandbox = running();
        let whole = sandbox.read(PHASE);
        sandbox.file(PHASE, &format!("{},}}", &whole[..whole.len() - 1]));
        let before = sandbox.tree();
        let Some(output) = sandbox.piton(["--format", "text", "resume"]).on_terminal(typed) else { return };
        let output = output.expect_code(code);
        let asked = "State appears corrupted. Repair it, or start fresh? (1-3)";
        assert!(output.stderr.contains("1. repair it") && output.stderr.contains(asked), "{output}");
        match typed {
            "1\ny\n" => assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/step"), "task-001", "{output}"),
            "2\n" => assert!(!sandbox.exists(PHASE), "{output}"),
            _ => assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{typed:?}"),
        }
    }
    // Without a terminal nothing is asked.
    let sandbox = running();
    sandbox.file(PHASE, "{");
    let error = sandbox.piton(["--format", "text", "resume"]).run().expect_code(4);
    assert!(!error.to_string().contains("State appears corrupted. Repair"), "{error}");
}

/// A-D33: a gate that sent work back is not approved over the open rework.
#[test]
fn a_gate_that_sent_work_back_waits_for_it() {
    let sandbox = Sandbox::new();
    sandbox
        .file("g.yaml", "name: g\nsteps:\n  - {id: copy}\n  - {id: go, gate: owner, returns_to: copy}\n  - {id: n}\n");
    sandbox.piton(["start", "g.yaml", "--feature", "x"]).run().expect_code(0);
    for command in ["begin copy", "finish copy", "finish go --verdict NEEDS_REVISION --error wrong"] {
        sandbox.piton(command.split(' ')).run().expect_code(0);
    }
    let refused = sandbox.piton(["approve", "go", "--by", "Ana"]).run().expect_code(9);
    assert_eq!(refused.at("/error/hints/1"), "piton accept go --run x --by NAME --note WHY", "{refused}");
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/step"), "copy");
    sandbox.piton(["redo", "go", "--run", "x", "--by", "Ana", "--note", "once more"]).run().expect_code(0);
    for command in ["begin copy", "finish copy", "approve go --by Ana"] {
        sandbox.piton(command.split(' ')).run().expect_code(0);
    }
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/step"), "n");
}
