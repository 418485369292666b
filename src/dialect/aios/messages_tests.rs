use super::{Situation, choice_prompt, failure, list_row, log, question, resuming, summary};
use crate::{
    dialect::aios::{
        kind::Kind,
        load,
        testing::{files, path as relative},
    },
    model::{
        Action, Age, Finding, FindingCode, Next, Plan, QuestionOption, Run, StepId, Timestamp, Verdict,
        testing::{next_of, plan_of},
    },
    model::{Suggested, Verb},
};

const STORY: &str = "# Story 3.2: Sign in\n\n**Status:** InProgress\n\n## Tasks\n- [x] a\n- [ ] b\n";
const LOOP: &str = "{\"storyId\": \"2.1\", \"currentIteration\": 3, \"maxIterations\": 5, \"status\": \"in_progress\",
 \"updatedAt\": \"2026-03-01T10:00:00Z\", \"history\": [
 {\"iteration\": 1, \"reviewedAt\": \"2026-03-01T08:00:00Z\", \"verdict\": \"REJECT\", \"fixedAt\": \"2026-03-01T08:10:00Z\"},
 {\"iteration\": 2, \"reviewedAt\": \"2026-03-01T09:00:00Z\", \"verdict\": \"REJECT\", \"fixedAt\": \"2026-03-01T09:10:00Z\"}]}";
const EPIC: &str = "epic_state:\n  epicId: 5\n  mode: yolo\n  status: active\n  waves:\n    1:\n      status: completed\n      stories:\n        5.1: { status: completed, executor: dev }\n    2:\n      status: in_progress\n      stories:\n        5.2: { status: in_progress, executor: dev }\n";

fn run(kind: Kind, at: &str, text: &str) -> Run {
    load(kind, &files(&[(at, text)])).run.unwrap()
}

fn story() -> Run {
    run(Kind::StoryCycle, "docs/stories/3.2.story.md", STORY)
}

fn plan(run: &Run, verdict: Verdict, done: &[&str], next: &str) -> Plan {
    let mut plan = plan_of(run, verdict);
    plan.steps.completed = done.iter().map(|id| StepId::new(*id)).collect();
    plan.next = vec![Next { agent: Some("dev".to_owned()), ..next_of(next, Action::Retry) }];
    plan.age = Age { seconds: Some(7_200), ..plan.age };
    let yes = QuestionOption::new("yes", "resume", Suggested::of(Verb::Resume, "x").yes());
    plan.questions = vec![crate::model::Question::of_run("planner's", vec![yes], None)];
    plan
}

fn story_plan(verdict: Verdict) -> Plan {
    plan(&story(), verdict, &["1_create", "2_validate"], "3_implement")
}

fn found(code: FindingCode, message: &str) -> Finding {
    Finding::new(code, message)
}

fn text(lines: &[String]) -> String {
    lines.join("\n")
}

#[test]
fn a_state_that_was_found_is_told_word_for_word() {
    let findings = [
        found(FindingCode::StoryMissing, "the story file of 9 is missing"),
        found(FindingCode::StoryDrift, "the story is out of date"),
        found(FindingCode::NotInGit, "not told"),
    ];
    let lines = summary(&story(), &story_plan(Verdict::Confirm), &findings);
    assert_eq!(
        text(&lines),
        "=== Resume: SDC ===

Interrupted: 2 hours ago
State source: docs/stories/3.2.story.md

Completed Phases:
  1. Create -- @sm -- Done
  2. Validate -- @po -- Done

Resume Point:
  -> Phase 3: Implement -- @dev
  Input: docs/stories/3.2.story.md

Warnings:
  - the story is out of date

Conflicts (must resolve before resuming):
  - the story file of 9 is missing
"
    );
    let clean = text(&summary(&story(), &story_plan(Verdict::Resume), &[]));
    assert!(!clean.contains("Warnings") && !clean.contains("Conflicts"), "{clean}");
}

#[test]
fn what_cannot_be_resumed_is_told_word_for_word() {
    let findings = [
        found(FindingCode::StoryMissing, "story 3.5 is missing"),
        Finding { severity: crate::model::Severity::Blocking, ..found(FindingCode::StoryDrift, "3.4 was finished") },
    ];
    let plan = Plan { questions: Vec::new(), ..story_plan(Verdict::Blocked) };
    assert_eq!(
        text(&summary(&story(), &plan, &findings)),
        "=== Cannot Resume: SDC ===

Reason: critical files are missing, and the state contradicts the project
  - story 3.5 is missing
  - 3.4 was finished

Options:
  1. Start the workflow from scratch (preserves existing artifacts)
  2. Start from a specific phase (if some phases are still valid)
     → once what is in the way is resolved: `piton resume sdc-3.2 --from 3_implement`
  3. Clean up the stale state and cancel
"
    );
    assert!(question(&story(), &plan, &findings).is_none(), "there is no state to archive");
    let epic = run(Kind::Epic, ".aios/epic-5-state.yaml", EPIC);
    let asked = question(&epic, &plan, &findings).unwrap();
    assert_eq!(asked.text, "Which would you prefer?");
    assert_eq!(asked.options[0].command, "piton close epic-5 --abort");
}

#[test]
fn what_is_partly_valid_is_told_word_for_word() {
    let mut plan = story_plan(Verdict::Confirm);
    plan.steps.invalid = vec![StepId::new("3_implement"), StepId::new("4_qa")];
    let changed = found(FindingCode::OutputChanged, "changed").on(&StepId::new("3_implement"));
    assert_eq!(
        text(&summary(&story(), &plan, &[changed])),
        "=== Partial Resume Possible: SDC ===

Valid phases (can be preserved):
  - Phase 1: Create -- Output still valid
  - Phase 2: Validate -- Output still valid

Invalid phases (must be re-run):
  - Phase 3: Implement -- Referenced files changed
  - Phase 4: QA -- A phase before it must be re-run

Suggestion: Resume from Phase 3, using Phase 1-2 outputs."
    );
    let asked = question(&story(), &plan, &[]).unwrap();
    assert_eq!(asked.text, "Proceed? (yes / cancel)");
    let epic = run(Kind::Epic, ".aios/epic-5-state.yaml", EPIC);
    let asked = question(&epic, &plan, &[]).unwrap();
    assert_eq!(asked.text, "Proceed? (yes / restart from scratch / cancel)");
}

#[test]
fn a_confirmation_a_failure_and_a_log_are_told_word_for_word() {
    let warnings = [found(FindingCode::StoryDrift, "a"), found(FindingCode::AgeStale, "b")];
    assert_eq!(
        text(&resuming(&story(), &story_plan(Verdict::Resume), &warnings)),
        "=== Resuming: SDC ===
Story: 3.2
Phase: 3 -- Implement
Agent: @dev
State age: 2 hours
Validation: 2 warnings

Handing off to @dev..."
    );
    assert_eq!(
        text(&failure("SDC for story 3.2", &relative("a.yaml"), "it moved", "piton plan")),
        "=== Resume Failed ===
Workflow: SDC for story 3.2
Reason: it moved
State file: a.yaml

Recommended action: piton plan"
    );
    let at = Timestamp::parse("2026-03-01T12:00:00Z", 0).unwrap();
    let logged = log(&story(), &story_plan(Verdict::Resume), &[], at);
    // Nothing is saved beside which a log could lie.
    assert_eq!(logged.file, None);
    assert_eq!(
        logged.text,
        "[2026-03-01T12:00:00Z] Workflow resumed: SDC for story 3.2
State source: docs/stories/3.2.story.md
Resume point: Phase 3 -- @dev
Interruption duration: 2 hours
Validation: clean
"
    );
}

#[test]
fn the_log_of_a_saved_run_lies_beside_its_state() {
    let epic = run(Kind::Epic, ".aios/epic-5-state.yaml", EPIC);
    let plan = plan(&epic, Verdict::Resume, &[], "5.2");
    let at = |text: &str| Timestamp::parse(text, 0).unwrap();
    let logged = log(&epic, &plan, &[found(FindingCode::StoryDrift, "a")], at("2026-03-01T12:00:00Z"));
    assert_eq!(logged.file, Some(relative(".aios/orchestration-log-20260301T120000Z.md")));
    assert!(logged.text.contains("Resume point: Wave 2 -- @dev\n"), "{}", logged.text);
    assert!(logged.text.ends_with("Validation: 1 warning\n"), "{}", logged.text);
    let begun = Run { started_at: Some(at("2026-02-01T08:00:00Z")), ..epic };
    let logged = log(&begun, &plan, &[], at("2026-03-01T12:00:00Z"));
    assert_eq!(logged.file, Some(relative(".aios/orchestration-log-20260201T080000Z.md")));
}

#[test]
fn each_workflow_says_its_place_in_its_own_way() {
    let qa = run(Kind::QaLoop, "qa/2.1/loop-status.json", LOOP);
    let epic = run(Kind::Epic, ".aios/epic-5-state.yaml", EPIC);
    for (run, next, expected) in [
        (&story(), "3_implement", "SDC for story 3.2 -- Interrupted 2 hours ago -- Phase 3 (Implement)"),
        (&qa, "review-3", "QA Loop for story 2.1 -- Interrupted 2 hours ago -- Iteration 3/5"),
        (&epic, "5.2", "Epic Execution for Epic 5 -- Interrupted 2 hours ago -- Wave 2"),
        (&epic, "nothing", "Epic Execution for Epic 5 -- Interrupted 2 hours ago -- conflicts must be resolved first"),
    ] {
        assert_eq!(list_row(run, &plan(run, Verdict::Resume, &[], next)), expected);
    }
    assert_eq!(
        text(&choice_prompt(&[(1, "SDC for story 3.2"), (2, "QA Loop for story 2.1")])),
        "=== Multiple Interrupted Workflows Found ===

  1. SDC for story 3.2
  2. QA Loop for story 2.1

Which would you like to resume? (1-2, or \"none\" to start fresh)"
    );
    assert!(text(&choice_prompt(&[(1, "a"), (3, "b")])).contains("(1, 3, or"));
}

#[test]
fn the_situation_follows_from_verdict_and_findings() {
    let blocking = |code| vec![Finding { severity: crate::model::Severity::Blocking, ..found(code, "x") }];
    for (verdict, findings, invalid, expected) in [
        (Verdict::Complete, vec![], false, Situation::Over),
        (Verdict::Nothing, vec![], false, Situation::Over),
        (Verdict::Resume, vec![], false, Situation::Resume),
        (Verdict::Confirm, vec![found(FindingCode::StoryDrift, "x")], false, Situation::Resume),
        (Verdict::Confirm, vec![], true, Situation::Partial),
        // The conflict is told first.
        (Verdict::Blocked, blocking(FindingCode::LiveOwner), true, Situation::Resume),
        (Verdict::Blocked, blocking(FindingCode::Rejected), false, Situation::Resume),
        (Verdict::Blocked, blocking(FindingCode::StoryMissing), true, Situation::Cannot),
        (Verdict::Blocked, blocking(FindingCode::PlanMissing), false, Situation::Cannot),
        (Verdict::Blocked, blocking(FindingCode::StateCorrupt), false, Situation::Cannot),
        (Verdict::Blocked, blocking(FindingCode::StoryDrift), false, Situation::Cannot),
    ] {
        let mut plan = story_plan(verdict);
        plan.steps.invalid = if invalid { vec![StepId::new("3_implement")] } else { Vec::new() };
        assert_eq!(Situation::of(&story(), &plan, &findings), expected, "{verdict:?} {findings:?}");
    }
}

#[test]
fn only_a_run_that_may_go_on_is_asked_about_in_these_words() {
    let epic = run(Kind::Epic, ".aios/epic-5-state.yaml", EPIC);
    for (verdict, default) in [(Verdict::Resume, "yes"), (Verdict::Confirm, "cancel")] {
        let asked = question(&epic, &plan(&epic, verdict, &[], "5.2"), &[]).unwrap();
        assert_eq!(asked.text, "Resume this workflow? (yes / restart from scratch / cancel)");
        assert_eq!(asked.default.as_deref(), Some(default));
        let commands: Vec<String> = asked.options.iter().map(|option| option.command.to_string()).collect();
        assert_eq!(commands, ["piton resume x --yes", "piton close epic-5 --abort", "piton status epic-5"]);
        // Nothing was saved that could be archived.
        let implied = question(&story(), &story_plan(verdict), &[]).unwrap();
        assert!(implied.option("restart").is_none() && implied.text == "Resume this workflow? (yes / cancel)");
    }
    let unattended = Plan { questions: Vec::new(), ..story_plan(Verdict::Resume) };
    assert!(question(&story(), &unattended, &[]).is_none());
    let mut gate = story_plan(Verdict::Confirm);
    gate.next[0].action = Action::Approve;
    gate.questions[0].options[0].id = "approve".to_owned();
    assert!(question(&story(), &gate, &[]).is_none());
}
