//! Every flag of the resume command (docs/formats/ccw.md#flags-of-the-resume-command): what it plans, what it refuses, and what
//! `resume` records of it.

use serde_json::{Value, json};

use super::session::{Session, next, told};
use crate::support::NOW;

/// One task done, two independent ones open, one that waits for the first of them, one that waits for that.
fn session() -> Session {
    let session = Session::new();
    session.tasks(&[
        ("IMPL-1", "completed", &[]),
        ("IMPL-2", "pending", &["IMPL-1"]),
        ("IMPL-3", "pending", &["IMPL-1"]),
        ("IMPL-4", "pending", &["IMPL-2"]),
        ("IMPL-5", "pending", &["IMPL-4", "IMPL-3"]),
    ]);
    session.summaries(&["IMPL-1"]);
    session.todo(&[("IMPL-1", 'x'), ("IMPL-2", ' '), ("IMPL-3", ' '), ("IMPL-4", ' '), ("IMPL-5", ' ')]);
    session
}

#[test]
fn from_chooses_steps_whose_dependencies_are_met() {
    let session = session();
    for (flags, expected) in [
        ("", vec!["run IMPL-2", "run IMPL-3"]),
        ("--from IMPL-3", vec!["run IMPL-3"]),
        ("--from impl-3", vec!["run IMPL-3"]),
        ("--from IMPL-003", vec!["run IMPL-3"]),
        ("--from IMPL-3,impl-2", vec!["run IMPL-2", "run IMPL-3"]),
        ("--from IMPL-3 --from IMPL-2", vec!["run IMPL-2", "run IMPL-3"]),
        ("--parallel --from IMPL-2,IMPL-3", vec!["run IMPL-2", "run IMPL-3"]),
        ("--if-dependencies-met --from IMPL-2", vec!["run IMPL-2"]),
    ] {
        let plan = session.plan(flags).expect_code(0);
        assert_eq!(next(&plan), expected, "{flags}");
        assert_eq!(plan.findings().contains(&"override".to_owned()), !flags.is_empty(), "{flags}\n{plan}");
    }
}

#[test]
fn from_with_unmet_dependencies_is_refused_with_the_chain_unless_forced() {
    let session = session();
    let plan = session.plan("--from IMPL-5").expect_code(9);
    assert_eq!(plan.at("/data/verdict"), "blocked");
    assert_eq!(next(&plan), [""; 0]);
    assert_eq!(
        told(&plan, "override-refused"),
        ["IMPL-5: IMPL-5 still waits for IMPL-4, IMPL-3 (IMPL-5 waits for IMPL-4 waits for IMPL-2)"]
    );
    let forced = session.plan("--from IMPL-5 --force").expect_code(9);
    assert_eq!(forced.at("/data/verdict"), "confirm");
    assert_eq!(next(&forced), ["run IMPL-5"]);
    assert_eq!(told(&forced, "override-forced"), ["IMPL-5: IMPL-5 was forced although it waits for IMPL-4, IMPL-3"]);
}

#[test]
fn if_dependencies_met_answers_no_instead_of_refusing() {
    let session = session();
    let plan = session.plan("--if-dependencies-met --from IMPL-4").expect_code(1);
    assert_eq!(next(&plan), [""; 0]);
    assert_eq!(told(&plan, "dependency-block")[0], "IMPL-4: IMPL-4 still waits for IMPL-2");
    session.plan("--if-dependencies-met --force --from IMPL-4").expect_code(2);
    let before = session.sandbox.tree();
    session.call("resume --yes --if-dependencies-met --from IMPL-4").run().expect_code(1);
    assert_eq!(before.changes(&session.sandbox.tree()), [""; 0]);
}

#[test]
fn dependent_steps_cannot_run_side_by_side() {
    let session = session();
    for flags in ["--parallel --from IMPL-2,IMPL-4", "--parallel --from IMPL-2,IMPL-5 --force"] {
        let plan = session.plan(flags).expect_code(9);
        assert_eq!(next(&plan), [""; 0], "{flags}");
        assert!(told(&plan, "override-refused")[0].ends_with("they cannot run in parallel"), "{plan}");
    }
}

