use super::attach;
use crate::dialect::aios::{kind::Kind, load, testing::files};

const STORY: &str = "docs/stories/1.1.story.md";
const CYCLE: &str = ".aiox/workflow-state/1.1-state.yaml";
const LOOP: &str = "qa/1.1/loop-status.json";

fn cycle(story: &str, saved: &str) -> String {
    format!(
        "workflowId: development-cycle\ncurrentPhase: {saved}\ncurrentStory: '{story}'\nexecutor: '@dev'\nstartedAt: \
         2026-03-01T09:00:00Z\nlastUpdated: 2026-03-01T10:00:00Z\nphaseResults:\n  {saved}: {{ status: completed }}\n"
    )
}

fn told(status: &str) -> String {
    format!("# Story 1.1: Sign in\n\n**Status:** {status}\n\n## File List\n- `src/a.rs`\n")
}

/// Returns `code severity` of what is found, and the file of the steps.
fn attached(kind: Kind, set: &[(&str, &str)]) -> (Vec<String>, Option<String>) {
    let set = files(set);
    let mut loaded = load(kind, &set);
    loaded.findings.clear();
    attach(kind, &set, &mut loaded);
    let findings =
        loaded.findings.iter().map(|finding| format!("{} {}", finding.code, finding.severity.as_str())).collect();
    let file = loaded.run.unwrap().steps[0].file.as_ref().map(|path| path.as_str().to_owned());
    (findings, file)
}

#[test]
fn a_story_is_found_by_its_path_by_the_end_of_it_and_by_its_id() {
    let ready = told("InProgress");
    for (path, at, expected, file) in [
        (STORY, STORY, vec![], Some(STORY)),
        ("/home/them/app/docs/stories/1.1.story.md", STORY, vec!["path-foreign warning"], Some(STORY)),
        ("C:\\app\\docs\\stories\\1.1.story.md", STORY, vec!["path-foreign warning"], Some(STORY)),
        ("elsewhere/1.1.story.md", STORY, vec!["path-foreign warning"], Some(STORY)),
        (STORY, "docs/stories/2.2.story.md", vec!["story-missing blocking"], None),
        ("../../etc/passwd", "docs/stories/2.2.story.md", vec!["story-missing warning"], None),
    ] {
        let text = if at == STORY { ready.clone() } else { ready.replace("1.1", "2.2") };
        let found = attached(Kind::DevCycle, &[(CYCLE, &cycle(path, "1_validation")), (at, &text)]);
        assert_eq!(
            found,
            (expected.iter().map(|text| (*text).to_owned()).collect(), file.map(str::to_owned)),
            "{path}"
        );
    }
}

#[test]
fn another_workflow_that_was_begun_for_the_story_since_blocks() {
    let story = told("InProgress");
    let cycle = cycle(STORY, "1_validation");
    for (started, id, expected) in [
        ("2026-03-01T10:30:00Z", "1.1", vec!["rival-run blocking"]),
        // Begun before, it is no news, but there are two.
        ("2026-03-01T09:30:00Z", "1.1", vec!["rival-run warning"]),
        ("2026-03-01T10:00:00Z", "1.1", vec!["rival-run warning"]),
        ("2026-03-01T10:30:00Z", "1.2", vec![]),
    ] {
        let other = format!(
            "{{\"storyId\": \"{id}\", \"currentIteration\": 1, \"status\": \"in_progress\", \"startedAt\": \"{started}\", \
             \"history\": []}}"
        );
        let (found, _) = attached(Kind::DevCycle, &[(CYCLE, &cycle), (STORY, &story), (LOOP, &other)]);
        assert_eq!(found, expected, "{started}");
    }
}
