//! Edits a YAML text, one value at a time, and preserves all other bytes.
//!
//! A change is written at the position that the tree gives. The text is then parsed again, and the change is refused if anything
//! but this value changed. This prevents anchors, aliases and unusual layouts from causing side effects.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Map;
use serde_json::Value;

use super::parse_state;
use super::render::Formatting;
use super::render::ScalarContext;
use super::render::is_bare_time;
use super::render::key_of;
use crate::document::editor::OTHER_TYPE;
use crate::document::tree::Kind;
use crate::document::tree::Member;
use crate::document::tree::Node;
use crate::document::tree::Span;
use crate::document::tree::Style;
use crate::document::tree::TextPosition;
use crate::document::tree::unescape;

/// A text with its parsed tree.
#[derive(Debug)]
pub(in crate::document) struct Document {
    /// With its BOM.
    text: String,
    root: Node,
}

/// Where and why a value cannot be changed.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::document) struct Refused {
    pub(in crate::document) place: TextPosition,
    pub(in crate::document) message: &'static str,
}

/// A value with its surroundings.
#[derive(Clone, Copy)]
struct Target<'a> {
    node: &'a Node,
    /// Its key; `None` for list elements and the root.
    member: Option<&'a Member>,
    parent: Option<&'a Node>,
    /// Whether it is inside brackets.
    in_flow: bool,
}

impl Target<'_> {
    /// Returns the position of the key, else that of the value.
    fn place(self) -> TextPosition {
        self.member.map_or(self.node.place, |member| member.place)
    }

    fn refused(self, message: &'static str) -> Refused {
        Refused { place: self.place(), message }
    }
}

type Splice = (Range<usize>, String);

impl Document {
    /// Takes a text with its tree.
    pub(in crate::document) const fn new(text: String, root: Node) -> Self {
        Self { text, root }
    }

    pub(in crate::document) const fn root(&self) -> &Node {
        &self.root
    }

    pub(in crate::document) fn into_bytes(self) -> Vec<u8> {
        self.text.into_bytes()
    }

    /// Sets the value at a JSON pointer. A missing key is added at the end of its mapping or after the given neighbour; missing
    /// parent mappings are created.
    ///
    /// # Errors
    ///
    /// If that would change more than the value.
    pub(in crate::document) fn set(
        &mut self,
        pointer: &str,
        value: &Value,
        neighbour: Option<&str>,
    ) -> Result<(), Refused> {
        self.set_at(&split(pointer), value, neighbour)
    }

    /// Appends a value to the list at a JSON pointer, which is created if missing.
    ///
    /// # Errors
    ///
    /// If that would change more than the list.
    pub(in crate::document) fn push(&mut self, pointer: &str, value: &Value) -> Result<(), Refused> {
        let parts = split(pointer);
        let Some(target) = self.find(&parts)? else {
            return self.set_at(&parts, &Value::Array(vec![value.clone()]), None);
        };
        if target.node.style == Style::Alias {
            return Err(target.refused(ALIASED));
        }
        let Kind::List(items) = &target.node.kind else {
            if target.node.kind == Kind::Null {
                return self.set_at(&parts, &Value::Array(vec![value.clone()]), None);
            }
            return Err(target.refused(OTHER_TYPE));
        };
        if items.is_empty() {
            return self.set_at(&parts, &Value::Array(vec![value.clone()]), None);
        }
        let splice = match target.node.style {
            Style::Flow => self.inside_brackets(target.node, None, None, value),
            Style::Block
            | Style::Plain
            | Style::SingleQuoted
            | Style::DoubleQuoted
            | Style::BlockScalar
            | Style::Alias => self.below_last_item(target.node, items, value)?,
        };
        let place = target.place();
        let mut expected = self.root.clone();
        let index = items.len().to_string();
        put(&mut expected, &[parts.as_slice(), &[index]].concat(), Some(Node::of(value)));
        self.write(vec![splice], &expected, place)
    }

