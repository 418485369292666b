//! Places the changes of a YAML text, in the style of the text: quotes, indentation, brackets.

use std::ops::Range;

use serde_json::{Map, Value};

use super::render::{Formatting, ScalarContext, is_bare_time, key_of};
use crate::document::{
    splice::{ALIASED, OTHER_TYPE, Refused, Splice, SpliceSource, SpliceTarget, refused},
    tree::{Kind, Member, Node, Style},
};

/// Returns the splice that sets a value. A missing key is added at the end of its mapping or after the given neighbour; missing
/// mappings on the way are created.
pub(in crate::document) fn set(
    source: SpliceSource<'_>,
    parts: &[String],
    value: &Value,
    neighbour: Option<&str>,
) -> Result<Splice, Refused> {
    if let Some(target) = source.find(parts)? {
        return source.replaced(target, value);
    }
    let Some((key, before)) = parts.split_last() else {
        return Err(refused(source.root, "the file is empty"));
    };
    let within = || Value::Object(Map::from_iter([(key.clone(), value.clone())]));
    let Some(parent) = source.find(before)? else { return set(source, before, &within(), None) };
    let Kind::Map(members) = &parent.node.kind else {
        if parent.node.is_null() && !before.is_empty() {
            return set(source, before, &within(), None);
        }
        return Err(parent.refused(OTHER_TYPE));
    };
    if members.is_empty() && !before.is_empty() {
        return set(source, before, &within(), None);
    }
    match parent.node.style {
        Style::Flow => Ok(source.inside_brackets(parent.node, neighbour, Some(key), value)),
        Style::Block | Style::Plain | Style::SingleQuoted | Style::DoubleQuoted | Style::BlockScalar | Style::Alias => {
            source.below_member(parent.node, neighbour, key, value)
        }
    }
}

/// Returns the splice that appends to a list with elements.
pub(in crate::document) fn push(source: SpliceSource<'_>, list: &Node, value: &Value) -> Result<Splice, Refused> {
    match list.style {
        Style::Flow => Ok(source.inside_brackets(list, None, None, value)),
        Style::Block | Style::Plain | Style::SingleQuoted | Style::DoubleQuoted | Style::BlockScalar | Style::Alias => {
            source.below_last_item(list, list.items(), value)
        }
    }
}

/// Returns the splices that remove a key or an element.
pub(in crate::document) fn remove(
    source: SpliceSource<'_>,
    last: &str,
    target: SpliceTarget<'_>,
    parent: SpliceTarget<'_>,
) -> Result<Vec<Splice>, Refused> {
    if target.node.style == Style::Alias {
        return Err(target.refused(ALIASED));
    }
    let elements = source.elements(parent.node);
    let at = match &parent.node.kind {
        Kind::Map(_) => own_members(parent.node).position(|member| member.key == *last),
        Kind::List(_) => last.parse().ok(),
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) => None,
    };
    let Some((at, element)) = at.and_then(|at| Some((at, elements.get(at)?.clone()))) else {
        return Err(target.refused("it comes from a merge"));
    };
    if parent.node.style == Style::Flow {
        return Ok(vec![(without_comma(&elements, at), String::new())]);
    }
    let mut splices = Vec::new();
    if elements.len() == 1 {
        let empty = if parent.node.is_list() { " []" } else { " {}" };
        let colon = parent.member.and_then(|member| source.after_colon(member));
        let colon = colon.ok_or_else(|| target.refused("it is the only element"))?;
        splices.push((colon..colon, empty.to_owned()));
    }
    let lines = source.lines_of(&element).ok_or_else(|| target.refused("it shares a line with something else"))?;
    splices.push((lines, String::new()));
    Ok(splices)
}

impl SpliceSource<'_> {
    fn formatting(&self) -> Formatting {
        Formatting::of(self.text, self.root)
    }

    /// Returns the splice that replaces a value.
    fn replaced(&self, target: SpliceTarget<'_>, value: &Value) -> Result<Splice, Refused> {
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
    fn value_range(&self, target: SpliceTarget<'_>) -> Result<Range<usize>, Refused> {
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

const ANCHORED: &str = "it has an anchor or a tag";

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

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
