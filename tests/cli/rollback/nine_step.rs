//! The rollback of the plugin (docs/formats/nine-step.md#rollback): its state, its backup, its tracker, and the plan after it.

use serde_json::json;

use super::{FOLDER, STATE, project, rollback, texts};
use crate::cli::projects::document;

#[test]
fn nothing_is_written_without_consent() {
    // S-10: neither the list nor the preview makes a lock, and a project that cannot be written has both.
    let fresh = crate::cli::projects::nine_step();
    let before = fresh.tree();
    for words in [&["rollback"][..], &["rollback", "--to", "1"]] {
        fresh.piton(words.iter().copied()).run().expect_code(9);
        assert_eq!(before.changes(&fresh.tree()), [] as [&str; 0], "{words:?}");
    }

    let sandbox = project();
    let before = sandbox.tree().without(".piton");
    let proposed = rollback(&sandbox, 9, &["--to", "1"]);
    assert_eq!(proposed["data"]["written"], false);
    assert_eq!(proposed["data"]["next"], "piton rollback auth --to 1 --yes");
    assert_eq!(before.changes(&sandbox.tree().without(".piton")), [] as [&str; 0]);
}

#[test]
fn the_state_goes_back_to_the_end_of_the_phase() {
    let sandbox = project();
    let sha = sandbox.git_in(FOLDER, ["rev-parse", "HEAD~1"]);
    rollback(&sandbox, 0, &["--to", "1", "--reason", "wrong design", "--yes"]);
    let state = sandbox.read_json(STATE);
    assert_eq!((&state["current_phase"], &state["current_step"]), (&json!(1), &json!(9)));
    let completed = state["completed_steps"].as_array().unwrap();
    assert_eq!(completed.len(), 10);
    assert!(completed.iter().all(|entry| entry["phase"] == 1));
    assert_eq!(
        state["last_execution"],
        json!({
            "phase": 1, "step": 9, "agent": "agent-9", "status": "completed", "timestamp": "2026-01-31T12:00:00Z",
            "own": 1.50, "commit_sha": sha, "note": "Rolled back from Phase 3",
        })
    );
    assert_eq!(
        state["resume_plan"],
        json!({
            "next_phase": 2, "next_step": 1, "next_agent": "agent-1", "reason": "Continue from Phase 1 after rollback",
        })
    );
    assert!(sandbox.read(STATE).contains("\"own\": 1.50"), "an unknown field keeps its spelling");
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/next/0/step"), "2:1");
    assert_eq!(plan.at("/data/next/0/action"), "run");
    assert_eq!(plan.at("/data/progress/done"), 10);
}

#[test]
fn every_point_of_the_run_can_be_gone_back_to() {
    for (to, stands_at, next, action) in [
        ("2", "2:9", "3:1", "run"),
        ("1", "1:9", "2:1", "run"),
        ("0", "1:1", "1:1", "run"),
        ("2:5", "2:4", "2:5", "run"),
        ("2:2.5", "2:2", "2:2.5", "approve"),
        ("step:2:3", "2:2.5", "2:3", "run"),
        ("Phase 1", "1:9", "2:1", "run"),
        ("last", "2:9", "3:1", "run"),
    ] {
        let sandbox = project();
        rollback(&sandbox, 0, &["--to", to, "--yes"]);
        let state = sandbox.read_json(STATE);
        assert_eq!(format!("{}:{}", state["current_phase"], state["current_step"]), stands_at, "{to}");
        let plan = sandbox.piton(["plan"]).run();
        assert_eq!(plan.at("/data/next/0/step"), next, "{to}");
        assert_eq!(plan.at("/data/next/0/action"), action, "{to}");
        assert!(plan.findings().iter().all(|code| !code.starts_with("status-")), "{to}: {plan}");
    }
}

#[test]
fn the_impact_is_shown_by_phase() {
    let sandbox = project();
    let data = rollback(&sandbox, 9, &["--to", "1"])["data"].clone();
    let sha = sandbox.git_in(FOLDER, ["rev-parse", "HEAD"]);
    assert_eq!(texts(&data, "/impact/phases/0/reopened").len(), 10);
    assert_eq!(data["impact"]["phases"][0]["commit"], sha.as_str());
    assert_eq!(data["impact"]["phases"][1]["phase"], "Phase 3");
    assert_eq!(texts(&data, "/impact/phases/1/reopened"), ["3:1"]);
    assert_eq!(texts(&data, "/impact/approvals"), ["2:2.5"]);
    assert_eq!(data["impact"]["since"], "2026-01-31T09:10:00Z");
    assert_eq!(data["commits"][0]["subject"], "phase 2");
    assert_eq!(texts(&data, "/files"), ["p2.txt"]);
    assert_eq!(
        texts(&data, "/tracker"),
        [
            "gh issue edit 12 --remove-label status:testing --add-label status:in-progress",
            "gh issue comment 12 --body '⏪ Rolled back to Phase 1 due to: a rollback'",
        ]
    );
}

