//! What is said about the age, the words and the company of stories, and what the last agent left for the next.

use super::doubts::{STATE, epic, story};
use crate::support::{Output, Sandbox};

fn text(sandbox: &Sandbox, command: &str) -> Output {
    sandbox.piton(["--format", "text"].into_iter().chain(command.split(' '))).run()
}

fn finding(output: &Output, code: &str) -> serde_json::Value {
    let findings = output.at("/findings");
    let found = findings.as_array().into_iter().flatten().find(|finding| finding["code"] == code).cloned();
    found.unwrap_or_else(|| panic!("no {code}: {output}"))
}

/// Each age band has its recommendation (docs/formats/aios.md#age).
#[test]
fn each_age_band_has_its_advice() {
    let sandbox = epic();
    let state = sandbox.read(STATE);
    for (stamp, advice) in [
        ("2026-01-31T11:30:00Z", "Fresh -- Resume safely"),
        ("2026-01-31T08:00:00Z", "Recent -- Resume with quick validation"),
        ("2026-01-28T12:00:00Z", "Moderate -- Resume with careful validation"),
        ("2026-01-20T12:00:00Z", "Stale -- Consider restarting: the project may have changed significantly"),
    ] {
        let started = "2026-01-10T12:00:00Z";
        sandbox.file(STATE, &state.replace("2026-01-31T11:15:00Z", stamp).replace("2026-01-29T12:00:00Z", started));
        let plan = text(&sandbox, "plan");
        assert!(plan.stdout.contains(&format!("\nState age: {advice}\n")), "{plan}");
    }
}

/// A-M5: a story whose status is in no vocabulary is named, and nothing is resumed from it.
#[test]
fn an_unknown_story_status_is_listed() {
    let sandbox = epic();
    story(&sandbox, "7.1", "REVISADO");
    story(&sandbox, "7.2", "Scaffolded");
    let list = sandbox.piton(["list"]).run().expect_code(0);
    let unknown = finding(&list, "status-unknown");
    let expected = "status not known, so nothing is resumed from it: story 7.1 (`REVISADO`), 7.2 (`Scaffolded`)";
    assert_eq!((&unknown["message"], &unknown["severity"]), (&expected.into(), &"info".into()), "{list}");
    assert_eq!(list.at("/data/runs").as_array().map(Vec::len), Some(1));
    // Without any run they are named too.
    sandbox.remove(STATE);
    for (id, status) in [("5.1", "Done"), ("5.2", "Done")] {
        story(&sandbox, id, status);
    }
    let none = sandbox.piton(["list"]).run().expect_code(3);
    assert_eq!(finding(&none, "status-unknown")["message"], expected, "{none}");
}

/// A-M9: a second file of a story of an epic is named in its plan, and is no run of its own.
#[test]
fn a_story_that_stands_twice_is_named_in_the_plan() {
    let sandbox = epic();
    let copy = sandbox.read("docs/stories/5.2.story.md");
    sandbox.file("docs/stories/5.2.other.story.md", &copy);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(plan.at("/data/run/id"), "epic-5", "{plan}");
    let twice = finding(&plan, "duplicate-id");
    assert_eq!(twice["message"], "story 5.2 is in docs/stories/5.2.other.story.md too");
    let list = sandbox.piton(["list"]).run();
    assert_eq!(finding(&list, "duplicate-id")["message"], twice["message"]);
    assert_eq!(list.at("/data/runs").as_array().map(Vec::len), Some(1), "{list}");
}

/// A-M10: a missing plan is corrected in the state under the key of that state.
#[test]
fn a_missing_plan_names_no_key_of_another_system() {
    let sandbox = Sandbox::new();
    story(&sandbox, "5.2", "InProgress");
    sandbox.file(
        "plan/build-state.json",
        "{\"storyId\":\"5.2\",\"status\":\"in_progress\",\"startedAt\":\"2026-01-31T10:00:00Z\",\
         \"lastCheckpoint\":\"2026-01-31T11:00:00Z\",\"currentSubtask\":\"2\",\"completedSubtasks\":[\"1\"],\
         \"failedAttempts\":[],\"plan\":\"plan/none.yaml\",\"checkpoints\":[],\"schemaVersion\":\"1.0.0\"}",
    );
    let plan = sandbox.piton(["plan"]).run();
    let missing = finding(&plan, "plan-missing");
    assert_eq!(missing["fix"], "restore it, or correct its path in the state", "{plan}");
}

