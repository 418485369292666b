use serde_json::{Value, json};

use super::JsonPath;

#[test]
fn a_path_selects_the_items_of_a_list() {
    let document =
        json!({"items": [{"id": 1, "of": ["a", "b"]}, {"id": 2, "of": []}], "a b": [3], "one": {"x": 4, "y": 5}});
    for (path, expected) in [
        ("$.items[*]", json!([{"id": 1, "of": ["a", "b"]}, {"id": 2, "of": []}])),
        ("$.items", json!([{"id": 1, "of": ["a", "b"]}, {"id": 2, "of": []}])),
        ("$.items[*].id", json!([1, 2])),
        ("$.items[0].of[*]", json!(["a", "b"])),
        ("$.items[*].of[*]", json!(["a", "b"])),
        ("$['a b']", json!([3])),
        ("$.one.*", json!([4, 5])),
        ("$.one.x", json!([4])),
        ("$.missing[*]", json!([])),
        ("$.items[9]", json!([])),
        (" $ ", json!([document])),
    ] {
        let found = JsonPath::parse(path).unwrap().items(&document);
        assert_eq!(Value::Array(found), expected, "{path}");
    }
    assert_eq!(JsonPath::parse("$[*]").unwrap().items(&json!([1, 2])), [json!(1), json!(2)]);
    assert_eq!(JsonPath::root().items(&json!([1, 2])), [json!(1), json!(2)]);
}

#[test]
fn what_is_not_a_path_is_refused_and_a_path_is_shown_as_it_selects() {
    for text in ["", "items", "$.", "$..x", "$[", "$[x]", "$.items[?(@.a)]", "$items", "$.a b"] {
        assert!(JsonPath::parse(text).is_err(), "{text}");
    }
    for text in ["$.items[*]", "$['a b'][0].*", "$"] {
        let path = JsonPath::parse(text).unwrap();
        assert_eq!(JsonPath::parse(&path.to_string()), Ok(path), "{text}");
    }
}
