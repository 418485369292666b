//! The table of modes and situations, ages on every boundary, and the exact texts of `orchestrate-resume`
//! (docs/formats/aios.md#modes, docs/formats/aios.md#age, docs/formats/aios.md#messages).

use std::{ops::Deref, process::Child};

use serde_json::Value;

use crate::support::Sandbox;

const LOOP: &str = "qa/2.1/loop-status.json";
const STORY: &str = "docs/stories/2.1.story.md";
const CYCLE: &str = ".aiox/workflow-state/1.1-state.yaml";
const EPIC: &str = ".aios/epic-5-state.yaml";
const MODES: [&str; 3] = ["autopilot", "interactive", "preflight"];
const ASKED: &str = "Resume this workflow? (yes / restart from scratch / cancel)";

/// A loop whose second review sent the story back: a fix comes next.
fn qa_loop(stamp: &str) -> String {
    format!(
        "{{\"storyId\": \"2.1\", \"currentIteration\": 2, \"maxIterations\": 5, \"status\": \"stopped\",\n \"startedAt\": \
         \"2026-01-31T09:00:00Z\"{stamp}, \"history\": [\n  {{\"iteration\": 1, \"verdict\": \"REJECT\", \"reviewedAt\": \
         \"2026-01-31T09:30:00Z\", \"fixedAt\": \"2026-01-31T09:50:00Z\"}},\n  {{\"iteration\": 2, \"verdict\": \"REJECT\", \
         \"reviewedAt\": \"2026-01-31T10:00:00Z\"}}\n ]}}\n"
    )
}

fn updated() -> String {
    qa_loop(", \"updatedAt\": \"2026-01-31T11:30:00Z\"")
}

fn story(id: &str, status: &str) -> String {
    format!(
        "# Story {id}: Sign in\n\n**Status:** {status}\n\n## Acceptance Criteria\n1. It works\n\n## Dev Notes\nnone\n\n## \
         File List\n- `src/sign_in.rs`\n"
    )
}

fn cycle() -> String {
    "workflowId: development-cycle\ncurrentPhase: 1_validation\ncurrentStory: docs/stories/1.1.story.md\nexecutor: '@dev'\n\
     startedAt: 2026-01-31T11:00:00Z\nlastUpdated: 2026-01-31T11:45:00Z\nphaseResults:\n  1_validation: { status: completed }\n"
        .to_owned()
}

fn epic(mode: &str) -> String {
    format!(
        "epic_state:\n  epicId: 5\n  mode: {mode}\n  started_at: \"2026-01-30T10:00:00Z\"\n  updated_at: \
         \"2026-01-31T11:30:00Z\"\n  status: active\n  waves:\n    1:\n      name: Base\n      status: in_progress\n      \
         stories:\n        5.1: {{ status: completed, executor: dev }}\n        5.2: {{ status: in_progress, executor: dev }}\n"
    )
}

/// The content of a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Situation {
    Clean,
    Warnings,
    Blocking,
    Corrupt,
    Several,
    Live,
}

/// A project in a situation, with the process that drives it, if any.
struct Project {
    sandbox: Sandbox,
    driver: Option<Child>,
}

impl Deref for Project {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if let Some(mut driver) = self.driver.take() {
            driver.kill().expect("a child of our own");
            driver.wait().expect("a child of our own");
        }
    }
}

impl Situation {
    fn build(self) -> Project {
        let sandbox = Sandbox::new();
        let status = match self {
            Self::Warnings => "Ready",
            Self::Blocking => "Done",
            Self::Clean | Self::Corrupt | Self::Several | Self::Live => "InProgress",
        };
        sandbox.file(LOOP, &updated()).file(STORY, &story("2.1", status));
        let mut driver = None;
        match self {
            Self::Clean | Self::Warnings | Self::Blocking => {}
            Self::Corrupt => _ = sandbox.file(LOOP, &updated()[..200]),
            Self::Several => {
                sandbox.file(CYCLE, &cycle()).file("docs/stories/1.1.story.md", &story("1.1", "InProgress"));
            }
            Self::Live => {
                // It waits for input that never comes.
                let waiting = sandbox.tool("/bin/cat", []).spawn();
                let lock = format!(
                    "pid: {}\nowner: qa-runner\ncreated_at: 2099-01-01T00:00:00Z\nttl_seconds: 300\n",
                    waiting.id()
                );
                sandbox.file(".aiox/locks/qa.lock", &lock);
                driver = Some(waiting);
            }
        }
        Project { sandbox, driver }
    }
}

