//! Every rollback can be undone: afterwards each state file has its earlier bytes.

use serde_json::Value;

use super::{project, rollback};
use crate::{
    cli::projects,
    support::{Sandbox, Tree},
};

/// Returns the project's files without Piton's own data and the backups.
pub(super) fn states(sandbox: &Sandbox) -> Tree {
    projects::foreign(sandbox).without(".workflow-backups").without(".workflow-state.json.backup").without("piton")
}

/// Runs a command from an answer.
#[track_caller]
pub(super) fn take_back(sandbox: &Sandbox, answer: &Value) {
    let undo = answer["data"]["undo"].as_str().unwrap_or_else(|| panic!("no way back: {answer}"));
    sandbox.piton(undo.split(' ').skip(1)).run().expect_code(0);
}

#[test]
fn a_nine_step_run_comes_back_byte_for_byte() {
    for to in ["2", "1", "0", "2:4", "last"] {
        let sandbox = project();
        let before = states(&sandbox);
        let plan = sandbox.piton(["plan"]).run().json();
        let answer = rollback(&sandbox, 0, &["--to", to, "--yes"]);
        assert_ne!(before.changes(&states(&sandbox)), [] as [&str; 0]);
        take_back(&sandbox, &answer);
        assert_eq!(before.changes(&states(&sandbox)), [] as [&str; 0], "{to}");
        assert_eq!(sandbox.piton(["plan"]).run().json()["data"]["next"], plan["data"]["next"], "{to}");
    }
}
