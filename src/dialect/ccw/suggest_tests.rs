use super::suggest;
use crate::{
    dialect::ccw::testing::{SESSION, files},
    model::StepId,
};

const TODO: &str = "# Tasks\n- [ ] **IMPL-1**: a\n- [ ] **IMPL-2**: b\n- [x] **IMPL-3**: c\n";

#[test]
fn only_the_boxes_of_finished_tasks_are_ticked() {
    let task = |id: &str| format!("{{\"id\":\"{id}\",\"title\":\"t\",\"status\":\"completed\"}}");
    let tasks: Vec<String> = (1..=4).map(|number| task(&format!("IMPL-{number}"))).collect();
    let names: Vec<String> = (1..=4).map(|number| format!(".task/IMPL-{number}.json")).collect();
    let mut set = vec![("workflow-session.json", SESSION), ("TODO_LIST.md", TODO)];
    set.extend(names.iter().zip(&tasks).map(|(name, task)| (name.as_str(), task.as_str())));
    let found = suggest(&files(&set), &[StepId::new("IMPL-1"), StepId::new("IMPL-4")]);
    assert_eq!(found.files.len(), 1);
    let after = String::from_utf8(found.files[0].after.clone()).unwrap();
    assert_eq!(after, TODO.replace("[ ] **IMPL-1", "[x] **IMPL-1"));
    assert_eq!(found.files[0].reasons, ["IMPL-1 is completed but its box in line 2 is open"]);
    assert!(found.notes[0].starts_with("the box of IMPL-3 in line 4 is ticked"), "{:?}", found.notes);
    assert!(found.notes[1].contains("does not mention IMPL-4"), "{:?}", found.notes);
}

#[test]
fn a_session_without_a_checklist_has_nothing_to_suggest() {
    let found = suggest(&files(&[("workflow-session.json", SESSION)]), &[]);
    assert!(found.files.is_empty());
    assert_eq!(found.notes, ["there is no checklist .workflow/active/WFS-x/TODO_LIST.md"]);
}
