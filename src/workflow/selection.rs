//! The order of the items of a `foreach`: `sort_by: "priority DESC, name"`. Pure.

use std::cmp::Ordering;

use serde_json::Value;

/// A value inside of an item that decides about its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortKey {
    /// Names and numbers, separated by dots; empty for the item itself.
    pub(crate) path: String,
    pub(crate) is_descending: bool,
}

/// Reads the keys of an order, the most important first.
///
/// # Errors
///
/// What is wrong with the text.
pub(super) fn keys(text: &str) -> Result<Vec<SortKey>, String> {
    text.split(',').map(key).collect()
}

fn key(text: &str) -> Result<SortKey, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let (path, is_descending) = match words.as_slice() {
        [path] => (*path, false),
        [path, order] if order.eq_ignore_ascii_case("asc") => (*path, false),
        [path, order] if order.eq_ignore_ascii_case("desc") => (*path, true),
        _ => return Err(format!("`{}` is not a path with ASC or DESC", text.trim())),
    };
    let path = if path == "item" { "" } else { path.strip_prefix("item.").unwrap_or(path) };
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    match path.chars().all(is_plain) {
        true => Ok(SortKey { path: path.to_owned(), is_descending }),
        false => Err(format!("`{path}` is not a path of names and dots")),
    }
}

/// Sorts items; equal ones keep their order. Items without the value come last.
pub(crate) fn sort(items: &mut [Value], keys: &[SortKey]) {
    items.sort_by(|a, b| {
        keys.iter().map(|key| compare(a, b, key)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
}

fn compare(a: &Value, b: &Value, key: &SortKey) -> Ordering {
    let pointer = if key.path.is_empty() { String::new() } else { format!("/{}", key.path.replace('.', "/")) };
    let of = |item| Value::pointer(item, &pointer).filter(|value| !value.is_null());
    let order = match (of(a), of(b)) {
        (None, None) => return Ordering::Equal,
        (None, Some(_)) => return Ordering::Greater,
        (Some(_), None) => return Ordering::Less,
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal)
        }
        (Some(Value::String(a)), Some(Value::String(b))) => a.cmp(b),
        (Some(Value::Bool(a)), Some(Value::Bool(b))) => a.cmp(b),
        (Some(a), Some(b)) => a.to_string().cmp(&b.to_string()),
    };
    if key.is_descending { order.reverse() } else { order }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{keys, sort};

    #[test]
    fn items_are_sorted_by_the_first_key_that_differs() {
        let all = json!([
            {"n": "a", "p": 2}, {"n": "b", "p": 10}, {"n": "c"}, {"n": "d", "p": 2}, {"n": "e", "p": null}
        ]);
        for (by, expected) in [
            ("p DESC", "badce"),
            ("p", "adbce"),
            ("item.p asc, n desc", "dabec"),
            ("x.y", "abcde"),
            ("n DESC", "edcba"),
        ] {
            let mut items: Vec<Value> = all.as_array().expect("a list").clone();
            sort(&mut items, &keys(by).expect("an order"));
            let names: String = items.iter().filter_map(|item| item["n"].as_str()).collect();
            assert_eq!(names, expected, "{by}");
        }
        let mut plain = vec![json!("b"), json!("a")];
        sort(&mut plain, &keys("item").expect("an order"));
        assert_eq!(plain, [json!("a"), json!("b")]);
        for wrong in ["p down", "", "a b c", "$.p"] {
            assert!(keys(wrong).is_err(), "{wrong}");
        }
    }
}
