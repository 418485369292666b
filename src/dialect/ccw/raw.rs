//! Lenient looks into JSON that any tool, agent or person may have written.

use serde_json::Value;

use crate::model::clean;
use crate::model::clean_line;

/// Characters of one text that are kept.
const TEXT_LIMIT: usize = 4_000;
/// Items of one list that are kept.
pub(super) const LIST_LIMIT: usize = 200;

/// Returns what a JSON pointer finds.
pub(super) fn at<'t>(value: &'t Value, pointer: &str) -> Option<&'t Value> {
    value.pointer(pointer)
}

/// Returns a text that is not empty; a number counts as its spelling.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => bounded(text),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Returns the first text that one of the pointers finds.
pub(super) fn first_text(value: &Value, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| text(at(value, pointer)))
}

/// Returns the first list with anything in it.
pub(super) fn first_list(value: &Value, pointers: &[&str]) -> Vec<String> {
    pointers.iter().map(|pointer| list(at(value, pointer))).find(|list| !list.is_empty()).unwrap_or_default()
}

/// Flattens a text, a list of anything or an object into texts.
pub(super) fn list(value: Option<&Value>) -> Vec<String> {
    let Some(value) = value else { return Vec::new() };
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Array(items) => items.iter().take(LIST_LIMIT).filter_map(item).collect(),
        Value::String(_) | Value::Number(_) | Value::Object(_) => item(value).into_iter().collect(),
    }
}

/// Describes one list item: a text, or the field of an object that says what it is.
pub(super) fn item(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(_) | Value::Number(_) => text(Some(value)),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Object(_) => {
            let told = ["/path", "/file", "/description", "/criterion", "/requirement", "/title", "/text", "/name"];
            first_text(value, &told).or_else(|| Some(bounded(&value.to_string())))
        }
        Value::Array(_) => Some(bounded(&value.to_string())),
    }
}

/// Returns a number of times; numbers in quotes occur.
pub(super) fn count(value: Option<&Value>) -> Option<u32> {
    match value? {
        Value::Number(number) => number.as_u64().map(|number| u32::try_from(number).unwrap_or(u32::MAX)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the elements of an array; of anything else none.
pub(super) fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Folds a stranger's text into one line.
pub(super) fn line(text: &str) -> String {
    clean_line(text, 200)
}

fn bounded(text: &str) -> String {
    let text = clean(text);
    let text = text.trim();
    if text.len() <= TEXT_LIMIT {
        return text.to_owned();
    }
    text.char_indices().nth(TEXT_LIMIT).map_or_else(|| text.to_owned(), |(end, _)| format!("{}…", &text[..end]))
}
