use super::{Evidence, FileClass, Kind, by_name, classify};
use crate::model::RelPath;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

#[test]
fn content_decides_whatever_the_name_says() {
    // Every signature under the name that another kind usually has.
    for (text, expected) in [
        ("epic_state:\n  epicId: 5\n", FileClass::State(Kind::Epic)),
        ("{\"epicId\": \"5\", \"current_wave\": 2, \"waves\": {}}", FileClass::State(Kind::Pipeline)),
        ("engine_state:\n  mode: engine\n", FileClass::State(Kind::Engine)),
        ("session_state:\n  version: \"1.2\"\n", FileClass::State(Kind::Bob)),
        ("instance_id: a-20260101-abc\nsteps: []\n", FileClass::State(Kind::Guided)),
        ("workflowId: development-cycle\nphaseResults: {}\n", FileClass::State(Kind::DevCycle)),
        ("workflow_id: x\ncurrent_story: 1.1\npaused_at: 2026-01-31T12:00:00Z\n", FileClass::State(Kind::Paused)),
        ("workflow: x\naborted_at: 2026-01-31T12:00:00Z\n", FileClass::State(Kind::Paused)),
        ("{\"workflowId\": \"master-ade-1\", \"epics\": {}}", FileClass::State(Kind::Ade)),
        ("{\"workflowId\": \"w\", \"phases\": {}, \"metadata\": {}}", FileClass::State(Kind::Phases)),
        ("{\"storyId\": \"1.1\", \"checkpoints\": []}", FileClass::State(Kind::Build)),
        ("execution_id: sdc-1\nphases_completed: []\n", FileClass::State(Kind::Record)),
        ("{\"storyId\": \"2.1\", \"currentIteration\": 1, \"history\": []}", FileClass::State(Kind::QaLoop)),
        ("story_id: 2.1\ncurrent_iteration: 1\nhistory: []\n", FileClass::State(Kind::QaLoop)),
        ("{\"storyId\": null, \"iteration\": 0, \"status\": \"idle\", \"history\": []}", FileClass::Idle),
        ("{\"subtaskId\": \"1.1\", \"attempts\": []}", FileClass::Evidence(Evidence::Attempts)),
        ("{\"version\": \"1.0\", \"loops\": {}}", FileClass::Evidence(Evidence::Index)),
        ("{\"qaLoop\": {}}", FileClass::Evidence(Evidence::Mirror)),
        ("execution:\n  waves: []\n", FileClass::Evidence(Evidence::ExecutionPlan)),
        ("metadata: {}\nphases:\n  phase_1: {}\n", FileClass::Evidence(Evidence::ExecutionPlan)),
        ("---\nid: 1\n---\n# Digest\n", FileClass::Evidence(Evidence::Digest)),
        ("something: else\n", FileClass::NotOurs),
    ] {
        for name in [".aios/x-state.yaml", ".aiox/workflow-state/x-state.yaml", "qa/loop-status.json"] {
            assert_eq!(classify(&path(name), text.as_bytes()), expected, "{name}: {text}");
        }
    }
}

#[test]
fn one_document_may_begin_with_dashes_and_comments() {
    let text = "\u{feff}# made by hand\n---\n# more\nepic_state:\n  epicId: 5\n";
    assert_eq!(classify(&path(".aios/epic-5-state.yaml"), text.as_bytes()), FileClass::State(Kind::Epic));
}

#[test]
fn content_without_keys_is_no_other_program_s_state() {
    for text in ["- a\n", "just words\n"] {
        let broken = |name: &str| matches!(classify(&path(name), text.as_bytes()), FileClass::Unreadable(..));
        for (name, expected) in [
            (".aios/x-state.yaml", true),
            (".aiox/workflow-state/x-state.yaml", true),
            (".aiox/workflow-state/x.json", false),
            ("plan/build-state.json", false),
        ] {
            assert_eq!(broken(name), expected, "{name}: {text}");
        }
    }
    // The name of an epic is its own, with any keys.
    let epic = classify(&path(".aios/epic-5-state.yaml"), b"something: else\n");
    assert!(matches!(epic, FileClass::Unreadable(..)), "{epic:?}");
}

#[test]
fn what_cannot_be_read_says_where() {
    for (text, line) in [("", 1), ("  \n\n", 1), ("a: 1\nb: [\n", 2), ("a: 1\n\tb: 2\n", 1)] {
        let FileClass::Unreadable(place, _) = classify(&path(".aios/x-state.yaml"), text.as_bytes()) else {
            panic!("{text:?} was read")
        };
        assert_eq!(place.line, line, "{text:?}");
    }
}

#[test]
fn mirrors_locks_and_bookkeeping_are_known_by_their_place() {
    for (name, expected) in [
        (".aios/locks/bob.lock", Evidence::Lock),
        (".aios/project-status.yaml.lock", Evidence::Lock),
        (".aiox/dashboard/status.json", Evidence::Mirror),
        (".aiox/status.json", Evidence::Mirror),
        (".aiox/qa-loops-index.json", Evidence::Index),
        (".aios/session-state.json", Evidence::Bookkeeping),
        (".aios/project-status.yaml", Evidence::Bookkeeping),
    ] {
        assert_eq!(classify(&path(name), b"epic_state: {}"), FileClass::Evidence(expected), "{name}");
    }
}

#[test]
fn the_name_speaks_where_the_content_is_gone() {
    for (name, expected) in [
        (".aios/epic-5-state.yaml", Some(Kind::Epic)),
        (".aiox/workflow-state/5-pipeline.json", Some(Kind::Pipeline)),
        (".aiox/x-engine-state.yaml", Some(Kind::Engine)),
        (".aiox/x-state.yaml", Some(Kind::Guided)),
        (".nexos/workflow-state/5-state.yaml", Some(Kind::DevCycle)),
        (".aiox/workflow-state/w.json", Some(Kind::Phases)),
        (".aiox/master-orchestrator/current.json", Some(Kind::Ade)),
        ("qa/2.1/loop-status.json", Some(Kind::QaLoop)),
        ("plan/build-state.json", Some(Kind::Build)),
        ("docs/stories/.session-state.yaml", Some(Kind::Bob)),
        ("docs/stories/1.1.story.md", None),
        (".aios/notes.yaml", None),
    ] {
        assert_eq!(by_name(&path(name)), expected, "{name}");
    }
}
