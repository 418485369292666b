//! One run from its start to the merge, with piton alone, in a repository with a real worktree.

use serde_json::json;

use super::{Clock, STATE};
use crate::support::Sandbox;

#[track_caller]
fn is_clean(sandbox: &Sandbox) {
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
    if sandbox.exists(".worktree/quotes") {
        assert_eq!(sandbox.git_in(".worktree/quotes", ["status", "--porcelain"]), "");
    }
}

/// Begins and finishes steps of work and reviews that pass.
#[track_caller]
fn pass(sandbox: &Sandbox, clock: &mut Clock, steps: &[&str]) {
    for step in steps {
        let next = clock.piton(sandbox, 0, ["plan"]).at("/data/next/0");
        assert_eq!(next["step"], *step, "{next:#}");
        clock.piton(sandbox, 0, ["begin", step]);
        is_clean(sandbox);
        match step.rsplit(':').next() {
            Some("2" | "4" | "6" | "8") => clock.piton(sandbox, 0, ["finish", step, "--verdict", "Approved"]),
            _ => clock.piton(sandbox, 0, ["finish", step, "--summary", "done"]),
        };
        is_clean(sandbox);
    }
}

/// Makes the commit of step 9 in the worktree.
#[track_caller]
fn commit(sandbox: &Sandbox, clock: &mut Clock, phase: u32) {
    let step = format!("{phase}:9");
    clock.piton(sandbox, 0, ["begin", &step]);
    sandbox.file(&format!(".worktree/quotes/phase{phase}.txt"), "work\n");
    sandbox.git_in(".worktree/quotes", ["add", "--all"]);
    let words = ["-C", ".worktree/quotes", "commit", "--quiet", "--message", "phase"];
    // After the run began.
    sandbox.tool("git", words).env("GIT_COMMITTER_DATE", "2026-01-31T20:00:00Z").run().expect_code(0);
    let sha = sandbox.git_in(".worktree/quotes", ["rev-parse", "HEAD"]);
    clock.piton(sandbox, 0, ["finish", &step, "--commit", &sha]);
    is_clean(sandbox);
}

