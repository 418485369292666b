//! States that public projects committed, if they are present beside the repository.

use crate::support::{Sandbox, Tree, repository};

#[test]
fn killed_cycles_that_went_round_are_for_a_person() {
    // A worktree of the repository lies one folder deeper.
    let places = ["../shared/real/aios", "../../shared/real/aios"].map(|place| repository().join(place));
    let Some(place) = places.into_iter().find(|place| place.is_dir()) else { return };
    let sandbox = Sandbox::new();
    Tree::of(&place.join("dev-cycle")).write_to(&sandbox.root());
    let before = sandbox.tree();
    for (story, saved) in [("bob-bugfix-1", "3_self_healing"), ("test-bob-1", "1_validation")] {
        let plan = sandbox.piton(["plan", &format!("dev-{story}"), "--exit-code"]).run().expect_code(9);
        assert_eq!(plan.at("/data/verdict"), "blocked", "{story}");
        assert_eq!(plan.at("/data/next"), serde_json::json!([]), "{story}");
        let message = plan.at("/findings/0/message").as_str().unwrap().to_owned();
        assert!(message.starts_with(saved) && message.contains("passed checkpoint GO"), "{message}");
    }
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
}

#[test]
fn a_completed_epic_shows_outdated_stories_and_continues_where_it_is_reopened() {
    let places = ["../shared/real/aios", "../../shared/real/aios"].map(|place| repository().join(place));
    let Some(place) = places.into_iter().find(|place| place.is_dir()) else { return };
    let sandbox = Sandbox::new();
    Tree::of(&place.join("epic-act")).write_to(&sandbox.root());
    let list = sandbox.piton(["list"]).run();
    let found = list.json()["findings"].as_array().cloned().unwrap_or_default();
    let lagging: Vec<&str> = found
        .iter()
        .filter(|finding| finding["code"] == "story-drift")
        .filter_map(|finding| finding["step"].as_str())
        .collect();
    assert_eq!(lagging, ["ACT-1", "ACT-2", "ACT-3", "ACT-4", "ACT-6", "ACT-5", "ACT-7", "ACT-8"]);
    let state = ".aios/epic-EPIC-ACT-state.yaml";
    let text = sandbox.read(state).replacen("  status: completed", "  status: active", 1);
    // The second wave is open again, with its only story.
    let (head, tail) = text.split_once("name: \"Unification\"").unwrap();
    let tail = tail.replacen("status: completed", "status: in_progress", 2);
    sandbox.file(state, &format!("{head}name: \"Unification\"{tail}"));
    let plan = sandbox.piton(["plan", "--native", "--exit-code"]).run().expect_code(9);
    assert_eq!(plan.at("/data/run/id"), "epic-EPIC-ACT");
    assert_eq!(plan.at("/data/run/title"), "Epic Execution for EPIC-ACT");
    assert_eq!(plan.at("/data/next/0/step"), "ACT-6");
    assert_eq!(plan.at("/data/native/resume_phase/wave"), "wave-2");
    write_and_compare(&sandbox, state);
}

/// The second gate's result for the story is removed; everything else in the file keeps its bytes.
fn write_and_compare(sandbox: &Sandbox, state: &str) {
    sandbox.piton(["resume", "--yes"]).run().expect_code(0);
    let before = sandbox.read(state);
    sandbox.piton(["begin", "ACT-6"]).run().expect_code(0);
    assert!(!sandbox.exists(&format!("{state}.bak")), "the history has it");
    let at = "2026-01-31T12:00:00Z";
    // The file's timestamp is later than the test's clock, and timestamps never go backwards.
    let later = "2026-02-06T16:00:00Z";
    assert!(before.contains(&format!("updated_at: \"{later}\"")) && !before.contains(at));
    let (head, tail) = before.split_once("    2:\n      status: approved\n").expect("the verdict of wave 2");
    let (_, tail) = tail.split_once("    3:\n").expect("the verdict of wave 3");
    let begun = format!("{head}    3:\n{tail}")
        .replace("current_wave: 3", "current_wave: 2")
        .replace("started_at: \"2026-02-06T15:00:00Z\"", &format!("started_at: \"{later}\""))
        .replace("completed_at: \"2026-02-06T15:25:00Z\"", "completed_at: null");
    assert_eq!(sandbox.read(state), begun);
    sandbox.piton(["finish", "ACT-6"]).run().expect_code(0);
    let act_6 = begun.split_once("        ACT-6:\n").expect("the story");
    let done = act_6.1.replacen("status: in_progress", "status: completed", 1);
    let done = done.replacen("completed_at: null", &format!("completed_at: \"{later}\""), 1);
    assert_eq!(sandbox.read(state), format!("{}        ACT-6:\n{done}", act_6.0));
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/step"), "gate-2");
}

#[test]
fn a_cycle_that_went_round_is_closed_when_a_person_says_so() {
    let places = ["../shared/real/aios", "../../shared/real/aios"].map(|place| repository().join(place));
    let Some(place) = places.into_iter().find(|place| place.is_dir()) else { return };
    let sandbox = Sandbox::new();
    Tree::of(&place.join("dev-cycle")).write_to(&sandbox.root());
    let state = ".aios/workflow-state/bob-bugfix-1-state.yaml";
    let before = sandbox.read(state);
    let closed = sandbox.piton(["close", "--done", "dev-bob-bugfix-1"]).run().expect_code(0);
    let restore = closed.at("/data/restore").as_str().unwrap().to_owned();
    sandbox.piton(restore.trim_start_matches("piton ").split(' ')).run().expect_code(0);
    assert_eq!(sandbox.read(state), before.replace("currentPhase: 3_self_healing", "currentPhase: 6_checkpoint"));
    assert_eq!(sandbox.piton(["plan", "dev-bob-bugfix-1"]).run().at("/data/verdict"), "complete");
}
