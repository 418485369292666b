//! Nine-step runs through the program (docs/formats/nine-step.md): what is planned, handed over, written and refused.

mod journey;
mod rest;
mod writes;

use serde_json::Value;

use crate::support::{Output, Sandbox};

/// Where the state of feature `quotes` lies in most tests.
const STATE: &str = ".worktree/quotes/.workflow-state.json";

/// Returns a state in phase 2 of 3 with only the fields of the plugin itself (docs/formats/nine-step.md#fields-of-the-state).
fn state(last: &str) -> String {
    with_fields(last, r#""total_phases": 3"#)
}

/// Returns a state with these members of `last_execution` and these further fields.
fn with_fields(last: &str, more: &str) -> String {
    let comma = if more.is_empty() { "" } else { ",\n  " };
    let execution: Value = serde_json::from_str(&format!("{{{last}}}")).expect("it is well formed");
    let (phase, step) = (&execution["phase"], &execution["step"]);
    format!(
        r#"{{
  "feature_name": "quotes",
  "current_phase": {phase},
  "current_step": {step},
  "last_execution": {{ "timestamp": "2026-01-31T11:30:00Z", {last} }}{comma}{more}
}}
"#
    )
}

/// Makes a repository with a worktree of feature `quotes` and its plan.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file(".plan/quotes_plan.md", "# Plan\n").git_init().worktree(".worktree/quotes", "feature/quotes");
    sandbox.file(".git/info/exclude", ".workflow-state.json*\n*.workflow-state.json*\n/.worktree/\n");
    sandbox
}

/// Runs piton in a project and expects this exit code.
#[track_caller]
fn piton<const N: usize>(sandbox: &Sandbox, code: i32, arguments: [&str; N]) -> Output {
    sandbox.piton(arguments).run().expect_code(code)
}

/// Runs a verb that begins or ends steps a minute later each time, so that stamps have an order.
struct Clock(u32);

impl Clock {
    #[track_caller]
    fn piton<const N: usize>(&mut self, sandbox: &Sandbox, code: i32, arguments: [&str; N]) -> Output {
        self.0 += 1;
        let now = format!("2026-01-31T{:02}:{:02}:00Z", 12 + self.0 / 60, self.0 % 60);
        sandbox.piton(arguments).now(&now).run().expect_code(code)
    }
}
