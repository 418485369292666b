//! Sentences that a person or an agent acts on: what was found is named, said once, and in words that are true.

use serde_json::json;

use super::projects;
use crate::support::{Output, Sandbox};

fn piton<'a>(sandbox: &'a Sandbox, arguments: &[&'a str]) -> Output {
    sandbox.piton(arguments.iter().copied()).run()
}

/// `make` and `check` are done, and `ship` is open.
fn two_of_three() -> Sandbox {
    let sandbox = Sandbox::with_git();
    let flow = "name: flow\nsteps:\n  - {id: make, agent: dev, outputs: a.txt}\n  \
                - {id: check, agent: qa, returns_to: make}\n  - {id: ship, agent: dev}\n";
    sandbox.file("flow.yaml", flow);
    piton(&sandbox, &["start", "flow.yaml", "--feature", "x"]).expect_code(0);
    piton(&sandbox, &["begin", "make"]).expect_code(0);
    sandbox.file("a.txt", "1");
    piton(&sandbox, &["finish", "make"]).expect_code(0);
    piton(&sandbox, &["begin", "check"]).expect_code(0);
    piton(&sandbox, &["finish", "check", "--verdict", "APPROVED"]).expect_code(0);
    sandbox
}

/// Text 7: a lost output is a warning with its two ways out, and its reason stands once.
#[test]
fn a_lost_output_names_its_two_ways_out() {
    let sandbox = two_of_three();
    sandbox.remove("a.txt");
    let plan = piton(&sandbox, &["plan"]).expect_code(9);
    assert_eq!(plan.at("/data/next/0/reason"), "make must be redone: its output a.txt is missing");
    let finding = plan.at("/findings/0");
    assert_eq!(
        (&finding["severity"], &finding["fix"]),
        (&json!("warning"), &json!("do make again, or restore the file"))
    );
    let text = piton(&sandbox, &["plan", "--format", "text"]).stdout;
    assert_eq!(text.matches("make must be redone").count(), 1, "{text}");
}

/// Text 8: `--to-step` where nothing failed says so and names the verb that does what was wanted.
#[test]
fn a_way_back_that_nothing_asks_for_names_the_verb_that_goes_back() {
    let sandbox = two_of_three();
    let plan = piton(&sandbox, &["plan", "--to-step", "make"]).expect_code(9);
    let finding = plan.at("/findings/0");
    assert_eq!(finding["message"], "--to-step sends a failed step back to make, and nothing after make has failed");
    assert_eq!(finding["fix"], "to do make again: `piton redo make --run x --by NAME --note WHY`");
    piton(&sandbox, &["redo", "make", "--run", "x", "--by", "Ana", "--note", "typo"]).expect_code(0);
    // What a person reopens was not lost.
    let plan = piton(&sandbox, &["plan"]);
    let first = plan.at("/data/next/0");
    assert_eq!((&first["step"], &first["strategy"]), (&json!("make"), &json!(null)), "{plan}");
    assert!(!plan.stdout.contains("context_lost"), "{plan}");
    let plan = piton(&sandbox, &["plan", "--to-step", "ship"]).expect_code(9);
    assert_eq!(plan.at("/findings/0/fix"), "leave out --to-step");
}

