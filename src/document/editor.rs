//! Edits a JSON or YAML text one value at a time. Values are addressed by JSON pointers.
//!
//! A change is written at the position that the tree gives, in the style of the text around it. The text is then parsed again,
//! and the change is refused if anything but this value changed. All other bytes are preserved.

use std::{collections::BTreeMap, fmt};

use serde_json::Value;

use super::{
    ParseError, Syntax, json, parse,
    splice::{ALIASED, OTHER_TYPE, Refused, Splice, SpliceSource},
    tree::{Kind, Member, Node, Span, Style, TextPosition, unescape},
    yaml,
};

/// A text being edited.
#[derive(Debug)]
pub(crate) struct Editor {
    /// With its BOM.
    text: String,
    root: Node,
    syntax: Syntax,
}

/// Where and why a value cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct EditRefused {
    pub(super) line: u32,
    pointer: String,
    why: &'static str,
}

impl fmt::Display for EditRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.pointer.trim_start_matches('/').replace('/', ".");
        write!(f, "line {}: `{key}` cannot be written: {}", self.line, self.why)
    }
}

impl Editor {
    /// Parses a text.
    ///
    /// # Errors
    ///
    /// As [`parse`].
    pub(crate) fn parse(bytes: &[u8], syntax: Syntax) -> Result<Self, ParseError> {
        let root = parse(bytes, syntax)?;
        Ok(Self { text: String::from_utf8_lossy(bytes).into_owned(), root, syntax })
    }

    /// Returns the whole value, with the edits so far.
    pub(crate) const fn root(&self) -> &Node {
        &self.root
    }

    /// Returns the value at a pointer, with the edits so far.
    pub(crate) fn get(&self, pointer: &str) -> Option<&Node> {
        self.root.at(pointer)
    }

    /// Sets a value. A missing key is added at the end of its mapping; missing mappings on the way, and those that are null, are
    /// created. A value that is there already keeps its spelling.
    ///
    /// # Errors
    ///
    /// If the pointer leads through a value that is not a mapping, or more than the value would change. Nothing is changed then.
    pub(crate) fn set(&mut self, pointer: &str, value: &Value) -> Result<(), EditRefused> {
        self.set_after(pointer, value, None)
    }

    /// Sets a value; in YAML a missing key is added after a neighbour.
    ///
    /// # Errors
    ///
    /// As [`Editor::set`].
    pub(crate) fn set_after(&mut self, pointer: &str, value: &Value, after: Option<&str>) -> Result<(), EditRefused> {
        if self.get(pointer).is_some_and(|node| node.to_json() == *value) {
            return Ok(());
        }
        let parts = split(pointer);
        let placed = match self.syntax {
            Syntax::Json => json::set(self.source(), &parts, value),
            Syntax::Yaml => yaml::set(self.source(), &parts, value, after),
        };
        self.write(pointer, placed.map(|splice| vec![splice]), &parts, Some(Node::of(value)))
    }

    /// Appends to a list, which is created if it is missing or null.
    ///
    /// # Errors
    ///
    /// If something other than a list is there. Nothing is changed then.
    pub(crate) fn push(&mut self, pointer: &str, value: &Value) -> Result<(), EditRefused> {
        let mut parts = split(pointer);
        let source = self.source();
        let placed = match source.find(&parts) {
            Ok(Some(target)) if target.node.style == Style::Alias => Err(target.refused(ALIASED)),
            Ok(Some(target)) if !target.node.items().is_empty() => match self.syntax {
                Syntax::Json => Ok(json::push(source, target.node, value)),
                Syntax::Yaml => yaml::push(source, target.node, value),
            },
            Ok(Some(target)) if !target.node.is_null() && !target.node.is_list() => Err(target.refused(OTHER_TYPE)),
            Ok(_) => return self.set(pointer, &Value::Array(vec![value.clone()])),
            Err(refused) => Err(refused),
        };
        parts.push(self.get(pointer).map_or(0, |list| list.items().len()).to_string());
        self.write(pointer, placed.map(|splice| vec![splice]), &parts, Some(Node::of(value)))
    }

