//! JSON and YAML that belong to others: one tree with positions, lenient reads that turn problems into findings, and edits that
//! touch only the bytes that they name.
//!
//! [`parse`] reads a text into a [`Node`], where every key and value has its position and scalars keep their spelling. A
//! [`Reader`] reads a state leniently: a value of an unusable type becomes a finding and counts as missing. An [`Editor`] changes
//! one value at a time. [`definition`] has the strict reads for files that a person writes; [`salvage`] reads what does not parse.

mod additions;
pub(crate) mod definition;
mod editor;
mod json;
mod names;
#[cfg(test)]
mod read_tests;
mod reader;
pub(crate) mod salvage;
mod splice;
mod tree;
mod yaml;

pub(crate) use additions::additions;
pub(crate) use editor::{EditRefused, Editor};
pub(crate) use json::parse_value as json_value;
pub(crate) use names::Names;
pub(crate) use reader::{Field, OpenError, Reader};
pub(crate) use tree::{Kind, Member, Node, TextPosition, escape};
pub(crate) use yaml::parse as parse_definition;

use std::fmt;

const BOM: &str = "\u{feff}";

/// The syntax of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// As `serde_json` reads it: the last of duplicate keys counts.
    Json,
    /// YAML, and JSON as a part of it: duplicate keys are errors, and there are limits on size and depth.
    Yaml,
}

/// An error in the text, or a limit that it exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParseError {
    pub(crate) place: TextPosition,
    pub(crate) message: String,
    pub(crate) fault: Fault,
}

/// The kind of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It is not JSON or YAML, or not text.
    Syntax,
    /// A key occurs twice in one mapping.
    DuplicateKey,
    /// There is more after the first document, as in Markdown with front matter.
    SecondDocument,
    /// It exceeds the limits.
    TooMuch,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.place.line, self.place.column, self.message)
    }
}

/// Parses one document that is a state.
///
/// # Errors
///
/// With line and column, if the bytes are not UTF-8 or do not have this syntax. JSON may nest 128 levels; YAML may have 4 MiB, 64
/// levels and 250,000 values.
pub(crate) fn parse(bytes: &[u8], syntax: Syntax) -> Result<Node, ParseError> {
    match syntax {
        Syntax::Json => json::parse(bytes),
        Syntax::Yaml => yaml::parse_state(bytes),
    }
}

/// Parses JSON, see [`parse`].
///
/// # Errors
///
/// As [`parse`].
pub(crate) fn parse_json(bytes: &[u8]) -> Result<Node, ParseError> {
    parse(bytes, Syntax::Json)
}

fn utf8(bytes: &[u8]) -> Result<&str, ParseError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let number = |number: usize| u32::try_from(number + 1).unwrap_or(u32::MAX);
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        let column = number(before[line_start..].chars().count());
        let place = TextPosition { line: number(before.matches('\n').count()), column };
        ParseError { place, message: "not UTF-8 text".to_owned(), fault: Fault::Syntax }
    })
}
