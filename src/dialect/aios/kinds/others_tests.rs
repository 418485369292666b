use crate::{
    dialect::{
        Loaded,
        aios::{
            kind::Kind,
            state_testing::{codes, files, steps},
        },
    },
    model::{
        ReviewVerdict, Run,
        RunStatus::{self, Aborted, Active, Completed, Paused},
    },
};

const ADE: &str = ".aiox/master-orchestrator/3.2.json";
const PHASES: &str = ".aiox/workflow-state/w.json";
const BOB: &str = "docs/stories/.session-state.yaml";
const BUILD: &str = "plan/build-state.json";
const RECORD: &str = ".aiox/workflow-state/x-state.yaml";
const PAUSED: &str = ".aiox/workflow-state/5.1-state.yaml";

/// Reads a state at noon of 31 January.
fn load(path: &str, text: &str) -> Loaded {
    let files = files(path, text);
    Kind::of(&files).unwrap().descriptor().load(&files)
}

fn run(path: &str, text: &str) -> Run {
    load(path, text).run.unwrap()
}

fn ade(status: &str, current: &str, epics: &str) -> String {
    format!(
        r#"{{"workflowId":"w","storyId":"3.2","status":"{status}","currentEpic":{current},
            "timestamps":{{"updatedAt":"2026-01-31T11:00:00Z"}},"retryCount":{{"4":2}},"epics":{{{epics}}}}}"#
    )
}

/// Epics 3, 4 and 6, and 5 if it has a status.
fn epics(statuses: [&str; 4]) -> String {
    let entries = ["3", "4", "5", "6"].into_iter().zip(statuses).filter(|(_, status)| !status.is_empty());
    let entries = entries.map(|(key, status)| format!(r#""{key}":{{"status":"{status}","attempts":1,"errors":[]}}"#));
    entries.collect::<Vec<_>>().join(",")
}

fn phases(more: &str, phases: &str) -> String {
    format!(r#"{{"workflowId":"w","updatedAt":"2026-01-31T11:00:00Z",{more},"phases":{{{phases}}}}}"#)
}

fn bob(phase: &str, action: &str) -> String {
    format!(
        "session_state:\n  last_updated: \"2026-01-31T11:45:00Z\"\n  epic: {{ id: 12 }}\n  progress:\n    current_story: \
         docs/stories/12.2.story.md\n    stories_done: [12.1]\n    stories_pending: [12.2, 12.3]\n  workflow: {{ current_phase: {phase}, \
         attempt_count: 2 }}\n  last_action: {{ type: {action} }}\n"
    )
}

fn build(status: &str, current: &str, more: &str) -> String {
    format!(
        r#"{{"storyId":"2.1","status":"{status}","startedAt":"2026-01-31T11:00:00Z","lastCheckpoint":"2026-01-31T11:30:00Z",
            "currentSubtask":{current},"completedSubtasks":["1.1","1.2"],"checkpoints":[]{more}}}"#
    )
}

fn record(workflow: &str, current: &str, status: &str, done: &str) -> String {
    format!(
        "execution_id: x\nworkflow: {workflow}\ncurrent_phase: {current}\ncurrent_agent: \"@dev\"\nstatus: {status}\nphases_completed: {done}\n"
    )
}

fn paused(more: &str) -> String {
    format!("current_story: docs/stories/5.1.story.md\n{more}\n")
}

/// The steps of a state with their statuses, the status of its run, and the findings.
type Reading = (String, &'static [&'static str], RunStatus, &'static [&'static str]);

fn check<const N: usize>(path: &str, readings: [Reading; N]) {
    for (text, expected, status, found) in readings {
        let loaded = load(path, &text);
        assert_eq!(steps(&loaded), expected, "{text}");
        assert_eq!(codes(&loaded), found, "{text}");
        assert_eq!(loaded.run.unwrap().status, status, "{text}");
    }
}

