use std::fs;

use super::{HistoryFile, keep_corrupt, list, parse_compact, read};
use crate::{
    model::{StepId, sha256_hex},
    store::{
        StoreError, commit,
        fs::calls::{Fault, with_fault},
        testing::{Scratch, clock, create, data_dir, meta, rel, replace},
    },
};

#[test]
fn an_entry_says_what_when_and_which_files() {
    let scratch = Scratch::new();
    scratch.write("run/a-b.json", "1");
    scratch.write("run/ü 50%.json", "22");
    let mut meta = meta();
    meta.step = Some(StepId::new("IMPL-1.1/ä%"));
    let edits = [replace("run/a-b.json", "1", "x"), replace("run/ü 50%.json", "22", "x"), create("run/new", "x")];
    commit(&scratch.lock(), &edits, &meta).unwrap();
    let listed = list(&scratch.root, &data_dir()).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].id, "000001");
    assert_eq!(listed[0].at, clock().now);
    assert_eq!(listed[0].change, "begin");
    assert_eq!(listed[0].step, Some(StepId::new("IMPL-1.1/ä%")));
    let file = |path, text: &str| HistoryFile {
        path: rel(path),
        sha256: sha256_hex(text.as_bytes()),
        bytes: text.len() as u64,
    };
    assert_eq!(listed[0].files, [file("run/ü 50%.json", "22"), file("run/a-b.json", "1")]);
}

#[test]
fn long_paths_and_long_step_ids_are_kept() {
    let scratch = Scratch::new();
    let path = format!("run/{}/{}.json", "d".repeat(200), "ü".repeat(100));
    scratch.write(&path, "old");
    let mut meta = meta();
    meta.step = Some(StepId::new("-".repeat(300)));
    commit(&scratch.lock(), &[replace(&path, "old", "new")], &meta).unwrap();
    assert_eq!(read(&scratch.root, &data_dir(), "000001").unwrap(), [(rel(&path), b"old".to_vec())]);
    assert_eq!(list(&scratch.root, &data_dir()).unwrap()[0].step, Some(StepId::new("-".repeat(20))));
}

/// A backup has the bytes of the version before its state: when both go at once, the entry of that version stays.
#[test]
fn the_same_bytes_in_another_file_are_another_version() {
    let scratch = Scratch::new();
    scratch.write("run/state", "old");
    let lock = scratch.lock();
    commit(&lock, &[replace("run/state", "old", "new")], &meta()).unwrap();
    scratch.write("run/state.backup", "old");
    commit(&lock, &[replace("run/state", "new", "newer"), replace("run/state.backup", "old", "new")], &meta()).unwrap();
    let first = read(&scratch.root, &data_dir(), "000001").unwrap();
    assert_eq!(first, ["run/state", "run/state.backup"].map(|path| (rel(path), b"old".to_vec())));
    assert_eq!(list(&scratch.root, &data_dir()).unwrap().len(), 2);
}

#[test]
fn only_the_newest_are_kept() {
    let scratch = Scratch::new();
    scratch.write("run/state", "0");
    let lock = scratch.lock();
    let mut meta = meta();
    meta.history_limit = 3;
    let foreign = format!("run/.piton/history/000000-long ago-begin--1-{}-run%2Fstate", "0".repeat(64));
    scratch.write(&foreign, "of somebody else");
    for count in 0..6 {
        commit(&lock, &[replace("run/state", &count.to_string(), &(count + 1).to_string())], &meta).unwrap();
    }
    let ids: Vec<String> = list(&scratch.root, &data_dir()).unwrap().into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids, ["000006", "000005", "000004"]);
    assert_eq!(read(&scratch.root, &data_dir(), "000004").unwrap()[0].1, b"3");
    assert!(matches!(read(&scratch.root, &data_dir(), "000003"), Err(StoreError::HistoryMissing { .. })));
    assert!(matches!(read(&scratch.root, &data_dir(), "../x"), Err(StoreError::HistoryMissing { .. })));
    meta.history_limit = 0;
    commit(&lock, &[replace("run/state", "6", "7")], &meta).unwrap();
    assert!(list(&scratch.root, &data_dir()).unwrap().is_empty());
    assert_eq!(scratch.text(&foreign).as_deref(), Some("of somebody else"), "only what was written here is removed");
}

#[test]
fn incomplete_foreign_and_changed_entries_count_for_nothing() {
    let scratch = Scratch::new();
    scratch.write("run/a", "1");
    scratch.write("run/b", "2");
    let lock = scratch.lock();
    commit(&lock, &[replace("run/a", "1", "x"), replace("run/b", "2", "x")], &meta()).unwrap();
    commit(&lock, &[replace("run/a", "x", "y")], &meta()).unwrap();
    let folder = scratch.root.join("run/.piton/history");
    fs::write(folder.join("notes.txt"), "").unwrap();
    let intact = || -> Vec<bool> {
        list(&scratch.root, &data_dir()).unwrap().into_iter().map(|entry| entry.is_intact).collect()
    };
    assert_eq!(intact(), [true, true]);
    let of = |id: &str| scratch.files("run/.piton/history").into_iter().find(|name| name.starts_with(id)).unwrap();
    fs::write(folder.join(of("000002")), "scribbled").unwrap();
    assert_eq!(intact(), [false, true]);
    fs::remove_file(folder.join(of("000001"))).unwrap();
    let ids: Vec<String> = list(&scratch.root, &data_dir()).unwrap().into_iter().map(|entry| entry.id).collect();
    assert_eq!(ids, ["000002"]);
    assert!(matches!(read(&scratch.root, &data_dir(), "000002"), Err(StoreError::HistoryCorrupt { .. })));
    assert!(matches!(read(&scratch.root, &data_dir(), "000001"), Err(StoreError::HistoryMissing { .. })));
}