#[test]
fn every_mode_meets_every_situation() {
    for (situation, codes, question) in [
        (Situation::Clean, [0, 0, 0], [None, Some(ASKED), Some("proceed")]),
        (Situation::Warnings, [9, 9, 9], [None, Some(ASKED), Some("proceed")]),
        (Situation::Blocking, [9, 9, 9], [Some("Which would you prefer?"); 3]),
        (Situation::Corrupt, [4, 4, 4], [None; 3]),
        (Situation::Several, [0, 8, 8], [None; 3]),
        (Situation::Live, [6, 6, 6], [None; 3]),
    ] {
        for ((mode, code), question) in MODES.into_iter().zip(codes).zip(question) {
            let sandbox = situation.build();
            let before = sandbox.tree();
            let plan = sandbox.piton(["plan", "--mode", mode]).run();
            assert_eq!(plan.code, code, "{situation:?} {mode}\n{plan}");
            let document = plan.json();
            let asked = document["data"]["question"]["text"].as_str();
            match question {
                // In preflight a conflict is shown without a question that "proceed" could answer.
                Some("Which would you prefer?") if mode == "preflight" => assert_eq!(asked, None, "{plan}"),
                Some(text) => assert!(asked.is_some_and(|asked| asked.contains(text)), "{situation:?} {mode}\n{plan}"),
                None => assert_eq!(asked, None, "{situation:?} {mode}\n{plan}"),
            }
            assert_eq!(before.changes(&sandbox.tree()), [""; 0], "a plan only reads");
        }
    }
    let newest = Situation::Several.build().piton(["plan", "--mode", "autopilot"]).run();
    assert_eq!(newest.at("/data/run/id"), "dev-1.1", "of several autopilot takes the one that was updated last");
}

#[test]
fn a_blocked_plan_blocks_a_resume_in_every_mode() {
    for (situation, code) in
        [(Situation::Blocking, 9), (Situation::Corrupt, 4), (Situation::Live, 6), (Situation::Warnings, 9)]
    {
        for mode in MODES {
            if situation == Situation::Warnings && mode == "autopilot" {
                continue;
            }
            let sandbox = situation.build();
            let before = sandbox.read(LOOP);
            let resume = sandbox.piton(["resume", "--mode", mode]).stdin("").run();
            assert_eq!(resume.code, code, "{situation:?} {mode}\n{resume}");
            assert_eq!(sandbox.read(LOOP), before, "{situation:?} {mode}");
        }
    }
}

#[test]
fn ages_change_exactly_on_their_boundaries_and_autopilot_continues_below_a_day() {
    for (now, band, unattended, code, finding) in [
        ("2026-01-31T12:29:59Z", Some("fresh"), true, 0, None),
        ("2026-01-31T12:30:00Z", Some("recent"), true, 0, None),
        ("2026-02-01T11:29:59Z", Some("recent"), true, 0, None),
        ("2026-02-01T11:30:00Z", Some("moderate"), false, 0, None),
        ("2026-02-07T11:30:00Z", Some("moderate"), false, 0, None),
        ("2026-02-07T11:30:01Z", Some("stale"), false, 9, Some("age-stale")),
        ("2026-01-31T11:29:00Z", Some("fresh"), true, 0, None),
        ("2026-01-31T11:25:00Z", Some("fresh"), true, 0, None),
        ("2026-01-31T10:30:00Z", None, false, 0, Some("time-in-future")),
    ] {
        let sandbox = Situation::Clean.build();
        // Later than any of them, so that it is not taken for the stamp.
        sandbox.modified(LOOP, 1_900_000_000);
        let plan = sandbox.piton(["plan", "--native", "--mode", "autopilot"]).now(now).run();
        assert_eq!(plan.code, code, "{now}\n{plan}");
        assert_eq!(plan.at("/data/age/band").as_str(), band, "{now}");
        assert_eq!(plan.at("/data/question").is_null(), unattended, "{now}");
        if let Some(finding) = finding {
            assert!(plan.findings().iter().any(|found| found == finding), "{now}\n{plan}");
        }
        let advice = plan.at("/data/native/state_age/recommendation");
        assert_eq!(advice.is_null(), band.is_none(), "{now}");
    }
}

