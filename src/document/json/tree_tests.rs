use proptest::prelude::*;
use serde_json::Value;

use crate::document::{Editor, Syntax, escape, json_value, parse_json};

/// Checks that the bytes of every value have the meaning that `serde_json` reads there.
fn agrees(text: &str) {
    let known = json_value(text.as_bytes()).unwrap();
    let tree = parse_json(text.as_bytes()).unwrap();
    let mut places = Vec::new();
    pointers(&known, "", &mut places);
    for place in &places {
        let node = tree.at(place).unwrap();
        let found: Value = serde_json::from_str(&text[node.span.range()]).unwrap();
        assert_eq!(known.pointer(place), Some(&found), "{place} in {text}");
        assert_eq!(node.to_json(), found, "{place} in {text}");
        assert!(tree.at(&format!("{place}/none")).is_none(), "{place} in {text}");
    }
}

#[test]
fn every_value_is_found_where_it_stands() {
    for text in [
        "{}",
        " [ ] ",
        "null",
        "\t-1.50e+3\r\n",
        "\"\\\"\"",
        "[1,2 , 3\n]",
        "[[],{},[[]],{\"\":[]}]",
        "{\"\\u0061\": 1, \"a\": 2}",
        "{\"a\": 1, \"b\": 2, \"a\": [3]}",
        "{ \"a\" : [ \"]}\\\\\" , {\"b\":null} ] , \"c\":\"d\\\"\"}\r\n",
        "{\"a/b\": {\"~\": {\"é\": 1.0}}, \"{\": \"[\", \":\": true}",
    ] {
        agrees(text);
    }
    agrees(&format!("{}{}", "[".repeat(127), "]".repeat(127)));
}

#[test]
fn values_are_found_by_key_and_pointer() {
    let text = r#"{"a": [1, {"b/c": "x\ny"}], "d": 1, "d": 2.50, "\u0065": null}"#;
    let tree = parse_json(text.as_bytes()).unwrap();
    let said = |pointer: &str| tree.at(pointer).map(|node| &text[node.span.range()]);
    assert_eq!(said("/a/1/b~1c"), Some(r#""x\ny""#));
    assert_eq!(said("/d"), Some("2.50"), "the last of doubled keys");
    assert_eq!(said("/e"), Some("null"), "an escaped key");
    for pointer in ["/a/2", "/a/x", "/d/0", "/f", "/a/1/b"] {
        assert!(said(pointer).is_none(), "{pointer}");
    }
}

#[test]
fn positions_count_lines_and_characters_from_one() {
    let tree = parse_json("{\n  \"a\": [\n    \"é\", 2\n  ]\r\n}".as_bytes()).unwrap();
    let place = |pointer: &str| tree.at(pointer).map(|node| (node.place.line, node.place.column));
    for (pointer, expected) in [("", (1, 1)), ("/a", (2, 8)), ("/a/0", (3, 5)), ("/a/1", (3, 10))] {
        assert_eq!(place(pointer), Some(expected), "{pointer}");
    }
    assert_eq!(place("/a/2"), None);
}

#[test]
fn what_serde_json_refuses_is_refused() {
    let deep = format!("{}1{}", "[".repeat(128), "]".repeat(128));
    for text in ["1e999", "\"\\ud800\"", "[1e400]", deep.as_str(), "", "{", "{\"a\":1,}", "tru"] {
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
        assert!(parse_json(text.as_bytes()).is_err(), "{text}");
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,6}|[\"\\\\\n/~]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        let key = "[a-c~/\"é]{0,2}";
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::vec((key, inner), 0..5).prop_map(|members| members.into_iter().collect::<Value>()),
        ]
    })
}

/// Returns the pointers of all values below one.
fn pointers(value: &Value, above: &str, found: &mut Vec<String>) {
    found.push(above.to_owned());
    match value {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(at, item)| pointers(item, &format!("{above}/{at}"), found));
        }
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| pointers(value, &format!("{above}/{}", escape(key)), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[derive(Clone, Debug)]
enum Change {
    Set(Value),
    Add(String, Value),
    Push(Value),
    Remove,
}

fn any_change() -> impl Strategy<Value = Change> {
    prop_oneof![
        any_value().prop_map(Change::Set),
        ("[a-d~/é]{0,2}", any_value()).prop_map(|(key, value)| Change::Add(key, value)),
        any_value().prop_map(Change::Push),
        Just(Change::Remove),
    ]
}

/// Applies to a value what the document applies to a text.
fn apply(value: &mut Value, pointer: &str, change: &Change, document: &mut Editor) {
    let target = value.pointer_mut(pointer).unwrap();
    match change {
        Change::Set(new) => {
            *target = new.clone();
            document.set(pointer, new).unwrap();
        }
        Change::Add(key, new) => {
            let is_done = document.set(&format!("{pointer}/{}", escape(key)), new).is_ok();
            if target.is_null() {
                *target = Value::Object(serde_json::Map::new());
            }
            let slot = match target {
                Value::Object(map) => Some(map.entry(key.clone()).or_insert(Value::Null)),
                Value::Array(items) => key.parse::<usize>().ok().and_then(|at| items.get_mut(at)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
            };
            assert_eq!(is_done, slot.is_some());
            if let Some(slot) = slot {
                *slot = new.clone();
            }
        }
        Change::Push(new) => {
            let is_done = document.push(pointer, new).is_ok();
            if target.is_null() {
                *target = Value::Array(Vec::new());
            }
            assert_eq!(is_done, target.as_array_mut().map(|items| items.push(new.clone())).is_some());
        }
        Change::Remove => {
            let Some((above, key)) = pointer.rsplit_once('/') else { return };
            let key = key.replace("~1", "/").replace("~0", "~");
            match value.pointer_mut(above) {
                Some(Value::Object(map)) => _ = map.shift_remove(&key),
                Some(Value::Array(items)) => _ = items.remove(key.parse().unwrap()),
                Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
            }
            document.remove(pointer).unwrap();
        }
    }
}

proptest! {
    #[test]
    fn every_value_of_any_text_is_found_where_it_stands(value in any_value(), pretty in any::<bool>()) {
        agrees(&if pretty { format!("{value:#}") } else { value.to_string() });
    }

    #[test]
    fn changes_one_after_the_other_mean_what_they_say(
        value in any_value(),
        pretty in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any_change()), 1..6),
    ) {
        let mut expected: Value = serde_json::from_str(&value.to_string()).unwrap();
        let text = if pretty { format!("{expected:#}\n") } else { expected.to_string() };
        let mut document = Editor::parse(text.as_bytes(), Syntax::Json).unwrap();
        for (at, change) in changes {
            let mut places = Vec::new();
            pointers(&expected, "", &mut places);
            apply(&mut expected, at.get::<String>(&places), &change, &mut document);
            prop_assert_eq!(document.root().to_json(), expected.clone(), "{:?}", change);
            places.clear();
            pointers(&expected, "", &mut places);
            for place in &places {
                prop_assert!(document.get(place).is_some(), "{}", place);
            }
        }
        let after = document.into_bytes();
        prop_assert_eq!(json_value(&after).unwrap(), expected);
    }
}
