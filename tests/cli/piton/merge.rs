//! `merge` and `drop`: what becomes of the work of a session after its run.

use serde_json::{Value, json};

use super::support::{Stage, session_of};
use crate::support::Output;

const WORK: &str = "
name: feature
steps:
- id: one
  shell: echo a > a.txt; git add a.txt; git commit -qm first
- id: two
  shell: echo b > b.txt; git add b.txt; git commit -qm second
";
const FAILS: &str = "
name: feature
steps:
- id: one
  shell: echo a > a.txt; git add a.txt; git commit -qm first
- id: two
  shell: 'false'
";

fn kept(workflow: &str, code: i32) -> (Stage, String) {
    let stage = Stage::new(workflow);
    let (output, id) = stage.run(&[]);
    output.expect_code(code);
    (stage, id)
}

fn json_of(stage: &Stage, arguments: &[&str]) -> Output {
    stage.piton(["--format", "json"].into_iter().chain(arguments.iter().copied())).run()
}

fn row(stage: &Stage) -> Value {
    json_of(stage, &["sessions"]).expect_code(0).at("/data/sessions/0")
}

fn branches(stage: &Stage) -> String {
    stage.sandbox.git(["branch", "--list", "piton/*"])
}

#[test]
fn a_finished_session_is_merged_at_a_later_time_and_says_so_until_then() {
    let (stage, id) = kept(WORK, 0);
    let text = stage.piton(["--format", "text", "sessions"]).run().expect_code(0).stdout;
    assert!(text.contains("completed, not merged") && text.contains(&format!("→ piton merge {id}")), "{text}");
    assert_eq!(
        (row(&stage)["status"].clone(), row(&stage)["next"].clone()),
        (json!("completed"), json!(format!("piton merge {id}")))
    );

    let refused = stage.piton(["merge", &id]).stdin("y\n").run();
    assert_eq!(refused.code, 9, "without a terminal only --yes agrees\n{refused}");
    assert!(!stage.sandbox.root().join("a.txt").exists());

    let merged = stage.piton(["merge", &id, "--yes"]).run().expect_code(0);
    assert!(merged.stderr.contains("2/2 steps, merged"), "{merged}");
    assert!(stage.sandbox.root().join("b.txt").exists() && !stage.worktree(&id).exists());
    assert_eq!(branches(&stage), "");
    assert_eq!((row(&stage)["status"].clone(), row(&stage)["next"].clone()), (json!("merged"), Value::Null));
    let again = json_of(&stage, &["merge", &id, "--yes"]).expect_code(1);
    assert_eq!(again.at("/error/message"), json!(format!("session {id} is merged already")));
}

#[test]
fn a_resume_that_agrees_merges_a_finished_session_and_one_that_does_not_names_the_command() {
    let (stage, id) = kept(WORK, 0);
    let refused = json_of(&stage, &["resume", &id]).expect_code(1);
    assert_eq!(refused.at("/error/hints/1"), json!(format!("piton merge {id}")));
    json_of(&stage, &["resume", &id, "--yes"]).expect_code(0);
    assert!(stage.sandbox.root().join("b.txt").exists());
    json_of(&stage, &["resume", &id, "--yes"]).expect_code(1);
}

#[test]
fn a_squash_is_one_commit_and_a_branch_merges_nothing() {
    let (stage, id) = kept(WORK, 0);
    stage.sandbox.file("c.txt", "c");
    stage.sandbox.commit("meanwhile");
    stage.piton(["merge", &id, "--squash", "--yes"]).run().expect_code(0);
    let log = stage.sandbox.git(["log", "-1", "--format=%s|%b"]);
    assert!(log.starts_with(&format!("feature ({id})|* first")) && log.contains("* second"), "{log}");
    assert_eq!(stage.sandbox.git(["log", "-2", "--format=%s"]).lines().last(), Some("meanwhile"));
    assert!(stage.sandbox.root().join("b.txt").exists());
    assert_eq!(branches(&stage), "");

    let (stage, id) = kept(WORK, 0);
    stage.piton(["merge", &id, "--branch", "add-login", "--yes"]).run().expect_code(0);
    assert!(!stage.sandbox.root().join("b.txt").exists() && !stage.worktree(&id).exists());
    assert_eq!(stage.sandbox.git(["log", "-1", "--format=%s", "add-login"]).trim(), "second");
    assert_eq!((branches(&stage), row(&stage)["next"].clone()), (String::new(), Value::Null));
}

#[test]
fn a_squash_in_conflict_changes_nothing() {
    let (stage, id) = kept(WORK, 0);
    stage.sandbox.file("a.txt", "other");
    stage.sandbox.commit("in the way");
    let before = stage.sandbox.tree();
    let refused = json_of(&stage, &["merge", &id, "--squash", "--yes"]).expect_code(1);
    assert!(refused.stdout.contains("cannot be put on main"), "{refused}");
    let changes = before.changes(&stage.sandbox.tree());
    assert!(changes.iter().all(|change| change.starts_with("+ .git/objects/")), "{changes:?}");
    assert_eq!(row(&stage)["next"], json!(format!("piton merge {id}")));
}

