//! JSON that belongs to somebody else: read it leniently, change one value and leave every other byte alone.
//!
//! Key order, indentation, line ends, a BOM and a missing final newline survive. A number keeps its spelling unless it is
//! the value that is set. Text is parsed by `serde_json`; this module only knows where each value begins and ends.

use std::cell::OnceCell;
use std::sync::Arc;

use serde_json::Value;

/// Says where a text stops being JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
}

/// Is a JSON text with the place of every value in it.
#[derive(Debug)]
pub(crate) struct Document {
    text: String,
    /// Bytes of the BOM before `text`.
    bom: bool,
    root: Node,
    newline: &'static str,
    /// One level of indentation; empty for a text on one line.
    indent: String,
}

/// Is a text whose places are looked up only when somebody asks: most readings of a sound state never do.
#[derive(Debug)]
pub(crate) struct LazyDocument {
    bytes: Arc<[u8]>,
    document: OnceCell<Option<Document>>,
}

impl LazyDocument {
    pub(crate) fn new(bytes: Arc<[u8]>) -> Self {
        Self { bytes, document: OnceCell::new() }
    }

    /// Returns the text to edit.
    ///
    /// # Errors
    ///
    /// As [`Document::parse`].
    pub(crate) fn into_document(self) -> Result<Document, JsonError> {
        match self.document.into_inner() {
            Some(Some(document)) => Ok(document),
            Some(None) | None => Document::parse(&self.bytes),
        }
    }

    fn get(&self) -> Option<&Document> {
        self.document.get_or_init(|| Document::parse(&self.bytes).ok()).as_ref()
    }

    /// As [`Document::position`].
    pub(crate) fn position(&self, pointer: &str) -> Option<(u32, u32)> {
        self.get()?.position(pointer)
    }

    /// As [`Document::has`].
    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.get().is_some_and(|document| document.has(pointer))
    }
}

#[derive(Debug)]
struct Node {
    start: usize,
    end: usize,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Scalar,
    Array(Vec<Node>),
    Object(Vec<Member>),
}

#[derive(Debug)]
struct Member {
    key_start: usize,
    /// Where its literal ends, the quote included.
    key_end: usize,
    value: Node,
}

/// As in `serde_json`, whose limit for values this is.
const MAX_DEPTH: u32 = 128;

const BOM: &str = "\u{feff}";

/// Parses into a value, for readers that never edit.
///
/// # Errors
///
/// With line and column, when the bytes are not UTF-8 or not JSON, or nest deeper than 128 levels.
pub(crate) fn parse_value(bytes: &[u8]) -> Result<Value, JsonError> {
    let text = utf8(bytes)?;
    serde_json::from_str(text.strip_prefix(BOM).unwrap_or(text)).map_err(|error| describe(text, &error))
}

/// Refuses what nests deeper than `serde_json` reads into a value, so that walking over it cannot exhaust the stack.
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

fn utf8(bytes: &[u8]) -> Result<&str, JsonError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        JsonError { line: to_u32(line), column: to_u32(column), message: "not UTF-8 text".to_owned() }
    })
}

fn describe(text: &str, error: &serde_json::Error) -> JsonError {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(head, _)| head).to_owned();
    let message = match message.as_str() {
        _ if text.trim().is_empty() => "the file is empty".to_owned(),
        "recursion limit exceeded" => "it is nested too deep".to_owned(),
        cause if cause.starts_with("EOF") => format!("the file ends too early ({cause})"),
        _ => message,
    };
    JsonError { line: to_u32(error.line().max(1)), column: to_u32(error.column().max(1)), message }
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

impl Document {
    /// Parses a text and notes where each value is.
    ///
    /// # Errors
    ///
    /// As [`parse_value`].
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, JsonError> {
        let text = utf8(bytes)?;
        let bom = text.starts_with(BOM);
        let text = text.strip_prefix(BOM).unwrap_or(text);
        check_depth(text)?;
        serde_json::from_str::<serde::de::IgnoredAny>(text).map_err(|error| describe(text, &error))?;
        Ok(Self::index(text.to_owned(), bom))
    }

    fn index(text: String, bom: bool) -> Self {
        let root = Scanner { bytes: text.as_bytes(), at: 0 }.node();
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let indent = first_indent(&text);
        Self { text, bom, root, newline, indent }
    }

