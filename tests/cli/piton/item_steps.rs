//! What the steps of a group for items can say: conditions about the steps before them, what follows a skipped one.

use super::support::Stage;

#[track_caller]
fn runs(workflow: &str, executions: &[&str]) {
    let stage = Stage::in_place(workflow);
    let output = stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), executions, "{workflow}\n{output}");
}

fn refusal(workflow: &str) -> String {
    Stage::in_place(workflow).piton(["validate", "w.yml"]).run().expect_code(1).to_string()
}

#[test]
fn a_condition_asks_how_a_step_before_it_ended_for_the_item() {
    for more in ["", ", parallel: 2"] {
        let stage = Stage::in_place(
            &"
steps:
- id: l
  foreach: {items: [a, b, c]MORE}
  steps:
  - {id: test, shell: '[ ${item} != b ]', continue_on_error: true}
  - {id: look, shell: 'echo look ${item} >> LOG', when: '${item} != \"c\"'}
  - {id: good, if_skipped: run, when: 'succeeded(test) && !skipped(look)', shell: 'echo good ${item} >> LOG'}
  - {id: bad, if_skipped: run, when: 'failed(test)', shell: 'echo bad ${item} ${step.test.status} >> LOG'}
  - {id: left, if_skipped: run, when: 'skipped(look)', shell: 'echo left ${item} ${step.good.status} >> LOG'}
"
            .replace("MORE", more),
        );
        stage.run(&[]).0.expect_code(0);
        let mut executions = stage.executions();
        executions.sort();
        assert_eq!(executions, ["bad b failed", "good a", "left c skipped", "look a", "look b"], "{more}");
    }
}

#[test]
fn how_steps_ended_for_an_item_is_known_after_a_resume() {
    let stage = Stage::in_place(
        "
steps:
- id: l
  foreach: [a]
  steps:
  - {id: test, shell: exit 1, on_failure: {fail_workflow: false}}
  - {id: look, when: 'succeeded(test)', shell: echo look >> LOG}
  - {id: work, if_skipped: run, shell: 'echo work >> LOG; [ -e LOG.repaired ]'}
  - {id: last, when: 'failed(test) && skipped(look) && succeeded(work)', shell: echo last >> LOG}
",
    );
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["work", "work", "last"]);
}

#[test]
fn a_condition_asks_only_about_steps_before_it() {
    for (condition, message) in [
        ("succeeded(b)", "how step b ended is known only to the steps after it in its group"),
        ("succeeded(a)", "how step a ended is known only to the steps after it in its group"),
        ("succeeded(z)", "the condition asks how step `z` ended, and there is no such step"),
    ] {
        let text = format!(
            "steps: [{{id: l, foreach: [x], steps: [{{id: a, shell: ':', when: '{condition}'}}, {{id: b, shell: ':'}}]}}]"
        );
        assert!(refusal(&text).contains(message), "{condition}");
    }
    let outside =
        "steps: [{id: l, foreach: [x], steps: [{id: a, shell: ':'}, {shell: ':'}]}, {shell: ':', when: failed(a)}]";
    assert!(refusal(outside).contains("how step a ended is known only to the steps after it in its group"));
}

#[test]
fn what_follows_a_skipped_step_of_an_item_is_skipped_unless_it_says_otherwise() {
    let group = |foreach: &str| {
        format!(
            "{foreach}
  steps:
  - {{id: a, shell: 'echo a ${{item}} >> LOG', when: '${{item}} == \"y\"'}}
  - {{id: b, shell: 'echo b ${{item}} >> LOG'}}
  - {{id: c, shell: 'echo c ${{item}} >> LOG', if_skipped: run}}
  - {{id: d, shell: 'echo d ${{item}} >> LOG'}}
"
        )
    };
    let all = ["c x", "d x", "a y", "b y", "c y", "d y"];
    runs(&group("steps:\n- id: l\n  foreach: [x, y]"), &all);
    // A loop inside of a step is not recorded.
    let inside = group("foreach: [x, y]").replace('\n', "\n    ");
    runs(
        &format!("steps:\n- id: s\n  shell: 'true'\n  on_success:\n  - {}", inside.replace("      steps", "    steps")),
        &all,
    );
}

#[test]
fn an_item_goes_on_behind_a_skipped_step_as_before() {
    let stage = Stage::in_place(
        "
steps:
- id: l
  foreach: [a]
  steps:
  - {id: first, shell: echo first >> LOG, when: false}
  - {id: work, shell: echo work >> LOG}
  - {id: end, if_skipped: run, shell: 'echo end >> LOG; [ -e LOG.repaired ]'}
",
    );
    let (output, id) = stage.run(&[]);
    output.expect_code(7);
    std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["end", "end"]);
}

#[test]
fn a_loop_of_prodigy_goes_on_behind_a_skipped_step() {
    runs(
        "- foreach: {foreach: [x], do: [{shell: echo a >> LOG, when: false}, {shell: 'echo b ${item} >> LOG'}]}\n",
        &["b x"],
    );
}

