//! Steps of agents with keys that Piton carries out once the agent is done, in a run that agents drive.

use super::support::{Stage, kill, until};

/// A step with every such key, and one that uses what it left.
const FLOW: &str = r#"name: notes
inputs: {version: {default: "1.2"}}
steps:
- id: draft
  agent: writer
  instructions: Write the notes.
  working_dir: out
  env: {EDITION: "v${version}"}
  secrets: {TOKEN: {provider: env, key: TOKEN_OF_TEST}}
  capture: said
  output_file: said.txt
  finds: {spec: "specs/*.md"}
  on_success: [{shell: echo checked >> LOG}]
- {id: use, shell: 'echo "${said}, ${draft.spec}, ${draft.output}" >> LOG'}
"#;

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
fn what_follows_an_agent_is_done_by_exec() {
    let stage = Stage::new(FLOW);
    stage.sandbox.file("out/x", "");
    let value = "hunter2unique";
    start(&stage);
    let begun =
        stage.piton(["--format", "json", "begin", "draft", "--brief", "inline"]).env("TOKEN_OF_TEST", value).run();
    let told = begun.expect_code(0).at("/data/brief/instructions").to_string();
    for part in [
        "Work in the folder out.",
        r#"EDITION set to \"v1.2\""#,
        "TOKEN set to the content of the environment variable TOKEN_OF_TEST, a secret",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    assert!(!told.contains(value), "{told}");
    stage.sandbox.file("specs/a.md", "a");
    stage.sandbox.commit("specs");
    let finished = stage.piton(["finish", "draft", "--summary", "It is written"]).run().expect_code(0);
    assert!(finished.to_string().contains("piton exec draft --run x"), "{finished}");
    is_next(&stage, "exec", "draft");
    let brief = stage.piton(["--format", "json", "context", "x"]).run().expect_code(0);
    assert_eq!(
        brief.at("/data/instructions"),
        "It is run by `piton exec draft --run x`; nothing has to be done by hand."
    );
    let redo = stage.piton(["redo", "draft", "--by", "Ann", "--note", "x"]).run().expect_code(0);
    assert!(redo.to_string().contains("`piton rollback x --to draft` takes the report back"), "{redo}");
    // Its agent does not begin again, and nothing behind it begins.
    let again = stage.piton(["begin", "draft"]).run().expect_code(1);
    assert!(again.to_string().contains("the agent of draft has reported"), "{again}");
    stage.piton(["exec", "use"]).env("TOKEN_OF_TEST", value).run().expect_code(1);
    // `claude` is not on the PATH here: it is not called.
    stage.piton(["exec", "draft"]).env("TOKEN_OF_TEST", value).run().expect_code(0);
    assert_eq!(crate::support::read(&stage.sandbox.root().join("out/said.txt")), "It is written\n");
    is_next(&stage, "exec", "use");
    stage.piton(["exec", "use"]).env("TOKEN_OF_TEST", value).run().expect_code(0);
    assert_eq!(stage.executions(), ["checked", "It is written, specs/a.md, It is written"]);
}

#[test]
fn the_handler_of_an_agent_runs_by_exec_and_the_agent_tries_again() {
    for (more, end) in [("", "retry"), (", fail_workflow: false", "exec")] {
        let stage = Stage::in_place(&format!(
            "steps:\n- {{id: draft, agent: a, on_failure: {{shell: 'echo \"handled ${{error}}\" >> LOG', max_attempts: 2{more}}}}}\n- {{id: use, shell: echo used >> LOG}}\n"
        ));
        start(&stage);
        for attempt in 1..=2 {
            stage.piton(["begin", "draft"]).run().expect_code(0);
            stage.piton(["finish", "draft", "--status", "failed", "--error", "no net"]).run().expect_code(0);
            is_next(&stage, "exec", "draft");
            let handled = stage.piton(["exec", "draft"]).run().expect_code(0);
            assert!(handled.stderr.contains("its agent tries again"), "{handled}");
            assert_eq!(stage.count("handled no net"), attempt);
            is_next(&stage, "retry", "draft");
        }
        stage.piton(["begin", "draft"]).run().expect_code(0);
        stage.piton(["finish", "draft", "--status", "failed", "--error", "no net"]).run().expect_code(0);
        let code = if more.is_empty() { 7 } else { 0 };
        stage.piton(["exec", "draft"]).run().expect_code(code);
        assert_eq!(stage.count("handled no net"), 2, "it has two tries");
        is_next(&stage, end, if more.is_empty() { "draft" } else { "use" });
    }
}

#[test]
fn a_step_that_only_has_a_handler_is_over_with_a_report_that_is_good() {
    let stage =
        Stage::in_place("steps:\n- {id: draft, agent: a, on_failure: echo handled >> LOG}\n- {id: next, agent: a}\n");
    start(&stage);
    stage.piton(["begin", "draft"]).run().expect_code(0);
    stage.piton(["finish", "draft"]).run().expect_code(0);
    is_next(&stage, "run", "next");
    assert_eq!(stage.executions(), [""; 0]);
}

#[test]
fn a_verdict_counts_once_piton_did_the_rest() {
    let measure = "validate: {shell: 'cat LOG.percent', threshold: 90}";
    let stage = Stage::in_place(&format!(
        "steps:\n- {{id: draft, agent: a, {measure}}}\n- {{id: review, agent: b, reviews: draft, capture: said}}\n- {{id: use, shell: 'echo ${{review.verdict}} ${{said}} >> LOG'}}\n"
    ));
    let percent = |percent: u32| {
        std::fs::write(format!("{}.percent", stage.log()), format!("{{\"completion_percentage\": {percent}}}"))
            .unwrap();
    };
    start(&stage);
    let work = |code| {
        stage.piton(["begin", "draft"]).run().expect_code(0);
        stage.piton(["finish", "draft"]).run().expect_code(0);
        stage.piton(["exec", "draft"]).run().expect_code(code);
    };
    percent(50);
    work(7);
    is_next(&stage, "retry", "draft");
    percent(95);
    work(0);
    let review = |verdict| {
        stage.piton(["begin", "review"]).run().expect_code(0);
        let words = ["finish", "review", "--verdict", verdict, "--summary", "Read.", "--finding", "a typo"];
        stage.piton(words).run().expect_code(0);
    };
    // What follows a step follows its success.
    review("NEEDS_REVISION");
    is_next(&stage, "return", "draft");
    work(0);
    review("APPROVED");
    is_next(&stage, "exec", "review");
    stage.piton(["exec", "review"]).run().expect_code(0);
    stage.piton(["exec", "use"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["APPROVED Read."]);
}

#[test]
fn a_runner_does_the_rest_and_asks_no_other_agent() {
    let stage = Stage::in_place(
        "steps:\n- {id: draft, agent: a, capture: said, on_failure: echo handled >> LOG}\n- {id: use, shell: 'echo \"${said}\" >> LOG'}\n",
    );
    stage.program("claude", "echo called >> LOG; printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"By claude.\\\\n\\\\nSTEP: draft\\\\nSTATUS: DONE\"}\\n'");
    start(&stage);
    stage.piton(["begin", "draft"]).run().expect_code(0);
    stage.piton(["finish", "draft", "--summary", "By hand."]).run().expect_code(0);
    stage.piton(["run", "x"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["By hand."]);
    // One that failed by hand is handled, then done by an agent that the runner starts.
    stage.forget();
    start(&stage);
    stage.piton(["begin", "draft"]).run().expect_code(0);
    stage.piton(["finish", "draft", "--status", "failed", "--error", "no"]).run().expect_code(0);
    stage.piton(["run", "x"]).run().expect_code(0);
    let done = stage.executions();
    assert_eq!((done[0].as_str(), done[1].as_str(), done.len()), ("handled", "called", 6), "{done:?}");
}

#[test]
fn a_kill_after_the_agent_leaves_its_work_done() {
    let stage = Stage::in_place(
        "steps:\n- id: draft\n  agent: a\n  on_success:\n  - shell: echo begun >> LOG; [ -e LOG.go ] || sleep 60; echo ended >> LOG\n",
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

#[test]
fn an_environment_that_no_brief_shows_is_refused() {
    let stage = Stage::new("secrets: {T: TOKEN_OF_TEST}\nsteps: [{id: b, agent: writer, env: {X: 'a${T}'}}]\n");
    let refused = stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(2);
    assert!(
        refused.to_string().contains("`env` or `working_dir` of step b has `${T}`, which no brief shows"),
        "{refused}"
    );
    assert!(refused.to_string().contains("piton run w.yml"), "{refused}");
}

const REVIEWED: &str = "steps:\n- {id: draft, agent: a, outputs: out.md}\n- {id: review, agent: b, reviews: draft, capture: said}\n- {id: use, shell: echo used >> LOG}\n";

fn step(stage: &Stage, step: &str, more: &[&str]) {
    stage.piton(["begin", step]).run().expect_code(0);
    stage.piton([&["finish", step], more].concat()).run().expect_code(0);
}

/// A report is about the work that was there: work that is done again takes it back.
#[test]
fn a_report_that_waits_is_taken_back_with_the_work_that_it_is_about() {
    for way in ["redo", "rollback"] {
        let stage = Stage::in_place(REVIEWED);
        start(&stage);
        stage.piton(["begin", "draft"]).run().expect_code(0);
        stage.sandbox.file("out.md", "first\n");
        stage.piton(["finish", "draft"]).run().expect_code(0);
        step(&stage, "review", &["--verdict", "APPROVED"]);
        is_next(&stage, "exec", "review");
        match way {
            "redo" => stage.piton(["redo", "draft", "--by", "Ann", "--note", "again"]).run().expect_code(0),
            _ => {
                stage.sandbox.remove("out.md");
                stage.piton(["rollback", "x", "--to", "draft", "--yes"]).run().expect_code(0)
            }
        };
        stage.piton(["begin", "draft"]).run().expect_code(0);
        stage.sandbox.file("out.md", "second\n");
        stage.piton(["finish", "draft"]).run().expect_code(0);
        is_next(&stage, "run", "review");
        stage.piton(["exec", "review"]).run().expect_code(1);
        stage.piton(["exec", "use"]).run().expect_code(1);
        assert_eq!(stage.executions(), [""; 0], "{way}");
    }
}

#[test]
fn files_alone_do_not_end_a_step_that_leaves_more() {
    for more in ["capture: said", "commit_required: true", "on_success: [{shell: echo checked >> LOG}]"] {
        let stage = Stage::new(&format!(
            "steps:\n- {{id: a, agent: w, outputs: o.md, {more}}}\n- {{id: use, shell: echo used >> LOG}}\n"
        ));
        start(&stage);
        stage.piton(["begin", "a"]).run().expect_code(0);
        stage.sandbox.file("o.md", "text\n");
        is_next(&stage, "run", "a");
        stage.piton(["exec", "use"]).run().expect_code(1);
        assert_eq!(stage.executions(), [""; 0], "{more}");
    }
}

#[test]
fn the_rest_may_complete_what_the_step_leaves() {
    let stage = Stage::in_place(
        "steps:\n- {id: a, agent: w, outputs: o.md, on_success: [{shell: echo formatted >> o.md}]}\n- {id: use, shell: echo used >> LOG}\n",
    );
    start(&stage);
    stage.sandbox.file("o.md", "text\n");
    step(&stage, "a", &[]);
    stage.piton(["exec", "a"]).run().expect_code(0);
    is_next(&stage, "exec", "use");
    // A change after that is one.
    stage.sandbox.file("o.md", "other\n");
    is_next(&stage, "retry", "a");
}

#[test]
fn a_second_finish_says_nothing_new_and_a_failure_can_be_captured() {
    let stage = Stage::in_place(
        "steps:\n- {id: a, agent: w, capture: said, continue_on_error: true}\n- {id: use, shell: 'echo \"${said}\" >> LOG'}\n",
    );
    start(&stage);
    step(&stage, "a", &["--summary", "hi"]);
    let again = stage.piton(["finish", "a"]).run().expect_code(0);
    assert!(again.to_string().contains("the report of a is recorded already"), "{again}");
    stage.piton(["exec", "a"]).run().expect_code(0);
    stage.piton(["exec", "use"]).run().expect_code(0);
    stage.piton(["redo", "a", "--by", "Ann", "--note", "again"]).run().expect_code(0);
    step(&stage, "a", &["--status", "failed", "--error", "no net", "--summary", "half of it"]);
    stage.piton(["exec", "a"]).run().expect_code(0);
    stage.piton(["exec", "use"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["hi", "half of it"]);
}

#[test]
fn work_that_a_person_wants_done_is_not_left_out_behind_its_report() {
    let stage = Stage::in_place(
        "inputs: {x: {default: '0'}}\nsteps:\n- {id: a, agent: w, when: \"${x} == '1'\", capture: said}\n- {id: use, if_skipped: run, shell: 'echo \"${said}\" >> LOG'}\n",
    );
    start(&stage);
    stage.piton(["redo", "a", "--by", "Ann", "--note", "do it"]).run().expect_code(0);
    step(&stage, "a", &["--summary", "hi"]);
    is_next(&stage, "exec", "a");
    stage.piton(["exec", "a"]).run().expect_code(0);
    stage.piton(["exec", "use"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["hi"]);
}

/// The file says what the agent worked by: an edit behind its report opens the step again.
#[test]
fn an_edit_behind_a_report_is_a_change_of_the_step() {
    let flow =
        "steps:\n- {id: a, agent: w, instructions: Write., capture: said}\n- {id: use, shell: 'echo used >> LOG'}\n";
    let stage = Stage::in_place(flow);
    start(&stage);
    step(&stage, "a", &["--summary", "hi"]);
    stage.workflow(&flow.replace("Write.", "Write more."));
    stage.piton(["exec", "a"]).run().expect_code(0);
    is_next(&stage, "retry", "a");
    // What Piton does behind the work is not what the agent worked by.
    let stage = Stage::in_place(flow);
    start(&stage);
    step(&stage, "a", &["--summary", "hi"]);
    let edited = flow.replace("capture: said", "capture: said, on_success: [{shell: echo checked >> LOG}]");
    stage.workflow(&edited);
    stage.piton(["exec", "a"]).run().expect_code(0);
    is_next(&stage, "exec", "use");
    // A step that is recorded again keeps what its agent said.
    stage.workflow(&edited.replace("echo checked", "echo again").replace("echo used", "echo ${said} ${a.summary}"));
    is_next(&stage, "retry", "a");
    stage.piton(["finish", "a", "--status", "completed"]).run().expect_code(0);
    stage.piton(["exec", "a"]).run().expect_code(0);
    stage.piton(["exec", "use"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["checked", "again", "hi hi"]);
}

#[test]
fn what_took_effect_is_done_without_its_rest_again() {
    let stage = Stage::in_place(
        "steps:\n- {id: a, agent: w, idempotent: false, on_success: [{shell: echo begun >> LOG; sleep 60}]}\n- {id: use, shell: 'echo ${a.summary} >> LOG'}\n",
    );
    start(&stage);
    step(&stage, "a", &["--summary", "hi"]);
    let mut child = stage.piton(["exec", "a"]).spawn();
    until("the rest runs", || stage.count("begun") == 1);
    kill(child.id());
    child.wait().unwrap();
    is_next(&stage, "verify", "a");
    stage.piton(["finish", "a", "--status", "completed", "--summary", "done"]).run().expect_code(0);
    stage.piton(["exec", "use"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["begun", "done"]);
}

#[test]
fn a_rest_that_failed_names_the_plan() {
    let stage = Stage::in_place("steps:\n- {id: a, agent: w, on_success: [{shell: exit 1}]}\n");
    start(&stage);
    step(&stage, "a", &[]);
    let failed = stage.piton(["exec", "a"]).run().expect_code(7);
    assert!(failed.stderr.contains("→ piton plan x") && !failed.stderr.contains("→ piton exec"), "{failed}");
}

#[test]
fn what_waits_for_the_rest_of_a_review_names_it() {
    let stage = Stage::in_place(&REVIEWED.replace("- {id: use,", "- {id: app, gate: Ann}\n- {id: use,"));
    start(&stage);
    stage.piton(["begin", "draft"]).run().expect_code(0);
    stage.sandbox.file("out.md", "text\n");
    stage.piton(["finish", "draft"]).run().expect_code(0);
    step(&stage, "review", &["--verdict", "APPROVED"]);
    let refused = stage.piton(["approve", "app", "--by", "Ann"]).run();
    assert_ne!(refused.code, 0, "{refused}");
    assert!(refused.to_string().contains("piton exec review --run x"), "{refused}");
}
