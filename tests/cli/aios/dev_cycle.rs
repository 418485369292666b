//! The six phases of a story: where a cycle continues after its last saved result.

use serde_json::Value;

use crate::support::Sandbox;

const STATE: &str = ".aiox/workflow-state/1.1-state.yaml";

fn state(current: &str, results: &[(&str, &str)]) -> String {
    let mut text = format!(
        "workflowId: development-cycle\ncurrentPhase: {current}\ncurrentStory: docs/stories/1.1.story.md\n\
         executor: '@dev'\nqualityGate: '@architect'\nattemptCount: 1\nstartedAt: 2026-01-31T11:00:00.000Z\n\
         lastUpdated: 2026-01-31T11:30:00.000Z\nphaseResults:\n"
    );
    for (phase, status) in results {
        text.push_str(&format!("  {phase}:\n    status: {status}\n"));
    }
    text
}

fn story(sandbox: &Sandbox, id: &str, status: &str) {
    sandbox.file(&format!("docs/stories/{id}.story.md"), &format!("# Story {id}: One\n\n**Status:** {status}\n"));
}

#[test]
fn a_cycle_continues_after_the_last_saved_phase() {
    let (done, skipped, failed) = ("completed", "skipped", "failed");
    for (current, results, expected) in [
        ("1_validation", vec![("1_validation", done)], Some(("2_development", "run", "dev"))),
        (
            "3_self_healing",
            vec![("1_validation", done), ("2_development", done), ("3_self_healing", skipped)],
            Some(("4_quality_gate", "run", "architect")),
        ),
        (
            "2_development",
            vec![("1_validation", done), ("2_development", failed)],
            Some(("2_development", "retry", "dev")),
        ),
        // It was begun but never finished.
        ("2_development", vec![("1_validation", done)], Some(("2_development", "retry", "dev"))),
        // A result of a later phase belongs to an earlier round.
        ("1_validation", vec![("1_validation", done), ("2_development", done)], None),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file(STATE, &state(current, &results));
        story(&sandbox, "1.1", if current == "1_validation" && results.len() == 1 { "Ready" } else { "InProgress" });
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.at("/data/run/id"), "dev-1.1");
        match expected {
            Some((step, action, agent)) => {
                assert_eq!(plan.at("/data/next/0/step"), step, "{results:?}");
                assert_eq!(plan.at("/data/next/0/action"), action, "{results:?}");
                assert_eq!(plan.at("/data/next/0/agent"), agent, "{results:?}");
                assert_eq!(plan.at("/data/next/1"), Value::Null, "{results:?}");
            }
            None => {
                let plan = plan.expect_code(9);
                assert_eq!(plan.at("/data/verdict"), "blocked");
                assert_eq!(plan.at("/findings/0/code"), "state-corrupt");
                let text = sandbox.piton(["--format", "text", "plan"]).run().expect_code(9).stdout;
                assert!(text.contains("piton archive dev-1.1 --yes") && !text.contains("--from"), "{text}");
            }
        }
    }
}

#[test]
fn of_several_runs_autopilot_takes_the_newest_and_a_person_chooses() {
    let sandbox = Sandbox::new();
    let older = state("1_validation", &[("1_validation", "completed")]);
    sandbox.file(STATE, &older);
    story(&sandbox, "1.1", "Ready");
    story(&sandbox, "1.2", "Ready");
    sandbox.file(
        ".aiox/workflow-state/1.2-state.yaml",
        &older.replace("1.1.story", "1.2.story").replace("11:30", "11:45"),
    );
    sandbox.piton(["plan"]).run().expect_code(8);
    let plan = sandbox.piton(["--mode", "autopilot", "plan"]).run().expect_code(0);
    assert_eq!(plan.at("/data/run/id"), "dev-1.2");
}