#[test]
fn without_a_timestamp_the_commit_counts_and_then_the_file() {
    let noon = 1_769_860_800;
    let sandbox = Sandbox::new();
    let text = qa_loop("").replace("2026-01-31T10:00:00Z", "");
    let text = text.replace("\"reviewedAt\": \"2026-01-31T09:30:00Z\", ", "").replace("2026-01-31T09:50:00Z", "");
    sandbox.file(LOOP, &text).file(STORY, &story("2.1", "InProgress")).modified(LOOP, noon - 7_200);
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!((plan.at("/data/age/source"), plan.at("/data/age/seconds")), ("file".into(), 7_200.into()));
    sandbox.git_init();
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!((plan.at("/data/age/source"), plan.at("/data/age/seconds")), ("commit".into(), 0.into()));
}

#[test]
fn a_run_keeps_the_mode_it_was_started_in_unless_the_caller_says_otherwise() {
    for (word, environment, flag, expected) in [
        ("yolo", None, None, "autopilot"),
        ("autopilot", None, None, "autopilot"),
        ("interactive", None, None, "interactive"),
        ("preflight", None, None, "preflight"),
        ("Pre-Flight", None, None, "preflight"),
        // An unknown value is ignored: the project's setting counts.
        ("odd", None, None, "preflight"),
        ("preflight", Some("interactive"), None, "interactive"),
        ("preflight", Some("interactive"), Some("autopilot"), "autopilot"),
    ] {
        let sandbox = Sandbox::new();
        sandbox.file("piton.toml", "mode = \"preflight\"\n").file(EPIC, &epic(word));
        sandbox.file("docs/stories/5.1.story.md", &story("5.1", "Done"));
        sandbox.file("docs/stories/5.2.story.md", &story("5.2", "InProgress"));
        let mut words = vec!["plan"];
        words.extend(flag.iter().flat_map(|flag| ["--mode", flag]));
        let mut piton = sandbox.piton(words);
        if let Some(mode) = environment {
            piton = piton.env("PITON_MODE", mode);
        }
        let mode = piton.run().at("/data/mode");
        assert_eq!(mode.as_str().unwrap_or("interactive"), expected, "{word} {environment:?} {flag:?}");
    }
}

#[test]
fn a_found_state_is_reported_verbatim() {
    let text = Situation::Warnings.build().piton(["plan", "--format", "text"]).run().expect_code(9).stdout;
    let (verdict, text) = text.split_once('\n').unwrap();
    assert!(verdict.starts_with("Verdict      confirm"), "the verdict comes first: {verdict}");
    let (block, rest) = text.split_once("\nNext\n").unwrap();
    assert_eq!(
        block,
        "=== Resume: QA Loop ===

Interrupted: 30 minutes ago
State source: qa/2.1/loop-status.json
State age: Fresh -- Resume safely

Completed Phases:
  1. Review 1 -- @qa -- Done
  2. Fix what review 1 found -- @dev -- Done
  3. Review 2 -- @qa -- Done

Resume Point:
  -> Iteration 2/5: Fix what review 2 found -- @dev
  Input: docs/stories/2.1.story.md

Warnings:
  - 2.1 is being fixed in the loop, but its story says `Ready`: it is not marked as in progress

"
    );
    let tail = "Resume this workflow? (yes / restart from scratch / cancel)\n\
                → piton resume qa-2.1 --yes   # resume\n→ piton archive qa-2.1 --yes   # restart from scratch\n";
    assert!(rest.contains(tail), "{rest}");
}

