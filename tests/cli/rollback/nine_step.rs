//! The rollback of the plugin (docs/formats/nine-step.md#rollback): its state, its backup, its tracker, and the plan after it.

use super::{STATE, project, rollback};

#[test]
fn nothing_is_written_without_consent() {
    // S-10: neither the list nor the preview makes a lock, and a project that cannot be written has both.
    let fresh = crate::cli::projects::nine_step();
    let before = fresh.tree();
    for words in [&["rollback"][..], &["rollback", "--to", "1"]] {
        fresh.piton(words.iter().copied()).run().expect_code(9);
        assert_eq!(before.changes(&fresh.tree()), [] as [&str; 0], "{words:?}");
    }
}

#[test]
fn discarded_work_is_copied_first_and_every_rollback_is_logged() {
    let sandbox = project();
    let before = sandbox.read(STATE);
    let data = rollback(&sandbox, 0, &["--to", "1", "--note", "no\u{1b}[31m\nluck", "--yes"])["data"].clone();
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
