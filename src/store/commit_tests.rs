use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::Duration;

use super::Fault;
use super::Stage;
use super::commit;
use super::commit_with;
use crate::model::Edit;
use crate::model::EditKind;
use crate::model::ReadSpec;
use crate::store::RunLock;
use crate::store::StoreError;
use crate::store::file_set;
use crate::store::history;
use crate::store::set_tail_aside;
use crate::store::testing::Scratch;
use crate::store::testing::append;
use crate::store::testing::candidate;
use crate::store::testing::clock;
use crate::store::testing::create;
use crate::store::testing::meta;
use crate::store::testing::own;
use crate::store::testing::rel;
use crate::store::testing::remove;
use crate::store::testing::replace;

fn mode(scratch: &Scratch, path: &str) -> u32 {
    fs::metadata(scratch.root.join(path)).unwrap().mode() & 0o7777
}

const ALL_STAGES: [Stage; 11] = [
    Stage::Checked,
    Stage::Staged,
    Stage::Flushed,
    Stage::Kept,
    Stage::Recorded,
    Stage::BackedUp,
    Stage::Renamed(0),
    Stage::Renamed(1),
    Stage::Renamed(2),
    Stage::Durable,
    Stage::Dropped,
];

#[test]
fn one_file_is_replaced_and_the_old_version_is_kept() {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "old");
    let lock = scratch.lock();
    let done = commit(&lock, &[replace("run/state.json", "old", "new")], &meta()).unwrap();
    assert_eq!(scratch.text("run/state.json").as_deref(), Some("new"));
    assert_eq!(done.replaced.as_deref(), Some("000001"));
    assert_eq!(done.files, [rel("run/state.json")]);
    let kept = history::read(&scratch.root, &own(), "000001").unwrap();
    assert_eq!(kept, [(rel("run/state.json"), b"old".to_vec())]);
    assert_eq!(scratch.text("run/.piton/.gitignore").as_deref(), Some("*\n"));
}

#[test]
fn a_file_that_moved_is_a_conflict_and_nothing_is_written() {
    let scratch = Scratch::new();
    scratch.write("run/a", "changed");
    scratch.write("run/b", "old");
    let lock = scratch.lock();
    for (edit, what) in [
        (replace("run/a", "old", "new"), "was changed"),
        (replace("run/a", "CHANGED", "new"), "was changed"),
        (remove("run/a", "old"), "was changed"),
        (create("run/a", "new"), "was created by somebody else"),
        (replace("run/missing", "old", "new"), "was removed"),
    ] {
        let error = commit(&lock, &[replace("run/b", "old", "new"), edit], &meta()).unwrap_err();
        assert!(matches!(error, StoreError::Conflict { what: found, .. } if found == what), "{error}");
        assert_eq!(scratch.files("run"), ["a", "b"]);
        assert_eq!(scratch.text("run/b").as_deref(), Some("old"));
    }
}

#[test]
fn a_foreign_file_keeps_its_mode_and_own_files_are_private() {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "old");
    fs::set_permissions(scratch.root.join("run/state.json"), fs::Permissions::from_mode(0o664)).unwrap();
    let lock = scratch.lock();
    let edits =
        [replace("run/state.json", "old", "new"), create("run/.piton/own.json", "x"), create("run/new.json", "x")];
    commit(&lock, &edits, &meta()).unwrap();
    assert_eq!(mode(&scratch, "run/state.json"), 0o664);
    assert_eq!(mode(&scratch, "run/.piton/own.json"), 0o600);
    assert_eq!(mode(&scratch, "run/.piton"), 0o700);
    assert_eq!(mode(&scratch, "run/new.json") & !0o644, 0, "never more than rw-r--r--");
}

#[test]
fn a_link_is_written_through_when_it_stays_below_the_root() {
    let scratch = Scratch::new();
    let outside = Scratch::new();
    outside.write("state.json", "old");
    scratch.write("real/state.json", "old");
    scratch.write("run/x/y", "");
    symlink("../real/state.json", scratch.root.join("run/state.json")).unwrap();
    symlink(outside.root.join("state.json"), scratch.root.join("run/leaves.json")).unwrap();
    symlink("nowhere", scratch.root.join("run/dangling.json")).unwrap();
    symlink(&outside.root, scratch.root.join("run/folder")).unwrap();
    let lock = scratch.lock();

    commit(&lock, &[replace("run/state.json", "old", "new")], &meta()).unwrap();
    assert!(fs::symlink_metadata(scratch.root.join("run/state.json")).unwrap().is_symlink());
    assert_eq!(scratch.text("real/state.json").as_deref(), Some("new"));

    for edit in [
        replace("run/leaves.json", "old", "new"),
        create("run/dangling.json", "new"),
        create("run/folder/new.json", "new"),
        create(".git/hooks/pre-commit", "new"),
        create("run/x/.GIT/config", "new"),
    ] {
        let error = commit(&lock, &[edit], &meta()).unwrap_err();
        assert!(matches!(error, StoreError::UnsafePath { .. }), "{error}");
    }
    assert_eq!(outside.files(""), ["state.json"]);
    assert_eq!(outside.text("state.json").as_deref(), Some("old"));
}

