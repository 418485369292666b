//! Steps of agents and gates in a run that Piton drives: the agent's report ends the step, a refusal goes back, a gate waits for a person.

use serde_json::json;

use super::support::{Stage, session_of};
use crate::support::Output;

const FLOW: &str = "\
inputs: {version: {}}
steps:
- {id: draft, agent: writer, instructions: 'Write the notes of ${version}.', outputs: draft.md}
- {id: review, agent: reviewer, reviews: draft}
- {id: approval, gate: the release manager}
- {id: publish, shell: echo publish >> LOG}
";

/// Answers as the agent of the step that the prompt names. Each `review` takes its verdict from the next line of `verdicts`.
const CLAUDE: &str = r#"for prompt; do :; done
printf '%s\n' "$prompt" >> TMP/prompts
report() { printf '{"type":"result","subtype":"success","is_error":false,"result":"Done.\\n\\nSTEP: %s\\nSTATUS: DONE\\nSUMMARY: as asked%s"}\n' "$1" "$2"; }
case "$prompt" in
"Do step draft"*) echo draft >> LOG; echo text >> draft.md; report draft "" ;;
"Do step review"*)
  echo review >> LOG
  read verdict < TMP/verdicts
  { read skipped; /bin/cat; } < TMP/verdicts > TMP/rest
  /bin/cat TMP/rest > TMP/verdicts
  report review "$verdict" ;;
esac"#;

fn stage(verdicts: &str) -> Stage {
    let stage = Stage::new(FLOW);
    stage.program("claude", CLAUDE);
    stage.outside("verdicts", verdicts);
    stage
}

const NO: &str = "\\\\nVERDICT: NEEDS_REVISION\\\\nFINDINGS:\\\\n- add dates\n";
const YES: &str = "\\\\nVERDICT: APPROVED\n";

