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
