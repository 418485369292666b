//! Lenient access to JSON written by any tool, agent or person.

use serde_json::Value;

use crate::model::clean;
use crate::model::clean_line;

/// Maximum length kept of one text, in characters.
const TEXT_LIMIT: usize = 4_000;
/// Maximum number of items kept of one list.
pub(super) const LIST_LIMIT: usize = 200;

/// Returns the value at a JSON pointer without escapes. A task is asked for a hundred places: `Value::pointer`, which makes two strings
/// of every key and hashes it, would take a fifth of the time of a plan of 10,000 tasks.
pub(super) fn at<'t>(value: &'t Value, pointer: &str) -> Option<&'t Value> {
    pointer.as_bytes().split(|byte| *byte == b'/').skip(1).try_fold(value, |value, key| match value {
        Value::Array(items) => items.get(std::str::from_utf8(key).ok()?.parse::<usize>().ok()?),
        Value::Object(fields) => fields.iter().find(|(name, _)| name.as_bytes() == key).map(|(_, value)| value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    })
}

/// Returns a non-empty text; a number counts as its spelling.
pub(super) fn text(value: Option<&Value>) -> Option<String> {
    let text = match value? {
        Value::String(text) => bounded(text),
        Value::Number(number) => number.to_string(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Returns the first text found at one of the pointers.
pub(super) fn first_text(value: &Value, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| text(at(value, pointer)))
}

/// Returns the first text found at one of the pointers, as a single line.
pub(super) fn first_line(value: &Value, pointers: &[&str]) -> Option<String> {
    let at = |pointer: &&str| match at(value, pointer)? {
        Value::String(text) => Some(line(text)).filter(|line| !line.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    pointers.iter().find_map(at)
}

/// Returns the first non-empty list.
pub(super) fn first_list(value: &Value, pointers: &[&str]) -> Vec<String> {
    pointers.iter().map(|pointer| list(at(value, pointer))).find(|list| !list.is_empty()).unwrap_or_default()
}

/// Returns the first non-empty list of statements, without the bullets that they were written with and without rules.
pub(super) fn first_statements(value: &Value, pointers: &[&str]) -> Vec<String> {
    let is_rule = |text: &str| !text.is_empty() && text.chars().all(|c| matches!(c, '-' | '*' | '_' | '='));
    let without_bullet = |mut text: &str| {
        while let Some(rest) = ["- ", "* ", "• "].iter().find_map(|bullet| text.strip_prefix(bullet)) {
            text = rest.trim_start();
        }
        text.to_owned()
    };
    let stated = first_list(value, pointers).into_iter().filter(|text| !is_rule(text.trim()));
    stated.map(|text| without_bullet(text.trim_start())).collect()
}

/// Converts a text, a list of any values or an object into texts.
pub(super) fn list(value: Option<&Value>) -> Vec<String> {
    let Some(value) = value else { return Vec::new() };
    match value {
        Value::Null | Value::Bool(_) => Vec::new(),
        Value::Array(items) => items.iter().take(LIST_LIMIT).filter_map(item).collect(),
        Value::String(_) | Value::Number(_) | Value::Object(_) => item(value).into_iter().collect(),
    }
}

/// Describes a list item: a text, or the descriptive field of an object.
pub(super) fn item(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(_) | Value::Number(_) => text(Some(value)),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Object(_) => {
            let stated = ["/path", "/file", "/description", "/criterion", "/requirement", "/title", "/text", "/name"];
            first_text(value, &stated).or_else(|| Some(bounded(&value.to_string())))
        }
        Value::Array(_) => Some(bounded(&value.to_string())),
    }
}

/// Returns a count, which may be a quoted number.
pub(super) fn count(value: Option<&Value>) -> Option<u32> {
    match value? {
        Value::Number(number) => number.as_u64().map(|number| u32::try_from(number).unwrap_or(u32::MAX)),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the elements of an array; nothing for other values.
pub(super) fn items(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// Converts untrusted text to a single line.
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
