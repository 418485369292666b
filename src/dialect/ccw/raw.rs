//! Lenient access to JSON written by any tool, agent or person.

use crate::{
    document::{Kind, Node},
    model::{clean, clean_line},
};

/// Maximum length kept of one text, in characters.
const TEXT_LIMIT: usize = 4_000;
/// Maximum number of items kept of one list.
pub(super) const LIST_LIMIT: usize = 200;

/// Returns a non-empty text; a number counts as its spelling.
pub(super) fn text(value: Option<&Node>) -> Option<String> {
    let text = match &value?.kind {
        Kind::Text(text) => bounded(text),
        Kind::Number(number) => number.clone(),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Returns the first text found at one of the pointers.
pub(super) fn first_text(value: &Node, pointers: &[&str]) -> Option<String> {
    pointers.iter().find_map(|pointer| text(value.at(pointer)))
}

/// Returns the first text found at one of the pointers, as a single line.
pub(super) fn first_line(value: &Node, pointers: &[&str]) -> Option<String> {
    let at = |pointer: &&str| match &value.at(pointer)?.kind {
        Kind::Text(text) => Some(line(text)).filter(|line| !line.is_empty()),
        Kind::Number(number) => Some(number.clone()),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
    };
    pointers.iter().find_map(at)
}

/// Returns the first non-empty list.
pub(super) fn first_list(value: &Node, pointers: &[&str]) -> Vec<String> {
    pointers.iter().map(|pointer| list(value.at(pointer))).find(|list| !list.is_empty()).unwrap_or_default()
}

/// Returns the first non-empty list of statements, without the bullets that they were written with and without rules.
pub(super) fn first_statements(value: &Node, pointers: &[&str]) -> Vec<String> {
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
pub(super) fn list(value: Option<&Node>) -> Vec<String> {
    let Some(value) = value else { return Vec::new() };
    match &value.kind {
        Kind::Null | Kind::Bool(_) => Vec::new(),
        Kind::List(items) => items.iter().take(LIST_LIMIT).filter_map(item).collect(),
        Kind::Text(_) | Kind::Number(_) | Kind::Map(_) => item(value).into_iter().collect(),
    }
}

/// Describes a list item: a text, or the descriptive field of an object.
pub(super) fn item(value: &Node) -> Option<String> {
    match &value.kind {
        Kind::Null => None,
        Kind::Text(_) | Kind::Number(_) => text(Some(value)),
        Kind::Bool(flag) => Some(flag.to_string()),
        Kind::Map(_) => {
            let stated = ["/path", "/file", "/description", "/criterion", "/requirement", "/title", "/text", "/name"];
            first_text(value, &stated).or_else(|| Some(bounded(&value.to_string())))
        }
        Kind::List(_) => Some(bounded(&value.to_string())),
    }
}

/// Returns a count, which may be a quoted number.
pub(super) fn count(value: Option<&Node>) -> Option<u32> {
    match &value?.kind {
        Kind::Number(number) => number.parse::<u64>().ok().map(|number| u32::try_from(number).unwrap_or(u32::MAX)),
        Kind::Text(text) => text.trim().parse().ok(),
        Kind::Null | Kind::Bool(_) | Kind::List(_) | Kind::Map(_) => None,
    }
}

/// Returns the elements of an array; nothing for other values.
pub(super) fn items(value: Option<&Node>) -> impl Iterator<Item = &Node> {
    value.map(Node::items).unwrap_or_default().iter()
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
