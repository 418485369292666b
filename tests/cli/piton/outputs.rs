//! `outputs` whose paths have inputs and items, with the first example of the language.

use serde_json::json;

use super::support::Stage;
use crate::support::Output;

/// The first example of the language, with commands that count.
const RELEASE: &str = r#"name: release
inputs:
  version: {pattern: '^\d+\.\d+\.\d+$', description: what is released}
  dry_run: {type: boolean, default: false}
limits: {time: 6h, cost_usd: 20}
steps:
  - id: draft
    agent: writer
    instructions: Write the notes of ${version}.
    outputs: notes-${version}.md
  - id: review
    agent: reviewer
    reviews: draft
  - id: test
    shell: echo test >> LOG
    timeout: 20m
  - id: build
    foreach: {items: [linux, macos, windows], parallel: 3}
    shell: echo build ${item} ${version} >> LOG; [ -e LOG.no-${item} ] || echo x > dist-${item}.tar.gz
    outputs: dist-${item}.tar.gz
  - id: approval
    gate: the release manager
    options: {publish: continue, hold: stop}
  - id: notes
    claude: /write-notes ${version}
    model: sonnet
    max_turns: 20
  - id: publish
    shell: echo publish "${version}" >> LOG
    idempotent: false
    probe: 'false'
finally:
  - shell: echo clean-up >> LOG
"#;

const CLAUDE: &str = r#"for prompt; do :; done
echo "$prompt" >> LOG.prompts
report() { printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.\\n\\nSTEP: %s\\nSTATUS: DONE%s"}\n' "$1" "$2"; }
case "$prompt" in
"Do step draft"*) echo text > notes-1.2.3.md; report draft "" ;;
"Do step review"*) report review "\nVERDICT: APPROVED" ;;
*) report notes "" ;;
esac"#;

fn sorted(stage: &Stage) -> Vec<String> {
    let mut executions = stage.executions();
    executions.sort();
    executions
}

fn plan(stage: &Stage) -> Output {
    stage.piton(["--format", "json", "plan", "x"]).run()
}

fn start(stage: &Stage) {
    stage.piton(["start", "w.yml", "--feature", "x", "--input", "version=1.2.3"]).run().expect_code(0);
}

/// Has an agent do the steps before the loop.
fn draft(stage: &Stage) -> Output {
    let brief = stage.piton(["--format", "json", "begin", "draft", "--run", "x"]).run().expect_code(0);
    stage.sandbox.file("notes-1.2.3.md", "text");
    stage.piton(["finish", "draft", "--run", "x"]).run().expect_code(0);
    stage.piton(["begin", "review", "--run", "x"]).run().expect_code(0);
    stage.piton(["finish", "review", "--run", "x", "--verdict", "APPROVED"]).run().expect_code(0);
    stage.piton(["exec", "test", "--run", "x"]).run().expect_code(0);
    brief
}

const BUILT: [&str; 4] = ["build linux 1.2.3", "build macos 1.2.3", "build windows 1.2.3", "test"];

