//! Waves of stories behind gates: where an epic continues, and what its stories say against it.

use serde_json::{Value, json};

use crate::support::Sandbox;

const STATE: &str = ".aios/epic-5-state.yaml";
const PLAN: &str = "docs/stories/epics/five/EPIC-5-EXECUTION.yaml";

const EXECUTION: &str = "execution:
  epicId: 5
  storyBasePath: docs/stories/epics/five
  stories:
    5.1: { file: 5.1.story.md, title: First, executor: dev }
    5.2: { file: 5.2.story.md, executor: \"@dev\" }
    5.10: { file: 5.10.story.md, executor: dev }
  waves:
    - { wave: 1, parallel: true, stories: [5.2, 5.1], dependencies: [], gate: { agent: architect } }
    - { wave: 2, parallel: false, stories: [5.10], dependencies: [wave-1], gate: { agent: qa } }
  final_gate: { agent: po }
";

/// An epic of two waves with the statuses of its stories and waves, and what its gates said.
fn epic(statuses: [&str; 3], waves: [&str; 2], gates: &str) -> String {
    let [a, b, c] = statuses;
    let [first, second] = waves;
    format!(
        "epic_state:\n  epicId: 5\n  execution_plan: {PLAN}\n  mode: yolo\n  started_at: \"2026-01-31T10:00:00Z\"\n  \
         updated_at: \"2026-01-31T11:30:00Z\"\n  status: active\n  current_wave: 1\n  total_waves: 2\n  waves:\n    1:\n      \
         name: Base\n      status: {first}\n      stories:\n        5.1: {{ status: {a} }}\n        \"5.2\": {{ status: {b} \
         }}\n    \"2\":\n      name: Top\n      status: {second}\n      stories:\n        5.10:\n          status: {c}\n  \
         gate_verdicts: {gates}\n"
    )
}

fn story(sandbox: &Sandbox, id: &str, status: &str) {
    let path = format!("docs/stories/epics/five/{id}.story.md");
    sandbox.file(&path, &format!("# Story {id}: Of the five\n\n**Status:** {status}\n\n## Tasks\n- [x] a\n- [ ] b\n"));
}

/// A sandbox in which the stories say what the state says.
fn sandbox(statuses: [&str; 3], waves: [&str; 2], gates: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &epic(statuses, waves, gates)).file(PLAN, EXECUTION);
    for (id, status) in ["5.1", "5.2", "5.10"].into_iter().zip(statuses) {
        let said = match status {
            "completed" => "Done",
            "in_progress" => "InProgress",
            "skipped" => "Deferred",
            _ => "Draft",
        };
        story(&sandbox, id, said);
    }
    sandbox
}

fn next(plan: &Value) -> Vec<String> {
    let word = |next: &Value, key: &str| next[key].as_str().unwrap_or_default().to_owned();
    let all = plan.as_array().into_iter().flatten();
    all.map(|next| format!("{} {}", word(next, "action"), word(next, "step"))).collect()
}

#[test]
fn an_epic_continues_in_the_first_open_wave() {
    let approved = "{ 1: { status: approved, agent: architect } }";
    for (statuses, waves, gates, code, expected) in [
        (["completed", "pending", "pending"], ["in_progress", "pending"], "{}", 0, vec!["run 5.2"]),
        // Parallel where the plan says so, and in its order.
        (["pending", "pending", "pending"], ["pending", "pending"], "{}", 0, vec!["run 5.2", "run 5.1"]),
        (["completed", "in_progress", "pending"], ["in_progress", "pending"], "{}", 0, vec!["retry 5.2"]),
        (["completed", "skipped", "pending"], ["in_progress", "pending"], "{}", 0, vec!["run gate-1"]),
        (["completed", "completed", "pending"], ["completed", "pending"], approved, 0, vec!["run 5.10"]),
        // Approved, and it is unknown whether the branches were merged.
        (["completed", "completed", "pending"], ["gate_review", "pending"], approved, 9, vec!["verify merge-1"]),
        (["completed", "completed", "completed"], ["completed", "completed"], "{}", 0, vec!["run final-gate"]),
        // The gate decided before a story was reopened: nothing after it is begun, and nothing is merged.
        (["completed", "in_progress", "pending"], ["in_progress", "pending"], approved, 9, vec!["retry 5.2"]),
        (["completed", "pending", "pending"], ["completed", "pending"], "{}", 9, vec!["run 5.2"]),
        (["completed", "odd", "pending"], ["in_progress", "pending"], "{}", 9, vec![]),
        (["completed", "blocked", "pending"], ["in_progress", "pending"], "{}", 9, vec!["run 5.2"]),
        (["completed", "failed", "pending"], ["in_progress", "pending"], "{}", 9, vec!["retry 5.2"]),
    ] {
        let sandbox = sandbox(statuses, waves, gates);
        let plan = sandbox.piton(["plan"]).run().expect_code(code);
        assert_eq!(plan.at("/data/run/id"), "epic-5");
        assert_eq!(plan.at("/data/run/title"), "Epic Execution for Epic 5");
        assert_eq!(next(&plan.at("/data/next")), expected, "{statuses:?} {waves:?} {gates}");
    }
}

