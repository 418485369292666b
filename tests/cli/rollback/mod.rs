//! `rollback`: what a target means, what is lost, what is refused, and that all of it can be undone.

mod git;
mod nine_step;
mod target;
mod undo;

use serde_json::Value;

use super::projects::document;
use crate::support::{Output, Sandbox};

/// Where the state of the nine-step run lies in these tests.
const STATE: &str = ".worktree/auth/.workflow-state.json";
const FOLDER: &str = ".worktree/auth";

/// Makes a repository in which two of three phases of `auth` are committed, and the third has begun.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(".plan/auth_plan.md", "# Plan\n").git_init().worktree(FOLDER, "feature/auth");
    sandbox.file(".git/info/exclude", "*.workflow-state.json*\n/.worktree/\n/.workflow-backups/\n");
    let first = work(&sandbox, "p1.txt", "phase 1");
    let second = work(&sandbox, "p2.txt", "phase 2");
    let mut completed = Vec::new();
    for (phase, sha) in [(1, &first), (2, &second)] {
        for (number, step) in ["1", "2", "2.5", "3", "4", "5", "6", "7", "8", "9"].into_iter().enumerate() {
            let minute = (phase - 1) * 10 + number;
            let commit = if step == "9" { format!(r#", "commit_sha": "{sha}""#) } else { String::new() };
            let verdict = if ["2", "4", "6", "8"].contains(&step) { r#", "verdict": "APPROVED""# } else { "" };
            completed.push(format!(
                r#"    {{"phase": {phase}, "step": {step}, "agent": "agent-{step}", "status": "completed", "timestamp": "2026-01-31T09:{minute:02}:00Z"{verdict}{commit}}}"#
            ));
        }
    }
    let completed = completed.join(",\n");
    sandbox.file(
        STATE,
        &format!(
            r#"{{
  "feature_name": "auth",
  "current_phase": 3,
  "current_step": 1,
  "total_phases": 3,
  "branch_name": "feature/auth",
  "base_branch": "main",
  "plan_reference": ".plan/auth_plan.md",
  "related_issues": [12],
  "last_execution": {{"phase": 3, "step": 1, "agent": "project-planner", "status": "in_progress", "timestamp": "2026-01-31T10:00:00Z", "own": 1.50}},
  "completed_steps": [
{completed}
  ]
}}
"#
        ),
    );
    sandbox
}

/// Commits a file in the worktree and returns the full name of the commit.
fn work(sandbox: &Sandbox, file: &str, message: &str) -> String {
    sandbox.file(&format!("{FOLDER}/{file}"), &format!("{message}\n"));
    sandbox.git_in(FOLDER, ["add", file]);
    sandbox.git_in(FOLDER, ["commit", "--quiet", "--message", message]);
    sandbox.git_in(FOLDER, ["rev-parse", "HEAD"])
}

/// Calls `rollback` and returns its document.
#[track_caller]
fn rollback(sandbox: &Sandbox, code: i32, arguments: &[&str]) -> Value {
    document(&call(sandbox, code, arguments))
}

#[track_caller]
fn call(sandbox: &Sandbox, code: i32, arguments: &[&str]) -> Output {
    sandbox.piton(std::iter::once("rollback").chain(arguments.iter().copied())).run().expect_code(code)
}

/// Returns the texts of a list of the document.
fn texts(document: &Value, pointer: &str) -> Vec<String> {
    let list = document.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("{pointer}: {document}"));
    list.iter().map(|text| text.as_str().unwrap_or_else(|| panic!("{pointer}: {document}")).to_owned()).collect()
}