    /// Removes a key from its mapping or an element from its list. A missing one is not an error.
    ///
    /// # Errors
    ///
    /// If that would remove more.
    pub(in crate::document) fn remove(&mut self, pointer: &str) -> Result<(), Refused> {
        let parts = split(pointer);
        let Some((last, before)) = parts.split_last() else { return Ok(()) };
        let (Some(target), Some(parent)) = (self.find(&parts)?, self.find(before)?) else { return Ok(()) };
        if target.node.style == Style::Alias {
            return Err(target.refused(ALIASED));
        }
        let elements = self.elements(parent.node);
        let at = match &parent.node.kind {
            Kind::Map(_) => own_members(parent.node).position(|member| member.key == *last),
            Kind::List(_) => last.parse().ok(),
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
        };
        let Some((at, element)) = at.and_then(|at| Some((at, elements.get(at)?.clone()))) else {
            return Err(target.refused("it comes from a merge"));
        };
        let splices = if parent.node.style == Style::Flow {
            vec![(without_comma(&elements, at), String::new())]
        } else {
            let mut splices = Vec::new();
            if elements.len() == 1 {
                let empty = if matches!(parent.node.kind, Kind::List(_)) { " []" } else { " {}" };
                let colon = parent.member.and_then(|member| self.after_colon(member));
                let colon = colon.ok_or_else(|| target.refused("it is the only element"))?;
                splices.push((colon..colon, empty.to_owned()));
            }
            let lines =
                self.lines_of(&element).ok_or_else(|| target.refused("it shares a line with something else"))?;
            splices.push((lines, String::new()));
            splices
        };
        let place = target.place();
        let mut expected = self.root.clone();
        put(&mut expected, &parts, None);
        self.write(splices, &expected, place)
    }

    fn set_at(&mut self, parts: &[String], value: &Value, neighbour: Option<&str>) -> Result<(), Refused> {
        if let Some(target) = self.find(parts)? {
            let splice = self.replaced(target, value)?;
            let place = target.place();
            let mut expected = self.root.clone();
            put(&mut expected, parts, Some(Node::of(value)));
            return self.write(vec![splice], &expected, place);
        }
        let Some((key, before)) = parts.split_last() else {
            return Err(refused(&self.root, "the file is empty"));
        };
        let within = || Value::Object(Map::from_iter([(key.clone(), value.clone())]));
        let Some(parent) = self.find(before)? else { return self.set_at(before, &within(), None) };
        let Kind::Map(members) = &parent.node.kind else {
            if parent.node.kind == Kind::Null && !before.is_empty() {
                return self.set_at(before, &within(), None);
            }
            return Err(parent.refused(OTHER_TYPE));
        };
        if members.is_empty() && !before.is_empty() {
            return self.set_at(before, &within(), None);
        }
        let splice = match parent.node.style {
            Style::Flow => self.inside_brackets(parent.node, neighbour, Some(key), value),
            Style::Block
            | Style::Plain
            | Style::SingleQuoted
            | Style::DoubleQuoted
            | Style::BlockScalar
            | Style::Alias => self.below_member(parent.node, neighbour, key, value)?,
        };
        let place = parent.place();
        let mut expected = self.root.clone();
        put(&mut expected, parts, Some(Node::of(value)));
        self.write(vec![splice], &expected, place)
    }

    /// Applies the changes to the text if the result parses to the expected tree.
    fn write(&mut self, mut splices: Vec<Splice>, expected: &Node, place: TextPosition) -> Result<(), Refused> {
        splices.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = self.text.clone();
        for (range, with) in splices {
            text.replace_range(range, &with);
        }
        let message = "changing it would change more of the file than this value";
        let root = parse_state(text.as_bytes()).ok().filter(|root| is_same(root, expected));
        self.root = root.ok_or(Refused { place, message })?;
        self.text = text;
        Ok(())
    }

