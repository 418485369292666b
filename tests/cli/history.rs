//! `history`, `restore` and `archive`, where bytes of whole projects are compared. The rest is in `tests/cases/history`.

use super::projects::{self, NINE_STEP, SESSION, document, foreign};
use crate::support::Sandbox;

fn worked_on() -> Sandbox {
    let sandbox = projects::ccw();
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    sandbox.piton(["finish", "IMPL-002"]).now("2026-01-31T13:00:00Z").run().expect_code(0);
    sandbox
}

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
fn an_unreadable_state_is_kept_aside_when_an_older_one_comes_back() {
    let sandbox = projects::nine_step();
    let before = sandbox.read(NINE_STEP);
    sandbox.piton(["begin", "2:3"]).run().expect_code(0);
    let truncated = &sandbox.read(NINE_STEP)[..100];
    sandbox.file(NINE_STEP, truncated);
    let broken = sandbox.piton(["begin", "2:3"]).run().expect_code(4);
    assert!(broken.stdout.contains("piton restore"), "{broken}");
    assert_eq!(sandbox.read(NINE_STEP), truncated);

    let restored = document(&sandbox.piton(["restore", "--yes"]).run().expect_code(0));
    assert_eq!(sandbox.read(NINE_STEP), before);
    let kept = restored["data"]["kept"][0].as_str().unwrap().to_owned();
    assert!(kept.contains(".piton/") && kept.contains("/history/corrupt/"), "{kept}");
    assert_eq!(sandbox.read(&kept), truncated);
    sandbox.piton(["plan"]).run().expect_code(0);
}

#[test]
fn a_kept_version_that_was_changed_is_not_brought_back() {
    let sandbox = worked_on();
    let history = sandbox.root().join(SESSION).join(".piton/history");
    for entry in history.read_dir_utf8().unwrap().filter_map(Result::ok).filter(|entry| entry.path().is_file()) {
        let text = std::fs::read_to_string(entry.path()).unwrap();
        std::fs::remove_file(entry.path()).unwrap();
        std::fs::write(entry.path(), text + " ").unwrap();
    }
    let before = foreign(&sandbox);
    let output = sandbox.piton(["restore", "--to", "000001", "--yes"]).run().expect_code(4);
    assert!(output.stdout.contains("digest"), "{output}");
    sandbox.piton(["restore", "--yes"]).run().expect_code(4);
    assert_eq!(before.changes(&foreign(&sandbox)), [] as [&str; 0]);
    // S-17: it is named in the list.
    assert_eq!(sandbox.piton(["history"]).run().at("/data/checkpoints/0/damaged"), true);
    let text = sandbox.piton(["history", "--format", "text"]).run();
    assert!(text.stdout.contains("changed by another program since: it cannot be restored"), "{text}");
}

/// S-1: a change that was killed between keeping and replacing leaves an entry with what is still current.
#[test]
fn a_change_that_never_took_effect_is_no_checkpoint() {
    let foreign = |sandbox: &Sandbox| foreign(sandbox).only(|path| path.extension() != Some("backup"));
    for (project, step) in [(projects::nine_step as fn() -> Sandbox, "2:3"), (projects::ccw, "IMPL-002")] {
        let sandbox = project();
        let start = foreign(&sandbox);
        sandbox.piton(["begin", step]).run().expect_code(0);
        let begun = foreign(&sandbox);
        let history = sandbox.root().join(&sandbox.tree().only(|path| path.ends_with(".piton/history")).paths()[0]);
        let names: Vec<_> = history.read_dir_utf8().unwrap().map(|entry| entry.unwrap()).collect();
        for entry in names.iter().filter(|entry| entry.path().is_file()) {
            let fields: Vec<&str> = entry.file_name().splitn(7, '-').collect();
            let current = sandbox.root().join(fields[6].replace("%2F", "/").replace("%2D", "-"));
            let digest = sandbox.tool("/usr/bin/sha256sum", [current.as_str()]).run().stdout[..64].to_owned();
            let name = format!("000002-{}-restore--{}-{digest}-{}", fields[1], fields[4], fields[6]);
            std::fs::copy(&current, history.join(name)).unwrap();
        }
        let listed = sandbox.piton(["history"]).run().expect_code(0);
        assert_eq!(listed.at("/data/checkpoints").as_array().unwrap().len(), 1, "{listed}");
        assert_eq!(listed.at("/data/checkpoints/0/id"), "000001");
        let refused = sandbox.piton(["restore", "--to", "000002", "--yes", "--format", "text"]).run().expect_code(1);
        assert!(refused.stderr.contains("nothing changed: the state is already as it was at 000002"), "{refused}");
        assert_eq!(begun.changes(&foreign(&sandbox)), [] as [&str; 0]);
        sandbox.piton(["restore", "--yes"]).run().expect_code(0);
        assert_eq!(start.changes(&foreign(&sandbox)), [] as [&str; 0]);
    }
}

#[test]
fn an_open_run_is_archived_only_after_consent() {
    for (project, state) in [(projects::nine_step as fn() -> Sandbox, NINE_STEP), (projects::ccw, SESSION)] {
        let sandbox = project();
        let before = foreign(&sandbox);
        let error = document(&sandbox.piton(["archive"]).run().expect_code(9));
        assert!(error["error"]["hints"][0].as_str().unwrap().ends_with(" --yes"), "{error}");
        assert_eq!(before.changes(&foreign(&sandbox)), [] as [&str; 0]);
        let to = document(&sandbox.piton(["archive", "--yes"]).run().expect_code(0))["data"]["to"].clone();
        assert!(sandbox.exists(to.as_str().unwrap()), "{to}");
        assert!(!sandbox.exists(state));
        // Every file is kept, with every byte except the archive's timestamp.
        let (count, after) = (files(&sandbox, false), files(&sandbox, true));
        assert!(after >= count, "{after} of {count}");
        sandbox.piton(["list"]).run().expect_code(3);
    }
}

/// Counts the state files, with or without those in Piton's own folders.
fn files(sandbox: &Sandbox, with_own: bool) -> usize {
    let tree = if with_own { sandbox.tree() } else { foreign(sandbox) };
    let all = Sandbox::new().tree().changes(&tree);
    all.iter().filter(|path| path.ends_with(".json") || path.ends_with(".md")).count()
}
