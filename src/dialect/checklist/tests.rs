use super::{
    grammar,
    list::{Claim, TaskList, Wording},
    outline::Outline,
};
use crate::model::RelPath;

fn speckit(text: &str) -> TaskList {
    let own = RelPath::parse("specs/001-a").unwrap();
    grammar::speckit(&Outline::of(text), Some(&own))
}

fn ids(list: &TaskList) -> Vec<(&str, Claim)> {
    list.tasks.iter().map(|task| (task.id.as_str(), task.claim)).collect()
}

#[test]
fn dependencies_of_a_task_are_read_from_its_line() {
    for (line, waits_for) in [
        ("- [ ] T009 Add a (depends on T001, T002)", vec!["T001", "T002"]),
        ("- [ ] T009 Add a (after T001-T003)", vec!["T001", "T002", "T003"]),
        ("- [ ] T009 Add a (depends on T001 through T003 and T005)", vec!["T001", "T002", "T003", "T005"]),
        ("- [ ] T009 Add a, blocked by **T004**", vec!["T004"]),
        ("- [ ] T009 Add a\n  Dependencies: T001, T002", vec!["T001", "T002"]),
        ("- [ ] T009 Add a after the tests", vec![]),
        ("- [ ] T009 Depends on nothing", vec![]),
        ("- [ ] T009 Add a (does not depend on T001)", vec![]),
    ] {
        assert_eq!(speckit(line).tasks[0].waits_for, waits_for, "{line}");
    }
}

/// What each task waits for, and what is said of waits that the order contradicts.
fn order(text: &str) -> (Vec<String>, Vec<String>) {
    let list = speckit(text);
    let state = RelPath::parse("specs/001-a/tasks.md").unwrap();
    let run = super::run::build(super::kind::ListKind::SpecKit, "a", &state, &list);
    let on = |step: &crate::model::Step| {
        let on: Vec<&str> = step.depends_on.iter().map(crate::model::StepId::as_str).collect();
        format!("{}: {}", step.id, on.join(" "))
    };
    let findings = super::run::findings(&state, &list);
    let said = findings.into_iter().filter(|finding| finding.message.contains("puts behind them"));
    (run.steps.iter().map(on).collect(), said.map(|finding| finding.message).collect())
}

#[test]
fn a_task_comes_behind_a_later_one_that_it_names() {
    for (text, expected, said) in [
        // T002 comes last, and T003 does not wait for it.
        (
            "- [ ] T001 a\n- [ ] T002 b (depends on T004)\n- [ ] T003 c\n- [ ] T004 d\n- [ ] T005 e\n",
            vec!["T001: ", "T002: T004", "T003: T001", "T004: T003", "T005: T002"],
            None,
        ),
        // Neighbours that may be done together still wait for each other where they say so.
        ("- [ ] T001 [P] a\n- [ ] T002 [P] b (depends on T001)\n", vec!["T001: ", "T002: T001"], None),
        (
            "- [ ] T001 a (depends on T002)\n- [ ] T002 b (depends on T001)\n",
            vec!["T001: ", "T002: T001"],
            Some("T001 for T002"),
        ),
        (
            "## Phase 1: Setup\n- [ ] T001 a (depends on T002)\n## Phase 2: Foundational\n- [ ] T002 b\n",
            vec!["T001: ", "T002: T001"],
            Some("T001 for T002"),
        ),
        // What is done has nothing to wait for.
        ("- [x] T001 a (depends on T002)\n- [ ] T002 b (depends on T001)\n", vec!["T001: ", "T002: T001"], None),
    ] {
        let (on, findings) = order(text);
        assert_eq!(on, expected, "{text}");
        assert_eq!(findings.len(), usize::from(said.is_some()), "{text}: {findings:?}");
        assert!(said.is_none_or(|said| findings[0].ends_with(said)), "{text}: {findings:?}");
    }
}

#[test]
fn user_stories_that_wait_for_others_say_so_in_words() {
    for (line, waits) in [
        ("- **User Story 3 (P3)**: Depends on US1 and US2 completion", vec![(3, 1), (3, 2)]),
        ("- US2 depends on User Story 1.", vec![(2, 1)]),
        ("- **User Story 2 (P2)**: Can start after Foundational - May integrate with US1", vec![]),
        ("- **User Story 1 (P1)**: No dependencies on other stories", vec![]),
        ("The bus 2 depends on US1", vec![]),
        ("- User Story 2 does not depend on US1", vec![]),
        ("- US2 doesn't depend on US1 and no longer depends on US3", vec![]),
        ("- US2 does not wait, but depends on US1", vec![(2, 1)]),
    ] {
        assert_eq!(speckit(&format!("## Dependencies\n{line}\n- [ ] T001 a")).story_waits, waits, "{line}");
    }
}

