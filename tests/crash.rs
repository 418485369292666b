//! A kill at any moment: whatever call of the system it hits, the state is the old one or the new one, and work goes on at once.

use std::collections::BTreeSet;
use std::time::Duration;
use std::time::Instant;

use crate::cli::projects;
use crate::cli::projects::document;
use crate::support::Call;
use crate::support::Sandbox;
use crate::support::Strace;
use crate::support::Tree;
use crate::support::say;

/// No test of a kill takes longer, however slow the machine is; what is left out is said.
const BUDGET: Duration = Duration::from_secs(4);
const LEAST: usize = 8;

struct Story {
    project: fn() -> Sandbox,
    /// Happens before.
    before: &'static [&'static [&'static str]],
    /// Is killed.
    killed: &'static [&'static str],
    /// Works afterwards, whatever was there.
    then: &'static [&'static str],
    /// Whether that writes the same run, and so tidies up after the kill.
    is_same_run: bool,
}

#[test]
fn a_begin_in_one_file_is_whole() {
    kill_everywhere(&Story {
        project: projects::nine_step,
        before: &[],
        killed: &["begin", "2:3"],
        then: &["begin", "2:3"],
        is_same_run: true,
    });
}

#[test]
fn a_finish_in_three_files_is_whole() {
    kill_everywhere(&Story {
        project: projects::ccw,
        before: &[&["begin", "IMPL-002"]],
        killed: &["finish", "IMPL-002", "--summary", "tokens"],
        then: &["finish", "IMPL-002", "--summary", "tokens"],
        is_same_run: true,
    });
}

#[test]
fn an_archive_is_whole() {
    kill_everywhere(&Story {
        project: projects::nine_step,
        before: &[],
        killed: &["archive", "--yes"],
        then: &["start", "nine-step", "--feature", "user-auth", "--archive"],
        is_same_run: false,
    });
}

#[test]
fn a_restore_is_whole() {
    kill_everywhere(&Story {
        project: projects::ccw,
        before: &[&["begin", "IMPL-002"], &["finish", "IMPL-002"]],
        killed: &["restore", "--yes"],
        then: &["restore", "--to", "000001", "--yes"],
        is_same_run: true,
    });
}

#[test]
fn a_resume_is_whole() {
    kill_everywhere(&Story {
        project: projects::ccw,
        before: &[],
        killed: &["resume", "--yes"],
        then: &["begin", "IMPL-002"],
        is_same_run: true,
    });
}

/// A session, the list of archived sessions and the place of the folder change one after the other: what a kill leaves undone, the
/// next archive does.
#[test]
fn an_archive_with_a_list_is_finished_by_the_next() {
    let Some(strace) = Strace::find() else { return };
    let archive: &[&str] = &["archive", "WFS-user-auth", "--yes"];
    let moments = writes_of(&projects::ccw(), strace, archive);
    assert!(moments.len() > LEAST, "only {moments:?} were seen");
    let started = Instant::now();
    let mut kills = 0;
    for moment in spread(moments.len()).map(|at| &moments[at]) {
        if started.elapsed() > BUDGET && kills >= LEAST {
            break;
        }
        let sandbox = projects::ccw();
        if killed_at(&sandbox, strace, moment, archive) {
            kills += 1;
            sandbox.piton(archive.iter().copied()).run().expect_code(0);
            let list = sandbox.read_json(".workflow/archives/manifest.json");
            let ids: Vec<_> = list.as_array().unwrap().iter().map(|entry| &entry["session_id"]).collect();
            assert_eq!(ids, ["WFS-user-auth"], "killed at {moment}");
            assert!(sandbox.exists(".workflow/archives/WFS-user-auth/workflow-session.json"), "killed at {moment}");
            assert!(!sandbox.exists(projects::SESSION), "killed at {moment}");
        }
    }
    assert!(kills >= LEAST, "only {kills} kills");
}

