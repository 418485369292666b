//! Renders new values in the style of the text: quotes, indentation, line ends.

use serde_json::{Map, Value};

use crate::document::tree::{Kind, Node, Style};

/// The formatting of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formatting {
    pub(super) newline: &'static str,
    /// Columns per indentation level.
    step: usize,
    quote: Style,
    /// Whether timestamps are unquoted.
    bare_times: bool,
}

/// The location of a new scalar and the style of the value it replaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScalarContext {
    pub(super) in_flow: bool,
    /// The style of the replaced value.
    pub(super) style: Option<Style>,
    /// Whether the replaced value is an unquoted timestamp.
    pub(super) bare_time: bool,
}

impl Formatting {
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let mut scalars = Vec::new();
        collect(root, &mut scalars);
        let quote = scalars.iter().map(|node| node.style).find(|style| is_quoted(*style));
        let bare_times = scalars.iter().any(|node| is_bare_time(node));
        Self {
            newline: if text.contains("\r\n") { "\r\n" } else { "\n" },
            step: step(root).unwrap_or(2),
            quote: quote.unwrap_or(Style::DoubleQuoted),
            bare_times,
        }
    }

    /// Renders a value on one line, collections in brackets.
    pub(super) fn flow(&self, value: &Value, context: ScalarContext) -> String {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::String(text) => self.text(text, context),
            Value::Array(items) => {
                let context = ScalarContext { in_flow: true, style: None, bare_time: false };
                let items: Vec<String> = items.iter().map(|item| self.flow(item, context)).collect();
                format!("[{}]", items.join(", "))
            }
            Value::Object(map) if map.is_empty() => "{}".to_owned(),
            Value::Object(map) => {
                let context = ScalarContext { in_flow: true, style: None, bare_time: false };
                let members: Vec<String> = map
                    .iter()
                    .map(|(key, value)| format!("{}: {}", key_of(key, None), self.flow(value, context)))
                    .collect();
                format!("{{ {} }}", members.join(", "))
            }
        }
    }

    /// Renders the value after the colon of a key: a scalar on the same line, a collection below.
    pub(super) fn after_key(&self, value: &Value, indent: usize) -> String {
        let inner = indent + self.step;
        match value {
            Value::Object(map) if !map.is_empty() => {
                let pad = " ".repeat(inner);
                format!("{}{pad}{}", self.newline, self.members(map, inner))
            }
            Value::Array(items) if !items.is_empty() => {
                let pad = " ".repeat(inner);
                let items = items.iter().map(|item| format!("{}{pad}{}", self.newline, self.item(item, inner)));
                items.collect()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                format!(" {}", self.flow(value, ScalarContext { in_flow: false, style: None, bare_time: false }))
            }
        }
    }

    /// Renders an element of a list, including its dash.
    pub(super) fn item(&self, value: &Value, indent: usize) -> String {
        match value {
            Value::Object(map) if !map.is_empty() => format!("- {}", self.members(map, indent + 2)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                format!("- {}", self.flow(value, ScalarContext { in_flow: false, style: None, bare_time: false }))
            }
        }
    }

    /// Renders the members of a mapping line by line; the first one is not indented.
    fn members(&self, map: &Map<String, Value>, indent: usize) -> String {
        let members: Vec<String> =
            map.iter().map(|(key, value)| format!("{}:{}", key_of(key, None), self.after_key(value, indent))).collect();
        members.join(&format!("{}{}", self.newline, " ".repeat(indent)))
    }

    fn text(&self, text: &str, context: ScalarContext) -> String {
        let is_bare_time = is_time(text) && (context.bare_time || (context.style.is_none() && self.bare_times));
        let is_plain = is_plain(text, context.in_flow) && (is_bare_time || !is_ambiguous(text));
        match context.style {
            Some(Style::SingleQuoted) if fits_one_line(text) => single(text),
            Some(Style::DoubleQuoted) => double(text),
            _ if is_plain => text.to_owned(),
            _ if self.quote == Style::SingleQuoted && fits_one_line(text) => single(text),
            _ => double(text),
        }
    }
}

/// Renders a key with the quotes of its neighbour, else unquoted if possible, even for `1` and `13.10`.
pub(super) fn key_of(key: &str, neighbour: Option<char>) -> String {
    let is_word = matches!(key.to_lowercase().as_str(), "true" | "false" | "null" | "~" | "yes" | "no" | "on" | "off");
    match neighbour {
        Some('\'') if fits_one_line(key) => single(key),
        Some('"') => double(key),
        _ if is_plain(key, true) && !is_word && key != "<<" => key.to_owned(),
        _ => double(key),
    }
}

/// Returns whether a scalar is an unquoted timestamp.
pub(super) fn is_bare_time(node: &Node) -> bool {
    node.style == Style::Plain && matches!(&node.kind, Kind::Text(text) if is_time(text))
}

const fn is_quoted(style: Style) -> bool {
    matches!(style, Style::SingleQuoted | Style::DoubleQuoted)
}

fn collect<'a>(node: &'a Node, scalars: &mut Vec<&'a Node>) {
    match &node.kind {
        Kind::List(items) => items.iter().for_each(|item| collect(item, scalars)),
        Kind::Map(members) => members.iter().for_each(|member| collect(&member.value, scalars)),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => scalars.push(node),
    }
}

/// Returns the indentation step between nested mappings.
fn step(node: &Node) -> Option<usize> {
    match &node.kind {
        Kind::List(items) => items.iter().find_map(step),
        Kind::Map(members) => members.iter().find_map(|member| match &member.value.kind {
            Kind::Map(inner) if member.value.style == Style::Block => {
                let deeper = inner.first()?.place.column.checked_sub(member.place.column)?;
                usize::try_from(deeper).ok().filter(|deeper| (1..=8).contains(deeper))
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
                step(&member.value)
            }
        }),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
    }
}

/// Returns whether the syntax allows a text without quotes.
fn is_plain(text: &str, in_flow: bool) -> bool {
    let indicators = "-?:,[]{}#&*!|>'\"%@`=";
    let is_marker = text.starts_with("---") || text.starts_with("...");
    !text.is_empty()
        && text.trim() == text
        && fits_one_line(text)
        && !is_marker
        && !text.starts_with(|first: char| indicators.contains(first))
        && !text.ends_with(':')
        && !text.contains(": ")
        && !text.contains(" #")
        && !(in_flow && text.contains(|c: char| ",[]{}:".contains(c)))
}

/// Returns whether a YAML parser might read an unquoted text as a number, timestamp, boolean or null.
fn is_ambiguous(text: &str) -> bool {
    let word = text.to_lowercase();
    let is_word = matches!(word.as_str(), "true" | "false" | "null" | "~" | "yes" | "no" | "on" | "off" | "y" | "n");
    let is_numeric = text.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first))
        && text.chars().all(|c| c.is_ascii_hexdigit() || "xo_.:+-tTzZ infa".contains(c));
    is_word || is_numeric || word.starts_with(".inf") || word.starts_with(".nan")
}

/// Returns whether a text looks like `2026-01-31T12:00:00Z`.
pub(super) fn is_time(text: &str) -> bool {
    let shape = text.bytes().take(11).enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        10 => byte == b'T',
        _ => byte.is_ascii_digit(),
    });
    shape && text.len() >= 19 && text.bytes().all(|byte| byte.is_ascii_digit() || b"-T:.+Z".contains(&byte))
}

/// Returns whether a text needs no escapes.
fn fits_one_line(text: &str) -> bool {
    text.chars().all(|c| !needs_escape(c))
}

fn needs_escape(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn double(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if needs_escape(c) => quoted.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