#[test]
fn agents_review_and_return_and_a_gate_waits_for_its_approval() {
    let stage = stage(&[NO, YES].concat());
    let (output, id) = stage.run(&["--input", "version=1.4"]);
    let output = output.expect_code(9);
    assert_eq!(stage.executions(), ["draft", "review", "draft", "review"], "{output}");
    assert!(output.stderr.contains("review, ended with NEEDS_REVISION: the run goes back"), "{output}");
    let approve = format!("piton approve approval --run {id} --by NAME --note WHY");
    assert!(output.to_string().contains(&approve), "{output}");
    let prompts = std::fs::read_to_string(stage.sandbox.top().join("tmp/prompts")).unwrap();
    assert!(prompts.contains("Write the notes of 1.4.") && prompts.contains("Write draft.md: "), "{prompts}");
    assert_eq!(prompts.matches("Open findings:\n  - add dates").count(), 1, "{prompts}");

    let plan = stage.piton(["--format", "json", "plan", &id]).run().expect_code(9);
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/0/action")), (json!("approval"), json!("approve")));
    assert_eq!(stage.resume(&id).code, 9, "a gate is never passed");
    assert_eq!(stage.count("publish"), 0);
    stage.piton(["approve", "approval", "--run", &id, "--by", "Ann", "--note", "ship it"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["draft", "review", "draft", "review", "publish"]);
}

#[test]
fn a_review_that_refuses_three_times_is_for_a_person() {
    let stage = stage(&NO.repeat(5));
    let output = stage.piton(["run", "w.yml", "--input", "version=1.4", "--events"]).run().expect_code(9);
    assert_eq!((stage.count("draft"), stage.count("review")), (3, 3), "{output}");
    let end = output.stdout.lines().last().unwrap_or_default();
    let end: serde_json::Value = serde_json::from_str(end).expect("an event");
    let id = session_of(end["session"].as_str().unwrap_or_default());
    assert_eq!((&end["status"], &end["waits_for"]["step"]), (&json!("waiting"), &json!("review")), "{output}");
    stage.piton(["accept", "review", "--run", &id, "--by", "Ann", "--note", "good enough"]).run().expect_code(0);
    assert_eq!(stage.resume(&id).code, 9);
    assert_eq!((stage.count("draft"), stage.count("review")), (3, 3), "what a person accepted is not done again");
}

#[test]
fn a_review_without_a_verdict_failed() {
    let stage = stage("\n");
    let (output, id) = stage.run(&["--input", "version=1.4"]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("it ended without a verdict"), "{output}");
    stage.outside("verdicts", YES);
    assert_eq!(stage.resume(&id).code, 9);
    assert_eq!((stage.count("draft"), stage.count("review")), (1, 2), "what was done is not done again");
}

/// A gate is put to a person in every answer, and a run is merged from any folder.
#[test]
fn a_run_at_a_gate_says_who_is_asked_and_is_merged_from_anywhere() {
    let stage = Stage::new(
        "steps:\n- {id: build, shell: echo built > out.txt; git add out.txt; git commit -qm out}\n- {id: go, gate: Ann}\n",
    );
    let (output, id) = stage.run(&[]);
    output.expect_code(9);
    let plan = stage.piton(["--format", "json", "plan", &id]).run().expect_code(9);
    let commands = plan.at("/data/question/options");
    let approves = format!("piton approve go --run {id} --by NAME");
    let named = commands.as_array().is_some_and(|all| all.iter().any(|option| option["command"] == approves));
    assert!(named, "{plan}");
    let row = stage.piton(["--format", "json", "sessions"]).run().expect_code(0).at("/data/sessions/0");
    assert_eq!((&row["status"], &row["next"]), (&json!("waiting"), &json!(format!("piton plan {id}"))), "{row}");
    stage.piton(["approve", "go", "--run", &id, "--by", "Ann", "--note", "ok"]).run().expect_code(0);
    let elsewhere = stage.sandbox.top().join("empty");
    std::fs::create_dir_all(&elsewhere).unwrap();
    let from_elsewhere = |words: &[&str]| stage.piton(words.iter().copied()).folder(&elsewhere).run();
    from_elsewhere(&["resume", &id]).expect_code(0);
    from_elsewhere(&["sessions", "show", &id]).expect_code(0);
    from_elsewhere(&["merge", &id, "--yes"]).expect_code(0);
    assert!(stage.sandbox.root().join("out.txt").exists());
}

/// A run that came with a copy of the project runs nothing before a person agreed.
#[test]
fn the_commands_of_a_run_from_elsewhere_run_only_once_trusted() {
    let sandbox = crate::support::Sandbox::with_git();
    sandbox.file("w.yml", "steps:\n- {id: a, agent: x}\n- {id: b, shell: echo > ran}\n");
    sandbox.piton(["start", "w.yml", "--feature", "v1"]).run().expect_code(0);
    for words in [["begin", "a"], ["finish", "a"]] {
        sandbox.piton(words).run().expect_code(0);
    }
    // On another machine the state folder of its user knows nothing of it.
    std::fs::remove_dir_all(sandbox.home().join(".local/state/piton/index")).expect("runs were entered");
    for words in [&["exec", "b"][..], &["run", "v1"]] {
        let refused = sandbox.piton(words.iter().copied()).run();
        assert_eq!(refused.code, 9, "{refused}");
        assert!(
            refused.stderr.contains("this user did not begin the run v1") && refused.stderr.contains("--trust"),
            "{refused}"
        );
        assert!(!sandbox.exists("ran"));
    }
    sandbox.piton(["exec", "b", "--trust"]).run().expect_code(0);
    assert!(sandbox.exists("ran"));
    sandbox.piton(["run", "v1"]).run().expect_code(0);
}

/// The instructions of agents and of gates, with inputs and with what steps before them left.
const TOLD: &str = "name: release\ninputs:\n  version: {pattern: '^[0-9.]+$', description: what is released}\n  count: {type: number, default: 3}\nsteps:\n- id: draft\n  agent: writer\n  instructions: Write the notes of ${version}, ${count} lines, $${version} stays.\n- {id: look, shell: \"printf 'a; ${version}'\", capture: seen}\n- {id: edit, agent: writer, instructions: 'Edit ${seen} by ${look.output} for ${workflow.id}.'}\n- {id: approval, gate: Ann, instructions: 'Publish ${version}?'}\n";

#[test]
fn a_brief_has_the_values_of_inputs_and_of_steps_before() {
    let stage = Stage::in_place(TOLD);
    let begin = ["start", "w.yml", "--feature", "spring"];
    for (arguments, message) in [
        (&[][..], "the input `version` (what is released) is needed"),
        (&["--input", "version=x"], "the input `version` does not match"),
        (&["--input", "verison=1"], "the workflow has no input `verison`"),
        (&["--input", "version=1", "--input", "count=many"], "the input `count` is `many`, not a number"),
    ] {
        let output = stage.piton(begin.iter().chain(arguments).copied()).run();
        assert!(output.code == 2 && output.to_string().contains(message), "{output}");
    }
    assert!(!stage.state().join("runs/spring").exists() && !stage.state().exists(), "nothing is begun");
    let given = ["--input", "version=1.2"];
    stage.piton(begin.iter().chain(&given).copied()).run().expect_code(0);
    let told = |step: &str| {
        let output = stage.piton(["--format", "json", "begin", step, "--brief", "inline"]).run().expect_code(0);
        output.at("/data/brief/instructions").as_str().expect("a text").to_owned()
    };
    assert_eq!(told("draft"), "Write the notes of 1.2, 3 lines, ${version} stays.");
    stage.piton(["finish", "draft"]).run().expect_code(0);
    stage.piton(["exec", "look"]).run().expect_code(0);
    assert_eq!(told("edit"), "Edit a; 1.2 by a; 1.2 for spring.");
    stage.piton(["finish", "edit"]).run().expect_code(0);
    let gate = stage.piton(["--format", "json", "context"]).run().expect_code(0);
    assert_eq!(gate.at("/data/instructions"), "Publish 1.2?", "{gate}");
    // The same file begun again names the inputs in the command that archives the first run.
    let again = stage.piton(begin.iter().chain(&given).copied()).run();
    assert!(again.to_string().contains("--feature spring --input 'version=1.2' --archive"), "{again}");
}

#[test]
fn a_step_is_not_begun_while_a_variable_of_its_instructions_has_no_value() {
    let flow = "steps:\n- {id: look, shell: 'true', capture: seen, depends_on: []}\n- {id: edit, agent: writer, instructions: 'Edit ${seen}.'}\n";
    let stage = Stage::in_place(flow);
    stage.piton(["start", "w.yml", "--feature", "spring"]).run().expect_code(0);
    stage.piton(["finish", "look"]).run().expect_code(0);
    let output = stage.piton(["begin", "edit"]).run().expect_code(1);
    assert!(
        output.to_string().contains("instructions of edit cannot be filled in: the variable `${seen}` is not set"),
        "{output}"
    );
    let shown = stage.piton(["--format", "json", "context", "--step", "edit"]).run();
    assert!(shown.to_string().contains("Edit ${seen}."), "{shown}");
    stage.workflow(&flow.replace("${seen}", "${seen:-nothing}"));
    let output = stage.piton(["--format", "json", "begin", "edit", "--brief", "inline"]).run().expect_code(0);
    assert_eq!(output.at("/data/brief/instructions"), "Edit nothing.", "{output}");
}

#[test]
fn no_secret_reaches_a_brief() {
    for (head, name) in
        [("secrets: {TOKEN: HOME}\n", "TOKEN"), ("env: {REGION: eu}\n", "REGION"), ("", "workflow.files_added")]
    {
        let flow = format!("{head}steps: [{{id: b, agent: writer, instructions: 'Use ${{{name}:-x}}'}}]\n");
        let flow = if head.is_empty() { flow.replace(":-x", "") } else { flow };
        let stage = Stage::in_place(&flow);
        let output = stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(2);
        assert!(output.to_string().contains(&format!("the instructions of step b have `${{{name}}}`")), "{output}");
    }
    // A secret that was given as an input is masked where it is recognised.
    let stage = Stage::in_place("inputs: {key: {}}\nsteps: [{id: b, agent: writer, instructions: 'Use ${key}'}]\n");
    let key = "key=ghp_0123456789abcdefghijABCDEFGHIJ012345";
    stage.piton(["start", "w.yml", "--feature", "x", "--input", key]).run().expect_code(0);
    let output = stage.piton(["begin", "b", "--brief", "inline"]).run().expect_code(0);
    assert!(!output.to_string().contains("ghp_0123456789"), "{output}");
}

const LEFT: &str = "steps:\n- {id: draft, agent: writer}\n- {id: review, agent: reviewer, reviews: draft}\n- {id: approval, gate: Ann}\n- {id: say, shell: 'echo ${draft.summary}, ${review.verdict}, ${approval.note} >> LOG'}\n- {id: end, agent: writer, instructions: '${draft.summary} ${review.verdict} ${approval.note} ${approval.note:-x}'}\n";

#[test]
fn agents_and_gates_leave_variables_for_the_steps_after_them() {
    let stage = Stage::in_place(LEFT);
    stage.piton(["start", "w.yml", "--feature", "spring"]).run().expect_code(0);
    for words in [
        &["begin", "draft"][..],
        &["finish", "draft", "--summary", "two notes; 'x'"],
        &["begin", "review"],
        &["finish", "review", "--verdict", "APPROVED"],
        &["approve", "approval", "--by", "Ann", "--note", "go on"],
        &["exec", "say"],
    ] {
        stage.piton(words.iter().copied()).run().expect_code(0);
    }
    assert_eq!(stage.executions(), ["two notes; 'x', APPROVED, go on"]);
    let output = stage.piton(["--format", "json", "begin", "end", "--brief", "inline"]).run().expect_code(0);
    assert_eq!(output.at("/data/brief/instructions"), "two notes; 'x' APPROVED go on go on");
    // A name that no step of its kind leaves is a mistake of the file.
    let wrong = Stage::in_place("steps:\n- {id: a, agent: w}\n- {shell: 'echo ${a.verdict}'}\n");
    let output = wrong.piton(["validate", "w.yml"]).run().expect_code(1);
    assert!(output.to_string().contains("the variable `${a.verdict}` is not set by anything"), "{output}");
}

#[test]
fn a_run_that_piton_drives_has_the_variables_of_agents_and_gates() {
    let flow = FLOW
        .replace("reviews: draft", "reviews: draft, instructions: 'Look at <${draft.summary}>.'")
        .replace("shell: echo publish", "shell: 'echo ${draft.summary}, ${review.verdict}, ${approval.note}")
        .replace(">> LOG}", ">> LOG'}");
    let stage = Stage::new(&flow);
    stage.program("claude", CLAUDE);
    stage.outside("verdicts", YES);
    let (output, id) = stage.run(&["--input", "version=1.4"]);
    output.expect_code(9);
    let prompts = std::fs::read_to_string(stage.sandbox.top().join("tmp/prompts")).unwrap();
    assert!(prompts.contains("Look at <as asked>."), "{prompts}");
    stage.piton(["approve", "approval", "--run", &id, "--by", "Ann", "--note", "ship it"]).run().expect_code(0);
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["draft", "review", "as asked, APPROVED, ship it"]);
}

