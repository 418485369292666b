//! Archives: how many, which, under which names (docs/formats/dotagent.md#archive).

use serde_json::json;

use super::EXECUTION;
use super::PHASE;
use super::phase;
use super::project;
use crate::support::Sandbox;

const FOLDER: &str = "memory/state/.archive";

fn archives(sandbox: &Sandbox) -> Vec<String> {
    let Ok(entries) = sandbox.root().join(FOLDER).read_dir_utf8() else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("a readable folder").file_name().to_owned()).collect();
    names.sort();
    names
}

fn fill(sandbox: &Sandbox, names: &[&str]) {
    for name in names {
        sandbox.file(&format!("{FOLDER}/{name}/phase.json"), "{}");
    }
}

const DAYS: [&str; 6] = [
    "user-auth_20260101T000000Z",
    "user-auth_20260102T000000Z",
    "user-auth_20260103T000000Z",
    "user-auth_20260104T000000Z",
    "user-auth_20260105T000000Z",
    "user-auth_20260106T000000Z",
];
const NEW: &str = "user-auth_20260131T120000Z";

#[test]
fn the_newest_five_of_this_workflow_stay() {
    for (before, kept) in
        [(&DAYS[..3], &DAYS[..3]), (&DAYS[..4], &DAYS[..4]), (&DAYS[..5], &DAYS[1..5]), (&DAYS[..6], &DAYS[2..6])]
    {
        let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
        sandbox.file(EXECUTION, r#"{"tasks":[]}"#);
        let foreign = ["other_20200101T000000Z", "user-auth_notes", "user-auth_2020", "user-auth-2_20200101T000000Z"];
        fill(&sandbox, before);
        fill(&sandbox, &foreign);
        let (old_phase, old_execution) = (sandbox.read(PHASE), sandbox.read(EXECUTION));
        sandbox.piton(["archive"]).run().expect_code(9);
        let output = sandbox.piton(["archive", "--yes"]).run().expect_code(0);
        assert_eq!(output.at("/data/to"), format!("{FOLDER}/{NEW}"));
        let mut expected: Vec<&str> = kept.iter().chain(&foreign).copied().chain([NEW]).collect();
        expected.sort_unstable();
        assert_eq!(archives(&sandbox), expected, "{} before", before.len());
        assert_eq!(sandbox.read(&format!("{FOLDER}/{NEW}/phase.json")), old_phase);
        assert_eq!(sandbox.read(&format!("{FOLDER}/{NEW}/execution.json")), old_execution);
        assert!(!sandbox.exists(PHASE) && !sandbox.exists(EXECUTION));
    }
}

#[test]
fn a_name_that_is_taken_gets_a_counter() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    fill(&sandbox, &[NEW]);
    let output = sandbox.piton(["archive", "--yes"]).run().expect_code(0);
    assert_eq!(output.at("/data/to"), format!("{FOLDER}/{NEW}-2"));
    assert_eq!(sandbox.read(&format!("{FOLDER}/{NEW}/phase.json")), "{}");
    assert!(!sandbox.exists(&format!("{FOLDER}/{NEW}-2/execution.json")), "there was none to move");
}

#[test]
fn an_id_that_leaves_its_folder_archives_nothing() {
    for id in ["../x", "a/b", "..", "", " ", "a\\b", "x\u{0}y", "a\nb", ".hidden"] {
        let mut phase = phase("ARCHITECTURE", "in_progress");
        phase["workflow_id"] = json!(id);
        let sandbox = project(&phase);
        let before = sandbox.tree().without(".piton");
        let output = sandbox.piton(["archive", "--yes", "./memory/state/phase.json"]).run();
        assert_eq!(output.code, 1, "{id:?}\n{output}");
        assert_eq!(before.changes(&sandbox.tree().without(".piton")), Vec::<String>::new(), "{id:?}");
        let found = sandbox.piton(["validate"]).run().findings();
        assert!(found.iter().any(|code| code == "id-unsafe" || code == "state-missing-field"), "{id:?}: {found:?}");
    }
}

#[test]
fn the_new_archive_stays_for_any_clock() {
    for (now, new) in
        [("2027-01-31T12:00:00Z", "user-auth_20270131T120000Z"), ("2025-01-31T12:00:00Z", "user-auth_20250131T120000Z")]
    {
        let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
        fill(&sandbox, &DAYS[..5]);
        sandbox.piton(["archive", "--yes"]).now(now).run().expect_code(0);
        let mut expected: Vec<&str> = DAYS[1..5].iter().copied().chain([new]).collect();
        expected.sort_unstable();
        assert_eq!(archives(&sandbox), expected, "{now}");
    }
}

#[test]
fn a_start_never_overwrites_a_state() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    let before = sandbox.read(PHASE);
    sandbox.piton(["start", "dotagent", "--feature", "billing"]).run().expect_code(1);
    assert_eq!(sandbox.read(PHASE), before);
    sandbox.piton(["start", "dotagent", "--feature", "billing", "--archive"]).run().expect_code(0);
    assert_eq!(archives(&sandbox), [NEW]);
    assert_eq!(sandbox.read_json(PHASE)["workflow_id"], "billing");
}

#[test]
fn corrupt_state_is_archived_only_on_yes() {
    let sandbox = Sandbox::new();
    sandbox.file(PHASE, "{\"workflow_id\":\"user-auth\",");
    let before = sandbox.tree();
    sandbox.piton(["resume"]).run().expect_code(4);
    sandbox.piton(["archive"]).run().expect_code(9);
    assert_eq!(before.changes(&sandbox.tree()), Vec::<String>::new());
    sandbox.piton(["archive", "--yes"]).run().expect_code(0);
    assert_eq!(
        sandbox.read(&format!("{FOLDER}/unreadable_20260131T120000Z/phase.json")),
        "{\"workflow_id\":\"user-auth\","
    );
}

/// Answers the question of `resume` at a terminal, which `script` (part of every Debian) provides.
fn answer_at_a_terminal(sandbox: &Sandbox, answer: &str) -> i32 {
    let command = format!("'{}' --now {} resume", env!("CARGO_BIN_EXE_piton"), crate::support::NOW);
    sandbox.tool("/usr/bin/script", ["-qec", &command, "/dev/null"]).stdin(answer).run().code
}

#[test]
fn only_the_answer_that_says_so_archives_the_state() {
    for answer in ["n\n", "2\n", "what\n", ""] {
        let declined = project(&phase("REQUIREMENTS", "in_progress"));
        let before = declined.tree();
        assert_eq!(answer_at_a_terminal(&declined, answer), 9, "{answer:?}");
        assert_eq!(before.changes(&declined.tree()), Vec::<String>::new(), "{answer:?}");
    }
    for answer in ["fresh\n", "3\n", "archive it and start fresh\n"] {
        let archived = project(&phase("REQUIREMENTS", "in_progress"));
        assert_eq!(answer_at_a_terminal(&archived, answer), 0, "{answer:?}");
        assert_eq!(archives(&archived), [NEW], "{answer:?}");
        assert!(!archived.exists(PHASE), "{answer:?}");
    }
    let agreed = project(&phase("REQUIREMENTS", "in_progress"));
    assert_eq!(answer_at_a_terminal(&agreed, "y\n"), 0);
    assert_eq!(archives(&agreed), [""; 0]);
    assert!(agreed.exists(PHASE));
}