#[test]
fn a_condition_of_a_loop_around_a_group_skips_the_loop() {
    let loop_of =
        "when: '${go} == 1', foreach: [x], steps: [{id: a, shell: echo a >> LOG}, {id: b, shell: echo b >> LOG}]";
    let flow = |given: &str| {
        format!(
            "inputs: {{go: {{default: '{given}'}}}}\nsteps:\n- {{id: l, {loop_of}}}\n- {{id: c, shell: echo c >> LOG}}\n- {{id: d, if_skipped: run, shell: echo d >> LOG}}\n"
        )
    };
    runs(&flow("1"), &["a", "b", "c", "d"]);
    runs(&flow("0"), &["d"]);
}

const OUTPUTS: &str = "
steps:
- id: l
  foreach: {items: [a, b]MORE}
  steps:
  - id: make
    shell: 'echo make ${item} >> LOG; WRITE'
    outputs: {path: 'out/${item}.json', schema: {type: object, required: [ok]}}
  - {id: check, shell: 'echo check ${item} >> LOG'}
  - {id: pack, shell: 'echo pack ${item} >> LOG; [ -e LOG.repaired ]'}
- {id: after, shell: echo after >> LOG}
";

fn outputs(more: &str, write: &str) -> Stage {
    let stage = Stage::new(&OUTPUTS.replace("MORE", more).replace("WRITE", write));
    stage.sandbox.file("out/kept", "").commit("the workflow");
    stage
}

#[test]
fn a_step_of_a_group_that_does_not_leave_its_outputs_fails_for_the_item() {
    for (write, message) in [
        ("true", "it did not write its output out/a.json"),
        (": > out/${item}.json", "its output out/a.json is empty"),
        ("echo {} > out/${item}.json", "its output out/a.json does not fit its schema"),
    ] {
        for more in ["", ", worktree: each"] {
            let stage = outputs(more, write);
            let (output, id) = stage.run(&[]);
            let output = output.expect_code(7);
            assert!(output.stderr.contains(message), "{write}{more}\n{output}");
            assert_eq!(stage.executions(), ["make a"], "{write}{more}");
            let show = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
            assert_eq!(show.at("/data/steps/0/items/0/status"), "failed", "{show}");
        }
    }
    let text = OUTPUTS.replace("MORE", "").replace("out/${item}.json", "../${item}.json");
    assert!(refusal(&text).contains("the output cannot be used"));
    let text = OUTPUTS.replace("MORE", "").replace("type: object", "type: nothing");
    assert!(refusal(&text).contains("correct the schema, which is in step make"));
}

#[test]
fn a_step_of_an_item_whose_outputs_are_gone_is_done_again_with_those_after_it() {
    for more in ["", ", worktree: each"] {
        let write = "echo \"{\\\"ok\\\": 1}\" > out/${item}.json";
        for damage in ["rm", "empty"] {
            let stage = outputs(more, write);
            let (output, id) = stage.run(&[]);
            output.expect_code(7);
            let folder = match more {
                "" => stage.worktree(&id),
                _ => {
                    let show = stage.piton(["--format", "json", "sessions", "show", &id]).run().expect_code(0);
                    let folder =
                        show.at("/data/steps/0/items/0/worktree").as_str().expect("the worktree of a").to_owned();
                    folder.replace("$TOP", stage.sandbox.top().as_str()).into()
                }
            };
            let file = folder.join("out/a.json");
            match damage {
                "rm" => std::fs::remove_file(&file),
                _ => std::fs::write(&file, ""),
            }
            .unwrap_or_else(|error| panic!("{file}: {error}"));
            std::fs::write(format!("{}.repaired", stage.log()), "").expect("the sandbox is ours");
            let output = stage.resume(&id).expect_code(0);
            assert!(output.stderr.contains("l[a].make is done again: its outputs are not there"), "{output}");
            assert_eq!(
                stage.executions(),
                ["make a", "check a", "pack a", "make a", "check a", "pack a", "make b", "check b", "pack b", "after"],
                "{more} {damage}"
            );
        }
    }
}

#[test]
fn a_plan_looks_for_the_outputs_of_the_steps_that_passed_for_an_item() {
    let stage = Stage::in_place(
        "
steps:
- id: l
  foreach: [a, b]
  steps:
  - {id: make, shell: 'echo x > made-${item}', outputs: 'made-${item}'}
  - {id: look, when: '${item} == \"a\"', shell: 'echo x > seen-${item}', outputs: 'seen-${item}'}
  - {id: test, if_skipped: run, shell: exit 1, continue_on_error: true, outputs: 'tested-${item}'}
- {id: last, agent: x}
",
    );
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["exec", "l", "--run", "x"]).run().expect_code(0);
    let plan = || stage.piton(["--format", "json", "plan", "x"]).run();
    assert_eq!(plan().at("/data/next/0/step"), "last");
    std::fs::remove_file(stage.sandbox.root().join("seen-a")).expect("the sandbox is ours");
    let lost = plan();
    assert_eq!(lost.at("/findings").as_array().map(Vec::len), Some(1), "{lost}");
    assert_eq!(lost.at("/findings/0/file"), "seen-a", "{lost}");
}
