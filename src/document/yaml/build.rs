//! Builds the tree from parser events, within limits.

use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, StrInput, StructureStyle, Tag};

use super::YamlLimits;
use crate::{
    document::{
        Fault, ParseError,
        tree::{Kind, Member, Node, Span, Style, TextPosition},
    },
    model::clean_line,
};

/// Reads the single document of a text that starts `shift` bytes into its file.
pub(super) fn tree(text: &str, shift: usize, limits: &YamlLimits) -> Result<Node, ParseError> {
    let limit = limits.depth;
    let options = granit_parser::options! { flow_nesting_limit: limit, block_nesting_limit: limit };
    let mut builder = Builder {
        parser: Parser::new_from_str_with_options(text, options),
        text,
        shift,
        limits: *limits,
        nodes: 0,
        anchors: BTreeMap::new(),
    };
    builder.document()
}

type Spanned<'a> = (Event<'a>, granit_parser::Span);

struct Builder<'a> {
    parser: Parser<'a, StrInput<'a>>,
    text: &'a str,
    shift: usize,
    limits: YamlLimits,
    /// Number of values, counting aliased values each time.
    nodes: usize,
    /// Anchored nodes with the number of values in them.
    anchors: BTreeMap<usize, (Node, usize)>,
}

impl<'a> Builder<'a> {
    fn document(&mut self) -> Result<Node, ParseError> {
        let mut root = None;
        let mut last = Marker::default();
        while let Some(read) = self.parser.next_event() {
            let (event, span) = read.map_err(|error| self.refused(&error))?;
            last = span.start;
            match event {
                Event::StreamStart | Event::DocumentEnd => {}
                Event::StreamEnd => break,
                Event::DocumentStart(..) if root.is_some() => {
                    let message =
                        "a second document begins here, but a state or definition is a single document".to_owned();
                    return Err(ParseError { place: place(&span.start), message, fault: Fault::SecondDocument });
                }
                Event::DocumentStart(..) => {
                    let first = self.next()?;
                    root = Some(self.node(first, 0)?);
                }
                _ => return Err(unexpected(&span.start)),
            }
        }
        Ok(root.unwrap_or_else(|| Node {
            place: place(&last),
            span: Span { start: self.shift + self.text.len(), end: self.shift + self.text.len() },
            style: Style::Plain,
            kind: Kind::Null,
        }))
    }

