use crate::dialect::aios::{
    kind::{self, FileClass},
    testing::path,
};

#[test]
fn a_state_names_its_run_and_where_it_does_not_its_place_does() {
    for (at, text, run, story, stamp) in [
        (
            "qa/loop-status.json",
            r#"{"storyId":"1.10","currentIteration":1,"maxIterations":5,"updatedAt":"2026-01-31T11:00:00Z"}"#,
            "qa-1.10",
            Some("1.10"),
            Some("2026-01-31T11:00:00Z"),
        ),
        (
            ".aiox/workflow-state/x-state.yaml",
            "workflowId: development-cycle\ncurrentStory: C:\\home\\1.1.kpis.story.md\nphaseResults: {}\nlastUpdated: 2026-01-31T11:00:00Z\n",
            "dev-1.1.kpis",
            Some("1.1.kpis"),
            Some("2026-01-31T11:00:00Z"),
        ),
        // The name of a state may end in that of its story (docs/formats/aios-states.md#development-cycle).
        (
            ".aiox/workflow-state/1.1.kpis.md-state.yaml",
            "workflowId: development-cycle\nphaseResults: {}\n",
            "dev-1.1.kpis",
            Some("1.1.kpis"),
            None,
        ),
        (
            ".nexos/workflow-state/1-state.yaml",
            "current_story: docs/stories/1.2.md\npaused_at: 1769857200000\n",
            "dev-1.2",
            Some("1.2"),
            Some("2026-01-31T11:00:00Z"),
        ),
        (
            ".aiox/x-20260131-abc123-state.yaml",
            "instance_id: x-20260131-abc123\nsteps: []\n",
            "workflow-x-20260131-abc123",
            None,
            None,
        ),
        (".aiox/y-engine-state.yaml", "engine_state: { status: active }\n", "workflow-y", None, None),
        (
            ".aiox/master-orchestrator/3.2.json",
            r#"{"workflowId":"master-ade-3.2","epics":{},"timestamps":{"updatedAt":"2026-01-31T10:00:00Z","savedAt":"2026-01-31T11:00:00Z"}}"#,
            "ade-3.2",
            Some("3.2"),
            Some("2026-01-31T11:00:00Z"),
        ),
        (".aiox/workflow-state/green.json", r#"{"workflowId":"green","phases":{}}"#, "workflow-green", None, None),
        (
            "docs/stories/.session-state.yaml",
            "session_state:\n  epic: { id: 12 }\n  progress: { current_story: 12.1 }\n",
            "bob-12",
            Some("12.1"),
            None,
        ),
        ("plan/3.1/build-state.json", r#"{"storyId":"2.1","checkpoints":[]}"#, "build-2.1", Some("2.1"), None),
        (
            ".nexos/workflow-state/a-state.yaml",
            "execution_id: sdc-1\nphases_completed: []\n",
            "workflow-sdc-1",
            None,
            None,
        ),
        (".aiox/workflow-state/5-pipeline.json", r#"{"epicId":"5","current_wave":1}"#, "epic-5", None, None),
    ] {
        let at = path(at);
        let FileClass::State(kind) = kind::classify(&at, text.as_bytes()) else { panic!("{at} is a state") };
        let Ok(node) = kind::parse(text.as_bytes()) else { panic!("{at} parses") };
        let identity = kind.descriptor().identify(&node, &at);
        assert_eq!((identity.run.as_str(), identity.story.as_deref()), (run, story), "{at}");
        assert_eq!(identity.stamp.map(|stamp| stamp.to_string()).as_deref(), stamp, "{at}");
    }
}
