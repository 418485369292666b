//! Archives: how many, which, under which names (docs/formats/dotagent.md#archive).

use serde_json::json;

use super::{EXECUTION, PHASE, phase, project};
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
    "billing_20260102T000000Z",
    "user-auth_20260103T000000Z",
    "user-auth_20260104T000000Z",
    "user-auth_20260105T000000Z",
    "user-auth_20260106T000000Z",
];
const NEW: &str = "user-auth_20260131T120000Z";

#[test]
fn the_newest_five_of_all_workflows_stay() {
    for (before, kept) in
        [(&DAYS[..3], &DAYS[..3]), (&DAYS[..4], &DAYS[..4]), (&DAYS[..5], &DAYS[1..5]), (&DAYS[..6], &DAYS[2..6])]
    {
        let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
        sandbox.file(EXECUTION, r#"{"tasks":[]}"#);
        let foreign = ["user-auth_notes", "user-auth_2020", "other"];
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

/// A-D11: the limit counts over all ids, at every archiving and with `archive --all`.
#[test]
fn the_limit_counts_archives_of_all_ids() {
    let sandbox = Sandbox::new();
    for at in 1..=7 {
        let (feature, now) = (format!("g{at}"), format!("2026-01-31T12:0{at}:00Z"));
        sandbox.piton(["start", "dotagent", "--feature", &feature]).now(&now).run().expect_code(0);
        sandbox.piton(["archive", "--yes"]).now(&now).run().expect_code(0);
    }
    let names = |sandbox: &Sandbox| -> Vec<String> {
        archives(sandbox).into_iter().map(|name| name.split('_').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(names(&sandbox), ["g3", "g4", "g5", "g6", "g7"]);
    sandbox.file("piton.toml", "[limits]\narchives = 2\n");
    let before = sandbox.tree();
    let proposed = sandbox.piton(["archive", "--all", "--after", "0"]).run().expect_code(9);
    assert_eq!(proposed.at("/data/items/0/removes"), true, "{proposed}");
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
    sandbox.piton(["archive", "--all", "--after", "0", "--yes"]).run().expect_code(0);
    assert_eq!(names(&sandbox), ["g6", "g7"]);
}

/// A-D12: an archived run is listed, shown, and brought back unless another is in its place.
#[test]
fn an_archived_run_is_listed_shown_and_brought_back() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    sandbox.file(EXECUTION, r#"{"tasks":[]}"#);
    let before = (sandbox.read(PHASE), sandbox.read(EXECUTION));
    let archived = sandbox.piton(["archive", "--yes"]).run().expect_code(0);
    let folder = format!("{FOLDER}/{NEW}");
    assert_eq!(archived.at("/data/restore"), format!("piton restore ./{folder}"));
    sandbox.piton(["list"]).run().expect_code(3);
    let list = sandbox.piton(["list", "--all"]).run().expect_code(0);
    assert_eq!(
        (list.at("/data/runs/0/id"), list.at("/data/runs/0/state")),
        ("user-auth".into(), folder.clone().into())
    );
    assert_eq!(list.at("/data/runs/0/lifecycle/stage"), "archived");
    for name in ["user-auth", "1", &folder] {
        let plan = sandbox.piton(["plan", name]).run().expect_code(3);
        assert_eq!(plan.at("/data/verdict"), "nothing", "{name}: {plan}");
        assert_eq!(plan.at("/findings/0/fix"), format!("piton restore ./{folder}"), "{name}");
        assert_eq!(
            sandbox.piton(["history", name]).run().expect_code(0).at("/data/checkpoints/0/replaced_by"),
            "archive"
        );
        let refused = sandbox.piton(["begin", "--run", name]).run().expect_code(1);
        assert_eq!(refused.at("/error/hints/0"), format!("piton restore ./{folder}"), "{name}");
    }
    // Another run is there now.
    sandbox.piton(["start", "dotagent", "--feature", "billing"]).run().expect_code(0);
    let refused = sandbox.piton(["restore", "user-auth"]).run().expect_code(1);
    assert_eq!(refused.at("/error/hints/0"), "piton archive ./memory/state/phase.json --yes", "{refused}");
    sandbox.piton(["archive", "./memory/state/phase.json", "--yes"]).run().expect_code(0);
    sandbox.piton(["restore", "user-auth"]).run().expect_code(0);
    assert_eq!((sandbox.read(PHASE), sandbox.read(EXECUTION)), before);
    assert!(!sandbox.exists(&folder), "{:?}", archives(&sandbox));
    sandbox.piton(["plan"]).run().expect_code(0);
}

/// A-D12: archives of the other systems are listed and brought back too, and so are own workflows.
#[test]
fn archives_of_every_system_are_brought_back() {
    let nine_step = Sandbox::with_git();
    nine_step.piton(["start", "nine-step", "--feature", "quotes", "--phases", "1"]).run().expect_code(0);
    let own = Sandbox::new();
    own.file("m.yaml", "name: m\nsteps:\n  - {id: one, agent: a}\n");
    own.piton(["start", "m.yaml", "--feature", "v1"]).run().expect_code(0);
    own.piton(["start", "m.yaml", "--feature", "v2"]).run().expect_code(0);
    let aios = crate::cli::aios::doubts::epic();
    for (sandbox, run) in [(nine_step, "quotes"), (own, "v2"), (aios, "epic-5")] {
        let before = sandbox.tree().without(".piton");
        sandbox.piton(["archive", run, "--yes"]).run().expect_code(0);
        let list = sandbox.piton(["list", "--all"]).run().expect_code(0).to_string();
        assert!(list.contains("archived"), "{list}");
        let shown = sandbox.piton(["plan", run]).run().expect_code(3);
        assert!(shown.findings().iter().any(|code| code.contains("session-archived")), "{shown}");
        sandbox.piton(["restore", run]).run().expect_code(0);
        assert_eq!(before.changes(&sandbox.tree().without(".piton")), [""; 0], "{run}");
        sandbox.piton(["plan", run]).run();
    }
}

/// A-D12: a run that its own system counts as over is listed, and archived without a name if it is the only one.
#[test]
fn a_run_that_is_over_is_listed_and_archived_without_a_name() {
    let sandbox = crate::cli::aios::doubts::epic();
    let state = sandbox.read(crate::cli::aios::doubts::STATE);
    sandbox.file(crate::cli::aios::doubts::STATE, &state.replace("status: active", "status: aborted"));
    let list = sandbox.piton(["list", "--all"]).run().expect_code(0);
    let runs = list.at("/data/runs");
    let stages =
        runs.as_array().into_iter().flatten().map(|run| (run["id"].clone(), run["lifecycle"]["stage"].clone()));
    assert!(stages.into_iter().any(|row| row == ("epic-5".into(), "aborted".into())), "{list}");
}
