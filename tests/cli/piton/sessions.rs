//! Sessions as runs like any other: found from everywhere, planned, and rolled back.

use camino::{Utf8Path, Utf8PathBuf};
use serde_json::{Value, json};

use super::support::{Stage, session_of};
use crate::support::Output;

/// Commits in its first step, and fails in its second until `LOG.repaired` is there.
const FLOW: &str = "
name: release
commands:
- {shell: 'echo 1 >> LOG; echo new > new; git add new; git commit --quiet --message=new', capture: sha}
- {shell: 'echo 2 >> LOG; [ -e LOG.repaired ]', id: check}
- shell: echo 3 >> LOG
";

fn failed() -> (Stage, String) {
    let stage = Stage::new(FLOW);
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    (stage, id)
}

fn completed() -> (Stage, String) {
    let (stage, id) = failed();
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
    stage.resume(&id).expect_code(0);
    (stage, id)
}

fn json(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).run()
}

fn in_folder(stage: &Stage, folder: &Utf8Path, arguments: &[&str]) -> Output {
    stage.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).folder(folder).run()
}

#[test]
fn a_session_is_found_from_any_folder_of_the_repository_and_from_its_own() {
    let (stage, id) = failed();
    stage.sandbox.dir("deep/down");
    let root = stage.sandbox.root();
    let (records, worktree) = (stage.folder(&id), stage.worktree(&id));
    for folder in [root.clone(), root.join("deep/down"), worktree.clone()] {
        for arguments in [&["plan", &id][..], &["status", &id], &["context", &id], &["history", &id], &["plan"]] {
            let output = in_folder(&stage, &folder, arguments).expect_code(0);
            let run = [output.at("/data/run/id"), output.at("/data/run")];
            assert!(run.contains(&json!(id)), "{arguments:?} in {folder}\n{output}");
        }
        in_folder(&stage, &folder, &["validate", &id]).expect_code(0);
    }
    let elsewhere = stage.sandbox.top().join("empty");
    for path in [&records, &records.join("journal.jsonl"), &worktree, &worktree.join("new")] {
        let output = in_folder(&stage, &elsewhere, &["plan", path.as_str()]).expect_code(0);
        assert_eq!(output.at("/data/run/id"), json!(id), "{path}");
    }
    let output = in_folder(&stage, &elsewhere, &["plan", &id]).expect_code(0);
    assert_eq!(output.at("/data/run/id"), json!(id), "a generated id is unique");
}

#[test]
fn a_person_can_record_what_became_of_a_step() {
    let (stage, id) = failed();
    let journal = stage.folder(&id).join("journal.jsonl");
    let before = std::fs::read(&journal).unwrap();
    let skipped = json(&stage, &["decide", "check", "skip", "--run", &id, "--note", "checked by hand", "--by", "Ann"])
        .expect_code(0);
    assert_eq!(skipped.at("/data/next"), json!(format!("piton resume {id}")));
    let after = std::fs::read(&journal).unwrap();
    assert!(after.starts_with(&before) && after.len() > before.len(), "only the end grows");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "3"]);
}

#[test]
fn a_truncated_record_is_set_aside_by_the_next_write() {
    let (stage, id) = failed();
    let journal = stage.folder(&id).join("journal.jsonl");
    let whole = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, [&whole[..], b"{\"chain\":\"0123"].concat()).unwrap();
    let plan = json(&stage, &["plan", &id]).expect_code(0);
    assert_eq!(plan.findings(), ["interrupted-write"], "{plan}");
    json(&stage, &["decide", "check", "skip", "--run", &id, "--note", "r", "--by", "Ann"]).expect_code(0);
    let mended = std::fs::read(&journal).unwrap();
    assert!(mended.starts_with(&whole));
    assert!(!json(&stage, &["plan", &id]).findings().contains(&"interrupted-write".to_owned()));
    let kept = stage.folder(&id).join("set-aside");
    assert_eq!(kept.read_dir_utf8().unwrap().count(), 1, "what was cut off is kept");
}

#[test]
fn a_revision_changes_with_every_change_of_journal_and_checkpoint() {
    let (stage, id) = failed();
    let revision = || json(&stage, &["plan", &id]).at("/data/run/revision");
    let first = revision();
    assert_eq!(revision(), first, "nothing changed");
    for name in ["journal.jsonl", "checkpoint.json"] {
        let path = stage.folder(&id).join(name);
        let whole = std::fs::read(&path).unwrap();
        let blank = [&whole[..], b" "].concat();
        let flipped = [b"[", &whole[1..]].concat();
        for (what, bytes) in [("longer", &blank[..]), ("changed", &flipped), ("empty", b"")] {
            std::fs::write(&path, bytes).unwrap();
            assert_ne!(revision(), first, "{name}, {what}");
        }
        std::fs::write(&path, whole).unwrap();
        assert_eq!(revision(), first, "{name}");
    }
    let skip = |revision: &Value| {
        let revision = revision.as_str().unwrap();
        json(
            &stage,
            &["decide", "check", "skip", "--run", &id, "--note", "r", "--if-revision", revision, "--by", "Ann"],
        )
    };
    let skipped = skip(&first).expect_code(0);
    assert_eq!(skipped.at("/data/revision"), revision());
    skip(&first).expect_code(6);
}