/// What was built on the work that a review sent back is built again.
#[test]
fn steps_between_the_work_and_its_review_are_repeated_with_it() {
    let stage = stage(&[NO, YES].concat());
    stage.workflow(
        &FLOW
            .replace("- {id: review", "- {id: pages, shell: echo pages >> LOG}\n- {id: review")
            .replace("reviews: draft", "reviews: draft, depends_on: pages"),
    );
    let (output, _) = stage.run(&["--input", "version=1.4"]);
    let output = output.expect_code(9);
    assert_eq!(stage.executions(), ["draft", "pages", "review", "draft", "pages", "review"], "{output}");
}

/// A conditional approval stays one: a person takes the work, or meets the condition.
#[test]
fn an_approval_on_conditions_is_for_a_person() {
    let conditional = "\\\\nVERDICT: APPROVED_WITH_CONDITIONS\\\\nFINDINGS:\\\\n- add dates\n";
    for is_met in [false, true] {
        let stage = stage(conditional);
        let (output, id) = stage.run(&["--input", "version=1.4"]);
        let output = output.expect_code(9);
        assert!(output.to_string().contains("waits at step review: approved on add dates"), "{output}");
        let accept = format!("piton accept review --run {id} --by NAME --note WHY");
        assert!(output.to_string().contains(&accept), "{output}");
        let refused = stage.resume(&id).expect_code(9);
        assert!(refused.to_string().contains(&accept) && refused.to_string().contains("add dates"), "{refused}");
        let words: &[&str] = match is_met {
            true => &["finish", "review", "--run", &id, "--verdict", "APPROVED"],
            false => &["accept", "review", "--run", &id, "--by", "Ann", "--note", "later"],
        };
        stage.piton(words.iter().copied()).run().expect_code(0);
        let next = stage.resume(&id).expect_code(9);
        assert!(next.to_string().contains("waits at step approval"), "{next}");
        assert_eq!(stage.executions(), ["draft", "review"], "{next}");
    }
}

