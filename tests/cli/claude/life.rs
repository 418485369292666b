//! A living session is never offered, and a dead one is known to be dead.

use serde_json::{Value, json};

use super::{
    plan,
    trace::{RUN, SESSION, Trace, process, task},
};
use crate::support::{Output, Sandbox};

/// The start time of a process, as `/proc` has it.
fn start_of(pid: u32) -> String {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("a living process");
    let (_, rest) = stat.rsplit_once(')').expect("a name in parentheses");
    rest.split_ascii_whitespace().nth(19).expect("field 22").to_owned()
}

fn own_domain() -> Option<String> {
    let machine = std::fs::read_to_string("/etc/machine-id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("linux:{}:{}", machine.trim(), namespace.to_str()?))
}

fn interrupted() -> Sandbox {
    let sandbox = Sandbox::with_git();
    Trace::new(&sandbox).prompt("Build it").tool("r", "Read", json!({}), Value::Null).write(&sandbox);
    sandbox
}

fn list(sandbox: &Sandbox, more: &[&str]) -> Output {
    sandbox.piton(["--format", "json", "list"].iter().chain(more).copied()).run()
}

#[test]
fn a_living_session_is_in_no_list_and_its_plan_is_blocked() {
    let sandbox = interrupted();
    let pid = std::process::id();
    for more in [json!({}), json!({"status": "busy"}), json!({"kind": "background"})] {
        process(&sandbox, pid, &start_of(pid), more);
        list(&sandbox, &[]).expect_code(3);
        list(&sandbox, &["--all"]).expect_code(3);
        let plan = plan(&sandbox).expect_code(6);
        assert_eq!(plan.at("/data/verdict"), "blocked");
        assert!(plan.findings().contains(&"live-owner".to_owned()), "{plan}");
        assert!(plan.stdout.contains(&pid.to_string()), "{plan}");
        let resume = sandbox.piton(["--format", "json", "resume", RUN]).run().expect_code(6);
        assert!(!resume.stdout.contains("\"context\":{"), "{resume}");
    }
    if let Some(domain) = own_domain() {
        process(&sandbox, pid, &start_of(pid), json!({"pidDomain": domain}));
        plan(&sandbox).expect_code(6);
    }
}

#[test]
fn a_process_with_another_start_time_and_one_that_is_gone_are_dead() {
    let sandbox = interrupted();
    let pid = std::process::id();
    process(&sandbox, pid, "1", json!({}));
    assert_eq!(plan(&sandbox).expect_code(0).at("/data/native/ended/cause"), "killed");
    list(&sandbox, &[]).expect_code(0);
    let sandbox = interrupted();
    process(&sandbox, 4_194_303, "5", json!({}));
    let plan = plan(&sandbox).expect_code(0);
    assert!(plan.at("/data/native/ended/detail").as_str().unwrap().contains("its process is gone"), "{plan}");
}

#[test]
fn any_living_process_of_a_session_means_alive() {
    let sandbox = interrupted();
    let pid = std::process::id();
    process(&sandbox, 4_194_303, "5", json!({"startedAt": 1_769_857_999_000_u64}));
    process(&sandbox, pid, &start_of(pid), json!({}));
    plan(&sandbox).expect_code(6);
}

#[test]
fn a_process_of_another_machine_cannot_be_judged() {
    let sandbox = interrupted();
    let pid = std::process::id();
    let elsewhere = |updated: &str| {
        let at = updated.parse::<u64>().unwrap();
        process(&sandbox, pid, &start_of(pid), json!({"pidDomain": "linux:other:pid:[1]", "updatedAt": at}));
        plan(&sandbox)
    };
    // 11:58 and 11:00 of that day.
    let young = elsewhere("1769860680000").expect_code(9);
    assert_eq!(young.at("/data/verdict"), "confirm");
    assert!(young.findings().contains(&"session-may-live".to_owned()), "{young}");
    elsewhere("1769857200000").expect_code(0);
}

#[test]
fn without_a_file_a_young_unclean_end_is_confirmed_first() {
    let sandbox = interrupted();
    let at = |now: &str| sandbox.piton(["--format", "json", "plan", RUN]).now(now).run();
    let young = at("2026-01-31T11:01:30Z").expect_code(9);
    assert!(young.findings().contains(&"session-may-live".to_owned()), "{young}");
    at("2026-01-31T11:03:30Z").expect_code(0);
}

#[test]
fn a_left_over_of_an_earlier_life_is_no_kill() {
    let sandbox = Sandbox::with_git();
    let trace = Trace::new(&sandbox).prompt("x").prompt("y");
    let trace = trace
        .line(json!({"type": "atis-latch"}))
        .line(json!({"type": "cost-state", "startTime": 1_769_857_300_000_u64}));
    trace.write(&sandbox);
    process(&sandbox, 4_194_303, "5", json!({"startedAt": 1_769_857_200_000_u64}));
    assert_eq!(plan(&sandbox).at("/data/native/ended/cause"), "session_ended");
    process(&sandbox, 4_194_303, "5", json!({"startedAt": 1_769_857_400_000_u64}));
    assert_eq!(plan(&sandbox).at("/data/native/ended/cause"), "killed");
}

#[test]
fn the_callers_own_session_is_not_offered_to_itself() {
    let sandbox = interrupted();
    list(&sandbox, &[]).expect_code(0);
    sandbox.piton(["--format", "json", "list"]).session(SESSION).run().expect_code(3);
}

#[test]
fn a_task_that_a_living_session_works_on_is_not_taken_from_it() {
    const OTHER: &str = "0a1b2c3d-aaaa-4bbb-8ccc-0123456789ab";
    let sandbox = Sandbox::with_git();
    let work = |session: &str| {
        let trace = Trace::of(&sandbox, session).prompt("Build it").creates_task("1", "Write the parser");
        trace.creates_task("2", "Write the docs").sets_task("1", "pending", "in_progress")
    };
    work(SESSION).write(&sandbox);
    task(&sandbox, SESSION, "1", "Write the parser", "in_progress", &[]);
    task(&sandbox, SESSION, "2", "Write the docs", "pending", &[]);
    let actions = |plan: &Output| {
        let next = plan.at("/data/next");
        next.as_array()
            .into_iter()
            .flatten()
            .map(|next| format!("{} {}", next["action"], next["step"]))
            .collect::<Vec<_>>()
    };
    assert!(actions(&plan(&sandbox)).contains(&"\"retry\" \"T1\"".to_owned()), "{}", plan(&sandbox));
    work(OTHER).write(&sandbox);
    let pid = std::process::id();
    process(&sandbox, pid, &start_of(pid), json!({"sessionId": OTHER}));
    let shared = plan(&sandbox);
    assert!(!actions(&shared).iter().any(|action| action.contains("T1")), "{shared}");
    assert!(actions(&shared).contains(&"\"run\" \"T2\"".to_owned()), "{shared}");
    assert!(shared.stdout.contains("the living session 0a1b2c3d shares the list and works on it"), "{shared}");
    assert!(!shared.stdout.contains("piton override"), "no printed command is refused: {shared}");
    let row = list(&sandbox, &[]).expect_code(0).at("/data/runs/0/verdict");
    assert_eq!(row, shared.at("/data/verdict"));
}
