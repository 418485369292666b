//! Questions: the options with their commands, and the answers that a person types at a terminal.

use serde_json::{Value, json};

use super::projects::{self, replace};
use crate::support::{END_OF_INPUT, Output, Sandbox};

const FLOW: &str = "name: flow
steps:
- {id: plan}
- {id: review, depends_on: plan, returns_to: plan}
- {id: sign, depends_on: review, gate: ana}
- {id: ship, depends_on: sign}
";

/// Answers that leave everything as it is: no, the end of input, nothing, and anything that is not an option.
const DECLINED: [&str; 5] = ["n\n", END_OF_INPUT, "\n", "what\n", "9\n"];

fn record(sandbox: &Sandbox, words: &str) {
    sandbox.piton(words.split(' ')).run().expect_code(0);
}

/// A run whose gate `sign` is next.
fn at_the_gate() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("flow.yaml", FLOW);
    for words in [
        "start flow.yaml --feature demo",
        "begin plan",
        "finish plan",
        "begin review",
        "finish review --verdict APPROVED",
    ] {
        record(&sandbox, words);
    }
    sandbox
}

/// A run whose review was rejected.
fn rejected() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("flow.yaml", FLOW);
    for words in [
        "start flow.yaml --feature demo",
        "begin plan",
        "finish plan",
        "begin review",
        "finish review --verdict REJECTED --error unsafe",
    ] {
        record(&sandbox, words);
    }
    sandbox
}

/// Resumes at a terminal. `None` if the machine has none.
fn answered(sandbox: &Sandbox, typed: &str) -> Option<Output> {
    sandbox.piton(["--format", "text", "resume"]).on_terminal(typed)
}

/// Checks that answers which choose nothing change no byte.
#[track_caller]
fn declining_changes_nothing(sandbox: &Sandbox, code: i32) {
    let before = sandbox.tree();
    for typed in DECLINED {
        let Some(output) = answered(sandbox, typed) else { return };
        let output = output.expect_code(code);
        assert!(output.stderr.contains("nothing was changed"), "{typed:?}\n{output}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{typed:?}\n{output}");
    }
}

fn commands(output: &Output) -> Vec<(String, bool)> {
    let options = output.at("/data/questions/0/options");
    let options = options.as_array().cloned().unwrap_or_default();
    let text = |option: &Value| option["command"].as_str().unwrap_or_default().to_owned();
    options.iter().map(|option| (text(option), option["person"] == true)).collect()
}

/// A-D15.
#[test]
fn a_gate_is_approved_at_a_terminal_with_a_name() {
    let sandbox = at_the_gate();
    let plan = sandbox.piton(["plan", "--exit-code"]).run().expect_code(9);
    let approve = "piton decide sign approve --run demo --by NAME".to_owned();
    let reject = "piton decide sign reject --run demo --by NAME --note WHY".to_owned();
    assert_eq!(commands(&plan), [(approve, true), (reject, true), ("piton pause demo".to_owned(), false)]);
    declining_changes_nothing(&sandbox, 9);
    // Without a name nothing is approved.
    let before = sandbox.tree();
    for typed in ["1\n\n", "approve\n\u{4}"] {
        let Some(output) = answered(&sandbox, typed) else { return };
        output.expect_code(9);
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{typed:?}");
    }
    let output = answered(&sandbox, "1\n--by ana\n").expect("there was one").expect_code(0);
    assert!(output.stderr.contains("Approve sign? (1-3)") && output.stderr.contains("Your name:"), "{output}");
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).at("/data/next/0/step"), "ship");
    let status = sandbox.piton(["status"]).run();
    assert_eq!(status.at("/data/decisions/0/by"), "--by ana", "{status}");
}

#[test]
fn a_rejection_is_answered_with_accept() {
    let sandbox = rejected();
    let plan = sandbox.piton(["plan", "--exit-code"]).run().expect_code(9);
    let decide = |answer: &str| format!("piton decide review {answer} --run demo --by NAME --note WHY");
    let expected = [decide("redo"), decide("accept"), "piton close demo --abort".to_owned()];
    assert_eq!(commands(&plan), expected.map(|command| (command, true)));
    declining_changes_nothing(&sandbox, 9);
    let Some(output) = answered(&sandbox, "accept\nana\nonly a demo\n") else { return };
    output.expect_code(0);
    assert_eq!(sandbox.piton(["plan", "--exit-code"]).run().expect_code(9).at("/data/next/0/step"), "sign");
    let decision = sandbox.piton(["status"]).run().at("/data/decisions/0");
    assert_eq!((&decision["decision"], &decision["note"]), (&"accept".into(), &"only a demo".into()), "{decision}");
}

/// NC3-22: what there is to judge by is above the answers.
#[test]
fn a_terminal_shows_what_there_is_to_judge_by_before_it_asks() {
    let Some(output) = answered(&rejected(), "n\n") else { return };
    let shown = output.to_string();
    let at = |text: &str| shown.find(text).unwrap_or_else(|| panic!("no {text:?} in {output}"));
    assert!(at("review: REJECTED; unsafe") < at("piton decide review accept"), "{output}");
}