#[test]
fn several_states_are_reported_verbatim_with_numbers_that_work() {
    let sandbox = Situation::Several.build();
    let output = sandbox.piton(["plan", "--format", "text"]).run().expect_code(8);
    assert!(
        output.stderr.starts_with(
            "=== Multiple Interrupted Workflows Found ===

  1. Development Cycle for story 1.1 -- Interrupted 15 minutes ago -- Phase 2 (Development)
  2. QA Loop for story 2.1 -- Interrupted 30 minutes ago -- Iteration 2/5

Which would you like to resume? (1-2, or \"none\" to start fresh)
→ piton plan NUMBER
"
        ),
        "{output}"
    );
    assert_eq!(sandbox.piton(["plan", "2"]).run().at("/data/run/id"), "qa-2.1");
    // For programs the document is the same as for every other system.
    let document = sandbox.piton(["plan"]).run().expect_code(8).json();
    assert_eq!((&document["schema"], &document["error"]["code"]), (&"error/1".into(), &"ambiguous".into()));
}

#[test]
fn a_state_that_cannot_be_resumed_is_reported_verbatim_with_commands() {
    let sandbox = Situation::Blocking.build();
    for verb in ["plan", "resume"] {
        let text = sandbox.piton([verb, "--format", "text"]).run().expect_code(9).stdout;
        assert!(
            text.starts_with(
                "Verdict      blocked: not until something is resolved
=== Cannot Resume: QA Loop ===

Reason: the state contradicts the project or itself
  - 2.1 is being fixed in the loop, but its story says `Done`: QA was completed outside the loop

Options:
  1. Start the workflow from scratch (preserves existing artifacts)
     → piton archive qa-2.1 --yes
  2. Start from a specific phase (if some phases are still valid)
     → piton resume qa-2.1 --from fix-2   # once what is in the way is resolved
  3. Clean up the stale state and cancel
     → piton archive qa-2.1 --yes

"
            ),
            "{text}"
        );
        assert!(text.contains("Which would you prefer?"), "{text}");
    }
}

#[test]
fn a_failed_resume_is_reported_verbatim() {
    let sandbox = Situation::Corrupt.build();
    let output = sandbox.piton(["resume", "--format", "text"]).run().expect_code(4);
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines[..2], ["=== Resume Failed ===", "Workflow: QA Loop"], "{output}");
    assert!(lines[2].starts_with("Reason: qa/2.1/loop-status.json: "), "{output}");
    assert_eq!(lines[3..5], ["State file: qa/2.1/loop-status.json", ""], "{output}");
    assert!(lines[5].starts_with("Recommended action: "), "{output}");
}

#[test]
fn a_missing_state_is_reported_with_alternatives() {
    let sandbox = Sandbox::new();
    sandbox.file(".aios/config.yaml", "stories: {}\n").file(STORY, &story("2.1", "Done"));
    let output = sandbox.piton(["plan", "--format", "text"]).run().expect_code(3);
    assert!(output.stderr.contains("No saved state found: no interrupted workflows were detected"), "{output}");
    assert!(output.stderr.contains("orchestrate-status") && output.stderr.contains("`orchestrate`"), "{output}");
}

#[test]
fn preflight_compares_files_and_checks_dependencies() {
    let sandbox = Situation::Clean.build();
    sandbox.git_init();
    sandbox.file(STORY, &story("2.1", "InProgress").replace("none", "see the log")).commit("notes");
    let plan = sandbox.piton(["plan", "--mode", "preflight", "--format", "text"]).run().expect_code(9).stdout;
    for line in [
        "File-by-file comparison\n  docs/stories/2.1.story.md (story of 2.1, critical): changed: Dev Notes\n  \
         src/sign_in.rs (file used by the run): not changed by later commits\n",
        "Dependency check\n  fix-2 waits for review-2 (done)\n  review-3 waits for fix-2 (open)\n",
        "Type \"proceed\" to continue",
    ] {
        assert!(plan.contains(line), "{line}\n{plan}");
    }
    let interactive = sandbox.piton(["plan", "--format", "text"]).run().stdout;
    assert!(!interactive.contains("File-by-file"), "{interactive}");
    let json = sandbox.piton(["plan", "--native"]).run().json();
    assert_eq!(json["data"]["native"]["comparison"][0]["found"], "changed: Dev Notes");
}

#[test]
fn changes_in_git_since_the_state_was_saved_are_considered() {
    for (path, from, to, code, severity) in [
        (STORY, "It works", "It works twice", "story-changed", "warning"),
        (STORY, "none", "see the log", "story-changed", "warning"),
        (STORY, "It works", "It  works", "story-changed", "info"),
        ("src/sign_in.rs", "a", "b", "work-changed", "warning"),
    ] {
        let sandbox = Situation::Clean.build();
        sandbox.file("src/sign_in.rs", "a").git_init();
        let clean = sandbox.piton(["plan"]).run().expect_code(0);
        assert_eq!(clean.findings(), [""; 0], "{clean}");
        sandbox.file(path, &sandbox.read(path).replace(from, to)).commit("change");
        let plan = sandbox.piton(["plan"]).run().expect_code(if severity == "info" { 0 } else { 9 });
        let finding = plan.at("/findings/0");
        assert_eq!((&finding["code"], &finding["severity"]), (&code.into(), &severity.into()), "{plan}");
        assert!(finding["fix"].as_str().unwrap().starts_with("git "), "{finding}");
    }
}

