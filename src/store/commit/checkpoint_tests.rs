use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink},
    thread,
    time::Duration,
};

use super::{commit, commit_recorded};
use crate::{
    model::{ChangedFile, Content, Edit, EditKind, Entry, JournalFile, ReadSpec},
    store::{
        JournalAppend, RunLock, StoreError,
        commit::{
            recorded::{last_change, pending},
            txn,
        },
        file_set,
        fs::{
            calls::{Fault, with_fault},
            path::Root,
        },
        set_tail_aside,
        testing::{Scratch, append, candidate, clock, create, meta, rel, remove, replace},
    },
};

fn mode(scratch: &Scratch, path: &str) -> u32 {
    fs::metadata(scratch.root.join(path)).unwrap().mode() & 0o7777
}

#[test]
fn one_file_is_replaced_without_a_record() {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "old");
    let lock = scratch.lock();
    commit(&lock, &[replace("run/state.json", "old", "new")], &meta()).unwrap();
    assert_eq!(scratch.text("run/state.json").as_deref(), Some("new"));
    assert!(!scratch.root.join(".piton/runs/ccw.run/txn").exists());
    assert_eq!(scratch.text(".piton/.gitignore").as_deref(), Some("*\n"));
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
        (create("run/a", "new"), "was created by another program"),
        (replace("run/missing", "old", "new"), "was removed"),
    ] {
        let error = commit(&lock, &[replace("run/b", "old", "new"), edit], &meta()).unwrap_err();
        assert!(matches!(error, StoreError::Conflict { what: found, .. } if found == what), "{error}");
        assert_eq!(scratch.files("run"), ["a", "b"]);
        assert_eq!(scratch.text("run/b").as_deref(), Some("old"));
    }
}

#[test]
fn only_a_regular_file_is_written() {
    let scratch = Scratch::new();
    scratch.write("run/folder/a", "old");
    scratch.write("run/file", "old");
    let lock = scratch.lock();
    let error = commit(&lock, &[replace("run/folder", "old", "new")], &meta()).unwrap_err();
    assert!(matches!(error, StoreError::UnsafePath { .. }), "{error}");
    // A file in the place of a folder is not the same as a missing file.
    let error = commit(&lock, &[replace("run/file/b", "old", "new")], &meta()).unwrap_err();
    assert!(!matches!(error, StoreError::Conflict { .. }), "{error}");
    assert_eq!(scratch.files("run"), ["file", "folder/a"]);
}

#[test]
fn a_foreign_file_keeps_its_mode_and_own_files_are_private() {
    let scratch = Scratch::new();
    scratch.write("run/state.json", "old");
    fs::set_permissions(scratch.root.join("run/state.json"), fs::Permissions::from_mode(0o664)).unwrap();
    let lock = scratch.lock();
    let edits = [
        replace("run/state.json", "old", "new"),
        create(".piton/runs/ccw.run/own.json", "x"),
        create("run/new.json", "x"),
    ];
    commit(&lock, &edits, &meta()).unwrap();
    assert_eq!(mode(&scratch, "run/state.json"), 0o664);
    assert_eq!(mode(&scratch, ".piton/runs/ccw.run/own.json"), 0o600);
    assert_eq!(mode(&scratch, ".piton/runs/ccw.run"), 0o700);
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
    // Among several files it is the backup of its own state, and a new file has none.
    let mut edits = vec![create("run/a", "a"), replace("run/state.json", "3", "4")];
    scratch.write("run/b", "b");
    edits.insert(0, replace("run/b", "b", "c"));
    with_backup.backup.push((rel("run/a"), rel("run/a.backup")));
    commit(&lock, &edits, &with_backup).unwrap();
    assert_eq!(scratch.text("run/state.json.backup").as_deref(), Some("3"));
    assert_eq!(scratch.text("run/a.backup"), None);
}

const PATHS: [&str; 3] = ["run/a", "run/sub/b", "run/c"];
const OLD: [Option<&str>; 3] = [Some("old a"), None, Some("old c")];