#[test]
fn a_story_with_only_a_status_has_that_status() {
    let sandbox = sandbox(["completed", "in_progress", "pending"], ["in_progress", "pending"], "{}");
    let state = sandbox.read(STATE);
    sandbox.file(STATE, &state.replace("5.1: { status: completed }", "5.1: completed"));
    let plan = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!(next(&plan.at("/data/next")), ["retry 5.2"]);
}

#[test]
fn an_active_state_is_out_of_date_beside_a_newer_one_that_is_over() {
    let sandbox = sandbox(["completed", "in_progress", "pending"], ["in_progress", "pending"], "{}");
    let state = sandbox.read(STATE);
    let over = state.replace("status: active", "status: completed");
    sandbox.file(".aiox/epic-5-state.yaml", &over.replace("T11:30", "T11:40"));
    let list = sandbox.piton(["list"]).run().expect_code(3);
    assert!(list.findings().iter().any(|finding| finding.contains("state-leftover")), "{list}");
    // An older finished one says nothing against a newer open one.
    sandbox.file(".aiox/epic-5-state.yaml", &over.replace("T11:30", "T11:20"));
    assert_eq!(sandbox.piton(["plan", "--steps"]).run().expect_code(0).at("/data/run/state_files/0"), STATE);
}

#[test]
fn a_rejected_gate_is_for_a_person() {
    let gates = "{ 1: { status: rejected, agent: architect, issues: too slow } }";
    let sandbox = sandbox(["completed", "completed", "pending"], ["gate_review", "pending"], gates);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert!(plan.findings().iter().any(|code| code.contains("rejected")), "{:?}", plan.findings());
}

#[test]
fn stories_are_compared_with_the_state() {
    for (statuses, told, verdict) in [
        (["completed", "pending", "pending"], ("5.1", "Ready for Review"), "confirm"),
        (["completed", "pending", "pending"], ("5.2", "Done"), "blocked"),
        (["completed", "pending", "pending"], ("5.2", "Ready"), "resume"),
        (["completed", "in_progress", "pending"], ("5.2", "Draft"), "blocked"),
        (["completed", "pending", "pending"], ("5.2", "Whatever"), "confirm"),
    ] {
        let sandbox = sandbox(statuses, ["in_progress", "pending"], "{}");
        story(&sandbox, told.0, told.1);
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.at("/data/verdict"), verdict, "{told:?}");
        let found = plan.at("/findings");
        let drift = found.as_array().unwrap().iter().find(|finding| finding["code"] == "story-drift").unwrap();
        assert_eq!(drift["line"], 3);
        assert_eq!(drift["step"], told.0);
    }
}

#[test]
fn an_unknown_status_is_not_compared_with_a_story() {
    let sandbox = sandbox(["completed", "odd", "pending"], ["in_progress", "pending"], "{}");
    story(&sandbox, "5.2", "InProgress");
    let findings = sandbox.piton(["plan"]).run().expect_code(9).findings();
    assert!(findings.iter().any(|finding| finding.contains("status-unknown")), "{findings:?}");
    assert!(!findings.iter().any(|finding| finding.contains("story-drift")), "{findings:?}");
}