#[test]
fn every_task_has_an_id_of_its_own() {
    let list = speckit("- [x] T001 a\n- [ ] T001 b\n- [x] T002 c\n- [x] T002 c\n- [ ] Task T003: d\n");
    let expected = [("T001", Claim::Done), ("T001-2", Claim::Open), ("T002", Claim::Done), ("T003", Claim::Open)];
    assert_eq!(ids(&list), expected);
    assert_eq!(list.repeated, [("T001".to_owned(), 2)]);
    for (other, expected) in [
        ("Create model tests", vec!["T010", "T010-2"]),
        ("Create models", vec!["T010", "T010-2"]),
        ("Create model", vec!["T010"]),
        ("**Create** model in `src/model.py`", vec!["T010"]),
        ("Create model tests in src/model.py", vec!["T010", "T010-2"]),
    ] {
        let list = speckit(&format!("- [ ] T010 Create model\n- [ ] T010 {other}\n"));
        assert_eq!(list.tasks.iter().map(|task| task.id.as_str()).collect::<Vec<_>>(), expected, "{other}");
    }
    let list = speckit(
        "- [ ] T002 ~~Use Redis~~ Use Postgres\n- [x] ~~T003~~ T004 a\n- [ ] SKIP: T005 (b)\n- [ ] ~~T006 c~~\n",
    );
    let expected = [("T002", Claim::Open), ("T004", Claim::Done), ("T005", Claim::Skipped), ("T006", Claim::Skipped)];
    assert_eq!(ids(&list), expected);
}

#[test]
fn a_box_of_a_change_is_compared_with_the_boxes_below_it() {
    let text = "- [x] 1. a\n  - [ ] 1.1 b\n- [ ] 2. c\n  - [x] 2.1 d\n    - [x] e\n- [ ] 3. f\n  - [x] 3.1 g\n  - [ ] 3.2 h\n- [x] 4. i\n  - [x] 4.1 j\n## Next\n  - [ ] 5. k\n";
    let list = grammar::openspec(&Outline::of(text), None);
    let said: Vec<(&str, &Wording)> =
        list.tasks.iter().flat_map(|task| task.words.iter().map(|word| (task.id.as_str(), word))).collect();
    let open = Wording::SaysOpen("boxes below it are open".to_owned());
    let done = Wording::SaysDone("all boxes below it are ticked".to_owned());
    assert_eq!(said, [("1", &open), ("2", &done)]);
    let above: Vec<Option<&str>> = list.tasks.iter().map(|task| task.above.as_deref()).collect();
    assert_eq!(above.iter().flatten().count(), 1);
    assert_eq!(above[1], Some("1"));
}

#[test]
fn a_change_counts_every_box() {
    let text = "# Tasks\n## 1. A\n- [x] 1.1 a\n  - [ ] b\n```\n- [x] c\n```\n<!-- - [ ] d -->\n## Next\n1. [ ] e\n- [ ](f) g\n- [a](b)\n";
    let list = grammar::openspec(&Outline::of(text), None);
    let expected =
        [("1.1", Claim::Done), ("1.2", Claim::Open), ("1.3", Claim::Done), ("4", Claim::Open), ("5", Claim::Open)];
    assert_eq!(ids(&list), expected);
}

#[test]
fn headings_of_plans_are_read_at_the_level_of_most_tasks() {
    let text = "# P\n## Task 1: one\n### Task 1: a\n- [x] **Step 1: b**\n### Task 2b — c\n**Files:**\n- Create: `a/b.rs`, `README.md`\n- Modify: `c/d.rs:1-9` (x)\n- \
                Delete: `e/f.rs`\n\n- [ ] **Step 1**\n- [x] **Step 2**\n### 任务 3：d\n- [ ] e\n";
    let outline = Outline::of(text);
    assert!(grammar::is_superpowers_plan(&outline));
    let list = grammar::superpowers(&outline);
    assert_eq!(ids(&list), [("task-1", Claim::Done), ("task-2b", Claim::Begun), ("task-3", Claim::Open)]);
    let names = |paths: &[RelPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&list.tasks[1].files.created), ["a/b.rs", "README.md"]);
    assert_eq!(names(&list.tasks[1].files.modified), ["c/d.rs"]);
    assert!(!grammar::is_superpowers_plan(&Outline::of("# Design\n## Task 1\ntext\n## Task 2\n")));
}

#[test]
fn plans_of_plan_mode_have_boxes_or_numbers() {
    for (text, expected) in [
        ("1. a\n2. b\n   1. c\n", Some(vec![("1", Claim::Open), ("2", Claim::Open)])),
        ("- [x] a\n- [ ] b\n1. c\n2. d\n", Some(vec![("1", Claim::Done), ("2", Claim::Open)])),
        ("1. a\n", None),
        ("text\n- a\n- b\n", None),
    ] {
        let list = grammar::plan_mode(&Outline::of(text));
        assert_eq!(list.as_ref().map(ids), expected, "{text}");
    }
}