/// The newest hand-over of a story reaches its next agent, as untrusted text.
#[test]
fn a_hand_over_reaches_the_next_agent() {
    let sandbox = epic();
    let handoff = |name: &str, stamp: &str, story: &str, blocker: &str| {
        sandbox.file(
            &format!(".aios/handoffs/handoff-dev-to-qa-{name}.yaml"),
            &format!(
                "handoff:\n  version: \"1.0\"\n  timestamp: \"{stamp}\"\n  from_agent: dev\n  to_agent: qa\n  story_context: \
                 {{story_id: \"{story}\", story_status: InProgress}}\n  blockers: [\"{blocker}\"]\n  next_action: \"write {blocker}\"\n"
            ),
        );
    };
    handoff("1", "2026-01-31T10:00:00Z", "5.2", "old");
    handoff("2", "2026-01-31T11:00:00Z", "5.2", "the key\\nis missing");
    handoff("3", "2026-01-31T11:30:00Z", "5.3", "other");
    sandbox.file(".aios/handoffs/broken.yaml", ":::{");
    let brief = text(&sandbox, "begin 5.2").expect_code(0).stdout;
    let fence = brief.find("--- begin of untrusted text").expect("there is one");
    let blocker = brief.find("Blocker: the key is missing").unwrap_or_else(|| panic!("{brief}"));
    assert!(blocker > fence && brief.contains("Next action: write the key is missing"), "{brief}");
    assert!(!brief.contains("Blocker: old") && !brief.contains("Blocker: other"), "{brief}");
}

/// `=== Partial Resume Possible ===` for a spec whose artifact in the middle is gone or broken.
#[test]
fn a_spec_with_a_gap_is_resumed_in_part() {
    for research in [None, Some("{")] {
        let sandbox = Sandbox::new();
        let folder = "docs/stories/7.1/spec";
        sandbox.file(&format!("{folder}/requirements.json"), "{\"a\":1}");
        sandbox.file(&format!("{folder}/complexity.json"), "{\"result\":\"STANDARD\",\"totalScore\":12}");
        if let Some(research) = research {
            sandbox.file(&format!("{folder}/research.json"), research);
        }
        sandbox.file(&format!("{folder}/spec.md"), "# Spec\n");
        let plan = text(&sandbox, "plan").stdout;
        for line in [
            "=== Partial Resume Possible: Spec Pipeline ===",
            "  - Phase 2: Assess -- Output still valid",
            "  - Phase 4: Write -- Output still valid",
            "  - Phase 3: Research -- Output is missing or cannot be used",
            "Suggestion: Resume from Phase 3, using Phase 1-2 outputs.",
        ] {
            assert!(plan.contains(&format!("{line}\n")), "{line}\n{plan}");
        }
    }
}

/// A-M21: the phases of a spec have the numbers of its pipeline.
#[test]
fn the_phases_of_a_spec_keep_their_numbers() {
    let sandbox = Sandbox::new();
    let folder = "docs/stories/7.1/spec";
    sandbox.file(&format!("{folder}/requirements.json"), "{\"a\":1}");
    sandbox.file(&format!("{folder}/complexity.json"), "{\"result\":\"SIMPLE\",\"totalScore\":5}");
    sandbox.file(&format!("{folder}/spec.md"), "# Spec\n");
    let plan = text(&sandbox, "plan").stdout;
    assert!(plan.contains("\n  4. Write -- @pm -- Done\n") && plan.contains("-> Phase 5: Critique"), "{plan}");
}

/// `=== Resume Failed ===` names the kind of workflow, and its recommendation once.
#[test]
fn a_failed_resume_says_everything_once() {
    let sandbox = epic();
    sandbox.file(STATE, "x: [");
    let failed = text(&sandbox, "resume").expect_code(4).stderr;
    assert!(failed.starts_with("=== Resume Failed ===\nWorkflow: Epic Execution\n"), "{failed}");
    assert_eq!(failed.matches("correct the file by hand").count(), 1, "{failed}");
    let json = sandbox.piton(["resume"]).run().expect_code(4);
    assert!(json.at("/error/hints/0").as_str().unwrap_or_default().contains("correct the file by hand"), "{json}");
}

/// A-M20: the orchestration log has no fractions of seconds.
#[test]
fn the_orchestration_log_counts_seconds() {
    let sandbox = epic();
    sandbox.piton(["resume", "--mode", "autopilot", "--yes"]).real_clock().run().expect_code(0);
    let log = sandbox.read(".aios/orchestration-log-20260129T120000Z.md");
    let stamp = log.split(']').next().unwrap_or_default();
    assert!(stamp.starts_with("[2") && stamp.ends_with('Z') && !stamp.contains('.'), "{log}");
}

/// A-M8: runs of the same age come in the natural order of their names.
#[test]
fn stories_are_listed_in_natural_order() {
    let sandbox = Sandbox::new();
    for id in ["3.1", "3.10", "3.11", "3.2"] {
        story(&sandbox, id, "InProgress");
        sandbox.modified(&format!("docs/stories/{id}.story.md"), 1_769_860_000);
    }
    let list = sandbox.piton(["list"]).run().expect_code(0);
    let runs = list.at("/data/runs");
    let ids: Vec<&str> = runs.as_array().into_iter().flatten().filter_map(|run| run["id"].as_str()).collect();
    assert_eq!(ids, ["sdc-3.1", "sdc-3.2", "sdc-3.10", "sdc-3.11"], "{list}");
}
