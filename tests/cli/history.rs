//! `history`, `restore` and `archive`, where bytes of whole projects are compared. The rest is in `tests/cases/history`.

use super::projects::{self, NINE_STEP, SESSION, document, foreign};
use crate::support::Sandbox;

#[test]
fn a_checkpoint_comes_back_byte_for_byte() {
    let sandbox = projects::ccw();
    // The summary is a document about the work, not its state.
    let foreign = |sandbox: &Sandbox| foreign(sandbox).without("IMPL-002-summary.md");
    let start = foreign(&sandbox);
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    let begun = foreign(&sandbox);
    sandbox.piton(["finish", "IMPL-002"]).run().expect_code(0);
    let finished = foreign(&sandbox);

    let refused = sandbox.piton(["restore", "--to", "000002"]).run().expect_code(9);
    let error = document(&refused);
    assert!(error["error"]["message"].as_str().unwrap().contains("IMPL-002"), "{error}");
    assert_eq!(error["error"]["hints"][0], "piton restore WFS-user-auth --to 000002 --yes");
    assert_eq!(finished.changes(&foreign(&sandbox)), [] as [&str; 0]);

    let restored = document(&sandbox.piton(["restore", "--to", "000002", "--yes"]).run().expect_code(0));
    assert_eq!(restored["data"]["repeats"], serde_json::json!(["IMPL-002"]));
    assert_eq!(begun.changes(&foreign(&sandbox)), [] as [&str; 0]);
    sandbox.piton(["restore", "--to", "000001"]).run().expect_code(0);
    assert_eq!(start.changes(&foreign(&sandbox)), [] as [&str; 0]);
    // A restore is a checkpoint too, so it can be undone.
    let history = sandbox.piton(["history"]).run();
    let newest = history.at("/data/checkpoints/1/id").as_str().unwrap().to_owned();
    assert_eq!(history.at("/data/checkpoints/1/replaced_by"), "restore");
    sandbox.piton(["restore", "--to", &newest]).run().expect_code(0);
    assert_eq!(finished.changes(&foreign(&sandbox)), [] as [&str; 0]);
}

#[test]
fn an_unreadable_state_is_kept_aside_when_the_last_one_comes_back() {
    let sandbox = projects::nine_step();
    sandbox.piton(["begin", "2:3"]).run().expect_code(0);
    let before = sandbox.read(NINE_STEP);
    let truncated = &sandbox.read(NINE_STEP)[..100];
    sandbox.file(NINE_STEP, truncated);
    let broken = sandbox.piton(["begin", "2:3"]).run().expect_code(4);
    assert!(broken.stdout.contains("piton restore"), "{broken}");
    assert_eq!(sandbox.read(NINE_STEP), truncated);

    let restored = document(&sandbox.piton(["restore", "--yes"]).run().expect_code(0));
    assert_eq!(sandbox.read(NINE_STEP), before);
    let kept = restored["data"]["kept"][0].as_str().unwrap().to_owned();
    assert!(kept.contains(".piton/") && kept.contains("/set-aside/"), "{kept}");
    assert_eq!(sandbox.read(&kept), truncated);
    sandbox.piton(["plan"]).run().expect_code(0);
}

#[test]
fn an_open_run_is_archived_only_after_consent() {
    for (project, state) in [(projects::nine_step as fn() -> Sandbox, NINE_STEP), (projects::ccw, SESSION)] {
        let sandbox = project();
        let before = foreign(&sandbox);
        let error = document(&sandbox.piton(["close"]).run().expect_code(9));
        assert!(error["error"]["hints"][0].as_str().unwrap().contains(" --abort`"), "{error}");
        assert_eq!(before.changes(&foreign(&sandbox)), [] as [&str; 0]);
        let to = document(&sandbox.piton(["close", "--abort"]).run().expect_code(0))["data"]["to"].clone();
        assert!(sandbox.exists(to.as_str().unwrap()), "{to}");
        assert!(!sandbox.exists(state));
        sandbox.piton(["list", "--exit-code"]).run().expect_code(3);
    }
}

/// A restore is an inverse: what an archive took away is there again, where it was.
#[test]
fn an_archived_run_comes_back_with_the_same_plan() {
    let runs = [("nine-step", "user-auth", "2:3"), ("aios", "epic-7", "7.2"), ("dotagent", "user-auth", "task-002")];
    for (name, run, step) in runs {
        for (in_git, begins) in [(false, false), (false, true), (true, false), (true, true)] {
            let sandbox = projects::example(name);
            if in_git {
                sandbox.git_init();
            }
            if begins {
                sandbox.piton(["begin", step, "--run", run]).run().expect_code(0);
            }
            let files = || foreign(&sandbox).without(".git").without_folders();
            let (before, plan) = (files(), plan_of(&sandbox, run));
            sandbox.piton(["close", run, "--abort"]).run().expect_code(0);
            assert_eq!(stage_of(&sandbox, run), "archived", "{name}");
            sandbox.piton(["restore", run]).run().expect_code(0);
            assert_eq!(before.changes(&files()), [""; 0], "{name}, {in_git}, {begins}");
            assert_eq!(plan_of(&sandbox, run), plan, "{name}, {in_git}, {begins}");
            assert_eq!(stage_of(&sandbox, run), "open", "{name}");
        }
    }
}

fn stage_of(sandbox: &Sandbox, run: &str) -> serde_json::Value {
    let listed = sandbox.piton(["list", "--all"]).run().expect_code(0);
    let rows = listed.at("/data/runs");
    let row = rows.as_array().into_iter().flatten().find(|row| row["id"] == run);
    row.unwrap_or_else(|| panic!("{run}: {listed}"))["lifecycle"]["stage"].clone()
}

fn plan_of(sandbox: &Sandbox, run: &str) -> serde_json::Value {
    let plan = sandbox.piton(["plan", run]).run();
    let part = |name: &str| plan.at(&format!("/data/{name}"));
    ["verdict", "next", "steps", "progress", "reports", "decisions"].map(part).into_iter().collect()
}