#[test]
fn a_review_is_not_resumed_after_its_criteria_changed() {
    let sandbox = Sandbox::new();
    let review = updated()
        .replace("\"2026-01-31T10:00:00Z\"", "\"2026-01-31T10:00:00Z\", \"fixedAt\": \"2026-01-31T11:00:00Z\"");
    sandbox.file(LOOP, &review).file(STORY, &story("2.1", "InReview")).git_init();
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).at("/data/next/0/step"), "review-3");
    sandbox.file(STORY, &story("2.1", "InReview").replace("It works", "It works twice"));
    let plan = sandbox.piton(["plan", "--native"]).run().expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert_eq!(plan.at("/findings/0/severity"), "blocking");
    let messages = plan.at("/data/native/messages");
    let messages: Vec<&str> = messages.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(messages.contains(&"Conflicts (must resolve before resuming):"), "{messages:?}");
}

#[test]
fn a_workflow_begun_for_the_same_story_since_stops_the_older_one() {
    let sandbox = Situation::Clean.build();
    sandbox.file(
        ".aiox/workflow-state/2.1-state.yaml",
        &cycle().replace("1.1.story", "2.1.story").replace("T11:00", "T11:40"),
    );
    let older = sandbox.piton(["plan", "qa-2.1"]).run().expect_code(9);
    assert_eq!(older.at("/findings/0/code"), "rival-run");
    assert_eq!(older.at("/findings/0/severity"), "blocking");
    // The newer one continues, with a warning.
    let newer = sandbox.piton(["plan", "dev-2.1"]).run().expect_code(9);
    assert_eq!(newer.at("/findings/0/severity"), "warning");
    assert_eq!(newer.at("/data/verdict"), "confirm");
}

#[test]
fn an_implied_run_is_never_archived() {
    let sandbox = Sandbox::new();
    sandbox.file(STORY, &story("2.1", "InProgress")).file("docs/stories/3.1/spec/requirements.json", "{}\n");
    let before = sandbox.tree();
    for run in ["sdc-2.1", "spec-3.1"] {
        let refused = sandbox.piton(["archive", run, "--yes"]).run().expect_code(1);
        let message = refused.at("/error/message").as_str().unwrap().to_owned();
        assert!(message.contains("no saved state to archive"), "{message}");
        let plan = sandbox.piton(["plan", run]).run();
        assert!(!plan.stdout.contains("piton archive"), "{plan}");
    }
    let changed: Vec<String> =
        before.changes(&sandbox.tree()).into_iter().filter(|path| !path.contains(".piton")).collect();
    assert_eq!(changed, [""; 0]);
}

#[test]
fn a_partly_valid_state_is_reported_verbatim() {
    let sandbox = Sandbox::new();
    sandbox.file(
        ".aiox/w-20260131-abc123-state.yaml",
        "instance_id: w-20260131-abc123\nworkflow_name: Greenfield\nstarted_at: \"2026-01-31T10:00:00Z\"\nupdated_at: \
         \"2026-01-31T11:00:00Z\"\nstatus: active\nsteps:\n  - { phase: plan, agent: pm, action: write brief, status: completed \
         }\n  - { phase: plan, agent: architect, action: design, status: completed }\n  - { phase: build, agent: dev, action: \
         build, status: pending }\nartifacts:\n  - { created_by_step: 0, path: docs/brief.md, status: created }\n  - { \
         created_by_step: 1, path: docs/design.md, status: created }\n",
    );
    // At 11:00, while the run was under way.
    sandbox.file("docs/brief.md", "a brief\n").modified("docs/brief.md", 1_769_857_200);
    let text = sandbox.piton(["plan", "--format", "text"]).run().expect_code(9).stdout;
    let (verdict, text) = text.split_once('\n').unwrap();
    assert!(verdict.starts_with("Verdict      confirm"), "the verdict comes first: {verdict}");
    let (block, rest) = text.split_once("\nNext\n").unwrap();
    assert_eq!(
        block,
        "=== Partial Resume Possible: Workflow Greenfield ===

Valid phases (can be preserved):
  - Phase 1: write brief -- Output still valid

Invalid phases (must be re-run):
  - Phase 2: design -- Output is missing

Suggestion: Resume from Phase 2, using Phase 1 outputs.
"
    );
    assert!(rest.contains("Proceed? (yes / restart from scratch / cancel)\n→ piton resume "), "{rest}");
}

