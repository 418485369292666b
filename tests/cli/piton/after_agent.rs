//! Steps of agents with keys that Piton carries out once the agent is done, in a run that agents drive.

use super::support::{Stage, kill, until};

fn next(stage: &Stage) -> (String, String) {
    let plan = stage.piton(["--format", "json", "plan", "x"]).run();
    let text = |at: &str| plan.at(at).as_str().unwrap_or_default().to_owned();
    (text("/data/next/0/action"), text("/data/next/0/step"))
}

fn is_next(stage: &Stage, action: &str, step: &str) {
    assert_eq!(next(stage), (action.to_owned(), step.to_owned()));
}

fn start(stage: &Stage) {
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
}

#[test]
fn a_kill_after_the_agent_leaves_its_work_done() {
    let stage = Stage::in_place(
        "steps:\n- id: draft\n  agent: a\n  validate: {shell: 'echo begun >> LOG; [ -e LOG.go ] || sleep 60; echo ended >> LOG; echo ''{\"completion_percentage\": 100}'''}\n",
    );
    start(&stage);
    stage.piton(["begin", "draft"]).run().expect_code(0);
    stage.piton(["finish", "draft"]).run().expect_code(0);
    let mut child = stage.piton(["exec", "draft"]).spawn();
    until("the check runs", || stage.count("begun") == 1);
    kill(child.id());
    child.wait().unwrap();
    is_next(&stage, "exec", "draft");
    std::fs::write(format!("{}.go", stage.log()), "").unwrap();
    stage.piton(["exec", "draft"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["begun", "begun", "ended"]);
    let plan = stage.piton(["--format", "json", "plan", "x"]).run();
    assert_eq!(plan.at("/data/progress/done"), 1, "{plan}");
}

fn step(stage: &Stage, step: &str, more: &[&str]) {
    stage.piton(["begin", step]).run().expect_code(0);
    stage.piton([&["finish", step], more].concat()).run().expect_code(0);
}

#[test]
fn what_took_effect_is_done_without_its_rest_again() {
    let stage = Stage::in_place(
        "steps:\n- {id: a, agent: w, idempotent: false, validate: {shell: 'echo begun >> LOG; sleep 60'}}\n- {id: use, shell: 'echo ${a.summary} >> LOG'}\n",
    );
    start(&stage);
    step(&stage, "a", &["--summary", "hi"]);
    let mut child = stage.piton(["exec", "a"]).spawn();
    until("the rest runs", || stage.count("begun") == 1);
    kill(child.id());
    child.wait().unwrap();
    is_next(&stage, "verify", "a");
    stage.piton(["decide", "a", "accept", "--by", "Ann", "--note", "done"]).run().expect_code(0);
    stage.piton(["exec", "use"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["begun", "done"]);
}