/// Returns changes to one file and to several, replaced, new and removed, each with what they lead to.
fn changes() -> [(Vec<Edit>, [Option<&'static str>; 3]); 2] {
    let one = replace("run/a", "old a", "new a");
    let several = vec![one.clone(), create("run/sub/b", "new b"), remove("run/c", "old c")];
    [(vec![one], [Some("new a"), None, Some("old c")]), (several, [Some("new a"), Some("new b"), None])]
}

fn before() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("run/a", "old a");
    scratch.write("run/c", "old c");
    scratch
}

/// Makes a fault happen at a call of a checkpoint; `None` when it has fewer.
fn faulty(scratch: &Scratch, edits: &[Edit], at: usize, fault: Fault) -> Option<Result<(), StoreError>> {
    let lock = scratch.lock();
    with_fault(at, fault, || commit(&lock, edits, &meta()))
}

/// Checks that a reader sees all old or all new files, and that the next checkpoint works and tidies up; tells whether they are the new ones.
#[track_caller]
fn check_whole(scratch: &Scratch, new: [Option<&str>; 3], what: &str) -> bool {
    let reads = PATHS.map(|path| ReadSpec::File(rel(path))).to_vec();
    let seen = file_set(&scratch.project(), &scratch.root, &candidate(reads), clock()).unwrap();
    let seen = PATHS.map(|path| seen.bytes(&rel(path)).map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()));
    let is = |expected: [Option<&str>; 3]| seen.each_ref().map(Option::as_deref) == expected;
    assert!(is(OLD) || is(new), "{what}: {seen:?}");
    let is_new = is(new);
    let now = if is_new { "new a" } else { "old a" };
    let mut next = vec![replace("run/a", now, "next")];
    next.extend((!is_new).then(|| replace("run/c", "old c", "next")));
    commit(&scratch.lock(), &next, &meta()).unwrap();
    assert_eq!(leftovers(scratch), [] as [String; 0], "{what}");
    is_new
}

fn leftovers(scratch: &Scratch) -> Vec<String> {
    let is_leftover = |file: &String| file.ends_with(".piton-tmp") || file.ends_with("txn/pending");
    scratch.files("run").into_iter().filter(is_leftover).collect()
}

#[test]
fn a_kill_at_any_call_leaves_all_old_or_all_new_files() {
    for (edits, new) in changes() {
        let mut seen = [0, 0];
        for at in 1.. {
            let scratch = before();
            if faulty(&scratch, &edits, at, Fault::Kill).is_none() {
                break;
            }
            let is_new = check_whole(&scratch, new, &format!("killed at call {at} of {}", edits.len()));
            assert!(is_new || seen[1] == 0, "what has happened stays so: {at}");
            seen[usize::from(is_new)] += 1;
        }
        assert!(seen[0] > 3 && seen[1] > 0, "old and new: {seen:?}");
    }
}

#[test]
fn a_kill_at_any_call_of_a_recovery_is_recovered() {
    let [_, (edits, new)] = changes();
    let mut pairs = 0;
    for first in 1.. {
        let mut is_over = false;
        for second in 1.. {
            let scratch = before();
            is_over = faulty(&scratch, &edits, first, Fault::Kill).is_none();
            let has_happened = scratch.root.join(".piton/runs/ccw.run/txn/pending").exists();
            let recover = || RunLock::acquire(&scratch.root, &scratch.own(), Duration::from_secs(5)).map(drop);
            if is_over || with_fault(second, Fault::Kill, recover).is_none() {
                break;
            }
            let is_new = check_whole(&scratch, new, &format!("killed at call {first}, then {second}"));
            assert!(is_new || !has_happened, "what has happened stays so: {first}, then {second}");
            pairs += 1;
        }
        if is_over {
            break;
        }
    }
    assert!(pairs > 20, "only {pairs} pairs");
}

#[test]
fn a_refusal_at_any_call_leaves_the_old_state_and_nothing_else() {
    for (edits, new) in changes() {
        let mut refused = 0;
        for at in 1.. {
            let scratch = before();
            let Some(result) = faulty(&scratch, &edits, at, Fault::Once) else { break };
            let now = PATHS.map(|path| scratch.text(path));
            let expected = if result.is_ok() { new } else { OLD };
            assert_eq!(now.each_ref().map(Option::as_deref), expected, "call {at}");
            match result {
                // What failed is tidied up by the next one.
                Ok(_) => {}
                Err(StoreError::NoSpace { .. }) => {
                    assert_eq!(leftovers(&scratch), [] as [String; 0], "call {at}");
                    refused += 1;
                }
                Err(error) => panic!("call {at}: {error}"),
            }
            check_whole(&scratch, new, &format!("refused at call {at}"));
        }
        assert!(refused > 3, "only {refused} refusals");
    }
}

#[test]
fn a_disk_that_refuses_everything_leaves_all_old_or_all_new_files_and_says_so() {
    for (edits, new) in changes() {
        for at in 1.. {
            let scratch = before();
            let Some(result) = faulty(&scratch, &edits, at, Fault::FromThere) else { break };
            let is_new = check_whole(&scratch, new, &format!("refused from call {at}"));
            match result {
                Ok(_) => assert!(is_new, "call {at}"),
                Err(StoreError::NotRolledBack { .. }) => {}
                Err(_) => assert!(!is_new, "call {at}"),
            }
        }
    }
}

