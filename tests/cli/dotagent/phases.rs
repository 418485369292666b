//! Every phase with its output absent, valid, invalid and older than the run (docs/formats/dotagent.md#resume-point).

use serde_json::json;

use super::{approve, fresh, old, outcome, output_of, phase, plan, project};
use crate::support::Sandbox;

type Put = fn(&Sandbox, &str, &str);

fn absent(_: &Sandbox, _: &str, _: &str) {}

const GOOD: &str = r#"{"title":"made in this run"}"#;
const STATES: [(&str, Put, &str); 7] = [
    ("absent", absent, ""),
    ("valid", fresh, GOOD),
    ("invalid", fresh, r#"{"title":"#),
    ("empty", fresh, ""),
    ("hollow", fresh, "{}"),
    ("another's", fresh, r#"{"workflow_id":"another","title":"x"}"#),
    ("older", old, GOOD),
];

/// Checks one phase in all states of its output: `valid` is the plan with a valid output, `otherwise` with any other.
fn check(name: &str, output: &str, approved: &[&str], valid: &str, otherwise: &str) {
    for (state, put, text) in STATES {
        let mut phase = phase(name, "in_progress");
        for name in approved {
            approve(&mut phase, name);
        }
        let sandbox = project(&phase);
        put(&sandbox, output, text);
        let expected = if state == "valid" { valid } else { otherwise };
        let output = plan(&sandbox);
        assert_eq!(outcome(&output), expected, "{name}, output {state}\n{output}");
    }
}

#[test]
fn requirements_are_approved_or_done_again() {
    let output = "memory/reports/demand.json";
    check("REQUIREMENTS", output, &[], "blocked: approve REQUIREMENTS:approval", "resume: retry REQUIREMENTS pm");
    check(
        "REQUIREMENTS",
        output,
        &["REQUIREMENTS"],
        "resume: run ARCHITECTURE:designs architect",
        "resume: retry REQUIREMENTS pm",
    );
}

#[test]
fn designs_are_presented_again_and_never_made_again() {
    let output = "memory/reports/designs/one.json";
    let again = "resume: retry ARCHITECTURE:designs architect";
    check("ARCHITECTURE", output, &[], "blocked: approve ARCHITECTURE:approval", again);
    check("ARCHITECTURE", output, &["ARCHITECTURE"], "resume: run ARCHITECTURE:final roundtable", again);
}

#[test]
fn the_final_design_leads_to_implementation() {
    let output = output_of("ARCHITECTURE").expect("it has one");
    for (state, put, text) in STATES {
        let mut phase = phase("ARCHITECTURE", "in_progress");
        approve(&mut phase, "ARCHITECTURE");
        let sandbox = project(&phase);
        fresh(&sandbox, "memory/reports/designs/one.json", GOOD);
        put(&sandbox, output, text);
        let expected = match state {
            "valid" => "resume: run IMPLEMENTATION executor",
            // Nothing of this run says that it was begun.
            "absent" | "older" => "resume: run ARCHITECTURE:final roundtable",
            _ => "resume: retry ARCHITECTURE:final roundtable",
        };
        let output = plan(&sandbox);
        assert_eq!(outcome(&output), expected, "{state}\n{output}");
    }
    // A final design was chosen, even without designs and without an approval on record.
    let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
    fresh(&sandbox, output, GOOD);
    assert_eq!(outcome(&plan(&sandbox)), "resume: run IMPLEMENTATION executor");
}

#[test]
fn verification_leads_to_reflection() {
    let output = "memory/reports/verification.json";
    for (state, put, text) in STATES {
        let sandbox = project(&phase("VERIFICATION", "in_progress"));
        sandbox.file(super::EXECUTION, r#"{"tasks":[]}"#);
        put(&sandbox, output, text);
        let expected =
            if state == "valid" { "resume: run REFLECTION reflector" } else { "resume: retry VERIFICATION qa" };
        let output = plan(&sandbox);
        assert_eq!(outcome(&output), expected, "{state}\n{output}");
    }
}

#[test]
fn reflection_ends_the_workflow() {
    for (state, put, text) in STATES {
        let sandbox = project(&phase("REFLECTION", "in_progress"));
        sandbox.file(super::EXECUTION, r#"{"tasks":[]}"#);
        old(&sandbox, "memory/reflections/2025.json", GOOD);
        fresh(&sandbox, "memory/reflections/_aggregate.json", GOOD);
        put(&sandbox, "memory/reflections/new.json", text);
        let output = plan(&sandbox);
        let expected = if state == "valid" { "complete: archive " } else { "resume: retry REFLECTION reflector" };
        assert!(outcome(&output).starts_with(expected), "{state}\n{output}");
    }
}

#[test]
fn implementation_without_tasks_goes_to_the_executor() {
    let sandbox = project(&phase("IMPLEMENTATION", "in_progress"));
    sandbox.file(super::EXECUTION, r#"{"tasks":[]}"#);
    assert_eq!(outcome(&plan(&sandbox)), "resume: retry IMPLEMENTATION executor");
}

#[test]
fn a_completed_phase_is_proved_again() {
    let at = json!("memory/reports/demand.json");
    for (state, put, text, code) in [
        ("absent", absent as Put, "", "output-missing"),
        ("invalid", fresh, "{", "output-unparsable"),
        ("older", old, GOOD, "output-older"),
        ("another's", fresh, r#"{"workflow_id":"another"}"#, "output-rejected"),
    ] {
        let sandbox = project(&phase("ARCHITECTURE", "in_progress"));
        sandbox.remove(at.as_str().expect("text"));
        put(&sandbox, at.as_str().expect("text"), text);
        let output = plan(&sandbox).expect_code(9);
        assert!(outcome(&output).starts_with("confirm: retry REQUIREMENTS pm"), "{state}\n{output}");
        assert!(output.findings().contains(&code.to_owned()), "{state}\n{output}");
        assert_eq!(output.at("/data/question/text"), "State appears corrupted. Start fresh?", "{state}");
        assert_eq!(output.at("/data/question/default"), "no", "{state}");
        assert_eq!(output.at("/data/question/options/0/command"), "piton archive user-auth --yes", "{state}");
        sandbox.piton(["resume", "--mode", "autopilot"]).run().expect_code(9);
    }
}

/// Membership decides (docs/formats/dotagent.md#resume-point).
#[test]
fn no_status_of_a_phase_makes_a_run_vanish() {
    for (current, status, is_member, expected, code) in [
        ("ARCHITECTURE", "complete", false, "resume: run ARCHITECTURE:designs architect", 0),
        ("ARCHITECTURE", "complete", true, "resume: run IMPLEMENTATION executor", 0),
        ("ARCHITECTURE", "pending", false, "resume: run ARCHITECTURE:designs architect", 0),
        ("ARCHITECTURE", "pending", true, "confirm: run IMPLEMENTATION executor", 9),
        ("ARCHITECTURE", "failed", false, "confirm: retry ARCHITECTURE:designs architect", 9),
        ("REQUIREMENTS", "failed", false, "confirm: retry REQUIREMENTS pm", 9),
        ("REQUIREMENTS", "complete", false, "resume: run REQUIREMENTS pm", 0),
        ("REFLECTION", "complete", false, "resume: run REFLECTION reflector", 0),
        ("REFLECTION", "complete", true, "complete: archive REFLECTION", 0),
    ] {
        let mut phase = phase(current, status);
        if is_member {
            let entry = json!({ "phase": current, "completed_at": "2026-01-31T11:20:00Z" });
            phase["completed_phases"].as_array_mut().expect("a list").push(entry);
            approve(&mut phase, current);
        }
        let sandbox = project(&phase);
        if current == "REFLECTION" {
            sandbox.file(super::EXECUTION, r#"{"tasks":[]}"#);
        }
        let output = plan(&sandbox).expect_code(code);
        assert_eq!(outcome(&output), expected, "{current} {status}, member: {is_member}\n{output}");
    }
}

#[test]
fn requirements_that_are_complete_wait_for_the_user_until_the_next_phase_has_begun() {
    let mut between = phase("ARCHITECTURE", "complete");
    between["user_checkpoints"] = json!([]);
    assert_eq!(outcome(&plan(&project(&between))), "blocked: approve REQUIREMENTS:approval");
    between["phase_status"] = json!("in_progress");
    assert_eq!(outcome(&plan(&project(&between))), "resume: retry ARCHITECTURE:designs architect");
}