#[test]
fn work_that_began_on_a_detached_head_goes_to_a_branch() {
    let stage = Stage::new(WORK);
    stage.sandbox.git(["checkout", "-q", "--detach"]);
    let (output, id) = stage.run(&["--yes"]);
    output.clone().expect_code(0);
    assert!(output.stderr.contains(&format!("piton merge {id} --branch NAME")), "{output}");
    let refused = json_of(&stage, &["merge", &id, "--yes"]).expect_code(1);
    assert_eq!(refused.at("/error/hints/0"), json!(format!("piton merge {id} --branch NAME")));
    json_of(&stage, &["merge", &id, "--branch", "mine", "--yes"]).expect_code(0);
    assert_eq!(stage.sandbox.git(["log", "-1", "--format=%s", "mine"]).trim(), "second");
}

#[test]
fn an_unfinished_session_is_not_merged() {
    let (stage, id) = kept(FAILS, 7);
    let refused = json_of(&stage, &["merge", &id, "--yes"]).expect_code(1);
    assert_eq!(refused.at("/error/message"), json!(format!("session {id} is not finished: 1 of 2 steps are done")));
    assert!(!stage.sandbox.root().join("a.txt").exists());
    stage.resume(&id).expect_code(7);
}

#[test]
fn a_dropped_session_loses_nothing_without_a_word() {
    let (stage, id) = kept(FAILS, 7);
    std::fs::write(stage.worktree(&id).join("notes"), "mine").unwrap();
    let refused = json_of(&stage, &["drop", &id, "--yes"]).expect_code(9);
    let message = refused.at("/error/message");
    let message = message.as_str().unwrap();
    assert!(message.starts_with("1 uncommitted file (notes) and 1 unmerged commit ("), "{message}");
    assert!(message.ends_with(&format!(" first) of session {id} would be lost; nothing was done")), "{message}");
    assert!(stage.worktree(&id).join("notes").exists());
    json_of(&stage, &["drop", &id, "--discard"]).expect_code(9);
    let would = json_of(&stage, &["drop", &id, "--discard", "--dry-run"]).expect_code(0);
    assert_eq!((would.at("/data/uncommitted"), would.at("/data/commits")), (json!(1), json!(1)));
    assert!(stage.worktree(&id).exists());

    let home = stage.worktree(&id).parent().unwrap().parent().unwrap().to_owned();
    let dropped = json_of(&stage, &["drop", &id, "--discard", "--yes"]).expect_code(0);
    assert!(!home.join("worktrees").join(&id).exists());
    assert_eq!(branches(&stage), "");
    let records = dropped.at("/data/records");
    let records = records.as_str().unwrap().rsplit_once("archive/").expect("the folder of archives").1;
    assert!(records.starts_with(&id) && home.join("archive").join(records).join("journal.jsonl").is_file());
    json_of(&stage, &["sessions"]).expect_code(3);
}

#[test]
fn after_an_abort_the_hint_is_drop_and_a_clean_up_takes_what_has_no_work() {
    let (stage, id) = kept("name: f\nsteps:\n- id: one\n  shell: 'false'\n", 7);
    json_of(&stage, &["abort", &id]).expect_code(0);
    let text = stage.piton(["--format", "text", "sessions"]).run().expect_code(0).stdout;
    assert!(text.contains(&format!("→ piton drop {id}")) && !text.contains("resume"), "{text}");
    let refused = json_of(&stage, &["resume", &id]).expect_code(9);
    assert_eq!(refused.at("/error/hints/0"), json!(format!("piton drop {id}")));
    let cleaned = json_of(&stage, &["sessions", "clean", "--yes"]).expect_code(0);
    assert_eq!(cleaned.at("/data/cleaned/0/id"), json!(id));
    assert_eq!(branches(&stage), "");
}

/// A kill between the removal of a merged worktree, that of its branch, and the record of both.
#[test]
fn a_worktree_that_is_gone_when_every_step_is_done_needs_no_new_one() {
    for with_branch in [true, false] {
        let stage =
            Stage::new("steps:\n- {id: a, shell: 'echo a > a.txt; git add a.txt; git commit -qm a; echo a >> LOG'}\n");
        let (_, id) = stage.run(&[]);
        let journal = stage.folder(&id).join("journal.jsonl");
        let text = std::fs::read_to_string(&journal).unwrap();
        let kept: Vec<&str> = text.lines().take_while(|line| !line.contains("\"complete\"")).collect();
        assert!(kept.len() < text.lines().count(), "the end is recorded\n{text}");
        std::fs::write(&journal, kept.join("\n") + "\n").unwrap();
        std::fs::remove_file(stage.folder(&id).join("checkpoint.json")).unwrap();
        stage.sandbox.git(["merge", "--quiet", &format!("piton/{id}")]);
        stage.sandbox.git(["worktree", "remove", stage.worktree(&id).as_str()]);
        if !with_branch {
            stage.sandbox.git(["branch", "-d", &format!("piton/{id}")]);
        }
        let resumed = stage.piton(["resume", &id, "--yes"]).run().expect_code(0);
        assert_eq!(stage.executions(), ["a"], "{resumed}");
        assert!(!stage.worktree(&id).exists() && stage.sandbox.root().join("a.txt").exists());
        assert_eq!(branches(&stage), "");
        let row = json_of(&stage, &["sessions"]).expect_code(0).at("/data/sessions/0/status");
        assert!(["completed", "merged"].contains(&row.as_str().unwrap_or_default()), "{row}");
    }
}

