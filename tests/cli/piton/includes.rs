//! `include`: steps of another file.

use super::support::Stage;

const SHARED: &str = "inputs: {level: {default: low}, who: {}, count: {type: number, default: 1}}
steps:
- {id: test, shell: 'printf tested', capture: how}
- {id: report, depends_on: test, shell: 'echo ${how} ${test.output} ${level} ${who} ${count} >> LOG'}
- {id: side, depends_on: [], shell: 'echo side >> LOG'}
";

const FLOW: &str = "inputs: {name: {default: Ann}}
steps:
- {id: first, shell: echo first >> LOG}
- {include: parts/checks.yaml, id: checks, inputs: {level: high, who: '${name}'}}
- {id: last, shell: 'echo last ${checks.test.output} >> LOG'}
";

fn staged(flow: &str, shared: &str) -> Stage {
    let stage = Stage::in_place(flow);
    stage.sandbox.file("parts/checks.yaml", &shared.replace("LOG", stage.log().as_str()));
    stage
}

#[test]
fn the_steps_of_another_file_are_a_group_with_its_inputs() {
    let stage = staged(FLOW, SHARED);
    let (output, id) = stage.run(&["--input", "name=Bo"]);
    output.expect_code(0);
    assert_eq!(stage.executions(), ["first", "tested tested high Bo 1", "side", "last tested"]);
    let shown = stage.piton(["--format", "json", "sessions", "show", &id]).run();
    let steps = shown.at("/data/steps");
    let ids: Vec<&str> = steps.as_array().unwrap().iter().map(|step| step["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["first", "checks.test", "checks.report", "checks.side", "last"], "{shown}");

    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["run", "x"]).run().expect_code(0);
    stage.sandbox.remove("parts/checks.yaml");
    let kept = stage.piton(["--format", "json", "plan", "x", "--steps"]).run();
    assert!(kept.stdout.contains("checks.report"), "the record has the whole definition: {kept}");
}

#[test]
fn conditions_of_an_included_file_ask_for_its_own_steps_and_inputs() {
    let shared = "inputs: {left_out: {}}
steps:
- {id: test, shell: exit 1, on_failure: {shell: 'true', max_attempts: 0, fail_workflow: false}}
- {id: each, when: failed(test), foreach: {items: [a, b, c], where: '${item} != ${left_out}'}, shell: 'echo ${item} >> LOG'}
";
    let flow = "steps: [{include: parts/checks.yaml, id: checks, inputs: {left_out: b}}, {shell: 'echo ${step.checks.test.status} >> LOG'}]";
    let stage = staged(flow, shared);
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["a", "c", "failed"]);
}

#[test]
fn a_change_of_an_included_file_is_an_edit_of_the_workflow() {
    let stage = staged(FLOW, &SHARED.replace("echo side", "test -e LOG.go && echo side"));
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    let edited = SHARED.replace("printf tested", "printf other").replace("LOG", stage.log().as_str());
    stage.sandbox.file("parts/checks.yaml", &edited);
    let plan = stage.piton(["plan", &id]).run();
    assert!(plan.to_string().contains("checks.test"), "{plan}");
    let refused = stage.resume(&id).expect_code(9);
    assert!(refused.to_string().contains("was changed in finished steps (checks.test)"), "{refused}");
    stage.piton(["resume", &id, "--accept-edits"]).run().expect_code(0);
    assert_eq!(stage.count("last other"), 1);
    assert_eq!(stage.count("first"), 1, "what comes before it is not repeated");
}

#[test]
fn a_file_that_was_not_included_when_the_run_began_is_named() {
    let stage = staged("steps: [{id: a, shell: 'test -e LOG.go'}]", SHARED);
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    stage.workflow("steps: [{id: a, shell: 'true'}, {include: parts/checks.yaml, id: c, inputs: {who: x}}]");
    let refused = stage.resume(&id).expect_code(1);
    assert!(
        refused.to_string().contains("includes parts/checks.yaml now, which it did not when the run began"),
        "{refused}"
    );
}