const CONDITIONS: &str = "inputs: {deep: {type: boolean, default: false}}
steps:
- {id: count, shell: echo 1, capture: n}
- {id: look, agent: reviewer, instructions: Look., when: '${n} > 1 || ${deep}'}
- {id: fix, agent: developer, instructions: Fix.}
- {id: ask, gate: the lead, if_skipped: run, when: 'skipped(fix)', depends_on: fix}
- {id: tell, shell: echo told >> LOG}
- {id: polish, shell: echo polished >> LOG, when: 'failed(tell)'}
- {id: end, agent: writer, instructions: End., depends_on: tell}
";

fn plan_of(stage: &Stage) -> Output {
    stage.piton(["plan", "x", "--format", "json"]).run()
}

fn skipped(plan: &Output) -> Vec<String> {
    let skipped = plan.at("/data/steps/skipped").as_array().cloned().unwrap_or_default();
    skipped.iter().filter_map(|id| Some(id.as_str()?.to_owned())).collect()
}

/// workflow.md 1: a step whose `when` is false is skipped, and so is what depends on it, under both drivers.
#[test]
fn a_step_for_an_agent_is_skipped_by_its_condition() {
    let stage = Stage::new(CONDITIONS);
    let call = |arguments: &[&str]| stage.piton(arguments.iter().copied()).run();
    call(&["start", "w.yml", "--feature", "x"]).expect_code(0);
    assert_eq!(skipped(&plan_of(&stage)), [] as [&str; 0], "nothing is known yet");
    call(&["exec", "count", "--run", "x"]).expect_code(0);
    let before = stage.sandbox.everything();
    let plan = plan_of(&stage);
    assert_eq!(skipped(&plan), ["look", "fix"], "{plan}");
    assert_eq!((plan.at("/data/next/0/step"), plan.at("/data/next/0/action")), (json!("ask"), json!("approve")));
    assert_eq!(before.changes(&stage.sandbox.everything()), [] as [&str; 0], "a plan records nothing");
    let refused = call(&["begin", "look", "--run", "x"]);
    assert!(refused.to_string().contains("look was left out"), "{refused}");
    call(&["approve", "ask", "--run", "x", "--by", "Kim"]).expect_code(0);
    let told = call(&["exec", "tell", "--run", "x"]).expect_code(0);
    assert!(told.stderr.contains("Skipping step 2/7: its `when` does not hold"), "{told}");
    assert!(told.stderr.contains("Skipping step 3/7: a step that it depends on was skipped"), "{told}");
    assert_eq!(skipped(&plan_of(&stage)), ["look", "fix", "polish"]);
    assert_eq!(plan_of(&stage).at("/data/next/0/step"), "end");
    call(&["begin", "end", "--run", "x"]).expect_code(0);
    call(&["finish", "end", "--run", "x", "--summary", "done"]).expect_code(0);
    assert_eq!(plan_of(&stage).at("/data/verdict"), "complete");
    assert_eq!(stage.executions(), ["told"]);
}

