//! The parts of a text that are not in an earlier version.

use serde_json::Value;

use super::json_value;

/// Returns the later of two texts without list entries that are equal at the same index of the earlier one, because most of a
/// state records the past. `None` if one of them is not JSON.
pub(crate) fn additions(before: &[u8], after: &[u8]) -> Option<Value> {
    let (before, after) = (json_value(before).ok()?, json_value(after).ok()?);
    Some(additions_to(Some(&before), after))
}

fn additions_to(before: Option<&Value>, after: Value) -> Value {
    match after {
        Value::Array(items) => {
            let mut earlier = before.and_then(Value::as_array).into_iter().flatten();
            let new = items.into_iter().filter_map(|item| {
                let earlier = earlier.next();
                (earlier != Some(&item)).then(|| additions_to(earlier, item))
            });
            Value::Array(new.collect())
        }
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| {
                let earlier = before.and_then(|before| before.get(&key));
                let value = additions_to(earlier, value);
                (key, value)
            });
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => after,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::additions;

    #[test]
    fn only_entries_of_lists_that_stood_there_are_left_out() {
        let compare = |before: &str, after: &str| additions(before.as_bytes(), after.as_bytes());
        let before = r#"{"a": [1, {"b": [2, 3]}, "x"], "c": {"d": [4]}, "e": 5}"#;
        for (after, new) in [
            (before, json!({"a": [], "c": {"d": []}, "e": 5})),
            (
                r#"{"a": [1, {"b": [2, 9]}, "x", 6], "c": {"d": [4]}, "e": 7}"#,
                json!({"a": [{"b": [9]}, 6], "c": {"d": []}, "e": 7}),
            ),
            // What moved up or down is new in its place, and so is what is spelled in another way.
            (r#"{"a": ["x", 1], "c": {"d": [4.0]}}"#, json!({"a": ["x", 1], "c": {"d": [4.0]}})),
            // The earlier value is not a list, or has another key.
            (r#"{"e": [5], "f": [1], "c": [4]}"#, json!({"e": [5], "f": [1], "c": [4]})),
            // Of doubled keys the last one counts.
            (r#"{"e": 1, "e": true, "n": null}"#, json!({"e": true, "n": null})),
            ("[1]", json!([1])),
        ] {
            assert_eq!(compare(before, after), Some(new), "{after}");
        }
        assert_eq!(compare("{", "[]"), None);
        assert_eq!(compare("[]", "{"), None);
    }
}
