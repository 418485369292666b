//! What a target means, and that nothing is guessed.

use super::{STATE, project, rollback};
use crate::cli::projects;

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
    assert!(refused["error"]["hints"].to_string().contains("piton close ./"), "{refused}");
}