#[test]
fn a_person_can_have_a_step_done_whose_condition_does_not_hold() {
    let stage = Stage::new(CONDITIONS);
    let call = |arguments: &[&str]| stage.piton(arguments.iter().copied()).run();
    call(&["start", "w.yml", "--feature", "x"]).expect_code(0);
    call(&["exec", "count", "--run", "x"]).expect_code(0);
    let refused = call(&["begin", "look", "--run", "x", "--format", "text"]);
    let hint = refused.stderr.lines().find_map(|line| line.strip_prefix("→ ")).expect("a command");
    let redo = hint.replace("NAME", "Kim").replace("WHY", "curious");
    call(&redo.split(' ').skip(1).collect::<Vec<_>>()).expect_code(0);
    call(&["begin", "look", "--run", "x"]).expect_code(0);
    call(&["finish", "look", "--run", "x", "--verdict", "APPROVED"]).expect_code(0);
    assert_eq!(plan_of(&stage).at("/data/next/0/step"), "fix");
}

#[test]
fn a_condition_that_holds_lets_the_agent_begin() {
    let stage = Stage::new(CONDITIONS);
    let call = |arguments: &[&str]| stage.piton(arguments.iter().copied()).run();
    call(&["start", "w.yml", "--feature", "x", "--input", "deep=true"]).expect_code(0);
    call(&["exec", "count", "--run", "x"]).expect_code(0);
    call(&["begin", "look", "--run", "x"]).expect_code(0);
    call(&["finish", "look", "--run", "x", "--verdict", "APPROVED"]).expect_code(0);
    call(&["begin", "fix", "--run", "x"]).expect_code(0);
    call(&["finish", "fix", "--run", "x", "--summary", "done"]).expect_code(0);
    assert_eq!(skipped(&plan_of(&stage)), ["ask", "tell", "polish", "end"], "the gate was for a skipped fix");
}

