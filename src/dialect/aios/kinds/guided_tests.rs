use super::GUIDED;
use crate::{
    dialect::{
        Loaded,
        aios::state_testing::{codes, files, steps},
    },
    model::RunStatus,
};

const STATE: &str = ".aiox/greenfield-20260131-abc123-state.yaml";

fn workflow(status: &str, current: u32, statuses: [&str; 3]) -> String {
    let mut text = format!(
        "state_version: \"2.0\"\nworkflow_name: Greenfield\ninstance_id: greenfield-20260131-abc123\n\
         started_at: \"2026-01-31T11:00:00Z\"\nupdated_at: \"2026-01-31T11:30:00Z\"\nstatus: {status}\n\
         current_step_index: {current}\nsteps:\n"
    );
    for (index, status) in statuses.into_iter().enumerate() {
        text.push_str(&format!(
            "  - {{ step_index: {index}, phase: one, agent: \"@pm\", action: Write {index}, status: {status} }}\n"
        ));
    }
    text
}

fn read(text: &str) -> Loaded {
    GUIDED.load(&files(STATE, text))
}

#[test]
fn the_first_open_step_counts_from_the_beginning_on() {
    for (status, current, statuses, position, finding) in [
        ("active", 0, ["pending", "pending", "pending"], Some("step-0"), None),
        ("active", 1, ["completed", "pending", "pending"], Some("step-1"), None),
        ("active", 1, ["completed", "in_progress", "pending"], Some("step-1"), None),
        ("active", 2, ["completed", "skipped", "pending"], Some("step-2"), None),
        ("active", 2, ["completed", "pending", "pending"], Some("step-1"), Some("state-corrupt")),
        ("paused", 1, ["completed", "pending", "pending"], Some("step-1"), None),
        ("completed", 2, ["completed", "completed", "completed"], None, None),
        ("completed", 0, ["pending", "completed", "completed"], Some("step-0"), Some("state-corrupt")),
        ("waiting", 0, ["pending", "completed", "completed"], Some("step-0"), Some("status-unknown")),
        ("active", 0, ["done?", "pending", "pending"], Some("step-0"), Some("status-unknown")),
    ] {
        let loaded = read(&workflow(status, current, statuses));
        let run = loaded.run.as_ref().unwrap();
        assert_eq!(run.position.as_ref().map(|id| id.as_str()), position, "{status} {statuses:?}");
        assert_eq!(codes(&loaded), Vec::from_iter(finding), "{status} {statuses:?}");
    }
}

#[test]
fn what_is_done_waits_for_nothing_and_what_is_open_waits_for_all_before_it() {
    let loaded = read(&workflow("active", 0, ["pending", "completed", "pending"]));
    assert_eq!(steps(&loaded), ["step-0 pending", "step-1 completed", "step-2 pending"]);
    let run = loaded.run.unwrap();
    let needs: Vec<Vec<&str>> =
        run.steps.iter().map(|step| step.depends_on.iter().map(|id| id.as_str()).collect()).collect();
    assert_eq!(needs, [vec![], vec![], vec!["step-0"]]);
    assert_eq!(run.id.as_str(), "workflow-greenfield-20260131-abc123");
    assert_eq!(run.title, "Workflow Greenfield");
    assert_eq!(run.steps[0].agent.as_deref(), Some("pm"));
}

#[test]
fn a_run_is_what_its_status_says() {
    let done = ["completed", "completed", "completed"];
    for (status, expected) in [
        ("active", RunStatus::Active),
        ("paused", RunStatus::Paused),
        ("completed", RunStatus::Completed),
        ("aborted", RunStatus::Aborted),
    ] {
        assert_eq!(read(&workflow(status, 2, done)).run.unwrap().status, expected, "{status}");
    }
}

#[test]
fn artifacts_belong_to_the_step_that_made_them() {
    let text = workflow("active", 1, ["completed", "pending", "pending"])
        + "artifacts:\n  - { name: brief, created_by_step: 0, path: docs/brief.md, status: created }\n  \
           - { name: prd, created_by_step: 1, path: docs/prd.md, status: pending }\n  \
           - { name: evil, created_by_step: 0, path: ../../etc/passwd, status: created }\n";
    let run = read(&text).run.unwrap();
    let outputs: Vec<Vec<&str>> =
        run.steps.iter().map(|step| step.proof.outputs.iter().map(|path| path.as_str()).collect()).collect();
    assert_eq!(outputs, [vec!["docs/brief.md"], vec![], vec![]]);
}

#[test]
fn a_workflow_without_usable_steps_stops() {
    for (text, finding) in [
        ("instance_id: x\nstatus: active\n", "state-missing-field"),
        ("instance_id: x\nstatus: active\nsteps: many\n", "state-wrong-type"),
        ("instance_id: [x]\nsteps: []\n", "state-wrong-type"),
    ] {
        assert_eq!(codes(&read(text)), [finding], "{text}");
    }
}
