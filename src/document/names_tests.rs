use super::Names;
use crate::document::parse_json;

#[test]
fn a_list_of_names_is_read_in_every_spelling_and_nothing_else_is_taken_for_none() {
    let cases: [(&str, &[&str], &[&str]); 14] = [
        ("null", &[], &[]),
        ("[]", &[], &[]),
        (r#""""#, &[], &[]),
        (r#""none""#, &[], &[]),
        (r#"["t1", "t2", "t1"]"#, &["t1", "t2"], &[]),
        (r#""t1""#, &["t1"], &[]),
        (r#""t1, t2;t3""#, &["t1", "t2", "t3"], &[]),
        ("1", &["1"], &[]),
        ("[1, 2.5]", &["1", "2.5"], &[]),
        (r#"[{"id": "t1"}, {"task_id": 2}]"#, &["t1", "2"], &[]),
        (r#"{"story_id": "9.1"}"#, &["9.1"], &[]),
        (r#"[["t1"], null]"#, &["t1"], &[]),
        ("true", &[], &["true"]),
        (r#"["t1", {"after": "t2"}]"#, &["t1"], &[r#"{"after":"t2"}"#]),
    ];
    for (text, known, unread) in cases {
        let node = parse_json(text.as_bytes()).unwrap();
        let names = Names::of(Some(&node));
        assert_eq!(names.known, known, "{text}");
        let unread: Vec<String> = unread.iter().map(|&text| text.to_owned()).collect();
        assert_eq!(names.unread.iter().map(|text| text.replace(' ', "")).collect::<Vec<_>>(), unread, "{text}");
    }
    assert_eq!(Names::of(None), Names::default());
}
