//! The third failure of a step and a rejection are for a person (docs/formats/nine-step.md#attempts-and-failures).

use serde_json::json;

use super::{Clock, STATE, piton, project, state};
use crate::support::Sandbox;

/// Lets the code review of phase 2 fail this often, with the rework in between.
fn fail(sandbox: &Sandbox, clock: &mut Clock, times: u32) {
    for round in 1..=times {
        if round > 1 {
            clock.piton(sandbox, 0, ["begin", "3"]);
            clock.piton(sandbox, 0, ["finish", "3"]);
        }
        clock.piton(sandbox, 0, ["begin", "4"]);
        let found = format!("- round {round}");
        clock.piton(sandbox, 0, ["finish", "4", "--verdict", "needs_revision", "--error", &found]);
    }
}

fn reviewed() -> Sandbox {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 3, "agent": "backend-developer", "status": "completed""#));
    sandbox
}

const REDO: &str = "piton redo 2:4 --run quotes --by NAME --note WHY";
const ACCEPT: &str = "piton accept 2:4 --run quotes --by NAME --note WHY";

#[test]
fn the_third_failure_of_a_review_waits_for_a_person() {
    let sandbox = reviewed();
    let clock = &mut Clock(0);
    fail(&sandbox, clock, 2);
    assert_eq!(piton(&sandbox, 0, ["plan"]).at("/data/verdict"), "resume");
    clock.piton(&sandbox, 0, ["begin", "3"]);
    clock.piton(&sandbox, 0, ["finish", "3"]);
    clock.piton(&sandbox, 0, ["begin", "4"]);
    clock.piton(&sandbox, 0, ["finish", "4", "--verdict", "needs_revision", "--error", "- round 3"]);

    let plan = piton(&sandbox, 9, ["plan"]);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert_eq!(plan.findings()[0], "attempt-limit");
    assert_eq!(plan.at("/data/next/0/step"), "2:3");
    let message = "2:4 (Code review) failed 3 times \
                   (attempt 1: round 1; attempt 2: round 2; attempt 3: round 3)";
    assert_eq!(plan.at("/findings/0/message"), message);
    assert_eq!(plan.at("/data/question/text"), format!("⚠️ Same Step failed 3+ times. {message}. Continue anyway?"));
    assert_eq!(plan.at("/data/question/default"), json!(null));
    assert_eq!(plan.at("/data/commands/resume"), json!(null));

    let before = sandbox.read(STATE);
    let refused = clock.piton(&sandbox, 9, ["begin", "3"]);
    assert!(refused.at("/error/message").as_str().unwrap().starts_with("2:4 (Code review) failed 3 times"));
    clock.piton(&sandbox, 9, ["resume"]);
    clock.piton(&sandbox, 9, ["resume", "--yes"]);
    assert_eq!(sandbox.read(STATE), before);
}

