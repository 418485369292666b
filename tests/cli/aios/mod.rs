//! AIOS, AIOX and nexos through the binary.

mod advice;
mod dev_cycle;
pub(crate) mod doubts;
mod ends;
mod epic;
mod implied;
pub(crate) mod kinds;
mod locks;
mod matrix;
mod qa_loop;
mod real;
mod rest;
mod trees;
mod writes;
mod writes_kinds;
mod yaml;

use crate::support::{Output, Sandbox};

/// Runs one command that must succeed.
fn run(sandbox: &Sandbox, command: &str) -> Output {
    sandbox.piton(command.split(' ')).run().expect_code(0)
}

/// Runs one command that is refused, and returns the message.
fn refused(sandbox: &Sandbox, command: &str) -> String {
    let before = sandbox.tree();
    let output = sandbox.piton(command.split(' ')).run();
    assert_ne!(output.code, 0, "{command}");
    let mut changes = before.changes(&sandbox.tree());
    changes.retain(|change| !change.contains(".piton"));
    assert_eq!(changes, [""; 0], "{command}");
    output.at("/error/message").as_str().unwrap_or_default().to_owned()
}

/// Returns action and id of the next step, else the verdict.
fn next(sandbox: &Sandbox) -> String {
    let plan = sandbox.piton(["plan"]).run();
    let next = plan.at("/data/next/0");
    match (next["action"].as_str(), next["step"].as_str()) {
        (Some(action), Some(step)) => format!("{action} {step}"),
        _ => plan.at("/data/verdict").as_str().unwrap_or_default().to_owned(),
    }
}
