//! Gates that offer answers, and gates that stop waiting.

use super::support::Stage;
use crate::support::Output;

const FLOW: &str = r#"name: release
steps:
- {id: draft, agent: writer}
- id: approval
  gate: the release manager
  options: {publish: continue, hold: stop, rework: {return: draft}}
- {id: publish, shell: 'echo ${approval.choice} ${approval.note} >> LOG'}
"#;

fn started(flow: &str) -> Stage {
    let stage = Stage::in_place(flow);
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage
}

fn draft(stage: &Stage) -> Output {
    stage.piton(["begin", "draft", "--run", "x"]).run().expect_code(0);
    stage.piton(["finish", "draft", "--run", "x"]).run().expect_code(0)
}

fn choose(stage: &Stage, option: &str, note: &str) -> Output {
    stage.piton(["approve", "approval", "--run", "x", "--choose", option, "--by", "Ann", "--note", note]).run()
}

fn next(stage: &Stage) -> String {
    let plan = stage.piton(["--format", "json", "plan", "x"]).run();
    let next = plan.at("/data/next/0");
    format!("{} {}", next["action"].as_str().unwrap_or(""), next["step"].as_str().unwrap_or(""))
}

#[test]
fn an_answer_continues_stops_or_goes_back() {
    let stage = started(FLOW);
    draft(&stage);
    let plan = stage.piton(["--format", "json", "plan", "x"]).run();
    let options = plan.at("/data/question/options");
    let options: Vec<&str> = options.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap()).collect();
    assert_eq!(options, ["publish", "hold", "rework", "pause"], "{plan}");
    let waits = stage.piton(["run", "x"]).run().expect_code(9);
    assert!(waits.stderr.contains("the release manager: publish, hold, rework"), "{waits}");
    for word in ["publish", "hold", "rework"] {
        let command = format!("→ piton approve approval --run x --choose {word} --by NAME --note WHY\n");
        assert!(waits.stderr.contains(&command), "{waits}");
    }
    let json = stage.piton(["--format", "json", "run", "x"]).run().expect_code(9);
    assert_eq!(json.at("/data/waits_for/commands").as_array().map(Vec::len), Some(3), "{json}");

    choose(&stage, "hold", "not on a Friday").expect_code(0);
    assert_eq!(next(&stage), "approve approval", "a stop leaves the gate closed");
    let paused = stage.piton(["--format", "json", "plan", "x"]).run();
    assert!(paused.stdout.contains("Ann chose hold: not on a Friday"), "{paused}");
    stage.piton(["run", "x"]).run().expect_code(9);
    assert_eq!(stage.executions(), [""; 0]);

    choose(&stage, "rework", "the date is wrong").expect_code(0);
    assert_eq!(next(&stage), "return draft");
    let brief = stage.piton(["begin", "draft", "--run", "x"]).run().expect_code(0);
    assert!(brief.to_string().contains("Ann chose rework: the date is wrong"), "{brief}");
    stage.piton(["finish", "draft", "--run", "x"]).run().expect_code(0);
    assert_eq!(next(&stage), "approve approval", "the work that it went back to is done again");

    choose(&stage, "publish", "go").expect_code(0);
    stage.piton(["run", "x"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["publish go"]);
    let status = stage.piton(["-v", "status", "x"]).run();
    assert!(status.to_string().contains("publish"), "{status}");
}

#[test]
fn an_answer_that_the_gate_does_not_have_is_refused() {
    let stage = started(FLOW);
    draft(&stage);
    let before = stage.piton(["--format", "json", "plan", "x"]).run().at("/data/run/revision").clone();
    let bare = stage.piton(["approve", "approval", "--run", "x", "--by", "Ann"]).run().expect_code(2);
    assert!(bare.to_string().contains("takes one of publish, hold, rework"), "{bare}");
    assert!(bare.to_string().contains("piton approve approval --run x --choose hold --by NAME"), "{bare}");
    let near = choose(&stage, "publsh", "x").expect_code(2);
    assert!(near.to_string().contains("did you mean `publish`?"), "{near}");
    stage.piton(["finish", "approval", "--run", "x"]).run().expect_code(9);
    let after = stage.piton(["--format", "json", "plan", "x"]).run().at("/data/run/revision").clone();
    assert_eq!(before, after, "nothing is recorded");

    let plain = started("steps: [{id: draft, agent: a}, {id: approval, gate: true}]\n");
    draft(&plain);
    let message = choose(&plain, "publish", "x").expect_code(2);
    assert!(message.to_string().contains("has no answers to choose from"), "{message}");
    plain.piton(["approve", "approval", "--run", "x", "--by", "Ann"]).run().expect_code(0);
}