#[test]
fn a_broken_file_is_set_aside_once() {
    let scratch = Scratch::new();
    let lock = scratch.lock();
    let first = keep_corrupt(&lock, &rel("run/state.json"), clock().now, b"{").unwrap();
    let second = keep_corrupt(&lock, &rel("run/state.json"), clock().now, b"{").unwrap();
    assert_eq!(first, second);
    let digest = &sha256_hex(b"{")[..16];
    assert_eq!(scratch.files("run/.piton/history/corrupt"), [format!("20260131T120000Z-{digest}-state.json")]);
}

#[test]
fn no_history_is_an_empty_one() {
    let scratch = Scratch::new();
    assert!(list(&scratch.root, &data_dir()).unwrap().is_empty());
    assert!(matches!(read(&scratch.root, &data_dir(), "000001"), Err(StoreError::HistoryMissing { .. })));
}

#[test]
fn a_checkpoint_is_the_whole_state_as_it_was_then() {
    let scratch = Scratch::new();
    scratch.write("run/a", "a1");
    scratch.write("run/b", "b1");
    let lock = scratch.lock();
    commit(&lock, &[replace("run/a", "a1", "a2")], &meta()).unwrap();
    commit(&lock, &[replace("run/a", "a2", "a3"), replace("run/b", "b1", "b2")], &meta()).unwrap();
    commit(&lock, &[replace("run/b", "b2", "b3")], &meta()).unwrap();
    let as_of = |id: &str| -> Vec<String> {
        let mut files = read(&scratch.root, &data_dir(), id).unwrap();
        files.sort();
        files.into_iter().map(|(path, bytes)| format!("{path} {}", String::from_utf8(bytes).unwrap())).collect()
    };
    assert_eq!(as_of("000001"), ["run/a a1", "run/b b1"]);
    assert_eq!(as_of("000002"), ["run/a a2", "run/b b1"]);
    assert_eq!(as_of("000003"), ["run/b b2"]);
    assert!(read(&scratch.root, &data_dir(), "000004").is_err());
}

#[test]
fn names_of_other_programs_do_not_move_the_numbers() {
    let scratch = Scratch::new();
    scratch.write("run/state", "1");
    let lock = scratch.lock();
    let folder = scratch.root.join("run/.piton/history");
    fs::create_dir_all(&folder).unwrap();
    for (digest, path) in [("a".repeat(64), ""), ("g".repeat(64), "x"), ("a".repeat(63), "x"), (String::new(), "x")] {
        fs::write(folder.join(format!("000900-20260131T120000Z-begin--1-{digest}-{path}")), "").unwrap();
    }
    let done = commit(&lock, &[replace("run/state", "1", "2")], &meta()).unwrap();
    assert_eq!(done.replaced.as_deref(), Some("000001"));
}

#[test]
fn a_stamp_is_exactly_what_was_written() {
    assert_eq!(parse_compact(&clock().now.compact()), Some(clock().now));
    for text in
        ["20260131T120000000Z", "2026013T1200000Z", "20260131T120000", "20260131 120000Z", "2026013\u{e9}T12000Z", ""]
    {
        assert_eq!(parse_compact(text), None, "{text}");
    }
}

#[test]
fn what_stands_in_the_place_of_the_history_is_refused() {
    let scratch = Scratch::new();
    scratch.write("run/.piton/a", "");
    let history = scratch.root.join("run/.piton/history");
    std::os::unix::fs::symlink(&scratch.root, &history).unwrap();
    assert!(matches!(list(&scratch.root, &data_dir()), Err(StoreError::UnsafePath { .. })));
    fs::remove_dir_all(scratch.root.join("run/.piton")).unwrap();
    scratch.write("run/.piton", "a file");
    assert!(list(&scratch.root, &data_dir()).is_err());
}

#[test]
fn a_broken_file_is_kept_or_the_call_fails() {
    let mut refused = 0;
    for at in 1.. {
        let scratch = Scratch::new();
        let lock = scratch.lock();
        let kept = with_fault(at, Fault::Once, || keep_corrupt(&lock, &rel("run/state.json"), clock().now, b"{"));
        let Some(kept) = kept else { break };
        match kept {
            Ok(file) => assert_eq!(fs::read(file).unwrap(), b"{", "call {at}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 3, "only {refused}");
}

#[test]
fn an_entry_whose_files_are_as_they_are_now_is_not_a_version() {
    for (now, expected) in [("old", 0), ("odd", 1), ("older", 1)] {
        let scratch = Scratch::new();
        scratch.write("run/state.json", "old");
        commit(&scratch.lock(), &[replace("run/state.json", "old", "new")], &meta()).unwrap();
        // As after a kill between keeping and replacing.
        fs::write(scratch.root.join("run/state.json"), now).unwrap();
        assert_eq!(list(&scratch.root, &data_dir()).unwrap().len(), expected, "{now}");
    }
}
