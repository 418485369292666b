//! Reads JSON with the meaning that `serde_json` gives it, and edits it.

mod edit;
mod tree;

pub(super) use edit::{push, remove, set};

use serde::de::IgnoredAny;
use serde_json::Value;

use super::{
    BOM, Fault, ParseError, salvage,
    tree::{Node, TextPosition},
    utf8,
};

/// Parses a text into a tree.
///
/// # Errors
///
/// With line and column, when the bytes are not UTF-8 or not JSON, or nest deeper than 127 levels.
pub(super) fn parse(bytes: &[u8]) -> Result<Node, ParseError> {
    let (text, shift) = without_bom(utf8(bytes)?);
    // This checks the syntax only, in half the time of reading the values.
    let is_valid = serde_json::from_str::<IgnoredAny>(text).is_ok();
    match is_valid.then(|| tree::tree(text, shift)).flatten() {
        Some(node) => Ok(node),
        None => read(text).map(|value| Node::of(&value)),
    }
}

/// Parses a text into a value, where positions are of no interest.
///
/// # Errors
///
/// As [`parse`].
pub(crate) fn parse_value(bytes: &[u8]) -> Result<Value, ParseError> {
    read(without_bom(utf8(bytes)?).0)
}

fn without_bom(text: &str) -> (&str, usize) {
    let rest = text.strip_prefix(BOM).unwrap_or(text);
    (rest, text.len() - rest.len())
}

fn read(text: &str) -> Result<Value, ParseError> {
    serde_json::from_str(text).map_err(|error| describe(text, &error))
}

fn describe(text: &str, error: &serde_json::Error) -> ParseError {
    let fault = Fault::Syntax;
    if let Some((line, message)) = salvage::conflict(text.as_bytes()) {
        return ParseError { place: TextPosition { line, column: 1 }, message, fault };
    }
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(head, _)| head).to_owned();
    let message = match message.as_str() {
        _ if text.trim().is_empty() => "the file is empty".to_owned(),
        "recursion limit exceeded" => "it is nested too deep".to_owned(),
        cause if cause.starts_with("EOF") => format!("the file ends too early ({cause})"),
        _ => message,
    };
    let number = |number: usize| u32::try_from(number.max(1)).unwrap_or(u32::MAX);
    let place = TextPosition { line: number(error.line()), column: number(error.column()) };
    ParseError { place, message, fault }
}
