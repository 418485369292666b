use std::fs;

use super::{enter, merge_owners, owner, owner_by_lease, owner_for, presence, read, refresh, release, take};
use crate::{
    model::{Clock, DriverProcess, Lease, Local, Owner, OwnerProcess, Presence, Uid},
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

/// A name of a driver.
const MINE: Uid = Uid::new([7; 16]);
const THEIRS: Uid = Uid::new([8; 16]);

/// Held by process 1, which lives as long as this machine and is not a session of this test.
fn foreign(caller: &Caller) -> (Lease, DriverProcess) {
    let lease = Lease {
        driver: THEIRS,
        strict: false,
        command: "piton begin 2:4".to_owned(),
        taken_at: time("2026-01-31T11:00:00Z"),
        is_idle: false,
    };
    let driver = DriverProcess {
        session: Some("theirs".to_owned()),
        pid: 1,
        process_start: crate::store::fs::process::start_of(1),
        boot_id: caller.boot_id.clone(),
        host: caller.host.clone(),
        is_client: false,
        seen: time("2026-01-31T11:50:00Z"),
    };
    (lease, driver)
}

fn judged((lease, driver): &(Lease, DriverProcess), seconds: i64, caller: &Caller) -> Owner {
    owner_by_lease((lease, driver), later(seconds), caller)
}

fn later(seconds: i64) -> Clock {
    Clock { now: clock().now.plus_seconds(seconds), utc_offset_seconds: 0 }
}

type Case<'a> = (&'a str, &'a dyn Fn(&mut Lease, &mut DriverProcess), i64, &'a Owner);

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
    let elsewhere = |_: &mut Lease, driver: &mut DriverProcess| driver.host = "far-away".to_owned();
    let cases: [Case<'_>; 12] = [
        ("a living process, however old its sign of life", &|_, _| {}, 999_999, &live),
        ("a number that came back", &|_, driver| driver.process_start = Some(7), 0, &dead),
        ("a process that ended", &|_, driver| driver.pid = 4_194_305, 0, &dead),
        ("another start of this machine", &|_, driver| driver.boot_id = Some("x".to_owned()), 0, &dead),
        ("only the number is known, and it is fresh", &|_, driver| driver.process_start = None, 0, &live),
        ("only the number is known, and it is old", &|_, driver| driver.process_start = None, 999, &dead),
        ("another host, fresh", &elsewhere, 300, &live_elsewhere),
        ("another host, too old", &elsewhere, 301, &dead),
        ("another host, far in the future", &elsewhere, -1_501, &dead),
        ("the same session", &|_, driver| driver.session = Some("mine".to_owned()), 0, &Owner::Ours),
        ("a living process that is idle", &|lease, _| lease.is_idle = true, 0, &dead),
        (
            "our session, at rest",
            &|lease, driver| (driver.session, lease.is_idle) = (Some("mine".to_owned()), true),
            0,
            &Owner::Ours,
        ),
    ];
    for (name, alter, seconds, expected) in cases {
        let (mut lease, mut driver) = foreign(&me);
        alter(&mut lease, &mut driver);
        assert_eq!(judged(&(lease, driver), seconds, &me), *expected, "{name}");
    }
}

/// Whether the driver of an attempt is there, by the same facts.
#[test]
fn the_driver_of_an_attempt_is_there_by_name_process_or_sign_of_life() {
    let mut me = caller();
    me.ancestors.retain(|ancestor| ancestor.pid != 1);
    let (_, theirs) = foreign(&me);
    let seen = |alter: &dyn Fn(&mut DriverProcess), seconds: i64| {
        let mut driver = theirs.clone();
        alter(&mut driver);
        let local = Local { drivers: [(THEIRS, driver)].into(), ..Local::default() };
        presence(&local, Some(THEIRS), (&me, Some(MINE)), later(seconds))
    };
    let elsewhere = |driver: &mut DriverProcess| driver.host = "far-away".to_owned();
    assert_eq!(seen(&|_| {}, 999_999), Presence::Alive);
    assert_eq!(seen(&|driver| driver.pid = 4_194_305, 0), Presence::Gone, "it ended");
    assert_eq!(
        seen(&|driver| driver.boot_id = Some("x".to_owned()), 0),
        Presence::Gone,
        "the machine was started again"
    );
    assert_eq!(seen(&elsewhere, 300), Presence::Alive, "another host, with a sign of life");
    assert_eq!(seen(&elsewhere, 301), Presence::Unknown, "another host, without one");
    let Process { pid, start } = me.owner;
    let in_client = |driver: &mut DriverProcess| (driver.pid, driver.process_start) = (pid, start);
    assert_eq!(seen(&in_client, 0), Presence::Gone, "the client has another session now");
    let as_process = |driver: &mut DriverProcess| {
        in_client(driver);
        driver.session = None;
    };
    assert_eq!(seen(&as_process, 0), Presence::Caller, "an ancestor of the caller");
    let nothing = Local::default();
    let found = |driver, caller: &Caller| presence(&nothing, driver, (caller, Some(MINE)), clock());
    assert_eq!(found(Some(MINE), &me), Presence::Caller, "its name is enough");
    assert_eq!(found(Some(THEIRS), &me), Presence::Gone, "it was never written down");
    assert_eq!(found(None, &me), Presence::Gone, "a shell, seen by a session");
    let shell = Caller { session: None, ..me.clone() };
    assert_eq!(found(None, &shell), Presence::Caller, "a shell, seen by a shell");
}

