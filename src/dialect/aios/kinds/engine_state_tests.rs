use super::ENGINE;
use crate::{
    dialect::{
        Loaded,
        aios::state_testing::{codes, files, steps},
    },
    model::RunStatus,
};

const STATE: &str = ".aiox/greenfield-20260131-abc123-engine-state.yaml";

fn engine(more: &str) -> Loaded {
    let text = format!("engine_state:\n  mode: engine\n  updated_at: \"2026-01-31T11:30:00Z\"\n{more}");
    ENGINE.load(&files(STATE, &text))
}

#[test]
fn an_engine_goes_on_with_the_step_it_names_next() {
    for (more, expected, finding) in [
        (
            "  status: active\n  current_step_index: 2\n  action_steps_completed: 2\n  action_steps_total: 4\n  \
             step_results:\n    brief: { status: completed }\n    ui: { status: skipped }\n",
            vec!["brief completed", "ui skipped", "next-2 pending"],
            None,
        ),
        (
            "  status: active\n  current_step_index: 1\n  action_steps_completed: 1\n  action_steps_total: 4\n  \
             step_results:\n    brief: { status: completed }\n    prd: { status: failed, retries: 2, error: no }\n",
            vec!["brief completed", "prd failed"],
            None,
        ),
        ("  status: active\n  current_step_index: 0\n  action_steps_total: 4\n", vec!["next-0 pending"], None),
        ("  status: active\n  current_step_index: 0\n", vec!["next-0 pending"], Some("total-missing")),
        ("  status: active\n  action_steps_total: 4\n", vec!["next-0 pending"], Some("state-missing-field")),
        (
            "  status: completed\n  action_steps_completed: 1\n  action_steps_total: 1\n  \
             step_results: { brief: { status: completed } }\n",
            vec!["brief completed"],
            None,
        ),
        (
            "  status: completed\n  current_step_index: 1\n  action_steps_completed: 1\n  action_steps_total: 2\n  \
             step_results: { brief: { status: completed } }\n",
            vec!["brief completed", "next-1 pending"],
            Some("state-corrupt"),
        ),
        (
            "  status: active\n  current_step_index: 1\n  action_steps_total: 2\n  \
             step_results: { brief: { status: great } }\n",
            vec!["brief pending", "next-1 pending"],
            Some("status-unknown"),
        ),
    ] {
        let loaded = engine(more);
        assert_eq!(steps(&loaded), expected, "{more}");
        assert_eq!(codes(&loaded), Vec::from_iter(finding), "{more}");
    }
}

#[test]
fn a_failed_step_keeps_what_it_said() {
    let more = "  current_step_index: 0\n  step_results: { prd: { status: failed, retries: 2, error: no } }\n";
    let run = engine(more).run.unwrap();
    assert_eq!((run.steps[0].failures, run.steps[0].error.as_deref()), (3, Some("no")));
    assert_eq!((run.id.as_str(), run.status), ("workflow-greenfield-20260131-abc123", RunStatus::Active));
}

#[test]
fn a_run_is_what_its_status_says() {
    for (status, expected) in
        [("active", RunStatus::Active), ("aborted", RunStatus::Aborted), ("waiting", RunStatus::Active)]
    {
        let run = engine(&format!("  status: {status}\n  current_step_index: 0\n  action_steps_total: 4\n")).run;
        assert_eq!(run.unwrap().status, expected, "{status}");
    }
}
