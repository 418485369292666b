//! After a report or a decision: a no stays a no, parts and outputs are proved, corrections are kept, and what the plan blocks is refused.

use serde_json::{Value, json};

use crate::support::{Output, Sandbox};

fn piton<'a>(sandbox: &'a Sandbox, arguments: &[&'a str]) -> Output {
    sandbox.piton(arguments.iter().copied()).real_clock().run()
}

fn started(flow: &str) -> Sandbox {
    let sandbox = Sandbox::with_git();
    sandbox.file("flow.yaml", flow);
    piton(&sandbox, &["start", "flow.yaml", "--feature", "demo"]).expect_code(0);
    sandbox
}

const REVIEWED: &str = "\
name: flow
steps:
  - {id: copy, agent: dba, outputs: out/c.json}
  - {id: verify, agent: qa, returns_to: copy}
  - {id: go, gate: owner}
  - {id: switch, agent: dba}
";

/// `copy` is done and `verify` is begun.
fn reviewed() -> Sandbox {
    let sandbox = started(REVIEWED);
    piton(&sandbox, &["begin", "copy"]).expect_code(0);
    sandbox.file("out/c.json", "1");
    piton(&sandbox, &["finish", "copy"]).expect_code(0);
    piton(&sandbox, &["begin", "verify"]).expect_code(0);
    sandbox
}

fn next(sandbox: &Sandbox) -> Value {
    piton(sandbox, &["plan"]).at("/data/next/0/step")
}

/// A-D1: `approve` neither accepts what was rejected nor opens another round; three verbs have three effects.
#[test]
fn a_rejection_has_three_ways_out_and_approve_is_not_one() {
    let decide = |verb: &str| format!("piton {verb} verify --run demo --by NAME --note WHY");
    for (verb, then) in [("redo", "copy"), ("accept", "go")] {
        let sandbox = reviewed();
        piton(&sandbox, &["finish", "verify", "--verdict", "REJECTED", "--finding", "row counts differ"])
            .expect_code(0);
        let before = sandbox.tree().without(".piton");
        let refused = piton(&sandbox, &["approve", "verify", "--by", "Bia"]).expect_code(9);
        assert_eq!(refused.at("/error/hints"), json!([decide("redo"), decide("accept"), "piton abort demo"]));
        assert!(refused.at("/error/message").as_str().unwrap().contains("REJECTED: row counts differ"), "{refused}");
        assert_eq!(before.changes(&sandbox.tree().without(".piton")), [""; 0]);
        piton(&sandbox, &["begin", "copy"]).expect_code(9);
        piton(&sandbox, &[verb, "verify", "--by", "Bia", "--note", "known"]).expect_code(0);
        assert_eq!(next(&sandbox), then);
        let brief = piton(&sandbox, &["context"]);
        let decision = brief.at("/data/decisions/0");
        assert_eq!((&decision["by"], &decision["note"]), (&json!("Bia"), &json!("known")), "{brief}");
        assert_eq!(decision["despite"], "REJECTED: row counts differ");
    }
}

/// A-D8: the output of the attempt that was sent back is no result of the rework, also after a crash.
#[test]
fn an_output_that_the_rework_did_not_touch_is_not_its_result() {
    let sandbox = reviewed();
    piton(&sandbox, &["finish", "verify", "--verdict", "NEEDS_REVISION", "--finding", "wrong"]).expect_code(0);
    piton(&sandbox, &["begin", "copy"]).expect_code(0);
    let refused = piton(&sandbox, &["finish", "copy"]).expect_code(1);
    let message = refused.at("/error/message").as_str().unwrap().to_owned();
    assert!(message.contains("out/c.json is unchanged since the attempt that was sent back"), "{message}");
    let cut_off = sandbox.piton(["plan"]).real_clock().session("another").run();
    assert_eq!(cut_off.at("/data/next/0/step"), "copy", "nor does the plan count it as done: {cut_off}");
    sandbox.file("out/c.json", "2");
    piton(&sandbox, &["finish", "copy"]).expect_code(0);
    assert_eq!(next(&sandbox), "verify");
}

/// N-D8: a review supersedes nothing, so what it read stays proof.
#[test]
fn an_output_that_is_gone_after_a_review_reopens_its_step() {
    let sandbox = reviewed();
    piton(&sandbox, &["finish", "verify", "--verdict", "APPROVED"]).expect_code(0);
    assert_eq!(next(&sandbox), "go");
    sandbox.remove("out/c.json");
    let plan = piton(&sandbox, &["plan"]);
    assert_eq!(
        (plan.at("/data/next/0/step"), plan.at("/data/next/0/action")),
        (json!("copy"), json!("retry")),
        "{plan}"
    );
    assert!(plan.findings().contains(&"output-missing".to_owned()), "{plan}");
}

