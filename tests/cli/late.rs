//! The brief of an attempt names it, and a report says by that name which attempt it is about.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::Sandbox;

/// Begins an attempt. Returns its name: the first digits of its record.
fn attempt(sandbox: &Sandbox, folder: &str, arguments: &[&str]) -> String {
    let begun = sandbox.piton(arguments.iter().copied()).run().expect_code(0);
    assert!(begun.stdout.contains(" --begun "), "{begun}");
    let last = records(sandbox, folder).pop().expect("a record");
    last["id"].as_str().expect("an id")[..8].to_owned()
}

fn records(sandbox: &Sandbox, folder: &str) -> Vec<Value> {
    let records = sandbox.read(&format!(".git/piton/runs/{folder}/journal.jsonl"));
    records.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

#[test]
fn a_report_is_about_the_attempt_that_it_names() {
    for (workflow, folder, step) in [("w.yaml", "f", "a"), ("nine-step", "nine-step.f", "1:1")] {
        let sandbox = Sandbox::with_git();
        sandbox.file("w.yaml", "name: w\nsteps: [{id: a, agent: x}, {id: b, agent: y}]\n");
        sandbox.file(".plan/f_plan.md", "# Plan\n");
        sandbox.piton(["start", workflow, "--feature", "f"]).run().expect_code(0);
        let first = attempt(&sandbox, folder, &["begin", step]);
        let second = attempt(&sandbox, folder, &["begin", step, "--again"]);
        assert_ne!(first, second);
        let finish = |name: &str, text: &str| {
            sandbox.piton(["finish", step, "--output", ".plan/f_plan.md", "--summary", text, "--begun", name]).run()
        };
        finish("0000000", "unknown").expect_code(3);
        let late = finish(&first, "the first agent").expect_code(6);
        assert!(late.stdout.contains("was begun again"), "{}", late.stdout);
        // It is written once.
        let written = records(&sandbox, folder).len();
        finish(&first, "the first agent").expect_code(6);
        assert_eq!(records(&sandbox, folder).len(), written);
        finish(&second, "the second agent").expect_code(0);
        let ids: BTreeSet<String> = records(&sandbox, folder).iter().map(|record| record["id"].to_string()).collect();
        assert_eq!(ids.len(), records(&sandbox, folder).len(), "{ids:?}");
        let shown = sandbox.piton(["show", "f"]).run().expect_code(0).json();
        let reports = shown["data"]["reports"].as_array().expect("reports");
        let said: Vec<(&Value, bool)> = reports.iter().map(|one| (&one["summary"], one["late"] == true)).collect();
        assert_eq!(said, [(&json!("the second agent"), false), (&json!("the first agent"), true)]);
    }
}