#[test]
fn a_condition_that_no_record_decides_is_for_the_runner() {
    for (name, keys) in [("TOKEN", "env: {TOKEN: x}\n"), ("workflow.commit_count", "")] {
        let stage = Stage::new(&format!(
            "{keys}steps:\n- {{id: a, agent: writer, instructions: Go., when: '${{{name}}} == 1'}}\n"
        ));
        let output = stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(2);
        assert!(
            output.to_string().contains(&format!("asks for `${{{name}}}`, which only `piton run` knows")),
            "{output}"
        );
    }
}

/// Which values can be compared shows when they are there.
#[test]
fn a_condition_that_cannot_be_decided_is_refused_with_its_reason() {
    let stage = Stage::new(
        "steps:\n- {id: count, shell: echo many, capture: n}\n- {id: look, agent: a, instructions: Go., when: '${n} > 1'}\n",
    );
    stage.piton(["start", "w.yml", "--feature", "x"]).run().expect_code(0);
    stage.piton(["exec", "count", "--run", "x"]).run().expect_code(0);
    let refused = stage.piton(["begin", "look", "--run", "x"]).run().expect_code(1);
    assert!(refused.to_string().contains("`many` and `1` are not both numbers"), "{refused}");
}

const APART: &str = "steps:
- {id: draft, agent: writer, instructions: Write., outputs: draft.md}
- {id: keep, shell: 'git add draft.md; git commit -qm draft'}
";

/// workflow.md 2: the worktree is a property of the run, under both drivers.
#[test]
fn agents_work_in_the_worktree_of_their_run() {
    let stage = Stage::new(APART);
    let call = |arguments: &[&str]| stage.piton(arguments.iter().copied()).run();
    call(&["start", "w.yml", "--feature", "x", "--worktree"]).expect_code(0);
    let worktree = stage.worktree("x");
    let begun = call(&["begin", "draft", "--run", "x", "--format", "text"]).expect_code(0);
    assert!(
        begun.stdout.lines().any(|line| line.starts_with("Work in ") && line.contains("/worktrees/x; ")),
        "{begun}"
    );
    call(&["finish", "draft", "--run", "x", "--summary", "done"]).expect_code(1);
    std::fs::write(worktree.join("draft.md"), "text").unwrap();
    call(&["finish", "draft", "--run", "x", "--summary", "done"]).expect_code(0);
    call(&["exec", "keep", "--run", "x"]).expect_code(0);
    let plan = plan_of(&stage);
    assert_eq!(plan.at("/data/commands/begin"), "piton merge x", "{plan}");
    let refused = call(&["archive", "x"]).expect_code(9);
    assert!(refused.to_string().contains("the work of x is not merged"), "{refused}");
    assert!(!stage.sandbox.root().join("draft.md").exists());
    call(&["merge", "x", "--yes"]).expect_code(0);
    assert!(stage.sandbox.root().join("draft.md").exists() && !worktree.exists());
    let plan = plan_of(&stage);
    assert_eq!(plan.at("/data/commands/begin"), "piton archive x", "{plan}");
    call(&["archive", "x"]).expect_code(0);
}

