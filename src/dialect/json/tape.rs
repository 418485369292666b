//! What a JSON text says, read where it stands.

use std::borrow::Cow;
use std::fmt;

use serde_json::Number;
use serde_json::Value;

use super::BOM;
use super::JsonError;
use super::parse_value;
use super::scan::Node;
use super::scan::Sort;
use super::scan::scan;
use super::to_u32;
use super::unescape;
use super::utf8;

/// Is a JSON text with its values in the order in which they stand there, 16 bytes for each value and each key.
#[derive(Clone)]
pub(crate) struct Tape<'a> {
    pub(super) text: Cow<'a, str>,
    /// Never empty.
    pub(super) nodes: Vec<Node>,
}

/// Is one value of a text.
#[derive(Clone, Copy)]
pub(crate) struct Json<'t> {
    tape: &'t Tape<'t>,
    at: usize,
}

/// Says what a value is; what a container holds, [`Json::items`] and [`Json::members`] say.
#[derive(Debug)]
pub(crate) enum Kind<'t> {
    Null,
    Bool(bool),
    Number(Number),
    String(Cow<'t, str>),
    Array,
    Object,
}

impl<'a> Tape<'a> {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// As [`parse_value`].
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, JsonError> {
        let text = utf8(bytes)?;
        let text = text.strip_prefix(BOM).unwrap_or(text);
        let Some(mut nodes) = scan(text) else {
            let too_long = JsonError { line: 1, column: 1, message: "it is too long".to_owned() };
            return Err(parse_value(bytes).err().unwrap_or(too_long));
        };
        nodes.shrink_to_fit();
        Ok(Self { text: Cow::Borrowed(text), nodes })
    }

    /// Writes a value down.
    pub(crate) fn of(value: &Value) -> Self {
        let text = value.to_string();
        match scan(&text) {
            Some(nodes) => Self { text: Cow::Owned(text), nodes },
            None => Self::null(),
        }
    }

    /// Returns the text `null`.
    pub(crate) fn null() -> Self {
        Self { text: Cow::Borrowed("null"), nodes: vec![Node { start: 0, end: 4, size: 1, sort: Sort::Null }] }
    }

    /// Returns the value of the whole text.
    pub(crate) fn root(&self) -> Json<'_> {
        Json { tape: self, at: 0 }
    }

    /// Returns line and column, from 1, of the value that a JSON pointer names.
    pub(crate) fn position(&self, pointer: &str) -> Option<(u32, u32)> {
        let before = &self.text[..self.root().pointer(pointer)?.node().start as usize];
        let line = before.matches('\n').count() + 1;
        let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
        Some((to_u32(line), to_u32(column)))
    }
}