#[test]
fn a_missing_file_that_an_epic_needs_blocks_it() {
    for path in [PLAN, "docs/stories/epics/five/5.10.story.md"] {
        let sandbox = sandbox(["completed", "pending", "pending"], ["in_progress", "pending"], "{}");
        sandbox.remove(path);
        let plan = sandbox.piton(["plan"]).run().expect_code(9);
        assert_eq!(plan.at("/data/verdict"), "blocked", "{path}");
    }
}

#[test]
fn without_a_plan_stories_come_one_after_the_other() {
    let sandbox = sandbox(["pending", "pending", "pending"], ["pending", "pending"], "{}");
    sandbox.file(STATE, &sandbox.read(STATE).replace(&format!("  execution_plan: {PLAN}\n"), ""));
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(next(&plan.at("/data/next")), ["run 5.1"]);
    assert_eq!(plan.findings().iter().filter(|code| code.contains("plan-missing")).count(), 1);
}

/// Returns what is said about the plan and the state, each message once.
fn drift(plan: &crate::support::Output) -> Vec<String> {
    let all = plan.at("/findings");
    let drift = all.as_array().into_iter().flatten().filter(|finding| finding["code"] == "plan-drift");
    drift.map(|finding| finding["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_story_that_only_the_plan_has_is_not_lost() {
    let sandbox = sandbox(["completed", "completed", "pending"], ["in_progress", "pending"], "{}");
    let more = EXECUTION.replace("stories: [5.2, 5.1]", "stories: [5.2, 5.3, 5.1]");
    sandbox.file(PLAN, &more);
    story(&sandbox, "5.3", "Draft");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(next(&plan.at("/data/next")), ["run 5.3"]);
    assert_eq!(drift(&plan), ["story 5.3 is in the plan but not in the state; it counts as pending"]);
}

#[test]
fn a_wave_that_only_the_plan_has_comes_in_its_turn() {
    let sandbox = sandbox(["completed", "completed", "completed"], ["completed", "completed"], "{}");
    let wave =
        "    - { wave: 3, parallel: true, stories: [5.12, 5.11], dependencies: [wave-2], gate: { agent: po } }\n";
    let more = "    5.11: { file: 5.11.story.md, executor: dev }\n    5.12: { file: 5.12.story.md, executor: dev }\n  waves:\n";
    let text = EXECUTION.replace("  waves:\n", more).replace("  final_gate", &format!("{wave}  final_gate"));
    sandbox.file(PLAN, &text);
    story(&sandbox, "5.11", "Draft");
    story(&sandbox, "5.12", "Draft");
    let plan = sandbox.piton(["plan", "--native"]).run().expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "confirm");
    assert_eq!(next(&plan.at("/data/next")), ["run 5.12", "run 5.11"]);
    assert_eq!(plan.at("/data/native/resume_phase/wave"), "wave-3");
    assert_eq!(
        drift(&plan),
        [
            "wave 3 is in the plan but not in the state; it counts as pending",
            "story 5.12 is in the plan but not in the state; it counts as pending",
            "story 5.11 is in the plan but not in the state; it counts as pending",
        ]
    );
}

#[test]
fn stories_only_in_the_state_are_kept_and_reported() {
    let sandbox = sandbox(["completed", "completed", "pending"], ["completed", "in_progress"], "{}");
    // Wave 2 is gone from the plan, and its story with it.
    let (head, tail) = EXECUTION.split_once("    - { wave: 2").unwrap();
    let text = format!("{head}{}", tail.split_once('\n').unwrap().1)
        .replace("    5.10: { file: 5.10.story.md, executor: dev }\n", "");
    sandbox.file(PLAN, &text);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(next(&plan.at("/data/next")), ["run 5.10"]);
    assert_eq!(drift(&plan), ["wave 2 is in the state but not in the plan; it is kept"]);
    // A story moved to another wave, and one that left the plan.
    let sandbox = self::sandbox(["completed", "pending", "pending"], ["in_progress", "pending"], "{}");
    let text = EXECUTION.replace("stories: [5.2, 5.1]", "stories: [5.1]").replace("stories: [5.10]", "stories: [5.2]");
    sandbox.file(PLAN, &text);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(next(&plan.at("/data/next")), ["run 5.2"]);
    assert_eq!(
        drift(&plan),
        [
            "story 5.2 is in wave 1 of the state but in wave 2 of the plan; the state wins",
            "story 5.10 is in wave 2 of the state but in no wave of the plan; it is kept",
        ]
    );
}

#[test]
fn a_story_of_the_plan_that_no_wave_has_comes_behind_them_all() {
    let sandbox = sandbox(["completed", "completed", "completed"], ["completed", "completed"], "{}");
    let more = "    5.20: { file: 5.20.story.md, executor: dev }\n  waves:\n";
    sandbox.file(PLAN, &EXECUTION.replace("  waves:\n", more));
    story(&sandbox, "5.20", "Draft");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(next(&plan.at("/data/next")), ["run 5.20"]);
    assert_eq!(plan.at("/data/progress/total"), 9);
}

#[test]
fn the_copy_beside_a_broken_state_shows_where_it_stood_and_comes_back() {
    let sandbox = sandbox(["completed", "pending", "pending"], ["in_progress", "pending"], "{}");
    let good = sandbox.read(STATE);
    sandbox.file(&format!("{STATE}.bak"), &good).file(STATE, "epic_state:\n  epicId: [\n");
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert_eq!(plan.at("/data/degraded"), true);
    assert_eq!(plan.at("/data/run/id"), "epic-5");
    sandbox.piton(["restore", "--yes"]).run().expect_code(0);
    assert_eq!(sandbox.read(STATE), good);
    assert_eq!(next(&sandbox.piton(["plan"]).run().expect_code(0).at("/data/next")), ["run 5.2"]);
}

#[test]
fn of_two_states_of_one_epic_the_newer_one_counts() {
    let sandbox = sandbox(["completed", "pending", "pending"], ["in_progress", "pending"], "{}");
    let older = epic(["pending", "pending", "pending"], ["pending", "pending"], "{}").replace("T11:30", "T11:00");
    sandbox.file(".aiox/epic-5-state.yaml", &older);
    let plan = sandbox.piton(["plan", "--steps"]).run().expect_code(0);
    assert_eq!(plan.at("/data/run/state_files"), json!([STATE]));
    let list = sandbox.piton(["list"]).run().expect_code(0);
    for output in [plan, list] {
        assert!(output.findings().iter().any(|code| code.contains("state-superseded")), "{:?}", output.findings());
    }
}

#[test]
fn an_epic_that_ended_is_evidence_and_no_run() {
    for status in ["completed", "aborted"] {
        let sandbox = sandbox(["completed", "completed", "completed"], ["completed", "completed"], "{}");
        sandbox.file(STATE, &sandbox.read(STATE).replace("status: active", &format!("status: {status}")));
        story(&sandbox, "5.2", "Ready for Review");
        let list = sandbox.piton(["list"]).run();
        let found = list.findings();
        assert!(found.iter().any(|code| code.contains("run-ended")), "{status}: {found:?}");
        assert!(found.iter().any(|code| code.contains("story-drift")), "{status}: {found:?}");
    }
}

#[test]
fn a_state_whose_documents_are_all_gone_was_left_behind() {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, &epic(["pending", "pending", "pending"], ["pending", "pending"], "{}"));
    let found = sandbox.piton(["list"]).run().findings();
    assert!(found.iter().any(|code| code.contains("state-leftover")), "{found:?}");
}

#[test]
fn the_hand_over_names_story_plan_and_mode() {
    let sandbox = sandbox(["completed", "pending", "pending"], ["in_progress", "pending"], "{}");
    let context = sandbox.piton(["context", "--step", "5.2"]).run().expect_code(0);
    let text = context.json().to_string();
    assert!(text.contains("docs/stories/epics/five/5.2.story.md") && text.contains(PLAN), "{text}");
    assert!(text.contains("\"mode\":\"autopilot\"") && text.contains("Open:"), "{text}");
}