#[test]
fn a_merge_that_takes_nothing_says_so_and_leaves_the_run_as_it_was() {
    let stage = Stage::new("steps: [{id: a, shell: echo text > left}]");
    let (output, id) = stage.run(&[]);
    output.expect_code(0);
    let refused = stage.piton(["merge", &id, "--yes"]).run().expect_code(1);
    assert!(refused.stderr.contains("nothing was merged: "), "{refused}");
    assert!(stage.worktree(&id).join("left").is_file());
    let worktree = stage.worktree(&id);
    stage.sandbox.git(["-C", worktree.as_str(), "add", "left"]);
    stage.sandbox.git(["-C", worktree.as_str(), "commit", "--quiet", "--message=left"]);
    stage.piton(["merge", &id, "--yes"]).run().expect_code(0);
    assert!(stage.sandbox.exists("left"));
}

#[test]
fn without_a_name_the_only_run_is_merged_or_dropped_and_of_several_each_is_named() {
    let stage = Stage::new(WORK);
    json_of(&stage, &["merge", "--yes"]).expect_code(3);
    let run = || session_of(&stage.run(&[]).0.expect_code(0).stderr);
    let (first, second) = (run(), run());
    let several = json_of(&stage, &["merge", "--squash"]).expect_code(8);
    let mut commands = [&first, &second].map(|id| format!("piton merge {id} --squash"));
    commands.sort();
    let mut hints = several.at("/error/hints").as_array().unwrap().clone();
    hints.sort_by_key(ToString::to_string);
    assert_eq!(json!(hints), json!(commands), "{several}");
    json_of(&stage, &["drop"]).expect_code(8);
    json_of(&stage, &["drop", &first, "--discard", "--yes"]).expect_code(0);
    assert_eq!(json_of(&stage, &["merge", "--yes"]).expect_code(0).at("/data/session"), json!(second));
    json_of(&stage, &["merge", "--yes"]).expect_code(1);
    let asked = json_of(&stage, &["drop"]).expect_code(9);
    assert_eq!(asked.at("/error/hints/0"), json!(format!("to agree: piton drop {second} --yes")));
    assert_eq!(json_of(&stage, &["drop", "--yes"]).expect_code(0).at("/data/id"), json!(second));
}

#[test]
fn of_many_files_and_commits_that_a_drop_loses_the_first_are_named() {
    let (stage, id) = kept(FAILS, 7);
    for number in 1..=7 {
        std::fs::write(stage.worktree(&id).join(format!("f{number}")), "mine").unwrap();
    }
    let refused = json_of(&stage, &["drop", &id, "--yes"]).expect_code(9);
    assert!(refused.stdout.contains("7 uncommitted files (f1, f2, f3, f4, f5 and 2 more)"), "{refused}");
    let would = json_of(&stage, &["drop", &id, "--discard", "--dry-run"]).expect_code(0);
    assert_eq!(would.at("/data/uncommitted_files"), json!(["f1", "f2", "f3", "f4", "f5"]));
}

///
#[test]
fn an_aborted_run_with_a_worktree_is_archived_by_a_drop() {
    let (stage, id) = kept("steps: [{shell: 'false'}]\n", 7);
    json_of(&stage, &["abort", &id, "--by", "Ann", "--note", "no"]).expect_code(0);
    for more in [&[][..], &["--yes"]] {
        let refused = json_of(&stage, &[&["archive", &id], more].concat()).expect_code(9);
        assert_eq!(refused.at("/error/hints"), json!([format!("piton drop {id}")]), "{refused}");
    }
    json_of(&stage, &["drop", &id, "--yes"]).expect_code(0);
    assert_eq!(branches(&stage), "");
}

#[test]
fn a_squash_in_conflict_names_the_files_and_works_once_they_are_resolved() {
    let (stage, id) = kept("steps: [{shell: 'echo mine > c.txt; git add c.txt; git commit -qm mine'}]\n", 0);
    stage.sandbox.file("c.txt", "theirs\n");
    stage.sandbox.commit("theirs");
    let refused = stage.piton(["merge", &id, "--squash", "--yes"]).run().expect_code(1);
    assert!(refused.stderr.contains("CONFLICT (add/add): Merge conflict in c.txt"), "{refused}");
    assert!(refused.stderr.contains("resolve the conflicts in c.txt and commit"), "{refused}");
    let worktree = stage.worktree(&id);
    let base = stage.sandbox.git(["branch", "--show-current"]);
    stage.sandbox.git_in(worktree.as_str(), ["merge", "-q", "-X", "ours", "--no-edit", base.trim()]);
    stage.piton(["merge", &id, "--squash", "--yes"]).run().expect_code(0);
    assert_eq!(stage.sandbox.read("c.txt"), "mine\n");
}