#[test]
fn one_change_may_not_edit_a_file_twice() {
    let scratch = Scratch::new();
    scratch.write("run/a", "old");
    symlink("a", scratch.root.join("run/b")).unwrap();
    let edits = [replace("run/a", "old", "1"), replace("run/b", "old", "2")];
    assert!(matches!(commit(&scratch.lock(), &edits, &meta()), Err(StoreError::UnsafePath { .. })));
}

#[test]
fn folders_of_new_files_are_made() {
    let scratch = Scratch::new();
    commit(&scratch.lock(), &[create("run/a/b/c.json", "x")], &meta()).unwrap();
    assert_eq!(scratch.text("run/a/b/c.json").as_deref(), Some("x"));
}

#[test]
fn the_old_version_becomes_the_backup_beside_it() {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "1");
    let lock = scratch.lock();
    let mut with_backup = meta();
    with_backup.backup = vec![(rel("run/state.json"), rel("run/state.json.backup"))];
    commit(&lock, &[replace("run/state.json", "1", "2")], &with_backup).unwrap();
    assert_eq!(scratch.text("run/state.json.backup").as_deref(), Some("1"));
    commit(&lock, &[replace("run/state.json", "2", "3")], &with_backup).unwrap();
    assert_eq!(scratch.text("run/state.json.backup").as_deref(), Some("2"));
    assert_eq!(history::read(&scratch.root, &own(), "000001").unwrap()[0].1, b"1");
    assert_eq!(history::read(&scratch.root, &own(), "000002").unwrap()[0].1, b"2");
}

#[test]
fn a_file_with_other_names_is_copied_into_the_history() {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "old");
    fs::hard_link(scratch.root.join("run/state.json"), scratch.root.join("run/other")).unwrap();
    commit(&scratch.lock(), &[replace("run/state.json", "old", "new")], &meta()).unwrap();
    fs::write(scratch.root.join("run/other"), "scribbled").unwrap();
    assert_eq!(history::read(&scratch.root, &own(), "000001").unwrap()[0].1, b"old");
}

/// Kills one checkpoint after `stage`, then takes the lock as the next command would.
fn killed_after(stage: Stage, edits: &[Edit], scratch: &Scratch) {
    let lock = scratch.lock();
    let killed = commit_with(&lock, edits, &meta(), &mut |now| if now == stage { Err(Fault::Kill) } else { Ok(()) });
    drop(lock);
    assert!(killed.is_err() || !matches!(stage, Stage::Checked | Stage::Dropped), "{stage:?}");
}

#[test]
fn a_kill_leaves_the_old_or_the_new_file() {
    for stage in ALL_STAGES {
        let scratch = Scratch::new();
        scratch.write("run/state.json", "old");
        killed_after(stage, &[replace("run/state.json", "old", "new")], &scratch);
        let is_new = matches!(stage, Stage::Renamed(_) | Stage::Durable | Stage::Dropped);
        let now = if is_new { "new" } else { "old" };
        assert_eq!(scratch.text("run/state.json").as_deref(), Some(now), "{stage:?}");
        // The next checkpoint tidies up, and the history has every version once.
        commit(&scratch.lock(), &[replace("run/state.json", now, "next")], &meta()).unwrap();
        let left: Vec<String> = scratch.files("run").into_iter().filter(|file| file.contains("tmp")).collect();
        assert!(left.is_empty(), "{stage:?}: {left:?}");
        let versions: Vec<Vec<u8>> = history::list(&scratch.root, &own())
            .unwrap()
            .iter()
            .map(|entry| history::read(&scratch.root, &own(), &entry.id).unwrap().remove(0).1)
            .collect();
        let expected: &[&[u8]] = if is_new { &[b"new", b"old"] } else { &[b"old"] };
        assert_eq!(versions, expected, "{stage:?}");
    }
}

