use crate::{
    dialect::{
        Dialect as _,
        aios::{Aios, kind::Kind, testing::files},
    },
    model::Suggestions,
};

const STATE: &str = ".aios/epic-5-state.yaml";
const STORY: &str = "docs/stories/5.1.story.md";

/// Returns the lines that a suggestion changes, as they would be, and the notes.
fn suggested(set: &[(&str, &str)], kind: Kind) -> (Vec<String>, Vec<String>) {
    let files = files(set);
    let run = Aios.load(&files).run.expect("a run");
    let Suggestions { files: changed, notes } = (kind.descriptor().suggest.unwrap())(&files, &run);
    let mut lines = Vec::new();
    for file in changed {
        let before = String::from_utf8(files.bytes(&file.file).unwrap().to_vec()).unwrap();
        let after = String::from_utf8(file.after).unwrap();
        assert_eq!(before.lines().count(), after.lines().count());
        lines.extend(after.lines().zip(before.lines()).filter(|(new, old)| new != old).map(|(new, _)| new.to_owned()));
    }
    (lines, notes)
}

fn in_epic(status: &str, story: &str) -> (Vec<String>, Vec<String>) {
    let state = format!(
        "epic_state:\n  epicId: 5\n  status: active\n  waves:\n    1:\n      name: A\n      status: in_progress\n      \
         stories:\n        5.1: {{ status: {status} }}\n        5.2: {{ status: pending }}\n"
    );
    suggested(&[(STATE, &state), (STORY, story)], Kind::Epic)
}

#[test]
fn a_story_that_lags_behind_gets_the_status_in_its_own_manner() {
    for (said, line) in [
        ("**Status:** Ready for Review\n", "**Status:** Done"),
        ("**Status:** InProgress (since May)\n", "**Status:** Done (since May)"),
        ("> **Status:** IN_PROGRESS\n", "> **Status:** DONE"),
        ("| **Status** | in progress |\n", "| **Status** | done |"),
        ("## Status\n\n**InReview**\n", "**Done**"),
        ("## Status: Implementado\n", "## Status: Concluído"),
        ("**Estado:** x\n**Status:** En Revisión\n", "**Status:** Completado"),
        ("**Status:** InProgress\r\nx", "**Status:** Done"),
    ] {
        let (lines, notes) = in_epic("completed", &format!("# Story 5.1: A\n\n{said}"));
        assert_eq!(lines, [line], "{said:?}");
        assert_eq!(notes, [] as [&str; 0], "{said:?}");
    }
    let (lines, _) = in_epic("completed", "---\nstory: 5.1\nstatus: review\n---\n# Story 5.1: A\n");
    assert_eq!(lines, ["status: done"]);
    let (lines, _) = in_epic("in_progress", "# Story 5.1: A\n\n**Status:** Ready\n");
    assert_eq!(lines, ["**Status:** InProgress"]);
}

#[test]
fn of_a_list_of_all_values_the_boxes_are_ticked() {
    let list = "# Story 5.1: A\n\n## Status\n\n- [x] Draft\n- [x] InProgress\n- [ ] InReview\n- [ ] Done\n";
    let (lines, notes) = in_epic("completed", list);
    assert_eq!(lines, ["- [x] InReview", "- [x] Done"]);
    assert_eq!(notes, [] as [&str; 0]);
}

#[test]
fn what_is_doubtful_is_a_note() {
    for (epic, story, note) in [
        ("completed", "Draft", "5.1 is completed in the epic, but its story says `Draft`"),
        ("pending", "Done", "5.1 is pending in the epic, but its story says `Done`"),
        ("in_progress", "Whatever", "5.1 is in_progress in the epic, but its story says `Whatever`"),
    ] {
        let (lines, notes) = in_epic(epic, &format!("# Story 5.1: A\n\n**Status:** {story}\n"));
        assert_eq!(lines, [] as [&str; 0], "{story}");
        assert!(notes.len() == 1 && notes[0].contains(note) && notes[0].contains(STORY), "{notes:?}");
    }
    let (lines, notes) = in_epic("completed", "# Story 5.1: A\n\n**Status:** Done\n");
    assert_eq!((lines.len(), notes.len()), (0, 1), "{notes:?}");
}

#[test]
fn tasks_are_ticked_where_a_second_voice_says_that_they_are_done() {
    let tasks = "## Tasks\n- [x] a\n- [ ] b\n  - [ ] c\n";
    let (lines, notes) = in_epic("completed", &format!("# Story 5.1: A\n\n**Status:** Ready for Review\n\n{tasks}"));
    assert_eq!(lines, ["**Status:** Done", "- [x] b", "  - [x] c"]);
    assert_eq!(notes, [] as [&str; 0]);
    let (lines, notes) = in_epic("completed", &format!("# Story 5.1: A\n\n**Status:** InProgress\n\n{tasks}"));
    assert_eq!(lines, ["**Status:** Done"]);
    assert!(notes.len() == 1 && notes[0].contains("2 tasks are not ticked (line 7, 8)"), "{notes:?}");
}

#[test]
fn a_story_of_its_own_follows_its_gate_and_its_tasks() {
    let gate = |word: &str| format!("story: '5.1'\ngate: {word}\nupdated: 2026-02-28T10:00:00Z\n");
    let path = "docs/qa/gates/5.1-a.yml";
    for (status, box_, word, line) in [
        ("InReview", "x", Some("PASS"), Some("**Status:** Done")),
        ("InReview", "x", Some("FAIL"), Some("**Status:** InProgress")),
        ("InReview", "x", Some("MAYBE"), None),
        ("InReview", "x", None, None),
        ("InProgress", "x", None, Some("**Status:** InReview")),
        ("InProgress", " ", None, None),
        ("InProgress", " ", Some("PASS"), None),
        ("InProgress", "x", Some("FAIL"), None),
    ] {
        let story = format!("# Story 5.1: A\n\n**Status:** {status}\n\n## Tasks\n- [{box_}] a\n");
        let gate = word.map(gate);
        let mut set = vec![(STORY, story.as_str())];
        set.extend(gate.as_deref().map(|gate| (path, gate)));
        let (lines, _) = suggested(&set, Kind::StoryCycle);
        assert_eq!(lines, line.into_iter().collect::<Vec<_>>(), "{status} [{box_}] {word:?}");
    }
}

#[test]
fn two_statuses_that_count_become_one() {
    let story = "# Story 5.1: A\n\n**Status:** InProgress\n\n## Status\n\nDone\n\n## Tasks\n- [ ] a\n";
    let (lines, _) = suggested(&[(STORY, story)], Kind::StoryCycle);
    assert_eq!(lines, ["InProgress"]);
}

#[test]
fn bytes_that_are_no_text_get_no_suggestion() {
    let mut files = files(&[(STORY, "# Story 5.1: A\n\n**Status:** InProgress\n\n## Tasks\n- [x] a\n")]);
    let entry = files.files.values_mut().next().unwrap();
    let mut bytes = b"# Story 5.1: A\n\n**Status:** InProgress\n\n## Tasks\n- [x] \xff\n".to_vec();
    bytes.push(b'\n');
    entry.content = crate::model::Content::Bytes(bytes.into());
    let run = Aios.load(&files).run.unwrap();
    let found = (Kind::StoryCycle.descriptor().suggest.unwrap())(&files, &run);
    assert!(found.files.is_empty() && found.notes[0].contains("not UTF-8"), "{:?}", found.notes);
}