    /// Follows a path. Aliased values are refused, because editing them would change other values.
    fn find(&self, parts: &[String]) -> Result<Option<Target<'_>>, Refused> {
        let mut target = Target { node: &self.root, member: None, parent: None, in_flow: false };
        for part in parts {
            if target.node.style == Style::Alias {
                return Err(target.refused(ALIASED));
            }
            let in_flow = target.in_flow || target.node.style == Style::Flow;
            let parent = Some(target.node);
            target = match &target.node.kind {
                Kind::Map(_) => match target.node.member(part) {
                    Some(member) => Target { node: &member.value, member: Some(member), parent, in_flow },
                    None => return Ok(None),
                },
                Kind::List(items) => match part.parse().ok().and_then(|at: usize| items.get(at)) {
                    Some(node) => Target { node, member: None, parent, in_flow },
                    None => return Ok(None),
                },
                Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => return Ok(None),
            };
        }
        Ok(Some(target))
    }

    fn formatting(&self) -> Formatting {
        Formatting::of(&self.text, &self.root)
    }

    /// Returns the splice that replaces a value.
    fn replaced(&self, target: Target<'_>, value: &Value) -> Result<Splice, Refused> {
        let node = target.node;
        let is_open = match &node.kind {
            Kind::Null => true,
            Kind::List(items) => items.is_empty(),
            Kind::Map(members) => members.is_empty(),
            Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => false,
        };
        let is_collection = matches!(value, Value::Array(items) if !items.is_empty())
            || matches!(value, Value::Object(map) if !map.is_empty());
        let range = self.value_range(target)?;
        // An empty value has no space before it.
        let space = if is_nothing(node) { " " } else { "" };
        let end_of_line = self.line_end(range.end);
        if is_collection
            && is_open
            && !target.in_flow
            && let Some(member) = target.member
            && let Some(colon) = self.after_colon(member)
            && self.text[range.end..end_of_line].trim().is_empty()
        {
            let indent = self.indent_of(member.span.start).ok_or_else(|| target.refused("it is indented with tabs"))?;
            return Ok((colon..range.end, self.formatting().after_key(value, indent)));
        }
        let style = Some(node.style).filter(|_| !is_open);
        let context = ScalarContext { in_flow: target.in_flow, style, bare_time: is_bare_time(node) };
        Ok((range, format!("{space}{}", self.formatting().flow(value, context))))
    }

    /// Returns the byte range of a value that may be replaced as a whole.
    fn value_range(&self, target: Target<'_>) -> Result<Range<usize>, Refused> {
        let node = target.node;
        if node.style == Style::Alias {
            return Err(target.refused(ALIASED));
        }
        if node.style == Style::Block {
            return Err(target.refused(OTHER_TYPE));
        }
        let Some(member) = target.member else {
            let before = self.text[..node.span.start].trim_end();
            let is_element = target.parent.is_some() && before.ends_with(['-', '[', ',']) && !is_nothing(node);
            let is_plain = is_element && node.style != Style::BlockScalar;
            return if is_plain { Ok(node.span.range()) } else { Err(target.refused("it is not the value of a key")) };
        };
        let Some(colon) = self.after_colon(member) else {
            return Err(target.refused("there is no colon after its key"));
        };
        if is_nothing(node) {
            let lead = self.text.get(colon..node.span.start).unwrap_or_default();
            let has_mark = lead.lines().next().is_some_and(|line| line.trim_start().starts_with(['&', '!']));
            return if has_mark { Err(target.refused(ANCHORED)) } else { Ok(colon..colon) };
        }
        let lead = &self.text[colon..node.span.start];
        let mark = lead.len() - lead.trim_start().len();
        match lead.as_bytes().get(mark) {
            None => Ok(node.span.range()),
            Some(b'|' | b'>') if node.style == Style::BlockScalar => Ok(colon + mark..node.span.end),
            Some(b'#') => Ok(node.span.range()),
            Some(_) => Err(target.refused(ANCHORED)),
        }
    }

    /// Adds a key after another one in a block mapping.
    fn below_member(&self, map: &Node, neighbour: Option<&str>, key: &str, value: &Value) -> Result<Splice, Refused> {
        let named = neighbour.and_then(|name| own_members(map).find(|member| member.key == name));
        let Some(before) = named.or_else(|| own_members(map).last()) else {
            return Err(refused(map, "it has no keys of its own"));
        };
        let indent = self.indent_of(before.span.start).ok_or_else(|| refused(map, "it is indented with tabs"))?;
        let formatting = self.formatting();
        let at = self.line_end(self.member_end(before));
        let brackets = own_members(map).any(|member| is_bracketed(&member.value));
        let context = ScalarContext { in_flow: false, style: None, bare_time: false };
        let value = match value {
            Value::Object(_) if brackets => format!(" {}", formatting.flow(value, context)),
            value => formatting.after_key(value, indent),
        };
        let key = key_of(key, self.quote_of(before));
        Ok((at..at, format!("{}{}{key}:{value}", formatting.newline, " ".repeat(indent))))
    }

    fn below_last_item(&self, list: &Node, items: &[Node], value: &Value) -> Result<Splice, Refused> {
        let indent = self.indent_of(list.span.start).ok_or_else(|| refused(list, "it is indented with tabs"))?;
        let at = self.line_end(self.node_end(list));
        let formatting = self.formatting();
        let context = ScalarContext { in_flow: false, style: None, bare_time: false };
        let item = match value {
            Value::Object(_) if items.last().is_some_and(is_bracketed) => {
                format!("- {}", formatting.flow(value, context))
            }
            value => formatting.item(value, indent),
        };
        Ok((at..at, format!("{}{}{item}", formatting.newline, " ".repeat(indent))))
    }

    /// Adds an element to a flow collection, with the spacing of the existing elements.
    fn inside_brackets(&self, node: &Node, neighbour: Option<&str>, key: Option<&str>, value: &Value) -> Splice {
        let elements = self.elements(node);
        let context = ScalarContext { in_flow: true, style: None, bare_time: false };
        let value = self.formatting().flow(value, context);
        let named = neighbour.and_then(|name| own_members(node).position(|member| member.key == name));
        let at = named.unwrap_or(elements.len().saturating_sub(1));
        let quote = own_members(node).nth(at).and_then(|member| self.quote_of(member));
        let body = key.map_or_else(|| value.clone(), |key| format!("{}: {value}", key_of(key, quote)));
        let Some(before) = elements.get(at) else {
            let (open, close) = if key.is_some() { ("{ ", " }") } else { ("[", "]") };
            return (node.span.range(), format!("{open}{body}{close}"));
        };
        let gap = match elements.as_slice() {
            // A pair in a list is a mapping without brackets.
            [only] => format!(",{}", self.text.get(node.span.start + 1..only.start).unwrap_or_default()),
            [.., last_but_one, last] => self.text[last_but_one.end..last.start].to_owned(),
            [] => String::new(),
        };
        let is_gap = gap.trim() == ",";
        let is_padded = elements.len() > 1 || gap.contains('\n');
        let gap = if is_gap && is_padded { gap } else { ", ".to_owned() };
        (before.end..before.end, format!("{gap}{body}"))
    }

    /// Returns the byte range of each element of a collection; in block lists it includes the dash.
    fn elements(&self, node: &Node) -> Vec<Range<usize>> {
        let Kind::List(items) = &node.kind else {
            return own_members(node).map(|member| member.span.start..self.member_end(member)).collect();
        };
        if node.style == Style::Flow {
            return items.iter().map(|item| item.span.range()).collect();
        }
        let mut at = node.span.start;
        let mut elements = Vec::new();
        for item in items {
            let dash = self.next_token(at);
            let after_dash = dash + usize::from(self.text[dash..].starts_with('-'));
            let end = if is_nothing(item) { after_dash } else { self.node_end(item).max(after_dash) };
            elements.push(dash..end);
            at = end;
        }
        elements
    }

    /// Skips whitespace and comments.
    fn next_token(&self, at: usize) -> usize {
        let mut rest = &self.text[at..];
        loop {
            rest = rest.trim_start();
            if !rest.starts_with('#') {
                return self.text.len() - rest.len();
            }
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        }
    }

    fn node_end(&self, node: &Node) -> usize {
        match &node.kind {
            Kind::Map(_) if node.style == Style::Block => {
                own_members(node).last().map_or(node.span.end, |member| self.member_end(member))
            }
            Kind::List(_) if node.style == Style::Block => {
                self.elements(node).last().map_or(node.span.end, |element| element.end)
            }
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) | Kind::Map(_) => {
                node.span.end
            }
        }
    }

    fn member_end(&self, member: &Member) -> usize {
        if is_nothing(&member.value) {
            self.after_colon(member).unwrap_or(member.span.end)
        } else {
            self.node_end(&member.value)
        }
    }

    fn after_colon(&self, member: &Member) -> Option<usize> {
        let rest = &self.text[member.span.end..];
        let colon = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest[colon..].starts_with(':').then_some(member.span.end + colon + 1)
    }

    /// Returns the quote character of a key.
    fn quote_of(&self, member: &Member) -> Option<char> {
        self.text[member.span.start..].chars().next().filter(|first| matches!(first, '"' | '\''))
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Returns the end of the line that contains this byte, without the line break.
    fn line_end(&self, at: usize) -> usize {
        let end = self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline);
        if self.text[at..end].ends_with('\r') { end - 1 } else { end }
    }

    /// Returns the column of a byte, from 0; `None` if there are tabs before it.
    fn indent_of(&self, at: usize) -> Option<usize> {
        let before = &self.text[self.line_start(at)..at];
        let before = before.strip_prefix('\u{feff}').unwrap_or(before);
        (!before.contains('\t')).then(|| before.chars().count())
    }

    /// Returns the lines of an element that shares them with no other, including one line break.
    fn lines_of(&self, element: &Range<usize>) -> Option<Range<usize>> {
        let start = self.line_start(element.start);
        let is_first = self.text[start..element.start].bytes().all(|byte| byte == b' ');
        let end = self.line_end(element.end);
        let rest = &self.text[end..];
        let newline = if rest.starts_with("\r\n") { 2 } else { usize::from(rest.starts_with('\n')) };
        if newline > 0 || start == 0 {
            return is_first.then_some(start..end + newline);
        }
        let before = self.text[..start - 1].strip_suffix('\r').map_or(start - 1, str::len);
        is_first.then_some(before..end)
    }
}