#[test]
fn a_gate_that_is_not_answered_in_its_time_stops_the_run_until_it_is_asked_again() {
    let stage = started(
        "steps: [{id: draft, agent: a}, {id: approval, gate: Ann, timeout: 2d, on_timeout: stop}, {shell: echo end >> LOG}]\n",
    );
    let at = |time: &str, words: &[&str]| {
        let words: Vec<&str> = ["--now", time].into_iter().chain(words.iter().copied()).collect();
        stage.piton(words).run()
    };
    at("2030-01-01T00:00:00Z", &["begin", "draft", "--run", "x"]).expect_code(0);
    at("2030-01-01T01:00:00Z", &["finish", "draft", "--run", "x"]).expect_code(0);
    at("2030-01-03T00:59:00Z", &["--format", "json", "plan", "x"]).expect_code(9);
    let late = at("2030-01-03T01:00:00Z", &["--format", "json", "plan", "x"]).expect_code(9);
    assert_eq!(late.at("/data/question/options/0/id"), "redo", "{late}");
    assert!(late.stdout.contains("gate-expired"), "{late}");
    let refused = at("2030-01-03T01:00:00Z", &["approve", "approval", "--run", "x", "--by", "Ann"]).expect_code(9);
    assert!(refused.to_string().contains("was not answered within 48 h and stopped the run"), "{refused}");
    at("2030-01-03T02:00:00Z", &["run", "x"]).expect_code(9);
    at("2030-01-03T02:00:00Z", &["redo", "approval", "--run", "x", "--by", "Ann", "--note", "I was away"])
        .expect_code(0);
    at("2030-01-05T01:00:00Z", &["approve", "approval", "--run", "x", "--by", "Ann"]).expect_code(0);
    at("2030-01-05T01:00:00Z", &["run", "x"]).expect_code(0);
    assert_eq!(stage.executions(), ["end"]);
}

#[test]
fn mistakes_of_answers_are_named_with_their_place() {
    for (gate, expected) in [
        ("options: {go: contine}", "an answer does not `contine`"),
        ("options: [go, go]", "the answer `go` is given twice"),
        ("options: {no: stop}", "no answer of `options` passes the gate"),
        ("options: {go: continue, back: {return: none}}", "goes back to `none`, which is not a step"),
        ("options: {go: continue, back: {return: after}}", "goes back to `after`, which `g` does not depend on"),
        ("timeout: 1d, on_timeout: continue", "`on_timeout` is stop, not `continue`: only a person passes a gate"),
        ("on_timeout: stop", "`on_timeout` needs a `timeout`"),
    ] {
        let stage = Stage::in_place(&format!(
            "steps:\n- {{id: a, agent: b}}\n- {{id: g, gate: Ann, {gate}}}\n- {{id: after, agent: b}}\n"
        ));
        let said = stage.piton(["validate", "w.yml"]).run().expect_code(1);
        assert!(said.to_string().contains(expected), "{gate}: {said}");
        assert!(said.stdout.contains("\"line\":3"), "{gate}: {said}");
    }
    let stage = Stage::in_place("steps: [{id: a, shell: b, options: [x]}]\n");
    let said = stage.piton(["validate", "w.yml"]).run().expect_code(1);
    assert!(said.to_string().contains("`options` is for a gate, and this is a `shell` step"), "{said}");
}

#[test]
fn a_no_at_a_plain_gate_stays_a_no() {
    let stage =
        started("steps: [{id: draft, agent: writer}, {id: go, gate: Ann}, {id: last, shell: 'echo last >> LOG'}]");
    draft(&stage);
    let plan = || stage.piton(["--format", "json", "plan", "x"]).run();
    let options = plan().at("/data/question/options");
    let commands: Vec<&str> = options.as_array().unwrap().iter().filter_map(|one| one["command"].as_str()).collect();
    assert!(commands.contains(&"piton finish go --run x --verdict REJECTED --error WHY"), "{commands:?}");
    stage.piton(["finish", "go", "--run", "x", "--verdict", "REJECTED", "--error", "not yet"]).run().expect_code(0);
    assert_eq!(
        plan().at("/findings/0/message"),
        serde_json::json!("go was rejected (not yet): a person decides how to continue")
    );
    for arguments in [&["approve", "go", "--run", "x", "--by", "Ann"][..], &["run", "x"]] {
        stage.piton(arguments.iter().copied()).run().expect_code(9);
    }
    stage.piton(["exec", "last", "--run", "x"]).run().expect_code(1);
    stage.piton(["redo", "go", "--run", "x", "--by", "Ann", "--note", "now"]).run().expect_code(0);
    draft(&stage);
    stage.piton(["approve", "go", "--run", "x", "--by", "Ann"]).run().expect_code(0);
    stage.piton(["run", "x"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["last"]);
}

#[test]
fn work_that_a_gate_rejects_behind_a_review_is_done_again_and_reviewed_again() {
    let stage = started("steps: [{id: draft, agent: w}, {id: review, agent: r, reviews: draft}, {id: go, gate: Ann}]");
    draft(&stage);
    stage.piton(["begin", "review", "--run", "x"]).run().expect_code(0);
    stage.piton(["finish", "review", "--run", "x", "--verdict", "APPROVED"]).run().expect_code(0);
    stage.piton(["finish", "go", "--run", "x", "--verdict", "REJECTED", "--error", "too long"]).run().expect_code(0);
    stage.piton(["redo", "go", "--run", "x", "--by", "Ann", "--note", "shorter"]).run().expect_code(0);
    assert!(next(&stage).ends_with(" draft"), "{}", next(&stage));
    draft(&stage);
    assert!(next(&stage).ends_with(" review"), "{}", next(&stage));
}
