//! Check lists that are damaged, generated and real, and helpers for the plans of all other systems; the rest is in `tests/cases/checklist`.

mod broken;
mod generated;
mod real;

use crate::support::{Output, Sandbox};

/// The plan of a run.
pub(in crate::cli) fn plan(sandbox: &Sandbox, run: &str) -> Output {
    sandbox.piton(["plan", run, "--native"]).run()
}

/// The next steps with their actions.
pub(in crate::cli) fn next(output: &Output) -> Vec<String> {
    let next = output.at("/data/next");
    let word = |next: &serde_json::Value, key: &str| next[key].as_str().unwrap_or_default().to_owned();
    let steps = next.as_array().into_iter().flatten();
    steps.map(|next| format!("{} {}", word(next, "action"), word(next, "step"))).collect()
}

/// The ids of the steps of one kind.
pub(in crate::cli) fn steps(sandbox: &Sandbox, run: &str, kind: &str) -> Vec<String> {
    let output = sandbox.piton(["plan", run, "--steps"]).run();
    let ids = output.at(&format!("/data/steps/{kind}"));
    ids.as_array().into_iter().flatten().filter_map(|id| id.as_str().map(str::to_owned)).collect()
}

/// All findings as text.
pub(in crate::cli) fn findings(output: &Output) -> String {
    let findings = output.json()["findings"].clone();
    let line = |finding: &serde_json::Value| {
        format!("{} {}", finding["code"].as_str().unwrap_or_default(), finding["message"].as_str().unwrap_or_default())
    };
    findings.as_array().into_iter().flatten().map(line).collect::<Vec<_>>().join("\n")
}
