use std::fs;

use super::{Lease, inspect, inspect_by, merge_owners, owner_by_lease, refresh, release, take};
use crate::{
    model::{Clock, Owner, OwnerProcess},
    store::{
        Environment,
        fs::process::Process,
        owner::caller::Caller,
        testing::{Scratch, clock, time},
    },
};

fn caller() -> Caller {
    Caller::find(&Environment { session: Some("mine".to_owned()), ..Environment::default() })
}

/// Held by process 1, which lives as long as this machine and is not a session of this test.
fn foreign(caller: &Caller) -> Lease {
    Lease {
        session: Some("theirs".to_owned()),
        pid: 1,
        process_start: crate::store::fs::process::start_of(1),
        boot_id: caller.boot_id.clone(),
        host: caller.host.clone(),
        strict: false,
        command: "piton begin 2:4".to_owned(),
        taken_at: time("2026-01-31T11:00:00Z"),
        heartbeat: time("2026-01-31T11:50:00Z"),
        is_client: false,
        is_idle: false,
    }
}

fn later(seconds: i64) -> Clock {
    Clock { now: clock().now.plus_seconds(seconds), utc_offset_seconds: 0 }
}

type Case<'a> = (&'a str, &'a dyn Fn(&mut Lease), i64, &'a Owner);

#[test]
fn leases_are_judged_by_who_and_whether_alive() {
    let mut me = caller();
    // Process 1 is everybody's ancestor; here it stands for another process.
    me.ancestors.retain(|ancestor| ancestor.pid != 1);
    let live = Owner::Live {
        description: "session theirs, process 1 (`piton begin 2:4`), last seen at 2026-01-31T11:50:00Z".to_owned(),
    };
    let live_elsewhere = Owner::Live {
        description:
            "session theirs, process 1 on host far-away (`piton begin 2:4`), last seen at 2026-01-31T11:50:00Z"
                .to_owned(),
    };
    let dead = Owner::Dead { since: Some(time("2026-01-31T11:50:00Z")), session: Some("theirs".to_owned()) };
    let elsewhere = |lease: &mut Lease| lease.host = "far-away".to_owned();
    let cases: [Case<'_>; 12] = [
        ("a living process, however old its heartbeat", &|_| {}, 999_999, &live),
        ("a number that came back", &|lease| lease.process_start = Some(7), 0, &dead),
        ("a process that ended", &|lease| lease.pid = 4_194_305, 0, &dead),
        ("another start of this machine", &|lease| lease.boot_id = Some("x".to_owned()), 0, &dead),
        ("only the number is known, and it is fresh", &|lease| lease.process_start = None, 0, &live),
        ("only the number is known, and it is old", &|lease| lease.process_start = None, 999, &dead),
        ("another host, fresh", &elsewhere, 300, &live_elsewhere),
        ("another host, too old", &elsewhere, 301, &dead),
        ("another host, far in the future", &elsewhere, -1_501, &dead),
        ("the same session", &|lease| lease.session = Some("mine".to_owned()), 0, &Owner::Ours),
        ("a living process that is_idle", &|lease| lease.is_idle = true, 0, &dead),
        (
            "our session, at rest",
            &|lease| (lease.session, lease.is_idle) = (Some("mine".to_owned()), true),
            0,
            &Owner::Ours,
        ),
    ];
    for (name, alter, seconds, expected) in cases {
        let mut lease = foreign(&me);
        alter(&mut lease);
        assert_eq!(owner_by_lease(&lease, later(seconds), &me), *expected, "{name}");
    }
}

#[test]
fn a_session_that_is_open_twice_is_two() {
    let mut me = caller();
    me.ancestors.retain(|ancestor| ancestor.pid != 1);
    let mut lease = Lease { session: Some("mine".to_owned()), is_client: true, ..foreign(&me) };
    assert_eq!(owner_by_lease(&lease, clock(), &me), Owner::Ours, "the caller is no client");
    me.is_agent = true;
    assert!(matches!(owner_by_lease(&lease, clock(), &me), Owner::Live { .. }), "the other client lives");
    lease.is_idle = true;
    assert_eq!(owner_by_lease(&lease, clock(), &me), Owner::Ours, "it is idle");
    lease = Lease { is_idle: false, pid: 4_194_305, ..lease };
    assert_eq!(owner_by_lease(&lease, clock(), &me), Owner::Ours, "it is gone, and the session was taken up again");
}

#[test]
fn an_ancestor_is_ours_even_without_a_session() {
    let me = Caller::find(&Environment::default());
    let mut lease = foreign(&me);
    lease.session = None;
    let Process { pid, start } = me.owner;
    (lease.pid, lease.process_start) = (pid, start);
    assert_eq!(owner_by_lease(&lease, clock(), &me), Owner::Ours);
}

