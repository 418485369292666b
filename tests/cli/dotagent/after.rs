//! What reaches a later step, and where the agent of a phase writes.

use super::EXECUTION;
use super::fresh;
use super::implementing;
use super::phase;
use super::project;
use super::task_output;

/// A failure is not handed on once the step was done again, also without words.
#[test]
fn a_failure_does_not_outlive_the_work_that_followed_it() {
    let sandbox = implementing(&serde_json::json!([{ "id": "task-001", "status": "pending", "attempts": 0 }]));
    sandbox.piton(["begin", "task-001"]).run().expect_code(0);
    sandbox.piton(["finish", "task-001", "--status", "failed", "--error", "tests are red"]).run().expect_code(0);
    let again = sandbox.piton(["begin", "task-001"]).run().expect_code(0).to_string();
    assert!(again.contains("tests are red"), "{again}");
    fresh(&sandbox, "memory/tasks/task-001/output.json", &task_output("task-001", "pre_complete"));
    sandbox.modified("memory/tasks/task-001/output.json", 1_769_861_000);
    sandbox.piton(["finish", "task-001"]).run().expect_code(0);
    let review = sandbox.piton(["begin", "task-001:verify"]).run().expect_code(0).to_string();
    assert!(!review.contains("tests are red"), "{review}");
}

/// The executor is told where its tasks go.
#[test]
fn the_executor_is_told_where_its_tasks_go() {
    let sandbox = project(&phase("IMPLEMENTATION", "pending"));
    let begun = sandbox.piton(["begin", "IMPLEMENTATION"]).run().expect_code(0).to_string();
    assert!(begun.contains(&format!("Write the tasks of the design into {EXECUTION}")), "{begun}");
}