const ALIASED: &str = "it is an alias of another value";
const ANCHORED: &str = "it has an anchor or a tag";

fn refused(node: &Node, message: &'static str) -> Refused {
    Refused { place: node.place, message }
}

/// Splits a JSON pointer.
fn split(pointer: &str) -> Vec<String> {
    pointer.split('/').skip(1).map(unescape).collect()
}

/// Returns whether a value is empty in the text.
const fn is_nothing(node: &Node) -> bool {
    node.span.start == node.span.end
}

fn is_bracketed(node: &Node) -> bool {
    node.style == Style::Flow && matches!(&node.kind, Kind::Map(members) if !members.is_empty())
}

/// Returns the members written in a mapping itself, without merged ones.
fn own_members(node: &Node) -> impl Iterator<Item = &Member> {
    let members = match &node.kind {
        Kind::Map(members) => members.as_slice(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::List(_) => &[],
    };
    members.iter().filter(|member| node.span.contains(member.span))
}

/// Returns the byte range of an element and one adjacent comma.
fn without_comma(elements: &[Range<usize>], at: usize) -> Range<usize> {
    let element = &elements[at];
    match (at.checked_sub(1).map(|before| &elements[before]), elements.get(at + 1)) {
        (Some(before), _) => before.end..element.end,
        (None, Some(next)) => element.start..next.start,
        (None, None) => element.clone(),
    }
}

/// Sets or removes a value in a tree.
fn put(node: &mut Node, parts: &[String], value: Option<Node>) {
    let Some((part, rest)) = parts.split_first() else {
        if let Some(value) = value {
            node.kind = value.kind;
        }
        return;
    };
    if node.kind == Kind::Null {
        node.kind = Kind::Map(Vec::new());
    }
    match &mut node.kind {
        Kind::Map(members) => {
            let at = members.iter().position(|member| member.key == *part);
            match (at, rest.is_empty(), value) {
                (Some(at), true, None) => _ = members.remove(at),
                (Some(at), _, value) => put(&mut members[at].value, rest, value),
                (None, _, Some(value)) => {
                    let mut inner = Node::of(&Value::Null);
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
            let other: BTreeMap<&str, &Node> =
                other.iter().map(|member| (member.key.as_str(), &member.value)).collect();
            let same =
                |member: &Member| other.get(member.key.as_str()).is_some_and(|value| is_same(&member.value, value));
            one.len() == other.len() && one.iter().all(same)
        }
        (Kind::List(one), Kind::List(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (one, other) => one == other,
    }
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