#[test]
fn discarded_work_is_copied_first_and_every_rollback_is_logged() {
    let sandbox = project();
    let before = sandbox.read(STATE);
    let data = rollback(&sandbox, 0, &["--to", "1", "--reason", "no\u{1b}[31m\nluck", "--yes"])["data"].clone();
    let backup = ".workflow-backups/auth/phase3_20260131_120000";
    assert_eq!(data["backup"], backup);
    assert_eq!(sandbox.read(&format!("{backup}/state/{STATE}")), before);
    assert_eq!(sandbox.read(&format!("{backup}/files/p2.txt")), "phase 2\n");
    let commits = sandbox.read(&format!("{backup}/commit_info.txt"));
    assert!(commits.starts_with("branch: feature/auth\nback to: ") && commits.contains(" phase 2\n"), "{commits}");
    let info = sandbox.read(&format!("{backup}/BACKUP_INFO.md"));
    assert!(info.contains("- From: 3:1\n- To: phase:1\n- Reason: no"), "{info}");
    assert!(!info.contains('\u{1b}'), "{info}");
    let digest = sha256(&sandbox, &format!("{backup}/files/p2.txt"));
    assert!(info.contains(&format!("{digest}  files/p2.txt\n")), "{info}");
    rollback(&sandbox, 0, &["--to", "0", "--yes"]);
    let log = sandbox.read(".workflow-backups/auth/ROLLBACK_LOG.md");
    assert_eq!(log.matches("## 2026-01-31T12:00:00Z").count(), 2, "{log}");
    assert!(log.contains(&format!("- Backup: {backup}\n")), "{log}");
    assert!(sandbox.exists(".workflow-backups/auth/phase1_20260131_120000/BACKUP_INFO.md"));
    assert_eq!(sandbox.git(["status", "--porcelain"]), "");
}

fn sha256(sandbox: &crate::support::Sandbox, path: &str) -> String {
    let sum = sandbox.tool("/usr/bin/sha256sum", [sandbox.root().join(path).as_str()]).run();
    sum.stdout.split_whitespace().next().unwrap_or_default().to_owned()
}

#[test]
fn a_failure_that_was_rolled_back_no_longer_counts() {
    let sandbox = project();
    for step in ["3:1", "3:2"] {
        sandbox.piton(["begin", step]).run().expect_code(0);
        let status = if step == "3:1" { "--status=completed" } else { "--verdict=NEEDS_REVISION" };
        sandbox.piton(["finish", step, status]).run().expect_code(0);
    }
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/action"), "return");
    rollback(&sandbox, 0, &["--to", "2", "--yes"]);
    sandbox.piton(["begin", "3:1"]).now("2026-01-31T12:01:00Z").run().expect_code(0);
    let plan = sandbox.piton(["plan"]).now("2026-01-31T12:02:00Z").run();
    assert_eq!(plan.at("/data/next/0/step"), "3:1");
    assert_eq!(plan.at("/data/next/0/action"), "run");
    let context = document(&sandbox.piton(["context"]).now("2026-01-31T12:02:00Z").run());
    assert_eq!(context["data"]["findings_to_address"], json!(null), "{context}");
}

#[test]
fn a_step_that_was_skipped_is_open_again() {
    let sandbox = project();
    sandbox.piton(["finish", "3:1"]).run().expect_code(0);
    let state = sandbox.read(STATE).replace(
        "\"completed_steps\"",
        "\"skipped_steps\": [{\"phase\": 2, \"step\": 5, \"reason\": \"x\"}],\n  \"completed_steps\"",
    );
    sandbox.file(STATE, &state);
    assert!(texts(&sandbox.piton(["plan"]).run().json(), "/data/steps/skipped").contains(&"2:5".to_owned()));
    rollback(&sandbox, 0, &["--to", "1", "--yes"]);
    assert_eq!(sandbox.piton(["plan"]).run().at("/data/steps/skipped"), serde_json::Value::Null);
}

#[test]
fn a_paused_run_continues_after_it_and_an_aborted_one_only_by_force() {
    for (verb, more) in [("pause", &[][..]), ("abort", &["--force"])] {
        let sandbox = project();
        sandbox.piton([verb]).run().expect_code(0);
        if !more.is_empty() {
            let refused = rollback(&sandbox, 9, &["--to", "1", "--yes"]);
            assert!(refused["error"]["message"].as_str().unwrap().contains("was aborted"), "{refused}");
        }
        rollback(&sandbox, 0, &[&["--to", "1", "--yes"], more].concat());
        assert_eq!(sandbox.piton(["plan"]).run().at("/data/next/0/step"), "2:1", "{verb}");
    }
}
