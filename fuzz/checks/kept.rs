//! What a change to a file must keep: unknown keys, the order of keys, and the formatting.

use serde_json::Value;

use crate::model::RelPath;

/// A key that holds a copy of another file, replaced as a whole.
const COPY: &str = "definition";
/// Prefix of keys that belong to no format.
const UNKNOWN: &str = "x_";
const BOM: &[u8] = "\u{feff}".as_bytes();

/// Compares a file before and after a change.
pub(super) fn check(path: &RelPath, before: &[u8], after: &[u8]) {
    assert_eq!(before.starts_with(BOM), after.starts_with(BOM), "{path}: its BOM");
    assert_eq!(before.ends_with(b"\n"), after.ends_with(b"\n"), "{path}: its last line end");
    if path.name().ends_with(".json") {
        let value = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes.strip_prefix(BOM).unwrap_or(bytes));
        if let Ok(before) = value(before) {
            let after = value(after).unwrap_or_else(|error| panic!("{path} is not JSON any more: {error}"));
            check_value(&before, &after);
        }
    }
}

fn check_value(before: &Value, after: &Value) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            let shared = |left: &serde_json::Map<String, Value>, right: &serde_json::Map<String, Value>| {
                left.keys().filter(|key| right.contains_key(*key)).cloned().collect::<Vec<_>>()
            };
            assert_eq!(shared(before, after), shared(after, before), "the keys are in another order");
            for (key, value) in before {
                if key.starts_with(UNKNOWN) {
                    assert_eq!(Some(value), after.get(key), "the unknown key {key} is changed");
                } else if let Some(after) = after.get(key).filter(|_| key != COPY) {
                    check_value(value, after);
                }
            }
        }
        // Removed elements shift the others.
        (Value::Array(before), Value::Array(after)) if before.len() <= after.len() => {
            before.iter().zip(after).for_each(|(before, after)| check_value(before, after));
        }
        (
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_),
            _,
        ) => {}
    }
}