#[test]
fn a_kill_leaves_all_old_or_all_new_files() {
    let edits = [replace("run/a", "old a", "new a"), create("run/sub/b", "new b"), remove("run/c", "old c")];
    for stage in ALL_STAGES {
        let scratch = Scratch::new();
        scratch.write("run/a", "old a");
        scratch.write("run/c", "old c");
        killed_after(stage, &edits, &scratch);
        // A reader is the next to come.
        let reads = ["run/a", "run/sub/b", "run/c"].map(|path| ReadSpec::File(rel(path))).to_vec();
        let seen = file_set(&scratch.project(), &scratch.root, &candidate(reads), clock()).unwrap();
        let seen = ["run/a", "run/sub/b", "run/c"].map(|path| seen.bytes(&rel(path)).map(<[u8]>::to_vec));
        let is_new = !matches!(stage, Stage::Checked | Stage::Staged | Stage::Flushed | Stage::Kept);
        let expected = if is_new {
            [Some(b"new a".to_vec()), Some(b"new b".to_vec()), None]
        } else {
            [Some(b"old a".to_vec()), None, Some(b"old c".to_vec())]
        };
        assert_eq!(seen, expected, "{stage:?}");
        // Whoever writes next finds nothing left of it, whatever it writes.
        drop(scratch.lock());
        let left: Vec<String> = scratch.files("run").into_iter().filter(|file| file.contains("tmp")).collect();
        assert!(left.is_empty(), "{stage:?}: {left:?}");
        assert!(!scratch.root.join("run/.piton/txn/pending").exists(), "{stage:?}");
    }
}

#[test]
fn a_refusal_by_the_system_leaves_the_old_state_and_nothing_else() {
    let one = vec![replace("run/a", "old a", "new a")];
    let several = vec![replace("run/a", "old a", "new a"), create("run/b", "new b"), remove("run/c", "old c")];
    for edits in [one, several] {
        for stage in ALL_STAGES {
            if stage == Stage::Durable || stage == Stage::Dropped {
                continue;
            }
            let scratch = Scratch::new();
            scratch.write("run/a", "old a");
            scratch.write("run/c", "old c");
            let lock = scratch.lock();
            let mut has_failed = false;
            let result = commit_with(&lock, &edits, &meta(), &mut |now| {
                if now == stage {
                    has_failed = true;
                    return Err(Fault::Fail(io::ErrorKind::StorageFull.into()));
                }
                Ok(())
            });
            if !has_failed {
                continue;
            }
            assert!(matches!(result, Err(StoreError::NoSpace { .. })), "{stage:?}");
            drop(lock);
            drop(scratch.lock());
            let visible: Vec<String> =
                scratch.files("run").into_iter().filter(|file| !file.starts_with(".piton/history/")).collect();
            assert_eq!(visible, ["a", "c"], "{stage:?}");
            assert_eq!(scratch.text("run/a").as_deref(), Some("old a"), "{stage:?}");
            assert_eq!(scratch.text("run/c").as_deref(), Some("old c"), "{stage:?}");
        }
    }
}

#[test]
fn no_checkpoint_of_many_writers_is_lost() {
    const THREADS: usize = 8;
    const EACH: usize = 50;
    let scratch = Scratch::new();
    scratch.write("run/count", "0");
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    let lock = RunLock::acquire(&scratch.root, &own(), Duration::from_secs(120)).unwrap();
                    let before = fs::read(scratch.root.join("run/count")).unwrap();
                    let count: usize = std::str::from_utf8(&before).unwrap().parse().unwrap();
                    let kind = EditKind::Replace { before: before.into(), after: (count + 1).to_string().into() };
                    commit(&lock, &[Edit { path: rel("run/count"), kind }], &meta()).unwrap();
                }
            });
        }
    });
    assert_eq!(scratch.text("run/count").as_deref(), Some("400"));
    assert_eq!(history::list(&scratch.root, &own()).unwrap().len(), 20);
}

#[test]
fn a_journal_grows_by_exactly_what_is_added() {
    let scratch = Scratch::new();
    scratch.write("run/journal.jsonl", "one\n");
    let lock = scratch.lock();
    commit(&lock, &[append("run/journal.jsonl", 4, "two\n")], &meta()).unwrap();
    assert_eq!(scratch.text("run/journal.jsonl").as_deref(), Some("one\ntwo\n"));
    for (path, len, what) in [
        ("run/journal.jsonl", 4, "was written by somebody else"),
        ("run/journal.jsonl", 9, "was written by somebody else"),
        ("run/other.jsonl", 0, "was removed"),
    ] {
        let refused = commit(&lock, &[append(path, len, "three\n")], &meta());
        assert!(matches!(refused, Err(StoreError::Conflict { what: why, .. }) if why == what), "{path} {len}");
    }
    assert_eq!(scratch.text("run/journal.jsonl").as_deref(), Some("one\ntwo\n"));
    assert_eq!(scratch.files("run"), ["journal.jsonl"]);
    let mixed = [append("run/journal.jsonl", 8, "x"), create("run/a.json", "{}")];
    assert!(matches!(commit(&lock, &mixed, &meta()), Err(StoreError::UnsafePath { .. })));
}

#[test]
fn a_torn_tail_is_cut_off_and_kept() {
    let scratch = Scratch::new();
    scratch.write("run/journal.jsonl", "one\n{\"tor");
    let lock = scratch.lock();
    let kept = set_tail_aside(&lock, &rel("run/journal.jsonl"), 4, clock().now).unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), "{\"tor");
    assert_eq!(scratch.text("run/journal.jsonl").as_deref(), Some("one\n"));
}
