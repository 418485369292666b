//! YAML and JSON that a person wrote, as a tree in which every value knows its line and column. The only use of the YAML crate.
//!
//! Scalars keep their spelling: `1.10` stays `1.10` wherever a text is wanted. Booleans are `true` and `false` only, a key stands
//! once in its mapping, and aliases cannot multiply what is read.

use std::fmt;

use serde::Deserialize;
use serde::Deserializer;
use serde::de::MapAccess;
use serde::de::SeqAccess;
use serde::de::Visitor;
use serde_json::Number;
use serde_json::Value;
use serde_saphyr::DuplicateKeyPolicy;
use serde_saphyr::Spanned;

/// No definition that a person wrote is larger.
const SIZE_LIMIT: usize = 1 << 20;
const DEPTH_LIMIT: usize = 64;
const NODE_LIMIT: usize = 50_000;

/// Is a place in a text, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Is a value with its place.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) kind: Kind,
}

/// Says what a value is. Numbers keep their spelling.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// Is one key of a mapping with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) place: Place,
    pub(crate) value: Node,
}

/// Says where a text stops being YAML, or what is too much of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct YamlError {
    pub(crate) place: Place,
    pub(crate) message: String,
}

/// Parses one document.
///
/// # Errors
///
/// With line and column, when the bytes are not UTF-8 text or not YAML, a key stands twice in one mapping, or there is more than
/// 1 MiB, 64 levels or 50,000 values of it.
pub(crate) fn parse(bytes: &[u8]) -> Result<Node, YamlError> {
    let first = Place { line: 1, column: 1 };
    if bytes.len() > SIZE_LIMIT {
        let message = format!("the file has {} bytes, more than the {SIZE_LIMIT} that are read", bytes.len());
        return Err(YamlError { place: first, message });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        YamlError { place: end_of(&before), message: "not UTF-8 text".to_owned() }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let read = serde_saphyr::from_str_with_options::<Spanned<Raw>>(text, options());
    let raw = read.map_err(|error| describe(&error, first))?;
    Ok(node(raw, text))
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_events: NODE_LIMIT * 2,
            max_nodes: NODE_LIMIT,
            max_depth: DEPTH_LIMIT,
            flow_nesting_limit: DEPTH_LIMIT,
            max_aliases: 100,
            max_anchors: 100,
            max_documents: 1,
            max_merge_keys: 100,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: NODE_LIMIT,
            max_replay_stack_depth: 8,
            max_alias_expansions_per_anchor: 100,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        strict_booleans: true,
        with_snippet: false,
    }
}

fn describe(error: &serde_saphyr::Error, first: Place) -> YamlError {
    let place = error.location().map_or(first, |location| place(&location));
    let message = error.without_snippet().to_string();
    let message = message.lines().next().unwrap_or_default();
    // What follows names places again, or options of the crate.
    let message = message.split(" at line ").next().unwrap_or(message);
    let message = message.split(", set ").next().unwrap_or(message);
    YamlError { place, message: crate::model::clean_line(message, 240) }
}

fn place(location: &serde_saphyr::Location) -> Place {
    let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    Place { line: number(location.line()), column: number(location.column()) }
}

fn end_of(text: &str) -> Place {
    let number = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
    let line_start = text.rfind('\n').map_or(0, |at| at + 1);
    Place { line: number(text.matches('\n').count()), column: number(text[line_start..].chars().count()) }
}

/// Is a value as the crate reads it: numbers have lost their spelling, which the span brings back.
enum Raw {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<String>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Raw, E> {
        Ok(Raw::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Raw, A::Error> {
        let mut map = Vec::new();
        while let Some(member) = members.next_entry()? {
            map.push(member);
        }
        Ok(Raw::Map(map))
    }
}

fn node(raw: Spanned<Raw>, text: &str) -> Node {
    let at = raw.defined;
    let kind = match raw.value {
        Raw::Null => Kind::Null,
        Raw::Bool(value) => Kind::Bool(value),
        Raw::Number(value) => Kind::Number(spelling(&at, text).unwrap_or(value)),
        Raw::Text(value) => Kind::Text(value),
        Raw::List(items) => Kind::List(items.into_iter().map(|item| node(item, text)).collect()),
        Raw::Map(members) => Kind::Map(
            members
                .into_iter()
                .map(|(key, value)| Member { place: place(&key.defined), key: key.value, value: node(value, text) })
                .collect(),
        ),
    };
    Node { place: place(&at), kind }
}

/// Returns a number as it is written.
fn spelling(location: &serde_saphyr::Location, text: &str) -> Option<String> {
    let span = location.span();
    let start = usize::try_from(span.byte_offset()?).ok()?;
    let end = start + usize::try_from(span.byte_len()?).ok()?;
    let written = text.get(start..end)?.trim();
    (!written.is_empty()).then(|| written.to_owned())
}

impl Node {
    /// Makes a tree of a value that has no places.
    pub(crate) fn of(value: &Value) -> Self {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(value) => Kind::Bool(*value),
            Value::Number(number) => Kind::Number(number.to_string()),
            Value::String(text) => Kind::Text(text.clone()),
            Value::Array(items) => Kind::List(items.iter().map(Self::of).collect()),
            Value::Object(map) => Kind::Map(
                map.iter()
                    .map(|(key, value)| Member { key: key.clone(), place: Place::default(), value: Self::of(value) })
                    .collect(),
            ),
        };
        Self { place: Place::default(), kind }
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

    /// Says what it is, for messages.
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
#[path = "yaml_tests.rs"]
mod tests;