#[test]
fn an_orchestration_says_where_it_stands() {
    let state = |status, current, statuses| ade(status, current, &epics(statuses));
    let (done, no) = ("completed", "pending");
    check(
        ADE,
        [
            (
                state("ready", "null", [no, no, "", no]),
                &["epic-3 pending", "epic-4 pending", "epic-6 pending"],
                Active,
                &[],
            ),
            (
                state("in_progress", "4", [done, "in_progress", no, no]),
                &["epic-3 completed", "epic-4 in_progress", "epic-6 pending"],
                Active,
                &[],
            ),
            (
                state("in_progress", "5", [done, "failed", "in_progress", no]),
                &["epic-3 completed", "epic-4 failed", "epic-6 pending", "epic-5 in_progress"],
                Active,
                &["state-corrupt", "state-corrupt"],
            ),
            (
                state("stopped", "6", [done, done, "", "great"]),
                &["epic-3 completed", "epic-4 completed", "epic-6 pending"],
                Paused,
                &["status-unknown"],
            ),
            (
                state("complete", "6", [done, done, "", "skipped"]),
                &["epic-3 completed", "epic-4 completed", "epic-6 skipped"],
                Completed,
                &[],
            ),
        ],
    );
}

#[test]
fn phases_say_where_they_stand() {
    let over = r#""1":{"agent":"pm","completedAt":"2026-01-31T10:00:00Z","result":{"status":"ok"}}"#;
    let failed = r#""status":"failed","failedPhase":2,"error":"no""#;
    let going_on = r#""status":"in_progress""#;
    check(
        PHASES,
        [
            (phases(going_on, ""), &["phase-1 pending"], Active, &[]),
            (phases(going_on, over), &["phase-1 completed", "phase-2 pending"], Active, &["total-missing"]),
            (phases(r#""status":"completed""#, over), &["phase-1 completed"], Completed, &[]),
            (phases(failed, over), &["phase-1 completed", "phase-2 failed"], Active, &["run-failed"]),
            (
                phases(going_on, &over.replace("\"1\"", "\"3\"")),
                &["phase-1 pending", "phase-2 pending", "phase-3 completed"],
                Active,
                &["state-corrupt", "state-corrupt"],
            ),
        ],
    );
}

#[test]
fn a_session_of_bob_says_where_it_stands() {
    check(
        BOB,
        [
            (bob("quality_gate", "PHASE_CHANGE"), &["12.1 completed", "12.2 in_progress", "12.3 pending"], Active, &[]),
            (bob("development", "ERROR_OCCURRED"), &["12.1 completed", "12.2 failed", "12.3 pending"], Active, &[]),
            (bob("checkpoint", "REVIEW"), &["12.1 completed", "12.2 waiting_approval", "12.3 pending"], Active, &[]),
            (bob("checkpoint", "GO"), &["12.1 completed", "12.2 completed", "12.3 pending"], Active, &[]),
            (bob("push", "PAUSE"), &["12.1 completed", "12.2 in_progress", "12.3 pending"], Paused, &[]),
            (bob("push", "ABORT"), &["12.1 completed", "12.2 in_progress", "12.3 pending"], Aborted, &[]),
        ],
    );
}

#[test]
fn a_build_says_where_it_stands() {
    let total = r#","metrics":{"totalSubtasks":3}"#;
    check(
        BUILD,
        [
            (build("in_progress", "\"2.1\"", ""), &["1.1 completed", "1.2 completed", "2.1 in_progress"], Active, &[]),
            (build("abandoned", "\"1.2\"", total), &["1.1 completed", "1.2 completed", "next pending"], Paused, &[]),
            (
                build("in_progress", "null", ""),
                &["1.1 completed", "1.2 completed", "next pending"],
                Active,
                &["total-missing"],
            ),
            (build("completed", "null", ""), &["1.1 completed", "1.2 completed"], Completed, &[]),
        ],
    );
}

#[test]
fn a_record_says_where_it_stands() {
    check(
        RECORD,
        [
            (
                record("sdc", "3", "active", "[1, { phase: 2 }]"),
                &["phase-1 completed", "phase-2 completed", "phase-3 in_progress", "phase-4 pending"],
                Active,
                &[],
            ),
            (
                record("sdc", "2", "paused", "[Create, Lunch]"),
                &["phase-1 completed", "phase-2 in_progress", "phase-3 pending", "phase-4 pending"],
                Paused,
                &["state-corrupt"],
            ),
            (
                record("release", "1", "active", "[1]"),
                &["phase-1 completed", "phase-2 pending"],
                Active,
                &["total-missing"],
            ),
            (
                record("release", "4000000000", "active", "[1]"),
                &["phase-1 completed", "phase-2 pending"],
                Active,
                &["state-corrupt", "total-missing"],
            ),
        ],
    );
}

#[test]
fn a_cycle_at_rest_says_where_it_stands() {
    let rests = "paused_at: \"2026-01-31T11:30:00Z\"\nepic_progress: { completed_stories: [5.0], next_story: 5.2, remaining_stories: [5.2, 5.3] }";
    let given_up =
        "aborted_at: \"2026-01-31T11:30:00Z\"\nepic_progress: { aborted_at_story: 5.1, remaining_stories: [5.2] }";
    check(
        PAUSED,
        [
            (paused(rests), &["5.0 completed", "5.1 completed", "5.2 pending", "5.3 pending"], Paused, &[]),
            (paused(given_up), &["5.1 pending", "5.2 pending"], Aborted, &[]),
        ],
    );
}

#[test]
fn the_step_that_the_state_is_at_comes_before_every_other_open_one() {
    let run = run(ADE, &ade("in_progress", "4", &epics(["pending", "in_progress", "", "pending"])));
    let needs: Vec<Vec<&str>> =
        run.steps.iter().map(|step| step.depends_on.iter().map(|id| id.as_str()).collect()).collect();
    assert_eq!(needs, [vec!["epic-4"], vec![], vec!["epic-3"]]);
    assert_eq!(run.position.unwrap().as_str(), "epic-4");
}

#[test]
fn agents_and_titles_are_those_of_the_table_or_of_the_state() {
    let handed = r#""1":{"agent":"@pm","task":"Gather","completedAt":"2026-01-31T10:00:00Z","handoff":{"to":{"phase":4,"agent":"@qa"}}}"#;
    for (path, text, step, title, agent) in [
        (
            ADE,
            ade("ready", "4", &epics(["completed", "pending", "", "pending"])),
            "epic-4",
            "Execution Engine",
            Some("dev"),
        ),
        (PHASES, phases(r#""status":"in_progress""#, handed), "phase-1", "Phase 1: Gather", Some("pm")),
        (PHASES, phases(r#""status":"in_progress""#, handed), "phase-4", "Phase 4", Some("qa")),
        (BOB, bob("validation", "PHASE_CHANGE"), "12.2", "Story 12.2, in validation", Some("po")),
        (BOB, bob("quality_gate", "PHASE_CHANGE"), "12.2", "Story 12.2, in quality_gate", None),
        (BOB, bob("null", "STORY_STARTED"), "12.2", "Story 12.2", Some("dev")),
        (BUILD, build("in_progress", "null", ""), "next", "The next subtask of the plan, if there is one", Some("dev")),
        (RECORD, record("sdc", "4", "active", "[1, 2, 3]"), "phase-4", "QA", Some("dev")),
        (RECORD, record("spec", "4", "active", "[1]"), "phase-5", "Critique", Some("qa")),
        (RECORD, record("release", "2", "active", "[1]"), "phase-2", "Phase 2", Some("dev")),
    ] {
        let run = run(path, &text);
        let found = run.steps.iter().find(|known| known.id.as_str() == step).unwrap();
        assert_eq!((found.title.as_str(), found.agent.as_deref()), (title, agent), "{text}");
    }
}

#[test]
fn failures_are_counted_for_their_own_step() {
    let attempts = r#","failedAttempts":[{"subtaskId":"1.2","error":"old"},{"subtaskId":"2.1","error":"one"},{"subtaskId":"2.1","error":7}]"#;
    let failed = r#""4":{"status":"failed","attempts":5,"errors":[{"message":"one"},"two"]}"#;
    for (path, text, step, failures, errors) in [
        (BUILD, build("in_progress", "\"2.1\"", attempts), "2.1", 2, &["one", "7"][..]),
        // What the orchestration counted is more than it has errors for, and attempts are no failures beside it.
        (ADE, ade("in_progress", "4", failed), "epic-4", 2, &["one", "two"]),
        (ADE, ade("in_progress", "6", &failed.replace("\"4\"", "\"6\"")), "epic-6", 5, &["one", "two"]),
        (PHASES, phases(r#""status":"failed","failedPhase":2,"error":"no""#, ""), "phase-2", 1, &["no"]),
        (BOB, bob("development", "ERROR_OCCURRED"), "12.2", 2, &[]),
    ] {
        let run = run(path, &text);
        let found = run.steps.iter().find(|known| known.id.as_str() == step).unwrap();
        assert_eq!(
            (found.failures, found.past_errors.as_slice()),
            (failures, &errors.iter().map(|error| (*error).to_owned()).collect::<Vec<_>>()[..]),
            "{text}"
        );
    }
}

#[test]
fn a_gate_that_said_no_a_push_and_a_commit_are_data_of_their_step() {
    let epic = r#""3":{"status":"completed","gateResult":{"verdict":"blocked"}}"#;
    let run_of = |path, text: String| run(path, &text);
    let gate = run_of(ADE, ade("in_progress", "3", epic));
    assert_eq!(gate.steps[0].review.as_ref().map(|review| review.verdict), Some(ReviewVerdict::Rejected));
    assert!(!run_of(BOB, bob("push", "PHASE_CHANGE")).steps[1].idempotent);
    assert!(run_of(BOB, bob("development", "PHASE_CHANGE")).steps[1].idempotent);
    let points = r#","x":[]"#;
    let text = build("in_progress", "null", points).replace(
        r#""checkpoints":[]"#,
        r#""checkpoints":[{"subtaskId":"1.1","gitCommit":"deadbee"},{"subtaskId":"1.1","gitCommit":"no commit"}]"#,
    );
    let commits: Vec<Option<String>> = run_of(BUILD, text).steps.into_iter().map(|step| step.commit).collect();
    assert_eq!(commits, [Some("deadbee".to_owned()), None, None]);
}

#[test]
fn stories_that_are_only_counted_are_done_elsewhere() {
    let text = paused("paused_at: 1769859000\nepic_progress: { completed_stories: 4, remaining_stories: [5.2] }");
    let run = run(PAUSED, &text);
    // The count includes the story of the checkpoint.
    assert_eq!((run.done_elsewhere, run.steps.len()), (3, 2));
}

#[test]
fn a_runner_that_was_silent_for_too_long_is_gone() {
    let stamped =
        |text: String, stamp: &str| text.replace("2026-01-31T11:30:00Z", stamp).replace("2026-01-31T11:45:00Z", stamp);
    for (path, text, stamp, found) in [
        (BUILD, build("in_progress", "\"2.1\"", ""), "2026-01-31T11:00:00Z", &[][..]),
        (BUILD, build("in_progress", "\"2.1\"", ""), "2026-01-31T10:59:59Z", &["owner-gone"]),
        (BUILD, build("paused", "\"2.1\"", ""), "2026-01-31T10:59:59Z", &[]),
        (BOB, bob("push", "PHASE_CHANGE"), "2026-01-31T11:29:59Z", &["owner-gone"]),
        (BOB, bob("push", "PAUSE"), "2026-01-31T11:29:59Z", &[]),
    ] {
        assert_eq!(codes(&load(path, &stamped(text, stamp))), found, "{path} {stamp}");
    }
}