/// N-D11, A-D6: the commands printed around parts go on with parts, and a step with open parts is not finished.
#[test]
fn a_step_ends_when_its_parts_do() {
    let sandbox = started("name: flow\nsteps:\n  - {id: copy, agent: dba, parts: [p1, p2]}\n  - {id: n, agent: dba}\n");
    let next = |output: &Output| output.at("/data/next").as_str().unwrap().to_owned();
    let run = |command: &str| sandbox.piton(command.split(' ').skip(1)).real_clock().run().expect_code(0);
    let begun = piton(&sandbox, &["begin", "copy", "--part", "p1"]).expect_code(0);
    assert_eq!(next(&begun), "piton finish copy --run demo --part p1");
    let refused = piton(&sandbox, &["finish", "copy"]).expect_code(1);
    assert_eq!(refused.at("/error/message"), "copy has parts that were begun, and p1, p2 are open");
    assert_eq!(refused.at("/error/hints/0"), "piton finish copy --run demo --part p1");
    let first = run(&next(&begun));
    assert_eq!(next(&first), "piton begin copy --run demo --part p2");
    let second = run(&next(&first));
    assert_eq!(next(&second), "piton finish copy --run demo --part p2");
    assert_eq!(next(&run(&next(&second))), "piton finish copy --run demo --summary TEXT");
    piton(&sandbox, &["finish", "copy", "--summary", "copied"]).expect_code(0);
    assert_eq!(super::handover::next(&sandbox), "n");
    // A step whose parts were not addressed ends as a whole.
    let sandbox = started("name: flow\nsteps:\n  - {id: copy, agent: dba, parts: [p1, p2]}\n");
    piton(&sandbox, &["begin", "copy"]).expect_code(0);
    piton(&sandbox, &["finish", "copy"]).expect_code(0);
}

/// N-D6: what comes late is recorded, what contradicts the record is refused, and a repetition changes nothing.
#[test]
fn a_late_correction_is_recorded() {
    let sandbox = started("name: flow\nsteps:\n  - {id: a, agent: x}\n  - {id: b, agent: x, depends_on: a}\n");
    piton(&sandbox, &["begin", "a"]).expect_code(0);
    piton(&sandbox, &["finish", "a"]).expect_code(0);
    sandbox.file("notes.md", "n");
    let recorded = |arguments: &[&str]| {
        let output = piton(&sandbox, &[&["finish", "a"], arguments].concat());
        (output.code, output.at("/data/recorded"))
    };
    assert_eq!(recorded(&[]), (0, json!(false)));
    for said in [&["--summary", "done"][..], &["--output", "notes.md"], &["--commit", "HEAD"]] {
        assert_eq!(recorded(said), (0, json!(true)), "{said:?}");
        assert_eq!(recorded(said), (0, json!(false)), "{said:?} is known");
    }
    let reports = piton(&sandbox, &["status", "-v"]).at("/data/reports");
    assert_eq!(reports.as_array().unwrap().len(), 3, "{reports}");
    sandbox.git(["commit", "--quiet", "--allow-empty", "-m", "another"]);
    let refused = piton(&sandbox, &["finish", "a", "--commit", "HEAD"]).expect_code(1);
    assert_eq!(refused.at("/error/hints"), json!(["piton redo a --run demo --by NAME --note WHY"]));
    assert_eq!(next(&sandbox), "b", "a correction reopens nothing");
    sandbox.remove("notes.md");
    assert_eq!(next(&sandbox), "a", "an output that came late is proof too");
}

/// N-D6 in a nine-step run: a step that commits is finished without a commit, and gets it when the run has gone on.
#[test]
fn a_commit_that_is_missing_is_said_and_can_be_named_later() {
    let sandbox = Sandbox::with_git();
    piton(&sandbox, &["start", "nine-step", "--feature", "pay", "--phases", "2"]).expect_code(0);
    sandbox.file(".plan/pay_plan.md", "# Plan\n");
    for step in ["1", "2", "2.5", "3", "4", "5", "6", "7", "8", "9"] {
        match step {
            "2" | "4" | "6" | "8" => piton(&sandbox, &["finish", step, "--verdict", "APPROVED"]),
            "2.5" => piton(&sandbox, &["approve", "2.5", "--by", "Ana"]),
            _ => piton(&sandbox, &["finish", step]),
        }
        .expect_code(0);
        if step == "2.5" {
            sandbox.worktree(".worktree/pay", "feature/pay");
        }
    }
    let plan = piton(&sandbox, &["plan"]);
    let missing =
        plan.json()["findings"].as_array().unwrap().iter().find(|one| one["code"] == "commit-missing").cloned();
    let missing = missing.unwrap_or_else(|| panic!("{plan}"));
    assert_eq!(missing["fix"], "name it: `piton finish 1:9 --run pay --commit HEAD`");
    piton(&sandbox, &["begin", "2:1"]).expect_code(0);
    let named = piton(&sandbox, &["finish", "1:9", "--run", "pay", "--commit", "HEAD"]).expect_code(0);
    assert_eq!(named.at("/data/message"), "it is added to what is recorded about 1:9");
    let state = sandbox.read_json(".worktree/pay/.workflow-state.json");
    let entries = state["completed_steps"].as_array().unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.get("commit_sha").is_some()).count(), 1, "{state}");
    assert_eq!(state["last_execution"]["step"], 1, "the run stays where it is: {state}");
    let plan = piton(&sandbox, &["plan"]);
    assert!(!plan.findings().contains(&"commit-missing".to_owned()), "{plan}");
    assert_eq!(plan.at("/data/next/0/step"), "2:1");
}

