use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use super::RunLock;
use crate::store::StoreError;
use crate::store::testing::Scratch;
use crate::store::testing::own;

#[test]
fn a_second_writer_waits_and_is_told_what_to_do() {
    let scratch = Scratch::new();
    let held = scratch.lock();
    let error = RunLock::acquire(&scratch.root, &own(), Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, StoreError::LockTimeout { .. }));
    let text = error.to_string();
    for part in [scratch.root.join("run/.piton/lock").as_str(), "20 ms", "networked file system", "piton doctor"] {
        assert!(text.contains(part), "{text}");
    }
    drop(held);
    RunLock::acquire(&scratch.root, &own(), Duration::ZERO).unwrap();
}

#[test]
fn the_lock_file_stays() {
    let scratch = Scratch::new();
    drop(scratch.lock());
    assert!(scratch.root.join("run/.piton/lock").exists());
}

#[test]
fn planted_links_are_not_followed() {
    let scratch = Scratch::new();
    let outside = Scratch::new();
    fs::create_dir_all(scratch.root.join("run/.piton")).unwrap();
    symlink(outside.root.join("victim"), scratch.root.join("run/.piton/lock")).unwrap();
    assert!(RunLock::acquire(&scratch.root, &own(), Duration::ZERO).is_err());
    fs::remove_file(scratch.root.join("run/.piton/lock")).unwrap();
    symlink(&outside.root, scratch.root.join("run/.piton/history")).unwrap();
    assert!(matches!(scratch.lock().folder("history"), Err(StoreError::UnsafePath { .. })));
    fs::remove_dir_all(scratch.root.join("run/.piton")).unwrap();
    symlink(&outside.root, scratch.root.join("run/.piton")).unwrap();
    let refused = RunLock::acquire(&scratch.root, &own(), Duration::ZERO);
    assert!(matches!(refused, Err(StoreError::UnsafePath { .. })));
    assert!(outside.files("").is_empty());
}
