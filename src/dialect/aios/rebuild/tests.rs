use super::reconstruct;
use crate::{
    dialect::{
        Dialect as _, EditError,
        aios::{
            Aios,
            testing::{files, path},
        },
    },
    model::{Content, FileSet, Reconstruction, Timestamp},
};

const STATE: &str = ".aios/epic-5-state.yaml";
const PLAN: &str = "docs/stories/EPIC-5-EXECUTION.yaml";
const EXECUTION: &str = "execution:
  epicId: 5
  storyBasePath: docs/stories
  stories:
    5.1: { file: 5.1.story.md }
    5.2: { file: 5.2.story.md }
    5.10: { file: 5.10.story.md }
  waves:
    - { wave: 1, name: Base, stories: [5.1, 5.2] }
    - { wave: 2, stories: [5.10], dependencies: [wave-1] }
";

fn rebuilt(set: &FileSet) -> Result<Reconstruction, EditError> {
    reconstruct(set, Timestamp::parse("2026-03-01T12:00:00Z", 0).unwrap())
}

/// Puts what was rebuilt in the place of what is broken.
fn applied(set: &FileSet, rebuilt: &Reconstruction) -> FileSet {
    let mut set = set.clone();
    for (path, bytes) in &rebuilt.files {
        set.files.get_mut(path).unwrap().content = Content::Bytes(bytes.as_slice().into());
    }
    set
}

/// Returns what the first story of an epic is taken for, and who said so.
fn story(text: &str, gate: Option<&str>) -> (String, Vec<String>) {
    let gate = gate.map(|word| format!("story: '5.1'\ngate: {word}\nupdated: 2026-02-28T10:00:00Z\n"));
    let mut set = vec![(STATE, "epic_state: ["), (PLAN, EXECUTION), ("docs/stories/5.1.story.md", text)];
    set.extend(gate.as_deref().map(|gate| ("docs/qa/gates/5.1-a.yml", gate)));
    let found = rebuilt(&files(&set)).unwrap();
    let value = found.values.iter().find(|value| value.of == "story 5.1").unwrap();
    (value.value.clone(), value.evidence.clone())
}

#[test]
fn of_the_voices_about_a_story_the_lowest_counts() {
    let head = "# Story 5.1: A\n\n";
    for (status, tasks, gate, word) in [
        ("**Status:** Done\n", "- [x] a\n", Some("PASS"), "completed"),
        ("**Status:** Done\n", "- [x] a\n", None, "completed"),
        ("**Status:** Done\n", "- [ ] a\n", Some("PASS"), "in_progress"),
        ("**Status:** Done\n", "- [x] a\n", Some("FAIL"), "in_progress"),
        ("**Status:** Done\n", "- [x] a\n", Some("MAYBE"), "in_progress"),
        ("**Status:** Ready for Review\n", "- [x] a\n", Some("PASS"), "in_progress"),
        ("**Status:** InProgress\n", "- [x] a\n", None, "in_progress"),
        ("**Status:** Draft\n", "", Some("PASS"), "pending"),
        ("**Status:** Deferred\n", "", None, "skipped"),
        ("**Status:** Blocked\n", "", None, "blocked"),
        ("**Status:** Whatever\n", "", None, "pending"),
        ("", "- [x] a\n", None, "pending"),
        (
            "",
            "- [x] a\n\n## Change Log\n\n| Date | Change |\n|--|--|\n| 2026-02-01 | Status: Draft → Done |\n",
            None,
            "completed",
        ),
    ] {
        let (value, evidence) = story(&format!("{head}{status}\n## Tasks\n{tasks}"), gate);
        assert_eq!(value, word, "{status:?} {tasks:?} {gate:?}: {evidence:?}");
    }
    let (_, evidence) = story(&format!("{head}**Status:** Done\n\n## Tasks\n- [x] a\n"), Some("PASS"));
    let told =
        ["docs/stories/5.1.story.md:3 says `Done`", "1 of 1 tasks are ticked", "docs/qa/gates/5.1-a.yml says `PASS`"];
    assert_eq!(evidence, told);
}