#[test]
fn every_record_is_a_checkpoint_that_can_be_gone_back_to() {
    let (stage, id) = completed();
    let history = json(&stage, &["history", &id]).expect_code(0).at("/data/checkpoints");
    let finish = |step: &str| {
        let found =
            history.as_array().unwrap().iter().find(|one| one["replaced_by"] == "finish" && one["step"] == step);
        found.unwrap()["id"].as_str().unwrap().to_owned()
    };
    let refused = json(&stage, &["restore", &id, "--to", &finish("3")]).expect_code(9);
    assert!(refused.stdout.contains("1 step would be open again: 3"), "{refused}");
    json(&stage, &["restore", &id, "--to", &finish("3"), "--yes"]).expect_code(0);
    let plan = json(&stage, &["plan", &id]).expect_code(0);
    assert_eq!(plan.at("/data/next/0/step"), json!("3"));
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["1", "2", "2", "3", "3"]);
    json(&stage, &["restore", &id, "--to", "999999", "--yes"]).expect_code(3);
}

#[test]
fn an_unknown_session_and_a_way_out_are_not_found() {
    let (stage, id) = failed();
    let home = home_of(&stage, &id);
    std::fs::create_dir_all(home.join("elsewhere")).unwrap();
    std::fs::copy(stage.folder(&id).join("run.json"), home.join("elsewhere/run.json")).unwrap();
    for name in ["session-none", "../elsewhere", "..", "runs/../elsewhere", "-x", "/etc/passwd"] {
        let output = stage.piton(["--format", "json", "logs", "--", name]).run();
        assert_eq!(output.code, 3, "{name}\n{output}");
        assert!(!output.stdout.contains("panicked"), "{output}");
    }
}

fn home_of(stage: &Stage, id: &str) -> Utf8PathBuf {
    stage.folder(id).parent().expect("the sandbox is ours").parent().expect("the sandbox is ours").to_owned()
}

#[test]
fn the_session_of_another_user_is_named_and_never_run() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let (stage, id) = failed();
    std::os::unix::fs::chown(stage.folder(&id), Some(65_534), Some(65_534)).unwrap();
    let list = json(&stage, &["list", "--exit-code"]).expect_code(3);
    assert!(list.stdout.contains("session-foreign"), "{list}");
    json(&stage, &["plan", &id]).expect_code(3);
    stage.resume(&id).expect_code(3);
    assert_eq!(stage.executions(), ["1", "2"]);
}

#[test]
fn a_repository_cannot_ship_a_session() {
    let (stage, id) = failed();
    for name in ["run.json", "journal.jsonl"] {
        let text = std::fs::read_to_string(stage.folder(&id).join(name)).unwrap().replace(&id, "session-planted");
        stage.sandbox.file(&format!(".piton/runs/session-planted/{name}"), &text);
    }
    let before = stage.executions();
    let plan = json(&stage, &["plan", "session-planted", "--exit-code"]).expect_code(9);
    assert!(plan.stdout.contains("this user did not begin the run session-planted"), "{plan}");
    stage.resume("session-planted").expect_code(9);
    assert_eq!(stage.executions(), before);
}

/// The records are in the git folder, the worktree is in the state folder: its path names the session too.
#[test]
fn the_worktree_of_a_session_names_it() {
    let (stage, id) = failed();
    let plan = in_folder(&stage, stage.sandbox.top(), &["plan", stage.worktree(&id).as_str()]).expect_code(0);
    assert_eq!(plan.at("/data/run/id"), json!(id), "{plan}");
}

/// R-26.
#[test]
fn a_run_of_another_folder_is_named_with_its_repository_and_an_unknown_id_is_answered_at_once() {
    let stage = Stage::new("steps: [{id: a, shell: 'echo a; exit 1'}]\n");
    let piton = |folder: &str, arguments: &[&str]| {
        stage.sandbox.piton(arguments.iter().copied()).real_clock().folder(folder.into()).run()
    };
    let id = session_of(&piton("", &["run", "w.yml"]).expect_code(7).stderr);
    let from_root = piton("/", &["resume", &id]).expect_code(7);
    assert!(from_root.stderr.contains(&format!("Resuming session {id} in $ROOT\n")), "{from_root}");
    assert!(from_root.stderr.contains("   Its log: $ROOT/.git/"), "{from_root}");
    let here = piton("", &["resume", &id]).expect_code(7);
    assert!(here.stderr.contains(&format!("Resuming session {id}\n")), "{here}");
    // The whole file system is not walked: that takes many seconds.
    let unknown = "session-20200101t000000z-aaaaaaaaaaaa";
    let started = std::time::Instant::now();
    for verb in ["resume", "status", "plan", "show", "history", "merge", "close", "logs"] {
        let answer = piton("/", &[verb, unknown]).expect_code(3);
        assert!(answer.to_string().contains(unknown), "{verb}: {answer}");
    }
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
}
