//! What agents report and people decide is kept, and reaches those who build on it.

use serde_json::json;

use super::projects;
use crate::support::{Output, Sandbox};

const FLOW: &str = "\
name: flow
steps:
  - {id: plan, agent: planner}
  - {id: code, agent: coder, depends_on: plan}
  - {id: check, agent: reviewer, depends_on: code, returns_to: code}
  - {id: docs, agent: writer, depends_on: check}
";

fn piton<'a>(sandbox: &'a Sandbox, arguments: &[&'a str]) -> Output {
    sandbox.piton(arguments.iter().copied()).real_clock().run()
}

fn started() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("flow.yaml", FLOW);
    piton(&sandbox, &["start", "flow.yaml", "--feature", "demo"]).expect_code(0);
    sandbox
}

fn finish<'a>(sandbox: &'a Sandbox, step: &'a str, said: &[&'a str]) -> Output {
    piton(sandbox, &["begin", step]).expect_code(0);
    piton(sandbox, &[&["finish", step], said].concat())
}

/// N-D5, A-D3; row 5 of the client page.
#[test]
fn a_report_reaches_the_brief_the_status_the_plan_and_the_history() {
    let sandbox = started();
    sandbox.file("notes.md", "three files\n");
    let said = ["--agent", "planner", "--summary", "Three files, no migration", "--output", "notes.md"];
    finish(&sandbox, "plan", &said).expect_code(0);
    let brief = piton(&sandbox, &["context"]).expect_code(0);
    let report = brief.at("/data/reports/0");
    assert_eq!(report["summary"], "Three files, no migration");
    assert_eq!(
        (&report["step"], &report["agent"], &report["files"]),
        (&json!("plan"), &json!("planner"), &json!(["notes.md"]))
    );
    assert_eq!(piton(&sandbox, &["plan"]).at("/data/reports/0/summary"), "Three files, no migration");
    for shown in [
        &["context", "--format", "text"][..],
        &["plan", "-v", "--format", "text"],
        &["status", "-v", "--format", "text"],
        &["history", "--changes", "--format", "text"],
    ] {
        let shown = piton(&sandbox, shown);
        assert!(shown.stdout.contains("plan is completed by planner: Three files, no migration"), "{shown}");
        let is_on_its_line = |line: &str| line.trim() == "Files: notes.md";
        assert!(shown.stdout.lines().any(is_on_its_line), "{shown}");
    }
    finish(&sandbox, "code", &["--summary", "Written"]).expect_code(0);
    let reports = piton(&sandbox, &["context"]).at("/data/reports");
    assert_eq!(reports[0]["summary"], "Written", "the nearest first: {reports}");
    assert_eq!((&reports[1]["step"], &reports[1]["files"]), (&json!("plan"), &json!(null)), "older ones in a line");
}

#[test]
fn what_a_review_found_reaches_the_rework_and_a_decision_everybody_after_it() {
    let sandbox = started();
    finish(&sandbox, "plan", &[]).expect_code(0);
    finish(&sandbox, "code", &["--summary", "Written"]).expect_code(0);
    let asked = piton(&sandbox, &["context"]).at("/data/report");
    for word in ["piton finish check --run demo --verdict VERDICT", "NEEDS_REVISION or REJECTED", "--finding TEXT"] {
        assert!(asked.as_str().expect("a text").contains(word), "the brief says how to report back: {asked}");
    }
    let no =
        ["--verdict", "REJECTED", "--summary", "Rows differ", "--finding", "no test", "--finding", "row counts differ"];
    finish(&sandbox, "check", &no).expect_code(0);
    let brief = piton(&sandbox, &["context", "--step", "code"]);
    assert_eq!(brief.at("/data/reports/0/verdict"), "REJECTED", "{brief}");
    assert_eq!(brief.at("/data/reports/0/findings"), json!(null), "they are said once, as findings to address");
    assert_eq!(brief.at("/data/findings_to_address"), json!(["no test", "row counts differ"]));
    for verdict in ["APPROVED", "APPROVED_WITH_CONDITIONS"] {
        let refused = piton(&sandbox, &["finish", "check", "--verdict", verdict, "--condition", "later"]);
        assert_eq!(refused.code, 9, "{refused}");
        assert!(refused.at("/error/message").as_str().expect("a text").contains("is REJECTED: no test"), "{refused}");
    }
    assert_eq!(piton(&sandbox, &["begin", "check"]).code, 9, "nor is the same work reviewed again");
    piton(&sandbox, &["accept", "check", "--by", "Bia", "--note", "known, #7"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["plan"]).expect_code(0).at("/data/next/0/step"), "docs");
    assert_eq!(piton(&sandbox, &["accept", "check"]).expect_code(0).at("/data/recorded"), false);
    assert_eq!(piton(&sandbox, &["accept", "docs"]).code, 1, "no review said no to it");
    let brief = piton(&sandbox, &["context", "--step", "docs"]);
    let decision = brief.at("/data/decisions/0");
    assert_eq!(
        (&decision["step"], &decision["by"], &decision["note"]),
        (&json!("check"), &json!("Bia"), &json!("known, #7"))
    );
    assert_eq!(decision["despite"], "REJECTED: no test row counts differ");
    let shown = piton(&sandbox, &["context", "--step", "docs", "--format", "text"]);
    let sentence = "check was accepted by Bia although it was REJECTED: no test row counts differ. Note: known, #7";
    assert!(shown.stdout.contains(sentence), "{shown}");
}

