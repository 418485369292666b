//! Dotagent projects at a terminal, and the printed definition; the rest is in `tests/cases/dotagent`.

use super::projects;
use crate::support::{NOW, Sandbox};

const PHASE: &str = "memory/state/phase.json";
const EXECUTION: &str = "memory/state/execution.json";
const ARCHIVE: &str = "memory/state/.archive";

/// The example, whose first task was begun again.
fn running() -> Sandbox {
    let sandbox = projects::example("dotagent");
    sandbox.file(EXECUTION, r#"{"tasks":[{"id":"task-001","status":"running","attempts":0}]}"#);
    sandbox.remove("memory/tasks");
    sandbox
}

/// Answers the question of `resume` at a terminal, which `script` (part of every Debian) provides.
fn answer_at_a_terminal(sandbox: &Sandbox, answer: &str) -> i32 {
    let command = format!("'{}' --now {NOW} resume", env!("CARGO_BIN_EXE_piton"));
    sandbox.tool("/usr/bin/script", ["-qec", &command, "/dev/null"]).stdin(answer).run().code
}

#[test]
fn only_the_answer_that_says_so_archives_the_state() {
    for answer in ["n\n", "2\n", "what\n", ""] {
        let declined = running();
        let before = declined.tree();
        assert_eq!(answer_at_a_terminal(&declined, answer), 9, "{answer:?}");
        assert_eq!(before.changes(&declined.tree()), Vec::<String>::new(), "{answer:?}");
    }
    for answer in ["fresh\n", "3\n", "archive it and start fresh\n"] {
        let archived = running();
        assert_eq!(answer_at_a_terminal(&archived, answer), 0, "{answer:?}");
        assert!(archived.exists(&format!("{ARCHIVE}/user-auth_20260131T120000Z")), "{answer:?}");
        assert!(!archived.exists(PHASE), "{answer:?}");
    }
    let agreed = running();
    assert_eq!(answer_at_a_terminal(&agreed, "y\n"), 0);
    assert!(agreed.exists(PHASE) && !agreed.exists(ARCHIVE));
}

/// A broken state of which there is no version is asked about at a terminal, and no answer changes nothing.
#[test]
fn a_broken_state_is_asked_about_at_a_terminal() {
    for (typed, code) in [("1\n", 0), ("2\n", 9), ("\n", 9), ("what\n", 9)] {
        let sandbox = running();
        let whole = sandbox.read(PHASE);
        sandbox.file(PHASE, &whole.replace("true}", "true,}"));
        let before = sandbox.tree();
        let Some(output) = sandbox.piton(["--format", "text", "resume"]).on_terminal(typed) else { return };
        let output = output.expect_code(code);
        assert!(output.stderr.contains("State appears corrupted. Start fresh? (1-2)"), "{output}");
        if code == 0 {
            assert!(!sandbox.exists(PHASE), "{output}");
        } else {
            assert_eq!(before.changes(&sandbox.tree()), [""; 0], "{typed:?}");
        }
    }
}

/// A-D29: the printed definition has the step ids of the built-in run.
#[test]
fn the_printed_definition_has_the_ids_of_the_built_in_run() {
    let steps = |sandbox: &Sandbox| -> Vec<String> {
        let status = sandbox.piton(["plan", "--steps"]).run();
        let pending = status.at("/data/steps/pending");
        pending.as_array().into_iter().flatten().filter_map(|id| Some(id.as_str()?.to_owned())).collect()
    };
    let built_in = Sandbox::new();
    built_in.piton(["start", "dotagent", "--feature", "wf"]).run().expect_code(0);
    let own = Sandbox::new();
    let printed = own.piton(["start", "--print", "dotagent"]).run().expect_code(0).stdout;
    own.file("mine.yaml", &printed.replace("name: dotagent", "name: mine"));
    own.piton(["start", "mine.yaml", "--feature", "wf"]).run().expect_code(0);
    let (built_in, own) = (steps(&built_in), steps(&own));
    assert!(!own.is_empty() && own.iter().all(|id| built_in.contains(id)), "{own:?} {built_in:?}");
}
