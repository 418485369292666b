use std::fs;

use camino::Utf8Path;

use super::{LOGS_LIMIT, SessionLog, caller, driven_run, events_since_write, held_runs, start_event};
use crate::{
    model::{RunFolder, SessionEvent, Uid},
    store::{
        Caller, Environment, local,
        testing::{Scratch, clock, rel},
    },
};

fn environment(session: &str) -> Environment {
    Environment { session: Some(session.to_owned()), is_agent: true, ..Environment::default() }
}

fn prompt() -> SessionEvent {
    SessionEvent::Prompt
}

fn drives(scratch: &Scratch) -> SessionEvent {
    SessionEvent::Drives(driven_run(&scratch.root, &scratch.root, &scratch.own(), &rel("run/state.json")))
}

fn sessions(scratch: &Scratch) -> [RunFolder; 1] {
    [RunFolder { path: rel("sessions"), ..scratch.own() }]
}

#[test]
fn nothing_is_noted_before_a_log_is_begun() {
    let scratch = Scratch::new();
    let log = SessionLog::of(&sessions(&scratch), "s");
    log.note(clock().now, prompt()).unwrap();
    assert!(!log.exists() && scratch.files("").is_empty());
    log.begin(clock().now, prompt()).unwrap();
    log.note(clock().now, prompt()).unwrap();
    assert_eq!(log.events().len(), 2);
    assert_eq!(SessionLog::of(&sessions(&scratch), "another").events(), []);
}

#[test]
fn what_hooks_write_outside_of_a_sandbox_is_read_in_it() {
    let scratch = Scratch::new();
    let [outside] = sessions(&scratch);
    let inside = RunFolder { path: rel("inside"), ..outside.clone() };
    let folders = [outside.clone(), inside.clone()];
    let (hook, command) = (SessionLog::of(&folders, "s"), SessionLog::of(&[inside, outside], "s"));
    let later = |seconds| clock().now.plus_seconds(seconds);
    hook.begin(later(0), prompt()).unwrap();
    command.note(later(1), prompt()).unwrap();
    assert_eq!(command.events().len(), 1, "a note begins no log");
    command.begin(later(1), prompt()).unwrap();
    hook.note(later(2), prompt()).unwrap();
    let at = |log: &SessionLog| log.events().iter().map(|line| line.at).collect::<Vec<_>>();
    assert_eq!((at(&hook), at(&command)), (vec![later(0), later(1), later(2)], vec![later(0), later(1), later(2)]));
}

#[test]
fn torn_and_foreign_lines_are_skipped() {
    let scratch = Scratch::new();
    let log = SessionLog::of(&sessions(&scratch), "s");
    log.begin(clock().now, prompt()).unwrap();
    let path = log.folders[0].absolute().join(&log.name);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{{\"at\":\"x\"}}\n{{\"event\":\"later\"}}\n\n{text}{{\"at\":\"2026")).unwrap();
    log.note(clock().now, prompt()).unwrap();
    assert_eq!(log.events().len(), 2);
}

#[test]
fn only_the_newest_logs_stay() {
    let scratch = Scratch::new();
    for session in 0..LOGS_LIMIT + 5 {
        let log = SessionLog::of(&sessions(&scratch), &session.to_string());
        log.begin(clock().now, prompt()).unwrap();
        let file = fs::File::options().write(true).open(log.folders[0].absolute().join(&log.name)).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(session as u64)).unwrap();
    }
    let logs = scratch.files(".piton/sessions");
    assert_eq!(logs.len(), LOGS_LIMIT);
    assert!(!SessionLog::of(&sessions(&scratch), "4").exists() && SessionLog::of(&sessions(&scratch), "5").exists());
}

#[test]
fn the_owner_is_the_process_that_the_client_named() {
    let scratch = Scratch::new();
    let environment = environment("s");
    let plain = caller(&sessions(&scratch), &environment);
    assert!(!plain.is_client && plain == Caller::find(&environment));

    let log = SessionLog::of(&sessions(&scratch), "s");
    let mut client = plain.clone();
    client.owner = *plain.ancestors.last().unwrap();
    log.begin(clock().now, start_event(&client, "startup")).unwrap();
    let gone = SessionEvent::Start { source: "resume".to_owned(), pid: 4_194_305, process_start: Some(1) };
    log.note(clock().now, gone).unwrap();
    let found = caller(&sessions(&scratch), &environment);
    assert_eq!(
        (found.owner, found.is_client),
        (client.owner, true),
        "not the last one said, but one that it descends from"
    );
}

#[test]
fn a_session_holds_what_its_leases_say() {
    let scratch = Scratch::new();
    let log = SessionLog::of(&sessions(&scratch), "s");
    let me = caller(&sessions(&scratch), &environment("s"));
    let lock = scratch.lock();
    local::take(&lock, clock(), (&me, Uid::new([7; 16])), "begin").unwrap();
    log.begin(clock().now, drives(&scratch)).unwrap();
    log.note(clock().now, drives(&scratch)).unwrap();
    let mut elsewhere =
        driven_run(&scratch.root, Utf8Path::new("/elsewhere/wt"), &scratch.own(), &rel("run/state.json"));
    assert_eq!(elsewhere.worktree.as_deref(), Some("wt"));
    log.note(clock().now, SessionEvent::Drives(elsewhere.clone())).unwrap();
    elsewhere.folder = rel("runs/ccw.other");
    log.note(clock().now, SessionEvent::Drives(elsewhere)).unwrap();

    let homes = [scratch.own().home];
    let runs = held_runs(&scratch.root, &[], &homes, "s", &log.events());
    assert_eq!(runs.len(), 1, "each once, and only where the lease is: {runs:?}");
    assert!(held_runs(&scratch.root, &[], &homes, "another", &log.events()).is_empty());
}

#[test]
fn what_was_told_before_the_last_write_is_settled() {
    let scratch = Scratch::new();
    let log = SessionLog::of(&sessions(&scratch), "s");
    let lock = scratch.lock();
    let me = caller(&sessions(&scratch), &environment("s"));
    local::take(&lock, clock(), (&me, Uid::new([7; 16])), "begin").unwrap();
    let run = driven_run(&scratch.root, &scratch.root, &scratch.own(), &rel("run/state.json"));
    let local = local::read(&scratch.own());
    let unseen = || events_since_write(&sessions(&scratch), &local, &run).unwrap().len();
    log.begin(clock().now, prompt()).unwrap();
    assert_eq!(unseen(), 1, "by the time of the lease, where no write is noted");
    log.note(clock().now, drives(&scratch)).unwrap();
    assert_eq!(unseen(), 0);
    log.note(clock().now, prompt()).unwrap();
    assert_eq!(unseen(), 1);
}