#[test]
fn retry_takes_the_named_or_the_first_failed_task() {
    let session = session();
    session.tasks(&[("IMPL-2", "failed", &["IMPL-1"]), ("IMPL-3", "in_progress", &["IMPL-1"])]);
    for (flags, code, expected) in [
        ("--retry", 0, vec!["retry IMPL-2"]),
        ("--retry impl-3", 0, vec!["retry IMPL-3"]),
        ("--retry IMPL-4", 9, vec![]),
        ("--retry IMPL-1", 9, vec![]),
        ("--retry IMPL-1 --force", 0, vec!["retry IMPL-1"]),
        ("--retry IMPL-77", 3, vec![]),
    ] {
        let plan = session.plan(flags).expect_code(code);
        assert_eq!(next(&plan), expected, "{flags}");
    }
    session.plan("--retry --from IMPL-2").expect_code(2);
    assert_eq!(
        told(&session.plan("--retry IMPL-4"), "override-refused"),
        ["IMPL-4: IMPL-4 neither failed nor was interrupted, so there is nothing to retry"]
    );
    session.tasks(&[("IMPL-2", "pending", &["IMPL-1"]), ("IMPL-3", "pending", &["IMPL-1"])]);
    let nothing = session.plan("--retry").expect_code(9);
    assert_eq!(told(&nothing, "override-refused"), ["--retry found no step that failed or was interrupted"]);
}

#[test]
fn skip_unblocks_dependents_and_says_so() {
    let session = session();
    session.tasks(&[("IMPL-2", "blocked", &["IMPL-9"])]);
    let plan = session.plan("--skip impl-2").expect_code(0);
    assert_eq!(next(&plan), ["run IMPL-3", "run IMPL-4"]);
    assert_eq!(plan.at("/data/steps/skipped"), json!(["IMPL-2"]));
    assert_eq!(told(&plan, "dependency-skipped"), ["IMPL-4: IMPL-4 is ready although IMPL-2 was skipped"]);
    assert_eq!(next(&session.plan("--skip IMPL-2 --from IMPL-4").expect_code(0)), ["run IMPL-4"]);
    assert_eq!(next(&session.plan("--skip IMPL-2,IMPL-3 --from IMPL-4").expect_code(0)), ["run IMPL-4"]);
    let done = session.plan("--skip IMPL-1").expect_code(9);
    assert_eq!(told(&done, "override-refused"), ["IMPL-1: IMPL-1 cannot be skipped: it is done"]);
}

#[test]
fn resume_records_skipped_and_resumed_steps() {
    let session = session();
    let execution =
        json!({"attempts": 1, "last_attempt": "2026-01-31T10:00:00Z", "interruption_reason": "agent_timeout"});
    session.task("IMPL-2", &json!({"status": "in_progress", "depends_on": ["IMPL-1"], "execution": execution}));
    let resumed = session.ok("resume --yes --skip IMPL-2 --from IMPL-4");
    assert_eq!(resumed.at("/data/next/0/step"), "IMPL-4", "{resumed}");
    let skipped = session.json(".task/IMPL-2.json");
    assert_eq!(skipped["status"], "skipped");
    assert_eq!(
        skipped["status_history"],
        json!([{"from": "in_progress", "to": "skipped", "changed_at": NOW, "note": "skipped on resume"}])
    );
    let state = session.json("workflow-session.json");
    assert_eq!((&state["resume_count"], &state["last_execute_run"]), (&json!(1), &json!(NOW)));
    assert_eq!(state["interruption_history"], Value::Null, "IMPL-4 was not interrupted");
    assert_eq!(next(&session.plan("")), ["run IMPL-3", "run IMPL-4"]);
}

