use super::projects::{self, NINE_STEP, document, replace};

#[test]
fn sound_files_are_valid() {
    let sandbox = projects::both();
    let report = document(&sandbox.piton(["validate"]).run().expect_code(0));
    assert_eq!((&report["data"]["valid"], report["data"]["files"].as_array().unwrap().len()), (&true.into(), 5));
    insta::assert_snapshot!(sandbox.piton(["validate", "1", "--format", "text"]).run(), @"
    code: 0
    ----- stdout -----
    ok .worktree/user-auth/.workflow-state.json
    Valid.
    ");
}

#[test]
fn a_violation_has_a_line_and_exits_1() {
    let sandbox = projects::nine_step();
    replace(&sandbox, NINE_STEP, "\"total_phases\": 2", "\"total_phases\": \"two\"");
    let output = sandbox.piton(["validate"]).run().expect_code(1);
    let report = document(&output);
    let finding = &report["findings"][0];
    assert_eq!((finding["pointer"].as_str(), finding["line"].as_u64()), (Some("/total_phases"), Some(6)), "{output}");
    assert_eq!(report["data"]["valid"], false);
    let text = sandbox.piton(["validate", "--format", "text"]).run().expect_code(1);
    assert!(text.stdout.contains(".workflow-state.json:6:") && text.stdout.contains("Not valid."), "{text}");
}

#[test]
fn files_are_validated_by_path_also_outside_of_a_run() {
    let sandbox = projects::ccw();
    sandbox.file("elsewhere/.task/IMPL-7.json", "{\"id\": 7").file("elsewhere/state.json", "[]");
    let task = sandbox.piton(["validate", ".workflow/active/WFS-user-auth/.task/IMPL-002.json"]).run().expect_code(0);
    assert_eq!(document(&task)["data"]["valid"], true);
    let broken = document(&sandbox.piton(["validate", "elsewhere/.task/IMPL-7.json"]).run().expect_code(4));
    assert_eq!(broken["findings"][0]["line"], 1);
    sandbox.piton(["validate", "no/such/file.json"]).run().expect_code(3);
    let both = [".workflow/active/WFS-user-auth/.task/IMPL-001.json", "elsewhere/.task/IMPL-7.json"];
    sandbox.piton(["validate", both[0], both[1]]).run().expect_code(4);
}
