//! Parses YAML and JSON into a tree with the position of every key and value. The only user of the YAML crate.
//!
//! Scalars keep their spelling: `1.10` stays `1.10`, as a value and as a key. Booleans are only `true` and `false`, duplicate
//! keys are errors, and aliases count towards the limits.

mod build;
mod edit;
mod render;

pub(crate) use edit::Document;
pub(crate) use edit::EditRefused;

use std::fmt;
use std::ops::Range;

use serde_json::Number;
use serde_json::Value;

use super::salvage;

/// Limits for parsing.
#[derive(Clone, Copy, Debug)]
struct Limits {
    bytes: usize,
    depth: usize,
    nodes: usize,
}

/// Limits for definitions, which are written by hand.
const DEFINITION: Limits = Limits { bytes: 1 << 20, depth: 64, nodes: 50_000 };

/// Limits for states, which may have thousands of steps.
const STATE: Limits = Limits { bytes: 4 << 20, depth: 64, nodes: 250_000 };

const BOM: &str = "\u{feff}";

/// A position in a text, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TextPosition {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The byte range of a key or value, counting a BOM.
///
/// A scalar's span includes its quotes, but not its anchor or tag. The span of a block scalar (`|`, `>`) is its lines without the
/// header. A flow collection's span includes the brackets; a block collection's ends with its last value. An aliased value has
/// the span of the alias; values inside it have those of the anchor. An empty value has an empty span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) const fn range(self) -> Range<usize> {
        self.start..self.end
    }

    pub(crate) const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// The style of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    /// A block scalar, after `|` or `>`.
    BlockScalar,
    /// A list or mapping by indentation.
    Block,
    /// A list or mapping in brackets.
    Flow,
    /// A reference to an anchor.
    Alias,
}

/// A value with its position.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: TextPosition,
    pub(crate) span: Span,
    pub(crate) style: Style,
    pub(crate) kind: Kind,
}

/// The kind of a value. Numbers keep their spelling.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// A key of a mapping with its value. The key is text: `1.10`, `"1.10"` and `'1.10'` are the same key, `1.1` is another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) place: TextPosition,
    pub(crate) span: Span,
    pub(crate) value: Node,
}

/// An error in the text, or a limit that it exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlError {
    pub(crate) place: TextPosition,
    pub(crate) message: String,
    pub(crate) fault: Fault,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not YAML, or not text.
    Syntax,
    /// A key occurs twice in one mapping.
    DuplicateKey,
    /// There is more after the first document, as in Markdown with front matter.
    SecondDocument,
    /// It exceeds the limits.
    TooMuch,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.place.line, self.place.column, self.message)
    }
}

/// Parses one document that is a definition.
///
/// # Errors
///
/// With line and column, if the bytes are not UTF-8 or not YAML, a key is duplicated, or there are more than 1 MiB, 64 levels or
/// 50,000 values.
pub(crate) fn parse(bytes: &[u8]) -> Result<Node, YamlError> {
    parse_within(bytes, &DEFINITION)
}

/// Parses one document that is a state.
///
/// # Errors
///
/// As [`parse`], with room for 4 MiB and 250,000 values.
pub(crate) fn parse_state(bytes: &[u8]) -> Result<Node, YamlError> {
    parse_within(bytes, &STATE)
}

fn parse_within(bytes: &[u8], limits: &Limits) -> Result<Node, YamlError> {
    if bytes.len() > limits.bytes {
        let message = format!("the file has {} bytes, more than the {} that are read", bytes.len(), limits.bytes);
        return Err(YamlError { place: TextPosition { line: 1, column: 1 }, message, fault: Fault::TooMuch });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        YamlError { place: end_of(&before), message: "not UTF-8 text".to_owned(), fault: Fault::Syntax }
    })?;
    let without_bom = text.strip_prefix(BOM).unwrap_or(text);
    build::tree(without_bom, text.len() - without_bom.len(), limits).map_err(|error| match salvage::conflict(bytes) {
        Some((line, message)) if error.fault != Fault::TooMuch => {
            YamlError { place: TextPosition { line, column: 1 }, message, fault: Fault::Syntax }
        }
        Some(_) | None => error,
    })
}

fn end_of(text: &str) -> TextPosition {
    let number = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
    let line_start = text.rfind('\n').map_or(0, |at| at + 1);
    TextPosition { line: number(text.matches('\n').count()), column: number(text[line_start..].chars().count()) }
}

impl Node {
    /// Builds a tree without positions from a value.
    pub(crate) fn of(value: &Value) -> Self {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(value) => Kind::Bool(*value),
            Value::Number(number) => Kind::Number(number.to_string()),
            Value::String(text) => Kind::Text(text.clone()),
            Value::Array(items) => Kind::List(items.iter().map(Self::of).collect()),
            Value::Object(map) => Kind::Map(
                map.iter()
                    .map(|(key, value)| Member {
                        key: key.clone(),
                        place: TextPosition::default(),
                        span: Span::default(),
                        value: Self::of(value),
                    })
                    .collect(),
            ),
        };
        Self { place: TextPosition::default(), span: Span::default(), style: Style::Plain, kind }
    }

    /// Returns the value as JSON.
    pub(crate) fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(text) => number(text),
            Kind::Text(text) => Value::String(text.clone()),
            Kind::List(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Kind::Map(members) => {
                Value::Object(members.iter().map(|member| (member.key.clone(), member.value.to_json())).collect())
            }
        }
    }

    /// Returns the value of a key; `None` if it is missing or this is not a mapping.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.member(key).map(|member| &member.value)
    }

    /// Returns the member of a key, like [`Node::get`].
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            Kind::Map(members) => members.iter().find(|member| member.key == key),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => None,
        }
    }

    /// Returns a description for messages.
    pub(crate) const fn what(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }
}

fn number(text: &str) -> Value {
    let whole = text.parse::<i64>().map(Number::from).ok().or_else(|| text.parse::<u64>().map(Number::from).ok());
    let number = whole.or_else(|| Number::from_f64(text.parse::<f64>().ok()?));
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

#[cfg(test)]
mod tests;
