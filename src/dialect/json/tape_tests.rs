use proptest::prelude::*;
use serde_json::Value;
use serde_json::json;

use super::Json;
use super::Kind;
use super::Tape;
use crate::dialect::json::Document;
use crate::dialect::json::escape;
use crate::dialect::json::parse_value;

/// Builds the value from the tape node by node, as `serde_json` builds it from the text.
fn rebuilt(value: Json<'_>) -> Value {
    match value.kind() {
        Kind::Null => Value::Null,
        Kind::Bool(flag) => Value::Bool(flag),
        Kind::Number(number) => Value::Number(number),
        Kind::String(text) => Value::String(text.into_owned()),
        Kind::Array => value.items().map(rebuilt).collect(),
        Kind::Object => {
            value.members().map(|(key, value)| (key.as_str().unwrap().into_owned(), rebuilt(value))).collect()
        }
    }
}

fn agrees(bytes: &[u8]) {
    match (Tape::parse(bytes), parse_value(bytes)) {
        (Ok(tape), Ok(value)) => {
            assert_eq!(rebuilt(tape.root()), value, "{bytes:?}");
            assert_eq!(tape.root().to_value(), value, "{bytes:?}");
        }
        (Err(error), Err(expected)) => assert_eq!(error, expected, "{bytes:?}"),
        (tape, value) => panic!("{:?}: {tape:?} and {value:?}", String::from_utf8_lossy(bytes)),
    }
}

const TEXTS: &[&str] = &[
    "",
    " ",
    "\u{feff}",
    "\u{feff}{}",
    "{}",
    "[]",
    " [ ] ",
    "[1,]",
    "[,]",
    "{,}",
    "{\"a\"}",
    "{\"a\":}",
    "{\"a\":1,}",
    "{1:2}",
    "[1 2]",
    "1 2",
    "[}",
    "{]",
    "null",
    "nul",
    "nulls",
    "true",
    "tru",
    "false",
    "-",
    "-0",
    "0",
    "00",
    "01",
    "-1",
    "+1",
    "1.",
    ".5",
    "1.5",
    "1e5",
    "1E+5",
    "1e-5",
    "1e",
    "1e+",
    "1e308",
    "1e309",
    "1e999",
    "-1e999",
    "0e999",
    "1e-999",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "123456789012345678",
    "1234567890123456789",
    "0.1",
    "NaN",
    "Infinity",
    "\"",
    "\"a",
    "\"a\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\",
    "\"\\x\"",
    "\"\\n\\t\\/\\b\\f\\r\"",
    "\"\t\"",
    "\"\u{7f}\u{80}\"",
    "\"\\u0041\"",
    "\"\\u00\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud83d\"",
    "\"\\ude00\"",
    "\"\\ud83dx\"",
    "\"\\ud83d\\u0041\"",
    "{\"\\u0061\": 1, \"a\": 2}",
    "{\"a\": 1, \"b\": 2, \"a\": 3}",
    "[\u{a0}1]",
    "{\"a\": [1, {\"b\": null}], \"c\": \"d\"}\r\n",
    "\u{0}",
    "[1]\u{0}",
    "// a\n1",
];

#[test]
fn what_serde_takes_is_taken_and_means_the_same() {
    for text in TEXTS {
        agrees(text.as_bytes());
    }
    let long = ["1".repeat(308), "1".repeat(309), "9".repeat(310), format!("0.{}", "1".repeat(400))];
    long.iter().for_each(|number| agrees(number.as_bytes()));
    for depth in [126, 127, 128, 129, 100_000] {
        agrees(format!("{}{}", "[".repeat(depth), "]".repeat(depth)).as_bytes());
        agrees("{\"a\":".repeat(depth).as_bytes());
    }
    agrees(b"{\"a\":\n\"\xff\"}");
}

#[test]
fn a_text_ends_where_it_ends_however_long_it_is() {
    for length in 0..40 {
        let text = "é€a\u{7f}".chars().cycle().take(length).collect::<String>();
        for end in ["\"", "\\n\"", "\\\"\"", "\n\"", "\u{1}", "\u{1f}\"", "", "\\"] {
            for rest in ["", " ", "!!!!!!!!!!!!!!!!\""] {
                agrees(format!("\"{text}{end}{rest}").as_bytes());
            }
        }
    }
}