#[test]
fn a_session_that_is_open_twice_is_two() {
    let mut me = caller();
    me.ancestors.retain(|ancestor| ancestor.pid != 1);
    let mut held = foreign(&me);
    (held.1.session, held.1.is_client) = (Some("mine".to_owned()), true);
    assert_eq!(judged(&held, 0, &me), Owner::Ours, "the caller is no client");
    me.is_agent = true;
    assert!(matches!(judged(&held, 0, &me), Owner::Live { .. }), "the other client lives");
    held.0.is_idle = true;
    assert_eq!(judged(&held, 0, &me), Owner::Ours, "it is idle");
    (held.0.is_idle, held.1.pid) = (false, 4_194_305);
    assert_eq!(judged(&held, 0, &me), Owner::Ours, "it is gone, and the session was taken up again");
}

#[test]
fn an_ancestor_is_ours_even_without_a_session() {
    let me = Caller::find(&Environment::default());
    let mut held = foreign(&me);
    held.1.session = None;
    let Process { pid, start } = me.owner;
    (held.1.pid, held.1.process_start) = (pid, start);
    assert_eq!(judged(&held, 0, &me), Owner::Ours);
}

#[test]
fn a_strict_lease_is_that_of_one_process_only() {
    let environment = Environment { session: Some("mine".to_owned()), ..Environment::default() };
    let me = Caller::this_process(&environment);
    let scratch = Scratch::new();
    let lock = scratch.lock();
    take(&lock, clock(), (&me, MINE), "run").unwrap();
    let look = || owner(&read(&scratch.own()), clock(), || Caller::find(&environment));
    let Owner::Live { description } = look() else { panic!("{:?}", look()) };
    assert!(description.starts_with(&format!("process {} on host {}", std::process::id(), me.host)), "{description}");
    assert_eq!(owner_for(&lock, clock(), &me), Owner::Ours);
    // A call that a step makes descends from the holder, and drives nothing.
    let mut child = Caller::find(&environment);
    child.ancestors.insert(0, me.owner);
    assert!(matches!(owner_for(&lock, clock(), &child), Owner::Live { .. }));
    release(&lock, clock(), &child).unwrap();
    assert!(refresh(&lock, later(61), (&me, MINE)).unwrap());
    release(&lock, clock(), &me).unwrap();
    assert_eq!(look(), Owner::None);
}

#[test]
fn a_torn_file_blocks_nobody() {
    let scratch = Scratch::new();
    let environment = Environment::default();
    let look = || owner(&read(&scratch.own()), clock(), || Caller::find(&environment));
    assert_eq!(look(), Owner::None);
    let lock = scratch.lock();
    assert_eq!(look(), Owner::None);
    take(&lock, clock(), (&caller(), MINE), "begin").unwrap();
    let path = scratch.root.join(".piton/runs/ccw.run/local.json");
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
    assert!(!refresh(&lock, clock(), (&me, MINE)).unwrap(), "without a lease");
    take(&lock, clock(), (&me, MINE), &"long \u{1b}[31m command ".repeat(100)).unwrap();
    assert_eq!(owner(&read(&scratch.own()), clock(), || Caller::find(&environment)), Owner::Ours);

    let text = || scratch.text(".piton/runs/ccw.run/local.json").unwrap();
    let first = text();
    assert!(refresh(&lock, later(59), (&me, MINE)).unwrap());
    assert_eq!(text(), first, "a moment ago is good enough");
    assert!(refresh(&lock, later(61), (&me, MINE)).unwrap());
    assert!(text().contains("\"seen\":\"2026-01-31T12:01:01Z\""));
    assert!(text().contains("\"taken_at\":\"2026-01-31T12:00:00Z\""));

    let mut other = me.clone();
    other.session = Some("theirs".to_owned());
    other.ancestors.clear();
    assert!(!refresh(&lock, later(999), (&other, THEIRS)).unwrap());
    release(&lock, later(999), &other).unwrap();
    assert_eq!(owner(&read(&scratch.own()), clock(), || Caller::find(&environment)), Owner::Ours);
    release(&lock, clock(), &me).unwrap();
    assert_eq!(owner(&read(&scratch.own()), clock(), || Caller::find(&environment)), Owner::None);
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
        ("another holder of a lease", leased.clone(), vec![alive], &leased),
    ] {
        assert_eq!(merge_owners(lease, &owner_processes, &Environment::default()), *expected, "{name}");
    }
    drop(other.stdin.take());
    other.wait().unwrap();
}

/// A driver that holds nothing is written down too, and of many the ones seen last are kept.
#[test]
fn the_drivers_seen_last_are_kept() {
    let scratch = Scratch::new();
    let lock = scratch.lock();
    let me = caller();
    take(&lock, clock(), (&me, MINE), "begin").unwrap();
    for count in 1..=70 {
        enter(&lock, later(i64::from(count)), (&me, Uid::new([count; 16]))).unwrap();
    }
    let local = read(&scratch.own());
    assert_eq!(local.drivers.len(), 64);
    assert!(local.holder().is_some(), "the holder stays, however old");
    assert!(local.drivers.contains_key(&Uid::new([70; 16])) && !local.drivers.contains_key(&Uid::new([1; 16])));
    let size = fs::metadata(scratch.root.join(".piton/runs/ccw.run/local.json")).unwrap().len();
    assert_eq!(size % 1_024, 0);
}