/// N-D8, second half: the plan document that was approved is kept by its digest.
#[test]
fn a_plan_that_is_replaced_after_its_approval_is_asked_about_again() {
    let sandbox = Sandbox::with_git();
    piton(&sandbox, &["start", "nine-step", "--feature", "pay", "--phases", "1"]).expect_code(0);
    sandbox.file(".plan/pay_plan.md", "# Plan\n");
    piton(&sandbox, &["finish", "1"]).expect_code(0);
    piton(&sandbox, &["finish", "2", "--verdict", "APPROVED"]).expect_code(0);
    piton(&sandbox, &["approve", "2.5", "--by", "Ana"]).expect_code(0);
    sandbox.worktree(".worktree/pay", "feature/pay");
    piton(&sandbox, &["finish", "3"]).expect_code(0);
    assert!(!piton(&sandbox, &["plan"]).findings().contains(&"plan-changed".to_owned()));
    sandbox.file(".plan/pay_plan.md", "# Another plan\n");
    let plan = piton(&sandbox, &["plan"]).expect_code(9);
    assert_eq!((plan.at("/data/verdict"), plan.at("/data/next/0/step")), (json!("confirm"), json!("1:4")), "{plan}");
    assert!(plan.findings().contains(&"plan-changed".to_owned()), "{plan}");
    piton(&sandbox, &["approve", "1:2.5", "--run", "pay", "--by", "Ana"]).expect_code(0);
    let plan = piton(&sandbox, &["plan"]);
    assert!(!plan.findings().contains(&"plan-changed".to_owned()));
    assert_eq!(plan.at("/data/next/0/step"), "1:4", "the run stays where it is");
}

/// A-D5: what the plan blocks, `begin` and `finish` refuse in its words; a step in progress may still end.
#[test]
fn begin_and_finish_refuse_what_the_plan_blocks() {
    let sandbox = super::projects::example("aios");
    let story = sandbox.read("docs/stories/epics/checkout/7.2.story.md");
    sandbox.remove("docs/stories/epics/checkout/7.2.story.md");
    let plan = sandbox.piton(["plan"]).run();
    assert_eq!(plan.at("/data/verdict"), "blocked", "{plan}");
    let blocking = plan.at("/findings/0/message");
    let begun = sandbox.piton(["begin", "7.2"]).run();
    assert_eq!((begun.code, begun.at("/error/message")), (plan.code, blocking), "{begun}");
    sandbox.file("docs/stories/epics/checkout/7.2.story.md", &story);
    sandbox.piton(["begin", "7.2"]).run().expect_code(0);
}

/// A-D4 and T3: the phases of dotagent have no word for a paused and for an aborted run, so both are in Piton's own log.
#[test]
fn an_aborted_run_of_dotagent_stays_aborted() {
    let sandbox = Sandbox::with_git();
    piton(&sandbox, &["start", "dotagent", "--feature", "demo"]).expect_code(0);
    let status = |sandbox: &Sandbox| piton(sandbox, &["status"]).at("/data/lifecycle");
    piton(&sandbox, &["pause", "--note", "lunch"]).expect_code(0);
    assert_eq!(status(&sandbox), json!({"stage": "paused", "reason": "lunch"}));
    piton(&sandbox, &["begin"]).expect_code(0);
    assert_eq!(status(&sandbox), json!({"stage": "open"}));
    piton(&sandbox, &["abort", "--by", "Bia", "--note", "no budget"]).expect_code(0);
    assert_eq!(status(&sandbox), json!({"stage": "aborted", "reason": "no budget"}));
    piton(&sandbox, &["list"]).expect_code(3);
    let listed = piton(&sandbox, &["list", "--all"]).expect_code(0);
    assert_eq!(listed.at("/data/runs/0/lifecycle"), json!({"stage": "aborted", "reason": "no budget"}));
    let refused = piton(&sandbox, &["begin"]).expect_code(9);
    assert_eq!(refused.at("/error/hints/0"), "piton resume demo --force");
    piton(&sandbox, &["resume", "demo", "--force", "--yes"]).expect_code(0);
    assert_eq!(status(&sandbox), json!({"stage": "open"}));
    piton(&sandbox, &["begin"]).expect_code(0);
}