    fn next(&mut self) -> Result<Spanned<'a>, ParseError> {
        match self.parser.next_event() {
            Some(Ok(read)) => Ok(read),
            Some(Err(error)) => Err(self.refused(&error)),
            None => Err(unexpected(&Marker::default())),
        }
    }

    fn node(&mut self, (event, at): Spanned<'a>, depth: usize) -> Result<Node, ParseError> {
        if depth > self.limits.depth {
            return Err(self.too_deep(&at.start));
        }
        let before = self.nodes;
        self.count(1, &at.start)?;
        let (node, anchor) = match event {
            Event::Scalar(value, style, anchor, tag) => (self.scalar(&value, style, tag.as_deref(), &at), anchor),
            Event::SequenceStart(style, anchor, _) => (self.list(style, &at, depth)?, anchor),
            Event::MappingStart(style, anchor, _) => (self.map(style, &at, depth)?, anchor),
            Event::Alias(anchor) => (self.alias(anchor, &at)?, 0),
            _ => return Err(unexpected(&at.start)),
        };
        if anchor != 0 {
            let size = self.nodes - before;
            // Count the copy, so that nested anchors cannot multiply.
            self.count(size, &at.start)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(node)
    }

    /// Returns the error for what the parser refused. It counts the levels in brackets and those by indentation apart.
    fn refused(&self, error: &ScanError) -> ParseError {
        match error.kind() {
            ErrorKind::RecursionLimitExceeded => self.too_deep(error.marker()),
            _ => ParseError {
                place: place(error.marker()),
                message: clean_line(&error.info(), 240),
                fault: Fault::Syntax,
            },
        }
    }

    fn too_deep(&self, at: &Marker) -> ParseError {
        let message = format!("values are nested deeper than {} levels", self.limits.depth);
        ParseError { place: place(at), message, fault: Fault::TooMuch }
    }

    fn count(&mut self, nodes: usize, at: &Marker) -> Result<(), ParseError> {
        self.nodes += nodes;
        if self.nodes <= self.limits.nodes {
            return Ok(());
        }
        let message = format!("there are more than {} values, counting aliased ones", self.limits.nodes);
        Err(ParseError { place: place(at), message, fault: Fault::TooMuch })
    }

    fn scalar(&self, value: &str, style: ScalarStyle, tag: Option<&Tag>, at: &granit_parser::Span) -> Node {
        let mut span = self.span(at);
        let is_text = tag.is_some_and(|tag| tag.is_yaml_core_schema_tag("str"));
        let (style, kind) = match style {
            // The parser reports an empty scalar as `~`.
            ScalarStyle::Plain if span.start == span.end && !is_text => (Style::Plain, Kind::Null),
            ScalarStyle::Plain if span.start == span.end => (Style::Plain, Kind::Text(String::new())),
            ScalarStyle::Plain if !is_text => (Style::Plain, plain_scalar(value)),
            ScalarStyle::Plain => (Style::Plain, Kind::Text(value.to_owned())),
            ScalarStyle::SingleQuoted => (Style::SingleQuoted, Kind::Text(value.to_owned())),
            ScalarStyle::DoubleQuoted => (Style::DoubleQuoted, Kind::Text(value.to_owned())),
            ScalarStyle::Literal | ScalarStyle::Folded => {
                // The parser's span extends to the next token.
                span.end = span.start + self.source_text(span).trim_end().len();
                (Style::BlockScalar, Kind::Text(value.to_owned()))
            }
        };
        Node { place: place(&at.start), span, style, kind }
    }

    fn list(&mut self, style: StructureStyle, at: &granit_parser::Span, depth: usize) -> Result<Node, ParseError> {
        let mut items = Vec::new();
        let closing = loop {
            let read = self.next()?;
            if read.0 == Event::SequenceEnd {
                break read.1;
            }
            items.push(self.node(read, depth + 1)?);
        };
        let last = items.last().map(|item: &Node| item.span.end);
        let first = items.first().map(|item| item.span.start);
        let mut list = self.collection(style, at, &closing, last, Kind::List(items));
        if list.style == Style::Block {
            list.span.start = self.first_dash(list.span.start, first);
        }
        Ok(list)
    }

    fn map(&mut self, style: StructureStyle, at: &granit_parser::Span, depth: usize) -> Result<Node, ParseError> {
        let mut members: Vec<Member> = Vec::new();
        let mut merged = Vec::new();
        let mut keys = BTreeSet::new();
        let mut last = None;
        let closing = loop {
            let (event, at) = self.next()?;
            let (key, style) = match event {
                Event::MappingEnd => break at,
                // The parser reports an empty key as `~`.
                Event::Scalar(..) if at.is_empty() => (String::new(), ScalarStyle::Plain),
                Event::Scalar(key, style, ..) => (key.into_owned(), style),
                _ => {
                    let message = "a key must be text, not a list, a mapping or an alias".to_owned();
                    return Err(ParseError { place: place(&at.start), message, fault: Fault::Syntax });
                }
            };
            let (place, span) = (place(&at.start), self.span(&at));
            let value = self.next()?;
            let value = self.node(value, depth + 1)?;
            last = Some(value.span.end.max(span.end));
            if key == "<<" && style == ScalarStyle::Plain && !matches!(value.kind, Kind::Text(_)) {
                merged.push(value);
                continue;
            }
            if !keys.insert(key.clone()) {
                let message = format!("duplicate mapping key: {}", clean_line(&key, 80));
                return Err(ParseError { place, message, fault: Fault::DuplicateKey });
            }
            members.push(Member { key, place, span, value });
        };
        merge(merged, &mut members, &mut keys);
        Ok(self.collection(style, at, &closing, last, Kind::Map(members)))
    }

    fn collection(
        &self,
        style: StructureStyle,
        opening: &granit_parser::Span,
        closing: &granit_parser::Span,
        last: Option<usize>,
        kind: Kind,
    ) -> Node {
        let (start, end) = (self.span(opening).start, self.span(closing).end);
        let (style, end) = match style {
            StructureStyle::Flow => (Style::Flow, end),
            StructureStyle::Block => (Style::Block, last.unwrap_or(end)),
        };
        Node { place: place(&opening.start), span: Span { start, end: end.max(start) }, style, kind }
    }

    /// Returns the start of a list including its first dash: for lists that are not indented the parser starts after it.
    fn first_dash(&self, start: usize, first_item: Option<usize>) -> usize {
        let at = start - self.shift;
        if self.text[at..].starts_with('-') && first_item.is_some_and(|item| item > start) {
            return start;
        }
        let before = self.text[..at].trim_end();
        if before.ends_with('-') { before.len() - 1 + self.shift } else { start }
    }

    fn alias(&mut self, anchor: usize, at: &granit_parser::Span) -> Result<Node, ParseError> {
        let Some((node, size)) = self.anchors.get(&anchor) else {
            let message = "an alias refers to a value that contains it".to_owned();
            return Err(ParseError { place: place(&at.start), message, fault: Fault::Syntax });
        };
        let (mut node, size) = (node.clone(), *size);
        self.count(size, &at.start)?;
        (node.span, node.style) = (self.span(at), Style::Alias);
        Ok(node)
    }

    fn span(&self, span: &granit_parser::Span) -> Span {
        let range = span.byte_range().unwrap_or_default();
        Span { start: range.start + self.shift, end: range.end.max(range.start) + self.shift }
    }

    fn source_text(&self, span: Span) -> &'a str {
        self.text.get(span.start - self.shift..span.end - self.shift).unwrap_or_default()
    }
}

/// Adds merged keys (`<<`) that the mapping does not have itself; the first source of a key wins.
fn merge(merged: Vec<Node>, members: &mut Vec<Member>, keys: &mut BTreeSet<String>) {
    for node in merged {
        let nodes = match node.kind {
            Kind::List(nodes) => nodes,
            Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::Text(_) | Kind::Map(_) => vec![node],
        };
        for node in nodes {
            if let Kind::Map(more) = node.kind {
                members.extend(more.into_iter().filter(|member| keys.insert(member.key.clone())));
            }
        }
    }
}

/// Interprets an unquoted scalar. Only JSON numbers are numbers; `1_0`, `0o7`, `12:30` and `007` stay text.
fn plain_scalar(written: &str) -> Kind {
    match written {
        "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" => Kind::Bool(true),
        "false" => Kind::Bool(false),
        _ if is_number(written) => Kind::Number(written.to_owned()),
        _ => Kind::Text(written.to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let no_leading_zero = whole == "0" || !whole.starts_with('0');
    digits(whole)
        && digits(fraction)
        && no_leading_zero
        && !(whole.is_empty() && fraction.is_empty())
        && exponent.is_none_or(|exponent| !exponent.is_empty() && digits(exponent))
}

fn place(marker: &Marker) -> TextPosition {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    TextPosition { line: number(marker.line()), column: number(marker.col() + 1) }
}

fn unexpected(marker: &Marker) -> ParseError {
    ParseError { place: place(marker), message: "the text ends too early".to_owned(), fault: Fault::Syntax }
}
