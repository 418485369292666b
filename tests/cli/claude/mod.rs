//! Sessions of Claude Code itself: found, judged and handed over; never written.

mod hostile;
mod real;
mod show;
pub(in crate::cli) mod trace;

use serde_json::Value;

use crate::support::{Output, Sandbox};

/// Plans the session of the tests.
fn plan(sandbox: &Sandbox) -> Output {
    sandbox.piton(["--format", "json", "plan", trace::RUN, "--native", "--steps"]).run()
}

/// Returns the actions of a plan, each as `retry T2`.
fn actions(plan: &Output) -> Vec<String> {
    let next = plan.at("/data/next");
    let action = |next: &Value| {
        format!("{} {}", next["action"].as_str().expect("a text"), next["step"].as_str().expect("a text"))
    };
    next.as_array().into_iter().flatten().map(action).collect()
}

/// Returns what became of each step, as `T1 done`.
fn standings(plan: &Output) -> Vec<String> {
    let steps = plan.at("/data/native/steps");
    let standing = |step: &Value| {
        format!("{} {}", step["id"].as_str().expect("a text"), step["standing"].as_str().expect("a text"))
    };
    steps.as_array().into_iter().flatten().map(standing).collect()
}
