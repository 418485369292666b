//! Edits a JSON text one value at a time, preserving all other bytes.
//!
//! Key order, indentation, line ends, a BOM and a missing final newline are preserved. A number keeps its spelling unless it is
//! the value being set.

use std::ops::Range;

use serde_json::Value;

use super::span;
use super::span::Element;
use super::tree;
use super::without_bom;
use crate::document::BOM;
use crate::document::tree::Node;
use crate::document::tree::unescape;

/// A JSON text being edited.
#[derive(Debug)]
pub(in crate::document) struct Document {
    text: String,
    /// Whether a BOM precedes the text.
    bom: bool,
    newline: &'static str,
    /// One level of indentation; empty for a text on one line.
    indent: String,
}

impl Document {
    /// Takes a text that is known to be JSON.
    pub(in crate::document) fn new(text: &str) -> Self {
        let (rest, bom) = without_bom(text);
        let newline = if rest.contains("\r\n") { "\r\n" } else { "\n" };
        Self { text: rest.to_owned(), bom: bom > 0, newline, indent: first_indent(rest) }
    }

    pub(in crate::document) fn tree(&self) -> Node {
        tree::tree(&self.text, if self.bom { BOM.len() } else { 0 }).unwrap_or_else(Node::null)
    }

    /// Sets the value at a pointer. A missing last key is added at the end of its object; missing objects on the way, and those that are null, are created.
    /// Returns false, without a change, if the pointer leads through a value that is not an object, or past the end of an array.
    pub(in crate::document) fn set(&mut self, pointer: &str, value: &Value) -> bool {
        if let Some(found) = self.find(pointer) {
            if serde_json::from_str::<Value>(&self.text[found.clone()]).is_ok_and(|known| known == *value) {
                return true;
            }
            let column_indent = self.line_indent(found.start).to_owned();
            let nested = self.text[found.clone()].contains('\n') || self.has_lines();
            let rendered = self.render(value, &column_indent, nested);
            self.text.replace_range(found, &rendered);
            return true;
        }
        let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
        match self.find(parent) {
            Some(found) if self.opens(&found) == Some('{') => {
                self.insert(found, Some(&unescape(key)), value);
                true
            }
            Some(found) if !self.is_null(&found) => false,
            Some(_) | None => {
                let mut object = serde_json::Map::new();
                object.insert(unescape(key), value.clone());
                self.set(parent, &Value::Object(object))
            }
        }
    }

    /// Appends a value to the array at a pointer, creating a missing array.
    pub(in crate::document) fn push(&mut self, pointer: &str, value: &Value) -> bool {
        match self.find(pointer) {
            Some(found) if self.opens(&found) == Some('[') => {
                self.insert(found, None, value);
                true
            }
            Some(found) if !self.is_null(&found) => false,
            Some(_) | None => self.set(pointer, &Value::Array(vec![value.clone()])),
        }
    }

    /// Removes a key from its object, or an element from its array, with its comma. Does nothing if it is missing. Of a duplicate
    /// key every occurrence is removed; otherwise an older value would count again.
    pub(in crate::document) fn remove(&mut self, pointer: &str) -> bool {
        let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
        let key = unescape(key);
        let Some(container) = self.find(parent) else { return false };
        let members = span::elements(&self.text, &container);
        let gone: Vec<usize> = match self.opens(&container) {
            Some('[') => key.parse().ok().into_iter().filter(|at| *at < members.len()).collect(),
            _ => (0..members.len()).filter(|at| members[*at].has_key(&self.text, &key)).collect(),
        };
        self.cut(&members, &gone)
    }

    /// Removes members of one container from the text, each with its comma.
    fn cut(&mut self, members: &[Element], gone: &[usize]) -> bool {
        let first_kept = gone.iter().enumerate().take_while(|(count, at)| count == *at).count();
        let bytes_of = |at: usize| match members.get(at + 1) {
            _ if at > first_kept => members[at - 1].value.end..members[at].value.end,
            Some(after) => members[at].start()..after.start(),
            None => members[at].start()..members[at].value.end,
        };
        for bytes in gone.iter().rev().map(|at| bytes_of(*at)) {
            self.text.replace_range(bytes, "");
        }
        !gone.is_empty()
    }

    /// Returns the text as bytes, BOM included.
    pub(in crate::document) fn into_bytes(self) -> Vec<u8> {
        if self.bom { [BOM, &self.text].concat().into_bytes() } else { self.text.into_bytes() }
    }

    /// Tells whether values are on separate lines; a line end after the last value does not count.
    fn has_lines(&self) -> bool {
        self.text.trim_end().contains('\n')
    }

    fn find(&self, pointer: &str) -> Option<Range<usize>> {
        span::find(&self.text, pointer)
    }

    /// Returns the opening bracket of a container.
    fn opens(&self, value: &Range<usize>) -> Option<char> {
        self.text[value.clone()].chars().next().filter(|first| matches!(first, '{' | '['))
    }

    fn is_null(&self, value: &Range<usize>) -> bool {
        &self.text[value.clone()] == "null"
    }

    /// Adds an element at the end of a container in the existing style.
    fn insert(&mut self, container: Range<usize>, key: Option<&str>, value: &Value) {
        let Range { start: open, end: after } = container;
        let elements = span::elements(&self.text, &container);
        let outer = self.line_indent(open).to_owned();
        let Some(last) = elements.last() else {
            let multiline = self.has_lines();
            let inner = format!("{outer}{}", self.indent);
            let body = self.element(key, ": ", value, &inner, multiline);
            let filled = if multiline { format!("{nl}{inner}{body}{nl}{outer}", nl = self.newline) } else { body };
            self.text.replace_range(open + 1..after - 1, &filled);
            return;
        };
        let (text, end) = (&self.text, last.value.end);
        let multiline = text[open..last.start()].contains('\n');
        let last_is_flat = !text[last.start()..end].contains('\n');
        let inner = self.line_indent(last.start()).to_owned();
        let nested = multiline && !(last_is_flat && key.is_none() && value.is_object());
        let default_colon = if text.contains("\": ") || self.has_lines() { ": " } else { ":" };
        let colon = last.key.as_ref().map_or(default_colon, |key| &text[key.end..last.value.start]);
        let body = self.element(key, colon, value, &inner, nested);
        let separator = if multiline {
            format!(",{}{inner}", self.newline)
        } else if elements.len() > 1 {
            text[elements[elements.len() - 2].value.end..last.start()].to_owned()
        } else if [", ", "\": ", "\n"].iter().any(|spaced| text.contains(spaced)) {
            ", ".to_owned()
        } else {
            ",".to_owned()
        };
        self.text.insert_str(end, &format!("{separator}{body}"));
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
    fn line_indent(&self, at: usize) -> &str {
        let line = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &self.text[line..];
        &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
    }
}

fn first_indent(text: &str) -> String {
    let indented = text.lines().skip(1).map(|line| &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]);
    indented.into_iter().find(|indent| !indent.is_empty()).map_or_else(
        || if text.contains('\n') || text.len() < 3 { "  ".to_owned() } else { String::new() },
        str::to_owned,
    )
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