impl fmt::Debug for Tape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<'t> Json<'t> {
    pub(crate) fn kind(self) -> Kind<'t> {
        match self.node().sort {
            Sort::Null => Kind::Null,
            Sort::False => Kind::Bool(false),
            Sort::True => Kind::Bool(true),
            Sort::Number => Kind::Number(self.read_number()),
            Sort::Plain | Sort::Escaped => Kind::String(self.read_string()),
            Sort::Array => Kind::Array,
            Sort::Object => Kind::Object,
        }
    }

    pub(crate) fn is_null(self) -> bool {
        self.node().sort == Sort::Null
    }

    pub(crate) fn is_string(self) -> bool {
        matches!(self.node().sort, Sort::Plain | Sort::Escaped)
    }

    pub(crate) fn is_array(self) -> bool {
        self.node().sort == Sort::Array
    }

    pub(crate) fn is_object(self) -> bool {
        self.node().sort == Sort::Object
    }

    /// Returns a text without its escapes; `None` for anything else.
    pub(crate) fn as_str(self) -> Option<Cow<'t, str>> {
        self.is_string().then(|| self.read_string())
    }

    /// Returns the value of a key; of doubled ones, of the last, as in `serde_json`.
    pub(crate) fn get(self, key: &str) -> Option<Self> {
        // A dialect looks for dozens of keys in every object: most names are told apart by their length.
        let quoted = key.len() + 2;
        let (mut at, end) = if self.is_object() { (self.at + 1, self.after()) } else { (0, 0) };
        let mut found = None;
        while let Some([name, value, ..]) = self.tape.nodes.get(at..end) {
            let may_be = (name.end - name.start) as usize == quoted || name.sort == Sort::Escaped;
            if may_be && (Self { at, ..self }).is(key) {
                found = Some(Self { at: at + 1, ..self });
            }
            at += 1 + value.size as usize;
        }
        found
    }

    /// Returns the values of several keys at once, each as [`Json::get`] would.
    pub(crate) fn pick<const N: usize>(self, keys: [&str; N]) -> [Option<Self>; N] {
        let mut found = [None; N];
        for (name, value) in self.members() {
            let name = name.read_string();
            if let Some(at) = keys.iter().position(|key| *key == name) {
                found[at] = Some(value);
            }
        }
        found
    }

    /// Returns what a JSON pointer finds.
    pub(crate) fn pointer(self, pointer: &str) -> Option<Self> {
        let (mut value, mut rest) = (self, pointer);
        while let Some(slash) = rest.bytes().position(|byte| byte == b'/') {
            let tail = &rest[slash + 1..];
            let mut is_escaped = false;
            let is_end = |byte| {
                is_escaped |= byte == b'~';
                byte == b'/'
            };
            let end = tail.bytes().position(is_end).unwrap_or(tail.len());
            value = if is_escaped { value.step(&unescape(&tail[..end]))? } else { value.step(&tail[..end])? };
            rest = &tail[end..];
        }
        Some(value)
    }

    /// Takes one step of a pointer, its escapes resolved.
    fn step(self, part: &str) -> Option<Self> {
        match self.node().sort {
            Sort::Array => self.items().nth(part.parse().ok()?),
            Sort::Object => self.get(part),
            Sort::Null | Sort::False | Sort::True | Sort::Number | Sort::Plain | Sort::Escaped => None,
        }
    }

    /// Goes through the elements of an array; of anything else there are none.
    pub(crate) fn items(self) -> impl Iterator<Item = Self> + use<'t> {
        let (mut at, end) = if self.is_array() { (self.at + 1, self.after()) } else { (0, 0) };
        std::iter::from_fn(move || {
            let item = (at < end).then_some(Self { at, ..self })?;
            at = item.after();
            Some(item)
        })
    }

    /// Goes through keys and values of an object, doubled ones included; of anything else there are none.
    pub(crate) fn members(self) -> impl Iterator<Item = (Self, Self)> + use<'t> {
        let (mut at, end) = if self.is_object() { (self.at + 1, self.after()) } else { (0, 0) };
        std::iter::from_fn(move || {
            let key = (at < end).then_some(Self { at, ..self })?;
            let value = Self { at: at + 1, ..self };
            at = value.after();
            Some((key, value))
        })
    }

    /// Returns a copy of its own.
    pub(crate) fn to_value(self) -> Value {
        serde_json::from_str(self.literal()).unwrap_or(Value::Null)
    }

    /// Returns the value as it is written.
    pub(crate) fn literal(self) -> &'t str {
        let node = self.node();
        &self.tape.text[node.start as usize..node.end as usize]
    }

    /// Tells whether it is this text.
    pub(crate) fn is(self, text: &str) -> bool {
        match self.node().sort {
            Sort::Plain => {
                let node = self.node();
                let inside = node.start as usize + 1..node.end as usize - 1;
                inside.len() == text.len() && self.tape.text.as_bytes()[inside] == *text.as_bytes()
            }
            Sort::Escaped => self.read_string() == text,
            Sort::Null | Sort::False | Sort::True | Sort::Number | Sort::Array | Sort::Object => false,
        }
    }

    pub(super) fn node(self) -> Node {
        self.tape.nodes[self.at]
    }

    /// Returns its place among the nodes.
    pub(super) const fn at(self) -> usize {
        self.at
    }

    /// Returns the place of the node that follows it and what is in it.
    pub(super) fn after(self) -> usize {
        self.at + self.node().size as usize
    }

    fn plain(self) -> &'t str {
        let literal = self.literal();
        &literal[1..literal.len() - 1]
    }

    fn read_string(self) -> Cow<'t, str> {
        if self.node().sort == Sort::Plain {
            return Cow::Borrowed(self.plain());
        }
        Cow::Owned(serde_json::from_str(self.literal()).unwrap_or_default())
    }

    fn read_number(self) -> Number {
        let literal = self.literal();
        let short = if literal.len() < 19 { literal.parse::<u64>().ok() } else { None };
        short.map_or_else(|| serde_json::from_str(literal).unwrap_or_else(|_| Number::from(0)), Number::from)
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.literal())
    }
}

#[cfg(test)]
#[path = "tape_tests.rs"]
mod tests;
