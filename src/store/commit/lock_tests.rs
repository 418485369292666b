use std::{
    fs::{self, TryLockError},
    io,
    os::unix::fs::symlink,
    time::Duration,
};

use super::{RunLock, has_lock_file, poll, try_lock};
use crate::store::{StoreError, testing::Scratch};

#[test]
fn a_second_writer_waits_and_is_told_what_to_do() {
    let scratch = Scratch::new();
    let held = scratch.lock();
    let error = RunLock::acquire(&scratch.root, &scratch.own(), Duration::from_millis(20)).unwrap_err();
    assert!(matches!(error, StoreError::LockTimeout { .. }));
    let text = error.to_string();
    for part in [
        scratch.root.join(".piton/runs/ccw.run/lock").as_str(),
        "20 ms",
        "Run the command again",
        "PITON_LOCK_TIMEOUT_MS",
    ] {
        assert!(text.contains(part), "{text}");
    }
    drop(held);
    RunLock::acquire(&scratch.root, &scratch.own(), Duration::ZERO).unwrap();
}

#[test]
fn whoever_waits_gets_the_lock_as_soon_as_it_is_free() {
    let scratch = Scratch::new();
    let held = scratch.lock();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| RunLock::acquire(&scratch.root, &scratch.own(), Duration::from_secs(60)).map(drop));
        drop(held);
        assert!(waiter.join().unwrap().is_ok());
    });
}

#[cfg(target_os = "linux")]
#[test]
fn the_holder_is_read_from_the_locks_of_the_system() {
    use super::holder_in;
    for (line, expected) in [
        ("1: FLOCK  ADVISORY  WRITE 4242 fe:00:8899 0 EOF", Some(4_242)),
        ("2: FLOCK  ADVISORY  READ  7 fe:00:8899 0 EOF", Some(7)),
        ("1: -> FLOCK  ADVISORY  WRITE 4243 fe:00:8899 0 EOF", None),
        ("3: POSIX  ADVISORY  WRITE 4244 fe:00:8899 0 EOF", None),
        ("4: FLOCK  ADVISORY  WRITE 4245 fe:00:88991 0 EOF", None),
        ("5: FLOCK  ADVISORY  WRITE 0 fe:00:8899 0 EOF", None),
        ("", None),
    ] {
        assert_eq!(holder_in(line, "fe:00:8899"), expected, "{line}");
    }
}

#[test]
fn whether_a_run_is_free_is_asked_without_a_trace() {
    let scratch = Scratch::new();
    let data_path = scratch.own().absolute();
    try_lock(&scratch.own()).unwrap();
    assert!(!has_lock_file(&data_path) && scratch.files("").is_empty());
    let held = scratch.lock();
    assert!(has_lock_file(&data_path));
    let refused = try_lock(&scratch.own()).unwrap_err();
    let StoreError::LockTimeout { holder, .. } = refused else { panic!("{refused}") };
    if let Some(holder) = holder {
        assert!(holder.starts_with(&format!("process {}", std::process::id())), "{holder}");
    }
    drop(held);
    try_lock(&scratch.own()).unwrap();
}

#[test]
fn the_lock_file_stays() {
    let scratch = Scratch::new();
    drop(scratch.lock());
    assert!(scratch.root.join(".piton/runs/ccw.run/lock").exists());
}

#[test]
fn planted_links_are_not_followed() {
    let scratch = Scratch::new();
    let outside = Scratch::new();
    fs::create_dir_all(scratch.root.join(".piton/runs/ccw.run")).unwrap();
    symlink(outside.root.join("victim"), scratch.root.join(".piton/runs/ccw.run/lock")).unwrap();
    assert!(RunLock::acquire(&scratch.root, &scratch.own(), Duration::ZERO).is_err());
    fs::remove_file(scratch.root.join(".piton/runs/ccw.run/lock")).unwrap();
    symlink(&outside.root, scratch.root.join(".piton/runs/ccw.run/history")).unwrap();
    assert!(matches!(scratch.lock().folder("history"), Err(StoreError::UnsafePath { .. })));
    fs::remove_dir_all(scratch.root.join(".piton/runs/ccw.run")).unwrap();
    symlink(&outside.root, scratch.root.join(".piton/runs/ccw.run")).unwrap();
    let refused = RunLock::acquire(&scratch.root, &scratch.own(), Duration::ZERO);
    assert!(refused.is_err(), "{refused:?}");
    assert!(outside.files("").is_empty());
}

#[test]
fn a_signal_is_no_refusal_until_the_time_is_over() {
    let long = Duration::from_secs(60);
    let interrupted = || Err(TryLockError::Error(io::ErrorKind::Interrupted.into()));
    let path = camino::Utf8Path::new("lock");
    for (failures, timeout, expected) in [(0, Duration::ZERO, true), (3, long, true), (3, Duration::ZERO, false)] {
        let mut left = failures;
        let attempt = || {
            left -= 1;
            if left < 0 { Ok(()) } else { interrupted() }
        };
        let got = poll(path, timeout, timeout, attempt);
        assert_eq!(got.is_ok(), expected, "{failures} {timeout:?}: {got:?}");
    }
    let refused = poll(path, long, long, || Err(TryLockError::Error(io::ErrorKind::Unsupported.into())));
    assert!(matches!(refused, Err(StoreError::NoLock { .. })), "{refused:?}");
}

#[test]
fn the_home_is_hidden_from_git_unless_a_person_decides_otherwise() {
    for (before, after) in [(None, "*\n"), (Some(""), "*\n"), (Some("!log.jsonl\n"), "!log.jsonl\n")] {
        let scratch = Scratch::new();
        if let Some(before) = before {
            scratch.write(".piton/.gitignore", before);
        }
        drop(scratch.lock());
        assert_eq!(scratch.text(".piton/.gitignore").as_deref(), Some(after), "{before:?}");
    }
}