/// What another program wrote after an abort counts: its run goes on.
#[test]
fn a_run_that_its_own_system_continued_is_not_aborted() {
    let sandbox = Sandbox::with_git();
    piton(&sandbox, &["start", "dotagent", "--feature", "demo"]).expect_code(0);
    piton(&sandbox, &["abort", "--note", "no budget"]).expect_code(0);
    let file = "memory/state/phase.json";
    let state = sandbox.read(file);
    let mut state: Value = serde_json::from_str(&state).unwrap();
    state["last_updated"] = json!("2999-01-01T00:00:00Z");
    state["phase_status"] = json!("in_progress");
    sandbox.file(file, &state.to_string());
    assert_eq!(piton(&sandbox, &["status"]).at("/data/lifecycle"), json!({"stage": "open"}));
}

/// What an earlier attempt left behind does not prove the one that was lost.
#[test]
fn a_lost_rework_of_a_session_is_done_again() {
    let sandbox = super::projects::ccw();
    piton(&sandbox, &["begin", "IMPL-002", "--take-over"]).expect_code(0);
    piton(&sandbox, &["finish", "IMPL-002", "--summary", "tokens are issued"]).expect_code(0);
    let summary = format!("{}/.summaries/IMPL-002-summary.md", super::projects::SESSION);
    assert!(sandbox.read(&summary).contains("tokens are issued"));
    let todo = format!("{}/TODO_LIST.md", super::projects::SESSION);
    let done = sandbox.read(&todo);
    piton(&sandbox, &["redo", "IMPL-002", "--by", "Bia", "--note", "not expired"]).expect_code(0);
    piton(&sandbox, &["begin", "IMPL-002"]).expect_code(0);
    let plan = sandbox.piton(["plan"]).real_clock().session("another").run();
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/0/action")), (json!("IMPL-002"), json!("retry")));
    assert!(!plan.findings().contains(&"status-drift".to_owned()), "{plan}");
    piton(&sandbox, &["finish", "IMPL-002", "--summary", "again"]).expect_code(0);
    assert_eq!(sandbox.read(&todo), done);
    assert!(sandbox.read(&summary).contains("tokens are issued"), "a summary is not replaced");
}

/// N-D9: a gate that is not reached yet cannot be approved, so `begin` does not say so.
#[test]
fn a_gate_behind_open_work_names_that_work() {
    let sandbox = Sandbox::with_git();
    piton(&sandbox, &["start", "nine-step", "--feature", "demo", "--phases", "2"]).expect_code(0);
    let approve = piton(&sandbox, &["approve", "1:2.5"]);
    let begin = piton(&sandbox, &["begin", "1:2.5"]).expect_code(approve.code);
    assert_eq!(begin.at("/error"), approve.at("/error"));
    assert!(begin.at("/error/message").as_str().unwrap().contains("comes after 1:2"), "{begin}");
}

/// A-D13: at the attempt limit of a dotagent task, each command that is recommended is taken.
#[test]
fn the_ways_out_of_the_limit_of_a_task_work() {
    let sandbox = Sandbox::with_git();
    crate::support::Tree::of(&crate::support::repository().join("examples/dotagent")).write_to(&sandbox.root());
    let piton = |arguments: &[&str]| sandbox.piton(arguments.iter().copied()).run();
    for _ in 0..3 {
        piton(&["begin", "task-002", "--take-over"]);
        piton(&["finish", "task-002", "--status", "failed", "--error", "no key"]);
    }
    let plan = piton(&["plan"]).expect_code(9);
    let options = plan.at("/data/question/options");
    let ids: Vec<&str> = options.as_array().unwrap().iter().map(|option| option["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["redo", "abort"], "the phases of dotagent have no word for a skipped task: {plan}");
    let refused = piton(&["begin", "task-002"]).expect_code(9);
    assert_eq!(refused.at("/error/hints/0"), options[0]["command"]);
    piton(&["redo", "task-002", "--by", "Bia", "--note", "the key is there now"]).expect_code(0);
    piton(&["begin", "task-002"]).expect_code(0);
}

/// The first of the worst texts: a rejection does not look like a success, and a step is named once.
#[test]
fn a_no_looks_like_one() {
    let sandbox = reviewed();
    let no = ["finish", "verify", "--verdict", "REJECTED", "--finding", "row counts differ", "--format", "text"];
    let said = piton(&sandbox, &no).expect_code(0);
    assert!(said.stdout.starts_with("✗ demo: verify is REJECTED\n"), "{said}");
    let plan = piton(&sandbox, &["plan"]);
    assert!(plan.stdout.contains("\"verify was rejected: a person decides how to continue\""), "{plan}");
}