#[test]
fn the_text_says_so_with_the_question_and_its_answers() {
    let sandbox = reviewed();
    fail(&sandbox, &mut Clock(0), 3);
    let output = piton(&sandbox, 9, ["plan", "--format", "text"]);
    let start = output.stdout.find("⚠️ Same Step").expect("the question is there");
    insta::assert_snapshot!(&output.stdout[start..], @r"
    ⚠️ Same Step failed 3+ times. 2:4 (Code review) failed 3 times (attempt 1: round 1; attempt 2: round 2; attempt 3: round 3). Continue anyway?
    → piton redo 2:4 --run quotes --by NAME --note WHY   # try it once more
    → piton accept 2:4 --run quotes --by NAME --note WHY   # accept it as it is
    → piton skip --phase 2 --run quotes --reason TEXT --by NAME   # leave out what is open in phase 2
    → piton abort quotes   # abort the run
    ");
}

#[test]
fn a_person_may_have_another_round() {
    let sandbox = reviewed();
    let clock = &mut Clock(0);
    fail(&sandbox, clock, 3);
    let before = sandbox.read(STATE);
    let refused = clock.piton(&sandbox, 9, ["approve", "4", "--by", "ana"]);
    assert_eq!(refused.at("/error/hints"), json!([REDO, ACCEPT, "piton abort quotes"]), "approve is for gates");
    let decided = clock.piton(&sandbox, 0, ["redo", "3", "--by", "ana", "--note", "one more time"]);
    assert_eq!(decided.at("/data/message"), "2:4 is reopened by a person", "the review whose limit was reached");
    assert_eq!(sandbox.read(STATE), before);
    let plan = piton(&sandbox, 0, ["plan"]);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/0/action")), (json!("2:3"), json!("return")));
    let context = piton(&sandbox, 0, ["context"]);
    assert_eq!(context.at("/data/findings_to_address"), json!(["round 3"]));
    assert_eq!(context.at("/data/decisions/0/note"), json!("one more time"));
    let again = clock.piton(&sandbox, 0, ["redo", "4"]);
    assert_eq!(again.at("/data/recorded"), false, "it can be begun as it is");
    clock.piton(&sandbox, 0, ["begin", "3"]);
    clock.piton(&sandbox, 0, ["finish", "3"]);
    clock.piton(&sandbox, 0, ["begin", "4"]);
    clock.piton(&sandbox, 0, ["finish", "4", "--verdict", "needs_revision"]);
    let plan = piton(&sandbox, 9, ["plan"]);
    assert!(
        plan.at("/findings/0/message").as_str().unwrap().contains("failed 4 times"),
        "one round, not three: {plan}"
    );
}

#[test]
fn an_approval_resets_the_count() {
    let sandbox = reviewed();
    let clock = &mut Clock(0);
    fail(&sandbox, clock, 2);
    clock.piton(&sandbox, 0, ["begin", "3"]);
    clock.piton(&sandbox, 0, ["finish", "3"]);
    clock.piton(&sandbox, 0, ["begin", "4"]);
    clock.piton(&sandbox, 0, ["finish", "4", "--verdict", "approved"]);
    clock.piton(&sandbox, 1, ["begin", "4"]);
    clock.piton(&sandbox, 0, ["redo", "4"]);
    clock.piton(&sandbox, 0, ["begin", "4"]);
    clock.piton(&sandbox, 0, ["finish", "4", "--verdict", "needs_revision"]);
    assert_eq!(piton(&sandbox, 0, ["plan"]).at("/data/next/0/step"), "2:3");
}

#[test]
fn force_tries_once_more() {
    let sandbox = reviewed();
    let clock = &mut Clock(0);
    fail(&sandbox, clock, 3);
    let forced = piton(&sandbox, 9, ["plan", "--force"]);
    assert_eq!(
        (forced.at("/data/verdict"), forced.findings()[0].clone()),
        (json!("confirm"), "override-forced".to_owned())
    );
    assert_eq!(forced.at("/data/commands/begin"), json!(null), "before the resume it would be refused");
    clock.piton(&sandbox, 9, ["begin", "3"]);
    clock.piton(&sandbox, 0, ["resume", "--force", "--yes"]);
    clock.piton(&sandbox, 0, ["begin", "3"]);
    assert_eq!(piton(&sandbox, 0, ["context"]).at("/data/findings_to_address"), json!(["round 3"]));
    clock.piton(&sandbox, 0, ["finish", "3"]);
    clock.piton(&sandbox, 0, ["begin", "4"]);
    clock.piton(&sandbox, 0, ["finish", "4", "--verdict", "needs_revision", "--error", "round 4"]);
    let plan = piton(&sandbox, 9, ["plan"]);
    assert!(plan.at("/findings/0/message").as_str().unwrap().contains("failed 4 times"), "{plan}");
}

#[test]
fn work_that_fails_three_times_can_be_skipped_or_tried_once_more_but_not_approved() {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 4, "status": "approved""#));
    let clock = &mut Clock(0);
    for _ in 0..3 {
        clock.piton(&sandbox, 0, ["begin", "5"]);
        clock.piton(&sandbox, 0, ["finish", "5", "--error", "out of memory"]);
    }
    let plan = piton(&sandbox, 9, ["plan"]);
    assert_eq!(plan.findings()[0], "attempt-limit");
    let fix = "a person decides: `piton redo 2:5 --run quotes --by NAME --note WHY` to try it once more, or \
               `piton skip 2:5 --run quotes --reason TEXT` to go on without it, or `piton abort quotes` to give up";
    assert_eq!(plan.at("/findings/0/fix"), fix);
    clock.piton(&sandbox, 9, ["begin", "5"]);
    clock.piton(&sandbox, 1, ["approve", "5"]);
    clock.piton(&sandbox, 0, ["redo", "5"]);
    assert_eq!(piton(&sandbox, 0, ["plan", "--steps"]).at("/data/next/0/rule"), "4.redo");
    clock.piton(&sandbox, 0, ["begin", "5"]);
}

#[test]
fn attempts_that_another_tool_counted_are_counted() {
    for field in [r#""attempt": 3"#, r#""attempts": 3"#, r#""revision_count": 3"#] {
        let sandbox = project();
        let last = format!(r#""phase": 2, "step": 4, "status": "failed", {field}"#);
        sandbox.file(STATE, &state(&last));
        assert_eq!(piton(&sandbox, 9, ["plan"]).findings(), ["attempt-limit"], "{field}");
    }
}

#[test]
fn a_rejection_is_never_repeated_automatically() {
    let sandbox = reviewed();
    let clock = &mut Clock(0);
    clock.piton(&sandbox, 0, ["begin", "4"]);
    clock.piton(&sandbox, 0, ["finish", "4", "--verdict", "REJECTED", "--error", "wrong approach"]);
    for arguments in [vec!["plan"], vec!["--mode", "autopilot", "plan"], vec!["resume"], vec!["resume", "--yes"]] {
        let output = sandbox.piton(arguments.iter().copied()).run().expect_code(9);
        assert_eq!(output.at("/data/verdict"), "blocked", "{output}");
        assert_eq!(output.findings()[0], "rejected");
        let commands = [0, 1, 2].map(|at| output.at(&format!("/data/question/options/{at}/command")));
        let expected = [
            "piton redo 2:4 --run quotes --by NAME --note WHY",
            "piton accept 2:4 --run quotes --by NAME --note WHY",
            "piton abort quotes",
        ];
        assert_eq!(commands, expected, "{output}");
    }
    clock.piton(&sandbox, 9, ["begin", "3"]);
    clock.piton(&sandbox, 9, ["approve", "4"]);
    clock.piton(&sandbox, 0, ["redo", "4"]);
    let plan = piton(&sandbox, 0, ["plan"]);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/0/action")), (json!("2:3"), json!("return")));
    assert_eq!(piton(&sandbox, 0, ["context"]).at("/data/findings_to_address"), json!(["wrong approach"]));
}

#[test]
fn a_person_can_accept_what_a_reviewer_did_not() {
    let sandbox = reviewed();
    let clock = &mut Clock(0);
    fail(&sandbox, clock, 3);
    let before = sandbox.read(STATE);
    let refused = piton(&sandbox, 9, ["finish", "4", "--verdict", "APPROVED", "--agent", "user"]);
    assert_eq!(refused.at("/error/hints"), json!([REDO, ACCEPT, "piton abort quotes"]));
    assert_eq!(sandbox.read(STATE), before, "another word about the same work lifts nothing");
    clock.piton(&sandbox, 0, ["accept", "4", "--by", "Bia", "--note", "known"]);
    let decision = piton(&sandbox, 0, ["plan"]).at("/data/decisions/0");
    assert_eq!((&decision["decision"], &decision["by"]), (&json!("accept"), &json!("Bia")), "{decision}");
    assert_eq!(piton(&sandbox, 0, ["plan"]).at("/data/next/0/step"), "2:5");
}

#[test]
fn gates_and_reviews_are_never_skipped() {
    let sandbox = project();
    sandbox.file(STATE, &state(r#""phase": 2, "step": 3, "status": "completed""#));
    let before = sandbox.read(STATE);
    piton(&sandbox, 9, ["skip", "4", "--reason", "hurry"]);
    piton(&sandbox, 9, ["plan", "--skip", "4"]);
    piton(&sandbox, 9, ["begin", "5"]);
    piton(&sandbox, 9, ["override", "5"]);
    assert_eq!(sandbox.read(STATE), before);
    sandbox.file(STATE, &state(r#""phase": 2, "step": 2, "status": "approved""#));
    piton(&sandbox, 9, ["skip", "2.5", "--reason", "hurry"]);
    piton(&sandbox, 9, ["begin", "3"]);
    piton(&sandbox, 9, ["override", "3"]);
    piton(&sandbox, 9, ["finish", "2.5"]);
}
