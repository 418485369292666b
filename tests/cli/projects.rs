//! Small projects that many tests stand in, and what every answer has to satisfy.

use camino::Utf8Path;
use serde_json::Value;

use crate::support::{self, Output, Sandbox, Tree};

/// The state of the nine-step example: a review of phase 2 sent the work back.
pub(crate) const NINE_STEP: &str = ".worktree/user-auth/.workflow-state.json";
/// Where nine-step keeps what its rollbacks gave up.
pub(crate) const NINE_STEP_BACKUPS: &str = ".workflow-backups";
/// The session of the CCW example: the second of three tasks is in progress.
pub(crate) const SESSION: &str = ".workflow/active/WFS-user-auth";

/// Puts the nine-step example into a project of its own.
pub(crate) fn nine_step() -> Sandbox {
    example("nine-step")
}

/// Puts the CCW example into a project of its own.
pub(crate) fn ccw() -> Sandbox {
    example("ccw")
}

/// Puts both examples into one project.
pub(crate) fn both() -> Sandbox {
    let sandbox = nine_step();
    add_ccw(&sandbox);
    sandbox
}

pub(crate) fn add_ccw(sandbox: &Sandbox) {
    Tree::of(&support::repository().join("examples/ccw")).write_to(&sandbox.root());
}

/// Tells whether a file of a project belongs to what a rollback gave up. The log beside it does not.
pub(crate) fn is_kept(path: &Utf8Path) -> bool {
    let lies_there = path.starts_with(NINE_STEP_BACKUPS) || path.as_str().contains(".piton/rollback/");
    lies_there && path.file_name() != Some("ROLLBACK_LOG.md")
}

/// Puts one of the examples into a project of its own.
pub(crate) fn example(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    Tree::of(&support::repository().join("examples").join(name)).write_to(&sandbox.root());
    if name == "own-workflow" {
        sandbox.piton(["trust", "spring"]).run().expect_code(0);
    }
    sandbox
}

/// Returns what is in the project but for Piton's own data.
pub(crate) fn foreign(sandbox: &Sandbox) -> Tree {
    sandbox.tree().without(".piton")
}

/// Replaces a text in a file of the project; a text that is not there fails the test.
#[track_caller]
pub(crate) fn replace(sandbox: &Sandbox, path: &str, from: &str, to: &str) {
    let text = sandbox.read(path);
    assert!(text.contains(from), "{path} has no {from}");
    sandbox.file(path, &text.replace(from, to));
}

/// Checks that an output is exactly one document that satisfies the published schema of its name, and returns it.
#[track_caller]
pub(crate) fn document(output: &Output) -> Value {
    let document = output.json();
    if let Err(problem) = support::check_document(output, &document) {
        panic!("{problem}\n{output}");
    }
    assert_eq!(document["ok"], document["schema"].as_str().is_some_and(|name| !name.starts_with("error/")), "{output}");
    assert_eq!(output.stderr, "", "a document says everything\n{output}");
    document
}
