//! `begin` hands over the brief of a step, and an attempt is counted once.

use serde_json::{Value, json};

use super::projects;
use crate::support::{Output, Sandbox};

const FLOW: &str = "\
name: flow
steps:
  - {id: plan, agent: planner, instructions: Say what is to be done}
  - {id: code, agent: coder, depends_on: plan}
  - {id: ship, agent: coder, depends_on: code, idempotent: false}
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

#[test]
fn without_a_step_it_begins_the_next_one_and_hands_over_its_brief() {
    let sandbox = started();
    let output = piton(&sandbox, &["begin"]).expect_code(0);
    let brief = output.at("/data/brief");
    assert_eq!(
        (&brief["step"], &brief["attempt"], &brief["action"]),
        (&json!("plan"), &json!(1), &json!("run")),
        "{output}"
    );
    assert!(output.stdout.contains("Say what is to be done"), "{output}");
    let report = brief["report"].as_str().unwrap();
    assert!(report.starts_with("`piton finish plan --run demo --summary TEXT`"), "{report}");
    assert_eq!(output.at("/data/next"), json!(null), "it is not said twice");
    let status = piton(&sandbox, &["plan"]).at("/data/run/revision");
    assert_eq!(output.at("/data/revision"), status, "the revision is that after the change");
    let text = piton(&sandbox, &["begin", "--format", "text"]).expect_code(0);
    assert!(text.stdout.contains("Say what is to be done"), "{text}");
}

/// N-D4; rows 1 and 8 of the client page.
#[test]
fn beginning_twice_is_one_attempt_and_the_brief_stays_what_it_was() {
    let sandbox = started();
    let first = piton(&sandbox, &["begin", "plan"]).expect_code(0);
    let before = sandbox.read(".piton/runs/demo/journal.jsonl");
    let second = piton(&sandbox, &["begin", "plan"]).expect_code(0);
    assert_eq!(second.at("/data/recorded"), false, "{second}");
    assert!(second.at("/data/message").as_str().unwrap().contains("piton begin plan --run demo --again"), "{second}");
    assert_eq!(sandbox.read(".piton/runs/demo/journal.jsonl"), before);
    let same = |key: &str| (first.at(&format!("/data/brief/{key}")), second.at(&format!("/data/brief/{key}")));
    for key in ["action", "attempt", "next_action", "findings_to_address", "reports"] {
        let (first, second) = same(key);
        assert_eq!(first, second, "{key}");
    }
    let plan = piton(&sandbox, &["plan", "--steps"]).expect_code(0);
    assert_eq!((plan.at("/data/verdict"), plan.at("/data/next/0/attempt")), (json!("resume"), json!(1)), "{plan}");
    assert_eq!(plan.at("/data/next/0/rule"), "3.begun");
    assert_eq!(plan.at("/data/interruption"), Value::Null, "nothing was cut off");
}

#[test]
fn an_attempt_after_an_interruption_is_begun_once_too() {
    // Formats that do not count attempts, or count the one in progress as a failure.
    for (example, step, attempt) in [("aios", "7.2", 2), ("dotagent", "task-002", 3), ("nine-step", "2:3", 2)] {
        let sandbox = projects::example(example);
        let begin = || sandbox.piton(["begin", step]).session("s").run().expect_code(0);
        let (first, second) = (begin(), begin());
        for (output, recorded) in [(first, true), (second, false)] {
            assert_eq!(output.at("/data/recorded"), recorded, "{example}: {output}");
            assert_eq!(output.at("/data/brief/attempt"), attempt, "{example}: {output}");
        }
        let plan = sandbox.piton(["plan", "--steps"]).session("s").run().expect_code(0);
        assert_eq!(plan.at("/data/verdict"), "resume", "{example}: {plan}");
        let next = plan.at("/data/next");
        let next = next.as_array().unwrap().iter().find(|next| next["step"] == step).unwrap();
        assert_eq!((&next["attempt"], &next["rule"]), (&json!(attempt), &json!("3.begun")), "{example}: {plan}");
    }
}

