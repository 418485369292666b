//! Faults that strace cannot inject: short writes, and one of several concurrent flushes. A small library between the
//! program and libc injects them, if there is a C compiler.

use std::path::Path;

use camino::Utf8PathBuf;

use super::{Scene, ensure, faults, stories};
use crate::support::{self, Output, say};

/// The system takes the first half of a write and the rest with the next one: the result is the same.
#[test]
fn short_writes_are_gone_on_with() {
    everywhere("short writes", "write", "short", |scene, output| {
        ensure(output.code == 0, || "a short write is no failure".to_owned())?;
        faults::check(scene, false, output)
    });
}

#[test]
fn truncated_writes_are_not_a_state() {
    everywhere("truncated writes", "write", "truncated", |_, output| is_killed(output));
}

/// The disk is full after half of a write.
#[test]
fn a_disk_that_is_full_keeps_the_old_state() {
    everywhere("full disks", "write", "full", |scene, output| faults::check(scene, false, output));
}

#[test]
fn a_flush_that_fails_is_no_checkpoint() {
    everywhere("failed flushes", "fsync", "fail", |scene, output| faults::check(scene, false, output));
}

#[test]
fn a_kill_in_one_of_several_flushes_is_whole() {
    everywhere("lost flushes", "fsync", "kill", |_, output| is_killed(output));
}

fn is_killed(output: &Output) -> Result<(), String> {
    ensure(output.code == 137, || "not killed".to_owned())
}

/// Injects a fault into each call of a kind in stories that write in different ways.
fn everywhere(what: &str, call: &str, does: &str, check: fn(&Scene, &Output) -> Result<(), String>) {
    let stories = [stories::finish_ccw as fn() -> _, stories::begin_in_a_session, stories::aios, stories::run];
    for story in support::sample(4, what.len(), stories) {
        let scene = Scene::new(story());
        let Some(library) = library(&scene) else { return };
        let hit = scene.sandbox.top().join("hit");
        let (mut at, mut problems) = (1, Vec::new());
        loop {
            let program = scene.set_back().story.cut.on(&scene.sandbox);
            let program = program.env("LD_PRELOAD", library.as_str()).env("SHIM_CALL", call).env("SHIM_DOES", does);
            let output = program.env("SHIM_AT", &at.to_string()).env("SHIM_HIT", hit.as_str()).run();
            if std::fs::remove_file(&hit).is_err() {
                break;
            }
            let checked = check(&scene, &output).and_then(|()| scene.check());
            problems.extend(checked.err().map(|problem| format!("{what}, {call} {at}: {problem}\n{output}")));
            at += 1;
        }
        assert!(at > 2, "{}: the library saw no {call}", scene.story.name);
        scene.conclude(what, at - 1, &problems);
    }
}

/// Compiles the library; prints a message without a compiler.
fn library(scene: &Scene) -> Option<Utf8PathBuf> {
    if cfg!(target_feature = "crt-static") {
        say("skipped: nothing comes between a program and the libc that is part of it");
        return None;
    }
    let Some(compiler) = ["/usr/bin/cc", "/usr/local/bin/cc"].map(Path::new).into_iter().find(|path| path.exists())
    else {
        say("skipped: there is no compiler for the library between the program and libc");
        return None;
    };
    let source = support::repository().join("tests/crash/shim.c");
    let library = scene.sandbox.top().join("bin/shim.so");
    let words = ["-shared", "-fPIC", "-o", library.as_str(), source.as_str(), "-ldl"];
    let output = support::run_tool(compiler, &words, &[("PATH", "/usr/bin:/bin")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(library)
}
