//! Problems of a state, and their text output (docs/formats/dotagent.md#validation, docs/formats/dotagent.md#messages).

use serde_json::{Value, json};

use super::{PHASE, phase, plan, project};
use crate::support::Sandbox;

#[test]
fn a_contradictory_state_is_called_corrupted() {
    let entry = |phase: &str| json!({ "phase": phase, "completed_at": "2026-01-31T11:00:00Z" });
    let cases: [(&str, &str, Value); 6] = [
        ("a gap", "/completed_phases", json!([entry("ARCHITECTURE")])),
        ("twice", "/completed_phases", json!([entry("REQUIREMENTS"), entry("REQUIREMENTS")])),
        ("ahead", "/current_phase", json!("VERIFICATION")),
        ("unknown", "/current_phase", json!("DESIGN")),
        ("started after", "/started_at", json!("2026-01-31T11:45:00Z")),
        ("approved before", "/user_checkpoints/0/approved_at", json!("2026-01-31T09:00:00Z")),
    ];
    for (name, pointer, value) in cases {
        let mut phase = phase("ARCHITECTURE", "in_progress");
        *phase.pointer_mut(pointer).expect("it is there") = value;
        let sandbox = project(&phase);
        let before = sandbox.tree();
        let output = plan(&sandbox);
        assert!(output.findings().contains(&"state-corrupt".to_owned()), "{name}\n{output}");
        assert_eq!(output.at("/data/question/text"), "State appears corrupted. Start fresh?", "{name}");
        assert_eq!(output.code, 9, "{name}");
        sandbox.piton(["resume", "--mode", "autopilot"]).run().expect_code(9);
        assert_eq!(before.changes(&sandbox.tree()), Vec::<String>::new(), "{name}: no bytes move before a yes");
    }
}

#[test]
fn five_minutes_of_skew_are_no_corruption() {
    let mut phase = phase("ARCHITECTURE", "in_progress");
    phase["last_updated"] = json!("2026-01-31T12:05:00Z");
    assert_eq!(plan(&project(&phase)).expect_code(0).findings(), Vec::<String>::new());
}

/// S-16: a clock that was ahead once is no corruption, and one finding for all stamps.
#[test]
fn stamps_in_the_future_are_no_corruption() {
    let mut ahead = phase("ARCHITECTURE", "in_progress");
    ahead["last_updated"] = json!("2026-01-31T12:05:01Z");
    let output = plan(&project(&ahead)).expect_code(0);
    assert_eq!(output.findings().iter().filter(|code| *code == "time-in-future").count(), 1, "{output}");
    let sound = project(&phase("ARCHITECTURE", "in_progress"));
    let output = sound.piton(["plan"]).now("2025-01-31T12:00:00Z").run().expect_code(0);
    assert_eq!(output.findings(), ["time-in-future", "age-unknown"], "{output}");
    assert_ne!(output.at("/data/question/text"), "State appears corrupted. Start fresh?");
}

#[test]
fn a_marker_on_a_sound_file_is_a_warning_and_goes_with_the_next_write() {
    let mut phase = phase("ARCHITECTURE", "in_progress");
    phase["interruption_safe"] = json!(false);
    let sandbox = project(&phase);
    assert_eq!(plan(&sandbox).expect_code(0).findings(), ["interrupted-write"]);
    sandbox.piton(["begin", "ARCHITECTURE:designs"]).run().expect_code(0);
    assert_eq!(sandbox.read_json(PHASE)["interruption_safe"], true);
    phase["current_phase"] = json!("VERIFICATION");
    assert!(plan(&project(&phase)).expect_code(9).findings().iter().all(|code| code != "interrupted-write"));
}

#[test]
fn temporary_files_beside_the_state_are_named() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    sandbox.file("memory/state/phase.json.tmp", "{");
    assert_eq!(plan(&sandbox).expect_code(0).findings(), ["temporary-left"]);
}

#[test]
fn old_state_is_looked_at_first() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    let output = sandbox.piton(["plan"]).now("2026-02-10T12:00:00Z").run().expect_code(9);
    assert!(output.findings().contains(&"age-stale".to_owned()), "{output}");
    let mut long = phase("ARCHITECTURE", "in_progress");
    long["last_updated"] = json!("2026-02-10T11:00:00Z");
    let output = project(&long).piton(["plan"]).now("2026-02-10T12:00:00Z").run().expect_code(9);
    assert_eq!(output.at("/findings/0/message"), "the workflow was started 10 days ago");
}