    /// Removes a key from its mapping, or an element from its list. A missing one is not an error. Of a duplicate key in JSON
    /// every occurrence is removed; otherwise an older value would count again.
    ///
    /// # Errors
    ///
    /// If more than the value would be removed. Nothing is changed then.
    pub(crate) fn remove(&mut self, pointer: &str) -> Result<(), EditRefused> {
        let parts = split(pointer);
        let source = self.source();
        let Some((last, before)) = parts.split_last() else { return Ok(()) };
        let placed = match (source.find(&parts), source.find(before)) {
            (Ok(Some(target)), Ok(Some(parent))) => match self.syntax {
                Syntax::Json => Ok(json::remove(parent.node, last)),
                Syntax::Yaml => yaml::remove(source, last, target, parent),
            },
            (Err(refused), _) | (_, Err(refused)) => Err(refused),
            (Ok(None), _) | (_, Ok(None)) => return Ok(()),
        };
        self.write(pointer, placed, &parts, None)
    }

    /// Removes elements of a list, given in ascending order.
    ///
    /// # Errors
    ///
    /// As [`Editor::remove`].
    pub(crate) fn remove_elements(&mut self, pointer: &str, gone: &[usize]) -> Result<(), EditRefused> {
        gone.iter().rev().try_for_each(|at| self.remove(&format!("{pointer}/{at}")))
    }

    /// Returns the text as bytes, BOM included.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    fn source(&self) -> SpliceSource<'_> {
        SpliceSource { text: &self.text, root: &self.root }
    }

    /// Applies splices to the text if the result is the tree with this value set or removed, and nothing else changed.
    fn write(
        &mut self,
        pointer: &str,
        placed: Result<Vec<Splice>, Refused>,
        parts: &[String],
        value: Option<Node>,
    ) -> Result<(), EditRefused> {
        let refusal = |line: u32, why| EditRefused { line, pointer: pointer.to_owned(), why };
        let mut splices = placed.map_err(|refused| refusal(refused.place.line, refused.why))?;
        let mut expected = self.root.clone();
        put(&mut expected, parts, value);
        splices.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = self.text.clone();
        for (range, with) in splices {
            text.replace_range(range, &with);
        }
        let root = parse(text.as_bytes(), self.syntax).ok().filter(|root| is_same(root, &expected));
        let Some(root) = root else {
            let line = self.source().around(parts).line;
            return Err(refusal(line, "changing it would change more of the file than this value"));
        };
        (self.text, self.root) = (text, root);
        Ok(())
    }
}

/// Splits a JSON pointer.
fn split(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(unescape).collect()
}

/// Sets or removes a value in a tree.
fn put(node: &mut Node, parts: &[String], value: Option<Node>) {
    let Some((part, rest)) = parts.split_first() else {
        if let Some(value) = value {
            node.kind = value.kind;
        }
        return;
    };
    if node.is_null() {
        node.kind = Kind::Map(Vec::new());
    }
    match &mut node.kind {
        Kind::Map(members) => {
            let at = members.iter().rposition(|member| member.key == *part);
            match (at, rest.is_empty(), value) {
                (Some(_), true, None) => members.retain(|member| member.key != *part),
                (Some(at), _, value) => put(&mut members[at].value, rest, value),
                (None, _, Some(value)) => {
                    let mut inner = Node::null();
                    put(&mut inner, rest, Some(value));
                    let (place, span) = (TextPosition::default(), Span::default());
                    members.push(Member { key: part.clone(), place, span, value: inner });
                }
                (None, _, None) => {}
            }
        }
        Kind::List(items) => {
            let Ok(at) = part.parse::<usize>() else { return };
            match (at < items.len(), rest.is_empty(), value) {
                (true, true, None) => _ = items.remove(at),
                (true, _, value) => put(&mut items[at], rest, value),
                (false, true, Some(value)) => items.push(value),
                (false, _, _) => {}
            }
        }
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => {}
    }
}

/// Returns whether two trees are equal, ignoring key order.
fn is_same(one: &Node, other: &Node) -> bool {
    match (&one.kind, &other.kind) {
        (Kind::Map(one), Kind::Map(other)) => {
            let (one, other) = (by_key(one), by_key(other));
            let same = |(key, value): (&&str, &&Node)| other.get(key).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        (Kind::List(one), Kind::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (one, other) => one == other,
    }
}

fn by_key(members: &[Member]) -> BTreeMap<&str, &Node> {
    members.iter().map(|member| (member.key.as_str(), &member.value)).collect()
}
