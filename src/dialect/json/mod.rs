//! JSON that belongs to somebody else: read it leniently, change one value and leave every other byte alone.
//!
//! Values are `serde_json`'s. [`position`] says where a value stands in a text, for findings, and a [`Document`] is a text being
//! changed; both look for the bytes of a value only when they are asked for.

mod document;
mod news;
mod span;

pub(crate) use document::Document;
pub(crate) use news::news;

use serde_json::Value;

/// Says where a text stops being JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonError {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
}

const BOM: &str = "\u{feff}";

/// Parses into a value, for readers that want the whole of it.
///
/// # Errors
///
/// With line and column, when the bytes are not UTF-8 or not JSON, or nest deeper than 128 levels.
pub(crate) fn parse_value(bytes: &[u8]) -> Result<Value, JsonError> {
    let text = utf8(bytes)?;
    serde_json::from_str(text.strip_prefix(BOM).unwrap_or(text)).map_err(|error| describe(text, &error))
}

/// Returns line and column, from 1, of the value that a JSON pointer names in a text that [`parse_value`] takes.
pub(crate) fn position(bytes: &[u8], pointer: &str) -> Option<(u32, u32)> {
    let text = utf8(bytes).ok()?;
    span::position(text.strip_prefix(BOM).unwrap_or(text), pointer)
}

/// Makes a key fit for a JSON pointer.
pub(crate) fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn unescape(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn utf8(bytes: &[u8]) -> Result<&str, JsonError> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let column = before.iter().rev().take_while(|byte| **byte != b'\n').count() + 1;
        JsonError { line: to_u32(line), column: to_u32(column), message: "not UTF-8 text".to_owned() }
    })
}

fn describe(text: &str, error: &serde_json::Error) -> JsonError {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(head, _)| head).to_owned();
    let message = match message.as_str() {
        _ if text.trim().is_empty() => "the file is empty".to_owned(),
        "recursion limit exceeded" => "it is nested too deep".to_owned(),
        cause if cause.starts_with("EOF") => format!("the file ends too early ({cause})"),
        _ => message,
    };
    JsonError { line: to_u32(error.line().max(1)), column: to_u32(error.column().max(1)), message }
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