#[test]
fn a_clock_a_year_off_changes_no_byte() {
    // An old state is looked at first; one from the future is sound (S-16).
    for (now, code) in [("2027-01-31T12:00:00Z", 9), ("2025-01-31T12:00:00Z", 0)] {
        let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
        let before = sandbox.tree();
        sandbox.piton(["plan"]).now(now).run().expect_code(code);
        if code == 9 {
            sandbox.piton(["resume"]).now(now).run().expect_code(9);
        }
        assert_eq!(before.changes(&sandbox.tree()), Vec::<String>::new(), "{now}");
        sandbox.piton(["begin", "ARCHITECTURE:designs"]).now(now).run().expect_code(0);
        let state = sandbox.read_json(PHASE);
        assert!(state["last_updated"].as_str().expect("text") >= "2026-01-31T11:30:00Z", "stamps never run backwards");
    }
}

#[test]
fn the_messages_are_the_skills_own() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    sandbox.piton(["begin", "ARCHITECTURE:designs"]).session("lost").run().expect_code(0);
    let messages = |verb: &str, now: &str| {
        let output = sandbox.piton([verb, "--format", "text"]).now(now).run();
        let is_message = |line: &&str| !line.starts_with(['→', ' ']) && line.contains("workflow");
        let messages: Vec<String> = output.stdout.lines().filter(is_message).map(str::to_owned).collect();
        (messages, output)
    };
    let (said, output) = messages("plan", "2026-01-31T14:30:00Z");
    assert_eq!(
        said,
        [
            "Detected interrupted workflow: user-auth",
            "Would resume workflow user-auth from ARCHITECTURE phase",
            "Resume workflow from ARCHITECTURE?"
        ]
    );
    assert!(output.stdout.contains("Last activity: 2026-01-31T12:00:00Z\nCompleted: REQUIREMENTS\n"), "{output}");
    sandbox.piton(["resume", "--yes"]).run().expect_code(0);
}

#[test]
fn a_run_that_was_just_begun_is_not_called_interrupted() {
    let sandbox = Sandbox::new();
    sandbox.file("m.yaml", "name: m\nsteps:\n  - {id: copy, agent: dba}\n  - {id: check, agent: qa}\n");
    for start in [["start", "dotagent", "--feature", "login"], ["start", "m.yaml", "--feature", "m1"]] {
        sandbox.piton(start).run().expect_code(0);
        let text = sandbox.piton(["plan", start[3], "--format", "text"]).run().expect_code(0).stdout;
        assert!(text.starts_with("Plan for ") && !text.contains("nterrupted"), "{text}");
        if start[1] != "dotagent" {
            continue;
        }
        // An hour later it is, in the words of its system.
        let later = sandbox.piton(["plan", start[3], "--format", "text"]).now("2026-01-31T14:00:00Z");
        let text = later.run().stdout;
        assert!(text.starts_with("Detected interrupted workflow: "), "{text}");
    }
    // A finished run says nothing of a resume, and the name of its workflow stands where that of its format stood.
    for step in ["copy", "check"] {
        sandbox.piton(["finish", step, "--run", "m1"]).run().expect_code(0);
    }
    let text = sandbox.piton(["plan", "m1", "--format", "text"]).run().expect_code(0).stdout;
    assert!(text.starts_with("Plan for m1  m\n  Verdict      complete"), "{text}");
}

#[test]
fn a_lost_output_is_said_once_and_its_phase_is_not_called_completed() {
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    sandbox.remove("memory/reports/demand.json");
    let text = sandbox.piton(["plan", "--format", "text"]).run().expect_code(9).stdout;
    for line in [
        "Completed: REQUIREMENTS (to be redone)\n",
        "  Interrupted  context_lost at REQUIREMENTS\n",
        "      REQUIREMENTS must be redone: its output memory/reports/demand.json is missing\n",
    ] {
        assert_eq!(text.matches(line).count(), 1, "{line}\n{text}");
    }
}

#[test]
fn projects_below_the_root_are_found_and_look_alikes_named() {
    let sandbox = Sandbox::new();
    sandbox.file("apps/web/memory/state/phase.json", &phase("REQUIREMENTS", "in_progress").to_string());
    super::fresh(&sandbox, "apps/web/memory/reports/demand.json", r#"{"title":"x"}"#);
    sandbox.file("apps/other/memory/state/phase.json", r#"{"phase":"moon"}"#);
    let output = sandbox.piton(["list"]).run().expect_code(0);
    assert_eq!(output.at("/data/runs/0/state"), "apps/web/memory/state/phase.json");
    assert!(output.findings().contains(&"look-alike".to_owned()), "{output}");
    let output = plan(&sandbox);
    assert_eq!(super::outcome(&output), "blocked: approve REQUIREMENTS:approval");
    sandbox.piton(["approve", "requirements"]).run().expect_code(0);
    assert_eq!(super::outcome(&plan(&sandbox)), "resume: run ARCHITECTURE:designs architect");
}
