//! A text being changed: one value at a time, every other byte left alone.
//!
//! Key order, indentation, line ends, a BOM and a missing final newline survive. A number keeps its spelling unless it is
//! the value that is set. The places of the values are kept up to date with every change.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::BOM;
use super::JsonError;
use super::describe;
use super::scan::Node;
use super::scan::Sort;
use super::scan::scan;
use super::scan::scan_piece;
use super::tape::Json;
use super::tape::Tape;
use super::to_u32;
use super::unescape;
use super::utf8;

/// Is a JSON text with the place of every value in it.
#[derive(Debug)]
pub(crate) struct Document {
    tape: Tape<'static>,
    /// Bytes of the BOM before the text.
    bom: bool,
    newline: &'static str,
    /// One level of indentation; empty for a text on one line.
    indent: String,
}

/// Is a member or an element of a container, by bytes.
struct Element {
    start: usize,
    /// Where the literal of its key ends, the quote included; where it begins itself when it has none.
    key_end: usize,
    value_start: usize,
    end: usize,
}

/// As in `serde_json`, whose limit for values this is.
const MAX_DEPTH: u32 = 128;

/// Refuses what nests deeper than `serde_json` reads into a value.
fn check_depth(text: &str) -> Result<(), JsonError> {
    let (mut depth, mut line, mut line_start, mut in_string, mut escaped) = (0_u32, 1, 0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\n' => (line, line_start) = (line + 1, at + 1),
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth >= MAX_DEPTH {
            let message = format!("values are nested deeper than {MAX_DEPTH} levels");
            return Err(JsonError { line, column: to_u32(at - line_start + 1), message });
        }
    }
    Ok(())
}