#[test]
fn an_aborted_run_is_resumed_only_on_yes() {
    let sandbox = Sandbox::new();
    // Only a run of which more is left than its state is aborted and not archived.
    sandbox.file("flow.yaml", "name: flow\nsteps: [{id: plan}]\nat_end: [{shell: 'true'}]\n");
    record(&sandbox, "start flow.yaml --feature demo");
    record(&sandbox, "close demo --abort");
    let resume = ["--format", "text", "resume", "demo"];
    let before = sandbox.tree();
    for typed in DECLINED {
        let Some(output) = sandbox.piton(resume).on_terminal(typed) else { return };
        let output = output.expect_code(9);
        assert!(output.stderr.contains("Resume it? [y/N]"), "{output}");
        assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{typed:?}");
    }
    let output = sandbox.piton(resume).on_terminal("y\n").expect("there was one").expect_code(0);
    assert!(output.stdout.contains("Resuming demo"), "{output}");
}

#[test]
fn a_person_says_at_a_terminal_that_a_step_took_effect() {
    let sandbox = Sandbox::new();
    sandbox.file("flow.yaml", "name: flow\nsteps:\n- {id: push, idempotent: false}\n- {id: tell, depends_on: push}\n");
    record(&sandbox, "start flow.yaml --feature demo");
    sandbox.piton(["begin", "push"]).session("gone").run().expect_code(0);
    // Who drove it is gone, and so is the machine as it was.
    sandbox
        .driven_by("demo", json!({"pid": 1, "boot_id": "before", "host": "elsewhere", "seen": "2026-01-01T12:00:00Z"}));
    let plan = sandbox.piton(["plan", "--exit-code"]).run().expect_code(9);
    assert!(plan.findings().contains(&"outcome-unknown".to_owned()), "{plan}");
    let redo = "piton decide push not-happened --run demo --by NAME --note WHY";
    let accept = "piton decide push happened --run demo --by NAME --note WHY";
    let expected = [accept, redo, "piton status demo"];
    assert_eq!(commands(&plan).into_iter().map(|(command, _)| command).collect::<Vec<_>>(), expected);
    let before = sandbox.tree();
    let Some(output) = answered(&sandbox, "3\n") else { return };
    output.expect_code(9);
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
    let output = answered(&sandbox, "1\nana\nthe log shows it\n").expect("there was one").expect_code(0);
    assert!(output.stderr.contains("Did it take effect? (1-3)"), "{output}");
    assert_eq!(sandbox.piton(["plan"]).run().expect_code(0).at("/data/next/0/step"), "tell");
}

#[test]
fn a_command_of_another_program_is_printed_and_not_run() {
    let sandbox = projects::nine_step();
    let state = ".worktree/user-auth/.workflow-state.json";
    replace(&sandbox, state, "\"feature_name\"", "\"branch_name\": \"feature/other\",\n  \"feature_name\"");
    sandbox.git_init();
    let before = sandbox.tree();
    let Some(output) = answered(&sandbox, "1\n") else { return };
    let output = output.expect_code(9);
    let text = "this command is not run here; nothing was changed\r\n→ git -C ";
    assert!(output.stderr.contains(text) && output.stderr.contains("switch -c feature/other"), "{output}");
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
}

#[test]
fn a_command_of_another_program_is_printed_where_it_answers_a_later_question_too() {
    let sandbox = projects::nine_step();
    let state = ".worktree/user-auth/.workflow-state.json";
    replace(&sandbox, state, "\"feature_name\"", "\"branch_name\": \"feature/other\",\n  \"feature_name\"");
    replace(&sandbox, state, "NEEDS_REVISION", "REJECTED");
    sandbox.git_init();
    let Some(output) = answered(&sandbox, "1\nana\nit is right\n1\n") else { return };
    let output = output.expect_code(9);
    assert!(output.stdout.contains("2:4"), "{output}");
    let text = "this command is not run here; nothing was changed\r\n→ git -C ";
    assert!(output.stderr.contains(text) && output.stderr.contains("switch -c feature/other"), "{output}");
}

#[test]
fn a_person_chooses_among_several_runs() {
    let two = || {
        let sandbox = Sandbox::with_git();
        for feature in ["one", "two"] {
            sandbox.piton(["start", "nine-step", "--feature", feature, "--phases", "1"]).run().expect_code(0);
        }
        sandbox
    };
    let sandbox = two();
    declining_changes_nothing(&sandbox, 8);
    let list = sandbox.piton(["list"]).run().expect_code(0);
    let second = list.at("/data/runs/1/id").as_str().expect("it has an id").to_owned();
    let Some(output) = answered(&sandbox, "2\ny\n") else { return };
    let output = output.expect_code(0);
    assert!(output.stderr.contains("Which would you like to resume? (1-2)"), "{output}");
    assert!(output.stdout.contains(&format!("Resuming {second}")), "{output}");
}

#[test]
fn nothing_is_asked_where_no_person_can_answer() {
    let sandbox = at_the_gate();
    let before = sandbox.tree();
    for format in ["text", "json"] {
        let output = sandbox.piton(["--format", format, "resume"]).stdin("1\nana\n").run().expect_code(9);
        assert_eq!(output.stderr, "", "{output}");
        assert!(output.stdout.contains("piton decide sign approve --run demo --by NAME"), "{output}");
    }
    assert_eq!(before.changes(&sandbox.tree()), [""; 0]);
    // A plan asks nothing, at a terminal either.
    let Some(output) = sandbox.piton(["--format", "text", "plan", "--exit-code"]).on_terminal(END_OF_INPUT) else {
        return;
    };
    let output = output.expect_code(9);
    assert!(!output.stdout.contains("[Y/n]") && output.stderr.is_empty(), "{output}");
}