/// Text 9: a wrong word in a change as JSON is named with its field and the words that count.
#[test]
fn a_wrong_word_in_a_change_is_named_with_the_right_ones() {
    let sandbox = two_of_three();
    for (change, message) in [
        (
            r#"{"step":"check","verdict":"xyz"}"#,
            "/verdict is `xyz`, one of `APPROVED`, `APPROVED_WITH_CONDITIONS`, `NEEDS_REVISION`, `REJECTED` is needed",
        ),
        (r#"{"change":"finish","step":"check","verdict":4}"#, "/verdict is 4, one of `APPROVED`"),
        (r#"{"step":"check","status":"xyz"}"#, "/status is `xyz`, one of `pending`"),
        (r#"{"step":"check","verdikt":"APPROVED"}"#, "the top level has fields that are not known: verdikt"),
    ] {
        let refused = sandbox.piton(["finish", "--json", "-"]).stdin(change).run().expect_code(2);
        let said = refused.at("/error/message");
        assert!(said.as_str().is_some_and(|said| said.starts_with(message)), "{change}\n{said}");
    }
}

/// A-T10, A-T11: a command stands once, also where it is the answer to the question.
#[test]
fn no_command_stands_twice_in_a_plan() {
    let sandbox = Sandbox::new();
    piton(&sandbox, &["start", "dotagent", "--feature", "login"]).expect_code(0);
    let text = piton(&sandbox, &["plan", "--format", "text"]).stdout;
    assert_eq!(text.matches("piton resume login").count(), 1, "{text}");
}

/// A-T6: an approval on a condition that is open is called that, with the command that ends it.
#[test]
fn an_open_condition_is_named_where_it_stops_something() {
    let sandbox = Sandbox::with_git();
    let flow = "name: flow\nsteps:\n  - {id: make, agent: dev}\n  - {id: check, agent: qa, returns_to: make}\n  \
                - {id: go, gate: owner}\n";
    sandbox.file("flow.yaml", flow);
    piton(&sandbox, &["start", "flow.yaml", "--feature", "x"]).expect_code(0);
    piton(&sandbox, &["begin", "make"]).expect_code(0);
    piton(&sandbox, &["finish", "make", "--summary", "made"]).expect_code(0);
    piton(&sandbox, &["begin", "check"]).expect_code(0);
    let said = ["finish", "check", "--verdict", "APPROVED_WITH_CONDITIONS", "--condition", "add dates"];
    piton(&sandbox, &said).expect_code(0);
    let refused = piton(&sandbox, &["approve", "go", "--by", "Ana"]).expect_code(9);
    let message = "go comes after check, which is approved on a condition that is still open: add dates";
    assert_eq!(refused.at("/error/message"), message);
    assert_eq!(refused.at("/error/hints"), json!(["once that is met: `piton finish check --run x --verdict VERDICT`"]));
    piton(&sandbox, &["finish", "check", "--run", "x", "--verdict", "APPROVED"]).expect_code(0);
    piton(&sandbox, &["approve", "go", "--by", "Ana"]).expect_code(0);
}

/// A-T7: each verb takes each kind of step.
#[test]
fn start_and_run_take_the_same_files() {
    let sandbox = Sandbox::with_git();
    sandbox.file("list.yaml", "- shell: echo hi\n").file("map.yaml", "name: r\ncommands:\n  - shell: echo hi\n");
    for (file, name) in [("list.yaml", "y"), ("map.yaml", "z")] {
        piton(&sandbox, &["start", file, "--feature", name]).expect_code(0);
        assert_eq!(piton(&sandbox, &["plan", name]).expect_code(0).at("/data/next/0/action"), "exec");
        sandbox.piton(["run", file]).run().expect_code(0);
    }
}

/// Client review, 15: a file of another kind is named as that, with what would make it a workflow file.
#[test]
fn a_check_list_is_no_workflow_file() {
    let sandbox = Sandbox::new();
    sandbox.file("q.md", "# Plan\n- [ ] one\n");
    for path in ["q.md", "./q.md"] {
        let refused = piton(&sandbox, &["start", path, "--feature", "q"]).expect_code(2);
        let message = refused.at("/error/message");
        assert_eq!(message, format!("{path} is not a workflow file; one lists its steps in YAML or JSON"));
        assert!(refused.at("/error/hints/0").as_str().unwrap().contains("`steps:`"), "{refused}");
    }
    // A name is not a path.
    sandbox.file("nine-step", "");
    piton(&sandbox, &["start", "nine-step", "--feature", "q"]).expect_code(0);
}

/// Client review, 16: each of several next steps has the command that begins it, and both commands work.
#[test]
fn every_next_step_has_its_command() {
    let flow =
        "name: flow\nsteps:\n- {id: a, agent: x}\n- {id: b, agent: y, depends_on: []}\n- {id: c, depends_on: [a, b]}\n";
    let sandbox = Sandbox::new();
    sandbox.file("flow.yaml", flow);
    piton(&sandbox, &["start", "flow.yaml", "--feature", "f"]).expect_code(0);
    let plan = piton(&sandbox, &["plan"]).expect_code(0);
    let commands = plan.at("/data/commands");
    assert_eq!(commands["begin"], "piton begin a --run f --agent x");
    assert_eq!(commands["others"], json!(["piton begin b --run f --agent y"]));
    let text = piton(&sandbox, &["plan", "--format", "text"]).stdout;
    assert!(text.contains("→ piton begin a --run f --agent x\n→ piton begin b --run f --agent y\n"), "{text}");
    piton(&sandbox, &["begin", "b", "--run", "f", "--agent", "y"]).expect_code(0);
    piton(&sandbox, &["begin", "a", "--run", "f", "--agent", "x"]).expect_code(0);
}

/// Client review, 17: a reason never contradicts its attempt.
#[test]
fn a_reason_says_how_earlier_attempts_ended() {
    let sandbox = projects::example("dotagent");
    piton(&sandbox, &["begin", "task-001:verify"]).expect_code(0);
    let next = piton(&sandbox, &["plan"]).at("/data/next/1");
    assert_eq!((&next["step"], &next["attempt"]), (&json!("task-002"), &json!(3)));
    assert_eq!(next["reason"], "ARCHITECTURE is done; 2 earlier attempts are on record");
}

/// Client review, 12: where the work is done in a worktree, the brief says what its paths are relative to.
#[test]
fn a_brief_for_a_worktree_names_the_root_of_its_paths() {
    let sandbox = projects::nine_step();
    let context = piton(&sandbox, &["context"]).expect_code(0);
    assert_eq!(context.at("/data/worktree"), ".worktree/user-auth");
    assert_eq!(context.at("/data/root"), "$ROOT");
    let path = context.at("/data/required_reading/0/path");
    assert!(sandbox.root().join(path.as_str().unwrap()).is_file(), "{path}");
    let elsewhere = piton(&projects::ccw(), &["context"]).expect_code(0);
    assert_eq!((elsewhere.at("/data/root"), elsewhere.at("/data/worktree")), (json!(null), json!(null)));
}

/// Client review, 18 and 37: an agent is told which boxes to tick, a verifier what it checks, and a step more than its title.
#[test]
fn instructions_say_what_to_do() {
    for (example, words) in [
        ("aios", "Tick each task in the story when it is done. Open:\n- line 15: Remove lines at zero"),
        ("dotagent", "Check task-001 against the design and the requirements"),
        ("own-workflow", "Add the endpoints that the note promises"),
    ] {
        let context = piton(&projects::example(example), &["context"]).expect_code(0);
        let instructions = context.at("/data/instructions");
        assert!(instructions.as_str().is_some_and(|text| text.contains(words)), "{example}: {instructions}");
    }
    let sandbox = Sandbox::new();
    sandbox.file(
        "flow.yaml",
        "name: flow\nsteps:\n- {id: a, agent: x}\n- {id: g, gate: Ann}\n- {id: b, instructions: do}\n",
    );
    let valid = piton(&sandbox, &["validate", "flow.yaml"]).expect_code(0);
    let note = valid.at("/findings/0");
    assert_eq!(note["code"], "instructions-missing");
    assert_eq!(note["message"], "without `instructions`, an agent is told a title and nothing else: a");
}