#[test]
fn a_run_goes_from_start_over_a_failed_review_to_the_merge_gate() {
    let sandbox = Sandbox::new();
    sandbox.file(".gitignore", "*.workflow-state.json*\n/.worktree/\n/.workflow-backups/\n");
    sandbox.file(".plan/quotes_plan.md", "# Plan\n").git_init();
    let clock = &mut Clock(0);
    clock.piton(&sandbox, 3, ["list", "--exit-code"]);
    let start = ["start", "nine-step", "--feature", "quotes", "--phases", "2", "--issue", "12"];
    let started = clock.piton(&sandbox, 0, start);
    assert_eq!(started.at("/data/files"), json!([".plan/quotes.workflow-state.json"]));
    assert_eq!(started.at("/findings"), json!([]), "git ignores all that it writes");
    is_clean(&sandbox);
    clock.piton(&sandbox, 1, start);
    pass(&sandbox, clock, &["1:1", "1:2"]);

    let gate = clock.piton(&sandbox, 9, ["plan", "--exit-code"]);
    assert_eq!(gate.at("/data/next/0/step"), "1:2.5");
    let approve = "piton decide 1:2.5 approve --run quotes --by NAME";
    assert_eq!(gate.at("/data/questions/0/options/0/command"), approve);
    assert_eq!(gate.at("/data/questions/0/options/2/command"), "piton pause quotes");
    clock.piton(&sandbox, 9, ["begin", "1:3"]);
    sandbox.worktree(".worktree/quotes", "feature/quotes");
    clock.piton(&sandbox, 0, ["decide", "2.5", "approve", "--by", "ana"]);
    assert!(sandbox.exists(STATE));
    assert!(!sandbox.exists(".plan/quotes.workflow-state.json"));
    assert!(!sandbox.exists(".plan/quotes.workflow-state.json.backup"));
    is_clean(&sandbox);

    clock.piton(&sandbox, 0, ["begin", "1:3", "--agent", "backend-developer"]);
    clock.piton(&sandbox, 0, ["finish", "1:3"]);
    clock.piton(&sandbox, 0, ["begin", "1:4"]);
    let findings = "- quotes.rs: no bounds check\n- quotes.rs: no test";
    clock.piton(&sandbox, 0, ["finish", "1:4", "--verdict", "Needs Revision", "--error", findings]);
    let resumed = clock.piton(&sandbox, 0, ["resume"]);
    assert_eq!(resumed.at("/data/context/step"), "1:3");
    assert_eq!(resumed.at("/data/context/agent"), "backend-developer");
    let expected = json!(["quotes.rs: no bounds check", "quotes.rs: no test"]);
    assert_eq!(resumed.at("/data/context/findings_to_address"), expected);
    is_clean(&sandbox);
    clock.piton(&sandbox, 0, ["begin", "1:3"]);
    clock.piton(&sandbox, 0, ["finish", "1:3"]);
    pass(&sandbox, clock, &["1:4", "1:5", "1:6", "1:7", "1:8"]);
    commit(&sandbox, clock, 1);

    pass(&sandbox, clock, &["2:1", "2:2"]);
    clock.piton(&sandbox, 0, ["decide", "2:2.5", "approve", "--by", "Ann"]);
    pass(&sandbox, clock, &["2:3", "2:4", "2:5", "2:6", "2:7", "2:8"]);
    commit(&sandbox, clock, 2);

    let merge = clock.piton(&sandbox, 0, ["plan"]);
    assert_eq!(merge.at("/data/verdict"), "complete");
    assert_eq!(merge.at("/data/next/0/action"), "merge");
    assert_eq!(merge.at("/data/next/0/agent"), "git-worktree-manager");
    assert_eq!(merge.at("/data/progress"), json!({"done": 20, "total": 20}));
    assert_eq!(merge.findings(), [] as [&str; 0]);
    assert_eq!(clock.piton(&sandbox, 0, ["list"]).at("/data/runs/0/verdict"), "complete");
    clock.piton(&sandbox, 9, ["close", "--done", "--note", "merged"]);
    sandbox.git(["merge", "--quiet", "--no-ff", "feature/quotes"]);
    clock.piton(&sandbox, 0, ["close", "--done", "--note", "merged"]);
    clock.piton(&sandbox, 3, ["list", "--exit-code"]);
    assert_eq!(clock.piton(&sandbox, 0, ["list", "--all"]).at("/data/runs/0/id"), "quotes");
    is_clean(&sandbox);
    sandbox.git(["worktree", "remove", ".worktree/quotes"]);
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

/// The state moves into the worktree; earlier checkpoints still belong to this run.
#[test]
fn the_time_before_the_worktree_is_in_the_history_and_can_come_back() {
    let sandbox = Sandbox::new();
    sandbox.file(".gitignore", "*.workflow-state.json*\n/.worktree/\n").git_init();
    sandbox.file(".plan/quotes_plan.md", "# Plan\n").commit("plan");
    let clock = &mut Clock(0);
    clock.piton(&sandbox, 0, ["start", "nine-step", "--feature", "quotes", "--phases", "2"]);
    pass(&sandbox, clock, &["1:1"]);
    clock.piton(&sandbox, 0, ["begin", "1:2"]);
    let before = sandbox.read(".plan/quotes.workflow-state.json");
    clock.piton(&sandbox, 0, ["finish", "1:2", "--verdict", "Approved"]);
    sandbox.worktree(".worktree/quotes", "feature/quotes");
    clock.piton(&sandbox, 0, ["decide", "2.5", "approve", "--by", "Ann"]);
    clock.piton(&sandbox, 0, ["begin", "1:3"]);
    let history = clock.piton(&sandbox, 0, ["history"]);
    let listed: Vec<(String, String)> = (history.at("/data/checkpoints").as_array().unwrap().iter())
        .map(|one| (one["id"].as_str().unwrap().to_owned(), one["replaced_by"].as_str().unwrap().to_owned()))
        .collect();
    let expected = [
        ("000007", "begin"),
        ("000006", "approve"),
        ("000005", "finish"),
        ("000004", "begin"),
        ("000003", "finish"),
        ("000002", "begin"),
    ];
    assert_eq!(listed, expected.map(|(id, change)| (id.to_owned(), change.to_owned())));
    assert_eq!(history.at("/data/checkpoints/2/files"), json!([".plan/quotes.workflow-state.json"]));

    let asked = clock.piton(&sandbox, 9, ["restore", "--to", "000005"]);
    assert_eq!(asked.at("/error/hints/0"), "piton restore quotes --to 000005 --yes");
    clock.piton(&sandbox, 0, ["restore", "--to", "000005", "--yes"]);
    assert_eq!(sandbox.read(STATE), before);
    assert!(!sandbox.exists(".plan/quotes.workflow-state.json"), "it is the state of the worktree that came back");
    assert_eq!(clock.piton(&sandbox, 0, ["plan"]).at("/data/next/0/step"), "1:2");
    clock.piton(&sandbox, 3, ["restore", "--to", "000099", "--yes"]);

    sandbox.file(STATE, "{ truncated").remove(&format!("{STATE}.backup"));
    let shown = clock.piton(&sandbox, 4, ["plan"]);
    assert!(shown.findings().contains(&"restored-from-history".to_owned()), "{shown}");
    let restored = clock.piton(&sandbox, 0, ["restore", "--yes"]);
    assert_eq!(restored.at("/data/from"), "last");
    assert_eq!(sandbox.read(STATE), before);
    assert_eq!(clock.piton(&sandbox, 0, ["plan"]).at("/data/next/0/step"), "1:2");
}
