use super::{Area, is_marked, split};

#[test]
fn paths_are_taken_apart() {
    for (path, expected) in [
        (".aios/epic-5-state.yaml", Some(("", Area::Runtime, "epic-5-state.yaml"))),
        ("apps/web/.aiox/epic-5-state.yaml", Some(("apps/web/", Area::Runtime, "epic-5-state.yaml"))),
        (".aiox/workflow-state/1.1-state.yaml", Some(("", Area::WorkflowState, "1.1-state.yaml"))),
        (".nexos/workflow-state/5-state.yaml", Some(("", Area::WorkflowState, "5-state.yaml"))),
        (".aiox/workflow-state/handoffs/x.json", Some(("", Area::Derived, "workflow-state/handoffs/x.json"))),
        (".aios/dashboard/status.json", Some(("", Area::Derived, "dashboard/status.json"))),
        (".aios/locks/bob.lock", Some(("", Area::Locks, "bob.lock"))),
        ("docs/stories/active/1.1.story.md", Some(("", Area::Stories, "active/1.1.story.md"))),
        ("x/docs/qa/gates/1.1-a.yml", Some(("x/", Area::Qa, "gates/1.1-a.yml"))),
        ("qa/2.1/loop-status.json", Some(("", Area::Qa, "2.1/loop-status.json"))),
        ("docs/specs/spec-login.md", Some(("", Area::Specs, "spec-login.md"))),
        ("plan/build-state.json", Some(("", Area::Plan, "build-state.json"))),
        ("docs/readme.md", None),
        (".aios", None),
        ("src/main.rs", None),
    ] {
        let expected = expected.map(|(base, area, rest)| super::PathParts { base, area, rest });
        assert_eq!(split(path), expected, "{path}");
    }
}

#[test]
fn only_what_may_matter_is_looked_into() {
    for (path, marked) in [
        (".aios/epic-5-state.yaml", true),
        (".aios/epic-5-state.yaml.bak", true),
        (".aios/project-status.yaml.lock", true),
        (".aios/dashboard/events.jsonl", false),
        (".aios/config.yaml", true),
        ("config.yaml", true),
        ("a/b/c/config.yaml", false),
        ("qa/report.md", false),
        ("qa/loop-status.json", true),
        ("docs/qa/gates/1.1-a.yml", true),
        ("docs/stories/1.1.story.md", true),
        ("docs/stories/1.1/spec/complexity.json", true),
        ("plan/a/build-state.json", true),
        ("plan/a/b/build-state.json", false),
        ("src/main.rs", false),
    ] {
        assert_eq!(is_marked(path), marked, "{path}");
    }
}

#[test]
fn states_are_missed_in_their_own_folders_only() {
    for (folder, expected) in [
        (".aios", true),
        ("x/.aiox", true),
        (".nexos", true),
        (".nexos/workflow-state", true),
        (".aiox/master-orchestrator", true),
        (".aios/locks", false),
        ("docs", false),
        ("src", false),
    ] {
        assert_eq!(super::keeps_state_in(&crate::model::RelPath::parse(folder).unwrap()), expected, "{folder}");
    }
}
