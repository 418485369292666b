use std::fs;

use super::{BYTES, Backup, Copied, FILES, check, extent, keep};
use crate::{
    model::{RelPath, sha256_hex},
    store::{
        StoreError,
        fs::calls::{Fault, with_fault},
        testing::{Scratch, rel},
    },
};

fn wanted(paths: &[&str]) -> Vec<(RelPath, RelPath)> {
    paths.iter().map(|path| (rel(path), rel(&format!("files/{path}")))).collect()
}

fn backup(paths: &[&str]) -> Backup {
    Backup { folder: rel("backups/one"), files: wanted(paths) }
}

fn note(_: &RelPath, copied: &[Copied]) -> Vec<(RelPath, String)> {
    vec![(rel("INFO"), copied.iter().map(|one| format!("{} {} {}\n", one.sha256, one.bytes, one.name)).collect())]
}

#[test]
fn every_file_is_copied_and_described() {
    let scratch = Scratch::new();
    scratch.write("a", "1");
    scratch.write("deep/er/b", "22");
    let lock = scratch.lock();
    assert_eq!(keep(&lock, &backup(&["a", "deep/er/b"]), note).unwrap(), rel("backups/one"));
    assert_eq!(scratch.text("backups/one/files/deep/er/b").unwrap(), "22");
    let info = format!("{} 1 files/a\n{} 2 files/deep/er/b\n", sha256_hex(b"1"), sha256_hex(b"22"));
    assert_eq!(scratch.text("backups/one/INFO").unwrap(), info);
    // The next one never takes its place.
    scratch.write("a", "3");
    assert_eq!(keep(&lock, &backup(&["a"]), note).unwrap(), rel("backups/one-2"));
    assert_eq!(scratch.text("backups/one/files/a").unwrap(), "1");
}

#[test]
fn one_that_cannot_be_made_has_no_name() {
    let scratch = Scratch::new();
    scratch.write("a", "1");
    let lock = scratch.lock();
    keep(&lock, &backup(&["a", "gone"]), note).unwrap_err();
    assert!(!scratch.root.join("backups").exists());
    assert!(!scratch.own().absolute().join("backup").exists());
}

#[test]
fn what_a_kill_left_is_removed_by_the_next_who_locks() {
    let scratch = Scratch::new();
    drop(scratch.lock());
    let partial = scratch.own().absolute().join("backup");
    fs::create_dir_all(partial.join("files")).unwrap();
    fs::write(partial.join("files/a"), "half").unwrap();
    drop(scratch.lock());
    assert!(!partial.exists());
    // Nor does a file in its place stop the next one.
    fs::write(&partial, "x").unwrap();
    drop(scratch.lock());
    assert!(!partial.exists());
    // Nor is a link followed that stands in its place.
    scratch.write("kept/x", "1");
    std::os::unix::fs::symlink(scratch.root.join("kept"), &partial).unwrap();
    drop(scratch.lock());
    assert!(!partial.is_symlink());
    assert_eq!(scratch.text("kept/x").unwrap(), "1");
}

/// Tells whether a backup of the two files has its name, and checks that it is whole then.
#[track_caller]
fn is_whole(scratch: &Scratch, folder: &str, what: &str) -> bool {
    let is_there = scratch.root.join(folder).exists();
    if is_there {
        assert_eq!(scratch.files(folder), ["INFO", "files/a", "files/deep/er/b"], "{what}");
        let info = format!("{} 1 files/a\n{} 2 files/deep/er/b\n", sha256_hex(b"1"), sha256_hex(b"22"));
        let texts = ["INFO", "files/a", "files/deep/er/b"].map(|name| scratch.text(&format!("{folder}/{name}")));
        assert_eq!(texts.each_ref().map(Option::as_deref), [Some(&info[..]), Some("1"), Some("22")], "{what}");
    }
    is_there
}

#[test]
fn a_fault_at_any_call_leaves_a_whole_backup_or_none() {
    let partial = |scratch: &Scratch| scratch.own().absolute().join("backup").exists();
    for fault in [Fault::Kill, Fault::Once, Fault::FromThere] {
        let (mut tried, mut left) = (0, [0, 0]);
        for at in 1.. {
            let scratch = Scratch::new();
            scratch.write("a", "1");
            scratch.write("deep/er/b", "22");
            let lock = scratch.lock();
            let wanted = backup(&["a", "deep/er/b"]);
            let Some(kept) = with_fault(at, fault, || keep(&lock, &wanted, note)) else { break };
            drop(lock);
            let what = format!("{fault:?} at {at}");
            assert!(matches!(kept, Err(StoreError::NoSpace { .. })), "{what}: {kept:?}");
            let is_named = is_whole(&scratch, "backups/one", &what);
            left[usize::from(is_named)] += 1;
            assert!(fault != Fault::Once || !is_named && !partial(&scratch), "{what}: a refused one leaves nothing");
            let lock = scratch.lock();
            assert!(!partial(&scratch), "{what}");
            let next = keep(&lock, &wanted, note).unwrap();
            assert_eq!(next.as_str(), if is_named { "backups/one-2" } else { "backups/one" }, "{what}");
            assert!(is_whole(&scratch, next.as_str(), &what));
            tried += 1;
        }
        assert!(tried > 15, "{fault:?}: only {tried} calls");
        assert_eq!(left[1] > 0, fault != Fault::Once, "{fault:?}: {left:?}");
    }
}

#[test]
fn links_and_what_is_gone_are_left_out() {
    let scratch = Scratch::new();
    scratch.write("a", "123");
    scratch.write("outside/b", "1");
    std::os::unix::fs::symlink("a", scratch.root.join("link")).unwrap();
    std::os::unix::fs::symlink("outside", scratch.root.join("folder")).unwrap();
    let extent = extent(&scratch.root, &wanted(&["a", "link", "folder/b", "gone", "outside"]));
    assert_eq!(extent.files, wanted(&["a"]));
    assert_eq!(extent.bytes, 3);
    assert_eq!(extent.left_out, ["link", "folder/b", "gone", "outside"].map(rel));
    assert!(extent.free.is_some_and(|free| free > 3) && !extent.is_too_much);
}

#[test]
fn a_backup_is_too_much_above_its_bytes_or_its_files() {
    let scratch = Scratch::new();
    scratch.write("a", "");
    let file = fs::File::options().write(true).open(scratch.root.join("a")).unwrap();
    for (bytes, times, expected) in
        [(BYTES, 1, false), (BYTES + 1, 1, true), (0, FILES, false), (0, FILES + 1, true), (1, 2, false)]
    {
        // A sparse file takes no space.
        file.set_len(bytes).unwrap();
        let extent = extent(&scratch.root, &vec![(rel("a"), rel("files/a")); times]);
        assert_eq!(extent.is_too_much, expected, "{bytes} bytes, {times} files");
    }
}

#[test]
fn a_copy_that_differs_or_is_gone_is_noticed() {
    let scratch = Scratch::new();
    scratch.write("files/a", "1");
    let copied = Copied { name: rel("files/a"), bytes: 1, sha256: sha256_hex(b"1") };
    check(&scratch.root, std::slice::from_ref(&copied)).unwrap();
    for now in [Some("2"), Some(""), Some("11"), None] {
        let file = scratch.root.join("files/a");
        now.map_or_else(|| fs::remove_file(&file), |text| fs::write(&file, text)).unwrap();
        check(&scratch.root, std::slice::from_ref(&copied)).unwrap_err();
    }
}
