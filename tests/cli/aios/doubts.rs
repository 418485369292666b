//! Evidence that speaks against a saved state: broken files, other workflows, renamed stories, pushes that nothing records.

use crate::support::{Output, Sandbox};

pub(crate) const STATE: &str = ".aios/epic-5-state.yaml";
const PLAN: &str = "docs/stories/EPIC-5-EXECUTION.yaml";

const EPIC: &str = "epic_state:
  epicId: \"5\"
  execution_plan: docs/stories/EPIC-5-EXECUTION.yaml
  mode: interactive
  started_at: \"2026-01-29T12:00:00Z\"
  updated_at: \"2026-01-31T11:15:00Z\"
  status: active
  current_wave: 1
  total_waves: 2
  waves:
    1:
      name: One
      status: in_progress
      stories: {5.1: {status: completed}, 5.2: {status: in_progress}}
    2:
      name: Two
      status: pending
      stories: {5.3: {status: pending}}
  gate_verdicts: {}
  bug_verification: {}
";

const EXECUTION: &str = "execution:
  epicId: \"5\"
  storyBasePath: docs/stories
  stories:
    5.1: {file: 5.1.story.md, title: S1, executor: \"@dev\"}
    5.2: {file: 5.2.story.md, title: S2, executor: \"@dev\"}
    5.3: {file: 5.3.story.md, title: S3, executor: \"@dev\"}
  waves:
    - {wave: 1, name: One, stories: [5.1, 5.2], dependencies: [], gate: {agent: \"@architect\"}}
    - {wave: 2, name: Two, stories: [5.3], dependencies: [wave-1], gate: {agent: \"@qa\"}}
  final_gate: {agent: \"@po\"}
";

pub(super) fn story(sandbox: &Sandbox, id: &str, status: &str) {
    let text = format!(
        "# Story {id}: T\n\n**Status:** {status}\n\n## Acceptance Criteria\n\n1. It works.\n\n## Tasks / Subtasks\n\n- [ ] one\n"
    );
    sandbox.file(&format!("docs/stories/{id}.story.md"), &text);
}

/// Epic 5: of its first wave 5.1 is done and 5.2 is in progress, and the second waits.
pub(crate) fn epic() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(STATE, EPIC).file(PLAN, EXECUTION);
    for (id, status) in [("5.1", "Done"), ("5.2", "InProgress"), ("5.3", "Ready")] {
        story(&sandbox, id, status);
    }
    sandbox
}

fn ids(sandbox: &Sandbox) -> Vec<String> {
    let list = sandbox.piton(["list"]).run();
    let runs = list.at("/data/runs");
    let id = |run: &serde_json::Value| run["id"].as_str().unwrap_or_default().to_owned();
    runs.as_array().into_iter().flatten().map(id).collect()
}

fn finding(output: &Output, code: &str) -> serde_json::Value {
    let findings = output.at("/findings");
    let found = findings.as_array().into_iter().flatten().find(|finding| finding["code"] == code).cloned();
    found.unwrap_or_else(|| panic!("no {code}: {output}"))
}

/// A-D2: garbage under the name of an epic is a broken state, and its stories are not offered as fresh work.
#[test]
fn an_epic_state_that_holds_none_blocks() {
    for garbage in [":::{\n", "- a\n", "<<<<<<< HEAD\n", "something: else\n", "=======\nepic_state:\n  epicId: 5\n"] {
        for backup in [true, false] {
            let sandbox = epic();
            sandbox.file(STATE, garbage);
            if backup {
                sandbox.file(".aios/epic-5-state.yaml.bak", EPIC);
            }
            let named = if backup { "epic-5" } else { "epic-5-state.yaml" };
            assert_eq!(ids(&sandbox), [named], "{garbage}");
            let plan = sandbox.piton(["plan"]).run().expect_code(4);
            let message = plan.to_string();
            assert!(message.contains("state-unreadable"), "{garbage}: {plan}");
            assert_eq!(
                message.contains("unresolved merge conflict"),
                garbage.contains("====") || garbage.contains("<<<<")
            );
            sandbox.piton(["validate"]).run().expect_code(4);
            sandbox.piton(["resume", "--mode", "autopilot"]).run().expect_code(4);
            let mended = if backup { "restore" } else { "repair" };
            let arguments: &[&str] = if backup { &[mended] } else { &[mended, "--from-evidence", "--yes"] };
            sandbox.piton(arguments.iter().copied()).run().expect_code(0);
            let plan = sandbox.piton(["plan"]).run();
            // Evidence has an unticked box of 5.1.
            assert_eq!(plan.at("/data/next/0/step"), if backup { "5.2" } else { "5.1" }, "{garbage}: {plan}");
        }
    }
}

/// A-D7: another workflow on a story of this one is named; it blocks if it was started after this one was saved.
#[test]
fn two_workflows_on_one_story_know_of_each_other() {
    let looped = |started: &str| {
        format!(
            "{{\"storyId\":\"5.2\",\"currentIteration\":1,\"maxIterations\":5,\"status\":\"in_progress\",\"startedAt\":\"{started}\",\
             \"updatedAt\":\"2026-01-31T11:50:00Z\",\"history\":[]}}"
        )
    };
    let cycle = "workflowId: development-cycle\ncurrentPhase: 2_development\ncurrentStory: docs/stories/5.2.story.md\nstartedAt: \
                 2026-01-31T10:00:00Z\nlastUpdated: 2026-01-31T11:30:00Z\nphaseResults:\n  1_validation: {status: completed}\n";
    for (path, text, other, severity) in [
        ("qa/loop-status.json", looped("2026-01-31T11:00:00Z"), "qa-5.2", "warning"),
        ("qa/loop-status.json", looped("2026-01-31T11:40:00Z"), "qa-5.2", "blocking"),
        (".aios/workflow-state/5.2-state.yaml", cycle.to_owned(), "dev-5.2", "warning"),
        (".aios/epic-6-state.yaml", EPIC.replace("\"5\"", "\"6\""), "epic-6", "warning"),
        (
            ".aios/epic-6-state.yaml",
            EPIC.replace("\"5\"", "\"6\"").replace("2026-01-29", "2026-02-02"),
            "epic-6",
            "blocking",
        ),
    ] {
        let sandbox = epic();
        sandbox.file(path, &text);
        let plan = sandbox.piton(["plan", "epic-5"]).run().expect_code(9);
        let rival = finding(&plan, "rival-run");
        assert_eq!(rival["severity"], severity, "{plan}");
        assert!(rival["message"].as_str().unwrap().starts_with(other), "{plan}");
        let back = sandbox.piton(["plan", other]).run();
        assert!(finding(&back, "rival-run")["message"].as_str().unwrap().starts_with("epic-5"), "{back}");
    }
    // What is over claims nothing.
    let sandbox = epic();
    sandbox.file("qa/loop-status.json", &looped("2026-01-31T11:40:00Z").replace("in_progress", "completed"));
    let plan = sandbox.piton(["plan", "epic-5"]).run().expect_code(0);
    assert!(!plan.to_string().contains("rival-run"), "{plan}");
}

/// A-D9: a run without a saved state that is newer than the only saved one is not passed over.
#[test]
fn a_newer_implied_run_is_offered_beside_a_lone_saved_one() {
    let sandbox = epic();
    story(&sandbox, "7.2", "InProgress");
    sandbox.modified("docs/stories/7.2.story.md", 1_769_860_000);
    let plan = sandbox.piton(["plan"]).run().expect_code(8);
    let hint = |at: usize| plan.at(&format!("/error/hints/{at}")).as_str().unwrap_or_default().to_owned();
    assert!(hint(0).contains("sdc-7.2") && hint(1).contains("epic-5"), "{plan}");
    let autopilot = sandbox.piton(["plan", "--mode", "autopilot"]).run().expect_code(0);
    assert_eq!(autopilot.at("/data/run/id"), "epic-5");
    assert_eq!(finding(&autopilot, "also-open")["message"], "also open: sdc-7.2");
    // An older one is only mentioned.
    sandbox.modified("docs/stories/7.2.story.md", 1_769_500_000);
    let plan = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!(finding(&plan, "also-open")["severity"], "info");
}

/// A-D16: a story in review is reviewed, not developed again, unless its newest gate sent it back.
#[test]
fn a_story_in_review_is_reviewed_next() {
    let sandbox = epic();
    story(&sandbox, "5.2", "InReview");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "confirm");
    assert_eq!(finding(&plan, "story-drift")["severity"], "warning");
    assert_eq!((plan.at("/data/next/0/agent"), plan.at("/data/next/0/title")), ("qa".into(), "Review of S2".into()));
    let state = sandbox.read(STATE);
    sandbox.file(STATE, &state.replace("status: in_progress}", "status: in_progress, quality_gate: \"@architect\"}"));
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/agent"), "architect");
    sandbox.file("docs/qa/gates/5.2-t.yml", "schema: 1\nstory: '5.2'\ngate: FAIL\nstatus_reason: no tests\n");
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/agent"), "dev");
}

/// A-D23: a renamed story is found by its id; of several files none is guessed.
#[test]
fn a_renamed_story_is_found_by_its_id() {
    let sandbox = epic();
    let text = sandbox.read("docs/stories/5.2.story.md");
    sandbox.remove("docs/stories/5.2.story.md");
    sandbox.file("docs/stories/5.2.cart.story.md", &text);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "confirm");
    assert!(
        finding(&plan, "story-missing")["message"]
            .as_str()
            .unwrap()
            .starts_with("5.2 is in docs/stories/5.2.cart.story.md")
    );
    let brief = sandbox.piton(["context"]).run().to_string();
    assert!(brief.contains("docs/stories/5.2.cart.story.md"), "{brief}");
    sandbox.file("docs/stories/_archived/5.2.old.story.md", &text);
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/verdict"), "confirm", "a copy in the archive is no rival");
    sandbox.file("docs/stories/5.2.basket.story.md", &text);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    let missing = finding(&plan, "story-missing");
    assert_eq!(missing["severity"], "blocking");
    let message = missing["message"].as_str().unwrap();
    assert!(message.contains("5.2.basket.story.md or docs/stories/5.2.cart.story.md"), "{message}");
}

/// A-D25: a push that nothing shows was not begun is looked at, not repeated.
#[test]
fn a_push_that_may_be_in_flight_is_verified() {
    let state = "workflowId: development-cycle\ncurrentPhase: 3_self_healing\ncurrentStory: docs/stories/5.2.story.md\nexecutor: \
                 \"@dev\"\nqualityGate: \"@qa\"\nattemptCount: 0\nstartedAt: 2026-01-31T09:00:00Z\nlastUpdated: \
                 2026-01-31T11:00:00Z\nphaseResults:\n  1_validation: {status: completed}\n  2_development: {status: completed}\n  \
                 3_self_healing: {status: completed}\n";
    let path = ".aios/workflow-state/5.2-state.yaml";
    let made = |text: &str| {
        let sandbox = Sandbox::new();
        sandbox.file(path, text);
        story(&sandbox, "5.2", "InProgress");
        sandbox
    };
    let gated = state.replace("currentPhase: 3_self_healing", "currentPhase: 4_quality_gate")
        + "  4_quality_gate: {status: completed}\n";
    let sandbox = made(&gated);
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert_eq!((plan.at("/data/next/0/action"), plan.at("/data/next/0/step")), ("verify".into(), "5_push".into()));
    assert!(finding(&plan, "outcome-unknown")["fix"].as_str().unwrap().contains("git ls-remote"), "{plan}");
    sandbox.piton(["resume", "--mode", "autopilot"]).run().expect_code(9);
    sandbox.piton(["begin", "5_push"]).run().expect_code(9);
    sandbox.piton(["redo", "5_push", "--by", "Ana", "--note", "no branch there"]).run().expect_code(0);
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).at("/data/next/0/action"), "run");
    // It took effect.
    let sandbox = made(&gated);
    sandbox.piton(["finish", "5_push", "--status", "completed"]).run().expect_code(0);
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/step"), "6_checkpoint");
    // Piton was there when the gate ended, so it would know of a push.
    let sandbox = made(state);
    sandbox.piton(["begin", "4_quality_gate"]).run().expect_code(0);
    sandbox.piton(["finish", "4_quality_gate", "--verdict", "APPROVED"]).run().expect_code(0);
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).at("/data/next/0/action"), "run");
}

/// A-D19: paths that were written on Windows are paths in the project; those with a drive are not.
#[test]
fn backslashes_are_slashes() {
    let sandbox = epic();
    let plan = sandbox.read(PLAN).replace("storyBasePath: docs/stories", "storyBasePath: docs\\stories");
    sandbox.file(PLAN, &plan);
    sandbox.file(STATE, &EPIC.replace("docs/stories/EPIC", "docs\\stories\\EPIC"));
    let found = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!((found.at("/data/next/0/title"), found.at("/data/next/0/agent")), ("S2".into(), "dev".into()));
    sandbox.file(STATE, &EPIC.replace("docs/stories/EPIC", "C:\\docs\\stories\\EPIC"));
    finding(&sandbox.piton(["plan"]).run(), "plan-missing");
}

/// A-D21: the complaint goes with the rejection that it explained.
#[test]
fn an_approved_gate_keeps_no_complaint() {
    let sandbox = epic();
    story(&sandbox, "5.2", "Done");
    sandbox.file(STATE, &EPIC.replace("5.2: {status: in_progress}", "5.2: {status: completed}"));
    sandbox.piton(["begin", "gate-1"]).run().expect_code(0);
    sandbox.piton(["finish", "gate-1", "--verdict", "NEEDS_REVISION", "--finding", "no tests"]).run().expect_code(0);
    assert!(sandbox.read(STATE).contains("no tests"));
    sandbox.piton(["accept", "gate-1", "--by", "Ana", "--note", "they follow"]).run().expect_code(0);
    let state = sandbox.read(STATE);
    assert!(state.contains("approved") && !state.contains("no tests"), "{state}");
    let said = sandbox.piton(["status", "-v"]).run().to_string();
    assert!(said.contains("no tests"), "the reports keep it: {said}");
}

/// A-D22: a build counts its subtasks, and what it changed is watched.
#[test]
fn a_build_counts_and_watches_what_it_changed() {
    let sandbox = Sandbox::new();
    let state = "{\"storyId\":\"5.2\",\"status\":\"in_progress\",\"startedAt\":\"2026-01-31T09:00:00Z\",\"lastCheckpoint\":\
                 \"2026-01-31T11:00:00Z\",\"currentSubtask\":\"2\",\"completedSubtasks\":[\"1\"],\"failedAttempts\":[],\"plan\":null,\
                 \"checkpoints\":[{\"id\":\"cp-a-12345678\",\"timestamp\":\"2026-01-31T11:00:00Z\",\"subtaskId\":\"1\",\
                 \"status\":\"completed\",\"filesModified\":[\"src\\\\a.rs\"]}],\"metrics\":{\"totalSubtasks\":3,\
                 \"completedSubtasks\":1},\"schemaVersion\":\"1.0.0\"}";
    story(&sandbox, "5.2", "InProgress");
    sandbox.file("plan/build-state.json", state).file("src/a.rs", "a").git_init();
    assert!(!sandbox.piton(["plan"]).run().to_string().contains("work-changed"));
    sandbox.file("src/a.rs", "b").commit("other");
    let plan = sandbox.piton(["plan"]).run().expect_code(9);
    assert!(finding(&plan, "work-changed")["message"].as_str().unwrap().contains("src/a.rs"), "{plan}");
    for _ in 0..2 {
        sandbox.piton(["finish", "2"]).run();
        assert_eq!(sandbox.read_json("plan/build-state.json")["metrics"]["completedSubtasks"], 2);
    }
}

/// A-D24: a stamp is read in every form that can be, and one that cannot is named.
#[test]
fn an_unreadable_stamp_is_named() {
    for (stamp, source) in
        [("1769857200", "state"), ("\"1769857200000\"", "state"), ("\"31/01/2026\"", "file"), ("\"\"", "file")]
    {
        let sandbox = epic();
        sandbox.file(STATE, &EPIC.replace("\"2026-01-31T11:15:00Z\"", stamp)).modified(STATE, 1_769_860_790);
        let plan = sandbox.piton(["plan"]).run().expect_code(0);
        assert_eq!(plan.at("/data/age/source"), source, "{stamp}: {plan}");
        if source == "file" {
            assert_eq!(finding(&plan, "field-ignored")["severity"], "warning");
            assert_eq!(plan.at("/data/age/band"), "recent", "the time of a file alone is never fresh");
        }
    }
}

/// A-D32: agents and templates that the rest of the run needs are looked for.
#[test]
fn a_missing_agent_or_template_is_named() {
    let sandbox = epic();
    sandbox.file(".claude/agents/pm.md", "pm");
    let template = "  template: .aios-core/templates/none.yaml\n  storyBasePath";
    sandbox.file(PLAN, &EXECUTION.replace("  storyBasePath", template));
    for mode in ["interactive", "preflight"] {
        let plan = sandbox.piton(["plan", "--mode", mode]).run().expect_code(9);
        assert!(finding(&plan, "agent-missing")["message"].as_str().unwrap().contains("@dev"), "{plan}");
        assert_eq!(finding(&plan, "file-missing")["severity"], "warning");
    }
    sandbox.file(".aios-core/templates/none.yaml", "a: 1\n").file(".claude/agents/dev.md", "dev");
    assert!(sandbox.piton(["plan"]).run().expect_code(0).findings().iter().all(|code| code == "story-drift"));
}

/// A-M5, A-M6: words that people use by hand.
#[test]
fn more_status_words_are_read() {
    for (line, next) in [
        ("**Status:** WIP", Some("3_implement")),
        ("**Estado:** En progreso", Some("3_implement")),
        ("**Status:** Pronto para revisão", Some("4_qa")),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("docs/stories/4.2.story.md", &format!("# Story 4.2: T\n\n{line}\n\n## Tasks\n\n- [ ] one\n"));
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.at("/data/next/0/step").as_str(), next, "{line}: {plan}");
    }
    let sandbox = epic();
    sandbox.file(
        STATE,
        &EPIC.replace("status: completed", "status: done").replace("{status: in_progress}", "{status: doing}"),
    );
    let plan = sandbox.piton(["plan"]).run().expect_code(0);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/progress/done")), ("5.2".into(), 1.into()), "{plan}");
}

/// The agent of a story in review is told to review it.
#[test]
fn the_brief_of_a_story_in_review_says_so() {
    let sandbox = epic();
    story(&sandbox, "5.2", "InReview");
    let brief = sandbox.piton(["context"]).run().to_string();
    assert!(brief.contains("do not develop it again"), "{brief}");
}

/// A row of the seed's block: a story of an epic is in a wave, not in a phase.
#[test]
fn a_resumed_story_is_in_its_wave() {
    let text = epic().piton(["resume", "--yes", "--format", "text"]).run().expect_code(0).stdout;
    assert!(text.contains("Story: 5.2\nWave: 1 -- 5.2 S2\n"), "{text}");
}
