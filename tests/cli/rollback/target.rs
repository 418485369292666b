//! What a target means, and that nothing is guessed.

use serde_json::json;

use super::{FOLDER, STATE, call, project, rollback, texts};
use crate::{cli::projects, support::Sandbox};

#[test]
fn without_a_target_those_there_are_are_listed() {
    let sandbox = project();
    sandbox.piton(["finish", "3:1"]).run().expect_code(0);
    let listed = rollback(&sandbox, 9, &[]);
    let targets: Vec<&str> =
        listed["data"]["targets"].as_array().unwrap().iter().map(|target| target["to"].as_str().unwrap()).collect();
    assert_eq!(targets, ["2", "1", "0", "000001"]);
    assert_eq!(listed["data"]["targets"][0]["command"], "piton rollback auth --to 2");
    insta::assert_snapshot!(call(&sandbox, 9, &["--format", "text"]), @"
    code: 9
    ----- stdout -----
    auth can be rolled back to
      2          the end of Phase 2, 2026-01-31T09:19:00Z
      1          the end of Phase 1, 2026-01-31T09:09:00Z
      0          the beginning of the run
      000001     checkpoint before finish 3:1, 2026-01-31T12:00:00Z
      ❌ Cancel rollback: do nothing
    → piton rollback auth --to 2
    ");
}

#[test]
fn a_commit_is_the_phase_that_it_closed() {
    let sandbox = project();
    let first = sandbox.git_in(FOLDER, ["rev-parse", "HEAD~1"]);
    for name in [&first[..], &first[..7], &first[..12].to_uppercase()] {
        let data = rollback(&sandbox, 9, &["--to", name])["data"].clone();
        assert_eq!(texts(&data, "/impact/reopened").first().map(String::as_str), Some("2:1"), "{data}");
        assert_eq!(data["impact"]["base"], first.as_str());
    }
    let start = sandbox.git(["rev-parse", "main"]);
    let data = rollback(&sandbox, 9, &["--to", &start])["data"].clone();
    assert_eq!(texts(&data, "/impact/reopened").len(), 21);
    rollback(&sandbox, 0, &["--to", &first, "--yes"]);
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/step"), "2:1");
}

#[test]
fn an_unknown_target_is_refused_with_the_known_ones() {
    let sandbox = project();
    let before = sandbox.read(STATE);
    for (to, code, said) in [
        ("7", 3, "has no phase, step or checkpoint `7`"),
        ("01", 3, "has no phase, step or checkpoint `01`"),
        ("4", 3, "has no phase, step or checkpoint `4`"),
        ("abc123", 3, "at least seven digits"),
        ("HEAD~1", 3, "has no phase, step or checkpoint"),
        ("--upload-pack=x", 3, "has no phase, step or checkpoint"),
        ("deadbeef0", 3, "there is no commit deadbeef0"),
        ("checkpoint:000001", 3, "has no phase, step or checkpoint"),
        ("3", 1, "the end of Phase 3 was not reached: 3:1, 3:2"),
        ("3:5", 1, "3:5 was not begun"),
        ("9:9", 3, "has no phase, step or checkpoint"),
    ] {
        let to = format!("--to={to}");
        let refused = rollback(&sandbox, code, &[&to, "--yes"]);
        assert!(refused["error"]["message"].as_str().unwrap().contains(said), "{to}: {refused}");
        assert!(refused["error"]["hints"][0].is_string(), "{to}: {refused}");
    }
    assert_eq!(sandbox.read(STATE), before);
}

#[test]
fn an_ambiguous_target_is_listed_with_the_exact_commands() {
    let sandbox = Sandbox::new();
    let task = |id: &str, status: &str| {
        format!("{{\"id\": \"{id}\", \"title\": \"x\", \"status\": \"{status}\", \"context\": {{\"depends_on\": []}}}}")
    };
    sandbox.file(
        ".workflow/active/WFS-a/workflow-session.json",
        r#"{"session_id": "WFS-a", "project": "x", "status": "active"}"#,
    );
    sandbox.file(".workflow/active/WFS-a/.task/IMPL-1.json", &task("IMPL-1", "completed"));
    sandbox.file(".workflow/active/WFS-a/.task/last.json", &task("last", "completed"));
    // Without a checkpoint, only the step matches.
    assert_eq!(rollback(&sandbox, 9, &["--to", "last"])["data"]["to"], "step:last");
    sandbox.piton(["redo", "IMPL-1"]).run().expect_code(0);
    sandbox.piton(["begin", "IMPL-1"]).run().expect_code(0);
    let refused = rollback(&sandbox, 8, &["--to", "last"]);
    assert_eq!(refused["error"]["message"], "`last` can be 2 things");
    assert_eq!(
        refused["error"]["hints"],
        json!([
            "piton rollback WFS-a --to checkpoint:000001   # checkpoint 000001 of the history",
            "piton rollback WFS-a --to step:last   # before step last",
        ])
    );
    let data = rollback(&sandbox, 9, &["--to", "step:last"])["data"].clone();
    assert_eq!(texts(&data, "/impact/reopened"), ["last"]);
}

#[test]
fn a_target_comes_as_json_too_and_insists_on_its_revision() {
    let sandbox = project();
    let wanted = r#"{"change": "rollback", "to": "1", "reason": "from a program", "reopened": ["1:1"]}"#;
    let proposed = sandbox.piton(["rollback", "--json", "-"]).stdin(wanted).run().expect_code(9);
    assert_eq!(proposed.at("/data/to"), "phase:1");
    let moved = sandbox.piton(["rollback", "--json", "-", "--yes", "--if-revision", "0000000000000000"]);
    moved.stdin(wanted).run().expect_code(6);
    let revision = proposed.at("/data/revision").as_str().unwrap().to_owned();
    let agreed = sandbox.piton(["rollback", "--json", "-", "--yes", "--if-revision", &revision]).stdin(wanted).run();
    assert_eq!(agreed.expect_code(0).at("/data/written"), true);
    let state = sandbox.read_json(STATE);
    assert_eq!(state["current_phase"], 1, "what the caller says is open again is worked out anew");
    assert_eq!(state["history"].as_array().unwrap().last().unwrap()["reason"], "from a program");
    sandbox.piton(["rollback", "--json", "-"]).stdin(r#"{"change": "finish", "step": "1:1"}"#).run().expect_code(2);
    sandbox.piton(["rollback", "--json", "-"]).stdin(r#"{"to": 1}"#).run().expect_code(2);
}

#[test]
fn a_run_of_several_is_named_and_an_unreadable_one_is_repaired_first() {
    let sandbox = projects::both();
    let refused = rollback(&sandbox, 8, &["--to", "1"]);
    assert!(
        refused["error"]["hints"][0].as_str().unwrap().starts_with("piton rollback user-auth --to 1 "),
        "{refused}"
    );
    let data = rollback(&sandbox, 9, &["user-auth", "--to", "1"])["data"].clone();
    assert_eq!(data["run"], "user-auth");
    assert_eq!(rollback(&sandbox, 9, &["--run", "user-auth", "--to", "1"])["data"]["run"], "user-auth");
    sandbox.file(projects::NINE_STEP, "{\"feature_name\": ");
    let refused = rollback(&sandbox, 4, &["user-auth", "--to", "1", "--yes"]);
    assert!(refused["error"]["hints"].to_string().contains("piton archive ./"), "{refused}");
}
