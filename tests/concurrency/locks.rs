//! Locks held by another process, and file systems without locks.

use std::time::{Duration, Instant};

use crate::{
    cli::projects::{self, SESSION, document},
    support::{Output, Sandbox, Strace},
};

const TASK: &str = ".workflow/active/WFS-user-auth/.task/IMPL-002.json";

#[test]
fn a_lock_is_waited_for_until_the_timeout() {
    let sandbox = projects::ccw();
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    let lock =
        std::fs::File::open(sandbox.root().join(".piton/runs/ccw.WFS-user-auth/lock")).expect("a lock was taken");
    lock.lock().expect("it is free");
    for words in [&["finish", "IMPL-002"][..], &["plan"]] {
        let started = Instant::now();
        let output = sandbox.piton(words.iter().copied()).env("PITON_LOCK_TIMEOUT_MS", "150").run();
        let waited = started.elapsed();
        check_timeout(&output, words);
        assert!(waited >= Duration::from_millis(150), "{words:?}: {waited:?}");
    }
    sandbox.piton(["doctor"]).env("PITON_LOCK_TIMEOUT_MS", "50").run().expect_code(1);
    drop(lock);
    sandbox.piton(["finish", "IMPL-002"]).env("PITON_LOCK_TIMEOUT_MS", "0").run().expect_code(0);
}

fn check_timeout(output: &Output, words: &[&str]) {
    assert_eq!(output.code, 6, "{words:?}\n{output}");
    let error = document(output);
    let message = error["error"]["message"].as_str().expect("an error has a message");
    let mut expected = vec!["/lock", "after 150 ms", "nothing was written", "Run the command again"];
    // Some systems do not say which process holds it.
    let holder = format!("still locked by process {} (", std::process::id());
    expected.push(if message.contains("by another piton") { "by another piton" } else { &holder });
    for part in expected {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(error["error"]["hints"][0], "piton doctor");
}

/// Runs piton with some calls of the system refused, and returns what it said.
fn refusing(sandbox: &Sandbox, strace: Strace, options: &[&str], words: &[&str]) -> Output {
    strace
        .follow(sandbox.piton(words.iter().copied()), "flock,linkat,rename,renameat,renameat2,read,openat2", options)
        .0
}

/// On a file system without locks every reader and writer gets an error, and nothing is changed.
#[test]
fn a_file_system_without_locks_is_named() {
    let Some(strace) = Strace::find() else { return };
    let sandbox = projects::ccw();
    let untouched = projects::foreign(&sandbox);
    let refused = |error: &str, cause: &str, words: &[&str]| {
        let output = refusing(&sandbox, strace, &["-e", &format!("inject=flock:error={error}")], words).expect_code(4);
        let answer = document(&output);
        let message = answer["error"]["message"].as_str().expect("an error has a message");
        for part in ["/lock cannot be locked", cause, "nothing was written", "file system", "support locks"] {
            assert!(message.contains(part), "{error}, {part}: {message}");
        }
        assert_eq!(answer["error"]["hints"][0], "piton doctor");
    };
    refused("ENOLCK", "(os error 37)", &["begin", "IMPL-002"]);
    assert_eq!(untouched.changes(&projects::foreign(&sandbox)), [""; 0]);
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    let before = sandbox.tree();
    for (error, cause) in [
        ("ENOLCK", "(os error 37)"),
        ("EOPNOTSUPP", "(os error 95)"),
        ("ENOSYS", "(os error 38)"),
        ("EIO", "(os error 5)"),
        ("EBADF", "(os error 9)"),
        ("ESTALE", "(os error 116)"),
    ] {
        for words in [&["finish", "IMPL-002"][..], &["plan"], &["restore", "--yes"]] {
            refused(error, cause, words);
        }
    }
    let doctor = refusing(&sandbox, strace, &["-e", "inject=flock:error=ENOLCK"], &["doctor"]).expect_code(1);
    assert!(doctor.stdout.contains("cannot be locked: No locks available"), "{doctor}");
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
    refusing(&sandbox, strace, &["-e", "inject=flock:error=EINTR:when=1..3"], &["finish", "IMPL-002"]).expect_code(0);
}

/// On a lost network share, or one without rename, nothing changes, and the error names the file.
#[test]
fn a_share_that_fails_leaves_the_state_as_it_was() {
    let Some(strace) = Strace::find() else { return };
    for (error, cause) in [("ESTALE", "(os error 116)"), ("EXDEV", "(os error 18)")] {
        let sandbox = projects::ccw();
        let before = projects::foreign(&sandbox);
        let option = format!("inject=rename,renameat,renameat2:error={error}");
        let output = refusing(&sandbox, strace, &["-e", &option], &["begin", "IMPL-002"]).expect_code(4);
        let message = document(&output)["error"]["message"].to_string();
        assert!(message.contains(".task/IMPL-002.json") && message.contains(cause), "{output}");
        assert_eq!(before.changes(&projects::foreign(&sandbox)), [""; 0], "{error}");
        sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    }
    let sandbox = projects::ccw();
    let before = sandbox.tree();
    let task = sandbox.root().join(TASK).into_string();
    let options = ["-P", &task, "-e", "inject=read:error=ESTALE"];
    let plan = refusing(&sandbox, strace, &options, &["plan"]);
    assert!(plan.stdout.contains("Stale file handle"), "{plan}");
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
    let begin = refusing(&sandbox, strace, &options, &["begin", "IMPL-002"]);
    assert!(![0, 70].contains(&begin.code), "{begin}");
    assert_eq!(before.without(".piton").changes(&projects::foreign(&sandbox)), [""; 0]);
}

/// The placeholder that a network share leaves for a removed file that is still open is not a state.
#[test]
fn names_that_a_network_share_leaves_are_nothing() {
    let sandbox = projects::ccw();
    sandbox.piton(["begin", "IMPL-002"]).run().expect_code(0);
    let plan = sandbox.piton(["plan"]).run().expect_code(0).stdout;
    for folder in ["", ".task/", ".summaries/"] {
        sandbox.file(&format!("{SESSION}/{folder}.nfs00000000018a2b1c00000042"), &sandbox.read(TASK));
    }
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).stdout, plan);
    sandbox.piton(["finish", "IMPL-002"]).run().expect_code(0);
    let history = sandbox.piton(["history"]).run().expect_code(0);
    assert_eq!(history.findings(), [""; 0]);
    sandbox.piton(["restore", "--yes"]).run().expect_code(0);
}