#[test]
fn a_worktree_for_agents_that_cannot_be_made_is_refused_before_the_run_begins() {
    let plain = Stage::in_place(APART);
    let refused = plain.piton(["start", "w.yml", "--feature", "x", "--worktree"]).run().expect_code(1);
    assert!(refused.to_string().contains("`piton start w.yml --feature x`"), "{refused}");
    assert!(!plain.state().exists(), "nothing is begun");
    let stage = Stage::new(&format!("merge: [{{shell: 'true'}}]\n{APART}"));
    let call = |arguments: &[&str]| stage.piton(arguments.iter().copied()).run();
    let refused = call(&["start", "w.yml", "--feature", "x"]).expect_code(2);
    assert!(refused.to_string().contains("piton start w.yml --feature NAME --worktree"), "{refused}");
    let refused = call(&["start", "nine-step", "--feature", "x", "--worktree"]).expect_code(2);
    assert!(refused.to_string().contains("leave out --worktree"), "{refused}");
    call(&["start", "w.yml", "--feature", "x", "--worktree"]).expect_code(0);
    let again = call(&["start", "w.yml", "--feature", "x", "--worktree"]);
    assert!(again.code != 0 && again.to_string().contains("an unfinished run of x already exists"), "{again}");
    assert!(again.to_string().contains("piton start w.yml --feature x --worktree --archive"), "{again}");
    let aborted = call(&["abort", "x"]).expect_code(0);
    assert_eq!(aborted.at("/data/next"), "piton drop x", "its worktree is left");
    let refused = call(&["archive", "x"]).expect_code(9);
    assert!(refused.to_string().contains("piton drop x"), "{refused}");
    let refused = call(&["archive", "x", "--yes"]).expect_code(9);
    assert!(refused.to_string().contains("piton drop x"), "{refused}");
    call(&["drop", "x", "--yes"]).expect_code(0);
    stage.sandbox.git(["branch", "piton/x"]);
    let refused = call(&["start", "w.yml", "--feature", "x", "--worktree"]);
    assert!(refused.code != 0 && refused.to_string().contains("work of an earlier run of that name"), "{refused}");
    assert!(refused.to_string().contains("git branch -D piton/x"), "{refused}");
}

/// A gate and a review are skipped by their conditions as other steps are, under both drivers.
#[test]
fn a_gate_and_a_review_are_skipped_by_their_conditions() {
    const FLOW: &str = "inputs: {strict: {type: boolean, default: false}}
steps:
- {id: a, shell: echo a >> LOG}
- {id: look, agent: y, reviews: a, when: '${strict}'}
- {id: ask, gate: Ann, depends_on: a, when: '${strict}'}
- {id: b, shell: echo b >> LOG, depends_on: [look, ask], if_skipped: run}
";
    let stage = Stage::new(FLOW);
    stage.program("claude", "exit 1");
    for jobs in ["1", "2"] {
        stage.forget();
        stage.run(&["--jobs", jobs]).0.expect_code(0);
        assert_eq!(stage.executions(), ["a", "b"], "{jobs}");
    }
    stage.forget();
    let call = |arguments: &[&str]| stage.piton(arguments.iter().copied()).run();
    call(&["start", "w.yml", "--feature", "x"]).expect_code(0);
    call(&["exec", "a", "--run", "x"]).expect_code(0);
    assert_eq!(skipped(&plan_of(&stage)), ["look", "ask"]);
    call(&["exec", "b", "--run", "x"]).expect_code(0);
    assert_eq!(stage.executions(), ["a", "b"]);
}

/// What a condition left out is asked again when the work before it is repeated.
#[test]
fn a_condition_is_asked_again_when_a_review_sends_the_work_back() {
    let stage = Stage::new(
        "steps:
- {id: draft, agent: writer, instructions: Write., outputs: draft.md}
- {id: extra, shell: echo extra >> LOG, when: \"${draft.summary} contains 'second'\"}
- {id: then, shell: echo then >> LOG}
- {id: review, agent: reviewer, reviews: draft, depends_on: [draft, then], if_skipped: run}
",
    );
    let draft = "\"Do step draft\"*) if [ -e TMP/sent ]; then s=second; else s=first; fi; : > TMP/sent; echo draft >> LOG; echo $s >> draft.md; printf '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"STEP: draft\\\\nSTATUS: DONE\\\\nSUMMARY: the %s try\"}\\n' $s ;;";
    let lines = CLAUDE.lines().map(|line| if line.starts_with("\"Do step draft") { draft } else { line });
    stage.program("claude", &lines.collect::<Vec<_>>().join("\n"));
    stage.outside("verdicts", &[NO, YES].concat());
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["draft", "review", "draft", "extra", "then", "review"]);
}

/// As `finish` refuses it.
#[test]
fn work_that_was_sent_back_and_is_untouched_is_not_done() {
    let stage = Stage::new(FLOW);
    stage.program("claude", &CLAUDE.replace("echo text >> draft.md", "echo text > draft.md"));
    stage.outside("verdicts", &[NO, YES].concat());
    let (output, _) = stage.run(&["--input", "version=1"]);
    let output = output.expect_code(7);
    assert!(output.stderr.contains("draft.md is unchanged since the attempt that was sent back"), "{output}");
}

