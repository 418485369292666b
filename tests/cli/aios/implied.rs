//! Runs without a saved state: what stories and the artifacts of spec pipelines imply, and what takes precedence.

use serde_json::Value;

use crate::support::{Output, Sandbox};

fn story(sandbox: &Sandbox, path: &str, id: &str, status: &str, tasks: &str) {
    sandbox.file(path, &format!("# Story {id}: Log in\n\n## Status\n\n{status}\n\n## Tasks / Subtasks\n\n{tasks}\n"));
}

fn ids(list: &Output) -> Vec<String> {
    let runs = list.at("/data/runs");
    let ids = runs.as_array().into_iter().flatten().map(|run| run["id"].as_str().unwrap_or_default().to_owned());
    ids.collect()
}

#[test]
fn a_story_implies_a_cycle_only_while_it_is_in_progress() {
    for (status, tasks, expected) in [
        ("InProgress", "- [x] a\n- [ ] b\n", Some(("3_implement", "dev"))),
        ("InProgress", "- [x] a\n- [x] b\n", Some(("4_qa", "qa"))),
        ("InReview", "- [x] a\n", Some(("4_qa", "qa"))),
        ("Ready for Review", "- [x] a\n", Some(("4_qa", "qa"))),
        ("Em progresso", "- [ ] a\n", Some(("3_implement", "dev"))),
        ("Draft", "", None),
        ("Ready", "", None),
        ("Done", "", None),
        ("Blocked", "", None),
        ("Superseded", "", None),
        ("REVISADO", "", None),
    ] {
        let sandbox = Sandbox::new();
        story(&sandbox, "docs/stories/4.2.story.md", "4.2", status, tasks);
        let plan = sandbox.piton(["plan"]).run();
        match expected {
            Some((step, agent)) => {
                assert_eq!(plan.at("/data/run/id"), "sdc-4.2", "{status}: {plan}");
                assert_eq!(plan.at("/data/run/title"), "SDC for story 4.2", "{status}: {plan}");
                assert_eq!(plan.at("/data/next/0/step"), step, "{status}: {plan}");
                assert_eq!(plan.at("/data/next/0/agent"), agent, "{status}: {plan}");
            }
            None => drop(plan.expect_code(3)),
        }
    }
}

#[test]
fn a_failed_gate_sends_a_story_in_review_back_to_its_fixes() {
    let sandbox = Sandbox::new();
    story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InReview", "- [x] a\n");
    sandbox.file("docs/qa/gates/4.2-log-in.yml", "schema: 1\nstory: '4.2'\ngate: FAIL\nstatus_reason: no tests\n");
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/next/0/agent"), "dev", "{plan}");
    sandbox.file("docs/qa/gates/4.2-log-in.yml", "schema: 1\nstory: '4.20'\ngate: FAIL\n");
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/next/0/agent"), "qa", "{plan}");
}

#[test]
fn a_spec_pipeline_continues_with_the_first_missing_artifact() {
    let aios = "docs/stories/5.1/spec";
    let nexos = "docs/stories/login/spec";
    let requirements = "{\"title\": \"x\"}\n";
    for (files, expected) in [
        (vec![(format!("{aios}/requirements.json"), requirements)], Some(("spec-5.1", "2_assess", "architect"))),
        (
            vec![
                (format!("{aios}/requirements.json"), requirements),
                (format!("{aios}/complexity.json"), "{\"result\": \"SIMPLE\"}"),
            ],
            Some(("spec-5.1", "4_write", "pm")),
        ),
        (
            vec![
                (format!("{aios}/requirements.json"), requirements),
                (format!("{aios}/complexity.json"), "{\"result\": \"STANDARD\"}"),
            ],
            Some(("spec-5.1", "3_research", "analyst")),
        ),
        (vec![(format!("{nexos}/requirements.yml"), "title: x\n")], Some(("spec-login", "2_assess", "architect"))),
        (
            vec![
                (format!("{nexos}/requirements.yml"), "title: x\n"),
                (format!("{nexos}/complexity.yml"), "class: SIMPLE\n"),
                (format!("{nexos}/spec.md"), "# Spec\n"),
            ],
            Some(("spec-login", "5_critique", "qa")),
        ),
        (
            vec![("docs/specs/login/requirements.json".to_owned(), requirements)],
            Some(("spec-login", "2_assess", "architect")),
        ),
        (
            vec![(format!("{nexos}/spec.md"), "# Spec\n"), (format!("{nexos}/critique.yml"), "verdict: APPROVED\n")],
            None,
        ),
    ] {
        let sandbox = Sandbox::new();
        for (path, text) in &files {
            sandbox.file(path, text);
        }
        let plan = sandbox.piton(["plan"]).run();
        match expected {
            Some((run, step, agent)) => {
                assert_eq!(plan.at("/data/run/id"), run, "{files:?}: {plan}");
                assert_eq!(plan.at("/data/next/0/step"), step, "{files:?}: {plan}");
                assert_eq!(plan.at("/data/next/0/agent"), agent, "{files:?}: {plan}");
            }
            None => drop(plan.expect_code(3)),
        }
    }
}