#[test]
fn a_strict_lease_is_that_of_one_process_only() {
    let environment = Environment { session: Some("mine".to_owned()), ..Environment::default() };
    let me = Caller::this_process(&environment);
    let scratch = Scratch::new();
    let lock = scratch.lock();
    take(&lock, clock(), &me, "run").unwrap();
    let look = || inspect(&scratch.own(), clock(), &environment);
    let Owner::Live { description } = look() else { panic!("{:?}", look()) };
    assert!(description.starts_with(&format!("process {} on host {}", std::process::id(), me.host)), "{description}");
    assert_eq!(inspect_by(&lock, clock(), &me), Owner::Ours);
    // A call that a step makes descends from the holder, and drives nothing.
    let mut child = Caller::find(&environment);
    child.ancestors.insert(0, me.owner);
    assert!(matches!(inspect_by(&lock, clock(), &child), Owner::Live { .. }));
    release(&lock, clock(), &child).unwrap();
    assert!(refresh(&lock, later(61), &me).unwrap());
    release(&lock, clock(), &me).unwrap();
    assert_eq!(look(), Owner::None);
}

#[test]
fn a_torn_lease_blocks_nobody() {
    let scratch = Scratch::new();
    let environment = Environment::default();
    let look = || inspect(&scratch.own(), clock(), &environment);
    assert_eq!(look(), Owner::None);
    let lock = scratch.lock();
    assert_eq!(look(), Owner::None);
    take(&lock, clock(), &caller(), "begin").unwrap();
    let path = scratch.root.join(".piton/runs/ccw.run/lease.json");
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len(), 1_024);
    for torn in [&whole[..0], &whole[..40], &[b'x'; 100_000][..]] {
        fs::write(&path, torn).unwrap();
        assert_eq!(look(), Owner::Dead { since: None, session: None });
    }
}

#[test]
fn a_lease_is_taken_renewed_and_released() {
    let scratch = Scratch::new();
    let environment = Environment { session: Some("mine".to_owned()), ..Environment::default() };
    let me = Caller::find(&environment);
    let lock = scratch.lock();
    assert!(!refresh(&lock, clock(), &me).unwrap(), "there is none");
    take(&lock, clock(), &me, &"long \u{1b}[31m command ".repeat(100)).unwrap();
    assert_eq!(inspect(&scratch.own(), clock(), &environment), Owner::Ours);

    let text = || scratch.text(".piton/runs/ccw.run/lease.json").unwrap();
    let first = text();
    assert!(refresh(&lock, later(59), &me).unwrap());
    assert_eq!(text(), first, "a moment ago is good enough");
    assert!(refresh(&lock, later(61), &me).unwrap());
    assert!(text().contains("\"heartbeat\":\"2026-01-31T12:01:01Z\""));
    assert!(text().contains("\"taken_at\":\"2026-01-31T12:00:00Z\""));

    let mut other = me.clone();
    other.session = Some("theirs".to_owned());
    other.ancestors.clear();
    assert!(!refresh(&lock, later(999), &other).unwrap());
    release(&lock, later(999), &other).unwrap();
    assert_eq!(inspect(&scratch.own(), clock(), &environment), Owner::Ours);
    release(&lock, clock(), &me).unwrap();
    assert_eq!(inspect(&scratch.own(), clock(), &environment), Owner::None);
}

#[test]
fn a_living_process_that_the_system_names_drives_and_a_dead_one_or_the_caller_does_not() {
    let mut other = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let since = Some(time("2026-01-31T11:50:00Z"));
    let driver =
        |pid: u32| OwnerProcess { pid, start: None, session: None, name: "bob, by its lock".to_owned(), since };
    let (alive, dead) = (driver(other.id()), driver(4_194_305));
    let ours = driver(caller().owner.pid);
    let live =
        Owner::Live { description: format!("process {} (bob, by its lock), since 2026-01-31T11:50:00Z", other.id()) };
    let gone = Owner::Dead { since, session: None };
    let leased = Owner::Live { description: "by the lease".to_owned() };
    for (name, lease, owner_processes, expected) in [
        ("no other process", Owner::None, vec![], &Owner::None),
        ("alive", Owner::None, vec![dead.clone(), alive.clone()], &live),
        ("alive beside the caller's own lease", Owner::Ours, vec![alive.clone()], &live),
        ("dead", Owner::None, vec![dead.clone()], &gone),
        ("dead beside the caller's own lease", Owner::Ours, vec![dead], &Owner::Ours),
        ("the caller", Owner::None, vec![ours], &Owner::Ours),
        ("somebody with a lease", leased.clone(), vec![alive], &leased),
    ] {
        assert_eq!(merge_owners(lease, &owner_processes, &Environment::default()), *expected, "{name}");
    }
    drop(other.stdin.take());
    other.wait().unwrap();
}