#[test]
fn an_epic_is_rebuilt_from_its_plan_and_read_again() {
    let torn = "epic_state:\n  epicId: 5\n  mode: yolo\n  started_at: \"2026-02-01T00:00:00Z\"\n  waves: [";
    let done = "# Story 5.1: A\n\n**Status:** Done\n";
    let set = files(&[
        (STATE, torn),
        (PLAN, EXECUTION),
        ("docs/stories/5.1.story.md", done),
        ("docs/stories/5.2.story.md", done),
    ]);
    let found = rebuilt(&set).unwrap();
    let expected = "\
# Rebuilt by `piton restore --from-evidence`; `piton history` has what it replaced.
epic_state:
  epicId: \"5\"
  execution_plan: \"docs/stories/EPIC-5-EXECUTION.yaml\"
  mode: yolo
  started_at: \"2026-02-01T00:00:00Z\"
  updated_at: \"2026-03-01T12:00:00Z\"
  status: active
  current_wave: 1
  total_waves: 2
  waves:
    1:
      name: \"Base\"
      status: gate_review
      stories:
        \"5.1\":
          status: completed
        \"5.2\":
          status: completed
    2:
      name: \"Wave 2\"
      status: pending
      stories:
        \"5.10\":
          status: pending
  gate_verdicts: {}
  bug_verification: {}
";
    assert_eq!(String::from_utf8(found.files[0].1.clone()).unwrap(), expected);
    let run = Aios.load(&applied(&set, &found)).run.unwrap();
    let steps: Vec<String> = run.steps.iter().map(|step| format!("{} {}", step.id, step.status)).collect();
    assert_eq!(
        steps,
        [
            "5.1 completed",
            "5.2 completed",
            "gate-1 in_progress",
            "merge-1 pending",
            "5.10 pending",
            "gate-2 pending",
            "merge-2 pending",
            "final-gate pending"
        ]
    );
    assert!(found.unknown.iter().any(|unknown| unknown.contains("gate_verdicts")), "{:?}", found.unknown);
}

#[test]
fn a_loop_is_rebuilt_from_its_gates() {
    let state = "qa/5.1/loop-status.json";
    let gate = |word: &str, day: u32, number: u32| {
        format!("storyId: '5.1'\nverdict: {word}\nreviewDate: 2026-02-{day:02}T10:00:00Z\niteration: {number}\n")
    };
    let (first, second) = (gate("FAIL", 1, 1), gate("FAIL", 2, 2));
    let set = [
        (state, "{\"maxIterations\": 3,\n"),
        ("docs/qa/gates/5.1-a.yml", &first),
        ("docs/qa/gates/5.1-b.yml", &second),
    ];
    let set = files(&set);
    let found = rebuilt(&set).unwrap();
    let run = Aios.load(&applied(&set, &found)).run.unwrap();
    let steps: Vec<String> = run.steps.iter().map(|step| format!("{} {}", step.id, step.status)).collect();
    assert_eq!(
        steps,
        ["review-1 completed", "fix-1 completed", "review-2 completed", "fix-2 pending", "review-3 pending"]
    );
    assert_eq!(found.values[0].value, "5.1");
}

#[test]
fn what_nothing_tells_is_not_made_up() {
    for (state, others, why) in [
        (STATE, vec![], "no execution plan of epic 5 can be read"),
        (STATE, vec![("docs/stories/EPIC-6-EXECUTION.yaml", EXECUTION)], "no execution plan of epic 5 can be read"),
        ("qa/5.1/loop-status.json", vec![], "no gate file has a verdict for 5.1"),
        ("qa/loop-status.json", vec![], "neither the broken file nor its folder names the story"),
        (".aiox/workflow-state/5.1-state.yaml", vec![], "there is no other source"),
    ] {
        let mut set = vec![(state, "a: [")];
        set.extend(others);
        match rebuilt(&files(&set)) {
            Err(EditError::Unsupported(message)) => assert!(message.contains(why), "{state}: {message}"),
            other => panic!("{state}: {other:?}"),
        }
    }
    let whole = files(&[(STATE, "epic_state:\n  epicId: 5\n")]);
    assert!(matches!(rebuilt(&whole), Err(EditError::Unsupported(message)) if message.contains("can be read")));
    assert_eq!(whole.state, path(STATE));
}