/// Finishes the last change of a journal, and tells whether it has one.
fn finish_recorded(scratch: &Scratch, journal: &JournalFile) -> bool {
    let bytes = fs::read(journal.file()).unwrap_or_default();
    let change = last_change(&bytes);
    let root = Root::open(&scratch.root).unwrap();
    if let Some(record) = change.as_ref().and_then(|change| pending(&root, change)) {
        txn::finish(&root, &scratch.own().absolute(), &record).unwrap();
    }
    change.is_some()
}

#[test]
fn a_recorded_change_is_made_whole_or_taken_back_after_a_fault_at_any_call() {
    let [_, (edits, new)] = changes();
    let files = edits.iter().map(|edit| ChangedFile::of(edit, None)).collect();
    let entry = Entry { files, ..Entry::new("finish", None, clock().now) };
    let line = format!("{}\n", serde_json::json!({ "entry": entry }));
    for fault in [Fault::Kill, Fault::Once, Fault::Twice, Fault::FromThere] {
        let mut seen = [0, 0];
        for at in 1.. {
            let scratch = before();
            let own = scratch.own();
            let path = own.path.join("journal.jsonl").unwrap();
            let journal = JournalFile { home: own.home, path, content: Content::Bytes(Vec::new().into()) };
            let append = JournalAppend { journal: &journal, line: line.clone().into_bytes() };
            let lock = scratch.lock();
            let written = with_fault(at, fault, || commit_recorded(&lock, &edits, &meta(), &append));
            let Some(written) = written else { break };
            let is_recorded = finish_recorded(&scratch, &journal);
            let now = PATHS.map(|path| scratch.text(path));
            let expected = if is_recorded { new } else { OLD };
            assert_eq!(now.each_ref().map(Option::as_deref), expected, "{fault:?} at {at}: {written:?}");
            assert!(is_recorded || written.is_err(), "{fault:?} at {at}");
            seen[usize::from(is_recorded)] += 1;
        }
        assert!(seen[0] > 3, "{fault:?}: {seen:?}");
        assert!(seen[1] > 0 || fault == Fault::Once, "{fault:?}: {seen:?}");
    }
}

#[test]
fn an_addition_that_fails_is_taken_back() {
    for (fault, is_taken_back) in [(Fault::Once, true), (Fault::FromThere, false)] {
        for at in 1.. {
            let scratch = Scratch::new();
            scratch.write("run/journal.jsonl", "one\n");
            let Some(result) = faulty(&scratch, &[append("run/journal.jsonl", 4, "two\n")], at, fault) else { break };
            let is_back = matches!(result, Err(StoreError::NoSpace { .. }));
            assert_eq!((is_back, result.is_err()), (is_taken_back, true), "{fault:?} at {at}");
            assert!(!is_back || scratch.text("run/journal.jsonl").as_deref() == Some("one\n"), "{fault:?} at {at}");
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
                    let lock = RunLock::acquire(&scratch.root, &scratch.own(), Duration::from_secs(120)).unwrap();
                    let before = fs::read(scratch.root.join("run/count")).unwrap();
                    let count: usize = std::str::from_utf8(&before).unwrap().parse().unwrap();
                    let kind = EditKind::Replace { before: before.into(), after: (count + 1).to_string().into() };
                    commit(&lock, &[Edit { path: rel("run/count"), kind }], &meta()).unwrap();
                }
            });
        }
    });
    assert_eq!(scratch.text("run/count").as_deref(), Some("400"));
}

#[test]
fn a_journal_grows_by_exactly_what_is_added() {
    let scratch = Scratch::new();
    scratch.write("run/journal.jsonl", "one\n");
    let lock = scratch.lock();
    commit(&lock, &[append("run/journal.jsonl", 4, "two\n")], &meta()).unwrap();
    assert_eq!(scratch.text("run/journal.jsonl").as_deref(), Some("one\ntwo\n"));
    for (path, len, what) in [
        ("run/journal.jsonl", 4, "was written by another program"),
        ("run/journal.jsonl", 9, "was written by another program"),
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
    let kept = set_tail_aside(&lock, (&scratch.root, &rel("run/journal.jsonl")), 4, clock().now).unwrap();
    assert_eq!(fs::read_to_string(kept).unwrap(), "{\"tor");
    assert_eq!(scratch.text("run/journal.jsonl").as_deref(), Some("one\n"));
}