const LOOP: &str = "{\"storyId\":\"2.1\",\"currentIteration\":3,\"maxIterations\":5,\"status\":\"in_progress\",\
                    \"updatedAt\":\"2026-01-30T12:00:00Z\",\"history\":[]}";

#[test]
fn implied_runs_are_listed_and_never_chosen_over_saved_ones() {
    let sandbox = Sandbox::new();
    story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InProgress", "- [ ] a\n");
    sandbox.file("docs/stories/5.1/spec/requirements.json", "{}\n").file("qa/2.1/loop-status.json", LOOP);
    let mut found = ids(&sandbox.piton(["list"]).run().expect_code(0));
    found.sort();
    assert_eq!(found, ["qa-2.1", "sdc-4.2", "spec-5.1"]);
    for mode in ["interactive", "autopilot", "preflight"] {
        let plan = sandbox.piton(["--mode", mode, "plan"]).run();
        assert_eq!(plan.at("/data/run/id"), "qa-2.1", "{mode}: {plan}");
    }
    // It is found by name.
    assert_eq!(sandbox.piton(["plan", "sdc-4.2"]).run().at("/data/run/id"), "sdc-4.2");
}

#[test]
fn a_saved_state_takes_precedence_over_its_story() {
    let cycle = "workflowId: development-cycle\ncurrentPhase: 1_validation\ncurrentStory: /home/x/docs/stories/2.1.story.md\n\
                 lastUpdated: 2026-01-31T11:00:00Z\nphaseResults: { 1_validation: { status: completed } }\n";
    let build = "{\"storyId\":\"2.1\",\"status\":\"paused\",\"checkpoints\":[],\"completedSubtasks\":[]}";
    for (path, text, run) in [
        ("qa/2.1/loop-status.json", LOOP, "qa-2.1"),
        (".aiox/workflow-state/2.1-state.yaml", cycle, "dev-2.1"),
        ("plan/build-state.json", build, "build-2.1"),
    ] {
        let sandbox = Sandbox::new();
        story(&sandbox, "docs/stories/2.1.story.md", "2.1", "InProgress", "- [ ] a\n");
        story(&sandbox, "docs/stories/2.10.story.md", "2.10", "InProgress", "- [ ] a\n");
        sandbox.file(path, text);
        let mut found = ids(&sandbox.piton(["list"]).run().expect_code(0));
        found.sort();
        let mut expected = [run, "sdc-2.10"];
        expected.sort_unstable();
        assert_eq!(found, expected, "{path}");
    }
}

#[test]
fn different_subjects_come_newest_first_and_autopilot_takes_the_first() {
    let sandbox = Sandbox::new();
    for (story, stamp) in
        [("2.1", "2026-01-29T12:00:00Z"), ("3.1", "2026-01-31T10:00:00Z"), ("4.1", "2026-01-30T12:00:00Z")]
    {
        let text = LOOP.replace("2.1", story).replace("2026-01-30T12:00:00Z", stamp);
        sandbox.file(&format!("qa/{story}/loop-status.json"), &text);
    }
    assert_eq!(ids(&sandbox.piton(["list"]).run().expect_code(0)), ["qa-3.1", "qa-4.1", "qa-2.1"]);
    let plan = sandbox.piton(["--mode", "autopilot", "plan"]).run();
    assert_eq!(plan.at("/data/run/id"), "qa-3.1", "{plan}");
    let asked = sandbox.piton(["plan"]).run().expect_code(8);
    assert_eq!(asked.at("/data"), Value::Null, "{asked}");
}