impl Document {
    /// Parses a text and notes where each value is.
    ///
    /// # Errors
    ///
    /// As [`super::parse_value`].
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        let has_bom = bytes.starts_with(BOM.as_bytes());
        match Tape::parse(bytes) {
            Ok(tape) => Ok(Self::of(&tape, has_bom)),
            Err(error) => {
                let text = utf8(bytes)?;
                let text = text.strip_prefix(BOM).unwrap_or(text);
                check_depth(text)?;
                serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| describe(text, &error))?;
                Err(error)
            }
        }
    }

    /// Makes a text that was read ready for changes; `has_bom` tells whether there was one before it.
    pub(crate) fn of(tape: &Tape<'_>, has_bom: bool) -> Self {
        let text = tape.text.as_ref();
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indent = first_indent(text);
        let tape = Tape { text: Cow::Owned(text.to_owned()), nodes: tape.nodes.clone() };
        Self { tape, bom: has_bom, newline, indent }
    }

    /// Returns the value of the whole text.
    pub(crate) fn value(&self) -> Value {
        self.tape.root().to_value()
    }

    /// Returns line and column, from 1, of the value that a JSON pointer names.
    pub(crate) fn position(&self, pointer: &str) -> Option<(u32, u32)> {
        self.tape.position(pointer)
    }

    /// Tells whether the pointer names a value.
    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.find(pointer).is_some()
    }

    /// Sets the value at a pointer. A missing last key is added at the end of its object; missing objects on the way are made.
    /// A pointer through something that is no object, or past the end of an array, changes nothing and returns false.
    pub(crate) fn set(&mut self, pointer: &str, value: &Value) -> bool {
        if let Some(found) = self.find(pointer) {
            let (start, end) = span(found.node());
            let nodes = found.at()..found.after();
            let column_indent = self.line_indent(start).to_owned();
            let rendered = self.render(value, &column_indent, self.is_multiline(start, end) || self.has_lines());
            return self.splice(start..end, &rendered, nodes);
        }
        let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
        match self.find(parent).map(|found| found.node().sort) {
            Some(Sort::Object) => self.insert(parent, Some(&unescape(key)), value),
            Some(_) => false,
            None => {
                let mut object = serde_json::Map::new();
                object.insert(unescape(key), value.clone());
                self.set(parent, &Value::Object(object))
            }
        }
    }

    /// Appends a value to the array at a pointer, making the array when it is missing.
    pub(crate) fn push(&mut self, pointer: &str, value: &Value) -> bool {
        match self.find(pointer).map(Json::is_array) {
            Some(true) => self.insert(pointer, None, value),
            Some(false) => false,
            None => self.set(pointer, &Value::Array(vec![value.clone()])),
        }
    }

    /// Removes a key from its object, or an element from its array, with its comma. A missing one is no change. A key that is
    /// there several times goes altogether: an older value of it would count again.
    pub(crate) fn remove(&mut self, pointer: &str) -> bool {
        let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
        let key = unescape(key);
        let Some(container) = self.find(parent).filter(|found| found.node().sort.is_container()) else { return false };
        // An element of an array begins with itself.
        let items = container.items().map(|item| (item, item));
        let members: Vec<(Json<'_>, Json<'_>)> = container.members().chain(items).collect();
        let gone: Vec<usize> = match container.is_array() {
            true => key.parse().ok().into_iter().filter(|at| *at < members.len()).collect(),
            false => (0..members.len()).filter(|at| members[*at].0.is(&key)).collect(),
        };
        let first_kept = gone.iter().enumerate().take_while(|(count, at)| count == *at).count();
        let bytes_of = |at: usize| {
            let (name, value) = members[at];
            match members.get(at + 1) {
                _ if at > first_kept => span(members[at - 1].1.node()).1..span(value.node()).1,
                Some((after, _)) => span(name.node()).0..span(after.node()).0,
                None => span(name.node()).0..span(value.node()).1,
            }
        };
        match gone.as_slice() {
            [] => false,
            [at] => {
                let (bytes, nodes) = (bytes_of(*at), members[*at].0.at()..members[*at].1.after());
                self.splice(bytes, "", nodes)
            }
            _ => {
                let gone = gone.into_iter().map(bytes_of).collect();
                self.cut(gone)
            }
        }
    }

    /// Takes pieces out of the text, which stand in it in this order, and looks anew where each value is.
    fn cut(&mut self, pieces: Vec<Range<usize>>) -> bool {
        let mut text = String::with_capacity(self.text().len());
        let mut done = 0;
        for piece in pieces {
            text.push_str(&self.text()[done..piece.start]);
            done = piece.end;
        }
        text.push_str(&self.text()[done..]);
        let Some(nodes) = scan(&text) else { return false };
        self.tape = Tape { text: Cow::Owned(text), nodes };
        true
    }

    /// Returns the text as bytes, BOM included.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let text = self.tape.text.into_owned();
        if self.bom { [BOM.as_bytes(), text.as_bytes()].concat() } else { text.into_bytes() }
    }

    fn text(&self) -> &str {
        &self.tape.text
    }

    /// Tells whether values stand on lines of their own; a line end after the last of them says nothing about that.
    fn has_lines(&self) -> bool {
        self.text().trim_end().contains('\n')
    }

    fn find(&self, pointer: &str) -> Option<Json<'_>> {
        self.tape.root().pointer(pointer)
    }

    /// Puts a text in the place of another. `nodes` are the values that go with the old one; what holds them grows or shrinks,
    /// and what comes after them moves.
    fn splice(&mut self, range: Range<usize>, with: &str, nodes: Range<usize>) -> bool {
        let (Some(mut new), Ok(_)) = (scan_piece(with), u32::try_from(self.text().len() + with.len())) else {
            return false;
        };
        let (added, removed) = (to_u32(with.len()), to_u32(range.len()));
        let (new_nodes, old_nodes) = (to_u32(new.len()), to_u32(nodes.len()));
        let (start, end) = (to_u32(range.start), to_u32(range.end));
        let moved = |at: u32| at - removed + added;
        for node in &mut self.tape.nodes[..nodes.start] {
            if node.sort.is_container() && node.start < start && node.end > end {
                (node.end, node.size) = (moved(node.end), node.size - old_nodes + new_nodes);
            }
        }
        for node in &mut self.tape.nodes[nodes.end..] {
            (node.start, node.end) = (moved(node.start), moved(node.end));
        }
        for node in &mut new {
            (node.start, node.end) = (node.start + start, node.end + start);
        }
        self.tape.nodes.splice(nodes, new);
        self.tape.text.to_mut().replace_range(range, with);
        true
    }

    /// Lists the elements of a container.
    fn elements(container: Json<'_>) -> Vec<Element> {
        let members = container.members().map(|(key, value)| {
            let ((start, key_end), (value_start, end)) = (span(key.node()), span(value.node()));
            Element { start, key_end, value_start, end }
        });
        let items = container.items().map(|item| {
            let (start, end) = span(item.node());
            Element { start, key_end: start, value_start: start, end }
        });
        members.chain(items).collect()
    }

    /// Adds one element at the end of a container in the style of what is there.
    fn insert(&mut self, pointer: &str, key: Option<&str>, value: &Value) -> bool {
        let Some(container) = self.find(pointer).filter(|found| found.node().sort.is_container()) else { return false };
        let (open, after) = span(container.node());
        let nodes = container.after()..container.after();
        let elements = Self::elements(container);
        let outer = self.line_indent(open).to_owned();
        let Some(last) = elements.last() else {
            let multiline = self.has_lines();
            let inner = format!("{outer}{}", self.indent);
            let body = self.element(key, ": ", value, &inner, multiline);
            let filled = if multiline { format!("{nl}{inner}{body}{nl}{outer}", nl = self.newline) } else { body };
            return self.splice(open + 1..after - 1, &filled, nodes);
        };
        let text = self.text();
        let multiline = text[open..last.start].contains('\n');
        let last_is_flat = !text[last.start..last.end].contains('\n');
        let inner = self.line_indent(last.start).to_owned();
        let nested = multiline && !(last_is_flat && key.is_none() && value.is_object());
        let default_colon = if text.contains("\": ") || self.has_lines() { ": " } else { ":" };
        let colon = if container.is_object() { &text[last.key_end..last.value_start] } else { default_colon };
        let body = self.element(key, colon, value, &inner, nested);
        let separator = if multiline {
            format!(",{}{inner}", self.newline)
        } else if elements.len() > 1 {
            text[elements[elements.len() - 2].end..last.start].to_owned()
        } else if [", ", "\": ", "\n"].iter().any(|spaced| text.contains(spaced)) {
            ", ".to_owned()
        } else {
            ",".to_owned()
        };
        let end = last.end;
        self.splice(end..end, &format!("{separator}{body}"), nodes)
    }

    fn element(&self, key: Option<&str>, colon: &str, value: &Value, indent: &str, nested: bool) -> String {
        let rendered = self.render(value, indent, nested);
        match key {
            Some(key) => format!("{}{colon}{rendered}", Value::String(key.to_owned())),
            None => rendered,
        }
    }

    /// Renders a value at an indentation: over several lines, or on one in the spacing of this text.
    fn render(&self, value: &Value, indent: &str, nested: bool) -> String {
        let spaced = self.text().contains("\": ") || !self.text().contains("\":");
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

    fn is_multiline(&self, start: usize, end: usize) -> bool {
        self.text()[start..end].contains('\n')
    }

    /// Returns the white space at the beginning of the line that holds this byte.
    fn line_indent(&self, at: usize) -> &str {
        let line = self.text()[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let rest = &self.text()[line..];
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

/// Returns the bytes of a value.
const fn span(node: Node) -> (usize, usize) {
    (node.start as usize, node.end as usize)
}

#[cfg(test)]
#[path = "document_tests.rs"]
mod tests;