#[test]
fn the_first_example_of_the_language_runs_unattended() {
    let stage = Stage::in_place(RELEASE);
    stage.program("claude", CLAUDE);
    let (output, id) = stage.run(&["--input", "version=1.2.3"]);
    output.expect_code(9);
    assert_eq!(sorted(&stage), BUILT);
    let prompts = std::fs::read_to_string(format!("{}.prompts", stage.log())).unwrap();
    assert!(prompts.contains("Write notes-1.2.3.md: the step counts as done only with it."), "{prompts}");
    stage.piton(["approve", "approval", "--run", &id, "--choose", "publish", "--by", "Ann"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions()[4..], ["publish 1.2.3", "clean-up"]);
}

#[test]
fn the_first_example_of_the_language_is_driven_by_agents() {
    let stage = Stage::in_place(RELEASE);
    start(&stage);
    let brief = draft(&stage);
    assert_eq!(
        brief.at("/data/brief/instructions").as_str().unwrap().lines().last(),
        Some("Write notes-1.2.3.md: the step counts as done only with it.")
    );
    stage.piton(["exec", "build", "--run", "x"]).run().expect_code(0);
    assert_eq!(sorted(&stage), BUILT);
    assert_eq!(plan(&stage).at("/data/next/0/step"), json!("approval"));
    for file in ["notes-1.2.3.md", "dist-macos.tar.gz"] {
        std::fs::remove_file(stage.sandbox.root().join(file)).unwrap();
        let lost = plan(&stage);
        assert!(lost.stdout.contains(&format!("the output {file} of")), "{lost}");
        stage.sandbox.file(file, "text");
    }
    assert_eq!(plan(&stage).at("/data/next/0/step"), json!("approval"));
}

#[test]
fn an_item_without_its_output_failed_and_is_run_again_alone() {
    let stage = Stage::in_place(RELEASE);
    start(&stage);
    draft(&stage);
    stage.outside("executions.no-macos", "");
    let failed = stage.piton(["exec", "build", "--run", "x"]).run().expect_code(7);
    assert!(failed.stderr.contains("it did not write its output dist-macos.tar.gz"), "{failed}");
    assert_eq!(
        plan(&stage).at("/data/next/0/step"),
        json!("build"),
        "files of some items prove nothing about the loop"
    );
    std::fs::remove_file(format!("{}.no-macos", stage.log())).unwrap();
    stage.piton(["exec", "build", "--run", "x"]).run().expect_code(0);
    assert_eq!(stage.count("build macos 1.2.3"), 2);
    assert_eq!(stage.count("build linux 1.2.3"), 1);
}

#[test]
fn an_item_that_failed_and_is_tolerated_needs_no_output() {
    let flow = "steps:\n- id: each\n  foreach: {items: [a, b], continue_on_error: true, max_failures: 1}\n  shell: '[ ${item} = b ] || echo x > out-${item}'\n  outputs: out-${item}\n- {id: last, agent: x}\n";
    let stage = Stage::in_place(flow);
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["exec", "each", "--run", "x"]).run().expect_code(0);
    assert_eq!(plan(&stage).at("/data/next/0/step"), json!("last"));
    std::fs::remove_file(stage.sandbox.root().join("out-a")).unwrap();
    let lost = plan(&stage);
    assert_eq!(lost.at("/findings").as_array().unwrap().len(), 1, "{lost}");
    assert_eq!(lost.at("/findings/0/file"), json!("out-a"), "{lost}");
}

#[test]
fn a_step_whose_failure_is_tolerated_needs_no_output() {
    let stage = Stage::in_place(
        "steps:\n- {id: a, shell: exit 1, outputs: out, continue_on_error: true}\n- {id: last, agent: x}\n",
    );
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["exec", "a", "--run", "x"]).run().expect_code(0);
    assert_eq!(plan(&stage).at("/data/next/0/step"), json!("last"));
}

#[test]
fn a_value_that_leads_out_of_the_project_fails_its_step() {
    for (value, expected) in [
        ("../../x", "the output cannot be used: `out/../../x` leaves its folder with `..`"),
        (".git/hooks/x", "the output `out/.git/hooks/x` is in a state folder"),
        ("*", "the output `out/*` is a pattern"),
    ] {
        let stage = Stage::in_place("inputs: {name: {}}\nsteps:\n- {id: a, shell: 'true', outputs: 'out/${name}'}\n");
        let failed = stage.run(&["--input", &format!("name={value}")]).0.expect_code(7);
        assert!(failed.stderr.contains(expected), "{value}: {failed}");
        assert!(!stage.sandbox.exists("out"), "nothing was written");
    }
}

