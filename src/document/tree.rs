//! The tree of a JSON or YAML text, with the position of every key and value.

use std::{fmt, ops::Range};

use serde_json::{Number, Value};

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
        Self { kind, ..Self::null() }
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

    /// Returns an empty value without a position.
    pub(crate) const fn null() -> Self {
        Self {
            place: TextPosition { line: 0, column: 0 },
            span: Span { start: 0, end: 0 },
            style: Style::Plain,
            kind: Kind::Null,
        }
    }

    /// Returns the value of a key; `None` if it is missing or this is not a mapping.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.member(key).map(|member| &member.value)
    }

    /// Returns the member of a key, like [`Node::get`]. JSON may have a key several times; the last one counts.
    pub(crate) fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().rfind(|member| member.key == key)
    }

    /// Returns the value at a JSON pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Self> {
        pointer.split('/').skip(1).try_fold(self, |node, part| match &node.kind {
            Kind::List(items) => items.get(part.parse::<usize>().ok()?),
            Kind::Map(_) if part.contains('~') => node.get(&unescape(part)),
            Kind::Map(_) => node.get(part),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        })
    }

    /// Returns the value at a JSON pointer, or the nearest one around it.
    pub(crate) fn nearest(&self, pointer: &str) -> &Self {
        let mut pointer = pointer;
        loop {
            match (self.at(pointer), pointer.rsplit_once('/')) {
                (Some(node), _) => return node,
                (None, Some((parent, _))) => pointer = parent,
                (None, None) => return self,
            }
        }
    }

    /// Returns a text; `None` for values of other types.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    pub(crate) const fn as_bool(&self) -> Option<bool> {
        match self.kind {
            Kind::Bool(value) => Some(value),
            Kind::Null | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// Returns a number without sign, fraction or exponent.
    pub(crate) fn as_u64(&self) -> Option<u64> {
        match &self.kind {
            Kind::Number(text) => text.parse().ok(),
            Kind::Null | Kind::Bool(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// Returns a scalar as written; `None` for `null`.
    pub(crate) fn scalar(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) | Kind::Number(text) => Some(text),
            Kind::Bool(true) => Some("true"),
            Kind::Bool(false) => Some("false"),
            Kind::Null | Kind::List(_) | Kind::Map(_) => None,
        }
    }

    /// Returns the elements of a list; nothing for other values.
    pub(crate) fn items(&self) -> &[Self] {
        match &self.kind {
            Kind::List(items) => items,
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => &[],
        }
    }

    /// Returns the members of a mapping; nothing for other values.
    pub(crate) fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Map(members) => members,
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => &[],
        }
    }

    pub(crate) const fn is_null(&self) -> bool {
        matches!(self.kind, Kind::Null)
    }

    pub(crate) const fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List(_))
    }

    pub(crate) const fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map(_))
    }

    /// Returns the JSON pointer of a value inside this one.
    pub(super) fn pointer_to(&self, node: &Self) -> Option<String> {
        if std::ptr::eq(self, node) {
            return Some(String::new());
        }
        let mut items = self.items().iter().enumerate();
        let item = items.find_map(|(at, item)| Some(format!("/{at}{}", item.pointer_to(node)?)));
        let in_member = |member: &Member| Some(format!("/{}{}", escape(&member.key), member.value.pointer_to(node)?));
        item.or_else(|| self.members().iter().find_map(in_member))
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

/// Writes the value as JSON on one line.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

/// Escapes a key for use in a JSON pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

pub(super) fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}
