//! A git process that starts no other program, asks nothing, and ends in time.

use std::{
    io::{self, Read as _},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use camino::Utf8Path;

use crate::store::fs::{path::problem_of, surroundings::program, unread::note};

/// Time after which a git process is killed.
const TIME_LIMIT: Duration = Duration::from_secs(5);

/// Variables that a git hook or alias may set and that would change the queries.
pub(super) const REMOVED: [&str; 9] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
    "GIT_TRACE",
];

/// Overrides settings of a repository that would make a query start a program, or query another repository. Filters have
/// arbitrary names: see [`super::git_filters`].
const SETTINGS: [&str; 5] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "log.showSignature=false",
    "protocol.allow=never",
    // A folder of the project that looks like a bare repository is not one (git-config(1), safe.bareRepository).
    "safe.bareRepository=explicit",
];

pub(super) fn command(worktree: &Utf8Path) -> Command {
    let mut command = program("git");
    command.arg("-C").arg(worktree).arg("--no-pager");
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    for name in REMOVED {
        command.env_remove(name);
    }
    command
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_NO_LAZY_FETCH", "1")
        // Overrides every `protocol.*.allow` of a repository, for versions of git without GIT_NO_LAZY_FETCH.
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

/// Returns what a command prints; `None` if it fails, is not done in time, or prints more than `limit` bytes.
pub(super) fn output(command: &mut Command, limit: u64) -> Option<Vec<u8>> {
    let (printed, is_success) = ask(start(command)?, move |_, stdout| {
        let mut bytes = Vec::new();
        stdout.take(limit + 1).read_to_end(&mut bytes).map(|_| bytes)
    })?;
    printed.ok().filter(|bytes| is_success && bytes.len() as u64 <= limit)
}

/// Returns git as a started process; `None` if it is not installed. Any other failure is noted: what it would have answered is unknown.
pub(super) fn start(command: &mut Command) -> Option<Child> {
    let note_failure = |error: &io::Error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {}
        _ => note(Utf8Path::new("git"), problem_of(error)),
    };
    command.spawn().inspect_err(note_failure).ok()
}

/// Talks to a child process on a separate thread and kills it after the time limit.
pub(super) fn ask<T: Send + 'static>(
    child: Child,
    question: impl FnOnce(Option<ChildStdin>, ChildStdout) -> T + Send + 'static,
) -> Option<(T, bool)> {
    ask_within(TIME_LIMIT, child, question)
}

/// As [`ask`], with its own time limit.
pub(super) fn ask_within<T: Send + 'static>(
    limit: Duration,
    mut child: Child,
    question: impl FnOnce(Option<ChildStdin>, ChildStdout) -> T + Send + 'static,
) -> Option<(T, bool)> {
    let (stdin, stdout) = (child.stdin.take(), child.stdout.take()?);
    let (answer, answered) = mpsc::channel();
    thread::spawn(move || answer.send(question(stdin, stdout)));
    let answer = answered.recv_timeout(limit).ok();
    if answer.is_none() {
        let _ = child.kill();
    }
    let is_success = child.wait().is_ok_and(|status| status.success());
    answer.map(|answer| (answer, is_success))
}