#[test]
fn a_report_that_cannot_be_kept_refuses_the_change() {
    let sandbox = started();
    piton(&sandbox, &["begin", "plan"]).expect_code(0);
    sandbox.remove(".piton/runs/demo/reports.jsonl").dir(".piton/runs/demo/reports.jsonl");
    let state = || sandbox.read(".piton/runs/demo/journal.jsonl");
    let before = state();
    let output = piton(&sandbox, &["finish", "plan", "--summary", "Done"]);
    assert_ne!(output.code, 0, "{output}");
    assert!(output.stdout.contains("reports.jsonl"), "{output}");
    assert!(state() == before, "the state is as it was");
    piton(&sandbox, &["finish", "plan"]).expect_code(0);
}

#[test]
fn reports_of_a_linked_work_tree_are_kept_at_the_top_of_the_main_one() {
    let sandbox = projects::nine_step();
    let plan = sandbox.piton(["plan"]).run();
    let step = plan.at("/data/next/0/step").as_str().unwrap().to_owned();
    sandbox.piton(["begin", step.as_str()]).run().expect_code(0);
    sandbox.piton(["finish", step.as_str(), "--summary", "Reworked"]).run().expect_code(0);
    let log = sandbox.read(".piton/reports.jsonl");
    assert!(log.lines().any(|line| line.contains("\"summary\":\"Reworked\"")), "{log}");
}

/// New work lifts a no: then the review is asked again.
#[test]
fn after_rework_the_review_may_approve() {
    let sandbox = started();
    finish(&sandbox, "plan", &[]).expect_code(0);
    finish(&sandbox, "code", &[]).expect_code(0);
    finish(&sandbox, "check", &["--verdict", "NEEDS_REVISION", "--finding", "no test"]).expect_code(0);
    let refused = piton(&sandbox, &["finish", "check", "--verdict", "APPROVED"]);
    let hints = json!([
        "piton begin code --run demo",
        "piton accept check --run demo --by NAME --note WHY",
        "piton abort demo"
    ]);
    assert_eq!((refused.code, refused.at("/error/hints")), (9, hints), "{refused}");
    assert_eq!(piton(&sandbox, &["begin", "check"]).code, 9, "the same work is not reviewed again");
    finish(&sandbox, "code", &["--summary", "Tested"]).expect_code(0);
    let brief = piton(&sandbox, &["begin", "check"]).expect_code(0);
    assert_eq!(brief.at("/data/brief/reports/1/summary"), "Tested", "{brief}");
    piton(&sandbox, &["finish", "check", "--verdict", "APPROVED"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["plan"]).at("/data/next/0/step"), "docs");
}

#[test]
fn a_commit_is_the_one_that_git_knows() {
    let sandbox = Sandbox::with_git();
    sandbox.file("flow.yaml", FLOW);
    let sha = sandbox.commit("first");
    piton(&sandbox, &["start", "flow.yaml", "--feature", "demo"]).expect_code(0);
    piton(&sandbox, &["begin", "plan"]).expect_code(0);
    let before = sandbox.read(".git/piton/runs/demo/journal.jsonl");
    for name in ["--commit=nosuch", "--commit=0123456", "--commit=--all", "--commit=HEAD:flow.yaml"] {
        let refused = piton(&sandbox, &["finish", "plan", name]);
        assert_eq!(refused.code, 2, "{refused}");
        let named = format!("git knows no commit `{}`", &name["--commit=".len()..]);
        assert!(refused.at("/error/message").as_str().expect("a text").contains(&named), "{refused}");
    }
    assert_eq!(sandbox.read(".git/piton/runs/demo/journal.jsonl"), before, "nothing was recorded");
    piton(&sandbox, &["finish", "plan", "--commit", "HEAD"]).expect_code(0);
    assert_eq!(piton(&sandbox, &["context"]).at("/data/reports/0/commit"), json!(sha.trim()));
    let refused = piton(&started(), &["finish", "plan", "--commit", "word"]);
    assert_eq!(refused.code, 2, "without a repository only an id is taken: {refused}");
}

/// N-D18.
#[test]
fn a_verdict_is_taken_as_json_in_the_words_of_the_flag() {
    let sandbox = started();
    finish(&sandbox, "plan", &[]).expect_code(0);
    finish(&sandbox, "code", &[]).expect_code(0);
    piton(&sandbox, &["begin", "check"]).expect_code(0);
    let change = r#"{"step":"check","verdict":"approved with conditions","conditions":["keep it small"]}"#;
    let output = sandbox.piton(["finish", "--json", "-"]).real_clock().stdin(change).run().expect_code(0);
    assert!(output.at("/data/message").as_str().expect("a text").contains("APPROVED_WITH_CONDITIONS"), "{output}");
}
