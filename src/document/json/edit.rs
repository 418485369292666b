//! Places the changes of a JSON text, in the style of the text: indentation, line ends, spaces.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::document::{
    splice::{OTHER_TYPE, Refused, Splice, SpliceSource},
    tree::{Kind, Member, Node},
};

/// Returns the splice that sets a value. Missing objects on the way, and those that are null, are created.
pub(in crate::document) fn set(source: SpliceSource<'_>, parts: &[String], value: &Value) -> Result<Splice, Refused> {
    let formatting = Formatting::of(source.text);
    if let Some(target) = source.find(parts)? {
        let range = target.node.span.range();
        let indent = formatting.line_indent(range.start);
        let nested = source.text[range.clone()].contains('\n') || formatting.has_lines();
        let rendered = formatting.render(value, indent, nested);
        return Ok((range, rendered));
    }
    let Some((key, before)) = parts.split_last() else { return Ok((0..0, String::new())) };
    match source.find(before)? {
        Some(parent) if parent.node.is_map() => Ok(formatting.insert(parent.node, Some(key), value)),
        Some(parent) if !parent.node.is_null() => Err(parent.refused(OTHER_TYPE)),
        Some(_) | None => set(source, before, &Value::Object(Map::from_iter([(key.clone(), value.clone())]))),
    }
}

/// Returns the splice that appends to a list.
pub(in crate::document) fn push(source: SpliceSource<'_>, list: &Node, value: &Value) -> Splice {
    Formatting::of(source.text).insert(list, None, value)
}

/// Returns the splices that remove a key or an element, each with its comma.
pub(in crate::document) fn remove(container: &Node, key: &str) -> Vec<Splice> {
    let elements = elements(container);
    let gone: Vec<usize> = match &container.kind {
        Kind::Map(members) => (0..members.len()).filter(|at| members[*at].key == key).collect(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => {
            key.parse().ok().into_iter().filter(|at| *at < elements.len()).collect()
        }
    };
    let first_kept = gone.iter().enumerate().take_while(|(count, at)| count == *at).count();
    let bytes_of = |at: usize| match elements.get(at + 1) {
        _ if at > first_kept => elements[at - 1].end..elements[at].end,
        Some(after) => elements[at].start..after.start,
        None => elements[at].clone(),
    };
    gone.iter().map(|at| (bytes_of(*at), String::new())).collect()
}

/// Returns the bytes of the elements of a container, with their keys.
fn elements(container: &Node) -> Vec<Range<usize>> {
    let of_member = |member: &Member| member.span.start..member.value.span.end;
    let members = container.members().iter().map(of_member);
    members.chain(container.items().iter().map(|item| item.span.range())).collect()
}

/// The formatting of a text.
struct Formatting<'a> {
    text: &'a str,
    newline: &'static str,
    /// One level of indentation, for values on several lines.
    indent: &'a str,
}

impl<'a> Formatting<'a> {
    fn of(text: &'a str) -> Self {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let white = |line: &'a str| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
        let indent = text.lines().skip(1).map(white).find(|indent| !indent.is_empty());
        Self { text, newline, indent: indent.unwrap_or("  ") }
    }

    /// Tells whether values are on separate lines; a line end after the last value does not count.
    fn has_lines(&self) -> bool {
        self.text.trim_end().contains('\n')
    }

    /// Adds an element at the end of a container in the existing style.
    fn insert(&self, container: &Node, key: Option<&str>, value: &Value) -> Splice {
        let (open, after) = (container.span.start, container.span.end);
        let elements = elements(container);
        let outer = self.line_indent(open);
        let Some(last) = elements.last() else {
            let multiline = self.has_lines();
            let inner = format!("{outer}{}", self.indent);
            let body = self.element(key, ": ", value, &inner, multiline);
            let filled = if multiline { format!("{nl}{inner}{body}{nl}{outer}", nl = self.newline) } else { body };
            return (open + 1..after - 1, filled);
        };
        let (text, end) = (self.text, last.end);
        let multiline = text[open..last.start].contains('\n');
        let last_is_flat = !text[last.clone()].contains('\n');
        let inner = self.line_indent(last.start);
        let nested = multiline && !(last_is_flat && key.is_none() && value.is_object());
        // Only a member has a colon, and then there is one before it.
        let neighbour = container.members().last();
        let colon = neighbour.map_or("", |known| &text[known.span.end..known.value.span.start]);
        let body = self.element(key, colon, value, inner, nested);
        let separator = if multiline {
            format!(",{}{inner}", self.newline)
        } else if elements.len() > 1 {
            text[elements[elements.len() - 2].end..last.start].to_owned()
        } else if [", ", "\": ", "\n"].iter().any(|spaced| text.contains(spaced)) {
            ", ".to_owned()
        } else {
            ",".to_owned()
        };
        (end..end, format!("{separator}{body}"))
    }

    fn element(&self, key: Option<&str>, colon: &str, value: &Value, indent: &str, nested: bool) -> String {
        let rendered = self.render(value, indent, nested);
        match key {
            Some(key) => format!("{}{colon}{rendered}", Value::String(key.to_owned())),
            None => rendered,
        }
    }

    /// Renders a value at an indentation: on several lines, or on one with the spacing of this text.
    fn render(&self, value: &Value, indent: &str, nested: bool) -> String {
        let spaced = self.text.contains("\": ") || !self.text.contains("\":");
        let inner = format!("{indent}{}", self.indent);
        match value {
            Value::Object(map) if !map.is_empty() => {
                let items = map.iter().map(|(key, value)| {
                    let colon = if nested || spaced { ": " } else { ":" };
                    format!("{}{colon}{}", Value::String(key.clone()), self.render(value, &inner, nested))
                });
                self.bracket('{', '}', items.collect(), indent, nested, spaced)
            }
            Value::Array(items) if !items.is_empty() => {
                let items = items.iter().map(|value| self.render(value, &inner, nested));
                self.bracket('[', ']', items.collect(), indent, nested, spaced)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
                value.to_string()
            }
        }
    }

    fn bracket(&self, open: char, close: char, items: Vec<String>, indent: &str, nested: bool, spaced: bool) -> String {
        if nested {
            let (newline, inner) = (self.newline, format!("{indent}{}", self.indent));
            let body = items.join(&format!(",{newline}{inner}"));
            format!("{open}{newline}{inner}{body}{newline}{indent}{close}")
        } else {
            format!("{open}{}{close}", items.join(if spaced { ", " } else { "," }))
        }
    }

    /// Returns the white space at the beginning of the line that contains this byte.
    fn line_indent(&self, at: usize) -> &'a str {
        let line = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &self.text[line..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
