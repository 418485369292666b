//! The commands that are printed after a run is paused, aborted, completed or archived: each is run as printed.

use super::projects::{self, replace, run_printed};
use crate::support::{Output, Sandbox};

/// A project with one run, its name, and the workflow that starts such a run.
type Case = (fn() -> Sandbox, &'static str, Option<&'static str>);

const CASES: [Case; 5] = [
    (nine_step, "quotes", Some("nine-step")),
    (dotagent, "login", Some("dotagent")),
    (own, "v1", Some("release")),
    (own_file, "v1", None),
    (projects::ccw, "WFS-user-auth", None),
];

fn nine_step() -> Sandbox {
    let sandbox = Sandbox::with_git();
    sandbox.piton(["start", "nine-step", "--feature", "quotes", "--phases", "1"]).run().expect_code(0);
    sandbox
}

fn dotagent() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.piton(["start", "dotagent", "--feature", "login"]).run().expect_code(0);
    sandbox
}

fn own() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(".claude/piton/release.yaml", "name: release\nsteps:\n  - {id: one, agent: a}\n");
    sandbox.piton(["start", "release", "--feature", "v1"]).run().expect_code(0);
    sandbox
}

fn own_file() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("flows/release.yaml", "name: release\nsteps:\n  - {id: one, agent: a}\n");
    sandbox.piton(["start", "flows/release.yaml", "--feature", "v1"]).run().expect_code(0);
    sandbox
}

#[track_caller]
fn next(output: Output) -> String {
    let next = output.expect_code(0).at("/data/next");
    next.as_str().expect("there is a next command").to_owned()
}

#[test]
fn a_paused_run_is_resumed() {
    for (project, run, _) in CASES {
        let sandbox = project();
        let command = next(sandbox.piton(["pause", "--reason", "lunch"]).run());
        assert_eq!(command, format!("piton resume {run}"));
        run_printed(&sandbox, &command).expect_code(0);
    }
}

#[test]
fn an_aborted_run_is_archived_and_what_follows_can_be_started() {
    for (project, run, workflow) in CASES {
        let sandbox = project();
        let command = next(sandbox.piton(["abort", "--note", "no budget"]).run());
        assert_eq!(command, format!("piton archive {run}"));
        assert_eq!(sandbox.piton(["status"]).run().at("/data/next_command"), command.as_str());
        sandbox.piton(["list"]).run().expect_code(3);
        let command = next(run_printed(&sandbox, &command));
        match workflow {
            Some(workflow) => {
                assert_eq!(command, format!("piton start {workflow} --feature {run}"));
                run_printed(&sandbox, &command).expect_code(0);
            }
            None => {
                assert_eq!(command, "piton list");
                run_printed(&sandbox, &command).expect_code(3);
            }
        }
    }
}

#[test]
fn a_completed_run_is_archived() {
    for project in [own as fn() -> Sandbox, finished_session] {
        let sandbox = project();
        if sandbox.exists(".piton/runs") {
            let finished = sandbox.piton(["finish", "one"]).run();
            assert_eq!(next(finished), "piton archive v1");
        }
        let command = next(sandbox.piton(["complete"]).run());
        assert!(command.starts_with("piton archive "), "{command}");
        assert_eq!(sandbox.piton(["status"]).run().at("/data/next_command"), command.as_str());
        let command = next(run_printed(&sandbox, &command));
        run_printed(&sandbox, &command).expect_code(if command == "piton list" { 3 } else { 0 });
    }
}

/// Puts the CCW example into a project, with every task done.
fn finished_session() -> Sandbox {
    let sandbox = projects::ccw();
    for (task, status) in [("IMPL-002", "in_progress"), ("IMPL-003", "pending")] {
        replace(&sandbox, &format!("{}/.task/{task}.json", projects::SESSION), status, "completed");
    }
    sandbox
}

#[test]
fn an_aborted_run_is_archived_without_a_second_decision() {
    let sandbox = nine_step();
    let refused = sandbox.piton(["archive"]).run().expect_code(9);
    assert_eq!(projects::hints(&refused), ["piton archive quotes --yes", "piton plan quotes"]);
    sandbox.piton(["abort"]).run().expect_code(0);
    sandbox.piton(["archive", "quotes"]).run().expect_code(0);
    assert!(!sandbox.exists(".plan/quotes.workflow-state.json"));
}
