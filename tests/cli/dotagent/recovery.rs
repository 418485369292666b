//! Every row of the executor's recovery (docs/formats/dotagent.md#executor-recovery).

use serde_json::{Value, json};

use super::{EXECUTION, fresh, implementing, old, outcome, plan, task_output};
use crate::support::Sandbox;

const OUTPUT: &str = "memory/tasks/task-001/output.json";
const VERIFICATION: &str = "memory/tasks/task-001/verification.json";
const RESOLUTION: &str = "memory/contracts/resolution_task-001.json";

struct Row {
    name: &'static str,
    task: Value,
    files: &'static dyn Fn(&Sandbox),
    plan: &'static str,
}

fn task(status: &str, attempts: u32) -> Value {
    json!({ "id": "task-001", "status": status, "attempts": attempts, "started_at": "2026-01-31T10:10:00Z" })
}

fn bare(status: &str) -> Value {
    json!({ "id": "001", "status": status })
}

fn reports(status: &'static str) -> impl Fn(&Sandbox) {
    move |sandbox| fresh(sandbox, OUTPUT, &task_output("task-001", status))
}

fn row(name: &'static str, task: Value, files: &'static dyn Fn(&Sandbox), plan: &'static str) -> Row {
    Row { name, task, files, plan }
}

fn running() -> Vec<Row> {
    vec![
        row("running, absent", task("running", 0), &|_| {}, "resume: retry task-001 implementer"),
        row(
            "running, reports success",
            task("running", 0),
            &|sandbox| reports("pre_complete")(sandbox),
            "resume: run task-001:verify verifier",
        ),
        row(
            "running, reports a block",
            task("running", 0),
            &|sandbox| reports("blocked")(sandbox),
            "resume: run task-001:resolve contract-resolver",
        ),
        row(
            "running, reports a failure",
            task("running", 0),
            &|sandbox| reports("failed")(sandbox),
            "resume: retry task-001 implementer",
        ),
        row(
            "running, invalid",
            task("running", 0),
            &|sandbox| fresh(sandbox, OUTPUT, "{\"task"),
            "resume: retry task-001 implementer",
        ),
        row(
            "running, only temporary",
            task("running", 0),
            &|sandbox| fresh(sandbox, "memory/tasks/task-001/output.json.tmp", "{"),
            "resume: retry task-001 implementer",
        ),
        row(
            "running, another task's output",
            task("running", 0),
            &|sandbox| fresh(sandbox, OUTPUT, &task_output("task-002", "pre_complete")),
            "resume: retry task-001 implementer",
        ),
        row(
            "running, older than the run",
            task("running", 0),
            &|sandbox| old(sandbox, OUTPUT, &task_output("task-001", "pre_complete")),
            "resume: retry task-001 implementer",
        ),
        row(
            "running, the id without its prefix inside",
            task("running", 0),
            &|sandbox| fresh(sandbox, OUTPUT, &task_output("001", "pre_complete")),
            "resume: run task-001:verify verifier",
        ),
        row(
            "running, the id without its prefix outside",
            bare("running"),
            &|sandbox| reports("pre_complete")(sandbox),
            "resume: run 001:verify verifier",
        ),
    ]
}

