//! `history`, `restore` and `archive`: every earlier state can be restored.

use super::projects::{self, NINE_STEP, SESSION, document, foreign, replace};
use crate::support::Sandbox;

fn worked_on() -> Sandbox {
    let sandbox = projects::ccw();
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    sandbox.piton(["finish", "IMPL-002"]).now("2026-01-31T13:00:00Z").run().expect_code(0);
    sandbox
}

#[test]
fn every_change_leaves_the_version_before_it() {
    let sandbox = worked_on();
    let history = document(&sandbox.piton(["history"]).run().expect_code(0));
    let rows: Vec<_> = history["data"]["checkpoints"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["id"].as_str().unwrap(), row["replaced_by"].as_str().unwrap(), row["step"].as_str().unwrap()))
        .collect();
    assert_eq!(rows, [("000002", "finish", "IMPL-002"), ("000001", "begin", "IMPL-002")]);
    assert_eq!(history["data"]["checkpoints"][0]["at"], "2026-01-31T13:00:00Z");
    insta::assert_snapshot!(sandbox.piton(["history", "--format", "text"]).run(), @"
    code: 0
    ----- stdout -----
    000002  before finish IMPL-002, 2026-01-31T13:00:00Z  3 files, 2019 bytes
    000001  before begin IMPL-002, 2026-01-31T12:00:00Z  2 files, 1373 bytes
    → piton restore WFS-user-auth --to CHECKPOINT
    ");
    let fresh = projects::ccw().piton(["history", "--format", "text"]).run().expect_code(0);
    assert_eq!(fresh.stdout, "WFS-user-auth has no earlier checkpoints.\n");
}

#[test]
fn each_change_says_who_made_it_and_what_it_did_to_the_steps() {
    let sandbox = projects::ccw();
    sandbox.piton(["begin", "IMPL-002"]).session("0123456789abcdef").run().expect_code(0);
    sandbox.piton(["finish", "IMPL-002"]).now("2026-01-31T13:00:00Z").run().expect_code(0);
    let plain = document(&sandbox.piton(["history"]).run().expect_code(0));
    assert_eq!(plain["data"]["checkpoints"][1]["session"], "0123456789abcdef");
    assert!(plain["data"]["checkpoints"][0].get("session").is_none(), "without a session, none is named");
    assert!(plain["data"]["checkpoints"][0].get("changes").is_none());
    let told = document(&sandbox.piton(["history", "--changes"]).run().expect_code(0));
    assert_eq!(told["data"]["checkpoints"][0]["changes"], serde_json::json!(["IMPL-002: in_progress → completed"]));
    insta::assert_snapshot!(sandbox.piton(["history", "--changes", "--format", "text"]).run(), @"
    code: 0
    ----- stdout -----
    000002  before finish IMPL-002, 2026-01-31T13:00:00Z  3 files, 2019 bytes
            by code-developer
            IMPL-002: in_progress → completed
    000001  before begin IMPL-002, 2026-01-31T12:00:00Z  2 files, 1373 bytes
            by code-developer, session 0123456…
            IMPL-002: attempts
    → piton restore WFS-user-auth --to CHECKPOINT
    ");
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
fn a_check_list_that_comes_back_was_not_unreadable() {
    let sandbox = projects::ccw();
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    sandbox.piton(["finish", "IMPL-002", "--summary", "tokens"]).run().expect_code(0);
    let restored = document(&sandbox.piton(["restore", "--to", "000002", "--yes"]).run().expect_code(0));
    assert!(restored["data"]["files"].to_string().contains("TODO_LIST.md"), "{restored}");
    assert_eq!(restored["data"]["kept"], serde_json::json!([]));
}

#[test]
fn without_an_earlier_checkpoint_nothing_is_restored() {
    let sandbox = projects::nine_step();
    sandbox.file(NINE_STEP, "{\"feature_name\": ");
    let before = foreign(&sandbox);
    let output = sandbox.piton(["restore", "--yes"]).run().expect_code(4);
    assert!(document(&output)["error"]["message"].as_str().unwrap().contains("no earlier checkpoint"), "{output}");
    for id in ["000001", "x", "../../x", "-1", "99999999999999999999"] {
        let to = format!("--to={id}");
        let output = sandbox.piton(["restore", &to]).run().expect_code(3);
        assert!(output.stdout.contains("piton history"), "{output}");
    }
    assert_eq!(before.changes(&foreign(&sandbox)), [] as [&str; 0]);
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
fn twenty_checkpoints_are_kept_or_the_configured_number() {
    let sandbox = projects::ccw();
    sandbox.file("piton.toml", "[limits]\nhistory = 3\n");
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    for number in 0..5 {
        let set = format!("x={number}");
        let words = ["finish", "IMPL-002", "--part", "analyze_patterns", "--set", &set];
        sandbox.piton(words).run().expect_code(0);
    }
    let history = sandbox.piton(["history"]).run().expect_code(0);
    assert_eq!(history.at("/data/checkpoints").as_array().unwrap().len(), 3, "{history}");
    assert_eq!(history.at("/data/checkpoints/0/id"), "000006");
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

#[test]
fn a_run_that_cannot_be_read_is_archived_only_after_consent() {
    let sandbox = projects::nine_step();
    sandbox.file(NINE_STEP, "{\"feature_name\": ");
    let error = document(&sandbox.piton(["archive"]).run().expect_code(9));
    assert!(error["error"]["hints"][0].as_str().unwrap().starts_with("piton restore"), "{error}");
    let to = document(&sandbox.piton(["archive", "--yes"]).run().expect_code(0))["data"]["to"].clone();
    let kept = sandbox.read(&format!("{}/.workflow-state.json", to.as_str().unwrap()));
    assert_eq!(kept, "{\"feature_name\": ");
}

#[test]
fn a_new_run_never_takes_the_place_of_another() {
    let sandbox = projects::nine_step();
    let before = foreign(&sandbox);
    let error = document(&sandbox.piton(["start", "nine-step", "--feature", "user-auth"]).run().expect_code(1));
    assert!(error["error"]["message"].as_str().unwrap().contains("an unfinished run of user-auth"), "{error}");
    let hints = error["error"]["hints"].as_array().unwrap();
    assert_eq!(hints[1], "piton start nine-step --feature user-auth --archive");
    assert_eq!(before.changes(&foreign(&sandbox)), [] as [&str; 0]);
    let old = sandbox.read(NINE_STEP);
    sandbox.piton(["start", "nine-step", "--feature", "user-auth", "--archive"]).run().expect_code(0);
    let kept = sandbox.root().join(".worktree/user-auth/.piton/archive");
    let kept = kept.read_dir_utf8().unwrap().next().unwrap().unwrap().into_path().join(".workflow-state.json");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), old);
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).at("/data/next/0/step"), "1:1");
}

#[test]
fn an_interrupted_change_that_was_kept_is_named_in_the_history() {
    let sandbox = projects::nine_step();
    replace(&sandbox, NINE_STEP, "user-auth", "user-auth");
    for words in [&["begin", "2:3"][..], &["pause"], &["resume", "--yes"]] {
        sandbox.piton(words.iter().copied()).run().expect_code(0);
    }
    let history = sandbox.piton(["history"]).run().expect_code(0);
    let words: Vec<_> =
        history.at("/data/checkpoints").as_array().unwrap().iter().map(|row| row["replaced_by"].clone()).collect();
    assert_eq!(words, ["resume", "pause", "begin"]);
}
