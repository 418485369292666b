use std::os::unix::fs::symlink;

use super::{append, append_block, read};
use crate::store::{
    fs::unread,
    testing::{Scratch, rel},
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
fn a_log_that_is_full_is_begun_again() {
    let scratch = Scratch::new();
    let data_path = scratch.lock().data_path().to_owned();
    let line = serde_json::json!({ "at": "2026-01-31T12:00:00Z", "change": "begin" });
    let bytes = serde_json::to_vec(&line).unwrap().len() as u64 + 1;
    let previous = || scratch.root.join(".piton/runs/ccw.run/log.previous.jsonl").exists();
    for (limit, expected) in [(1, (1, false)), (2 * bytes, (2, false)), (2 * bytes, (3, true)), (1, (2, true))] {
        append(&data_path, "log.jsonl", &[&line], limit).unwrap();
        assert_eq!((read::<serde_json::Value>(&data_path, "log.jsonl").len(), previous()), expected, "{limit}");
    }
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
