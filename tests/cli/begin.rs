//! `begin`: the revision of its answer, and drivers that live. The rest is in `tests/cases/begin`.

use serde_json::{Value, json};

use crate::{
    cli::projects,
    support::{self, Output, Sandbox},
};

const FLOW: &str = "\
name: flow
steps:
  - {id: plan, agent: planner}
  - {id: code, agent: coder, depends_on: plan}
";

fn started() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("flow.yaml", FLOW);
    piton(&sandbox, &["start", "flow.yaml", "--feature", "demo"]).expect_code(0);
    sandbox
}

fn piton<'a>(sandbox: &'a Sandbox, arguments: &[&'a str]) -> Output {
    sandbox.piton(arguments.iter().copied()).real_clock().run()
}

fn in_session<'a>(sandbox: &'a Sandbox, session: &str, arguments: &[&'a str]) -> Output {
    sandbox.piton(arguments.iter().copied()).real_clock().session(session).run()
}

/// A month after the last change of every example.
const LATER: &str = "2026-03-01T12:00:00Z";

#[test]
fn what_a_person_should_see_first_waits_for_a_yes_in_every_format() {
    for (example, step) in [
        ("dotagent", "task-001:verify"),
        ("ccw", "IMPL-002"),
        ("aios", "7.2"),
        ("nine-step", "2:3"),
        ("own-workflow", "ui"),
    ] {
        let sandbox = projects::example(example);
        if example == "own-workflow" {
            sandbox.piton(["trust", "spring"]).run().expect_code(0);
        }
        let call = |line: &str| sandbox.piton(line.split(' ')).now(LATER).session("s").run();
        let begin = format!("begin {step}");
        let plan = call("plan").expect_code(0);
        assert_eq!(plan.at("/data/verdict"), "confirm", "{example}: {plan}");
        assert_eq!(plan.at("/data/commands/begin"), Value::Null, "{example}: no command that would be refused");
        let before = sandbox.tree();
        let refused = call(&begin).expect_code(9);
        assert!(refused.stdout.contains("a person says first that the run goes on"), "{example}: {refused}");
        assert_eq!(beside_locks(before.changes(&sandbox.tree())), [""; 0], "{example}");
        call("resume --yes").expect_code(0);
        assert_eq!(call("plan").at("/data/verdict"), "resume", "{example}");
        call(&begin).expect_code(0);
    }
}

/// Returns the changes besides those of the homes of runs, where a lock is taken before anything else.
fn beside_locks(mut changes: Vec<String>) -> Vec<String> {
    changes.retain(|change| !change.contains("/lock") && !change.starts_with("+ .piton"));
    changes
}

/// Returns the attempt that the brief of an answer names for its report.
fn attempt(answer: &Output) -> String {
    let named = answer.stdout.split_once(" --begun ").unwrap_or_else(|| panic!("{answer}")).1;
    named.chars().take_while(char::is_ascii_hexdigit).collect()
}

#[test]
fn what_is_begun_again_is_reported_on_by_the_record_that_began_it() {
    for (example, step, end) in [
        ("dotagent", "task-001:verify", "--verdict APPROVED"),
        ("ccw", "IMPL-002", "--summary done"),
        ("aios", "7.2", "--summary done"),
        ("nine-step", "2:3", "--summary done"),
        ("own-workflow", "ui", "--summary done"),
    ] {
        let sandbox = projects::example(example);
        let call = |line: &str| sandbox.piton(line.split(' ')).session("s").run();
        let begin = format!("begin {step} --brief inline");
        let first = attempt(&call(&begin).expect_code(0));
        let again = attempt(&call(&begin).expect_code(0));
        call("resume --yes").expect_code(0);
        let last = attempt(&call(&begin).expect_code(0));
        assert_eq!([&again, &last], [&first; 2], "{example}: it is the same attempt");
        let ended = call(&format!("finish {step} {end} --begun {last}"));
        assert!(![3, 6].contains(&ended.code), "{example}: {ended}");
    }
}

#[test]
fn the_revision_of_the_answer_is_that_after_the_change() {
    let sandbox = started();
    let revision = piton(&sandbox, &["begin"]).expect_code(0).at("/data/revision");
    assert_eq!(revision, piton(&sandbox, &["plan"]).at("/data/run/revision"));
}

/// The driver of a run on a machine that is not this one.
fn elsewhere() -> Value {
    json!({"pid": 1, "host": "elsewhere", "seen": "2026-01-01T12:00:00Z"})
}

/// A-D10.
#[test]
fn a_living_driver_keeps_others_out_and_an_unknown_one_asks() {
    let sandbox = started();
    in_session(&sandbox, "other", &["begin", "plan"]).expect_code(0);
    let host = String::from_utf8(std::process::Command::new("uname").arg("-n").output().unwrap().stdout).unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let start: u64 = start_of_init().parse().expect("a number of ticks");
    let (boot, host) = (boot.trim(), host.trim());
    let of_init = json!({"session": "other", "pid": 1, "process_start": start, "boot_id": boot, "host": host, "seen": support::NOW});
    sandbox.driven_by("demo", of_init);
    let refused = in_session(&sandbox, "mine", &["begin", "plan"]);
    assert_eq!(refused.code, 6, "{refused}");
    assert!(refused.stdout.contains("session other began it"), "{refused}");
    let plan = in_session(&sandbox, "mine", &["plan", "--exit-code"]);
    assert_eq!((plan.code, plan.at("/data/verdict")), (6, json!("blocked")), "{plan}");
    sandbox.driven_by("demo", elsewhere());
    let plan = piton(&sandbox, &["plan"]);
    assert_eq!(plan.at("/data/verdict"), "blocked", "{plan}");
    assert_eq!(plan.at("/data/questions/0/options/0/id"), "redo", "{plan}");
    let refused = piton(&sandbox, &["begin", "plan"]).expect_code(9);
    assert_eq!(refused.at("/error/hints/0"), "piton decide plan --run demo", "{refused}");
    piton(&sandbox, &["decide", "plan", "redo", "--by", "Ann", "--note", "that machine is off"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["plan"]).at("/data/verdict"), "resume");
    let taken = piton(&sandbox, &["begin", "plan"]).expect_code(0);
    assert_eq!(taken.at("/data/brief/attempt"), 2);
}

/// Whether it took effect is asked, in every way to begin it.
#[test]
fn a_step_that_must_not_run_twice_is_not_taken_over_from_another_machine() {
    let sandbox = Sandbox::new();
    sandbox.file(
        "w.yaml",
        "steps:\n- {id: publish, agent: publisher, idempotent: false}\n- {id: announce, agent: writer}\n",
    );
    piton(&sandbox, &["start", "w.yaml", "--feature", "v2"]).expect_code(0);
    in_session(&sandbox, "other", &["begin", "publish"]).expect_code(0);
    sandbox.driven_by("v2", elsewhere());
    for words in [
        &["begin", "publish"][..],
        &["begin", "publish", "--again"],
        &["begin"],
        &["resume", "v2", "--unattended", "--yes"],
    ] {
        let asked = piton(&sandbox, words).expect_code(9);
        assert!(asked.to_string().contains("must not run twice"), "{words:?}\n{asked}");
    }
}

/// The start time of process 1, in clock ticks since boot.
fn start_of_init() -> String {
    let stat = std::fs::read_to_string("/proc/1/stat").unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(19)).unwrap_or("0").to_owned()
}