#[test]
fn an_agent_inside_a_loop_is_told_the_file_of_its_item() {
    let stage = Stage::in_place(
        "steps:\n- {id: each, foreach: [a, b], agent: x, instructions: 'do ${item}', outputs: 'out-${item}.md'}\n",
    );
    stage.program("claude", "for prompt; do :; done\nfile=${prompt##*Write out-}; echo text > \"out-${file%%.md*}.md\"\nprintf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"STEP: x\\\\nSTATUS: DONE\"}\\n'");
    stage.run(&[]).0.expect_code(0);
    assert_eq!(std::fs::read_to_string(stage.sandbox.root().join("out-b.md")).unwrap(), "text\n");
}

#[test]
fn a_dry_run_fills_in_the_inputs() {
    let stage = Stage::in_place(RELEASE);
    let shown =
        stage.piton(["run", "w.yml", "--input", "version=1.2.3", "--dry-run", "--format", "json"]).run().expect_code(0);
    assert_eq!(shown.at("/data/would_run/steps/0/outputs"), json!(["notes-1.2.3.md"]), "{shown}");
    assert!(shown.stdout.contains("dist-${item}.tar.gz"), "{shown}");
}

/// The reworked file has a variable in its path.
#[test]
fn work_that_a_review_sends_back_is_compared_by_the_values_of_its_path() {
    let flow = "inputs: {v: {default: x}}\nsteps:\n- {id: d, agent: w, outputs: 'out-${v}.md'}\n- {id: review, agent: r, reviews: d}\n";
    let stage = Stage::in_place(flow);
    stage.program(
        "claude",
        r#"for prompt; do :; done
report() { printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.\\n\\nSTEP: %s\\nSTATUS: DONE%s"}\n' "$1" "$2"; }
case "$prompt" in
"Do step d"*) echo d >> LOG; [ -e LOG.still ] || echo "text $(cat LOG)" > out-x.md; report d "" ;;
*) echo review >> LOG; [ -e LOG.once ] && report review "\nVERDICT: APPROVED" || { : > LOG.once; report review "\nVERDICT: NEEDS_REVISION"; } ;;
esac"#,
    );
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["d", "review", "d", "review"]);
    stage.forget();
    std::fs::remove_file(format!("{}.once", stage.log())).unwrap();
    let (output, _) = stage.run(&["--until", "d"]);
    output.expect_code(0);
    stage.outside("executions.still", "");
    let refused = stage.piton(["run", "w.yml"]).run().expect_code(7);
    assert!(refused.stderr.contains("out-x.md is unchanged since the attempt that was sent back"), "{refused}");
}

#[test]
fn a_finished_command_whose_outputs_are_gone_is_redone_until_the_run_is_complete() {
    for verb in ["run", "start"] {
        let stage = Stage::in_place(
            "steps:\n- {id: a, shell: 'echo a >> LOG; echo a > a.txt', outputs: a.txt}\n\
             - {id: b, shell: 'echo b >> LOG; test -e LOG.go'}\n",
        );
        let id = match verb {
            "run" => stage.run(&[]).1,
            _ => {
                stage.piton(["start", "w.yml", "--feature", "f"]).run().expect_code(0);
                stage.piton(["run", "f"]).run().expect_code(7);
                "f".to_owned()
            }
        };
        std::fs::remove_file(stage.sandbox.root().join("a.txt")).unwrap();
        let plan = stage.piton(["--format", "json", "plan", &id]).run();
        assert_eq!(plan.at("/data/next/0/step"), json!("a"), "{verb}: {plan}");
        std::fs::write(format!("{}.go", stage.log()), "").unwrap();
        stage.piton(["run", &id, "--yes"]).run().expect_code(0);
        assert_eq!(stage.executions(), ["a", "b", "a", "b"], "{verb}");
        std::fs::remove_file(stage.sandbox.root().join("a.txt")).unwrap();
        let plan = stage.piton(["--format", "json", "plan", &id]).run().expect_code(0);
        assert_eq!(plan.at("/data/verdict"), json!("complete"), "{verb}: {plan}");
    }
}