#[test]
fn values_are_found_by_key_and_pointer() {
    let tape = Tape::parse(br#"{"a": [1, {"b/c": "x\ny"}], "d": 1, "d": 2, "\u0065": null}"#).unwrap();
    let root = tape.root();
    assert_eq!(root.pointer("/a/1/b~1c").and_then(Json::as_str).as_deref(), Some("x\ny"));
    assert_eq!(root.get("d").map(Json::to_value), Some(json!(2)), "the last of doubled keys");
    assert!(root.get("e").is_some_and(Json::is_null), "an escaped key");
    assert_eq!(root.get("a").map(|list| list.items().count()), Some(2));
    for pointer in ["/a/2", "/a/x", "/d/0", "/f", "/a/1/b"] {
        assert!(root.pointer(pointer).is_none(), "{pointer}");
    }
}

/// Pieces that make texts which are nearly JSON far more often than bytes drawn one by one.
fn nearly_json() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{"),
        Just("}"),
        Just("["),
        Just("]"),
        Just(","),
        Just(":"),
        Just("\""),
        Just("\\"),
        Just(" "),
        Just("\n"),
        Just("null"),
        Just("true"),
        Just("-"),
        Just("0"),
        Just("17"),
        Just("."),
        Just("e9"),
        Just("E-400"),
        Just("999"),
        Just("\"a\""),
        Just("\"k\":"),
        Just("\\u"),
        Just("d83d"),
        Just("de00"),
        Just("\u{feff}"),
        Just("é"),
        Just("\u{1}"),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
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

/// Returns the pointers of every value below one.
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

/// Does to a value what the document does to a text.
fn apply(value: &mut Value, pointer: &str, change: &Change, document: &mut Document) {
    let target = value.pointer_mut(pointer).unwrap();
    match change {
        Change::Set(new) => {
            *target = new.clone();
            assert!(document.set(pointer, new));
        }
        Change::Add(key, new) => {
            let is_done = document.set(&format!("{pointer}/{}", escape(key)), new);
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
            let is_done = document.push(pointer, new);
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
            assert!(document.remove(pointer));
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_taken_or_refused_as_by_serde(text in nearly_json(), bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        agrees(text.as_bytes());
        agrees(&bytes);
    }

    #[test]
    fn any_value_is_read_as_by_serde(value in any_value(), pretty in any::<bool>()) {
        let text = if pretty { format!("{value:#}") } else { value.to_string() };
        agrees(text.as_bytes());
    }

    #[test]
    fn changes_one_after_the_other_mean_what_they_say(
        value in any_value(),
        pretty in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any_change()), 1..6),
    ) {
        let mut expected: Value = serde_json::from_str(&value.to_string()).unwrap();
        let text = if pretty { format!("{expected:#}\n") } else { expected.to_string() };
        let mut document = Document::parse(text.as_bytes()).unwrap();
        for (at, change) in changes {
            let mut places = Vec::new();
            pointers(&expected, "", &mut places);
            apply(&mut expected, at.get::<String>(&places), &change, &mut document);
            prop_assert_eq!(document.value(), expected.clone(), "{:?}", change);
            places.clear();
            pointers(&expected, "", &mut places);
            for place in &places {
                prop_assert!(document.has(place), "{}", place);
            }
        }
        let after = document.into_bytes();
        prop_assert_eq!(parse_value(&after).unwrap(), expected);
    }

    #[test]
    fn a_text_that_is_changed_keeps_the_places_of_a_text_that_is_read(
        value in any_value(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any_change()), 1..6),
    ) {
        let mut expected: Value = serde_json::from_str(&value.to_string()).unwrap();
        let mut document = Document::parse(format!("{expected:#}").as_bytes()).unwrap();
        let mut places = Vec::new();
        for (at, change) in changes {
            places.clear();
            pointers(&expected, "", &mut places);
            apply(&mut expected, at.get::<String>(&places), &change, &mut document);
        }
        places.clear();
        pointers(&expected, "", &mut places);
        let kept: Vec<_> = places.iter().map(|place| document.position(place)).collect();
        let bytes = document.into_bytes();
        let read = Document::parse(&bytes).unwrap();
        let found: Vec<_> = places.iter().map(|place| read.position(place)).collect();
        prop_assert_eq!(kept, found);
    }
}