    /// Returns the value of the whole text.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or(Value::Null)
    }

    /// Returns line and column, from 1, of the value that a JSON pointer names.
    pub(crate) fn position(&self, pointer: &str) -> Option<(u32, u32)> {
        let node = self.find(pointer)?;
        let before = &self.text[..node.start];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        Some((to_u32(line), to_u32(column)))
    }

    /// Tells whether the pointer names a value.
    pub(crate) fn has(&self, pointer: &str) -> bool {
        self.find(pointer).is_some()
    }

    /// Sets the value at a pointer. A missing last key is added at the end of its object; missing objects on the way are made.
    /// A pointer through something that is no object, or past the end of an array, changes nothing and returns false.
    pub(crate) fn set(&mut self, pointer: &str, value: &Value) -> bool {
        if let Some(node) = self.find(pointer) {
            let (start, end) = (node.start, node.end);
            let column_indent = self.line_indent(start).to_owned();
            let rendered = self.render(value, &column_indent, self.is_multiline(start, end) || self.has_lines());
            self.splice(start, end, &rendered);
            return true;
        }
        let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
        match self.find(parent).map(|node| &node.kind) {
            Some(Kind::Object(_)) => self.insert(parent, Some(&unescape(key)), value),
            Some(Kind::Array(_) | Kind::Scalar) => false,
            None => {
                let mut object = serde_json::Map::new();
                object.insert(unescape(key), value.clone());
                self.set(parent, &Value::Object(object))
            }
        }
    }

    /// Appends a value to the array at a pointer, making the array when it is missing.
    pub(crate) fn push(&mut self, pointer: &str, value: &Value) -> bool {
        match self.find(pointer).map(|node| &node.kind) {
            Some(Kind::Array(_)) => self.insert(pointer, None, value),
            Some(Kind::Object(_) | Kind::Scalar) => false,
            None => self.set(pointer, &Value::Array(vec![value.clone()])),
        }
    }

    /// Removes a key from its object, with its comma. A missing one is no change.
    pub(crate) fn remove(&mut self, pointer: &str) -> bool {
        let Some((parent, key)) = pointer.rsplit_once('/') else { return false };
        let key = unescape(key);
        let Some(Kind::Object(members)) = self.find(parent).map(|node| &node.kind) else { return false };
        let Some(at) = members.iter().position(|member| self.is_key(member, &key)) else { return false };
        let (start, end) = match (at.checked_sub(1).map(|before| &members[before]), members.get(at + 1)) {
            (Some(before), _) => (before.value.end, members[at].value.end),
            (None, Some(after)) => (members[at].key_start, after.key_start),
            (None, None) => (members[at].key_start, members[at].value.end),
        };
        self.splice(start, end, "");
        true
    }

    /// Returns the text as bytes, BOM included.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        if self.bom { [BOM.as_bytes(), self.text.as_bytes()].concat() } else { self.text.into_bytes() }
    }

    /// Tells whether values stand on lines of their own; a line end after the last of them says nothing about that.
    fn has_lines(&self) -> bool {
        self.text.trim_end().contains('\n')
    }

    fn find(&self, pointer: &str) -> Option<&Node> {
        let mut node = &self.root;
        for part in pointer.split('/').skip(1) {
            let part = unescape(part);
            node = match &node.kind {
                Kind::Object(members) => &members.iter().rev().find(|member| self.is_key(member, &part))?.value,
                Kind::Array(items) => items.get(part.parse::<usize>().ok()?)?,
                Kind::Scalar => return None,
            };
        }
        Some(node)
    }

    /// Compares without unescaping where nothing is escaped: the index of a large text is made anew after every edit and must not
    /// copy its keys.
    fn is_key(&self, member: &Member, key: &str) -> bool {
        let literal = &self.text[member.key_start..member.key_end];
        if literal.contains('\\') {
            return serde_json::from_str::<String>(literal).is_ok_and(|literal| literal == key);
        }
        literal.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) == Some(key)
    }

    fn splice(&mut self, start: usize, end: usize, with: &str) {
        let mut text = String::with_capacity(self.text.len() + with.len());
        text.push_str(&self.text[..start]);
        text.push_str(with);
        text.push_str(&self.text[end..]);
        let (newline, indent) = (self.newline, std::mem::take(&mut self.indent));
        *self = Self { newline, indent, ..Self::index(text, self.bom) };
    }

    /// Adds one element at the end of a container in the style of what is there.
    fn insert(&mut self, pointer: &str, key: Option<&str>, value: &Value) -> bool {
        let Some(node) = self.find(pointer) else { return false };
        let (open, close) = (node.start, node.end - 1);
        let elements: Vec<(usize, usize)> = match &node.kind {
            Kind::Object(members) => members.iter().map(|member| (member.key_start, member.value.end)).collect(),
            Kind::Array(items) => items.iter().map(|item| (item.start, item.end)).collect(),
            Kind::Scalar => return false,
        };
        let colon = match &node.kind {
            Kind::Object(members) => {
                members.last().map(|member| self.text[member.key_end..member.value.start].to_owned())
            }
            Kind::Array(_) | Kind::Scalar => None,
        };
        let outer = self.line_indent(open).to_owned();
        let Some((last_start, last_end)) = elements.last().copied() else {
            let multiline = self.has_lines();
            let inner = format!("{outer}{}", self.indent);
            let body = self.element(key, ": ", value, &inner, multiline);
            let filled = if multiline { format!("{nl}{inner}{body}{nl}{outer}", nl = self.newline) } else { body };
            self.splice(open + 1, close, &filled);
            return true;
        };
        let multiline = self.text[open..last_start].contains('\n');
        let last_is_flat = !self.text[last_start..last_end].contains('\n');
        let inner = self.line_indent(last_start).to_owned();
        let nested = multiline && !(last_is_flat && key.is_none() && value.is_object());
        let default_colon = if self.text.contains("\": ") || self.has_lines() { ": " } else { ":" };
        let body = self.element(key, colon.as_deref().unwrap_or(default_colon), value, &inner, nested);
        let separator = if multiline {
            format!(",{}{inner}", self.newline)
        } else if elements.len() > 1 {
            let before = elements[elements.len() - 2].1;
            self.text[before..last_start].to_owned()
        } else if [", ", "\": ", "\n"].iter().any(|spaced| self.text.contains(spaced)) {
            ", ".to_owned()
        } else {
            ",".to_owned()
        };
        self.splice(last_end, last_end, &format!("{separator}{body}"));
        true
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

    fn is_multiline(&self, start: usize, end: usize) -> bool {
        self.text[start..end].contains('\n')
    }

    /// Returns the white space at the beginning of the line that holds this byte.
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

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

/// Makes a key fit for a JSON pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// Walks over a text that is known to be JSON.
struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn node(&mut self) -> Node {
        self.space();
        let start = self.at;
        let kind = match self.peek() {
            b'{' => Kind::Object(self.members()),
            b'[' => Kind::Array(self.items()),
            b'"' => {
                self.string();
                Kind::Scalar
            }
            _ => {
                while !matches!(self.peek(), b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' | 0) {
                    self.at += 1;
                }
                Kind::Scalar
            }
        };
        Node { start, end: self.at, kind }
    }

    fn members(&mut self) -> Vec<Member> {
        let mut members = Vec::new();
        self.at += 1;
        loop {
            self.space();
            match self.peek() {
                b'"' => {
                    let key_start = self.at;
                    let key_end = self.string();
                    self.space();
                    self.at += 1;
                    members.push(Member { key_start, key_end, value: self.node() });
                }
                b',' => self.at += 1,
                _ => break,
            }
        }
        self.at += 1;
        members
    }

    fn items(&mut self) -> Vec<Node> {
        let mut items = Vec::new();
        self.at += 1;
        loop {
            self.space();
            match self.peek() {
                b',' => self.at += 1,
                b']' | 0 => break,
                _ => items.push(self.node()),
            }
        }
        self.at += 1;
        items
    }

    /// Steps over a string literal and returns where it ends.
    fn string(&mut self) -> usize {
        self.at += 1;
        while self.peek() != b'"' && self.at < self.bytes.len() {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        self.at
    }

    fn space(&mut self) {
        while matches!(self.peek(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