/// Kills the same call at each of its writes, each time in a fresh project. The moments are spread, so that those that a slow
/// machine leaves out are not all at the end.
fn kill_everywhere(story: &Story) {
    let Some(strace) = Strace::find() else { return };
    let (old, new) = (prepared(story), prepared(story));
    let moments = writes_of(&new, strace, story.killed);
    assert!(moments.len() > LEAST, "only {moments:?} were seen");
    let (old, new) = (projects::foreign(&old), projects::foreign(&new));
    let started = Instant::now();
    let mut kills = 0;
    for moment in spread(moments.len()).map(|at| &moments[at]) {
        if started.elapsed() > BUDGET && kills >= LEAST {
            say(&format!("{:?}: time was up after {kills} of {} moments", story.killed, moments.len()));
            break;
        }
        let sandbox = prepared(story);
        if killed_at(&sandbox, strace, moment, story.killed) {
            kills += 1;
            check(story, &sandbox, &old, &new, moment);
        }
    }
    assert!(kills >= LEAST, "only {kills} kills");
}

/// Orders the numbers below `count` so that every part of the range is met early.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    let divides_both =
        |step: &usize| (2..=*step).any(|divisor| step.is_multiple_of(divisor) && count.is_multiple_of(divisor));
    let step = (1..=count * 5 / 8).rev().find(|step| !divides_both(step)).unwrap_or(1);
    (0..count).map(move |turn| turn * step % count)
}

/// Runs the call to its end and lists its writes. Two threads may make the same one of a name; strace meets the first.
fn writes_of(sandbox: &Sandbox, strace: Strace, words: &[&str]) -> Vec<Call> {
    let (output, mut calls) = strace.record(sandbox.piton(words.iter().copied()), &[]);
    output.expect_code(0);
    calls.retain(Call::is_write);
    let mut seen = BTreeSet::new();
    calls.retain(|call| seen.insert((call.name.clone(), call.count)));
    calls
}

fn prepared(story: &Story) -> Sandbox {
    let sandbox = (story.project)();
    for words in story.before {
        sandbox.piton(words.iter().copied()).run().expect_code(0);
    }
    sandbox
}

/// Runs the call and kills it at a write; tells whether it came so far.
fn killed_at(sandbox: &Sandbox, strace: Strace, moment: &Call, words: &[&str]) -> bool {
    let output = strace.inject(sandbox.piton(words.iter().copied()), moment, "signal=SIGKILL");
    match output.code {
        0 => false,
        137 => true,
        _ => panic!("neither done nor killed\n{output}"),
    }
}

fn check(story: &Story, sandbox: &Sandbox, old: &Tree, new: &Tree, moment: &Call) {
    let what = format!("{:?} killed at {moment}", story.killed);
    // Reading finishes or drops what was left; a run that is put away is found no more.
    let plan = sandbox.piton(["plan"]).run();
    document(&plan);
    assert!([0, 3, 9].contains(&plan.code), "{what}\n{plan}");
    let valid = sandbox.piton(["validate"]).run();
    assert!([0, 3].contains(&valid.code), "{what}\n{valid}");
    let now = projects::foreign(sandbox);
    let differs = |from: &Tree| -> Vec<String> {
        let is_state = |change: &String| !change.ends_with(".piton-tmp") && !change.ends_with(".backup");
        from.changes(&now).into_iter().filter(is_state).collect()
    };
    assert!(differs(old).is_empty() || differs(new).is_empty(), "{what}: {:?} and {:?}", differs(old), differs(new));
    let next = sandbox.piton(story.then.iter().copied()).run();
    assert!([0, 1].contains(&next.code), "{what}\n{next}");
    let again = sandbox.piton(["plan"]).run();
    assert!([0, 9].contains(&again.code), "{what}\n{again}");
    let left: Vec<String> = Sandbox::new().tree().changes(&sandbox.tree());
    let is_unfinished = |path: &&String| path.ends_with(".piton-tmp") || path.ends_with("txn/pending");
    let left: Vec<&String> = left.iter().filter(is_unfinished).collect();
    assert!(left.is_empty() || next.code == 1 || !story.is_same_run, "{what}: {left:?}");
}