#[test]
fn only_valid_commands_are_offered_for_implied_runs() {
    let sandbox = Sandbox::new();
    story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InProgress", "- [ ] a\n");
    let spec = "docs/stories/5.1/spec";
    for (name, text) in [
        ("requirements.json", "{}"),
        ("complexity.json", "{\"result\": \"SIMPLE\"}"),
        ("spec.md", "# Spec\n"),
        ("critique.json", "{\"verdict\": \"BLOCKED\"}"),
    ] {
        sandbox.file(&format!("{spec}/{name}"), text);
    }
    for run in ["sdc-4.2", "spec-5.1"] {
        let plan = sandbox.piton(["plan", run]).run();
        assert_eq!(plan.at("/data/commands/begin"), Value::Null, "{plan}");
        let next = plan.at("/data/next/0/step");
        sandbox.piton(["begin", next.as_str().unwrap(), "--run", run]).run().expect_code(1);
    }
    let blocked = sandbox.piton(["plan", "spec-5.1"]).run().expect_code(9);
    assert!(!blocked.stdout.contains("piton approve"), "{blocked}");
}

#[test]
fn a_choice_lists_implied_runs_too() {
    let sandbox = Sandbox::new();
    story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InProgress", "- [ ] a\n");
    for story in ["2.1", "3.1"] {
        sandbox.file(&format!("qa/{story}/loop-status.json"), &LOOP.replace("2.1", story));
    }
    let asked = sandbox.piton(["plan", "--format", "text"]).run().expect_code(8).to_string();
    for title in ["SDC for story 4.2", "QA Loop for story 2.1", "QA Loop for story 3.1"] {
        assert!(asked.contains(title), "{asked}");
    }
    // Autopilot selects a saved run, never an implied one.
    let id = sandbox.piton(["--mode", "autopilot", "plan"]).run().at("/data/run/id");
    assert!(id.as_str().unwrap().starts_with("qa-"), "{id}");
}

#[test]
fn an_artifact_that_cannot_be_used_is_the_one_to_make_again() {
    let sandbox = Sandbox::new();
    sandbox.file("docs/stories/5.1/spec/requirements.json", "{\"a\": 1}");
    sandbox.file("docs/stories/5.1/spec/complexity.json", "{broken").file("docs/stories/5.1/spec/spec.md", "");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(
        (plan.at("/data/verdict"), plan.at("/data/next/0/step")),
        ("confirm".into(), "2_assess".into()),
        "{plan}"
    );
}

#[test]
fn a_spec_is_not_reviewed_before_its_inputs_exist() {
    let sandbox = Sandbox::new();
    sandbox.file("docs/stories/5.1/spec/spec.md", "# Spec\n");
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/next/0/step"), "1_gather", "{plan}");
    assert_eq!(plan.at("/data/next/1"), Value::Null, "{plan}");
}

#[test]
fn two_files_of_one_story_are_reported() {
    let sandbox = Sandbox::new();
    story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InProgress", "- [ ] a\n");
    story(&sandbox, "docs/stories/active/4.2.login.story.md", "4.2", "Done", "- [x] a\n");
    let list = sandbox.piton(["list"]).run().expect_code(0);
    assert!(list.stdout.contains("story 4.2 is in docs/stories/active/4.2.login.story.md too"), "{list}");
    let plan = sandbox.piton(["plan", "sdc-4.2"]).run().expect_code(9);
    assert!(plan.stdout.contains("story 4.2 is in docs/stories/active/4.2.login.story.md too"), "{plan}");
}

