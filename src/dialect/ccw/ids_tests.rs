use super::{Index, ancestors, is_safe, is_task_shaped, loose_key, named_in, pieces, range};

fn index(ids: &[&str]) -> Index {
    Index::of(ids.iter().copied(), std::iter::empty())
}

#[test]
fn ids_are_found_in_any_case_and_with_any_zeros() {
    let index = index(&["IMPL-1", "IMPL-1.1", "IMPL-010", "TEST-3"]);
    for (text, found) in [
        ("IMPL-1", Some(0)),
        ("impl-001", Some(0)),
        ("impl-1.01", Some(1)),
        ("IMPL-10", Some(2)),
        (" **IMPL-1** ", Some(0)),
        ("IMPL-001.json", Some(0)),
        ("IMPL-11", None),
        ("IMPL-1.10", None),
        ("", None),
    ] {
        assert_eq!(index.find(text), found, "{text}");
    }
}

#[test]
fn two_tasks_that_differ_by_zeros_are_never_mixed_up() {
    let index = index(&["IMPL-1", "IMPL-001"]);
    assert_eq!(index.find("impl-1"), Some(0));
    assert_eq!(index.find("IMPL-001"), Some(1));
    assert_eq!(index.find("IMPL-01"), None);
}

#[test]
fn longer_texts_are_found_by_their_beginning() {
    let index = index(&["IMPL-1", "IMPL-1.2"]);
    assert_eq!(index.find_leading("IMPL-001 (Foundation)"), Some(0));
    assert_eq!(index.find_leading("IMPL-1.2-validation"), Some(1));
    assert_eq!(index.find_leading("IMPL-1.3"), None);
    assert_eq!(index.find_leading("IMPL-1-2"), None);
}

#[test]
fn loose_spelling_drops_case_and_zeros() {
    for (id, key) in [("IMPL-001.02", "impl-1.2"), ("L0", "l0"), ("x000", "x0"), ("任务-01", "任务-1")] {
        assert_eq!(loose_key(id), key);
    }
}

#[test]
fn prose_has_not_the_shape_of_a_task() {
    for id in ["IMPL-001", "impl-1.2", "TEST-2.1.3", "IMPL-001.3-validation", "IMPL-FE-3", "TASK-1"] {
        assert!(is_task_shaped(id), "{id}");
    }
    for word in ["utf-8", "UTF-8", "end-to-end", "IMPL", "IMPL-", "Phase", "2-3", "a-1", ""] {
        assert!(!is_task_shaped(word), "{word}");
    }
}

#[test]
fn what_could_be_a_path_is_unsafe() {
    for id in ["../x", "a/b", "a\\b", "..", "a\0b", "a\nb", ""] {
        assert!(!is_safe(id), "{id:?}");
    }
    assert!(!is_safe(&"x".repeat(300)));
    assert!(is_safe("IMPL-001.3-validation"));
}

#[test]
fn summaries_name_the_task_they_begin_with() {
    let index = index(&["IMPL-1", "IMPL-1.1", "IMPL-10", "IMPL-003", "IMPL-003-validation"]);
    for (name, found) in [
        ("IMPL-1-summary.md", Some(0)),
        ("impl-1.md", Some(0)),
        ("IMPL-1", Some(0)),
        ("IMPL-001-review.md", Some(0)),
        ("IMPL-1.1-summary.md", Some(1)),
        ("IMPL-001.1.md", Some(1)),
        ("IMPL-10-summary.md", Some(2)),
        ("IMPL-3-summary.md", Some(3)),
        ("IMPL-003-validation-summary.md", Some(4)),
        ("IMPL-1.2-summary.md", None),
        ("IMPL-11-summary.md", None),
        ("IMPL-1_summary.md", None),
        ("overview.md", None),
    ] {
        assert_eq!(named_in(name).find_map(|id| index.find(id)), found, "{name}");
    }
}

#[test]
fn ancestors_come_nearest_first() {
    assert_eq!(ancestors("IMPL-001.02.3"), ["impl-1.2", "impl-1"]);
    assert!(ancestors("IMPL-1").is_empty());
}

#[test]
fn a_range_of_tasks_is_spelled_out() {
    for (text, expected) in [
        ("IMPL-1 to IMPL-3", vec!["IMPL-1", "IMPL-2", "IMPL-3"]),
        ("IMPL-001..003", vec!["IMPL-1", "IMPL-2", "IMPL-3"]),
        ("impl-1.1 – IMPL-1.2", vec!["impl-1.1", "impl-1.2"]),
        ("IMPL-1 至 IMPL-2", vec!["IMPL-1", "IMPL-2"]),
        ("IMPL-3 to IMPL-1", vec![]),
        ("IMPL-1 to TEST-3", vec![]),
        ("IMPL-1 to the end", vec![]),
        ("1 to 3", vec![]),
        ("IMPL-1 to IMPL-4000000000", vec![]),
        ("IMPL-1", vec![]),
        ("", vec![]),
    ] {
        assert_eq!(range(text), expected, "{text}");
    }
}

#[test]
fn a_text_that_lists_tasks_is_taken_apart() {
    for (text, expected) in [
        ("IMPL-1", vec!["IMPL-1"]),
        ("IMPL-1 and IMPL-2", vec!["IMPL-1", "IMPL-2"]),
        ("IMPL-1 (schema, views), IMPL-2/IMPL-3", vec!["IMPL-1", "IMPL-2", "IMPL-3"]),
        ("IMPL-1、IMPL-2（第二）", vec!["IMPL-1", "IMPL-2"]),
        ("design and build", vec!["design", "build"]),
        (")(", vec![]),
    ] {
        assert_eq!(pieces(text), expected, "{text}");
    }
}