fn before_and_after() -> Vec<Row> {
    vec![
        row(
            "pending, present",
            json!({ "id": "task-001", "status": "pending" }),
            &|sandbox| reports("pre_complete")(sandbox),
            "confirm: verify task-001 implementer",
        ),
        row(
            "pending, older",
            json!({ "id": "task-001", "status": "pending" }),
            &|sandbox| old(sandbox, OUTPUT, &task_output("task-001", "pre_complete")),
            "resume: run task-001 implementer",
        ),
        row(
            "pending, absent",
            json!({ "id": "task-001", "status": "pending" }),
            &|_| {},
            "resume: run task-001 implementer",
        ),
        row(
            "pre_complete, present",
            task("pre_complete", 0),
            &|sandbox| reports("pre_complete")(sandbox),
            "resume: run task-001:verify verifier",
        ),
        row("pre_complete, absent", task("pre_complete", 0), &|_| {}, "confirm: retry task-001 implementer"),
        row(
            "pre_complete, verified on disk",
            task("pre_complete", 0),
            &|sandbox| {
                reports("pre_complete")(sandbox);
                fresh(sandbox, VERIFICATION, r#"{"task_id":"task-001","verdict":"pass"}"#);
            },
            "resume: run VERIFICATION qa",
        ),
        row(
            "pre_complete, refused on disk",
            task("pre_complete", 0),
            &|sandbox| {
                reports("pre_complete")(sandbox);
                fresh(sandbox, VERIFICATION, r#"{"status":"failed","summary":"no test"}"#);
            },
            "resume: return task-001 implementer",
        ),
        row(
            "verifying, nothing on disk",
            task("verifying", 0),
            &|sandbox| reports("pre_complete")(sandbox),
            "resume: retry task-001:verify verifier",
        ),
    ]
}

fn stuck() -> Vec<Row> {
    vec![
        row(
            "blocked",
            task("blocked", 0),
            &|sandbox| reports("blocked")(sandbox),
            "resume: run task-001:resolve contract-resolver",
        ),
        row(
            "blocked, resolved",
            task("blocked", 0),
            &|sandbox| {
                reports("blocked")(sandbox);
                fresh(sandbox, RESOLUTION, r#"{"task_id":"task-001","decision":"widen"}"#);
            },
            "resume: run task-001 implementer",
        ),
        row("failed twice", task("failed", 2), &|_| {}, "resume: retry task-001 implementer"),
        row("failed three times", task("failed", 3), &|_| {}, "blocked: retry task-001 implementer"),
        row("lost the third time", task("running", 2), &|_| {}, "blocked: retry task-001 implementer"),
        row(
            "pending after three",
            json!({ "id": "task-001", "status": "pending", "attempts": 3 }),
            &|_| {},
            "blocked: retry task-001 implementer",
        ),
        row(
            "verified",
            task("verified", 0),
            &|sandbox| reports("pre_complete")(sandbox),
            "resume: run VERIFICATION qa",
        ),
        row(
            "complete is verified",
            task("complete", 0),
            &|sandbox| reports("pre_complete")(sandbox),
            "resume: run VERIFICATION qa",
        ),
        row("verified, absent", task("verified", 0), &|_| {}, "confirm: retry task-001 implementer"),
        row("an unknown word", task("resting", 0), &|_| {}, "blocked: "),
        row(
            "an output elsewhere",
            json!({ "id": "task-001", "status": "running", "output_path": "out/one.json" }),
            &|sandbox| fresh(sandbox, "out/one.json", &task_output("task-001", "pre_complete")),
            "resume: run task-001:verify verifier",
        ),
    ]
}

#[test]
fn every_row_has_its_plan() {
    for row in [running(), before_and_after(), stuck()].into_iter().flatten() {
        let sandbox = implementing(&json!([row.task]));
        (row.files)(&sandbox);
        let output = plan(&sandbox);
        assert_eq!(outcome(&output), row.plan, "{}\n{output}", row.name);
        let as_object = json!({ "tasks": { row.task["id"].as_str().expect("text"): row.task } });
        sandbox.file(EXECUTION, &as_object.to_string());
        assert_eq!(outcome(&plan(&sandbox)), row.plan, "{}, tasks as an object", row.name);
    }
}

#[test]
fn tasks_wait_for_the_verification_of_what_they_depend_on() {
    let sandbox = implementing(&json!([
        { "id": "task-001", "status": "pre_complete" },
        { "id": "task-002", "status": "pending", "depends_on": ["001"] },
        { "id": "task-003", "status": "pending", "dependencies": [{ "id": "task-001" }, "task-002"] },
        { "id": "task-004", "status": "pending" },
    ]));
    fresh(&sandbox, OUTPUT, &task_output("task-001", "pre_complete"));
    assert_eq!(outcome(&plan(&sandbox)), "resume: run task-001:verify verifier, run task-004 implementer");
}

#[test]
fn a_leftover_of_an_earlier_workflow_is_asked_about_and_never_adopted() {
    let sandbox = implementing(&json!([
        { "id": "task-001", "status": "verified", "started_at": "2026-01-02T10:00:00Z", "completed_at": "2026-01-02T11:00:00Z" },
    ]));
    let output = plan(&sandbox).expect_code(9);
    assert_eq!(outcome(&output), "confirm: run task-001 implementer", "{output}");
    assert!(output.findings().contains(&"state-leftover".to_owned()), "{output}");
}

#[test]
fn a_resume_writes_what_the_evidence_shows_and_counts_what_was_lost() {
    let sandbox = implementing(&json!([task("running", 0), { "id": "task-002", "status": "running", "attempts": 1 }]));
    fresh(&sandbox, OUTPUT, &task_output("task-001", "pre_complete"));
    sandbox.piton(["resume", "--yes"]).run().expect_code(0);
    let tasks = sandbox.read_json(EXECUTION)["tasks"].clone();
    assert_eq!(tasks[0]["status"], "pre_complete");
    assert_eq!((&tasks[1]["status"], &tasks[1]["attempts"]), (&json!("pending"), &json!(2)));
}

#[test]
fn a_lost_execution_file_is_proposed_and_written_only_with_consent() {
    let sandbox = super::project(&super::phase("IMPLEMENTATION", "in_progress"));
    fresh(&sandbox, OUTPUT, &task_output("task-001", "pre_complete"));
    fresh(
        &sandbox,
        "memory/reports/final_design.json",
        r#"{"tasks":[{"id":"task-001"},{"id":"task-002","depends_on":["task-001"]}]}"#,
    );
    let output = plan(&sandbox).expect_code(9);
    assert_eq!(outcome(&output), "confirm: run task-001:verify verifier", "{output}");
    assert!(output.findings().contains(&"part-missing".to_owned()), "{output}");
    let output = sandbox.piton(["plan", "--native"]).run();
    assert_eq!(output.at("/data/native/proposed_execution/tasks/0/status"), "pre_complete");
    sandbox.piton(["resume"]).run().expect_code(9);
    sandbox.piton(["begin", "task-001:verify"]).run().expect_code(4);
    assert!(!sandbox.exists(EXECUTION));
    sandbox.piton(["resume", "--yes"]).run().expect_code(0);
    assert_eq!(sandbox.read_json(EXECUTION)["tasks"][1]["id"], "task-002");
}

#[test]
fn an_unreadable_execution_file_is_never_overwritten() {
    let sandbox = implementing(&json!([]));
    sandbox.file(EXECUTION, "{\"tasks\":[{");
    fresh(&sandbox, OUTPUT, &task_output("task-001", "pre_complete"));
    let output = plan(&sandbox).expect_code(9);
    assert!(output.findings().contains(&"part-unreadable".to_owned()), "{output}");
    sandbox.piton(["begin", "task-001:verify"]).run().expect_code(4);
    assert_eq!(sandbox.read(EXECUTION), "{\"tasks\":[{");
}
