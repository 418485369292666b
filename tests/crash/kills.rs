//! SIGKILL at every system call that writes.

use std::collections::BTreeSet;

use camino::Utf8Path;

use super::{Command, Scene, Story, ensure, is_left_out, sample, state_of, stories};
use crate::support::{self, Call, Program, Strace};

stories::each!(kill_everywhere);

#[test]
fn rollback_in_git() {
    kill_everywhere(stories::rollback_in_git());
}

/// Kills the command at its writes, at each with `PITON_TESTS=all`, each time in the same project after a reset.
fn kill_everywhere(story: Story) {
    let Some(strace) = Strace::find() else { return };
    if is_left_out(&story, 0) {
        return;
    }
    let scene = Scene::new(story);
    let moments = moments(&scene, strace);
    assert!(moments.len() > 4, "only {moments:?} were seen");
    let tried = sample(moments, scene.story.name.len());
    let mut problems = Vec::new();
    for (_, moment) in &tried {
        let output = strace.inject(scene.set_back().story.cut.on(&scene.sandbox), moment, "signal=SIGKILL");
        let is_killed = ensure(output.code == 137, || format!("not killed\n{output}"));
        problems.extend(is_killed.and_then(|()| scene.check()).err().map(|problem| format!("{moment}: {problem}")));
    }
    scene.conclude("crash points", tried.len(), &problems);
}

/// Lists the writes of the story's command.
pub(super) fn moments(scene: &Scene, strace: Strace) -> Vec<Call> {
    writes_of(scene.set_back().story.cut.on(&scene.sandbox), strace)
}

/// A change to three files is cut off, and so is the command that completes it.
#[test]
fn a_recovery_that_is_cut_off_is_recovered() {
    const PLAN: Command = Command::new(&["plan"]);
    let Some(strace) = Strace::find() else { return };
    let scene = Scene::new(stories::finish_ccw());
    let first = moments(&scene, strace);
    let published = first.iter().position(is_recorded).expect("it has a record");
    let (mut pairs, mut tried, mut problems) = (0, 0, Vec::new());
    for (turn, first) in support::sample(3, 0, first.iter().skip(published + 1).enumerate()) {
        let output = strace.inject(scene.set_back().story.cut.on(&scene.sandbox), first, "signal=SIGKILL");
        output.expect_code(137);
        let cut = scene.sandbox.everything();
        let seconds = writes_of(PLAN.on(&scene.sandbox), strace);
        pairs += seconds.len();
        for (_, second) in sample(seconds, turn) {
            scene.sandbox.put_back(&cut);
            strace.inject(PLAN.on(&scene.sandbox), &second, "signal=SIGKILL").expect_code(137);
            problems.extend(scene.check().err().map(|problem| format!("{first}, then {second}: {problem}")));
            tried += 1;
        }
    }
    assert!(pairs > if support::takes_all() { 40 } else { 10 }, "only {pairs} pairs");
    scene.conclude("kills in turn", tried, &problems);
}

/// S-3: between a kill and the next call another program changes one of the files. The others are finished, that one is left, and the plan
/// says so until it changes again.
#[test]
fn a_file_that_changed_before_the_recovery_is_left_and_named() {
    const FOLDER: &str = ".workflow/active/WFS-user-auth";
    let Some(strace) = Strace::find() else { return };
    let scene = Scene::new(stories::finish_ccw());
    let calls = moments(&scene, strace);
    let published = calls.iter().position(is_recorded).expect("it has a record");
    let (mut tried, mut problems) = (0, Vec::new());
    for moment in &calls[published + 1..] {
        for name in ["TODO_LIST.md", ".task/IMPL-002.json"] {
            strace.inject(scene.set_back().story.cut.on(&scene.sandbox), moment, "signal=SIGKILL").expect_code(137);
            let path = format!("{FOLDER}/{name}");
            let sandbox = &scene.sandbox;
            let is_staged = |other: &Utf8Path| other.as_str().starts_with(&staged_beside(&path));
            let is_pending = !sandbox.tree().only(is_staged).paths().is_empty();
            let foreign = sandbox.read(&path) + "\n";
            sandbox.file(&path, &foreign);
            let plan = sandbox.piton(["plan"]).run();
            let is_named = plan.findings().contains(&"change-cut-off".to_owned());
            let differs = scene.after.state.changes(&state_of(sandbox));
            tried += 1;
            let checked = ensure(is_named == is_pending, || format!("named: {is_named}, pending: {is_pending}"))
                .and_then(|()| ensure(differs == [format!("~ {path}")], || format!("not finished: {differs:?}")))
                .and_then(|()| ensure(sandbox.read(&path) == foreign, || "the file is not as it was left".to_owned()))
                .and_then(|()| {
                    let kept = sandbox.tree().only(|path| path.as_str().contains("/set-aside/change-")).paths();
                    ensure(kept.len() == usize::from(is_pending), || format!("kept: {kept:?}"))
                })
                .and_then(|()| {
                    sandbox.file(&path, &(foreign + "\n"));
                    let codes = sandbox.piton(["plan"]).run().findings();
                    ensure(!codes.contains(&"change-cut-off".to_owned()), || "it is said for ever".to_owned())
                });
            problems.extend(checked.err().map(|problem| format!("{moment}, {path}: {problem}")));
        }
    }
    assert!(tried > 10, "only {tried} moments");
    scene.conclude("foreign edits", tried, &problems);
}

/// Tells whether a call writes the record of a change, which commits it.
fn is_recorded(call: &Call) -> bool {
    call.name.starts_with("write") && call.rest.contains("journal.jsonl")
}

/// Returns what the name of the staged content of a file begins with.
fn staged_beside(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').expect("it is in a folder");
    format!("{folder}/.{name}.0.")
}

/// Lists the writes of the command as strace can find them again: by name and count. Several threads may come to the same.
pub(super) fn writes_of(program: Program<'_>, strace: Strace) -> Vec<Call> {
    let (output, mut calls) = strace.record(program, &["-y"]);
    output.expect_code(0);
    calls.retain(Call::is_write);
    let mut seen = BTreeSet::new();
    calls.retain(|call| seen.insert((call.name.clone(), call.count)));
    calls
}