#[test]
fn a_resumable_run_continues_in_every_mode_after_consent() {
    for (situation, mode, answer, code) in [
        (Situation::Clean, "autopilot", "", 0),
        (Situation::Clean, "interactive", "", 0),
        (Situation::Clean, "preflight", "yes\n", 9),
        (Situation::Clean, "preflight", "proceed\n", 0),
        (Situation::Warnings, "autopilot", "", 0),
        (Situation::Warnings, "interactive", "yes\n", 9),
        (Situation::Warnings, "preflight", "proceed\n", 0),
    ] {
        let sandbox = situation.build();
        let stories = sandbox.read(STORY);
        let resume = sandbox.piton(["resume", "--mode", mode, "--format", "text"]).stdin(answer).run();
        assert_eq!(resume.code, code, "{situation:?} {mode}\n{resume}");
        assert_eq!(sandbox.read(LOOP) != updated(), code == 0, "{situation:?} {mode}");
        assert_eq!(sandbox.read(STORY), stories, "stories are never written");
        if code == 0 {
            let validation = if situation == Situation::Clean { "clean" } else { "1 warning" };
            let block = format!(
                "=== Resuming: QA Loop ===\nStory: 2.1\nPhase: 2/5 -- Fix what review 2 found\nAgent: @dev\nState age: 30 \
                 minutes\nValidation: {validation}\n\nHanding off to @dev...\n"
            );
            assert!(resume.stdout.starts_with(&block), "{resume}");
        }
    }
}

#[test]
fn autopilot_logs_its_decision_where_the_framework_expects_it() {
    let sandbox = Situation::Warnings.build();
    sandbox.file("qa/2.1/orchestration-log-20260131T090000Z.md", "# Orchestration\n");
    sandbox.piton(["resume", "--mode", "autopilot"]).run().expect_code(0);
    let block = "[2026-01-31T12:00:00Z] Workflow resumed: QA Loop for story 2.1\nState source: qa/2.1/loop-status.json\nResume \
                 point: Iteration 2/5 -- @dev\nInterruption duration: 30 minutes\nValidation: 1 warning\n";
    let log = sandbox.read("qa/2.1/orchestration-log-20260131T090000Z.md");
    assert_eq!(log, format!("# Orchestration\n\n{block}"));
    let own = sandbox.read("qa/2.1/.piton/loop-status.json/log.jsonl");
    let own = own.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = own.into_iter().find(|line| line["decision"] == "resumed").unwrap();
    assert_eq!((&line["said"], &line["validation"]), (&block.into(), &"warnings".into()));
    assert!(line["warnings"][0].as_str().unwrap().contains("`Ready`"), "{line}");
    // In the other modes a person was present.
    let sandbox = Situation::Clean.build();
    sandbox.piton(["resume"]).run().expect_code(0);
    assert!(!sandbox.exists("qa/2.1/orchestration-log-20260131T090000Z.md"));
    assert!(sandbox.exists("qa/2.1/.piton/loop-status.json/log.jsonl"));
}

#[test]
fn an_implied_run_is_resumed_without_a_write_to_the_project() {
    let sandbox = Sandbox::new();
    sandbox.file(STORY, &story("2.1", "InProgress")).git_init();
    let before = sandbox.tree();
    let resume = sandbox.piton(["resume", "--mode", "autopilot", "--format", "text"]).run().expect_code(0);
    assert!(resume.stdout.starts_with("=== Resuming: SDC ===\nStory: 2.1\nPhase: 3 -- Implement\n"), "{resume}");
    let changes = before.changes(&sandbox.tree());
    let others: Vec<&String> = changes.iter().filter(|path| !path.contains(".piton")).collect();
    assert_eq!(others, [""; 0], "{changes:?}");
}
