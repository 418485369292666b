//! What a text says that another one did not, for those who judge what was written.

use serde_json::Value;

use super::parse_value;

/// Returns what the later of two texts says, without the entries of its lists that say the same in the same place of the earlier
/// one: most of a state are records of what is over. `None` when one of the two is no JSON.
pub(crate) fn news(before: &[u8], after: &[u8]) -> Option<Value> {
    let (before, after) = (parse_value(before).ok()?, parse_value(after).ok()?);
    Some(of(Some(&before), after))
}

fn of(before: Option<&Value>, after: Value) -> Value {
    match after {
        Value::Array(items) => {
            let mut stood = before.and_then(Value::as_array).into_iter().flatten();
            let new = items.into_iter().filter_map(|item| {
                let stood = stood.next();
                (stood != Some(&item)).then(|| of(stood, item))
            });
            Value::Array(new.collect())
        }
        Value::Object(members) => {
            let members = members.into_iter().map(|(key, value)| {
                let stood = before.and_then(|before| before.get(&key));
                let value = of(stood, value);
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

    use super::news;

    #[test]
    fn only_entries_of_lists_that_stood_there_are_left_out() {
        let said = |before: &str, after: &str| news(before.as_bytes(), after.as_bytes());
        let before = r#"{"a": [1, {"b": [2, 3]}, "x"], "c": {"d": [4]}, "e": 5}"#;
        for (after, new) in [
            (before, json!({"a": [], "c": {"d": []}, "e": 5})),
            (
                r#"{"a": [1, {"b": [2, 9]}, "x", 6], "c": {"d": [4]}, "e": 7}"#,
                json!({"a": [{"b": [9]}, 6], "c": {"d": []}, "e": 7}),
            ),
            // What moved up or down is new in its place, and so is what is spelled in another way.
            (r#"{"a": ["x", 1], "c": {"d": [4.0]}}"#, json!({"a": ["x", 1], "c": {"d": [4.0]}})),
            // A list that was none, or had another name.
            (r#"{"e": [5], "f": [1], "c": [4]}"#, json!({"e": [5], "f": [1], "c": [4]})),
            // Of doubled keys the last one counts.
            (r#"{"e": 1, "e": true, "n": null}"#, json!({"e": true, "n": null})),
            ("[1]", json!([1])),
        ] {
            assert_eq!(said(before, after), Some(new), "{after}");
        }
        assert_eq!(said("{", "[]"), None);
        assert_eq!(said("[]", "{"), None);
    }
}
