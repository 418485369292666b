use std::{fs, os::unix::fs::PermissionsExt as _};

use super::{Record, RecordedFile, cut_off_change, is_pending, pending};
use crate::{
    model::{StepId, sha256_hex},
    store::{
        fs::path::Root,
        testing::{Scratch, rel},
    },
};

fn record(path: &str, before: Option<&str>, after: Option<&str>) -> Record {
    let before = before.map(|text| sha256_hex(text.as_bytes()));
    let after = after.map(|text| text.as_bytes().to_vec());
    Record {
        change: "finish".to_owned(),
        step: Some(StepId::new("2:3")),
        folders: Vec::new(),
        files: vec![RecordedFile { path: rel(path), before, after, mode: 0o644 }],
    }
}

fn plant(scratch: &Scratch, bytes: &[u8], mode: u32) {
    let folder = scratch.root.join(".piton/runs/ccw.run/txn");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("pending"), bytes).unwrap();
    fs::set_permissions(folder.join("pending"), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_record_reads_back_and_a_torn_one_does_not() {
    let mut whole = record("run/a\u{e9}", Some("x"), Some("line 1\nline 2\n"));
    whole.files.extend(record("run/b", None, Some("")).files);
    whole.files.extend(record("run/c", Some("x"), None).files);
    let bytes = whole.encode();
    assert_eq!(Record::decode(&bytes), Some(whole));
    for end in 0..bytes.len() {
        assert_eq!(Record::decode(&bytes[..end]), None, "cut at {end}");
    }
    for at in 0..bytes.len() {
        let mut other = bytes.clone();
        other[at] ^= 1;
        assert_eq!(Record::decode(&other), None, "changed at {at}");
    }
    let mut longer = bytes.clone();
    longer.push(b'x');
    assert_eq!(Record::decode(&longer), None);
}

#[test]
fn a_record_is_finished_only_where_it_fits_and_always_dropped() {
    for (record, mode, expected) in [
        (record("run/a", Some("old"), Some("new")), 0o600, Some("new")),
        (record("run/a", Some("old"), None), 0o600, None),
        // Another process wrote in the meantime.
        (record("run/a", Some("older"), Some("new")), 0o600, Some("old")),
        // It came with the repository.
        (record("run/a", Some("old"), Some("new")), 0o644, Some("old")),
    ] {
        let scratch = Scratch::new();
        scratch.write("run/a", "old");
        plant(&scratch, &record.encode(), mode);
        drop(scratch.lock());
        assert_eq!(scratch.text("run/a").as_deref(), expected);
        assert!(!is_pending(&scratch.root.join(".piton/runs/ccw.run")));
    }
}

#[test]
fn a_record_never_reaches_into_git() {
    let scratch = Scratch::new();
    scratch.write(".git/HEAD", "x");
    plant(&scratch, &record(".git/hooks/pre-commit", None, Some("evil")).encode(), 0o600);
    drop(scratch.lock());
    assert_eq!(scratch.files(".git"), ["HEAD"]);
    plant(&scratch, b"garbage", 0o600);
    drop(scratch.lock());
    assert!(!is_pending(&scratch.root.join(".piton/runs/ccw.run")));
}

#[test]
fn a_pending_record_can_be_looked_at_without_finishing_it() {
    let scratch = Scratch::new();
    scratch.write("run/a", "old");
    plant(&scratch, &record("run/a", Some("old"), Some("new")).encode(), 0o600);
    let root = Root::open(&scratch.root).unwrap();
    let data_path = scratch.root.join(".piton/runs/ccw.run");
    assert_eq!(pending(&root, &data_path).unwrap().files[0].after.as_deref(), Some(&b"new"[..]));
    scratch.write("run/a", "foreign");
    assert_eq!(pending(&root, &data_path), None);
}

#[test]
fn what_another_program_changed_is_left_and_named_until_it_changes_again() {
    let scratch = Scratch::new();
    scratch.write("run/a", "old");
    scratch.write("run/b", "foreign");
    let mut two = record("run/a", Some("old"), Some("new"));
    two.files.extend(record("run/b", Some("old"), Some("new")).files);
    plant(&scratch, &two.encode(), 0o600);
    drop(scratch.lock());
    assert_eq!((scratch.text("run/a").as_deref(), scratch.text("run/b").as_deref()), (Some("new"), Some("foreign")));
    let told = || cut_off_change(&scratch.root, &scratch.own().absolute());
    let change = told().unwrap();
    assert_eq!((change.change.as_str(), change.step), ("finish", Some(StepId::new("2:3"))));
    let [left] = change.left.as_slice() else { panic!("{:?}", change.left) };
    assert_eq!(left.path, rel("run/b"));
    let kept = format!(".piton/runs/ccw.run/{}", left.kept.as_ref().unwrap());
    assert_eq!(scratch.text(&kept).as_deref(), Some("new"), "what it would have got is kept");
    // A note is only believed if no one else can read it.
    let note = scratch.root.join(".piton/runs/ccw.run/txn/cut-off");
    fs::set_permissions(&note, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(told(), None);
    fs::set_permissions(&note, fs::Permissions::from_mode(0o600)).unwrap();
    drop(scratch.lock());
    assert!(told().is_some(), "another call changes nothing about that");
    scratch.write("run/b", "another");
    assert_eq!(told(), None);
    drop(scratch.lock());
    assert!(!note.exists());
}
