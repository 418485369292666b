use std::os::unix::fs::symlink;

use super::{append, append_block, append_kept, log, log_durably, log_entries, read, read_kept};
use crate::{
    model::{RollBackRecord, StepId},
    store::{
        commit::rollbacks::{record_rollback, rollbacks},
        fs::unread,
        testing::{Scratch, data_dir, rel, time},
    },
};

#[test]
fn a_block_is_added_behind_an_empty_line_and_a_torn_one_is_closed() {
    for (before, after) in [
        (None, "[now] a\n"),
        (Some("# Log\n"), "# Log\n\n[now] a\n"),
        (Some("# Log, torn"), "# Log, torn\n\n[now] a\n"),
        (Some(""), "[now] a\n"),
    ] {
        let scratch = Scratch::new();
        if let Some(before) = before {
            scratch.write("log.md", before);
        }
        append_block(&scratch.root, &rel("log.md"), "[now] a\n").unwrap();
        assert_eq!(scratch.text("log.md").as_deref(), Some(after), "{before:?}");
    }
}

#[test]
fn a_block_goes_nowhere_outside_of_the_root() {
    let (scratch, outside) = (Scratch::new(), Scratch::new());
    outside.write("log.md", "theirs");
    symlink(outside.root.join("log.md"), scratch.root.join("log.md")).unwrap();
    assert!(append_block(&scratch.root, &rel("log.md"), "[now] a\n").is_err());
    assert!(append_block(&scratch.root, &rel(".git/log.md"), "[now] a\n").is_err());
    assert_eq!(outside.text("log.md").as_deref(), Some("theirs"));
}

#[test]
fn what_was_logged_is_read_in_its_order() {
    let scratch = Scratch::new();
    let lock = scratch.lock();
    let line = |change: &str| serde_json::json!({ "at": "2026-01-31T12:00:00Z", "change": change });
    log(&lock, &line("begin"), 1 << 20).unwrap();
    log_durably(&lock, &line("finish"), 1 << 20).unwrap();
    let read: Vec<String> = log_entries(&scratch.root, &data_dir()).into_iter().map(|entry| entry.change).collect();
    assert_eq!(read, ["begin", "finish"]);
    let back = RollBackRecord {
        at: time("2026-01-31T12:00:00Z"),
        run: "R".to_owned(),
        to: "phase:1".to_owned(),
        reopened: vec![StepId::new("2")],
    };
    record_rollback(&lock, &back, 1 << 20).unwrap();
    assert_eq!(rollbacks(&scratch.root, &data_dir()), [back]);
}

#[test]
fn a_log_that_is_full_is_begun_again() {
    let scratch = Scratch::new();
    let lock = scratch.lock();
    let line = serde_json::json!({ "at": "2026-01-31T12:00:00Z", "change": "begin" });
    let bytes = serde_json::to_vec(&line).unwrap().len() as u64 + 1;
    let previous = || scratch.root.join("run/.piton/log.previous.jsonl").exists();
    for (limit, expected) in [(1, (1, false)), (2 * bytes, (2, false)), (2 * bytes, (3, true)), (1, (2, true))] {
        log(&lock, &line, limit).unwrap();
        assert_eq!((log_entries(&scratch.root, &data_dir()).len(), previous()), expected, "{limit}");
    }
}

/// What was said is the only copy of it: it is never replaced by what is said later.
#[test]
fn a_log_that_is_kept_whole_is_full_before_it_can_no_longer_be_read() {
    let scratch = Scratch::new();
    let data_path = scratch.lock().data_path().to_owned();
    let path = data_path.join("kept.jsonl");
    let line = serde_json::json!({ "at": "2026-01-31T12:00:00Z", "change": "begin" });
    for (megabytes, is_taken) in [(0, true), (59, true), (61, false)] {
        std::fs::write(&path, "").unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().set_len(megabytes << 20).unwrap();
        let (taken, unread) = unread::watched(|| append_kept(&data_path, "kept.jsonl", &[&line], true));
        assert_eq!(taken.is_ok(), is_taken, "{megabytes}");
        assert_eq!(read_kept::<serde_json::Value>(&path).len(), usize::from(is_taken), "{megabytes}");
        assert_eq!(unread, []);
    }
    assert_eq!(scratch.files("run/.piton"), ["kept.jsonl", "lock"]);
}

#[test]
fn of_a_log_beyond_the_limit_the_end_is_read_and_the_rest_is_named() {
    let scratch = Scratch::new();
    let data_path = scratch.lock().data_path().to_owned();
    let path = data_path.join("long.jsonl");
    std::fs::write(&path, "").unwrap();
    let file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.set_len(65 << 20).unwrap();
    append(&data_path, "long.jsonl", &[serde_json::json!({ "last": true })], u64::MAX).unwrap();
    let (lines, unread) = unread::watched(|| read::<serde_json::Value>(&data_path, "long.jsonl"));
    assert_eq!(lines, [serde_json::json!({ "last": true })]);
    assert!(matches!(&unread[..], [one] if one.path == path), "{unread:?}");
}