#[test]
fn a_saved_state_with_nothing_to_do_gives_way_to_a_story_in_progress() {
    let bob = "session_state:\n  version: '1.2'\n  last_updated: '2026-01-31T11:45:00Z'\n  epic: { id: 12, total_stories: 0 }\n  \
               progress: { stories_done: [], stories_pending: [] }\n  workflow: { phase_results: {} }\n  last_action: { type: EPIC_STARTED }\n";
    let guided = "instance_id: wf-1\nworkflow_id: x\nstatus: active\nsteps: []\nupdated_at: '2026-01-31T11:45:00Z'\n";
    for (path, text) in [("docs/stories/.session-state.yaml", bob), (".aiox/wf-1-state.yaml", guided)] {
        let sandbox = Sandbox::new();
        sandbox.file(path, text);
        sandbox.piton(["plan"]).run().expect_code(3);
        story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InProgress", "- [ ] a\n");
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.at("/data/run/id"), "sdc-4.2", "{path}: {plan}");
        let list = sandbox.piton(["list"]).run().expect_code(0);
        assert_eq!(list.at("/data/runs/0/position"), "nothing to do", "{path}: {list}");
    }
}

#[test]
fn settings_that_cannot_be_followed_are_named() {
    for (path, text, told) in [
        (".aios/config.yaml", "storiesDir: [\n", Some("the settings cannot be parsed")),
        (".aiox/config.yml", "storiesDir: ../stories\n", Some("`../stories`, which is outside the project")),
        ("config.yaml", "storiesDir: /srv/stories\n", Some("`/srv/stories`, which is outside the project")),
        ("config.yaml", "of: [another program\n", None),
        (".aios/config.yaml", "storiesDir: work\n", None),
    ] {
        let sandbox = Sandbox::new();
        story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InProgress", "- [ ] a\n");
        sandbox.file(path, text);
        let list = sandbox.piton(["list"]).run().expect_code(0);
        let message = list.at("/findings/0/message");
        assert_eq!(
            message.as_str().is_some_and(|message| message.contains(told.unwrap_or(""))),
            told.is_some(),
            "{text}: {list}"
        );
    }
}

#[test]
fn a_record_that_names_a_story_speaks_for_it() {
    for (context, expected) in [
        ("context: { story: docs/stories/4.2.story.md }", &["workflow-sdc-1"][..]),
        ("context: { story_id: '4.2' }", &["workflow-sdc-1"]),
        ("context: { story_id: '4.3' }", &["sdc-4.2", "workflow-sdc-1"]),
        ("context: {}", &["sdc-4.2", "workflow-sdc-1"]),
    ] {
        let sandbox = Sandbox::new();
        story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InProgress", "- [ ] a\n");
        let record = "execution_id: sdc-1\nworkflow: sdc\ncurrent_phase: 3\nstatus: active\nphases_completed: [1, 2]\n";
        sandbox.file(".nexos/workflow-state/sdc-state.yaml", &format!("{record}{context}\n"));
        let mut found = ids(&sandbox.piton(["list"]).run().expect_code(0));
        found.sort_unstable();
        assert_eq!(found, expected, "{context}");
    }
}

#[test]
fn a_plan_names_another_state_of_the_run() {
    let sandbox = Sandbox::new();
    let state = |at: &str| {
        format!(
            "storyId: '3.1'\ncurrentIteration: 1\nmaxIterations: 5\nstatus: in_progress\nupdatedAt: '2026-01-31T{at}:00Z'\nhistory: []\n"
        )
    };
    sandbox.file("qa/3.1/loop-status.json", &state("11:30"));
    sandbox.file("qa/loop-status.json", &state("10:30"));
    let told = "an older state of the run qa-3.1; qa/3.1/loop-status.json is used instead";
    for command in [&["list"][..], &["plan"], &["validate"]] {
        let output = sandbox.piton(command.iter().copied()).run();
        let findings = output.at("/findings");
        let messages = findings.as_array().into_iter().flatten().filter_map(|finding| finding["message"].as_str());
        assert_eq!(messages.filter(|message| *message == told).count(), 1, "{command:?} {output}");
    }
}

#[test]
fn a_gate_that_passed_is_not_recorded_by_a_command_that_would_be_refused() {
    let sandbox = Sandbox::new();
    story(&sandbox, "docs/stories/4.2.story.md", "4.2", "InReview", "- [x] a\n");
    sandbox.file("docs/qa/gates/4.2-login.yml", "storyId: \"4.2\"\nverdict: PASS\n");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(plan.at("/data/next/0/action"), "verify");
    assert!(!plan.stdout.contains("piton finish"), "{plan}");
}
