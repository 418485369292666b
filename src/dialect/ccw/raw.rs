//! Lenient looks into JSON that any tool, agent or person may have written.

use crate::dialect::json::Json;
use crate::dialect::json::Kind;
use crate::model::clean;
use crate::model::clean_line;

/// Characters of one text that are kept.
const TEXT_LIMIT: usize = 4_000;
/// Items of one list that are kept.
pub(super) const LIST_LIMIT: usize = 200;

/// Returns what a JSON pointer finds.
pub(super) fn at<'t>(value: Json<'t>, pointer: &str) -> Option<Json<'t>> {
    value.pointer(pointer)
}

/// Returns a text that is not empty; a number counts as its spelling.
pub(super) fn text(value: Option<Json<'_>>) -> Option<String> {
    let text = match value?.kind() {
        Kind::String(text) => bounded(&text),
        Kind::Number(number) => number.to_string(),
        Kind::Null | Kind::Bool(_) | Kind::Array | Kind::Object => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Returns the first text that one of the pointers finds.
pub(super) fn first_text(value: Json<'_>, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| text(at(value, pointer)))
}

/// Returns the first list with anything in it.
pub(super) fn first_list(value: Json<'_>, pointers: &[&str]) -> Vec<String> {
    pointers.iter().map(|pointer| list(at(value, pointer))).find(|list| !list.is_empty()).unwrap_or_default()
}

/// Flattens a text, a list of anything or an object into texts.
pub(super) fn list(value: Option<Json<'_>>) -> Vec<String> {
    let Some(value) = value else { return Vec::new() };
    match value.kind() {
        Kind::Null | Kind::Bool(_) => Vec::new(),
        Kind::Array => value.items().take(LIST_LIMIT).filter_map(item).collect(),
        Kind::String(_) | Kind::Number(_) | Kind::Object => item(value).into_iter().collect(),
    }
}

/// Describes one list item: a text, or the field of an object that says what it is.
pub(super) fn item(value: Json<'_>) -> Option<String> {
    match value.kind() {
        Kind::Null => None,
        Kind::String(_) | Kind::Number(_) => text(Some(value)),
        Kind::Bool(flag) => Some(flag.to_string()),
        Kind::Object => {
            let told = ["/path", "/file", "/description", "/criterion", "/requirement", "/title", "/text", "/name"];
            first_text(value, &told).or_else(|| Some(bounded(&value.to_value().to_string())))
        }
        Kind::Array => Some(bounded(&value.to_value().to_string())),
    }
}

/// Returns a number of times; numbers in quotes occur.
pub(super) fn count(value: Option<Json<'_>>) -> Option<u32> {
    match value?.kind() {
        Kind::Number(number) => number.as_u64().map(|number| u32::try_from(number).unwrap_or(u32::MAX)),
        Kind::String(text) => text.trim().parse().ok(),
        Kind::Null | Kind::Bool(_) | Kind::Array | Kind::Object => None,
    }
}

/// Returns the elements of an array; of anything else none.
pub(super) fn items<'t>(value: Option<Json<'t>>) -> impl Iterator<Item = Json<'t>> {
    value.into_iter().flat_map(Json::items)
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
