use std::time::Duration;

use camino::Utf8PathBuf;

use super::{ChildExit, Job, Signals, Stream, Watcher, run};

#[derive(Default)]
struct Log {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl Watcher for Log {
    fn printed(&mut self, stream: Stream, bytes: &[u8]) {
        match stream {
            Stream::Stdout => self.stdout.extend_from_slice(bytes),
            Stream::Stderr => self.stderr.extend_from_slice(bytes),
        }
    }
}

fn job(script: &str) -> Job {
    Job {
        words: ["/bin/sh", "-c", script].map(str::to_owned).to_vec(),
        folder: Utf8PathBuf::from("/"),
        env: vec![("GREETING".to_owned(), "hello; exit 9".to_owned())],
        timeout: None,
        grace: Duration::from_secs(30),
        keep: 1 << 20,
    }
}

fn ran(job: &Job) -> (ChildExit, Log) {
    let mut log = Log::default();
    let ended = run(job, &Signals::listen().unwrap(), &mut log).unwrap();
    (ended, log)
}

#[test]
fn both_streams_and_the_code_come_back() {
    let (ended, log) = ran(&job("printf out; printf err >&2; exit 3"));
    assert_eq!((ended.code, ended.signal, ended.timed_out, ended.stop), (Some(3), None, false, None));
    assert_eq!((ended.stdout.as_slice(), ended.stderr.as_slice()), (&b"out"[..], &b"err"[..]));
    assert_eq!((log.stdout, log.stderr), (ended.stdout, ended.stderr));
}

#[test]
fn a_value_in_the_environment_is_never_code() {
    assert_eq!(ran(&job("printf %s \"$GREETING\"")).0.stdout, b"hello; exit 9");
}

#[test]
fn nothing_can_be_read_from_the_terminal() {
    assert_eq!(ran(&job("read line || printf end")).0.stdout, b"end");
}

#[test]
fn more_than_is_kept_is_still_passed_on() {
    let (ended, log) = ran(&Job { keep: 1_000, ..job("head -c 300000 /dev/zero") });
    assert_eq!((ended.stdout.len(), ended.is_cut, log.stdout.len()), (1_000, true, 300_000));
}

#[test]
fn a_child_leads_a_group_of_its_own() {
    let (ended, _) = ran(&job("echo $$; cut -d' ' -f5 /proc/$$/stat"));
    let shown = String::from_utf8(ended.stdout).unwrap();
    let (pid, group) = shown.trim().split_once('\n').unwrap();
    assert_eq!(pid, group);
}

#[test]
fn the_end_of_its_time_ends_the_group() {
    let (ended, _) = ran(&Job { timeout: Some(Duration::from_millis(50)), ..job("sleep 600") });
    assert_eq!((ended.timed_out, ended.signal), (true, Some(15)));
}

/// The shell ends at TERM, and what it called cleans up.
const CLEANS_UP: &str = "(trap 'sleep 0.1; echo cleaned; exit' TERM; echo ready; sleep 600 & wait) && true";

#[test]
fn the_whole_group_has_its_time_to_end() {
    let late = Job { timeout: Some(Duration::from_millis(200)), ..job(CLEANS_UP) };
    let (ended, _) = ran(&late);
    assert_eq!((ended.timed_out, ended.signal, ended.stdout.as_slice()), (true, Some(15), &b"ready\ncleaned\n"[..]));
    let deaf = Job { grace: Duration::from_millis(50), ..late };
    let deaf = Job { words: job(&CLEANS_UP.replace("0.1", "600")).words, ..deaf };
    let (ended, _) = ran(&deaf);
    assert_eq!(ended.stdout, b"ready\n", "what outlasts its time is killed");
}

#[test]
fn who_does_not_listen_is_killed() {
    let deaf = job("trap '' TERM; while :; do sleep 600; done");
    let (ended, _) = ran(&Job { timeout: Some(Duration::from_millis(50)), grace: Duration::from_millis(50), ..deaf });
    assert_eq!((ended.timed_out, ended.signal), (true, Some(9)));
}

#[test]
fn what_stays_in_the_background_is_not_waited_for() {
    let (ended, _) = ran(&job("sleep 600 & printf %s $!"));
    assert_eq!(ended.code, Some(0));
    let left = String::from_utf8(ended.stdout).unwrap();
    let (gone, _) = ran(&job(&format!("kill -9 {left}")));
    assert_eq!(gone.code, Some(0), "it was still at work");
}

#[test]
fn a_program_that_is_not_there_is_an_error() {
    let missing = Job { words: vec!["/nowhere/to/be/found".to_owned()], ..job("") };
    assert!(run(&missing, &Signals::listen().unwrap(), &mut Log::default()).is_err());
}

#[test]
fn a_flood_does_not_outlast_its_time() {
    let (ended, _) = ran(&Job { timeout: Some(Duration::from_millis(50)), keep: 10, ..job("yes") });
    assert_eq!((ended.timed_out, ended.signal, ended.is_cut), (true, Some(15), true));
}
