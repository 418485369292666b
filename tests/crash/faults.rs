//! A failing system call at every write: a clear error and the old state, or the new state if the call did not
//! matter.

use super::{Scene, Shape, Story, ensure, is_answer, is_left_out, kills, leftovers, sample, state_of, stories};
use crate::support::{Call, Output, Strace, takes_all};

stories::each!(refuse_everywhere);

/// Makes writes of the command fail. Each gets one of its possible errors in turn; with `PITON_TESTS=all` every
/// write gets all of them.
fn refuse_everywhere(story: Story) {
    let Some(strace) = Strace::find() else { return };
    if is_left_out(&story, 1) {
        return;
    }
    let scene = Scene::new(story);
    let (mut tried, mut problems) = (0, Vec::new());
    for (at, moment) in &sample(kills::moments(&scene, strace), scene.story.name.len() + 1) {
        let errors = errors_of(moment);
        let taken = if takes_all() { errors } else { std::slice::from_ref(&errors[at % errors.len()]) };
        for error in taken {
            let output =
                strace.inject(scene.set_back().story.cut.on(&scene.sandbox), moment, &format!("error={error}"));
            let checked = check(&scene, is_print(moment), &output).and_then(|()| scene.check());
            problems.extend(checked.err().map(|problem| format!("{error} at {moment}: {problem}\n{output}")));
            tried += 1;
        }
    }
    scene.conclude("faults", tried, &problems);
}

/// Returns the possible errors of a call (from the manual pages, and those that file systems with late allocation, quotas or a server
/// behind them add).
fn errors_of(call: &Call) -> &'static [&'static str] {
    match call.name.as_str() {
        "open" | "openat" => &["ENOSPC", "EIO", "EDQUOT", "EROFS", "EINTR"],
        "write" | "writev" | "pwrite64" if is_print(call) => &["ENOSPC", "EIO", "EINTR"],
        "write" | "writev" | "pwrite64" => &["ENOSPC", "EIO", "EDQUOT", "EINTR"],
        // A file system that cannot flush returns EINVAL.
        "fsync" | "fdatasync" => &["EIO", "EINVAL", "ENOSPC", "EDQUOT", "EINTR"],
        "ftruncate" | "fallocate" => &["EIO", "ENOSPC", "EINTR"],
        "flock" => &["ENOLCK", "EINTR", "EIO"],
        _ => &["ENOSPC", "EROFS", "EIO", "EDQUOT"],
    }
}

/// Tells whether a call prints something.
fn is_print(call: &Call) -> bool {
    call.name == "write" && (call.rest.starts_with("1<") || call.rest.starts_with("2<"))
}

/// Checks that an error keeps the old state and says what to do, and that success is the new state.
pub(super) fn check(scene: &Scene, is_print: bool, output: &Output) -> Result<(), String> {
    ensure(is_answer(output), || "no answer".to_owned())?;
    let state = state_of(&scene.sandbox);
    let from_before = scene.before.state.changes(&state);
    let from_after = scene.after.state.changes(&state);
    let left = leftovers(&scene.sandbox);
    match (scene.story.shape, output.code) {
        // The work is done; only its result could not be printed.
        (Shape::Whole, code) if code == 0 || is_print => {
            ensure(from_after.is_empty(), || format!("done, it says: {from_after:?}"))
        }
        (Shape::Whole, _) => {
            ensure(from_before.is_empty(), || format!("refused, it says: {from_before:?}"))?;
            ensure(left.is_empty(), || format!("leftover: {left:?}"))?;
            check_words(scene, output)
        }
        (Shape::InTurn, 0) => ensure(from_after.is_empty(), || format!("done, it says: {from_after:?}")),
        (Shape::InTurn, _) if is_print => Ok(()),
        (Shape::InTurn, _) => check_words(scene, output),
        (Shape::Notes, code) => ensure(code == 0, || "a hook never fails".to_owned()),
    }
}

/// Checks that an error says where it happened, and what to do. A runner names files of the project by their short paths.
fn check_words(scene: &Scene, output: &Output) -> Result<(), String> {
    let (message, has_hint) = if output.stdout.starts_with('{') {
        let hints = output.at("/error/hints").as_array().is_some_and(|hints| !hints.is_empty());
        (output.at("/error/message").to_string(), hints)
    } else {
        (output.stderr.clone(), output.stderr.contains("\n→ "))
    };
    let is_named = |path: &String| message.contains(&format!(": {path}: "));
    let has_place =
        message.contains("$ROOT") || message.contains("$HOME") || scene.after.state.paths().iter().any(is_named);
    ensure(has_place, || "the error names no place".to_owned())?;
    ensure(has_hint, || "the error says no next command".to_owned())
}

/// S-4: the folder of a session cannot be renamed over the border of a file system, nor out of the lower layer of an overlay.
#[test]
fn a_folder_on_another_file_system_is_copied() {
    let Some(strace) = Strace::find() else { return };
    let scene = Scene::new(stories::archive_ccw());
    let calls = kills::moments(&scene, strace);
    let is_move = |call: &&Call| call.name.starts_with("rename") && call.rest.contains(", \"WFS-user-auth\"");
    let last = calls.iter().find(is_move).expect("the folder is moved");
    let output = strace.inject(scene.set_back().story.cut.on(&scene.sandbox), last, "error=EXDEV");
    assert_eq!(output.code, 0, "{output}");
    assert_eq!(scene.after.state.changes(&state_of(&scene.sandbox)), [] as [&str; 0]);
    scene.check().expect("as after a rename");
    // Where it cannot be moved at all, the list of archives does not name it, and the session is as it was.
    let output = strace.inject(scene.set_back().story.cut.on(&scene.sandbox), last, "error=EACCES");
    assert_eq!(output.code, 4, "{output}");
    let differs = scene.before.state.changes(&state_of(&scene.sandbox));
    assert!(differs.iter().all(|path| path.ends_with(".workflow/archives")), "{differs:?}");
}