#[test]
fn a_lost_agent_gets_a_new_attempt() {
    let sandbox = started();
    piton(&sandbox, &["begin", "plan"]).expect_code(0);
    let again = piton(&sandbox, &["begin", "plan", "--again"]).expect_code(0);
    assert_eq!((again.at("/data/recorded"), again.at("/data/brief/attempt")), (json!(true), json!(2)), "{again}");
    assert_eq!(again.at("/data/brief/action"), "retry");
    assert_eq!(piton(&sandbox, &["begin", "plan"]).at("/data/brief/attempt"), 2, "and that is its own attempt now");
}

#[test]
fn a_step_that_must_not_run_twice_is_not_in_doubt_while_its_driver_lives() {
    let sandbox = started();
    for step in ["plan", "code"] {
        piton(&sandbox, &["begin", step]).expect_code(0);
        piton(&sandbox, &["finish", step]).expect_code(0);
    }
    piton(&sandbox, &["begin", "ship"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["plan"]).expect_code(0).at("/data/next/0/action"), "run");
    piton(&sandbox, &["finish", "ship"]).expect_code(0);
}

/// A session drives through the process that called, here that of the tests, which lives.
#[test]
fn another_session_of_the_same_client_takes_over_at_once() {
    let sandbox = started();
    in_session(&sandbox, "one", &["begin", "plan"]).expect_code(0);
    assert_eq!(in_session(&sandbox, "one", &["begin", "plan"]).at("/data/recorded"), false);
    let other = in_session(&sandbox, "two", &["begin", "plan"]).expect_code(0);
    assert_eq!((other.at("/data/recorded"), other.at("/data/brief/attempt")), (json!(true), json!(2)), "{other}");
}

/// Rewrites who began the last attempt.
fn driven_by(sandbox: &Sandbox, driver: &str) {
    let log = sandbox.read(".piton/runs/demo/reports.jsonl");
    let (before, after) = log.split_once("\"driver\":").expect("an attempt was begun");
    let (_, rest) = after.split_once('}').expect("a driver is an object");
    sandbox.file(".piton/runs/demo/reports.jsonl", &format!("{before}\"driver\":{driver}{rest}"));
}

/// A-D10.
#[test]
fn a_living_driver_keeps_others_out_and_an_unknown_one_asks() {
    let sandbox = started();
    piton(&sandbox, &["begin", "plan"]).expect_code(0);
    let host = String::from_utf8(std::process::Command::new("uname").arg("-n").output().unwrap().stdout).unwrap();
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let of_init = format!(
        r#"{{"session":"other","pid":1,"process_start":{},"boot_id":"{}","host":"{}"}}"#,
        start_of_init(),
        boot.trim(),
        host.trim()
    );
    driven_by(&sandbox, &of_init);
    let refused = in_session(&sandbox, "mine", &["begin", "plan"]);
    assert_eq!(refused.code, 6, "{refused}");
    assert!(refused.stdout.contains("session other began it"), "{refused}");
    assert_eq!(
        in_session(&sandbox, "mine", &["begin", "plan", "--take-over"]).code,
        6,
        "a living one is not taken over"
    );
    let plan = in_session(&sandbox, "mine", &["plan"]);
    assert_eq!((plan.code, plan.at("/data/verdict")), (6, json!("blocked")), "{plan}");
    driven_by(&sandbox, r#"{"pid":1,"host":"elsewhere"}"#);
    let refused = piton(&sandbox, &["begin", "plan"]);
    assert_eq!(refused.code, 9, "{refused}");
    assert!(refused.stdout.contains("piton begin plan --run demo --take-over"), "{refused}");
    let taken = piton(&sandbox, &["begin", "plan", "--take-over"]).expect_code(0);
    assert_eq!(taken.at("/data/brief/attempt"), 2);
}

/// The start time of process 1, in clock ticks since boot.
fn start_of_init() -> String {
    let stat = std::fs::read_to_string("/proc/1/stat").unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_ascii_whitespace().nth(19)).unwrap_or("0").to_owned()
}