/// A probe of an agent's step is a text for a person.
#[test]
fn the_probe_of_an_agent_is_never_run() {
    let stage = Stage::new(
        "steps:\n- {id: publish, agent: writer, instructions: Go., idempotent: false, probe: echo probed >> LOG}\n",
    );
    stage.program("claude", "echo agent >> LOG; kill -KILL $PPID; sleep 5");
    let (_, id) = stage.run(&[]);
    let refused = stage.piton(["resume", &id, "--yes"]).run().expect_code(9);
    assert!(refused.stderr.contains("to find out: echo probed"), "{refused}");
    assert_eq!(stage.executions(), ["agent"]);
}

#[test]
fn a_gate_is_asked_again_when_the_work_before_it_is_repeated() {
    let stage =
        Stage::new("steps:\n- {id: a, shell: echo a >> LOG}\n- {id: g, gate: Ann}\n- {id: e, shell: echo e >> LOG}\n");
    let (_, id) = stage.run(&[]);
    let approve = || stage.piton(["approve", "g", "--run", &id, "--by", "Ann"]).run().expect_code(0);
    approve();
    stage.resume(&id).expect_code(0);
    let refused = stage.piton(["resume", &id, "--from", "g"]).run().expect_code(9);
    assert!(refused.stderr.contains("piton redo g --run"), "{refused}");
    let waits = stage.piton(["resume", &id, "--from", "a"]).run().expect_code(9);
    assert!(waits.stderr.contains(&format!("piton approve g --run {id}")), "{waits}");
    approve();
    stage.resume(&id).expect_code(0);
    assert_eq!(stage.executions(), ["a", "e", "a", "e"]);
}

/// Of an item, too, its agent leaves what it said.
#[test]
fn what_an_agent_says_of_an_item_is_known_to_the_steps_behind_it() {
    let stage = Stage::new(
        "steps:\n- {id: each, foreach: [a, b], steps: [{id: fix, agent: x, instructions: 'Fix ${item}.'}, {shell: 'echo ${item} ${fix.summary} >> LOG'}]}\n",
    );
    stage.program("claude", r#"printf '{"type":"result","subtype":"success","is_error":false,"result":"STEP: x\\nSTATUS: DONE\\nSUMMARY: repaired"}\n'"#);
    stage.run(&[]).0.expect_code(0);
    assert_eq!(stage.executions(), ["a repaired", "b repaired"]);
}

#[test]
fn a_gate_stops_only_what_depends_on_it() {
    let stage = Stage::new(
        "steps:\n- {id: a, shell: echo a >> LOG}\n- {id: g, gate: Ann}\n- {id: c, shell: echo c >> LOG, depends_on: a}\n",
    );
    stage.run(&[]).0.expect_code(9);
    assert_eq!(stage.executions(), ["a", "c"]);
}

#[test]
fn a_workflow_that_is_found_by_name_runs_again_once_its_run_is_over() {
    let stage = Stage::new("steps: [{id: x, shell: 'true'}]\n");
    stage.sandbox.file(
        "piton/rel.yaml",
        "steps:\n- {id: a, shell: echo a >> COUNT}\n".replace("COUNT", stage.log().as_str()).as_str(),
    );
    for _ in 0..2 {
        stage.piton(["run", "rel", "--no-worktree"]).run().expect_code(0);
    }
    assert_eq!(stage.executions(), ["a", "a"]);
}

#[test]
fn an_aborted_session_goes_on_where_it_stopped() {
    let stage = Stage::new("steps:\n- {id: a, shell: echo a >> LOG}\n- {id: b, shell: echo b >> LOG}\n");
    let (_, id) = stage.run(&["--until", "a"]);
    stage.piton(["abort", &id]).run().expect_code(0);
    let plan = stage.piton(["plan", &id, "--format", "json"]).run();
    let go_on = plan.at("/data/question/options/0/command");
    assert_eq!(go_on, format!("piton resume {id} --from b"), "{plan}");
    stage.piton(["resume", &id, "--from", "b", "--yes"]).run().expect_code(0);
    assert_eq!(stage.executions(), ["a", "b"]);
}