#[test]
fn a_forced_resume_says_what_was_forced_and_asks_first() {
    let session = session();
    let before = session.sandbox.tree();
    let asked = session.call("resume --from IMPL-5 --force").run().expect_code(9);
    assert!(asked.findings().contains(&"override-forced".to_owned()), "{asked}");
    assert_eq!(before.changes(&session.sandbox.tree()), [""; 0]);
    session.call("begin IMPL-5").run().expect_code(1);
    session.ok("resume --from IMPL-5 --force --yes");
    session.ok("begin IMPL-5");
    assert_eq!(session.json(".task/IMPL-5.json")["status"], "in_progress");
}

#[test]
fn an_unknown_id_is_named_with_those_there_are() {
    let unknown = session().plan("--from IMPL-9").expect_code(3);
    assert_eq!(unknown.at("/error/message"), "run WFS-x has no step `IMPL-9`");
    assert_eq!(unknown.at("/error/hints/0"), "there are IMPL-1, IMPL-2, IMPL-3, IMPL-4, IMPL-5");
}

/// An id with a comma is not split if a step has that name.
#[test]
fn ids_with_a_comma_are_chosen_by_repeating_the_flag() {
    let session = Session::new();
    let ids = ["IMPL-1", "IMPL-1,IMPL-2", "IMPL-2", "IMPL-3,x"];
    session.tasks(&ids.map(|id| (id, "pending", [].as_slice())));
    for (flags, expected, again) in [
        ("--from IMPL-1,IMPL-2", &["run IMPL-1,IMPL-2"][..], "--from IMPL-1,IMPL-2"),
        ("--from IMPL-2,IMPL-1", &["run IMPL-1", "run IMPL-2"], "--from IMPL-2 --from IMPL-1"),
        ("--from IMPL-1 --from IMPL-2", &["run IMPL-1", "run IMPL-2"], "--from IMPL-1 --from IMPL-2"),
        ("--from IMPL-3,x --from IMPL-2", &["run IMPL-2", "run IMPL-3,x"], "--from IMPL-3,x --from IMPL-2"),
    ] {
        let plan = session.plan(flags).expect_code(0);
        assert_eq!(next(&plan), expected, "{flags}");
        assert_eq!(plan.at("/data/commands/resume"), format!("piton resume WFS-x {again}"), "{flags}");
        assert_eq!(next(&session.plan(again).expect_code(0)), expected, "{again}");
    }
    session.plan("--from IMPL-1,x").expect_code(3);
    session.ok("resume --yes --skip IMPL-1,IMPL-2 --skip IMPL-3,x --skip IMPL-1,IMPL-1");
    let skipped = session.plan("").at("/data/steps/skipped");
    assert_eq!(skipped, json!(["IMPL-1", "IMPL-1,IMPL-2", "IMPL-3,x"]));
}

/// The last open task can be skipped by a resume too: that is recorded, and asked about in the plan.
#[test]
fn a_resume_that_skips_the_last_task_records_that() {
    let session = Session::new();
    session.tasks(&[("IMPL-1", "completed", &[]), ("IMPL-2", "pending", &["IMPL-1"])]);
    let plan = session.plan("--skip IMPL-2").expect_code(0);
    assert_eq!(plan.at("/data/question/options/0/command"), "piton resume WFS-x --skip IMPL-2 --yes", "{plan}");
    assert_eq!(session.json(".task/IMPL-2.json")["status"], "pending");
    if let Some(declined) = session.call("--format text resume --skip IMPL-2").on_terminal("n\n") {
        let yes = "→ when you do: piton resume WFS-x --skip IMPL-2 --yes";
        assert!(declined.stderr.contains(yes), "{declined}");
    }
    let resumed = session.ok("resume --skip IMPL-2 --yes");
    assert_eq!(resumed.at("/data/verdict"), "complete");
    assert_eq!(session.json(".task/IMPL-2.json")["status"], "skipped");
    assert_eq!(session.plan("").expect_code(0).at("/data/question"), json!(null));
}