#[test]
fn mistakes_are_named_with_the_file_the_line_and_the_column() {
    let included = |text: &str| format!("steps:\n- {text}\n");
    let of = |text: &str| format!("steps:\n- {{include: parts/checks.yaml, id: c{text}}}\n");
    for (flow, shared, expected) in [
        (of(""), included("{id: a, shel: b}"), "\"file\":\"parts/checks.yaml\",\"line\":2,\"column\":11"),
        (of(""), included("{id: a, shell: 'echo ${nme}'}"), "\"file\":\"parts/checks.yaml\",\"line\":2,\"column\":18"),
        (of(""), "steps: [".to_owned(), "parts/checks.yaml"),
        (
            of(""),
            "secrets: {A: B}\nsteps: [{id: a, shell: b}]\n".to_owned(),
            "`secrets` is not for a file that is included",
        ),
        (of(""), "inputs: {x: {}}\nsteps: [{id: a, shell: b}]\n".to_owned(), "parts/checks.yaml needs the input `x`"),
        (of(", inputs: {y: 1}"), included("{id: a, shell: b}"), "parts/checks.yaml has no input `y`"),
        (
            of(", inputs: {x: maybe}"),
            "inputs: {x: {type: boolean}}\nsteps: [{id: a, shell: b}]\n".to_owned(),
            "the input `x` is `maybe`, not true or false",
        ),
        (of(""), "steps: [{include: checks.yaml, id: again}]\n".to_owned(), "parts/checks.yaml -> parts/checks.yaml"),
        (of(""), "steps: [{include: ../w.yml, id: again}]\n".to_owned(), "w.yml -> parts/checks.yaml -> w.yml"),
        ("steps:\n- {include: ../out.yaml, id: c}\n".to_owned(), String::new(), "leads out of the project"),
        ("steps:\n- {include: /etc/passwd, id: c}\n".to_owned(), String::new(), "`/etc/passwd` is absolute"),
        (
            "steps:\n- {include: none.yaml, id: c}\n".to_owned(),
            String::new(),
            "the included file none.yaml cannot be read",
        ),
        (
            "steps:\n- {include: parts/checks.yaml}\n".to_owned(),
            included("{id: a, shell: b}"),
            "needs the path of a file and an `id`",
        ),
        (
            "steps:\n- {include: parts/checks.yaml, id: c, timeout: 3}\n".to_owned(),
            String::new(),
            "an `include` has no key `timeout`",
        ),
        (
            "steps:\n- {id: c.a, shell: x}\n- {include: parts/checks.yaml, id: c}\n".to_owned(),
            included("{id: a, shell: b}"),
            "the id `c.a` is already used",
        ),
    ] {
        let stage = staged(&flow, &shared);
        let said = stage.piton(["validate", "w.yml"]).run().expect_code(1);
        assert!(said.to_string().contains(expected), "{flow}{shared}: expected {expected}\n{said}");
    }
}

#[test]
fn a_link_out_of_the_project_is_not_followed() {
    let stage = Stage::in_place("steps:\n- {include: linked.yaml, id: c}\n");
    let secret = stage.outside("secret.yaml", "steps: [{id: a, shell: b}]\n");
    std::os::unix::fs::symlink(&secret, stage.sandbox.root().join("linked.yaml")).unwrap();
    let said = stage.piton(["validate", "w.yml"]).run().expect_code(1);
    assert!(said.to_string().contains("the included file linked.yaml cannot be read"), "{said}");
}

#[test]
fn an_include_can_be_left_out_by_a_condition_of_the_outer_file() {
    let shared = "steps:
- {id: one, depends_on: [], shell: echo one >> LOG}
- {id: two, depends_on: [], shell: echo two >> LOG}
- {id: three, depends_on: [one, two], shell: echo three >> LOG}
";
    let flow = "inputs: {full: {default: 'no'}}
steps:
- {id: first, shell: echo first >> LOG, when: \"${full} == 'never'\"}
- {include: parts/checks.yaml, id: checks, if_skipped: run, when: \"${full} == 'yes'\"}
- {id: last, if_skipped: run, shell: 'echo ${step.checks.three.status} >> LOG'}
";
    let stage = staged(flow, shared);
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["skipped"]);
    stage.forget();
    stage.run(&["--input", "full=yes"]).0.expect_code(0);
    assert_eq!(stage.executions(), ["one", "two", "three", "succeeded"]);
}
